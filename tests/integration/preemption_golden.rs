//! With preemption for free, the simulators of others: Tiresias' (NSDI 2019) and that of Pollux' artifact (OSDI 2021).

use crate::common::reference;
use sched_distill::{
    preemption::{
        Cluster, Model, Placement,
        heuristic::{Rule, Tiresias},
        simulator::{Change, Simulator, What},
        workload::PreemptionJob,
    },
    simulation::Simulation as _,
};
use serde_json::Value;
use std::{error::Error, fs, sync::Arc};

type Outcome = Result<(), Box<dyn Error>>;

fn golden(name: &str) -> Value {
    let text = fs::read_to_string(reference(&format!("preemption-golden/{name}"))).expect("a golden file is there");
    serde_json::from_str(&text).expect("a golden file is JSON")
}

fn number(value: &Value) -> f64 {
    value.as_f64().expect("a number")
}

/// A job of whole seconds, an epoch each.
fn job(arrival_s: f64, gpus: f64, seconds: f64) -> PreemptionJob {
    PreemptionJob {
        model: 0,
        arrival_ms: 1e3 * arrival_s,
        gpus: gpus as u32,
        samples: 1.0,
        batch: 1,
        epochs: seconds,
        declared_epochs: seconds,
        epoch_ms: 1e3,
        counter_ms: None,
        bias: 1.0,
        data_gb: 0.0,
        checkpoint_gb: 0.0,
        recorded: None,
    }
}

fn cluster([nodes, node_gpus]: [f64; 2], check_s: f64, restart_s: f64, placement: Placement) -> Arc<Cluster> {
    Arc::new(Cluster {
        nodes: nodes as u32,
        node_gpus: node_gpus as u32,
        spread_slowdown: 0.0,
        check_ms: 1e3 * check_s,
        start_noise: 0.0,
        placement,
        free: true,
        models: vec![Model::new("any", [1e3 * restart_s, 0.0], Vec::new())],
        ..Cluster::default()
    })
}

/// An episode to its end.
fn run(cluster: Arc<Cluster>, jobs: Vec<PreemptionJob>, policy: &mut Tiresias) -> Result<Simulator, Box<dyn Error>> {
    let mut sim = Simulator::new(cluster, jobs, 0);
    sim.record_changes();
    while let Some(seen) = sim.view() {
        sim.step(policy.decide(&seen))?;
    }
    assert!(sim.outcome().is_some_and(|outcome| !outcome.stalled()));
    Ok(sim)
}

/// Nodes and GPUs on each.
type Nodes = Vec<(u32, u32)>;

/// When a job began, and lost its GPUs or ended, in whole seconds.
fn stretches(changes: &[Change], job: u32) -> (Vec<[f64; 2]>, Vec<Nodes>) {
    let own = changes.iter().filter(|change| change.job == job);
    let (mut stretches, mut nodes) = (Vec::new(), Vec::new());
    let mut from = f64::NAN;
    for change in own {
        let at = (change.time_ms / 1e3).round();
        assert!((change.time_ms / 1e3 - at).abs() < 1e-6, "{change:?} is not at a whole second");
        match change.what {
            What::Begins => {
                from = at;
                nodes.push(change.nodes.clone());
            }
            What::Suspended | What::Ends => stretches.push([from, at]),
            _ => {}
        }
    }
    (stretches, nodes)
}

#[test]
#[cfg_attr(not(reference_data), ignore = "needs the reference data in ../shared")]
fn tiresias_runs_are_reproduced() -> Outcome {
    let file = golden("tiresias-60.json");
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let jobs: Vec<PreemptionJob> = list(&file["jobs"])
        .iter()
        .map(|j| job(number(&j["arrival"]), number(&j["gpus"]), number(&j["duration"])))
        .collect();
    let mut runs = 0;
    for (name, expected) in file["policies"].as_object().ok_or("policies by name")? {
        let rule_name = expected["policy"].as_str().ok_or("a rule's name")?;
        let rule = Rule::ALL.iter().find(|(known, _)| *known == rule_name).ok_or(rule_name)?.1;
        let limits = list(&expected["queue_limits"]).iter().map(number).collect();
        let promote = expected["promotion_factor"].as_f64().unwrap_or(0.0);
        let mut policy = Tiresias::new(rule, limits, promote, 0.0);
        let sim = run(cluster([4.0, 4.0], 1.0, 0.0, Placement::Packed), jobs.clone(), &mut policy)?;
        for (id, expected) in (0..).zip(list(&expected["jobs"])) {
            let (found, _) = stretches(sim.changes(), id);
            let runs: Vec<[f64; 2]> = serde_json::from_value(expected["runs"].clone())?;
            assert_eq!(found, runs, "{name}, job {id}");
            assert_eq!(found[0][0], number(&expected["start"]), "{name}, job {id}");
            assert_eq!(found.last().map(|run| run[1]), expected["end"].as_f64(), "{name}, job {id}");
            assert_eq!(found.len() as f64 - 1.0, number(&expected["preemptions"]), "{name}, job {id}");
        }
        let moves: Vec<(f64, u32, usize, usize)> =
            serde_json::from_value(expected["queue_moves"].clone()).unwrap_or_default();
        let ids: Vec<u32> = list(&file["jobs"]).iter().map(|j| number(&j["id"]) as u32).collect();
        let found: Vec<_> =
            policy.moves().iter().map(|&(at, job, from, to)| (at, ids[job as usize], from, to)).collect();
        assert_eq!(found, moves, "{name}");
        runs += 1;
    }
    assert_eq!(runs, 16);
    Ok(())
}

#[test]
#[cfg_attr(not(reference_data), ignore = "needs the reference data in ../shared")]
fn pollux_tiresias_is_reproduced() -> Outcome {
    let file = golden("pollux-tiresias.json");
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let expected = list(&file["tiresias"]["jobs"]);
    let expected = if expected.is_empty() { list(&file["jobs"]) } else { expected };
    let mut jobs: Vec<(f64, usize)> = list(&file["jobs"]).iter().map(|j| number(&j["submission"])).zip(0..).collect();
    // By submission; of equals in the order of the file.
    jobs.sort_by(|a, b| a.0.total_cmp(&b.0));
    let of = |place: usize| {
        let told = &expected[place];
        if told["tiresias"].is_object() { told["tiresias"].clone() } else { told.clone() }
    };
    let made = |&(submission, place): &(f64, usize)| {
        job(submission, number(&list(&file["jobs"])[place]["gpus"]), number(&of(place)["work"]))
    };
    let mut policy = Tiresias::new(Rule::DlasGpu, vec![57_600.0], 0.0, 60.0);
    let sim = run(cluster([16.0, 4.0], 60.0, 30.0, Placement::MostFree), jobs.iter().map(made).collect(), &mut policy)?;
    for (id, &(_, place)) in (0..).zip(&jobs) {
        let (found, nodes) = stretches(sim.changes(), id);
        let told = of(place);
        for (run, expected) in list(&told["runs"]).iter().enumerate() {
            assert_eq!(found[run], [number(&expected[0]), number(&expected[1])], "job {place}, stretch {run}");
            let mut on: Nodes = serde_json::from_value(expected[2].clone())?;
            on.sort_unstable();
            assert_eq!(nodes[run], on, "job {place}, stretch {run}");
        }
        assert_eq!(found.len(), list(&told["runs"]).len(), "job {place}");
        assert_eq!(found.last().map(|run| run[1]), told["completion"].as_f64(), "job {place}");
    }
    Ok(())
}
