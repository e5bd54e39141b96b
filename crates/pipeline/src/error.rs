//! Why a step has no result.

use sched_distill_core::{
    model::{GuardError, RuleError, StudentError},
    policy::PolicyError,
    rng::Split,
    spec::SpecError,
    workload::WorkloadError,
};
use sched_distill_explain::ExplainError;
use sched_distill_judge::{attack::AttackError, augment::AugmentError, practice::LessonsError};
use sched_distill_learn::{FitError, LoopError, TreeError};
use sched_distill_serve::{ServeError, ShadowError};
use sched_distill_trace::{
    TraceError,
    recorder::{RecordError, RolloutError},
};
use std::{io, path::PathBuf};

/// Why a step has no result.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PipelineError {
    /// The caller wanted it to end.
    #[error("interrupted")]
    Interrupted,
    /// A trace cannot be read.
    #[error(transparent)]
    Trace(#[from] TraceError),
    /// A trace cannot be learned from by imitation.
    #[error(transparent)]
    Lessons(Box<LessonsError>),
    /// A parameter that no fit can have.
    #[error(transparent)]
    Params(FitError),
    /// A fit failed.
    #[error("{}: cannot fit", trace.display())]
    Fit {
        /// Directory of the trace.
        trace: PathBuf,
        /// The cause.
        #[source]
        source: FitError,
    },
    /// Traces that do not belong together.
    #[error("the validation trace has other features than the training trace: {0}")]
    OtherFeatures(String),
    /// Models would be chosen on what they were fitted on.
    #[error("the validation trace has the same episodes as the training trace; record another split ({} was recorded)", .0.name())]
    SameEpisodes(Split),
    /// Traces that cannot be learnt from together.
    #[error("{} and {}: not to be learnt from together: {why}", traces[0].display(), traces[1].display())]
    NotTogether {
        /// Directories of the two.
        traces: [PathBuf; 2],
        /// Why not.
        why: String,
    },
    /// Nothing says what to choose on.
    #[error("which episodes of {0} traces to choose on is not clear; give a trace of others")]
    NoValidation(usize),
    /// Nothing is left to choose on.
    #[error("one episode cannot be divided into training and validation; record more, or give a validation trace")]
    OneEpisode,
    /// Too little for one model per level.
    #[error("a size of {most} is too small: {levels} levels need a size of at least 1 each")]
    TooSmall {
        /// The size that was allowed.
        most: usize,
        /// Number of levels.
        levels: usize,
    },
    /// A level is left without a model.
    #[error("level `{0}`: none of the learners found a model; add the learner `tree`")]
    NoModel(String),
    /// A demand on choices that there are none of.
    #[error("no choices of level `{level}`, kind `{kind}`; levels are {levels}, kinds {kinds}")]
    NoSuchChoices {
        /// Level that was named.
        level: String,
        /// Kind that was named.
        kind: String,
        /// Levels that there are.
        levels: String,
        /// Kinds that there are.
        kinds: String,
    },
    /// Models are to be chosen by a figure that none of them has.
    #[error(
        "no model of level `{level}` has the figure {figure}, which needs a teacher with probabilities; choose top1 or top3"
    )]
    NoFigure {
        /// Level.
        level: String,
        /// The figure.
        figure: &'static str,
    },
    /// A demand that no model meets.
    #[error("{demand} is out of reach: the best of all sizes is {best}; lower it, or raise the size")]
    OutOfReach {
        /// The demand, e.g. `job/free/top1=0.9`.
        demand: String,
        /// What the best model comes to.
        best: String,
    },
    /// Demands that can be met, but not within the size.
    #[error(
        "no models of total size {0} or less meet all demands and have the figure that decides; allow a larger size"
    )]
    NoneWithin(usize),
    /// A spec is malformed.
    #[error(transparent)]
    Spec(#[from] SpecError),
    /// A policy cannot be opened or used.
    #[error(transparent)]
    Policy(#[from] PolicyError),
    /// A workload cannot be opened.
    #[error(transparent)]
    Workload(#[from] WorkloadError),
    /// A student cannot be read, written or edited.
    #[error(transparent)]
    Student(#[from] StudentError),
    /// A guard cannot be used.
    #[error(transparent)]
    Guard(#[from] GuardError),
    /// A rule cannot be used.
    #[error(transparent)]
    Rule(#[from] RuleError),
    /// Episodes could not be recorded.
    #[error(transparent)]
    Record(RecordError),
    /// Episodes could not be run.
    #[error(transparent)]
    Rollout(RolloutError),
    /// A loop did not end.
    #[error(transparent)]
    Loop(LoopError<RecordError>),
    /// A search did not end.
    #[error(transparent)]
    Augment(AugmentError),
    /// An attack could not be carried out.
    #[error(transparent)]
    Attack(AttackError),
    /// A policy cannot be served.
    #[error(transparent)]
    Serve(#[from] ServeError),
    /// A log cannot be written.
    #[error(transparent)]
    Shadow(#[from] ShadowError),
    /// Regions cannot be found.
    #[error(transparent)]
    Regions(#[from] TreeError),
    /// A model or choice cannot be explained.
    #[error(transparent)]
    Explain(#[from] ExplainError),
    /// Exceptions to rules cannot be found.
    #[error(transparent)]
    Exceptions(#[from] FitError),
    /// A fit on drawn episodes failed.
    #[error("fit number {number} on drawn episodes")]
    Refit {
        /// Which of the fits, from 1.
        number: u32,
        /// The cause.
        #[source]
        source: FitError,
    },
    /// A file cannot be read.
    #[error("{}: cannot read", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The cause.
        #[source]
        source: io::Error,
    },
    /// A file cannot be written.
    #[error("{}: cannot write", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// The cause.
        #[source]
        source: io::Error,
    },
    /// A run directory cannot be made.
    #[error("{}: cannot create the run directory", path.display())]
    NoRunDir {
        /// The directory.
        path: PathBuf,
        /// The cause.
        #[source]
        source: io::Error,
    },
    /// A file of a run directory is none.
    #[error("{}: not {expected}", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// What it should be.
        expected: &'static str,
        /// Where and why.
        #[source]
        source: serde_json::Error,
    },
    /// A scenario that is not registered.
    #[error("the file belongs to the scenario `{found}`, which this program does not have; it has {known}")]
    UnknownScenario {
        /// Its name.
        found: String,
        /// Names of those that are.
        known: String,
    },
    /// No combination of a front's models has the figure to go by.
    #[error("no combination of models has the figure `{0}`; choose another")]
    NoCombination(&'static str),
    /// A trace of other features than a student's.
    #[error("{}: the trace has other features than the student was fitted on: {difference}", trace.display())]
    StudentOfOtherFeatures {
        /// Directory of the trace.
        trace: PathBuf,
        /// The first difference.
        difference: String,
    },
    /// A policy takes part twice.
    #[error("policy `{0}` is given twice; each may take part once")]
    PolicyTwice(String),
    /// A policy that may give nothing, where that cannot be used.
    #[error("{0}: may abstain; where one policy decides and another one labels, both must always choose something")]
    Abstains(String),
    /// Episodes without a number.
    #[error("episodes {first} to {first} + {episodes}: their numbers go up to 4294967295")]
    TooManyEpisodes {
        /// Number of the first one.
        first: u32,
        /// How many.
        episodes: u32,
    },
    /// The folder belongs to another search.
    #[error("{}: the folder holds a search with another student, workload, seed or budget", .0.display())]
    OtherSearch(PathBuf),
    /// The folder belongs to another attack.
    #[error("{}: the folder holds another attack, or one with other arguments", .0.display())]
    OtherAttack(PathBuf),
    /// An episode of an attack is not as the attack has written it.
    #[error(
        "{}: {why}; {}", path.display(),
        if *resumed { "remove the file, and the same command runs this episode again" } else { "carry that attack out again" }
    )]
    AttackedEpisode {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        why: String,
        /// Whether it is the attack at hand that goes on, rather than one whose edits are taken.
        resumed: bool,
    },
    /// The run directory belongs to another student.
    #[error("{}: the run directory holds another student; give another directory, or remove the file to replace it", .0.display())]
    OtherStudent(PathBuf),
    /// The run directory belongs to a student, before one is made for it.
    #[error("{}: the run directory has a student; give another directory, or remove its files", .0.display())]
    StudentThere(PathBuf),
    /// No region can be found on one half of the episodes and measured on the other.
    #[error(
        "disagreement needs two episodes or more with choices between candidates; {} has them at no level",
        .0.display()
    )]
    NoRegions(PathBuf),
    /// A trace without choices.
    #[error("{}: there is no choice between two candidates at any level: nothing to explain", .0.display())]
    NothingToExplain(PathBuf),
    /// No rule is known for a level.
    #[error("no rule is known for level `{0}`; give one")]
    NoRule(String),
    /// A level that there is not.
    #[error("no level `{0}`")]
    NoLevel(String),
    /// The student of a run directory was not measured.
    #[error("{}: the student of the run was not measured", .0.display())]
    NotMeasured(PathBuf),
    /// A parameter has a value that it cannot have here.
    #[error("{parameter}{}: {why}", given.iter().map(|given| format!(" {given}")).collect::<String>())]
    Parameter {
        /// Its name.
        parameter: &'static str,
        /// Its value, where there may be others.
        given: Option<String>,
        /// Why not.
        why: String,
    },
    /// What was asked for names something that there is not, or is not of the form it must have; in words.
    #[error("{0}")]
    Refused(String),
}

impl PipelineError {
    /// A parameter that cannot have its value, with that if there may be others.
    pub(super) fn parameter(parameter: &'static str, given: Option<String>, why: impl Into<String>) -> Self {
        Self::Parameter { parameter, given, why: why.into() }
    }
}

impl From<LessonsError> for PipelineError {
    fn from(error: LessonsError) -> Self {
        Self::Lessons(Box::new(error))
    }
}

impl From<RecordError> for PipelineError {
    fn from(error: RecordError) -> Self {
        match error {
            RecordError::Interrupted => Self::Interrupted,
            other => Self::Record(other),
        }
    }
}

impl From<RolloutError> for PipelineError {
    fn from(error: RolloutError) -> Self {
        match error {
            RolloutError::Interrupted => Self::Interrupted,
            other => Self::Rollout(other),
        }
    }
}

impl From<LoopError<RecordError>> for PipelineError {
    fn from(error: LoopError<RecordError>) -> Self {
        match error {
            LoopError::Rollouts(RecordError::Interrupted) => Self::Interrupted,
            other => Self::Loop(other),
        }
    }
}

impl From<AttackError> for PipelineError {
    fn from(error: AttackError) -> Self {
        match error {
            AttackError::Interrupted => Self::Interrupted,
            other => Self::Attack(other),
        }
    }
}

impl From<AugmentError> for PipelineError {
    fn from(error: AugmentError) -> Self {
        match error {
            AugmentError::Interrupted => Self::Interrupted,
            other => Self::Augment(other),
        }
    }
}
