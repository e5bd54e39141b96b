//! Whether other training episodes would have given the same rules.

use super::{Caller, Lessons, PipelineError};
use rayon::prelude::*;
use sched_distill_core::model::{NamedModel, Student};
use sched_distill_explain::{LevelStability, stability};
use sched_distill_learn::{Refit, episodes};
use sched_distill_trace::Trace;

/// How often a student is fitted again, and what is compared.
#[derive(Clone, Copy, Debug)]
pub struct Resampling {
    /// Fits.
    pub resamples: u32,
    /// Choices per level and kind.
    pub choices: usize,
    /// Seed of the draws.
    pub seed: u64,
}

/// Fits a student again on draws of the episodes that it was fitted on and compares on `test`. Empty, with a note, if the student
/// cannot be fitted again, or was fitted on other traces.
///
/// # Errors
///
/// A trace that cannot be read, a fit that fails.
pub fn resampled(
    student: &Student,
    train: Lessons<'_>,
    test: &Trace,
    params: Resampling,
    caller: Caller<'_>,
) -> Result<Vec<LevelStability>, PipelineError> {
    if train.hash() != student.provenance.trace_hash {
        let dirs: Vec<String> = train.traces().map(|trace| trace.dir.display().to_string()).collect();
        caller.watch.note(&format!(
            "note: {}: the student was not fitted on {}, so its rules are not fitted again (what it was fitted on has SHA-256 {})",
            dirs.join(", "),
            if dirs.len() == 1 { "this trace" } else { "these traces" },
            student.provenance.trace_hash
        ));
        return Ok(Vec::new());
    }
    let refit = match Refit::of(student) {
        Ok(refit) => refit,
        Err(why) => {
            caller.watch.note(&format!("note: the student cannot be fitted again: {why}"));
            return Ok(Vec::new());
        }
    };
    let tables = student.levels.iter().map(|l| train.table(&l.level)).collect::<Result<Vec<_>, _>>()?;
    let begin = || caller.watch.step("fitting on other episodes");
    caller.watch.steps(params.resamples as usize);
    begin();
    let fit = |number: u32| {
        caller.check()?;
        let failed = |source| PipelineError::Refit { number: number + 1, source };
        let models = refit.resampled(&tables, params.seed, u64::from(number)).map_err(failed)?;
        begin();
        Ok::<_, PipelineError>(models)
    };
    let fits = (0..params.resamples).into_par_iter().map(fit).collect::<Result<Vec<Vec<NamedModel>>, _>>()?;
    caller.watch.done();
    let episodes = episodes(&tables).len();
    let mut found = Vec::new();
    for (i, level) in student.levels.iter().enumerate() {
        let sample = test.asked_of(student.abstains).sample(&level.level, params.choices, params.seed)?;
        let of_level: Vec<&NamedModel> = fits.iter().map(|fit| &fit[i]).collect();
        found.extend(stability(student, level, &sample, &of_level, episodes));
    }
    Ok(found)
}
