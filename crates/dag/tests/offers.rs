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
    Cluster { offers: Offers::Task, ..Cluster::new(slots, 0.0) }
}

/// When the jobs were completed, ms.
fn completions(sim: &Simulator, jobs: usize) -> Vec<f64> {
    (0..jobs as u32).map(|job| sim.completed_ms(job).unwrap_or(f64::NAN)).collect()
}

/// When jobs are completed where each free slot goes to the first job, and its first stage, with a task that can start: worked out without pools,
/// sources and rounds.
fn first_come(jobs: &[TestJob], slots: usize) -> Vec<f64> {
    let mut waiting: Vec<Vec<u32>> = jobs.iter().map(|job| job.stages.iter().map(|s| s.0).collect()).collect();
    let mut left = waiting.clone();
    let mut done = vec![f64::NAN; jobs.len()];
    // End, job and stage of what runs, in order of launch.
    let mut running: Vec<(f64, usize, usize)> = Vec::new();
    let mut arrived = 0;
    loop {
        let next = (0..running.len()).min_by(|&a, &b| running[a].0.total_cmp(&running[b].0));
        let arrival = jobs.get(arrived).map(|job| job.arrival_ms);
        let now = match (next, arrival) {
            (None, None) => return done,
            (Some(task), at) if at.is_none_or(|at| running[task].0 < at) => {
                let (now, job, stage) = running.remove(task);
                left[job][stage] -= 1;
                if left[job].iter().all(|&n| n == 0) {
                    done[job] = now;
                }
                now
            }
            (_, Some(at)) => {
                arrived += 1;
                at
            }
            (Some(_), None) => unreachable!("a task without an arrival ends"),
        };
        while running.len() < slots {
            let can_start = |job: usize, stage: usize| {
                waiting[job][stage] > 0 && jobs[job].stages[stage].2.iter().all(|&p| left[job][p as usize] == 0)
            };
            let all = (0..arrived).flat_map(|job| (0..jobs[job].stages.len()).map(move |stage| (job, stage)));
            let Some((job, stage)) = all.into_iter().find(|&(job, stage)| can_start(job, stage)) else { break };
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
        let arrivals = jobs.iter().map(TestJob::arrival).collect::<Result<_, _>>()?;
        let mut sim = Simulator::new(cluster(slots as u32), arrivals, seed);
        while let Some(seen) = sim.view() {
            let stages = seen.schedulable();
            assert!(stages.iter().all(|&stage| seen.stage(stage).incomplete_parents() == 0), "seed {seed}");
            sim.step(Decision::Assign { stage: stages[0], executors: seen.committable() })?;
        }
        let found = completions(&sim, jobs.len());
        let expected = first_come(&jobs, slots);
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
