//! How much work was it?

use super::log::{Application, Task, TaskEnd};
use std::collections::{BTreeMap, HashMap};

/// Sums over tasks: all that ran, failed and killed ones included. That a task was [resubmitted](TaskEnd::Resubmitted) is not another run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// How many tasks.
    pub num_tasks: u64,
    /// Sum of their durations, from launch to finish, ms.
    pub duration_sum_ms: i64,
    /// Longest duration, ms.
    pub duration_max_ms: i64,
    /// Sum of their `Executor Run Time`, ms.
    pub executor_run_time_sum_ms: i64,
}

impl Totals {
    fn add(&mut self, task: &Task) {
        let duration_ms = task.duration_ms();
        self.num_tasks += 1;
        self.duration_sum_ms = self.duration_sum_ms.saturating_add(duration_ms);
        self.duration_max_ms = self.duration_max_ms.max(duration_ms);
        self.executor_run_time_sum_ms = self.executor_run_time_sum_ms.saturating_add(task.run_time_ms);
    }

    /// By id and attempt of the stage.
    pub(super) fn of_stages(application: &Application) -> BTreeMap<(u32, u32), Self> {
        of(application, |task| Some((task.stage, task.stage_attempt)))
    }

    /// By id of the job.
    pub(super) fn of_jobs(application: &Application) -> BTreeMap<u32, Self> {
        let jobs: HashMap<u32, u32> = application
            .stages
            .iter()
            .filter_map(|stage| Some((stage.id, application.jobs.get(stage.job? as usize)?.id)))
            .collect();
        of(application, |task| jobs.get(&task.stage).copied())
    }
}

fn of<K: Ord>(application: &Application, key: impl Fn(&Task) -> Option<K>) -> BTreeMap<K, Totals> {
    let mut totals: BTreeMap<K, Totals> = BTreeMap::new();
    for task in application.tasks.iter().filter(|task| task.end != TaskEnd::Resubmitted) {
        if let Some(key) = key(&task) {
            totals.entry(key).or_default().add(&task);
        }
    }
    totals
}
