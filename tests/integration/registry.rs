//! What the entries of the registry say is about things that there are.

use sched_distill::{
    evaluator::{Drift, FeatureDrift, Stability},
    level::{FLAG, NONE_FLAG, Scope, base},
    pipeline::RunInfo,
    registry::all,
};
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
fn drift_of_every_feature_is_a_sentence_that_says_which_way() {
    for scenario in all().iter().map(|s| s.info()) {
        let (words, set) = ((scenario.words)(), (scenario.feature_set)());
        for (level, f) in set.levels.iter().flat_map(|level| level.features.iter().map(move |f| (level, f))) {
            if f.name == NONE_FLAG {
                continue;
            }
            let said = |[was, now]: [f32; 2]| {
                let drift = FeatureDrift {
                    level: level.name.clone(),
                    feature: f.name.clone(),
                    unit: f.unit.clone(),
                    psi: 1.0,
                    chance: Some(0.1),
                    stability: Stability::Large,
                    medians: [was, now],
                    means: [was, now].map(|x| f64::from(x) / 10.0),
                    outside: 0.0,
                    above: 0.0,
                };
                let unknown = None;
                let all = Drift { episodes: [9, 9], decisions: 9, outside: 0.0, unknown, features: vec![drift] };
                let told = all.in_words(set, &words, None);
                assert_eq!((told.sentences.len(), told.others), (1, 0), "{} {}", level.name, f.name);
                told.sentences[0].clone()
            };
            let [up, down] = [[2.0, 6.0], [6.0, 2.0]].map(said);
            println!("{}: {}.{}: {up} | {down}", scenario.name, level.name, f.name);
            for sentence in [&up, &down] {
                let begins = sentence.starts_with(|c: char| c.is_uppercase());
                assert!(begins && sentence.ends_with('.') && !sentence.contains("  ") && !sentence.contains('_'));
                assert!(sentence.contains("training"), "{sentence}");
            }
            let has_unit = !matches!(f.unit.as_str(), "1" | FLAG);
            if f.scope == Scope::Ratio || f.scope == Scope::Absolute && has_unit {
                assert!([&up, &down].iter().all(|s| s.contains(" 3 times ")), "{up} {down}");
            }
            let ways: [&[&str]; 2] =
                [&["more", "larger", "longer", "higher"], &["less", "fewer", "smaller", "shorter", "lower"]];
            if f.unit != FLAG {
                let says = |sentence: &str, way: usize| ways[way].iter().any(|word| sentence.contains(word));
                assert!(says(&up, 0) && says(&down, 1), "{up} {down}");
            }
        }
    }
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
            assert_eq!(said.len(), level.quantities.len(), "{} {}: one stands there twice", set.scenario, spec.name);
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
