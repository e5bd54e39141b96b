//! Racing: many candidates on the same episodes, the clearly worse ones drop out early.
//!
//! Maron and Moore, Hoeffding races (1994), with paired t statistics instead of Hoeffding's bound: common random
//! numbers make differences far less noisy than completion times themselves.

use super::{Arena, AugmentError};
use sched_distill_core::{model::Student, rng::Split, simulation::Simulated};
use std::ops::Range;

/// Mean of paired differences of the objective as a cost, and how sure it is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Paired {
    /// Mean difference; below 0 is better.
    pub mean: f64,
    /// Its standard error; 0 for a single episode.
    pub se: f64,
    /// Number of episodes.
    pub n: usize,
}

impl Paired {
    /// Of `a` − `b`, episode by episode. Who strands the cluster (+∞) more often is worse, by ∞; where both do so
    /// equally often, the episodes count that both complete.
    #[must_use]
    pub fn new(a: &[f64], b: &[f64]) -> Self {
        let stalls = |scores: &[f64]| scores.iter().filter(|s| s.is_infinite()).count();
        let (of_a, of_b) = (stalls(a), stalls(b));
        if of_a != of_b {
            let mean = if of_a > of_b { f64::INFINITY } else { f64::NEG_INFINITY };
            return Self { mean, se: 0.0, n: a.len() };
        }
        let differences = || a.iter().zip(b).map(|(a, b)| a - b).filter(|d| d.is_finite());
        let n = differences().count();
        let mean = differences().sum::<f64>() / n as f64;
        let square: f64 = differences().map(|d| (d - mean).powi(2)).sum();
        Self { mean, se: (square / (n * n.saturating_sub(1)).max(1) as f64).sqrt(), n }
    }

    /// One-sided 95 % bound on how much larger the true mean could be.
    fn margin(&self) -> f64 {
        quantile(Z95, self.n.saturating_sub(1)) * self.se
    }

    /// Whether `a` is better, with 95 % confidence.
    #[must_use]
    pub fn is_better(&self) -> bool {
        self.mean + self.margin() < 0.0
    }

    /// Whether `a` is better, with 95 % confidence over up to four looks at a growing sample (Pocock 1977).
    #[must_use]
    pub fn is_better_at_a_look(&self) -> bool {
        self.mean + quantile(POCOCK, self.n.saturating_sub(1)) * self.se < 0.0
    }

    /// Two-sided 95 % interval of the mean: its half width.
    #[must_use]
    pub fn half_width(&self) -> f64 {
        quantile(Z975, self.n.saturating_sub(1)) * self.se
    }

    /// Whether `a` is not better for sure: worse with 95 % confidence, or not comparable.
    #[must_use]
    pub fn is_worse(&self) -> bool {
        let least = self.mean - self.margin();
        least.is_nan() || least > 0.0
    }
}

/// 95 % quantile of the normal distribution.
const Z95: f64 = 1.644_854;

/// 97.5 % quantile of the normal distribution.
const Z975: f64 = 1.959_964;

/// What a standard normal statistic must exceed at one of four equally spaced looks, so that it does so at any of them
/// with a probability of 5 % (one-sided) where there is nothing to find (Pocock 1977, table 1, two-sided 10 %).
const POCOCK: f64 = 2.067;

/// The quantile of Student's t that belongs to a quantile of the normal distribution (Cornish–Fisher expansion; for 95
/// % within 1 % from 3 degrees of freedom on).
fn quantile(z: f64, degrees: usize) -> f64 {
    let n = degrees.max(1) as f64;
    let (z3, z5, z7) = (z.powi(3), z.powi(5), z.powi(7));
    let second = (5.0 * z5 + 16.0 * z3 + 3.0 * z) / (96.0 * n * n);
    let third = (3.0 * z7 + 19.0 * z5 + 17.0 * z3 - 15.0 * z) / (384.0 * n * n * n);
    z + (z3 + z) / (4.0 * n) + second + third
}

/// Training episodes of a race.
#[derive(Clone, Copy, Debug)]
pub(super) struct Course {
    /// Number of the first.
    pub(super) first: u32,
    /// How many the first round has.
    pub(super) block: u32,
    /// How many there are in all.
    pub(super) most: u32,
}

/// How a race ended.
#[derive(Debug, Default)]
pub(super) struct Raced {
    /// The survivors, best first, with their differences to the incumbent.
    pub(super) ranked: Vec<(usize, Paired)>,
    /// Those that were left after the first round.
    pub(super) promising: Vec<usize>,
}

/// Races `candidates` against `incumbent`: over a block of episodes at first, twice as many in all after each round.
/// After each round those drop out that are significantly worse than the incumbent or than the best candidate, that
/// decide as the incumbent does, and the worse half of the rest. No round begins that would pass the `budget`.
pub(super) fn race<S: Simulated>(
    arena: &mut Arena<'_, S>,
    incumbent: &Student,
    candidates: &[Student],
    course: Course,
    budget: u64,
) -> Result<Raced, AugmentError> {
    let Course { first, block, most } = course;
    let mut alive: Vec<usize> = (0..candidates.len()).collect();
    let mut scores: Vec<Vec<f64>> = vec![Vec::new(); candidates.len()];
    let mut base = Vec::new();
    let mut next: Range<u32> = first..first + block.min(most);
    let mut ranked: Vec<(usize, Paired)> = Vec::new();
    let mut promising: Option<Vec<usize>> = None;
    let cost = |students: usize, episodes: &Range<u32>| (students as u64 + 1) * episodes.len() as u64;
    while !alive.is_empty() && !next.is_empty() && arena.spent() + cost(alive.len(), &next) <= budget {
        let mut students: Vec<&Student> = vec![incumbent];
        students.extend(alive.iter().map(|&i| &candidates[i]));
        let results = arena.run(&students, Split::Train, next.clone())?;
        let (of_base, of_candidates) = results.split_at(1);
        base.extend_from_slice(&of_base[0]);
        for (&i, result) in alive.iter().zip(of_candidates) {
            scores[i].extend_from_slice(result);
        }
        ranked = alive.iter().map(|&i| (i, Paired::new(&scores[i], &base))).collect();
        ranked.sort_by(|a, b| a.1.mean.total_cmp(&b.1.mean));
        let best = ranked[0].0;
        ranked.retain(|&(i, paired)| {
            let changes = scores[i].iter().zip(&base).any(|(a, b)| a != b);
            changes && !paired.is_worse() && (i == best || !Paired::new(&scores[i], &scores[best]).is_worse())
        });
        let half = ranked.len().div_ceil(2);
        let done = next.end - first;
        next = next.end..first + (2 * done).min(most);
        if !next.is_empty() {
            ranked.truncate(half);
        }
        alive = ranked.iter().map(|r| r.0).collect();
        promising.get_or_insert_with(|| alive.clone());
        // The last one needs no further rounds if it is better for sure.
        if let [(_, only)] = ranked[..]
            && only.is_better()
        {
            break;
        }
    }
    Ok(Raced { ranked, promising: promising.unwrap_or_default() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_those_of_the_tables() {
        for (degrees, expected) in [(3, 2.353), (5, 2.015), (10, 1.812), (30, 1.697), (1000, 1.646)] {
            let found = quantile(Z95, degrees);
            assert!((found / expected - 1.0).abs() < 0.01, "{degrees}: {found}");
        }
    }

    #[test]
    fn paired_differences_are_judged_by_their_own_noise() {
        let base = [10.0, 12.0, 11.0, 13.0];
        let better: Vec<f64> = base.iter().zip([0.1, 0.11, 0.09, 0.1]).map(|(b, d)| b - d).collect();
        let paired = Paired::new(&better, &base);
        assert!((paired.mean + 0.1).abs() < 1e-12 && paired.is_better() && !paired.is_worse());
        let back = Paired::new(&base, &better);
        assert!(back.is_worse() && !back.is_better());
        let noise: Vec<f64> = base.iter().zip([0.5, -0.4, 0.3, -0.5]).map(|(b, d)| b - d).collect();
        let paired = Paired::new(&noise, &base);
        assert!(!paired.is_better() && !paired.is_worse());
    }

    #[test]
    fn a_stall_is_never_better() {
        let (base, stall) = ([1.0, 1.0], [0.0, f64::INFINITY]);
        assert!(Paired::new(&stall, &base).is_worse() && !Paired::new(&stall, &base).is_better());
        assert!(!Paired::new(&stall, &stall).is_better());
        // Whoever cures it is better at once; where both stall, the other episodes tell.
        assert!(Paired::new(&base, &stall).is_better());
        let (a, b) = ([1.0, f64::INFINITY, 2.0, 3.0], [1.5, f64::INFINITY, 2.5, 3.5]);
        assert_eq!((Paired::new(&a, &b).mean, Paired::new(&a, &b).n), (-0.5, 3));
    }
}
