//! What is in a line?
//!
//! Of a line only what is kept is taken out: names, numbers and times. The rest, which is most of it, is skipped by the parser, and lines of
//! events that are not kept are recognised by their beginning and not parsed at all.

use serde::{
    Deserialize, Deserializer,
    de::{Error, Visitor},
};
use std::{borrow::Cow, fmt};

/// What a line is.
#[derive(Debug)]
pub(super) enum Event<'a> {
    Start(Version<'a>),
    ApplicationStart(ApplicationStart<'a>),
    ApplicationEnd(Timed),
    Environment(Environment<'a>),
    ExecutorAdded(ExecutorAdded<'a>),
    ExecutorRemoved(ExecutorRemoved<'a>),
    JobStart(JobStart<'a>),
    JobEnd(JobEnd<'a>),
    StageSubmitted(StageInfo<'a>),
    StageCompleted(StageInfo<'a>),
    TaskStart,
    TaskEnd(TaskEnd<'a>),
    SqlStart(SqlStart<'a>),
    SqlEnd(SqlEnd),
    /// An event that is not kept, of Spark or of somebody who extends it.
    Other,
}

/// Reads a line that is not empty.
///
/// # Errors
///
/// What is wrong with it, with the column.
pub(super) fn read(line: &[u8]) -> Result<Event<'_>, String> {
    let of_head;
    let name = match name(line) {
        Some(name) => name,
        None => {
            of_head = parse::<Head<'_>>(line)?;
            of_head.event.get().as_bytes()
        }
    };
    // SQL events have the whole name of their class.
    let name = name.rsplit(|&byte| byte == b'.').next().unwrap_or_default();
    Ok(match name {
        b"SparkListenerTaskEnd" => Event::TaskEnd(parse(line)?),
        b"SparkListenerTaskStart" => {
            whole(line)?;
            Event::TaskStart
        }
        b"SparkListenerStageSubmitted" => Event::StageSubmitted(parse::<OfStage<'_>>(line)?.info),
        b"SparkListenerStageCompleted" => Event::StageCompleted(parse::<OfStage<'_>>(line)?.info),
        b"SparkListenerJobStart" => Event::JobStart(parse(line)?),
        b"SparkListenerJobEnd" => Event::JobEnd(parse(line)?),
        b"SparkListenerExecutorAdded" => Event::ExecutorAdded(parse(line)?),
        b"SparkListenerExecutorRemoved" => Event::ExecutorRemoved(parse(line)?),
        b"SparkListenerSQLExecutionStart" => Event::SqlStart(parse(line)?),
        b"SparkListenerSQLExecutionEnd" => Event::SqlEnd(parse(line)?),
        b"SparkListenerEnvironmentUpdate" => Event::Environment(parse(line)?),
        b"SparkListenerApplicationStart" => Event::ApplicationStart(parse(line)?),
        b"SparkListenerApplicationEnd" => Event::ApplicationEnd(parse(line)?),
        b"SparkListenerLogStart" | b"DBCEventLoggingListenerMetadata" => Event::Start(parse(line)?),
        _ => {
            whole(line)?;
            Event::Other
        }
    })
}

/// The name of the event where it stands first and plain, as Spark writes it.
fn name(line: &[u8]) -> Option<&[u8]> {
    let rest = line.strip_prefix(br#"{"Event":""#)?;
    let length = rest.iter().take(200).position(|&byte| byte == b'"' || byte == b'\\')?;
    rest.get(..length).filter(|_| rest.get(length) == Some(&b'"'))
}

/// Whether a line that is not parsed looks whole.
fn whole(line: &[u8]) -> Result<(), String> {
    match line.last() {
        Some(b'}') => Ok(()),
        _ => Err("does not end with `}`".to_owned()),
    }
}

fn parse<'a, T: Deserialize<'a>>(line: &'a [u8]) -> Result<T, String> {
    serde_json::from_slice(line).map_err(|error| {
        let (text, column) = (error.to_string(), error.column());
        // What is parsed is one line, and which one of the file is said elsewhere.
        let problem = text.rsplit_once(" at line ").map_or(text.as_str(), |(problem, _)| problem);
        format!("column {column}: {problem}")
    })
}

/// A text that lies in the line unless it has escapes.
#[derive(Debug)]
pub(super) struct Text<'a>(Cow<'a, str>);

impl Text<'_> {
    pub(super) fn get(&self) -> &str {
        &self.0
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Text<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Of;

        impl<'de> Visitor<'de> for Of {
            type Value = Text<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a text")
            }

            fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<Self::Value, E> {
                Ok(Text(Cow::Borrowed(text)))
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
                Ok(Text(Cow::Owned(text.to_owned())))
            }
        }
        deserializer.deserialize_str(Of)
    }
}

#[derive(Debug, Deserialize)]
struct Head<'a> {
    #[serde(rename = "Event", borrow)]
    event: Text<'a>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Version<'a> {
    #[serde(rename = "Spark Version", borrow)]
    pub(super) version: Option<Text<'a>>,
}

#[derive(Debug, Deserialize)]
pub(super) struct ApplicationStart<'a> {
    #[serde(rename = "App Name", borrow)]
    pub(super) name: Option<Text<'a>>,
    #[serde(rename = "App ID")]
    pub(super) id: Option<Text<'a>>,
    #[serde(rename = "App Attempt ID")]
    pub(super) attempt: Option<Text<'a>>,
    #[serde(rename = "User")]
    pub(super) user: Option<Text<'a>>,
    #[serde(rename = "Timestamp")]
    pub(super) time_ms: Option<i64>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Timed {
    #[serde(rename = "Timestamp")]
    pub(super) time_ms: i64,
}

#[derive(Debug, Deserialize)]
pub(super) struct Environment<'a> {
    #[serde(rename = "Spark Properties", borrow)]
    pub(super) spark: Option<SparkProperties<'a>>,
}

#[derive(Debug, Deserialize)]
pub(super) struct SparkProperties<'a> {
    #[serde(rename = "spark.scheduler.mode", borrow)]
    pub(super) scheduling_mode: Option<Text<'a>>,
    #[serde(rename = "spark.task.cpus")]
    pub(super) task_cpus: Option<Text<'a>>,
}

#[derive(Debug, Deserialize)]
pub(super) struct ExecutorAdded<'a> {
    #[serde(rename = "Timestamp")]
    pub(super) time_ms: i64,
    #[serde(rename = "Executor ID", borrow)]
    pub(super) id: Text<'a>,
    #[serde(rename = "Executor Info")]
    pub(super) info: ExecutorInfo<'a>,
}

#[derive(Debug, Deserialize)]
pub(super) struct ExecutorInfo<'a> {
    #[serde(rename = "Host", borrow)]
    pub(super) host: Option<Text<'a>>,
    #[serde(rename = "Total Cores", default)]
    pub(super) cores: u32,
}

#[derive(Debug, Deserialize)]
pub(super) struct ExecutorRemoved<'a> {
    #[serde(rename = "Timestamp")]
    pub(super) time_ms: i64,
    #[serde(rename = "Executor ID", borrow)]
    pub(super) id: Text<'a>,
    #[serde(rename = "Removed Reason")]
    pub(super) reason: Option<Text<'a>>,
}

#[derive(Debug, Deserialize)]
pub(super) struct JobStart<'a> {
    #[serde(rename = "Job ID")]
    pub(super) id: u32,
    #[serde(rename = "Submission Time", default)]
    pub(super) submission_ms: Option<i64>,
    #[serde(rename = "Stage Infos", borrow, default)]
    pub(super) stages: Vec<StageInfo<'a>>,
    #[serde(rename = "Stage IDs", default)]
    pub(super) stage_ids: Vec<u32>,
    #[serde(rename = "Properties")]
    pub(super) properties: Option<JobProperties<'a>>,
}

#[derive(Debug, Default, Deserialize)]
pub(super) struct JobProperties<'a> {
    #[serde(rename = "spark.sql.execution.id", borrow)]
    pub(super) sql_execution: Option<Text<'a>>,
    #[serde(rename = "spark.job.description")]
    pub(super) description: Option<Text<'a>>,
    #[serde(rename = "spark.scheduler.pool")]
    pub(super) pool: Option<Text<'a>>,
}

#[derive(Debug, Deserialize)]
pub(super) struct JobEnd<'a> {
    #[serde(rename = "Job ID")]
    pub(super) id: u32,
    #[serde(rename = "Completion Time")]
    pub(super) completion_ms: Option<i64>,
    #[serde(rename = "Job Result", borrow)]
    pub(super) result: JobResult<'a>,
}

#[derive(Debug, Deserialize)]
pub(super) struct JobResult<'a> {
    #[serde(rename = "Result", borrow)]
    pub(super) result: Text<'a>,
    #[serde(rename = "Exception")]
    pub(super) exception: Option<Exception<'a>>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Exception<'a> {
    #[serde(rename = "Message", borrow)]
    pub(super) message: Option<Text<'a>>,
}

#[derive(Debug, Deserialize)]
struct OfStage<'a> {
    #[serde(rename = "Stage Info", borrow)]
    info: StageInfo<'a>,
}

#[derive(Debug, Deserialize)]
pub(super) struct StageInfo<'a> {
    #[serde(rename = "Stage ID")]
    pub(super) id: u32,
    #[serde(rename = "Stage Attempt ID", default)]
    pub(super) attempt: u32,
    #[serde(rename = "Stage Name", borrow)]
    pub(super) name: Option<Text<'a>>,
    #[serde(rename = "Number of Tasks", default)]
    pub(super) num_tasks: u32,
    #[serde(rename = "RDD Info", default)]
    pub(super) rdds: Vec<Rdd>,
    #[serde(rename = "Parent IDs", default)]
    pub(super) parents: Vec<u32>,
    #[serde(rename = "Submission Time")]
    pub(super) submission_ms: Option<i64>,
    #[serde(rename = "Completion Time")]
    pub(super) completion_ms: Option<i64>,
    #[serde(rename = "Failure Reason")]
    pub(super) failure: Option<Text<'a>>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Rdd {
    #[serde(rename = "RDD ID")]
    pub(super) id: u32,
}

#[derive(Debug, Deserialize)]
pub(super) struct TaskEnd<'a> {
    #[serde(rename = "Stage ID")]
    pub(super) stage: u32,
    #[serde(rename = "Stage Attempt ID", default)]
    pub(super) stage_attempt: u32,
    #[serde(rename = "Task Type", borrow)]
    pub(super) kind: Option<Text<'a>>,
    #[serde(rename = "Task End Reason")]
    pub(super) end: EndReason<'a>,
    #[serde(rename = "Task Info")]
    pub(super) info: TaskInfo<'a>,
    #[serde(rename = "Task Metrics")]
    pub(super) metrics: Option<TaskMetrics>,
}

#[derive(Debug, Deserialize)]
pub(super) struct EndReason<'a> {
    #[serde(rename = "Reason", borrow)]
    pub(super) reason: Text<'a>,
}

#[derive(Debug, Deserialize)]
pub(super) struct TaskInfo<'a> {
    #[serde(rename = "Task ID")]
    pub(super) id: i64,
    #[serde(rename = "Index", default)]
    pub(super) index: u32,
    #[serde(rename = "Attempt", default)]
    pub(super) attempt: u32,
    #[serde(rename = "Launch Time")]
    pub(super) launch_ms: i64,
    #[serde(rename = "Finish Time")]
    pub(super) finish_ms: i64,
    #[serde(rename = "Executor ID", borrow)]
    pub(super) executor: Text<'a>,
    #[serde(rename = "Locality")]
    pub(super) locality: Option<Text<'a>>,
    #[serde(rename = "Speculative", default)]
    pub(super) speculative: bool,
    #[serde(rename = "Failed", default)]
    pub(super) failed: bool,
    #[serde(rename = "Killed", default)]
    pub(super) killed: bool,
}

#[derive(Debug, Deserialize)]
pub(super) struct TaskMetrics {
    #[serde(rename = "Executor Run Time", default)]
    pub(super) run_time_ms: i64,
}

#[derive(Debug, Deserialize)]
pub(super) struct SqlStart<'a> {
    #[serde(rename = "executionId")]
    pub(super) id: i64,
    #[serde(borrow)]
    pub(super) description: Option<Text<'a>>,
    #[serde(rename = "time")]
    pub(super) time_ms: Option<i64>,
}

#[derive(Debug, Deserialize)]
pub(super) struct SqlEnd {
    #[serde(rename = "executionId")]
    pub(super) id: i64,
    #[serde(rename = "time")]
    pub(super) time_ms: Option<i64>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_known_by_name_wherever_it_stands() {
        let end = br#"{"Event":"SparkListenerApplicationEnd","Timestamp":5}"#;
        assert!(matches!(read(end), Ok(Event::ApplicationEnd(Timed { time_ms: 5 }))));
        let end = br#" { "Timestamp" : 5, "Extra": [1, {"a": "\""}], "Event": "SparkListener\u0041pplicationEnd" } "#;
        assert!(matches!(read(end), Ok(Event::ApplicationEnd(Timed { time_ms: 5 }))));
        let sql =
            br#"{"Event":"org.apache.spark.sql.execution.ui.SparkListenerSQLExecutionEnd","executionId":7,"time":8}"#;
        assert!(matches!(read(sql), Ok(Event::SqlEnd(SqlEnd { id: 7, time_ms: Some(8) }))));
        assert!(matches!(read(br#"{"Event":"com.example.Other","x":[}"#), Ok(Event::Other)));
    }

    #[test]
    fn a_task_needs_what_spark_2_writes_and_no_more() {
        let line = br#"{"Event":"SparkListenerTaskEnd","Stage ID":1,"Stage Attempt ID":2,"Task Type":"ResultTask",
            "Task End Reason":{"Reason":"Success","Extra":null},"Task Info":{"Task ID":3,"Index":4,"Attempt":5,"Launch Time":60,
            "Executor ID":"d\"r","Host":"h","Locality":"ANY","Speculative":true,"Getting Result Time":0,"Finish Time":70,
            "Failed":false,"Killed":false,"Accumulables":[{"ID":1,"Value":"2"}]},"Task Metrics":{"Executor Run Time":8}}"#;
        let Ok(Event::TaskEnd(task)) = read(line) else { panic!("no task") };
        assert_eq!((task.stage, task.stage_attempt, task.end.reason.get()), (1, 2, "Success"));
        assert_eq!((task.info.id, task.info.index, task.info.attempt), (3, 4, 5));
        assert_eq!((task.info.launch_ms, task.info.finish_ms, task.info.executor.get()), (60, 70, "d\"r"));
        assert_eq!((task.info.speculative, task.metrics.map(|metrics| metrics.run_time_ms)), (true, Some(8)));
        let least = br#"{"Event":"SparkListenerTaskEnd","Stage ID":1,"Task End Reason":{"Reason":"Success"},"Task Metrics":null,
            "Task Info":{"Task ID":3,"Launch Time":60,"Executor ID":"1","Finish Time":70}}"#;
        assert!(matches!(read(least), Ok(Event::TaskEnd(_))));
    }

    #[test]
    fn problems_have_a_column() {
        let message = |line: &[u8]| read(line).expect_err("it is malformed");
        assert_eq!(message(br#"{"Event":"SparkListenerApplicationEnd","Timestamp":x}"#), "column 52: expected value");
        assert_eq!(message(br#"{"Event":"SparkListenerApplicationEnd"}"#), "column 39: missing field `Timestamp`");
        assert_eq!(message(br#"{"Event":"SparkListenerTaskStart","Stage"#), "does not end with `}`");
        assert!(message(b"hello").starts_with("column 1: "), "{}", message(b"hello"));
        assert!(message(br#"{"Event":"SparkListenerJobStart","Job ID":-1}"#).contains("invalid value"));
    }
}
