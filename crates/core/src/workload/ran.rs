//! When did jobs run where they were recorded?

use super::LATEST_MS;

/// When a job ran where it was recorded, ms since it was submitted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ran {
    /// When it started; 0 if that is not known.
    pub start_ms: f64,
    /// When it ended.
    pub end_ms: f64,
    /// Whether it is recorded when it started.
    pub is_start_known: bool,
}

impl Ran {
    /// The share of it that is left so long after its submission, ms: all of it as long as it waits; `None` once it has ended.
    ///
    /// ```
    /// use sched_distill_core::workload::Ran;
    /// let ran = Ran { start_ms: 100.0, end_ms: 500.0, is_start_known: true };
    /// assert_eq!([0.0, 100.0, 400.0, 500.0].map(|ms| ran.left(ms)), [Some(1.0), Some(1.0), Some(0.25), None]);
    /// ```
    #[must_use]
    pub fn left(&self, time_ms: f64) -> Option<f64> {
        let Self { start_ms, end_ms, .. } = *self;
        match time_ms {
            waiting if waiting < start_ms => Some(1.0),
            running if running < end_ms => Some((end_ms - running) / (end_ms - start_ms)),
            _ => None,
        }
    }

    /// The same as seen so long after its submission, ms.
    #[must_use]
    pub fn after(&self, time_ms: f64) -> Self {
        Self { start_ms: (self.start_ms - time_ms).max(0.0), end_ms: self.end_ms - time_ms, ..*self }
    }

    /// As workload files have it, of a job that arrives at a time, ms: when it started, if that is known, and when it ended, on the clock of
    /// arrivals.
    ///
    /// ```
    /// use sched_distill_core::workload::Ran;
    /// let ran = Ran { start_ms: 5.0, end_ms: 9.0, is_start_known: true };
    /// assert_eq!(ran.written(100.0), [Some(105.0), Some(109.0)]);
    /// assert_eq!(Ran::read(ran.written(100.0), 100.0), Ok(ran));
    /// assert!(Ran::read([Some(99.0), Some(109.0)], 100.0).is_err());
    /// ```
    #[must_use]
    pub fn written(&self, arrival_ms: f64) -> [Option<f64>; 2] {
        [self.is_start_known.then_some(arrival_ms + self.start_ms), Some(arrival_ms + self.end_ms)]
    }

    /// Reads what workload files have ([`Ran::written`]).
    ///
    /// # Errors
    ///
    /// No end, a start after it, or a time before the arrival.
    pub fn read(written: [Option<f64>; 2], arrival_ms: f64) -> Result<Self, String> {
        let since = |time_ms: f64| time_ms - arrival_ms;
        match written {
            [None, Some(end_ms)] if (arrival_ms..=LATEST_MS).contains(&end_ms) => {
                Ok(Self { start_ms: 0.0, end_ms: since(end_ms), is_start_known: false })
            }
            [Some(start_ms), Some(end_ms)] if arrival_ms <= start_ms && (start_ms..=LATEST_MS).contains(&end_ms) => {
                Ok(Self { start_ms: since(start_ms), end_ms: since(end_ms), is_start_known: true })
            }
            _ => {
                let [start, end] = written.map(|time_ms| time_ms.map_or("null".to_owned(), |ms| ms.to_string()));
                Err(format!(
                    "ran must be a start, null if it is not known, and an end that is not before it, both in {arrival_ms}..=1e15 ms, got \
                     [{start}, {end}]"
                ))
            }
        }
    }
}

/// The schedule that is recorded of jobs of a log, for [`crate::simulation::Replay`]: of each, when it started and how long after its arrival
/// it was completed, ms; and of how many that is not known, which start when they arrive. `jobs` says when they arrive, and when they ran;
/// `None` if one of them is of no log.
///
/// ```
/// use sched_distill_core::workload::{Ran, recorded_starts};
/// let ran = |is_start_known| Some(Ran { start_ms: 5.0, end_ms: 9.0, is_start_known });
/// let found = recorded_starts([(1.0, ran(true)), (2.0, ran(false))].into_iter());
/// assert_eq!(found, Some((vec![6.0, 2.0], vec![Some(9.0), None], 1)));
/// assert_eq!(recorded_starts([(1.0, None)].into_iter()), None);
/// ```
#[must_use]
pub fn recorded_starts(jobs: impl Iterator<Item = (f64, Option<Ran>)>) -> Option<(Vec<f64>, Vec<Option<f64>>, usize)> {
    let (mut starts_ms, mut completed_ms, mut unknown) = (Vec::new(), Vec::new(), 0);
    for (arrival_ms, ran) in jobs {
        let ran = ran?;
        unknown += usize::from(!ran.is_start_known);
        starts_ms.push(if ran.is_start_known { arrival_ms + ran.start_ms } else { arrival_ms });
        completed_ms.push(ran.is_start_known.then_some(ran.end_ms));
    }
    Some((starts_ms, completed_ms, unknown))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_again_and_what_cannot_be_is_refused() {
        for ran in [
            Ran { start_ms: 0.0, end_ms: 0.0, is_start_known: true },
            Ran { start_ms: 0.0, end_ms: 7.5, is_start_known: false },
            Ran { start_ms: 2.0, end_ms: 1e9, is_start_known: true },
        ] {
            assert_eq!(Ran::read(ran.written(4.0), 4.0), Ok(ran));
        }
        for (written, says) in [
            ([Some(9.0), Some(8.0)], "both in 5..=1e15 ms, got [9, 8]"),
            ([Some(4.0), Some(8.0)], "got [4, 8]"),
            ([None, Some(4.0)], "got [null, 4]"),
            ([Some(6.0), None], "got [6, null]"),
            ([Some(f64::NAN), Some(8.0)], "got [NaN, 8]"),
            ([Some(6.0), Some(f64::NAN)], "got [6, NaN]"),
            ([None, Some(2e15)], "got [null, 2000000000000000]"),
        ] {
            let problem = Ran::read(written, 5.0).unwrap_err();
            assert!(problem.starts_with("ran must be a start") && problem.ends_with(says), "{problem}");
        }
    }
}
