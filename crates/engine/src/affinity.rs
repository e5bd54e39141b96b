//! Which executor does which task: the one that did it in the pass before, if that does not make the others wait.
//!
//! In all passes over the same parts of a level the partitions of a scan have the same numbers, and whoever has read a part has its
//! choices, in bins too, on its disk ([`crate::kept`]); anybody else begins with the file of the trace.

use crate::scan::PartScan;
use async_trait::async_trait;
use ballista_core::{
    JobId,
    serde::{
        protobuf::{AvailableVcores, job_status, task_status},
        scheduler::TaskKey,
    },
};
use ballista_scheduler::{
    cluster::{BoundTask, DistributionPolicy},
    state::{
        execution_graph::{TaskDescription, create_task_info},
        execution_stage::RunningStage,
        task_manager::JobInfoCache,
    },
};
use datafusion::{common::Result, physical_plan::ExecutionPlan};
use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

/// Distributes the tasks of a scheduler.
#[derive(Debug, Default)]
pub struct Affinity {
    readers: Mutex<HashMap<usize, Readers>>,
}

/// By partition, the executor that read it last; of scans with one number of partitions.
type Readers = HashMap<usize, String>;

#[async_trait]
impl DistributionPolicy for Affinity {
    async fn bind_tasks(
        &self,
        mut budgets: Vec<&mut AvailableVcores>,
        running_jobs: Arc<HashMap<JobId, JobInfoCache>>,
    ) -> Result<Vec<BoundTask>> {
        let mut bound = Vec::new();
        for (job, cached) in running_jobs.iter() {
            if !matches!(cached.status, Some(job_status::Status::Running(_))) {
                continue;
            }
            let mut graph = cached.execution_graph.write().await;
            let session = graph.session_id().to_owned();
            let mut met = Vec::new();
            while let Some(stage) = graph.fetch_running_stage(&met) {
                met.push(stage.stage_id);
                for (executor, partitions) in self.shares(stage, &budgets) {
                    budgets[executor].vcores -= 1;
                    let executor = budgets[executor].executor_id.clone();
                    bound.push(task(stage, (&session, job), executor, partitions));
                }
            }
        }
        Ok(bound)
    }

    fn name(&self) -> &'static str {
        "affinity"
    }
}

impl Affinity {
    /// Takes tasks of a stage, as many as can begin: by number of the executor, the partitions of each.
    fn shares(&self, stage: &mut RunningStage, budgets: &[&mut AvailableVcores]) -> Vec<(usize, Vec<usize>)> {
        let mut pending = stage.pending.next_slice(usize::MAX);
        let shares = if is_scan(&stage.plan) {
            let free = budgets.iter().map(|budget| (budget.executor_id.as_str(), budget.vcores)).collect();
            let mut busy = HashMap::new();
            for task in &stage.task_infos {
                if let task_status::Status::Running(running) = &task.task_status {
                    *busy.entry(running.executor_id.clone()).or_default() += 1;
                }
            }
            // Nobody panics while he holds it.
            let mut readers = self.readers.lock().unwrap_or_else(PoisonError::into_inner);
            let shares = assign(&mut pending, free, busy, readers.entry(stage.partitions).or_default());
            shares.into_iter().map(|(executor, partition)| (executor, vec![partition])).collect()
        } else {
            // Sums of partitions become those of all: by one task, which must take all of them.
            let most = (0..budgets.len()).filter(|&at| budgets[at].vcores > 0).max_by_key(|&at| budgets[at].vcores);
            most.map(|executor| (executor, std::mem::take(&mut pending))).into_iter().collect()
        };
        stage.pending.reschedule(pending);
        shares
    }
}

/// Whether a stage reads parts.
fn is_scan(plan: &Arc<dyn ExecutionPlan>) -> bool {
    plan.is::<PartScan>() || plan.children().into_iter().any(is_scan)
}

/// Takes partitions from those that wait, for executors by name with so many tasks that they could begin. Those which they read
/// last, up to a share of all that wait, then those which nobody has read, then those of others who are behind or gone, and at last
/// whatever else they read: `busy` has who is at work, on how many.
fn assign(
    pending: &mut Vec<usize>,
    mut free: Vec<(&str, u32)>,
    mut busy: HashMap<String, usize>,
    readers: &mut Readers,
) -> Vec<(usize, usize)> {
    let mut taken = Vec::new();
    // A share of what waits for everybody who is free, so that somebody who came later has his.
    let all: usize = free.iter().map(|(_, vcores)| *vcores as usize).sum();
    let waiting = pending.len();
    let share = |vcores: u32| (waiting * vcores as usize).div_ceil(all.max(1));
    let shares: Vec<usize> = free.iter().map(|(_, vcores)| share(*vcores)).collect();
    let mut has = vec![0; free.len()];
    for (rule, is_shared) in [(own as Rule, true), (unread, false), (of_those_behind, false), (own, false)] {
        // One each in turn, as long as anybody finds any.
        loop {
            let before = taken.len();
            for (executor, (name, vcores)) in free.iter_mut().enumerate() {
                if *vcores == 0 || (is_shared && has[executor] >= shares[executor]) {
                    continue;
                }
                let Some(at) = rule(pending, name, &busy, readers) else { continue };
                let partition = pending.remove(at);
                readers.insert(partition, (*name).to_owned());
                *busy.entry((*name).to_owned()).or_default() += 1;
                *vcores -= 1;
                has[executor] += 1;
                taken.push((executor, partition));
            }
            if taken.len() == before {
                break;
            }
        }
    }
    taken
}

/// Finds a partition for an executor among those that wait, by its place.
type Rule = fn(&[usize], &str, &HashMap<String, usize>, &Readers) -> Option<usize>;

fn own(pending: &[usize], name: &str, _: &HashMap<String, usize>, readers: &Readers) -> Option<usize> {
    pending.iter().position(|partition| readers.get(partition).is_some_and(|reader| reader == name))
}

fn unread(pending: &[usize], _: &str, _: &HashMap<String, usize>, readers: &Readers) -> Option<usize> {
    pending.iter().position(|partition| !readers.contains_key(partition))
}

/// One of whoever has most left. The last one that somebody has left is his unless he does nothing: he will get to it before others
/// would have made it from the trace. Whoever is gone does nothing once the scheduler knows.
fn of_those_behind(pending: &[usize], name: &str, busy: &HashMap<String, usize>, readers: &Readers) -> Option<usize> {
    let mut left: HashMap<&str, usize> = HashMap::new();
    let readers_of = || pending.iter().filter_map(|partition| readers.get(partition));
    readers_of().for_each(|reader| *left.entry(reader).or_default() += 1);
    let others = |reader: &&String| *reader != name;
    let may = |reader: &&String| left[reader.as_str()] > 1 || busy.get(*reader).is_none_or(|&tasks| tasks == 0);
    let behind = readers_of().filter(others).filter(may).max_by_key(|reader| (left[reader.as_str()], *reader))?;
    pending.iter().rposition(|partition| readers.get(partition) == Some(behind))
}

fn task(
    stage: &mut RunningStage,
    (session, job): (&str, &JobId),
    executor: String,
    partitions: Vec<usize>,
) -> BoundTask {
    let number = stage.task_infos.len();
    let mut info = create_task_info(executor.clone(), number);
    info.global_input_partition_ids.clone_from(&partitions);
    info.vcores_consumed = 1;
    stage.task_infos.push(info);
    let description = TaskDescription {
        session_id: session.to_owned(),
        key: TaskKey { job_id: job.clone(), stage_id: stage.stage_id, task_id: number },
        stage_attempt_num: stage.stage_attempt_num,
        task_attempt: partitions.iter().map(|&partition| stage.task_failure_numbers[partition]).max().unwrap_or(0),
        global_input_partition_ids: partitions,
        vcores_consumed: 1,
        plan: stage.plan.clone(),
        session_config: stage.session_config.clone(),
    };
    (executor, description)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(
        pending: &mut Vec<usize>,
        free: &[(&'static str, u32)],
        busy: &[(&str, usize)],
        readers: &mut Readers,
    ) -> Vec<(&'static str, usize)> {
        let busy = busy.iter().map(|(name, tasks)| ((*name).to_owned(), *tasks)).collect();
        let taken = assign(pending, free.to_vec(), busy, readers);
        taken.into_iter().map(|(executor, partition)| (free[executor].0, partition)).collect()
    }

    #[test]
    fn partitions_go_to_whoever_read_them_last() {
        let (mut readers, mut pending) = (Readers::new(), vec![0, 1, 2, 3, 4]);
        assert_eq!(taken(&mut pending, &[("a", 1), ("b", 2)], &[], &mut readers), [("a", 0), ("b", 1), ("b", 2)]);
        // What nobody has read is for the first who comes.
        assert_eq!(taken(&mut pending, &[("b", 1)], &[("a", 1), ("b", 1)], &mut readers), [("b", 3)]);
        assert_eq!(taken(&mut pending, &[("a", 1)], &[("b", 2)], &mut readers), [("a", 4)]);
        // In the next pass.
        let mut pending = vec![0, 1, 2, 3, 4];
        assert_eq!(taken(&mut pending, &[("b", 1), ("a", 1)], &[], &mut readers), [("b", 1), ("a", 0)]);
        assert_eq!(taken(&mut pending, &[("b", 1)], &[("a", 1)], &mut readers), [("b", 2)]);
        assert_eq!(taken(&mut pending, &[("b", 1)], &[("a", 1)], &mut readers), [("b", 3)]);
        // The last one of somebody who is at work waits for him.
        assert!(taken(&mut pending, &[("b", 1)], &[("a", 1)], &mut readers).is_empty());
        assert_eq!(taken(&mut pending, &[("a", 1)], &[], &mut readers), [("a", 4)]);
        assert!(pending.is_empty());
    }

    #[test]
    fn what_others_do_not_get_to_is_done_by_whoever_is_free() {
        let of_a = |partitions: &[usize]| partitions.iter().map(|&partition| (partition, "a".to_owned())).collect();
        let mut readers: Readers = of_a(&[0, 1, 2]);
        let mut pending = vec![1, 2];
        assert_eq!(taken(&mut pending, &[("b", 3)], &[("a", 1)], &mut readers), [("b", 2)]);
        // Whoever is gone does nothing.
        assert_eq!(taken(&mut pending, &[("b", 3)], &[], &mut readers), [("b", 1)]);
        assert_eq!(readers[&2], "b");
        assert_eq!(readers[&0], "a");
        // An executor that comes later has its share in the end.
        let (mut readers, mut pending) = (of_a(&[0, 1, 2, 3]), vec![0, 1, 2, 3]);
        let both = [("a", 1), ("c", 1)];
        assert_eq!(taken(&mut pending, &both, &[], &mut readers), [("a", 0), ("c", 3)]);
        assert_eq!(taken(&mut pending, &both, &[], &mut readers), [("a", 1)]);
        assert_eq!(pending, [2]);
        // Also where the first has room for all.
        let (mut readers, mut pending) = (of_a(&[0, 1, 2, 3]), vec![0, 1, 2, 3]);
        let both = [("a", 4), ("c", 4)];
        assert_eq!(taken(&mut pending, &both, &[], &mut readers), [("a", 0), ("a", 1), ("c", 3), ("a", 2)]);
    }

    #[test]
    fn nobody_waits_where_nothing_is_done() {
        // Whatever was read by whom, an executor that is free finds something as long as nobody is at work.
        for owners in 0..81 {
            let digit = |place: u32| ["a", "b", "c"][(owners / 3_usize.pow(place)) % 3];
            let mut readers: Readers = (0..4).map(|p| (p as usize, digit(p).to_owned())).collect();
            let mut pending = vec![0, 1, 2, 3];
            for left in (0..4).rev() {
                assert_eq!(taken(&mut pending, &[("b", 1)], &[], &mut readers).len(), 1, "{readers:?}");
                assert_eq!(pending.len(), left);
            }
        }
    }
}
