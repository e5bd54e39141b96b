//! What the `serving` scenario calls things in sentences for readers.

use sched_distill_core::level::{KindWords, LevelWords, Words, pairs};

/// Words for the kinds, levels and quantities of the `serving` scenario.
#[must_use]
pub fn words() -> Words {
    Words {
        kinds: vec![
            KindWords::new("one", "tasks of one application wait"),
            KindWords::new("several", "tasks of several applications wait"),
            KindWords::new("batch", "a batch is being formed"),
        ],
        levels: vec![application(), task()],
        policies: pairs(&[
            ("tf-serving", "batches in order of arrival, and applications in turn"),
            ("triton", "batches of preferred sizes, and the longest waiting first"),
            ("clipper", "batches that grow while they are in time, and applications in turn"),
            ("lazy", "the least slack first, and batches in which nobody becomes late"),
            ("dybatch", "batches of like sizes, in which nobody is worse off"),
            ("best-batch", "the batch that answers the most tasks per time, efficiently, and has waited"),
        ]),
        edge_cases: pairs(&[
            ("burst", "tasks come in bursts"),
            ("giants", "one task in twenty is a giant"),
            ("hog", "one application asks as much as all others"),
            ("understated", "half of the users understate"),
        ]),
        figures: pairs(&[("slowdown", "mean slowdown of tasks")]),
    }
}

fn application() -> LevelWords {
    let quantities = [
        ["is_none", "serving none", "to serve an application rather than none", "to serve none"],
        ["tasks", "tasks that wait", "with fewer tasks", "with more tasks"],
        [
            "waited",
            "time its oldest task has waited",
            "whose oldest task has waited less",
            "whose oldest task has waited longer",
        ],
        ["solo", "time its oldest task takes alone", "whose oldest task is shorter", "whose oldest task is longer"],
        [
            "slowdown",
            "slowdown of its oldest task",
            "whose oldest task is slowed down less",
            "whose oldest task is slowed down more",
        ],
        ["slack", "slack of its oldest task", "whose oldest task has less slack", "whose oldest task has more slack"],
        ["filling", "share of a full batch", "with less of a full batch", "with more of a full batch"],
        ["is_full", "a full batch", "without a full batch", "with a full batch"],
        ["is_timed_out", "a task past its timeout", "without a task past its timeout", "with a task past its timeout"],
        ["batch", "tasks of its batch", "with a batch of fewer tasks", "with a batch of more tasks"],
        ["batch_time", "time of its batch", "with a shorter batch", "with a longer batch"],
        ["task_time", "time per task of its batch", "with less time per task", "with more time per task"],
        ["efficiency", "efficiency of its batch", "with a less efficient batch", "with a more efficient batch"],
        [
            "relief",
            "slowdown that ends per time of its batch",
            "whose batch ends less slowdown per time",
            "whose batch ends more slowdown per time",
        ],
        ["merit", "merit of its batch", "whose batch is less worth its time", "whose batch is more worth its time"],
        [
            "urgency",
            "slowdown of its tasks per second",
            "whose tasks are slowed down less",
            "whose tasks are slowed down more",
        ],
        ["used", "accelerator time had", "that has had less", "that has had more"],
        ["used_share", "share of accelerator time had", "that has had a smaller share", "that has had a larger share"],
        ["turn", "place in the round", "whose turn is sooner", "whose turn is later"],
        ["arrivals", "arrivals per second", "with fewer arrivals", "with more arrivals"],
        ["to_full", "time until a batch is full", "whose batch is full sooner", "whose batch is full later"],
        ["waiting", "tasks that wait in all", "", ""],
        ["asking", "applications with tasks", "", ""],
        ["all_urgency", "slowdown of all tasks per second", "", ""],
        ["idle", "idle accelerators", "", ""],
        ["next_end", "time until the next batch ends", "", ""],
    ];
    LevelWords::new(["application", "application", "prefers an application", "picks the application"], &quantities)
        .ends("is_none", "to serve an application while tasks wait", "to serve none")
}

fn task() -> LevelWords {
    let quantities = [
        ["is_none", "closing the batch", "to add a task rather than close the batch", "to close the batch"],
        ["size", "size", "that is smaller", "that is larger"],
        ["alike", "tasks of its size", "with fewer of its size", "with more of its size"],
        ["waited", "time waited", "that has waited less", "that has waited longer"],
        ["is_oldest", "having waited longest", "that has not waited longest", "that has waited longest"],
        ["solo", "time it takes alone", "that takes less time alone", "that takes more time alone"],
        ["slowdown", "slowdown so far", "that is slowed down less", "that is slowed down more"],
        ["passed", "batches that passed it over", "that fewer batches passed over", "that more batches passed over"],
        [
            "difference",
            "distance from the batch's largest",
            "nearer in size to the largest in the batch",
            "farther in size from the largest in the batch",
        ],
        [
            "is_larger",
            "being larger than those in the batch",
            "that is not larger than those in the batch",
            "that is larger than those in the batch",
        ],
        ["added", "time it adds to the batch", "that adds less time", "that adds more time"],
        ["saved", "time that its joining saves", "that saves less time by joining", "that saves more time by joining"],
        [
            "task_time_change",
            "change of the time per task",
            "with which the time per task falls more",
            "with which the time per task rises more",
        ],
        ["is_best", "part of the best batch", "that is not part of the best batch", "that is part of the best batch"],
        ["pays", "joining pays", "whose joining does not pay", "whose joining pays"],
        [
            "relief",
            "slowdown that ends per time it adds",
            "that ends less slowdown per time it adds",
            "that ends more slowdown per time it adds",
        ],
        ["delay", "slowdown it adds to the batch", "that slows the batch down less", "that slows the batch down more"],
        ["all_delay", "slowdown it adds to all", "that slows all down less", "that slows all down more"],
        ["slack", "slack in this batch", "with less slack in this batch", "with more slack in this batch"],
        ["makes_late", "making others late", "that makes no other late", "that makes others late"],
        ["batch", "tasks in the batch", "", ""],
        ["filling", "filling of the batch", "", ""],
        ["batch_time", "time of the batch", "", ""],
        ["batch_urgency", "slowdown of the batch per second", "", ""],
        ["batch_merit", "merit of the batch by that of the best", "", ""],
        ["tasks", "tasks of its application that wait", "", ""],
        ["waiting", "tasks that wait in all", "", ""],
        ["others", "other applications with tasks", "", ""],
        ["all_urgency", "slowdown of all tasks per second", "", ""],
        ["arrivals", "arrivals of its application per second", "", ""],
    ];
    LevelWords::new(["task", "task", "prefers a task", "picks the task"], &quantities).ends(
        "is_none",
        "to add a task while one fits",
        "to close the batch",
    )
}
