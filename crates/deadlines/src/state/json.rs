//! The cluster state as JSON.

use super::{Class, ClusterState, Decision, Held, NewJob, Stage, StateError, View};
use crate::{Cluster, Estimate};
use sched_distill_core::state::{is_true, numbers, yes};
use serde::{Deserialize, Serialize, Serializer};

/// What a file or a message holds; `docs/deadlines.md` has the words to each field.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawState {
    cluster: Cluster,
    time_ms: f64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    ask: Option<RawAsk>,
    jobs: Vec<RawJob>,
    #[serde(default)]
    jobs_gone: u32,
}

/// What is asked.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawAsk {
    /// Running jobs to ask about, in this order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) running: Vec<u32>,
    /// Whether it is a check that asks about them.
    #[serde(default)]
    pub(super) check: bool,
    /// Whether waiting jobs may begin then.
    #[serde(default = "yes", skip_serializing_if = "is_true")]
    pub(super) start: bool,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawJob {
    pub(super) id: u32,
    model: String,
    arrival_ms: f64,
    deadline_ms: f64,
    iterations: f64,
    requested: u32,
    threads: u32,
    largest: u32,
    #[serde(default)]
    best_effort: bool,
    #[serde(default)]
    done: f64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    estimate: Option<Estimate>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    running: Option<Held>,
}

impl RawState {
    fn new(state: &ClusterState) -> Self {
        let job = |job: &super::Job| {
            let running = match job.stage {
                Stage::Waiting => None,
                Stage::Running(held) => Some(held),
                Stage::Gone => return None,
            };
            Some(RawJob {
                id: job.id,
                model: state.cluster.models[job.model as usize].name.to_string(),
                arrival_ms: job.arrival_ms,
                deadline_ms: job.deadline_ms,
                iterations: job.iterations,
                requested: job.requested,
                threads: job.threads,
                largest: job.largest,
                best_effort: job.class == Class::BestEffort,
                done: job.done_at(state.time_ms),
                estimate: Some(job.estimate),
                running,
            })
        };
        let jobs: Vec<RawJob> = state.jobs.here().iter().filter_map(job).collect();
        let ask = RawAsk {
            running: state.to_ask.iter().rev().copied().collect(),
            check: state.is_check,
            start: state.starts,
        };
        Self {
            cluster: Cluster::clone(&state.cluster),
            time_ms: state.time_ms,
            ask: state.view().map(|_| ask),
            jobs_gone: state.jobs.gone_but(jobs.len()),
            jobs,
        }
    }
}

impl TryFrom<RawState> for ClusterState {
    type Error = StateError;

    fn try_from(raw: RawState) -> Result<Self, StateError> {
        let mut state = Self::new(raw.cluster)?;
        raw.jobs.iter().try_for_each(|job| state.read_job(job))?;
        state.jobs.gone = raw.jobs_gone;
        state.set_time(raw.time_ms)?;
        if let Some(ask) = &raw.ask {
            state.read_ask(ask)?;
        }
        Ok(state)
    }
}

impl ClusterState {
    pub(super) fn read_job(&mut self, raw: &RawJob) -> Result<(), StateError> {
        let new = NewJob {
            arrival_ms: raw.arrival_ms,
            deadline_ms: raw.deadline_ms,
            iterations: raw.iterations,
            requested: raw.requested,
            threads: raw.threads,
            largest: raw.largest,
        };
        self.add_job(raw.id, &raw.model, new)?;
        self.set_done(raw.id, raw.done)?;
        if let Some(estimate) = raw.estimate {
            let numbers = estimate.mean.iter().chain(&estimate.covariance);
            if !numbers.into_iter().all(|x| x.abs() <= 1e30) {
                return Err(StateError::new("estimate", "must be numbers up to 1e30").of("job", raw.id));
            }
            let index = self.jobs.known(raw.id)?;
            self.jobs[index].estimate = estimate;
        }
        if raw.best_effort {
            self.apply(Decision::BestEffort { job: raw.id });
        }
        raw.running.map_or(Ok(()), |held| self.read_held(raw.id, held))
    }

    /// Takes a running job off its cores, which it is about to be given others for.
    pub(super) fn release(&mut self, job: u32) -> Result<(), StateError> {
        let index = self.jobs.known(job)?;
        if let Stage::Running(held) = self.jobs[index].stage {
            self.give_back(&held);
            self.running.retain(|&other| other != job);
            self.jobs[index].stage = Stage::Waiting;
        }
        Ok(())
    }

    /// Puts a job onto the cores that it is said to hold, off those that it has.
    pub(super) fn read_held(&mut self, job: u32, held: Held) -> Result<(), StateError> {
        let Held { node, cores, from_ms, since_ms, .. } = held;
        let of = |e: StateError| e.of("job", job);
        let index = self.jobs.known(job)?;
        numbers(1e15, &[("running.from_ms", from_ms), ("running.since_ms", since_ms)]).map_err(of)?;
        // Who is named twice holds what is said last.
        self.release(job)?;
        self.waiting.retain(|&other| other != job);
        self.best_effort.retain(|&other| other != job);
        let place = self.running.partition_point(|&other| other < job);
        self.running.insert(place, job);
        let Some(&free) = self.node_free.get(node as usize) else {
            let problem = format!("{node}: there are nodes 0..{}", self.cluster.nodes);
            return Err(of(StateError::new("running.node", problem)));
        };
        if !(1..=free).contains(&cores) {
            let problem = format!("must be in 1..={free}, what is free on node {node}, got {cores}");
            return Err(of(StateError::new("running.cores", problem)));
        }
        self.take(node, cores);
        self.jobs[index].stage = Stage::Running(held);
        Ok(())
    }

    pub(super) fn read_ask(&mut self, ask: &RawAsk) -> Result<(), StateError> {
        for (i, job) in ask.running.iter().enumerate() {
            if self.running.binary_search(job).is_err() || ask.running[..i].contains(job) {
                let problem = format!("job {job} does not run, or stands there twice");
                return Err(StateError::new("ask.running", problem));
            }
        }
        self.open(ask.running.iter().copied());
        (self.is_check, self.starts) = (ask.check, ask.start);
        Ok(())
    }
}

impl View<'_> {
    /// The same question in a state of its own, for instance to keep it, to write it down or to try an answer.
    #[must_use]
    pub fn to_state(&self) -> ClusterState {
        let mut state = self.state.clone();
        state.jobs.keep(|job| job.stage != Stage::Gone);
        for job in state.jobs.iter_mut() {
            job.done = job.done_at(state.time_ms);
            if let Stage::Running(held) = &mut job.stage {
                held.pace = 0.0;
            }
        }
        state
    }
}

impl Serialize for ClusterState {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        RawState::new(self).serialize(serializer)
    }
}
