//! The verdict in sentences. Each is a claim by the gates, and no stronger than what was measured.

use crate::{
    goal,
    run_dir::RunDir,
    words::{interval, list},
};
use sched_distill_core::{
    figure::{Compared, Figure},
    spec::brief,
};
use sched_distill_judge::evaluator::{Estimate, Gate, Judgement, Place, Standing, Verdict};

/// Workloads that are named where the student must not be used.
pub(crate) const NAMED: usize = 3;

/// May the student take the teacher's place, what does that cost or gain, and where must it not be used?
pub(crate) fn sentences(
    run: &RunDir,
    found: Option<(&Verdict<'_>, &Judgement<'_>)>,
    objective: &Figure,
) -> Vec<String> {
    let Some((verdict, judgement)) = found else {
        return vec![format!(
            "Not tried as a scheduler: whether the student may replace {} is open.",
            brief(&run.info.teacher.id)
        )];
    };
    let said = Said { run, verdict, judgement, objective };
    [said.usual()].into_iter().chain(said.augmented()).chain(said.elsewhere()).collect()
}

struct Said<'a> {
    run: &'a RunDir,
    verdict: &'a Verdict<'a>,
    judgement: &'a Judgement<'a>,
    objective: &'a Figure,
}

impl Said<'_> {
    /// On the usual workload.
    fn usual(&self) -> String {
        let Self { verdict, objective, .. } = self;
        let (teacher, student) = (verdict.teacher, &verdict.student);
        let noun = self.run.plain().figure(objective);
        if student.stalled > 0 {
            return format!(
                "The student does not replace {teacher}: it stalled in {} of {} episodes, where jobs never end.",
                student.stalled, verdict.episodes
            );
        }
        let Some(e) = student.to_teacher else {
            return format!("The student cannot be measured against {teacher}, which stalled.");
        };
        let kept = |gate| self.judgement.of(gate).is_none_or(|checked| checked.kept);
        if !kept(Gate::Teacher) {
            let limit = self.judgement.of(Gate::Teacher).map_or(objective.neutral(), |c| c.limit);
            let passes = objective.passes(e.value, limit);
            let (limit, whiskers) = (goal::versus(objective)(limit), self.whiskers(&e));
            let measured = format!("its {noun} is {}", self.times(e, "that of the teacher"));
            return match passes {
                false => {
                    format!("The student does not replace {teacher}: {measured} {whiskers}, and the limit is {limit}.")
                }
                true => format!(
                    "The student is not shown to replace {teacher}: {measured} {whiskers}, which reaches beyond the limit of \
                     {limit}; more episodes may settle it."
                ),
            };
        }
        let heuristic = verdict.heuristic.as_ref().zip(student.to_heuristic);
        if let Some((h, e)) = heuristic
            && !kept(Gate::Heuristic)
        {
            let name = self.policy(h.policy);
            return format!(
                "The student need not replace {teacher}: a known heuristic, {name}, does it as well or better; against it the \
                 student's {noun} is {}.",
                self.times(e, "as much")
            );
        }
        let beside = heuristic.map(|(h, e)| format!(", {} {}", self.beside(&e), self.policy(h.policy)));
        // Where it must not be used elsewhere, the first sentence must not read as a plain yes.
        let subject =
            if self.judgement.barred.is_empty() { "The student" } else { "On the usual workload the student" };
        format!("{subject} replaces {teacher} {} its {noun}{}.", self.at(e), beside.unwrap_or_default())
    }

    /// What edits come to, where they were measured.
    fn augmented(&self) -> Option<String> {
        let Standing { to_teacher, stalled, .. } = self.verdict.augmented.as_ref()?;
        if *stalled > 0 {
            return Some(format!("Its augmented version stalled in {stalled} of {} episodes.", self.verdict.episodes));
        }
        let e = (*to_teacher)?;
        let surely = self.objective.favours(e.low) && self.objective.favours(e.high);
        let than = if surely { "is better than the teacher" } else { "is not surely better than the teacher" };
        Some(format!("Its augmented version {than}: {} {}.", self.short(e), self.whiskers(&e)))
    }

    /// On other workloads: where it must not be used, else how it does at worst.
    fn elsewhere(&self) -> Vec<String> {
        let Self { verdict, judgement, .. } = self;
        let Some(worst) = verdict.worst() else {
            return vec!["No other workload was tried.".to_owned()];
        };
        let place = |p: &Place<'_>| {
            let found = p.to_teacher.map_or_else(|| "it strands the cluster".to_owned(), |e| self.short(e));
            format!("{}: {found}", self.run.workload(p.workload))
        };
        let tried = verdict.elsewhere.len();
        if judgement.barred.is_empty() {
            return vec![match tried {
                1 => format!("The one other workload tried is {}.", place(worst)),
                _ => format!("The worst of {tried} other workloads is {}.", place(worst)),
            }];
        }
        let named: Vec<String> = judgement.barred.iter().take(NAMED).map(place).collect();
        let more = match judgement.barred.len().saturating_sub(NAMED) {
            0 => String::new(),
            n => format!("; nor on {n} more of {tried} other workloads"),
        };
        // Behind a sentence on its augmented version, `it` would be that.
        let whom = if verdict.augmented.is_some() { "the student" } else { "it" };
        vec![format!("Do not use {whom} {}{more}.", list(&named))]
    }

    /// A policy in words, with its name.
    fn policy(&self, id: &str) -> String {
        match self.run.plain().policy(id) {
            Some(words) => format!("{words} ({id})"),
            None => id.to_owned(),
        }
    }

    /// `at 1.02 ×`, of a difference `with a difference of −0.02 in`.
    fn at(&self, e: Estimate) -> String {
        match self.objective.compared {
            Compared::Ratio => format!("at {}", self.short(e)),
            Compared::Difference => format!("with a difference of {} in", self.short(e)),
        }
    }

    fn short(&self, e: Estimate) -> String {
        match self.objective.compared {
            // What is close to no difference is not rounded to none.
            Compared::Ratio if (e.value - 1.0).abs() < 0.005 => format!("{:.3}\u{a0}×", e.value),
            Compared::Ratio => format!("{:.2}\u{a0}×", e.value),
            Compared::Difference => goal::versus(self.objective)(e.value),
        }
    }

    /// `1.240 × that of the teacher`
    fn times(&self, e: Estimate, what: &str) -> String {
        match self.objective.compared {
            Compared::Ratio => format!("{:.3}\u{a0}× {what}", e.value),
            Compared::Difference => format!("{} against {what}", goal::versus(self.objective)(e.value)),
        }
    }

    fn whiskers(&self, e: &Estimate) -> String {
        let text = interval(e, goal::versus(self.objective));
        text.find('[').map_or(String::new(), |at| text[at..].to_owned())
    }

    /// How it does beside the best heuristic, no stronger than the interval.
    fn beside(&self, e: &Estimate) -> String {
        let surely = self.objective.favours(e.low) && self.objective.favours(e.high);
        let gain = self
            .objective
            .gain(self.objective.cost(Some(e.value)) - self.objective.cost(Some(self.objective.neutral())));
        let amount = match self.objective.compared {
            Compared::Ratio if gain < 0.01 => format!("{:.1}\u{a0}%", 100.0 * gain),
            Compared::Ratio => format!("{:.0}\u{a0}%", 100.0 * gain),
            Compared::Difference => format!("{gain:.3}"),
        };
        match surely {
            true => format!("{amount} better than the best heuristic tried,"),
            false => "not clearly different from the best heuristic tried,".to_owned(),
        }
    }
}
