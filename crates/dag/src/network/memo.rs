//! Embeddings of jobs that were seen before.
//!
//! A job's embedding depends on its own features and edges alone (and on whether the observation has any edge, see
//! [`super::embedding`]), and most jobs wait most of the time: the next question finds them as the last one did, or as they
//! were when the same number of executors was last on offer. What is found here was computed from the very same bits, so
//! using it again changes nothing but the time.

use super::{DecimaInput, weights::FEATURES};
use std::ops::Range;

/// Entries; a power of two.
const ENTRIES: usize = 1024;

/// What a job's embedding is computed from.
#[derive(Clone, Copy)]
pub(super) struct Key<'a> {
    /// Features of its nodes, shape `(nodes, 5)`.
    pub(super) x: &'a [f32],
    /// Its edges, and the number of its first node, from which they count.
    edges: &'a [[u32; 2]],
    first_node: u32,
    /// Whether any job of the observation has an edge.
    any_edge: bool,
}

/// A job's embedding: a row per node, the job's, and its share of the cluster's.
#[derive(Clone, Copy)]
pub(super) struct Embedded<'a> {
    pub(super) h: &'a [f32],
    pub(super) dag: &'a [f32],
    pub(super) glob: &'a [f32],
}

#[derive(Clone, Debug, Default)]
struct Entry {
    any_edge: bool,
    edges: Vec<[u32; 2]>,
    /// Features, the embedding of the job, its share of the cluster's, and the rows of its nodes: one after the other, as they are
    /// read together.
    numbers: Vec<f32>,
    /// Where in `numbers` each but the first begins.
    ends: [usize; 3],
}

/// The embeddings of the last jobs; each has one place, where it replaces what was there.
#[derive(Clone, Debug)]
pub(super) struct Memo {
    entries: Vec<Entry>,
}

impl Default for Memo {
    fn default() -> Self {
        Self { entries: vec![Entry::default(); ENTRIES] }
    }
}

impl<'a> Key<'a> {
    /// The key of a job of an observation with the features `x`.
    pub(super) fn new(input: &'a DecimaInput, x: &'a [f32], nodes: &Range<usize>, edges: Range<usize>) -> Self {
        Self {
            x: &x[nodes.start * FEATURES..nodes.end * FEATURES],
            edges: &input.edges[edges],
            first_node: nodes.start as u32,
            any_edge: !input.edges.is_empty(),
        }
    }

    fn place(&self) -> usize {
        let add =
            |hash: u64, v: &f32| (hash.rotate_left(5) ^ u64::from(v.to_bits())).wrapping_mul(0x517C_C1B7_2722_0A95);
        let mut hash = self.x[..FEATURES].iter().fold(0, add);
        // Only the last two features differ between a job's nodes.
        for row in self.x.chunks_exact(FEATURES).skip(1) {
            hash = row[3..].iter().fold(hash, add);
        }
        (hash >> 32) as usize % ENTRIES
    }

    /// The edges, counted from the job's first node.
    pub(super) fn edges_from_zero(&self) -> impl Iterator<Item = [u32; 2]> {
        self.edges.iter().map(|edge| edge.map(|v| v - self.first_node))
    }
}

impl Memo {
    /// The place of a job, and its embedding if that is there.
    pub(super) fn find(&self, key: &Key<'_>) -> (usize, Option<Embedded<'_>>) {
        let place = key.place();
        let entry = &self.entries[place];
        let [x, dag, glob] = entry.ends;
        let same = entry.any_edge == key.any_edge
            && x == key.x.len()
            && entry.edges.len() == key.edges.len()
            && entry.numbers[..x].iter().zip(key.x).all(|(a, b)| a.to_bits() == b.to_bits())
            && entry.edges.iter().copied().eq(key.edges_from_zero());
        let numbers = &entry.numbers;
        (place, same.then(|| Embedded { h: &numbers[glob..], dag: &numbers[x..dag], glob: &numbers[dag..glob] }))
    }

    /// Keeps a job's embedding at its place.
    pub(super) fn keep(&mut self, place: usize, key: &Key<'_>, embedded: Embedded<'_>) {
        let entry = &mut self.entries[place];
        entry.any_edge = key.any_edge;
        entry.edges.clear();
        entry.edges.extend(key.edges_from_zero());
        entry.numbers.clear();
        entry.numbers.reserve(key.x.len() + embedded.dag.len() + embedded.glob.len() + embedded.h.len());
        entry.ends = [key.x, embedded.dag, embedded.glob].map(|part| {
            entry.numbers.extend_from_slice(part);
            entry.numbers.len()
        });
        entry.numbers.extend_from_slice(embedded.h);
    }
}
