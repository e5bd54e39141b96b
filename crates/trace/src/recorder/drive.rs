//! Students drive, their teacher labels: what loops such as DAgger learn from.

use super::{
    EpisodeCause, EpisodeError, Progress, RecordError, RecordRequest,
    labelled::Labelled,
    record::{Driving, policy_source, record_driven, workload_source},
};
use crate::{Drive, Regret, Rollouts, Shard, Source, Trace, WhatIf};
use rayon::prelude::*;
use sched_distill_core::{
    model::Student,
    policy::{Policy, StudentPolicy},
    rng::{EpisodeId, Split, Stream, episode_seed, hash},
    scenario::Said,
    simulation::{Simulated, Simulation, Workload},
};
use std::{
    path::Path,
    sync::atomic::{AtomicBool, Ordering},
};

/// Runs students on a workload and has a teacher label what they visit. The bytes written and the regrets do not depend on
/// the number of threads, nor on interruptions.
pub struct LabelledRollouts<'a, S: Simulated> {
    /// Teacher as named by the user.
    pub teacher_id: &'a str,
    /// The teacher. It must not abstain.
    pub teacher: &'a dyn Policy<S>,
    /// Workload as named by the user.
    pub workload_id: &'a str,
    /// The workload.
    pub workload: &'a Workload<S>,
    /// The user's seed.
    pub seed: u64,
    /// Hears of every episode that has ended.
    pub progress: &'a dyn Progress,
    /// Ends what is going on.
    pub stop: &'a AtomicBool,
}

impl<S: Simulated> LabelledRollouts<'_, S> {
    /// Teacher and workload with the hashes of their files.
    ///
    /// # Errors
    ///
    /// A file that cannot be read.
    pub fn sources(&self) -> Result<(Source, Source), RecordError> {
        let teacher = policy_source(self.teacher_id, self.teacher)?;
        Ok((teacher, workload_source::<S>(self.workload_id, self.workload)?))
    }

    fn student(&self, (id, student): (&str, &Student)) -> Result<StudentPolicy<S>, RecordError> {
        let path = Path::new(id.strip_prefix("student:").unwrap_or(id));
        StudentPolicy::new(student, path, None).map_err(|source| self.failed(id, 0, 0, source.into()))
    }

    fn failed(&self, policy: &str, episode: u32, step: u32, cause: EpisodeCause) -> RecordError {
        let seed = episode_seed(self.seed, Split::Train, u64::from(episode));
        let source = EpisodeError { episode, seed, step: u64::from(step), source: Box::new(cause) };
        RecordError::Episode { policy: policy.to_owned(), source }
    }

    /// What the manifest says of the drivers of a mixed recording. Students are named by their place in the loop's directory,
    /// so that a trace does not depend on where the directory is.
    fn driver(&self, drive: &Drive<'_>) -> Result<Source, RecordError> {
        let (mut teacher, _) = self.sources()?;
        let Some((id, student)) = drive.student else { return Ok(teacher) };
        let file = (id.strip_prefix("student:").unwrap_or(id).to_owned(), student.file_hash());
        match drive.teacher_episodes() {
            0 => Ok(Source { id: id.to_owned(), files: [file].into() }),
            n => {
                teacher.id = format!("{id}; {} in {n} of {} episodes", self.teacher_id, drive.episodes);
                teacher.files.extend([file]);
                Ok(teacher)
            }
        }
    }

    /// The regrets of one episode.
    fn episode_regrets(
        &self,
        student: &dyn Policy<S>,
        (split, episode): (Split, u32),
        quota: usize,
        horizon_ms: f64,
    ) -> Result<Vec<Regret>, RecordError> {
        let id = EpisodeId::new(self.seed, split, episode);
        let (mut sim, seed) = (S::start(self.workload, self.workload.jobs(id), id.seed), id.seed);
        let mut policy = Labelled::new(student.fresh(), self.teacher.fresh());
        policy.reset(seed);
        let fail = |step, cause| self.failed("what if", episode, step, cause);
        let mut stream = Stream::new(seed, "what-if states");
        let (mut p, mut found, mut step) = (Said::default(), Vec::new(), 0);
        let mut kept: Vec<(usize, S::Simulator, [S::Decision; 2])> = Vec::new();
        while let Some(seen) = sim.view() {
            self.check_stop()?;
            p.clear();
            let (decision, label) = policy.decide_and_label(&seen, &mut p).map_err(|e| fail(step, e.into()))?;
            if !S::same(&seen, decision, label) {
                // Reservoir sampling: each of the states found so far is kept with the same probability.
                let place = if kept.len() < quota { kept.len() } else { stream.below(found.len() + 1) };
                if place < quota {
                    let state = (found.len(), sim.clone(), [decision, label]);
                    match kept.get_mut(place) {
                        Some(other) => *other = state,
                        None => kept.push(state),
                    }
                }
                found.push(Regret { episode, step, regret: None });
            }
            sim.step(decision).map_err(|e| fail(step, EpisodeCause::illegal(e)))?;
            step += 1;
        }
        let mut teacher = self.teacher.fresh();
        for (index, state, decisions) in kept {
            self.check_stop()?;
            let step = found[index].step;
            let [own, label] = decisions.map(|decision| {
                // The same seed, so that a teacher that samples has the same luck in both.
                teacher.reset(hash(&[seed, u64::from(step)]));
                cost_after::<S>(state.clone(), decision, &mut *teacher, horizon_ms).map_err(|cause| fail(step, cause))
            });
            found[index].regret = Some(own? - label?);
        }
        Ok(found)
    }

    fn check_stop(&self) -> Result<(), RecordError> {
        match self.stop.load(Ordering::Relaxed) {
            true => Err(RecordError::Interrupted),
            false => Ok(()),
        }
    }
}

impl<S: Simulated> Rollouts for LabelledRollouts<'_, S> {
    type Error = RecordError;

    fn record(&self, dir: &Path, drive: &Drive<'_>) -> Result<Trace, RecordError> {
        let request = RecordRequest {
            policy_id: self.teacher_id,
            policy: self.teacher,
            labeller: None,
            workload_id: self.workload_id,
            workload: self.workload,
            seed: self.seed,
            split: drive.split,
            first_episode: drive.first_episode,
            episodes: drive.episodes,
            shard: Shard::WHOLE,
            force: false,
        };
        let student = drive.student.map(|s| self.student(s).map(|policy| (s.0, policy))).transpose()?;
        let policy = |place: u32| -> (Box<dyn Policy<S>>, String) {
            match &student {
                Some((id, student)) if !drive.by_teacher(place) => {
                    (Box::new(Labelled::new(student.fresh(), self.teacher.fresh())), (*id).to_owned())
                }
                _ => (self.teacher.fresh(), self.teacher_id.to_owned()),
            }
        };
        let labeller = policy_source(self.teacher_id, self.teacher)?;
        let driving =
            Driving { labeller, abstains: self.teacher.abstains(), source: self.driver(drive)?, policy: &policy };
        record_driven(dir, &request, &driving, self.progress, self.stop)?;
        Ok(Trace::open(dir)?)
    }

    fn regrets(&self, drive: &Drive<'_>, what_if: WhatIf) -> Result<Vec<Regret>, RecordError> {
        let Some(student) = drive.student else { return Ok(Vec::new()) };
        let student = self.student(student)?;
        let places: Vec<u32> = (0..drive.episodes).filter(|&place| !drive.by_teacher(place)).collect();
        // The first episodes get one state more where they cannot be shared out evenly.
        let (each, left) = match places.len() {
            0 => return Ok(Vec::new()),
            n => (what_if.states as usize / n, what_if.states as usize % n),
        };
        let found: Vec<Result<Vec<Regret>, RecordError>> = places
            .into_par_iter()
            .enumerate()
            .map(|(i, place)| {
                let which = (drive.split, drive.first_episode + place);
                self.episode_regrets(&student, which, each + usize::from(i < left), what_if.horizon_ms)
            })
            .collect();
        Ok(found.into_iter().collect::<Result<Vec<_>, _>>()?.concat())
    }
}

/// Cost from now to the horizon if `decision` is carried out and `policy` then goes on, ms.
fn cost_after<S: Simulated>(
    mut sim: S::Simulator,
    decision: S::Decision,
    policy: &mut dyn Policy<S>,
    horizon_ms: f64,
) -> Result<f64, EpisodeCause> {
    let from_ms = sim.view().map_or(0.0, |seen| S::time_ms(&seen));
    let to_ms = from_ms + horizon_ms;
    let mut p = Said::default();
    sim.step(decision).map_err(EpisodeCause::illegal)?;
    while let Some(seen) = sim.view().filter(|seen| S::time_ms(seen) < to_ms) {
        p.clear();
        let decision = policy.decide(&seen, &mut p)?;
        sim.step(decision).map_err(EpisodeCause::illegal)?;
    }
    Ok(sim.cost(from_ms, to_ms))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Choice,
        recorder::{ChoiceLog, EpisodeId, record, run_episode},
    };
    use sched_distill_core::{
        level::LevelSpec,
        model::LevelModels,
        scenario::{Said, Scenario as _},
    };
    use sched_distill_dag::{Dag, Decision, feature::feature_set, simulator::Simulator};

    const WORKLOAD: &str = "builtin,jobs=5,executors=4,rate=2e-4";
    const TEACHER: &str = "sjf-cp,temperature=0.3";

    type Outcome = Result<(), Box<dyn std::error::Error>>;

    fn rule(name: &str) -> Box<dyn Policy<Dag>> {
        sched_distill_dag::policies::open(&name.parse().unwrap()).unwrap()
    }

    /// Calls `check` with the rollouts of a teacher.
    fn with_teacher(name: &str, check: impl FnOnce(&LabelledRollouts<'_, Dag>) -> Outcome) -> Outcome {
        let (teacher, workload) = (rule(name), sched_distill_dag::workload::open(&WORKLOAD.parse()?)?);
        check(&LabelledRollouts {
            teacher_id: name,
            teacher: &*teacher,
            workload_id: WORKLOAD,
            workload: &workload,
            seed: 5,
            progress: &(),
            stop: &AtomicBool::new(false),
        })
    }

    #[test]
    fn labels_are_those_of_the_teacher_asked_at_the_same_state() -> Outcome {
        with_teacher(TEACHER, |rollouts| {
            let mut policy = Labelled::new(rule("random"), rule(TEACHER));
            let (mut teacher, mut asked, mut other) = (rule(TEACHER), Said::default(), 0);
            let id = EpisodeId::new(5, Split::Train, 0);
            run_episode(rollouts.workload, &mut policy, id, |seen, decision, p| {
                asked.clear();
                let label = teacher.decide(seen, &mut asked).unwrap();
                let (Decision::Assign { stage, .. }, Decision::Assign { stage: labelled, .. }) = (decision, label)
                else {
                    panic!("neither abstains")
                };
                if stage != labelled {
                    other += 1;
                    teacher.given(seen, decision, &mut asked).unwrap();
                }
                assert_eq!(*p, asked);
                assert!((p.given.iter().map(|p| p.exp()).sum::<f64>() - 1.0).abs() < 1e-5);
            })?;
            assert!(other > 5, "the driver went its own way {other} times");
            Ok(())
        })
    }

    #[test]
    fn a_teacher_without_probabilities_is_sure_and_silent_about_amounts_elsewhere() -> Outcome {
        with_teacher("sjf", |rollouts| {
            let mut policy = Labelled::new(rule("random"), rule("sjf"));
            let mut teacher = rule("sjf");
            let mut log = ChoiceLog::<Dag>::new(false);
            let (mut step, mut labels, mut agreed) = (0, Vec::new(), 0);
            let id = EpisodeId::new(5, Split::Train, 0);
            run_episode(rollouts.workload, &mut policy, id, |seen, decision, p| {
                let Decision::Assign { stage, .. } = teacher.decide(seen, &mut Said::default()).unwrap() else {
                    panic!("it never abstains")
                };
                labels.push(stage.job);
                agreed += usize::from(matches!(decision, Decision::Assign { stage: own, .. } if own == stage));
                log.push(0, step, seen, decision, p);
                step += 1;
            })?;
            let tables = log.into_tables();
            let (jobs, amounts) = (&tables[0], &tables[2]);
            assert!(jobs.iter().all(|c| c.has_probabilities()));
            let targets: Vec<u32> = jobs.iter().map(|c| c.entity[c.target()]).collect();
            assert_eq!(targets, labels, "the label is the teacher's decision, not the driver's");
            assert_eq!(amounts.choices.len(), agreed);
            assert!(agreed < labels.len());
            Ok(())
        })
    }

    /// A student that does as some rules do.
    fn student() -> Student {
        let set = feature_set();
        let level = |(spec, name): (&LevelSpec, &str)| {
            let rules = Dag::INFO.catalogue.rules(set, false);
            let (rule, _) = rules.into_iter().find(|(rule, _)| rule.name == name).unwrap();
            LevelModels::new(&spec.name, name, vec![rule.model(spec).unwrap()])
        };
        let levels = set.levels.iter().zip(["newest-first", "first-stage", "all"]).map(level).collect();
        Student::new(set.clone(), false, levels, Default::default())
    }

    #[test]
    fn a_mixed_recording_says_who_drove_and_holds_the_teachers_labels() -> Outcome {
        with_teacher(TEACHER, |rollouts| {
            let dir = tempfile::tempdir()?;
            let student = student();
            let id = "student:iteration-0/student.json";
            let drive = Drive {
                student: Some((id, &student)),
                teacher_share: 0.5,
                split: Split::Train,
                first_episode: 6,
                episodes: 4,
            };
            let trace = rollouts.record(&dir.path().join("mixed"), &drive)?;
            let episodes = trace.episodes()?;
            assert_eq!(episodes.iter().map(|e| e.episode).collect::<Vec<_>>(), [6, 7, 8, 9]);
            let drivers: Vec<&str> = episodes.iter().map(|e| e.policy.as_str()).collect();
            assert_eq!(drivers, [id, TEACHER, id, TEACHER]);
            assert_eq!(trace.manifest.labeller.id, TEACHER);
            assert_eq!(trace.manifest.driver.id, format!("{id}; {TEACHER} in 2 of 4 episodes"));
            assert_eq!(trace.manifest.driver.files["iteration-0/student.json"], student.hash());
            assert_eq!(trace.manifest.first_episode, 6);

            // By hand: the student drives episode 8, the teacher is asked at every state.
            let (mut driver, mut teacher) = (StudentPolicy::<Dag>::new(&student, Path::new("s"), None)?, rule(TEACHER));
            let mut log = ChoiceLog::<Dag>::new(false);
            let mut step = 0;
            let which = EpisodeId::new(5, Split::Train, 8);
            run_episode(rollouts.workload, &mut driver, which, |seen, decision, _| {
                let mut p = Said::default();
                teacher.decide(seen, &mut p).unwrap();
                teacher.given(seen, decision, &mut p).unwrap();
                log.push(8, step, seen, decision, &p);
                step += 1;
            })?;
            let of_8 = |level: &str| trace.level(level).map(|t| t.select(|episode| episode == 8));
            for table in log.into_tables() {
                assert_eq!(of_8(&table.spec.name)?, table);
            }
            let differ = |c: &Choice<'_>| !c.chosen[c.target()];
            assert!(of_8("job")?.iter().any(|c| differ(&c)), "the student makes mistakes here");
            Ok(())
        })
    }

    #[test]
    fn a_student_beside_a_labeller_is_recorded_as_in_a_loop() -> Outcome {
        with_teacher(TEACHER, |rollouts| {
            let dir = tempfile::tempdir()?;
            let student = student();
            let id = "student:iteration-0/student.json";
            let of_student = Some((id, &student));
            let drive =
                Drive { student: of_student, teacher_share: 0.0, split: Split::Train, first_episode: 6, episodes: 3 };
            let in_a_loop = rollouts.record(&dir.path().join("loop"), &drive)?;
            let path = dir.path().join("student.json");
            student.save(&path)?;
            let request = RecordRequest {
                policy_id: id,
                policy: &StudentPolicy::new(&student, &path, None)?,
                labeller: Some((TEACHER, rollouts.teacher)),
                workload_id: WORKLOAD,
                workload: rollouts.workload,
                seed: 5,
                split: Split::Train,
                first_episode: 6,
                episodes: 3,
                shard: Shard::WHOLE,
                force: false,
            };
            record(&dir.path().join("alone"), &request, &(), &AtomicBool::new(false))?;
            let alone = Trace::open(&dir.path().join("alone"))?;
            assert_eq!(alone.manifest.tables, in_a_loop.manifest.tables, "the same bytes");
            assert_eq!(alone.manifest.labeller, in_a_loop.manifest.labeller);
            assert_eq!((alone.manifest.driver.id.as_str(), alone.manifest.first_episode), (id, 6));
            Ok(())
        })
    }

    #[test]
    fn without_a_student_the_recording_is_that_of_the_record_command() -> Outcome {
        with_teacher(TEACHER, |rollouts| {
            let dir = tempfile::tempdir()?;
            let drive = Drive { student: None, teacher_share: 0.0, split: Split::Test, first_episode: 0, episodes: 3 };
            let trace = rollouts.record(&dir.path().join("a"), &drive)?;
            let request = RecordRequest {
                policy_id: TEACHER,
                policy: rollouts.teacher,
                labeller: None,
                workload_id: WORKLOAD,
                workload: rollouts.workload,
                seed: 5,
                split: Split::Test,
                first_episode: 0,
                episodes: 3,
                shard: Shard::WHOLE,
                force: false,
            };
            let recorded = record(&dir.path().join("b"), &request, &(), &AtomicBool::new(false))?;
            assert_eq!(recorded.manifest, Some(trace.manifest));
            Ok(())
        })
    }

    #[test]
    fn regret_is_the_difference_of_job_time_and_nothing_where_both_decide_alike() -> Outcome {
        with_teacher(TEACHER, |rollouts| {
            let (which, all) = ((Split::Train, 0), usize::MAX);
            let same = rollouts.episode_regrets(rollouts.teacher, which, all, 1e12)?;
            assert!(same.is_empty(), "{same:?}");
            let found = rollouts.episode_regrets(&*rule("fifo"), which, all, 1e12)?;
            assert!(found.len() > 3);
            // By hand and without copies: the episode again, fifo up to the step, then one decision, then the teacher. With a
            // horizon beyond the end, the difference of job-time is that of all completion times.
            let seed = episode_seed(5, Split::Train, 0);
            let completion = |at: u32, own: bool| -> f64 {
                let mut sim = Simulator::new(*rollouts.workload.cluster(), rollouts.workload.jobs(seed), seed);
                let (mut fifo, mut teacher) = (rule("fifo"), rule(TEACHER));
                let (mut p, mut step) = (Said::default(), 0);
                while let Some(seen) = sim.view() {
                    p.clear();
                    let by = if step < at || (step == at && own) { &mut fifo } else { &mut teacher };
                    let decision = by.decide(&seen, &mut p).unwrap();
                    sim.step(decision).unwrap();
                    step += 1;
                }
                sim.outcome().unwrap().jobs.iter().filter_map(|end| end.completion_ms()).sum()
            };
            for regret in &found {
                let expected = completion(regret.step, true) - completion(regret.step, false);
                let simulated = regret.regret.ok_or("all states are simulated")?;
                assert!((simulated - expected).abs() < 1e-6 * expected.abs().max(1e3), "{simulated} {expected}");
            }
            // A budget is kept, whatever is drawn; the decisions found are the same.
            let few = rollouts.episode_regrets(&*rule("fifo"), which, 2, 1e12)?;
            assert_eq!(few.len(), found.len());
            let drawn: Vec<_> = few.iter().zip(&found).filter(|(few, _)| few.regret.is_some()).collect();
            assert_eq!(drawn.len(), 2);
            assert!(drawn.iter().all(|(few, all)| few == all));
            Ok(())
        })
    }
}
