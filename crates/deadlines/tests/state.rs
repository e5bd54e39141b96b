//! States made by hand: the simulator's questions again, and what is refused.

use sched_distill_core::{scenario::Questions as _, simulation::Simulation as _};
use sched_distill_deadlines::{
    Change, ClusterState, Decision, View, feature::Extractor, policies, simulator::Simulator,
    workload::DeadlineWorkload,
};
use serde_json::{Value, json};

fn said(view: &View<'_>) -> String {
    serde_json::to_string(view).unwrap()
}

/// The features of all candidates of all levels.
fn features(view: &View<'_>) -> Vec<u32> {
    let (mut extractor, mut x) = (Extractor::default(), Vec::new());
    extractor.update(view);
    for job in 0..extractor.rows(view, &[], true, &mut x) {
        for way in 0..extractor.rows(view, &[job], true, &mut x) {
            extractor.rows(view, &[job, way], true, &mut x);
        }
    }
    x.into_iter().map(f32::to_bits).collect()
}

fn open(spec: &str) -> DeadlineWorkload {
    DeadlineWorkload::open(&spec.parse().unwrap()).unwrap()
}

#[test]
fn a_question_as_a_value_says_the_same_and_goes_on_the_same() {
    let mut compared = 0;
    for (spec, policy) in [
        ("builtin,jobs=20,node-cores=16", "qos"),
        ("builtin,jobs=20,nodes=3,node-cores=8", "hpa"),
        ("builtin,jobs=15,edge=hopeless", "edf-test"),
    ] {
        let workload = open(spec);
        let mut sim = Simulator::new(workload.cluster().clone(), workload.jobs(2), 2);
        let mut policy = policies::open(&policy.parse().unwrap()).unwrap();
        let mut own: Option<ClusterState> = None;
        while let Some(seen) = sim.view() {
            let state = seen.to_state();
            let read: ClusterState = serde_json::from_str(&serde_json::to_string(&state).unwrap()).unwrap();
            for same in [&state, &read] {
                let view = same.view().unwrap();
                assert_eq!(said(&view), said(&seen));
                assert_eq!(features(&view), features(&seen));
            }
            // Answers lead from question to question within a moment.
            if let Some(view) = own.as_ref().and_then(|own| own.view())
                && view.time_ms() == seen.time_ms()
            {
                assert_eq!(said(&view), said(&seen));
                compared += 1;
            }
            let decision = policy.decide(&seen, &mut Default::default()).unwrap();
            let mut next = state;
            next.answer(decision).unwrap();
            own = Some(next);
            sim.step(decision).unwrap();
        }
    }
    assert!(compared > 500, "{compared}");
}

/// A state with a running and a waiting job, as JSON.
fn small() -> Value {
    json!({
        "cluster": {"nodes": 1, "node_cores": 8, "check_ms": 60000, "restart_ms": 1000, "window": 20, "noise": 0.05,
            "models": [{"name": "m", "earlier": {"mean": [10, 900, 0], "covariance": [1, 0, 0, 100, 0, 0]}}]},
        "time_ms": 5000,
        "ask": {},
        "jobs": [
            {"id": 3, "model": "m", "arrival_ms": 0, "deadline_ms": 90000, "iterations": 100, "requested": 4, "threads": 2, "largest": 8,
                "running": {"node": 0, "cores": 4}},
            {"id": 8, "model": "m", "arrival_ms": 4000, "deadline_ms": 90000, "iterations": 100, "requested": 4, "threads": 2, "largest": 8}
        ]
    })
}

#[test]
fn changes_are_taken_in() {
    let mut state: ClusterState = serde_json::from_value(small()).unwrap();
    assert_eq!((state.view().unwrap().waiting(), state.free()), (&[8][..], 4));
    let mut change =
        |value: Value| state.change(serde_json::from_value::<Change>(value).unwrap()).map(|()| state.clone());
    let after = change(
        json!({"time_ms": 6000, "jobs": [{"id": 3, "done": 25, "measured": {"iterations": 20, "mean_ms": 500}}],
        "ask": {"running": [3], "check": true}}),
    )
    .unwrap();
    let seen = after.view().unwrap();
    assert_eq!(seen.job(3).remaining(), 75.0);
    assert!((seen.job(3).estimate().time_ms(2) - 460.0).abs() > 1.0, "the measurement counts");
    let after = change(json!({"gone": [3], "arrived": [{"id": 9, "model": "m", "arrival_ms": 6000, "deadline_ms": 7000, "iterations": 5,
        "requested": 1, "threads": 1, "largest": 1, "best_effort": true}], "ask": {}}))
    .unwrap();
    assert_eq!(
        (after.view().unwrap().waiting(), after.view().unwrap().best_effort(), after.free()),
        (&[8][..], &[9][..], 8)
    );
}

#[test]
fn what_a_client_is_told_of_is_carried_out() {
    let read = |value: Value| serde_json::from_value::<ClusterState>(value).unwrap();
    let change =
        |state: &mut ClusterState, value: Value| state.change(serde_json::from_value::<Change>(value).unwrap());
    // A best-effort job begins by itself when nothing is asked, as in the simulator.
    let mut value = small();
    value["jobs"][0]["running"]["cores"] = json!(8);
    value["jobs"][1]["best_effort"] = json!(true);
    let mut state = read(value);
    change(&mut state, json!({"time_ms": 9000, "gone": [3], "ask": {}})).unwrap();
    assert_eq!((state.view().is_none(), state.free()), (true, 6));
    // A refused job is not known any more.
    let mut value = small();
    value["cluster"]["may_refuse"] = json!(true);
    let mut state = read(value);
    state.answer(Decision::Refuse { job: 8 }).unwrap();
    assert!(
        change(&mut state, json!({"jobs": [{"id": 8, "done": 3}]})).unwrap_err().to_string().contains("is unknown")
    );
    // Cores change hands, in whatever order that is told.
    let mut value = small();
    value["jobs"][1]["running"] = json!({"node": 0, "cores": 4});
    let mut state = read(value);
    let held = |id: u32, cores: u32| json!({"id": id, "running": {"node": 0, "cores": cores}});
    change(&mut state, json!({"jobs": [held(3, 6), held(8, 2)], "ask": {"running": [3, 8]}})).unwrap();
    let seen = state.view().unwrap();
    assert_eq!((seen.job(3).cores(), seen.job(8).cores(), seen.free()), (6, 2, 0));
    // Who is named twice holds what is said last.
    change(&mut state, json!({"jobs": [held(3, 2), held(3, 5)], "ask": {"running": [3, 8]}})).unwrap();
    let seen = state.view().unwrap();
    assert_eq!((seen.running(), seen.job(3).cores(), seen.free()), (&[3, 8][..], 5, 1));
    // Nobody comes from the future.
    let mut late = small()["jobs"][1].clone();
    (late["id"], late["arrival_ms"]) = (json!(9), json!(70_000));
    let message = change(&mut state, json!({"arrived": [late], "ask": {}})).unwrap_err().to_string();
    assert!(message.contains("5000 is before the arrival of job 9"), "{message}");
}

#[test]
fn what_cannot_be_is_refused_by_name() {
    let with = |path: &str, value: Value| {
        let mut state = small();
        *state.pointer_mut(path).unwrap() = value;
        serde_json::from_value::<ClusterState>(state).map(|_| ()).unwrap_err().to_string()
    };
    for (path, value, expected) in [
        ("/cluster/nodes", json!(0), "cluster: `nodes` must be in 1..=10000, got 0"),
        ("/cluster/models/0/earlier/mean/0", json!(1e31), "model `m`: what is known of it"),
        ("/jobs/0/model", json!("n"), "job 3, `model`: unknown model `n`; there are m"),
        ("/jobs/1/id", json!(3), "comes after job 3"),
        ("/jobs/1/arrival_ms", json!(-1.0), "job 8, `arrival_ms`: must be a number in 0..=1e15"),
        ("/jobs/0/requested", json!(9), "job 3, `requested`: must be a whole number in 1..=8, got 9"),
        ("/jobs/0/running/cores", json!(9), "job 3, `running.cores`: must be in 1..=8"),
        ("/jobs/0/running/node", json!(1), "job 3, `running.node`: 1: there are nodes 0..1"),
        ("/ask", json!({"running": [8]}), "ask.running: job 8 does not run"),
        ("/time_ms", json!(100), "time_ms: 100 is before the arrival of job 8"),
        ("/time_ms", json!("soon"), "invalid type"),
    ] {
        let message = with(path, value);
        assert!(message.contains(expected), "{message}");
    }
}
