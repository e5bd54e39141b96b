//! Which parts of a recording one of several jobs takes.

use std::{fmt, str::FromStr};

/// One of `of` shares of the parts of a recording: the parts whose number leaves `index - 1` when divided by `of`.
///
/// ```
/// use sched_distill_trace::Shard;
/// let shard: Shard = "2/3".parse()?;
/// assert_eq!((0..7).filter(|&part| shard.contains(part)).collect::<Vec<_>>(), [1, 4]);
/// assert!("4/3".parse::<Shard>().is_err());
/// # Ok::<(), sched_distill_trace::ShardError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    index: u32,
    of: u32,
}

/// A text that does not name a shard.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected I/N with whole numbers from 1 on, I at most N, for example 2/8")]
pub struct ShardError;

impl Shard {
    /// All parts.
    pub const WHOLE: Self = Self { index: 1, of: 1 };

    /// Whether a part belongs to the shard.
    #[must_use]
    pub fn contains(self, part: u32) -> bool {
        part % self.of == self.index - 1
    }
}

impl FromStr for Shard {
    type Err = ShardError;

    fn from_str(text: &str) -> Result<Self, ShardError> {
        let numbers = || -> Option<(u32, u32)> {
            let (index, of) = text.split_once('/')?;
            Some((index.parse().ok()?, of.parse().ok()?))
        };
        match numbers() {
            Some((index, of)) if (1..=of).contains(&index) => Ok(Self { index, of }),
            _ => Err(ShardError),
        }
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.index, self.of)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_part_belongs_to_exactly_one_shard(of in 1u32..9, part: u32) {
            let shards = (1..=of).map(|index| format!("{index}/{of}").parse::<Shard>());
            let holders = shards.filter(|shard| shard.as_ref().is_ok_and(|shard| shard.contains(part)));
            prop_assert_eq!(holders.count(), 1);
        }
    }

    #[test]
    fn what_is_not_a_shard_is_refused() {
        for text in ["", "1", "0/3", "4/3", "1/0", "0/0", "-1/2", "1/2/3", "a/b", "1 /2", "1/4294967296"] {
            assert_eq!(text.parse::<Shard>(), Err(ShardError), "{text}");
        }
        assert_eq!("3/8".parse::<Shard>().map(|shard| shard.to_string()), Ok("3/8".to_owned()));
    }
}
