//! Lines on purpose wrong: a session answers or refuses each, keeps its memory, and goes on.

use super::{by, by_student, guarded, said};
use crate::mutate::each_mutant;
use sched_distill::simulation::{Simulated, Workload};
use sched_distill::{
    dag::Dag,
    deadlines::Deadlines,
    model::Structure,
    policy::Policy,
    preemption::Preemption,
    recorder::{EpisodeId, run_episode},
    registry::Registered,
    rng::Split,
    scenario::State,
    serve::{Fault, Service, Session},
    serving::Serving,
    training::Training,
};
use serde_json::{Value, json};
use std::{cell::RefCell, sync::Arc};

/// A few lines of an episode as a client would write them.
fn lines<S: Registered>(workload: &Workload<S>, driver: &str) -> Vec<Vec<u8>> {
    let mut lines =
        vec![br#"{"type":"hello","protocol":1,"seed":1}"#.to_vec(), br#"{"type":"reset","seed":2}"#.to_vec()];
    let id = EpisodeId::new(1, Split::Test, 0);
    let mut step = 0;
    let mut policy: Box<dyn Policy<S>> = S::open(&driver.parse().unwrap()).unwrap();
    run_episode(workload, &mut *policy, id, |seen, decision, _| {
        step += 1;
        if step % 40 == 3 && lines.len() < 8 {
            let (state, why) = (S::State::of(seen), step % 80 == 3);
            lines.push(json!({"id": step, "state": state, "why": why}).to_string().into_bytes());
            lines.push(json!({"id": step, "state": state, "did": [decision]}).to_string().into_bytes());
        }
    })
    .unwrap();
    lines.push(
        br#"{"change":{"time_ms":1e6,"offered":1,"jobs":[{"id":1,"stages":[{"stage":0,"running":1}]}]}}"#.to_vec(),
    );
    lines.push(br#"{"change":{"slot":9,"gone":[1],"jobs":[{"id":2,"progress":1.5}]}}"#.to_vec());
    lines
}

/// Every damaged line is answered with one line or none, and a sound one after it as ever.
fn survives<S: Registered>(service: Service<S>, lines: &[Vec<u8>]) {
    let service = Arc::new(service);
    let sound = lines.iter().map(|line| String::from_utf8_lossy(line)).find(|line| line.contains("\"state\"")).unwrap();
    let strip = |answer: Value| answer["decisions"].clone();
    let expected = strip(said(&mut Session::new(&service), &sound));
    assert!(expected.is_array(), "{expected}");
    let session = RefCell::new(Session::new(&service));
    let count = each_mutant(lines, |_, line| {
        let (mut session, mut out) = (session.borrow_mut(), Vec::new());
        // A line has no end of a line in it.
        for part in line.split(|&byte| byte == b'\n') {
            out.clear();
            if session.is_over() {
                *session = Session::new(&service);
            }
            session.line(part, &mut out);
            assert!(out.iter().filter(|&&byte| byte == b'\n').count() <= 1);
            if let [.., b'\n'] = out[..] {
                let answer: Value = serde_json::from_slice(&out).unwrap();
                assert!(["answer", "error", "ready"].contains(&answer["type"].as_str().unwrap()), "{answer}");
            }
        }
        if session.is_over() {
            *session = Session::new(&service);
        }
        assert_eq!(strip(said(&mut session, &sound)), expected);
    });
    assert!(count > 20, "{count}");
    eprintln!("{}: {count} damaged lines", S::INFO.name);
}

#[test]
fn damaged_lines_do_no_harm_in_dag() {
    let workload = Dag::open_workload(&"builtin,jobs=5,executors=5,rate=2e-4".parse().unwrap()).unwrap();
    let student = guarded::<Dag>(&workload, "sjf-cp,temperature=0.3", "age > 60s first", Structure::Flat);
    survives(by_student::<Dag>(&student), &lines::<Dag>(&workload, "sjf"));
}

#[test]
fn damaged_lines_do_no_harm_in_training() {
    let workload = Training::open_workload(&"builtin,nodes=4,jobs=5,max=3".parse().unwrap()).unwrap();
    let student = guarded::<Training>(&workload, "optimus", "job: stay > 3 first", Structure::Hierarchical);
    survives(by_student::<Training>(&student), &lines::<Training>(&workload, "drf"));
}

#[test]
fn damaged_lines_do_no_harm_in_deadlines() {
    let workload = Deadlines::open_workload(&"builtin,jobs=5,node-cores=8".parse().unwrap()).unwrap();
    let student = guarded::<Deadlines>(&workload, "qos", "job: hopeless first", Structure::Hierarchical);
    survives(by_student::<Deadlines>(&student), &lines::<Deadlines>(&workload, "edf-test"));
}

#[test]
fn damaged_lines_do_no_harm_in_preemption() {
    let workload = Preemption::open_workload(&"builtin,jobs=5,nodes=2,load=3,mtbf=5".parse().unwrap()).unwrap();
    let student = guarded::<Preemption>(&workload, "srtf", "job: fits > 0 first", Structure::Hierarchical);
    survives(by_student::<Preemption>(&student), &lines::<Preemption>(&workload, "srtf"));
}

#[test]
fn damaged_lines_do_no_harm_in_serving() {
    let workload = Serving::open_workload(&"builtin,seconds=0.05".parse().unwrap()).unwrap();
    let student = guarded::<Serving>(&workload, "dybatch", "application: is_full first", Structure::Hierarchical);
    survives(by_student::<Serving>(&student), &lines::<Serving>(&workload, "tf-serving"));
}

fn fair() -> Session<Dag> {
    Session::new(&Arc::new(by::<Dag>(Dag::open(&"fair".parse().unwrap()).unwrap())))
}

const SOUND: &str = r#"{"id":1,"state":{"num_executors":1,"jobs":[]}}"#;

/// What a browser says first, whatever a page makes it say then.
#[test]
fn a_first_line_that_is_no_object_ends_the_conversation() {
    let list = r#"["question",null,null,null,null,{"num_executors":1,"jobs":[]}]"#;
    for first in ["POST / HTTP/1.1\r", "OPTIONS * HTTP/1.1\r", "\u{16}\u{3}\u{1}", "[]", list, "7", "{", "{\"id\":1"] {
        let (mut session, mut out) = (fair(), Vec::new());
        // Blank lines are none.
        assert_eq!(session.line(b" \r", &mut out), None);
        assert_eq!(session.line(first.as_bytes(), &mut out), Some(Fault::NoObject), "{first}");
        assert_eq!(session.line(SOUND.as_bytes(), &mut out), None);
        assert!(session.is_over() && out.iter().filter(|&&byte| byte == b'\n').count() == 1, "{first}");
        let error: Value = serde_json::from_slice(&out).unwrap();
        assert!(error["error"].as_str().unwrap().ends_with("; the conversation ends"), "{error}");
    }
    // An object that says what cannot be is an object.
    let mut session = fair();
    assert_eq!(said(&mut session, r#"{"state":5}"#)["type"], "error");
    assert_eq!(said(&mut session, SOUND)["id"], 1);
}

#[test]
fn the_eighth_line_that_is_no_object_ends_the_conversation() {
    let mut session = fair();
    for _ in 0..7 {
        assert_eq!(said(&mut session, SOUND)["id"], 1);
        let error = said(&mut session, "Host: 127.0.0.1:7400\r");
        assert!(error["error"].as_str().unwrap().ends_with("begins with `{`"), "{error}");
        // Others are not counted.
        assert_eq!(said(&mut session, r#"{"state":5}"#)["type"], "error");
    }
    assert_eq!(said(&mut session, SOUND)["id"], 1);
    let last = said(&mut session, "nonsense");
    assert!(last["error"].as_str().unwrap().ends_with("; the conversation ends"), "{last}");
    assert_eq!(said(&mut session, SOUND), Value::Null);
}

#[test]
fn deep_lines_and_huge_numbers_are_refused() {
    let mut session = fair();
    for line in [
        "[".repeat(100_000),
        "{\"state\":".repeat(100_000),
        format!("{{\"state\":{{\"num_executors\":1,\"jobs\":[{}]}}}}", "{},".repeat(1000)),
        r#"{"state":{"num_executors":4294967295,"offered":4294967295,"jobs":[]}}"#.to_owned(),
        r#"{"state":{"num_executors":1,"time_ms":1e999,"jobs":[]}}"#.to_owned(),
        r#"{"id":-1,"state":{"num_executors":1,"jobs":[]}}"#.to_owned(),
        "\u{0}".repeat(1000),
    ] {
        if session.is_over() {
            session = fair();
        }
        assert_eq!(said(&mut session, &line)["type"], "error", "{}", &line[..50]);
    }
    let mut training = Session::new(&Arc::new(by::<Training>(Training::open(&"drf".parse().unwrap()).unwrap())));
    let type_of = |i: usize| json!({"name": format!("t{i}"), "worker": [1, 1], "server": [1, 0], "epoch_size": 1.0});
    let types: Vec<Value> = (0..255).map(type_of).collect();
    let cluster =
        json!({"nodes": 1, "node_slots": [8, 8], "slot_s": 1, "max_workers": 256, "max_servers": 256, "types": types});
    let answer = said(&mut training, &json!({"state": {"cluster": cluster, "slot": 0, "jobs": []}}).to_string());
    assert_eq!(answer["type"], "error", "{answer}");
}
