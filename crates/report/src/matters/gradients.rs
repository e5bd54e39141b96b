//! What the neural teacher itself goes by, by its own gradients.

use crate::{
    ReportError,
    dot_chart::{Cell, Panel, Row, draw},
    svg::{BLUE, Chart, Colour, ORANGE},
    words::{count, number},
};
use sched_distill_explain::TeacherGradients;
use sched_distill_judge::evaluator::Estimate;
use serde::Serialize;

/// Inputs drawn per question; the data has all.
const SHOWN: usize = 10;

/// The teacher's part of the section.
#[derive(Debug, Serialize)]
pub(crate) struct Section {
    /// Decisions looked at, in words.
    decisions: String,
    /// What they are compared with, in words.
    baseline: String,
    /// How far sums are off at most, in words.
    gap: String,
    pub(crate) chart: Chart,
}

/// Draws the attributions.
///
/// # Errors
///
/// [`ReportError::Chart`] if drawing fails.
pub(crate) fn section(found: &TeacherGradients) -> Result<Section, ReportError> {
    const COLOURS: [Colour; 2] = [BLUE, ORANGE];
    let (mut rows, mut description) = (Vec::new(), String::new());
    for (i, q) in found.questions.iter().enumerate() {
        rows.push(Row::Heading(format!("{} ({} decisions)", q.question, count(q.decisions as u64))));
        for input in q.inputs.iter().take(SHOWN) {
            let label = format!("{}, {}", input.feature.replace('_', " "), input.of);
            description.push_str(&format!("{} {label}: {}. ", q.question, nats(input.size)));
            let dot = |value: f64| Cell::Dot(Estimate { value, low: value, high: value });
            rows.push(Row::Item { label, colour: COLOURS[i % 2], cells: vec![dot(input.size), dot(input.mean)] });
        }
    }
    let panel = |title: &str, axis: &str, reference| Panel {
        title: title.into(),
        axis: axis.into(),
        range: (0.0, 0.1),
        reference,
        write: nats,
        tick: |v| number((1e6 * v).round() / 1e6),
    };
    let panels = [
        panel("How much it moves decisions", "mean absolute share, nats", None),
        panel("For or against what is done", "mean share, nats", Some(0.0)),
    ];
    let title = "What the network itself goes by".to_owned();
    let name = "teacher-gradients".to_owned();
    let pictures = draw(&name, &title, &description, &panels, &rows)?;
    let data = serde_json::to_value(found).unwrap_or_default();
    Ok(Section {
        decisions: count(found.decisions as u64),
        baseline: found.baseline.clone(),
        gap: format!("{:.2}\u{a0}%", 100.0 * found.gap),
        chart: pictures.chart(&name, title, data),
    })
}

fn nats(value: f64) -> String {
    format!("{value:.2}").replace('-', "\u{2212}")
}
