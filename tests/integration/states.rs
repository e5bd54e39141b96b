//! The same decisions from the simulator's view and from a state that anyone could have made, on every question of ten episodes.

use super::embed;
use sched_distill::{
    dag::Dag,
    distiller::{FitParams, Subject, fit_student},
    model::{Guard, Provenance, Structure, Student},
    policy::{Policy, StudentPolicy},
    recorder::{ChoiceLog, EpisodeId, run_episode},
    registry::Registered,
    rng::Split,
    scenario::{Said, State},
    simulation::{Simulated, Simulation, Workload},
    training::Training,
};
use serde::Serialize;
use std::path::Path;

const EPISODES: u32 = 10;

/// Fits a student on `driver`'s decisions.
pub(crate) fn student<S: Registered>(workload: &Workload<S>, driver: &dyn Policy<S>, params: &FitParams) -> Student {
    let tables = [Split::Train, Split::Validation].map(|split| {
        let mut log = ChoiceLog::<S>::new(driver.abstains());
        for episode in 0..3 {
            let mut step = 0;
            let id = EpisodeId::new(7, split, episode);
            run_episode(workload, &mut *driver.fresh(), id, |seen, decision, p| {
                log.push(episode, step, seen, decision, p);
                step += 1;
            })
            .unwrap();
        }
        log.into_tables()
    });
    let subject = Subject { feature_set: (S::INFO.feature_set)(), abstains: driver.abstains() };
    fit_student(subject, (&tables[0], &tables[1]), params, Provenance::default()).unwrap()
}

/// Students of both structures with guards, heuristics and the network that comes with the program.
fn policies<S: Registered>(
    workload: &Workload<S>,
    driver: &dyn Policy<S>,
    guard: &str,
    names: &[&str],
) -> Vec<Box<dyn Policy<S>>> {
    let params = |structure| FitParams { max_leaf_nodes: 24, structure, ..FitParams::default() };
    let mut all: Vec<Box<dyn Policy<S>>> = Vec::new();
    for structure in [Structure::Hierarchical, Structure::Flat] {
        let mut rules = student::<S>(workload, driver, &params(structure));
        rules.guards.push(Guard::parse(guard, (S::INFO.feature_set)()).unwrap());
        all.push(Box::new(StudentPolicy::<S>::new(&rules, Path::new("in memory"), None).unwrap()));
    }
    all.extend(names.iter().map(|name| S::open(&name.parse().unwrap()).unwrap()));
    all
}

/// Plays episodes of `driver` and asks every policy twice, each time with a memory of its own: at the simulator's view, and at that of
/// a state that was read from what the view says.
fn compare<S: Registered>(workload: &Workload<S>, driver: &dyn Policy<S>, policies: &[Box<dyn Policy<S>>]) -> usize
where
    for<'a> S::View<'a>: Serialize,
{
    let mut questions = 0;
    for episode in 0..EPISODES {
        let fresh = || -> Vec<Box<dyn Policy<S>>> { policies.iter().map(|policy| policy.fresh()).collect() };
        let mut sides = [fresh(), fresh()];
        sides.iter_mut().flatten().for_each(|policy| policy.reset(u64::from(episode)));
        let id = EpisodeId::new(1, Split::Test, episode);
        let run = run_episode(workload, &mut *driver.fresh(), id, |seen, _, _| {
            questions += 1;
            let [there, here] = &mut sides;
            let ask = |policies: &mut [Box<dyn Policy<S>>], seen: &S::View<'_>| -> Vec<_> {
                let answer = |policy: &mut Box<dyn Policy<S>>| {
                    let mut p = Said::default();
                    (policy.decide(seen, &mut p).unwrap(), p)
                };
                policies.iter_mut().map(answer).collect()
            };
            let expected = ask(there, seen);
            let state: S::State = serde_json::from_str(&serde_json::to_string(seen).unwrap()).unwrap();
            assert_eq!(ask(here, &state.view().unwrap()), expected, "episode {episode}, question {questions}");
        });
        assert!(!run.unwrap().outcome.stalled());
    }
    questions
}

/// What an episode leaves behind bears the names that the scenario declares, and costs add up to the objective.
fn figures_are_those_declared<S: Registered>(workload: &str, policy: &str) {
    let workload = S::open_workload(&workload.parse().unwrap()).unwrap();
    let mut policy = S::open(&policy.parse().unwrap()).unwrap();
    let mut sim = S::start(&workload, workload.jobs(3), 3);
    let (mut cost, mut since) = (0.0, 0.0);
    while let Some(seen) = sim.view() {
        let now = S::time_ms(&seen);
        cost += sim.cost(since, now);
        since = now;
        let decision = policy.decide(&seen, &mut Said::default()).unwrap();
        sim.step(decision).unwrap();
    }
    let outcome = sim.outcome().unwrap();
    let names: Vec<&str> = outcome.figures.iter().map(|&(name, _)| name).collect();
    assert_eq!(names, S::INFO.figures.iter().map(|figure| &*figure.name).collect::<Vec<_>>());
    assert!(outcome.figures.iter().all(|(_, value)| value.is_some()), "{outcome:?}");
    cost += sim.cost(since, outcome.final_time_ms);
    let whole = outcome.objective().unwrap() * outcome.jobs.len() as f64;
    assert!((cost - whole).abs() < 1e-9 * whole, "{cost} and {whole}");
}

#[test]
fn scenarios_measure_what_they_declare() {
    figures_are_those_declared::<Dag>("builtin,jobs=12", "fair");
    figures_are_those_declared::<Training>("builtin,jobs=12", "drf");
}

#[test]
fn dag_policies_decide_alike_from_a_state_of_ones_own() {
    let workload = Dag::open_workload(&"builtin,jobs=12,rate=1e-4".parse().unwrap()).unwrap();
    let driver = Dag::open(&"decima,mode=sample".parse().unwrap()).unwrap();
    let names = [
        "decima,mode=sample",
        "decima",
        "fair",
        "fifo",
        "weighted-fair",
        "sjf-cp,temperature=0.5",
        "srpt-fair",
        "random",
    ];
    let policies = policies::<Dag>(&workload, &*driver, "job: held_of_fair_share >= 1.4 last", &names);
    let questions = compare::<Dag>(&workload, &*driver, &policies);
    assert!(questions > 1500, "{questions} questions");
}

#[test]
fn training_policies_decide_alike_from_a_state_of_ones_own() {
    for spec in ["builtin,jobs=12,dips=0.2", "builtin,jobs=8,nodes=8,speed=analytic"] {
        let workload = Training::open_workload(&spec.parse().unwrap()).unwrap();
        let driver = Training::open(&"dl2,mode=sample".parse().unwrap()).unwrap();
        let names = ["dl2,mode=sample", "dl2", "optimus", "drf", "tetris", "srtf-time", "fifo"];
        let guard = "cluster: is_none <= 0 and best_speedup <= 0.02 never";
        let policies = policies::<Training>(&workload, &*driver, guard, &names);
        let questions = compare::<Training>(&workload, &*driver, &policies);
        assert!(questions > 500, "{questions} questions");
    }
}

#[test]
fn the_documented_states_can_be_read() {
    let text = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/cluster-state.md")).unwrap();
    let blocks: Vec<&str> = text.split("```json").skip(1).map(|rest| rest.split("```").next().unwrap()).collect();
    let [dag, dag_change, training, training_change] = blocks[..] else { panic!("{} blocks of JSON", blocks.len()) };
    let mut dag: sched_distill::dag::ClusterState = serde_json::from_str(dag).unwrap();
    assert_eq!(dag.view().unwrap().committable(), 6);
    dag.change(serde_json::from_str(dag_change).unwrap()).unwrap();
    assert_eq!((dag.view().unwrap().committable(), dag.view().unwrap().active_jobs()), (1, &[7, 9][..]));
    let mut training: sched_distill::training::ClusterState = serde_json::from_str(training).unwrap();
    assert_eq!(training.view().unwrap().job(5).workers(), 1);
    training.change(serde_json::from_str(training_change).unwrap()).unwrap();
    assert_eq!((training.view().unwrap().slot(), training.view().unwrap().live_jobs()), (43, &[5, 7][..]));
}

#[test]
fn a_job_that_is_told_again_may_have_become_another() {
    let read = |stages: &str| -> sched_distill::dag::ClusterState {
        let job = format!("{{\"id\":7,\"arrival_ms\":0,\"stages\":[{stages}]}}");
        serde_json::from_str(&format!("{{\"num_executors\":4,\"offered\":2,\"jobs\":[{job}]}}")).unwrap()
    };
    let (first, second) = (r#"{"tasks":8,"rough_ms":5}"#, r#"{"tasks":2,"rough_ms":5}"#);
    let child = r#"{"tasks":2,"rough_ms":5,"parents":[0]}"#;
    for stages in
        [format!("{first},{child}"), format!("{first},{second}"), format!("{second},{child}"), first.to_owned()]
    {
        // Each is read after one that differs from it in the number of tasks, of stages, or in an edge; and once more.
        for _ in 0..2 {
            let (state, fresh) = (read(&stages), std::thread::scope(|s| s.spawn(|| read(&stages)).join().unwrap()));
            assert_eq!(serde_json::to_value(&state).unwrap(), serde_json::to_value(&fresh).unwrap());
            let (seen, expected) = (state.view().unwrap(), fresh.view().unwrap());
            assert_eq!(seen.schedulable(), expected.schedulable());
            assert_eq!(seen.job(7).graph(), expected.job(7).graph());
        }
    }
}

#[test]
fn the_example_lets_a_student_with_a_guard_schedule() {
    let workload = Dag::open_workload(&"builtin,jobs=12,rate=1e-4".parse().unwrap()).unwrap();
    let driver = Dag::open(&"sjf,temperature=0.3".parse().unwrap()).unwrap();
    let rules = student::<Dag>(&workload, &*driver, &FitParams::default());
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("student.json");
    rules.save(&path).unwrap();
    let decisions = embed::schedule(&path).unwrap();
    // The guard is about the nightly report, which has waited for 13 minutes: it comes first, though it has more work.
    let first = sched_distill::dag::StageRef { job: 7, stage: 0 };
    assert!(
        matches!(decisions[0], sched_distill::dag::Decision::Assign { stage, .. } if stage == first),
        "{decisions:?}"
    );
    assert!(embed::schedule(Path::new("no such file")).unwrap_err().to_string().contains("no such file"));
}
