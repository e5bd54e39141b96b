//! Integrated gradients of a scorer's own decisions, from a recorded trace alone: it reads what the trace holds.
//!
//! The attribution of a feature is what it is away from its mean, in scales, times the mean gradient on the straight way from a
//! decision all of whose features are at their means to what was seen (M. Sundararajan et al., *Axiomatic Attribution for Deep
//! Networks*, ICML 2017). Attributions add up to the difference of the log-probabilities at both ends.

use super::{batch::Batch, network::Inputs, network::Network, params::ScorerParams};
use crate::{TrainError, Weights};
use rayon::prelude::*;
use sched_distill_core::{
    level::{FeatureSet, LevelSpec},
    network::{Tensors, scorer::ScorerWeights},
};
use sched_distill_explain::{InputGradient, QuestionGradients, TeacherGradients};
use sched_distill_judge::practice::{Moment, Practice, PracticeLevel, PracticeStep};
use sched_distill_trace::{LevelTable, Trace};
use std::sync::atomic::{AtomicBool, Ordering};
use tch::{Device, Kind, TchError, Tensor};

/// Steps along the way, doubled until the sum is right.
const STEPS: [u32; 6] = [32, 64, 128, 256, 512, 1024];
/// Allowed gap between the sum and what it explains, relative to it; below `SMALL` nats, absolute.
const GAP: f64 = 0.01;
const SMALL: f64 = 0.05;

/// Whose feature: the chosen candidate's own, another's at its level, or one's of a level above.
const OF: [&str; 3] = ["the chosen candidate", "other candidates", "levels above"];

/// One level's choice of one decision.
#[derive(Clone, Debug)]
struct Attribution {
    level: usize,
    log_prob: f64,
    baseline: f64,
    /// By level and feature, for the chosen candidate and for the others.
    shares: Vec<Vec<[f64; 2]>>,
    steps: u32,
}

impl Attribution {
    fn gap(&self) -> f64 {
        let explained = self.log_prob - self.baseline;
        let sum: f64 = self.shares.iter().flatten().flatten().sum();
        (sum - explained).abs() / explained.abs().max(SMALL)
    }
}

/// Attributions of about `decisions` decisions of a trace, spread evenly over it, to the features by which the network made
/// them.
///
/// # Errors
///
/// A trace that cannot be read, a network of other features, libtorch, or an interruption.
pub fn scorer_gradients(
    tensors: &Tensors,
    trace: &Trace,
    decisions: usize,
    stop: &AtomicBool,
) -> Result<TeacherGradients, TrainError> {
    tch::set_num_threads(1);
    let origin = trace.manifest.labeller.id.as_str();
    let network = ScorerWeights::from_tensors(tensors, origin)?;
    let (set, shape) = (network.feature_set(), network.shape());
    let unfit = |reason: String| TrainError::Gradients { path: trace.dir.clone(), reason };
    if let Some(difference) = set.difference(&trace.manifest.feature_set) {
        return Err(unfit(format!("{origin} reads other features than the trace holds: {difference}")));
    }
    let weights = Weights::from_tensors(super::layout(set, shape), tensors, origin)?;
    let tables = set.levels.iter().map(|level| trace.level(&level.name)).collect::<Result<Vec<_>, _>>();
    let practice = executed(&network, &tables.map_err(|e| unfit(e.to_string()))?, decisions);
    let params = ScorerParams { shape, ..ScorerParams::default() };
    let every: Vec<(usize, u32)> = (0..practice.steps.len() as u32).map(|step| (0, step)).collect();
    let episodes = [practice];
    let found: Vec<Result<Vec<Attribution>, TrainError>> = every
        .into_par_iter()
        .map(|(_, step)| {
            if stop.load(Ordering::Relaxed) {
                return Err(TrainError::Interrupted);
            }
            Ok(decision(&weights, set, &params, &episodes, step)?)
        })
        .collect();
    let mut all: Vec<Vec<Attribution>> = vec![Vec::new(); set.levels.len()];
    let mut looked_at = 0;
    for of_decision in found {
        looked_at += 1;
        of_decision?.into_iter().for_each(|a| all[a.level].push(a));
    }
    let every = || all.iter().flatten();
    let questions = all.iter().enumerate().filter(|(_, found)| !found.is_empty());
    Ok(TeacherGradients {
        decisions: looked_at,
        steps: every().map(|a| a.steps).max().unwrap_or(0),
        gap: every().map(Attribution::gap).fold(0.0, f64::max),
        baseline: "a decision in which every feature is at its mean".to_owned(),
        questions: questions.map(|(level, found)| question(set, level, found)).collect(),
    })
}

/// The choices along the paths of decisions that were carried out, about so many of them.
fn executed(network: &ScorerWeights, tables: &[LevelTable], decisions: usize) -> Practice {
    let first = tables.first().map_or(0, |table| table.choices.len());
    let every = first.div_ceil(decisions.max(1)).max(1);
    let mut steps = Vec::new();
    let mut levels = Vec::new();
    // Episode and step of each decision that is looked at.
    let mut places: Vec<(u32, u32)> = Vec::new();
    for (i, table) in tables.iter().enumerate() {
        let mut level = PracticeLevel::new(table.spec.features.len());
        let mut rows = Vec::new();
        for (n, choice) in table.iter().enumerate() {
            let place = (choice.header.episode, choice.header.step);
            let Some(taken) = choice.chosen.iter().position(|&chosen| chosen) else { continue };
            if i == 0 {
                if n % every != 0 {
                    continue;
                }
                places.push(place);
                steps.push(PracticeStep { moment: Moment::default(), log_prob: 0.0 });
            }
            let Ok(step) = places.binary_search(&place) else { continue };
            network.standardise(i, choice.x, &mut rows);
            level.push(&rows, step as u32, taken as u32);
        }
        levels.push(level);
    }
    Practice { levels, steps, outcome: None }
}

/// Attributions of a decision, level by level; none where there is but one candidate.
fn decision(
    weights: &Weights,
    set: &FeatureSet,
    params: &ScorerParams,
    episodes: &[Practice],
    step: u32,
) -> Result<Vec<Attribution>, TchError> {
    let batch = Batch::new(episodes, None, &[(0, step)]);
    let mut found = Vec::new();
    for (level, of_level) in batch.levels.iter().enumerate() {
        if of_level.count.first().is_none_or(|&count| count < 2.0) {
            continue;
        }
        let mut last = None;
        for steps in STEPS {
            let attribution = integrate(weights, set, params, &batch, level, steps)?;
            let close = attribution.gap() <= GAP;
            last = Some(attribution);
            if close {
                break;
            }
        }
        found.extend(last);
    }
    Ok(found)
}

/// The midpoint rule, in double precision.
fn integrate(
    weights: &Weights,
    set: &FeatureSet,
    params: &ScorerParams,
    batch: &Batch,
    level: usize,
    steps: u32,
) -> Result<Attribution, TchError> {
    let numbers: Vec<f64> = weights.data.iter().map(|&w| f64::from(w)).collect();
    let network = Network::over(Tensor::f_from_slice(&numbers)?, set, params.shape)?;
    let inputs = Inputs::new(batch, set, Device::Cpu)?.double()?;
    let at = |share: f64| -> Result<Vec<Tensor>, TchError> {
        let rows = inputs.levels[..=level].iter();
        rows.map(|level| level.x.f_mul_scalar(share)?.f_set_requires_grad(true)).collect()
    };
    let log_prob = |rows: &[Tensor]| -> Result<Tensor, TchError> {
        let rows: Vec<&Tensor> = rows.iter().collect();
        let chosen = network.chosen(&inputs, &rows)?;
        chosen[level].as_ref().expect("the decision gets to the level").f_sum(Kind::Double)
    };
    let mut sums: Vec<Vec<f64>> = batch.levels[..=level].iter().map(|level| vec![0.0; level.x.len()]).collect();
    for step in 0..steps {
        let rows = at((f64::from(step) + 0.5) / f64::from(steps))?;
        log_prob(&rows)?.f_backward()?;
        for (sum, row) in sums.iter_mut().zip(&rows) {
            let gradient = row.f_grad()?;
            // Rows that play no part have no gradient.
            if gradient.defined() {
                let gradient = Vec::<f64>::try_from(gradient.f_view([-1])?)?;
                sum.iter_mut().zip(gradient).for_each(|(s, g)| *s += g / f64::from(steps));
            }
        }
    }
    let shares = batch.levels[..=level].iter().zip(&sums).zip(&set.levels).map(|((of_level, sum), spec)| {
        let width = spec.features.len();
        let mut shares = vec![[0.0; 2]; width];
        for (i, (value, gradient)) in of_level.x.iter().zip(sum).enumerate() {
            let other = usize::from((i / width) as i64 != of_level.taken[0]);
            shares[i % width][other] += f64::from(*value) * gradient;
        }
        shares
    });
    let end = |share: f64| -> Result<f64, TchError> { f64::try_from(log_prob(&at(share)?)?) };
    Ok(Attribution { level, log_prob: end(1.0)?, baseline: end(0.0)?, shares: shares.collect(), steps })
}

/// Means over decisions.
fn question(set: &FeatureSet, level: usize, all: &[Attribution]) -> QuestionGradients {
    let mean = |value: &dyn Fn(&Attribution) -> f64| all.iter().map(value).sum::<f64>() / all.len() as f64;
    let mut inputs = Vec::new();
    for (l, LevelSpec { features, .. }) in set.levels[..=level].iter().enumerate() {
        for (f, spec) in features.iter().enumerate() {
            // Above, it makes no difference whose it is: of the candidate that was taken, or of those beside it.
            let parts: &[&[usize]] = if l == level { &[&[0], &[1]] } else { &[&[0, 1]] };
            for (part, &places) in parts.iter().enumerate() {
                let of = if l == level { OF[part] } else { OF[2] };
                let share = |a: &Attribution| places.iter().map(|&place| a.shares[l][f][place]).sum::<f64>();
                let size = mean(&|a| share(a).abs());
                if size > 0.0 {
                    let feature =
                        if l == level { spec.name.clone() } else { format!("{}: {}", set.levels[l].name, spec.name) };
                    inputs.push(InputGradient { feature, of: of.to_owned(), mean: mean(&share), size });
                }
            }
        }
    }
    inputs.sort_by(|a, b| b.size.total_cmp(&a.size));
    QuestionGradients {
        question: set.levels[level].question.clone(),
        decisions: all.len(),
        log_prob: mean(&|a| a.log_prob),
        baseline: mean(&|a| a.baseline),
        inputs,
    }
}
