//! Properties of the heuristics, and figures to look at: `cargo test --release --lib training -- --ignored --nocapture`.

use super::{
    Drf, Fifo, Optimus, Srtf, Tetris, TrueSrtf,
    window::{Window, next_bundle},
};
use crate::{
    simulator::Simulator,
    state::{Decision, Task, View},
    workload::TrainingWorkload,
};
use sched_distill_core::simulation::{Outcome, Simulation as _};

fn open(spec: &str) -> TrainingWorkload {
    TrainingWorkload::open(&spec.parse().unwrap()).unwrap()
}

fn run(workload: &TrainingWorkload, seed: u64, decide: &mut dyn FnMut(&View<'_>) -> Decision) -> Outcome {
    let mut sim = Simulator::new(workload.cluster().clone(), workload.jobs(seed), seed);
    while let Some(seen) = sim.view() {
        let decision = decide(&seen);
        sim.step(decision).unwrap();
    }
    sim.outcome().unwrap()
}

type Heuristic = (&'static str, Box<dyn FnMut(&View<'_>) -> Decision>);

fn heuristics() -> Vec<Heuristic> {
    let (mut tetris, mut optimus) = (Tetris::default(), Optimus::default());
    vec![
        ("DRF", Box::new(|seen| Drf.decide(seen))),
        ("FIFO", Box::new(|seen| Fifo.decide(seen))),
        ("SRTF", Box::new(|seen| Srtf.decide(seen))),
        ("true SRTF", Box::new(|seen| TrueSrtf.decide(seen))),
        ("Tetris", Box::new(move |seen| tetris.decide(seen))),
        ("Optimus", Box::new(move |seen| optimus.decide(seen))),
    ]
}

/// Each decision is legal and each episode ends with all jobs done, also where estimates are wrong, and the second of two
/// equal runs is equal although the heuristic has run before.
#[test]
fn heuristics_complete_all_jobs_and_repeat_themselves() {
    for spec in [
        "builtin,nodes=4,jobs=15",
        "builtin,nodes=1,jobs=6,rate=1,max=3,speed=analytic",
        "builtin,nodes=9,jobs=20,epoch-error=0.5,speed-error=0.5,length-spread=1,arrivals=bursty",
        "builtin,nodes=9,jobs=20,arrivals=poisson,rate=0.3,max=40",
    ] {
        let workload = open(spec);
        for (name, mut decide) in heuristics() {
            let (first, again) = (run(&workload, 3, &mut decide), run(&workload, 3, &mut decide));
            assert!(!first.stalled(), "{spec}, {name}");
            assert_eq!(first, again, "{spec}, {name}");
        }
    }
}

#[test]
fn true_srtf_serves_the_job_that_can_be_done_first() {
    let workload = open("builtin,nodes=4,jobs=8,rate=8");
    let sim = Simulator::new(workload.cluster().clone(), workload.jobs(2), 2);
    let seen = sim.view().unwrap();
    let slots = |job: u32| seen.job(job).epochs() / seen.job(job).best_speed();
    let first = (0..8).min_by(|&a, &b| slots(a).total_cmp(&slots(b))).unwrap();
    assert_eq!(TrueSrtf.decide(&seen), Decision::Add { job: first, task: Task::Both, node: None });
}

#[test]
fn actions_and_decisions_answer_each_other() {
    let workload = open("builtin,nodes=30,jobs=9,rate=9,max=2");
    let mut sim = Simulator::new(workload.cluster().clone(), workload.jobs(1), 1);
    let mut bundles = 0;
    while let Some(bundle) = next_bundle(&sim.view().unwrap()) {
        sim.step(bundle).unwrap();
        bundles += 1;
    }
    assert_eq!(bundles, 9);
    // Job 1 has all it may have, job 2 its workers.
    sim.step(Decision::Add { job: 1, task: Task::Both, node: None }).unwrap();
    sim.step(Decision::Add { job: 2, task: Task::Worker, node: None }).unwrap();
    let seen = sim.view().unwrap();
    let (mut window, mut mask, mut state) = (Window::new(4), Vec::new(), Vec::new());
    window.look(&seen);
    assert_eq!(window.jobs(), [0, 2, 3, 4]);
    window.write_mask(&seen, &mut mask);
    window.write_state(&seen, &mut state);
    assert_eq!((mask.len(), state.len()), (window.actions(), 24));
    assert_eq!(mask[3..6], [false, true, false]);
    assert_eq!(state[16..20], [1.0, 2.0, 1.0, 1.0]);
    for (action, &allowed) in mask.iter().enumerate() {
        let decision = window.decision(action).unwrap();
        assert_eq!(window.action(decision), Some(action));
        assert_eq!(sim.check(decision).is_ok(), allowed);
    }
    assert_eq!(window.decision(13), None);
    assert_eq!(window.action(Decision::Add { job: 1, task: Task::Both, node: None }), None);
    // A window wider than the jobs has empty columns.
    let mut wide = Window::new(20);
    wide.look(&seen);
    wide.write_mask(&seen, &mut mask);
    assert_eq!((wide.jobs().len(), wide.decision(24), mask[24]), (8, None, false));
}
