//! Episode by episode: the student against the teacher on the same arrivals.

use super::closed_loop::{ratio, ratio_text, spoken};
use crate::{
    ReportError,
    line_chart::{ABOVE, Area, Axis, BELOW, BESIDE, Key, Mark, Plot, Series, draw, legend},
    svg::{self, BLUE, Chart, ORANGE, frame},
    words::{interval, number},
};
use sched_distill_toolkit::evaluator::{ClosedLoop, Estimate, PolicyOutcome, Role};
use serde::Serialize;
use serde_json::json;

const WIDTH: f64 = 900.0;
/// From this ratio of the largest to the smallest on, the axis is logarithmic.
const WIDE: f64 = 4.0;

/// The student's episodes beside the teacher's.
#[derive(Debug, Serialize)]
pub(super) struct Section {
    /// Who the student is compared with, e.g. `the teacher`.
    baseline: String,
    /// Episodes that both finished.
    episodes: usize,
    /// Of these, in how many the student's jobs took less.
    better: usize,
    /// Episodes that one of the two did not finish.
    stalled: usize,
    /// Geometric mean of the ratios with its interval, in words; `None` if the student or the teacher stalled.
    mean: Option<String>,
    pub(super) chart: Chart,
}

/// Compares the student with the teacher; `None` if one of them is missing or there is no episode that both finished.
///
/// # Errors
///
/// [`ReportError::Chart`] if the chart cannot be drawn.
pub(super) fn section(result: &ClosedLoop) -> Result<Option<Section>, ReportError> {
    let (Some(teacher), Some(student)) = (result.first(Role::Teacher), result.first(Role::Student)) else {
        return Ok(None);
    };
    let episodes = teacher.episode_jct_ms.len().min(student.episode_jct_ms.len());
    let mut ratios = ratios(student, teacher);
    if ratios.is_empty() {
        return Ok(None);
    }
    ratios.sort_by(|a, b| a.1.total_cmp(&b.1));
    let mean = ratio(result, &student.policy, &teacher.policy).and_then(|r| r.jct);
    Ok(Some(Section {
        baseline: spoken(result, &teacher.policy),
        episodes: ratios.len(),
        better: ratios.iter().filter(|r| r.1 < 1.0).count(),
        stalled: episodes - ratios.len(),
        mean: mean.map(|e| interval(&e, ratio_text)),
        chart: chart(student, teacher, &ratios, mean)?,
    }))
}

/// Number and ratio of the episodes that both finished.
fn ratios(student: &PolicyOutcome, teacher: &PolicyOutcome) -> Vec<(usize, f64)> {
    let both = student.episode_jct_ms.iter().zip(&teacher.episode_jct_ms).enumerate();
    both.filter_map(|(episode, pair)| match pair {
        (Some(a), Some(b)) if *a > 0.0 && *b > 0.0 => Some((episode, a / b)),
        _ => None,
    })
    .collect()
}

fn chart(
    student: &PolicyOutcome,
    teacher: &PolicyOutcome,
    ratios: &[(usize, f64)],
    mean: Option<Estimate>,
) -> Result<Chart, ReportError> {
    svg::register_fonts()?;
    let values = || ratios.iter().map(|r| r.1).chain(mean.iter().flat_map(|e| [e.low, e.high])).chain([0.98, 1.02]);
    let (least, most) = (values().fold(f64::INFINITY, f64::min), values().fold(0.0, f64::max));
    let words = "student's mean completion time ÷ teacher's, below 1 the student is better";
    let y = if least > 0.0 && most / least > WIDE {
        Axis::log(words, (least / 1.1, most * 1.1))
    } else {
        let margin = 0.04 * (most - least);
        Axis::linear(words, (least - margin, most + margin), 5, number)
    };
    let x =
        Axis::linear("episodes in order of the ratio", (0.5, ratios.len() as f64 + 0.5), ratios.len().min(10), number);
    let side = |label: &str, colour, mark, belongs: fn(f64) -> bool| Series {
        label: label.to_owned(),
        colour,
        dash: None,
        mark,
        points: ratios.iter().enumerate().filter(|(_, r)| belongs(r.1)).map(|(i, r)| (i as f64 + 1.0, r.1)).collect(),
        whiskers: Vec::new(),
    };
    let series = vec![
        side("jobs take less under the student", BLUE, Mark::Dot, |r| r < 1.0),
        side("as long, or longer", ORANGE, Mark::Ring, |r| r >= 1.0),
    ];
    let mut keys: Vec<Key<'_>> = series.iter().map(Key::Series).collect();
    if mean.is_some() {
        keys.push(Key::Band("geometric mean and its interval"));
    }
    let (names, below) = legend(&keys, (BESIDE, 6.0), WIDTH - 20.0);
    let area = Area { left: BESIDE, top: below + ABOVE - 18.0, width: WIDTH - BESIDE - 30.0, height: 220.0 };
    let plot = Plot {
        series,
        level: Some(1.0),
        band: mean.map(|e| [e.value, e.low, e.high]),
        ..Plot::new(String::new(), x, y)
    };
    let better = ratios.iter().filter(|r| r.1 < 1.0).count();
    let title = "Student against teacher, episode by episode".to_owned();
    let description = format!(
        "In {better} of {} episodes jobs take less under the student; ratios from {} to {}.",
        ratios.len(),
        ratio_text(ratios[0].1),
        ratio_text(ratios[ratios.len() - 1].1)
    );
    let size = (WIDTH as u32, (area.bottom() + BELOW) as u32);
    let svg = frame("paired-jct", "img", size, &title, &description, &(names + &draw(&plot, &area)));
    let data = json!({
        "student": student.policy,
        "teacher": teacher.policy,
        "ratios": ratios.iter().map(|(i, r)| json!({"episode": i, "ratio": r})).collect::<Vec<_>>(),
        "better": better,
        "geometric_mean": mean,
    });
    Ok(Chart { name: "paired-jct".into(), title, svg, width: size.0, data })
}
