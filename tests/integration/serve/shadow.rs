//! A shadow: what was done and what the policy would have done, as a trace.

use super::{by_student, guarded, said};
use sched_distill::simulation::{Simulated, Workload};
use sched_distill::{
    dag::{Dag, Decision},
    deadlines::Deadlines,
    model::{Structure, Student},
    preemption::Preemption,
    recorder::{EpisodeId, policy_source, run_episode},
    registry::Registered,
    rng::Split,
    scenario::{Said, Scenario, State},
    serve::{Service, Session, ShadowLog},
    serving::Serving,
    trace::{Trace, bring_up_to_date, inspect},
    training::Training,
};
use serde_json::json;
use std::{path::Path, sync::Arc};

fn shadow<S: Registered>(student: &Student, dir: &Path) -> Arc<Service<S>> {
    let mut service = by_student::<S>(student);
    service.source = policy_source("student", &*by_student::<S>(student).policy).unwrap_or(service.source);
    service.source.files.clear();
    let abstains = service.policy.abstains();
    let log = ShadowLog::create(dir, &<S as Scenario>::INFO, &service.source, abstains, 3).unwrap();
    Arc::new(Service { shadow: Some(log), ..service })
}

/// Tells a shadow two episodes of a scheduler; how often the policy would have done the same, by what it says of itself.
fn told<S: Registered>(
    workload: &Workload<S>,
    driver: &str,
    student: &Student,
    service: &Arc<Service<S>>,
) -> [usize; 2] {
    let mut session = Session::new(service);
    let (mut same, mut all) = (0, 0);
    for episode in 0..2 {
        let mut policy = by_student::<S>(student).policy;
        assert_eq!(said(&mut session, &json!({"type": "reset", "seed": episode}).to_string()), json!(null));
        let id = EpisodeId::new(4, Split::Test, episode);
        run_episode(workload, &mut *S::open(&driver.parse().unwrap()).unwrap(), id, |seen, decision, _| {
            let would = policy.decide(seen, &mut Said::default()).unwrap();
            same += usize::from(S::same(seen, would, decision));
            all += 1;
            let line = json!({"id": all, "state": S::State::of(seen), "did": [decision]}).to_string();
            assert_eq!(said(&mut session, &line), json!({"type": "noted", "id": all}));
        })
        .unwrap();
    }
    session.end().unwrap();
    [same, all]
}

fn a_log_is_a_trace<S: Registered>(workload: &str, teacher: &str, driver: &str, guard: &str) {
    let dir = tempfile::tempdir().unwrap();
    let workload = S::open_workload(&workload.parse().unwrap()).unwrap();
    let student = guarded::<S>(&workload, teacher, guard, Structure::Hierarchical);
    let log = dir.path().join("log");
    let mut decisions = 0;
    // A server that ends, and one that goes on with the same log.
    for round in 1..=2 {
        let service = shadow::<S>(&student, &log);
        let [same, all] = told::<S>(&workload, driver, &student, &service);
        assert!(same > 0 && same < all, "{same} of {all}");
        decisions += all;
        let manifest = service.shadow.as_ref().unwrap().finish().unwrap().unwrap();
        assert_eq!(manifest.episodes, 2 * round);
        // Clients and the log are told the same of the policy.
        let ready = said(&mut Session::new(&service), r#"{"type":"hello","protocol":1}"#);
        assert_eq!(
            (&ready["policy"], &ready["files"]),
            (&json!(manifest.labeller.id), &json!(manifest.labeller.files))
        );
    }
    let found = inspect(&log);
    assert_eq!(found.problem_count, 0, "{:?}", found.problems);
    let trace = Trace::open(&log).unwrap();
    let first = trace.level(&trace.manifest.feature_set.levels[0].name).unwrap();
    assert_eq!(first.choices.len(), decisions);
    assert!(first.iter().all(|choice| choice.has_probabilities() && choice.none().is_none()));
    // The student always gives something; that the other one did not is seen by who asks what was done.
    let done = trace.as_executed().level(&first.spec.name).unwrap();
    assert!(done.iter().all(|choice| choice.chosen.iter().any(|&c| c)));
}

#[test]
fn a_log_of_dag_is_a_trace() {
    a_log_is_a_trace::<Dag>(
        "builtin,jobs=6,executors=5,rate=2e-4",
        "sjf-cp,temperature=0.3",
        "fair",
        "age > 60s first",
    );
}

#[test]
fn a_log_of_training_is_a_trace() {
    a_log_is_a_trace::<Training>("builtin,nodes=4,jobs=5,max=3", "optimus", "drf", "job: stay > 3 first");
}

#[test]
fn a_log_of_deadlines_is_a_trace() {
    a_log_is_a_trace::<Deadlines>("builtin,jobs=8,node-cores=16", "scorer", "edf-test", "job: hopeless first");
}

#[test]
fn a_log_of_preemption_is_a_trace() {
    a_log_is_a_trace::<Preemption>("builtin,jobs=10,nodes=2,load=3", "pickyman", "srtf", "job: fits > 0 first");
}

#[test]
fn a_log_of_serving_is_a_trace() {
    a_log_is_a_trace::<Serving>("builtin,seconds=0.1", "dybatch", "tf-serving", "application: is_full first");
}

#[test]
fn what_a_shadow_is_not_told_or_cannot_be_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let workload = Dag::open_workload(&"builtin,jobs=4,executors=5".parse().unwrap()).unwrap();
    let student = guarded::<Dag>(&workload, "sjf-cp,temperature=0.3", "age > 60s first", Structure::Hierarchical);
    let service = shadow::<Dag>(&student, &dir.path().join("log"));
    let mut session = Session::new(&service);
    let state = json!({"num_executors": 4, "offered": 3, "jobs": [
        {"id": 0, "arrival_ms": 0, "stages": [{"tasks": 2, "rough_ms": 5}, {"tasks": 2, "rough_ms": 5}]}]});
    let assign = |stage: u32, executors: u32| json!({"do": "assign", "job": 0, "stage": stage, "executors": executors});
    for (line, words) in [
        (json!({"state": state}), "`did`"),
        (json!({"state": state, "did": [assign(5, 1)]}), "did[0]: "),
        // Nothing of it is noted.
        (json!({"state": state, "did": [assign(0, 2), assign(0, 1)]}), "did[1]: "),
        (json!({"state": state, "did": [], "why": true}), "for a server that answers"),
    ] {
        let answer = said(&mut session, &line.to_string());
        assert!(answer["error"].as_str().unwrap().contains(words), "{line}: {answer}");
    }
    // The whole of a round, one that gives nothing, and what has changed since.
    let round = json!({"state": state, "did": [assign(0, 2), assign(1, 1)]});
    assert_eq!(said(&mut session, &round.to_string())["type"], "noted");
    assert_eq!(said(&mut session, &json!({"state": state, "did": [Decision::Abstain]}).to_string())["type"], "noted");
    let change = json!({"change": {"time_ms": 9, "offered": 1}, "did": [assign(1, 1)]});
    assert_eq!(said(&mut session, &change.to_string())["type"], "noted");
    assert!(service.shadow.as_ref().unwrap().finish().unwrap().is_none(), "what has not ended is not in the log yet");
    drop(session);
    service.shadow.as_ref().unwrap().finish().unwrap().unwrap();
    let trace = Trace::open(&dir.path().join("log")).unwrap();
    assert_eq!(trace.level("job").unwrap().choices.len(), 4, "a round of two, one that gives nothing, one more");
}

#[test]
fn a_log_of_another_policy_is_not_gone_on_with() {
    let dir = tempfile::tempdir().unwrap();
    let source = |id: &str| sched_distill::trace::Source { id: id.to_owned(), ..Default::default() };
    let create = |id| ShadowLog::create(dir.path(), &<Dag as Scenario>::INFO, &source(id), false, 3);
    assert!(create("fair").is_ok() && create("fair").is_ok());
    let first = create("fair").unwrap();
    let said = create("fair").err().unwrap().to_string();
    assert!(said.contains("another server notes here"), "{said}");
    drop(first);
    let said = std::error::Error::source(&create("fifo").err().unwrap()).unwrap().to_string();
    assert!(said.contains("labeller.id"), "{said}");
    // Nothing has been noted, so there is nothing to bring up to date.
    assert!(!bring_up_to_date(dir.path()).unwrap());
    let said = Trace::open(dir.path()).unwrap_err().to_string();
    assert!(said.contains("`distill shadow` brings it up to date"), "{said}");
    assert!(!dir.path().join("manifest.json").exists());
}

#[test]
fn a_log_with_a_damaged_part_is_not_gone_on_with() {
    let dir = tempfile::tempdir().unwrap();
    let workload = Dag::open_workload(&"builtin,jobs=4,executors=5".parse().unwrap()).unwrap();
    let student = guarded::<Dag>(&workload, "sjf-cp,temperature=0.3", "age > 60s first", Structure::Hierarchical);
    let log = dir.path().join("log");
    for _ in 0..3 {
        let service = shadow::<Dag>(&student, &log);
        told::<Dag>(&workload, "fair", &student, &service);
        service.shadow.as_ref().unwrap().finish().unwrap();
    }
    let part = log.join("job/part-00001.parquet");
    let whole = std::fs::read(&part).unwrap();
    std::fs::write(&part, &whole[..whole.len() / 2]).unwrap();
    let said = bring_up_to_date(&log).unwrap_err().to_string();
    assert!(said.contains("part-00001.parquet"), "{said}");
    let source = sched_distill::trace::Source { id: "served".to_owned(), ..Default::default() };
    let resumed = ShadowLog::create(&log, &<Dag as Scenario>::INFO, &source, false, 3).err().unwrap();
    assert!(std::error::Error::source(&resumed).unwrap().to_string().contains("part-00001.parquet"));
    assert!(inspect(&log).problem_count > 0);
    // What was sound is as it was.
    std::fs::write(&part, &whole).unwrap();
    assert!(bring_up_to_date(&log).unwrap());
    assert_eq!((Trace::open(&log).unwrap().manifest.episodes, inspect(&log).problem_count), (6, 0));
}
