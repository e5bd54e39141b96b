//! Policies that schedule the same episodes with the same luck.

use super::{AnyScenario, Caller, Entry, PipelineError, as_recorded::AsRecorded, go_on};
use sched_distill_core::{
    model::Student,
    policy::{Policy, Sort, StudentPolicy},
    rng::{EpisodeId, Split},
    simulation::{Simulated, Workload},
    spec::Spec,
};
use sched_distill_judge::evaluator::{
    ClosedLoop, EpisodeCount, Role, Runs, Schedule, ScheduleRun, compare as compare_runs, floor,
};
use sched_distill_trace::EpisodeFigures;
use sched_distill_trace::recorder::{EpisodeRun, Episodes, rollouts};
use std::ops::ControlFlow;

/// A policy that takes part.
#[derive(Clone, Debug)]
pub enum Contender<'a> {
    /// A policy by its spec. Without a role networks count as teachers, students as students, all others as heuristics.
    Named {
        /// The spec, under which it is listed.
        id: String,
        /// What it takes part as.
        role: Option<Role>,
    },
    /// A student in memory.
    Student {
        /// What it is listed as.
        id: String,
        /// The student.
        student: &'a Student,
        /// What it takes part as.
        role: Role,
    },
    /// The order in which jobs were scheduled where they were recorded; of workloads without a recorded schedule it fails.
    AsRecorded,
}

/// What the recorded order is listed as.
pub const AS_RECORDED: &str = "as recorded";

impl Contender<'_> {
    /// A policy by its spec, with the role that such policies have.
    #[must_use]
    pub fn named(id: &str) -> Self {
        Self::Named { id: id.to_owned(), role: None }
    }

    /// What it is listed as.
    #[must_use]
    pub fn id(&self) -> &str {
        match self {
            Self::Named { id, .. } | Self::Student { id, .. } => id,
            Self::AsRecorded => AS_RECORDED,
        }
    }
}

/// Who schedules what.
#[derive(Clone, Debug)]
pub struct CompareParams<'a> {
    /// The policies; all are compared with the first one, and with the scenario's first baseline if it takes part.
    pub contenders: Vec<Contender<'a>>,
    /// Workloads, as specs.
    pub workloads: Vec<String>,
    /// Seed of episodes and intervals.
    pub seed: u64,
    /// What the episodes are for.
    pub split: Split,
    /// How many.
    pub episodes: EpisodeCount,
}

/// A comparison on one workload, and the schedules of its first episode, contender by contender.
#[derive(Clone, Debug)]
pub struct Comparison {
    /// Figures and how they compare.
    pub closed_loop: ClosedLoop,
    /// Schedules.
    pub schedules: Vec<Schedule>,
}

/// A contender that is ready to schedule.
pub(super) struct Ready<S: Simulated> {
    pub(super) id: String,
    pub(super) role: Role,
    /// `None` for the recorded order, which each workload has its own of.
    pub(super) policy: Option<Box<dyn Policy<S>>>,
}

/// Opens everything first, and then lets all contenders schedule the same episodes; `each` sees a workload's comparison
/// as soon as it is there.
///
/// # Errors
///
/// A policy or workload that cannot be opened or is named twice, a failing episode.
pub fn compare<S: Simulated>(
    scenario: &Entry<S>,
    params: &CompareParams<'_>,
    each: &mut dyn FnMut(&ClosedLoop) -> ControlFlow<()>,
    caller: Caller<'_>,
) -> Result<Vec<Comparison>, PipelineError> {
    let contenders = ready(scenario, &params.contenders)?;
    let workloads: Vec<Workload<S>> =
        params.workloads.iter().map(|id| scenario.workload_for(id, caller)).collect::<Result<_, _>>()?;
    let which = Which { seed: params.seed, split: params.split, episodes: &params.episodes };
    let mut compared = Vec::new();
    for (place, (id, workload)) in params.workloads.iter().zip(&workloads).enumerate() {
        let which = (which, place, workloads.len());
        let comparison = on_workload(scenario, &contenders, (id, workload), which, caller)?;
        go_on(each(&comparison.closed_loop))?;
        compared.push(comparison);
    }
    Ok(compared)
}

/// Opens contenders, each of which may take part once.
pub(super) fn ready<S: Simulated>(
    scenario: &Entry<S>,
    contenders: &[Contender<'_>],
) -> Result<Vec<Ready<S>>, PipelineError> {
    let mut names: Vec<&str> = contenders.iter().map(Contender::id).collect();
    names.sort_unstable();
    match names.windows(2).find(|w| w[0] == w[1]) {
        Some(twice) => Err(PipelineError::PolicyTwice(twice[0].to_owned())),
        None => contenders.iter().map(|contender| open(scenario, contender)).collect(),
    }
}

fn open<S: Simulated>(scenario: &Entry<S>, contender: &Contender<'_>) -> Result<Ready<S>, PipelineError> {
    let id = contender.id().to_owned();
    Ok(match contender {
        Contender::Named { role, .. } => {
            let spec: Spec = id.parse()?;
            let usual = match scenario.sort_of(&spec.name) {
                Some(Sort::Network) => Role::Teacher,
                Some(Sort::Student) => Role::Student,
                _ => Role::Heuristic,
            };
            Ready { id, role: role.unwrap_or(usual), policy: Some((scenario.open)(&spec)?) }
        }
        Contender::Student { student, role, .. } => {
            let policy = Box::new(StudentPolicy::new(student, id.as_ref(), None)?);
            Ready { id, role: *role, policy: Some(policy) }
        }
        Contender::AsRecorded => Ready { id, role: Role::Heuristic, policy: None },
    })
}

/// Which episodes.
#[derive(Clone, Copy)]
pub(super) struct Which<'a> {
    pub(super) seed: u64,
    pub(super) split: Split,
    pub(super) episodes: &'a EpisodeCount,
}

/// Lets contenders schedule the same episodes of one workload, of which it is said which it is of how many.
pub(super) fn on_workload<S: Simulated>(
    scenario: &Entry<S>,
    contenders: &[Ready<S>],
    (workload_id, workload): (&str, &Workload<S>),
    (Which { seed, split, episodes }, place, of): (Which<'_>, usize, usize),
    caller: Caller<'_>,
) -> Result<Comparison, PipelineError> {
    let has = |wanted| Entry::<S>::episodes((workload_id, workload), split, wanted, caller);
    let (ends, looks, stopping) = match episodes {
        EpisodeCount::Exactly(count) => (vec![has(*count)], None, None),
        EpisodeCount::UntilClear(stopping) => {
            let looks = stopping.looks(place, of, contenders.iter().map(|c| c.role));
            let most = has(looks.most());
            let looks = looks.up_to(most);
            (looks.planned.clone(), Some(looks), Some(stopping))
        }
    };
    let mut baselines: Vec<String> = contenders.first().map(|c| c.id.clone()).into_iter().collect();
    let yardstick = scenario.baselines.first().copied().unwrap_or_default();
    if contenders.iter().skip(1).any(|c| c.id == yardstick) {
        baselines.push(yardstick.to_owned());
    }
    let mut policies: Vec<_> = contenders.iter().map(|c| (c.id.clone(), c.role, Vec::new())).collect();
    let compared = |policies: &[(String, Role, Vec<EpisodeFigures>)]| {
        let (workload, split, figures) = (workload_id, split.name(), S::INFO.figures);
        compare_runs(
            Runs { workload, split, figures, size: S::SIZE, looks: looks.as_ref(), policies },
            &baselines,
            seed,
        )
    };
    let (mut schedules, mut closed_loop) = (Vec::new(), compared(&policies));
    let recorded = AsRecorded::new(workload, (seed, split), ends.last().copied().unwrap_or_default());
    for end in ends {
        let first = closed_loop.episodes as u32;
        for (contender, (_, _, figures)) in contenders.iter().zip(&mut policies) {
            caller.watch.episodes(&contender.id, u64::from(end - first));
            let episodes = Episodes { seed, split, first, count: end - first, timelines: 1 };
            let policy = contender.policy.as_deref().unwrap_or(&recorded);
            let runs = rollouts(workload, &contender.id, policy, episodes, caller.watch, caller.stop)?;
            caller.watch.done();
            let shown = runs.first().filter(|_| first == 0);
            schedules.extend(shown.map(|run| schedule::<S>((&contender.id, contender.role), run)));
            figures.extend(runs.iter().map(EpisodeRun::figures));
        }
        closed_loop = compared(&policies);
        if stopping.is_some_and(|stopping| stopping.is_clear(place, &closed_loop)) {
            break;
        }
    }
    let ids = (0..closed_loop.episodes as u32).map(|episode| EpisodeId::new(seed, split, episode));
    let floors: Option<Vec<f64>> = ids.map(|id| S::floor_ms(workload, &workload.jobs(id))).collect();
    if let (Some(floors), Some(first)) = (floors, closed_loop.policies.first()) {
        let alike = closed_loop.identical_episodes && floors.windows(2).all(|pair| pair[0] == pair[1]);
        let counted = if alike { 1 } else { floors.len() };
        let first = &first.episode_objective[..counted];
        closed_loop.floor = floor(&floors[..counted], S::INFO.objective().compared, first, (looks.as_ref(), seed));
    }
    Ok(Comparison { closed_loop, schedules })
}

/// What ran when in an episode.
pub(super) fn schedule<S: Simulated>((policy, role): (&str, Role), run: &EpisodeRun) -> Schedule {
    let completion = run.outcome.jobs.iter().map(|end| end.completion_ms());
    Schedule {
        policy: policy.to_owned(),
        role,
        episode: run.episode,
        lanes: run.lanes,
        lane: S::INFO.lane.to_owned(),
        part: S::INFO.part.to_owned(),
        parts: S::INFO.parts.iter().map(|&part| part.to_owned()).collect(),
        runs: run
            .timeline
            .iter()
            .map(|r| ScheduleRun { lane: r.lane, item: r.job, part: r.part, start_ms: r.start_ms, end_ms: r.end_ms })
            .collect(),
        items: run.arrivals_ms.iter().copied().zip(completion).collect(),
    }
}

/// The heuristic of a scenario that does best on validation episodes of a workload, of all by their names and the baselines but
/// for `teacher`; `None` if there is none.
///
/// # Errors
///
/// As of [`compare`].
pub fn best_heuristic(
    scenario: &dyn AnyScenario,
    workload: &str,
    teacher: &str,
    (seed, episodes): (u64, u32),
    caller: Caller<'_>,
) -> Result<Option<String>, PipelineError> {
    let policies = scenario.policies();
    let mut ids: Vec<&str> = policies.iter().filter(|p| p.sort == Sort::Heuristic).map(|p| p.name).collect();
    ids.extend(scenario.baselines().iter().filter(|id| !policies.iter().any(|p| p.name == **id)));
    ids.retain(|id| *id != teacher);
    let params = CompareParams {
        contenders: ids.iter().map(|id| Contender::named(id)).collect(),
        workloads: vec![workload.to_owned()],
        seed,
        split: Split::Validation,
        episodes: episodes.into(),
    };
    let compared = scenario.compare(&params, &mut |_| ControlFlow::Continue(()), caller)?;
    let Some(found) = compared.into_iter().next().map(|c| c.closed_loop) else { return Ok(None) };
    let objective = found.objective();
    let cost = |id: &str| {
        let policy = found.policies.iter().find(|p| p.policy == id && p.stalled == 0);
        objective.cost(policy.and_then(|p| p.figure(&objective.name)).map(|e| e.value))
    };
    Ok(ids.into_iter().min_by(|a, b| cost(a).total_cmp(&cost(b))).map(str::to_owned))
}

/// Workloads, each followed by its edge cases.
///
/// # Errors
///
/// A workload that has none, or is one.
pub fn with_edge_cases(scenario: &dyn AnyScenario, workloads: &[String]) -> Result<Vec<String>, PipelineError> {
    let there_are = scenario.workloads();
    let known: Vec<&str> = there_are.iter().filter(|w| w.has_edge_cases()).map(|w| w.name).collect();
    let mut all = Vec::new();
    for id in workloads {
        let mut spec: Spec = id.parse()?;
        all.push(id.clone());
        if there_are.iter().all(|w| w.name != spec.name) {
            // Whoever opens it says so.
            continue;
        }
        if !known.contains(&spec.name.as_str()) || spec.params.contains_key("edge") {
            let why = match known[..] {
                [] => format!("the scenario {} has none", scenario.info().name),
                _ => format!("`{id}` has none; {} without edge=NAME have", known.join(" and ")),
            };
            return Err(PipelineError::parameter("edge_cases", None, why));
        }
        for (case, _) in scenario.edge_cases() {
            spec.params.insert("edge".to_owned(), (*case).to_owned());
            all.push(spec.to_string());
        }
    }
    Ok(all)
}
