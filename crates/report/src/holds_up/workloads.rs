//! Does it hold elsewhere? The student and the best heuristic against the teacher, workload by workload.

use super::closed_loop::{Shown, intervals, longest_idle, no_figure, stalled};
use crate::{
    ReportError,
    dot_chart::{Cell, Panel, Row, draw},
    goal,
    plain::capital,
    svg::{BLUE, Chart, GREEN},
    words::number,
};
use sched_distill_core::{
    figure::{Better, Figure},
    spec::workload_names,
};
use sched_distill_judge::evaluator::{ClosedLoop, Estimate, PolicyOutcome, Role};
use serde::Serialize;
use serde_json::json;

/// The comparisons on further workloads: a chart and a table.
#[derive(Debug, Serialize)]
pub(super) struct Section {
    objective: String,
    /// What a comparison is, how those of episodes are put together, and what no difference is.
    comparison: &'static str,
    put_together: &'static str,
    neutral: String,
    /// What intervals say.
    intervals: String,
    /// Whether it was measured for how long the cluster idled beside work.
    idle: bool,
    rows: Vec<TableRow>,
    pub(super) chart: Chart,
}

/// One workload, written out.
#[derive(Debug, Serialize)]
struct TableRow {
    workload: String,
    /// The whole id, where the name is another.
    id: Option<String>,
    episodes: String,
    /// The objective.
    teacher: String,
    student: String,
    /// The student against the teacher, or why there is no comparison, and its interval.
    against: (String, String),
    /// The best heuristic and its comparison in the same way.
    heuristic: Option<(String, (String, String))>,
    /// The longest time in which more than half of the cluster idled beside work under the student, and in which episode.
    idle: Shown,
}

/// What one workload's comparison says.
struct Found<'a> {
    result: &'a ClosedLoop,
    /// What tells the workload from the others.
    name: String,
    goal: &'a Figure,
    teacher: Option<&'a PolicyOutcome>,
    student: Option<&'a PolicyOutcome>,
    /// The heuristic that compares best with the teacher.
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
    let results: Vec<&ClosedLoop> = own.into_iter().chain(others).collect();
    let names = workload_names(&results.iter().map(|result| result.workload.as_str()).collect::<Vec<_>>());
    let found: Vec<Found<'_>> = results.into_iter().zip(names).map(Found::new).collect();
    let Some(Found { goal, .. }) = found.first() else { return Ok(None) };
    Ok(Some(Section {
        objective: goal.label.to_string(),
        comparison: goal::comparison(goal),
        put_together: goal::put_together(goal),
        neutral: number(goal.neutral()),
        intervals: others.first().map(intervals).unwrap_or_default(),
        idle: found.iter().any(|f| f.student.is_some_and(|p| p.longest_idle.is_some())),
        rows: found.iter().map(Found::row).collect(),
        chart: chart(goal, &found)?,
    }))
}

impl<'a> Found<'a> {
    fn new((result, name): (&'a ClosedLoop, String)) -> Self {
        let teacher = result.first(Role::Teacher);
        let goal = result.objective();
        let to_teacher = |p: &PolicyOutcome| result.paired(&p.policy, &teacher?.policy);
        let better = |a: &Estimate, b: &Estimate| match goal.better {
            Better::Less => a.value < b.value,
            Better::More => a.value > b.value,
        };
        let heuristics = result.policies.iter().filter(|p| p.role == Role::Heuristic);
        let heuristic = heuristics
            .filter_map(|p| Some((p, to_teacher(p)?)))
            .reduce(|best, next| if better(&next.1, &best.1) { next } else { best });
        Self { result, name, goal, teacher, student: result.first(Role::Student), heuristic }
    }

    /// The student against the teacher, or why there is no comparison.
    fn student(&self) -> Result<Estimate, String> {
        let (Some(teacher), Some(student)) = (self.teacher, self.student) else { return Err("not compared".into()) };
        self.result.paired(&student.policy, &teacher.policy).ok_or_else(|| {
            let which = |p: &PolicyOutcome, name| stalled(p, self.result.episodes).map(|s| format!("{name} {s}"));
            which(student, "student")
                .or_else(|| which(teacher, "teacher"))
                .unwrap_or_else(|| no_figure(self.result, "none"))
        })
    }

    fn row(&self) -> TableRow {
        let (amount, versus) = (goal::amount(self.goal), goal::versus(self.goal));
        let mean = |p: Option<&PolicyOutcome>| {
            p.and_then(|p| p.figure(&self.goal.name)).map_or("–".into(), |e| amount(e.value))
        };
        let shown = |e: &Estimate| (versus(e.value), format!("{} to {}", versus(e.low), versus(e.high)));
        TableRow {
            workload: self.name.clone(),
            id: (self.name != self.result.workload).then(|| self.result.workload.clone()),
            episodes: match self.result.empty_episodes.len() {
                0 => format!("{} {}", self.result.episodes, self.result.split),
                empty => format!("{} {}, {empty} without a job", self.result.episodes, self.result.split),
            },
            teacher: mean(self.teacher),
            student: mean(self.student),
            against: self.student().map_or_else(|why| (why, String::new()), |e| shown(&e)),
            heuristic: self.heuristic.map(|(p, e)| (p.policy.clone(), shown(&e))),
            idle: self.student.and_then(longest_idle),
        }
    }
}

fn chart(goal: &Figure, found: &[Found<'_>]) -> Result<Chart, ReportError> {
    let mut lines = Vec::new();
    let mut description = String::new();
    for f in found {
        lines.push(Row::Heading(f.name.clone()));
        let student = f.student();
        let said = student.as_ref().map_or_else(Clone::clone, |e| goal::versus(goal)(e.value));
        description += &format!("{}: student {said}", f.name);
        let cell = student.map_or_else(Cell::Words, Cell::Dot);
        lines.push(Row::Item { label: "student".into(), colour: BLUE, cells: vec![cell] });
        if let Some((policy, e)) = f.heuristic {
            description += &format!(", best heuristic {} {}", policy.policy, goal::versus(goal)(e.value));
            let label = format!("best heuristic: {}", policy.policy);
            lines.push(Row::Item { label, colour: GREEN, cells: vec![Cell::Dot(e)] });
        }
        description += ". ";
    }
    let panel = Panel {
        title: format!("{} to the teacher", capital(goal::comparison(goal))),
        axis: format!("{}{}, {} than the teacher", goal.label, goal::axis_unit(goal), goal::hint(goal)),
        range: goal::around(goal, 0.05),
        reference: Some(goal.neutral()),
        write: goal::at_dot(goal),
        tick: goal::tick(goal),
    };
    let title = format!("{} to the teacher on every workload", capital(goal::comparison(goal)));
    let pictures = draw("workloads", &title, &description, &[panel], &lines)?;
    let data = found.iter().map(|f| {
        json!({
            "workload": f.result.workload, "name": f.name, "split": f.result.split, "episodes": f.result.episodes, "figure": goal.name,
            "student": f.student.map(|p| &p.policy), "student_to_teacher": f.student().ok(),
            "heuristic": f.heuristic.map(|(p, _)| &p.policy), "heuristic_to_teacher": f.heuristic.map(|(_, e)| e),
        })
    });
    let data = data.collect::<Vec<_>>().into();
    Ok(pictures.chart("workloads", title, data))
}
