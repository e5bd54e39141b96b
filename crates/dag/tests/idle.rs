//! Executors do not stay idle beside work because of a decision.

use sched_distill_core::{
    policy::Policy,
    rng::{Split, episode_seed},
    simulation::Simulation as _,
};
use sched_distill_dag::{
    ClusterState, Dag, Decision, JobGraph, Probabilities, Source, StageRef, StageSpec, StageTasks,
    network::DecimaPolicy,
    simulator::Simulator,
    workload::{self, Cluster, DurationTable, JobArrival, JobTemplate, StageTemplate},
};
use std::error::Error;

/// The longest time in which more than half of the executors idle beside work, and the mean job completion time, s.
fn play(policy: &mut dyn Policy<Dag>, workload: &str, episode: u64) -> Result<(f64, f64), Box<dyn Error>> {
    let (workload, seed) = (workload::open(&workload.parse()?)?, episode_seed(992, Split::Test, episode));
    let mut sim = Simulator::new(*workload.cluster(), workload.jobs(seed), seed);
    let mut p = Probabilities::default();
    policy.reset(seed);
    while let Some(seen) = sim.view() {
        p.clear();
        let decision = policy.decide(&seen, &mut p)?;
        assert!(!seen.strands(decision), "episode {episode}");
        sim.step(decision)?;
    }
    let outcome = sim.outcome().ok_or("the episode has ended")?;
    let mean = outcome.figure("mean_jct_ms").ok_or("all jobs are completed")?;
    Ok((outcome.longest_idle_ms.ok_or("it is measured")? / 1e3, mean / 1e3))
}

/// Episodes in which, without the rule, most executors wait for minutes in a job of which nobody works on what they wait for (158), or in
/// the last job because one of them alone was taken (160, 171, where decisions are drawn).
#[test]
fn no_spell_of_idle_executors_beside_work_is_long() -> Result<(), Box<dyn Error>> {
    for (sample, episode) in [(false, 158), (true, 160), (true, 171)] {
        let (longest, mean) = play(&mut DecimaPolicy::builtin(sample)?, "builtin,edge=mix", episode)?;
        assert!(longest < 120.0 && mean < 1000.0, "episode {episode}: idle for {longest} s, mean {mean} s");
    }
    Ok(())
}

/// A job of four equal tasks, four executors, and no time to move.
fn four_tasks(task_ms: f64) -> Result<Simulator, Box<dyn Error>> {
    let durations = DurationTable::uniform(vec![task_ms], 0.0).ok_or("one duration")?;
    let stage = StageTemplate { num_tasks: 4, rough_ms: task_ms, durations };
    let template = JobTemplate::new("four", vec![stage], &[])?.into();
    Ok(Simulator::new(Cluster::new(4, 0.0), vec![JobArrival { arrival_ms: 0.0, template }], 3))
}

/// Three executors idle beside tasks that they could run until the last of them is launched.
#[test]
fn idle_time_counts_while_more_than_half_idle_beside_work() -> Result<(), Box<dyn Error>> {
    let mut sim = four_tasks(1000.0)?;
    sim.step(Decision::Assign { stage: StageRef { job: 0, stage: 0 }, executors: 1 })?;
    while sim.view().is_some() {
        sim.step(Decision::Abstain)?;
    }
    assert_eq!(sim.outcome().ok_or("the episode has ended")?.longest_idle_ms, Some(3000.0));
    Ok(())
}

/// After five minutes, and again whenever the spell is twice as long.
#[test]
fn who_idles_beside_work_for_long_is_offered_again() -> Result<(), Box<dyn Error>> {
    let stage = StageRef { job: 0, stage: 0 };
    let few = |executors| Decision::Assign { stage, executors };
    let mut sim = four_tasks(250_000.0)?;
    sim.step(few(1))?;
    let seen = sim.view().ok_or("a question")?;
    assert_eq!((seen.time_ms(), seen.committable(), seen.schedulable()), (300_000.0, 3, &[stage][..]));
    let mut patient = sim.clone();
    sim.step(few(3))?;
    while sim.view().is_some() {
        sim.step(Decision::Abstain)?;
    }
    let outcome = sim.outcome().ok_or("the episode has ended")?;
    // The first executor has begun its second task; the two that are left begin now.
    assert_eq!((outcome.longest_idle_ms, outcome.figure("makespan_ms")), (Some(300_000.0), Some(550_000.0)));
    patient.step(Decision::Abstain)?;
    assert_eq!(patient.view().map(|seen| seen.time_ms()), Some(600_000.0));
    Ok(())
}

fn chain(tasks: &[u32]) -> Result<JobGraph, Box<dyn Error>> {
    let stages = tasks.iter().map(|&num_tasks| StageSpec { num_tasks, rough_ms: 1000.0 }).collect();
    let edges: Vec<[u32; 2]> = (1..tasks.len() as u32).map(|stage| [stage - 1, stage]).collect();
    Ok(JobGraph::new("chain", stages, &edges)?)
}

/// Seven executors of a job of which nothing goes on must not wait in it for a later stage, although another job goes on.
#[test]
fn a_job_with_executors_does_not_stand_still() -> Result<(), Box<dyn Error>> {
    let of = |job, stage| StageRef { job, stage };
    let mut state = ClusterState::new(10)?;
    state.add_job(0, 0.0, chain(&[2, 2, 1, 11])?)?;
    state.add_job(1, 0.0, chain(&[46, 9])?)?;
    state.set_stage(of(0, 0), StageTasks { completed: 2, ..StageTasks::default() })?;
    state.set_stage(of(0, 2), StageTasks { promised: 1, ..StageTasks::default() })?;
    state.set_stage(of(1, 0), StageTasks { running: 2, ..StageTasks::default() })?;
    state.set_executors(0, 8, 7)?;
    state.set_executors(1, 2, 2)?;
    let view = state.offer(Source::Job(0), 7)?.ok_or("a question")?;
    let give = |stage, executors| Decision::Assign { stage, executors };
    assert_eq!(view.schedulable(), [of(0, 1), of(0, 3), of(1, 0)]);
    assert!(view.strands(give(of(0, 3), 7)) && view.strands(give(of(0, 3), 1)) && view.strands(Decision::Abstain));
    assert!(view.strands_all(of(0, 3)) && !view.strands_all(of(0, 1)) && !view.strands_all(of(1, 0)));
    // With somebody at work on what the later stage waits for, it may have them.
    state.set_stage(of(0, 1), StageTasks { running: 1, promised: 1, ..StageTasks::default() })?;
    let view = state.offer(Source::Job(0), 6)?.ok_or("a question")?;
    assert!(!view.strands(give(of(0, 3), 6)));
    // But not if they have idled beside work for long.
    let view = state.offer_again(Source::Job(0), 6)?.ok_or("a question")?;
    assert!(view.is_offered_again() && view.strands(give(of(0, 3), 6)) && view.strands_all(of(0, 3)));
    assert!(!view.strands(give(of(1, 0), 6)) && !view.strands(give(of(0, 1), 6)));
    let text = serde_json::to_string(&state)?;
    let read: ClusterState = serde_json::from_str(&text)?;
    assert!(text.contains("\"again\":true") && read.view().is_some_and(|view| view.is_offered_again()));
    assert!(!state.offer(Source::Job(0), 6)?.ok_or("a question")?.is_offered_again());
    Ok(())
}

/// No more than half of the executors are left without work by too small an amount.
#[test]
fn amounts_leave_no_more_than_half_idle() -> Result<(), Box<dyn Error>> {
    let of = |job, stage| StageRef { job, stage };
    let give = |stage, executors| Decision::Assign { stage, executors };
    let mut state = ClusterState::new(10)?;
    state.add_job(0, 0.0, chain(&[30, 5])?)?;
    let view = state.offer(Source::Common, 10)?.ok_or("a question")?;
    for executors in 1..=10 {
        assert_eq!(view.strands(give(of(0, 0), executors)), executors < 5, "{executors}");
    }
    // What another stage can take is not left.
    state.add_job(1, 0.0, chain(&[3, 5])?)?;
    let view = state.offer(Source::Common, 10)?.ok_or("a question")?;
    for executors in 1..=10 {
        assert_eq!(view.strands(give(of(0, 0), executors)), executors < 2, "{executors}");
        assert!(!view.strands(give(of(1, 0), executors)), "{executors}");
    }
    assert!(view.strands(Decision::Abstain));
    Ok(())
}
