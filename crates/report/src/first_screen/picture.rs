//! The picture: teacher, student, augmented student, the best heuristic and the usual yardstick, on the usual workload and on the
//! worst one.

use crate::{
    ReportError,
    dot_chart::{Cell, Panel, Row, draw},
    goal,
    plain::capital,
    run_dir::RunDir,
    svg::{BLUE, Chart, Colour, GREEN, GREY, ORANGE, PURPLE, fit_bold},
};
use sched_distill_core::figure::{Compared, Figure};
use sched_distill_judge::evaluator::{ClosedLoop, Estimate, Role, Verdict};
use serde_json::json;

/// Room for the heading of a panel, px.
const TITLE: f64 = 280.0;

/// Draws it; `None` if nothing was compared.
pub(super) fn chart(run: &RunDir, verdict: &Verdict<'_>, objective: &Figure) -> Result<Option<Chart>, ReportError> {
    let Some(usual) = &run.evaluation.closed_loop else { return Ok(None) };
    let worst = verdict.worst().and_then(|w| run.evaluation.other_workloads.iter().find(|c| c.workload == w.workload));
    let plain = run.plain();
    let mut shown: Vec<(String, &str, Colour)> = vec![
        (format!("teacher: {}", run.info.teacher_name()), verdict.teacher, ORANGE),
        ("student".to_owned(), verdict.student.policy, BLUE),
    ];
    shown.extend(verdict.augmented.as_ref().map(|a| ("student, augmented".to_owned(), a.policy, PURPLE)));
    shown.extend(verdict.fitted.as_ref().map(|f| ("student, without edits".to_owned(), f.policy, PURPLE)));
    let best = verdict.heuristic.as_ref().map(|h| h.policy);
    shown.extend(best.map(|best| (format!("best heuristic: {best}"), best, GREEN)));
    let yardstick = usual.first(Role::Heuristic).map(|p| p.policy.as_str()).filter(|&p| Some(p) != best);
    shown.extend(yardstick.map(|name| (name.to_owned(), name, GREY)));
    let noun = capital(&plain.figure(objective));
    let loops: Vec<&ClosedLoop> = std::iter::once(usual).chain(worst).collect();
    let panels: Vec<Panel> = loops
        .iter()
        .enumerate()
        .map(|(i, result)| Panel {
            title: match i {
                0 => "Usual workload".to_owned(),
                _ => {
                    let place = run.workload(&result.workload);
                    let place = place.strip_prefix("where ").or(place.strip_prefix("on ")).unwrap_or(&place);
                    fit_bold(&format!("Worst: {place}"), TITLE, 12.5)
                }
            },
            axis: match objective.compared {
                Compared::Ratio => format!("{noun}, times the teacher's"),
                Compared::Difference => format!("difference to the teacher's{}", goal::axis_unit(objective)),
            },
            range: goal::around(objective, 0.05),
            reference: Some(objective.neutral()),
            write: goal::at_dot(objective),
            tick: goal::tick(objective),
        })
        .collect();
    let neutral = objective.neutral();
    let figure = |result: &ClosedLoop, policy: &str| match policy == verdict.teacher {
        true => Some(Estimate { value: neutral, low: neutral, high: neutral }),
        false => result.objective_of(policy, verdict.teacher),
    };
    let cell = |result: &&ClosedLoop, policy: &str| {
        let stalled = result.policies.iter().find(|p| p.policy == policy).map_or(0, |p| p.stalled);
        match figure(result, policy) {
            _ if stalled > 0 => Cell::Words(format!("stalled in {stalled} of {}", result.episodes)),
            Some(e) => Cell::Dot(e),
            None => Cell::Words("not measured".to_owned()),
        }
    };
    let rows: Vec<Row> = shown
        .iter()
        .map(|(label, policy, colour)| Row::Item {
            label: label.clone(),
            colour: *colour,
            cells: loops.iter().map(|result| cell(result, policy)).collect(),
        })
        .collect();
    let mut description = String::new();
    for (label, policy, _) in &shown {
        let said =
            loops.iter().map(|r| figure(r, policy).map_or("none".to_owned(), |e| goal::versus(objective)(e.value)));
        description += &format!("{label}: {}. ", said.collect::<Vec<_>>().join(" and "));
    }
    let title = format!("{noun} against the teacher's");
    let pictures = draw("verdict", &title, &description, &panels, &rows)?;
    let data = loops.iter().map(|result| {
        let policies =
            shown.iter().map(|(_, policy, _)| json!({"policy": policy, "to_teacher": figure(result, policy)}));
        json!({"workload": result.workload, "episodes": result.episodes, "figure": objective.name,
               "policies": policies.collect::<Vec<_>>()})
    });
    let data = data.collect::<Vec<_>>().into();
    Ok(Some(pictures.chart("verdict", title, data)))
}
