//! Dots with interval whiskers: one row per scorer or policy, one panel per figure, all panels on the same rows.

mod narrow;

use super::{
    ReportError,
    svg::{self, Colour, FONT, GRID, INK, MUTED, NARROW, Pictures},
};
use plotters::{
    prelude::*,
    style::text_anchor::{HPos, Pos, VPos},
};
use sched_distill_judge::evaluator::Estimate;

const WIDTH: i32 = 900;
const LABELS: i32 = 300;
const ROW: i32 = 24;
const TOP: i32 = 30;
const AXIS: i32 = 34;
/// Room right of a panel for the value in figures.
const VALUES: i32 = 76;

/// One line of the chart.
pub(super) enum Row {
    /// A heading over the rows below it.
    Heading(String),
    /// A named row with one cell per panel.
    Item {
        /// Name at the left.
        label: String,
        /// Colour of the dots.
        colour: Colour,
        /// One cell per panel.
        cells: Vec<Cell>,
    },
}

/// What a row shows in one panel.
pub(super) enum Cell {
    /// A figure with its interval.
    Dot(Estimate),
    /// Words in place of a figure, e.g. that a policy stalled.
    Words(String),
}

/// One figure: a column of dots with its own axis.
pub(super) struct Panel {
    /// Heading, e.g. `top-1 agreement`.
    pub(super) title: String,
    /// Words below the axis, with the unit.
    pub(super) axis: String,
    /// Least extent of the axis; it grows to hold every interval.
    pub(super) range: (f64, f64),
    /// A vertical line for comparison.
    pub(super) reference: Option<f64>,
    /// Writes a value beside its dot.
    pub(super) write: fn(f64) -> String,
    /// Writes a value on the axis.
    pub(super) tick: fn(f64) -> String,
}

/// Draws the rows under the panels: side by side, and one below the other where there is little room.
///
/// # Errors
///
/// [`ReportError::Chart`] if drawing fails.
pub(super) fn draw(
    name: &str,
    title: &str,
    description: &str,
    panels: &[Panel],
    rows: &[Row],
) -> Result<Pictures, ReportError> {
    svg::register_fonts()?;
    let height = TOP + ROW * rows.len() as i32 + AXIS + 16;
    let mut drawing = String::new();
    {
        let root = SVGBackend::with_string(&mut drawing, (WIDTH as u32, height as u32)).into_drawing_area();
        paint(&root, panels, rows)
            .and_then(|()| root.present().map_err(|e| e.to_string()))
            .map_err(|reason| ReportError::Chart { name: name.to_owned(), reason })?;
    }
    let wide = body(&drawing);
    let either = |width: f64| match width > NARROW {
        true => (wide.to_owned(), f64::from(height)),
        false => narrow::draw(panels, rows),
    };
    Ok(Pictures::new(name, f64::from(WIDTH), title, description, either))
}

/// The drawn elements of a plotters SVG, without its own frame.
pub(super) fn body(drawing: &str) -> &str {
    let start = drawing.find("<svg").and_then(|at| drawing[at..].find('>').map(|end| at + end + 1)).unwrap_or(0);
    let end = drawing.rfind("</svg>").unwrap_or(drawing.len());
    drawing[start..end].trim_start()
}

/// A plotters text style: em size in px, colour, anchor.
pub(super) fn style(size: f64, bold: bool, colour: Colour, h: HPos) -> plotters::style::TextStyle<'static> {
    let weight = if bold { FontStyle::Bold } else { FontStyle::Normal };
    // plotters divides sizes by 1.24 when it writes SVG.
    FontDesc::new(FontFamily::Name(FONT), size * 1.24, weight)
        .color(&RGBColor::from(colour))
        .pos(Pos::new(h, VPos::Center))
}

type Area<'a> = DrawingArea<SVGBackend<'a>, plotters::coord::Shift>;

fn paint(root: &Area<'_>, panels: &[Panel], rows: &[Row]) -> Result<(), String> {
    let say =
        |text: &str, at: (i32, i32), style| root.draw_text(&svg::clean(text), &style, at).map_err(|e| e.to_string());
    let middle = |i: usize| TOP + ROW * i as i32 + ROW / 2;
    // On a ground of the page's colour, so that grid lines do not cross the words.
    let ground = |(left, right): (i32, i32), y: i32| {
        root.draw(&Rectangle::new([(left, y - 9), (right, y + 9)], WHITE.filled())).map_err(|e| e.to_string())
    };
    let pitch = (WIDTH - LABELS) / panels.len().max(1) as i32;
    for (p, panel) in panels.iter().enumerate() {
        let (left, right) = (LABELS + pitch * p as i32, LABELS + pitch * (p as i32 + 1) - VALUES);
        say(&panel.title, (left, 12), style(12.5, true, INK, HPos::Left))?;
        let bottom = TOP + ROW * rows.len() as i32;
        say(&panel.axis, ((left + right) / 2, bottom + AXIS + 2), style(11.0, false, MUTED, HPos::Center))?;
        plot(root, panel, p, rows, (left, right)).map_err(|e| e.to_string())?;
        for (i, row) in rows.iter().enumerate() {
            let Row::Item { cells, .. } = row else { continue };
            match cells.get(p) {
                Some(Cell::Dot(e)) => {
                    say(&(panel.write)(e.value), (right + 8, middle(i)), style(11.0, false, INK, HPos::Left))?;
                }
                Some(Cell::Words(words)) => {
                    ground((left + 2, left + 8 + svg::width(words, 11.0).ceil() as i32), middle(i))?;
                    say(words, (left + 6, middle(i)), style(11.0, false, MUTED, HPos::Left))?;
                }
                None => {}
            }
        }
    }
    for (i, row) in rows.iter().enumerate() {
        match row {
            Row::Heading(words) => {
                // Bold letters are a seventh wider than those that are measured.
                let shown = svg::fit(words, f64::from(WIDTH - 8) / 1.15, 12.0);
                let end = 8 + (svg::width(&shown, 12.0) * 1.15).ceil() as i32;
                ground((2, end), middle(i) + 3)?;
                say(&shown, (4, middle(i) + 3), style(12.0, true, INK, HPos::Left))?;
            }
            Row::Item { label, .. } => {
                let shown = svg::fit(label, f64::from(LABELS - 28), 12.0);
                say(&shown, (16, middle(i)), style(12.0, false, INK, HPos::Left))?;
            }
        }
    }
    Ok(())
}

/// The dots of a panel: their heights in rows, figures and colours.
fn dots(p: usize, rows: &[Row]) -> Vec<(f64, &Estimate, Colour)> {
    fn dot(p: usize, (i, row): (usize, &Row)) -> Option<(f64, &Estimate, Colour)> {
        let Row::Item { cells, colour, .. } = row else { return None };
        match cells.get(p) {
            Some(Cell::Dot(e)) => Some((i as f64 + 0.5, e, *colour)),
            _ => None,
        }
    }
    rows.iter().enumerate().filter_map(|row| dot(p, row)).collect()
}

/// From where to where the axis of a panel goes.
fn extent(panel: &Panel, dots: &[(f64, &Estimate, Colour)]) -> (f64, f64) {
    let (mut low, mut high) = panel.range;
    for (_, e, _) in dots {
        low = low.min(e.low).min(e.value);
        high = high.max(e.high).max(e.value);
    }
    if low < high {
        // Dots at the edge stay whole.
        high += 0.02 * (high - low);
        low -= if low == 0.0 { 0.0 } else { 0.02 * (high - low) };
    } else {
        (low, high) = (low - 0.5, high + 0.5);
    }
    (low, high)
}

fn plot(
    root: &Area<'_>,
    panel: &Panel,
    p: usize,
    rows: &[Row],
    (left, right): (i32, i32),
) -> Result<(), Box<dyn std::error::Error>> {
    let dots = dots(p, rows);
    let (low, high) = extent(panel, &dots);
    let area = root.clone().shrink((left, TOP), ((right - left) as u32, (ROW * rows.len() as i32 + AXIS) as u32));
    let mut chart =
        ChartBuilder::on(&area).x_label_area_size(AXIS).build_cartesian_2d(low..high, rows.len() as f64..0.0)?;
    chart
        .configure_mesh()
        .disable_y_mesh()
        .disable_y_axis()
        .x_labels(((right - left) / 45).clamp(2, 6) as usize)
        .x_label_formatter(&|x| (panel.tick)(*x))
        .label_style(style(11.0, false, MUTED, HPos::Center))
        .bold_line_style(RGBColor::from(GRID))
        .light_line_style(TRANSPARENT)
        .axis_style(RGBColor::from(MUTED))
        .draw()?;
    if let Some(x) = panel.reference {
        let line = RGBColor::from(INK).stroke_width(1);
        chart.draw_series(std::iter::once(PathElement::new([(x, 0.0), (x, rows.len() as f64)], line)))?;
    }
    for (y, e, colour) in dots {
        let colour = RGBColor::from(colour);
        let bar = ErrorBar::new_horizontal(y, e.low, e.value, e.high, colour.stroke_width(2), 8);
        chart.draw_series(std::iter::once(bar))?;
        chart.draw_series(std::iter::once(Circle::new((e.value, y), 4, colour.filled())))?;
    }
    Ok(())
}
