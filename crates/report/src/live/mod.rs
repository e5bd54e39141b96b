//! What was measured in an engine that people run, beside the simulator.

mod picture;
mod sentence;

use super::{
    ReportError,
    run_dir::RunDir,
    svg::Chart,
    words::{count, number, time},
};
use sched_distill_core::figure::Compared;
use sched_distill_judge::evaluator::{Estimate, Looks, paired_held};
use sched_distill_pipeline::{Live, LiveCell, LivePolicy, LiveRun};
use serde::Serialize;
use std::collections::BTreeMap;

/// Of the intervals' resamples.
const SEED: u64 = 0;

/// What the page says of it.
#[derive(Debug, Serialize)]
pub(super) struct Section {
    engine: String,
    machine: String,
    work: String,
    cells: Vec<CellSection>,
}

/// A load.
#[derive(Debug, Serialize)]
struct CellSection {
    title: String,
    /// How many runs of how many queries.
    runs: String,
    queries: String,
    base: String,
    sentences: Vec<String>,
    schedulers: Chart,
    predicted: Option<Chart>,
    by_query: Vec<QueryRow>,
}

/// A kind of query under the first scheduler and the student.
#[derive(Debug, Serialize)]
struct QueryRow {
    name: String,
    times: String,
    base: String,
    own: String,
    ratio: String,
    simulated: String,
}

impl Section {
    /// The charts in the page's order.
    pub(super) fn into_charts(self) -> impl Iterator<Item = Chart> {
        self.cells.into_iter().flat_map(|cell| std::iter::once(cell.schedulers).chain(cell.predicted))
    }
}

/// Draws the section; `None` of a run whose student was not measured in an engine.
///
/// # Errors
///
/// [`ReportError::Chart`] if a chart cannot be drawn.
pub(super) fn section(run: &RunDir) -> Result<Option<Section>, ReportError> {
    let Some(live) = &run.live else { return Ok(None) };
    let cells = live.cells.iter().enumerate().map(|(number, cell)| cell_section(live, number, cell));
    Ok(Some(Section {
        engine: live.engine.clone(),
        machine: live.machine.clone(),
        work: live.work.clone(),
        cells: cells.collect::<Result<_, _>>()?,
    }))
}

fn cell_section(live: &Live, number: usize, cell: &LiveCell) -> Result<CellSection, ReportError> {
    let measured: Vec<Measured<'_>> = cell.policies.iter().skip(1).map(|policy| Measured::of(cell, policy)).collect();
    let slug = format!("live-{}", number + 1);
    let runs = cell.policies[0].runs.len();
    let title = title(cell);
    Ok(CellSection {
        schedulers: picture::schedulers(&format!("{slug}-schedulers"), &title, live, cell, &measured)?,
        predicted: picture::predicted(&format!("{slug}-predicted"), live, cell),
        title,
        runs: count(runs as u64),
        queries: count(cell.policies[0].runs[0].queries.len() as u64),
        base: cell.policies[0].name.clone(),
        sentences: sentence::all(live, cell, &measured),
        by_query: by_query(cell),
    })
}

/// What a load is, for people: `8 slots, 80 % of their time asked for; tasks last 8 × as long as they compute`.
fn title(cell: &LiveCell) -> String {
    let longer = match cell.dilated > 0.0 {
        true => format!("; tasks last {} × as long as they compute", number(1.0 + cell.dilated)),
        false => String::new(),
    };
    format!("{} slots, {}\u{a0}% of their time asked for{longer}", count(cell.slots.into()), number(100.0 * cell.load))
}

/// A scheduler against the first one.
struct Measured<'a> {
    policy: &'a LivePolicy,
    /// Its mean completion time ÷ that of the first one, over paired runs.
    live: Option<Estimate>,
    /// The same in the simulator.
    simulated: Option<Estimate>,
}

impl<'a> Measured<'a> {
    fn of(cell: &'a LiveCell, policy: &'a LivePolicy) -> Self {
        Self {
            policy,
            live: against(cell, policy, &cell.policies[0], |run| Some(run.mean_ms())),
            simulated: against(cell, policy, &cell.policies[0], LiveRun::simulated_mean_ms),
        }
    }
}

/// The geometric mean over paired runs of one scheduler's figure ÷ another's, with an interval that holds for all schedulers of the load together. `None`
/// of a single run: that says nothing of another one.
fn against(
    cell: &LiveCell,
    policy: &LivePolicy,
    base: &LivePolicy,
    figure: impl Fn(&LiveRun) -> Option<f64>,
) -> Option<Estimate> {
    if policy.runs.len() < 2 {
        return None;
    }
    let of = |policy: &LivePolicy| policy.runs.iter().map(&figure).collect::<Vec<_>>();
    let looks = Looks { planned: vec![policy.runs.len() as u32], comparisons: cell.policies.len() - 1 };
    paired_held(Compared::Ratio, [&of(policy), &of(base)], (Some(&looks), SEED))
}

/// Times of a kind of query: as measured, and in the simulator where it knows the scheduler.
#[derive(Default)]
struct Times {
    live: Vec<f64>,
    simulated: Vec<f64>,
}

/// By the name of the query.
fn times(policy: &LivePolicy) -> BTreeMap<&str, Times> {
    let mut all: BTreeMap<&str, Times> = BTreeMap::new();
    for run in &policy.runs {
        for (i, (name, ms)) in run.queries.iter().enumerate() {
            let times = all.entry(name).or_default();
            times.live.push(*ms);
            times.simulated.extend(run.simulated_ms.as_ref().map(|all| all[i]));
        }
    }
    all
}

fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

fn by_query(cell: &LiveCell) -> Vec<QueryRow> {
    let Some(own) = cell.own() else { return Vec::new() };
    let base = times(&cell.policies[0]);
    let ratio = |own: Option<f64>, base: Option<f64>| own.zip(base).map(|(own, base)| own / base);
    let written = |ratio: Option<f64>| ratio.map_or_else(|| "–".to_owned(), |r| format!("{r:.2}"));
    let row = |(name, own): (&str, Times)| {
        let before = base.get(name)?;
        let (of_own, of_base) = (mean(&own.live)?, mean(&before.live)?);
        Some(QueryRow {
            name: name.to_owned(),
            times: count(own.live.len() as u64),
            base: time(of_base),
            own: time(of_own),
            ratio: written(Some(of_own / of_base)),
            simulated: written(ratio(mean(&own.simulated), mean(&before.simulated))),
        })
    };
    times(own).into_iter().filter_map(row).collect()
}
