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
    figure::{Better, Compared, Figure},
    scenario::{Answer, ChoiceRows, Distribution, Given, LEAST_LOG_PROB, Questions, Scenario, ScenarioInfo, State},
};
use std::error::Error;

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

/// Log-probabilities of an answer; empty for deterministic policies.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Probabilities {
    /// At a question who is served, of each application with waiting tasks, by place, and last of none; where a batch is being formed a
    /// single 0.
    pub serve: Vec<f64>,
    /// Where a batch is being formed, of the oldest task of each size, ascending, and last of closing the batch if it has a task.
    pub add: Vec<f64>,
}

const FIGURES: &[Figure] = &[
    Figure::new(
        ["slowdown", "mean slowdown", "1"],
        Better::Less,
        Compared::Ratio,
        "Mean over all answered tasks of their time from arrival to answer ÷ their time in a batch of their own.",
    ),
    Figure::new(
        ["p95_ms", "p95 latency", "ms"],
        Better::Less,
        Compared::Ratio,
        "The smallest time from arrival to answer that 95 % of the answered tasks do not exceed.",
    ),
    Figure::new(
        ["p99_ms", "p99 latency", "ms"],
        Better::Less,
        Compared::Ratio,
        "The smallest time from arrival to answer that 99 % of the answered tasks do not exceed.",
    ),
    Figure::new(
        ["throughput", "throughput", "1/s"],
        Better::More,
        Compared::Ratio,
        "Tasks answered while tasks arrive, per second.",
    ),
    Figure::new(
        ["fairness", "fairness", "1"],
        Better::More,
        Compared::Difference,
        "Jain's index of the accelerator time by weight that applications have while tasks arrive: 1 if all have the same.",
    ),
    Figure::new(
        ["waste", "padding", "share"],
        Better::Less,
        Compared::Difference,
        "Share of what accelerators worked on that only padded batches.",
    ),
    Figure::new(
        ["in_time", "within the objective", "share"],
        Better::More,
        Compared::Difference,
        "Share of all tasks that are answered within the objective of their application.",
    ),
    Figure::new(
        ["refused", "refused", "share"],
        Better::Less,
        Compared::Difference,
        "Share of the tasks that find the queue full.",
    ),
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
        probabilities.add.clear();
    }

    fn is_silent(probabilities: &Probabilities) -> bool {
        probabilities.serve.is_empty()
    }

    fn certain(seen: &View<'_>, sure_of: Decision, _: Decision, out: &mut Probabilities) {
        Self::clear(out);
        let sure = |is: bool| if is { 0.0 } else { f64::from(LEAST_LOG_PROB) };
        match seen.question() {
            Question::Serve => {
                let all = seen.candidates().map(Some).chain([None]);
                out.serve.extend(all.map(|application| sure(application == sure_of.application())));
            }
            Question::Form(_) => {
                out.serve.push(0.0);
                let close = (seen.batch().count > 0).then_some(None);
                let all = seen.groups().map(|group| Some(group.task)).chain(close);
                out.add.extend(all.map(|task| sure(task == sure_of.task())));
            }
        }
    }

    fn same(_: &View<'_>, a: Decision, b: Decision) -> bool {
        a == b || matches!((a, b), (Decision::Wait { .. }, Decision::Wait { .. }))
    }

    fn strands(seen: &View<'_>, decision: Decision) -> bool {
        seen.strands(decision)
    }

    fn distributions(seen: &View<'_>, _: Decision, p: &Probabilities, each: &mut dyn FnMut(Distribution<'_>)) {
        let applications: Vec<u32> = seen.candidates().collect();
        let tasks: Vec<u32> = seen.groups().map(|group| group.task).collect();
        let is_forming = seen.question() != Question::Serve;
        let serve = if is_forming { 1 } else { applications.len() + 1 };
        let add = if is_forming { tasks.len() + usize::from(seen.batch().count > 0) } else { 0 };
        let name =
            |place: usize| applications.get(place).map_or("no application".to_owned(), |a| format!("application {a}"));
        each(Distribution {
            of: "serve",
            log_prob: &p.serve,
            candidates: serve..=serve,
            conditional: false,
            name: if is_forming { &|_| "the application in question".to_owned() } else { &name },
        });
        each(Distribution {
            of: "add",
            log_prob: &p.add,
            candidates: add..=add,
            conditional: true,
            name: &|place| tasks.get(place).map_or("no task".to_owned(), |task| format!("task {task}")),
        });
    }
}

impl State<Serving> for ServerState {
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

    fn rows(&mut self, seen: &View<'_>, path: &[usize], _: bool, out: &mut Vec<f32>) -> usize {
        match path {
            [] => self.application_rows(seen, out),
            [0] => self.task_rows(seen, out),
            _ => 0,
        }
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

    fn tell(&self, _: &View<'_>, path: &[usize], _: f64, log_prob: &[f64], out: &mut Probabilities) {
        let of = if path.is_empty() { &mut out.serve } else { &mut out.add };
        of.clear();
        of.extend_from_slice(log_prob);
    }

    fn choice(
        &self,
        _: &View<'_>,
        path: &[usize],
        answer: &Answer<'_, Serving>,
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
                let count = s.applications().len() + 1;
                for (place, application) in s.applications().iter().copied().chain([NO_ONE]).enumerate() {
                    out.entity.push(application);
                    out.log_prob.push(within(&p.serve, place, count));
                    if decision.application().unwrap_or(NO_ONE) == application {
                        out.chosen = Some(place);
                    }
                }
            }
            [] => {
                out.entity.extend_from_slice(s.applications());
                // The application in question is the only one.
                out.log_prob.push(if p.serve.is_empty() { f32::NAN } else { 0.0 });
                out.chosen = Some(0);
            }
            [0] if !s.none_served() => {
                let application = s.applications().first().copied().unwrap_or(NO_ONE);
                let close = s.can_close().then_some(NO_ONE);
                let count = s.groups().len() + usize::from(s.can_close());
                for (place, task) in s.groups().iter().map(|group| group.task).chain(close).enumerate() {
                    out.entity.extend([application, task]);
                    out.log_prob.push(within(&p.add, place, count));
                    if decision.task().unwrap_or(NO_ONE) == task {
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
