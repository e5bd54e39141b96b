//! Which student to take? The run's own and others side by side: size, agreement, schedule, worst case.

use super::{
    ReportError,
    dot_chart::{Cell, Panel, Row, draw},
    goal,
    plain::capital,
    run_dir::RunDir,
    svg::{BLUE, Chart, GREY, PURPLE},
    words::{count, interval, number, percent},
};
use sched_distill_core::{
    figure::{Compared as How, Figure},
    spec::brief,
};
use sched_distill_toolkit::evaluator::{
    Estimate, Evaluation, FidelityRow, Role, Verdict, VerdictGates, hardest_choices,
};
use serde::Serialize;
use serde_json::json;

/// The comparison.
#[derive(Debug, Serialize)]
pub(super) struct Section {
    /// Which to take, and why.
    pub(super) advice: String,
    rows: Vec<TableRow>,
    /// What the objective is called, and how it is compared.
    objective: [String; 2],
    pub(super) chart: Chart,
    /// Students of other sizes: size, file, the objective against the teacher's on validation episodes.
    front: Vec<[String; 3]>,
}

/// A student, written out.
#[derive(Debug, Serialize)]
struct TableRow {
    name: String,
    size: String,
    agreement: Option<(String, String)>,
    usual: Option<(String, String)>,
    worst: Option<(String, String)>,
    place: String,
    verdict: &'static str,
}

/// A student and its figures.
struct Found<'a> {
    name: String,
    size: usize,
    agreement: Option<Estimate>,
    verdict: Option<Verdict<'a>>,
    replaces: bool,
}

/// Draws the comparison; `None` if there is no other student.
///
/// # Errors
///
/// [`ReportError::Chart`] if the chart cannot be drawn.
pub(super) fn section(run: &RunDir, gates: &VerdictGates) -> Result<Option<Section>, ReportError> {
    let front = front(run);
    if run.compared.is_empty() && front.is_empty() {
        return Ok(None);
    }
    let objective = run.evaluation.closed_loop.as_ref().map_or(&run.info.objective, |c| c.objective());
    let hardest = hardest_choices(&run.evaluation.fidelity).map(|(row, _)| (row.level.clone(), row.kind.clone()));
    let of = |name: &str, size, evaluation: &'_ Evaluation| -> (String, usize, Option<Estimate>) {
        let is_asked = |r: &&FidelityRow| {
            r.role == Role::Student
                && hardest.as_ref().is_some_and(|(level, kind)| r.level == *level && r.kind == *kind)
        };
        (name.to_owned(), size, evaluation.fidelity.iter().find(is_asked).map(|r| r.top1))
    };
    let names: Vec<&str> = run.compared.iter().map(|c| c.name.as_str()).collect();
    let own = ("this student", run.student.size(), &run.evaluation);
    let others = run.compared.iter().map(|c| (c.name.as_str(), c.size, &c.evaluation));
    let found: Vec<Found<'_>> = std::iter::once(own)
        .chain(others)
        .map(|(name, size, evaluation)| {
            let (name, size, agreement) = of(name, size, evaluation);
            let verdict = evaluation.verdict();
            let replaces = verdict.as_ref().is_some_and(|v| {
                let judgement = v.judge(gates, objective);
                judgement.replaces() && judgement.barred.is_empty()
            });
            Found { name: called(&name, &names), size, agreement, verdict, replaces }
        })
        .collect();
    Ok(Some(Section {
        advice: advice(&found, objective),
        rows: found.iter().map(|f| table_row(f, run, objective)).collect(),
        objective: [run.plain().figure(objective), against(objective).to_owned()],
        chart: chart(run, &found, objective)?,
        front,
    }))
}

/// A student by its file and the folder that this is in, unless two have the same.
fn called(name: &str, all: &[&str]) -> String {
    let short = |name: &str| {
        let parts: Vec<&str> = name.split(['/', '\\']).collect();
        parts[parts.len().saturating_sub(2)..].join("/")
    };
    match all.iter().filter(|other| short(other) == short(name)).count() {
        0 | 1 => short(name),
        _ => name.to_owned(),
    }
}

impl Found<'_> {
    fn usual(&self) -> Option<Estimate> {
        self.verdict.as_ref()?.student.to_teacher
    }

    fn worst(&self) -> Option<Estimate> {
        self.verdict.as_ref()?.worst()?.to_teacher
    }
}

fn against(objective: &Figure) -> &'static str {
    match objective.compared {
        How::Ratio => "times the teacher's",
        How::Difference => "against the teacher's",
    }
}

/// The smallest of those that keep the gates and are not clearly worse than the best of them.
fn advice(found: &[Found<'_>], objective: &Figure) -> String {
    let cost = |e: Option<Estimate>| objective.cost(e.map(|e| e.value));
    let fit = || found.iter().filter(|f| f.replaces);
    let Some(best) = fit().min_by(|a, b| cost(a.usual()).total_cmp(&cost(b.usual()))) else {
        return "None of them keeps all gates.".to_owned();
    };
    let Some(best) = best.usual() else { return "None of them keeps all gates.".to_owned() };
    let as_good = |f: &&Found<'_>| {
        f.usual().is_some_and(|e| {
            let better_end = if objective.passes(e.low, e.high) { e.low } else { e.high };
            objective.passes(better_end, best.value)
        })
    };
    let take =
        fit().filter(as_good).min_by(|a, b| a.size.cmp(&b.size).then(cost(a.usual()).total_cmp(&cost(b.usual()))));
    match (take, fit().filter(as_good).count()) {
        (Some(take), 1) => {
            format!("Take {}: it keeps all gates, and its {} is clearly the best.", take.name, objective.label)
        }
        (Some(take), n) => format!(
            "Take {}: of the {n} that keep all gates and whose {} may be as good as the best, it is the smallest.",
            take.name, objective.label
        ),
        (None, _) => "None of them keeps all gates.".to_owned(),
    }
}

fn table_row(found: &Found<'_>, run: &RunDir, objective: &Figure) -> TableRow {
    let shown =
        |e: Estimate, write: fn(f64) -> String| (write(e.value), format!("{} to {}", write(e.low), write(e.high)));
    let versus = goal::versus(objective);
    let stalled = found.verdict.as_ref().map_or(0, |v| v.student.stalled);
    let worst = found.verdict.as_ref().and_then(|v| v.worst());
    TableRow {
        name: found.name.clone(),
        size: count(found.size as u64),
        agreement: found.agreement.map(|e| shown(e, percent)),
        usual: found.usual().map(|e| shown(e, versus)),
        worst: found.worst().map(|e| shown(e, versus)),
        place: worst.map_or_else(String::new, |w| {
            let place = run.workload(w.workload);
            if w.to_teacher.is_none() { format!("it stalls {place}") } else { place }
        }),
        verdict: match (found.replaces, &found.verdict) {
            (true, _) => "keeps all gates",
            (false, None) => "not measured",
            (false, _) if stalled > 0 => "stalls",
            (false, _) => "does not",
        },
    }
}

fn chart(run: &RunDir, found: &[Found<'_>], objective: &Figure) -> Result<Chart, ReportError> {
    let noun = capital(&run.plain().figure(objective));
    let panel = |title: &str| Panel {
        title: title.to_owned(),
        axis: against(objective).to_owned(),
        range: goal::around(objective, 0.05),
        reference: Some(objective.neutral()),
        write: goal::versus(objective),
        tick: number,
    };
    let agreement = Panel {
        title: "Agreement".to_owned(),
        axis: "more is better".to_owned(),
        range: (1.0, 1.0),
        reference: None,
        write: percent,
        tick: percent,
    };
    let cell = |e: Option<Estimate>, without: &str| e.map_or_else(|| Cell::Words(without.to_owned()), Cell::Dot);
    let without = |f: &Found<'_>| if f.verdict.is_some() { "stalled" } else { "not measured" };
    let rows: Vec<Row> = found
        .iter()
        .enumerate()
        .map(|(i, f)| Row::Item {
            label: format!("{} (size {})", f.name, count(f.size as u64)),
            colour: match (i, f.replaces) {
                (0, _) => BLUE,
                (_, true) => PURPLE,
                (_, false) => GREY,
            },
            cells: vec![
                cell(f.usual(), without(f)),
                cell(f.worst(), "not measured"),
                cell(f.agreement, "not measured"),
            ],
        })
        .collect();
    let said = |e: Option<Estimate>| e.map_or("none".to_owned(), |e| interval(&e, goal::versus(objective)));
    let description: String =
        found.iter().map(|f| format!("{}: {} and at worst {}. ", f.name, said(f.usual()), said(f.worst()))).collect();
    let title = "Students side by side".to_owned();
    let panels = [panel(&noun), panel("On its worst workload"), agreement];
    let pictures = draw("students", &title, &description, &panels, &rows)?;
    let data = found.iter().map(|f| {
        json!({"student": f.name, "size": f.size, "figure": objective.name, "agreement": f.agreement, "to_teacher": f.usual(),
               "worst": f.worst(), "worst_workload": f.verdict.as_ref().and_then(|v| v.worst()).map(|w| w.workload),
               "keeps_gates": f.replaces})
    });
    let data = data.collect::<Vec<_>>().into();
    Ok(pictures.chart("students", title, data))
}

/// Students of the front that have scheduled.
fn front(run: &RunDir) -> Vec<[String; 3]> {
    let write = goal::versus(&run.info.objective);
    let totals = run.front.iter().flat_map(|front| &front.totals);
    let shown = totals.filter_map(|t| Some([count(t.size as u64), brief(&t.student), interval(&t.to_teacher?, write)]));
    shown.collect()
}
