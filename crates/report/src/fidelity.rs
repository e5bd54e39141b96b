//! How far can you trust the student? Charts and tables of fidelity, level by level.

use super::{
    ReportError,
    closest::{best_heuristic, best_rule, is_rule, kinds, levels},
    dot_chart::{Cell, Panel, Row, draw},
    plain::{Plain, SETTLED},
    svg::{BLUE, Chart, Colour, GREEN, GREY, ORANGE, PURPLE},
    words::{count, number, percent},
};
use sched_distill_judge::evaluator::{Estimate, FidelityRow, RANDOM, Role};
use serde::Serialize;

/// The fidelity of one level: a chart and a table with all figures.
#[derive(Debug, Serialize)]
pub(super) struct Section {
    pub(super) level: String,
    /// Whether its candidates are amounts, which have a distance.
    amounts: bool,
    pub(super) rows: Vec<TableRow>,
    /// `None` where everything would stand at 100 %.
    pub(super) chart: Option<Chart>,
    /// The sentence that stands there instead.
    settled: Option<String>,
}

/// One line of the table, written out.
#[derive(Debug, Serialize)]
pub(super) struct TableRow {
    kind: String,
    scorer: String,
    role: Role,
    choices: String,
    episodes: usize,
    /// top-1, top-2, top-3, regret, cross-entropy, Kendall, executed, amount error: (figure, interval).
    figures: Vec<Option<(String, String)>>,
}

/// One section per level in order of first appearance; `slugs` gives their file names.
///
/// # Errors
///
/// [`ReportError::Chart`] if a chart cannot be drawn.
pub(super) fn sections(rows: &[FidelityRow], slugs: &[String], plain: Plain<'_>) -> Result<Vec<Section>, ReportError> {
    levels(rows)
        .iter()
        .zip(slugs)
        .map(|(&level, slug)| {
            let nothing = nothing_to_learn(level, rows, plain);
            let mut rows: Vec<&FidelityRow> = rows.iter().filter(|r| r.level == level).collect();
            // Scorers of one kind stand together.
            let kinds = kinds(&rows);
            rows.sort_by_key(|r| kinds.iter().position(|k| *k == r.kind));
            let amounts = rows.iter().any(|r| r.amount_error.is_some());
            Ok(Section {
                level: level.to_owned(),
                amounts,
                rows: rows.iter().map(|r| table_row(r, amounts)).collect(),
                chart: if nothing.is_some() { None } else { Some(chart(level, slug, &rows, plain)?) },
                settled: nothing,
            })
        })
        .collect()
}

/// That one rule is always right at a level, and the student too.
fn nothing_to_learn(level: &str, rows: &[FidelityRow], plain: Plain<'_>) -> Option<String> {
    let said = plain.settled_alone(level, rows)?;
    let own: Vec<&FidelityRow> = rows.iter().filter(|r| r.level == level && r.role == Role::Student).collect();
    let least = own.iter().map(|r| r.top1.value).fold(1.0, f64::min);
    let always = !own.is_empty() && least >= SETTLED;
    let how = if least == 1.0 { "always" } else { "almost always" };
    always.then(|| {
        format!("{said} The rules found here {how} choose the same: there is nothing else to learn at this level.")
    })
}

fn table_row(row: &FidelityRow, amounts: bool) -> TableRow {
    let shown =
        |e: &Estimate, write: fn(f64) -> String| (write(e.value), format!("{} to {}", write(e.low), write(e.high)));
    TableRow {
        kind: row.kind.clone(),
        scorer: row.scorer.clone(),
        role: row.role,
        choices: count(row.choices as u64),
        episodes: row.episodes,
        figures: [
            Some(shown(&row.top1, hundredfold)),
            Some(shown(&row.top2, hundredfold)),
            Some(shown(&row.top3, hundredfold)),
            row.regret.as_ref().map(|e| shown(e, thousandths)),
            row.cross_entropy.as_ref().map(|e| shown(e, thousandths)),
            row.kendall.as_ref().map(|e| shown(e, hundredths)),
            row.executed.as_ref().map(|e| shown(e, hundredfold)),
        ]
        .into_iter()
        .chain(amounts.then(|| row.amount_error.as_ref().map(|e| shown(e, hundredths))))
        .collect(),
    }
}

/// A share in per cent, where the column's head has the sign.
fn hundredfold(share: f64) -> String {
    format!("{:.1}", share * 100.0)
}

/// Three decimals: regrets and cross-entropies are compared within a column.
fn thousandths(value: f64) -> String {
    format!("{value:.3}").replace('-', "\u{2212}")
}

/// Two decimals, for rank correlations.
fn hundredths(value: f64) -> String {
    format!("{value:.2}").replace('-', "\u{2212}")
}

fn colour(row: &FidelityRow) -> Colour {
    match (row.role, row.scorer.as_str()) {
        (Role::Student, _) => BLUE,
        (Role::Surrogate, _) => ORANGE,
        (Role::Heuristic, _) => PURPLE,
        (_, RANDOM) => GREY,
        _ => GREEN,
    }
}

fn chart(level: &str, slug: &str, rows: &[&FidelityRow], plain: Plain<'_>) -> Result<Chart, ReportError> {
    let with_regret = rows.iter().any(|r| r.regret.is_some());
    let mut lines = Vec::new();
    let mut shown = Vec::new();
    let mut description = String::new();
    for kind in kinds(rows) {
        let choices = rows.iter().find(|r| r.kind == kind).map_or(0, |r| r.choices);
        lines.push(Row::Heading(format!("{} ({} choices)", plain.heading(kind), count(choices as u64))));
        let best = [best_rule(rows, kind), best_heuristic(rows, kind)];
        for &row in rows.iter().filter(|r| r.kind == kind) {
            let one_of_many = is_rule(row) || row.role == Role::Heuristic;
            if one_of_many && !best.iter().flatten().any(|b| std::ptr::eq(*b, row)) {
                continue;
            }
            let mut cells = vec![Cell::Dot(row.top1)];
            if with_regret {
                cells.push(row.regret.map_or_else(|| Cell::Words("not defined".into()), Cell::Dot));
            }
            let label = match row.role {
                Role::Heuristic => format!("heuristic: {}", row.scorer),
                _ if is_rule(row) => {
                    format!("rule: {}", plain.rule(level, &row.scorer).unwrap_or_else(|| row.scorer.clone()))
                }
                _ => row.scorer.clone(),
            };
            description.push_str(&format!("{kind}, {}: top-1 {}. ", row.scorer, percent(row.top1.value)));
            lines.push(Row::Item { label, colour: colour(row), cells });
            shown.push(row);
        }
    }
    let mut panels = vec![Panel {
        title: "Agreement (top-1)".into(),
        axis: "share of choices (more is better)".into(),
        range: (0.0, 1.0),
        reference: None,
        write: percent,
        tick: whole_percent,
    }];
    if with_regret {
        panels.push(Panel {
            title: "Regret".into(),
            axis: "probability lost (less is better)".into(),
            range: (0.0, 0.1),
            reference: None,
            write: thousandths,
            tick: number,
        });
    }
    let title = format!("Fidelity at level {level}");
    let name = format!("fidelity-{slug}");
    let pictures = draw(&name, &title, &description, &panels, &lines)?;
    Ok(pictures.chart(&name, title, super::to_data(&name, &shown)?))
}

fn whole_percent(share: f64) -> String {
    format!("{:.0}\u{a0}%", share * 100.0)
}
