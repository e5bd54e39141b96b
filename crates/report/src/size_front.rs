//! What would another size buy? The front of size against fidelity, and against completion time.

use super::{
    ReportError, goal,
    line_chart::{ABOVE, Area, Axis, BELOW, Key, Mark, Plot, Series, alone, beside, draw, legend},
    run_dir::RunDir,
    svg::{self, BLUE, Chart, Colour, GREEN, GREY, INK, MUTED, NARROW, ORANGE, PURPLE, Pictures},
    words::number,
};
use sched_distill_core::{
    level::ALL_KINDS,
    model::{ScoreCandidates, Student},
};
use sched_distill_judge::evaluator::{Estimate, FidelityRow, Role};
use sched_distill_learn::{By, FrontEntry, FrontLevel, SizeFront};
use serde::Serialize;
use serde_json::json;

const WIDTH: f64 = 900.0;
const HEIGHT: f64 = 170.0;
/// Kinds side by side; further kinds are in the data only.
const COLUMNS: usize = 3;
/// Colours and marks of learners.
const LEARNERS: [(Colour, Mark); 5] =
    [(BLUE, Mark::Dot), (ORANGE, Mark::Square), (GREEN, Mark::Triangle), (PURPLE, Mark::Diamond), (GREY, Mark::Cross)];

/// The front of a run.
#[derive(Debug, Serialize)]
pub(super) struct Section {
    /// The figure that decides, in words.
    figure: &'static str,
    /// Size of the run's student.
    size: usize,
    fidelity: Option<Chart>,
    /// Levels and kinds where all sizes have the same figure, in words.
    alike: Vec<String>,
    /// Completion times; `None` if no student of the front was run.
    times: Option<Chart>,
}

/// Draws the front; `None` if there is none, or nothing in it.
///
/// # Errors
///
/// [`ReportError::Chart`] if a chart cannot be drawn.
pub(super) fn section(run: &RunDir) -> Result<Option<Section>, ReportError> {
    let Some(front) = &run.front else { return Ok(None) };
    svg::register_fonts()?;
    let (alike, rows) = apart(front, run);
    let fidelity = fidelity(front, rows);
    if fidelity.is_none() && alike.is_empty() {
        return Ok(None);
    }
    let times = times(front, run);
    Ok(Some(Section { figure: name(front.by), size: run.student.size(), fidelity, alike, times }))
}

impl Section {
    /// The charts in the page's order.
    pub(super) fn into_charts(self) -> impl Iterator<Item = Chart> {
        [self.fidelity, self.times].into_iter().flatten()
    }
}

/// One panel: a level, a kind, and the figure of every model that has it.
struct Cell<'a> {
    level: &'a str,
    kind: &'a str,
    points: Vec<(&'a FrontEntry, Estimate)>,
    /// Size and figure of the run's student, measured on its test choices; no figure where there is none.
    student: Option<(usize, Option<Estimate>)>,
}

/// Sentences on the panels where every model has the same figure, and all other panels.
fn apart<'a>(front: &'a SizeFront, run: &RunDir) -> (Vec<String>, Vec<Vec<Cell<'a>>>) {
    let (mut alike, mut rows) = (Vec::new(), Vec::new());
    for level in &front.levels {
        let (same, different): (Vec<_>, Vec<_>) = cells(level, front.by, run).into_iter().partition(Cell::is_level);
        alike.extend(same.iter().map(|cell| {
            let figure = write(front.by)(cell.points[0].1.value);
            format!(
                "Level {}, kind {}: models of every size have a {} of {figure}. More size buys nothing there.",
                cell.level,
                cell.kind,
                name(front.by)
            )
        }));
        rows.push(different);
    }
    rows.retain(|row| !row.is_empty());
    (alike, rows)
}

fn fidelity(front: &SizeFront, rows: Vec<Vec<Cell<'_>>>) -> Option<Chart> {
    if rows.is_empty() {
        return None;
    }
    let mut learners: Vec<&str> = Vec::new();
    for (model, _) in rows.iter().flatten().flat_map(|c| &c.points) {
        if !learners.contains(&model.learner.as_str()) {
            learners.push(&model.learner);
        }
    }
    let most = rows.iter().map(Vec::len).max().unwrap_or(1).min(COLUMNS);
    let paint = |width: f64| {
        let (mut body, mut top) = names(&learners, width);
        let columns = if width > NARROW { most } else { 1 };
        let pitch = width / columns as f64;
        for row in &rows {
            let shown: Vec<&Cell<'_>> = row.iter().take(COLUMNS).collect();
            for line in shown.chunks(columns) {
                for (i, cell) in line.iter().enumerate() {
                    let left = pitch * i as f64 + beside(width);
                    let area = Area { left, top: top + ABOVE, width: pitch - beside(width) - 20.0, height: HEIGHT };
                    body += &draw(&plot(cell, front.by, &learners), &area);
                }
                top += ABOVE + HEIGHT + BELOW;
            }
        }
        (body, top)
    };
    let title = "Size against fidelity, level by level".to_owned();
    let description: String = rows.iter().flatten().map(|c| c.words(front.by)).collect();
    let pictures = Pictures::new("front-fidelity", WIDTH, &title, &description, paint);
    let shown: Vec<_> = rows.iter().flat_map(|row| row.iter().take(COLUMNS)).map(Cell::data).collect();
    let data = json!({"by": front.by, "panels": shown});
    Some(pictures.chart("front-fidelity", title, data))
}

/// The panels of one level: its kinds in order, `all` only where there is no other.
fn cells<'a>(level: &'a FrontLevel, by: By, run: &RunDir) -> Vec<Cell<'a>> {
    let mut kinds: Vec<&str> = Vec::new();
    for row in level.models.iter().flat_map(|m| &m.fidelity) {
        if !kinds.contains(&row.kind.as_str()) {
            kinds.push(&row.kind);
        }
    }
    if kinds.len() > 1 {
        kinds.retain(|kind| *kind != ALL_KINDS);
    }
    let cell = |kind| {
        let of = |m: &FrontEntry| m.fidelity.iter().find(|r| r.kind == kind).and_then(|r| estimate(r, by));
        let mut points: Vec<_> = level.models.iter().filter_map(|m| Some((m, of(m)?))).collect();
        points.sort_by_key(|(m, _)| m.size);
        Cell { level: &level.level, kind, points, student: student(run, &level.level, kind, by) }
    };
    kinds.into_iter().map(cell).filter(|c| !c.points.is_empty()).collect()
}

fn student(run: &RunDir, level: &str, kind: &str, by: By) -> Option<(usize, Option<Estimate>)> {
    let size = level_size(&run.student, level)?;
    let rows = run.evaluation.fidelity.iter();
    let mut own = rows.filter(|r| r.role == Role::Student && r.level == level && r.kind == kind);
    Some((size, own.next().and_then(|r| estimate(r, by))))
}

fn level_size(student: &Student, level: &str) -> Option<usize> {
    student.level(level).map(|models| models.scheduler().model.size().max(1))
}

impl Cell<'_> {
    /// Whether several models have the very same figure, and all of them do.
    fn is_level(&self) -> bool {
        self.points.len() > 1 && self.points.iter().all(|(_, e)| e.value == self.points[0].1.value)
    }

    fn words(&self, by: By) -> String {
        let ends = [self.points.first(), self.points.last()].into_iter().flatten();
        let said: Vec<String> = ends.map(|(m, e)| format!("{} at size {}", write(by)(e.value), m.size)).collect();
        format!("Level {}, kind {}: {} {}. ", self.level, self.kind, name(by), said.join(", "))
    }

    fn data(&self) -> serde_json::Value {
        let models: Vec<_> = self
            .points
            .iter()
            .map(|(m, e)| json!({"learner": m.learner, "size": m.size, "on_front": m.on_front, "figure": e}))
            .collect();
        let student = self.student.map(|(size, figure)| json!({"size": size, "figure": figure}));
        json!({"level": self.level, "kind": self.kind, "models": models, "student": student})
    }
}

fn plot(cell: &Cell<'_>, by: By, learners: &[&str]) -> Plot {
    let own = cell.student.and_then(|(size, e)| Some((size, e?)));
    let sizes = || cell.points.iter().map(|(m, _)| m.size).chain(cell.student.map(|s| s.0)).map(|n| n as f64);
    let shown = cell.points.iter().filter(|(m, _)| m.on_front).map(|(_, e)| (e.low, e.high));
    let values =
        shown.chain(cell.points.iter().map(|(_, e)| (e.value, e.value))).chain(own.map(|(_, e)| (e.low, e.high)));
    let (least, most) =
        values.fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), (low, high)| (a.min(low), b.max(high)));
    let margin = 0.05 * (most - least);
    let (x, y) = (
        (sizes().fold(f64::INFINITY, f64::min) / 1.15, sizes().fold(0.0, f64::max) * 1.15),
        (least - margin, most + margin),
    );
    let mut series = vec![on_front(cell)];
    for (i, learner) in learners.iter().enumerate() {
        let points = cell.points.iter().filter(|(m, _)| m.learner == *learner);
        series
            .push(Series { points: points.map(|(m, e)| (m.size as f64, e.value)).collect(), ..of_learner(i, learner) });
    }
    series.extend(own.map(|(size, e)| Series {
        points: vec![(size as f64, e.value)],
        whiskers: vec![(e.low, e.high)],
        ..of_student()
    }));
    Plot {
        series,
        upright: cell.student.map(|s| s.0 as f64),
        ..Plot::new(
            format!("{}, kind {}", cell.level, cell.kind),
            Axis::doubling("size at the level", x),
            Axis::linear(axis(by), y, 6, write(by)),
        )
    }
}

/// The models that no other one beats, joined, with their intervals.
fn on_front(cell: &Cell<'_>) -> Series {
    let best = || cell.points.iter().filter(|(m, _)| m.on_front);
    Series {
        label: "front".into(),
        colour: MUTED,
        dash: Some(""),
        mark: Mark::None,
        points: best().map(|(m, e)| (m.size as f64, e.value)).collect(),
        whiskers: best().map(|(_, e)| (e.low, e.high)).collect(),
    }
}

fn of_learner(place: usize, learner: &str) -> Series {
    let (colour, _) = LEARNERS[place % LEARNERS.len()];
    // Beyond five learners, colours meet other marks.
    let (_, mark) = LEARNERS[(place + place / LEARNERS.len()) % LEARNERS.len()];
    Series { label: learner.to_owned(), colour, dash: None, mark, points: Vec::new(), whiskers: Vec::new() }
}

fn of_student() -> Series {
    Series {
        label: "the run's student, on test data".into(),
        colour: INK,
        dash: None,
        mark: Mark::Ring,
        points: Vec::new(),
        whiskers: Vec::new(),
    }
}

fn names(learners: &[&str], width: f64) -> (String, f64) {
    let mut series: Vec<Series> = learners.iter().enumerate().map(|(i, l)| of_learner(i, l)).collect();
    series.push(Series {
        label: "on the front".into(),
        dash: Some(""),
        colour: MUTED,
        mark: Mark::None,
        ..of_student()
    });
    series.push(of_student());
    let mut keys: Vec<Key<'_>> = series.iter().map(Key::Series).collect();
    keys.push(Key::Upright("its size at the level"));
    legend(&keys, (beside(width), 6.0), width - 20.0)
}

/// The objective of the students of every total size against the teacher's; `None` if none was run.
fn times(front: &SizeFront, run: &RunDir) -> Option<Chart> {
    let objective = &run.info.objective;
    let points: Vec<(usize, Estimate)> = front.totals.iter().filter_map(|t| Some((t.size, t.to_teacher?))).collect();
    let own = own(run).map(|e| (run.student.size().max(1), e));
    let all = || points.iter().chain(&own);
    let (low, high) =
        all().fold(goal::around(objective, 0.02), |(a, b): (f64, f64), (_, e)| (a.min(e.low), b.max(e.high)));
    let (first, last) = (points.iter().map(|p| p.0).min()?, all().map(|p| p.0).max()?);
    let first = own.map_or(first, |(size, _)| size.min(first));
    let of = |label: &str, colour, mark, points: &[(usize, Estimate)]| Series {
        label: label.to_owned(),
        colour,
        dash: (mark == Mark::Dot).then_some(""),
        mark,
        points: points.iter().map(|(n, e)| (*n as f64, e.value)).collect(),
        whiskers: points.iter().map(|(_, e)| (e.low, e.high)).collect(),
    };
    let mut series = vec![of("best student of each size, on validation episodes", BLUE, Mark::Dot, &points)];
    series.extend(own.map(|own| of("the run's student, on test episodes", INK, Mark::Ring, &[own])));
    let keys: Vec<Key<'_>> = series.iter().map(Key::Series).collect();
    let margin = 0.04 * (high - low);
    let plot = Plot {
        series: series.clone(),
        level: Some(objective.neutral()),
        ..Plot::new(
            String::new(),
            Axis::doubling("size over all levels", (first as f64 / 1.15, last as f64 * 1.15)),
            Axis::linear(
                &format!("{}, {}", objective.against("teacher"), goal::hint(objective)),
                (low - margin, high + margin),
                5,
                number,
            ),
        )
    };
    let title = format!("Size against {}", objective.label);
    let said = points.iter().map(|(n, e)| format!("size {n}: {}. ", number(e.value)));
    let said: String = said.collect();
    let pictures = Pictures::new("front-closed-loop", WIDTH, &title, &said, |width| alone(&plot, &keys, width, 200.0));
    let point = |(size, e): &(usize, Estimate)| json!({"size": size, "to_teacher": e});
    let data = json!({"totals": points.iter().map(point).collect::<Vec<_>>(), "student": own.as_ref().map(point)});
    Some(pictures.chart("front-closed-loop", title, data))
}

/// The run's student against its teacher.
fn own(run: &RunDir) -> Option<Estimate> {
    let result = run.evaluation.closed_loop.as_ref()?;
    result.paired(&result.first(Role::Student)?.policy, &result.first(Role::Teacher)?.policy)
}

fn estimate(row: &FidelityRow, by: By) -> Option<Estimate> {
    match by {
        By::Top1 => Some(row.top1),
        By::Top3 => Some(row.top3),
        By::Regret => row.regret,
        By::CrossEntropy => row.cross_entropy,
    }
}

fn name(by: By) -> &'static str {
    match by {
        By::Top1 => "top-1 agreement",
        By::Top3 => "top-3 agreement",
        By::Regret => "regret",
        By::CrossEntropy => "cross-entropy",
    }
}

fn axis(by: By) -> &'static str {
    match by {
        By::Top1 => "top-1 agreement (more is better)",
        By::Top3 => "top-3 agreement (more is better)",
        By::Regret => "regret (less is better)",
        By::CrossEntropy => "cross-entropy, nats (less is better)",
    }
}

fn write(by: By) -> fn(f64) -> String {
    if by.grows() { |share| format!("{}\u{a0}%", number(share * 100.0)) } else { number }
}
