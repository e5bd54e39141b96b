//! What the owner of a history is told: which scheduler would have served her users better, by how much, and how far that is to be believed.

use super::{AS_RECORDED, ReplayError, Survey};
use sched_distill_judge::evaluator::{ClosedLoop, Estimate, Role};
use serde::{Deserialize, Serialize};

/// What was found of a history, in `advice.json` of a run directory.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Advice {
    /// SHA-256 of the student.
    pub student: String,
    /// The history as a workload.
    pub workload: String,
    /// What it is.
    pub survey: Survey,
    /// How far the simulator is from what was recorded; `None` if no schedule is recorded.
    pub replay: Option<ReplayError>,
    /// What the closing figures are of.
    pub period: Period,
    /// Schedulers on the windows of that period, which nothing was chosen on. The first is who scheduled before: the recorded order, or
    /// what stands in for it.
    pub closed_loop: ClosedLoop,
}

/// A part of a history.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Period {
    /// How long it is, ms.
    pub span_ms: f64,
    /// How many jobs it has.
    pub jobs: usize,
    /// Whether the history ends with it.
    pub is_last: bool,
}

/// Whether a difference is to be believed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Belief {
    /// Its interval lies on one side, and it is larger than what the simulator misses recorded times by.
    Shown,
    /// Its interval lies on one side, and nothing is known of what the simulator misses.
    InSimulation,
    /// It is smaller than what the simulator misses recorded times by.
    WithinError,
    /// Its interval leaves open who is better.
    Open,
}

impl Advice {
    /// The file in a run directory.
    pub const FILE: &'static str = "advice.json";

    /// Who scheduled before: [`AS_RECORDED`], or a heuristic that stands in for what is not recorded.
    #[must_use]
    pub fn before(&self) -> &str {
        self.closed_loop.policies.first().map_or(AS_RECORDED, |policy| &policy.policy)
    }

    /// The student against who scheduled before.
    #[must_use]
    pub fn of_student(&self) -> Option<Estimate> {
        self.against_before(&self.closed_loop.first(Role::Student)?.policy)
    }

    /// A scheduler against who scheduled before.
    #[must_use]
    pub fn against_before(&self, policy: &str) -> Option<Estimate> {
        self.closed_loop.paired(policy, self.before())
    }

    /// The heuristic that did best, other than who scheduled before.
    #[must_use]
    pub fn best_rule(&self) -> Option<(&str, Estimate)> {
        let objective = self.closed_loop.objective();
        let rules = self.closed_loop.policies.iter().skip(1).filter(|p| p.role == Role::Heuristic && p.stalled == 0);
        let of = rules.filter_map(|p| Some((p.policy.as_str(), self.against_before(&p.policy)?)));
        of.min_by(|(_, a), (_, b)| {
            let cost = |e: &Estimate| objective.cost(Some(e.value));
            cost(a).total_cmp(&cost(b))
        })
    }

    /// Whether a difference to who scheduled before is to be believed. Recorded times are times, so that the simulator's error speaks of
    /// figures that are compared as ratios.
    #[must_use]
    pub fn belief(&self, e: &Estimate) -> Belief {
        let objective = self.closed_loop.objective();
        let neutral = objective.neutral();
        if e.low <= neutral && neutral <= e.high {
            return Belief::Open;
        }
        match &self.replay {
            None => Belief::InSimulation,
            Some(replay) if (e.value - neutral).abs() <= replay.median => Belief::WithinError,
            Some(_) => Belief::Shown,
        }
    }
}
