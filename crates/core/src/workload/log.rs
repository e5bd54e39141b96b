//! Which jobs did a cluster run, and how large was it? Logs of jobs without inner structure, as all scenarios take them.

use super::{Ran, WorkloadError};
use sched_distill_histories::jobs::{FlatJob, JobLog};
use std::{
    fmt,
    path::{Path, PathBuf},
    sync::Arc,
};

/// Queues that an error names at most.
const SHOWN: usize = 20;

/// Share of a cluster that is usually busy.
const USUAL_LOAD: f64 = 0.8;

/// A job that ends at once is taken to have run for a second.
const LEAST_MS: f64 = 1e3;

/// What jobs of a log run on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Devices {
    /// GPUs.
    Gpus,
    /// Cores, in a log that knows no GPUs.
    Cores,
}

impl fmt::Display for Devices {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Gpus => "GPUs",
            Self::Cores => "cores",
        })
    }
}

/// A job of a log.
#[derive(Clone, Debug, PartialEq)]
pub struct LoggedJob {
    /// Its place among the rows of the log, from 0: what is drawn of a job belongs to its row.
    pub row: u64,
    /// When it was submitted, ms since the first job that is used.
    pub submit_ms: f64,
    /// How long it ran, ms; at least 1 s.
    pub duration_ms: f64,
    /// When that was.
    pub ran: Ran,
    /// On how many GPUs or cores; at least 1.
    pub devices: u32,
    /// When it should have ended, ms, if the log says.
    pub deadline_ms: Option<f64>,
    /// Who submitted it, if the log says.
    pub user: Option<Arc<str>>,
    /// Its queue, partition or virtual cluster, if the log says.
    pub queue: Option<Arc<str>>,
    /// What it trains, if the log says.
    pub model: Option<Arc<str>>,
    /// Iterations that it took, if the log says.
    pub iterations: Option<u64>,
}

/// The jobs of a cluster, and what is to be said of them.
#[derive(Clone, Debug)]
pub struct Log {
    path: PathBuf,
    jobs: Vec<LoggedJob>,
    devices: Devices,
    /// Most that was in use at one time, as far as starts and ends are known.
    used: Option<u64>,
    /// What the log says of the size of the cluster: nodes and devices.
    own: [Option<u64>; 2],
    notes: Vec<String>,
}

impl Log {
    /// The jobs of a log, or of one queue of it, that ran on something.
    pub(super) fn new(mut log: JobLog, path: &Path, queue: Option<&str>) -> Result<Self, WorkloadError> {
        let refused = |problem: String| Err(WorkloadError::Format { path: path.to_owned(), problem });
        if let Some(queue) = queue {
            let found = std::mem::take(&mut log.jobs);
            let (of_it, others): (Vec<_>, Vec<_>) =
                found.into_iter().partition(|job| job.queue.as_deref() == Some(queue));
            if of_it.is_empty() {
                return refused(format!("no job has vc={queue}; {}", queues(&others)));
            }
            log.jobs = of_it;
            // What the log says is about all queues.
            (log.cluster_nodes, log.cluster_cpus) = (None, None);
        }
        let devices = match () {
            () if log.jobs.iter().any(|job| job.gpus > Some(0)) => Devices::Gpus,
            () if log.jobs.iter().any(|job| job.cpus > Some(0)) => Devices::Cores,
            () => {
                return refused(
                    "says of no job how many GPUs or cores it ran on; give a log that does, or name a column (csv:FILE,gpus=COLUMN)"
                        .to_owned(),
                );
            }
        };
        let mut notes = log.notes();
        if devices == Devices::Cores {
            notes.push("no job has GPUs: cores take their place".to_owned());
        }
        let n = log.jobs.len();
        let unknown_starts = log.jobs.iter().filter(|job| job.start_ms.is_none()).count();
        if unknown_starts > 0 {
            notes.push(format!(
                "a job without a start, as {unknown_starts} of {n} are, is taken to have started when it was submitted: that tells what is left of \
                 it when a window begins"
            ));
        }
        let used = log.most_used().map(|most| match devices {
            Devices::Gpus => most.gpus,
            Devices::Cores => most.cpus,
        });
        let own = match devices {
            Devices::Gpus => [log.cluster_nodes, None],
            Devices::Cores => [log.cluster_nodes, log.cluster_cpus],
        };
        let of = |job: &FlatJob| match devices {
            Devices::Gpus => job.gpus,
            Devices::Cores => job.cpus,
        };
        let used_jobs = log.jobs.iter().filter(|job| of(job) > Some(0));
        let origin_ms = used_jobs.clone().next().map_or(0, |job| job.submit_ms);
        let jobs: Vec<LoggedJob> = used_jobs.map(|job| logged(job, of(job).unwrap_or(0), origin_ms)).collect();
        match n - jobs.len() {
            0 => {}
            1 => notes.push(format!("1 job asks for no {devices}, and is left out")),
            none => notes.push(format!("{none} jobs ask for no {devices}, and are left out")),
        }
        Ok(Self { path: path.to_owned(), jobs, devices, used: used.filter(|&used| used > 0), own, notes })
    }

    /// The jobs, in order of submission; at least one.
    #[must_use]
    pub fn jobs(&self) -> &[LoggedJob] {
        &self.jobs
    }

    /// What they run on.
    #[must_use]
    pub fn devices(&self) -> Devices {
        self.devices
    }

    /// What people should know of it, a sentence each.
    #[must_use]
    pub fn into_notes(self) -> Vec<String> {
        self.notes
    }

    /// Adds what people should know.
    pub fn note(&mut self, note: String) {
        self.notes.push(note);
    }

    /// Nodes of the cluster and devices of each as the log says, if it does and they are alike.
    #[must_use]
    pub fn own_nodes(&self) -> Option<[u32; 2]> {
        let [Some(nodes @ 1..), Some(devices @ 1..)] = self.own else { return None };
        let is_even = devices % nodes == 0;
        let [nodes, each] = [nodes, devices / nodes].map(|count| u32::try_from(count).ok());
        Some([nodes?, each?]).filter(|_| is_even)
    }

    /// The devices of the cluster: as many as the spec names by this parameter; else as many as the log says, or as were in use at one time
    /// if those are more. `most` are possible.
    ///
    /// # Errors
    ///
    /// None of these, or more than are possible.
    pub fn size(&mut self, named: Option<u32>, most: u32) -> Result<u32, WorkloadError> {
        if let Some(named) = named {
            return Ok(named);
        }
        let devices = self.devices;
        let (size, why) = match (self.own[1].filter(|&own| own > 0), self.used) {
            (Some(own), used) if used.is_none_or(|used| used <= own) => (own, "as the log says"),
            (_, Some(used)) => (used, "as many as were in use at one time"),
            (_, None) => {
                let (least, busy) = (self.jobs.iter().map(|job| job.devices).max().unwrap_or(1), self.busy_size());
                return Err(self.refused(format!(
                    "does not say how large the cluster was, and without starts and ends it cannot be seen: add `size=N`, the {devices} that it \
                     had. With `size={busy}` its jobs keep {:.0} % of them busy in the mean; the largest needs {least}",
                    100.0 * USUAL_LOAD
                )));
            }
        };
        let fits = u32::try_from(size).ok().filter(|&size| size <= most);
        let size = fits.ok_or_else(|| {
            self.refused(format!(
                "is of a cluster of {size} {devices}, and at most {most} are possible: `vc=NAME` takes one of its queues, `size=N` names a \
                 smaller cluster"
            ))
        })?;
        self.notes.push(format!("the cluster has {size} {devices}, {why} (`size=N` names another number)"));
        Ok(size)
    }

    /// So many devices the jobs keep busy for a usual share of the time in which they are submitted.
    fn busy_size(&self) -> u64 {
        let work_ms: f64 = self.jobs.iter().map(|job| f64::from(job.devices) * job.duration_ms).sum();
        // Jobs that are all submitted at once take as long as the longest of them.
        let longest_ms = self.jobs.iter().map(|job| job.duration_ms).fold(0.0, f64::max);
        let span_ms = self.jobs.last().map_or(0.0, |job| job.submit_ms).max(longest_ms);
        // Durations are below 2^64 ms.
        (work_ms / span_ms / USUAL_LOAD).ceil().max(1.0) as u64
    }

    /// Leaves out jobs that need more devices than so many; `why` says what has no more.
    ///
    /// # Errors
    ///
    /// All jobs do.
    pub fn fit(&mut self, most: u32, why: &str) -> Result<(), WorkloadError> {
        let (n, devices) = (self.jobs.len(), self.devices);
        let smallest = self.jobs.iter().map(|job| job.devices).min().unwrap_or(0);
        if smallest > most {
            let problem =
                format!("has no job that needs at most {most} {devices}, and {why}: the smallest needs {smallest}");
            return Err(WorkloadError::Format { path: self.path.clone(), problem });
        }
        self.jobs.retain(|job| job.devices <= most);
        let origin_ms = self.jobs.first().map_or(0.0, |job| job.submit_ms);
        for job in &mut self.jobs {
            job.submit_ms -= origin_ms;
            job.deadline_ms = job.deadline_ms.map(|deadline_ms| deadline_ms - origin_ms);
        }
        let left_out = n - self.jobs.len();
        if left_out > 0 {
            self.notes.push(format!("{left_out} of {n} jobs need more than {most} {devices}, and are left out: {why}"));
        }
        Ok(())
    }

    /// The error for a log that cannot be used.
    #[must_use]
    pub fn refused(&self, problem: String) -> WorkloadError {
        WorkloadError::Format { path: self.path.clone(), problem }
    }
}

/// A job as it is used.
fn logged(job: &FlatJob, devices: u32, origin_ms: i64) -> LoggedJob {
    let duration_ms = (job.duration_ms as f64).max(LEAST_MS);
    let start_ms = job.start_ms.map_or(0.0, |start_ms| (start_ms - job.submit_ms) as f64);
    // An end tells nothing of when a job ran as long as its start is not known.
    let end_ms = job.start_ms.and(job.end_ms).map(|end_ms| (end_ms - job.submit_ms) as f64);
    LoggedJob {
        row: job.row,
        submit_ms: (job.submit_ms - origin_ms) as f64,
        duration_ms,
        ran: Ran { start_ms, end_ms: end_ms.unwrap_or(start_ms + duration_ms), is_start_known: job.start_ms.is_some() },
        devices,
        deadline_ms: job.deadline_ms.map(|deadline_ms| (deadline_ms - origin_ms) as f64),
        user: job.user.clone(),
        queue: job.queue.clone(),
        model: job.model.clone(),
        iterations: job.iterations,
    }
}

/// The queues of jobs, for an error.
fn queues(jobs: &[FlatJob]) -> String {
    let mut names: Vec<&str> = jobs.iter().filter_map(|job| job.queue.as_deref()).collect();
    names.sort_unstable();
    names.dedup();
    let more = if names.len() > SHOWN { ", .." } else { "" };
    match names.is_empty() {
        true => "the log has no queues".to_owned(),
        false => format!("there are {}{more}", names[..names.len().min(SHOWN)].join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{spec::Spec, workload::LogSpec};

    /// Three jobs, of which the second waits and the third has no GPU.
    const TABLE: &str = "in,from,to,gpus,who,q,due\n100,100,400,4,ann,a,500\n0,0,200,2,bob,b,\n150,400,460,8,ann,a,300\n160,170,180,0,eve,a,\n";

    fn read(text: &str, params: &str) -> Result<Log, String> {
        let dir = tempfile::tempdir().map_err(|e| e.to_string())?;
        let path = dir.path().join("log.csv");
        std::fs::write(&path, text).map_err(|e| e.to_string())?;
        let spec: Spec = params.replace("FILE", &path.display().to_string()).parse().map_err(|e| format!("{e}"))?;
        let mut args = spec.args();
        let log = LogSpec::from_args(&spec, &mut args).map_err(|e| e.to_string())?;
        args.finish().map_err(|e| e.to_string())?;
        if log.is_drawn() {
            return Err("a flat table".to_owned());
        }
        log.read().map_err(|e| e.to_string())
    }

    const COLUMNS: &str = "csv:FILE,submit=in,start=from,end=to,gpus=gpus,user=who,queue=q,deadline=due";

    #[test]
    fn rows_become_jobs() {
        let log = read(TABLE, COLUMNS).unwrap();
        let of = |job: &LoggedJob| (job.row, job.submit_ms, job.ran.start_ms, job.ran.end_ms, job.devices);
        let jobs: Vec<_> = log.jobs().iter().map(of).collect();
        assert_eq!(jobs, [(1, 0.0, 0.0, 2e5, 2), (0, 1e5, 0.0, 3e5, 4), (2, 1.5e5, 2.5e5, 3.1e5, 8)]);
        let deadlines: Vec<_> = log.jobs().iter().map(|job| job.deadline_ms).collect();
        assert_eq!(deadlines, [None, Some(5e5), Some(3e5)]);
        assert_eq!((log.jobs()[2].user.as_deref(), log.jobs()[2].queue.as_deref()), (Some("ann"), Some("a")));
        assert_eq!(log.devices(), Devices::Gpus);
        let notes = log.into_notes().join("\n");
        assert!(notes.contains("1 job asks for no GPUs, and is left out"), "{notes}");
    }

    #[test]
    fn one_queue_is_taken() {
        let log = read(TABLE, &format!("{COLUMNS},vc=a")).unwrap();
        assert_eq!(log.jobs().iter().map(|job| (job.row, job.submit_ms)).collect::<Vec<_>>(), [(0, 0.0), (2, 5e4)]);
        let problem = read(TABLE, &format!("{COLUMNS},vc=c")).unwrap_err();
        assert!(problem.contains("log.csv") && problem.ends_with("no job has vc=c; there are a, b"), "{problem}");
    }

    #[test]
    fn the_cluster_is_as_large_as_is_named_or_was_in_use() {
        let mut log = read(TABLE, COLUMNS).unwrap();
        assert_eq!(log.size(Some(5), 100).unwrap(), 5);
        // From 400 s on eight; before that 4 + 2.
        assert_eq!(log.size(None, 100).unwrap(), 8);
        let problem = log.size(None, 7).unwrap_err().to_string();
        assert!(problem.contains("is of a cluster of 8 GPUs, and at most 7 are possible: `vc=NAME`"), "{problem}");
        log.fit(4, "a node has no more").unwrap();
        assert_eq!(log.jobs().len(), 2);
        assert!(log.fit(1, "a node has no more").is_err());
        let notes = log.into_notes().join("\n");
        assert!(notes.contains("the cluster has 8 GPUs, as many as were in use at one time (`size=N`"), "{notes}");
        assert!(notes.contains("1 of 3 jobs need more than 4 GPUs, and are left out: a node has no more"), "{notes}");

        let mut log = read("in,took,gpus\n0,10,1\n5,10,2\n", "csv:FILE,submit=in,duration=took,gpus=gpus").unwrap();
        let problem = log.size(None, 100).unwrap_err().to_string();
        assert!(problem.contains("add `size=N`, the GPUs that it had"), "{problem}");
        // 30 GPU·s within the 10 s that the longest job takes.
        assert!(
            problem.ends_with("With `size=4` its jobs keep 80 % of them busy in the mean; the largest needs 2"),
            "{problem}"
        );
        let notes = log.into_notes().join("\n");
        assert!(notes.contains("a job without a start, as 2 of 2 are, is taken to have started when"), "{notes}");
    }

    #[test]
    fn cores_take_the_place_of_gpus_that_are_not_there() {
        let swf = "; MaxNodes: 4\n; MaxProcs: 64\n1 0 5 100 8 -1 -1 8 -1 -1 1 1 1 1 1 -1 -1 -1\n2 9 1 50 16 -1 -1 16 -1 -1 1 1 1 1 1 -1 -1 -1\n";
        let mut log = read(swf, "swf:FILE").unwrap();
        assert_eq!((log.devices(), log.own_nodes()), (Devices::Cores, Some([4, 16])));
        assert_eq!(log.size(None, 100).unwrap(), 64);
        let notes = log.into_notes().join("\n");
        assert!(notes.contains("no job has GPUs") && notes.contains("64 cores, as the log says"), "{notes}");
        // More was in use than the log says.
        let mut log = read(&swf.replace("MaxProcs: 64", "MaxProcs: 20"), "swf:FILE").unwrap();
        assert_eq!(log.size(None, 100).unwrap(), 24);
    }

    #[test]
    fn mistakes_are_named() {
        for (params, says) in [
            ("csv:FILE,duration=to", "submit must be the name of the column"),
            ("csv:FILE,submit=in", "duration must be the name of the column that says how long jobs ran"),
            ("csv:FILE,submit=in,duration=to,time=years", "time must be one of s, ms, min, h, date"),
            ("csv:FILE,submit=in,duration=to,deadline=a,within=b", "within must be left out with deadline=COLUMN"),
            ("csv:FILE,submit=in,duration=took", "there is no column `took`"),
            ("csv:FILE,submit=in,duration=to", "says of no job how many GPUs or cores it ran on"),
            ("csv:FILE,submit=in,duration=to,split=day", "split must be one of time, interleaved, none"),
            ("helios:FILE", "there is no column `submit_time`"),
            ("philly:FILE", "a flat table"),
            ("philly:FILE,split=time", "there is no column `submit_s`"),
            ("swf", "swf:FILE"),
            ("swf:absent.swf", "absent.swf: cannot read"),
        ] {
            let problem = read(TABLE, params).unwrap_err();
            assert!(problem.contains(says), "{params}: {problem}");
        }
    }
}
