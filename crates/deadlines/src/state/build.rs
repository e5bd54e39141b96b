//! Making a cluster state by hand.

use super::{Class, ClusterState, Decision, DecisionError, Job, Stage, StateError, View};
use crate::{Cluster, cluster::MOST_CORES};
use sched_distill_core::state::{clock, numbers, place_of, positive, whole};
use std::sync::Arc;

/// Most iterations that a job may want or have done.
const MOST_ITERATIONS: f64 = 1e12;

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
    pub(crate) fn check(&self, node_cores: u32) -> Result<(), StateError> {
        numbers(1e15, &[("arrival_ms", self.arrival_ms), ("deadline_ms", self.deadline_ms)])?;
        if self.deadline_ms <= self.arrival_ms {
            let problem = format!("must be after the arrival, {}, got {}", self.arrival_ms, self.deadline_ms);
            return Err(StateError::new("deadline_ms", problem));
        }
        positive(MOST_ITERATIONS, &[("iterations", self.iterations)])?;
        whole(1..=node_cores, &[("requested", self.requested)])?;
        whole(1..=MOST_CORES, &[("threads", self.threads), ("largest", self.largest)])
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
        let of = |e: StateError| e.of("job", job);
        let place = place_of("model", model, self.cluster.models.iter().map(|m| &*m.name)).map_err(of)?;
        new.check(self.cluster.node_cores).map_err(of)?;
        self.jobs.check_next(job, "arrival_ms", new.arrival_ms)?;
        self.close();
        // There are at most 1000 models.
        self.jobs.add(Job::new(job, place as u16, new, self.cluster.models[place].earlier));
        self.waiting.push(job);
        Ok(())
    }

    /// Says how many iterations a job has done. Closes open questions.
    ///
    /// # Errors
    ///
    /// An unknown job, or iterations that are no number in 0..=1e12.
    pub fn set_done(&mut self, job: u32, iterations: f64) -> Result<(), StateError> {
        let index = self.jobs.known(job)?;
        numbers(MOST_ITERATIONS, &[("done", iterations)]).map_err(|e| e.of("job", job))?;
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
        let index = self.jobs.known(job)?;
        let wrong = |problem: &str| StateError::new("measured", problem).of("job", job);
        let Stage::Running(held) = self.jobs[index].stage else { return Err(wrong("does not run")) };
        if ![iterations, mean_ms].iter().all(|x| *x > 0.0 && *x <= MOST_ITERATIONS) {
            return Err(wrong(&format!(
                "iterations and their mean time must be positive numbers up to 1e12, got {iterations} of {mean_ms} ms"
            )));
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
        let index = self.jobs.known(job)?;
        self.close();
        self.end(index);
        self.jobs.forget(index);
        Ok(())
    }

    pub(super) fn set_time(&mut self, time_ms: f64) -> Result<(), StateError> {
        clock("job", self.time_ms, time_ms, self.jobs.last_arrival())?;
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
            && let Some(index) = self.jobs.index(job)
        {
            self.jobs.forget(index);
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

    pub(super) fn close(&mut self) {
        self.to_ask.clear();
        self.starts = false;
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
