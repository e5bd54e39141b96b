//! What the schedules look like: the same busy stretch of one episode under both policies.

use crate::{
    line_chart::style,
    svg::{Chart, Colour, GRID, INK, MUTED, NARROW, Pictures, escape, fit, text, width},
    words,
};
use sched_distill_judge::evaluator::{Schedule, ScheduleRun};
use serde_json::json;
use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
};

const WIDTH: f64 = 1060.0;
const LEFT: f64 = 56.0;
const RIGHT: f64 = 16.0;
/// Lanes drawn per policy; more would not be told apart.
const LANES: u32 = 40;
/// The same in a narrow picture.
const FEW: u32 = 12;
/// Runs of one lane that the stretch should hold on average.
const RUNS_PER_LANE: f64 = 16.0;
/// Share of the busiest stretch's work at which a stretch is busy enough to be chosen.
const NEARLY: f64 = 0.8;

/// Colours of jobs, told apart with common colour blindness (after Okabe and Ito), with the colour of text on them.
const JOBS: [(Colour, Colour); 8] = [
    (Colour(0x00, 0x72, 0xB2), Colour(0xFE, 0xFE, 0xFE)),
    (Colour(0xE6, 0x9F, 0x01), Colour(0x10, 0x10, 0x10)),
    (Colour(0x00, 0x9E, 0x73), Colour(0x10, 0x10, 0x10)),
    (Colour(0xCC, 0x79, 0xA7), Colour(0x10, 0x10, 0x10)),
    (Colour(0x56, 0xB4, 0xE9), Colour(0x10, 0x10, 0x10)),
    (Colour(0xD5, 0x5E, 0x00), Colour(0x10, 0x10, 0x10)),
    (Colour(0xF0, 0xE4, 0x42), Colour(0x10, 0x10, 0x10)),
    (Colour(0x8C, 0x8C, 0x8C), Colour(0x10, 0x10, 0x10)),
];

/// All other jobs.
pub(super) const OTHERS: (Colour, Colour) = (GRID, INK);

/// The jobs that take most of the lanes' time in a stretch, at most [`JOBS`] of them, in order of their numbers with the
/// colour that each has in all charts.
pub(super) fn largest_jobs(schedules: &[Schedule], (start, end): (f64, f64)) -> BTreeMap<u32, (Colour, Colour)> {
    let mut work: BTreeMap<u32, f64> = BTreeMap::new();
    for run in schedules.iter().flat_map(|s| within(s, start, end)) {
        *work.entry(run.item).or_default() += run.end_ms.min(end) - run.start_ms.max(start);
    }
    let mut jobs: Vec<(u32, f64)> = work.into_iter().collect();
    jobs.sort_by(|a, b| b.1.total_cmp(&a.1));
    jobs.truncate(JOBS.len());
    jobs.sort_by_key(|job| job.0);
    jobs.into_iter().map(|job| job.0).zip(JOBS).collect()
}

/// Draws the schedules one above the other over the same stretch of time; `None` if nothing ran.
pub(super) fn chart(schedules: &[Schedule]) -> Option<Chart> {
    let (start, end) = window(schedules)?;
    let (scale, unit) = axis_unit(nice((end - start) / 9.0));
    let [from, to] = [start, end].map(|ms| words::count((ms / scale).round() as u64));
    picture(&Picture {
        name: "schedules",
        title: format!("Schedules of episode {}, {from} to {to} {unit}", schedules[0].episode),
        schedules,
        headings: schedules.iter().map(|s| words::with_role(s.role, &s.policy)).collect(),
        coloured: "each of the largest jobs",
        stretch: (start, end),
        colours: largest_jobs(schedules, (start, end)),
    })
}

/// Schedules that are drawn one above the other.
pub(crate) struct Picture<'a> {
    /// Name of the file.
    pub(crate) name: &'static str,
    pub(crate) title: String,
    pub(crate) schedules: &'a [Schedule],
    /// What stands above each.
    pub(crate) headings: Vec<String>,
    /// Which jobs have a colour, in words.
    pub(crate) coloured: &'static str,
    /// From when to when, ms.
    pub(crate) stretch: (f64, f64),
    /// Jobs that are not grey, with the colour of words on them.
    pub(crate) colours: BTreeMap<u32, (Colour, Colour)>,
}

/// Draws them; `None` if there are none.
pub(crate) fn picture(picture: &Picture<'_>) -> Option<Chart> {
    let Picture { name, title, schedules, headings, coloured, stretch: (start, end), colours } = picture;
    let (start, end) = (*start, *end);
    let most = schedules.iter().map(|s| s.lanes).max()?;
    let (_, unit) = axis_unit(nice((end - start) / 9.0));
    let paint = |width: f64| {
        let lanes = most.clamp(1, if width > NARROW { LANES } else { FEW });
        let lane = (420.0 / f64::from(lanes)).clamp(9.0, 20.0);
        let (mut body, mut top) = (String::new(), 0.0);
        for (schedule, heading) in schedules.iter().zip(headings) {
            top = draw(&mut body, (width, top), (schedule, heading), (start, end), (lanes, lane), colours);
        }
        body += &text(
            (LEFT + width - RIGHT) / 2.0,
            top + 4.0,
            style(11.0, "middle", false, MUTED),
            &format!("time in the episode, {unit}"),
        );
        let middle = 28.0 + lane * f64::from(lanes) / 2.0;
        let _ = writeln!(
            body,
            "<text transform=\"translate(14 {middle:.1}) rotate(-90)\" font-size=\"11\" text-anchor=\"middle\" \
             fill=\"{MUTED}\">{}</text>",
            escape(&schedules[0].lane)
        );
        (body, top + 14.0)
    };
    let each: String = schedules
        .iter()
        .zip(headings)
        .map(|(s, heading)| {
            let jobs: BTreeSet<u32> = within(s, start, end).map(|r| r.item).collect();
            format!("{heading}: {} jobs ran. ", jobs.len())
        })
        .collect();
    let description = format!(
        "One row per {}, a colour for {coloured}, the job's number inside long bars. {each}",
        schedules[0].lane
    );
    let data = json!({
        "start_ms": start,
        "end_ms": end,
        "schedules": schedules.iter().map(|s| json!({
            "policy": s.policy, "role": s.role, "episode": s.episode, "lanes": s.lanes,
            "runs": within(s, start, end).collect::<Vec<_>>(),
        })).collect::<Vec<_>>(),
    });
    Some(Pictures::new(name, WIDTH, title, &description, paint).chart(name, title.clone(), data))
}

/// Draws a schedule's first lanes, each so high, below `top`; returns where the next one begins.
fn draw(
    body: &mut String,
    (width, top): (f64, f64),
    (schedule, heading): (&Schedule, &str),
    (start, end): (f64, f64),
    (lanes, lane): (u32, f64),
    colours: &BTreeMap<u32, (Colour, Colour)>,
) -> f64 {
    let x = |ms: f64| LEFT + (ms - start) / (end - start) * (width - LEFT - RIGHT);
    let cut = if schedule.lanes > lanes {
        format!(" ({}s 0 to {} of {})", schedule.lane, lanes - 1, schedule.lanes)
    } else {
        String::new()
    };
    let title = heading.to_owned() + &cut;
    *body += &text(
        LEFT,
        top + 18.0,
        style(13.0, "start", true, INK),
        &fit(&title, if width > NARROW { width - 200.0 } else { (width - LEFT) / 1.2 }, 13.0),
    );
    let first = top + 28.0;
    let bottom = first + lane * f64::from(lanes);
    let _ = writeln!(
        body,
        "<rect x=\"{LEFT}\" y=\"{first:.1}\" width=\"{:.1}\" height=\"{:.1}\" fill=\"none\" stroke=\"{GRID}\"/>",
        width - LEFT - RIGHT,
        bottom - first
    );
    for number in label_lanes(schedule.lanes.min(lanes)) {
        let y = first + lane * (f64::from(number) + 0.5) + 3.5;
        *body += &text(LEFT - 6.0, y, style(10.0, "end", false, MUTED), &number.to_string());
    }
    let of = |job: u32| colours.get(&job).copied().unwrap_or(OTHERS);
    let shown = || within(schedule, start, end).filter(|r| r.lane < lanes);
    let ends = |run: &ScheduleRun| (x(run.start_ms.max(start)), x(run.end_ms.min(end)));
    let row = |run: &ScheduleRun| first + lane * f64::from(run.lane);
    if width > NARROW {
        for run in shown() {
            *body += &bar(schedule, run, ends(run), (row(run), lane), of(run.item));
        }
    } else {
        // Too short for words: a line for each colour.
        let mut paths: BTreeMap<Option<u32>, String> = BTreeMap::new();
        for run in shown() {
            let (left, right) = ends(run);
            let path = paths.entry(colours.contains_key(&run.item).then_some(run.item)).or_default();
            let _ = write!(path, "M{left:.1} {:.1}h{:.1}", row(run) + lane / 2.0, (right - left - 0.4).max(0.4));
        }
        for (job, path) in paths {
            let colour = job.map_or(OTHERS, of).0;
            let _ = writeln!(
                body,
                "<path d=\"{path}\" stroke=\"{colour}\" stroke-width=\"{:.1}\" fill=\"none\"/>",
                lane - 1.6
            );
        }
    }
    *body += &axis((start, end), x, bottom, if width > NARROW { 9.0 } else { 4.0 }, scale_of(start, end));
    bottom + 38.0
}

/// The unit of the axis of a stretch, in milliseconds.
fn scale_of(start: f64, end: f64) -> f64 {
    axis_unit(nice((end - start) / 9.0)).0
}

/// The runs that reach into a stretch.
pub(super) fn within(schedule: &Schedule, start: f64, end: f64) -> impl Iterator<Item = &ScheduleRun> {
    schedule.runs.iter().filter(move |r| r.end_ms > start && r.start_ms < end)
}

/// Every lane's number, or every fifth where there are many.
fn label_lanes(lanes: u32) -> impl Iterator<Item = u32> {
    (0..lanes).step_by(if lanes > 20 { 5 } else { 1 })
}

fn bar(
    schedule: &Schedule,
    run: &ScheduleRun,
    (left, right): (f64, f64),
    (y, lane): (f64, f64),
    (fill, ink): (Colour, Colour),
) -> String {
    let [start, end] = [run.start_ms, run.end_ms].map(|ms| ms / 1e3);
    let numbered = || format!("{} {}", schedule.part, run.part);
    let part = schedule.parts.get(run.part as usize).cloned().unwrap_or_else(numbered);
    let title = format!("job {}, {part}, {} {}: {start:.1} to {end:.1} s", run.item, schedule.lane, run.lane);
    // A hair between neighbours shows where a run ends.
    let wide = (right - left - 0.6).max(0.4);
    let mut drawn = format!(
        "<g><title>{}</title><rect x=\"{left:.1}\" y=\"{:.1}\" width=\"{wide:.1}\" height=\"{:.1}\" fill=\"{fill}\"/>",
        escape(&title),
        y + 0.8,
        lane - 1.6
    );
    let number = run.item.to_string();
    let size = (lane * 0.7).min(11.0);
    if wide > width(&number, size) + 5.0 && lane >= 10.0 {
        drawn += text(left + wide / 2.0, y + lane / 2.0 + size * 0.36, style(size, "middle", false, ink), &number)
            .trim_end();
    }
    drawn + "</g>\n"
}

fn axis((start, end): (f64, f64), x: impl Fn(f64) -> f64, y: f64, ticks: f64, scale: f64) -> String {
    let step = nice((end - start) / ticks);
    let mut drawn = String::new();
    let mut tick = (start / step).ceil();
    while tick * step <= end + 1e-9 * step {
        let at = x(tick * step);
        let _ = writeln!(
            drawn,
            "<path d=\"M{at:.1} {y:.1}v4\" stroke=\"{MUTED}\" stroke-width=\"1\"/>{}",
            text(
                at,
                y + 16.0,
                style(10.0, "middle", false, MUTED),
                &words::count((tick * step / scale).round() as u64)
            )
            .trim_end()
        );
        tick += 1.0;
    }
    drawn
}

/// The unit in which steps of `step` ms are whole numbers, as (milliseconds per unit, name).
pub(super) fn axis_unit(step: f64) -> (f64, &'static str) {
    match step {
        s if s < 1e3 => (1.0, "ms"),
        s if s < 60e3 => (1e3, "s"),
        s if s < 3600e3 => (60e3, "min"),
        _ => (3600e3, "h"),
    }
}

/// The round length nearest above `ms`: 1, 2 or 5 times a power of ten below a minute, else whole shares of minutes and hours.
pub(super) fn nice(ms: f64) -> f64 {
    let minutes = [60e3, 120e3, 300e3, 600e3, 1200e3, 1800e3, 3600e3, 7200e3, 14400e3];
    if let Some(&step) = minutes.iter().find(|&&m| ms > 50e3 && m >= ms) {
        return step;
    }
    let unit = if ms > 14400e3 { 3600e3 } else { 1.0 };
    let power = 10f64.powf((ms / unit).log10().floor());
    [1.0, 2.0, 5.0, 10.0].map(|k| k * power * unit).into_iter().find(|s| *s >= ms).unwrap_or(10.0 * power * unit)
}

/// The stretch worth seeing: as long as [`RUNS_PER_LANE`] runs of a lane; of all stretches nearly as busy as the busiest, the
/// one where most jobs meet, then the busiest, then the first. `None` if nothing ran.
pub(super) fn window(schedules: &[Schedule]) -> Option<(f64, f64)> {
    let runs = || schedules.iter().flat_map(|s| &s.runs).filter(|r| r.end_ms > r.start_ms);
    let last = runs().map(|r| r.end_ms).fold(0.0, f64::max);
    let n = runs().count();
    if n == 0 {
        return None;
    }
    let mean = runs().map(|r| r.end_ms - r.start_ms).sum::<f64>() / n as f64;
    let length = nice(mean * RUNS_PER_LANE);
    if length >= last {
        return Some((0.0, last));
    }
    // Steps of a quarter of the stretch, but never more than a thousand of them.
    let step = (length / 4.0).max((last - length) / 1000.0);
    let steps = ((last - length) / step).floor() as usize;
    let stretches: Vec<(f64, usize, f64)> = (0..=steps)
        .map(|i| {
            let (start, end) = (i as f64 * step, i as f64 * step + length);
            let busy = runs().map(|r| (r.end_ms.min(end) - r.start_ms.max(start)).max(0.0)).sum();
            let each = schedules.iter().map(|s| within(s, start, end).map(|r| r.item).collect::<BTreeSet<_>>().len());
            (busy, each.sum(), start)
        })
        .collect();
    let busiest = stretches.iter().map(|s| s.0).fold(0.0, f64::max);
    let near = stretches.iter().filter(|s| s.0 >= NEARLY * busiest);
    let better = |a: &(f64, usize, f64), b: &(f64, usize, f64)| (b.1, b.0) > (a.1, a.0);
    let best = near.copied().reduce(|a, b| if better(&a, &b) { b } else { a })?;
    Some((best.2, best.2 + length))
}

#[cfg(test)]
mod tests {
    use super::*;
    use sched_distill_judge::evaluator::Role;

    fn schedule(runs: Vec<ScheduleRun>) -> Schedule {
        Schedule {
            policy: "p".into(),
            role: Role::Teacher,
            episode: 0,
            lanes: 2,
            lane: "executor".into(),
            part: "stage".into(),
            parts: Vec::new(),
            runs,
            items: Vec::new(),
        }
    }

    fn run(lane: u32, start_ms: f64, end_ms: f64) -> ScheduleRun {
        ScheduleRun { lane, item: lane, part: 0, start_ms, end_ms }
    }

    #[test]
    fn the_window_is_where_the_lanes_are_at_work() {
        // One lane works throughout, the second only from 500 s to 700 s.
        let mut runs: Vec<_> = (0..1000).map(|i| run(0, i as f64 * 1e3, (i + 1) as f64 * 1e3)).collect();
        runs.extend((500..700).map(|i| run(1, i as f64 * 1e3, (i + 1) as f64 * 1e3)));
        let (start, end) = window(&[schedule(runs)]).expect("something ran");
        assert!(start >= 500e3 && end <= 700e3 && end - start >= 10e3, "{start} {end}");
    }

    #[test]
    fn of_busy_windows_the_one_where_jobs_meet_is_taken() {
        // A single job keeps both lanes busy, but for 300 s to 500 s, where six share them with short pauses.
        let mut runs = Vec::new();
        for i in 0..1000 {
            let (mixed, at) = ((300..500).contains(&i), i as f64 * 1e3);
            for lane in 0..2 {
                let item = if mixed { 1 + i % 6 } else { 0 };
                runs.push(ScheduleRun { item, ..run(lane, at, at + if mixed { 900.0 } else { 1000.0 }) });
            }
        }
        let (start, end) = window(&[schedule(runs)]).expect("something ran");
        assert!(start >= 280e3 && end <= 520e3, "{start} {end}");
    }

    #[test]
    fn round_lengths_are_round() {
        let cases = [(3.0, 5.0), (4200.0, 5000.0), (61e3, 120e3), (9e6, 14400e3), (3e7, 3.6e7)];
        for (ms, round) in cases {
            assert_eq!(nice(ms), round, "{ms}");
        }
    }

    #[test]
    fn nothing_to_draw_draws_nothing() {
        assert!(chart(&[schedule(Vec::new())]).is_none());
        assert!(chart(&[]).is_none());
    }
}
