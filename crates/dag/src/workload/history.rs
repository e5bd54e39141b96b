//! What a workload's history says of its jobs, for clusters that do not believe what users declare.

use super::{Cluster, JobArrival, Workload};
use crate::{graph::JobGraph, intake::Intake};
use sched_distill_core::{
    rng::{Split, episode_seed},
    spec::{Args, SpecError},
    workload::Work,
};
use std::{collections::BTreeMap, path::PathBuf, sync::Arc};

/// What the parameters of a workload say of its intake.
pub(super) struct Believed {
    durations: &'static str,
    merges_parts: bool,
}

impl Believed {
    /// Reads `durations` and `parts` from a spec.
    pub(super) fn from_args(args: &mut Args<'_>) -> Result<Self, SpecError> {
        let durations = args.word("durations", &["declared", "history", "median"])?;
        Ok(Self { durations, merges_parts: args.word("parts", &["declared", "merged"])? == "merged" })
    }

    /// The workload on a cluster that believes so much.
    pub(super) fn of(&self, inner: Box<dyn Workload>) -> Box<dyn Workload> {
        let history = match self.durations {
            "history" => Some(History::of(&*inner)),
            "median" => Some(History { by_job: BTreeMap::new(), ..History::of(&*inner) }),
            _ => None,
        };
        let intake = Intake { ignores_durations: history.is_some(), merges_parts: self.merges_parts };
        if intake.is_credulous() { inner } else { Box::new(TakenIn { inner, intake, history }) }
    }
}

/// Jobs that stand for the history of a workload, at least: those of its first training episodes.
const JOBS: usize = 2000;

/// What is known from jobs that have run.
struct History {
    /// By the name of a job, what tasks of each of its stages take: the median over the jobs of that name, ms.
    by_job: BTreeMap<String, Arc<[f64]>>,
    /// The median over all tasks of what tasks of their stages take in the mean, ms.
    median_ms: f64,
}

impl History {
    /// What training episodes of a workload tell.
    fn of(workload: &dyn Workload) -> Self {
        let mut by_job: BTreeMap<String, Vec<Vec<f64>>> = BTreeMap::new();
        let mut all: Vec<(f64, u32)> = Vec::new();
        let mut jobs = 0;
        for episode in 0.. {
            if jobs >= JOBS {
                break;
            }
            for job in workload.jobs(episode_seed(0, Split::Train, episode)) {
                let graph = job.template.graph();
                jobs += 1;
                let stages = by_job.entry(graph.name().to_owned()).or_default();
                stages.resize(stages.len().max(graph.stages().len()), Vec::new());
                for ((known, stage), table) in stages.iter_mut().zip(graph.stages()).zip(job.template.tables()) {
                    let took_ms = table.mean();
                    known.push(took_ms);
                    all.push((took_ms, stage.num_tasks));
                }
            }
        }
        let median = |mut known: Vec<f64>| {
            known.sort_by(f64::total_cmp);
            known[known.len() / 2]
        };
        let by_job =
            by_job.into_iter().map(|(name, stages)| (name, stages.into_iter().map(median).collect())).collect();
        all.sort_by(|a, b| a.0.total_cmp(&b.0));
        let half = all.iter().map(|(_, tasks)| u64::from(*tasks)).sum::<u64>() / 2;
        let mut before = 0;
        let middle = all.iter().find(|(_, tasks)| {
            before += u64::from(*tasks);
            before > half
        });
        Self { by_job, median_ms: middle.map_or(0.0, |(ms, _)| *ms) }
    }

    /// By stage of a job, ms.
    fn of_job(&self, graph: &JobGraph) -> Arc<[f64]> {
        let stages = graph.stages().len();
        match self.by_job.get(graph.name()).filter(|known| known.len() == stages) {
            Some(known) => Arc::clone(known),
            None => std::iter::repeat_n(self.median_ms, stages).collect(),
        }
    }
}

/// A workload on a cluster that does not believe everything.
struct TakenIn {
    inner: Box<dyn Workload>,
    intake: Intake,
    history: Option<History>,
}

impl Workload for TakenIn {
    fn cluster(&self) -> Cluster {
        Cluster { intake: self.intake, ..self.inner.cluster() }
    }

    fn jobs(&self, seed: u64) -> Vec<JobArrival> {
        let mut jobs = self.inner.jobs(seed);
        if let Some(history) = &self.history {
            for job in &mut jobs {
                job.template = Arc::new(job.template.known(history.of_job(job.template.graph())));
            }
        }
        jobs
    }

    fn work(&self) -> Work {
        self.inner.work()
    }

    fn files(&self) -> Vec<PathBuf> {
        self.inner.files()
    }
}
