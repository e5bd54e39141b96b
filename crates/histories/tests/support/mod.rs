//! Logs made line by line.

// Each of the test programs that include this uses a part of it.
#![allow(dead_code)]

pub(crate) mod changes;
pub(crate) mod checks;

use proptest::test_runner::Config as ProptestConfig;
use sched_distill_histories::{
    HistoryError,
    spark::{self, Application, SparkLog},
};
use std::{error::Error, path::Path};

/// So many cases of a property, or `DISTILL_FUZZ_TIMES` times as many.
pub(crate) fn cases(n: u32) -> ProptestConfig {
    let times = std::env::var("DISTILL_FUZZ_TIMES").ok().and_then(|times| times.parse().ok()).unwrap_or(1);
    ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(n.saturating_mul(times)) }
}

/// What tests return.
pub(crate) type Outcome = Result<(), Box<dyn Error>>;

/// Reads a log.
pub(crate) fn read(path: &Path) -> Result<SparkLog, HistoryError> {
    spark::read(path, &mut |_, _| {})
}

/// Reads the log of one application.
pub(crate) fn read_one(path: &Path) -> Result<Application, Box<dyn Error>> {
    let log = read(path)?;
    assert_eq!(log.applications.len(), 1, "{}", path.display());
    log.applications.into_iter().next().ok_or_else(|| "no application".into())
}

/// Reads a text as a log.
pub(crate) fn of_text(text: &str) -> Result<Application, Box<dyn Error>> {
    let dir = tempfile::tempdir()?;
    let path = dir.path().join("log");
    std::fs::write(&path, text)?;
    read_one(&path)
}

/// An error with its causes.
pub(crate) fn whole(error: &dyn Error) -> String {
    match error.source() {
        Some(cause) => format!("{error}: {}", whole(cause)),
        None => error.to_string(),
    }
}

/// A stage as job and stage events hold it: its id, attempt, parents, final RDD and number of tasks.
#[derive(Clone, Copy)]
pub(crate) struct Info<'a>(pub(crate) u32, pub(crate) u32, pub(crate) &'a [u32], pub(crate) u32, pub(crate) u32);

impl Info<'_> {
    fn json(&self, more: &str) -> String {
        let Self(id, attempt, parents, rdd, tasks) = self;
        format!(
            r#"{{"Stage ID":{id},"Stage Attempt ID":{attempt},"Stage Name":"stage {id} at Test.scala:1","Number of Tasks":{tasks},"RDD Info":[{{"RDD ID":{rdd},"Name":"R","Parent IDs":[]}},{{"RDD ID":0,"Name":"R","Parent IDs":[]}}],"Parent IDs":{parents:?},"Details":"a\nb"{more},"Accumulables":[]}}"#
        )
    }

    pub(crate) fn submitted(&self, ms: i64) -> String {
        format!(
            "{{\"Event\":\"SparkListenerStageSubmitted\",\"Stage Info\":{},\"Properties\":{{}}}}\n",
            self.json(&format!(",\"Submission Time\":{ms}"))
        )
    }

    pub(crate) fn completed(&self, from_ms: i64, to_ms: i64, failure: Option<&str>) -> String {
        let failure = failure.map_or(String::new(), |reason| format!(",\"Failure Reason\":\"{reason}\""));
        let more = format!(",\"Submission Time\":{from_ms},\"Completion Time\":{to_ms}{failure}");
        format!("{{\"Event\":\"SparkListenerStageCompleted\",\"Stage Info\":{}}}\n", self.json(&more))
    }
}

pub(crate) fn application() -> String {
    concat!(
        r#"{"Event":"SparkListenerLogStart","Spark Version":"3.5.3"}"#,
        "\n",
        r#"{"Event":"SparkListenerApplicationStart","App Name":"test","App ID":"local-1","Timestamp":1,"User":"me"}"#,
        "\n",
        r#"{"Event":"SparkListenerExecutorAdded","Timestamp":2,"Executor ID":"1","Executor Info":{"Host":"h","Total Cores":2,"Log Urls":{}}}"#,
        "\n",
        r#"{"Event":"org.apache.spark.sql.execution.ui.SparkListenerSQLExecutionStart","executionId":7,"description":"query \u0037","time":3}"#,
        "\n"
    )
    .to_owned()
}

/// A job that starts, of SQL execution 7 or of none.
pub(crate) fn job(id: u32, ms: i64, is_sql: bool, stages: &[Info<'_>]) -> String {
    let infos: Vec<String> = stages.iter().map(|info| info.json("")).collect();
    let ids: Vec<u32> = stages.iter().map(|info| info.0).collect();
    let properties = if is_sql { r#"{"spark.sql.execution.id":"7"}"# } else { r#"{"spark.scheduler.pool":"fair"}"# };
    format!(
        "{{\"Event\":\"SparkListenerJobStart\",\"Job ID\":{id},\"Submission Time\":{ms},\"Stage Infos\":[{}],\"Stage IDs\":{ids:?},\"Properties\":{properties}}}\n",
        infos.join(",")
    )
}

pub(crate) fn job_end(id: u32, ms: i64) -> String {
    format!(
        "{{\"Event\":\"SparkListenerJobEnd\",\"Job ID\":{id},\"Completion Time\":{ms},\"Job Result\":{{\"Result\":\"JobSucceeded\"}}}}\n"
    )
}

/// An end of a task.
#[derive(Clone, Copy)]
pub(crate) struct Ended {
    pub(crate) id: i64,
    pub(crate) stage: (u32, u32),
    pub(crate) index: u32,
    pub(crate) from_ms: i64,
    pub(crate) to_ms: i64,
    pub(crate) reason: &'static str,
    pub(crate) is_speculative: bool,
}

impl Ended {
    pub(crate) fn new(id: i64, stage: u32, index: u32, from_ms: i64, to_ms: i64) -> Self {
        Self { id, stage: (stage, 0), index, from_ms, to_ms, reason: "Success", is_speculative: false }
    }

    pub(crate) fn json(self) -> String {
        let Self { id, stage: (stage, attempt), index, from_ms, to_ms, reason, is_speculative } = self;
        let (failed, killed) = (!matches!(reason, "Success" | "Resubmitted" | "TaskKilled"), reason == "TaskKilled");
        format!(
            r#"{{"Event":"SparkListenerTaskEnd","Stage ID":{stage},"Stage Attempt ID":{attempt},"Task Type":"ShuffleMapTask","Task End Reason":{{"Reason":"{reason}"}},"Task Info":{{"Task ID":{id},"Index":{index},"Attempt":0,"Launch Time":{from_ms},"Executor ID":"1","Host":"h","Locality":"NODE_LOCAL","Speculative":{is_speculative},"Getting Result Time":0,"Finish Time":{to_ms},"Failed":{failed},"Killed":{killed},"Accumulables":[{{"ID":1,"Value":"2"}}]}},"Task Metrics":{{"Executor Run Time":{},"JVM GC Time":0}}}}"#,
            to_ms - from_ms - 1
        ) + "\n"
    }
}

/// A query of two jobs, the second of which lists the stage of the first again, as adaptive execution does.
pub(crate) fn adaptive() -> String {
    let first = Info(0, 0, &[], 5, 2);
    let again = Info(1, 0, &[], 5, 2);
    let last = Info(2, 0, &[1], 9, 1);
    [
        application(),
        job(0, 10, true, &[first]),
        first.submitted(11),
        r#"{"Event":"SparkListenerTaskStart","Stage ID":0,"Stage Attempt ID":0,"Task Info":{"Task ID":0}}"#.to_owned()
            + "\n",
        Ended::new(0, 0, 0, 12, 20).json(),
        Ended::new(1, 0, 1, 12, 22).json(),
        first.completed(11, 23, None),
        job_end(0, 24),
        r#"{"Event":"com.example.Unknown","x":1}"#.to_owned() + "\n",
        job(1, 25, true, &[again, last]),
        last.submitted(26),
        Ended::new(2, 2, 0, 27, 30).json(),
        last.completed(26, 31, None),
        job_end(1, 32),
        r#"{"Event":"SparkListenerApplicationEnd","Timestamp":40}"#.to_owned() + "\n",
    ]
    .concat()
}
