//! Properties that hold whatever is decided.

use super::Simulator;
use crate::{Decision, DecisionError, Task, View, workload::TrainingWorkload};
use sched_distill_core::{
    rng::Stream,
    simulation::{Simulation as _, Stall},
};

fn open(spec: &str) -> TrainingWorkload {
    TrainingWorkload::open(&spec.parse().unwrap()).unwrap()
}

fn simulator(workload: &TrainingWorkload, seed: u64) -> Simulator {
    Simulator::new(workload.cluster().clone(), workload.jobs(seed), seed)
}

/// Any decision, legal or not; [`Decision::Close`] with the given probability.
fn random(seen: &View<'_>, stream: &mut Stream, close: f64) -> Decision {
    if stream.uniform() < close {
        return Decision::Close;
    }
    let node = (stream.uniform() < 0.5).then(|| stream.below(seen.cluster().nodes as usize + 1) as u32);
    let job = stream.below(seen.arrived() as usize + 1) as u32;
    Decision::Add { job, task: Task::ALL[stream.below(3)], node }
}

/// All that can be seen, as text.
fn all(sim: &Simulator) -> String {
    format!("{sim:?}")
}

/// What the tasks placed in this slot take must be what nodes and jobs say.
fn check_books(seen: &View<'_>) {
    let cluster = seen.cluster();
    let mut used = vec![[0; 2]; cluster.nodes as usize];
    for placement in seen.placements() {
        let asked = seen.job(placement.job).request(placement.task);
        let node = &mut used[placement.node as usize];
        *node = [node[0] + asked[0], node[1] + asked[1]];
    }
    let mut total = [0; 2];
    for (node, used) in (0..).zip(&used) {
        assert!(used[0] <= cluster.node_slots[0] && used[1] <= cluster.node_slots[1], "node {node} has {used:?}");
        let free = [cluster.node_slots[0] - used[0], cluster.node_slots[1] - used[1]];
        assert_eq!(seen.node_free(node), free);
        total = [total[0] + used[0], total[1] + used[1]];
    }
    assert_eq!(seen.used(), total);
    assert_eq!(seen.free(), [cluster.capacity()[0] - total[0], cluster.capacity()[1] - total[1]]);
    let head = (0..).zip(&used).min_by_key(|(node, used)| (used[0] + used[1], *node)).unwrap().0;
    assert_eq!(seen.head(), head);
    for &job in seen.live_jobs() {
        let view = seen.job(job);
        let count = |task| seen.tasks_on(job).filter(|p| p.task == task).count() as u32;
        assert_eq!((view.workers(), view.servers()), (count(Task::Worker), count(Task::Server)));
        assert!(view.workers() <= cluster.max_workers && view.servers() <= cluster.max_servers);
        let share = |r: usize| f64::from(view.used()[r]) / f64::from(cluster.capacity()[r]);
        assert_eq!(view.dominant_share(), share(0).max(share(1)));
    }
}

#[test]
fn books_balance_and_illegal_decisions_change_nothing() {
    for (number, speed) in [(0, "formula"), (1, "analytic")] {
        let workload = open(&format!("builtin,nodes=5,jobs=8,rate=2,max=6,speed={speed},arrivals=poisson"));
        let mut sim = simulator(&workload, number);
        let mut stream = Stream::new(number, "any decision");
        let mut refused = 0;
        while let Some(seen) = sim.view() {
            check_books(&seen);
            let decision = random(&seen, &mut stream, 0.03);
            let (legal, before) = (sim.check(decision), all(&sim));
            assert_eq!(sim.step(decision), legal);
            if legal.is_err() {
                refused += 1;
                assert_eq!(all(&sim), before);
            }
        }
        let outcome = sim.outcome().unwrap();
        assert!(!outcome.stalled() && refused > 100);
        assert_eq!(sim.step(Decision::Close), Err(DecisionError::Ended));
        assert!(outcome.figure("utilisation").is_some_and(|share| share > 0.0 && share <= 1.0));
    }
}

#[test]
fn refusals_say_what_is_wrong() {
    let workload = open("builtin,nodes=2,jobs=4,rate=2,max=3,types=1");
    let mut sim = simulator(&workload, 1);
    let add = |job, task, node| Decision::Add { job, task, node };
    let refused = |sim: &mut Simulator, decision| sim.step(decision).unwrap_err().to_string();
    assert_eq!(refused(&mut sim, add(3, Task::Both, None)), "slot 0: job 3 is not live; live are 0, 1");
    assert!(refused(&mut sim, add(0, Task::Worker, Some(2))).ends_with("on node 2; there are nodes 0..2"));
    for _ in 0..2 {
        sim.step(add(0, Task::Both, Some(1))).unwrap();
    }
    assert_eq!(
        refused(&mut sim, add(0, Task::Worker, Some(1))),
        "slot 0: a worker for job 0 takes [2, 4] slots of CPU and GPU; node 1 has [0, 0] free"
    );
    sim.step(add(0, Task::Worker, None)).unwrap();
    assert_eq!(
        refused(&mut sim, add(0, Task::Both, None)),
        "slot 0: a worker and a parameter server for job 0, which has 3 workers of at most 3 and 2 parameter servers of at most 3"
    );
}

#[test]
fn every_epoch_is_done_once_and_counted_once() {
    let workload = open("builtin,nodes=6,jobs=12,epoch-error=0.3,speed-error=0.2,length-spread=1");
    let mut sim = simulator(&workload, 5);
    sim.record_slots();
    let mut stream = Stream::new(5, "any decision");
    while let Some(seen) = sim.view() {
        let decision = random(&seen, &mut stream, 0.02);
        let _ = sim.step(decision);
    }
    let jobs = workload.jobs(5);
    let mut reward = 0.0;
    for (number, job) in (0..).zip(&jobs) {
        let slots = sim.slot_records().iter().flat_map(|r| &r.jobs).filter(|j| j.job == number);
        let progress: Vec<f64> = slots.map(|j| j.progress).collect();
        assert!(progress.is_sorted());
        assert_eq!(progress.last(), Some(&job.real_epochs));
        reward += job.real_epochs / job.epochs;
    }
    let outcome = sim.outcome().unwrap();
    assert!((outcome.total_reward - reward).abs() < 1e-9);
    let jct: f64 =
        outcome.jobs.iter().zip(sim.arrivals_ms()).map(|(end, start)| end.completion_ms().unwrap() - start).sum();
    assert!((jct / 12.0 - outcome.objective().unwrap()).abs() < 1e-6 * jct);
    assert!((sim.job_time_ms(0.0, 1e12) - jct).abs() < 1e-6 * jct);
}

/// Two schedulers that give a job the same tasks in the same slot see it progress alike, whatever else they do.
#[test]
fn luck_does_not_depend_on_decisions() {
    let workload = open("builtin,nodes=8,jobs=6,rate=6,speed-error=0.5");
    let (mut plain, mut crowded) = (simulator(&workload, 9), simulator(&workload, 9));
    for (sim, jobs) in [(&mut plain, 1), (&mut crowded, 6)] {
        sim.record_slots();
        for job in (0..jobs).rev() {
            sim.step(Decision::Add { job, task: Task::Both, node: None }).unwrap();
        }
        sim.step(Decision::Close).unwrap();
    }
    let progress = |sim: &Simulator, job: usize| sim.slot_records()[0].jobs[job].progress;
    assert_eq!(progress(&plain, 0), progress(&crowded, 0));
    let seen = simulator(&workload, 9);
    let expected = |job: u32| seen.view().unwrap().job(job).speed_with(Task::Both);
    let factor = |job: u32| progress(&crowded, job as usize) / expected(job);
    assert!((0..6).all(|job| (0.5..=1.5).contains(&factor(job)) && factor(job) != 1.0));
    assert_ne!(factor(0), factor(1));
}

#[test]
fn an_episode_without_progress_ends() {
    let workload = open("builtin,jobs=7,arrivals=poisson,rate=1");
    let mut sim = simulator(&workload, 2);
    while sim.view().is_some() {
        sim.step(Decision::Close).unwrap();
    }
    let outcome = sim.outcome().unwrap();
    let last = f64::from(workload.jobs(2)[6].arrival_slot);
    assert_eq!((outcome.unfinished(), outcome.objective()), (7, None));
    assert_eq!(outcome.final_time_ms, (last + 1000.0) * 1.2e6);
}

/// There is progress in every slot, and so little that it never ends.
#[test]
fn an_episode_of_endless_progress_ends() {
    let dir = tempfile::tempdir().unwrap();
    let grid = r#"{"format": "dl2-speed-grid/1", "grid": {"m": [[1e-100, 1, 1], [1e6, 1, 1], [1, 1, 1]]}}"#;
    std::fs::write(dir.path().join("grid.json"), grid).unwrap();
    let path = dir.path().join("jobs.json");
    let jobs = r#"{"nodes": 2, "max_workers": 2, "max_servers": 2, "speed": "grid.json",
        "types": [{"name": "m", "epoch_size": 115, "worker": [2, 1], "server": [2, 0]}],
        "jobs": [{"type": "m", "arrival_slot": 3, "epochs": 30}]}"#;
    std::fs::write(&path, jobs).unwrap();
    let mut sim = simulator(&open(&format!("json:{}", path.display())), 1);
    while let Some(seen) = sim.view() {
        let decision = match seen.job(0).workers() {
            0 => Decision::Add { job: 0, task: Task::Both, node: None },
            _ => Decision::Close,
        };
        sim.step(decision).unwrap();
    }
    let outcome = sim.outcome().unwrap();
    assert_eq!((outcome.stall, outcome.unfinished()), (Some(Stall::Endless), 1));
    // A hundred times the slots until it comes and the one that it needs, and ten thousand, of which it passes one more.
    assert_eq!(outcome.events, 3 + 100 * 4 + 10_001);
}

#[test]
fn slots_without_jobs_pass_by_themselves() {
    let workload = open("builtin,jobs=4,rate=0.01,types=1");
    let mut sim = simulator(&workload, 2);
    let mut slots = Vec::new();
    while let Some(seen) = sim.view() {
        slots.push(seen.slot());
        assert_eq!(seen.time_ms(), f64::from(seen.slot()) * 1.2e6);
        let job = seen.live_jobs()[0];
        for _ in 0..2 {
            sim.step(Decision::Add { job, task: Task::Both, node: None }).unwrap();
        }
        sim.step(Decision::Close).unwrap();
    }
    slots.dedup();
    assert_eq!(slots[0], 99);
    assert!(slots.len() < 40 && slots.contains(&399));
    assert_eq!(sim.outcome().unwrap().events, u64::from(slots[slots.len() - 1] + 1));
}

/// The runs of a picture cover exactly the tasks of the slots, no lane holds two at once, and runs are as long as can be.
#[test]
fn task_runs_cover_the_slots() {
    let workload = open("builtin,nodes=3,jobs=6,max=4");
    let mut sim = simulator(&workload, 4);
    sim.record_timeline();
    sim.record_slots();
    let mut stream = Stream::new(4, "any decision");
    while let Some(seen) = sim.view() {
        let decision = random(&seen, &mut stream, 0.02);
        let _ = sim.step(decision);
    }
    let (runs, slot_ms) = (sim.task_runs(), 1.2e6);
    let completion = sim.outcome().unwrap().jobs;
    for record in sim.slot_records() {
        let start = f64::from(record.slot) * slot_ms;
        let now: Vec<_> = runs.iter().filter(|r| r.start_ms <= start && r.end_ms > start).collect();
        let mut found: Vec<_> = now.iter().map(|r| (r.job, r.part, r.lane / workload.cluster().places())).collect();
        let mut expected: Vec<_> =
            record.tasks.iter().map(|t| (t.job, u32::from(t.task == Task::Server), t.node)).collect();
        found.sort_unstable();
        expected.sort_unstable();
        assert_eq!(found, expected, "slot {}", record.slot);
        let mut lanes: Vec<_> = now.iter().map(|r| r.lane).collect();
        lanes.sort_unstable();
        assert!(lanes.windows(2).all(|w| w[0] < w[1]));
    }
    assert!(runs.iter().all(|r| Some(r.end_ms) <= completion[r.job as usize].completion_ms()));
    assert!(runs.iter().any(|r| r.end_ms - r.start_ms > slot_ms));
    assert!(runs.is_sorted_by_key(|r| r.start_ms));
    for run in runs {
        let goes_on = |r: &&sched_distill_core::simulation::TaskRun| {
            (r.lane, r.job, r.part, r.start_ms) == (run.lane, run.job, run.part, run.end_ms)
        };
        assert!(!runs.iter().any(|r| goes_on(&r)));
    }
}

/// The speed with one more task is the speed once it is there.
#[test]
fn speeds_ahead_are_the_speeds_to_come() {
    for speed in ["formula", "analytic"] {
        let workload = open(&format!("builtin,nodes=4,jobs=3,max=5,speed={speed}"));
        let mut sim = simulator(&workload, 3);
        let mut stream = Stream::new(3, "any decision");
        for _ in 0..300 {
            let seen = sim.view().unwrap();
            let job = seen.live_jobs()[stream.below(seen.live_jobs().len())];
            let task = Task::ALL[stream.below(3)];
            let (now, ahead) = (seen.job(job).speed(), seen.job(job).speed_with(task));
            match sim.step(Decision::Add { job, task, node: None }) {
                Ok(()) => assert!((sim.view().unwrap().job(job).speed() - ahead).abs() < 1e-12),
                Err(_) if stream.uniform() < 0.2 => {
                    sim.step(Decision::Close).unwrap();
                    if sim.view().is_none() {
                        sim = simulator(&workload, 3);
                    }
                }
                Err(_) => assert_eq!(sim.view().unwrap().job(job).speed(), now),
            }
        }
    }
}

#[test]
fn clones_go_their_own_way() {
    let workload = open("builtin,jobs=5");
    let mut sim = simulator(&workload, 1);
    let before = all(&sim);
    let mut other = sim.clone();
    other.step(Decision::Add { job: 0, task: Task::Both, node: None }).unwrap();
    other.step(Decision::Close).unwrap();
    assert_eq!(all(&sim), before);
    sim.step(Decision::Add { job: 0, task: Task::Both, node: None }).unwrap();
    sim.step(Decision::Close).unwrap();
    assert_eq!(all(&sim), all(&other));
}

#[test]
fn it_may_cross_threads() {
    fn is<T: Send + Sync + Unpin>() {}
    is::<Simulator>();
    is::<TrainingWorkload>();
}
