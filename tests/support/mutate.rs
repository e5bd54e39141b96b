//! Damaged files: edits of bytes that proptest draws, and shrinks to the smallest that still do harm; and files with other numbers.

use proptest::{
    prelude::*,
    test_runner::{Config, RngAlgorithm, TestCaseError, TestRng, TestRunner},
};
use sched_distill::rng::Stream;
use std::{
    cell::Cell,
    ops::Range,
    sync::mpsc,
    thread,
    time::{Duration, Instant},
};

/// One edit; places are shares of the length, so that they fit whatever came before.
#[derive(Clone, Debug)]
pub(crate) enum Edit {
    /// Flips a bit.
    Flip(f64, u8),
    /// Puts one of the bytes that mean something to parsers.
    Set(f64, u8),
    /// Puts a number that means "very many" to readers of variable-length, little-endian or decimal numbers.
    Number(f64, usize),
    /// Cuts off the end.
    Truncate(f64),
    /// Takes out a range.
    Delete(f64, u16),
    /// Repeats a range.
    Repeat(f64, u16),
    /// Copies a range to another place, over what is there.
    Move(f64, f64, u16),
}

/// Numbers beyond all reason in several notations.
const NUMBERS: [&[u8]; 12] = [
    b"-1",
    b"1e309",
    b"-1e308",
    b"4294967295",
    b"18446744073709551616",
    b"null",
    b"[[[[[[[[",
    &[0xff; 4],
    &[0xff; 8],
    &[0xff, 0xff, 0xff, 0xff, 0x7f],
    &[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01],
    &[0; 16],
];

impl Edit {
    fn strategy() -> impl Strategy<Value = Edit> {
        let place = || 0.0..1.0;
        prop_oneof![
            4 => (place(), any::<u8>()).prop_map(|(at, bit)| Edit::Flip(at, bit % 8)),
            4 => (place(), prop::sample::select(&b"\0\x01\x7f\x80\xff\"{}[]:,-0919eE.\n "[..])).prop_map(|(at, b)| Edit::Set(at, b)),
            4 => (place(), 0..NUMBERS.len()).prop_map(|(at, which)| Edit::Number(at, which)),
            1 => place().prop_map(Edit::Truncate),
            1 => (place(), 1..2000_u16).prop_map(|(at, n)| Edit::Delete(at, n)),
            1 => (place(), 1..2000_u16).prop_map(|(at, n)| Edit::Repeat(at, n)),
            1 => (place(), place(), 1..200_u16).prop_map(|(from, to, n)| Edit::Move(from, to, n)),
        ]
    }

    fn apply(&self, bytes: &mut Vec<u8>) {
        let at = |share: f64| ((share * bytes.len() as f64) as usize).min(bytes.len().saturating_sub(1));
        if bytes.is_empty() {
            return;
        }
        match *self {
            Edit::Flip(place, bit) => {
                let i = at(place);
                bytes[i] ^= 1 << bit;
            }
            Edit::Set(place, byte) => {
                let i = at(place);
                bytes[i] = byte;
            }
            Edit::Number(place, which) => {
                let (i, number) = (at(place), NUMBERS[which]);
                let end = (i + number.len()).min(bytes.len());
                bytes[i..end].copy_from_slice(&number[..end - i]);
            }
            Edit::Truncate(place) => bytes.truncate(at(place)),
            Edit::Delete(place, n) => {
                let i = at(place);
                bytes.drain(i..(i + usize::from(n)).min(bytes.len()));
            }
            Edit::Repeat(place, n) => {
                let i = at(place);
                let range = bytes[i..(i + usize::from(n)).min(bytes.len())].to_vec();
                bytes.splice(i..i, range);
            }
            Edit::Move(from, to, n) => {
                let (from, to) = (at(from), at(to));
                let n = usize::from(n).min(bytes.len() - from.max(to));
                bytes.copy_within(from..from + n, to);
            }
        }
    }
}

/// Seconds that each reader is tried for, and where the edits begin: the same number gives the same edits.
fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

/// Where what is drawn begins.
pub(crate) fn seed() -> u64 {
    setting("DISTILL_FUZZ_SEED", 1)
}

/// Gives `read` damaged versions of the `seeds` until the time is over; returns how many. Whatever it does but panic is
/// right: what it must do is its own affair. Of a panic the smallest edits are shown that bring it about.
pub(crate) fn each_mutant(seeds: &[Vec<u8>], read: impl Fn(usize, &[u8])) -> u64 {
    let end = Instant::now() + Duration::from_secs(setting("DISTILL_FUZZ_SECONDS", 2));
    let (first, count) = (seed(), Cell::new(0));
    let mutants = (0..seeds.len(), prop::collection::vec(Edit::strategy(), 1..6));
    for batch in 0_u64.. {
        if Instant::now() >= end {
            break;
        }
        let mut seed = [0; 32];
        seed[..8].copy_from_slice(&first.to_le_bytes());
        seed[8..16].copy_from_slice(&batch.to_le_bytes());
        let config = Config { cases: 8, failure_persistence: None, max_shrink_time: 60_000, ..Config::default() };
        // A runner has its cases once.
        let mut runner = TestRunner::new_with_rng(config, TestRng::from_seed(RngAlgorithm::ChaCha, &seed));
        let found = runner.run(&mutants, |(which, edits)| {
            let mut bytes = seeds[which].clone();
            edits.iter().for_each(|edit| edit.apply(&mut bytes));
            read(which, &bytes);
            count.set(count.get() + 1);
            Ok::<(), TestCaseError>(())
        });
        if let Err(failure) = found {
            panic!("{failure}");
        }
    }
    count.get()
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
const LIMIT: Duration = Duration::from_secs(30);

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
