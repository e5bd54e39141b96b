//! What an episode leaves behind.

use crate::figure::Stall;

/// How an episode ended, and its figures.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outcome {
    /// How each job ended.
    pub jobs: Vec<JobEnd>,
    /// The figures that the scenario declares, in its order, by name; `None` where there is none, as of a mean over all jobs of
    /// which some are unfinished.
    pub figures: Vec<(&'static str, Option<f64>)>,
    /// Clock when nothing was left to happen; this may be after the last completion.
    pub final_time_ms: f64,
    /// Sum of all rewards.
    pub total_reward: f64,
    /// Events handled.
    pub events: u64,
    /// Questions asked.
    pub decisions: u64,
    /// Why it ended, if jobs are unfinished.
    pub stall: Option<Stall>,
    /// The longest time in which more than half of the cluster idled although work waited that could start on it, ms; `None` where a
    /// simulator does not measure it.
    pub longest_idle_ms: Option<f64>,
}

impl Stall {
    /// Whether and why an episode with these jobs stalled; `endless` says that it was ended because too much happened.
    #[must_use]
    pub fn of(jobs: &[JobEnd], endless: bool) -> Option<Self> {
        let why = if endless { Self::Endless } else { Self::Stranded };
        jobs.contains(&JobEnd::Unfinished).then_some(why)
    }
}

/// How a job ended.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum JobEnd {
    /// It was completed at this time, ms.
    Completed(f64),
    /// It was turned away at this time, ms.
    Rejected(f64),
    /// It was still there when the episode ended: see [`Outcome::stall`].
    Unfinished,
}

impl JobEnd {
    /// When it was completed, ms.
    #[must_use]
    pub fn completion_ms(self) -> Option<f64> {
        match self {
            Self::Completed(ms) => Some(ms),
            Self::Rejected(_) | Self::Unfinished => None,
        }
    }
}

/// The smallest number that so many percent of the sorted ones do not exceed; NaN of nothing. `sorted` ascends.
///
/// ```
/// use sched_distill_core::simulation::percentile;
/// let sorted: Vec<f64> = (1..=200).map(f64::from).collect();
/// assert_eq!((percentile(&sorted, 99), percentile(&sorted[..1], 99)), (198.0, 1.0));
/// ```
#[must_use]
pub fn percentile(sorted: &[f64], percent: u64) -> f64 {
    let place = (percent * sorted.len() as u64).div_ceil(100).saturating_sub(1);
    sorted.get(place as usize).copied().unwrap_or(f64::NAN)
}

impl Outcome {
    /// Jobs that are unfinished.
    #[must_use]
    pub fn unfinished(&self) -> usize {
        self.jobs.iter().filter(|end| matches!(end, JobEnd::Unfinished)).count()
    }

    /// Whether a job is unfinished.
    #[must_use]
    pub fn stalled(&self) -> bool {
        self.unfinished() > 0
    }

    /// Whether no job arrived: there is nothing to judge a policy by, and figures that are of jobs have no value.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.jobs.is_empty()
    }

    /// A figure by its name.
    #[must_use]
    pub fn figure(&self, name: &str) -> Option<f64> {
        self.figures.iter().find(|(of, _)| *of == name)?.1
    }

    /// The figure that is to be made small or large; `None` if the episode stalled or no job arrived.
    #[must_use]
    pub fn objective(&self) -> Option<f64> {
        self.figures.first()?.1.filter(|_| !self.stalled())
    }
}
