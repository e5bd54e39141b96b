//! Integrated gradients of a scorer's own decisions, see [`crate::integrated`], from a recorded trace alone: it reads what the trace
//! holds. Inputs are what features are away from their means, in scales; the baseline is a decision all of whose features are at
//! their means.

use super::{batch::Batch, network::Inputs, network::Network, params::ScorerParams};
use crate::{
    TrainError, Weights,
    integrated::{Attribution, Question, attribute, gather},
};
use rayon::prelude::*;
use sched_distill_core::{
    level::FeatureSet,
    network::{Tensors, scorer::ScorerWeights},
};
use sched_distill_explain::TeacherGradients;
use sched_distill_judge::practice::{Moment, Practice, PracticeLevel, PracticeStep};
use sched_distill_trace::{LevelTable, Trace};
use std::sync::atomic::{AtomicBool, Ordering};
use tch::{Device, Kind, TchError, Tensor};

/// Whose feature: the chosen candidate's own, another's at its level, or one's of a level above.
const CHOSEN: &str = "the chosen candidate";
const OTHERS: &str = "other candidates";
const ABOVE: &str = "levels above";

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
    let found = found.into_iter().collect::<Result<Vec<_>, _>>()?;
    let questions: Vec<Question> = (0..set.levels.len()).map(|level| question(set, level)).collect();
    Ok(gather(&found, &questions, "a decision in which every feature is at its mean".to_owned()))
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

/// The choice at a level: the features of the levels above, then those of the level itself, of the chosen candidate and of others.
fn question(set: &FeatureSet, level: usize) -> Question {
    let mut inputs = Vec::new();
    for above in &set.levels[..level] {
        inputs.extend(above.features.iter().map(|f| (format!("{}: {}", above.name, f.name), ABOVE)));
    }
    let own = &set.levels[level];
    inputs.extend(own.features.iter().flat_map(|f| [CHOSEN, OTHERS].map(|of| (f.name.clone(), of))));
    Question { text: own.question.clone(), inputs }
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
    let numbers: Vec<f64> = weights.data.iter().map(|&w| f64::from(w)).collect();
    let network = Network::over(Tensor::f_from_slice(&numbers)?, set, params.shape)?;
    let inputs = Inputs::new(&batch, set, Device::Cpu)?.double()?;
    let widths: Vec<usize> = set.levels.iter().map(|level| level.features.len()).collect();
    let attribution = |level: usize| {
        let seen: Vec<Tensor> = inputs.levels[..=level].iter().map(|level| level.x.shallow_clone()).collect();
        let log_prob = |rows: &[Tensor]| {
            let rows: Vec<&Tensor> = rows.iter().collect();
            let chosen = network.chosen(&inputs, &rows)?;
            chosen[level].as_ref().expect("the decision gets to the level").f_sum(Kind::Double)
        };
        let before: Vec<usize> = (0..=level).map(|l| widths[..l].iter().sum()).collect();
        let place = |l: usize, i: usize| {
            let (candidate, feature) = (i / widths[l], i % widths[l]);
            match l == level {
                true => before[l] + 2 * feature + usize::from(candidate as i64 != batch.levels[l].taken[0]),
                false => before[l] + feature,
            }
        };
        attribute((level, before[level] + 2 * widths[level]), &seen, log_prob, place)
    };
    let several = batch.levels.iter().enumerate().filter(|(_, l)| l.count.first().is_some_and(|&count| count > 1.0));
    several.map(|(level, _)| attribution(level)).collect()
}
