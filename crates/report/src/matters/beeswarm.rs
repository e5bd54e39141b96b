//! The spread of shares: one line of dots per feature, one dot per candidate, coloured by the feature's value.

use crate::{
    ReportError,
    line_chart::rectangle,
    plain::Plain,
    svg::{self, Chart, Colour, GRID, INK, MUTED, NARROW, Pictures, TextStyle, WHITE, fit, text},
    words::{number, scope},
};
use sched_distill_core::level::LevelSpec;
use sched_distill_explain::LevelExplanation;
use serde_json::json;
use std::fmt::Write as _;

const WIDTH: f64 = 900.0;
const LEFT: f64 = 290.0;
const RIGHT: f64 = 24.0;
const TOP: f64 = 34.0;
const ROW: f64 = 38.0;
/// Dots of one column of the swarm, at most this many above each other.
const STACK: f64 = 15.0;

/// From small values to large ones; each is told from its neighbours with common colour blindness, on white and on black.
const SCALE: [Colour; 5] = [
    Colour(0x00, 0x5F, 0xA4),
    Colour(0x4E, 0x93, 0xC8),
    Colour(0x9A, 0x9A, 0x9A),
    Colour(0xE0, 0x8A, 0x3C),
    Colour(0xB3, 0x59, 0x01),
];

/// Draws the swarm; `None` if there are no points.
///
/// # Errors
///
/// [`ReportError::Chart`] if the embedded font is damaged.
pub(super) fn chart(
    level: &LevelExplanation,
    spec: &LevelSpec,
    slug: &str,
    plain: Plain<'_>,
) -> Result<Option<Chart>, ReportError> {
    let points = &level.points;
    if points.features.is_empty() || points.values.iter().all(Vec::is_empty) {
        return Ok(None);
    }
    svg::register_fonts()?;
    let (low, high) = range(points.shares.iter().flatten().copied().collect());
    let span = if high > low { high - low } else { 1.0 };
    let paint = |width: f64| {
        // Names stand beside the dots, or above them where there is little room.
        let beside = width > NARROW;
        let (left, row_height) = if beside { (LEFT, ROW) } else { (RIGHT, ROW + 18.0) };
        let x = |share: f64| left + (share.clamp(low, high) - low) / span * (width - left - RIGHT);
        let bottom = TOP + row_height * points.features.len() as f64;
        let muted = |anchor| TextStyle { size: 11.0, anchor, bold: false, fill: MUTED };
        let mut body = legend(width);
        let _ = writeln!(body, "<path d=\"M{0:.1} {TOP}V{bottom}\" stroke=\"{MUTED}\" fill=\"none\"/>", x(0.0));
        for (row, feature) in points.features.iter().enumerate() {
            let below = TOP + row_height * (row as f64 + 1.0);
            let middle = below - ROW / 2.0;
            let found = spec.features.iter().find(|f| f.name == *feature);
            let words = found.map_or_else(|| feature.clone(), |f| plain.full_label(&spec.name, f));
            let ink = |anchor| TextStyle { size: 12.0, anchor, bold: false, fill: INK };
            body += &match beside {
                true => {
                    let lines = svg::few_lines(&words, 2, left - 24.0, 12.0);
                    let first = middle + 4.0 - 7.0 * (lines.len() - 1) as f64;
                    let line =
                        |(i, line): (usize, &String)| text(left - 14.0, first + 14.0 * i as f64, ink("end"), line);
                    lines.iter().enumerate().map(line).collect()
                }
                false => {
                    let shown = fit(&words, width - 12.0, 12.0);
                    let top = below - row_height + 2.0;
                    let wide = svg::width(&shown, 12.0) + 4.0;
                    rectangle((4.0, top), (wide, 15.0), WHITE) + &text(6.0, top + 12.0, ink("start"), &shown)
                }
            };
            let _ =
                writeln!(body, "<path d=\"M{left} {below:.1}H{:.1}\" stroke=\"{GRID}\" fill=\"none\"/>", width - RIGHT);
            body += &dots(&points.values[row], &points.shares[row], x, middle);
        }
        for (value, anchor) in [(low, "start"), (0.0, "middle"), (high, "end")] {
            if value == 0.0 || (x(value) - x(0.0)).abs() > 60.0 {
                body += &text(x(value), bottom + 16.0, muted(anchor), &number(value));
            }
        }
        let axis = "what the feature adds to a candidate's score, above the mean of its choice";
        let mut y = bottom + 34.0;
        for line in svg::lines(axis, width - left - RIGHT, 11.0) {
            body += &text((left + width - RIGHT) / 2.0, y, muted("middle"), &line);
            y += 13.0;
        }
        (body, y - 3.0)
    };
    let name = format!("points-{slug}");
    let title = format!("What features add to scores at level {}", level.level);
    let description = format!(
        "One dot per candidate, {} candidates drawn at random; blue dots are small values of the feature, orange ones large values. \
         Dots right of the line speak for the candidate. Shares beyond the outermost of each hundred stand at the borders.",
        points.values[0].len()
    );
    let pictures = Pictures::new(&name, WIDTH, &title, &description, paint);
    let scopes: Vec<&str> = points
        .features
        .iter()
        .map(|name| spec.features.iter().find(|f| f.name == *name).map_or("", |f| scope(f.scope)))
        .collect();
    let data =
        json!({"features": points.features, "formed_as": scopes, "values": points.values, "shares": points.shares});
    Ok(Some(pictures.chart(&name, title, data)))
}

/// The range that holds all but one in a hundred shares at either end, and 0.
fn range(mut shares: Vec<f64>) -> (f64, f64) {
    shares.sort_by(f64::total_cmp);
    let at = |q: f64| shares.get((shares.len().saturating_sub(1) as f64 * q).round() as usize).copied().unwrap_or(0.0);
    (at(0.01).min(0.0), at(0.99).max(0.0))
}

fn legend(width: f64) -> String {
    let style = |anchor| TextStyle { size: 11.0, anchor, bold: false, fill: MUTED };
    let mut body = text(width - RIGHT - 132.0, 15.0, style("end"), "feature's value: small");
    for (i, colour) in SCALE.iter().enumerate() {
        let _ = writeln!(
            body,
            "<circle cx=\"{:.1}\" cy=\"11\" r=\"5\" fill=\"{colour}\"/>",
            width - RIGHT - 118.0 + 16.0 * i as f64
        );
    }
    body + &text(width - RIGHT, 15.0, style("end"), "large")
}

/// The dots of one feature: those that would lie upon each other are stacked. One path per colour keeps the page small.
fn dots(values: &[Option<f32>], shares: &[f64], x: impl Fn(f64) -> f64, middle: f64) -> String {
    let mut sorted: Vec<f32> = values.iter().copied().flatten().filter(|v| !v.is_nan()).collect();
    sorted.sort_unstable_by(f32::total_cmp);
    // By rank, so that one huge value does not make all others look alike; equal values look equal.
    let colour = |value: f32| {
        let [below, up_to] = [sorted.partition_point(|&v| v < value), sorted.partition_point(|&v| v <= value)];
        let share = (below + up_to) as f64 / (2 * sorted.len().max(1)) as f64;
        ((share * SCALE.len() as f64) as usize).min(SCALE.len() - 1)
    };
    // A candidate without the quantity has no dot.
    let mut order: Vec<usize> = (0..shares.len()).filter(|&i| values[i].is_some()).collect();
    order.sort_by(|&a, &b| shares[a].total_cmp(&shares[b]).then(a.cmp(&b)));
    let mut paths = vec![String::new(); SCALE.len()];
    let (mut column, mut stacked) = (f64::NEG_INFINITY, 0.0);
    let columns = |at: f64| (at / 3.0).floor();
    let heights = |n: f64| {
        // 0, +1, -1, +2, -2, ...
        let step = (n / 2.0).ceil();
        if (n as u64).is_multiple_of(2) { -step } else { step }
    };
    for i in order {
        let at = x(shares[i]);
        if columns(at) == column {
            stacked += 1.0;
        } else {
            (column, stacked) = (columns(at), 0.0);
        }
        let y = middle + heights(stacked % STACK) * 2.1;
        let Some(value) = values[i] else { continue };
        let _ = write!(paths[colour(value)], "M{at:.1} {y:.1}h0");
    }
    let path = |(path, colour): (&String, &Colour)| match path.is_empty() {
        true => String::new(),
        false => format!(
            "<path d=\"{path}\" stroke=\"{colour}\" stroke-width=\"4\" stroke-linecap=\"round\" fill=\"none\"/>\n"
        ),
    };
    paths.iter().zip(&SCALE).map(path).collect()
}
