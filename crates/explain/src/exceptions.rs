//! What has to be said beside a known heuristic so that it does what the teacher does?

use super::{KindAgreement, RuleException, RuleExceptions};
use sched_distill_core::{
    level::first_max,
    model::{Guard, NamedModel, Rule},
};
use sched_distill_judge::evaluator::{Scorer, fidelity};
use sched_distill_learn::{ExceptionParams, FitError, find_exceptions, guards_of};
use sched_distill_trace::{LevelTable, Sample};
use std::collections::BTreeSet;

/// Exceptions at most, and what each must add to the agreement on the choices that it is chosen on.
const MOST: usize = 4;
const GAIN: f64 = 0.01;

/// The rule of a level that agrees most with the teacher as the mean over the kinds of choice, and its most important
/// exceptions. The sample's episodes are dealt out into three parts: rule and exceptions are found on the first, the second says
/// where to stop, and every figure is of the third. `rules` are named rules of this level with what they do in words. `None`
/// without rules, or with choices in fewer than three episodes.
///
/// # Errors
///
/// A rule about features that the level does not have.
pub fn exceptions(
    sample: &Sample,
    rules: &[(&Rule, &NamedModel, &str)],
    seed: u64,
) -> Result<Option<RuleExceptions>, FitError> {
    let table = sample.clone().weighted();
    let episodes: BTreeSet<u32> = table.choices.iter().map(|c| c.episode).collect();
    if episodes.len() < 3 || rules.is_empty() {
        return Ok(None);
    }
    let episodes: Vec<u32> = episodes.into_iter().collect();
    let part = |part: usize| table.select(|e| episodes.binary_search(&e).is_ok_and(|place| place % 3 == part));
    let [learn, choose, judge] = [part(0), part(1), part(2)];
    let mean = |(rule, model, _): &(&Rule, &NamedModel, &str)| {
        let kinds = agreement(model, &rule.guards, &learn, seed);
        kinds.iter().map(|k| k.teacher.value).sum::<f64>() / kinds.len().max(1) as f64
    };
    let (rule, model, meaning) = rules[first_max(rules.iter().map(mean))];
    let params = ExceptionParams { max_exceptions: MOST, min_gain: GAIN, ..ExceptionParams::default() };
    let steps = find_exceptions(rule, &learn, &choose, &params)?;
    let exceptions = steps.iter().enumerate().filter_map(|(i, step)| {
        let guard = Guard { evidence: Default::default(), ..step.exception.clone()? };
        let agreement = agreement(model, &guards_of(rule, &steps[..=i]), &judge, seed);
        Some(RuleException { guard, overrides: step.overrides, agreement })
    });
    Ok(Some(RuleExceptions {
        rule: rule.name.clone(),
        meaning: meaning.to_owned(),
        agreement: agreement(model, &rule.guards, &judge, seed),
        exceptions: exceptions.collect(),
    }))
}

/// Agreement with the teacher by kind.
fn agreement(model: &NamedModel, guards: &[Guard], table: &LevelTable, seed: u64) -> Vec<KindAgreement> {
    let rows = fidelity(table, &[Scorer::heuristic(model, guards, &table.spec)], seed);
    let kinds = rows.into_iter().filter(|r| table.kinds.contains(&r.kind) && r.choices > 0);
    kinds.map(|r| KindAgreement { kind: r.kind, choices: r.choices, teacher: r.top1 }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tiny;
    use sched_distill_core::{level::FeatureSet, model::Action, rng::Stream};
    use sched_distill_trace::Sampler;

    /// Choices of a teacher that takes the smallest `a`, unless a candidate has `b` above 0.6: of those then the smallest `a`.
    fn sample(episodes: u32) -> Sample {
        let mut s = Stream::new(3, "exceptions");
        let mut choice = |episode, kind| {
            let rows: Vec<[f32; 2]> = (0..2 + s.below(6)).map(|_| [s.uniform() as f32, s.uniform() as f32]).collect();
            let target = first_max(rows.iter().map(|r| f64::from(-r[0]) + if r[1] > 0.6 { 9.0 } else { 0.0 }));
            (episode, kind, rows, target)
        };
        let choices: Vec<_> = (0..episodes).flat_map(|e| (0..80).map(move |i| (e, i % 2))).collect();
        let table = tiny::table("job", &choices.into_iter().map(|(e, kind)| choice(e, kind)).collect::<Vec<_>>());
        let mut sampler = Sampler::new(LevelTable::new(table.spec.clone(), table.kinds.clone()), 10_000, 1);
        sampler.add(&table);
        sampler.finish()
    }

    fn found(episodes: u32, rules: &[&str]) -> Option<RuleExceptions> {
        let sample = sample(episodes);
        let set = FeatureSet { scenario: "test".to_owned(), levels: vec![sample.table.spec.clone()] };
        let rules: Vec<Rule> =
            rules.iter().map(|text| Rule::parse(text, &format!("job: {text}"), &set).unwrap()).collect();
        let models: Vec<NamedModel> = rules.iter().map(|r| r.model(&sample.table.spec).unwrap()).collect();
        let named: Vec<_> = rules.iter().zip(&models).map(|(rule, model)| (rule, model, "words")).collect();
        exceptions(&sample, &named, 1).unwrap()
    }

    #[test]
    fn the_closest_rule_comes_with_the_exception_that_the_teacher_makes() {
        let found = found(12, &["largest b", "smallest a"]).unwrap();
        assert_eq!((found.rule.as_str(), found.exceptions[0].guard.action), ("smallest a", Action::First));
        let condition = &found.exceptions[0].guard.when[0];
        assert!(condition.feature == "b" && (condition.value - 0.6).abs() < 0.05, "{condition:?}");
        // A third of the episodes, half of their choices of each kind.
        assert!(found.agreement.iter().all(|k| (k.choices, k.teacher.value < 0.8) == (160, true)), "{found:?}");
        assert!(found.exceptions[0].agreement.iter().all(|k| k.teacher.value > 0.95), "{found:?}");
    }

    #[test]
    fn without_rules_or_with_too_few_episodes_there_is_nothing_to_say() {
        assert_eq!(found(12, &[]), None);
        assert_eq!(found(2, &["smallest a"]), None);
    }
}
