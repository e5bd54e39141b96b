//! Guards that a search may try in the `dag` scenario, each with the range of its number.

use sched_distill_core::scenario::{GuardTemplate, guard};

const SHARES: &[f64] = &[0.5, 0.7, 1.0, 1.4, 2.0, 2.8, 4.0];

/// All templates.
pub(super) const GUARDS: [GuardTemplate; 14] = [
    guard(
        "affinity",
        "job: is_source first",
        &[],
        "executors stay with the job that releases them, which spares moving and warming up",
    ),
    guard(
        "fair-cap",
        "amount: held_after_of_fair_share > {} never",
        SHARES,
        "no grant lifts a job above so many times its fair share",
    ),
    guard(
        "fair-turn",
        "job: held_of_fair_share >= {} last",
        SHARES,
        "jobs with so many times their fair share wait for the others",
    ),
    guard(
        "starvation",
        "job: age > {} first",
        &[6e4, 1.2e5, 2.4e5, 4.8e5, 9.6e5, 1.92e6],
        "jobs that wait longer than this come first",
    ),
    guard(
        "shortest",
        "job: remaining_work_ratio <= {} first",
        &[1.0, 1.1, 1.25, 1.5, 2.0, 3.0],
        "jobs with about the least remaining work come first",
    ),
    guard(
        "small",
        "job: remaining_work <= {} first",
        &[1e4, 3e4, 1e5, 3e5, 1e6],
        "jobs with less remaining work than this come first",
    ),
    guard(
        "nearly-done",
        "job: progress > {} first",
        &[0.5, 0.7, 0.8, 0.9, 0.95],
        "jobs of which so large a share has been launched come first",
    ),
    guard(
        "room-to-work",
        "job: ready_tasks < {} last",
        &[2.0, 4.0, 8.0, 16.0],
        "jobs with fewer tasks that could start wait for the others",
    ),
    guard(
        "no-waiting",
        "stage: unfinished_parents > 0 last",
        &[],
        "no executor waits at a stage that cannot start while another stage can",
    ),
    guard(
        "critical-path",
        "stage: on_critical_path first",
        &[],
        "stages on the job's longest remaining path come first",
    ),
    guard(
        "unlock",
        "stage: children_unlocked >= {} first",
        &[1.0, 2.0],
        "stages that so many others wait for alone come first",
    ),
    guard(
        "task-cap",
        "amount: amount_of_tasks > {} never",
        &[0.05, 0.1, 0.2, 0.5, 1.0],
        "no job gets more executors than this share of its tasks left",
    ),
    guard(
        "demand-cap",
        "amount: amount_of_demand > {} never",
        &[0.1, 0.2, 0.3, 0.5, 0.7],
        "no stage gets more than this share of the executors that it wants",
    ),
    guard(
        "step",
        "amount: executors_given > {} never",
        &[1.0, 2.0, 4.0, 8.0, 16.0],
        "no more executors than this are given at a time",
    ),
];

/// Orders by one feature that named heuristics go by: level, feature, and whether the largest comes first.
pub(super) const ORDERS: [(&str, &str, bool); 7] = [
    ("job", "remaining_work_rank", false),
    ("job", "held_of_fair_share", false),
    ("job", "critical_path_rank", true),
    ("stage", "critical_path_rank", true),
    ("stage", "remaining_work_rank", false),
    ("stage", "children_unlocked_rank", true),
    ("amount", "executors_given", true),
];

/// Where a search may pass from one model to another: level, a feature that all candidates of a choice share, and values.
pub(super) const BORDERS: [(&str, &str, &[f32]); 5] = [
    ("job", "jobs_in_system", &[2.0, 4.0, 8.0]),
    ("job", "offered", &[1.0, 4.0]),
    ("stage", "offered", &[1.0, 4.0]),
    ("stage", "job_is_source", &[0.5]),
    ("amount", "jobs_in_system", &[2.0, 4.0, 8.0]),
];
