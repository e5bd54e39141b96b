//! The first screen: may the student take the scheduler's place, where not, and what does it do? One verdict by stated gates, one
//! picture, at most five rules, four figures.

mod advice;
mod figures;
mod picture;
mod rules;
mod verdict;

use super::{
    ReportError,
    glossary::{Part, explained},
    goal,
    run_dir::{AUGMENTED, FITTED, RunDir},
    svg::Chart,
};
use sched_distill_core::figure::{Compared, Figure};
use sched_distill_judge::evaluator::{Checked, Gate, Judgement, Verdict, VerdictGates};
use serde::Serialize;

pub(super) use advice::{border, scheduler};
pub(super) use verdict::NAMED;
use verdict::sentences;

/// Everything that the first screen shows.
#[derive(Debug, Serialize)]
pub(super) struct Section {
    /// How it ends, for its mark: `yes`, `no` or `open`.
    ruling: &'static str,
    /// What the owner of a history is told; empty of other runs.
    advice: Vec<Part>,
    verdict: Vec<Part>,
    gates: Vec<GateRow>,
    pub(super) picture: Option<Chart>,
    /// What a comparison must be to speak for a policy.
    hint: String,
    rules: Vec<Vec<Part>>,
    /// How the rules are meant, and whose they are.
    rules_hint: String,
    figures: Vec<figures::Card>,
}

/// A gate, and what came of it.
#[derive(Debug, Serialize)]
struct GateRow {
    name: &'static str,
    /// `None` if it was not put to the test.
    kept: Option<bool>,
    text: String,
}

/// What the gates say of a run, in words and one by one.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunVerdict {
    /// The verdict, as the page says it.
    pub text: String,
    /// Which of several students to take, as the page says it; `None` if there is no other one.
    pub advice: Option<String>,
    /// The name of that student; `None` where it is the run's own, or none is to be taken.
    pub take: Option<String>,
    /// The known rule to use instead of any student, if that is the verdict.
    pub instead: Option<String>,
    /// What the owner of a history is told, a sentence each; empty of other runs.
    pub history: Vec<String>,
    /// Names of gates that were not kept, or not put to the test.
    pub missed: Vec<&'static str>,
}

/// Which student to take, and why.
pub(super) struct Advice {
    pub(super) text: String,
    /// Its name, unless it is the run's own.
    pub(super) take: Option<String>,
    /// Whether it keeps all gates.
    pub(super) keeps_all: bool,
}

/// Draws the first screen.
///
/// # Errors
///
/// [`ReportError::Chart`] if the picture cannot be drawn.
pub(super) fn section(
    run: &RunDir,
    gates: &VerdictGates,
    advice: Option<Advice>,
) -> Result<(Section, RunVerdict), ReportError> {
    let found = run.evaluation.verdict();
    let objective = run.evaluation.closed_loop.as_ref().map_or(&run.info.objective, |c| c.objective());
    let judgement = found.as_ref().map(|v| v.judge(gates, objective));
    let rule = found.as_ref().zip(judgement.as_ref()).and_then(|(v, j)| j.rule_instead(v, objective));
    let other = |advice: &Advice| advice.take.is_some() && advice.keeps_all;
    // A rule that does as well leaves no student to take, unless another one keeps all gates beside it.
    let advice = advice.filter(|advice| rule.is_none() || other(advice));
    let instead = rule.filter(|_| !advice.as_ref().is_some_and(other)).map(str::to_owned);
    let said = sentences(run, found.as_ref().zip(judgement.as_ref()), gates, objective, instead.as_deref());
    let (advice, take) = advice.map(|advice| (advice.text, advice.take)).unzip();
    let text = said.into_iter().chain(advice.clone()).collect::<Vec<_>>().join(" ");
    let ruling = match &judgement {
        None => "open",
        Some(_) if instead.is_some() => "no",
        Some(j) if j.replaces() && j.barred.is_empty() => "yes",
        Some(j) if j.replaces() => "partly",
        Some(_) => "no",
    };
    let rules_hint = match take.as_ref().and_then(Option::as_deref) {
        None => "all else being equal".to_owned(),
        Some(AUGMENTED) => "all else being equal, before the edits of the augmented version".to_owned(),
        Some(FITTED) => "all else being equal, after the edits".to_owned(),
        Some(other) => format!("all else being equal; of this student, not of {other}"),
    };
    let kept = |gate| judgement.as_ref().and_then(|j| j.of(gate)).is_some_and(|c: &Checked| c.kept);
    let named = [Gate::Finishes, Gate::Teacher, Gate::Heuristic, Gate::Tail, Gate::Elsewhere];
    let advice_sentences = advice::sentences(run);
    let verdict = RunVerdict {
        missed: named
            .iter()
            .filter(|&&gate| gates.has(gate, objective) && !kept(gate))
            .map(|gate| gate.name())
            .collect(),
        text: text.clone(),
        advice,
        take: take.flatten(),
        instead,
        history: advice_sentences.clone(),
    };
    let section = Section {
        ruling,
        advice: explained(&advice_sentences.join(" ")),
        verdict: explained(&text),
        gates: gate_rows(run, found.as_ref().zip(judgement.as_ref()), gates, objective),
        picture: found.as_ref().map(|v| picture::chart(run, v, objective)).transpose()?.flatten(),
        hint: goal::hint(objective),
        rules: rules::rules(run).iter().map(|rule| explained(rule)).collect(),
        rules_hint,
        figures: figures::cards(run, found.as_ref().zip(judgement.as_ref()), gates, objective),
    };
    Ok((section, verdict))
}

/// What the gate of the tail is about.
pub(super) const P99: Figure = Figure::ratio("p99_completion_ms", "p99 completion time", "ms")
    .less("The completion time that 99 % of the jobs do not exceed, from their arrival on.");

/// What each gate allows, and what was found.
fn gate_rows(
    run: &RunDir,
    found: Option<(&Verdict<'_>, &Judgement<'_>)>,
    gates: &VerdictGates,
    objective: &Figure,
) -> Vec<GateRow> {
    let noun = run.plain().figure(objective);
    let write = goal::versus(objective);
    let allowed = |gate, whose: &str| {
        let sign = match objective.compared {
            Compared::Ratio => "×",
            Compared::Difference => "against",
        };
        format!("{noun} {} {} {sign} {whose}", goal::bound(objective), write(gates.limit(gate, objective)))
    };
    let row = |gate: Gate, allowed: String| {
        let checked = found.and_then(|(_, judgement)| judgement.of(gate));
        let came_of_it = match (gate, checked, found) {
            (Gate::Finishes, Some(_), Some((v, _))) => match v.student.stalled {
                0 => format!("so in all {} episodes", v.episodes),
                n => format!("not so in {n} of {} episodes", v.episodes),
            },
            (Gate::Tail, Some(c), _) => c.found.map_or_else(String::new, |e| goal::measured(&P99, &e)),
            (_, Some(c), _) => c.found.map_or_else(|| "it stalls".to_owned(), |e| goal::measured(objective, &e)),
            (_, None, _) => "not measured".to_owned(),
        };
        GateRow { name: gate.name(), kept: checked.map(|c| c.kept), text: format!("{allowed}: {came_of_it}") }
    };
    let heuristic = found.and_then(|(v, _)| v.heuristic.as_ref()).map(|h| format!(", {}", h.policy));
    let worst = found.and_then(|(v, _)| v.worst()).map(|w| format!("; at worst, {}", run.workload(w.workload)));
    let tail = match gates.has(Gate::Tail, objective) {
        true => row(
            Gate::Tail,
            format!(
                "{} at most {} × the teacher's, with the whole interval",
                P99.label,
                gates.limit(Gate::Tail, objective)
            ),
        ),
        false => {
            let tail = found.and_then(|(verdict, _)| verdict.student.tail);
            let measured = tail.map_or_else(|| "not measured".to_owned(), |tail| goal::measured(&P99, &tail.p99));
            let text = format!(
                "{} ÷ the teacher's, which has no limit where promises kept are counted: {measured}",
                P99.label
            );
            GateRow { name: Gate::Tail.name(), kept: None, text }
        }
    };
    vec![
        row(Gate::Finishes, "every job ends".to_owned()),
        row(Gate::Teacher, allowed(Gate::Teacher, "the teacher's, with the whole interval")),
        row(
            Gate::Heuristic,
            allowed(Gate::Heuristic, &format!("that of the best heuristic tried{}", heuristic.unwrap_or_default())),
        ),
        tail,
        row(
            Gate::Elsewhere,
            allowed(Gate::Elsewhere, &format!("the teacher's on every other workload{}", worst.unwrap_or_default())),
        ),
    ]
}
