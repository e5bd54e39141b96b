//! Integrated gradients of a network's own decisions.
//!
//! The attribution of an input is its value times the mean gradient on the straight way from a baseline, an observation in
//! which every number is 0 and messages along edges count 0, to what was seen (M. Sundararajan et al., *Axiomatic
//! Attribution for Deep Networks*, ICML 2017). Attributions add up to the difference of the log-probabilities at both ends.

use super::{
    batch::{Batch, Block},
    experience::Experience,
    network::{Inputs, Network},
    rollout::{Driver, Shown, play},
};
use crate::{RecordedLessons, Replay, Returns, TrainError, Weights, session::RolloutId};
use rayon::prelude::*;
use sched_distill_dag::{
    Dag,
    network::{DecimaPolicy, FEATURES},
};
use sched_distill_explain::{InputGradient, QuestionGradients, TeacherGradients, empty_observation};
use std::sync::atomic::{AtomicBool, Ordering};
use tch::{Device, Kind, TchError, Tensor};

/// The network's features of a node, by the names that a trace gives them; the first three are the job's.
const NAMES: [&str; FEATURES] = ["room", "is_source", "executors_held", "remaining_tasks", "remaining_work"];
const JOB_FEATURES: usize = 3;
/// Which stages wait for which.
const EDGES: &str = "order of stages";
const QUESTIONS: [&str; 2] = ["which stage?", "how many executors?"];
/// Whose input: the chosen stage's own, its job's, the other jobs'.
const OF: [&str; 3] = ["the chosen stage", "its job", "other jobs"];
/// Attributions of a decision's question: per input, and last the edges.
type Shares = [[f64; 3]; FEATURES + 1];

/// Steps along the way, doubled until the sum is right.
const STEPS: [u32; 6] = [32, 64, 128, 256, 512, 1024];
/// Allowed gap between the sum and what it explains, relative to it; below `SMALL` nats, absolute.
const GAP: f64 = 0.01;
const SMALL: f64 = 0.05;

/// One question of one decision.
#[derive(Clone, Debug)]
struct Attribution {
    log_prob: f64,
    baseline: f64,
    shares: Shares,
    steps: u32,
}

impl Attribution {
    fn gap(&self) -> f64 {
        let explained = self.log_prob - self.baseline;
        let sum: f64 = self.shares.iter().flatten().sum();
        (sum - explained).abs() / explained.abs().max(SMALL)
    }
}

/// Attributions of about `decisions` decisions of a recorded trace, spread evenly over its episodes, to the inputs of the
/// network that made them.
///
/// # Errors
///
/// A trace that cannot be played again, libtorch, or an interruption.
pub fn teacher_gradients(
    weights: &Weights,
    recorded: &RecordedLessons<Dag>,
    decisions: usize,
    stop: &AtomicBool,
) -> Result<TeacherGradients, TrainError> {
    tch::set_num_threads(1);
    let total: usize = recorded.episodes.iter().map(|e| e.decisions.len()).sum();
    let every = total.div_ceil(decisions.max(1)).max(1);
    let network = super::network(weights)?;
    let mut start = 0;
    let starts = recorded.episodes.iter().map(|e| {
        start += e.decisions.len();
        start - e.decisions.len()
    });
    let jobs: Vec<_> = recorded.episodes.iter().zip(starts.collect::<Vec<_>>()).collect();
    let found: Vec<Result<Vec<[Option<Attribution>; 2]>, TrainError>> = jobs
        .into_par_iter()
        .map(|(episode, start)| {
            if stop.load(Ordering::Relaxed) {
                return Err(TrainError::Interrupted);
            }
            let mut policy = DecimaPolicy::new(network.clone(), false);
            let mut replay = Replay::new(episode);
            let id = RolloutId { episode: episode.id, draws: 0 };
            let returns = Returns::Discounted { rate: 0.0, trace: 0.0 };
            let driver = Driver::Teacher { teacher: &mut replay, shown: Shown::default() };
            let jobs = recorded.workload.jobs(id.episode);
            let experience = [play((&recorded.workload, jobs), &mut policy, driver, id, returns)?.experience];
            let first = start.next_multiple_of(every) - start;
            let chosen = (first..experience[0].steps.len()).step_by(every);
            chosen.map(|s| Ok(decision(weights, &experience, s)?)).collect()
        })
        .collect();
    let mut all: [Vec<Attribution>; 2] = Default::default();
    let mut looked_at = 0;
    for episode in found {
        for questions in episode? {
            looked_at += 1;
            for (list, of_question) in all.iter_mut().zip(questions) {
                list.extend(of_question);
            }
        }
    }
    let every = || all.iter().flatten();
    Ok(TeacherGradients {
        decisions: looked_at,
        steps: every().map(|a| a.steps).max().unwrap_or(0),
        gap: every().map(Attribution::gap).fold(0.0, f64::max),
        baseline: empty_observation(),
        questions: QUESTIONS.iter().zip(&all).filter(|(_, a)| !a.is_empty()).map(|(q, a)| question(q, a)).collect(),
    })
}

/// Means over decisions.
fn question(name: &str, all: &[Attribution]) -> QuestionGradients {
    let mean = |value: &dyn Fn(&Attribution) -> f64| all.iter().map(value).sum::<f64>() / all.len() as f64;
    let mut inputs = Vec::new();
    for (i, feature) in NAMES.iter().chain([&EDGES]).enumerate() {
        for (j, of) in OF.iter().enumerate() {
            let size = mean(&|a| a.shares[i][j].abs());
            if size > 0.0 {
                let mean = mean(&|a| a.shares[i][j]);
                inputs.push(InputGradient { feature: (*feature).to_owned(), of: (*of).to_owned(), mean, size });
            }
        }
    }
    inputs.sort_by(|a, b| b.size.total_cmp(&a.size));
    QuestionGradients {
        question: name.to_owned(),
        decisions: all.len(),
        log_prob: mean(&|a| a.log_prob),
        baseline: mean(&|a| a.baseline),
        inputs,
    }
}

/// Attributions of both questions of a decision; none where there is but one answer.
fn decision(weights: &Weights, rollout: &[Experience], step: usize) -> Result<[Option<Attribution>; 2], TchError> {
    let e = &rollout[0];
    let zeros = [vec![0.0; e.steps.len()]];
    let batch = Batch::new(rollout, &zeros, &[Block { rollout: 0, steps: step..step + 1 }]);
    let answers = [e.candidate_ptr[step + 1] - e.candidate_ptr[step], e.steps[step].amounts];
    let mut found = [None, None];
    for (q, found) in found.iter_mut().enumerate().filter(|(q, _)| answers[*q] > 1) {
        for steps in STEPS {
            let attribution = integrate(weights, &batch, q, steps)?;
            let close = attribution.gap() <= GAP;
            *found = Some(attribution);
            if close {
                break;
            }
        }
    }
    Ok(found)
}

/// The midpoint rule, in double precision.
fn integrate(weights: &Weights, batch: &Batch, question: usize, steps: u32) -> Result<Attribution, TchError> {
    let numbers: Vec<f64> = weights.data.iter().map(|&w| f64::from(w)).collect();
    let network = Network::over(Tensor::f_from_slice(&numbers)?)?;
    let inputs = Inputs::new(batch, Device::Cpu)?.double()?;
    let edges = batch.edges.len() as i64;
    let at = |share: f64| -> Result<(Tensor, Tensor), TchError> {
        let x = inputs.x.f_mul_scalar(share)?.f_set_requires_grad(true)?;
        let scale = Tensor::f_full([edges, 1], share, (Kind::Double, Device::Cpu))?.f_set_requires_grad(true)?;
        Ok((x, scale))
    };
    let end = |share: f64| -> Result<f64, TchError> {
        let (x, scale) = at(share)?;
        f64::try_from(network.log_probs(&inputs, &x, &scale)?[question].f_sum(Kind::Double)?)
    };
    let mut sums = [vec![0.0; batch.x.len()], vec![0.0; edges as usize]];
    for step in 0..steps {
        let (x, scale) = at((f64::from(step) + 0.5) / f64::from(steps))?;
        network.log_probs(&inputs, &x, &scale)?[question].f_sum(Kind::Double)?.f_backward()?;
        for (sum, input) in sums.iter_mut().zip([x, scale]) {
            let gradient = input.f_grad()?;
            // An input that plays no part has no gradient.
            if gradient.defined() {
                let gradient = Vec::<f64>::try_from(gradient.f_view([-1])?)?;
                sum.iter_mut().zip(gradient).for_each(|(s, g)| *s += g / f64::from(steps));
            }
        }
    }
    let node = batch.scored[batch.candidate[batch.stages.target[0] as usize] as usize];
    let job = batch.amount_job[0];
    let mut shares: Shares = Default::default();
    for (i, (value, gradient)) in batch.x.iter().zip(&sums[0]).enumerate() {
        let (v, feature) = (i / FEATURES, i % FEATURES);
        // A job's own features stand at each of its stages.
        let of = match (batch.node_job[v] == job, v as i64 == node && feature >= JOB_FEATURES) {
            (_, true) => 0,
            (true, false) => 1,
            (false, false) => 2,
        };
        shares[feature][of] += f64::from(*value) * gradient;
    }
    for (edge, gradient) in batch.edges.iter().zip(&sums[1]) {
        shares[FEATURES][if batch.node_job[edge[0] as usize] == job { 1 } else { 2 }] += gradient;
    }
    Ok(Attribution { log_prob: end(1.0)?, baseline: end(0.0)?, shares, steps })
}
