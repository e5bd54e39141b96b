//! One column while the tree grows: its bytes in the order of the rows, histograms of open nodes, gains.

use super::{
    column::{Column, key},
    criterion::Criterion,
    grow::State,
    search::{Cuts, Limits, Place, View},
};
use rayon::prelude::*;
use std::{collections::BTreeMap, ops::Range};

/// So many rows are sorted in parallel.
const PARALLEL_FROM: usize = 1 << 15;

pub(super) struct Field<C: Criterion> {
    number: usize,
    pub(super) column: Column,
    pub(super) sign: i8,
    /// Histograms of open nodes.
    kept: BTreeMap<usize, C::Bins>,
    division: C::Division,
    cuts: Cuts,
    /// Room for the bytes of a node while they change their order.
    spare: Vec<u8>,
}

impl<C: Criterion> Field<C> {
    pub(super) fn new(number: usize, column: Column, sign: i8, division: C::Division) -> Self {
        let (cuts, spare) = (Cuts::default(), Vec::new());
        Self { number, column, sign, kept: BTreeMap::new(), division, cuts, spare }
    }

    /// Histograms of the root (of `[root]`), or of two children from their `parent`'s: those that are `wanted`.
    pub(super) fn prepare(&mut self, state: &State<'_, C>, new: &[usize], wanted: &[bool], parent: Option<usize>) {
        let of_parent = parent.and_then(|parent| self.kept.remove(&parent));
        if !wanted.contains(&true) {
            return;
        }
        let Some(of_parent) = of_parent else {
            for (&node, _) in new.iter().zip(wanted).filter(|(_, wanted)| **wanted) {
                self.kept.insert(node, self.fill(state, node));
            }
            return;
        };
        let small = usize::from(state.size(new[1]) < state.size(new[0]));
        let few = self.fill(state, new[small]);
        let mut many = of_parent;
        state.criterion.subtract(&mut many, &few);
        for (side, bins) in [(small, few), (1 - small, many)] {
            if wanted[side] {
                self.kept.insert(new[side], bins);
            }
        }
    }

    /// Forgets a node's histogram.
    pub(super) fn forget(&mut self, node: usize) {
        self.kept.remove(&node);
    }

    /// A node's histogram.
    pub(super) fn fill(&self, state: &State<'_, C>, node: usize) -> C::Bins {
        let range = state.nodes[node].range.clone();
        let mut bins = state.criterion.bins();
        for (&code, &payload) in self.column.codes[range.clone()].iter().zip(&state.payload[range]) {
            state.criterion.add(&mut bins, code, payload);
        }
        bins
    }

    /// The largest gain of a node by a division between bins.
    pub(super) fn most_between(&mut self, state: &State<'_, C>, node: usize, limits: &Limits) -> f64 {
        self.cuts.clear();
        self.most(state, node, limits)
    }

    /// The largest gain of a node, through those bins in which a gain of `enough` could hide.
    pub(super) fn most_within(&mut self, state: &State<'_, C>, node: usize, limits: &Limits, enough: f64) -> f64 {
        match self.cut(state, node, enough) {
            true => self.most(state, node, limits),
            false => f64::NEG_INFINITY,
        }
    }

    fn most(&mut self, state: &State<'_, C>, node: usize, limits: &Limits) -> f64 {
        let limits = Limits { sign: self.sign, ..*limits };
        view(state, node, &self.column, &self.kept[&node]).most(&mut self.division, &self.cuts, &limits)
    }

    /// [`View::first`], through those bins in which such a gain could hide if `may_cut`.
    pub(super) fn first(
        &mut self,
        state: &State<'_, C>,
        (node, may_cut): (usize, bool),
        limits: &Limits,
        enough: f64,
    ) -> Option<Place> {
        self.cuts.clear();
        if may_cut {
            self.cut(state, node, enough);
        }
        let limits = Limits { sign: self.sign, ..*limits };
        view(state, node, &self.column, &self.kept[&node]).first(&mut self.division, &self.cuts, &limits, enough)
    }

    /// Collects and sorts the rows of the bins in which a gain of `enough` could hide; whether there are any.
    fn cut(&mut self, state: &State<'_, C>, node: usize, enough: f64) -> bool {
        self.cuts.clear();
        if self.column.values.is_some() {
            return false;
        }
        let Cuts { cut, rows } = &mut self.cuts;
        let hidden = view(state, node, &self.column, &self.kept[&node]).find_cuts(&mut self.division, enough, cut);
        if hidden == 0 {
            return false;
        }
        let range = state.nodes[node].range.clone();
        let (codes, order) = (&self.column.codes[range.clone()], &state.order[range]);
        let entry = |at: usize| {
            let code = codes[at];
            let entry = || u64::from(code) << 32 | u64::from(key(state.rows.value(order[at], self.number)));
            cut[usize::from(code)].then(|| (entry(), at as u32))
        };
        // Often few fields have much to sort: then it is the sorting that is shared out.
        if hidden >= PARALLEL_FROM {
            rows.par_extend((0..codes.len()).into_par_iter().filter_map(entry));
            rows.par_sort_unstable();
        } else {
            rows.extend((0..codes.len()).filter_map(entry));
            rows.sort_unstable();
        }
        true
    }

    /// Brings a node's bytes into another order.
    pub(super) fn reorder(&mut self, range: Range<usize>, sources: &[u32]) {
        reorder(&mut self.column.codes[range], sources, &mut self.spare);
    }
}

fn view<'a, C: Criterion>(state: &'a State<'_, C>, node: usize, column: &Column, bins: &'a C::Bins) -> View<'a, C> {
    let node = &state.nodes[node];
    let payload = &state.payload[node.range.clone()];
    let rows = payload.len();
    View { criterion: state.criterion, totals: &node.totals, histogram: bins, bins: column.bins, rows, payload }
}

/// Brings a list into the order in which `sources` names its entries.
pub(super) fn reorder<T: Copy>(list: &mut [T], sources: &[u32], spare: &mut Vec<T>) {
    spare.clear();
    spare.extend(sources.iter().map(|&i| list[i as usize]));
    list.copy_from_slice(spare);
}
