//! Other declared epochs of a job: what they change, and what they must not.

use sched_distill_core::{
    policy::Policy,
    rng::Stream,
    scenario::{Questions as _, Scenario as _},
    simulation::{DeclaredEdit, Edit as _, EditBudget, Editable as _, Simulated as _, Simulation as _},
};
use sched_distill_preemption::{
    Preemption, Question, View, feature::Extractor, policies, simulator::Simulator, workload::PreemptionJob,
};
use std::error::Error;

type EpochsEdit = DeclaredEdit<Preemption>;

fn policy(name: &str) -> Box<dyn Policy<Preemption>> {
    policies::open(&name.parse().unwrap()).unwrap()
}

/// What becomes of an episode from here on.
fn run(mut sim: Simulator) -> String {
    let mut policy = policy("srtf");
    while let Some(seen) = sim.view() {
        let decision = policy.decide(&seen, &mut Default::default()).unwrap();
        sim.step(decision).unwrap();
    }
    format!("{:?}", sim.outcome())
}

#[test]
fn an_edit_and_its_inverse_leave_every_episode_as_it_was() -> Result<(), Box<dyn Error>> {
    let workload = Preemption::open_workload(&"builtin,jobs=30,nodes=2,load=2".parse()?)?;
    let jobs = workload.jobs(4);
    let start = |jobs: &Vec<PreemptionJob>| Preemption::start(&workload, jobs.clone(), 4);
    let (clean, mut changed) = (run(start(&jobs)), 0);
    for job in 0..30 {
        let edits = Preemption::edits(&jobs, job, &EditBudget::default());
        assert_eq!(edits.len(), 4);
        for edit in edits {
            let edited = Preemption::edited(&jobs, job, &edit)?;
            let (before, after) = (jobs[job as usize], edited[job as usize]);
            assert_eq!(PreemptionJob { declared_epochs: before.declared_epochs, ..after }, before, "nothing else");
            let now = run(start(&edited));
            changed += u32::from(now != clean);
            let undone = Preemption::undone(&edited, job, &edit)?;
            assert_eq!(run(start(&undone)), clean, "{edit}");
            assert!(Preemption::undone(&jobs, job, &edit).is_err());
            assert!(edit.cost() <= 0.5 && edit.slope().is_some());
            // From before its arrival on as from the beginning.
            let mut sim = start(&jobs);
            let mut srtf = policy("srtf");
            while let Some(seen) = sim.view()
                && seen.arrived() <= job
            {
                if seen.arrived() == job {
                    assert_eq!(run(Preemption::described(&sim, &edited, job)), now, "{edit}");
                    break;
                }
                let decision = srtf.decide(&seen, &mut Default::default())?;
                sim.step(decision)?;
            }
        }
    }
    assert!(changed > 20, "{changed}");
    assert!(Preemption::edits(&jobs, 30, &EditBudget::default()).is_empty());
    assert!(Preemption::edited(&jobs, 30, &EpochsEdit::new(0, 1.0, 2.0)).is_err());
    Ok(())
}

/// Rows of both levels as far as they are asked.
fn rows(seen: &View<'_>) -> [Vec<f32>; 2] {
    let mut questions = Extractor::default();
    questions.update(seen);
    let paths: [&[usize]; 2] = [&[], &[0]];
    paths.map(|path| {
        let mut x = Vec::new();
        questions.rows(seen, path, false, &mut x);
        x
    })
}

/// Which features have moved, by level.
struct Moved(Vec<Vec<bool>>);

impl Moved {
    fn none() -> Self {
        let levels = &(Preemption::INFO.feature_set)().levels;
        Self(levels.iter().map(|level| vec![false; level.features.len()]).collect())
    }

    /// Notes what has moved, which declared features may alone.
    fn compare(&mut self, before: &[Vec<f32>; 2], after: &[Vec<f32>; 2], about: &str) {
        for (number, level) in (Preemption::INFO.feature_set)().levels.iter().enumerate() {
            assert_eq!(before[number].len(), after[number].len(), "{about}");
            for (i, (a, b)) in before[number].iter().zip(&after[number]).enumerate() {
                let column = i % level.features.len();
                let feature = &level.features[column];
                let allowed = a == b || feature.control.is_declared();
                assert!(allowed, "{} {}: {a} is {b} after: {about}", level.name, feature.name);
                self.0[number][column] |= a != b;
            }
        }
    }

    /// Declared features that nothing has moved.
    fn still(&self) -> Vec<String> {
        let levels = (Preemption::INFO.feature_set)().levels.iter().zip(&self.0);
        let all = levels.flat_map(|(level, moved)| level.features.iter().zip(moved).map(move |(f, m)| (level, f, m)));
        let still = all.filter(|(_, f, moved)| f.control.is_declared() && !**moved);
        still.map(|(level, f, _)| format!("{} {}", level.name, f.name)).collect()
    }
}

const SPECS: [&str; 3] = [
    "builtin,jobs=40,nodes=2,load=2",
    "builtin,jobs=30,nodes=3,arrivals=batch,mtbf=4",
    "builtin,jobs=40,nodes=2,load=2,understated=0.5",
];

/// What `list features` calls measured or decided does not move, whatever any job there declares; what it calls
/// declared, something does.
#[test]
fn edits_of_a_question_move_declared_features_alone() -> Result<(), Box<dyn Error>> {
    let (mut stream, mut moved) = (Stream::new(1, "edits"), Moved::none());
    for spec in SPECS {
        let workload = Preemption::open_workload(&spec.parse()?)?;
        let mut sim = Preemption::start(&workload, workload.jobs(4), 4);
        let mut policy = policy("srtf");
        while let Some(seen) = sim.view() {
            let (state, before) = (seen.to_state(), rows(&seen));
            for job in seen.jobs() {
                let edit = EpochsEdit::new(0, job.declared(), stream.uniform_in(0.02, 3.0));
                let edited = Preemption::edited_state(&state, job.id(), std::slice::from_ref(&edit))?;
                let view = edited.view().ok_or("what is asked does not depend on what is declared")?;
                assert_eq!(view.question(), seen.question());
                moved.compare(&before, &rows(&view), &format!("job {}: {edit}", job.id()));
            }
            let decision = policy.decide(&seen, &mut Default::default())?;
            sim.step(decision)?;
        }
    }
    assert_eq!(moved.still(), Vec::<String>::new());
    Ok(())
}

/// The same decisions lead through the same episode, whatever was declared from the beginning.
#[test]
fn edits_of_jobs_move_declared_features_alone() -> Result<(), Box<dyn Error>> {
    let (mut stream, mut moved, mut condemned) = (Stream::new(2, "edits"), Moved::none(), 0);
    for spec in SPECS {
        let workload = Preemption::open_workload(&spec.parse()?)?;
        let jobs = workload.jobs(4);
        let mut edited = jobs.clone();
        for job in 0..jobs.len() as u32 {
            let edit = EpochsEdit::new(0, jobs[job as usize].declared_epochs, stream.uniform_in(0.02, 3.0));
            edited = Preemption::edited(&edited, job, &edit)?;
        }
        let (mut a, mut b) = (Preemption::start(&workload, jobs, 4), Preemption::start(&workload, edited, 4));
        let mut policy = policy("srtf");
        while let (Some(seen), Some(other)) = (a.view(), b.view()) {
            assert_eq!((seen.time_ms(), seen.question()), (other.time_ms(), other.question()));
            moved.compare(&rows(&seen), &rows(&other), "all jobs declare something else");
            condemned += u32::from(seen.question() != Question::Serve);
            let decision = policy.decide(&seen, &mut Default::default())?;
            a.step(decision)?;
            b.step(decision)?;
        }
        assert!(a.outcome().is_some() && format!("{:?}", a.outcome()) == format!("{:?}", b.outcome()));
    }
    assert!(condemned > 50, "{condemned}");
    Ok(())
}

/// A question with a job edited is the question that the edited episode asks.
#[test]
fn an_edited_question_is_that_of_the_edited_episode() -> Result<(), Box<dyn Error>> {
    let workload = Preemption::open_workload(&SPECS[0].parse()?)?;
    let jobs = workload.jobs(4);
    let mut compared = 0;
    for job in 0..jobs.len() as u32 {
        for edit in Preemption::edits(&jobs, job, &EditBudget::default()) {
            let edited = Preemption::edited(&jobs, job, &edit)?;
            let (mut a, mut b) =
                (Preemption::start(&workload, jobs.clone(), 4), Preemption::start(&workload, edited, 4));
            let mut srtf = policy("srtf");
            while let (Some(seen), Some(other)) = (a.view(), b.view()) {
                if Preemption::is_candidate(&seen, job) {
                    let made = Preemption::edited_state(&seen.to_state(), job, std::slice::from_ref(&edit))?;
                    assert_eq!(serde_json::to_value(made)?, serde_json::to_value(other.to_state())?);
                    compared += 1;
                }
                let decision = srtf.decide(&seen, &mut Default::default())?;
                a.step(decision)?;
                b.step(decision)?;
            }
        }
    }
    assert!(compared > 100, "{compared}");
    Ok(())
}
