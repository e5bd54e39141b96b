//! Where students are tried out: paired episodes with the same luck, never run twice.

use super::{AugmentError, moves};
use crate::sealed::{Unsealed, sealed, unsealed};
use rayon::prelude::*;
use sched_distill_core::{
    file,
    model::{Guard, Model, Pick, Structure, Student},
    policy::{Policy, StudentPolicy},
    rng::Split,
    scenario::{Answer, ChoiceRows, Questions, Said},
    simulation::{Simulated, Workload},
};
use sched_distill_trace::recorder::{EpisodeId, Progress, run_episode};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::{
    collections::{HashMap, HashSet},
    fs::File,
    io::{BufWriter, Write},
    ops::Range,
    path::{Path, PathBuf},
    sync::atomic::{AtomicBool, Ordering},
};

/// What identifies a student in the journal: all that decides how it schedules.
pub(super) type Key = [u8; 12];

/// A line of the journal; behind these stands its check value.
#[derive(Serialize, Deserialize)]
struct Line {
    student: String,
    split: Split,
    episode: u32,
    /// The objective as a cost ([`sched_distill_core::figure::Figure::cost`]); `None` for an episode that stalled.
    #[serde(alias = "ln_jct")]
    cost: Option<f64>,
}

/// What an episode costs beside its objective, in the unit of [`sched_distill_core::figure::Figure::cost`].
pub type Surcharge<'a, S> =
    &'a (dyn Fn(&Workload<S>, &StudentPolicy<S>, EpisodeId) -> Result<f64, AugmentError> + Sync);

/// Runs students on episodes of one workload, or of several by turns, and remembers what came out, in memory and in a
/// journal on disk: the same search started again finds there what it had already run.
pub struct Arena<'a, S: Simulated> {
    workloads: &'a [Workload<S>],
    seed: u64,
    known: HashMap<(Key, Split, u32), f64>,
    journal: Option<(PathBuf, BufWriter<File>)>,
    surcharge: Option<Surcharge<'a, S>>,
    spent: u64,
    progress: &'a dyn Progress,
    stop: &'a AtomicBool,
}

/// Runs single episodes.
pub(super) struct Runner<'a, S: Simulated> {
    workloads: &'a [Workload<S>],
    seed: u64,
    surcharge: Option<Surcharge<'a, S>>,
    progress: &'a dyn Progress,
    stop: &'a AtomicBool,
}

impl<S: Simulated> Runner<'_, S> {
    /// The objective as a cost, where less is better; +∞ if the policy strands the cluster.
    pub(super) fn run(&self, policy: &StudentPolicy<S>, split: Split, episode: u32) -> Result<f64, AugmentError> {
        if self.stop.load(Ordering::Relaxed) {
            return Err(AugmentError::Interrupted);
        }
        let id = EpisodeId::new(self.seed, split, episode);
        let workload = of_episode(self.workloads, episode);
        let run = run_episode(workload, &mut *policy.fresh(), id, |_, _, _| {})?;
        // Where no job arrived nobody can gain or lose anything.
        let cost = if run.outcome.is_empty() { 0.0 } else { S::INFO.objective().cost(run.outcome.objective()) };
        let more = match self.surcharge.filter(|_| cost.is_finite()) {
            Some(surcharge) => surcharge(workload, policy, id)?,
            None => 0.0,
        };
        self.progress.episode(run.outcome.decisions);
        Ok(cost + more)
    }
}

/// Episodes go round the workloads.
fn of_episode<W>(workloads: &[W], episode: u32) -> &W {
    &workloads[episode as usize % workloads.len()]
}

impl<'a, S: Simulated> Arena<'a, S> {
    /// An arena on one or more workloads: episode *i* is of workload *i* modulo their number; `seed` fixes the
    /// episodes.
    ///
    /// # Panics
    ///
    /// Without a workload.
    #[must_use]
    pub fn new(workloads: &'a [Workload<S>], seed: u64, progress: &'a dyn Progress, stop: &'a AtomicBool) -> Self {
        assert!(!workloads.is_empty(), "an arena needs a workload");
        Self { workloads, seed, known: HashMap::new(), journal: None, surcharge: None, spent: 0, progress, stop }
    }

    /// The same with what episodes cost beside their objective. A journal belongs to one surcharge, or to none.
    #[must_use]
    pub fn with_surcharge(mut self, surcharge: Surcharge<'a, S>) -> Self {
        self.surcharge = Some(surcharge);
        self
    }

    /// Reads the journal at `path`, if there is one, and keeps it up from now on. A last line that was cut off is
    /// dropped, and lines without a check value, those of earlier versions, are left out.
    ///
    /// # Errors
    ///
    /// If the file cannot be read or written, or a whole line is no entry or was changed since it was written.
    pub fn with_journal(mut self, path: &Path) -> Result<Self, AugmentError> {
        let io = |source| AugmentError::Io { path: path.to_owned(), source };
        let text = match std::fs::read(path) {
            Ok(bytes) => bytes,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => Vec::new(),
            Err(e) => return Err(io(e)),
        };
        let whole = text.iter().rposition(|&b| b == b'\n').map_or(0, |end| end + 1);
        for (number, line) in text[..whole].split(|&b| b == b'\n').enumerate().filter(|(_, l)| !l.is_empty()) {
            let bad = |problem: String| AugmentError::Journal { path: path.to_owned(), line: number + 1, problem };
            let text = str::from_utf8(line).map_err(|e| bad(e.to_string()))?;
            let entry: Line = serde_json::from_str(text).map_err(|e| bad(e.to_string()))?;
            match unsealed(text, "") {
                // Of an earlier version: run again rather than believed.
                Err(Unsealed::Missing) => continue,
                found => found.map_err(|e| bad(e.to_string()))?,
            }
            let key = unhex(&entry.student).ok_or_else(|| bad("`student` is not 24 hex digits".to_owned()))?;
            self.known.insert((key, entry.split, entry.episode), entry.cost.unwrap_or(f64::INFINITY));
        }
        let file = File::options().create(true).append(true).open(path).map_err(io)?;
        file.set_len(whole as u64).map_err(io)?;
        self.journal = Some((path.to_owned(), BufWriter::new(file)));
        Ok(self)
    }

    /// Ends the search: its journal is put into order, so that it has the same bytes whether or not the search was
    /// interrupted on the way.
    ///
    /// # Errors
    ///
    /// If the journal cannot be written.
    pub fn finish(self) -> Result<(), AugmentError> {
        let Some((path, journal)) = self.journal else { return Ok(()) };
        drop(journal);
        let mut known: Vec<((Key, Split, u32), f64)> = self.known.into_iter().collect();
        known.sort_unstable_by_key(|&((key, split, episode), _)| (split, episode, key));
        let lines: String =
            known.iter().map(|&((key, split, episode), cost)| line(key, split, episode, cost)).collect();
        file::write(&path, lines.as_bytes()).map_err(|source| AugmentError::Io { path, source })
    }

    /// Episodes asked for so far, whatever for, those that the journal already knew included.
    #[must_use]
    pub fn spent(&self) -> u64 {
        self.spent
    }

    /// The objective as a cost of each student in each episode, shape `(students, episodes)`; +∞ where a
    /// student strands the cluster. The same for any number of threads.
    ///
    /// # Errors
    ///
    /// A student that cannot schedule, an interruption, a journal that cannot be written.
    pub fn run(
        &mut self,
        students: &[&Student],
        split: Split,
        episodes: Range<u32>,
    ) -> Result<Vec<Vec<f64>>, AugmentError> {
        let keys: Vec<Key> = students.iter().map(|s| key(s)).collect();
        let asked: Vec<(usize, u32)> =
            (0..students.len()).flat_map(|student| episodes.clone().map(move |e| (student, e))).collect();
        let scores = self.run_asked(students, &keys, split, &asked)?;
        let mut scores = scores.into_iter();
        Ok(students.iter().map(|_| scores.by_ref().take(episodes.len()).collect()).collect())
    }

    /// The objective as a cost of each student in an episode of its own; as [`Arena::run`] in all else.
    ///
    /// # Errors
    ///
    /// As [`Arena::run`].
    pub(super) fn run_each(&mut self, asked: &[(Student, u32)], split: Split) -> Result<Vec<f64>, AugmentError> {
        let students: Vec<&Student> = asked.iter().map(|(student, _)| student).collect();
        let keys: Vec<Key> = students.iter().map(|s| key(s)).collect();
        let asked: Vec<(usize, u32)> = asked.iter().enumerate().map(|(i, &(_, episode))| (i, episode)).collect();
        self.run_asked(&students, &keys, split, &asked)
    }

    /// The cost of every student and episode asked for, those that are not known yet side by side.
    fn run_asked(
        &mut self,
        students: &[&Student],
        keys: &[Key],
        split: Split,
        asked: &[(usize, u32)],
    ) -> Result<Vec<f64>, AugmentError> {
        let (mut open, mut planned, mut policies) = (Vec::new(), HashSet::new(), HashMap::new());
        self.spent += asked.len() as u64;
        for &(student, episode) in asked {
            let key = keys[student];
            // The same student twice among the candidates is run once.
            if self.known.contains_key(&(key, split, episode)) || !planned.insert((key, episode)) {
                self.progress.episode(0);
                continue;
            }
            let policy = match policies.get(&key) {
                Some(policy) => std::sync::Arc::clone(policy),
                None => {
                    let made = StudentPolicy::<S>::new(students[student], "a candidate".as_ref(), None)?;
                    let policy = std::sync::Arc::new(made);
                    policies.insert(key, std::sync::Arc::clone(&policy));
                    policy
                }
            };
            open.push((key, episode, policy));
        }
        let results: Vec<Result<f64, AugmentError>> =
            open.par_iter().map(|(_, episode, policy)| self.runner().run(policy, split, *episode)).collect();
        let mut failed = None;
        for ((key, episode, _), result) in open.iter().zip(results) {
            match result {
                Ok(cost) => {
                    self.known.insert((*key, split, *episode), cost);
                    self.note(*key, split, *episode, cost)?;
                }
                Err(e) => failed = failed.or(Some(e)),
            }
        }
        if let Some((_, journal)) = &mut self.journal {
            journal.flush().map_err(AugmentError::Write)?;
        }
        match failed {
            Some(e) => Err(e),
            None => Ok(asked.iter().map(|&(student, e)| self.known[&(keys[student], split, e)]).collect()),
        }
    }

    fn runner(&self) -> Runner<'a, S> {
        Runner {
            workloads: self.workloads,
            seed: self.seed,
            surcharge: self.surcharge,
            progress: self.progress,
            stop: self.stop,
        }
    }

    /// A runner for a student whose episodes the caller runs itself, beside those of others, and what is known of each
    /// of them already. The episodes count as spent; [`Arena::remember`] takes what the others came to.
    pub(super) fn runner_and_known(
        &mut self,
        key: Key,
        split: Split,
        episodes: Range<u32>,
    ) -> (Runner<'a, S>, Vec<Option<f64>>) {
        self.spent += episodes.len() as u64;
        let known: Vec<Option<f64>> = episodes.map(|e| self.known.get(&(key, split, e)).copied()).collect();
        known.iter().flatten().for_each(|_| self.progress.episode(0));
        (self.runner(), known)
    }

    /// Remembers episodes that the caller ran: student, episode and cost.
    pub(super) fn remember(&mut self, runs: &[(Key, u32, f64)], split: Split) -> Result<(), AugmentError> {
        for &(key, episode, cost) in runs {
            if self.known.insert((key, split, episode), cost).is_none() {
                self.note(key, split, episode, cost)?;
            }
        }
        self.journal.as_mut().map_or(Ok(()), |(_, journal)| journal.flush().map_err(AugmentError::Write))
    }

    fn note(&mut self, key: Key, split: Split, episode: u32, cost: f64) -> Result<(), AugmentError> {
        let Some((_, journal)) = &mut self.journal else { return Ok(()) };
        journal.write_all(line(key, split, episode, cost).as_bytes()).map_err(AugmentError::Write)
    }

    /// Fills in the deviation within choices of some terms (places of level and term), on the states that the
    /// student visits in `episodes`.
    ///
    /// # Errors
    ///
    /// As [`Arena::run`].
    pub(super) fn measure_spreads(
        &mut self,
        student: &mut Student,
        terms: &[(usize, usize)],
        split: Split,
        episodes: Range<u32>,
    ) -> Result<(), AugmentError> {
        self.spent += episodes.len() as u64;
        let driver = StudentPolicy::<S>::new(student, "a candidate".as_ref(), None)?;
        let (mut questions, silent) = (S::Questions::default(), Said::default());
        let (mut path, mut choice, mut x) = (Vec::new(), ChoiceRows::default(), Vec::new());
        // Per term: candidates, and their summed squared distance from the choice's mean.
        let mut sums = vec![(0.0, 0.0); terms.len()];
        for episode in episodes {
            let id = EpisodeId::new(self.seed, split, episode);
            let workload = of_episode(self.workloads, episode);
            run_episode(workload, &mut *driver.fresh(), id, |seen, decision, _| {
                questions.update(seen);
                path.clear();
                let answer = Answer { decision, said: &silent };
                while questions.choice(seen, &path, &answer, false, &mut choice) {
                    x.clear();
                    questions.rows(seen, &path, false, &mut x);
                    let spec = &student.feature_set.levels[path.len()];
                    for (&(level, term), (n, square)) in terms.iter().zip(&mut sums) {
                        let Model::Additive(model) = &student.levels[level].scheduler().model else { continue };
                        // A student may have its levels in any order.
                        if student.levels[level].level != spec.name {
                            continue;
                        }
                        let values = || x.chunks_exact(spec.features.len()).map(|row| model.terms[term].of(row));
                        let mean = values().sum::<f64>() / values().len().max(1) as f64;
                        *n += values().len() as f64;
                        *square += values().map(|v| (v - mean).powi(2)).sum::<f64>();
                    }
                    match choice.chosen {
                        Some(chosen) => path.push(chosen),
                        None => break,
                    }
                }
            })?;
        }
        for (&(level, term), (n, square)) in terms.iter().zip(sums) {
            if let Model::Additive(model) = student.levels[level].scheduler_mut() {
                model.terms[term].sd = moves::round((square / f64::max(n, 1.0)).sqrt());
            }
        }
        Ok(())
    }

    /// Share of the decisions of `student` that each of `others` would make differently, on the states that `student`
    /// visits in `episodes`; these count as spent once, whatever the number of `others`. They are not in the journal.
    ///
    /// # Errors
    ///
    /// As [`Arena::run`].
    pub fn departures(
        &mut self,
        student: &Student,
        others: &[&Student],
        split: Split,
        episodes: Range<u32>,
    ) -> Result<Vec<f64>, AugmentError> {
        self.spent += episodes.len() as u64;
        let policy = |s: &Student| StudentPolicy::<S>::new(s, "a candidate".as_ref(), None);
        let driver = policy(student)?;
        let others: Vec<StudentPolicy<S>> = others.iter().map(|s| policy(s)).collect::<Result<_, _>>()?;
        let counts: Vec<Result<(u64, Vec<u64>), AugmentError>> = episodes
            .into_par_iter()
            .map(|episode| {
                if self.stop.load(Ordering::Relaxed) {
                    return Err(AugmentError::Interrupted);
                }
                let mut asked: Vec<Box<dyn Policy<S>>> = others.iter().map(Policy::fresh).collect();
                let (mut decisions, mut different) = (0, vec![0; asked.len()]);
                let mut problem = None;
                let mut ignored = Said::default();
                let id = EpisodeId::new(self.seed, split, episode);
                let workload = of_episode(self.workloads, episode);
                run_episode(workload, &mut *driver.fresh(), id, |seen, decision, _| {
                    decisions += 1;
                    for (other, count) in asked.iter_mut().zip(&mut different) {
                        match other.decide(seen, &mut ignored) {
                            Ok(answer) => *count += u64::from(answer != decision),
                            Err(e) => problem = Some(e),
                        }
                    }
                })?;
                self.progress.episode(decisions);
                problem.map_or(Ok((decisions, different)), |e| Err(e.into()))
            })
            .collect();
        let (mut decisions, mut different) = (0, vec![0; others.len()]);
        for count in counts {
            let (n, d) = count?;
            decisions += n;
            different.iter_mut().zip(d).for_each(|(sum, d)| *sum += d);
        }
        Ok(different.into_iter().map(|d| d as f64 / (decisions as f64).max(1.0)).collect())
    }
}

/// Hash of what schedules: structure, models, what is taken of their probabilities, and guards, without what is said
/// about them.
pub(super) fn key(student: &Student) -> Key {
    let models: Vec<(&Model, Pick, f64)> = student
        .levels
        .iter()
        .map(|l| match (student.structure, l.pick) {
            (Structure::Hierarchical, Pick::Mode) => (&l.scheduler().model, l.pick, 0.0),
            // The temperature decides where the median lies, and which path is the most probable one.
            _ => (&l.scheduler().model, l.pick, l.scheduler().temperature),
        })
        .collect();
    let bare = |g: &Guard| Guard { evidence: sched_distill_core::model::Evidence::default(), ..g.clone() };
    let guards: Vec<Guard> = student.guards.iter().map(bare).collect();
    // Plain data serialises.
    let text = serde_json::to_vec(&(student.structure, models, guards)).unwrap_or_default();
    let mut key = Key::default();
    let len = key.len();
    key.copy_from_slice(&Sha256::digest(text)[..len]);
    key
}

/// A line of the journal.
fn line(key: Key, split: Split, episode: u32, cost: f64) -> String {
    let line = Line { student: hex(&key), split, episode, cost: cost.is_finite().then_some(cost) };
    // Plain data serialises.
    sealed(&serde_json::to_string(&line).unwrap_or_default(), "") + "\n"
}

fn hex(key: &Key) -> String {
    key.iter().map(|b| format!("{b:02x}")).collect()
}

fn unhex(text: &str) -> Option<Key> {
    let mut key = Key::default();
    if text.len() != 2 * key.len() || !text.is_ascii() {
        return None;
    }
    for (i, byte) in key.iter_mut().enumerate() {
        *byte = u8::from_str_radix(&text[2 * i..2 * i + 2], 16).ok()?;
    }
    Some(key)
}
