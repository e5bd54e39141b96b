//! Lines and marks over two axes: distributions, figures over time, size against fidelity. The caller places the plots.

use super::{
    svg::{self, Colour, GRID, INK, MUTED, NARROW, TextStyle, WHITE, text},
    words::number,
};
use std::fmt::Write as _;

/// Size of the words at ticks.
const TICK: f64 = 10.5;
/// Height of a line of an axis' title.
const LINE: f64 = 13.0;

/// Where a plot's lines are drawn; words stand around it: [`ABOVE`], [`BELOW`] and [`BESIDE`] px, more where an axis has a title
/// of several lines.
#[derive(Clone, Copy, Debug)]
pub(super) struct Area {
    pub(super) left: f64,
    pub(super) top: f64,
    pub(super) width: f64,
    pub(super) height: f64,
}

/// Room for a plot's title and the words of its vertical axis.
pub(super) const ABOVE: f64 = 44.0;
/// Room for ticks and the words of the horizontal axis.
pub(super) const BELOW: f64 = 42.0;
/// Room left of a plot for ticks.
pub(super) const BESIDE: f64 = 60.0;

impl Area {
    /// The lower edge.
    pub(super) fn bottom(&self) -> f64 {
        self.top + self.height
    }

    /// The right edge.
    pub(super) fn right(&self) -> f64 {
        self.left + self.width
    }
}

/// One axis: what it shows, from where to where, and what is written at it.
#[derive(Clone, Debug)]
pub(super) struct Axis {
    title: String,
    range: (f64, f64),
    log: bool,
    ticks: Vec<(f64, String)>,
}

impl Axis {
    /// An axis of equal steps, about `steps` of them.
    pub(super) fn linear(title: &str, range: (f64, f64), steps: usize, write: fn(f64) -> String) -> Self {
        let (low, high) = if range.0 < range.1 { range } else { (range.0 - 0.5, range.1 + 0.5) };
        let step = round_up((high - low) / steps.max(1) as f64);
        let first = (low / step - 1e-9).ceil() as i64;
        let last = (high / step + 1e-9).floor() as i64;
        // Between numbers that are too close or too far apart to be divided there are no others.
        let divisible = step > 0.0 && step.is_finite();
        let places = (first..=last).take_while(|_| divisible);
        let ticks = places.map(|i| (i as f64 * step, write(i as f64 * step))).collect();
        Self { title: title.to_owned(), range: (low, high), log: false, ticks }
    }

    /// A logarithmic axis with ticks at 1, 2 and 5 times powers of ten, fewer where there are many; `range` is above 0.
    pub(super) fn log(title: &str, range: (f64, f64)) -> Self {
        let (low, high) = apart(range);
        let powers = || (low.log10().floor() as i32..=high.log10().ceil() as i32).map(|k| 10f64.powi(k));
        let within = |v: &f64| (low * (1.0 - 1e-9)..=high * (1.0 + 1e-9)).contains(v);
        let fine: Vec<f64> = powers().flat_map(|p| [p, 2.0 * p, 5.0 * p]).filter(within).collect();
        let chosen = if fine.len() <= 12 { fine } else { powers().filter(within).collect() };
        let ticks = chosen.into_iter().map(|v| (v, number(v))).collect();
        Self { title: title.to_owned(), range: (low, high), log: true, ticks }
    }

    /// A logarithmic axis with ticks at powers of two; `range` is above 0.
    pub(super) fn doubling(title: &str, range: (f64, f64)) -> Self {
        let (low, high) = apart(range);
        let powers = (low.log2().ceil() as i32..=high.log2().floor() as i32).map(|k| 2f64.powi(k));
        Self { title: title.to_owned(), range: (low, high), log: true, ticks: powers.map(|v| (v, number(v))).collect() }
    }

    /// Values with words at them.
    pub(super) fn ticks(&self) -> &[(f64, String)] {
        &self.ticks
    }

    /// An axis with words at some places.
    pub(super) fn named(title: &str, range: (f64, f64), ticks: Vec<(f64, String)>) -> Self {
        Self { title: title.to_owned(), range, log: false, ticks }
    }

    /// Place of a value as a share of the axis; values beyond its ends lie on them.
    pub(super) fn place(&self, value: f64) -> f64 {
        let scale = |v: f64| if self.log { v.max(f64::MIN_POSITIVE).ln() } else { v };
        let (low, high) = (scale(self.range.0), scale(self.range.1));
        ((scale(value) - low) / (high - low)).clamp(0.0, 1.0)
    }
}

/// A range of positive values with some extent.
fn apart((low, high): (f64, f64)) -> (f64, f64) {
    let (low, high) = (low.clamp(f64::MIN_POSITIVE, f64::MAX / 2.0), high.min(f64::MAX));
    if low < high { (low, high) } else { (low / 1.5, low * 1.5) }
}

/// The round number nearest above `step`: 1, 2 or 5 times a power of ten.
fn round_up(step: f64) -> f64 {
    let power = 10f64.powf(step.log10().floor());
    [1.0, 2.0, 5.0].map(|k| k * power).into_iter().find(|s| *s >= step * (1.0 - 1e-9)).unwrap_or(10.0 * power)
}

/// What stands at the points of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mark {
    None,
    Dot,
    Ring,
    Square,
    Triangle,
    Diamond,
    Cross,
}

/// Points of one kind, joined by a line or not.
#[derive(Clone, Debug)]
pub(super) struct Series {
    pub(super) label: String,
    pub(super) colour: Colour,
    /// Lengths of strokes and gaps (`stroke-dasharray`), empty for a whole line; `None` for no line.
    pub(super) dash: Option<&'static str>,
    pub(super) mark: Mark,
    pub(super) points: Vec<(f64, f64)>,
    /// Interval of each point's height; empty if there are none.
    pub(super) whiskers: Vec<(f64, f64)>,
}

/// One plot.
#[derive(Clone, Debug)]
pub(super) struct Plot {
    pub(super) title: String,
    pub(super) x: Axis,
    pub(super) y: Axis,
    /// Later ones are drawn over earlier ones.
    pub(super) series: Vec<Series>,
    /// A whole line across, for comparison.
    pub(super) level: Option<f64>,
    /// A figure and its interval across: a band with a dashed line.
    pub(super) band: Option<[f64; 3]>,
    /// A stretch of the horizontal axis that is shaded.
    pub(super) stretch: Option<(f64, f64)>,
    /// A dashed line upright.
    pub(super) upright: Option<f64>,
}

impl Plot {
    /// What the title of the vertical axis needs beyond one line.
    pub(super) fn more_above(&self, width: f64) -> f64 {
        LINE * svg::lines(&self.y.title, width + 18.0, 11.0).len().saturating_sub(1) as f64
    }

    /// What the title of the horizontal axis needs beyond one line.
    pub(super) fn more_below(&self, width: f64) -> f64 {
        LINE * svg::lines(&self.x.title, width + 18.0, 11.0).len().saturating_sub(1) as f64
    }

    /// A plot of nothing but its axes.
    pub(super) fn new(title: String, x: Axis, y: Axis) -> Self {
        Self { title, x, y, series: Vec::new(), level: None, band: None, stretch: None, upright: None }
    }
}

/// Room left of a plot in a picture so wide.
pub(super) fn beside(width: f64) -> f64 {
    if width <= NARROW { 50.0 } else { BESIDE }
}

/// The plot alone, under its legend, in a picture so wide: elements and the height of the picture.
pub(super) fn alone(plot: &Plot, keys: &[Key<'_>], width: f64, height: f64) -> (String, f64) {
    let left = beside(width);
    let (names, below) = legend(keys, (left, 6.0), width - 20.0);
    let room = width - left - 30.0;
    let top = below + if plot.title.is_empty() { ABOVE - 18.0 } else { ABOVE } + plot.more_above(room);
    let area = Area { left, top, width: room, height };
    (names + &draw(plot, &area), area.bottom() + BELOW + plot.more_below(room))
}

/// A plain text style.
pub(super) fn style(size: f64, anchor: &'static str, bold: bool, fill: Colour) -> TextStyle {
    TextStyle { size, anchor, bold, fill }
}

/// Draws a plot's axes, lines and marks.
pub(super) fn draw(plot: &Plot, area: &Area) -> String {
    let x = |v: f64| area.left + plot.x.place(v) * area.width;
    let y = |v: f64| area.bottom() - plot.y.place(v) * area.height;
    let mut drawn = String::new();
    if let Some((from, to)) = plot.stretch {
        drawn += &shade((x(from), area.top), (x(to) - x(from), area.height));
    }
    if let Some([_, low, high]) = plot.band {
        drawn += &shade((area.left, y(high)), (area.width, (y(low) - y(high)).max(1.0)));
    }
    drawn += &axes(plot, area);
    if let Some(level) = plot.level {
        drawn += &path(&[(area.left, y(level)), (area.right(), y(level))], INK, 1.0, "");
    }
    if let Some([value, ..]) = plot.band {
        drawn += &path(&[(area.left, y(value)), (area.right(), y(value))], MUTED, 1.5, "5 3");
    }
    if let Some(at) = plot.upright {
        drawn += &path(&[(x(at), area.top), (x(at), area.bottom())], INK, 1.2, "2 3");
    }
    for series in &plot.series {
        let points: Vec<(f64, f64)> = series.points.iter().map(|&(a, b)| (x(a), y(b))).collect();
        for (&(at, _), &(low, high)) in points.iter().zip(&series.whiskers) {
            drawn += &path(&[(at, y(low)), (at, y(high))], series.colour, 1.5, "");
        }
        if let Some(dash) = series.dash {
            drawn += &path(&points, series.colour, 2.0, dash);
        }
        drawn.extend(points.iter().map(|&at| mark(series.mark, at, series.colour)));
    }
    drawn
}

fn axes(plot: &Plot, area: &Area) -> String {
    let mut drawn = String::new();
    if !plot.title.is_empty() {
        let shown = svg::fit_bold(&plot.title, area.width, 12.5);
        drawn +=
            &text(area.left, area.top - 26.0 - plot.more_above(area.width), style(12.5, "start", true, INK), &shown);
    }
    for (i, words) in svg::lines(&plot.y.title, area.width + 18.0, 11.0).iter().rev().enumerate() {
        drawn += &text(area.left, area.top - 9.0 - LINE * i as f64, style(11.0, "start", false, MUTED), words);
    }
    for (value, words) in &plot.y.ticks {
        let at = area.bottom() - plot.y.place(*value) * area.height;
        drawn += &path(&[(area.left, at), (area.right(), at)], GRID, 1.0, "");
        drawn += &text(area.left - 7.0, at + 3.7, style(TICK, "end", false, MUTED), words);
    }
    drawn += &path(&[(area.left, area.bottom()), (area.right(), area.bottom())], MUTED, 1.0, "");
    // Words that would touch their neighbour are left out.
    let mut free = f64::NEG_INFINITY;
    for (value, words) in &plot.x.ticks {
        let at = area.left + plot.x.place(*value) * area.width;
        drawn += &path(&[(at, area.bottom()), (at, area.bottom() + 4.0)], MUTED, 1.0, "");
        let half = svg::width(words, TICK) / 2.0;
        if at - half >= free {
            drawn += &text(at, area.bottom() + 16.0, style(TICK, "middle", false, MUTED), words);
            free = at + half + 6.0;
        }
    }
    let middle = (area.left + area.right()) / 2.0;
    for (i, words) in svg::lines(&plot.x.title, area.width + 18.0, 11.0).iter().enumerate() {
        drawn += &text(middle, area.bottom() + 33.0 + LINE * i as f64, style(11.0, "middle", false, MUTED), words);
    }
    drawn
}

/// A filled rectangle.
pub(super) fn rectangle((x, y): (f64, f64), (width, height): (f64, f64), fill: Colour) -> String {
    format!("<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" fill=\"{fill}\"/>\n")
}

/// A rectangle through which lines can be seen.
fn shade((x, y): (f64, f64), (width, height): (f64, f64)) -> String {
    format!(
        "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" fill=\"{GRID}\" fill-opacity=\"0.5\"/>\n"
    )
}

/// A line through points; nothing for fewer than two.
fn path(points: &[(f64, f64)], colour: Colour, width: f64, dash: &str) -> String {
    if points.len() < 2 {
        return String::new();
    }
    let mut d = String::new();
    for (i, (x, y)) in points.iter().enumerate() {
        let _ = write!(d, "{}{x:.1} {y:.1}", if i == 0 { "M" } else { "L" });
    }
    let dash = if dash.is_empty() { String::new() } else { format!(" stroke-dasharray=\"{dash}\"") };
    format!(
        "<path d=\"{d}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"{width}\" stroke-linejoin=\"round\"{dash}/>\n"
    )
}

fn mark(mark: Mark, (x, y): (f64, f64), colour: Colour) -> String {
    let shape = |points: [(f64, f64); 4]| {
        let corners: String = points.iter().map(|(dx, dy)| format!("{:.1},{:.1} ", x + dx, y + dy)).collect();
        format!("<polygon points=\"{}\" fill=\"{colour}\"/>\n", corners.trim_end())
    };
    match mark {
        Mark::None => String::new(),
        Mark::Dot => format!("<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3.8\" fill=\"{colour}\"/>\n"),
        Mark::Ring => format!(
            "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3.4\" fill=\"{WHITE}\" stroke=\"{colour}\" stroke-width=\"1.6\"/>\n"
        ),
        Mark::Square => shape([(-3.4, -3.4), (3.4, -3.4), (3.4, 3.4), (-3.4, 3.4)]),
        Mark::Triangle => shape([(0.0, -4.6), (4.3, 3.4), (-4.3, 3.4), (0.0, -4.6)]),
        Mark::Cross => {
            let d = format!("M{:.1} {:.1}l7 7m0 -7l-7 7", x - 3.5, y - 3.5);
            format!("<path d=\"{d}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"/>\n")
        }
        Mark::Diamond => shape([(0.0, -4.8), (4.8, 0.0), (0.0, 4.8), (-4.8, 0.0)]),
    }
}

/// One entry of a legend: how it is drawn, and its name.
pub(super) enum Key<'a> {
    /// Line and mark of a series.
    Series(&'a Series),
    /// A filled area.
    Fill(Colour, &'a str),
    /// A dashed upright line.
    Upright(&'a str),
    /// A shaded stretch.
    Shade(&'a str),
    /// A shaded band with a dashed line.
    Band(&'a str),
}

/// Draws a legend in as many lines as it needs from `(left, top)` to `right`; returns it with its lower edge.
pub(super) fn legend(keys: &[Key<'_>], (left, top): (f64, f64), right: f64) -> (String, f64) {
    let (mut x, mut y, mut drawn) = (left, top + 10.0, String::new());
    for key in keys {
        let (swatch, label) = match key {
            Key::Series(series) => (if series.dash.is_some() { 30.0 } else { 12.0 }, series.label.as_str()),
            Key::Fill(_, label) | Key::Upright(label) => (12.0, *label),
            Key::Shade(label) | Key::Band(label) => (30.0, *label),
        };
        let label = svg::fit(label, right - left - swatch - 6.0, 12.0);
        let wide = swatch + 6.0 + svg::width(&label, 12.0);
        if x > left && x + wide > right {
            (x, y) = (left, y + 20.0);
        }
        drawn += &match key {
            Key::Series(s) => {
                let line = s.dash.map_or(String::new(), |dash| path(&[(x, y), (x + swatch, y)], s.colour, 2.0, dash));
                line + &mark(s.mark, (x + swatch / 2.0, y), s.colour)
            }
            Key::Fill(colour, _) => rectangle((x, y - 6.0), (12.0, 12.0), *colour),
            Key::Shade(_) => shade((x, y - 7.0), (swatch, 14.0)),
            Key::Band(_) => shade((x, y - 7.0), (swatch, 14.0)) + &path(&[(x, y), (x + swatch, y)], MUTED, 1.5, "5 3"),
            Key::Upright(_) => path(&[(x + 6.0, y - 8.0), (x + 6.0, y + 8.0)], INK, 1.2, "2 3"),
        };
        drawn += &text(x + swatch + 6.0, y + 4.2, style(12.0, "start", false, INK), &label);
        x += wide + 18.0;
    }
    (drawn, y + 12.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_within_the_axis() {
        let of = |axis: Axis| axis.ticks.into_iter().map(|t| t.1).collect::<Vec<_>>();
        assert_eq!(of(Axis::linear("", (0.0, 1.0), 5, number)), ["0", "0.2", "0.4", "0.6", "0.8", "1"]);
        assert_eq!(of(Axis::linear("", (0.97, 1.06), 4, number)), ["1", "1.05"]);
        assert_eq!(of(Axis::linear("", (3.0, 3.0), 2, number)), ["2.5", "3", "3.5"]);
        assert_eq!(of(Axis::log("", (0.9, 60.0))), ["1", "2", "5", "10", "20", "50"]);
        assert_eq!(of(Axis::log("", (1.0, 1e7))).len(), 8);
        assert_eq!(of(Axis::doubling("", (1.0, 64.0))), ["1", "2", "4", "8", "16", "32", "64"]);
        assert_eq!(of(Axis::doubling("", (4.0, 4.0))), ["4"]);
        for (low, high) in
            [(0.0, 5e-324), (-1e308, 1e308), (0.0, f64::INFINITY), (f64::NAN, 1.0), (1e308, f64::INFINITY)]
        {
            assert!(of(Axis::linear("", (low, high), 5, number)).len() < 10, "{low} {high}");
            assert!(of(Axis::log("", (low, high))).len() < 1000, "{low} {high}");
            assert!(of(Axis::doubling("", (low, high))).len() < 3000, "{low} {high}");
        }
    }

    #[test]
    fn values_beyond_the_axis_lie_on_its_ends() {
        let axis = Axis::log("", (1.0, 100.0));
        assert_eq!([0.0, 1.0, 10.0, 1e9].map(|v| axis.place(v)), [0.0, 0.0, 0.5, 1.0]);
    }

    #[test]
    fn a_legend_breaks_lines_rather_than_overlap() -> Result<(), crate::ReportError> {
        svg::register_fonts()?;
        let label = "a policy with a rather long name";
        let keys = [0, 1, 2].map(|_| Key::Fill(INK, label));
        let (one, low) = (legend(&keys, (0.0, 0.0), 2000.0).1, legend(&keys, (0.0, 0.0), 300.0).1);
        assert_eq!((one, low), (22.0, 62.0));
        Ok(())
    }
}
