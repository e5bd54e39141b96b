//! Growth from sums that somebody else forms, over rows that are elsewhere: more than fit into memory, in parts, on other machines.
//!
//! The tree is the one that the histogram engine grows in the same bins: best first, with the same gains, ties and limits. What it
//! needs of the rows are, for some nodes at a time, sums by feature and bin. They are whole numbers (weights in units of 2⁻⁶⁰ of what
//! all rows weigh together, rounded row by row), so that no sum depends on the order of the rows or on how they are cut into parts.
//!
//! Growth asks in rounds. With the nodes known so far it grows a whole tree as if those not known could not be split; the children
//! that it makes on the way are asked for together, of each two the one with fewer rows, as the sums of the other are the difference
//! to the parent's. When nothing unknown is met any more, that tree is the one. So there are about as many rounds as the tree is deep.
//! Thresholds need values and not bins, and leaves their means to the last digit: both come last, from one more look at the rows
//! ([`FinishSums`]), whose sums are those of parts, put together in their order.

mod cells;
mod coder;
mod finish;
mod grower;

pub use cells::{Layout, NodeSums};
pub use coder::{CodedRows, Coder};
pub use finish::{Finish, FinishSums};
pub use grower::{NodeSource, grow_by_sums};

use super::FeatureBins;
use serde::{Deserialize, Serialize};

/// Rows, weight, weight × target and weight × target² of some rows; all but the first in units of 2⁻⁶⁰.
pub type Cell = [i64; 4];

/// Units of a weight of 1; all rows together weigh less than 2.
const ONE: f64 = (1u64 << 60) as f64;

/// The tests of a tree that is being grown, in bins; its first node is the root.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Sketch {
    /// By node, the feature that it tests and the last bin that goes left.
    pub test: Vec<(u32, u8)>,
    /// By node, where its children are; twice the node itself where it has none.
    pub children: Vec<[u32; 2]>,
}

impl Sketch {
    /// The node that a row with these bins comes to.
    #[inline]
    #[must_use]
    pub fn leaf(&self, codes: &[u8]) -> u32 {
        let mut node = 0;
        loop {
            let children = self.children[node as usize];
            if children[0] == node {
                return node;
            }
            let (feature, bin) = self.test[node as usize];
            node = children[usize::from(codes[feature as usize] > bin)];
        }
    }

    /// Adds a node without children; returns its number.
    pub fn push(&mut self) -> u32 {
        let node = self.test.len() as u32;
        self.test.push((0, 0));
        self.children.push([node; 2]);
        node
    }
}
