//! What a training of a scorer needs, opened by name.

use super::{Entry, PipelineError};
use sched_distill_core::simulation::Simulated;
use sched_distill_judge::practice::{AnyGround, Ground, Lessons, RecordedLessons};
use std::path::Path;

/// Where a network practises, whom it is compared with and whom it learns from.
#[derive(Clone, Debug)]
pub struct PracticeParams {
    /// Workloads, at least one.
    pub workloads: Vec<String>,
    /// Whom validations compare with; `None` for the scenario's first heuristic.
    pub reference: Option<String>,
    /// Whom to imitate first: a policy, or the folder of a trace.
    pub teacher: Option<String>,
}

/// Opens all of it.
///
/// # Errors
///
/// A workload, policy or trace that cannot be used.
pub fn practice<S: Simulated>(entry: &Entry<S>, params: &PracticeParams) -> Result<Box<dyn AnyGround>, PipelineError> {
    Ok(Box::new(ground(entry, params)?))
}

/// The same with its types.
///
/// # Errors
///
/// As of [`practice`].
pub fn ground<S: Simulated>(entry: &Entry<S>, params: &PracticeParams) -> Result<Ground<S>, PipelineError> {
    let workloads = params.workloads.iter().map(|id| entry.workload(id)).collect::<Result<_, _>>()?;
    let reference = params.reference.as_deref().or(entry.baselines.first().copied()).unwrap_or(entry.teacher);
    let lessons = params.teacher.as_deref().map(|text| -> Result<_, PipelineError> {
        Ok((
            text.to_owned(),
            match Path::new(text).is_dir() {
                true => Lessons::Trace(RecordedLessons::open(Path::new(text))?),
                false => Lessons::Policy(entry.policy(text)?),
            },
        ))
    });
    Ok(Ground {
        workloads: (params.workloads.clone(), workloads),
        reference: (reference.to_owned(), entry.policy(reference)?),
        lessons: lessons.transpose()?,
    })
}
