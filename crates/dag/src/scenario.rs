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
    scenario::{Questions, Scenario, ScenarioInfo, State},
};
use std::{error::Error, ops::RangeInclusive};

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
    type Questions = Extractor;

    fn time_ms(seen: &View<'_>) -> f64 {
        seen.time_ms()
    }

    fn kind(seen: &View<'_>) -> u8 {
        kind(seen) as u8
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

    const LISTS: &'static [&'static str] = &["stage", "amount"];

    /// One per schedulable stage, in order; what they leave over is that of giving nothing.
    fn items(seen: &View<'_>) -> usize {
        seen.schedulable().len()
    }

    fn item(seen: &View<'_>, decision: Decision) -> Option<usize> {
        seen.schedulable().iter().position(|&s| matches!(decision, Decision::Assign { stage, .. } if s == stage))
    }

    /// Amounts may leave out the largest but not the one that was taken.
    fn given_place(seen: &View<'_>, decision: Decision) -> Option<(usize, RangeInclusive<usize>)> {
        match decision {
            Decision::Assign { executors, .. } => {
                Some((executors as usize - 1, executors as usize..=seen.committable() as usize))
            }
            Decision::Abstain => None,
        }
    }

    fn entry_name(seen: &View<'_>, _: Decision, list: usize, place: usize) -> String {
        match (list, seen.schedulable().get(place)) {
            (0, Some(stage)) => stage.to_string(),
            (0, None) => "no stage".to_owned(),
            _ => format!("{} executors", place + 1),
        }
    }
}

impl State for ClusterState {
    type Scenario = Dag;
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

    #[inline]
    fn count(&self, seen: &View<'_>, path: &[usize], abstains: bool) -> usize {
        let snapshot = self.snapshot();
        let jobs = snapshot.candidate_jobs().len();
        match *path {
            [] => jobs + usize::from(abstains),
            [job] if job < jobs => snapshot.candidate_stages(job).len(),
            [job, stage] => Extractor::amount_cap(seen, snapshot.candidate_stages(job)[stage]) as usize,
            _ => 0,
        }
    }

    fn rows(&mut self, seen: &View<'_>, path: &[usize], abstains: bool, out: &mut Vec<f32>) -> usize {
        let count = self.count(seen, path, abstains);
        match *path {
            [] => self.job_rows(seen, abstains, out),
            [job] if count > 0 => self.stage_rows(seen, job, out),
            [job, stage] => {
                let stage = self.snapshot().candidate_stages(job)[stage];
                self.amount_rows(seen, stage, out);
            }
            _ => {}
        }
        count
    }

    #[inline]
    fn entity(&self, _: &View<'_>, path: &[usize], out: &mut Vec<u32>) {
        let snapshot = self.snapshot();
        let stage = |job, stage: usize| {
            let StageRef { job, stage } = snapshot.candidate_stages(job)[stage];
            [job, stage]
        };
        match *path {
            [job] if job == snapshot.candidate_jobs().len() => out.push(NO_JOB),
            [job] => out.push(stage(job, 0)[0]),
            [job, place] => out.extend(stage(job, place)),
            [job, place, amount] => {
                out.extend(stage(job, place));
                out.push(1 + amount as u32);
            }
            _ => {}
        }
    }

    /// An amount beyond what the stage can use counts like the largest usable one.
    fn place(&self, seen: &View<'_>, path: &[usize], decision: Decision) -> Option<usize> {
        let snapshot = self.snapshot();
        let Decision::Assign { stage: chosen, executors } = decision else {
            return path.is_empty().then(|| snapshot.candidate_jobs().len());
        };
        match *path {
            [] => snapshot.candidate_jobs().position(|job| job == chosen.job),
            [job] => snapshot.candidate_stages(job).iter().position(|&stage| stage == chosen),
            [job, stage] if snapshot.candidate_stages(job)[stage] == chosen => {
                Some(executors.min(Extractor::amount_cap(seen, chosen)) as usize - 1)
            }
            _ => None,
        }
    }

    #[inline]
    fn item(&self, _: &View<'_>, path: &[usize]) -> Option<usize> {
        match *path {
            [job, stage] => Some(self.snapshot().candidate_places(job).start + stage),
            _ => None,
        }
    }

    #[inline]
    fn is_given(&self, path: &[usize]) -> bool {
        path.len() == 2
    }

    /// What the stages leave over is that of giving nothing.
    fn log_prob_left(&self, _: &View<'_>, candidate: usize, joint: &[f64]) -> Option<f64> {
        (candidate == self.snapshot().candidate_jobs().len()).then(|| {
            let left = 1.0 - joint.iter().map(|p| p.exp()).sum::<f64>();
            if left > ROUNDING { left.ln() } else { f64::NEG_INFINITY }
        })
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
}

/// What probabilities may miss a sum of 1 by rounding alone.
const ROUNDING: f64 = 1e-6;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload;
    use sched_distill_core::{
        scenario::{Answer, ChoiceRows, Said},
        simulation::{Simulated, Simulation as _},
    };

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
                let said = Said { joint, given: Vec::new() };
                let answer = Answer { decision, said: &said };
                assert!(extractor.choice(seen, &[], &answer, false, &mut jobs));
                assert!(jobs.log_prob.iter().all(|p| p.is_finite()));
                for candidate in 0..jobs.entity.len() {
                    assert!(extractor.choice(seen, &[candidate], &answer, false, &mut stages));
                    let sum: f64 = stages.log_prob.iter().map(|&p| f64::from(p).exp()).sum();
                    assert!((sum - 1.0).abs() < 1e-6, "{sum}");
                }
            }
        });
    }

    #[test]
    fn amounts_beyond_the_demand_count_for_the_last() {
        each_question(|seen, extractor| {
            let stage = seen.schedulable()[0];
            let cap = Extractor::amount_cap(seen, stage) as usize;
            let mut rows = ChoiceRows::default();
            let given = vec![(1.0 / (cap + 2) as f64).ln(); cap + 2];
            let joint = vec![-(seen.schedulable().len() as f64).ln(); seen.schedulable().len()];
            let decision = Decision::Assign { stage, executors: seen.committable() };
            let mut path = Vec::new();
            assert!(extractor.path(seen, decision, &mut path));
            let answer = Answer { decision, said: &Said { joint, given } };
            assert!(extractor.choice(seen, &path[..2], &answer, false, &mut rows));
            let sum: f32 = rows.log_prob.iter().map(|p| p.exp()).sum();
            assert!((sum - 1.0).abs() < 1e-5);
            assert!((rows.log_prob[cap - 1].exp() - 3.0 / (cap + 2) as f32).abs() < 1e-5);
            assert!(rows.chosen.unwrap() < cap && rows.came_about);
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
