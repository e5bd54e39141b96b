//! Who decides: heuristics, neural teachers, schedulers of others, distilled students.

pub mod foreign;
mod heuristic;
pub mod neural;
mod pick;
mod soft;
mod student;
pub mod training;

pub use student::StudentPolicy;

use crate::{
    simulator::dag::{Decision, Observation, StageRef},
    spec::{Spec, SpecError},
};
use std::{path::PathBuf, time::Duration};

/// A scheduler.
///
/// A policy may keep buffers and a random stream, so it is `&mut`; parallel episodes each take a [`Policy::fresh`] copy.
pub trait Policy: Send + Sync {
    /// A copy for another thread, without the state of a running episode. Weights are shared.
    fn fresh(&self) -> Box<dyn Policy>;

    /// Called before each episode; randomised policies draw from a stream that this seed fixes.
    fn reset(&mut self, _episode_seed: u64) {}

    /// Answers a question. A policy with probabilities writes them to `probabilities`, which is empty on entry; a
    /// deterministic one leaves it empty.
    ///
    /// # Errors
    ///
    /// If the policy cannot answer, e.g. because a network gave no finite number.
    fn decide(&mut self, seen: &Observation<'_>, probabilities: &mut Probabilities) -> Result<Decision, PolicyError>;

    /// Appends the log-probabilities of `1, 2, ...` executors for any schedulable stage of the question that
    /// [`Policy::decide`] has just answered; appends nothing if the policy does not say.
    ///
    /// # Errors
    ///
    /// As for [`Policy::decide`].
    fn amounts(&mut self, _seen: &Observation<'_>, _stage: StageRef, _out: &mut Vec<f32>) -> Result<(), PolicyError> {
        Ok(())
    }

    /// Whether it may answer [`Decision::Abstain`].
    fn abstains(&self) -> bool {
        false
    }

    /// Files that define it, so that a trace can record their hashes.
    fn files(&self) -> Vec<PathBuf> {
        Vec::new()
    }
}

/// Log-probabilities of an answer.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Probabilities {
    /// One per schedulable stage, in order; empty for deterministic policies.
    pub stage: Vec<f32>,
    /// Of `1, 2, ...` executors for the stage that was chosen; larger amounts than there are entries have probability 0.
    pub amount: Vec<f32>,
}

impl Probabilities {
    /// Empties both lists.
    pub fn clear(&mut self) {
        self.stage.clear();
        self.amount.clear();
    }
}

/// Why a policy cannot be used, or cannot answer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PolicyError {
    /// The spec is malformed or has a bad parameter.
    #[error(transparent)]
    Spec(#[from] SpecError),
    /// A student file cannot be used.
    #[error(transparent)]
    Student(#[from] crate::model::StudentError),
    /// A student was fitted on other features than this build extracts.
    #[error(
        "{path}: the student was fitted on another feature set (hash {found}) than this build extracts (hash {expected}): {difference}; fit it again on a trace recorded by this build"
    )]
    FeatureSet {
        /// The student's file.
        path: PathBuf,
        /// Hash in the file.
        found: String,
        /// Hash of this build.
        expected: String,
        /// The first difference in words.
        difference: String,
    },
    /// A neural network cannot be loaded.
    #[error(transparent)]
    Neural(#[from] neural::NeuralError),
    /// A scheduler of somebody else's cannot be loaded, or did not answer as it must.
    #[error(transparent)]
    Foreign(#[from] foreign::ForeignError),
    /// The network gave a score that is no number, or scores too far apart for probabilities.
    #[error("{policy}: at {time_ms} ms the network gave a score that is not finite")]
    NotFinite {
        /// The policy.
        policy: String,
        /// Simulated time.
        time_ms: f64,
    },
}

/// A policy as `distill list policies` shows it.
#[derive(Clone, Copy, Debug)]
pub struct PolicyInfo {
    /// Its name.
    pub name: &'static str,
    /// How it is written.
    pub usage: &'static str,
    /// What it does.
    pub meaning: &'static str,
}

/// All policies there are.
pub const POLICIES: [PolicyInfo; 12] = [
    PolicyInfo {
        name: "random",
        usage: "random",
        meaning: "a random active job, a stage of it by the common rule, a random number of executors",
    },
    PolicyInfo {
        name: "fifo",
        usage: "fifo",
        meaning: "the source's job first, then jobs in order of arrival, as many executors as there are",
    },
    PolicyInfo {
        name: "fair",
        usage: "fair",
        meaning: "as fifo, but no job gets more than its fair share, ceil(executors / active jobs)",
    },
    PolicyInfo {
        name: "weighted-fair",
        usage: "weighted-fair[,alpha=-1]",
        meaning: "as fair, with shares in proportion to remaining work^alpha",
    },
    PolicyInfo {
        name: "sjf",
        usage: "sjf[,source=any|first][,temperature=T][,mode=greedy|sample]",
        meaning: "the job with least remaining work (source=first: after the source's), all executors; temperature makes it soft",
    },
    PolicyInfo {
        name: "sjf-cp",
        usage: "sjf-cp[,temperature=T][,mode=greedy|sample]",
        meaning: "as sjf, and within the job the stage with the longest remaining critical path; temperature makes it soft",
    },
    PolicyInfo {
        name: "srpt-fair",
        usage: "srpt-fair[,cap=1][,temperature=T][,mode=greedy|sample]",
        meaning: "the source's job first, then least remaining work below cap × fair share; temperature makes it soft",
    },
    PolicyInfo {
        name: "decima",
        usage: "decima[:FILE][,mode=greedy|sample]",
        meaning: "the Decima network with the weights of a .safetensors file or a PyTorch .pt state dict, or with those that come with the program",
    },
    PolicyInfo {
        name: "script",
        usage: "script:COMMAND[,timeout=60][,mode=greedy|sample]",
        meaning: "a process that answers questions with scores, one JSON line each (docs/foreign-policies.md)",
    },
    PolicyInfo {
        name: "onnx",
        usage: "onnx:FILE[,mode=greedy|sample]",
        meaning: "a network in an ONNX file (docs/foreign-policies.md; cargo feature `onnx`)",
    },
    PolicyInfo {
        name: "torchscript",
        usage: "torchscript:FILE[,mode=greedy|sample]",
        meaning: "a network in a TorchScript file (docs/foreign-policies.md; cargo feature `torch`)",
    },
    PolicyInfo {
        name: "student",
        usage: "student:FILE[,model=NAME]",
        meaning: "a distilled student as the scheduler; model chooses one of several per level (tree, linear)",
    },
];

/// Opens the policy that a spec names.
///
/// # Errors
///
/// An unknown name or parameter, or a file that cannot be used.
pub fn open(spec: &Spec) -> Result<Box<dyn Policy>, PolicyError> {
    let takes_file = matches!(spec.name.as_str(), "decima" | "student" | "script" | "onnx" | "torchscript");
    if !takes_file && POLICIES.iter().any(|p| p.name == spec.name) {
        spec.refuse_file()?;
    }
    let mut args = spec.args();
    let policy: Box<dyn Policy> = match spec.name.as_str() {
        "random" => Box::new(heuristic::Random::default()),
        "fifo" => Box::new(heuristic::Capped::Fifo),
        "fair" => Box::new(heuristic::Capped::Fair),
        "weighted-fair" => Box::new(heuristic::Capped::Weighted { alpha: args.number("alpha", -1.0, -10.0..=10.0)? }),
        "sjf" => {
            let source_first = args.word("source", &["any", "first"])? == "first";
            let softness = soft::Softness::from_args(&mut args)?;
            Box::new(soft::Soft::new(soft::Rule::Sjf { source_first }, softness))
        }
        "sjf-cp" => {
            let softness = soft::Softness::from_args(&mut args)?;
            Box::new(soft::Soft::new(soft::Rule::SjfCp, softness))
        }
        "srpt-fair" => {
            let cap = args.number("cap", 1.0, 0.01..=1000.0)?;
            let softness = soft::Softness::from_args(&mut args)?;
            Box::new(soft::Soft::new(soft::Rule::SrptFair { cap }, softness))
        }
        "decima" => {
            let sample = args.word("mode", &["greedy", "sample"])? == "sample";
            Box::new(match &spec.file {
                Some(path) => neural::DecimaPolicy::load(path, sample)?,
                None => neural::DecimaPolicy::builtin(sample)?,
            })
        }
        "script" => {
            let command =
                spec.require("COMMAND", "a process as in docs/foreign-policies.md, e.g. python3 policy.py")?;
            let seconds = args.number("timeout", 60.0, 0.001..=1e6)?;
            let sample = args.word("mode", &["greedy", "sample"])? == "sample";
            let timeout = Duration::from_secs_f64(seconds);
            let network = foreign::ScriptNetwork::new(&command.to_string_lossy(), timeout)?;
            Box::new(foreign::ForeignPolicy::new(Box::new(network), sample))
        }
        "onnx" => {
            let path = spec.require_file("an ONNX model as in docs/foreign-policies.md")?;
            let sample = args.word("mode", &["greedy", "sample"])? == "sample";
            Box::new(foreign::ForeignPolicy::new(foreign::open_onnx(path)?, sample))
        }
        "torchscript" => {
            let path = spec.require_file("a TorchScript module as in docs/foreign-policies.md")?;
            let sample = args.word("mode", &["greedy", "sample"])? == "sample";
            Box::new(foreign::ForeignPolicy::new(foreign::open_torchscript(path)?, sample))
        }
        "student" => {
            let path = spec.require_file("a student written by `distill fit`")?;
            let model = args.text("model");
            Box::new(StudentPolicy::load(path, model.as_deref())?)
        }
        _ => return Err(spec.unknown_name("policy", "policies", &POLICIES.map(|p| p.name)).into()),
    };
    args.finish()?;
    Ok(policy)
}
