//! The figures of an evaluation as plain data (`evaluation.json`).

use super::{BySize, Departures, Disagreement, Looks, PairedTail};
use sched_distill_core::{figure::Figure, level::ALL_KINDS};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt::{self, Display, Formatter};

/// A figure with its 95 % interval, resampled by episode.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Estimate {
    /// The figure over all episodes.
    pub value: f64,
    /// Lower end of the 95 % interval.
    pub low: f64,
    /// Upper end of the 95 % interval.
    pub high: f64,
}

impl Estimate {
    /// Whether the interval has no width, up to rounding: all episodes say the same, or there is one alone. Such an
    /// interval tells nothing of other episodes and is not shown.
    #[must_use]
    pub fn is_exact(&self) -> bool {
        self.high - self.low <= 1e-12 * self.value.abs()
    }
}

/// What a scorer or a policy is in a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Who is to be explained.
    Teacher,
    /// Who does its work.
    Student,
    /// The student with guards, patches and numbers that a search found.
    Augmented,
    /// The student as it was fitted, beside one whose edits a search found.
    Fitted,
    /// Another model of a student's file, which does not schedule.
    Surrogate,
    /// A rule with a name.
    Heuristic,
    /// A rule on one feature, or chance.
    Baseline,
}

impl Role {
    /// In a word, as files have it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Teacher => "teacher",
            Self::Student => "student",
            Self::Augmented => "augmented",
            Self::Fitted => "fitted",
            Self::Surrogate => "surrogate",
            Self::Heuristic => "heuristic",
            Self::Baseline => "baseline",
        }
    }
}

impl Display for Role {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The kind of choice in which the scheduler really chooses: simple rules do worst there; where they do equally well, the
/// student does worst, and of kinds that are equal in that, too, it is the one with the most choices. `rows` are of one level; `known` is what some other simple rule comes to on a kind, 0 if there is none.
#[must_use]
pub fn hardest_kind<'a>(
    kinds: impl Iterator<Item = &'a str>,
    rows: &[&FidelityRow],
    known: impl Fn(&str) -> f64,
) -> Option<&'a str> {
    let agreement = |kind: &str, wanted: &dyn Fn(Role) -> bool| {
        rows.iter().filter(|r| r.kind == kind && wanted(r.role)).map(|r| r.top1.value).fold(0.0, f64::max)
    };
    let figures = |kind: &&str| {
        let simple = agreement(kind, &|role| matches!(role, Role::Baseline | Role::Heuristic));
        [simple.max(known(kind)), agreement(kind, &|role| role == Role::Student)]
    };
    let choices = |kind: &str| rows.iter().filter(|r| r.kind == kind).map(|r| r.choices).max();
    kinds.min_by(|a, b| {
        let ([rule, student], [other_rule, other_student]) = (figures(a), figures(b));
        rule.total_cmp(&other_rule).then(student.total_cmp(&other_student)).then(choices(b).cmp(&choices(a)))
    })
}

/// The choices of all levels in which the scheduler really chooses, known rules do worst there: the student's figures, and those
/// of the best known rule, if one was measured.
#[must_use]
pub fn hardest_choices(rows: &[FidelityRow]) -> Option<(&FidelityRow, Option<&FidelityRow>)> {
    let alone = |student: &FidelityRow| !rows.iter().any(|r| r.level == student.level && r.kind != ALL_KINDS);
    let students = rows.iter().filter(|r| r.role == Role::Student && r.choices > 0);
    let best_rule = |student: &FidelityRow| {
        let same = |r: &&FidelityRow| (&r.level, &r.kind) == (&student.level, &student.kind);
        let known = rows.iter().filter(|r| matches!(r.role, Role::Baseline | Role::Heuristic)).filter(same);
        // The first of equals.
        known.rev().max_by(|a, b| a.top1.value.total_cmp(&b.top1.value))
    };
    let found = students.filter(|r| r.kind != ALL_KINDS || alone(r)).map(|r| (r, best_rule(r)));
    let known = |rule: Option<&FidelityRow>| rule.map_or(0.0, |r| r.top1.value);
    found.min_by(|a, b| {
        let student = a.0.top1.value.total_cmp(&b.0.top1.value);
        known(a.1).total_cmp(&known(b.1)).then(student).then(b.0.choices.cmp(&a.0.choices))
    })
}

/// How well one scorer reproduces the teacher on the choices of one level and kind.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FidelityRow {
    /// Level, e.g. `job`.
    pub level: String,
    /// Kind, e.g. `free`, or `all`.
    pub kind: String,
    /// What was scored: `tree`, `linear`, `shortest-job`, `random`, or a single-feature rule such as `smallest remaining_work`.
    pub scorer: String,
    /// Role of the scorer: student, surrogate, heuristic (a named rule) or baseline (random, one feature).
    pub role: Role,
    /// Choices with at least two candidates that were counted.
    pub choices: usize,
    /// Episodes they come from.
    pub episodes: usize,
    /// Weighted share of choices in which the teacher's target is the scorer's first choice.
    pub top1: Estimate,
    /// The same among its first two.
    pub top2: Estimate,
    /// The same among its first three.
    pub top3: Estimate,
    /// Teacher's best probability minus its probability of the scorer's choice; `None` for deterministic teachers.
    pub regret: Option<Estimate>,
    /// Cross-entropy to the teacher in nats, with the model's fitted temperature; `None` where not defined.
    pub cross_entropy: Option<Estimate>,
    /// Kendall's tau-b between the scores and the teacher's log-probabilities; `None` for deterministic teachers.
    pub kendall: Option<Estimate>,
    /// Share of choices in which the scorer's choice was the one executed; `None` where nothing was executed.
    pub executed: Option<Estimate>,
    /// Mean absolute difference between the amounts that the scorer chooses and those executed; `None` where nothing was
    /// executed, and at levels that ask for no amount.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub amount_error: Option<Estimate>,
}

/// What a kind of choice of one level is worth: the student schedules with these choices left to chance.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stake {
    /// Level, e.g. `job`.
    pub level: String,
    /// Kind, e.g. `free`.
    pub kind: String,
    /// Episodes, the first of the closed loop.
    pub episodes: usize,
    /// The objective against that of the student as it is; `None` if it stalls so.
    pub objective: Option<Estimate>,
}

/// How far a scorer is ahead of a single-feature rule on the same choices; positive figures are in its favour.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lead {
    /// Level, e.g. `job`.
    pub level: String,
    /// Kind, e.g. `free`, or `all`.
    pub kind: String,
    /// Choices with fewer candidates are left out.
    pub candidates: usize,
    /// The rule, e.g. `smallest remaining_work`.
    pub over: String,
    /// Choices that were counted.
    pub choices: usize,
    /// Difference of the top-1 shares.
    pub top1: Estimate,
    /// Difference of the top-3 shares.
    pub top3: Estimate,
    /// The rule's regret minus the scorer's; `None` for deterministic teachers.
    pub regret: Option<Estimate>,
}

/// Estimates by the name of the figure; `None` where there is none.
pub type Estimates = BTreeMap<String, Option<Estimate>>;

/// How one policy did on the episodes of a closed-loop comparison.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PolicyOutcome {
    /// Policy as named by the user.
    pub policy: String,
    /// Teacher, student or heuristic.
    pub role: Role,
    /// Means of every figure of the scenario, over the episodes that did not stall and have one: without a job there is none that is of
    /// jobs. `None` if no episode has one.
    pub figures: Estimates,
    /// Episodes that ended with unfinished jobs.
    pub stalled: usize,
    /// The same by their reason ([`Stall::name`](sched_distill_core::figure::Stall::name)); empty in files of before.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub stalls: BTreeMap<String, usize>,
    /// Episodes in which no job arrived.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub empty: usize,
    /// Jobs that were turned away, over all episodes.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub rejected: usize,
    /// The longest time in which more than half of the cluster idled although work waited that could start on it, of the episodes that
    /// did not stall; `None` where that is not measured, and in files of before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub longest_idle: Option<IdleSpell>,
    /// The objective per episode; `None` where stalled, and where no job arrived. Same episode order for every policy.
    pub episode_objective: Vec<Option<f64>>,
    /// Quantiles 0, 1/100, ..., 1 of the completion times of all completed jobs of all episodes together, from their arrivals on,
    /// ms, interpolated between neighbours. Empty if none was completed or they were not kept.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub completion_quantiles_ms: Vec<f64>,
}

/// A time in which more than half of a cluster idled although work waited that could start on it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct IdleSpell {
    /// How long it was, ms.
    pub ms: f64,
    /// Number of its episode.
    pub episode: usize,
}

fn is_zero(count: &usize) -> bool {
    *count == 0
}

impl PolicyOutcome {
    /// The mean of a figure.
    #[must_use]
    pub fn figure(&self, name: &str) -> Option<&Estimate> {
        self.figures.get(name)?.as_ref()
    }
}

/// Paired comparison of one policy with another on the same episodes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PairedFigures {
    /// The policy.
    pub policy: String,
    /// What it is compared with.
    pub baseline: String,
    /// By figure, as the scenario has it compared: the geometric mean over episodes of policy / baseline, or the mean of policy −
    /// baseline. `None` if either stalled in any episode (a stall is never dropped).
    pub figures: Estimates,
    /// Those who wait longest; `None` if either stalled or completed no job in an episode, and in files of before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tail: Option<PairedTail>,
    /// Completion times by the size of jobs, against the first policy; `None` as above, and where the scenario knows no sizes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by_size: Option<BySize>,
}

impl PairedFigures {
    /// How a figure compares.
    #[must_use]
    pub fn figure(&self, name: &str) -> Option<&Estimate> {
        self.figures.get(name)?.as_ref()
    }
}

/// A closed-loop comparison on the same arrivals and the same luck.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(from = "super::old_report::AnyClosedLoop")]
pub struct ClosedLoop {
    /// Workload as named by the user.
    pub workload: String,
    /// Split of the episodes' seeds.
    pub split: String,
    /// Number of paired episodes.
    pub episodes: usize,
    /// After how many episodes it was looked whether all is clear, for intervals that hold at all looks; `None` where the number was given:
    /// intervals are 95 % each.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub looks: Option<Looks>,
    /// Whether all episodes are one: every policy had the same figures in each of them. Intervals then have no width.
    #[serde(default, skip_serializing_if = "is_false")]
    pub identical_episodes: bool,
    /// Episodes in which no job arrived, numbered from 0.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub empty_episodes: Vec<usize>,
    /// What the scenario measures; the first is the objective.
    pub figures: Vec<Figure>,
    /// One entry per policy, teacher first.
    pub policies: Vec<PolicyOutcome>,
    /// Comparisons with the teacher and with the scenario's first baseline.
    pub comparisons: Vec<PairedFigures>,
    /// What no scheduler can be better than, where the scenario knows it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub floor: Option<Floor>,
}

fn is_false(value: &bool) -> bool {
    !value
}

impl ClosedLoop {
    /// The objective: what schedulers are judged by.
    ///
    /// # Panics
    ///
    /// If there are no figures; every scenario has one.
    #[must_use]
    pub fn objective(&self) -> &Figure {
        self.figures.first().expect("every scenario has an objective")
    }

    /// The first policy of a role.
    #[must_use]
    pub fn first(&self, role: Role) -> Option<&PolicyOutcome> {
        self.policies.iter().find(|policy| policy.role == role)
    }

    /// A policy against another one.
    #[must_use]
    pub fn compared(&self, policy: &str, baseline: &str) -> Option<&PairedFigures> {
        self.comparisons.iter().find(|pair| pair.policy == policy && pair.baseline == baseline)
    }

    /// The objective of a policy against that of another one; `None` if they were not compared, or one of them stalled.
    #[must_use]
    pub fn paired(&self, policy: &str, baseline: &str) -> Option<Estimate> {
        self.compared(policy, baseline)?.figure(&self.objective().name).copied()
    }

    /// The tail of a policy against that of another one; `None` if they were not compared, or it is not known.
    #[must_use]
    pub fn tail_of(&self, policy: &str, baseline: &str) -> Option<&PairedTail> {
        self.compared(policy, baseline)?.tail.as_ref()
    }

    /// Completion times of a policy by the size of jobs, against those under another one; `None` as above.
    #[must_use]
    pub fn by_size_of(&self, policy: &str, baseline: &str) -> Option<&BySize> {
        self.compared(policy, baseline)?.by_size.as_ref()
    }

    /// The first student against another policy.
    #[must_use]
    pub fn student_to(&self, baseline: &str) -> Option<&PairedFigures> {
        self.compared(&self.first(Role::Student)?.policy, baseline)
    }
}

/// The objective if every job had the cluster to itself, at its best, from its arrival on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Floor {
    /// Mean over episodes.
    pub objective: Estimate,
    /// Against the first policy, as the objective is compared; `None` if that policy stalled.
    pub compared: Option<Estimate>,
}

/// Everything that `distill evaluate` measures.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Evaluation {
    /// SHA-256 of the student; empty where it was not noted.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub student: String,
    /// Fidelity by level, kind and scorer; empty if no trace was evaluated.
    pub fidelity: Vec<FidelityRow>,
    /// How far the student is ahead of the best single-feature rules; empty if none were chosen.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub leads: Vec<Lead>,
    /// Where whole decisions depart from the teacher's; `None` if no trace was evaluated.
    #[serde(default, alias = "budget", skip_serializing_if = "Option::is_none")]
    pub departures: Option<Departures>,
    /// Regions of choices by how far the student departs from the teacher, one entry per level; empty if not asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub disagreement: Vec<Disagreement>,
    /// What each kind of choice is worth in the closed loop; empty if not measured.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stakes: Vec<Stake>,
    /// Closed loop; `None` if not run.
    pub closed_loop: Option<ClosedLoop>,
    /// Closed loops on further workloads.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub other_workloads: Vec<ClosedLoop>,
}

/// A stretch of one episode's schedule under one policy, for pictures.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Schedule {
    /// Policy as named by the user.
    pub policy: String,
    /// Teacher, student or heuristic.
    pub role: Role,
    /// Episode number within its split.
    pub episode: u32,
    /// Number of lanes.
    pub lanes: u32,
    /// What a lane is, e.g. `executor`.
    #[serde(default = "lane")]
    pub lane: String,
    /// What a part of an item is where it has a number only.
    #[serde(default = "stage")]
    pub part: String,
    /// Names of an item's parts by number, e.g. `worker` and `server`; empty where they have numbers only.
    #[serde(default)]
    pub parts: Vec<String>,
    /// Uninterrupted stretches of work.
    pub runs: Vec<ScheduleRun>,
    /// Arrival and completion of every item (job), ms, by item number; completion `None` if unfinished.
    pub items: Vec<(f64, Option<f64>)>,
}

/// What parts with numbers only were when files did not say it.
fn stage() -> String {
    "stage".to_owned()
}

fn lane() -> String {
    "lane".to_owned()
}

/// Work on one part of one item in one lane without a break.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScheduleRun {
    /// Lane.
    pub lane: u32,
    /// Item (job).
    pub item: u32,
    /// Part of the item.
    pub part: u32,
    /// Start, ms.
    pub start_ms: f64,
    /// End, ms.
    pub end_ms: f64,
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn row(kind: &str, role: &str, choices: usize, top1: f64) -> FidelityRow {
        let share = json!({"value": top1, "low": top1, "high": top1});
        serde_json::from_value(json!({
            "level": "application", "kind": kind, "scorer": role, "role": role, "choices": choices, "episodes": 5,
            "top1": share, "top2": share, "top3": share,
            "regret": null, "cross_entropy": null, "kendall": null, "executed": null
        }))
        .unwrap()
    }

    /// A rule that is right about the few is no reason to talk of the few.
    #[test]
    fn of_kinds_that_are_equally_hard_the_frequent_one_is_told_of() {
        let of = |kind: &str, choices: usize, rule: f64, student: f64| {
            [row(kind, "heuristic", choices, rule), row(kind, "student", choices, student)]
        };
        let hardest = |kinds: [[FidelityRow; 2]; 2]| {
            let names = ["one", "several"];
            let rows: Vec<FidelityRow> = kinds.into_iter().flatten().collect();
            let all: Vec<&FidelityRow> = rows.iter().collect();
            let kind = hardest_kind(names.into_iter(), &all, |_| 0.0).unwrap();
            assert_eq!(hardest_choices(&rows).unwrap().0.kind, kind);
            kind.to_owned()
        };
        assert_eq!(hardest([of("one", 10, 1.0, 1.0), of("several", 900, 1.0, 1.0)]), "several");
        assert_eq!(hardest([of("one", 10, 1.0, 0.9), of("several", 900, 1.0, 1.0)]), "one");
        assert_eq!(hardest([of("one", 900, 1.0, 1.0), of("several", 10, 0.9, 1.0)]), "several");
    }
}
