//! The `dag` scenario as levels and choices.
//!
//! A decision "stage s of job j, k executors" answers three questions: which job, which stage of it, how many executors.
//! The teacher's probabilities are split the same way: a job's is the sum over its stages, a stage's is conditional on its
//! job, and amounts beyond what the stage can use count for the largest usable one.

use crate::{
    feature::{Extractor, NO_JOB, dag_feature_set},
    level::FeatureSet,
    simulator::dag::{Decision, Observation, StageRef},
};
use std::sync::LazyLock;

/// Names of the kinds of decision, by [`Kind`].
pub const KINDS: [&str; 2] = ["affinity", "free"];

/// Why a choice was open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The job that released the executors could use them again.
    Affinity = 0,
    /// It could not, or nobody released them.
    Free = 1,
}

/// Levels and features, computed once.
pub fn feature_set() -> &'static FeatureSet {
    static SET: LazyLock<FeatureSet> = LazyLock::new(dag_feature_set);
    &SET
}

/// The kind of a question.
#[must_use]
pub fn kind(seen: &Observation<'_>) -> Kind {
    let stays = |job| seen.schedulable().iter().any(|s| s.job == job);
    match seen.source_job() {
        Some(job) if stays(job) => Kind::Affinity,
        _ => Kind::Free,
    }
}

/// One choice of one level: candidates with entities and the teacher's log-probabilities. The features are appended by
/// the [`Extractor`] in the same candidate order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ChoiceRows {
    /// Entity columns, row-major.
    pub entity: Vec<u32>,
    /// Log-probabilities within the choice, NaN where unknown.
    pub log_prob: Vec<f32>,
    /// Executed candidate, if it is one of these.
    pub chosen: Option<usize>,
}

impl ChoiceRows {
    fn clear(&mut self) {
        self.entity.clear();
        self.log_prob.clear();
        self.chosen = None;
    }
}

/// Smallest log-probability that is written: a candidate that the teacher rules out (an amount above its cap, say) still
/// needs a number.
pub const LEAST_LOG_PROB: f32 = -50.0;

/// The job level of a decision. `stage_log_prob` has one entry per schedulable stage, or is empty.
pub fn job_choice(
    extractor: &Extractor,
    decision: Decision,
    stage_log_prob: &[f32],
    abstains: bool,
    out: &mut ChoiceRows,
) {
    out.clear();
    let snapshot = extractor.snapshot();
    let chosen_job = match decision {
        Decision::Assign { stage, .. } => stage.job,
        Decision::Abstain => NO_JOB,
    };
    let mut from = 0;
    for (candidate, job) in snapshot.candidate_jobs().enumerate() {
        let to = from + snapshot.candidate_stages(candidate).len();
        out.entity.push(job);
        out.log_prob.push(stage_log_prob.get(from..to).map_or(f32::NAN, |p| log_sum(p).max(LEAST_LOG_PROB)));
        if job == chosen_job {
            out.chosen = Some(candidate);
        }
        from = to;
    }
    if abstains {
        if chosen_job == NO_JOB {
            out.chosen = Some(out.entity.len());
        }
        out.entity.push(NO_JOB);
        // No policy with probabilities abstains.
        out.log_prob.push(f32::NAN);
    }
}

/// The stage level of a decision for candidate job number `candidate`, chosen or not. `first` is where the job's stages
/// begin in `stage_log_prob`.
pub fn stage_choice(
    extractor: &Extractor,
    decision: Decision,
    stage_log_prob: &[f32],
    candidate: usize,
    first: usize,
    out: &mut ChoiceRows,
) {
    out.clear();
    let stages = extractor.snapshot().candidate_stages(candidate);
    let of_job = stage_log_prob.get(first..first + stages.len());
    let total = of_job.map_or(f32::NAN, log_sum);
    for (i, &stage) in stages.iter().enumerate() {
        out.entity.extend([stage.job, stage.stage]);
        out.log_prob.push(of_job.map_or(f32::NAN, |p| (p[i] - total).max(LEAST_LOG_PROB)));
        if matches!(decision, Decision::Assign { stage: chosen, .. } if chosen == stage) {
            out.chosen = Some(i);
        }
    }
}

/// The cluster level: amounts `1..=cap` for the executed stage. `amount_log_prob` may be longer than that (the rest is
/// added to the last) or shorter (the rest is ruled out).
pub fn amount_choice(
    seen: &Observation<'_>,
    stage: StageRef,
    executors: u32,
    amount_log_prob: &[f32],
    out: &mut ChoiceRows,
) {
    out.clear();
    let cap = Extractor::amount_cap(seen, stage) as usize;
    for amount in 1..=cap {
        out.entity.extend([stage.job, stage.stage, amount as u32]);
        out.log_prob.push(match amount_log_prob {
            [] => f32::NAN,
            p if amount > p.len() => LEAST_LOG_PROB,
            p if amount == cap => log_sum(&p[amount - 1..]).max(LEAST_LOG_PROB),
            p => p[amount - 1].max(LEAST_LOG_PROB),
        });
    }
    out.chosen = Some((executors as usize).min(cap) - 1);
}

/// ln Σ exp.
fn log_sum(values: &[f32]) -> f32 {
    let most = values.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let sum: f64 = values.iter().map(|v| f64::from(v - most).exp()).sum();
    (f64::from(most) + sum.ln()) as f32
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{simulator::dag::Simulator, workload};

    /// Runs a policy that takes the first stage and calls `check` at every question.
    fn each_question(check: impl Fn(&Observation<'_>, &mut Extractor)) {
        let workload = workload::open(&"builtin,jobs=8,rate=1e-3".parse().unwrap()).unwrap();
        let mut sim = Simulator::new(workload.cluster(), workload.jobs(3), 3);
        let mut extractor = Extractor::default();
        while let Some(seen) = sim.observation() {
            extractor.update(&seen);
            check(&seen, &mut extractor);
            let (stage, executors) = (seen.schedulable()[0], 1 + seen.committable() / 2);
            sim.step(Decision::Assign { stage, executors: executors.min(seen.committable()) }).unwrap();
        }
    }

    #[test]
    fn levels_multiply_to_the_joint_probability() {
        each_question(|seen, extractor| {
            let n = seen.schedulable().len();
            let weights: Vec<f32> = (0..n).map(|i| 1.0 + (i * 7 % 5) as f32).collect();
            let total: f32 = weights.iter().sum();
            let joint: Vec<f32> = weights.iter().map(|w| (w / total).ln()).collect();
            let chosen = seen.schedulable()[n / 2];
            let decision = Decision::Assign { stage: chosen, executors: 1 };
            let (mut jobs, mut stages) = (ChoiceRows::default(), ChoiceRows::default());
            job_choice(extractor, decision, &joint, false, &mut jobs);
            assert_eq!(jobs.entity[jobs.chosen.unwrap()], chosen.job);
            let mut first = 0;
            for (candidate, job) in jobs.entity.iter().enumerate() {
                stage_choice(extractor, decision, &joint, candidate, first, &mut stages);
                for (i, p) in stages.log_prob.iter().enumerate() {
                    assert!((jobs.log_prob[candidate] + p - joint[first + i]).abs() < 1e-5);
                }
                assert_eq!(stages.chosen.is_some(), *job == chosen.job);
                first += stages.log_prob.len();
            }
            assert_eq!(first, n);
        });
    }

    #[test]
    fn amounts_beyond_the_demand_count_for_the_last() {
        each_question(|seen, _| {
            let stage = seen.schedulable()[0];
            let cap = Extractor::amount_cap(seen, stage) as usize;
            let mut rows = ChoiceRows::default();
            let long = vec![(1.0 / (cap + 2) as f32).ln(); cap + 2];
            amount_choice(seen, stage, seen.committable(), &long, &mut rows);
            let sum: f32 = rows.log_prob.iter().map(|p| p.exp()).sum();
            assert!((sum - 1.0).abs() < 1e-5);
            assert!((rows.log_prob[cap - 1].exp() - 3.0 / (cap + 2) as f32).abs() < 1e-5);
            assert!(rows.chosen.unwrap() < cap);
        });
    }

    #[test]
    fn rows_have_one_finite_value_per_feature() {
        each_question(|seen, extractor| {
            let set = feature_set();
            let width = |level: &str| set.level(level).unwrap().features.len();
            let mut x = Vec::new();
            extractor.job_rows(seen, true, &mut x);
            let candidates = extractor.snapshot().candidate_jobs().len();
            assert_eq!(x.len(), (candidates + 1) * width("job"));
            for candidate in 0..candidates {
                let before = x.len();
                extractor.stage_rows(seen, candidate, &mut x);
                let stages = extractor.snapshot().candidate_stages(candidate).len();
                assert_eq!(x.len() - before, stages * width("stage"));
            }
            let (before, stage) = (x.len(), seen.schedulable()[0]);
            extractor.amount_rows(seen, stage, &mut x);
            assert_eq!(x.len() - before, Extractor::amount_cap(seen, stage) as usize * width("cluster"));
            assert!(x.iter().all(|v| v.is_finite()));
        });
    }
}
