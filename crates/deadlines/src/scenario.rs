//! The `deadlines` scenario as levels and choices.
//!
//! A question is about a running job, which gets a number of cores, or about the waiting ones: which begins next, if any; whether it
//! gets a size of its own or what it was submitted with, or its deadline is given up, or it is refused; and how many cores. A
//! policy names a probability for every way of taking every waiting job on, and given what it decided for every number of cores.

use crate::{
    catalogue,
    feature::{Extractor, How, NO_JOB, feature_set, words},
    state::{Change, ClusterState, Decision, Question, View},
};
use sched_distill_core::{
    contract::{LevelTables, Tabular},
    figure::Figure,
    scenario::{Questions, Scenario, ScenarioInfo, State},
};
use std::{error::Error, ops::RangeInclusive};

/// Elastic training jobs with deadlines on nodes of cores.
#[derive(Clone, Copy, Debug, Default)]
pub struct Deadlines;

/// What a question is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Which waiting job begins.
    Start = 0,
    /// How many cores a running job gets.
    Resize = 1,
}

const FIGURES: &[Figure] = &[
    Figure::difference("on_time", "share on time", "share")
        .more("Share of the jobs that are complete by the deadline that their users really have."),
    Figure::difference("tardiness_ms", "mean tardiness", "ms")
        .less("Mean time by which jobs are late, 0 for those on time; refused jobs left out."),
    Figure::difference("cores_used", "cores used", "share")
        .more("Share of the allocated core time in which the program that holds the core can use it."),
    Figure::ratio("core_time_ms", "core time per job on time", "ms")
        .less("Allocated core time of all jobs ÷ jobs on time."),
    Figure::difference("refused", "refused", "share").less("Share of the jobs that are refused."),
];

impl Scenario for Deadlines {
    const INFO: ScenarioInfo = ScenarioInfo {
        name: "deadlines",
        meaning: "elastic training jobs with deadlines on nodes of cores, whose training times can only be predicted",
        kinds: &["start", "resize"],
        regime: "waiting",
        feature_set,
        words,
        figures: FIGURES,
        catalogue: catalogue::CATALOGUE,
        lane: "core",
        part: "class",
        parts: &["deadline", "best effort"],
        may_abstain: false,
    };

    type View<'a> = View<'a>;
    type State = ClusterState;
    type Decision = Decision;
    type Questions = Extractor;

    fn time_ms(seen: &View<'_>) -> f64 {
        seen.time_ms()
    }

    fn kind(seen: &View<'_>) -> u8 {
        kind(seen) as u8
    }

    fn strands(seen: &View<'_>, decision: Decision) -> bool {
        seen.strands(decision)
    }

    const LISTS: &'static [&'static str] = &["begin", "amount"];

    /// At a question about waiting jobs four per job, in order ([`How::ALL`]), and last that of starting none; at one about a running
    /// job that alone. What cannot be is −∞.
    fn items(seen: &View<'_>) -> usize {
        match seen.question() {
            Question::Start => WAYS * seen.waiting().len() + 1,
            Question::Running(_) => 1,
        }
    }

    fn item(seen: &View<'_>, decision: Decision) -> Option<usize> {
        let Question::Start = seen.question() else { return Some(0) };
        let waiting = seen.waiting();
        let found = decision.job().and_then(|job| waiting.binary_search(&job).ok());
        Some(match (found, way(decision)) {
            (Some(place), Some(how)) => WAYS * place + how as usize,
            _ => WAYS * waiting.len(),
        })
    }

    /// Of 1, 2, 3, ... cores.
    fn given_place(seen: &View<'_>, decision: Decision) -> Option<(usize, RangeInclusive<usize>)> {
        let (job, how, cores) = given(decision)?;
        let most = how.most(&seen.job(job)) as usize;
        Some((cores as usize - 1, most..=most))
    }

    fn entry_name(seen: &View<'_>, _: Decision, list: usize, place: usize) -> String {
        let waiting = if seen.question() == Question::Start { seen.waiting() } else { &[] };
        match (list, waiting.get(place / WAYS)) {
            (0, Some(job)) => format!("job {job}, {:?}", How::ALL[place % WAYS]),
            (0, None) => "no job".to_owned(),
            _ => format!("{} cores", place + 1),
        }
    }
}

/// Schedulers of others see its levels as they are.
impl Tabular for Deadlines {
    type Tables = LevelTables<Self>;
}

impl State for ClusterState {
    type Scenario = Deadlines;
    type Change = Change;

    fn of(seen: &View<'_>) -> Self {
        seen.to_state()
    }

    fn view(&self) -> Option<View<'_>> {
        self.view()
    }

    fn change(&mut self, change: Change) -> Result<(), Box<dyn Error + Send + Sync>> {
        Ok(self.change(change)?)
    }

    fn answer(&mut self, decision: Decision) -> Result<Decision, Box<dyn Error + Send + Sync>> {
        self.answer(decision)?;
        Ok(decision)
    }

    /// Nodes, jobs and sizes.
    fn extent(&self) -> usize {
        self.cluster.nodes as usize + self.jobs.len() + self.cluster.node_cores as usize
    }
}

/// The kind of a question.
#[must_use]
pub fn kind(seen: &View<'_>) -> Kind {
    match seen.question() {
        Question::Start => Kind::Start,
        Question::Running(_) => Kind::Resize,
    }
}

/// Ways in which a job may be taken on.
const WAYS: usize = How::ALL.len();

/// The job that a decision gives cores to, how, and how many.
fn given(decision: Decision) -> Option<(u32, How, u32)> {
    match decision {
        Decision::Start { job, cores, elastic: true } | Decision::Resize { job, cores } => {
            Some((job, How::Elastic, cores))
        }
        Decision::Start { job, cores, .. } => Some((job, How::AsSubmitted, cores)),
        Decision::Wait | Decision::BestEffort { .. } | Decision::Refuse { .. } => None,
    }
}

/// How a decision takes a job on.
fn way(decision: Decision) -> Option<How> {
    match decision {
        Decision::Wait => None,
        Decision::BestEffort { .. } => Some(How::BestEffort),
        Decision::Refuse { .. } => Some(How::Refused),
        Decision::Start { .. } | Decision::Resize { .. } => given(decision).map(|(_, how, _)| how),
    }
}

impl Questions<Deadlines> for Extractor {
    fn limited(columns: &[&[bool]]) -> Self {
        Extractor::limited(columns)
    }

    fn update(&mut self, seen: &View<'_>) {
        self.update(seen);
    }

    #[inline]
    fn count(&self, seen: &View<'_>, path: &[usize], _: bool) -> usize {
        let candidates = self.snapshot().candidates();
        let candidate = path.first().and_then(|&job| candidates.get(job));
        match (path, candidate) {
            ([], _) => candidates.len() + usize::from(self.snapshot().none().is_some()),
            (&[_], Some(candidate)) => candidate.ways().count(),
            (&[_, way], Some(candidate)) => {
                candidate.ways().nth(way).map_or(0, |how| candidate.most(seen, how) as usize)
            }
            _ => 0,
        }
    }

    fn rows(&mut self, seen: &View<'_>, path: &[usize], _: bool, out: &mut Vec<f32>) -> usize {
        let candidate = path.first().and_then(|&job| self.snapshot().candidates().get(job).copied());
        match (path, candidate) {
            ([], _) => self.job_rows(seen, out),
            (&[job], Some(_)) => self.class_rows(seen, job, out),
            (&[job, way], Some(candidate)) => {
                candidate.ways().nth(way).map_or(0, |how| self.amount_rows(seen, job, how, out))
            }
            _ => 0,
        }
    }

    #[inline]
    fn entity(&self, _: &View<'_>, path: &[usize], out: &mut Vec<u32>) {
        let candidate = path.first().and_then(|&job| self.snapshot().candidates().get(job));
        let job = candidate.map_or(NO_JOB, |candidate| candidate.job);
        match *path {
            [_] => out.push(job),
            [_, way] => {
                let how = candidate.and_then(|candidate| candidate.ways().nth(way));
                out.extend([job, how.map_or(0, |how| how as u32)]);
            }
            [_, _, amount] => out.extend([job, amount as u32 + 1]),
            _ => {}
        }
    }

    fn place(&self, _: &View<'_>, path: &[usize], decision: Decision) -> Option<usize> {
        let candidates = self.snapshot().candidates();
        let own = |place: usize| candidates.get(place).filter(|candidate| decision.job() == Some(candidate.job));
        match *path {
            [] if decision == Decision::Wait => Some(candidates.len()),
            [] => candidates.iter().position(|candidate| decision.job() == Some(candidate.job)),
            [job] => own(job)?.ways().position(|how| way(decision) == Some(how)),
            [job, place] => {
                let (_, how, cores) = given(decision)?;
                (own(job)?.ways().nth(place) == Some(how)).then_some((cores as usize).checked_sub(1)?)
            }
            _ => None,
        }
    }

    #[inline]
    fn item(&self, seen: &View<'_>, path: &[usize]) -> Option<usize> {
        let candidates = self.snapshot().candidates();
        match (seen.question(), path) {
            (Question::Running(_), [_]) => Some(0),
            (Question::Start, &[none]) if none == candidates.len() => Some(WAYS * none),
            (Question::Start, &[job, way]) => candidates.get(job)?.ways().nth(way).map(|how| WAYS * job + how as usize),
            _ => None,
        }
    }

    #[inline]
    fn is_given(&self, path: &[usize]) -> bool {
        path.len() == 2
    }

    fn decision(&self, seen: &View<'_>, path: &[usize]) -> Decision {
        let candidates = self.snapshot().candidates();
        let Some(candidate) = path.first().and_then(|&job| candidates.get(job)) else { return Decision::Wait };
        let job = candidate.job;
        let cores = path.get(2).map_or(1, |&amount| amount as u32 + 1);
        match (seen.question(), path.get(1).and_then(|&way| candidate.ways().nth(way))) {
            (Question::Running(_), _) => Decision::Resize { job, cores },
            (_, Some(How::Elastic)) => Decision::Start { job, cores, elastic: true },
            (_, Some(How::AsSubmitted)) => Decision::Start { job, cores, elastic: false },
            (_, Some(How::BestEffort)) => Decision::BestEffort { job },
            (_, Some(How::Refused)) => Decision::Refuse { job },
            (_, None) => Decision::Wait,
        }
    }

    /// To start no job.
    fn strands(&self, seen: &View<'_>, path: &[usize]) -> bool {
        matches!(*path, [job] if self.snapshot().none() == Some(job)) && seen.strands(Decision::Wait)
    }
}
