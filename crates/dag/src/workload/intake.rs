//! What a cluster makes of what users declare before its schedulers see it.

#[cfg(doc)]
use super::JobTemplate;
use super::{Cluster, JobArrival, Workload};
use crate::{
    edit::Part,
    graph::{JobError, JobGraph, StageSpec},
};
use sched_distill_core::{
    rng::{Split, episode_seed},
    spec::{Args, SpecError},
};
use serde::{Deserialize, Serialize};
use std::{collections::BTreeMap, path::PathBuf, sync::Arc};

/// What is believed of what users declare. By default all of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Intake {
    /// Whether the history says what tasks take until one has run, see [`JobTemplate::known_ms`], and not what is declared.
    pub ignores_durations: bool,
    /// Whether stages that run the same code, with the same parents and children, count as one.
    pub merges_parts: bool,
}

impl Intake {
    /// A job as schedulers see it, and by stage which tasks of which stage of `graph` it has. `code` says by stage of `graph` what
    /// it runs and which of its tasks is its first; `known_ms` what the history says of a stage of `graph`.
    pub(crate) fn take(
        self,
        graph: &JobGraph,
        code: &[Part],
        known_ms: impl Fn(u32) -> f64,
    ) -> Result<(JobGraph, Vec<Part>), JobError> {
        let mut stages = graph.stages().to_vec();
        let mut parts: Vec<Part> = (0..stages.len() as u32).map(|stage| Part { stage, first_task: 0 }).collect();
        let mut edges: Vec<[u32; 2]> = graph.edges().collect();
        if self.merges_parts {
            let same = same_stage(graph, code);
            let kept: Vec<u32> = (0..stages.len() as u32).filter(|&stage| same[stage as usize] == stage).collect();
            if kept.len() < stages.len() {
                let place = |stage: u32| kept.binary_search(&same[stage as usize]).unwrap_or_default() as u32;
                edges = edges.into_iter().map(|edge| edge.map(place)).collect();
                edges.sort_unstable();
                edges.dedup();
                stages = kept.iter().map(|&stage| together(graph, &same, stage)).collect();
                parts = kept.iter().map(|&stage| Part { stage, first_task: 0 }).collect();
            }
        }
        if self.ignores_durations {
            stages.iter_mut().zip(&parts).for_each(|(stage, part)| stage.rough_ms = known_ms(part.stage));
        }
        Ok((JobGraph::new(graph.name(), stages, &edges)?, parts))
    }

    /// Whether it believes everything.
    #[must_use]
    pub fn is_credulous(&self) -> bool {
        *self == Self::default()
    }
}

/// By stage the first one that is the same: runs the same code right before it or before another such, and has the same parents and
/// children.
fn same_stage(graph: &JobGraph, code: &[Part]) -> Vec<u32> {
    let mut order: Vec<u32> = (0..code.len() as u32).collect();
    order.sort_by_key(|&stage| (code[stage as usize].stage, code[stage as usize].first_task));
    let mut same: Vec<u32> = (0..code.len() as u32).collect();
    for pair in order.windows(2) {
        let [before, stage] = [pair[0], pair[1]];
        let alike = code[before as usize].stage == code[stage as usize].stage
            && code[before as usize].first_task + graph.stages()[before as usize].num_tasks
                == code[stage as usize].first_task
            && graph.parents(before) == graph.parents(stage)
            && graph.children(before) == graph.children(stage);
        if alike {
            same[stage as usize] = same[before as usize];
        }
    }
    same
}

/// A stage and all that are the same: their tasks, and the mean of what they declare.
fn together(graph: &JobGraph, same: &[u32], stage: u32) -> StageSpec {
    let all = || graph.stages().iter().zip(same).filter(move |(_, of)| **of == stage).map(|(spec, _)| *spec);
    let first = graph.stages()[stage as usize].rough_ms;
    let num_tasks = all().map(|spec| spec.num_tasks).sum();
    let rough_ms = match all().all(|spec| spec.rough_ms == first) {
        true => first,
        false => all().map(|spec| f64::from(spec.num_tasks) * spec.rough_ms).sum::<f64>() / f64::from(num_tasks),
    };
    StageSpec { num_tasks, rough_ms }
}

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

    fn files(&self) -> Vec<PathBuf> {
        self.inner.files()
    }
}
