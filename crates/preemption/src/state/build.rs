//! Making a cluster state by hand.

use super::{Claim, ClusterState, Decision, DecisionError, Job, Stage, StateError, View, insert, remove};
use crate::{Cluster, cluster::MOST_GPUS, database::combined};
use sched_distill_core::state::{clock, numbers, place_of, positive};
use std::sync::Arc;

/// Most ms, GB or samples.
pub(super) const MOST: f64 = 1e15;

/// Most epochs.
const MOST_EPOCHS: f64 = 1e9;

/// What a user declares of a job, and what is known of its data.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NewJob {
    /// When it arrived, ms.
    pub arrival_ms: f64,
    /// GPUs that it runs on.
    pub gpus: u32,
    /// Samples per epoch.
    pub samples: f64,
    /// Samples per step and GPU.
    pub batch: u32,
    /// Epochs that it takes.
    pub epochs: f64,
    /// Data that it loads, GB.
    pub data_gb: f64,
    /// Size of its checkpoint, GB.
    pub checkpoint_gb: f64,
}

impl NewJob {
    /// Whether a job can be so on this cluster; if not, which field, and why.
    pub(crate) fn check(&self, cluster: &Cluster) -> Result<(), StateError> {
        let data = [("data_gb", self.data_gb), ("checkpoint_gb", self.checkpoint_gb)];
        numbers(MOST, &[("arrival_ms", self.arrival_ms)]).and_then(|()| numbers(MOST, &data))?;
        let most = cluster.gpus().min(MOST_GPUS);
        if !(1..=most).contains(&self.gpus) {
            let problem = format!("must be a whole number in 1..={most}, the GPUs of the cluster, got {}", self.gpus);
            return Err(StateError::new("gpus", problem));
        }
        if self.batch == 0 {
            return Err(StateError::new("batch", "must be at least 1, got 0"));
        }
        positive(MOST, &[("samples", self.samples)])?;
        positive(MOST_EPOCHS, &[("epochs", self.epochs)])
    }
}

impl Job {
    /// A job of which nothing has happened; its counter will tell `counter_ms`, and predictions are `bias` times what they were.
    pub(crate) fn new(
        id: u32,
        model: u16,
        new: &NewJob,
        cluster: &Cluster,
        counter_ms: Option<f64>,
        bias: f64,
    ) -> Self {
        let profiles_ms = cluster.models[model as usize].law().time_ms(new.gpus, new.batch, new.samples) * bias;
        let told_ms = counter_ms.map_or(profiles_ms, |ms| combined(profiles_ms, ms * bias));
        Self {
            id,
            model,
            arrival_ms: new.arrival_ms,
            gpus: new.gpus,
            samples: new.samples,
            batch: new.batch,
            declared: new.epochs,
            data_gb: new.data_gb,
            checkpoint_gb: new.checkpoint_gb,
            epoch_ms: [profiles_ms, told_ms],
            stage: Stage::Waiting,
            condemned: false,
            since_ms: new.arrival_ms,
            done: 0.0,
            pace: 0.0,
            began_ms: 0.0,
            resumed_at: 0.0,
            computed_ms: 0.0,
            held_ms: 0.0,
            held_since_ms: 0.0,
            starts: 0,
            preemptions: 0,
            cached_on: 0,
            nodes: Vec::with_capacity(cluster.nodes.min(new.gpus) as usize),
        }
    }
}

impl ClusterState {
    /// An empty cluster at time 0.
    ///
    /// # Errors
    ///
    /// No nodes, GPUs or models, or numbers out of range.
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
        new.check(&self.cluster).map_err(of)?;
        self.jobs.check_next(job, "arrival_ms", new.arrival_ms)?;
        if job == u32::MAX {
            return Err(of(StateError::new("id", format!("must be below {job}, which stands for no job"))));
        }
        self.close();
        // There are at most 1000 models.
        self.jobs.push(Job::new(job, place as u16, &new, &self.cluster, None, 1.0));
        self.arrive(new.arrival_ms);
        Ok(())
    }

    /// Says that a job has begun to compute, having done so many epochs. Closes open questions.
    ///
    /// # Errors
    ///
    /// A job that does not load, or epochs that are no number in 0..=1e9.
    pub fn set_computing(&mut self, job: u32, done: f64) -> Result<(), StateError> {
        self.close();
        let index = self.in_stage(job, Stage::Loading, "computing")?;
        self.set_done(job, done, self.time_ms)?;
        self.hold_data(index);
        self.compute(index, 0.0);
        Ok(())
    }

    /// Says how many whole epochs a job has done, and since when it has been in the next one, ms. Closes open questions.
    ///
    /// # Errors
    ///
    /// An unknown job, epochs that are no whole number in 0..=1e9, or a time that is yet to come.
    pub fn set_done(&mut self, job: u32, epochs: f64, began_ms: f64) -> Result<(), StateError> {
        let index = self.jobs.known(job)?;
        let wrong = |field: &str, problem: String| Err(StateError::new(field, problem).of("job", job));
        if !((0.0..=MOST_EPOCHS).contains(&epochs) && epochs.fract() == 0.0) {
            return wrong("done", format!("must be a whole number in 0..={MOST_EPOCHS:e}, got {epochs}"));
        }
        if !(0.0..=self.time_ms).contains(&began_ms) {
            return wrong("began_ms", format!("must be a number in 0..={}, the time, got {began_ms}", self.time_ms));
        }
        self.close();
        let job = &mut self.jobs[index];
        (job.done, job.began_ms, job.resumed_at) = (epochs, began_ms, job.resumed_at.min(epochs));
        Ok(())
    }

    /// Says what the epochs of a job will take by a better prediction, ms. Closes open questions.
    ///
    /// # Errors
    ///
    /// An unknown job, or a time that is not positive.
    pub fn set_epoch(&mut self, job: u32, epoch_ms: f64) -> Result<(), StateError> {
        let index = self.jobs.known(job)?;
        positive(MOST, &[("epoch_ms", epoch_ms)]).map_err(|e| e.of("job", job))?;
        self.close();
        self.jobs[index].epoch_ms = [epoch_ms; 2];
        Ok(())
    }

    /// Says that a condemned job has ended its epoch, so that it has done one more, and writes its checkpoint. Closes open questions.
    ///
    /// # Errors
    ///
    /// A job that was not condemned, or does not compute.
    pub fn set_saving(&mut self, job: u32) -> Result<(), StateError> {
        self.close();
        let index = self.in_stage(job, Stage::Computing, "saving")?;
        if !self.jobs[index].condemned {
            return Err(StateError::new(format!("job {job}"), "was not condemned, and goes on computing"));
        }
        let whole = self.jobs[index].whole_at(self.time_ms) + 1.0;
        self.save(index, whole);
        Ok(())
    }

    /// Says that a job has lost its GPUs: it was saved, or its node failed. Closes open questions.
    ///
    /// # Errors
    ///
    /// A job that holds no GPUs.
    pub fn set_waiting(&mut self, job: u32) -> Result<(), StateError> {
        let index = self.jobs.known(job)?;
        if !self.jobs[index].stage.holds() {
            return Err(StateError::new(format!("job {job}"), "holds no GPUs"));
        }
        self.close();
        let whole = self.jobs[index].whole_at(self.time_ms);
        self.release(index, Stage::Waiting, whole);
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
        if self.jobs[index].stage.holds() {
            let whole = self.jobs[index].whole_at(self.time_ms);
            self.release(index, Stage::Gone, whole);
        } else {
            self.enter(index, Stage::Gone, false);
            self.forget_data(index);
        }
        remove(&mut self.waiting, job);
        if let Some(place) = self.claims.iter().position(|claim| claim.job == job) {
            let Claim { condemned, .. } = self.claims.remove(place);
            condemned.iter().for_each(|&job| self.pardon(job));
        }
        self.jobs.forget(index);
        Ok(())
    }

    /// Sets the clock. Closes open questions.
    ///
    /// # Errors
    ///
    /// A time before the present one or before a job's arrival.
    pub fn set_time(&mut self, time_ms: f64) -> Result<(), StateError> {
        clock("job", self.time_ms, time_ms, self.jobs.last_arrival())?;
        self.close();
        self.time_ms = time_ms;
        Ok(())
    }

    /// Settles claims and asks which waiting job is served next; `None` if none can be.
    ///
    /// # Errors
    ///
    /// As for [`ClusterState::set_time`].
    pub fn ask(&mut self, time_ms: f64) -> Result<Option<View<'_>>, StateError> {
        self.set_time(time_ms)?;
        self.open();
        self.close_if_done();
        self.begun.clear();
        self.touched.clear();
        Ok(self.view())
    }

    /// Carries an answer out, and asks again while there is something to ask. When nothing is asked any more, jobs that were served
    /// are placed and load.
    ///
    /// # Errors
    ///
    /// An illegal decision, or no open question; nothing is changed then.
    pub fn answer(&mut self, decision: Decision) -> Result<Option<View<'_>>, DecisionError> {
        self.view().ok_or(DecisionError::Ended)?.check(decision)?;
        self.apply(decision);
        self.begun.clear();
        self.touched.clear();
        Ok(self.view())
    }

    /// Ends open questions without answers: what was decided at this moment stands.
    pub(super) fn close(&mut self) {
        if self.open {
            self.drop_claim();
            self.open = false;
            self.begin_served();
            self.begun.clear();
            self.touched.clear();
        }
    }

    fn in_stage(&self, job: u32, stage: Stage, next: &str) -> Result<usize, StateError> {
        let index = self.jobs.known(job)?;
        match self.jobs[index].stage == stage {
            true => Ok(index),
            false => {
                let problem = format!("is {:?}, and cannot be {next} next", self.jobs[index].stage).to_lowercase();
                Err(StateError::new(format!("job {job}"), problem))
            }
        }
    }

    /// Puts a job onto GPUs that it is said to hold.
    pub(super) fn put(
        &mut self,
        index: usize,
        nodes: &[(u32, u32)],
        stage: Stage,
        condemned: bool,
    ) -> Result<(), StateError> {
        let (id, gpus) = (self.jobs[index].id, self.jobs[index].gpus);
        let field = format!("job {id}, `on.nodes`");
        let held: u64 = nodes.iter().map(|(_, gpus)| u64::from(*gpus)).sum();
        if held != u64::from(gpus) || !nodes.is_sorted_by(|a, b| a.0 < b.0) {
            let problem = format!("must be [node, GPUs] in order of nodes, {gpus} GPUs in all, got {nodes:?}");
            return Err(StateError::new(field, problem));
        }
        for &(node, gpus) in nodes {
            let free = self.node_free.get(node as usize).copied().unwrap_or(0);
            if !(1..=free).contains(&gpus) {
                let problem = format!("{gpus} GPUs of node {node}, of which {free} are free");
                return Err(StateError::new(field, problem));
            }
        }
        nodes.iter().for_each(|&(node, gpus)| self.node_free[node as usize] -= gpus);
        self.free -= gpus;
        self.jobs[index].nodes.extend_from_slice(nodes);
        self.enter(index, stage, condemned);
        remove(&mut self.waiting, id);
        insert(&mut self.busy, id);
        Ok(())
    }
}
