//! What single features do to the score: accumulated local effects beside partial dependence, one small chart per feature.

use crate::{
    ReportError,
    dot_chart::{body, style},
    plain::Plain,
    svg::{self, BLUE, Chart, GRID, INK, MUTED, NARROW, ORANGE, Pictures, fit},
    words::{number, quantity},
};
use plotters::{prelude::*, style::text_anchor::HPos};
use sched_distill_core::level::LevelSpec;
use sched_distill_explain::{Effect, LevelExplanation};

const COLUMNS: i32 = 3;
const CELL: (i32, i32) = (300, 196);
const TOP: i32 = 26;
/// Room above and below the curves, as a share of their range.
const MARGIN: f64 = 0.06;

/// Draws the curves; `None` if there are none.
///
/// # Errors
///
/// [`ReportError::Chart`] if drawing fails.
pub(super) fn chart(
    level: &LevelExplanation,
    spec: &LevelSpec,
    slug: &str,
    plain: Plain<'_>,
) -> Result<Option<Chart>, ReportError> {
    // A feature that only matters together with others has no effect of its own to draw.
    let flat = |e: &Effect| e.accumulated.iter().chain(&e.partial).all(|v| v.abs() < 1e-9);
    let effects: Vec<&Effect> = level.effects.iter().filter(|e| e.grid.len() > 1 && !flat(e)).collect();
    if effects.is_empty() {
        return Ok(None);
    }
    svg::register_fonts()?;
    let name = format!("effects-{slug}");
    let drawn = |columns: i32| {
        let rows = (effects.len() as i32 + columns - 1) / columns;
        let size = ((CELL.0 * columns) as u32, (TOP + CELL.1 * rows + 6) as u32);
        let mut drawing = String::new();
        {
            let root = SVGBackend::with_string(&mut drawing, size).into_drawing_area();
            paint(&root, &effects, spec, plain, columns)
                .and_then(|()| root.present().map_err(Into::into))
                .map_err(|e| ReportError::Chart { name: name.clone(), reason: e.to_string() })?;
        }
        Ok::<_, ReportError>((body(&drawing).to_owned(), f64::from(size.1)))
    };
    let (wide, narrow) = (drawn(COLUMNS)?, drawn(1)?);
    let title = format!("What single features do to scores at level {}", level.level);
    let ends = |e: &Effect| {
        let (first, last) =
            (e.accumulated.first().copied().unwrap_or(0.0), e.accumulated.last().copied().unwrap_or(0.0));
        format!("{}: from {} to {}. ", e.feature, number(first), number(last))
    };
    let description: String = effects.iter().copied().map(ends).collect();
    let data = crate::to_data(&name, &effects)?;
    let either = |width: f64| if width > NARROW { wide.clone() } else { narrow.clone() };
    let pictures = Pictures::new(&name, f64::from(CELL.0 * COLUMNS), &title, &description, either);
    Ok(Some(pictures.chart(&name, title, data)))
}

/// A number on an axis, short.
fn tick(value: f64) -> String {
    let shown = match value.abs() {
        0.0 => "0".to_owned(),
        v if !(1e-3..1000.0).contains(&v) => format!("{value:.0e}"),
        v if v >= 10.0 => format!("{value:.0}"),
        v if v >= 0.1 => format!("{value:.2}"),
        v if v >= 0.01 => format!("{value:.3}"),
        _ => format!("{value:.4}"),
    };
    shown.replace('-', "\u{2212}")
}

/// The unit that all of some quantities have.
fn unit_of(quantities: &[String]) -> Option<&str> {
    let mut units = quantities.iter().map(|q| q.split_once('\u{a0}').map(|(_, unit)| unit));
    let first = units.next()??;
    units.all(|unit| unit == Some(first)).then_some(first)
}

/// The range of a chart: that of the accumulated effect, and of partial dependence as far as it is not much wider.
fn scale(effect: &Effect) -> (f64, f64) {
    let span = |values: &[f64]| values.iter().fold((0.0f64, 0.0f64), |(low, high), &v| (low.min(v), high.max(v)));
    let ((low, high), (least, most)) = (span(&effect.accumulated), span(&effect.partial));
    let wide = high - low;
    let (low, high) = (least.max(low - wide).min(low), most.min(high + wide).max(high));
    // Where the accumulated effect is flat, so is the range, but not the other one.
    if high > low { (low, high) } else { (least, most) }
}

type Failure<'a> = Box<dyn std::error::Error + 'a>;

fn paint<'a>(
    root: &DrawingArea<SVGBackend<'a>, plotters::coord::Shift>,
    effects: &[&Effect],
    spec: &LevelSpec,
    plain: Plain<'_>,
    columns: i32,
) -> Result<(), Failure<'a>> {
    let small = |colour, at| style(11.0, false, colour, at);
    let second = if columns > 1 { 220 } else { 194 };
    for (x, colour, words) in [(10, BLUE, "accumulated local effect"), (second, ORANGE, "partial dependence")] {
        root.draw(&PathElement::new([(x, 12), (x + 22, 12)], RGBColor::from(colour).stroke_width(3)))?;
        root.draw_text(words, &small(INK, HPos::Left), (x + 28, 12))?;
    }
    for (i, effect) in effects.iter().enumerate() {
        let feature = spec.features.iter().find(|f| f.name == effect.feature);
        let (low, high) = scale(effect);
        let margin = MARGIN * (high - low);
        let (low, high) = (low - margin, high + margin);
        let (left, top) = (CELL.0 * (i as i32 % columns), TOP + CELL.1 * (i as i32 / columns));
        let words = |value: f32| feature.map_or_else(|| number(value.into()), |f| quantity(value.into(), f));
        let ends = [0, effect.grid.len() / 2, effect.grid.len() - 1].map(|place| words(effect.grid[place]));
        let unit = unit_of(&ends).map(str::to_owned);
        let bare = ends.map(|end| unit.as_ref().and_then(|u| end.strip_suffix(u)).unwrap_or(&end).trim().to_owned());
        let name = feature.map_or_else(|| effect.feature.clone(), |f| plain.full_label(&spec.name, f));
        let name = unit.map_or(name.clone(), |unit| format!("{name}, {unit}"));
        root.draw_text(
            &fit(&name, 0.9 * (f64::from(CELL.0) - 30.0), 12.0),
            &style(12.0, true, INK, HPos::Left),
            (left + 10, top + 14),
        )?;
        let area = root.clone().shrink((left + 52, top + 28), ((CELL.0 - 72) as u32, (CELL.1 - 58) as u32));
        // By place in the grid: its steps are quantiles, so equal widths hold equal numbers of candidates.
        let last = (effect.grid.len() - 1) as f64;
        let mut chart = ChartBuilder::on(&area).build_cartesian_2d(0.0..last, low..high)?;
        let line = |values: &[f64]| values.iter().enumerate().map(|(i, &v)| (i as f64, v)).collect::<Vec<_>>();
        let zero = RGBColor::from(GRID).stroke_width(1);
        chart.draw_series(std::iter::once(PathElement::new([(0.0, 0.0), (last, 0.0)], zero)))?;
        for (values, colour, width) in [(&effect.partial, ORANGE, 2), (&effect.accumulated, BLUE, 3)] {
            let values: Vec<f64> = values.iter().map(|v| v.clamp(low, high)).collect();
            chart.draw_series(LineSeries::new(line(&values), RGBColor::from(colour).stroke_width(width)))?;
        }
        let bottom = top + CELL.1 - 22;
        let [first, middle, end] = bare.map(|text| fit(&text, 72.0, 11.0));
        root.draw_text(&first, &small(MUTED, HPos::Left), (left + 52, bottom))?;
        if effect.grid.len() > 4 {
            root.draw_text(&middle, &small(MUTED, HPos::Center), (left + 52 + (CELL.0 - 72) / 2, bottom))?;
        }
        root.draw_text(&end, &small(MUTED, HPos::Right), (left + CELL.0 - 20, bottom))?;
        for value in [low + margin, 0.0, high - margin] {
            let y = top + 28 + ((high - value) / (high - low) * f64::from(CELL.1 - 58)) as i32;
            let near_zero = value != 0.0 && (value / (high - low)).abs() < 0.12;
            if !near_zero {
                root.draw_text(&tick(value), &small(MUTED, HPos::Right), (left + 46, y))?;
            }
        }
    }
    Ok(())
}
