//! The same dots for a narrow screen: panels below each other, and the name of a row above its line.

use super::{Cell, Panel, Row, dots, extent};
use crate::{
    line_chart::{Axis, style},
    svg::{self, Colour, GRID, INK, MUTED, NARROW, WHITE, text},
};
use std::fmt::Write as _;

const LEFT: f64 = 6.0;
/// Right end of the lines; figures stand behind it.
const RIGHT: f64 = NARROW - 76.0;
/// Height of a row: its name, and its line.
const ROW: f64 = 36.0;
/// Height of a line of words.
const LINE: f64 = 15.0;

/// Elements and the height of the picture.
pub(super) fn draw(panels: &[Panel], rows: &[Row]) -> (String, f64) {
    let (mut drawn, mut top) = (String::new(), 0.0);
    for (p, panel) in panels.iter().enumerate() {
        top = one(&mut drawn, panel, p, rows, top);
    }
    (drawn, top)
}

/// Draws a panel below `top`; returns where the next one begins.
fn one(drawn: &mut String, panel: &Panel, p: usize, rows: &[Row], top: f64) -> f64 {
    let mut y = top + 4.0;
    // Bold letters are a seventh wider than those that are measured.
    let bold = |words: &str| svg::lines(words, (NARROW - 2.0 * LEFT) / 1.15, 12.5);
    for line in bold(&panel.title) {
        y += LINE;
        *drawn += &text(LEFT, y, style(12.5, "start", true, INK), &line);
    }
    let first = y + 6.0;
    let (low, high) = extent(panel, &dots(p, rows));
    let axis = Axis::linear("", (low, high), 4, panel.tick);
    let x = |value: f64| LEFT + axis.place(value) * (RIGHT - LEFT);
    let mut over = String::new();
    y = first;
    for row in rows {
        match row {
            Row::Heading(words) => {
                for line in bold(words) {
                    y += LINE;
                    over += &ground(y, &line);
                    over += &text(LEFT, y + 2.0, style(12.0, "start", true, INK), &line);
                }
                y += 8.0;
            }
            Row::Item { label, colour, cells } => {
                let Some(cell) = cells.get(p) else { continue };
                let shown = svg::fit(label, NARROW - 2.0 * LEFT, 11.5);
                over += &ground(y + 11.0, &shown);
                over += &text(LEFT, y + 13.0, style(11.5, "start", false, INK), &shown);
                over += &match cell {
                    Cell::Dot(e) => {
                        dot([e.low, e.value, e.high].map(x), y + 24.0, *colour)
                            + &text(RIGHT + 8.0, y + 28.0, style(11.5, "start", false, INK), &(panel.write)(e.value))
                    }
                    Cell::Words(words) => {
                        ground(y + 25.0, words) + &text(LEFT, y + 27.0, style(11.0, "start", false, MUTED), words)
                    }
                };
                y += ROW;
            }
        }
    }
    let mut free = f64::NEG_INFINITY;
    for (value, words) in axis.ticks() {
        let at = x(*value);
        *drawn += &upright(at, (first, y), GRID);
        let half = svg::width(words, 10.5) / 2.0;
        let middle = at.max(half + 1.0);
        if middle - half >= free {
            *drawn += &text(middle, y + 14.0, style(10.5, "middle", false, MUTED), words);
            free = middle + half + 6.0;
        }
    }
    if let Some(value) = panel.reference {
        *drawn += &upright(x(value), (first, y), INK);
    }
    *drawn += &over;
    y += 16.0;
    for line in svg::lines(&panel.axis, NARROW - 2.0 * LEFT, 11.0) {
        y += LINE;
        *drawn += &text(LEFT, y, style(11.0, "start", false, MUTED), &line);
    }
    y + 14.0
}

fn upright(x: f64, (top, bottom): (f64, f64), colour: Colour) -> String {
    format!("<path d=\"M{x:.1} {top:.1}V{bottom:.1}\" stroke=\"{colour}\" fill=\"none\"/>\n")
}

/// The page's colour behind words, so that no line crosses them.
fn ground(baseline: f64, words: &str) -> String {
    let wide = svg::width(words, 12.0) * 1.1 + 2.0;
    format!(
        "<rect x=\"{:.1}\" y=\"{:.1}\" width=\"{wide:.1}\" height=\"14\" fill=\"{WHITE}\"/>\n",
        LEFT - 1.0,
        baseline - 9.0
    )
}

fn dot([low, value, high]: [f64; 3], y: f64, colour: Colour) -> String {
    let mut drawn = String::new();
    let _ = writeln!(
        drawn,
        "<path d=\"M{low:.1} {y:.1}H{high:.1}M{low:.1} {:.1}v8M{high:.1} {:.1}v8\" stroke=\"{colour}\" stroke-width=\"2\" \
         fill=\"none\"/><circle cx=\"{value:.1}\" cy=\"{y:.1}\" r=\"4\" fill=\"{colour}\"/>",
        y - 4.0,
        y - 4.0
    );
    drawn
}
