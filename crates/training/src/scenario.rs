//! The `training` scenario as levels and choices.
//!
//! A slot is filled by many decisions, and each answers up to three questions: go on or close the slot, which job gets more, and
//! whether that is a worker, a server or both. Candidates are what could really be carried out on the node that comes next. A
//! policy names a probability for every task of every live job; what it gives to tasks that do not fit counts for closing the
//! slot, because that is what comes of choosing them (DL2, Peng et al., arXiv 1909.06040, and its simulator).

use crate::{
    catalogue,
    feature::{Candidate, Extractor, feature_set, words},
    state::{Change, ClusterState, Decision, Task, View},
};
use sched_distill_core::{
    figure::COMPLETION_FIGURES,
    scenario::{Given, Questions, Scenario, ScenarioInfo, State},
};
use std::error::Error;

/// Deep-learning jobs that receive workers and parameter servers, slot by slot.
#[derive(Clone, Copy, Debug, Default)]
pub struct Training;

/// Why a choice was open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A job lacks a worker or a server and could get what it lacks.
    Start = 0,
    /// All that could be started has been.
    Grow = 1,
}

impl Scenario for Training {
    const INFO: ScenarioInfo = ScenarioInfo {
        name: "training",
        meaning: "deep-learning jobs with workers and parameter servers on nodes of CPUs and GPUs, as in DL2",
        kinds: &["start", "grow"],
        regime: "jobs_in_system",
        feature_set,
        words,
        figures: COMPLETION_FIGURES,
        catalogue: catalogue::CATALOGUE,
        lane: "place",
        part: "task",
        parts: &["worker", "server"],
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

    /// Where a task is placed makes no difference.
    fn same(_: &View<'_>, a: Decision, b: Decision) -> bool {
        match (a, b) {
            (Decision::Add { job, task, .. }, Decision::Add { job: other, task: others, .. }) => {
                (job, task) == (other, others)
            }
            _ => a == b,
        }
    }

    fn strands(seen: &View<'_>, decision: Decision) -> bool {
        seen.strands(decision)
    }

    const LISTS: &'static [&'static str] = &["action"];

    /// Three per live job, in order ([`Task::ALL`]), and last that of closing the slot, of which all that does not fit is a part.
    fn items(seen: &View<'_>) -> usize {
        TASKS * seen.live_jobs().len() + 1
    }

    fn item(seen: &View<'_>, decision: Decision) -> Option<usize> {
        let live = seen.live_jobs();
        let place = match decision {
            Decision::Add { job, task, .. } => live.binary_search(&job).ok().map(|place| TASKS * place + task as usize),
            Decision::Close => None,
        };
        Some(place.unwrap_or(TASKS * live.len()))
    }

    fn entry_name(seen: &View<'_>, _: Decision, _: usize, place: usize) -> String {
        match seen.live_jobs().get(place / TASKS) {
            Some(job) => format!("{} for job {job}", Task::ALL[place % TASKS]),
            None => "to close the slot".to_owned(),
        }
    }
}

impl State for ClusterState {
    type Scenario = Training;
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

    /// What names no node goes to the head.
    fn answer(&mut self, decision: Decision) -> Result<Decision, Box<dyn Error + Send + Sync>> {
        let head = self.head();
        self.answer(decision)?;
        Ok(match decision {
            Decision::Add { job, task, node } => Decision::Add { job, task, node: node.or(Some(head)) },
            Decision::Close => decision,
        })
    }

    /// Nodes, jobs and speeds that were worked out.
    fn extent(&self) -> usize {
        let [workers, servers] = [self.cluster.max_workers, self.cluster.max_servers].map(|most| most as usize + 2);
        self.cluster.nodes as usize + self.jobs.len() + self.cluster.types.len() * workers * servers
    }
}

/// Tasks that a job may be given.
const TASKS: usize = Task::ALL.len();

/// The kind of a question.
#[must_use]
pub fn kind(seen: &View<'_>) -> Kind {
    let could_start = |&id: &u32| {
        let job = seen.job(id);
        let lacks = match (job.workers(), job.servers()) {
            (0, 0) => Task::Both,
            (0, _) => Task::Worker,
            (_, 0) => Task::Server,
            _ => return false,
        };
        seen.fits(id, lacks)
    };
    if seen.live_jobs().iter().any(could_start) { Kind::Start } else { Kind::Grow }
}

/// Entity of the candidate that goes on, and of the one that closes the slot.
const GO_ON: u32 = 0;
const CLOSE: u32 = 1;

impl Questions<Training> for Extractor {
    fn limited(columns: &[&[bool]]) -> Self {
        Extractor::limited(columns)
    }

    fn update(&mut self, seen: &View<'_>) {
        self.update(seen);
    }

    #[inline]
    fn count(&self, _: &View<'_>, path: &[usize], _: bool) -> usize {
        let candidates = self.snapshot().candidates();
        match *path {
            // Where nothing can be added, the only candidate is to close the slot.
            [] => 1 + usize::from(!candidates.is_empty()),
            [0] => candidates.len(),
            [0, job] => candidates[job].tasks().count(),
            _ => 0,
        }
    }

    fn rows(&mut self, seen: &View<'_>, path: &[usize], _: bool, out: &mut Vec<f32>) -> usize {
        match *path {
            [] => self.cluster_rows(seen, out),
            [0] if !self.snapshot().candidates().is_empty() => self.job_rows(seen, out),
            [0, job] => self.task_rows(seen, job, out),
            _ => 0,
        }
    }

    #[inline]
    fn entity(&self, _: &View<'_>, path: &[usize], out: &mut Vec<u32>) {
        let candidates = self.snapshot().candidates();
        match *path {
            [candidate] => out.push(if candidate == 0 && !candidates.is_empty() { GO_ON } else { CLOSE }),
            [_, job] => out.push(candidates[job].job),
            [_, job, task] => {
                let task = candidates[job].tasks().nth(task).map_or(0, |task| task as u32);
                out.extend([candidates[job].job, task]);
            }
            _ => {}
        }
    }

    fn place(&self, _: &View<'_>, path: &[usize], decision: Decision) -> Option<usize> {
        let candidates = self.snapshot().candidates();
        match (path, decision) {
            ([], Decision::Close) => Some(usize::from(!candidates.is_empty())),
            ([], Decision::Add { .. }) => (!candidates.is_empty()).then_some(0),
            ([0], Decision::Add { job, .. }) => candidates.iter().position(|candidate| candidate.job == job),
            (&[0, place], Decision::Add { job, task, .. }) if candidates[place].job == job => {
                candidates[place].tasks().position(|other| other == task)
            }
            _ => None,
        }
    }

    fn decision(&self, _: &View<'_>, path: &[usize]) -> Decision {
        match *path {
            [0, job, task] => {
                let candidate = &self.snapshot().candidates()[job];
                match candidate.tasks().nth(task) {
                    Some(task) => Decision::Add { job: candidate.job, task, node: None },
                    None => Decision::Close,
                }
            }
            _ => Decision::Close,
        }
    }

    /// To close, jobs none of whose tasks leaves one to be started, and such tasks.
    fn strands(&self, seen: &View<'_>, path: &[usize]) -> bool {
        let candidates = self.snapshot().candidates();
        let strands = |job, task| seen.strands(Decision::Add { job, task, node: None });
        match *path {
            [0] => candidates.is_empty() && seen.strands(Decision::Close),
            [_] => seen.strands(Decision::Close),
            [_, job] => candidates[job].tasks().all(|task| strands(candidates[job].job, task)),
            [_, job, task] => candidates[job].tasks().nth(task).is_some_and(|task| strands(candidates[job].job, task)),
            _ => false,
        }
    }

    #[inline]
    fn item(&self, seen: &View<'_>, path: &[usize]) -> Option<usize> {
        let candidates = self.snapshot().candidates();
        match *path {
            [0] if !candidates.is_empty() => None,
            [_] => Some(TASKS * seen.live_jobs().len()),
            [0, job, task] => {
                candidates[job].tasks().nth(task).map(|task| TASKS * candidates[job].place + task as usize)
            }
            _ => None,
        }
    }

    /// What is left is the probability of closing, and that of all that does not fit.
    fn log_prob_left(&self, _: &View<'_>, candidate: usize, joint: &[f64]) -> Option<f64> {
        let of_job = |c: &Candidate| Given::any(c.tasks().map(|task| joint[TASKS * c.place + task as usize]));
        let candidates = self.snapshot().candidates();
        let goes_on: f64 = candidates.iter().map(|candidate| of_job(candidate).ln().exp()).sum();
        let closes = candidates.is_empty() || candidate == 1;
        Some(if closes { 1.0 - goes_on } else { goes_on }.max(0.0).ln())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{heuristic::Optimus, workload::TrainingWorkload};
    use sched_distill_core::{
        level::NONE_FLAG,
        simulation::{Simulated, Simulation as _},
    };

    /// Runs Optimus on a small cluster and calls `check` at every question.
    fn each_question(mut check: impl FnMut(&View<'_>, &mut Extractor)) {
        for spec in ["builtin,nodes=6,jobs=12,max=4", "builtin,nodes=3,jobs=8,max=3,speed=analytic"] {
            let workload = TrainingWorkload::open(&spec.parse().unwrap()).unwrap();
            let mut sim = Training::start(&workload, workload.jobs(3), 3);
            let (mut extractor, mut policy) = (Extractor::default(), Optimus::default());
            while let Some(seen) = sim.view() {
                extractor.update(&seen);
                check(&seen, &mut extractor);
                let decision = policy.decide(&seen);
                sim.step(decision).unwrap();
            }
        }
    }

    #[test]
    fn every_path_is_a_legal_decision_and_its_rows_are_finite() {
        let set = feature_set();
        let width = |level: usize| set.levels[level].features.len();
        let mut whole = 0;
        each_question(|seen, extractor| {
            let mut x = Vec::new();
            let first = extractor.rows(seen, &[], false, &mut x);
            assert_eq!(x.len(), first * width(0));
            assert_eq!(x[(first - 1) * width(0)], 1.0, "{NONE_FLAG} of closing");
            let mut legal = vec![Decision::Close];
            let jobs = if first > 1 { extractor.rows(seen, &[0], false, &mut x) } else { 0 };
            for job in 0..jobs {
                let tasks = extractor.rows(seen, &[0, job], false, &mut x);
                legal.extend((0..tasks).map(|task| extractor.decision(seen, &[0, job, task])));
            }
            assert!(x.iter().all(|v| v.is_finite()));
            // Brute force: what the simulator accepts on the head node.
            let mut expected = vec![Decision::Close];
            for &job in seen.live_jobs() {
                for task in Task::ALL {
                    if seen.job(job).can_take(task) && seen.fits(job, task) {
                        expected.push(Decision::Add { job, task, node: None });
                    }
                }
            }
            assert_eq!(legal, expected);
            whole += legal.len();
        });
        assert!(whole > 1000, "{whole}");
    }

    #[test]
    fn kinds_say_whether_a_job_could_be_started() {
        each_question(|seen, extractor| {
            let startable = extractor.snapshot().candidates().iter().any(|c| {
                let job = seen.job(c.job);
                c.tasks().any(|task| {
                    let [workers, servers] = task.counts();
                    let trains = |w: u32, s: u32| w > 0 && s > 0;
                    !trains(job.workers(), job.servers()) && trains(job.workers() + workers, job.servers() + servers)
                })
            });
            assert_eq!(kind(seen) == Kind::Start, startable);
        });
        assert_eq!(Training::INFO.kinds, ["start", "grow"]);
    }
}
