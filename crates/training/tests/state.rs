//! States made by hand: the simulator's questions again, and what is refused.

use sched_distill_core::{rng::Stream, simulation::Simulation as _};
use sched_distill_training::{
    ClusterState, Decision, Task, View,
    cluster::{JOB_TYPES, Speed, TrainingCluster, job_types},
    feature::Extractor,
    policies,
    simulator::Simulator,
    workload::TrainingWorkload,
};

fn builtin(spec: &str) -> TrainingWorkload {
    TrainingWorkload::open(&spec.parse().unwrap()).unwrap()
}

/// Everything that a view says, as JSON has it.
fn said(view: &View<'_>) -> String {
    serde_json::to_string(view).unwrap()
}

/// The features of all candidates of the first level.
fn features(view: &View<'_>) -> Vec<u32> {
    use sched_distill_core::scenario::Questions;
    let (mut extractor, mut x) = (Extractor::default(), Vec::new());
    extractor.update(view);
    let candidates = extractor.rows(view, &[], true, &mut x);
    for candidate in 0..candidates {
        for job in 0..extractor.rows(view, &[candidate], true, &mut x) {
            extractor.rows(view, &[candidate, job], true, &mut x);
        }
    }
    x.into_iter().map(f32::to_bits).collect()
}

#[test]
fn answers_lead_from_question_to_question_as_in_the_simulator() {
    for spec in ["builtin,jobs=12,dips=0.2", "builtin,jobs=12,nodes=5,speed=analytic"] {
        let (workload, mut within) = (builtin(spec), 0);
        let mut policy = policies::open(&"optimus".parse().unwrap()).unwrap();
        for seed in 0..3 {
            let mut sim = Simulator::new(workload.cluster().clone(), workload.jobs(seed), seed);
            let mut stream = Stream::new(seed, "nodes");
            let mut state: Option<ClusterState> = None;
            while let Some(seen) = sim.view() {
                // One that has been carried along through the slot, and one made anew.
                let carried = state.take().filter(|state| state.view().is_some_and(|view| view.slot() == seen.slot()));
                within += usize::from(carried.is_some());
                for other in [carried, Some(seen.to_state())].into_iter().flatten() {
                    let view = other.view().unwrap();
                    assert_eq!(said(&seen), said(&view));
                    assert_eq!(features(&seen), features(&view));
                    state = Some(other);
                }
                let mut decision = policy.decide(&seen, &mut Default::default()).unwrap();
                // Now and then on any node.
                if let Decision::Add { job, task, .. } = decision {
                    let node = stream.below(seen.cluster().nodes as usize) as u32;
                    if stream.uniform() < 0.3 && seen.fits_at(job, task, node) {
                        decision = Decision::Add { job, task, node: Some(node) };
                    }
                }
                sim.step(decision).unwrap();
                state.as_mut().unwrap().answer(decision).unwrap();
            }
        }
        assert!(within > 100, "{within} questions within a slot");
    }
}

fn cluster() -> TrainingCluster {
    let (types, slot_s) = (job_types(), 600.0);
    let speed = Speed::formula(&types, slot_s, [2, 2], 0.0).unwrap().into();
    TrainingCluster {
        types,
        nodes: 2,
        node_slots: [8, 8],
        slot_s,
        max_workers: 2,
        max_servers: 2,
        speed,
        speed_error: 0.0,
    }
}

fn state() -> ClusterState {
    let mut state = ClusterState::new(cluster()).unwrap();
    state.add_job(3, "vgg-16", 10, 20.0).unwrap();
    assert!(state.open_slot(12).unwrap().is_some());
    state
}

#[test]
fn an_impossible_state_is_refused_by_the_name_of_the_figure() {
    type Change = fn(&mut ClusterState) -> String;
    let refused: [(Change, &str); 9] = [
        (
            |s| s.add_job(4, "vgg", 12, 1.0).unwrap_err().to_string(),
            "job 4, `type`: unknown type `vgg`; there are resnet-50, vgg-16, resnext-110, inception-bn, seq2seq, \
             cnn-text-classification, dssm, wlm",
        ),
        (
            |s| s.add_job(3, "wlm", 12, 1.0).unwrap_err().to_string(),
            "job 3, `id`: comes after job 3; numbers ascend in order of arrival",
        ),
        (
            |s| s.add_job(4, "wlm", 9, 1.0).unwrap_err().to_string(),
            "job 4, `arrival_slot`: 9 is before the arrival of job 3, 10",
        ),
        (
            |s| s.add_job(4, "wlm", 12, f64::NAN).unwrap_err().to_string(),
            "job 4, `epochs`: must be a positive number up to 1e12, got NaN",
        ),
        (
            |s| s.set_progress(3, -1.0).unwrap_err().to_string(),
            "job 3, `progress`: must be a number in 0..=1e12, got -1",
        ),
        (|s| s.set_progress(5, 1.0).unwrap_err().to_string(), "job 5: is unknown; known are 3"),
        (|s| s.remove_job(5).unwrap_err().to_string(), "job 5: is unknown; known are 3"),
        (|s| s.open_slot(11).unwrap_err().to_string(), "slot: 11 is before the present slot, 12"),
        (
            |s| s.answer(Decision::Add { job: 3, task: Task::Both, node: Some(2) }).unwrap_err().to_string(),
            "slot 12: a worker and a parameter server for job 3 on node 2; there are nodes 0..2",
        ),
    ];
    for (change, says) in refused {
        let mut state = state();
        let before = serde_json::to_string(&state).unwrap();
        assert_eq!(change(&mut state), says);
        assert_eq!(serde_json::to_string(&state).unwrap(), before, "nothing has changed");
    }
    let says = ClusterState::new(TrainingCluster { nodes: 0, ..cluster() }).unwrap_err().to_string();
    assert_eq!(says, "cluster: nodes must be in 1..=10000, got 0");
    let says = ClusterState::new(TrainingCluster { node_slots: [3, 8], ..cluster() }).unwrap_err().to_string();
    assert!(says.contains("ask for [4, 4] slots of CPU and GPU together; a node has [3, 8]"), "{says}");
}

#[test]
fn a_file_is_refused_by_the_name_of_the_figure() {
    let cluster = r#"{"nodes": 2, "node_slots": [8, 8], "slot_s": 600, "max_workers": 1, "max_servers": 1"#;
    let parse = |speed: &str, rest: &str| {
        let text = format!(r#"{{"cluster": {cluster}, {speed}}}, "slot": 4, {rest}}}"#);
        serde_json::from_str::<ClusterState>(&text).map_err(|e| e.to_string())
    };
    let job = r#""jobs": [{"id": 1, "type": "wlm", "arrival_slot": 2, "epochs": 30}]"#;
    let state = parse(r#""speed": "formula""#, job).unwrap();
    assert_eq!(state.view().unwrap().live_jobs(), [1]);
    let refused = |speed: &str, rest: &str, says: &str| {
        let found = parse(speed, rest).map(|_| ()).unwrap_err();
        assert!(found.contains(says), "{found}");
    };
    let formula = r#""speed": "formula""#;
    let task = |job, node| {
        format!(
            r#""jobs": [{{"id": 1, "type": "wlm", "arrival_slot": 2, "epochs": 30}}],
               "tasks": [{{"job": {job}, "task": "worker", "node": {node}}}]"#
        )
    };
    refused(formula, &task(2, 0), "tasks[0]: slot 4: job 2 is not live; live are 1");
    refused(formula, &task(1, 7), "tasks[0]: slot 4: a worker for job 1 on node 7; there are nodes 0..2");
    refused(formula, &job.replace("30", "-30"), "job 1, `epochs`: must be a positive number");
    refused(formula, &job.replace("2", "9"), "slot: 4 is before the arrival of job 1, 9");
    refused(r#""speed": {"table": []}"#, job, "cluster: a table of speeds is needed for each of the 8 types, got 0");
    refused(r#""speed": "measured""#, job, "unknown variant `measured`");
}

#[test]
fn a_table_of_speeds_is_what_it_was_made_of() {
    let speed = Speed::formula(&JOB_TYPES, 600.0, [3, 2], 0.3).unwrap();
    let rows = speed.rows().unwrap();
    let again = Speed::table(&rows, &JOB_TYPES, [3, 2]).unwrap();
    for (kind, workers, servers) in (0..8).flat_map(|k| (0..=4).flat_map(move |w| (0..=3).map(move |s| (k, w, s)))) {
        assert_eq!(speed.by_count(kind, workers, servers), again.by_count(kind, workers, servers));
        assert_eq!(speed.in_reach(kind, workers, servers), again.in_reach(kind, workers, servers));
    }
    assert!((0..8).all(|kind| speed.best(kind) == again.best(kind)));
    let refused = |kind: usize, change: &dyn Fn(&mut Vec<Vec<f64>>), says: &str| {
        let mut rows = rows.clone();
        change(&mut rows[kind]);
        let found = Speed::table(&rows, &JOB_TYPES, [3, 2]).unwrap_err();
        assert!(found.contains(says), "{found}");
    };
    refused(
        1,
        &|rows| drop(rows.pop()),
        "type `vgg-16`: the table of speeds needs 3 rows (parameter servers) of 4 columns",
    );
    refused(2, &|rows| rows[0][1] = f64::INFINITY, "type `resnext-110`: speeds must be numbers in 0..=1e12, got inf");
}
