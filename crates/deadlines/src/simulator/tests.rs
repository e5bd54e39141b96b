//! What must hold whatever is decided.

use super::{Change, Simulator};
use crate::{
    Deadlines,
    feature::Extractor,
    heuristic::{EdfTest, Hpa, Order, Qos, Queue, Vpa},
    state::{Decision, DecisionError, Question, View},
    workload::DeadlineWorkload,
};
use sched_distill_core::{
    rng::Stream,
    scenario::Questions as _,
    simulation::{JobEnd, Outcome, Simulated as _, Simulation as _, Stall},
};

fn open(spec: &str) -> DeadlineWorkload {
    DeadlineWorkload::open(&spec.parse().unwrap()).unwrap()
}

fn start(spec: &str, seed: u64) -> Simulator {
    let workload = open(spec);
    let mut sim = Simulator::new(workload.cluster().clone(), workload.jobs(seed), seed);
    sim.record_changes();
    sim.record_timeline();
    sim
}

type Decide = Box<dyn FnMut(&View<'_>) -> Decision>;

/// All heuristics by name.
fn heuristics() -> [(&'static str, Decide); 8] {
    let mut hpa = Hpa::default();
    let work = Qos { order: Order::Work, refuse: true, ..Qos::default() };
    [
        ("fifo", Box::new(|seen: &View<'_>| Queue::Fifo.decide(seen))),
        ("edf", Box::new(|seen: &View<'_>| Queue::Edf.decide(seen))),
        ("least-slack", Box::new(|seen: &View<'_>| Queue::LeastSlack.decide(seen))),
        ("edf-test", Box::new(|seen: &View<'_>| EdfTest::default().decide(seen))),
        ("qos", Box::new(|seen: &View<'_>| Qos::default().decide(seen))),
        ("least work, refusing", Box::new(move |seen: &View<'_>| work.decide(seen))),
        ("hpa", Box::new(move |seen: &View<'_>| hpa.decide(seen))),
        ("vpa", Box::new(|seen: &View<'_>| Vpa.decide(seen))),
    ]
}

fn run(mut sim: Simulator, mut decide: impl FnMut(&View<'_>) -> Decision) -> Simulator {
    while let Some(seen) = sim.view() {
        let decision = decide(&seen);
        sim.step(decision).unwrap();
    }
    sim
}

fn qos(seen: &View<'_>) -> Decision {
    Qos::default().decide(seen)
}

/// Restarts take ten hours, and a minute is worked in between.
#[test]
fn who_resizes_at_every_check_has_stalled_in_the_end() {
    let sim =
        run(
            start("builtin,jobs=1,node-cores=8,work=200000,work-spread=0,check=60,restart=36000", 1),
            |seen| match seen.question() {
                Question::Running(job) => Decision::Resize { job, cores: 1 + seen.job(job).cores() % 2 },
                Question::Start => qos(seen),
            },
        );
    let outcome = sim.outcome().unwrap();
    assert_eq!(outcome.stall, Some(Stall::Endless));
    assert!(outcome.events < 1_000_000 && outcome.objective().is_none(), "{}", outcome.events);
    let ends = run(start("builtin,jobs=1,node-cores=8,work=200000,work-spread=0,check=60,restart=36000", 1), qos)
        .outcome()
        .unwrap();
    assert_eq!(ends.stall, None);
}

/// A random path of candidates as a decision, wishes to wait only now and then.
fn random(sim: &Simulator, questions: &mut Extractor, stream: &mut Stream) -> Decision {
    let seen = sim.view().unwrap();
    questions.update(&seen);
    let mut path = Vec::new();
    loop {
        let n = questions.rows(&seen, &path, false, &mut Vec::new());
        if n == 0 {
            break;
        }
        let mut candidate = stream.below(n);
        if path.is_empty() && questions.snapshot().none() == Some(candidate) && stream.uniform() < 0.7 {
            candidate = 0;
        }
        if path.is_empty() && questions.strands(&seen, &[candidate]) {
            candidate = 0;
        }
        path.push(candidate);
    }
    questions.decision(&seen, &path)
}

fn figure(outcome: &Outcome, name: &str) -> f64 {
    outcome.figures.iter().find(|(f, _)| *f == name).and_then(|(_, value)| *value).unwrap()
}

const SPECS: [&str; 5] = [
    "builtin,jobs=20,node-cores=12",
    "builtin,jobs=25,nodes=4,node-cores=8,arrivals=poisson,load=3",
    "builtin,jobs=20,nodes=2,edge=hopeless,refuse=1",
    "builtin,jobs=15,restart=600,check=30,noise=0.5",
    "builtin,jobs=15,prediction-error=0.5,inflated=0.5",
];

#[test]
fn whatever_is_decided_cores_and_work_are_kept() {
    let mut stream = Stream::new(1, "decisions");
    let (mut resized, mut refused) = (0, 0);
    for (spec, seed) in SPECS.iter().flat_map(|spec| (0..6).map(move |seed| (*spec, seed))) {
        let (mut sim, mut questions) = (start(spec, seed), Extractor::default());
        while sim.view().is_some() {
            let decision = random(&sim, &mut questions, &mut stream);
            assert_eq!(sim.check(decision), Ok(()));
            sim.step(decision).unwrap();
            let held: u32 = sim.state.running.iter().map(|&job| sim.state.jobs[job as usize].stage).map(cores).sum();
            assert_eq!(held + sim.state.free, sim.state.cluster.cores());
            assert_eq!(sim.state.node_free.iter().copied().max(), Some(sim.state.most_free));
        }
        let outcome = sim.outcome().unwrap();
        let jobs = open(spec).jobs(seed);
        let restart_ms = sim.state.cluster.restart_ms;
        // Iterations between changes add up to what each job takes.
        let mut done = vec![0.0; jobs.len()];
        let mut now: Vec<Option<(f64, f64)>> = vec![None; jobs.len()];
        for change in sim.changes() {
            let (time_ms, job) = match *change {
                Change::Runs { time_ms, job, .. } | Change::Ends { time_ms, job } => (time_ms, job as usize),
            };
            if let Some((from_ms, each_ms)) = now[job] {
                done[job] += (time_ms - from_ms).max(0.0) / each_ms;
            }
            if let Change::Runs { cores, elastic, .. } = *change {
                let facts = &jobs[job];
                let used = cores.min(if elastic { facts.largest } else { facts.threads });
                let pause_ms = if now[job].is_some() { restart_ms } else { 0.0 };
                resized += u32::from(now[job].is_some());
                now[job] = Some((time_ms + pause_ms, facts.law.time_ms(used)));
            }
        }
        for (place, (end, job)) in outcome.jobs.iter().zip(&jobs).enumerate() {
            match end {
                JobEnd::Completed(ms) => {
                    assert!((done[place] / job.iterations - 1.0).abs() < 1e-9, "{} of {}", done[place], job.iterations);
                    assert!(*ms > job.arrival_ms);
                }
                JobEnd::Rejected(_) => refused += 1,
                JobEnd::Unfinished => panic!("{spec}: job {place} is unfinished"),
            }
        }
        // No core is given twice: the runs of a lane do not overlap.
        let mut runs = sim.task_runs().to_vec();
        runs.sort_by(|a, b| (a.lane, a.start_ms).partial_cmp(&(b.lane, b.start_ms)).unwrap());
        for pair in runs.windows(2) {
            assert!(pair[0].lane != pair[1].lane || pair[0].end_ms <= pair[1].start_ms, "{pair:?}");
        }
        let allocated: f64 = sim.runs.iter().map(|run| run.allocated_ms).sum();
        let drawn: f64 = runs.iter().map(|run| run.end_ms - run.start_ms).sum();
        assert!((allocated / drawn - 1.0).abs() < 1e-9, "{allocated} {drawn}");
    }
    assert!(resized > 1000 && refused > 5, "{resized} {refused}");
}

fn cores(stage: crate::state::Stage) -> u32 {
    match stage {
        crate::state::Stage::Running(held) => held.cores,
        _ => 0,
    }
}

#[test]
fn costs_add_up_to_the_objective() {
    for (policy, mut decide) in heuristics() {
        for spec in SPECS {
            let jobs = open(spec).jobs(3).len() as f64;
            let sim = run(start(spec, 3), &mut decide);
            let outcome = sim.outcome().unwrap();
            let missed = jobs * (1.0 - figure(&outcome, "on_time"));
            let steps: Vec<f64> = (0..400).map(|i| f64::from(i) * 1e6).collect();
            let parts: f64 = steps.windows(2).map(|pair| sim.cost(pair[0], pair[1])).sum();
            assert!((parts - missed).abs() < 1e-9 && (outcome.total_reward + missed).abs() < 1e-9, "{policy} {spec}");
            assert_eq!(outcome.unfinished(), 0, "{policy} {spec}");
        }
    }
}

#[test]
fn the_same_seed_is_the_same_episode_and_all_meet_the_same_luck() {
    let changes = |seed: u64| run(start("builtin,jobs=20", seed), qos).changes().to_vec();
    assert_eq!(changes(5), changes(5));
    assert_ne!(changes(5), changes(6));
    // A copy goes on as the original.
    let mut sim = start("builtin,jobs=20", 5);
    for _ in 0..50 {
        let decision = qos(&sim.view().unwrap());
        sim.step(decision).unwrap();
    }
    assert_eq!(run(sim.clone(), qos).changes(), run(sim, qos).changes());
}

#[test]
fn illegal_decisions_say_why_and_change_nothing() {
    let mut sim = start("builtin,jobs=5,node-cores=8", 1);
    let first = sim.view().unwrap().waiting()[0];
    let before = serde_json::to_string(&sim.view().unwrap()).unwrap();
    for (decision, expected) in [
        (Decision::Start { job: 9, cores: 1, elastic: true }, "job 9 does not wait; waiting are"),
        (Decision::Start { job: first, cores: 0, elastic: true }, "0 cores for job"),
        (Decision::Start { job: first, cores: 9, elastic: true }, "the node with most room has 8"),
        (Decision::Start { job: first, cores: 9, elastic: false }, "9 cores for job"),
        (Decision::Refuse { job: first }, "may not be refused"),
        (Decision::Resize { job: first, cores: 2 }, "the question is which waiting job begins next"),
    ] {
        let message = sim.step(decision).unwrap_err().to_string();
        assert!(message.contains(expected), "{message}");
    }
    assert_eq!(serde_json::to_string(&sim.view().unwrap()).unwrap(), before);
    sim.step(Decision::Start { job: first, cores: 2, elastic: true }).unwrap();
    while !matches!(sim.view().map(|seen| seen.question()), Some(Question::Running(_))) {
        sim.step(Decision::Wait).unwrap();
    }
    let message = sim.step(Decision::Wait).unwrap_err().to_string();
    assert!(message.contains("the question is how many cores running job"), "{message}");
    let ended = run(sim, |seen| Queue::Fifo.decide(seen));
    assert_eq!(ended.check(Decision::Wait), Err(DecisionError::Ended));
}

/// After its first measurement, a job's time is predicted within 5 % in the mean, at its own size and at others.
#[test]
fn predictions_are_close_after_a_window() {
    let (mut errors, mut others) = (Vec::new(), Vec::new());
    for seed in 0..40 {
        let mut sim = start("builtin,jobs=20", seed);
        let mut seen_before = [false; 20];
        while let Some(seen) = sim.view() {
            if let Question::Running(job) = seen.question()
                && !std::mem::replace(&mut seen_before[job as usize], true)
            {
                let (estimate, facts) = sim.estimate(job).unwrap();
                let error = |cores: u32| (estimate.time_ms(cores) / facts.law.time_ms(cores) - 1.0).abs();
                errors.push(error(seen.job(job).used()));
                others.extend((1..=16).map(error));
            }
            let decision = qos(&seen);
            sim.step(decision).unwrap();
        }
    }
    let mean = |all: &[f64]| all.iter().sum::<f64>() / all.len() as f64;
    println!("mean error at the size of the job {:.4}, over all sizes {:.4}", mean(&errors), mean(&others));
    assert!(errors.len() > 600, "{}", errors.len());
    assert!(mean(&errors) < 0.05 && mean(&others) < 0.05, "{} {}", mean(&errors), mean(&others));
    // A belief of the model alone is no closer than the jobs spread.
    assert!(mean(&errors) > 0.01);
}

#[test]
fn a_policy_that_waits_for_ever_strands_the_cluster() {
    let mut sim = start("builtin,jobs=5", 1);
    let mut strands = 0;
    while let Some(seen) = sim.view() {
        strands += u32::from(seen.strands(Decision::Wait));
        sim.step(Decision::Wait).unwrap();
    }
    assert!(strands >= 1 && sim.outcome().unwrap().unfinished() == 5);
}

#[test]
fn the_scenario_runs_through_its_traits() {
    let workload = Deadlines::open_workload(&"builtin,jobs=3".parse().unwrap()).unwrap();
    let sim = Deadlines::start(&workload, workload.jobs(1), 1);
    assert_eq!((sim.lanes(), sim.arrivals_ms().len()), (32, 3));
}
