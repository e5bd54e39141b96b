//! The simulator against a model in Python that was written from `docs/deadlines.md` alone (`scripts/deadlines_reference.py`): what
//! happens in random small cases, change by change.

use sched_distill_core::simulation::Simulation as _;
use sched_distill_deadlines::{
    policies,
    simulator::{Change, Simulator},
    workload::DeadlineWorkload,
};
use serde_json::Value;
use std::{error::Error, fs, path::Path};

/// A change as the file has it, and as the simulator has it.
fn close(expected: &Value, found: &Change) -> bool {
    let number = |name: &str| expected[name].as_f64().unwrap_or(f64::NAN);
    let near = |a: f64, b: f64| (a - b).abs() <= 1e-9 * b.abs().max(1.0);
    match *found {
        Change::Runs { time_ms, job, node, cores, elastic } => {
            near(time_ms, number("time_ms"))
                && [(job, "job"), (node, "node"), (cores, "cores")]
                    .iter()
                    .all(|&(is, name)| f64::from(is) == number(name))
                && expected["elastic"] == elastic
        }
        Change::Ends { time_ms, job } => {
            near(time_ms, number("time_ms")) && f64::from(job) == number("job") && expected["end"] == true
        }
    }
}

#[test]
fn starts_sizes_and_ends_are_those_of_the_model() -> Result<(), Box<dyn Error>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/deadlines_reference");
    let dir = tempfile::tempdir()?;
    let (mut cases, mut resized, mut given_up) = (0, 0, 0);
    let mut paths: Vec<_> = fs::read_dir(&folder)?.map(|entry| entry.map(|e| e.path())).collect::<Result<_, _>>()?;
    paths.sort();
    for path in paths.iter().filter(|path| path.extension().is_some_and(|e| e == "json")) {
        let case: Value = serde_json::from_str(&fs::read_to_string(path)?)?;
        let file = dir.path().join("workload.json");
        fs::write(&file, case["workload"].to_string())?;
        let workload = DeadlineWorkload::open(&format!("json:{}", file.display()).parse()?)?;
        let seed = case["seed"].as_u64().ok_or("a seed is a number")?;
        for (name, expected) in case["policies"].as_object().ok_or("policies by name")? {
            let mut policy = policies::open(&name.parse()?)?;
            let mut sim = Simulator::new(workload.cluster().clone(), workload.jobs(seed), seed);
            sim.record_changes();
            policy.reset(seed);
            while let Some(seen) = sim.view() {
                let decision = policy.decide(&seen, &mut Default::default())?;
                given_up += u32::from(matches!(decision, sched_distill_deadlines::Decision::BestEffort { .. }));
                sim.step(decision)?;
            }
            let changes = expected["changes"].as_array().ok_or("changes are a list")?;
            for (i, (expected, found)) in changes.iter().zip(sim.changes()).enumerate() {
                assert!(close(expected, found), "{} {name} change {i}: {expected} and {found:?}", path.display());
            }
            assert_eq!(changes.len(), sim.changes().len(), "{} {name}", path.display());
            let starts = sim.changes().iter().filter(|change| matches!(change, Change::Runs { .. })).count();
            resized += starts - workload.jobs(seed).len();
            let outcome = sim.outcome().ok_or("the episode has ended")?;
            for figure in ["on_time", "tardiness_ms", "cores_used"] {
                let found = outcome.figures.iter().find(|(f, _)| *f == figure).and_then(|(_, value)| *value);
                let (found, expected) = (found.ok_or(figure)?, expected[figure].as_f64().ok_or(figure)?);
                assert!(
                    (found - expected).abs() <= 1e-9 * expected.abs().max(1.0),
                    "{name} {figure}: {found} {expected}"
                );
            }
        }
        cases += 1;
    }
    assert_eq!(cases, 20);
    assert!(resized > 100 && given_up > 50, "{resized} resizings, {given_up} deadlines given up");
    Ok(())
}
