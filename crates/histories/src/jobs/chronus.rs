//! Training jobs with deadlines, as the artifact of Chronus (SoCC'21) has them.
//!
//! `trace_job_*_SLO.csv`: a line per job with its GPUs, its model and iterations, when it is submitted, how long it runs, and how long after its submission it has to
//! be ready (`expect_time_list`), all in minutes. Jobs that ask for 0 GPUs are left out.

use super::{
    columns::{Columns, Deadline, Table},
    log::JobLog,
    time::{Times, Unit},
};
use crate::{HistoryError, input::Progress};
use std::path::Path;

const ADVICE: &str = "give a file `trace_job_*_SLO.csv` of Chronus, or name the columns of a table of another form";

/// Columns that are in no other form.
pub(super) const COLUMNS: [&str; 4] = ["num_gpu", "submit_time", "duration", "expect_time_list"];

pub(super) fn read(path: &Path, progress: &mut Progress<'_>) -> Result<JobLog, HistoryError> {
    let name = |name: &str| Some(name.to_owned());
    let columns = Columns {
        id: name("job_id"),
        user: name("user"),
        gpus: name("num_gpu"),
        model: name("model_name"),
        iterations: name("iterations"),
        deadline: Some(Deadline::After("expect_time_list".to_owned())),
        ..Columns::new("submit_time", "duration", Times::Since(Unit::Minutes), Unit::Minutes)
    };
    Table { columns: &columns, advice: ADVICE, wants_gpus: true }.read(path, progress)
}
