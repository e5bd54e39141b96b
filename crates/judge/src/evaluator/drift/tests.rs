use super::*;
use sched_distill_core::level::{Control, FeatureSpec, Scope};
use sched_distill_trace::ChoiceHeader;

/// Episodes of choices between two candidates with two features: one that keeps a value for each episode, as the age of a
/// cluster does, and one that is drawn for each row.
fn table(episodes: std::ops::Range<u32>, seed: u64, shift: f64) -> LevelTable {
    let feature = |name: &str| FeatureSpec {
        name: name.to_owned(),
        unit: "ms".to_owned(),
        meaning: "A number.".to_owned(),
        scope: Scope::Absolute,
        version: 1,
        whole: false,
        control: Control::Declared,
    };
    let features = vec![feature("slow"), feature("quick")];
    let (question, entities) = ("Which?".to_owned(), vec!["job".to_owned()]);
    let spec = LevelSpec { name: "job".to_owned(), question, candidates: String::new(), entities, features };
    let mut table = LevelTable::new(spec, vec!["free".to_owned()]);
    for episode in episodes {
        let mut stream = Stream::new(seed, &format!("episode {episode}"));
        let slow = stream.normal();
        for step in 0..40 {
            let id = (u64::from(episode) << 32) + u64::from(step);
            let (parent, weight, first_row) = (None, 1.0, table.rows());
            table.choices.push(ChoiceHeader { id, episode, step, time_ms: 0.0, kind: 0, parent, weight, first_row });
            for candidate in 0..2 {
                table.entity.push(candidate);
                table.log_prob.push(f32::NAN);
                table.chosen.push(candidate == 0);
                table.x.extend([slow as f32, (stream.normal() + shift) as f32]);
            }
        }
    }
    table
}

fn found(training: &LevelTable, now: &LevelTable) -> Drift {
    let mut tally = DriftTally::new(training);
    tally.add_training(training);
    tally.add(now);
    drift(&[tally], 1)
}

#[test]
fn the_index_is_that_of_its_definition() {
    assert_eq!(psi(&[7, 9], &[7, 9]), 0.0);
    let (p, q) = ([300_000, 700_000], [500_000, 500_000]);
    let expected = -0.2 * (0.3f64 / 0.5).ln() + 0.2 * (0.7f64 / 0.5).ln();
    assert!((psi(&p, &q) - expected).abs() < 1e-5);
    let bins = Bins::new((0..=100).map(|i| (i / 10) as f32).collect());
    assert_eq!(bins.cuts, [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0]);
    assert_eq!([-5.0, 1.0, 1.5, 2.0, 9.0, 9.5].map(|value| bins.of(value)), [0, 0, 1, 1, 8, 9]);
    let constant = Bins::new(vec![3.0; 20]);
    assert_eq!([2.0, 3.0, 4.0].map(|value| constant.of(value)), [0, 1, 2]);
}

#[test]
fn what_a_few_episodes_have_in_common_is_no_drift() {
    let training = table(0..40, 1, 0.0);
    let mut raw = 0.0;
    for seed in 2..22 {
        let found = found(&training, &table(100..104, seed, 0.0));
        assert_eq!(found.beyond(0.0).count(), 0, "{found:?}");
        raw = f64::max(raw, found.features.iter().find(|f| f.feature == "slow").unwrap().psi);
    }
    assert!(raw > 0.25, "by itself the index would say that the slow feature drifts: {raw}");
}

#[test]
fn a_shift_is_drift() {
    let training = table(0..40, 1, 0.0);
    for seed in 2..22 {
        let found = found(&training, &table(100..104, seed, 1.0));
        let beyond: Vec<&str> = found.beyond(0.1).map(|f| f.feature.as_str()).collect();
        assert_eq!(beyond, ["quick"], "{found:?}");
        assert_eq!(found.features[0].stability, Stability::Large);
        assert!(found.features[0].medians[1] > found.features[0].medians[0] + 0.5);
    }
}

#[test]
fn values_that_training_never_had_are_counted() {
    let found = found(&table(0..20, 1, 0.0), &table(100..104, 2, 100.0));
    let quick = &found.features[0];
    assert_eq!((quick.feature.as_str(), quick.outside, quick.above, found.outside), ("quick", 1.0, 1.0, 1.0));
    assert!(quick.means[0].abs() < 0.2 && (quick.means[1] - 100.0).abs() < 0.5, "{:?}", quick.means);
    let low = self::found(&table(0..20, 1, 0.0), &table(100..104, 2, -100.0));
    assert_eq!((low.features[0].outside, low.features[0].above), (1.0, 0.0));
    assert!(found.decisions == 160 && found.episodes == [20, 4]);
}

#[test]
fn chance_is_not_known_from_a_few_episodes() {
    let found = found(&table(0..4, 1, 0.0), &table(100..104, 2, 0.0));
    assert!(found.features.iter().all(|f| f.chance.is_none()) && found.unknown.unwrap().contains("4 episodes"));
}

#[test]
fn of_a_log_shorter_than_an_episode_nothing_is_said() {
    let (training, mut now) = (table(0..40, 1, 0.0), table(100..101, 2, 1.0));
    now = now.filter(|choice| choice.header.step < 10);
    let found = found(&training, &now);
    assert!(found.unknown.as_ref().is_some_and(|why| why.contains("20 candidates")), "{:?}", found.unknown);
    assert_eq!((found.beyond(0.0).count(), found.features[0].stability), (0, Stability::Stable));
}
