//! Schedulers that a user already has: a process, an ONNX file, a TorchScript file, all behind one contract per
//! scenario.
//!
//! A [`Network`] sees [`Inputs`] and answers with [`Scores`]; which there are, the scenario says of itself
//! ([`Tabular::contract`]). [`ForeignPolicy`] makes a scheduler of it, as the scenario does of scores: of stages and
//! amounts in `dag`, of tasks in `training`. `docs/foreign-policies.md` is the contract for those who write networks.
//!
//! Whatever implements [`Network`] in Rust is a scheduler too:
//!
//! ```
//! use sched_distill_core::{contract::{Inputs, Scores}, policy::Policy, scenario::Said};
//! use sched_distill_foreign::{ForeignError, ForeignPolicy, Network};
//! use sched_distill_dag::Dag;
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
//!         let stages = out.output("stage_scores");
//!         stages.values.extend(inputs.floats("nodes").chunks(7).map(|row| -row[0]));
//!         stages.shape.push(inputs.size("nodes"));
//!         let amounts = out.output("amount_scores");
//!         for _ in 0..inputs.size("jobs") {
//!             amounts.values.extend_from_slice(inputs.floats("amounts"));
//!         }
//!         amounts.shape.extend([inputs.size("jobs"), inputs.size("offered")]);
//!         Ok(())
//!     }
//! }
//!
//! # use sched_distill_core::simulation::Simulation as _;
//! # use sched_distill_dag::{Decision, simulator::Simulator};
//! let workload = sched_distill_dag::workload::open(&"builtin,jobs=3".parse()?)?;
//! let sim = Simulator::new(*workload.cluster(), workload.jobs(1), 1);
//! let mut policy = ForeignPolicy::<Dag>::new(Box::new(FewTasks), false);
//! let mut said = Said::default();
//! let seen = sim.view().ok_or("no question")?;
//! let decision = policy.decide(&seen, &mut said)?;
//! assert!(matches!(decision, Decision::Assign { executors: 10, .. }));
//! assert_eq!(said.joint.len(), seen.schedulable().len());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#[cfg(feature = "onnx")]
mod batch_model;
mod error;
#[cfg(feature = "onnx")]
mod onnx;
pub mod policies;
#[cfg(feature = "onnx")]
pub mod profile;
mod script;
#[cfg(feature = "torch")]
mod torchscript;

#[cfg(feature = "onnx")]
pub use batch_model::BatchModel;
pub use error::ForeignError;
#[cfg(feature = "onnx")]
pub use onnx::OnnxNetwork;
pub use script::{
    PROTOCOL, ScriptNetwork, kill_processes,
    named::{name_command, secret_in},
};
#[cfg(feature = "torch")]
pub use torchscript::TorchScriptNetwork;

use sched_distill_core::{
    contract::{Contract, Inputs, Scores, Tables, Tabular},
    policy::{Policy, PolicyError, pick::Picker},
    scenario::Said,
};
use std::path::{Path, PathBuf};

/// Something that scores questions of a scenario.
///
/// The scores of a question must depend on nothing but the inputs, the episode's seed and, if it likes, the questions
/// since [`Network::reset`]: `distill check-policy` tests that.
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

    /// Processes that each copy starts.
    fn processes(&self) -> usize {
        0
    }

    /// Files that define it, so that a trace can record their hashes.
    fn files(&self) -> Vec<PathBuf> {
        Vec::new()
    }
}

/// A foreign network as a scheduler, greedy or sampling.
pub struct ForeignPolicy<S: Tabular> {
    network: Box<dyn Network>,
    picker: Picker,
    tables: S::Tables,
    inputs: Inputs,
    scores: Scores,
}

impl<S: Tabular> ForeignPolicy<S> {
    /// Takes what is most probable, or draws if `sample`. The network is one for the contract of the scenario.
    #[must_use]
    pub fn new(network: Box<dyn Network>, sample: bool) -> Self {
        Self::with(network, Picker::new(sample, "foreign"))
    }

    fn with(network: Box<dyn Network>, picker: Picker) -> Self {
        let (inputs, scores) = (Inputs::new(S::contract()), Scores::new(S::contract()));
        Self { network, picker, tables: S::Tables::default(), inputs, scores }
    }

    fn not_finite(&self, seen: &S::View<'_>) -> PolicyError {
        PolicyError::NotFinite { policy: self.network.name(), time_ms: S::time_ms(seen) }
    }
}

impl<S: Tabular> Policy<S> for ForeignPolicy<S> {
    fn fresh(&self) -> Box<dyn Policy<S>> {
        Box::new(Self::with(self.network.fresh(), self.picker.fresh()))
    }

    fn reset(&mut self, episode_seed: u64) {
        self.picker.reset(episode_seed);
        self.network.reset(episode_seed);
    }

    fn decide(&mut self, seen: &S::View<'_>, p: &mut Said) -> Result<S::Decision, PolicyError> {
        let Self { network, picker, tables, inputs, scores } = self;
        inputs.clear();
        tables.read(seen, inputs);
        debug_assert!(inputs.are_whole());
        scores.clear();
        network.scores(inputs, scores)?;
        scores
            .check::<S>(tables, inputs)
            .map_err(|problem| ForeignError::Scores { network: network.name(), problem })?;
        tables.decide(seen, (inputs, scores), picker, p).ok_or_else(|| self.not_finite(seen))
    }

    fn given(&mut self, seen: &S::View<'_>, decision: S::Decision, p: &mut Said) -> Result<(), PolicyError> {
        match self.tables.given(seen, (&self.inputs, &self.scores), decision, p) {
            true => Ok(()),
            false => Err(self.not_finite(seen)),
        }
    }

    fn processes(&self) -> usize {
        self.network.processes()
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
fn open_onnx(path: &Path, contract: &'static Contract) -> Result<Box<dyn Network>, ForeignError> {
    #[cfg(feature = "onnx")]
    return Ok(Box::new(OnnxNetwork::load(path, contract)?));
    #[cfg(not(feature = "onnx"))]
    let _ = contract;
    #[cfg(not(feature = "onnx"))]
    Err(without_onnx(path))
}

/// Loads a TorchScript file.
///
/// # Errors
///
/// A file that is no TorchScript module of the contract, or a build without the feature `torch`.
fn open_torchscript(path: &Path, contract: &'static Contract) -> Result<Box<dyn Network>, ForeignError> {
    #[cfg(feature = "torch")]
    return Ok(Box::new(TorchScriptNetwork::load(path, contract)?));
    #[cfg(not(feature = "torch"))]
    let _ = contract;
    #[cfg(not(feature = "torch"))]
    Err(without_torch(path))
}

/// Why this build cannot read the file of the policy of that name; `None` where it can, and of other policies.
#[must_use]
pub fn not_built(name: &str, path: &Path) -> Option<ForeignError> {
    match name {
        "onnx" if !cfg!(feature = "onnx") => Some(without_onnx(path)),
        "torchscript" if !cfg!(feature = "torch") => Some(without_torch(path)),
        _ => None,
    }
}

fn without_onnx(path: &Path) -> ForeignError {
    ForeignError::NotBuilt { kind: "onnx", path: path.to_owned(), what: "ONNX files", feature: "onnx", hint: "" }
}

fn without_torch(path: &Path) -> ForeignError {
    ForeignError::NotBuilt {
        kind: "torchscript",
        path: path.to_owned(),
        what: "TorchScript files",
        feature: "torch",
        hint: ", with libtorch from scripts/setup-libtorch.sh",
    }
}
