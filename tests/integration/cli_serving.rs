//! The whole pipeline on a server of several models, and what is claimed of its policies.

use crate::{
    common::reference,
    figures::{self, against, own},
    program::{done, refused, type_what_comes_next},
};
use sched_distill::model::Student;
use serde_json::Value;
use std::{fs, path::Path};

/// A short episode.
const SMALL: &str = "builtin,seconds=0.4";

/// What `simulate` says of policies, on test episodes.
fn simulate(dir: &Path, workload: &str, episodes: u32, policies: &[&str]) -> Value {
    figures::simulate(dir, "serving", workload, episodes, policies)
}

/// What the abstract of the paper says of slowdown and throughput, where there is as much to do as the accelerator can and more; and
/// that it is not so where there is less.
#[test]
fn published_claims_hold_at_saturation() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path();
    for load in ["1", "1.1"] {
        let found = simulate(dir, &format!("builtin,load={load},seconds=60"), 10, &["tf-serving", "dybatch"]);
        let [slowdown, _, high] = against(&found, "dybatch", "tf-serving", "slowdown");
        assert!(slowdown < 0.45 && high < 0.5, "load {load}: {slowdown} up to {high}");
        let [throughput, low, _] = against(&found, "dybatch", "tf-serving", "throughput");
        assert!(throughput > 1.12 && low > 1.1, "load {load}: {throughput} from {low}");
    }
    let found = simulate(dir, "builtin,load=0.7,seconds=60", 10, &["tf-serving", "dybatch"]);
    let [slowdown, low, _] = against(&found, "dybatch", "tf-serving", "slowdown");
    assert!(slowdown > 1.0 && low > 1.0, "fairness costs who needs much: {slowdown}");
}

/// The rule of our own, and the network that learned from it, against the best of the others, on seeds that they have not seen.
#[test]
fn the_best_batch_and_the_built_in_network_beat_batches_by_size() {
    let folder = tempfile::tempdir().unwrap();
    for (load, most_p99) in [("0.7", 0.95), ("0.9", 0.8)] {
        let policies = ["dybatch,fair=off", "best-batch", "scorer"];
        let found = simulate(folder.path(), &format!("builtin,load={load},seconds=60"), 10, &policies);
        for policy in ["best-batch", "scorer"] {
            let [slowdown, _, high] = against(&found, policy, "dybatch,fair=off", "slowdown");
            assert!(slowdown < 0.75 && high < 0.8, "load {load}, {policy}: {slowdown} up to {high}");
            let [p99, _, high] = against(&found, policy, "dybatch,fair=off", "p99_ms");
            assert!(p99 < most_p99 && high < 1.0, "load {load}, {policy}: p99 {p99} up to {high}");
        }
    }
}

/// Who asks for the same gets the same.
#[test]
fn equal_demands_are_served_alike() {
    let folder = tempfile::tempdir().unwrap();
    for load in ["0.7", "1", "1.1"] {
        let workload = format!("builtin,mix=work,load={load},seconds=60");
        let found = simulate(folder.path(), &workload, 10, &["tf-serving", "dybatch"]);
        assert!(own(&found, "dybatch", "fairness") > 0.95, "load {load}: {found}");
    }
}

#[test]
fn a_batcher_is_recorded_distilled_and_reported() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path();
    let said =
        done(dir, &["demo", "--scenario", "serving", "-t", "dybatch", "-w", SMALL, "-n", "8", "--fast", "-o", "run"]);
    type_what_comes_next(dir, &said);
    let student = Student::load(&dir.join("run/student.json")).unwrap();
    assert_eq!(student.feature_set.scenario, "serving");
    let page = fs::read_to_string(dir.join("run/report/report.html")).unwrap();
    assert!(page.contains("mean slowdown"), "the report names what it is about");
    let test = "run/traces/test";
    done(dir, &["evaluate", "run/student.json", test, "-t", "dybatch", "-w", SMALL, "-n", "2"]);
    done(dir, &["explain", "run/student.json", test]);
    let guard = ["--guard", "application: is_none > 0 last", "-n", "2", "--force", "-o", "patched.json"];
    done(dir, &[&["patch", "run/student.json"][..], &guard].concat());
    for to in ["rules", "c", "rust", "json"] {
        done(dir, &["export", "run/student.json", "--to", to]);
    }
    refused(dir, &["identify", test, "--scenario", "dag"], &["--scenario dag", "is of the scenario `serving`"]);
}

/// Which rule it is, is found: what takes turns and goes by arrival, and what goes by what was had and by size.
#[test]
fn batchers_are_identified() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path();
    for (policy, which, what) in [
        ("tf-serving", "in-turn", "in-order"),
        ("dybatch", "least-served", "like-size-if-it-pays"),
        ("best-batch", "most-merit", "best-batch"),
    ] {
        done(dir, &["record", "--scenario", "serving", "-p", policy, "-w", SMALL, "-n", "6", "-o", policy]);
        let said = done(dir, &["identify", policy, "--json"]);
        let found: Value = serde_json::from_str(said.lines().next().unwrap()).unwrap();
        let rows = found["rows"].as_array().unwrap_or_else(|| panic!("{said}"));
        for (kind, rule) in [("several", which), ("batch", what)] {
            let of = rows.iter().find(|row| row["kind"] == kind && row["rule"] == rule);
            let of = of.unwrap_or_else(|| panic!("{policy}, {kind}: {said}"));
            assert!(of["best"] == true && of["agreement"]["value"].as_f64() > Some(0.999), "{policy}, {kind}: {of}");
        }
    }
}

#[test]
fn a_student_learns_in_a_loop_and_is_augmented() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path();
    let scenario = ["--scenario", "serving", "-w", "builtin,seconds=0.2"];
    let extent = ["--iterations", "2", "--episodes", "4", "--validation-episodes", "2", "-o", "loop"];
    done(dir, &[&["loop", "dagger", "-t", "dybatch"][..], &scenario, &extent].concat());
    let search = ["augment", "loop/student.json", "-w", "builtin,seconds=0.2", "--budget", "200"];
    let more = ["--validation-episodes", "10", "-n", "10", "-p", "tf-serving", "-o", "better", "--json"];
    let lines = done(dir, &[&search[..], &more].concat());
    assert!(lines.contains("\"type\":\"augment\""), "{lines}");
}

#[test]
fn mistakes_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path();
    let simulate = |policy: &'static str, workload: &'static str| {
        ["simulate", "--scenario", "serving", "-p", policy, "-w", workload, "-n", "1"]
    };
    fs::write(dir.join("requests.csv"), "arrival_s,context_tokens,generated_tokens\n5,x,9\n").unwrap();
    fs::write(dir.join("tasks.json"), "{\"accelerators\": 1}").unwrap();
    for (policy, workload, says) in [
        ("dybatch,fair=maybe", "builtin", "fair must be one of on, off"),
        ("triton,preferred=8/4", "builtin", "preferred must be ascending numbers in 1..=4096"),
        ("best", "builtin", "unknown policy `best`"),
        ("lazy", "azure:requests.csv", "line 2, column 2 (`context_tokens`)"),
        ("lazy", "json:tasks.json", "tasks.json: not a workload"),
        ("scorer:tasks.json", "builtin", "tasks.json"),
    ] {
        refused(dir, &simulate(policy, workload), &[says]);
    }
}

/// A public record of requests, faster than they came.
#[test]
#[cfg_attr(not(reference_data), ignore = "needs the reference data in ../shared")]
fn recorded_requests_are_simulated() {
    let folder = tempfile::tempdir().unwrap();
    let workload = format!("azure:{},load=1.1", reference("traces/azure-llm-2023-code/requests.csv").display());
    let found = simulate(folder.path(), &workload, 10, &["tf-serving", "dybatch"]);
    let [slowdown, _, high] = against(&found, "dybatch", "tf-serving", "slowdown");
    assert!(slowdown < 1.0 && high < 1.0, "{slowdown} up to {high}");
}
