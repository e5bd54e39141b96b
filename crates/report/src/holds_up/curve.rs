//! How fast it gets worse: workloads that differ in one number only, as lines over that number.

use crate::{
    ReportError, goal,
    line_chart::{Axis, Key, Mark, Plot, Series, alone},
    svg::{self, BLUE, Chart, Colour, GREEN, ORANGE, PURPLE, Pictures},
    words::number,
};
use sched_distill_core::{
    figure::Figure,
    spec::{Spec, brief},
};
use sched_distill_judge::evaluator::{ClosedLoop, Estimate, PolicyOutcome, Role};
use serde_json::json;

const WIDTH: f64 = 900.0;

/// Fewest values of a number that make a curve.
const FEWEST: usize = 3;

/// Most heuristics of a curve: those that are best at its beginning.
const HEURISTICS: usize = 2;

/// Workloads in order of the one number in which they differ.
struct Sweep<'a> {
    /// What the number is called.
    key: String,
    /// What all of them have in common.
    rest: Spec,
    points: Vec<(f64, &'a ClosedLoop)>,
}

/// One policy of a sweep.
struct Line<'a> {
    label: String,
    look: (Colour, Mark),
    points: Vec<(f64, Estimate)>,
    policy: &'a str,
}

/// A chart for each number in which three or more of the workloads differ and in nothing else.
///
/// # Errors
///
/// [`ReportError::Chart`] if a chart cannot be drawn.
pub(super) fn charts(results: &[&ClosedLoop]) -> Result<Vec<Chart>, ReportError> {
    let all = sweeps(results);
    let drawn = all.iter().filter(|sweep| !sweep.lines().is_empty());
    drawn.enumerate().map(|(place, sweep)| chart(place, sweep)).collect()
}

fn sweeps<'a>(results: &[&'a ClosedLoop]) -> Vec<Sweep<'a>> {
    let mut found: Vec<Sweep<'a>> = Vec::new();
    for &result in results {
        let Ok(spec) = result.workload.parse::<Spec>() else { continue };
        for (key, value) in &spec.params {
            let Ok(value) = value.parse::<f64>() else { continue };
            let mut rest = spec.clone();
            rest.params.remove(key);
            match found.iter_mut().find(|sweep| sweep.key == *key && sweep.rest == rest) {
                Some(sweep) if sweep.points.iter().all(|(other, _)| *other != value) => {
                    sweep.points.push((value, result))
                }
                Some(_) => {}
                None => found.push(Sweep { key: key.clone(), rest, points: vec![(value, result)] }),
            }
        }
    }
    found.retain(|sweep| sweep.points.len() >= FEWEST);
    found.iter_mut().for_each(|sweep| sweep.points.sort_by(|a, b| a.0.total_cmp(&b.0)));
    found
}

impl<'a> Sweep<'a> {
    fn goal(&self) -> &'a Figure {
        self.points[0].1.objective()
    }

    /// The objective of a policy at every value where it has one.
    fn line(&self, of: &'a PolicyOutcome, label: String, look: (Colour, Mark)) -> Line<'a> {
        let goal = self.goal();
        let at = |&(value, result): &(f64, &ClosedLoop)| {
            // Who stalled has no figure, whatever its other episodes say.
            let own = result.policies.iter().find(|p| p.policy == of.policy && p.stalled == 0)?;
            Some((value, *own.figure(&goal.name)?))
        };
        Line { label, look, points: self.points.iter().filter_map(at).collect(), policy: &of.policy }
    }

    /// Teacher, student, its augmented version, and the heuristics that are best at the first value.
    fn lines(&self) -> Vec<Line<'a>> {
        let (first, goal) = (self.points[0].1, self.goal());
        let of = |role: Role| first.policies.iter().filter(move |p| p.role == role);
        let mut heuristics: Vec<&PolicyOutcome> = of(Role::Heuristic).collect();
        let cost = |p: &PolicyOutcome| goal.cost(p.figure(&goal.name).map(|e| e.value));
        heuristics.sort_by(|a, b| cost(a).total_cmp(&cost(b)));
        let looks = [(GREEN, Mark::Square), (GREEN, Mark::Triangle)];
        let lines = heuristics.into_iter().take(HEURISTICS).zip(looks);
        let mut lines: Vec<Line<'a>> = lines.map(|(p, look)| self.line(p, p.policy.clone(), look)).collect();
        for (role, label, look) in [
            (Role::Teacher, "teacher", (ORANGE, Mark::Ring)),
            (Role::Student, "student", (BLUE, Mark::Dot)),
            (Role::Augmented, "augmented student", (PURPLE, Mark::Diamond)),
            (Role::Fitted, "student without edits", (PURPLE, Mark::Diamond)),
        ] {
            lines.extend(of(role).next().map(|p| self.line(p, label.to_owned(), look)));
        }
        lines.retain(|line| !line.points.is_empty());
        lines
    }
}

fn chart(place: usize, sweep: &Sweep<'_>) -> Result<Chart, ReportError> {
    svg::register_fonts()?;
    let (goal, lines) = (sweep.goal(), sweep.lines());
    let bounds = lines.iter().flat_map(|line| &line.points).flat_map(|(_, e)| [e.low, e.high, e.value]);
    let (low, high) = bounds.fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), x| (l.min(x), h.max(x)));
    let margin = 0.05 * (high - low).max(1e-9);
    let (from, to) = (sweep.points[0].0, sweep.points[sweep.points.len() - 1].0);
    let ticks = sweep.points.iter().map(|(value, _)| (*value, number(*value))).collect();
    let label = format!("{}, {}", goal.label, goal::direction(goal));
    let plot = Plot {
        series: lines.iter().map(series).collect(),
        ..Plot::new(
            String::new(),
            Axis::named(&sweep.key, (from - 0.03 * (to - from), to + 0.03 * (to - from)), ticks),
            Axis::linear(&label, (low - margin, high + margin), 5, goal::amount(goal)),
        )
    };
    let keys: Vec<Key<'_>> = plot.series.iter().map(Key::Series).collect();
    let rest = brief(&sweep.rest.to_string());
    let title = format!("The {} over {} ({rest})", goal.label, sweep.key);
    let write = goal::amount(goal);
    let said = |line: &Line<'_>| {
        let ends =
            [line.points.first(), line.points.last()].map(|end| end.map_or(String::new(), |(_, e)| write(e.value)));
        format!("{} from {} to {}", line.label, ends[0], ends[1])
    };
    let all: Vec<String> = lines.iter().map(said).collect();
    let description = format!("From {} to {}: {}.", number(from), number(to), all.join(", "));
    let name = format!("curve-{}", place + 1);
    let pictures = Pictures::new(&name, WIDTH, &title, &description, |width| alone(&plot, &keys, width, 240.0));
    let data = json!({
        "parameter": sweep.key, "workload": rest, "figure": goal.name,
        "workloads": sweep.points.iter().map(|(value, result)| json!({"value": value, "workload": result.workload})).collect::<Vec<_>>(),
        "policies": lines.iter().map(|line| json!({
            "policy": line.policy,
            "points": line.points.iter().map(|(value, e)| json!({"value": value, "figure": e})).collect::<Vec<_>>(),
        })).collect::<Vec<_>>(),
    });
    Ok(pictures.chart(&name, title, data))
}

fn series(line: &Line<'_>) -> Series {
    Series {
        label: line.label.clone(),
        colour: line.look.0,
        dash: Some(if line.look.0 == GREEN { "5 3" } else { "" }),
        mark: line.look.1,
        points: line.points.iter().map(|(value, e)| (*value, e.value)).collect(),
        whiskers: line.points.iter().map(|(_, e)| (e.low, e.high)).collect(),
    }
}
