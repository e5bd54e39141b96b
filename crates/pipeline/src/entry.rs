//! A scenario as it is registered: with its policies by name.

use super::{Attack, Caller, PipelineError};
use sched_distill_core::{
    policy::{OpenPolicy, Policy, PolicyInfo, Sort},
    rng::Split,
    simulation::{Simulated, Workload},
    spec::{Spec, brief},
};

/// A scenario with its policies by name: one entry of the [`Registry`](super::Registry).
pub struct Entry<S: Simulated> {
    /// The policy to explain where the user names none.
    pub teacher: &'static str,
    /// Heuristics to compare it with; the first is the one that all others are measured against.
    pub baselines: &'static [&'static str],
    /// All policies.
    pub policies: fn() -> Vec<PolicyInfo>,
    /// Opens the policy that a spec names, or says why it cannot.
    pub open: OpenPolicy<S>,
    /// How schedulers are attacked; `None` if jobs cannot be edited.
    pub attack: Option<Attack<S>>,
}

impl<S: Simulated> Entry<S> {
    /// Opens a policy by its spec as text.
    ///
    /// # Errors
    ///
    /// An unknown name or parameter, or a file that cannot be used.
    pub fn policy(&self, id: &str) -> Result<Box<dyn Policy<S>>, PipelineError> {
        Ok((self.open)(&id.parse::<Spec>()?)?)
    }

    /// Opens a workload by its spec as text.
    ///
    /// # Errors
    ///
    /// An unknown name or parameter, or a file that cannot be used.
    pub fn workload(&self, id: &str) -> Result<Workload<S>, PipelineError> {
        Ok(S::open_workload(&id.parse::<Spec>()?)?)
    }

    /// Opens a workload that is about to be run: the caller is told beforehand if an episode takes much memory.
    ///
    /// # Errors
    ///
    /// As of [`Entry::workload`].
    pub(super) fn workload_for(&self, id: &str, caller: Caller<'_>) -> Result<Workload<S>, PipelineError> {
        let workload = self.workload(id)?;
        workload.work().note(id).into_iter().for_each(|note| caller.watch.note(&note));
        let name = brief(id);
        workload.notes().iter().for_each(|note| caller.watch.note(&format!("note: {name}: {note}")));
        Ok(workload)
    }

    /// How many of so many episodes of a split a workload has: all of them, but for a history that is cut by time, whose windows may not be
    /// counted twice where intervals are made of them. The caller is told.
    pub(super) fn episodes((id, workload): (&str, &Workload<S>), split: Split, wanted: u32, caller: Caller<'_>) -> u32 {
        match workload.most_episodes(split).filter(|&most| most < wanted) {
            None => wanted,
            Some(most) => {
                let (id, split) = (brief(id), split.name());
                caller.watch.note(&format!("note: {id} has {most} windows for {split}: {most} episodes, not {wanted}"));
                most
            }
        }
    }

    /// The sort of the policies of that name; `None` if there are none.
    #[must_use]
    pub fn sort_of(&self, name: &str) -> Option<Sort> {
        (self.policies)().iter().find(|p| p.names().contains(&Some(name))).map(|p| p.sort)
    }
}
