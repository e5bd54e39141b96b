//! Heuristics of the `dag` scenario by name, as rules over features: a teacher can be compared with them on any trace that
//! has the features.

use sched_distill_core::scenario::{RuleTemplate, rule};

/// All heuristics. Those of the job level let executors stay with the job that releases them if it can use them; where it
/// cannot, the rest of the rule decides.
pub(super) const RULES: [RuleTemplate; 23] = [
    rule("first-come", "the oldest job first").is("job: is_source first, smallest arrival_order_rank"),
    rule("newest-first", "the newest job first").is("job: is_source first, largest arrival_order_rank"),
    rule("fair", "the oldest job below its fair share first")
        .is("job: is_source first, held_of_fair_share >= 1 last, smallest arrival_order_rank"),
    rule("fewest-executors", "the job with fewest executors first")
        .is("job: is_source first, smallest executors_held_rank"),
    rule("shortest-job", "the job with least remaining work first")
        .is("job: is_source first, smallest remaining_work_rank"),
    rule("fewest-tasks", "the job with fewest tasks left first")
        .is("job: is_source first, smallest remaining_tasks_rank"),
    rule("fewest-stages", "the job with fewest stages left first")
        .is("job: is_source first, smallest remaining_stages_rank"),
    rule("shortest-path", "the job with the shortest critical path first")
        .is("job: is_source first, smallest critical_path_rank"),
    rule("longest-path", "the job with the longest critical path first")
        .is("job: is_source first, largest critical_path_rank"),
    rule("smallest-ready", "the job with the smallest ready stage first")
        .is("job: is_source first, smallest smallest_ready_stage_rank"),
    rule("fewest-ready", "the job with fewest tasks that could start first")
        .is("job: is_source first, smallest ready_tasks_rank"),
    rule("most-headroom", "the job whose ready stages want most executors first")
        .is("job: is_source first, largest headroom_rank"),
    rule("shortest-always", "least remaining work first, wherever executors come from")
        .is("job: smallest remaining_work_rank"),
    rule("first-stage", "the first stage by number").is("stage: smallest stage_order_rank"),
    rule("first-runnable", "the first stage by number that can start at once")
        .is("stage: unfinished_parents > 0 last, smallest stage_order_rank"),
    rule("critical-path", "the stage with the longest path to the job's end").is("stage: largest critical_path_rank"),
    rule("smallest-stage", "the stage with least remaining work").is("stage: smallest remaining_work_rank"),
    rule("largest-stage", "the stage with most remaining work").is("stage: largest remaining_work_rank"),
    rule("most-unlocked", "the stage that most others wait for alone").is("stage: largest children_unlocked_rank"),
    rule("fewest-descendants", "the stage that fewest others wait for").is("stage: smallest descendants_rank"),
    rule("all", "as many executors as allowed").is("amount: largest executors_given"),
    rule("one", "one executor").is("amount: smallest executors_given"),
    rule("fair-cap", "as many executors as lift the job to its fair share")
        .is("amount: held_after_of_fair_share > 1 never, largest executors_given"),
];
