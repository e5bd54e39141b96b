//! Generated Spark-like jobs, the default workload: no files needed, a new set of jobs in every episode.
//!
//! The parameters are our own, chosen so that jobs have the traits that make scheduling them hard: sizes over two orders
//! of magnitude, a heavy tail of tasks per stage, durations that grow when a job gets more executors than suits it, and
//! graphs of several shapes.

use super::{
    Arrivals, Cluster, DagWorkload, DurationTable, JobArrival, JobTemplate, LESS, StageTemplate, duration::LEVELS,
    history::Believed,
};
use crate::Dag;
use sched_distill_core::{
    rng::{EpisodeId, Stream, hash},
    simulation::Source,
    spec::Spec,
    workload::{Work, WorkloadError},
};
use std::sync::Arc;

/// Durations per list: the quantiles of a log-normal distribution.
const QUANTILES: [f64; 9] = [-1.593, -0.967, -0.589, -0.282, 0.0, 0.282, 0.589, 0.967, 1.593];

/// Tasks and stages of a job in the mean.
const TASKS: f64 = 230.0;
const STAGES: f64 = 10.0;

/// Generated jobs that arrive as `arrivals` says.
#[derive(Clone, Debug, Default)]
pub struct Builtin {
    arrivals: Arrivals,
}

impl Builtin {
    /// Jobs with these arrivals.
    #[must_use]
    pub fn new(arrivals: Arrivals) -> Self {
        Self { arrivals }
    }
}

/// Opens `builtin`.
pub(super) fn open(spec: &Spec) -> Result<DagWorkload, WorkloadError> {
    spec.refuse_file()?;
    let mut args = spec.args();
    let (arrivals, believed) = (Arrivals::from_args(&mut args)?, Believed::from_args(&mut args)?);
    args.finish()?;
    let workload = DagWorkload::new(arrivals.cluster(), Builtin::new(arrivals), Vec::new());
    Ok(believed.of(workload.checked(spec, LESS)?))
}

impl Source<Dag> for Builtin {
    fn work(&self, _: &Cluster) -> Work {
        self.arrivals.work(TASKS, STAGES, false)
    }

    fn jobs(&self, _: &Cluster, EpisodeId { seed, .. }: EpisodeId) -> Vec<JobArrival> {
        let draw = |stream: &mut Stream| Arc::new(generate(stream, self.arrivals.warmup_ms));
        self.arrivals.jobs(seed, draw, || {
            let stream = |job| Stream::new(hash(&[seed, u64::from(job)]), "builtin job");
            (0..self.arrivals.jobs).map(|job| draw(&mut stream(job))).collect()
        })
    }
}

/// One job. Its size scales the tasks of every stage and, less, their durations.
fn generate(stream: &mut Stream, warmup_ms: f64) -> JobTemplate {
    let (shape, n, edges) = graph(stream);
    let size = (0.9 * stream.normal()).exp();
    let stages = (0..n).map(|_| stage(stream, size, warmup_ms)).collect();
    // Edges of the shapes below go from lower to higher stage numbers, so there is no cycle.
    JobTemplate::new(format!("{shape}-{n}"), stages, &edges).expect("a generated graph is acyclic and has stages")
}

/// A graph of 2 to 18 stages: a chain, a join tree, a fork-join, or random layers.
fn graph(stream: &mut Stream) -> (&'static str, u32, Vec<[u32; 2]>) {
    let n = 2 + stream.below(17) as u32;
    let mut edges = Vec::new();
    let shape = match stream.below(4) {
        0 => {
            edges.extend((1..n).map(|child| [child - 1, child]));
            "chain"
        }
        1 => {
            // Every stage but the last feeds one later stage, nearby ones more often: scans joined step by step.
            for parent in 0..n - 1 {
                let reach = (n - 1 - parent).min(4) as usize;
                edges.push([parent, parent + 1 + stream.below(reach) as u32]);
            }
            "joins"
        }
        2 => {
            // Fork after the first stage into parallel branches, join in the last.
            if n == 2 {
                edges.push([0, 1]);
            }
            let branches = 1 + stream.below((n as usize / 2).min(5)) as u32;
            for stage in 1..n.saturating_sub(1) {
                edges.push([stage.saturating_sub(branches), stage]);
                if stage + branches >= n - 1 {
                    edges.push([stage, n - 1]);
                }
            }
            "fork"
        }
        _ => {
            // Layers: every stage behind the first layer reads from one to three stages of the two layers before.
            let width = 2 + stream.below(3) as u32;
            for child in width..n {
                let first = (child / width).saturating_sub(2) * width;
                let candidates = (child / width) * width - first;
                let mut parents: Vec<u32> =
                    (0..1 + stream.below(3)).map(|_| first + stream.below(candidates as usize) as u32).collect();
                parents.sort_unstable();
                parents.dedup();
                edges.extend(parents.into_iter().map(|parent| [parent, child]));
            }
            "layers"
        }
    };
    (shape, n, edges)
}

/// One stage: a Pareto-like number of tasks, a log-normal duration, slower beyond a knee of parallelism.
fn stage(stream: &mut Stream, size: f64, warmup_ms: f64) -> StageTemplate {
    let tail = (1.0 - stream.uniform()).powf(-1.0 / 1.2);
    let num_tasks = (4.0 * size * tail).round().clamp(1.0, 600.0) as u32;
    let base_ms = 1500.0 * size.powf(0.3) * (0.8 * stream.normal()).exp();
    let spread = stream.uniform_in(0.1, 0.5);
    let knee = stream.uniform_in(8.0, 60.0);
    let start_ms = stream.uniform_in(0.5, 1.0) * warmup_ms;
    let of_mean = QUANTILES.map(|z| (spread * z).exp());
    let list = |mean_ms: f64| of_mean.map(|factor| (mean_ms * factor).round().max(1.0));
    let measured = LEVELS.map(|executors| {
        // From the knee on, each doubling of the executors makes tasks 40 % slower.
        let slow = 1.0 + 0.4 * (f64::from(executors) / knee).log2().max(0.0);
        let mean = base_ms * slow;
        (executors, [list(1.2 * mean + start_ms), list(1.2 * mean), list(mean)])
    });
    let lists = measured.iter().map(|(executors, lists)| (*executors, lists.each_ref().map(<[f64; 9]>::as_slice)));
    let durations = DurationTable::of_lists(lists, warmup_ms).expect("the lists are not empty");
    StageTemplate { num_tasks, rough_ms: durations.mean(), durations }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::{Luck, Wave};

    #[test]
    fn jobs_are_varied_heavy_tailed_and_reproducible() {
        let workload = open(&"builtin,jobs=2000".parse().unwrap()).unwrap();
        let jobs = workload.jobs(11);
        assert_eq!(jobs, workload.jobs(11));
        let count = |shape: &str| jobs.iter().filter(|j| j.template.graph().name().starts_with(shape)).count();
        assert!(["chain", "joins", "fork", "layers"].iter().all(|s| count(s) > 300));
        let stages: Vec<usize> = jobs.iter().map(|j| j.template.stages().len()).collect();
        assert_eq!((stages.iter().min(), stages.iter().max()), (Some(&2), Some(&18)));
        let tasks = |j: &JobArrival| j.template.stages().iter().map(|s| f64::from(s.num_tasks)).sum::<f64>();
        let mean = |of: &dyn Fn(&JobArrival) -> f64| jobs.iter().map(of).sum::<f64>() / jobs.len() as f64;
        let (tasks, stages) = (mean(&tasks), mean(&|j| j.template.stages().len() as f64));
        assert!((tasks / TASKS - 1.0).abs() < 0.1 && (stages / STAGES - 1.0).abs() < 0.1, "{tasks} {stages}");
        let work =
            |j: &JobArrival| j.template.stages().iter().map(|s| f64::from(s.num_tasks) * s.rough_ms).sum::<f64>();
        let mut work: Vec<f64> = jobs.iter().map(work).collect();
        work.sort_by(f64::total_cmp);
        assert!(work[1900] / work[1000] > 4.0, "p95/p50 {}", work[1900] / work[1000]);
    }

    #[test]
    fn more_executors_than_suit_a_job_make_its_tasks_slower() {
        let mut stream = Stream::new(1, "test");
        let (mut narrow, mut wide) = (0.0, 0.0);
        for _ in 0..200 {
            let stage = stage(&mut stream, 1.0, 1000.0);
            let draw = |n| stage.durations.duration(Wave::Rest, n, 100, Luck::new(1).draw(0));
            narrow += draw(5);
            wide += draw(100);
        }
        assert!(wide > 1.3 * narrow, "{wide} against {narrow}");
    }
}
