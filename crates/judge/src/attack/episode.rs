//! The attacks on one episode: run it, draw targets, and for each method and budget run it again with the edited job.

use super::{
    Asked, AttackError, AttackParams, Method,
    search::{Promise, Target, rank},
};
use sched_distill_core::{
    policy::Policy,
    rng::{EpisodeId, Stream, hash},
    scenario::{Said, Scenario, State},
    simulation::{EditBudget, EditError, Editable, JobEnd, Outcome, Simulation, Workload},
};
use sched_distill_trace::recorder::{EpisodeCause, EpisodeError};
use serde::{Deserialize, Serialize};
use std::{
    cell::RefCell,
    sync::atomic::{AtomicBool, Ordering},
};

/// What a target is given is looked at for so long after its arrival, ms.
const FIRST_MS: f64 = 60_000.0;

/// What came of one attack.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Attempt {
    /// The job that was edited.
    pub job: u32,
    /// Method.
    pub method: Method,
    /// Place of the budget among those of the attack.
    pub budget: usize,
    /// The edits, as values.
    pub edits: Vec<serde_json::Value>,
    /// The same in words.
    pub words: Vec<String>,
    /// What the method expected of them: a gain in how probable it is that the job is given something, or in what it is given.
    pub promised: f64,
    /// How often somebody was asked.
    pub queries: u64,
    /// Edits that were tried out in the episode.
    pub trials: u32,
    /// Completion time of the job as it was described, and as it was edited, ms; `None` if it was not completed.
    pub completion_ms: [Option<f64>; 2],
    /// Mean completion time of all other jobs that were completed, ms.
    pub others_ms: [f64; 2],
    /// Executors, or what else there is, at work for the job in the mean over its first minute.
    pub first_minute: [f64; 2],
}

impl Attempt {
    /// By how much the job's completion time changed, as a share of what it was: below 0 it was served sooner. `None` if it was not
    /// completed in one of the two.
    #[must_use]
    pub fn change(&self) -> Option<f64> {
        let [before, after] = self.completion_ms;
        Some((after? - before?) / before?)
    }

    /// The edits.
    ///
    /// # Errors
    ///
    /// Edits of another scenario.
    pub(super) fn values<S: Editable>(&self) -> Result<Vec<S::Edit>, EditError> {
        let edit = |value: &serde_json::Value| serde_json::from_value(value.clone());
        self.edits.iter().map(edit).collect::<Result<_, _>>().map_err(|e| EditError(e.to_string()))
    }
}

/// All attacks on an episode.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EpisodeAttempts {
    /// Episode number.
    pub episode: u32,
    /// What the scenario judges schedulers by, of the episode without edits; `None` if it was not completed.
    #[serde(default)]
    pub objective: Option<f64>,
    /// Target by target, budget by budget, method by method.
    pub attempts: Vec<Attempt>,
}

/// An episode as it went.
struct Run {
    /// Completion time by job, ms.
    completion_ms: Vec<Option<f64>>,
    others_ms: f64,
    first_minute: f64,
}

/// What is known of the episode without edits.
struct Clean<D> {
    decisions: Vec<D>,
    times_ms: Vec<f64>,
    /// By target, the questions at which it could be given something.
    chances: Vec<Vec<usize>>,
}

/// Where edits come from.
pub enum Source<'a, S: Scenario> {
    /// They are searched: by asking the victim, or a student that stands in for it.
    Search {
        /// The victim as it can be asked.
        asked: &'a Asked<S>,
        /// Who stands in for it.
        proxy: Option<&'a Asked<S>>,
    },
    /// They were found against another scheduler, by the episode's number.
    Found(&'a [EpisodeAttempts]),
}

/// A job that is attacked, and what is known of it without edits.
struct Subject<'a, S: Editable> {
    job: u32,
    /// Questions at which it could be given something.
    states: Vec<S::State>,
    /// The episode before it arrives, if one can go on with it from there.
    fork: Option<S::Simulator>,
    before: Run,
    arrivals: &'a [f64],
}

/// Attacks one episode.
///
/// # Errors
///
/// A policy that cannot answer or answers something illegal, edits that the episode's jobs do not allow, or an interruption through
/// `stop`.
pub fn episode<S: Editable>(
    workload: &Workload<S>,
    victim: &dyn Policy<S>,
    source: &Source<'_, S>,
    params: &AttackParams,
    episode: u32,
    stop: &AtomicBool,
) -> Result<EpisodeAttempts, AttackError> {
    let id = EpisodeId::new(params.seed, params.split, episode);
    let fresh = RefCell::new(victim.fresh());
    let world = World { workload, victim: fresh, id, stop, jobs: workload.jobs(id) };
    let targets = targets(world.jobs.len() as u32, params, episode);
    let start = S::start(workload, world.jobs.clone(), id.seed);
    let arrivals = start.arrivals_ms();
    let mut clean = Clean { decisions: Vec::new(), times_ms: Vec::new(), chances: vec![Vec::new(); targets.len()] };
    let mut recorded = start.clone();
    recorded.record_timeline();
    let whole = world.run(recorded, None, &mut |seen, decision| {
        for (target, chances) in targets.iter().zip(&mut clean.chances) {
            if S::is_candidate(seen, *target) {
                chances.push(clean.decisions.len());
            }
        }
        clean.decisions.push(decision);
        clean.times_ms.push(S::time_ms(seen));
    })?;
    let outcome = whole.outcome();
    let objective = outcome.as_ref().and_then(Outcome::objective);
    let ends = outcome.map_or(Vec::new(), |outcome| outcome.jobs);

    let mut attempts = Vec::new();
    let (mut asked, mut proxy) = match source {
        Source::Search { asked, proxy } => (Some(asked.fresh()), proxy.map(Asked::fresh)),
        Source::Found(_) => (None, None),
    };
    // The episode as far as it was replayed, which is as far as the question of that number.
    let mut replay = (start, 0);
    for (place, &job) in targets.iter().enumerate() {
        let arrival = arrivals[job as usize];
        let earlier = clean.times_ms.iter().take_while(|&&ms| ms < arrival).count();
        let fork = match earlier.checked_sub(1).filter(|_| victim.forgets()) {
            Some(question) => {
                world.replay(&mut replay, &clean.decisions, question, &mut |_, _| ())?;
                Some(replay.0.clone())
            }
            None => None,
        };
        let mut states = Vec::new();
        if asked.is_some() {
            let picked = spread(&clean.chances[place], params.questions as usize);
            if let Some(&last) = picked.last() {
                let mut ahead = replay.clone();
                world.replay(&mut ahead, &clean.decisions, last, &mut |question, seen| {
                    if picked.binary_search(&question).is_ok() {
                        states.push(S::State::of(seen));
                    }
                })?;
                states.extend(ahead.0.view().map(|seen| S::State::of(&seen)));
            }
        }
        let before = summary(&whole, &ends, &arrivals, job);
        let subject = Subject { job, states, fork, before, arrivals: &arrivals };
        if let Source::Found(found) = source {
            let own = found.iter().filter(|e| e.episode == episode).flat_map(|e| &e.attempts);
            for attempt in own.filter(|a| a.job == job) {
                world.check()?;
                attempts.push(world.again(&subject, attempt)?);
            }
            continue;
        }
        for (number, budget) in params.budgets.iter().enumerate() {
            for &method in &params.methods {
                world.check()?;
                let who = if method == Method::Proxy { &mut proxy } else { &mut asked };
                let Some(who) = who else { continue };
                let mut stream = Stream::new(hash(&[id.seed, u64::from(job), number as u64]), method.name());
                attempts.push(world.attempt(&subject, (method, number, budget), params, who, &mut stream)?);
            }
        }
    }
    Ok(EpisodeAttempts { episode, objective, attempts })
}

/// Jobs that are edited: drawn without looking at what becomes of them, in order of their numbers.
fn targets(jobs: u32, params: &AttackParams, episode: u32) -> Vec<u32> {
    let mut all: Vec<u32> = (0..jobs).collect();
    let mut stream = Stream::new(hash(&[params.seed, u64::from(episode)]), "targets");
    let wanted = (params.targets as usize).min(all.len());
    for i in 0..wanted {
        let other = i + stream.below(all.len() - i);
        all.swap(i, other);
    }
    all.truncate(wanted);
    all.sort_unstable();
    all
}

/// So many of the numbers, the first and the last among them, as evenly as can be.
pub(super) fn spread(numbers: &[usize], most: usize) -> Vec<usize> {
    if numbers.len() <= most {
        return numbers.to_vec();
    }
    (0..most).map(|i| numbers[i * (numbers.len() - 1) / (most - 1).max(1)]).collect()
}

/// An episode and who schedules it.
pub(super) struct World<'a, S: Editable> {
    pub(super) workload: &'a Workload<S>,
    /// One for the whole episode, which begins each run anew: it may be a process.
    pub(super) victim: RefCell<Box<dyn Policy<S>>>,
    pub(super) id: EpisodeId,
    pub(super) stop: &'a AtomicBool,
    pub(super) jobs: Vec<S::Job>,
}

type Seen<'a, S> = &'a mut dyn FnMut(&<S as Scenario>::View<'_>, <S as Scenario>::Decision);

impl<S: Editable> World<'_, S> {
    fn check(&self) -> Result<(), AttackError> {
        if self.stop.load(Ordering::Relaxed) { Err(AttackError::Interrupted) } else { Ok(()) }
    }

    pub(super) fn fail(&self, step: u64, cause: EpisodeCause) -> EpisodeError {
        EpisodeError { episode: self.id.episode, seed: self.id.seed, step, source: Box::new(cause) }
    }

    /// Runs the victim on an episode, to its end or until a job is completed.
    pub(super) fn run(
        &self,
        mut sim: S::Simulator,
        until: Option<u32>,
        each: Seen<'_, S>,
    ) -> Result<S::Simulator, AttackError> {
        let mut policy = self.victim.borrow_mut();
        policy.reset(self.id.seed);
        let mut probabilities = Said::default();
        let mut step = 0;
        while let Some(seen) = sim.view() {
            if until.is_some_and(|job| sim.completed_ms(job).is_some()) {
                break;
            }
            if step % 1024 == 0 {
                self.check()?;
            }
            probabilities.clear();
            let decision = policy.decide(&seen, &mut probabilities).map_err(|e| self.fail(step, e.into()))?;
            sim.check(decision).map_err(|e| self.fail(step, EpisodeCause::illegal(e)))?;
            each(&seen, decision);
            sim.step(decision).map_err(|e| self.fail(step, EpisodeCause::illegal(e)))?;
            step += 1;
        }
        Ok(sim)
    }

    /// Takes a replayed episode on to the question of a number; `each` sees those before it.
    pub(super) fn replay(
        &self,
        (sim, next): &mut (S::Simulator, usize),
        decisions: &[S::Decision],
        question: usize,
        each: &mut dyn FnMut(usize, &S::View<'_>),
    ) -> Result<(), AttackError> {
        while *next < question {
            if let Some(seen) = sim.view() {
                each(*next, &seen);
            }
            sim.step(decisions[*next]).map_err(|e| self.fail(*next as u64, EpisodeCause::illegal(e)))?;
            *next += 1;
        }
        Ok(())
    }

    /// The episode with the job described as in `jobs`, from before its arrival on.
    fn begin(&self, subject: &Subject<'_, S>, jobs: &[S::Job]) -> S::Simulator {
        match &subject.fork {
            Some(fork) => S::described(fork, jobs, subject.job),
            None => S::start(self.workload, jobs.to_vec(), self.id.seed),
        }
    }

    /// One attack on one job.
    fn attempt(
        &self,
        subject: &Subject<'_, S>,
        (method, number, budget): (Method, usize, &EditBudget),
        params: &AttackParams,
        asked: &mut Asked<S>,
        stream: &mut Stream,
    ) -> Result<Attempt, AttackError> {
        let (job, mut queries) = (subject.job, 0);
        let mut jobs = self.jobs.clone();
        let mut made: Vec<Promise<S::Edit>> = Vec::new();
        let mut last = Vec::new();
        for left in (0..budget.edits).rev() {
            let edits: Vec<S::Edit> = made.iter().map(|promise| promise.edit.clone()).collect();
            let target = Target { jobs: &jobs, job, states: &subject.states, made: &edits };
            let ranked = rank(method, &target, budget, asked, stream, &mut queries);
            let mut ranked = ranked.map_err(|e| self.fail(0, e.into()))?.into_iter();
            if left == 0 {
                last = ranked.take(params.trials as usize).collect();
                break;
            }
            let Some(best) = ranked.next() else { break };
            jobs = S::edited(&jobs, job, &best.edit)?;
            made.push(best);
        }
        let trials = last.len() as u32;
        made.extend(match trials {
            0 | 1 => last.pop(),
            _ => self.try_out(subject, &jobs, last)?,
        });
        let promised = made.iter().map(|p| p.gain).sum();
        let edits: Vec<S::Edit> = made.into_iter().map(|p| p.edit).collect();
        Ok(Attempt { queries, trials, promised, ..self.measure(subject, (method, number), &edits)? })
    }

    /// The edits of an attack on another scheduler, made here.
    fn again(&self, subject: &Subject<'_, S>, other: &Attempt) -> Result<Attempt, AttackError> {
        self.measure(subject, (other.method, other.budget), &other.values::<S>()?)
    }

    /// What comes of edits, which nobody was asked for.
    fn measure(
        &self,
        subject: &Subject<'_, S>,
        (method, budget): (Method, usize),
        edits: &[S::Edit],
    ) -> Result<Attempt, AttackError> {
        let Subject { job, before, arrivals, .. } = subject;
        let mut jobs = self.jobs.clone();
        for edit in edits {
            jobs = S::edited(&jobs, *job, edit)?;
        }
        let after = match edits.is_empty() {
            true => Run { completion_ms: before.completion_ms.clone(), ..*before },
            false => {
                let mut sim = self.begin(subject, &jobs);
                sim.record_timeline();
                let end = self.run(sim, None, &mut |_, _| ())?;
                summary(&end, &end.outcome().map_or(Vec::new(), |outcome| outcome.jobs), arrivals, *job)
            }
        };
        let of = |run: &Run| run.completion_ms[*job as usize];
        Ok(Attempt {
            job: *job,
            method,
            budget,
            edits: edits.iter().map(|edit| serde_json::to_value(edit).unwrap_or_default()).collect(),
            words: edits.iter().map(ToString::to_string).collect(),
            promised: 0.0,
            queries: 0,
            trials: 0,
            completion_ms: [of(before), of(&after)],
            others_ms: [before.others_ms, after.others_ms],
            first_minute: [before.first_minute, after.first_minute],
        })
    }

    /// The edit that brings the job the earliest completion; `None` if none is earlier than without it.
    fn try_out(
        &self,
        subject: &Subject<'_, S>,
        jobs: &[S::Job],
        edits: Vec<Promise<S::Edit>>,
    ) -> Result<Option<Promise<S::Edit>>, AttackError> {
        let (job, arrival) = (subject.job, subject.arrivals[subject.job as usize]);
        let mut best = (subject.before.completion_ms[job as usize].unwrap_or(f64::INFINITY), None);
        for promise in edits {
            self.check()?;
            let sim = self.begin(subject, &S::edited(jobs, job, &promise.edit)?);
            let end = self.run(sim, Some(job), &mut |_, _| ())?;
            let time = end.completed_ms(job).map_or(f64::INFINITY, |ms| ms - arrival);
            if time < best.0 {
                best = (time, Some(promise));
            }
        }
        Ok(best.1)
    }
}

/// What became of a job and of all others.
fn summary(sim: &impl Simulation, ends: &[JobEnd], arrivals: &[f64], job: u32) -> Run {
    let completion_ms: Vec<Option<f64>> =
        ends.iter().zip(arrivals).map(|(end, arrival)| Some(end.completion_ms()? - arrival)).collect();
    let others: Vec<f64> = (0u32..).zip(&completion_ms).filter(|(j, _)| *j != job).filter_map(|(_, ms)| *ms).collect();
    let from = arrivals[job as usize];
    let within =
        |r: &sched_distill_core::simulation::TaskRun| (r.end_ms.min(from + FIRST_MS) - r.start_ms.max(from)).max(0.0);
    let work: f64 = sim.task_runs().iter().filter(|r| r.job == job).map(within).sum();
    Run {
        others_ms: others.iter().sum::<f64>() / others.len().max(1) as f64,
        first_minute: work / FIRST_MS,
        completion_ms,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn questions_are_spread_and_targets_are_drawn_once() {
        assert_eq!(spread(&[3, 5, 8], 4), [3, 5, 8]);
        assert_eq!(spread(&(0..100).collect::<Vec<_>>(), 4), [0, 33, 66, 99]);
        assert_eq!(spread(&[1, 2, 3], 1), [1]);
        let params = AttackParams {
            seed: 1,
            split: sched_distill_core::rng::Split::Test,
            episodes: 1,
            targets: 5,
            methods: vec![],
            budgets: vec![],
            trials: 1,
            questions: 8,
        };
        let drawn = targets(50, &params, 0);
        assert!(drawn.len() == 5 && drawn.is_sorted_by(|a, b| a < b));
        assert_ne!(drawn, targets(50, &params, 1));
        assert_eq!(targets(3, &params, 0), [0, 1, 2]);
    }
}
