//! Ten recorded episodes per scenario, answered in process and by lines, over pipes and sockets: the same decisions, all of them.

use super::{by, by_student, guarded};
use crate::changes::change;
use sched_distill::simulation::{Simulated, Workload};
use sched_distill::{
    dag::Dag,
    deadlines::Deadlines,
    model::Structure,
    preemption::Preemption,
    recorder::{EpisodeId, run_episode},
    registry::Registered,
    rng::Split,
    scenario::{Said, Scenario, State},
    serve::{Service, Session},
    serving::Serving,
    training::Training,
};
use serde_json::{Value, json};
use std::sync::Arc;

/// The questions of an episode as states, and what a policy answers to them in process.
pub(super) struct Recorded<S: Scenario> {
    pub(super) seed: u64,
    pub(super) states: Vec<S::State>,
    pub(super) answers: Vec<S::Decision>,
}

/// Episodes that `driver` drives, at each question of which the service's policy is asked too.
pub(super) fn recorded<S: Registered>(workload: &Workload<S>, driver: &str, service: &Service<S>) -> Vec<Recorded<S>> {
    let mut driver = S::open(&driver.parse().unwrap()).unwrap();
    let one = |episode: u32| {
        let seed = 100 + u64::from(episode);
        let mut policy = service.policy.fresh();
        policy.reset(seed);
        let mut recorded = Recorded { seed, states: Vec::new(), answers: Vec::new() };
        let id = EpisodeId::new(1, Split::Test, episode);
        run_episode(workload, &mut *driver, id, |seen, _, _| {
            let mut state = S::State::of(seen);
            let decision = policy.decide(seen, &mut Said::default()).unwrap();
            recorded.states.push(state.clone());
            // What it leaves open is filled in by the state.
            recorded.answers.push(state.answer(decision).unwrap());
        })
        .unwrap();
        recorded
    };
    (0..10).map(one).collect()
}

/// The lines of an episode, one decision each.
pub(super) fn lines<S: Registered>(episode: &Recorded<S>) -> Vec<String> {
    let reset = json!({"type": "reset", "seed": episode.seed}).to_string();
    let question = |(id, state): (usize, &S::State)| json!({"id": id, "most": 1, "scores": false, "state": state});
    let questions = episode.states.iter().enumerate().map(|question_of| question(question_of).to_string());
    std::iter::once(reset).chain(questions).collect()
}

/// Compares the answers of an episode.
pub(super) fn compare<S: Registered>(episode: &Recorded<S>, answers: impl Iterator<Item = Value>) {
    let mut n = 0;
    for (id, (answer, expected)) in answers.zip(&episode.answers).enumerate() {
        assert_eq!((&answer["id"], &answer["type"]), (&json!(id), &json!("answer")), "{answer}");
        let decisions: Vec<S::Decision> = serde_json::from_value(answer["decisions"].clone()).unwrap();
        assert_eq!(decisions, [*expected], "question {id}");
        n += 1;
    }
    assert_eq!(n, episode.answers.len());
}

fn over_lines<S: Registered>(workload: &Workload<S>, driver: &str, service: Service<S>) -> usize {
    let service = Arc::new(service);
    let mut session = Session::new(&service);
    let episodes = recorded(workload, driver, &service);
    for episode in &episodes {
        let answers = lines(episode).into_iter().map(|line| super::said(&mut session, &line));
        let answers: Vec<Value> = answers.collect();
        assert_eq!(answers[0], Value::Null, "a reset is not answered");
        compare(episode, answers.into_iter().skip(1));
    }
    episodes.iter().map(|episode| episode.answers.len()).sum()
}

/// Students of both structures with a guard, policies that draw, networks.
fn in_all_ways<S: Registered>(workload: &str, driver: &str, guard: &str, others: &[&str]) {
    let workload = S::open_workload(&workload.parse().unwrap()).unwrap();
    let mut asked = 0;
    for structure in Structure::ALL {
        asked += over_lines::<S>(&workload, driver, by_student(&guarded::<S>(&workload, driver, guard, structure)));
    }
    for other in others {
        asked += over_lines::<S>(&workload, driver, by(S::open(&other.parse().unwrap()).unwrap()));
    }
    assert!(asked > 1000, "{asked}");
}

#[test]
fn lines_of_dag_are_answered_as_in_process() {
    in_all_ways::<Dag>(
        "builtin,jobs=6,executors=5,rate=2e-4",
        "sjf-cp,temperature=0.3",
        "age > 60s first",
        &["fair", "random", "decima,mode=sample"],
    );
}

#[test]
fn lines_of_training_are_answered_as_in_process() {
    in_all_ways::<Training>(
        "builtin,nodes=4,jobs=5,max=3",
        "optimus",
        "job: stay > 3 first",
        &["drf", "dl2,mode=sample"],
    );
}

#[test]
fn lines_of_deadlines_are_answered_as_in_process() {
    in_all_ways::<Deadlines>(
        "builtin,jobs=8,node-cores=16",
        "qos",
        "job: hopeless first",
        &["edf-test", "scorer,mode=sample"],
    );
}

#[test]
fn lines_of_preemption_are_answered_as_in_process() {
    in_all_ways::<Preemption>(
        "builtin,jobs=10,nodes=2,load=3",
        "pickyman",
        "job: fits > 0 first",
        &["srtf", "las,limit=500", "gittins"],
    );
}

#[test]
fn lines_of_serving_are_answered_as_in_process() {
    in_all_ways::<Serving>(
        "builtin,seconds=0.1",
        "dybatch",
        "application: is_full first",
        &["tf-serving,timeout=2", "triton", "lazy"],
    );
}

#[test]
fn what_has_changed_is_enough() {
    let workload = Dag::open_workload(&"builtin,jobs=8,executors=5,rate=2e-4".parse().unwrap()).unwrap();
    let student = guarded::<Dag>(&workload, "sjf-cp,temperature=0.3", "age > 60s first", Structure::Hierarchical);
    let service = Arc::new(by_student::<Dag>(&student));
    let (mut whole, mut changes) = (0, 0);
    for episode in recorded(&workload, "sjf-cp", &service) {
        let mut session = Session::new(&service);
        let mut told: Option<Value> = None;
        for (state, expected) in episode.states.iter().zip(&episode.answers) {
            let now = serde_json::to_value(state).unwrap();
            let line = match &told {
                None => json!({"most": 1, "scores": false, "state": now}),
                Some(before) => json!({"most": 1, "scores": false, "change": change(before, &now)}),
            };
            whole += now.to_string().len();
            changes += line.to_string().len();
            let answer = super::said(&mut session, &line.to_string());
            assert_eq!(answer["decisions"], json!([expected]), "{answer}");
            let mut after = state.clone();
            after.answer(*expected).unwrap();
            told = Some(serde_json::to_value(&after).unwrap());
        }
    }
    assert!(changes * 3 < whole, "{changes} bytes instead of {whole}");
}

#[test]
fn a_slot_goes_on_with_what_has_changed() {
    let workload = Training::open_workload(&"builtin,nodes=4,jobs=5,max=3".parse().unwrap()).unwrap();
    let service = Arc::new(by::<Training>(Training::open(&"drf".parse().unwrap()).unwrap()));
    for episode in recorded(&workload, "drf", &service).iter().take(3) {
        let mut session = Session::new(&service);
        let first = serde_json::to_value(&episode.states[0]).unwrap();
        let mut answer = super::said(&mut session, &json!({"most": 1, "state": first}).to_string());
        let slot = |state: &Value| state["slot"].clone();
        for (state, expected) in episode.states.iter().zip(&episode.answers) {
            let now = serde_json::to_value(state).unwrap();
            if slot(&now) != slot(&first) {
                break;
            }
            assert_eq!(answer["decisions"], json!([expected]));
            answer = super::said(&mut session, r#"{"most": 1, "change": {}}"#);
        }
    }
}

#[test]
fn a_round_is_its_decisions_one_by_one() {
    let workload = Dag::open_workload(&"builtin,jobs=8,executors=9,rate=1e-3".parse().unwrap()).unwrap();
    let service = Arc::new(by::<Dag>(Dag::open(&"fair".parse().unwrap()).unwrap()));
    let mut longest = 0;
    for episode in recorded(&workload, "fair", &service).iter().take(3) {
        let mut session = Session::new(&service);
        for state in &episode.states {
            let answer = super::said(&mut session, &json!({"state": state, "scores": false}).to_string());
            let (mut state, mut policy, mut expected) = (state.clone(), service.policy.fresh(), Vec::new());
            while let Some(seen) = state.view() {
                expected.push(policy.decide(&seen, &mut Default::default()).unwrap());
                state.answer(*expected.last().unwrap()).unwrap();
            }
            longest = longest.max(expected.len());
            assert_eq!(answer["decisions"], json!(expected));
        }
    }
    assert!(longest > 2, "{longest}");
}
