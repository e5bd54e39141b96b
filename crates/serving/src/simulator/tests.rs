//! What must hold whatever is decided.

use super::{BatchRun, Simulator};
use crate::{
    Serving,
    heuristic::{Clipper, DyBatch, Lazy, TfServing, Triton},
    law::{Batch, Law},
    server::{Application, Server},
    state::{Decision, Question, View},
    workload::{ServingTask, ServingWorkload},
};
use sched_distill_core::{
    rng::Stream,
    simulation::{JobEnd, Outcome, Simulated as _, Simulation as _, Stall},
};
use std::sync::Arc;

type Decide = Box<dyn FnMut(&View<'_>) -> Decision>;

/// All heuristics by name.
fn heuristics() -> [(&'static str, Decide); 8] {
    let waiting = TfServing { max: Some(8), timeout_ms: 3.0 };
    let preferring = Triton { preferred: vec![4, 8], delay_ms: 2.0 };
    let (plain, aged) =
        (DyBatch { fair: false, by_size: false, age: None }, DyBatch { age: Some(2), ..DyBatch::default() });
    let mut clipper = Clipper::default();
    [
        ("tf-serving", Box::new(|seen: &View<'_>| TfServing::default().decide(seen))),
        ("tf-serving, waiting", Box::new(move |seen: &View<'_>| waiting.decide(seen))),
        ("triton", Box::new(move |seen: &View<'_>| preferring.decide(seen))),
        ("clipper", Box::new(move |seen: &View<'_>| clipper.decide(seen))),
        ("lazy", Box::new(|seen: &View<'_>| Lazy.decide(seen))),
        ("dybatch", Box::new(|seen: &View<'_>| DyBatch::default().decide(seen))),
        ("dybatch, plain", Box::new(move |seen: &View<'_>| plain.decide(seen))),
        ("dybatch, aged", Box::new(move |seen: &View<'_>| aged.decide(seen))),
    ]
}

fn dybatch(seen: &View<'_>) -> Decision {
    DyBatch::default().decide(seen)
}

fn open(spec: &str) -> ServingWorkload {
    ServingWorkload::open(&spec.parse().unwrap()).unwrap()
}

fn start(workload: &ServingWorkload, seed: u64) -> Simulator {
    recorded(
        Simulator::new(workload.cluster().server.clone(), workload.jobs(seed), workload.cluster().horizon_ms)
            .with_tail(workload.cluster().tail_ms),
    )
}

fn recorded(mut sim: Simulator) -> Simulator {
    sim.record_batches();
    sim.record_timeline();
    sim
}

fn run(mut sim: Simulator, mut decide: impl FnMut(&View<'_>) -> Decision) -> Simulator {
    while let Some(seen) = sim.view() {
        let decision = decide(&seen);
        sim.step(decision).unwrap();
        assert!(sim.decisions < 100_000, "it never ends");
    }
    sim
}

/// Any legal answer; none seldom, and only where a batch runs or the oldest task has not waited for its timeout.
fn random(stream: &mut Stream) -> impl FnMut(&View<'_>) -> Decision {
    |seen| {
        let wait = Decision::Wait { until_ms: (stream.below(2) == 0).then(|| seen.time_ms() + 2.0 * stream.uniform()) };
        let mut all: Vec<Decision> = match seen.question() {
            Question::Serve => seen.candidates().map(|application| Decision::Serve { application }).collect(),
            Question::Form(_) => seen.groups().map(|group| Decision::Add { task: group.task }).collect(),
        };
        match seen.question() {
            Question::Serve if stream.below(4) == 0 && !seen.strands(wait) => all = vec![wait],
            Question::Form(_) if seen.batch().count > 0 => all.push(Decision::Close),
            _ => {}
        }
        all[stream.below(all.len())]
    }
}

/// An ended episode against what its batches and the law say.
fn check(sim: &Simulator, about: &str) -> Outcome {
    let (outcome, server, state) = (sim.outcome().unwrap(), &sim.state.server, &sim.state);
    assert_eq!(outcome.unfinished(), 0, "{about}");
    let mut end_ms = vec![f64::NAN; sim.runs.len()];
    let (mut idle_from_ms, mut began_ms) = (vec![0.0f64; server.accelerators as usize], 0.0f64);
    let (mut real, mut padded) = (0.0, 0.0);
    for batch in sim.batches() {
        let of = &server.applications[batch.application as usize];
        let declared = batch.tasks.iter().fold(Batch::default(), |b, &task| b.with(state.tasks[task as usize].size));
        let is = sim.real(&batch.tasks);
        assert!(of.holds(declared), "{about}: {batch:?}");
        assert!((batch.end_ms - batch.start_ms - of.ms(is)).abs() < 1e-9 * batch.end_ms.max(1.0), "{about}: {batch:?}");
        let idle_from_ms = &mut idle_from_ms[batch.accelerator as usize];
        assert!(*idle_from_ms <= batch.start_ms && began_ms <= batch.start_ms, "{about}: {batch:?}");
        (*idle_from_ms, began_ms) = (batch.end_ms, batch.start_ms);
        (real, padded) = (real + is.total as f64, padded + of.units(is) as f64);
        for &task in &batch.tasks {
            let found = &state.tasks[task as usize];
            assert!(end_ms[task as usize].is_nan() && found.application == batch.application, "{about}: {batch:?}");
            assert!(found.arrival_ms <= batch.start_ms);
            end_ms[task as usize] = batch.end_ms;
        }
    }
    let (mut latencies, mut slowdown, mut soon, mut refused) = (Vec::new(), 0.0, 0.0, 0.0);
    for (id, end) in outcome.jobs.iter().enumerate() {
        let (task, size) = (&state.tasks[id], sim.runs[id].size);
        let of = &server.applications[task.application as usize];
        match end {
            JobEnd::Completed(ms) => {
                assert_eq!(*ms, end_ms[id], "{about}: task {id}");
                latencies.push(ms - task.arrival_ms);
                slowdown += (ms - task.arrival_ms) / of.solo_ms(size);
                soon += f64::from(u8::from(ms - task.arrival_ms <= of.objective_ms));
            }
            JobEnd::Rejected(ms) => {
                assert!(*ms == task.arrival_ms && end_ms[id].is_nan(), "{about}: task {id}");
                refused += 1.0;
            }
            JobEnd::Unfinished => panic!("{about}: task {id} is unfinished"),
        }
    }
    latencies.sort_by(f64::total_cmp);
    let not_more = |ms: f64| latencies.iter().filter(|l| **l <= ms).count() as f64 >= 0.95 * latencies.len() as f64;
    let (all, answered) = (sim.runs.len() as f64, latencies.len() as f64);
    let in_time = end_ms.iter().filter(|ms| **ms <= sim.horizon_ms).count() as f64;
    for (figure, expected) in [
        ("slowdown", slowdown / answered),
        ("p95_ms", latencies.iter().copied().find(|&ms| not_more(ms)).unwrap()),
        ("throughput", 1e3 * in_time / sim.horizon_ms),
        ("fairness", fairness(sim)),
        ("waste", 1.0 - real / padded),
        ("in_time", soon / all),
        ("refused", refused / all),
    ] {
        let found = outcome.figure(figure).unwrap();
        assert!((found - expected).abs() <= 1e-9 * expected.abs().max(1.0), "{about}, {figure}: {found}, {expected}");
    }
    // Costs of consecutive times, long and short, add up to the objective times what was answered.
    let (mut from_ms, mut sum) = (0.0, 0.0);
    for i in 0.. {
        let to_ms = from_ms + [0.3, 7.0, 110.0][i % 3];
        sum += sim.cost(from_ms, to_ms);
        from_ms = to_ms;
        if from_ms > outcome.final_time_ms {
            break;
        }
    }
    for found in [sum, -outcome.total_reward] {
        assert!((found - slowdown).abs() <= 1e-6 * slowdown.max(1.0), "{about}: {found}, {slowdown}");
    }
    outcome
}

/// Jain's index of accelerator time by weight up to the horizon.
fn fairness(sim: &Simulator) -> f64 {
    let server = &sim.state.server;
    let part_ms = |batch: &BatchRun| (batch.end_ms.min(sim.horizon_ms) - batch.start_ms).max(0.0);
    let asked = (0..server.applications.len() as u32).filter(|a| sim.state.tasks.iter().any(|t| t.application == *a));
    let had = |application: u32| -> f64 {
        let of = sim.batches().iter().filter(|batch| batch.application == application);
        of.map(part_ms).sum::<f64>() / server.applications[application as usize].weight
    };
    let shares: Vec<f64> = asked.map(had).collect();
    let sum: f64 = shares.iter().sum();
    sum * sum / (shares.len() as f64 * shares.iter().map(|x| x * x).sum::<f64>())
}

#[test]
fn whatever_is_decided_tasks_are_answered_once_and_accelerators_run_one_batch_each() {
    let (mut stream, mut refused) = (Stream::new(1, "decisions"), 0.0);
    for workload in Serving::battery().unwrap() {
        for seed in 0..3 {
            let mut decide = random(&mut stream);
            let mut sim = start(&workload.workload, seed);
            while let Some(seen) = sim.view() {
                let (waiting, decision) = (seen.waiting(), decide(&seen));
                assert_eq!(sim.check(decision), Ok(()));
                assert!(sim.state.idle > 0 && (waiting > 0 || sim.state.is_forming));
                assert_eq!(sim.state.queues.iter().map(|queue| queue.count).sum::<u32>(), waiting);
                sim.step(decision).unwrap();
            }
            refused += check(&sim, &workload.name).figure("refused").unwrap();
        }
    }
    assert!(refused > 0.1, "{refused}");
}

#[test]
fn every_heuristic_answers_all_tasks_and_costs_add_up() {
    for workload in Serving::battery().unwrap() {
        for (name, decide) in heuristics() {
            check(&run(start(&workload.workload, 3), decide), &format!("{name} on {}", workload.name));
        }
    }
}

#[test]
fn the_same_seed_is_the_same_episode_and_a_copy_goes_on_as_the_original() {
    let workload = open("builtin,seconds=0.5,load=1.2");
    for (name, mut decide) in heuristics() {
        let one = |seed: u64| {
            let decide = heuristics().into_iter().find(|(known, _)| *known == name).unwrap().1;
            let sim = run(start(&workload, seed), decide);
            format!("{:?} {:?}", sim.batches(), sim.outcome())
        };
        assert_eq!(one(5), one(5), "{name}");
        assert_ne!(one(5), one(6), "{name}");
        let mut sim = start(&workload, 5);
        for _ in 0..100 {
            let decision = decide(&sim.view().unwrap());
            sim.step(decision).unwrap();
        }
        let bytes = |sim: Simulator| {
            let sim = run(sim, dybatch);
            format!("{:?} {:?}", sim.batches(), sim.outcome())
        };
        assert_eq!(bytes(sim.clone()), bytes(sim), "{name}");
    }
}

/// Batches of an application take 2 ms and 1 ms per unit, up to four tasks each.
fn server(accelerators: u32, applications: &[Application]) -> Arc<Server> {
    Arc::new(Server { accelerators, applications: applications.to_vec(), ..Server::default() })
}

fn application(name: &str) -> Application {
    Application { most: 4, ..Application::new(name, Law::Padded { alpha_ms: 2.0, beta_ms: 1.0 }, 100.0) }
}

/// An episode of tasks of size 1 by application and arrival.
fn of(server: Arc<Server>, tasks: &[(u32, f64)]) -> Simulator {
    let task = |&(application, arrival_ms)| ServingTask { application, arrival_ms, size: 1, declared_size: 1 };
    recorded(Simulator::new(server, tasks.iter().map(task).collect(), 100.0))
}

/// What is seen at a question: the time, idle accelerators, waiting tasks.
fn seen(sim: &Simulator) -> Option<(f64, u32, u32)> {
    sim.view().map(|seen| (seen.time_ms(), seen.idle(), seen.waiting()))
}

fn steps(sim: &mut Simulator, decisions: &[Decision]) {
    decisions.iter().for_each(|&decision| sim.step(decision).unwrap());
}

const SERVE: Decision = Decision::Serve { application: 0 };

const fn add(task: u32) -> Decision {
    Decision::Add { task }
}

#[test]
fn batches_take_what_real_sizes_take() {
    // Half is declared, and more.
    let task = |arrival_ms, size, declared_size| ServingTask { application: 0, arrival_ms, size, declared_size };
    let tasks = vec![task(0.0, 10, 5), task(0.0, 2, 4), task(20.0, 3, 9)];
    let mut sim = recorded(Simulator::new(server(1, &[application("a")]), tasks, 100.0));
    steps(&mut sim, &[SERVE, add(0)]);
    assert_eq!(sim.view().unwrap().batch(), Batch::of(5));
    steps(&mut sim, &[add(1)]);
    // Predicted are 2 + 2 · 5, but 2 + 2 · 10 pass; the next is seen after that.
    assert_eq!(seen(&sim), Some((22.0, 1, 1)));
    let left = |ms: f64| (-ms / 500.0).exp2();
    let used_ms = sim.view().unwrap().queue(0).used_ms();
    assert!((used_ms - (12.0 * left(22.0) + 10.0)).abs() < 1e-12, "{used_ms}");
    steps(&mut sim, &[SERVE, add(2)]);
    assert!(seen(&sim).is_none());
    let times: Vec<(f64, f64)> = sim.batches().iter().map(|batch| (batch.start_ms, batch.end_ms)).collect();
    assert_eq!(times, [(0.0, 22.0), (22.0, 27.0)]);
    // Slowdowns, too, are of real sizes: 22 of 12, 22 of 4, 7 of 5.
    let outcome = check(&sim, "sizes that are not so");
    assert!((outcome.figure("slowdown").unwrap() - (22.0 / 12.0 + 22.0 / 4.0 + 7.0 / 5.0) / 3.0).abs() < 1e-12);
    assert!((outcome.figure("waste").unwrap() - (1.0 - 15.0 / 23.0)).abs() < 1e-12);
}

#[test]
fn who_finds_the_queue_full_is_refused() {
    let short = Application { queue: 2, ..application("a") };
    // Tasks in a batch do not wait: two more have room while the first runs, and two when these run.
    let tasks = [(0, 0.0), (0, 1.0), (1, 1.0), (0, 1.0), (0, 1.0), (0, 3.0), (0, 3.5), (0, 3.5)];
    let mut sim = of(server(1, &[short, application("b")]), &tasks);
    steps(&mut sim, &[SERVE, add(0)]);
    // At 3 the batch has ended, but those that wait have not begun: there is no room yet.
    assert_eq!(seen(&sim), Some((3.0, 1, 3)));
    steps(&mut sim, &[SERVE, add(1), add(3)]);
    let sim = run(sim, dybatch);
    let refused: Vec<usize> = (0..8).filter(|&id| sim.outcome().unwrap().jobs[id].completion_ms().is_none()).collect();
    assert_eq!(refused, [4, 5]);
    assert_eq!(sim.outcome().unwrap().jobs[4], JobEnd::Rejected(1.0));
    assert_eq!(check(&sim, "a short queue").figure("refused"), Some(0.25));
}

#[test]
fn who_waits_for_ever_strands_the_server() {
    let mut sim = start(&open("builtin,seconds=0.1"), 1);
    let (tasks, mut strands) = (sim.runs.len(), 0);
    while let Some(seen) = sim.view() {
        strands += u32::from(seen.strands(Decision::WAIT));
        sim.step(Decision::WAIT).unwrap();
    }
    let outcome = sim.outcome().unwrap();
    assert!(strands >= 1 && tasks > 20 && outcome.unfinished() == tasks && outcome.stalled());
    assert!(outcome.figures.iter().all(|(_, value)| value.is_none()));
    // One that does so only after a while has no figures either.
    let mut left = 50;
    let late = run(start(&open("builtin,seconds=0.5"), 1), |seen| {
        left -= i32::from(left > 0);
        if left > 0 || seen.question() != Question::Serve { dybatch(seen) } else { Decision::WAIT }
    });
    let outcome = late.outcome().unwrap();
    assert!(outcome.stalled() && outcome.jobs.iter().any(|end| end.completion_ms().is_some()));
    assert!(outcome.figures.iter().all(|(_, value)| value.is_none()) && outcome.objective().is_none());
}

#[test]
fn who_waits_for_a_moment_again_and_again_has_stalled_in_the_end() {
    let sim = run(start(&open("builtin,seconds=0.1"), 1), |seen| match seen.question() {
        Question::Serve => Decision::Wait { until_ms: Some(seen.time_ms() + 1e-6) },
        Question::Form(_) => dybatch(seen),
    });
    let outcome = sim.outcome().unwrap();
    assert_eq!((outcome.stall, outcome.objective()), (Some(Stall::Endless), None));
    assert!(outcome.events < 100_000, "{}", outcome.events);
}

#[test]
fn an_episode_without_tasks_has_ended() {
    let sim = of(server(1, &[application("a")]), &[]);
    let outcome = sim.outcome().unwrap();
    assert!(sim.view().is_none() && outcome.is_empty() && !outcome.stalled());
    let told: Vec<_> = outcome.figures.iter().filter(|(_, value)| value.is_some()).collect();
    assert_eq!(told, [&("throughput", Some(0.0))], "nothing was answered, and no task was waited for");
}

#[test]
fn with_a_tail_tasks_cost_more_the_older_they_are() {
    let workload = open("builtin,seconds=0.5,load=1.2,tail=40");
    let sim = run(start(&workload, 3), dybatch);
    let outcome = sim.outcome().unwrap();
    let of = |(task, end): (&crate::state::Task, &JobEnd)| {
        let age_ms = end.completion_ms().unwrap() - task.arrival_ms;
        (age_ms + age_ms * age_ms / 80.0) / sim.runs[task.id as usize].solo_ms
    };
    let expected: f64 = sim.state.tasks.iter().zip(&outcome.jobs).map(of).sum();
    assert!((-outcome.total_reward / expected - 1.0).abs() < 1e-9, "{} {expected}", outcome.total_reward);
    let parts: f64 = (0..50).map(|i| 20.0 * f64::from(i)).map(|from_ms| sim.cost(from_ms, from_ms + 20.0)).sum();
    let rest = sim.cost(1000.0, outcome.final_time_ms);
    assert!(((parts + rest) / expected - 1.0).abs() < 1e-9, "{parts} {rest} {expected}");
    // No figure shows it.
    let plain = run(start(&open("builtin,seconds=0.5,load=1.2"), 3), dybatch).outcome().unwrap();
    assert_eq!(plain.figures, outcome.figures);
    assert!(plain.total_reward > outcome.total_reward);
}
