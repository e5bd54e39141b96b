//! Guards that a search may try in the `dag` scenario, each with the range of its number.

use sched_distill_core::scenario::{GuardTemplate, guard};

const SHARES: &[f64] = &[0.5, 0.7, 1.0, 1.4, 2.0, 2.8, 4.0];

/// All templates.
pub(super) const GUARDS: [GuardTemplate; 14] = [
    guard("affinity", "executors stay with the job that releases them, which spares moving and warming up")
        .is("job: is_source first", &[]),
    guard("fair-cap", "no grant lifts a job above so many times its fair share")
        .is("amount: held_after_of_fair_share > {} never", SHARES),
    guard("fair-turn", "jobs with so many times their fair share wait for the others")
        .is("job: held_of_fair_share >= {} last", SHARES),
    guard("starvation", "jobs that wait longer than this come first")
        .is("job: age > {} first", &[6e4, 1.2e5, 2.4e5, 4.8e5, 9.6e5, 1.92e6]),
    guard("shortest", "jobs with about the least remaining work come first")
        .is("job: remaining_work_ratio <= {} first", &[1.0, 1.1, 1.25, 1.5, 2.0, 3.0]),
    guard("small", "jobs with less remaining work than this come first")
        .is("job: remaining_work <= {} first", &[1e4, 3e4, 1e5, 3e5, 1e6]),
    guard("nearly-done", "jobs of which so large a share has been launched come first")
        .is("job: progress > {} first", &[0.5, 0.7, 0.8, 0.9, 0.95]),
    guard("room-to-work", "jobs with fewer tasks that could start wait for the others")
        .is("job: ready_tasks < {} last", &[2.0, 4.0, 8.0, 16.0]),
    guard("no-waiting", "no executor waits at a stage that cannot start while another stage can")
        .is("stage: unfinished_parents > 0 last", &[]),
    guard("critical-path", "stages on the job's longest remaining path come first")
        .is("stage: on_critical_path first", &[]),
    guard("unlock", "stages that so many others wait for alone come first")
        .is("stage: children_unlocked >= {} first", &[1.0, 2.0]),
    guard("task-cap", "no job gets more executors than this share of its tasks left")
        .is("amount: amount_of_tasks > {} never", &[0.05, 0.1, 0.2, 0.5, 1.0]),
    guard("demand-cap", "no stage gets more than this share of the executors that it wants")
        .is("amount: amount_of_demand > {} never", &[0.1, 0.2, 0.3, 0.5, 0.7]),
    guard("step", "no more executors than this are given at a time")
        .is("amount: executors_given > {} never", &[1.0, 2.0, 4.0, 8.0, 16.0]),
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
