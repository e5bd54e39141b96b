//! What came out of the demo, in a few lines, and what to type next.

use super::{Demo, Output};
use crate::{
    cli::{files::shown, parts::SOCKET, verdict},
    evaluator::Evaluation,
    model::{ScoreCandidates, Student},
    pipeline::{command_line, with_edge_cases},
    report::RunVerdict,
};
use anyhow::Result;

impl Demo<'_> {
    pub(super) fn summary(&self, student: &Student, evaluation: &Evaluation, output: &mut Output) -> Result<()> {
        let sizes: Vec<String> =
            student.levels.iter().map(|l| format!("{} {}", l.level, l.scheduler().model.size())).collect();
        output.text(format!("\nstudent    {} terms in all ({})", student.size(), sizes.join(", ")))?;
        verdict::lines(evaluation).into_iter().try_for_each(|line| output.text(line))
    }

    /// The three commands worth typing next, about what the verdict says to take: the student, another version of it, or a known rule.
    pub(super) fn next_commands(&self, verdict: &RunVerdict, output: &mut Output) -> Result<()> {
        output.text("\nnext")?;
        if let Some(rule) = &verdict.instead {
            let simulate = ["simulate", "-p", rule, "-p", self.teacher, "-w", &self.args.workload, "-n", "200"];
            let commands: [(&[&str], &str); 2] = [
                (&simulate, "the rule beside the scheduler"),
                (&["serve", "-p", rule, "--listen", SOCKET], "ask the rule for decisions in any language"),
            ];
            return self.commands(&commands, output);
        }
        let file = match verdict.take.as_deref() {
            Some("augmented") => "augmented/student.json",
            Some("fitted") => "fitted.json",
            _ => "student.json",
        };
        let best = shown(&self.args.output.join(file));
        let policy = format!("student:{best}");
        let mut evaluate = vec!["evaluate", &best, "-t", self.teacher, "-n", "200"];
        let elsewhere = with_edge_cases(self.scenario, std::slice::from_ref(&self.args.workload)).is_ok();
        evaluate.extend(elsewhere.then_some("--edge-cases"));
        let commands: [(&[&str], &str); 3] = [
            (&["export", &best, "--to", "rules"], "the rules to read"),
            (&evaluate, "where it holds up"),
            (&["serve", "-p", &policy, "--listen", SOCKET], "ask it for decisions in any language"),
        ];
        self.commands(&commands, output)
    }

    fn commands(&self, all: &[(&[&str], &str)], output: &mut Output) -> Result<()> {
        let words = |words: &[&str]| -> Vec<String> {
            let scenario = ["--scenario", self.scenario.info().name].map(str::to_owned);
            let needs_it = !words.iter().any(|word| word.ends_with(".json"));
            words.iter().map(|&word| word.to_owned()).chain(scenario.into_iter().filter(|_| needs_it)).collect()
        };
        all.iter().try_for_each(|(command, what)| {
            let command = command_line(words(command).into_iter());
            output.text(format!("  {command}        # {what}"))
        })
    }
}
