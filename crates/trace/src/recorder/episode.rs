//! One episode: run a policy, and write down what it was asked and what it answered.

use crate::{ChoiceHeader, EpisodeFigures, LevelTable};
use sched_distill_core::{
    level::LevelSpec,
    policy::{Policy, PolicyError},
    rng::EpisodeId,
    scenario::{Answer, ChoiceRows, Questions, Said, Scenario},
    simulation::{JobEnd, Outcome, Simulated, Simulation, TaskRun, Workload},
};
use std::{convert::Infallible, error::Error};

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
    Illegal(#[source] Box<dyn Error + Send + Sync>),
}

impl EpisodeCause {
    /// For an error of the simulator.
    pub fn illegal(error: impl Error + Send + Sync + 'static) -> Self {
        Self::Illegal(Box::new(error))
    }
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
    /// Size by job; empty where the scenario knows none.
    pub sizes: Vec<f64>,
    /// Number of lanes on which tasks run side by side.
    pub lanes: u32,
    /// Task runs, if asked for.
    pub timeline: Vec<TaskRun>,
}

impl EpisodeRun {
    /// What a comparison looks at.
    #[must_use]
    pub fn figures(&self) -> EpisodeFigures {
        let ends = || self.outcome.jobs.iter();
        EpisodeFigures {
            figures: self.outcome.figures.iter().map(|&(_, value)| value).collect(),
            stall: self.outcome.stall,
            empty: self.outcome.is_empty(),
            rejected: ends().filter(|end| matches!(end, JobEnd::Rejected(_))).count(),
            longest_idle_ms: self.outcome.longest_idle_ms,
            completion_times_ms: ends()
                .zip(&self.arrivals_ms)
                .map(|(end, arrival)| Some(end.completion_ms()? - arrival))
                .collect(),
            sizes: self.sizes.clone(),
        }
    }
}

/// Runs `policy` over one episode. `on_decision` sees every question and its answer before it is carried out.
///
/// # Errors
///
/// A policy that cannot answer or answers something illegal. A stranded cluster is no error but an outcome.
pub fn run_episode<S: Simulated>(
    workload: &Workload<S>,
    policy: &mut dyn Policy<S>,
    id: EpisodeId,
    mut on_decision: impl FnMut(&S::View<'_>, S::Decision, &Said),
) -> Result<EpisodeRun, EpisodeError> {
    let run = try_episode(workload, policy, id, Kept::Said, |seen, decision, p| {
        on_decision(seen, decision, p);
        Ok::<(), Infallible>(())
    });
    run.map(|Ok(run)| run)
}

/// What is wanted of an episode beside its decisions and its outcome.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kept {
    /// Nothing.
    Outcome,
    /// What the policy says of all decisions.
    Said,
    /// What ran where.
    Timeline,
    /// Both.
    All,
}

/// The same, but `on_decision` may end the episode early; what it fails with is the inner result.
pub(super) fn try_episode<S: Simulated, E>(
    workload: &Workload<S>,
    policy: &mut dyn Policy<S>,
    id: EpisodeId,
    kept: Kept,
    mut on_decision: impl FnMut(&S::View<'_>, S::Decision, &Said) -> Result<(), E>,
) -> Result<Result<EpisodeRun, E>, EpisodeError> {
    let EpisodeId { seed, episode } = id;
    let mut sim = S::start(workload, workload.jobs(id), seed);
    if matches!(kept, Kept::Timeline | Kept::All) {
        sim.record_timeline();
    }
    policy.reset(seed);
    let mut probabilities = Said::default();
    let mut step = 0;
    let fail = |step, cause| EpisodeError { episode, seed, step, source: Box::new(cause) };
    let illegal = |step, e| fail(step, EpisodeCause::illegal(e));
    while let Some(seen) = sim.view() {
        probabilities.clear();
        let decision = match kept {
            Kept::Said | Kept::All => policy.decide(&seen, &mut probabilities),
            Kept::Outcome | Kept::Timeline => policy.act(&seen, &mut probabilities),
        };
        let decision = decision.map_err(|e| fail(step, e.into()))?;
        sim.check(decision).map_err(|e| illegal(step, e))?;
        if let Err(error) = on_decision(&seen, decision, &probabilities) {
            return Ok(Err(error));
        }
        sim.step(decision).map_err(|e| illegal(step, e))?;
        step += 1;
    }
    Ok(Ok(EpisodeRun {
        episode,
        seed,
        outcome: sim.outcome().expect("no question is open, so the episode has ended"),
        arrivals_ms: sim.arrivals_ms(),
        sizes: sim.sizes(),
        lanes: sim.lanes(),
        timeline: sim.task_runs().to_vec(),
    }))
}

/// Collects the choices of episodes, level by level, until they are flushed.
#[derive(Clone, Debug)]
pub struct ChoiceLog<S: Scenario> {
    abstains: bool,
    questions: S::Questions,
    /// Places of the candidates that lead to the choice at hand.
    path: Vec<usize>,
    /// Buffers by level.
    rows: Vec<ChoiceRows>,
    tables: Vec<LevelTable>,
    /// The id that the next choice of each level has if it is of the same episode.
    next_id: Vec<u64>,
}

impl<S: Scenario> ChoiceLog<S> {
    /// An empty log for a policy that may or may not abstain.
    #[must_use]
    pub fn new(abstains: bool) -> Self {
        let levels = &(S::INFO.feature_set)().levels;
        let kinds: Vec<String> = S::INFO.kinds.iter().map(|&k| k.to_owned()).collect();
        let table = |(level, spec): (usize, &LevelSpec)| {
            LevelTable::new(spec.clone(), kinds.clone()).with_none(abstains && level == 0)
        };
        Self {
            abstains,
            questions: S::Questions::default(),
            path: Vec::new(),
            rows: vec![ChoiceRows::default(); levels.len()],
            tables: levels.iter().enumerate().map(table).collect(),
            next_id: vec![0; levels.len()],
        }
    }

    /// Appends the choices of one decision. Per level the choices of an episode must come in order.
    pub fn push(&mut self, episode: u32, step: u32, seen: &S::View<'_>, decision: S::Decision, said: &Said) {
        self.questions.update(seen);
        if self.next_id[0] >> 32 != u64::from(episode) {
            self.next_id.fill(u64::from(episode) << 32);
        }
        let (time_ms, kind) = (S::time_ms(seen), S::kind(seen));
        let header = ChoiceHeader { id: 0, episode, step, time_ms, kind, parent: None, weight: 1.0, first_row: 0 };
        self.path.clear();
        self.descend(seen, &Answer { decision, said }, header);
    }

    /// Appends the choice at the present path, and those that follow each of its candidates.
    fn descend(&mut self, seen: &S::View<'_>, answer: &Answer<'_, S>, mut header: ChoiceHeader) {
        let level = self.path.len();
        let Some(mut rows) = self.rows.get_mut(level).map(std::mem::take) else { return };
        if self.questions.choice(seen, &self.path, answer, self.abstains, &mut rows) {
            let (table, id) = (&mut self.tables[level], &mut self.next_id[level]);
            (header.id, header.first_row) = (*id, table.rows());
            *id += 1;
            if rows.came_about {
                header.weight = 1.0;
            }
            table.choices.push(header);
            table.entity.extend_from_slice(&rows.entity);
            table.log_prob.extend_from_slice(&rows.log_prob);
            table.chosen.resize(table.log_prob.len(), false);
            if let Some(chosen) = rows.chosen {
                table.chosen[header.first_row + chosen] = true;
            }
            self.questions.rows(seen, &self.path, self.abstains, &mut table.x);
            for (candidate, &log_prob) in rows.log_prob.iter().enumerate() {
                // Importance: how likely the teacher is to get there. A deterministic one gets there or does not, and says nothing
                // about where it does not.
                let sure = || f32::from(u8::from(rows.chosen == Some(candidate)));
                let weight = header.weight * if log_prob.is_nan() { sure() } else { log_prob.exp() };
                if weight > 0.0 {
                    self.path.push(candidate);
                    self.descend(seen, answer, ChoiceHeader { parent: Some(candidate as u32), weight, ..header });
                    self.path.pop();
                }
            }
        }
        self.rows[level] = rows;
    }

    /// Rows of all levels.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.tables.iter().map(LevelTable::rows).sum()
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
    pub fn into_tables(self) -> Vec<LevelTable> {
        self.tables
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sched_distill_core::rng::Split;
    use sched_distill_dag::Dag;

    #[test]
    fn what_is_flushed_is_bounded_and_nothing_is_lost() -> Result<(), Box<dyn std::error::Error>> {
        const ROWS: usize = 40;
        let (policy, workload) = (
            sched_distill_dag::policies::open(&"sjf,temperature=1".parse()?)?,
            sched_distill_dag::workload::open(&"builtin,jobs=6,rate=1e-3".parse()?)?,
        );
        let (mut kept, mut flushed) = (ChoiceLog::<Dag>::new(false), ChoiceLog::<Dag>::new(false));
        let mut groups = ChoiceLog::<Dag>::new(false).into_tables();
        let mut sizes: [Vec<usize>; 3] = Default::default();
        let mut decision_rows = [0; 3];
        for episode in 0..3 {
            let (id, mut step) = (EpisodeId::new(1, Split::Train, episode), 0);
            run_episode(&workload, &mut *policy.fresh(), id, |seen, decision, p| {
                let before = kept.tables.iter().map(LevelTable::rows).collect::<Vec<_>>();
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
