//! What a cluster does not believe users cannot gain by.

use sched_distill_core::{
    rng::Stream,
    scenario::State as _,
    simulation::{EditBudget, Editable, Simulated, Simulation as _},
};
use sched_distill_dag::{
    ClusterState, Dag, Decision,
    edit::JobEdit,
    policies,
    simulator::Simulator,
    workload::{self, JobArrival},
};
use serde_json::to_value;
use std::error::Error;

type Outcome = Result<(), Box<dyn Error>>;

const WORKLOADS: [&str; 3] = ["builtin,jobs=8", "builtin,jobs=6,edge=wide", "builtin,jobs=6,executors=5,edge=bursts"];

/// Runs an episode to its end: its decisions and its outcome.
fn run(mut sim: Simulator, policy: &str) -> Result<(Vec<Decision>, String), Box<dyn Error>> {
    let mut policy = policies::open(&policy.parse()?)?;
    let mut decisions = Vec::new();
    while let Some(seen) = sim.view() {
        let decision = policy.decide(&seen, &mut Default::default())?;
        decisions.push(decision);
        sim.step(decision)?;
    }
    Ok((decisions, format!("{:?}", sim.outcome())))
}

/// Some edits of a sort of a job.
fn some(jobs: &[JobArrival], job: u32, sort: &str, stream: &mut Stream) -> Vec<JobEdit> {
    let budget = EditBudget { sorts: vec![sort.to_owned()], ..EditBudget::default() };
    let all = Dag::edits(jobs, job, &budget);
    (0..4).filter(|_| !all.is_empty()).map(|_| all[stream.below(all.len())].clone()).collect()
}

/// Edits of the sort `vain` change no decision where it is not believed, and others where it is.
fn are_vain(vain: &str, option: &str) -> Outcome {
    let mut stream = Stream::new(1, vain);
    let mut changed = 0;
    for id in WORKLOADS {
        let (wary, credulous) = (workload::open(&format!("{id},{option}").parse()?)?, workload::open(&id.parse()?)?);
        for seed in 0..2 {
            let jobs = wary.jobs(seed);
            let declared = credulous.jobs(seed);
            assert!(jobs.iter().zip(&declared).all(|(a, b)| a.template.graph() == b.template.graph()), "the same jobs");
            let clean = run(Dag::start(&wary, jobs.clone(), seed), "sjf-cp")?;
            let believed = run(Dag::start(&credulous, jobs.clone(), seed), "sjf-cp")?;
            for job in 0..jobs.len() as u32 {
                for edit in some(&jobs, job, vain, &mut stream) {
                    let edited = Dag::edited(&jobs, job, &edit)?;
                    assert_eq!(run(Dag::start(&wary, edited.clone(), seed), "sjf-cp")?, clean, "{edit}");
                    changed += u32::from(run(Dag::start(&credulous, edited, seed), "sjf-cp")? != believed);
                }
            }
        }
    }
    assert!(changed > 20, "{changed}");
    Ok(())
}

#[test]
fn where_durations_are_not_believed_declaring_others_is_vain() -> Outcome {
    are_vain("duration", "durations=median")?;
    are_vain("duration", "durations=history")
}

#[test]
fn where_parts_are_put_together_splitting_is_vain() -> Outcome {
    are_vain("split", "parts=merged")
}

/// Stages that run different code stay apart, though they have the same parents and children.
#[test]
fn who_splits_nothing_is_served_as_before_where_parts_are_put_together() -> Outcome {
    for id in WORKLOADS {
        let end = |id: &str| {
            let workload = workload::open(&id.parse()?)?;
            run(Dag::start(&workload, workload.jobs(3), 3), "srpt-fair")
        };
        assert_eq!(end(id)?, end(&format!("{id},parts=merged"))?);
    }
    Ok(())
}

#[test]
fn a_question_knows_what_its_cluster_believes() -> Outcome {
    let mut stream = Stream::new(2, "questions");
    let workload = workload::open(&"builtin,jobs=8,durations=median,parts=merged".parse()?)?;
    let jobs = workload.jobs(5);
    let mut sim = Dag::start(&workload, jobs.clone(), 5);
    let mut policy = policies::open(&"fair".parse()?)?;
    let (mut vain, mut other) = (0, 0);
    while let Some(seen) = sim.view() {
        let state = ClusterState::of(&seen);
        let median =
            seen.active_jobs().iter().flat_map(|&job| seen.job(job).graph().stages().iter().map(|s| s.rough_ms));
        assert!(median.collect::<Vec<_>>().windows(2).all(|pair| pair[0] == pair[1] && pair[0] > 0.0));
        let job = seen.active_jobs()[stream.below(seen.active_jobs().len())];
        let factor = stream.uniform_in(0.5, 1.5);
        for stage in 0..seen.job(job).graph().stages().len() as u32 {
            let spec = seen.job(job).graph().stages()[stage as usize];
            let duration = JobEdit::Duration { stage, was_ms: spec.rough_ms, factor };
            let split = JobEdit::Split { stage, first: 1, tasks: spec.num_tasks };
            for edit in [Some(duration), (spec.num_tasks > 1).then_some(split)].into_iter().flatten() {
                assert_eq!(
                    to_value(Dag::edited_state(&state, job, std::slice::from_ref(&edit))?)?,
                    to_value(&state)?,
                    "{edit}"
                );
                vain += 1;
            }
        }
        let edges = some(&jobs, job, "edge", &mut stream);
        let edited = edges.iter().filter_map(|edit| Dag::edited_state(&state, job, std::slice::from_ref(edit)).ok());
        other += edited.filter(|edited| to_value(edited).ok() != to_value(&state).ok()).count();
        assert!(Dag::extremes(&state, job, 0.5)?.is_none(), "no number that is declared counts");
        let decision = policy.decide(&seen, &mut Default::default())?;
        sim.step(decision)?;
    }
    assert!(vain > 500 && other > 50, "{vain} {other}");
    Ok(())
}

/// Parts of which one waits for another stage are not the same any more, and a question knows of all edits that were made.
#[test]
fn several_edits_are_seen_together() -> Outcome {
    let (mut apart, mut alike) = (0, 0);
    for (id, merges) in [("builtin,jobs=8", false), ("builtin,jobs=8,parts=merged", true)] {
        let workload = workload::open(&id.parse()?)?;
        let jobs = workload.jobs(5);
        let mut sim = Dag::start(&workload, jobs.clone(), 5);
        let mut policy = policies::open(&"fair".parse()?)?;
        while let Some(seen) = sim.view() {
            let state = ClusterState::of(&seen);
            for &job in seen.active_jobs() {
                let budget = |sort: &str| EditBudget { sorts: vec![sort.to_owned()], ..EditBudget::default() };
                let Some(split) = Dag::edits(&jobs, job, &budget("split")).into_iter().next() else { continue };
                let JobEdit::Split { stage, .. } = split else { continue };
                let edited = Dag::edited(&jobs, job, &split)?;
                for edge in Dag::edits(&edited, job, &budget("edge")) {
                    let JobEdit::Edge { parent, child, .. } = edge else { continue };
                    let Ok(both) = Dag::edited_state(&state, job, &[split.clone(), edge.clone()]) else { continue };
                    let stages = |state: &ClusterState| state.view().map(|v| v.job(job).graph().stages().len());
                    if !merges {
                        let first = Dag::edited_state(&state, job, std::slice::from_ref(&split))?;
                        let then = Dag::edited_state(&first, job, std::slice::from_ref(&edge))?;
                        assert_eq!(to_value(&both)?, to_value(&then)?, "{split}, {edge}");
                        alike += 1;
                    } else if [parent, child].iter().any(|s| (stage..=stage + 1).contains(s)) {
                        assert_eq!(stages(&both), stages(&state).map(|n| n + 1), "{split}, {edge}");
                        apart += 1;
                    } else {
                        assert_eq!(stages(&both), stages(&state), "{split}, {edge}");
                    }
                }
            }
            let decision = policy.decide(&seen, &mut Default::default())?;
            sim.step(decision)?;
        }
    }
    assert!(alike > 100 && apart > 50, "{alike} {apart}");
    Ok(())
}

#[test]
fn what_is_believed_is_said_in_words() -> Outcome {
    let refused =
        |id: &str| Ok::<_, Box<dyn Error>>(workload::open(&id.parse()?).err().map_or(String::new(), |e| e.to_string()));
    let found = refused("builtin,durations=mean")?;
    assert!(found.contains("durations") && found.contains("declared, history, median"), "{found}");
    let found = refused("builtin,parts=one")?;
    assert!(found.contains("parts") && found.contains("declared, merged"), "{found}");
    Ok(())
}
