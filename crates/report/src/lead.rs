//! The sentence that a section begins with: what its evidence comes to, for a reader who stops there.

use super::{
    glossary::{Part, explained},
    plain::capital,
    run_dir::RunDir,
    summary::{hardest_explained, most_important},
};
use sched_distill_core::figure::Compared;
use sched_distill_judge::evaluator::{Estimate, hardest_choices};
use serde::Serialize;

/// The sentences, where there is evidence for them.
#[derive(Debug, Serialize)]
pub(super) struct Leads {
    trust: Option<Vec<Part>>,
    importance: Option<Vec<Part>>,
    holds_up: Option<Vec<Part>>,
}

/// All of a run.
pub(super) fn leads(run: &RunDir) -> Leads {
    let explained = |text: Option<String>| text.map(|text| explained(&text));
    Leads { trust: explained(trust(run)), importance: explained(importance(run)), holds_up: explained(holds_up(run)) }
}

/// How often the student decides as the teacher where known rules do worst, beside the best of them.
fn trust(run: &RunDir) -> Option<String> {
    let (student, rule) = hardest_choices(&run.evaluation.fidelity)?;
    let rule = rule.map(|r| format!("; the best known rule does in {:.0}\u{a0}%", 100.0 * r.top1.value));
    let rule = rule.unwrap_or_default();
    Some(format!(
        "Where the scheduler really chooses, the student takes the teacher's choice in {:.0}\u{a0}% of the cases{rule}.",
        100.0 * student.top1.value
    ))
}

/// What moves a candidate most, level by level.
fn importance(run: &RunDir) -> Option<String> {
    let (rows, plain) = (&run.evaluation.fidelity, run.plain());
    let of_level = |level| {
        let kind = hardest_explained(level, rows)?;
        let (family, share) = most_important(level, kind)?;
        let place = plain.place(kind, level.sample.iter().filter(|k| k.choices > 0).count() > 1);
        let counts = if share > 0.5 { "what counts is mostly" } else { "what counts most is" };
        let said = format!("{place}{counts} {}.", plain.level(&level.level).noun(family));
        Some(format!("{} {}", plain.question(&level.level), capital(&said)))
    };
    // What is settled is no question.
    let open = run.explanation.iter().flat_map(|e| &e.levels).filter(|l| plain.settled(&l.level, rows).is_none());
    let said: Vec<String> = open.filter_map(of_level).collect();
    (!said.is_empty()).then(|| said.join(" "))
}

/// The student's objective on the usual workload beside the teacher's and the best heuristic's.
fn holds_up(run: &RunDir) -> Option<String> {
    let verdict = run.evaluation.verdict()?;
    let objective = run.evaluation.closed_loop.as_ref()?.objective();
    let noun = run.plain().figure(objective);
    let student = verdict.student;
    if student.stalled > 0 {
        return Some(format!("The student stalled in {} of {} episodes.", student.stalled, verdict.episodes));
    }
    let (teacher, heuristic) = (student.to_teacher?, student.to_heuristic.zip(verdict.heuristic.as_ref()));
    if objective.compared == Compared::Difference {
        let plain = run.plain();
        let than = plain.more_or_fewer(objective, &teacher);
        let beside = heuristic.map(|(e, h)| {
            format!(", and {} than the best heuristic tried, {}", plain.more_or_fewer(objective, &e), h.policy)
        });
        return Some(format!(
            "As the scheduler, the student has {than} than the teacher{}.",
            beside.unwrap_or_default()
        ));
    }
    let times = |e: Estimate, whose: &str| format!("{:.2}\u{a0}× {whose}", e.value);
    let teacher = times(teacher, "the teacher's");
    let heuristic = heuristic
        .map(|(e, h)| format!(", and {}", times(e, &format!("that of the best heuristic tried, {}", h.policy))));
    Some(format!("As the scheduler, the student has a {noun} of {teacher}{}.", heuristic.unwrap_or_default()))
}
