//! What does a line change in what is known?

use super::{
    event::{self, Event, JobStart, StageInfo, Text},
    log::{Application, Executor, Job, JobResult, Locality, SqlExecution, Stage, Task, TaskEnd},
    tasks::Packing,
};
use std::{
    collections::{BTreeMap, BTreeSet, HashMap, HashSet},
    sync::Arc,
};

/// Most tasks that an application may have: 3 GB of memory while they are read, and 10 GB with the workload that they become.
pub(super) const MOST_TASKS: usize = 200_000_000;

/// Longest text that is kept of reasons, messages and descriptions, characters.
const LONGEST_TEXT: usize = 1000;

/// An application while its log is read.
#[derive(Default)]
pub(super) struct Collector {
    application: Application,
    jobs: HashMap<u32, usize>,
    /// The job that first listed a stage.
    owners: HashMap<u32, u32>,
    /// By id and attempt.
    stages: HashMap<(u32, u32), Box<Known>>,
    tasks: Packing,
    executors: HashMap<String, u32>,
    sql_executions: BTreeMap<i64, SqlExecution>,
    names: HashSet<Arc<str>>,
    /// Whether a second application has begun, which is left out.
    pub(super) is_over: bool,
}

/// A stage, and which of its tasks have succeeded.
struct Known {
    stage: Stage,
    succeeded: Indices,
}

impl Known {
    fn of(stage: Stage) -> Box<Self> {
        Box::new(Self { stage, succeeded: Indices::default() })
    }
}

/// Places of tasks in a stage, which are mostly those from 0 on.
#[derive(Default)]
struct Indices {
    /// A bit for each, 64 in a word.
    dense: Vec<u64>,
    /// Those far beyond, each of which would need words for all before it.
    far: BTreeSet<u32>,
}

impl Indices {
    /// Adds one; whether it is new.
    fn insert(&mut self, index: u32) -> bool {
        /// Words for 1024 tasks: no end of a task takes more memory than its line.
        const STEP: usize = 16;
        let (word, bit) = (index as usize / 64, 1 << (index % 64));
        let is_near = word < self.dense.len() + STEP;
        if is_near && self.dense.len() <= word {
            self.dense.resize(word + 1, 0);
        }
        match self.dense.get_mut(word) {
            Some(bits) => {
                let is_new = *bits & bit == 0 && !self.far.contains(&index);
                *bits |= bit;
                is_new
            }
            None => self.far.insert(index),
        }
    }
}

impl Collector {
    /// What is known so far, but for stages, SQL executions and tasks.
    pub(super) fn application(&mut self) -> &mut Application {
        &mut self.application
    }

    /// How many ends of tasks there are so far.
    pub(super) fn num_tasks(&self) -> usize {
        self.tasks.len()
    }

    /// All that is known.
    pub(super) fn finish(mut self) -> Application {
        let stages = self.stages.into_values().map(|known| known.stage);
        let stages = stages.map(|stage| Stage { job: self.owners.get(&stage.id).copied(), ..stage });
        self.application.stages = stages.collect();
        self.application.stages.sort_unstable_by_key(|stage| (stage.id, stage.attempt));
        self.application.sql_executions = self.sql_executions.into_values().collect();
        self.application.tasks = self.tasks.finish();
        self.application
    }

    /// Takes in an event; whether it is one that is kept.
    pub(super) fn take(&mut self, event: Event<'_>) -> bool {
        let application = &mut self.application;
        match event {
            Event::Start(start) => {
                if application.spark_version.is_none() {
                    application.spark_version = line(start.version);
                }
            }
            Event::ApplicationStart(start) => {
                let id = line(start.id);
                if application.start_ms.is_some() && application.id != id {
                    self.is_over = true;
                    return true;
                }
                (application.name, application.id) = (line(start.name), id);
                (application.attempt, application.user) = (line(start.attempt), line(start.user));
                application.start_ms = Some(start.time_ms.unwrap_or_default());
            }
            Event::ApplicationEnd(end) => application.end_ms = Some(end.time_ms),
            Event::Environment(environment) => {
                if let Some(spark) = environment.spark {
                    application.scheduling_mode = line(spark.scheduling_mode);
                    application.task_cpus = spark.task_cpus.and_then(|cpus| cpus.get().parse().ok());
                }
            }
            Event::ExecutorAdded(added) => {
                if let Some(executor) = self.executor(&added.id) {
                    executor.host = line(added.info.host);
                    (executor.cores, executor.added_ms) = (added.info.cores, Some(added.time_ms));
                }
            }
            Event::ExecutorRemoved(removed) => {
                if let Some(executor) = self.executor(&removed.id) {
                    executor.removed_ms = Some(removed.time_ms);
                    executor.removed_reason = line(removed.reason);
                }
            }
            Event::JobStart(start) => self.start_job(start),
            Event::JobEnd(end) => match self.jobs.get(&end.id).and_then(|&place| application.jobs.get_mut(place)) {
                Some(job) => {
                    job.completion_ms = end.completion_ms;
                    job.result = Some(match end.result.result.get() {
                        "JobSucceeded" => JobResult::Succeeded,
                        _ => JobResult::Failed(line(end.result.exception.and_then(|exception| exception.message))),
                    });
                }
                None => application.reading.odd_jobs += 1,
            },
            Event::StageSubmitted(info) | Event::StageCompleted(info) => self.run_stage(&info),
            Event::TaskStart => application.reading.tasks_started += 1,
            Event::TaskEnd(end) => self.end_task(&end),
            Event::SqlStart(start) => {
                let execution = self.sql_executions.entry(start.id).or_default();
                execution.id = start.id;
                (execution.description, execution.start_ms) = (line(start.description), start.time_ms);
            }
            Event::SqlEnd(end) => {
                let execution = self.sql_executions.entry(end.id).or_default();
                (execution.id, execution.end_ms) = (end.id, end.time_ms);
            }
            Event::Other => return false,
        }
        true
    }

    fn start_job(&mut self, start: JobStart<'_>) {
        let place = self.application.jobs.len();
        if self.jobs.contains_key(&start.id) {
            self.application.reading.odd_jobs += 1;
            return;
        }
        self.jobs.insert(start.id, place);
        let mut stage_ids = start.stage_ids;
        stage_ids.extend(start.stages.iter().map(|info| info.id));
        stage_ids.sort_unstable();
        stage_ids.dedup();
        for &id in &stage_ids {
            self.owners.entry(id).or_insert(u32::try_from(place).unwrap_or(u32::MAX));
        }
        for info in &start.stages {
            let key = (info.id, info.attempt);
            if !self.stages.contains_key(&key) {
                let stage = self.stage(info);
                self.stages.insert(key, Known::of(stage));
            }
        }
        let properties = start.properties.unwrap_or_default();
        let pool = properties.pool.map(|pool| shared(&mut self.names, pool.get()));
        self.application.jobs.push(Job {
            id: start.id,
            submission_ms: start.submission_ms,
            completion_ms: None,
            result: None,
            stage_ids,
            sql_execution: properties.sql_execution.and_then(|id| id.get().parse().ok()),
            description: line(properties.description),
            pool,
        });
    }

    /// A stage that was not submitted yet.
    fn stage(&mut self, info: &StageInfo<'_>) -> Stage {
        Stage {
            id: info.id,
            attempt: info.attempt,
            name: shared(&mut self.names, info.name.as_ref().map_or("", Text::get)),
            num_tasks: info.num_tasks,
            parents: info.parents.clone(),
            final_rdd: info.rdds.iter().map(|rdd| rdd.id).max(),
            job: None,
            was_submitted: false,
            submission_ms: None,
            completion_ms: None,
            failure: None,
        }
    }

    fn run_stage(&mut self, info: &StageInfo<'_>) {
        let stage = self.stage(info);
        let known = &mut self.stages.entry((info.id, info.attempt)).or_insert_with(|| Known::of(stage)).stage;
        known.was_submitted = true;
        known.num_tasks = known.num_tasks.max(info.num_tasks);
        known.submission_ms = info.submission_ms.or(known.submission_ms);
        if info.completion_ms.is_some() {
            known.completion_ms = info.completion_ms;
            known.failure = info.failure.as_ref().map(|reason| first_line(reason.get()));
        }
    }

    fn end_task(&mut self, end: &event::TaskEnd<'_>) {
        let info = &end.info;
        let executor = self.executor_place(&info.executor);
        let outcome = match end.end.reason.get() {
            "Resubmitted" => TaskEnd::Resubmitted,
            "TaskKilled" => TaskEnd::Killed,
            _ if info.killed => TaskEnd::Killed,
            "Success" if !info.failed => TaskEnd::Succeeded,
            _ => TaskEnd::Failed,
        };
        let names = &mut self.names;
        let known = self.stages.entry((end.stage, end.stage_attempt)).or_insert_with(|| {
            Known::of(Stage {
                id: end.stage,
                attempt: end.stage_attempt,
                name: shared(names, ""),
                num_tasks: 0,
                parents: Vec::new(),
                final_rdd: None,
                job: None,
                was_submitted: true,
                submission_ms: None,
                completion_ms: None,
                failure: None,
            })
        });
        // A log that lost its other events may say nothing else of it.
        known.stage.was_submitted = true;
        let is_repeated = outcome == TaskEnd::Succeeded && !known.succeeded.insert(info.index);
        self.tasks.push(Task {
            id: info.id,
            launch_ms: info.launch_ms,
            finish_ms: info.finish_ms,
            run_time_ms: end.metrics.as_ref().map_or(0, |metrics| metrics.run_time_ms),
            stage: end.stage,
            stage_attempt: end.stage_attempt,
            index: info.index,
            attempt: info.attempt,
            executor,
            end: outcome,
            locality: match info.locality.as_ref().map_or("", Text::get) {
                "PROCESS_LOCAL" => Locality::Process,
                "NODE_LOCAL" => Locality::Node,
                "RACK_LOCAL" => Locality::Rack,
                "ANY" => Locality::Any,
                "NO_PREF" => Locality::NoPreference,
                _ => Locality::Unknown,
            },
            is_repeated,
            is_speculative: info.speculative,
            is_shuffle_map: end.kind.as_ref().is_some_and(|kind| kind.get() == "ShuffleMapTask"),
        });
    }

    /// The place of an executor among all of them; it is made known where it is not.
    fn executor_place(&mut self, id: &Text<'_>) -> u32 {
        if let Some(&place) = self.executors.get(id.get()) {
            return place;
        }
        // As it is kept, it may be known after all.
        let id = first_line(id.get());
        if let Some(&place) = self.executors.get(&id) {
            return place;
        }
        let executors = &mut self.application.executors;
        let place = u32::try_from(executors.len()).unwrap_or(u32::MAX);
        executors.push(Executor {
            id: id.clone(),
            host: None,
            cores: 0,
            added_ms: None,
            removed_ms: None,
            removed_reason: None,
        });
        self.executors.insert(id, place);
        place
    }

    fn executor(&mut self, id: &Text<'_>) -> Option<&mut Executor> {
        let place = self.executor_place(id);
        self.application.executors.get_mut(place as usize)
    }
}

/// A text that is kept once however often it occurs.
fn shared(names: &mut HashSet<Arc<str>>, text: &str) -> Arc<str> {
    let text = first_line(text);
    match names.get(text.as_str()) {
        Some(known) => Arc::clone(known),
        None => {
            let text: Arc<str> = text.into();
            names.insert(Arc::clone(&text));
            text
        }
    }
}

/// The first line of a text, if there is one.
fn line(text: Option<Text<'_>>) -> Option<String> {
    text.map(|text| first_line(text.get()))
}

/// The first line of a text, or what of it is not too long.
fn first_line(text: &str) -> String {
    let first = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    first.chars().take(LONGEST_TEXT).collect()
}
