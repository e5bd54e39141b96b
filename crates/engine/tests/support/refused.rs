//! What a refusal looks like.

use anyhow::{Result, ensure};
use std::{path::Path, process::Output};

/// Checks that the program refused: one error with these words, exit code 2, and no student written.
pub fn is_refused(said: &Output, student: &Path, words: &[&str]) -> Result<()> {
    let text = String::from_utf8_lossy(&said.stderr);
    ensure!(said.status.code() == Some(2), "exit code {:?}: {text}", said.status.code());
    ensure!(words.iter().all(|word| text.contains(word)), "{words:?} not in: {text}");
    ensure!(text.lines().filter(|line| line.starts_with("error")).count() == 1, "one error: {text}");
    ensure!(!student.exists(), "nothing is written");
    Ok(())
}
