//! What an episode comes to, bounded before it is made: each parameter of a workload has its bounds, and so has what they come to
//! together.

use super::WorkloadError;
use crate::spec::Spec;

/// Most jobs of an episode, or tasks where tasks are what arrives.
pub const MOST_JOBS: u32 = 1_000_000;

/// Most events that the jobs of an episode may need.
pub const MOST_EVENTS: f64 = 1e8;

/// Most memory that an episode may need, bytes.
pub const MOST_BYTES: f64 = 8e9;

/// Latest time at which a job may arrive, ms.
pub const LATEST_MS: f64 = 1e15;

/// From so much memory on people are told beforehand, bytes.
const MUCH_BYTES: f64 = 1e9;

/// What an episode comes to, about, before it is made. What is not known is 0.
///
/// ```
/// use sched_distill_core::{spec::Spec, workload::Work};
/// let spec: Spec = "builtin,load=100,seconds=100000".parse()?;
/// let work = Work { jobs: 5e9, ..Work::default() };
/// assert_eq!(
///     work.check(&spec, "lower `load` or `seconds`").unwrap_err().to_string(),
///     "builtin,load=100,seconds=100000: an episode has about 5000000000 jobs, at most 1000000 are possible: \
///      lower `load` or `seconds`"
/// );
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Work {
    /// Jobs that arrive, or tasks where tasks are what arrives.
    pub jobs: f64,
    /// Events that they need, whoever decides: what happens in the simulator if nothing is wasted.
    pub events: f64,
    /// Memory that it needs, bytes.
    pub bytes: f64,
    /// When the last job arrives, ms.
    pub last_ms: f64,
}

impl Work {
    /// Refuses what is too much. `less` says what makes it less.
    ///
    /// # Errors
    ///
    /// More than [`MOST_JOBS`], [`MOST_EVENTS`] or [`MOST_BYTES`], or arrivals after [`LATEST_MS`].
    pub fn check(&self, workload: &Spec, less: &str) -> Result<(), WorkloadError> {
        match self.too_much() {
            None => Ok(()),
            Some(problem) => {
                Err(WorkloadError::TooMuch { workload: workload.to_string(), problem, less: less.to_owned() })
            }
        }
    }

    /// What is too much of it, if anything.
    #[must_use]
    pub fn too_much(&self) -> Option<String> {
        let is_more = |found: f64, most: f64| found.is_nan() || found > most;
        let more = |what: &str, found: f64, most: f64| {
            is_more(found, most).then(|| {
                format!("an episode has about {} {what}, at most {} are possible", number(found), number(most))
            })
        };
        more("jobs", self.jobs, MOST_JOBS.into())
            .or_else(|| more("events", self.events, MOST_EVENTS))
            .or_else(|| more("bytes of memory", self.bytes, MOST_BYTES))
            .or_else(|| {
                let (found, most) = (number(self.last_ms), number(LATEST_MS));
                is_more(self.last_ms, LATEST_MS)
                    .then(|| format!("the last job arrives after about {found} ms, at most {most} are possible"))
            })
    }

    /// What people should know before such an episode is made: that it takes much memory, and how much.
    #[must_use]
    pub fn note(&self, workload: &str) -> Option<String> {
        (self.bytes >= MUCH_BYTES).then(|| {
            format!(
                "note: an episode of {workload} has about {} jobs and takes about {:.1} GB of memory, each that runs at a \
                 time (-j 1 runs one)",
                number(self.jobs),
                self.bytes / 1e9
            )
        })
    }
}

/// A number in words that are not too long.
fn number(x: f64) -> String {
    if x < 1e15 { format!("{x:.0}") } else { format!("{x:.1e}") }
}

/// Counts the jobs of a file and the events that they need, so that the one that is too much can be named.
#[derive(Clone, Copy, Debug, Default)]
pub struct Needed {
    jobs: u32,
    events: f64,
}

impl Needed {
    /// Counts a job that needs so many events; `needs` says what they are.
    ///
    /// # Errors
    ///
    /// With this job it is more than [`MOST_JOBS`] or [`MOST_EVENTS`].
    pub fn add(&mut self, events: f64, needs: &str) -> Result<(), String> {
        self.jobs += 1;
        self.events += events;
        if self.jobs > MOST_JOBS {
            return Err(format!("is one job too many: at most {MOST_JOBS} are allowed in a file"));
        }
        match self.events <= MOST_EVENTS {
            true => Ok(()),
            false => Err(format!(
                "needs {} events ({needs}), with those above it {}; at most {} are allowed in a file",
                number(events),
                number(self.events),
                number(MOST_EVENTS)
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_bound_is_told_and_what_is_no_number_is_too_much() {
        let none = Work::default();
        let told = |work: Work| work.too_much().unwrap_or_default();
        assert_eq!(told(none), "");
        assert_eq!(told(Work { jobs: 1e6, events: 1e8, bytes: 8e9, last_ms: 1e15 }), "");
        for (work, says) in [
            (Work { jobs: 1e6 + 1.0, ..none }, "about 1000001 jobs, at most 1000000"),
            (Work { events: 1e300, ..none }, "about 1.0e300 events, at most 100000000"),
            (Work { bytes: 9e9, ..none }, "about 9000000000 bytes of memory, at most 8000000000"),
            (Work { last_ms: f64::INFINITY, ..none }, "after about inf ms, at most 1.0e15"),
            (Work { events: f64::NAN, ..none }, "about NaN events"),
        ] {
            assert!(told(work).contains(says), "{work:?}: {}", told(work));
        }
        let much = Work { jobs: 1e6, bytes: 3e9, ..none };
        assert!(none.note("w").is_none() && much.note("w").is_some_and(|note| note.contains("about 3.0 GB")));
    }

    #[test]
    fn the_job_that_is_too_much_is_told() {
        let mut needed = Needed::default();
        assert_eq!(needed.add(9e7, "checks"), Ok(()));
        let problem = needed.add(2e7, "checks").unwrap_err();
        assert!(problem.contains("needs 20000000 events (checks), with those above it 110000000"), "{problem}");
        assert!(Needed::default().add(f64::NAN, "").is_err());
        let mut many = Needed { jobs: MOST_JOBS, events: 0.0 };
        assert!(many.add(1.0, "").unwrap_err().contains("one job too many"));
    }
}
