//! How well does the student schedule? Mean job completion times and paired ratios, with their intervals.

use crate::{
    ReportError,
    dot_chart::{Cell, Panel, Row, draw},
    svg::{self, BLUE, Chart, GREEN, ORANGE},
    words::{self, number, percent, tenths},
};
use sched_distill_toolkit::evaluator::{ClosedLoop, Estimate, PolicyOutcome, Ratio, Role};
use serde::Serialize;

/// The comparison: a chart and a table with all figures.
#[derive(Debug, Serialize)]
pub(super) struct Section {
    workload: String,
    split: String,
    episodes: usize,
    baselines: Vec<String>,
    unit: &'static str,
    rows: Vec<TableRow>,
    pub(super) chart: Chart,
}

/// One policy, written out.
#[derive(Debug, Serialize)]
pub(super) struct TableRow {
    policy: String,
    role: Role,
    stalled: usize,
    /// Mean job completion time and makespan as (figure, interval); `None` if no episode finished.
    jct: Option<(String, String)>,
    makespan: Option<(String, String)>,
    /// Per baseline: ratio of mean JCT and of makespan as (figure, interval).
    ratios: Vec<[Option<(String, String)>; 2]>,
    utilisation: String,
    jobs: String,
}

/// Draws the comparison.
///
/// # Errors
///
/// [`ReportError::Chart`] if the chart cannot be drawn.
pub(super) fn section(result: &ClosedLoop) -> Result<Section, ReportError> {
    let mut baselines: Vec<String> = Vec::new();
    for ratio in &result.ratios {
        if !baselines.contains(&ratio.baseline) {
            baselines.push(ratio.baseline.clone());
        }
    }
    let means = result.policies.iter().filter_map(|p| p.mean_jct_ms).map(|e| e.value);
    let shortest = means.filter(|&v| v > 0.0).fold(f64::INFINITY, f64::min);
    let (scale, unit) = words::time_unit(shortest);
    let seconds = |e: &Estimate| Estimate { value: e.value / scale, low: e.low / scale, high: e.high / scale };

    let rows = result.policies.iter().map(|p| table_row(p, result, &baselines, seconds)).collect();
    let mut panels = vec![Panel {
        title: "Mean job completion time".into(),
        axis: format!("{unit} (less is better)"),
        range: (0.0, 0.0),
        reference: None,
        write: tenths,
        tick: number,
    }];
    for baseline in &baselines {
        let name = svg::fit(&spoken(result, baseline), 116.0, 12.5);
        panels.push(Panel {
            title: format!("Ratio to {name}"),
            axis: "mean JCT, below 1 is better".into(),
            range: (0.95, 1.05),
            reference: Some(1.0),
            write: ratio_text,
            tick: number,
        });
    }
    let mut description = String::new();
    let lines: Vec<Row> = result
        .policies
        .iter()
        .map(|p| {
            let stall = stalled(p, result.episodes);
            let jct = p.mean_jct_ms.as_ref().map(seconds);
            let said = stall
                .clone()
                .or_else(|| jct.map(|e| format!("mean JCT {} {unit}", number(e.value))))
                .unwrap_or_default();
            description.push_str(&format!("{}: {said}. ", p.policy));
            let mut cells = vec![match (stall, jct) {
                (None, Some(jct)) => Cell::Dot(jct),
                (stall, _) => Cell::Words(stall.unwrap_or_else(|| "none".into())),
            }];
            cells.extend(baselines.iter().map(|b| {
                if *b == p.policy {
                    return Cell::Words("baseline".into());
                }
                match ratio(result, &p.policy, b).map(|r| r.jct) {
                    Some(Some(e)) => Cell::Dot(e),
                    Some(None) => Cell::Words("none: an episode stalled".into()),
                    None => Cell::Words("not compared".into()),
                }
            }));
            let colour = match p.role {
                Role::Student => BLUE,
                Role::Teacher => ORANGE,
                _ => GREEN,
            };
            Row::Item { label: p.policy.clone(), colour, cells }
        })
        .collect();
    let title = "Mean job completion time by policy".to_owned();
    let (svg, width) = draw("closed-loop", &title, &description, &panels, &lines)?;
    let chart = Chart { name: "closed-loop".into(), title, svg, width, data: crate::to_data("closed-loop", result)? };
    Ok(Section {
        workload: result.workload.clone(),
        split: result.split.clone(),
        episodes: result.episodes,
        baselines: baselines.iter().map(|b| spoken(result, b)).collect(),
        unit,
        rows,
        chart,
    })
}

/// Says in words that a policy stalled; `None` if it never did.
pub(crate) fn stalled(policy: &PolicyOutcome, episodes: usize) -> Option<String> {
    (policy.stalled > 0).then(|| format!("stalled in {} of {episodes}", policy.stalled))
}

/// How a baseline is spoken of: the teacher by its role, if there is one teacher, others by name.
pub(crate) fn spoken(result: &ClosedLoop, policy: &str) -> String {
    let teachers: Vec<&PolicyOutcome> = result.policies.iter().filter(|p| p.role == Role::Teacher).collect();
    match teachers[..] {
        [teacher] if teacher.policy == policy => "the teacher".to_owned(),
        _ => policy.to_owned(),
    }
}

/// The paired ratio of `policy` to `baseline`.
pub(crate) fn ratio<'a>(result: &'a ClosedLoop, policy: &str, baseline: &str) -> Option<&'a Ratio> {
    result.ratios.iter().find(|r| r.policy == policy && r.baseline == baseline)
}

fn table_row(
    policy: &PolicyOutcome,
    result: &ClosedLoop,
    baselines: &[String],
    scaled: impl Fn(&Estimate) -> Estimate,
) -> TableRow {
    let shown =
        |e: &Estimate, write: fn(f64) -> String| (write(e.value), format!("{} to {}", write(e.low), write(e.high)));
    TableRow {
        policy: policy.policy.clone(),
        role: policy.role,
        stalled: policy.stalled,
        jct: policy.mean_jct_ms.as_ref().map(|e| shown(&scaled(e), tenths)),
        makespan: policy.makespan_ms.as_ref().map(|e| shown(&scaled(e), tenths)),
        ratios: baselines
            .iter()
            .map(|b| {
                let found = ratio(result, &policy.policy, b);
                [found.and_then(|r| r.jct), found.and_then(|r| r.makespan)].map(|e| e.map(|e| shown(&e, ratio_text)))
            })
            .collect(),
        utilisation: percent(policy.utilisation),
        jobs: tenths(policy.jobs_in_system),
    }
}

/// A ratio with three decimals, since policies may differ by little.
pub(crate) fn ratio_text(value: f64) -> String {
    format!("{value:.3}")
}
