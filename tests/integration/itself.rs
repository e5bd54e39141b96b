//! A policy agrees with itself: on what was recorded of it, beside another one that drives, and in the log of its shadow.

use super::{
    serve::{by_student, said},
    states::student,
};
use sched_distill::{
    dag::Dag,
    deadlines::Deadlines,
    distiller::FitParams,
    evaluator::{Role, Scorer, fidelity},
    model::Student,
    pipeline::{agreement_of, explain_choice},
    policy::{Policy, StudentPolicy},
    preemption::Preemption,
    recorder::{EpisodeId, RecordRequest, record, run_episode},
    registry::{Registered, all},
    rng::Split,
    scenario::{Questions, Scenario, State},
    serve::{Service, Session, ShadowLog},
    serving::Serving,
    simulation::Workload,
    trace::{Choice, Shard, Trace},
    training::Training,
};
use serde_json::json;
use std::{
    collections::BTreeSet,
    path::Path,
    sync::{Arc, atomic::AtomicBool},
};

const EPISODES: u32 = 2;
const SEED: u64 = 5;

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
                let workload = "builtin,jobs=6,executors=10,rate=2e-4";
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
    let rules = student::<S>(&workload, &*teacher, &FitParams { max_leaf_nodes: 24, ..FitParams::default() });
    let file = dir.path().join("student.json");
    rules.save(&file).unwrap();
    let policy = StudentPolicy::<S>::load(&file, None).unwrap();
    let own = recorded::<S>(&dir.path().join("own"), &workload, case, &policy, None);
    always_itself::<S>(&rules, &own, &workload, &policy, case);
    let other = open(case.other);
    // Where one may give nothing, neither may label what the other decides.
    if !policy.abstains() && !other.abstains() {
        let driven = recorded::<S>(&dir.path().join("driven"), &workload, case, &*other, Some(&policy));
        always_itself::<S>(&rules, &driven, &workload, &*other, case);
    }
    let log = logged::<S>(&dir.path().join("log"), &workload, &*other, &rules);
    always_itself::<S>(&rules, &log, &workload, &*other, case);
    // What a shadow sees of others is learnt from as it is.
    assert_eq!(log.abstains(), policy.abstains());
    // What drives its own recording is what it is scored by.
    let of_teacher = recorded::<S>(&dir.path().join("teacher"), &workload, case, &*teacher, None);
    for spec in &of_teacher.manifest.feature_set.levels {
        for row in fidelity(&of_teacher.level(&spec.name).unwrap(), &[Scorer::executed()], 0) {
            assert!(row.executed.is_none_or(|share| share.value == 1.0), "{}", case.teacher);
        }
    }
}

/// A recording of a policy, or of one beside which another one labels.
fn recorded<S: Registered>(
    dir: &Path,
    workload: &Workload<S>,
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
        seed: SEED,
        split: Split::Test,
        first_episode: 0,
        episodes: EPISODES,
        shard: Shard::WHOLE,
        force: false,
    };
    record(dir, &request, &(), &AtomicBool::new(false)).unwrap();
    Trace::open(dir).unwrap()
}

/// The log of a shadow of the student beside another scheduler.
fn logged<S: Registered>(dir: &Path, workload: &Workload<S>, present: &dyn Policy<S>, rules: &Student) -> Trace {
    let service = by_student::<S>(rules);
    let abstains = service.policy.abstains();
    let log = ShadowLog::create(dir, &<S as Scenario>::INFO, &service.source, abstains, 3).unwrap();
    let service = Arc::new(Service { shadow: Some(log), ..service });
    let mut session = Session::new(&service);
    for episode in 0..EPISODES {
        said(&mut session, &json!({"type": "reset", "seed": episode}).to_string());
        run_episode(workload, &mut *present.fresh(), id(episode), |seen, decision, _| {
            let line = json!({"state": S::State::of(seen), "did": [decision]}).to_string();
            assert_eq!(said(&mut session, &line)["type"], "noted");
        })
        .unwrap();
    }
    session.end().unwrap();
    service.shadow.as_ref().unwrap().finish().unwrap();
    Trace::open(dir).unwrap()
}

fn id(episode: u32) -> EpisodeId {
    EpisodeId::new(SEED, Split::Test, episode)
}

/// Decisions at which a candidate would strand the cluster. The rule that forbids it may leave a student another candidate than it
/// would take, and a trace does not tell.
fn narrow<S: Registered>(workload: &Workload<S>, driver: &dyn Policy<S>) -> BTreeSet<(u32, u32)> {
    let (mut questions, mut rows, mut found) = (S::Questions::default(), Vec::new(), BTreeSet::new());
    for episode in 0..EPISODES {
        let mut step = 0;
        run_episode(workload, &mut *driver.fresh(), id(episode), |seen, _, _| {
            questions.update(seen);
            if strands::<S>(&mut questions, seen, &mut Vec::new(), &mut rows) {
                found.insert((episode, step));
            }
            step += 1;
        })
        .unwrap();
    }
    found
}

/// Whether a candidate at a path or below it strands the cluster.
fn strands<S: Registered>(
    questions: &mut S::Questions,
    seen: &S::View<'_>,
    path: &mut Vec<usize>,
    rows: &mut Vec<f32>,
) -> bool {
    rows.clear();
    let candidates = questions.rows(seen, path, true, rows);
    (0..candidates).any(|candidate| {
        path.push(candidate);
        let found = questions.strands(seen, path) || strands::<S>(questions, seen, path, rows);
        path.pop();
        found
    })
}

fn always_itself<S: Registered>(
    rules: &Student,
    trace: &Trace,
    workload: &Workload<S>,
    driver: &dyn Policy<S>,
    case: &Case,
) {
    let (by, narrow) = (trace.manifest.labeller.id.as_str(), narrow::<S>(workload, driver));
    let mut counted = 0;
    for spec in &trace.manifest.feature_set.levels {
        let all = trace.level(&spec.name).unwrap();
        let scorer = Scorer::student(rules, rules.level(&spec.name).unwrap(), Role::Student);
        let is_barred = |choice: &Choice<'_>| {
            narrow.contains(&(choice.header.episode, choice.header.step))
                && scorer.choose(choice, &mut Vec::new()) != choice.target()
        };
        let table = all.filter(|choice| !is_barred(choice));
        let (left, of) = (table.choices.len(), all.choices.len());
        assert!(left * 10 >= of * 9, "{} by {by}: {left} of {of} are left at {}", case.teacher, spec.name);
        for row in fidelity(&table, std::slice::from_ref(&scorer), 0) {
            let (level, kind, share) = (&row.level, &row.kind, row.top1.value);
            assert!(share == 1.0, "{} by {by}: {level}/{kind} agrees in {share} of {}", case.teacher, row.choices);
            counted += row.choices;
        }
    }
    assert!(counted > 0, "{}: {by} has no choices", case.teacher);
    for row in agreement_of(rules, rules, trace, 0).unwrap() {
        assert_eq!(row.share.value, 1.0);
    }
    // Who always gives something is never said to have given nothing.
    let first = &trace.manifest.feature_set.levels[0];
    let table = trace.level(&first.name).unwrap();
    for choice in table.iter().filter(|choice| !choice.is_forced()).take(5) {
        let one = explain_choice(rules, (None, trace), (Some(&first.name), choice.header.id), None, 0).unwrap();
        assert_eq!(one.choice.candidates_in_all, choice.len());
    }
}
