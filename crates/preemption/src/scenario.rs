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
    contract::{LevelTables, Tabular},
    figure::Figure,
    scenario::{Questions, Scenario, ScenarioInfo, State},
};
use std::{error::Error, ops::RangeInclusive};

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

const FIGURES: &[Figure] = &[
    Figure::ratio("waiting_ms", "mean waiting", "ms").less(
        "Mean time per job from arrival to completion in which it does not compute; loading and saving are waiting.",
    ),
    Figure::ratio("jct_ms", "mean completion", "ms").less("Mean time from arrival to completion."),
    Figure::ratio("makespan_ms", "makespan", "ms").less("Time from the first arrival to the last completion."),
    Figure::ratio("p99_waiting_ms", "p99 waiting", "ms")
        .less("The smallest waiting that 99 % of the jobs do not exceed."),
    Figure::difference("lost_ms", "GPU time lost", "ms")
        .less("GPU time per job of saving, and of loading after a preemption."),
    Figure::difference("preemptions", "preemptions", "1").less("How often a job is suspended, in the mean."),
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

    const LISTS: &'static [&'static str] = &["serve", "condemn"];

    /// At a question who is served, of each job that can be, by number, and last of none; where jobs are to be suspended of the job in
    /// question alone.
    fn items(seen: &View<'_>) -> usize {
        if seen.question() == Question::Serve { seen.candidates().count() + 1 } else { 1 }
    }

    fn item(seen: &View<'_>, decision: Decision) -> Option<usize> {
        Some(if seen.question() == Question::Serve { place(seen, decision) } else { 0 })
    }

    /// Of each job that can be suspended, by number, and last of none.
    fn given_place(seen: &View<'_>, decision: Decision) -> Option<(usize, RangeInclusive<usize>)> {
        let count = seen.candidates().count() + 1;
        (seen.question() != Question::Serve).then(|| (place(seen, decision), count..=count))
    }

    fn entry_name(seen: &View<'_>, _: Decision, list: usize, place: usize) -> String {
        match seen.candidates().nth(place) {
            _ if list == 0 && seen.question() != Question::Serve => "the job in question".to_owned(),
            Some(job) => format!("job {job}"),
            None => "no job".to_owned(),
        }
    }
}

/// The place of a decision among the candidates of its question, of which the last is none.
fn place(seen: &View<'_>, decision: Decision) -> usize {
    let found = seen.candidates().position(|job| decision.job() == Some(job));
    found.unwrap_or_else(|| seen.candidates().count())
}

/// Schedulers of others see its levels as they are.
impl Tabular for Preemption {
    type Tables = LevelTables<Self>;
}

impl State for ClusterState {
    type Scenario = Preemption;
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

    fn count(&self, _: &View<'_>, path: &[usize], _: bool) -> usize {
        let s = self.snapshot();
        match path {
            [] => s.jobs().len() + usize::from(s.none_served()),
            [0] if !s.none_served() => s.victims().len() + 1,
            _ => 0,
        }
    }

    fn rows(&mut self, seen: &View<'_>, path: &[usize], _: bool, out: &mut Vec<f32>) -> usize {
        match path {
            [] => self.job_rows(seen, out),
            [0] => self.victim_rows(seen, out),
            _ => 0,
        }
    }

    fn entity(&self, _: &View<'_>, path: &[usize], out: &mut Vec<u32>) {
        let s = self.snapshot();
        let job = |place: usize| s.jobs().get(place).map_or(NO_JOB, |candidate| candidate.job);
        match *path {
            [place] => out.push(job(place)),
            [place, victim] => out.extend([job(place), s.victims().get(victim).copied().unwrap_or(NO_JOB)]),
            _ => {}
        }
    }

    fn place(&self, seen: &View<'_>, path: &[usize], decision: Decision) -> Option<usize> {
        match path {
            [] if self.snapshot().none_served() => Some(place(seen, decision)),
            [] => Some(0),
            [0] => Some(place(seen, decision)),
            _ => None,
        }
    }

    fn is_given(&self, path: &[usize]) -> bool {
        path.len() == 1
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
}
