//! What an episode leaves behind.

use super::state::Simulator;
use crate::simulator::dag::Outcome;

impl Simulator {
    /// The outcome, once the episode has ended ([`Simulator::observation`] gives `None`).
    ///
    /// Events are slots from slot 0 on; utilisation is the mean over slots from the first arrival on of the share of all slots
    /// of CPU and GPU in use.
    #[must_use]
    pub fn outcome(&self) -> Option<Outcome> {
        if !self.ended {
            return None;
        }
        let slot_ms = self.cluster.slot_ms();
        let completion_ms: Vec<f64> = self.states.iter().map(|s| s.completion * slot_ms).collect();
        let unfinished = completion_ms.iter().filter(|c| c.is_nan()).count();
        let first_slot = self.jobs.first().map_or(0, |j| j.arrival_slot);
        let (first, end) = (f64::from(first_slot) * slot_ms, f64::from(self.slot) * slot_ms);
        let last = if unfinished == 0 { completion_ms.iter().copied().fold(first, f64::max) } else { end };
        let makespan_ms = last - first;
        let job_time = self.job_time_ms(first, last);
        let slots = f64::from(self.slot.saturating_sub(first_slot).max(1));
        Some(Outcome {
            completed: unfinished == 0,
            unfinished,
            mean_jct_ms: (unfinished == 0 && !self.jobs.is_empty()).then(|| job_time / self.jobs.len() as f64),
            completion_ms,
            makespan_ms,
            final_time_ms: end,
            total_reward: self.total_reward,
            events: u64::from(self.slot),
            decisions: self.decisions,
            utilisation: self.busy / slots,
            jobs_in_system: job_time / makespan_ms.max(f64::MIN_POSITIVE),
        })
    }

    /// Job-time between two moments, ms: for each job, how much of it the job was in the system. What lies after the clock is
    /// taken to find unfinished jobs unfinished.
    #[must_use]
    pub fn job_time_ms(&self, from_ms: f64, to_ms: f64) -> f64 {
        let slot_ms = self.cluster.slot_ms();
        // `min` takes the other number where a job has no completion time yet.
        let time = |(arrival_ms, completion): (f64, f64)| {
            ((completion * slot_ms).min(to_ms) - arrival_ms.max(from_ms)).max(0.0)
        };
        self.arrivals_ms().zip(self.states.iter().map(|s| s.completion)).map(time).sum()
    }

    /// Arrival time by job, ms.
    pub fn arrivals_ms(&self) -> impl ExactSizeIterator<Item = f64> {
        let slot_ms = self.cluster.slot_ms();
        self.jobs.iter().map(move |j| f64::from(j.arrival_slot) * slot_ms)
    }
}
