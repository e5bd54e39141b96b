//! What a run directory holds (`docs/run-directory.md`), and reading it with errors that name the next step.

use super::ReportError;
use crate::evaluator::{Estimate, Evaluation, Schedule};
use crate::model::Student;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// Version of `run.json` that this build writes and reads.
pub const RUN_FORMAT: u32 = 1;

/// What was run, from which anybody can run it again (`run.json`). It holds no clock times, so equal runs have equal bytes.
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
    /// The user's seed.
    pub seed: u64,
    /// How much was recorded, split by split.
    pub splits: Vec<SplitInfo>,
    /// What a reader must know to judge the figures, one sentence each, e.g. "The teacher is a heuristic in stochastic form.".
    pub notes: Vec<String>,
}

/// The policy that was explained.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TeacherInfo {
    /// Policy as named by the user.
    pub id: String,
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
    /// `train`, `validation`, `test` or `final`.
    pub split: String,
    /// Episodes recorded.
    pub episodes: u64,
    /// Decisions recorded.
    pub decisions: u64,
}

/// The files of a run directory that a report draws from.
pub(super) struct RunDir {
    pub(super) info: RunInfo,
    pub(super) student: Student,
    pub(super) evaluation: Evaluation,
    /// Empty if no schedule was recorded.
    pub(super) schedules: Vec<Schedule>,
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
        let info: RunInfo = json(&dir.join("run.json"), DEMO)?;
        if info.format_version != RUN_FORMAT {
            let found = info.format_version;
            let reason = format!("format version {found} is not supported (this build reads {RUN_FORMAT})");
            return Err(ReportError::Invalid { path: dir.join("run.json"), reason });
        }
        let student = dir.join("student.json");
        const FIT: &str = "distill fit";
        if !student.is_file() {
            return Err(ReportError::Missing { path: student, command: FIT });
        }
        let student = Student::load(&student).map_err(|source| ReportError::Student { source: Box::new(source) })?;

        const EVALUATE: &str = "distill evaluate";
        let path = dir.join("evaluation.json");
        let evaluation: Evaluation = json(&path, EVALUATE)?;
        check_evaluation(&evaluation).map_err(|reason| ReportError::Invalid { path, reason })?;

        let path = dir.join("schedules.json");
        let schedules: Vec<Schedule> = match json(&path, EVALUATE) {
            Err(ReportError::Missing { .. }) => Vec::new(),
            other => other?,
        };
        let schedules = schedules.into_iter().map(|s| Schedule { policy: brief(&s.policy), ..s }).collect::<Vec<_>>();
        let evaluation = with_brief_names(evaluation);
        check_schedules(&schedules).map_err(|reason| ReportError::Invalid { path, reason })?;
        Ok(Self { info, student, evaluation, schedules })
    }
}

/// A policy or workload id without the folders of its file: `decima:a/b/model.pt,mode=sample` is `decima:model.pt,mode=sample`.
pub(super) fn brief(id: &str) -> String {
    let Some((name, rest)) = id.split_once(':') else { return id.to_owned() };
    let (file, params) = rest.split_once(',').map_or((rest, String::new()), |(file, p)| (file, format!(",{p}")));
    let file = file.rsplit(['/', '\\']).next().unwrap_or(file);
    format!("{name}:{file}{params}")
}

/// Brief names for all policies, unless two of them would then be the same.
fn with_brief_names(mut evaluation: Evaluation) -> Evaluation {
    if let Some(result) = &mut evaluation.closed_loop {
        let mut names: Vec<String> = result.policies.iter().map(|p| brief(&p.policy)).collect();
        names.sort_unstable();
        if names.windows(2).all(|w| w[0] != w[1]) {
            result.policies.iter_mut().for_each(|p| p.policy = brief(&p.policy));
            result.ratios.iter_mut().for_each(|r| (r.policy, r.baseline) = (brief(&r.policy), brief(&r.baseline)));
        }
        result.workload = brief(&result.workload);
    }
    evaluation
}

fn json<T: DeserializeOwned>(path: &Path, command: &'static str) -> Result<T, ReportError> {
    let path = PathBuf::from(path);
    let text = match std::fs::read(&path) {
        Ok(text) => text,
        Err(e) if e.kind() == ErrorKind::NotFound => return Err(ReportError::Missing { path, command }),
        Err(source) => return Err(ReportError::Io { path, source }),
    };
    serde_json::from_slice(&text).map_err(|source| ReportError::Malformed { path, command, source })
}

/// Beyond this, differences of figures overflow or lose all digits.
const HUGE: f64 = 1e15;

fn check_estimate(place: &str, figure: &str, e: &Estimate) -> Result<(), String> {
    let fine = |v: f64| v.abs() <= HUGE;
    if fine(e.value) && fine(e.low) && fine(e.high) && e.low <= e.high {
        return Ok(());
    }
    Err(format!("{place}: {figure} is {} [{}, {}], expected a finite figure with low <= high", e.value, e.low, e.high))
}

fn check_evaluation(evaluation: &Evaluation) -> Result<(), String> {
    for r in &evaluation.fidelity {
        let place = format!("fidelity of `{}` at level `{}`, kind `{}`", r.scorer, r.level, r.kind);
        let figures = [
            ("top1", Some(&r.top1)),
            ("top2", Some(&r.top2)),
            ("top3", Some(&r.top3)),
            ("regret", r.regret.as_ref()),
            ("cross_entropy", r.cross_entropy.as_ref()),
            ("kendall", r.kendall.as_ref()),
            ("executed", r.executed.as_ref()),
            ("amount_error", r.amount_error.as_ref()),
        ];
        for (name, figure) in figures {
            figure.map_or(Ok(()), |e| check_estimate(&place, name, e))?;
        }
    }
    let Some(closed_loop) = &evaluation.closed_loop else {
        return Ok(());
    };
    for p in &closed_loop.policies {
        let place = format!("policy `{}`", p.policy);
        for (name, figure) in [("mean_jct_ms", &p.mean_jct_ms), ("makespan_ms", &p.makespan_ms)] {
            figure.as_ref().map_or(Ok(()), |e| check_estimate(&place, name, e))?;
        }
    }
    for r in &closed_loop.ratios {
        let place = format!("ratio of `{}` to `{}`", r.policy, r.baseline);
        for (name, figure) in [("jct", &r.jct), ("makespan", &r.makespan)] {
            figure.as_ref().map_or(Ok(()), |e| check_estimate(&place, name, e))?;
        }
    }
    Ok(())
}

fn check_schedules(schedules: &[Schedule]) -> Result<(), String> {
    for s in schedules {
        for (i, r) in s.runs.iter().enumerate() {
            if !(0.0 <= r.start_ms && r.start_ms <= r.end_ms && r.end_ms <= HUGE && r.lane < s.lanes) {
                return Err(format!(
                    "policy `{}`: run {i} is in lane {} from {} to {} ms, expected 0 <= start <= end and a lane below {}",
                    s.policy, r.lane, r.start_ms, r.end_ms, s.lanes
                ));
            }
        }
    }
    if let Some(other) = schedules.iter().find(|s| s.episode != schedules[0].episode) {
        return Err(format!(
            "policy `{}` ran episode {}, but `{}` ran episode {}; schedules are compared on the same episode",
            other.policy, other.episode, schedules[0].policy, schedules[0].episode
        ));
    }
    Ok(())
}
