//! What matters: families of features by what they add to scores and by what agreement is lost without them, the spread of
//! their shares, and what each does to the score.

mod beeswarm;
mod effects;
pub(super) mod gradients;
mod weights;

use super::{
    ReportError,
    svg::Chart,
    words::{count, percent},
};
use sched_distill_core::level::LevelSpec;
use sched_distill_toolkit::explainer::LevelExplanation;
use serde::Serialize;

/// What the page shows of one level.
#[derive(Debug, Serialize)]
pub(super) struct Section {
    level: String,
    /// What the figures are of, in words.
    sample: String,
    rows: Vec<weights::TableRow>,
    kinds: Vec<String>,
    pub(super) weights: Chart,
    /// `None` if the model uses nothing.
    pub(super) points: Option<Chart>,
    /// `None` if the model compares candidates, or uses nothing.
    pub(super) effects: Option<Chart>,
}

/// Draws and words one level; `slug` is its name in file names.
///
/// # Errors
///
/// [`ReportError::Chart`] if a chart cannot be drawn.
pub(super) fn section(level: &LevelExplanation, spec: &LevelSpec, slug: &str) -> Result<Section, ReportError> {
    let total: f64 = level.sample.iter().map(|k| k.choices as f64).sum();
    let sampled: usize = level.sample.iter().map(|k| k.sampled).sum();
    let of = |k: &sched_distill_toolkit::trace::KindSample| {
        format!("{} of {} {}", count(k.sampled as u64), count(k.choices as u64), k.kind)
    };
    let parts: Vec<String> = level.sample.iter().filter(|k| k.choices > 0).map(of).collect();
    let all = sampled as f64 >= total;
    let sample = match all {
        true => format!("all {} choices", count(sampled as u64)),
        false => format!(
            "a sample of {} choices ({}; {} of all), weighted so that it stands for all",
            count(sampled as u64),
            parts.join(", "),
            percent(sampled as f64 / total.max(1.0))
        ),
    };
    Ok(Section {
        level: level.level.clone(),
        sample,
        rows: weights::rows(level),
        kinds: weights::kinds(level),
        weights: weights::chart(level, slug)?,
        points: beeswarm::chart(level, spec, slug)?,
        effects: effects::chart(level, spec, slug)?,
    })
}
