//! How long policies take to decide, asked the same questions one after the other.

use super::{
    Caller, CompareParams, Entry, PipelineError,
    compare::{Ready, ready},
};
use sched_distill_core::{
    rng::EpisodeId,
    scenario::Said,
    simulation::{Simulated, Simulation},
};
use sched_distill_judge::evaluator::{EpisodeCount, Role};
use sched_distill_trace::recorder::{EpisodeCause, EpisodeError, RolloutError};
use serde::{Deserialize, Serialize};
use std::time::Instant;

/// Decisions that are timed at most, and episodes that they are looked for in.
const DECISIONS: usize = 2000;
const EPISODES: u32 = 8;

/// How long policies took to decide (`latency.json`). Unlike all other files of a run these are clock times: they differ from run
/// to run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Latency {
    /// The student's hash.
    pub student: String,
    /// Workload as named by the user.
    pub workload: String,
    /// Questions that all were asked.
    pub decisions: usize,
    /// Policy by policy.
    pub policies: Vec<DecisionTime>,
}

/// How long one policy took.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DecisionTime {
    /// Policy as named by the user.
    pub policy: String,
    /// What it takes part as.
    pub role: Role,
    /// Median over the questions, µs.
    pub median_us: f64,
}

impl Latency {
    /// The median of the first policy of a role, µs.
    #[must_use]
    pub fn of(&self, role: Role) -> Option<f64> {
        self.policies.iter().find(|p| p.role == role).map(|p| p.median_us)
    }
}

/// Asks all contenders what the first one is asked on its way through test episodes of the first workload.
///
/// # Errors
///
/// A policy or workload that cannot be opened, a policy that fails.
pub(super) fn decision_times<S: Simulated>(
    scenario: &Entry<S>,
    params: &CompareParams<'_>,
    caller: Caller<'_>,
) -> Result<(usize, Vec<DecisionTime>), PipelineError> {
    let Some(workload) = params.workloads.first() else { return Ok((0, Vec::new())) };
    let workload = scenario.workload(workload)?;
    let mut contenders = ready(scenario, &params.contenders)?;
    // What only repeats what was recorded takes no time to decide.
    contenders.retain(|contender| contender.policy.is_some());
    let mut policies: Vec<_> = contenders.iter().filter_map(|c| Some(c.policy.as_ref()?.fresh())).collect();
    let mut times_us: Vec<Vec<f64>> = vec![Vec::new(); policies.len()];
    let mut p = Said::default();
    let episodes = match params.episodes {
        EpisodeCount::Exactly(count) => count.min(EPISODES),
        EpisodeCount::UntilClear(_) => EPISODES,
    };
    for episode in 0..episodes {
        let id = EpisodeId::new(params.seed, params.split, episode);
        let (mut sim, seed) = (S::start(&workload, workload.jobs(id), id.seed), id.seed);
        policies.iter_mut().for_each(|policy| policy.reset(seed));
        while let Some(seen) = sim.view().filter(|_| times_us.first().is_some_and(|t| t.len() < DECISIONS)) {
            caller.check()?;
            let mut taken = None;
            for ((policy, times), contender) in policies.iter_mut().zip(&mut times_us).zip(&contenders) {
                p.clear();
                let start = Instant::now();
                let decision = policy.decide(&seen, &mut p);
                times.push(start.elapsed().as_secs_f64() * 1e6);
                let step = times.len() as u64 - 1;
                let failed = |cause| EpisodeError { episode, seed, step, source: Box::new(cause) };
                let failed = |cause| RolloutError::Episode { policy: contender.id.clone(), source: failed(cause) };
                let decision = decision.map_err(|e| failed(e.into()))?;
                if taken.is_none() {
                    sim.check(decision).map_err(|e| failed(EpisodeCause::illegal(e)))?;
                    taken = Some(decision);
                }
            }
            // What was checked can be carried out.
            let Some(Ok(())) = taken.map(|decision| sim.step(decision)) else { break };
        }
    }
    let decisions = times_us.first().map_or(0, Vec::len);
    let of = |(contender, mut times): (&Ready<S>, Vec<f64>)| {
        times.sort_by(f64::total_cmp);
        let median_us = times.get(times.len() / 2).copied().unwrap_or_default();
        DecisionTime { policy: contender.id.clone(), role: contender.role, median_us }
    };
    Ok((decisions, contenders.iter().zip(times_us).map(of).collect()))
}
