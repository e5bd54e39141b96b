//! Heuristics of the `dag` scenario by name, as rules over features: a teacher can be compared with them on any trace that
//! has the features.

use sched_distill_core::scenario::{RuleTemplate, rule};

/// All heuristics. Those of the job level let executors stay with the job that releases them if it can use them; where it
/// cannot, the rest of the rule decides.
pub(super) const RULES: [RuleTemplate; 23] = [
    rule("first-come", "job: is_source first, smallest arrival_order_rank", "the oldest job first"),
    rule("newest-first", "job: is_source first, largest arrival_order_rank", "the newest job first"),
    rule(
        "fair",
        "job: is_source first, held_of_fair_share >= 1 last, smallest arrival_order_rank",
        "the oldest job below its fair share first",
    ),
    rule(
        "fewest-executors",
        "job: is_source first, smallest executors_held_rank",
        "the job with fewest executors first",
    ),
    rule(
        "shortest-job",
        "job: is_source first, smallest remaining_work_rank",
        "the job with least remaining work first",
    ),
    rule("fewest-tasks", "job: is_source first, smallest remaining_tasks_rank", "the job with fewest tasks left first"),
    rule(
        "fewest-stages",
        "job: is_source first, smallest remaining_stages_rank",
        "the job with fewest stages left first",
    ),
    rule(
        "shortest-path",
        "job: is_source first, smallest critical_path_rank",
        "the job with the shortest critical path first",
    ),
    rule(
        "longest-path",
        "job: is_source first, largest critical_path_rank",
        "the job with the longest critical path first",
    ),
    rule(
        "smallest-ready",
        "job: is_source first, smallest smallest_ready_stage_rank",
        "the job with the smallest ready stage first",
    ),
    rule(
        "fewest-ready",
        "job: is_source first, smallest ready_tasks_rank",
        "the job with fewest tasks that could start first",
    ),
    rule(
        "most-headroom",
        "job: is_source first, largest headroom_rank",
        "the job whose ready stages want most executors first",
    ),
    rule(
        "shortest-always",
        "job: smallest remaining_work_rank",
        "least remaining work first, wherever executors come from",
    ),
    rule("first-stage", "stage: smallest stage_order_rank", "the first stage by number"),
    rule(
        "first-runnable",
        "stage: unfinished_parents > 0 last, smallest stage_order_rank",
        "the first stage by number that can start at once",
    ),
    rule("critical-path", "stage: largest critical_path_rank", "the stage with the longest path to the job's end"),
    rule("smallest-stage", "stage: smallest remaining_work_rank", "the stage with least remaining work"),
    rule("largest-stage", "stage: largest remaining_work_rank", "the stage with most remaining work"),
    rule("most-unlocked", "stage: largest children_unlocked_rank", "the stage that most others wait for alone"),
    rule("fewest-descendants", "stage: smallest descendants_rank", "the stage that fewest others wait for"),
    rule("all", "amount: largest executors_given", "as many executors as allowed"),
    rule("one", "amount: smallest executors_given", "one executor"),
    rule(
        "fair-cap",
        "amount: held_after_of_fair_share > 1 never, largest executors_given",
        "as many executors as lift the job to its fair share",
    ),
];
