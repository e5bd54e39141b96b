//! The simulator against a model in Python that was written from `docs/serving.md` alone (`scripts/serving_reference.py`): what
//! happens in random small cases, batch by batch.

use sched_distill_core::rng::hash;
use sched_distill_core::simulation::{JobEnd, Simulation as _};
use sched_distill_serving::{
    Decision, Question, View, policies,
    simulator::{BatchRun, Simulator},
    workload::ServingWorkload,
};
use serde_json::Value;
use std::{error::Error, fs, path::Path};

fn near(found: f64, expected: &Value) -> bool {
    expected.as_f64().is_some_and(|expected| (found - expected).abs() <= 1e-9 * expected.abs().max(1.0))
}

fn is_it(expected: &Value, found: &BatchRun) -> bool {
    expected["accelerator"] == found.accelerator
        && expected["application"] == found.application
        && serde_json::to_value(&found.tasks).is_ok_and(|tasks| tasks == expected["tasks"])
        && near(found.start_ms, &expected["start_ms"])
        && near(found.end_ms, &expected["end_ms"])
}

/// Any candidate, by a draw that both models make; some application rather than none where no batch runs.
fn random(seen: &View<'_>, question: u64) -> Decision {
    let place = |count: usize| (hash(&[7, question]) % count as u64) as usize;
    match seen.question() {
        Question::Serve => {
            let all: Vec<u32> = seen.candidates().collect();
            match all.get(place(all.len() + 1)) {
                Some(&application) => Decision::Serve { application },
                None if seen.running().next().is_none() => Decision::Serve { application: all[0] },
                None => Decision::Wait { until_ms: question.is_multiple_of(2).then(|| seen.time_ms() + 0.75) },
            }
        }
        Question::Form(_) => {
            let all: Vec<u32> = seen.groups().map(|group| group.task).collect();
            let close = usize::from(seen.batch().count > 0);
            all.get(place(all.len() + close)).map_or(Decision::Close, |&task| Decision::Add { task })
        }
    }
}

#[test]
fn what_happens_is_what_happens_in_the_model() -> Result<(), Box<dyn Error>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/serving_reference");
    let dir = tempfile::tempdir()?;
    let (mut cases, mut batches, mut refused) = (0, 0, 0);
    let mut paths: Vec<_> = fs::read_dir(&folder)?.map(|entry| entry.map(|e| e.path())).collect::<Result<_, _>>()?;
    paths.sort();
    for path in paths.iter().filter(|path| path.extension().is_some_and(|e| e == "json")) {
        let case: Value = serde_json::from_str(&fs::read_to_string(path)?)?;
        let file = dir.path().join("workload.json");
        fs::write(&file, case["workload"].to_string())?;
        let workload = ServingWorkload::open(&format!("json:{}", file.display()).parse()?)?;
        for (name, expected) in case["policies"].as_object().ok_or("policies by name")? {
            let mut policy = if name == "random" { None } else { Some(policies::open(&name.parse()?)?) };
            let mut sim =
                Simulator::new(workload.cluster().server.clone(), workload.jobs(0), workload.cluster().horizon_ms);
            sim.record_batches();
            let mut question = 0;
            while let Some(seen) = sim.view() {
                let decision = match &mut policy {
                    Some(policy) => policy.decide(&seen, &mut Default::default())?,
                    None => random(&seen, question),
                };
                question += 1;
                sim.step(decision)?;
            }
            let all = expected["batches"].as_array().ok_or("batches are a list")?;
            for (i, (expected, found)) in all.iter().zip(sim.batches()).enumerate() {
                assert!(is_it(expected, found), "{} {name} batch {i}: {expected} and {found:?}", path.display());
            }
            assert_eq!(all.len(), sim.batches().len(), "{} {name}", path.display());
            let outcome = sim.outcome().ok_or("the episode has ended")?;
            let is_refused = |end: &JobEnd| matches!(end, JobEnd::Rejected(_));
            let gone: Vec<u32> =
                (0..).zip(&outcome.jobs).filter(|(_, end)| is_refused(end)).map(|(id, _)| id).collect();
            assert_eq!(serde_json::to_value(&gone)?, expected["refused"], "{} {name}", path.display());
            for (figure, in_file) in [
                ("slowdown", "slowdown"),
                ("p95_ms", "p95_ms"),
                ("p99_ms", "p99_ms"),
                ("throughput", "throughput"),
                ("fairness", "fairness"),
                ("waste", "waste"),
                ("in_time", "in_time"),
                ("refused", "refused_share"),
            ] {
                let found = outcome.figure(figure).ok_or(figure)?;
                let expected = &expected[in_file];
                assert!(near(found, expected), "{} {name} {figure}: {found} {expected}", path.display());
            }
            let cost = sim.cost(0.0, outcome.final_time_ms);
            assert!(near(cost, &expected["cost"]), "{} {name}: {cost} {}", path.display(), expected["cost"]);
            (batches, refused) = (batches + all.len(), refused + gone.len());
        }
        cases += 1;
    }
    assert_eq!(cases, 20);
    assert!(batches > 2000 && refused > 100, "{batches} batches, {refused} refused");
    Ok(())
}
