//! What the `dag` scenario calls things in sentences for readers.

use super::{amount::Amount, job::Job, stage::Stage};
use sched_distill_core::{
    feature::Level as _,
    level::{KindWords, NetworkWords, Words, pairs},
};

/// Words for the kinds, levels and quantities of the `dag` scenario.
#[must_use]
pub fn words() -> Words {
    Words {
        kinds: vec![
            KindWords::new("affinity", "the job that freed the executors could keep them"),
            KindWords::new("free", "any job may get the executors"),
        ],
        levels: vec![
            Job::words(["job", "prefers a job", "picks the job"]),
            Stage::words(["stage", "prefers a stage", "picks the stage"]),
            Amount::words(["amount", "gives", "gives"]),
        ],
        policies: pairs(&[
            ("random", "any job at random"),
            ("fifo", "first come, first served"),
            ("fair", "a fair share each, in order of arrival"),
            ("weighted-fair", "shares by the work that is left"),
            ("sjf", "least work left first"),
            ("sjf-cp", "least work left first, its longest chain first"),
            ("srpt-fair", "least work left first, up to a fair share each"),
        ]),
        networks: vec![NetworkWords::new("decima", "decima", "the built-in network modelled on Decima")],
        edge_cases: pairs(&[
            ("giant", "one giant job shares the cluster"),
            ("bursts", "jobs arrive in bursts of ten"),
            ("wide", "jobs have many stages side by side"),
            ("chains", "jobs are long chains of stages"),
            ("long-tail", "half of a job's work is in its last few tasks"),
            ("double-rate", "jobs arrive twice as fast"),
            ("half-executors", "there are half as many executors"),
            ("mix", "small, large, wide and chained jobs mix"),
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
