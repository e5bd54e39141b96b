//! Success over the budget, scheduler by scheduler; and what it costs beside what users gain.

use super::{Victim, allowed};
use crate::{
    ReportError,
    dot_chart::{self, Cell, Panel, Row},
    goal,
    line_chart::{Axis, Key, Mark, Plot, Series, alone},
    plain::capital,
    run_dir::RunDir,
    svg::{self, Chart, Pictures},
    words::{interval, number, percent},
};
use sched_distill_judge::{
    attack::Method,
    evaluator::{Estimate, Role},
};
use serde_json::json;

const WIDTH: f64 = 900.0;
const MARKS: [Mark; 5] = [Mark::Dot, Mark::Square, Mark::Triangle, Mark::Diamond, Mark::Cross];
/// Lines that can be told apart.
const LINES: usize = 6;

/// Those whose users might edit as much: of the run's student, or of the first one.
fn comparable<'v, 'a>(victims: &'v [Victim<'a>]) -> Option<Vec<&'v Victim<'a>>> {
    let student = victims.iter().find(|v| v.scheduler.role == Some(Role::Student) && v.is_usual);
    let budgets = &student.or(victims.first())?.scheduler.params.budgets;
    Some(victims.iter().filter(|v| v.scheduler.params.budgets == *budgets).collect())
}

/// How many the curve does not show: their users might edit other things, or there are more than can be told apart.
pub(super) fn left_out(victims: &[Victim<'_>]) -> usize {
    victims.len() - comparable(victims).map_or(0, |same| same.len().min(LINES))
}

/// How often users are served sooner, by how much they may edit; `None` where there is one budget alone.
///
/// # Errors
///
/// [`ReportError::Chart`] if it cannot be drawn.
pub(super) fn curve(victims: &[Victim<'_>]) -> Result<Option<Chart>, ReportError> {
    let Some(same) = comparable(victims) else { return Ok(None) };
    let budgets = &same[0].scheduler.params.budgets;
    if budgets.len() < 2 {
        return Ok(None);
    }
    svg::register_fonts()?;
    let line = |(i, victim): (usize, &&Victim<'_>)| {
        let figures = victim.own();
        // Side by side, so that whiskers do not hide each other.
        let beside = 0.05 * (i as f64 - (same.len().min(LINES) as f64 - 1.0) / 2.0);
        Series {
            label: victim.name.clone(),
            colour: victim.colour,
            dash: Some(if victim.is_usual { "" } else { "6 3" }),
            mark: MARKS[i % MARKS.len()],
            points: figures.iter().map(|f| (f.budget as f64 + beside, f.sooner.value)).collect(),
            whiskers: figures.iter().map(|f| (f.sooner.low, f.sooner.high)).collect(),
        }
    };
    let mut series: Vec<Series> = same.iter().take(LINES).enumerate().map(line).collect();
    let student = same.iter().find(|v| v.scheduler.role == Some(Role::Student) && v.is_usual);
    let student = student.filter(|v| v.method != Method::Random && !v.of(Method::Random).is_empty());
    series.extend(student.map(|student| Series {
        label: "random edits under the student".to_owned(),
        colour: student.colour,
        dash: Some("2 3"),
        mark: Mark::None,
        points: student.of(Method::Random).iter().map(|f| (f.budget as f64, f.sooner.value)).collect(),
        whiskers: Vec::new(),
    }));
    let most = series.iter().flat_map(|s| s.whiskers.iter().map(|w| w.1)).fold(0.1, f64::max);
    let ticks = budgets.iter().enumerate().map(|(i, budget)| (i as f64, allowed(budget))).collect();
    let keys: Vec<Key<'_>> = series.iter().map(Key::Series).collect();
    let plot = Plot {
        series: series.clone(),
        ..Plot::new(
            String::new(),
            Axis::named("what a user may edit", (-0.3, budgets.len() as f64 - 0.7), ticks),
            Axis::linear("share of users served more than 1 % sooner", (0.0, most), 5, whole),
        )
    };
    let title = "How often a user is served sooner".to_owned();
    let said: String = same
        .iter()
        .flat_map(|v| v.own().into_iter().map(move |f| (v, f)))
        .map(|(v, f)| format!("{}, {}: {}. ", v.name, allowed(&budgets[f.budget]), interval(&f.sooner, percent)))
        .collect();
    let pictures = Pictures::new("gaming-curve", WIDTH, &title, &said, |width| alone(&plot, &keys, width, 220.0));
    let points = |v: &&Victim<'_>| {
        let figures: Vec<_> = v
            .scheduler
            .figures
            .iter()
            .map(|f| json!({"budget": f.budget, "method": f.method.name(), "sooner": f.sooner}))
            .collect();
        json!({"scheduler": v.name, "shown": v.method.name(), "figures": figures})
    };
    let data = json!({
        "budgets": budgets.iter().map(ToString::to_string).collect::<Vec<_>>(),
        "schedulers": same.iter().map(points).collect::<Vec<_>>(),
    });
    Ok(Some(pictures.chart("gaming-curve", title, data)))
}

/// What schedulers cost where nobody games them, beside what those gain who do, the cheapest first; `None` where nothing can be compared.
///
/// # Errors
///
/// [`ReportError::Chart`] if it cannot be drawn.
pub(super) fn price(run: &RunDir, victims: &[Victim<'_>]) -> Result<Option<Chart>, ReportError> {
    let objective = &run.info.objective;
    let mut of: Vec<(&Victim<'_>, Estimate)> =
        victims.iter().filter_map(|v| Some((v, v.scheduler.to_teacher?))).collect();
    if of.len() < 2 {
        return Ok(None);
    }
    of.sort_by(|a, b| objective.cost(Some(a.1.value)).total_cmp(&objective.cost(Some(b.1.value))));
    let first = |v: &Victim<'_>| v.own().into_iter().find(|f| f.budget == 0).cloned();
    let rows: Vec<Row> = of
        .iter()
        .map(|(v, price)| {
            let figures = first(v);
            let cell = |e: Option<Estimate>| e.map_or_else(|| Cell::Words("not measured".to_owned()), Cell::Dot);
            let much = figures.as_ref().map(|f| f.much_sooner);
            let saved = |e: Estimate| Estimate { value: -e.value, low: -e.high, high: -e.low };
            let gain = figures.as_ref().map(|f| saved(f.change));
            Row::Item {
                label: v.name.clone(),
                colour: v.colour,
                cells: vec![Cell::Dot(*price), cell(much), cell(gain)],
            }
        })
        .collect();
    let noun = capital(&run.plain().figure(objective));
    let panel = |title: String, axis: &str, range, reference, write: fn(f64) -> String, tick: fn(f64) -> String| {
        Panel { title, axis: axis.to_owned(), range, reference, write, tick }
    };
    let panels = [
        panel(
            noun,
            &format!("nobody games it, to the teacher's{}", goal::axis_unit(objective)),
            goal::around(objective, 0.05),
            Some(objective.neutral()),
            goal::at_dot(objective),
            goal::tick(objective),
        ),
        panel("Served 5 % sooner".to_owned(), "share of users who game it", (0.0, 0.1), None, percent, whole),
        panel("Time that they save".to_owned(), "mean over all of them", (-0.02, 0.02), Some(0.0), percent, whole),
    ];
    let title = "What it costs, and what users gain".to_owned();
    let said: String = of
        .iter()
        .map(|(v, price)| {
            let much = first(v)
                .map_or(String::new(), |f| format!(", {} served 5 % sooner", interval(&f.much_sooner, percent)));
            format!("{}: {}{much}. ", v.name, interval(price, goal::versus(objective)))
        })
        .collect();
    let pictures = dot_chart::draw("gaming-price", &title, &said, &panels, &rows)?;
    let data: Vec<_> = of
        .iter()
        .map(|(v, price)| {
            let f = first(v);
            json!({"scheduler": v.name, "figure": objective.name, "to_teacher": price,
                   "much_sooner": f.as_ref().map(|f| f.much_sooner), "change": f.as_ref().map(|f| f.change)})
        })
        .collect();
    Ok(Some(pictures.chart("gaming-price", title, data.into())))
}

fn whole(share: f64) -> String {
    format!("{}\u{a0}%", number((100.0 * share).round()))
}
