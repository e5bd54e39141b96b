//! Between which values the splits of a tree lie: the largest on the left and the smallest on the right, of the node's own rows.

use super::{FeatureBins, Sketch};
use crate::tree::column::{Binning, key};
use sched_distill_trace::LevelTable;
use std::fmt;

/// The neighbours of the splits of a tree over some rows, which others can be added to.
pub struct GapSums {
    sketch: Sketch,
    binnings: Vec<Binning>,
    /// By node of the sketch, the keys of the largest value in the last bin on the left and of the smallest one in the first bin on
    /// the right that has any.
    gaps: Vec<[u32; 2]>,
    /// By node, that bin on the right.
    next: Vec<u8>,
}

impl fmt::Debug for GapSums {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GapSums").field("gaps", &self.gaps).finish_non_exhaustive()
    }
}

impl GapSums {
    /// Of no rows yet. `next` has, by node, the first bin on the right that has rows.
    #[must_use]
    pub fn new(sketch: Sketch, bins: &[FeatureBins], next: Vec<u8>) -> Self {
        let binnings = bins.iter().map(Binning::of).collect();
        Self { gaps: vec![[0, u32::MAX]; next.len()], sketch, binnings, next }
    }

    /// Adds the candidates of choices.
    pub fn add(&mut self, table: &LevelTable) {
        let Self { sketch, binnings, gaps, next } = self;
        for row in table.x.chunks_exact(table.width().max(1)) {
            let mut node = 0;
            while sketch.children[node][0] as usize != node {
                let (feature, bin) = sketch.test[node];
                let value = row[feature as usize];
                let code = binnings[feature as usize].code(value);
                let [low, high] = &mut gaps[node];
                if code == bin {
                    *low = (*low).max(key(value));
                }
                if code == next[node] {
                    *high = (*high).min(key(value));
                }
                node = sketch.children[node][usize::from(code > bin)] as usize;
            }
        }
    }

    /// Adds what was found in other rows.
    pub fn merge(&mut self, gaps: &[[u32; 2]]) {
        self.gaps.iter_mut().zip(gaps).for_each(|([low, high], other)| {
            (*low, *high) = ((*low).max(other[0]), (*high).min(other[1]));
        });
    }

    /// By node, the keys of both neighbours.
    #[must_use]
    pub fn gaps(&self) -> &[[u32; 2]] {
        &self.gaps
    }
}
