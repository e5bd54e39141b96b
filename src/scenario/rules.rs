//! Heuristics of the `dag` scenario by name, as rules over features: a teacher can be compared with them on any trace that
//! has the features.

use crate::{
    level::{FeatureSet, NONE_FLAG},
    model::{OrderKey, Rule},
};

/// A heuristic with its meaning.
#[derive(Clone, Copy, Debug)]
pub struct RuleTemplate {
    /// What it is called.
    pub name: &'static str,
    /// The rule, as [`Rule::parse`] reads it.
    pub text: &'static str,
    /// What it does.
    pub meaning: &'static str,
}

const fn rule(name: &'static str, text: &'static str, meaning: &'static str) -> RuleTemplate {
    RuleTemplate { name, text, meaning }
}

/// All heuristics. Those of the job level let executors stay with the job that releases them if it can use them; where it
/// cannot, the rest of the rule decides.
pub const RULES: [RuleTemplate; 23] = [
    rule("first-come", "job: is_source first, smallest arrival_order_rank", "the oldest job first"),
    rule("newest-first", "job: is_source first, largest arrival_order_rank", "the newest job first"),
    rule(
        "fair",
        "job: is_source first, held_of_fair_share >= 1 last, smallest arrival_order_rank",
        "the oldest job below its fair share first",
    ),
    rule(
        "fewest-executors",
        "job: is_source first, smallest executors_held_rank",
        "the job with fewest executors first",
    ),
    rule(
        "shortest-job",
        "job: is_source first, smallest remaining_work_rank",
        "the job with least remaining work first",
    ),
    rule("fewest-tasks", "job: is_source first, smallest remaining_tasks_rank", "the job with fewest tasks left first"),
    rule(
        "fewest-stages",
        "job: is_source first, smallest remaining_stages_rank",
        "the job with fewest stages left first",
    ),
    rule(
        "shortest-path",
        "job: is_source first, smallest critical_path_rank",
        "the job with the shortest critical path first",
    ),
    rule(
        "longest-path",
        "job: is_source first, largest critical_path_rank",
        "the job with the longest critical path first",
    ),
    rule(
        "smallest-ready",
        "job: is_source first, smallest smallest_ready_stage_rank",
        "the job with the smallest ready stage first",
    ),
    rule(
        "fewest-ready",
        "job: is_source first, smallest ready_tasks_rank",
        "the job with fewest tasks that could start first",
    ),
    rule(
        "most-headroom",
        "job: is_source first, largest headroom_rank",
        "the job whose ready stages want most executors first",
    ),
    rule(
        "shortest-always",
        "job: smallest remaining_work_rank",
        "least remaining work first, wherever executors come from",
    ),
    rule("first-stage", "stage: smallest stage_order_rank", "the first stage by number"),
    rule(
        "first-runnable",
        "stage: unfinished_parents > 0 last, smallest stage_order_rank",
        "the first stage by number that can start at once",
    ),
    rule("critical-path", "stage: largest critical_path_rank", "the stage with the longest path to the job's end"),
    rule("smallest-stage", "stage: smallest remaining_work_rank", "the stage with least remaining work"),
    rule("largest-stage", "stage: largest remaining_work_rank", "the stage with most remaining work"),
    rule("most-unlocked", "stage: largest children_unlocked_rank", "the stage that most others wait for alone"),
    rule("fewest-descendants", "stage: smallest descendants_rank", "the stage that fewest others wait for"),
    rule("all", "cluster: largest executors_given", "as many executors as allowed"),
    rule("one", "cluster: smallest executors_given", "one executor"),
    rule(
        "fair-cap",
        "cluster: held_after_of_fair_share > 1 never, largest executors_given",
        "as many executors as lift the job to its fair share",
    ),
];

/// The heuristics that a trace has the features for. Where the policy may give nothing, they do so only if nothing else is
/// left.
#[must_use]
pub fn rules(set: &FeatureSet, abstains: bool) -> Vec<(Rule, &'static str)> {
    let known = |t: &RuleTemplate| {
        let mut rule = Rule::parse(t.name, t.text, set).ok()?;
        if abstains && set.level(&rule.level)?.features.iter().any(|f| f.name == NONE_FLAG) {
            rule.order.insert(0, OrderKey { feature: NONE_FLAG.to_owned(), largest: false });
        }
        Some((rule, t.meaning))
    };
    RULES.iter().filter_map(known).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::feature::dag_feature_set;

    #[test]
    fn rules_are_about_features_that_there_are_and_their_names_differ() {
        let set = dag_feature_set();
        for abstains in [false, true] {
            let rules = rules(&set, abstains);
            assert_eq!(rules.len(), RULES.len());
            for (rule, _) in rules {
                assert!(rule.model(set.level(&rule.level).unwrap()).is_ok(), "{}", rule.name);
            }
        }
        let names: std::collections::BTreeSet<&str> = RULES.iter().map(|r| r.name).collect();
        assert_eq!(names.len(), RULES.len());
    }
}
