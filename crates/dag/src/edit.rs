//! Edits of a job's description: other declared durations, a stage in two parts, dependencies that need not be.

use crate::graph::{JobError, JobGraph, StageSpec};
use sched_distill_core::simulation::{EditBudget, EditError, EditInfo};
use serde::{Deserialize, Serialize};
use std::fmt;

/// The sorts of edits.
pub const EDITS: &[EditInfo] = &[
    EditInfo {
        name: "duration",
        meaning: "a stage declares that its tasks take longer or shorter than one thinks",
        usual: true,
        is_number: true,
    },
    EditInfo {
        name: "split",
        meaning: "a stage is declared as two, each with a part of its tasks and the same parents and children",
        usual: true,
        is_number: false,
    },
    EditInfo {
        name: "edge",
        meaning: "a stage is declared to wait for another one, which it need not",
        usual: true,
        is_number: false,
    },
    EditInfo {
        name: "edge-implied",
        meaning: "a stage is declared to wait for another one, which it does already through others",
        usual: false,
        is_number: false,
    },
];

/// One change of a job's description.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "sort", deny_unknown_fields)]
pub enum JobEdit {
    /// A stage's declared mean duration.
    Duration {
        /// Which stage.
        stage: u32,
        /// What it was, ms.
        was_ms: f64,
        /// Times that.
        factor: f64,
    },
    /// A stage in two: itself with its first tasks, and the one after it with the rest.
    Split {
        /// Which stage.
        stage: u32,
        /// Tasks of the first part.
        first: u32,
        /// Tasks of both.
        tasks: u32,
    },
    /// One more dependency.
    Edge {
        /// The stage that is waited for.
        parent: u32,
        /// The stage that waits.
        child: u32,
        /// Whether it waits already, through others.
        implied: bool,
    },
}

/// Where a stage of an edited job has its tasks from: a stage of the job before, and how many of its tasks come before them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Part {
    pub(crate) stage: u32,
    pub(crate) first_task: u32,
}

impl fmt::Display for JobEdit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Duration { stage, factor, .. } => write!(f, "stage {stage} declares {factor} times its duration"),
            Self::Split { stage, first, tasks } => {
                write!(f, "stage {stage} is declared as two, of {first} and {} tasks", tasks - first)
            }
            Self::Edge { parent, child, implied } => {
                let already = if *implied { ", as it does through others" } else { "" };
                write!(f, "stage {child} is declared to wait for stage {parent}{already}")
            }
        }
    }
}

/// All edits of a job of a sort that are made or not, whatever the size of the first part.
pub(crate) fn all(graph: &JobGraph, sort: &str) -> Vec<JobEdit> {
    let splits = |(stage, spec): (u32, &StageSpec)| {
        let tasks = spec.num_tasks;
        (1..tasks).map(move |first| JobEdit::Split { stage, first, tasks })
    };
    match sort {
        "split" => (0..).zip(graph.stages()).flat_map(splits).collect(),
        "edge" | "edge-implied" => edges(graph, sort == "edge-implied"),
        _ => Vec::new(),
    }
}

/// All dependencies that could be declared besides, those that are implied or those that are not.
fn edges(graph: &JobGraph, implied: bool) -> Vec<JobEdit> {
    let ids = 0..graph.stages().len() as u32;
    let below = |a: u32, b: u32| graph.descendants(a).binary_search(&b).is_ok();
    let pairs = ids.clone().flat_map(|parent| ids.clone().map(move |child| (parent, child)));
    let may = |&(parent, child): &(u32, u32)| match implied {
        true => below(parent, child) && graph.children(parent).binary_search(&child).is_err(),
        false => parent != child && !below(parent, child) && !below(child, parent),
    };
    pairs.filter(may).map(|(parent, child)| JobEdit::Edge { parent, child, implied }).collect()
}

/// All edits of a job that a budget allows, sort by sort, by stage.
pub(crate) fn edits(graph: &JobGraph, budget: &EditBudget) -> Vec<JobEdit> {
    let mut all = Vec::new();
    let stages = || (0u32..).zip(graph.stages());
    for info in EDITS.iter().filter(|info| budget.allows(info)) {
        match info.name {
            "duration" => {
                let factors = budget.factors(info.name);
                let of = |(stage, spec): (u32, &StageSpec)| {
                    let was_ms = spec.rough_ms;
                    factors.map(|factor| JobEdit::Duration { stage, was_ms, factor })
                };
                all.extend(stages().flat_map(of));
            }
            "split" => all.extend(stages().flat_map(|(stage, spec)| {
                let tasks = spec.num_tasks;
                let mut sizes = vec![1, tasks / 2, tasks.saturating_sub(1)];
                sizes.retain(|first| (1..tasks).contains(first));
                sizes.dedup();
                sizes.into_iter().map(move |first| JobEdit::Split { stage, first, tasks })
            })),
            _ => all.extend(edges(graph, info.name == "edge-implied")),
        }
    }
    all
}

impl JobEdit {
    /// The stage that is edited; of a dependency the one that is waited for.
    pub(crate) fn stage(&self) -> u32 {
        match *self {
            Self::Duration { stage, .. } | Self::Split { stage, .. } => stage,
            Self::Edge { parent, .. } => parent,
        }
    }

    /// The stages that a stage of the job before the edit is afterwards.
    pub fn parts_of(&self, stage: u32) -> impl Iterator<Item = u32> + use<> {
        let parts = match *self {
            Self::Split { stage: split, .. } if stage == split => split..=split + 1,
            Self::Split { stage: split, .. } if stage > split => stage + 1..=stage + 1,
            _ => stage..=stage,
        };
        parts.into_iter()
    }

    /// The job as it is described afterwards, and where the tasks of its stages come from.
    pub(crate) fn describe(&self, graph: &JobGraph) -> Result<(JobGraph, Vec<Part>), EditError> {
        let refused = |why: &str| EditError(format!("{self}: {why}"));
        let mut stages = graph.stages().to_vec();
        let mut edges: Vec<[u32; 2]> = graph.edges().collect();
        let mut parts: Vec<Part> = (0..stages.len() as u32).map(|stage| Part { stage, first_task: 0 }).collect();
        let spec = stages.get(self.stage() as usize).copied().ok_or_else(|| refused("the job has no such stage"))?;
        match *self {
            Self::Duration { stage, was_ms, factor } => {
                if spec.rough_ms != was_ms {
                    return Err(refused(&format!("it declares {} ms, not {was_ms}", spec.rough_ms)));
                }
                stages[stage as usize].rough_ms = factor * was_ms;
            }
            Self::Split { stage, first, tasks } => {
                if spec.num_tasks != tasks || !(1..tasks).contains(&first) {
                    return Err(refused(&format!("it has {} tasks", spec.num_tasks)));
                }
                let at = stage as usize;
                stages[at].num_tasks = first;
                stages.insert(at + 1, StageSpec { num_tasks: tasks - first, ..spec });
                parts.insert(at + 1, Part { stage, first_task: first });
                let moved = |s: u32| if s > stage { s + 1 } else { s };
                edges = edges
                    .into_iter()
                    .flat_map(|[parent, child]| {
                        let own = [moved(parent), moved(child)];
                        let twin = match (parent == stage, child == stage) {
                            (true, _) => Some([stage + 1, moved(child)]),
                            (_, true) => Some([moved(parent), stage + 1]),
                            _ => None,
                        };
                        std::iter::once(own).chain(twin)
                    })
                    .collect();
            }
            Self::Edge { parent, child, .. } => edges.push([parent, child]),
        }
        let described = JobGraph::new(graph.name(), stages, &edges).map_err(|e| refused(&e.to_string()))?;
        Ok((described, parts))
    }

    /// The job as it was described before.
    pub(crate) fn undo(&self, graph: &JobGraph) -> Result<JobGraph, EditError> {
        let refused = |why: &str| EditError(format!("not made: {self}: {why}"));
        let mut stages = graph.stages().to_vec();
        let mut edges: Vec<[u32; 2]> = graph.edges().collect();
        let spec = stages.get(self.stage() as usize).copied().ok_or_else(|| refused("the job has no such stage"))?;
        match *self {
            Self::Duration { stage, was_ms, factor } => {
                if spec.rough_ms != factor * was_ms {
                    return Err(refused(&format!("it declares {} ms", spec.rough_ms)));
                }
                stages[stage as usize].rough_ms = was_ms;
            }
            Self::Split { stage, first, tasks } => {
                let other = stages.get(stage as usize + 1).copied();
                let is_twin = other == Some(StageSpec { num_tasks: tasks - first, ..spec })
                    && graph.parents(stage) == graph.parents(stage + 1)
                    && graph.children(stage) == graph.children(stage + 1);
                if spec.num_tasks != first || !is_twin {
                    return Err(refused("the stage after it is not its other part"));
                }
                stages.remove(stage as usize + 1);
                stages[stage as usize].num_tasks = tasks;
                let moved = |s: u32| if s > stage { s - 1 } else { s };
                edges.retain(|edge| !edge.contains(&(stage + 1)));
                edges.iter_mut().for_each(|edge| *edge = edge.map(moved));
            }
            Self::Edge { parent, child, .. } => {
                let place = edges.iter().position(|edge| *edge == [parent, child]);
                edges.remove(place.ok_or_else(|| refused("there is no such dependency"))?);
            }
        }
        JobGraph::new(graph.name(), stages, &edges).map_err(|e: JobError| refused(&e.to_string()))
    }
}

/// The job as it is described after several edits, and where the tasks of its stages come from. Where a cluster does not believe
/// durations, they were declared otherwise than they stand in `graph`, and are passed over.
pub(crate) fn describe_all(
    graph: &JobGraph,
    edits: &[JobEdit],
    believes_durations: bool,
) -> Result<(JobGraph, Vec<Part>), EditError> {
    let mut described: Option<JobGraph> = None;
    let mut parts: Vec<Part> = (0..graph.stages().len() as u32).map(|stage| Part { stage, first_task: 0 }).collect();
    for edit in edits.iter().filter(|edit| believes_durations || !matches!(edit, JobEdit::Duration { .. })) {
        let (next, of) = edit.describe(described.as_ref().unwrap_or(graph))?;
        let through = |part: &Part| {
            let before = parts[part.stage as usize];
            Part { first_task: before.first_task + part.first_task, ..before }
        };
        parts = of.iter().map(through).collect();
        described = Some(next);
    }
    Ok((described.unwrap_or_else(|| graph.clone()), parts))
}

/// The stages of the chain with most declared work, from its beginning.
pub(crate) fn critical_path(graph: &JobGraph) -> Vec<u32> {
    let work = |s: u32| f64::from(graph.stages()[s as usize].num_tasks) * graph.stages()[s as usize].rough_ms;
    let mut longest = vec![0.0; graph.stages().len()];
    let longer = |below: &[f64], list: &[u32]| {
        list.iter().copied().reduce(|a, b| if below[b as usize] > below[a as usize] { b } else { a })
    };
    for &stage in graph.topological().iter().rev() {
        let below = longer(&longest, graph.children(stage)).map_or(0.0, |child| longest[child as usize]);
        longest[stage as usize] = work(stage) + below;
    }
    let roots: Vec<u32> = graph.topological().iter().copied().filter(|&s| graph.parents(s).is_empty()).collect();
    std::iter::successors(longer(&longest, &roots), |&stage| longer(&longest, graph.children(stage))).collect()
}
