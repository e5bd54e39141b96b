//! What a cluster makes of what users declare before its schedulers see it.

use crate::{
    edit::Part,
    graph::{JobError, JobGraph, StageSpec},
};
use serde::{Deserialize, Serialize};

/// What is believed of what users declare. By default all of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Intake {
    /// Whether the history says what tasks take until one has run, and not what is declared, see
    /// [`JobTemplate::known_ms`](crate::workload::JobTemplate::known_ms).
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
