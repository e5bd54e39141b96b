//! Four figures, each with a word on what is good: agreement, schedule, size, speed.

use crate::{
    goal,
    plain::Plain,
    run_dir::RunDir,
    words::{count, number},
};
use sched_distill_core::figure::{Compared, Figure};
use sched_distill_judge::evaluator::{FidelityRow, Gate, Judgement, Role, Verdict, VerdictGates, hardest_choices};
use serde::Serialize;

/// Terms, leaves and coefficients that a person still reads: as many lines as fit on a page.
const READABLE: usize = 60;

/// One figure.
#[derive(Debug, Serialize)]
pub(super) struct Card {
    value: String,
    label: String,
    word: String,
    /// The augmented version's, where there is one.
    augmented: Option<String>,
    /// Whether it is good; `None` if that cannot be said.
    good: Option<bool>,
    anchor: &'static str,
}

/// The four, also those that were not measured.
pub(super) fn cards(
    run: &RunDir,
    verdict: Option<(&Verdict<'_>, &Judgement<'_>)>,
    gates: &VerdictGates,
    objective: &Figure,
) -> Vec<Card> {
    vec![agreement(&run.evaluation.fidelity), schedule(run.plain(), verdict, gates, objective), size(run), speed(run)]
}

/// How often it decides as the teacher there, beside the best simple rule.
fn agreement(rows: &[FidelityRow]) -> Card {
    let label = "agreement with the teacher, where it really chooses".to_owned();
    let anchor = "trust";
    let Some((student, rule)) = hardest_choices(rows) else {
        return Card { value: "–".into(), label, word: "not measured".into(), augmented: None, good: None, anchor };
    };
    let known = |rule: &FidelityRow| format!("the best known rule, {:.0}\u{a0}%", 100.0 * rule.top1.value);
    let (word, good) = match rule {
        None => ("no other rule was measured".to_owned(), None),
        Some(rule) if student.top1.low > rule.top1.value => (format!("good: more than {}", known(rule)), Some(true)),
        // Where a known rule decides so too, the figure speaks for neither.
        Some(rule) if student.top1.high >= rule.top1.value => (format!("not more than {}", known(rule)), None),
        Some(rule) => (format!("less than {}", known(rule)), Some(false)),
    };
    Card { value: format!("{:.0}\u{a0}%", 100.0 * student.top1.value), label, word, augmented: None, good, anchor }
}

/// Good is what keeps the gate: the whole interval.
fn schedule(
    plain: Plain<'_>,
    found: Option<(&Verdict<'_>, &Judgement<'_>)>,
    gates: &VerdictGates,
    objective: &Figure,
) -> Card {
    let label = match objective.compared {
        Compared::Ratio => format!("{}, times the teacher's", plain.figure(objective)),
        Compared::Difference => format!("{}, against the teacher's", plain.figure(objective)),
    };
    let limit = gates.limit(Gate::Teacher, objective);
    let (verdict, judgement) = found.unzip();
    let found = verdict.and_then(|v| v.student.to_teacher);
    let stalls = verdict.is_some_and(|v| v.student.stalled > 0);
    let kept = judgement.and_then(|judgement| judgement.of(Gate::Teacher)).map(|checked| checked.kept);
    Card {
        value: match found {
            Some(e) => goal::measured_value(objective, &e, e.value),
            None if stalls => "stalls".to_owned(),
            None => "–".to_owned(),
        },
        label,
        word: match found {
            None if !stalls => "not measured".to_owned(),
            None => format!("good: {} {}", goal::bound(objective), goal::versus(objective)(limit)),
            Some(e) => {
                let good = format!("{} {}", goal::bound(objective), goal::versus(objective)(limit));
                match goal::whiskers(objective, &e) {
                    // Both did the same in all episodes.
                    none if none.is_empty() => format!("good: {good}"),
                    whiskers => format!("{whiskers}; good: all of it {good}"),
                }
            }
        },
        augmented: verdict
            .and_then(|v| v.augmented.as_ref()?.to_teacher)
            .map(|e| goal::measured_value(objective, &e, e.value)),
        good: kept.or(stalls.then_some(false)),
        anchor: "holds-up",
    }
}

fn size(run: &RunDir) -> Card {
    let size = run.student.size();
    Card {
        value: count(size as u64),
        label: "terms and leaves in all its rules".to_owned(),
        word: format!("good: up to {READABLE}, about a page"),
        augmented: run.augmented.as_ref().map(|other| count(other.size() as u64)),
        good: Some(size <= READABLE),
        anchor: "rules",
    }
}

/// No clock measures less, µs.
const LEAST_US: f64 = 1e-6;

/// How much faster it decides than the teacher, to two digits: clock times are no finer.
fn speed(run: &RunDir) -> Card {
    let label = "as fast as the teacher, decision by decision".to_owned();
    let of = |role| run.latency.as_ref().and_then(|latency| latency.of(role));
    let both = of(Role::Teacher).zip(of(Role::Student));
    // Times that no clock tells apart from 0 have no ratio.
    let Some((teacher, student)) =
        both.filter(|(teacher, student)| [*teacher, *student].iter().all(|&us| us > LEAST_US))
    else {
        let word = "not measured".into();
        return Card { value: "–".into(), label, word, augmented: None, good: None, anchor: "provenance" };
    };
    let times = teacher / student;
    let micro = |us: f64| format!("{}\u{a0}µs", two_digits(us));
    Card {
        value: format!("{}\u{a0}×", two_digits(times)),
        label,
        word: format!("{} against {}; good: 1\u{a0}× or more", micro(student), micro(teacher)),
        augmented: None,
        good: Some(times >= 1.0),
        anchor: "provenance",
    }
}

/// A positive number with two significant digits.
fn two_digits(value: f64) -> String {
    let scale = 10f64.powf(value.log10().floor() - 1.0);
    number((value / scale).round() * scale)
}

#[cfg(test)]
mod tests {
    use super::two_digits;

    #[test]
    fn clock_times_have_two_digits() {
        assert_eq!([0.123, 1.26, 42.4, 128.0, 1949.0].map(two_digits), ["0.12", "1.3", "42", "130", "1,900"]);
    }
}
