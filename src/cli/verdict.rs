//! What an evaluation comes to, in a few lines: the first that `distill evaluate` prints and the last of `distill
//! demo`.

use super::table::{compared, compared_value, exactly, interval};
use crate::{
    evaluator::{Estimate, Evaluation, Role, Standing, hardest_choices},
    figure::Figure,
    spec::brief,
};

/// Agreement where it is hardest, regret there, the schedule beside the teacher's and the best heuristic's, the worst
/// workload and stalls; of what was not measured a line says how it is.
pub(super) fn lines(evaluation: &Evaluation) -> Vec<String> {
    let mut lines = fidelity(evaluation);
    match &evaluation.closed_loop {
        None => lines.push("schedule   not measured: give the teacher with -t".to_owned()),
        Some(closed_loop) => lines.extend(schedule(evaluation, closed_loop.objective())),
    }
    lines
}

/// How often the student decides as the teacher where that is hardest, beside the best simple rule, and what it costs.
fn fidelity(evaluation: &Evaluation) -> Vec<String> {
    let Some((student, rule)) = hardest_choices(&evaluation.fidelity) else {
        return match evaluation.fidelity.is_empty() {
            true => vec!["agreement  not measured: give a trace".to_owned()],
            false => Vec::new(),
        };
    };
    let (level, kind) = (&student.level, &student.kind);
    let rule = rule.map(|r| format!("; {:.0} % by {}", 100.0 * r.top1.value, r.scorer)).unwrap_or_default();
    let share = |e: &Estimate| match e.is_exact() {
        true => format!("{:.0} %", 100.0 * e.value),
        false => format!("{:.0} % [{:.0}, {:.0}]", 100.0 * e.value, 100.0 * e.low, 100.0 * e.high),
    };
    let mut lines = vec![format!("agreement  {} of the hardest choices ({level}, {kind}){rule}", share(&student.top1))];
    if let Some(regret) = &student.regret {
        lines.push(format!("regret     {} of the teacher's probability in them", interval(regret, 3)));
    }
    lines
}

/// The student's schedule, the augmented one's, the best heuristic's, the worst workload and stalls.
fn schedule(evaluation: &Evaluation, objective: &Figure) -> Vec<String> {
    let Some(verdict) = evaluation.verdict() else { return Vec::new() };
    let against = |e: Option<Estimate>| e.map_or("stalls".to_owned(), |e| compared(objective, &e));
    let name = objective.against("teacher");
    let mut lines = vec![format!("schedule   {name}: {}", against(verdict.student.to_teacher))];
    if let Some(augmented) = &verdict.augmented {
        lines.push(format!("augmented  {name}: {}", against(augmented.to_teacher)));
        lines.extend(unless_better(augmented, objective).map(str::to_owned));
    }
    if let Some(fitted) = &verdict.fitted {
        lines.push(format!("unedited   {name}: {}", against(fitted.to_teacher)));
    }
    if let Some(known) = &verdict.heuristic {
        let to_it = verdict
            .student
            .to_heuristic
            .map(|e| format!("; {}: {}", objective.between("student", "it"), compared_value(objective, &e, e.value)));
        lines.push(format!(
            "heuristic  {name}: {} ({}){}",
            against(known.to_teacher),
            brief(known.policy),
            to_it.unwrap_or_default()
        ));
    }
    if let Some(worst) = verdict.worst() {
        lines.push(format!("worst      {name}: {} on {}", against(worst.to_teacher), brief(worst.workload)));
    }
    if let Some(tail) = verdict.student.tail {
        let worst = tail.worst_episode;
        lines.push(format!(
            "tail       p99 completion time ÷ teacher: {}; worst episode: {} in {}",
            interval(&tail.p99, 3),
            exactly(objective, worst.compared),
            worst.episode
        ));
    }
    let all = evaluation.closed_loop.iter().chain(&evaluation.other_workloads);
    let [stalled, episodes] = all.fold([0, 0], |[stalled, episodes], c| {
        [stalled + c.first(Role::Student).map_or(0, |p| p.stalled), episodes + c.episodes]
    });
    match stalled {
        0 if verdict.worst().is_some() => {}
        0 => lines.push(format!("stalls     none in {episodes} episodes")),
        n => lines.push(format!("stalls     the student in {n} of {episodes} episodes")),
    }
    lines
}

/// Says so where the search has not found a policy that is surely better than the teacher.
fn unless_better(augmented: &Standing<'_>, objective: &Figure) -> Option<&'static str> {
    let surely = augmented.to_teacher.is_some_and(|e| objective.favours(e.low) && objective.favours(e.high));
    (!surely)
        .then_some("           not surely better than the teacher; `distill augment` with a larger --budget goes on")
}
