//! A question in which a job is described differently.

use super::{ClusterState, Job, Source, Stage, StageRef};
use crate::{edit::Part, graph::JobGraph};
use sched_distill_core::simulation::EditError;
use std::sync::Arc;

impl ClusterState {
    /// The same question with other declared durations of all stages of a job.
    ///
    /// # Errors
    ///
    /// An unknown job.
    pub(crate) fn declared(&self, job: u32, of: &mut dyn FnMut(f64) -> f64) -> Result<Self, EditError> {
        let place = self.jobs.known(job).map_err(|e| EditError(e.to_string()))?;
        let graph = self.jobs[place].graph.declared(of);
        let parts: Vec<Part> = (0..self.jobs[place].num_stages).map(|stage| Part { stage, first_task: 0 }).collect();
        self.described(job, graph, &parts)
    }

    /// The same question with a job described as `graph`, each of whose stages has its tasks from a part of one that the job has
    /// now, as the cluster takes such a job in. Tasks are taken to have been launched and completed in order; executors promised to a
    /// stage or on their way there go to its first part that lacks some.
    ///
    /// # Errors
    ///
    /// An unknown job, or a stage that has begun before one that it then has to wait for: the question would not have come about.
    pub(crate) fn described(&self, job: u32, graph: JobGraph, parts: &[Part]) -> Result<Self, EditError> {
        let place = self.jobs.known(job).map_err(|e| EditError(e.to_string()))?;
        // Each stage that is there is code of its own: what is the same was put together when the job arrived.
        let (graph, parts) = match self.intake.is_credulous() {
            true => (graph, parts.to_vec()),
            false => {
                let known_ms =
                    |stage: u32| self.jobs[place].graph.stages()[parts[stage as usize].stage as usize].rough_ms;
                let taken = self.intake.take(&graph, parts, known_ms).map_err(|e| EditError(e.to_string()))?;
                (taken.0, taken.1.iter().map(|part| parts[part.stage as usize]).collect())
            }
        };
        let old = &self.jobs[place];
        let was = |part: &Part| &self.stages[(old.first_stage + part.stage) as usize];
        let mut stages: Vec<Stage> = Vec::with_capacity(parts.len());
        for (part, spec) in parts.iter().zip(graph.stages()) {
            let was = was(part);
            let within = |count: u32| count.saturating_sub(part.first_task).min(spec.num_tasks);
            let launched = within(was.num_tasks - was.remaining);
            let completed = within(was.completed);
            let recent_ms = if launched > 0 { was.recent_ms } else { spec.rough_ms };
            stages.push(Stage {
                remaining: spec.num_tasks - launched,
                completed,
                executing: launched - completed,
                selected: was.selected,
                recent_ms,
                ..Stage::new(place as u32, spec)
            });
        }
        for stage in 0..old.num_stages {
            let was = &self.stages[(old.first_stage + stage) as usize];
            let (mut moving, mut committed) = (was.moving, was.committed);
            let own: Vec<usize> = (0..parts.len()).filter(|&i| parts[i].stage == stage).collect();
            for (i, &new) in own.iter().enumerate() {
                let last = i + 1 == own.len();
                let new = &mut stages[new];
                // What is left over has nowhere else to go.
                new.moving = if last { moving } else { moving.min(new.remaining) };
                new.committed = if last { committed } else { committed.min(new.remaining - new.moving) };
                (moving, committed) = (moving - new.moving, committed - new.committed);
            }
        }
        let mut state = self.clone();
        let (first, count) = (old.first_stage as usize, old.num_stages as usize);
        let num_stages = stages.len() as u32;
        state.stages.splice(first..first + count, stages);
        for later in &mut state.jobs[place + 1..] {
            later.first_stage = later.first_stage + num_stages - count as u32;
        }
        let version = state.next_version();
        let j: &mut Job = &mut state.jobs[place];
        (j.graph, j.num_stages, j.version) = (Arc::new(graph), num_stages, version);
        if let Source::Stage(source) = state.source
            && source.job == job
        {
            let stage = parts.iter().position(|part| part.stage == source.stage).unwrap_or_default();
            state.source = Source::Stage(StageRef { job, stage: stage as u32 });
        }
        state.refresh();
        let own = &state.stages[first..first + num_stages as usize];
        match own.iter().position(|s| s.incomplete_parents > 0 && s.remaining < s.num_tasks) {
            Some(stage) => Err(EditError(format!("stage {stage} has begun before one that it would have to wait for"))),
            None => Ok(state),
        }
    }
}
