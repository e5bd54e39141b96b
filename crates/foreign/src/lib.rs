//! Schedulers that a user already has: a process, an ONNX file, a TorchScript file, all behind one contract.
//!
//! A [`Network`] sees [`Inputs`] and answers with [`Scores`]: a logit per node, and for every job a logit per number of
//! executors. [`ForeignPolicy`] makes a scheduler of it: softmax over the stages that may be chosen, then softmax over the
//! amounts that the chosen stage's job may be given. `docs/foreign-policies.md` is the contract for those who write networks;
//! [`INPUTS`], [`NODE_COLUMNS`], [`JOB_COLUMNS`] and [`CLUSTER_COLUMNS`] are the same in code.
//!
//! Whatever implements [`Network`] in Rust is a scheduler too:
//!
//! ```
//! use sched_distill_core::policy::Policy;
//! use sched_distill_foreign::{ForeignError, ForeignPolicy, Inputs, Network, Scores};
//! use sched_distill_dag::Probabilities;
//! use std::path::PathBuf;
//!
//! /// Prefers stages with few tasks left, and many executors.
//! struct FewTasks;
//!
//! impl Network for FewTasks {
//!     fn name(&self) -> String {
//!         "few tasks".to_owned()
//!     }
//!     fn fresh(&self) -> Box<dyn Network> {
//!         Box::new(FewTasks)
//!     }
//!     fn scores(&mut self, inputs: &Inputs, out: &mut Scores) -> Result<(), ForeignError> {
//!         out.stage.extend(inputs.nodes.chunks(7).map(|row| -row[0]));
//!         out.stage_shape.push(inputs.num_nodes());
//!         for _ in 0..inputs.num_jobs() {
//!             out.amount.extend_from_slice(&inputs.amounts);
//!         }
//!         out.amount_shape.extend([inputs.num_jobs(), inputs.offered()]);
//!         Ok(())
//!     }
//! }
//!
//! # use sched_distill_dag::{Decision, simulator::Simulator};
//! # use sched_distill_core::workload;
//! let workload = sched_distill_dag::workload::open(&"builtin,jobs=3".parse()?)?;
//! let sim = Simulator::new(workload.cluster(), workload.jobs(1), 1);
//! let mut policy = ForeignPolicy::new(Box::new(FewTasks), false);
//! let mut probabilities = Probabilities::default();
//! let seen = sim.view().ok_or("no question")?;
//! let decision = policy.decide(&seen, &mut probabilities)?;
//! assert!(matches!(decision, Decision::Assign { executors: 10, .. }));
//! assert_eq!(probabilities.stage.len(), seen.schedulable().len());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod conformance;
mod error;
mod inputs;
#[cfg(feature = "onnx")]
mod onnx;
pub mod policies;
mod scores;
mod script;
#[cfg(feature = "torch")]
mod torchscript;

pub use error::ForeignError;
pub use inputs::{CLUSTER_COLUMNS, Column, INPUTS, InputInfo, Inputs, JOB_COLUMNS, NODE_COLUMNS};
#[cfg(feature = "onnx")]
pub use onnx::OnnxNetwork;
pub use scores::Scores;
pub use script::{PROTOCOL, ScriptNetwork, kill_processes};
#[cfg(feature = "torch")]
pub use torchscript::TorchScriptNetwork;

use sched_distill_core::policy::{
    Policy, PolicyError,
    pick::{Picker, log_softmax},
};
use sched_distill_dag::{Dag, Decision, Probabilities, StageRef, View};
use std::path::{Path, PathBuf};

/// Names of the outputs.
pub const OUTPUTS: [&str; 2] = ["stage_scores", "amount_scores"];

/// Something that scores the stages of a question and, by job, the amounts of executors.
///
/// The scores of a question must depend on nothing but the inputs, the episode's seed and, if it likes, the questions since
/// [`Network::reset`]: `distill check-policy` tests that.
pub trait Network: Send + Sync {
    /// What errors call it.
    fn name(&self) -> String;

    /// A copy for another thread, without the state of a running episode. Weights are shared.
    fn fresh(&self) -> Box<dyn Network>;

    /// Called before each episode.
    fn reset(&mut self, _episode_seed: u64) {}

    /// Scores a question. `out` is empty on entry; whether it has the right shapes and numbers is checked afterwards.
    ///
    /// # Errors
    ///
    /// If there is no answer.
    fn scores(&mut self, inputs: &Inputs, out: &mut Scores) -> Result<(), ForeignError>;

    /// Files that define it, so that a trace can record their hashes.
    fn files(&self) -> Vec<PathBuf> {
        Vec::new()
    }
}

/// A foreign network as a scheduler, greedy or sampling.
pub struct ForeignPolicy {
    network: Box<dyn Network>,
    picker: Picker,
    inputs: Inputs,
    scores: Scores,
    /// Scores of the stages that may be chosen.
    logits: Vec<f32>,
}

impl ForeignPolicy {
    /// Takes the most probable stage and amount, or draws them if `sample`.
    #[must_use]
    pub fn new(network: Box<dyn Network>, sample: bool) -> Self {
        Self::with(network, Picker::new(sample, "foreign"))
    }

    fn with(network: Box<dyn Network>, picker: Picker) -> Self {
        Self { network, picker, inputs: Inputs::default(), scores: Scores::default(), logits: Vec::new() }
    }

    /// Appends the log-probabilities of amounts for a stage of the question that was scored last.
    fn amounts(&mut self, seen: &View<'_>, stage: StageRef, out: &mut Vec<f64>) -> Result<(), PolicyError> {
        // A schedulable stage belongs to an active job.
        let job = seen.active_jobs().iter().position(|&job| job == stage.job).unwrap_or(0);
        match log_softmax(self.scores.amounts(&self.inputs, job), out) {
            true => Ok(()),
            false => Err(self.not_finite(seen)),
        }
    }

    fn not_finite(&self, seen: &View<'_>) -> PolicyError {
        PolicyError::NotFinite { policy: self.network.name(), time_ms: seen.time_ms() }
    }
}

impl Policy<Dag> for ForeignPolicy {
    fn fresh(&self) -> Box<dyn Policy<Dag>> {
        Box::new(Self::with(self.network.fresh(), self.picker.fresh()))
    }

    fn reset(&mut self, episode_seed: u64) {
        self.picker.reset(episode_seed);
        self.network.reset(episode_seed);
    }

    fn decide(&mut self, seen: &View<'_>, p: &mut Probabilities) -> Result<Decision, PolicyError> {
        let Self { network, inputs, scores, logits, .. } = self;
        inputs.read(seen);
        scores.clear();
        network.scores(inputs, scores)?;
        scores.check(&**network, inputs)?;
        logits.clear();
        logits.extend(inputs.mask.iter().zip(&scores.stage).filter(|&(&on, _)| on).map(|(_, &score)| score));
        // Finite scores may still be too far apart for a finite log-probability.
        if !log_softmax(logits, &mut p.stage) {
            return Err(self.not_finite(seen));
        }
        let stage = seen.schedulable()[self.picker.pick(&p.stage)];
        self.amounts(seen, stage, &mut p.amount)?;
        let executors = 1 + self.picker.pick(&p.amount) as u32;
        Ok(Decision::Assign { stage, executors })
    }

    fn given(&mut self, seen: &View<'_>, decision: Decision, p: &mut Probabilities) -> Result<(), PolicyError> {
        p.amount.clear();
        match decision {
            Decision::Assign { stage, .. } => self.amounts(seen, stage, &mut p.amount),
            Decision::Abstain => Ok(()),
        }
    }

    fn files(&self) -> Vec<PathBuf> {
        self.network.files()
    }
}

/// Loads an ONNX file.
///
/// # Errors
///
/// A file that is no ONNX model of the contract, or a build without the feature `onnx`.
fn open_onnx(path: &Path) -> Result<Box<dyn Network>, ForeignError> {
    #[cfg(feature = "onnx")]
    return Ok(Box::new(OnnxNetwork::load(path)?));
    #[cfg(not(feature = "onnx"))]
    Err(ForeignError::NotBuilt { kind: "onnx", path: path.to_owned(), what: "ONNX files", feature: "onnx", hint: "" })
}

/// Loads a TorchScript file.
///
/// # Errors
///
/// A file that is no TorchScript module of the contract, or a build without the feature `torch`.
fn open_torchscript(path: &Path) -> Result<Box<dyn Network>, ForeignError> {
    #[cfg(feature = "torch")]
    return Ok(Box::new(TorchScriptNetwork::load(path)?));
    #[cfg(not(feature = "torch"))]
    Err(ForeignError::NotBuilt {
        kind: "torchscript",
        path: path.to_owned(),
        what: "TorchScript files",
        feature: "torch",
        hint: ", with libtorch from scripts/setup-libtorch.sh",
    })
}
