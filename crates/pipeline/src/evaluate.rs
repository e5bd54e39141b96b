//! How faithful a student is, and how well it schedules.

use super::{
    AnyScenario, Caller, CompareParams, Comparison, Contender, Latency, MeasureParams, PipelineError, go_on, measure,
    measure::values_of,
};
use sched_distill_core::{figure::Figure, level::ALL_KINDS, model::Student, rng::Split, scenario::ScenarioInfo};
use sched_distill_explain::disagreement;
use sched_distill_judge::evaluator::{
    ClosedLoop, Disagreement, EpisodeCount, Evaluation, Role, Schedule, Scorer, Stake,
};
use sched_distill_trace::{LevelTable, Trace};
use std::ops::ControlFlow;

/// What is measured of a student.
#[derive(Clone, Default)]
pub struct EvaluateParams<'a> {
    /// A trace to measure fidelity on, of another split than the student was fitted on.
    pub trace: Option<&'a Trace>,
    /// A trace on which the best single-feature rules are chosen.
    pub selection: Option<&'a Trace>,
    /// Most regions per level in which the student departs from its teacher; `None` to look for none.
    pub regions: Option<usize>,
    /// Who schedules beside it.
    pub closed_loop: Option<ClosedLoopParams>,
    /// Seed of episodes, intervals and draws.
    pub seed: u64,
}

/// In which company a student schedules.
#[derive(Clone, Debug)]
pub struct ClosedLoopParams {
    /// The teacher, as a spec.
    pub teacher: String,
    /// What the student is listed as.
    pub student: String,
    /// Another version of the student, which is listed by its role: as a search has changed it, or without its edits.
    pub beside: Option<(Role, Student)>,
    /// More policies, as specs; the teacher is left out.
    pub others: Vec<Contender<'static>>,
    /// Workloads, as specs.
    pub workloads: Vec<String>,
    /// What the episodes are for.
    pub split: Split,
    /// How many.
    pub episodes: EpisodeCount,
}

/// What was measured of a student.
#[derive(Clone, Debug)]
pub struct Evaluated {
    /// All figures.
    pub evaluation: Evaluation,
    /// Schedules of teacher and student in the first episode of the first workload.
    pub schedules: Vec<Schedule>,
    /// How long teacher and student take to decide; `None` without a closed loop.
    pub latency: Option<Latency>,
}

/// A part of an evaluation, as it comes.
#[derive(Clone, Copy, Debug)]
pub enum Part<'a> {
    /// What a trace says: fidelity, leads, departures.
    Fidelity(&'a Evaluation),
    /// Where the student departs at a level.
    Regions(&'a Disagreement),
    /// A level with choices between candidates in fewer than two episodes: regions cannot be found on one half and
    /// measured on the other.
    NoRegions(&'a str),
    /// A workload's comparison.
    ClosedLoop(&'a ClosedLoop),
    /// What each kind of choice is worth, and in what.
    Stakes(&'a [Stake], &'a Figure),
}

/// Measures a student on a trace, in closed loop, or both. `each` sees the parts as they come, and may end it.
///
/// # Errors
///
/// A trace that cannot be read or has other features, a policy or workload that cannot be opened, a failing episode.
pub fn evaluate(
    scenario: Option<&dyn AnyScenario>,
    student: &Student,
    params: &EvaluateParams<'_>,
    each: &mut dyn FnMut(Part<'_>) -> ControlFlow<()>,
    caller: Caller<'_>,
) -> Result<Evaluated, PipelineError> {
    let mut evaluation = Evaluation { student: student.hash(), ..Evaluation::default() };
    if let Some(trace) = params.trace {
        let info = scenario.map(AnyScenario::info);
        let measuring = MeasureParams {
            scenario: info,
            selection: params.selection,
            sampled: params.regions.is_some(),
            seed: params.seed,
        };
        let measured = measure(student, trace, measuring, caller)?;
        evaluation.fidelity = measured.fidelity;
        (evaluation.leads, evaluation.departures) = (measured.leads, measured.departures);
        go_on(each(Part::Fidelity(&evaluation)))?;
        if let Some(most) = params.regions {
            evaluation.disagreement = regions(student, (info, trace), &measured.samples, (most, params.seed), each)?;
        }
    }
    let Some(closed_loop) = &params.closed_loop else {
        return Ok(Evaluated { evaluation, schedules: Vec::new(), latency: None });
    };
    let none =
        || PipelineError::UnknownScenario { found: student.feature_set.scenario.clone(), known: "none".to_owned() };
    let scenario = scenario.ok_or_else(none)?;
    let mut schedules = Vec::new();
    let contenders = closed_loop.with(student, params.seed);
    let compared = scenario.compare(&contenders, &mut |result| each(Part::ClosedLoop(result)), caller)?;
    for Comparison { closed_loop, schedules: of_workload } in compared {
        match evaluation.closed_loop {
            None => {
                evaluation.closed_loop = Some(closed_loop);
                // The first two are the teacher's and the student's.
                schedules = of_workload.into_iter().take(2).collect();
            }
            Some(_) => evaluation.other_workloads.push(closed_loop),
        }
    }
    if let Some(first) = &evaluation.closed_loop {
        evaluation.stakes = scenario.stakes(student, (first, params.seed), caller)?;
        go_on(each(Part::Stakes(&evaluation.stakes, first.objective())))?;
    }
    let latency = latency(scenario, contenders, &evaluation.student, caller)?;
    Ok(Evaluated { evaluation, schedules, latency: Some(latency) })
}

/// Times all contenders but the heuristics.
fn latency(
    scenario: &dyn AnyScenario,
    mut params: CompareParams<'_>,
    student: &str,
    caller: Caller<'_>,
) -> Result<Latency, PipelineError> {
    let timed = |c: &Contender<'_>| match c {
        Contender::Named { role, .. } => *role == Some(Role::Teacher),
        Contender::Student { .. } => true,
        Contender::AsRecorded => false,
    };
    params.contenders.retain(timed);
    let (decisions, policies) = scenario.decision_times(&params, caller)?;
    let workload = params.workloads.into_iter().next().unwrap_or_default();
    Ok(Latency { student: student.to_owned(), workload, decisions, policies })
}

impl ClosedLoopParams {
    /// With the student itself.
    #[must_use]
    pub fn with<'a>(&'a self, student: &'a Student, seed: u64) -> CompareParams<'a> {
        let teacher = Contender::Named { id: self.teacher.clone(), role: Some(Role::Teacher) };
        let listed = |id: &String, student, role| Contender::Student { id: id.clone(), student, role };
        let beside = self.beside.iter().map(|(role, student)| listed(&role.name().to_owned(), student, *role));
        let student = listed(&self.student, student, Role::Student);
        let others = self.others.iter().filter(|other| other.id() != self.teacher).cloned();
        CompareParams {
            contenders: [teacher, student].into_iter().chain(beside).chain(others).collect(),
            workloads: self.workloads.clone(),
            seed,
            split: self.split,
            episodes: self.episodes.clone(),
        }
    }
}

/// The regions of every level in samples of its choices.
fn regions(
    student: &Student,
    (scenario, trace): (Option<&ScenarioInfo>, &Trace),
    samples: &[LevelTable],
    (most, seed): (usize, u64),
    each: &mut dyn FnMut(Part<'_>) -> ControlFlow<()>,
) -> Result<Vec<Disagreement>, PipelineError> {
    let mut found = Vec::new();
    for (level, table) in student.levels.iter().zip(samples) {
        let scorer = Scorer::student(student, level, Role::Student);
        match disagreement((table, &values_of(scenario, &table.spec)), &scorer, most, seed)? {
            Some(regions) => {
                go_on(each(Part::Regions(&regions)))?;
                found.push(regions);
            }
            None => go_on(each(Part::NoRegions(&level.level)))?,
        }
    }
    match found.is_empty() {
        true => Err(PipelineError::NoRegions(trace.dir.clone())),
        false => Ok(found),
    }
}

/// Demands on an evaluation.
#[derive(Clone, Copy, Debug, Default)]
pub struct Gates {
    /// Least top-1 fidelity of the first level, all kinds.
    pub fidelity: Option<f64>,
    /// The worst that the objective may be against the teacher's, on every workload.
    pub objective: Option<f64>,
}

impl Gates {
    /// The demands that are missed, in words.
    #[must_use]
    pub fn missed(&self, evaluation: &Evaluation) -> Vec<String> {
        let mut missed = Vec::new();
        if let Some(least) = self.fidelity {
            let first = evaluation.fidelity.iter().find(|r| r.role == Role::Student && r.kind == ALL_KINDS);
            let found = first.map_or(0.0, |r| r.top1.value);
            if found.is_nan() || least.is_nan() || found < least {
                missed.push(format!("fidelity {found:.3} is below {least}"));
            }
        }
        let Some(limit) = self.objective else { return missed };
        for closed_loop in evaluation.closed_loop.iter().chain(&evaluation.other_workloads) {
            missed.extend(missed_in(closed_loop, limit));
        }
        missed
    }
}

fn missed_in(closed_loop: &ClosedLoop, limit: f64) -> Option<String> {
    let objective = closed_loop.objective();
    let pair = closed_loop.first(Role::Teacher).and_then(|teacher| closed_loop.student_to(&teacher.policy));
    let workload = &closed_loop.workload;
    match pair.and_then(|pair| pair.figure(&objective.name)) {
        Some(e) if objective.passes(e.value, limit) => None,
        Some(e) => {
            let against = objective.against("teacher");
            Some(format!("{against} is {:.3}, the limit is {limit}, on {workload}", e.value))
        }
        None => Some(format!("the student or the teacher stalled on {workload}")),
    }
}
