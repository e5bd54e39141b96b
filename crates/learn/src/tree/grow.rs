//! Best-first growth.
//!
//! Rows are kept in an order in which each node's are neighbours; a split brings them, their targets and their bytes in every
//! column into the children's order, so that everything is read in sequence. Of two children, the histograms of the smaller
//! are summed up, and those of the larger are the difference to the parent's. Columns are worked on in parallel, each by one
//! thread, so that no sum depends on the number of threads.

use super::{
    Engine, ValidTreeParams,
    column::{Column, key, value_of},
    criterion::{BINS, Criterion, MISSING_BIN},
    data::Rows,
    field::{Field, reorder},
    search::{Limits, Place, TIE, enough},
};
use rayon::prelude::*;
use std::{cmp::Ordering, collections::BinaryHeap, ops::Range};

/// Less to look at than this, rows and bins of all fields, is not worth waking other threads for.
const PARALLEL_FROM: usize = 1 << 13;

/// A node as it grows.
pub(super) struct Node<T> {
    pub(super) totals: T,
    /// Where its rows are.
    pub(super) range: Range<usize>,
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

/// A node that could be split, and how. The largest gain comes first, and of equal ones the node made first.
pub(super) struct Open<S> {
    pub(super) gain: f64,
    /// Its number, in the order in which nodes were made.
    pub(super) node: usize,
    pub(super) split: S,
}

impl<S> PartialEq for Open<S> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl<S> Eq for Open<S> {}

impl<S> PartialOrd for Open<S> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<S> Ord for Open<S> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.gain.total_cmp(&other.gain).then(other.node.cmp(&self.node))
    }
}

/// The feature that divides a node, and where.
type Division = (usize, Place);

/// The rows and nodes of a growing tree.
pub(super) struct State<'a, C: Criterion> {
    pub(super) rows: &'a Rows<'a>,
    pub(super) criterion: &'a C,
    /// Active rows; a node's are ascending.
    pub(super) order: Vec<u32>,
    /// What the criterion needs of them.
    pub(super) payload: Vec<C::Payload>,
    pub(super) nodes: Vec<Node<C::Totals>>,
}

pub(super) struct Grower<'a, C: Criterion> {
    pub(super) state: State<'a, C>,
    params: &'a ValidTreeParams,
    fields: Vec<Field<C>>,
    room: Room<C::Payload>,
    leaves: usize,
    /// The nodes that could be split.
    open: BinaryHeap<Open<Division>>,
    /// New nodes, with their parent, that nobody has looked at yet: a tree that grows no further need not know how they would split.
    fresh: Option<(Vec<usize>, Option<usize>)>,
}

/// Lists that every split needs, kept so that they need not be made anew.
struct Room<P> {
    /// Which of a node's rows come first when it is split, then the others.
    sources: Vec<u32>,
    others: Vec<u32>,
    order: Vec<u32>,
    payload: Vec<P>,
}

impl<C: Criterion> State<'_, C> {
    pub(super) fn size(&self, node: usize) -> usize {
        self.nodes[node].range.len()
    }
}

impl<'a, C: Criterion> Grower<'a, C> {
    pub(super) fn new(rows: &'a Rows<'a>, criterion: &'a C, columns: Vec<Column>, params: &'a ValidTreeParams) -> Self {
        let sign = |number: usize| params.monotone.get(number).copied().unwrap_or(0);
        let columns = columns.into_iter().enumerate();
        let fields = columns.map(|(number, c)| Field::new(number, c, sign(number), criterion.division())).collect();
        let payload: Vec<C::Payload> = rows.active.par_iter().map(|&row| criterion.payload(row)).collect();
        let root = Node {
            totals: criterion.totals(&payload),
            range: 0..rows.active.len(),
            depth: 0,
            bounds: [f64::NEG_INFINITY, f64::INFINITY],
            split: None,
        };
        let state = State { rows, criterion, order: rows.active.clone(), payload, nodes: vec![root] };
        let room = Room { sources: Vec::new(), others: Vec::new(), order: Vec::new(), payload: Vec::new() };
        Self { state, params, fields, room, leaves: 1, open: BinaryHeap::new(), fresh: Some((vec![0], None)) }
    }

    /// Splits the node with the largest gain until there are `most` leaves or no split is left. Asked again for more, it goes on.
    pub(super) fn grow(&mut self, most: usize) {
        while self.leaves < most {
            if let Some((new, parent)) = self.fresh.take() {
                let open = self.open(&new, parent);
                self.open.extend(open);
            }
            let Some(best) = self.open.pop() else { break };
            let children = self.split(&best);
            self.leaves += 1;
            self.fresh = Some((children.to_vec(), Some(best.node)));
        }
    }

    fn limits(&self, node: usize) -> Limits {
        Limits {
            min_samples: self.params.min_samples_leaf,
            min_weight: self.params.min_weight_leaf * self.state.rows.scale,
            constrained: self.params.monotone.iter().any(|&s| s != 0),
            sign: 0,
            bounds: self.state.nodes[node].bounds,
        }
    }

    /// Whether a split of a node could be allowed at all.
    fn may_split(&self, node: usize) -> bool {
        let Node { totals, range, depth, .. } = &self.state.nodes[node];
        *depth < self.params.max_depth
            && range.len() / 2 >= self.params.min_samples_leaf
            && self.state.criterion.impurity(totals) > 0.0
    }

    /// The best splits of some nodes: of the two children of a `parent`, or of a node alone.
    fn open(&mut self, new: &[usize], parent: Option<usize>) -> Vec<Open<Division>> {
        let may: Vec<bool> = new.iter().map(|&node| self.may_split(node)).collect();
        let asked: Vec<(usize, Limits)> =
            new.iter().zip(&may).filter(|(_, may)| **may).map(|(&node, _)| (node, self.limits(node))).collect();
        let state = &self.state;
        let rows: usize = new.iter().map(|&node| state.size(node)).sum();
        // By field, then by node.
        let mut gains: Vec<Vec<f64>> = each(&mut self.fields, rows, |field| {
            field.prepare(state, new, &may, parent);
            asked.iter().map(|(node, limits)| field.most_between(state, *node, limits)).collect()
        });
        if self.params.engine == Engine::Exact {
            let best = |i: usize| gains.iter().map(|g: &Vec<f64>| g[i]).fold(f64::NEG_INFINITY, f64::max);
            let enough: Vec<f64> = asked
                .iter()
                .enumerate()
                .map(|(i, (node, _))| enough(state.criterion, &state.nodes[*node].totals, best(i)))
                .collect();
            let within: Vec<Vec<f64>> = each(&mut self.fields, rows, |field| {
                let asked = asked.iter().zip(&enough);
                asked.map(|((node, limits), &enough)| field.most_within(state, *node, limits, enough)).collect()
            });
            for (gain, within) in gains.iter_mut().flatten().zip(within.iter().flatten()) {
                *gain = gain.max(*within);
            }
        }
        let mut open = Vec::with_capacity(asked.len());
        for (i, (node, limits)) in asked.iter().enumerate() {
            let gains: Vec<f64> = gains.iter().map(|g| g[i]).collect();
            let chosen = self.choose(*node, &gains, limits);
            if chosen.is_none() || self.state.size(*node) < BINS * self.state.criterion.lanes() {
                self.fields.iter_mut().for_each(|field| field.forget(*node));
            }
            open.extend(chosen);
        }
        open
    }

    /// The best split of a node, given its largest gain by each field.
    fn choose(&mut self, node: usize, gains: &[f64], limits: &Limits) -> Option<Open<Division>> {
        let state = &self.state;
        let best = gains.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let root = state.criterion.weight(&state.nodes[0].totals);
        if best == f64::NEG_INFINITY || best.max(0.0) < self.params.min_impurity_decrease * root * (1.0 - TIE) {
            return None;
        }
        let enough = enough(state.criterion, &state.nodes[node].totals, best);
        let feature = gains.iter().position(|&gain| gain >= enough)?;
        let may_cut = self.params.engine == Engine::Exact;
        let place = self.fields[feature].first(state, (node, may_cut), limits, enough)?;
        Some(Open { gain: best.max(0.0), node, split: (feature, place) })
    }

    /// Splits a node; returns its children.
    fn split(&mut self, open: &Open<Division>) -> [usize; 2] {
        let (feature, place) = open.split;
        let range = self.state.nodes[open.node].range.clone();
        let (left, gap) = self.sides(open);
        let (state, Room { sources, order, payload, .. }) = (&mut self.state, &mut self.room);
        let fields = &mut self.fields;
        rayon::join(
            || {
                reorder(&mut state.payload[range.clone()], sources, payload);
                reorder(&mut state.order[range.clone()], sources, order);
            },
            || each(fields, range.len(), |field| field.reorder(range.clone(), sources)),
        );
        let children = [state.nodes.len(), state.nodes.len() + 1];
        let middle = range.start + left;
        let ranges = [range.start..middle, middle..range.end];
        let totals = |side: usize| state.criterion.totals(&state.payload[ranges[side].clone()]);
        let (a, b) = rayon::join(|| totals(0), || totals(1));
        let Node { depth, bounds, .. } = state.nodes[open.node];
        for (range, totals) in ranges.into_iter().zip([a, b]) {
            state.nodes.push(Node { totals, range, depth: depth + 1, bounds, split: None });
        }
        self.bound(children, self.fields[feature].sign);
        let missing_left = place.missing_left;
        self.state.nodes[open.node].split = Some(Split { feature, gap, missing_left, children });
        children
    }

    /// Finds on which side a node's rows go; returns how many go left, and the neighbouring values.
    fn sides(&mut self, open: &Open<Division>) -> (usize, [f32; 2]) {
        let (state, Room { sources, others, .. }) = (&self.state, &mut self.room);
        let range = state.nodes[open.node].range.clone();
        let (feature, Place { bin, key: cut, missing_left }) = open.split;
        let Column { codes, values, .. } = &self.fields[feature].column;
        let codes = &codes[range.clone()];
        let value = |i: usize| key(state.rows.value(state.order[range.start + i], feature));
        // Bins go to one side, but for one that is cut through.
        let mut goes_left: [bool; BINS] = std::array::from_fn(|code| code <= bin);
        goes_left[MISSING_BIN] = missing_left == Some(true);
        let is_cut = cut != u32::MAX;
        sources.resize(codes.len(), 0);
        others.resize(codes.len(), 0);
        let (mut left, mut right) = (0, 0);
        for (i, &code) in codes.iter().enumerate() {
            // Both places are written and only one counts: no branch to mispredict.
            (sources[left], others[right]) = (i as u32, i as u32);
            let code = usize::from(code);
            let goes = if is_cut && code == bin { value(i) <= cut } else { goes_left[code] };
            let goes = usize::from(goes);
            left += goes;
            right += 1 - goes;
        }
        sources[left..].copy_from_slice(&others[..right]);
        // The neighbouring values are in the last bin on the left and in the first one on the right.
        let above = codes.iter().copied().filter(|&c| usize::from(c) > bin && usize::from(c) != MISSING_BIN);
        let next = if is_cut { Some(bin) } else { above.min().map(usize::from) };
        if let (Some(values), false) = (values, is_cut) {
            return (left, [values[bin], next.map_or(f32::INFINITY, |next| values[next])]);
        }
        let (mut low, mut high) = (0, None);
        for (i, &code) in
            codes.iter().enumerate().filter(|(_, c)| usize::from(**c) == bin || Some(usize::from(**c)) == next)
        {
            let key = value(i);
            if usize::from(code) == bin && key <= cut {
                low = low.max(key);
            } else {
                high = Some(high.map_or(key, |high: u32| high.min(key)));
            }
        }
        (left, [value_of(low), high.map_or(f32::INFINITY, value_of)])
    }

    /// Hands the bounds of monotone constraints down to two children.
    fn bound(&mut self, children: [usize; 2], sign: i8) {
        if sign == 0 {
            return;
        }
        let nodes = &mut self.state.nodes;
        let value = |child: usize| {
            let mut value = Vec::new();
            self.state.criterion.value(&nodes[child].totals, &mut value);
            // One number, or of two classes the share of the second.
            value[value.len() - 1]
        };
        let middle = (value(children[0]) + value(children[1])) / 2.0;
        let [low, high] = if sign > 0 { children } else { [children[1], children[0]] };
        nodes[low].bounds[1] = middle;
        nodes[high].bounds[0] = middle;
    }
}

/// Does something with every field, in parallel where the node is large; results are in the fields' order.
fn each<C: Criterion, T: Send>(
    fields: &mut [Field<C>],
    rows: usize,
    work: impl Fn(&mut Field<C>) -> T + Sync + Send,
) -> Vec<T> {
    match (rows + BINS) * fields.len() >= PARALLEL_FROM {
        true => fields.par_iter_mut().map(work).collect(),
        false => fields.iter_mut().map(work).collect(),
    }
}
