//! The cluster as DL2's network sees it (Peng et al., arXiv 1909.06040): a window of jobs, a state matrix, and numbered actions.
//!
//! Columns are the live jobs that do not have both maxima, in order of arrival, as many as the window is wide. With `K` columns
//! there are `3K + 1` actions: for column `k`, action `3k` adds a worker, `3k + 1` a parameter server, `3k + 2` both; the last
//! one closes the slot. Before the first action of a slot comes a round of bundles, see [`next_bundle`].

use crate::state::{Decision, JobView, Placement, Task, View};

/// Rows of the state: type (from 1), slots since arrival, remaining share, dominant share, workers, parameter servers.
pub const ROWS: usize = 6;

/// The jobs in the columns. Its buffer is used again for the next question.
///
/// ```
/// use sched_distill_training::{Decision, Task, heuristic::window::Window, simulator::Simulator, workload::TrainingWorkload};
/// use sched_distill_core::{simulation::Simulation as _, spec::Spec};
/// let workload = TrainingWorkload::open(&"builtin,jobs=9".parse::<Spec>()?)?;
/// let sim = Simulator::new(workload.cluster().clone(), workload.jobs(1), 1);
/// let seen = sim.view().expect("jobs have arrived");
/// let mut window = Window::new(20);
/// window.look(&seen);
/// assert_eq!(window.jobs(), [0, 1, 2]);
/// assert_eq!(window.decision(4), Some(Decision::Add { job: 1, task: Task::Server, node: None }));
/// assert_eq!(window.decision(60), Some(Decision::Close));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Window {
    width: usize,
    jobs: Vec<u32>,
}

impl Window {
    /// A window of `width` columns.
    #[must_use]
    pub fn new(width: usize) -> Self {
        Self { width, jobs: Vec::with_capacity(width) }
    }

    /// Number of columns, empty ones included.
    #[must_use]
    pub fn width(&self) -> usize {
        self.width
    }

    /// Number of actions.
    #[must_use]
    pub fn actions(&self) -> usize {
        3 * self.width + 1
    }

    /// Takes in the jobs of a question.
    pub fn look(&mut self, seen: &View<'_>) {
        let wants = |job: &&u32| {
            let view = seen.job(**job);
            view.can_take(Task::Worker) || view.can_take(Task::Server)
        };
        self.jobs.clear();
        self.jobs.extend(seen.live_jobs().iter().filter(wants).take(self.width));
    }

    /// The jobs by column.
    #[must_use]
    pub fn jobs(&self) -> &[u32] {
        &self.jobs
    }

    /// Writes the state of the question that was looked at to `out`, row after row, [`ROWS`] by the width; 0 in empty columns.
    pub fn write_state(&self, seen: &View<'_>, out: &mut Vec<f32>) {
        self.write_state_with(seen, |job| job.dominant_share(), out);
    }

    /// The same with another row of shares. DL2 takes the labels of its supervised warm-up from states whose dominant shares are
    /// left over from the slot before until a job gets its first task.
    pub fn write_state_with(&self, seen: &View<'_>, share: impl Fn(JobView<'_>) -> f64, out: &mut Vec<f32>) {
        out.clear();
        out.resize(ROWS * self.width, 0.0);
        for (place, &job) in self.jobs.iter().enumerate() {
            let view = seen.job(job);
            for (row, value) in column(view, share(view)).into_iter().enumerate() {
                out[row * self.width + place] = value;
            }
        }
    }

    /// Writes to `out` which actions may be chosen. The maxima decide, not the room on the nodes; the last action always may be.
    pub fn write_mask(&self, seen: &View<'_>, out: &mut Vec<bool>) {
        out.clear();
        out.extend(self.jobs.iter().flat_map(|&job| Task::ALL.map(|task| seen.job(job).can_take(task))));
        out.resize(3 * self.width, false);
        out.push(true);
    }

    /// The decision that an action stands for; `None` for an empty column or a number beyond the actions.
    #[must_use]
    pub fn decision(&self, action: usize) -> Option<Decision> {
        if action == 3 * self.width {
            return Some(Decision::Close);
        }
        let job = *self.jobs.get(action / 3)?;
        Some(Decision::Add { job, task: Task::ALL[action % 3], node: None })
    }

    /// The action that stands for a decision; `None` if the job has no column. The node does not count.
    #[must_use]
    pub fn action(&self, decision: Decision) -> Option<usize> {
        match decision {
            Decision::Close => Some(3 * self.width),
            Decision::Add { job, task, .. } => {
                let column = self.jobs.iter().position(|&j| j == job)?;
                Some(3 * column + task as usize)
            }
        }
    }
}

/// The state's column of a job whose dominant share is taken to be `share`.
#[must_use]
pub fn column(job: JobView<'_>, share: f64) -> [f32; ROWS] {
    [
        f64::from(job.kind()) + 1.0,
        f64::from(job.stay()),
        job.remaining_share(),
        share,
        f64::from(job.workers()),
        f64::from(job.servers()),
    ]
    .map(|value| value as f32)
}

/// The next decision of the round of bundles at the start of a slot, against starvation: every live job in order of arrival
/// gets a worker and a parameter server if they fit the head node. `None` when the round is over.
///
/// The round is on as long as nothing but such bundles has been placed. A job that was passed over for want of room is not
/// come back to.
#[must_use]
pub fn next_bundle(seen: &View<'_>) -> Option<Decision> {
    let mut from = 0;
    for tasks in seen.placements().chunks(2) {
        let [worker, server] = tasks else { return None };
        let is_bundle = worker.task == Task::Worker && *server == Placement { task: Task::Server, ..*worker };
        if !is_bundle || worker.job < from {
            return None;
        }
        from = worker.job + 1;
    }
    let live = seen.live_jobs();
    let rest = &live[live.partition_point(|&job| job < from)..];
    let job = rest.iter().copied().find(|&job| seen.job(job).can_take(Task::Both) && seen.fits(job, Task::Both))?;
    Some(Decision::Add { job, task: Task::Both, node: None })
}
