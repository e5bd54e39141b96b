//! Jobs of the log of a cluster, cut by time. What a log lacks is drawn for each row, by rules that `docs/preemption.md` states.

use super::{
    JOB_BYTES, JOB_EVENTS, PreemptionJob, PreemptionWorkload, WINDOW_JOBS,
    builtin::{self, Errors},
    philly,
};
use crate::{
    Cluster,
    cluster::{MOST_GPUS, MOST_NODE_GPUS},
};
use sched_distill_core::{
    rng::{Stream, hash},
    simulation::{Costs, Dated, History},
    spec::Spec,
    workload::{Cut, Log, LogSpec, LoggedJob, WorkloadError},
};
use std::sync::Arc;

/// Most nodes of a cluster.
const MOST_NODES: u32 = 10_000;

/// Of the time in which a job holds its GPUs, it computes in so much at least, however long beginning takes.
const LEAST_SHARE: f64 = 0.5;

/// What makes an episode less.
const LESS: &str = "ask for fewer `jobs`, a shorter `window`, fewer checks (`check`) or fewer failures (`mtbf`)";

impl Dated for PreemptionJob {
    fn arrival_ms(&self) -> f64 {
        self.arrival_ms
    }

    fn arriving(self, arrival_ms: f64) -> Self {
        Self { arrival_ms, ..self }
    }

    fn ended_ms(&self) -> Option<f64> {
        Some(self.arrival_ms + self.recorded?.end_ms)
    }

    /// A job that waited has all of its epochs left, one that ran its share of them, whole ones and at least one.
    fn left_at(&self, time_ms: f64) -> Option<Self> {
        let (ran, since_ms) = (self.recorded?, time_ms - self.arrival_ms);
        let epochs = (ran.left(since_ms)? * self.epochs).round().max(1.0);
        let declared_epochs = (self.declared_epochs - (self.epochs - epochs)).max(1.0);
        Some(Self { arrival_ms: time_ms, epochs, declared_epochs, recorded: Some(ran.after(since_ms)), ..*self })
    }
}

/// Opens `philly:FILE`, `helios:FILE`, `swf:FILE`, `sacct:FILE`, `chronus:FILE` and `csv:FILE`.
pub(super) fn open(spec: &Spec) -> Result<PreemptionWorkload, WorkloadError> {
    let mut args = spec.args();
    let asked = LogSpec::from_args(spec, &mut args)?;
    if asked.is_drawn() {
        return philly::open(spec);
    }
    let (mut cluster, errors) = builtin::cluster(&mut args, 8)?;
    let jobs = args.count("jobs", WINDOW_JOBS, 1..=1_000_000)?;
    let size = args.optional_count("size", 1..=MOST_GPUS)?;
    if let Some(size) = size.filter(|_| spec.params.contains_key("nodes")) {
        return Err(args.conflict("size", &size.to_string(), "left out with nodes=N").into());
    }
    args.finish()?;
    let mut log = asked.read()?;
    nodes(&mut cluster, &mut log, spec, size)?;
    let most = cluster.gpus();
    log.fit(most, &format!("the cluster has {most} (size=N, nodes=N, node-gpus=N)"))?;
    let of = |logged: &LoggedJob| job(logged, &cluster, errors);
    let all: Vec<PreemptionJob> = log.jobs().iter().map(of).collect();
    let history = history(all, &cluster, asked.cut(), jobs).map_err(|problem| log.refused(problem))?;
    let known = history.known();
    let earlier = builtin::earlier(&cluster, |stream| {
        let job = known[stream.below(known.len())];
        (job.gpus, job.epochs * job.epoch_ms)
    });
    cluster.earlier = earlier;
    let workload: PreemptionWorkload = history.on(Arc::new(cluster), vec![asked.path().to_owned()]);
    Ok(workload.checked(spec, LESS)?.with_notes(log.into_notes()))
}

/// Jobs in order of arrival, cut by time or whole. Where the cut names no length, a window has about `window_jobs`.
pub(super) fn history(
    all: Vec<PreemptionJob>,
    cluster: &Cluster,
    cut: &Cut,
    window_jobs: u32,
) -> Result<History<PreemptionJob>, String> {
    let gap_ms = all.last().map_or(0.0, |job| job.arrival_ms) / all.len() as f64;
    let events = |job: &PreemptionJob| {
        let alone_ms = cluster.alone_ms(job);
        JOB_EVENTS + cluster.events_in(alone_ms, alone_ms + gap_ms)
    };
    History::new(all, cut, window_jobs, &Costs { events: &events, bytes: JOB_BYTES })
}

/// A job of a log; what it lacks belongs to its row.
fn job(logged: &LoggedJob, cluster: &Cluster, errors: Errors) -> PreemptionJob {
    let mut stream = Stream::new(hash(&[logged.row]), "recorded job on GPUs");
    let job = errors.job(cluster, logged.devices, logged.duration_ms, &mut stream);
    // In the time that is recorded a job holds its GPUs, and begins, too: in whole epochs, what is left of it.
    let model = &cluster.models[job.model as usize];
    let begins_ms = model.container_ms + model.warm_ms + job.data_gb / cluster.rate(1);
    let epoch_ms = (logged.duration_ms - begins_ms).max(LEAST_SHARE * logged.duration_ms) / job.epochs;
    PreemptionJob { arrival_ms: logged.submit_ms, epoch_ms, recorded: Some(logged.ran), ..job }
}

/// Gives a cluster the nodes that are named, else as many as its devices take.
fn nodes(cluster: &mut Cluster, log: &mut Log, spec: &Spec, size: Option<u32>) -> Result<(), WorkloadError> {
    if spec.params.contains_key("nodes") {
        return Ok(());
    }
    let is_named = spec.params.contains_key("node-gpus");
    let total = log.size(size, MOST_GPUS)?;
    match log.own_nodes().filter(|_| !is_named) {
        Some([nodes, each]) if nodes * each == total && each <= MOST_NODE_GPUS && nodes <= MOST_NODES => {
            (cluster.nodes, cluster.node_gpus) = (nodes, each);
        }
        _ => {
            // A cluster of one node may be smaller than nodes usually are.
            let each = if is_named { cluster.node_gpus } else { cluster.node_gpus.min(total) };
            (cluster.nodes, cluster.node_gpus) = (total.div_ceil(each), each);
        }
    }
    let (nodes, each, devices) = (cluster.nodes, cluster.node_gpus, log.devices());
    if nodes > MOST_NODES {
        let problem = format!(
            "has {total} {devices}, {nodes} nodes of {each}, and at most {MOST_NODES} are possible: add `node-gpus=N`"
        );
        return Err(log.refused(problem));
    }
    if cluster.gpus() != total {
        log.note(format!(
            "nodes have {each} {devices} each (`node-gpus=N`): there are {nodes}, {} {devices} in all",
            cluster.gpus()
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use sched_distill_core::rng::{EpisodeId, Split};
    use std::collections::BTreeMap;

    /// Jobs that run for three hours from the second half hour after their submission on, one every half hour, on 1, 2, 4, 8 and 16 GPUs.
    fn table(jobs: u32) -> String {
        let row = |i: u32| {
            let submit_s = 1800 * i;
            let queue = if i.is_multiple_of(3) { "a" } else { "b" };
            format!("{submit_s},{},{},{},{queue}\n", submit_s + 1800, submit_s + 12_600, 1 << (i % 5))
        };
        std::iter::once("in,from,to,gpus,q\n".to_owned()).chain((0..jobs).map(row)).collect()
    }

    fn open(text: &str, params: &str) -> Result<PreemptionWorkload, String> {
        let dir = tempfile::tempdir().map_err(|e| e.to_string())?;
        let path = dir.path().join("log.csv");
        std::fs::write(&path, text).map_err(|e| e.to_string())?;
        let spec = params.replace("FILE", &path.display().to_string()).parse().map_err(|e| format!("{e}"))?;
        PreemptionWorkload::open(&spec).map_err(|e| e.to_string())
    }

    const COLUMNS: &str = "csv:FILE,submit=in,start=from,end=to,gpus=gpus,queue=q";

    #[test]
    fn rows_become_jobs_on_the_cluster_that_was_in_use() {
        let workload = open(&table(20), &format!("{COLUMNS},split=none")).unwrap();
        // 1, 2, 4, 8 and 16 GPUs, twice in a row: six jobs run at a time.
        assert_eq!((workload.cluster().nodes, workload.cluster().node_gpus), (6, 8));
        let jobs = workload.jobs(1);
        assert_eq!(jobs, workload.jobs(2));
        assert_eq!(
            jobs.iter().take(3).map(|j| (j.arrival_ms, j.gpus)).collect::<Vec<_>>(),
            [(0.0, 1), (1.8e6, 2), (3.6e6, 4)]
        );
        for job in &jobs {
            let run_ms = job.epochs * job.epoch_ms;
            assert!((run_ms / 1.08e7 - 1.0).abs() < 0.15, "{run_ms}");
        }
        let notes = workload.notes().join("\n");
        assert!(notes.contains("the cluster has 47 GPUs, as many as were in use at one time"), "{notes}");
        assert!(notes.contains("there are 6, 48 GPUs in all"), "{notes}");
        let one = open(&table(20), &format!("{COLUMNS},split=none,vc=a")).unwrap();
        assert_eq!(one.jobs(1).len(), 7);
        // What is drawn of a job belongs to its row.
        assert_eq!(one.jobs(1)[1].epochs, jobs[3].epochs);
        assert_eq!(open(&table(20), &format!("{COLUMNS},split=none,size=5")).unwrap().cluster().gpus(), 5);
        let small = open(&table(20), &format!("{COLUMNS},split=none,nodes=2,node-gpus=4")).unwrap();
        assert_eq!((small.cluster().gpus(), small.jobs(1).len()), (8, 16));
        let notes = small.notes().join("\n");
        assert!(notes.contains("4 of 20 jobs need more than 8 GPUs, and are left out"), "{notes}");
    }

    #[test]
    fn no_job_is_in_two_splits_and_windows_begin_with_what_was_there() {
        let workload = open(&table(3000), &format!("{COLUMNS},window=1d")).unwrap();
        let all = open(&table(3000), &format!("{COLUMNS},split=none")).unwrap().jobs(1);
        let mut splits: BTreeMap<u64, Split> = BTreeMap::new();
        for split in Split::ALL {
            for episode in 0..workload.most_episodes(split).unwrap_or(60) {
                let jobs = workload.jobs(EpisodeId::new(1, split, episode));
                let left = jobs.iter().take_while(|job| job.arrival_ms == 0.0).count();
                // A job waits, six run, and another one may come at that moment; before the log begins nothing is known.
                let is_first = jobs[0].checkpoint_gb == all[0].checkpoint_gb;
                assert!(if is_first { left == 1 } else { (6..=8).contains(&left) }, "{left}");
                for job in &jobs {
                    // No two jobs have a checkpoint of the same size.
                    let key = job.checkpoint_gb.to_bits();
                    assert_eq!(*splits.entry(key).or_insert(split), split);
                    let whole = all.iter().find(|whole| whole.checkpoint_gb.to_bits() == key).unwrap();
                    assert!((1.0..=whole.epochs).contains(&job.epochs) && job.epochs.fract() == 0.0);
                }
                assert!(jobs.is_sorted_by(|a, b| a.arrival_ms <= b.arrival_ms));
            }
        }
        assert!(splits.len() > 2000);
        assert!(workload.notes().iter().any(|note| note.starts_with("windows of 1 d")), "{:?}", workload.notes());
    }

    #[test]
    fn what_is_left_of_a_job_is_the_rest_of_its_epochs() {
        let workload = open(&table(2), &format!("{COLUMNS},split=none,size=8")).unwrap();
        let job = PreemptionJob { epochs: 10.0, declared_epochs: 5.0, ..workload.jobs(1)[1] };
        assert_eq!(job.ended_ms(), Some(1.8e6 + 1.26e7));
        let left = |time_ms: f64| job.left_at(time_ms).map(|left| (left.arrival_ms, left.epochs, left.declared_epochs));
        assert_eq!(left(2e6), Some((2e6, 10.0, 5.0)));
        // It has run for an hour and a half of three.
        assert_eq!(left(9e6), Some((9e6, 5.0, 1.0)));
        assert_eq!(left(1.43e7), Some((1.43e7, 1.0, 1.0)));
        assert_eq!(left(1.44e7), None);
        assert_eq!(job.left_at(9e6).unwrap().ended_ms(), job.ended_ms());
    }

    #[test]
    fn mistakes_are_named() {
        for (text, params, says) in [
            (
                "in,took,gpus\n0,9,1\n5,9,2\n",
                "csv:FILE,submit=in,duration=took,gpus=gpus",
                "add `size=N`, the GPUs that it had",
            ),
            (
                "in,took,gpus\n0,9,1\n5,9,2\n",
                "csv:FILE,submit=in,duration=took,gpus=gpus,size=9",
                "is too short to be cut by time",
            ),
            (
                "in,took,gpus\n0,9,1\n5,9,2\n",
                "csv:FILE,submit=in,duration=took,gpus=gpus,size=9,nodes=2",
                "size must be left out with nodes=N",
            ),
            (
                "in,took,gpus\n0,9,4\n5,9,2\n",
                "csv:FILE,submit=in,duration=took,gpus=gpus,size=1",
                "has no job that needs at most 1 GPUs",
            ),
            (
                "in,took,gpus\n0,9,4\n5,9,2\n",
                "csv:FILE,submit=in,duration=took,gpus=gpus,colour=1",
                "unknown parameter `colour`",
            ),
        ] {
            let problem = open(text, params).unwrap_err();
            assert!(problem.contains(says), "{params}: {problem}");
        }
    }

    #[test]
    fn the_flat_table_of_philly_is_cut_if_that_is_asked_for() {
        let row = |i: u32| format!("{},600,{},a\n", 60 * i, 1 + i % 3);
        let text: String =
            std::iter::once("submit_s,duration_s,num_gpus,vc\n".to_owned()).chain((0..2000).map(row)).collect();
        let drawn = open(&text, "philly:FILE").unwrap();
        assert_eq!((drawn.jobs(1).len(), drawn.most_episodes(Split::Test)), (150, None));
        // Two GPUs in the mean, each for ten times as long as from one job to the next.
        let problem = open(&text, "philly:FILE,split=time").unwrap_err();
        assert!(
            problem.ends_with("With `size=26` its jobs keep 80 % of them busy in the mean; the largest needs 3"),
            "{problem}"
        );
        let cut = open(&text, "philly:FILE,split=time,size=64").unwrap();
        assert_eq!(cut.cluster().gpus(), 64);
        assert!(cut.most_episodes(Split::Test).is_some());
        // A row is the same job either way.
        let whole = open(&text, "philly:FILE,split=none,size=64").unwrap().jobs(1);
        assert!(
            drawn.jobs(1).iter().all(|job| whole.iter().any(|of| of.epochs == job.epochs && of.samples == job.samples))
        );
    }
}
