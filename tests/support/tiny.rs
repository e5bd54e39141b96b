//! Small tables for tests.

use sched_distill_core::level::{Control, FeatureSpec, LevelSpec, Scope};
use sched_distill_trace::{ChoiceHeader, LevelTable};

/// A pure number of that name.
pub(crate) fn feature(name: &str) -> FeatureSpec {
    FeatureSpec {
        name: name.to_owned(),
        unit: "1".to_owned(),
        meaning: String::new(),
        scope: Scope::Absolute,
        version: 1,
        whole: false,
        control: Control::Declared,
    }
}

/// A table of features `a` and `b` with kinds `x` and `y`. A choice is (episode, kind, rows, target); steps count up, and the
/// target is the executed candidate of a policy without probabilities.
pub(crate) fn table(level: &str, choices: &[(u32, u8, Vec<[f32; 2]>, usize)]) -> LevelTable {
    let spec = LevelSpec {
        name: level.to_owned(),
        question: String::new(),
        candidates: String::new(),
        entities: vec!["entity".to_owned()],
        features: vec![feature("a"), feature("b")],
    };
    let mut table = LevelTable::new(spec, vec!["x".to_owned(), "y".to_owned()]);
    for (i, (episode, kind, rows, target)) in choices.iter().enumerate() {
        table.choices.push(ChoiceHeader {
            id: i as u64,
            episode: *episode,
            step: i as u32,
            time_ms: 0.0,
            kind: *kind,
            parent: None,
            weight: 1.0,
            first_row: table.rows(),
        });
        for (j, row) in rows.iter().enumerate() {
            table.entity.push(j as u32);
            table.log_prob.push(f32::NAN);
            table.chosen.push(j == *target);
            table.x.extend(row);
        }
    }
    table
}
