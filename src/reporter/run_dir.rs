//! What a run directory holds (`docs/run-directory.md`), and reading it with errors that name the next step.

use super::ReportError;
use crate::evaluator::{Estimate, Evaluation, Schedule};
use crate::explainer::{Decisions, EXPLANATION_FORMAT, Explanation};
use crate::model::{Model, Student};
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
    /// `None` if the student was not explained.
    pub(super) explanation: Option<Explanation>,
    /// `None` likewise.
    pub(super) decisions: Option<Decisions>,
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
        let schedules: Vec<Schedule> = optional(json(&path, EVALUATE))?.unwrap_or_default();
        let schedules = schedules.into_iter().map(|s| Schedule { policy: brief(&s.policy), ..s }).collect::<Vec<_>>();
        let evaluation = with_brief_names(evaluation);
        check_schedules(&schedules).map_err(|reason| ReportError::Invalid { path, reason })?;
        const EXPLAIN: &str = "distill explain";
        let hash = student.hash();
        let path = dir.join("explanation.json");
        let explanation = optional(json::<Explanation>(&path, EXPLAIN))?;
        if let Some(e) = &explanation {
            check_explanation(e, &hash, &student).map_err(|reason| ReportError::Invalid { path, reason })?;
        }
        let path = dir.join("decisions.json");
        let decisions = optional(json::<Decisions>(&path, EXPLAIN))?;
        if let Some(d) = &decisions {
            check_decisions(d, &hash).map_err(|reason| ReportError::Invalid { path, reason })?;
        }
        Ok(Self { info, student, evaluation, schedules, explanation, decisions })
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

/// `None` for a file that is not there.
fn optional<T>(found: Result<T, ReportError>) -> Result<Option<T>, ReportError> {
    match found {
        Err(ReportError::Missing { .. }) => Ok(None),
        other => other.map(Some),
    }
}

fn check_origin(format_version: u32, student: &str, hash: &str) -> Result<(), String> {
    if format_version != EXPLANATION_FORMAT {
        return Err(format!(
            "format version {format_version} is not supported (this build reads {EXPLANATION_FORMAT})"
        ));
    }
    match student == hash {
        true => Ok(()),
        false => Err(format!(
            "it is about the student with SHA-256 {student}, but student.json has {hash}; explain that one with `distill explain`"
        )),
    }
}

/// The lists of an explanation must fit each other and the student, and its numbers must be finite.
fn check_explanation(e: &Explanation, hash: &str, student: &Student) -> Result<(), String> {
    check_origin(e.format_version, &e.student, hash)?;
    for level in &e.levels {
        let place = format!("level `{}`", level.level);
        let Some(models) = student.level(&level.level) else {
            return Err(format!("{place} is not one of the student's"));
        };
        let fine = |v: &f64| v.abs() <= HUGE;
        for weight in level.families.iter().chain(&level.features) {
            for k in &weight.by_kind {
                if ![k.share, k.teacher, k.student].iter().all(fine) {
                    return Err(format!("{place}: a figure of `{}`, kind `{}`, is not finite", weight.name, k.kind));
                }
                k.drop.as_ref().map_or(Ok(()), |d| check_estimate(&place, &weight.name, d))?;
            }
        }
        let points = &level.points;
        let n = points.features.len();
        let lengths: Vec<usize> =
            points.values.iter().map(Vec::len).chain(points.shares.iter().map(Vec::len)).collect();
        if points.values.len() != n || points.shares.len() != n || lengths.windows(2).any(|w| w[0] != w[1]) {
            return Err(format!("{place}: the points' values and shares are not one list per feature of one length"));
        }
        if !points.shares.iter().flatten().all(fine) {
            return Err(format!("{place}: a share of the points is not finite"));
        }
        for effect in &level.effects {
            let n = effect.grid.len();
            let sound = effect.accumulated.len() == n && effect.partial.len() == n;
            if !sound || !effect.accumulated.iter().chain(&effect.partial).all(fine) {
                return Err(format!(
                    "{place}: the effect of `{}` is not one finite number per value of the grid",
                    effect.feature
                ));
            }
        }
        for l in &level.likeness {
            check_estimate(&place, &l.rule, &l.teacher)?;
            check_estimate(&place, &l.rule, &l.student)?;
        }
        if let (Model::Tree(tree), n @ 1..) = (&models.scheduler().model, level.nodes.len())
            && tree.nodes() != n
        {
            return Err(format!("{place}: there are facts about {n} nodes, the tree has {}", tree.nodes()));
        }
    }
    Ok(())
}

/// Places in the list of candidates must exist, and every candidate has one value and one share per feature.
fn check_decisions(d: &Decisions, hash: &str) -> Result<(), String> {
    check_origin(d.format_version, &d.student, hash)?;
    for choice in &d.choices {
        let place = format!("choice {} of level `{}`", choice.choice, choice.level);
        let Some(level) = d.levels.iter().find(|l| l.level == choice.level) else {
            return Err(format!("{place}: there is no such level in `levels`"));
        };
        let n = choice.candidates.len();
        let places = [choice.best, choice.taken, choice.rival].into_iter().chain(choice.executed);
        let asked = choice.why_not.iter().map(|w| w.candidate);
        let ruled_out = choice.guards.iter().flat_map(|g| g.1.iter().copied());
        if let Some(i) = places.chain(asked).chain(ruled_out).find(|&i| i >= n) {
            return Err(format!("{place}: it names candidate {i}, but lists {n}"));
        }
        let features = level.features.len();
        if choice.candidates.iter().any(|c| c.values.len() != features || c.shares.len() != features) {
            return Err(format!(
                "{place}: a candidate has not one value and one share for each of {features} features"
            ));
        }
    }
    Ok(())
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
