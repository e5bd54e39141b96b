//! Whether a policy keeps its contract, and whether it decides as another one.

use super::{Caller, Entry, PipelineError};
use sched_distill_core::simulation::{NamedWorkload, Simulated};
use sched_distill_judge::conformance::{Conformance, ConformanceRequest, check_policy as check};

/// What is checked, and on what.
#[derive(Clone, Debug)]
pub struct CheckParams {
    /// The policy, as a spec.
    pub policy: String,
    /// Another one that is asked the same questions, as a spec.
    pub against: Option<String>,
    /// The workloads, as specs; if there is none, the scenario's battery ([`Simulated::battery`]).
    pub workloads: Vec<String>,
    /// Seed of the episodes.
    pub seed: u64,
    /// Episodes of each workload.
    pub episodes: u32,
    /// Decisions after which an episode is left.
    pub decisions: u32,
}

/// A policy that was checked.
#[derive(Clone, Debug)]
pub struct Checked {
    /// What the workloads are called.
    pub workloads: Vec<String>,
    /// What was found.
    pub found: Conformance,
}

/// Runs a policy over workloads and looks at every decision.
///
/// # Errors
///
/// A policy or workload that cannot be opened. What a policy does wrong is no error but found.
pub fn check_policy<S: Simulated>(
    scenario: &Entry<S>,
    params: &CheckParams,
    caller: Caller<'_>,
) -> Result<Checked, PipelineError> {
    let policy = scenario.policy(&params.policy)?;
    let against = params.against.as_ref().map(|id| scenario.policy(id)).transpose()?;
    let workloads = match &params.workloads[..] {
        [] => S::battery()?,
        ids => {
            let named =
                |id: &String| Ok(NamedWorkload { name: id.clone(), workload: scenario.workload_for(id, caller)? });
            ids.iter().map(named).collect::<Result<_, PipelineError>>()?
        }
    };
    let request = ConformanceRequest::<S> {
        policy: &*policy,
        against: against.as_deref(),
        workloads: &workloads,
        seed: params.seed,
        episodes: params.episodes,
        decisions: params.decisions,
    };
    caller.watch.steps(workloads.len());
    let found = check(&request, caller.stop, |name| caller.watch.step(name)).ok_or(PipelineError::Interrupted)?;
    caller.watch.done();
    Ok(Checked { workloads: workloads.into_iter().map(|w| w.name).collect(), found })
}
