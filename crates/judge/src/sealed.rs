//! Records of unfinished work that say of themselves whether they are as they were written, so that a number which a hand or a
//! disk has changed is not taken for a result.

use sched_distill_core::level::sha256_hex;

/// Hex digits of a check value: enough that nothing fits by chance.
const DIGITS: usize = 16;
/// What comes before the check value, the last field of a record.
const FIELD: &str = ",\"check\":\"";

/// Why a record is not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unsealed {
    /// It has no check value.
    Missing,
    /// Its check value is that of something else.
    Changed,
}

impl std::fmt::Display for Unsealed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Missing => {
                "it has no `check` at its end, so that an earlier version wrote it, or something else than distill"
            }
            Self::Changed => "its `check` is not that of what it says, so that it was changed after distill wrote it",
        })
    }
}

/// A JSON object that is not empty, in one line, with a check value; `of` is what it belongs to and does not say.
pub fn sealed(object: &str, of: &str) -> String {
    let body = object.strip_suffix('}').unwrap_or(object);
    format!("{body}{FIELD}{}\"}}", check(body, of))
}

/// Whether such an object is as [`sealed`] wrote it.
pub fn unsealed(text: &str, of: &str) -> Result<(), Unsealed> {
    let Some((body, end)) = text.trim_end().rsplit_once(FIELD) else { return Err(Unsealed::Missing) };
    match end.strip_suffix("\"}") {
        Some(found) if found == check(body, of) => Ok(()),
        _ => Err(Unsealed::Changed),
    }
}

fn check(body: &str, of: &str) -> String {
    let mut hex = sha256_hex(format!("{of}\n{body}").as_bytes());
    hex.truncate(DIGITS);
    hex
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_changed_or_belongs_elsewhere_does_not_fit() {
        let text = sealed(r#"{"episode":3,"cost":12.5}"#, "a");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&text).ok().map(|v| v["cost"].clone()), Some(12.5.into()));
        assert_eq!(unsealed(&(text.clone() + "\n"), "a"), Ok(()));
        assert_eq!(unsealed(&text, "b"), Err(Unsealed::Changed));
        for place in 0..text.len() - 1 {
            let mut bytes = text.clone().into_bytes();
            bytes[place] ^= 1;
            let changed = String::from_utf8_lossy(&bytes).into_owned();
            assert!(unsealed(&changed, "a").is_err(), "{changed}");
        }
        assert_eq!(unsealed(r#"{"episode":3,"cost":12.5}"#, "a"), Err(Unsealed::Missing));
    }
}
