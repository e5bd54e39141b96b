//! Guards, orders, borders, terms and heuristics of the `training` scenario by name.

use sched_distill_core::{
    model::Shape::{Linear, Log},
    scenario::{Catalogue, GuardTemplate, RuleTemplate, TermTemplate, guard, rule},
};

pub(super) const CATALOGUE: Catalogue =
    Catalogue { guards: &GUARDS, orders: &ORDERS, borders: &BORDERS, terms: &TERMS, rules: &RULES };

const GUARDS: [GuardTemplate; 17] = [
    guard(
        "worth-it",
        "cluster: is_none <= 0 and best_marginal_gain <= {} never",
        &[0.0, 1e3, 1e4, 3e4, 1e5, 3e5],
        "the slot is closed when no further task would save its job more than this",
    ),
    guard(
        "speedup",
        "cluster: is_none <= 0 and best_speedup <= {} never",
        &[0.0, 0.005, 0.01, 0.02, 0.05, 0.1],
        "the slot is closed when no further task would speed its job up by more than this share",
    ),
    guard(
        "satisfied",
        "cluster: is_none <= 0 and best_speedup_in_reach <= {} never",
        &[0.0, 0.005, 0.01, 0.02, 0.05, 0.1],
        "the slot is closed when no job could be sped up by more than this, whatever it got",
    ),
    guard(
        "wait-for-room",
        "cluster: is_none <= 0 and wish_fits <= 0 never",
        &[],
        "the slot is closed when there is no room for the worker or server that would save most time",
    ),
    guard(
        "go-on",
        "cluster: best_speedup > {} first",
        &[0.0, 0.01, 0.02, 0.05, 0.1, 0.2],
        "the slot is not closed while a task would speed its job up by more than this share",
    ),
    guard(
        "start-all",
        "cluster: idle_jobs > 0 first",
        &[],
        "the slot is not closed while a job has no worker or no server",
    ),
    guard("idle-first", "job: idle first", &[], "jobs without a worker or without a server come first"),
    guard(
        "gain",
        "job: speedup <= {} last",
        &[0.0, 0.005, 0.01, 0.02, 0.05, 0.1],
        "jobs that a further task would speed up by no more than this wait for the others",
    ),
    guard(
        "saturated",
        "job: speedup_in_reach <= {} last",
        &[0.0, 0.005, 0.01, 0.02, 0.05, 0.1],
        "jobs that nothing could speed up by more than this wait for the others",
    ),
    guard(
        "short",
        "job: shortest_time_ratio <= {} first",
        &[1.0, 1.25, 1.5, 2.0, 3.0],
        "jobs with about the least time left come first",
    ),
    guard(
        "largest-gain",
        "job: marginal_gain_rank >= {} first",
        &[2.0, 4.0, 8.0, 16.0],
        "jobs that save more time by a task than so many others come first",
    ),
    guard(
        "fair",
        "job: fair_order > {} last",
        &[1.0, 2.0, 4.0, 8.0],
        "jobs with a larger share of the cluster than so many others wait for them",
    ),
    guard(
        "starvation",
        "job: stay > {} first",
        &[4.0, 8.0, 16.0, 32.0, 64.0],
        "jobs that have been there for more slots than this come first",
    ),
    guard(
        "worker-cap",
        "job: workers >= {} last",
        &[1.0, 2.0, 3.0, 4.0, 6.0, 8.0],
        "jobs with so many workers wait for the others",
    ),
    guard(
        "balance",
        "task: servers_per_worker_then > {} last",
        &[1.0, 2.0, 3.0, 5.0, 8.0],
        "no more servers per worker than this while another task can be had",
    ),
    guard(
        "no-loss",
        "task: speedup <= {} last",
        &[0.0, 0.01, 0.02, 0.05],
        "tasks that speed the job up by no more than this come last",
    ),
    guard(
        "dead-end",
        "task: gap_to_best_reach > {} last",
        &[0.0, 0.005, 0.01, 0.02, 0.05, 0.1],
        "tasks that put more than this share of the job's speed out of reach come last",
    ),
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
    rule("never-close", "cluster: smallest is_none", "go on as long as anything fits"),
    rule("start-only", "cluster: idle_jobs > 0 first, largest is_none", "close the slot once every job has begun"),
    rule(
        "marginal-stop",
        "cluster: is_none <= 0 and wished_gain <= 0 never, is_none <= 0 and wish_fits <= 0 never, smallest is_none",
        "go on until no worker or server saves time, or the one that saves most does not fit",
    ),
    rule(
        "fair-stop",
        "cluster: is_none <= 0 and fair_fits <= 0 never, smallest is_none",
        "go on until a worker and a server of the job with the smallest dominant share do not fit",
    ),
    rule(
        "while-it-helps",
        "cluster: is_none <= 0 and best_marginal_gain <= 0 never, smallest is_none",
        "go on as long as a further task would save its job time",
    ),
    rule(
        "while-in-reach",
        "cluster: is_none <= 0 and best_speedup_in_reach <= 0 never, smallest is_none",
        "go on as long as a job could still be sped up, be it by several tasks",
    ),
    rule("first-come", "job: smallest arrival_order_rank", "the oldest job first"),
    rule("newest-first", "job: largest arrival_order_rank", "the newest job first"),
    rule("fair", "job: smallest fair_order", "the job with the smallest dominant share first"),
    rule("fewest-tasks", "job: smallest tasks_rank", "the job with fewest workers and servers first"),
    rule(
        "smallest-share-left",
        "job: smallest remaining_share_rank",
        "the job with the smallest share of its epochs left first",
    ),
    rule("shortest-job", "job: smallest shortest_time_rank", "the job with least time left at its best first"),
    rule("shortest-now", "job: smallest time_left_rank", "the job with least time left with what it has first"),
    rule("largest-gain", "job: largest marginal_gain_rank", "the job that a task more would save most time first"),
    rule(
        "marginal-gain",
        "job: idle first, largest single_gain_rank",
        "jobs without a worker or server first, then the one that a worker or a server more would save most time",
    ),
    rule("fastest-growth", "job: largest speedup_rank", "the job that a task more would speed up most first"),
    rule(
        "most-in-reach",
        "job: largest speedup_in_reach_rank",
        "the job that could be sped up most, be it by several tasks",
    ),
    rule("both", "task: largest is_both", "a worker and a server together"),
    rule("largest-task-gain", "task: largest marginal_gain_rank", "what saves the job most time"),
    rule("best-value", "task: largest gain_per_slot_rank", "what saves the job most time per slot of CPU and GPU"),
    rule("no-dead-end", "task: smallest gap_to_best_reach", "what keeps the job's best speed in reach"),
    rule("balanced", "task: smallest servers_per_worker_then_rank", "what leaves fewest servers per worker"),
];
