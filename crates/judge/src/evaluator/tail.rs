//! Those who wait longest: the tail of completion times under two policies, and the episode that one of them does worst in.

use super::{
    Estimate,
    interval::{RESAMPLES, draws, exponential},
    looks::{Looks, held},
    percentile_interval,
};
use rayon::prelude::*;
use sched_distill_core::figure::Figure;
use sched_distill_trace::EpisodeFigures;
use serde::{Deserialize, Serialize};

/// The slowest jobs under a policy against those under its baseline, on the same episodes. Jobs that are turned away are none.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PairedTail {
    /// The completion time that 95 % of the jobs of all episodes do not exceed ÷ the baseline's.
    pub p95: Estimate,
    /// The same of 99 %.
    pub p99: Estimate,
    /// The completion time of an episode's slowest job ÷ that of the baseline's slowest: the geometric mean over episodes.
    pub slowest: Estimate,
    /// The episode in which the policy does worst against its baseline.
    pub worst_episode: WorstEpisode,
}

/// The episode in which a policy does worst against its baseline.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WorstEpisode {
    /// Its number.
    pub episode: usize,
    /// The objective against the baseline's, as it is compared.
    pub compared: f64,
}

/// Percents of the jobs that are not beyond a tail.
const PERCENTS: [u64; 2] = [95, 99];

/// Completion times of all episodes of a policy, the longest first, each with its episode.
pub(super) struct Times {
    descending: Vec<(f64, u32)>,
    /// Completed jobs by episode.
    jobs: Vec<u64>,
    slowest: Vec<f64>,
    /// The two quantiles by resample, those of all episodes first.
    quantiles: Vec<[f64; 2]>,
}

impl Times {
    /// Of the episodes that count; `None` if one stalled, or without jobs. The same seed draws the same episodes for every policy.
    pub(super) fn new(runs: &[EpisodeFigures], seed: u64) -> Option<Self> {
        let told = || runs.iter().filter(|run| !run.empty);
        let each = told().zip(0..).flat_map(|(run, place)| completed(run).map(move |ms| (ms, place)));
        let mut descending: Vec<(f64, u32)> = each.collect();
        let jobs: Vec<u64> = told().map(|run| completed(run).count() as u64).collect();
        if told().any(|run| run.stall.is_some()) || jobs.contains(&0) || jobs.is_empty() {
            return None;
        }
        descending.par_sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        let slowest = told().map(|run| completed(run).fold(0.0, f64::max)).collect();
        let mut times = Self { descending, jobs, slowest, quantiles: Vec::with_capacity(1 + RESAMPLES) };
        let mut quantiles = vec![times.of(&vec![1; times.jobs.len()])];
        draws(times.jobs.len(), seed, |counts| quantiles.push(times.of(counts)));
        times.quantiles = quantiles;
        Some(times)
    }

    /// The quantiles where episodes count so often: that of n values at place q (n - 1), between neighbours in proportion.
    fn of(&self, counts: &[u32]) -> [f64; 2] {
        let all: u64 = self.jobs.iter().zip(counts).map(|(&jobs, &count)| jobs * u64::from(count)).sum();
        let mut left = self.descending.iter();
        // Values up to and with the last one looked at.
        let (mut passed, mut value) = (0u64, f64::NAN);
        let mut found = [f64::NAN; 2];
        // From the longest on, so the larger share first.
        for (percent, found) in PERCENTS.into_iter().zip(&mut found).rev() {
            let hundredths = all.saturating_sub(1) * (100 - percent);
            let mut at = |place: u64| {
                while passed <= place
                    && let Some(&(ms, episode)) = left.next()
                {
                    (passed, value) = (passed + u64::from(counts[episode as usize]), ms);
                }
                value
            };
            let (place, rest) = (hundredths / 100, (hundredths % 100) as f64 / 100.0);
            let above = at(place);
            let below = if rest > 0.0 { at(place + 1) } else { above };
            *found = above + rest * (below - above);
        }
        found
    }
}

/// Compares the tails of two policies, and their objective by episode.
pub(super) fn paired_tail(
    [own, base]: [&Times; 2],
    (objective, episodes): (&Figure, impl Iterator<Item = (usize, f64, f64)>),
    (looks, seed): (Option<&Looks>, u64),
) -> Option<PairedTail> {
    let quantile = |place: usize| {
        let ratios = own.quantiles.iter().zip(&base.quantiles).map(|(own, base)| (own[place] / base[place]).ln());
        let mut ratios: Vec<f64> = ratios.collect();
        let value = ratios.remove(0);
        let (low, high) = percentile_interval(&mut ratios)?;
        Some(exponential(held(looks, Estimate { value, low, high }, own.jobs.len()))).filter(|e| e.value.is_finite())
    };
    let slowest: Vec<f64> = own.slowest.iter().zip(&base.slowest).map(|(own, base)| (own / base).ln()).collect();
    let slowest = super::closed_loop::mean(&slowest, seed);
    let of_episode = |(episode, own, base)| Some(WorstEpisode { episode, compared: objective.pair(own, base)? });
    // The first of equals.
    let worse = |a: WorstEpisode, b: WorstEpisode| {
        let cost = |e: &WorstEpisode| objective.cost(Some(e.compared));
        if cost(&b) > cost(&a) { b } else { a }
    };
    Some(PairedTail {
        p95: quantile(0)?,
        p99: quantile(1)?,
        slowest: exponential(held(looks, slowest, own.jobs.len())),
        worst_episode: episodes.filter_map(of_episode).reduce(worse)?,
    })
}

/// Completion times of the jobs of an episode that were completed, ms.
pub(super) fn completed(run: &EpisodeFigures) -> impl Iterator<Item = f64> {
    run.completion_times_ms.iter().flatten().copied()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evaluator::{Role, Runs, closed_loop::compare};
    use sched_distill_core::{
        figure::{COMPLETION_FIGURES, Stall},
        rng::Stream,
    };

    fn episode(times: Vec<f64>) -> EpisodeFigures {
        let mean = times.iter().sum::<f64>() / times.len() as f64;
        EpisodeFigures {
            figures: COMPLETION_FIGURES.iter().map(|_| Some(mean)).collect(),
            stall: None,
            empty: false,
            rejected: 0,
            longest_idle_ms: None,
            sizes: times.iter().map(|time| time.min(9.0)).collect(),
            completion_times_ms: times.into_iter().map(Some).collect(),
        }
    }

    /// Episodes of jobs, and the same with every job that takes more than a limit slower by a factor.
    fn both(limit: f64, factor: f64) -> [Vec<EpisodeFigures>; 2] {
        let mut stream = Stream::new(3, "tail");
        let episodes: Vec<Vec<f64>> =
            (0..30).map(|_| (0..40).map(|_| 1.0 + stream.exponential(5.0)).collect()).collect();
        let slower = |time: &f64| if *time > limit { factor * time } else { *time };
        let after = episodes.iter().map(|times| episode(times.iter().map(slower).collect())).collect();
        [episodes.into_iter().map(episode).collect(), after]
    }

    fn tail([base, own]: [Vec<EpisodeFigures>; 2]) -> Option<PairedTail> {
        let policies = [("net".to_owned(), Role::Teacher, base), ("tree".to_owned(), Role::Student, own)];
        let size = Some(("size", "ms"));
        let runs =
            Runs { workload: "w", split: "t", figures: COMPLETION_FIGURES, size, looks: None, policies: &policies };
        let found = compare(runs, &["net".to_owned()], 1);
        // Quantiles of all jobs are told beside, and are the same.
        if let Some(tail) = found.tail_of("tree", "net") {
            let at = |policy: usize, percent: usize| found.policies[policy].completion_quantiles_ms[percent];
            assert!((tail.p95.value - at(1, 95) / at(0, 95)).abs() < 1e-12, "{tail:?}");
            assert!((tail.p99.value - at(1, 99) / at(0, 99)).abs() < 1e-12, "{tail:?}");
        }
        found.tail_of("tree", "net").cloned()
    }

    #[test]
    fn tails_tell_what_means_hide() {
        let found = tail(both(20.0, 2.0)).unwrap();
        assert_eq!(
            (found.p99.value, found.p99.low <= 2.0, found.p99.high >= 2.0),
            (2.0, true, true),
            "all beyond 20 ms"
        );
        assert!(found.slowest.value > 1.5 && found.worst_episode.compared > 1.0);
        let same = tail(both(1e9, 2.0)).unwrap();
        assert!(same.p95.is_exact() && same.slowest.value == 1.0 && same.worst_episode.compared == 1.0);
        // In the worst episode no other one does worse.
        let [base, own] = both(20.0, 2.0);
        let ratio = |i: usize| own[i].of(0).unwrap() / base[i].of(0).unwrap();
        assert!((0..30).all(|i| ratio(i) <= found.worst_episode.compared + 1e-12));
    }

    #[test]
    fn a_quantile_of_drawn_episodes_is_that_of_their_jobs() {
        let [base, _] = both(1e9, 1.0);
        let times = Times::new(&base, 1).unwrap();
        let mut stream = Stream::new(5, "counts");
        for _ in 0..50 {
            let counts: Vec<u32> = (0..30).map(|_| stream.below(3) as u32).collect();
            let mut jobs: Vec<f64> = Vec::new();
            for (run, &count) in base.iter().zip(&counts) {
                (0..count).for_each(|_| jobs.extend(completed(run)));
            }
            jobs.sort_unstable_by(f64::total_cmp);
            let at = |percent: usize| {
                let place = (jobs.len() - 1) * percent;
                let (below, rest) = (place / 100, (place % 100) as f64 / 100.0);
                jobs[below] + rest * (jobs[(below + 1).min(jobs.len() - 1)] - jobs[below])
            };
            let found = times.of(&counts);
            assert!((found[0] - at(95)).abs() < 1e-9 && (found[1] - at(99)).abs() < 1e-9, "{found:?}");
        }
    }

    #[test]
    fn who_stalls_has_no_tail() {
        let [base, mut own] = both(20.0, 2.0);
        own[3].stall = Some(Stall::Stranded);
        assert_eq!(tail([base, own]), None);
    }
}
