//! What matters: families of features by what they add to scores and by what agreement is lost without them, the spread of
//! their shares, and what each does to the score.

mod beeswarm;
mod effects;
pub(super) mod gradients;
pub(super) mod stakes;
mod weights;

use super::{
    ReportError,
    plain::Plain,
    svg::Chart,
    words::{count, percent},
};
use sched_distill_core::level::LevelSpec;
use sched_distill_explain::LevelExplanation;
use serde::Serialize;

/// What the page shows of one level.
#[derive(Debug, Serialize)]
pub(super) struct Section {
    level: String,
    /// What the figures are of, in words.
    sample: String,
    rows: Vec<weights::TableRow>,
    kinds: Vec<String>,
    /// Where one rule is always right: the sentence that says so, instead of charts.
    settled: Option<String>,
    /// Where one quantity alone moves scores, or none: the sentence that says so, instead of its weight.
    alone: Option<String>,
    /// Who controls what moves scores: the sentence that says so.
    declared: Option<String>,
    /// `None` where one rule is always right; so are the others there.
    pub(super) weights: Option<Chart>,
    /// `None` if the model uses nothing.
    pub(super) points: Option<Chart>,
    /// `None` if the model compares candidates, or uses nothing.
    pub(super) effects: Option<Chart>,
}

/// Draws and words one level; `slug` is its name in file names, `settled` says which rule is always right, if one is.
///
/// # Errors
///
/// [`ReportError::Chart`] if a chart cannot be drawn.
pub(super) fn section(
    level: &LevelExplanation,
    spec: &LevelSpec,
    slug: &str,
    settled: Option<String>,
    plain: Plain<'_>,
) -> Result<Section, ReportError> {
    let total: f64 = level.sample.iter().map(|k| k.choices as f64).sum();
    let sampled: usize = level.sample.iter().map(|k| k.sampled).sum();
    let of = |k: &sched_distill_trace::KindSample| {
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
    let rows = weights::rows(level, plain);
    let alone = if settled.is_none() { alone(&rows) } else { None };
    let declared = if settled.is_none() { weights::declared(level, spec, plain) } else { None };
    let (weights, points, effects) = match settled {
        Some(_) => (None, None, None),
        None => (
            if alone.is_none() { Some(weights::chart(level, slug, plain)?) } else { None },
            beeswarm::chart(level, spec, slug, plain)?,
            effects::chart(level, spec, slug, plain)?,
        ),
    };
    Ok(Section {
        level: level.level.clone(),
        sample,
        rows,
        kinds: weights::kinds(level),
        weights,
        points,
        effects,
        settled,
        alone,
        declared,
    })
}

fn alone(rows: &[weights::TableRow]) -> Option<String> {
    match rows {
        [] => Some("No quantity moves scores at this level: all candidates get the same.".to_owned()),
        [one] => Some(format!("One quantity alone moves scores at this level: {}.", one.name)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_quantity_alone_is_said_and_several_are_drawn() {
        let row = |name: &str| weights::TableRow::named(name);
        assert_eq!(alone(&[row("age"), row("work")]), None);
        assert!(alone(&[row("age")]).is_some_and(|s| s.ends_with("level: age.")));
        assert!(alone(&[]).is_some_and(|s| s.starts_with("No quantity")));
    }
}
