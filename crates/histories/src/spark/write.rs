//! How is an event log written?
//!
//! The events and fields are those that Spark 3.5 writes and its history server needs; what is not known, such as bytes that were read, is
//! left out.

use serde_json::to_string;
use std::io::{self, Write};

/// Spark jobs that ran in one application, as [`write()`] writes them down. Times are ms since the application began.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ran {
    /// Name of the application.
    pub name: String,
    /// Executors, each with one core, which are there from the beginning to the end.
    pub executors: u32,
    /// In the order in which they were submitted.
    pub jobs: Vec<RanJob>,
    /// In any order.
    pub tasks: Vec<RanTask>,
    /// From when the last parent of a stage is completed until the stage is submitted; less where its tasks were launched before.
    pub submit_ms: i64,
}

/// A job of Spark.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RanJob {
    /// Its description.
    pub name: String,
    /// When it was submitted.
    pub submission_ms: i64,
    /// Its stages, each by its number of tasks; every stage has tasks that ran.
    pub stages: Vec<u32>,
    /// Edges `[parent, child]` by place in `stages`.
    pub edges: Vec<[u32; 2]>,
}

/// A task that ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RanTask {
    /// Its job, by its place.
    pub job: u32,
    /// Its stage, by its place in its job.
    pub stage: u32,
    /// Its executor, from 0.
    pub executor: u32,
    /// When it was launched.
    pub launch_ms: i64,
    /// When it was finished.
    pub finish_ms: i64,
}

/// When the application begins, ms since 1970: 1 January 2024.
const EPOCH_MS: i64 = 1_704_067_200_000;

/// Version of Spark whose events these are.
const VERSION: &str = "3.5.3";

/// Ends come before beginnings of the same moment, and what encloses something before it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum What {
    TaskEnd,
    StageCompleted,
    JobEnd,
    JobStart,
    StageSubmitted,
    TaskStart,
}

/// When a stage ran, and where its tasks are counted from.
#[derive(Clone, Copy)]
struct Stage {
    id: u32,
    job: u32,
    place: u32,
    submission_ms: i64,
    first_ms: i64,
    last_ms: i64,
}

/// Writes an event log. The text is not packed.
///
/// # Errors
///
/// What cannot be written, and tasks of stages that are not there.
///
/// # Examples
///
/// ```
/// use sched_distill_histories::spark::{self, Ran, RanJob, RanTask};
///
/// let job = RanJob { name: "report".to_owned(), submission_ms: 5, stages: vec![1, 1], edges: vec![[0, 1]] };
/// let task = |stage, launch_ms, finish_ms| RanTask { job: 0, stage, executor: 0, launch_ms, finish_ms };
/// let ran = Ran {
///     name: "example".to_owned(),
///     executors: 1,
///     jobs: vec![job],
///     tasks: vec![task(0, 5, 25), task(1, 25, 32)],
///     submit_ms: 0,
/// };
/// let dir = tempfile::tempdir()?;
/// let path = dir.path().join("example");
/// spark::write(&ran, &mut std::fs::File::create(&path)?)?;
/// let queries = spark::read(&path, &mut |_, _| {})?.applications[0].queries();
/// assert_eq!((queries.jobs[0].name.as_str(), queries.jobs[0].edges.as_slice()), ("report", &[[0, 1]][..]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn write(ran: &Ran, out: &mut dyn Write) -> io::Result<()> {
    let mut stages = stages(ran);
    let offsets = offsets(ran);
    let mut events: Vec<(i64, What, u32)> = Vec::with_capacity(2 * ran.tasks.len() + 2 * stages.len());
    let mut ends_ms: Vec<i64> = ran.jobs.iter().map(|job| job.submission_ms).collect();
    for (task, place) in ran.tasks.iter().zip(0..) {
        let found = offsets.get(task.job as usize).and_then(|offset| stages.get_mut((offset + task.stage) as usize));
        let (Some(stage), Some(end_ms)) = (found, ends_ms.get_mut(task.job as usize)) else {
            let problem = format!("task {place} is of stage {} of job {}, which is not there", task.stage, task.job);
            return Err(io::Error::new(io::ErrorKind::InvalidInput, problem));
        };
        stage.first_ms = stage.first_ms.min(task.launch_ms);
        stage.last_ms = stage.last_ms.max(task.finish_ms);
        *end_ms = (*end_ms).max(task.finish_ms);
        events.push((task.launch_ms, What::TaskStart, place));
        events.push((task.finish_ms, What::TaskEnd, place));
    }
    submit(ran, &offsets, &mut stages);
    let ran_any = |stage: &&Stage| stage.first_ms <= stage.last_ms;
    for stage in stages.iter().filter(ran_any) {
        events.push((stage.submission_ms, What::StageSubmitted, stage.id));
        events.push((stage.last_ms, What::StageCompleted, stage.id));
    }
    for ((job, end_ms), place) in ran.jobs.iter().zip(&ends_ms).zip(0..) {
        events.push((job.submission_ms, What::JobStart, place));
        events.push((*end_ms, What::JobEnd, place));
    }
    events.sort_unstable();
    let last_ms = events.last().map_or(0, |event| event.0);
    begin(ran, out)?;
    let ids = ids(ran, &offsets, stages.len());
    for (at_ms, what, place) in events {
        let at_ms = EPOCH_MS + at_ms;
        match what {
            What::JobStart => job_start(ran, place, &stages, &offsets, at_ms, out)?,
            What::JobEnd => writeln!(
                out,
                r#"{{"Event":"SparkListenerJobEnd","Job ID":{place},"Completion Time":{at_ms},"Job Result":{{"Result":"JobSucceeded"}}}}"#
            )?,
            What::StageSubmitted | What::StageCompleted => {
                let is_over = what == What::StageCompleted;
                let event = if is_over { "SparkListenerStageCompleted" } else { "SparkListenerStageSubmitted" };
                write!(out, r#"{{"Event":"{event}","Stage Info":"#)?;
                if let Some(stage) = stages.get(place as usize) {
                    info(ran, stage, &offsets, is_over, true, out)?;
                }
                out.write_all(if is_over { b"}\n" } else { b",\"Properties\":{}}\n" })?;
            }
            What::TaskStart | What::TaskEnd => {
                let (Some(task), Some(&id)) = (ran.tasks.get(place as usize), ids.get(place as usize)) else {
                    continue;
                };
                let stage = offsets.get(task.job as usize).copied().unwrap_or_default() + task.stage;
                task_event(task, stage, id, what == What::TaskEnd, out)?;
            }
        }
    }
    writeln!(out, r#"{{"Event":"SparkListenerApplicationEnd","Timestamp":{}}}"#, EPOCH_MS + last_ms)
}

/// Says when stages were submitted: with their job, or after those that they read, and no later than the first of their tasks was launched.
fn submit(ran: &Ran, offsets: &[u32], stages: &mut [Stage]) {
    for (job, &offset) in ran.jobs.iter().zip(offsets) {
        let Some(of_job) = stages.get_mut(offset as usize..).and_then(|all| all.get_mut(..job.stages.len())) else {
            continue;
        };
        of_job.iter_mut().for_each(|stage| stage.submission_ms = job.submission_ms);
        for &[parent, child] in &job.edges {
            let completed_ms = of_job.get(parent as usize).map_or(i64::MIN, |stage| stage.last_ms);
            if let Some(stage) = of_job.get_mut(child as usize) {
                stage.submission_ms = stage.submission_ms.max(completed_ms.saturating_add(ran.submit_ms));
            }
        }
        of_job.iter_mut().for_each(|stage| stage.submission_ms = stage.submission_ms.min(stage.first_ms));
    }
}

/// By task, its id in the order of the launches, and its place in its stage.
fn ids(ran: &Ran, offsets: &[u32], stages: usize) -> Vec<(u32, u32)> {
    let mut order: Vec<(i64, usize)> =
        ran.tasks.iter().enumerate().map(|(place, task)| (task.launch_ms, place)).collect();
    order.sort_unstable();
    let (mut ids, mut launched) = (vec![(0, 0); ran.tasks.len()], vec![0; stages]);
    for ((_, place), id) in order.into_iter().zip(0..) {
        let Some(task) = ran.tasks.get(place) else { continue };
        let offset = offsets.get(task.job as usize).copied().unwrap_or_default();
        if let (Some(index), Some(of)) = (launched.get_mut((offset + task.stage) as usize), ids.get_mut(place)) {
            *of = (id, *index);
            *index += 1;
        }
    }
    ids
}

/// By job, the id of its first stage.
fn offsets(ran: &Ran) -> Vec<u32> {
    let mut next = 0;
    let offset = |job: &RanJob| {
        let offset = next;
        next += job.stages.len() as u32;
        offset
    };
    ran.jobs.iter().map(offset).collect()
}

/// All stages, before it is known when they ran.
fn stages(ran: &Ran) -> Vec<Stage> {
    let of = |(job, number): (&RanJob, u32)| {
        (0..job.stages.len() as u32).map(move |place| (number, place)).collect::<Vec<_>>()
    };
    let all = ran.jobs.iter().zip(0..).flat_map(of).zip(0..);
    all.map(|((job, place), id)| Stage {
        id,
        job,
        place,
        submission_ms: i64::MAX,
        first_ms: i64::MAX,
        last_ms: i64::MIN,
    })
    .collect()
}

fn begin(ran: &Ran, out: &mut dyn Write) -> io::Result<()> {
    let name = to_string(&ran.name)?;
    writeln!(out, r#"{{"Event":"SparkListenerLogStart","Spark Version":"{VERSION}"}}"#)?;
    writeln!(
        out,
        r#"{{"Event":"SparkListenerApplicationStart","App Name":{name},"App ID":{name},"Timestamp":{EPOCH_MS},"User":"distill"}}"#
    )?;
    for executor in 0..ran.executors {
        writeln!(
            out,
            r#"{{"Event":"SparkListenerExecutorAdded","Timestamp":{EPOCH_MS},"Executor ID":"{executor}","Executor Info":{{"Host":"host-{executor}","Total Cores":1,"Log Urls":{{}},"Attributes":{{}},"Resources":{{}},"Resource Profile Id":0}}}}"#
        )?;
    }
    Ok(())
}

fn job_start(
    ran: &Ran,
    place: u32,
    stages: &[Stage],
    offsets: &[u32],
    at_ms: i64,
    out: &mut dyn Write,
) -> io::Result<()> {
    let (Some(job), Some(&offset)) = (ran.jobs.get(place as usize), offsets.get(place as usize)) else { return Ok(()) };
    let ids: Vec<u32> = (offset..offset + job.stages.len() as u32).collect();
    write!(out, r#"{{"Event":"SparkListenerJobStart","Job ID":{place},"Submission Time":{at_ms},"Stage Infos":["#)?;
    for &id in &ids {
        if id > offset {
            out.write_all(b",")?;
        }
        if let Some(stage) = stages.get(id as usize) {
            info(ran, stage, offsets, false, false, out)?;
        }
    }
    let name = to_string(&job.name)?;
    writeln!(out, r#"],"Stage IDs":{},"Properties":{{"spark.job.description":{name}}}}}"#, to_string(&ids)?)
}

/// What is known of a stage: before it runs, while it runs, and after.
fn info(
    ran: &Ran,
    stage: &Stage,
    offsets: &[u32],
    is_over: bool,
    has_begun: bool,
    out: &mut dyn Write,
) -> io::Result<()> {
    let (Some(job), Some(offset)) = (ran.jobs.get(stage.job as usize), offsets.get(stage.job as usize)) else {
        return Ok(());
    };
    let parents = job.edges.iter().filter(|[_, child]| *child == stage.place).map(|[parent, _]| offset + parent);
    let (id, tasks) = (stage.id, job.stages.get(stage.place as usize).copied().unwrap_or_default());
    write!(
        out,
        r#"{{"Stage ID":{id},"Stage Attempt ID":0,"Stage Name":{},"Number of Tasks":{tasks},"RDD Info":[{{"RDD ID":{id},"Name":"distill","Parent IDs":[],"Storage Level":{{"Use Disk":false,"Use Memory":false,"Use Off Heap":false,"Deserialized":false,"Replication":1}},"Barrier":false,"DeterministicLevel":"DETERMINATE","Number of Partitions":{tasks},"Number of Cached Partitions":0,"Memory Size":0,"Disk Size":0}}],"Parent IDs":{},"Details":"""#,
        to_string(&format!("stage {} of {}", stage.place, job.name))?,
        to_string(&parents.collect::<Vec<u32>>())?,
    )?;
    if has_begun {
        write!(out, r#","Submission Time":{}"#, EPOCH_MS + stage.submission_ms)?;
    }
    if is_over {
        write!(out, r#","Completion Time":{}"#, EPOCH_MS + stage.last_ms)?;
    }
    write!(out, r#","Accumulables":[],"Resource Profile Id":0}}"#)
}

fn task_event(
    task: &RanTask,
    stage: u32,
    (id, index): (u32, u32),
    is_over: bool,
    out: &mut dyn Write,
) -> io::Result<()> {
    let (executor, launch_ms) = (task.executor, EPOCH_MS + task.launch_ms);
    let finish_ms = if is_over { EPOCH_MS + task.finish_ms } else { 0 };
    match is_over {
        false => write!(out, r#"{{"Event":"SparkListenerTaskStart","Stage ID":{stage},"Stage Attempt ID":0,"#)?,
        true => write!(
            out,
            r#"{{"Event":"SparkListenerTaskEnd","Stage ID":{stage},"Stage Attempt ID":0,"Task Type":"ResultTask","Task End Reason":{{"Reason":"Success"}},"#
        )?,
    }
    write!(
        out,
        r#""Task Info":{{"Task ID":{id},"Index":{index},"Attempt":0,"Partition ID":{index},"Launch Time":{launch_ms},"Executor ID":"{executor}","Host":"host-{executor}","Locality":"PROCESS_LOCAL","Speculative":false,"Getting Result Time":0,"Finish Time":{finish_ms},"Failed":false,"Killed":false,"Accumulables":[]}}"#
    )?;
    match is_over {
        false => out.write_all(b"}\n"),
        true => writeln!(
            out,
            r#","Task Metrics":{{"Executor Deserialize Time":0,"Executor Deserialize CPU Time":0,"Executor Run Time":{},"Executor CPU Time":0,"Result Size":0,"JVM GC Time":0,"Result Serialization Time":0,"Memory Bytes Spilled":0,"Disk Bytes Spilled":0}}}}"#,
            task.finish_ms - task.launch_ms
        ),
    }
}
