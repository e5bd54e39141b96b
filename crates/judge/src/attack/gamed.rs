//! How users describe the jobs of an episode where many of them game the scheduler: what a training against them plays.

use super::{
    Asked, AttackError, Method,
    episode::{World, spread},
    search::{Target, rank},
};
use sched_distill_core::{
    policy::Policy,
    rng::{EpisodeId, Stream, hash},
    scenario::State,
    simulation::{EditBudget, Editable, Workload},
};
use std::{cell::RefCell, sync::atomic::AtomicBool};

/// How many users game a scheduler, and how.
#[derive(Clone, Debug)]
pub struct Gaming {
    /// Share of the jobs that are edited, if an edit promises a gain.
    pub share: f64,
    /// What each of them may edit.
    pub budget: EditBudget,
    /// Questions at which each of them asks, spread over the time that its job is there.
    pub questions: u32,
}

/// Plays an episode, draws jobs, and finds for each the edit that promises most by one step along the gradient, if any promises a gain.
///
/// # Errors
///
/// A policy that names no probabilities leaves all jobs as they are; one that cannot answer or answers something illegal fails.
pub fn gamed<S: Editable>(
    workload: &Workload<S>,
    victim: &dyn Policy<S>,
    gaming: &Gaming,
    id: EpisodeId,
    stop: &AtomicBool,
) -> Result<Vec<Option<S::Edit>>, AttackError> {
    let jobs = workload.jobs(id);
    let mut stream = Stream::new(hash(&[id.seed]), "gamed");
    let drawn: Vec<u32> = (0..jobs.len() as u32).filter(|_| stream.uniform() < gaming.share).collect();
    let world = World { workload, victim: RefCell::new(victim.fresh()), id, stop, jobs };
    let mut chances = vec![Vec::new(); drawn.len()];
    let mut decisions = Vec::new();
    let start = S::start(workload, world.jobs.clone(), id.seed);
    world.run(start.clone(), None, &mut |seen, decision| {
        for (job, chances) in drawn.iter().zip(&mut chances) {
            if S::is_candidate(seen, *job) {
                chances.push(decisions.len());
            }
        }
        decisions.push(decision);
    })?;
    let picked: Vec<Vec<usize>> = chances.iter().map(|all| spread(all, gaming.questions as usize)).collect();
    let mut states: Vec<Vec<S::State>> = vec![Vec::new(); drawn.len()];
    world.replay(&mut (start, 0), &decisions, decisions.len(), &mut |question, seen| {
        for (picked, states) in picked.iter().zip(&mut states) {
            if picked.binary_search(&question).is_ok() {
                states.push(S::State::of(seen));
            }
        }
    })?;
    let mut asked = Asked::Policy(victim.fresh());
    let mut edits = vec![None; world.jobs.len()];
    for (&job, states) in drawn.iter().zip(&states) {
        let target = Target { jobs: &world.jobs, job, states, made: &[] };
        let ranked = rank::<S>(Method::Gradient, &target, &gaming.budget, &mut asked, &mut stream, &mut 0);
        let best = ranked.map_err(|e| world.fail(0, e.into()))?.into_iter().next();
        edits[job as usize] = best.filter(|best| best.gain > 0.0).map(|best| best.edit);
    }
    Ok(edits)
}
