//! The `dag` scenario as levels and choices.
//!
//! A decision "stage s of job j, k executors" answers three questions: which job, which stage of it, how many executors.
//! The teacher's probabilities are split the same way: a job's is the sum over its stages, a stage's is conditional on its
//! job, and amounts beyond what the stage can use count for the largest usable one.

use crate::{
    catalogue::CATALOGUE,
    feature::{Extractor, NO_JOB, feature_set, words},
    state::{Change, ClusterState, Decision, StageRef, View},
};
use sched_distill_core::{
    figure::COMPLETION_FIGURES,
    scenario::{Answer, ChoiceRows, Distribution, Given, LEAST_LOG_PROB, Questions, Scenario, ScenarioInfo, State},
};
use std::error::Error;

/// Spark-like jobs of stages on executors.
#[derive(Clone, Copy, Debug, Default)]
pub struct Dag;

/// Why a choice was open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The job that released the executors could use them again.
    Affinity = 0,
    /// It could not, or nobody released them.
    Free = 1,
}

/// Log-probabilities of an answer.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Probabilities {
    /// One per schedulable stage, in order; what they leave over is that of giving nothing. Empty for deterministic policies.
    pub stage: Vec<f64>,
    /// Of `1, 2, ...` executors for the stage that was chosen; larger amounts than there are entries have probability 0.
    pub amount: Vec<f64>,
}

impl Probabilities {
    /// Empties both lists.
    pub fn clear(&mut self) {
        self.stage.clear();
        self.amount.clear();
    }
}

impl Scenario for Dag {
    const INFO: ScenarioInfo = ScenarioInfo {
        name: "dag",
        meaning: "jobs of stages on executors, as in Spark",
        kinds: &["affinity", "free"],
        regime: "jobs_in_system",
        feature_set,
        words,
        figures: COMPLETION_FIGURES,
        catalogue: CATALOGUE,
        lane: "executor",
        part: "stage",
        parts: &[],
        may_abstain: true,
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
        probabilities.clear();
    }

    fn is_silent(probabilities: &Probabilities) -> bool {
        probabilities.stage.is_empty()
    }

    fn certain(seen: &View<'_>, sure_of: Decision, carried_out: Decision, out: &mut Probabilities) {
        out.clear();
        let sure = |is: bool| if is { 0.0 } else { f64::from(LEAST_LOG_PROB) };
        let Decision::Assign { stage, executors } = sure_of else {
            out.stage.extend(seen.schedulable().iter().map(|_| sure(false)));
            return;
        };
        out.stage.extend(seen.schedulable().iter().map(|&s| sure(s == stage)));
        if matches!(carried_out, Decision::Assign { stage: other, .. } if other == stage) {
            out.amount.extend((1..=executors).map(|amount| sure(amount == executors)));
        }
    }

    /// An amount beyond what the stage can use counts like the largest usable one.
    fn same(seen: &View<'_>, a: Decision, b: Decision) -> bool {
        match (a, b) {
            (Decision::Assign { stage, executors }, Decision::Assign { stage: other, executors: others }) => {
                let cap = || Extractor::amount_cap(seen, stage);
                stage == other && (executors == others || executors.min(cap()) == others.min(cap()))
            }
            _ => a == b,
        }
    }

    fn gives_nothing(decision: Decision) -> bool {
        decision == Decision::Abstain
    }

    fn strands(seen: &View<'_>, decision: Decision) -> bool {
        seen.strands(decision)
    }

    /// One of stages; and one of amounts, which may leave out the largest but not the one that was taken.
    fn distributions(seen: &View<'_>, decision: Decision, p: &Probabilities, each: &mut dyn FnMut(Distribution<'_>)) {
        let stages = seen.schedulable();
        each(Distribution {
            of: "stage",
            log_prob: &p.stage,
            candidates: stages.len()..=stages.len(),
            conditional: false,
            name: &|place| stages.get(place).map_or("no stage".to_owned(), ToString::to_string),
        });
        let executors = match decision {
            Decision::Assign { executors, .. } => executors,
            Decision::Abstain => 0,
        };
        each(Distribution {
            of: "amount",
            log_prob: &p.amount,
            candidates: executors as usize..=seen.committable() as usize,
            conditional: true,
            name: &|place| format!("{} executors", place + 1),
        });
    }
}

impl State<Dag> for ClusterState {
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

    /// Stages, pairs of a stage and one that waits for it, and executors on offer.
    fn extent(&self) -> usize {
        let pairs: usize = self.jobs.iter().map(|job| job.graph.num_descendants()).sum();
        self.stages.len() + pairs + self.committable as usize
    }
}

/// The kind of a question.
#[must_use]
pub fn kind(seen: &View<'_>) -> Kind {
    let stays = |job| seen.schedulable().iter().any(|s| s.job == job);
    match seen.source_job() {
        Some(job) if stays(job) => Kind::Affinity,
        _ => Kind::Free,
    }
}

impl Questions<Dag> for Extractor {
    fn limited(columns: &[&[bool]]) -> Self {
        Extractor::limited(columns)
    }

    fn update(&mut self, seen: &View<'_>) {
        self.update(seen);
    }

    fn rows(&mut self, seen: &View<'_>, path: &[usize], abstains: bool, out: &mut Vec<f32>) -> usize {
        let jobs = self.snapshot().candidate_jobs().len();
        match *path {
            [] => {
                self.job_rows(seen, abstains, out);
                jobs + usize::from(abstains)
            }
            [job] if job < jobs => {
                self.stage_rows(seen, job, out);
                self.snapshot().candidate_stages(job).len()
            }
            [job, stage] => {
                let stage = self.snapshot().candidate_stages(job)[stage];
                self.amount_rows(seen, stage, out);
                Extractor::amount_cap(seen, stage) as usize
            }
            _ => 0,
        }
    }

    fn decision(&self, _seen: &View<'_>, path: &[usize]) -> Decision {
        match *path {
            [job, stage, amount] => {
                let stage = self.snapshot().candidate_stages(job)[stage];
                Decision::Assign { stage, executors: 1 + amount as u32 }
            }
            _ => Decision::Abstain,
        }
    }

    /// Stages to which all on offer cannot go, jobs that have no others, and of other stages amounts that leave too many idle.
    fn strands(&self, seen: &View<'_>, path: &[usize]) -> bool {
        let snapshot = self.snapshot();
        match *path {
            [job] if job < snapshot.candidate_jobs().len() => {
                snapshot.candidate_stages(job).iter().all(|&stage| seen.strands_all(stage))
            }
            [_] => seen.strands(Decision::Abstain),
            [job, stage] => seen.strands_all(snapshot.candidate_stages(job)[stage]),
            [job, stage, amount] => {
                let stage = snapshot.candidate_stages(job)[stage];
                seen.strands(Decision::Assign { stage, executors: 1 + amount as u32 })
            }
            _ => false,
        }
    }

    fn tell(&self, seen: &View<'_>, path: &[usize], above: f64, log_prob: &[f64], out: &mut Probabilities) {
        match *path {
            [] => {
                out.stage.clear();
                out.stage.resize(seen.schedulable().len(), f64::NEG_INFINITY);
            }
            [job] => {
                let places = self.snapshot().candidate_places(job);
                out.stage[places].iter_mut().zip(log_prob).for_each(|(p, within)| *p = above + within);
            }
            _ => {
                out.amount.clear();
                out.amount.extend_from_slice(log_prob);
            }
        }
    }

    fn choice(
        &self,
        seen: &View<'_>,
        path: &[usize],
        answer: &Answer<'_, Dag>,
        abstains: bool,
        out: &mut ChoiceRows,
    ) -> bool {
        let (decision, p) = (answer.decision, answer.probabilities);
        match *path {
            [] => job_choice(self, decision, &p.stage, abstains, out),
            [job] if job < self.snapshot().candidate_jobs().len() => stage_choice(self, decision, &p.stage, job, out),
            [job, stage] => match decision {
                // Who names probabilities of stages but none of amounts was not asked about this stage.
                Decision::Assign { stage: chosen, executors }
                    if self.snapshot().candidate_stages(job)[stage] == chosen
                        && (p.stage.is_empty() || !p.amount.is_empty()) =>
                {
                    amount_choice(seen, chosen, executors, &p.amount, out);
                }
                _ => return false,
            },
            _ => return false,
        }
        true
    }
}

/// What is written of the probability of one of these.
fn any_of(log_probs: &[f64]) -> f32 {
    Given::ALL.within(Given::any(log_probs.iter().copied()).ln(), 1)
}

/// What probabilities may miss a sum of 1 by rounding alone.
const ROUNDING: f64 = 1e-6;

/// The job level of a decision. `stage_log_prob` has one entry per schedulable stage, or is empty.
fn job_choice(extractor: &Extractor, decision: Decision, stage_log_prob: &[f64], abstains: bool, out: &mut ChoiceRows) {
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
        out.log_prob.push(stage_log_prob.get(from..to).map_or(f32::NAN, any_of));
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
        // What the stages leave over.
        let left = 1.0 - stage_log_prob.iter().map(|p| p.exp()).sum::<f64>();
        let left = if left > ROUNDING { left } else { 0.0 };
        out.log_prob.push(if stage_log_prob.is_empty() { f32::NAN } else { Given::ALL.within(left.ln(), 1) });
    }
}

/// The stage level of a decision for candidate job number `candidate`, chosen or not.
fn stage_choice(
    extractor: &Extractor,
    decision: Decision,
    stage_log_prob: &[f64],
    candidate: usize,
    out: &mut ChoiceRows,
) {
    out.clear();
    let stages = extractor.snapshot().candidate_stages(candidate);
    let of_job = stage_log_prob.get(extractor.snapshot().candidate_places(candidate));
    let of_job = of_job.map(|p| (p, Given::any(p.iter().copied())));
    for (i, &stage) in stages.iter().enumerate() {
        out.entity.extend([stage.job, stage.stage]);
        out.log_prob.push(of_job.map_or(f32::NAN, |(p, given)| given.within(p[i], stages.len())));
        if matches!(decision, Decision::Assign { stage: chosen, .. } if chosen == stage) {
            out.chosen = Some(i);
        }
    }
}

/// The amount: candidates `1..=cap` for the executed stage. `amount_log_prob` may be longer than that (the rest is
/// added to the last) or shorter (the rest is ruled out).
fn amount_choice(seen: &View<'_>, stage: StageRef, executors: u32, amount_log_prob: &[f64], out: &mut ChoiceRows) {
    out.clear();
    let cap = Extractor::amount_cap(seen, stage) as usize;
    for amount in 1..=cap {
        out.entity.extend([stage.job, stage.stage, amount as u32]);
        out.log_prob.push(match amount_log_prob {
            [] => f32::NAN,
            p if amount > p.len() => LEAST_LOG_PROB,
            p if amount == cap => any_of(&p[amount - 1..]),
            p => Given::ALL.within(p[amount - 1], 1),
        });
    }
    out.chosen = Some((executors as usize).min(cap) - 1);
    out.came_about = true;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload;
    use sched_distill_core::simulation::{Simulated, Simulation as _};

    /// Runs a policy that takes the first stage and calls `check` at every question.
    fn each_question(check: impl Fn(&View<'_>, &mut Extractor)) {
        let workload = workload::open(&"builtin,jobs=8,rate=1e-3".parse().unwrap()).unwrap();
        let mut sim = Dag::start(&workload, workload.jobs(3), 3);
        let mut extractor = Extractor::default();
        while let Some(seen) = sim.view() {
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
            let weights: Vec<f64> = (0..n).map(|i| 1.0 + (i * 7 % 5) as f64).collect();
            let total: f64 = weights.iter().sum();
            let joint: Vec<f64> = weights.iter().map(|w| (w / total).ln()).collect();
            let chosen = seen.schedulable()[n / 2];
            let decision = Decision::Assign { stage: chosen, executors: 1 };
            let (mut jobs, mut stages) = (ChoiceRows::default(), ChoiceRows::default());
            job_choice(extractor, decision, &joint, false, &mut jobs);
            assert_eq!(jobs.entity[jobs.chosen.unwrap()], chosen.job);
            let mut first = 0;
            for (candidate, job) in jobs.entity.iter().enumerate() {
                stage_choice(extractor, decision, &joint, candidate, &mut stages);
                for (i, p) in stages.log_prob.iter().enumerate() {
                    assert!((f64::from(jobs.log_prob[candidate] + p) - joint[first + i]).abs() < 1e-5);
                }
                assert_eq!(stages.chosen.is_some(), *job == chosen.job);
                first += stages.log_prob.len();
            }
            assert_eq!(first, n);
        });
    }

    #[test]
    fn what_is_all_but_impossible_keeps_its_order_within() {
        each_question(|seen, extractor| {
            // A million nats below the best, where 32 bits tell no sixteenths apart; as far as 32 bits reach; and what is
            // ruled out altogether.
            for lowest in [-1e6, -1e16, -6e38, f64::NEG_INFINITY] {
                let best = seen.schedulable()[0].job;
                let joint: Vec<f64> = seen
                    .schedulable()
                    .iter()
                    .map(|s| if s.job == best { -1.0 } else { lowest - 0.01 * f64::from(s.stage) })
                    .collect();
                let decision = Decision::Assign { stage: seen.schedulable()[0], executors: 1 };
                let (mut jobs, mut stages) = (ChoiceRows::default(), ChoiceRows::default());
                job_choice(extractor, decision, &joint, false, &mut jobs);
                assert!(jobs.log_prob.iter().all(|p| p.is_finite()));
                for candidate in 0..jobs.entity.len() {
                    stage_choice(extractor, decision, &joint, candidate, &mut stages);
                    let sum: f64 = stages.log_prob.iter().map(|&p| f64::from(p).exp()).sum();
                    assert!((sum - 1.0).abs() < 1e-6, "{sum}");
                }
            }
        });
    }

    #[test]
    fn amounts_beyond_the_demand_count_for_the_last() {
        each_question(|seen, _| {
            let stage = seen.schedulable()[0];
            let cap = Extractor::amount_cap(seen, stage) as usize;
            let mut rows = ChoiceRows::default();
            let long = vec![(1.0 / (cap + 2) as f64).ln(); cap + 2];
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
            assert_eq!(x.len() - before, Extractor::amount_cap(seen, stage) as usize * width("amount"));
            assert!(x.iter().all(|v| v.is_finite()));
        });
    }
}
