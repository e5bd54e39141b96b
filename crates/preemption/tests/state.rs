//! States made by hand: the simulator's questions again, and what is refused.

#[path = "../../../tests/support/refusals.rs"]
mod refusals;
#[path = "../../../tests/support/state_laws.rs"]
mod state_laws;

use refusals::{read_with, refused};
use sched_distill_core::{
    rng::Stream,
    simulation::{Simulated as _, Simulation as _},
};
use sched_distill_preemption::{
    Change, ClusterState, Decision, Preemption, Question, View, feature::Extractor, policies, simulator::Simulator,
    workload::PreemptionJob,
};
use serde_json::{Value, json};
use state_laws::{features, said, states_keep_questions};

/// Any candidate, seldom none.
fn random(seen: &View<'_>, stream: &mut Stream) -> Decision {
    let all: Vec<u32> = seen.candidates().collect();
    match (seen.question(), all.get(stream.below(all.len() + 1))) {
        (Question::Serve, Some(&job)) => Decision::Serve { job },
        (Question::Condemn(_), Some(&job)) => Decision::Condemn { job },
        (Question::Serve, None) if seen.strands(Decision::Wait) => Decision::Serve { job: all[0] },
        _ => Decision::Wait,
    }
}

#[test]
fn a_question_as_a_value_says_the_same_and_goes_on_the_same() {
    let places =
        ["/ask/claim", "/ask/claim/condemned/0", "/ask/served/0", "/ask/passed/0", "/claims/0", "/claims/1", "/down/0"];
    let (mut reached, mut met) = (0, [0; 7]);
    let mut stream = Stream::new(1, "answers");
    for (spec, policy) in [
        ("builtin,jobs=40,nodes=2,load=2", Some("srtf")),
        ("builtin,jobs=60,load=2", Some("pickyman")),
        ("builtin,jobs=20,nodes=2,mtbf=2", Some("las,limit=500")),
        ("builtin,jobs=20,nodes=2,free=1", Some("srtf")),
        ("builtin,jobs=20,nodes=2,free=1,mtbf=5", None),
        ("builtin,jobs=40,nodes=2,arrivals=batch", None),
        ("builtin,jobs=20,nodes=4,load=3,mtbf=1,cache=20", None),
    ] {
        let mut policy = policy.map(|policy| policies::open(&policy.parse().unwrap()).unwrap());
        let decide = |seen: &View<'_>| match &mut policy {
            Some(policy) => policy.decide(seen, &mut Default::default()).unwrap(),
            None => random(seen, &mut stream),
        };
        // Random answers may go on for long.
        reached += states_keep_questions::<Preemption>(spec, [2], 1500, decide, |value, _| {
            met.iter_mut().zip(places).for_each(|(met, place)| *met += u32::from(value.pointer(place).is_some()));
        });
    }
    assert!(reached > 500 && met.iter().all(|met| *met > 20), "{reached}, {met:?}");
}

/// Two nodes: a job computes on all of one, one loads on half of the other, and one waits for which there is no room.
fn small() -> Value {
    let job = |id: u32, arrival_ms: u32, gpus: u32| {
        json!({"id": id, "model": "m", "arrival_ms": arrival_ms, "gpus": gpus, "samples": 1000, "batch": 10,
            "epochs": 10, "data_gb": 10, "checkpoint_gb": 5, "epoch_ms": 1000, "held_ms": 0})
    };
    let mut jobs = [job(3, 0, 4), job(5, 100, 2), job(8, 4000, 4)];
    jobs[0]["done"] = json!(2);
    jobs[0]["on"] =
        json!({"stage": "computing", "nodes": [[0, 4]], "since_ms": 2000, "held_since_ms": 500, "began_ms": 4000});
    jobs[1]["on"] =
        json!({"stage": "loading", "nodes": [[1, 2]], "since_ms": 4500, "held_since_ms": 4500, "condemned": false});
    json!({
        "cluster": {"nodes": 2, "node_gpus": 4, "storage_gbps": 5, "link_gbps": 1.25, "cache_gb": 100,
            "check_ms": 60000, "observe": 3, "models": [{"name": "m", "container_ms": 1000, "warm_ms": 500}]},
        "time_ms": 5000, "ask": {}, "jobs": jobs, "claims": [], "down": [], "cached": [[3]], "arrivals_ms": [0, 4000]
    })
}

fn read(value: Value) -> ClusterState {
    serde_json::from_value(value).unwrap()
}

#[test]
fn changes_are_taken_in() {
    let mut state = read(small());
    let change = |state: &mut ClusterState, value: Value| {
        state.change(serde_json::from_value::<Change>(value).unwrap()).unwrap();
    };
    // Whose GPUs, or what is asked.
    let books = |state: &ClusterState| {
        let view = state.view().unwrap();
        (view.waiting().to_vec(), view.busy().to_vec(), view.free(), view.condemnable())
    };
    assert_eq!(books(&state), (vec![8], vec![3, 5], 2, 4));
    // Nothing new: the question stays open; another time closes it.
    change(&mut state, json!({}));
    assert!(state.view().is_some());
    change(&mut state, json!({"time_ms": 5500}));
    assert!(state.view().is_none());
    change(
        &mut state,
        json!({"time_ms": 6500, "transfers": 4, "jobs": [{"id": 5, "now": "computing"},
            {"id": 3, "done": 4, "began_ms": 6200, "epoch_ms": 1100}], "ask": true}),
    );
    assert_eq!(books(&state), (vec![8], vec![3, 5], 2, 6));
    let view = state.view().unwrap();
    assert_eq!((view.job(3).left_ms(), view.job(3).to_epoch_end_ms()), (5.0 * 1100.0 + 800.0, 800.0));
    assert_eq!((view.job(5).left_ms(), view.job(5).in_epoch_ms(), view.job(5).is_cached()), (10_000.0, 0.0, true));
    assert_eq!((view.transfers(), view.job(3).saving_ms(), view.job(5).service_ms()), (4, 5000.0, 4000.0));
    // A claim, for which the smaller one suffices, is kept while that one saves, and begins when it has been saved.
    state.answer(Decision::Serve { job: 8 }).unwrap();
    assert_eq!((state.view().unwrap().question(), state.view().unwrap().need()), (Question::Condemn(8), 2));
    assert!(state.answer(Decision::Condemn { job: 5 }).unwrap().is_none());
    change(&mut state, json!({"time_ms": 7600, "jobs": [{"id": 5, "now": "saving"}], "transfers": 1, "ask": true}));
    assert!(state.view().is_none() && state.free() == 2);
    change(&mut state, json!({"time_ms": 9000, "jobs": [{"id": 5, "now": "waiting"}], "transfers": 0, "ask": true}));
    assert_eq!(books(&state), (vec![5], vec![3], 0, 4));
    let view = state.view().unwrap();
    assert_eq!((view.job(8).is_waiting(), view.job(5).whole(), view.job(5).preemptions()), (false, 1.0, 1));
    assert_eq!((view.job(5).service_ms(), view.job(5).waited_ms()), (9000.0, 9000.0 - 100.0 - 1100.0));
    // A node that is down takes its job and what it held with it.
    assert!(view.job(5).is_cached());
    assert!(state.answer(Decision::Wait).unwrap().is_none());
    assert_eq!(said_of(&state, 8)["on"]["nodes"], json!([[1, 4]]));
    change(&mut state, json!({"down": [1], "ask": true}));
    assert_eq!(books(&state), (vec![5, 8], vec![3], 0, 4));
    assert!(!state.view().unwrap().job(5).is_cached());
    change(&mut state, json!({"up": [1], "ask": true}));
    assert_eq!(books(&state), (vec![5, 8], vec![3], 4, 4));
    let mut late = small()["jobs"][2].clone();
    (late["id"], late["arrival_ms"]) = (json!(9), json!(9000));
    change(&mut state, json!({"gone": [3], "arrived": [late], "ask": true}));
    assert_eq!(books(&state), (vec![5, 8, 9], vec![], 8, 0));
    let view = state.view().unwrap();
    assert_eq!((view.arrived(), view.quiet_gaps()), (4, 0.0));
    // What was served loads as soon as the questions are over, be it by a change.
    state.answer(Decision::Serve { job: 9 }).unwrap();
    change(&mut state, json!({"time_ms": 9100, "ask": true}));
    assert_eq!(books(&state), (vec![5, 8], vec![9], 4, 0));
}

#[test]
fn a_claim_whose_job_is_gone_pardons_those_condemned_for_it() {
    let mut state = read(small());
    state.answer(Decision::Serve { job: 8 }).unwrap();
    state.answer(Decision::Condemn { job: 3 }).unwrap();
    assert!(said_of(&state, 3)["on"]["condemned"].as_bool().unwrap());
    state.change(serde_json::from_value(json!({"gone": [8], "ask": true})).unwrap()).unwrap();
    assert!(state.view().is_none() && !said_of(&state, 3)["on"]["condemned"].as_bool().unwrap());
    assert!(serde_json::to_value(&state).unwrap()["claims"].is_null());
}

/// What a state says of a job.
fn said_of(state: &ClusterState, job: u32) -> Value {
    let value = serde_json::to_value(state).unwrap();
    value["jobs"].as_array().unwrap().iter().find(|said| said["id"] == job).unwrap().clone()
}

#[test]
fn changes_that_cannot_be_are_refused_by_name() {
    let mut late = small()["jobs"][2].clone();
    (late["id"], late["arrival_ms"]) = (json!(9), json!(70_000));
    for (value, expected) in [
        (json!({"time_ms": 4000}), "time_ms: must be a number up to 1e15, not before 5000, got 4000"),
        (json!({"gone": [4]}), "job 4: is unknown; known are 3, 5, 8"),
        (json!({"jobs": [{"id": 3, "now": "computing"}]}), "job 3: is computing, and cannot be computing next"),
        (json!({"jobs": [{"id": 3, "now": "saving"}]}), "job 3: was not condemned, and goes on computing"),
        (json!({"jobs": [{"id": 5, "now": "saving"}]}), "job 5: is loading, and cannot be saving next"),
        (json!({"jobs": [{"id": 8, "now": "waiting"}]}), "job 8: holds no GPUs"),
        (json!({"jobs": [{"id": 3, "done": 2.5}]}), "job 3, `done`: must be a whole number in 0..=1e9, got 2.5"),
        (
            json!({"jobs": [{"id": 3, "began_ms": 5001}]}),
            "job 3, `began_ms`: must be a number in 0..=5000, the time, got 5001",
        ),
        (json!({"jobs": [{"id": 3, "epoch_ms": 0}]}), "job 3, `epoch_ms`: must be a positive number up to 1e15, got 0"),
        (json!({"down": [2]}), "down: node 2: there are nodes 0..2"),
        (json!({"up": [7]}), "up: node 7: there are nodes 0..2"),
        (json!({"arrived": [late], "ask": true}), "time_ms: 5000 is before the arrival of job 9, 70000"),
    ] {
        let message = read(small()).change(serde_json::from_value(value).unwrap()).unwrap_err().to_string();
        assert_eq!(message, expected);
    }
}

#[test]
fn what_cannot_be_is_refused_by_name() {
    let claim = |job: u32, condemned: &[u32]| json!({"job": job, "condemned": condemned});
    let cases = [
        ("/cluster/nodes", json!(0), "cluster: `nodes` must be in 1..=10000, got 0"),
        ("/cluster/cache_gb", json!(-1), "cluster: `cache_gb` must be in 0..="),
        ("/cluster/models/0/warm_ms", json!(-1), "cluster: model `m`: `container_ms` and `warm_ms` must be in 0..=1e9"),
        ("/cluster/models", json!([]), "cluster: `models` must be in 1..=1000"),
        ("/jobs/0/model", json!("n"), "job 3, `model`: unknown model `n`; there are m"),
        ("/jobs/1/id", json!(3), "job 3, `id`: comes after job 3"),
        ("/jobs/1/arrival_ms", json!(-1.0), "job 5, `arrival_ms`: must be a number in 0..=1e15"),
        ("/jobs/2/arrival_ms", json!(50), "job 8, `arrival_ms`: 50 is before the arrival of job 5, 100"),
        ("/jobs/2/gpus", json!(9), "job 8, `gpus`: must be a whole number in 1..=8, the GPUs of the cluster, got 9"),
        ("/jobs/2/batch", json!(0), "job 8, `batch`: must be at least 1"),
        ("/jobs/2/samples", json!(0), "job 8, `samples`: must be a positive number"),
        ("/jobs/2/epochs", json!(0), "job 8, `epochs`: must be a positive number"),
        ("/jobs/2/held_ms", json!(-1), "job 8, `held_ms`: must be a number in 0..=1e15"),
        ("/jobs/2/epoch_ms", json!(0), "job 8, `epoch_ms`: must be a positive number"),
        ("/jobs/0/done", json!(0.5), "job 3, `done`: must be a whole number"),
        ("/jobs/0/on/since_ms", json!(-1), "job 3, `on.since_ms`: must be a number in 0..=1e15"),
        ("/jobs/0/on/stage", json!("idle"), "unknown variant `idle`"),
        (
            "/jobs/0/on/nodes",
            json!([[0, 3]]),
            "job 3, `on.nodes`: must be [node, GPUs] in order of nodes, 4 GPUs in all",
        ),
        ("/jobs/0/on/nodes", json!([[2, 4]]), "job 3, `on.nodes`: 4 GPUs of node 2, of which 0 are free"),
        ("/jobs/1/on/nodes", json!([[0, 2]]), "job 5, `on.nodes`: 2 GPUs of node 0, of which 0 are free"),
        ("/jobs/1/on/condemned", json!(true), "job 5, `on.condemned`: a job that loads cannot be condemned"),
        ("/claims", json!([claim(5, &[])]), "claim of job 5: the job does not wait, or has a claim already"),
        ("/claims", json!([claim(8, &[3])]), "claim of job 8: job 3 is not condemned, or stands there twice"),
        ("/ask", json!({"served": [8]}), "ask.served: job 8 does not wait, or does not fit"),
        ("/ask", json!({"passed": [9]}), "job 9: is unknown; known are 3, 5, 8"),
        ("/ask", json!({"claim": claim(5, &[])}), "claim of job 5: the job does not wait, or has a claim already"),
        ("/down", json!([2]), "down: node 2: there are nodes 0..2"),
        ("/down", json!([0]), "job 3, `on.nodes`: 4 GPUs of node 0, of which 0 are free"),
        ("/cached", json!([[], [], []]), "cached: 3 lists for 2 nodes"),
        ("/cached", json!([[9]]), "job 9: is unknown"),
        ("/arrivals_ms", json!([4000, 0]), "arrivals_ms: must be two times in order, up to `time_ms`"),
        ("/time_ms", json!(100), "time_ms: 100 is before the arrival of job 8, 4000"),
        ("/time_ms", json!("soon"), "invalid type"),
    ];
    refused::<ClusterState>(&small(), cases);
    // A claim that is being made needs something, and something that can be had.
    assert!(read_with::<ClusterState>(&small(), "/ask", &json!({"claim": claim(8, &[])})).is_ok());
    for (gpus, expected) in [(2, "claim of job 8: needs no more GPUs"), (8, "or more than can be had")] {
        let mut state = small();
        (state["ask"], state["jobs"][2]["gpus"]) = (json!({"claim": claim(8, &[])}), json!(gpus));
        let message = serde_json::from_value::<ClusterState>(state).unwrap_err().to_string();
        assert!(message.contains(expected), "{message}");
    }
}

/// So many jobs may have come and gone as are counted.
#[test]
fn as_many_jobs_as_can_be_counted_may_be_gone() {
    let mut value = small();
    value["jobs_gone"] = json!(u32::MAX);
    let state = read(value.clone());
    assert_eq!(state.view().unwrap().arrived(), u32::MAX);
    assert_eq!(serde_json::to_value(&state).unwrap()["jobs_gone"], value["jobs_gone"]);
}

/// Nothing has begun that is yet to come.
#[test]
fn times_of_jobs_that_hold_gpus_are_not_after_the_time() {
    for field in ["since_ms", "held_since_ms", "began_ms"] {
        let mut value = small();
        value["jobs"][0]["on"][field] = json!(5001);
        let message = serde_json::from_value::<ClusterState>(value).map(|_| ()).unwrap_err().to_string();
        assert!(message.contains(&format!("job 3, `on.{field}`")), "{message}");
    }
}

#[test]
fn what_jobs_really_take_is_in_no_view_state_or_feature_and_clairvoyant_rules_know_it() {
    let workload = Preemption::open_workload(&"builtin,jobs=40,nodes=2,arrivals=batch".parse().unwrap()).unwrap();
    let start = |change: fn(&mut PreemptionJob)| {
        let mut jobs = workload.jobs(3);
        jobs.iter_mut().step_by(2).for_each(change);
        Simulator::new(workload.cluster().clone(), jobs, 3)
    };
    let same = |one: &View<'_>, other: &View<'_>| {
        let told = |view: &View<'_>| {
            (
                said(view),
                features::<Preemption>(&mut Extractor::default(), view),
                format!("{view:?} {:?}", view.to_state()),
            )
        };
        assert_eq!(told(one), told(other));
    };
    let (mut sim, mut longer) = (start(|_| {}), start(|job| job.epochs += 500.0));
    let slower = start(|job| job.epoch_ms *= 3.0);
    same(&sim.view().unwrap(), &slower.view().unwrap());
    let [mut srtf, mut clairvoyant] =
        ["srtf", "srtf,times=true"].map(|id| policies::open(&id.parse().unwrap()).unwrap());
    let (mut questions, mut differ) = (0, 0);
    while let (Some(seen), Some(twin)) = (sim.view(), longer.view()) {
        // A job that is complete tells how long it was.
        if (0..40).any(|job| sim.completed_ms(job).is_some()) {
            break;
        }
        same(&seen, &twin);
        let mut answer = |view: &View<'_>| clairvoyant.decide(view, &mut Default::default()).unwrap();
        let decision = srtf.decide(&seen, &mut Default::default()).unwrap();
        differ += u32::from(answer(&seen) != answer(&twin));
        assert_eq!(answer(&twin.to_state().view().unwrap()), decision);
        questions += 1;
        sim.step(decision).unwrap();
        longer.step(decision).unwrap();
    }
    assert!(questions > 10 && differ > 0, "{questions} questions, {differ} answers differ");
}
