//! Which scenarios there are, and the policies of each by name: the one place that knows them all.
//!
//! One more scenario is one more [`Entry`] here, or in a program of one's own that begins with [`all`]
//! (`docs/new-scenario.md`).

use crate::{
    dag::{self, Dag},
    deadlines::{self, Deadlines},
    foreign,
    pipeline::{Attack, Entry, Registry},
    policy::{Policy, PolicyError},
    preemption::{self, Preemption},
    serving::{self, Serving},
    simulation::Simulated,
    spec::Spec,
    training::{self, Training},
};

/// Spark-like jobs.
pub static DAG: Entry<Dag> = Entry {
    teacher: dag::policies::TEACHER,
    baselines: dag::policies::BASELINES,
    policies: || foreign::policies::beside(dag::policies::POLICIES),
    open: |spec| foreign::policies::open_beside(spec, dag::policies::POLICIES),
    attack: Some(Attack::new()),
};

/// Deep-learning training jobs.
pub static TRAINING: Entry<Training> = Entry {
    teacher: training::policies::TEACHER,
    baselines: training::policies::BASELINES,
    policies: || foreign::policies::beside(training::policies::POLICIES),
    open: |spec| foreign::policies::open_beside(spec, training::policies::POLICIES),
    attack: Some(Attack::new()),
};

/// Elastic training jobs with deadlines.
pub static DEADLINES: Entry<Deadlines> = Entry {
    teacher: deadlines::policies::TEACHER,
    baselines: deadlines::policies::BASELINES,
    policies: || foreign::policies::beside(deadlines::policies::POLICIES),
    open: |spec| foreign::policies::open_beside(spec, deadlines::policies::POLICIES),
    attack: Some(Attack::new()),
};

/// Training jobs on GPUs that are suspended and resumed at a price.
pub static PREEMPTION: Entry<Preemption> = Entry {
    teacher: preemption::policies::TEACHER,
    baselines: preemption::policies::BASELINES,
    policies: || foreign::policies::beside(preemption::policies::POLICIES),
    open: |spec| foreign::policies::open_beside(spec, preemption::policies::POLICIES),
    attack: Some(Attack::new()),
};

/// Inference requests in batches on accelerators that applications share.
pub static SERVING: Entry<Serving> = Entry {
    teacher: serving::policies::TEACHER,
    baselines: serving::policies::BASELINES,
    policies: || foreign::policies::beside(serving::policies::POLICIES),
    open: |spec| foreign::policies::open_beside(spec, serving::policies::POLICIES),
    attack: Some(Attack::new()),
};

/// All scenarios there are.
#[must_use]
pub fn all() -> Registry {
    Registry::new(&[&DAG, &TRAINING, &DEADLINES, &PREEMPTION, &SERVING])
}

/// The network that `scorer` without a file stands for in a scenario, a checkpoint, if one comes with the program.
#[must_use]
pub fn built_in_scorer(scenario: &str) -> Option<&'static [u8]> {
    match scenario {
        "deadlines" => Some(deadlines::policies::BUILT_IN),
        "preemption" => Some(preemption::policies::BUILT_IN),
        "serving" => Some(serving::policies::BUILT_IN),
        _ => None,
    }
}

/// A scenario that is registered here, by its type.
pub trait Registered: Simulated {
    /// Its entry.
    fn entry() -> &'static Entry<Self>;

    /// Opens the policy that a spec names.
    ///
    /// # Errors
    ///
    /// An unknown name or parameter, or a file that cannot be used.
    fn open(spec: &Spec) -> Result<Box<dyn Policy<Self>>, PolicyError> {
        (Self::entry().open)(spec)
    }
}

impl Registered for Dag {
    fn entry() -> &'static Entry<Self> {
        &DAG
    }
}

impl Registered for Deadlines {
    fn entry() -> &'static Entry<Self> {
        &DEADLINES
    }
}

impl Registered for Preemption {
    fn entry() -> &'static Entry<Self> {
        &PREEMPTION
    }
}

impl Registered for Serving {
    fn entry() -> &'static Entry<Self> {
        &SERVING
    }
}

impl Registered for Training {
    fn entry() -> &'static Entry<Self> {
        &TRAINING
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{level::base, pipeline::RunInfo};
    use std::collections::BTreeSet;

    #[test]
    fn only_heuristics_are_said_to_be_none_of_a_network() {
        let notes = |scenario: &str, teacher: &str| RunInfo::new(all().find(scenario), teacher, "builtin", 0).notes;
        assert!(notes("dag", "decima").is_empty() && notes("dag", "script:python3 policy.py").is_empty());
        assert!(notes("dag", "sjf")[0].contains("not a trained network"));
        assert!(notes("training", "drf")[0].contains("not a trained network"));
        // A name means nothing in another scenario.
        assert!(notes("training", "sjf").is_empty() && notes("elsewhere", "fifo").is_empty());
    }

    #[test]
    fn every_entry_is_about_features_that_there_are() {
        for scenario in all().iter().map(|s| s.info()) {
            let (set, all) = ((scenario.feature_set)(), scenario.catalogue);
            let has = |level: &str, feature: &str| {
                set.level(level).is_some_and(|spec| spec.features.iter().any(|f| f.name == feature))
            };
            assert!(all.orders.iter().all(|(level, feature, _)| has(level, feature)));
            assert!(all.borders.iter().all(|(level, feature, values)| has(level, feature) && values.is_sorted()));
            for (i, (level, factors)) in all.terms.iter().enumerate() {
                assert!(factors.iter().all(|(name, _)| has(level, name)), "{factors:?}");
                assert!(all.terms[..i].iter().all(|t| t != &(*level, *factors)), "{factors:?} stands there twice");
            }
            for template in all.guards {
                let guards = template.guards(set).unwrap();
                assert_eq!(guards.len(), template.values.len().max(1), "{}", template.name);
                assert_eq!(template.text.contains("{}"), !template.values.is_empty(), "{}", template.name);
                assert!(template.values.is_sorted());
            }
        }
    }

    #[test]
    fn every_quantity_has_words_and_no_other_has() {
        for scenario in all().iter().map(|s| s.info()) {
            let (set, words) = ((scenario.feature_set)(), (scenario.words)());
            for spec in &set.levels {
                let there_are: BTreeSet<&str> = spec.features.iter().map(|f| base(&f.name)).collect();
                let level = words.level(&spec.name).unwrap();
                let said: BTreeSet<&str> = level.quantities.iter().map(|q| q.feature.as_str()).collect();
                assert_eq!(said, there_are, "{} {}", set.scenario, spec.name);
                assert_eq!(
                    said.len(),
                    level.quantities.len(),
                    "{} {}: one stands there twice",
                    set.scenario,
                    spec.name
                );
            }
            assert_eq!(words.levels.len(), set.levels.len());
        }
    }

    #[test]
    fn no_two_quantities_of_a_level_are_called_the_same() {
        for scenario in all().iter().map(|s| s.info()) {
            for level in (scenario.words)().levels {
                let nouns: BTreeSet<&str> = level.quantities.iter().map(|q| q.noun.as_str()).collect();
                assert_eq!(nouns.len(), level.quantities.len(), "{} {}", scenario.name, level.level);
            }
        }
    }

    #[test]
    fn rules_can_be_used_and_their_names_differ() {
        for scenario in all().iter().map(|s| s.info()) {
            let (set, all) = ((scenario.feature_set)(), scenario.catalogue);
            for abstains in [false, true] {
                let rules = all.rules(set, abstains);
                assert_eq!(rules.len(), all.rules.len());
                for (rule, _) in rules {
                    assert!(rule.model(set.level(&rule.level).unwrap()).is_ok(), "{}", rule.name);
                }
            }
            let names: BTreeSet<&str> = all.rules.iter().map(|r| r.name).collect();
            assert_eq!(names.len(), all.rules.len());
        }
    }
}
