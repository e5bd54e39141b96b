//! The verdict in sentences. Each is a claim by the gates, and no stronger than what was measured.

use super::P99;
use crate::{
    goal,
    plain::capital,
    run_dir::{AUGMENTED, RunDir},
    words::{list, number, percent, time},
};
use sched_distill_core::figure::{Compared, Figure};
use sched_distill_judge::evaluator::{Estimate, Gate, Judgement, OfSize, Place, Standing, Verdict, VerdictGates};

/// Jobs of some sizes are spoken of where they take longer by more than this, which the mean of all may by default, whatever others take.
const LONGER: f64 = 1.05;

/// Workloads that are named where the student must not be used.
pub(crate) const NAMED: usize = 3;

/// May the student take the teacher's place, what does that cost or gain, and where must it not be used? `instead` is the known rule to
/// use, if there is one.
pub(crate) fn sentences(
    run: &RunDir,
    found: Option<(&Verdict<'_>, &Judgement<'_>)>,
    gates: &VerdictGates,
    objective: &Figure,
    instead: Option<&str>,
) -> Vec<String> {
    let teacher = run.info.teacher_name();
    let Some((verdict, judgement)) = found else {
        return vec![format!("Not tried as a scheduler: whether the student may replace {teacher} is open.")];
    };
    let said = Said { run, verdict, judgement, gates, objective, teacher, uses_rule: instead.is_some() };
    let of_student = [said.usual()].into_iter().chain(said.rule_aside()).chain(said.augmented());
    of_student.chain(said.tail()).chain(said.by_size()).chain(said.elsewhere()).collect()
}

/// `p99 completion time is 1.31 × that of the teacher [1.2, 1.5]`
fn p99(e: &Estimate) -> String {
    let (value, whiskers) = (goal::measured_value(&P99, e, e.value), goal::whiskers(&P99, e));
    format!("{} is {value}\u{a0}× that of the teacher {whiskers}", P99.label).trim_end().to_owned()
}

struct Said<'a> {
    run: &'a RunDir,
    verdict: &'a Verdict<'a>,
    judgement: &'a Judgement<'a>,
    gates: &'a VerdictGates,
    objective: &'a Figure,
    teacher: String,
    /// Whether a known rule is to be used instead of any student.
    uses_rule: bool,
}

impl Said<'_> {
    /// On the usual workload.
    fn usual(&self) -> String {
        let Self { verdict, objective, teacher, .. } = self;
        let student = &verdict.student;
        if student.stalled > 0 {
            return format!(
                "The student does not replace {teacher}: it stalled in {} of {} episodes, where jobs never end.",
                student.stalled, verdict.episodes
            );
        }
        let Some(e) = student.to_teacher else {
            return format!("The student cannot be measured against {teacher}, which stalled.");
        };
        if let Some(rule) = verdict.is_rule.filter(|_| self.uses_rule) {
            let is_as_good = verdict.heuristic.as_ref().and_then(|h| h.to_teacher);
            let as_good = is_as_good.map_or(String::new(), |e| format!(": {}", self.compared(&e)));
            return format!(
                "{} is a known rule, {}: known rules make its choices in {}, and this one schedules as well{as_good}. Use the rule; \
                 no student is needed.",
                capital(teacher),
                self.policy(rule.policy),
                percent(rule.agreement)
            );
        }
        let kept = |gate| self.judgement.of(gate).is_none_or(|checked| checked.kept);
        if !kept(Gate::Teacher) {
            let limit = self.judgement.of(Gate::Teacher).map_or(objective.neutral(), |c| c.limit);
            let passes = objective.passes(e.value, limit);
            let (limit, whiskers) = (goal::versus(objective)(limit), goal::whiskers(objective, &e));
            let measured = self.its(&e, "that of the teacher");
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
        if let Some(tail) = student.tail.filter(|_| !kept(Gate::Tail)) {
            let limit = self.judgement.of(Gate::Tail).map_or(1.0, |c| c.limit);
            let is_open = tail.p99.low <= limit;
            let shown = if is_open { "is not shown to replace" } else { "does not replace" };
            return format!(
                "The student {shown} {teacher}: its {}, and the limit is {limit}{}.",
                p99(&tail.p99),
                if is_open { "; more episodes may settle it" } else { "" }
            );
        }
        let heuristic = verdict.heuristic.as_ref().zip(student.to_heuristic);
        if let Some((h, e)) = heuristic
            && !kept(Gate::Heuristic)
        {
            let name = self.policy(h.policy);
            return format!(
                "The student need not replace {teacher}: a known heuristic, {name}, does it as well or better; against it {}.",
                match self.objective.compared {
                    Compared::Ratio => format!("the student's {} is {:.3}\u{a0}× as much", self.noun(), e.value),
                    Compared::Difference => format!("the student has {}", self.more_or_fewer(&e)),
                }
            );
        }
        let beside = heuristic.map(|(h, e)| format!(", {} {}", self.beside(&e), self.policy(h.policy)));
        // Where it must not be used elsewhere, the first sentence must not read as a plain yes.
        let subject =
            if self.judgement.barred.is_empty() { "The student" } else { "On the usual workload the student" };
        format!("{subject} replaces {teacher} {}{}.", self.at(&e), beside.unwrap_or_default())
    }

    /// Those who wait longest, where they surely fare otherwise than jobs do in the mean.
    fn tail(&self) -> Option<String> {
        let Self { verdict, objective, judgement, .. } = self;
        // Where its gate is missed, that is the verdict.
        let is_told = judgement.of(Gate::Tail).is_some_and(|checked| !checked.kept);
        let (tail, e) = verdict.student.tail.filter(|_| !is_told).zip(verdict.student.to_teacher)?;
        let is_better = objective.favours(e.low) && objective.favours(e.high);
        let is_worse = [e.low, e.high].iter().all(|end| *end != objective.neutral() && !objective.favours(*end));
        // By more than a limit it is said whatever the mean is.
        let is_far = tail.p99.value > VerdictGates::P99;
        let p99 = p99(&tail.p99);
        match (tail.p99.low > 1.0, tail.p99.high < 1.0) {
            (true, _) if is_better || is_far => Some(format!("Those who wait longest wait longer: its {p99}.")),
            (_, true) if is_worse => Some(format!("Those who wait longest wait less: its {p99}.")),
            _ => None,
        }
    }

    /// Who loses by the size of jobs, where completion times are what counts: where smaller and larger ones surely fare differently, or one of
    /// them by more than the student may in the mean.
    fn by_size(&self) -> Option<String> {
        let counts = !self.uses_rule && self.gates.has(Gate::Tail, self.objective);
        let by_size = self.verdict.student.by_size.filter(|_| counts)?;
        let [smaller, larger] = by_size.halves.as_ref()?;
        let loses = |half: &OfSize, other: &OfSize| {
            half.time.low > 1.0 && (other.time.high < 1.0 || half.time.value > LONGER.max(other.time.value))
        };
        if !loses(smaller, larger) && !loses(larger, smaller) {
            return None;
        }
        // Without an interval there are no brackets.
        let taken = |half: &OfSize, than: &str| {
            let (value, whiskers) =
                (goal::measured_value(&P99, &half.time, half.time.value), goal::whiskers(&P99, &half.time));
            format!("{value}\u{a0}×{than} {whiskers}").trim_end().to_owned()
        };
        let size = match by_size.unit == "ms" {
            true => time(smaller.sizes[1]),
            false => format!("{} {}", number(smaller.sizes[1]), by_size.unit),
        };
        Some(format!(
            "Jobs whose {} is at most {size} take {}, larger ones {}.",
            by_size.label,
            taken(smaller, " as long as under the teacher"),
            taken(larger, "")
        ))
    }

    /// That the teacher is a known rule, where the student is better than both.
    fn rule_aside(&self) -> Option<String> {
        let rule = self.verdict.is_rule.filter(|_| !self.uses_rule)?;
        let known = format!("known rules make its choices in {}", percent(rule.agreement));
        Some(format!("{} itself is a known rule, {}: {known}.", capital(&self.teacher), self.policy(rule.policy)))
    }

    /// What edits come to, where they were measured, or that none were found.
    fn augmented(&self) -> Option<String> {
        if self.run.found_nothing {
            return Some("The search for a better schedule found nothing.".to_owned());
        }
        if let Some(fitted) = self.verdict.fitted.as_ref().and_then(|fitted| fitted.to_teacher) {
            let would = match self.objective.compared {
                Compared::Ratio => format!("be at {}", self.short(&fitted)),
                Compared::Difference => format!("have {}", self.more_or_fewer(&fitted)),
            };
            let whiskers = goal::whiskers(self.objective, &fitted);
            let text = format!("Without the edits that a search found it would {would} {whiskers}");
            return Some(format!("{}.", text.trim_end()));
        }
        let Standing { to_teacher, stalled, tail, .. } = self.verdict.augmented.as_ref()?;
        if *stalled > 0 {
            return Some(format!("Its augmented version stalled in {stalled} of {} episodes.", self.verdict.episodes));
        }
        let e = (*to_teacher)?;
        let longer = tail.filter(|tail| tail.p99.low > 1.0);
        let longer = longer.map_or(String::new(), |tail| format!(", but its {}", p99(&tail.p99)));
        let surely = self.objective.favours(e.low) && self.objective.favours(e.high);
        let than = if surely { "is better than the teacher" } else { "is not surely better than the teacher" };
        // Where it must not be used, it must not read as the better one.
        let others = self.run.compared.iter().find(|c| c.name == AUGMENTED).and_then(|c| c.evaluation.verdict());
        let barred = others.map(|v| v.judge(self.gates, self.objective).barred).unwrap_or_default();
        let barred: Vec<String> = barred.iter().take(NAMED).map(|place| self.place(place)).collect();
        let but = if longer.is_empty() { "but" } else { "and" };
        let but_not = if barred.is_empty() {
            String::new()
        } else {
            format!(", {but} do not use that version {}", list(&barred))
        };
        Some(format!(
            "Its augmented version {than}: {} {}{longer}{but_not}.",
            self.short(&e),
            goal::whiskers(self.objective, &e)
        ))
    }

    /// On other workloads: where it must not be used, else how it does at worst.
    fn elsewhere(&self) -> Vec<String> {
        let Self { verdict, judgement, .. } = self;
        let Some(worst) = verdict.worst() else {
            return vec!["No other workload was tried.".to_owned()];
        };
        let place = |p: &Place<'_>| self.place(p);
        let tried = verdict.elsewhere.len();
        // Where another one was spoken of last, it is said whose figure it is.
        let under = if verdict.augmented.is_some() { " under the student" } else { "" };
        if judgement.barred.is_empty() {
            return vec![match tried {
                1 => format!("The one other workload tried{under} is {}.", place(worst)),
                _ => format!("The worst of {tried} other workloads{under} is {}.", place(worst)),
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

    /// `where one giant job shares the cluster: 1.3 ×`
    fn place(&self, p: &Place<'_>) -> String {
        let found = p.to_teacher.map_or_else(
            || "it strands the cluster".to_owned(),
            |e| match self.objective.compared {
                Compared::Ratio => self.short(&e),
                Compared::Difference => self.more_or_fewer(&e),
            },
        );
        format!("{}: {found}", self.run.workload(p.workload))
    }

    /// What is judged, as people call it.
    fn noun(&self) -> String {
        self.run.plain().figure(self.objective)
    }

    /// `at 1.02 × its mean completion time`; of a share, `with 0.2 points fewer jobs on time`.
    fn at(&self, e: &Estimate) -> String {
        match self.objective.compared {
            Compared::Ratio => format!("at {} its {}", self.short(e), self.noun()),
            Compared::Difference => format!("with {}", self.more_or_fewer(e)),
        }
    }

    /// `1.02 × its mean completion time`, `0.2 points fewer jobs on time`
    fn compared(&self, e: &Estimate) -> String {
        match self.objective.compared {
            Compared::Ratio => format!("{} its {}", self.short(e), self.noun()),
            Compared::Difference => self.more_or_fewer(e),
        }
    }

    fn more_or_fewer(&self, e: &Estimate) -> String {
        self.run.plain().more_or_fewer(self.objective, e)
    }

    fn short(&self, e: &Estimate) -> String {
        match self.objective.compared {
            // What is close to no difference is not rounded to none.
            Compared::Ratio if (e.value - 1.0).abs() < 0.005 => format!("{:.3}\u{a0}×", e.value),
            Compared::Ratio => format!("{:.2}\u{a0}×", e.value),
            Compared::Difference => goal::measured_value(self.objective, e, e.value),
        }
    }

    /// `its mean completion time is 1.240 × that of the teacher`, `it has 0.2 points fewer jobs on time than the teacher`
    fn its(&self, e: &Estimate, whose: &str) -> String {
        match self.objective.compared {
            Compared::Ratio => {
                format!("its {} is {}\u{a0}× {whose}", self.noun(), goal::measured_value(self.objective, e, e.value))
            }
            Compared::Difference => format!("it has {} than the teacher", self.more_or_fewer(e)),
        }
    }

    /// How it does beside the best heuristic, no stronger than the interval.
    fn beside(&self, e: &Estimate) -> String {
        let surely = self.objective.favours(e.low) && self.objective.favours(e.high);
        let gain = self
            .objective
            .gain(self.objective.cost(Some(e.value)) - self.objective.cost(Some(self.objective.neutral())));
        let amount = match self.objective.compared {
            Compared::Ratio if gain < 0.01 => format!("{:.1}\u{a0}% better", 100.0 * gain),
            Compared::Ratio => format!("{:.0}\u{a0}% better", 100.0 * gain),
            Compared::Difference => {
                let amount = goal::measured_value(self.objective, e, e.value);
                let side = if e.value > 0.0 { "more" } else { "fewer" };
                format!("{} {side}", amount.trim_start_matches(['+', '\u{2212}']))
            }
        };
        match surely {
            true => format!("{amount} than the best heuristic tried,"),
            false => "not clearly different from the best heuristic tried,".to_owned(),
        }
    }
}
