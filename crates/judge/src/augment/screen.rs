//! Which numbers of a student are worth moving.

use super::{
    Arena, AugmentError,
    numbers::{Coordinate, at},
};
use sched_distill_core::{
    model::Student,
    rng::{Split, Stream},
    simulation::Simulated,
};

/// How students are drawn.
#[derive(Clone, Copy, Debug)]
pub(super) struct Screening {
    /// How far every number moves, in its scale.
    pub(super) step: f64,
    /// Pairs of students, and training episodes: each pair has one of its own.
    pub(super) pairs: u32,
    /// Number of the first episode.
    pub(super) first: u32,
    pub(super) seed: u64,
}

/// No difference of two costs counts more: a student that strands the cluster costs infinitely much.
const MOST: f64 = 1.0;

/// The pull of each number: how much costs rise where it is moved up, in standard errors of that estimate.
///
/// Each pair moves all numbers at once, each by the same step up or down as a coin falls, and in the other student of
/// the pair the other way; both meet the same episode (Spall 1992, simultaneous perturbation). A number's pull is the
/// mean over pairs of the difference in cost, with the sign of the number's own move: all others' moves average out. So
/// the episodes needed do not grow with the count of the numbers.
pub(super) fn pulls<S: Simulated>(
    arena: &mut Arena<'_, S>,
    base: &Student,
    coordinates: &[Coordinate],
    screening: Screening,
) -> Result<Vec<f64>, AugmentError> {
    let Screening { step, pairs, first, seed } = screening;
    let mut draws = Stream::new(seed, "screen");
    let signs: Vec<Vec<f64>> = (0..pairs)
        .map(|_| coordinates.iter().map(|_| if draws.below(2) == 0 { step } else { -step }).collect())
        .collect();
    let asked: Vec<(Student, u32)> = (first..)
        .zip(&signs)
        .flat_map(|(episode, up)| {
            let down: Vec<f64> = up.iter().map(|x| -x).collect();
            [(at(base, coordinates, up, true), episode), (at(base, coordinates, &down, true), episode)]
        })
        .collect();
    let mut costs = Vec::new();
    // In pieces, so that the journal has most of it if the process is killed.
    for some in asked.chunks(256) {
        costs.extend(arena.run_each(some, Split::Train)?);
    }
    let differences: Vec<f64> = costs.chunks_exact(2).map(|pair| difference(pair[0], pair[1])).collect();
    let spread = differences.iter().map(|d| d * d).sum::<f64>().sqrt();
    let pull = |i: usize| {
        let sum: f64 = differences.iter().zip(&signs).map(|(d, s)| d * s[i].signum()).sum();
        if spread > 0.0 { sum / spread } else { 0.0 }
    };
    Ok((0..coordinates.len()).map(pull).collect())
}

fn difference(a: f64, b: f64) -> f64 {
    match (a.is_finite(), b.is_finite()) {
        (true, true) => (a - b).clamp(-MOST, MOST),
        (false, false) => 0.0,
        (false, true) => MOST,
        (true, false) => -MOST,
    }
}

/// Places of the `most` numbers that pull hardest, in their order; of equals the first.
pub(super) fn strongest(pulls: &[f64], most: usize) -> Vec<usize> {
    let mut ranked: Vec<usize> = (0..pulls.len()).collect();
    ranked.sort_by(|&a, &b| pulls[b].abs().total_cmp(&pulls[a].abs()).then(a.cmp(&b)));
    ranked.truncate(most);
    ranked.sort_unstable();
    ranked
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_strongest_keep_their_order() {
        assert_eq!(strongest(&[0.5, -3.0, 2.0, -3.0], 2), [1, 3]);
        assert_eq!(strongest(&[1.0, 1.0, 1.0], 1), [0]);
        assert_eq!(strongest(&[], 4), [0; 0]);
    }

    #[test]
    fn who_strands_the_cluster_is_worse_by_a_bounded_amount() {
        assert_eq!(difference(f64::INFINITY, 3.0), MOST);
        assert_eq!(difference(3.0, f64::INFINITY), -MOST);
        assert_eq!(difference(f64::INFINITY, f64::INFINITY), 0.0);
        assert!((difference(1.2, 1.0) - 0.2).abs() < 1e-12);
    }
}
