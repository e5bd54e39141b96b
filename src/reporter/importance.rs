//! What matters: bars of feature importance.

use super::ReportError;
use super::dot_chart::{body, style};
use super::svg::{self, BLUE, Chart, GRID, INK, frame};
use super::words::percent;
use crate::explainer::Importance;
use plotters::prelude::*;
use plotters::style::text_anchor::HPos;

const WIDTH: i32 = 460;
/// Height of a feature: its name, and the bar below it.
const ROW: i32 = 36;
/// Room right of the bars for the figures.
const VALUES: i32 = 60;
/// Features drawn; the data file has all.
const SHOWN: usize = 12;

/// Bars of the most important features; `importance` is sorted from the largest.
///
/// # Errors
///
/// [`ReportError::Chart`] if drawing fails.
pub(super) fn chart(level: &str, slug: &str, importance: &[Importance]) -> Result<Chart, ReportError> {
    svg::register_fonts()?;
    let bars: Vec<&Importance> = importance.iter().filter(|i| i.share > 0.0).take(SHOWN).collect();
    let size = (WIDTH as u32, (ROW * bars.len().max(1) as i32 + 8) as u32);
    let name = format!("importance-{slug}");
    let mut drawing = String::new();
    {
        let root = SVGBackend::with_string(&mut drawing, size).into_drawing_area();
        paint(&root, &bars)
            .and_then(|()| root.present().map_err(Into::into))
            .map_err(|e| ReportError::Chart { name: name.clone(), reason: e.to_string() })?;
    }
    let title = format!("Importance of features at level {level}");
    let description: String = bars.iter().map(|b| format!("{}: {}. ", b.feature, percent(b.share))).collect();
    let data = super::to_data(&name, importance)?;
    let svg = frame(&name, "img", size, &title, &description, body(&drawing));
    Ok(Chart { name, title, svg, width: size.0, data })
}

fn paint<'a>(
    root: &DrawingArea<SVGBackend<'a>, plotters::coord::Shift>,
    bars: &[&Importance],
) -> Result<(), Box<dyn std::error::Error + 'a>> {
    if bars.is_empty() {
        let words = "The tree has a single leaf: no feature matters.";
        root.draw_text(words, &style(12.0, false, INK, HPos::Left), (4, 16))?;
        return Ok(());
    }
    let longest = bars.iter().map(|b| b.share).fold(0.0, f64::max);
    let area = root.clone().shrink((4, 0), ((WIDTH - VALUES - 4) as u32, (ROW * bars.len() as i32) as u32));
    let chart = ChartBuilder::on(&area).build_cartesian_2d(0.0..longest, bars.len() as f64..0.0)?;
    for (i, Importance { feature, share }) in bars.iter().copied().enumerate() {
        let (top, bottom) = (i as f64 + 0.53, i as f64 + 0.92);
        for (length, fill) in [(longest, RGBColor::from(GRID).mix(0.45)), (*share, RGBColor::from(BLUE).to_rgba())] {
            chart.plotting_area().draw(&Rectangle::new([(0.0, top), (length, bottom)], fill.filled()))?;
        }
        let y = ROW * i as i32;
        let shown = svg::fit(feature, f64::from(WIDTH - 8), 12.0);
        root.draw_text(&shown, &style(12.0, false, INK, HPos::Left), (4, y + 11))?;
        root.draw_text(&percent(*share), &style(11.0, false, INK, HPos::Left), (WIDTH - VALUES + 8, y + 26))?;
    }
    Ok(())
}
