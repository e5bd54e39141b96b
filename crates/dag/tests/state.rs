//! States made by hand: the simulator's questions again, cached figures that stay right, and what is refused.

use sched_distill_core::{rng::Stream, scenario::Questions, simulation::Simulation as _};
use sched_distill_dag::{
    ClusterState, Dag, Decision, JobGraph, Source, StageRef, StageSpec, StageTasks, View,
    feature::Extractor,
    policies,
    simulator::Simulator,
    workload::{self, DagWorkload, JobArrival},
};
use std::sync::Arc;

fn builtin(spec: &str) -> DagWorkload {
    workload::open(&spec.parse().unwrap()).unwrap()
}

/// Everything that a view says, as JSON has it.
fn said(view: &View<'_>) -> serde_json::Value {
    serde_json::to_value(view).unwrap()
}

/// The features of all candidates of all levels.
fn features(extractor: &mut Extractor, view: &View<'_>) -> Vec<u32> {
    extractor.update(view);
    let mut x = Vec::new();
    let jobs = Questions::<Dag>::rows(extractor, view, &[], true, &mut x);
    for job in 0..jobs - 1 {
        for stage in 0..extractor.rows(view, &[job], true, &mut x) {
            extractor.rows(view, &[job, stage], true, &mut x);
        }
    }
    x.into_iter().map(f32::to_bits).collect()
}

#[test]
fn answers_lead_from_question_to_question_as_in_the_simulator() {
    let workload = builtin("builtin,jobs=20,rate=2e-4");
    let (mut within, mut policy) = (0, policies::open(&"random".parse().unwrap()).unwrap());
    for seed in 0..5 {
        let mut sim = Simulator::new(*workload.cluster(), workload.jobs(seed), seed);
        policy.reset(seed);
        while let Some(seen) = sim.view() {
            let (time_ms, mut state) = (seen.time_ms(), seen.to_state());
            assert_eq!(said(&seen), said(&state.view().unwrap()));
            let decision = policy.decide(&seen, &mut Default::default()).unwrap();
            sim.step(decision).unwrap();
            let next = state.answer(decision).unwrap();
            match sim.view().filter(|seen| seen.time_ms() == time_ms && next.is_some()) {
                // The round goes on.
                Some(seen) => {
                    assert_eq!(said(&seen), said(&next.unwrap()));
                    within += 1;
                }
                None => assert!(next.is_none() || sim.view().is_none_or(|seen| seen.time_ms() > time_ms)),
            }
        }
    }
    assert!(within > 100, "{within} questions within a round");
}

#[test]
fn what_is_kept_from_question_to_question_stays_right_when_a_state_is_changed_by_hand() {
    let workload = builtin("builtin,jobs=40");
    let (mut kept, mut questions) = (Extractor::default(), 0);
    for seed in 0..20 {
        let mut stream = Stream::new(seed, "changes");
        let graphs: Vec<Arc<JobGraph>> =
            workload.jobs(seed).iter().map(|JobArrival { template, .. }| Arc::clone(template.graph())).collect();
        let mut state = ClusterState::new(20).unwrap();
        let mut jobs: Vec<u32> = Vec::new();
        for change in 0..200u32 {
            state.set_time(1000.0 * f64::from(change)).unwrap();
            let some = |stream: &mut Stream, jobs: &[u32]| jobs[stream.below(jobs.len())];
            match stream.below(6) {
                0 => {
                    // A number may come again once its job has gone.
                    let id = jobs.last().map_or(0, |last| last + 1 + stream.below(3) as u32);
                    state.add_job(id, 1000.0 * f64::from(change), Arc::clone(&graphs[id as usize % 40])).unwrap();
                    jobs.push(id);
                }
                1 if !jobs.is_empty() => {
                    let id = some(&mut stream, &jobs);
                    state.remove_job(id).unwrap();
                    jobs.retain(|&job| job != id);
                }
                _ if !jobs.is_empty() => {
                    let job = some(&mut stream, &jobs);
                    let specs = graphs[job as usize % 40].stages();
                    let stage = stream.below(specs.len());
                    let tasks = specs[stage].num_tasks;
                    let completed = stream.below(tasks as usize + 1) as u32;
                    let tasks = StageTasks {
                        completed,
                        running: (tasks - completed).min(stream.below(2) as u32),
                        promised: stream.below(2) as u32,
                        recent_ms: (stream.below(2) == 0).then(|| 5000.0 * stream.uniform()),
                        moving: 0,
                    };
                    // The cluster may be full: then the stage stays as it was.
                    let before = state.clone();
                    state.set_stage(StageRef { job, stage: stage as u32 }, tasks).unwrap();
                    if state.offer(Source::Common, 1).is_err() {
                        state = before;
                    }
                }
                _ => {}
            }
            if let Some(view) = state.offer(Source::Common, 1 + stream.below(20) as u32).unwrap() {
                questions += 1;
                assert_eq!(features(&mut kept, &view), features(&mut Extractor::default(), &view));
                let again: ClusterState = serde_json::from_value(said(&view)).unwrap();
                assert_eq!(said(&view), said(&again.view().unwrap()));
            }
        }
    }
    assert!(questions > 1000, "{questions} questions");
}

fn state() -> ClusterState {
    let stages = vec![StageSpec { num_tasks: 8, rough_ms: 1500.0 }, StageSpec { num_tasks: 4, rough_ms: 400.0 }];
    let mut state = ClusterState::new(10).unwrap();
    state.set_time(60_000.0).unwrap();
    state.add_job(3, 1000.0, JobGraph::new("sum", stages, &[[0, 1]]).unwrap()).unwrap();
    state
}

#[test]
fn an_impossible_state_is_refused_by_the_name_of_the_figure() {
    let at = |job, stage| StageRef { job, stage };
    let tasks = StageTasks::default();
    let refused = |change: &dyn Fn(&mut ClusterState) -> String, says: &str| {
        let mut state = state();
        let before = serde_json::to_string(&state).unwrap();
        assert_eq!(change(&mut state), says);
        assert_eq!(serde_json::to_string(&state).unwrap(), before, "nothing has changed");
    };
    let stage = |stage, tasks| {
        move |state: &mut ClusterState| state.set_stage(stage, tasks).map_or_else(|e| e.to_string(), |()| "fine".into())
    };
    refused(
        &stage(at(3, 0), StageTasks { completed: 5, running: 4, ..tasks }),
        "job 3, stage 0, `running`: 4 tasks, but only 3 of its 8 are not completed",
    );
    refused(&stage(at(3, 1), StageTasks { completed: 5, ..tasks }), "job 3, stage 1, `completed`: 5 tasks of 4");
    refused(&stage(at(3, 1), StageTasks { moving: 11, ..tasks }), "job 3, stage 1, `moving`: 11 executors of 10");
    refused(
        &stage(at(3, 1), StageTasks { recent_ms: Some(f64::NAN), ..tasks }),
        "job 3, stage 1, `recent_ms`: must be a number in 0..=1e15 ms, got NaN",
    );
    refused(&stage(at(3, 2), tasks), "stage 2 of job 3: is unknown; the job's stages are 0..=1");
    refused(&stage(at(4, 0), tasks), "job 4: is unknown; known are 3");
    let graph = Arc::new(JobGraph::new("one", vec![StageSpec { num_tasks: 1, rough_ms: 1.0 }], &[]).unwrap());
    let job = |id, arrival_ms| {
        let graph = Arc::clone(&graph);
        move |state: &mut ClusterState| state.add_job(id, arrival_ms, Arc::clone(&graph)).unwrap_err().to_string()
    };
    refused(&job(3, 2000.0), "job 3, `id`: comes after job 3; numbers ascend in order of arrival");
    refused(&job(4, 500.0), "job 4, `arrival_ms`: 500 is before the arrival of job 3, 1000");
    refused(&job(4, 60_001.0), "job 4, `arrival_ms`: 60001 is after the present time, 60000");
    refused(&job(4, f64::INFINITY), "job 4, `arrival_ms`: must be a number in 0..=1e15 ms, got inf");
    let offer = |source, executors| {
        move |state: &mut ClusterState| state.offer(source, executors).map_or_else(|e| e.to_string(), |_| "fine".into())
    };
    refused(&offer(Source::Common, 0), "offered: must be in 1..=10 executors, got 0");
    refused(&offer(Source::Common, 11), "offered: must be in 1..=10 executors, got 11");
    refused(&offer(Source::Job(1), 1), "source: job 1: is unknown; known are 3");
    let earlier = |state: &mut ClusterState| state.set_time(1.0).unwrap_err().to_string();
    refused(&earlier, "time_ms: 1 ms is before the present time, 60000 ms");
    assert!(ClusterState::new(0).unwrap_err().to_string().contains("num_executors"));

    let mut full = state();
    full.set_stage(at(3, 0), StageTasks { running: 8, ..tasks }).unwrap();
    full.set_stage(at(3, 1), StageTasks { moving: 3, ..tasks }).unwrap();
    let says = full.offer(Source::Common, 1).unwrap_err().to_string();
    assert_eq!(says, "num_executors: 11 executors run tasks or are on their way; there are 10");
}

#[test]
fn a_file_is_refused_by_the_name_of_the_figure() {
    let parse = |text: &str| serde_json::from_str::<ClusterState>(text).map(|_| ()).map_err(|e| e.to_string());
    let with = |stages: &str| {
        let jobs = format!(r#"[{{"id": 3, "arrival_ms": 0, "stages": {stages}}}]"#);
        parse(&format!(r#"{{"num_executors": 4, "jobs": {jobs}, "offered": 2}}"#))
    };
    assert_eq!(with(r#"[{"tasks": 2, "rough_ms": 10}]"#), Ok(()));
    let refused = |stages: &str, says: &str| assert!(with(stages).unwrap_err().contains(says), "{:?}", with(stages));
    refused(
        r#"[{"tasks": 2, "rough_ms": 10, "parents": [1]}, {"tasks": 2, "rough_ms": 10, "parents": [0]}]"#,
        "job 3, stage 0: lies on a cycle of edges; the graph must be acyclic",
    );
    refused(r#"[{"tasks": 2, "rough_ms": 10, "running": 3}]"#, "job 3, stage 0, `running`: 3 tasks, but only 2");
    refused(r#"[{"tasks": 2, "rough_ms": -1}]"#, "job 3, stage 0: rough_ms must be a number in 0..=1e15 ms, got -1.0");
    refused(r#"[{"tasks": 2, "rough_ms": 1, "work": 3}]"#, "unknown field `work`");
    refused("[]", "job 3: has no stages");
    let unknown = r#"{"num_executors": 4, "jobs": [], "offered": 2, "source": {"stage": [1, 0]}}"#;
    assert!(parse(unknown).unwrap_err().contains("source: job 1: is unknown; known are none"));
}

#[test]
fn a_round_ends_when_nothing_is_wanted_or_nothing_is_left() {
    let mut state = state();
    let scan = StageRef { job: 3, stage: 0 };
    let give = |executors| Decision::Assign { stage: scan, executors };
    assert!(state.view().is_none() && state.answer(give(1)).is_err(), "nothing is on offer yet");
    assert!(state.offer(Source::Common, 4).unwrap().is_some());
    assert!(state.answer(give(5)).unwrap_err().to_string().contains("allowed are 1..=4"));
    assert!(state.answer(give(4)).unwrap().is_none(), "all are given");
    // The scan wants four more, and the sum waits for it to be content.
    let view = state.offer(Source::Common, 5).unwrap().unwrap();
    assert_eq!(view.schedulable(), [scan]);
    assert_eq!((view.job(3).supply(), view.stage(scan).demand()), (4, 4));
    let view = state.answer(give(5)).unwrap().unwrap();
    assert_eq!((view.schedulable(), view.committable()), (&[StageRef { job: 3, stage: 1 }][..], 1));
    assert!(state.answer(Decision::Abstain).unwrap().is_none());
    assert_eq!(state.promised(scan), Some(8));
}
