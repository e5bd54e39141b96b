//! The section "Can a user game it?": every sentence with the evidence that it needs, and a case in which it must not be said.

use super::{
    Outcome,
    evidence::{Files, estimate, list},
    report,
};
use sched_distill::model::Student;
use serde_json::{Value, json};
use std::{error::Error, fs};

const EXACT: [f64; 3] = [0.0, 0.0, 0.0];

/// The figures of a method at a budget: sooner, change, and both beyond random edits.
fn figures(method: &str, budget: usize, [sooner, change]: [[f64; 3]; 2], net: Option<[[f64; 3]; 2]>) -> Value {
    let net = net.map(|[sooner, change]| json!([estimate(sooner), estimate(EXACT), estimate(change)]));
    json!({"method": method, "budget": budget, "targets": 100, "unfinished": 0, "sooner": estimate(sooner),
           "much_sooner": estimate([0.1, 0.05, 0.15]), "change_if_sooner": null, "change": estimate(change), "net": net,
           "others": estimate(EXACT), "first_minute": estimate(EXACT), "queries": 10.0})
}

/// A scheduler that was attacked with one edit and with two.
fn scheduler(policy: &str, role: &str, sooner: [f64; 3], change: [f64; 3], net: [[f64; 3]; 2]) -> Value {
    let own = |budget| figures("gradient", budget, [sooner, change], Some(net));
    let random = |budget| figures("random", budget, [[0.08, 0.05, 0.12], [0.02, 0.0, 0.04]], None);
    let run = |item: u32, lane: u32, from: f64, to: f64| json!({"lane": lane, "item": item, "part": 0, "start_ms": from, "end_ms": to});
    let schedule = |end: f64| {
        json!({"policy": policy, "role": role, "episode": 3, "lanes": 2, "lane": "executor", "part": "stage", "parts": [],
               "runs": [run(0, 0, 0.0, 60e3), run(1, 1, end - 20e3, end)], "items": [[0.0, 60e3], [10e3, end]]})
    };
    json!({
        "policy": policy, "role": role, "workload": "tpch:executors=10,jobs=30",
        "params": {"seed": 0, "split": "test", "episodes": 20, "targets": 5, "methods": ["gradient", "random"],
                   "budgets": [{"edits": 1, "shares": {}, "sorts": []}, {"edits": 2, "shares": {}, "sorts": []}],
                   "trials": 1, "questions": 16},
        "figures": [own(0), random(0), own(1), random(1)],
        "notable": {"method": "gradient", "attempts": 100,
                    "best": [{"episode": 3, "job": 1, "words": ["stage 4 declares 0.5 times its duration"], "completion_ms": [90e3, 30e3]}],
                    "sorts": [{"sort": "duration", "attempts": 60, "sooner": [30, 15]}]},
        "objective": [], "to_teacher": estimate([1.02, 1.01, 1.03]), "example": [schedule(100e3), schedule(40e3)],
    })
}

const GAINS: [[f64; 3]; 2] = [[0.3, 0.2, 0.4], [-0.05, -0.08, -0.02]];
const OFTEN: [f64; 3] = [0.38, 0.33, 0.44];
const SOONER: [f64; 3] = [-0.04, -0.06, -0.01];

/// Teacher and student, as easy to game.
fn both() -> Value {
    let of = |policy, role| scheduler(policy, role, OFTEN, SOONER, GAINS);
    json!([of("decima:model.pt", "teacher"), of("student:runs/a/student.json", "student")])
}

fn certificates(hash: &str, contradicted: u64) -> Value {
    let share = |share: f64, kind: &str, certified: f64| json!({"share": share, "kind": kind, "choices": 625, "certified": estimate([certified; 3]), "pairs": estimate([0.9; 3])});
    json!([{"name": "student.json", "student": hash, "trace": "t", "workload": "tpch:executors=10,jobs=30", "certified": {
        "shares": [share(0.05, "affinity", 1.0), share(0.05, "free", 0.9), share(0.25, "affinity", 0.99), share(0.25, "free", 0.57)],
        "tried": [{"of_safe": 100, "contradicted": contradicted, "of_others": 5, "taken": 1}]}}])
}

/// The words of the section, of what was attacked and certified.
fn words(schedulers: Value, contradicted: Option<u64>) -> Result<String, Box<dyn Error>> {
    let files = Files::new()?;
    let hash = Student::load(&files.dir.path().join("student.json"))?.hash();
    let certificates = contradicted.map_or(json!([]), |n| certificates(&hash, n));
    let attacks = json!({"student": hash, "schedulers": schedulers, "certificates": certificates});
    fs::write(files.dir.path().join("attacks.json"), serde_json::to_vec(&attacks)?)?;
    files.words_of("deploy gaming")
}

/// A change of the student's entry.
fn with(edit: impl Fn(&mut Value)) -> Value {
    let mut all = both();
    edit(&mut list(&mut all)[1]);
    all
}

type Pattern = (&'static str, fn() -> Value, fn() -> Value);

/// Words, evidence with which they are said, and evidence with which they are not.
const PATTERNS: [Pattern; 12] = [
    (
        "Yes: by one change of how she describes her job, a user is served sooner under the student in 38.0 % [33.0, 44.0] of cases, \
         where chance does it in 8.0 %, and 4.0 % sooner in the mean over all cases.",
        both,
        || with(|s| s["figures"][0]["change"] = estimate([-0.04, -0.09, 0.01])),
    ),
    (
        "Now and then: by one change of how she describes her job, a user is served sooner under the student in 38.0 % [33.0, 44.0] of \
         cases, where chance does it in 8.0 %; in the mean over all cases nothing is gained for sure.",
        || with(|s| s["figures"][0]["change"] = estimate([-0.04, -0.09, 0.01])),
        both,
    ),
    (
        "Not clearly: by one change a user is served sooner under the student in 38.0 % [33.0, 44.0] of cases, where chance does it in \
         8.0 %, and the difference may be luck.",
        || {
            with(|s| {
                s["figures"][0]["net"] =
                    json!([estimate([0.3, -0.1, 0.5]), estimate(EXACT), estimate([-0.04, -0.09, 0.01])])
            })
        },
        || {
            with(|s| {
                s["figures"][0]["net"] =
                    json!([estimate([0.3, 0.1, 0.5]), estimate(EXACT), estimate([-0.04, -0.09, 0.01])])
            })
        },
    ),
    (
        "Now and then: by one change of how she describes her job, a user is served sooner under the student in 38.0 % [33.0, 44.0] of \
         cases, where chance does it in 8.0 %; the mean gain over all cases, 4.0 %, is not for sure more than that of chance.",
        || with(|s| s["figures"][0]["net"][2] = estimate([-0.02, -0.05, 0.01])),
        both,
    ),
    (
        "Yes, even by chance: where the best of 32 random edits is kept, a user is served sooner under the student in 8.0 % [5.0, 12.0] of \
         cases, and 3.0 % sooner in the mean over all cases.",
        || {
            with(|s| {
                s["params"]["trials"] = json!(32);
                s["figures"][1]["change"] = estimate([-0.03, -0.05, -0.01]);
            })
        },
        || {
            with(|s| {
                s["params"]["trials"] = json!(32);
                s["figures"][1]["change"] = estimate([-0.03, -0.05, 0.01]);
            })
        },
    ),
    (
        "Whether users can game the student is open: no random edits were made beside, to tell what chance does; by one change one is \
         served sooner in 38.0 % [33.0, 44.0] of cases.",
        || {
            with(|s| {
                list(&mut s["figures"]).retain(|f| f["method"] == "gradient");
                list(&mut s["figures"]).iter_mut().for_each(|f| f["net"] = Value::Null);
            })
        },
        both,
    ),
    ("It is not clearly harder or easier to game than its teacher (38.0 %).", both, || {
        with(|s| s["figures"][0]["sooner"] = estimate([0.2, 0.15, 0.32]))
    }),
    (
        "It is harder to game than its teacher (38.0 %).",
        || with(|s| s["figures"][0]["sooner"] = estimate([0.2, 0.15, 0.32])),
        || with(|s| s["figures"][0]["sooner"] = estimate([0.2, 0.15, 0.34])),
    ),
    (
        "It is easier to game than its teacher (38.0 %).",
        || with(|s| s["figures"][0]["sooner"] = estimate([0.6, 0.45, 0.7])),
        || with(|s| s["figures"][0]["sooner"] = estimate([0.6, 0.43, 0.7])),
    ),
    ("its teacher", both, || with(|s| s["params"]["trials"] = json!(8))),
    (
        "Whether users can game the student is open: 9 episodes tell too little, 10 are the least.",
        || with(|s| s["params"]["episodes"] = json!(9)),
        both,
    ),
    (
        "Whether users can game the student was not tried.",
        || json!([both()[0]]),
        || with(|s| s["params"]["episodes"] = json!(9)),
    ),
];

#[test]
fn every_sentence_is_said_with_its_evidence_and_not_without() -> Outcome {
    for (says, given, but) in PATTERNS {
        let said = words(given(), None)?;
        assert!(said.contains(says), "not said: {says}\n{said}");
        let said = words(but(), None)?;
        assert!(!said.contains(says), "said without its evidence: {says}\n{said}");
    }
    Ok(())
}

#[test]
fn certificates_are_said_of_the_hardest_kind_and_not_if_they_are_wrong() -> Outcome {
    let says = "When any job may get the executors, no other job can take the choice by declaring other numbers, in that one state: \
                proved for 90.0 % of them within ± 5 % and 57.0 % of them within ± 25 %.";
    let said = words(both(), Some(0))?;
    assert!(said.contains(says), "{said}");
    let said = words(both(), Some(1))?;
    assert!(
        !said.contains("proved for") && said.contains("Certificates of the student are wrong: 1 edits took"),
        "{said}"
    );
    let said = words(both(), None)?;
    assert!(!said.contains("proved for") && !said.contains("What is proved"), "{said}");
    // What is known of dependencies, or of another workload, does not stand in its way.
    let files = Files::new()?;
    let hash = Student::load(&files.dir.path().join("student.json"))?.hash();
    let mut all = certificates(&hash, 0);
    let numbers = list(&mut all)[0].clone();
    let (mut edges, mut elsewhere) = (numbers.clone(), numbers.clone());
    list(&mut edges["certified"]["shares"]).iter_mut().for_each(|s| s["sorts"] = json!(["edge"]));
    elsewhere["workload"] = json!("builtin");
    list(&mut elsewhere["certified"]["shares"]).iter_mut().for_each(|s| s["certified"] = estimate([0.1; 3]));
    let attacks = json!({"student": hash, "schedulers": both(), "certificates": [edges, elsewhere, numbers]});
    fs::write(files.dir.path().join("attacks.json"), serde_json::to_vec(&attacks)?)?;
    let said = files.words_of("deploy gaming")?;
    assert!(said.contains(says) && said.contains("one edge") && said.contains("this student, builtin"), "{said}");
    Ok(())
}

#[test]
fn schedulers_are_told_apart_by_what_their_workloads_differ_in() -> Outcome {
    let mut all = both();
    let of = |workload: &str, budgets: Option<Value>| {
        let mut one = scheduler("student:runs/a/student.json", "student", OFTEN, SOONER, GAINS);
        one["workload"] = json!(workload);
        if let Some(budgets) = budgets {
            one["params"]["budgets"] = budgets;
        }
        one
    };
    let splits =
        json!([{"edits": 1, "shares": {}, "sorts": ["split"]}, {"edits": 2, "shares": {}, "sorts": ["split"]}]);
    list(&mut all).push(of("tpch:executors=10,jobs=30,parts=merged", None));
    list(&mut all).push(of("builtin", Some(splits)));
    let said = words(all, None)?;
    for name in ["student: student.json, parts=merged", "student: student.json, builtin", "1 edit (split)"] {
        assert!(said.contains(name), "{name}\n{said}");
    }
    assert!(said.contains("Not drawn: 1 of those in the table below."), "{said}");
    // The sentence is about the run's workload, and so is the setting.
    assert!(said.contains("In 20 test episodes of tpch:executors=10,jobs=30, up to 5 jobs each"), "{said}");
    let elsewhere = words(json!([of("builtin", None)]), None)?;
    assert!(
        elsewhere.contains("was not tried.") && elsewhere.contains("episodes of builtin, up to 5 jobs"),
        "{elsewhere}"
    );
    let tried = words(with(|s| s["params"]["trials"] = json!(8)), None)?;
    assert!(tried.contains("The edit is the best of 8 that were tried out;"), "{tried}");
    Ok(())
}

#[test]
fn edits_are_told_and_one_is_shown_replayed() -> Outcome {
    let files = Files::new()?;
    let hash = Student::load(&files.dir.path().join("student.json"))?.hash();
    let attacks = json!({"student": hash, "schedulers": both(), "certificates": []});
    fs::write(files.dir.path().join("attacks.json"), serde_json::to_vec(&attacks)?)?;
    let said = files.words_of("deploy gaming")?;
    for words in [
        "Of 100 attempts against the student these brought most:",
        "Stage 4 declares 0.5 times its duration: job 1 of episode 3 takes 30 s instead of 90 s (67 % less).",
        "as it was: job 1 takes 90 s",
        "with the edit: it takes 30 s",
        "duration6030 (50.0 %)15 (25.0 %)",
    ] {
        assert!(said.contains(words), "{words}\n{said}");
    }
    let (_, curve) = report(files.dir.path(), "gaming-curve")?;
    assert_eq!(curve["budgets"], json!(["edits=1", "edits=2"]));
    assert_eq!(curve["schedulers"][1]["figures"][0]["sooner"], estimate(OFTEN));
    let (_, price) = report(files.dir.path(), "gaming-price")?;
    assert_eq!(price[0]["to_teacher"], estimate([1.02, 1.01, 1.03]));
    Ok(())
}

#[test]
fn attacks_on_another_student_are_not_shown_and_damaged_ones_are_refused() -> Outcome {
    let files = Files::new()?;
    let path = files.dir.path().join("attacks.json");
    fs::write(&path, serde_json::to_vec(&json!({"student": "0".repeat(64), "schedulers": both()}))?)?;
    let said = files.words_of("deploy gaming")?;
    for words in
        ["Whether users can game the student was not tried.", "distill attack --run RUN_DIR edits descriptions"]
    {
        assert!(said.contains(words), "{said}");
    }
    let mut wrong = both();
    list(&mut wrong)[0]["figures"][0]["sooner"] = json!({"value": 0.5, "low": 0.6, "high": 0.4});
    fs::write(&path, serde_json::to_vec(&json!({"student": "0".repeat(64), "schedulers": wrong}))?)?;
    let refused = files.words_of("deploy gaming").err().map_or(String::new(), |e| e.to_string());
    assert!(
        refused.contains("attacks.json") && refused.contains("attack on `decima:model.pt`: sooner is 0.5 [0.6, 0.4]"),
        "{refused}"
    );
    Ok(())
}
