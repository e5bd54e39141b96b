//! Guards, orders, borders, terms and heuristics of the `training` scenario by name.

use sched_distill_core::{
    model::Shape::{Linear, Log},
    scenario::{Catalogue, GuardTemplate, RuleTemplate, TermTemplate, rule},
};

pub(super) const CATALOGUE: Catalogue =
    Catalogue { guards: &GUARDS, orders: &ORDERS, borders: &BORDERS, terms: &TERMS, rules: &RULES };

const GUARDS: [GuardTemplate; 17] = [
    GuardTemplate {
        name: "worth-it",
        text: "cluster: is_none <= 0 and best_marginal_gain <= {} never",
        values: &[0.0, 1e3, 1e4, 3e4, 1e5, 3e5],
        meaning: "the slot is closed when no further task would save its job more than this",
    },
    GuardTemplate {
        name: "speedup",
        text: "cluster: is_none <= 0 and best_speedup <= {} never",
        values: &[0.0, 0.005, 0.01, 0.02, 0.05, 0.1],
        meaning: "the slot is closed when no further task would speed its job up by more than this share",
    },
    GuardTemplate {
        name: "satisfied",
        text: "cluster: is_none <= 0 and best_speedup_in_reach <= {} never",
        values: &[0.0, 0.005, 0.01, 0.02, 0.05, 0.1],
        meaning: "the slot is closed when no job could be sped up by more than this, whatever it got",
    },
    GuardTemplate {
        name: "wait-for-room",
        text: "cluster: is_none <= 0 and wish_fits <= 0 never",
        values: &[],
        meaning: "the slot is closed when there is no room for the worker or server that would save most time",
    },
    GuardTemplate {
        name: "go-on",
        text: "cluster: best_speedup > {} first",
        values: &[0.0, 0.01, 0.02, 0.05, 0.1, 0.2],
        meaning: "the slot is not closed while a task would speed its job up by more than this share",
    },
    GuardTemplate {
        name: "start-all",
        text: "cluster: idle_jobs > 0 first",
        values: &[],
        meaning: "the slot is not closed while a job has no worker or no server",
    },
    GuardTemplate {
        name: "idle-first",
        text: "job: idle first",
        values: &[],
        meaning: "jobs without a worker or without a server come first",
    },
    GuardTemplate {
        name: "gain",
        text: "job: speedup <= {} last",
        values: &[0.0, 0.005, 0.01, 0.02, 0.05, 0.1],
        meaning: "jobs that a further task would speed up by no more than this wait for the others",
    },
    GuardTemplate {
        name: "saturated",
        text: "job: speedup_in_reach <= {} last",
        values: &[0.0, 0.005, 0.01, 0.02, 0.05, 0.1],
        meaning: "jobs that nothing could speed up by more than this wait for the others",
    },
    GuardTemplate {
        name: "short",
        text: "job: shortest_time_ratio <= {} first",
        values: &[1.0, 1.25, 1.5, 2.0, 3.0],
        meaning: "jobs with about the least time left come first",
    },
    GuardTemplate {
        name: "largest-gain",
        text: "job: marginal_gain_rank >= {} first",
        values: &[2.0, 4.0, 8.0, 16.0],
        meaning: "jobs that save more time by a task than so many others come first",
    },
    GuardTemplate {
        name: "fair",
        text: "job: fair_order > {} last",
        values: &[1.0, 2.0, 4.0, 8.0],
        meaning: "jobs with a larger share of the cluster than so many others wait for them",
    },
    GuardTemplate {
        name: "starvation",
        text: "job: stay > {} first",
        values: &[4.0, 8.0, 16.0, 32.0, 64.0],
        meaning: "jobs that have been there for more slots than this come first",
    },
    GuardTemplate {
        name: "worker-cap",
        text: "job: workers >= {} last",
        values: &[1.0, 2.0, 3.0, 4.0, 6.0, 8.0],
        meaning: "jobs with so many workers wait for the others",
    },
    GuardTemplate {
        name: "balance",
        text: "task: servers_per_worker_then > {} last",
        values: &[1.0, 2.0, 3.0, 5.0, 8.0],
        meaning: "no more servers per worker than this while another task can be had",
    },
    GuardTemplate {
        name: "no-loss",
        text: "task: speedup <= {} last",
        values: &[0.0, 0.01, 0.02, 0.05],
        meaning: "tasks that speed the job up by no more than this come last",
    },
    GuardTemplate {
        name: "dead-end",
        text: "task: gap_to_best_reach > {} last",
        values: &[0.0, 0.005, 0.01, 0.02, 0.05, 0.1],
        meaning: "tasks that put more than this share of the job's speed out of reach come last",
    },
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
