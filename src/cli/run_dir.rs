//! The run directory that `evaluate` and `explain` write into and `report` draws from.

use super::files::{arguments, write_json};
use crate::{
    figure::COMPLETION_FIGURES,
    model::Student,
    policy::Sort,
    registry::sort_of,
    report::{FileHash, RUN_FORMAT, RunInfo, SplitInfo, TeacherInfo},
    spec::Spec,
    trace::Trace,
};
use anyhow::{Context, Result, bail};
use std::path::Path;

/// Puts a student into a run directory, makes the directory if need be, and notes the command at hand after those that made
/// the traces it reads.
///
/// # Errors
///
/// If the directory holds another student or cannot be written.
pub(super) fn enter<'a>(
    dir: &Path,
    student: &Student,
    traces: impl IntoIterator<Item = &'a Trace>,
    seed: u64,
) -> Result<()> {
    std::fs::create_dir_all(dir).with_context(|| format!("{}: cannot create the run directory", dir.display()))?;
    let student_path = dir.join("student.json");
    let is_there = student_path.is_file();
    if is_there && Student::load(&student_path)?.hash() != student.hash() {
        bail!(
            "{}: the run directory holds another student; give another directory, or remove the file to replace it",
            student_path.display()
        );
    }
    let path = dir.join("run.json");
    let mut info = match std::fs::read(&path) {
        Ok(text) => read_info(&text, &path)?,
        Err(_) => new(&student.feature_set.scenario, &student.provenance.teacher, &student.provenance.workload, seed),
    };
    let mut commands = Vec::new();
    for trace in traces {
        // What is known already was made by a command that is known.
        if describe(&mut info, trace)? {
            commands.extend(recording(trace));
        }
    }
    commands.push(command_line(arguments()));
    add_commands(&mut info, commands);
    write_json(&path, &info)?;
    // A folder with a student is taken: it comes last, so that a command that was killed can be repeated.
    if !is_there {
        student.save(&student_path)?;
    }
    Ok(())
}

/// Notes the command at hand if the directory is that of a run.
///
/// # Errors
///
/// If the description is damaged or cannot be written.
pub(super) fn note_command(dir: &Path) -> Result<()> {
    let path = dir.join("run.json");
    let Ok(text) = std::fs::read(&path) else { return Ok(()) };
    let mut info = read_info(&text, &path)?;
    add_commands(&mut info, vec![command_line(arguments())]);
    write_json(&path, &info)
}

fn read_info(text: &[u8], path: &Path) -> Result<RunInfo> {
    serde_json::from_slice(text).with_context(|| format!("{}: not a run's description", path.display()))
}

fn add_commands(info: &mut RunInfo, commands: Vec<String>) {
    for command in commands {
        if !info.commands.contains(&command) {
            info.commands.push(command);
        }
    }
}

/// Says that a directory holds a student already, before one is made for it.
///
/// # Errors
///
/// If it does.
pub(super) fn check_free(dir: &Path) -> Result<()> {
    let path = dir.join("student.json");
    if path.exists() {
        bail!("{}: the run directory has a student; give another directory, or remove its files", path.display());
    }
    Ok(())
}

/// The command that makes a trace again; `None` if this build's `distill record` did not make it at once.
fn recording(trace: &Trace) -> Option<String> {
    let m = &trace.manifest;
    let own = m.version == env!("CARGO_PKG_VERSION") && m.driver == m.labeller && m.first_episode == 0;
    let numbers =
        [("-n", m.episodes.to_string()), ("--split", m.split.name().to_owned()), ("--seed", m.seed.to_string())];
    let words = [("-p", m.labeller.id.clone()), ("-w", m.workload.id.clone())]
        .into_iter()
        .chain(numbers)
        .chain([("-o", trace.dir.display().to_string())])
        .flat_map(|(option, value)| [option.to_owned(), value]);
    own.then(|| command_line(std::iter::once("record".to_owned()).chain(words)))
}

/// The description of a run of a scenario that has not done anything yet.
pub(super) fn new(scenario: &str, teacher: &str, workload: &str, seed: u64) -> RunInfo {
    RunInfo {
        format_version: RUN_FORMAT,
        title: title(teacher),
        created_by: format!("sched-distill {}", env!("CARGO_PKG_VERSION")),
        commands: Vec::new(),
        teacher: TeacherInfo { id: teacher.to_owned(), files: Vec::new() },
        workload: workload.to_owned(),
        objective: COMPLETION_FIGURES[0].clone(),
        seed,
        splits: Vec::new(),
        notes: notes(scenario, teacher),
    }
}

/// Adds what a trace says of its making. Returns whether its episodes are new.
pub(super) fn describe(info: &mut RunInfo, trace: &Trace) -> Result<bool> {
    let m = &trace.manifest;
    let decisions = decisions(trace)?;
    let split = SplitInfo { split: m.split.name().to_owned(), episodes: u64::from(m.episodes), decisions };
    if let Some(objective) = m.figures.first() {
        info.objective = objective.clone();
    }
    let new = !info.splits.contains(&split);
    if new {
        info.splits.push(split);
    }
    if info.teacher.files.is_empty() && m.labeller.id == info.teacher.id {
        let file = |(path, sha256): (&String, &String)| FileHash { path: path.clone(), sha256: sha256.clone() };
        info.teacher.files = m.labeller.files.iter().map(file).collect();
    }
    Ok(new)
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
fn notes(scenario: &str, teacher: &str) -> Vec<String> {
    let Ok(spec) = teacher.parse::<Spec>() else { return Vec::new() };
    if sort_of(scenario, &spec.name) != Some(Sort::Heuristic) {
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

/// A command as one would type it.
fn command_line(words: impl Iterator<Item = String>) -> String {
    let quote = |word: String| {
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,+@%".contains(c);
        if !word.is_empty() && word.chars().all(plain) { word } else { format!("'{}'", word.replace('\'', r"'\''")) }
    };
    std::iter::once("distill".to_owned()).chain(words.map(quote)).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_heuristics_are_said_to_be_none_of_a_network() {
        assert!(notes("dag", "decima").is_empty() && notes("dag", "script:python3 policy.py").is_empty());
        assert!(notes("dag", "sjf")[0].contains("not a trained network"));
        assert!(notes("training", "drf")[0].contains("not a trained network"));
        // A name means nothing in another scenario.
        assert!(notes("training", "sjf").is_empty() && notes("elsewhere", "fifo").is_empty());
    }
}
