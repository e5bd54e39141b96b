//! What a command reads is looked for before the work begins; what is wrong with it is said with what to do.

use crate::program::{TINY, command, done, record, refused, run, text};
use std::fs;

#[test]
fn everything_that_is_missing_is_said_at_once() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    let fit =
        ["fit", "a", "--validation", "b", "-o", "s.json", "-t", "decima:c.pt", "-w", "json:d.json", "--params", "e"];
    refused(
        dir,
        &fit,
        &["a: cannot read", "b: cannot read", "c.pt: cannot read", "d.json: cannot read", "e: cannot read"],
    );
    let evaluate = ["evaluate", "s.json", "t", "--selection", "u", "-t", "onnx:v.onnx", "-p", "student:w.json"];
    refused(dir, &evaluate, &["s.json", "t: cannot read: there is no such folder", "u:", "v.onnx: ", "w.json:"]);
    refused(dir, &["diff", "a.json", "b.json", "--trace", "c"], &["a.json:", "b.json:", "c:"]);
    refused(dir, &["loop", "dagger", "-t", "decima:a.pt", "--params", "b.json", "-o", "x"], &["a.pt:", "b.json:"]);
    refused(dir, &["simulate", "-p", "decima:a.pt", "-p", "decima:b.pt"], &["a.pt:", "b.pt:"]);
    refused(dir, &["serve", "-p", "student:a.json"], &["a.json: cannot read"]);
    refused(dir, &["report", "nowhere", "-o", "x"], &["nowhere: cannot read: there is no such folder"]);
    assert!(!dir.join("x").exists(), "nothing was made");
}

#[test]
fn typical_mistakes_are_told_with_what_to_do() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    record(dir, "run/traces/train", "4", "train");
    let trace = "run/traces/train";
    done(dir, &["fit", trace, "-o", "run/student.json", "--max-leaves", "6"]);
    let student = "run/student.json";
    let is_trace = "run/traces/train: is a trace, where a student is wanted";
    let is_student = "run/student.json: is a student, where a trace is wanted";
    for command in ["evaluate", "explain"] {
        refused(dir, &[command, trace, student], &[is_trace, is_student, "swapped"]);
    }
    refused(dir, &["fit", student, "-o", "x.json"], &[is_student]);
    refused(dir, &["export", trace, "--to", "c"], &[is_trace, "distill fit"]);
    refused(dir, &["simulate", "-p", "student:run/traces/train"], &[is_trace]);
    refused(dir, &["fit", "run", "-o", "x.json"], &["run: is a run directory", "its traces are run/traces/train"]);
    refused(
        dir,
        &["explain", "run", trace],
        &["run: is a folder, where a student is wanted; its student is run/student.json"],
    );
    refused(dir, &["report", student, "-o", "x"], &["is a file, where a run directory is wanted"]);
    refused(dir, &["simulate", "-p", student], &["is written student:run/student.json"]);
    refused(dir, &["evaluate", "student:run/student.json", trace], &["give the file alone, run/student.json"]);
    fs::write(dir.join("x.py"), "").unwrap();
    refused(dir, &["fit", "x.py", "-o", "x.json"], &["x.py: is a file, where a trace is wanted", "distill record"]);
    let quoted = "quote it, as in -p 'script:python x.py'";
    refused(dir, &["simulate", "-p", "script:python", "x.py"], &["unexpected argument `x.py`", quoted]);
    refused(dir, &["simulate", "-p", "script:python", "x.py", "-p", "fair"], &[quoted]);
    refused(
        dir,
        &["evaluate", student, "-t", "sjf", "-p", "script:python", "x.py"],
        &["where a trace is wanted", quoted],
    );
    let other = run(dir, &["simulate", "-p", "fair", "x.py"]);
    assert!(!text(&other.stderr).contains("quote"), "no script, no advice on scripts");
}

#[test]
fn a_size_that_a_student_in_the_way_cannot_have_is_seen_before_the_fit() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    let teacher = "srpt-fair,temperature=0.5,mode=sample";
    done(dir, &["record", "-p", teacher, "-w", "builtin,jobs=8,executors=6", "-n", "6", "-o", "train"]);
    let fit = |more: &[&str]| run(dir, &[&["fit", "train", "-o", "s.json", "--max-choices", "300"], more].concat());
    assert_eq!(fit(&["--max-size", "12"]).status.code(), Some(0));
    let size = sched_distill::model::Student::load(&dir.join("s.json")).unwrap().size();
    assert!(size > 3, "one term a level is the least");
    let again = fit(&["--max-size", "3"]);
    assert_eq!(again.status.code(), Some(2));
    assert!(text(&again.stderr).contains("other content") && again.stdout.is_empty(), "{}", text(&again.stderr));
    assert!(!text(&again.stderr).contains("fitting"), "before the work");
    assert_eq!(fit(&["--max-size", "12"]).status.code(), Some(0), "the same fit again");
}

#[test]
fn what_a_logit_leaves_out_is_said_as_it_is() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    record(dir, "train", "6", "train");
    let said = |more: &[&str]| {
        let args = [&["fit", "train", "-o", "s.json", "--force", "--learner", "logit"], more].concat();
        text(&command(dir, &args).output().unwrap().stderr)
    };
    let all = said(&[]);
    let job = all.lines().find(|line| line.contains("level job: no part of the logit")).unwrap();
    assert!(job.contains("jobs_in_system") && job.contains("from choice to choice they may differ"), "{job}");
    assert!(!job.contains("remaining_work,") && !job.contains(" executors_held"), "{job}");
    // Whoever names features knows that the others are left out.
    assert!(!said(&["--features", "remaining_work"]).contains("no part of the logit"));
}

#[test]
fn help_is_there_under_every_name() {
    let dir = tempfile::tempdir().unwrap();
    let short = done(dir.path(), &["fit", "--help"]);
    assert_eq!(done(dir.path(), &["fit", "-h"]), short);
    assert_eq!(done(dir.path(), &["help", "fit"]), short);
    let long = done(dir.path(), &["fit", "--help-all"]);
    assert!(long.len() > short.len() && long.contains("--params") && !short.contains("--params"));
    assert_eq!(done(dir.path(), &["help"]), done(dir.path(), &["--help"]));
    let unknown = run(dir.path(), &["fit", "train", "-w", TINY, "--colour"]);
    assert!(text(&unknown.stderr).contains("'--help'"), "{}", text(&unknown.stderr));
}
