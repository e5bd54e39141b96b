//! Which of those that were measured comes closest to the teacher?

use sched_distill_judge::evaluator::{FidelityRow, RANDOM, Role};

/// Names of the levels in order of first appearance.
pub(super) fn levels(rows: &[FidelityRow]) -> Vec<&str> {
    distinct(rows.iter().map(|r| r.level.as_str()))
}

/// Names of the kinds in order of first appearance.
pub(super) fn kinds<'a>(rows: &[&'a FidelityRow]) -> Vec<&'a str> {
    distinct(rows.iter().map(|r| r.kind.as_str()))
}

fn distinct<'a>(names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut seen = Vec::new();
    for name in names {
        if !seen.contains(&name) {
            seen.push(name);
        }
    }
    seen
}

/// The single-feature rule that agrees best with the teacher (the first of equals).
pub(super) fn best_rule<'a>(rows: &[&'a FidelityRow], kind: &str) -> Option<&'a FidelityRow> {
    best(rows.iter().copied().filter(|r| r.kind == kind && is_rule(r)))
}

/// The named heuristic that agrees best with the teacher (the first of equals).
pub(super) fn best_heuristic<'a>(rows: &[&'a FidelityRow], kind: &str) -> Option<&'a FidelityRow> {
    best(rows.iter().copied().filter(|r| r.kind == kind && r.role == Role::Heuristic))
}

/// Whether a scorer is one of the rules that are always compared with.
pub(super) fn is_rule(row: &FidelityRow) -> bool {
    row.role == Role::Baseline && row.scorer != RANDOM
}

fn best<'a>(rows: impl Iterator<Item = &'a FidelityRow>) -> Option<&'a FidelityRow> {
    rows.fold(None, |best: Option<&FidelityRow>, r| match best {
        Some(b) if b.top1.value >= r.top1.value => Some(b),
        _ => Some(r),
    })
}
