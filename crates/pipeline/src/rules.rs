//! Rules with a name, known or the user's, that a trace has the features for.

use super::PipelineError;
use sched_distill_core::{
    level::LevelSpec,
    model::{NamedModel, Rule},
    scenario::ScenarioInfo,
};
use sched_distill_judge::evaluator::Scorer;
use sched_distill_trace::Trace;

/// A rule with its meaning and its model.
#[derive(Clone, Debug)]
pub struct KnownRule {
    /// The rule.
    pub rule: Rule,
    /// What it does, in a phrase.
    pub meaning: String,
    /// The rule as a model of its level.
    pub model: NamedModel,
}

impl KnownRule {
    /// Scores the candidates of its level.
    #[must_use]
    pub fn scorer(&self, spec: &LevelSpec) -> Scorer {
        Scorer::heuristic(&self.model, &self.rule.guards, spec)
    }
}

/// A scenario's rules that a trace has the features for, and the user's (`NAME=RULE`). A trace of a scenario that is
/// not known has the user's alone.
///
/// # Errors
///
/// A rule without a name, with a name that is taken, or about features that the trace has not.
pub fn known_rules(
    trace: &Trace,
    scenario: Option<&ScenarioInfo>,
    more: &[String],
) -> Result<Vec<KnownRule>, PipelineError> {
    let set = &trace.manifest.feature_set;
    let known = scenario.map(|info| info.catalogue.rules(set, trace.abstains()));
    let mut all: Vec<(Rule, String)> =
        known.into_iter().flatten().map(|(rule, meaning)| (rule, meaning.to_owned())).collect();
    for text in more {
        let refused = |why: String| PipelineError::parameter("rule", Some(format!("`{text}`")), why);
        let Some((name, rule)) = text.split_once('=').filter(|(name, _)| !name.contains(':')) else {
            return Err(refused("expected NAME=RULE, e.g. mine='job: smallest remaining_work_rank'".to_owned()));
        };
        if name == "best" || all.iter().any(|(r, _)| r.name == name) {
            return Err(refused(format!("there is a rule `{name}` already; choose another name")));
        }
        all.push((Rule::parse(name, rule, set)?, rule.trim().to_owned()));
    }
    // Rules are read against this very set, so their levels are in it.
    let with_model = |(rule, meaning): (Rule, String)| {
        let spec = set.level(&rule.level).ok_or_else(|| PipelineError::NoLevel(rule.level.clone()))?;
        Ok(KnownRule { model: rule.model(spec)?, rule, meaning })
    };
    all.into_iter().map(with_model).collect()
}
