//! Making a cluster state by hand.

use super::{Class, ClusterState, Decision, DecisionError, Job, Stage, View};
use crate::{Cluster, cluster::MOST_CORES};
use std::sync::Arc;

/// Times that a state may have, ms.
const TIMES: std::ops::RangeInclusive<f64> = 0.0..=1e15;

/// Iterations that a job may want or have done.
const ITERATIONS: std::ops::RangeInclusive<f64> = 0.0..=1e12;

/// Why a cluster state is impossible.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{field}: {problem}")]
pub struct StateError {
    /// Which figure, e.g. ``job 3, `iterations` ``.
    pub field: String,
    /// What was found and what is allowed.
    pub problem: String,
}

impl StateError {
    pub(super) fn new(field: impl Into<String>, problem: impl Into<String>) -> Self {
        Self { field: field.into(), problem: problem.into() }
    }
}

/// What a user declares of a job.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NewJob {
    /// When it arrived, ms.
    pub arrival_ms: f64,
    /// When it is to be complete, ms.
    pub deadline_ms: f64,
    /// Iterations that it takes.
    pub iterations: f64,
    /// Cores that the user requests.
    pub requested: u32,
    /// Cores that the program uses as submitted.
    pub threads: u32,
    /// Most cores that it can use if it is set up for them.
    pub largest: u32,
}

impl NewJob {
    /// Whether a job can be so on nodes of this size; if not, which field, and why.
    pub(crate) fn check(&self, node_cores: u32) -> Result<(), (&'static str, String)> {
        let time = |name: &'static str, value: f64| match TIMES.contains(&value) {
            true => Ok(()),
            false => Err((name, format!("must be a number in 0..=1e15, got {value}"))),
        };
        time("arrival_ms", self.arrival_ms)?;
        time("deadline_ms", self.deadline_ms)?;
        if self.deadline_ms <= self.arrival_ms {
            let problem = format!("must be after the arrival, {}, got {}", self.arrival_ms, self.deadline_ms);
            return Err(("deadline_ms", problem));
        }
        if !ITERATIONS.contains(&self.iterations) || self.iterations == 0.0 {
            return Err(("iterations", format!("must be a positive number up to 1e12, got {}", self.iterations)));
        }
        let cores = |name: &'static str, value: u32, most: u32| match (1..=most).contains(&value) {
            true => Ok(()),
            false => Err((name, format!("must be a whole number in 1..={most}, got {value}"))),
        };
        cores("requested", self.requested, node_cores)?;
        cores("threads", self.threads, MOST_CORES)?;
        cores("largest", self.largest, MOST_CORES)
    }
}

impl ClusterState {
    /// An empty cluster at time 0.
    ///
    /// # Errors
    ///
    /// No nodes, cores or models, or numbers out of range.
    pub fn new(cluster: impl Into<Arc<Cluster>>) -> Result<Self, StateError> {
        let cluster = cluster.into();
        cluster.check().map_err(|problem| StateError::new("cluster", problem))?;
        Ok(Self::of(cluster, Vec::new()))
    }

    /// Adds a waiting job of a model, by name. Numbers ascend in order of arrival. Closes open questions.
    ///
    /// # Errors
    ///
    /// A number or an arrival before that of the job added last, an unknown model, numbers out of range.
    pub fn add_job(&mut self, job: u32, model: &str, new: NewJob) -> Result<(), StateError> {
        let field = |name: &str| format!("job {job}, `{name}`");
        let Some(place) = self.cluster.models.iter().position(|m| m.name == model) else {
            let known: Vec<&str> = self.cluster.models.iter().take(8).map(|m| &*m.name).collect();
            let problem = format!("unknown model `{model}`; there are {}", known.join(", "));
            return Err(StateError::new(field("model"), problem));
        };
        new.check(self.cluster.node_cores).map_err(|(name, problem)| StateError::new(field(name), problem))?;
        if let Some(last) = self.jobs.last() {
            if job <= last.id {
                let problem = format!("comes after job {}; numbers ascend in order of arrival", last.id);
                return Err(StateError::new(field("id"), problem));
            }
            if new.arrival_ms < last.arrival_ms {
                let problem =
                    format!("{} is before the arrival of job {}, {}", new.arrival_ms, last.id, last.arrival_ms);
                return Err(StateError::new(field("arrival_ms"), problem));
            }
        }
        self.close();
        // There are at most 1000 models.
        self.jobs.push(Job::new(job, place as u16, new, self.cluster.models[place].earlier));
        self.waiting.push(job);
        self.arrived += 1;
        Ok(())
    }

    /// Says how many iterations a job has done. Closes open questions.
    ///
    /// # Errors
    ///
    /// An unknown job, or iterations that are no number in 0..=1e12.
    pub fn set_done(&mut self, job: u32, iterations: f64) -> Result<(), StateError> {
        let index = self.known(job)?;
        if !ITERATIONS.contains(&iterations) {
            let problem = format!("must be a number in 0..=1e12, got {iterations}");
            return Err(StateError::new(format!("job {job}, `done`"), problem));
        }
        self.close();
        self.jobs[index].done = iterations;
        Ok(())
    }

    /// Takes in how long so many iterations of a running job took in the mean, ms. Closes open questions.
    ///
    /// # Errors
    ///
    /// A job that does not run, or a number that is not positive.
    pub fn measure(&mut self, job: u32, iterations: f64, mean_ms: f64) -> Result<(), StateError> {
        let index = self.known(job)?;
        let Stage::Running(held) = self.jobs[index].stage else {
            return Err(StateError::new(format!("job {job}, `measured`"), "does not run"));
        };
        if !(ITERATIONS.contains(&iterations) && iterations > 0.0 && mean_ms > 0.0 && mean_ms <= 1e12) {
            let problem = format!(
                "iterations and their mean time must be positive numbers up to 1e12, got {iterations} of {mean_ms} ms"
            );
            return Err(StateError::new(format!("job {job}, `measured`"), problem));
        }
        self.close();
        let error = self.cluster.error(iterations);
        let job = &mut self.jobs[index];
        job.estimate.measure(job.used(held.cores, held.elastic), mean_ms, error);
        Ok(())
    }

    /// Forgets a job, complete or not. Closes open questions.
    ///
    /// # Errors
    ///
    /// An unknown job.
    pub fn remove_job(&mut self, job: u32) -> Result<(), StateError> {
        let index = self.known(job)?;
        self.close();
        self.end(index);
        self.forget(index);
        Ok(())
    }

    pub(super) fn set_time(&mut self, time_ms: f64) -> Result<(), StateError> {
        if !TIMES.contains(&time_ms) || time_ms < self.time_ms {
            let problem = format!("must be a number up to 1e15, not before {}, got {time_ms}", self.time_ms);
            return Err(StateError::new("time_ms", problem));
        }
        if let Some(late) = self.jobs.last().filter(|job| job.arrival_ms > time_ms) {
            let problem = format!("{time_ms} is before the arrival of job {}, {}", late.id, late.arrival_ms);
            return Err(StateError::new("time_ms", problem));
        }
        self.time_ms = time_ms;
        Ok(())
    }

    /// Asks which waiting job begins; `None` if none waits or no core is free.
    ///
    /// # Errors
    ///
    /// A time before the present one or before a job's arrival.
    pub fn ask(&mut self, time_ms: f64) -> Result<Option<View<'_>>, StateError> {
        self.set_time(time_ms)?;
        self.open(std::iter::empty());
        self.begin_best_effort();
        Ok(self.view())
    }

    /// Checks the running jobs: asks about each that has computed for the time between two checks since it got its cores, and then
    /// which waiting job begins.
    ///
    /// # Errors
    ///
    /// As for [`ClusterState::ask`].
    pub fn ask_all(&mut self, time_ms: f64) -> Result<Option<View<'_>>, StateError> {
        self.set_time(time_ms)?;
        self.check_running();
        self.open_check();
        self.begin_best_effort();
        Ok(self.view())
    }

    /// Carries an answer out, and asks again while there is something to ask. When nothing is asked any more, best-effort jobs begin
    /// where they may.
    ///
    /// # Errors
    ///
    /// An illegal decision, or no open question; nothing is changed then.
    pub fn answer(&mut self, decision: Decision) -> Result<Option<View<'_>>, DecisionError> {
        self.view().ok_or(DecisionError::Ended)?.check(decision)?;
        self.apply(decision);
        if let Decision::Refuse { job } = decision
            && let Some(index) = self.index(job)
        {
            self.forget(index);
        }
        self.begin_best_effort();
        Ok(self.view())
    }

    /// Lets best-effort jobs begin where nothing is asked.
    pub(super) fn begin_best_effort(&mut self) {
        while self.view().is_none()
            && let Some((index, cores)) = self.next_best_effort()
        {
            self.begin(index, cores, false);
        }
    }

    /// Leaves out a job that has gone.
    fn forget(&mut self, index: usize) {
        self.jobs.remove(index);
        self.arrived -= 1;
        self.gone = self.gone.saturating_add(1);
    }

    pub(super) fn close(&mut self) {
        self.to_ask.clear();
        self.starts = false;
    }

    pub(super) fn known(&self, job: u32) -> Result<usize, StateError> {
        self.index(job).ok_or_else(|| {
            let known: Vec<String> = self.jobs.iter().take(8).map(|job| job.id.to_string()).collect();
            let more = if self.jobs.len() > 8 { ", ..." } else { "" };
            let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") + more };
            StateError::new(format!("job {job}"), format!("is unknown; known are {known}"))
        })
    }

    /// Puts a waiting job into the best-effort class.
    pub(super) fn give_up(&mut self, job: u32) {
        self.apply(Decision::BestEffort { job });
    }
}

impl Job {
    /// A job of which nothing has happened.
    pub(crate) fn new(id: u32, model: u16, new: NewJob, estimate: crate::Estimate) -> Self {
        Self {
            id,
            model,
            arrival_ms: new.arrival_ms,
            deadline_ms: new.deadline_ms,
            iterations: new.iterations,
            requested: new.requested,
            threads: new.threads,
            largest: new.largest,
            class: Class::Deadline,
            stage: Stage::Waiting,
            done: 0.0,
            estimate,
        }
    }
}
