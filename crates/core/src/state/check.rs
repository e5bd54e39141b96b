//! Checks of what is told, and the words for what is wrong with it.

use super::StateError;
use std::{fmt::Display, ops::RangeInclusive};

/// Latest time that a state may have, ms.
const LATEST_MS: f64 = 1e15;

/// Checks that all of these are numbers from 0 to the most allowed.
///
/// # Errors
///
/// The first that is not, by name.
///
/// ```
/// use sched_distill_core::state::numbers;
/// assert_eq!(numbers(1e12, &[("done", 0.0), ("left", 1e12)]), Ok(()));
/// let error = numbers(1e12, &[("done", -1.0)]).unwrap_err().of("job", 3);
/// assert_eq!(error.to_string(), "job 3, `done`: must be a number in 0..=1e12, got -1");
/// ```
pub fn numbers(most: f64, found: &[(&str, f64)]) -> Result<(), StateError> {
    each(found, |x| (0.0..=most).contains(&x), |x| format!("must be a number in 0..={most:e}, got {x}"))
}

/// Checks that all of these are numbers above 0, up to the most allowed.
///
/// # Errors
///
/// The first that is not, by name.
pub fn positive(most: f64, found: &[(&str, f64)]) -> Result<(), StateError> {
    each(found, |x| x > 0.0 && x <= most, |x| format!("must be a positive number up to {most:e}, got {x}"))
}

/// Checks that none of these is more than what `most` is called.
///
/// # Errors
///
/// The first that is, by name.
pub fn up_to((called, most): (&str, f64), found: &[(&str, f64)]) -> Result<(), StateError> {
    each(found, |x| x <= most, |x| format!("must be up to {called}, {most}, got {x}"))
}

/// Checks that all of these lie between two whole numbers.
///
/// # Errors
///
/// The first that does not, by name.
pub fn whole(allowed: RangeInclusive<u32>, found: &[(&str, u32)]) -> Result<(), StateError> {
    each(found, |n| allowed.contains(&n), |n| format!("must be a whole number in {allowed:?}, got {n}"))
}

fn each<T: Copy>(
    found: &[(&str, T)],
    is_allowed: impl Fn(T) -> bool,
    problem: impl Fn(T) -> String,
) -> Result<(), StateError> {
    match found.iter().find(|(_, value)| !is_allowed(*value)) {
        Some(&(name, value)) => Err(StateError::new(name, problem(value))),
        None => Ok(()),
    }
}

/// Checks that a job, or whatever else arrives, may follow the one that arrived last, told by its number and its time: numbers ascend
/// in order of arrival. `field` is the name of the time.
///
/// # Errors
///
/// A number that does not ascend, or an earlier time.
///
/// ```
/// use sched_distill_core::state::arrives;
/// assert_eq!(arrives("job", (4, 70.0), "arrival_ms", Some((3, 60.0))), Ok(()));
/// let error = arrives("job", (4, 50.0), "arrival_ms", Some((3, 60.0))).unwrap_err();
/// assert_eq!(error.to_string(), "job 4, `arrival_ms`: 50 is before the arrival of job 3, 60");
/// ```
pub fn arrives(what: &str, (number, at): (u32, f64), field: &str, last: Option<(u32, f64)>) -> Result<(), StateError> {
    if let Some((before, _)) = last.filter(|(before, _)| number <= *before) {
        let problem = format!("comes after {what} {before}; numbers ascend in order of arrival");
        return Err(StateError::new("id", problem).of(what, number));
    }
    arrived_by(what, last, field, at).map_err(|e| e.of(what, number))
}

/// Checks that a time is not before the arrival of what arrived last.
///
/// # Errors
///
/// It is before that.
pub fn arrived_by(what: &str, last: Option<(u32, f64)>, field: &str, time: f64) -> Result<(), StateError> {
    match last.filter(|(_, at)| time < *at) {
        Some((late, at)) => Err(StateError::new(field, format!("{time} is before the arrival of {what} {late}, {at}"))),
        None => Ok(()),
    }
}

/// Checks that a clock, `time_ms`, may be set from one time to another, ms: not back, and not before what arrived last did.
///
/// # Errors
///
/// It may not.
pub fn clock(what: &str, now_ms: f64, time_ms: f64, last: Option<(u32, f64)>) -> Result<(), StateError> {
    if !(now_ms..=LATEST_MS).contains(&time_ms) {
        let problem = format!("must be a number up to {LATEST_MS:e}, not before {now_ms}, got {time_ms}");
        return Err(StateError::new("time_ms", problem));
    }
    arrived_by(what, last, "time_ms", time_ms)
}

/// The place of a name among those that there are; `what` is what has it.
///
/// # Errors
///
/// It is not among them.
///
/// ```
/// use sched_distill_core::state::place_of;
/// assert_eq!(place_of("model", "b", ["a", "b"]), Ok(1));
/// assert_eq!(place_of("model", "c", ["a", "b"]).unwrap_err().to_string(), "model: unknown model `c`; there are a, b");
/// ```
pub fn place_of<'a>(
    what: &str,
    name: &str,
    known: impl IntoIterator<Item = &'a str, IntoIter: Clone>,
) -> Result<usize, StateError> {
    let mut known = known.into_iter();
    let all = known.clone();
    let unknown = || StateError::new(what, format!("unknown {what} `{name}`; there are {}", few(all)));
    known.position(|other| other == name).ok_or_else(unknown)
}

/// The first of some names or numbers as errors list them: up to eight, and whether there are more.
///
/// ```
/// use sched_distill_core::state::few;
/// assert_eq!(few([3, 5]), "3, 5");
/// assert_eq!(few(0..9), "0, 1, 2, 3, 4, 5, 6, 7, ...");
/// assert_eq!(few::<u32>([]), "none");
/// ```
pub fn few<T: Display>(all: impl IntoIterator<Item = T>) -> String {
    let mut all = all.into_iter();
    let first: Vec<String> = all.by_ref().take(8).map(|one| one.to_string()).collect();
    match (first.is_empty(), all.next()) {
        (true, _) => "none".to_owned(),
        (_, None) => first.join(", "),
        (_, Some(_)) => first.join(", ") + ", ...",
    }
}
