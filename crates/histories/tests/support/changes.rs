//! Changes that damage a text.

use proptest::prelude::*;

/// A change of a text.
#[derive(Clone, Debug)]
pub(crate) enum Change {
    Byte(prop::sample::Index, u8),
    Cut(prop::sample::Index),
    Drop(prop::sample::Index, usize),
    Repeat(prop::sample::Index),
    Swap(prop::sample::Index, prop::sample::Index),
    Number(prop::sample::Index, i64),
    Insert(prop::sample::Index, Vec<u8>),
}

/// Some changes, one after another.
pub(crate) fn changes() -> impl Strategy<Value = Vec<Change>> {
    let at = any::<prop::sample::Index>;
    let number = prop_oneof![Just(-1), Just(0), Just(1), Just(i64::MAX), Just(i64::MIN), Just(4_294_967_295), 0..50i64];
    let one = prop_oneof![
        (at(), any::<u8>()).prop_map(|(at, byte)| Change::Byte(at, byte)),
        at().prop_map(Change::Cut),
        (at(), 1..40usize).prop_map(|(at, n)| Change::Drop(at, n)),
        at().prop_map(Change::Repeat),
        (at(), at()).prop_map(|(a, b)| Change::Swap(a, b)),
        (at(), number.clone()).prop_map(|(at, number)| Change::Number(at, number)),
        (at(), number).prop_map(|(at, number)| Change::Number(at, number)),
        (at(), prop::collection::vec(any::<u8>(), 1..20)).prop_map(|(at, bytes)| Change::Insert(at, bytes)),
    ];
    prop::collection::vec(one, 1..8)
}

/// A text with these changes.
pub(crate) fn changed(mut text: Vec<u8>, changes: &[Change]) -> Vec<u8> {
    for change in changes {
        if text.is_empty() {
            break;
        }
        let mut lines: Vec<Vec<u8>> = text.split_inclusive(|&byte| byte == b'\n').map(<[u8]>::to_vec).collect();
        match change {
            Change::Byte(at, byte) => *at.get_mut(&mut text) = *byte,
            Change::Cut(at) => text.truncate(at.index(text.len())),
            Change::Drop(at, n) => {
                let from = at.index(text.len());
                text.drain(from..(from + n).min(text.len()));
            }
            Change::Repeat(at) => {
                let line = at.get(&lines).clone();
                text.extend(line);
            }
            Change::Swap(a, b) => {
                let (a, b) = (a.index(lines.len()), b.index(lines.len()));
                lines.swap(a, b);
                text = lines.concat();
            }
            Change::Number(at, number) => {
                // The numbers, each as a range.
                let starts = (1..text.len()).filter(|&i| !text[i - 1].is_ascii_digit() && text[i].is_ascii_digit());
                let numbers: Vec<_> = starts
                    .map(|from| (from, from + text[from..].iter().take_while(|byte| byte.is_ascii_digit()).count()))
                    .collect();
                if !numbers.is_empty() {
                    let (from, to) = *at.get(&numbers);
                    text.splice(from..to, number.to_string().into_bytes());
                }
            }
            Change::Insert(at, bytes) => {
                let from = at.index(text.len());
                text.splice(from..from, bytes.iter().copied());
            }
        }
    }
    text
}
