//! `cluster_log.csv` of the Helios traces (SC'21).
//!
//! A line per job, with times on the clock of the place and without a zone, and durations in seconds. Times are empty or `None` for jobs that
//! did not run or did not end. Jobs with 0 GPUs ran on cores alone. The column `queue` is how long a job waited; what is a queue elsewhere
//! is its virtual cluster `vc`.

use super::{
    columns::{Columns, Table},
    log::JobLog,
    time::{Times, Unit},
};
use crate::{HistoryError, input::Progress};
use std::path::Path;

const ADVICE: &str = "give a file `cluster_log.csv` of Helios, or name the columns of a table of another form";

/// Columns that are in no other form.
pub(super) const COLUMNS: [&str; 4] = ["gpu_num", "node_num", "submit_time", "start_time"];

pub(super) fn read(path: &Path, progress: &mut Progress<'_>) -> Result<JobLog, HistoryError> {
    let name = |name: &str| Some(name.to_owned());
    let columns = Columns {
        id: name("job_id"),
        user: name("user"),
        queue: name("vc"),
        gpus: name("gpu_num"),
        cpus: name("cpu_num"),
        nodes: name("node_num"),
        state: name("state"),
        start: name("start_time"),
        end: name("end_time"),
        ..Columns::new("submit_time", "duration", Times::Calendar, Unit::Seconds)
    };
    let mut log = Table { columns: &columns, advice: ADVICE, wants_gpus: false }.read(path, progress)?;
    log.cautions
        .push("times have no zone, and are taken for UTC: days begin elsewhere, and clocks may have been changed");
    Ok(log)
}
