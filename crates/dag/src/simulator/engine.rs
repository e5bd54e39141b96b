//! Rounds and events: what happens at a step, and between two questions.

use super::state::{Again, NONE, Simulator, StepResult};
use crate::{
    state::{Decision, DecisionError, StageRef},
    workload::{Offers, Wave},
};
use sched_distill_core::simulation::Simulation as _;

/// How long executors may idle beside work before they are offered again, ms.
///
/// The reference never does that, so that executors which were promised to a stage whose tasks ran out before they came may wait for hours
/// in a job. Clusters take executors back that idle: Spark's dynamic allocation after a minute.
const PATIENCE_MS: f64 = 300_000.0;

impl Simulator {
    /// Handles the arrivals at time 0 and runs on to the first question.
    pub(super) fn start(&mut self) {
        while self.next_arrival_ms <= 0.0 {
            self.events += 1;
            self.job_arrives();
        }
        self.source = 0;
        self.refresh_schedulable();
        if self.state.schedulable.is_empty() {
            self.run_on();
        }
    }

    /// Answers the open question.
    ///
    /// # Errors
    ///
    /// An illegal decision; the state is then unchanged.
    pub fn step(&mut self, decision: Decision) -> Result<StepResult, DecisionError> {
        self.check(decision)?;
        self.decisions += 1;
        let committed = match decision {
            Decision::Assign { stage, executors } => {
                let stage = self.stage_index(stage);
                // A schedulable stage is not saturated, so its demand is positive.
                let demand = self.state.stages[stage as usize].demand().unsigned_abs();
                let committed = executors.min(demand.try_into().unwrap_or(u32::MAX));
                self.commit(stage, committed);
                self.set_selected(stage, true);
                self.selected.push(stage);
                committed
            }
            Decision::Abstain => {
                let rest = self.state.committable;
                self.commit(NONE, rest);
                rest
            }
        };
        self.state.schedulable.clear();
        if self.committable() > 0 {
            self.refresh_schedulable();
        }
        if !self.state.schedulable.is_empty() {
            return Ok(StepResult { committed, reward: 0.0 });
        }
        let (start_ms, arrived) = (self.state.time_ms, self.state.jobs.arrived);
        let mut before = std::mem::take(&mut self.scratch.jobs);
        before.clone_from(&self.state.active);
        self.end_round();
        // Up to the next question only tasks end, jobs and executors arrive, and idle executors are offered, ever more rarely.
        if self.bound.is_passed(self.events) {
            return Ok(StepResult { committed, reward: 0.0 });
        }
        self.run_on();
        let reward = self.reward(&before, arrived, start_ms);
        self.scratch.jobs = before;
        self.total_reward += reward;
        Ok(StepResult { committed, reward })
    }

    /// Hands the source's idle executors out, in the order in which destinations were named; busy ones carry the rest.
    fn end_round(&mut self) {
        let left = self.committable();
        if left > 0 {
            self.commit(NONE, left);
        }
        let idle = self.take_idle(self.source);
        let mut commitments = std::mem::take(&mut self.scratch.commitments);
        self.pools.commitments(self.source, &mut commitments);
        let mut next = 0;
        for &(destination, count) in &commitments {
            for _ in 0..(count as usize).min(idle.len() - next) {
                self.fulfil(idle[next], destination);
                next += 1;
            }
        }
        self.scratch.idle = idle;
        self.scratch.commitments = commitments;
        self.source = NONE;
        while let Some(stage) = self.selected.pop() {
            self.set_selected(stage, false);
        }
    }

    /// Handles events until there is a question, or nothing is left to happen.
    fn run_on(&mut self) {
        loop {
            if self.offers_idle() {
                return;
            }
            let submitted_ms = self.submissions.front().map_or(f64::INFINITY, |&(time_ms, _)| time_ms);
            let next_ms = self.queue.next_time().unwrap_or(f64::INFINITY).min(self.next_arrival_ms).min(submitted_ms);
            // At one instant arrivals come first, as if all of them had been scheduled at the beginning.
            let arrival_first = self.next_arrival_ms == next_ms;
            self.state.again = false;
            if let Some((time_ms, pool)) = self.offered_again(next_ms) {
                self.pass_time(time_ms);
                (self.source, self.state.again) = (pool, true);
            } else if arrival_first && self.next_arrival_ms < f64::INFINITY {
                self.pass_time(self.next_arrival_ms);
                self.job_arrives();
            } else if submitted_ms == next_ms
                && let Some((time_ms, stage)) = self.submissions.pop_front()
            {
                self.pass_time(time_ms);
                self.open += u32::from(!self.state.stages[stage as usize].saturated);
                self.set_selected(stage, false);
            } else if let Some((time_ms, e)) = self.queue.pop() {
                self.pass_time(time_ms);
                match self.running[e as usize] {
                    NONE => self.executor_arrives(e),
                    stage => self.task_finishes(e, stage),
                }
            } else {
                break;
            }
            self.events += 1;
            self.next_idle = if self.cluster.offers == Offers::Task { 0 } else { NONE };
            self.offered_first = self.source;
            // With nothing on offer the source is kept: a later event may free executors of the same pool.
            if self.committable() == 0 {
                continue;
            }
            self.refresh_schedulable();
            if !self.state.schedulable.is_empty() {
                return;
            }
            let idle = self.take_idle(self.source);
            for &e in &idle {
                self.retire(e);
            }
            self.scratch.idle = idle;
            self.source = NONE;
        }
        self.state.schedulable.clear();
    }

    /// Whether idle executors are offered, where the cluster does that after each event: those of one active job after the other, then those that nobody
    /// has.
    fn offers_idle(&mut self) -> bool {
        while self.next_idle != NONE {
            let place = self.next_idle as usize;
            let pool = self.state.active.get(place).map_or(0, |&job| Self::job_pool(job));
            self.next_idle = if pool == 0 { NONE } else { self.next_idle + 1 };
            if pool != self.offered_first && self.pools.committable(pool) > 0 {
                self.source = pool;
                self.refresh_schedulable();
                if !self.state.schedulable.is_empty() {
                    return true;
                }
                self.source = NONE;
            }
        }
        false
    }

    /// Sets the clock, and notes for how long executors idle beside work.
    fn pass_time(&mut self, time_ms: f64) {
        self.idle.pass(self.idles_beside_work(), self.state.time_ms, time_ms);
        self.state.time_ms = time_ms;
    }

    /// Whether more than half of the executors have no work, and some stage could start that wants executors.
    fn idles_beside_work(&self) -> bool {
        let working = self.state.busy + self.state.moving;
        2 * u64::from(working) < self.cluster.num_executors.into() && self.open > 0
    }

    /// When, before the next event if there is one, and from which pool idle executors are offered again: after [`PATIENCE_MS`] in which more than half of
    /// the executors idle beside work, and whenever that has lasted twice as long, pool after pool.
    fn offered_again(&mut self, next_ms: f64) -> Option<(f64, u32)> {
        if next_ms == f64::INFINITY || !self.idles_beside_work() {
            return None;
        }
        let since_ms = self.idle.since_ms(self.state.time_ms);
        if self.again.since_ms != since_ms {
            self.again = Again { since_ms, due_ms: since_ms + PATIENCE_MS, next_pool: 0 };
        }
        // So late that a clock cannot tell them apart from what was before, they are not offered.
        while self.again.due_ms < next_ms && self.again.due_ms > since_ms {
            while self.again.next_pool <= self.state.jobs.arrived {
                let pool = self.again.next_pool;
                self.again.next_pool += 1;
                if self.pools.committable(pool) > 0 {
                    return Some((self.again.due_ms.max(self.state.time_ms), pool));
                }
            }
            self.again.next_pool = 0;
            self.again.due_ms += self.again.due_ms - since_ms;
        }
        None
    }

    fn job_arrives(&mut self) {
        let job = &self.state.jobs[self.state.jobs.arrived as usize];
        let stages = &self.state.stages[job.first_stage as usize..][..job.num_stages as usize];
        self.open += stages.iter().filter(|stage| stage.incomplete_parents == 0 && !stage.saturated).count() as u32;
        self.state.active.push(self.state.jobs.arrived);
        self.state.jobs.arrived += 1;
        self.next_arrival_ms =
            self.state.jobs.get(self.state.jobs.arrived as usize).map_or(f64::INFINITY, |j| j.arrival_ms);
        if self.pools.size(0) > 0 {
            self.source = 0;
        }
    }

    fn executor_arrives(&mut self, e: u32) {
        let stage = self.executors[e as usize].destination;
        let job = self.state.stages[stage as usize].job;
        self.attach(e, job);
        self.state.moving -= 1;
        self.state.stages[stage as usize].moving -= 1;
        self.update_saturation(stage);
        self.move_to(e, Self::job_pool(job));
        self.start_at(e, stage);
    }

    fn task_finishes(&mut self, e: u32, stage: u32) {
        let s = &mut self.state.stages[stage as usize];
        s.completed += 1;
        if self.cluster.offers == Offers::Task {
            self.slot_is_free(e, stage);
            return;
        }
        if s.remaining > 0 {
            // The executor goes on with the next task, whatever was promised.
            self.launch(e, stage, Wave::Rest);
            return;
        }
        s.executing -= 1;
        let (job, complete) = (s.job, s.is_complete());
        let pool = self.stage_pool(stage);
        self.state.jobs[job as usize].version += 1;
        self.running[e as usize] = NONE;
        self.state.busy -= 1;
        let frontier_changed = complete && self.complete_stage(stage);
        let promised = self.pools.promised(pool);
        match promised {
            Some(destination) => self.fulfil(e, destination),
            None => {
                self.executors[e as usize].last_stage = NONE;
                match frontier_changed {
                    true => self.retire(e),
                    false => self.pools.rest(e, pool),
                }
            }
        }
        if frontier_changed {
            self.source = Self::job_pool(job);
        } else if promised.is_none() {
            self.source = pool;
        }
    }

    /// Offers the executor of a task that has ended, whether its stage has further ones or not.
    fn slot_is_free(&mut self, e: u32, stage: u32) {
        let s = &mut self.state.stages[stage as usize];
        s.executing -= 1;
        let (job, complete) = (s.job, s.is_complete());
        self.state.jobs[job as usize].version += 1;
        self.running[e as usize] = NONE;
        self.state.busy -= 1;
        if complete {
            self.complete_stage(stage);
        }
        self.retire(e);
        self.source = self.executors[e as usize].pool;
    }

    /// Marks a stage complete; whether that brought new stages into the frontier.
    fn complete_stage(&mut self, stage: u32) -> bool {
        self.stage_runs[stage as usize].completion_ms = self.state.time_ms;
        let job_id = self.state.stages[stage as usize].job;
        let job = &mut self.state.jobs[job_id as usize];
        let mut changed = false;
        for &child in job.graph.children(stage - job.first_stage) {
            let place = job.first_stage + child;
            let child = &mut self.state.stages[place as usize];
            child.incomplete_parents -= 1;
            changed |= child.incomplete_parents == 0;
            let submit_ms = self.cluster.submission_ms();
            if child.incomplete_parents == 0 && submit_ms > 0.0 {
                self.submissions.push_back((self.state.time_ms + submit_ms, place));
                continue;
            }
            self.open += u32::from(child.incomplete_parents == 0 && !child.saturated);
            if child.incomplete_parents == 0 && self.cluster.offers == Offers::Task {
                child.selected = false;
                self.offers[job_id as usize] += child.update_offer(place, &mut self.offered);
            }
        }
        job.incomplete -= 1;
        if job.incomplete == 0 {
            self.job_runs[job_id as usize].completion_ms = self.state.time_ms;
            let waiting = self.take_idle(Self::job_pool(job_id));
            for &e in &waiting {
                self.retire(e);
            }
            self.scratch.idle = waiting;
            // Active jobs are in order of their numbers.
            let place = self.state.active.partition_point(|&j| j < job_id);
            self.state.active.remove(place);
        }
        changed
    }

    /// Recomputes the stages on offer at the present source.
    fn refresh_schedulable(&mut self) {
        self.state.committable = self.committable();
        self.state.source = self.source();
        let mut list = std::mem::take(&mut self.state.schedulable);
        list.clear();
        let exempt = self.pool_job(self.source);
        self.state.source_job = (exempt != NONE && self.is_active(exempt)).then_some(exempt);
        for &job in &self.state.active {
            if self.has_offers(job, exempt) {
                let first_stage = self.state.jobs[job as usize].first_stage;
                list.extend(self.offers_of(job).map(|stage| StageRef { job, stage: stage - first_stage }));
            }
        }
        self.state.schedulable = list;
    }

    /// Whether a job has a stage that may get executors: one that wants some, whose parents want none, not selected in this
    /// round. A job with full supply gets none unless it is the `exempt` one (the source's job).
    pub(super) fn has_offers(&self, job: u32, exempt: u32) -> bool {
        let open = || i64::from(self.state.jobs[job as usize].supply) < i64::from(self.cluster.num_executors);
        self.offers[job as usize] > 0 && (job == exempt || open())
    }

    /// The stages on offer of a job, ascending.
    pub(super) fn offers_of(&self, job: u32) -> impl Iterator<Item = u32> {
        let j = &self.state.jobs[job as usize];
        ones(&self.offered, j.first_stage as usize, (j.first_stage + j.num_stages) as usize)
    }

    /// Minus the job-time since `start_ms` of the jobs that were active then (`before`, out of `arrived`) or are now.
    fn reward(&self, before: &[u32], arrived: u32, start_ms: f64) -> f64 {
        if self.state.time_ms == start_ms {
            return 0.0;
        }
        let later = self.state.active.iter().filter(|&&job| job >= arrived);
        let mut sum = 0.0;
        for &job in before.iter().chain(later) {
            let from = self.state.jobs[job as usize].arrival_ms.max(start_ms);
            let to = self.job_runs[job as usize].completion_ms.min(self.state.time_ms);
            sum += match self.discount_per_s {
                0.0 => to - from,
                beta => {
                    let discounted = |t: f64| (-beta * 1e-3 * (t - start_ms)).exp();
                    (discounted(from) - discounted(to)) / beta
                }
            };
        }
        -sum
    }
}

/// Places of the set bits of `bits` in `from..to`, ascending.
fn ones(bits: &[u64], from: usize, to: usize) -> impl Iterator<Item = u32> {
    let last = to / 64;
    let inside = move |word: usize| {
        let below = if word == last { !(!0 << (to % 64)) } else { !0 };
        bits.get(word).copied().unwrap_or(0) & below
    };
    let mut word = from / 64;
    let mut left = inside(word) & (!0 << (from % 64));
    std::iter::from_fn(move || {
        while left == 0 {
            if word >= last {
                return None;
            }
            word += 1;
            left = inside(word);
        }
        let bit = 64 * word as u32 + left.trailing_zeros();
        left &= left - 1;
        Some(bit)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload;
    use sched_distill_core::rng::Stream;

    /// However it is decided, as many stages count as open as can start and want executors.
    #[test]
    fn open_stages_are_counted() {
        for seed in 0..20 {
            let workload = workload::open(&"builtin,edge=mix,jobs=12".parse().unwrap()).unwrap();
            let mut sim = Simulator::new(*workload.cluster(), workload.jobs(seed), seed);
            let mut stream = Stream::new(seed, "open stages");
            while let Some(seen) = sim.view() {
                let active = seen.active_jobs().iter().map(|&job| seen.job(job));
                let open =
                    active.flat_map(|job| job.stages()).filter(|s| s.incomplete_parents() == 0 && s.demand() > 0);
                assert_eq!(open.count(), sim.open as usize);
                let stages = seen.schedulable();
                let stage = stages[stream.below(stages.len())];
                let most = seen.room(stage.job).min(seen.stage(stage).demand());
                sim.step(Decision::Assign { stage, executors: 1 + stream.below(most as usize) as u32 }).unwrap();
            }
        }
    }
}
