//! Which heuristic is it like, and where is it not?

use super::{
    ReportError,
    closest::best_rule,
    dot_chart::{Cell, Panel, Row, draw},
    glossary::{Part, explained},
    plain::{Plain, capital},
    svg::{Chart, GREEN},
    words::{count, interval, list, percent},
};
use sched_distill_explain::{KindAgreement, LevelExplanation, Likeness, RuleExceptions};
use sched_distill_judge::evaluator::{Estimate, FidelityRow, Role};
use serde::Serialize;

/// Heuristics drawn per kind; the table has all.
const SHOWN: usize = 5;

/// What the page shows.
#[derive(Debug, Serialize)]
pub(super) struct Section {
    /// In pieces, for explanations of words.
    sentences: Vec<Vec<Part>>,
    pub(super) levels: Vec<Level>,
}

/// The heuristics of one level.
#[derive(Debug, Serialize)]
pub(super) struct Level {
    level: String,
    regimes: Vec<String>,
    rows: Vec<TableRow>,
    /// Where all heuristics always agree: the sentence that says so.
    nothing: Option<String>,
    /// `None` where one rule is always right, or all heuristics agree.
    pub(super) chart: Option<Chart>,
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
    plain: Plain<'_>,
    slug: impl Fn(&str) -> String,
) -> Result<Option<Section>, ReportError> {
    let mut found = Section { sentences: Vec::new(), levels: Vec::new() };
    for level in levels.iter().filter(|l| !l.likeness.is_empty()) {
        found.sentences.extend(sentences(level, fidelity, plain).iter().map(|s| explained(s)));
        let regimes: Vec<String> = level.likeness.iter().flat_map(|l| &l.regimes).fold(Vec::new(), |mut seen, r| {
            if !seen.contains(&r.regime) {
                seen.push(r.regime.clone());
            }
            seen
        });
        // Where one rule is always right, its sentence says it all.
        let settled = plain.settled(&level.level, fidelity).is_some();
        let known = level.exceptions.as_ref().filter(|_| !settled);
        let nothing = nothing_to_choose(&level.likeness);
        found.levels.push(Level {
            level: level.level.clone(),
            rows: level.likeness.iter().map(|l| row(l, &regimes)).collect(),
            regimes,
            nothing: if settled { None } else { nothing.clone() },
            chart: if settled || nothing.is_some() { None } else { Some(chart(level, &slug(&level.level), plain)?) },
            exceptions: known.map(|e| exceptions(e, plain)),
        });
    }
    Ok((!found.levels.is_empty()).then_some(found))
}

/// That every heuristic takes the teacher's and the student's candidate in every choice.
fn nothing_to_choose(likeness: &[Likeness]) -> Option<String> {
    let same = likeness.iter().all(|l| l.teacher.value == 1.0 && l.student.value == 1.0);
    let choices: usize = likeness.chunk_by(|a, b| a.kind == b.kind).map(|kind| kind[0].choices).sum();
    same.then(|| {
        format!(
            "Every known heuristic agrees here in all {} choices: there is nothing to choose.",
            count(choices as u64)
        )
    })
}

/// The heuristic of a kind that agrees most with the teacher.
pub(super) fn closest<'a>(level: &'a LevelExplanation, kind: &str) -> Option<&'a Likeness> {
    level.likeness.iter().find(|l| l.kind == kind)
}

/// Heuristics that are named side by side at most.
const NAMED: usize = 4;

/// The heuristics of a kind that agree with the teacher as often as the closest one, as far as can be told.
struct Closest<'a> {
    /// The first of them.
    best: &'a Likeness,
    /// All of them.
    tied: Vec<&'a Likeness>,
    /// How many are known.
    known: usize,
    /// The rule that all of them follow, if it is the same, and what it takes: `that freed the executors itself`.
    common: Option<(&'a FidelityRow, String)>,
}

/// The closest heuristics of a kind. Tied are those whose difference to the closest one, on the same choices, may be none: its
/// interval reaches 0. Where differences were not measured, intervals that meet count as a tie.
fn closest_of<'a>(
    level: &'a LevelExplanation,
    kind: &str,
    rows: &'a [FidelityRow],
    plain: Plain<'_>,
) -> Option<Closest<'a>> {
    let of_kind = || level.likeness.iter().filter(|l| l.kind == kind);
    let best = of_kind().next()?;
    let is_tied = |l: &&Likeness| match l.behind {
        Some(behind) => behind.low <= 0.0,
        None => l.teacher.high >= best.teacher.low,
    };
    let tied: Vec<&Likeness> = of_kind().filter(is_tied).collect();
    // Rules that make the same choices have the same figures, ends of intervals included.
    let figures = |scorer: &str| {
        let row = rows.iter().find(|r| r.level == level.level && r.kind == kind && r.scorer == scorer);
        row.map(|r| (r.top1, r.regret))
    };
    let of_level: Vec<&FidelityRow> = rows.iter().filter(|r| r.level == level.level).collect();
    let common = best_rule(&of_level, kind)
        .filter(|rule| tied.len() > 1 && tied.iter().all(|l| figures(&l.rule) == Some((rule.top1, rule.regret))));
    let common = common.and_then(|rule| Some((rule, plain.rule_extreme(&level.level, &rule.scorer)?)));
    Some(Closest { best, tied, known: of_kind().count(), common })
}

impl Closest<'_> {
    /// `shortest-job (least remaining work first)`, `a and b`, `12 of the 13 known heuristics`.
    fn names(&self) -> String {
        match self.tied.as_slice() {
            [one] => format!("{} ({})", one.rule, one.meaning),
            few if few.len() <= NAMED => list(&few.iter().map(|l| l.rule.clone()).collect::<Vec<_>>()),
            all if all.len() == self.known => format!("all {} known heuristics", all.len()),
            many => format!("{} of the {} known heuristics", many.len(), self.known),
        }
    }

    /// `makes its choice in 34 %`, and that several come equally close.
    fn agreement(&self) -> String {
        let agreement = interval(&self.best.teacher, percent);
        match self.tied.len() {
            1 => format!("which makes the teacher's choice in {agreement}"),
            _ => format!("which cannot be told apart and make the teacher's choice in up to {agreement}"),
        }
    }
}

/// Whether a heuristic says it all, on one kind of choice; needs a known heuristic. None of several that come equally close is
/// named alone.
pub(super) fn verdict(level: &LevelExplanation, kind: &str, rows: &[FidelityRow], plain: Plain<'_>) -> Option<String> {
    let found = closest_of(level, kind, rows, plain)?;
    let mine = rows.iter().find(|r| r.level == level.level && r.kind == kind && r.role == Role::Student);
    let verdict = match (mine, found.best.teacher) {
        (Some(r), e) if e.low > r.top1.high => "Yes, and closer than the rules found here:",
        (_, e) if e.value >= 0.9 => "Nearly:",
        (Some(r), e) if e.high >= r.top1.low => "No, but a known one comes as close as the rules found here:",
        _ => "No:",
    };
    let several = level.likeness.chunk_by(|a, b| a.kind == b.kind).count() > 1;
    let rules = mine.map_or(String::new(), |r| format!("; the rules found here do in {}", interval(&r.top1, percent)));
    let closest = if found.tied.len() == 1 { "the closest known heuristic is" } else { "the closest are" };
    Some(format!(
        "{verdict} over \u{201c}{}\u{201d}, {}{closest} {}, {}{rules}.",
        plain.question(&level.level),
        plain.place(kind, several),
        found.names(),
        found.agreement()
    ))
}

/// One sentence for a level on which one rule is always right; else one for each kind of choice.
fn sentences(level: &LevelExplanation, fidelity: &[FidelityRow], plain: Plain<'_>) -> Vec<String> {
    let question = plain.question(&level.level);
    if let Some(settled) = plain.settled_alone(&level.level, fidelity) {
        return vec![settled];
    }
    let kinds: Vec<&String> = level.likeness.chunk_by(|a, b| a.kind == b.kind).map(|c| &c[0].kind).collect();
    let sentence = |kind: &&String| {
        let found = closest_of(level, kind, fidelity, plain)?;
        let mine = fidelity.iter().find(|r| r.level == level.level && r.kind == **kind && r.role == Role::Student);
        let student = mine.map_or(String::new(), |r| format!("; the student agrees in {}", interval(&r.top1, percent)));
        let place = plain.place(kind, kinds.len() > 1);
        let value = found.best.teacher.value;
        let said = match &found.common {
            Some((rule, takes)) => {
                let (mostly, least) = match value {
                    v if v >= 0.95 => ("nearly always", 0.9),
                    v if v >= 0.8 => ("mostly", 0.7),
                    v if v >= 0.5 => ("more often than not", 0.5),
                    _ => ("now and then", 0.0),
                };
                format!(
                    "{place}{}, as {} of the {} known heuristics do: that is right in {}",
                    plain.habit(&level.level, &[*rule], takes, mostly, least),
                    found.tied.len(),
                    found.known,
                    interval(&found.best.teacher, percent)
                )
            }
            None => {
                let word = match value {
                    v if v >= 0.95 => "it is hardly more than",
                    v if v >= 0.8 => "it is mostly like",
                    v if v >= 0.5 => "it is partly like",
                    _ if found.tied.len() == 1 => "it is not much like any known heuristic; the closest is",
                    _ => "it is not much like any known heuristic; the closest are",
                };
                format!("{place}{word} {}, {}", found.names(), found.agreement())
            }
        };
        Some(format!("{question} {}{student}.", capital(&said)))
    };
    kinds.iter().filter_map(sentence).collect()
}

fn exceptions(found: &RuleExceptions, plain: Plain<'_>) -> Exceptions {
    let row = |exception: Option<String>, overrides, agreement: &[KindAgreement]| ExceptionRow {
        exception,
        overrides,
        agreement: agreement.iter().map(|k| shown(&k.teacher)).collect(),
    };
    let one_by_one = found.exceptions.iter().map(|e| row(Some(plain.guard(&e.guard)), e.overrides, &e.agreement));
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

fn chart(level: &LevelExplanation, slug: &str, plain: Plain<'_>) -> Result<Chart, ReportError> {
    let mut lines = Vec::new();
    let mut shown = Vec::new();
    let mut description = String::new();
    for group in level.likeness.chunk_by(|a, b| a.kind == b.kind) {
        let choices = count(group[0].choices as u64);
        lines.push(Row::Heading(format!("{} ({choices} choices)", plain.heading(&group[0].kind))));
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
    let pictures = draw(&name, &title, &description, &panels, &lines)?;
    Ok(pictures.chart(&name, title, super::to_data(&name, &shown)?))
}

fn whole(share: f64) -> String {
    format!("{:.0}\u{a0}%", share * 100.0)
}
