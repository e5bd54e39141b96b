//! Executors that are offered after each task, to stages that can start alone.

use sched_distill_core::{rng::Stream, scenario::Said, simulation::Simulation as _};
use sched_distill_dag::{
    Decision, policies,
    simulator::Simulator,
    workload::{Cluster, DurationTable, JobArrival, JobTemplate, Offers, StageTemplate},
};
use std::{error::Error, sync::Arc};

/// A job of a test: arrival, and by stage tasks, what each takes and parents.
struct TestJob {
    arrival_ms: f64,
    stages: Vec<(u32, f64, Vec<u32>)>,
}

impl TestJob {
    fn random(draws: &mut Stream, arrival_ms: f64) -> Self {
        let stages = (0..1 + draws.below(6) as u32).map(|stage| {
            let parents = (0..stage).filter(|_| draws.below(3) == 0).collect();
            (1 + draws.below(9) as u32, 1.0 + 100.0 * draws.uniform(), parents)
        });
        Self { arrival_ms, stages: stages.collect() }
    }

    fn arrival(&self) -> Result<JobArrival, Box<dyn Error>> {
        let stage = |&(num_tasks, ms, _): &(u32, f64, Vec<u32>)| StageTemplate {
            num_tasks,
            rough_ms: ms,
            durations: DurationTable::uniform(vec![ms], 0.0).expect("one duration"),
        };
        let edges = (0..).zip(&self.stages).flat_map(|(child, (.., parents))| parents.iter().map(move |&p| [p, child]));
        let edges: Vec<[u32; 2]> = edges.collect();
        let template = JobTemplate::new("test", self.stages.iter().map(stage).collect(), &edges)?;
        Ok(JobArrival { arrival_ms: self.arrival_ms, template: Arc::new(template) })
    }
}

fn cluster(slots: u32) -> Cluster {
    late(slots, 0.0)
}

/// A cluster whose stages can start so much later than their parents end.
fn late(slots: u32, submit_ms: f64) -> Cluster {
    Cluster { offers: Offers::Task, submit_ms, ..Cluster::new(slots, 0.0) }
}

/// When the jobs were completed, ms.
fn completions(sim: &Simulator, jobs: usize) -> Vec<f64> {
    (0..jobs as u32).map(|job| sim.completed_ms(job).unwrap_or(f64::NAN)).collect()
}

/// When jobs are completed where each free slot goes to the first job, and its first stage, with a task that can start: worked out without pools,
/// sources and rounds.
fn first_come(jobs: &[TestJob], slots: usize, submit_ms: f64) -> Vec<f64> {
    let mut waiting: Vec<Vec<u32>> = jobs.iter().map(|job| job.stages.iter().map(|s| s.0).collect()).collect();
    let mut left = waiting.clone();
    // When the last task of a stage ended, and when jobs were done.
    let mut ended: Vec<Vec<f64>> = jobs.iter().map(|job| vec![f64::INFINITY; job.stages.len()]).collect();
    let mut done = vec![f64::NAN; jobs.len()];
    // End, job and stage of what runs, in order of launch.
    let mut running: Vec<(f64, usize, usize)> = Vec::new();
    let mut now = f64::NEG_INFINITY;
    loop {
        let from = |job: usize, stage: usize, ended: &[Vec<f64>]| match &jobs[job].stages[stage].2[..] {
            [] => jobs[job].arrival_ms,
            parents => parents.iter().map(|&p| ended[job][p as usize] + submit_ms).fold(0.0, f64::max),
        };
        let all = || (0..jobs.len()).flat_map(|job| (0..jobs[job].stages.len()).map(move |stage| (job, stage)));
        let starts = all().map(|(job, stage)| from(job, stage, &ended)).filter(|&ms| ms > now);
        let starts = starts.fold(f64::INFINITY, f64::min);
        let next = (0..running.len()).min_by(|&a, &b| running[a].0.total_cmp(&running[b].0));
        match next {
            None if starts == f64::INFINITY => return done,
            // Tasks that end at one instant do so one after the other.
            Some(task) if running[task].0 < starts => {
                let (ends, job, stage) = running.remove(task);
                now = ends;
                left[job][stage] -= 1;
                if left[job][stage] == 0 {
                    ended[job][stage] = now;
                }
                if left[job].iter().all(|&n| n == 0) {
                    done[job] = now;
                }
            }
            _ => now = starts,
        }
        while running.len() < slots {
            let can_start = |&(job, stage): &(usize, usize)| waiting[job][stage] > 0 && from(job, stage, &ended) <= now;
            let Some((job, stage)) = all().find(can_start) else { break };
            waiting[job][stage] -= 1;
            running.push((now + jobs[job].stages[stage].1, job, stage));
        }
    }
}

#[test]
fn slots_go_where_a_plain_loop_sends_them() -> Result<(), Box<dyn Error>> {
    for seed in 0..300 {
        let mut draws = Stream::new(seed, "offers");
        let mut at_ms = 0.0;
        let jobs: Vec<TestJob> = (0..1 + draws.below(7))
            .map(|_| {
                let job = TestJob::random(&mut draws, at_ms);
                at_ms += 300.0 * draws.uniform();
                job
            })
            .collect();
        let slots = 1 + draws.below(6);
        let submit_ms = if seed % 2 == 0 { 0.0 } else { 80.0 * draws.uniform() };
        let arrivals = jobs.iter().map(TestJob::arrival).collect::<Result<_, _>>()?;
        let mut sim = Simulator::new(late(slots as u32, submit_ms), arrivals, seed);
        while let Some(seen) = sim.view() {
            let stages = seen.schedulable();
            assert!(stages.iter().all(|&stage| seen.stage(stage).incomplete_parents() == 0), "seed {seed}");
            sim.step(Decision::Assign { stage: stages[0], executors: seen.committable() })?;
        }
        let found = completions(&sim, jobs.len());
        let expected = first_come(&jobs, slots, submit_ms);
        for (job, (found, expected)) in found.iter().zip(&expected).enumerate() {
            assert!((found - expected).abs() < 1e-6, "seed {seed}, job {job}: {found} ms, expected {expected}");
        }
    }
    Ok(())
}

/// A small job that comes while a large one runs is served as soon as a task ends, not when the large one has no more to launch.
#[test]
fn a_small_job_overtakes_a_large_one() -> Result<(), Box<dyn Error>> {
    let jobs =
        [(0.0, 100), (50.0, 2)].map(|(arrival_ms, tasks)| TestJob { arrival_ms, stages: vec![(tasks, 100.0, vec![])] });
    let mut done = Vec::new();
    for offers in [Offers::Task, Offers::Stage] {
        let arrivals = jobs.iter().map(TestJob::arrival).collect::<Result<_, _>>()?;
        let mut sim = Simulator::new(Cluster { offers, ..cluster(4) }, arrivals, 0);
        while let Some(seen) = sim.view() {
            let fewest = seen.schedulable().iter().min_by_key(|&&stage| seen.stage(stage).remaining());
            let stage = *fewest.ok_or("a stage")?;
            sim.step(Decision::Assign { stage, executors: seen.committable() })?;
        }
        done.push(completions(&sim, 2));
    }
    assert_eq!(done, [[2600.0, 200.0], [2500.0, 2600.0]]);
    Ok(())
}

/// Who gives nothing is asked again at the next event, and not for ever at one.
#[test]
fn abstaining_ends_a_round() -> Result<(), Box<dyn Error>> {
    let jobs = [0.0, 10.0].map(|arrival_ms| TestJob { arrival_ms, stages: vec![(6, 30.0, vec![]), (2, 5.0, vec![0])] });
    let arrivals = jobs.iter().map(TestJob::arrival).collect::<Result<_, _>>()?;
    let mut sim = Simulator::new(cluster(3), arrivals, 0);
    let mut asked = 0;
    while let Some(seen) = sim.view() {
        asked += 1;
        let stage = seen.schedulable()[0];
        let decision = match seen.busy_executors() {
            // Something must run, or nothing would happen any more.
            0 => Decision::Assign { stage, executors: 1 },
            _ => Decision::Abstain,
        };
        sim.step(decision)?;
    }
    assert!(asked < 200, "{asked}");
    assert!(completions(&sim, 2).iter().all(|&ms| ms > 0.0));
    Ok(())
}

/// When two jobs of two stages, one behind the other, are completed by a policy on one slot, ms.
fn in_turn(policy: &str) -> Result<Vec<f64>, Box<dyn Error>> {
    let job = |arrival_ms| TestJob { arrival_ms, stages: vec![(1, 100.0, vec![]), (1, 100.0, vec![0])] };
    let jobs: Vec<_> = [0.0, 10.0].map(job).iter().map(TestJob::arrival).collect::<Result<_, _>>()?;
    let mut policy = policies::open(&policy.parse()?)?;
    policy.reset(0);
    let mut sim = Simulator::new(cluster(1), jobs, 0);
    while let Some(seen) = sim.view() {
        let decision = policy.decide(&seen, &mut Said::default())?;
        sim.step(decision)?;
    }
    Ok(completions(&sim, 2))
}

#[test]
fn stages_are_served_in_the_order_in_which_they_could_start() -> Result<(), Box<dyn Error>> {
    assert_eq!(in_turn("fifo,by=arrival")?, [200.0, 400.0]);
    // The second job's first stage could start before the first job's second one.
    assert_eq!(in_turn("fifo,by=stage")?, [300.0, 400.0]);
    Ok(())
}
