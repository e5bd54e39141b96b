//! Who decides: the contract of policies, and the distilled student as one.

mod by_level;
pub mod pick;
mod student;
mod table;

pub use by_level::{ByLevel, LevelScores, NotFinite};
pub use student::StudentPolicy;
pub use table::{OpenPolicy, PolicyDef, Score, Written, least, of_episode, open, stateless};

use crate::{
    scenario::{Said, Scenario},
    spec::{Spec, SpecError, name_of},
};
use std::path::PathBuf;

/// A scheduler of a scenario.
///
/// A policy may keep buffers and a random stream, so it is `&mut`; parallel episodes each take a [`Policy::fresh`] copy.
pub trait Policy<S: Scenario>: Send + Sync {
    /// A copy for another thread, without the state of a running episode. Weights are shared.
    fn fresh(&self) -> Box<dyn Policy<S>>;

    /// Called before each episode; randomised policies draw from a stream that this seed fixes.
    fn reset(&mut self, _episode_seed: u64) {}

    /// Answers a question. A policy with probabilities writes them to `said`, which is empty on entry; a
    /// deterministic one leaves it empty.
    ///
    /// # Errors
    ///
    /// If the policy cannot answer, e.g. because a network gave no finite number.
    fn decide(&mut self, seen: &S::View<'_>, said: &mut Said) -> Result<S::Decision, PolicyError>;

    /// Answers a question for somebody who wants to know the decision alone: the same as [`Policy::decide`], which it is by default.
    /// Policies override it where what they would say of other decisions takes long.
    ///
    /// # Errors
    ///
    /// As for [`Policy::decide`].
    fn act(&mut self, seen: &S::View<'_>, said: &mut Said) -> Result<S::Decision, PolicyError> {
        self.decide(seen, said)
    }

    /// Makes probabilities that [`Policy::decide`] has just named speak of another decision, where a part of them is conditional
    /// on what was decided (`dag`: amounts are those for the decision's stage). That part becomes empty if the policy does not
    /// say.
    ///
    /// # Errors
    ///
    /// As for [`Policy::decide`].
    fn given(&mut self, _seen: &S::View<'_>, _decision: S::Decision, _said: &mut Said) -> Result<(), PolicyError> {
        Ok(())
    }

    /// Whether an answer depends on the question alone, not on what came before it in the episode, as the draws of a policy do that
    /// decides at random. An episode can then be gone on with from any question. The default is that it may not.
    fn forgets(&self) -> bool {
        false
    }

    /// Whether it may give nothing where others must give something.
    fn abstains(&self) -> bool {
        false
    }

    /// Processes that each copy starts, which count where there may only be so many.
    fn processes(&self) -> usize {
        0
    }

    /// Files that define it, so that a trace can record their hashes.
    fn files(&self) -> Vec<PathBuf> {
        Vec::new()
    }

    /// What defines it without being a file, such as weights that are part of the program: a name for it and its SHA-256.
    fn fingerprint(&self) -> Option<(String, String)> {
        None
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
        "{path}: the student was fitted on another feature set (hash {found}) than this build extracts (hash {expected}): {difference}. One that was fitted on a trace of `distill record` is fitted again on a new recording; one with features of your own is for `evaluate`, `explain`, `report` and `export`, and does not schedule here"
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
    /// A policy of a sort with errors of its own (a network, a process) cannot be loaded, or did not answer as it must.
    #[error(transparent)]
    Other(Box<dyn std::error::Error + Send + Sync>),
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
    /// What sort of policy it is.
    pub sort: Sort,
    /// How it is written.
    pub usage: &'static str,
    /// What it does.
    pub meaning: &'static str,
    /// The checkpoint that it stands for without a file, if one comes with the program.
    pub built_in: Option<&'static [u8]>,
    /// Another name for the policy with that checkpoint.
    pub own_name: Option<&'static str>,
}

impl PolicyInfo {
    /// A policy that goes by the name that its usage begins with, without a checkpoint of its own.
    #[must_use]
    pub const fn new(sort: Sort, usage: &'static str, meaning: &'static str) -> Self {
        Self { name: name_of(usage), sort, usage, meaning, built_in: None, own_name: None }
    }

    /// The same with a checkpoint that comes with the program.
    #[must_use]
    pub const fn with_built_in(self, checkpoint: &'static [u8]) -> Self {
        Self { built_in: Some(checkpoint), ..self }
    }

    /// The same with another name for what it is without a file.
    #[must_use]
    pub const fn called(self, name: &'static str) -> Self {
        Self { own_name: Some(name), ..self }
    }

    /// What users may call it.
    #[must_use]
    pub fn names(&self) -> [Option<&'static str>; 2] {
        [Some(self.name), self.own_name]
    }

    /// Whether users may name a file that it is in, as its usage says.
    #[must_use]
    pub fn is_in_a_file(&self) -> bool {
        self.usage.contains("FILE")
    }

    /// Whether a policy that users write is this one.
    #[must_use]
    pub fn is(&self, spec: &Spec) -> bool {
        spec.name == self.name || (spec.file.is_none() && self.own_name == Some(&spec.name))
    }
}

/// Sorts of policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sort {
    /// A rule that somebody wrote.
    Heuristic,
    /// A network, or what may be one.
    Network,
    /// A distilled student.
    Student,
}

/// A student in a list of policies, the same in every scenario.
pub const STUDENT: PolicyInfo = PolicyInfo::new(
    Sort::Student,
    "student:FILE[,model=NAME]",
    "a distilled student as the scheduler; model chooses one of several per level (tree, linear)",
);

/// Opens a student.
///
/// # Errors
///
/// A file that is no student for this scenario, or an unknown parameter.
pub fn open_student<S: Scenario>(spec: &Spec) -> Result<Box<dyn Policy<S>>, PolicyError> {
    let path = spec.require_file("a student written by `distill fit`")?;
    let mut args = spec.args();
    let model = args.text("model");
    args.finish()?;
    Ok(Box::new(StudentPolicy::load(path, model.as_deref())?))
}

/// What a policy is called where it must be told from others: its spec without what does not change decisions, as how long a
/// script may think. A recording goes on under another such parameter.
///
/// ```
/// use sched_distill_core::policy::identity;
/// assert_eq!(identity("script:python3 p.py,mode=sample,timeout=600"), "script:python3 p.py,mode=sample");
/// assert_eq!(identity("decima:m.pt"), "decima:m.pt");
/// ```
#[must_use]
pub fn identity(id: &str) -> String {
    let mut spec = match id.parse::<Spec>() {
        Ok(spec) if spec.name == "script" && spec.params.contains_key("timeout") => spec,
        _ => return id.to_owned(),
    };
    spec.params.remove("timeout");
    spec.to_string()
}
