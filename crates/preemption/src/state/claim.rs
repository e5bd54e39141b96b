//! Claims: waiting jobs for which others were condemned.

use super::{ClusterState, Stage, insert, remove};
use serde::{Deserialize, Serialize};

/// A waiting job and those condemned for it that still hold GPUs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Claim {
    pub(crate) job: u32,
    pub(crate) condemned: Vec<u32>,
}

impl ClusterState {
    pub(crate) fn gpus(&self, job: u32) -> u32 {
        self.jobs.index(job).map_or(0, |index| self.jobs[index].gpus)
    }

    /// Free GPUs that no claim reserves.
    #[inline]
    pub(crate) fn unreserved(&self) -> u32 {
        self.claims.iter().fold(self.free, |left, claim| left.saturating_sub(self.gpus(claim.job)))
    }

    /// GPUs that those condemned for a claim hold.
    pub(crate) fn condemned_gpus(&self, claim: &Claim) -> u32 {
        claim.condemned.iter().map(|&job| self.gpus(job)).sum()
    }

    /// GPUs that the claim that is being made still needs.
    pub(crate) fn need(&self) -> u32 {
        self.forming.as_ref().map_or(0, |claim| {
            self.gpus(claim.job).saturating_sub(self.unreserved()).saturating_sub(self.condemned_gpus(claim))
        })
    }

    /// Serves a waiting job, or begins to make a claim for it.
    pub(super) fn serve_next(&mut self, job: u32) {
        let Some(index) = self.jobs.index(job) else { return };
        remove(&mut self.waiting, job);
        match self.jobs[index].gpus <= self.free {
            true => self.serve(index),
            false => self.forming = Some(Claim { job, condemned: self.spare.pop().unwrap_or_default() }),
        }
    }

    /// Condemns a job for the claim that is being made.
    pub(super) fn condemn(&mut self, job: u32) {
        let (Some(index), Some(mut claim)) = (self.jobs.index(job), self.forming.take()) else { return };
        if self.cluster.free {
            let done = self.jobs[index].done_at(self.time_ms);
            self.jobs[index].preemptions = self.jobs[index].preemptions.saturating_add(1);
            self.release(index, Stage::Waiting, done);
            insert(&mut self.passed, job);
        } else {
            let stage = self.jobs[index].stage;
            self.enter(index, stage, true);
            self.touched.push(job);
            claim.condemned.push(job);
        }
        self.forming = Some(claim);
        let need = self.need();
        if need > self.condemnable {
            self.drop_claim();
        } else if need == 0 {
            self.make_claim();
        }
    }

    /// The claim that is being made has all it needs.
    fn make_claim(&mut self) {
        let Some(claim) = self.forming.take() else { return };
        match self.jobs.index(claim.job) {
            Some(index) if self.cluster.free => {
                self.serve(index);
                self.put_by(claim);
            }
            _ => {
                let share = self.unreserved();
                self.claims.push(claim);
                self.pardon_superfluous(self.claims.len() - 1, share);
            }
        }
    }

    /// The claim that is being made comes to nothing.
    pub(super) fn drop_claim(&mut self) {
        let Some(claim) = self.forming.take() else { return };
        claim.condemned.iter().for_each(|&job| self.pardon(job));
        insert(&mut self.waiting, claim.job);
        insert(&mut self.passed, claim.job);
        self.put_by(claim);
    }

    /// Keeps the list of a claim that is over, to be used again.
    fn put_by(&mut self, mut claim: Claim) {
        claim.condemned.clear();
        self.spare.push(claim.condemned);
    }

    /// Pardons a job that still computes.
    pub(super) fn pardon(&mut self, job: u32) {
        if let Some(index) = self.jobs.index(job)
            && self.jobs[index].stage == Stage::Computing
        {
            self.enter(index, Stage::Computing, false);
            self.touched.push(job);
        }
    }

    /// Pardons those condemned for a claim that it can do without, given its share of the free GPUs.
    fn pardon_superfluous(&mut self, place: usize, share: u32) {
        loop {
            let claim = &self.claims[place];
            let surplus = (share + self.condemned_gpus(claim)).saturating_sub(self.gpus(claim.job));
            let computes = |job: u32| self.jobs.index(job).is_some_and(|i| self.jobs[i].stage == Stage::Computing);
            let without = claim.condemned.iter().copied().filter(|&job| computes(job) && self.gpus(job) <= surplus);
            let Some(job) = without.max_by_key(|&job| (self.gpus(job), job)) else { return };
            self.pardon(job);
            self.claims[place].condemned.retain(|&other| other != job);
        }
    }

    /// Gives claims their shares of what is free, in order; who has all it needs begins.
    pub(super) fn settle(&mut self) {
        let (mut left, mut place) = (self.free, 0);
        while place < self.claims.len() {
            let job = self.claims[place].job;
            let share = self.gpus(job).min(left);
            left -= share;
            if share < self.gpus(job) {
                self.pardon_superfluous(place, share);
                place += 1;
                continue;
            }
            let claim = self.claims.remove(place);
            claim.condemned.iter().for_each(|&job| self.pardon(job));
            if let Some(index) = self.jobs.index(job) {
                self.serve(index);
            }
            self.put_by(claim);
        }
    }
}
