//! Practice episodes of a scorer: it schedules, or watches a teacher schedule, and what happens is kept as tables.

use super::moment::{Clock, Moment};
use sched_distill_core::{
    network::scorer::ScorerPolicy,
    policy::Policy,
    rng::EpisodeId,
    scenario::{Said, Scenario},
    simulation::{Outcome, Simulated, Simulation, Workload},
};
use sched_distill_trace::recorder::{EpisodeCause, EpisodeError};

/// Who decides, and whose decisions are to be learned.
pub(super) enum Driver<'a, S: Scenario> {
    /// The network, both.
    Own,
    /// A teacher's decisions are to be learned, and it schedules.
    Taught(&'a mut dyn Policy<S>),
    /// A teacher's decisions are to be learned, but the network schedules.
    Watched(&'a mut dyn Policy<S>),
}

/// What an episode leaves to learn from.
#[derive(Clone, Debug)]
pub struct Practice {
    /// The choices along the paths of the decisions to learn from, by level.
    pub levels: Vec<PracticeLevel>,
    /// These decisions.
    pub steps: Vec<PracticeStep>,
    /// How it ended; `None` where only some of its decisions are looked at.
    pub outcome: Option<Outcome>,
}

/// Choices of a level, one for each decision that got there.
#[derive(Clone, Debug, PartialEq)]
pub struct PracticeLevel {
    /// Numbers of a row.
    pub width: usize,
    /// Rows of the candidates as the network is given them, choice after choice.
    pub x: Vec<f32>,
    /// First row of each choice, and at last the number of rows.
    pub first: Vec<u32>,
    /// The decision that each choice belongs to, ascending.
    pub step: Vec<u32>,
    /// The candidate to learn from.
    pub taken: Vec<u32>,
}

/// One decision.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PracticeStep {
    /// When, and what came of it.
    pub moment: Moment,
    /// The network's log-probability of it when it decided; 0 where a teacher did.
    pub log_prob: f32,
}

impl PracticeLevel {
    /// No choices yet, of rows of so many numbers.
    #[must_use]
    pub fn new(width: usize) -> Self {
        Self { width, x: Vec::new(), first: vec![0], step: Vec::new(), taken: Vec::new() }
    }

    /// Adds the choice of a decision behind those of earlier ones.
    pub fn push(&mut self, rows: &[f32], step: u32, taken: u32) {
        self.x.extend_from_slice(rows);
        self.first.push((self.x.len() / self.width) as u32);
        self.step.push(step);
        self.taken.push(taken);
    }

    /// The choice of a decision, if it got to this level.
    #[must_use]
    pub fn choice_of(&self, step: u32) -> Option<usize> {
        self.step.binary_search(&step).ok()
    }

    /// The rows of a choice.
    #[must_use]
    pub fn rows(&self, choice: usize) -> &[f32] {
        &self.x[self.first[choice] as usize * self.width..self.first[choice + 1] as usize * self.width]
    }
}

/// Plays an episode; `draws` is the seed of the network's draws. Where a decision of a teacher has no path, as that to give nothing,
/// there is nothing to learn from it.
///
/// # Errors
///
/// A policy that cannot answer or answers something illegal.
pub(super) fn play<S: Simulated>(
    workload: &Workload<S>,
    network: &mut ScorerPolicy<S>,
    mut driver: Driver<'_, S>,
    (id, draws): (EpisodeId, u64),
    clock: Clock,
) -> Result<Practice, EpisodeError> {
    let EpisodeId { seed, episode } = id;
    let mut sim = S::start(workload, workload.jobs(id), seed);
    network.reset(draws);
    if let Driver::Taught(teacher) | Driver::Watched(teacher) = &mut driver {
        teacher.reset(draws);
    }
    let widths = (S::INFO.feature_set)().levels.iter().map(|level| level.features.len());
    let mut levels: Vec<PracticeLevel> = widths.map(PracticeLevel::new).collect();
    let (mut steps, mut silent, mut asked) = (Vec::<PracticeStep>::new(), Said::default(), 0);
    let fail = |step, cause| EpisodeError { episode, seed, step, source: Box::new(cause) };
    while let Some(seen) = sim.view() {
        let failed = |e| fail(asked, EpisodeCause::from(e));
        let time_ms = S::time_ms(&seen);
        if let Some(last) = steps.last_mut() {
            last.moment.pass::<S>(&sim, time_ms, clock);
        }
        let mut ask = |teacher: &mut dyn Policy<S>| {
            silent.clear();
            teacher.decide(&seen, &mut silent).map_err(failed)
        };
        let (decision, is_lesson) = match &mut driver {
            Driver::Own => (network.act(&seen).map_err(failed)?, true),
            Driver::Taught(teacher) => {
                let lesson = ask(*teacher)?;
                (lesson, network.follow(&seen, lesson).map_err(failed)?)
            }
            Driver::Watched(teacher) => {
                let decision = network.act(&seen).map_err(failed)?;
                let lesson = ask(*teacher)?;
                (decision, network.follow(&seen, lesson).map_err(failed)?)
            }
        };
        if is_lesson {
            let log_prob = if matches!(driver, Driver::Own) { network.log_prob() as f32 } else { 0.0 };
            for ((i, level), &taken) in levels.iter_mut().enumerate().zip(network.taken()) {
                level.push(network.given_at(i), steps.len() as u32, taken as u32);
            }
            steps.push(PracticeStep { moment: Moment::at(time_ms, clock), log_prob });
        }
        sim.step(decision).map_err(|e| fail(asked, EpisodeCause::illegal(e)))?;
        asked += 1;
    }
    let outcome = sim.outcome().expect("no question is open, so the episode has ended");
    if let Some(last) = steps.last_mut() {
        last.moment.pass::<S>(&sim, outcome.final_time_ms, clock);
        if outcome.stalled() {
            last.moment.left::<S>(&sim, outcome.final_time_ms, clock);
        }
    }
    Ok(Practice { levels, steps, outcome: Some(outcome) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use sched_distill_core::{
        network::{
            Tensor, Tensors,
            scorer::{ScorerShape, ScorerWeights},
        },
        scenario::{Questions, Said},
        simulation::JobEnd,
    };
    use sched_distill_dag::{Dag, Decision, View};
    use sched_distill_training::Training;
    use std::sync::Arc;

    type Tested = Result<(), Box<dyn std::error::Error>>;

    /// A network to which all candidates are alike.
    fn uniform<S: Simulated>() -> ScorerPolicy<S> {
        let set = (S::INFO.feature_set)();
        let shape = ScorerShape { width: 16, depth: 1 };
        let tensor = |(name, shape): (String, Vec<usize>)| {
            let value = if name.ends_with(".scale") { 1.0 } else { 0.0 };
            let data = vec![value; shape.iter().product()];
            (name, Tensor { shape, data })
        };
        let tensors = Tensors::new(shape.tensors(set).into_iter().map(tensor).collect(), shape.texts(set));
        let weights = ScorerWeights::from_tensors(&tensors, "uniform").expect("its own tensors");
        ScorerPolicy::new(Arc::new(weights), true).may_strand()
    }

    fn clock(discount: f64) -> Clock {
        Clock { unit_ms: 1e4, cost: 1e3, discount }
    }

    /// Rows are those of the questions along the path of what was decided, and costs add up to jobs × objective.
    fn what_is_kept_is_what_happened<S: Simulated>(workload: &str, teacher: Box<dyn Policy<S>>) -> Tested {
        let workload = S::open_workload(&workload.parse()?)?;
        let (seed, mut teacher, mut network) = (5, teacher, uniform::<S>());
        for taught in [true, false] {
            let driver = if taught { Driver::Taught(&mut *teacher) } else { Driver::Own };
            let kept = play::<S>(&workload, &mut network, driver, (seed.into(), 9), clock(0.0))?;
            let outcome = kept.outcome.as_ref().ok_or("it has ended")?;
            let mut sim = S::start(&workload, workload.jobs(seed), seed);
            let (mut questions, mut weights, mut step) = (S::Questions::default(), Vec::new(), 0);
            while let Some(seen) = sim.view() {
                questions.update(&seen);
                let mut path = Vec::new();
                for (i, level) in kept.levels.iter().enumerate() {
                    let Some(choice) = level.choice_of(step) else { break };
                    let mut rows = Vec::new();
                    let n = questions.rows(&seen, &path, false, &mut rows);
                    network.weights().standardise(i, &rows, &mut weights);
                    assert_eq!(level.rows(choice), weights);
                    assert_eq!(level.first[choice + 1] - level.first[choice], n as u32);
                    path.push(level.taken[choice] as usize);
                }
                let moment = kept.steps[step as usize].moment;
                assert_eq!(moment.time, S::time_ms(&seen) / 1e4);
                sim.step(questions.decision(&seen, &path))?;
                step += 1;
            }
            assert_eq!(step as usize, kept.steps.len());
            assert_eq!(sim.outcome().as_ref(), Some(outcome), "the same decisions, the same end");
            let first_ms = kept.steps[0].moment.time * 1e4;
            let total: f64 = kept.steps.iter().map(|step| step.moment.cost * 1e3).sum();
            let waited = sim.cost(first_ms, outcome.final_time_ms);
            assert!((total - waited).abs() < 1e-6 * waited, "{total} of {waited}");
            for (n, step) in (0..).zip(&kept.steps) {
                // To this network all candidates are alike.
                let candidates = |level: &PracticeLevel| {
                    let choice = level.choice_of(n)?;
                    Some(f64::from(level.first[choice + 1] - level.first[choice]).ln())
                };
                let expected: f64 = kept.levels.iter().filter_map(candidates).sum();
                let expected = if taught { 0.0 } else { -expected };
                assert!((f64::from(step.log_prob) - expected).abs() < 1e-5, "{} {expected}", step.log_prob);
            }
            if !taught {
                let again = play::<S>(&workload, &mut network, Driver::Own, (seed.into(), 9), clock(0.5))?;
                let pairs = kept.steps.iter().zip(&again.steps);
                assert!(pairs.clone().all(|(a, b)| b.moment.cost <= a.moment.cost + 1e-9));
                assert!(pairs.clone().any(|(a, b)| b.moment.cost < a.moment.cost));
            }
        }
        Ok(())
    }

    #[test]
    fn what_is_kept_is_what_happened_in_every_scenario() -> Tested {
        let teacher = sched_distill_dag::policies::open(&"srpt-fair".parse()?)?;
        what_is_kept_is_what_happened::<Dag>("builtin,jobs=8,executors=4", teacher)?;
        let teacher = sched_distill_training::policies::open(&"optimus".parse()?)?;
        what_is_kept_is_what_happened::<Training>("builtin,nodes=4,jobs=8,max=4", teacher)
    }

    /// Gives nothing where it can, and a job one executor and no more.
    struct Idle;

    impl Policy<Dag> for Idle {
        fn fresh(&self) -> Box<dyn Policy<Dag>> {
            Box::new(Idle)
        }

        fn decide(
            &mut self,
            seen: &View<'_>,
            _: &mut Said,
        ) -> Result<Decision, sched_distill_core::policy::PolicyError> {
            Ok(match seen.time_ms() {
                0.0 => Decision::Assign { stage: seen.schedulable()[0], executors: 1 },
                _ => Decision::Abstain,
            })
        }
    }

    /// A cluster that is left stranded costs for ever, and giving nothing is no lesson.
    #[test]
    fn a_stranded_cluster_is_dear() -> Tested {
        let workload = sched_distill_dag::workload::open(&"builtin,jobs=5,executors=4".parse()?)?;
        let kept = play::<Dag>(&workload, &mut uniform(), Driver::Taught(&mut Idle), (5.into(), 9), clock(0.01))?;
        let outcome = kept.outcome.ok_or("it has ended")?;
        assert!(outcome.stalled() && (kept.steps.len() as u64) < outcome.decisions);
        let left = outcome.jobs.iter().filter(|end| matches!(end, JobEnd::Unfinished)).count();
        // A job costs 1 ms per ms, that is 10 units per unit of time, and 1/0.01 of it less what lies beyond the watch.
        let last = kept.steps.last().ok_or("a first decision")?.moment;
        let since = (-0.01 * last.until_next).exp();
        let forever = 10.0 / 0.01 * left as f64 * since * (1.0 - (-5.0f64).exp());
        assert!(last.cost > 0.99 * forever, "{} {forever}", last.cost);
        Ok(())
    }
}
