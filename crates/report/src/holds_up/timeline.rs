//! Schedules over time: how busy the cluster is, and which jobs have it.

use super::gantt::{OTHERS, axis_unit, largest_jobs, nice, window, within};
use crate::{
    ReportError,
    line_chart::{ABOVE, Area, Axis, BELOW, Key, Mark, Plot, Series, alone, beside, draw, legend},
    svg::{self, BLUE, Chart, Colour, GREEN, ORANGE, Pictures},
    words::{self, number, percent},
};
use sched_distill_judge::evaluator::{Role, Schedule, ScheduleRun};
use serde_json::json;
use std::{collections::BTreeMap, fmt::Write as _};

const WIDTH: f64 = 1060.0;
/// Bins of a stretch of time.
const BINS: f64 = 120.0;
/// Bins of an episode at most; their length is round.
const MOST_BINS: f64 = 200.0;

/// Share of busy lanes over the whole episode, a line per policy; `None` if nothing ran.
///
/// # Errors
///
/// [`ReportError::Chart`] if the chart cannot be drawn.
pub(super) fn utilisation(schedules: &[Schedule]) -> Result<Option<Chart>, ReportError> {
    let Some(stretch) = window(schedules) else { return Ok(None) };
    svg::register_fonts()?;
    let last = |s: &Schedule| s.runs.iter().map(|r| r.end_ms).fold(0.0, f64::max);
    let end = schedules.iter().map(last).fold(0.0, f64::max);
    let bin = nice(end / MOST_BINS);
    let busy: Vec<Vec<f64>> = schedules
        .iter()
        .map(|s| {
            let lanes = f64::from(s.lanes.max(1));
            binned(s.runs.iter(), (0.0, last(s)), bin).iter().map(|busy| busy / lanes).collect()
        })
        .collect();
    let (scale, unit) = axis_unit(nice(end / 9.0));
    let series: Vec<Series> = schedules
        .iter()
        .zip(&busy)
        .map(|(s, busy)| {
            let (colour, dash) = line(s.role);
            let label =
                format!("{}, {} on average", words::with_role(s.role, &s.policy), percent(mean_busy(s, last(s))));
            let points = steps(busy, (0.0, last(s)), bin).into_iter().map(|(t, y)| (t / scale, y)).collect();
            Series { label, colour, dash: Some(dash), mark: Mark::None, points, whiskers: Vec::new() }
        })
        .collect();
    let most = busy.iter().flatten().copied().fold(1.0, f64::max);
    let mut keys: Vec<Key<'_>> = series.iter().map(Key::Series).collect();
    keys.push(Key::Shade("the stretch that the other two charts show"));
    let bins = format!("share of {}s at work, means over {}", schedules[0].lane, words::time(bin));
    let plot = Plot {
        series: series.clone(),
        stretch: Some((stretch.0 / scale, stretch.1 / scale)),
        ..Plot::new(
            String::new(),
            Axis::linear(&format!("time in the episode, {unit}"), (0.0, end / scale), 10, number),
            Axis::linear(&bins, (0.0, most), 5, whole_percent),
        )
    };
    let title = format!("{} at work in episode {}", lanes_of(schedules), schedules[0].episode);
    let each = schedules.iter().map(|s| {
        let (share, end) = (percent(mean_busy(s, last(s))), words::time(last(s)));
        format!("Under {} ({}), {share} of the {}s' time up to {end} is work. ", s.policy, s.role, s.lane)
    });
    let description: String = each.collect();
    let pictures = Pictures::new("utilisation", WIDTH, &title, &description, |width| alone(&plot, &keys, width, 220.0));
    let policies: Vec<_> = schedules
        .iter()
        .zip(&busy)
        .map(|(s, busy)| json!({"policy": s.policy, "role": s.role, "episode": s.episode, "end_ms": last(s), "busy": busy}))
        .collect();
    let data = json!({"bin_ms": bin, "policies": policies});
    Ok(Some(pictures.chart("utilisation", title, data)))
}

/// Lanes by job over the stretch that the schedules show, one stack per policy; `None` if nothing ran.
///
/// # Errors
///
/// [`ReportError::Chart`] if the chart cannot be drawn.
pub(super) fn by_job(schedules: &[Schedule]) -> Result<Option<Chart>, ReportError> {
    let Some(stretch) = window(schedules) else { return Ok(None) };
    svg::register_fonts()?;
    let bin = (stretch.1 - stretch.0) / BINS;
    let jobs = largest_jobs(schedules, stretch);
    let stacks: Vec<Vec<Layer>> = schedules.iter().map(|s| layers(s, &jobs, stretch, bin)).collect();
    let labels: Vec<(Colour, String)> = jobs.iter().map(|(job, c)| (c.0, format!("job {job}"))).collect();
    let mut keys: Vec<Key<'_>> = labels.iter().map(|(colour, label)| Key::Fill(*colour, label)).collect();
    if stacks.iter().flatten().any(|l| l.job.is_none()) {
        keys.push(Key::Fill(OTHERS.0, "all other jobs"));
    }
    let (scale, unit) = axis_unit(nice((stretch.1 - stretch.0) / 9.0));
    let tallest = |stack: &Vec<Layer>| {
        let sums = (0..stack.first().map_or(0, |l| l.busy.len())).map(|i| stack.iter().map(|l| l.busy[i]).sum());
        sums.fold(0.0, f64::max)
    };
    let lanes = schedules.iter().map(|s| f64::from(s.lanes)).fold(1.0, f64::max);
    let most = stacks.iter().map(tallest).fold(lanes, f64::max);
    let paint = |width: f64| {
        let left = beside(width);
        let (mut body, mut top) = legend(&keys, (left, 6.0), width - 20.0);
        for (schedule, stack) in schedules.iter().zip(&stacks) {
            let area = Area { left, top: top + ABOVE, width: width - left - 30.0, height: 180.0 };
            let plot = Plot::new(
                words::with_role(schedule.role, &schedule.policy),
                Axis::linear(
                    &format!("time in the episode, {unit}"),
                    (stretch.0 / scale, stretch.1 / scale),
                    10,
                    number,
                ),
                Axis::linear(&format!("{}s at work", schedule.lane), (0.0, most), 5, number),
            );
            body += &draw(&plot, &area);
            body += &stacked(stack, &area, most);
            top = area.bottom() + BELOW;
        }
        (body, top)
    };
    let title = format!("{} by job in episode {}", lanes_of(schedules), schedules[0].episode);
    let each = schedules.iter().zip(&stacks).map(|(s, stack)| {
        let of: Vec<String> = stack.iter().map(Layer::words).collect();
        format!("Under {} ({}), mean {}s: {}. ", s.policy, s.role, s.lane, of.join(", "))
    });
    let description: String = each.collect();
    let pictures = Pictures::new("by-job", WIDTH, &title, &description, paint);
    let data = json!({
        "start_ms": stretch.0,
        "end_ms": stretch.1,
        "bin_ms": bin,
        "schedules": schedules.iter().zip(&stacks).map(|(s, stack)| json!({
            "policy": s.policy, "role": s.role, "episode": s.episode,
            "jobs": stack.iter().map(|l| json!({"job": l.job, "busy": l.busy})).collect::<Vec<_>>(),
        })).collect::<Vec<_>>(),
    });
    Ok(Some(pictures.chart("by-job", title, data)))
}

/// What lanes are called, as the first word of a title.
fn lanes_of(schedules: &[Schedule]) -> String {
    let mut word = schedules[0].lane.clone() + "s";
    if let Some(first) = word.get_mut(..1) {
        first.make_ascii_uppercase();
    }
    word
}

/// What one job, or all other jobs, has bin by bin.
struct Layer {
    /// `None` for all others.
    job: Option<u32>,
    colour: Colour,
    busy: Vec<f64>,
}

impl Layer {
    fn words(&self) -> String {
        let mean = self.busy.iter().sum::<f64>() / self.busy.len().max(1) as f64;
        let name = self.job.map_or("other jobs".to_owned(), |job| format!("job {job}"));
        format!("{name} {}", number(mean))
    }
}

/// The layers of one schedule from below: the largest jobs by number, then all others if there are any.
fn layers(schedule: &Schedule, jobs: &BTreeMap<u32, (Colour, Colour)>, stretch: (f64, f64), bin: f64) -> Vec<Layer> {
    let of = |belongs: &dyn Fn(u32) -> bool| {
        binned(within(schedule, stretch.0, stretch.1).filter(|r| belongs(r.item)), stretch, bin)
    };
    let mut layers: Vec<Layer> = jobs
        .iter()
        .map(|(&job, colour)| Layer { job: Some(job), colour: colour.0, busy: of(&|item| item == job) })
        .collect();
    let others = of(&|item| !jobs.contains_key(&item));
    if others.iter().any(|&n| n > 0.0) {
        layers.push(Layer { job: None, colour: OTHERS.0, busy: others });
    }
    layers
}

/// Mean number of lanes at work in each bin of a stretch of time; the last bin may be shorter.
fn binned<'a>(runs: impl Iterator<Item = &'a ScheduleRun>, (start, end): (f64, f64), bin: f64) -> Vec<f64> {
    let n = ((end - start) / bin - 1e-9).ceil().max(0.0) as usize;
    let edge = |i: usize| (start + i as f64 * bin).min(end);
    let mut work = vec![0.0; n];
    for run in runs {
        let place = |ms: f64| ((ms - start) / bin).floor().max(0.0) as usize;
        for (i, sum) in work.iter_mut().enumerate().take(place(run.end_ms) + 1).skip(place(run.start_ms)) {
            *sum += (run.end_ms.min(edge(i + 1)) - run.start_ms.max(edge(i))).max(0.0);
        }
    }
    work.iter().enumerate().map(|(i, sum)| sum / (edge(i + 1) - edge(i)).max(f64::MIN_POSITIVE)).collect()
}

/// Two points per bin, so that a line through them has steps.
fn steps(values: &[f64], (start, end): (f64, f64), bin: f64) -> Vec<(f64, f64)> {
    let edge = |i: usize| (start + i as f64 * bin).min(end);
    values.iter().enumerate().flat_map(|(i, &y)| [(edge(i), y), (edge(i + 1), y)]).collect()
}

fn mean_busy(schedule: &Schedule, end: f64) -> f64 {
    let work: f64 = schedule.runs.iter().map(|r| r.end_ms - r.start_ms).sum();
    work / (end * f64::from(schedule.lanes)).max(f64::MIN_POSITIVE)
}

/// The layers of a stack as areas with steps, from below.
fn stacked(stack: &[Layer], area: &Area, most: f64) -> String {
    let n = stack.first().map_or(0, |l| l.busy.len());
    let x = |i: usize| area.left + area.width * i as f64 / n.max(1) as f64;
    let y = |v: f64| area.bottom() - area.height * v / most;
    let (mut drawn, mut below) = (String::new(), vec![0.0; n]);
    for layer in stack {
        let above: Vec<f64> = below.iter().zip(&layer.busy).map(|(b, e)| b + e).collect();
        let forth = above.iter().enumerate().map(|(i, v)| (x(i), y(*v), x(i + 1)));
        let back = below.iter().enumerate().rev().map(|(i, v)| (x(i + 1), y(*v), x(i)));
        let mut d = String::new();
        for edge in [outline(forth), outline(back)] {
            let _ = write!(d, "{}{edge}", if d.is_empty() { "M" } else { "L" });
        }
        let title = svg::escape(&layer.words());
        let _ = writeln!(drawn, "<g><title>{title}</title><path d=\"{d}Z\" fill=\"{}\"/></g>", layer.colour);
        below = above;
    }
    drawn
}

/// Level stretches, given as (from, height, to), with a step between two of different height.
fn outline(stretches: impl Iterator<Item = (f64, f64, f64)>) -> String {
    let mut stretches = stretches.map(|(from, y, to)| (from, format!("{y:.1}"), to)).peekable();
    let mut drawn = stretches.peek().map_or(String::new(), |(from, y, _)| format!("{from:.1} {y}"));
    while let Some((_, y, to)) = stretches.next() {
        match stretches.peek() {
            Some((_, next, _)) if *next == y => {}
            Some((_, next, _)) => _ = write!(drawn, "H{to:.1}V{next}"),
            None => _ = write!(drawn, "H{to:.1}"),
        }
    }
    drawn
}

fn line(role: Role) -> (Colour, &'static str) {
    match role {
        Role::Student => (BLUE, ""),
        Role::Teacher => (ORANGE, "6 3"),
        _ => (GREEN, "2 3"),
    }
}

fn whole_percent(share: f64) -> String {
    format!("{}\u{a0}%", number((share * 100.0).round()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bins_hold_the_mean_number_of_lanes() {
        let run = |start_ms, end_ms| ScheduleRun { lane: 0, item: 0, part: 0, start_ms, end_ms };
        let runs = [run(0.0, 15.0), run(10.0, 20.0), run(25.0, 99.0)];
        assert_eq!(binned(runs.iter(), (0.0, 28.0), 10.0), [1.0, 1.5, 3.0 / 8.0]);
        assert_eq!(binned(runs.iter(), (10.0, 20.0), 5.0), [2.0, 1.0]);
        assert!(binned(runs.iter(), (0.0, 0.0), 10.0).is_empty());
        assert_eq!(steps(&[1.0, 2.0], (0.0, 15.0), 10.0), [(0.0, 1.0), (10.0, 1.0), (10.0, 2.0), (15.0, 2.0)]);
    }
}
