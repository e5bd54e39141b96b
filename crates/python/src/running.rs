//! An episode that somebody steps through, a choice at a time, whatever the scenario.

use crate::scenario::{Hosted, registry, shared};
use sched_distill::{
    policy::Policy,
    rng::{EpisodeId, Split},
    scenario::{Questions, Said, Scenario},
    simulation::{Simulation, Stall, Workload},
    spec::Spec,
};
use std::{collections::HashMap, sync::Arc};

/// A choice that is open, or the end of the episode.
#[derive(Clone, Debug, Default)]
pub(super) struct Open {
    /// The level that is asked about, by its place.
    pub(super) level: usize,
    /// Candidates; 0 once the episode has ended.
    pub(super) count: usize,
    /// Their features, row-major.
    pub(super) rows: Vec<f32>,
    /// Who may be taken.
    pub(super) allowed: Vec<bool>,
    /// What all candidates share, by [`Shape::cluster`]; 0 of what another level shares.
    pub(super) cluster: Vec<f32>,
    /// Simulated time, ms.
    pub(super) time_ms: f64,
    /// The kind of the question.
    pub(super) kind: &'static str,
    /// Decisions that were carried out.
    pub(super) decisions: u64,
    /// How the episode ended.
    pub(super) end: Option<End>,
}

/// How an episode ended.
#[derive(Clone, Debug)]
pub(super) struct End {
    pub(super) stall: Option<Stall>,
    /// All figures that the scenario declares.
    pub(super) figures: Vec<(&'static str, Option<f64>)>,
}

/// What is the same in all episodes of a scenario.
#[derive(Clone, Debug)]
pub(super) struct Shape {
    /// Names of what all candidates share.
    pub(super) cluster: Vec<String>,
    /// By level: its shared columns, and the places of these in `cluster`.
    places: Vec<Vec<(usize, usize)>>,
    /// By level: its columns.
    widths: Vec<usize>,
    plays: Plays,
}

/// How an episode is stepped through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Plays {
    /// Whether a choice is a whole decision, whose row has the columns of all levels, not one of its levels.
    pub(super) joint: bool,
    /// Whether to give nothing is a candidate where policies may differ in that, the last one of the first level.
    pub(super) abstains: bool,
    /// Whether candidates are ruled out after whom nothing need happen any more although jobs are unfinished, as students and networks
    /// do where there are others.
    pub(super) safe: bool,
}

impl Shape {
    fn of<S: Hosted>(plays: Plays) -> Self {
        let levels = &(S::INFO.feature_set)().levels;
        let (mut cluster, mut places) = (Vec::<String>::new(), Vec::new());
        for level in levels {
            let mut here = Vec::new();
            for name in shared(&S::INFO, level) {
                let place = cluster.iter().position(|n| n == name).unwrap_or_else(|| {
                    cluster.push(name.to_owned());
                    cluster.len() - 1
                });
                let column = level.features.iter().position(|feature| feature.name == name);
                here.extend(column.map(|column| (column, place)));
            }
            places.push(here);
        }
        Self { cluster, places, widths: levels.iter().map(|level| level.features.len()).collect(), plays }
    }

    /// Columns of the widest choice.
    pub(super) fn width(&self) -> usize {
        match self.plays.joint {
            true => self.widths.iter().sum(),
            false => self.widths.iter().copied().max().unwrap_or(0),
        }
    }
}

/// An episode of any scenario.
pub(super) trait Episode: Send + Sync {
    /// Begins an episode of the workload.
    fn begin(&mut self, seed: u64, split: Split, episode: u32);

    /// What is open now.
    fn open(&self) -> &Open;

    /// Takes a candidate, and goes on to the next choice with more than one; the reward of the time that passes: what the objective
    /// changes by on the way, the more the better. There is none of a candidate that is not there or not allowed, and nothing changes.
    fn take(&mut self, candidate: i64) -> Result<Option<f64>, String>;

    /// The candidate that a policy would take; `None` where it decides something that is none of the candidates that may be taken.
    fn advice(&mut self, policy: &str) -> Result<Option<usize>, String>;

    fn shape(&self) -> &Shape;

    /// Another one of the same workload, before its first episode.
    fn another(&self) -> Box<dyn Episode>;
}

/// Opens a workload of a scenario to step through.
pub(super) fn open<S: Hosted>(workload: &str, plays: Plays) -> Result<Box<dyn Episode>, String> {
    let spec: Spec = workload.parse().map_err(|e| format!("{e}"))?;
    let workload = S::open_workload(&spec).map_err(|e| e.to_string())?;
    Ok(Box::new(Running::<S>::new(Arc::new(workload), Shape::of::<S>(plays))))
}

struct Running<S: Hosted> {
    workload: Arc<Workload<S>>,
    shape: Shape,
    sim: Option<S::Simulator>,
    questions: S::Questions,
    /// Candidates taken at the question at hand.
    path: Vec<usize>,
    open: Open,
    /// Where choices are whole decisions: their paths, and rows by level.
    paths: Vec<Vec<usize>>,
    rows: Vec<Vec<f32>>,
    jobs: usize,
    seed: u64,
    advisers: HashMap<String, Adviser<S>>,
}

/// A policy that says what it would do.
struct Adviser<S: Hosted> {
    policy: Box<dyn Policy<S>>,
    /// The decision that it was asked for last, and its path there; empty if it has none.
    asked_at: Option<u64>,
    path: Vec<usize>,
}

impl<S: Hosted> Running<S> {
    fn new(workload: Arc<Workload<S>>, shape: Shape) -> Self {
        Self {
            workload,
            rows: vec![Vec::new(); shape.widths.len()],
            paths: Vec::new(),
            shape,
            sim: None,
            questions: S::Questions::default(),
            path: Vec::new(),
            open: Open::default(),
            jobs: 0,
            seed: 0,
            advisers: HashMap::new(),
        }
    }

    /// Goes on to the next choice with several candidates, or to the end; the reward on the way.
    fn go_on(&mut self) -> Result<f64, String> {
        let Self { sim: Some(sim), questions, path, open, shape, paths, rows, .. } = self else {
            return Err("no episode has begun; call reset first".to_owned());
        };
        let Plays { joint, abstains, safe } = shape.plays;
        let mut cost = 0.0;
        loop {
            let Some(seen) = sim.view() else {
                let outcome = sim.outcome();
                (open.count, open.level) = (0, 0);
                open.rows.clear();
                open.allowed.clear();
                open.end = outcome.map(|outcome| {
                    open.time_ms = outcome.final_time_ms;
                    End { stall: outcome.stall, figures: outcome.figures }
                });
                break;
            };
            if path.is_empty() {
                questions.update(&seen);
                (open.time_ms, open.kind) = (S::time_ms(&seen), S::INFO.kinds[S::kind(&seen) as usize]);
            }
            open.rows.clear();
            let level = path.len();
            let count = if joint && path.is_empty() {
                paths.clear();
                decisions::<S>(&seen, questions, (path, abstains), rows, (&shape.widths, paths, &mut open.rows));
                paths.len()
            } else if level < shape.widths.len() && !joint {
                questions.rows(&seen, path, abstains, &mut open.rows)
            } else {
                0
            };
            match count {
                0 => {
                    let decision = questions.decision(&seen, path);
                    let from_ms = open.time_ms;
                    sim.step(decision).map_err(|e| format!("illegal decision: {e}"))?;
                    let to_ms = match (sim.view(), sim.outcome()) {
                        (Some(seen), _) => S::time_ms(&seen),
                        (None, outcome) => outcome.map_or(from_ms, |outcome| outcome.final_time_ms),
                    };
                    cost += sim.cost(from_ms, to_ms);
                    open.decisions += 1;
                    path.clear();
                }
                1 if joint => path.clone_from(&paths[0]),
                1 => path.push(0),
                count if joint => {
                    (open.level, open.count) = (0, count);
                    open.cluster.fill(0.0);
                    let mut first = 0;
                    for (places, width) in shape.places.iter().zip(&shape.widths) {
                        places.iter().for_each(|&(column, place)| open.cluster[place] = open.rows[first + column]);
                        first += width;
                    }
                    open.allowed.clear();
                    open.allowed
                        .extend(paths.iter().map(|path| !safe || !S::strands(&seen, questions.decision(&seen, path))));
                    if !open.allowed.contains(&true) {
                        open.allowed.fill(true);
                    }
                    break;
                }
                count => {
                    (open.level, open.count) = (level, count);
                    open.cluster.fill(0.0);
                    for &(column, place) in &shape.places[level] {
                        open.cluster[place] = open.rows[column];
                    }
                    open.allowed.clear();
                    match safe {
                        true => allowed::<S>(&seen, questions, path, count, &mut open.allowed),
                        false => open.allowed.resize(count, true),
                    }
                    break;
                }
            }
        }
        Ok(-cost / self.jobs.max(1) as f64)
    }
}

impl<S: Hosted> Episode for Running<S> {
    fn begin(&mut self, seed: u64, split: Split, episode: u32) {
        let id = EpisodeId::new(seed, split, episode);
        let jobs = self.workload.jobs(id);
        (self.jobs, self.seed) = (jobs.len(), id.seed);
        self.sim = Some(S::start(&self.workload, jobs, id.seed));
        self.path.clear();
        self.open = Open { cluster: vec![0.0; self.shape.cluster.len()], ..Open::default() };
        for adviser in self.advisers.values_mut() {
            adviser.asked_at = None;
            adviser.policy.reset(id.seed);
        }
        // What happens before the first choice is nobody's doing, and an episode that has just begun can go on.
        let _ = self.go_on();
    }

    fn open(&self) -> &Open {
        &self.open
    }

    fn take(&mut self, candidate: i64) -> Result<Option<f64>, String> {
        if self.open.count == 0 {
            return Err("the episode has ended; call reset".to_owned());
        }
        let candidate = usize::try_from(candidate).ok().filter(|&c| self.open.allowed.get(c) == Some(&true));
        let Some(candidate) = candidate else { return Ok(None) };
        match self.shape.plays.joint {
            true => self.path.clone_from(&self.paths[candidate]),
            false => self.path.push(candidate),
        }
        self.go_on().map(Some)
    }

    fn advice(&mut self, policy: &str) -> Result<Option<usize>, String> {
        let Some(seen) = self.sim.as_ref().and_then(Simulation::view) else { return Ok(None) };
        if !self.advisers.contains_key(policy) {
            let spec: Spec = policy.parse().map_err(|e| format!("{e}"))?;
            let mut opened = S::open(&spec).map_err(|e| e.to_string())?;
            opened.reset(self.seed);
            self.advisers.insert(policy.to_owned(), Adviser { policy: opened, asked_at: None, path: Vec::new() });
        }
        let Some(adviser) = self.advisers.get_mut(policy) else { return Ok(None) };
        if adviser.asked_at != Some(self.open.decisions) {
            let decision = adviser.policy.decide(&seen, &mut Said::default()).map_err(|e| e.to_string())?;
            if !self.questions.path(&seen, decision, &mut adviser.path) {
                adviser.path.clear();
                if self.shape.plays.abstains && S::gives_nothing(decision) {
                    adviser.path.extend(self.questions.place(&seen, &[], decision));
                }
            }
            adviser.asked_at = Some(self.open.decisions);
        }
        let candidate = match self.shape.plays.joint {
            true => self.paths.iter().position(|path| *path == adviser.path),
            false if adviser.path.starts_with(&self.path) => adviser.path.get(self.path.len()).copied(),
            false => None,
        };
        Ok(candidate.filter(|&candidate| self.open.allowed.get(candidate) == Some(&true)))
    }

    fn shape(&self) -> &Shape {
        &self.shape
    }

    fn another(&self) -> Box<dyn Episode> {
        Box::new(Self::new(Arc::clone(&self.workload), self.shape.clone()))
    }
}

/// Appends all decisions at a path and below: their paths, and the rows of the candidates on each, one behind the other; 0 for levels
/// that are not asked.
fn decisions<S: Hosted>(
    seen: &S::View<'_>,
    questions: &mut S::Questions,
    (path, abstains): (&mut Vec<usize>, bool),
    rows: &mut [Vec<f32>],
    out: (&[usize], &mut Vec<Vec<usize>>, &mut Vec<f32>),
) {
    let (level, (widths, paths, all)) = (path.len(), out);
    let count = match rows.get_mut(level) {
        Some(own) => {
            own.clear();
            questions.rows(seen, path, abstains, own)
        }
        None => 0,
    };
    if count == 0 {
        for (level, &width) in widths.iter().enumerate() {
            match path.get(level) {
                Some(&taken) => all.extend_from_slice(&rows[level][taken * width..][..width]),
                None => all.resize(all.len() + width, 0.0),
            }
        }
        paths.push(path.clone());
    }
    for candidate in 0..count {
        path.push(candidate);
        decisions::<S>(seen, questions, (path, abstains), rows, (widths, paths, all));
        path.pop();
    }
}

/// Appends which of the candidates at a path may be taken: those after whom something is bound to happen as long as jobs are unfinished, or
/// all, if there are none.
pub(super) fn allowed<S: Scenario>(
    seen: &S::View<'_>,
    questions: &S::Questions,
    path: &mut Vec<usize>,
    count: usize,
    out: &mut Vec<bool>,
) {
    let first = out.len();
    for candidate in 0..count {
        path.push(candidate);
        out.push(!questions.strands(seen, path));
        path.pop();
    }
    if !out[first..].contains(&true) {
        out[first..].fill(true);
    }
}

/// Whether there is such a scenario; the names of those there are.
pub(super) fn scenarios() -> String {
    registry().names().join(", ")
}
