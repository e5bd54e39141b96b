//! Clusters that do not believe what users declare but what a workload's history says of its jobs, and that offer executors in their own way.

use super::{Cluster, DagWorkload, JobArrival, Offers};
use crate::{Dag, graph::JobGraph, intake::Intake};
use sched_distill_core::{
    rng::{EpisodeId, Split},
    simulation::Source,
    spec::{Args, SpecError},
    workload::Work,
};
use std::{collections::BTreeMap, sync::Arc};

/// What the parameters of a workload say of its intake, and of when executors are offered.
pub(super) struct Believed {
    durations: &'static str,
    merges_parts: bool,
    offers: Offers,
    submit_ms: Option<f64>,
}

impl Believed {
    /// Reads `durations`, `parts`, `offers` and `submit` from a spec.
    pub(super) fn from_args(args: &mut Args<'_>) -> Result<Self, SpecError> {
        let durations = args.word("durations", &["declared", "history", "median"])?;
        let merges_parts = args.word("parts", &["declared", "merged"])? == "merged";
        let offers = match args.word("offers", &["stage", "task"])? {
            "task" => Offers::Task,
            _ => Offers::Stage,
        };
        let submit_ms = args.optional_number("submit", 0.0..=1e9)?;
        if let Some(submit_ms) = submit_ms.filter(|_| offers == Offers::Stage) {
            return Err(args.conflict("submit", &submit_ms.to_string(), "none without offers=task"));
        }
        Ok(Self { durations, merges_parts, offers, submit_ms })
    }

    /// The workload on a cluster that believes so much.
    pub(super) fn of(&self, workload: DagWorkload) -> DagWorkload {
        let history = match self.durations {
            "history" => Some(History::of(&workload)),
            "median" => Some(History { by_job: BTreeMap::new(), ..History::of(&workload) }),
            _ => None,
        };
        let intake = Intake { ignores_durations: history.is_some(), merges_parts: self.merges_parts };
        if intake.is_credulous() && self.offers == Offers::Stage {
            return workload;
        }
        let recorded = *workload.cluster();
        let submit_ms = self.submit_ms.unwrap_or(recorded.submit_ms);
        let cluster = Cluster { intake, offers: self.offers, submit_ms, ..recorded };
        let (files, mut notes) = (workload.files().to_vec(), workload.notes().to_vec());
        if self.offers == Offers::Task && self.submit_ms.is_none() && submit_ms > 0.0 {
            notes.push(format!("a stage is submitted {submit_ms} ms after the last of its parents, as was recorded in the mean (`submit` sets another time)"));
        }
        DagWorkload::new(cluster, TakenIn { workload, history }, files).with_notes(notes)
    }
}

/// Jobs that stand for the history of a workload, at least: those of its first training episodes.
const JOBS: usize = 2000;

/// What is known from jobs that have run.
#[derive(Debug)]
struct History {
    /// By the name of a job, what tasks of each of its stages take: the median over the jobs of that name, ms.
    by_job: BTreeMap<String, Arc<[f64]>>,
    /// The median over all tasks of what tasks of their stages take in the mean, ms.
    median_ms: f64,
}

impl History {
    /// What training episodes of a workload tell.
    fn of(workload: &DagWorkload) -> Self {
        let mut by_job: BTreeMap<String, Vec<Vec<f64>>> = BTreeMap::new();
        let mut all: Vec<(f64, u32)> = Vec::new();
        let mut jobs = 0;
        for episode in 0.. {
            if jobs >= JOBS {
                break;
            }
            for job in workload.jobs(EpisodeId::new(0, Split::Train, episode)) {
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

/// The jobs of a workload as a cluster takes them in that does not believe everything.
#[derive(Debug)]
struct TakenIn {
    workload: DagWorkload,
    history: Option<History>,
}

impl TakenIn {
    /// Jobs with what is known of them.
    fn taken_in(&self, mut jobs: Vec<JobArrival>) -> Vec<JobArrival> {
        if let Some(history) = &self.history {
            for job in &mut jobs {
                job.template = Arc::new(job.template.known(history.of_job(job.template.graph())));
            }
        }
        jobs
    }
}

impl Source<Dag> for TakenIn {
    fn jobs(&self, _: &Cluster, id: EpisodeId) -> Vec<JobArrival> {
        self.taken_in(self.workload.jobs(id))
    }

    fn work(&self, _: &Cluster) -> Work {
        self.workload.work()
    }

    fn most_episodes(&self, split: Split) -> Option<u32> {
        self.workload.most_episodes(split)
    }

    fn period(&self, split: Split) -> Option<(f64, usize)> {
        self.workload.period(split)
    }

    fn all_jobs(&self, _: &Cluster) -> Option<Vec<JobArrival>> {
        Some(self.taken_in(self.workload.all_jobs()?))
    }
}
