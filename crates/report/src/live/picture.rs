//! Pictures of what was measured in an engine.

use super::{Measured, mean, times};
use crate::{
    ReportError,
    dot_chart::{self, Cell, Panel, Row},
    line_chart::{Axis, Key, Mark, Plot, Series, alone},
    svg::{BLUE, Chart, GREY, ORANGE, Pictures},
    words::{interval, number},
};
use sched_distill_judge::evaluator::Estimate;
use sched_distill_pipeline::{Live, LiveCell, LiveKind};
use serde_json::json;

fn ratio(value: f64) -> String {
    format!("{value:.2}")
}

/// Schedulers against the first one, in the engine and in the simulator.
pub(super) fn schedulers(
    slug: &str,
    title: &str,
    live: &Live,
    cell: &LiveCell,
    measured: &[Measured<'_>],
) -> Result<Chart, ReportError> {
    let cell_of = |e: Option<Estimate>, words: &str| e.map_or_else(|| Cell::Words(words.to_owned()), Cell::Dot);
    let row = |m: &Measured<'_>| {
        let is_own = m.policy.kind == LiveKind::Own;
        Row::Item {
            label: if is_own { "this student".to_owned() } else { m.policy.name.clone() },
            colour: if is_own { BLUE } else { GREY },
            cells: vec![cell_of(m.live, "no figure"), cell_of(m.simulated, "not simulated")],
        }
    };
    let panel = |title: String| Panel {
        title,
        axis: format!("mean completion time ÷ {}", cell.policies[0].name),
        range: (0.95, 1.05),
        reference: Some(1.0),
        write: ratio,
        tick: |value| number((1e9 * value).round() / 1e9),
    };
    let panels = [panel(live.engine.clone()), panel("In the simulator".to_owned())];
    let said: String =
        measured.iter().filter_map(|m| Some(format!("{}: {}. ", m.policy.name, interval(&m.live?, ratio)))).collect();
    let rows: Vec<Row> = measured.iter().map(row).collect();
    let pictures = dot_chart::draw(slug, title, &said, &panels, &rows)?;
    let data: Vec<_> = measured
        .iter()
        .map(|m| json!({"scheduler": m.policy.name, "live_to_first": m.live, "simulated_to_first": m.simulated}))
        .collect();
    Ok(pictures.chart(slug, title.to_owned(), data.into()))
}

/// Kinds of query: how long they take under the student, as measured and in the simulator. `None` where one of both is not there.
pub(super) fn predicted(slug: &str, live: &Live, cell: &LiveCell) -> Option<Chart> {
    let of_own = times(cell.own()?);
    let pairs: Vec<(&str, f64, f64)> = of_own
        .iter()
        .filter_map(|(name, times)| Some((*name, mean(&times.live)? / 1e3, mean(&times.simulated)? / 1e3)))
        .collect();
    let all = || pairs.iter().flat_map(|&(_, live, simulated)| [live, simulated]).filter(|s| *s > 0.0);
    let ends = (all().reduce(f64::min)? / 1.2, all().reduce(f64::max)? * 1.2);
    let alike = Series {
        label: "as measured".to_owned(),
        colour: ORANGE,
        dash: Some(""),
        mark: Mark::None,
        points: vec![(ends.0, ends.0), (ends.1, ends.1)],
        whiskers: Vec::new(),
    };
    let queries = Series {
        label: "a kind of query".to_owned(),
        colour: BLUE,
        dash: None,
        mark: Mark::Ring,
        points: pairs.iter().map(|&(_, live, simulated)| (live, simulated)).collect(),
        whiskers: Vec::new(),
    };
    let x = Axis::log(&format!("completion time in {}, s", live.engine), ends);
    let y = Axis::log("in the simulator, s", ends);
    let plot = Plot { series: vec![queries.clone(), alike.clone()], ..Plot::new(String::new(), x, y) };
    let title = "Predicted and measured".to_owned();
    let said = format!("{} kinds of query.", pairs.len());
    let keys = [Key::Series(&queries), Key::Series(&alike)];
    let pictures = Pictures::new(slug, 560.0, &title, &said, |width| alone(&plot, &keys, width, 300.0));
    let data: Vec<_> =
        pairs.iter().map(|(name, live, s)| json!({"query": name, "live_s": live, "simulated_s": s})).collect();
    Some(pictures.chart(slug, title, data.into()))
}
