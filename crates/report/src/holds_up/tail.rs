//! Who waits longest? The tail of completion times beside the teacher's, the worst episode, and who loses by the size of the jobs.

use super::closed_loop::spoken;
use crate::{
    ReportError, goal,
    line_chart::{Axis, Key, Mark, Plot, Series, alone},
    svg::{self, BLUE, Chart, Pictures},
    words::{interval, number, time},
};
use sched_distill_core::figure::{Compared, Figure};
use sched_distill_judge::evaluator::{BySize, ClosedLoop, PairedTail, PolicyOutcome, Role, WorstEpisode};
use serde::Serialize;
use serde_json::json;

const WIDTH: f64 = 900.0;

/// The student's tail beside the teacher's.
#[derive(Debug, Serialize)]
pub(super) struct Section {
    /// Who the student is compared with, e.g. `the teacher`.
    baseline: String,
    /// Whose completion time: that of the teacher's, of the student's, and how they compare.
    rows: Vec<[String; 4]>,
    /// How the student does in the episode in which it does worst.
    worst_episode: String,
    /// Completion times by the size of jobs; `None` where sizes are not known.
    pub(super) chart: Option<Chart>,
}

/// Compares the tails of student and teacher; `None` where they are not known.
///
/// # Errors
///
/// [`ReportError::Chart`] if the chart cannot be drawn.
pub(super) fn section(result: &ClosedLoop) -> Result<Option<Section>, ReportError> {
    let (Some(teacher), Some(student)) = (result.first(Role::Teacher), result.first(Role::Student)) else {
        return Ok(None);
    };
    let Some(pair) = result.compared(&student.policy, &teacher.policy) else { return Ok(None) };
    let Some(tail) = &pair.tail else { return Ok(None) };
    let goal = result.objective();
    let baseline = spoken(result, &teacher.policy);
    Ok(Some(Section {
        rows: rows([teacher, student], tail),
        worst_episode: worst(goal, &tail.worst_episode, &baseline),
        baseline,
        chart: pair.by_size.as_ref().map(chart).transpose()?,
    }))
}

/// `In its worst episode, number 17, its mean JCT is 1.400 × that of the teacher.`
fn worst(goal: &Figure, worst: &WorstEpisode, baseline: &str) -> String {
    let (label, found) = (&goal.label, goal::versus(goal)(worst.compared));
    let said = match goal.compared {
        Compared::Ratio => format!("its {label} is {found}\u{a0}× that of {baseline}"),
        Compared::Difference => format!("its {label} differs by {found} from that of {baseline}"),
    };
    format!("In its worst episode, number {}, {said}.", worst.episode)
}

fn rows([teacher, student]: [&PolicyOutcome; 2], tail: &PairedTail) -> Vec<[String; 4]> {
    let at =
        |p: &PolicyOutcome, percent: usize| p.completion_quantiles_ms.get(percent).map_or("–".into(), |&ms| time(ms));
    let row = |label: &str, percent: Option<usize>, e| {
        let of = |p| percent.map_or("–".to_owned(), |percent| at(p, percent));
        [label.to_owned(), of(teacher), of(student), interval(e, |ratio| format!("{ratio:.3}"))]
    };
    vec![
        row("95 % of all jobs take no longer (p95)", Some(95), &tail.p95),
        row("99 % of all jobs take no longer (p99)", Some(99), &tail.p99),
        row("the slowest job of an episode, geometric mean", None, &tail.slowest),
    ]
}

/// Completion times by the size of jobs, against the teacher's.
fn chart(by_size: &BySize) -> Result<Chart, ReportError> {
    svg::register_fonts()?;
    let size = |value: f64| if by_size.unit == "ms" { time(value) } else { number(value) };
    let classes = &by_size.classes;
    let ends = || classes.iter().flat_map(|class| [class.time.low, class.time.high]).chain([0.95, 1.05]);
    let (least, most) = (ends().fold(f64::INFINITY, f64::min), ends().fold(f64::NEG_INFINITY, f64::max));
    let margin = 0.04 * (most - least);
    let words = "mean completion time: student ÷ teacher, below 1 is better";
    let y = Axis::linear(words, (least - margin, most + margin), 5, number);
    let ticks = (1..).zip(classes).map(|(i, class)| (f64::from(i), format!("≤ {}", size(class.sizes[1])))).collect();
    let label = format!("{} of a job: as many jobs in each class, the smallest on the left", by_size.label);
    let x = Axis::named(&label, (0.5, classes.len() as f64 + 0.5), ticks);
    let series = Series {
        label: "jobs of a size, with the interval".to_owned(),
        colour: BLUE,
        dash: Some(""),
        mark: Mark::Dot,
        points: (1..).zip(classes).map(|(i, class)| (f64::from(i), class.time.value)).collect(),
        whiskers: classes.iter().map(|class| (class.time.low, class.time.high)).collect(),
    };
    let plot = Plot { series: vec![series.clone()], level: Some(1.0), ..Plot::new(String::new(), x, y) };
    let title = "Completion times by the size of the jobs".to_owned();
    let longer = classes.iter().filter(|class| class.time.low > 1.0).count();
    let shorter = classes.iter().filter(|class| class.time.high < 1.0).count();
    let description = format!(
        "Of {} classes of size, jobs of {longer} surely take longer than under the teacher, of {shorter} surely less long.",
        classes.len()
    );
    let keys = [Key::Series(&series)];
    let pictures = Pictures::new("by-size", WIDTH, &title, &description, |width| alone(&plot, &keys, width, 220.0));
    Ok(pictures.chart("by-size", title, json!({"by_size": by_size})))
}
