//! What ran where, for schedule pictures.

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
    /// Every task is a run of its own.
    apart: bool,
}

impl Timeline {
    /// One in which every task is a run of its own.
    #[must_use]
    pub fn apart() -> Self {
        Self { apart: true, ..Self::default() }
    }

    /// Adds a run; one that goes on where the lane's latest ends prolongs that.
    #[inline]
    pub fn push(&mut self, run: TaskRun) {
        let lane = run.lane as usize;
        if self.latest.len() <= lane {
            self.latest.resize(lane + 1, u32::MAX);
        }
        if !self.apart
            && let Some(latest) = self.runs.get_mut(self.latest[lane] as usize)
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

/// Task runs of jobs that hold lanes of nodes for as long as they run, and who is on each lane now.
///
/// ```
/// use sched_distill_core::simulation::Occupancy;
/// let mut lanes = Occupancy::new(2, 4);
/// lanes.begin(7, 0, (1, 2), 10.0);
/// lanes.turn(7, 1, 15.0);
/// lanes.end(7, 20.0);
/// let told: Vec<_> = lanes.runs().iter().map(|run| (run.lane, run.part, run.start_ms, run.end_ms)).collect();
/// assert_eq!(told, [(4, 0, 10.0, 15.0), (5, 0, 10.0, 15.0), (4, 1, 15.0, 20.0), (5, 1, 15.0, 20.0)]);
/// ```
#[derive(Clone, Debug)]
pub struct Occupancy {
    node_lanes: u32,
    /// By lane: the job on it and the place of its run.
    lanes: Vec<Option<(u32, usize)>>,
    runs: Vec<TaskRun>,
}

impl Occupancy {
    /// Nodes with so many lanes each; lanes are numbered node by node.
    #[must_use]
    pub fn new(nodes: u32, node_lanes: u32) -> Self {
        Self { node_lanes, lanes: vec![None; (nodes * node_lanes) as usize], runs: Vec::new() }
    }

    /// A part of a job begins on the first free lanes of a node, so many of them.
    pub fn begin(&mut self, job: u32, part: u32, (node, lanes): (u32, u32), time_ms: f64) {
        let (first, mut left) = (node * self.node_lanes, lanes);
        for lane in first..first + self.node_lanes {
            if left > 0 && self.lanes[lane as usize].is_none() {
                self.put(lane, job, part, time_ms);
                left -= 1;
            }
        }
        debug_assert_eq!(left, 0, "node {node} has too few free lanes");
    }

    fn put(&mut self, lane: u32, job: u32, part: u32, time_ms: f64) {
        self.lanes[lane as usize] = Some((job, self.runs.len()));
        self.runs.push(TaskRun { lane, job, part, start_ms: time_ms, end_ms: f64::INFINITY });
    }

    /// Takes a job off its lanes; `each` sees them.
    fn leave(&mut self, job: u32, time_ms: f64, mut each: impl FnMut(&mut Self, u32)) {
        for lane in 0..self.lanes.len() {
            if let Some((_, run)) = self.lanes[lane].take_if(|(on, _)| *on == job) {
                self.runs[run].end_ms = time_ms;
                each(self, lane as u32);
            }
        }
    }

    /// A job goes on with another part.
    pub fn turn(&mut self, job: u32, part: u32, time_ms: f64) {
        self.leave(job, time_ms, |own, lane| own.put(lane, job, part, time_ms));
    }

    /// A job is taken off its lanes.
    pub fn end(&mut self, job: u32, time_ms: f64) {
        self.leave(job, time_ms, |_, _| ());
    }

    /// The runs in order of their start; those that go on have no end yet.
    #[must_use]
    pub fn runs(&self) -> &[TaskRun] {
        &self.runs
    }
}
