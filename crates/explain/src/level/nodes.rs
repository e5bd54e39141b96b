//! What reaches the nodes of a tree: candidates, choices, the teacher's probabilities.

use super::Sampled;
use crate::{NodeFacts, PROBABILITY_BORDERS};
use sched_distill_core::model::Tree;

/// Sums at a node.
#[derive(Clone, Default)]
struct Sums {
    rows: f64,
    choices: f64,
    taken: f64,
    best: f64,
    probable: f64,
    probability: [f64; PROBABILITY_BORDERS.len() + 1],
    sampled: usize,
}

/// Facts at every node of a tree that scores the candidates of a sample.
pub(super) fn nodes(sampled: &Sampled<'_>, tree: &Tree) -> Vec<NodeFacts> {
    let mut sums = vec![Sums::default(); tree.nodes()];
    let mut seen = vec![usize::MAX; tree.nodes()];
    for (number, case) in sampled.cases.iter().enumerate() {
        let choice = &case.choice;
        for i in 0..choice.len() {
            let p = f64::from(choice.log_prob[i]).exp();
            for node in tree.decision_path(choice.row(i)) {
                let sum = &mut sums[node];
                sum.sampled += 1;
                sum.rows += case.weight;
                if seen[node] != number {
                    seen[node] = number;
                    sum.choices += case.weight;
                }
                sum.taken += if case.taken == i { case.weight } else { 0.0 };
                sum.best += if case.target == i { case.weight } else { 0.0 };
                if p.is_finite() {
                    sum.probable += case.weight;
                    sum.probability[PROBABILITY_BORDERS.partition_point(|&border| border <= p)] += case.weight;
                }
            }
        }
    }
    let all = sums.first().cloned().unwrap_or_default();
    let share = |part: f64, whole: f64| if whole > 0.0 { part / whole } else { 0.0 };
    let facts = |s: &Sums| NodeFacts {
        rows: share(s.rows, all.rows),
        choices: share(s.choices, all.choices),
        taken: share(s.taken, s.rows),
        best: share(s.best, s.rows),
        probability: match s.probable > 0.0 {
            true => s.probability.iter().map(|p| p / s.probable).collect(),
            false => Vec::new(),
        },
        sampled: s.sampled,
    };
    sums.iter().map(facts).collect()
}
