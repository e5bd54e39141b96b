//! What came out of the demo, in a few lines, and what to type next.

use super::{Demo, Output};
use crate::{
    cli::table::interval,
    evaluator::{Estimate, Evaluation, Role, Standing, Verdict, hardest_kind},
    figure::Figure,
    level::ALL_KINDS,
    model::{ScoreCandidates, Student},
};
use anyhow::Result;
use std::path::Path;

impl Demo<'_> {
    pub(super) fn summary(&self, student: &Student, evaluation: &Evaluation, output: &mut Output) -> Result<()> {
        let sizes: Vec<String> =
            student.levels.iter().map(|l| format!("{} {}", l.level, l.scheduler().model.size())).collect();
        output.text(format!("\nstudent    {} terms in all ({})", student.size(), sizes.join(", ")))?;
        if let Some(line) = fidelity(student, evaluation) {
            output.text(format!("agreement  {line}"))?;
        }
        let Some(verdict) = evaluation.verdict() else { return Ok(()) };
        let objective = self.scenario.info().objective();
        for line in lines(&verdict, objective) {
            output.text(line)?;
        }
        Ok(())
    }

    /// The three commands worth typing next.
    pub(super) fn next_commands(&self, augmented: Option<&Path>, output: &mut Output) -> Result<()> {
        let student = self.args.output.join("student.json");
        let best = augmented.unwrap_or(&student).display();
        output.text("\nnext")?;
        output.text(format!("  distill export {best} --to rules        # the rules to read"))?;
        output.text(format!(
            "  distill evaluate {best} -t {} --edge-cases -n 200        # where it holds up",
            self.teacher
        ))?;
        output.text(format!("  distill serve student:{best}        # ask it for decisions in any language"))
    }
}

/// How often it decides as the teacher where that is hardest, beside the best simple rule.
fn fidelity(student: &Student, evaluation: &Evaluation) -> Option<String> {
    let level = &student.levels.first()?.level;
    let rows: Vec<_> = evaluation.fidelity.iter().filter(|r| r.level == *level).collect();
    let of_student = rows.iter().filter(|r| r.role == Role::Student && r.kind != ALL_KINDS && r.choices > 0);
    let kind = hardest_kind(of_student.map(|r| r.kind.as_str()), &rows, |_| 0.0)?;
    let best = |role: Role| {
        let of_kind = rows.iter().filter(|r| r.kind == kind && r.role == role);
        of_kind.max_by(|a, b| a.top1.value.total_cmp(&b.top1.value))
    };
    let share = |e: &Estimate| format!("{:.0} % [{:.0}, {:.0}]", 100.0 * e.value, 100.0 * e.low, 100.0 * e.high);
    let student = share(&best(Role::Student)?.top1);
    let rule =
        best(Role::Baseline).map(|r| format!("; the best simple rule, {}: {:.0} %", r.scorer, 100.0 * r.top1.value));
    Some(format!("{student} of the {level} choices of kind {kind}, the hardest{}", rule.unwrap_or_default()))
}

/// Verdict, best heuristic, worst workload and the augmented student.
fn lines(verdict: &Verdict<'_>, objective: &Figure) -> Vec<String> {
    let against = |e: Option<Estimate>| e.map_or("stalls".to_owned(), |e| interval(&e, 3));
    let name = objective.against("teacher");
    let mut lines = vec![format!("schedule   {name}: {}", against(verdict.student.to_teacher))];
    if let Some(augmented) = &verdict.augmented {
        lines.push(format!(
            "augmented  {name}: {}{}",
            against(augmented.to_teacher),
            unless_better(augmented, objective)
        ));
    }
    if let Some(known) = &verdict.heuristic {
        lines.push(format!(
            "heuristic  {name}: {} for the best one known, {}; student ÷ it: {}",
            against(known.to_teacher),
            known.policy,
            against(verdict.student.to_heuristic)
        ));
    }
    if let Some(worst) = &verdict.worst {
        lines.push(format!("worst      {name}: {} on {}", against(worst.to_teacher), worst.workload));
    }
    lines
}

/// Says so where the search has not found a policy that is surely better than the teacher.
fn unless_better(augmented: &Standing<'_>, objective: &Figure) -> &'static str {
    let surely = augmented.to_teacher.is_some_and(|e| objective.favours(e.low) && objective.favours(e.high));
    if surely { "" } else { " (not surely better than the teacher; `distill augment` with a larger --budget goes on)" }
}
