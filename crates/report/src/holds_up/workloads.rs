//! Does it hold elsewhere? The student and the best heuristic against the teacher, workload by workload.

use super::closed_loop::{ratio, ratio_text, stalled};
use crate::{
    ReportError,
    dot_chart::{Cell, Panel, Row, draw},
    svg::{BLUE, Chart, GREEN},
    words::{number, time},
};
use sched_distill_toolkit::evaluator::{ClosedLoop, Estimate, PolicyOutcome, Role};
use serde::Serialize;
use serde_json::json;

/// The comparisons on further workloads: a chart and a table.
#[derive(Debug, Serialize)]
pub(super) struct Section {
    rows: Vec<TableRow>,
    pub(super) chart: Chart,
}

/// One workload, written out.
#[derive(Debug, Serialize)]
struct TableRow {
    workload: String,
    episodes: String,
    /// Mean completion times.
    teacher: String,
    student: String,
    /// Ratio of the student's mean completion time to the teacher's, or why there is none, and its interval.
    ratio: (String, String),
    /// The best heuristic and its ratio in the same way.
    heuristic: Option<(String, (String, String))>,
}

/// What one workload's comparison says.
struct Found<'a> {
    result: &'a ClosedLoop,
    teacher: Option<&'a PolicyOutcome>,
    student: Option<&'a PolicyOutcome>,
    /// The heuristic with the smallest ratio to the teacher.
    heuristic: Option<(&'a PolicyOutcome, Estimate)>,
}

/// Compares on the run's own workload, if it was run there, and on all others; `None` if there are no others.
///
/// # Errors
///
/// [`ReportError::Chart`] if the chart cannot be drawn.
pub(super) fn section(own: Option<&ClosedLoop>, others: &[ClosedLoop]) -> Result<Option<Section>, ReportError> {
    if others.is_empty() {
        return Ok(None);
    }
    let found: Vec<Found<'_>> = own.into_iter().chain(others).map(Found::new).collect();
    Ok(Some(Section { rows: found.iter().map(Found::row).collect(), chart: chart(&found)? }))
}

impl<'a> Found<'a> {
    fn new(result: &'a ClosedLoop) -> Self {
        let teacher = result.first(Role::Teacher);
        let to_teacher = |p: &PolicyOutcome| teacher.and_then(|t| ratio(result, &p.policy, &t.policy)?.jct);
        let heuristics = result.policies.iter().filter(|p| p.role == Role::Heuristic);
        let heuristic = heuristics
            .filter_map(|p| Some((p, to_teacher(p)?)))
            .reduce(|best, next| if next.1.value < best.1.value { next } else { best });
        Self { result, teacher, student: result.first(Role::Student), heuristic }
    }

    /// The student's ratio to the teacher, or why there is none.
    fn student_ratio(&self) -> Result<Estimate, String> {
        let (Some(teacher), Some(student)) = (self.teacher, self.student) else { return Err("not compared".into()) };
        let found = ratio(self.result, &student.policy, &teacher.policy).and_then(|r| r.jct);
        found.ok_or_else(|| {
            let which = |p: &PolicyOutcome, name| stalled(p, self.result.episodes).map(|s| format!("{name} {s}"));
            which(student, "student").or_else(|| which(teacher, "teacher")).unwrap_or_else(|| "none".into())
        })
    }

    fn row(&self) -> TableRow {
        let mean = |p: Option<&PolicyOutcome>| p.and_then(|p| p.mean_jct_ms).map_or("–".into(), |e| time(e.value));
        let shown = |e: &Estimate| (ratio_text(e.value), format!("{} to {}", ratio_text(e.low), ratio_text(e.high)));
        TableRow {
            workload: self.result.workload.clone(),
            episodes: format!("{} {}", self.result.episodes, self.result.split),
            teacher: mean(self.teacher),
            student: mean(self.student),
            ratio: self.student_ratio().map_or_else(|why| (why, String::new()), |e| shown(&e)),
            heuristic: self.heuristic.map(|(p, e)| (p.policy.clone(), shown(&e))),
        }
    }
}

fn chart(found: &[Found<'_>]) -> Result<Chart, ReportError> {
    let mut lines = Vec::new();
    let mut description = String::new();
    for f in found {
        lines.push(Row::Heading(f.result.workload.clone()));
        let student = f.student_ratio();
        let said = student.as_ref().map_or_else(Clone::clone, |e| ratio_text(e.value));
        description += &format!("{}: student {said}", f.result.workload);
        let cell = student.map_or_else(Cell::Words, Cell::Dot);
        lines.push(Row::Item { label: "student".into(), colour: BLUE, cells: vec![cell] });
        if let Some((policy, e)) = f.heuristic {
            description += &format!(", best heuristic {} {}", policy.policy, ratio_text(e.value));
            let label = format!("best heuristic: {}", policy.policy);
            lines.push(Row::Item { label, colour: GREEN, cells: vec![Cell::Dot(e)] });
        }
        description += ". ";
    }
    let panel = Panel {
        title: "Ratio to the teacher".into(),
        axis: "mean JCT, below 1 is better than the teacher".into(),
        range: (0.95, 1.05),
        reference: Some(1.0),
        write: ratio_text,
        tick: number,
    };
    let title = "Ratio to the teacher on every workload".to_owned();
    let (svg, width) = draw("workloads", &title, &description, &[panel], &lines)?;
    let data = found.iter().map(|f| {
        json!({
            "workload": f.result.workload, "split": f.result.split, "episodes": f.result.episodes,
            "student": f.student.map(|p| &p.policy), "student_ratio": f.student_ratio().ok(),
            "heuristic": f.heuristic.map(|(p, _)| &p.policy), "heuristic_ratio": f.heuristic.map(|(_, e)| e),
        })
    });
    let data = data.collect::<Vec<_>>().into();
    Ok(Chart { name: "workloads".into(), title, svg, width, data })
}
