//! Damaged logs of jobs and traces of DAGs: whatever is in a file, it is read or refused, and what is made of it is sound.

mod support;

use proptest::{prelude::*, test_runner::TestCaseError};
use sched_distill_histories::{
    HistoryError, dags,
    jobs::{self, Columns, Deadline, Times, Unit},
};
use std::fs;
use support::changes::{changed, changes};

const SWF: &str = "; MaxNodes: 8\n; UnixStartTime: 1000000000\n1 10 5 100 4 -1 -1 8 200 -1 1 3 1 -1 2 -1 -1 -1\n2 12 0 50 2 -1 -1 8 200 -1 0 3 1 -1 2 -1 -1 -1\n";
const SACCT: &str = "JobID|Submit|Start|End|Elapsed|AllocTRES|User|Partition|State\n1|2024-05-01T10:00:00|2024-05-01T10:05:00|2024-05-02T11:05:00|1-01:00:00|cpu=8,gres/gpu:a100=2,node=1|ann|gpu|COMPLETED\n1.batch|2024-05-01T10:00:00|2024-05-01T10:05:00|2024-05-02T11:05:00|1-01:00:00|cpu=8||gpu|COMPLETED\n2_1|2024-05-01T10:00:00|Unknown|None|00:00:00||bob|gpu|CANCELLED by 7\n";
const HELIOS: &str = "job_id,user,vc,gpu_num,cpu_num,node_num,state,submit_time,start_time,end_time,duration,queue\n7,u1,vcA,8,64,1,COMPLETED,2020-04-01 00:00:10,2020-04-01 00:01:10,2020-04-01 01:01:10,3600,60\n8,u2,vcB,0,4,1,FAILED,2020-04-01 00:00:00,None,,,0\n";
const CHRONUS: &str = "job_id,user,num_gpu,submit_time,iterations,model_name,duration,interval,expect_time_list,expect_value_list,best_effort,job_type\n0,vc_a,4,12,6910,resnet101,211,8,282,10,0,strict\n1,vc_b,0,13,8897,resnet101,31,6,88,10,0,strict\n";
const PHILLY: &str = r#"[{"status":"Pass","vc":"v1","jobid":"a1","attempts":[{"start_time":"2017-10-07 01:00:00","end_time":"2017-10-07 01:10:00","detail":[{"ip":"m1","gpus":["gpu0","gpu1"]}]}],"submitted_time":"2017-10-07 00:50:00","user":"u1"},
{"status":"Killed","vc":"v1","jobid":"a2","attempts":[{"start_time":"None","end_time":null,"detail":[]}],"submitted_time":"2017-10-07 00:40:00","user":"u1"}]"#;
const COLUMNS: &str = "id,in,from,to,took,gpus,due\n1,5.5,6,8,100,2,9\n2,\"7\",,,10,1,3\n3,4,5,9,,4,\n";
const TASKS: &str = "M1,8,j_1,1,Terminated,110,120,100,0.2\nR2_1,3,j_1,1,Terminated,120,150,50,0.2\nJ3_1_2,1,j_1,1,Running,150,0,100,0.2\ntask_a,1,j_2,1,Terminated,100,107,100,0.5\n";
const WORKFLOW: &str = r#"{"name":"w","schemaVersion":"1.5","workflow":{"specification":{"tasks":[
{"name":"a","id":"1","parents":[],"children":["2"]},{"name":"b","id":"2","parents":["1"],"children":["3"]},
{"name":"c","id":"3","parents":["2"],"children":[]}]},"execution":{"tasks":[{"id":"1","runtimeInSeconds":1.5},{"id":"3","runtimeInSeconds":0,"coreCount":2.0}]}}}"#;

fn columns(times: Times, is_after: bool) -> jobs::Format {
    let name = |name: &str| Some(name.to_owned());
    let due = "due".to_owned();
    jobs::Format::Columns(Box::new(Columns {
        id: name("id"),
        start: name("from"),
        end: name("to"),
        gpus: name("gpus"),
        deadline: Some(if is_after { Deadline::After(due) } else { Deadline::At(due) }),
        ..Columns::new("in", "took", times, Unit::Seconds)
    }))
}

fn flat() -> [(&'static str, jobs::Format); 7] {
    [
        (PHILLY, jobs::Format::Philly),
        (HELIOS, jobs::Format::Helios),
        (SWF, jobs::Format::Swf),
        (SACCT, jobs::Format::Sacct),
        (CHRONUS, jobs::Format::Chronus),
        (COLUMNS, columns(Times::Since(Unit::Hours), true)),
        (COLUMNS, columns(Times::SinceEpoch(Unit::Minutes), false)),
    ]
}

fn refused(error: &HistoryError, name: &str) -> Result<(), TestCaseError> {
    let message = support::whole(error);
    prop_assert!(message.contains(name) && !message.contains(char::is_control), "{message}");
    Ok(())
}

fn check_jobs(bytes: &[u8], format: &jobs::Format) -> Result<bool, TestCaseError> {
    let fail = |error: std::io::Error| TestCaseError::fail(error.to_string());
    let dir = tempfile::tempdir().map_err(fail)?;
    let path = dir.path().join("log.csv");
    fs::write(&path, bytes).map_err(fail)?;
    let _ = jobs::recognise(bytes, "log.swf");
    let log = match jobs::read(&path, format, &mut |_, _| {}) {
        Ok(log) => log,
        Err(error) => return refused(&error, "log.csv").map(|()| false),
    };
    prop_assert!(log.jobs.first().is_some_and(|job| job.submit_ms == 0));
    prop_assert!(log.jobs.is_sorted_by_key(|job| job.submit_ms));
    for job in &log.jobs {
        let (submit, start) = (job.submit_ms, job.start_ms.unwrap_or(job.submit_ms));
        prop_assert!(submit <= start && start <= job.end_ms.unwrap_or(start), "{job:?}");
        prop_assert!(
            job.duration_ms >= 0 && job.attempts > 0 && submit <= job.deadline_ms.unwrap_or(submit),
            "{job:?}"
        );
    }
    let asked: u64 = log.jobs.iter().map(|job| u64::from(job.gpus.unwrap_or(0))).sum();
    prop_assert!(log.most_used().is_none_or(|most| most.gpus <= asked));
    for note in log.notes() {
        prop_assert!(!note.is_empty() && !note.contains(char::is_control), "{note}");
    }
    Ok(true)
}

fn check_dags(bytes: &[u8], format: dags::Format) -> Result<bool, TestCaseError> {
    let fail = |error: std::io::Error| TestCaseError::fail(error.to_string());
    let dir = tempfile::tempdir().map_err(fail)?;
    let path = dir.path().join("log.csv");
    fs::write(&path, bytes).map_err(fail)?;
    let _ = dags::recognise(bytes, "batch_task.csv");
    let log = match dags::read(&path, format, &mut |_, _| {}) {
        Ok(log) => log,
        Err(error) => return refused(&error, "log.csv").map(|()| false),
    };
    for dag in &log.dags {
        let n = dag.stages.len();
        prop_assert!(n > 0 && dag.edges.windows(2).all(|two| two[0] < two[1]));
        prop_assert!(dag.edges.iter().all(|&[parent, child]| parent < child && (child as usize) < n));
        for stage in &dag.stages {
            prop_assert!(stage.num_tasks > 0 && stage.duration_ms.is_none_or(|ms| ms >= 0));
        }
    }
    for note in log.notes() {
        prop_assert!(!note.is_empty() && !note.contains(char::is_control), "{note}");
    }
    Ok(true)
}

#[test]
fn whole_files_are_sound() -> Result<(), TestCaseError> {
    for (text, format) in flat() {
        prop_assert!(check_jobs(text.as_bytes(), &format)?, "{format:?}");
    }
    prop_assert!(check_dags(TASKS.as_bytes(), dags::Format::AlibabaTasks)?);
    prop_assert!(check_dags(WORKFLOW.as_bytes(), dags::Format::WfCommons)?);
    Ok(())
}

proptest! {
    #![proptest_config(support::cases(500))]

    #[test]
    fn changed_jobs_are_read_or_refused(changes in changes()) {
        for (text, format) in flat() {
            check_jobs(&changed(text.as_bytes().to_vec(), &changes), &format)?;
        }
    }

    #[test]
    fn changed_dags_are_read_or_refused(changes in changes()) {
        check_dags(&changed(TASKS.as_bytes().to_vec(), &changes), dags::Format::AlibabaTasks)?;
        check_dags(&changed(WORKFLOW.as_bytes().to_vec(), &changes), dags::Format::WfCommons)?;
    }

    #[test]
    fn any_bytes_are_refused(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        for (_, format) in flat() {
            prop_assert!(!check_jobs(&bytes, &format)?);
        }
        prop_assert!(!check_dags(&bytes, dags::Format::AlibabaTasks)?);
        prop_assert!(!check_dags(&bytes, dags::Format::WfCommons)?);
    }
}
