//! What an evaluation comes to: may the student take the scheduler's place, how does it stand to the best rule that is known, and
//! where does it do worst?

use super::{BySize, ClosedLoop, Estimate, Evaluation, PairedTail, PolicyOutcome, Role, closed_loop::paired_held};
use sched_distill_core::{figure::Figure, level::ALL_KINDS};

/// What a closed loop says of a student.
#[derive(Clone, Debug, PartialEq)]
pub struct Verdict<'a> {
    /// The scheduler that it is to replace.
    pub teacher: &'a str,
    /// The student.
    pub student: Standing<'a>,
    /// The augmented student, where one took part.
    pub augmented: Option<Standing<'a>>,
    /// The student without its edits, where that took part.
    pub fitted: Option<Standing<'a>>,
    /// The heuristic that does best on the usual workload, against the teacher; `None` if none took part or all stalled.
    pub heuristic: Option<Standing<'a>>,
    /// The heuristic that the teacher is, to all that was measured: it makes its choices and does as well. It is the best one.
    pub is_rule: Option<KnownRule<'a>>,
    /// Other workloads, the one on which the student does worst against the teacher first. Where the teacher alone stalls, the
    /// student is no worse, and where no job arrived neither is: such a workload is left out.
    pub elsewhere: Vec<Place<'a>>,
    /// Whether the teacher finished all episodes of the usual workload.
    pub teacher_finishes: bool,
    /// How many episodes of the usual workload there were.
    pub episodes: usize,
}

/// A heuristic that a teacher is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct KnownRule<'a> {
    /// The heuristic.
    pub policy: &'a str,
    /// At the level where known rules make the teacher's choices least often, the share of choices in which the closest one does.
    pub agreement: f64,
}

/// Share of the choices of every level that known rules must make as the teacher does for it to be one.
const SAME_CHOICES: f64 = 0.99;
/// How far a heuristic's figure may be from the teacher's, both ends of the interval, for them to be the same.
const SAME_FIGURE: f64 = 0.01;

/// How a policy does on the usual workload.
#[derive(Clone, Debug, PartialEq)]
pub struct Standing<'a> {
    /// The policy, as the user named it.
    pub policy: &'a str,
    /// Episodes that it did not finish.
    pub stalled: usize,
    /// Its objective against the teacher's, as the scenario compares it; `None` if either stalled.
    pub to_teacher: Option<Estimate>,
    /// The same against the best heuristic's.
    pub to_heuristic: Option<Estimate>,
    /// Those who wait longest, against the teacher's; `None` if that is not known.
    pub tail: Option<&'a PairedTail>,
    /// Jobs by their size, against the teacher's; `None` if that is not known.
    pub by_size: Option<&'a BySize>,
}

/// How the student does on another workload.
#[derive(Clone, Debug, PartialEq)]
pub struct Place<'a> {
    /// The workload.
    pub workload: &'a str,
    /// The student's objective against the teacher's; `None` if the student stalled, or the teacher did.
    pub to_teacher: Option<Estimate>,
}

impl Evaluation {
    /// What the closed loops come to; `None` if none was run with a teacher and a student, or no job arrived.
    #[must_use]
    pub fn verdict<'a>(&'a self) -> Option<Verdict<'a>> {
        let closed_loop = self.closed_loop.as_ref().filter(|found| !found.no_job_arrived())?;
        let (teacher, student) = (closed_loop.first(Role::Teacher)?, closed_loop.first(Role::Student)?);
        let objective = closed_loop.objective();
        let cost = |e: Option<Estimate>| objective.cost(e.map(|e| e.value));
        let best = closed_loop.best_heuristic(&teacher.policy);
        let standing = |policy: &'a PolicyOutcome| Standing {
            policy: &policy.policy,
            stalled: policy.stalled,
            to_teacher: closed_loop.objective_of(&policy.policy, &teacher.policy),
            to_heuristic: best.and_then(|best| closed_loop.objective_of(&policy.policy, &best.policy)),
            tail: closed_loop.tail_of(&policy.policy, &teacher.policy),
            by_size: closed_loop.by_size_of(&policy.policy, &teacher.policy),
        };
        let same = |e: Estimate| is_same(&e, objective);
        let as_good = best.filter(|best| closed_loop.objective_of(&best.policy, &teacher.policy).is_some_and(same));
        let is_rule = as_good.zip(self.closest_rules()).filter(|(_, agreement)| *agreement >= SAME_CHOICES);
        let is_rule = is_rule.map(|(best, agreement)| KnownRule { policy: &best.policy, agreement });
        let mut elsewhere: Vec<Place<'a>> = self
            .other_workloads
            .iter()
            .filter_map(|other| {
                let (teacher, student) = (other.first(Role::Teacher)?, other.first(Role::Student)?);
                // Where the teacher itself strands the cluster, the student is no worse.
                let counts = (student.stalled > 0 || teacher.stalled == 0) && !other.no_job_arrived();
                let to_teacher = other.objective_of(&student.policy, &teacher.policy);
                counts.then_some(Place { workload: &other.workload, to_teacher })
            })
            .collect();
        elsewhere.sort_by(|a, b| cost(b.to_teacher).total_cmp(&cost(a.to_teacher)));
        Some(Verdict {
            teacher: &teacher.policy,
            student: standing(student),
            augmented: closed_loop.first(Role::Augmented).map(standing),
            fitted: closed_loop.first(Role::Fitted).map(standing),
            heuristic: best.map(standing).filter(|best| best.to_teacher.is_some()),
            is_rule,
            elsewhere,
            teacher_finishes: teacher.stalled == 0,
            episodes: closed_loop.episodes,
        })
    }
}

impl Evaluation {
    /// The share of the choices of a level, of all kinds, in which the closest known rule makes the teacher's, at the level where that is
    /// least; `None` without such figures, or with a level that has no rule.
    fn closest_rules(&self) -> Option<f64> {
        let mut levels: Vec<&str> = self.fidelity.iter().map(|row| row.level.as_str()).collect();
        levels.dedup();
        let of_level = |level: &&str| {
            let rows = self.fidelity.iter().filter(|row| row.level == **level && row.role == Role::Heuristic);
            rows.filter(|row| row.kind == ALL_KINDS).map(|row| row.top1.value).reduce(f64::max)
        };
        let closest: Option<Vec<f64>> = levels.iter().map(of_level).collect();
        closest?.into_iter().reduce(f64::min)
    }
}

impl<'a> Verdict<'a> {
    /// The other workload on which the student does worst; `None` if there was no other one.
    #[must_use]
    pub fn worst(&self) -> Option<&Place<'a>> {
        self.elsewhere.first()
    }
}

/// Whether two policies are the same but for a little.
pub(super) fn is_same(e: &Estimate, objective: &Figure) -> bool {
    let neutral = objective.neutral();
    (e.low - neutral).abs() <= SAME_FIGURE && (e.high - neutral).abs() <= SAME_FIGURE
}

impl ClosedLoop {
    /// The heuristic that does best against the teacher; one that stalled is behind all others.
    #[must_use]
    pub fn best_heuristic(&self, teacher: &str) -> Option<&PolicyOutcome> {
        let objective = self.objective();
        let cost = |p: &PolicyOutcome| objective.cost(self.objective_of(&p.policy, teacher).map(|e| e.value));
        self.policies.iter().filter(|p| p.role == Role::Heuristic).min_by(|a, b| cost(a).total_cmp(&cost(b)))
    }

    /// The objective of any policy that took part against that of any other one, episode by episode; `None` if one of them
    /// stalled or did not take part. Where the two were compared, it is that comparison.
    #[must_use]
    pub fn objective_of(&self, policy: &str, baseline: &str) -> Option<Estimate> {
        if self.compared(policy, baseline).is_some() {
            return self.paired(policy, baseline);
        }
        let episodes = |name: &str| {
            let found = self.policies.iter().find(|p| p.policy == name)?;
            Some(&found.episode_objective)
        };
        let counted = |of: &'_ [Option<f64>]| of.len().min(if self.identical_episodes { 1 } else { usize::MAX });
        let (of, base) = (episodes(policy)?, episodes(baseline)?);
        let (of, base) = (self.told(&of[..counted(of)]), self.told(&base[..counted(base)]));
        paired_held(self.objective().compared, [&of, &base], (self.looks.as_ref(), 0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evaluator::{Runs, compare};
    use sched_distill_core::figure::{COMPLETION_FIGURES, Stall};
    use sched_distill_trace::EpisodeFigures;

    /// Episodes with these mean completion times; 0 for one that stalled.
    fn closed_loop(workload: &str, policies: &[(&str, Role, [f64; 3])]) -> ClosedLoop {
        let run = |&jct: &f64| EpisodeFigures {
            figures: COMPLETION_FIGURES.iter().map(|_| (jct > 0.0).then_some(jct)).collect(),
            stall: (jct == 0.0).then_some(Stall::Stranded),
            empty: false,
            rejected: 0,
            longest_idle_ms: None,
            completion_times_ms: Vec::new(),
            sizes: Vec::new(),
        };
        let policies: Vec<(String, Role, Vec<EpisodeFigures>)> = policies
            .iter()
            .map(|(name, role, jct)| ((*name).to_owned(), *role, jct.iter().map(run).collect()))
            .collect();
        compare(
            Runs { workload, split: "test", figures: COMPLETION_FIGURES, size: None, looks: None, policies: &policies },
            &["net".to_owned()],
            0,
        )
    }

    #[test]
    fn the_best_heuristic_and_the_worst_workload_are_named() {
        let of = |student: [f64; 3]| {
            [
                ("net", Role::Teacher, [10.0, 20.0, 30.0]),
                ("tree", Role::Student, student),
                ("fair", Role::Heuristic, [20.0, 40.0, 60.0]),
                ("sjf", Role::Heuristic, [11.0, 22.0, 33.0]),
                ("more", Role::Augmented, [9.0, 18.0, 27.0]),
            ]
        };
        let evaluation = Evaluation {
            closed_loop: Some(closed_loop("usual", &of([10.1, 20.2, 30.3]))),
            other_workloads: vec![
                closed_loop("wide", &of([12.0, 24.0, 36.0])),
                closed_loop("giant", &of([18.0, 36.0, 54.0])),
                closed_loop("burst", &of([10.0, 20.0, 30.0])),
            ],
            ..Evaluation::default()
        };
        let verdict = evaluation.verdict().unwrap();
        let value = |e: Option<Estimate>| (1000.0 * e.unwrap().value).round() / 1000.0;
        assert_eq!((verdict.teacher, verdict.student.policy), ("net", "tree"));
        assert_eq!(value(verdict.student.to_teacher), 1.01);
        assert_eq!(value(verdict.student.to_heuristic), 0.918);
        assert_eq!(value(verdict.augmented.as_ref().unwrap().to_teacher), 0.9);
        assert_eq!(verdict.heuristic.as_ref().unwrap().policy, "sjf");
        let worst = verdict.worst().unwrap();
        assert_eq!((worst.workload, value(worst.to_teacher)), ("giant", 1.8));
    }

    #[test]
    fn a_student_that_stalls_is_worst_and_a_teacher_that_stalls_alone_is_no_fault_of_it() {
        let of = |teacher, student| [("net", Role::Teacher, teacher), ("tree", Role::Student, student)];
        let fine = [1.0, 2.0, 3.0];
        let with = |other_workloads| Evaluation {
            closed_loop: Some(closed_loop("usual", &of(fine, fine))),
            other_workloads,
            ..Evaluation::default()
        };
        let evaluation =
            with(vec![closed_loop("a", &of(fine, [1.0, 0.0, 3.0])), closed_loop("b", &of(fine, [9.0, 9.0, 9.0]))]);
        let worst = evaluation.verdict().unwrap().worst().cloned().unwrap();
        assert_eq!((worst.workload, worst.to_teacher), ("a", None));
        let evaluation = with(vec![closed_loop("a", &of([1.0, 0.0, 3.0], fine))]);
        assert_eq!(evaluation.verdict().unwrap().worst(), None);
        assert_eq!(Evaluation::default().verdict(), None);
        // Where no job arrived there is neither a student that fails nor one that is judged.
        let idle = ClosedLoop { empty_episodes: vec![0, 1, 2], ..closed_loop("a", &of(fine, [9.0, 9.0, 9.0])) };
        assert_eq!(with(vec![idle.clone()]).verdict().unwrap().worst(), None);
        assert_eq!(Evaluation { closed_loop: Some(idle), ..Evaluation::default() }.verdict(), None);
    }
}
