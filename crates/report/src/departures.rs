//! Where does the student go wrong, and what does it cost? Whole decisions, leads over simple rules, regions of choices.

use super::{
    ReportError,
    dot_chart::{Cell, Panel, Row, draw},
    plain::{Plain, base},
    svg::{Chart, ORANGE},
    words::{count, interval, number, percent},
};
use sched_distill_core::{level::third_person, model::Structure};
use sched_distill_judge::evaluator::{
    DepartureRow, Departures, Disagreement, Estimate, Evaluation, Instead, Lead, Region,
};
use serde::Serialize;
use serde_json::Value;

/// Everything that the section shows.
#[derive(Debug, Serialize)]
pub(super) struct Section {
    whole: Option<WholeDecisions>,
    leads: Vec<LeadRow>,
    levels: Vec<LevelView>,
    /// Numbers behind the tables, by file stem.
    #[serde(skip)]
    tables: Vec<(String, Value)>,
}

/// Whole decisions.
#[derive(Debug, Serialize)]
struct WholeDecisions {
    decisions: String,
    joint: String,
    executed: String,
    flat: bool,
    rows: Vec<[String; 5]>,
    /// `None` if no decision departs.
    chart: Option<Chart>,
}

/// How far the student is ahead of one rule: figures with their intervals.
#[derive(Debug, Serialize)]
struct LeadRow {
    level: String,
    kind: String,
    rule: String,
    candidates: String,
    choices: String,
    /// top-1, top-3, regret.
    figures: [Option<(String, String)>; 3],
}

/// The regions of one level.
#[derive(Debug, Serialize)]
struct LevelView {
    level: String,
    found_on: usize,
    measured_on: usize,
    choices: String,
    disagree: String,
    /// Mean regret over all choices; `None` where the teacher's probabilities are not known.
    regret: Option<String>,
    /// Whether the student departs nowhere.
    never: bool,
    regions: Vec<RegionRow>,
}

/// One region, written out.
#[derive(Debug, Serialize)]
struct RegionRow {
    /// Which choices, in words.
    what: String,
    share: (String, String),
    disagree: (String, String),
    regret: Option<(String, String)>,
    /// Share of the level's regret, else of its disagreement, and the length of its bar in per cent.
    cost: Option<(String, String)>,
    cost_length: String,
    instead: Option<String>,
}

/// Words the evaluation's departures.
///
/// # Errors
///
/// [`ReportError::Chart`] if the chart cannot be drawn.
pub(super) fn section(evaluation: &Evaluation, plain: Plain<'_>) -> Result<Section, ReportError> {
    let mut tables = Vec::new();
    if !evaluation.leads.is_empty() {
        tables.push(("leads".to_owned(), super::to_data("leads", &evaluation.leads)?));
    }
    if !evaluation.disagreement.is_empty() {
        tables.push(("disagreement".to_owned(), super::to_data("disagreement", &evaluation.disagreement)?));
    }
    Ok(Section {
        whole: evaluation.departures.as_ref().map(whole_decisions).transpose()?,
        leads: evaluation.leads.iter().map(lead).collect(),
        levels: evaluation.disagreement.iter().map(|d| level(d, plain)).collect(),
        tables,
    })
}

impl Section {
    /// The chart, if there is one, and the numbers behind the tables.
    pub(super) fn into_parts(self) -> (Option<Chart>, Vec<(String, Value)>) {
        (self.whole.and_then(|whole| whole.chart), self.tables)
    }
}

/// A figure and its interval for a cell of a table.
fn shown(e: &Estimate, write: fn(f64) -> String) -> (String, String) {
    (write(e.value), format!("{} to {}", write(e.low), write(e.high)))
}

fn whole_decisions(found: &Departures) -> Result<WholeDecisions, ReportError> {
    let departing = 1.0 - found.joint.value;
    let row = |r: &DepartureRow| {
        let of_all = if departing > 0.0 { percent(r.share.value / departing) } else { "–".to_owned() };
        [
            format!("{}, {}", r.level, r.kind),
            count(r.decisions as u64),
            count(r.departures as u64),
            interval(&r.share, percent),
            of_all,
        ]
    };
    Ok(WholeDecisions {
        decisions: count(found.decisions as u64),
        joint: interval(&found.joint, percent),
        executed: interval(&found.executed, percent),
        flat: found.structure == Structure::Flat,
        rows: found.rows.iter().map(row).collect(),
        chart: chart(found)?,
    })
}

/// The first departures; `None` if there are none.
fn chart(found: &Departures) -> Result<Option<Chart>, ReportError> {
    let rows = || found.rows.iter().filter(|r| r.departures > 0);
    let line = |r: &DepartureRow| Row::Item {
        label: format!("{}, {}", r.level, r.kind),
        colour: ORANGE,
        cells: vec![Cell::Dot(r.share)],
    };
    let lines: Vec<Row> = rows().map(line).collect();
    if lines.is_empty() {
        return Ok(None);
    }
    let panel = Panel {
        title: "First departures".into(),
        axis: "share of all decisions (less is better)".into(),
        range: (0.0, 0.01),
        reference: None,
        write: percent,
        tick: |share| format!("{}\u{a0}%", number(share * 100.0)),
    };
    let title = "Where whole decisions depart from the teacher's".to_owned();
    let each = rows().map(|r| format!("first departure at {}, {}: {}. ", r.level, r.kind, percent(r.share.value)));
    let description = format!("Agree at all levels: {}. {}", percent(found.joint.value), each.collect::<String>());
    let pictures = draw("departures", &title, &description, &[panel], &lines)?;
    Ok(Some(pictures.chart("departures", title, super::to_data("departures", found)?)))
}

fn lead(row: &Lead) -> LeadRow {
    LeadRow {
        level: row.level.clone(),
        kind: row.kind.clone(),
        rule: row.over.clone(),
        candidates: format!("{} or more", row.candidates),
        choices: count(row.choices as u64),
        figures: [
            Some(shown(&row.top1, points)),
            Some(shown(&row.top3, points)),
            row.regret.as_ref().map(|e| shown(e, signed)),
        ],
    }
}

/// A difference of shares in percentage points, with its sign.
fn points(difference: f64) -> String {
    format!("{:+.1}", difference * 100.0).replace('-', "\u{2212}")
}

/// A difference with its sign.
fn signed(difference: f64) -> String {
    format!("{difference:+.3}").replace('-', "\u{2212}")
}

fn level(found: &Disagreement, plain: Plain<'_>) -> LevelView {
    let by_regret = found.regret.is_some();
    let region = |r: &Region| {
        let cost = if by_regret { r.share_of_regret } else { r.share_of_disagreement };
        RegionRow {
            what: plain.conditions(&found.level, &r.conditions),
            share: shown(&r.share, percent),
            disagree: shown(&r.disagree, percent),
            regret: r.regret.as_ref().map(|e| shown(e, thousandths)),
            cost: cost.as_ref().map(|e| shown(e, percent)),
            cost_length: cost.map_or("0".into(), |e| format!("{:.1}", 100.0 * e.value.clamp(0.0, 1.0))),
            // What is seldom taken is not what is taken instead.
            instead: r.instead.as_ref().filter(|i| i.share.value > 0.5).map(|i| instead(i, &found.level, plain)),
        }
    };
    LevelView {
        level: found.level.clone(),
        found_on: found.found_on,
        measured_on: found.measured_on,
        choices: count(found.choices as u64),
        disagree: interval(&found.disagree, percent),
        regret: found.regret.as_ref().map(|e| interval(e, thousandths)),
        never: found.disagree.value == 0.0,
        regions: found.regions.iter().map(region).collect(),
    }
}

fn thousandths(value: f64) -> String {
    format!("{value:.3}").replace('-', "\u{2212}")
}

/// What the student takes instead, e.g. `a job with more work left than the teacher's (in 97 % of the choices that go wrong)`.
pub(super) fn instead(found: &Instead, level: &str, plain: Plain<'_>) -> String {
    let (level, feature) = (plain.level(level), base(&found.feature));
    let than = if level.is_flag(feature) { "" } else { " than the teacher's" };
    let relation = level.relation(feature, found.more);
    // What is to be done needs no object.
    let object = level.object().filter(|_| third_person(&relation).is_none());
    format!(
        "{}{relation}{than} (in {} of the choices that go wrong)",
        object.map_or_else(String::new, |object| format!("{object} ")),
        percent(found.share.value)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use sched_distill_core::level::{
        Control, FeatureSet, FeatureSpec, KindWords, LevelSpec, LevelWords, QuantityWords, Scope, Words,
    };
    use sched_distill_judge::evaluator::Condition;

    #[test]
    fn bounds_are_put_in_words() {
        let age = FeatureSpec {
            name: "age".into(),
            unit: "ms".into(),
            meaning: String::new(),
            scope: Scope::Absolute,
            version: 1,
            whole: false,
            control: Control::Declared,
        };
        let spec = LevelSpec {
            name: "job".into(),
            question: String::new(),
            candidates: String::new(),
            entities: vec!["job".into()],
            features: vec![age],
        };
        let bound = |column: &str, above, at_most| Condition { column: column.into(), above, at_most, or_none: false };
        let features = FeatureSet { scenario: "dag".into(), levels: vec![spec] };
        let words = Words::default();
        let said = |all: &[Condition]| Plain { words: &words, features: &features }.conditions("job", all);
        assert_eq!(said(&[]), "all choices");
        assert_eq!(
            said(&[bound("kind=free", Some(0.5), None), bound("candidates", Some(2.5), Some(7.5))]),
            "kind free, candidates > 2.5 and candidates ≤ 7.5"
        );
        assert_eq!(said(&[bound("kind=free", None, Some(0.5))]), "not kind free");
        let of_teacher = bound("teacher.age", None, Some(3e4));
        assert_eq!(said(std::slice::from_ref(&of_teacher)), "the teacher's candidate: age ≤ 30\u{a0}s");
        let both = [bound("kind=free", None, Some(0.5)), of_teacher];
        assert_eq!(said(&both), "not kind free; the teacher's candidate: age ≤ 30\u{a0}s");
        let words = Words {
            kinds: vec![KindWords::new("free", "any job may get them")],
            levels: vec![LevelWords {
                level: "job".into(),
                candidate: "job".into(),
                prefers: "prefers a job".into(),
                picks: "picks the job".into(),
                quantities: vec![QuantityWords::new("age", "time waited", "that came {later|earlier}")],
            }],
            ..Words::default()
        };
        let plain = Plain { words: &words, features: &features };
        assert_eq!(
            plain.conditions("job", &both),
            "it is not so that any job may get them; the teacher's job: time waited ≤ 30\u{a0}s"
        );
        let share = Estimate { value: 0.9, low: 0.8, high: 1.0 };
        let found = Instead { feature: "age".into(), more: true, share };
        assert_eq!(
            instead(&found, "job", plain),
            "a job that came earlier than the teacher's (in 90.0\u{a0}% of the choices that go wrong)"
        );
    }
}
