//! What had an executor done before it launched a task?
//!
//! The first tasks of an executor load classes, and its first tasks of a stage fetch what the stage needs: durations are therefore kept by
//! wave. An executor of Spark runs a task on each of its cores, where schedulers here know executors that run one task at a time: with `k`
//! tasks of a stage at once for the first time, it is its `k`-th core that meets the stage for the first time. Of an executor with one core
//! this is its first task of the stage.
//!
//! The driver launches the next task on a core a little before it has noted the end of the last one. Where the cores of an executor are
//! known, no more tasks run at once than it has: those that end next have left theirs.

use super::log::{Task, TaskEnd};
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

/// Durations of the tasks of a stage, from launch to finish, ms, by [`Wave`]; in the order in which they ended.
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

/// Places of tasks in the order of their launches; ends that are no run of their own are not among them.
pub(super) fn by_launch(tasks: &[Task]) -> Vec<usize> {
    let ran = |&(_, task): &(usize, &Task)| task.end != TaskEnd::Resubmitted;
    let mut order: Vec<(i64, i64, usize)> =
        tasks.iter().enumerate().filter(ran).map(|(place, task)| (task.launch_ms, task.id, place)).collect();
    order.sort_unstable();
    order.into_iter().map(|(.., place)| place).collect()
}

/// An executor while its tasks are gone through.
#[derive(Default)]
struct Busy {
    /// Ends of the tasks that run, the next first, each with its stage.
    running: BinaryHeap<Reverse<(i64, u32)>>,
    /// Cores that have run a task.
    cores: usize,
    /// By stage: tasks of it that run, and cores that have run one.
    stages: HashMap<u32, (usize, usize)>,
}

impl Busy {
    /// Launches a task where at most so many run at once.
    fn launch(&mut self, task: &Task, most: usize) -> Wave {
        while let Some(Reverse((finish_ms, stage))) = self.running.peek().copied() {
            if finish_ms > task.launch_ms && self.running.len() < most {
                break;
            }
            self.running.pop();
            if let Some((running, _)) = self.stages.get_mut(&stage) {
                *running = running.saturating_sub(1);
            }
        }
        self.running.push(Reverse((task.finish_ms.max(task.launch_ms), task.stage)));
        let (running, known) = self.stages.entry(task.stage).or_default();
        *running += 1;
        let is_first = *running > *known;
        *known = (*known).max(*running);
        let is_fresh = self.running.len() > self.cores;
        self.cores = self.cores.max(self.running.len());
        match (is_fresh, is_first) {
            (true, _) => Wave::Fresh,
            (false, true) => Wave::First,
            (false, false) => Wave::Rest,
        }
    }
}

/// The wave of each task, by its place; `order` is that of the launches, and an executor runs at most so many tasks at once.
pub(super) fn waves(tasks: &[Task], order: &[usize], most: impl Fn(u32) -> usize) -> Vec<Wave> {
    let mut waves = vec![Wave::Rest; tasks.len()];
    let mut executors: HashMap<u32, Busy> = HashMap::new();
    for &place in order {
        if let (Some(task), Some(wave)) = (tasks.get(place), waves.get_mut(place)) {
            *wave = executors.entry(task.executor).or_default().launch(task, most(task.executor));
        }
    }
    waves
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spark::Locality;

    fn of(runs: &[(i64, i64, u32, u32)], most: usize) -> Vec<Wave> {
        let tasks: Vec<Task> = runs
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
                is_speculative: false,
                is_shuffle_map: false,
            })
            .collect();
        waves(&tasks, &by_launch(&tasks), |_| most)
    }

    #[test]
    fn of_one_core_the_first_tasks_are_told_from_later_ones() {
        use Wave::{First, Fresh, Rest};
        let runs = [(0, 5, 0, 0), (5, 7, 0, 0), (7, 9, 0, 1), (9, 10, 0, 0), (10, 11, 0, 1), (0, 1, 1, 1)];
        assert_eq!(of(&runs, usize::MAX), [Fresh, Rest, First, Rest, Rest, Fresh]);
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
