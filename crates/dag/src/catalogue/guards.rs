//! Guards that a search may try in the `dag` scenario, each with the range of its number.

use sched_distill_core::scenario::GuardTemplate;

const SHARES: &[f64] = &[0.5, 0.7, 1.0, 1.4, 2.0, 2.8, 4.0];

/// All templates.
pub(super) const GUARDS: [GuardTemplate; 14] = [
    GuardTemplate {
        name: "affinity",
        text: "job: is_source first",
        values: &[],
        meaning: "executors stay with the job that releases them, which spares moving and warming up",
    },
    GuardTemplate {
        name: "fair-cap",
        text: "amount: held_after_of_fair_share > {} never",
        values: SHARES,
        meaning: "no grant lifts a job above so many times its fair share",
    },
    GuardTemplate {
        name: "fair-turn",
        text: "job: held_of_fair_share >= {} last",
        values: SHARES,
        meaning: "jobs with so many times their fair share wait for the others",
    },
    GuardTemplate {
        name: "starvation",
        text: "job: age > {} first",
        values: &[6e4, 1.2e5, 2.4e5, 4.8e5, 9.6e5, 1.92e6],
        meaning: "jobs that wait longer than this come first",
    },
    GuardTemplate {
        name: "shortest",
        text: "job: remaining_work_ratio <= {} first",
        values: &[1.0, 1.1, 1.25, 1.5, 2.0, 3.0],
        meaning: "jobs with about the least remaining work come first",
    },
    GuardTemplate {
        name: "small",
        text: "job: remaining_work <= {} first",
        values: &[1e4, 3e4, 1e5, 3e5, 1e6],
        meaning: "jobs with less remaining work than this come first",
    },
    GuardTemplate {
        name: "nearly-done",
        text: "job: progress > {} first",
        values: &[0.5, 0.7, 0.8, 0.9, 0.95],
        meaning: "jobs of which so large a share has been launched come first",
    },
    GuardTemplate {
        name: "room-to-work",
        text: "job: ready_tasks < {} last",
        values: &[2.0, 4.0, 8.0, 16.0],
        meaning: "jobs with fewer tasks that could start wait for the others",
    },
    GuardTemplate {
        name: "no-waiting",
        text: "stage: unfinished_parents > 0 last",
        values: &[],
        meaning: "no executor waits at a stage that cannot start while another stage can",
    },
    GuardTemplate {
        name: "critical-path",
        text: "stage: on_critical_path first",
        values: &[],
        meaning: "stages on the job's longest remaining path come first",
    },
    GuardTemplate {
        name: "unlock",
        text: "stage: children_unlocked >= {} first",
        values: &[1.0, 2.0],
        meaning: "stages that so many others wait for alone come first",
    },
    GuardTemplate {
        name: "task-cap",
        text: "amount: amount_of_tasks > {} never",
        values: &[0.05, 0.1, 0.2, 0.5, 1.0],
        meaning: "no job gets more executors than this share of its tasks left",
    },
    GuardTemplate {
        name: "demand-cap",
        text: "amount: amount_of_demand > {} never",
        values: &[0.1, 0.2, 0.3, 0.5, 0.7],
        meaning: "no stage gets more than this share of the executors that it wants",
    },
    GuardTemplate {
        name: "step",
        text: "amount: executors_given > {} never",
        values: &[1.0, 2.0, 4.0, 8.0, 16.0],
        meaning: "no more executors than this are given at a time",
    },
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
