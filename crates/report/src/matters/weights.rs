//! Families of features by weight: a chart, and a table with what they say of the candidates taken.

use crate::{
    ReportError,
    dot_chart::{Cell, Panel, Row, draw},
    plain::Plain,
    svg::{BLUE, Chart, Colour, GREEN, ORANGE},
    words::{interval, list, percent},
};
use sched_distill_core::level::{ALL_KINDS, LevelSpec};
use sched_distill_explain::{KindWeight, LevelExplanation, Weight};
use sched_distill_judge::evaluator::Estimate;
use serde::Serialize;

/// Families drawn per kind; the table has all.
const SHOWN: usize = 7;

/// Quantities that a sentence names.
const NAMED: usize = 3;

/// One family, written out.
#[derive(Debug, Serialize)]
pub(super) struct TableRow {
    pub(super) name: String,
    features: Vec<String>,
    /// Per kind: share, agreement lost, where the teacher's candidate stands, where the student's stands.
    cells: Vec<[String; 4]>,
}

#[cfg(test)]
impl TableRow {
    pub(super) fn named(name: &str) -> Self {
        Self { name: name.to_owned(), features: Vec::new(), cells: Vec::new() }
    }
}

/// Names of the kinds, `all` last.
pub(super) fn kinds(level: &LevelExplanation) -> Vec<String> {
    level.families.first().map_or(Vec::new(), |f| f.by_kind.iter().map(|k| k.kind.clone()).collect())
}

/// Families that the model uses, as rows of a table.
pub(super) fn rows(level: &LevelExplanation, plain: Plain<'_>) -> Vec<TableRow> {
    let kinds = kinds(level);
    let totals: Vec<f64> = kinds.iter().map(|k| total(level, k)).collect();
    let cell = |(k, total): (&KindWeight, &f64)| {
        [
            percent(share(k, *total)),
            k.drop.as_ref().map_or_else(|| "–".to_owned(), |e| interval(e, points)),
            signed(k.teacher),
            signed(k.student),
        ]
    };
    let row = |f: &Weight| TableRow {
        name: plain.level(&level.level).noun(&f.name),
        features: f.features.clone(),
        cells: f.by_kind.iter().zip(&totals).map(cell).collect(),
    };
    level.families.iter().filter(|f| uses(f)).map(row).collect()
}

/// How much of what moves scores users declare, of all kinds of choices; `None` where nothing moves them, or nobody says who controls
/// the features.
pub(super) fn declared(level: &LevelExplanation, spec: &LevelSpec, plain: Plain<'_>) -> Option<String> {
    let total = total(level, ALL_KINDS);
    if total <= 0.0 || spec.features.iter().all(|f| f.control.is_declared()) {
        return None;
    }
    let is_declared =
        |family: &&Weight| spec.features.iter().any(|f| family.features.contains(&f.name) && f.control.is_declared());
    let families = || level.families.iter().filter(|family| uses(family)).filter(is_declared);
    let share = families().filter_map(|f| of_kind(f, ALL_KINDS)).map(|k| share(k, total)).sum::<f64>();
    // The heaviest come first.
    let mut names: Vec<String> = families().map(|f| plain.level(&level.level).noun(&f.name)).collect();
    let by = if names.len() > NAMED { ", first of all" } else { ":" };
    names.truncate(NAMED);
    Some(match names.is_empty() {
        true => "Nothing that users declare moves these scores.".to_owned(),
        false => format!("Users declare {} of what moves these scores{by} {}.", percent(share), list(&names)),
    })
}

fn uses(family: &Weight) -> bool {
    family.by_kind.iter().any(|k| k.share > 0.0)
}

/// Sum of the shares of all families on one kind of choice.
fn total(level: &LevelExplanation, kind: &str) -> f64 {
    level.families.iter().filter_map(|f| of_kind(f, kind)).map(|k| k.share).sum()
}

fn share(k: &KindWeight, total: f64) -> f64 {
    if total > 0.0 { k.share / total } else { 0.0 }
}

pub(super) fn of_kind<'a>(family: &'a Weight, kind: &str) -> Option<&'a KindWeight> {
    family.by_kind.iter().find(|k| k.kind == kind)
}

/// Percentage points.
fn points(share: f64) -> String {
    format!("{:.1}", 100.0 * share).replace('-', "\u{2212}")
}

fn signed(value: f64) -> String {
    format!("{value:+.2}").replace('-', "\u{2212}")
}

/// Dots by kind: what families add to scores, and what agreement is lost when they are shuffled.
///
/// # Errors
///
/// [`ReportError::Chart`] if drawing fails.
pub(super) fn chart(level: &LevelExplanation, slug: &str, plain: Plain<'_>) -> Result<Chart, ReportError> {
    const COLOURS: [Colour; 3] = [BLUE, ORANGE, GREEN];
    let mut lines = Vec::new();
    let mut description = String::new();
    let kinds = kinds(level);
    // With one kind alone, `all` says the same.
    let shown: Vec<&String> = kinds.iter().filter(|k| *k != ALL_KINDS || kinds.len() < 2).collect();
    let mut data = Vec::new();
    for (i, kind) in shown.into_iter().enumerate() {
        lines.push(Row::Heading(plain.heading(kind)));
        let total = total(level, kind);
        let mut families: Vec<(&Weight, &KindWeight)> =
            level.families.iter().filter_map(|f| Some((f, of_kind(f, kind)?))).filter(|(_, k)| k.share > 0.0).collect();
        families.sort_by(|a, b| b.1.share.total_cmp(&a.1.share));
        for (family, k) in families.into_iter().take(SHOWN) {
            let value = share(k, total);
            let drop = k.drop.map_or_else(|| Cell::Words("not measured".to_owned()), Cell::Dot);
            description.push_str(&format!("{kind}, {}: {}. ", family.name, percent(value)));
            data.push(
                serde_json::json!({"kind": kind, "family": family.name, "share": value, "agreement_lost": k.drop}),
            );
            let cells = vec![Cell::Dot(Estimate { value, low: value, high: value }), drop];
            lines.push(Row::Item {
                label: plain.level(&level.level).noun(&family.name),
                colour: COLOURS[i % 3],
                cells,
            });
        }
    }
    let panel = |title: &str, axis: &str, range| Panel {
        title: title.into(),
        axis: axis.into(),
        range,
        reference: None,
        write: percent,
        tick: whole,
    };
    let panels = [
        panel("Share of what moves scores", "of all families together", (0.0, 0.3)),
        panel("Agreement lost without it", "fall of top-1 when shuffled", (0.0, 0.1)),
    ];
    let title = format!("What matters at level {}", level.level);
    let name = format!("weights-{slug}");
    let pictures = draw(&name, &title, &description, &panels, &lines)?;
    Ok(pictures.chart(&name, title, data.into()))
}

fn whole(share: f64) -> String {
    format!("{:.0}\u{a0}%", share * 100.0)
}
