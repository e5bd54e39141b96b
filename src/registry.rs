//! Which scenarios there are, and the policies of each by name: the one place that knows them all.

#[cfg(feature = "toolkit")]
use crate::foreign;
use crate::{
    dag::{self, Dag},
    policy::{self, Policy, PolicyError, PolicyInfo, Sort},
    scenario::{Scenario, ScenarioInfo},
    simulation::Simulated,
    spec::Spec,
    training::{self, Training},
};

/// All scenarios there are.
pub static SCENARIOS: [ScenarioInfo; 2] = [Dag::INFO, Training::INFO];

/// The scenario of that name.
#[must_use]
pub fn find(name: &str) -> Option<&'static ScenarioInfo> {
    SCENARIOS.iter().find(|info| info.name == name)
}

/// The sort of a scenario's policies of that name; `None` if there are none.
#[must_use]
pub fn sort_of(scenario: &str, name: &str) -> Option<Sort> {
    let of_scenarios = [(Dag::INFO.name, Dag::policies()), (Training::INFO.name, Training::policies())];
    let (_, policies) = of_scenarios.into_iter().find(|(of, _)| *of == scenario)?;
    policies.iter().find(|p| p.name == name).map(|p| p.sort)
}

/// A scenario for which there are policies by name.
pub trait Policies: Simulated {
    /// The policy to explain where the user names none.
    const TEACHER: &'static str;
    /// Heuristics to compare it with; the first is the one that all others are measured against.
    const BASELINES: &'static [&'static str];

    /// All of them.
    fn policies() -> Vec<PolicyInfo>;

    /// Opens the policy that a spec names.
    ///
    /// # Errors
    ///
    /// An unknown name or parameter, or a file that cannot be used.
    fn open(spec: &Spec) -> Result<Box<dyn Policy<Self>>, PolicyError>;
}

impl Policies for Dag {
    const TEACHER: &'static str = dag::policies::TEACHER;
    const BASELINES: &'static [&'static str] = dag::policies::BASELINES;

    fn policies() -> Vec<PolicyInfo> {
        #[allow(unused_mut)]
        let mut all = dag::policies::POLICIES.to_vec();
        #[cfg(feature = "toolkit")]
        all.splice(all.len() - 1..all.len() - 1, foreign::policies::POLICIES.iter().copied());
        all
    }

    fn open(spec: &Spec) -> Result<Box<dyn Policy<Self>>, PolicyError> {
        #[cfg(feature = "toolkit")]
        if foreign::policies::POLICIES.iter().any(|p| p.name == spec.name) {
            return foreign::policies::open(spec);
        }
        let all = Self::policies();
        match all.iter().any(|p| p.name == spec.name) {
            true => dag::policies::open(spec),
            false => Err(spec.unknown_name("policy", "policies", &policy::names(&all)).into()),
        }
    }
}

impl Policies for Training {
    const TEACHER: &'static str = training::policies::TEACHER;
    const BASELINES: &'static [&'static str] = training::policies::BASELINES;

    fn policies() -> Vec<PolicyInfo> {
        training::policies::POLICIES.to_vec()
    }

    fn open(spec: &Spec) -> Result<Box<dyn Policy<Self>>, PolicyError> {
        training::policies::open(spec)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_entry_is_about_features_that_there_are() {
        for scenario in &SCENARIOS {
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
    fn rules_can_be_used_and_their_names_differ() {
        for scenario in &SCENARIOS {
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
