//! What a run directory holds (`docs/run-directory.md`), and reading it with errors that name the next step.

use super::{ReportError, explanation_checks, run_checks};
use sched_distill_core::{level::FeatureSet, model::Student};
use sched_distill_toolkit::{
    augment::Step,
    distiller::SizeFront,
    evaluator::{Evaluation, Schedule},
    explainer::{Decisions, Explanation, WhatIf},
    pipeline::{RUN_FORMAT, RunInfo},
};
use serde::de::DeserializeOwned;
use std::{
    io::ErrorKind,
    path::{Path, PathBuf},
};

/// The files of a run directory that a report draws from.
pub(super) struct RunDir {
    pub(super) info: RunInfo,
    pub(super) student: Student,
    pub(super) evaluation: Evaluation,
    /// Empty if no schedule was recorded.
    pub(super) schedules: Vec<Schedule>,
    /// `None` if the student was not explained.
    pub(super) explanation: Option<Explanation>,
    /// `None` likewise.
    pub(super) decisions: Option<Decisions>,
    /// Choices to try changes on; `None` likewise, and of earlier versions.
    pub(super) what_if: Option<WhatIf>,
    /// What other sizes would buy; `None` if `distill front` was not run.
    pub(super) front: Option<SizeFront>,
    /// What a search for edits tried; `None` if `distill augment` was not run.
    pub(super) steps: Option<Vec<Step>>,
}

impl RunDir {
    /// Reads and checks the directory.
    ///
    /// # Errors
    ///
    /// [`ReportError::Missing`], [`ReportError::Malformed`], [`ReportError::Student`], [`ReportError::Invalid`] or
    /// [`ReportError::Io`], each naming the file.
    pub(super) fn load(dir: &Path) -> Result<Self, ReportError> {
        const DEMO: &str = "distill demo";
        let info: RunInfo = json(&dir.join("run.json"), DEMO, |text| serde_json::from_slice(text))?;
        if info.format_version != RUN_FORMAT {
            let found = info.format_version;
            let reason = format!("format version {found} is not supported (this build reads {RUN_FORMAT})");
            return Err(ReportError::Invalid { path: dir.join("run.json"), reason });
        }
        let path = dir.join("student.json");
        const FIT: &str = "distill fit";
        if !path.is_file() {
            return Err(ReportError::Missing { path, command: FIT });
        }
        let student = Student::load(&path).map_err(|source| ReportError::Student { source: Box::new(source) })?;
        let set = &student.feature_set;

        const EVALUATE: &str = "distill evaluate";
        let check = |e: &Evaluation| run_checks::evaluation(e, &student);
        let evaluation = optional(dir, set, "evaluation.json", EVALUATE, check)?.unwrap_or_default();

        let schedules: Vec<Schedule> =
            optional(dir, set, "schedules.json", EVALUATE, |s: &Vec<Schedule>| run_checks::schedules(s))?
                .unwrap_or_default();
        let schedules = schedules.into_iter().map(|s| Schedule { policy: brief(&s.policy), ..s }).collect::<Vec<_>>();
        let evaluation = with_brief_names(evaluation);
        let front = optional(dir, set, "front.json", "distill front", run_checks::front)?;
        let steps = optional(dir, set, "steps.json", "distill augment", |s: &Vec<Step>| run_checks::steps(s))?;
        const EXPLAIN: &str = "distill explain";
        let check = |e: &Explanation| explanation_checks::explanation(e, &student);
        let explanation = optional(dir, set, "explanation.json", EXPLAIN, check)?;
        let check = |d: &Decisions| explanation_checks::decisions(d, &student);
        let decisions = optional(dir, set, "decisions.json", EXPLAIN, check)?;
        let check = |w: &WhatIf| explanation_checks::what_if(w, &student);
        let what_if = optional(dir, set, "what_if.json", EXPLAIN, check)?;
        Ok(Self { info, student, evaluation, schedules, front, steps, explanation, decisions, what_if })
    }
}

/// A policy or workload id without the folders of its file: `net:a/b/model.pt,mode=sample` is `net:model.pt,mode=sample`.
pub(super) fn brief(id: &str) -> String {
    let Some((name, rest)) = id.split_once(':') else { return id.to_owned() };
    let (file, params) = rest.split_once(',').map_or((rest, String::new()), |(file, p)| (file, format!(",{p}")));
    let file = file.rsplit(['/', '\\']).next().unwrap_or(file);
    format!("{name}:{file}{params}")
}

/// Brief names for all policies, unless two of them would then be the same.
fn with_brief_names(mut evaluation: Evaluation) -> Evaluation {
    for result in evaluation.closed_loop.iter_mut().chain(&mut evaluation.other_workloads) {
        let mut names: Vec<String> = result.policies.iter().map(|p| brief(&p.policy)).collect();
        names.sort_unstable();
        if names.windows(2).all(|w| w[0] != w[1]) {
            result.policies.iter_mut().for_each(|p| p.policy = brief(&p.policy));
            result.comparisons.iter_mut().for_each(|c| (c.policy, c.baseline) = (brief(&c.policy), brief(&c.baseline)));
        }
        result.workload = brief(&result.workload);
    }
    evaluation
}

/// Reads and checks a file about levels of `set`, which need not be there.
fn optional<T: DeserializeOwned>(
    dir: &Path,
    set: &FeatureSet,
    name: &str,
    command: &'static str,
    check: impl Fn(&T) -> Result<(), String>,
) -> Result<Option<T>, ReportError> {
    let path = dir.join(name);
    let found: T = match json(&path, command, |text| set.read(text)) {
        Err(ReportError::Missing { .. }) => return Ok(None),
        other => other?,
    };
    check(&found).map_err(|reason| ReportError::Invalid { path, reason })?;
    Ok(Some(found))
}

fn json<T>(
    path: &Path,
    command: &'static str,
    parse: impl FnOnce(&[u8]) -> serde_json::Result<T>,
) -> Result<T, ReportError> {
    let path = PathBuf::from(path);
    let text = match std::fs::read(&path) {
        Ok(text) => text,
        Err(e) if e.kind() == ErrorKind::NotFound => return Err(ReportError::Missing { path, command }),
        Err(source) => return Err(ReportError::Io { path, source }),
    };
    parse(&text).map_err(|source| ReportError::Malformed { path, command, source })
}
