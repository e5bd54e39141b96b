//! The `deadlines` scenario as levels and choices.
//!
//! A question is about a running job, which gets a number of cores, or about the waiting ones: which begins next, if any; whether it
//! gets a size of its own or what it was submitted with, or its deadline is given up, or it is refused; and how many cores. A
//! policy names a probability for every way of taking every waiting job on, and given what it decided for every number of cores.

use crate::{
    catalogue,
    feature::{Candidate, Extractor, How, NO_JOB, feature_set, words},
    state::{Change, ClusterState, Decision, Question, View},
};
use sched_distill_core::{
    figure::{Better, Compared, Figure},
    scenario::{Answer, ChoiceRows, Distribution, Given, LEAST_LOG_PROB, Questions, Scenario, ScenarioInfo, State},
};
use std::error::Error;

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

/// Log-probabilities of an answer; empty for deterministic policies.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Probabilities {
    /// At a question about waiting jobs four per job, in order ([`How::ALL`]), and last that of starting none; at one about a running
    /// job a single 0. What cannot be is −∞.
    pub begin: Vec<f64>,
    /// Given what was decided, of 1, 2, 3, ... cores; empty if it gives none.
    pub amount: Vec<f64>,
}

const FIGURES: &[Figure] = &[
    Figure::new(
        ["on_time", "share on time", "share"],
        Better::More,
        Compared::Difference,
        "Share of the jobs that are complete by the deadline that their users really have.",
    ),
    Figure::new(
        ["tardiness_ms", "mean tardiness", "ms"],
        Better::Less,
        Compared::Difference,
        "Mean time by which jobs are late, 0 for those on time; refused jobs left out.",
    ),
    Figure::new(
        ["cores_used", "cores used", "share"],
        Better::More,
        Compared::Difference,
        "Share of the allocated core time in which the program that holds the core can use it.",
    ),
    Figure::new(
        ["core_time_ms", "core time per job on time", "ms"],
        Better::Less,
        Compared::Ratio,
        "Allocated core time of all jobs ÷ jobs on time.",
    ),
    Figure::new(
        ["refused", "refused", "share"],
        Better::Less,
        Compared::Difference,
        "Share of the jobs that are refused.",
    ),
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
    type Probabilities = Probabilities;
    type Questions = Extractor;

    fn time_ms(seen: &View<'_>) -> f64 {
        seen.time_ms()
    }

    fn kind(seen: &View<'_>) -> u8 {
        kind(seen) as u8
    }

    fn clear(probabilities: &mut Probabilities) {
        probabilities.begin.clear();
        probabilities.amount.clear();
    }

    fn is_silent(probabilities: &Probabilities) -> bool {
        probabilities.begin.is_empty()
    }

    fn certain(seen: &View<'_>, sure_of: Decision, carried_out: Decision, out: &mut Probabilities) {
        let sure = |is: bool| if is { 0.0 } else { f64::from(LEAST_LOG_PROB) };
        Self::clear(out);
        match seen.question() {
            Question::Running(_) => out.begin.push(0.0),
            Question::Start => {
                let place = place(seen, sure_of);
                out.begin.extend((0..=WAYS * seen.waiting().len()).map(|i| sure(i == place)));
            }
        }
        if let Some((job, how, cores)) = given(sure_of)
            && given(carried_out).is_some_and(|(other, way, _)| (other, way) == (job, how))
        {
            out.amount.extend((1..=how.most(&seen.job(job))).map(|amount| sure(amount == cores)));
        }
    }

    fn strands(seen: &View<'_>, decision: Decision) -> bool {
        seen.strands(decision)
    }

    fn distributions(seen: &View<'_>, decision: Decision, p: &Probabilities, each: &mut dyn FnMut(Distribution<'_>)) {
        let waiting = match seen.question() {
            Question::Start => seen.waiting(),
            Question::Running(_) => &[],
        };
        let ways = WAYS * waiting.len() + 1;
        each(Distribution {
            of: "begin",
            log_prob: &p.begin,
            candidates: ways..=ways,
            conditional: false,
            name: &|place| match waiting.get(place / WAYS) {
                Some(job) => format!("job {job}, {:?}", How::ALL[place % WAYS]),
                None => "no job".to_owned(),
            },
        });
        let amounts = given(decision).map_or(0, |(job, how, _)| how.most(&seen.job(job)) as usize);
        each(Distribution {
            of: "amount",
            log_prob: &p.amount,
            candidates: amounts..=amounts,
            conditional: true,
            name: &|place| format!("{} cores", place + 1),
        });
    }
}

impl State<Deadlines> for ClusterState {
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

/// The place of a decision about waiting jobs among the probabilities.
fn place(seen: &View<'_>, decision: Decision) -> usize {
    let waiting = seen.waiting();
    let found = decision.job().and_then(|job| waiting.binary_search(&job).ok());
    match (found, way(decision)) {
        (Some(place), Some(how)) => WAYS * place + how as usize,
        _ => WAYS * waiting.len(),
    }
}

impl Questions<Deadlines> for Extractor {
    fn limited(columns: &[&[bool]]) -> Self {
        Extractor::limited(columns)
    }

    fn update(&mut self, seen: &View<'_>) {
        self.update(seen);
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

    fn tell(&self, seen: &View<'_>, path: &[usize], above: f64, log_prob: &[f64], out: &mut Probabilities) {
        let running = matches!(seen.question(), Question::Running(_));
        match *path {
            [] => {
                out.begin.clear();
                if running {
                    out.begin.push(0.0);
                } else {
                    out.begin.resize(WAYS * seen.waiting().len(), f64::NEG_INFINITY);
                    // To start none is the last candidate.
                    out.begin.extend(log_prob.last());
                }
            }
            [_] if running => {}
            [job] => {
                for (how, within) in self.snapshot().candidates()[job].ways().zip(log_prob) {
                    out.begin[WAYS * job + how as usize] = above + within;
                }
            }
            _ => {
                out.amount.clear();
                out.amount.extend_from_slice(log_prob);
            }
        }
    }

    fn choice(
        &self,
        seen: &View<'_>,
        path: &[usize],
        answer: &Answer<'_, Deadlines>,
        _: bool,
        out: &mut ChoiceRows,
    ) -> bool {
        let (decision, p) = (answer.decision, answer.probabilities);
        let running = matches!(seen.question(), Question::Running(_));
        let candidates = self.snapshot().candidates();
        out.clear();
        match *path {
            [] => {
                for (place, candidate) in candidates.iter().enumerate() {
                    out.entity.push(candidate.job);
                    let own = |p: &Probabilities| match running {
                        true => 0.0,
                        false => Given::ALL.within(of_job(&p.begin, place, candidate).ln(), 1),
                    };
                    out.log_prob.push(if p.begin.is_empty() { f32::NAN } else { own(p) });
                    if decision.job() == Some(candidate.job) {
                        out.chosen = Some(place);
                    }
                }
                if !running {
                    if decision == Decision::Wait {
                        out.chosen = Some(candidates.len());
                    }
                    out.entity.push(NO_JOB);
                    let none = p.begin.last().map_or(f32::NAN, |&p| Given::ALL.within(p, 1));
                    out.log_prob.push(none);
                }
            }
            [job] if job < candidates.len() => {
                let candidate = &candidates[job];
                let within = (!p.begin.is_empty() && !running).then(|| of_job(&p.begin, job, candidate));
                let ways = candidate.ways().count();
                for (place, how) in candidate.ways().enumerate() {
                    out.entity.extend([candidate.job, how as u32]);
                    out.log_prob.push(match (&within, p.begin.is_empty()) {
                        (Some(given), _) => given.within(p.begin[WAYS * job + how as usize], ways),
                        (None, true) => f32::NAN,
                        // A running job is asked about in one way.
                        (None, false) => 0.0,
                    });
                    if decision.job() == Some(candidate.job) && way(decision) == Some(how) {
                        out.chosen = Some(place);
                    }
                }
            }
            [job, place] if job < candidates.len() => {
                let candidate = &candidates[job];
                let how = candidate.ways().nth(place);
                let Some((to, given_how, cores)) = given(decision) else { return false };
                // Who names probabilities of jobs but none of cores was not asked about this one.
                if (to, Some(given_how)) != (candidate.job, how) || (p.amount.is_empty() && !p.begin.is_empty()) {
                    return false;
                }
                let most = candidate.most(seen, given_how);
                for amount in 1..=most {
                    out.entity.extend([candidate.job, amount]);
                    let own = p.amount.get(amount as usize - 1);
                    out.log_prob.push(own.map_or(f32::NAN, |&p| Given::ALL.within(p, most as usize)));
                }
                out.chosen = (1..=most).contains(&cores).then(|| cores as usize - 1);
                out.came_about = true;
            }
            _ => return false,
        }
        true
    }
}

/// That a waiting job is taken on, in one of the ways that there are.
fn of_job(begin: &[f64], place: usize, candidate: &Candidate) -> Given {
    Given::any(candidate.ways().map(|how| begin[WAYS * place + how as usize]))
}
