//! Fits of a student's rules on other draws of the training episodes, for `explain` and `demo`.

use super::{check_interrupt, output::Output, progress::StepBar, table::Table};
use crate::{
    distiller::{Refit, episodes},
    explainer::{Extent, LevelStability, stability},
    model::{NamedModel, Student},
    trace::Trace,
};
use anyhow::{Context, Result};
use rayon::prelude::*;

/// How often, and what is compared.
#[derive(Clone, Copy)]
pub(super) struct Resampling {
    /// Fits.
    pub(super) resamples: u32,
    /// Choices per level and kind.
    pub(super) choices: usize,
    pub(super) seed: u64,
}

/// Fits again on draws of the episodes of `train` and compares on `test`. Empty, with a note, if the student cannot be fitted
/// again, or was fitted on another trace.
pub(super) fn resampled(
    student: &Student,
    train: &Trace,
    test: &Trace,
    params: Resampling,
    output: &Output,
) -> Result<Vec<LevelStability>> {
    if train.hash != student.provenance.trace_hash {
        output.note(format!(
            "note: {}: the student was not fitted on this trace, so its rules are not fitted again (its trace has SHA-256 {})",
            train.dir.display(),
            student.provenance.trace_hash
        ));
        return Ok(Vec::new());
    }
    let refit = match Refit::of(student) {
        Ok(refit) => refit,
        Err(why) => {
            output.note(format!("note: the student cannot be fitted again: {why}"));
            return Ok(Vec::new());
        }
    };
    let tables = student.levels.iter().map(|l| train.level(&l.level)).collect::<Result<Vec<_>, _>>()?;
    let bar = StepBar::new(params.resamples as usize, output);
    bar.begin("fitting on other episodes".to_owned());
    let fit = |number: u32| {
        check_interrupt()?;
        let models = refit
            .resampled(&tables, params.seed, u64::from(number))
            .with_context(|| format!("fit number {} on drawn episodes", number + 1))?;
        bar.step();
        Ok(models)
    };
    let fits = (0..params.resamples).into_par_iter().map(fit).collect::<Result<Vec<Vec<NamedModel>>>>()?;
    let episodes = episodes(&tables).len();
    let mut found = Vec::new();
    for (i, level) in student.levels.iter().enumerate() {
        let sample = test.sample(&level.level, params.choices, params.seed)?;
        let of_level: Vec<&NamedModel> = fits.iter().map(|fit| &fit[i]).collect();
        found.extend(stability(student, level, &sample, &of_level, episodes));
    }
    Ok(found)
}

pub(super) fn print(levels: &[LevelStability], output: &mut Output) -> Result<()> {
    let Some(first) = levels.first() else { return Ok(()) };
    output.text(format!(
        "\nfitted again {} times, each on {} training episodes drawn with replacement",
        first.sizes.len(),
        first.episodes
    ))?;
    let mut table = Table::new(&["level, kind", "choices", "takes the student's", "two fits agree", "size"]);
    let shown = |e: &Extent| format!("{:.3} [{:.3}, {:.3}]", e.mean, e.least, e.largest);
    for level in levels {
        let least = level.sizes.iter().min().copied().unwrap_or_default();
        let most = level.sizes.iter().max().copied().unwrap_or_default();
        for kind in &level.agreement {
            table.row([
                format!("{}, {}", level.level, kind.kind),
                kind.choices.to_string(),
                shown(&kind.student),
                shown(&kind.pairs),
                format!("{least} to {most}, student's {}", level.size),
            ]);
        }
    }
    output.text(table)?;
    output.text("means over the fits, in brackets the least and the largest")
}
