//! Can a user game the scheduler? Edits of single jobs that change nothing of what the jobs compute are searched within a budget, and
//! the episode is run again with the same luck.
//!
//! After Zhang et al., "Robustness Analysis and Enhancement of DRL-Based Schedulers" (TPDS 2023): gradients of the probability that
//! the job is chosen tell which number to move (white box), a model of recorded decisions is searched in the scheduler's place (black
//! box). Beside them stand searches that ask for decisions only, and edits at random, against which all others are measured.

mod asked;
pub mod certify;
mod episode;
mod figures;
mod gamed;
mod notable;
mod search;

pub use asked::Asked;
pub use episode::{Attempt, EpisodeAttempts, Source, episode};
pub use figures::{ENOUGH, Judged, MethodFigures, figures};
pub use gamed::{Gaming, gamed};
pub use notable::{BestEdit, Notable, SortFigures, knows_most, notable, replay};

use sched_distill_core::{
    policy::{Policy as _, StudentPolicy},
    rng::Split,
    simulation::{EditBudget, EditError, Editable, Workload},
};
use sched_distill_trace::recorder::EpisodeError;
use serde::{Deserialize, Serialize};
use std::{fmt, sync::atomic::AtomicBool};

/// How edits are searched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Method {
    /// White box: by the slope of the probability that the job is given something, the largest gain over all edits first.
    Gradient,
    /// The same along the job's critical path, from its beginning: the first edit there that promises a gain.
    GradientPath,
    /// By what the scheduler decides when it is asked about edited jobs; its probabilities are not known.
    Query,
    /// Black box: as `gradient`, but the one that is asked is a student fitted on recorded decisions.
    Proxy,
    /// Any edit: the control.
    Random,
}

impl Method {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Gradient, Self::GradientPath, Self::Query, Self::Proxy, Self::Random];

    /// What the user calls it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Gradient => "gradient",
            Self::GradientPath => "gradient-path",
            Self::Query => "query",
            Self::Proxy => "proxy",
            Self::Random => "random",
        }
    }

    /// Whether the scheduler must say how probable its choices are.
    #[must_use]
    pub fn needs_probabilities(self) -> bool {
        matches!(self, Self::Gradient | Self::GradientPath)
    }
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What is attacked how.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AttackParams {
    /// Seed of episodes, targets and intervals.
    pub seed: u64,
    /// What the episodes are for.
    pub split: Split,
    /// How many.
    pub episodes: u32,
    /// Jobs of each episode that are edited, one at a time; drawn, whatever becomes of them.
    pub targets: u32,
    /// Methods.
    pub methods: Vec<Method>,
    /// Budgets, each by itself.
    pub budgets: Vec<EditBudget>,
    /// Edits that a method may try out in the episode before the best is kept; with one the first counts, whatever it brings.
    pub trials: u32,
    /// Questions at which a method may ask what an edit would change, spread over the time that the job is there.
    pub questions: u32,
}

/// Why an attack cannot be carried out.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AttackError {
    /// A run failed.
    #[error(transparent)]
    Episode(#[from] EpisodeError),
    /// An edit could not be made.
    #[error(transparent)]
    Edit(#[from] EditError),
    /// The caller wanted it to end.
    #[error("interrupted")]
    Interrupted,
}

/// Attacks a student in one episode.
///
/// # Errors
///
/// As of [`episode`].
pub fn on_student<S: Editable>(
    workload: &Workload<S>,
    student: &StudentPolicy<S>,
    params: &AttackParams,
    number: u32,
    stop: &AtomicBool,
) -> Result<EpisodeAttempts, AttackError> {
    let asked = Asked::Student(student.copy());
    episode(workload, &*student.fresh(), &Source::Search { asked: &asked, proxy: None }, params, number, stop)
}
