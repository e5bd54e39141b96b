//! Reproducible randomness: counter-based draws, streams and episode seeds.
//!
//! Every draw is a pure function of a key. Two policies that replay the same episode therefore meet the same luck at the
//! same point (common random numbers), whatever they decide in between and on however many threads they run.

use serde::{Deserialize, Serialize};

/// Hashes a key of several words to 64 well mixed bits (the SplitMix64 finaliser, chained).
///
/// The result depends on the words, their order and their number.
#[inline]
#[must_use]
pub fn hash(words: &[u64]) -> u64 {
    words.iter().fold(start(words.len()), |state, &word| extend(state, word))
}

/// [`hash`] of a key of `words` words before its first word; [`extend`] takes in one after the other. Keys that begin alike
/// need their beginning mixed only once.
///
/// ```
/// use sched_distill_core::rng::{extend, hash, start};
/// assert_eq!(extend(extend(start(2), 7), 8), hash(&[7, 8]));
/// ```
#[inline]
#[must_use]
pub const fn start(words: usize) -> u64 {
    0x9E37_79B9_7F4A_7C15 ^ words as u64
}

/// One more word of a key, see [`start`].
#[inline]
#[must_use]
pub const fn extend(state: u64, word: u64) -> u64 {
    mix(state ^ mix(word.wrapping_add(0x9E37_79B9_7F4A_7C15)))
}

#[inline]
const fn mix(mut z: u64) -> u64 {
    z = z.wrapping_add(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// Maps 64 bits to a uniform number in `[0, 1)` with 53 bits of precision.
#[inline]
#[must_use]
pub fn unit(bits: u64) -> f64 {
    (bits >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
}

/// A standard normal draw of a key (Box and Muller, one of the pair).
#[must_use]
pub fn normal(words: &[u64]) -> f64 {
    let (first, longer) = (hash(words), words.iter().fold(start(words.len() + 1), |state, &word| extend(state, word)));
    let radius = (-2.0 * (1.0 - unit(first)).ln()).sqrt();
    radius * (std::f64::consts::TAU * unit(extend(longer, 1))).cos()
}

/// Maps 64 bits to a uniform integer in `0..n` (0 for `n = 0`).
#[inline]
#[must_use]
pub const fn scale(bits: u64, n: u32) -> u32 {
    ((bits as u128 * n as u128) >> 64) as u32
}

/// A sequence of draws that belongs to one purpose (`label`) under one seed.
///
/// ```
/// use sched_distill_core::rng::Stream;
/// let (mut a, mut b) = (Stream::new(7, "arrivals"), Stream::new(7, "arrivals"));
/// assert_eq!(a.uniform(), b.uniform());
/// assert!(Stream::new(7, "policy").uniform() != Stream::new(7, "arrivals").uniform());
/// ```
#[derive(Clone, Debug)]
pub struct Stream {
    key: u64,
    counter: u64,
}

impl Stream {
    /// The stream of `label` under `seed`.
    #[must_use]
    pub fn new(seed: u64, label: &str) -> Self {
        let words: Vec<u64> = std::iter::once(seed).chain(label.bytes().map(u64::from)).collect();
        Self { key: hash(&words), counter: 0 }
    }

    /// 64 random bits.
    #[inline]
    pub fn bits(&mut self) -> u64 {
        self.counter += 1;
        hash(&[self.key, self.counter])
    }

    /// Uniform in `[0, 1)`.
    #[inline]
    pub fn uniform(&mut self) -> f64 {
        unit(self.bits())
    }

    /// Uniform in `low..high`, both finite.
    #[inline]
    pub fn uniform_in(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.uniform()
    }

    /// Uniform integer in `0..n`; `n` must be positive.
    #[inline]
    pub fn below(&mut self, n: usize) -> usize {
        debug_assert!(n > 0);
        ((u128::from(self.bits()) * n as u128) >> 64) as usize
    }

    /// Exponential with the given mean.
    pub fn exponential(&mut self, mean: f64) -> f64 {
        -mean * (1.0 - self.uniform()).ln()
    }

    /// Standard normal (Box–Muller, one of the pair).
    pub fn normal(&mut self) -> f64 {
        let radius = (-2.0 * (1.0 - self.uniform()).ln()).sqrt();
        radius * (std::f64::consts::TAU * self.uniform()).cos()
    }
}

/// What an episode may be used for. The four ranges of seeds never meet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Split {
    /// Fitting.
    Train,
    /// Searching and choosing between fits.
    Validation,
    /// Figures looked at during development.
    Test,
    /// Closing figures; read only on request.
    Final,
}

impl Split {
    /// All splits, in order.
    pub const ALL: [Split; 4] = [Split::Train, Split::Validation, Split::Test, Split::Final];

    /// The name used on the command line and in files.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Split::Train => "train",
            Split::Validation => "validation",
            Split::Test => "test",
            Split::Final => "final",
        }
    }
}

/// The seed of episode `index` of a split under the user's `seed`: 53 bits, of which the top two name the split, so that
/// seeds of two splits differ by construction and survive a trip through JSON.
#[must_use]
pub fn episode_seed(seed: u64, split: Split, index: u64) -> u64 {
    let tag = split as u64;
    (tag << 51) | (hash(&[seed, tag, index]) >> 13)
}

/// Which episode.
///
/// ```
/// use sched_distill_core::rng::{EpisodeId, Split};
/// let id = EpisodeId::new(1, Split::Test, 7);
/// assert_eq!((id.split(), id.episode), (Split::Test, 7));
/// assert_ne!(id.seed, EpisodeId::new(2, Split::Test, 7).seed);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EpisodeId {
    /// Its own seed, see [`episode_seed`]: what generated jobs and all luck are drawn from.
    pub seed: u64,
    /// Number within the split.
    pub episode: u32,
}

impl EpisodeId {
    /// An episode of a split under the user's seed.
    #[must_use]
    pub fn new(seed: u64, split: Split, episode: u32) -> Self {
        Self { seed: episode_seed(seed, split, u64::from(episode)), episode }
    }

    /// What it is for: its seed says so.
    #[must_use]
    pub fn split(self) -> Split {
        Split::ALL[(self.seed >> 51) as usize % Split::ALL.len()]
    }
}

/// The first episode of a split, drawn from a seed of its own.
impl From<u64> for EpisodeId {
    fn from(seed: u64) -> Self {
        Self { seed, episode: 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seeds_of_two_splits_never_meet() {
        for index in 0..1000 {
            for split in Split::ALL {
                let seed = episode_seed(3, split, index);
                assert_eq!(seed >> 51, split as u64);
                assert!(seed < 1 << 53);
            }
        }
    }

    #[test]
    fn draws_have_the_moments_of_their_distribution() {
        let mut stream = Stream::new(1, "moments");
        let n = 20_000;
        let mean = (0..n).map(|_| stream.exponential(5.0)).sum::<f64>() / f64::from(n);
        assert!((mean - 5.0).abs() < 0.15, "{mean}");
        let square = (0..n).map(|_| stream.normal().powi(2)).sum::<f64>() / f64::from(n);
        assert!((square - 1.0).abs() < 0.05, "{square}");
        let share = (0..n).filter(|_| stream.below(4) == 3).count() as f64 / f64::from(n);
        assert!((share - 0.25).abs() < 0.02, "{share}");
    }
}
