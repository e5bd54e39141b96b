//! Softmax temperature: turns a model's scores into probabilities that match the teacher's best.

use crate::trace::LevelTable;
use sched_distill_core::{
    level::first_max,
    model::{Model, ScoreCandidates},
};

/// Range of temperatures, in units of the scores' typical spread within a choice.
const RANGE: (f64, f64) = (1e-3, 1e3);

/// The temperature with least cross-entropy to the teacher over the choices of a table; 1 if there is nothing to go by.
pub(super) fn fit_temperature(model: &Model, table: &LevelTable) -> f64 {
    let mut scored: Vec<(f64, Vec<f64>, Vec<f64>)> = Vec::new();
    let mut spread = (0.0, 0.0);
    for choice in table.iter().filter(|c| !c.is_forced()) {
        let mut scores = vec![0.0; choice.len()];
        model.score_choice(choice.x, choice.width, &mut scores);
        let teacher: Vec<f64> = match choice.has_probabilities() {
            true => choice.log_prob.iter().map(|&p| f64::from(p).exp()).collect(),
            false => choice.chosen.iter().map(|&c| f64::from(u8::from(c))).collect(),
        };
        let best = scores[first_max(scores.iter().copied())];
        let least = scores.iter().copied().fold(f64::INFINITY, f64::min);
        let weight = f64::from(choice.header.weight);
        spread = (spread.0 + weight * (best - least), spread.1 + weight);
        scores.iter_mut().for_each(|s| *s -= best);
        scored.push((weight, scores, teacher));
    }
    let unit = spread.0 / spread.1;
    if !(unit.is_finite() && unit > 0.0) {
        return 1.0;
    }
    let loss = |log_t: f64| -> f64 {
        let t = unit * log_t.exp();
        let cross = |(weight, scores, teacher): &(f64, Vec<f64>, Vec<f64>)| {
            let total = scores.iter().map(|s| (s / t).exp()).sum::<f64>().ln();
            weight * scores.iter().zip(teacher).map(|(s, p)| p * (total - s / t)).sum::<f64>()
        };
        scored.iter().map(cross).sum()
    };
    // The loss is convex in 1/T, so it has one valley in ln T: golden-section search.
    let golden = (5f64.sqrt() - 1.0) / 2.0;
    let (mut low, mut high) = (RANGE.0.ln(), RANGE.1.ln());
    let (mut a, mut b) = (high - golden * (high - low), low + golden * (high - low));
    let (mut loss_a, mut loss_b) = (loss(a), loss(b));
    while high - low > 1e-3 {
        if loss_a < loss_b {
            (high, b, loss_b) = (b, a, loss_a);
            a = high - golden * (high - low);
            loss_a = loss(a);
        } else {
            (low, a, loss_a) = (a, b, loss_b);
            b = low + golden * (high - low);
            loss_b = loss(b);
        }
    }
    unit * ((low + high) / 2.0).exp()
}
