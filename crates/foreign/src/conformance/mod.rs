//! Whether a policy keeps the contract of [`Policy`], and whether it decides as another one.

mod battery;
mod concordance;

pub use battery::{Named, battery};
pub use concordance::Concordance;

use concordance::Side;
use sched_distill_core::{
    policy::{Policy, PolicyError},
    rng::{Split, episode_seed},
};
use sched_distill_dag::{Dag, Decision, Probabilities, StageRef, View, simulator::Simulator};
use sched_distill_toolkit::recorder::ChoiceLog;
use serde::Serialize;
use std::{
    fmt::Display,
    sync::atomic::{AtomicBool, Ordering},
    time::Instant,
};

/// By how much probabilities may miss a sum of 1, for those that come in 32 bits.
const SUM: f64 = 1e-3;
/// How far apart log-probabilities of one and the same policy may be.
const REPEAT: f64 = 1e-6;
/// How many stages of a question are asked for amounts.
const ASKED_STAGES: usize = 16;

/// What to check.
pub struct ConformanceRequest<'a> {
    /// The policy.
    pub policy: &'a dyn Policy<Dag>,
    /// Another one that is asked the same questions.
    pub against: Option<&'a dyn Policy<Dag>>,
    /// Workloads with their names, see [`battery`].
    pub workloads: &'a [Named],
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
    Stages,
    Amounts,
    AnyStage,
    Levels,
    Repeats,
    Forgets,
    OtherAnswers,
}

const RULES: [&str; 8] = [
    "every question is answered",
    "decisions are legal",
    "a probability per stage, all finite, summing to 1",
    "probabilities of amounts, all finite, summing to 1",
    "`given` names amounts for every stage and agrees with `decide`",
    "probabilities of every level, as a recording has them, sum to 1",
    "a second copy decides the same",
    "a copy decides the same again after `reset`",
];

/// A check in progress.
struct Checker<'a> {
    request: &'a ConformanceRequest<'a>,
    checks: Vec<Check>,
    /// Where we are.
    place: (&'a str, u32, u32),
    times_ms: Vec<f64>,
    concordance: Option<Concordance>,
}

/// Runs the policy over the workloads and looks at every decision; `None` if `stop` was raised.
#[must_use]
pub fn check_policy(
    request: &ConformanceRequest<'_>,
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
    for workload in request.workloads {
        progress(&workload.name);
        for episode in 0..request.episodes {
            checker.place = (&workload.name, episode, 0);
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

/// An answer as it is kept for later comparison.
type Answer = (Decision, Probabilities);

/// What a policy says of amounts for a stage of the question that it has just answered.
pub(super) fn amounts(policy: &mut dyn Policy<Dag>, seen: &View<'_>, stage: StageRef) -> Result<Vec<f64>, PolicyError> {
    let mut p = Probabilities::default();
    policy.given(seen, Decision::Assign { stage, executors: 1 }, &mut p)?;
    Ok(p.amount)
}

impl Checker<'_> {
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
    fn episode(&mut self, workload: &Named, stop: &AtomicBool) -> bool {
        let seed = episode_seed(self.request.seed, Split::Test, u64::from(self.place.1));
        let simulator = || Simulator::new(workload.workload.cluster(), workload.workload.jobs(seed), seed);
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
            let repeated = ask(&mut *second, &seen).and_then(|again| same(&answer, &again));
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
            let found = ask(&mut *policy, &seen).and_then(|again| same(answer, &again));
            if !self.test(Rule::Forgets, found) || sim.step(answer.0).is_err() {
                break;
            }
        }
        stalled
    }

    /// Asks the policy with the clock running.
    fn ask(&mut self, policy: &mut dyn Policy<Dag>, seen: &View<'_>) -> Option<Answer> {
        let start = Instant::now();
        let answer = ask(policy, seen);
        self.times_ms.push(start.elapsed().as_secs_f64() * 1e3);
        self.test(Rule::Answers, answer.as_ref().map(|_| ()));
        answer.ok()
    }

    fn may_abstain(&self, decision: Decision) -> Result<(), String> {
        match decision {
            Decision::Abstain if !self.request.policy.abstains() => {
                Err("it gave nothing, but `abstains` says that it never does".to_owned())
            }
            _ => Ok(()),
        }
    }

    fn check_probabilities(&mut self, policy: &mut dyn Policy<Dag>, seen: &View<'_>, answer: &Answer) {
        let (decision, p) = answer;
        // A deterministic policy names none.
        if !p.stage.is_empty() {
            let stages = seen.schedulable().len();
            let found = match p.stage.len() == stages {
                true => distribution(&p.stage),
                false => Err(format!("{} probabilities for {stages} stages", p.stage.len())),
            };
            if self.test(Rule::Stages, found) {
                self.check_levels(seen, answer);
            }
        }
        let Decision::Assign { stage, executors } = *decision else { return };
        if !p.amount.is_empty() {
            let found = match (p.amount.len() as u32, seen.committable()) {
                (given, offered) if given > offered => {
                    Err(format!("{given} amounts, but {offered} executors on offer"))
                }
                (given, _) if given < executors => Err(format!("{executors} executors, but only {given} amounts")),
                _ => distribution(&p.amount),
            };
            self.test(Rule::Amounts, found);
        }
        for &other in seen.schedulable().iter().take(ASKED_STAGES).chain([&stage]) {
            let asked = amounts(policy, seen, other).map_err(|e| chain(&e));
            let found = asked.and_then(|amounts| match (amounts.is_empty(), p.amount.is_empty()) {
                (true, true) => Ok(()),
                (true, false) => Err("no amounts, but `decide` named some".to_owned()),
                // A policy that names no amounts in `decide` decides deterministically; there is nothing to compare then.
                (false, _) if other == stage && !p.amount.is_empty() && apart(&amounts, &p.amount) > REPEAT => {
                    Err("other amounts for the chosen stage than `decide` named".to_owned())
                }
                (false, _) => distribution(&amounts),
            });
            self.test(Rule::AnyStage, found.map_err(|found| format!("{other}: {found}")));
        }
    }

    /// What a recording would write of the answer: a choice per level, and one of stages for every job.
    fn check_levels(&mut self, seen: &View<'_>, (decision, p): &Answer) {
        let mut log = ChoiceLog::<Dag>::new(self.request.policy.abstains());
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
        (policy, other): (&mut dyn Policy<Dag>, &mut dyn Policy<Dag>),
        seen: &View<'_>,
        answer: &Answer,
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

fn ask(policy: &mut dyn Policy<Dag>, seen: &View<'_>) -> Result<Answer, String> {
    let mut p = Probabilities::default();
    policy.decide(seen, &mut p).map(|decision| (decision, p)).map_err(|e| chain(&e))
}

/// An error with its causes.
fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        if !text.contains(&cause.to_string()) {
            text += &format!(": {cause}");
        }
        next = cause.source();
    }
    text
}

/// Whether these are the log-probabilities of a distribution.
fn distribution(log_prob: &[f64]) -> Result<(), String> {
    if let Some(at) = log_prob.iter().position(|p| p.is_nan() || *p == f64::INFINITY) {
        return Err(format!("the log-probability at {at} is {}", log_prob[at]));
    }
    let sum: f64 = log_prob.iter().map(|p| p.exp()).sum();
    match (sum - 1.0).abs() <= SUM {
        true => Ok(()),
        false => Err(format!("probabilities sum to {sum}")),
    }
}

/// Whether two answers of one policy to one question are the same.
fn same(a: &Answer, b: &Answer) -> Result<(), String> {
    match a.0 == b.0 {
        false => Err(format!("{:?}, then {:?}", a.0, b.0)),
        true if apart(&a.1.stage, &b.1.stage).max(apart(&a.1.amount, &b.1.amount)) > REPEAT => {
            Err("the same decision with other probabilities".to_owned())
        }
        true => Ok(()),
    }
}

/// The largest difference; infinite between lists of different lengths.
pub(super) fn apart(a: &[f64], b: &[f64]) -> f64 {
    if a.len() != b.len() {
        return f64::INFINITY;
    }
    // Equal infinities are not apart.
    a.iter().zip(b).map(|(a, b)| if a == b { 0.0 } else { (a - b).abs() }).fold(0.0, f64::max)
}
