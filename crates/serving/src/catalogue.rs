//! Guards, orders, borders, terms and heuristics of the `serving` scenario by name.

use sched_distill_core::{
    model::Shape::{Linear, Log},
    scenario::{Catalogue, GuardTemplate, RuleTemplate, TermTemplate, guard, rule},
};

pub(super) const CATALOGUE: Catalogue =
    Catalogue { guards: &GUARDS, orders: &ORDERS, borders: &BORDERS, terms: &TERMS, rules: &RULES };

const GUARDS: [GuardTemplate; 14] = [
    guard("never-idle", "application: is_none > 0 last", &[], "accelerators do not wait while tasks do"),
    guard("full-first", "application: is_full > 0 first", &[], "applications with a full batch come first"),
    guard(
        "timed-out-first",
        "application: is_timed_out > 0 first",
        &[],
        "applications whose oldest task has waited for its timeout come first",
    ),
    guard(
        "late-first",
        "application: is_none <= 0 and slack <= {} first",
        &[0.0, 10.0, 20.0, 50.0],
        "applications whose oldest task has no more time left than this come first",
    ),
    guard(
        "starvation",
        "application: waited > {} first",
        &[50.0, 100.0, 200.0, 500.0],
        "applications whose oldest task has waited longer than this come first",
    ),
    guard(
        "greedy",
        "application: used_share > {} last",
        &[0.3, 0.4, 0.5, 0.6],
        "applications that have had more than this share come last",
    ),
    guard(
        "almost-empty",
        "application: is_none <= 0 and filling <= {} last",
        &[0.1, 0.25, 0.5],
        "applications with less of a batch than this come last",
    ),
    guard("must-pay", "task: is_none <= 0 and pays <= 0 last", &[], "tasks do not join whose joining does not pay"),
    guard(
        "best-alone",
        "task: is_none <= 0 and is_best <= 0 last",
        &[],
        "tasks join that the best batch has, no others",
    ),
    guard(
        "no-padding",
        "task: is_none <= 0 and difference > {} and batch > 0 last",
        &[4.0, 8.0, 16.0, 32.0],
        "tasks do not join that differ in size by more than this",
    ),
    guard("oldest-first", "task: is_oldest > 0 first", &[], "the oldest task always joins"),
    guard(
        "aged-first",
        "task: passed > {} first",
        &[2.0, 4.0, 8.0, 16.0],
        "tasks join that more batches than this have passed over",
    ),
    guard("keep-in-time", "task: makes_late > 0 last", &[], "tasks do not join that make others late"),
    guard("fill-up", "task: is_none > 0 last", &[], "batches are closed only when nothing else can join"),
];

const ORDERS: [(&str, &str, bool); 15] = [
    ("application", "turn_rank", false),
    ("application", "waited_rank", true),
    ("application", "tasks_rank", true),
    ("application", "slack_rank", false),
    ("application", "slowdown_rank", true),
    ("application", "used_rank", false),
    ("application", "relief_rank", true),
    ("application", "merit_rank", true),
    ("application", "urgency_rank", true),
    ("task", "waited_rank", true),
    ("task", "difference_rank", false),
    ("task", "added_rank", false),
    ("task", "saved_rank", true),
    ("task", "size_rank", false),
    ("task", "relief_rank", true),
];

const BORDERS: [(&str, &str, &[f32]); 3] = [
    ("application", "waiting", &[16.0, 64.0, 256.0]),
    ("application", "asking", &[1.0, 2.0, 4.0]),
    ("task", "batch", &[0.0, 4.0, 8.0]),
];

const TERMS: [TermTemplate; 24] = [
    ("application", &[("relief", Log)]),
    ("application", &[("merit", Log)]),
    ("application", &[("used", Log)]),
    ("application", &[("used_share", Linear)]),
    ("application", &[("is_none", Linear)]),
    ("application", &[("waited", Log)]),
    ("application", &[("slowdown", Log)]),
    ("application", &[("tasks", Log)]),
    ("application", &[("batch", Log)]),
    ("application", &[("batch_time", Log)]),
    ("application", &[("urgency", Log)]),
    ("application", &[("turn", Linear)]),
    ("application", &[("is_full", Linear)]),
    ("task", &[("is_none", Linear)]),
    ("task", &[("saved", Linear)]),
    ("task", &[("difference", Log)]),
    ("task", &[("added", Log)]),
    ("task", &[("relief", Log)]),
    ("task", &[("all_delay", Log)]),
    ("task", &[("pays", Linear)]),
    ("task", &[("is_best", Linear)]),
    ("task", &[("waited", Log)]),
    ("task", &[("is_oldest", Linear)]),
    ("task", &[("is_none", Linear), ("filling", Linear)]),
];

const RULES: [RuleTemplate; 16] = [
    rule("in-turn", "application: smallest is_none, smallest turn_rank", "applications take turns"),
    rule(
        "in-turn-when-ready",
        "application: is_none <= 0 and is_full <= 0 and is_timed_out <= 0 never, smallest is_none, smallest turn_rank",
        "applications take turns, those with a full batch or a task that has waited for its timeout",
    ),
    rule(
        "least-served",
        "application: smallest is_none, smallest used_rank, smallest turn_rank",
        "who has had the least is served",
    ),
    rule(
        "longest-waiting",
        "application: smallest is_none, largest waited_rank",
        "whose task has waited longest is served",
    ),
    rule(
        "least-slack",
        "application: smallest is_none, smallest slack_rank",
        "whose task has the least slack is served",
    ),
    rule("most-tasks", "application: smallest is_none, largest tasks_rank", "who has the most tasks is served"),
    rule(
        "most-relief",
        "application: smallest is_none, largest relief_rank",
        "whose batch ends the most slowdown per time is served",
    ),
    rule(
        "most-merit",
        "application: smallest is_none, largest merit_rank",
        "whose batch is most worth its time is served: by tasks per time, efficiency and waiting",
    ),
    rule("serve-no-one", "application: largest is_none", "accelerators wait"),
    rule(
        "in-order",
        "task: smallest is_none, largest waited_rank",
        "tasks join in order of arrival until the batch is full",
    ),
    rule(
        "in-order-in-time",
        "task: makes_late > 0 never, smallest is_none, largest waited_rank",
        "tasks join in order of arrival as long as they make no task of the batch late",
    ),
    rule(
        "like-size-if-it-pays",
        "task: batch <= 0 and is_oldest <= 0 never, is_none <= 0 and pays <= 0 never, smallest is_none, smallest difference_rank",
        "tasks of the nearest size join the oldest as long as nobody is worse off",
    ),
    rule(
        "like-size",
        "task: batch <= 0 and is_oldest <= 0 never, smallest is_none, smallest difference_rank",
        "tasks of the nearest size join the oldest until the batch is full",
    ),
    rule(
        "best-batch",
        "task: is_none <= 0 and is_best <= 0 never, smallest is_none, largest size_rank",
        "tasks join that are in the batch most worth its time",
    ),
    rule(
        "smallest-first",
        "task: smallest is_none, smallest size_rank",
        "the smallest tasks join until the batch is full",
    ),
    rule(
        "one-by-one",
        "task: batch > 0 and is_none <= 0 never, smallest is_none, largest waited_rank",
        "batches of one task",
    ),
];
