//! Integrated gradients of Decima's own decisions, see [`crate::integrated`]. The baseline is an observation in which every number is 0
//! and messages along edges count 0.

use super::{
    batch::{Batch, Block},
    experience::Experience,
    network::{Inputs, Network},
    rollout::{Driver, Shown, play},
};
use crate::{
    RecordedLessons, Replay, Returns, TrainError, Weights,
    integrated::{Attribution, Question, attribute, gather},
    session::RolloutId,
};
use rayon::prelude::*;
use sched_distill_dag::{
    Dag,
    network::{DecimaPolicy, FEATURES},
};
use sched_distill_explain::{TeacherGradients, empty_observation};
use std::sync::atomic::{AtomicBool, Ordering};
use tch::{Device, Kind, TchError, Tensor};

/// The network's features of a node, by the names that a trace gives them, the first three are the job's; and which stages wait for
/// which.
const NAMES: [&str; FEATURES + 1] =
    ["room", "is_source", "executors_held", "remaining_tasks", "remaining_work", "order of stages"];
const JOB_FEATURES: usize = 3;
const QUESTIONS: [&str; 2] = ["which stage?", "how many executors?"];
/// Whose input: the chosen stage's own, its job's, the other jobs'.
const OF: [&str; 3] = ["the chosen stage", "its job", "other jobs"];

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
    let found: Vec<Result<Vec<Vec<Attribution>>, TrainError>> = jobs
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
    let found: Vec<Vec<Attribution>> = found.into_iter().collect::<Result<Vec<_>, _>>()?.concat();
    let input = |name: &str| OF.map(|of| (name.to_owned(), of));
    let inputs: Vec<_> = NAMES.iter().flat_map(|name| input(name)).collect();
    let questions = QUESTIONS.map(|text| Question { text: text.to_owned(), inputs: inputs.clone() });
    Ok(gather(&found, &questions, empty_observation()))
}

/// Attributions of both questions of a decision; none where there is but one answer.
fn decision(weights: &Weights, rollout: &[Experience], step: usize) -> Result<Vec<Attribution>, TchError> {
    let e = &rollout[0];
    let zeros = [vec![0.0; e.steps.len()]];
    let batch = Batch::new(rollout, &zeros, &[Block { rollout: 0, steps: step..step + 1 }]);
    let numbers: Vec<f64> = weights.data.iter().map(|&w| f64::from(w)).collect();
    let network = Network::over(Tensor::f_from_slice(&numbers)?)?;
    let inputs = Inputs::new(&batch, Device::Cpu)?.double()?;
    let edges = Tensor::f_ones([batch.edges.len() as i64, 1], (Kind::Double, Device::Cpu))?;
    let seen = [inputs.x.shallow_clone(), edges];
    let node = batch.scored[batch.candidate[batch.stages.target[0] as usize] as usize];
    let job = batch.amount_job[0];
    let place = |tensor: usize, i: usize| {
        let (v, feature) = match tensor {
            0 => (i / FEATURES, i % FEATURES),
            _ => (batch.edges[i][0] as usize, FEATURES),
        };
        // A job's own features stand at each of its stages.
        let of_stage = tensor == 0 && v as i64 == node && feature >= JOB_FEATURES;
        let of = match (batch.node_job[v] == job, of_stage) {
            (_, true) => 0,
            (true, false) => 1,
            (false, false) => 2,
        };
        feature * OF.len() + of
    };
    let answers = [e.candidate_ptr[step + 1] - e.candidate_ptr[step], e.steps[step].amounts];
    let several = answers.iter().enumerate().filter(|(_, answers)| **answers > 1);
    let attribution = |(question, _): (usize, _)| {
        let log_prob = |x: &[Tensor]| network.log_probs(&inputs, &x[0], &x[1])?[question].f_sum(Kind::Double);
        attribute((question, NAMES.len() * OF.len()), &seen, log_prob, place)
    };
    several.map(attribution).collect()
}
