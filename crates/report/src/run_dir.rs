//! What a run directory holds (`docs/run-directory.md`), and reading it with errors that name the next step.

use super::{ReportError, closest::is_rule, explanation_checks, plain::Plain, run_checks};
use sched_distill_core::{
    level::FeatureSet,
    model::Student,
    spec::{brief, workload_names},
    text::without_mark,
};
use sched_distill_explain::{Decisions, Explanation, WhatIf};
use sched_distill_judge::{
    augment::Step,
    evaluator::{Estimate, Evaluation, FidelityRow, PolicyOutcome, Role, Schedule},
};
use sched_distill_learn::SizeFront;
use sched_distill_pipeline::{Advice, Attacks, Compared, Latency, Live, RUN_FORMAT, RunInfo};
use serde::de::DeserializeOwned;
use std::{
    io::ErrorKind,
    path::{Path, PathBuf},
};

/// The name under which the demo compares the augmented student.
pub(super) const AUGMENTED: &str = "augmented";
/// The same of the student without its edits.
pub(super) const FITTED: &str = "fitted";

/// The files of a run directory that a report draws from.
pub(super) struct RunDir {
    pub(super) info: RunInfo,
    pub(super) student: Student,
    pub(super) evaluation: Evaluation,
    /// How long policies take to decide; `None` if this was not measured of this student.
    pub(super) latency: Option<Latency>,
    /// Other students of the same scheduler, measured beside this one.
    pub(super) compared: Vec<Compared>,
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
    /// The student as a search has changed it; `None` if none was measured beside it.
    pub(super) augmented: Option<Student>,
    /// Whether a search has changed nothing.
    pub(super) found_nothing: bool,
    /// How schedulers of the run can be gamed; `None` if none was attacked.
    pub(super) attacks: Option<Attacks>,
    /// What the owner of the history is told that the run is about; `None` if it is about no history.
    pub(super) advice: Option<Advice>,
    /// What was measured in an engine that people run; `None` if the student was not tried in one.
    pub(super) live: Option<Live>,
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
        let latency: Option<Latency> = optional(dir, set, "latency.json", EVALUATE, run_checks::latency)?;
        let latency = latency.filter(|latency| student.has_hash(&latency.student));
        const REPORT: &str = "distill report --with";
        let compared: Vec<Compared> = optional(dir, set, "compared.json", REPORT, |all: &Vec<Compared>| {
            all.iter().try_for_each(|c| run_checks::figures(&c.evaluation))
        })?
        .unwrap_or_default();
        let own = |c: Compared| Compared { evaluation: with_brief_names(c.evaluation), ..c };
        let compared: Vec<Compared> = compared.into_iter().filter(|c| student.has_hash(&c.beside)).map(own).collect();
        let front = optional(dir, set, "front.json", "distill front", run_checks::front)?;
        // A search of an earlier run may have left its files.
        let measured = evaluation.closed_loop.as_ref().is_some_and(|c| c.first(Role::Augmented).is_some());
        let searched = Some(dir.join("augmented")).filter(|found| found.join("student.json").is_file());
        let found = searched.as_ref().map(|found| Student::load(&found.join("student.json")));
        let found = found.transpose().map_err(|source| ReportError::Student { source: Box::new(source) })?;
        let found = found.filter(|other| other.feature_set_hash == student.feature_set_hash);
        // What schedules alike is no other student: the search has changed nothing, or the run's student is what it found.
        let is_it = found.as_ref().is_some_and(|other| other.decides_as(&student));
        let found_nothing = is_it && student.guards.is_empty() && student.patches.is_empty();
        let augmented = found.filter(|_| measured && !is_it);
        let of_search = searched.filter(|_| is_it || augmented.is_some());
        let steps =
            optional(of_search.as_deref().unwrap_or(dir), set, "steps.json", "distill augment", |s: &Vec<Step>| {
                run_checks::steps(s)
            })?;
        let evaluation = if found_nothing { without_augmented(evaluation) } else { evaluation };
        let compared = compared.into_iter().filter(|c| !found_nothing || c.name != AUGMENTED).collect();
        let attacks: Option<Attacks> = optional(dir, set, "attacks.json", "distill attack --run", run_checks::attacks)?;
        let attacks = attacks.filter(|attacks| student.has_hash(&attacks.student));
        let advice: Option<Advice> = optional(dir, set, Advice::FILE, "distill advise", run_checks::advice)?;
        let advice = advice.filter(|advice| student.has_hash(&advice.student));
        let live: Option<Live> = optional(dir, set, Live::FILE, Live::MADE_BY, run_checks::live)?;
        let live = live.filter(|live| student.has_hash(&live.student));
        const EXPLAIN: &str = "distill explain";
        let check = |e: &Explanation| explanation_checks::explanation(e, &student);
        let explanation = optional(dir, set, "explanation.json", EXPLAIN, check)?;
        let check = |d: &Decisions| explanation_checks::decisions(d, &student);
        let decisions = optional(dir, set, "decisions.json", EXPLAIN, check)?;
        let check = |w: &WhatIf| explanation_checks::what_if(w, &student);
        let what_if = optional(dir, set, "what_if.json", EXPLAIN, check)?;
        Ok(Self {
            info,
            student,
            evaluation,
            latency,
            compared,
            schedules,
            front,
            augmented,
            found_nothing,
            steps,
            explanation,
            decisions,
            what_if,
            attacks,
            advice,
            live,
        })
    }

    /// What levels, kinds and quantities are called in sentences.
    pub(super) fn plain(&self) -> Plain<'_> {
        Plain { words: &self.info.words, features: &self.student.feature_set }
    }

    /// Agreement, as sentences on what is done go by it. Where edits overrule the models of a level, what a rule on one feature is right
    /// in is said of the student only as far as it makes the teacher's choices itself.
    pub(super) fn told(&self) -> Vec<FidelityRow> {
        let rows = &self.evaluation.fidelity;
        let edited = |level: &str| self.student.guards.iter().any(|guard| guard.level == level);
        let of_student = |row: &FidelityRow| {
            rows.iter().find(|r| r.role == Role::Student && r.level == row.level && r.kind == row.kind).map(|r| r.top1)
        };
        let told = |row: &FidelityRow| {
            let both = |a: f64, b: f64| (a + b - 1.0).max(0.0);
            match of_student(row).filter(|_| is_rule(row) && edited(&row.level)) {
                Some(student) => {
                    let (low, value) = (both(row.top1.low, student.low), both(row.top1.value, student.value));
                    FidelityRow { top1: Estimate { low, value, ..row.top1 }, ..row.clone() }
                }
                None => row.clone(),
            }
        };
        rows.iter().map(told).collect()
    }

    /// A workload in a sentence: `where one giant job shares the cluster`, or by the name that it has in tables and charts,
    /// `where executors=25` or `on tpch`.
    pub(super) fn workload(&self, id: &str) -> String {
        if let Some(words) = self.plain().edge_case(id) {
            return words;
        }
        let loops = self.evaluation.closed_loop.iter().chain(&self.evaluation.other_workloads);
        let ids: Vec<&str> = loops.map(|result| result.workload.as_str()).collect();
        let names = workload_names(&ids);
        let name = ids.iter().position(|known| *known == id).map_or_else(|| id.to_owned(), |i| names[i].clone());
        // A name that is nothing but pairs says how the workload is, not which it is.
        let pairs = name.split(',').all(|part| part.contains('='));
        format!("{} {name}", if pairs { "where" } else { "on" })
    }
}

/// The figures without those of the augmented student.
fn without_augmented(mut evaluation: Evaluation) -> Evaluation {
    for result in evaluation.closed_loop.iter_mut().chain(&mut evaluation.other_workloads) {
        let is_one = |p: &PolicyOutcome| p.role == Role::Augmented;
        let names: Vec<String> = result.policies.iter().filter(|p| is_one(p)).map(|p| p.policy.clone()).collect();
        result.policies.retain(|p| !is_one(p));
        result.comparisons.retain(|c| !names.contains(&c.policy) && !names.contains(&c.baseline));
    }
    evaluation
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
    parse(without_mark(&text)).map_err(|source| ReportError::Malformed { path, command, source })
}
