//! The `dag` simulator reproduces every recorded trace of the reference simulator, decision by decision.

use crate::common::reference;
use sched_distill::{
    dag::{Dag, Decision, Source, StageRef, View, simulator::Simulator, workload},
    policy::Policy,
    registry::Registered as _,
    scenario::Said,
    simulation::Simulation as _,
};
use serde_json::{Value, json};

/// The golden file's workload in the documented JSON format.
fn as_workload(golden: &Value) -> Value {
    let jobs = golden["workload"]["jobs"].as_array().unwrap().iter().map(|job| {
        let stages = job["stages"].as_array().unwrap().iter().map(|s| {
            let durations = json!({"fresh": s["fresh_ms"], "first": s["first_ms"], "rest": s["rest_ms"]});
            json!({"num_tasks": s["num_tasks"], "rough_ms": s["rough_ms"], "durations": durations})
        });
        json!({"arrival_ms": job["arrival_ms"], "edges": job["edges"], "stages": stages.collect::<Vec<_>>()})
    });
    json!({
        "num_executors": golden["workload"]["num_executors"],
        "moving_delay_ms": golden["workload"]["moving_delay_ms"],
        "jobs": jobs.collect::<Vec<_>>(),
    })
}

fn source_name(observation: &View<'_>) -> String {
    match observation.source() {
        Source::Common => "common".to_owned(),
        Source::Job(job) => format!("job {job}"),
        Source::Stage(s) => format!("stage {} {}", s.job, s.stage),
    }
}

/// The policies that must decide as recorded; the others are replayed only.
fn own_policy(name: &str) -> Option<Box<dyn Policy<Dag>>> {
    let spec = match name {
        "fair" | "fifo" => name.to_owned(),
        "decima" => format!("decima:{},mode=greedy", reference("decima-model/model.pt").display()),
        _ => return None,
    };
    Some(Dag::open(&spec.parse().unwrap()).unwrap())
}

/// Replays the recorded actions and compares everything that was recorded.
fn replay(file: &str) {
    let text = std::fs::read_to_string(reference(&format!("spark-sim-golden/{file}.json"))).unwrap();
    let golden: Value = serde_json::from_str(&text).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("workload.json");
    std::fs::write(&path, as_workload(&golden).to_string()).unwrap();
    let workload = workload::open(&format!("json:{}", path.display()).parse().unwrap()).unwrap();
    for (policy, result) in golden["results"].as_object().unwrap() {
        let at = |step: usize, what: &str| format!("{file}, {policy}, decision {step}: {what}");
        let columns: Vec<&str> =
            result["decision_columns"].as_array().unwrap().iter().map(|c| c.as_str().unwrap()).collect();
        let beta = golden["workload"]["beta"].as_f64().unwrap();
        let mut sim = Simulator::new(*workload.cluster(), workload.jobs(0), 0).with_discount(beta);
        let mut own = own_policy(policy);
        for (step, row) in result["decisions"].as_array().unwrap().iter().enumerate() {
            let field = |name: &str| &row[columns.iter().position(|c| *c == name).unwrap()];
            let seen = sim.view().unwrap_or_else(|| panic!("{}", at(step, "the episode has ended")));
            assert_eq!(seen.time_ms(), field("time_ms").as_f64().unwrap(), "{}", at(step, "time"));
            assert_eq!(source_name(&seen), field("source").as_str().unwrap(), "{}", at(step, "source"));
            assert_eq!(
                u64::from(seen.committable()),
                field("committable").as_u64().unwrap(),
                "{}",
                at(step, "committable")
            );
            assert_eq!(json!(seen.active_jobs()), *field("active_jobs"), "{}", at(step, "active jobs"));
            let supply: Vec<u32> = seen.active_jobs().iter().map(|&job| seen.job(job).supply()).collect();
            assert_eq!(json!(supply), *field("supply"), "{}", at(step, "supply"));
            let schedulable: Vec<[u32; 2]> = seen.schedulable().iter().map(|s| [s.job, s.stage]).collect();
            assert_eq!(json!(schedulable), *field("schedulable"), "{}", at(step, "schedulable"));
            let decision = match field("job").as_i64().unwrap() {
                -1 => Decision::Abstain,
                job => Decision::Assign {
                    stage: StageRef { job: job as u32, stage: field("stage").as_u64().unwrap() as u32 },
                    executors: field("num_exec").as_u64().unwrap() as u32,
                },
            };
            if let Some(own) = &mut own {
                // The smallest gap between Decima's best and second score in these files is 5e-4, far above rounding.
                let answer = own.decide(&seen, &mut Said::default()).unwrap();
                assert_eq!(answer, decision, "{}", at(step, "decision"));
            }
            let outcome = sim.step(decision).unwrap();
            assert_eq!(u64::from(outcome.committed), field("committed").as_u64().unwrap(), "{}", at(step, "committed"));
            assert_eq!(outcome.reward, field("reward").as_f64().unwrap(), "{}", at(step, "reward"));
        }
        let outcome = sim.outcome().unwrap_or_else(|| panic!("{file}, {policy}: more decisions than recorded"));
        let number = |key: &str| result[key].as_f64().unwrap();
        let completion: Vec<f64> =
            result["job_completion_ms"].as_array().unwrap().iter().map(|c| c.as_f64().unwrap()).collect();
        let ends: Vec<f64> = outcome.jobs.iter().map(|end| end.completion_ms().unwrap()).collect();
        assert_eq!(ends, completion, "{file}, {policy}: completion times");
        assert_eq!(outcome.objective(), Some(number("avg_job_duration_ms")), "{file}, {policy}: mean duration");
        assert_eq!(outcome.total_reward, number("total_reward"), "{file}, {policy}: total reward");
        assert_eq!(outcome.final_time_ms, number("final_wall_time_ms"), "{file}, {policy}: final clock");
        assert_eq!(outcome.events as f64, number("events"), "{file}, {policy}: events");
        assert_eq!(outcome.decisions as f64, number("num_decisions"), "{file}, {policy}: decisions");
        let records = sim.stage_records();
        let stages = result["stages"].as_array().unwrap();
        assert_eq!(records.len(), stages.len());
        for (record, expected) in records.iter().zip(stages) {
            let found = json!([
                record.stage.job,
                record.stage.stage,
                record.first_launch_ms,
                record.completion_ms,
                record.launches[0],
                record.launches[1],
                record.launches[2]
            ]);
            let as_floats = |v: &Value| v.as_array().unwrap().iter().map(|x| x.as_f64().unwrap()).collect::<Vec<_>>();
            assert_eq!(as_floats(&found), as_floats(expected), "{file}, {policy}: {}", record.stage);
        }
        let launches: u32 = records.iter().flat_map(|r| r.launches).sum();
        assert_eq!(f64::from(launches), number("num_task_launches"), "{file}, {policy}: launches");
    }
}

#[test]
#[cfg_attr(not(reference_data), ignore = "needs the reference data in ../shared")]
fn tiny_is_reproduced() {
    replay("tiny");
}

#[test]
#[cfg_attr(not(reference_data), ignore = "needs the reference data in ../shared")]
fn many_simultaneous_events_are_reproduced() {
    replay("ties");
}

#[test]
#[cfg_attr(not(reference_data), ignore = "needs the reference data in ../shared")]
fn tpch_shaped_jobs_on_50_executors_are_reproduced() {
    replay("tpch-shapes");
}
