//! The split that leaves least after the best splits of both its children: exact search of two levels over bins.
//!
//! For every feature, rows move bin by bin from right to left, and with them their bytes in the histograms of all features
//! of the left child; the right child's are the difference to the node's. So two levels cost width² passes over the rows
//! instead of one pass for every pair of divisions.

use super::{
    criterion::Criterion,
    field::Field,
    grow::{State, TIE},
    search::{Cuts, Limits, Place, View},
};
use rayon::prelude::*;

/// The best first split of a node: its field, its place, and the gain of both levels.
pub(super) fn best<C: Criterion>(
    state: &State<'_, C>,
    fields: &[Field<C>],
    node: usize,
    limits: &Limits,
) -> Option<(usize, Place, f64)> {
    let whole: Vec<C::Bins> = fields.par_iter().map(|field| field.fill(state, node)).collect();
    let gains: Vec<Vec<(f64, Place)>> =
        (0..fields.len()).into_par_iter().map(|first| by_first(state, fields, &whole, (node, first), limits)).collect();
    let best = gains.iter().flatten().map(|g| g.0).fold(f64::NEG_INFINITY, f64::max);
    let totals = &state.nodes[node].totals;
    let enough = best - TIE * state.criterion.weight(totals) * state.criterion.impurity(totals);
    let mut all = gains.iter().enumerate().flat_map(|(field, gains)| gains.iter().map(move |g| (field, g.1, g.0)));
    all.find(|&(_, _, gain)| gain >= enough)
}

/// Gains of both levels for every division by one field.
fn by_first<C: Criterion>(
    state: &State<'_, C>,
    fields: &[Field<C>],
    whole: &[C::Bins],
    (node, first): (usize, usize),
    limits: &Limits,
) -> Vec<(f64, Place)> {
    let criterion = state.criterion;
    let range = state.nodes[node].range.clone();
    let codes = &fields[first].column.codes[range.clone()];
    let mut order: Vec<usize> = (0..codes.len()).collect();
    order.sort_by_key(|&i| codes[i]);
    let payload: Vec<C::Payload> = order.iter().map(|&i| state.payload[range.start + i]).collect();
    let error = |totals: &C::Totals| criterion.weight(totals) * criterion.impurity(totals);
    let mut left: Vec<C::Bins> = fields.iter().map(|_| criterion.bins()).collect();
    let (mut division, mut found, mut at) = (criterion.division(), Vec::new(), 0);
    for rows in order.chunk_by(|&a, &b| codes[a] == codes[b]) {
        for (field, bins) in fields.iter().zip(&mut left) {
            let codes = &field.column.codes[range.clone()];
            for (&i, &payload) in rows.iter().zip(&payload[at..]) {
                criterion.add(bins, codes[i], payload);
            }
        }
        at += rows.len();
        if at < limits.min_samples || payload.len() - at < limits.min_samples {
            continue;
        }
        let sides = [&payload[..at], &payload[at..]];
        let totals = sides.map(|side| criterion.totals(side));
        if totals.iter().any(|t| criterion.weight(t) < limits.min_weight) {
            continue;
        }
        let mut second = [0.0f64; 2];
        for ((field, left), whole) in fields.iter().zip(&left).zip(whole) {
            let mut right = whole.clone();
            criterion.subtract(&mut right, left);
            for (side, histogram) in [left, &right].into_iter().enumerate() {
                let bins = field.column.bins;
                let view = View { criterion, totals: &totals[side], histogram, bins, payload: sides[side] };
                view.divide(&mut division, &Cuts::default(), limits, |gain, _| {
                    second[side] = second[side].max(gain);
                    true
                });
            }
        }
        let gain = error(&state.nodes[node].totals) - error(&totals[0]) - error(&totals[1]) + second[0] + second[1];
        let place = Place { bin: usize::from(codes[rows[0]]), key: u32::MAX, missing_left: None };
        found.push((gain, place));
    }
    found
}
