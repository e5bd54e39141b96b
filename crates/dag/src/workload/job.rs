//! Jobs as they are run: what they declare, what their tasks really take, and when they arrive.

use super::{DurationTable, Recorded};
use crate::{
    edit::Part,
    graph::{JobError, JobGraph, StageSpec, TIMES_MS},
    intake::Intake,
};
use std::sync::Arc;

/// One stage of a job: identical tasks that can run side by side.
#[derive(Clone, Debug, PartialEq)]
pub struct StageTemplate {
    /// Number of tasks, at least 1.
    pub num_tasks: u32,
    /// Estimated task duration before any task has run, ms.
    pub rough_ms: f64,
    /// What the tasks really take.
    pub durations: DurationTable,
}

/// Where a stage's tasks come from: the stage of the job as it first was, and how many of its tasks come before them. The two key
/// the luck of their durations, so that a task meets the same luck however its job is described.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Origin {
    /// Stage of the job as it first was.
    pub stage: u32,
    /// Its first task that belongs here.
    pub first_task: u32,
}

/// A job without its arrival time: what it declares, and what its tasks really take.
#[derive(Clone, Debug, PartialEq)]
pub struct JobTemplate {
    graph: Arc<JobGraph>,
    /// By stage.
    origins: Arc<[Origin]>,
    /// By stage of the job as it first was.
    tables: Arc<[DurationTable]>,
    /// Likewise, what the cluster's history says that tasks take, ms.
    known_ms: Option<Arc<[f64]>>,
    recorded: Option<Arc<Recorded>>,
}

/// A job and when it arrives.
#[derive(Clone, Debug, PartialEq)]
pub struct JobArrival {
    /// Arrival time, ms.
    pub arrival_ms: f64,
    /// The job; shared between arrivals of the same query.
    pub template: Arc<JobTemplate>,
}

/// Most pairs of a stage and one that needs its output, directly or through others, of all jobs of a file: 256 MB.
const MOST_IN_FILE: usize = 64_000_000;

/// Counts such pairs over the jobs of a file.
#[derive(Default)]
pub(super) struct Pairs(usize);

impl Pairs {
    /// Counts a job's.
    ///
    /// # Errors
    ///
    /// If they are too many by now.
    pub(super) fn add(&mut self, job: &JobTemplate) -> Result<(), JobError> {
        self.0 += job.graph.num_descendants();
        match self.0 > MOST_IN_FILE {
            false => Ok(()),
            true => Err(JobError {
                stage: None,
                problem: format!(
                    "the jobs up to this one have {} pairs of a stage and one that needs its output, directly or through \
                     others; at most {MOST_IN_FILE} are allowed in a file: shorten the chains, or give fewer jobs",
                    self.0
                ),
            }),
        }
    }
}

impl JobTemplate {
    /// A job from its stages and its edges `[parent, child]`.
    ///
    /// # Errors
    ///
    /// A graph that [`JobGraph::new`] refuses, or a duration that is no number in 0..=1e15 ms.
    pub fn new(name: impl Into<String>, stages: Vec<StageTemplate>, edges: &[[u32; 2]]) -> Result<Self, JobError> {
        let outside = |time: f64| !TIMES_MS.contains(&time);
        let wrong = |(i, stage): (usize, &StageTemplate)| stage.durations.find(outside).map(|found| (i, found));
        if let Some((stage, found)) = stages.iter().enumerate().find_map(wrong) {
            return Err(JobError::stage(stage, format!("durations must be numbers in 0..=1e15 ms, got {found:?}")));
        }
        let specs = stages.iter().map(|s| StageSpec { num_tasks: s.num_tasks, rough_ms: s.rough_ms }).collect();
        let graph = JobGraph::new(name, specs, edges)?;
        Ok(Self {
            origins: (0..stages.len() as u32).map(|stage| Origin { stage, first_task: 0 }).collect(),
            tables: stages.into_iter().map(|stage| stage.durations).collect(),
            graph: Arc::new(graph),
            known_ms: None,
            recorded: None,
        })
    }

    /// The same job with what became of it where it ran, by stage of this job.
    #[must_use]
    pub fn with_record(self, recorded: Recorded) -> Self {
        Self { recorded: Some(Arc::new(recorded)), ..self }
    }

    /// What became of it where it ran, by stage of the job as it first was, if it ran anywhere.
    #[must_use]
    pub fn recorded(&self) -> Option<&Recorded> {
        self.recorded.as_deref()
    }

    /// The same job of which the cluster's history says what tasks take, by stage, ms.
    ///
    /// # Panics
    ///
    /// If they are not as many as the job's stages.
    pub(super) fn known(&self, known_ms: Arc<[f64]>) -> Self {
        assert_eq!(known_ms.len(), self.tables.len(), "a time for each stage");
        Self { known_ms: Some(known_ms), ..self.clone() }
    }

    /// What the cluster's history says that tasks take, by stage of the job as it first was, ms; `None` where it is not asked.
    #[must_use]
    pub fn known_ms(&self) -> Option<&[f64]> {
        self.known_ms.as_deref()
    }

    /// The same tasks under another description: other rough durations, more edges, stages in parts. `origins` says by stage of
    /// `graph` where its tasks come from.
    ///
    /// # Errors
    ///
    /// Tasks that the job does not have, or that are given twice or left out.
    pub fn described(&self, graph: JobGraph, origins: Vec<Origin>) -> Result<Self, JobError> {
        let described = graph.stages().len();
        if origins.len() != described {
            let problem = format!("has {described} stages, but origins for {}", origins.len());
            return Err(JobError { stage: None, problem });
        }
        let mut parts: Vec<(Origin, u32, usize)> =
            (0..).zip(&origins).map(|(i, &origin)| (origin, graph.stages()[i].num_tasks, i)).collect();
        parts.sort_by_key(|(origin, ..)| (origin.stage, origin.first_task));
        let mut ends = vec![0; self.tables.len()];
        for &(Origin { stage, first_task }, tasks, part) in &parts {
            let end = ends.get_mut(stage as usize).ok_or_else(|| {
                JobError::stage(part, format!("comes from stage {stage}; stages were 0..={}", self.tables.len() - 1))
            })?;
            if *end != first_task {
                let problem = format!("begins with task {first_task} of stage {stage}; the next to be given is {end}");
                return Err(JobError::stage(part, problem));
            }
            *end += tasks;
        }
        let mut before = vec![0; self.tables.len()];
        for (spec, origin) in self.graph.stages().iter().zip(&*self.origins) {
            before[origin.stage as usize] += spec.num_tasks;
        }
        if let Some(stage) = (0..ends.len()).find(|&stage| ends[stage] != before[stage]) {
            let problem = format!("{} of the {} tasks of stage {stage} are given", ends[stage], before[stage]);
            return Err(JobError { stage: None, problem });
        }
        Ok(Self { graph: Arc::new(graph), origins: origins.into(), ..self.clone() })
    }

    /// The same tasks as an edit describes them: `parts` says by stage of `graph` which tasks of which stage it has.
    ///
    /// # Errors
    ///
    /// As of [`JobTemplate::described`].
    pub(crate) fn in_parts(&self, graph: JobGraph, parts: &[Part]) -> Result<Self, JobError> {
        let origin = |part: &Part| {
            let of = self.origins[part.stage as usize];
            Origin { first_task: of.first_task + part.first_task, ..of }
        };
        self.described(graph, parts.iter().map(origin).collect())
    }

    /// The job as a cluster takes it in.
    ///
    /// # Errors
    ///
    /// As of [`JobTemplate::described`].
    pub(crate) fn taken_in(&self, intake: Intake) -> Result<Self, JobError> {
        let code: Vec<Part> =
            self.origins.iter().map(|of| Part { stage: of.stage, first_task: of.first_task }).collect();
        let known_ms = |stage: u32| match &self.known_ms {
            Some(known_ms) => known_ms[self.origins[stage as usize].stage as usize],
            None => self.graph.stages()[stage as usize].rough_ms,
        };
        let (graph, parts) = intake.take(&self.graph, &code, known_ms)?;
        self.in_parts(graph, &parts)
    }

    /// The same job with all durations `factor` times as long.
    #[must_use]
    pub fn stretched(&self, factor: f64) -> Self {
        Self {
            graph: Arc::new(self.graph.stretched(factor)),
            origins: Arc::clone(&self.origins),
            tables: self.tables.iter().map(|table| table.scaled(factor)).collect(),
            known_ms: self.known_ms.as_ref().map(|known| known.iter().map(|ms| factor * ms).collect()),
            // Such a job ran nowhere.
            recorded: None,
        }
    }

    /// What it declares.
    #[must_use]
    pub fn graph(&self) -> &Arc<JobGraph> {
        &self.graph
    }

    /// Tasks of all its stages.
    pub(crate) fn tasks(&self) -> u64 {
        self.graph.stages().iter().map(|stage| u64::from(stage.num_tasks)).sum()
    }

    /// By stage, where its tasks come from: itself from task 0 on, unless the job has been described anew.
    #[must_use]
    pub fn origins(&self) -> &[Origin] {
        &self.origins
    }

    /// What tasks really take, by stage of origin.
    #[must_use]
    pub fn tables(&self) -> &[DurationTable] {
        &self.tables
    }

    /// Its stages with what their tasks take, to make another job of them.
    #[must_use]
    pub fn stages(&self) -> Vec<StageTemplate> {
        let with = |(spec, origin): (&StageSpec, &Origin)| StageTemplate {
            num_tasks: spec.num_tasks,
            rough_ms: spec.rough_ms,
            durations: self.tables[origin.stage as usize].clone(),
        };
        self.graph.stages().iter().zip(&*self.origins).map(with).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Decision, simulator::Simulator, workload::Cluster};
    use sched_distill_core::simulation::Simulation as _;

    fn stage(num_tasks: u32, durations: &[f64]) -> StageTemplate {
        let durations = DurationTable::uniform(durations.to_vec(), 0.0).unwrap();
        StageTemplate { num_tasks, rough_ms: durations.mean(), durations }
    }

    #[test]
    fn no_stage_has_impossible_durations() {
        assert!(JobTemplate::new("test", vec![stage(1, &[1.0, 0.0])], &[]).is_ok());
        for bad in [-1.0, f64::NAN, f64::INFINITY, 1e300] {
            let durations = DurationTable::uniform(vec![1.0, bad], 0.0).unwrap();
            let refused = JobTemplate::new("test", vec![StageTemplate { num_tasks: 1, rough_ms: 1.0, durations }], &[]);
            assert!(refused.unwrap_err().problem.contains("durations must be numbers in 0..=1e15"));
        }
    }

    #[test]
    fn a_task_meets_the_same_luck_however_its_job_is_described() {
        let long: Vec<f64> = (1..=1000).map(f64::from).collect();
        let job = JobTemplate::new("test", vec![stage(6, &long), stage(2, &long)], &[[0, 1]]).unwrap();
        assert_eq!(job.origins(), [Origin { stage: 0, first_task: 0 }, Origin { stage: 1, first_task: 0 }]);
        let part = |num_tasks| StageSpec { num_tasks, rough_ms: 7.0 };
        let graph = JobGraph::new("in parts", vec![part(2), part(2), part(4)], &[[0, 1], [2, 1]]).unwrap();
        let origins = [(0, 0), (1, 0), (0, 2)].map(|(stage, first_task)| Origin { stage, first_task });
        let described = job.described(graph.clone(), origins.to_vec()).unwrap();

        // One executor takes task after task, so that runs are single tasks and all but the first are of one wave.
        let durations = |template: &JobTemplate| {
            let arrivals = vec![JobArrival { arrival_ms: 0.0, template: Arc::new(template.clone()) }];
            let mut sim = Simulator::new(Cluster::new(1, 0.0), arrivals, 5);
            let mut recent = Vec::new();
            let mut last = 0.0;
            while let Some(seen) = sim.view() {
                recent.push(seen.time_ms() - last);
                last = seen.time_ms();
                let stage = seen.schedulable()[0];
                sim.step(Decision::Assign { stage, executors: 1 }).unwrap();
            }
            recent.push(sim.outcome().unwrap().figure("makespan_ms").unwrap() - last);
            recent
        };
        // The parts of stage 0 take what it took in one; so does stage 1, which follows them in both.
        let (whole, parts) = (durations(&job), durations(&described));
        assert_eq!(whole, [0.0, whole[1], whole[2]]);
        assert_eq!(parts.len(), 4);
        assert!((parts[1] + parts[2] - whole[1]).abs() < 1e-9, "{parts:?} {whole:?}");
        assert!((parts[3] - whole[2]).abs() < 1e-9, "{parts:?} {whole:?}");

        let refused = |places: [(u32, u32); 3], says: &str| {
            let origins = places.map(|(stage, first_task)| Origin { stage, first_task }).to_vec();
            let problem = job.described(graph.clone(), origins).unwrap_err().to_string();
            assert!(problem.contains(says), "{problem}");
        };
        refused([(0, 0), (1, 0), (0, 3)], "stage 2 begins with task 3 of stage 0; the next to be given is 2");
        refused([(0, 0), (1, 0), (2, 0)], "stage 2 comes from stage 2; stages were 0..=1");
        refused([(0, 0), (0, 2), (1, 0)], "4 of the 6 tasks of stage 0 are given");
        let fewer = JobGraph::new("", vec![part(6)], &[]).unwrap();
        assert!(job.described(fewer.clone(), vec![]).unwrap_err().problem.contains("has 1 stages, but origins for 0"));
    }
}
