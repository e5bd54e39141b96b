//! From a trace to a student.

use super::{Caller, Front, MAX_SIZE, PipelineError, provenance, tables};
use crate::{
    distiller::{By, FitParams, Gate, Learner, fit_student, left_out},
    evaluator::{FidelityRow, Role, Scorer, fidelity},
    trace::Trace,
};
use sched_distill_core::model::Student;

/// How a student is fitted.
#[derive(Clone, Debug, Default)]
pub struct FitPlan {
    /// What is fitted. Where a size is asked for, every learner is tried at many sizes.
    pub params: FitParams,
    /// How learners and sizes are chosen; `None` for what the parameters say.
    pub size: Option<SizeChoice>,
}

/// How learners and sizes are chosen, level by level, on the validation choices.
#[derive(Clone, Debug)]
pub struct SizeChoice {
    /// Largest size over all levels; `None` for the smallest models that meet the demands.
    pub most: Option<usize>,
    /// The figure to go by.
    pub by: By,
    /// Demands on single levels and kinds.
    pub gates: Vec<Gate>,
}

impl SizeChoice {
    /// The same with the names that levels have in a trace.
    fn for_levels_of(&self, trace: &Trace) -> Self {
        let mut choice = self.clone();
        choice.gates.iter_mut().for_each(|gate| _ = trace.manifest.feature_set.rename(&mut gate.level));
        choice
    }
}

/// A student, and how faithful it is.
#[derive(Clone, Debug)]
pub struct Fitted {
    /// The student.
    pub student: Student,
    /// Fidelity of all its models on the validation choices.
    pub fidelity: Vec<FidelityRow>,
    /// By level, the features that a logit left out, where one was fitted with all that it could use.
    pub left_out: Vec<(String, Vec<String>)>,
}

/// Fits a student to a trace, and measures it on the choices of `validation`, or of the last fifth of the episodes.
///
/// # Errors
///
/// Parameters out of range, traces that cannot be used together, a fit that fails, demands that cannot be met.
pub fn fit(
    trace: &Trace,
    validation: Option<&Trace>,
    plan: &FitPlan,
    caller: Caller<'_>,
) -> Result<Fitted, PipelineError> {
    plan.params.check().map_err(PipelineError::Params)?;
    let mut not_judged = Vec::new();
    let (student, validation) = match &plan.size {
        Some(size) => {
            let front = Front::fit(trace, validation, &plan.params, size.most.unwrap_or(MAX_SIZE), caller)?;
            let chosen = front.choose(&size.for_levels_of(trace))?;
            (front.student(trace, &chosen, &plan.params), front.validation)
        }
        None => {
            let [train, validation] = tables(trace, validation, Some(&plan.params), caller)?;
            let from = (&trace.manifest).into();
            let student = fit_student(from, (&train, &validation), &plan.params, provenance(trace));
            if plan.params.learners.contains(&Learner::Logit) {
                not_judged.extend(train.iter().map(|table| (table.spec.name.clone(), left_out(table, &plan.params))));
            }
            let failed = |source| PipelineError::Fit { trace: trace.dir.clone(), source };
            (student.map_err(failed)?, validation)
        }
    };
    let mut rows = Vec::new();
    for (level, table) in student.levels.iter().zip(&validation) {
        let scorers: Vec<Scorer<'_>> = level.models.iter().map(|m| Scorer::model(m, Role::Student)).collect();
        rows.extend(fidelity(table, &scorers, 0));
    }
    Ok(Fitted { student, fidelity: rows, left_out: not_judged })
}
