//! The `preemption` scenario as levels and choices.
//!
//! A question is which waiting job is served next, if any, or which job is condemned for one, if any: at the first the first level is
//! asked alone, at the second it has one candidate and the second level the jobs that can be condemned. A policy names a probability
//! for every candidate of what is asked.

use crate::{
    catalogue,
    feature::{Extractor, NO_JOB, feature_set, words},
    state::{Change, ClusterState, Decision, Question, View},
};
use sched_distill_core::{
    figure::{Better, Compared, Figure},
    scenario::{Answer, ChoiceRows, Distribution, Given, LEAST_LOG_PROB, Questions, Scenario, ScenarioInfo, State},
};
use std::error::Error;

/// Training jobs on GPUs that are suspended and resumed at a price.
#[derive(Clone, Copy, Debug, Default)]
pub struct Preemption;

/// What a question is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Which waiting job is served, where one of them fits on unreserved GPUs.
    Room = 0,
    /// Which waiting job is served, where none of them does.
    Full = 1,
    /// Who is condemned.
    Condemn = 2,
}

/// Log-probabilities of an answer; empty for deterministic policies.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Probabilities {
    /// At a question who is served, of each job that can be, by number, and last of none; at one who is condemned a single 0.
    pub serve: Vec<f64>,
    /// At a question who is condemned, of each job that can be, by number, and last of none.
    pub condemn: Vec<f64>,
}

const FIGURES: &[Figure] = &[
    Figure::new(
        ["waiting_ms", "mean waiting", "ms"],
        Better::Less,
        Compared::Ratio,
        "Mean time per job from arrival to completion in which it does not compute; loading and saving are waiting.",
    ),
    Figure::new(
        ["jct_ms", "mean completion", "ms"],
        Better::Less,
        Compared::Ratio,
        "Mean time from arrival to completion.",
    ),
    Figure::new(
        ["makespan_ms", "makespan", "ms"],
        Better::Less,
        Compared::Ratio,
        "Time from the first arrival to the last completion.",
    ),
    Figure::new(
        ["p99_waiting_ms", "p99 waiting", "ms"],
        Better::Less,
        Compared::Ratio,
        "The smallest waiting that 99 % of the jobs do not exceed.",
    ),
    Figure::new(
        ["lost_ms", "GPU time lost", "ms"],
        Better::Less,
        Compared::Difference,
        "GPU time per job of saving, and of loading after a preemption.",
    ),
    Figure::new(
        ["preemptions", "preemptions", "1"],
        Better::Less,
        Compared::Difference,
        "How often a job is suspended, in the mean.",
    ),
];

impl Scenario for Preemption {
    const INFO: ScenarioInfo = ScenarioInfo {
        name: "preemption",
        meaning: "training jobs on GPUs that can be suspended at the end of an epoch and resumed, both at a price",
        kinds: &["room", "full", "condemn"],
        regime: "waiting",
        feature_set,
        words,
        figures: FIGURES,
        catalogue: catalogue::CATALOGUE,
        lane: "GPU",
        part: "stage",
        parts: &["computing", "loading or saving"],
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
        probabilities.serve.clear();
        probabilities.condemn.clear();
    }

    fn is_silent(probabilities: &Probabilities) -> bool {
        probabilities.serve.is_empty()
    }

    fn certain(seen: &View<'_>, sure_of: Decision, _: Decision, out: &mut Probabilities) {
        Self::clear(out);
        let sure = |is: bool| if is { 0.0 } else { f64::from(LEAST_LOG_PROB) };
        let all = seen.candidates().map(Some).chain([None]).map(|job| sure(job == sure_of.job()));
        match seen.question() {
            Question::Serve => out.serve.extend(all),
            Question::Condemn(_) => {
                out.serve.push(0.0);
                out.condemn.extend(all);
            }
        }
    }

    fn strands(seen: &View<'_>, decision: Decision) -> bool {
        seen.strands(decision)
    }

    fn distributions(seen: &View<'_>, _: Decision, p: &Probabilities, each: &mut dyn FnMut(Distribution<'_>)) {
        let all: Vec<u32> = seen.candidates().collect();
        let count = all.len() + 1;
        let name = |place: usize| all.get(place).map_or("no job".to_owned(), |job| format!("job {job}"));
        let is_condemning = seen.question() != Question::Serve;
        let (serve, condemn) = if is_condemning { (1, count) } else { (count, 0) };
        each(Distribution {
            of: "serve",
            log_prob: &p.serve,
            candidates: serve..=serve,
            conditional: false,
            name: if is_condemning { &|_| "the job in question".to_owned() } else { &name },
        });
        each(Distribution {
            of: "condemn",
            log_prob: &p.condemn,
            candidates: condemn..=condemn,
            conditional: true,
            name: &name,
        });
    }
}

impl State<Preemption> for ClusterState {
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

    /// Nodes, jobs and what nodes hold.
    fn extent(&self) -> usize {
        self.cluster.nodes as usize + self.jobs.len() + self.cluster.models.len() + self.cluster.earlier.jobs().len()
    }
}

/// The kind of a question.
#[must_use]
pub fn kind(seen: &View<'_>) -> Kind {
    let room = seen.unreserved();
    match seen.question() {
        Question::Condemn(_) => Kind::Condemn,
        Question::Serve if seen.candidates().any(|job| seen.job(job).gpus() <= room) => Kind::Room,
        Question::Serve => Kind::Full,
    }
}

impl Questions<Preemption> for Extractor {
    fn limited(columns: &[&[bool]]) -> Self {
        Extractor::limited(columns)
    }

    fn update(&mut self, seen: &View<'_>) {
        self.update(seen);
    }

    fn rows(&mut self, seen: &View<'_>, path: &[usize], _: bool, out: &mut Vec<f32>) -> usize {
        match path {
            [] => self.job_rows(seen, out),
            [0] => self.victim_rows(seen, out),
            _ => 0,
        }
    }

    fn decision(&self, _: &View<'_>, path: &[usize]) -> Decision {
        let s = self.snapshot();
        match *path {
            [job] if s.none_served() => s.jobs().get(job).map_or(Decision::Wait, |c| Decision::Serve { job: c.job }),
            [_, victim] => s.victims().get(victim).map_or(Decision::Wait, |&job| Decision::Condemn { job }),
            _ => Decision::Wait,
        }
    }

    fn strands(&self, seen: &View<'_>, path: &[usize]) -> bool {
        path.len() == 1 && self.snapshot().none_served() && seen.strands(self.decision(seen, path))
    }

    fn tell(&self, _: &View<'_>, path: &[usize], _: f64, log_prob: &[f64], out: &mut Probabilities) {
        let of = if path.is_empty() { &mut out.serve } else { &mut out.condemn };
        of.clear();
        of.extend_from_slice(log_prob);
    }

    fn choice(
        &self,
        _: &View<'_>,
        path: &[usize],
        answer: &Answer<'_, Preemption>,
        _: bool,
        out: &mut ChoiceRows,
    ) -> bool {
        let (decision, p, s) = (answer.decision, answer.probabilities, self.snapshot());
        out.clear();
        let within = |all: &[f64], place: usize, count: usize| match all.get(place) {
            Some(&log_prob) => Given::ALL.within(log_prob, count),
            None => f32::NAN,
        };
        match *path {
            [] if s.none_served() => {
                let jobs = s.jobs().iter().map(|candidate| candidate.job);
                let count = s.jobs().len() + 1;
                for (place, job) in jobs.chain([NO_JOB]).enumerate() {
                    out.entity.push(job);
                    out.log_prob.push(within(&p.serve, place, count));
                    if decision.job().unwrap_or(NO_JOB) == job {
                        out.chosen = Some(place);
                    }
                }
            }
            [] => {
                out.entity.extend(s.jobs().iter().map(|candidate| candidate.job));
                // The job in question is the only one.
                out.log_prob.push(if p.serve.is_empty() { f32::NAN } else { 0.0 });
                out.chosen = Some(0);
            }
            [0] if !s.none_served() => {
                let claimant = s.jobs().first().map_or(NO_JOB, |candidate| candidate.job);
                let count = s.victims().len() + 1;
                for (place, job) in s.victims().iter().copied().chain([NO_JOB]).enumerate() {
                    out.entity.extend([claimant, job]);
                    out.log_prob.push(within(&p.condemn, place, count));
                    if decision.job().unwrap_or(NO_JOB) == job {
                        out.chosen = Some(place);
                    }
                }
                out.came_about = true;
            }
            _ => return false,
        }
        true
    }
}
