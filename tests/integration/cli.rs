//! The `distill` program as a user meets it.

use crate::program::{TINY, command, done, files, record, refused, run, text, type_what_comes_next};
use sched_distill::model::Student;
use serde_json::Value;
use std::{
    fs,
    path::Path,
    process::Stdio,
    time::{Duration, Instant},
};

#[test]
fn the_demo_gives_the_same_bytes_for_any_number_of_threads() {
    let (a, b) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let demo =
        |dir: &Path, threads: &str| done(dir, &["demo", "-o", "run", "-n", "8", "--workload", TINY, "-j", threads]);
    let said = demo(a.path(), "1");
    assert!(
        said.starts_with("teacher decima (the built-in network modelled on Decima), workload builtin,jobs=4"),
        "{said}"
    );
    for line in
        ["student ", "agreement ", "schedule ", "heuristic ", "worst ", "verdict ", "report     run/report/report.html"]
    {
        assert!(said.lines().any(|l| l.starts_with(line)), "{line}: {said}");
    }
    let next: Vec<&str> = said.lines().filter_map(|l| l.strip_prefix("  distill ")).collect();
    // What to type next is about what the verdict says to take.
    let words = said.split_whitespace().collect::<Vec<_>>().join(" ");
    let about = [
        ("ake its augmented version", "run/augmented/student.json"),
        ("ake the version without edits", "run/fitted.json"),
        ("Use the rule", " -p "),
        ("need not replace", " -p "),
    ];
    let about = about.iter().find(|(taken, _)| words.contains(taken)).map_or("run/student.json", |(_, what)| *what);
    assert!(next.iter().all(|l| l.contains(about)), "{about}: {said}");
    type_what_comes_next(b.path(), &demo(b.path(), "2"));
    // Clock times differ, and the page shows one of them.
    fs::copy(a.path().join("run/latency.json"), b.path().join("run/latency.json")).unwrap();
    for dir in [&a, &b] {
        done(dir.path(), &["report", "run", "-o", "run/report"]);
    }
    let (mut one, mut two) = (files(&a.path().join("run")), files(&b.path().join("run")));
    assert!(one.remove("timings.json").is_some() && two.remove("timings.json").is_some());
    for name in ["run.json", "student.json", "evaluation.json", "schedules.json", "report/report.html"] {
        assert!(one.contains_key(name), "{name}");
    }
    assert_eq!(one, two);
}

#[test]
fn the_steps_of_the_pipeline_work_one_by_one() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    record(dir, "train", "8", "train");
    record(dir, "test", "4", "test");
    assert!(done(dir, &["inspect", "train"]).ends_with("sound\n"));
    let fitted = done(dir, &["fit", "train", "-o", "student.json", "--max-leaves", "16"]);
    assert!(fitted.contains("job, free"), "{fitted}");
    assert!(done(dir, &["inspect", "student.json"]).contains("sound"));
    let args = [
        "evaluate",
        "student.json",
        "test",
        "--selection",
        "train",
        "-t",
        "sjf-cp",
        "-w",
        TINY,
        "-n",
        "3",
        "-o",
        "e.json",
    ];
    let said = done(dir, &args);
    assert!(said.contains("random") && said.contains("mean JCT ÷ sjf-cp"), "{said}");
    let evaluation: Value = serde_json::from_slice(&fs::read(dir.join("e.json")).unwrap()).unwrap();
    assert_eq!(evaluation["closed_loop"]["episodes"], 3);
    let said = done(dir, &["simulate", "-p", "fair", "-p", "student:student.json,model=linear", "-w", TINY, "-n", "3"]);
    assert!(said.contains("student:student.json"), "{said}");
    let gate = run(dir, &["evaluate", "student.json", "test", "--min-fidelity", "1.01"]);
    assert_eq!(gate.status.code(), Some(1), "a failed gate is exit code 1");
}

#[test]
fn several_workloads_and_their_edge_cases_are_compared_in_one_go() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    let said = done(dir, &["simulate", "-p", "sjf", "-p", "fair", "-w", TINY, "--edge-cases", "-n", "2"]);
    let (_, summary) = said.rsplit_once("mean JCT ÷ sjf").unwrap();
    let is_row = |line: &&str| line.starts_with("builtin") || line.starts_with("edge=");
    assert_eq!(summary.lines().filter(is_row).count(), 9, "{said}");
    let lines = done(dir, &["--json", "simulate", "-p", "sjf", "-w", TINY, "-w", "builtin,edge=mix,jobs=3", "-n", "1"]);
    let results: Vec<Value> = lines.lines().map(|l| serde_json::from_str(l).unwrap()).collect();
    assert_eq!(results.len(), 2);
    assert_eq!(results[1]["workload"], "builtin,edge=mix,jobs=3");
    refused(dir, &["simulate", "-p", "sjf", "-w", "builtin,edge=gaint"], &["edge must be one of none, giant, bursts"]);
    refused(dir, &["simulate", "-p", "sjf", "-w", "builtin,edge=mix", "--edge-cases"], &["without edge=NAME"]);
    refused(dir, &["record", "-p", "sjf", "-w", "builtin,edge=bursts,arrivals=bursty", "-o", "t"], &["`poisson` with"]);
    // The gate holds on every workload.
    record(dir, "train", "8", "train");
    done(dir, &["fit", "train", "-o", "s.json", "--max-leaves", "4"]);
    let two = ["-t", "sjf-cp", "-w", TINY, "-w", "builtin,edge=wide,jobs=3", "-n", "2", "-o", "e.json"];
    done(dir, &[&["evaluate", "s.json"], &two[..]].concat());
    let evaluation: Value = serde_json::from_slice(&fs::read(dir.join("e.json")).unwrap()).unwrap();
    assert_eq!(evaluation["other_workloads"].as_array().map(Vec::len), Some(1));
    let gate = run(dir, &[&["evaluate", "s.json", "--gate", "0.1"], &two[..]].concat());
    assert_eq!(gate.status.code(), Some(1));
    assert_eq!(text(&gate.stdout).matches("gate failed").count(), 2);
}

#[test]
fn policies_that_abstain_can_be_recorded_and_distilled() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    done(dir, &["record", "-p", "fair", "-w", TINY, "-n", "8", "-o", "fair"]);
    done(dir, &["fit", "fair", "-o", "fair.json"]);
    assert!(Student::load(&dir.join("fair.json")).unwrap().abstains);
    done(dir, &["simulate", "-p", "student:fair.json", "-w", TINY, "-n", "2"]);
    done(dir, &["fit", "fair", "-o", "other.json", "--learner", "linfa-trees"]);
}

#[test]
fn a_killed_recording_is_not_accepted_and_the_same_command_completes_it() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    let args = |out| ["record", "-p", "sjf,temperature=1", "-w", "builtin,jobs=30", "-n", "60", "-j", "1", "-o", out];
    done(dir, &args("whole"));
    let mut child = command(dir, &args("killed")).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let marker = dir.join("killed/parts/part-00000.json");
    let start = Instant::now();
    while !marker.exists() && start.elapsed() < Duration::from_secs(30) {
        std::thread::sleep(Duration::from_millis(1));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(!dir.join("killed/manifest.json").exists(), "killed before the end");
    refused(dir, &["inspect", "killed"], &["killed: incomplete: ", " of 15 parts"]);
    refused(dir, &["fit", "killed", "-o", "s.json"], &["incomplete", "same `distill record` command"]);
    done(dir, &args("killed"));
    assert_eq!(files(&dir.join("killed")), files(&dir.join("whole")));
}

#[test]
fn a_killed_loop_goes_on_and_leaves_nothing_half_written() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    let args = |out| {
        let teacher = "srpt-fair,temperature=0.5";
        let size = ["--iterations", "2", "-n", "8", "--validation-episodes", "4", "--max-leaves", "6", "-o", out];
        [&["loop", "viper", "-t", teacher, "-w", "builtin,jobs=12,executors=4", "--weights", "regret"][..], &size]
            .concat()
    };
    let said = done(dir, &args("whole"));
    assert!(said.contains("mean JCT ÷ teacher") && said.contains("job, free") && said.contains("best"), "{said}");
    for marker in
        ["teacher-validation/plan.json", "iteration-1/train/parts/part-00000.json", "iteration-1/student.json"]
    {
        let mut child = command(dir, &args("killed")).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let start = Instant::now();
        while !dir.join("killed").join(marker).exists() && start.elapsed() < Duration::from_secs(60) {
            std::thread::sleep(Duration::from_millis(1));
        }
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(!dir.join("killed/results.json").exists(), "killed before the end");
    }
    let lines = done(dir, &[&["--json"][..], &args("killed")].concat());
    assert_eq!(files(&dir.join("killed")), files(&dir.join("whole")));
    let kinds: Vec<Value> = lines.lines().map(|l| serde_json::from_str(l).unwrap()).collect();
    let types: Vec<&str> = kinds.iter().filter_map(|l| l["type"].as_str()).collect();
    assert_eq!(types, ["iteration", "iteration", "iteration", "loop"]);
    done(dir, &["simulate", "-p", "student:whole/student.json", "-w", TINY, "-n", "2"]);
    refused(dir, &["loop", "dagger", "-t", "fair", "-o", "x"], &["may abstain"]);
    refused(dir, &["loop", "dagger", "-t", "sjf", "--weights", "gap", "-o", "x"], &["--weights is for viper"]);
    refused(dir, &["loop", "dagger", "-t", "sjf", "--beta", "2", "-o", "x"], &["beta must be in 0..=1"]);
    refused(
        dir,
        &args("whole").iter().map(|&a| if a == "regret" { "gap" } else { a }).collect::<Vec<_>>(),
        &["`weighting.by`"],
    );
}

#[test]
fn shards_of_a_recording_are_inspected_and_completed() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    let policy = "sjf-cp,temperature=0.3,mode=sample";
    let args = ["record", "-p", policy, "-w", TINY, "-n", "26", "--seed", "7", "-o", "my trace"];
    let shard = |which: &str| done(dir, &[&args[..], &["--shard", which]].concat());
    assert_eq!(
        shard("2/4"),
        "shard 2/4: parts 1, 5 done (8 episodes); 5 of 7 parts are missing: 0, 2-4, 6\n",
        "parts 1 and 5 have four episodes each"
    );
    assert_eq!(
        shard("9/9"),
        "shard 9/9: nothing to do, the trace has only 7 parts; 5 of 7 parts are missing: 0, 2-4, 6\n"
    );
    assert!(shard("3/4").starts_with("shard 3/4: parts 2, 6 done (6 episodes); 3 of 7 parts are missing: 0, 3-4\n"));
    fs::write(dir.join("my trace/items/part-00002.parquet"), "PAR1").unwrap();

    let inspected = run(dir, &["inspect", "my trace"]);
    assert_eq!(inspected.status.code(), Some(2));
    assert_eq!(
        text(&inspected.stderr),
        "error: my trace: incomplete: 4 of 7 parts; run the same `distill record` command again to complete it\n"
    );
    let said = text(&inspected.stdout);
    let command = "distill record -p sjf-cp,temperature=0.3,mode=sample -w builtin,jobs=4,executors=4 -n 26 --split train \
                   --seed 7 -o 'my trace'";
    for expected in [
        "unfinished recording\n",
        "policy     sjf-cp,temperature=0.3,mode=sample\n",
        "episodes   26 (train seeds, seed 7)\n",
        "recorded   10 episodes: 4-7, 20-25\n",
        "done     1, 5-6\n",
        "missing  0, 3-4\n",
        "damaged  2\n",
        command,
        "problem: part 2 is damaged: items/part-00002.parquet: has SHA-256",
    ] {
        assert!(said.contains(expected), "{expected}\n{said}");
    }
    let json = run(dir, &["--json", "inspect", "my trace"]);
    let found: Value = serde_json::from_slice(&json.stdout).unwrap();
    let unfinished = &found["unfinished"];
    assert_eq!((&unfinished["missing"], &unfinished["parts"]), (&Value::from(vec![0, 3, 4]), &Value::from(7)));
    assert_eq!(unfinished["damaged"][0]["part"], 2);

    let json = done(dir, &[&args[..], &["--shard", "1/1", "--json"]].concat());
    let lines: Vec<Value> = json.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(
        (&lines[0]["type"], &lines[0]["shard"], &lines[0]["episodes"]),
        (&"shard".into(), &"1/1".into(), &26.into())
    );
    assert_eq!((lines.len(), &lines[1]["type"]), (2, &"trace".into()));
    let said = shard("2/4");
    assert!(
        said.starts_with("shard 2/4: parts 1, 5 done (8 episodes); the trace is complete\nmy trace: 26 episodes"),
        "{said}"
    );
    assert!(done(dir, &["inspect", "my trace"]).ends_with("sound\n"));

    for bad in ["0/4", "5/4", "1/0", "2", "a/b", "-1/4"] {
        let shard = format!("--shard={bad}");
        refused(dir, &[&args[..], &[&shard]].concat(), &[bad, "--shard <I/N>", "whole numbers from 1 on"]);
    }
    refused(dir, &[&args[..], &["--shard", "1/4", "--force"]].concat(), &["--force", "--shard", "other shards"]);
    let other = ["record", "-p", policy, "-w", TINY, "-n", "27", "--seed", "7", "-o", "my trace", "--shard", "1/4"];
    refused(dir, &other, &["other arguments", "`manifest.episodes` is 26 there and 27 now"]);
}

#[test]
fn mistakes_get_one_helpful_line_and_exit_code_2() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    record(dir, "trace", "4", "train");
    done(dir, &["fit", "trace", "-o", "student.json", "--learner", "tree,linear"]);
    fs::write(dir.join("file"), "text").unwrap();
    let job = r#"{"arrival_ms": 0, "edges": [[0, 1], [1, 0]], "stages": [{"num_tasks": 1, "durations": 1}, {"num_tasks": 1, "durations": 1}]}"#;
    fs::write(dir.join("cycle.json"), format!(r#"{{"jobs": [{job}]}}"#)).unwrap();
    fs::write(dir.join("empty.json"), "").unwrap();
    refused(dir, &["fit", "nowhere", "-o", "s.json"], &["nowhere"]);
    refused(dir, &["fit", "trace", "-o", "no/s.json"], &["the folder no does not exist"]);
    refused(dir, &["fit", "trace", "-o", "s.json", "--max-leaves", "1"], &["2..=65536", "got 1"]);
    let fit = |more: &[&'static str]| [&["fit", "trace", "-o", "s.json"], more].concat();
    refused(dir, &fit(&["--learner", "bush"]), &["bush", "--learner"]);
    refused(dir, &fit(&["--learner", "tree,tree"]), &["without repetition"]);
    refused(dir, &fit(&["--use", "logit"]), &["`logit`", "not fitted", "tree, linear"]);
    for (name, params) in [
        ("below.json", r#"{"ridge": -1}"#),
        ("zero.json", r#"{"ridge": 0}"#),
        ("unknown.json", r#"{"rigde": 1}"#),
        ("empty-list.json", r#"{"learners": []}"#),
        ("list.json", "[]"),
        ("use.json", r#"{"use": "linear"}"#),
    ] {
        fs::write(dir.join(name), params).unwrap();
    }
    refused(dir, &fit(&["--learner", "logit", "--params", "below.json"]), &["ridge must be", "got -1"]);
    refused(dir, &fit(&["--params", "unknown.json"]), &["unknown.json", "`rigde`", "`ridge`"]);
    refused(dir, &fit(&["--params", "missing.json"]), &["missing.json", "cannot read"]);
    refused(dir, &fit(&["--params", "list.json"]), &["list.json", "expected a map"]);
    for chooses in [&[][..], &["--max-size", "20"], &["--min-fidelity", "job/all/top1=0.1"]] {
        refused(dir, &fit(&[&["--params", "empty-list.json"], chooses].concat()), &["learner must be one or more"]);
    }
    refused(dir, &fit(&["--params", "use.json", "--max-size", "20"]), &["`use` in --params", "--max-size"]);
    refused(dir, &["simulate", "-p", "fair", "-w", "bultin", "--edge-cases"], &["did you mean `builtin`"]);
    refused(dir, &["evaluate", "student.json", "trace", "--run", "file"], &["file", "cannot create the run directory"]);
    refused(dir, &fit(&["--learner", "logit", "--features", "shoe_size"]), &["`shoe_size`", "distill list features"]);
    let constant = fit(&["--learner", "logit", "--features", "remaining_work,jobs_in_system"]);
    refused(dir, &constant, &["level `job`, logit", "`jobs_in_system` never differs", "`interactions`"]);
    refused(dir, &fit(&["--learner", "logit", "--params", "zero.json"]), &["`job`, logit", "a positive `ridge`"]);
    refused(dir, &["simulate", "-p", "fiar"], &["did you mean `fair`"]);
    refused(dir, &["simulate", "-p", "fair", "-w", "bultin"], &["did you mean `builtin`"]);
    refused(dir, &["simulate", "-p", "srpt-fair,cup=1"], &["unknown parameter `cup`", "cap"]);
    refused(dir, &["simulate", "-p", "fair", "-p", "fair"], &["`fair` is given twice"]);
    refused(dir, &["simulate", "-p", "decima:none.pt"], &["none.pt", "cannot read"]);
    refused(dir, &["simulate", "-p", "decima:file"], &["file", "neither safetensors nor"]);
    refused(dir, &["simulate", "-p", "student:student.json,model=bush"], &["no model `bush`", "it has"]);
    refused(dir, &["simulate", "-p", "fair", "-w", "json:cycle.json"], &["job 0, stage 0", "cycle"]);
    refused(dir, &["simulate", "-p", "fair", "-w", "json:empty.json"], &["empty.json", "the file is empty"]);
    refused(dir, &["record", "-p", "fair", "-o", "file/trace"], &["file/trace"]);
    refused(dir, &["record", "-p", "fair", "-w", TINY, "-o", "trace"], &["other arguments", "--force"]);
    refused(dir, &["report", "trace", "-o", "out"], &["run.json", "distill demo"]);
    refused(dir, &["evaluate", "student.json"], &["nothing to measure"]);
    refused(dir, &["demo", "-o", "file"], &["file"]);
    refused(dir, &["export", "none.json", "--to", "c"], &["none.json", "cannot read"]);
    refused(
        dir,
        &["export", "student.json", "--to", "c", "--level", "task"],
        &["no level `task`", "job, stage, amount"],
    );
    refused(dir, &["export", "student.json", "--to", "c", "--model", "bush"], &["no model `bush`", "it has"]);
    refused(dir, &["export", "student.json", "--to", "dot", "--model", "linear"], &["level `job`", "choose a tree"]);
    refused(dir, &["export", "student.json", "--to", "onnx"], &["no text", "-o"]);
    refused(dir, &["export", "student.json", "--to", "onnx", "-o", "s.onnx"], &["one model, not 3", "choose a level"]);
    refused(dir, &["export", "student.json", "--to", "c", "-o", "no/s.c"], &["the folder no does not exist"]);
    refused(
        dir,
        &["export", "student.json", "--to", "c", "-o", "file/models"],
        &["file/models", "cannot create the folder"],
    );
    assert_eq!(run(dir, &["export", "student.json", "--to", "lua"]).status.code(), Some(2));
    assert_eq!(run(dir, &["simulate"]).status.code(), Some(2), "usage errors are 2 as well");

    let manifest = fs::read_to_string(dir.join("trace/manifest.json")).unwrap();
    let newer = manifest.replacen("\"format_version\": 1", "\"format_version\": 9", 1);
    fs::write(dir.join("trace/manifest.json"), newer).unwrap();
    refused(dir, &["fit", "trace", "-o", "s.json"], &["version 9 is not supported"]);

    let mut student = Student::load(&dir.join("student.json")).unwrap();
    student.feature_set.levels[0].features[2].version = 2;
    student.feature_set_hash = student.feature_set.hash();
    student.save(&dir.join("other.json")).unwrap();
    let words = ["other.json", "another feature set", "feature `remaining_work` is v2", "is fitted again"];
    refused(dir, &["simulate", "-p", "student:other.json"], &words);
}

#[test]
fn export_writes_every_level_to_stdout_a_file_or_a_folder() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    record(dir, "trace", "4", "train");
    done(dir, &["fit", "trace", "-o", "student.json", "--max-leaves", "4"]);
    let c = done(dir, &["export", "student.json", "--to", "c"]);
    for name in ["double score_job(", "double score_stage(", "double score_amount("] {
        assert!(c.contains(name), "{name}");
    }
    assert!(c.contains("remaining_work [ms] Tasks"), "features are named, with their units");
    assert_eq!(done(dir, &["export", "student.json", "--to", "c", "-o", "student.c"]), "student.c\n");
    assert_eq!(fs::read_to_string(dir.join("student.c")).unwrap(), c, "a file holds what stdout shows");
    assert_eq!(
        done(dir, &["export", "student.json", "--to", "onnx", "-o", "models"]),
        "models/job.onnx\nmodels/stage.onnx\nmodels/amount.onnx\n"
    );
    assert!(c.contains("student_decide("), "the whole student");
    let rust = ["export", "student.json", "--to", "rust", "-o", "rust"];
    assert_eq!(done(dir, &rust), "rust/student.rs\n");
    assert_eq!(done(dir, &[&rust[..], &["--level", "job"]].concat()), "rust/job.rs\n");
    assert!(!fs::read_to_string(dir.join("rust/job.rs")).unwrap().contains("fn decide"));
    let java = |how: &[&'static str]| [&["export", "student.json", "--to", "java"], how].concat();
    assert!(done(dir, &java(&[])).contains("public final class Student {"));
    assert_eq!(done(dir, &java(&["-o", "Scheduler.java"])), "Scheduler.java\n");
    assert!(fs::read_to_string(dir.join("Scheduler.java")).unwrap().contains("public final class Scheduler {"));
    assert_eq!(done(dir, &java(&["-o", "java"])), "java/Student.java\n");
    assert_eq!(done(dir, &java(&["-o", "java", "--level", "job"])), "java/Job.java\n");
    assert!(fs::read_to_string(dir.join("java/Job.java")).unwrap().contains("public final class Job {"));
    refused(dir, &java(&["-o", "my-class.java"]), &["`my-class` cannot be the name of the Java class"]);
    assert_eq!(done(dir, &["export", "student.json", "--to", "go", "-o", "go"]), "go/student.go\n");
    done(dir, &["export", "student.json", "--to", "json", "--level", "stage", "-o", "stage.json"]);
    let scores = run(dir, &["export", "stage.json", "--to", "c"]);
    assert!(text(&scores.stderr).contains("has no model for level `job`; the export gives scores alone"));
    assert!(text(&scores.stdout).contains("double score_stage(") && !text(&scores.stdout).contains("student_decide"));
    let rules = done(dir, &["export", "student.json", "--to", "rules", "--level", "stage", "--model", "linear"]);
    assert!(rules.contains("level stage: Which stage of that job?\nmodel linear: linear score per candidate"));
    done(dir, &["export", "student.json", "--to", "json", "--model", "linear", "-o", "slim.json"]);
    let tiny = ["-w", TINY, "-n", "1", "--split", "test"];
    let jct = |student: &str| done(dir, &[&["simulate", "-p", student, "--json"], &tiny[..]].concat());
    assert_eq!(
        jct("student:slim.json").replace("slim.json", ""),
        jct("student:student.json,model=linear").replace("student.json,model=linear", "")
    );
}

#[test]
fn json_output_is_json_lines_and_nothing_else() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    let check = |args: &[&str]| {
        let output = run(dir, args);
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        assert_eq!(text(&output.stderr), "", "{args:?}");
        let lines = text(&output.stdout);
        assert!(!lines.is_empty());
        for line in lines.lines() {
            let object: Value = serde_json::from_str(line).unwrap();
            assert!(object["type"].is_string() && object["schema_version"] == 3, "{line}");
        }
    };
    check(&["--json", "list", "features"]);
    check(&["--json", "simulate", "-p", "fair", "-p", "sjf", "-w", TINY, "-n", "2"]);
    check(&["--json", "record", "-p", "sjf,temperature=1", "-w", TINY, "-n", "8", "-o", "trace"]);
    check(&["--json", "inspect", "trace"]);
    check(&["--json", "fit", "trace", "-o", "student.json", "--learner", "tree,linear"]);
    check(&["--json", "fit", "trace", "-o", "usual.json"]);
    check(&["--json", "export", "student.json", "--to", "rules"]);
    check(&["--json", "export", "student.json", "--to", "onnx", "-o", "models"]);
    check(&["--json", "evaluate", "student.json", "-t", "sjf", "-w", TINY, "-n", "2"]);
}

#[test]
fn help_has_examples_and_a_closed_pipe_is_no_error() {
    let dir = tempfile::tempdir().unwrap();
    for name in ["demo", "simulate", "record", "fit", "loop", "evaluate", "export", "report", "inspect"] {
        assert!(done(dir.path(), &[name, "--help"]).contains("Example"), "{name}");
    }
    for what in ["policies", "workloads", "features"] {
        assert!(done(dir.path(), &["list", what]).lines().count() > 5, "{what}");
    }
    let mut child = command(dir.path(), &["list", "features"]).stdout(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    assert_eq!(child.wait().unwrap().code(), Some(0));
}
