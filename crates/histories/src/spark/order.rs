//! What waited for what, where the log records no edge?

use super::{dag::DagStage, log::Application, rebuild::Group};
use std::collections::{HashMap, HashSet};

/// Edges that the order in time suggests, where the log records none ([why](super::Queries#order-by-time)); `None` if there are too many.
pub(super) fn assumed(
    group: &Group<'_>,
    dag: &[DagStage],
    edges: &[[u32; 2]],
    application: &Application,
) -> Option<Vec<[u32; 2]>> {
    const MOST: usize = 100_000;
    let job_of = |stage: u32| group.stages.get(stage as usize).map(|stage| stage.job);
    let read: HashSet<u32> = edges.iter().map(|&[parent, _]| parent).collect();
    let with_parents: HashSet<u32> =
        edges.iter().filter(|&&[parent, child]| job_of(parent) == job_of(child)).map(|&[_, child]| child).collect();
    let started_ms = |stage: u32| {
        let job = job_of(stage).and_then(|job| application.jobs.get(job as usize)?.submission_ms);
        job.or(dag.get(stage as usize).map(|stage| stage.submission_ms))
    };
    let stages = || (0..).zip(dag).map(|(place, _): (u32, _)| place);
    // Stages whose output no other reads: when they were completed, when their jobs began, and which they are.
    let mut sinks: Vec<(i64, i64, u32)> = stages()
        .filter(|stage| !read.contains(stage))
        .filter_map(|stage| Some((dag.get(stage as usize)?.completion_ms?, started_ms(stage)?, stage)))
        .collect();
    sinks.sort_unstable();
    // The latest beginning among those up to each.
    let mut latest = i64::MIN;
    let latest: Vec<i64> = sinks
        .iter()
        .map(|&(_, start_ms, _)| {
            latest = latest.max(start_ms);
            latest
        })
        .collect();
    // The latest beginning among the recorded parents of a stage, which with adaptive execution are of other jobs.
    let mut latest_parent: HashMap<u32, i64> = HashMap::new();
    for &[parent, child] in edges {
        if let Some(start_ms) = started_ms(parent) {
            let latest_ms = latest_parent.entry(child).or_insert(start_ms);
            *latest_ms = start_ms.max(*latest_ms);
        }
    }
    let mut assumed = Vec::new();
    for child in stages().filter(|stage| !with_parents.contains(stage)) {
        let Some(start_ms) = started_ms(child) else { continue };
        let before = sinks.partition_point(|&(end_ms, ..)| end_ms <= start_ms);
        let Some(&latest_ms) = before.checked_sub(1).and_then(|last| latest.get(last)) else { continue };
        // Those that another of them waited for, or a recorded parent, are before it anyway.
        let latest_ms = latest_parent.get(&child).map_or(latest_ms, |&parent_ms| latest_ms.max(parent_ms));
        let direct = sinks.iter().take(before).rev().take_while(|&&(end_ms, ..)| end_ms >= latest_ms);
        assumed.extend(direct.filter(|&&(.., parent)| parent < child).map(|&(.., parent)| [parent, child]));
        if assumed.len() > MOST {
            return None;
        }
    }
    assumed.sort_unstable();
    Some(assumed)
}
