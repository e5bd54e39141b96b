//! Whether a decision strands the cluster: whether it may be that nothing happens any more after it, or next to nothing.
//!
//! The simulator, like its reference, offers executors when they become free, and those that wait in a job once more when a stage
//! of that job is completed and others may start. An executor that is sent to a stage whose parents are unfinished waits there, and
//! has no promise any more. Where all that are left are sent so, and nobody is at work on what they wait for, no task ever ends
//! again, no question is asked, and all other jobs stand still with theirs, until perhaps a new job arrives.
//!
//! A cluster *goes on* if one of these holds, each of which leads to another question as long as a job has tasks to launch:
//!
//! 1. A stage whose parents are complete has tasks to launch, and an executor at work, on its way or promised. Its tasks are
//!    launched, and its executors offered when there are no more.
//! 2. A stage waits for nothing but tasks that already run, and executors are on their way or promised to it. They start there, or
//!    wait in the job when the stage opens, and are then offered.
//! 3. A stage waits for nothing but tasks that already run, and its job keeps an executor without a task, which is offered then.
//!
//! Otherwise it may be stranded: what else runs are last tasks of stages whose executors may all be promised to stages that cannot
//! start. To whom each executor is promised is more than a view tells, so it is not certain. While executors are on offer there is
//! always a stage to give them to so that 1 or 2 holds: either a stage without unfinished parents has tasks and nobody, and may be
//! chosen, or all of them run their last tasks, and a stage that waits for these alone may be chosen. So whoever never strands the
//! cluster by a decision, as told here, never stalls.
//!
//! That something goes on somewhere is little. Executors that wait in a job wait for that job: where nobody works on what they wait
//! for, they do so for as long as policies prefer other jobs. And executors that nobody takes at the end of a round wait in the job that
//! has them until one of its stages is completed. So a decision strands too that leaves a job with executors but nothing that goes on in
//! it, and one that leaves more than half of the executors without work, although something could start that wants them. Executors may still
//! wait for stages in jobs that go on, more than half of all: that spares them moving. After a while they are offered again, and then a
//! decision strands that lets them wait once more. A stage that can start, with all that is on offer, never does any of this.

use super::{Decision, JobView, Source, StageRef, StageView, View};

impl View<'_> {
    /// Whether too little need happen any more after this legal decision, unless a new job arrives. A policy should then decide otherwise;
    /// [`View::strands_all`] says which stages to leave out, and of other stages this says which amounts. It is so if
    ///
    /// 1. nothing is left on offer, and no executor is certain to start a task or to be offered again: all executors go to a stage that
    ///    cannot start yet, or none to any;
    /// 2. or executors go to a stage that cannot start yet, or stay in their job, and the same is so within that job, although a stage
    ///    that can start may be chosen;
    /// 3. or a stage that can start gets some, or none gets any, and more than half of the executors are then left without work, and
    ///    more than need be;
    /// 4. or executors that are [offered again](View::is_offered_again) go to a stage that cannot start yet, although one that can may be chosen.
    ///
    /// Where there is one stage to choose only, an assignment of all on offer to it never strands: there is no other.
    ///
    /// ```
    /// use sched_distill_dag::{ClusterState, Decision, JobGraph, Source, StageRef, StageSpec, StageTasks};
    ///
    /// // A chain of four stages. Two executors are promised to the third, and two are with the job and free.
    /// let stages = vec![StageSpec { num_tasks: 2, rough_ms: 1000.0 }; 4];
    /// let mut state = ClusterState::new(4)?;
    /// state.add_job(0, 0.0, JobGraph::new("chain", stages, &[[0, 1], [1, 2], [2, 3]])?)?;
    /// let of = |stage| StageRef { job: 0, stage };
    /// state.set_stage(of(0), StageTasks { completed: 2, ..StageTasks::default() })?;
    /// state.set_stage(of(2), StageTasks { promised: 2, ..StageTasks::default() })?;
    /// state.set_executors(0, 4, 2)?;
    /// let view = state.offer(Source::Job(0), 2)?.ok_or("a question")?;
    /// assert_eq!(view.schedulable(), [of(1), of(3)]);
    /// let all_to = |stage| Decision::Assign { stage, executors: 2 };
    /// assert!(view.strands(all_to(of(3))), "nobody is left to run the second stage");
    /// assert!(!view.strands(all_to(of(1))));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn strands(&self, decision: Decision) -> bool {
        match decision {
            Decision::Assign { stage, executors } => {
                let s = self.stage(stage);
                match s.incomplete_parents() {
                    // Nearly all decisions end here: they give the stage all that it can use.
                    0 => executors < self.wants(stage) && executors < self.least_amount(stage),
                    _ => {
                        self.is_offered_again() && self.some_can_start()
                            || self.stops(decision)
                            || self.stops_job(stage.job, Some(stage))
                    }
                }
            }
            Decision::Abstain => {
                let stays = |job: &u32| self.job(*job).active_stages().any(|stage| stage.remaining() > 0);
                let job = self.source_job().filter(stays);
                self.stops(decision) || job.is_some_and(|job| self.stops_job(job, None)) || self.leaves_idle()
            }
        }
    }

    /// Whether nothing at all need happen any more.
    fn stops(&self, decision: Decision) -> bool {
        let last = match decision {
            Decision::Abstain => None,
            Decision::Assign { stage, executors } => {
                let s = self.stage(stage);
                if self.schedulable().len() == 1 {
                    return false;
                }
                if executors.min(s.demand()) < self.committable() {
                    // The next question of the round can still put it right.
                    return false;
                }
                Some(stage)
            }
        };
        !self.active_jobs().iter().any(|&job| self.goes_on(self.job(job), last))
    }

    /// Whether nothing need happen any more in a job, with executors for its stage `last` that cannot start or with those on offer that
    /// stay in it, although some other stage could be given some.
    fn stops_job(&self, job: u32, last: Option<StageRef>) -> bool {
        !self.goes_on(self.job(job), last) && self.some_can_start()
    }

    /// Whether some stage that may be chosen can start.
    fn some_can_start(&self) -> bool {
        self.schedulable().iter().any(|&stage| self.can_start(stage))
    }

    /// How many executors a stage that can start has to get at least: with fewer, more than half of all would be without work, and more
    /// than need be. What it does not get is taken to go to other stages that can start.
    pub(crate) fn least_amount(&self, stage: StageRef) -> u32 {
        let Some(left) = self.committable().checked_sub(self.wanted(Some(stage))).filter(|&left| left > 0) else {
            return 0;
        };
        // With `taken`, `left - taken + waiting` are without work.
        let without = u64::from(left) + self.waiting();
        let most = without.saturating_sub(u64::from(self.num_executors() / 2));
        self.wants(stage).min(left).min(u32::try_from(most).unwrap_or(u32::MAX))
    }

    /// Whether more than half of the executors are without work if nobody gets any, and more than need be.
    fn leaves_idle(&self) -> bool {
        let without = u64::from(self.committable()) + self.waiting();
        2 * without > u64::from(self.num_executors()) && self.wanted(None) > 0
    }

    /// How many of the executors on offer a stage can use.
    fn wants(&self, stage: StageRef) -> u32 {
        self.stage(stage).demand().min(self.room(stage.job))
    }

    /// How many of the executors on offer stages can use that can start, one of them aside; not all are counted where these are enough.
    fn wanted(&self, aside: Option<StageRef>) -> u32 {
        let mut wanted = 0u32;
        for &stage in self.schedulable().iter().filter(|&&stage| Some(stage) != aside && self.can_start(stage)) {
            wanted = wanted.saturating_add(self.wants(stage));
            if wanted >= self.committable() {
                break;
            }
        }
        wanted
    }

    /// Whether a stage has no unfinished parents.
    pub(crate) fn can_start(&self, stage: StageRef) -> bool {
        self.stage(stage).incomplete_parents() == 0
    }

    /// About how many executors have no work and are not on offer: idle ones, and those for stages that cannot start yet.
    fn waiting(&self) -> u64 {
        let idle = self.num_executors().saturating_sub(self.busy_executors()).saturating_sub(self.moving_executors());
        let offered = u64::from(self.committable()) + self.promised_in_round();
        let here = match self.source() {
            // Those at work there are on offer too. At least one has ended its task.
            Source::Stage(source) => offered.saturating_sub(self.stage(source).executing().into()).max(1),
            Source::Job(_) | Source::Common => offered,
        };
        let jobs = self.active_jobs().iter().map(|&job| self.job(job)).filter(|job| job.supply() > 0);
        let bound = jobs.flat_map(|job| job.active_stages()).filter(|stage| stage.incomplete_parents() > 0);
        u64::from(idle).saturating_sub(here) + bound.map(|stage| u64::from(stage.executors())).sum::<u64>()
    }

    /// Whether a stage that may be chosen had better be left out: to give it all that is on offer strands the cluster.
    #[must_use]
    pub fn strands_all(&self, stage: StageRef) -> bool {
        self.strands(Decision::Assign { stage, executors: self.committable() })
    }

    /// Whether a job sees to it that the cluster goes on, if the round ends with all executors for `last`, or for nobody.
    fn goes_on(&self, job: JobView<'_>, last: Option<StageRef>) -> bool {
        job.active_stages().any(|stage| {
            let has_some = stage.executors() > 0 || last == Some(stage.stage_ref());
            if stage.incomplete_parents() == 0 {
                return has_some && stage.remaining() > 0;
            }
            stage.parents().iter().all(|&parent| is_running_out(job.stage(parent)))
                && (has_some || self.keeps_one(stage, job, last))
        })
    }

    /// Whether the job of `stage` certainly has an executor without a task and without a promise when the stage opens.
    fn keeps_one(&self, stage: StageView<'_>, job: JobView<'_>, last: Option<StageRef>) -> bool {
        let running: u32 = job.stages().map(|s| s.executing()).sum();
        let idle = job.attached().saturating_sub(running);
        if self.source_job() != Some(job.id()) {
            return idle > 0;
        }
        let stays = last.is_none_or(|last| last.job == job.id());
        match self.source() {
            // What is on offer at a stage may be running still, and carries promises until it has ended. It has if the stage that
            // opens waits for it; otherwise those count that are with the job and not at the source.
            Source::Stage(source) => {
                let (at_work, here) = (self.stage(source).executing(), stage.parents().contains(&source.stage));
                let at_source = u64::from(self.committable()) + self.promised_in_round();
                stays && (at_work == 0 || here) || u64::from(idle) > at_source.saturating_sub(at_work.into())
            }
            // All of them are idle, and those that the job is given wait in it.
            Source::Job(_) | Source::Common => stays,
        }
    }

    /// No fewer executors than were promised in this round.
    fn promised_in_round(&self) -> u64 {
        let stages = self.active_jobs().iter().flat_map(|&job| self.job(job).active_stages());
        stages.map(|stage| u64::from(stage.promised_in_round())).sum()
    }
}

/// Whether a stage ends without another executor: all its tasks have ended or run.
fn is_running_out(stage: StageView<'_>) -> bool {
    stage.remaining() == 0
}
