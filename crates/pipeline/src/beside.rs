//! Other students beside that of a run: measured as it was, so that one of them can be taken.

use super::{AnyScenario, Caller, CompareParams, Contender, MeasureParams, PipelineError, files::write_json, measure};
use sched_distill_core::{model::Student, rng::Split};
use sched_distill_judge::evaluator::{ClosedLoop, Evaluation, PolicyOutcome, Role};
use sched_distill_trace::Trace;
use serde::{Deserialize, Serialize};
use std::{ops::ControlFlow, path::Path};

/// Another student of the same scheduler, with what was measured of it (an entry of `compared.json`).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Compared {
    /// What it is called, e.g. its file.
    pub name: String,
    /// SHA-256 of the student of the run.
    pub beside: String,
    /// Terms and leaves over all levels.
    pub size: usize,
    /// Fidelity, and closed loops in the company in which the run's student scheduled.
    pub evaluation: Evaluation,
}

/// The student of a run and what was measured of it.
#[derive(Clone, Copy)]
pub struct Measurements<'a> {
    /// The run's student.
    pub student: &'a Student,
    /// Its figures, with policies and workloads as the user named them.
    pub evaluation: &'a Evaluation,
    /// The trace that its fidelity was measured on; without one that of others is not measured.
    pub trace: Option<&'a Trace>,
    /// Seed of the run.
    pub seed: u64,
}

/// Lets another student schedule the episodes of a run, and measures its fidelity.
///
/// # Errors
///
/// A student of another scenario or other features, a workload that cannot be opened, and figures of the run's student that do
/// not come out again: then the episodes are not those of the run.
pub fn beside(
    scenario: &dyn AnyScenario,
    run: Measurements<'_>,
    (name, student): (&str, &Student),
    caller: Caller<'_>,
) -> Result<Compared, PipelineError> {
    if let Some(difference) = run.student.feature_set.difference(&student.feature_set) {
        return Err(PipelineError::Refused(format!(
            "{name}: another student of the same scheduler is needed; {difference}"
        )));
    }
    let again = |of_run: &ClosedLoop| -> Result<ClosedLoop, PipelineError> {
        let listed = |id: &str, student| Contender::Student { id: id.to_owned(), student, role: Role::Student };
        let split = Split::ALL.into_iter().find(|split| split.name() == of_run.split);
        let params = CompareParams {
            contenders: vec![listed("the run's student", run.student), listed(name, student)],
            workloads: vec![of_run.workload.clone()],
            seed: run.seed,
            split: split.ok_or_else(|| PipelineError::Refused(format!("there is no split `{}`", of_run.split)))?,
            episodes: u32::try_from(of_run.episodes).unwrap_or(u32::MAX).into(),
        };
        let mut found = scenario.compare(&params, &mut |_| ControlFlow::Continue(()), caller)?;
        let mut outcomes = found.pop().map(|c| c.closed_loop.policies).unwrap_or_default().into_iter();
        let (Some(own), Some(other)) = (outcomes.next(), outcomes.next()) else {
            return Err(PipelineError::Refused(format!("nothing was run on {}", of_run.workload)));
        };
        let before = of_run.first(Role::Student).map(|policy| &policy.episode_objective);
        if before != Some(&own.episode_objective) {
            return Err(PipelineError::Refused(format!(
                "the figures of the run's student on {} do not come out again with seed {}: it was measured with another seed, \
                 workload or version; measure it again with `distill evaluate`",
                of_run.workload, run.seed
            )));
        }
        Ok(of_run.with_student(other, run.seed))
    };
    let closed_loop = run.evaluation.closed_loop.as_ref().map(again).transpose()?;
    let other_workloads = run.evaluation.other_workloads.iter().map(again).collect::<Result<_, _>>()?;
    compared(scenario, run, (name, student), (closed_loop, other_workloads), caller)
}

/// The same for a student that has scheduled with that of the run, as the policy of a role.
///
/// # Errors
///
/// A trace that cannot be read.
pub fn beside_in_loops(
    scenario: &dyn AnyScenario,
    run: Measurements<'_>,
    (name, student): (&str, &Student),
    role: Role,
    caller: Caller<'_>,
) -> Result<Compared, PipelineError> {
    let of = |of_run: &ClosedLoop| {
        let outcome: PolicyOutcome = of_run.first(role)?.clone();
        Some(of_run.with_student(PolicyOutcome { role: Role::Student, ..outcome }, run.seed))
    };
    let closed_loop = run.evaluation.closed_loop.as_ref().and_then(of);
    let other_workloads = run.evaluation.other_workloads.iter().filter_map(of).collect();
    compared(scenario, run, (name, student), (closed_loop, other_workloads), caller)
}

fn compared(
    scenario: &dyn AnyScenario,
    run: Measurements<'_>,
    (name, student): (&str, &Student),
    (closed_loop, other_workloads): (Option<ClosedLoop>, Vec<ClosedLoop>),
    caller: Caller<'_>,
) -> Result<Compared, PipelineError> {
    let params = MeasureParams { scenario: Some(scenario.info()), seed: run.seed, ..MeasureParams::default() };
    let measured = run.trace.map(|trace| measure(student, trace, params, caller)).transpose()?;
    let (mut fidelity, departures) = measured.map_or((Vec::new(), None), |m| (m.fidelity, m.departures));
    // What rules and heuristics come to is known of the run.
    fidelity.retain(|row| row.role == Role::Student);
    let evaluation = Evaluation {
        student: student.hash(),
        fidelity,
        departures,
        closed_loop,
        other_workloads,
        ..Evaluation::default()
    };
    Ok(Compared { name: name.to_owned(), beside: run.student.hash(), size: student.size(), evaluation })
}

/// Writes the other students of a run.
///
/// # Errors
///
/// A file that cannot be written.
pub fn write_compared(run_dir: &Path, all: &[Compared]) -> Result<(), PipelineError> {
    write_json(&run_dir.join("compared.json"), all)
}
