//! What the `preemption` scenario calls things in sentences for readers.

use super::{job::Job, victim::Victim};
use sched_distill_core::{
    feature::Level as _,
    level::{KindWords, NetworkWords, Words, pairs},
};

/// Words for the kinds, levels and quantities of the `preemption` scenario.
#[must_use]
pub fn words() -> Words {
    Words {
        kinds: vec![
            KindWords::new("room", "a waiting job fits"),
            KindWords::new("full", "no waiting job fits"),
            KindWords::new("condemn", "jobs are to be suspended for a waiting one"),
        ],
        levels: vec![
            Job::words(["job", "prefers to serve a job", "serves the job"]),
            Victim::words(["job to suspend", "prefers to suspend a job", "suspends the job"]),
        ],
        policies: pairs(&[
            ("fifo", "first come, first served"),
            ("sjf", "the shortest job first, and nobody is suspended"),
            ("srtf", "the least time left first, by suspending longer jobs whatever that costs"),
            ("las", "jobs that have had little GPU time first, by suspending others"),
            ("gittins", "jobs that are likeliest to complete first, by suspending others"),
            ("pickyman", "the least time left first, by suspending others where that pays"),
            ("lucid-like", "the least GPU time first, as a small tree predicts it, and nobody is suspended"),
            ("tiresias", "the rules of Tiresias' simulator"),
        ]),
        networks: vec![NetworkWords::new("scorer", "preemption-net", "the built-in network for preemption")],
        edge_cases: pairs(&[
            ("burst", "all jobs arrive at once"),
            ("wide", "one job in ten wants all GPUs"),
            ("giants", "one job in ten is a giant"),
            ("understated", "half of the users understate"),
        ]),
        figures: pairs(&[("waiting_ms", "mean waiting of jobs")]),
        shares: Vec::new(),
    }
}
