//! The whole pipeline on a cluster of jobs with deadlines, and what is claimed of its policies.

use crate::{
    common::reference,
    figures::{self, own},
    program::{done, refused, type_what_comes_next},
};
use sched_distill::model::Student;
use serde_json::Value;
use std::{fs, path::Path};

/// A small cluster and few jobs.
const SMALL: &str = "builtin,node-cores=16,jobs=15";

/// What `simulate` says of policies, on test episodes.
fn simulate(dir: &Path, workload: &str, episodes: u32, policies: &[&str]) -> Value {
    figures::simulate(dir, "deadlines", workload, episodes, policies)
}

/// A figure of a policy against the first one: its value and interval.
fn against_first(found: &Value, policy: &str, figure: &str) -> [f64; 3] {
    let comparisons = found["comparisons"].as_array().unwrap();
    let of = comparisons.iter().find(|c| c["policy"].as_str().is_some_and(|p| p.starts_with(policy)));
    let figures = &of.unwrap_or_else(|| panic!("{policy}: {found}"))["figures"];
    ["value", "low", "high"].map(|part| figures[figure][part].as_f64().unwrap())
}

/// What the abstract of the paper says, in its two settings; 20 episodes each.
#[test]
fn published_claims_hold() {
    let folder = tempfile::tempdir().unwrap();
    let policies = ["fifo", "qos,autoscale=off", "qos"];
    for scarce in ["builtin,node-cores=24,jobs=30", "builtin,jobs=30", "builtin,arrivals=poisson,jobs=100"] {
        let found = simulate(folder.path(), scarce, 20, &policies);
        let [_, low, _] = against_first(&found, "qos,autoscale=off", "on_time");
        assert!(low > 0.18, "{scarce}: {low}");
        let [gain, _, _] = against_first(&found, "qos", "on_time");
        assert!(gain > 0.3, "{scarce}: {gain}");
    }
    for ample in ["builtin,nodes=5,jobs=30", "builtin,nodes=10,jobs=30"] {
        let found = simulate(folder.path(), ample, 20, &policies);
        assert!(own(&found, "qos", "on_time") >= 0.995, "{ample}: {found}");
        assert!(own(&found, "fifo", "on_time") < 0.86, "{ample}: {found}");
        assert!(
            own(&found, "qos", "cores_used") >= 0.99 && own(&found, "fifo", "cores_used") < 0.7,
            "{ample}: {found}"
        );
    }
}

/// The network that comes with the program against the paper's policy, on seeds that it has not seen.
#[test]
fn the_built_in_network_beats_the_paper_where_cores_are_short_and_is_no_worse_elsewhere() {
    let folder = tempfile::tempdir().unwrap();
    let policies = ["qos", "scorer"];
    for scarce in ["builtin,node-cores=24,jobs=30", "builtin,jobs=30", "builtin,arrivals=poisson,jobs=100"] {
        let found = simulate(folder.path(), scarce, 40, &policies);
        let [_, low, _] = against_first(&found, "scorer", "on_time");
        assert!(low > 0.03, "{scarce}: {found}");
    }
    for ample in ["builtin,nodes=5,jobs=30", "builtin,nodes=10,jobs=30"] {
        let found = simulate(folder.path(), ample, 40, &policies);
        let [value, _, _] = against_first(&found, "scorer", "on_time");
        assert!(value > -0.002, "{ample}: {found}");
    }
}

/// On a public history, on which it was not trained.
#[test]
#[cfg_attr(not(reference_data), ignore = "needs the reference data in ../shared")]
fn the_built_in_network_is_no_worse_on_recorded_jobs() {
    let folder = tempfile::tempdir().unwrap();
    let (philly, policies) = (reference("traces/philly-2017-oct/jobs.csv"), ["qos", "scorer"]);
    for more in ["", ",nodes=2"] {
        let found = simulate(folder.path(), &format!("philly:{}{more}", philly.display()), 40, &policies);
        let [value, _, _] = against_first(&found, "scorer", "on_time");
        assert!(value > -0.002, "philly{more}: {found}");
    }
}

#[test]
fn a_rule_is_recorded_distilled_and_reported() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path();
    let said =
        done(dir, &["demo", "--scenario", "deadlines", "-t", "qos", "-w", SMALL, "-n", "8", "--fast", "-o", "run"]);
    type_what_comes_next(dir, &said);
    let student = Student::load(&dir.join("run/student.json")).unwrap();
    assert_eq!(student.feature_set.scenario, "deadlines");
    let page = fs::read_to_string(dir.join("run/report/report.html")).unwrap();
    assert!(page.contains("share of jobs on time"), "the report names what it is about");
    let test = "run/traces/test";
    done(dir, &["evaluate", "run/student.json", test, "-t", "qos", "-w", SMALL, "-n", "2"]);
    done(dir, &["explain", "run/student.json", test]);
    let guard =
        ["patch", "run/student.json", "--guard", "job: hopeless last", "-n", "2", "--force", "-o", "patched.json"];
    done(dir, &guard);
    let rules = done(dir, &["identify", "run/traces/train"]);
    assert!(rules.contains("earliest-that-fits") && rules.contains("autoscale"), "{rules}");
    for to in ["rules", "c", "rust", "json"] {
        done(dir, &["export", "run/student.json", "--to", to]);
    }
    refused(dir, &["identify", test, "--scenario", "dag"], &["--scenario dag", "is of the scenario `deadlines`"]);
}

#[test]
fn a_student_learns_in_a_loop_and_is_augmented() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path();
    let scenario = ["--scenario", "deadlines", "-w", SMALL];
    let extent = ["--iterations", "2", "--episodes", "4", "--validation-episodes", "2", "-o", "loop"];
    done(dir, &[&["loop", "dagger", "-t", "scorer"][..], &scenario, &extent].concat());
    let search = ["augment", "loop/student.json", "-w", SMALL, "--budget", "200", "--validation-episodes", "10"];
    let lines = done(dir, &[&search[..], &["-n", "10", "-p", "qos", "-o", "better", "--json"]].concat());
    assert!(lines.contains("\"type\":\"augment\""), "{lines}");
    let found = simulate(dir, SMALL, 10, &["student:loop/student.json", "student:better/student.json"]);
    let [value, _, _] = against_first(&found, "student:better", "on_time");
    assert!(value > -0.05, "{found}");
}

#[test]
fn mistakes_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path();
    let simulate = |policy: &'static str, workload: &'static str| {
        ["simulate", "--scenario", "deadlines", "-p", policy, "-w", workload, "-n", "1"]
    };
    fs::write(dir.join("jobs.csv"), "submit_s,duration_s,num_gpus,vc\n5,7,64,a\n").unwrap();
    fs::write(dir.join("jobs.json"), "{\"nodes\": 1}").unwrap();
    for (policy, workload, says) in [
        ("qos,order=none", "builtin", "order must be one of deadline, slack, work"),
        ("fifo,refuse=1", "builtin", "unknown parameter `refuse`"),
        ("best", "builtin", "unknown policy `best`"),
        ("fifo", "philly:jobs.csv", "line 2, column 3 (`num_gpus`): expected a number in 1..=32, got `64`"),
        ("fifo", "json:jobs.json", "jobs.json: not a workload"),
        ("scorer:jobs.json", "builtin", "jobs.json"),
    ] {
        refused(dir, &simulate(policy, workload), &[says]);
    }
}
