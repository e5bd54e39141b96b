//! Logs of jobs: one that is published, and small ones of every format with what goes wrong in them.

use sched_distill_histories::{
    HistoryError,
    jobs::{self, Columns, Deadline, FlatJob, Format, JobLog, MostUsed, State, Times, Unit},
};
use std::{
    error::Error,
    fs,
    io::Write,
    path::{Path, PathBuf},
};

type Outcome = Result<(), Box<dyn Error>>;

/// A file of the reference data (`../shared/histories`, not part of the repository). A test that calls this carries
/// `#[cfg_attr(not(reference_data), ignore = "needs the reference data in ../shared")]`.
fn shared(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/histories").join(path)
}

fn read_bytes(bytes: &[u8], name: &str, format: &Format) -> Result<JobLog, HistoryError> {
    let dir = tempfile::tempdir().expect("there is room for a file");
    let path = dir.path().join(name);
    fs::write(&path, bytes).expect("there is room for a file");
    jobs::read(&path, format, &mut |read, of| assert!(read <= of))
}

fn read(text: &str, format: &Format) -> Result<JobLog, HistoryError> {
    read_bytes(text.as_bytes(), "log", format)
}

fn refusal(text: &str, format: &Format) -> String {
    match read(text, format) {
        Ok(log) => format!("read: {log:?}"),
        Err(error) => error.to_string(),
    }
}

fn skipped(log: &JobLog) -> Vec<(&str, u64, u64)> {
    log.skipped.iter().map(|skipped| (&*skipped.reason, skipped.count, skipped.first)).collect()
}

/// Id, submission, start, end and duration.
fn times(job: &FlatJob) -> (&str, i64, Option<i64>, Option<i64>, i64) {
    (&job.id, job.submit_ms, job.start_ms, job.end_ms, job.duration_ms)
}

/// GPUs, cores and nodes.
fn resources(job: &FlatJob) -> [Option<u32>; 3] {
    [job.gpus, job.cpus, job.nodes]
}

fn gzip(text: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(text).and_then(|()| encoder.finish()).expect("memory takes everything")
}

#[test]
#[cfg_attr(not(reference_data), ignore = "needs the reference data in ../shared")]
fn a_published_log_with_deadlines_is_read() -> Outcome {
    let path = shared("chronus/trace_job_Philly_SLO.csv");
    assert_eq!(jobs::recognise_file(&path)?, Some(Format::Chronus));
    let mut told = 0;
    let log = jobs::read(&path, &Format::Chronus, &mut |read, of| {
        assert!(told <= read && read <= of);
        told = read;
    })?;
    assert_eq!(told, fs::metadata(&path)?.len());
    assert_eq!((log.jobs.len(), skipped(&log)), (30_735, vec![("it asks for 0 GPUs", 205, 190)]));
    assert_eq!(log.jobs.len() as u64 + log.skipped_rows(), 30_940);
    // Of every row, GPUs times duration.
    let gpu_ms: i64 = log.jobs.iter().map(|job| i64::from(job.gpus.unwrap_or(0)) * job.duration_ms).sum();
    assert_eq!(gpu_ms, 22_110_655 * 60_000);
    assert!(log.jobs.is_sorted_by_key(|job| job.submit_ms) && log.jobs[0].submit_ms == 0);
    assert_eq!((log.origin_ms, log.is_since_1970), (60_000, false));
    let first = log.jobs.iter().find(|job| &*job.id == "0").ok_or("job 0")?;
    assert_eq!(times(first), ("0", 12_197 * 60_000, None, None, 211 * 60_000));
    assert_eq!((first.gpus, first.user.as_deref()), (Some(4), Some("vc_103959")));
    assert_eq!(first.deadline_ms, Some((12_197 + 282) * 60_000));
    assert!(log.jobs.iter().all(|job| job.deadline_ms.is_some()));
    assert_eq!(log.most_used(), None);
    let notes = log.notes().join("\n");
    assert!(
        notes.contains("no job has a start") && notes.contains("size of the cluster") && !notes.contains("deadline")
    );
    Ok(())
}

const CHRONUS: &str = "\
job_id,user,num_gpu,submit_time,iterations,model_name,duration,interval,expect_time_list,expect_value_list,best_effort,job_type
0,vc_a,4,12,6910,resnet101,211,8,282,10,0,strict
1,vc_b,0,13,8897,resnet101,31,6,88,10,0,strict
2,vc_a,1,2.5,8897,resnet101,31,6,,10,0,strict
3,vc_a,1,x,8897,resnet101,31,6,88,10,0,strict
4,vc_a,1,5
";

#[test]
fn chronus_is_read() -> Outcome {
    let log = read(CHRONUS, &Format::Chronus)?;
    assert_eq!(
        log.jobs.iter().map(times).collect::<Vec<_>>(),
        [("2", 0, None, None, 1_860_000), ("0", 570_000, None, None, 12_660_000)]
    );
    assert_eq!(log.jobs.iter().map(|job| job.deadline_ms).collect::<Vec<_>>(), [None, Some(17_490_000)]);
    assert_eq!(
        skipped(&log),
        [
            ("it asks for 0 GPUs", 1, 3),
            ("`submit_time` is no time as a number", 1, 5),
            ("it has not as many cells as the first line", 1, 6)
        ]
    );
    Ok(())
}

fn columns() -> Columns {
    let name = |name: &str| Some(name.to_owned());
    Columns {
        id: name("name"),
        start: name("Start"),
        gpus: name("gpus"),
        cpus: name("cpus"),
        nodes: name("nodes"),
        user: name("user"),
        queue: name("queue"),
        state: name("state"),
        deadline: Some(Deadline::At("due".to_owned())),
        ..Columns::new("submit", "took", Times::Calendar, Unit::Hours)
    }
}

const COLUMNS: &str = "\
name,submit,start,took,gpus,cpus,nodes,user,queue,state,due,more
\"a,\"\"1\"\"\",2024-03-01 00:00:00,2024-03-01T01:00:00+00:00,0.5,2,8,1,me,q,COMPLETED,2024-03-01 06:00,x
b,2024-02-29T23:59:59Z,,2,2.0,,,None,q,CANCELLED by 7,,x

c,2024-03-01 00:00:00,2024-02-29 00:00:00,2,1,1,1,me,q,FAILED,,x
d,2024-03-01 00:00:00,2024-03-01 00:00:00,-2,1,1,1,me,q,FAILED,,x
e,2024-03-01 00:00:00,2024-03-01 00:00:00,None,1,1,1,me,q,FAILED,,x
f,2024-03-01 00:00:00,2024-03-01 00:00:00,1,1.5,1,1,me,q,FAILED,,x
g,2024-03-01 00:00:00,2024-03-01 00:00:00,1,1,1,1,me,q,FAILED,2024-02-01 00:00:00,x
h,2024-13-01 00:00:00,2024-03-01 00:00:00,1,1,1,1,me,q,FAILED,,x
\"i,2024-03-01 00:00:00,2024-03-01 00:00:00,1,1,1,1,me,q,FAILED,,x
j,2024-03-01 00:00:00,2024-03-01 01:15:00,1,3,1,1,me,q,NODE_FAIL,,x
";

#[test]
fn named_columns_are_read() -> Outcome {
    let format = Format::Columns(Box::new(columns()));
    for text in [COLUMNS.to_owned(), COLUMNS.replace('\n', "\r\n"), format!("\u{feff}{COLUMNS}")] {
        let log = read(&text, &format)?;
        let hour = 3_600_000;
        assert_eq!(
            log.jobs.iter().map(times).collect::<Vec<_>>(),
            [
                ("b", 0, None, None, 2 * hour),
                ("a,\"1\"", 1000, Some(hour + 1000), Some(hour * 3 / 2 + 1000), hour / 2),
                ("j", 1000, Some(hour * 5 / 4 + 1000), Some(hour * 9 / 4 + 1000), hour),
            ]
        );
        assert_eq!(
            log.jobs.iter().map(resources).collect::<Vec<_>>(),
            [[Some(2), None, None], [Some(2), Some(8), Some(1)], [Some(3), Some(1), Some(1)]]
        );
        assert_eq!(
            log.jobs.iter().map(|job| job.state).collect::<Vec<_>>(),
            [State::Killed, State::Completed, State::Failed]
        );
        assert_eq!((log.jobs[0].user.as_deref(), log.jobs[1].user.as_deref()), (None, Some("me")));
        assert_eq!(log.jobs[1].deadline_ms, Some(6 * hour + 1000));
        assert_eq!((log.origin_ms, log.is_since_1970), (1_709_251_199_000, true));
        assert_eq!(
            skipped(&log),
            [
                ("it starts before it is submitted", 1, 5),
                ("its duration is below 0", 1, 6),
                ("it has not run or not ended, so that its duration is not known", 1, 7),
                ("`gpus` is no whole number from 0 on", 1, 8),
                ("its deadline is before it is submitted", 1, 9),
                ("`submit` is no time as YYYY-MM-DD HH:MM:SS", 1, 10),
                ("a quote is not closed in its line", 1, 11),
            ]
        );
        assert_eq!(log.most_used(), Some(MostUsed { gpus: 5, cpus: 9, jobs: 2 }));
        assert!(log.notes().contains(&"1 of 3 jobs have no start: how long they waited is not known".to_owned()));
    }
    Ok(())
}

#[test]
fn columns_of_times_make_up_for_each_other() -> Outcome {
    let start_end = Columns {
        duration: None,
        start: Some("start".to_owned()),
        end: Some("end".to_owned()),
        separator: ';',
        ..Columns::new("submit", "", Times::SinceEpoch(Unit::Milliseconds), Unit::Seconds)
    };
    let log = read("submit;start;end\n10;20;50\n11;12;20\n", &Format::Columns(Box::new(start_end.clone())))?;
    assert_eq!(
        log.jobs.iter().map(times).collect::<Vec<_>>(),
        [("2", 0, Some(10), Some(40), 30), ("3", 1, Some(2), Some(10), 8)]
    );
    let end = Columns {
        end: Some("end".to_owned()),
        deadline: Some(Deadline::After("due".to_owned())),
        ..Columns::new("submit", "took", Times::Since(Unit::Minutes), Unit::Seconds)
    };
    let log = read("submit,took,end,due\n1,30,3,600\n", &Format::Columns(Box::new(end)))?;
    assert_eq!(times(&log.jobs[0]), ("2", 0, Some(90_000), Some(120_000), 30_000));
    assert_eq!((log.jobs[0].deadline_ms, log.origin_ms), (Some(600_000), 60_000));
    // One that ends when another starts has made room; one that takes no time is never there.
    let gpus = Columns { gpus: Some("gpus".to_owned()), ..start_end.clone() };
    let text = "submit;start;end;gpus\n0;0;9;4\n0;9;12;3\n0;5;5;100\n0;7;9;1\n";
    let log = read(text, &Format::Columns(Box::new(gpus)))?;
    assert_eq!(log.most_used(), Some(MostUsed { gpus: 5, cpus: 0, jobs: 4 }));
    let neither = Columns { end: None, ..start_end };
    let message = refusal("submit;start;end\n", &Format::Columns(Box::new(neither)));
    assert!(message.contains("neither a duration nor both a start and an end are named"), "{message}");
    Ok(())
}

const SACCT: &str = "\
State|JobID|Submit|Start|End|Elapsed|AllocTRES|ReqTRES|User|Partition|Restarts
COMPLETED|101|2024-05-01T10:00:00|2024-05-01T10:05:00|2024-05-02T11:05:00|1-01:00:00|billing=8,cpu=8,gres/gpu:a100=2,gres/gpu=2,mem=16G,node=1|cpu=8|ann|gpu|1
COMPLETED|101.batch|2024-05-01T10:05:00|2024-05-01T10:05:00|2024-05-02T11:05:00|1-01:00:00|cpu=8,mem=16G,node=1||||0
COMPLETED|101.0|2024-05-01T10:05:00|2024-05-01T10:05:00|2024-05-02T11:05:00|1-01:00:00|cpu=8,mem=16G,node=1||||0
TIMEOUT|102_4|2024-05-01T09:00:00|2024-05-01T10:00:00|2024-05-01T10:10:00|00:10:00|cpu=4,gres/gpu:a100=1,gres/gpu:h100=2,node=2|cpu=1|bob|gpu|0
CANCELLED by 1000|103|2024-05-01T09:00:00|Unknown|2024-05-01T09:10:00|00:00:00||cpu=2,node=1|bob|cpu|0
RUNNING|104|2024-05-01T09:00:00|2024-05-01T09:10:00|Unknown|00:30:00|cpu=2,node=1|cpu=2|bob|cpu|0
PENDING|105_[5-8]|2024-05-01T09:00:00|None|Unknown|00:00:00||cpu=2|bob|cpu|0
NODE_FAIL|106|2024-05-01T11:00:00|2024-05-01T11:00:00|2024-05-01T11:00:09|00:09||cpu=2|bob|cpu|0
COMPLETED|107|yesterday|2024-05-01T11:00:00|2024-05-01T11:00:09|00:09||cpu=2|bob|cpu|0
COMPLETED|108|2024-05-01T11:00:00|2024-05-01T11:00:00|2024-05-01T11:00:09|9 s||cpu=2|bob|cpu|0
COMPLETED|109|2024-05-01T11:00:00|2024-05-01T11:00:00|2024-05-01T11:00:09|00:09|cpu=2K||bob|cpu|0
COMPLETED|110|2024-05-01T11:00:00
";

#[test]
fn sacct_is_read() -> Outcome {
    // `--parsable` ends each line with a separator.
    for text in [SACCT.to_owned(), SACCT.replace('\n', "|\n")] {
        let log = read(&text, &Format::Sacct)?;
        assert_eq!(
            log.jobs.iter().map(times).collect::<Vec<_>>(),
            [
                ("102_4", 0, Some(3_600_000), Some(4_200_000), 600_000),
                ("101", 3_600_000, Some(3_900_000), Some(93_900_000), 90_000_000),
                ("106", 7_200_000, Some(7_200_000), Some(7_209_000), 9000),
            ]
        );
        assert_eq!(
            log.jobs.iter().map(resources).collect::<Vec<_>>(),
            [[Some(3), Some(4), Some(2)], [Some(2), Some(8), Some(1)], [Some(0), Some(2), None]]
        );
        assert_eq!(
            log.jobs.iter().map(|job| (job.state, job.attempts)).collect::<Vec<_>>(),
            [(State::Killed, 1), (State::Completed, 2), (State::Failed, 1)]
        );
        assert_eq!((log.jobs[0].user.as_deref(), log.jobs[0].queue.as_deref()), (Some("bob"), Some("gpu")));
        assert_eq!(
            skipped(&log),
            [
                ("it is a step of a job", 2, 3),
                ("it has not run or not ended, so that its duration is not known", 3, 6),
                ("a time is not written as YYYY-MM-DDTHH:MM:SS", 1, 10),
                ("`Elapsed` is not written as [days-]hh:mm:ss", 1, 11),
                ("a count of AllocTRES or ReqTRES is no number", 1, 12),
                ("it has not as many cells as the first line", 1, 13),
            ]
        );
        assert_eq!(log.most_used(), Some(MostUsed { gpus: 5, cpus: 12, jobs: 3 }));
    }
    // Other columns, in another order.
    let text = "End|Start|Submit|JobIDRaw|ElapsedRaw|AllocCPUS|NNodes|ReqCPUS\n2024-05-01T10:01:00|2024-05-01T10:00:00|2024-05-01T10:00:00|7|50|0|3|6\n";
    let log = read(text, &Format::Sacct)?;
    assert_eq!(
        (times(&log.jobs[0]), resources(&log.jobs[0])),
        (("7", 0, Some(0), Some(60_000), 50_000), [None, Some(6), Some(3)])
    );
    // GPUs that are not accounted for are not known, rather than 0.
    let log = read(&SACCT.replace("gres/gpu", "gres/x"), &Format::Sacct)?;
    assert!(log.jobs.iter().all(|job| job.gpus.is_none()) && log.notes().join("\n").contains("no job has gres/gpu"));
    Ok(())
}

const SWF: &str = "\
; Version: 2.2
; MaxNodes: 128
;  MaxProcs: 256 (two each)
; UnixStartTime: 1000000000
; Note: MaxProcs: 7
  1  10  5 100  4 -1 -1  8 200 -1 1 3 1 -1 2 -1 -1 -1
  2   8 -1  50 -1 -1 -1 16 200 -1 0 -1 1 -1 -1 -1 -1 -1
  3  20  0  -1 -1 -1 -1 16 200 -1 5 4 1 -1 1 -1 -1 -1
  1  10  5  40  4 -1 -1  8 200 -1 2 3 1 -1 2 -1 -1 -1
  4  30  0  10  4 12.5 -1  8 200 -1 5 3 1 -1 2 -1 -1 -1
  5  -1  0  10  4 -1 -1  8 200 -1 1 3 1 -1 2 -1 -1 -1
  6  30  0  10  4 -1 -1  8 200 -1 1 3 1 -1 2 -1 -1
  7  30  0  ten  4 -1 -1  8 200 -1 1 3 1 -1 2 -1 -1 -1
";

#[test]
fn swf_is_read() -> Outcome {
    for bytes in [SWF.as_bytes().to_vec(), gzip(SWF.as_bytes())] {
        let log = read_bytes(&bytes, "log.swf", &Format::Swf)?;
        assert_eq!(
            log.jobs.iter().map(times).collect::<Vec<_>>(),
            [
                ("2", 0, None, None, 50_000),
                ("1", 2000, Some(7000), Some(107_000), 100_000),
                ("4", 22_000, Some(22_000), Some(32_000), 10_000),
            ]
        );
        assert_eq!(log.jobs.iter().map(|job| job.cpus).collect::<Vec<_>>(), [Some(16), Some(4), Some(4)]);
        assert_eq!(
            log.jobs.iter().map(|job| job.state).collect::<Vec<_>>(),
            [State::Failed, State::Completed, State::Killed]
        );
        assert_eq!((log.jobs[0].user.as_deref(), log.jobs[1].user.as_deref()), (None, Some("3")));
        assert_eq!((log.cluster_nodes, log.cluster_cpus), (Some(128), Some(256)));
        assert_eq!((log.origin_ms, log.is_since_1970), (1_000_000_008_000, true));
        assert_eq!(
            skipped(&log),
            [
                ("it has not run or not ended, so that its duration is not known", 1, 8),
                ("it is a part of a job that has a line as a whole", 1, 9),
                ("it is not known when it was submitted", 1, 11),
                ("it has not 18 numbers", 1, 12),
                ("not all of it are numbers", 1, 13),
            ]
        );
        assert!(!log.notes().join("\n").contains("size of the cluster"));
    }
    Ok(())
}

const HELIOS: &str = "\
job_id,user,vc,gpu_num,cpu_num,node_num,state,submit_time,start_time,end_time,duration,queue
7,u1,vcA,8,64,1,COMPLETED,2020-04-01 00:00:10,2020-04-01 00:01:10,2020-04-01 01:01:10,3600,60
8,u2,vcB,0,4,1,CANCELLED,2020-04-01 00:00:00,2020-04-01 00:00:00,2020-04-01 00:00:30,,0
9,u2,vcB,1,4,1,FAILED,2020-04-01 00:00:00,,,,
10,u2,vcB,1,4,1,FAILED,2020-04-01 00:00:00,None,None,None,None
";

#[test]
fn helios_is_read() -> Outcome {
    let log = read(HELIOS, &Format::Helios)?;
    assert_eq!(
        log.jobs.iter().map(times).collect::<Vec<_>>(),
        [("8", 0, Some(0), Some(30_000), 30_000), ("7", 10_000, Some(70_000), Some(3_670_000), 3_600_000)]
    );
    assert_eq!(
        log.jobs.iter().map(resources).collect::<Vec<_>>(),
        [[Some(0), Some(4), Some(1)], [Some(8), Some(64), Some(1)]]
    );
    assert_eq!((log.jobs[1].queue.as_deref(), log.jobs[1].state), (Some("vcA"), State::Completed));
    assert_eq!(skipped(&log), [("it has not run or not ended, so that its duration is not known", 2, 4)]);
    Ok(())
}

const PHILLY: &str = r#"[
 {"status":"Pass","vc":"v1","jobid":"a1","attempts":[
   {"start_time":"2017-10-07 01:00:00","end_time":"2017-10-07 01:10:00","detail":[{"ip":"m1","gpus":["gpu0","gpu1"]}]},
   {"start_time":"2017-10-07 02:00:00","end_time":"2017-10-07 02:05:00","detail":[{"ip":"m1","gpus":["gpu0"]},{"ip":"m2","gpus":["gpu3","gpu4"]}]}],
  "submitted_time":"2017-10-07 00:50:00","user":"u1"},
 {"status":"Killed","vc":"v1","jobid":"a2","attempts":[],"submitted_time":"2017-10-07 00:40:00","user":"u1"},
 {"status":"Failed","vc":"v2","jobid":"a3","attempts":[{"start_time":"2017-10-07 01:00:00","end_time":"None","detail":[]}],"submitted_time":"2017-10-07 00:40:00","user":"u2"},
 {"status":"Killed","vc":"v2","jobid":"a4","attempts":[{"start_time":"2017-10-07 01:00:00","end_time":null,"detail":[]},{"start_time":"2017-10-07 01:00:00","end_time":"2017-10-07 01:00:02","detail":[]}],"submitted_time":"2017-10-07 00:40:00","user":"u2"},
 {"status":"Failed","vc":"v2","jobid":"a5","attempts":7,"submitted_time":"2017-10-07 00:40:00","user":"u2"},
 {"status":"Failed","vc":"v2","jobid":"a6","attempts":[],"submitted_time":12,"user":"u2"},
 "nothing"
]
"#;

#[test]
fn philly_is_read() -> Outcome {
    for bytes in [PHILLY.as_bytes().to_vec(), gzip(format!("\u{feff}{PHILLY}").as_bytes())] {
        let log = read_bytes(&bytes, "log", &Format::Philly)?;
        assert_eq!(
            log.jobs.iter().map(times).collect::<Vec<_>>(),
            [
                ("a4", 0, Some(1_200_000), Some(1_202_000), 2000),
                ("a1", 600_000, Some(1_200_000), Some(5_100_000), 900_000),
            ]
        );
        assert_eq!(log.jobs.iter().map(resources).collect::<Vec<_>>(), [[None; 3], [Some(3), None, Some(2)]]);
        assert_eq!(
            log.jobs.iter().map(|job| (job.state, job.attempts)).collect::<Vec<_>>(),
            [(State::Killed, 2), (State::Completed, 2)]
        );
        assert_eq!(
            skipped(&log),
            [
                ("it has not run or not ended, so that its duration is not known", 2, 2),
                ("`attempts` is no array", 1, 5),
                ("a time is no text", 1, 6),
                ("it is not known when it was submitted", 1, 7),
            ]
        );
        assert_eq!(log.cut, None);
    }
    let cut = read(&PHILLY[..PHILLY.len() / 2], &Format::Philly)?;
    assert_eq!(cut.jobs.len(), 1);
    assert!(cut.notes()[0].starts_with("the file is cut or damaged after job 2, and read up to there"));
    Ok(())
}

const TEXTS: [(&str, Format); 5] = [
    (PHILLY, Format::Philly),
    (HELIOS, Format::Helios),
    (SWF, Format::Swf),
    (SACCT, Format::Sacct),
    (CHRONUS, Format::Chronus),
];

#[test]
fn formats_are_told_by_what_is_in_them() -> Outcome {
    let dir = tempfile::tempdir()?;
    for (text, format) in TEXTS {
        assert_eq!(jobs::recognise(text.as_bytes(), "jobs.txt"), Some(format.clone()));
        assert_eq!(
            jobs::recognise(format!("\u{feff}{text}").replace('\n', "\r\n").as_bytes(), ""),
            Some(format.clone())
        );
        let path = dir.path().join("jobs");
        fs::write(&path, gzip(text.as_bytes()))?;
        assert_eq!(jobs::recognise_file(&path)?, Some(format));
    }
    assert_eq!(jobs::recognise(b"; Version: 2\n; and so on", "x.swf.gz"), Some(Format::Swf));
    for other in ["", "[]", COLUMNS, "{\"Event\":1}", "1 2 3\n", "; Version: 2\n"] {
        assert_eq!(jobs::recognise(other.as_bytes(), "x"), None, "{other}");
    }
    Ok(())
}

#[test]
fn files_of_another_form_are_refused() -> Outcome {
    for (at, (text, _)) in TEXTS.iter().enumerate() {
        for (other, (_, format)) in TEXTS.iter().enumerate() {
            let message = refusal(text, format);
            assert_eq!(message.starts_with("read: "), at == other, "{format:?}: {message}");
        }
    }
    for (text, format, says) in [
        (
            "",
            Format::Sacct,
            "line 1: the file is empty; the first line has the names of the columns: write it with `sacct",
        ),
        (
            "JobID|User\n",
            Format::Sacct,
            "line 1: there is no column `Submit`; the columns are \"JobID\", \"User\": write it with `sacct",
        ),
        ("a,b\n", Format::Helios, "there is no column `submit_time`; the columns are \"a\", \"b\": give a file"),
        (
            "x\n",
            Format::Swf,
            "row 1: none of 1 rows is a job; here it has not 18 numbers: \"x\"; a row is a line with 18",
        ),
        ("; x\n", Format::Swf, "to its end: there is no row; a row is"),
        ("{}", Format::Philly, "invalid type: map, expected an array of jobs"),
        ("[]", Format::Philly, "there is no row"),
    ] {
        let message = refusal(text, &format);
        assert!(message.contains(says), "{message}");
    }
    let dir = tempfile::tempdir()?;
    for (path, says) in [(dir.path().to_owned(), "cannot read"), (dir.path().join("none"), "cannot read")] {
        let message = jobs::read(&path, &Format::Swf, &mut |_, _| {}).unwrap_err().to_string();
        assert!(message.contains(says), "{message}");
    }
    let message = read_bytes(b"PK\x03\x04", "log.zip", &Format::Helios).unwrap_err().to_string();
    assert!(message.contains("is packed as zip, which is not read: unpack it"), "{message}");
    // A packed file that is cut gives what comes before.
    let mut packed = gzip(SWF.repeat(50_000).as_bytes());
    packed.truncate(packed.len() / 2);
    let log = read_bytes(&packed, "log.gz", &Format::Swf)?;
    assert!(log.jobs.len() > 1000 && log.cut.is_some_and(|cut| cut.contains("cut or damaged after line")));
    Ok(())
}
