//! How good a network is on episodes that it does not learn from.

use super::{TrainError, schedule::Judge};
use sched_distill_core::{network::NeuralError, policy::Policy, simulation::Simulated};
use sched_distill_toolkit::recorder::{EpisodeRun, Episodes, rollouts};
use serde::{Deserialize, Serialize};
use std::sync::atomic::AtomicBool;

/// One mode of a network on the validation episodes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ModeResult {
    /// Mean job completion time relative to the reference's on the same episodes, geometric mean; over the episodes that
    /// were completed.
    pub ratio: Option<f64>,
    /// Episodes in which the network stranded the cluster.
    pub stalled: u32,
}

/// Both modes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Validation {
    /// Always the most probable decision.
    pub greedy: ModeResult,
    /// Decisions drawn by their probabilities.
    pub sampled: ModeResult,
}

impl Validation {
    /// The figure that decides, the smaller the better; `None` where the network strands the cluster in a mode that counts.
    #[must_use]
    pub fn score(&self, judge: Judge) -> Option<f64> {
        let of = |mode: &ModeResult| mode.ratio.filter(|_| mode.stalled == 0);
        match judge {
            Judge::Greedy => of(&self.greedy),
            Judge::Sampled => of(&self.sampled),
            Judge::Both => Some((of(&self.greedy)? * of(&self.sampled)?).sqrt()),
        }
    }
}

/// The episodes, and what the reference needed.
pub(super) struct Validator<'a, S: Simulated> {
    workload: &'a S::Workload,
    episodes: Episodes,
    reference: Vec<Option<f64>>,
    stop: &'a AtomicBool,
}

impl<'a, S: Simulated> Validator<'a, S> {
    pub(super) fn new(
        workload: &'a S::Workload,
        reference: (&str, &dyn Policy<S>),
        episodes: Episodes,
        stop: &'a AtomicBool,
    ) -> Result<Self, TrainError> {
        let mut validator = Self { workload, episodes, reference: Vec::new(), stop };
        validator.reference = validator.run(reference)?.iter().map(|run| run.outcome.objective()).collect();
        Ok(validator)
    }

    /// Both modes of the network that `policy` opens, greedy or sampling.
    pub(super) fn judge(
        &self,
        policy: impl Fn(bool) -> Result<Box<dyn Policy<S>>, NeuralError>,
    ) -> Result<Validation, TrainError> {
        let mode = |sample: bool| -> Result<ModeResult, TrainError> {
            let runs = self.run(("the network", &*policy(sample)?))?;
            let pairs = runs.iter().zip(&self.reference);
            let ratios: Vec<f64> = pairs.filter_map(|(run, r)| Some((run.outcome.objective()? / (*r)?).ln())).collect();
            let mean = (!ratios.is_empty()).then(|| (ratios.iter().sum::<f64>() / ratios.len() as f64).exp());
            Ok(ModeResult { ratio: mean, stalled: runs.iter().filter(|run| run.outcome.stalled()).count() as u32 })
        };
        Ok(Validation { greedy: mode(false)?, sampled: mode(true)? })
    }

    fn run(&self, (name, policy): (&str, &dyn Policy<S>)) -> Result<Vec<EpisodeRun>, TrainError> {
        match rollouts(self.workload, name, policy, self.episodes, &(), self.stop) {
            Err(sched_distill_toolkit::recorder::RolloutError::Interrupted) => Err(TrainError::Interrupted),
            other => Ok(other?),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_network_that_strands_the_cluster_has_no_score() {
        let mode = |ratio: f64, stalled| ModeResult { ratio: Some(ratio), stalled };
        let good = Validation { greedy: mode(0.5, 0), sampled: mode(0.72, 0) };
        assert_eq!(good.score(Judge::Greedy), Some(0.5));
        assert_eq!(good.score(Judge::Sampled), Some(0.72));
        assert!((good.score(Judge::Both).unwrap() - 0.6).abs() < 1e-12);
        let stranding = Validation { greedy: mode(0.5, 1), ..good };
        assert_eq!((stranding.score(Judge::Greedy), stranding.score(Judge::Both)), (None, None));
        assert_eq!(stranding.score(Judge::Sampled), Some(0.72));
    }
}
