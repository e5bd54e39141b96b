//! `distill report`: its verdict and gates, and other students beside that of the run.

use crate::program::{TINY, done, record, refused, run, text};
use serde_json::Value;
use std::{fs, path::Path};

const TEACHER: &str = "sjf-cp,temperature=0.3,mode=sample";

/// A run directory with a measured student, and two more students.
fn measured(dir: &Path) {
    record(dir, "train", "8", "train");
    record(dir, "test", "4", "test");
    done(dir, &["fit", "train", "-o", "own.json", "--learner", "tree", "--max-leaves", "12"]);
    done(dir, &["fit", "train", "-o", "small.json", "--learner", "tree", "--max-leaves", "2"]);
    let loops = ["-t", TEACHER, "-w", TINY, "-n", "6", "--edge-cases"];
    done(dir, &[&["evaluate", "own.json", "test", "--run", "run"][..], &loops].concat());
}

#[test]
fn the_verdict_is_printed_and_gates_that_are_named_decide_the_exit_code() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    measured(dir);
    let said = done(dir, &["report", "run", "-o", "page"]);
    assert!(said.starts_with("The student ") && said.contains(" other workloads is "), "{said}");
    let output = run(dir, &["report", "run", "-o", "page", "--gate", "teacher=0.5", "--gate", "elsewhere=99"]);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    assert!(text(&output.stdout).ends_with("gate failed: teacher\n"), "{}", text(&output.stdout));
    done(dir, &["report", "run", "-o", "page", "--gate", "teacher=99", "--gate", "elsewhere=99"]);
    refused(
        dir,
        &["report", "run", "-o", "page", "--gate", "speed=2"],
        &["no gate `speed`", "teacher, heuristic, tail, elsewhere"],
    );
    refused(dir, &["report", "run", "-o", "page", "--gate", "teacher=x"], &["`x` is no limit", "teacher=1.05"]);
    refused(dir, &["report", "run", "-o", "page", "--gate", "teacher"], &["`teacher` is not NAME=LIMIT"]);
    let json: Value = serde_json::from_str(&done(dir, &["--json", "report", "run", "-o", "page"])).unwrap();
    assert!(json["verdict"].as_str().unwrap().starts_with("The student ") && json["gates_missed"].is_array());
    let times: Value = serde_json::from_slice(&fs::read(dir.join("run/latency.json")).unwrap()).unwrap();
    assert!(times["policies"].as_array().unwrap().iter().all(|p| p["median_us"].as_f64().unwrap() > 0.0), "{times}");
}

#[test]
fn other_students_are_measured_once_on_the_episodes_of_the_run_and_shown_beside_its_own() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    measured(dir);
    assert!(!page(dir, &[]).contains("Which student to take?"));
    let html = page(dir, &["--with", "small.json", "--trace", "test"]);
    for words in ["Which student to take?", "small.json", "All students side by side, on the same episodes"] {
        assert!(html.contains(words), "{words}");
    }
    let compared = || -> Value { serde_json::from_slice(&fs::read(dir.join("run/compared.json")).unwrap()).unwrap() };
    let found = compared();
    let of_other = |at: &str| found[0]["evaluation"].pointer(at).unwrap_or_else(|| panic!("{at}")).clone();
    let policies = of_other("/closed_loop/policies");
    let roles: Vec<&str> = policies.as_array().unwrap().iter().map(|p| p["role"].as_str().unwrap()).collect();
    assert_eq!(&roles[..2], ["teacher", "student"]);
    assert!(of_other("/fidelity").as_array().unwrap().iter().all(|row| row["role"] == "student"));
    // As `evaluate` measures it.
    let loops = ["-t", TEACHER, "-w", TINY, "-n", "6", "--edge-cases", "-o", "small-evaluation.json"];
    done(dir, &[&["evaluate", "small.json", "test"][..], &loops].concat());
    let whole: Value = serde_json::from_slice(&fs::read(dir.join("small-evaluation.json")).unwrap()).unwrap();
    let objective = |e: &Value, at: &str| e.pointer(at).unwrap().clone();
    for at in ["/closed_loop/policies/1/episode_objective", "/other_workloads/3/policies/1/episode_objective"] {
        assert_eq!(objective(&whole, at), of_other(at), "{at}");
    }
    // What is known is not measured again, and stays on the page.
    let before = fs::read(dir.join("run/compared.json")).unwrap();
    page(dir, &["--with", "small.json", "--trace", "test"]);
    assert_eq!(before, fs::read(dir.join("run/compared.json")).unwrap());
    assert!(page(dir, &[]).contains("Which student to take?"));

    refused(
        dir,
        &["report", "run", "-o", "page", "--with", "own.json"],
        &["own.json", "the student of the run itself"],
    );
    let path = dir.join("run/run.json");
    let edited = fs::read_to_string(&path).unwrap().replace("\"seed\": 0", "\"seed\": 5");
    fs::write(&path, edited).unwrap();
    done(dir, &["fit", "train", "-o", "third.json", "--learner", "tree", "--max-leaves", "3"]);
    refused(dir, &["report", "run", "-o", "page", "--with", "third.json"], &["do not come out again with seed 5"]);
    assert_eq!(before, fs::read(dir.join("run/compared.json")).unwrap(), "what was known is kept");
}

fn page(dir: &Path, more: &[&str]) -> String {
    done(dir, &[&["report", "run", "-o", "page"][..], more].concat());
    fs::read_to_string(dir.join("page/report.html")).unwrap()
}
