//! What the `training` scenario calls things in sentences for readers.

use super::{cluster::Cluster, job::Job, task::TaskLevel};
use sched_distill_core::{
    feature::Level as _,
    level::{KindWords, NetworkWords, Words, pairs},
};

/// Words for the kinds, levels and quantities of the `training` scenario.
#[must_use]
pub fn words() -> Words {
    Words {
        kinds: vec![
            KindWords::new("start", "a job still lacks a worker or a server that it could get"),
            KindWords::new("grow", "every job that could be started has been"),
        ],
        levels: vec![
            Cluster::words(["answer", "prefers", "chooses"]),
            Job::words(["job", "prefers a job", "picks the job"]),
            TaskLevel::words(["task", "prefers", "gives"]),
        ],
        policies: pairs(&[
            ("drf", "the job with the smallest share first"),
            ("fifo", "first come, first served"),
            ("srtf", "the job with the smallest share of its epochs left first"),
            ("srtf-time", "the job with the least time left first"),
            ("tetris", "the job that fits the free slots best"),
            ("optimus", "each task where it saves the most time"),
        ]),
        networks: vec![NetworkWords::new("dl2", "dl2", "the built-in network modelled on DL2")],
        edge_cases: pairs(&[
            ("bursts", "the jobs of ten slots arrive at once"),
            ("half-nodes", "there are half as many nodes"),
            ("uneven-speeds", "speeds are uneven"),
            ("misjudged-epochs", "jobs declare the wrong epochs"),
        ]),
        figures: pairs(&[("mean_jct_ms", "mean completion time")]),
        shares: Vec::new(),
    }
}

#[cfg(all(test, feature = "simulate"))]
mod tests {
    use super::*;

    #[test]
    fn policies_and_edge_cases_have_words_and_no_others_do() {
        let words = words();
        let heuristics = crate::policies::POLICIES
            .iter()
            .map(|p| p.info)
            .filter(|p| p.sort == sched_distill_core::policy::Sort::Heuristic);
        let named: Vec<&str> = words.policies.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(named, heuristics.map(|p| p.name).collect::<Vec<_>>());
        let named: Vec<&str> = words.edge_cases.iter().map(|(name, _)| name.as_str()).collect();
        assert!(named.into_iter().eq(crate::workload::EDGE_CASES.iter().map(|(name, _)| *name)));
    }
}
