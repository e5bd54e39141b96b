//! Jobs of the log of a cluster, cut by time. What a log lacks is drawn for each row, by rules that `docs/training-clusters.md` states.

use super::{
    TrainingJob, TrainingWorkload, WINDOW_JOBS, builtin,
    timed::{InSlots, Timed},
};
use crate::cluster::{JOB_TYPES, TrainingCluster, job_types};
use sched_distill_core::{
    rng::{Stream, hash},
    spec::Spec,
    workload::{Log, LogSpec, LoggedJob, WorkloadError},
};
use std::sync::Arc;

/// Most nodes of a cluster, and as many as there are where neither the log nor the spec says.
const MOST_NODES: u32 = 10_000;
const USUAL_NODES: u32 = 48;

/// Slots of CPU and GPU of a node.
const NODE_SLOTS: [u32; 2] = [8, 8];

/// What makes an episode less.
const LESS: &str = "ask for fewer `jobs`, a shorter `window`, or longer slots (`slot`)";

/// Opens `philly:FILE`, `helios:FILE`, `swf:FILE`, `sacct:FILE`, `chronus:FILE` and `csv:FILE`.
pub(super) fn open(spec: &Spec) -> Result<TrainingWorkload, WorkloadError> {
    let mut args = spec.args();
    let asked = LogSpec::from_args(spec, &mut args)?;
    let mut files = vec![asked.path().to_owned()];
    let jobs = args.count("jobs", WINDOW_JOBS, 1..=1_000_000)?;
    let nodes = args.optional_count("nodes", 1..=MOST_NODES)?;
    let each = bundles();
    let size = args.optional_count("size", 1..=MOST_NODES * each)?;
    if let Some(size) = size.filter(|_| nodes.is_some()) {
        return Err(args.conflict("size", &size.to_string(), "left out with nodes=N").into());
    }
    let slot_s = args.number("slot", 1200.0, 1e-3..=1e7)?;
    let max = args.count("max", 16, 1..=256)?;
    let types = args.count("types", JOB_TYPES.len() as u32, 1..=JOB_TYPES.len() as u32)?;
    let (epoch_error, speed_error) =
        (args.number("epoch-error", 0.0, 0.0..=0.9)?, args.number("speed-error", 0.0, 0.0..=0.9)?);
    // By placement, speeds are not known of jobs of which it is not known where they were; the cluster's nodes count for those alone.
    if spec.params.get("speed").is_some_and(|speed| speed == "analytic") {
        return Err(args
            .conflict("speed", "analytic", "one of formula, or a FILE.json: logs do not say where jobs ran")
            .into());
    }
    let speed = builtin::speed(&mut args, slot_s, max, USUAL_NODES, None, &mut files)?;
    args.finish()?;
    let mut log = asked.read()?;
    let nodes = match nodes {
        Some(nodes) => nodes,
        None => {
            let size = log.size(size, MOST_NODES * each)?;
            let nodes = size.div_ceil(each);
            let devices = log.devices();
            log.note(format!(
                "a node has {} slots of CPU and {} of GPU, room for {each} workers beside as many parameter servers: {nodes} nodes stand for {size} {devices}",
                NODE_SLOTS[0], NODE_SLOTS[1]
            ));
            nodes
        }
    };
    let most = nodes * each;
    log.fit(
        most,
        &format!("the cluster has room for {most} workers beside as many parameter servers (size=N, nodes=N)"),
    )?;
    beyond(&mut log, max);
    let cluster = TrainingCluster {
        types: job_types(),
        nodes,
        node_slots: NODE_SLOTS,
        slot_s,
        max_workers: max,
        max_servers: max,
        speed: Arc::new(speed),
        speed_error,
    };
    let drawing = Drawing { cluster: &cluster, types, epoch_error };
    let all: Vec<Timed> = log.jobs().iter().map(|logged| drawing.job(logged)).collect();
    let jobs = InSlots::new(all, &cluster, asked.cut(), jobs).map_err(|problem| log.refused(problem))?;
    let mut notes = log.into_notes();
    notes.extend(jobs.cut());
    let workload = TrainingWorkload::new(Arc::new(cluster), jobs, files);
    Ok(workload.checked(spec, LESS)?.with_notes(notes))
}

/// Workers that a node has room for beside as many parameter servers, whatever their type.
fn bundles() -> u32 {
    let of = |bundle: [u32; 2]| {
        let room = |place: usize| NODE_SLOTS[place].checked_div(bundle[place]);
        [0, 1].into_iter().filter_map(room).min()
    };
    JOB_TYPES.iter().filter_map(|job_type| of(job_type.bundle())).min().unwrap_or(1)
}

/// Says how many jobs had more than workers may be.
fn beyond(log: &mut Log, max: u32) {
    let (n, devices) = (log.jobs().len(), log.devices());
    let beyond = log.jobs().iter().filter(|job| job.devices > max).count();
    if beyond > 0 {
        log.note(format!(
            "{beyond} of {n} jobs had more than {max} {devices}, and are taken to have had {max} (`max=N`)"
        ));
    }
}

/// How what a log lacks is drawn.
struct Drawing<'a> {
    cluster: &'a TrainingCluster,
    types: u32,
    epoch_error: f64,
}

impl Drawing<'_> {
    /// A job of a log: what it lacks belongs to its row. It takes the epochs that a worker and a parameter server for each of its devices do
    /// in the time that it ran.
    fn job(&self, logged: &LoggedJob) -> Timed {
        let mut stream = Stream::new(hash(&[logged.row]), "recorded training job");
        // There are at most 255 types.
        let kind = stream.below(self.types as usize) as u8;
        let workers = logged.devices.min(self.cluster.max_workers);
        let slots = logged.duration_ms / self.cluster.slot_ms();
        let real_epochs = (slots * self.cluster.speed.by_count(kind, workers, workers)).max(f64::MIN_POSITIVE);
        let epochs = real_epochs / (1.0 + stream.uniform_in(-self.epoch_error, self.epoch_error));
        let job = TrainingJob { kind, arrival_slot: 0, epochs, real_epochs, recorded: None };
        Timed { job, arrival_ms: logged.submit_ms, ran: Some(logged.ran) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sched_distill_core::rng::{EpisodeId, Split};
    use std::collections::BTreeMap;

    /// Jobs that run for three hours from the second half hour after their submission on, one every half hour, each a second longer than
    /// the one before it.
    fn table(jobs: u32) -> String {
        let row = |i: u32| {
            let submit_s = 1800 * i;
            format!("{submit_s},{},{},{}\n", submit_s + 1800, submit_s + 12_600 + i, 1 << (i % 5))
        };
        std::iter::once("in,from,to,gpus\n".to_owned()).chain((0..jobs).map(row)).collect()
    }

    fn open(text: &str, params: &str) -> Result<TrainingWorkload, String> {
        let dir = tempfile::tempdir().map_err(|e| e.to_string())?;
        let path = dir.path().join("log.csv");
        std::fs::write(&path, text).map_err(|e| e.to_string())?;
        let spec = params.replace("FILE", &path.display().to_string()).parse().map_err(|e| format!("{e}"))?;
        TrainingWorkload::open(&spec).map_err(|e| e.to_string())
    }

    const COLUMNS: &str = "csv:FILE,submit=in,start=from,end=to,gpus=gpus";

    #[test]
    fn rows_become_jobs_in_slots() {
        let workload = open(&table(20), &format!("{COLUMNS},split=none,epoch-error=0.2")).unwrap();
        let (cluster, jobs) = (workload.cluster(), workload.jobs(1));
        // 55 GPUs were in use at most, and a node has room for two workers.
        assert_eq!((cluster.nodes, jobs.len()), (28, 20));
        assert_eq!(jobs.iter().take(4).map(|job| job.arrival_slot).collect::<Vec<_>>(), [0, 1, 3, 4]);
        for (job, gpus) in jobs.iter().zip([1, 2, 4, 8, 16]) {
            let slots = job.real_epochs / cluster.speed.by_count(job.kind, gpus, gpus);
            assert!((slots / 9.0 - 1.0).abs() < 1e-3, "{slots}");
            assert!((job.real_epochs / job.epochs - 1.0).abs() <= 0.2);
        }
        let notes = workload.notes().join("\n");
        assert!(notes.contains("28 nodes stand for 55 GPUs"), "{notes}");
        let few = open(&table(20), &format!("{COLUMNS},split=none,nodes=4,max=2")).unwrap();
        assert_eq!(few.jobs(1).len(), 16);
        let notes = few.notes().join("\n");
        assert!(
            notes.contains("4 of 20 jobs need more than 8 GPUs") && notes.contains("8 of 16 jobs had more than 2 GPUs"),
            "{notes}"
        );
    }

    #[test]
    fn no_job_is_in_two_splits() {
        let workload = open(&table(3000), &format!("{COLUMNS},window=1d")).unwrap();
        let mut splits: BTreeMap<(u8, u64), Split> = BTreeMap::new();
        for split in Split::ALL {
            for episode in 0..workload.most_episodes(split).unwrap_or(60) {
                let jobs = workload.jobs(EpisodeId::new(1, split, episode));
                assert!(jobs.is_sorted_by_key(|job| job.arrival_slot));
                assert!(jobs.iter().all(|job| job.real_epochs > 0.0));
                // What arrives later is whole, and jobs differ in how long they ran.
                for job in jobs.iter().filter(|job| job.arrival_slot > 0) {
                    assert_eq!(*splits.entry((job.kind, job.epochs.to_bits())).or_insert(split), split);
                }
            }
        }
        assert!(splits.len() > 2000);
    }

    #[test]
    fn mistakes_are_named() {
        for (params, says) in [
            ("csv:FILE,submit=in,duration=from,gpus=gpus", "add `size=N`, the GPUs that it had"),
            ("csv:FILE,submit=in,duration=from,gpus=gpus,size=9,nodes=3", "size must be left out with nodes=N"),
            (
                "csv:FILE,submit=in,duration=from,gpus=gpus,speed=analytic",
                "speed must be one of formula, or a FILE.json: logs do not say",
            ),
            ("csv:FILE,submit=in,duration=from,gpus=gpus,size=90", "is too short to be cut by time"),
            ("philly:FILE", "there is no column `submit_s`"),
        ] {
            let problem = open(&table(9), params).unwrap_err();
            assert!(problem.contains(says), "{params}: {problem}");
        }
    }
}
