//! A sample of a level's choices that fits into memory, however long the trace.

use super::{
    error::TraceError,
    reader::Trace,
    table::{Choice, LevelTable},
};
use sched_distill_core::rng::hash;
use serde::{Deserialize, Serialize};
use std::collections::BinaryHeap;

/// How much of one kind of choice a sample holds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KindSample {
    /// Kind, e.g. `free`.
    pub kind: String,
    /// Choices with two or more candidates in the trace.
    pub choices: usize,
    /// Their weight.
    pub weight: f64,
    /// Those in the sample.
    pub sampled: usize,
    /// Their weight.
    pub sampled_weight: f64,
}

impl KindSample {
    /// By what the weight of a sampled choice is multiplied so that the sample stands for the trace.
    #[must_use]
    pub fn factor(&self) -> f64 {
        if self.sampled_weight > 0.0 { self.weight / self.sampled_weight } else { 0.0 }
    }
}

/// Choices of one level.
#[derive(Clone, Debug)]
pub struct Sample {
    /// The choices, in order.
    pub table: LevelTable,
    /// What they stand for, in the order of the table's kinds.
    pub kinds: Vec<KindSample>,
}

impl Sample {
    /// The choices with weights that stand for the trace.
    #[must_use]
    pub fn weighted(mut self) -> LevelTable {
        for choice in &mut self.table.choices {
            choice.weight *= self.kinds[choice.kind as usize].factor() as f32;
        }
        self.table
    }
}

/// Draws a sample from choices as they come. Which ones are drawn depends on the seed and the choices' numbers alone.
pub struct Sampler {
    table: LevelTable,
    most: usize,
    seed: u64,
    kinds: Vec<KindSample>,
    /// Per kind, the smallest hashes so far.
    smallest: Vec<BinaryHeap<u64>>,
}

impl Sampler {
    /// At most `most` choices of each kind, into the empty table of a level.
    #[must_use]
    pub fn new(empty: LevelTable, most: usize, seed: u64) -> Self {
        let kind =
            |kind: &String| KindSample { kind: kind.clone(), choices: 0, weight: 0.0, sampled: 0, sampled_weight: 0.0 };
        let kinds: Vec<KindSample> = empty.kinds.iter().map(kind).collect();
        let smallest = vec![BinaryHeap::new(); kinds.len()];
        Self { table: empty, most: most.max(1), seed, kinds, smallest }
    }

    /// Offers the choices of a table; those with a single candidate are left out.
    pub fn add(&mut self, table: &LevelTable) {
        for choice in table.iter().filter(|c| !c.is_forced()) {
            let kind = choice.header.kind as usize;
            self.kinds[kind].choices += 1;
            self.kinds[kind].weight += f64::from(choice.header.weight);
            let (place, smallest) = (self.place(&choice), &mut self.smallest[kind]);
            if smallest.len() == self.most && smallest.peek().is_some_and(|&most| place >= most) {
                continue;
            }
            smallest.push(place);
            if smallest.len() > self.most {
                smallest.pop();
            }
            self.table.push(&choice);
        }
        if self.table.choices.len() > 4 * self.most * self.kinds.len() {
            self.prune();
        }
    }

    fn place(&self, choice: &Choice<'_>) -> u64 {
        hash(&[self.seed, choice.header.id])
    }

    /// Takes out what others have pushed out.
    fn prune(&mut self) {
        let most: Vec<Option<u64>> = self.smallest.iter().map(|s| s.peek().copied()).collect();
        let table = self.table.filter(|c| most[c.header.kind as usize].is_some_and(|most| self.place(c) <= most));
        self.table = table;
    }

    /// The sample.
    #[must_use]
    pub fn finish(mut self) -> Sample {
        self.prune();
        for choice in &self.table.choices {
            let kind = &mut self.kinds[choice.kind as usize];
            kind.sampled += 1;
            kind.sampled_weight += f64::from(choice.weight);
        }
        Sample { table: self.table, kinds: self.kinds }
    }
}

impl Trace {
    /// Draws at most `most` choices of each kind with two or more candidates from a level, reading it piece by piece. Which
    /// ones are drawn depends on `seed` and the choices' numbers alone.
    ///
    /// # Errors
    ///
    /// As for [`Trace::level`].
    pub fn sample(&self, level: &str, most: usize, seed: u64) -> Result<Sample, TraceError> {
        let pieces = self.pieces(level)?;
        let mut sampler = Sampler::new(pieces.empty(), most, seed);
        for piece in pieces {
            sampler.add(&piece?);
        }
        Ok(sampler.finish())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tiny;
    use sched_distill_core::rng::Stream;

    /// Ten choices per episode, of one to four candidates and two kinds.
    fn table(episodes: u32) -> LevelTable {
        let mut s = Stream::new(1, "sample");
        let mut choice = |i: u32| {
            let rows = vec![[0.0, 1.0]; 1 + s.below(4)];
            (i / 10, s.below(2) as u8, rows, 0)
        };
        let mut table = tiny::table("job", &(0..10 * episodes).map(&mut choice).collect::<Vec<_>>());
        // What is not a number is not equal to itself.
        table.log_prob.fill(-1.0);
        table
    }

    #[test]
    fn a_sample_does_not_depend_on_how_its_choices_come() {
        let whole = table(60);
        let draw = |episodes_at_a_time: u32| {
            let mut sampler = Sampler::new(LevelTable::new(whole.spec.clone(), whole.kinds.clone()), 40, 7);
            for first in (0..60).step_by(episodes_at_a_time as usize) {
                sampler.add(&whole.select(|e| (first..first + episodes_at_a_time).contains(&e)));
            }
            sampler.finish()
        };
        let (at_once, one_by_one) = (draw(60), draw(1));
        assert_eq!((&at_once.table, &at_once.kinds), (&one_by_one.table, &one_by_one.kinds));
        for (i, kind) in at_once.kinds.iter().enumerate() {
            let all = whole.iter().filter(|c| c.header.kind as usize == i && !c.is_forced());
            assert_eq!((kind.choices, kind.sampled), (all.clone().count(), 40));
            let weight: f64 = all.map(|c| f64::from(c.header.weight)).sum();
            assert!((kind.factor() * kind.sampled_weight - weight).abs() < 1e-9 * weight);
        }
        let mut everything = Sampler::new(LevelTable::new(whole.spec.clone(), whole.kinds.clone()), 100_000, 7);
        everything.add(&whole);
        assert_eq!(everything.finish().table, whole.filter(|c| !c.is_forced()));
    }
}
