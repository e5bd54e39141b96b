//! What loops that go back to the simulator need of it, in words of traces: who drives, over which episodes, and what
//! was recorded. Whoever fits knows of students and traces only; whoever runs policies implements this.

use super::Trace;
use sched_distill_core::{model::Student, rng::Split};
use serde::{Deserialize, Serialize};
use std::path::Path;

/// Who decides in which episodes. Whoever drives, the teacher labels every question.
#[derive(Clone, Copy, Debug)]
pub struct Drive<'a> {
    /// Name of a student in manifests, and the student; `None` if the teacher drives every episode.
    pub student: Option<(&'a str, &'a Student)>,
    /// Share of the episodes that the teacher drives all the same, in 0..=1.
    pub teacher_share: f64,
    /// What the episodes are for.
    pub split: Split,
    /// Number of the first episode within the split.
    pub first_episode: u32,
    /// Number of episodes.
    pub episodes: u32,
}

impl Drive<'_> {
    /// Whether the teacher drives the episode at this place, counted from 0. Its episodes are spread evenly, and of `n`
    /// episodes they are the whole part of `n · teacher_share`.
    ///
    /// ```
    /// use sched_distill_core::{model::Student, rng::Split};
    /// use sched_distill_trace::Drive;
    /// let teacher = Drive { student: None, teacher_share: 0.0, split: Split::Train, first_episode: 0, episodes: 4 };
    /// assert!((0..4).all(|place| teacher.by_teacher(place)));
    /// ```
    #[must_use]
    pub fn by_teacher(&self, place: u32) -> bool {
        // What rounding takes away from a whole number does not count.
        let share = |n: u32| (f64::from(n) * self.teacher_share + 1e-9).floor();
        self.student.is_none() || share(place + 1) > share(place)
    }

    /// Number of episodes that the teacher drives.
    #[must_use]
    pub fn teacher_episodes(&self) -> u32 {
        (0..self.episodes).filter(|&place| self.by_teacher(place)).count() as u32
    }
}

/// How the regret of a student's decision is simulated: from a copy of the state, the teacher's decision and the
/// student's are carried out, and the teacher goes on in both with the same luck.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WhatIf {
    /// Most states that are simulated, drawn evenly from those of an episode and shared out among the episodes.
    pub states: u32,
    /// Simulated time after the decision over which costs are added up, ms.
    pub horizon_ms: f64,
}

/// A decision of a student that differs from its teacher's.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Regret {
    /// Episode number.
    pub episode: u32,
    /// Decision number within the episode.
    pub step: u32,
    /// How much more the student's decision costs than the teacher's until the horizon, in what time costs in the
    /// scenario (ms of job-time where jobs are to be complete early); `None` if the state was not drawn.
    #[serde(alias = "regret_ms")]
    pub regret: Option<f64>,
}

/// Runs students and has their teacher label what they visit.
pub trait Rollouts {
    /// Why it could not be done.
    type Error: std::error::Error + Send + Sync + 'static;

    /// Records episodes into `dir`, or goes on with a recording of the same that was interrupted.
    ///
    /// # Errors
    ///
    /// A policy that cannot answer, a directory that cannot be written, an interruption.
    fn record(&self, dir: &Path, drive: &Drive<'_>) -> Result<Trace, Self::Error>;

    /// The decisions of the episodes that the student drives in which it differs from the teacher, in order of episode
    /// and step. Where both decide alike there is nothing to regret, and no entry.
    ///
    /// # Errors
    ///
    /// As for [`Rollouts::record`].
    fn regrets(&self, drive: &Drive<'_>, what_if: WhatIf) -> Result<Vec<Regret>, Self::Error>;
}
