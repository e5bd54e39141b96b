//! What a choice weighs in VIPER.

use crate::target::log_ratio;
use sched_distill_trace::{LevelTable, Regret};
use std::collections::BTreeMap;

/// Multiplies each choice's weight by its mean log-probability gap, and all weights of the level by what keeps their sum.
pub(super) fn by_gap(table: &mut LevelTable) {
    let gaps: Vec<f64> = table.iter().map(|c| -log_ratio(&c).sum::<f64>() / c.len() as f64).collect();
    let weights = || table.choices.iter().map(|c| f64::from(c.weight));
    let before: f64 = weights().sum();
    let after: f64 = weights().zip(&gaps).map(|(w, gap)| w * gap).sum();
    if after > 0.0 {
        for (choice, gap) in table.choices.iter_mut().zip(gaps) {
            choice.weight *= (gap * before / after) as f32;
        }
    }
}

/// Mean regret of the decisions that were simulated, gains counted as 0, ms; `None` if none was.
pub(super) fn mean_regret(regrets: &[Regret]) -> Option<f64> {
    let simulated: Vec<f64> = regrets.iter().filter_map(|r| r.regret).map(|r| r.max(0.0)).collect();
    (!simulated.is_empty()).then(|| simulated.iter().sum::<f64>() / simulated.len() as f64)
}

/// Multiplies the weights of a decision's choices by 1 + regret / mean regret. Decisions without an entry have no regret,
/// those with an entry but no figure have the mean.
pub(super) fn by_regret(table: &mut LevelTable, regrets: &[Regret]) {
    let Some(mean) = mean_regret(regrets).filter(|&mean| mean > 0.0) else { return };
    let of: BTreeMap<(u32, u32), f64> =
        regrets.iter().map(|r| ((r.episode, r.step), r.regret.unwrap_or(mean).max(0.0))).collect();
    for choice in &mut table.choices {
        if let Some(regret) = of.get(&(choice.episode, choice.step)) {
            choice.weight *= (1.0 + regret / mean) as f32;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sched_distill_core::level::LevelSpec;
    use sched_distill_trace::ChoiceHeader;

    /// A level without features: choices of (weight, probabilities), one per step of episode 3.
    fn table(choices: &[(f32, &[f64])]) -> LevelTable {
        let spec = LevelSpec {
            name: "job".into(),
            question: "?".into(),
            candidates: String::new(),
            entities: Vec::new(),
            features: Vec::new(),
        };
        let mut table = LevelTable::new(spec, vec!["all".into()]);
        for (step, &(weight, p)) in (0..).zip(choices) {
            let (id, first_row) = (u64::from(step), table.rows());
            table.choices.push(ChoiceHeader {
                id,
                episode: 3,
                step,
                time_ms: 0.0,
                kind: 0,
                parent: None,
                weight,
                first_row,
            });
            table.log_prob.extend(p.iter().map(|p| p.ln() as f32));
            table.chosen.extend((0..p.len()).map(|i| i == 0));
        }
        table
    }

    #[test]
    fn the_gap_is_that_of_its_definition_and_the_sum_of_weights_stays() {
        let choices: [(f32, &[f64]); 4] =
            [(1.0, &[0.5, 0.5]), (2.0, &[0.9, 0.1]), (0.5, &[0.2, 0.7, 0.1]), (1.0, &[1.0 - 1e-9, 1e-9])];
        let mut found = table(&choices);
        by_gap(&mut found);
        // By brute force: the mean of ln(best / p), each at most 6.
        let gap = |p: &[f64]| {
            let best = p.iter().copied().fold(0.0, f64::max);
            p.iter().map(|p| (best / p).ln().min(6.0)).sum::<f64>() / p.len() as f64
        };
        let raw: Vec<f64> = choices.iter().map(|(w, p)| f64::from(*w) * gap(p)).collect();
        let scale = 4.5 / raw.iter().sum::<f64>();
        for (choice, raw) in found.choices.iter().zip(&raw) {
            assert!((f64::from(choice.weight) - scale * raw).abs() < 1e-6, "{choice:?}, expected {}", scale * raw);
        }
        assert_eq!(found.choices[0].weight, 0.0, "where the teacher is indifferent nothing is at stake");
    }

    #[test]
    fn an_indifferent_teacher_leaves_the_weights_alone() {
        let mut found = table(&[(1.0, &[0.5, 0.5]), (3.0, &[1.0])]);
        let before = found.clone();
        by_gap(&mut found);
        assert_eq!(found, before);
    }

    #[test]
    fn regret_adds_nothing_where_both_choices_are_the_same_or_the_students_is_better() {
        let mut found = table(&[(1.0, &[0.5, 0.5]), (1.0, &[0.5, 0.5]), (0.5, &[0.5, 0.5]), (1.0, &[0.5, 0.5])]);
        let regret = |step, regret| Regret { episode: 3, step, regret };
        // Step 0 agrees; 1 is better; 2 costs 8 s; 3 was not simulated. The mean is 4 s.
        let regrets = [regret(1, Some(-9e3)), regret(2, Some(8e3)), regret(3, None)];
        assert_eq!(mean_regret(&regrets), Some(4e3));
        by_regret(&mut found, &regrets);
        let weights: Vec<f32> = found.choices.iter().map(|c| c.weight).collect();
        assert_eq!(weights, [1.0, 1.0, 1.5, 2.0]);
        by_regret(&mut found, &[regret(0, Some(0.0)), regret(1, None)]);
        assert_eq!(found.choices[0].weight, 1.0, "no regret at all changes nothing");
    }
}
