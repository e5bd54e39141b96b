//! An episode as the event log that Spark would have written of it.
//!
//! A job is a job of Spark, an executor one with a single core, and what an executor needs to come to another job is time in which it does
//! nothing. Spark counts in whole milliseconds, and so does the log: each duration is rounded, and each launch.

use crate::{
    Dag,
    simulator::Simulator,
    workload::{DagWorkload, JobArrival},
};
use sched_distill_core::{
    policy::Policy,
    rng::EpisodeId,
    scenario::Said,
    simulation::{Simulated, Simulation, TaskRun},
};
use sched_distill_histories::spark::{self, Ran, RanJob, RanTask};
use std::{error::Error, io::Write};

/// Lets a policy schedule an episode and writes its event log.
pub(crate) fn write(
    workload: &DagWorkload,
    policy: &mut dyn Policy<Dag>,
    id: EpisodeId,
    name: &str,
    out: &mut dyn Write,
) -> Result<(), Box<dyn Error + Send + Sync>> {
    let jobs = workload.jobs(id);
    let mut episode: Simulator = Dag::start(workload, jobs.clone(), id.seed);
    episode.record_tasks();
    policy.reset(id.seed);
    let mut said = Said::default();
    while let Some(seen) = episode.view() {
        said.clear();
        let decision = policy.decide(&seen, &mut said)?;
        Simulation::step(&mut episode, decision)?;
    }
    let tasks = episode.task_runs().iter().map(task).collect();
    let jobs = jobs.iter().map(job).collect();
    let cluster = workload.cluster();
    let (executors, submit_ms) = (cluster.num_executors, whole(cluster.submission_ms()));
    Ok(spark::write(&Ran { name: name.to_owned(), executors, jobs, tasks, submit_ms }, out)?)
}

/// The nearest whole millisecond.
fn whole(ms: f64) -> i64 {
    ms.round() as i64
}

fn job(job: &JobArrival) -> RanJob {
    let graph = job.template.graph();
    RanJob {
        name: graph.name().to_owned(),
        submission_ms: whole(job.arrival_ms),
        stages: graph.stages().iter().map(|stage| stage.num_tasks).collect(),
        edges: graph.edges().collect(),
    }
}

fn task(run: &TaskRun) -> RanTask {
    let launch_ms = whole(run.start_ms);
    let finish_ms = launch_ms + whole(run.end_ms - run.start_ms);
    RanTask { job: run.job, stage: run.part, executor: run.lane, launch_ms, finish_ms }
}
