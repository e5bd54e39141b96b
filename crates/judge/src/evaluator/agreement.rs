//! Do two scorers choose alike?

use super::{Estimate, Scorer, fidelity::episodes, interval::bootstrap};
use rayon::prelude::*;
use sched_distill_core::level::ALL_KINDS;
use sched_distill_trace::LevelTable;
use serde::{Deserialize, Serialize};

/// How often two scorers choose the same candidate on the choices of one level and kind.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AgreementRow {
    /// Level, e.g. `job`.
    pub level: String,
    /// Kind, e.g. `free`, or `all`.
    pub kind: String,
    /// Choices with at least two candidates that were counted.
    pub choices: usize,
    /// Weighted share of choices in which both take the same candidate.
    pub share: Estimate,
}

/// Agreement of two scorers on the choices of a table, by kind and for all kinds together (`all`); choices with a single
/// candidate are left out. A scorer without an order takes the first candidate. Intervals resample episodes; `seed` fixes
/// them.
#[must_use]
pub fn agreement(table: &LevelTable, a: &Scorer, b: &Scorer, seed: u64) -> Vec<AgreementRow> {
    /// Weight of all choices, of those with agreement, and their number.
    type Sums = (f64, f64, usize);
    let per_episode: Vec<Vec<Sums>> = episodes(table)
        .into_par_iter()
        .map(|range| {
            let mut sums: Vec<Sums> = vec![(0.0, 0.0, 0); table.kinds.len()];
            let mut scores = Vec::new();
            for choice in range.map(|i| table.choice(i)).filter(|c| !c.is_forced()) {
                let same = a.choose(&choice, &mut scores) == b.choose(&choice, &mut scores);
                let weight = f64::from(choice.header.weight);
                let (all, agreed, choices) = &mut sums[choice.header.kind as usize];
                *all += weight;
                *agreed += if same { weight } else { 0.0 };
                *choices += 1;
            }
            sums
        })
        .collect();
    let row = |kind: Option<usize>, name: &str| {
        let of_episode = |sums: &Vec<Sums>| {
            let kinds = sums.iter().enumerate().filter(|(i, _)| kind.is_none_or(|k| k == *i));
            kinds.fold((0.0, 0.0, 0), |sum, (_, s)| (sum.0 + s.0, sum.1 + s.1, sum.2 + s.2))
        };
        let sums: Vec<Sums> = per_episode.iter().map(of_episode).filter(|s| s.2 > 0).collect();
        let share = |counts: &[u32]| {
            let sum = |f: fn(&Sums) -> f64| sums.iter().zip(counts).map(|(s, &c)| f(s) * f64::from(c)).sum::<f64>();
            sum(|s| s.1) / sum(|s| s.0)
        };
        (!sums.is_empty()).then(|| AgreementRow {
            level: table.spec.name.clone(),
            kind: name.to_owned(),
            choices: sums.iter().map(|s| s.2).sum(),
            share: bootstrap(sums.len(), seed, share),
        })
    };
    let kinds = table.kinds.iter().enumerate().filter_map(|(i, name)| row(Some(i), name));
    kinds.chain(row(None, ALL_KINDS)).collect()
}
