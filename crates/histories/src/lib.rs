//! Histories that clusters leave behind, read as jobs.
//!
//! [`spark`] reads the event logs of Apache Spark, in whatever way they are packed and split, in one pass, and gives what was run: jobs,
//! stages, tasks and executors, and from these the DAGs that were scheduled and the schedule as it was recorded.
//!
//! [`jobs`] reads logs of jobs without inner structure: those of Slurm, the Standard Workload Format, published traces and tables whose columns
//! are named. [`dags`] reads published traces of jobs that are DAGs, [`requests`] those of requests to language models.
//!
//! ```no_run
//! use sched_distill_histories::spark;
//!
//! let log = spark::read("eventlog_v2_application_1".as_ref(), &mut |_read, _of| {})?;
//! for application in &log.applications {
//!     let queries = application.queries();
//!     println!("{} jobs, {} tasks", queries.jobs.len(), application.tasks.len());
//! }
//! # Ok::<(), sched_distill_histories::HistoryError>(())
//! ```

pub mod dags;
mod error;
mod input;
pub mod jobs;
mod lines;
pub mod requests;
mod skips;
pub mod spark;

pub use error::HistoryError;
