//! The words of a command line, before they are read.

use super::inputs::SCRIPT;
use crate::foreign::{name_command, secret_in};
use std::ffi::OsString;

/// What was typed, with names in place of commands that have one (`script:NAME=COMMAND`), so that these get no further than
/// here; `distill help fit` is `distill fit --help`.
pub(super) fn named(typed: &[OsString]) -> Vec<OsString> {
    let named = |word: &OsString| match word.to_str().and_then(|word| in_script(word, name_command)) {
        Some(named) => named.into(),
        None => word.clone(),
    };
    let mut words: Vec<OsString> = typed.iter().map(named).collect();
    if words.get(1).is_some_and(|word| word == "help") {
        words.remove(1);
        words.push("--help".into());
    }
    words
}

/// The same as text, in which bytes that are none are shown as �.
pub(super) fn as_text(words: &[OsString]) -> Vec<String> {
    words.iter().map(|word| word.to_string_lossy().into_owned()).collect()
}

/// What looks like a secret in the commands of scripts.
pub(super) fn secrets(words: &[String]) -> impl Iterator<Item = String> {
    words.iter().filter_map(|word| in_script(word, secret_in))
}

/// A word with another spec in place of that of a script, be it a word of its own or the value of an option.
fn in_script(word: &str, other: impl Fn(&str) -> Option<String>) -> Option<String> {
    let start = word.find(&format!("{SCRIPT}:"))?;
    let option = &word[..start];
    let is_option = option.is_empty() || (option.starts_with('-') && (option.len() == 2 || option.ends_with('=')));
    Some(format!("{option}{}", other(&word[start..]).filter(|_| is_option)?))
}
