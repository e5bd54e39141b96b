//! The schema that is published: what is said fits it, what is refused for its form does not, and no field is missing on either side.

use super::{agreement::recorded, by_student, guarded, said};
use crate::{changes::change, json_schema::misfit};
use sched_distill::{
    dag::Dag, deadlines::Deadlines, model::Structure, preemption::Preemption, registry::Registered, scenario::Scenario,
    serve::Session, serving::Serving, simulation::Simulated, training::Training,
};
use serde_json::{Value, json};
use std::{collections::BTreeSet, sync::Arc};

const SCHEMA: &str = include_str!("../../../docs/serve-protocol.schema.json");

fn fits(line: &Value) -> Option<String> {
    let schema: Value = serde_json::from_str(SCHEMA).unwrap();
    misfit(&schema, &schema, line, "line")
}

fn check(line: &Value) {
    assert_eq!(fits(line), None, "{line}");
}

fn conversation<S: Registered>(workload: &str, driver: &str, guard: &str) {
    let workload = S::open_workload(&workload.parse().unwrap()).unwrap();
    let student = guarded::<S>(&workload, driver, guard, Structure::Hierarchical);
    let service = Arc::new(by_student::<S>(&student));
    let episode = &recorded(&workload, driver, &service)[0];
    let mut session = Session::new(&service);
    let hello = json!({"type": "hello", "protocol": 1, "seed": 3, "token": "0123456789abcdef"});
    check(&hello);
    check(&said(&mut session, &hello.to_string()));
    check(&json!({"type": "reset", "seed": 4}));
    for (state, decision) in episode.states.iter().zip(&episode.answers).step_by(7) {
        check(&json!({"id": 1, "state": state, "did": [decision]}));
        let question = json!({"type": "question", "id": 2, "state": state, "why": true, "scores": true, "most": 3});
        check(&question);
        check(&said(&mut session, &question.to_string()));
    }
    check(&said(&mut session, "{"));
    check(&json!({"type": "noted", "id": 2}));
}

#[test]
fn what_is_said_fits_the_schema() {
    conversation::<Dag>("builtin,jobs=6,executors=5,rate=2e-4", "sjf-cp,temperature=0.3", "age > 20s first");
    conversation::<Training>("builtin,nodes=4,jobs=5,max=3", "optimus", "job: stay > 3 first");
    conversation::<Deadlines>("builtin,jobs=8,node-cores=16", "qos", "job: hopeless first");
    conversation::<Preemption>("builtin,jobs=10,nodes=2,load=3", "srtf", "job: fits > 0 first");
    conversation::<Serving>("builtin,seconds=0.1", "dybatch", "application: is_full first");
    let workload = Dag::open_workload(&"builtin,jobs=8,executors=5,rate=2e-4".parse().unwrap()).unwrap();
    let student = guarded::<Dag>(&workload, "sjf-cp,temperature=0.3", "age > 60s first", Structure::Hierarchical);
    let states = &recorded(&workload, "sjf-cp", &by_student::<Dag>(&student))[0].states;
    for pair in states.windows(2).step_by(5) {
        let [before, after] = [&pair[0], &pair[1]].map(|state| serde_json::to_value(state).unwrap());
        check(&json!({"change": change(&before, &after)}));
    }
}

#[test]
fn what_has_another_form_does_not_fit() {
    for line in [
        json!({"state": {"num_executors": 1}}),
        json!({"state": {"num_executors": -1, "jobs": []}}),
        json!({"state": {"num_executors": 1, "jobs": [], "colour": 3}}),
        json!({"type": "reset"}),
        json!({"type": "reset", "seed": 1, "token": "0123456789abcdef"}),
        json!({"type": "answer", "decisions": [{"do": "nothing"}]}),
        json!({"change": {"slot": "next"}}),
    ] {
        assert!(fits(&line).is_some(), "{line}");
    }
}

/// Properties of a definition of the schema, and those of what it is made of.
fn properties(name: &str) -> BTreeSet<String> {
    let schema: Value = serde_json::from_str(SCHEMA).unwrap();
    schema["$defs"][name]["properties"].as_object().unwrap().keys().cloned().collect()
}

/// The fields that a reader names when it meets one that it does not know.
fn known<T: serde::de::DeserializeOwned>(with_unknown: Value) -> BTreeSet<String> {
    let said = serde_json::from_value::<T>(with_unknown).err().unwrap().to_string();
    let (_, names) = said.split_once("expected").unwrap();
    names.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

#[test]
fn the_schema_has_the_fields_that_are_read() {
    type State<S> = <S as Scenario>::State;
    type Change<S> = <State<S> as sched_distill::scenario::State>::Change;
    let unknown = || json!({"?": 0});
    assert_eq!(properties("dag_state"), known::<State<Dag>>(unknown()));
    assert_eq!(properties("dag_change"), known::<Change<Dag>>(unknown()));
    assert_eq!(properties("training_state"), known::<State<Training>>(unknown()));
    assert_eq!(properties("training_change"), known::<Change<Training>>(unknown()));
    assert_eq!(properties("deadlines_state"), known::<State<Deadlines>>(unknown()));
    assert_eq!(properties("deadlines_change"), known::<Change<Deadlines>>(unknown()));
    assert_eq!(properties("deadlines_job"), known::<Change<Deadlines>>(json!({"arrived": [unknown()]})));
    assert_eq!(properties("preemption_state"), known::<State<Preemption>>(unknown()));
    assert_eq!(properties("preemption_change"), known::<Change<Preemption>>(unknown()));
    assert_eq!(properties("preemption_job"), known::<Change<Preemption>>(json!({"arrived": [unknown()]})));
    assert_eq!(properties("serving_state"), known::<State<Serving>>(unknown()));
    assert_eq!(properties("serving_change"), known::<Change<Serving>>(unknown()));
    assert_eq!(properties("serving_task"), known::<Change<Serving>>(json!({"arrived": [unknown()]})));
    assert_eq!(properties("dag_job"), known::<Change<Dag>>(json!({"arrived": [unknown()]})));
    assert_eq!(properties("training_job"), known::<Change<Training>>(json!({"arrived": [unknown()]})));
}
