//! Damaged files: edits of bytes that proptest draws, and shrinks to the smallest that still do harm.

use proptest::{
    prelude::*,
    test_runner::{Config, RngAlgorithm, TestCaseError, TestRng, TestRunner},
};
use std::{
    cell::Cell,
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
pub(crate) fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

/// Gives `read` damaged versions of the `seeds` until the time is over; returns how many. Whatever it does but panic is
/// right: what it must do is its own affair. Of a panic the smallest edits are shown that bring it about.
pub(crate) fn each_mutant(seeds: &[Vec<u8>], read: impl Fn(usize, &[u8])) -> u64 {
    let end = Instant::now() + Duration::from_secs(setting("DISTILL_FUZZ_SECONDS", 2));
    let (first, count) = (setting("DISTILL_FUZZ_SEED", 1), Cell::new(0));
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
