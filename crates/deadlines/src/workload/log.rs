//! Jobs of the log of a cluster, cut by time. What a log lacks is drawn for each row, by rules that `docs/deadlines.md` states.

use super::{
    DeadlineJob, DeadlineWorkload, JOB_BYTES, WINDOW_JOBS,
    builtin::{self, Errors},
    chronus::Measured,
    models, philly,
};
use crate::{Cluster, Model, cluster::MOST_CORES, prediction::Estimate};
use sched_distill_core::{
    rng::Stream,
    simulation::{Costs, Dated, History},
    spec::Spec,
    workload::{Cut, Log, LogSpec, LoggedJob, WorkloadError},
};
use std::sync::Arc;

/// Most nodes of a cluster.
const MOST_NODES: u32 = 10_000;

/// What makes an episode less.
const LESS: &str = "ask for fewer `jobs`, a shorter `window`, or fewer checks (`check`)";

impl Dated for DeadlineJob {
    fn arrival_ms(&self) -> f64 {
        self.arrival_ms
    }

    /// Its deadline comes as long after its arrival as before.
    fn arriving(self, arrival_ms: f64) -> Self {
        // What does not move is not rounded.
        if arrival_ms == self.arrival_ms {
            return self;
        }
        let later = |time_ms: f64| arrival_ms + (time_ms - self.arrival_ms);
        Self {
            arrival_ms,
            deadline_ms: later(self.deadline_ms),
            declared_deadline_ms: later(self.declared_deadline_ms),
            ..self
        }
    }

    fn ended_ms(&self) -> Option<f64> {
        Some(self.arrival_ms + self.recorded?.end_ms)
    }

    /// A job that waited has all of its iterations left, one that ran its share of them, whole ones and at least one. A deadline that has
    /// passed passes at once: it cannot be met, whoever schedules.
    fn left_at(&self, time_ms: f64) -> Option<Self> {
        let (ran, since_ms) = (self.recorded?, time_ms - self.arrival_ms);
        let iterations = (ran.left(since_ms)? * self.iterations).round().max(1.0);
        Some(Self {
            arrival_ms: time_ms,
            deadline_ms: self.deadline_ms.max(time_ms + 1.0),
            declared_deadline_ms: self.declared_deadline_ms.max(time_ms + 1.0),
            iterations,
            declared_iterations: self.declared_iterations * (iterations / self.iterations),
            recorded: Some(ran.after(since_ms)),
            ..*self
        })
    }
}

/// Opens `philly:FILE`, `helios:FILE`, `swf:FILE`, `sacct:FILE`, `chronus:FILE` and `csv:FILE`.
pub(super) fn open(spec: &Spec) -> Result<DeadlineWorkload, WorkloadError> {
    let mut args = spec.args();
    let asked = LogSpec::from_args(spec, &mut args)?;
    if asked.is_drawn() {
        return philly::open(spec);
    }
    let (mut cluster, errors) = builtin::cluster(&mut args, 4, [600.0, 30.0])?;
    let jobs = args.count("jobs", WINDOW_JOBS, 1..=1_000_000)?;
    let size = args.optional_count("size", 1..=MOST_NODES * MOST_CORES)?;
    if let Some(size) = size.filter(|_| spec.params.contains_key("nodes")) {
        return Err(args.conflict("size", &size.to_string(), "left out with nodes=N").into());
    }
    let node_gpus = if spec.name == "chronus" { Some(args.count("node-gpus", 4, 1..=MOST_CORES)?) } else { None };
    args.finish()?;
    let measured = node_gpus.map(|node_gpus| Measured::beside(asked.path(), node_gpus)).transpose()?;
    let mut log = asked.read()?;
    nodes(&mut cluster, &mut log, spec, size)?;
    let (most, devices) = (cluster.node_cores, log.devices());
    log.fit(most, &format!("a job runs on one node, which has {most} {devices} (node-cores=N, size=N)"))?;
    without_deadline(&mut log);
    // Recorded jobs use as many cores as they request, whatever their model is taken to be.
    cluster.models.iter_mut().for_each(|model| model.cores_used.clear());
    let all: Result<Vec<DeadlineJob>, String> = match &measured {
        Some(measured) => log.jobs().iter().map(|logged| measured_job(logged, measured, errors)).collect(),
        None => Ok(log.jobs().iter().map(|logged| job(logged, errors)).collect()),
    };
    let refused = |problem: String| log.refused(problem);
    let history = history(all.map_err(refused)?, &cluster, asked.cut(), jobs).map_err(refused)?;
    let mut files = vec![asked.path().to_owned()];
    if let (Some(measured), Some(node_gpus)) = (measured, node_gpus) {
        log.note(format!(
            "laws of models are fitted to the speeds of {} on nodes of {node_gpus} GPUs (`node-gpus=N`), and differ from them by {:.0} % at most",
            measured.path.display(),
            100.0 * measured.error
        ));
        cluster.models = known(&measured, &history.known(), cluster.noise);
        files.push(measured.path);
    }
    let workload: DeadlineWorkload = history.on(Arc::new(cluster), files);
    Ok(workload.checked(spec, LESS)?.with_notes(log.into_notes()))
}

/// Jobs in order of arrival, cut by time or whole. Where the cut names no length, a window has about `window_jobs`.
pub(super) fn history(
    all: Vec<DeadlineJob>,
    cluster: &Cluster,
    cut: &Cut,
    window_jobs: u32,
) -> Result<History<DeadlineJob>, String> {
    let costs = Costs { events: &|job: &DeadlineJob| cluster.events_of(job), bytes: JOB_BYTES };
    History::new(all, cut, window_jobs, &costs)
}

/// A job of a log whose models are not known, with its own deadline if it has one; what it lacks belongs to its row.
fn job(logged: &LoggedJob, errors: Errors) -> DeadlineJob {
    let job = philly::recorded_job(&errors.drawn(logged.row), logged.submit_ms, logged.devices, logged.duration_ms);
    due(DeadlineJob { recorded: Some(logged.ran), ..job }, logged)
}

/// The same with the deadline of the log, if that has one. One at the submission passes at once.
fn due(job: DeadlineJob, logged: &LoggedJob) -> DeadlineJob {
    match logged.deadline_ms.map(|deadline_ms| deadline_ms.max(logged.submit_ms + 1.0)) {
        Some(deadline_ms) => DeadlineJob { deadline_ms, declared_deadline_ms: deadline_ms, ..job },
        None => job,
    }
}

/// A job of a log whose models were measured: it takes as long on its GPUs as it is recorded to.
fn measured_job(logged: &LoggedJob, measured: &Measured, errors: Errors) -> Result<DeadlineJob, String> {
    let place = measured.models.iter().position(|model| logged.model.as_deref() == Some(&*model.name));
    let (Some(place), Some(iterations)) = (place, logged.iterations.filter(|&iterations| iterations > 0)) else {
        let names: Vec<&str> = measured.models.iter().take(8).map(|model| &*model.name).collect();
        return Err(format!(
            "row {} has {} iterations of the model `{}`; there have to be some, and {} has the models {}",
            logged.row + 1,
            logged.iterations.unwrap_or(0),
            logged.model.as_deref().unwrap_or_default(),
            measured.path.display(),
            names.join(", ")
        ));
    };
    let drawn = errors.drawn(logged.row);
    // Below 2^32.
    let iterations = iterations as f64;
    let shape = measured.models[place].law;
    let law = shape.times(logged.duration_ms / iterations / shape.time_ms(logged.devices));
    let job = philly::recorded_job(&drawn, logged.submit_ms, logged.devices, logged.duration_ms);
    let job = DeadlineJob {
        // A few models.
        model: place as u16,
        iterations,
        declared_iterations: iterations * drawn.inflated,
        law,
        recorded: Some(logged.ran),
        ..job
    };
    Ok(due(job, logged))
}

/// The models as schedulers know them: from the first jobs of each that may be known, measured as those of the generator are.
fn known(measured: &Measured, known: &[&DeadlineJob], noise: f64) -> Vec<Model> {
    let mut stream = Stream::new(0, "earlier jobs");
    let mut one = |(place, name): (usize, &str)| {
        let of_it = known.iter().filter(|job| usize::from(job.model) == place).take(models::EARLIER_JOBS);
        let jobs: Vec<_> = of_it.map(|job| models::measured(&job.law, noise, &mut stream)).collect();
        Model { name: name.to_owned().into(), earlier: Estimate::from_jobs(&jobs, noise), cores_used: Vec::new() }
    };
    measured.models.iter().enumerate().map(|(place, model)| one((place, &*model.name))).collect()
}

/// Says of how many jobs the deadline is ours.
fn without_deadline(log: &mut Log) {
    let n = log.jobs().len();
    let without = log.jobs().iter().filter(|job| job.deadline_ms.is_none()).count();
    if without > 0 {
        log.note(format!("{without} of {n} jobs have no deadline in the log: theirs is drawn (docs/deadlines.md)"));
    }
}

/// Gives a cluster the nodes that are named, else one pool of all devices, or as few as there can be.
fn nodes(cluster: &mut Cluster, log: &mut Log, spec: &Spec, size: Option<u32>) -> Result<(), WorkloadError> {
    let is_named = |key: &str| spec.params.contains_key(key);
    if is_named("nodes") {
        return Ok(());
    }
    let total = log.size(size, MOST_NODES * MOST_CORES)?;
    let (most, devices) = (if is_named("node-cores") { cluster.node_cores } else { MOST_CORES }, log.devices());
    cluster.nodes = total.div_ceil(most);
    cluster.node_cores = if is_named("node-cores") { most } else { total.div_ceil(cluster.nodes) };
    let (nodes, each) = (cluster.nodes, cluster.node_cores);
    if nodes > MOST_NODES {
        let problem = format!(
            "has {total} {devices}, {nodes} nodes of {each}, and at most {MOST_NODES} are possible: add `node-cores=N`"
        );
        return Err(log.refused(problem));
    }
    log.note(match nodes {
        1 => format!("the cluster is one pool of {each} {devices}, as a job runs on one node here (`nodes=N`, `node-cores=N`)"),
        _ => format!("the cluster is {nodes} pools of {each} {devices}, as a job runs on one node here, of at most {MOST_CORES} (`nodes=N`, `node-cores=N`)"),
    });
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use sched_distill_core::rng::{EpisodeId, Split};
    use std::collections::BTreeMap;

    const INFO: &str = r#"{"a": {"2": {"1": 1, "2": 0.9}, "8": {"1": 1, "2": 0.8}}, "b": {"4": {"1": 0.9}}}"#;

    fn open(text: &str, params: &str) -> Result<DeadlineWorkload, String> {
        let dir = tempfile::tempdir().map_err(|e| e.to_string())?;
        let path = dir.path().join("log.csv");
        std::fs::write(&path, text).map_err(|e| e.to_string())?;
        if params.starts_with("chronus") {
            std::fs::write(dir.path().join("model_info.json"), INFO).map_err(|e| e.to_string())?;
        }
        let spec = params.replace("FILE", &path.display().to_string()).parse().map_err(|e| format!("{e}"))?;
        DeadlineWorkload::open(&spec).map_err(|e| e.to_string())
    }

    /// Jobs that run for three hours from the second half hour after their submission on, one every half hour, due after five hours.
    fn table(jobs: u32) -> String {
        let row = |i: u32| {
            let submit_s = 1800 * i;
            format!("{submit_s},{},{},{},{}\n", submit_s + 1800, submit_s + 12_600, 1 << (i % 5), submit_s + 18_000)
        };
        std::iter::once("in,from,to,gpus,due\n".to_owned()).chain((0..jobs).map(row)).collect()
    }

    const COLUMNS: &str = "csv:FILE,submit=in,start=from,end=to,gpus=gpus";

    #[test]
    fn rows_become_jobs_of_one_pool() {
        let workload = open(&table(20), &format!("{COLUMNS},deadline=due,split=none")).unwrap();
        assert_eq!((workload.cluster().nodes, workload.cluster().node_cores), (1, 47));
        let jobs = workload.jobs(1);
        assert_eq!(
            (jobs[3].arrival_ms, jobs[3].threads, jobs[3].requested, jobs[3].deadline_ms),
            (5.4e6, 8, 8, 2.34e7)
        );
        let run_ms = jobs[3].iterations * jobs[3].law.time_ms(8);
        assert!((run_ms / 1.08e7 - 1.0).abs() < 1e-2, "{run_ms}");
        let notes = workload.notes().join("\n");
        assert!(notes.contains("one pool of 47 GPUs") && !notes.contains("no deadline"), "{notes}");
        // Without deadlines they are by the rule.
        let drawn = open(&table(20), &format!("{COLUMNS},split=none")).unwrap();
        let tight = (drawn.jobs(1)[3].deadline_ms - 5.4e6) / run_ms;
        assert!((0.6..3.0).contains(&tight), "{tight}");
        assert!(drawn.notes().iter().any(|note| note.starts_with("20 of 20 jobs have no deadline in the log")));
        let small = open(&table(20), &format!("{COLUMNS},split=none,nodes=2,node-cores=4")).unwrap();
        assert_eq!((small.cluster().cores(), small.jobs(1).len()), (8, 12));
        assert!(small.notes().iter().any(|note| note.contains("8 of 20 jobs need more than 4 GPUs")));
        assert_eq!(open(&table(20), &format!("{COLUMNS},split=none,size=300")).unwrap().cluster().node_cores, 150);
    }

    #[test]
    fn no_job_is_in_two_splits() {
        let workload = open(&table(3000), &format!("{COLUMNS},deadline=due,window=1d")).unwrap();
        let mut splits: BTreeMap<u64, Split> = BTreeMap::new();
        for split in Split::ALL {
            for episode in 0..workload.most_episodes(split).unwrap_or(60) {
                for job in workload.jobs(EpisodeId::new(1, split, episode)) {
                    assert!(job.deadline_ms > job.arrival_ms);
                    // The spread of a job around its model is its own.
                    assert_eq!(*splits.entry(job.law.serial_ms.to_bits()).or_insert(split), split);
                }
            }
        }
        assert!(splits.len() > 2000);
    }

    #[test]
    fn what_is_left_of_a_job_keeps_its_deadline() {
        let job = open(&table(2), &format!("{COLUMNS},deadline=due,split=none,size=8")).unwrap().jobs(1)[1];
        let job = DeadlineJob { iterations: 100.0, declared_iterations: 200.0, ..job };
        let left = |time_ms: f64| {
            job.left_at(time_ms)
                .map(|left| (left.arrival_ms, left.iterations, left.declared_iterations, left.deadline_ms))
        };
        assert_eq!(left(2e6), Some((2e6, 100.0, 200.0, 1.98e7)));
        // It has run for an hour and a half of three.
        assert_eq!(left(9e6), Some((9e6, 50.0, 100.0, 1.98e7)));
        assert_eq!(left(1.44e7), None);
        let late = DeadlineJob { deadline_ms: 8e6, ..job }.left_at(9e6).unwrap().arriving(0.0);
        assert_eq!((late.arrival_ms, late.deadline_ms, late.declared_deadline_ms), (0.0, 1.0, 1.08e7));
        // Jobs that come twice as fast have as long as before.
        assert_eq!(job.arriving(9e5).deadline_ms, 9e5 + 1.8e7);
    }

    #[test]
    fn jobs_of_chronus_follow_the_speeds_of_their_models() {
        let header = "job_id,user,num_gpu,submit_time,iterations,model_name,duration,interval,expect_time_list,expect_value_list,best_effort,job_type";
        let text = format!(
            "{header}\n0,u,4,7,100,a,50,8,90,10,0,strict\n1,v,1,9,100,b,20,8,30,10,0,strict\n2,v,0,9,100,b,20,8,30,10,0,strict\n"
        );
        let workload = open(&text, "chronus:FILE,size=16,split=none").unwrap();
        let jobs = workload.jobs(1);
        assert_eq!(jobs.len(), 2);
        assert_eq!(
            (jobs[0].arrival_ms, jobs[0].deadline_ms, jobs[0].iterations, jobs[0].model),
            (0.0, 5.4e6, 100.0, 0)
        );
        assert!((jobs[0].law.time_ms(4) - 3e4).abs() < 1e-6 && (jobs[1].law.time_ms(1) - 1.2e4).abs() < 1e-6);
        // Nearly in proportion up to a node; then two nodes cost something.
        let ratio = jobs[0].law.time_ms(1) / jobs[0].law.time_ms(4);
        assert!((3.2..4.5).contains(&ratio), "{ratio}");
        assert_eq!(workload.cluster().models.iter().map(|model| &*model.name).collect::<Vec<_>>(), ["a", "b"]);
        assert_eq!(workload.files().len(), 2);
        let notes = workload.notes().join("\n");
        assert!(
            notes.contains("it asks for 0 GPUs") && notes.contains("on nodes of 4 GPUs (`node-gpus=N`)"),
            "{notes}"
        );
        for (text, params, says) in [
            (text.clone(), "chronus:FILE", "add `size=N`, the GPUs that it had"),
            (text.replace(",a,", ",c,"), "chronus:FILE,size=9,split=none", "row 1 has 100 iterations of the model `c`"),
            (text.replace("100,b", "0,b"), "chronus:FILE,size=9,split=none", "row 2 has 0 iterations of the model `b`"),
            (text.clone(), "helios:FILE", "there is no column"),
            (table(9), "csv:FILE,submit=in,start=from,end=to,gpus=gpus,node-gpus=4", "unknown parameter `node-gpus`"),
        ] {
            let problem = open(&text, params).unwrap_err();
            assert!(problem.contains(says), "{params}: {problem}");
        }
    }
}
