//! The history that an advice is about: what arrived when, whether the simulator does to it what was recorded, and who gains and who loses
//! under other schedulers in its last period.

use super::{
    ReportError,
    dot_chart::{self, Cell, Panel, Row},
    first_screen::{P99, border, scheduler},
    goal,
    line_chart::{Axis, Key, Mark, Plot, Series, alone},
    plain::capital,
    run_dir::RunDir,
    svg::{self, BLUE, Chart, GREY, ORANGE, Pictures},
    words::{count, interval, number, percent, time, time_unit},
};
use sched_distill_core::{figure::Figure, workload::duration};
use sched_distill_judge::evaluator::{Estimate, PolicyOutcome, Role};
use sched_distill_pipeline::{Advice, ReplayError, Survey};
use serde::Serialize;
use serde_json::json;

const WIDTH: f64 = 900.0;

/// Jobs that a picture of a replay shows at most, evenly by their recorded times.
const MOST_POINTS: usize = 400;

/// What the page says of a history.
#[derive(Debug, Serialize)]
pub(super) struct Section {
    /// What it is, line by line.
    rows: Vec<[String; 2]>,
    /// What it lacks, and what is assumed.
    notes: Vec<String>,
    load: Option<Chart>,
    /// Jobs of the replay, and how many of them are drawn.
    replayed: Option<[String; 2]>,
    /// Shares of jobs, and within how much of the recorded time the simulator is for them.
    errors: Vec<[String; 2]>,
    replay: Option<Chart>,
    /// Who scheduled before, or stands in for it.
    before: String,
    schedulers: Option<Chart>,
}

impl Section {
    /// The charts in the page's order.
    pub(super) fn into_charts(self) -> impl Iterator<Item = Chart> {
        [self.load, self.replay, self.schedulers].into_iter().flatten()
    }
}

/// Draws the section; `None` of a run that is about no history.
///
/// # Errors
///
/// [`ReportError::Chart`] if a chart cannot be drawn.
pub(super) fn section(run: &RunDir) -> Result<Option<Section>, ReportError> {
    let Some(advice) = &run.advice else { return Ok(None) };
    svg::register_fonts()?;
    let replay = advice.replay.as_ref();
    Ok(Some(Section {
        rows: rows(&advice.survey),
        notes: advice.survey.notes.clone(),
        load: load(&advice.survey),
        replayed: replay.map(|replay| [count(replay.jobs as u64), count(shown(replay).len() as u64)]),
        errors: replay.map_or(Vec::new(), errors),
        replay: replay.map(scatter),
        before: scheduler(run, advice.before()),
        schedulers: schedulers(run, advice)?,
    }))
}

fn rows(survey: &Survey) -> Vec<[String; 2]> {
    let jobs = ["jobs".to_owned(), format!("{} in {}", count(survey.jobs as u64), duration(survey.span_ms))];
    let more = if survey.lanes == 1 { "" } else { "s" };
    let cluster = ["cluster".to_owned(), format!("{} {}{more}", count(survey.lanes.into()), survey.lane)];
    let shapes = survey.shapes.iter().map(|(what, words)| [what.clone(), words.clone()]);
    [jobs, cluster].into_iter().chain(shapes).collect()
}

/// Work that arrives over time, as a share of what the cluster can do.
fn load(survey: &Survey) -> Option<Chart> {
    let mean = survey.mean_load()?;
    let (scale, unit) = time_unit(survey.span_ms);
    let span = survey.span_ms / scale;
    let bin = span / survey.load.len() as f64;
    // Each part of the time as a step.
    let step = |(i, &load): (usize, &f64)| [(i as f64 * bin, load), ((i + 1) as f64 * bin, load)];
    let series = Series {
        label: "work that arrives".to_owned(),
        colour: BLUE,
        dash: Some(""),
        mark: Mark::None,
        points: survey.load.iter().enumerate().flat_map(step).collect(),
        whiskers: Vec::new(),
    };
    let most = survey.load.iter().copied().fold(0.0, f64::max);
    let x = Axis::linear(&format!("time from the first job on, {unit}"), (0.0, span), 8, number);
    let y = Axis::linear("share of what the cluster can do in that time", (0.0, 1.05 * most.max(1.0)), 5, whole);
    let plot = Plot {
        series: vec![series.clone()],
        level: Some(1.0),
        band: Some([mean; 3]),
        ..Plot::new(String::new(), x, y)
    };
    let title = "Load over time".to_owned();
    let said = format!("{} in the mean, {} where most work arrives.", percent(mean), percent(most));
    let keys = [Key::Series(&series), Key::Band("mean")];
    let pictures = Pictures::new("history-load", WIDTH, &title, &said, |width| alone(&plot, &keys, width, 160.0));
    Some(pictures.chart("history-load", title, json!({"span_ms": survey.span_ms, "load": survey.load})))
}

/// How far simulated completion times are from recorded ones, by how many of the jobs.
fn errors(replay: &ReplayError) -> Vec<[String; 2]> {
    let mut errors: Vec<f64> = replay.pairs.iter().map(|[is, was]| (was / is - 1.0).abs()).collect();
    errors.sort_by(f64::total_cmp);
    let at = |share: f64| errors.get(((share * errors.len() as f64).ceil() as usize).saturating_sub(1));
    [0.25, 0.5, 0.75, 0.9, 0.99].iter().filter_map(|&share| Some([whole(share), percent(*at(share)?)])).collect()
}

/// Recorded and simulated completion times, s, of the jobs that a picture shows, evenly by the former.
fn shown(replay: &ReplayError) -> Vec<(f64, f64)> {
    let mut pairs = replay.pairs.clone();
    pairs.sort_by(|a, b| a[0].total_cmp(&b[0]));
    let each = pairs.len().div_ceil(MOST_POINTS).max(1);
    pairs.iter().step_by(each).map(|pair| (pair[0] / 1e3, pair[1] / 1e3)).collect()
}

/// Recorded and simulated completion times, job by job.
fn scatter(replay: &ReplayError) -> Chart {
    let shown = shown(replay);
    let all = || shown.iter().flat_map(|&(is, was)| [is, was]);
    let ends = (all().fold(f64::INFINITY, f64::min) / 1.2, all().fold(0.0, f64::max) * 1.2);
    let alike = Series {
        label: "as recorded".to_owned(),
        colour: ORANGE,
        dash: Some(""),
        mark: Mark::None,
        points: vec![(ends.0, ends.0), (ends.1, ends.1)],
        whiskers: Vec::new(),
    };
    let jobs = Series {
        label: "a job".to_owned(),
        colour: BLUE,
        dash: None,
        mark: Mark::Ring,
        points: shown,
        whiskers: Vec::new(),
    };
    let x = Axis::log("recorded completion time, s", ends);
    let y = Axis::log("in the simulator, s", ends);
    let plot = Plot { series: vec![jobs.clone(), alike.clone()], ..Plot::new(String::new(), x, y) };
    let title = "The recorded order, carried out again".to_owned();
    let said = format!(
        "Half of the jobs are within {} of their recorded completion time, nine in ten within {}; the mean is {} as recorded and {} in the simulator.",
        percent(replay.median),
        percent(replay.p90),
        time(replay.recorded_ms),
        time(replay.simulated_ms)
    );
    let keys = [Key::Series(&jobs), Key::Series(&alike)];
    let pictures = Pictures::new("history-replay", 560.0, &title, &said, |width| alone(&plot, &keys, width, 300.0));
    pictures.chart("history-replay", title, json!({"recorded_and_simulated_ms": replay.pairs}))
}

/// Schedulers in the last period against who scheduled before: all jobs, and the smaller and the larger ones.
fn schedulers(run: &RunDir, advice: &Advice) -> Result<Option<Chart>, ReportError> {
    let (closed_loop, before) = (&advice.closed_loop, advice.before());
    let objective = closed_loop.objective();
    let found: Vec<_> = closed_loop
        .policies
        .iter()
        .skip(1)
        .filter_map(|policy| Some((policy, closed_loop.paired(&policy.policy, before)?)))
        .collect();
    let halves = |policy: &str| closed_loop.by_size_of(policy, before).and_then(|by_size| by_size.halves.clone());
    let Some(by_size) = found.iter().find_map(|(p, _)| closed_loop.by_size_of(&p.policy, before)) else {
        return Ok(None);
    };
    let has_halves = found.iter().any(|(p, _)| halves(&p.policy).is_some());
    let named = |role: Role, id: &str| if role == Role::Student { "this student".to_owned() } else { id.to_owned() };
    let row = |(policy, e): &(&PolicyOutcome, Estimate)| {
        let of_half = |half: usize| match halves(&policy.policy) {
            Some(halves) => Cell::Dot(halves[half].time),
            None => Cell::Words("not known".to_owned()),
        };
        let sizes = if has_halves { vec![of_half(0), of_half(1)] } else { Vec::new() };
        Row::Item {
            label: named(policy.role, &policy.policy),
            colour: if policy.role == Role::Student { BLUE } else { GREY },
            cells: std::iter::once(Cell::Dot(*e)).chain(sizes).collect(),
        }
    };
    let panel = |title: String, axis: &str, figure: &Figure| Panel {
        title,
        axis: axis.to_owned(),
        range: goal::around(figure, 0.05),
        reference: Some(figure.neutral()),
        write: goal::at_dot(figure),
        tick: goal::tick(figure),
    };
    let first = panel(
        capital(&run.plain().figure(objective)),
        &format!("against before{}", goal::axis_unit(objective)),
        objective,
    );
    let borders = border(by_size).filter(|_| has_halves);
    let of_sizes = borders.map(|border| {
        ["≤", ">"].map(|is| panel(format!("{} {is} {border}", capital(&by_size.label)), "time ÷ before", &P99))
    });
    let panels: Vec<Panel> = std::iter::once(first).chain(of_sizes.into_iter().flatten()).collect();
    let said: String = found
        .iter()
        .map(|(p, e)| format!("{}: {}. ", named(p.role, &p.policy), interval(e, goal::versus(objective))))
        .collect();
    let title = "Who gains, and who loses".to_owned();
    let rows: Vec<Row> = found.iter().map(row).collect();
    let pictures = dot_chart::draw("history-schedulers", &title, &said, &panels, &rows)?;
    let data: Vec<_> = found
        .iter()
        .map(|(p, e)| {
            json!({"scheduler": p.policy, "figure": objective.name, "to_before": e,
                   "by_size": closed_loop.by_size_of(&p.policy, before)})
        })
        .collect();
    Ok(Some(pictures.chart("history-schedulers", title, data.into())))
}

fn whole(share: f64) -> String {
    format!("{}\u{a0}%", number((100.0 * share).round()))
}
