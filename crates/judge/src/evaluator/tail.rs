//! Those who wait longest: the tail of completion times under two policies, and the episode that one of them does worst in.

use super::{
    Estimate,
    interval::{RESAMPLES, draws},
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

fn exponential(e: Estimate) -> Estimate {
    Estimate { value: e.value.exp(), low: e.low.exp(), high: e.high.exp() }
}
