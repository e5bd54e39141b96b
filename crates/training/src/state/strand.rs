//! Decisions after which a slot may pass in which no job trains, although one could have been started.

use super::{JobView, Task, View, view::Decision};

/// What a job lacks to train.
fn lacks(workers: u32, servers: u32) -> Option<Task> {
    match (workers, servers) {
        (0, 0) => Some(Task::Both),
        (0, _) => Some(Task::Worker),
        (_, 0) => Some(Task::Server),
        _ => None,
    }
}

impl View<'_> {
    /// Whether a job that does not train could be started.
    pub(crate) fn could_start(&self) -> bool {
        let could_start = |job: JobView<'_>| {
            let lacks = lacks(job.workers(), job.servers());
            lacks.is_some_and(|task| job.can_take(task) && self.fits(job.id(), task))
        };
        self.live_jobs().iter().any(|&id| could_start(self.job(id)))
    }

    /// Whether no job may train in this slot after a legal decision, although one could be started now: who would decide so again in
    /// the next slot strands the cluster. No job trains yet, and either the slot is closed, or a task is added that starts no job
    /// and after which the head has room for none that would.
    ///
    /// Where a decision strands, there is another that does not: what starts the job. A policy that avoids these decisions starts
    /// a job in every slot in which that is possible.
    ///
    /// ```
    /// use sched_distill_training::{ClusterState, Decision, Task, cluster::{Speed, TrainingCluster, job_types}};
    ///
    /// let types = job_types();
    /// let speed = Speed::formula(&types, 1200.0, [4, 4], 0.0)?;
    /// let mut state = ClusterState::new(TrainingCluster {
    ///     types, nodes: 3, node_slots: [8, 8], slot_s: 1200.0, max_workers: 4, max_servers: 4, speed: speed.into(), speed_error: 0.0,
    /// })?;
    /// state.add_job(5, "resnet-50", 40, 30.0)?;
    /// let seen = state.open_slot(42)?.expect("a job waits");
    /// let worker = Decision::Add { job: 5, task: Task::Worker, node: None };
    /// assert!(seen.strands(Decision::Close) && !seen.strands(worker));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn strands(&self, decision: Decision) -> bool {
        let jobs = || self.live_jobs().iter().map(|&id| self.job(id));
        // Nearly all decisions end here.
        if jobs().any(|job| lacks(job.workers(), job.servers()).is_none()) {
            return false;
        }
        if !self.could_start() {
            return false;
        }
        let Decision::Add { job: given, task, node } = decision else { return true };
        let [workers, servers] = task.counts();
        let job = self.job(given);
        if lacks(job.workers() + workers, job.servers() + servers).is_none() {
            return false;
        }
        // The head afterwards, and what is free there.
        let (place, asked) = (node.unwrap_or_else(|| self.head()), job.request(task));
        let head = self.state.head_after(place, asked);
        let taken = if head == place { asked } else { [0; 2] };
        let [cpu, gpu] = self.node_free(head);
        let [cpu, gpu] = [cpu - taken[0], gpu - taken[1]];
        !jobs().any(|job| {
            let mut has = [job.workers(), job.servers()];
            if job.id() == given {
                has = [has[0] + workers, has[1] + servers];
            }
            let (most_workers, most_servers) = (self.cluster().max_workers, self.cluster().max_servers);
            lacks(has[0], has[1]).is_some_and(|task| {
                let ([w, s], asked) = (task.counts(), job.request(task));
                has[0] + w <= most_workers && has[1] + s <= most_servers && asked[0] <= cpu && asked[1] <= gpu
            })
        })
    }
}
