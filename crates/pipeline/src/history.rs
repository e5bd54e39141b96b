//! What a workload's jobs are, whether its simulator does to them what was recorded, and how they are written down.

use super::{Caller, Entry, Period, PipelineError};
use sched_distill_core::{
    rng::{EpisodeId, Split},
    simulation::{Replay, Simulated, Simulation, Workload, percentile},
    spec::Spec,
};
use sched_distill_trace::recorder::{EpisodeRun, Episodes, rollouts};
use serde::{Deserialize, Serialize};
use std::{
    fs::File,
    io::{BufWriter, Write},
    path::{Path, PathBuf},
};

/// Parts of the time in which jobs arrive, by which load is told.
const BINS: usize = 40;

/// Episodes in which a recorded schedule is carried out again: they differ in luck.
const REPLAYS: u32 = 10;

/// What the jobs of a history, or of a workload's first episode, are, without anybody who schedules them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Survey {
    /// How many there are.
    pub jobs: usize,
    /// From the first submission to the last one, or to the last completion that is known, ms.
    pub span_ms: f64,
    /// Lanes on which tasks run side by side.
    pub lanes: u32,
    /// What a lane is: `executor`.
    pub lane: String,
    /// Work that arrives, in equal parts of the span, as a share of what all lanes could do in that time; empty where sizes are no times.
    pub load: Vec<f64>,
    /// What else is to be said of them, each in a few words with what it is of.
    pub shapes: Vec<(String, String)>,
    /// What people should know before they rely on it.
    pub notes: Vec<String>,
}

impl Survey {
    /// Work that arrives in the whole span, as a share of what all lanes could do in it.
    #[must_use]
    pub fn mean_load(&self) -> Option<f64> {
        (!self.load.is_empty()).then(|| self.load.iter().sum::<f64>() / self.load.len() as f64)
    }
}

/// How a simulator's times compare with recorded ones, where the recorded order is carried out again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReplayError {
    /// Jobs whose completion is recorded.
    pub jobs: usize,
    /// Mean recorded completion time, ms.
    pub recorded_ms: f64,
    /// Mean simulated completion time of the same jobs, ms.
    pub simulated_ms: f64,
    /// By how much the simulated completion time of a job differs from the recorded one, as a share of that: half of the jobs are within it.
    pub median: f64,
    /// Likewise nine in ten.
    pub p90: f64,
    /// By job: recorded and mean simulated completion time, ms.
    pub pairs: Vec<[f64; 2]>,
}

impl ReplayError {
    /// By how much the simulated mean differs from the recorded one, as a share of that.
    #[must_use]
    pub fn of_mean(&self) -> f64 {
        self.simulated_ms / self.recorded_ms - 1.0
    }

    fn of(pairs: Vec<[f64; 2]>) -> Option<Self> {
        let mean =
            |pairs: &[[f64; 2]], place: usize| pairs.iter().map(|pair| pair[place]).sum::<f64>() / pairs.len() as f64;
        let mut errors: Vec<f64> =
            pairs.iter().map(|[recorded, simulated]| (simulated / recorded - 1.0).abs()).collect();
        errors.sort_by(f64::total_cmp);
        (!pairs.is_empty()).then(|| Self {
            jobs: pairs.len(),
            recorded_ms: mean(&pairs, 0),
            simulated_ms: mean(&pairs, 1),
            median: percentile(&errors, 50),
            p90: percentile(&errors, 90),
            pairs,
        })
    }
}

/// Whether a workload can be cut by time, as histories can.
fn is_cut<S: Simulated>(spec: &Spec) -> bool {
    S::WORKLOADS.iter().any(|def| def.info.name == spec.name && def.info.usage.contains("[,split="))
}

/// The workload of a history as a whole.
fn whole<S: Simulated>(scenario: &Entry<S>, id: &str) -> Result<Workload<S>, PipelineError> {
    let mut spec: Spec = id.parse()?;
    for key in ["split", "window", "stride", "gap"] {
        spec.params.remove(key);
    }
    // Logs are cut where nothing is said.
    if is_cut::<S>(&spec) {
        spec.params.insert("split".to_owned(), "none".to_owned());
    }
    scenario.workload(&spec.to_string())
}

/// A workload and all its jobs: those of a history, cut or not, those of a log that otherwise is drawn from, or those of a first episode.
///
/// # Errors
///
/// A workload that cannot be opened.
fn all_jobs<S: Simulated>(scenario: &Entry<S>, id: &str) -> Result<(Workload<S>, Vec<S::Job>), PipelineError> {
    let mut workload = scenario.workload(id)?;
    let all = workload.all_jobs();
    // Of episodes that are drawn from a log, all of it is told, unless it does not fit into an episode.
    if all.is_none() && is_cut::<S>(&id.parse()?) && !id.parse::<Spec>()?.params.contains_key("split") {
        workload = whole(scenario, id).unwrap_or(workload);
    }
    let jobs = all.unwrap_or_else(|| workload.jobs(EpisodeId::new(0, Split::Train, 0)));
    Ok((workload, jobs))
}

/// Says what the jobs of a workload are.
///
/// # Errors
///
/// A workload that cannot be opened.
pub(super) fn survey<S: Simulated>(scenario: &Entry<S>, id: &str) -> Result<Survey, PipelineError> {
    let (workload, jobs) = all_jobs(scenario, id)?;
    Ok(survey_of(&workload, jobs))
}

fn survey_of<S: Simulated>(workload: &Workload<S>, jobs: Vec<S::Job>) -> Survey {
    let shapes = S::shapes(&jobs).into_iter().map(|(what, words)| (what.to_owned(), words)).collect();
    let completed_ms = S::replay(&jobs).map_or(Vec::new(), |replay| replay.completed_ms);
    let episode = S::start(workload, jobs, 0);
    let (arrivals_ms, sizes, lanes) = (episode.arrivals_ms(), episode.sizes(), episode.lanes());
    let first_ms = arrivals_ms.first().copied().unwrap_or_default();
    // What arrives last takes its time too, where it is known.
    let ends_ms = arrivals_ms.iter().zip(completed_ms).filter_map(|(at_ms, took_ms)| Some(at_ms + took_ms?));
    let last_ms = ends_ms.chain(arrivals_ms.last().copied()).fold(first_ms, f64::max);
    let span_ms = last_ms - first_ms;
    let mut load = Vec::new();
    if span_ms > 0.0 && S::SIZE.is_some_and(|(_, unit)| unit == "ms") {
        load = vec![0.0; BINS];
        let room_ms = f64::from(lanes) * span_ms / BINS as f64;
        for (arrival_ms, size) in arrivals_ms.iter().zip(&sizes) {
            let bin = ((arrival_ms - first_ms) / span_ms * BINS as f64) as usize;
            load[bin.min(BINS - 1)] += size / room_ms;
        }
    }
    let mut survey = Survey {
        jobs: arrivals_ms.len(),
        span_ms,
        lanes,
        lane: S::INFO.lane.to_owned(),
        load,
        shapes,
        notes: workload.notes().to_vec(),
    };
    if let Some(mean) = survey.mean_load().filter(|&mean| mean > 1.0) {
        survey.notes.push(format!(
            "the work that arrives is {:.0} % of what the cluster can do in that time: some of it is left at the end, whoever schedules",
            100.0 * mean
        ));
    }
    survey
}

/// Whether a workload is a history of which no schedule can be carried out again. Jobs of a workload file need not be of a history.
///
/// # Errors
///
/// A workload that cannot be opened.
pub(super) fn is_unchecked<S: Simulated>(scenario: &Entry<S>, id: &str) -> Result<bool, PipelineError> {
    let spec: Spec = id.parse()?;
    if spec.name == "json" || !is_cut::<S>(&spec) {
        return Ok(false);
    }
    let workload = scenario.workload(id)?;
    let jobs = workload.all_jobs().unwrap_or_else(|| workload.jobs(EpisodeId::new(0, Split::Train, 0)));
    Ok(!S::replay(&jobs).is_some_and(|replay| replay.is_recorded()))
}

/// What the episodes of a split are cut from.
///
/// # Errors
///
/// A workload that cannot be opened.
pub(super) fn period<S: Simulated>(
    scenario: &Entry<S>,
    id: &str,
    split: Split,
) -> Result<Option<Period>, PipelineError> {
    let is_last = split == Split::Final && id.parse::<Spec>()?.params.get("split").is_none_or(|cut| cut == "time");
    let period = scenario.workload(id)?.period(split);
    Ok(period.map(|(span_ms, jobs)| Period { span_ms, jobs, is_last }))
}

/// Carries the recorded order of a workload's jobs out again, all of them in one episode; `None` if no schedule is recorded.
///
/// # Errors
///
/// A workload that cannot be opened, a failing episode.
pub(super) fn replay<S: Simulated>(
    scenario: &Entry<S>,
    id: &str,
    caller: Caller<'_>,
) -> Result<Option<ReplayError>, PipelineError> {
    let workload = whole(scenario, id)?;
    let jobs = workload.jobs(EpisodeId::new(0, Split::Train, 0));
    let Some(recorded) = S::replay(&jobs).filter(Replay::is_recorded) else { return Ok(None) };
    let episodes = Episodes { seed: 0, split: Split::Train, first: 0, count: REPLAYS, timelines: 0 };
    caller.watch.episodes("recorded order", REPLAYS.into());
    let runs = rollouts(&workload, "the recorded order", &*recorded.policy, episodes, caller.watch, caller.stop)?;
    caller.watch.done();
    let took = |run: &EpisodeRun, job: usize| {
        let completed_ms = run.outcome.jobs.get(job)?.completion_ms()?;
        Some((completed_ms - run.arrivals_ms.get(job)?) / f64::from(REPLAYS))
    };
    let simulated = |job: usize| runs.iter().map(|run| took(run, job)).sum::<Option<f64>>();
    let of = |(job, recorded_ms): (usize, &Option<f64>)| {
        let recorded_ms = recorded_ms.filter(|&ms| ms > 0.0)?;
        Some([recorded_ms, simulated(job)?])
    };
    Ok(ReplayError::of(recorded.completed_ms.iter().enumerate().filter_map(of).collect()))
}

/// Writes all jobs of a workload as a file that the scenario reads as `json:FILE`, and says what they are.
///
/// # Errors
///
/// A workload that cannot be opened, one of which such a file cannot say all, what cannot be written.
pub(super) fn write_jobs<S: Simulated>(
    scenario: &Entry<S>,
    id: &str,
    out: &mut dyn Write,
) -> Result<Survey, PipelineError> {
    let Some(write) = S::WRITE_JOBS else {
        let name = S::INFO.name;
        return Err(PipelineError::Refused(format!(
            "jobs of the scenario `{name}` are not written as a workload file"
        )));
    };
    let (workload, jobs) = all_jobs(scenario, id)?;
    write(workload.cluster(), &jobs, out).map_err(|error| PipelineError::Refused(format!("{id}: {error}")))?;
    Ok(survey_of(&workload, jobs))
}

/// Which episodes become logs, and where.
#[derive(Clone, Debug)]
pub struct LogParams {
    /// The policy that schedules, as a spec.
    pub policy: String,
    /// The workload, as a spec.
    pub workload: String,
    /// Seed of the episodes.
    pub seed: u64,
    /// What the episodes are for.
    pub split: Split,
    /// How many.
    pub episodes: u32,
    /// The folder, which is made.
    pub dir: PathBuf,
}

/// Lets a policy schedule episodes and writes the log that a cluster would leave of each; what there is in the folder under these names is
/// replaced. Gives their paths.
///
/// # Errors
///
/// A scenario without such logs, a policy or workload that cannot be opened, a failing episode, a folder that cannot be written.
pub(super) fn write_logs<S: Simulated>(
    scenario: &Entry<S>,
    params: &LogParams,
    caller: Caller<'_>,
) -> Result<Vec<PathBuf>, PipelineError> {
    let Some(def) = S::LOG else {
        let name = S::INFO.name;
        return Err(PipelineError::Refused(format!(
            "clusters of the scenario `{name}` leave no log that is written here; those of `dag` do"
        )));
    };
    let (mut policy, workload) = (scenario.policy(&params.policy)?, scenario.workload_for(&params.workload, caller)?);
    let failed = |path: &Path, source| PipelineError::Write { path: path.to_owned(), source };
    std::fs::create_dir_all(&params.dir).map_err(|source| failed(&params.dir, source))?;
    caller.watch.episodes(def.what, params.episodes.into());
    let mut paths = Vec::new();
    for episode in 0..params.episodes {
        caller.check()?;
        let id = EpisodeId::new(params.seed, params.split, episode);
        let name = format!("{}-{}-{episode}", plain(&params.policy), params.split.name());
        let path = params.dir.join(&name);
        // A log that is not finished is called so by Spark too.
        let begun = params.dir.join(format!("{name}.inprogress"));
        let mut out = BufWriter::new(File::create(&begun).map_err(|source| failed(&begun, source))?);
        let refused = |error: Box<dyn std::error::Error + Send + Sync>| {
            PipelineError::Refused(format!("{}: {error}", begun.display()))
        };
        (def.write)(&workload, &mut *policy, id, &name, &mut out).map_err(refused)?;
        out.flush().map_err(|source| failed(&begun, source))?;
        std::fs::rename(&begun, &path).map_err(|source| failed(&path, source))?;
        paths.push(path);
        caller.watch.episode(0);
    }
    caller.watch.done();
    Ok(paths)
}

/// A name that a file can have.
fn plain(id: &str) -> String {
    id.chars().map(|c| if c.is_ascii_alphanumeric() || "-_.=".contains(c) { c } else { '-' }).collect()
}
