//! What networks of others see of a question of the `dag` scenario, and what comes of their scores
//! (`docs/foreign-policies.md`).

use crate::{
    choose::{choose, spare},
    scenario::Dag,
    state::{Decision, StageRef, View},
};
use sched_distill_core::{
    contract::{
        Column, Contract, Dtype, Input, Inputs, Output, Scores, Size, SizeInfo, Tables, Tabular,
        Values::{Bool, F32, I64},
        column,
    },
    policy::pick::{Picker, log_softmax},
    scenario::Said,
};
use std::ops::Range;

/// Columns of `nodes`.
const NODE_COLUMNS: [Column; 7] = [
    column("remaining_tasks", "tasks", "tasks of the stage not yet launched"),
    column("running_tasks", "tasks", "tasks that run"),
    column("total_tasks", "tasks", "tasks in all"),
    column("task_ms", "ms", "duration of the task launched last; before any launch a rough estimate"),
    column("coming_executors", "executors", "executors on their way to the stage or promised to it"),
    column("wanted_executors", "executors", "tasks not yet launched, less executors on their way and promised"),
    column("unfinished_parents", "stages", "parents that have not completed; while there are any, no task can start"),
];

/// Columns of `jobs`.
const JOB_COLUMNS: [Column; 6] = [
    column("executors", "executors", "executors that count as the job's: held, promised and moving ones"),
    column("room", "executors", "the most that the job may be given at this question"),
    column("is_source", "0/1", "whether the executors on offer come from this job"),
    column("attached_executors", "executors", "executors attached to the job"),
    column("stages", "stages", "stages in all, completed ones included"),
    column("age_ms", "ms", "time since the job arrived"),
];
const ROOM: usize = 1;

/// Entries of `cluster`.
const CLUSTER_COLUMNS: [Column; 7] = [
    column("executors", "executors", "size of the cluster"),
    column("offered", "executors", "executors on offer at this question; at least 1"),
    column("busy_executors", "executors", "executors that run a task"),
    column("moving_executors", "executors", "executors on their way to a stage"),
    column("active_jobs", "jobs", "jobs that have arrived and not completed"),
    column("arrived_jobs", "jobs", "jobs that have arrived so far"),
    column("time_ms", "ms", "time since the episode began"),
];

// Places among the sizes.
const NODES: usize = 0;
const EDGES: usize = 1;
const JOBS: usize = 2;
const OFFERED: usize = 3;
const EXECUTORS: usize = 4;

const fn size(name: &'static str, meaning: &'static str) -> SizeInfo {
    SizeInfo { name, meaning }
}

const fn input(
    name: &'static str,
    dtype: Dtype,
    shape: &'static [Size],
    columns: &'static [Column],
    meaning: &'static str,
) -> Input {
    Input { name, dtype, shape, columns, meaning }
}

/// There is at least one node, one job, one executor on offer and one stage that may be chosen; there may be no edge.
static CONTRACT: Contract = Contract {
    scenario: None,
    sizes: &[
        size("nodes", "stages that have not completed"),
        size("edges", "edges between them"),
        size("jobs", "active jobs"),
        size("offered", "executors on offer"),
        size("executors", "size of the cluster"),
    ],
    inputs: &[
        input(
            "nodes",
            Dtype::F32,
            &[Size::Of(NODES), Size::Columns],
            &NODE_COLUMNS,
            "a row per stage that has not completed, of every active job: jobs in order of arrival, stages by id",
        ),
        input(
            "edges",
            Dtype::I64,
            &[Size::Fixed(2), Size::Of(EDGES)],
            &[],
            "parents and children: node `edges[1, e]` needs the output of node `edges[0, e]`; sorted",
        ),
        input(
            "job_ptr",
            Dtype::I64,
            &[Size::OneMoreThan(JOBS)],
            &[],
            "job `j` has nodes `job_ptr[j]` to `job_ptr[j + 1]`, the last one not included",
        ),
        input("node_job", Dtype::I64, &[Size::Of(NODES)], &[], "the job that a node belongs to"),
        input("mask", Dtype::Bool, &[Size::Of(NODES)], &[], "whether the stage may be chosen now"),
        input("jobs", Dtype::F32, &[Size::Of(JOBS), Size::Columns], &JOB_COLUMNS, "a row per active job"),
        input("cluster", Dtype::F32, &[Size::Columns], &CLUSTER_COLUMNS, "the cluster's numbers"),
        input("amounts", Dtype::F32, &[Size::Of(OFFERED)], &[], "1, 2, ... up to the number of executors on offer"),
    ],
    outputs: &[
        Output { name: "stage_scores", shape: &[Size::Of(NODES)], layout: "one per node", meaning: "a logit per node" },
        Output {
            name: "amount_scores",
            shape: &[Size::Of(JOBS), Size::Between { name: "K", least: OFFERED, most: EXECUTORS }],
            layout: "a row per job, columns for 1, 2, ... K executors",
            meaning: "by job, logits of 1, 2, ... K executors; K is any number from the executors on offer to \
                      the size of the cluster",
        },
    ],
    needed: "scores of stages that may be chosen, and of amounts within the room of their jobs,",
};

// Places among the outputs.
const STAGE_SCORES: usize = 0;
const AMOUNT_SCORES: usize = 1;

impl Tabular for Dag {
    fn contract() -> &'static Contract {
        &CONTRACT
    }

    type Tables = DagTables;
}

/// Writes questions as tables; the scheduler is a softmax over the stages that may be chosen, and then one over the
/// amounts that the job of the chosen stage may be given.
#[derive(Clone, Debug, Default)]
pub struct DagTables {
    children: Vec<i64>,
    /// Node by stage id of the job at hand; -1 for completed stages.
    node_of_stage: Vec<i64>,
    /// Scores of the stages that may be chosen.
    logits: Vec<f32>,
}

/// How many executors an active job may be given.
fn room(inputs: &Inputs, job: usize) -> usize {
    let [.., F32(jobs), _, _] = inputs.values() else { unreachable!("inputs of this contract") };
    jobs[job * JOB_COLUMNS.len() + ROOM] as usize
}

/// Places of the scores of the amounts that a job may be given.
fn amounts(inputs: &Inputs, scores: &Scores, job: usize) -> Range<usize> {
    let first = job * scores.outputs()[AMOUNT_SCORES].shape[1];
    first..first + room(inputs, job)
}

/// Appends the log-probabilities of amounts for a stage that may be chosen; false if one is not finite.
fn amounts_of(seen: &View<'_>, (inputs, scores): (&Inputs, &Scores), stage: StageRef, out: &mut Vec<f64>) -> bool {
    // A schedulable stage belongs to an active job.
    let job = seen.active_jobs().iter().position(|&job| job == stage.job).unwrap_or(0);
    log_softmax(&scores.outputs()[AMOUNT_SCORES].values[amounts(inputs, scores, job)], out)
}

impl Tables<Dag> for DagTables {
    fn read(&mut self, seen: &View<'_>, inputs: &mut Inputs) {
        let [F32(nodes), I64(edges), I64(job_ptr), I64(node_job), Bool(mask), F32(jobs), F32(cluster), F32(amounts)] =
            inputs.values_mut()
        else {
            unreachable!("inputs of this contract");
        };
        let source = seen.source_job();
        let mut schedulable = seen.schedulable().iter().peekable();
        self.children.clear();
        job_ptr.push(0);
        for (row, &id) in seen.active_jobs().iter().enumerate() {
            let job = seen.job(id);
            self.node_of_stage.clear();
            for stage in job.stages() {
                let node = mask.len() as i64;
                self.node_of_stage.push(if stage.is_complete() { -1 } else { node });
                if stage.is_complete() {
                    continue;
                }
                let coming = stage.executors() - stage.executing();
                nodes.extend([stage.remaining(), stage.executing(), stage.num_tasks()].map(|count| count as f32));
                nodes.push(stage.recent_ms() as f32);
                nodes.extend([coming, stage.demand(), stage.incomplete_parents()].map(|count| count as f32));
                node_job.push(row as i64);
                mask.push(schedulable.next_if(|&&s| s == stage.stage_ref()).is_some());
            }
            // Children of an active stage are active, so edges come out sorted by (parent, child).
            for stage in job.active_stages() {
                for &child in stage.children() {
                    edges.push(self.node_of_stage[stage.id() as usize]);
                    self.children.push(self.node_of_stage[child as usize]);
                }
            }
            job_ptr.push(mask.len() as i64);
            jobs.extend([job.supply(), seen.room(id)].map(|count| count as f32));
            jobs.push(f32::from(u8::from(source == Some(id))));
            jobs.extend([job.attached(), job.stages().len() as u32].map(|count| count as f32));
            jobs.push((seen.time_ms() - job.arrival_ms()) as f32);
        }
        edges.extend_from_slice(&self.children);
        let counts = [
            seen.num_executors(),
            seen.committable(),
            seen.busy_executors(),
            seen.moving_executors(),
            seen.active_jobs().len() as u32,
            seen.arrived(),
        ];
        cluster.extend(counts.map(|count| count as f32));
        cluster.push(seen.time_ms() as f32);
        amounts.extend((1..=seen.committable()).map(|amount| amount as f32));
        let (offered, executors) = (seen.committable() as usize, seen.num_executors() as usize);
        let sizes = [mask.len(), self.children.len(), seen.active_jobs().len(), offered, executors];
        inputs.set_sizes(&sizes);
    }

    fn needed(&self, inputs: &Inputs, scores: &Scores, mut look: impl FnMut(usize, Range<usize>)) {
        let [_, _, _, I64(node_job), Bool(mask), ..] = inputs.values() else {
            unreachable!("inputs of this contract");
        };
        for (node, _) in mask.iter().enumerate().filter(|&(_, &on)| on) {
            look(STAGE_SCORES, node..node + 1);
            look(AMOUNT_SCORES, amounts(inputs, scores, node_job[node] as usize));
        }
    }

    fn decide(
        &mut self,
        seen: &View<'_>,
        (inputs, scores): (&Inputs, &Scores),
        picker: &mut Picker,
        out: &mut Said,
    ) -> Option<Decision> {
        let [_, _, _, _, Bool(mask), ..] = inputs.values() else { unreachable!("inputs of this contract") };
        let of_stages = &scores.outputs()[STAGE_SCORES].values;
        self.logits.clear();
        self.logits.extend(mask.iter().zip(of_stages).filter(|&(&on, _)| on).map(|(_, &score)| score));
        // Finite scores may still be too far apart for a finite log-probability.
        if !log_softmax(&self.logits, &mut out.joint) {
            return None;
        }
        let amounts = |stage, out: &mut _| amounts_of(seen, (inputs, scores), stage, out).then_some(()).ok_or(());
        choose(seen, picker, out, amounts).ok()
    }

    fn given(
        &mut self,
        seen: &View<'_>,
        (inputs, scores): (&Inputs, &Scores),
        decision: Decision,
        out: &mut Said,
    ) -> bool {
        out.given.clear();
        let Decision::Assign { stage, .. } = decision else { return true };
        let is_finite = amounts_of(seen, (inputs, scores), stage, &mut out.given);
        if is_finite {
            spare(seen, stage, &mut out.given);
        }
        is_finite
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulator::Simulator;
    use sched_distill_core::contract::{ScoreError, Tensor};
    use sched_distill_core::simulation::Simulation as _;

    fn read(tables: &mut DagTables, seen: &View<'_>, inputs: &mut Inputs) {
        inputs.clear();
        tables.read(seen, inputs);
        assert!(inputs.are_whole());
    }

    #[test]
    fn every_number_is_that_of_the_view() -> Result<(), Box<dyn std::error::Error>> {
        let workload = crate::workload::open(&"builtin,jobs=10,executors=6,rate=1e-3".parse()?)?;
        let mut policy = crate::policies::open(&"sjf-cp,temperature=0.5,mode=sample".parse()?)?;
        let mut sim = Simulator::new(*workload.cluster(), workload.jobs(2), 2);
        let (mut tables, mut inputs, mut edges, mut without) = (DagTables::default(), Inputs::new(&CONTRACT), 0, 0);
        policy.reset(2);
        while let Some(seen) = sim.view() {
            read(&mut tables, &seen, &mut inputs);
            let jobs = seen.active_jobs();
            let stages: Vec<_> = jobs.iter().flat_map(|&job| seen.job(job).active_stages()).collect();
            assert_eq!(inputs.size("nodes"), stages.len());
            assert_eq!((inputs.size("jobs"), inputs.size("offered")), (jobs.len(), seen.committable() as usize));
            assert_eq!(inputs.flags("mask").iter().filter(|&&on| on).count(), seen.schedulable().len());
            let (ends, node_job) = (inputs.integers("edges"), inputs.integers("node_job"));
            let (parents, children) = ends.split_at(inputs.size("edges"));
            for (node, stage) in stages.iter().enumerate() {
                let row = &inputs.floats("nodes")[node * NODE_COLUMNS.len()..][..NODE_COLUMNS.len()];
                assert_eq!(row[0], stage.remaining() as f32);
                assert_eq!(f64::from(row[3]), f64::from(stage.recent_ms() as f32));
                assert_eq!(row[6], stage.incomplete_parents() as f32);
                assert_eq!(jobs[node_job[node] as usize], stage.stage_ref().job);
                assert_eq!(inputs.flags("mask")[node], seen.schedulable().contains(&stage.stage_ref()));
                let waits_for = children.iter().filter(|&&child| child == node as i64);
                assert_eq!(waits_for.count() as u32, stage.incomplete_parents());
            }
            for (row, &job) in jobs.iter().enumerate() {
                assert_eq!(room(&inputs, row), seen.room(job) as usize);
                assert!(room(&inputs, row) <= inputs.size("offered"));
                let job_ptr = inputs.integers("job_ptr");
                let nodes = job_ptr[row]..job_ptr[row + 1];
                assert!(!nodes.is_empty() && nodes.into_iter().all(|n| node_job[n as usize] == row as i64));
            }
            let pairs = parents.iter().zip(children);
            assert!(pairs.clone().zip(pairs.skip(1)).all(|(a, b)| a < b), "sorted and distinct");
            edges += parents.len();
            without += usize::from(parents.is_empty());
            let decision = policy.decide(&seen, &mut Said::default())?;
            sim.step(decision)?;
        }
        assert!(edges > 1000 && without > 0, "{edges} edges, {without} questions without");
        Ok(())
    }

    #[test]
    fn wrong_shapes_and_missing_numbers_are_named() -> Result<(), Box<dyn std::error::Error>> {
        let workload = crate::workload::open(&"builtin,jobs=3,executors=6,rate=1".parse()?)?;
        let mut sim = Simulator::new(*workload.cluster(), workload.jobs(1), 1);
        let (mut tables, mut inputs) = (DagTables::default(), Inputs::new(&CONTRACT));
        let stage: StageRef = sim.view().ok_or("a question")?.schedulable()[0];
        sim.step(Decision::Assign { stage, executors: 2 })?;
        read(&mut tables, &sim.view().ok_or("a question")?, &mut inputs);
        let (nodes, jobs, offered) = (inputs.size("nodes"), inputs.size("jobs"), inputs.size("offered"));
        let mask = inputs.flags("mask");
        assert!(offered < 6 && mask.contains(&false) && mask.contains(&true));
        let filled = |width: usize| {
            let mut scores = Scores::new(&CONTRACT);
            let values = mask.iter().map(|&on| if on { 1.0 } else { f32::NAN }).collect();
            *scores.output("stage_scores") = Tensor { values, shape: vec![nodes] };
            *scores.output("amount_scores") = Tensor { values: vec![0.5; jobs * width], shape: vec![jobs, width] };
            scores
        };
        assert_eq!(filled(6).check::<Dag>(&tables, &inputs), Ok(()));
        assert_eq!(filled(offered).check::<Dag>(&tables, &inputs), Ok(()));
        let said = |change: &dyn Fn(&mut Tensor, &mut Tensor)| {
            let mut scores = filled(6);
            let [stage, amount] = scores.outputs_mut() else { unreachable!("two outputs") };
            change(stage, amount);
            scores.check::<Dag>(&tables, &inputs).err().as_ref().map(ScoreError::to_string).unwrap_or_default()
        };
        let chosen = mask.iter().position(|&on| on).unwrap_or_default();
        type Change<'a> = &'a dyn Fn(&mut Tensor, &mut Tensor);
        for (change, words) in [
            (&(|s: &mut Tensor, _: &mut Tensor| s.shape = vec![2, 1]) as Change<'_>, "stage_scores of shape (2, 1)"),
            (&|s, _| s.values.truncate(1), "one per node"),
            (&|_, a| a.shape = vec![1, 7], "amount_scores of shape (1, 7)"),
            (&|_, a| a.shape[1] = 1, &format!("K from {offered} (executors on offer) to 6 (size of the cluster)")),
            (&|_, a| a.shape.clear(), "amount_scores of shape ()"),
            (&|s, _| s.values[chosen] = f32::INFINITY, &format!("stage_scores[{chosen}] is inf")),
            (&|_, a| a.values.fill(f32::NAN), "is NaN"),
        ] {
            assert!(said(change).contains(words), "{}", said(change));
        }
        Ok(())
    }
}
