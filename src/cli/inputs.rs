//! What a command reads: all of it is looked for before the work begins, and what is missing or something else is said
//! in one error.

use super::{common::Common, files::shown};
use crate::{foreign::not_built, model::Student, policy::STUDENT, spec::Spec};
use anyhow::{Result, bail};
use std::path::{Path, PathBuf};

/// What a path should be.
#[derive(Clone, Copy, PartialEq)]
enum Wanted {
    Trace,
    Student,
    RunDirectory,
    File,
    Anything,
}

/// The files and folders that a command reads.
#[derive(Default)]
pub(super) struct Inputs {
    paths: Vec<(PathBuf, Wanted)>,
    /// Files of policies and workloads, by the name of these: another name is told before its file is missed.
    named: Vec<(String, PathBuf, Wanted)>,
    /// Specs that are no spec but a path.
    bare: Vec<String>,
}

impl Inputs {
    pub(super) fn traces<'a>(self, paths: impl IntoIterator<Item = &'a PathBuf>) -> Self {
        self.with(paths, Wanted::Trace)
    }

    pub(super) fn students<'a>(self, paths: impl IntoIterator<Item = &'a PathBuf>) -> Self {
        self.with(paths, Wanted::Student)
    }

    pub(super) fn run_directory(self, path: &PathBuf) -> Self {
        self.with([path], Wanted::RunDirectory)
    }

    pub(super) fn files<'a>(self, paths: impl IntoIterator<Item = &'a PathBuf>) -> Self {
        self.with(paths, Wanted::File)
    }

    pub(super) fn anything(self, path: &PathBuf) -> Self {
        self.with([path], Wanted::Anything)
    }

    fn with<'a>(mut self, paths: impl IntoIterator<Item = &'a PathBuf>, wanted: Wanted) -> Self {
        self.paths.extend(paths.into_iter().map(|path| (path.clone(), wanted)));
        self
    }

    /// The files of policies.
    pub(super) fn policies<'a>(mut self, ids: impl IntoIterator<Item = &'a String>) -> Self {
        for id in ids {
            match id.parse() {
                Ok(Spec { name, file: Some(file), .. }) => {
                    let wanted = if name == STUDENT.name { Wanted::Student } else { Wanted::File };
                    self.named.push((name, file, wanted));
                }
                Ok(Spec { file: None, .. }) if Path::new(id).is_file() => self.bare.push(id.clone()),
                _ => {}
            }
        }
        self
    }

    /// The files of workloads.
    pub(super) fn workloads<'a>(mut self, ids: impl IntoIterator<Item = &'a String>) -> Self {
        let specs = ids.into_iter().filter_map(|id| id.parse::<Spec>().ok());
        self.named.extend(specs.filter_map(|spec| Some((spec.name, spec.file?, Wanted::Anything))));
        self
    }

    /// Looks for everything, of policies and workloads for what this program knows by name.
    ///
    /// # Errors
    ///
    /// All that is not there or is something else, and what to do about it.
    pub(super) fn check(&self, common: &Common) -> Result<()> {
        let named = || self.named.iter().filter(|(name, _, _)| common.is_in_a_file(name));
        // Whether a file is there does not matter to a build that cannot read it.
        let mut said: Vec<String> =
            named().filter_map(|(name, path, _)| Some(not_built(name, path)?.to_string())).collect();
        let named = named().filter(|(name, path, _)| not_built(name, path).is_none());
        let paths: Vec<(&PathBuf, Wanted)> = (self.paths.iter().map(|(path, wanted)| (path, *wanted)))
            .chain(named.map(|(_, path, wanted)| (path, *wanted)))
            .collect();
        let found: Vec<(Wanted, Problem)> =
            paths.iter().filter_map(|(path, wanted)| Some((*wanted, problem(path, *wanted)?))).collect();
        let is = |wanted, taken| found.iter().any(|(w, p)| *w == wanted && p.taken == Some(taken));
        let swapped = is(Wanted::Trace, Wanted::Student) && is(Wanted::Student, Wanted::Trace);
        for (_, problem) in &found {
            if !said.contains(&problem.text) {
                said.push(problem.text.clone());
            }
        }
        said.extend(self.bare.iter().map(|id| {
            let whole = if Student::load(Path::new(id)).is_ok() { STUDENT.name } else { "NAME" };
            format!("{id}: a policy that is in a file is written {whole}:{id} (see `distill list policies`)")
        }));
        if swapped {
            said.push("the two are swapped: the student comes first".to_owned());
        }
        said.extend(found.iter().filter_map(|(_, p)| unquoted_script(&common.words, &shown(&p.path))).take(1));
        match said.is_empty() {
            true => Ok(()),
            false => bail!("{}", said.join("; ")),
        }
    }
}

/// The name of policies that are a command.
pub(super) const SCRIPT: &str = "script";

/// What is wrong with a path.
struct Problem {
    path: PathBuf,
    text: String,
    /// What it is instead.
    taken: Option<Wanted>,
}

fn problem(path: &Path, wanted: Wanted) -> Option<Problem> {
    let name = shown(path);
    let is = |taken: Option<Wanted>, text: String| Some(Problem { path: path.to_owned(), text, taken });
    let within = |file: &str| path.join(file).exists();
    if !path.exists() {
        // A link whose end is missing is one more way to be missing.
        let what = match wanted {
            Wanted::Trace | Wanted::RunDirectory => "folder",
            Wanted::Student | Wanted::File => "file",
            Wanted::Anything => "file or folder",
        };
        let alone = name.strip_prefix(STUDENT.name).and_then(|rest| rest.strip_prefix(':'));
        let advice = match alone.filter(|file| wanted == Wanted::Student && Path::new(file).exists()) {
            Some(file) => format!("; give the file alone, {file}"),
            None => String::new(),
        };
        return is(None, format!("{name}: cannot read: there is no such {what}{advice}"));
    }
    let is_trace = path.is_dir() && (within("manifest.json") || within("plan.json"));
    let is_student = || path.is_file() && Student::load(path).is_ok();
    let is_run = || path.is_dir() && (within("run.json") || within("traces"));
    match wanted {
        Wanted::Trace if is_student() => {
            is(Some(Wanted::Student), format!("{name}: is a student, where a trace is wanted"))
        }
        Wanted::Trace if path.is_file() => {
            is(None, format!("{name}: is a file, where a trace is wanted: a folder that `distill record` has written"))
        }
        Wanted::Trace if !is_trace && is_run() => {
            let traces = traces_of(path);
            let advice = match traces.is_empty() {
                true => String::new(),
                false => format!("; its traces are {}", traces.join(", ")),
            };
            is(None, format!("{name}: is a run directory, where a trace is wanted{advice}"))
        }
        Wanted::Student if is_trace => is(
            Some(Wanted::Trace),
            format!("{name}: is a trace, where a student is wanted: a file that `distill fit` has written"),
        ),
        Wanted::Student if path.is_dir() && within("student.json") => is(
            None,
            format!(
                "{name}: is a folder, where a student is wanted; its student is {}",
                shown(&path.join("student.json"))
            ),
        ),
        Wanted::Student if path.is_dir() => {
            is(None, format!("{name}: is a folder, where a student is wanted: a file that `distill fit` has written"))
        }
        Wanted::RunDirectory if path.is_file() => {
            is(None, format!("{name}: is a file, where a run directory is wanted (docs/run-directory.md)"))
        }
        Wanted::File if path.is_dir() => is(None, format!("{name}: is a folder, where a file is wanted")),
        _ => None,
    }
}

/// The traces that a run directory holds.
fn traces_of(run: &Path) -> Vec<String> {
    let splits = ["train", "validation", "test", "final"].map(|split| run.join("traces").join(split));
    splits.iter().filter(|path| path.is_dir()).map(|path| shown(path)).collect()
}

/// What to type where a word that nobody expects belongs to the command of a script: a shell takes it for a word of its
/// own unless the command is quoted.
pub(super) fn unquoted_script(words: &[String], stray: &str) -> Option<String> {
    let is_script = |word: &String| {
        let spec = word.split_once('=').filter(|_| word.starts_with("--")).map_or(word.as_str(), |(_, value)| value);
        spec.trim_start_matches("-p").starts_with("script:")
    };
    let stray = words.iter().position(|word| word == stray)?;
    let script = words[..stray].iter().rposition(is_script)?;
    // Between the two only words of the same command may stand.
    let is_option = |word: &String| word.starts_with("--");
    if words[script + 1..stray].iter().any(is_option) || words[script].contains(' ') {
        return None;
    }
    let end = words[stray + 1..].iter().position(|word| word.starts_with('-')).map_or(words.len(), |n| stray + 1 + n);
    let command = words[script..end].join(" ");
    let command = &command[command.find("script:")?..];
    Some(format!("the command of a script is one word for the shell: quote it, as in -p '{command}'"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_whose_command_is_not_quoted_is_recognised() {
        let hint = |line: &str, stray: &str| {
            let words: Vec<String> = line.split('|').map(str::to_owned).collect();
            unquoted_script(&words, stray).map(|said| said.rsplit_once("as in ").unwrap().1.to_owned())
        };
        let quoted = Some("-p 'script:python x.py'".to_owned());
        assert_eq!(hint("distill|simulate|-p|script:python|x.py|-p|fair", "x.py"), quoted);
        assert_eq!(hint("distill|simulate|--policy=script:python|x.py", "x.py"), quoted);
        let flag = Some("-p 'script:python -u x.py'".to_owned());
        assert_eq!(hint("distill|simulate|-p|script:python|-u|x.py", "-u"), flag);
        assert_eq!(hint("distill|simulate|-p|script:python x.py|more", "more"), None, "quoted");
        assert_eq!(hint("distill|simulate|-p|fair|x.py", "x.py"), None);
        assert_eq!(hint("distill|evaluate|-p|script:./x|-n|3|--split|test|s.json", "s.json"), None);
    }
}
