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
use std::convert::Infallible;

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
    let run = try_episode(workload, policy, id, timeline, |seen, decision, p| {
        on_decision(seen, decision, p);
        Ok::<(), Infallible>(())
    });
    run.map(|Ok(run)| run)
}

/// The same, but `on_decision` may end the episode early; what it fails with is the inner result.
pub(super) fn try_episode<E>(
    workload: &dyn Workload,
    policy: &mut dyn Policy,
    id: EpisodeId,
    timeline: bool,
    mut on_decision: impl FnMut(&Observation<'_>, Decision, &Probabilities) -> Result<(), E>,
) -> Result<Result<EpisodeRun, E>, EpisodeError> {
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
        if let Err(error) = on_decision(&seen, decision, &probabilities) {
            return Ok(Err(error));
        }
        sim.step(decision).map_err(|e| fail(step, e.into()))?;
        step += 1;
    }
    Ok(Ok(EpisodeRun {
        episode: id.episode,
        seed,
        outcome: sim.outcome().expect("no question is open, so the episode has ended"),
        arrivals_ms: sim.arrivals_ms().collect(),
        timeline: sim.task_runs().to_vec(),
    }))
}

/// Collects the choices of episodes, level by level, until they are flushed.
#[derive(Clone, Debug)]
pub struct ChoiceLog {
    abstains: bool,
    extractor: Extractor,
    rows: ChoiceRows,
    tables: [LevelTable; 3],
    /// The id that the next choice of each level has if it is of the same episode.
    next_id: [u64; 3],
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
            next_id: [0; 3],
        }
    }

    /// Appends the choices of one decision. Per level the choices of an episode must come in order.
    pub fn push(&mut self, episode: u32, step: u32, seen: &Observation<'_>, decision: Decision, p: &Probabilities) {
        let Self { abstains, extractor, rows, tables: [jobs, stages, amounts], next_id } = self;
        extractor.update(seen);
        if next_id[0] >> 32 != u64::from(episode) {
            *next_id = [u64::from(episode) << 32; 3];
        }
        let [job_id, stage_id, amount_id] = next_id;
        let (time_ms, kind) = (seen.time_ms(), dag::kind(seen) as u8);
        let append = |table: &mut LevelTable, id: &mut u64, parent, weight, rows: &ChoiceRows| {
            let first_row = table.rows();
            table.choices.push(ChoiceHeader { id: *id, episode, step, time_ms, kind, parent, weight, first_row });
            *id += 1;
            table.entity.extend_from_slice(&rows.entity);
            table.log_prob.extend_from_slice(&rows.log_prob);
            table.chosen.resize(table.log_prob.len(), false);
            if let Some(chosen) = rows.chosen {
                table.chosen[first_row + chosen] = true;
            }
        };
        dag::job_choice(extractor, decision, &p.stage, *abstains, rows);
        append(jobs, job_id, None, 1.0, rows);
        extractor.job_rows(seen, *abstains, &mut jobs.x);
        let (chosen_job, candidates) = (rows.chosen, extractor.snapshot().candidate_jobs().len());
        let job_log_prob = &jobs.log_prob[jobs.log_prob.len() - rows.log_prob.len()..];
        let mut first = 0;
        for (candidate, &log_prob) in job_log_prob.iter().enumerate().take(candidates) {
            dag::stage_choice(extractor, decision, &p.stage, candidate, first, rows);
            first += rows.log_prob.len();
            // Importance: how likely the teacher is to get there. A deterministic one gets there or does not.
            let weight =
                if log_prob.is_nan() { f32::from(u8::from(chosen_job == Some(candidate))) } else { log_prob.exp() };
            // A deterministic policy says nothing about jobs it did not choose.
            if weight > 0.0 {
                append(stages, stage_id, Some(candidate as u32), weight, rows);
                extractor.stage_rows(seen, candidate, &mut stages.x);
            }
        }
        // Who names probabilities of stages but none of amounts was not asked about this stage.
        if let Decision::Assign { stage, executors } = decision
            && (p.stage.is_empty() || !p.amount.is_empty())
        {
            dag::amount_choice(seen, stage, executors, &p.amount, rows);
            let place = extractor.snapshot().candidate_stages(chosen_job.unwrap_or(0)).iter().position(|&s| s == stage);
            // The choice is conditional on what was executed, which already came about with its probability.
            append(amounts, amount_id, place.map(|p| p as u32), 1.0, rows);
            extractor.amount_rows(seen, stage, &mut amounts.x);
        }
    }

    /// Hands over the choices of each level that has at least so many rows, with the level's number, and forgets them.
    ///
    /// # Errors
    ///
    /// What `write` fails with.
    pub fn flush<E>(
        &mut self,
        rows: usize,
        mut write: impl FnMut(usize, &LevelTable) -> Result<(), E>,
    ) -> Result<(), E> {
        for (level, table) in self.tables.iter_mut().enumerate().filter(|(_, table)| table.rows() >= rows) {
            write(level, table)?;
            table.clear();
        }
        Ok(())
    }

    /// The tables of all levels, first question first.
    #[must_use]
    pub fn into_tables(self) -> [LevelTable; 3] {
        self.tables
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{policy, workload};

    #[test]
    fn what_is_flushed_is_bounded_and_nothing_is_lost() -> Result<(), Box<dyn std::error::Error>> {
        const ROWS: usize = 40;
        let (policy, workload) =
            (policy::open(&"sjf,temperature=1".parse()?)?, workload::open(&"builtin,jobs=6,rate=1e-3".parse()?)?);
        let (mut kept, mut flushed) = (ChoiceLog::new(false), ChoiceLog::new(false));
        let mut groups = ChoiceLog::new(false).into_tables();
        let mut sizes: [Vec<usize>; 3] = Default::default();
        let mut decision_rows = [0; 3];
        for episode in 0..3 {
            let (id, mut step) = (EpisodeId { seed: 1, split: Split::Train, episode }, 0);
            run_episode(&*workload, &mut *policy.fresh(), id, false, |seen, decision, p| {
                let before = kept.tables.each_ref().map(LevelTable::rows);
                kept.push(episode, step, seen, decision, p);
                flushed.push(episode, step, seen, decision, p);
                step += 1;
                for level in 0..3 {
                    let added = kept.tables[level].rows() - before[level];
                    decision_rows[level] = added.max(decision_rows[level]);
                }
                let written = flushed.flush(ROWS, |level, table| {
                    sizes[level].push(table.rows());
                    groups[level].append(table.clone());
                    Ok::<(), std::convert::Infallible>(())
                });
                assert_eq!(written, Ok(()));
                assert!(flushed.tables.iter().all(|table| table.rows() < ROWS));
            })?;
        }
        for (level, sizes) in sizes.iter().enumerate() {
            assert!(sizes.len() > 1, "level {level} was flushed more than once");
            assert!(sizes.iter().all(|&rows| (ROWS..ROWS + decision_rows[level]).contains(&rows)), "{sizes:?}");
        }
        for (group, rest) in groups.iter_mut().zip(flushed.into_tables()) {
            group.append(rest);
        }
        assert_eq!(groups, kept.into_tables());
        Ok(())
    }
}
