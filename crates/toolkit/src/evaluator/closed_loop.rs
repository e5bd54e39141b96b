//! Paired comparison of policies that ran on the same episodes.

use super::{ClosedLoop, Estimate, Floor, PolicyOutcome, Ratio, Role, interval::bootstrap};

/// What one policy achieved in one episode.
#[derive(Clone, Debug, PartialEq)]
pub struct EpisodeFigures {
    /// Mean job completion time, ms; `None` if the policy stranded the cluster.
    pub mean_jct_ms: Option<f64>,
    /// Completion time of every finished job, ms, in any order; empty if they are not kept.
    pub jct_ms: Vec<f64>,
    /// Makespan, ms.
    pub makespan_ms: f64,
    /// Share of the cluster's time spent on tasks.
    pub utilisation: f64,
    /// Mean number of jobs in the system.
    pub jobs_in_system: f64,
}

/// Compares policies, given as (name, role, figures by episode). Ratios are geometric means over paired episodes, of every
/// policy to every baseline, with intervals that resample episodes.
///
/// A stalled episode is a failure and is never dropped from a ratio: the ratio is then not available.
#[must_use]
pub fn compare(
    workload: &str,
    split: &str,
    policies: &[(String, Role, Vec<EpisodeFigures>)],
    baselines: &[String],
    seed: u64,
) -> ClosedLoop {
    let outcome = |(policy, role, runs): &(String, Role, Vec<EpisodeFigures>)| {
        let done: Vec<&EpisodeFigures> = runs.iter().filter(|r| r.mean_jct_ms.is_some()).collect();
        let mean = |f: fn(&EpisodeFigures) -> f64| {
            (!done.is_empty())
                .then(|| bootstrap(done.len(), seed, |counts| weighted_mean(done.iter().map(|r| f(r)), counts)))
        };
        let average = |f: fn(&EpisodeFigures) -> f64| runs.iter().map(f).sum::<f64>() / runs.len() as f64;
        PolicyOutcome {
            policy: policy.clone(),
            role: *role,
            mean_jct_ms: mean(|r| r.mean_jct_ms.unwrap_or(f64::NAN)),
            makespan_ms: mean(|r| r.makespan_ms),
            utilisation: average(|r| r.utilisation),
            jobs_in_system: average(|r| r.jobs_in_system),
            stalled: runs.len() - done.len(),
            episode_jct_ms: runs.iter().map(|r| r.mean_jct_ms).collect(),
            jct_quantiles_ms: quantiles(runs.iter().flat_map(|r| r.jct_ms.iter().copied()).collect()),
        }
    };
    let mut ratios = Vec::new();
    for baseline in baselines {
        let Some((_, _, base)) = policies.iter().find(|(name, _, _)| name == baseline) else { continue };
        for (policy, _, runs) in policies.iter().filter(|(name, _, _)| name != baseline) {
            ratios.push(Ratio {
                policy: policy.clone(),
                baseline: baseline.clone(),
                jct: paired_ratio(runs, base, seed, |r| r.mean_jct_ms),
                makespan: paired_ratio(runs, base, seed, |r| r.mean_jct_ms.map(|_| r.makespan_ms)),
            });
        }
    }
    ClosedLoop {
        workload: workload.to_owned(),
        split: split.to_owned(),
        episodes: policies.first().map_or(0, |(_, _, runs)| runs.len()),
        policies: policies.iter().map(outcome).collect(),
        ratios,
        floor: None,
    }
}

/// What no scheduler can be better than, from its mean completion time in each episode and the first policy's figures.
#[must_use]
pub fn floor(mean_jct_ms: &[f64], first: &[EpisodeFigures], seed: u64) -> Option<Floor> {
    if mean_jct_ms.is_empty() {
        return None;
    }
    let logs: Option<Vec<f64>> = mean_jct_ms.iter().zip(first).map(|(a, b)| Some((a / b.mean_jct_ms?).ln())).collect();
    let over_episodes =
        |values: &[f64]| bootstrap(values.len(), seed, |counts| weighted_mean(values.iter().copied(), counts));
    Some(Floor {
        mean_jct_ms: over_episodes(mean_jct_ms),
        ratio: logs
            .filter(|l| l.iter().all(|v| v.is_finite()))
            .map(|logs| bootstrap(logs.len(), seed, |counts| weighted_mean(logs.iter().copied(), counts).exp())),
    })
}

/// The quantiles 0, 1/100, ..., 1, interpolated between neighbours: quantile q of n values in order is the one at place
/// q (n - 1), counted from 0. Empty if there are no values.
fn quantiles(mut values: Vec<f64>) -> Vec<f64> {
    values.sort_unstable_by(f64::total_cmp);
    let Some(last) = values.len().checked_sub(1) else { return Vec::new() };
    let at = |percent: usize| {
        let (below, rest) = (last * percent / 100, (last * percent % 100) as f64 / 100.0);
        values[below] + rest * (values[(below + 1).min(last)] - values[below])
    };
    (0..=100).map(at).collect()
}

fn weighted_mean(values: impl Iterator<Item = f64>, counts: &[u32]) -> f64 {
    let sum: f64 = values.zip(counts).map(|(v, &c)| v * f64::from(c)).sum();
    sum / f64::from(counts.iter().sum::<u32>())
}

fn paired_ratio(
    runs: &[EpisodeFigures],
    base: &[EpisodeFigures],
    seed: u64,
    figure: impl Fn(&EpisodeFigures) -> Option<f64>,
) -> Option<Estimate> {
    let logs: Option<Vec<f64>> = runs.iter().zip(base).map(|(a, b)| Some((figure(a)? / figure(b)?).ln())).collect();
    // Completion times of 0 have no ratio.
    let logs = logs.filter(|l| !l.is_empty() && l.iter().all(|v| v.is_finite()))?;
    Some(bootstrap(logs.len(), seed, |counts| weighted_mean(logs.iter().copied(), counts).exp()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figures(jct: &[Option<f64>]) -> Vec<EpisodeFigures> {
        let figure = |&mean_jct_ms: &Option<f64>| EpisodeFigures {
            mean_jct_ms,
            jct_ms: mean_jct_ms.into_iter().collect(),
            makespan_ms: 10.0,
            utilisation: 0.5,
            jobs_in_system: 2.0,
        };
        jct.iter().map(figure).collect()
    }

    #[test]
    fn a_floor_is_compared_episode_by_episode() {
        let first = figures(&[Some(10.0), Some(40.0)]);
        let found = floor(&[5.0, 10.0], &first, 1).expect("two episodes");
        assert_eq!(found.mean_jct_ms.value, 7.5);
        assert!((found.ratio.expect("completed").value - 0.125_f64.sqrt()).abs() < 1e-12);
        assert_eq!(floor(&[5.0, 10.0], &figures(&[Some(1.0), None]), 1).and_then(|f| f.ratio), None);
        assert_eq!(floor(&[], &[], 1), None);
    }

    #[test]
    fn quantiles_lie_between_neighbours_and_pool_all_episodes() {
        assert_eq!(quantiles(Vec::new()), Vec::<f64>::new());
        assert_eq!(quantiles(vec![7.0]), vec![7.0; 101]);
        let of_three = quantiles(vec![9.0, 1.0, 3.0]);
        let at = |i: usize| of_three[i];
        assert_eq!((of_three.len(), at(0), at(25), at(50), at(75), at(100)), (101, 1.0, 2.0, 3.0, 6.0, 9.0));
        let runs = ("p".to_owned(), Role::Teacher, figures(&[Some(4.0), None, Some(2.0)]));
        let found = compare("w", "test", &[runs], &[], 1);
        assert_eq!(found.policies[0].jct_quantiles_ms[50], 3.0);
    }

    #[test]
    fn ratios_are_geometric_paired_and_never_drop_a_stall() {
        let policy = |name: &str, jct: &[Option<f64>]| (name.to_owned(), Role::Heuristic, figures(jct));
        let policies = [
            policy("base", &[Some(1.0), Some(10.0), Some(4.0)]),
            policy("twice", &[Some(2.0), Some(20.0), Some(8.0)]),
            policy("mixed", &[Some(2.0), Some(5.0), Some(4.0)]),
            policy("stuck", &[Some(0.1), None, Some(0.1)]),
        ];
        let result = compare("w", "test", &policies, &["base".to_owned()], 1);
        let ratio = |name: &str| result.ratios.iter().find(|r| r.policy == name).unwrap().jct;
        let twice = ratio("twice").unwrap();
        assert!((twice.value - 2.0).abs() < 1e-12 && (twice.high - twice.low).abs() < 1e-12);
        assert!((ratio("mixed").unwrap().value - 1.0).abs() < 1e-12);
        assert_eq!(ratio("stuck"), None);
        assert_eq!(result.policies[3].stalled, 1);
        let none = compare("w", "test", &[policy("stuck", &[None, None])], &[], 1);
        assert_eq!((none.policies[0].mean_jct_ms, none.policies[0].stalled), (None, 2));
    }
}
