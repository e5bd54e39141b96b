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
    scenario::{Answer, ChoiceRows, Distribution, Given, LEAST_LOG_PROB, Questions, Scenario, ScenarioInfo, State},
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

/// Log-probabilities of an answer.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Probabilities {
    /// Three per live job, in order ([`Task::ALL`]), and last that of closing the slot; empty for deterministic policies. What
    /// a policy rules out is −∞ or a very small number.
    pub action: Vec<f64>,
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
    type Probabilities = Probabilities;
    type Questions = Extractor;

    fn time_ms(seen: &View<'_>) -> f64 {
        seen.time_ms()
    }

    fn kind(seen: &View<'_>) -> u8 {
        kind(seen) as u8
    }

    fn clear(probabilities: &mut Probabilities) {
        probabilities.action.clear();
    }

    fn is_silent(probabilities: &Probabilities) -> bool {
        probabilities.action.is_empty()
    }

    fn certain(seen: &View<'_>, sure_of: Decision, _: Decision, out: &mut Probabilities) {
        certain(seen, sure_of, &mut out.action);
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

    fn distributions(seen: &View<'_>, _: Decision, p: &Probabilities, each: &mut dyn FnMut(Distribution<'_>)) {
        let live = seen.live_jobs();
        let actions = 3 * live.len() + 1;
        each(Distribution {
            of: "action",
            log_prob: &p.action,
            candidates: actions..=actions,
            conditional: false,
            name: &|place| match live.get(place / 3) {
                Some(job) => format!("{} for job {job}", Task::ALL[place % 3]),
                None => "to close the slot".to_owned(),
            },
        });
    }
}

impl State<Training> for ClusterState {
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

/// Log-probabilities of a policy that is sure of its decision.
pub fn certain(seen: &View<'_>, sure_of: Decision, out: &mut Vec<f64>) {
    let live = seen.live_jobs();
    out.clear();
    out.resize(3 * live.len() + 1, f64::from(LEAST_LOG_PROB));
    let place = match sure_of {
        Decision::Add { job, task, .. } => live.binary_search(&job).map_or(3 * live.len(), |i| 3 * i + task as usize),
        Decision::Close => 3 * live.len(),
    };
    out[place] = 0.0;
}

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

    fn rows(&mut self, seen: &View<'_>, path: &[usize], _: bool, out: &mut Vec<f32>) -> usize {
        match *path {
            [] => self.cluster_rows(seen, out),
            // Where nothing can be added, the only candidate is to close the slot.
            [0] if !self.snapshot().candidates().is_empty() => self.job_rows(seen, out),
            [0, job] => self.task_rows(seen, job, out),
            _ => 0,
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

    fn tell(&self, seen: &View<'_>, path: &[usize], above: f64, log_prob: &[f64], out: &mut Probabilities) {
        match *path {
            [] => {
                out.action.clear();
                out.action.resize(3 * seen.live_jobs().len(), f64::NEG_INFINITY);
                // To close the slot is the last candidate.
                out.action.extend(log_prob.last());
            }
            [_, job] => {
                let candidate = &self.snapshot().candidates()[job];
                for (task, within) in candidate.tasks().zip(log_prob) {
                    out.action[3 * candidate.place + task as usize] = above + within;
                }
            }
            _ => {}
        }
    }

    fn choice(
        &self,
        seen: &View<'_>,
        path: &[usize],
        answer: &Answer<'_, Training>,
        _: bool,
        out: &mut ChoiceRows,
    ) -> bool {
        let candidates = self.snapshot().candidates();
        let p = &answer.probabilities.action[..];
        out.clear();
        match *path {
            [] => cluster_choice(candidates, answer.decision, p, out),
            [0] if !candidates.is_empty() => job_choice(candidates, answer.decision, p, out),
            [0, job] => task_choice(&candidates[job], answer.decision, p, out),
            _ => return false,
        }
        // The level has its question in any case; a path that leads elsewhere was answered above.
        debug_assert!(p.is_empty() || p.len() == 3 * seen.live_jobs().len() + 1);
        true
    }
}

/// That one of the tasks is chosen that a job may have.
fn of_job(candidate: &Candidate, p: &[f64]) -> Given {
    Given::any(candidate.tasks().map(|task| p[3 * candidate.place + task as usize]))
}

/// Go on or close.
fn cluster_choice(candidates: &[Candidate], decision: Decision, p: &[f64], out: &mut ChoiceRows) {
    let closes = decision == Decision::Close;
    if candidates.is_empty() {
        out.entity.push(CLOSE);
        out.log_prob.push(if p.is_empty() { f32::NAN } else { 0.0 });
        out.chosen = closes.then_some(0);
        return;
    }
    out.entity.extend([GO_ON, CLOSE]);
    if p.is_empty() {
        out.log_prob.extend([f32::NAN; 2]);
    } else {
        let goes_on: f64 = candidates.iter().map(|c| of_job(c, p).ln().exp()).sum();
        // What is left is the probability of closing, and that of all that does not fit.
        out.log_prob.extend([goes_on, 1.0 - goes_on].map(|x| Given::ALL.within(x.max(0.0).ln(), 1)));
    }
    out.chosen = Some(usize::from(closes));
}

/// Which job.
fn job_choice(candidates: &[Candidate], decision: Decision, p: &[f64], out: &mut ChoiceRows) {
    let chosen = match decision {
        Decision::Add { job, .. } => Some(job),
        Decision::Close => None,
    };
    // Relative to the largest, so that what is very unlikely as a whole keeps its order within.
    let goes_on = (!p.is_empty()).then(|| Given::any(candidates.iter().map(|c| of_job(c, p).ln())));
    for (i, candidate) in candidates.iter().enumerate() {
        out.entity.push(candidate.job);
        let log_prob = |given: Given| given.within(of_job(candidate, p).ln(), candidates.len());
        out.log_prob.push(goes_on.map_or(f32::NAN, log_prob));
        if chosen == Some(candidate.job) {
            out.chosen = Some(i);
        }
    }
}

/// Which task for a job.
fn task_choice(candidate: &Candidate, decision: Decision, p: &[f64], out: &mut ChoiceRows) {
    let given = (!p.is_empty()).then(|| of_job(candidate, p));
    let tasks = candidate.tasks().count();
    for (i, task) in candidate.tasks().enumerate() {
        out.entity.extend([candidate.job, task as u32]);
        let log_prob = |given: Given| given.within(p[3 * candidate.place + task as usize], tasks);
        out.log_prob.push(given.map_or(f32::NAN, log_prob));
        if matches!(decision, Decision::Add { job, task: chosen, .. } if (job, chosen) == (candidate.job, task)) {
            out.chosen = Some(i);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        heuristic::{Drf, Optimus},
        workload::TrainingWorkload,
    };
    use sched_distill_core::{
        level::NONE_FLAG,
        rng::Stream,
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

    /// Log-probabilities with some actions ruled out.
    fn random(seen: &View<'_>, stream: &mut Stream) -> Probabilities {
        let weight = |stream: &mut Stream| if stream.uniform() < 0.2 { 0.0 } else { stream.uniform() };
        let mut weights: Vec<f64> = (0..3 * seen.live_jobs().len()).map(|_| weight(stream)).collect();
        weights.push(0.1);
        let total: f64 = weights.iter().sum();
        Probabilities { action: weights.into_iter().map(|w| (w / total).ln()).collect() }
    }

    #[test]
    fn levels_multiply_to_the_joint_probability_and_what_does_not_fit_counts_for_closing() {
        let (mut stream, mut closed_by_room) = (Stream::new(1, "probabilities"), 0);
        each_question(|seen, extractor| {
            let p = random(seen, &mut stream);
            let answer = Answer { decision: Decision::Close, probabilities: &p };
            let mut rows = [ChoiceRows::default(), ChoiceRows::default(), ChoiceRows::default()];
            assert!(extractor.choice(seen, &[], &answer, false, &mut rows[0]));
            let mut legal = 0.0;
            if extractor.choice(seen, &[0], &answer, false, &mut rows[1]) {
                for (i, candidate) in extractor.snapshot().candidates().iter().enumerate() {
                    assert!(extractor.choice(seen, &[0, i], &answer, false, &mut rows[2]));
                    for (k, task) in candidate.tasks().enumerate() {
                        let joint = p.action[3 * candidate.place + task as usize].exp();
                        legal += joint;
                        let sum = rows[0].log_prob[0] + rows[1].log_prob[i] + rows[2].log_prob[k];
                        assert!((f64::from(sum).exp() - joint).abs() < 1e-6, "{joint}");
                    }
                }
            }
            let close = *rows[0].log_prob.last().unwrap();
            assert!((f64::from(close).exp() - (1.0 - legal)).abs() < 1e-6);
            closed_by_room += u32::from(1.0 - legal > p.action.last().unwrap().exp() + 1e-6);
            assert!(!extractor.choice(seen, &[1], &answer, false, &mut rows[1]));
        });
        assert!(closed_by_room > 50, "{closed_by_room}");
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
    fn what_a_sure_policy_does_is_the_target_of_every_level() {
        let mut drf = Drf;
        each_question(|seen, extractor| {
            let decision = drf.decide(seen);
            let mut p = Probabilities::default();
            Training::certain(seen, decision, decision, &mut p);
            for probabilities in [&p, &Probabilities::default()] {
                let answer = Answer { decision, probabilities };
                let (mut path, mut rows) = (Vec::new(), ChoiceRows::default());
                while extractor.choice(seen, &path, &answer, false, &mut rows) {
                    let chosen = rows.chosen.expect("what was carried out is a candidate");
                    let sure = rows.log_prob[chosen];
                    assert!(sure.is_nan() || sure > -1e-6, "{sure}");
                    path.push(chosen);
                }
                assert_eq!(extractor.decision(seen, &path), decision);
            }
        });
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
