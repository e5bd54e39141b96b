//! Best-first growth.
//!
//! A split touches the rows of its node only: every sorted list is divided in place, and of a column of codes the smaller
//! child's histogram is summed up, the larger child's is the difference to the parent's. Columns are worked on in parallel,
//! each by one thread, so that no sum depends on the number of threads.

use super::{
    ValidTreeParams,
    column::{Column, Entry, row_of, value_of},
    criterion::{BINS, Criterion, MISSING_BIN},
    data::Rows,
    search::{Limits, Place, divide_bins, divide_list},
};
use rayon::prelude::*;
use std::{
    cmp::Ordering,
    collections::{BTreeMap, BinaryHeap},
    sync::Mutex,
};

/// Gains that differ by less than this share of the node's weighted impurity are tied.
pub(super) const TIE: f64 = 1e-10;

/// Fewer values than this to look at are not worth waking other threads for.
const PARALLEL_FROM: usize = 1 << 15;

/// A node as it grows.
pub(super) struct Node<T> {
    pub(super) totals: T,
    /// Range of its rows in the list of rows, and in every sorted column.
    pub(super) range: std::ops::Range<usize>,
    pub(super) depth: usize,
    /// Least and largest prediction that monotone constraints above leave.
    pub(super) bounds: [f64; 2],
    pub(super) split: Option<Split>,
}

/// How a node was split.
#[derive(Clone, Debug)]
pub(super) struct Split {
    pub(super) feature: usize,
    /// Largest value on the left and smallest on the right; the largest number if only missing values are there.
    pub(super) gap: [f32; 2],
    pub(super) missing_left: Option<bool>,
    pub(super) children: [usize; 2],
}

/// A node that could be split, and how.
struct Open {
    gain: f64,
    node: usize,
    feature: usize,
    place: Place,
}

impl PartialEq for Open {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Open {}

impl PartialOrd for Open {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Open {
    fn cmp(&self, other: &Self) -> Ordering {
        self.gain.total_cmp(&other.gain).then(other.node.cmp(&self.node))
    }
}

/// A column and what it keeps while the tree grows.
struct Field<C: Criterion> {
    column: Column,
    sign: i8,
    /// Histograms of open nodes that are large enough to be worth keeping.
    kept: BTreeMap<usize, C::Bins>,
    division: C::Division,
}

pub(super) struct Grower<'a, C: Criterion> {
    pub(super) rows: &'a Rows<'a>,
    pub(super) criterion: &'a C,
    params: &'a ValidTreeParams,
    /// Active rows; a node's are ascending.
    order: Vec<u32>,
    fields: Vec<Field<C>>,
    goes_left: Vec<bool>,
    pub(super) nodes: Vec<Node<C::Totals>>,
    spare: Mutex<Vec<Vec<Entry>>>,
}

impl<'a, C: Criterion> Grower<'a, C> {
    pub(super) fn new(rows: &'a Rows<'a>, criterion: &'a C, columns: Vec<Column>, params: &'a ValidTreeParams) -> Self {
        let sign = |feature: usize| params.monotone.get(feature).copied().unwrap_or(0);
        let fields = columns.into_iter().enumerate().map(|(feature, column)| Field {
            column,
            sign: sign(feature),
            kept: BTreeMap::new(),
            division: criterion.division(),
        });
        let root = Node {
            totals: criterion.totals(&rows.active),
            range: 0..rows.active.len(),
            depth: 0,
            bounds: [f64::NEG_INFINITY, f64::INFINITY],
            split: None,
        };
        Self {
            rows,
            criterion,
            params,
            order: rows.active.clone(),
            fields: fields.collect(),
            goes_left: vec![false; rows.weight.len()],
            nodes: vec![root],
            spare: Mutex::new(Vec::new()),
        }
    }

    /// Splits the node with the largest gain until there are leaves enough or no split is left.
    pub(super) fn grow(&mut self) {
        let mut open = BinaryHeap::from_iter(self.open_root());
        let mut leaves = 1;
        while leaves < self.params.max_leaf_nodes
            && let Some(best) = open.pop()
        {
            let last = leaves + 1 == self.params.max_leaf_nodes;
            open.extend(self.split(&best, last).into_iter().flatten());
            leaves += 1;
        }
    }

    /// A node's active rows, ascending.
    pub(super) fn node_rows(&self, node: usize) -> &[u32] {
        &self.order[self.nodes[node].range.clone()]
    }

    fn limits(&self, node: usize) -> Limits {
        Limits {
            min_samples: self.params.min_samples_leaf,
            min_weight: self.params.min_weight_leaf * self.rows.scale,
            constrained: self.params.monotone.iter().any(|&s| s != 0),
            sign: 0,
            bounds: self.nodes[node].bounds,
        }
    }

    /// Whether a split of a node could be allowed at all.
    fn may_split(&self, node: usize) -> bool {
        let Node { totals, range, depth, .. } = &self.nodes[node];
        *depth < self.params.max_depth
            && range.len() / 2 >= self.params.min_samples_leaf
            && self.criterion.impurity(totals) > 0.0
    }

    fn open_root(&mut self) -> Option<Open> {
        if !self.may_split(0) {
            return None;
        }
        let (criterion, node, limits) = (self.criterion, &self.nodes[0], self.limits(0));
        let payload = payload(criterion, &self.order);
        let (order, keep) = (&self.order, node.range.len() >= BINS * criterion.lanes());
        let most = each(&mut self.fields, node.range.len(), |field| {
            field.fill(criterion, 0, order, &payload);
            let most = field.most(criterion, (0, node), &limits);
            if !keep {
                field.kept.clear();
            }
            most
        });
        self.choose(0, &most, &limits)
    }

    /// The best split of a node whose fields' largest gains are known.
    fn choose(&mut self, node: usize, most: &[f64], limits: &Limits) -> Option<Open> {
        let best = most.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let weighted = self.criterion.weight(&self.nodes[node].totals) * self.criterion.impurity(&self.nodes[node].totals);
        // All gains that are nothing but rounding are tied at 0: an impure node is split even if no single split helps, as
        // exclusive or needs it.
        let best = if best > TIE * weighted { best } else { best.min(0.0) };
        let enough = best - TIE * weighted;
        let root = self.criterion.weight(&self.nodes[0].totals);
        if best == f64::NEG_INFINITY || best < self.params.min_impurity_decrease * root * (1.0 - TIE) {
            return None;
        }
        let feature = most.iter().position(|&gain| gain >= enough)?;
        let place = self.fields[feature].first(self.criterion, (node, &self.nodes[node]), &self.order, limits, enough)?;
        Some(Open { gain: best.max(0.0), node, feature, place })
    }

    /// Splits a node; returns its children as far as they can be split again, none if it is the `last` split.
    fn split(&mut self, open: &Open, last: bool) -> [Option<Open>; 2] {
        let (node, range) = (open.node, self.nodes[open.node].range.clone());
        let gap = self.mark(open);
        let middle = range.start + partition(&mut self.order[range.clone()], &self.goes_left, |&row| row);
        let children = [self.nodes.len(), self.nodes.len() + 1];
        for range in [range.start..middle, middle..range.end] {
            let totals = self.criterion.totals(&self.order[range.clone()]);
            let Node { depth, bounds, .. } = self.nodes[node];
            self.nodes.push(Node { totals, range, depth: depth + 1, bounds, split: None });
        }
        self.bound(children, self.fields[open.feature].sign);
        self.nodes[node].split =
            Some(Split { feature: open.feature, gap, missing_left: open.place.missing_left, children });
        let may = children.map(|child| !last && self.may_split(child));
        if may == [false; 2] {
            self.fields.iter_mut().for_each(|field| drop(field.kept.remove(&node)));
            return [None, None];
        }
        let criterion = self.criterion;
        let size = |child: usize| self.nodes[child].range.len();
        let small = usize::from(size(children[1]) < size(children[0]));
        let payloads = children.map(|child| payload(criterion, &self.order[self.nodes[child].range.clone()]));
        let limits = children.map(|child| self.limits(child));
        let (nodes, order, goes_left, spare) = (&self.nodes, &self.order, &self.goes_left, &self.spare);
        let keep = children.map(|child| nodes[child].range.len() >= BINS * criterion.lanes());
        let most: Vec<[f64; 2]> = each(&mut self.fields, range.len(), |field| {
            match &mut field.column {
                Column::Sorted(list) => divide(&mut list[range.clone()], goes_left, spare),
                Column::Codes { .. } => {
                    let parent = field.kept.remove(&node);
                    let [few, many] = [children[small], children[1 - small]];
                    if parent.is_some() || may[small] {
                        field.fill(criterion, few, &order[nodes[few].range.clone()], &payloads[small]);
                    }
                    if may[1 - small] {
                        if let Some(mut bins) = parent {
                            criterion.subtract(&mut bins, &field.kept[&few]);
                            field.kept.insert(many, bins);
                        } else {
                            field.fill(criterion, many, &order[nodes[many].range.clone()], &payloads[1 - small]);
                        }
                    }
                }
            }
            std::array::from_fn(|side| {
                let child = children[side];
                let most = match may[side] {
                    true => field.most(criterion, (child, &nodes[child]), &limits[side]),
                    false => f64::NEG_INFINITY,
                };
                if !(keep[side] && may[side]) {
                    field.kept.remove(&child);
                }
                most
            })
        });
        std::array::from_fn(|side| {
            let most: Vec<f64> = most.iter().map(|m| m[side]).collect();
            may[side].then(|| self.choose(children[side], &most, &limits[side])).flatten()
        })
    }

    /// Notes for each row of a node on which side it goes; returns the neighbouring values.
    fn mark(&mut self, open: &Open) -> [f32; 2] {
        let range = self.nodes[open.node].range.clone();
        let missing_left = open.place.missing_left == Some(true);
        let [mut low, mut high] = [f32::NEG_INFINITY, f32::INFINITY];
        match &self.fields[open.feature].column {
            Column::Sorted(list) => {
                let list = &list[range];
                let missing = list.iter().rev().take_while(|&&e| super::column::is_missing(e)).count();
                let present = list.len() - missing;
                for (i, &entry) in list.iter().enumerate() {
                    let left = if i < present { i < open.place.at } else { missing_left };
                    self.goes_left[row_of(entry) as usize] = left;
                }
                low = value_of(list[open.place.at - 1]);
                high = if open.place.at < present { value_of(list[open.place.at]) } else { f32::INFINITY };
            }
            Column::Codes { codes, .. } => {
                for &row in &self.order[range] {
                    let code = usize::from(codes[row as usize]);
                    let value = self.rows.x[row as usize * self.rows.width + open.feature];
                    let left = if code == MISSING_BIN { missing_left } else { code <= open.place.at };
                    self.goes_left[row as usize] = left;
                    if code != MISSING_BIN && left {
                        low = low.max(value);
                    } else if code != MISSING_BIN {
                        high = high.min(value);
                    }
                }
            }
        }
        [low, high]
    }

    /// Hands the bounds of monotone constraints down to two children.
    fn bound(&mut self, children: [usize; 2], sign: i8) {
        if sign == 0 {
            return;
        }
        let value = |child: usize| {
            let mut value = Vec::new();
            self.criterion.value(&self.nodes[child].totals, &mut value);
            // One number, or of two classes the share of the second.
            value[value.len() - 1]
        };
        let middle = (value(children[0]) + value(children[1])) / 2.0;
        let [low, high] = if sign > 0 { children } else { [children[1], children[0]] };
        self.nodes[low].bounds[1] = middle;
        self.nodes[high].bounds[0] = middle;
    }
}

impl<C: Criterion> Field<C> {
    /// Sums up a node's histogram if this is a column of codes.
    fn fill(&mut self, criterion: &C, node: usize, rows: &[u32], payload: &[C::Payload]) {
        if let Column::Codes { codes, .. } = &self.column {
            let mut bins = criterion.bins();
            for (&row, &payload) in rows.iter().zip(payload) {
                criterion.add(&mut bins, codes[row as usize], payload);
            }
            self.kept.insert(node, bins);
        }
    }

    /// The largest gain of a node by this feature.
    fn most(&mut self, criterion: &C, (number, node): (usize, &Node<C::Totals>), limits: &Limits) -> f64 {
        let mut most = f64::NEG_INFINITY;
        let limits = Limits { sign: self.sign, ..*limits };
        self.divide(criterion, (number, node), &limits, |gain, _| {
            if gain > most {
                most = gain;
            }
            true
        });
        most
    }

    /// The lowest place whose gain is enough; with missing values on the right before on the left.
    fn first(
        &mut self,
        criterion: &C,
        (number, node): (usize, &Node<C::Totals>),
        order: &[u32],
        limits: &Limits,
        enough: f64,
    ) -> Option<Place> {
        let limits = Limits { sign: self.sign, ..*limits };
        let kept = self.kept.contains_key(&number);
        if !kept {
            let rows = &order[node.range.clone()];
            self.fill(criterion, number, rows, &payload(criterion, rows));
        }
        let mut found: Option<Place> = None;
        self.divide(criterion, (number, node), &limits, |gain, place| {
            // The walk with missing values on the left comes second and goes on only below what the first one found.
            let lower = found.is_none_or(|f| place.at < f.at);
            if lower && gain >= enough {
                found = Some(place);
            }
            lower && gain < enough
        });
        if !kept {
            self.kept.remove(&number);
        }
        found
    }

    fn divide(
        &mut self,
        criterion: &C,
        (number, node): (usize, &Node<C::Totals>),
        limits: &Limits,
        visit: impl FnMut(f64, Place) -> bool,
    ) {
        let sides = (&node.totals, &mut self.division);
        match &self.column {
            Column::Sorted(list) => divide_list(criterion, sides, &list[node.range.clone()], limits, visit),
            Column::Codes { bins, .. } => {
                let histogram = (&self.kept[&number], *bins, node.range.len());
                divide_bins(criterion, sides, histogram, limits, visit);
            }
        }
    }
}

/// What the criterion needs of some rows, in their order.
fn payload<C: Criterion>(criterion: &C, rows: &[u32]) -> Vec<C::Payload> {
    rows.iter().map(|&row| criterion.payload(row)).collect()
}

/// Does something with every field, in parallel where the node is large; results are in the fields' order.
fn each<C: Criterion, T: Send>(
    fields: &mut [Field<C>],
    rows: usize,
    work: impl Fn(&mut Field<C>) -> T + Sync + Send,
) -> Vec<T> {
    match rows * fields.len() >= PARALLEL_FROM {
        true => fields.par_iter_mut().map(work).collect(),
        false => fields.iter_mut().map(work).collect(),
    }
}

/// Moves what goes left to the front and keeps the order on both sides; returns how much goes left.
fn partition<T: Copy + Default>(list: &mut [T], goes_left: &[bool], row: impl Fn(&T) -> u32) -> usize {
    let mut right = Vec::new();
    partition_with(list, goes_left, row, &mut right)
}

fn partition_with<T: Copy + Default>(
    list: &mut [T],
    goes_left: &[bool],
    row: impl Fn(&T) -> u32,
    spare: &mut Vec<T>,
) -> usize {
    if spare.len() < list.len() {
        spare.resize(list.len(), T::default());
    }
    let spare = &mut spare[..list.len()];
    let (mut left, mut right) = (0, 0);
    for i in 0..list.len() {
        let item = list[i];
        // Both places are written and only one counts: no branch to mispredict.
        list[left] = item;
        spare[right] = item;
        let goes = goes_left[row(&item) as usize];
        left += usize::from(goes);
        right += usize::from(!goes);
    }
    list[left..].copy_from_slice(&spare[..right]);
    left
}

/// Divides a sorted list with one of the spare buffers, of which there are as many as threads.
fn divide(list: &mut [Entry], goes_left: &[bool], spare: &Mutex<Vec<Vec<Entry>>>) {
    // A poisoned lock means a panic elsewhere, which ends the fit anyway; the buffers are sound.
    let take = || spare.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let mut buffer = take().pop().unwrap_or_default();
    partition_with(list, goes_left, |&entry| row_of(entry), &mut buffer);
    take().push(buffer);
}
