//! Terms of the `dag` scenario that a direct search may add to a student: what scheduling theory would weigh, whether or not the
//! teacher does.

use sched_distill_core::{
    model::Shape::{Linear, Log},
    scenario::TermTemplate,
};

/// All terms, the more important ones of each level first. Logarithms turn the products and ratios of index policies (work ÷ weight,
/// tasks ÷ executors) into sums.
pub(super) const TERMS: [TermTemplate; 28] = [
    ("job", &[("remaining_work", Log)]),
    ("stage", &[("remaining_work", Log)]),
    ("amount", &[("amount_of_cap", Linear)]),
    ("job", &[("work_share", Linear)]),
    ("stage", &[("critical_path", Log)]),
    ("amount", &[("held_after_of_fair_share", Log)]),
    ("job", &[("ready_tasks", Log)]),
    ("stage", &[("unfinished_parents", Log)]),
    ("amount", &[("amount_of_demand", Linear)]),
    ("job", &[("held_of_fair_share", Linear)]),
    ("stage", &[("task_duration", Log)]),
    ("amount", &[("amount_of_tasks", Linear)]),
    ("job", &[("headroom", Log)]),
    ("stage", &[("descendants_work", Log)]),
    ("amount", &[("executors_given", Log)]),
    ("job", &[("executors_held", Log)]),
    ("stage", &[("on_critical_path", Linear)]),
    ("amount", &[("amount_of_cap", Linear), ("job_remaining_work", Log)]),
    ("job", &[("is_source", Linear)]),
    ("stage", &[("demand", Log)]),
    ("job", &[("ready_stages", Log)]),
    ("stage", &[("executors_on_it", Log)]),
    ("job", &[("critical_path", Log)]),
    ("stage", &[("remaining_tasks", Log)]),
    ("job", &[("mean_task_duration", Log)]),
    ("job", &[("remaining_tasks", Log)]),
    ("job", &[("smallest_ready_stage", Log)]),
    ("job", &[("age", Log)]),
];
