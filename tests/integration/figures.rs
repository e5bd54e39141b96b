//! What `distill simulate` says of policies on test episodes, and single figures of it.

use crate::program::done;
use serde_json::Value;
use std::path::Path;

/// What it says of these policies.
pub(crate) fn simulate(dir: &Path, scenario: &str, workload: &str, episodes: u32, policies: &[&str]) -> Value {
    let episodes = episodes.to_string();
    let mut args = vec!["simulate", "--scenario", scenario, "-w", workload, "-n", &episodes, "--json"];
    policies.iter().for_each(|policy| args.extend(["-p", policy]));
    let lines = done(dir, &args);
    serde_json::from_str(lines.lines().next().unwrap()).unwrap()
}

/// A figure of a policy against another one: its value and interval.
pub(crate) fn against(found: &Value, policy: &str, baseline: &str, figure: &str) -> [f64; 3] {
    let comparisons = found["comparisons"].as_array().unwrap();
    let of = comparisons.iter().find(|c| c["policy"] == policy && c["baseline"] == baseline);
    let figures = &of.unwrap_or_else(|| panic!("{policy}: {found}"))["figures"];
    ["value", "low", "high"].map(|part| figures[figure][part].as_f64().unwrap())
}

/// A figure of a policy.
pub(crate) fn own(found: &Value, policy: &str, figure: &str) -> f64 {
    let policies = found["policies"].as_array().unwrap();
    let of = policies.iter().find(|p| p["policy"] == policy).unwrap_or_else(|| panic!("{policy}: {found}"));
    of["figures"][figure]["value"].as_f64().unwrap_or_else(|| panic!("{figure} of {policy}"))
}
