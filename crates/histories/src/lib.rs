//! Histories that clusters leave behind, read as jobs.
//!
//! [`spark`] reads the event logs of Apache Spark, in whatever way they are packed and split, in one pass, and gives what was run: jobs,
//! stages, tasks and executors, and from these the DAGs that were scheduled and the schedule as it was recorded.
//!
//! ```no_run
//! use sched_distill_histories::spark;
//!
//! let log = spark::read("eventlog_v2_application_1".as_ref(), &mut |_read, _of| {})?;
//! for application in &log.applications {
//!     let queries = application.queries();
//!     println!("{} jobs, {} tasks", queries.jobs.len(), queries.schedule.len());
//! }
//! # Ok::<(), sched_distill_histories::HistoryError>(())
//! ```

mod error;
mod input;
pub mod jobs;
mod lines;
pub mod spark;

pub use error::HistoryError;
