//! Edge cases: families of workloads that strain a scheduler in one way each, on top of any generator.
//!
//! A family changes the arrivals, the cluster, or the jobs. Those that change jobs draw jobs from the generator and rebuild
//! them from the stages they find there, so that tasks keep the durations of the generator.

use super::{JobTemplate, StageTemplate};
use crate::graph::MOST_TASKS;
use sched_distill_core::rng::{Stream, hash};
use std::sync::Arc;

/// A family of workloads; `docs/edge-cases.md` describes each in numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EdgeCase {
    /// One job holds at least half of all work; the others are small.
    Giant,
    /// Ten jobs at a time, at the same mean rate.
    Bursts,
    /// Stages side by side, and a last one that needs them all.
    Wide,
    /// All stages in one chain.
    Chains,
    /// The last stage has few, long tasks that hold half of the job's work.
    LongTail,
    /// Twice the arrival rate.
    DoubleRate,
    /// Half the executors, rounded up.
    HalfExecutors,
    /// Six sorts of job, equally likely.
    Mix,
}

/// All families with their names and what they are.
pub const EDGE_CASES: &[(&str, &str)] = &[
    ("giant", "one job in the first half holds at least half of all work, the others are small"),
    ("bursts", "ten jobs arrive at once, at the same mean rate"),
    ("wide", "19 or more stages side by side and one that needs them all"),
    ("chains", "20 or more stages, one after the other"),
    ("long-tail", "a last stage of at most four long tasks holds half of each job's work"),
    ("double-rate", "the same jobs arrive twice as fast"),
    ("half-executors", "the same arrivals meet half the executors, rounded up"),
    ("mix", "ordinary, small, large, wide, chained and long-tailed jobs, equally likely"),
];

/// In the order of [`EDGE_CASES`].
pub(super) const CASES: [EdgeCase; 8] = [
    EdgeCase::Giant,
    EdgeCase::Bursts,
    EdgeCase::Wide,
    EdgeCase::Chains,
    EdgeCase::LongTail,
    EdgeCase::DoubleRate,
    EdgeCase::HalfExecutors,
    EdgeCase::Mix,
];

/// Jobs that arrive together in [`EdgeCase::Bursts`].
pub(super) const BURST: u32 = 10;

/// Fewest stages of a job that is put together for its shape.
pub(super) const MANY_STAGES: usize = 20;

/// Most tasks of a long last stage.
const TAIL_TASKS: u32 = 4;

impl EdgeCase {
    /// Templates of an episode's `n` jobs, made of jobs that `draw` takes from the generator; `None` for families that
    /// leave the generator's jobs as they are.
    pub(super) fn templates(
        self,
        seed: u64,
        n: u32,
        draw: impl Fn(&mut Stream) -> Arc<JobTemplate>,
    ) -> Option<Vec<Arc<JobTemplate>>> {
        // One stream per job, so that a job does not depend on how much its predecessors drew.
        let each = |make: &dyn Fn(&mut Stream) -> Arc<JobTemplate>| {
            Some((0..n).map(|job| make(&mut Stream::new(hash(&[seed, u64::from(job)]), "edge case"))).collect())
        };
        let smallest = |stream: &mut Stream, of: u32| extreme(stream, of, &draw, -1.0);
        let largest = |stream: &mut Stream, of: u32| extreme(stream, of, &draw, 1.0);
        match self {
            Self::Bursts | Self::DoubleRate | Self::HalfExecutors => None,
            Self::Wide => each(&|stream| wide(&collect(stream, &draw))),
            Self::Chains => each(&|stream| chain(&collect(stream, &draw))),
            Self::LongTail => each(&|stream| long_tail(&draw(stream))),
            Self::Mix => each(&|stream| match stream.below(6) {
                0 => draw(stream),
                1 => smallest(stream, 4),
                2 => largest(stream, 4),
                3 => wide(&collect(stream, &draw)),
                4 => chain(&collect(stream, &draw)),
                _ => long_tail(&draw(stream)),
            }),
            Self::Giant => {
                let mut jobs: Vec<_> = each(&|stream| smallest(stream, 3))?;
                let mut stream = Stream::new(seed, "giant");
                let place = stream.below((n as usize).div_ceil(2));
                let others: f64 =
                    jobs.iter().map(|job| job.graph().work_ms()).sum::<f64>() - jobs[place].graph().work_ms();
                let chosen = largest(&mut stream, 3);
                let factor = (others / chosen.graph().work_ms()).ceil().max(1.0) as u32;
                jobs[place] = with_tasks(&chosen, "giant", |tasks| tasks.saturating_mul(factor).min(MOST_TASKS));
                Some(jobs)
            }
        }
    }
}

/// Of several draws the job with most work (`sign` 1) or least (-1).
fn extreme(
    stream: &mut Stream,
    of: u32,
    draw: impl Fn(&mut Stream) -> Arc<JobTemplate>,
    sign: f64,
) -> Arc<JobTemplate> {
    let draws: Vec<_> = (0..of).map(|_| draw(stream)).collect();
    let place = sched_distill_core::level::first_max(draws.iter().map(|job| sign * job.graph().work_ms()));
    Arc::clone(&draws[place])
}

/// Jobs that together have many stages.
fn collect(stream: &mut Stream, draw: impl Fn(&mut Stream) -> Arc<JobTemplate>) -> Vec<Arc<JobTemplate>> {
    let (mut jobs, mut stages) = (Vec::new(), 0);
    while stages < MANY_STAGES {
        let job = draw(stream);
        stages += job.graph().stages().len();
        jobs.push(job);
    }
    jobs
}

/// The stages of several jobs, parents before children, with the tasks of one job: each stage's are divided by the number
/// of jobs, rounded up.
fn pooled(jobs: &[Arc<JobTemplate>]) -> Vec<StageTemplate> {
    let share = |tasks: u32| tasks.div_ceil(jobs.len() as u32);
    let mut all = Vec::new();
    for job in jobs {
        let stages = job.stages();
        all.extend(job.graph().topological().iter().map(|&s| stages[s as usize].clone()));
    }
    all.iter_mut().for_each(|stage| stage.num_tasks = share(stage.num_tasks));
    all
}

/// All stages but the last side by side, the last needs them all.
fn wide(jobs: &[Arc<JobTemplate>]) -> Arc<JobTemplate> {
    let stages = pooled(jobs);
    let last = stages.len() as u32 - 1;
    let edges: Vec<[u32; 2]> = (0..last).map(|stage| [stage, last]).collect();
    build(format!("wide-{}", stages.len()), stages, &edges, &jobs[0])
}

/// All stages one after the other.
fn chain(jobs: &[Arc<JobTemplate>]) -> Arc<JobTemplate> {
    let stages = pooled(jobs);
    let edges: Vec<[u32; 2]> = (1..stages.len() as u32).map(|stage| [stage - 1, stage]).collect();
    build(format!("chain-{}", stages.len()), stages, &edges, &jobs[0])
}

/// The job with half its tasks, rounded up, in all stages but the last, which then needs every stage that had no children,
/// has few tasks, and so long ones that it holds half of the job's work. A job of one stage stays as it is.
fn long_tail(job: &Arc<JobTemplate>) -> Arc<JobTemplate> {
    let (graph, mut stages) = (job.graph(), job.stages());
    let Some((&last, before)) = graph.topological().split_last() else { unreachable!("a job has stages") };
    let stage_work_ms = |stage: &StageTemplate| f64::from(stage.num_tasks) * stage.rough_ms;
    if before.is_empty() {
        return Arc::clone(job);
    }
    before.iter().for_each(|&s| stages[s as usize].num_tasks = stages[s as usize].num_tasks.div_ceil(2));
    let others: f64 = before.iter().map(|&s| stage_work_ms(&stages[s as usize])).sum();
    let tail = &mut stages[last as usize];
    tail.num_tasks = tail.num_tasks.min(TAIL_TASKS);
    let factor = others / stage_work_ms(tail);
    tail.rough_ms *= factor;
    tail.durations = tail.durations.scaled(factor);
    let sinks = before.iter().filter(|&&s| graph.children(s).is_empty());
    let edges: Vec<[u32; 2]> = graph.edges().chain(sinks.map(|&s| [s, last])).collect();
    build(format!("{}-tail", graph.name()), stages, &edges, job)
}

/// The job with other numbers of tasks.
fn with_tasks(job: &Arc<JobTemplate>, suffix: &str, tasks: impl Fn(u32) -> u32) -> Arc<JobTemplate> {
    let mut stages = job.stages();
    stages.iter_mut().for_each(|stage| stage.num_tasks = tasks(stage.num_tasks));
    let edges: Vec<[u32; 2]> = job.graph().edges().collect();
    build(format!("{}-{suffix}", job.graph().name()), stages, &edges, job)
}

/// A job put together, or one that it was made of if the whole is more than a job may be: too many stages, too long chains or times.
fn build(
    name: String,
    stages: Vec<StageTemplate>,
    edges: &[[u32; 2]],
    otherwise: &Arc<JobTemplate>,
) -> Arc<JobTemplate> {
    JobTemplate::new(name, stages, edges).map_or_else(|_| Arc::clone(otherwise), Arc::new)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::{Arrivals, Builtin, DagWorkload, DurationTable, JobArrival};

    fn workload(edge: Option<EdgeCase>) -> DagWorkload {
        let arrivals = Arrivals { edge, ..Arrivals::default() };
        DagWorkload::new(arrivals.cluster(), Builtin::new(arrivals), Vec::new())
    }

    fn jobs(edge: EdgeCase, seed: u64) -> Vec<Arc<JobTemplate>> {
        let jobs = workload(Some(edge)).jobs(seed);
        assert_eq!(jobs, workload(Some(edge)).jobs(seed), "the seed fixes the jobs");
        assert_ne!(jobs, workload(Some(edge)).jobs(seed + 1), "seeds differ");
        jobs.into_iter().map(|j| j.template).collect()
    }

    #[test]
    fn a_giant_in_the_first_half_holds_half_of_the_work() {
        for seed in 0..20 {
            let jobs = jobs(EdgeCase::Giant, seed);
            let work: Vec<f64> = jobs.iter().map(|j| j.graph().work_ms()).collect();
            let place = sched_distill_core::level::first_max(work.iter().copied());
            assert!(place < 25 && jobs[place].graph().name().ends_with("-giant"));
            let share = work[place] / work.iter().sum::<f64>();
            assert!((0.5..0.9).contains(&share), "{share}");
            let next = work.iter().enumerate().filter(|&(i, _)| i != place).map(|(_, &w)| w).fold(0.0, f64::max);
            assert!(next < 0.5 * work[place]);
        }
    }

    #[test]
    fn wide_jobs_are_wide_and_shallow_and_chains_are_deep() {
        let (mut made, mut plain) = (0.0, 0.0);
        for seed in 0..5 {
            for job in jobs(EdgeCase::Wide, seed) {
                let n = job.graph().stages().len();
                let sources = (0..n as u32).filter(|&s| job.graph().parents(s).is_empty()).count();
                let deepest = (0..n as u32).map(|s| job.graph().depth(s)).max();
                assert_eq!((sources, deepest), (n - 1, Some(1)));
                assert!(n >= 20);
            }
            for job in jobs(EdgeCase::Chains, seed) {
                let n = job.graph().stages().len() as u32;
                assert!(n >= 20 && (0..n).map(|s| job.graph().depth(s)).max() == Some(n - 1));
                made += job.graph().work_ms();
            }
            plain += workload(None).jobs(seed).iter().map(|j| j.template.graph().work_ms()).sum::<f64>();
        }
        // Sharing the tasks keeps the load near the generator's.
        assert!((0.5..2.0).contains(&(made / plain)), "{}", made / plain);
    }

    #[test]
    fn a_long_tail_of_few_tasks_holds_half_of_each_jobs_work() {
        for job in jobs(EdgeCase::LongTail, 3) {
            let sinks: Vec<u32> =
                (0..job.graph().stages().len() as u32).filter(|&s| job.graph().children(s).is_empty()).collect();
            assert_eq!(sinks.len(), 1);
            let tail = &job.stages()[sinks[0] as usize];
            assert!(
                (f64::from(tail.num_tasks) * tail.rough_ms / job.graph().work_ms() - 0.5).abs() < 1e-9
                    && tail.num_tasks <= TAIL_TASKS
            );
            // What tasks really take was stretched like the estimate.
            assert!((tail.durations.mean() / tail.rough_ms - 1.0).abs() < 1e-9);
        }
    }

    #[test]
    fn what_cannot_be_put_together_stays_as_it_is() {
        let job = |stages: usize, edges: &[[u32; 2]], ms: f64| {
            let durations = DurationTable::uniform(vec![ms], 0.0).unwrap();
            let stage = StageTemplate { num_tasks: 3, rough_ms: ms, durations };
            Arc::new(JobTemplate::new("job", vec![stage; stages], edges).unwrap())
        };
        // 60,000 stages side by side are allowed; twice as many, or a chain of them, are not.
        let many = job(60_000, &[], 1.0);
        assert!(Arc::ptr_eq(&wide(&[many.clone(), many.clone()]), &many));
        assert!(Arc::ptr_eq(&chain(std::slice::from_ref(&many)), &many));
        // Nothing can hold half of no work, and times end at 10^15 ms.
        for ms in [0.0, 1e15] {
            let stays = job(40, &[], ms);
            assert!(Arc::ptr_eq(&long_tail(&stays), &stays), "{ms}");
        }
        let giant = with_tasks(&job(2, &[], 1.0), "giant", |tasks| tasks.saturating_mul(1 << 30).min(MOST_TASKS));
        assert_eq!(giant.tasks(), 2 * u64::from(MOST_TASKS));
    }

    #[test]
    fn a_mix_has_every_sort_of_job() {
        let jobs: Vec<_> = (0..10).flat_map(|seed| jobs(EdgeCase::Mix, seed)).collect();
        let share = |pick: &dyn Fn(&JobTemplate) -> bool| jobs.iter().filter(|j| pick(j)).count() as f64 / 500.0;
        let wide = share(&|j| j.graph().name().starts_with("wide"));
        let tail = share(&|j| j.graph().name().ends_with("-tail"));
        let chain = share(&|j| j.graph().name().starts_with("chain") && j.graph().stages().len() >= MANY_STAGES);
        for found in [wide, tail, chain] {
            assert!((found - 1.0 / 6.0).abs() < 0.06, "{found}");
        }
    }

    fn times(jobs: &[JobArrival]) -> Vec<f64> {
        jobs.iter().map(|j| j.arrival_ms).collect()
    }

    #[test]
    fn families_of_load_keep_the_jobs() {
        let base = workload(None).jobs(4);
        let same = |edge| {
            let jobs = workload(Some(edge)).jobs(4);
            assert!(jobs.iter().zip(&base).all(|(a, b)| a.template == b.template));
            times(&jobs)
        };
        let half: Vec<f64> = times(&base).iter().map(|t| t / 2.0).collect();
        let close = |a: &[f64], b: &[f64]| a.iter().zip(b).all(|(a, b)| (a - b).abs() <= 1e-9 * b);
        assert!(close(&same(EdgeCase::DoubleRate), &half), "every gap is half as long");
        assert_eq!(same(EdgeCase::HalfExecutors), times(&base));
        assert_eq!(workload(Some(EdgeCase::HalfExecutors)).cluster().num_executors, 5);
        let bursts = same(EdgeCase::Bursts);
        for group in bursts.chunks(BURST as usize) {
            assert!(group.iter().all(|&t| t == group[0]));
        }
        let many = Arrivals { edge: Some(EdgeCase::Bursts), jobs: 100_000, ..Arrivals::default() }.times(1);
        let gap = many[99_999] / 100_000.0;
        assert!((gap / 25_000.0 - 1.0).abs() < 0.05, "mean gap {gap}");
    }
}
