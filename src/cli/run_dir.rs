//! The run directory that `evaluate` and `explain` write into and `report` draws from.

use super::evaluate::write_json;
use crate::{
    model::Student,
    policy,
    reporter::{FileHash, RUN_FORMAT, RunInfo, SplitInfo, TeacherInfo},
    spec::Spec,
    trace::Trace,
};
use anyhow::{Context, Result, bail};
use std::path::Path;

/// Puts a student into a run directory, makes the directory if need be, and notes the command at hand.
///
/// # Errors
///
/// If the directory holds another student or cannot be written.
pub(super) fn enter(dir: &Path, student: &Student, trace: Option<&Trace>, seed: u64) -> Result<()> {
    std::fs::create_dir_all(dir).with_context(|| format!("{}: cannot create the run directory", dir.display()))?;
    let path = dir.join("student.json");
    match path.is_file() {
        false => student.save(&path)?,
        true if Student::load(&path)?.hash() == student.hash() => {}
        true => bail!(
            "{}: the run directory holds another student; give another directory, or remove the file to replace it",
            path.display()
        ),
    }
    let path = dir.join("run.json");
    let mut info = match std::fs::read(&path) {
        Ok(text) => {
            serde_json::from_slice(&text).with_context(|| format!("{}: not a run's description", path.display()))?
        }
        Err(_) => new(&student.provenance.teacher, &student.provenance.workload, seed),
    };
    if let Some(trace) = trace {
        describe(&mut info, trace)?;
    }
    let command = command_line();
    if !info.commands.contains(&command) {
        info.commands.push(command);
    }
    write_json(&path, &info)
}

/// The description of a run that has not done anything yet.
pub(super) fn new(teacher: &str, workload: &str, seed: u64) -> RunInfo {
    RunInfo {
        format_version: RUN_FORMAT,
        title: title(teacher),
        created_by: format!("sched-distill {}", env!("CARGO_PKG_VERSION")),
        commands: Vec::new(),
        teacher: TeacherInfo { id: teacher.to_owned(), files: Vec::new() },
        workload: workload.to_owned(),
        seed,
        splits: Vec::new(),
        notes: notes(teacher),
    }
}

/// Adds what a trace says of its making.
pub(super) fn describe(info: &mut RunInfo, trace: &Trace) -> Result<()> {
    let m = &trace.manifest;
    let decisions = decisions(trace)?;
    let split = SplitInfo { split: m.split.name().to_owned(), episodes: u64::from(m.episodes), decisions };
    if !info.splits.contains(&split) {
        info.splits.push(split);
    }
    if info.teacher.files.is_empty() && m.labeller.id == info.teacher.id {
        let file = |(path, sha256): (&String, &String)| FileHash { path: path.clone(), sha256: sha256.clone() };
        info.teacher.files = m.labeller.files.iter().map(file).collect();
    }
    Ok(())
}

/// How many decisions a trace holds; where it has no table of episodes, as many as choices of its first level.
fn decisions(trace: &Trace) -> Result<u64> {
    let episodes = trace.episodes()?;
    let levels = &trace.manifest.feature_set.levels;
    match (episodes.is_empty(), levels.first()) {
        (true, Some(first)) => {
            trace.pieces(&first.name)?.try_fold(0, |sum, piece| Ok(sum + piece?.choices.len() as u64))
        }
        _ => Ok(episodes.iter().map(|e| u64::from(e.decisions)).sum()),
    }
}

/// Heading of the report on a policy.
fn title(teacher: &str) -> String {
    let name = teacher.parse::<Spec>().map_or_else(|_| teacher.to_owned(), |spec| spec.name);
    format!("What {name} does")
}

/// What a reader must know of a teacher that is no network.
fn notes(teacher: &str) -> Vec<String> {
    let Ok(spec) = teacher.parse::<Spec>() else { return Vec::new() };
    if !policy::open(&spec).is_ok_and(|policy| policy.files().is_empty()) {
        return Vec::new();
    }
    vec![match spec.params.contains_key("temperature") {
        false => format!("The teacher, {teacher}, is not a trained network but a built-in heuristic."),
        true => format!(
            "The teacher, {teacher}, is not a trained network but the built-in heuristic {} in a stochastic form: its \
             probabilities are the softmax of the heuristic's scores.",
            spec.name
        ),
    }]
}

/// The command at hand as one would type it.
fn command_line() -> String {
    let quote = |word: String| {
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,+@%".contains(c);
        if !word.is_empty() && word.chars().all(plain) { word } else { format!("'{}'", word.replace('\'', r"'\''")) }
    };
    let words = std::env::args().skip(1).map(quote);
    std::iter::once("distill".to_owned()).chain(words).collect::<Vec<_>>().join(" ")
}
