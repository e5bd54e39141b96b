//! Jobs that ran somewhere, and what is left of them at a time.

use super::{JobArrival, JobTemplate, StageTemplate, values::Values};
use sched_distill_core::simulation::Dated;
use std::sync::Arc;

/// What became of a job where it ran. Times are ms since it was submitted.
#[derive(Clone, Debug, PartialEq)]
pub struct Recorded {
    /// When it was completed; `None` if it was not.
    pub completed_ms: Option<f64>,
    /// When its tasks ran.
    pub runs: Runs,
}

/// When the tasks of a job ran, by stage: when each was launched and when it was finished, ms.
///
/// ```
/// use sched_distill_dag::workload::Runs;
/// let runs: Runs = [vec![[0.0, 3.0], [0.5, 4.0]], vec![[4.0, 9.0]]].into_iter().collect();
/// assert_eq!(runs.by_stage().count(), 2);
/// assert_eq!(runs.of_stage(0).collect::<Vec<_>>(), [[0.0, 3.0], [0.5, 4.0]]);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Runs {
    /// By stage, where its runs end.
    ends: Box<[u32]>,
    times_ms: Values,
}

impl FromIterator<Vec<[f64; 2]>> for Runs {
    fn from_iter<I: IntoIterator<Item = Vec<[f64; 2]>>>(by_stage: I) -> Self {
        let (mut ends, mut times_ms) = (Vec::new(), Vec::new());
        for runs in by_stage {
            times_ms.extend(runs.into_iter().flatten());
            ends.push((times_ms.len() / 2) as u32);
        }
        Self { ends: ends.into(), times_ms: times_ms.into() }
    }
}

impl Runs {
    /// Those of a stage; none if there is no such stage.
    pub fn of_stage(&self, stage: usize) -> impl Iterator<Item = [f64; 2]> + '_ {
        let end = self.ends.get(stage).copied().unwrap_or(0);
        let start = stage.checked_sub(1).map_or(0, |before| self.ends.get(before).copied().unwrap_or(end));
        (start..end).map(|i| [2 * i, 2 * i + 1].map(|i| self.times_ms.get(i)))
    }

    /// Those of each stage.
    pub fn by_stage(&self) -> impl Iterator<Item = impl Iterator<Item = [f64; 2]> + '_> + '_ {
        (0..self.ends.len()).map(|stage| self.of_stage(stage))
    }
}

impl Recorded {
    /// When the last of its tasks was finished, or it was completed, whichever comes later.
    fn ended_ms(&self) -> f64 {
        let finished = self.runs.by_stage().flatten().map(|[_, finish_ms]| finish_ms);
        finished.chain(self.completed_ms).fold(0.0, f64::max)
    }
}

impl JobTemplate {
    /// What is left of it so long after its arrival: stages with the tasks that were not finished by then; `None` if nothing is, or that
    /// is not known. Tasks that ran then begin anew.
    fn left_after(&self, time_ms: f64) -> Option<Self> {
        let recorded = self.recorded()?;
        let left: Vec<Vec<[f64; 2]>> = recorded
            .runs
            .by_stage()
            .map(|runs| runs.filter(|[_, finish_ms]| *finish_ms > time_ms))
            .map(|runs| runs.map(|run| run.map(|at_ms| at_ms - time_ms)).collect())
            .collect();
        let mut places = vec![None; left.len()];
        let (mut stages, mut runs) = (Vec::new(), Vec::new());
        for ((stage, left), place) in self.stages().into_iter().zip(left).zip(&mut places) {
            if !left.is_empty() {
                *place = Some(stages.len() as u32);
                // There are at most as many as before.
                stages.push(StageTemplate { num_tasks: left.len() as u32, ..stage });
                runs.push(left);
            }
        }
        let place = |stage: u32| places.get(stage as usize).copied().flatten();
        let edges: Vec<[u32; 2]> =
            self.graph().edges().filter_map(|[parent, child]| Some([place(parent)?, place(child)?])).collect();
        // Part of a graph that was sound is sound; without stages it is none.
        let rest = Self::new(self.graph().name(), stages, &edges).ok()?;
        let completed_ms = recorded.completed_ms.map(|at_ms| at_ms - time_ms);
        Some(rest.with_record(Recorded { completed_ms, runs: runs.into_iter().collect() }))
    }
}

impl Dated for JobArrival {
    fn arrival_ms(&self) -> f64 {
        self.arrival_ms
    }

    fn arriving(self, arrival_ms: f64) -> Self {
        Self { arrival_ms, ..self }
    }

    fn ended_ms(&self) -> Option<f64> {
        Some(self.arrival_ms + self.template.recorded()?.ended_ms())
    }

    fn left_at(&self, time_ms: f64) -> Option<Self> {
        let template = self.template.left_after(time_ms - self.arrival_ms)?;
        Some(Self { arrival_ms: time_ms, template: Arc::new(template) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::DurationTable;

    #[test]
    fn what_is_left_has_the_tasks_that_had_not_finished() -> Result<(), Box<dyn std::error::Error>> {
        let stage = |num_tasks| {
            let durations = DurationTable::uniform(vec![5.0], 0.0).ok_or("no durations")?;
            Ok::<_, &str>(StageTemplate { num_tasks, rough_ms: 5.0, durations })
        };
        // A chain of three stages: two tasks one after the other, two at once, and one.
        let runs = [vec![[1.0, 6.0], [6.0, 11.0]], vec![[11.0, 16.0], [11.0, 17.0]], vec![[17.0, 22.0]]];
        let runs = runs.into_iter().collect();
        let job = JobTemplate::new("q", vec![stage(2)?, stage(2)?, stage(1)?], &[[0, 1], [1, 2]])?
            .with_record(Recorded { completed_ms: Some(23.0), runs });
        let job = JobArrival { arrival_ms: 100.0, template: Arc::new(job) };
        assert_eq!(job.ended_ms(), Some(123.0));
        let left = |time_ms: f64| {
            let job = job.left_at(time_ms)?;
            assert_eq!(job.arrival_ms, time_ms);
            let tasks: Vec<u32> = job.template.graph().stages().iter().map(|s| s.num_tasks).collect();
            Some((tasks, job.template.graph().edges().collect::<Vec<_>>(), job.ended_ms()?))
        };
        assert_eq!(left(100.0), Some((vec![2, 2, 1], vec![[0, 1], [1, 2]], 123.0)));
        assert_eq!(left(106.0), Some((vec![1, 2, 1], vec![[0, 1], [1, 2]], 123.0)));
        assert_eq!(left(116.5), Some((vec![1, 1], vec![[0, 1]], 123.0)));
        assert_eq!(left(122.0), None);
        // Of a job without a record nobody knows.
        let unknown = JobTemplate::new("q", vec![stage(2)?], &[])?;
        let unknown = JobArrival { arrival_ms: 100.0, template: Arc::new(unknown) };
        assert_eq!((unknown.left_at(101.0), unknown.ended_ms()), (None, None));
        Ok(())
    }
}
