//! The simulator against a model in Python that was written from `docs/preemption.md` alone (`scripts/preemption_reference.py`): what
//! happens in random small cases, change by change.

use sched_distill_core::{rng::hash, simulation::Simulation as _};
use sched_distill_preemption::{
    Decision, Question, View, policies,
    simulator::{Change, Simulator, What},
    workload::PreemptionWorkload,
};
use serde_json::Value;
use std::{error::Error, fs, path::Path};

fn near(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-9 * b.abs().max(1.0)
}

/// A change as the file has it, and as the simulator has it.
fn close(expected: &Value, found: &Change) -> bool {
    let what = match found.what {
        What::Begins => "begins",
        What::Computes => "computes",
        What::Saves => "saves",
        What::Suspended => "suspended",
        What::Failed => "failed",
        What::Ends => "ends",
    };
    let nodes: Vec<(u32, u32)> = serde_json::from_value(expected["nodes"].clone()).unwrap_or_default();
    near(found.time_ms, expected["time_ms"].as_f64().unwrap_or(f64::NAN))
        && expected["job"] == found.job
        && expected["what"] == what
        && nodes == found.nodes
}

/// Any candidate, by a draw that both models make; some job rather than none where nothing goes on.
fn random(seen: &View<'_>, question: u64) -> Decision {
    let all: Vec<u32> = seen.candidates().collect();
    let place = (hash(&[7, question]) % (all.len() as u64 + 1)) as usize;
    match (seen.question(), all.get(place)) {
        (Question::Serve, Some(&job)) => Decision::Serve { job },
        (Question::Serve, None) if seen.busy().is_empty() && !all.is_empty() => Decision::Serve { job: all[0] },
        (Question::Condemn(_), Some(&job)) => Decision::Condemn { job },
        _ => Decision::Wait,
    }
}

#[test]
fn what_happens_is_what_happens_in_the_model() -> Result<(), Box<dyn Error>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/preemption_reference");
    let dir = tempfile::tempdir()?;
    let (mut cases, mut suspended, mut failed) = (0, 0, 0);
    let mut paths: Vec<_> = fs::read_dir(&folder)?.map(|entry| entry.map(|e| e.path())).collect::<Result<_, _>>()?;
    paths.sort();
    for path in paths.iter().filter(|path| path.extension().is_some_and(|e| e == "json")) {
        let case: Value = serde_json::from_str(&fs::read_to_string(path)?)?;
        let file = dir.path().join("workload.json");
        fs::write(&file, case["workload"].to_string())?;
        let workload = PreemptionWorkload::open(&format!("json:{}", file.display()).parse()?)?;
        let seed = case["seed"].as_u64().ok_or("a seed is a number")?;
        for (name, expected) in case["policies"].as_object().ok_or("policies by name")? {
            let mut policy = if name == "random" { None } else { Some(policies::open(&name.parse()?)?) };
            let mut sim = Simulator::new(workload.cluster().clone(), workload.jobs(seed), seed);
            sim.record_changes();
            let mut question = 0;
            while let Some(seen) = sim.view() {
                let decision = match &mut policy {
                    Some(policy) => policy.decide(&seen, &mut Default::default())?,
                    None => random(&seen, question),
                };
                question += 1;
                sim.step(decision)?;
            }
            let changes = expected["changes"].as_array().ok_or("changes are a list")?;
            for (i, (expected, found)) in changes.iter().zip(sim.changes()).enumerate() {
                assert!(close(expected, found), "{} {name} change {i}: {expected} and {found:?}", path.display());
            }
            assert_eq!(changes.len(), sim.changes().len(), "{} {name}", path.display());
            let count = |what: What| sim.changes().iter().filter(|change| change.what == what).count();
            suspended += count(What::Suspended);
            failed += count(What::Failed);
            let outcome = sim.outcome().ok_or("the episode has ended")?;
            for (figure, in_file) in [
                ("waiting_ms", "mean_waiting_ms"),
                ("jct_ms", "mean_completion_ms"),
                ("makespan_ms", "makespan_ms"),
                ("p99_waiting_ms", "p99_waiting_ms"),
                ("lost_ms", "gpu_time_lost_ms"),
                ("preemptions", "preemptions"),
            ] {
                let found = outcome.figures.iter().find(|(f, _)| *f == figure).and_then(|(_, value)| *value);
                let (found, expected) = (found.ok_or(figure)?, expected[in_file].as_f64().ok_or(in_file)?);
                assert!(
                    (found - expected).abs() <= 1e-9 * expected.abs().max(1.0),
                    "{} {name} {figure}: {found} {expected}",
                    path.display()
                );
            }
        }
        cases += 1;
    }
    assert_eq!(cases, 20);
    assert!(suspended > 1000 && failed > 100, "{suspended} suspended, {failed} failed");
    Ok(())
}
