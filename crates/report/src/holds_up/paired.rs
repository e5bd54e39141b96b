//! Episode by episode: the student against the teacher on the same arrivals.

use super::closed_loop::spoken;
use crate::{
    ReportError, goal,
    line_chart::{Axis, Key, Mark, Plot, Series, alone},
    svg::{self, BLUE, Chart, ORANGE, Pictures},
    words::{interval, number},
};
use sched_distill_core::figure::{Compared, Figure};
use sched_distill_judge::evaluator::{ClosedLoop, Estimate, PolicyOutcome, Role};
use serde::Serialize;
use serde_json::json;

const WIDTH: f64 = 900.0;
/// From this ratio of the largest to the smallest on, an axis of ratios is logarithmic.
const WIDE: f64 = 4.0;

/// The student's episodes beside the teacher's.
#[derive(Debug, Serialize)]
pub(super) struct Section {
    /// Who the student is compared with, e.g. `the teacher`.
    baseline: String,
    /// Episodes that both finished.
    episodes: usize,
    /// Of these, in how many the student did better.
    better: usize,
    /// The objective.
    objective: String,
    /// What a comparison is, how those of episodes are put together, and what no difference is.
    comparison: &'static str,
    put_together: &'static str,
    neutral: String,
    /// Episodes that one of the two did not finish.
    stalled: usize,
    /// The comparison over all episodes with its interval, in words; `None` if the student or the teacher stalled.
    mean: Option<String>,
    /// `None` if the two are alike in every episode.
    pub(super) chart: Option<Chart>,
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
    let goal = result.objective();
    // Where no job arrived nobody has a figure.
    let episodes = teacher.episode_objective.len().min(student.episode_objective.len());
    let episodes = episodes - result.empty_episodes.len().min(episodes);
    let mut pairs = pairs(goal, student, teacher);
    if pairs.is_empty() {
        return Ok(None);
    }
    pairs.sort_by(|a, b| a.1.total_cmp(&b.1));
    let mean = result.paired(&student.policy, &teacher.policy);
    Ok(Some(Section {
        baseline: spoken(result, &teacher.policy),
        episodes: pairs.len(),
        better: pairs.iter().filter(|pair| goal.favours(pair.1)).count(),
        objective: goal.label.to_string(),
        comparison: goal::comparison(goal),
        put_together: goal::put_together(goal),
        neutral: number(goal.neutral()),
        stalled: episodes.saturating_sub(pairs.len()),
        mean: mean.map(|e| interval(&e, goal::versus(goal))),
        chart: match pairs.iter().all(|pair| pair.1 == goal.neutral()) {
            true => None,
            false => Some(chart(goal, [student, teacher], &pairs, mean)?),
        },
    }))
}

/// Numbers of the episodes that both finished, and how the two compare there.
fn pairs(goal: &Figure, student: &PolicyOutcome, teacher: &PolicyOutcome) -> Vec<(usize, f64)> {
    let both = student.episode_objective.iter().zip(&teacher.episode_objective).enumerate();
    both.filter_map(|(episode, (a, b))| Some((episode, goal.pair((*a)?, (*b)?)?))).collect()
}

fn chart(
    goal: &Figure,
    [student, teacher]: [&PolicyOutcome; 2],
    pairs: &[(usize, f64)],
    mean: Option<Estimate>,
) -> Result<Chart, ReportError> {
    svg::register_fonts()?;
    let (low, high) = goal::around(goal, 0.02);
    let values = || pairs.iter().map(|pair| pair.1).chain(mean.iter().flat_map(|e| [e.low, e.high])).chain([low, high]);
    let (least, most) = (values().fold(f64::INFINITY, f64::min), values().fold(f64::NEG_INFINITY, f64::max));
    let words = format!("{}: student against teacher, {}", goal.label, goal::hint(goal));
    let y = if goal.compared == Compared::Ratio && least > 0.0 && most / least > WIDE {
        Axis::log(&words, (least / 1.1, most * 1.1))
    } else {
        let margin = 0.04 * (most - least);
        Axis::linear(&words, (least - margin, most + margin), 5, number)
    };
    let what = goal::comparison(goal);
    let label = format!("episodes in order of the {what}");
    let x = Axis::linear(&label, (0.5, pairs.len() as f64 + 0.5), pairs.len().min(10), number);
    let side = |label: &str, colour, mark, better: bool| Series {
        label: label.to_owned(),
        colour,
        dash: None,
        mark,
        points: (1..)
            .zip(pairs)
            .filter(|(_, pair)| goal.favours(pair.1) == better)
            .map(|(i, pair)| (f64::from(i), pair.1))
            .collect(),
        whiskers: Vec::new(),
    };
    let series = vec![
        side("the student does better", BLUE, Mark::Dot, true),
        side("as well, or worse", ORANGE, Mark::Ring, false),
    ];
    let band = format!("{} and its interval", goal::put_together(goal));
    let mut keys: Vec<Key<'_>> = series.iter().map(Key::Series).collect();
    if mean.is_some() {
        keys.push(Key::Band(&band));
    }
    let plot = Plot {
        series: series.clone(),
        level: Some(goal.neutral()),
        band: mean.map(|e| [e.value, e.low, e.high]),
        ..Plot::new(String::new(), x, y)
    };
    let better = pairs.iter().filter(|pair| goal.favours(pair.1)).count();
    let title = "Student against teacher, episode by episode".to_owned();
    let write = goal::versus(goal);
    let description = format!(
        "In {better} of {} episodes the student does better; {what}s from {} to {}.",
        pairs.len(),
        write(pairs[0].1),
        write(pairs[pairs.len() - 1].1)
    );
    let pictures =
        Pictures::new("paired-episodes", WIDTH, &title, &description, |width| alone(&plot, &keys, width, 220.0));
    let data = json!({
        "student": student.policy,
        "teacher": teacher.policy,
        "figure": goal.name,
        "episodes": pairs.iter().map(|(i, pair)| json!({"episode": i, what: pair})).collect::<Vec<_>>(),
        "better": better,
        "all": mean,
    });
    Ok(pictures.chart("paired-episodes", title, data))
}
