//! How long do jobs take? The distribution of completion times, policy by policy.

use super::closed_loop::stalled;
use crate::{
    ReportError,
    line_chart::{Axis, Key, Mark, Plot, Series, alone},
    svg::{self, BLUE, Chart, Colour, GREEN, GREY, INK, ORANGE, PURPLE, Pictures},
    words::{self, number},
};
use sched_distill_judge::evaluator::{ClosedLoop, PolicyOutcome, Role};
use serde::Serialize;
use serde_json::json;

const WIDTH: f64 = 900.0;
/// Policies drawn at most: the teacher, the student, and the heuristics whose jobs take least.
const SHOWN: usize = 6;
/// Lines of heuristics.
const OTHERS: [(Colour, &str); SHOWN - 1] =
    [(GREEN, "7 3"), (PURPLE, "2 3"), (GREY, "9 3 2 3"), (INK, "9 3 2 3 2 3"), (GREEN, "1 2")];

/// The distribution of completion times.
#[derive(Debug, Serialize)]
pub(super) struct Section {
    /// Policies with completion times that are not drawn.
    left_out: Vec<String>,
    /// Whether a policy that is drawn left jobs unfinished.
    unfinished: bool,
    pub(super) chart: Chart,
}

/// Draws the distributions; `None` if no policy's completion times were kept.
///
/// # Errors
///
/// [`ReportError::Chart`] if the chart cannot be drawn.
pub(super) fn section(result: &ClosedLoop) -> Result<Option<Section>, ReportError> {
    let ordered = ordered(result);
    let (shown, left_out) = ordered.split_at(ordered.len().min(SHOWN));
    if shown.is_empty() {
        return Ok(None);
    }
    Ok(Some(Section {
        left_out: left_out.iter().map(|p| p.policy.clone()).collect(),
        unfinished: shown.iter().any(|p| p.stalled > 0),
        chart: chart(result, shown)?,
    }))
}

/// Policies with completion times above 0: teachers, students, then the others, those whose jobs take least first.
fn ordered(result: &ClosedLoop) -> Vec<&PolicyOutcome> {
    let rank = |p: &PolicyOutcome| match p.role {
        Role::Teacher => 0,
        Role::Student => 1,
        _ if p.stalled == 0 => 2,
        _ => 3,
    };
    let mean = |p: &PolicyOutcome| p.completion_quantiles_ms.iter().sum::<f64>();
    let mut ordered: Vec<&PolicyOutcome> =
        result.policies.iter().filter(|p| p.completion_quantiles_ms.last().is_some_and(|&most| most > 0.0)).collect();
    ordered.sort_by(|a, b| rank(a).cmp(&rank(b)).then(mean(a).total_cmp(&mean(b))));
    ordered
}

fn chart(result: &ClosedLoop, shown: &[&PolicyOutcome]) -> Result<Chart, ReportError> {
    svg::register_fonts()?;
    let times = || shown.iter().flat_map(|p| p.completion_quantiles_ms.iter().copied()).filter(|&t| t > 0.0);
    let (least, most) = (times().fold(f64::INFINITY, f64::min), times().fold(0.0, f64::max));
    let (scale, unit) = words::time_unit(shown[0].completion_quantiles_ms.get(50).copied().unwrap_or(most));
    let series: Vec<Series> = shown.iter().enumerate().map(|(i, p)| series(p, i, scale, result.episodes)).collect();
    let keys: Vec<Key<'_>> = series.iter().map(Key::Series).collect();
    let plot = Plot {
        series: series.clone(),
        ..Plot::new(
            String::new(),
            Axis::log(&format!("completion time of a job, {unit} (logarithmic)"), (least / scale, most / scale)),
            Axis::linear("share of jobs that took no longer", (0.0, 1.0), 5, whole_percent),
        )
    };
    let title = "Distribution of completion times by policy".to_owned();
    let each = shown.iter().map(|p| {
        let at = |percent: usize| p.completion_quantiles_ms.get(percent).copied().unwrap_or(f64::NAN);
        format!(
            "{}: half of the jobs within {}, nine tenths within {}. ",
            p.policy,
            words::time(at(50)),
            words::time(at(90))
        )
    });
    let description: String = each.collect();
    let pictures =
        Pictures::new("completion-times", WIDTH, &title, &description, |width| alone(&plot, &keys, width, 300.0));
    let policies: Vec<_> = shown
        .iter()
        .map(|p| json!({"policy": p.policy, "role": p.role, "stalled": p.stalled, "completion_quantiles_ms": p.completion_quantiles_ms}))
        .collect();
    let data = json!({"workload": result.workload, "episodes": result.episodes, "policies": policies});
    Ok(pictures.chart("completion-times", title, data))
}

fn series(policy: &PolicyOutcome, place: usize, scale: f64, episodes: usize) -> Series {
    let (colour, dash) = match policy.role {
        Role::Teacher => (ORANGE, "12 4"),
        Role::Student => (BLUE, ""),
        // The first two places are usually the teacher's and the student's.
        _ => OTHERS[place.saturating_sub(2).min(OTHERS.len() - 1)],
    };
    let name = match policy.role {
        Role::Heuristic | Role::Augmented | Role::Fitted => policy.policy.clone(),
        role => words::with_role(role, &policy.policy),
    };
    let note = stalled(policy, episodes).map_or(String::new(), |s| format!(" ({s})"));
    let last = (policy.completion_quantiles_ms.len() - 1).max(1) as f64;
    Series {
        label: name + &note,
        colour,
        dash: Some(dash),
        mark: Mark::None,
        points: policy.completion_quantiles_ms.iter().enumerate().map(|(i, t)| (t / scale, i as f64 / last)).collect(),
        whiskers: Vec::new(),
    }
}

/// A share as a whole percentage.
fn whole_percent(share: f64) -> String {
    format!("{}\u{a0}%", number((share * 100.0).round()))
}
