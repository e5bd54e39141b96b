//! The rules that a level's table obeys, whether it is about to be written or was just read.

use super::{error::Problems, table::LevelTable};
use sched_distill_core::level::LevelSpec;

/// How far the probabilities of a choice may be from adding up to 1.
const PROBABILITY_TOLERANCE: f64 = 1e-3;

/// What the rules need to know beside the table.
pub(super) struct Context<'a> {
    /// The level's description.
    pub(super) spec: &'a LevelSpec,
    /// The manifest's kinds, at most 256.
    pub(super) kinds: &'a [String],
    /// Whether this is the first level, which has no parents.
    pub(super) first: bool,
    /// The last choice before those of the table: its id and step.
    pub(super) last: Option<(u64, u32)>,
    /// Rows of the same file before those of the table.
    pub(super) rows_before: usize,
}

/// The first way in which the vectors of a table do not fit together or the description, if there is one. Tables that
/// were read always fit.
pub(super) fn misshapen(table: &LevelTable, context: &Context<'_>) -> Option<String> {
    if table.spec != *context.spec {
        return Some(format!(
            "is level `{}`, which differs from level `{}` of the plan",
            table.spec.name, context.spec.name
        ));
    }
    if table.kinds != context.kinds {
        return Some(format!("kinds are {:?}, expected {:?}", table.kinds, context.kinds));
    }
    let rows = table.rows();
    for (name, found, expected) in [
        ("chosen", table.chosen.len(), rows),
        ("entity", table.entity.len(), rows * table.spec.entities.len()),
        ("x", table.x.len(), rows * table.width()),
    ] {
        if found != expected {
            return Some(format!("`{name}` has {found} values, expected {expected} for {rows} rows"));
        }
    }
    let starts = || table.choices.iter().map(|c| c.first_row);
    let begins_at_zero = starts().next() == (rows > 0).then_some(0);
    let increasing = starts().zip(starts().skip(1).chain([rows])).all(|(start, end)| start < end);
    if !begins_at_zero || !increasing {
        return Some(format!("`first_row` of the choices must start at 0 and increase up to the {rows} rows"));
    }
    let unknown = table.choices.iter().find(|c| usize::from(c.kind) >= table.kinds.len())?;
    let (kind, known) = (unknown.kind, table.kinds.join(", "));
    Some(format!("choice {} has kind number {kind}, expected the place of one of {known}", unknown.id))
}

/// Reports what breaks the rules of a choice, in a table that is not misshapen.
pub(super) fn check(table: &LevelTable, context: &Context<'_>, file: &str, problems: &mut Problems) {
    let mut last = context.last;
    for choice in table.iter() {
        let header = choice.header;
        let row = header.first_row;
        let mut bad = |name: &str, row: usize, message: std::fmt::Arguments<'_>| {
            problems.add(file, Some(name), Some(context.rows_before + row), message);
        };
        if header.id >> 32 != u64::from(header.episode) {
            let id = header.id;
            bad("choice", row, format_args!("is {id}, expected {}·2³² + a number below 2³²", header.episode));
        }
        if let Some((id, step)) = last {
            if header.id <= id {
                let message = format_args!("is {} after {id}, expected increasing choices in one piece", header.id);
                bad("choice", row, message);
            } else if header.id >> 32 == id >> 32 && header.step < step {
                bad("step", row, format_args!("is {} after {step} in the same episode", header.step));
            }
        }
        last = Some((header.id, header.step));
        if !header.time_ms.is_finite() {
            bad("time_ms", row, format_args!("is {}, expected a finite number", header.time_ms));
        }
        if !(header.weight.is_finite() && header.weight > 0.0) {
            bad("weight", row, format_args!("is {}, expected a positive finite number", header.weight));
        }
        if context.first && header.parent.is_some() {
            bad("parent", row, format_args!("is set, expected null at the first level"));
        }
        let chosen = choice.chosen.iter().filter(|&&c| c).count();
        if chosen > 1 || (chosen == 0 && header.parent.is_none()) {
            let allowed = if header.parent.is_none() { "exactly one" } else { "at most one" };
            bad("chosen", row, format_args!("is true for {chosen} candidates of the choice, expected {allowed}"));
        }
        if choice.has_probabilities() {
            let sum: f64 = choice.log_prob.iter().map(|&p| f64::from(p).exp()).sum();
            if (sum - 1.0).abs() > PROBABILITY_TOLERANCE {
                let message =
                    format_args!("gives probabilities that add up to {sum:.4}, expected 1 in natural logarithms");
                bad("log_prob", row, message);
            }
        } else if let Some(known) = choice.log_prob.iter().position(|p| !p.is_nan()) {
            bad("log_prob", row + known, format_args!("is set, but null for other candidates of the choice"));
        }
    }
    // Sound features are told at the speed of memory; where a bad one stands is looked for only if there is one.
    let unsound = table.x.iter().fold(false, |unsound, value| unsound | !value.is_finite());
    if unsound {
        let width = table.width();
        for (i, value) in table.x.iter().enumerate().filter(|(_, value)| !value.is_finite()) {
            let (name, row) = (table.spec.features[i % width].name.as_str(), context.rows_before + i / width);
            problems.add(file, Some(name), Some(row), format_args!("is {value}, expected a finite number"));
        }
    }
}
