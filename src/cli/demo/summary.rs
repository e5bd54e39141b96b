//! What came out of the demo, in a few lines, and what to type next.

use super::{Demo, Output};
use crate::{
    cli::{files::shown, parts::SOCKET, verdict},
    evaluator::Evaluation,
    model::{ScoreCandidates, Student},
    pipeline::{command_line, with_edge_cases},
};
use anyhow::Result;
use std::path::Path;

impl Demo<'_> {
    pub(super) fn summary(&self, student: &Student, evaluation: &Evaluation, output: &mut Output) -> Result<()> {
        let sizes: Vec<String> =
            student.levels.iter().map(|l| format!("{} {}", l.level, l.scheduler().model.size())).collect();
        output.text(format!("\nstudent    {} terms in all ({})", student.size(), sizes.join(", ")))?;
        verdict::lines(evaluation).into_iter().try_for_each(|line| output.text(line))
    }

    /// The three commands worth typing next, about the augmented student where that is the one to take.
    pub(super) fn next_commands(&self, augmented: Option<&Path>, output: &mut Output) -> Result<()> {
        let student = self.args.output.join("student.json");
        let best = shown(augmented.unwrap_or(&student));
        output.text("\nnext")?;
        let policy = format!("student:{best}");
        let mut evaluate = vec!["evaluate", &best, "-t", self.teacher, "-n", "200"];
        let elsewhere = with_edge_cases(self.scenario, std::slice::from_ref(&self.args.workload)).is_ok();
        evaluate.extend(elsewhere.then_some("--edge-cases"));
        let commands: [(&[&str], &str); 3] = [
            (&["export", &best, "--to", "rules"], "the rules to read"),
            (&evaluate, "where it holds up"),
            (&["serve", "-p", &policy, "--listen", SOCKET], "ask it for decisions in any language"),
        ];
        commands.iter().try_for_each(|(words, what)| {
            let command = command_line(words.iter().map(|&word| word.to_owned()));
            output.text(format!("  {command}        # {what}"))
        })
    }
}
