//! Which part of a history may be used for what?
//!
//! Jobs of one log that stand in fit and test alike tell how well a student remembers. A history is therefore cut by time: into periods, one
//! for each [`Split`] or several in turn, and these into windows, which are its episodes. A job belongs to the period in which it was
//! submitted, and one that was submitted in the gap before a period to none: of those only what is left of them can be met, as what is
//! there when the first windows begin.

use crate::{
    rng::{EpisodeId, Split},
    spec::{Args, SpecError},
};
use std::{fmt, ops::Range};

/// How a spec wants a history to be used.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cut {
    rounds: Option<u32>,
    window_ms: Option<f64>,
    stride_ms: Option<f64>,
    gap_ms: Option<f64>,
    rate: f64,
}

/// Shares of the jobs that each [`Split`] gets, in their order.
const SHARES: [f64; 4] = [0.5, 0.15, 0.2, 0.15];

/// How often all splits take turns where they are interleaved.
const ROUNDS: u32 = 5;

/// Windows that each split needs at least: an interval from fewer means nothing.
const LEAST_WINDOWS: usize = 4;

/// Windows that each split gets at least where no length is named, if there are jobs for it.
const USUAL_WINDOWS: f64 = 8.0;

/// Jobs that windows have in the mean at least where no length is named.
const LEAST_JOBS: f64 = 5.0;

/// Most windows of a history.
const MOST_WINDOWS: f64 = 1e5;

/// Lengths of windows that are chosen where none is named, s.
const LENGTHS_S: [f64; 24] = [
    1.0,
    2.0,
    5.0,
    10.0,
    15.0,
    30.0,
    60.0,
    120.0,
    300.0,
    600.0,
    900.0,
    1800.0,
    3600.0,
    7200.0,
    10800.0,
    21600.0,
    43200.0,
    86400.0,
    172_800.0,
    259_200.0,
    604_800.0,
    1_209_600.0,
    2_592_000.0,
    7_776_000.0,
];

/// A job of a history, as far as cutting goes: when it was submitted, and when it had ended, if that is known, ms.
pub type Span = (f64, Option<f64>);

impl Cut {
    /// All jobs in every episode.
    pub const WHOLE: Self = Self { rounds: None, window_ms: None, stride_ms: None, gap_ms: None, rate: 1.0 };

    /// Reads `split=time|interleaved`, `window`, `stride`, `gap` and `rate`. Without a split the whole history is every episode.
    ///
    /// # Errors
    ///
    /// A value that is not allowed, or a length without a split.
    pub fn from_args(args: &mut Args<'_>) -> Result<Self, SpecError> {
        let rounds = match args.word("split", &["none", "time", "interleaved"])? {
            "time" => Some(1),
            "interleaved" => Some(ROUNDS),
            _ => None,
        };
        let lengths = ["window", "stride", "gap"].map(|key| (key, args.time_ms(key)));
        let mut found = [None; 3];
        for ((key, length), found) in lengths.into_iter().zip(&mut found) {
            *found = length?;
            if let Some(ms) = found.filter(|_| rounds.is_none()) {
                return Err(args.conflict(key, &duration(ms), "given with split=time or split=interleaved"));
            }
        }
        let [window_ms, stride_ms, gap_ms] = found;
        for (key, length) in [("window", window_ms), ("stride", stride_ms)] {
            if length == Some(0.0) {
                return Err(args.conflict(key, "0", "longer than nothing"));
            }
        }
        Ok(Self { rounds, window_ms, stride_ms, gap_ms, rate: args.number("rate", 1.0, 1e-3..=1e3)? })
    }

    /// How many times as fast as recorded jobs arrive.
    #[must_use]
    pub fn rate(&self) -> f64 {
        self.rate
    }

    /// The same at another rate: how many times as fast as recorded jobs arrive.
    #[must_use]
    pub fn at_rate(self, rate: f64) -> Self {
        Self { rate, ..self }
    }

    /// Whether all jobs are in every episode.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.rounds.is_none()
    }

    /// The windows of a history whose jobs, in order of submission, have these spans; `None` without a split. Where the spec names no
    /// length, windows have about `jobs` jobs, or fewer where that leaves too few of them.
    ///
    /// # Errors
    ///
    /// A history that is too short for that.
    pub fn windows(&self, spans: &[Span], jobs: u32) -> Result<Option<Windows>, String> {
        let Some(rounds) = self.rounds else { return Ok(None) };
        let (Some(&(first_ms, _)), Some(&(last_ms, _))) = (spans.first(), spans.last()) else {
            return Err("has no jobs to cut by time".to_owned());
        };
        let span_ms = last_ms - first_ms;
        let window_ms = match self.window_ms {
            Some(window_ms) => window_ms,
            None => usual_window(spans.len() as f64, span_ms, jobs)?,
        };
        let stride_ms = self.stride_ms.unwrap_or(window_ms);
        if span_ms / stride_ms > MOST_WINDOWS {
            let (span, stride) = (duration(span_ms), duration(stride_ms));
            return Err(format!("spans {span}, which has more than {MOST_WINDOWS} windows at a stride of {stride}"));
        }
        let gap_ms = self.gap_ms.unwrap_or_else(|| usual_gap(spans).min(window_ms));
        let mut windows = Windows { by_split: Default::default(), window_ms, stride_ms, gap_ms };
        for (split, since_ms, end_ms) in periods(spans, rounds) {
            let is_first = since_ms <= first_ms;
            // What is measured once is not measured again: resampled windows have to be independent.
            let stride_ms = if is_measured(split) { stride_ms.max(window_ms) } else { stride_ms };
            let mut from_ms = if is_first { since_ms } else { since_ms + gap_ms };
            while from_ms + window_ms <= end_ms {
                let at = |time_ms: f64| spans.partition_point(|&(submitted_ms, _)| submitted_ms < time_ms);
                let jobs = at(from_ms)..at(from_ms + window_ms);
                if !jobs.is_empty() {
                    windows.by_split[split as usize].push(Window { from_ms, since: at(since_ms), jobs });
                }
                from_ms += stride_ms;
            }
        }
        match Split::ALL.into_iter().find(|&split| windows.count(split) < LEAST_WINDOWS) {
            None => Ok(Some(windows)),
            Some(split) => Err(format!(
                "is too short to be cut by time like that: {} jobs in {} give {} windows of {} for {}, and at least {LEAST_WINDOWS} are \
                 needed (a shorter `window`, or no `split`: every episode then has all jobs)",
                spans.len(),
                duration(span_ms),
                windows.count(split),
                duration(window_ms),
                split.name(),
            )),
        }
    }
}

/// Whether intervals are made of what is found on the windows of a split.
fn is_measured(split: Split) -> bool {
    matches!(split, Split::Test | Split::Final)
}

/// A length that gives each split enough windows.
fn usual_window(count: f64, span_ms: f64, jobs: u32) -> Result<f64, String> {
    let least_share = SHARES.into_iter().fold(1.0, f64::min);
    let each = (least_share * count / USUAL_WINDOWS).floor().min(f64::from(jobs));
    if each < LEAST_JOBS {
        let needed = (LEAST_JOBS * USUAL_WINDOWS / least_share).ceil();
        return Err(format!(
            "is too short to be cut by time: it has {count} jobs in {}, and windows of at least {LEAST_JOBS} jobs take {needed} \
             (`window` names another length; without `split` every episode has all jobs)",
            duration(span_ms)
        ));
    }
    let length_s = each / count * span_ms / 1e3;
    Ok(1e3 * LENGTHS_S.into_iter().rfind(|&nice| nice <= length_s).unwrap_or(length_s.max(1e-3)))
}

/// What all but one in twenty jobs take.
fn usual_gap(spans: &[Span]) -> f64 {
    let mut took_ms: Vec<f64> = spans.iter().filter_map(|&(from_ms, to_ms)| Some(to_ms? - from_ms)).collect();
    took_ms.sort_by(f64::total_cmp);
    took_ms.get(took_ms.len() * 19 / 20).copied().unwrap_or(f64::INFINITY)
}

/// Periods in order: for what, since when, and until when. Each has its share of the jobs, as quiet times would have none of them.
fn periods(spans: &[Span], rounds: u32) -> Vec<(Split, f64, f64)> {
    let border = |share: f64| {
        let place = (share * spans.len() as f64).round() as usize;
        spans.get(place).map_or(f64::INFINITY, |&(submitted_ms, _)| submitted_ms)
    };
    let last_ms = spans.last().map_or(0.0, |&(submitted_ms, _)| submitted_ms);
    let mut periods = Vec::new();
    let mut before = 0.0;
    for round in 0..rounds {
        for (split, share) in Split::ALL.into_iter().zip(SHARES) {
            let after = before + share / f64::from(rounds);
            let is_last = round + 1 == rounds && split == Split::Final;
            // The last job arrives within the last window.
            let end_ms = if is_last { last_ms.next_up() } else { border(after) };
            periods.push((split, border(before), end_ms));
            before = after;
        }
    }
    periods
}

/// The windows of a history by what they may be used for.
#[derive(Clone, Debug, PartialEq)]
pub struct Windows {
    /// By [`Split`].
    by_split: [Vec<Window>; 4],
    window_ms: f64,
    stride_ms: f64,
    gap_ms: f64,
}

/// A part of a history that is an episode.
#[derive(Clone, Debug, PartialEq)]
pub struct Window {
    /// When it begins, ms.
    pub from_ms: f64,
    /// The first job, by order of submission, that may still be there when it begins.
    pub since: usize,
    /// Jobs that are submitted while it lasts; at least one.
    pub jobs: Range<usize>,
}

impl Windows {
    /// How long each lasts where it was recorded, ms.
    #[must_use]
    pub fn length_ms(&self) -> f64 {
        self.window_ms
    }

    /// How many there are for a split.
    #[must_use]
    pub fn count(&self, split: Split) -> usize {
        self.by_split[split as usize].len()
    }

    /// How many different episodes a split has where intervals are made of them; `None` where windows may be met again.
    #[must_use]
    pub fn most_episodes(&self, split: Split) -> Option<u32> {
        // There are at most 100,000.
        is_measured(split).then(|| self.count(split) as u32)
    }

    /// The window of an episode. Consecutive numbers are spread over the whole period; after the last window comes the first again.
    #[must_use]
    pub fn of(&self, id: EpisodeId) -> &Window {
        let all = &self.by_split[id.split() as usize];
        &all[id.episode as usize * spread(all.len()) % all.len()]
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = &Window> {
        self.by_split.iter().flatten()
    }
}

/// The first step from a golden section on that meets all of `n` places.
fn spread(n: usize) -> usize {
    let common = |mut a: usize, mut b: usize| {
        while b > 0 {
            (a, b) = (b, a % b);
        }
        a
    };
    let golden = (0.618 * n as f64).round() as usize;
    (golden.max(1)..).find(|&step| common(step, n) == 1).unwrap_or(1)
}

impl fmt::Display for Windows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "windows of {}", duration(self.window_ms))?;
        if self.stride_ms < self.window_ms {
            write!(f, " every {} (of test and final: no two overlap)", duration(self.stride_ms))?;
        } else if self.stride_ms > self.window_ms {
            write!(f, " every {}", duration(self.stride_ms))?;
        }
        write!(f, ", a gap of {} between periods:", duration(self.gap_ms))?;
        for (place, (split, windows)) in Split::ALL.into_iter().zip(&self.by_split).enumerate() {
            let jobs: usize = windows.iter().map(|window| window.jobs.len()).sum();
            let each = jobs as f64 / windows.len().max(1) as f64;
            let comma = if place == 0 { "" } else { "," };
            write!(f, "{comma} {} {} for {}", windows.len(), per_window(each), split.name())?;
        }
        Ok(())
    }
}

fn per_window(jobs: f64) -> String {
    let decimals = usize::from(jobs < 10.0);
    format!("with {jobs:.decimals$} jobs")
}

/// A length of time in the unit in which it is a small number: `90 s`, `2 h`.
#[must_use]
pub fn duration(ms: f64) -> String {
    const UNITS: [(&str, f64); 4] = [("d", 86.4e6), ("h", 3.6e6), ("min", 6e4), ("s", 1e3)];
    let (unit, of) = UNITS
        .into_iter()
        .find(|&(_, of)| ms >= 2.0 * of || (ms / of).fract() == 0.0 && ms >= of)
        .unwrap_or(("ms", 1.0));
    let number = ms / of;
    let decimals = usize::from(number < 100.0 && (number - number.round()).abs() >= 0.05);
    format!("{number:.decimals$} {unit}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::Spec;
    use std::collections::BTreeMap;

    fn cut(params: &str) -> Result<Cut, SpecError> {
        let spec: Spec = format!("history{params}").parse()?;
        let mut args = spec.args();
        let cut = Cut::from_args(&mut args)?;
        args.finish().map(|()| cut)
    }

    /// A job a minute, each of which takes half an hour.
    fn steady(jobs: u32) -> Vec<Span> {
        (0..jobs).map(|i| (6e4 * f64::from(i), Some(6e4 * f64::from(i) + 1.8e6))).collect()
    }

    #[test]
    fn no_job_is_in_two_periods_whatever_the_cut() {
        for params in [
            ",split=time",
            ",split=interleaved",
            ",split=time,window=1h,stride=10m,gap=0s",
            ",split=interleaved,gap=7m,window=20m",
        ] {
            let windows = cut(params).unwrap().windows(&steady(3000), 50).unwrap().unwrap();
            let mut used: BTreeMap<usize, Split> = BTreeMap::new();
            for split in Split::ALL {
                for window in &windows.by_split[split as usize] {
                    for job in window.since..window.jobs.end {
                        assert_eq!(*used.entry(job).or_insert(split), split, "{params}: job {job}");
                    }
                }
            }
            assert!(used.len() > 2500, "{params}");
        }
    }

    #[test]
    fn windows_of_measured_periods_do_not_overlap_and_episodes_meet_all_of_them() {
        let windows = cut(",split=time,window=1h,stride=10m").unwrap().windows(&steady(6000), 50).unwrap().unwrap();
        assert!(windows.count(Split::Train) > 4 * windows.count(Split::Test));
        for split in Split::ALL {
            let n = windows.count(split) as u32;
            assert_eq!(windows.most_episodes(split), matches!(split, Split::Test | Split::Final).then_some(n));
            let mut met: Vec<usize> =
                (0..n).map(|episode| windows.of(EpisodeId::new(1, split, episode)).jobs.start).collect();
            // The first few are spread.
            assert!(met[0].abs_diff(met[1]) > 60, "{met:?}");
            met.sort_unstable();
            met.dedup();
            assert_eq!(met.len(), n as usize);
            assert_eq!(windows.of(EpisodeId::new(2, split, n)), windows.of(EpisodeId::new(1, split, 0)));
        }
        let test = &windows.by_split[Split::Test as usize];
        assert!(test.windows(2).all(|pair| pair[0].jobs.end <= pair[1].jobs.start));
        let said = windows.to_string();
        assert!(
            said.starts_with("windows of 1 h every 10 min (of test and final: no two overlap), a gap of 30 min"),
            "{said}"
        );
        assert!(said.ends_with("14 with 60 jobs for final"), "{said}");
    }

    #[test]
    fn a_history_that_is_too_short_is_said_to_be() {
        let refused = |params: &str, jobs| cut(params).unwrap().windows(&steady(jobs), 50).unwrap_err();
        assert!(refused(",split=time", 25).contains("has 25 jobs in 24 min, and windows of at least 5 jobs take 267"));
        let problem = refused(",split=time,window=1h", 300);
        assert!(problem.contains("300 jobs in 5.0 h give 2 windows of 1 h for train"), "{problem}");
        assert_eq!(cut("").unwrap().windows(&steady(5), 50), Ok(None));
        for (params, says) in [
            (",window=1h", "window must be given with split=time"),
            (",split=time,window=0s", "longer than nothing"),
            (",split=day", "one of none, time, interleaved"),
            (",rate=0", "rate must be a number in"),
        ] {
            let problem = cut(params).unwrap_err().to_string();
            assert!(problem.contains(says), "{problem}");
        }
    }

    #[test]
    fn times_are_written_in_units_that_fit() {
        let said = [500.0, 9e4, 1.2e5, 3.6e6, 5.4e6, 1.73e8, 1.2e9].map(duration);
        assert_eq!(said, ["500 ms", "90 s", "2 min", "1 h", "90 min", "2.0 d", "13.9 d"].map(str::to_owned));
    }
}
