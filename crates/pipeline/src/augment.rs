//! A search for a student that schedules better.

use super::{
    Caller, Contender, Entry, FidelityChange, OnStudent, PipelineError,
    compare::{Which, on_workload, ready},
    fidelity_change,
    files::{remove, write_json},
    go_on,
    measure::check_features,
};
use rayon::prelude::*;
use sched_distill_core::{
    file,
    level::sha256_hex,
    model::Student,
    policy::StudentPolicy,
    rng::Split,
    simulation::{EditBudget, Simulated, Workload},
};
use sched_distill_judge::{
    attack::{AttackError, AttackParams, Method, MethodFigures, figures},
    augment::{Arena, AugmentError, AugmentParams, Edits, Found, Repertoire, Step, augment as search},
    evaluator::{ClosedLoop, Role},
};
use sched_distill_trace::{Trace, recorder::EpisodeId};
use serde_json::{Value, json};
use std::{
    collections::BTreeMap,
    ops::ControlFlow,
    path::{Path, PathBuf},
};

/// How a better student is searched for, and what it is compared with in the end.
#[derive(Clone, Debug)]
pub struct AugmentRequest {
    /// What the search may spend and try.
    pub search: AugmentParams,
    /// Workloads that its episodes go round, as specs. Naming one twice gives it more turns, and one comparison.
    pub workloads: Vec<String>,
    /// Policies of the comparison, ahead of the student before and after.
    pub others: Vec<Contender<'static>>,
    /// Test episodes of the comparison; they are not part of the search's budget.
    pub episodes: u32,
    /// A trace of the teacher's choices on which fidelity is measured before and after.
    pub trace: Option<Trace>,
    /// What users may edit who game the student; with it the search also minds what they gain.
    pub under_attack: Option<EditBudget>,
    /// Seed of the episodes.
    pub seed: u64,
    /// Folder for the student, the steps and the journal.
    pub dir: PathBuf,
    /// Whether to begin anew where the folder holds another search.
    pub force: bool,
}

/// What a search found.
#[derive(Clone, Debug)]
pub struct Augmented {
    /// The best student, with the evidence for each of its edits.
    pub student: Student,
    /// The steps that came to validation.
    pub steps: Vec<Step>,
    /// What was changed in the student to begin with.
    pub edits: Edits,
    /// Share of the decisions of the student to begin with, on its own episodes, that stay as they were.
    pub agreement: f64,
    /// Changes that were not tried on validation episodes, as fewer decisions would have stayed than asked for.
    pub too_far: usize,
    /// Episodes that the search spent.
    pub spent: u64,
    /// Fidelity before and after, on the trace that was given.
    pub fidelity: Option<FidelityChange>,
    /// The comparison on test episodes, workload by workload.
    pub closed_loops: Vec<ClosedLoop>,
    /// What users gain who game the student before and after, on test episodes of the first workload: each by gradients and by
    /// random edits.
    pub gamed: Option<[Vec<MethodFigures>; 2]>,
}

/// Hears of a search as it goes on, and may end it once there is a student.
pub trait Hear {
    /// A step came to validation.
    fn step(&mut self, _step: &Step) {}

    /// The search has ended; the comparison follows.
    fn found(&mut self, _student: &Student) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }

    /// Students and policies were compared on a workload.
    fn compared(&mut self, _comparison: &ClosedLoop) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}

impl Hear for () {}

/// Searches guards, patches and numbers that make a student schedule better, and compares what was found with what
/// there was. What takes part in the end is opened first, so that a mistake does not show after the search. What was
/// run is kept in the folder: the same call goes on from there.
///
/// # Errors
///
/// Parameters out of range, a policy or workload that cannot be opened, a folder that cannot be written or holds
/// another search, a failing episode.
pub fn augment<S: Simulated>(
    scenario: &Entry<S>,
    student: &Student,
    request: &AugmentRequest,
    hear: &mut dyn Hear,
    caller: Caller<'_>,
) -> Result<Augmented, PipelineError> {
    request.search.check(student)?;
    request.trace.as_ref().map_or(Ok(()), |trace| check_features(student, trace))?;
    let mut contenders = ready(scenario, &request.others)?;
    let ids = &request.workloads;
    let workloads: Vec<Workload<S>> =
        ids.iter().map(|id| scenario.workload_for(id, caller)).collect::<Result<_, _>>()?;
    prepare(&request.dir, &plan::<S>(student, &workloads, request)?, request.force)?;

    let repertoire = Repertoire::new(&S::INFO.catalogue, &student.feature_set)?;
    caller.watch.episodes("searching", request.search.budget);
    let journal = request.dir.join("evaluations.jsonl");
    let users = request.under_attack.as_ref().map(|budget| Users::of(scenario, budget)).transpose()?;
    let surcharge = |workload: &Workload<S>, student: &StudentPolicy<S>, id: EpisodeId| match &users {
        Some(users) => users.gain(workload, student, (request.seed, id), caller),
        None => Ok(0.0),
    };
    let mut arena = Arena::<S>::new(&workloads, request.seed, caller.watch, caller.stop).with_journal(&journal)?;
    if users.is_some() {
        arena = arena.with_surcharge(&surcharge);
    }
    let found = search(&mut arena, student, &repertoire, &request.search, &mut |step| hear.step(step))?;
    arena.finish()?;
    caller.watch.done();
    let Found { student: augmented, steps, agreement, too_far, spent } = found;
    augmented.save(&request.dir.join("student.json"))?;
    write_json(&request.dir.join("steps.json"), &steps)?;
    go_on(hear.found(&augmented))?;
    let measured = request.trace.as_ref().map(|trace| fidelity_change(student, &augmented, trace, request.seed));
    let fidelity = measured.transpose()?;

    let named = |id: &str, student| Contender::Student { id: id.to_owned(), student, role: Role::Student };
    contenders.extend(ready(scenario, &[named("before", student), named("augmented", &augmented)])?);
    let which = Which { seed: request.seed, split: Split::Test, episodes: &request.episodes.into() };
    let mut closed_loops = Vec::new();
    for (i, (id, workload)) in ids.iter().zip(&workloads).enumerate() {
        if !ids[..i].contains(id) {
            let compared =
                on_workload(scenario, &contenders, (id, workload), (which, i, ids.len()), caller)?.closed_loop;
            go_on(hear.compared(&compared))?;
            closed_loops.push(compared);
        }
    }
    let gamed = match &users {
        Some(users) => {
            let figures = |student| users.figures(&workloads[0], student, request, caller);
            Some([figures(student)?, figures(&augmented)?])
        }
        None => None,
    };
    let edits = Edits::between(student, &augmented);
    Ok(Augmented { student: augmented, steps, edits, agreement, too_far, spent, fidelity, closed_loops, gamed })
}

/// Jobs of an episode that are attacked, and questions at which their users ask what an edit would change: in the search, and in the
/// comparison.
const SEARCHED: [u32; 2] = [4, 4];
const COMPARED: [u32; 2] = [5, 16];

/// Users who game a student.
struct Users<S: Simulated> {
    on_student: OnStudent<S>,
    params: AttackParams,
}

impl<S: Simulated> Users<S> {
    fn of(scenario: &Entry<S>, budget: &EditBudget) -> Result<Self, PipelineError> {
        let refused = |why: String| PipelineError::parameter("under_attack", None, why);
        let none = || refused(format!("jobs of the scenario {} cannot be edited", S::INFO.name));
        let attack = scenario.attack.as_ref().ok_or_else(none)?;
        budget.check(&(attack.edits)()).map_err(|e| refused(e.to_string()))?;
        let [targets, questions] = SEARCHED;
        let params = AttackParams {
            seed: 0,
            split: Split::Train,
            episodes: 1,
            targets,
            methods: vec![Method::Gradient],
            budgets: vec![budget.clone()],
            trials: 1,
            questions,
        };
        Ok(Self { on_student: attack.on_student, params })
    }

    /// By which share of their completion times users are served sooner in the mean over those that are attacked; who is served
    /// later has gained nothing.
    fn gain(
        &self,
        workload: &Workload<S>,
        student: &StudentPolicy<S>,
        (seed, id): (u64, EpisodeId),
        caller: Caller<'_>,
    ) -> Result<f64, AugmentError> {
        let params = AttackParams { seed, split: id.split(), ..self.params.clone() };
        let found = (self.on_student)(workload, student, &params, id.episode, caller.stop);
        let attempts = found.map_err(|e| match e {
            AttackError::Interrupted => AugmentError::Interrupted,
            other => AugmentError::Attack(other),
        })?;
        let gains = attempts.attempts.iter().filter_map(|a| Some((-a.change()?).max(0.0)));
        Ok(gains.sum::<f64>() / attempts.attempts.len().max(1) as f64)
    }

    /// The figures of a student on test episodes.
    fn figures(
        &self,
        workload: &Workload<S>,
        student: &Student,
        request: &AugmentRequest,
        caller: Caller<'_>,
    ) -> Result<Vec<MethodFigures>, PipelineError> {
        let [targets, questions] = COMPARED;
        let methods = vec![Method::Gradient, Method::Random];
        let (seed, episodes) = (request.seed, request.episodes);
        let params =
            AttackParams { seed, split: Split::Test, episodes, targets, methods, questions, ..self.params.clone() };
        let policy = StudentPolicy::<S>::new(student, "student".as_ref(), None)?;
        caller.watch.episodes("attacking", u64::from(episodes));
        let one = |number: u32| {
            caller.check()?;
            let found = (self.on_student)(workload, &policy, &params, number, caller.stop)?;
            caller.watch.episode(0);
            Ok(found)
        };
        let found: Vec<_> = (0..episodes).into_par_iter().map(one).collect::<Result<_, PipelineError>>()?;
        caller.watch.done();
        Ok(figures(&found, &params.methods, 1, seed))
    }
}

/// What a search's results depend on.
fn plan<S: Simulated>(
    student: &Student,
    workloads: &[Workload<S>],
    request: &AugmentRequest,
) -> Result<Value, PipelineError> {
    let hash = |path: &PathBuf| {
        let bytes = std::fs::read(path).map_err(|source| PipelineError::Read { path: path.clone(), source })?;
        Ok((path.display().to_string(), sha256_hex(&bytes)))
    };
    let files: BTreeMap<String, String> =
        workloads.iter().flat_map(Workload::files).map(hash).collect::<Result<_, PipelineError>>()?;
    Ok(json!({
        "version": env!("CARGO_PKG_VERSION"), "student": student.hash(), "workloads": request.workloads, "files": files,
        "params": request.search, "seed": request.seed, "under_attack": request.under_attack,
    }))
}

/// Makes the folder ready: a journal belongs to one search.
fn prepare(dir: &Path, plan: &Value, force: bool) -> Result<(), PipelineError> {
    let path = dir.join("plan.json");
    let text = format!("{plan:#}\n");
    match std::fs::read_to_string(&path) {
        Ok(found) if found == text && !force => return Ok(()),
        Ok(_) if !force => return Err(PipelineError::OtherSearch(dir.to_owned())),
        Err(source) if source.kind() != std::io::ErrorKind::NotFound => {
            return Err(PipelineError::Read { path, source });
        }
        _ => {}
    }
    for old in ["evaluations.jsonl", "student.json", "steps.json"] {
        remove(&dir.join(old))?;
    }
    file::write(&path, text.as_bytes()).map_err(|source| PipelineError::Write { path, source })
}

/// The share of a student's decisions on its own episodes that others would take differently, other by other.
pub(super) fn departures<S: Simulated>(
    scenario: &Entry<S>,
    student: &Student,
    other: &Student,
    workload: &str,
    (seed, split, episodes): (u64, Split, u32),
    caller: Caller<'_>,
) -> Result<f64, PipelineError> {
    let workload = scenario.workload_for(workload, caller)?;
    let mut arena = Arena::<S>::new(std::slice::from_ref(&workload), seed, &(), caller.stop);
    let shares = arena.departures(student, &[other], split, 0..episodes)?;
    Ok(shares[0])
}
