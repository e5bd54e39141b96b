//! What a foreign network sees of a question.

use sched_distill_dag::View;

/// A column of one of the tables that a network sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Column {
    /// Its name.
    pub name: &'static str,
    /// Its unit.
    pub unit: &'static str,
    /// What it says.
    pub meaning: &'static str,
}

const fn column(name: &'static str, unit: &'static str, meaning: &'static str) -> Column {
    Column { name, unit, meaning }
}

/// Columns of [`Inputs::nodes`].
pub const NODE_COLUMNS: [Column; 7] = [
    column("remaining_tasks", "tasks", "tasks of the stage not yet launched"),
    column("running_tasks", "tasks", "tasks that run"),
    column("total_tasks", "tasks", "tasks in all"),
    column("task_ms", "ms", "duration of the task launched last; before any launch a rough estimate"),
    column("coming_executors", "executors", "executors on their way to the stage or promised to it"),
    column("wanted_executors", "executors", "tasks not yet launched, less executors on their way and promised"),
    column("unfinished_parents", "stages", "parents that have not completed; while there are any, no task can start"),
];

/// Columns of [`Inputs::jobs`].
pub const JOB_COLUMNS: [Column; 6] = [
    column("executors", "executors", "executors that count as the job's: held, promised and moving ones"),
    column("room", "executors", "the most that the job may be given at this question"),
    column("is_source", "0/1", "whether the executors on offer come from this job"),
    column("attached_executors", "executors", "executors attached to the job"),
    column("stages", "stages", "stages in all, completed ones included"),
    column("age_ms", "ms", "time since the job arrived"),
];

/// Columns of [`Inputs::cluster`].
pub const CLUSTER_COLUMNS: [Column; 7] = [
    column("executors", "executors", "size of the cluster"),
    column("offered", "executors", "executors on offer at this question; at least 1"),
    column("busy_executors", "executors", "executors that run a task"),
    column("moving_executors", "executors", "executors on their way to a stage"),
    column("active_jobs", "jobs", "jobs that have arrived and not completed"),
    column("arrived_jobs", "jobs", "jobs that have arrived so far"),
    column("time_ms", "ms", "time since the episode began"),
];

const ROOM: usize = 1;

/// An input as every kind of network has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InputInfo {
    /// Its name: a key of the JSON line, an input of the ONNX graph.
    pub name: &'static str,
    /// Its type.
    pub dtype: &'static str,
    /// Its shape.
    pub shape: &'static str,
    /// What it holds.
    pub meaning: &'static str,
}

/// The inputs, in the order in which a TorchScript module takes them.
pub const INPUTS: [InputInfo; 8] = [
    InputInfo {
        name: "nodes",
        dtype: "float32",
        shape: "(nodes, 7)",
        meaning: "a row per stage that has not completed, of every active job: jobs in order of arrival, stages by id",
    },
    InputInfo {
        name: "edges",
        dtype: "int64",
        shape: "(2, edges)",
        meaning: "parents and children: node `edges[1, e]` needs the output of node `edges[0, e]`; sorted",
    },
    InputInfo {
        name: "job_ptr",
        dtype: "int64",
        shape: "(jobs + 1)",
        meaning: "job `j` has nodes `job_ptr[j]` to `job_ptr[j + 1]`, the last one not included",
    },
    InputInfo { name: "node_job", dtype: "int64", shape: "(nodes)", meaning: "the job that a node belongs to" },
    InputInfo { name: "mask", dtype: "bool", shape: "(nodes)", meaning: "whether the stage may be chosen now" },
    InputInfo { name: "jobs", dtype: "float32", shape: "(jobs, 6)", meaning: "a row per active job" },
    InputInfo { name: "cluster", dtype: "float32", shape: "(7)", meaning: "the cluster's numbers" },
    InputInfo {
        name: "amounts",
        dtype: "float32",
        shape: "(offered)",
        meaning: "1, 2, ... up to the number of executors on offer",
    },
];

/// A question in numbers: raw counts and times, for the network to scale as it was trained. The tables are row-major.
///
/// There is at least one node, one job and one stage that may be chosen; there may be no edge.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Inputs {
    /// Shape `(nodes, NODE_COLUMNS.len())`.
    pub nodes: Vec<f32>,
    /// Shape `(2, edges)`: all parents, then all children.
    pub edges: Vec<i64>,
    /// Shape `(jobs + 1)`.
    pub job_ptr: Vec<i64>,
    /// Shape `(nodes)`.
    pub node_job: Vec<i64>,
    /// Shape `(nodes)`.
    pub mask: Vec<bool>,
    /// Shape `(jobs, JOB_COLUMNS.len())`.
    pub jobs: Vec<f32>,
    /// Shape `(CLUSTER_COLUMNS.len())`.
    pub cluster: Vec<f32>,
    /// Shape `(offered)`.
    pub amounts: Vec<f32>,
    executors: u32,
    children: Vec<i64>,
    /// Node index by stage id of the job at hand; -1 for completed stages.
    node_of_stage: Vec<i64>,
}

impl Inputs {
    /// Takes in a question. Allocates nothing once the buffers have grown.
    pub fn read(&mut self, seen: &View<'_>) {
        self.clear();
        self.executors = seen.num_executors();
        let source = seen.source_job();
        let mut schedulable = seen.schedulable().iter().peekable();
        self.job_ptr.push(0);
        for (row, &id) in seen.active_jobs().iter().enumerate() {
            let job = seen.job(id);
            self.node_of_stage.clear();
            for stage in job.stages() {
                let node = self.mask.len() as i64;
                self.node_of_stage.push(if stage.is_complete() { -1 } else { node });
                if stage.is_complete() {
                    continue;
                }
                let coming = stage.executors() - stage.executing();
                self.nodes.extend([stage.remaining(), stage.executing(), stage.num_tasks()].map(|count| count as f32));
                self.nodes.push(stage.recent_ms() as f32);
                self.nodes.extend([coming, stage.demand(), stage.incomplete_parents()].map(|count| count as f32));
                self.node_job.push(row as i64);
                self.mask.push(schedulable.next_if(|&&s| s == stage.stage_ref()).is_some());
            }
            // Children of an active stage are active, so edges come out sorted by (parent, child).
            for stage in job.active_stages() {
                for &child in stage.children() {
                    self.edges.push(self.node_of_stage[stage.id() as usize]);
                    self.children.push(self.node_of_stage[child as usize]);
                }
            }
            self.job_ptr.push(self.mask.len() as i64);
            self.jobs.extend([job.supply(), seen.room(id)].map(|count| count as f32));
            self.jobs.push(f32::from(u8::from(source == Some(id))));
            self.jobs.extend([job.attached(), job.stages().len() as u32].map(|count| count as f32));
            self.jobs.push((seen.time_ms() - job.arrival_ms()) as f32);
        }
        self.edges.extend_from_slice(&self.children);
        let counts = [
            seen.num_executors(),
            seen.committable(),
            seen.busy_executors(),
            seen.moving_executors(),
            seen.active_jobs().len() as u32,
            seen.arrived(),
        ];
        self.cluster.extend(counts.map(|count| count as f32));
        self.cluster.push(seen.time_ms() as f32);
        self.amounts.extend((1..=seen.committable()).map(|amount| amount as f32));
    }

    fn clear(&mut self) {
        self.nodes.clear();
        self.edges.clear();
        self.job_ptr.clear();
        self.node_job.clear();
        self.mask.clear();
        self.jobs.clear();
        self.cluster.clear();
        self.amounts.clear();
        self.children.clear();
    }

    /// Number of stages that have not completed.
    #[must_use]
    pub fn num_nodes(&self) -> usize {
        self.mask.len()
    }

    /// Number of edges.
    #[must_use]
    pub fn num_edges(&self) -> usize {
        self.edges.len() / 2
    }

    /// Number of active jobs.
    #[must_use]
    pub fn num_jobs(&self) -> usize {
        self.jobs.len() / JOB_COLUMNS.len()
    }

    /// Number of executors on offer.
    #[must_use]
    pub fn offered(&self) -> usize {
        self.amounts.len()
    }

    /// Size of the cluster.
    #[must_use]
    pub fn executors(&self) -> usize {
        self.executors as usize
    }

    /// How many executors an active job may be given.
    #[must_use]
    pub fn room(&self, job: usize) -> usize {
        self.jobs[job * JOB_COLUMNS.len() + ROOM] as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use sched_distill_dag::{Probabilities, simulator::Simulator};

    #[test]
    fn the_tables_say_what_the_observation_says() -> Result<(), Box<dyn std::error::Error>> {
        assert_eq!(JOB_COLUMNS[ROOM].name, "room");
        let workload = sched_distill_dag::workload::open(&"builtin,jobs=25,executors=8,rate=1e-3".parse()?)?;
        let mut policy = sched_distill_dag::policies::open(&"random".parse()?)?;
        let mut sim = Simulator::new(workload.cluster(), workload.jobs(3), 3);
        let (mut inputs, mut edges, mut without) = (Inputs::default(), 0, 0);
        while let Some(seen) = sim.view() {
            inputs.read(&seen);
            let jobs = seen.active_jobs();
            assert_eq!((inputs.num_jobs(), inputs.executors()), (jobs.len(), 8));
            assert_eq!(inputs.nodes.len(), NODE_COLUMNS.len() * inputs.num_nodes());
            assert_eq!((inputs.job_ptr.len(), inputs.cluster.len()), (jobs.len() + 1, CLUSTER_COLUMNS.len()));
            assert_eq!(inputs.mask.iter().filter(|&&on| on).count(), seen.schedulable().len());
            let active = jobs.iter().flat_map(|&job| seen.job(job).active_stages());
            for (node, stage) in active.enumerate() {
                let row = &inputs.nodes[node * NODE_COLUMNS.len()..][..NODE_COLUMNS.len()];
                assert_eq!(row[0], stage.remaining() as f32);
                assert_eq!(f64::from(row[3]), f64::from(stage.recent_ms() as f32));
                assert_eq!(row[6], stage.incomplete_parents() as f32);
                assert_eq!(jobs[inputs.node_job[node] as usize], stage.stage_ref().job);
                assert_eq!(inputs.mask[node], seen.schedulable().contains(&stage.stage_ref()));
                let parents = (0..inputs.num_edges()).filter(|e| inputs.edges[inputs.num_edges() + e] == node as i64);
                assert_eq!(parents.count() as u32, stage.incomplete_parents());
            }
            for (row, &job) in jobs.iter().enumerate() {
                assert_eq!(inputs.room(row), seen.room(job) as usize);
                assert!(inputs.room(row) <= inputs.offered());
                let nodes = inputs.job_ptr[row]..inputs.job_ptr[row + 1];
                assert!(!nodes.is_empty() && nodes.into_iter().all(|n| inputs.node_job[n as usize] == row as i64));
            }
            let pairs = (0..inputs.num_edges()).map(|e| (inputs.edges[e], inputs.edges[inputs.num_edges() + e]));
            assert!(pairs.clone().zip(pairs.skip(1)).all(|(a, b)| a < b), "sorted and distinct");
            edges += inputs.num_edges();
            without += usize::from(inputs.edges.is_empty());
            let decision = policy.decide(&seen, &mut Probabilities::default())?;
            sim.step(decision)?;
        }
        assert!(edges > 1000 && without > 0, "{edges} edges, {without} questions without");
        Ok(())
    }
}
