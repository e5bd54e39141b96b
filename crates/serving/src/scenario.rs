//! The `serving` scenario as levels and choices.
//!
//! A question is which application is served next, if any, or which task joins the batch that is being formed, if any more does: at the
//! first the first level is asked alone, at the second it has one candidate and the second level the tasks. A policy names a
//! probability for every candidate of what is asked.

use crate::{
    catalogue,
    feature::{Extractor, NO_ONE, feature_set, words},
    state::{Change, Decision, Question, ServerState, View},
};
use sched_distill_core::{
    contract::{LevelTables, Tabular},
    figure::Figure,
    scenario::{Questions, Scenario, ScenarioInfo, State},
};
use std::{error::Error, ops::RangeInclusive};

/// Inference requests in batches on accelerators that applications share.
#[derive(Clone, Copy, Debug, Default)]
pub struct Serving;

/// What a question is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Which application is served, where tasks of one alone wait.
    One = 0,
    /// Which application is served, where tasks of several wait.
    Several = 1,
    /// Which task joins a batch.
    Batch = 2,
}

const FIGURES: &[Figure] = &[
    Figure::ratio("slowdown", "mean slowdown", "1")
        .less("Mean over all answered tasks of their time from arrival to answer ÷ their time in a batch of their own."),
    Figure::ratio("p95_ms", "p95 latency", "ms")
        .less("The smallest time from arrival to answer that 95 % of the answered tasks do not exceed."),
    Figure::ratio("p99_ms", "p99 latency", "ms")
        .less("The smallest time from arrival to answer that 99 % of the answered tasks do not exceed."),
    Figure::ratio("throughput", "throughput", "1/s").more("Tasks answered while tasks arrive, per second."),
    Figure::difference("fairness", "fairness", "1")
        .more("Jain's index of the accelerator time by weight that applications have while tasks arrive: 1 if all have the same."),
    Figure::difference("waste", "padding", "share")
        .less("Share of what accelerators worked on that only padded batches."),
    Figure::difference("in_time", "within the objective", "share")
        .more("Share of all tasks that are answered within the objective of their application."),
    Figure::difference("refused", "refused", "share").less("Share of the tasks that find the queue full."),
];

impl Scenario for Serving {
    const INFO: ScenarioInfo = ScenarioInfo {
        name: "serving",
        meaning: "inference requests in batches on accelerators that several applications share",
        kinds: &["one", "several", "batch"],
        regime: "waiting",
        feature_set,
        words,
        figures: FIGURES,
        catalogue: catalogue::CATALOGUE,
        lane: "accelerator",
        part: "application",
        parts: &[],
        may_abstain: false,
    };

    type View<'a> = View<'a>;
    type State = ServerState;
    type Decision = Decision;
    type Questions = Extractor;

    fn time_ms(seen: &View<'_>) -> f64 {
        seen.time_ms()
    }

    fn kind(seen: &View<'_>) -> u8 {
        kind(seen) as u8
    }

    fn same(_: &View<'_>, a: Decision, b: Decision) -> bool {
        a == b || matches!((a, b), (Decision::Wait { .. }, Decision::Wait { .. }))
    }

    fn strands(seen: &View<'_>, decision: Decision) -> bool {
        seen.strands(decision)
    }

    const LISTS: &'static [&'static str] = &["serve", "add"];

    /// At a question who is served, of each application with waiting tasks, by place, and last of none; where a batch is being formed of
    /// the application in question alone.
    fn items(seen: &View<'_>) -> usize {
        if seen.question() == Question::Serve { seen.candidates().count() + 1 } else { 1 }
    }

    fn item(seen: &View<'_>, decision: Decision) -> Option<usize> {
        let Question::Serve = seen.question() else { return Some(0) };
        let found = seen.candidates().position(|application| decision.application() == Some(application));
        Some(found.unwrap_or_else(|| seen.candidates().count()))
    }

    /// Of the oldest task of each size, ascending, and last of closing the batch if it has a task.
    fn given_place(seen: &View<'_>, decision: Decision) -> Option<(usize, RangeInclusive<usize>)> {
        let Question::Form(_) = seen.question() else { return None };
        let (groups, can_close) = (seen.groups().count(), seen.batch().count > 0);
        let found = seen.groups().position(|group| decision.task() == Some(group.task));
        let count = groups + usize::from(can_close);
        Some((found.unwrap_or(groups), count..=count))
    }

    fn entry_name(seen: &View<'_>, _: Decision, list: usize, place: usize) -> String {
        match list {
            0 if seen.question() != Question::Serve => "the application in question".to_owned(),
            0 => seen.candidates().nth(place).map_or("no application".to_owned(), |a| format!("application {a}")),
            _ => seen.groups().nth(place).map_or("no task".to_owned(), |group| format!("task {}", group.task)),
        }
    }
}

/// Schedulers of others see its levels as they are.
impl Tabular for Serving {
    type Tables = LevelTables<Self>;
}

impl State for ServerState {
    type Scenario = Serving;
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

    /// Tasks, applications and accelerators.
    fn extent(&self) -> usize {
        self.tasks.len() + self.queues.len() + self.running.len()
    }
}

/// The kind of a question.
#[must_use]
pub fn kind(seen: &View<'_>) -> Kind {
    match seen.question() {
        Question::Form(_) => Kind::Batch,
        Question::Serve if seen.candidates().nth(1).is_some() => Kind::Several,
        Question::Serve => Kind::One,
    }
}

impl Questions<Serving> for Extractor {
    fn limited(columns: &[&[bool]]) -> Self {
        Extractor::limited(columns)
    }

    fn update(&mut self, seen: &View<'_>) {
        self.update(seen);
    }

    fn count(&self, _: &View<'_>, path: &[usize], _: bool) -> usize {
        let s = self.snapshot();
        match path {
            [] => s.applications().len() + usize::from(s.none_served()),
            [0] if !s.none_served() => s.groups().len() + usize::from(s.can_close()),
            _ => 0,
        }
    }

    fn rows(&mut self, seen: &View<'_>, path: &[usize], _: bool, out: &mut Vec<f32>) -> usize {
        match path {
            [] => self.application_rows(seen, out),
            [0] => self.task_rows(seen, out),
            _ => 0,
        }
    }

    fn entity(&self, _: &View<'_>, path: &[usize], out: &mut Vec<u32>) {
        let s = self.snapshot();
        let application = |place: usize| s.applications().get(place).copied().unwrap_or(NO_ONE);
        match *path {
            [place] => out.push(application(place)),
            [place, task] => out.extend([application(place), s.groups().get(task).map_or(NO_ONE, |group| group.task)]),
            _ => {}
        }
    }

    fn place(&self, _: &View<'_>, path: &[usize], decision: Decision) -> Option<usize> {
        let s = self.snapshot();
        let (application, task) = (decision.application().unwrap_or(NO_ONE), decision.task().unwrap_or(NO_ONE));
        match path {
            [] if s.none_served() => {
                let found = s.applications().iter().position(|&other| other == application);
                Some(found.unwrap_or(s.applications().len()))
            }
            [] => Some(0),
            [0] => Some(s.groups().iter().position(|group| group.task == task).unwrap_or(s.groups().len())),
            _ => None,
        }
    }

    fn is_given(&self, path: &[usize]) -> bool {
        path.len() == 1
    }

    fn is_settled(&self, _: &View<'_>, path: &[usize]) -> bool {
        path.is_empty() && !self.snapshot().none_served()
    }

    fn decision(&self, _: &View<'_>, path: &[usize]) -> Decision {
        let s = self.snapshot();
        match *path {
            [place] if s.none_served() => {
                s.applications().get(place).map_or(Decision::WAIT, |&application| Decision::Serve { application })
            }
            [_, place] => s.groups().get(place).map_or(Decision::Close, |group| Decision::Add { task: group.task }),
            _ => Decision::WAIT,
        }
    }

    fn strands(&self, seen: &View<'_>, path: &[usize]) -> bool {
        path.len() == 1 && self.snapshot().none_served() && seen.strands(self.decision(seen, path))
    }
}
