//! The whole pipeline on a cluster of jobs that can be suspended, and what is claimed of its policies.

use crate::{
    common::reference,
    figures::{self, against, own},
    program::{done, refused, type_what_comes_next},
};
use sched_distill::model::Student;
use serde_json::Value;
use std::{fs, path::Path};

/// A small cluster and few jobs.
const SMALL: &str = "builtin,nodes=4,jobs=30,load=1.5";

/// What `simulate` says of policies, on test episodes.
fn simulate(dir: &Path, workload: &str, episodes: u32, policies: &[&str]) -> Value {
    figures::simulate(dir, "preemption", workload, episodes, policies)
}

/// What the abstract of the paper says, where many jobs arrive and where all arrive at once.
#[test]
fn published_claims_hold() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path();
    let blind = ["fifo", "las", "gittins", "srtf", "sjf", "lucid-like"];
    let policies = [&["pickyman"][..], &blind].concat();
    for workload in ["builtin", "builtin,load=0.9"] {
        let found = simulate(dir, workload, 60, &policies);
        for baseline in blind {
            let [value, low, _] = against(&found, baseline, "pickyman", "waiting_ms");
            assert!(value > 1.0 / 0.9 && low > 1.0, "{workload}, {baseline}: {value} from {low}");
        }
        assert!(own(&found, "pickyman", "lost_ms") <= 0.5 * own(&found, "srtf", "lost_ms"), "{workload}: {found}");
        let [p99, ..] = against(&found, "srtf", "pickyman", "p99_waiting_ms");
        assert!(p99 >= 1.0, "{workload}: nobody starves, {p99}");
    }
    let found = simulate(dir, "builtin,arrivals=batch", 60, &policies);
    for baseline in blind {
        let [waiting, low, _] = against(&found, baseline, "pickyman", "waiting_ms");
        assert!(waiting > 1.0 && low > 1.0, "{baseline}: {waiting} from {low}");
        let [makespan, low, _] = against(&found, baseline, "pickyman", "makespan_ms");
        assert!(makespan > 1.0 / 0.97, "{baseline}: {makespan}");
        if ["srtf", "las", "gittins"].contains(&baseline) {
            assert!(makespan > 1.0 / 0.95 && low > 1.0, "{baseline}, which preempts too: {makespan} from {low}");
        }
    }
}

/// Predictions that are off for good do not undo it.
#[test]
fn it_degrades_gracefully() {
    let folder = tempfile::tempdir().unwrap();
    for error in ["0.2", "0.5"] {
        let workload = format!("builtin,prediction-error={error}");
        let found = simulate(folder.path(), &workload, 40, &["pickyman", "fifo", "las"]);
        for baseline in ["fifo", "las"] {
            let [value, low, _] = against(&found, baseline, "pickyman", "waiting_ms");
            assert!(low > 1.0, "{workload}, {baseline}: {value} from {low}");
        }
    }
}

/// The network that comes with the program against the paper's policy, on seeds that it has not seen.
#[test]
fn the_built_in_network_beats_the_paper_at_high_load() {
    let folder = tempfile::tempdir().unwrap();
    let found = simulate(folder.path(), "builtin", 100, &["pickyman", "scorer"]);
    let [value, _, high] = against(&found, "scorer", "pickyman", "waiting_ms");
    assert!(value < 0.97 && high < 1.0, "{value} up to {high}");
}

/// On a public history, on which it was not trained.
#[test]
#[cfg_attr(not(reference_data), ignore = "needs the reference data in ../shared")]
fn the_built_in_network_beats_the_paper_on_recorded_jobs() {
    let folder = tempfile::tempdir().unwrap();
    let workload = format!("philly:{}", reference("traces/philly-2017-oct/jobs.csv").display());
    let found = simulate(folder.path(), &workload, 40, &["pickyman", "scorer"]);
    let [value, _, high] = against(&found, "scorer", "pickyman", "waiting_ms");
    assert!(value < 0.95 && high < 1.0, "{value} up to {high}");
}

#[test]
fn a_rule_is_recorded_distilled_and_reported() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path();
    let said =
        done(dir, &["demo", "--scenario", "preemption", "-t", "srtf", "-w", SMALL, "-n", "8", "--fast", "-o", "run"]);
    type_what_comes_next(dir, &said);
    let student = Student::load(&dir.join("run/student.json")).unwrap();
    assert_eq!(student.feature_set.scenario, "preemption");
    let page = fs::read_to_string(dir.join("run/report/report.html")).unwrap();
    assert!(page.contains("mean waiting"), "the report names what it is about");
    let test = "run/traces/test";
    done(dir, &["evaluate", "run/student.json", test, "-t", "srtf", "-w", SMALL, "-n", "2"]);
    done(dir, &["explain", "run/student.json", test]);
    let guard = [
        "patch",
        "run/student.json",
        "--guard",
        "victim: is_last > 0 last",
        "-n",
        "2",
        "--force",
        "-o",
        "patched.json",
    ];
    done(dir, &guard);
    let rules = done(dir, &["identify", "run/traces/train"]);
    assert!(rules.contains("shortest-remaining") && rules.contains("suspend-the-longest"), "{rules}");
    for to in ["rules", "c", "rust", "json"] {
        done(dir, &["export", "run/student.json", "--to", to]);
    }
    refused(dir, &["identify", test, "--scenario", "dag"], &["--scenario dag", "is of the scenario `preemption`"]);
}

/// Who schedules by a rule with an exception is said to.
#[test]
fn shortest_remaining_time_that_spares_jobs_near_their_epochs_end_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path();
    let record = |policy: &str, out: &str| {
        let args = ["record", "--scenario", "preemption", "-p", policy, "-w", SMALL, "-n", "16", "-o", out];
        done(dir, &args);
    };
    record("srtf", "plain");
    done(
        dir,
        &[
            "identify",
            "plain",
            "--exceptions",
            "shortest-remaining",
            "--exceptions",
            "suspend-the-longest",
            "--max-exceptions",
            "0",
            "-o",
            "rules.json",
        ],
    );
    let guard = "victim: is_none <= 0 and to_epoch_end <= 120000 last";
    done(dir, &["patch", "rules.json", "--guard", guard, "-n", "2", "--force", "-o", "sparing.json"]);
    record("student:sparing.json", "sparing");
    let said = done(dir, &["identify", "sparing", "--exceptions", "best"]);
    let all: Vec<&str> = said.lines().map(str::trim).collect();
    assert!(all.iter().any(|line| line.starts_with("shortest-remaining:")), "{said}");
    assert!(all.iter().any(|line| line.starts_with("suspend-the-longest:")), "{said}");
    let spares = all
        .iter()
        .filter(|line| line.starts_with("but ") && line.contains("to_epoch_end <= ") && line.contains("last"));
    assert_eq!(spares.count(), 1, "{said}");
}

#[test]
fn a_student_learns_in_a_loop_and_is_augmented() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path();
    let scenario = ["--scenario", "preemption", "-w", SMALL];
    let extent = ["--iterations", "2", "--episodes", "4", "--validation-episodes", "2", "-o", "loop"];
    done(dir, &[&["loop", "dagger", "-t", "pickyman"][..], &scenario, &extent].concat());
    let search = ["augment", "loop/student.json", "-w", SMALL, "--budget", "200", "--validation-episodes", "10"];
    let lines = done(dir, &[&search[..], &["-n", "10", "-p", "srtf", "-o", "better", "--json"]].concat());
    assert!(lines.contains("\"type\":\"augment\""), "{lines}");
}

#[test]
fn mistakes_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path();
    let simulate = |policy: &'static str, workload: &'static str| {
        ["simulate", "--scenario", "preemption", "-p", policy, "-w", workload, "-n", "1"]
    };
    fs::write(dir.join("jobs.csv"), "submit_s,duration_s,num_gpus,vc\n5,7,99,a\n").unwrap();
    fs::write(dir.join("jobs.json"), "{\"nodes\": 1}").unwrap();
    for (policy, workload, says) in [
        ("srtf,times=none", "builtin", "times must be one of predicted, true"),
        ("tiresias,limits=9/3", "builtin,free=1", "limits must be ascending positive numbers"),
        ("best", "builtin", "unknown policy `best`"),
        ("fifo", "philly:jobs.csv", "line 2, column 3 (`num_gpus`): expected a number in 1..=64, got `99`"),
        ("fifo", "json:jobs.json", "jobs.json: not a workload"),
        ("scorer:jobs.json", "builtin", "jobs.json"),
    ] {
        refused(dir, &simulate(policy, workload), &[says]);
    }
}

/// A public history of a cluster, a month of ten thousand jobs.
#[test]
#[cfg_attr(not(reference_data), ignore = "needs the reference data in ../shared")]
fn a_recorded_month_is_simulated() {
    let folder = tempfile::tempdir().unwrap();
    let workload = format!("philly:{},nodes=58,jobs=10000", reference("traces/philly-2017-oct/jobs.csv").display());
    let found = simulate(folder.path(), &workload, 1, &["fifo", "pickyman"]);
    assert!(own(&found, "pickyman", "waiting_ms") < own(&found, "fifo", "waiting_ms"), "{found}");
}
