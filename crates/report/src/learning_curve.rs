//! How a training went: validation figures of the network over the time it took.

use super::{
    ReportError,
    line_chart::{ABOVE, Area, Axis, BELOW, BESIDE, Key, Mark, Plot, Series, draw, legend},
    svg::{self, BLUE, Colour, GREEN, ORANGE, frame},
    words::number,
};
use sched_distill_core::{figure::Figure, spec::brief};

const WIDTH: f64 = 900.0;
const HEIGHT: f64 = 360.0;

/// One look at the network.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CurvePoint {
    /// Iterations of training before it.
    pub iteration: u32,
    /// Wall time before it, s.
    pub seconds: f64,
    /// The objective beside the reference's, greedy mode; `None` if it strands the cluster.
    pub greedy: Option<f64>,
    /// The same in sampled mode.
    pub sampled: Option<f64>,
}

/// A training as it is to be drawn.
#[derive(Clone, Debug, PartialEq)]
pub struct LearningCurve<'a> {
    /// The workload's name.
    pub workload: &'a str,
    /// The policy that it is compared with.
    pub reference: &'a str,
    /// What is compared.
    pub figure: &'a Figure,
    /// In order.
    pub points: &'a [CurvePoint],
    /// Seconds of imitation at the beginning; 0 for none.
    pub imitation_s: f64,
    /// Which point is the best.
    pub best: Option<usize>,
}

/// The chart as SVG and as PNG of twice the size.
///
/// # Errors
///
/// [`ReportError::Chart`] if it cannot be drawn.
pub fn learning_curve(curve: &LearningCurve<'_>) -> Result<(String, Vec<u8>), ReportError> {
    svg::register_fonts()?;
    let end_s = curve.points.last().map_or(0.0, |p| p.seconds);
    let (unit, seconds) = match end_s {
        s if s < 120.0 => ("s", 1.0),
        s if s < 7200.0 => ("min", 60.0),
        _ => ("h", 3600.0),
    };
    let iterations = curve.points.last().map_or(0, |p| p.iteration);
    let x = Axis::linear(&format!("time, {unit} ({iterations} iterations in all)"), (0.0, end_s / seconds), 10, number);
    let values =
        |points: &[CurvePoint]| -> Vec<f64> { points.iter().flat_map(|p| [p.greedy, p.sampled]).flatten().collect() };
    // An untrained network is so bad that nothing else could be told apart beside it.
    let later = if curve.points.len() > 3 { &curve.points[1..] } else { curve.points };
    let level = curve.figure.neutral();
    let low = values(later).into_iter().fold(level, f64::min);
    let high = values(later).into_iter().fold(level, f64::max);
    let margin = 0.05 * (high - low).max(0.05);
    let first = values(&curve.points[..1.min(curve.points.len())]);
    let off = first.iter().find(|&&v| v > high + margin || v < low - margin);
    let beyond = off.map_or(String::new(), |first| format!(" (at first {first:.1}, off the chart)"));
    let y = Axis::linear(
        &format!("{}, validation episodes{beyond}", curve.figure.against(&brief(curve.reference))),
        (low - margin, high + margin),
        6,
        number,
    );
    let series = |label: &str, colour: Colour, mark: Mark, value: fn(&CurvePoint) -> Option<f64>| Series {
        label: label.to_owned(),
        colour,
        dash: Some(""),
        mark,
        points: curve.points.iter().filter_map(|p| Some((p.seconds / seconds, value(p)?))).collect(),
        whiskers: Vec::new(),
    };
    let mut shown = vec![
        series("sampled decisions", ORANGE, Mark::Square, |p| p.sampled),
        series("most probable decisions", BLUE, Mark::Dot, |p| p.greedy),
    ];
    // Dots that touch are a band.
    if curve.points.len() > 60 {
        shown.iter_mut().for_each(|s| s.mark = Mark::None);
    }
    let best = curve.best.and_then(|i| curve.points.get(i));
    if let Some(point) = best {
        let points =
            [point.greedy, point.sampled].into_iter().flatten().map(|v| (point.seconds / seconds, v)).collect();
        let label = "the network that was kept".to_owned();
        shown.push(Series { label, colour: GREEN, dash: None, mark: Mark::Diamond, points, whiskers: Vec::new() });
    }
    let mut plot = Plot::new(format!("Training on {}", brief(curve.workload)), x, y);
    plot.level = Some(level);
    plot.stretch = (curve.imitation_s > 0.0).then_some((0.0, curve.imitation_s / seconds));
    plot.series = shown;

    let mut keys: Vec<Key<'_>> = plot.series.iter().map(Key::Series).collect();
    if plot.stretch.is_some() {
        keys.push(Key::Shade("learning from a teacher"));
    }
    let (names, below) = legend(&keys, (BESIDE, 6.0), WIDTH - 10.0);
    let area = Area { left: BESIDE, top: below + ABOVE, width: WIDTH - BESIDE - 24.0, height: HEIGHT };
    let body = names + &draw(&plot, &area);
    let size = (WIDTH as u32, (area.bottom() + BELOW).ceil() as u32);
    let of = |v: Option<f64>| v.map_or("strands the cluster".to_owned(), |v| format!("{v:.3}"));
    let description = match best {
        Some(p) => format!("Kept after iteration {}: greedy {}, sampled {}.", p.iteration, of(p.greedy), of(p.sampled)),
        None => "No network was kept.".to_owned(),
    };
    let svg = frame("learning-curve", "img", size, &plot.title, &description, &body);
    let png = svg::png("learning-curve", &svg)?;
    Ok((svg, png))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_curve_is_drawn_whatever_there_is() -> Result<(), ReportError> {
        let point = |iteration: u32, greedy: f64| CurvePoint {
            iteration,
            seconds: 40.0 * f64::from(iteration),
            greedy: (greedy < 1.2).then_some(greedy),
            sampled: Some(greedy + 0.1),
        };
        let points = [point(0, 1.5), point(10, 0.9), point(20, 0.8)];
        let mut curve = LearningCurve {
            workload: "w <&>",
            reference: "fair",
            figure: &sched_distill_core::figure::COMPLETION_FIGURES[0],
            points: &points,
            imitation_s: 60.0,
            best: Some(2),
        };
        let (svg, png) = learning_curve(&curve)?;
        assert!(png.starts_with(b"\x89PNG") && svg.contains("greedy 0.800, sampled 0.900"));
        assert!(svg.contains("learning from a teacher") && svg.contains("the network that was kept"));
        (curve.points, curve.best, curve.imitation_s) = (&points[..1], None, 0.0);
        assert!(learning_curve(&curve)?.0.contains("No network was kept"));
        curve.points = &[];
        learning_curve(&curve)?;
        Ok(())
    }
}
