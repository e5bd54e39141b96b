//! How well does the student schedule? The scenario's figures and paired comparisons of them, with their intervals.

use crate::{
    ReportError,
    dot_chart::{Cell, Panel, Row, draw},
    goal,
    plain::capital,
    svg::{self, BLUE, Chart, GREEN, ORANGE, PURPLE},
    words::{decimal, list, number, tenths, time},
};
use sched_distill_core::figure::Figure;
use sched_distill_judge::evaluator::{ClosedLoop, Estimate, PolicyOutcome, Role};
use serde::Serialize;

/// The comparison: a chart and a table with all figures.
#[derive(Debug, Serialize)]
pub(super) struct Section {
    workload: String,
    split: String,
    episodes: usize,
    /// What intervals say.
    intervals: String,
    /// Episodes in which no job arrived.
    empty: usize,
    /// The objective, what it means, and how comparisons of it are put together over episodes.
    objective: [String; 3],
    /// What no difference is.
    neutral: String,
    /// Whether a policy turned jobs away.
    rejected: bool,
    /// Whether it was measured for how long the cluster idled beside work.
    idle: bool,
    /// Names of the figures with their units.
    figures: Vec<[String; 2]>,
    /// Figures that are compared, and with whom.
    compared: Vec<[String; 2]>,
    rows: Vec<TableRow>,
    pub(super) chart: Chart,
}

/// One policy, written out.
#[derive(Debug, Serialize)]
pub(super) struct TableRow {
    policy: String,
    role: Role,
    stalled: usize,
    rejected: usize,
    /// The longest time in which more than half of the cluster idled beside work, and in which episode.
    idle: Shown,
    /// Every figure as (figure, interval); `None` if no episode finished.
    figures: Vec<Shown>,
    /// Per baseline and figure that is compared.
    compared: Vec<Shown>,
}

/// A figure and its interval, written out.
pub(super) type Shown = Option<(String, String)>;

/// Draws the comparison.
///
/// # Errors
///
/// [`ReportError::Chart`] if the chart cannot be drawn.
pub(super) fn section(result: &ClosedLoop) -> Result<Section, ReportError> {
    let mut baselines: Vec<&str> = Vec::new();
    for pair in &result.comparisons {
        if !baselines.contains(&pair.baseline.as_str()) {
            baselines.push(&pair.baseline);
        }
    }
    let goal = result.objective();
    let one_ms = smallest_ms(result);
    // A comparison of every figure would be too much to look at: those like the objective are enough.
    let compared: Vec<&Figure> = result.figures.iter().filter(|f| f.unit == goal.unit).collect();
    let rows = result.policies.iter().map(|p| table_row(p, result, &baselines, &compared, one_ms)).collect();
    let named = |f: &Figure| [f.label.to_string(), goal::side_by_side(f, one_ms).1];
    let sides = baselines.iter().flat_map(|b| {
        compared.iter().map(|f| [format!("{} {}", f.label, goal::comparison(f)), spoken(result, b)]).collect::<Vec<_>>()
    });
    Ok(Section {
        workload: result.workload.clone(),
        split: result.split.clone(),
        episodes: result.episodes,
        intervals: intervals(result),
        empty: result.empty_episodes.len(),
        objective: [goal.label.to_string(), goal.meaning.to_string(), goal::put_together(goal).to_owned()],
        neutral: number(goal.neutral()),
        rejected: result.policies.iter().any(|p| p.rejected > 0),
        idle: result.policies.iter().any(|p| p.longest_idle.is_some()),
        figures: result.figures.iter().map(named).collect(),
        compared: sides.collect(),
        rows,
        chart: chart(result, &baselines, one_ms)?,
    })
}

/// The smallest mean of the first figure that is a time: what the times beside it are written like.
fn smallest_ms(result: &ClosedLoop) -> f64 {
    let Some(time) = result.figures.iter().find(|f| f.unit == "ms") else { return 1.0 };
    let means = result.policies.iter().filter_map(|p| p.figure(&time.name)).map(|e| e.value);
    means.filter(|&mean| mean > 0.0).fold(f64::INFINITY, f64::min)
}

fn chart(result: &ClosedLoop, baselines: &[&str], one_ms: f64) -> Result<Chart, ReportError> {
    let goal = result.objective();
    let (scale, unit) = goal::side_by_side(goal, one_ms);
    let mut panels = vec![Panel {
        title: capital(&goal.label),
        axis: match unit.as_str() {
            "1" => goal::direction(goal).to_owned(),
            _ => format!("{unit} ({})", goal::direction(goal)),
        },
        range: (0.0, 0.0),
        reference: None,
        write: tenths,
        tick: number,
    }];
    panels.extend(baselines.iter().map(|baseline| Panel {
        title: format!("{} to {}", capital(goal::comparison(goal)), svg::fit(&spoken(result, baseline), 116.0, 12.5)),
        axis: format!("{}{}, {}", goal.label, goal::axis_unit(goal), goal::hint(goal)),
        range: goal::around(goal, 0.05),
        reference: Some(goal.neutral()),
        write: goal::at_dot(goal),
        tick: goal::tick(goal),
    }));
    let mut description = String::new();
    let line = |p: &PolicyOutcome| {
        let stall = stalled(p, result.episodes);
        let mean = p.figure(&goal.name).map(|e| scaled(e, scale));
        let said = stall.clone().or_else(|| mean.map(|e| format!("{} {} {unit}", goal.label, number(e.value))));
        description.push_str(&format!("{}: {}. ", p.policy, said.unwrap_or_default()));
        let mut cells = vec![match (stall, mean) {
            (None, Some(mean)) => Cell::Dot(mean),
            (stall, _) => Cell::Words(stall.unwrap_or_else(|| no_figure(result, "none"))),
        }];
        cells.extend(baselines.iter().map(|b| {
            if *b == p.policy {
                return Cell::Words("baseline".into());
            }
            match result.compared(&p.policy, b).map(|pair| pair.figure(&goal.name)) {
                Some(Some(e)) => Cell::Dot(*e),
                Some(None) => Cell::Words(no_figure(result, "none: an episode stalled")),
                None => Cell::Words("not compared".into()),
            }
        }));
        let colour = match p.role {
            Role::Student => BLUE,
            Role::Teacher => ORANGE,
            Role::Augmented | Role::Fitted => PURPLE,
            _ => GREEN,
        };
        Row::Item { label: p.policy.clone(), colour, cells }
    };
    let lines: Vec<Row> = result.policies.iter().map(line).collect();
    let title = format!("{} by policy", capital(&goal.label));
    let pictures = draw("closed-loop", &title, &description, &panels, &lines)?;
    Ok(pictures.chart("closed-loop", title, crate::to_data("closed-loop", result)?))
}

/// What the intervals of a comparison say, and why it has as many episodes as it has.
pub(crate) fn intervals(result: &ClosedLoop) -> String {
    let Some(looks) = &result.looks else { return "Intervals are 95\u{a0}%, resampled by episode.".to_owned() };
    let planned: Vec<String> = looks.planned.iter().map(u32::to_string).collect();
    let looked = match planned.len() {
        1 => format!("The number of episodes was fixed: {}.", result.episodes),
        _ => format!(
            "It was to be looked at after {} episodes, until no limit and no equality lies within an interval, and ended after {}.",
            list(&planned),
            result.episodes
        ),
    };
    format!(
        "{looked} Intervals are resampled by episode, and so wide that with 95\u{a0}% all that the verdict goes by hold{}: {}\u{a0}% each.",
        if planned.len() > 1 { " at all looks" } else { "" },
        decimal(100.0 * looks.level())
    )
}

fn scaled(e: &Estimate, scale: f64) -> Estimate {
    Estimate { value: e.value / scale, low: e.low / scale, high: e.high / scale }
}

/// Says in words that a policy stalled; `None` if it never did.
pub(crate) fn stalled(policy: &PolicyOutcome, episodes: usize) -> Option<String> {
    (policy.stalled > 0).then(|| format!("stalled in {} of {episodes}", policy.stalled))
}

/// Says in words why there is no figure although nothing stalled: that no job arrived, or else these words.
pub(crate) fn no_figure(result: &ClosedLoop, otherwise: &str) -> String {
    if result.no_job_arrived() { "no job arrived".to_owned() } else { otherwise.to_owned() }
}

/// The longest time in which more than half of the cluster idled beside work, and its episode; `None` if that was not measured.
pub(super) fn longest_idle(policy: &PolicyOutcome) -> Shown {
    policy.longest_idle.map(|spell| (time(spell.ms), format!("episode {}", spell.episode)))
}

/// How a baseline is spoken of: the teacher by its role, if there is one teacher, others by name.
pub(crate) fn spoken(result: &ClosedLoop, policy: &str) -> String {
    let teachers: Vec<&PolicyOutcome> = result.policies.iter().filter(|p| p.role == Role::Teacher).collect();
    match teachers[..] {
        [teacher] if teacher.policy == policy => "the teacher".to_owned(),
        _ => policy.to_owned(),
    }
}

fn table_row(
    policy: &PolicyOutcome,
    result: &ClosedLoop,
    baselines: &[&str],
    compared: &[&Figure],
    one_ms: f64,
) -> TableRow {
    let shown = |e: &Estimate, write: fn(f64) -> String| match e.is_exact() {
        true => (write(e.value), String::new()),
        false => (write(e.value), format!("{} to {}", write(e.low), write(e.high))),
    };
    let pairs = baselines.iter().map(|b| result.compared(&policy.policy, b));
    TableRow {
        policy: policy.policy.clone(),
        role: policy.role,
        stalled: policy.stalled,
        rejected: policy.rejected,
        idle: longest_idle(policy),
        figures: result
            .figures
            .iter()
            .map(|f| Some(shown(&scaled(policy.figure(&f.name)?, goal::side_by_side(f, one_ms).0), tenths)))
            .collect(),
        compared: pairs
            .flat_map(|pair| compared.iter().map(move |f| Some(shown(pair?.figure(&f.name)?, goal::versus(f)))))
            .collect(),
    }
}
