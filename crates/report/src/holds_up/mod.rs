//! Does it hold up? The student as a scheduler: completion times, episodes, schedules, other workloads; and its rules: would
//! other episodes give the same ones, and were all of them learned from enough?

mod closed_loop;
mod curve;
mod distribution;
pub(super) mod gantt;
mod paired;
mod stability;
mod support;
mod tail;
mod timeline;
mod workloads;

pub(super) use closed_loop::{no_figure, spoken, stalled};

use super::{ReportError, run_dir::RunDir, svg::Chart};
use serde::Serialize;

/// Everything that the section shows.
#[derive(Debug, Serialize)]
pub(super) struct Section {
    closed_loop: Option<closed_loop::Section>,
    distribution: Option<distribution::Section>,
    paired: Option<paired::Section>,
    tail: Option<tail::Section>,
    schedules: Option<Chart>,
    /// What a row of the schedules is.
    lane: String,
    utilisation: Option<Chart>,
    by_job: Option<Chart>,
    workloads: Option<workloads::Section>,
    /// The objective over a number of workloads that differ in it alone.
    curves: Vec<Chart>,
    stability: stability::Section,
    pub(super) support: support::Section,
}

/// Draws the section from a run's evaluation and schedules.
///
/// # Errors
///
/// [`ReportError::Chart`] if a chart cannot be drawn.
pub(super) fn section(run: &RunDir) -> Result<Section, ReportError> {
    let own = run.evaluation.closed_loop.as_ref();
    Ok(Section {
        closed_loop: own.map(closed_loop::section).transpose()?,
        distribution: own.map(distribution::section).transpose()?.flatten(),
        paired: own.map(paired::section).transpose()?.flatten(),
        tail: own.map(tail::section).transpose()?.flatten(),
        schedules: gantt::chart(&run.schedules),
        lane: run.schedules.first().map(|s| s.lane.clone()).unwrap_or_default(),
        utilisation: timeline::utilisation(&run.schedules)?,
        by_job: timeline::by_job(&run.schedules)?,
        workloads: workloads::section(own, &run.evaluation.other_workloads)?,
        curves: curve::charts(&own.into_iter().chain(&run.evaluation.other_workloads).collect::<Vec<_>>())?,
        stability: stability::section(run)?,
        support: support::section(run)?,
    })
}

impl Section {
    /// Numbers of tables without a picture of their own.
    pub(super) fn table(&self) -> (String, serde_json::Value) {
        self.support.table()
    }

    /// The charts in the page's order.
    pub(super) fn into_charts(self) -> impl Iterator<Item = Chart> {
        let tail = self.tail.and_then(|s| s.chart);
        let compared = [self.closed_loop.map(|s| s.chart), self.distribution.map(|s| s.chart), tail];
        let seen = [self.paired.and_then(|s| s.chart), self.schedules, self.by_job, self.utilisation];
        let elsewhere = [self.workloads.map(|s| s.chart), self.stability.into_chart()];
        compared.into_iter().chain(seen).chain(elsewhere).flatten().chain(self.curves)
    }
}
