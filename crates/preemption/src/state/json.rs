//! The cluster state as JSON.

use super::{Claim, ClusterState, NewJob, Stage, StateError, View, build::MOST, insert, remove};
use crate::Cluster;
use sched_distill_core::state::{numbers, up_to};
use serde::{Deserialize, Serialize, Serializer};

/// Why nobody who holds GPUs is condemned where preemption is free.
const HOLDS_NONE: &str = "with free preemption a job that is condemned holds no GPUs";

/// What a file or a message holds; `docs/preemption.md` has the words to each field.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawState {
    cluster: Cluster,
    time_ms: f64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    ask: Option<RawAsk>,
    jobs: Vec<RawJob>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    claims: Vec<Claim>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    down: Vec<u32>,
    /// By node, the least recently used first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    cached: Vec<Vec<u32>>,
    #[serde(default)]
    transfers: u32,
    #[serde(default)]
    jobs_gone: u32,
    /// When the first and the last job arrived, if they are gone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    arrivals_ms: Option<[f64; 2]>,
}

/// Open questions.
#[derive(Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawAsk {
    /// The claim that is being made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    claim: Option<Claim>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    served: Vec<u32>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    passed: Vec<u32>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawJob {
    id: u32,
    model: String,
    arrival_ms: f64,
    gpus: u32,
    samples: f64,
    batch: u32,
    epochs: f64,
    data_gb: f64,
    checkpoint_gb: f64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    epoch_ms: Option<f64>,
    #[serde(default)]
    done: f64,
    #[serde(default)]
    computed_ms: f64,
    #[serde(default)]
    held_ms: f64,
    #[serde(default)]
    preemptions: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    on: Option<RawOn>,
}

/// Where a job is that holds GPUs.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawOn {
    stage: Stage,
    nodes: Vec<(u32, u32)>,
    since_ms: f64,
    held_since_ms: f64,
    #[serde(default)]
    began_ms: f64,
    #[serde(default)]
    resumed_at: f64,
    #[serde(default)]
    condemned: bool,
}

impl RawState {
    fn new(state: &ClusterState) -> Self {
        let now = state.time_ms;
        let job = |job: &super::Job| {
            let on = job.stage.holds().then(|| RawOn {
                stage: job.stage,
                nodes: job.nodes.clone(),
                since_ms: job.since_ms,
                held_since_ms: job.held_since_ms,
                began_ms: job.epoch_began_ms(now),
                resumed_at: job.resumed_at,
                condemned: job.condemned,
            });
            let whole = job.whole_at(now);
            RawJob {
                id: job.id,
                model: state.cluster.models[job.model as usize].name.to_string(),
                arrival_ms: job.arrival_ms,
                gpus: job.gpus,
                samples: job.samples,
                batch: job.batch,
                epochs: job.declared,
                data_gb: job.data_gb,
                checkpoint_gb: job.checkpoint_gb,
                epoch_ms: Some(job.epoch_ms[usize::from(whole >= f64::from(state.cluster.observe))]),
                done: whole,
                computed_ms: job.computed_ms,
                held_ms: job.held_ms,
                preemptions: job.preemptions,
                on,
            }
        };
        let there = state.jobs.here().iter().filter(|job| job.stage != Stage::Gone);
        let jobs: Vec<RawJob> = there.map(job).collect();
        let ask = RawAsk { claim: state.forming.clone(), served: state.served.clone(), passed: state.passed.clone() };
        let nodes = 0..state.node_up.len();
        Self {
            cluster: Cluster::clone(&state.cluster),
            time_ms: now,
            ask: state.view().map(|_| ask),
            jobs_gone: state.jobs.gone_but(jobs.len()),
            jobs,
            claims: state.claims.clone(),
            down: (0..).zip(&state.node_up).filter(|(_, up)| !**up).map(|(node, _)| node).collect(),
            cached: nodes.map(|node| state.caches.of(node).collect()).collect(),
            transfers: state.transfers,
            arrivals_ms: (state.jobs.arrived_so_far() > 0).then_some(state.arrivals_ms),
        }
    }
}

impl TryFrom<RawState> for ClusterState {
    type Error = StateError;

    fn try_from(raw: RawState) -> Result<Self, StateError> {
        let mut state = Self::new(raw.cluster)?;
        raw.down.iter().try_for_each(|&node| state.set_up(node, false))?;
        raw.jobs.iter().try_for_each(|job| state.read_job(job))?;
        state.set_time(raw.time_ms)?;
        state.check_times()?;
        state.read_cached(&raw.cached)?;
        if state.cluster.free && !raw.claims.is_empty() {
            return Err(StateError::new("claims", "there are none with free preemption"));
        }
        for claim in &raw.claims {
            let claim = state.read_claim(claim)?;
            state.claims.push(claim);
        }
        if let Some(ask) = &raw.ask {
            state.read_ask(ask)?;
        }
        (state.transfers, state.jobs.gone) = (raw.transfers, raw.jobs_gone);
        if let Some(arrivals_ms) = raw.arrivals_ms {
            if ![0.0, arrivals_ms[0], arrivals_ms[1], raw.time_ms].is_sorted() {
                let problem = format!("must be two times in order, up to `time_ms`, got {arrivals_ms:?}");
                return Err(StateError::new("arrivals_ms", problem));
            }
            state.arrivals_ms = arrivals_ms;
        }
        Ok(state)
    }
}

impl ClusterState {
    pub(super) fn read_job(&mut self, raw: &RawJob) -> Result<(), StateError> {
        let of = |e: StateError| e.of("job", raw.id);
        let new = NewJob {
            arrival_ms: raw.arrival_ms,
            gpus: raw.gpus,
            samples: raw.samples,
            batch: raw.batch,
            epochs: raw.epochs,
            data_gb: raw.data_gb,
            checkpoint_gb: raw.checkpoint_gb,
        };
        self.add_job(raw.id, &raw.model, new)?;
        self.set_done(raw.id, raw.done, 0.0)?;
        raw.epoch_ms.map_or(Ok(()), |ms| self.set_epoch(raw.id, ms))?;
        numbers(MOST, &[("computed_ms", raw.computed_ms), ("held_ms", raw.held_ms)]).map_err(of)?;
        let index = self.jobs.known(raw.id)?;
        let job = &mut self.jobs[index];
        (job.computed_ms, job.held_ms, job.preemptions) = (raw.computed_ms, raw.held_ms, raw.preemptions);
        let Some(on) = &raw.on else { return Ok(()) };
        let times = [
            ("on.since_ms", on.since_ms),
            ("on.held_since_ms", on.held_since_ms),
            ("on.began_ms", on.began_ms),
            ("on.resumed_at", on.resumed_at),
        ];
        numbers(MOST, &times).map_err(of)?;
        if on.condemned && on.stage == Stage::Loading {
            return Err(of(StateError::new("on.condemned", "a job that loads cannot be condemned")));
        }
        let condemned = on.condemned || on.stage == Stage::Saving;
        if condemned && self.cluster.free {
            return Err(of(StateError::new("on", HOLDS_NONE)));
        }
        self.put(index, &on.nodes, on.stage, condemned)?;
        let job = &mut self.jobs[index];
        (job.since_ms, job.held_since_ms, job.began_ms) = (on.since_ms, on.held_since_ms, on.began_ms);
        job.resumed_at = on.resumed_at;
        Ok(())
    }

    /// Checks that nothing has happened to jobs after the present time.
    pub(super) fn check_times(&self) -> Result<(), StateError> {
        for job in self.jobs.iter().filter(|job| job.stage.holds()) {
            let [since, held, began] = [job.since_ms, job.held_since_ms, job.began_ms];
            let times = [("on.since_ms", since), ("on.held_since_ms", held), ("on.began_ms", began)];
            up_to(("`time_ms`", self.time_ms), &times)
                .and_then(|()| up_to(("`done`", job.done), &[("on.resumed_at", job.resumed_at)]))
                .map_err(|e| e.of("job", job.id))?;
        }
        Ok(())
    }

    fn read_cached(&mut self, cached: &[Vec<u32>]) -> Result<(), StateError> {
        if cached.len() > self.node_up.len() {
            let problem = format!("{} lists for {} nodes", cached.len(), self.node_up.len());
            return Err(StateError::new("cached", problem));
        }
        for (node, jobs) in (0..).zip(cached) {
            for &job in jobs {
                let index = self.jobs.known(job)?;
                self.hold(node, index);
            }
        }
        Ok(())
    }

    /// A claim of a waiting job, which is then not asked about.
    fn read_claim(&mut self, raw: &Claim) -> Result<Claim, StateError> {
        let field = format!("claim of job {}", raw.job);
        let index = self.jobs.known(raw.job)?;
        if self.cluster.free && !raw.condemned.is_empty() {
            return Err(StateError::new(field, HOLDS_NONE));
        }
        if self.jobs[index].stage != Stage::Waiting || self.waiting.binary_search(&raw.job).is_err() {
            return Err(StateError::new(field, "the job does not wait, or has a claim already"));
        }
        for (i, &job) in raw.condemned.iter().enumerate() {
            let taken = self.claims.iter().any(|claim| claim.condemned.contains(&job));
            if !self.jobs[self.jobs.known(job)?].condemned || taken || raw.condemned[..i].contains(&job) {
                let problem = format!("job {job} is not condemned, or stands there twice");
                return Err(StateError::new(field, problem));
            }
        }
        remove(&mut self.waiting, raw.job);
        Ok(raw.clone())
    }

    fn read_ask(&mut self, ask: &RawAsk) -> Result<(), StateError> {
        for &job in &ask.served {
            let index = self.jobs.known(job)?;
            if self.waiting.binary_search(&job).is_err() || self.jobs[index].gpus > self.free {
                return Err(StateError::new("ask.served", format!("job {job} does not wait, or does not fit")));
            }
            remove(&mut self.waiting, job);
            self.serve(index);
        }
        for &job in &ask.passed {
            self.jobs.known(job)?;
            insert(&mut self.passed, job);
        }
        self.open = true;
        if let Some(claim) = &ask.claim {
            let claim = self.read_claim(claim)?;
            let computes =
                |job: u32| self.jobs.known(job).is_ok_and(|index| self.jobs[index].stage == Stage::Computing);
            if !claim.condemned.iter().all(|&job| computes(job)) {
                let problem = "those condemned at this moment compute";
                return Err(StateError::new(format!("claim of job {}", claim.job), problem));
            }
            let job = claim.job;
            self.forming = Some(claim);
            let need = self.need();
            if need == 0 || need > self.condemnable {
                let problem = "needs no more GPUs, or more than can be had; it is no question who is condemned";
                return Err(StateError::new(format!("claim of job {job}"), problem));
            }
        }
        self.close_if_done();
        self.begun.clear();
        Ok(())
    }
}

impl View<'_> {
    /// The same question in a state of its own, for instance to keep it, to write it down or to try an answer. It does not know how long
    /// jobs really take.
    #[must_use]
    pub fn to_state(&self) -> ClusterState {
        let mut state = self.state.clone();
        let now = state.time_ms;
        let observe = f64::from(state.cluster.observe);
        state.spare.clear();
        state.jobs.keep(|job| job.stage != Stage::Gone);
        for job in state.jobs.iter_mut() {
            let (whole, began_ms) = (job.whole_at(now), job.epoch_began_ms(now));
            job.epoch_ms = [job.epoch_ms[usize::from(whole >= observe)]; 2];
            (job.done, job.began_ms, job.pace) = (whole, began_ms, 0.0);
        }
        state
    }
}

impl Serialize for ClusterState {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        RawState::new(self).serialize(serializer)
    }
}
