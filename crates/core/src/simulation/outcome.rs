//! What an episode leaves behind.

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
    /// Clock when nothing was left to happen; this may be after the last completion.
    pub final_time_ms: f64,
    /// Sum of all rewards.
    pub total_reward: f64,
    /// Events handled.
    pub events: u64,
    /// Questions asked.
    pub decisions: u64,
    /// Share of the cluster's time, up to the makespan, spent on tasks.
    pub utilisation: f64,
    /// Mean number of jobs in the system up to the makespan.
    pub jobs_in_system: f64,
}

/// An uninterrupted run of tasks of one part of a job on one lane, for schedule pictures.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TaskRun {
    /// The lane: where tasks run one after the other.
    pub lane: u32,
    /// The job.
    pub job: u32,
    /// The part of the job.
    pub part: u32,
    /// Start of the first task, ms.
    pub start_ms: f64,
    /// End of the last task, ms.
    pub end_ms: f64,
}

/// Task runs, and per lane the one that a following task may prolong.
#[derive(Clone, Debug, Default)]
pub struct Timeline {
    runs: Vec<TaskRun>,
    latest: Vec<u32>,
}

impl Timeline {
    /// Adds a run; one that goes on where the lane's latest ends prolongs that.
    #[inline]
    pub fn push(&mut self, run: TaskRun) {
        let lane = run.lane as usize;
        if self.latest.len() <= lane {
            self.latest.resize(lane + 1, u32::MAX);
        }
        if let Some(latest) = self.runs.get_mut(self.latest[lane] as usize)
            && (latest.job, latest.part) == (run.job, run.part)
            && latest.end_ms == run.start_ms
        {
            latest.end_ms = run.end_ms;
            return;
        }
        self.latest[lane] = self.runs.len() as u32;
        self.runs.push(run);
    }

    /// The runs in order of their start.
    #[must_use]
    pub fn runs(&self) -> &[TaskRun] {
        &self.runs
    }
}
