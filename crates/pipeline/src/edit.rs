//! How a student differs from another, or from itself before an edit.

use super::{PipelineError, measure::check_features, whole_decisions};
use sched_distill_core::model::Student;
use sched_distill_judge::evaluator::{AgreementRow, Estimate, FidelityRow, Role, Scorer, agreement, fidelity};
use sched_distill_trace::Trace;

/// How often two students choose alike on a trace, level by level and kind by kind.
///
/// # Errors
///
/// A trace that cannot be read or has other features.
pub fn agreement_of(a: &Student, b: &Student, trace: &Trace, seed: u64) -> Result<Vec<AgreementRow>, PipelineError> {
    check_features(a, trace)?;
    let trace = trace.asked_of(a.abstains || b.abstains);
    let mut rows = Vec::new();
    for level in &a.levels {
        let Some(other) = b.level(&level.level) else { continue };
        let table = trace.level(&level.level)?;
        let [a, b] = [(a, level), (b, other)].map(|(student, level)| Scorer::student(student, level, Role::Student));
        rows.extend(agreement(&table, &a, &b, seed));
    }
    Ok(rows)
}

/// What an edit changes in fidelity.
#[derive(Clone, Debug)]
pub struct FidelityChange {
    /// Of what schedules at each level, by kind, before and after.
    pub levels: Vec<[FidelityRow; 2]>,
    /// Share of whole decisions, amounts aside, that take what was executed, before and after.
    pub executed: [Option<Estimate>; 2],
}

/// Fidelity of the scheduling models before and after an edit.
///
/// # Errors
///
/// A trace that cannot be read or has other features.
pub fn fidelity_change(
    before: &Student,
    after: &Student,
    trace: &Trace,
    seed: u64,
) -> Result<FidelityChange, PipelineError> {
    check_features(before, trace)?;
    let mut levels = Vec::new();
    for (b, a) in before.levels.iter().zip(&after.levels) {
        let data = trace.level(&b.level)?;
        let rows = |student, level| fidelity(&data, &[Scorer::student(student, level, Role::Student)], seed);
        levels.extend(rows(before, b).into_iter().zip(rows(after, a)).map(|(before, after)| [before, after]));
    }
    let executed =
        |student| Ok::<_, PipelineError>(whole_decisions(student, trace, seed)?.map(|departures| departures.executed));
    Ok(FidelityChange { levels, executed: [executed(before)?, executed(after)?] })
}
