//! Which heuristic is it like, and where is it not?

use super::{
    ReportError, augmented,
    dot_chart::{Cell, Panel, Row, draw},
    svg::{Chart, GREEN},
    words::{count, interval, percent},
};
use sched_distill_core::{level::LevelSpec, model::Student};
use sched_distill_toolkit::{
    evaluator::{Estimate, FidelityRow, Role},
    explainer::{KindAgreement, LevelExplanation, Likeness, RuleExceptions},
};
use serde::Serialize;

/// Heuristics drawn per kind; the table has all.
const SHOWN: usize = 5;

/// What the page shows.
#[derive(Debug, Serialize)]
pub(super) struct Section {
    pub(super) sentences: Vec<String>,
    pub(super) levels: Vec<Level>,
}

/// The heuristics of one level.
#[derive(Debug, Serialize)]
pub(super) struct Level {
    level: String,
    regimes: Vec<String>,
    rows: Vec<TableRow>,
    pub(super) chart: Chart,
    exceptions: Option<Exceptions>,
}

/// The closest heuristic and what has to be said beside it.
#[derive(Debug, Serialize)]
struct Exceptions {
    rule: String,
    meaning: String,
    /// Kinds with the choices counted.
    kinds: Vec<(String, String)>,
    rows: Vec<ExceptionRow>,
}

#[derive(Debug, Serialize)]
struct ExceptionRow {
    /// In words; `None` for the heuristic alone.
    exception: Option<String>,
    overrides: bool,
    agreement: Vec<(String, String)>,
}

#[derive(Debug, Serialize)]
struct TableRow {
    kind: String,
    rule: String,
    meaning: String,
    choices: String,
    teacher: Option<(String, String)>,
    student: Option<(String, String)>,
    regret: Option<(String, String)>,
    regimes: Vec<Option<(String, String)>>,
}

/// Draws and words what an explanation says of heuristics; `slug` gives a level's name in file names. `None` if it says
/// nothing.
///
/// # Errors
///
/// [`ReportError::Chart`] if a chart cannot be drawn.
pub(super) fn section(
    levels: &[LevelExplanation],
    fidelity: &[FidelityRow],
    student: &Student,
    slug: impl Fn(&str) -> String,
) -> Result<Option<Section>, ReportError> {
    let mut found = Section { sentences: Vec::new(), levels: Vec::new() };
    for level in levels.iter().filter(|l| !l.likeness.is_empty()) {
        found.sentences.extend(sentences(level, fidelity));
        let regimes: Vec<String> = level.likeness.iter().flat_map(|l| &l.regimes).fold(Vec::new(), |mut seen, r| {
            if !seen.contains(&r.regime) {
                seen.push(r.regime.clone());
            }
            seen
        });
        found.levels.push(Level {
            level: level.level.clone(),
            rows: level.likeness.iter().map(|l| row(l, &regimes)).collect(),
            regimes,
            chart: chart(level, &slug(&level.level))?,
            exceptions: level.exceptions.as_ref().map(|e| exceptions(e, student.feature_set.level(&level.level))),
        });
    }
    Ok((!found.levels.is_empty()).then_some(found))
}

/// The heuristic of a kind that agrees most with the teacher.
pub(super) fn closest<'a>(level: &'a LevelExplanation, kind: &str) -> Option<&'a Likeness> {
    level.likeness.iter().find(|l| l.kind == kind)
}

fn sentences(level: &LevelExplanation, fidelity: &[FidelityRow]) -> Vec<String> {
    let kinds = level.likeness.chunk_by(|a, b| a.kind == b.kind).map(|c| &c[0].kind);
    kinds
        .filter_map(|kind| {
            let best = closest(level, kind)?;
            let mine = fidelity.iter().find(|r| r.level == level.level && r.kind == *kind && r.role == Role::Student);
            let word = match best.teacher.value {
                v if v >= 0.95 => "it is hardly more than",
                v if v >= 0.8 => "it is mostly like",
                v if v >= 0.5 => "it is partly like",
                _ => "it is not much like any known heuristic; the closest is",
            };
            let student =
                mine.map_or(String::new(), |r| format!("; the student agrees in {}", interval(&r.top1, percent)));
            Some(format!(
                "Level {}, {kind} choices: {word} {} ({}), which makes the teacher's choice in {}{student}.",
                level.level,
                best.rule,
                best.meaning,
                interval(&best.teacher, percent)
            ))
        })
        .collect()
}

fn exceptions(found: &RuleExceptions, spec: Option<&LevelSpec>) -> Exceptions {
    let row = |exception: Option<String>, overrides, agreement: &[KindAgreement]| ExceptionRow {
        exception,
        overrides,
        agreement: agreement.iter().map(|k| shown(&k.teacher)).collect(),
    };
    let one_by_one =
        found.exceptions.iter().map(|e| row(Some(augmented::sentence(&e.guard, spec)), e.overrides, &e.agreement));
    Exceptions {
        rule: found.rule.clone(),
        meaning: found.meaning.clone(),
        kinds: found.agreement.iter().map(|k| (k.kind.clone(), count(k.choices as u64))).collect(),
        rows: std::iter::once(row(None, false, &found.agreement)).chain(one_by_one).collect(),
    }
}

/// A share in per cent, and its interval.
fn shown(e: &Estimate) -> (String, String) {
    (hundredfold(e.value), format!("{} to {}", hundredfold(e.low), hundredfold(e.high)))
}

fn row(l: &Likeness, regimes: &[String]) -> TableRow {
    let digits = |v: f64| format!("{v:.3}").replace('-', "\u{2212}");
    TableRow {
        kind: l.kind.clone(),
        rule: l.rule.clone(),
        meaning: l.meaning.clone(),
        choices: count(l.choices as u64),
        teacher: Some(shown(&l.teacher)),
        student: Some(shown(&l.student)),
        regret: l.regret.map(|e| (digits(e.value), format!("{} to {}", digits(e.low), digits(e.high)))),
        regimes: regimes.iter().map(|r| l.regimes.iter().find(|p| p.regime == *r).map(|p| shown(&p.teacher))).collect(),
    }
}

fn hundredfold(share: f64) -> String {
    format!("{:.1}", share * 100.0)
}

fn chart(level: &LevelExplanation, slug: &str) -> Result<Chart, ReportError> {
    let mut lines = Vec::new();
    let mut shown = Vec::new();
    let mut description = String::new();
    for group in level.likeness.chunk_by(|a, b| a.kind == b.kind) {
        lines.push(Row::Heading(format!("kind {} ({} choices)", group[0].kind, count(group[0].choices as u64))));
        for l in group.iter().take(SHOWN) {
            description.push_str(&format!("{}, {}: {}. ", l.kind, l.rule, percent(l.teacher.value)));
            let cells = vec![Cell::Dot(l.teacher), Cell::Dot(l.student)];
            lines.push(Row::Item { label: l.rule.clone(), colour: GREEN, cells });
            shown.push(l);
        }
    }
    let panel = |title: &str| Panel {
        title: title.into(),
        axis: "share of choices".into(),
        range: (0.0, 1.0),
        reference: None,
        write: percent,
        tick: whole,
    };
    let panels = [panel("Agrees with the teacher"), panel("Agrees with the student")];
    let title = format!("Closest heuristics at level {}", level.level);
    let name = format!("likeness-{slug}");
    let (svg, width) = draw(&name, &title, &description, &panels, &lines)?;
    Ok(Chart { name: name.clone(), title, svg, width, data: super::to_data(&name, &shown)? })
}

fn whole(share: f64) -> String {
    format!("{:.0}\u{a0}%", share * 100.0)
}
