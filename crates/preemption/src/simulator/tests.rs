//! What must hold whatever is decided.

use super::{Change, Simulator, What};
use crate::{
    Preemption,
    heuristic::{LAS_LIMIT, Order, PickyMan, Queue, Rule, Tiresias},
    state::{Decision, DecisionError, Question, View},
    workload::PreemptionWorkload,
};
use sched_distill_core::{
    rng::Stream,
    simulation::{JobEnd, Simulated as _, Simulation as _, Stall},
};

fn open(spec: &str) -> PreemptionWorkload {
    PreemptionWorkload::open(&spec.parse().unwrap()).unwrap()
}

fn start(workload: &PreemptionWorkload, seed: u64) -> Simulator {
    let mut sim = Simulator::new(workload.cluster().clone(), workload.jobs(seed), seed);
    sim.record_changes();
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

/// Nodes fail before a job has done anything that stays.
#[test]
fn jobs_that_always_fail_have_stalled_in_the_end() {
    let workload = open("builtin,jobs=1,nodes=1,node-gpus=1,duration=60000,duration-spread=0,mtbf=0.01,repair=1");
    let (mut sim, mut fifo) = (start(&workload, 1), named("fifo"));
    while let Some(seen) = sim.view() {
        let decision = fifo(&seen);
        sim.step(decision).unwrap();
    }
    let outcome = sim.outcome().unwrap();
    assert_eq!((outcome.stall, outcome.unfinished()), (Some(Stall::Endless), 1));
    assert!(outcome.events < 500_000, "{}", outcome.events);
}

/// Heuristics by name, and `tiresias` with a rule.
const HEURISTICS: [&str; 9] =
    ["fifo", "sjf", "lucid-like", "srtf", "srtf-true", "las", "gittins", "pickyman", "pickyman-plain"];

fn named(name: &str) -> Box<dyn FnMut(&View<'_>) -> Decision> {
    let queue = |queue: Queue| -> Box<dyn FnMut(&View<'_>) -> Decision> { Box::new(move |seen| queue.decide(seen)) };
    let order = |order: Order| -> Box<dyn FnMut(&View<'_>) -> Decision> { Box::new(move |seen| order.decide(seen)) };
    match name {
        "fifo" => queue(Queue::Fifo),
        "sjf" => queue(Queue::Sjf),
        "lucid-like" => queue(Queue::LucidLike),
        "srtf" => order(Order::Srtf),
        "srtf-true" => order(Order::SrtfTrue),
        "las" => order(Order::Las(LAS_LIMIT)),
        "gittins" => order(Order::Gittins),
        "pickyman" => Box::new(|seen| PickyMan::default().decide(seen)),
        "pickyman-plain" => Box::new(|seen| PickyMan { lend: false, protect: false }.decide(seen)),
        rule => {
            let rule = Rule::ALL.iter().find(|(known, _)| rule == format!("tiresias-{known}")).unwrap().1;
            let mut tiresias = Tiresias::new(rule, vec![3250.0, 7200.0], 0.0, 0.0);
            Box::new(move |seen| tiresias.decide(seen))
        }
    }
}

/// Any candidate, or none where that strands nobody; first come, first served after so many answers, so that all ends.
fn random(stream: &mut Stream, answers: u32) -> impl FnMut(&View<'_>) -> Decision {
    let (mut fifo, mut left) = (named("fifo"), answers);
    move |seen| {
        let all: Vec<u32> = seen.candidates().collect();
        left = left.saturating_sub(1);
        match (seen.question(), all.get(stream.below(all.len() + 1))) {
            _ if left == 0 => fifo(seen),
            (Question::Serve, Some(&job)) => Decision::Serve { job },
            (Question::Serve, None) if seen.strands(Decision::Wait) => Decision::Serve { job: all[0] },
            (Question::Condemn(_), Some(&job)) => Decision::Condemn { job },
            _ => Decision::Wait,
        }
    }
}

/// A job as its changes tell its life.
#[derive(Clone, Debug, Default)]
struct Life {
    /// What last happened, and when.
    last: Option<(What, f64)>,
    nodes: Vec<(u32, u32)>,
    epochs: f64,
    computed_ms: f64,
    lost_ms: f64,
    preemptions: u32,
    /// Whether it waits or loads because it was suspended.
    is_resumed: bool,
}

/// The lives of all jobs of an episode, in which no GPU is given twice and one thing follows upon another.
fn lives(sim: &Simulator, about: &str) -> Vec<Life> {
    use What::{Begins, Computes, Ends, Failed, Saves, Suspended};
    let cluster = &sim.state.cluster;
    let mut free = vec![cluster.node_gpus; cluster.nodes as usize];
    let mut lives = vec![Life::default(); sim.runs.len()];
    let mut now_ms = 0.0;
    for change @ Change { time_ms, job, what, nodes } in sim.changes() {
        let (facts, life) = (&sim.runs[*job as usize].job, &mut lives[*job as usize]);
        assert!(*time_ms >= now_ms, "{about}: {change:?}");
        now_ms = *time_ms;
        let (before, since_ms) = life.last.map_or((None, facts.arrival_ms), |(what, ms)| (Some(what), ms));
        assert!(since_ms <= now_ms, "{about}: {change:?}");
        let follows = match (before, *what) {
            (None | Some(Suspended | Failed), Begins) | (Some(Begins), Computes) | (Some(Computes), Ends) => true,
            (Some(Begins | Computes | Saves), Failed) => cluster.mtbf_ms.is_some(),
            (Some(Computes), Saves) | (Some(Saves), Suspended) => !cluster.free,
            (Some(Begins | Computes), Suspended) => cluster.free,
            _ => false,
        };
        assert!(follows, "{about}: {change:?} after {before:?}");
        let passed_ms = now_ms - since_ms;
        match before {
            Some(Computes) => {
                let spread = life.nodes.len() as u32 > cluster.fewest_nodes(facts.gpus);
                let slow = if spread { 1.0 + cluster.spread_slowdown } else { 1.0 };
                life.computed_ms += passed_ms;
                life.epochs += passed_ms / (slow * facts.epoch_ms);
                let is_whole = (life.epochs - life.epochs.round()).abs() < 1e-6;
                assert!(*what != Saves || is_whole, "{about}: {life:?}");
            }
            Some(Begins) if life.is_resumed => life.lost_ms += f64::from(facts.gpus) * passed_ms,
            Some(Saves) => life.lost_ms += f64::from(facts.gpus) * passed_ms,
            _ => {}
        }
        if *what == Failed {
            life.epochs = (life.epochs + 1e-9).floor();
        }
        match what {
            Begins => {
                life.nodes.clone_from(nodes);
                assert_eq!(nodes.iter().map(|(_, gpus)| gpus).sum::<u32>(), facts.gpus, "{about}: {change:?}");
                for &(node, gpus) in nodes {
                    let free = &mut free[node as usize];
                    assert!((1..=*free).contains(&gpus), "{about}: {change:?}, {free} are free");
                    *free -= gpus;
                }
            }
            Suspended | Failed | Ends => {
                life.is_resumed = *what == Suspended;
                life.nodes.drain(..).for_each(|(node, gpus)| free[node as usize] += gpus);
            }
            Computes | Saves => {}
        }
        life.preemptions += u32::from(*what == if cluster.free { Suspended } else { Saves });
        life.last = Some((*what, now_ms));
    }
    lives
}

/// An ended episode against what its changes say.
fn check(sim: &Simulator, about: &str) {
    let (outcome, lives) = (sim.outcome().unwrap(), lives(sim, about));
    assert_eq!(outcome.unfinished(), 0, "{about}");
    let count = lives.len() as f64;
    let (mut waits, mut last_ms) = (Vec::new(), 0.0f64);
    for (id, (life, run)) in lives.iter().zip(&sim.runs).enumerate() {
        let Some((What::Ends, end_ms)) = life.last else { panic!("{about}: job {id} is not complete: {life:?}") };
        assert_eq!(outcome.jobs[id], JobEnd::Completed(end_ms), "{about}");
        assert!((life.epochs / run.job.epochs - 1.0).abs() < 1e-6, "{about}: {life:?} of {}", run.job.epochs);
        waits.push(end_ms - run.job.arrival_ms - life.computed_ms);
        last_ms = last_ms.max(end_ms);
    }
    let mean = |of: &dyn Fn(&Life) -> f64| lives.iter().map(of).sum::<f64>() / count;
    let all_ms: f64 = waits.iter().sum();
    let not_more = |ms: f64| waits.iter().filter(|w| **w <= ms).count() as f64 >= 0.99 * count;
    let p99_ms = waits.iter().copied().filter(|&ms| not_more(ms)).fold(f64::INFINITY, f64::min);
    for (figure, expected) in [
        ("waiting_ms", all_ms / count),
        ("makespan_ms", last_ms - sim.runs[0].job.arrival_ms),
        ("p99_waiting_ms", p99_ms),
        ("lost_ms", mean(&|life| life.lost_ms)),
        ("preemptions", mean(&|life| f64::from(life.preemptions))),
    ] {
        let found = outcome.figure(figure).unwrap();
        assert!((found - expected).abs() <= 1e-6 * expected.abs().max(1.0), "{about}, {figure}: {found}, {expected}");
    }
    // Costs of consecutive times, long and short, add up to the objective.
    let (mut from_ms, mut sum) = (0.0, 0.0);
    for i in 0.. {
        let to_ms = from_ms + [1e3, 3.3e5, 7e6][i % 3];
        sum += sim.cost(from_ms, to_ms);
        from_ms = to_ms;
        if from_ms > last_ms {
            break;
        }
    }
    for found in [sum, -outcome.total_reward] {
        assert!((found - all_ms).abs() <= 1e-6 * all_ms.max(1.0), "{about}: {found}, {all_ms}");
    }
    // No GPU is drawn twice: the runs of a lane do not overlap.
    let mut runs = sim.task_runs().to_vec();
    runs.sort_by(|a, b| (a.lane, a.start_ms, a.end_ms).partial_cmp(&(b.lane, b.start_ms, b.end_ms)).unwrap());
    for pair in runs.windows(2) {
        assert!(pair[0].lane != pair[1].lane || pair[0].end_ms <= pair[1].start_ms, "{about}: {pair:?}");
    }
}

/// The books at a question.
fn check_books(sim: &Simulator) {
    let state = &sim.state;
    let gpus = |jobs: &[u32]| jobs.iter().map(|&job| state.jobs[job as usize].gpus).sum::<u32>();
    let up = state.node_up.iter().filter(|up| **up).count() as u32 * state.cluster.node_gpus;
    assert_eq!(state.free + gpus(&state.served) + gpus(&state.busy), up);
    assert_eq!(state.node_free.iter().sum::<u32>(), state.free + gpus(&state.served));
    let can = |job: &&u32| state.can_be_condemned(&state.jobs[**job as usize]);
    assert_eq!(state.condemnable, state.busy.iter().filter(can).map(|&job| gpus(&[job])).sum::<u32>());
    assert!(state.unreserved() <= state.free);
    let condemned = state.busy.iter().filter(|&&job| state.jobs[job as usize].condemned).count();
    let claims = state.claims.iter().chain(&state.forming);
    assert!(claims.map(|claim| claim.condemned.len()).sum::<usize>() <= condemned);
}

#[test]
fn whatever_is_decided_gpus_and_epochs_are_kept() {
    let mut stream = Stream::new(1, "decisions");
    let mut suspended = 0;
    for workload in Preemption::battery().unwrap() {
        for seed in 0..6 {
            let mut decide = random(&mut stream, 2000);
            let mut sim = start(&workload.workload, seed);
            while let Some(seen) = sim.view() {
                let decision = decide(&seen);
                check_books(&sim);
                assert_eq!(sim.check(decision), Ok(()));
                sim.step(decision).unwrap();
            }
            check(&sim, &workload.name);
            suspended += sim.changes().iter().filter(|change| change.what == What::Suspended).count();
        }
    }
    for spec in ["builtin,jobs=20,nodes=2,free=1", "builtin,jobs=20,nodes=2,free=1,mtbf=3"] {
        for seed in 0..5 {
            let sim = run(start(&open(spec), seed), random(&mut stream, 2000));
            check(&sim, spec);
            suspended += sim.changes().iter().filter(|change| change.what == What::Suspended).count();
        }
    }
    assert!(suspended > 1000, "{suspended}");
}

#[test]
fn every_heuristic_completes_all_jobs_and_costs_add_up() {
    for name in HEURISTICS.into_iter().chain(["tiresias-shortest"]) {
        for workload in Preemption::battery().unwrap() {
            let sim = run(start(&workload.workload, 3), named(name));
            check(&sim, &format!("{name} on {}", workload.name));
        }
    }
    for rule in Rule::ALL.map(|(name, _)| format!("tiresias-{name}")) {
        check(&run(start(&open("builtin,jobs=20,nodes=2,free=1"), 3), named(&rule)), &rule);
    }
}

#[test]
fn the_same_seed_is_the_same_episode_and_a_copy_goes_on_as_the_original() {
    let workload = open("builtin,jobs=30,load=2");
    let changes = |seed: u64| run(start(&workload, seed), named("srtf")).changes().to_vec();
    assert_eq!(changes(5), changes(5));
    assert_ne!(changes(5), changes(6));
    let (mut sim, mut srtf) = (start(&workload, 5), named("srtf"));
    for _ in 0..40 {
        let decision = srtf(&sim.view().unwrap());
        sim.step(decision).unwrap();
    }
    assert_eq!(run(sim.clone(), named("srtf")).changes(), run(sim, srtf).changes());
}

#[test]
fn illegal_decisions_say_why_and_change_nothing() {
    let mut sim = start(&open("builtin,nodes=1,jobs=8,arrivals=batch"), 1);
    let refused = |sim: &mut Simulator, decision: Decision, expected: &str| {
        let before = serde_json::to_string(&sim.view().unwrap()).unwrap();
        let message = sim.step(decision).unwrap_err().to_string();
        assert!(message.contains(expected), "{message}");
        assert_eq!(serde_json::to_string(&sim.view().unwrap()).unwrap(), before);
    };
    refused(&mut sim, Decision::Serve { job: 9 }, "job 9 cannot be served; that can be: 0, 1, 2");
    refused(&mut sim, Decision::Condemn { job: 0 }, "the question is which waiting job is served next");
    let mut srtf = named("srtf");
    let claimant = loop {
        match (sim.view().unwrap().question(), srtf(&sim.view().unwrap())) {
            (Question::Condemn(job), _) => break job,
            (_, decision) => sim.step(decision).unwrap(),
        }
    };
    let about = format!("the question is which job is condemned for job {claimant}");
    refused(&mut sim, Decision::Serve { job: claimant }, &about);
    refused(&mut sim, Decision::Condemn { job: claimant }, "cannot be condemned; that can be");
    let ended = run(sim, named("fifo"));
    assert_eq!(ended.check(Decision::Wait), Err(DecisionError::Ended));
}

#[test]
fn who_waits_for_ever_strands_the_cluster() {
    let mut sim = start(&open("builtin,jobs=5"), 1);
    let mut strands = 0;
    while let Some(seen) = sim.view() {
        strands += u32::from(seen.strands(Decision::Wait));
        sim.step(Decision::Wait).unwrap();
    }
    let outcome = sim.outcome().unwrap();
    assert!(strands >= 1 && outcome.unfinished() == 5 && outcome.figure("waiting_ms").is_none());
}

#[test]
fn who_leaves_more_than_half_idle_strands_the_cluster() {
    let (mut found, mut srtf) = ([0; 2], named("srtf"));
    run(start(&open("builtin,jobs=60,load=0.7,edge=wide"), 1), |seen| {
        if seen.question() == Question::Serve {
            let fits = |job: u32| seen.job(job).gpus() <= seen.unreserved();
            let idle = 2 * seen.unreserved() > 32 && seen.candidates().any(fits);
            // Where nothing goes on it strands anyway.
            if !seen.busy().is_empty() {
                assert_eq!(seen.strands(Decision::Wait), idle);
                found[usize::from(idle)] += 1;
            }
            assert!(seen.candidates().all(|job| seen.strands(Decision::Serve { job }) == (idle && !fits(job))));
        } else {
            assert!(!seen.strands(Decision::Wait));
        }
        srtf(seen)
    });
    assert!(found.iter().all(|&times| times > 3), "{found:?}");
}

#[test]
fn the_scenario_runs_through_its_traits() {
    let workload = Preemption::open_workload(&"builtin,jobs=3".parse().unwrap()).unwrap();
    let sim = Preemption::start(&workload, workload.jobs(1), 1);
    assert_eq!((sim.lanes(), sim.arrivals_ms().len()), (32, 3));
}
