//! What commands print for people: first what it comes to, in tables that fit a terminal, with nothing silent.

use crate::program::{TINY, done, record, run, text};
use sched_distill::model::{LevelModels, Model, NamedModel, Provenance, Student, Tree};
use serde_json::Value;
use std::fs;

/// Columns that text takes at most.
const WIDTH: usize = 100;

fn wide(said: &str) -> Vec<&str> {
    said.lines().filter(|line| line.chars().count() > WIDTH).collect()
}

#[test]
fn an_evaluation_begins_with_what_it_comes_to_and_tables_fit() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    record(dir, "train", "8", "train");
    record(dir, "test", "4", "test");
    done(dir, &["fit", "train", "-o", "student.json", "--max-leaves", "6"]);
    let folder = "a/rather/long/way/to/the/folder/of/this/student";
    fs::create_dir_all(dir.join(folder)).unwrap();
    let path = format!("{folder}/student.json");
    fs::copy(dir.join("student.json"), dir.join(&path)).unwrap();
    let teacher = "sjf-cp,temperature=0.3,mode=sample";
    let args = [&["evaluate", &path, "test", "--selection", "train", "-t", teacher, "-w", TINY][..], &["-p", "fair"]];
    let args = [&args.concat()[..], &["-w", "builtin,edge=mix,jobs=3", "-n", "3"]].concat();
    let said = done(dir, &args);
    let lines: Vec<&str> = said.lines().collect();
    assert!(lines[0].starts_with("workload builtin,jobs=4"), "{said}");
    for (line, begin) in lines[1..].iter().zip([
        "agreement  ",
        "regret  ",
        "schedule   mean JCT ÷ teacher",
        "heuristic  ",
        "worst  ",
        "tail  ",
    ]) {
        assert!(line.starts_with(begin), "{line}: {said}");
    }
    assert!(lines[7].is_empty() && lines[8].starts_with("fidelity to "), "{said}");
    let tables: Vec<&str> =
        wide(&said).into_iter().filter(|l| !l.starts_with("workload") && !l.contains(" = ")).collect();
    assert!(tables.is_empty(), "{tables:#?}");
    assert!(said.contains(&format!("  student:student.json = student:{path}")), "the legend: {said}");
    assert!(said.contains(&format!("  sjf-cp = {teacher}")), "the legend: {said}");
    let json = done(dir, &[&["--json"], &args[..]].concat());
    assert!(json.contains(&format!("\"policy\":\"student:{path}\"")), "ids are whole for programs");

    // What is not measured is said, and how it can be.
    let said = done(dir, &["evaluate", "student.json", "test"]);
    assert!(
        said.starts_with("agreement  ") && said.contains("schedule   not measured: give the teacher with -t"),
        "{said}"
    );
    let said = done(dir, &["evaluate", "student.json", "-t", "sjf-cp", "-w", TINY, "-n", "2"]);
    assert!(said.contains("agreement  not measured: give a trace") && said.contains("stalls     none in 2"), "{said}");
}

/// Three jobs whose tasks take what they take, whatever the seed.
const FIXED: &str = r#"{"num_executors": 4, "jobs": [
 {"arrival_ms": 0, "edges": [[0,1]], "stages": [{"num_tasks": 6, "durations": 1000}, {"num_tasks": 3, "durations": 2000}]},
 {"arrival_ms": 100, "edges": [[0,1]], "stages": [{"num_tasks": 9, "durations": 500}, {"num_tasks": 2, "durations": 3000}]},
 {"arrival_ms": 200, "edges": [], "stages": [{"num_tasks": 4, "durations": 800}, {"num_tasks": 3, "durations": 900}]}]}"#;

#[test]
fn figures_of_identical_episodes_have_no_intervals_and_that_is_said() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    fs::write(dir.join("fixed.json"), FIXED).unwrap();
    let args = ["simulate", "-p", "fair", "-p", "fifo", "-w", "json:fixed.json"];
    let said = done(dir, &[&args[..], &["-n", "5"]].concat());
    assert!(said.contains("no intervals: the jobs are the same in all 5 episodes"), "{said}");
    assert!(!said.contains('['), "{said}");
    let json = done(dir, &[&args[..], &["-n", "5", "--json"]].concat());
    let found: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(found["identical_episodes"], true);
    let jct = &found["policies"][1]["figures"]["mean_jct_ms"];
    assert_eq!((&jct["low"], &jct["high"]), (&jct["value"], &jct["value"]));
    // Other jobs in each episode: intervals, and no word of it.
    let said = done(dir, &["simulate", "-p", "fair", "-w", TINY, "-n", "3"]);
    assert!(said.contains('[') && !said.contains("no intervals"), "{said}");
    let json = done(dir, &["simulate", "-p", "fair", "-w", TINY, "-n", "3", "--json"]);
    assert!(!json.contains("identical_episodes"), "{json}");
}

#[test]
fn a_test_on_what_was_learnt_is_told_in_the_first_line() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    fs::write(dir.join("fixed.json"), FIXED).unwrap();
    let trace = |split: &str, n: &str| {
        done(dir, &["record", "-p", "sjf", "-w", "json:fixed.json", "-n", n, "--split", split, "-o", split])
    };
    trace("train", "6");
    trace("test", "2");
    done(dir, &["fit", "train", "-o", "s.json", "--max-leaves", "4"]);
    let first = |args: &[&str]| done(dir, args).lines().next().unwrap_or_default().to_owned();
    let same = "same jobs: every episode of json:fixed.json has the jobs that the student was fitted on";
    assert_eq!(first(&["evaluate", "s.json", "test"]), same);
    assert_eq!(first(&["evaluate", "s.json", "-t", "sjf", "-n", "2"]), same);
    assert!(first(&["evaluate", "s.json", "-t", "sjf", "-w", TINY, "-n", "2"]).starts_with("workload"));
    assert!(
        first(&["evaluate", "s.json", "train"]).starts_with("same choices: the student was fitted on this very trace")
    );
    let json = done(dir, &["evaluate", "s.json", "test", "--json"]);
    assert_eq!(serde_json::from_str::<Value>(&json).unwrap()["same_jobs"], true);
    let demo = ["demo", "--fast", "-n", "4", "-t", "sjf", "-w", "json:fixed.json", "-o", "run", "-q"];
    assert!(first(&demo).starts_with("same jobs: every episode of json:fixed.json"));

    record(dir, "other", "6", "train");
    record(dir, "unseen", "2", "test");
    done(dir, &["fit", "other", "-o", "o.json", "--max-leaves", "4"]);
    let other = done(dir, &["evaluate", "o.json", "unseen", "--json"]);
    assert_eq!(serde_json::from_str::<Value>(&other).unwrap()["same_jobs"], false);
}

#[test]
fn a_table_of_fidelity_has_no_column_that_is_not_explained_under_it() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    record(dir, "train", "6", "train");
    let fit = ["fit", "train", "-o", "s.json", "--max-leaves", "6"];
    let said = done(dir, &fit);
    let evaluated = done(dir, &["evaluate", "s.json", "train"]);
    for said in [&said, &evaluated] {
        let header = said.lines().find(|line| line.starts_with("level, kind")).unwrap_or_default();
        let columns: Vec<&str> = header.split("  ").map(str::trim).filter(|title| !title.is_empty()).collect();
        // The first three say what they hold.
        assert!(columns.starts_with(&["level, kind", "scorer", "choices"]) && columns.len() > 3, "{header}");
        for column in &columns[3..] {
            assert!(said.contains(&format!("{column}: ")), "{column} is not explained: {said}");
        }
    }
    assert!(said.contains("regret: "), "{said}");
    let json = done(dir, &[&fit[..], &["--json"]].concat());
    assert!(json.contains("\"kendall\"") && json.contains("\"amount_error\""), "programs get all figures");
    // A teacher without probabilities has no regrets, and there is no column of dashes.
    done(dir, &["record", "-p", "sjf-cp", "-w", TINY, "-n", "6", "-o", "sure"]);
    let said = done(dir, &["fit", "sure", "-o", "sure.json", "--max-leaves", "6"]);
    assert!(said.contains("top-1: ") && !said.contains("regret"), "{said}");
}

#[test]
fn usual_tables_fit_a_terminal() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    record(dir, "train", "8", "train");
    record(dir, "test", "4", "test");
    done(dir, &["fit", "train", "-o", "s.json", "--max-leaves", "6"]);
    let mut too_wide: Vec<String> = Vec::new();
    for args in [
        &["simulate", "-p", "fair", "-p", "sjf", "-w", TINY, "-n", "3"][..],
        &["fit", "train", "-o", "t.json", "--learner", "tree,logit,spline-logit,pairwise-tree", "--max-leaves", "6"],
        &["front", "train", "-o", "front", "--max-size", "8", "-t", "sjf", "-n", "3"],
        &["features", "train", "--level", "job", "--families", "2"],
        &["identify", "train"],
        &["explain", "s.json", "test", "--choices", "100"],
        &["diff", "s.json", "s.json", "--trace", "test", "-n", "2"],
        &["patch", "s.json", "--guard", "job: age > 300s first", "--trace", "test", "-n", "2"],
        &["inspect", "train"],
        &["check-policy", "-p", "fair", "-w", TINY],
        &[
            "loop",
            "dagger",
            "-t",
            "sjf",
            "-w",
            TINY,
            "-n",
            "2",
            "--validation-episodes",
            "2",
            "--iterations",
            "2",
            "-o",
            "l",
        ],
        &["augment", "s.json", "-p", "sjf", "-o", "a", "--budget", "200", "--validation-episodes", "10", "-n", "2"],
    ] {
        let output = run(dir, args);
        assert_eq!(output.status.code(), Some(0), "{args:?}: {}", text(&output.stderr));
        let said = text(&output.stdout);
        let table = |line: &&str| line.contains("  ") && !line.contains(" = ");
        too_wide.extend(wide(&said).into_iter().filter(table).map(|line| format!("{}: {line}", args[0])));
    }
    assert!(too_wide.is_empty(), "{too_wide:#?}");
}

#[test]
fn names_stay_in_their_line_and_numbers_have_few_digits() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    let set = sched_distill::dag::feature::feature_set().clone();
    let evil = "x\nsound\n\u{1b}[31mred\u{202e}";
    let model = Model::Tree(Tree::leaf(0.5, 0.0, 1, 1.0));
    let models = vec![NamedModel { name: evil.to_owned(), temperature: 1.0, model }];
    let provenance = Provenance { teacher: evil.to_owned(), workload: evil.to_owned(), ..Provenance::default() };
    let student = Student::new(set, false, vec![LevelModels::new("job", evil, models)], provenance);
    student.save(&dir.join("student.json")).unwrap();
    let said = done(dir, &["inspect", "student.json"]);
    assert_eq!(said.lines().filter(|line| *line == "sound").count(), 1, "{said}");
    let written = r"x\u{a}sound\u{a}\u{1b}[31mred\u{202e}";
    assert_eq!(said.matches(written).count(), 3, "{said}");
    let jobs = r#"{"num_executors": 3, "moving_delay_ms": 1e300, "jobs": [{"arrival_ms": 0, "stages": [{"num_tasks": 1, "durations": 7}]}]}"#;
    fs::write(dir.join("jobs.json"), jobs).unwrap();
    let output = run(dir, &["simulate", "-p", "fair", "-w", "json:jobs.json", "-n", "1"]);
    let said = text(&output.stderr);
    assert!(output.status.code() == Some(2) && said.contains("1e300") && !said.contains("000000000000"), "{said}");
}
