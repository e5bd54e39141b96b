//! The `training` scenario as one that can be run.

use crate::{
    ClusterState, Decision, Training, View,
    cluster::TrainingCluster,
    feature::Extractor,
    simulator::Simulator,
    workload::{self, TrainingJob, TrainingWorkload},
};
use sched_distill_core::{
    scenario::Said,
    simulation::{Declared, DeclaredEdit, Declares, EditError, Editable, Number, Simulated, WorkloadDef, WriteJobs},
};
use std::sync::Arc;

impl Simulated for Training {
    type Cluster = Arc<TrainingCluster>;
    type Job = TrainingJob;
    type Simulator = Simulator;

    const SIZE: Option<(&'static str, &'static str)> = Some(("time alone at its best", "ms"));
    const WORKLOADS: &'static [WorkloadDef<Self>] = workload::WORKLOADS;
    const EDGE_CASES: &'static [(&'static str, &'static str)] = workload::EDGE_CASES;
    const BATTERY: &'static [(&'static str, &'static str)] = workload::BATTERY;

    const WRITE_JOBS: Option<WriteJobs<Self>> = Some(workload::write);

    fn start(workload: &TrainingWorkload, jobs: Vec<TrainingJob>, seed: u64) -> Simulator {
        Simulator::new(workload.cluster().clone(), jobs, seed)
    }

    fn floor_ms(workload: &TrainingWorkload, jobs: &[TrainingJob]) -> Option<f64> {
        let cluster = workload.cluster();
        let slots: f64 = jobs.iter().map(|job| job.real_epochs / cluster.speed.best(job.kind)).sum();
        // Where placement counts the best speed is an estimate, and luck may go beyond it.
        (!cluster.speed.by_placement() && cluster.speed_error == 0.0)
            .then(|| slots / jobs.len() as f64 * cluster.slot_ms())
    }
}

/// What users declare; jobs really take what they take.
impl Declares for Training {
    const NUMBERS: &'static [Declared<Self>] = &[Declared {
        name: "epochs",
        meaning: "a job declares that it will take more or fewer epochs than one thinks",
        noun: "its epochs",
        told: "{} epochs",
        is_whole: false,
        of: |job| Number::Real(&mut job.epochs, 0.0),
    }];
}

impl Editable for Training {
    type Edit = DeclaredEdit<Self>;
    const JOB_LEVEL: usize = 1;

    fn edited_state(state: &ClusterState, job: u32, edits: &[DeclaredEdit<Self>]) -> Result<ClusterState, EditError> {
        let mut state = state.clone();
        let found = state.jobs.iter_mut().find(|j| j.id == job);
        let found = found.ok_or_else(|| EditError(format!("job {job} is not there")))?;
        edits.iter().try_for_each(|edit| edit.make(Number::Real(&mut found.epochs, 0.0)))?;
        Ok(state)
    }

    fn described(episode: &Simulator, jobs: &[TrainingJob], job: u32) -> Simulator {
        episode.described(jobs, job)
    }

    fn is_candidate(seen: &View<'_>, job: u32) -> bool {
        seen.live_jobs().contains(&job)
    }

    fn given(decision: Decision, job: u32) -> u32 {
        u32::from(matches!(decision, Decision::Add { job: to, .. } if to == job))
    }

    fn candidate_job(_: &Extractor, seen: &View<'_>, candidate: usize) -> Option<u32> {
        seen.live_jobs().get(candidate).copied()
    }

    fn log_probabilities(seen: &View<'_>, said: &Said, each: &mut dyn FnMut(Option<u32>, f64)) {
        let jobs = seen.live_jobs().iter().flat_map(|&job| [Some(job); 3]).chain([None]);
        jobs.zip(&said.joint).for_each(|(job, &log_prob)| each(job, log_prob));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policies;
    use sched_distill_core::{
        scenario::{Questions as _, Scenario, State},
        simulation::{EditBudget, Simulation as _},
    };

    /// What becomes of an episode from here on.
    fn run(mut sim: Simulator) -> Result<String, Box<dyn std::error::Error>> {
        let mut policy = policies::open(&"optimus".parse()?)?;
        while let Some(seen) = sim.view() {
            let decision = policy.decide(&seen, &mut Default::default())?;
            sim.step(decision)?;
        }
        Ok(format!("{:?}", sim.outcome()))
    }

    #[test]
    fn an_edit_and_its_inverse_leave_every_episode_as_it_was() -> Result<(), Box<dyn std::error::Error>> {
        let workload = Training::open_workload(&"builtin".parse()?)?;
        let jobs = workload.jobs(4);
        let start = |jobs: &Vec<TrainingJob>| Training::start(&workload, jobs.clone(), 4);
        let clean = run(start(&jobs))?;
        for job in [0, 7, 20] {
            let edits = Training::edits(&jobs, job, &EditBudget::default());
            assert_eq!(edits.len(), 4);
            for edit in edits {
                let edited = Training::edited(&jobs, job, &edit)?;
                assert_eq!(edited[job as usize].real_epochs, jobs[job as usize].real_epochs);
                let undone = Training::undone(&edited, job, &edit)?;
                assert_eq!((&undone, run(start(&undone))?), (&jobs, clean.clone()));
                assert!(Training::undone(&jobs, job, &edit).is_err());
                // From before its arrival on as from the beginning; a question with it edited as the edited episode asks it.
                let before = start(&jobs);
                if jobs[job as usize].arrival_slot > 0 {
                    assert_eq!(run(Training::described(&before, &edited, job))?, run(start(&edited))?);
                }
                let (mut a, mut b) = (start(&jobs), start(&edited));
                let mut policy = policies::open(&"fifo".parse()?)?;
                while let (Some(seen), Some(other)) = (a.view(), b.view()) {
                    if Training::is_candidate(&seen, job) {
                        let made = Training::edited_state(
                            &<ClusterState as State>::of(&seen),
                            job,
                            std::slice::from_ref(&edit),
                        )?;
                        assert_eq!(
                            serde_json::to_value(made)?,
                            serde_json::to_value(<ClusterState as State>::of(&other))?
                        );
                        break;
                    }
                    let decision = policy.decide(&seen, &mut Default::default())?;
                    a.step(decision)?;
                    b.step(decision)?;
                }
            }
        }
        Ok(())
    }

    /// Rows of all levels, of the level of tasks for the first candidate job.
    fn rows(state: &ClusterState) -> Option<[Vec<f32>; 3]> {
        let seen = <ClusterState as State>::view(state)?;
        let mut questions = Extractor::default();
        questions.update(&seen);
        let paths: [&[usize]; 3] = [&[], &[0], &[0, 0]];
        let is_open = !questions.snapshot().candidates().is_empty();
        Some(paths.map(|path| {
            let mut x = Vec::new();
            if path.is_empty() || is_open {
                questions.rows(&seen, path, false, &mut x);
            }
            x
        }))
    }

    /// What `list features` calls measured or decided does not move, whatever epochs a job declares; what it calls declared, something does.
    #[test]
    fn edits_move_declared_features_alone() -> Result<(), Box<dyn std::error::Error>> {
        let levels = &(Training::INFO.feature_set)().levels;
        let mut moved: Vec<Vec<bool>> = levels.iter().map(|level| vec![false; level.features.len()]).collect();
        let workload = Training::open_workload(&"builtin".parse()?)?;
        let jobs = workload.jobs(4);
        let mut sim = Training::start(&workload, jobs.clone(), 4);
        let mut policy = policies::open(&"optimus".parse()?)?;
        let mut asked = 0;
        while let Some(seen) = sim.view() {
            let state = <ClusterState as State>::of(&seen);
            asked += 1;
            for &job in seen.live_jobs().iter().filter(|_| asked % 5 == 0) {
                for edit in Training::edits(&jobs, job, &EditBudget::default()) {
                    let edited = Training::edited_state(&state, job, std::slice::from_ref(&edit))?;
                    let (Some(before), Some(after)) = (rows(&state), rows(&edited)) else { continue };
                    for (number, level) in levels.iter().enumerate() {
                        assert_eq!(before[number].len(), after[number].len());
                        for (i, (a, b)) in before[number].iter().zip(&after[number]).enumerate() {
                            let column = i % level.features.len();
                            let feature = &level.features[column];
                            let allowed = a == b || feature.control.is_declared();
                            assert!(allowed, "{} {}: {a} is {b} after: {edit}", level.name, feature.name);
                            moved[number][column] |= a != b;
                        }
                    }
                }
            }
            let decision = policy.decide(&seen, &mut Default::default())?;
            sim.step(decision)?;
        }
        let all = levels.iter().zip(&moved).flat_map(|(level, moved)| level.features.iter().zip(moved));
        let still: Vec<&str> =
            all.filter(|(f, moved)| f.control.is_declared() && !**moved).map(|(f, _)| &*f.name).collect();
        // What its workers and servers need a user declares as well; there is no edit of that.
        assert_eq!(still, ["wish_fits", "worker_gpu"]);
        Ok(())
    }
}
