//! Jobs that were recorded somewhere, as episodes.

use super::{Simulated, Source, Workload};
use crate::{
    policy::Policy,
    rng::{EpisodeId, Split},
    workload::{Cut, Span, Windows, Work},
};
use std::{error::Error, io::Write, path::PathBuf};

/// A job that arrives at a time, and of which it may be known when it had ended.
pub trait Dated: Clone {
    /// When it arrives, ms.
    fn arrival_ms(&self) -> f64;

    /// The same job arriving at another time, with what is recorded of it.
    #[must_use]
    fn arriving(self, arrival_ms: f64) -> Self;

    /// When it had ended where it was recorded, ms; the default does not know.
    fn ended_ms(&self) -> Option<f64> {
        None
    }

    /// What is left of it at a time after its arrival, where it was recorded, as a job that arrives then; `None` if nothing is, or that is
    /// not known, which is the default.
    fn left_at(&self, _time_ms: f64) -> Option<Self> {
        None
    }
}

/// A schedule as it was recorded, to be carried out again.
pub struct Replay<S: Simulated> {
    /// Schedules in the order that was recorded.
    pub policy: Box<dyn Policy<S>>,
    /// By job, how long after its arrival it was completed, ms; `None` if it was not, or that is not known.
    pub completed_ms: Vec<Option<f64>>,
    /// Jobs of which it is not known when they ran. They start when they arrive.
    pub unknown: usize,
}

impl<S: Simulated> Replay<S> {
    /// Whether it is known of nine jobs in ten when they ran: there is no schedule to speak of otherwise.
    #[must_use]
    pub fn is_recorded(&self) -> bool {
        10 * self.unknown <= self.completed_ms.len()
    }
}

/// How an episode is written as the log that a cluster of this kind leaves.
pub struct LogDef<S: Simulated> {
    /// What it is: `Spark event log`.
    pub what: &'static str,
    /// Lets a policy schedule an episode, which has a name, and writes down what happened.
    pub write: WriteLog<S>,
}

/// Lets a policy schedule an episode, which has a name, and writes down what happened.
pub type WriteLog<S> =
    fn(&Workload<S>, &mut dyn Policy<S>, EpisodeId, &str, &mut dyn Write) -> Result<(), Box<dyn Error + Send + Sync>>;

/// What jobs come to: the events that each needs, and the memory of each, bytes.
pub struct Costs<'a, J> {
    /// Events of a job.
    pub events: &'a dyn Fn(&J) -> f64,
    /// Bytes of a job.
    pub bytes: f64,
}

/// Jobs of a history, cut into episodes or whole.
#[derive(Clone, Debug)]
pub struct History<J> {
    /// In order of arrival.
    jobs: Vec<J>,
    windows: Option<Windows>,
    rate: f64,
    work: Work,
}

impl<J: Dated> History<J> {
    /// These jobs, in order of arrival. Where the cut names no length, a window has about `window_jobs`.
    ///
    /// # Errors
    ///
    /// A history that is too short to be cut.
    pub fn new(jobs: Vec<J>, cut: &Cut, window_jobs: u32, costs: &Costs<'_, J>) -> Result<Self, String> {
        let spans: Vec<Span> = jobs.iter().map(|job| (job.arrival_ms(), job.ended_ms())).collect();
        let windows = cut.windows(&spans, window_jobs)?;
        let mut before = vec![0.0];
        for job in &jobs {
            before.push(before[before.len() - 1] + (costs.events)(job));
        }
        let work = |from: usize, to: usize, from_ms: f64| Work {
            jobs: (to - from) as f64,
            events: before[to] - before[from],
            bytes: costs.bytes * (to - from) as f64,
            last_ms: (jobs[to - 1].arrival_ms() - from_ms) / cut.rate(),
        };
        let work = match &windows {
            None if jobs.is_empty() => Work::default(),
            None => work(0, jobs.len(), 0.0),
            Some(windows) => {
                let all = windows.iter().map(|w| work(w.jobs.start, w.jobs.end, w.from_ms));
                all.max_by(|a, b| a.events.total_cmp(&b.events)).unwrap_or_default()
            }
        };
        Ok(Self { jobs, windows, rate: cut.rate(), work })
    }

    /// How long an episode lasts where jobs arrive at this history's rate, ms; `None` if it has all jobs.
    #[must_use]
    pub fn window_ms(&self) -> Option<f64> {
        Some(self.windows.as_ref()?.length_ms() / self.rate)
    }

    /// The jobs of an episode: with a window, first what is left of jobs that were there when it began, which arrive at once.
    #[must_use]
    pub fn episode(&self, id: EpisodeId) -> Vec<J> {
        let Some(windows) = &self.windows else { return self.all() };
        let window = windows.of(id);
        let earlier = &self.jobs[window.since..window.jobs.start];
        let left = earlier.iter().filter_map(|job| job.left_at(window.from_ms)).map(|job| job.arriving(0.0));
        left.chain(self.jobs[window.jobs.clone()].iter().map(|job| self.at(job, window.from_ms))).collect()
    }

    /// All jobs, in order of arrival.
    #[must_use]
    pub fn all(&self) -> Vec<J> {
        self.jobs.iter().map(|job| self.at(job, 0.0)).collect()
    }

    /// A job as it arrives in an episode that begins at a time.
    fn at(&self, job: &J, from_ms: f64) -> J {
        job.clone().arriving((job.arrival_ms() - from_ms) / self.rate)
    }

    /// What an episode with the most events comes to.
    #[must_use]
    pub fn work(&self) -> Work {
        self.work
    }

    /// How many different episodes a split has, where they are few and intervals are made of them.
    #[must_use]
    pub fn most_episodes(&self, split: Split) -> Option<u32> {
        self.windows.as_ref()?.most_episodes(split)
    }

    /// What the episodes of a split are cut from, if it is cut: how long it is, ms, and with how many jobs.
    #[must_use]
    pub fn period(&self, split: Split) -> Option<(f64, usize)> {
        self.windows.as_ref()?.period(split)
    }

    /// Jobs that may be known beforehand: those of the windows of training, in order of arrival; all if it is not cut.
    #[must_use]
    pub fn known(&self) -> Vec<&J> {
        match &self.windows {
            None => self.jobs.iter().collect(),
            Some(windows) => {
                let mut is_known = vec![false; self.jobs.len()];
                windows.of_split(Split::Train).iter().for_each(|window| is_known[window.jobs.clone()].fill(true));
                self.jobs.iter().zip(is_known).filter_map(|(job, is_known)| is_known.then_some(job)).collect()
            }
        }
    }

    /// How it is cut, if it is.
    #[must_use]
    pub fn cut(&self) -> Option<String> {
        self.windows.as_ref().map(Windows::to_string)
    }

    /// As a workload; `files` define it.
    #[must_use]
    pub fn on<S: Simulated<Job = J>>(self, cluster: S::Cluster, files: Vec<PathBuf>) -> Workload<S>
    where
        J: std::fmt::Debug + Send + Sync + 'static,
    {
        let cut = self.cut();
        Workload::new(cluster, self, files).with_notes(cut)
    }
}

impl<S: Simulated> Source<S> for History<S::Job>
where
    S::Job: Dated,
{
    fn jobs(&self, _: &S::Cluster, id: EpisodeId) -> Vec<S::Job> {
        self.episode(id)
    }

    fn work(&self, _: &S::Cluster) -> Work {
        self.work
    }

    fn most_episodes(&self, split: Split) -> Option<u32> {
        self.most_episodes(split)
    }

    fn period(&self, split: Split) -> Option<(f64, usize)> {
        self.period(split)
    }

    fn all_jobs(&self, _: &S::Cluster) -> Option<Vec<S::Job>> {
        Some(self.all())
    }
}
