//! A fixed list of training jobs and their cluster in a JSON file, read and written; `docs/training-workload-format.md` describes the format.

use super::{
    JOB_BYTES, TrainingJob, TrainingWorkload, WINDOW_JOBS,
    timed::{InSlots, Timed},
};
use crate::cluster::{JobType, Speed, SpeedGrid, TrainingCluster, check_sizes, job_types, own_types};
use sched_distill_core::{
    simulation::Fixed,
    spec::Spec,
    workload::{Cut, Ran, WorkloadError, cannot_be_written, most_jobs, read_jobs, read_json, write_list},
};
use serde::{Deserialize, Serialize};
use std::{
    io::{self, Write},
    path::{Path, PathBuf},
    sync::Arc,
};

/// What makes an episode less.
const LESS: &str = "ask for a shorter `window`";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawWorkload {
    #[serde(default = "RawWorkload::nodes")]
    nodes: u32,
    #[serde(default = "RawWorkload::node_slots")]
    node_slots: [u32; 2],
    #[serde(default = "RawWorkload::slot_s")]
    slot_s: f64,
    #[serde(default = "RawWorkload::most_tasks")]
    max_workers: u32,
    #[serde(default = "RawWorkload::most_tasks")]
    max_servers: u32,
    #[serde(default = "RawWorkload::speed")]
    speed: RawSpeed,
    #[serde(default)]
    speed_error: f64,
    types: Option<Vec<JobType>>,
    #[serde(deserialize_with = "most_jobs")]
    jobs: Vec<RawJob>,
}

/// What is left out is as in the small preset of DL2.
impl RawWorkload {
    fn nodes() -> u32 {
        48
    }

    fn node_slots() -> [u32; 2] {
        [8, 8]
    }

    fn slot_s() -> f64 {
        1200.0
    }

    fn most_tasks() -> u32 {
        16
    }

    fn speed() -> RawSpeed {
        RawSpeed::Named("formula".to_owned())
    }
}

#[derive(Serialize, Deserialize)]
#[serde(untagged, expecting = "speed must be formula, analytic, a grid file `*.json`, or {table} with epochs per slot")]
enum RawSpeed {
    Named(String),
    Given(RawTable),
}

/// Epochs per slot by type, parameter servers and workers, each from 1.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawTable {
    table: Vec<Vec<Vec<f64>>>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawJob {
    #[serde(rename = "type")]
    job_type: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    arrival_slot: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    arrival_ms: Option<f64>,
    epochs: f64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    real_epochs: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    ran: Option<[Option<f64>; 2]>,
}

/// Opens `json:FILE`.
pub(super) fn open(spec: &Spec) -> Result<TrainingWorkload, WorkloadError> {
    let path = spec.require_file("a workload as described in docs/training-workload-format.md")?;
    let mut args = spec.args();
    let cut = Cut::from_args(&mut args)?;
    args.finish()?;
    load(path, &cut)?.checked(spec, LESS)
}

fn load(path: &Path, cut: &Cut) -> Result<TrainingWorkload, WorkloadError> {
    let raw: RawWorkload = read_json(path, "docs/training-workload-format.md")?;
    let format = |problem: String| WorkloadError::Format { path: path.to_owned(), problem };
    check_sizes(raw.nodes, raw.node_slots, [raw.max_workers, raw.max_servers], raw.slot_s).map_err(format)?;
    if !(0.0..=0.9).contains(&raw.speed_error) {
        return Err(format(format!("speed_error must be a number in 0..=0.9, got {}", raw.speed_error)));
    }
    let types = match raw.types {
        None => job_types(),
        Some(types) => own_types(types).map_err(format)?,
    };
    let mut files = vec![path.to_owned()];
    let limits = [raw.max_workers, raw.max_servers];
    let speed = match &speed(raw.speed, path, &mut files)? {
        Law::Formula => Speed::formula(&types, raw.slot_s, limits, 0.0),
        Law::Analytic => Speed::analytic(&types, raw.slot_s, limits, raw.nodes),
        Law::Grid(grid) => Speed::grid(grid, &types, raw.slot_s, limits, 0.0),
        Law::Table(rows) => Speed::table(rows, &types, limits),
    };
    let cluster = TrainingCluster {
        types,
        nodes: raw.nodes,
        node_slots: raw.node_slots,
        slot_s: raw.slot_s,
        max_workers: raw.max_workers,
        max_servers: raw.max_servers,
        speed: Arc::new(speed.map_err(format)?),
        speed_error: raw.speed_error,
    };
    cluster.check_requests().map_err(format)?;
    if raw.jobs.is_empty() {
        return Err(format("`jobs` is empty; at least one job is needed".to_owned()));
    }
    let read = |raw: &RawJob, above: Option<&Timed>| read_job(raw, &cluster, above);
    let jobs = read_jobs(path, cut, &raw.jobs, read, |found, above| {
        let waited = f64::from(found.job.arrival_slot.saturating_sub(slot(above)));
        (waited + cluster.slots(&found.job), "slots until it arrives, and alone at its best".to_owned())
    })?;
    if *cut == Cut::WHOLE {
        // Slots are as they are written, whatever their times are rounded to.
        let jobs: Vec<TrainingJob> = jobs.into_iter().map(|found| found.in_slot(found.job.arrival_slot)).collect();
        let last_ms = jobs.last().map_or(0.0, |job| f64::from(job.arrival_slot) * cluster.slot_ms());
        let events = cluster.events(&jobs);
        let source = Fixed::new(jobs, events, JOB_BYTES, last_ms);
        return Ok(TrainingWorkload::new(Arc::new(cluster), source, files));
    }
    let jobs = InSlots::new(jobs, &cluster, cut, WINDOW_JOBS).map_err(format)?;
    let said = jobs.cut();
    Ok(TrainingWorkload::new(Arc::new(cluster), jobs, files).with_notes(said))
}

/// The slot of the job above one; 0 above the first.
fn slot(above: Option<&Timed>) -> u32 {
    above.map_or(0, |found| found.job.arrival_slot)
}

enum Law {
    Formula,
    Analytic,
    Grid(SpeedGrid),
    Table(Vec<Vec<Vec<f64>>>),
}

/// The law that is named or given; a grid file is found from where the workload file is.
fn speed(raw: RawSpeed, workload: &Path, files: &mut Vec<PathBuf>) -> Result<Law, WorkloadError> {
    let name = match raw {
        RawSpeed::Named(name) => name,
        RawSpeed::Given(RawTable { table }) => return Ok(Law::Table(table)),
    };
    Ok(match &*name {
        "formula" => Law::Formula,
        "analytic" => Law::Analytic,
        file if file.ends_with(".json") => {
            let path = workload.parent().unwrap_or(Path::new("")).join(file);
            let grid = SpeedGrid::load(&path)?;
            files.push(path);
            Law::Grid(grid)
        }
        other => {
            let problem = format!("speed must be one of formula, analytic, or a grid file `*.json`, got `{other}`");
            return Err(WorkloadError::Format { path: workload.to_owned(), problem });
        }
    })
}

/// Most slots that a job alone at its best may take; a longer one would be simulated for ever.
const MOST_JOB_SLOTS: f64 = 1e5;

/// The last slot in which a job may arrive.
const LAST_SLOT: u32 = 1_000_000;

fn read_job(raw: &RawJob, cluster: &TrainingCluster, above: Option<&Timed>) -> Result<Timed, String> {
    let types = &cluster.types;
    let kind = types.iter().position(|t| t.name == raw.job_type).ok_or_else(|| {
        let known: Vec<&str> = types.iter().map(|t| &*t.name).collect();
        format!("unknown type `{}`; there are {}", raw.job_type, known.join(", "))
    })?;
    let real_epochs = raw.real_epochs.unwrap_or(raw.epochs);
    for (name, value) in [("epochs", raw.epochs), ("real_epochs", real_epochs)] {
        if !(1e-9..=1e12).contains(&value) {
            return Err(format!("{name} must be a number in 1e-9..=1e12, got {value}"));
        }
    }
    let slots = real_epochs / cluster.speed.best(kind as u8);
    if slots.is_nan() || slots > MOST_JOB_SLOTS {
        return Err(format!(
            "its {real_epochs} epochs take {slots:.0} slots of {} s even with the best number of workers and parameter \
             servers; at most {MOST_JOB_SLOTS:.0} are allowed",
            cluster.slot_s
        ));
    }
    let slot_ms = cluster.slot_ms();
    let (arrival_slot, arrival_ms) = match (raw.arrival_slot, raw.arrival_ms) {
        (Some(arrival_slot), None) => (arrival_slot, f64::from(arrival_slot) * slot_ms),
        (None, Some(arrival_ms)) => (((arrival_ms / slot_ms) as u32).max(slot(above)), arrival_ms),
        (None, None) => return Err("has neither `arrival_slot` nor `arrival_ms`; one says when it arrives".to_owned()),
        (Some(_), Some(_)) => {
            return Err("has both `arrival_slot` and `arrival_ms`; one of them says when it arrives".to_owned());
        }
    };
    if let Some(above) = above.filter(|above| arrival_ms < above.arrival_ms) {
        let at =
            |slot: u32, ms: f64| if raw.arrival_ms.is_some() { format!("{ms} ms") } else { format!("slot {slot}") };
        return Err(format!(
            "arrives at {}, before the job above it, which arrives at {}; jobs must be in order of arrival",
            at(arrival_slot, arrival_ms),
            at(above.job.arrival_slot, above.arrival_ms)
        ));
    }
    let last_ms = f64::from(LAST_SLOT) * slot_ms;
    if !(0.0..=last_ms).contains(&arrival_ms) {
        return Err(match raw.arrival_slot {
            Some(arrival_slot) => format!("arrival_slot must be in 0..={LAST_SLOT}, got {arrival_slot}"),
            None => format!("arrival_ms must be a number in 0..={last_ms}, up to slot {LAST_SLOT}, got {arrival_ms}"),
        });
    }
    let ran = raw.ran.map(|ran| Ran::read(ran, arrival_ms)).transpose()?;
    // There are at most 255 types.
    let job = TrainingJob { kind: kind as u8, arrival_slot, epochs: raw.epochs, real_epochs, recorded: None };
    Ok(Timed { job, arrival_ms, ran })
}

impl RawJob {
    fn of(job: &TrainingJob, cluster: &TrainingCluster) -> Self {
        let recorded = job.recorded;
        Self {
            job_type: cluster.types[job.kind as usize].name.to_string(),
            arrival_slot: recorded.is_none().then_some(job.arrival_slot),
            arrival_ms: recorded.map(|recorded| recorded.arrival_ms),
            epochs: job.epochs,
            real_epochs: (job.real_epochs != job.epochs).then_some(job.real_epochs),
            ran: recorded.map(|recorded| recorded.ran.written(recorded.arrival_ms)),
        }
    }
}

impl RawSpeed {
    /// The speeds of a cluster by name if that says it all, else one by one.
    fn of(cluster: &TrainingCluster) -> Result<Self, String> {
        let named = |name: &str| Ok(Self::Named(name.to_owned()));
        let Some(table) = cluster.speed.rows() else { return named("analytic") };
        let limits = [cluster.max_workers, cluster.max_servers];
        let formula = Speed::formula(&cluster.types, cluster.slot_s, limits, 0.0);
        if formula.is_ok_and(|formula| formula.rows().is_some_and(|rows| rows == table)) {
            return named("formula");
        }
        Speed::table(&table, &cluster.types, limits)?;
        Ok(Self::Given(RawTable { table }))
    }
}

/// Writes a workload file, job by job.
///
/// # Errors
///
/// What cannot be written, and numbers that are not allowed in such a file.
pub fn write(cluster: &Arc<TrainingCluster>, jobs: &[TrainingJob], out: &mut dyn Write) -> io::Result<()> {
    let TrainingCluster { types, nodes, node_slots: [cpu, gpu], slot_s, max_workers, max_servers, speed_error, .. } =
        &**cluster;
    let speed = RawSpeed::of(cluster).map_err(cannot_be_written)?;
    write!(out, "{{\"nodes\": {nodes}, \"node_slots\": [{cpu}, {gpu}], \"slot_s\": {slot_s}, ")?;
    write!(out, "\"max_workers\": {max_workers}, \"max_servers\": {max_servers}, ")?;
    write!(out, "\"speed_error\": {speed_error},\n \"speed\": ")?;
    serde_json::to_writer(&mut *out, &speed)?;
    out.write_all(b",\n \"types\": ")?;
    serde_json::to_writer(&mut *out, &**types)?;
    out.write_all(b",\n \"jobs\": ")?;
    let mut above = None;
    write_list(jobs, out, |job, _| {
        let raw = RawJob::of(job, cluster);
        above = Some(read_job(&raw, cluster, above.as_ref())?);
        Ok(raw)
    })?;
    out.write_all(b"}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(text: &str) -> Result<TrainingWorkload, String> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("jobs.json");
        std::fs::write(&path, text).unwrap();
        let cells = r#"{"format": "dl2-speed-grid/1", "grid": {"m": [[1, 2], [3, 4]]}}"#;
        std::fs::write(dir.path().join("grid.json"), cells).unwrap();
        TrainingWorkload::open(&format!("json:{}", path.display()).parse().unwrap()).map_err(|e| e.to_string())
    }

    #[test]
    fn a_file_may_bring_types_and_a_grid() {
        let workload = load(
            r#"{"nodes": 3, "node_slots": [4, 2], "slot_s": 60, "max_workers": 1, "max_servers": 1, "speed": "grid.json",
                "types": [{"name": "m", "epoch_size": 30, "worker": [1, 1], "server": [1, 0]}],
                "jobs": [{"type": "m", "arrival_slot": 0, "epochs": 5},
                         {"type": "m", "arrival_slot": 2, "epochs": 5, "real_epochs": 6}]}"#,
        )
        .unwrap();
        let cluster = workload.cluster();
        assert_eq!((cluster.nodes, cluster.capacity(), cluster.places()), (3, [12, 6], 4));
        // Row: parameter servers; column: workers.
        assert_eq!(cluster.speed.by_count(0, 2, 1), 2.0 * 60.0 / 30.0);
        assert_eq!(workload.jobs(0)[1].real_epochs, 6.0);
        assert_eq!(workload.files().len(), 2);
    }

    #[test]
    fn mistakes_name_file_and_job() {
        let with = |more: &str, job: &str| format!(r#"{{{more} "jobs": [{job}]}}"#);
        let job = r#"{"type": "vgg-16", "arrival_slot": 3, "epochs": 5}"#;
        let own = |t: &str| with(&format!(r#""types": [{t}],"#), job);
        for (text, expected) in [
            (String::new(), "the file is empty"),
            ("{}".to_owned(), "missing field `jobs`"),
            (with("", ""), "`jobs` is empty"),
            (with(r#""nodes": 0,"#, job), "nodes must be in 1..=10000, got 0"),
            (with(r#""max_workers": 300,"#, job), "max_workers must be in 1..=256, got 300"),
            (with(r#""slot_s": 0,"#, job), "slot_s must be"),
            (with(r#""speed_error": 2,"#, job), "speed_error must be"),
            (with(r#""colour": 2,"#, job), "unknown field `colour`"),
            (with(r#""node_slots": [4, 2],"#, job), "type `resnet-50`: a worker and a parameter server ask for [4, 4]"),
            (with(r#""speed": "fast","#, job), "speed must be one of formula, analytic"),
            (with(r#""speed": "grid.json","#, job), "the grid has no model `resnet-50`"),
            (with("", r#"{"type": "vgg", "arrival_slot": 3, "epochs": 5}"#), "job 0: unknown type `vgg`; there are"),
            (with("", r#"{"type": "wlm", "arrival_slot": 3, "epochs": -5}"#), "job 0: epochs must be"),
            (with("", r#"{"type": "wlm", "arrival_slot": 3, "epochs": 1, "real_epochs": 0}"#), "job 0: real_epochs"),
            (
                with("", &format!(r#"{job}, {{"type": "wlm", "arrival_slot": 2, "epochs": 5}}"#)),
                "job 1: arrives at slot 2",
            ),
            (own(""), "`types` must have 1 to 255 entries"),
            (
                own(r#"{"name": "m", "epoch_size": 0, "worker": [1, 1], "server": [1, 0]}"#),
                "type `m`: epoch_size must be",
            ),
            (
                own(
                    r#"{"name": "m", "epoch_size": 1, "worker": [0, 1], "server": [1, 0], "formula": {"batch": 1, "a": 1, "b": 0, "c": 0, "d": 0, "e": 0}}"#,
                ),
                "type `m`: a worker must ask for at least 1 CPU slot",
            ),
            (own(r#"{"name": "m", "epoch_size": 1, "worker": [1, 1], "server": [1, 0]}"#), "type `m` has no `formula`"),
        ] {
            let message = load(&text).unwrap_err();
            assert!(message.contains("jobs.json") && message.contains(expected), "{message}");
        }
    }
}
