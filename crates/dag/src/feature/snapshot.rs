//! One pass over the cluster at a question: what the features of all levels are made of.

use crate::state::{JobView, StageRef, Stamp, View};

/// Figures of one active job.
#[derive(Clone, Copy, Debug)]
pub(super) struct JobFigures {
    pub(super) job: u32,
    // What its tasks say, as long as its stamp stays:
    stamp: Stamp,
    pub(super) work_ms: f64,
    pub(super) tasks: u32,
    pub(super) stages: u32,
    pub(super) running: u32,
    /// Work and tasks along the path with most work.
    pub(super) path_ms: f64,
    pub(super) path_tasks: u32,
    /// Share of the job's tasks already launched.
    pub(super) progress: f64,
    /// Where the job's stages begin in the per-stage list, and their number.
    first_stage: u32,
    num_stages: u32,
    // What belongs to the question:
    pub(super) supply: u32,
    pub(super) age_ms: f64,
    /// Schedulable stages as a range of [`Snapshot::ready`].
    pub(super) ready: (u32, u32),
    pub(super) ready_tasks: u32,
    pub(super) ready_demand: u32,
    pub(super) ready_work_ms: f64,
    pub(super) smallest_ready_ms: f64,
}

impl JobFigures {
    /// Remaining work ÷ tasks not launched.
    pub(super) fn mean_task_ms(&self) -> f64 {
        self.work_ms / f64::from(self.tasks).max(1.0)
    }
}

/// Figures of one stage of an active job, by stage id.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct StageFigures {
    pub(super) work_ms: f64,
    /// Work on the path with most work from here on, this stage included, and its tasks.
    pub(super) path_ms: f64,
    pub(super) path_tasks: u32,
    /// Whether the stage lies on its job's path with most work (the first such path).
    pub(super) on_path: bool,
    next_on_path: Option<u32>,
}

/// The cluster at a question, summed up.
#[derive(Clone, Debug, Default)]
pub struct Snapshot {
    pub(super) jobs: Vec<JobFigures>,
    stages: Vec<StageFigures>,
    /// Those of the question before.
    old_jobs: Vec<JobFigures>,
    old_stages: Vec<StageFigures>,
    /// The question's schedulable stages, in order.
    pub(super) ready: Vec<StageRef>,
    /// Places in `jobs` of those with a schedulable stage: the candidates of the job level.
    candidates: Vec<u32>,
    pub(super) total_work_ms: f64,
    /// Largest over median remaining work of a job.
    pub(super) work_spread: f64,
    pub(super) busy: u32,
    pub(super) moving: u32,
    sorted: Vec<f64>,
}

impl Snapshot {
    /// Takes in the cluster at a question.
    pub fn update(&mut self, seen: &View<'_>) {
        std::mem::swap(&mut self.jobs, &mut self.old_jobs);
        std::mem::swap(&mut self.stages, &mut self.old_stages);
        self.jobs.clear();
        self.stages.clear();
        self.ready.clear();
        self.candidates.clear();
        self.ready.extend_from_slice(seen.schedulable());
        let (mut next_ready, mut next_old) = (0, 0);
        for &id in seen.active_jobs() {
            // Both lists are in order of arrival.
            while self.old_jobs.get(next_old).is_some_and(|old| old.job < id) {
                next_old += 1;
            }
            let first_ready = next_ready;
            while self.ready.get(next_ready).is_some_and(|s| s.job == id) {
                next_ready += 1;
            }
            let figures = self.job_figures(seen, id, next_old, first_ready..next_ready);
            if next_ready > first_ready {
                self.candidates.push(self.jobs.len() as u32);
            }
            self.jobs.push(figures);
        }
        self.total_work_ms = self.jobs.iter().map(|j| j.work_ms).sum();
        self.sorted.clear();
        self.sorted.extend(self.jobs.iter().map(|j| j.work_ms));
        self.sorted.sort_unstable_by(f64::total_cmp);
        let at = |i: usize| self.sorted.get(i).copied().unwrap_or(0.0);
        let median = (at(self.sorted.len().saturating_sub(1) / 2) + at(self.sorted.len() / 2)) / 2.0;
        self.work_spread = self.sorted.last().copied().unwrap_or(0.0) / median.max(1.0);
        self.busy = seen.busy_executors();
        self.moving = seen.moving_executors();
    }

    fn job_figures(&mut self, seen: &View<'_>, id: u32, old: usize, ready: std::ops::Range<usize>) -> JobFigures {
        let job = seen.job(id);
        let mut figures = match self.old_jobs.get(old).filter(|old| old.stamp == job.stamp()) {
            // Nothing has happened to its tasks since the question before.
            Some(&old) => {
                let (first, first_stage) = (old.first_stage as usize, self.stages.len() as u32);
                self.stages.extend_from_slice(&self.old_stages[first..first + old.num_stages as usize]);
                JobFigures { first_stage, ..old }
            }
            None => self.task_figures(&job),
        };
        figures.supply = job.supply();
        figures.age_ms = seen.time_ms() - job.arrival_ms();
        figures.ready = (ready.start as u32, ready.end as u32);
        (figures.ready_tasks, figures.ready_demand, figures.ready_work_ms) = (0, 0, 0.0);
        figures.smallest_ready_ms = f64::INFINITY;
        for stage in &self.ready[ready] {
            let view = job.stage(stage.stage);
            figures.ready_tasks = figures.ready_tasks.saturating_add(view.remaining());
            figures.ready_demand = figures.ready_demand.saturating_add(view.demand());
            figures.ready_work_ms += view.work_ms();
            figures.smallest_ready_ms = figures.smallest_ready_ms.min(view.work_ms());
        }
        figures
    }

    /// The figures of a job's tasks; those that belong to the question are left at 0.
    fn task_figures(&mut self, job: &JobView<'_>) -> JobFigures {
        let first = self.stages.len();
        let graph = job.graph();
        let num_stages = graph.stages().len();
        let mut figures = JobFigures {
            job: job.id(),
            stamp: job.stamp(),
            work_ms: 0.0,
            tasks: 0,
            stages: 0,
            running: 0,
            path_ms: 0.0,
            path_tasks: 0,
            progress: 0.0,
            first_stage: first as u32,
            num_stages: num_stages as u32,
            supply: 0,
            age_ms: 0.0,
            ready: (0, 0),
            ready_tasks: 0,
            ready_demand: 0,
            ready_work_ms: 0.0,
            smallest_ready_ms: 0.0,
        };
        self.stages.resize(first + num_stages, StageFigures::default());
        let (mut all_tasks, mut head) = (0u32, None);
        for &id in graph.topological().iter().rev() {
            let stage = job.stage(id);
            all_tasks = all_tasks.saturating_add(stage.num_tasks());
            if stage.is_complete() {
                continue;
            }
            let work_ms = stage.work_ms();
            let mut own =
                StageFigures { work_ms, path_ms: work_ms, path_tasks: stage.remaining(), ..Default::default() };
            for &child in graph.children(id) {
                let below = &self.stages[first + child as usize];
                if work_ms + below.path_ms > own.path_ms {
                    own.path_ms = work_ms + below.path_ms;
                    own.path_tasks = stage.remaining().saturating_add(below.path_tasks);
                    own.next_on_path = Some(child);
                }
            }
            self.stages[first + id as usize] = own;
            figures.work_ms += work_ms;
            figures.tasks = figures.tasks.saturating_add(stage.remaining());
            figures.running = figures.running.saturating_add(stage.executing());
            figures.stages += 1;
            if own.path_ms > figures.path_ms {
                (figures.path_ms, figures.path_tasks) = (own.path_ms, own.path_tasks);
                head = Some(id);
            }
        }
        while let Some(id) = head {
            let on_path = &mut self.stages[first + id as usize];
            on_path.on_path = true;
            head = on_path.next_on_path;
        }
        figures.progress = 1.0 - f64::from(figures.tasks) / f64::from(all_tasks.max(1));
        figures
    }

    /// Numbers of the jobs with a schedulable stage, in arrival order: the candidates of the job level.
    #[inline]
    pub fn candidate_jobs(&self) -> impl ExactSizeIterator<Item = u32> {
        self.candidates.iter().map(|&i| self.jobs[i as usize].job)
    }

    /// Schedulable stages of candidate job number `candidate` (its place in [`Snapshot::candidate_jobs`]).
    #[inline]
    #[must_use]
    pub fn candidate_stages(&self, candidate: usize) -> &[StageRef] {
        &self.ready[self.candidate_places(candidate)]
    }

    /// Where they stand among all schedulable stages.
    #[inline]
    #[must_use]
    pub fn candidate_places(&self, candidate: usize) -> std::ops::Range<usize> {
        let (start, end) = self.candidate(candidate).ready;
        start as usize..end as usize
    }

    /// Their places among the active jobs, and their figures.
    pub(super) fn candidates(&self) -> impl ExactSizeIterator<Item = (u32, &JobFigures)> {
        self.candidates.iter().map(|&place| (place, &self.jobs[place as usize]))
    }

    pub(super) fn candidate(&self, candidate: usize) -> &JobFigures {
        &self.jobs[self.candidates[candidate] as usize]
    }

    pub(super) fn stage(&self, job: &JobFigures, stage: u32) -> &StageFigures {
        &self.stages[(job.first_stage + stage) as usize]
    }
}
