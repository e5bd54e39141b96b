//! Which student to take? The run's own and others side by side: size, agreement, schedule, worst case.

use super::{
    ReportError,
    dot_chart::{Cell, Panel, Row, draw},
    first_screen::{Advice, NAMED, P99},
    goal,
    plain::capital,
    run_dir::{AUGMENTED, FITTED, RunDir},
    svg::{BLUE, Chart, GREY, PURPLE},
    words::{count, interval, list, percent},
};
use sched_distill_core::{
    figure::{Compared as How, Figure},
    model::Student,
    spec::brief,
};
use sched_distill_judge::evaluator::{
    ClosedLoop, Estimate, Evaluation, FidelityRow, Gate, Judgement, Role, Verdict, VerdictGates, hardest_choices,
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
    /// Whether it keeps all gates, and those about the usual workload.
    replaces: bool,
    replaces_there: bool,
    /// Whether those who wait longest wait far longer than under the teacher, where no gate is about that and the run's own student is
    /// another one.
    lengthens: bool,
    /// Other workloads on which it must not be used.
    barred: Vec<&'a str>,
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
    let augmented = augmented_alone(run);
    let found = students(run, augmented.as_ref(), gates);
    Ok(Some(Section {
        advice: advice_on(&found, run, objective).0,
        rows: found.iter().map(|f| table_row(f, run, objective)).collect(),
        objective: [run.plain().figure(objective), against(objective).to_owned()],
        chart: chart(run, &found, objective)?,
        front,
    }))
}

/// Which student to take; `None` if there is one alone, or none has scheduled.
pub(super) fn advice(run: &RunDir, gates: &VerdictGates) -> Option<Advice> {
    let augmented = augmented_alone(run);
    let found = students(run, augmented.as_ref(), gates);
    let objective = run.evaluation.closed_loop.as_ref().map_or(&run.info.objective, |c| c.objective());
    (found.len() > 1 && found.iter().any(|f| f.verdict.is_some())).then(|| {
        let (text, take) = advice_on(&found, run, objective);
        let keeps_all = take.is_some_and(|f| f.replaces);
        Advice { text, take: take.map(|f| f.name.clone()).filter(|name| name != OWN), keeps_all }
    })
}

/// What the run's own comparisons say of the augmented student, where no other file does.
fn augmented_alone(run: &RunDir) -> Option<Evaluation> {
    if !run.compared.is_empty() {
        return None;
    }
    let in_its_place = |result: &ClosedLoop| {
        result.first(Role::Augmented)?;
        let mut result = result.clone();
        result.policies.retain(|p| p.role != Role::Student);
        result.policies.iter_mut().filter(|p| p.role == Role::Augmented).for_each(|p| p.role = Role::Student);
        Some(result)
    };
    let closed_loop = in_its_place(run.evaluation.closed_loop.as_ref()?)?;
    let other_workloads = run.evaluation.other_workloads.iter().filter_map(in_its_place).collect();
    Some(Evaluation { closed_loop: Some(closed_loop), other_workloads, ..Evaluation::default() })
}

/// The run's own student first.
fn students<'a>(run: &'a RunDir, augmented: Option<&'a Evaluation>, gates: &VerdictGates) -> Vec<Found<'a>> {
    let objective = run.evaluation.closed_loop.as_ref().map_or(&run.info.objective, |c| c.objective());
    let hardest = hardest_choices(&run.evaluation.fidelity).map(|(row, _)| (row.level.clone(), row.kind.clone()));
    let agreement = |evaluation: &Evaluation| {
        let is_asked = |r: &&FidelityRow| {
            r.role == Role::Student
                && hardest.as_ref().is_some_and(|(level, kind)| r.level == *level && r.kind == *kind)
        };
        evaluation.fidelity.iter().find(is_asked).map(|r| r.top1)
    };
    let names: Vec<&str> = run.compared.iter().map(|c| c.name.as_str()).collect();
    let own = (OWN, run.student.size(), &run.evaluation);
    let size = run.augmented.as_ref().map_or(run.student.size(), Student::size);
    let augmented = augmented.map(|evaluation| (AUGMENTED, size, evaluation));
    let others = run.compared.iter().map(|c| (c.name.as_str(), c.size, &c.evaluation));
    let found = std::iter::once(own).chain(augmented).chain(others).map(|(name, size, evaluation)| {
        let verdict = evaluation.verdict();
        let judgement = verdict.as_ref().map(|v| v.judge(gates, objective));
        let replaces_there = judgement.as_ref().is_some_and(Judgement::replaces);
        let barred: Vec<&str> = judgement.iter().flat_map(|j| &j.barred).map(|place| place.workload).collect();
        // Who was not tried elsewhere is not ahead of one that was.
        let as_far = evaluation.other_workloads.len() >= run.evaluation.other_workloads.len();
        let replaces = replaces_there && barred.is_empty() && as_far;
        let tail = verdict.as_ref().and_then(|v| v.student.tail).filter(|_| !gates.has(Gate::Tail, objective));
        let lengthens = name != OWN && tail.is_some_and(|tail| tail.p99.value > VerdictGates::P99);
        let agreement = agreement(evaluation);
        Found { name: called(name, &names), size, agreement, verdict, replaces, replaces_there, lengthens, barred }
    });
    found.collect()
}

/// What the run's own student is called in tables.
const OWN: &str = "this student";

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
fn advice_on<'f, 'a>(found: &'f [Found<'a>], run: &RunDir, objective: &Figure) -> (String, Option<&'f Found<'a>>) {
    let noun = run.plain().figure(objective);
    // More promises kept are not bought with what those wait who wait longest.
    let all: Vec<&'f Found<'a>> = found.iter().filter(|f| f.replaces).collect();
    let fair: Vec<&'f Found<'a>> = all.iter().copied().filter(|f| !f.lengthens).collect();
    let lengthening = if fair.is_empty() { 0 } else { all.len() - fair.len() };
    let keep = if fair.is_empty() { all } else { fair };
    if let Some((take, alike)) = smallest_of_the_best(&keep, objective) {
        let name = spoken(take);
        let words = match (keep.len(), alike) {
            (1, _) if lengthening > 0 => format!(
                "Take {name}: it alone keeps all gates without making the {} more than {}\u{a0}× the teacher's.",
                P99.label,
                VerdictGates::P99
            ),
            (1, _) => format!("Take {name}: it alone keeps all gates."),
            (_, 1) => format!("Take {name}: it keeps all gates, and its {noun} is clearly the best."),
            (_, n) => format!(
                "Take {name}: of the {n} that keep all gates and whose {noun} may be as good as the best, it is the smallest."
            ),
        };
        return (words, Some(take));
    }
    let there: Vec<&'f Found<'a>> = found.iter().filter(|f| f.replaces_there).collect();
    let Some((take, _)) = smallest_of_the_best(&there, objective) else {
        let none = if found.len() == 2 { "neither" } else { "none of them" };
        return (format!("Take {none}: none keeps the gates on the usual workload."), None);
    };
    let places: Vec<String> = take.barred.iter().take(NAMED).map(|workload| run.workload(workload)).collect();
    let but_not = match (places.is_empty(), take.barred.len().saturating_sub(NAMED)) {
        (true, _) => String::new(),
        (false, 0) => format!(", but not {}", list(&places)),
        (false, more) => format!(", but not {}, nor on {more} more of the other workloads", list(&places)),
    };
    (format!("None of them keeps all gates. On the usual workload take {}{but_not}.", spoken(take)), Some(take))
}

/// The smallest of those that may be as good as the best, and how many may be; `None` if none has a figure.
fn smallest_of_the_best<'f, 'a>(all: &[&'f Found<'a>], objective: &Figure) -> Option<(&'f Found<'a>, usize)> {
    let cost = |f: &Found<'_>| objective.cost(f.usual().map(|e| e.value));
    let best = all.iter().min_by(|a, b| cost(a).total_cmp(&cost(b)))?.usual()?;
    let as_good = |f: &&&Found<'_>| {
        f.usual().is_some_and(|e| {
            let better_end = if objective.passes(e.low, e.high) { e.low } else { e.high };
            objective.passes(better_end, best.value)
        })
    };
    let alike: Vec<&'f Found<'a>> = all.iter().filter(as_good).copied().collect();
    let take = alike.iter().min_by(|a, b| a.size.cmp(&b.size).then(cost(a).total_cmp(&cost(b))))?;
    Some((take, alike.len()))
}

/// A student in a sentence.
fn spoken<'f>(found: &'f Found<'_>) -> &'f str {
    match &*found.name {
        OWN => "the student",
        AUGMENTED => "its augmented version",
        FITTED => "the version without edits",
        name => name,
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
        axis: format!("{}{}", against(objective), goal::axis_unit(objective)),
        range: goal::around(objective, 0.05),
        reference: Some(objective.neutral()),
        write: goal::at_dot(objective),
        tick: goal::tick(objective),
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
    let said = |e: Option<Estimate>| e.map_or("none".to_owned(), |e| goal::measured(objective, &e));
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
