//! A policy agrees with itself: on what was recorded of it, beside another one that drives, and in the log of its shadow.

use super::{
    serve::{by_student, said},
    states::student,
};
use sched_distill::{
    dag::Dag,
    deadlines::Deadlines,
    distiller::FitParams,
    evaluator::{FidelityRow, Role, Scorer, fidelity},
    model::Student,
    pipeline::{agreement_of, explain_choice},
    policy::{Policy, StudentPolicy},
    preemption::Preemption,
    recorder::{EpisodeId, RecordRequest, record, run_episode},
    registry::{Registered, all},
    rng::Split,
    scenario::{Scenario, State},
    serve::{Service, Session, ShadowLog},
    serving::Serving,
    trace::{Shard, Trace},
    training::Training,
};
use serde_json::json;
use std::{
    path::Path,
    sync::{Arc, atomic::AtomicBool},
};

/// A small workload, who is imitated, and another scheduler.
struct Case {
    workload: &'static str,
    teacher: &'static str,
    other: &'static str,
}

#[test]
fn every_policy_agrees_with_itself() {
    for scenario in all().iter() {
        let case = |workload, teacher, other| Case { workload, teacher, other };
        match scenario.info().name {
            "dag" => {
                let workload = "builtin,jobs=6,executors=5,rate=2e-4";
                agrees::<Dag>(&case(workload, "sjf-cp,temperature=0.3", "fair"));
                // One that may give nothing, beside one that always gives something.
                agrees::<Dag>(&case(workload, "fair", "sjf"));
            }
            "training" => agrees::<Training>(&case("builtin,nodes=4,jobs=5,max=3", "optimus", "drf")),
            "deadlines" => agrees::<Deadlines>(&case("builtin,jobs=8,node-cores=16", "scorer", "edf-test")),
            "preemption" => agrees::<Preemption>(&case("builtin,jobs=10,nodes=2,load=3", "pickyman", "srtf")),
            "serving" => agrees::<Serving>(&case("builtin,seconds=0.1", "dybatch", "tf-serving")),
            other => panic!("{other}: a scenario without a case here"),
        }
    }
}

fn agrees<S: Registered>(case: &Case) {
    let dir = tempfile::tempdir().unwrap();
    let workload = S::open_workload(&case.workload.parse().unwrap()).unwrap();
    let open = |id: &str| S::open(&id.parse().unwrap()).unwrap();
    let teacher = open(case.teacher);
    let rules = student::<S>(&*workload, &*teacher, &FitParams { max_leaf_nodes: 24, ..FitParams::default() });
    let file = dir.path().join("student.json");
    rules.save(&file).unwrap();
    let policy = StudentPolicy::<S>::load(&file, None).unwrap();
    let own = recorded::<S>(&dir.path().join("own"), &*workload, case, &policy, None);
    always_itself(&rules, &own, case);
    let other = open(case.other);
    // Where one may give nothing, neither may label what the other decides.
    if !policy.abstains() && !other.abstains() {
        let driven = recorded::<S>(&dir.path().join("driven"), &*workload, case, &*other, Some(&policy));
        always_itself(&rules, &driven, case);
    }
    let log = logged::<S>(&dir.path().join("log"), &*workload, &*other, &rules);
    always_itself(&rules, &log, case);
    // What a shadow sees of others is learnt from as it is.
    assert_eq!(log.abstains(), policy.abstains());
    // What drives its own recording is what it is scored by.
    let of_teacher = recorded::<S>(&dir.path().join("teacher"), &*workload, case, &*teacher, None);
    for row in of_levels(&of_teacher, |_| Scorer::executed()) {
        assert!(row.executed.is_none_or(|share| share.value == 1.0), "{}", case.teacher);
    }
}

/// A recording of a policy, or of one beside which another one labels.
fn recorded<S: Registered>(
    dir: &Path,
    workload: &S::Workload,
    case: &Case,
    policy: &dyn Policy<S>,
    labeller: Option<&dyn Policy<S>>,
) -> Trace {
    let request = RecordRequest {
        policy_id: "driver",
        policy,
        labeller: labeller.map(|policy| ("labeller", policy)),
        workload_id: case.workload,
        workload,
        seed: 5,
        split: Split::Test,
        first_episode: 0,
        episodes: 2,
        shard: Shard::WHOLE,
        force: false,
    };
    record(dir, &request, &(), &AtomicBool::new(false)).unwrap();
    Trace::open(dir).unwrap()
}

/// The log of a shadow of the student beside another scheduler.
fn logged<S: Registered>(dir: &Path, workload: &S::Workload, present: &dyn Policy<S>, rules: &Student) -> Trace {
    let service = by_student::<S>(rules);
    let abstains = service.policy.abstains();
    let log = ShadowLog::create(dir, &<S as Scenario>::INFO, &service.source, abstains, 3).unwrap();
    let service = Arc::new(Service { shadow: Some(log), ..service });
    let mut session = Session::new(&service);
    let id = EpisodeId { seed: 5, split: Split::Test, episode: 0 };
    run_episode(workload, &mut *present.fresh(), id, |seen, decision, _| {
        let line = json!({"state": S::State::of(seen), "did": [decision]}).to_string();
        assert_eq!(said(&mut session, &line)["type"], "noted");
    })
    .unwrap();
    session.end().unwrap();
    service.shadow.as_ref().unwrap().finish().unwrap();
    Trace::open(dir).unwrap()
}

fn of_levels(trace: &Trace, scorer: impl Fn(&str) -> Scorer) -> Vec<FidelityRow> {
    let levels = &trace.manifest.feature_set.levels;
    levels.iter().flat_map(|spec| fidelity(&trace.level(&spec.name).unwrap(), &[scorer(&spec.name)], 0)).collect()
}

fn always_itself(rules: &Student, trace: &Trace, case: &Case) {
    let by = trace.manifest.labeller.id.as_str();
    let rows = of_levels(trace, |level| Scorer::student(rules, rules.level(level).unwrap(), Role::Student));
    assert!(rows.iter().any(|row| row.choices > 0), "{}: {by} has no choices", case.teacher);
    for row in rows {
        let (level, kind, share) = (&row.level, &row.kind, row.top1.value);
        assert!(
            share == 1.0,
            "{} by {by}: {level}/{kind} agrees with itself in {share} of {}",
            case.teacher,
            row.choices
        );
    }
    for row in agreement_of(rules, rules, trace, 0).unwrap() {
        assert_eq!(row.share.value, 1.0);
    }
    // Who always gives something is never said to have given nothing.
    let first = &trace.manifest.feature_set.levels[0];
    let table = trace.level(&first.name).unwrap();
    for choice in table.iter().filter(|choice| !choice.is_forced()).take(5) {
        let one = explain_choice(rules, trace, (Some(&first.name), choice.header.id), None, 0).unwrap();
        assert_eq!(one.choice.candidates_in_all, choice.len());
    }
}
