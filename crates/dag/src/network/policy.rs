//! Decima as a scheduler: from the simulator's observation to the network, and from scores to a decision.

use super::{Decima, DecimaInput, DecimaWeights};
use crate::{
    Dag,
    choose::{choose, spare, take},
    state::{Decision, StageRef, View},
};
use sched_distill_core::{
    network::{NeuralError, Tensors},
    policy::{
        Policy, PolicyError,
        pick::{Picker, log_softmax},
    },
    scenario::Said,
};
use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

/// The checkpoint that comes with the program.
pub static BUILT_IN: &[u8] = include_bytes!("../../data/decima-builtin.safetensors");

/// The Decima network with given weights, greedy or sampling.
pub struct DecimaPolicy {
    network: Decima,
    weights: Arc<DecimaWeights>,
    /// `None` for weights in memory.
    path: Option<PathBuf>,
    /// SHA-256 of weights that are part of the program.
    builtin: Option<String>,
    picker: Picker,
    /// See [`DecimaPolicy::may_strand`].
    may_strand: bool,
    input: DecimaInput,
    /// Node index by stage id of the job at hand; `u32::MAX` for completed stages.
    node_of_stage: Vec<u32>,
}

impl DecimaPolicy {
    /// Loads `.safetensors` or a PyTorch `.pt` state dict.
    ///
    /// # Errors
    ///
    /// A file that is not a checkpoint of the Decima network.
    pub fn load(path: &Path, sample: bool) -> Result<Self, NeuralError> {
        let tensors = Tensors::load(path)?;
        let weights = Arc::new(DecimaWeights::from_tensors(&tensors, &path.display().to_string())?);
        Ok(Self::with(weights, Some(path.to_owned()), Picker::new(sample, "decima")))
    }

    /// The network that comes with the program (`data/README.md` tells how it was trained).
    ///
    /// # Errors
    ///
    /// A program that was built with a damaged network.
    pub fn builtin(sample: bool) -> Result<Self, NeuralError> {
        let tensors = Tensors::from_bytes(BUILT_IN, "built in")?;
        let weights = DecimaWeights::from_tensors(&tensors, "built in")?;
        Ok(Self { builtin: Some(tensors.sha256().to_owned()), ..Self::new(Arc::new(weights), sample) })
    }

    /// A scheduler with weights in memory.
    #[must_use]
    pub fn new(weights: Arc<DecimaWeights>, sample: bool) -> Self {
        Self::with(weights, None, Picker::new(sample, "decima"))
    }

    fn with(weights: Arc<DecimaWeights>, path: Option<PathBuf>, picker: Picker) -> Self {
        Self {
            network: Decima::new(Arc::clone(&weights)),
            weights,
            path,
            builtin: None,
            picker,
            may_strand: false,
            input: DecimaInput::default(),
            node_of_stage: Vec::new(),
        }
    }

    /// Lets it decide as the network says even where that strands the cluster ([`View::strands`]), which it otherwise does not.
    /// Training needs that: the network is to see what comes of its choices, and is judged by them.
    #[must_use]
    pub fn may_strand(self) -> Self {
        Self { may_strand: true, ..self }
    }

    /// The question that was answered last, as the network saw it.
    #[must_use]
    pub fn seen(&self) -> (&DecimaInput, &Decima) {
        (&self.input, &self.network)
    }

    /// Appends the log-probabilities of amounts for a stage of the question that was scored last; false if one is not finite.
    fn amounts(network: &mut Decima, seen: &View<'_>, stage: StageRef, out: &mut Vec<f64>) -> bool {
        // A schedulable stage belongs to an active job.
        let job = seen.active_jobs().iter().position(|&job| job == stage.job).unwrap_or(0);
        log_softmax(network.amount_scores(job), out)
    }

    fn not_finite(&self, seen: &View<'_>) -> PolicyError {
        let policy = self.path.as_ref().map_or("decima".to_owned(), |path| format!("decima:{}", path.display()));
        PolicyError::NotFinite { policy, time_ms: seen.time_ms() }
    }

    /// Copies the observation into the network's input buffers.
    fn read(&mut self, seen: &View<'_>) {
        let input = &mut self.input;
        input.clear();
        input.num_executors = seen.num_executors();
        input.committable = seen.committable();
        let source = seen.source_job();
        input.source_job = seen.active_jobs().iter().position(|&job| source == Some(job));
        input.ptr.push(0);
        let mut schedulable = seen.schedulable().iter().peekable();
        for &id in seen.active_jobs() {
            let job = seen.job(id);
            self.node_of_stage.clear();
            for stage in job.stages() {
                let node = input.remaining.len() as u32;
                self.node_of_stage.push(if stage.is_complete() { u32::MAX } else { node });
                if stage.is_complete() {
                    continue;
                }
                input.remaining.push(stage.remaining());
                input.most_recent_duration.push(stage.recent_ms() as f32);
                input.stage_mask.push(schedulable.next_if(|&&s| s == stage.stage_ref()).is_some());
            }
            // Children of an active stage are active, so edges come out sorted by (parent, child).
            for stage in job.active_stages() {
                let parent = self.node_of_stage[stage.id() as usize];
                let edges = stage.children().iter().map(|&c| [parent, self.node_of_stage[c as usize]]);
                input.edges.extend(edges);
            }
            input.supply.push(job.supply());
            input.ptr.push(input.remaining.len() as u32);
        }
    }
}

impl Policy<Dag> for DecimaPolicy {
    fn fresh(&self) -> Box<dyn Policy<Dag>> {
        let fresh = Self::with(Arc::clone(&self.weights), self.path.clone(), self.picker.fresh());
        Box::new(Self { builtin: self.builtin.clone(), may_strand: self.may_strand, ..fresh })
    }

    fn reset(&mut self, episode_seed: u64) {
        self.picker.reset(episode_seed);
    }

    fn decide(&mut self, seen: &View<'_>, p: &mut Said) -> Result<Decision, PolicyError> {
        self.read(seen);
        self.network.embed(&self.input)?;
        if !log_softmax(self.network.stage_scores(), &mut p.joint) {
            return Err(self.not_finite(seen));
        }
        let Self { network, picker, .. } = self;
        let mut amounts = |stage, out: &mut _| Self::amounts(network, seen, stage, out).then_some(()).ok_or(());
        let decision = match self.may_strand {
            true => take(seen, picker, p, &mut amounts),
            false => choose(seen, picker, p, amounts),
        };
        decision.map_err(|()| self.not_finite(seen))
    }

    fn given(&mut self, seen: &View<'_>, decision: Decision, p: &mut Said) -> Result<(), PolicyError> {
        p.given.clear();
        match decision {
            Decision::Assign { stage, .. } if !Self::amounts(&mut self.network, seen, stage, &mut p.given) => {
                Err(self.not_finite(seen))
            }
            Decision::Assign { stage, .. } if !self.may_strand => {
                spare(seen, stage, &mut p.given);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn forgets(&self) -> bool {
        self.picker.is_greedy()
    }

    fn files(&self) -> Vec<PathBuf> {
        self.path.iter().cloned().collect()
    }

    fn fingerprint(&self) -> Option<(String, String)> {
        self.builtin.clone().map(|hash| ("built-in weights".to_owned(), hash))
    }
}
