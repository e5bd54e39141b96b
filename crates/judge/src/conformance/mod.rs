//! Whether a policy keeps the contract of [`Policy`], and whether it decides as another one. For any scenario: what is
//! known of probabilities is what [`Said::told`](sched_distill_core::scenario::Said::told)
//! tells, and what a recording would have of them.

mod concordance;
mod lists;

pub use concordance::Concordance;

use concordance::Side;
use lists::{Answer, apart, ask, chain, check, distribution, may_be_empty, same};
use sched_distill_core::{
    policy::Policy,
    rng::{EpisodeId, Split},
    scenario::Questions,
    simulation::{NamedWorkload, Simulated, Simulation, Workload},
};
use sched_distill_trace::recorder::ChoiceLog;
use serde::Serialize;
use std::{
    fmt::Display,
    sync::atomic::{AtomicBool, Ordering},
    time::Instant,
};

/// How far apart log-probabilities of one and the same policy may be.
const REPEAT: f64 = 1e-6;
/// How many decisions of a question [`Policy::given`] is asked about.
const ASKED_DECISIONS: usize = 16;

/// What to check.
pub struct ConformanceRequest<'a, S: Simulated> {
    /// The policy.
    pub policy: &'a dyn Policy<S>,
    /// Another one that is asked the same questions.
    pub against: Option<&'a dyn Policy<S>>,
    /// The workloads, see [`Simulated::battery`].
    pub workloads: &'a [NamedWorkload<S>],
    /// The user's seed.
    pub seed: u64,
    /// Episodes of each workload.
    pub episodes: u32,
    /// Decisions after which an episode is left.
    pub decisions: u32,
}

/// What was found.
#[derive(Clone, Debug, Serialize)]
pub struct Conformance {
    /// The checks.
    pub checks: Vec<Check>,
    /// Episodes run.
    pub episodes: u32,
    /// Episodes in which the policy left the cluster stranded; that is allowed, but rarely meant.
    pub stalled: u32,
    /// Decisions of these episodes.
    pub decisions: u64,
    /// Median time of a decision, ms.
    pub median_ms: f64,
    /// The time that one decision in a hundred exceeds, ms.
    pub p99_ms: f64,
    /// The longest time, ms: mostly that of the first decision, which starts and loads things.
    pub longest_ms: f64,
    /// The comparison with the other policy.
    pub concordance: Option<Concordance>,
}

impl Conformance {
    /// Whether no check failed.
    #[must_use]
    pub fn passed(&self) -> bool {
        self.checks.iter().all(|check| check.failed == 0)
    }
}

/// One thing that must hold.
#[derive(Clone, Debug, Serialize)]
pub struct Check {
    /// What must hold.
    pub name: &'static str,
    /// How often it was tested.
    pub tested: u64,
    /// How often it did not hold.
    pub failed: u64,
    /// The first place where it did not hold, and what was found there.
    pub first: Option<String>,
}

/// Places of the checks in [`Conformance::checks`].
#[derive(Clone, Copy)]
enum Rule {
    Answers,
    Legal,
    Distributions,
    Given,
    Levels,
    Repeats,
    Forgets,
    OtherAnswers,
}

const RULES: [&str; 7] = [
    "every question is answered",
    "decisions are legal",
    "a probability per candidate, all finite, summing to 1",
    "`given` agrees with `decide`, whatever was decided",
    "probabilities of every level, as a recording has them, sum to 1",
    "a second copy decides the same",
    "a copy decides the same again after `reset`",
];

/// A check in progress.
struct Checker<'a, S: Simulated> {
    request: &'a ConformanceRequest<'a, S>,
    checks: Vec<Check>,
    /// Where we are.
    place: (&'a str, u32, u32),
    times_ms: Vec<f64>,
    concordance: Option<Concordance>,
}

/// Runs the policy over the workloads and looks at every decision; `None` if `stop` was raised. `progress` hears of
/// every workload.
#[must_use]
pub fn check_policy<S: Simulated>(
    request: &ConformanceRequest<'_, S>,
    stop: &AtomicBool,
    mut progress: impl FnMut(&str),
) -> Option<Conformance> {
    let check = |name| Check { name, tested: 0, failed: 0, first: None };
    let mut checker = Checker {
        request,
        checks: RULES.map(check).to_vec(),
        place: ("", 0, 0),
        times_ms: Vec::new(),
        concordance: request.against.map(|_| Concordance::default()),
    };
    if request.against.is_some() {
        checker.checks.push(check("the other policy answers"));
    }
    let (mut stalled, mut episodes) = (0, 0);
    for NamedWorkload { name, workload } in request.workloads {
        progress(name);
        for episode in 0..request.episodes {
            checker.place = (name, episode, 0);
            episodes += 1;
            stalled += u32::from(checker.episode(workload, stop));
            if stop.load(Ordering::Relaxed) {
                return None;
            }
        }
    }
    let Checker { checks, mut times_ms, concordance, .. } = checker;
    times_ms.sort_by(f64::total_cmp);
    let quantile = |q: f64| {
        let last = times_ms.len().saturating_sub(1);
        times_ms.get((q * last as f64).round() as usize).copied().unwrap_or(0.0)
    };
    let decisions = times_ms.len() as u64;
    let (median_ms, p99_ms, longest_ms) = (quantile(0.5), quantile(0.99), quantile(1.0));
    Some(Conformance { checks, episodes, stalled, decisions, median_ms, p99_ms, longest_ms, concordance })
}

impl<S: Simulated> Checker<'_, S> {
    /// Counts a check; `found` says what is wrong.
    fn test(&mut self, rule: Rule, found: Result<(), impl Display>) -> bool {
        let check = &mut self.checks[rule as usize];
        check.tested += 1;
        if let Err(found) = &found {
            check.failed += 1;
            let (workload, episode, step) = self.place;
            check.first.get_or_insert_with(|| format!("{workload}, episode {episode}, decision {step}: {found}"));
        }
        found.is_ok()
    }

    /// Checks an episode; whether it ended with a stranded cluster.
    fn episode(&mut self, workload: &Workload<S>, stop: &AtomicBool) -> bool {
        let id = EpisodeId::new(self.request.seed, Split::Test, self.place.1);
        let (simulator, seed) = (|| S::start(workload, workload.jobs(id), id.seed), id.seed);
        let (mut policy, mut second) = (self.request.policy.fresh(), self.request.policy.fresh());
        let mut other = self.request.against.map(|other| other.fresh());
        [&mut policy, &mut second].into_iter().chain(&mut other).for_each(|policy| policy.reset(seed));
        let (mut sim, mut answers) = (simulator(), Vec::new());
        while let Some(seen) = sim.view() {
            if stop.load(Ordering::Relaxed) || answers.len() == self.request.decisions as usize {
                break;
            }
            self.place.2 = answers.len() as u32;
            let Some(answer) = self.ask(&mut *policy, &seen) else { return false };
            let legal = sim.check(answer.0);
            if !self.test(Rule::Legal, legal.map_err(|e| e.to_string()).and_then(|()| self.may_abstain(answer.0))) {
                return false;
            }
            self.check_probabilities(&mut *policy, &seen, &answer);
            let repeated = ask(&mut *second, &seen).and_then(|again| same::<S>(&answer, &again));
            self.test(Rule::Repeats, repeated);
            if let Some(other) = &mut other
                && !self.compare((&mut *policy, &mut **other), &seen, &answer)
            {
                return false;
            }
            if sim.step(answer.0).is_err() {
                // What is legal can be carried out.
                return false;
            }
            answers.push(answer);
        }
        let stalled = sim.outcome().is_some_and(|outcome| outcome.stalled());
        // The same copy once more: nothing of the first run may show.
        policy.reset(seed);
        let mut sim = simulator();
        for (step, answer) in answers.iter().enumerate() {
            let Some(seen) = sim.view() else { break };
            if stop.load(Ordering::Relaxed) {
                break;
            }
            self.place.2 = step as u32;
            let found = ask(&mut *policy, &seen).and_then(|again| same::<S>(answer, &again));
            if !self.test(Rule::Forgets, found) || sim.step(answer.0).is_err() {
                break;
            }
        }
        stalled
    }

    /// Asks the policy with the clock running.
    fn ask(&mut self, policy: &mut dyn Policy<S>, seen: &S::View<'_>) -> Option<Answer<S>> {
        let start = Instant::now();
        let answer = ask(policy, seen);
        self.times_ms.push(start.elapsed().as_secs_f64() * 1e3);
        self.test(Rule::Answers, answer.as_ref().map(|_| ()));
        answer.ok()
    }

    fn may_abstain(&self, decision: S::Decision) -> Result<(), String> {
        match S::gives_nothing(decision) && !self.request.policy.abstains() {
            true => Err("it gave nothing, but `abstains` says that it never does".to_owned()),
            false => Ok(()),
        }
    }

    fn check_probabilities(&mut self, policy: &mut dyn Policy<S>, seen: &S::View<'_>, answer: &Answer<S>) {
        let (decision, p) = answer;
        let mut sound = true;
        // A deterministic policy names none.
        for list in p.told::<S>(seen, *decision).filter(|list| !list.log_prob.is_empty()) {
            sound &= self.test(Rule::Distributions, check(&list));
        }
        if sound && !p.is_silent() {
            self.check_levels(seen, answer);
        }
        let mut asked = self.some_decisions(seen);
        asked.push(*decision);
        for other in asked {
            let found = given(policy, seen, answer, other);
            self.test(Rule::Given, found.map_err(|found| format!("{other:?}: {found}")));
        }
    }

    /// What could be decided: the first candidate of the last level under each of those above it, up to a number.
    fn some_decisions(&self, seen: &S::View<'_>) -> Vec<S::Decision> {
        let mut questions = S::Questions::default();
        questions.update(seen);
        let (mut open, mut decisions, mut rows) = (vec![Vec::new()], Vec::new(), Vec::new());
        let last = (S::INFO.feature_set)().levels.len() - 1;
        while let Some(path) = open.pop().filter(|_| decisions.len() < ASKED_DECISIONS) {
            rows.clear();
            let candidates = match questions.rows(seen, &path, false, &mut rows) {
                0 => {
                    decisions.push(questions.decision(seen, &path));
                    continue;
                }
                candidates if path.len() < last => candidates,
                _ => 1,
            };
            open.extend((0..candidates).rev().map(|candidate| [&path[..], &[candidate]].concat()));
        }
        decisions
    }

    /// What a recording would write of the answer: a choice per level, and those of every candidate of the first.
    fn check_levels(&mut self, seen: &S::View<'_>, (decision, p): &Answer<S>) {
        let mut log = ChoiceLog::<S>::new(self.request.policy.abstains());
        log.push(0, 0, seen, *decision, p);
        for table in log.into_tables() {
            for choice in table.iter().filter(|choice| choice.has_probabilities()) {
                let log_prob: Vec<f64> = choice.log_prob.iter().map(|&p| f64::from(p)).collect();
                let found = distribution(&log_prob);
                self.test(Rule::Levels, found.map_err(|found| format!("level {}: {found}", table.spec.name)));
            }
        }
    }

    /// Asks the other policy the same; whether it answered.
    fn compare(
        &mut self,
        (policy, other): (&mut dyn Policy<S>, &mut dyn Policy<S>),
        seen: &S::View<'_>,
        answer: &Answer<S>,
    ) -> bool {
        let theirs = ask(other, seen);
        self.test(Rule::OtherAnswers, theirs.as_ref().map(|_| ()));
        let (Ok(theirs), Some(concordance)) = (theirs, &mut self.concordance) else { return false };
        let sides = [Side { policy, answer }, Side { policy: other, answer: &theirs }];
        if let Some(difference) = concordance.add(seen, sides) {
            let (workload, episode, step) = self.place;
            let first = || format!("{workload}, episode {episode}, decision {step}: {difference}");
            concordance.first.get_or_insert_with(first);
        }
        true
    }
}

/// Whether what a policy says where `other` is decided agrees with its answer to the question, the last one it was
/// asked.
fn given<S: Simulated>(
    policy: &mut dyn Policy<S>,
    seen: &S::View<'_>,
    (decision, p): &Answer<S>,
    other: S::Decision,
) -> Result<(), String> {
    let mut theirs = p.clone();
    policy.given(seen, other, &mut theirs).map_err(|e| chain(&e))?;
    for (mine, theirs) in p.told::<S>(seen, *decision).zip(theirs.told::<S>(seen, other)) {
        let differs = apart(mine.log_prob, theirs.log_prob) > REPEAT;
        let of = mine.of;
        match (theirs.log_prob.is_empty(), mine.log_prob.is_empty()) {
            _ if !mine.is_conditional() => {
                if differs {
                    return Err(format!("{of}: other probabilities than `decide` named; they depend on no decision"));
                }
            }
            (true, true) => {}
            // Another decision may have nothing to be probable about.
            (true, false) if may_be_empty(&theirs) => {}
            (true, false) => return Err(format!("{of}: no probabilities, but `decide` named some")),
            // A policy that names none in `decide` decides deterministically; there is nothing to compare then.
            (false, false) if other == *decision && differs => {
                return Err(format!("{of}: other probabilities for what was decided than `decide` named"));
            }
            (false, _) => check(&theirs)?,
        }
    }
    Ok(())
}
