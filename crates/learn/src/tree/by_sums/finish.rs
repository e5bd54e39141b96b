//! What a tree that is grown in bins lacks in the end, from one more pass over all rows: the numbers beside each threshold, as it
//! stands halfway between them, and the values of leaves to the last digit.
//!
//! Whole numbers say which split is best whoever adds them up, but of a leaf of few among millions of rows they keep some eleven
//! digits.

use super::{Coder, Sketch};
use crate::{
    ByPart,
    target::target_of,
    tree::column::{Binning, key},
};
use sched_distill_trace::LevelTable;
use serde::{Deserialize, Serialize};
use std::fmt;

/// What was found in some rows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Finish {
    /// By node of the sketch, the keys of the largest value in the last bin on the left and of the smallest one in the first bin on
    /// the right that has any.
    pub gaps: Vec<[u32; 2]>,
    /// By part three numbers of each leaf, in the order of its node: weight, and the first and second moment of the target around
    /// what is known of its mean.
    pub leaves: ByPart,
}

/// The same over some rows, to which others can be added.
pub struct FinishSums {
    coder: Coder,
    binnings: Vec<Binning>,
    sketch: Sketch,
    /// By node, the first bin on the right that has rows.
    next: Vec<u8>,
    means: Vec<f64>,
    /// By node, which leaf it is.
    leaf: Vec<u32>,
    found: Finish,
}

impl fmt::Debug for FinishSums {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FinishSums").field("found", &self.found).finish_non_exhaustive()
    }
}

impl FinishSums {
    /// Of no rows yet. By node of the sketch, `next` has the first bin on the right that has rows, `means` what is known of the
    /// mean of the target.
    #[must_use]
    pub fn new(coder: Coder, sketch: Sketch, next: Vec<u8>, means: Vec<f64>) -> Self {
        let binnings = coder.bins.iter().map(Binning::of).collect();
        let leaves = (0..).zip(&sketch.children).scan(0, |leaves, (node, children)| {
            let leaf = *leaves;
            *leaves += u32::from(children[0] == node);
            Some(leaf)
        });
        let leaf = leaves.collect();
        let found = Finish { gaps: vec![[0, u32::MAX]; sketch.test.len()], leaves: ByPart::default() };
        Self { coder, binnings, sketch, next, means, leaf, found }
    }

    /// Adds the candidates of choices of a part.
    pub fn add(&mut self, part: u32, table: &LevelTable) {
        let Self { coder, binnings, sketch, next, means, leaf, found } = self;
        let mut leaves = vec![0.0; 3 * sketch.test.len().div_ceil(2)];
        for choice in table.iter() {
            let weight = coder.weight_of_each(&choice);
            for (candidate, y) in target_of(&choice, coder.target).enumerate() {
                let row = choice.row(candidate);
                let mut node = 0;
                while sketch.children[node][0] as usize != node {
                    let (feature, bin) = sketch.test[node];
                    let value = row[feature as usize];
                    let code = binnings[feature as usize].code(value);
                    let [low, high] = &mut found.gaps[node];
                    if code == bin {
                        *low = (*low).max(key(value));
                    }
                    if code == next[node] {
                        *high = (*high).min(key(value));
                    }
                    node = sketch.children[node][usize::from(code > bin)] as usize;
                }
                let difference = y - means[node];
                let sums = &mut leaves[3 * leaf[node] as usize..][..3];
                let summands = [weight, weight * difference, weight * difference * difference];
                sums.iter_mut().zip(summands).for_each(|(sum, summand)| *sum += summand);
            }
        }
        found.leaves.add(part, leaves);
    }

    /// Adds what was found in other rows.
    pub fn merge(&mut self, other: Finish) {
        self.found.gaps.iter_mut().zip(other.gaps).for_each(|([low, high], other)| {
            (*low, *high) = ((*low).max(other[0]), (*high).min(other[1]));
        });
        self.found.leaves.merge(other.leaves);
    }

    /// What was found.
    #[must_use]
    pub fn found(&self) -> &Finish {
        &self.found
    }
}
