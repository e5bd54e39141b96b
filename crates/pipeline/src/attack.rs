//! Attacks on a scheduler: what edits of jobs bring their users, episode by episode, so that an interrupted attack goes on.

use super::{
    Caller, Certified, CertifyRequest, Entry, PipelineError, certify, compare::schedule, files::write_json,
    stand_in::stand_in,
};
use rayon::prelude::*;
use sched_distill_core::{
    file::{self, sha256_of},
    model::Student,
    policy::{Policy, STUDENT, StudentPolicy},
    rng::EpisodeId,
    scenario::Scenario,
    simulation::{Edit as _, EditInfo, Editable, Simulated, Simulation, Workload},
    spec::Spec,
};
use sched_distill_judge::{
    attack::{
        Asked, AttackError, AttackParams, Attempt, EpisodeAttempts, Method, MethodFigures, Notable, Source, episode,
        figures, knows_most, notable, on_student, replay,
    },
    evaluator::{Role, Schedule},
    sealed::{Unsealed, sealed, unsealed},
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::atomic::AtomicBool,
};

/// How the schedulers of a scenario are attacked whose jobs can be edited.
pub struct Attack<S: Simulated> {
    /// The sorts of edits.
    pub edits: fn() -> Vec<EditInfo>,
    /// As of [`Editable::BELIEFS`].
    pub beliefs: &'static [&'static str],
    /// Carries an attack out.
    pub run: fn(&Entry<S>, &AttackRequest, Caller<'_>) -> Result<Attacked, PipelineError>,
    /// Attacks a student in one episode.
    pub on_student: OnStudent<S>,
    /// Certifies a student.
    pub certify: fn(&Entry<S>, &CertifyRequest<'_>, Caller<'_>) -> Result<Certified, PipelineError>,
}

/// Attacks a student in one episode.
pub type OnStudent<S> =
    fn(&Workload<S>, &StudentPolicy<S>, &AttackParams, u32, &AtomicBool) -> Result<EpisodeAttempts, AttackError>;

impl<S: Editable> Attack<S> {
    /// That of a scenario whose jobs can be edited.
    #[must_use]
    #[expect(
        clippy::new_without_default,
        reason = "a constant of a type, not a value that anyone would have by default"
    )]
    pub const fn new() -> Self {
        Self {
            edits: S::Edit::sorts,
            beliefs: S::BELIEFS,
            run: attack::<S>,
            on_student: on_student::<S>,
            certify: certify::<S>,
        }
    }
}

/// Whom to attack, and where to write what comes of it.
#[derive(Clone, Debug)]
pub struct AttackRequest {
    /// The victim, as a spec.
    pub policy: String,
    /// The student that is searched in its place by the method `proxy`; where none is named, one is fitted on recorded decisions.
    pub proxy: Option<PathBuf>,
    /// The folder of an attack on another scheduler, whose edits are made against this one; then none are searched, and what is
    /// attacked how is as it was there, but for what is to be tried out.
    pub found: Option<PathBuf>,
    /// Workload, as a spec.
    pub workload: String,
    /// What is attacked how. Methods that need probabilities are left out if the victim names none, unless nothing else is left.
    pub params: AttackParams,
    /// Whether of these methods only the one that knows most is tried, beside the control.
    pub strongest: bool,
    /// Folder.
    pub dir: PathBuf,
    /// Whether to replace another attack there.
    pub force: bool,
}

/// What came of an attack.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Attacked {
    /// What was attacked how.
    pub plan: Value,
    /// Methods that were left out since the victim names no probabilities.
    pub left_out: Vec<Method>,
    /// By budget and method.
    pub figures: Vec<MethodFigures>,
    /// What stands for it; `None` if no job was attacked.
    pub notable: Option<Notable>,
    /// By episode, what the scenario judges schedulers by where nothing is edited; `None` if it was not completed.
    pub objective: Vec<Option<f64>>,
    /// What ran while the job of the best edit was there, without and with the edit; `None` if no edit brought anything.
    #[serde(skip)]
    pub example: Option<[Schedule; 2]>,
}

const PLAN: &str = "plan.json";
/// Folder of the attempts, a file for each episode.
const EPISODES: &str = "episodes";

/// Carries an attack out, or goes on with it.
///
/// # Errors
///
/// A policy, proxy or workload that cannot be opened, edits that the scenario does not have, a folder of another attack, a failing
/// episode, an interruption.
pub fn attack<S: Editable>(
    scenario: &Entry<S>,
    request: &AttackRequest,
    caller: Caller<'_>,
) -> Result<Attacked, PipelineError> {
    let refused = |e: &dyn std::fmt::Display| PipelineError::Refused(e.to_string());
    request.params.budgets.iter().try_for_each(|budget| budget.check(&S::Edit::sorts())).map_err(|e| refused(&e))?;
    let spec: Spec = request.policy.parse()?;
    let victim = (scenario.open)(&spec)?;
    let mut asked = match (&spec.file, spec.name == STUDENT.name) {
        (Some(path), true) => Asked::Student(StudentPolicy::load(path, spec.params.get("model").map(String::as_str))?),
        _ => Asked::Policy(victim.fresh()),
    };
    // A named student is looked at before anything is done.
    let named = request.proxy.as_deref().map(stands_in).transpose()?;
    let workload = scenario.workload_for(&request.workload, caller)?;
    let mut params = request.params.clone();
    let found = request.found.as_deref().map(|dir| found(dir, request, &mut params)).transpose()?;
    let left_out = match found.is_some() || names_probabilities::<S>(&workload, &mut asked, &params)? {
        true => Vec::new(),
        false => {
            let (left_out, kept) = params.methods.iter().partition::<Vec<Method>, _>(|m| m.needs_probabilities());
            params.methods = kept;
            left_out
        }
    };
    if params.methods.iter().all(|m| *m == Method::Random) && !left_out.is_empty() {
        return Err(refused(&format!(
            "{}: it does not say how probable its choices are, which {} needs; use the methods query, proxy and random",
            request.policy, left_out[0]
        )));
    }
    let most = knows_most(&params.methods).filter(|_| request.strongest);
    params.methods.retain(|m| *m == Method::Random || most.is_none_or(|most| *m == most));
    let plan = plan::<S>(request, &params, &*victim, &workload)?;
    let plan_text = prepare(&request.dir, &plan, request.force)?;
    let proxy = match named {
        None if found.is_none() && params.methods.contains(&Method::Proxy) => {
            Some(stands_in(&stand_in(scenario, request, caller)?)?)
        }
        named => named,
    };

    caller.watch.episodes("attacking", u64::from(params.episodes));
    let source = match &found {
        Some(found) => Source::Found(found),
        None => Source::Search { asked: &asked, proxy: proxy.as_ref() },
    };
    let one = |number: u32| -> Result<EpisodeAttempts, PipelineError> {
        caller.check()?;
        let path = request.dir.join(EPISODES).join(format!("{number:05}.json"));
        // What an earlier version wrote, or half of it, is made again rather than believed.
        if std::fs::read_to_string(&path).is_ok_and(|text| unsealed(&text, &plan_text) != Err(Unsealed::Missing)) {
            let known = read_episode(&path, number, &plan_text, true)?;
            caller.watch.episode(0);
            return Ok(known);
        }
        let found = episode(&workload, &*victim, &source, &params, number, caller.stop);
        let found = found?;
        let text = serde_json::to_string(&found).map_err(|e| refused(&e))?;
        let sealed = sealed(&text, &plan_text) + "\n";
        file::write(&path, sealed.as_bytes()).map_err(|source| PipelineError::Write { path, source })?;
        caller.watch.episode(found.attempts.iter().map(|a| a.queries).sum());
        Ok(found)
    };
    let episodes: Vec<EpisodeAttempts> = (0..params.episodes).into_par_iter().map(one).collect::<Result<_, _>>()?;
    caller.watch.done();
    let (mut notable, best) = notable(&episodes, &params.methods).unzip();
    if let Some(notable) = notable.as_mut().filter(|_| params.budgets.first().is_some_and(|budget| budget.edits > 1)) {
        // Which of several edits did it is not known.
        notable.sorts.clear();
    }
    let example = match best.flatten() {
        Some((number, attempt)) => {
            Some(example::<S>(&workload, &*victim, (request, &params), (number, attempt), caller)?)
        }
        None => None,
    };
    let attacked = Attacked {
        plan,
        left_out,
        figures: figures(&episodes, &params.methods, params.budgets.len(), params.seed),
        notable,
        objective: episodes.iter().map(|e| e.objective).collect(),
        example,
    };
    write_json(&request.dir.join("attack.json"), &attacked)?;
    Ok(attacked)
}

/// A student that is asked in another scheduler's place.
fn stands_in<S: Editable>(path: &Path) -> Result<Asked<S>, PipelineError> {
    Ok(Asked::Student(StudentPolicy::new(&Student::load(path)?, path, None)?))
}

/// What ran while the job of an attempt was there, without and with the edits.
fn example<S: Editable>(
    workload: &Workload<S>,
    victim: &dyn Policy<S>,
    (request, params): (&AttackRequest, &AttackParams),
    (number, attempt): (u32, &Attempt),
    caller: Caller<'_>,
) -> Result<[Schedule; 2], PipelineError> {
    let runs = replay(workload, victim, EpisodeId::new(params.seed, params.split, number), attempt, caller.stop)?;
    let mut schedules = runs.map(|run| schedule::<S>((&request.policy, Role::Student), &run));
    let of_job = |schedule: &Schedule| schedule.items.get(attempt.job as usize).copied();
    let (from, to) =
        schedules.iter().filter_map(of_job).fold((f64::INFINITY, 0.0_f64), |(from, to), (arrival, end)| {
            (from.min(arrival), to.max(end.unwrap_or(arrival)))
        });
    for schedule in &mut schedules {
        schedule.runs.retain(|run| run.end_ms > from && run.start_ms < to);
    }
    Ok(schedules)
}

/// The attempts of an attack on another scheduler, which must be complete and of the same jobs; `params` become what they were there.
fn found(
    dir: &Path,
    request: &AttackRequest,
    params: &mut AttackParams,
) -> Result<Vec<EpisodeAttempts>, PipelineError> {
    let not = |why: String| PipelineError::Refused(format!("{}: {why}", dir.display()));
    if !dir.join("attack.json").is_file() {
        return Err(not("it holds no attack that was carried to its end (attack.json)".to_owned()));
    }
    let path = dir.join(PLAN);
    let text = std::fs::read_to_string(&path).map_err(|source| PipelineError::Read { path: path.clone(), source })?;
    let plan: Value =
        serde_json::from_str(&text).map_err(|e| PipelineError::Refused(format!("{}: {e}", path.display())))?;
    if plan["workload"] != request.workload.as_str() {
        return Err(not(format!("its attack was on the workload {}, not `{}`", plan["workload"], request.workload)));
    }
    let other: AttackParams =
        serde_json::from_value(plan["params"].clone()).map_err(|e| not(format!("its plan cannot be read: {e}")))?;
    *params = other;
    let episode =
        |number: u32| read_episode(&dir.join(EPISODES).join(format!("{number:05}.json")), number, &text, false);
    (0..params.episodes).map(episode).collect()
}

/// The attempts of an episode as a plan's attack has written them, be it the one that is resumed or another one.
fn read_episode(path: &Path, number: u32, plan: &str, resumed: bool) -> Result<EpisodeAttempts, PipelineError> {
    let text = std::fs::read_to_string(path).map_err(|source| PipelineError::Read { path: path.to_owned(), source })?;
    let not = |why: String| PipelineError::AttackedEpisode { path: path.to_owned(), why, resumed };
    unsealed(&text, plan).map_err(|e| not(e.to_string()))?;
    let found: EpisodeAttempts = serde_json::from_str(&text).map_err(|e| not(e.to_string()))?;
    match found.episode == number {
        true => Ok(found),
        false => Err(not(format!("it is of episode {}, not {number}", found.episode))),
    }
}

/// Whether who is asked says how probable choices are: at the first question of the first episode.
fn names_probabilities<S: Editable>(
    workload: &Workload<S>,
    asked: &mut Asked<S>,
    params: &AttackParams,
) -> Result<bool, PipelineError> {
    let id = EpisodeId::new(params.seed, params.split, 0);
    let start = S::start(workload, workload.jobs(id), id.seed);
    Ok(match start.view() {
        Some(seen) => asked.chance(&seen, 0)?.is_some(),
        None => false,
    })
}

/// What the results depend on.
fn plan<S: Editable>(
    request: &AttackRequest,
    params: &AttackParams,
    victim: &dyn Policy<S>,
    workload: &Workload<S>,
) -> Result<Value, PipelineError> {
    let files = victim.files().into_iter().chain(request.proxy.clone()).chain(workload.files().to_vec());
    let hash = |path: PathBuf| {
        let sha256 = sha256_of(&path).map_err(|source| PipelineError::Read { path: path.clone(), source })?;
        Ok((path.display().to_string(), sha256))
    };
    let mut files: BTreeMap<String, String> = files.map(hash).collect::<Result<_, PipelineError>>()?;
    files.extend(victim.fingerprint());
    Ok(json!({
        "version": env!("CARGO_PKG_VERSION"), "scenario": <S as Scenario>::INFO.name, "policy": request.policy, "proxy": request.proxy,
        "workload": request.workload, "files": files, "params": params, "found": request.found,
    }))
}

/// Makes the folder ready: it belongs to one attack, whose plan is returned as it stands there.
fn prepare(dir: &Path, plan: &Value, force: bool) -> Result<String, PipelineError> {
    let (path, episodes) = (dir.join(PLAN), dir.join(EPISODES));
    let text = format!("{plan:#}\n");
    match std::fs::read_to_string(&path) {
        Ok(found) if found == text && !force => {}
        Ok(_) if !force => return Err(PipelineError::OtherAttack(dir.to_owned())),
        Err(source) if source.kind() != std::io::ErrorKind::NotFound => {
            return Err(PipelineError::Read { path, source });
        }
        _ => {
            let failed = |source| PipelineError::Write { path: episodes.clone(), source };
            match std::fs::remove_dir_all(&episodes) {
                Err(source) if source.kind() != std::io::ErrorKind::NotFound => return Err(failed(source)),
                _ => {}
            }
            super::files::remove(&dir.join("attack.json"))?;
            std::fs::create_dir_all(&episodes).map_err(failed)?;
            file::write(&path, text.as_bytes()).map_err(|source| PipelineError::Write { path, source })?;
        }
    }
    std::fs::create_dir_all(&episodes).map_err(|source| PipelineError::Write { path: episodes, source })?;
    Ok(text)
}
