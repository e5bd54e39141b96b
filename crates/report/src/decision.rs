//! One decision in words and figures, for the page and for the terminal.

use super::{
    ReportError,
    plain::{Plain, base},
    svg::clean,
    words::{list, number, percent, points, quantity, time, value},
};
use sched_distill_core::{
    level::{FLAG, LevelSpec, Words},
    model::{Guard, Operator, Student},
    text::acts,
};
use sched_distill_explain::{
    Candidate, DecisionLevel, Decisions, ExplainedChoice, PathStep, Selection, WhyNot, WhyNotChange,
};
use serde::Serialize;

/// What the page shows.
#[derive(Debug, Serialize)]
pub(super) struct Section {
    /// How many there are and how they were picked.
    words: String,
    /// The views as JSON that can stand in a page.
    json: String,
    #[serde(skip)]
    pub(super) data: serde_json::Value,
}

/// All decisions that were kept; `None` if there is none.
///
/// # Errors
///
/// [`ReportError::Chart`] if they cannot be written as JSON.
pub(super) fn section(
    decisions: &Decisions,
    student: &Student,
    plain: Plain<'_>,
) -> Result<Option<Section>, ReportError> {
    let view = |choice: &ExplainedChoice| {
        let of = decisions.levels.iter().find(|l| l.level == choice.level)?;
        let spec = student.feature_set.level(&choice.level)?;
        Some(DecisionView::of(choice, of, spec, &student.guards, plain))
    };
    let views: Vec<DecisionView> = decisions.choices.iter().filter_map(view).collect();
    if views.is_empty() {
        return Ok(None);
    }
    let of = |selection| views.iter().filter(|v| v.selection == selection).count();
    let words = format!(
        "{} are kept here: {} in which the student agrees with the teacher, {} in which it departs, drawn at random, and the {} \
         departures of a sample that cost most.",
        views.len(),
        of(Selection::Agrees),
        of(Selection::Departs),
        of(Selection::Costly)
    );
    let data = super::to_data("decisions", &views)?;
    Ok(Some(Section { words, json: embedded(&data.to_string()), data }))
}

/// JSON in which no text can end the element that holds it, nor act where somebody looks at the page's source.
pub(super) fn embedded(json: &str) -> String {
    let mut safe = String::with_capacity(json.len());
    for c in json.chars() {
        match c == '<' || acts(c) {
            // All of these have 16 bits, and stand within strings.
            true => safe.push_str(&format!("\\u{:04x}", u32::from(c))),
            false => safe.push(c),
        }
    }
    safe
}

/// Features that are shown of a choice at most; the others are added up.
const FEATURES: usize = 9;

/// A decision as it is read.
#[derive(Clone, Debug, Serialize)]
pub struct DecisionView {
    /// Level and number of the choice, `job:4294967301`, as `distill explain --choice` takes it.
    pub id: String,
    /// Level.
    pub level: String,
    /// Kind.
    pub kind: String,
    /// The same in words: `free: when any job may get the executors`.
    pub kind_words: String,
    /// Why it is shown: `agrees`, `departs`, `costly` or `asked`.
    pub selection: Selection,
    /// When and among how many.
    pub place: String,
    /// What the student took and whether the teacher would have.
    pub verdict: String,
    /// The teacher's probability that was lost.
    pub regret: Option<f64>,
    /// Features shown, the one that tells the student's candidate most from its rival first.
    pub features: Vec<String>,
    /// Their names in the feature set.
    pub columns: Vec<String>,
    /// Candidates.
    pub candidates: Vec<CandidateView>,
    /// Place of the teacher's best candidate.
    pub best: usize,
    /// Place of the student's.
    pub taken: usize,
    /// Place of the executed one.
    pub executed: Option<usize>,
    /// Place of the one that the student's is held against.
    pub rival: usize,
    /// Conditions on the way down the tree.
    pub path: Vec<String>,
    /// Conditions that the rival shares.
    pub parts_after: Option<usize>,
    /// Guards that had a say.
    pub guards: Vec<String>,
    /// What would have changed it, one sentence per candidate.
    pub why_not: Vec<(usize, String)>,
}

/// A candidate as it is read.
#[derive(Clone, Debug, Serialize)]
pub struct CandidateView {
    /// `job 7`, `stage 3 of job 7`, `5`.
    pub name: String,
    /// The teacher's probability.
    pub teacher: Option<f64>,
    /// The student's.
    pub student: f64,
    /// Score of the model.
    pub score: f64,
    /// Values of the features shown, with their units.
    pub values: Vec<String>,
    /// Shares of the features shown, and of all others together.
    pub shares: Vec<f64>,
}

impl DecisionView {
    /// Puts a choice of a student into the words of its scenario; `spec` is the choice's level.
    #[must_use]
    pub fn new(
        choice: &ExplainedChoice,
        of: &DecisionLevel,
        spec: &LevelSpec,
        student: &Student,
        words: &Words,
    ) -> Self {
        Self::of(choice, of, spec, &student.guards, Plain { words, features: &student.feature_set })
    }

    fn of(choice: &ExplainedChoice, of: &DecisionLevel, spec: &LevelSpec, guards: &[Guard], plain: Plain<'_>) -> Self {
        let (taken, rival) = (&choice.candidates[choice.taken], &choice.candidates[choice.rival]);
        let difference = |i: usize| (taken.shares[i] - rival.shares[i]).abs();
        let mut order: Vec<usize> = (0..of.features.len()).collect();
        order.sort_by(|&a, &b| difference(b).total_cmp(&difference(a)).then(a.cmp(&b)));
        let (shown, others) = order.split_at(order.len().min(FEATURES));
        let feature = |name: &str| spec.features.iter().find(|f| f.name == name);
        let value_of = |c: &Candidate, i: usize| {
            feature(&of.features[i]).map_or_else(|| number(c.values[i].into()), |f| value(c.values[i].into(), f))
        };
        let view = |c: &Candidate| CandidateView {
            name: name(c, of),
            teacher: c.teacher,
            student: c.student,
            score: digits(c.score),
            values: shown.iter().map(|&i| value_of(c, i)).collect(),
            shares: shown
                .iter()
                .map(|&i| c.shares[i])
                .chain([others.iter().map(|&i| c.shares[i]).sum()])
                .map(digits)
                .collect(),
        };
        let step = |s: &PathStep| {
            let said = feature(&s.feature).map(|f| {
                let test = plain.test(&spec.name, f, s.threshold);
                let held = if s.operator == Operator::AtMost { test.left } else { test.right };
                format!("{held} (it is {})", value(s.value.into(), f))
            });
            said.unwrap_or_else(|| format!("{} {} {}", s.feature, s.operator.symbol(), s.threshold))
        };
        let guard = |(place, out): &(usize, Vec<usize>)| {
            let names: Vec<String> = out.iter().map(|&i| name(&choice.candidates[i], of)).collect();
            let guard = guards.get(*place).map_or_else(|| format!("guard {place}"), Guard::to_string);
            if names.is_empty() { guard } else { format!("{guard}: rules out {}", list(&names)) }
        };
        Self {
            id: format!("{}:{}", choice.level, choice.choice),
            level: clean(&choice.level),
            kind: clean(&choice.kind),
            kind_words: clean(&plain.heading(&choice.kind)),
            selection: choice.selection,
            place: format!(
                "Episode {}, decision {}, at {}: {} candidates",
                choice.episode,
                choice.step,
                time(choice.time_ms),
                choice.candidates_in_all
            ),
            verdict: verdict(choice, of),
            regret: choice.regret,
            features: shown
                .iter()
                .map(|&i| {
                    let called = feature(&of.features[i]).map(|f| plain.full_label(&spec.name, f));
                    clean(&called.unwrap_or_else(|| of.features[i].clone()))
                })
                .collect(),
            columns: shown.iter().map(|&i| clean(&of.features[i])).collect(),
            candidates: choice.candidates.iter().map(view).collect(),
            best: choice.best,
            taken: choice.taken,
            executed: choice.executed,
            rival: choice.rival,
            path: choice.path.iter().map(step).collect(),
            parts_after: choice.parts_after,
            guards: choice.guards.iter().map(guard).collect(),
            why_not: choice.why_not.iter().map(|w| (w.candidate, why_not(w, choice, of, spec, plain))).collect(),
        }
    }
}

/// A candidate by its innermost entity, `stage 3 of job 7`.
fn name(candidate: &Candidate, of: &DecisionLevel) -> String {
    let parts: Vec<String> = of
        .entities
        .iter()
        .zip(&candidate.entity)
        .rev()
        .map(|(name, &value)| match value {
            u32::MAX => format!("no {}", clean(name)),
            _ => format!("{} {value}", clean(name)),
        })
        .collect();
    if parts.is_empty() { format!("candidate {}", candidate.candidate) } else { parts.join(" of ") }
}

fn verdict(choice: &ExplainedChoice, of: &DecisionLevel) -> String {
    let name = |i: usize| name(&choice.candidates[i], of);
    // A median of probabilities may lie beside the most probable candidate.
    let most = choice.candidates.iter().map(|c| c.student).fold(0.0, f64::max);
    let median = choice.guards.is_empty() && choice.candidates[choice.taken].student < most;
    let how = if median { " It is the median by its probabilities, not the most probable." } else { "" };
    let with = |i: usize| choice.candidates[i].teacher.map_or(String::new(), |p| format!(" ({})", percent(p)));
    if choice.best == choice.taken {
        return format!(
            "The student takes {}, as the teacher would most likely{}.{how}",
            name(choice.taken),
            with(choice.best)
        );
    }
    let cost = choice.regret.filter(|r| *r > 0.0);
    let cost = cost.map_or(String::new(), |r| format!(" The student's is {} less probable to the teacher.", points(r)));
    format!(
        "The student takes {}{}; the teacher finds {} best{}.{cost}{how}",
        name(choice.taken),
        with(choice.taken),
        name(choice.best),
        with(choice.best)
    )
}

/// `job 7 would have been taken if its remaining work were 41 s or less (it is 63 s).`
fn why_not(why: &WhyNot, choice: &ExplainedChoice, of: &DecisionLevel, spec: &LevelSpec, plain: Plain<'_>) -> String {
    let who = name(&choice.candidates[why.candidate], of);
    if why.changes.is_empty() {
        return format!("No change of one or two of its quantities within reach would have made {who} the student's.");
    }
    let change = |c: &WhyNotChange| {
        let Some(f) = spec.features.iter().find(|f| f.name == c.feature) else { return c.feature.clone() };
        let words = plain.full_label(&spec.name, f);
        let (from, to) = (quantity(c.from.into(), f), quantity(c.to.into(), f));
        match f.unit.as_str() {
            FLAG => {
                let relation = plain.level(&spec.name).relation(base(&f.name), c.to > 0.5);
                match relation.starts_with("that ") {
                    true => format!("it were one {relation}"),
                    false => format!("\u{201c}{words}\u{201d} were {}", if c.to > 0.5 { "true" } else { "not true" }),
                }
            }
            // Values so close that they read alike are told by their difference.
            _ if from == to => {
                format!("its {words} were {} by a hair (it is {from})", if c.to < c.from { "less" } else { "more" })
            }
            _ => format!("its {words} were {to} or {} (it is {from})", if c.to < c.from { "less" } else { "more" }),
        }
    };
    let changes: Vec<String> = why.changes.iter().map(change).collect();
    format!("{who} would have been taken if {}.", list(&changes))
}

/// Seven digits: shares still add up to scores where these are written with four decimals.
fn digits(value: f64) -> f64 {
    format!("{value:.6e}").parse().unwrap_or(value)
}
