//! The run directory that steps write into and a report is drawn from (`docs/run-directory.md`).

use super::{
    AnyScenario, Attacks, Compared, Evaluated, Explained, PipelineError, files::write_compact, files::write_json,
};
use sched_distill_core::{
    figure::{COMPLETION_FIGURES, Figure},
    level::{NetworkWords, Words},
    model::{Provenance, Student},
    policy::Sort,
    spec::{Spec, brief},
    text::without_mark,
};
use sched_distill_explain::Explanation;
use sched_distill_judge::evaluator::{ClosedLoop, Evaluation};
use sched_distill_trace::Trace;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use std::path::{Path, PathBuf};

/// Version of `run.json` that this build writes and reads.
pub const RUN_FORMAT: u32 = 1;

/// What was run, from which anybody can run it again (`run.json`). It holds no clock times, so equal runs have equal
/// bytes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunInfo {
    /// Always [`RUN_FORMAT`].
    pub format_version: u32,
    /// Heading of the report.
    pub title: String,
    /// Program and version that made the run, e.g. `sched-distill 0.1.0`.
    pub created_by: String,
    /// Commands that make this directory again, in order.
    pub commands: Vec<String>,
    /// The policy that was explained.
    pub teacher: TeacherInfo,
    /// Workload as named by the user.
    pub workload: String,
    /// What schedulers are judged by; left out where it is the mean completion time.
    #[serde(default = "completion", skip_serializing_if = "is_completion")]
    pub objective: Figure,
    /// The user's seed.
    pub seed: u64,
    /// How much was recorded, split by split.
    pub splits: Vec<SplitInfo>,
    /// What a reader must know to judge the figures, one sentence each, e.g. "The teacher is a heuristic in stochastic
    /// form.".
    pub notes: Vec<String>,
    /// What the scenario calls things in sentences; without it, sentences name columns.
    #[serde(default, skip_serializing_if = "Words::is_empty")]
    pub words: Words,
    /// Whether the workload is a history of which no schedule can be carried out again, so that it cannot check the simulator.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub simulated_only: bool,
}

fn completion() -> Figure {
    COMPLETION_FIGURES[0].clone()
}

fn is_completion(figure: &Figure) -> bool {
    *figure == COMPLETION_FIGURES[0]
}

/// The policy that was explained.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TeacherInfo {
    /// Policy as named by the user.
    pub id: String,
    /// What people call it; left out where that is the policy's name or its file's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Files that the policy was read from; empty for built-in policies.
    pub files: Vec<FileHash>,
}

/// A file and its content's hash.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FileHash {
    /// Name of the file as the user gave it.
    pub path: String,
    /// SHA-256 of its bytes in lower-case hex.
    pub sha256: String,
}

/// How much was recorded for one split.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SplitInfo {
    /// `train`, `validation`, `test` or `final`, and whether another policy than the teacher decided.
    pub split: String,
    /// Episodes recorded.
    pub episodes: u64,
    /// Decisions recorded.
    pub decisions: u64,
}

/// A run directory.
#[derive(Clone, Debug)]
pub struct RunDir {
    dir: PathBuf,
    /// Whom the files are about.
    student: Student,
}

/// What is known of a run's student.
#[derive(Clone, Debug)]
pub struct Known {
    /// Its figures.
    pub evaluation: Evaluation,
    /// Other students beside it.
    pub compared: Vec<Compared>,
    /// Seed of the run.
    pub seed: u64,
}

/// Who comes into a run directory.
#[derive(Clone, Copy)]
pub struct Visit<'a> {
    /// The student's scenario.
    pub scenario: Option<&'a dyn AnyScenario>,
    /// The user's seed.
    pub seed: u64,
    /// The command at hand as one would type it, or what stands for it.
    pub command: &'a str,
}

impl RunDir {
    /// Says that a directory holds a student already, before one is made for it.
    ///
    /// # Errors
    ///
    /// If it does.
    pub fn check_free(dir: &Path) -> Result<(), PipelineError> {
        let path = dir.join("student.json");
        match path.exists() {
            true => Err(PipelineError::StudentThere(path)),
            false => Ok(()),
        }
    }

    /// Puts a student into a run directory, makes the directory if need be, and notes the command at hand after those
    /// that made the traces it reads.
    ///
    /// # Errors
    ///
    /// If the directory holds another student or cannot be written.
    pub fn enter<'t>(
        dir: &Path,
        student: &Student,
        traces: impl IntoIterator<Item = &'t Trace>,
        visit: Visit<'_>,
    ) -> Result<Self, PipelineError> {
        std::fs::create_dir_all(dir).map_err(|source| PipelineError::NoRunDir { path: dir.to_owned(), source })?;
        let student_path = dir.join("student.json");
        let is_there = student_path.is_file();
        if is_there && Student::load(&student_path)?.hash() != student.hash() {
            return Err(PipelineError::OtherStudent(student_path));
        }
        let path = dir.join("run.json");
        let Provenance { teacher, workload, .. } = &student.provenance;
        let found: Option<RunInfo> = read_info(&path)?;
        let mut info = found.unwrap_or_else(|| RunInfo::new(visit.scenario, teacher, workload, visit.seed));
        if let Some(scenario) = visit.scenario {
            info.words = words(Some(scenario));
        }
        for trace in traces {
            // What is known already was made by a command that is known.
            if info.describe(trace)? {
                recording(trace).into_iter().for_each(|command| info.note(command));
            }
        }
        info.note(visit.command.to_owned());
        write_json(&path, &info)?;
        // A folder with a student is taken: it comes last, so that a command that was killed can be repeated.
        if !is_there {
            student.save(&student_path)?;
        }
        Ok(Self { dir: dir.to_owned(), student: student.clone() })
    }

    /// Notes the command at hand if the directory is that of a run.
    ///
    /// # Errors
    ///
    /// If the description is damaged or cannot be written.
    pub fn note_command(dir: &Path, command: &str) -> Result<(), PipelineError> {
        let path = dir.join("run.json");
        let Some(mut info) = read_info(&path)? else { return Ok(()) };
        info.note(command.to_owned());
        write_json(&path, &info)
    }

    /// Writes what was measured, joined with what an earlier evaluation of the same student measured and this one did
    /// not, so that fidelity and closed loop may come from two commands.
    ///
    /// # Errors
    ///
    /// An earlier file that is no evaluation, or a file that cannot be written.
    pub fn write_evaluation(&self, found: &Evaluated) -> Result<PathBuf, PipelineError> {
        let path = self.dir.join("evaluation.json");
        let mut now = found.evaluation.clone();
        let before: Option<Evaluation> = self.read("evaluation.json", "an evaluation")?;
        if let Some(before) = before.filter(|b| self.student.has_hash(&b.student)) {
            if now.fidelity.is_empty() {
                (now.fidelity, now.leads, now.departures) = (before.fidelity, before.leads, before.departures);
            }
            if now.disagreement.is_empty() {
                now.disagreement = before.disagreement;
            }
            if now.closed_loop.is_none() {
                (now.closed_loop, now.other_workloads) = (before.closed_loop, before.other_workloads);
                now.stakes = before.stakes;
            }
        }
        if found.evaluation.closed_loop.is_some() {
            write_json(&self.dir.join("schedules.json"), &found.schedules)?;
        }
        if let Some(latency) = &found.latency {
            write_json(&self.dir.join("latency.json"), latency)?;
        }
        write_json(&path, &now)?;
        Ok(path)
    }

    /// What is known of a run's student: its figures, and those of others beside it.
    ///
    /// # Errors
    ///
    /// A file that is missing or damaged, and figures of another student.
    pub fn known(dir: &Path, student: &Student) -> Result<Known, PipelineError> {
        let run = Self::of(dir, student);
        let info = read_info(&dir.join("run.json"))?;
        let evaluation: Option<Evaluation> = run.read("evaluation.json", "an evaluation")?;
        let evaluation = evaluation.filter(|e| student.has_hash(&e.student));
        let (Some(info), Some(evaluation)) = (info, evaluation) else {
            return Err(PipelineError::NotMeasured(dir.to_owned()));
        };
        let compared: Option<Vec<Compared>> = run.read("compared.json", "a list of students")?;
        let beside = |c: &Compared| student.has_hash(&c.beside);
        let compared = compared.unwrap_or_default().into_iter().filter(beside).collect();
        Ok(Known { evaluation, compared, seed: info.seed })
    }

    /// An earlier explanation of the same student on the same trace, for what is not measured every time.
    #[must_use]
    pub fn explained_before(&self, now: &Explanation) -> Option<Explanation> {
        let before: Option<Explanation> = self.read("explanation.json", "an explanation").ok().flatten();
        before.filter(|b| self.student.has_hash(&b.student) && b.trace == now.trace)
    }

    /// A file about the student's levels that need not be there.
    fn read<T: DeserializeOwned>(&self, name: &str, expected: &'static str) -> Result<Option<T>, PipelineError> {
        read(&self.dir.join(name), expected, |text| self.student.feature_set.read(text))
    }

    /// The run directory of a student, which is there.
    #[must_use]
    pub fn of(dir: &Path, student: &Student) -> Self {
        Self { dir: dir.to_owned(), student: student.clone() }
    }

    /// Where it is.
    pub(super) fn path(&self) -> &Path {
        &self.dir
    }

    /// What was run.
    pub(super) fn info(&self) -> Result<RunInfo, PipelineError> {
        let path = self.dir.join("run.json");
        let missing = || PipelineError::Refused(format!("{}: there is no such file", path.display()));
        read_info(&path)?.ok_or_else(missing)
    }

    /// How the run's student scheduled, if it did.
    pub(super) fn closed_loop(&self) -> Result<Option<ClosedLoop>, PipelineError> {
        let evaluation: Option<Evaluation> = self.read("evaluation.json", "an evaluation")?;
        Ok(evaluation.filter(|e| self.student.has_hash(&e.student)).and_then(|e| e.closed_loop))
    }

    /// What is known of attacks on the run's schedulers.
    pub(super) fn attacks(&self) -> Result<Attacks, PipelineError> {
        let found: Option<Attacks> = self.read("attacks.json", "a list of attacks")?;
        let found = found.filter(|found| self.student.has_hash(&found.student));
        Ok(found.unwrap_or_else(|| Attacks { student: self.student.hash(), ..Attacks::default() }))
    }

    pub(super) fn write_attacks(&self, all: &Attacks) -> Result<(), PipelineError> {
        write_compact(&self.dir.join("attacks.json"), all)
    }

    /// Writes what a student goes by, its decisions one by one, and choices to try changes on.
    ///
    /// # Errors
    ///
    /// A file that cannot be written.
    pub fn write_explanation(&self, found: &Explained) -> Result<(), PipelineError> {
        found.write(&self.dir)
    }
}

fn read_info(path: &Path) -> Result<Option<RunInfo>, PipelineError> {
    read(path, "a run's description", |text| serde_json::from_slice(text))
}

/// A file of a run directory that need not be there.
fn read<T>(
    path: &Path,
    expected: &'static str,
    parse: impl FnOnce(&[u8]) -> serde_json::Result<T>,
) -> Result<Option<T>, PipelineError> {
    let text = match std::fs::read(path) {
        Ok(text) => text,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(source) => return Err(PipelineError::Read { path: path.to_owned(), source }),
    };
    let malformed = |source| PipelineError::Malformed { path: path.to_owned(), expected, source };
    parse(without_mark(&text)).map(Some).map_err(malformed)
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

impl RunInfo {
    /// The description of a run that has not done anything yet.
    #[must_use]
    pub fn new(scenario: Option<&dyn AnyScenario>, teacher: &str, workload: &str, seed: u64) -> Self {
        Self {
            format_version: RUN_FORMAT,
            title: title(scenario, teacher),
            created_by: format!("sched-distill {}", env!("CARGO_PKG_VERSION")),
            commands: Vec::new(),
            teacher: TeacherInfo { id: teacher.to_owned(), name: None, files: Vec::new() },
            workload: workload.to_owned(),
            objective: COMPLETION_FIGURES[0].clone(),
            seed,
            splits: Vec::new(),
            notes: notes(scenario, teacher),
            words: words(scenario),
            // A workload that cannot be opened is said to be where it is used.
            simulated_only: scenario.is_some_and(|s| s.is_unchecked(workload).unwrap_or(false)),
        }
    }

    /// Adds what a trace says of its making. Returns whether its episodes are new.
    ///
    /// # Errors
    ///
    /// A trace that cannot be read.
    pub fn describe(&mut self, trace: &Trace) -> Result<bool, PipelineError> {
        let m = &trace.manifest;
        let decisions = decisions(trace)?;
        let of_another = if m.driver.id == m.labeller.id { "" } else { ", decided by another policy" };
        let split = format!("{}{of_another}", m.split.name());
        let split = SplitInfo { split, episodes: u64::from(m.episodes), decisions };
        if let Some(objective) = m.figures.first() {
            self.objective = objective.clone();
        }
        let new = !self.splits.contains(&split);
        if new {
            self.splits.push(split);
        }
        if self.teacher.files.is_empty() && m.labeller.id == self.teacher.id {
            let file = |(path, sha256): (&String, &String)| FileHash { path: path.clone(), sha256: sha256.clone() };
            self.teacher.files = m.labeller.files.iter().map(file).collect();
        }
        Ok(new)
    }

    /// What people call the teacher: the name that the user gave it, that of the network that comes with the program, that of its file,
    /// or the policy's.
    #[must_use]
    pub fn teacher_name(&self) -> String {
        let Ok(spec) = self.teacher.id.parse::<Spec>() else { return brief(&self.teacher.id) };
        let own = network(&self.words, &spec).map(|network| network.name.clone());
        self.teacher.name.clone().or(own).or(stem(&spec)).unwrap_or_else(|| brief(&self.teacher.id))
    }

    /// The same with a name for the teacher, for display.
    #[must_use]
    pub fn calling_it(mut self, name: Option<&str>) -> Self {
        if let Some(name) = name {
            (self.title, self.teacher.name) = (format!("What {name} does"), Some(name.to_owned()));
        }
        self
    }

    /// Adds a command that is not there yet.
    pub fn note(&mut self, command: String) {
        if !self.commands.contains(&command) {
            self.commands.push(command);
        }
    }
}

/// What a scenario calls things.
fn words(scenario: Option<&dyn AnyScenario>) -> Words {
    scenario.map_or_else(Words::default, |scenario| (scenario.info().words)())
}

/// How many decisions a trace holds; where it has no table of episodes, as many as choices of its first level.
fn decisions(trace: &Trace) -> Result<u64, PipelineError> {
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
fn title(scenario: Option<&dyn AnyScenario>, teacher: &str) -> String {
    let name = |spec: Spec| {
        let own = network(&words(scenario), &spec).map(|network| network.noun.clone());
        own.or(stem(&spec)).unwrap_or(spec.name)
    };
    format!("What {} does", teacher.parse().map_or_else(|_| teacher.to_owned(), name))
}

/// The network that comes with the program, if the policy is one.
fn network<'a>(words: &'a Words, policy: &Spec) -> Option<&'a NetworkWords> {
    words.network(&policy.name).filter(|_| policy.file.is_none())
}

/// The name of a policy's file without its folder and its ending.
fn stem(policy: &Spec) -> Option<String> {
    Some(policy.file.as_ref()?.file_stem()?.to_string_lossy().into_owned())
}

/// What a reader must know of a teacher that is no network.
fn notes(scenario: Option<&dyn AnyScenario>, teacher: &str) -> Vec<String> {
    let Ok(spec) = teacher.parse::<Spec>() else { return Vec::new() };
    if scenario.and_then(|scenario| scenario.sort_of(&spec.name)) != Some(Sort::Heuristic) {
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
#[must_use]
pub fn command_line(words: impl Iterator<Item = String>) -> String {
    let words = words.map(|word| quoted(&word));
    std::iter::once("distill".to_owned()).chain(words).collect::<Vec<_>>().join(" ")
}

/// A word as a shell reads it.
#[must_use]
pub fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,+@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}
