//! Logs that `scripts/make_job_logs.py` writes, with what goes wrong in real ones: read as by the script itself, which shares no code with this
//! crate.

use sched_distill_histories::{
    dags,
    jobs::{self, Columns, Format, JobLog, Times, Unit},
};
use serde_json::Value;
use std::{error::Error, path::Path, process::Command};

type Outcome = Result<(), Box<dyn Error>>;

/// Writes the logs of a seed, and says what stands in them.
fn made(folder: &Path, seed: u32) -> Result<Value, Box<dyn Error>> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/make_job_logs.py");
    let output = Command::new("python3").arg(script).arg(folder).args(["--seed", &seed.to_string()]).output()?;
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Ok(serde_json::from_slice(&output.stdout)?)
}

/// What the script says of a log, said of ours.
fn totals(log: &JobLog, is_cores: bool) -> Value {
    let devices = |gpus: Option<u32>, cpus: Option<u32>| i64::from(if is_cores { cpus } else { gpus }.unwrap_or(0));
    let work_ms: i64 = log.jobs.iter().map(|job| devices(job.gpus, job.cpus) * job.duration_ms).sum();
    let most = log.most_used().map(|most| if is_cores { most.cpus } else { most.gpus });
    let mut found = serde_json::json!({
        "jobs": log.jobs.len(),
        "skipped": log.skipped_rows(),
        "span_s": log.jobs.last().map_or(0, |job| job.submit_ms) / 1000,
        "most_used": most,
    });
    found[if is_cores { "core_s" } else { "gpu_s" }] = (work_ms / 1000).into();
    if is_cores {
        found["cluster_nodes"] = log.cluster_nodes.into();
        found["cluster_cpus"] = log.cluster_cpus.into();
    }
    found
}

#[test]
#[cfg_attr(not(python), ignore = "needs python3")]
fn logs_of_jobs_are_read_to_the_unit() -> Outcome {
    let dir = tempfile::tempdir()?;
    for seed in 1..=4 {
        let said = made(dir.path(), seed)?;
        for (name, format) in [
            ("philly.json", Format::Philly),
            ("helios.csv", Format::Helios),
            ("cluster.swf", Format::Swf),
            ("sacct.txt", Format::Sacct),
        ] {
            let path = dir.path().join(name);
            assert_eq!(jobs::recognise_file(&path)?, Some(format.clone()), "{name}");
            let log = jobs::read(&path, &format, &mut |_, _| {})?;
            assert_eq!(totals(&log, format == Format::Swf), said[name], "seed {seed}: {name}: {:?}", log.notes());
            let most = said[name]["most_used"].as_u64().ok_or("a number")?;
            let size = said["size"].as_u64().ok_or("a number")?;
            assert!(0 < most && most <= size, "{name}: {most} of {size}");
            assert!(said[name]["skipped"].as_u64() > Some(0), "{name} has rows that are no job");
        }
        // A table whose columns are named says the same.
        let name = |name: &str| Some(name.to_owned());
        let columns = Columns {
            start: name("start_time"),
            end: name("end_time"),
            gpus: name("gpu_num"),
            queue: name("vc"),
            ..Columns::new("submit_time", "duration", Times::Calendar, Unit::Seconds)
        };
        let path = dir.path().join("helios.csv");
        let log = jobs::read(&path, &Format::Columns(Box::new(columns)), &mut |_, _| {})?;
        assert_eq!(totals(&log, false), said["helios.csv"], "seed {seed}");
    }
    Ok(())
}

#[test]
#[cfg_attr(not(python), ignore = "needs python3")]
fn tasks_of_alibaba_are_read_to_the_unit_and_what_has_none_is_refused() -> Outcome {
    let dir = tempfile::tempdir()?;
    for seed in 1..=4 {
        let said = &made(dir.path(), seed)?["batch_task.csv"];
        let log = dags::read(&dir.path().join("batch_task.csv"), dags::Format::AlibabaTasks, &mut |_, _| {})?;
        let stages = || log.dags.iter().flat_map(|dag| &dag.stages);
        let work_ms: i64 = stages().map(|stage| i64::from(stage.num_tasks) * stage.duration_ms.unwrap_or(0)).sum();
        let found = serde_json::json!({
            "jobs": log.dags.len(),
            "tasks": stages().count(),
            "edges": log.dags.iter().map(|dag| dag.edges.len()).sum::<usize>(),
            "missing": log.missing_parents,
            "skipped": log.skipped.iter().map(|skipped| skipped.count).sum::<u64>(),
            "span_s": stages().filter_map(|stage| stage.start_ms).max().unwrap_or(0) / 1000,
            "instance_s": work_ms / 1000,
        });
        assert_eq!(found, *said, "seed {seed}: {:?}", log.notes());
        for (name, says) in [
            ("batch_instance.csv", "a line has 14 cells, as in `batch_instance.csv`"),
            ("batch_task_2017.csv", "a line has 8 cells, as in the trace of 2017"),
        ] {
            let read = dags::read(&dir.path().join(name), dags::Format::AlibabaTasks, &mut |_, _| {});
            assert!(read.is_err_and(|error| error.to_string().contains(says)), "{name}");
        }
    }
    Ok(())
}

/// A number with a comma before every three digits.
fn grouped(number: &Value) -> String {
    let digits = number.to_string();
    let place = |i: usize| if i > 0 && (digits.len() - i).is_multiple_of(3) { "," } else { "" };
    digits.char_indices().map(|(i, digit)| format!("{}{digit}", place(i))).collect()
}

/// The figures of the examples in `docs/histories.md`.
#[test]
#[cfg_attr(not(python), ignore = "needs python3")]
fn the_document_says_what_stands_in_its_examples() -> Outcome {
    let docs = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/histories.md"))?;
    let dir = tempfile::tempdir()?;
    let said = made(dir.path(), 1)?;
    for (name, work) in
        [("philly.json", "gpu_s"), ("helios.csv", "gpu_s"), ("cluster.swf", "core_s"), ("sacct.txt", "gpu_s")]
    {
        let line = docs.lines().find(|line| line.contains(&format!(":logs/{name}`: "))).ok_or(name)?;
        let said = &said[name];
        let [jobs, skipped, span_s, work, used] =
            ["jobs", "skipped", "span_s", work, "most_used"].map(|what| grouped(&said[what]));
        for words in
            [format!("{jobs} jobs"), format!("{skipped} "), format!("{span_s} s"), work, format!("at most {used} ")]
        {
            assert!(line.contains(&words), "{words}: {line}");
        }
    }
    Ok(())
}
