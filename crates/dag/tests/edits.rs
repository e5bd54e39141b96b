//! Edits of jobs change what is declared, and nothing else.

use sched_distill_core::{
    rng::Stream,
    scenario::{Questions as _, Scenario, State as _},
    simulation::{Edit, EditBudget, Editable, Simulated, Simulation as _},
};
use sched_distill_dag::workload::{Cluster, DurationTable, JobArrival, JobTemplate, StageTemplate};
use sched_distill_dag::{
    ClusterState, Dag, Decision, JobGraph, edit::JobEdit, feature::feature_set, policies, simulator::Simulator,
    workload,
};
use serde_json::to_value;
use std::{error::Error, sync::Arc};

type Outcome = Result<(), Box<dyn Error>>;

const ALL: &str = "duration,split,edge,edge-implied";

fn budget() -> EditBudget {
    EditBudget { sorts: ALL.split(',').map(str::to_owned).collect(), ..EditBudget::default() }
}

/// Runs an episode to its end; its decisions, and what became of every stage.
fn run(mut sim: Simulator, policy: &str) -> Result<(Vec<Decision>, String), Box<dyn Error>> {
    let mut policy = policies::open(&policy.parse()?)?;
    let mut decisions = Vec::new();
    while let Some(seen) = sim.view() {
        let decision = policy.decide(&seen, &mut Default::default())?;
        decisions.push(decision);
        sim.step(decision)?;
    }
    Ok((decisions, format!("{:?} {:?}", sim.outcome(), sim.stage_records())))
}

/// A workload, an episode's jobs, and its seed.
type Episode = (workload::DagWorkload, Vec<JobArrival>, u64);

/// A few episodes of small jobs.
fn episodes() -> Result<Vec<Episode>, Box<dyn Error>> {
    let open = |(id, seed): (&str, u64)| {
        let workload = workload::open(&id.parse()?)?;
        let jobs = workload.jobs(seed);
        Ok((workload, jobs, seed))
    };
    let ids =
        ["builtin,jobs=8", "builtin,jobs=8,executors=5", "builtin,jobs=6,edge=wide", "builtin,jobs=6,edge=chains"];
    ids.into_iter().zip(3..).map(open).collect()
}

/// Some edits of each sort of a job.
fn some(jobs: &[JobArrival], job: u32, stream: &mut Stream) -> Vec<JobEdit> {
    let all = Dag::edits(jobs, job, &budget());
    let mut some = Vec::new();
    for sort in ALL.split(',') {
        let of: Vec<&JobEdit> = all.iter().filter(|edit| edit.sort() == sort).collect();
        some.extend((0..3).filter(|_| !of.is_empty()).map(|_| of[stream.below(of.len())].clone()));
    }
    some
}

#[test]
fn an_edit_and_its_inverse_leave_every_episode_as_it_was() -> Outcome {
    let mut stream = Stream::new(1, "edits");
    for (workload, jobs, seed) in episodes()? {
        let clean = run(Dag::start(&workload, jobs.clone(), seed), "sjf-cp")?;
        for job in 0..jobs.len() as u32 {
            for edit in some(&jobs, job, &mut stream) {
                let edited = Dag::edited(&jobs, job, &edit)?;
                assert_ne!(edited, jobs, "{edit}");
                let undone = Dag::undone(&edited, job, &edit)?;
                assert_eq!(undone, jobs, "{edit}");
                assert!(Dag::undone(&jobs, job, &edit).is_err(), "{edit} was not made");
                assert_eq!(run(Dag::start(&workload, undone, seed), "sjf-cp")?, clean);
            }
        }
    }
    Ok(())
}

/// Pairs of a stage of the job as it first was and one that needs its output.
fn reachable(template: &JobTemplate) -> Vec<[u32; 2]> {
    let (graph, of) = (template.graph(), |s: u32| template.origins()[s as usize].stage);
    let stages = 0..graph.stages().len() as u32;
    let mut pairs: Vec<[u32; 2]> =
        stages.flat_map(|s| graph.descendants(s).iter().map(move |&below| [of(s), of(below)])).collect();
    pairs.sort_unstable();
    pairs.dedup();
    pairs
}

#[test]
fn tasks_tables_draws_and_dependencies_stay() -> Outcome {
    let mut stream = Stream::new(2, "edits");
    // Which task of which stage every task is.
    let draws = |t: &JobTemplate| {
        let with = t.graph().stages().iter().zip(t.origins());
        let mut all: Vec<[u32; 2]> =
            with.flat_map(|(s, o)| (0..s.num_tasks).map(move |task| [o.stage, o.first_task + task])).collect();
        all.sort_unstable();
        all
    };
    for (_, jobs, _) in episodes()? {
        for job in 0..jobs.len() as u32 {
            for edit in some(&jobs, job, &mut stream) {
                let edited = Dag::edited(&jobs, job, &edit)?;
                let (before, after) = (&jobs[job as usize].template, &edited[job as usize].template);
                assert_eq!((draws(before), before.tables()), (draws(after), after.tables()), "{edit}");
                let (mut was, is) = (reachable(before), reachable(after));
                match edit {
                    JobEdit::Edge { implied: false, .. } => {
                        was.retain(|pair| !is.contains(pair));
                        assert!(was.is_empty(), "{edit}");
                    }
                    _ => assert_eq!(was, is, "{edit}"),
                }
            }
        }
    }
    Ok(())
}

#[test]
fn an_episode_goes_on_from_before_the_arrival_as_it_would_from_the_beginning() -> Outcome {
    let mut stream = Stream::new(3, "edits");
    for (workload, jobs, seed) in episodes()? {
        for job in 0..jobs.len() as u32 {
            let arrival = jobs[job as usize].arrival_ms;
            let mut fork = Dag::start(&workload, jobs.clone(), seed);
            let mut policy = policies::open(&"srpt-fair".parse()?)?;
            let mut before = Vec::new();
            // The last question before the job arrives; the first jobs are there from the beginning.
            while let Some(seen) = fork.view() {
                let decision = policy.decide(&seen, &mut Default::default())?;
                let mut next = fork.clone();
                next.step(decision)?;
                if next.view().is_none_or(|seen| seen.time_ms() >= arrival) {
                    break;
                }
                before.push(decision);
                fork = next;
            }
            if fork.view().is_none_or(|seen| seen.time_ms() >= arrival) {
                continue;
            }
            for edit in some(&jobs, job, &mut stream) {
                let edited = Dag::edited(&jobs, job, &edit)?;
                let (decisions, end) = run(Dag::start(&workload, edited.clone(), seed), "srpt-fair")?;
                let (rest, fork_end) = run(Dag::described(&fork, &edited, job), "srpt-fair")?;
                assert_eq!((before.clone(), rest), (before.clone(), decisions[before.len()..].to_vec()), "{edit}");
                assert_eq!(fork_end, end, "{edit}");
            }
            let (_, clean) = run(Dag::start(&workload, jobs.clone(), seed), "srpt-fair")?;
            assert_eq!(run(Dag::described(&fork, &jobs, job), "srpt-fair")?.1, clean, "no edit at all");
        }
    }
    Ok(())
}

#[test]
fn a_question_with_an_edited_job_is_the_one_that_the_edited_episode_asks() -> Outcome {
    let mut stream = Stream::new(4, "edits");
    let mut compared = 0;
    for (workload, jobs, seed) in episodes()? {
        for job in 0..jobs.len() as u32 {
            for edit in some(&jobs, job, &mut stream) {
                let edited = Dag::edited(&jobs, job, &edit)?;
                let (mut clean, mut other) =
                    (Dag::start(&workload, jobs.clone(), seed), Dag::start(&workload, edited, seed));
                let mut policy = policies::open(&"fair".parse()?)?;
                while let (Some(seen), Some(there)) = (clean.view(), other.view()) {
                    let state = ClusterState::of(&seen);
                    if seen.arrived() > job {
                        // Once it has been given something they may differ.
                        if seen.job(job).supply() > 0 {
                            break;
                        }
                        let made = Dag::edited_state(&state, job, std::slice::from_ref(&edit))?;
                        assert_eq!(to_value(&made)?, to_value(ClusterState::of(&there))?, "{edit}");
                        assert_eq!(made.view().map(|v| v.schedulable().to_vec()), Some(there.schedulable().to_vec()));
                        compared += 1;
                    }
                    let decision = policy.decide(&seen, &mut Default::default())?;
                    if Dag::given(decision, job) > 0 {
                        break;
                    }
                    clean.step(decision)?;
                    other.step(decision)?;
                }
            }
        }
    }
    assert!(compared > 1000, "{compared}");
    Ok(())
}

/// Features of the jobs that could get something, and which they are.
fn jobs_of(state: &ClusterState) -> Option<(Vec<f32>, Vec<Option<u32>>)> {
    let seen = state.view()?;
    let mut questions = <Dag as Scenario>::Questions::default();
    questions.update(&seen);
    let mut x = Vec::new();
    let n = questions.rows(&seen, &[], false, &mut x);
    Some((x, (0..n).map(|candidate| Dag::candidate_job(&questions, &seen, candidate)).collect()))
}

/// What `list features` calls measured or decided does not move, whatever a job is said to be; what it calls declared, something does.
#[test]
fn edits_move_declared_features_alone() -> Outcome {
    let level = &feature_set().levels[Dag::JOB_LEVEL];
    let mut moved = vec![false; level.features.len()];
    let mut stream = Stream::new(5, "features");
    for (workload, jobs, seed) in episodes()? {
        let mut sim = Dag::start(&workload, jobs.clone(), seed);
        let mut policy = policies::open(&"fair".parse()?)?;
        while let Some(seen) = sim.view() {
            let state = ClusterState::of(&seen);
            let job = seen.active_jobs()[stream.below(seen.active_jobs().len())];
            for edit in some(&jobs, job, &mut stream) {
                // A dependency can keep a job from being asked about, and then others are ranked anew.
                let Ok(edited) = Dag::edited_state(&state, job, std::slice::from_ref(&edit)) else { continue };
                let (Some((x, candidates)), Some((y, others))) = (jobs_of(&state), jobs_of(&edited)) else { continue };
                if candidates != others {
                    continue;
                }
                for (i, (a, b)) in x.iter().zip(&y).enumerate() {
                    let column = i % level.features.len();
                    let feature = &level.features[column];
                    assert!(a == b || feature.control.is_declared(), "{}: {a} is {b} after: {edit}", feature.name);
                    moved[column] |= a != b;
                }
            }
            let decision = policy.decide(&seen, &mut Default::default())?;
            sim.step(decision)?;
        }
    }
    let still = level.features.iter().zip(&moved).filter(|(f, moved)| f.control.is_declared() && !**moved);
    // What may be given is at most what is on offer, which these jobs have use for.
    let still: Vec<&str> = still.map(|(f, _)| f.name.as_str()).filter(|name| !name.starts_with("room")).collect();
    assert_eq!(still, [""; 0]);
    Ok(())
}

#[test]
fn on_one_executor_a_job_in_parts_completes_at_the_same_moment() -> Outcome {
    let mut stream = Stream::new(5, "edits");
    for case in 0..60u64 {
        let n = 1 + stream.below(6) as u32;
        let stages: Vec<StageTemplate> = (0..n)
            .map(|_| {
                let list = (0..9).map(|_| stream.uniform_in(1.0, 1e5)).collect();
                let durations = DurationTable::uniform(list, 0.0).expect("it is not empty");
                StageTemplate { num_tasks: 2 + stream.below(9) as u32, rough_ms: durations.mean(), durations }
            })
            .collect();
        let mut edges = Vec::new();
        for child in 1..n {
            edges.extend((0..child).filter(|_| stream.uniform() < 0.4).map(|parent| [parent, child]));
        }
        let template = Arc::new(JobTemplate::new("random", stages, &edges)?);
        let jobs = vec![JobArrival { arrival_ms: 0.0, template }];
        let end = |jobs: &Vec<JobArrival>| -> Result<f64, Box<dyn Error>> {
            let cluster = Cluster::new(1, 0.0);
            let mut sim = Simulator::new(cluster, jobs.clone(), case);
            while let Some(seen) = sim.view() {
                let stage = seen.schedulable()[0];
                sim.step(Decision::Assign { stage, executors: 1 })?;
            }
            Ok(sim.completed_ms(0).ok_or("it ends")?)
        };
        let clean = end(&jobs)?;
        let splits = EditBudget { sorts: vec!["split".to_owned()], ..EditBudget::default() };
        for edit in Dag::edits(&jobs, 0, &splits) {
            assert_eq!(end(&Dag::edited(&jobs, 0, &edit)?)?, clean, "{edit}");
        }
    }
    Ok(())
}

#[test]
fn impossible_edits_are_refused_in_words() -> Outcome {
    let (_, jobs, _) = episodes()?.swap_remove(0);
    let refused = |edit: JobEdit, says: &str| {
        let problem = Dag::edited(&jobs, 0, &edit).err().map_or(String::new(), |e| e.to_string());
        assert!(problem.contains(says), "{problem}");
    };
    let graph: &JobGraph = jobs[0].template.graph();
    let (tasks, was_ms) = (graph.stages()[0].num_tasks, graph.stages()[0].rough_ms);
    refused(JobEdit::Duration { stage: 99, was_ms, factor: 0.5 }, "the job has no such stage");
    refused(JobEdit::Duration { stage: 0, was_ms: was_ms + 1.0, factor: 0.5 }, "it declares");
    refused(JobEdit::Split { stage: 0, first: 1, tasks: tasks + 1 }, &format!("it has {tasks} tasks"));
    refused(JobEdit::Edge { parent: 0, child: 0, implied: false }, "cycle");
    assert_eq!(
        JobEdit::Duration { stage: 2, was_ms: 1.0, factor: 0.5 }.to_string(),
        "stage 2 declares 0.5 times its duration"
    );
    Ok(())
}

#[test]
fn what_forgets_can_be_gone_on_with_from_any_question() -> Outcome {
    let (workload, jobs, seed) = episodes()?.swap_remove(0);
    for id in ["fair", "fifo", "weighted-fair", "sjf", "sjf-cp", "srpt-fair", "sjf,temperature=0.5", "decima"] {
        let policy = policies::open(&id.parse()?)?;
        assert!(policy.forgets(), "{id}");
        let mut sim = Dag::start(&workload, jobs.clone(), seed);
        let mut decisions = Vec::new();
        while let Some(seen) = sim.view() {
            let decision = policy.fresh().decide(&seen, &mut Default::default())?;
            decisions.push(decision);
            sim.step(decision)?;
        }
        assert_eq!(decisions, run(Dag::start(&workload, jobs.clone(), seed), id)?.0, "{id}");
    }
    for id in ["random", "decima,mode=sample", "sjf,temperature=0.5,mode=sample"] {
        assert!(!policies::open(&id.parse()?)?.forgets(), "{id}");
    }
    Ok(())
}
