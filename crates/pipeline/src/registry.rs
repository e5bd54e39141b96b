//! Which scenarios there are, as a value that the steps and the program take.

use super::{
    AttackRequest, Attacked, AugmentRequest, Augmented, Caller, Certified, CertifyRequest, CheckParams, Checked,
    CompareParams, Comparison, DecisionTime, Entry, Hear, LogParams, LoopParams, Period, PipelineError, Pipes,
    PracticeParams, RecordParams, ReplayError, ServeParams, Survey, augment, chance, check, compare, history, latency,
    practice, record, run_loop,
};
use sched_distill_core::{
    level::FeatureSet,
    model::Student,
    policy::{PolicyInfo, Sort},
    rng::{EpisodeId, Split},
    scenario::ScenarioInfo,
    simulation::{EditInfo, Simulated},
    workload::WorkloadInfo,
};
use sched_distill_judge::{
    evaluator::{ClosedLoop, Stake},
    practice::AnyGround,
};
use sched_distill_learn::{IterationResult, LoopResult};
use sched_distill_serve::{Address, Served};
use sched_distill_trace::recorder::Recording;
use std::{
    io::Write,
    ops::ControlFlow,
    path::{Path, PathBuf},
};

/// A registered scenario, whatever its types: the steps that need a simulator. [`Entry`] is one.
pub trait AnyScenario: Sync {
    /// Names, levels, figures, and what there is for searches.
    fn info(&self) -> &'static ScenarioInfo;

    /// The policy to explain where the user names none.
    fn teacher(&self) -> &'static str;

    /// Heuristics to compare it with; the first is the one that all others are measured against.
    fn baselines(&self) -> &'static [&'static str];

    /// All policies.
    fn policies(&self) -> Vec<PolicyInfo>;

    /// The sort of the policies of that name; `None` if there are none.
    fn sort_of(&self, name: &str) -> Option<Sort> {
        self.policies().iter().find(|p| p.names().contains(&Some(name))).map(|p| p.sort)
    }

    /// All workloads.
    fn workloads(&self) -> Vec<WorkloadInfo>;

    /// Values of `edge=NAME` of those workloads that take it, with their meanings.
    fn edge_cases(&self) -> &'static [(&'static str, &'static str)];

    /// See [`record`].
    ///
    /// # Errors
    ///
    /// As there.
    fn record(&self, params: &RecordParams, caller: Caller<'_>) -> Result<Recording, PipelineError>;

    /// See [`run_loop`].
    ///
    /// # Errors
    ///
    /// As there.
    fn run_loop(
        &self,
        params: &LoopParams,
        each: &mut dyn FnMut(&IterationResult),
        caller: Caller<'_>,
    ) -> Result<LoopResult, PipelineError>;

    /// See [`compare`].
    ///
    /// # Errors
    ///
    /// As there.
    fn compare(
        &self,
        params: &CompareParams<'_>,
        each: &mut dyn FnMut(&ClosedLoop) -> ControlFlow<()>,
        caller: Caller<'_>,
    ) -> Result<Vec<Comparison>, PipelineError>;

    /// What each level and kind of choice is worth in a closed loop in which the student took part.
    ///
    /// # Errors
    ///
    /// As of [`compare`].
    fn stakes(
        &self,
        student: &Student,
        closed_loop: (&ClosedLoop, u64),
        caller: Caller<'_>,
    ) -> Result<Vec<Stake>, PipelineError>;

    /// How long contenders take to decide on the first workload, each asked what the first one is asked: the number of
    /// questions, and the times.
    ///
    /// # Errors
    ///
    /// As of [`compare`].
    fn decision_times(
        &self,
        params: &CompareParams<'_>,
        caller: Caller<'_>,
    ) -> Result<(usize, Vec<DecisionTime>), PipelineError>;

    /// Whether all episodes of a workload have the same jobs, as those of a file that lists them, so that what was
    /// fitted on some of them is measured on the same jobs in others.
    ///
    /// # Errors
    ///
    /// A workload that cannot be opened.
    fn same_jobs(&self, workload: &str) -> Result<bool, PipelineError>;

    /// The workload that reads what is at a path, if it is told by its content: of logs of real clusters.
    fn recognise(&self, path: &Path) -> Option<&'static str>;

    /// What the jobs of a workload are.
    ///
    /// # Errors
    ///
    /// A workload that cannot be opened.
    fn survey(&self, workload: &str) -> Result<Survey, PipelineError>;

    /// Whether a workload is a history of which no schedule can be carried out again.
    ///
    /// # Errors
    ///
    /// A workload that cannot be opened.
    fn is_unchecked(&self, workload: &str) -> Result<bool, PipelineError>;

    /// What the episodes of a split of a workload are cut from, of a history that is cut by time.
    ///
    /// # Errors
    ///
    /// A workload that cannot be opened.
    fn period(&self, workload: &str, split: Split) -> Result<Option<Period>, PipelineError>;

    /// How the simulator's times compare with those that are recorded of a workload's jobs, in the order that is recorded; `None` if
    /// none is.
    ///
    /// # Errors
    ///
    /// A workload that cannot be opened, a failing episode.
    fn replay(&self, workload: &str, caller: Caller<'_>) -> Result<Option<ReplayError>, PipelineError>;

    /// Writes all jobs of a workload as a workload file, and says what they are.
    ///
    /// # Errors
    ///
    /// A workload that cannot be opened, or of which such a file cannot say all; what cannot be written.
    fn write_jobs(&self, workload: &str, out: &mut dyn Write) -> Result<Survey, PipelineError>;

    /// Lets a policy schedule episodes and writes the log that a real cluster would leave of each; their paths.
    ///
    /// # Errors
    ///
    /// A scenario without such logs, a policy or workload that cannot be opened, a failing episode, a folder that cannot be written.
    fn write_logs(&self, params: &LogParams, caller: Caller<'_>) -> Result<Vec<PathBuf>, PipelineError>;

    /// See [`check_policy`](check::check_policy).
    ///
    /// # Errors
    ///
    /// As there.
    fn check_policy(&self, params: &CheckParams, caller: Caller<'_>) -> Result<Checked, PipelineError>;

    /// See [`augment`].
    ///
    /// # Errors
    ///
    /// As there.
    fn augment(
        &self,
        student: &Student,
        request: &AugmentRequest,
        hear: &mut dyn Hear,
        caller: Caller<'_>,
    ) -> Result<Augmented, PipelineError>;

    /// The sorts of edits of jobs that there are; none if jobs cannot be edited.
    fn edits(&self) -> Vec<EditInfo>;

    /// Parameters of workloads that change nothing but what schedulers are told; none if jobs cannot be edited.
    fn beliefs(&self) -> &'static [&'static str];

    /// See [`attack`](super::attack()).
    ///
    /// # Errors
    ///
    /// As there, or a scenario whose jobs cannot be edited.
    fn attack(&self, request: &AttackRequest, caller: Caller<'_>) -> Result<Attacked, PipelineError>;

    /// See [`certify`](super::certify()).
    ///
    /// # Errors
    ///
    /// As there, or a scenario whose jobs cannot be edited.
    fn certify(&self, request: &CertifyRequest<'_>, caller: Caller<'_>) -> Result<Certified, PipelineError>;

    /// See [`practice`](super::practice()).
    ///
    /// # Errors
    ///
    /// As there.
    fn practice(&self, params: &PracticeParams) -> Result<Box<dyn AnyGround>, PipelineError>;

    /// See [`serve`](super::serve()).
    ///
    /// # Errors
    ///
    /// As there.
    fn serve(
        &self,
        params: &ServeParams,
        pipes: Pipes,
        started: &mut dyn FnMut(&[Address]),
        caller: Caller<'_>,
    ) -> Result<Served, PipelineError>;

    /// The share of a student's decisions on the first `episodes` of a split that another one would take differently.
    ///
    /// # Errors
    ///
    /// A workload that cannot be opened, a failing episode.
    fn departures(
        &self,
        student: &Student,
        other: &Student,
        workload: &str,
        episodes: (u64, Split, u32),
        caller: Caller<'_>,
    ) -> Result<f64, PipelineError>;
}

impl<S: Simulated> AnyScenario for Entry<S> {
    fn info(&self) -> &'static ScenarioInfo {
        const { &S::INFO }
    }

    fn teacher(&self) -> &'static str {
        self.teacher
    }

    fn baselines(&self) -> &'static [&'static str] {
        self.baselines
    }

    fn policies(&self) -> Vec<PolicyInfo> {
        (self.policies)()
    }

    fn workloads(&self) -> Vec<WorkloadInfo> {
        S::WORKLOADS.iter().map(|def| def.info).collect()
    }

    fn edge_cases(&self) -> &'static [(&'static str, &'static str)] {
        S::EDGE_CASES
    }

    fn record(&self, params: &RecordParams, caller: Caller<'_>) -> Result<Recording, PipelineError> {
        record::record(self, params, caller)
    }

    fn run_loop(
        &self,
        params: &LoopParams,
        each: &mut dyn FnMut(&IterationResult),
        caller: Caller<'_>,
    ) -> Result<LoopResult, PipelineError> {
        run_loop(self, params, each, caller)
    }

    fn compare(
        &self,
        params: &CompareParams<'_>,
        each: &mut dyn FnMut(&ClosedLoop) -> ControlFlow<()>,
        caller: Caller<'_>,
    ) -> Result<Vec<Comparison>, PipelineError> {
        compare::compare(self, params, each, caller)
    }

    fn stakes(
        &self,
        student: &Student,
        closed_loop: (&ClosedLoop, u64),
        caller: Caller<'_>,
    ) -> Result<Vec<Stake>, PipelineError> {
        chance::stakes(self, student, closed_loop, caller)
    }

    fn decision_times(
        &self,
        params: &CompareParams<'_>,
        caller: Caller<'_>,
    ) -> Result<(usize, Vec<DecisionTime>), PipelineError> {
        latency::decision_times(self, params, caller)
    }

    fn same_jobs(&self, workload: &str) -> Result<bool, PipelineError> {
        let workload = self.workload(workload)?;
        let jobs = |split, episode| workload.jobs(EpisodeId::new(0, split, episode));
        let first = jobs(Split::Train, 0);
        Ok([(Split::Train, 1), (Split::Test, 0)].iter().all(|&(split, episode)| jobs(split, episode) == first))
    }

    fn recognise(&self, path: &Path) -> Option<&'static str> {
        S::WORKLOADS.iter().find(|def| def.reads.is_some_and(|reads| reads(path))).map(|def| def.info.name)
    }

    fn survey(&self, workload: &str) -> Result<Survey, PipelineError> {
        history::survey(self, workload)
    }

    fn is_unchecked(&self, workload: &str) -> Result<bool, PipelineError> {
        history::is_unchecked(self, workload)
    }

    fn period(&self, workload: &str, split: Split) -> Result<Option<Period>, PipelineError> {
        history::period(self, workload, split)
    }

    fn replay(&self, workload: &str, caller: Caller<'_>) -> Result<Option<ReplayError>, PipelineError> {
        history::replay(self, workload, caller)
    }

    fn write_jobs(&self, workload: &str, out: &mut dyn Write) -> Result<Survey, PipelineError> {
        history::write_jobs(self, workload, out)
    }

    fn write_logs(&self, params: &LogParams, caller: Caller<'_>) -> Result<Vec<PathBuf>, PipelineError> {
        history::write_logs(self, params, caller)
    }

    fn check_policy(&self, params: &CheckParams, caller: Caller<'_>) -> Result<Checked, PipelineError> {
        check::check_policy(self, params, caller)
    }

    fn augment(
        &self,
        student: &Student,
        request: &AugmentRequest,
        hear: &mut dyn Hear,
        caller: Caller<'_>,
    ) -> Result<Augmented, PipelineError> {
        augment::augment(self, student, request, hear, caller)
    }

    fn edits(&self) -> Vec<EditInfo> {
        self.attack.as_ref().map_or(Vec::new(), |attack| (attack.edits)())
    }

    fn beliefs(&self) -> &'static [&'static str] {
        self.attack.as_ref().map_or(&[], |attack| attack.beliefs)
    }

    fn attack(&self, request: &AttackRequest, caller: Caller<'_>) -> Result<Attacked, PipelineError> {
        let found = self.attack.as_ref().ok_or_else(no_edits::<S>)?;
        (found.run)(self, request, caller)
    }

    fn certify(&self, request: &CertifyRequest<'_>, caller: Caller<'_>) -> Result<Certified, PipelineError> {
        let found = self.attack.as_ref().ok_or_else(no_edits::<S>)?;
        (found.certify)(self, request, caller)
    }

    fn practice(&self, params: &PracticeParams) -> Result<Box<dyn AnyGround>, PipelineError> {
        practice::practice(self, params)
    }

    fn serve(
        &self,
        params: &ServeParams,
        pipes: Pipes,
        started: &mut dyn FnMut(&[Address]),
        caller: Caller<'_>,
    ) -> Result<Served, PipelineError> {
        super::serve(self, params, pipes, started, caller)
    }

    fn departures(
        &self,
        student: &Student,
        other: &Student,
        workload: &str,
        episodes: (u64, Split, u32),
        caller: Caller<'_>,
    ) -> Result<f64, PipelineError> {
        augment::departures(self, student, other, workload, episodes, caller)
    }
}

fn no_edits<S: Simulated>() -> PipelineError {
    let name = S::INFO.name;
    PipelineError::Refused(format!("the scenario `{name}` declares no edits of jobs, so nothing can be attacked"))
}

/// The scenarios that a program has, the first of which is meant where none is named.
#[derive(Clone, Default)]
pub struct Registry(Vec<&'static dyn AnyScenario>);

impl std::fmt::Debug for Registry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.names()).finish()
    }
}

impl Registry {
    /// These scenarios.
    #[must_use]
    pub fn new(scenarios: &[&'static dyn AnyScenario]) -> Self {
        Self(scenarios.to_vec())
    }

    /// The same and one more.
    #[must_use]
    pub fn with(mut self, scenario: &'static dyn AnyScenario) -> Self {
        self.0.push(scenario);
        self
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = &'static dyn AnyScenario> + '_ {
        self.0.iter().copied()
    }

    /// Their names.
    #[must_use]
    pub fn names(&self) -> Vec<&'static str> {
        self.iter().map(|scenario| scenario.info().name).collect()
    }

    /// The scenario of that name.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<&'static dyn AnyScenario> {
        self.iter().find(|scenario| scenario.info().name == name)
    }

    /// The scenario of a student or trace.
    ///
    /// # Errors
    ///
    /// One that is not registered.
    pub fn of(&self, set: &FeatureSet) -> Result<&'static dyn AnyScenario, PipelineError> {
        self.find(&set.scenario).ok_or_else(|| PipelineError::UnknownScenario {
            found: set.scenario.clone(),
            known: self.names().join(" and "),
        })
    }
}
