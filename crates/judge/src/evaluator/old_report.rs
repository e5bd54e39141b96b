//! Closed loops as they were written when completion time was every scenario's goal.

use super::{ClosedLoop, Estimate, Estimates, Floor, Looks, PairedFigures, PolicyOutcome, Role};
use sched_distill_core::figure::{COMPLETION_FIGURES, Figure};
use serde::Deserialize;
use std::collections::BTreeMap;

/// A closed loop of this version or of the one before.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct AnyClosedLoop {
    workload: String,
    split: String,
    episodes: usize,
    #[serde(default)]
    looks: Option<Looks>,
    #[serde(default)]
    identical_episodes: bool,
    #[serde(default)]
    empty_episodes: Vec<usize>,
    #[serde(default)]
    figures: Vec<Figure>,
    policies: Vec<AnyPolicy>,
    #[serde(default)]
    comparisons: Vec<PairedFigures>,
    #[serde(default)]
    ratios: Vec<OldRatio>,
    #[serde(default)]
    floor: Option<AnyFloor>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum AnyPolicy {
    New(PolicyOutcome),
    Old(OldPolicy),
}

#[derive(Deserialize)]
struct OldPolicy {
    policy: String,
    role: Role,
    mean_jct_ms: Option<Estimate>,
    makespan_ms: Option<Estimate>,
    utilisation: f64,
    jobs_in_system: f64,
    stalled: usize,
    episode_jct_ms: Vec<Option<f64>>,
    #[serde(default)]
    jct_quantiles_ms: Vec<f64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct OldRatio {
    policy: String,
    baseline: String,
    jct: Option<Estimate>,
    makespan: Option<Estimate>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum AnyFloor {
    New(Floor),
    Old { mean_jct_ms: Estimate, ratio: Option<Estimate> },
}

impl From<OldPolicy> for PolicyOutcome {
    fn from(old: OldPolicy) -> Self {
        // Without intervals, as these two were written.
        let exact = |value: f64| Some(Estimate { value, low: value, high: value });
        let figures = [
            ("mean_jct_ms", old.mean_jct_ms),
            ("makespan_ms", old.makespan_ms),
            ("utilisation", exact(old.utilisation)),
            ("jobs_in_system", exact(old.jobs_in_system)),
        ];
        Self {
            policy: old.policy,
            role: old.role,
            figures: named(figures),
            stalled: old.stalled,
            stalls: BTreeMap::new(),
            empty: 0,
            rejected: 0,
            longest_idle: None,
            episode_objective: old.episode_jct_ms,
            completion_quantiles_ms: old.jct_quantiles_ms,
        }
    }
}

fn named<const N: usize>(figures: [(&str, Option<Estimate>); N]) -> Estimates {
    figures.into_iter().map(|(name, estimate)| (name.to_owned(), estimate)).collect()
}

impl From<AnyClosedLoop> for ClosedLoop {
    fn from(any: AnyClosedLoop) -> Self {
        let old = any.ratios.into_iter().map(|r| PairedFigures {
            policy: r.policy,
            baseline: r.baseline,
            figures: named([("mean_jct_ms", r.jct), ("makespan_ms", r.makespan)]),
            tail: None,
            by_size: None,
        });
        Self {
            workload: any.workload,
            split: any.split,
            episodes: any.episodes,
            looks: any.looks,
            identical_episodes: any.identical_episodes,
            empty_episodes: any.empty_episodes,
            figures: if any.figures.is_empty() { COMPLETION_FIGURES.to_vec() } else { any.figures },
            policies: any
                .policies
                .into_iter()
                .map(|policy| match policy {
                    AnyPolicy::New(policy) => policy,
                    AnyPolicy::Old(policy) => policy.into(),
                })
                .collect(),
            comparisons: any.comparisons.into_iter().chain(old).collect(),
            floor: any.floor.map(|floor| match floor {
                AnyFloor::New(floor) => floor,
                AnyFloor::Old { mean_jct_ms, ratio } => Floor { objective: mean_jct_ms, compared: ratio },
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_closed_loop_of_the_version_before_is_read() {
        let estimate = |value: f64| format!(r#"{{"value": {value}, "low": 1, "high": 9}}"#);
        let text = format!(
            r#"{{"workload": "builtin", "split": "test", "episodes": 2, "policies": [
                {{"policy": "fair", "role": "heuristic", "mean_jct_ms": {}, "makespan_ms": null, "utilisation": 0.5,
                  "jobs_in_system": 3.5, "stalled": 1, "episode_jct_ms": [4, null], "jct_quantiles_ms": [1, 2]}}],
               "ratios": [{{"policy": "fair", "baseline": "fifo", "jct": {}, "makespan": null}}],
               "floor": {{"mean_jct_ms": {}, "ratio": null}}}}"#,
            estimate(4.0),
            estimate(0.5),
            estimate(2.0)
        );
        let read: ClosedLoop = serde_json::from_str(&text).unwrap();
        assert_eq!(read.objective().name, "mean_jct_ms");
        let policy = &read.policies[0];
        assert_eq!(policy.figure("mean_jct_ms").unwrap().value, 4.0);
        assert_eq!((policy.figure("makespan_ms"), policy.figure("utilisation").unwrap().value), (None, 0.5));
        assert_eq!((&policy.episode_objective[..], policy.stalled), (&[Some(4.0), None][..], 1));
        assert_eq!(read.paired("fair", "fifo").unwrap().value, 0.5);
        assert_eq!(read.floor.as_ref().unwrap().objective.value, 2.0);
        let again: ClosedLoop = serde_json::from_str(&serde_json::to_string(&read).unwrap()).unwrap();
        assert_eq!(again, read);
        assert!(serde_json::from_str::<ClosedLoop>(&text.replace("workload", "load")).is_err());
    }
}
