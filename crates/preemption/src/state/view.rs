//! What a scheduler may know of the cluster at a question. Nothing here tells the future, nor how long jobs really take.
//!
//! A [`View`] is lent by the simulator, and by a [`ClusterState`] that anyone can make: features, heuristics, networks and students
//! read it alone.

use super::{ClusterState, Decision, JobView, Truth};
use crate::Cluster;
use serde::Serialize;

/// Most gaps without an arrival that are said.
const MOST_GAPS: f64 = 1000.0;

/// What is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Question {
    /// Which waiting job is served next, if any.
    Serve,
    /// Which job is condemned for this waiting one, if any.
    Condemn(u32),
}

/// The cluster at an open question. Borrows from who lends it; copying it is free.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(transparent)]
pub struct View<'a> {
    pub(crate) state: &'a ClusterState,
    #[serde(skip)]
    pub(crate) truth: Truth<'a>,
}

impl<'a> View<'a> {
    /// The time, ms.
    #[must_use]
    pub fn time_ms(&self) -> f64 {
        self.state.time_ms
    }

    /// The cluster.
    #[must_use]
    pub fn cluster(&self) -> &'a Cluster {
        &self.state.cluster
    }

    /// What is asked.
    #[must_use]
    pub fn question(&self) -> Question {
        self.state.forming.as_ref().map_or(Question::Serve, |claim| Question::Condemn(claim.job))
    }

    /// Number of jobs that have arrived so far.
    #[must_use]
    pub fn arrived(&self) -> u32 {
        self.state.jobs.arrived_so_far()
    }

    /// For how many mean gaps between arrivals none has come: the time since the last arrival ÷ the mean gap so far. As many as there
    /// are if all came at once; 0 with fewer than two arrivals.
    #[must_use]
    pub fn quiet_gaps(&self) -> f64 {
        let [first_ms, last_ms] = self.state.arrivals_ms;
        match f64::from(self.arrived()) - 1.0 {
            gaps if gaps < 1.0 => 0.0,
            gaps => ((self.time_ms() - last_ms) * gaps / (last_ms - first_ms).max(1.0)).min(MOST_GAPS),
        }
    }

    /// Numbers of the jobs that wait without a claim, ascending, those included that were passed over at this moment.
    #[must_use]
    pub fn waiting(&self) -> &'a [u32] {
        &self.state.waiting
    }

    /// Whether a job was passed over at this moment.
    #[must_use]
    pub fn is_passed(&self, job: u32) -> bool {
        self.state.passed.binary_search(&job).is_ok()
    }

    /// Numbers of the jobs that hold GPUs, ascending.
    #[must_use]
    pub fn busy(&self) -> &'a [u32] {
        &self.state.busy
    }

    /// Jobs with a claim in the order of their claims, the one in question last.
    pub fn claimed(&self) -> impl Iterator<Item = u32> + 'a {
        self.state.claims.iter().chain(&self.state.forming).map(|claim| claim.job)
    }

    /// An arrived job.
    ///
    /// # Panics
    ///
    /// If no job of this number has arrived.
    #[must_use]
    pub fn job(&self, job: u32) -> JobView<'a> {
        match self.state.jobs.find(job) {
            Some(job) => JobView { state: self.state, job },
            None => panic!("job {job} has not arrived"),
        }
    }

    /// Numbers of all jobs that are there: those that wait, were served, have a claim and hold GPUs, in this order.
    pub fn present(&self) -> impl Iterator<Item = u32> + use<'a> {
        let state = self.state;
        let waiting = state.waiting.iter().chain(&state.served).copied();
        let claimed = state.claims.iter().chain(&state.forming).map(|claim| claim.job);
        waiting.chain(claimed).chain(state.busy.iter().copied())
    }

    /// All jobs that are there, by number.
    pub fn jobs(&self) -> impl Iterator<Item = JobView<'a>> + use<'a> {
        let state = self.state;
        state.jobs.here().iter().map(move |job| JobView { state, job }).filter(|job| !job.is_gone())
    }

    /// Free GPUs, less those that jobs served at this moment will take; what claims reserve is among them.
    #[must_use]
    pub fn free(&self) -> u32 {
        self.state.free
    }

    /// Free GPUs that no claim reserves.
    #[must_use]
    pub fn unreserved(&self) -> u32 {
        self.state.unreserved()
    }

    /// GPUs that the job in question still needs; 0 if none is.
    #[must_use]
    pub fn need(&self) -> u32 {
        self.state.need()
    }

    /// GPUs of all jobs that can be condemned.
    #[must_use]
    pub fn condemnable(&self) -> u32 {
        self.state.condemnable
    }

    /// Transfers from and to the storage under way.
    #[must_use]
    pub fn transfers(&self) -> u32 {
        self.state.transfers
    }

    /// Whether a job can be the answer: served if that is asked, condemned if that is.
    #[must_use]
    pub fn is_candidate(&self, job: u32) -> bool {
        match self.question() {
            Question::Serve => {
                let most = self.free().max(self.unreserved() + self.condemnable());
                self.waiting().binary_search(&job).is_ok() && self.job(job).gpus() <= most && !self.is_passed(job)
            }
            Question::Condemn(_) => self.busy().binary_search(&job).is_ok() && self.job(job).can_be_condemned(),
        }
    }

    /// The jobs that can be the answer, ascending.
    pub fn candidates(&self) -> impl Iterator<Item = u32> + use<'a> {
        let (seen, question) = (*self, self.question());
        let most = self.free().max(self.unreserved() + self.condemnable());
        let all = if question == Question::Serve { self.waiting() } else { self.busy() };
        all.iter().copied().filter(move |&job| match question {
            Question::Serve => seen.job(job).gpus() <= most && !seen.is_passed(job),
            Question::Condemn(_) => seen.job(job).can_be_condemned(),
        })
    }

    /// Whether a legal decision leaves the cluster idle that could work: to serve no one where one could be, and no job holds GPUs or is
    /// about to, so that nothing need happen any more; and, where a job fits on unreserved GPUs that are more than half of all, whatever
    /// is not to serve one that does.
    #[must_use]
    pub fn strands(&self, decision: Decision) -> bool {
        let (state, room) = (self.state, self.unreserved());
        let fits = |job: u32| self.job(job).gpus() <= room;
        if state.forming.is_some() || matches!(decision, Decision::Serve { job } if fits(job)) {
            return false;
        }
        let nothing_goes_on = state.busy.is_empty() && state.served.is_empty() && state.claims.is_empty();
        let is_idle = room > self.cluster().gpus() / 2 && self.candidates().any(fits);
        is_idle || (decision == Decision::Wait && nothing_goes_on && self.candidates().next().is_some())
    }
}
