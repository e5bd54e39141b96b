//! One episode: run a policy, and write down what it was asked and what it answered.

use crate::{
    feature::Extractor,
    level::LevelSpec,
    policy::{Policy, PolicyError, Probabilities},
    rng::{Split, episode_seed},
    scenario::dag::{self, ChoiceRows, KINDS},
    simulator::dag::{Decision, Observation, Outcome, SimError, Simulator, TaskRun},
    trace::{ChoiceHeader, LevelTable},
    workload::Workload,
};

/// Why an episode could not be run to its end.
#[derive(Debug, thiserror::Error)]
#[error("episode {episode} (seed {seed}), decision {step}")]
pub struct EpisodeError {
    /// Episode number.
    pub episode: u32,
    /// The episode's seed.
    pub seed: u64,
    /// Decision number.
    pub step: u64,
    /// The cause.
    #[source]
    pub source: Box<EpisodeCause>,
}

/// What stopped an episode.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EpisodeCause {
    /// The policy could not answer.
    #[error(transparent)]
    Policy(#[from] PolicyError),
    /// The policy answered something illegal.
    #[error("illegal decision")]
    Illegal(#[from] SimError),
}

/// What an episode left behind.
#[derive(Clone, Debug)]
pub struct EpisodeRun {
    /// Episode number.
    pub episode: u32,
    /// The episode's seed.
    pub seed: u64,
    /// Figures.
    pub outcome: Outcome,
    /// Arrival time by job, ms.
    pub arrivals_ms: Vec<f64>,
    /// Task runs, if asked for.
    pub timeline: Vec<TaskRun>,
}

/// Which episode.
#[derive(Clone, Copy, Debug)]
pub struct EpisodeId {
    /// The user's seed.
    pub seed: u64,
    /// What the episode is for.
    pub split: Split,
    /// Number within the split.
    pub episode: u32,
}

/// Runs `policy` over one episode. `on_decision` sees every question and its answer before it is carried out.
///
/// # Errors
///
/// A policy that cannot answer or answers something illegal. A stranded cluster is no error but an outcome.
pub fn run_episode(
    workload: &dyn Workload,
    policy: &mut dyn Policy,
    id: EpisodeId,
    timeline: bool,
    mut on_decision: impl FnMut(&Observation<'_>, Decision, &Probabilities),
) -> Result<EpisodeRun, EpisodeError> {
    let seed = episode_seed(id.seed, id.split, u64::from(id.episode));
    let mut sim = Simulator::new(workload.cluster(), workload.jobs(seed), seed);
    if timeline {
        sim.record_timeline();
    }
    policy.reset(seed);
    let mut probabilities = Probabilities::default();
    let mut step = 0;
    let fail = |step, cause| EpisodeError { episode: id.episode, seed, step, source: Box::new(cause) };
    while let Some(seen) = sim.observation() {
        probabilities.clear();
        let decision = policy.decide(&seen, &mut probabilities).map_err(|e| fail(step, e.into()))?;
        sim.validate(decision).map_err(|e| fail(step, e.into()))?;
        on_decision(&seen, decision, &probabilities);
        sim.step(decision).map_err(|e| fail(step, e.into()))?;
        step += 1;
    }
    Ok(EpisodeRun {
        episode: id.episode,
        seed,
        outcome: sim.outcome().expect("no question is open, so the episode has ended"),
        arrivals_ms: sim.arrivals_ms().collect(),
        timeline: sim.task_runs().to_vec(),
    })
}

/// Collects the choices of episodes, level by level.
#[derive(Clone, Debug)]
pub struct ChoiceLog {
    abstains: bool,
    extractor: Extractor,
    rows: ChoiceRows,
    tables: [LevelTable; 3],
}

impl ChoiceLog {
    /// An empty log for a policy that may or may not abstain.
    #[must_use]
    pub fn new(abstains: bool) -> Self {
        let levels = &dag::feature_set().levels;
        let table = |spec: &LevelSpec| LevelTable::new(spec.clone(), KINDS.map(str::to_owned).to_vec());
        Self {
            abstains,
            extractor: Extractor::default(),
            rows: ChoiceRows::default(),
            tables: [table(&levels[0]), table(&levels[1]), table(&levels[2])],
        }
    }

    /// Appends the choices of one decision. Per level the choices of an episode must come in order.
    pub fn push(&mut self, episode: u32, step: u32, seen: &Observation<'_>, decision: Decision, p: &Probabilities) {
        let Self { abstains, extractor, rows, tables: [jobs, stages, amounts] } = self;
        extractor.update(seen);
        let header = |table: &LevelTable, parent, weight| {
            let ordinal = match table.choices.last() {
                Some(last) if last.episode == episode => (last.id & 0xFFFF_FFFF) + 1,
                _ => 0,
            };
            ChoiceHeader {
                id: (u64::from(episode) << 32) + ordinal,
                episode,
                step,
                time_ms: seen.time_ms(),
                kind: dag::kind(seen) as u8,
                parent,
                weight,
                first_row: table.rows(),
            }
        };
        let append = |table: &mut LevelTable, header: ChoiceHeader, rows: &ChoiceRows| {
            table.choices.push(header);
            table.entity.extend_from_slice(&rows.entity);
            table.log_prob.extend_from_slice(&rows.log_prob);
            table.chosen.extend((0..rows.log_prob.len()).map(|i| rows.chosen == Some(i)));
        };
        dag::job_choice(extractor, decision, &p.stage, *abstains, rows);
        let job_header = header(jobs, None, 1.0);
        append(jobs, job_header, rows);
        extractor.job_rows(seen, *abstains, &mut jobs.x);
        let chosen_job = rows.chosen;
        let (job_log_prob, candidates) =
            (std::mem::take(&mut rows.log_prob), extractor.snapshot().candidate_jobs().len());
        let mut first = 0;
        for (candidate, &log_prob) in job_log_prob.iter().enumerate().take(candidates) {
            dag::stage_choice(extractor, decision, &p.stage, candidate, first, rows);
            first += rows.log_prob.len();
            // Importance: how likely the teacher is to get there. A deterministic one gets there or does not.
            let weight =
                if log_prob.is_nan() { f32::from(u8::from(chosen_job == Some(candidate))) } else { log_prob.exp() };
            // A deterministic policy says nothing about jobs it did not choose.
            if weight > 0.0 {
                let stage_header = header(stages, Some(candidate as u32), weight);
                append(stages, stage_header, rows);
                extractor.stage_rows(seen, candidate, &mut stages.x);
            }
        }
        if let Decision::Assign { stage, executors } = decision {
            dag::amount_choice(seen, stage, executors, &p.amount, rows);
            let place = extractor.snapshot().candidate_stages(chosen_job.unwrap_or(0)).iter().position(|&s| s == stage);
            // The choice is conditional on what was executed, which already came about with its probability.
            let amount_header = header(amounts, place.map(|p| p as u32), 1.0);
            append(amounts, amount_header, rows);
            extractor.amount_rows(seen, stage, &mut amounts.x);
        }
    }

    /// The tables of all levels, first question first.
    #[must_use]
    pub fn into_tables(self) -> [LevelTable; 3] {
        self.tables
    }
}
