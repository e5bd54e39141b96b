//! Does it hold up as a scheduler?

use crate::{
    goal,
    holds_up::{spoken, stalled},
    words::{interval, list, time},
};
use sched_distill_core::figure::Figure;
use sched_distill_judge::evaluator::{ClosedLoop, Estimate, PolicyOutcome, Role};

/// What came of the student as the scheduler, against each baseline and the best heuristic that took part; needs a closed loop.
pub(super) fn scheduling(result: &ClosedLoop, best_heuristic: Option<(&str, Estimate)>) -> Vec<String> {
    let Some(student) = result.first(Role::Student) else {
        return Vec::new();
    };
    let mut said = Vec::new();
    let place = format!("{} {} episodes of {}", result.episodes, result.split, result.workload);
    if let Some(stall) = stalled(student, result.episodes) {
        said.push(format!("Run as the scheduler on {place}, the student {stall}: it left jobs unfinished."));
        return said;
    }
    if result.no_job_arrived() {
        said.push(format!("Run as the scheduler on {place}, the student had nothing to do: no job arrived."));
        return said;
    }
    let goal = result.objective();
    let mut text = format!(
        "Run as the scheduler on {place}, the student's {} is {}",
        goal.label,
        student.figure(&goal.name).map_or_else(|| "nothing".to_owned(), |e| interval(e, goal::amount(goal)))
    );
    let of_student = result.comparisons.iter().filter(|pair| pair.policy == student.policy);
    let mut compared: Vec<String> = of_student
        .clone()
        .map(|pair| match pair.figure(&goal.name) {
            Some(e) => verdict(goal, &spoken(result, &pair.baseline), e),
            None => format!("not compared with {}, which stalled", spoken(result, &pair.baseline)),
        })
        .collect();
    if let Some((best, ratio)) =
        best_heuristic.filter(|(best, _)| of_student.clone().all(|pair| pair.baseline != *best))
    {
        compared.push(verdict(goal, &format!("the best heuristic tried, {best}"), &ratio));
    }
    if !compared.is_empty() {
        text += &format!("; that is {}", compared.join("; "));
    }
    said.push(text + ".");
    said.extend(idle(result, student));
    let stalled: Vec<String> = result
        .policies
        .iter()
        .filter_map(|p| stalled(p, result.episodes).map(|s| format!("{} {s} episodes", p.policy)))
        .collect();
    if !stalled.is_empty() {
        said.push(format!("Some policies did not finish: {}.", list(&stalled)));
    }
    said
}

/// The longest time in which more than half of the cluster idled beside work, under the student and under the teacher.
fn idle(result: &ClosedLoop, student: &PolicyOutcome) -> Option<String> {
    let spell = student.longest_idle.filter(|spell| spell.ms > 0.0)?;
    let teacher = result.first(Role::Teacher).and_then(|teacher| teacher.longest_idle);
    let teacher = teacher.map_or(String::new(), |spell| format!(", under the teacher {}", time(spell.ms)));
    Some(format!(
        "The longest time in which more than half of the cluster idled beside work that could start was {} under the student (episode {}){teacher}.",
        time(spell.ms),
        spell.episode,
    ))
}

/// A comparison in plain words, no stronger than its interval.
fn verdict(goal: &Figure, baseline: &str, e: &Estimate) -> String {
    let words = match [e.low, e.high].map(|end| goal.favours(end)) {
        [true, true] => "better than",
        // Neither end may be what two equal policies come to.
        [false, false] if ![e.low, e.high].contains(&goal.neutral()) => "worse than",
        _ => "not clearly different from that",
    };
    format!("{words} under {baseline} ({} {})", goal::comparison(goal), goal::measured(goal, e))
}

#[cfg(test)]
mod tests {
    use super::*;
    use sched_distill_core::figure::COMPLETION_FIGURES;

    #[test]
    fn a_verdict_is_no_stronger_than_its_interval() {
        let of = |name: &str, value, low, high| {
            let figure = COMPLETION_FIGURES.iter().find(|f| f.name == name).unwrap();
            verdict(figure, "fair", &Estimate { value, low, high })
        };
        let jct = |value, low, high| of("mean_jct_ms", value, low, high);
        assert!(jct(1.02, 0.99, 1.05).contains("not clearly different"));
        assert!(jct(1.0, 1.0, 1.0).contains("not clearly different"));
        assert!(jct(1.02, 1.01, 1.05).contains("worse"));
        assert!(jct(0.8, 0.7, 0.9).contains("better than under fair (ratio 0.80 [0.70, 0.90]"));
        assert!(
            of("utilisation", 0.1, 0.05, 0.2)
                .contains("better than under fair (difference +10.0\u{a0}points [+5.0, +20.0]")
        );
        assert!(of("utilisation", -0.1, -0.2, -0.05).contains("worse"));
        assert!(of("utilisation", 0.1, -0.2, 0.2).contains("not clearly different"));
    }
}
