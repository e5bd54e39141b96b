//! What is too large, or makes no sense, ends in one clear line and in bounded time and memory.

use crate::{
    common::{copy, reference},
    program::{TINY, command, done, record, refused, text},
};
use serde_json::{Value, json};
use std::{fs, process::Command};

#[test]
#[cfg_attr(not(reference_data), ignore = "needs the reference data in ../shared")]
fn tables_that_once_ended_the_program_are_refused() {
    for trace in ["parquet-seal-panic", "parquet-varint-panic", "parquet-varint-abort"] {
        let dir = tempfile::tempdir().unwrap();
        copy(&reference("hostile").join(trace), &dir.path().join("t"));
        let output = command(dir.path(), &["inspect", "--seal", "t"]).output().unwrap();
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{trace}: {said}");
        // Which one it is depends on how the decoder was compiled.
        let words = ["is not a readable Parquet file: its contents are damaged", " rows, expected "];
        assert!(said.starts_with("error: t/") && words.iter().any(|w| said.contains(w)), "{trace}: {said}");
        assert_eq!(said.lines().count(), 1, "{trace}: {said}");
    }
}

#[test]
#[cfg_attr(not(reference_data), ignore = "needs the reference data in ../shared")]
fn a_level_without_features_is_unsound() {
    let dir = tempfile::tempdir().unwrap();
    copy(&reference("hostile/nofeat/trace"), &dir.path().join("t"));
    let words = ["level `job` has no features, expected at least one"];
    refused(dir.path(), &["inspect", "--seal", "t"], &words);
    for args in [&["fit", "t", "-o", "s.json"][..], &["front", "t", "-o", "f"], &["features", "t"]] {
        refused(dir.path(), args, &words);
    }
}

#[test]
fn workloads_beyond_reason_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    let n = 100_000;
    let edges: Vec<String> = (1..n).map(|child| format!("[{},{child}]", child - 1)).collect();
    let stages = vec![r#"{"num_tasks":1,"durations":1}"#; n].join(",");
    let chain = format!(r#"{{"jobs":[{{"arrival_ms":0,"edges":[{}],"stages":[{stages}]}}]}}"#, edges.join(","));
    fs::write(dir.join("chain.json"), chain).unwrap();
    refused(dir, &["simulate", "-p", "fair", "-w", "json:chain.json"], &["chain.json: job 0", "100000 stages", "2800"]);

    let training = r#"{"nodes": 4, "slot_s": 600, "max_workers": 4, "max_servers": 4, "speed": "formula",
        "jobs": [{"type": "resnet-50", "arrival_slot": 0, "epochs": 5, "real_epochs": 1e9}]}"#;
    fs::write(dir.join("epochs.json"), training).unwrap();
    let simulate = ["simulate", "--scenario", "training", "-p", "drf", "-w", "json:epochs.json"];
    refused(dir, &simulate, &["epochs.json: job 0", "1000000000 epochs", "at most 100000"]);
}

/// Speeds that are no speeds: there is progress in every slot, and no end.
#[test]
fn a_run_without_end_is_ended_and_says_so() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    let grid = r#"{"format": "dl2-speed-grid/1", "grid": {"m": [[1e-100, 1e-100, 1], [1e6, 1e-100, 1], [1, 1, 1]]}}"#;
    fs::write(dir.join("grid.json"), grid).unwrap();
    let jobs = r#"{"nodes": 2, "slot_s": 300, "max_workers": 2, "max_servers": 2, "speed": "grid.json",
        "types": [{"name": "m", "epoch_size": 115, "worker": [2, 4], "server": [2, 0]}],
        "jobs": [{"type": "m", "arrival_slot": 0, "epochs": 30}]}"#;
    fs::write(dir.join("jobs.json"), jobs).unwrap();
    let simulate = ["simulate", "--scenario", "training", "-w", "json:jobs.json", "-p", "drf", "-n", "2", "-q"];
    let said = done(dir, &simulate);
    let line = "stalled: drf in 2 episodes: more than a hundred times what the jobs need had happened";
    assert!(said.contains(line) && said.contains("2 of 2"), "{said}");
    let found: Value = serde_json::from_str(&done(dir, &[&simulate[..], &["--json"]].concat())).unwrap();
    let policy = &found["policies"][0];
    assert_eq!((&policy["stalled"], &policy["stalls"]), (&json!(2), &json!({"endless": 2})));
    assert_eq!(policy["episode_objective"], json!([null, null]));
}

/// They are left out of what is of jobs, for all policies alike, and counted; what is of time counts them.
#[test]
fn episodes_without_jobs_are_counted_and_said() {
    let dir = tempfile::tempdir().unwrap();
    let simulate = ["simulate", "--scenario", "serving", "-n", "20", "-w", "builtin,load=0.01,seconds=0.1", "-q"];
    let args = [&simulate[..], &["-p", "tf-serving", "-p", "lazy"]].concat();
    let found: Value = serde_json::from_str(&done(dir.path(), &[&args[..], &["--json"]].concat())).unwrap();
    let empty = found["empty_episodes"].as_array().unwrap();
    assert!((3..18).contains(&empty.len()), "{empty:?}");
    let mut throughput = Vec::new();
    for policy in found["policies"].as_array().unwrap() {
        assert_eq!((&policy["stalled"], &policy["empty"]), (&json!(0), &json!(empty.len())));
        let nulls: Vec<usize> = (0..20).filter(|&i| policy["episode_objective"][i].is_null()).collect();
        assert_eq!(json!(nulls), json!(empty));
        throughput.push(policy["figures"]["throughput"]["value"].as_f64().unwrap());
    }
    // Tasks of 20 episodes of 0.1 s: a whole number of them was answered in time.
    let answered = 2.0 * throughput[0];
    assert!((answered - answered.round()).abs() < 1e-9 && answered >= 1.0, "{throughput:?}");
    let compared = &found["comparisons"][0]["figures"];
    assert!(compared["slowdown"]["value"].is_f64() && compared["throughput"]["value"].is_f64(), "{compared}");
    let said = done(dir.path(), &args);
    assert!(said.contains(&format!("empty: no job arrived in {} of 20 episodes", empty.len())), "{said}");
}

/// Of fewer choices it records less to choose and to measure on as well.
#[test]
fn a_demo_takes_fewer_choices() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    done(dir, &["demo", "--fast", "-n", "9", "--max-choices", "60", "-w", TINY, "-o", "run", "-q"]);
    let read = |path: &str| fs::read_to_string(dir.join("run").join(path)).unwrap();
    assert!(read("run.json").contains("--max-choices 60"));
    let manifest: Value = serde_json::from_str(&read("traces/validation/manifest.json")).unwrap();
    assert_eq!(manifest["episodes"], json!(2), "three without");
}

#[test]
fn a_recording_of_a_billion_parts_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    record(dir, "trace", "4", "train");
    fs::remove_file(dir.join("trace/manifest.json")).unwrap();
    let plan = fs::read_to_string(dir.join("trace/plan.json")).unwrap();
    let (head, _) = plan.rsplit_once("\"parts\":").unwrap();
    fs::write(dir.join("trace/plan.json"), format!("{head}\"parts\": 4294967295\n}}\n")).unwrap();
    let words = ["plan.json", "`parts` is 4294967295, expected 1 to 1000000"];
    refused(dir, &["fit", "trace", "-o", "s.json"], &words);
    let inspected = command(dir, &["inspect", "trace"]).output().unwrap();
    assert_eq!(inspected.status.code(), Some(2));
    let said = text(&inspected.stdout) + &text(&inspected.stderr);
    assert!(words.iter().all(|w| said.contains(w)), "{said}");
}

/// As much address space as the program takes at least, and a little more.
#[cfg(target_os = "linux")]
#[test]
fn short_memory_is_told_with_the_table_and_what_helps() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    let workload = "builtin,executors=10,jobs=50";
    done(dir, &["record", "-p", "sjf-cp,temperature=0.3", "-w", workload, "-n", "24", "-q", "-o", "trace"]);
    let limited = |megabytes: u32, args: &[&str]| {
        let script = format!("ulimit -v {}; exec \"$0\" \"$@\"", 1000 * megabytes);
        let mut shell = Command::new("bash");
        shell.current_dir(dir).args(["-c", &script, env!("CARGO_BIN_EXE_distill")]).args(args).output().unwrap()
    };
    let mut told = 0;
    for megabytes in [200, 260, 320, 380] {
        for args in [
            &["fit", "trace", "-o", "s.json", "-q", "-j", "1"][..],
            &["front", "trace", "-o", "f", "-q", "-j", "1", "--learner", "tree", "--max-size", "8"],
            &["identify", "trace", "-q", "-j", "1"],
        ] {
            let output = limited(megabytes, args);
            let said = text(&output.stderr);
            assert!(!said.contains("panicked") && !said.contains("RUST_BACKTRACE"), "{megabytes} {args:?}: {said}");
            match output.status.code() {
                Some(0) => {}
                code => {
                    assert_eq!((code, said.lines().count()), (Some(2), 1), "{megabytes} {args:?}: {said}");
                    told += usize::from(said.contains("level `") && said.contains("--max-choices"));
                }
            }
        }
    }
    assert!(told > 0, "no limit was short enough");
}
