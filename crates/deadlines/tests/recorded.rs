//! Jobs of a log as a workload file: what is written, read again, cut and replayed.

#[path = "../../../tests/support/job_files.rs"]
mod job_files;

use job_files::{Outcome, have_the_same_windows, open, refuse_runs_that_cannot_be, refused, replayed, swf, write};
use sched_distill_core::{
    rng::{EpisodeId, Split},
    simulation::Simulated,
};
use sched_distill_deadlines::{Deadlines, workload::DeadlineWorkload};
use std::fs;

/// A log as a workload, and the file that it is written as, have the same cluster and jobs, whole and cut.
#[test]
fn a_log_and_the_workload_file_that_it_becomes_are_the_same() -> Outcome {
    let dir = tempfile::tempdir()?;
    let (log, file) = (dir.path().join("log.swf"), dir.path().join("jobs.json"));
    fs::write(&log, swf(2000))?;
    let errors = "inflated=0.3,prediction-error=0.2,refuse=1";
    let log = format!("swf:{},{errors}", log.display());
    let file_spec = format!("json:{}", file.display());
    let id = EpisodeId::new(3, Split::Train, 0);
    let whole = open::<Deadlines>(&format!("{log},split=none"))?;
    write(&whole, &whole.jobs(id), &file)?;
    let read = open::<Deadlines>(&file_spec)?;
    assert_eq!((read.cluster(), read.jobs(id)), (whole.cluster(), whole.jobs(id)));
    assert_eq!(replayed(&read, id)?, replayed(&whole, id)?);
    assert_eq!(replayed(&read, id)?.1, 50);
    for cut in ["split=time", "split=interleaved,window=6h,stride=2h,gap=1h,rate=3"] {
        let (from_log, from_file) =
            (open::<Deadlines>(&format!("{log},{cut}"))?, open::<Deadlines>(&format!("{file_spec},{cut}"))?);
        assert_eq!(from_file.cluster(), from_log.cluster());
        have_the_same_windows(&from_log, &from_file, |job| job.arrival_ms == 0.0);
        let id = EpisodeId::new(1, Split::Test, 2);
        assert_eq!(replayed(&from_file, id)?, replayed(&from_log, id)?);
    }
    assert_eq!(open::<Deadlines>(&format!("{file_spec},rate=2"))?.jobs(id)[1].arrival_ms, 9e5);
    let message = refused::<Deadlines>(&format!("{file_spec},window=6h"));
    assert!(message.contains("window must be given with split=time"), "{message}");
    Ok(())
}

/// Jobs of which nothing is recorded, and those of other logs.
#[test]
fn jobs_of_all_workloads_are_written() -> Outcome {
    let dir = tempfile::tempdir()?;
    let (table, file) = (dir.path().join("jobs.csv"), dir.path().join("jobs.json"));
    fs::write(&table, "submit_s,duration_s,num_gpus,vc\n50,600,4,a\n10,0,1,b\n70,7200,32,a\n")?;
    let id = EpisodeId::new(5, Split::Test, 1);
    // Models that were measured, and deadlines of the log's own.
    let chronus = dir.path().join("chronus.csv");
    fs::write(dir.path().join("model_info.json"), r#"{"a": {"2": {"1": 1, "2": 0.9}}, "b": {"4": {"1": 0.9}}}"#)?;
    let rows = (0..20)
        .map(|i| format!("{i},u,{},{},100,{},{},8,90,10,0,strict\n", 1 + i % 4, 7 * i, ["a", "b"][i % 2], 20 + i));
    let header = "job_id,user,num_gpu,submit_time,iterations,model_name,duration,interval,expect_time_list,expect_value_list,best_effort,job_type\n";
    fs::write(&chronus, std::iter::once(header.to_owned()).chain(rows).collect::<String>())?;
    for spec in [
        "builtin".to_owned(),
        "builtin,edge=misdeclared,prediction-error=0.3,refuse=1,nodes=3".to_owned(),
        format!("philly:{}", table.display()),
        format!("chronus:{},size=16,split=none", chronus.display()),
        // Without starts a schedule cannot be carried out again.
        format!("csv:{},submit=submit_s,duration=duration_s,gpus=num_gpus,size=64,split=none", table.display()),
    ] {
        let workload = open::<Deadlines>(&spec)?;
        write(&workload, &workload.jobs(id), &file)?;
        let read = open::<Deadlines>(&format!("json:{}", file.display()))?;
        assert_eq!((read.cluster(), read.jobs(id)), (workload.cluster(), workload.jobs(id)), "{spec}");
        let unknown = |workload: &DeadlineWorkload| Deadlines::replay(&workload.jobs(id)).map(|replay| replay.unknown);
        assert_eq!(unknown(&read), unknown(&workload), "{spec}");
    }
    let workload = open::<Deadlines>("builtin")?;
    let mut jobs = workload.jobs(id);
    jobs[2].bias = f64::NAN;
    let says = write(&workload, &jobs, &file).map_err(|error| error.to_string());
    assert_eq!(says, Err("job 2: bias must be in 1e-3..=1e3, got NaN".to_owned()));
    assert_eq!(
        write(&workload, &[], &file).map_err(|error| error.to_string()),
        Err("there are no jobs to write".to_owned())
    );
    Ok(())
}

#[test]
fn what_is_wrong_with_a_recorded_job_is_said() -> Outcome {
    refuse_runs_that_cannot_be::<Deadlines>()
}
