//! How executors move between pools: commit, fulfil, start, send, back up, retire.
//!
//! Supply, the executor count that schedulers see per job, is kept by four rules: committing from another job's pool (or
//! the common one) to a stage adds the number; undoing one such commitment subtracts one; sending an executor adds one to
//! the new job and takes one from the job whose pool it leaves; and *retiring to the common pool changes nothing*, so that
//! a job keeps counting executors it has handed back. The last rule is the reference's, visible in observations.

use super::{
    pools::Destination,
    state::{NONE, Simulator},
};
use crate::workload::Wave;

impl Simulator {
    /// Promises `count` executors of the source to a destination.
    pub(super) fn commit(&mut self, destination: Destination, count: u32) {
        let source_job = self.pool_job(self.source);
        self.pools.commit(self.source, destination, count);
        if destination != NONE {
            let job = self.state.stages[destination as usize].job;
            if job != source_job {
                self.state.jobs[job as usize].supply += count as i32;
            }
            self.state.stages[destination as usize].committed += count;
            self.update_saturation(destination);
        }
    }

    /// Carries out one commitment with executor `e`.
    pub(super) fn fulfil(&mut self, e: u32, destination: Destination) {
        let pool = self.executors[e as usize].pool;
        let pool_job = self.pool_job(pool);
        self.pools.fulfil(pool, destination);
        if destination == NONE {
            self.retire(e);
            return;
        }
        let job = self.state.stages[destination as usize].job;
        if job != pool_job {
            self.state.jobs[job as usize].supply -= 1;
        }
        self.state.stages[destination as usize].committed -= 1;
        self.update_saturation(destination);
        self.start_at(e, destination);
    }

    /// Puts executor `e` to work at a stage, or as near to it as is possible now.
    pub(super) fn start_at(&mut self, e: u32, stage: u32) {
        let job = self.state.stages[stage as usize].job;
        if self.state.stages[stage as usize].remaining == 0 {
            self.back_up(e);
        } else if self.executors[e as usize].job != job {
            self.send(e, stage);
        } else if !self.state.stages[stage as usize].in_frontier() {
            // A parent is unfinished: wait in the job's pool until the frontier changes. The commitment is gone.
            self.executors[e as usize].last_stage = NONE;
            self.rest_in(e, Self::job_pool(job));
        } else {
            self.move_to(e, self.stage_pool(stage));
            let wave = match self.executors[e as usize].last_stage {
                NONE => Wave::Fresh,
                last if last == stage => Wave::Rest,
                _ => Wave::First,
            };
            self.executors[e as usize].last_stage = stage;
            self.running[e as usize] = stage;
            self.state.stages[stage as usize].executing += 1;
            self.state.busy += 1;
            self.launch(e, stage, wave);
        }
    }

    /// Launches the next task of a stage on executor `e`, which is counted as busy there.
    pub(super) fn launch(&mut self, e: u32, stage: u32, wave: Wave) {
        let (s, run) = (&mut self.state.stages[stage as usize], &mut self.stage_runs[stage as usize]);
        let (job, job_run) = (&mut self.state.jobs[s.job as usize], &mut self.job_runs[s.job as usize]);
        let ordinal = s.num_tasks - s.remaining + run.first_task;
        let durations = &job_run.template.tables()[run.table as usize];
        let (attached, executors) = (job.attached, self.cluster.num_executors);
        let duration = match wave == Wave::Rest && run.expected_for == attached {
            true => run.expected_ms,
            false => durations.duration(wave, attached, executors, run.luck.draw(ordinal)),
        };
        run.expected_ms = durations.duration(Wave::Rest, attached, executors, run.luck.draw(ordinal + 1));
        run.expected_for = attached;
        if s.remaining == s.num_tasks {
            run.first_launch_ms = self.state.time_ms;
        }
        s.remaining -= 1;
        s.recent_ms = duration;
        if let Some(launches) = run.launches.get_mut(wave as usize) {
            *launches += 1;
        }
        job_run.unlaunched -= u32::from(s.remaining == 0);
        job.version += 1;
        self.update_saturation(stage);
        let end_ms = self.state.time_ms + duration;
        self.busy_ms += duration;
        self.queue.schedule(e, end_ms);
        if self.timeline.is_some() {
            self.log_run(e, stage, end_ms);
        }
    }

    /// Sends executor `e` to another job's stage; this takes the moving delay, from the common pool too.
    fn send(&mut self, e: u32, stage: u32) {
        let job = self.state.stages[stage as usize].job;
        let left = self.pool_job(self.executors[e as usize].pool);
        if left != NONE && left != job {
            self.state.jobs[left as usize].supply -= 1;
        }
        self.state.jobs[job as usize].supply += 1;
        self.move_to(e, NONE);
        self.state.moving += 1;
        self.detach(e);
        self.executors[e as usize].destination = stage;
        self.state.stages[stage as usize].moving += 1;
        self.update_saturation(stage);
        self.queue.schedule(e, self.state.time_ms + self.cluster.moving_delay_ms);
    }

    /// Finds other work for an executor whose stage has no task left: first in its own job, then in others.
    ///
    /// Two oddities of the reference are kept. For job 0 the present source's job takes the place of the own job when
    /// jobs with full supply are excluded (the reference reads job number 0 as "not given"). And if there is no other
    /// active job, "others" means all active jobs.
    fn back_up(&mut self, e: u32) {
        let own = self.executors[e as usize].job;
        let exempt = if own == 0 { self.pool_job(self.source) } else { own };
        let first_of = |accept: &dyn Fn(u32) -> bool| {
            let mut jobs = self.state.active.iter().copied().filter(|&job| accept(job));
            jobs.find(|&job| self.has_offers(job, exempt)).and_then(|job| self.offers_of(job).next())
        };
        let alone = self.state.active.iter().all(|&job| job == own);
        let target = first_of(&|job| job == own).or_else(|| first_of(&|job| alone || job != own));
        match target {
            Some(stage) => self.start_at(e, stage),
            None => self.retire(e),
        }
    }

    /// Takes executor `e` out of its pool when nothing is left to do there: to its job's pool, or to the common pool if the
    /// job needs no more executors. Only the latter clears its last task.
    pub(super) fn retire(&mut self, e: u32) {
        let pool = self.executors[e as usize].pool;
        let job = self.pool_job(pool);
        if job == NONE {
            return;
        }
        if self.job_runs[job as usize].unlaunched == 0 {
            self.rest_in(e, 0);
            self.detach(e);
        } else {
            self.rest_in(e, Self::job_pool(job));
        }
    }

    pub(super) fn attach(&mut self, e: u32, job: u32) {
        self.executors[e as usize].job = job;
        self.state.jobs[job as usize].attached += 1;
    }

    fn detach(&mut self, e: u32) {
        let executor = &mut self.executors[e as usize];
        executor.last_stage = NONE;
        if executor.job != NONE {
            self.state.jobs[executor.job as usize].attached -= 1;
            executor.job = NONE;
        }
    }

    /// Moves executor `e` to a pool, where it is idle.
    fn rest_in(&mut self, e: u32, pool: u32) {
        self.move_to(e, pool);
        self.pools.rest(e, pool);
    }

    /// Moves executor `e`, which runs no task, to a pool, or to none. It does not count as idle there.
    pub(super) fn move_to(&mut self, e: u32, pool: u32) {
        let old = std::mem::replace(&mut self.executors[e as usize].pool, pool);
        if old != NONE {
            self.pools.leave(e, old);
        }
        if pool != NONE {
            self.pools.enter(e, pool);
        }
    }

    /// Executors of a pool that do nothing, lowest id first. To be put back into `scratch.idle`.
    pub(super) fn take_idle(&mut self, pool: u32) -> Vec<u32> {
        let mut idle = std::mem::take(&mut self.scratch.idle);
        self.pools.idle(pool, &mut idle);
        idle
    }

    /// Notes whether a stage still wants executors, and tells its children if that changed.
    #[inline]
    pub(super) fn update_saturation(&mut self, stage: u32) {
        let s = &self.state.stages[stage as usize];
        if (s.demand() <= 0) != s.saturated {
            self.flip_saturation(stage);
        }
    }

    fn flip_saturation(&mut self, stage: u32) {
        let s = &mut self.state.stages[stage as usize];
        s.saturated = !s.saturated;
        let (saturated, job_id) = (s.saturated, s.job);
        if s.incomplete_parents == 0 {
            self.open = if saturated { self.open - 1 } else { self.open + 1 };
        }
        let mut change = s.update_offer(stage, &mut self.offered);
        let job = &self.state.jobs[job_id as usize];
        for &child in job.graph.children(stage - job.first_stage) {
            let child = job.first_stage + child;
            let c = &mut self.state.stages[child as usize];
            match saturated {
                true => c.unsaturated_parents -= 1,
                false => c.unsaturated_parents += 1,
            }
            change += c.update_offer(child, &mut self.offered);
        }
        self.offers[job_id as usize] += change;
    }

    /// Selects a stage in this round, which takes it off the offer, or ends that.
    pub(super) fn set_selected(&mut self, stage: u32, selected: bool) {
        let s = &mut self.state.stages[stage as usize];
        s.selected = selected;
        self.offers[s.job as usize] += s.update_offer(stage, &mut self.offered);
    }
}
