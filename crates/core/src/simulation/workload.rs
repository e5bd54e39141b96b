//! Workloads: the cluster of all their episodes, and where each episode's jobs come from.

use super::Simulated;
use crate::{
    rng::{EpisodeId, Split},
    spec::{Spec, name_of},
    workload::{Work, WorkloadError, WorkloadInfo},
};
use std::{
    fmt::Debug,
    path::{Path, PathBuf},
    sync::Arc,
};

/// A workload by name: an entry of [`Simulated::WORKLOADS`].
pub struct WorkloadDef<S: Simulated> {
    /// What lists of workloads say of it.
    pub info: WorkloadInfo,
    /// Opens it, or says why a parameter or a file cannot be used.
    pub open: OpenWorkload<S>,
    /// Tells by its content whether what is at a path is what this workload reads; `None` of workloads that read nothing that tells itself.
    pub reads: Option<fn(&Path) -> bool>,
}

/// Opens the workload that a spec names.
pub type OpenWorkload<S> = fn(&Spec) -> Result<Workload<S>, WorkloadError>;

impl<S: Simulated> WorkloadDef<S> {
    /// How a workload is written, which begins with its name, what it is, and how it is opened.
    #[must_use]
    pub const fn new(usage: &'static str, meaning: &'static str, open: OpenWorkload<S>) -> Self {
        Self { info: WorkloadInfo { name: name_of(usage), usage, meaning }, open, reads: None }
    }

    /// The same, which tells by its content whether what is at a path is what it reads.
    #[must_use]
    pub const fn that_reads(self, reads: fn(&Path) -> bool) -> Self {
        Self { reads: Some(reads), ..self }
    }
}

/// Where the jobs of a workload's episodes come from.
pub trait Source<S: Simulated>: Debug + Send + Sync {
    /// The jobs of an episode, in order of arrival.
    fn jobs(&self, cluster: &S::Cluster, id: EpisodeId) -> Vec<S::Job>;

    /// What an episode comes to, about, before it is made; the default knows nothing.
    fn work(&self, _cluster: &S::Cluster) -> Work {
        Work::default()
    }

    /// Whether an episode has more jobs than so many. Sources that can tell without making all of them should; the default makes them.
    fn has_more_jobs(&self, cluster: &S::Cluster, id: EpisodeId, most: usize) -> bool {
        self.jobs(cluster, id).len() > most
    }

    /// How many different episodes a split has, where they are few and intervals are made of them: of a history that is cut by time. The
    /// default is that there are as many as are asked for.
    fn most_episodes(&self, _split: Split) -> Option<u32> {
        None
    }

    /// What the episodes of a split are cut from, of a history that is cut by time: how long it is, ms, and with how many jobs. The default
    /// is that nothing is cut.
    fn period(&self, _split: Split) -> Option<(f64, usize)> {
        None
    }

    /// All jobs of a history, in order of arrival, cut by time or not. The default is that there is no list of them.
    fn all_jobs(&self, _cluster: &S::Cluster) -> Option<Vec<S::Job>> {
        None
    }
}

/// The same jobs in every episode; only luck differs.
#[derive(Clone, Debug)]
pub struct Fixed<J> {
    jobs: Vec<J>,
    work: Work,
}

impl<J> Fixed<J> {
    /// These jobs, in order of arrival: the events that they need, the memory that each needs, bytes, and when the last one arrives, ms.
    #[must_use]
    pub fn new(jobs: Vec<J>, events: f64, job_bytes: f64, last_ms: f64) -> Self {
        let count = jobs.len() as f64;
        Self { work: Work { jobs: count, events, bytes: job_bytes * count, last_ms }, jobs }
    }
}

impl<S: Simulated> Source<S> for Fixed<S::Job> {
    fn jobs(&self, _: &S::Cluster, _: EpisodeId) -> Vec<S::Job> {
        self.jobs.clone()
    }

    fn work(&self, _: &S::Cluster) -> Work {
        self.work
    }
}

/// Jobs that a function draws for each episode.
struct Drawn<F>(F);

impl<F> Debug for Drawn<F> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Drawn")
    }
}

impl<S: Simulated, F: Fn(EpisodeId) -> Vec<S::Job> + Send + Sync> Source<S> for Drawn<F> {
    fn jobs(&self, _: &S::Cluster, id: EpisodeId) -> Vec<S::Job> {
        (self.0)(id)
    }
}

/// A source of episodes: the cluster, and the jobs of each episode.
#[derive(Clone, Debug)]
pub struct Workload<S: Simulated> {
    cluster: S::Cluster,
    source: Arc<dyn Source<S>>,
    files: Vec<PathBuf>,
    notes: Vec<String>,
}

impl<S: Simulated> Workload<S> {
    /// Episodes on this cluster, with jobs from this source; `files` define them, so that a trace can record their hashes.
    #[must_use]
    pub fn new(cluster: S::Cluster, source: impl Source<S> + 'static, files: Vec<PathBuf>) -> Self {
        Self { cluster, source: Arc::new(source), files, notes: Vec::new() }
    }

    /// The same, with what people should know before they rely on it, a sentence each.
    #[must_use]
    pub fn with_notes(mut self, notes: impl IntoIterator<Item = String>) -> Self {
        self.notes.extend(notes);
        self
    }

    /// Episodes on this cluster, with jobs that a function draws, in order of arrival. What an episode comes to is not known before.
    #[must_use]
    pub fn drawn(cluster: S::Cluster, jobs: impl Fn(EpisodeId) -> Vec<S::Job> + Send + Sync + 'static) -> Self {
        Self::new(cluster, Drawn(jobs), Vec::new())
    }

    /// Opens the workload that a spec names, one of [`Simulated::WORKLOADS`].
    ///
    /// # Errors
    ///
    /// An unknown name or parameter, or a file that cannot be used.
    pub fn open(spec: &Spec) -> Result<Self, WorkloadError> {
        match S::WORKLOADS.iter().find(|def| def.info.name == spec.name) {
            Some(def) => (def.open)(spec),
            None => {
                let names: Vec<&str> = S::WORKLOADS.iter().map(|def| def.info.name).collect();
                Err(spec.unknown_name("workload", "workloads", &names).into())
            }
        }
    }

    /// The workload, if its episodes are not too much; `less` says what makes them less.
    ///
    /// # Errors
    ///
    /// As of [`Work::check`].
    pub fn checked(self, spec: &Spec, less: &str) -> Result<Self, WorkloadError> {
        self.work().check(spec, less)?;
        Ok(self)
    }

    /// The cluster; the same in every episode.
    #[must_use]
    pub fn cluster(&self) -> &S::Cluster {
        &self.cluster
    }

    /// The jobs of an episode, in order of arrival.
    #[must_use]
    pub fn jobs(&self, id: impl Into<EpisodeId>) -> Vec<S::Job> {
        self.source.jobs(&self.cluster, id.into())
    }

    /// Whether an episode has more jobs than so many; none is kept.
    #[must_use]
    pub fn has_more_jobs(&self, id: impl Into<EpisodeId>, most: usize) -> bool {
        self.source.has_more_jobs(&self.cluster, id.into(), most)
    }

    /// What an episode comes to, about, before it is made. What is too much, workloads are not opened with ([`Work::check`]).
    #[must_use]
    pub fn work(&self) -> Work {
        self.source.work(&self.cluster)
    }

    /// What people should know before they rely on it: what a history lacks, and what was assumed.
    #[must_use]
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// How many different episodes a split has, where they are few and intervals are made of them.
    #[must_use]
    pub fn most_episodes(&self, split: Split) -> Option<u32> {
        self.source.most_episodes(split)
    }

    /// What the episodes of a split are cut from, of a history that is cut by time: how long it is, ms, and with how many jobs.
    #[must_use]
    pub fn period(&self, split: Split) -> Option<(f64, usize)> {
        self.source.period(split)
    }

    /// All jobs of a history, in order of arrival, whether or not an episode with all of them could be made; `None` where there is no list of them.
    #[must_use]
    pub fn all_jobs(&self) -> Option<Vec<S::Job>> {
        self.source.all_jobs(&self.cluster)
    }

    /// Files that define the workload.
    #[must_use]
    pub fn files(&self) -> &[PathBuf] {
        &self.files
    }
}

/// A workload with what reports call it.
pub struct NamedWorkload<S: Simulated> {
    /// What it is like, or how the user named it.
    pub name: String,
    /// The workload.
    pub workload: Workload<S>,
}

/// Opens workloads by their specs, each with what reports call it.
///
/// # Errors
///
/// The first that cannot be opened.
pub fn open_named<S: Simulated>(all: &[(&str, &str)]) -> Result<Vec<NamedWorkload<S>>, WorkloadError> {
    let open = |(name, spec): &(&str, &str)| -> Result<_, WorkloadError> {
        Ok(NamedWorkload { name: (*name).to_owned(), workload: Workload::open(&spec.parse()?)? })
    };
    all.iter().map(open).collect()
}
