//! The small curve of a row: points over the values of a feature.

use super::{
    row::{Line, Row, extent},
    unit::{Unit, three},
};
use crate::{
    line_chart::{Area, Axis, Mark, Plot, Series, draw},
    svg::{BLUE, Colour, GREEN, GREY, ORANGE, PURPLE, frame},
    words::number,
};

/// As wide as a phone shows it, and no wider elsewhere.
const SIZE: (u32, u32) = (330, 132);
/// Colours and dashes of the curves of one row, in order; the page's list has the same.
const LINES: [(Colour, &str); 5] = [(BLUE, ""), (ORANGE, "7 3"), (GREEN, "2 3"), (PURPLE, "9 3 2 3"), (GREY, "1 2")];

/// Draws the curves of a row. `alt` says in words what they do.
pub(super) fn draw_row(row: &Row, unit: &Unit<'_>, flag: bool, name: &str, title: &str, alt: &str) -> String {
    let series = |(i, line): (usize, &Line)| {
        let (colour, dash) = LINES[i % LINES.len()];
        let (points, mark): (Vec<(f64, f64)>, Mark) = match flag {
            true => ([0.0, 1.0].map(|x| (x, line.at(x))).to_vec(), Mark::Dot),
            false => (line.until(row.shown.1).map(|(x, y)| (x / unit.scale, y)).collect(), Mark::None),
        };
        Series { label: String::new(), colour, dash: Some(dash), mark, points, whiskers: Vec::new() }
    };
    let series: Vec<Series> = row.lines.iter().enumerate().map(series).collect();
    let (low, high) = extent(series.iter().flat_map(|s| s.points.iter().map(|p| p.1)));
    let (low, high) = (low.min(0.0), high.max(0.0));
    let margin = 0.05 * (high - low).max(f64::MIN_POSITIVE);
    let x = match flag {
        true => Axis::named("", (-0.4, 1.4), vec![(0.0, "no".to_owned()), (1.0, "yes".to_owned())]),
        false => Axis::linear(&unit.name, (row.shown.0 / unit.scale, row.shown.1 / unit.scale), 5, number),
    };
    let plot = Plot {
        series,
        level: Some(0.0),
        ..Plot::new(String::new(), x, Axis::linear("points", (low - margin, high + margin), 3, signed))
    };
    let area = Area { left: 52.0, top: 20.0, width: 262.0, height: 74.0 };
    frame(name, "img", SIZE, title, alt, &draw(&plot, &area))
}

/// A number of points at the axis, short enough for the room beside it.
fn signed(value: f64) -> String {
    let sign = if value > 0.0 { "+" } else { "" };
    let (scale, ending) = match value.abs() {
        v if v < 1e4 => (1.0, ""),
        v if v < 1e6 => (1e3, "k"),
        v if v < 1e9 => (1e6, "M"),
        _ => return format!("{sign}{value:.0e}").replace('-', "\u{2212}"),
    };
    format!("{sign}{}{ending}", three(value / scale))
}

#[cfg(test)]
mod tests {
    use super::signed;

    #[test]
    fn points_at_the_axis_are_short() {
        let shown = [0.0, -2500.0, 200_000.0, -3.5e6, 2e11].map(signed);
        assert_eq!(shown, ["0", "\u{2212}2,500", "+200k", "\u{2212}3.5M", "+2e11"]);
    }
}
