//! Loops that go back to the simulator: DAgger and VIPER.
//!
//! A student that was fitted on its teacher's states meets other states when it schedules itself, and nobody told it
//! what to do there. DAgger (Ross, Gordon and Bagnell, 2011) lets the student drive, has the teacher label every state
//! that it visits, adds the labelled states to all earlier ones, and fits again. VIPER (Bastani, Pu and Solar-Lezama,
//! 2018) does the same and weighs each choice by what a mistake in it costs.
//!
//! Every iteration is fitted on all states so far, and judged on validation episodes, which no fit sees: its fidelity
//! on states of the teacher and on states of its own, and the objective against the teacher's. The iteration that does
//! best is kept. Figures of the kept one are therefore too good; honest ones need other episodes.

mod store;
mod weights;

use super::{FitError, FitParams, fit_student};
use sched_distill_core::{
    figure::{Better, COMPLETION_FIGURES, Stall},
    model::{Provenance, Student, StudentError},
    rng::Split,
};
use sched_distill_judge::evaluator::{Estimate, FidelityRow, Role, Runs, Scorer, compare, fidelity};
use sched_distill_trace::{
    Drive, EpisodeFigures, EpisodeRow, LevelTable, Regret, Rollouts, STALLED, Source, Trace, TraceError, WhatIf,
    hash_of,
};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use store::Store;

/// What the choices of a loop weigh, besides what the trace says.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "by", rename_all = "kebab-case")]
pub enum Weighting {
    /// All alike: DAgger.
    Even,
    /// VIPER: a choice's mean log-probability gap, the mean over its candidates of ln p(best) − ln p, each at most 6,
    /// scaled so that a level's total weight stays. A choice in which the teacher is indifferent weighs nothing.
    ///
    /// VIPER takes the gap to the worst candidate. That is right for a fixed list of actions; among many candidates the
    /// worst is nearly always out of the question, so that all large choices would weigh the same.
    Gap,
    /// VIPER by simulation: 1 + regret / mean regret, with the simulated [`sched_distill_trace::Regret`] of the student's
    /// decision, 0 where it agrees with the teacher or does better. Differing decisions that were not simulated get the
    /// mean.
    Regret(WhatIf),
}

/// Everything that defines a loop; two loops with equal plans give equal bytes.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LoopPlan {
    /// Version of the directory's format: 1.
    pub format_version: u32,
    /// Who labels.
    pub teacher: Source,
    /// Where the jobs come from.
    pub workload: Source,
    /// What is done with them.
    #[serde(flatten)]
    pub settings: LoopSettings,
}

/// What a loop does, whoever labels and wherever the jobs come from.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LoopSettings {
    /// The user's seed.
    pub seed: u64,
    /// Fits after the first one, at least 1.
    pub iterations: u32,
    /// Training episodes of each iteration, new ones each time; at least 1.
    pub episodes: u32,
    /// Validation episodes, at least 1.
    pub validation_episodes: u32,
    /// In iteration i ≥ 1 the teacher drives the share beta^i of the episodes and the student the rest; in 0..=1.
    pub beta: f64,
    /// What choices weigh.
    pub weighting: Weighting,
    /// How each student is fitted.
    pub fit: FitParams,
}

/// What came out of one iteration. Figures are of the models that schedule, on validation episodes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct IterationResult {
    /// Number of the iteration, from 0.
    pub iteration: u32,
    /// New training episodes.
    pub episodes: u32,
    /// How many of them the teacher drove.
    pub teacher_episodes: u32,
    /// New decisions to learn from.
    pub decisions: usize,
    /// Decisions of the student that differ from the teacher's on the new episodes, if regret was simulated.
    pub differing: Option<usize>,
    /// Mean regret of those that were simulated, gains counted as 0, in what time costs in the scenario (ms where jobs
    /// are to be complete early).
    #[serde(alias = "mean_regret_ms")]
    pub mean_regret: Option<f64>,
    /// SHA-256 of the student.
    pub student: String,
    /// Its size over all levels.
    pub size: usize,
    /// The objective against the teacher's on paired episodes, as the scenario compares it; `None` if an episode
    /// stalled.
    #[serde(alias = "jct_ratio")]
    pub to_teacher: Option<Estimate>,
    /// Fidelity on the states that the teacher visits.
    pub on_teacher_states: Vec<FidelityRow>,
    /// Fidelity on the states that the student visits.
    pub on_own_states: Vec<FidelityRow>,
}

/// What came out of a loop.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LoopResult {
    /// Number of the iteration with the lowest validation ratio; its student is `student.json`.
    pub best: u32,
    /// All iterations in order.
    pub iterations: Vec<IterationResult>,
}

/// Why a loop did not end. What is finished is kept; the same loop goes on from there.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LoopError<E: std::error::Error + 'static> {
    /// A parameter is out of range.
    #[error("{name} must be {allowed}, got {found}")]
    Param {
        /// Parameter.
        name: &'static str,
        /// Value found.
        found: String,
        /// Values allowed.
        allowed: &'static str,
    },
    /// The directory holds something else.
    #[error("{dir}: is not a loop and not empty (it holds `{found}`); choose another directory")]
    NotALoop {
        /// The directory.
        dir: PathBuf,
        /// One of its entries.
        found: String,
    },
    /// The directory holds another loop.
    #[error("{dir}: holds a loop made with other arguments: {difference}; remove it to begin anew")]
    PlanDiffers {
        /// The directory.
        dir: PathBuf,
        /// The first difference.
        difference: String,
    },
    /// The operating system refused.
    #[error("{path}: cannot be {action}")]
    Io {
        /// File or directory.
        path: PathBuf,
        /// `read` or `written`.
        action: &'static str,
        /// The system's reason.
        #[source]
        source: std::io::Error,
    },
    /// Episodes could not be run.
    #[error(transparent)]
    Rollouts(E),
    /// A trace cannot be read.
    #[error(transparent)]
    Trace(#[from] TraceError),
    /// A student cannot be fitted.
    #[error("iteration {iteration}: cannot fit")]
    Fit {
        /// The iteration.
        iteration: u32,
        /// Why.
        #[source]
        source: FitError,
    },
    /// A student cannot be read or written.
    #[error(transparent)]
    Student(#[from] StudentError),
}

impl LoopSettings {
    /// Checks every field.
    ///
    /// # Errors
    ///
    /// The first bad field with its allowed range.
    pub fn check<E: std::error::Error>(&self) -> Result<(), LoopError<E>> {
        let bad = |name, found: String, allowed| Err(LoopError::Param { name, found, allowed });
        // Episodes of all iterations have numbers of their own.
        let total = u64::from(self.iterations).saturating_add(1).saturating_mul(u64::from(self.episodes));
        match self {
            p if p.iterations == 0 => bad("iterations", "0".to_owned(), "at least 1"),
            p if p.episodes == 0 || p.validation_episodes == 0 => bad("episodes", "0".to_owned(), "at least 1"),
            _ if total > u64::from(u32::MAX) => {
                bad("episodes", total.to_string(), "at most 4294967295 over all iterations")
            }
            p if !(0.0..=1.0).contains(&p.beta) => bad("beta", p.beta.to_string(), "in 0..=1"),
            Self { weighting: Weighting::Regret(w), .. } if w.states == 0 => {
                bad("regret-states", "0".to_owned(), "at least 1")
            }
            Self { weighting: Weighting::Regret(w), .. } if !(w.horizon_ms > 0.0 && w.horizon_ms <= 1e12) => {
                bad("horizon", w.horizon_ms.to_string(), "above 0 and at most 1e12 ms")
            }
            _ => Ok(()),
        }
    }

    /// Who drives the training episodes of an iteration, given the student of the one before.
    fn drive<'a>(&self, iteration: u32, student: Option<(&'a str, &'a Student)>) -> Drive<'a> {
        Drive {
            student,
            teacher_share: self.beta.powi(i32::try_from(iteration).unwrap_or(i32::MAX)),
            split: Split::Train,
            first_episode: iteration * self.episodes,
            episodes: self.episodes,
        }
    }

    /// The validation episodes, driven by a student or the teacher.
    fn validate<'a>(&self, student: Option<(&'a str, &'a Student)>) -> Drive<'a> {
        let (split, episodes) = (Split::Validation, self.validation_episodes);
        Drive { student, teacher_share: 0.0, split, first_episode: 0, episodes }
    }
}

/// Runs a loop in `dir`, or goes on with one of the same plan that was interrupted. `force` removes a loop that was
/// made with another plan. `on_iteration` hears of every iteration, finished now or before.
///
/// Layout: `loop-plan.json`; `teacher-validation/`, a trace; per iteration `iteration-N/` with the traces `train/` and
/// `validation/`, `regrets.json` if regret is simulated, `student.json` and, last, `result.json`; and in the end
/// `student.json`, a copy of the best, and `results.json`.
///
/// # Errors
///
/// See [`LoopError`].
pub fn run_loop<R: Rollouts>(
    dir: &Path,
    plan: &LoopPlan,
    rollouts: &R,
    force: bool,
    on_iteration: &mut dyn FnMut(&IterationResult),
) -> Result<LoopResult, LoopError<R::Error>> {
    let settings = &plan.settings;
    settings.check()?;
    let store = Store::open(dir, plan, force)?;
    if let Some(done) = store.read::<LoopResult>("results.json") {
        done.iterations.iter().for_each(on_iteration);
        return Ok(done);
    }
    let record = |dir: &Path, drive: &Drive<'_>| rollouts.record(dir, drive).map_err(LoopError::Rollouts);

    let teacher = record(&dir.join("teacher-validation"), &settings.validate(None))?;
    let validation = tables(&teacher)?;
    let teacher_figures = figures(&teacher.episodes()?);
    let objective = teacher.manifest.figures.first().unwrap_or(&COMPLETION_FIGURES[0]);
    let mut train: Vec<LevelTable> = Vec::new();
    let mut hashes = Vec::new();
    let mut student: Option<(String, Student)> = None;
    let mut results = Vec::new();
    for iteration in 0..=settings.iterations {
        let folder = format!("iteration-{iteration}");
        store.folder(&folder)?;
        let driver = student.as_ref().map(|(id, student)| (id.as_str(), student));
        let drive = settings.drive(iteration, driver);
        let trace = record(&dir.join(&folder).join("train"), &drive)?;
        let mut new = tables(&trace)?;
        new.iter_mut().for_each(|table| settings.fit.hide_distrusted(table));
        let decisions = new.first().map_or(0, |t| t.choices.len());
        let regrets = weigh(&mut new, settings.weighting, &drive, iteration, rollouts, &store)?;
        match train.is_empty() {
            true => train = new,
            false => train.iter_mut().zip(new).for_each(|(all, new)| all.append(new)),
        }
        hashes.push(trace.hash.clone());

        let id = format!("student:{folder}/student.json");
        let path = dir.join(&folder).join("student.json");
        let fit =
            || fit_student((&trace.manifest).into(), (&train, &validation), &settings.fit, provenance(plan, &hashes));
        let fitted = match path.exists() {
            true => Student::load(&path)?,
            false => {
                let fitted = fit().map_err(|source| LoopError::Fit { iteration, source })?;
                fitted.save(&path)?;
                fitted
            }
        };
        let judge = || {
            let own = record(&dir.join(&folder).join("validation"), &settings.validate(Some((&id, &fitted))))?;
            Ok(IterationResult {
                iteration,
                episodes: settings.episodes,
                teacher_episodes: drive.teacher_episodes(),
                decisions,
                differing: regrets.as_ref().map(Vec::len),
                mean_regret: regrets.as_deref().and_then(weights::mean_regret),
                student: fitted.hash(),
                size: fitted.size(),
                to_teacher: to_teacher(&own, &teacher_figures, settings.seed)?,
                on_teacher_states: fidelity_of(&fitted, &validation, settings.seed),
                on_own_states: fidelity_of(&fitted, &tables(&own)?, settings.seed),
            })
        };
        let mut result: IterationResult = store.read_or(&format!("{folder}/result.json"), judge)?;
        // An earlier version may have written it.
        let rows = result.on_teacher_states.iter_mut().chain(&mut result.on_own_states);
        rows.for_each(|row| _ = trace.manifest.feature_set.rename(&mut row.level));
        on_iteration(&result);
        results.push(result);
        student = Some((id, fitted));
    }
    let best = best(&results, objective.better);
    Student::load(&dir.join(format!("iteration-{best}/student.json")))?.save(&dir.join("student.json"))?;
    let result = LoopResult { best, iterations: results };
    store.write("results.json", &result)?;
    Ok(result)
}

/// Weights the choices of an iteration as the plan says; returns the regrets if that simulates them.
fn weigh<R: Rollouts>(
    tables: &mut [LevelTable],
    weighting: Weighting,
    drive: &Drive<'_>,
    iteration: u32,
    rollouts: &R,
    store: &Store,
) -> Result<Option<Vec<Regret>>, LoopError<R::Error>> {
    match weighting {
        Weighting::Even => Ok(None),
        Weighting::Gap => {
            tables.iter_mut().for_each(weights::by_gap);
            Ok(None)
        }
        // The teacher drives, and regrets nothing.
        Weighting::Regret(_) if iteration == 0 => Ok(None),
        Weighting::Regret(what_if) => {
            let simulate = || rollouts.regrets(drive, what_if).map_err(LoopError::Rollouts);
            let found = store.read_or(&format!("iteration-{iteration}/regrets.json"), simulate)?;
            tables.iter_mut().for_each(|table| weights::by_regret(table, &found));
            Ok(Some(found))
        }
    }
}

/// The first iteration that does best against the teacher; a stalled student comes last.
fn best(results: &[IterationResult], better: Better) -> u32 {
    let cost = |r: &IterationResult| match (r.to_teacher, better) {
        (None, _) => f64::INFINITY,
        (Some(e), Better::Less) => e.value,
        (Some(e), Better::More) => -e.value,
    };
    results.iter().min_by(|a, b| cost(a).total_cmp(&cost(b))).map_or(0, |r| r.iteration)
}

fn tables(trace: &Trace) -> Result<Vec<LevelTable>, TraceError> {
    trace.manifest.feature_set.levels.iter().map(|level| trace.level(&level.name)).collect()
}

/// What the student was fitted on.
fn provenance(plan: &LoopPlan, hashes: &[String]) -> Provenance {
    let trace_hash = hash_of(hashes);
    let (teacher, workload) = (plan.teacher.id.clone(), plan.workload.id.clone());
    Provenance { trace_hash, teacher, workload, ..Provenance::default() }
}

fn figures(episodes: &[EpisodeRow]) -> Vec<EpisodeFigures> {
    let figures = |e: &EpisodeRow| EpisodeFigures {
        figures: e.figures.clone(),
        // Traces do not say why; nobody asks.
        stall: (e.outcome == STALLED).then_some(Stall::Stranded),
        empty: e.decisions == 0 && e.outcome != STALLED,
        rejected: 0,
        longest_idle_ms: None,
        completion_times_ms: Vec::new(),
        sizes: Vec::new(),
    };
    episodes.iter().map(figures).collect()
}

fn to_teacher(own: &Trace, teacher: &[EpisodeFigures], seed: u64) -> Result<Option<Estimate>, TraceError> {
    let policies = [
        ("teacher".to_owned(), Role::Teacher, teacher.to_vec()),
        ("student".to_owned(), Role::Student, figures(&own.episodes()?)),
    ];
    let figures = &own.manifest.figures;
    let runs = Runs { workload: "", split: "validation", figures, size: None, looks: None, policies: &policies };
    Ok(compare(runs, &["teacher".to_owned()], seed).paired("student", "teacher"))
}

fn fidelity_of(student: &Student, tables: &[LevelTable], seed: u64) -> Vec<FidelityRow> {
    let levels = student.levels.iter().zip(tables);
    levels
        .flat_map(|(level, table)| fidelity(table, &[Scorer::model(level.scheduler(), Role::Student)], seed))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(beta: f64) -> LoopSettings {
        LoopSettings {
            seed: 0,
            iterations: 3,
            episodes: 10,
            validation_episodes: 2,
            beta,
            weighting: Weighting::Even,
            fit: FitParams::default(),
        }
    }

    /// A loop goes on if its plan is the same JSON as when it began.
    #[test]
    fn plans_are_what_they_were() {
        let (teacher, workload) = (Source::default(), Source::default());
        let expected = serde_json::json!({
            "format_version": 1, "teacher": teacher, "workload": workload, "seed": 0, "iterations": 3, "episodes": 10,
            "validation_episodes": 2, "beta": 0.5, "weighting": {"by": "even"}, "fit": FitParams::default()
        });
        let plan = LoopPlan { format_version: 1, teacher, workload, settings: settings(0.5) };
        assert_eq!(serde_json::json!(plan), expected);
    }

    #[test]
    fn the_teacher_drives_beta_to_the_i_of_the_episodes_evenly_spread() {
        let set = sched_distill_core::level::FeatureSet { scenario: "test".to_owned(), levels: Vec::new() };
        let student = Student::new(set, false, Vec::new(), Provenance::default());
        let by_teacher = |beta: f64, iteration: u32, with_student: bool| -> Vec<u32> {
            let drive = settings(beta).drive(iteration, with_student.then_some(("s", &student)));
            assert_eq!((drive.first_episode, drive.split), (10 * iteration, Split::Train));
            let places: Vec<u32> = (0..10).filter(|&place| drive.by_teacher(place)).collect();
            assert_eq!(drive.teacher_episodes() as usize, places.len());
            places
        };
        assert_eq!(by_teacher(0.5, 0, false).len(), 10);
        assert_eq!(by_teacher(0.5, 1, true), [1, 3, 5, 7, 9]);
        assert_eq!(by_teacher(0.5, 2, true), [3, 7]);
        assert_eq!(by_teacher(0.5, 3, true), [7]);
        assert_eq!(by_teacher(0.1, 1, true), [9], "what rounding takes away does not count");
        assert_eq!(by_teacher(0.0, 1, true), Vec::<u32>::new());
        assert_eq!(by_teacher(1.0, 3, true).len(), 10);
    }

    #[test]
    fn the_first_of_the_lowest_ratios_is_best_and_a_stall_is_worst() {
        let result = |iteration, ratio: Option<f64>| IterationResult {
            iteration,
            episodes: 1,
            teacher_episodes: 0,
            decisions: 1,
            differing: None,
            mean_regret: None,
            student: String::new(),
            size: 1,
            to_teacher: ratio.map(|value| Estimate { value, low: value, high: value }),
            on_teacher_states: Vec::new(),
            on_own_states: Vec::new(),
        };
        let of = |ratios: &[Option<f64>], better| {
            best(&(0..).zip(ratios).map(|(i, &r)| result(i, r)).collect::<Vec<_>>(), better)
        };
        assert_eq!(of(&[None, Some(1.1), Some(1.0), Some(1.0)], Better::Less), 2);
        assert_eq!(of(&[None, Some(0.1), Some(0.2)], Better::More), 2);
        assert_eq!(of(&[None, None], Better::Less), 0);
    }

    #[test]
    fn parameters_out_of_range_are_named() {
        use std::convert::Infallible;
        let said = |settings: LoopSettings| settings.check::<Infallible>().unwrap_err().to_string();
        assert!(settings(0.5).check::<Infallible>().is_ok());
        assert!(said(settings(1.5)).contains("beta must be in 0..=1, got 1.5"));
        assert!(said(LoopSettings { iterations: 0, ..settings(0.0) }).contains("iterations"));
        assert!(said(LoopSettings { episodes: u32::MAX, ..settings(0.0) }).contains("at most 4294967295"));
        let weighting = Weighting::Regret(WhatIf { states: 5, horizon_ms: f64::NAN });
        assert!(said(LoopSettings { weighting, ..settings(0.0) }).contains("horizon"));
    }
}
