//! Guards, orders, borders, terms and heuristics of the `serving` scenario by name.

use sched_distill_core::{
    model::Shape::{Linear, Log},
    scenario::{Catalogue, GuardTemplate, RuleTemplate, TermTemplate, guard, rule},
};

pub(super) const CATALOGUE: Catalogue =
    Catalogue { guards: &GUARDS, orders: &ORDERS, borders: &BORDERS, terms: &TERMS, rules: &RULES };

const GUARDS: [GuardTemplate; 14] = [
    guard("never-idle", "accelerators do not wait while tasks do").is("application: is_none > 0 last", &[]),
    guard("full-first", "applications with a full batch come first").is("application: is_full > 0 first", &[]),
    guard("timed-out-first", "applications whose oldest task has waited for its timeout come first")
        .is("application: is_timed_out > 0 first", &[]),
    guard("late-first", "applications whose oldest task has no more time left than this come first")
        .is("application: is_none <= 0 and slack <= {} first", &[0.0, 10.0, 20.0, 50.0]),
    guard("starvation", "applications whose oldest task has waited longer than this come first")
        .is("application: waited > {} first", &[50.0, 100.0, 200.0, 500.0]),
    guard("greedy", "applications that have had more than this share come last")
        .is("application: used_share > {} last", &[0.3, 0.4, 0.5, 0.6]),
    guard("almost-empty", "applications with less of a batch than this come last")
        .is("application: is_none <= 0 and filling <= {} last", &[0.1, 0.25, 0.5]),
    guard("must-pay", "tasks do not join whose joining does not pay").is("task: is_none <= 0 and pays <= 0 last", &[]),
    guard("best-alone", "tasks join that the best batch has, no others")
        .is("task: is_none <= 0 and is_best <= 0 last", &[]),
    guard("no-padding", "tasks do not join that differ in size by more than this")
        .is("task: is_none <= 0 and difference > {} and batch > 0 last", &[4.0, 8.0, 16.0, 32.0]),
    guard("oldest-first", "the oldest task always joins").is("task: is_oldest > 0 first", &[]),
    guard("aged-first", "tasks join that more batches than this have passed over")
        .is("task: passed > {} first", &[2.0, 4.0, 8.0, 16.0]),
    guard("keep-in-time", "tasks do not join that make others late").is("task: makes_late > 0 last", &[]),
    guard("fill-up", "batches are closed only when nothing else can join").is("task: is_none > 0 last", &[]),
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
    rule("in-turn", "applications take turns").is("application: smallest is_none, smallest turn_rank"),
    rule("in-turn-when-ready", "applications take turns, those with a full batch or a task that has waited for its timeout")
        .is("application: is_none <= 0 and is_full <= 0 and is_timed_out <= 0 never, smallest is_none, smallest turn_rank"),
    rule("least-served", "who has had the least is served")
        .is("application: smallest is_none, smallest used_rank, smallest turn_rank"),
    rule("longest-waiting", "whose task has waited longest is served")
        .is("application: smallest is_none, largest waited_rank"),
    rule("least-slack", "whose task has the least slack is served")
        .is("application: smallest is_none, smallest slack_rank"),
    rule("most-tasks", "who has the most tasks is served").is("application: smallest is_none, largest tasks_rank"),
    rule("most-relief", "whose batch ends the most slowdown per time is served")
        .is("application: smallest is_none, largest relief_rank"),
    rule("most-merit", "whose batch is most worth its time is served: by tasks per time, efficiency and waiting")
        .is("application: smallest is_none, largest merit_rank"),
    rule("serve-no-one", "accelerators wait").is("application: largest is_none"),
    rule("in-order", "tasks join in order of arrival until the batch is full")
        .is("task: smallest is_none, largest waited_rank"),
    rule("in-order-in-time", "tasks join in order of arrival as long as they make no task of the batch late")
        .is("task: makes_late > 0 never, smallest is_none, largest waited_rank"),
    rule("like-size-if-it-pays", "tasks of the nearest size join the oldest as long as nobody is worse off")
        .is("task: batch <= 0 and is_oldest <= 0 never, is_none <= 0 and pays <= 0 never, smallest is_none, smallest difference_rank"),
    rule("like-size", "tasks of the nearest size join the oldest until the batch is full")
        .is("task: batch <= 0 and is_oldest <= 0 never, smallest is_none, smallest difference_rank"),
    rule("best-batch", "tasks join that are in the batch most worth its time")
        .is("task: is_none <= 0 and is_best <= 0 never, smallest is_none, largest size_rank"),
    rule("smallest-first", "the smallest tasks join until the batch is full")
        .is("task: smallest is_none, smallest size_rank"),
    rule("one-by-one", "batches of one task")
        .is("task: batch > 0 and is_none <= 0 never, smallest is_none, largest waited_rank"),
];
