//! The whole pipeline on a cluster for deep-learning training.

use crate::{
    common::reference,
    program::{done, refused, text, type_what_comes_next},
};
use sched_distill::model::Student;
use serde_json::Value;
use std::{fs, path::Path};

/// A small cluster and few jobs.
const SMALL: &str = "builtin,nodes=12,jobs=12,rate=2,max=6";

/// The `closed_loop` or other record of that type that a command prints.
fn record(dir: &Path, kind: &str, args: &[&str]) -> Value {
    let args: Vec<&str> = args.iter().copied().chain(["--json"]).collect();
    let lines = done(dir, &args);
    let found = lines.lines().map(|l| serde_json::from_str::<Value>(l).unwrap()).find(|v| v["type"] == kind);
    found.unwrap_or_else(|| panic!("{args:?}: no `{kind}` in {lines}"))
}

/// Mean completion time of a policy against the baseline's.
fn ratio(closed_loop: &Value, policy: &str) -> f64 {
    let comparisons = closed_loop["comparisons"].as_array().unwrap();
    let found = comparisons.iter().find(|r| r["policy"].as_str().is_some_and(|p| p.starts_with(policy)));
    found.unwrap_or_else(|| panic!("{policy}: {closed_loop}"))["figures"]["mean_jct_ms"]["value"].as_f64().unwrap()
}

#[test]
fn a_rule_is_recorded_distilled_and_reported() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path();
    let said =
        done(dir, &["demo", "--scenario", "training", "-t", "drf", "-w", SMALL, "-n", "8", "--fast", "-o", "run"]);
    type_what_comes_next(dir, &said);
    let student = Student::load(&dir.join("run/student.json")).unwrap();
    assert_eq!(student.feature_set.scenario, "training");
    let evaluation: Value = serde_json::from_slice(&fs::read(dir.join("run/evaluation.json")).unwrap()).unwrap();
    // The place in the order of dominant shares is a feature, so a tree has DRF exactly.
    for row in evaluation["fidelity"].as_array().unwrap().iter().filter(|r| r["role"] == "student") {
        assert!(row["top1"]["value"].as_f64().unwrap() > 0.98, "{row}");
    }
    let student_to_drf = ratio(&evaluation["closed_loop"], "student:");
    assert!((0.98..1.02).contains(&student_to_drf), "{student_to_drf}");
    let page = fs::read_to_string(dir.join("run/report/report.html")).unwrap();
    assert!(page.contains("fair_order"), "the report names what DRF goes by");

    // The student's scenario is known from the student.
    let test = "run/traces/test";
    done(dir, &["evaluate", "run/student.json", test, "-t", "drf", "-w", SMALL, "-n", "2"]);
    done(dir, &["explain", "run/student.json", test]);
    done(
        dir,
        &[
            "patch",
            "run/student.json",
            "--guard",
            "cluster: idle_jobs > 0 first",
            "-n",
            "2",
            "--force",
            "-o",
            "patched.json",
        ],
    );
    let changed = record(dir, "diff", &["diff", "run/student.json", "patched.json", "-n", "2"]);
    assert!(changed["changed_decisions"].as_f64().is_some_and(|share| share < 0.5), "{changed}");
    let rules = text(done(dir, &["identify", "run/traces/train"]).as_bytes());
    assert!(rules.contains("fair"), "{rules}");
    for command in [
        &["evaluate", "run/student.json", test, "-t", "drf"][..],
        &["explain", "run/student.json", test],
        &["fit", test, "-o", "other.json"],
        &["features", test],
        &["identify", test],
        &["inspect", test],
        &["inspect", "run/student.json"],
        &["export", "run/student.json", "--to", "rules"],
    ] {
        refused(dir, &[command, &["--scenario", "dag"]].concat(), &["--scenario dag", "is of the scenario `training`"]);
    }
}

#[test]
fn a_student_learns_in_a_loop_and_is_augmented() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path();
    done(
        dir,
        &[
            "loop",
            "dagger",
            "--scenario",
            "training",
            "-t",
            "optimus",
            "-w",
            SMALL,
            "--iterations",
            "2",
            "--episodes",
            "4",
            "--validation-episodes",
            "2",
            "-o",
            "loop",
        ],
    );
    let found = record(
        dir,
        "augment",
        &[
            "augment",
            "loop/student.json",
            "-w",
            SMALL,
            "--budget",
            "300",
            "--validation-episodes",
            "10",
            "-n",
            "10",
            "-p",
            "optimus",
            "-o",
            "better",
        ],
    );
    let (before, after) = (ratio(&found["closed_loop"], "before"), ratio(&found["closed_loop"], "augmented"));
    assert!(before > 0.0 && after < before * 1.02, "{before} {after}");
}

/// The network that comes with the program, and what is distilled from it.
#[test]
fn the_built_in_network_is_as_good_as_the_best_heuristic_and_so_is_its_student() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path();
    done(dir, &["record", "--scenario", "training", "-p", "dl2", "-n", "12", "--split", "train", "-o", "trace"]);
    done(dir, &["fit", "trace", "--max-leaves", "21", "-o", "student.json"]);
    assert!(Student::load(&dir.join("student.json")).unwrap().size() <= 64);
    let policies = ["-p", "dl2", "-p", "optimus", "-p", "drf", "-p", "student:student.json"];
    let found =
        record(dir, "closed_loop", &[&["simulate", "--scenario", "training", "-n", "20"][..], &policies].concat());
    let (optimus, drf, student) = (ratio(&found, "optimus"), ratio(&found, "drf"), ratio(&found, "student:"));
    assert!(1.0 / optimus <= 1.02 && 1.0 / drf <= 0.65, "optimus {optimus}, drf {drf} of the network's time");
    assert!(student <= 1.03, "{student}");
    // Where speeds dip, heuristics that look one task ahead stop too early.
    let uneven = ["-w", "builtin,dips=0.2", "-p", "srtf-time", "-p", "tetris", "-p", "fifo"];
    let uneven = [&["simulate", "--scenario", "training", "-n", "20"][..], &policies[..6], &uneven].concat();
    let uneven = record(dir, "closed_loop", &uneven);
    for policy in ["optimus", "drf", "srtf-time", "tetris", "fifo"] {
        assert!(1.0 / ratio(&uneven, policy) <= 0.92, "{policy}: {uneven}");
    }
    // Nothing is faster than each job alone at its best.
    assert!(found["floor"]["compared"]["value"].as_f64().is_some_and(|floor| floor < 1.0 && floor > 0.5), "{found}");
}

#[test]
#[cfg_attr(not(reference_data), ignore = "needs the reference data in ../shared")]
fn heuristics_stand_as_in_the_reference_study() {
    let folder = tempfile::tempdir().unwrap();
    let workload = format!("builtin,speed={}", reference("dl2-golden/speed-grid-24.json").display());
    let args = [
        "simulate",
        "--scenario",
        "training",
        "-p",
        "drf",
        "-p",
        "optimus",
        "-p",
        "fifo",
        "-p",
        "srtf",
        "-w",
        &workload,
    ];
    let found = record(folder.path(), "closed_loop", &args);
    let of = |policy| ratio(&found, policy);
    assert!((0.65..0.82).contains(&of("optimus")), "{found}");
    assert!(of("fifo") > 2.0 && (of("srtf") / of("fifo") - 1.0).abs() < 0.05, "{found}");
}

#[test]
fn names_of_another_scenario_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path();
    refused(dir, &["simulate", "--scenario", "training", "-p", "fair"], &["unknown policy `fair`", "drf"]);
    refused(dir, &["simulate", "-p", "optimus"], &["unknown policy `optimus`"]);
    refused(dir, &["simulate", "--scenario", "training", "-p", "drf", "-w", "tpch:x"], &["unknown workload `tpch`"]);
    let list = ["simulate", "--scenario", "training", "-p", "drf", "-w", "builtin,edge=bursts", "--edge-cases"];
    refused(dir, &list, &["--edge-cases", "builtin without edge=NAME"]);
    refused(dir, &["check-policy", "--scenario", "training", "-p", "fair"], &["unknown policy `fair`", "script, onnx"]);
    let missing = "builtin,speed=missing.json";
    refused(dir, &["simulate", "--scenario", "training", "-p", "drf", "-w", missing], &["missing.json"]);
    let listed = done(dir, &["list", "policies", "--scenario", "training"]);
    assert!(listed.contains("optimus") && !listed.contains("decima"));
}
