//! What an episode leaves behind.

use super::state::{NONE, Simulator, StageRef};

/// How an episode ended, and its figures.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// Whether all jobs were completed; otherwise the policy stranded the cluster.
    pub completed: bool,
    /// Jobs that were not completed.
    pub unfinished: usize,
    /// Completion time by job, ms; NaN for unfinished jobs.
    pub completion_ms: Vec<f64>,
    /// Mean of completion − arrival over all jobs, ms; `None` if a job is unfinished.
    pub mean_jct_ms: Option<f64>,
    /// From the first arrival to the last completion (to the end, if jobs are unfinished), ms.
    pub makespan_ms: f64,
    /// Clock when the event queue ran empty: late travellers may arrive after the last completion.
    pub final_time_ms: f64,
    /// Sum of all rewards.
    pub total_reward: f64,
    /// Events handled.
    pub events: u64,
    /// Questions asked.
    pub decisions: u64,
    /// Share of executor time, up to the makespan, spent on tasks.
    pub utilisation: f64,
    /// Mean number of jobs in the system up to the makespan.
    pub jobs_in_system: f64,
}

/// What happened to one stage.
#[derive(Clone, Debug, PartialEq)]
pub struct StageRecord {
    /// Which stage.
    pub stage: StageRef,
    /// When its first task was launched, ms; NaN if never.
    pub first_launch_ms: f64,
    /// When its last task ended, ms; NaN if never.
    pub completion_ms: f64,
    /// Launches by wave: fresh, first, rest.
    pub launches: [u32; 3],
}

/// An uninterrupted run of tasks of one stage on one executor, for schedule pictures.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TaskRun {
    /// The executor.
    pub executor: u32,
    /// The stage.
    pub stage: StageRef,
    /// Start of the first task, ms.
    pub start_ms: f64,
    /// End of the last task, ms.
    pub end_ms: f64,
}

impl Simulator {
    /// The outcome, once the episode has ended ([`Simulator::observation`] gives `None`).
    #[must_use]
    pub fn outcome(&self) -> Option<Outcome> {
        if self.observation().is_some() {
            return None;
        }
        let completion_ms: Vec<f64> = self.jobs.iter().map(|j| j.completion_ms).collect();
        let unfinished = completion_ms.iter().filter(|c| c.is_nan()).count();
        let first = self.jobs.first().map_or(0.0, |j| j.arrival_ms);
        let last = if unfinished == 0 { completion_ms.iter().copied().fold(first, f64::max) } else { self.time_ms };
        let makespan_ms = last - first;
        let job_time: f64 = self
            .jobs
            .iter()
            .map(|j| (if j.completion_ms.is_nan() { last } else { j.completion_ms } - j.arrival_ms).max(0.0))
            .sum();
        let span = makespan_ms.max(f64::MIN_POSITIVE);
        Some(Outcome {
            completed: unfinished == 0,
            unfinished,
            mean_jct_ms: (unfinished == 0).then(|| job_time / self.jobs.len() as f64),
            completion_ms,
            makespan_ms,
            final_time_ms: self.time_ms,
            total_reward: self.total_reward,
            events: self.events,
            decisions: self.decisions,
            utilisation: self.busy_ms / (f64::from(self.cluster.num_executors) * span),
            jobs_in_system: job_time / span,
        })
    }

    /// Job-time between two moments, ms: for each job, how much of it the job was in the system. What lies after the clock is
    /// taken to find unfinished jobs unfinished.
    #[must_use]
    pub fn job_time_ms(&self, from_ms: f64, to_ms: f64) -> f64 {
        // `min` takes the other number where a job has no completion time yet.
        self.jobs.iter().map(|j| (j.completion_ms.min(to_ms) - j.arrival_ms.max(from_ms)).max(0.0)).sum()
    }

    /// Arrival time by job, ms.
    pub fn arrivals_ms(&self) -> impl ExactSizeIterator<Item = f64> {
        self.jobs.iter().map(|j| j.arrival_ms)
    }

    /// What happened to each stage, by job and stage.
    #[must_use]
    pub fn stage_records(&self) -> Vec<StageRecord> {
        let record = |job: u32, stage: u32| {
            let s = &self.stages[(self.jobs[job as usize].first_stage + stage) as usize];
            let [fresh, first] = s.launches;
            StageRecord {
                stage: StageRef { job, stage },
                first_launch_ms: s.first_launch_ms,
                completion_ms: s.completion_ms,
                launches: [fresh, first, s.num_tasks - s.remaining - fresh - first],
            }
        };
        (0..self.jobs.len() as u32)
            .flat_map(|job| (0..self.jobs[job as usize].num_stages).map(move |stage| (job, stage)))
            .map(|(job, stage)| record(job, stage))
            .collect()
    }

    /// Keeps the task runs of the rest of the episode for [`Simulator::task_runs`].
    pub fn record_timeline(&mut self) {
        self.timeline.get_or_insert_default();
    }

    /// Task runs in order of their start, if [`Simulator::record_timeline`] was called.
    #[must_use]
    pub fn task_runs(&self) -> &[TaskRun] {
        self.timeline.as_ref().map_or(&[], |t| &t.runs)
    }
}

/// Task runs, and per executor the one that a following task may prolong.
#[derive(Clone, Debug, Default)]
pub(super) struct Timeline {
    runs: Vec<TaskRun>,
    latest: Vec<u32>,
}

impl Timeline {
    pub(super) fn push(&mut self, run: TaskRun) {
        let executor = run.executor as usize;
        if self.latest.len() <= executor {
            self.latest.resize(executor + 1, NONE);
        }
        if let Some(latest) = self.runs.get_mut(self.latest[executor] as usize)
            && latest.stage == run.stage
            && latest.end_ms == run.start_ms
        {
            latest.end_ms = run.end_ms;
            return;
        }
        self.latest[executor] = self.runs.len() as u32;
        self.runs.push(run);
    }
}
