//! From scores to a choice: log-probabilities, and the greedy or sampled candidate.

use crate::{level::first_max, rng::Stream};

/// Takes the first of the most probable candidates, or draws one.
#[derive(Clone, Debug)]
pub struct Picker {
    sample: bool,
    /// Which of the streams under an episode's seed the draws come from.
    label: &'static str,
    stream: Stream,
}

impl Picker {
    /// A picker that draws if `sample`, under this label of its random stream.
    #[must_use]
    pub fn new(sample: bool, label: &'static str) -> Self {
        Self { sample, label, stream: Stream::new(0, label) }
    }

    /// Whether it draws nothing.
    #[must_use]
    pub fn is_greedy(&self) -> bool {
        !self.sample
    }

    /// The same before its first episode.
    #[must_use]
    pub fn fresh(&self) -> Self {
        Self::new(self.sample, self.label)
    }

    /// Begins an episode.
    pub fn reset(&mut self, episode_seed: u64) {
        self.stream = Stream::new(episode_seed, self.label);
    }

    /// Index of the candidate to take.
    #[inline]
    pub fn pick(&mut self, log_prob: &[f64]) -> usize {
        match self.sample {
            true => draw(log_prob, self.stream.uniform()),
            // Networks count in 32 bits: what is equal there is a tie.
            false => first_max(log_prob.iter().map(|&p| f64::from(p as f32))),
        }
    }
}

/// Appends the log-softmax of the scores; false if one is not finite. In 64 bits, since log-probabilities far below 0 are told
/// apart by less than 32 bits can hold, and the probabilities of the next level are their differences. The best score is
/// taken away first: beside a score of 10¹⁵ the logarithm of the sum would be lost even there.
pub fn log_softmax(scores: &[f32], out: &mut Vec<f64>) -> bool {
    let most = scores.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let sum: f64 = scores.iter().map(|s| f64::from(s - most).exp()).sum();
    let (most, rest) = (f64::from(most), sum.ln());
    out.extend(scores.iter().map(|&s| f64::from(s) - most - rest));
    out.iter().all(|p| p.is_finite())
}

/// Index drawn from log-probabilities with one uniform number.
#[inline]
#[must_use]
pub fn draw(log_probabilities: &[f64], uniform: f64) -> usize {
    let mut left = uniform;
    for (i, p) in log_probabilities.iter().enumerate() {
        left -= f64::from(*p as f32).exp();
        if left < 0.0 {
            return i;
        }
    }
    // Rounding has left something over: the last that is not ruled out.
    let last = log_probabilities.iter().rposition(|&p| p > f64::NEG_INFINITY);
    last.unwrap_or(log_probabilities.len() - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_ruled_out_is_not_drawn() {
        let log_prob = [f64::NEG_INFINITY, 0.5f64.ln(), 0.5f64.ln(), f64::NEG_INFINITY];
        assert_eq!([0.0, 0.4, 0.6, 1.0].map(|uniform| draw(&log_prob, uniform)), [1, 1, 2, 2]);
    }

    #[test]
    fn scores_of_any_size_have_probabilities() {
        for size in [0.0, 1.0, 1e6, 1e14, 1e20, 3e38] {
            for scores in [[size; 3], [-size; 3], [size, -size, size], [0.0, -size, -size]] {
                let mut log_prob = Vec::new();
                assert!(log_softmax(&scores, &mut log_prob), "{scores:?}");
                let sum: f64 = log_prob.iter().map(|p| p.exp()).sum();
                assert!((sum - 1.0).abs() < 1e-9, "{scores:?}: {log_prob:?}");
            }
        }
    }
}
