//! Softmax temperature: turns a model's scores into probabilities that match the teacher's best.

use sched_distill_core::{
    level::first_max,
    model::{Model, ScoreCandidates},
};
use sched_distill_trace::LevelTable;
use std::convert::Infallible;

/// Range of temperatures, in units of the scores' typical spread within a choice.
const RANGE: (f64, f64) = (1e-3, 1e3);

/// Newton's steps at most; five or so are usual.
const STEPS: usize = 60;

/// The last step is the one that promises to lower the mean loss by less: Newton's steps square what is left.
const CLOSE: f64 = 1e-12;

/// The choices of a table as a model scores them, candidate after candidate.
#[derive(Default)]
pub(super) struct Scored {
    /// Where each choice's candidates end.
    ends: Vec<usize>,
    /// Weight of each choice.
    weight: Vec<f64>,
    /// Scores relative to the best one of their choice.
    score: Vec<f64>,
    /// The teacher's probabilities.
    teacher: Vec<f64>,
    /// Weighted sum of the scores' ranges within choices.
    spread: f64,
}

/// The temperature with least cross-entropy to the teacher over the choices of a table; 1 if there is nothing to go by.
pub(super) fn fit_temperature(model: &Model, table: &LevelTable) -> f64 {
    let scored = Scored::new(model, table);
    let [.., spread, weight] = scored.numbers(0.0);
    let found = newton(spread / weight, |inverse| {
        let [slope, curvature, ..] = scored.numbers(inverse);
        Ok::<_, Infallible>([slope / weight, curvature / weight])
    });
    let Ok(found) = found;
    found
}

/// Newton's method for a loss whose slope and curvature in 1/T are given. `unit` is the scores' typical range within a choice.
pub(super) fn newton<E>(unit: f64, mut derivatives: impl FnMut(f64) -> Result<[f64; 2], E>) -> Result<f64, E> {
    if !(unit.is_finite() && unit > 0.0) {
        return Ok(1.0);
    }
    // The loss is convex in 1/T: Newton's steps towards the zero of its slope, within what is known to hold it.
    let (mut low, mut high) = (1.0 / RANGE.1, 1.0 / RANGE.0);
    let mut inverse = 1.0;
    for _ in 0..STEPS {
        let [slope, curvature] = derivatives(inverse / unit)?;
        // Those are per unit of the scores.
        let (slope, curvature) = (slope / unit, curvature / (unit * unit));
        if slope > 0.0 {
            high = inverse
        } else {
            low = inverse
        }
        let step = inverse - slope / curvature;
        let next = if step > low && step < high { step } else { (low * high).sqrt() };
        inverse = next;
        if slope * slope < CLOSE * curvature.max(f64::MIN_POSITIVE) {
            break;
        }
    }
    Ok(unit / inverse)
}

impl Scored {
    pub(super) fn new(model: &Model, table: &LevelTable) -> Self {
        let mut all = Self::default();
        let mut scores = Vec::new();
        for choice in table.iter().filter(|c| !c.is_forced()) {
            scores.clear();
            scores.resize(choice.len(), 0.0);
            model.score_choice(choice.x, choice.width, &mut scores);
            match choice.has_probabilities() {
                true => all.teacher.extend(choice.log_prob.iter().map(|&p| f64::from(p).exp())),
                false => all.teacher.extend(choice.chosen.iter().map(|&c| f64::from(u8::from(c)))),
            }
            let best = scores[first_max(scores.iter().copied())];
            let least = scores.iter().copied().fold(f64::INFINITY, f64::min);
            let weight = f64::from(choice.header.weight);
            all.spread += weight * (best - least);
            all.score.extend(scores.iter().map(|s| s - best));
            all.ends.push(all.score.len());
            all.weight.push(weight);
        }
        all
    }

    /// First and second derivative of the summed cross-entropy in the inverse temperature, the summed range of scores, and the weight
    /// of all choices.
    pub(super) fn numbers(&self, inverse: f64) -> [f64; 4] {
        let (mut slope, mut curvature, mut from) = (0.0, 0.0, 0);
        for (&end, weight) in self.ends.iter().zip(&self.weight) {
            let (scores, teacher) = (&self.score[from..end], &self.teacher[from..end]);
            let (mut mass, mut first, mut second, mut theirs, mut whole) = (0.0, 0.0, 0.0, 0.0, 0.0);
            for (s, p) in scores.iter().zip(teacher) {
                let q = (s * inverse).exp();
                (mass, first, second) = (mass + q, first + q * s, second + q * s * s);
                (theirs, whole) = (theirs + p * s, whole + p);
            }
            let mean = first / mass;
            slope += weight * (whole * mean - theirs);
            curvature += weight * whole * (second / mass - mean * mean);
            from = end;
        }
        let total: f64 = self.weight.iter().sum();
        [slope, curvature, self.spread, total]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tiny;
    use sched_distill_core::{model::Additive, rng::Stream};

    /// The loss as it is defined.
    fn loss(model: &Model, table: &LevelTable, temperature: f64) -> f64 {
        let mut scores = Vec::new();
        let of = |choice: sched_distill_trace::Choice<'_>| {
            scores.resize(choice.len(), 0.0);
            model.score_choice(choice.x, choice.width, &mut scores);
            let total = scores.iter().map(|s| (s / temperature).exp()).sum::<f64>().ln();
            let cross = |(s, p): (&f64, &f32)| f64::from(*p).exp() * (total - s / temperature);
            scores.iter().zip(choice.log_prob).map(cross).sum::<f64>()
        };
        table.iter().map(of).sum()
    }

    #[test]
    fn no_temperature_near_it_has_a_smaller_loss() {
        let model = Model::Additive(Additive::linear(&[1.0, -0.5], &[1.0, 1.0]));
        let mut stream = Stream::new(3, "temperature");
        for sharp in [0.05, 1.0, 20.0] {
            let choices: Vec<_> = (0..200)
                .map(|i| {
                    let rows: Vec<[f32; 2]> = (0..4).map(|_| std::array::from_fn(|_| stream.normal() as f32)).collect();
                    (i / 20, 0, rows, 0)
                })
                .collect();
            let mut table = tiny::table("job", &choices);
            // A teacher of the same mind, `sharp` times as sure, and a little of its own.
            for (choice, rows) in table.x.chunks_exact(8).enumerate() {
                let scores: Vec<f64> = rows
                    .chunks_exact(2)
                    .map(|x| sharp * f64::from(x[0] - 0.5 * x[1]) + 0.01 * sharp * stream.normal())
                    .collect();
                let total = scores.iter().map(|s| s.exp()).sum::<f64>().ln();
                let place = 4 * choice;
                table.log_prob.splice(place..place + 4, scores.iter().map(|s| (s - total) as f32));
            }
            let found = fit_temperature(&model, &table);
            assert!((found * sharp - 1.0).abs() < 0.1, "{found} for {sharp}");
            let least = loss(&model, &table, found);
            for factor in [0.999, 1.001, 0.5, 2.0] {
                assert!(loss(&model, &table, found * factor) > least, "{sharp} {factor}");
            }
        }
    }

    #[test]
    fn who_is_always_right_gets_the_coldest_and_nothing_to_go_by_gets_one() {
        let model = Model::Additive(Additive::linear(&[1.0, 0.0], &[1.0, 0.0]));
        let right =
            tiny::table("job", &[(0, 0, vec![[0.0, 0.0], [1.0, 0.0]], 1), (1, 0, vec![[3.0, 0.0], [1.0, 0.0]], 0)]);
        // Its probability of being right is then 1 up to the last digits.
        let found = fit_temperature(&model, &right);
        assert!((1.5 * RANGE.0..0.1).contains(&found), "{found}");
        let same = tiny::table("job", &[(0, 0, vec![[1.0, 0.0], [1.0, 0.0]], 1)]);
        assert_eq!(fit_temperature(&model, &same), 1.0);
    }
}
