//! What had an executor done before it launched a task?
//!
//! The first tasks of an executor load classes, and its first tasks of a stage fetch what the stage needs: durations are therefore kept by
//! wave. An executor of Spark runs a task on each of its cores, where schedulers here know executors that run one task at a time: with `k`
//! tasks of a stage at once for the first time, it is its `k`-th core that meets the stage for the first time. Of an executor with one core
//! this is its first task of the stage.
//!
//! The driver launches the next task on a core a little before it has noted the end of the last one. Where the cores of an executor are
//! known, no more tasks run at once than it has: those that end next have left theirs.

use super::log::Task;
use std::{
    cmp::Reverse,
    collections::{BinaryHeap, HashMap},
};

/// What an executor, one core of it, did before it launched the task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wave {
    /// No task of the application.
    Fresh,
    /// Tasks of other stages only.
    First,
    /// A task of the same stage.
    Rest,
}

/// Durations of the tasks of a stage, from launch to finish, ms, by [`Wave`]; in the order in which they were launched.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Waves {
    /// Those of [`Wave::Fresh`].
    pub fresh: Vec<f64>,
    /// Those of [`Wave::First`].
    pub first: Vec<f64>,
    /// Those of [`Wave::Rest`].
    pub rest: Vec<f64>,
}

impl Waves {
    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.fresh.len() + self.first.len() + self.rest.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub(super) fn push(&mut self, wave: Wave, duration_ms: i64) {
        let list = match wave {
            Wave::Fresh => &mut self.fresh,
            Wave::First => &mut self.first,
            Wave::Rest => &mut self.rest,
        };
        list.push(duration_ms as f64);
    }
}

/// What the cores of executors have done.
#[derive(Default)]
pub(super) struct Cores {
    executors: HashMap<u32, Busy>,
    /// By stage and executor.
    stages: HashMap<u32, HashMap<u32, OfStage>>,
}

/// An executor while its tasks are gone through.
#[derive(Default)]
struct Busy {
    /// Ends of the tasks that run, the next first, each with its stage.
    running: BinaryHeap<Reverse<(i64, u32)>>,
    /// Cores that have run a task.
    cores: usize,
}

/// A stage on an executor.
#[derive(Default)]
struct OfStage {
    /// Tasks of it that run.
    running: usize,
    /// Cores that have run one.
    cores: usize,
}

impl Cores {
    /// Launches a task where at most so many run at once, after those that were launched before it.
    pub(super) fn launch(&mut self, task: &Task, most: usize) -> Wave {
        let busy = self.executors.entry(task.executor).or_default();
        while let Some(Reverse((finish_ms, stage))) = busy.running.peek().copied() {
            if finish_ms > task.launch_ms && busy.running.len() < most {
                break;
            }
            busy.running.pop();
            if let Some(of) = self.stages.get_mut(&stage).and_then(|of| of.get_mut(&task.executor)) {
                of.running = of.running.saturating_sub(1);
            }
        }
        busy.running.push(Reverse((task.finish_ms.max(task.launch_ms), task.stage)));
        let of = self.stages.entry(task.stage).or_default().entry(task.executor).or_default();
        of.running += 1;
        let is_first = of.running > of.cores;
        of.cores = of.cores.max(of.running);
        let is_fresh = busy.running.len() > busy.cores;
        busy.cores = busy.cores.max(busy.running.len());
        match (is_fresh, is_first) {
            (true, _) => Wave::Fresh,
            (false, true) => Wave::First,
            (false, false) => Wave::Rest,
        }
    }

    /// Forgets a stage of which no task is launched any more.
    pub(super) fn forget(&mut self, stage: u32) {
        self.stages.remove(&stage);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spark::{Locality, TaskEnd, Tasks};

    fn of(runs: &[(i64, i64, u32, u32)], most: usize) -> Vec<Wave> {
        let tasks: Tasks = runs
            .iter()
            .zip(0..)
            .map(|(&(launch_ms, finish_ms, executor, stage), id)| Task {
                id,
                launch_ms,
                finish_ms,
                run_time_ms: 0,
                stage,
                stage_attempt: 0,
                index: 0,
                attempt: 0,
                executor,
                end: TaskEnd::Succeeded,
                locality: Locality::Any,
                is_repeated: false,
                is_speculative: false,
                is_shuffle_map: false,
            })
            .collect();
        let mut cores = Cores::default();
        tasks.iter().map(|task| cores.launch(&task, most)).collect()
    }

    #[test]
    fn of_one_core_the_first_tasks_are_told_from_later_ones() {
        use Wave::{First, Fresh, Rest};
        let runs = [(0, 5, 0, 0), (5, 7, 0, 0), (7, 9, 0, 1), (9, 10, 0, 0), (10, 11, 0, 1), (0, 1, 1, 1)];
        assert_eq!(of(&runs, usize::MAX), [Fresh, Fresh, Rest, First, Rest, Rest]);
    }

    #[test]
    fn every_core_has_first_tasks_of_its_own() {
        use Wave::{First, Fresh, Rest};
        let runs = [
            (0, 5, 0, 0),
            (0, 6, 0, 0),
            (5, 8, 0, 0),
            (6, 9, 0, 1),
            (8, 9, 0, 1),
            (9, 10, 0, 1),
            (9, 10, 0, 1),
            (9, 10, 0, 1),
        ];
        assert_eq!(of(&runs, usize::MAX), [Fresh, Fresh, Rest, First, First, Rest, Rest, Fresh]);
    }

    #[test]
    fn no_more_tasks_run_at_once_than_there_are_cores() {
        use Wave::{First, Fresh, Rest};
        let runs = [(0, 10, 0, 0), (0, 12, 0, 0), (9, 20, 0, 0), (11, 20, 0, 1)];
        assert_eq!(of(&runs, 2), [Fresh, Fresh, Rest, First]);
        assert_eq!(of(&runs, usize::MAX), [Fresh, Fresh, Fresh, First]);
    }
}
