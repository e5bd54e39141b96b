//! Simulator and heuristics reproduce every recorded run of the DL2 authors' simulator, slot by slot.

use super::common;
use sched_distill::{
    simulation::Simulation as _,
    training::{
        Decision, DecisionError, Task, View,
        cluster::{JOB_TYPES, TrainingCluster},
        heuristic::{
            Drf, Fifo, Optimus, Srtf, Tetris,
            window::{ROWS, Window, next_bundle},
        },
        simulator::{JobSlot, Simulator},
        workload::TrainingWorkload,
    },
};
use serde_json::{Value, json};
use std::{path::PathBuf, sync::Arc};

const CASES: [&str; 2] = ["small-uniform-s9973", "testbed-analytic-s11"];

fn reference(file: &str) -> PathBuf {
    common::reference("dl2-golden").join(file)
}

fn read(case: &str) -> Value {
    let text = std::fs::read_to_string(reference(&format!("{case}.json"))).unwrap();
    serde_json::from_str(&text).unwrap()
}

/// The golden file's workload in the documented JSON format, with all facts about types taken from its jobs.
fn workload(golden: &Value) -> TrainingWorkload {
    let config = &golden["config"];
    let grid = golden["speed_mode"] == "measured-grid";
    let (mut types, mut jobs) = (vec![Value::Null; 8], Vec::new());
    for job in golden["jobs"].as_array().unwrap() {
        types[job["type"].as_u64().unwrap() as usize - 1] = json!({
            "name": job["model"], "epoch_size": job["epoch_size"], "worker": job["worker_req"], "server": job["ps_req"],
            "analytic": {
                "compute_s": job["local_comp_time_s"], "model_mb": job["model_size_mb"],
                "inter_mb_s": job["inter_bw"], "intra_mb_s": job["intra_bw"],
            },
        });
        jobs.push(json!({
            "type": job["model"], "arrival_slot": job["arrival"], "epochs": job["num_epochs"],
            "real_epochs": job["real_num_epochs"],
        }));
    }
    // Types that no job has stay as in the built-in table; places in the list must not move.
    for (kind, entry) in types.iter_mut().enumerate().filter(|(_, t)| t.is_null()) {
        let known = &JOB_TYPES[kind];
        let analytic = json!({"compute_s": 1.0, "model_mb": 1.0, "inter_mb_s": 1.0, "intra_mb_s": 1.0});
        *entry =
            json!({"name": known.name, "epoch_size": 1.0, "worker": [2, 0], "server": [2, 0], "analytic": analytic});
    }
    let grid_path = reference("speed-grid-24.json");
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("jobs.json");
    let text = json!({
        "nodes": config["CLUSTER_NUM_NODES"], "node_slots": config["NODE_SLOTS"], "slot_s": config["TS_DURATION"],
        "max_workers": config["MAX_NUM_WORKERS"], "max_servers": config["MAX_NUM_WORKERS"],
        "speed": if grid { json!(grid_path) } else { json!("analytic") }, "types": types, "jobs": jobs,
    });
    std::fs::write(&path, text.to_string()).unwrap();
    TrainingWorkload::open(&format!("json:{}", path.display()).parse().unwrap()).unwrap()
}

fn simulator(workload: &TrainingWorkload) -> Simulator {
    Simulator::new(workload.cluster().clone(), workload.jobs(0), 0)
}

/// A heuristic by the name it has in the files.
fn heuristic(name: &str) -> Box<dyn FnMut(&View<'_>) -> Decision> {
    macro_rules! boxed {
        ($policy:expr) => {{
            let mut policy = $policy;
            Box::new(move |seen: &View<'_>| policy.decide(seen))
        }};
    }
    match name {
        "DRF" => boxed!(Drf),
        "FIFO" => boxed!(Fifo),
        "SRTF" => boxed!(Srtf),
        "Tetris" => boxed!(Tetris::default()),
        "Optimus" => boxed!(Optimus::default()),
        _ => unreachable!("{name}"),
    }
}

#[track_caller]
fn near(found: f64, expected: &Value, what: &str) {
    let expected = expected.as_f64().unwrap_or_else(|| panic!("{what}: no number"));
    assert!((found - expected).abs() <= 1e-6, "{what}: {found} instead of {expected}");
}

/// Compares completion times, makespan and mean reward.
fn compare_outcome(sim: &Simulator, workload: &TrainingWorkload, run: &Value, name: &str) {
    let outcome = sim.outcome().unwrap();
    let slot_ms = workload.cluster().slot_ms();
    near(outcome.objective().unwrap() / slot_ms, &run["avg_jct"], name);
    near(outcome.figure("makespan_ms").unwrap() / slot_ms, &run["makespan"], name);
    near(outcome.total_reward / outcome.events as f64, &run["avg_reward"], name);
    for ((job, end), start) in outcome.jobs.iter().enumerate().zip(sim.arrivals_ms()) {
        near(
            (end.completion_ms().unwrap() - start) / slot_ms,
            &run["jct"][(job + 1).to_string()],
            &format!("{name}, job {job}"),
        );
    }
}

#[test]
#[cfg_attr(not(reference_data), ignore = "needs the reference data in ../shared")]
fn the_table_of_types_is_that_of_the_recorded_jobs() {
    for case in CASES {
        let golden = read(case);
        for job in golden["jobs"].as_array().unwrap() {
            let known = &JOB_TYPES[job["type"].as_u64().unwrap() as usize - 1];
            let facts = known.analytic.unwrap();
            assert_eq!(job["model"], known.name.as_ref());
            assert_eq!((&job["worker_req"], &job["ps_req"]), (&json!(known.worker), &json!(known.server)));
            for (name, value) in [
                ("epoch_size", known.epoch_size),
                ("local_comp_time_s", facts.compute_s),
                ("model_size_mb", facts.model_mb),
                ("inter_bw", facts.inter_mb_s),
                ("intra_bw", facts.intra_mb_s),
                ("num_epochs", (known.epoch_share * golden["config"]["MAX_NUM_EPOCHS"].as_f64().unwrap()).floor()),
            ] {
                assert_eq!(job[name].as_f64(), Some(value), "{} of {}", name, known.name);
            }
        }
    }
}

#[test]
#[cfg_attr(not(reference_data), ignore = "needs the reference data in ../shared")]
fn the_grid_is_looked_up_cell_by_cell() {
    let (golden, path) = (read(CASES[0]), reference("speed-grid-24.json"));
    let grid: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let workload = workload(&golden);
    let cluster: &Arc<TrainingCluster> = workload.cluster();
    for (kind, job_type) in (0..).zip(cluster.types.iter()) {
        for (workers, servers) in (0..=17).flat_map(|w| (0..=17).map(move |s| (w, s))) {
            let cell = match (workers, servers) {
                (0, _) | (_, 0) => 0.0,
                _ => grid["grid"][&*job_type.name][servers as usize - 1][workers as usize - 1].as_f64().unwrap(),
            };
            let expected = cell * cluster.slot_s / job_type.epoch_size;
            assert_eq!(cluster.speed.by_count(kind, workers, servers), expected);
        }
    }
}

#[test]
#[cfg_attr(not(reference_data), ignore = "needs the reference data in ../shared")]
fn every_slot_of_every_heuristic_is_reproduced() {
    for case in CASES {
        let golden = read(case);
        let workload = workload(&golden);
        for (name, run) in golden["runs"].as_object().unwrap().iter().filter(|(name, _)| *name != "scripted-mdp") {
            let mut decide = heuristic(name);
            let mut sim = simulator(&workload);
            sim.record_slots();
            while let Some(seen) = sim.view() {
                let decision = decide(&seen);
                sim.step(decision).unwrap();
            }
            let slots = run["slots"].as_array().unwrap();
            for (record, expected) in sim.slot_records().iter().zip(slots) {
                let at = format!("{case}, {name}, slot {}", record.slot);
                assert_eq!(json!(record.slot), expected["ts"], "{at}");
                let (running, waiting): (Vec<&JobSlot>, Vec<&JobSlot>) =
                    record.jobs.iter().partition(|j| j.workers + j.servers > 0);
                let waiting: Vec<u32> = waiting.iter().map(|j| j.job + 1).collect();
                assert_eq!(json!(waiting), expected["waiting"], "{at}: waiting");
                let rows = expected["alloc"].as_array().unwrap();
                assert_eq!(running.len(), rows.len(), "{at}: running jobs");
                for (job, row) in running.iter().zip(rows) {
                    let at = format!("{at}, job {}", job.job);
                    assert_eq!(
                        json!([job.job + 1, job.workers, job.servers]),
                        json!(row.as_array().unwrap()[..3]),
                        "{at}"
                    );
                    near(job.progress, &row[3], &at);
                    for (place, task) in [(4, Task::Worker), (5, Task::Server)] {
                        let Some(nodes) = row.get(place) else { continue };
                        let tasks = record.tasks.iter().filter(|t| (t.job, t.task) == (job.job, task));
                        assert_eq!(json!(tasks.map(|t| t.node).collect::<Vec<_>>()), *nodes, "{at}: {task} nodes");
                    }
                }
                near(record.reward, &expected["reward"], &at);
                near(record.utilisation[0], &expected["util"][0], &at);
                near(record.utilisation[1], &expected["util"][1], &at);
            }
            assert_eq!(sim.slot_records().len(), slots.len(), "{case}, {name}: slots");
            compare_outcome(&sim, &workload, run, &format!("{case}, {name}"));
        }
    }
}

/// Dominant shares as the reference's heuristics leave them: those of the last time a job got a task.
#[derive(Default)]
struct StaleShares(Vec<f64>);

impl StaleShares {
    fn learn(&mut self, seen: &View<'_>) {
        self.0.resize(seen.arrived() as usize, 0.0);
        for &job in seen.live_jobs() {
            let view = seen.job(job);
            if view.workers() + view.servers() > 0 {
                self.0[job as usize] = view.dominant_share();
            }
        }
    }
}

fn compare_state(state: &[f32], rows: &Value, at: &str) {
    let expected: Vec<f64> =
        rows.as_array().unwrap().iter().flat_map(|r| r.as_array().unwrap()).map(|v| v.as_f64().unwrap()).collect();
    assert_eq!(state.len(), expected.len(), "{at}");
    let width = expected.len() / ROWS;
    for (place, (found, expected)) in state.iter().zip(&expected).enumerate() {
        let close = (f64::from(*found) - expected).abs() <= 1e-6 * expected.abs().max(1.0);
        assert!(close, "{at}: row {}, column {}: {found} instead of {expected}", place / width, place % width);
    }
}

#[test]
#[cfg_attr(not(reference_data), ignore = "needs the reference data in ../shared")]
fn the_samples_of_the_warm_up_are_reproduced() {
    for case in CASES {
        let golden = read(case);
        let workload = workload(&golden);
        let mut samples = golden["runs"]["DRF"]["sl_samples"].as_array().unwrap().iter().enumerate();
        let mut window = Window::new(golden["config"]["SCHED_WINDOW_SIZE"].as_u64().unwrap() as usize);
        let (mut state, mut stale, mut sim) = (Vec::new(), StaleShares::default(), simulator(&workload));
        'run: while let Some(seen) = sim.view() {
            let Decision::Add { job, .. } = Drf.decide(&seen) else {
                sim.step(Decision::Close).unwrap();
                continue;
            };
            // The reference labels the worker first, then the parameter server on the same node.
            let node = Some(seen.head());
            for task in [Task::Worker, Task::Server] {
                let Some((number, sample)) = samples.next() else { break 'run };
                let at = format!("{case}, sample {number}");
                let seen = sim.view().unwrap();
                stale.learn(&seen);
                window.look(&seen);
                window.write_state_with(&seen, |view| stale.0[view.id() as usize], &mut state);
                let decision = Decision::Add { job, task, node };
                assert_eq!(json!(seen.slot()), sample["ts"], "{at}");
                assert_eq!(json!(window.action(decision)), sample["label"], "{at}");
                compare_state(&state, &sample["state"], &at);
                sim.step(decision).unwrap();
            }
        }
        assert!(samples.next().is_none(), "{case}: more samples than allocations");
    }
}

#[test]
#[cfg_attr(not(reference_data), ignore = "needs the reference data in ../shared")]
fn every_decision_of_the_scripted_run_is_reproduced() {
    let golden = read(CASES[0]);
    let (workload, run) = (workload(&golden), &golden["runs"]["scripted-mdp"]);
    let (decisions, first) = (run["decisions"].as_array().unwrap(), run["first_decisions"].as_array().unwrap());
    let mut window = Window::new(golden["config"]["SCHED_WINDOW_SIZE"].as_u64().unwrap() as usize);
    let (mut state, mut mask) = (Vec::new(), Vec::new());
    let mut sim = simulator(&workload);
    let mut t = 0;
    while let Some(seen) = sim.view() {
        if let Some(bundle) = next_bundle(&seen) {
            sim.step(bundle).unwrap();
            continue;
        }
        let at = format!("decision {t}");
        window.look(&seen);
        window.write_mask(&seen, &mut mask);
        window.write_state(&seen, &mut state);
        let void = window.actions() - 1;
        let weight = |k: usize| match k {
            k if k == void => {
                if t % 23 == 22 {
                    400
                } else {
                    1
                }
            }
            k => (31 * k + 17 * t + 7 * k * (t % 5)) % 97 + 1,
        };
        // The first of the greatest weights; nothing can be chosen if no job wants more.
        let best = (0..=void).max_by_key(|&k| (weight(k) * usize::from(mask[k]), usize::MAX - k)).unwrap();
        let action = (!window.jobs().is_empty()).then_some(best);
        if let Some(expected) = first.get(t) {
            let nonzero: Vec<usize> = (0..=void).filter(|&k| mask[k]).collect();
            assert_eq!(json!(nonzero), expected["masked_nonzero"], "{at}: mask");
            compare_state(&state, &expected["state"], &at);
        }
        let row = &decisions[t];
        assert_eq!(json!([seen.slot(), action]), json!([row[0], row[1]]), "{at}: action");
        let decision = window.decision(best).unwrap();
        let (ended, kept) = match (action, decision) {
            (None, _) => (true, false),
            (_, Decision::Close) => (true, true),
            (_, add) => match sim.check(add) {
                Ok(()) => (false, true),
                Err(DecisionError::NoRoom { .. }) => (true, false),
                Err(other) => panic!("{at}: {other}"),
            },
        };
        sim.step(if ended { Decision::Close } else { decision }).unwrap();
        let reward = if ended { sim.last_reward() } else { 0.0 };
        assert_eq!(json!([u8::from(ended), u8::from(kept)]), json!([row[2], row[3]]), "{at}: end of slot, kept");
        near(reward, &row[4], &at);
        t += 1;
    }
    assert_eq!(t, decisions.len());
    compare_outcome(&sim, &workload, run, "scripted");
}

#[test]
#[cfg_attr(not(reference_data), ignore = "needs the reference data in ../shared")]
fn jobs_may_arrive_as_recorded() {
    let path = common::reference("traces/philly-2017-oct/jobs.csv");
    let spec = format!("builtin,arrivals={},rate=4", path.display());
    let workload = TrainingWorkload::open(&spec.parse().unwrap()).unwrap();
    assert_eq!(workload.files(), [path]);
    let slots = |seed| workload.jobs(seed).iter().map(|j| j.arrival_slot).collect::<Vec<u32>>();
    for seed in 0..20 {
        let slots = slots(seed);
        assert!(slots.len() == 60 && slots.chunk_by(|a, b| a == b).all(|same| same.len() <= 4));
    }
    assert_ne!(slots(1), slots(2));
    let mut sim = Simulator::new(workload.cluster().clone(), workload.jobs(1), 1);
    while let Some(seen) = sim.view() {
        sim.step(Drf.decide(&seen)).unwrap();
    }
    assert!(!sim.outcome().unwrap().stalled());
}
