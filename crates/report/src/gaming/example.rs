//! One edit replayed: what ran while the job was there, without the edit and with it.

use crate::{
    holds_up::gantt,
    svg::{BLUE, Chart, WHITE},
    words::time,
};
use sched_distill_judge::{attack::BestEdit, evaluator::Schedule};
use std::collections::BTreeMap;

/// Both schedules over the same time, the job's tasks in a colour; `None` if nothing ran.
pub(super) fn chart(schedules: &[Schedule; 2], edit: &BestEdit) -> Option<Chart> {
    let job = edit.job;
    let times = schedules.iter().filter_map(|s| s.items.get(job as usize));
    let (from, to) = times.fold((f64::INFINITY, 0.0_f64), |(from, to), &(arrival, end)| {
        (from.min(arrival), to.max(end.unwrap_or(arrival)))
    });
    let [before, after] = edit.completion_ms.map(time);
    gantt::picture(&gantt::Picture {
        name: "gaming-example",
        title: format!("Job {job} of episode {}, without the edit and with it", edit.episode),
        schedules,
        headings: vec![format!("as it was: job {job} takes {before}"), format!("with the edit: it takes {after}")],
        coloured: "the edited job",
        stretch: (from < to).then_some((from, to))?,
        colours: BTreeMap::from([(job, (BLUE, WHITE))]),
    })
}
