//! Other descriptions of a job: what they change, and what they must not.

use sched_distill_core::{
    policy::Policy,
    scenario::{Questions as _, Scenario as _},
    simulation::{DeclaredEdit, Edit as _, EditBudget, Editable as _, Simulated as _, Simulation as _},
};
use sched_distill_deadlines::{
    ClusterState, Deadlines, feature::Extractor, policies, simulator::Simulator, workload::DeadlineJob,
};
use std::error::Error;

fn policy(name: &str) -> Box<dyn Policy<Deadlines>> {
    policies::open(&name.parse().unwrap()).unwrap()
}

/// What becomes of an episode from here on.
fn run(mut sim: Simulator) -> String {
    let mut policy = policy("qos");
    while let Some(seen) = sim.view() {
        let decision = policy.decide(&seen, &mut Default::default()).unwrap();
        sim.step(decision).unwrap();
    }
    format!("{:?}", sim.outcome())
}

#[test]
fn an_edit_and_its_inverse_leave_every_episode_as_it_was() -> Result<(), Box<dyn Error>> {
    let workload = Deadlines::open_workload(&"builtin,jobs=20,arrivals=poisson".parse()?)?;
    let jobs = workload.jobs(4);
    let start = |jobs: &Vec<DeadlineJob>| Deadlines::start(&workload, jobs.clone(), 4);
    let (clean, mut changed) = (run(start(&jobs)), 0);
    for job in [0, 7, 19] {
        let edits = Deadlines::edits(&jobs, job, &EditBudget::default());
        assert_eq!(edits.len(), 8);
        for edit in edits {
            let edited = Deadlines::edited(&jobs, job, &edit)?;
            let (before, after) = (jobs[job as usize], edited[job as usize]);
            assert_eq!((before.iterations, before.deadline_ms), (after.iterations, after.deadline_ms));
            let now = run(start(&edited));
            changed += u32::from(now != clean);
            let undone = Deadlines::undone(&edited, job, &edit)?;
            assert_eq!(run(start(&undone)), clean, "{edit}");
            assert!(Deadlines::undone(&jobs, job, &edit).is_err());
            assert!(edit.cost() <= 0.5 && edit.slope().is_some());
            // From before its arrival on as from the beginning.
            let mut sim = start(&jobs);
            while let Some(seen) = sim.view()
                && seen.arrived() <= job
            {
                if seen.arrived() == job {
                    assert_eq!(run(Deadlines::described(&sim, &edited, job)), now, "{edit}");
                    break;
                }
                let decision = policy("qos").decide(&seen, &mut Default::default())?;
                sim.step(decision)?;
            }
            // A question with it edited as the edited episode asks it.
            let (mut a, mut b) = (start(&jobs), start(&edited));
            while let (Some(seen), Some(other)) = (a.view(), b.view()) {
                if Deadlines::is_candidate(&seen, job) {
                    let made = Deadlines::edited_state(&seen.to_state(), job, std::slice::from_ref(&edit))?;
                    assert_eq!(serde_json::to_value(made)?, serde_json::to_value(other.to_state())?);
                    break;
                }
                let decision = policy("fifo").decide(&seen, &mut Default::default())?;
                a.step(decision)?;
                b.step(decision)?;
            }
        }
    }
    assert!(changed > 10, "{changed}");
    Ok(())
}

/// Rows of all levels along the first candidates; `None` without a question.
fn rows(state: &ClusterState) -> Option<[Vec<f32>; 3]> {
    let seen = state.view()?;
    let mut questions = Extractor::default();
    questions.update(&seen);
    let paths: [&[usize]; 3] = [&[], &[0], &[0, 0]];
    Some(paths.map(|path| {
        let mut x = Vec::new();
        questions.rows(&seen, path, false, &mut x);
        x
    }))
}

/// What `list features` calls measured or decided does not move, whatever a job declares; what it calls declared, something does.
#[test]
fn edits_move_declared_features_alone() -> Result<(), Box<dyn Error>> {
    let levels = &(Deadlines::INFO.feature_set)().levels;
    let mut moved: Vec<Vec<bool>> = levels.iter().map(|level| vec![false; level.features.len()]).collect();
    for spec in ["builtin,jobs=15,node-cores=16", "builtin,jobs=15,nodes=2"] {
        let workload = Deadlines::open_workload(&spec.parse()?)?;
        let jobs = workload.jobs(4);
        let mut sim = Deadlines::start(&workload, jobs.clone(), 4);
        let mut policy = policy("qos");
        while let Some(seen) = sim.view() {
            let state = seen.to_state();
            for job in (0..15).filter(|&job| Deadlines::is_candidate(&seen, job)) {
                for edit in Deadlines::edits(&jobs, job, &EditBudget::default()) {
                    let edited = Deadlines::edited_state(&state, job, std::slice::from_ref(&edit))?;
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
    }
    let all = levels
        .iter()
        .zip(&moved)
        .flat_map(|(level, moved)| level.features.iter().zip(moved).map(move |(f, m)| (level, f, m)));
    let still: Vec<String> = all
        .filter(|(_, f, moved)| f.control.is_declared() && !**moved)
        .map(|(level, f, _)| format!("{} {}", level.name, f.name))
        .collect();
    // Users declare requests and programs as well, of which there is no edit; and checks counted what was declared before.
    let expected = "job requested, job requested_rank, job request_fits, job threads, job threads_rank, class request_fits, amount unused, \
                    amount spare_checks";
    assert_eq!(still.join(", "), expected);
    Ok(())
}

#[test]
fn edits_keep_their_form() -> Result<(), Box<dyn Error>> {
    let edit = DeclaredEdit::<Deadlines>::new(1, 30.0, 0.5);
    let json = r#"{"edit":"iterations","was":30.0,"factor":0.5}"#;
    assert_eq!((serde_json::to_string(&edit)?, serde_json::from_str(json)?), (json.to_owned(), edit.clone()));
    assert_eq!((edit.to_string(), edit.sort()), ("the job declares 0.5 times its iterations".to_owned(), "iterations"));
    let other = DeclaredEdit::<Deadlines>::new(0, 9e4, 1.5);
    assert_eq!(serde_json::to_string(&other)?, r#"{"edit":"deadline","was":90000.0,"factor":1.5}"#);
    assert_eq!(other.to_string(), "the job declares 1.5 times the time until its deadline");
    for wrong in [r#"{"was":1,"factor":1}"#, r#"{"edit":"x","was":1,"factor":1}"#, r#"{"edit":"deadline","was":1}"#] {
        assert!(serde_json::from_str::<DeclaredEdit<Deadlines>>(wrong).is_err(), "{wrong}");
    }
    Ok(())
}
