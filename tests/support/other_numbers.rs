//! Files with other numbers: of any size, in place of those that they have.

use crate::mutate::setting;
use sched_distill::rng::Stream;
use std::{
    ops::Range,
    sync::mpsc,
    thread,
    time::{Duration, Instant},
};

/// Where what is drawn begins.
pub(crate) fn seed() -> u64 {
    setting("DISTILL_FUZZ_SEED", 1)
}

/// Places of the numbers of a text, of those that stand in quotation marks none.
fn numbers(text: &str) -> Vec<Range<usize>> {
    let (mut found, mut quoted, mut start) = (Vec::new(), false, None);
    let belongs = |c: char| c.is_ascii_digit() || "+-.eE".contains(c);
    for (at, c) in text.char_indices().chain([(text.len(), ' ')]) {
        quoted ^= c == '"';
        match start {
            None if !quoted && (c.is_ascii_digit() || c == '-') => start = Some(at),
            Some(from) if !belongs(c) => {
                found.push(from..at);
                start = None;
            }
            _ => {}
        }
    }
    found
}

/// A number of any size, from 1e-300 to 1e300; most are such as somebody may have meant.
fn any_number(stream: &mut Stream) -> String {
    let size = |stream: &mut Stream, most: f64| 10f64.powf(stream.uniform_in(-most, most));
    match stream.below(8) {
        0 => "0".to_owned(),
        1 => format!("{:e}", size(stream, 300.0)),
        2 => format!("1e{}", stream.below(601) as i64 - 300),
        3 => format!("{:e}", size(stream, 15.0)),
        // Whole ones, which is what counts must be.
        4 | 5 => format!("{}", 10f64.powf(stream.uniform_in(0.0, 10.0)) as u64),
        _ => format!("{:.6}", size(stream, 6.0)),
    }
}

/// Gives `run` the texts with some of their numbers replaced until the share of the time is over; returns how many. One that takes
/// longer than the limit ends the program with its text.
pub(crate) fn each_with_other_numbers(texts: &[String], share: f64, mut run: impl FnMut(usize, &str)) -> u64 {
    let mut stream = Stream::new(seed(), "other numbers");
    until_the_time_is_over(share, |count| {
        let which = count as usize % texts.len();
        let mut text = texts[which].clone();
        for _ in 0..1 + stream.below(3) {
            let places = numbers(&text);
            text.replace_range(places[stream.below(places.len())].clone(), &any_number(&mut stream));
        }
        limited(&text.clone(), || run(which, &text));
    })
}

/// Calls it with 0, 1, ... until this share of the time for a reader is over; returns how often.
pub(crate) fn until_the_time_is_over(share: f64, mut each: impl FnMut(u64)) -> u64 {
    let end = Instant::now() + Duration::from_secs(setting("DISTILL_FUZZ_SECONDS", 2)).mul_f64(share);
    let mut count = 0;
    while Instant::now() < end {
        each(count);
        count += 1;
    }
    count
}

/// How long one run may take.
const LIMIT: Duration = Duration::from_secs(120);

/// Ends the program, with what is tried, where that takes too long: a loop without end cannot be told otherwise.
pub(crate) fn limited<T>(what: &str, run: impl FnOnce() -> T) -> T {
    let (done, wait) = mpsc::channel::<()>();
    let what = what.to_owned();
    let watch = thread::spawn(move || {
        if wait.recv_timeout(LIMIT) == Err(mpsc::RecvTimeoutError::Timeout) {
            eprintln!("longer than {LIMIT:?}: {what}");
            std::process::abort();
        }
    });
    let found = run();
    drop(done);
    watch.join().expect("it waits and ends");
    found
}
