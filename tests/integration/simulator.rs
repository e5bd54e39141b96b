//! What the `dag` simulator promises beyond the recorded traces.

use sched_distill::{
    dag::{Dag, Decision, DecisionError, StageRef, View, simulator::Simulator, workload::DagWorkload},
    registry::Registered as _,
    scenario::Said,
    simulation::{JobEnd, Outcome, Simulation},
    spec::Spec,
};

fn open(spec: &str) -> DagWorkload {
    sched_distill::dag::workload::open(&spec.parse::<Spec>().unwrap()).unwrap()
}

fn start(workload: &DagWorkload, seed: u64) -> Simulator {
    Simulator::new(*workload.cluster(), workload.jobs(seed), seed)
}

fn run(mut sim: Simulator, policy: &str, seed: u64) -> (Simulator, Outcome) {
    let mut policy = Dag::open(&policy.parse().unwrap()).unwrap();
    policy.reset(seed);
    while let Some(seen) = sim.view() {
        let decision = policy.decide(&seen, &mut Said::default()).unwrap();
        sim.step(decision).unwrap();
    }
    let outcome = sim.outcome().unwrap();
    (sim, outcome)
}

#[test]
fn a_stranded_cluster_is_an_outcome_not_a_panic() {
    let workload = open("builtin,jobs=5");
    let mut sim = start(&workload, 1);
    while sim.view().is_some() {
        assert!(sim.outcome().is_none(), "the episode goes on while a question is open");
        sim.step(Decision::Abstain).unwrap();
    }
    let outcome = sim.outcome().unwrap();
    assert_eq!((outcome.unfinished(), outcome.objective()), (5, None));
    assert_eq!(sim.step(Decision::Abstain), Err(DecisionError::Ended));
}

#[test]
fn an_illegal_decision_says_why_and_changes_nothing() {
    let workload = open("builtin,jobs=5,executors=4");
    let mut sim = start(&workload, 2);
    let seen = sim.view().unwrap();
    let (stage, committable) = (seen.schedulable()[0], seen.committable());
    let nowhere = StageRef { job: 4, stage: 17 };
    for (stage, executors, expected) in [
        (nowhere, 1, "stage 17 of job 4 is not schedulable"),
        (stage, 0, "0 executors"),
        (stage, committable + 1, "allowed are 1..=4"),
    ] {
        let message = sim.step(Decision::Assign { stage, executors }).unwrap_err().to_string();
        assert!(message.contains(expected), "{message}");
    }
    let (_, after) = run(sim, "fair", 2);
    let (_, fresh) = run(start(&workload, 2), "fair", 2);
    assert_eq!(after, fresh);
}

#[test]
fn every_policy_finishes_every_job_on_clusters_of_any_size() {
    for executors in [1, 3, 40, 130] {
        let workload = open(&format!("builtin,jobs=8,executors={executors},rate=1e-4"));
        for policy in [
            "fifo",
            "fifo,by=arrival",
            "fifo,by=stage",
            "fair",
            "fair,by=running",
            "weighted-fair,alpha=-0.5",
            "sjf",
            "sjf,by=tasks",
            "sjf,source=first",
            "sjf-cp",
            "srpt-fair,cap=0.7",
            "srpt-fair,temperature=1,mode=sample",
            "random",
        ] {
            let (sim, outcome) = run(start(&workload, 3), policy, 3);
            assert!(!outcome.stalled(), "{policy} on {executors} executors");
            let busy = outcome.figure("utilisation").unwrap();
            assert!(busy > 0.0 && busy <= 1.0, "{policy}: {busy}");
            let launches: u32 = sim.stage_records().iter().flat_map(|s| s.launches).sum();
            let tasks: u32 =
                workload.jobs(3).iter().flat_map(|j| j.template.stages().into_iter().map(|s| s.num_tasks)).sum();
            assert_eq!(launches, tasks, "{policy}: every task is launched once");
        }
    }
}

#[test]
fn two_policies_meet_the_same_luck() {
    // One executor and one wave: a task's duration then depends on its draw alone, whatever the order of the jobs.
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("workload.json");
    let stage = r#"{"num_tasks": 6, "durations": [10, 20, 30, 40, 50, 60, 70]}"#;
    let job = format!(r#"{{"arrival_ms": 0, "stages": [{stage}, {stage}]}}"#);
    let text = format!(r#"{{"num_executors": 1, "moving_delay_ms": 0, "jobs": [{job}, {job}, {job}]}}"#);
    std::fs::write(&path, text).unwrap();
    let workload = open(&format!("json:{}", path.display()));
    let spent = |policy: &str| {
        let mut sim = start(&workload, 4);
        sim.record_timeline();
        let (sim, _) = run(sim, policy, 4);
        let mut by_stage = std::collections::BTreeMap::new();
        for r in sim.task_runs() {
            *by_stage.entry((r.job, r.part)).or_insert(0.0) += r.end_ms - r.start_ms;
        }
        by_stage
    };
    assert_eq!(spent("fifo"), spent("sjf"));
    assert_eq!(spent("fifo"), spent("random"));
}

#[test]
fn orders_without_a_source_serve_whom_they_name() {
    let workload = open("builtin,jobs=20,executors=6,rate=2e-4,delay=0,offers=task");
    // The smallest is served.
    type Rank = fn(&View<'_>, u32) -> f64;
    let orders: [(&str, Rank); 4] = [
        ("fifo,by=arrival", |_, job| f64::from(job)),
        ("fair,by=running", |seen, job| seen.job(job).active_stages().map(|s| f64::from(s.executors())).sum()),
        ("sjf,by=tasks", |seen, job| seen.job(job).active_stages().map(|s| f64::from(s.remaining())).sum()),
        ("sjf", |seen, job| seen.job(job).active_stages().map(|s| s.work_ms()).sum()),
    ];
    for (name, rank) in orders {
        let mut policy = Dag::open(&name.parse().unwrap()).unwrap();
        let mut sim = start(&workload, 6);
        let (mut decisions, mut away) = (0, 0);
        while let Some(seen) = sim.view() {
            let decision = policy.decide(&seen, &mut Said::default()).unwrap();
            let Decision::Assign { stage, .. } = decision else { panic!("{name} gives nothing") };
            let least = seen.schedulable().iter().map(|s| rank(&seen, s.job)).fold(f64::INFINITY, f64::min);
            assert_eq!(rank(&seen, stage.job), least, "{name}");
            decisions += 1;
            away += u32::from(
                seen.source_job()
                    .is_some_and(|job| job != stage.job && seen.schedulable().iter().any(|s| s.job == job)),
            );
            sim.step(decision).unwrap();
        }
        assert!(decisions > 100 && away > 0, "{name}: {decisions} decisions, {away} of them away from the source");
    }
}

#[test]
fn a_clone_at_a_question_runs_on_as_the_original() {
    let workload = open("builtin,jobs=6");
    let mut sim = start(&workload, 5);
    for _ in 0..10 {
        let stage = sim.view().unwrap().schedulable()[0];
        sim.step(Decision::Assign { stage, executors: 1 }).unwrap();
    }
    let (_, copy) = run(sim.clone(), "fair", 5);
    let (_, original) = run(sim, "fair", 5);
    assert_eq!(copy, original);
}

#[test]
fn a_first_job_that_arrives_late_is_waited_for() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("workload.json");
    let text = r#"{"num_executors": 2, "jobs": [{"arrival_ms": 500, "stages": [{"num_tasks": 2, "durations": 100}]}]}"#;
    std::fs::write(&path, text).unwrap();
    let workload = open(&format!("json:{}", path.display()));
    let (_, outcome) = run(start(&workload, 6), "fair", 6);
    // Arrival, the moving delay of 2000 ms, then both tasks side by side.
    assert_eq!(outcome.jobs, [JobEnd::Completed(2600.0)]);
    assert_eq!(["mean_jct_ms", "makespan_ms"].map(|name| outcome.figure(name)), [Some(2100.0); 2]);
    assert!((outcome.figure("jobs_in_system").unwrap() - 1.0).abs() < 1e-12);
}
