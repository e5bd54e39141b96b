//! Whether other training episodes would have given the same rules.

use super::{Caller, Lessons, PipelineError, tables::kept};
use rayon::prelude::*;
use sched_distill_core::model::{NamedModel, Student};
use sched_distill_explain::{LevelStability, stability};
use sched_distill_learn::{Refit, episodes};
use sched_distill_trace::{LevelTable, Trace};

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
    let choices = student.levels.iter().map(|l| train.outlines(&l.level)).collect::<Result<Vec<_>, _>>()?;
    let begin = || caller.watch.step("fitting on other episodes");
    caller.watch.steps(params.resamples as usize * student.levels.len());
    begin();
    let failed = |number: u32| move |source| PipelineError::Refit { number: number + 1, source };
    let draw = |number: u32| refit.draw(&choices, params.seed, u64::from(number)).map_err(failed(number));
    let drawn = (0..params.resamples).map(draw).collect::<Result<Vec<_>, _>>()?;
    let episodes = episodes(&choices).len();
    let mut found = Vec::new();
    // One level's rows at a time are in memory.
    for (i, level) in student.levels.iter().enumerate() {
        let of_level: Vec<&[f64]> = drawn.iter().map(|levels| &levels[i][..]).collect();
        let rows = Rows::read(train, &level.level, &of_level, caller)?;
        let fit = |number: u32| {
            caller.check()?;
            let model = refit.fit(i, &rows.drawn(number as usize)).map_err(failed(number))?;
            begin();
            Ok::<_, PipelineError>(model)
        };
        let fits = (0..params.resamples).into_par_iter().map(fit).collect::<Result<Vec<NamedModel>, _>>()?;
        drop(rows);
        let sample = test.asked_of(student.abstains).sample(&level.level, params.choices, params.seed)?;
        found.extend(stability(student, level, &sample, &fits.iter().collect::<Vec<_>>(), episodes));
    }
    caller.watch.done();
    Ok(found)
}

/// The choices of a level that some fit takes, and with what weights each fit takes them: a trace has many more.
struct Rows {
    table: LevelTable,
    weights: Vec<Vec<f64>>,
}

impl Rows {
    /// `weights` are those of all choices of the level, fit by fit.
    fn read(train: Lessons<'_>, level: &str, weights: &[&[f64]], caller: Caller<'_>) -> Result<Self, PipelineError> {
        let taken = |place: usize| weights.iter().any(|weights| weights[place] > 0.0);
        let mut places = 0..;
        let table = kept(train, level, caller, |_| places.next().is_some_and(taken))?;
        let of_taken = |weights: &&[f64]| (0..weights.len()).filter(|&at| taken(at)).map(|at| weights[at]).collect();
        Ok(Self { table, weights: weights.iter().map(of_taken).collect() })
    }

    /// What this fit takes.
    fn drawn(&self, number: usize) -> LevelTable {
        let weights = &self.weights[number];
        let mut places = 0..;
        let mut drawn = self.table.filter(|_| places.next().is_some_and(|at: usize| weights[at] > 0.0));
        drawn.drawn = Some(weights.iter().copied().filter(|&w| w > 0.0).collect());
        drawn
    }
}
