//! How an augmented student was found: the search step by step.

use crate::{
    ReportError, goal,
    line_chart::{ABOVE, Area, Axis, BELOW, Key, Mark, Plot, Series, beside, draw, legend},
    svg::{self, BLUE, Chart, GREY, ORANGE, Pictures},
    to_data,
    words::{count, number},
};
use sched_distill_core::figure::Figure;
use sched_distill_judge::augment::Step;
use serde::Serialize;
use serde_json::json;

const WIDTH: f64 = 900.0;
/// A 95 % interval is this many standard errors to either side.
const NORMAL_95: f64 = 1.96;

/// The search, written out and drawn.
#[derive(Debug, Serialize)]
pub(super) struct View {
    tried: usize,
    kept: usize,
    /// What the kept steps take away together.
    together: String,
    episodes: String,
    /// Every try in the order of the search.
    rows: Vec<Line>,
    pub(super) chart: Chart,
}

/// One try: gains as percentages, that on validation with its interval.
#[derive(Debug, Serialize)]
struct Line {
    what: String,
    train: String,
    gain: (String, String),
    kept: bool,
    spent: String,
}

/// Gain of all kept steps up to each one together.
fn together(objective: &Figure, steps: &[Step]) -> Vec<f64> {
    let sums = steps.iter().scan(0.0, |sum, s| {
        *sum = if s.kept { objective.both_gains(*sum, s.validation_gain) } else { *sum };
        Some(*sum)
    });
    sums.collect()
}

fn interval(step: &Step) -> (f64, f64) {
    let half = NORMAL_95 * step.standard_error;
    (step.validation_gain - half, step.validation_gain + half)
}

/// Words and draws a search's steps; there is at least one.
///
/// # Errors
///
/// [`ReportError::Chart`] if the chart cannot be drawn.
pub(super) fn view(objective: &Figure, steps: &[Step]) -> Result<View, ReportError> {
    let gain_text = goal::gain(objective);
    let row = |s: &Step| Line {
        what: s.what.clone(),
        train: s.train_gain.map_or("–".into(), gain_text),
        gain: (gain_text(s.validation_gain), format!("{} to {}", gain_text(interval(s).0), gain_text(interval(s).1))),
        kept: s.kept,
        spent: count(s.spent),
    };
    Ok(View {
        tried: steps.len(),
        kept: steps.iter().filter(|s| s.kept).count(),
        together: together(objective, steps).last().copied().map_or(String::new(), gain_text),
        episodes: steps.last().map_or(String::new(), |s| count(s.spent)),
        rows: steps.iter().map(row).collect(),
        chart: chart(objective, steps)?,
    })
}

fn chart(objective: &Figure, steps: &[Step]) -> Result<Chart, ReportError> {
    svg::register_fonts()?;
    let last = steps.iter().map(|s| s.spent).max().unwrap_or(1) as f64;
    let tries = |kept: bool, label: &str, colour, mark| {
        let of = || steps.iter().filter(move |s| s.kept == kept);
        Series {
            label: label.to_owned(),
            colour,
            dash: None,
            mark,
            points: of().map(|s| (s.spent as f64, s.validation_gain)).collect(),
            whiskers: of().map(interval).collect(),
        }
    };
    let tried = vec![tries(false, "not kept", GREY, Mark::Ring), tries(true, "kept", BLUE, Mark::Dot)];
    let sums = together(objective, steps);
    let mut climb = vec![(0.0, 0.0)];
    for (step, &sum) in steps.iter().zip(&sums) {
        let at = step.spent as f64;
        climb.extend([(at, climb.last().map_or(0.0, |p| p.1)), (at, sum)]);
    }
    climb.push((last, sums.last().copied().unwrap_or(0.0)));
    let line = Series {
        label: "all kept steps together".into(),
        colour: ORANGE,
        dash: Some(""),
        mark: Mark::None,
        points: climb,
        whiskers: Vec::new(),
    };
    let keys = [Key::Series(&line), Key::Series(&tried[1]), Key::Series(&tried[0])];
    let extent = |values: &mut dyn Iterator<Item = (f64, f64)>| {
        let (low, high) = values.fold((0.0_f64, 0.01_f64), |(a, b), (low, high)| (a.min(low), b.max(high)));
        (low - 0.03 * (high - low), high + 0.03 * (high - low))
    };
    let upper = extent(&mut sums.iter().map(|&s| (s, s)));
    let lower = extent(&mut steps.iter().map(interval));
    let paint = |width: f64| {
        let left = beside(width) + 10.0;
        let (mut body, mut top) = legend(&keys, (left, 6.0), width - 20.0);
        let so_far = format!("{}, over the student to begin with", goal::gained(objective));
        for (title, words, range, series) in [
            ("Gained so far", &*so_far, upper, vec![line.clone()]),
            ("Each try", "gain over the student at that time, on validation episodes", lower, tried.clone()),
        ] {
            let plot = Plot {
                series: series.clone(),
                level: Some(0.0),
                ..Plot::new(
                    title.to_owned(),
                    Axis::linear("episodes run so far", (0.0, last), 8, number),
                    Axis::linear(words, range, 6, goal::gain_tick(objective)),
                )
            };
            let room = width - left - 30.0;
            let area =
                Area { left, top: top + ABOVE + plot.more_above(room), width: width - left - 30.0, height: 170.0 };
            body += &draw(&plot, &area);
            top = area.bottom() + BELOW + plot.more_below(room);
        }
        (body, top)
    };
    let (title, gain_text) = ("The search, step by step".to_owned(), goal::gain(objective));
    let kept = steps.iter().filter(|s| s.kept).map(|s| format!("{}: {}. ", s.what, gain_text(s.validation_gain)));
    let description = format!("Of {} tries these were kept: {}", steps.len(), kept.collect::<String>());
    let pictures = Pictures::new("search", WIDTH, &title, &description, paint);
    let data = json!({"steps": to_data("search", steps)?, "together": sums});
    Ok(pictures.chart("search", title, data))
}

#[cfg(test)]
mod tests {
    use super::*;
    use sched_distill_core::figure::COMPLETION_FIGURES;

    #[test]
    fn kept_gains_multiply() {
        let step = |validation_gain, kept| Step {
            what: String::new(),
            train_gain: None,
            validation_gain,
            standard_error: 0.0,
            kept,
            agreement: None,
            spent: 1,
        };
        let sums = together(&COMPLETION_FIGURES[0], &[step(0.5, true), step(0.9, false), step(0.2, true)]);
        assert!((sums[0] - 0.5).abs() < 1e-12 && (sums[1] - 0.5).abs() < 1e-12 && (sums[2] - 0.6).abs() < 1e-12);
    }
}
