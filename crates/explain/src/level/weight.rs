//! How much each feature and family matters on the choices of a sample.

use super::{Case, Sampled};
use crate::{Family, KindWeight, Weight};
use rayon::prelude::*;
use sched_distill_core::{level::Values, rng::Stream};
use sched_distill_judge::evaluator::{Estimate, bootstrap};
use sched_distill_trace::Choice;

/// Shuffles of a family's values per choice.
const REPEATS: usize = 3;

/// Weights of the families, or of the single features, the most important first; `uses` says which columns the model reads.
pub(super) fn weights(
    sampled: &Sampled<'_>,
    groups: &[Family],
    uses: &[bool],
    shuffled: bool,
    seed: u64,
) -> Vec<Weight> {
    let spec = &sampled.sample.table.spec;
    let mut weights: Vec<Weight> = groups
        .iter()
        .enumerate()
        .map(|(number, group)| {
            let drops = (shuffled && group.columns.iter().any(|&c| uses[c]))
                .then(|| drops(sampled, group, Stream::new(seed, &format!("shuffle {number}")).bits()));
            Weight {
                name: group.name.clone(),
                features: group.columns.iter().map(|&c| spec.features[c].name.clone()).collect(),
                by_kind: by_kind(sampled, group, drops.as_deref(), shuffled, seed),
            }
        })
        .collect();
    let share = |w: &Weight| w.by_kind.last().map_or(0.0, |k| k.share);
    weights.sort_by(|a, b| share(b).total_cmp(&share(a)));
    weights
}

fn by_kind(sampled: &Sampled<'_>, group: &Family, drops: Option<&[f64]>, shuffled: bool, seed: u64) -> Vec<KindWeight> {
    // Of a family, the quantity itself tells where a candidate stands.
    let base = group.columns[0];
    let mut found = Vec::new();
    for (kind, name) in sampled.kinds() {
        let cases: Vec<(usize, &Case<'_>)> =
            sampled.cases.iter().enumerate().filter(|(_, c)| kind.is_none_or(|k| k == c.choice.header.kind)).collect();
        let total: f64 = cases.iter().map(|(_, c)| c.weight).sum();
        if cases.is_empty() {
            continue;
        }
        let mean = |of: &dyn Fn(&Case<'_>) -> f64| cases.iter().map(|(_, c)| c.weight * of(c)).sum::<f64>() / total;
        let share = |c: &Case<'_>| {
            let of_row = |row: &[f64]| group.columns.iter().map(|&column| row[column]).sum::<f64>().abs();
            c.shares.chunks_exact(c.choice.width).map(of_row).sum::<f64>() / c.choice.len() as f64
        };
        // Where it has no such quantity it stands nowhere.
        let stands = |whose: &dyn Fn(&Case<'_>) -> usize| {
            let of = |c: &Case<'_>| Some((c.weight, standing(&c.choice, sampled.values, base, whose(c))?));
            let standing = cases.iter().filter_map(|(_, c)| of(c));
            let (sum, weight) = standing.fold((0.0, 0.0), |sum, (w, s)| (sum.0 + w * s, sum.1 + w));
            if weight > 0.0 { sum / weight } else { 0.0 }
        };
        let drop = shuffled.then(|| match drops {
            None => Estimate { value: 0.0, low: 0.0, high: 0.0 },
            Some(drops) => by_episode(&cases, seed, |place| drops[place]),
        });
        found.push(KindWeight {
            kind: name.to_owned(),
            share: mean(&share),
            drop,
            teacher: stands(&|c| c.target),
            student: stands(&|c| c.taken),
            tendency: None,
        });
    }
    found
}

/// The weighted mean of a figure of each case, with its interval over episodes.
fn by_episode(cases: &[(usize, &Case<'_>)], seed: u64, figure: impl Fn(usize) -> f64) -> Estimate {
    let mut sums: Vec<(u32, f64, f64)> = Vec::new();
    for (place, case) in cases {
        let episode = case.choice.header.episode;
        if sums.last().is_none_or(|s| s.0 != episode) {
            sums.push((episode, 0.0, 0.0));
        }
        if let Some(sum) = sums.last_mut() {
            sum.1 += case.weight * figure(*place);
            sum.2 += case.weight;
        }
    }
    bootstrap(sums.len(), seed, |counts| {
        let sum =
            |of: fn(&(u32, f64, f64)) -> f64| sums.iter().zip(counts).map(|(s, &c)| of(s) * f64::from(c)).sum::<f64>();
        sum(|s| s.1) / sum(|s| s.2)
    })
}

/// Where a candidate stands among all that have the quantity: its deviation from their mean in standard deviations. `None` if it has
/// none itself.
fn standing(choice: &Choice<'_>, values: &Values, column: usize, candidate: usize) -> Option<f64> {
    let value = |i: usize| f64::from(choice.row(i)[column]);
    let has = |i: &usize| values.has(choice.row(*i), column);
    let n = (0..choice.len()).filter(has).count() as f64;
    let mean = (0..choice.len()).filter(has).map(value).sum::<f64>() / n;
    let sd = ((0..choice.len()).filter(has).map(|i| (value(i) - mean).powi(2)).sum::<f64>() / n).sqrt();
    has(&candidate).then(|| if sd > 0.0 { (value(candidate) - mean) / sd } else { 0.0 })
}

/// By how much agreement with the teacher falls, choice by choice, when the columns of a group are shuffled together.
fn drops(sampled: &Sampled<'_>, group: &Family, seed: u64) -> Vec<f64> {
    let cases = &sampled.cases;
    let drop = |(work, scores): &mut (Vec<f32>, Vec<f64>), case: &Case<'_>| {
        let choice = &case.choice;
        let mut stream = Stream::new(seed ^ choice.header.id, "choice");
        // To give nothing has no values to shuffle.
        let takes_part = |i: &usize| !sampled.values.is_none(choice.row(*i));
        let rows: Vec<usize> = (0..choice.len()).filter(takes_part).collect();
        let same = |&column: &usize| rows.iter().all(|&i| choice.row(i)[column] == choice.row(rows[0])[column]);
        let common = rows.is_empty() || group.columns.iter().all(same);
        let mut hits = 0;
        for _ in 0..REPEATS {
            work.clear();
            work.extend_from_slice(choice.x);
            let mut order = rows.clone();
            (1..order.len()).rev().for_each(|i| order.swap(i, stream.below(i + 1)));
            let donor = &cases[stream.below(cases.len())].choice;
            for (&to, &from) in rows.iter().zip(&order) {
                let row = if common { donor.row(0) } else { choice.row(from) };
                group.columns.iter().for_each(|&c| work[to * choice.width + c] = row[c]);
            }
            hits += usize::from(sampled.scorer.choose(&Choice { x: work, ..*choice }, scores) == case.target);
        }
        f64::from(u8::from(case.taken == case.target)) - hits as f64 / REPEATS as f64
    };
    cases.par_iter().map_init(|| (Vec::new(), Vec::new()), drop).collect()
}
