//! The order in which a history's jobs were scheduled where they were recorded, as a scheduler among others.

use sched_distill_core::{
    policy::{Policy, PolicyError},
    rng::{EpisodeId, Split},
    scenario::{Said, Scenario},
    simulation::{Simulated, Workload},
};
use std::{collections::HashMap, sync::Arc};

/// Schedules each episode in the order that is recorded of its jobs.
pub(super) struct AsRecorded<S: Simulated> {
    workload: Arc<Workload<S>>,
    /// Episodes by their seeds, which is what a policy is told of them.
    ids: Arc<HashMap<u64, EpisodeId>>,
    now: Option<Box<dyn Policy<S>>>,
}

impl<S: Simulated> AsRecorded<S> {
    /// For so many episodes of a split.
    pub(super) fn new(workload: &Workload<S>, (seed, split): (u64, Split), episodes: u32) -> Self {
        let ids = (0..episodes).map(|episode| EpisodeId::new(seed, split, episode)).map(|id| (id.seed, id)).collect();
        Self { workload: Arc::new(workload.clone()), ids: Arc::new(ids), now: None }
    }
}

impl<S: Simulated> Policy<S> for AsRecorded<S> {
    fn fresh(&self) -> Box<dyn Policy<S>> {
        Box::new(Self { workload: Arc::clone(&self.workload), ids: Arc::clone(&self.ids), now: None })
    }

    fn reset(&mut self, episode_seed: u64) {
        let id = self.ids.get(&episode_seed);
        self.now = id.and_then(|&id| S::replay(&self.workload.jobs(id))).map(|replay| replay.policy);
    }

    fn decide(&mut self, seen: &S::View<'_>, said: &mut Said) -> Result<<S as Scenario>::Decision, PolicyError> {
        match &mut self.now {
            Some(policy) => policy.decide(seen, said),
            None => Err(PolicyError::Other("of this episode no schedule is recorded".into())),
        }
    }
}
