//! What the `deadlines` scenario calls things in sentences for readers.

use super::{amount::Amount, class::Class, job::Job};
use sched_distill_core::{
    feature::Level as _,
    level::{KindWords, NetworkWords, Words, pairs},
};

/// Words for the kinds, levels and quantities of the `deadlines` scenario.
#[must_use]
pub fn words() -> Words {
    Words {
        kinds: vec![
            KindWords::new("start", "a waiting job may begin"),
            KindWords::new("resize", "a running job may get another size"),
        ],
        levels: vec![
            Job::words(["job", "prefers to start a job", "starts the job"]),
            Class::words(["way to take it on", "prefers", "chooses"]),
            Amount::words(["size", "prefers", "gives"]),
        ],
        policies: pairs(&[
            ("fifo", "first come, first served, with the cores that users request"),
            ("edf", "the earliest deadline first, with the cores that users request"),
            ("least-slack", "the job with the least time to spare first, with the cores that users request"),
            ("edf-test", "the earliest deadline first, with the cores that users request, late jobs last"),
            ("qos", "the earliest deadline first, with as few cores as suffice, which change with the predictions"),
            ("hpa", "first come, first served, and more cores for who uses all it has"),
            ("vpa", "first come, first served, with a little more cores than earlier jobs used"),
        ]),
        networks: vec![NetworkWords::new("scorer", "deadlines-net", "the built-in network for deadlines")],
        edge_cases: pairs(&[
            ("burst", "all jobs arrive at once"),
            ("giant", "one giant job shares the cluster"),
            ("hopeless", "four in ten deadlines cannot be kept"),
            ("misdeclared", "half of the users declare twice their iterations"),
        ]),
        figures: pairs(&[("on_time", "share of jobs on time")]),
        shares: pairs(&[("on_time", "jobs on time")]),
    }
}
