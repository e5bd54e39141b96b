//! `distill train`: what it writes, how it goes on, what it refuses.

use crate::{
    cli::{TINY, done, record, refused},
    common::files,
};
use std::{fs, path::Path};

/// A training of a few seconds.
const SHORT: [&str; 14] = [
    "train",
    "decima",
    "-w",
    TINY,
    "--iterations",
    "3",
    "--sequences",
    "2",
    "--rollouts",
    "2",
    "--validate-every",
    "2",
    "--validation-episodes",
    "2",
];

fn train(dir: &Path, more: &[&str]) -> String {
    done(dir, &[&SHORT[..], more].concat())
}

/// All that a folder holds but for what depends on time.
fn timeless(dir: &Path) -> Vec<(String, Vec<u8>)> {
    let timed = ["timings.json", "state.safetensors", "curve.svg", "curve.png"];
    files(dir).into_iter().filter(|(name, _)| !timed.contains(&name.as_str())).collect()
}

#[test]
fn a_training_writes_a_network_that_schedules_and_goes_on_where_it_stopped() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    let said = train(dir, &["-o", "whole", "-j", "1"]);
    assert!(said.contains("3 iterations") && said.contains("all done") && said.contains("best.safetensors"), "{said}");
    let whole = files(&dir.join("whole"));
    let names: Vec<&str> = whole.keys().map(String::as_str).collect();
    let expected = [
        "best.safetensors",
        "curve.png",
        "curve.svg",
        "last.safetensors",
        "metrics.parquet",
        "plan.json",
        "state.safetensors",
        "timings.json",
    ];
    assert_eq!(names, expected);
    assert!(whole["curve.png"].starts_with(b"\x89PNG") && whole["metrics.parquet"].starts_with(b"PAR1"));
    let schedule = done(dir, &["simulate", "-p", "decima:whole/best.safetensors", "-w", TINY, "-n", "2"]);
    assert!(schedule.contains("decima:whole/best.safetensors"), "{schedule}");

    // Stopped by the clock before the first iteration, then gone on with: the same bytes, for another number of threads.
    train(dir, &["-o", "parts", "-j", "2", "--time-limit", "0s"]);
    train(dir, &["-o", "parts", "-j", "2"]);
    assert_eq!(timeless(&dir.join("whole")), timeless(&dir.join("parts")));
    // There is nothing left to do, and nothing changes.
    let before = files(&dir.join("whole"));
    train(dir, &["-o", "whole"]);
    assert_eq!(before, files(&dir.join("whole")));

    refused(
        dir,
        &[&SHORT[..], &["-o", "whole", "--clip", "0.3"]].concat(),
        &["another training", "params.clip", "--force"],
    );
    train(dir, &["-o", "whole", "--clip", "0.3", "--force"]);
    fs::write(dir.join("whole/state.safetensors"), b"half a fi").unwrap();
    refused(dir, &[&SHORT[..], &["-o", "whole", "--clip", "0.3"]].concat(), &["state.safetensors", "--force"]);
}

#[test]
fn checkpoints_heuristics_and_traces_are_beginnings() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    train(dir, &["-o", "first"]);
    train(
        dir,
        &["-o", "second", "--init", "first/best.safetensors", "--algorithm", "reinforce", "--returns", "average"],
    );
    record(dir, "train", "4", "train");
    for (name, teacher) in [("policy", "srpt-fair"), ("fair", "fair"), ("trace", "train")] {
        let warm = ["--warm-start", teacher, "--warm-start-iterations", "4"];
        let said = train(dir, &[&["-o", name][..], &warm].concat());
        assert!(said.contains("7 iterations"), "{said}");
    }
    // A network that was trained here is recorded, distilled and asked what it goes by.
    for (name, split) in [("n-train", "train"), ("n-test", "test")] {
        let teacher =
            ["record", "-p", "decima:policy/last.safetensors,mode=sample", "-w", TINY, "-n", "4", "--split", split];
        done(dir, &[&teacher[..], &["-o", name]].concat());
    }
    done(dir, &["fit", "n-train", "-o", "student.json"]);
    let said = done(dir, &["explain", "student.json", "n-test", "--gradients", "20", "--run", "run"]);
    assert!(said.contains("what the network itself goes by") && said.contains("executors_held"), "{said}");
    let kept = || fs::read_to_string(dir.join("run/explanation.json")).unwrap();
    assert!(kept().contains("\"gradients\""));
    done(dir, &["explain", "student.json", "n-test", "--run", "run"]);
    assert!(kept().contains("\"gradients\""), "what was measured once stays");
    record(dir, "heuristic", "4", "test");
    refused(dir, &["explain", "student.json", "heuristic", "--gradients", "20"], &["gradients of decima only"]);

    let lines = done(dir, &[&["--json"], &SHORT[..], &["-o", "json"]].concat());
    let kinds: Vec<serde_json::Value> = lines.lines().map(|l| serde_json::from_str(l).unwrap()).collect();
    assert!(kinds.iter().any(|l| l["type"] == "iteration" && l["validation"]["greedy"]["stalled"].is_u64()), "{lines}");
    assert!(kinds.last().is_some_and(|l| l["type"] == "train" && l["end"] == "iterations"), "{lines}");
}

#[test]
fn what_cannot_be_trained_is_refused_with_a_reason() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    let refuse = |more: &[&str], words: &[&str]| refused(dir, &[&SHORT[..], &["-o", "x"], more].concat(), words);
    refuse(&["--minibatches", "0"], &["minibatches must be at least 1"]);
    refuse(&["--entropy", "nan"], &["entropy must be a finite number"]);
    refuse(&["--init", "nothing.pt"], &["nothing.pt", "cannot read"]);
    refuse(&["--warm-start", "clever"], &["unknown policy `clever`"]);
    refuse(&["--reference", "clever"], &["unknown policy `clever`"]);
    refuse(&["--device", "cuda:7"], &["cuda:7 is not there", "--device cpu"]);
    refuse(&["--device", "tpu"], &["cpu, cuda or cuda:N"]);
    fs::create_dir(dir.join("empty")).unwrap();
    refuse(&["--warm-start", "empty"], &["the trace to learn from cannot be used", "manifest.json"]);
    fs::write(dir.join("file"), "").unwrap();
    refused(dir, &[&SHORT[..], &["-o", "file"]].concat(), &["file", "cannot create the folder"]);
    fs::write(dir.join("other.safetensors"), b"\x02\0\0\0\0\0\0\0{}").unwrap();
    refuse(&["--init", "other.safetensors"], &["other.safetensors", "missing"]);
}

/// A training of DL2 of a few seconds.
const SHORT_DL2: [&str; 10] = [
    "train",
    "dl2",
    "-w",
    "builtin,nodes=6,jobs=12,max=4",
    "--traces",
    "3",
    "--validate-every",
    "2",
    "--validation-episodes",
    "2",
];

#[test]
fn dl2_learns_from_nothing_from_a_heuristic_and_from_a_trace() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    let train_for = |iterations, more: &[&str]| {
        done(dir, &[&SHORT_DL2[..], &["--hidden", "16", "--iterations", iterations], more].concat())
    };
    let train = |more: &[&str]| train_for("2", more);
    let said = train(&["-o", "whole", "-j", "1"]);
    assert!(said.contains("2 iterations") && said.contains("÷ drf's"), "{said}");
    // Stopped by the clock before the first iteration, then gone on with: the same bytes, for another number of threads.
    train(&["-o", "parts", "-j", "2", "--time-limit", "0s"]);
    train(&["-o", "parts", "-j", "2"]);
    assert_eq!(timeless(&dir.join("whole")), timeless(&dir.join("parts")));
    let policies =
        ["-p", "drf", "-p", "dl2:whole/best.safetensors", "-p", "dl2:whole/last.safetensors,mode=sample,window=5"];
    let simulate = ["simulate", "--scenario", "training", "-w", SHORT_DL2[3], "-n", "2"];
    let schedule = done(dir, &[&simulate[..], &policies].concat());
    assert!(schedule.contains("window=5") && schedule.contains("each job alone at its best"), "{schedule}");

    // The published form; a checkpoint knows its window.
    train(&["-o", "flat", "--form", "flat", "--window", "7"]);
    let simulate_flat = |policy| [&simulate[..], &["-p", "drf", "-p", policy]].concat();
    let schedule = done(dir, &simulate_flat("dl2:flat/best.safetensors,window=7"));
    assert!(schedule.contains("dl2:flat/best.safetensors"), "{schedule}");
    refused(dir, &simulate_flat("dl2:flat/best.safetensors,window=8"), &["a window of 7 jobs, not 8"]);

    let warm = |more: &[&str]| train_for("0", &[&["--warm-start-iterations", "2"], more].concat());
    warm(&["-o", "warm", "--warm-start", "optimus"]);
    let record =
        ["record", "--scenario", "training", "-p", "optimus", "-w", SHORT_DL2[3], "-n", "3", "--split", "train"];
    done(dir, &[&record[..], &["-o", "trace"]].concat());
    warm(&["-o", "traced", "--warm-start", "trace"]);
    train(&["-o", "tuned", "--init", "traced/best.safetensors", "--reference", "optimus"]);
    // A trace of a slot-by-slot cluster is none of jobs of stages.
    let other = [&SHORT[..], &["-o", "x", "--warm-start", "trace"]].concat();
    refused(dir, &other, &["trace", "of the scenario training", "this network is for dag"]);

    let refuse = |more: &[&str], words: &[&str]| refused(dir, &[&SHORT_DL2[..], &["-o", "x"], more].concat(), words);
    refuse(&["--scenario", "dag"], &["--scenario dag", "dl2 is of the scenario `training`"]);
    refuse(&["--window", "0"], &["--window", "1..=10000"]);
    refuse(&["--init", "flat/best.safetensors"], &["policy.job.weight", "missing"]);
    refuse(&["--hidden", "40"], &["--hidden 40", "multiples of 16"]);
    refuse(&["--discount", "1.5"], &["discount must be within 0 to 1, got 1.5"]);
    refuse(&["--init", "tuned/state.safetensors"], &["tuned/state.safetensors", "policy.job.weight", "missing"]);
    refuse(&["--init", "whole/best.safetensors", "--hidden", "32"], &["has shape [16, 13], expected [32, 13]"]);
}
