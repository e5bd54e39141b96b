//! Moments: what happens first, when questions are asked, and what is no answer, in episodes made by hand.

use sched_distill_core::simulation::Simulation;
use sched_distill_serving::{
    Application, Decision, DecisionError, Law, Server, heuristic::DyBatch, simulator::Simulator, workload::ServingTask,
};
use std::sync::Arc;

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
    let mut sim = Simulator::new(server, tasks.iter().map(task).collect(), 100.0);
    sim.record_batches();
    sim
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

const fn until(ms: f64) -> Decision {
    Decision::Wait { until_ms: Some(ms) }
}

#[test]
fn batches_end_before_tasks_arrive_before_questions_are_asked() {
    // A batch of one runs from 1 to 4, when two tasks come.
    let mut sim = of(server(1, &[application("a")]), &[(0, 1.0), (0, 4.0), (0, 4.0), (0, 6.0)]);
    assert_eq!(seen(&sim), Some((1.0, 1, 1)));
    // The last that waits joins, and nothing is asked while the batch runs.
    steps(&mut sim, &[SERVE, add(0)]);
    assert_eq!((seen(&sim), sim.completed_ms(0)), (Some((4.0, 1, 2)), Some(4.0)));
    // The one that comes while it runs is seen when it has ended.
    steps(&mut sim, &[SERVE, add(1), Decision::Close]);
    assert_eq!(seen(&sim), Some((7.0, 1, 2)));
    steps(&mut sim, &[SERVE, add(2), add(3)]);
    assert!(seen(&sim).is_none());
    let outcome = sim.outcome().unwrap();
    // Two of one take 4 ms; arrivals and ends of batches are what happened.
    assert_eq!((outcome.final_time_ms, outcome.events, outcome.decisions), (11.0, 7, 8));
    assert!((outcome.figure("slowdown").unwrap() - (3.0 + 3.0 + 7.0 + 5.0) / 3.0 / 4.0).abs() < 1e-12);
    assert_eq!(sim.check(Decision::WAIT), Err(DecisionError::Ended));
}

#[test]
fn who_waits_is_asked_again_at_timeouts_and_when_it_wished() {
    let slow = Application { timeout_ms: 8.0, ..application("b") };
    let mut sim = of(server(1, &[application("a"), slow]), &[(0, 1.0), (1, 2.0), (0, 5.5), (0, 60.0)]);
    let mut times = Vec::new();
    // Times that are not after now are none. Timeouts are those of the oldest, at 1 + 5 and 2 + 8, and each comes once.
    for decision in [
        until(1.5),
        until(1.0),
        Decision::WAIT,
        until(5.5),
        until(7.25),
        until(1e9),
        until(12.0),
        Decision::WAIT,
        until(61.0),
        Decision::WAIT,
    ] {
        let seen = sim.view().unwrap();
        assert_eq!(seen.strands(decision), seen.time_ms() >= 6.0);
        times.push(seen.time_ms());
        sim.step(decision).unwrap();
    }
    assert_eq!(times, [1.0, 1.5, 2.0, 5.5, 6.0, 7.25, 10.0, 12.0, 60.0, 61.0]);
    // Four arrivals, and six times that came.
    assert_eq!((seen(&sim), sim.outcome().unwrap().events, sim.outcome().unwrap().unfinished()), (None, 10, 4));
}

#[test]
fn a_timeout_is_a_moment_only_while_somebody_can_be_served() {
    // The one that comes at 1 times out at 6, while a batch of four runs until 6.5.
    let mut tasks = vec![(0, 0.5); 4];
    tasks.push((0, 1.0));
    let mut sim = of(server(1, &[application("a")]), &tasks);
    steps(&mut sim, &[SERVE, add(0), add(1), add(2), add(3)]);
    assert_eq!(seen(&sim), Some((6.5, 1, 1)));
    assert!(sim.view().unwrap().is_timed_out(0) && sim.view().unwrap().strands(Decision::WAIT));
    // Who had the last task with the batch is asked by the next oldest.
    let mut sim = of(server(2, &[application("a")]), &[(0, 0.0), (0, 2.0)]);
    steps(&mut sim, &[Decision::WAIT]);
    assert_eq!(seen(&sim), Some((2.0, 2, 2)));
    steps(&mut sim, &[SERVE, add(0), Decision::Close]);
    assert_eq!(seen(&sim), Some((2.0, 1, 1)));
    steps(&mut sim, &[Decision::WAIT]);
    // The batch ends at 5, the task times out at 7.
    assert_eq!(seen(&sim), Some((5.0, 2, 1)));
    steps(&mut sim, &[Decision::WAIT]);
    assert_eq!(seen(&sim), Some((7.0, 2, 1)));
}

#[test]
fn accelerators_run_side_by_side() {
    let tasks = [(0, 0.0), (0, 0.0), (1, 0.0), (1, 1.0), (0, 2.0)];
    let mut sim = of(server(2, &[application("a"), application("b")]), &tasks);
    steps(&mut sim, &[SERVE, add(0), add(1)]);
    assert_eq!(seen(&sim), Some((0.0, 1, 1)));
    steps(&mut sim, &[Decision::Serve { application: 1 }, add(2)]);
    // The second one is idle again at 3, the first at 4; the lower one is taken where both are.
    assert_eq!(seen(&sim), Some((3.0, 1, 2)));
    assert_eq!(sim.view().unwrap().running().map(|batch| batch.application).collect::<Vec<u32>>(), [0]);
    steps(&mut sim, &[Decision::WAIT]);
    assert_eq!(seen(&sim), Some((4.0, 2, 2)));
    steps(&mut sim, &[Decision::Serve { application: 1 }, add(3), SERVE, add(4)]);
    let batches: Vec<(u32, u32, f64, f64)> =
        sim.batches().iter().map(|b| (b.accelerator, b.application, b.start_ms, b.end_ms)).collect();
    assert_eq!(batches, [(0, 0, 0.0, 4.0), (1, 1, 0.0, 3.0), (0, 1, 4.0, 7.0), (1, 0, 4.0, 7.0)]);
    let (lanes, arrivals_ms) = (Simulation::lanes(&sim), Simulation::arrivals_ms(&sim));
    assert_eq!((lanes, arrivals_ms), (2, vec![0.0, 0.0, 0.0, 1.0, 2.0]));
}

#[test]
fn illegal_decisions_say_why_and_change_nothing() {
    let tasks = [(0, 0.0), (0, 0.0), (1, 0.0), (0, 0.5)];
    let mut sim = of(server(1, &[application("a"), application("b"), application("c")]), &tasks);
    let refused = |sim: &mut Simulator, decision: Decision, expected: &str| {
        let said = |sim: &Simulator| serde_json::to_string(&sim.view().unwrap()).unwrap();
        let before = said(sim);
        let message = sim.step(decision).unwrap_err().to_string();
        assert_eq!(message, format!("at 0 ms: {expected}"));
        assert_eq!(said(sim), before);
    };
    let asked = "the question is which application is served next, if any";
    refused(&mut sim, Decision::Serve { application: 2 }, "application 2 cannot be served; that can be: 0, 1");
    refused(&mut sim, Decision::Serve { application: 3 }, "application 3 cannot be served; that can be: 0, 1");
    refused(&mut sim, Decision::Close, &format!("got Close; {asked}"));
    refused(&mut sim, add(0), &format!("got Add {{ task: 0 }}; {asked}"));
    for ms in [-1.0, f64::NAN, f64::INFINITY] {
        let found = format!("got Wait {{ until_ms: Some({ms:?}) }}");
        refused(&mut sim, until(ms), &format!("{found}; a time must be a number from 0 on"));
    }
    steps(&mut sim, &[SERVE]);
    refused(&mut sim, Decision::Close, "got Close; a batch of application 0 has at least one task");
    let asked = "the question is which task joins the batch of application 0";
    refused(&mut sim, Decision::WAIT, &format!("got Wait {{ until_ms: None }}; {asked}"));
    refused(&mut sim, SERVE, &format!("got Serve {{ application: 0 }}; {asked}"));
    // The oldest of its size alone, of its application, that has arrived.
    for task in [1, 2, 3, 9] {
        refused(&mut sim, add(task), &format!("task {task} cannot be added; that can be: 0"));
    }
    while let Some(seen) = sim.view() {
        sim.step(DyBatch::default().decide(&seen)).unwrap();
    }
    assert_eq!(sim.check(SERVE), Err(DecisionError::Ended));
}
