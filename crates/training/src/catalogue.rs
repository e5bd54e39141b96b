//! Guards, orders, borders, terms and heuristics of the `training` scenario by name.

use sched_distill_core::{
    model::Shape::{Linear, Log},
    scenario::{Catalogue, GuardTemplate, RuleTemplate, TermTemplate, guard, rule},
};

pub(super) const CATALOGUE: Catalogue =
    Catalogue { guards: &GUARDS, orders: &ORDERS, borders: &BORDERS, terms: &TERMS, rules: &RULES };

const GUARDS: [GuardTemplate; 17] = [
    guard("worth-it", "the slot is closed when no further task would save its job more than this")
        .is("cluster: is_none <= 0 and best_marginal_gain <= {} never", &[0.0, 1e3, 1e4, 3e4, 1e5, 3e5]),
    guard("speedup", "the slot is closed when no further task would speed its job up by more than this share")
        .is("cluster: is_none <= 0 and best_speedup <= {} never", &[0.0, 0.005, 0.01, 0.02, 0.05, 0.1]),
    guard("satisfied", "the slot is closed when no job could be sped up by more than this, whatever it got")
        .is("cluster: is_none <= 0 and best_speedup_in_reach <= {} never", &[0.0, 0.005, 0.01, 0.02, 0.05, 0.1]),
    guard(
        "wait-for-room",
        "the slot is closed when there is no room for the worker or server that would save most time",
    )
    .is("cluster: is_none <= 0 and wish_fits <= 0 never", &[]),
    guard("go-on", "the slot is not closed while a task would speed its job up by more than this share")
        .is("cluster: best_speedup > {} first", &[0.0, 0.01, 0.02, 0.05, 0.1, 0.2]),
    guard("start-all", "the slot is not closed while a job has no worker or no server")
        .is("cluster: idle_jobs > 0 first", &[]),
    guard("idle-first", "jobs without a worker or without a server come first").is("job: idle first", &[]),
    guard("gain", "jobs that a further task would speed up by no more than this wait for the others")
        .is("job: speedup <= {} last", &[0.0, 0.005, 0.01, 0.02, 0.05, 0.1]),
    guard("saturated", "jobs that nothing could speed up by more than this wait for the others")
        .is("job: speedup_in_reach <= {} last", &[0.0, 0.005, 0.01, 0.02, 0.05, 0.1]),
    guard("short", "jobs with about the least time left come first")
        .is("job: shortest_time_ratio <= {} first", &[1.0, 1.25, 1.5, 2.0, 3.0]),
    guard("largest-gain", "jobs that save more time by a task than so many others come first")
        .is("job: marginal_gain_rank >= {} first", &[2.0, 4.0, 8.0, 16.0]),
    guard("fair", "jobs with a larger share of the cluster than so many others wait for them")
        .is("job: fair_order > {} last", &[1.0, 2.0, 4.0, 8.0]),
    guard("starvation", "jobs that have been there for more slots than this come first")
        .is("job: stay > {} first", &[4.0, 8.0, 16.0, 32.0, 64.0]),
    guard("worker-cap", "jobs with so many workers wait for the others")
        .is("job: workers >= {} last", &[1.0, 2.0, 3.0, 4.0, 6.0, 8.0]),
    guard("balance", "no more servers per worker than this while another task can be had")
        .is("task: servers_per_worker_then > {} last", &[1.0, 2.0, 3.0, 5.0, 8.0]),
    guard("no-loss", "tasks that speed the job up by no more than this come last")
        .is("task: speedup <= {} last", &[0.0, 0.01, 0.02, 0.05]),
    guard("dead-end", "tasks that put more than this share of the job's speed out of reach come last")
        .is("task: gap_to_best_reach > {} last", &[0.0, 0.005, 0.01, 0.02, 0.05, 0.1]),
];

const ORDERS: [(&str, &str, bool); 11] = [
    ("cluster", "speedup", true),
    ("cluster", "speedup_in_reach", true),
    ("job", "fair_order", false),
    ("job", "marginal_gain_rank", true),
    ("job", "speedup_rank", true),
    ("job", "speedup_in_reach_rank", true),
    ("job", "shortest_time_rank", false),
    ("task", "marginal_gain_rank", true),
    ("task", "gain_per_slot_rank", true),
    ("task", "servers_per_worker_then_rank", false),
    ("task", "gap_to_best_reach", false),
];

const BORDERS: [(&str, &str, &[f32]); 4] = [
    ("job", "jobs_in_system", &[5.0, 10.0, 20.0]),
    ("job", "free_gpu", &[0.25, 0.5, 0.75]),
    ("task", "jobs_in_system", &[5.0, 10.0, 20.0]),
    ("task", "free_gpu", &[0.25, 0.5, 0.75]),
];

const TERMS: [TermTemplate; 20] = [
    ("cluster", &[("marginal_gain", Log)]),
    ("job", &[("marginal_gain", Log)]),
    ("task", &[("marginal_gain", Log)]),
    ("cluster", &[("speedup", Log)]),
    ("job", &[("speedup", Log)]),
    ("task", &[("speedup", Log)]),
    ("cluster", &[("speedup_in_reach", Log)]),
    ("job", &[("speedup_in_reach", Log)]),
    ("task", &[("gap_to_best_reach", Log)]),
    ("job", &[("shortest_time", Log)]),
    ("task", &[("servers_per_worker_then", Log)]),
    ("cluster", &[("is_none", Linear), ("free_gpu_per_job", Log)]),
    ("job", &[("dominant_share", Linear)]),
    ("task", &[("slots_taken", Linear)]),
    ("job", &[("idle", Linear)]),
    ("job", &[("workers", Log)]),
    ("job", &[("servers", Log)]),
    ("job", &[("time_left", Log)]),
    ("task", &[("gain_per_slot", Log)]),
    ("job", &[("servers_per_worker", Log)]),
];

const RULES: [RuleTemplate; 22] = [
    rule("never-close", "go on as long as anything fits").is("cluster: smallest is_none"),
    rule("start-only", "close the slot once every job has begun").is("cluster: idle_jobs > 0 first, largest is_none"),
    rule("marginal-stop", "go on until no worker or server saves time, or the one that saves most does not fit").is(
        "cluster: is_none <= 0 and wished_gain <= 0 never, is_none <= 0 and wish_fits <= 0 never, smallest is_none",
    ),
    rule("fair-stop", "go on until a worker and a server of the job with the smallest dominant share do not fit")
        .is("cluster: is_none <= 0 and fair_fits <= 0 never, smallest is_none"),
    rule("while-it-helps", "go on as long as a further task would save its job time")
        .is("cluster: is_none <= 0 and best_marginal_gain <= 0 never, smallest is_none"),
    rule("while-in-reach", "go on as long as a job could still be sped up, be it by several tasks")
        .is("cluster: is_none <= 0 and best_speedup_in_reach <= 0 never, smallest is_none"),
    rule("first-come", "the oldest job first").is("job: smallest arrival_order_rank"),
    rule("newest-first", "the newest job first").is("job: largest arrival_order_rank"),
    rule("fair", "the job with the smallest dominant share first").is("job: smallest fair_order"),
    rule("fewest-tasks", "the job with fewest workers and servers first").is("job: smallest tasks_rank"),
    rule("smallest-share-left", "the job with the smallest share of its epochs left first")
        .is("job: smallest remaining_share_rank"),
    rule("shortest-job", "the job with least time left at its best first").is("job: smallest shortest_time_rank"),
    rule("shortest-now", "the job with least time left with what it has first").is("job: smallest time_left_rank"),
    rule("largest-gain", "the job that a task more would save most time first").is("job: largest marginal_gain_rank"),
    rule(
        "marginal-gain",
        "jobs without a worker or server first, then the one that a worker or a server more would save most time",
    )
    .is("job: idle first, largest single_gain_rank"),
    rule("fastest-growth", "the job that a task more would speed up most first").is("job: largest speedup_rank"),
    rule("most-in-reach", "the job that could be sped up most, be it by several tasks")
        .is("job: largest speedup_in_reach_rank"),
    rule("both", "a worker and a server together").is("task: largest is_both"),
    rule("largest-task-gain", "what saves the job most time").is("task: largest marginal_gain_rank"),
    rule("best-value", "what saves the job most time per slot of CPU and GPU").is("task: largest gain_per_slot_rank"),
    rule("no-dead-end", "what keeps the job's best speed in reach").is("task: smallest gap_to_best_reach"),
    rule("balanced", "what leaves fewest servers per worker").is("task: smallest servers_per_worker_then_rank"),
];
