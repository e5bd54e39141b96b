//! Making a cluster state by hand.

use super::{ClusterState, Decision, DecisionError, Job, Source, Stage, StageRef, StateError, View};
use crate::graph::{JobError, JobGraph, TIMES_MS};
use std::sync::Arc;

/// Most executors of a cluster.
const MOST_EXECUTORS: u32 = 1 << 20;

/// How long the arrival of a job is kept after the job has gone, ms: features look back so far.
const KEPT_MS: f64 = 100_000.0;

/// What is wrong with the graph of a job.
pub(super) fn graph_error(job: u32, error: JobError) -> StateError {
    let stage = error.stage.map_or(String::new(), |stage| format!(", stage {stage}"));
    StateError::new(format!("job {job}{stage}"), error.problem)
}

/// Where the tasks of a stage are. All others are not launched.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct StageTasks {
    /// Tasks that have ended.
    pub completed: u32,
    /// Tasks that run, one per executor.
    pub running: u32,
    /// Executors on their way here.
    pub moving: u32,
    /// Executors promised to the stage that have not set out.
    pub promised: u32,
    /// Duration of the task launched last, ms; `None` for the stage's rough duration.
    pub recent_ms: Option<f64>,
}

/// A time that a job or a clock may have.
pub(super) fn time(field: impl FnOnce() -> String, ms: f64) -> Result<f64, StateError> {
    match TIMES_MS.contains(&ms) {
        true => Ok(ms),
        false => Err(StateError::new(field(), format!("must be a number in 0..=1e15 ms, got {ms:?}"))),
    }
}

impl ClusterState {
    /// A cluster of so many executors at time 0, without jobs.
    ///
    /// # Errors
    ///
    /// No executors, or more than 2²⁰.
    pub fn new(num_executors: u32) -> Result<Self, StateError> {
        if !(1..=MOST_EXECUTORS).contains(&num_executors) {
            let problem = format!("must be in 1..={MOST_EXECUTORS}, got {num_executors}");
            return Err(StateError::new("num_executors", problem));
        }
        Ok(Self::of(num_executors, Vec::new(), Vec::new()))
    }

    /// Sets the clock, ms since any beginning. It may stand still and does not go back. Closes an open question.
    ///
    /// # Errors
    ///
    /// A time before the present one, or no number in 0..=1e15.
    pub fn set_time(&mut self, time_ms: f64) -> Result<(), StateError> {
        self.time_ms = match time(|| "time_ms".to_owned(), time_ms)? {
            earlier if earlier < self.time_ms => {
                let problem = format!("{earlier} ms is before the present time, {} ms", self.time_ms);
                return Err(StateError::new("time_ms", problem));
            }
            later => later,
        };
        self.gone_arrivals_ms.retain(|&arrival_ms| arrival_ms >= time_ms - KEPT_MS);
        self.schedulable.clear();
        Ok(())
    }

    /// Adds a job none of whose tasks has been launched. Numbers ascend in order of arrival. Closes an open question.
    ///
    /// # Errors
    ///
    /// A number or an arrival before that of the job added last, or an arrival after the present time.
    pub fn add_job(&mut self, job: u32, arrival_ms: f64, graph: impl Into<Arc<JobGraph>>) -> Result<(), StateError> {
        let field = || format!("job {job}, `arrival_ms`");
        time(field, arrival_ms)?;
        if arrival_ms > self.time_ms {
            return Err(StateError::new(field(), format!("{arrival_ms} is after the present time, {}", self.time_ms)));
        }
        self.jobs.check_next(job, "arrival_ms", arrival_ms)?;
        let graph: Arc<JobGraph> = graph.into();
        let (place, first_stage) = (self.jobs.len() as u32, self.stages.len() as u32);
        self.stages.extend(graph.stages().iter().map(|spec| Stage::new(place, spec)));
        let version = self.next_version();
        self.jobs.add(Job { version, ..Job::new(job, graph, arrival_ms, first_stage) });
        self.schedulable.clear();
        Ok(())
    }

    /// Forgets a job, completed or not. Its arrival still counts. Closes an open question.
    ///
    /// # Errors
    ///
    /// An unknown job.
    pub fn remove_job(&mut self, job: u32) -> Result<(), StateError> {
        let place = self.jobs.known(job)?;
        let gone = self.jobs.forget(place);
        let (first, count) = (gone.first_stage as usize, gone.num_stages);
        self.stages.drain(first..first + count as usize);
        self.jobs[place..].iter_mut().for_each(|later| later.first_stage -= count);
        self.stages[first..].iter_mut().for_each(|stage| stage.job -= 1);
        if gone.arrival_ms >= self.time_ms - KEPT_MS {
            self.gone_arrivals_ms.push(gone.arrival_ms);
        }
        self.schedulable.clear();
        Ok(())
    }

    /// Says where a stage's tasks are. The executors that its job holds change by as much as the stage's; where that is not so,
    /// [`ClusterState::set_executors`] says how many they are. Closes an open question.
    ///
    /// # Errors
    ///
    /// An unknown job or stage, more tasks than the stage has, more executors on their way than the cluster has, a duration that is
    /// no number in 0..=1e15 ms.
    pub fn set_stage(&mut self, stage: StageRef, tasks: StageTasks) -> Result<(), StateError> {
        let index = self.stage_index(stage)?;
        let field = |name: &str| format!("job {}, stage {}, `{name}`", stage.job, stage.stage);
        let wrong = |name: &str, problem: String| Err(StateError::new(field(name), problem));
        let s = &self.stages[index];
        let left = s.num_tasks.saturating_sub(tasks.completed);
        if tasks.completed > s.num_tasks {
            return wrong("completed", format!("{} tasks of {}", tasks.completed, s.num_tasks));
        }
        if tasks.running > left {
            let problem = format!("{} tasks, but only {left} of its {} are not completed", tasks.running, s.num_tasks);
            return wrong("running", problem);
        }
        // Promises are kept until they are told to be over, and may come to more than the cluster has.
        for (name, executors, most) in
            [("moving", tasks.moving, self.num_executors), ("promised", tasks.promised, MOST_EXECUTORS)]
        {
            if executors > most {
                return wrong(name, format!("{executors} executors of {most}"));
            }
        }
        let job = s.job as usize;
        let rough_ms = self.jobs[job].graph.stages()[stage.stage as usize].rough_ms;
        let recent_ms = time(|| field("recent_ms"), tasks.recent_ms.unwrap_or(rough_ms))?;

        let remaining = left - tasks.running;
        let changed = (s.remaining, s.completed, s.executing, s.recent_ms.to_bits())
            != (remaining, tasks.completed, tasks.running, recent_ms.to_bits());
        let version = if changed { self.next_version() } else { self.jobs[job].version };
        let (s, job) = (&mut self.stages[index], &mut self.jobs[job]);
        let here = |running, moving, promised| i64::from(running) + i64::from(moving) + i64::from(promised);
        let more = here(tasks.running, tasks.moving, tasks.promised) - here(s.executing, s.moving, s.committed);
        job.supply = (i64::from(job.supply) + more).clamp(0, MOST_EXECUTORS.into()) as i32;
        job.attached = (job.attached + tasks.running).saturating_sub(s.executing);
        job.version = version;
        (s.remaining, s.completed, s.executing) = (remaining, tasks.completed, tasks.running);
        (s.moving, s.committed, s.recent_ms) = (tasks.moving, tasks.promised, recent_ms);
        self.schedulable.clear();
        Ok(())
    }

    /// Says how many executors a job holds: `supply` those that it keeps, that are on their way to it or promised to it, `attached`
    /// those of them that are with it now. For a job that keeps executors without a task. Closes an open question.
    ///
    /// # Errors
    ///
    /// An unknown job, or more executors than 2²⁰.
    pub fn set_executors(&mut self, job: u32, supply: u32, attached: u32) -> Result<(), StateError> {
        let place = self.jobs.known(job)?;
        for (name, executors) in [("supply", supply), ("attached", attached)] {
            if executors > MOST_EXECUTORS {
                let problem = format!("must be at most {MOST_EXECUTORS}, got {executors}");
                return Err(StateError::new(name, problem).of("job", job));
            }
        }
        // At most 2²⁰.
        self.jobs[place].supply = supply as i32;
        self.jobs[place].attached = attached;
        self.schedulable.clear();
        Ok(())
    }

    /// Begins a round: offers executors that one source has freed. `None` if no stage may get them.
    ///
    /// A stage may get some if it wants more than it has and is promised, its parents want none, and its job holds fewer than the
    /// cluster has (the source's job may always take up its own again). Who gets what is for the policy; each stage is chosen at
    /// most once in a round.
    ///
    /// # Errors
    ///
    /// An unknown job or stage as the source, no executors on offer or more than there are, or more executors at work and on their
    /// way than there are.
    pub fn offer(&mut self, source: Source, executors: u32) -> Result<Option<View<'_>>, StateError> {
        self.begin(source, executors, false)
    }

    /// The same with executors that have been offered before and have idled for long, beside stages that could start: who does not
    /// [strand](View::strands) a cluster gives them to such stages now, and lets them wait for no others.
    ///
    /// # Errors
    ///
    /// As of [`ClusterState::offer`].
    pub fn offer_again(&mut self, source: Source, executors: u32) -> Result<Option<View<'_>>, StateError> {
        self.begin(source, executors, true)
    }

    fn begin(&mut self, source: Source, executors: u32, again: bool) -> Result<Option<View<'_>>, StateError> {
        self.stages.iter_mut().for_each(|stage| stage.selected = false);
        self.open(source, executors, again)?;
        Ok(self.view())
    }

    /// Carries out an answer to the open question, as far as promises go, and asks again while executors are on offer and a stage may
    /// get them. What the executors then do is told by [`ClusterState::set_stage`].
    ///
    /// # Errors
    ///
    /// An illegal decision, or no open question; nothing is changed then.
    pub fn answer(&mut self, decision: Decision) -> Result<Option<View<'_>>, DecisionError> {
        self.view().ok_or(DecisionError::Ended)?.check(decision)?;
        match decision {
            Decision::Abstain => self.schedulable.clear(),
            Decision::Assign { stage, executors } => {
                // The check found it among the stages that may be chosen.
                let Ok(index) = self.stage_index(stage) else { return Err(DecisionError::Ended) };
                let s = &mut self.stages[index];
                let given = executors.min(u32::try_from(s.demand()).unwrap_or(0));
                s.committed += given;
                s.selected = true;
                if self.source.job() != Some(stage.job) {
                    let supply = &mut self.jobs[s.job as usize].supply;
                    *supply = (*supply + given as i32).min(MOST_EXECUTORS as i32);
                }
                self.committable -= given;
                self.refresh();
            }
        }
        Ok(self.view())
    }

    /// Executors promised to a stage that have not set out; `None` for an unknown one.
    #[must_use]
    pub fn promised(&self, stage: StageRef) -> Option<u32> {
        self.stage_index(stage).ok().map(|index| self.stages[index].committed)
    }

    /// Checks and opens a question.
    pub(super) fn open(&mut self, source: Source, executors: u32, again: bool) -> Result<(), StateError> {
        if !(1..=self.num_executors).contains(&executors) {
            let problem = format!("must be in 1..={} executors, got {executors}", self.num_executors);
            return Err(StateError::new("offered", problem));
        }
        let known = match source {
            Source::Common => Ok(()),
            Source::Job(job) => self.jobs.known(job).map(|_| ()),
            Source::Stage(stage) => self.stage_index(stage).map(|_| ()),
        };
        known.map_err(|e| StateError::new("source", e.to_string()))?;
        let at_work: u64 = self.stages.iter().map(|s| u64::from(s.executing) + u64::from(s.moving)).sum();
        if at_work + u64::from(self.moving_elsewhere) > u64::from(self.num_executors) {
            let problem =
                format!("{at_work} executors run tasks or are on their way; there are {}", self.num_executors);
            return Err(StateError::new("num_executors", problem));
        }
        self.source = source;
        (self.committable, self.again) = (executors, again);
        self.refresh();
        Ok(())
    }

    /// Works out what follows from the figures of stages, the source and the offer.
    pub(super) fn refresh(&mut self) {
        let Self { jobs, stages, active, schedulable, .. } = self;
        active.clear();
        schedulable.clear();
        (self.busy, self.moving) = (0, self.moving_elsewhere);
        for stage in stages.iter_mut() {
            stage.saturated = stage.demand() <= 0;
            self.busy += stage.executing;
            self.moving += stage.moving;
        }
        for job in jobs.iter_mut() {
            let of = |stage: u32| (job.first_stage + stage) as usize;
            job.incomplete = 0;
            for stage in 0..job.num_stages {
                let parents = job.graph.parents(stage);
                let count = |is: fn(&Stage) -> bool| parents.iter().filter(|&&p| is(&stages[of(p)])).count() as u32;
                let (incomplete, unsaturated) = (count(|p| !p.is_complete()), count(|p| !p.saturated));
                let stage = &mut stages[of(stage)];
                (stage.incomplete_parents, stage.unsaturated_parents) = (incomplete, unsaturated);
                job.incomplete += u32::from(!stage.is_complete());
            }
            if job.incomplete > 0 {
                active.push(job.id);
            }
        }
        self.source_job = self.source.job().filter(|job| active.binary_search(job).is_ok());
        if self.committable == 0 {
            return;
        }
        for job in jobs.iter().filter(|job| job.incomplete > 0) {
            let full = i64::from(job.supply) >= i64::from(self.num_executors);
            if full && self.source.job() != Some(job.id) {
                continue;
            }
            let chosen = (0..job.num_stages).filter(|&stage| {
                let stage = &stages[(job.first_stage + stage) as usize];
                stage.is_ready() && !stage.selected
            });
            schedulable.extend(chosen.map(|stage| StageRef { job: job.id, stage }));
        }
    }

    /// A version that no job of this state has had.
    pub(super) fn next_version(&mut self) -> u32 {
        self.versions = self.versions.wrapping_add(1);
        self.versions
    }

    pub(super) fn stage_index(&self, stage: StageRef) -> Result<usize, StateError> {
        let job = &self.jobs[self.jobs.known(stage.job)?];
        match stage.stage < job.num_stages {
            true => Ok((job.first_stage + stage.stage) as usize),
            false => {
                let problem = format!("is unknown; the job's stages are 0..={}", job.num_stages - 1);
                Err(StateError::new(stage.to_string(), problem))
            }
        }
    }
}
