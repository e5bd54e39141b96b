//! A distilled student, with a guard of one's own, schedules a cluster of one's own:
//! `cargo run --example embed --no-default-features -- student.json`
use sched_distill::{
    dag::{ClusterState, Dag, Decision, JobGraph, Source, StageRef, StageSpec, StageTasks, feature::feature_set},
    model::{Guard, Student},
    policy::{Policy, StudentPolicy},
};
use std::{error::Error, path::Path};

/// What the student gives to whom when six of ten executors come free.
pub(crate) fn schedule(student: &Path) -> Result<Vec<Decision>, Box<dyn Error>> {
    let mut rules = Student::load(student)?;
    rules.guards.push(Guard::parse("age > 10min first", feature_set())?);
    let mut scheduler = StudentPolicy::<Dag>::new(&rules, student, None)?;

    let stages = [(8, 1500.0), (4, 400.0)].map(|(num_tasks, rough_ms)| StageSpec { num_tasks, rough_ms });
    let mut cluster = ClusterState::new(10)?;
    cluster.set_time(1_200_000.0)?;
    cluster.add_job(7, 420_000.0, JobGraph::new("nightly report", stages.to_vec(), &[[0, 1]])?)?;
    cluster.add_job(9, 1_195_000.0, JobGraph::new("question at noon", stages.to_vec(), &[])?)?;
    let running = StageTasks { completed: 1, running: 4, recent_ms: Some(1320.0), ..StageTasks::default() };
    cluster.set_stage(StageRef { job: 7, stage: 0 }, running)?;

    let mut decisions = Vec::new();
    let mut question = cluster.offer(Source::Common, 6)?;
    while let Some(view) = question {
        let decision = scheduler.decide(&view, &mut Default::default())?;
        decisions.push(decision);
        question = cluster.answer(decision)?;
    }
    Ok(decisions)
}

#[allow(dead_code)] // a test calls `schedule`
fn main() -> Result<(), Box<dyn Error>> {
    let student = std::env::args_os().nth(1).ok_or("usage: embed STUDENT.json")?;
    schedule(student.as_ref()).map(|decisions| decisions.iter().for_each(|decision| println!("{decision:?}")))
}
