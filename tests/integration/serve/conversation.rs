//! What a client may say, what it hears, and what it is told about lines that are none.

use super::{by, by_student, guarded, said};
use sched_distill::simulation::Simulated;
use sched_distill::{
    dag::{Dag, View},
    model::{Additive, CompiledGuards, Model, Pairwise, Regime, ScoreCandidates, Structure, Student},
    policy::{Policy, PolicyError},
    recorder::{EpisodeId, run_episode},
    registry::Registered,
    rng::Split,
    scenario::{Questions, Said, Scenario, State},
    serve::{Fault, Limits, Session},
};
use serde_json::{Value, json};
use std::sync::Arc;

const STATE: &str = r#"{"num_executors":10,"time_ms":60000,"offered":6,"jobs":[
    {"id":7,"arrival_ms":42000,"stages":[{"tasks":8,"rough_ms":1500,"completed":2,"running":3,"recent_ms":1320},
                                         {"tasks":4,"rough_ms":400,"parents":[0]}]},
    {"id":9,"arrival_ms":43000,"stages":[{"tasks":8,"rough_ms":1500}]}]}"#;

fn line(fields: &str) -> String {
    format!("{{{fields}\"state\":{}}}", STATE.replace('\n', ""))
}

fn fair() -> Session<Dag> {
    Session::new(&Arc::new(by::<Dag>(Dag::open(&"fair".parse().unwrap()).unwrap())))
}

#[test]
fn a_conversation_from_hello_to_the_next_episode() {
    let mut session = fair();
    let ready = said(&mut session, r#"{"type":"hello","protocol":1,"seed":7}"#);
    assert_eq!((&ready["type"], &ready["scenario"], &ready["protocol"]), (&"ready".into(), &"dag".into(), &1.into()));
    let answer = said(&mut session, &line("\"type\":\"question\",\"id\":3,"));
    assert_eq!((&answer["type"], &answer["id"]), (&"answer".into(), &3.into()));
    assert_eq!(answer["decisions"][0], json!({"do": "assign", "job": 7, "stage": 0, "executors": 2}));
    assert_eq!(answer["levels"].as_array().map(Vec::len), answer["decisions"].as_array().map(Vec::len));
    assert_eq!(said(&mut session, r#"{"type":"reset","seed":8}"#), Value::Null);
    assert_eq!(said(&mut session, "   "), Value::Null);
    // Nothing to decide is an answer too.
    let answer = said(&mut session, r#"{"id":4,"state":{"num_executors":10,"jobs":[]}}"#);
    assert_eq!(answer, json!({"type": "answer", "id": 4, "decisions": []}));
}

#[test]
fn lines_that_are_none_are_named_and_the_next_one_is_answered() {
    let mut session = fair();
    for (wrong, words) in [
        (r#"{"change":{}}"#.to_owned(), "tell the whole `state` first"),
        ("nonsense".to_owned(), "begins with `{`"),
        ("[]".to_owned(), "begins with `{`"),
        ("{".to_owned(), "EOF"),
        (r#"{"type":"question"}"#.to_owned(), "no `state`"),
        (r#"{"type":"answer"}"#.to_owned(), "unknown variant `answer`"),
        (r#"{"type":"reset"}"#.to_owned(), "no `seed`"),
        (r#"{"type":"reset","seed":1,"most":3}"#.to_owned(), "`most` does not belong here"),
        (line("\"colour\":1,"), "unknown field `colour`"),
        (line("\"seed\":1,"), "belong to `hello`"),
        (line("\"did\":[],"), "for a shadow"),
        (line("\"why\":true,"), "only a student can say"),
        (line("\"change\":{},"), "not both"),
        (line("").replace("\"running\":3", "\"running\":9"), "job 7, stage 0, `running`: 9 tasks"),
        (line("").replace("\"offered\":6", "\"offered\":60"), "offered"),
        (line("").replace("[0]", "[1]"), "cycle"),
        (line("").replace("1500", "\"soon\""), "invalid type"),
    ] {
        let answer = said(&mut session, &wrong);
        let error = answer["error"].as_str().unwrap_or_default();
        assert!(answer["type"] == "error" && error.contains(words), "{wrong}: {answer}");
        assert_eq!(said(&mut session, &line("\"id\":5,"))["id"], 5);
    }
    assert_eq!(said(&mut session, r#"{"id":12,"state":{"num_executors":0,"jobs":[]}}"#)["id"], 12);
    assert!(said(&mut session, r#"{"type":"hello","protocol":1}"#)["error"].as_str().unwrap().contains("first line"));
    let other = said(&mut fair(), r#"{"type":"hello","protocol":2}"#);
    assert!(other["error"].as_str().unwrap().contains("speaks protocol 2"));
    // What is said of a long line is short.
    let long = said(&mut fair(), &format!("{{\"{}\":1}}", "x".repeat(100_000)));
    assert!(long["error"].as_str().unwrap().len() < 1000);
}

/// A greeting that is not understood: what comes behind it was written for another server.
#[test]
fn a_hello_that_cannot_be_ends_the_conversation() {
    for (hello, words) in [
        (r#"{"type":"hello","protocol":2}"#, "speaks protocol 2"),
        (r#"{"type":"hello","protocol":"1"}"#, "invalid type"),
        (r#"{"type":"hello","protocol":2,"wants":["scores"]}"#, "unknown field `wants`"),
        (r#"{"type":"hello"}"#, "no `protocol`"),
        (r#"{"type":"hello","protocol":1,"most":2}"#, "`most` does not belong here"),
    ] {
        let (mut session, mut out) = (fair(), Vec::new());
        assert_eq!(session.line(hello.as_bytes(), &mut out), Some(Fault::Hello));
        let answer: Value = serde_json::from_slice(&out).unwrap();
        let error = answer["error"].as_str().unwrap();
        assert!(error.contains(words) && error.ends_with("; the conversation ends"), "{answer}");
        assert!(session.is_over() && said(&mut session, &line("")) == Value::Null);
    }
    // Who need not say a token may say one.
    assert_eq!(said(&mut fair(), r#"{"type":"hello","protocol":1,"token":"any"}"#)["type"], "ready");
    let misplaced = said(&mut fair(), &line("\"token\":\"0123456789abcdef\","));
    assert!(
        misplaced["error"].as_str().unwrap().contains("belong to `hello`") && !misplaced.to_string().contains("0123")
    );
}

/// Editors of some systems write it before the first line, and nowhere else.
#[test]
fn a_byte_order_mark_is_skipped() {
    let mut session = fair();
    assert_eq!(said(&mut session, &format!("\u{feff}{}", line("\"id\":1,")))["id"], 1);
    assert_eq!(said(&mut session, &format!("\u{feff}{}", line("\"id\":2,")))["type"], "error");
    assert_eq!(said(&mut fair(), "\u{feff}{\"type\":\"hello\",\"protocol\":1}")["type"], "ready");
}

#[test]
fn states_are_bounded() {
    let service = by::<Dag>(Dag::open(&"fair".parse().unwrap()).unwrap());
    let limits = Limits { extent: 8, ..Limits::default() };
    let mut session = Session::new(&Arc::new(sched_distill::serve::Service { limits, ..service }));
    let answer = said(&mut session, &line(""));
    assert!(answer["error"].as_str().unwrap().contains("at most 8"), "{answer}");
    // Graphs that are dense or long on purpose, also those that were told before.
    let mut session = fair();
    let chains = |jobs: u32| {
        let stage = |i: usize| json!({"tasks": 1, "rough_ms": 1, "parents": if i == 0 { vec![] } else { vec![i - 1] }});
        let stages: Vec<Value> = (0..1200).map(stage).collect();
        let job = |id: u32| json!({"id": id, "arrival_ms": 0, "stages": stages});
        json!({"state": {"num_executors": 1, "jobs": (0..jobs).map(job).collect::<Vec<_>>()}}).to_string()
    };
    assert!(said(&mut session, &chains(1))["error"].as_str().unwrap().contains("too large"));
    let several = said(&mut session, &chains(2));
    assert!(several["error"].as_str().unwrap().contains("too long chains"), "{several}");
    // Answers are bounded too.
    let wide = json!({"num_executors": 1000, "offered": 1000, "jobs": [{"id": 1, "arrival_ms": 0,
        "stages": vec![json!({"tasks": 1, "rough_ms": 1}); 5000]}]});
    let long = said(&mut session, &json!({"state": wide}).to_string());
    assert!(long["error"].as_str().unwrap().contains("more than 65536 candidates"), "{long}");
    let short = said(&mut session, &json!({"state": wide, "scores": false}).to_string());
    assert_eq!(short["decisions"].as_array().map(Vec::len), Some(1000));
    let stages = |parents: &dyn Fn(usize) -> Vec<usize>| -> String {
        let stage = |i: usize| json!({"tasks": 1, "rough_ms": 1, "parents": parents(i)});
        let state = json!({"num_executors": 1, "jobs": (0..3).map(|id| json!({"id": id, "arrival_ms": 0,
            "stages": (0..1500).map(stage).collect::<Vec<_>>()})).collect::<Vec<_>>()});
        json!({"state": state}).to_string()
    };
    let chain = said(&mut session, &stages(&|i| if i == 0 { vec![] } else { vec![i - 1] }));
    assert!(chain["error"].as_str().unwrap().contains("too long chains"), "{chain}");
    let dense = said(&mut session, &stages(&|i| if i < 600 { (0..i).collect() } else { vec![0] }));
    assert!(dense["error"].as_str().unwrap().contains("too many edges"), "{dense}");
}

#[test]
fn what_is_told_step_by_step_can_be_told_as_a_whole() {
    let mut session = fair();
    let first = json!({"num_executors": 10, "jobs_gone": u32::MAX, "jobs": [{"id": 1, "arrival_ms": 0,
        "stages": [{"tasks": 900, "rough_ms": 5}]}]});
    assert_eq!(said(&mut session, &json!({"state": first}).to_string())["decisions"], json!([]));
    // Promises add up beyond the size of the cluster; jobs go beyond all that can be counted.
    for _ in 0..5 {
        let answer = said(&mut session, r#"{"change":{"offered":10,"source":{"job":1}}}"#);
        assert_eq!(answer["decisions"][0]["executors"], 10, "{answer}");
    }
    let told = said(
        &mut session,
        r#"{"change":{"offered":10,"source":{"job":1},"jobs":[{"id":1,"stages":[{"stage":0,"completed":1}]}]}}"#,
    );
    assert_eq!(told["type"], "answer", "{told}");
    assert_eq!(said(&mut session, r#"{"change":{"gone":[1]}}"#)["decisions"], json!([]));
}

/// Fails at every second question.
struct Failing(bool);

impl Policy<Dag> for Failing {
    fn fresh(&self) -> Box<dyn Policy<Dag>> {
        Box::new(Failing(true))
    }

    fn decide(&mut self, seen: &View<'_>, _: &mut Said) -> Result<sched_distill::dag::Decision, PolicyError> {
        match std::mem::replace(&mut self.0, false) {
            true => Ok(sched_distill::dag::Decision::Assign { stage: seen.schedulable()[0], executors: 1 }),
            false => Err(PolicyError::NotFinite { policy: "failing".to_owned(), time_ms: 0.0 }),
        }
    }
}

#[test]
fn a_policy_that_fails_is_replaced() {
    let mut session = Session::new(&Arc::new(by::<Dag>(Box::new(Failing(true)))));
    for _ in 0..3 {
        assert_eq!(said(&mut session, &line("\"most\":1,"))["type"], "answer");
        let mut out = Vec::new();
        assert_eq!(session.line(line("\"most\":1,").as_bytes(), &mut out), Some(Fault::Server));
        let answer: Value = serde_json::from_slice(&out).unwrap();
        assert!(answer["error"].as_str().unwrap().contains("failing: at 0 ms"), "{answer}");
    }
}

/// Students of every kind of model.
fn students() -> Vec<Student> {
    let workload = Dag::open_workload(&"builtin,jobs=6,executors=5,rate=2e-4".parse().unwrap()).unwrap();
    let of = |structure| guarded::<Dag>(&workload, "sjf-cp,temperature=0.3", "age > 20s first", structure);
    let mut students = Structure::ALL.map(of).to_vec();
    let mut linear = students[0].clone();
    for level in &mut linear.levels {
        level.used = "linear".to_owned();
    }
    students.push(linear.clone());
    let mut mixed = students[0].clone();
    let width = mixed.feature_set.levels[0].features.len();
    let column = |name: &str| mixed.feature_set.levels[0].features.iter().position(|f| f.name == name).unwrap();
    let Model::Tree(tree) = mixed.levels[0].scheduler().model.clone() else { panic!("a tree") };
    let sum = Additive::linear(&(0..width).map(|i| i as f64 / 100.0).collect::<Vec<_>>(), &vec![1.0; width]);
    let regime = Regime::split(column("jobs_in_system") as u32, 2.5, Model::Tree(tree.clone()), Model::Additive(sum));
    *mixed.levels[0].scheduler_mut() = Model::Regime(regime);
    students.push(mixed.clone());
    *mixed.levels[0].scheduler_mut() = Model::Pairwise(Pairwise { tree });
    students.push(mixed);
    students
}

/// Whatever is said of a decision, worked out again from the features of all candidates.
#[test]
fn scores_and_reasons_are_those_of_the_models_and_guards() {
    let workload = Dag::open_workload(&"builtin,jobs=6,executors=5,rate=1e-3".parse().unwrap()).unwrap();
    let (mut tests, mut terms, mut wins, mut spoke) = (0, 0, 0, 0);
    for student in students() {
        let service = Arc::new(by_student::<Dag>(&student));
        let mut session = Session::new(&service);
        let mut driver = Dag::open(&"sjf".parse().unwrap()).unwrap();
        let id = EpisodeId::new(1, Split::Test, 0);
        run_episode(&workload, &mut *driver, id, |seen, _, _| {
            let state = <Dag as Scenario>::State::of(seen);
            let answer = said(&mut session, &json!({"state": state, "most": 1, "why": true}).to_string());
            let mut questions = <Dag as Scenario>::Questions::default();
            questions.update(seen);
            let mut path = Vec::new();
            for (spec, level) in student.feature_set.levels.iter().zip(answer["levels"][0].as_array().unwrap()) {
                let mut x = Vec::new();
                let (n, width) = (questions.rows(seen, &path, false, &mut x), spec.features.len());
                let model = &student.model(&spec.name, None).unwrap().model;
                let mut scores = vec![0.0; n];
                model.score_choice(&x, width, &mut scores);
                let (taken, reason) = (level["taken"].as_u64().unwrap() as usize, &level["reason"]);
                let row = &x[taken * width..][..width];
                let value = |name: &Value| f64::from(row[spec.features.iter().position(|f| f.name == *name).unwrap()]);
                for test in reason["path"].as_array().into_iter().flatten() {
                    let (found, threshold) = (value(&test["feature"]), test["threshold"].as_f64().unwrap());
                    assert_eq!(test["operator"] == "<=", found <= threshold);
                    tests += 1;
                }
                let score = scores[taken];
                if let Some(all) = reason["terms"].as_array() {
                    let sum: f64 = all.iter().map(|term| term["adds"].as_f64().unwrap()).sum();
                    let whole = sum + reason["intercept"].as_f64().unwrap();
                    assert!((whole - score).abs() < 1e-9 * (1.0 + score.abs()), "{whole} {score}");
                    terms += all.len();
                }
                if let Some(beats) = reason["beats"].as_array() {
                    let sum: f64 = beats.iter().map(|chance| chance.as_f64().unwrap()).sum();
                    assert!((sum - score).abs() < 1e-9, "{sum} {score}");
                    wins += beats.len();
                }
                if n > 1 {
                    let guards = CompiledGuards::new(&student.guards, spec);
                    (0..guards.len()).for_each(|guard| guards.apply(guard, &x, width, &mut scores));
                }
                let said: Vec<Option<f64>> = serde_json::from_value(level["scores"].clone()).unwrap();
                assert_eq!(said, scores.iter().map(|s| s.is_finite().then_some(*s)).collect::<Vec<_>>());
                let out: usize = reason["guards"]
                    .as_array()
                    .into_iter()
                    .flatten()
                    .map(|guard| {
                        assert_eq!(guard["guard"], student.guards[0].to_string());
                        guard["rules_out"].as_array().unwrap().len()
                    })
                    .sum();
                assert_eq!(out, said.iter().filter(|score| score.is_none()).count());
                spoke += out;
                path.push(taken);
            }
        })
        .unwrap();
    }
    assert!(tests > 500 && terms > 1000 && wins > 50 && spoke > 10, "{tests} {terms} {wins} {spoke}");
}
