//! Rounds and events: what happens at a step, and between two questions.

use super::{
    queue::Event,
    state::{Decision, NONE, SimError, Simulator, StepResult},
};

impl Simulator {
    /// Handles the arrivals at time 0 and runs on to the first question.
    pub(super) fn start(&mut self) {
        while self.next_arrival().is_some_and(|t| t <= 0.0) {
            self.events += 1;
            self.job_arrives();
        }
        self.source = 0;
        self.refresh_schedulable();
        if self.schedulable.is_empty() {
            self.run_on();
        }
    }

    /// Answers the open question.
    ///
    /// # Errors
    ///
    /// An illegal decision; the state is then unchanged.
    pub fn step(&mut self, decision: Decision) -> Result<StepResult, SimError> {
        let committable = self.validate(decision)?;
        self.decisions += 1;
        let committed = match decision {
            Decision::Assign { stage, executors } => {
                let stage = self.stage_index(stage);
                // A schedulable stage is not saturated, so its demand is positive.
                let demand = self.stages[stage as usize].demand().unsigned_abs();
                let committed = executors.min(demand.try_into().unwrap_or(u32::MAX));
                self.commit(stage, committed);
                self.stages[stage as usize].selected = true;
                self.selected.push(stage);
                committed
            }
            Decision::Abstain => {
                self.commit(NONE, committable);
                committable
            }
        };
        self.schedulable.clear();
        if self.committable() > 0 {
            self.refresh_schedulable();
        }
        if !self.schedulable.is_empty() {
            return Ok(StepResult { committed, reward: 0.0 });
        }
        let start_ms = self.time_ms;
        let before = self.active.clone();
        self.end_round();
        self.run_on();
        let reward = self.reward(&before, start_ms);
        self.total_reward += reward;
        Ok(StepResult { committed, reward })
    }

    /// Checks a decision without carrying it out; the number of executors on offer.
    ///
    /// # Errors
    ///
    /// What [`Simulator::step`] would refuse.
    pub fn validate(&self, decision: Decision) -> Result<u32, SimError> {
        if self.schedulable.is_empty() {
            return Err(SimError::Ended);
        }
        let (time_ms, committable) = (self.time_ms, self.committable());
        if let Decision::Assign { stage, executors } = decision {
            if self.schedulable.binary_search(&stage).is_err() {
                let allowed: Vec<String> = self.schedulable.iter().take(8).map(ToString::to_string).collect();
                let more = if self.schedulable.len() > 8 { ", ..." } else { "" };
                let allowed = format!("{}{more}", allowed.join(", "));
                return Err(SimError::NotSchedulable { time_ms, stage, allowed });
            }
            if executors == 0 || executors > committable {
                return Err(SimError::Executors { time_ms, stage, executors, committable });
            }
        }
        Ok(committable)
    }

    /// Hands the source's idle executors out, in the order in which destinations were named; busy ones carry the rest.
    fn end_round(&mut self) {
        let left = self.committable();
        if left > 0 {
            self.commit(NONE, left);
        }
        let idle = self.take_idle(self.source);
        let commitments = self.pools[self.source as usize].commitments.clone();
        let mut next = 0;
        for (destination, count) in commitments {
            for _ in 0..(count as usize).min(idle.len() - next) {
                self.fulfil(idle[next], destination);
                next += 1;
            }
        }
        self.scratch = idle;
        self.source = NONE;
        for stage in self.selected.drain(..) {
            self.stages[stage as usize].selected = false;
        }
    }

    /// Handles events until there is a question, or nothing is left to happen.
    fn run_on(&mut self) {
        while let Some((time_ms, event)) = self.queue.pop(self.next_arrival()) {
            self.time_ms = time_ms;
            self.events += 1;
            match event {
                Event::JobArrival => self.job_arrives(),
                Event::ExecutorArrived(e) => self.executor_arrives(e),
                Event::TaskFinished(e) => self.task_finishes(e),
            }
            // With nothing on offer the source is kept: a later event may free executors of the same pool.
            if self.committable() == 0 {
                continue;
            }
            self.refresh_schedulable();
            if !self.schedulable.is_empty() {
                return;
            }
            let idle = self.take_idle(self.source);
            for &e in &idle {
                self.retire(e);
            }
            self.scratch = idle;
            self.source = NONE;
        }
        self.schedulable.clear();
    }

    fn next_arrival(&self) -> Option<f64> {
        self.jobs.get(self.arrived as usize).map(|j| j.arrival_ms)
    }

    fn job_arrives(&mut self) {
        self.active.push(self.arrived);
        self.arrived += 1;
        if self.pools[0].size > 0 {
            self.source = 0;
        }
    }

    fn executor_arrives(&mut self, e: u32) {
        let stage = self.executors[e as usize].destination;
        let job = self.stages[stage as usize].job;
        self.attach(e, job);
        self.stages[stage as usize].moving -= 1;
        self.update_saturation(stage);
        self.move_to(e, Self::job_pool(job));
        self.start_at(e, stage);
    }

    fn task_finishes(&mut self, e: u32) {
        let stage = self.executors[e as usize].last_stage;
        self.executors[e as usize].executing = false;
        let s = &mut self.stages[stage as usize];
        s.executing -= 1;
        s.completed += 1;
        if s.remaining > 0 {
            self.launch(e, stage);
            return;
        }
        let job = s.job;
        let frontier_changed = self.stages[stage as usize].is_complete() && self.complete_stage(stage);
        let pool = self.stage_pool(stage);
        let promised = self.pools[pool as usize].commitments.first().map(|(destination, _)| *destination);
        match promised {
            Some(destination) => self.fulfil(e, destination),
            None => {
                self.executors[e as usize].last_stage = NONE;
                if frontier_changed {
                    self.retire(e);
                }
            }
        }
        if frontier_changed {
            self.source = Self::job_pool(job);
        } else if promised.is_none() {
            self.source = pool;
        }
    }

    /// Marks a stage complete; whether that brought new stages into the frontier.
    fn complete_stage(&mut self, stage: u32) -> bool {
        self.stages[stage as usize].completion_ms = self.time_ms;
        let job_id = self.stages[stage as usize].job;
        let job = &mut self.jobs[job_id as usize];
        let mut changed = false;
        for &child in job.template.children(stage - job.first_stage) {
            let child = &mut self.stages[(job.first_stage + child) as usize];
            child.incomplete_parents -= 1;
            changed |= child.incomplete_parents == 0;
        }
        job.incomplete -= 1;
        if job.incomplete == 0 {
            job.completion_ms = self.time_ms;
            let waiting = self.take_idle(Self::job_pool(job_id));
            for &e in &waiting {
                self.retire(e);
            }
            self.scratch = waiting;
            self.active.retain(|&j| j != job_id);
        }
        changed
    }

    /// Recomputes the stages on offer at the present source.
    fn refresh_schedulable(&mut self) {
        let mut list = std::mem::take(&mut self.schedulable);
        list.clear();
        let exempt = self.pool_job(self.source);
        for &job in &self.active {
            list.extend(self.schedulable_stages_of(job, exempt).map(|stage| self.stage_ref(stage)));
        }
        self.schedulable = list;
    }

    /// Stages of a job that may get executors: those that want some, whose parents want none, not selected in this round.
    /// A job with full supply gets none unless it is the `exempt` one (the source's job).
    pub(super) fn schedulable_stages_of(&self, job: u32, exempt: u32) -> impl Iterator<Item = u32> {
        let j = &self.jobs[job as usize];
        let open = job == exempt || j.supply < i64::from(self.cluster.num_executors);
        let stages = if open { j.first_stage..j.first_stage + j.num_stages } else { 0..0 };
        stages.filter(|&s| {
            let s = &self.stages[s as usize];
            s.is_ready() && !s.selected
        })
    }

    /// Minus the job-time since `start_ms` of the jobs that were active then or are now.
    fn reward(&self, before: &[u32], start_ms: f64) -> f64 {
        if self.time_ms == start_ms {
            return 0.0;
        }
        let later = self.active.iter().filter(|job| !before.contains(job));
        let mut sum = 0.0;
        for &job in before.iter().chain(later) {
            let job = &self.jobs[job as usize];
            let from = job.arrival_ms.max(start_ms);
            let to = job.completion_ms.min(self.time_ms);
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
