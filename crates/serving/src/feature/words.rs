//! What the `serving` scenario calls things in sentences for readers.

use super::{application::Application, task::Task};
use sched_distill_core::{
    feature::Level as _,
    level::{KindWords, NetworkWords, Words, pairs},
};

/// Words for the kinds, levels and quantities of the `serving` scenario.
#[must_use]
pub fn words() -> Words {
    Words {
        kinds: vec![
            KindWords::new("one", "tasks of one application wait"),
            KindWords::new("several", "tasks of several applications wait"),
            KindWords::new("batch", "a batch is being formed"),
        ],
        levels: vec![
            Application::words(["application", "prefers to serve an application", "serves the application"]),
            Task::words(["task", "prefers to add a task", "adds the task"]),
        ],
        policies: pairs(&[
            ("tf-serving", "batches in order of arrival, and applications in turn"),
            ("triton", "batches of preferred sizes, and the longest waiting first"),
            ("clipper", "batches that grow while they are in time, and applications in turn"),
            ("lazy", "the least slack first, and batches in which nobody becomes late"),
            ("dybatch", "batches of like sizes, in which nobody is worse off"),
            ("best-batch", "the batch that answers the most tasks per time, efficiently, and has waited"),
        ]),
        networks: vec![NetworkWords::new("scorer", "serving-net", "the built-in network for serving")],
        edge_cases: pairs(&[
            ("burst", "tasks come in bursts"),
            ("giants", "one task in twenty is a giant"),
            ("hog", "one application asks as much as all others"),
            ("understated", "half of the users understate"),
        ]),
        figures: pairs(&[("slowdown", "mean slowdown of tasks")]),
        shares: Vec::new(),
    }
}
