//! Editing a student and searching for a better one, from the command line.

use crate::program::{TINY, done, record, refused, run};
use sched_distill::model::Student;
use serde_json::Value;
use std::{fs, path::Path};

/// A small student in `student.json`.
fn student(dir: &Path) {
    record(dir, "train", "6", "train");
    record(dir, "validation", "3", "validation");
    let fit = ["fit", "train", "--validation", "validation", "-o", "student.json", "--max-leaves", "6"];
    done(dir, &fit);
}

#[test]
fn an_edit_is_priced_before_it_is_written() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    student(dir);
    let patch = ["patch", "student.json", "-w", TINY, "-n", "4", "--trace", "validation"];
    let guarded =
        [&patch[..], &["--guard", "job: age > 60s first", "--reason", "nobody waits", "-o", "new.json"]].concat();
    let printed = done(dir, &guarded);
    for words in
        ["job: age > 60000 first", "nobody waits", "top-1 before", "mean JCT ÷ before", "of the decisions", "new.json"]
    {
        assert!(printed.contains(words), "{words}: {printed}");
    }
    // What an edit costs is looked at before it is chosen, so not on test seeds.
    assert!(printed.contains("4 episodes (validation seeds) of "), "{printed}");
    assert!(done(dir, &[&guarded[..], &["--split", "test"]].concat()).contains("4 episodes (test seeds) of "));
    assert!(done(dir, &["patch", "--help"]).contains("[default: validation]"));
    // No gain was measured, no level but that of the guard changes, and nothing stands for that.
    assert!(!printed.contains("gain") && printed.contains("as before at the other levels: stage, amount"), "{printed}");
    let dashes = |line: &str| line.split_whitespace().filter(|cell| *cell == "-").count() > 1;
    assert!(!printed.lines().any(dashes), "{printed}");
    let new = Student::load(&dir.join("new.json")).unwrap();
    assert_eq!((new.guards.len(), new.guards[0].evidence.reason.as_str()), (1, "nobody waits"));

    // A gate that is missed, and no output file, leave nothing behind.
    let gate = [&patch[..], &["--set", "job.node[0].threshold=1", "--gate", "0.01", "-o", "dear.json"]].concat();
    let missed = run(dir, &gate);
    assert_eq!(missed.status.code(), Some(1), "{}", String::from_utf8_lossy(&missed.stderr));
    assert!(!dir.join("dear.json").exists());
    assert!(done(dir, &gate[..gate.len() - 4]).contains("nothing written"));

    let printed = done(dir, &["diff", "student.json", "new.json", "-w", TINY, "-n", "3", "--trace", "validation"]);
    for words in
        ["nothing", "only B has the guard job: age > 60000 first", "choose alike", "mean JCT ÷ A", "differently"]
    {
        assert!(printed.contains(words), "{words}: {printed}");
    }
    let line = done(dir, &["diff", "new.json", "new.json", "-w", TINY, "-n", "2", "--json"]);
    let diff: Value = serde_json::from_str(&line).unwrap();
    assert_eq!((&diff["changed_decisions"], &diff["a"]), (&Value::from(0.0), &diff["b"]));

    // The last level is that of the amounts.
    let text = fs::read_to_string(dir.join("student.json")).unwrap();
    let (before, after) = text.rsplit_once("\"use\": \"tree\",").unwrap();
    fs::write(dir.join("median.json"), format!("{before}\"use\": \"tree\", \"pick\": \"median\",{after}")).unwrap();
    let printed = done(dir, &["diff", "student.json", "median.json", "-w", TINY, "-n", "2"]);
    assert!(printed.contains("tree, median") && printed.contains("what is taken"), "{printed}");
    assert!(done(dir, &["inspect", "median.json"]).contains("yes, by the median"));

    refused(dir, &["patch", "student.json"], &["nothing to change", "--guard"]);
    refused(dir, &["patch", "student.json", "--guard", "colour > 3 first"], &["no level has colour", "list features"]);
    refused(
        dir,
        &["patch", "student.json", "--set", "job.node[99].value=1"],
        &["job.node[99].value=1", "no such number"],
    );
    refused(dir, &["patch", "student.json", "--drop-guard", "0"], &["there is no guard 0"]);
}

#[test]
fn a_search_leaves_what_it_found_and_how() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    student(dir);
    fn search<'a>(more: &[&'a str]) -> Vec<&'a str> {
        let base = ["augment", "student.json", "-w", TINY, "-p", "fair", "-o", "out", "--budget", "600"];
        [&base[..], &["--validation-episodes", "10", "--polish-episodes", "2", "-n", "4"], more].concat()
    }
    let printed = done(dir, &search(&[]));
    for words in [
        "gain on validation",
        "agreement",
        "mean JCT ÷ fair",
        "before",
        "augmented",
        "out/student.json: size",
        "of 600 in the search; 12 more in the comparison",
        "give --trace TRACE",
        "distill evaluate out/student.json TRACE",
    ] {
        assert!(printed.contains(words), "{words}: {printed}");
    }
    let gain = printed.lines().find(|line| line.starts_with("  gain")).unwrap_or_default();
    assert!(gain.contains("÷ before ") && !gain.contains("÷ before -"), "{printed}");
    let found = fs::read(dir.join("out/student.json")).unwrap();
    Student::load(&dir.join("out/student.json")).unwrap();
    let steps: Value = serde_json::from_slice(&fs::read(dir.join("out/steps.json")).unwrap()).unwrap();
    assert!(
        steps.as_array().is_some_and(|s| !s.is_empty() && s.iter().all(|step| step["validation_gain"].is_number()))
    );

    // The journal answers: the same command ends with the same bytes, and other arguments need another folder.
    done(dir, &search(&["-j", "1"]));
    assert_eq!(fs::read(dir.join("out/student.json")).unwrap(), found);
    refused(dir, &search(&["--seed", "1"]), &["another student, workload, seed or budget", "--force"]);
    refused(dir, &search(&["--max-guards", "0", "--step", "0"]), &["step must be above 0"]);
    let small = ["--budget 10 is too small", "with --validation-episodes 10", "give at least 130"];
    refused(dir, &["augment", "student.json", "-o", "small", "--budget", "10", "--validation-episodes", "10"], &small);
    assert!(!dir.join("small").exists());
    refused(dir, &search(&["--max-edits", "0"]), &["max_edits must be at least 1"]);
    refused(dir, &search(&["--min-agreement", "1.5"]), &["min_agreement must be in 0..=1"]);
    // A trace tells what the edits cost in fidelity, on top of the same search.
    let printed = done(dir, &search(&["--trace", "validation"]));
    assert!(printed.contains("at level job, ") && printed.contains("whole decisions"), "{printed}");
    let line = done(dir, &search(&["--trace", "validation", "--json"]));
    let found_json: Value = serde_json::from_str(&line).unwrap();
    assert!(found_json["episodes"].as_u64().is_some_and(|n| n <= 600), "{line}");
    assert!(found_json["fidelity"]["top1"]["before"]["value"].is_number(), "{line}");
    assert!(found_json["agreement"].as_f64().is_some_and(|a| (0.5..=1.0).contains(&a)), "{line}");
    let edits = &found_json["edits"];
    let count = |name: &str| edits[name].as_u64().unwrap();
    assert!(count("guards") + count("numbers") + count("regimes") <= 12, "{line}");
    let wide = format!("{TINY},edge=wide");
    let printed = done(dir, &search(&["-w", TINY, "-w", &wide, "--force"]));
    let lines = |workload: &str| printed.lines().filter(|l| l.split("  ").next() == Some(workload)).count();
    assert_eq!((lines("builtin"), lines("edge=wide")), (1, 1), "a line per workload: {printed}");
    let mut over = search(&[]);
    (over[1], over[7]) = ("out/student.json", "out");
    refused(dir, &over, &["would be replaced"]);
}
