//! `check-policy` finds the same twelve kinds of breach in every scenario, and says which.

use super::{Tested, network, network_training, open, python_of};
use sched_distill::{
    conformance::{Conformance, ConformanceRequest, check_policy},
    contract::{Inputs, Scores},
    dag::{self, Dag, StageRef},
    foreign::{ForeignError, ForeignPolicy, Network},
    policy::{Policy, PolicyError},
    scenario::Said,
    simulation::NamedWorkload,
    training::{self, Task, Training},
};
use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicU32, Ordering},
};

/// What a policy of a scenario may do wrong.
trait Breakable: Tested {
    /// A network that keeps the contract.
    fn network() -> Box<dyn Network>;
    /// One that scores otherwise.
    fn other_network() -> Box<dyn Network>;
    /// More than may be given, and how that is told.
    fn too_much(seen: &Self::View<'_>) -> Self::Decision;
    const TOO_MUCH: &'static [&'static str];
    /// Something for a job that never came.
    fn for_nobody() -> Self::Decision;
    const FOR_NOBODY: &'static [&'static str];
    /// Makes probabilities that `given` must not name of those that `decide` named.
    fn garble(p: &mut Said);
    const GARBLED: &'static [&'static str];
    /// A score too few.
    const SHAPE: &'static [&'static str];
}

impl Breakable for Dag {
    fn network() -> Box<dyn Network> {
        Box::new(network::Small(network::Weights::new()))
    }

    fn other_network() -> Box<dyn Network> {
        let mut weights = network::Weights::new();
        weights.stage[0] += 0.5;
        Box::new(network::Small(weights))
    }

    fn too_much(seen: &dag::View<'_>) -> dag::Decision {
        dag::Decision::Assign { stage: seen.schedulable()[0], executors: seen.committable() + 1 }
    }

    const TOO_MUCH: &'static [&'static str] = &["executors for stage", "allowed are 1..="];

    fn for_nobody() -> dag::Decision {
        dag::Decision::Assign { stage: StageRef { job: 10_000, stage: 0 }, executors: 1 }
    }

    const FOR_NOBODY: &'static [&'static str] = &["stage 0 of job 10000 is not schedulable", "schedulable are stage"];

    fn garble(p: &mut Said) {
        p.given.clear();
    }

    const GARBLED: &'static [&'static str] = &["executors: 1 }: amount", "no probabilities, but `decide` named some"];
    const SHAPE: &'static [&'static str] = &["stage_scores of shape (", "one per node"];
}

impl Breakable for Training {
    fn network() -> Box<dyn Network> {
        Box::new(network_training::Small(network_training::Weights::new()))
    }

    fn other_network() -> Box<dyn Network> {
        let mut weights = network_training::Weights::new();
        weights.task.reverse();
        Box::new(network_training::Small(weights))
    }

    fn too_much(seen: &training::View<'_>) -> training::Decision {
        let (job, nodes) = (seen.live_jobs()[0], seen.cluster().nodes);
        training::Decision::Add { job, task: Task::Worker, node: Some(nodes) }
    }

    const TOO_MUCH: &'static [&'static str] = &["a worker for job 0 on node 4", "there are nodes 0..4"];

    fn for_nobody() -> training::Decision {
        training::Decision::Add { job: 10_000, task: Task::Both, node: None }
    }

    const FOR_NOBODY: &'static [&'static str] = &["job 10000 is not live", "live are 0"];

    fn garble(p: &mut Said) {
        p.joint.rotate_left(1);
    }

    const GARBLED: &'static [&'static str] =
        &["action: other probabilities than `decide` named", "they depend on no decision"];
    const SHAPE: &'static [&'static str] = &["task_scores of shape (", "a row per job"];
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    None,
    Fails,
    TooMuch,
    ForNobody,
    OneProbabilityLess,
    NotANumber,
    TooProbable,
    GivenDisagrees,
    CopiesDiffer,
    Remembers,
}

/// A policy that keeps the contract but for one fault, from the third decision of an episode on.
struct Faulty<S: Breakable> {
    inner: Box<dyn Policy<S>>,
    fault: Fault,
    copies: Arc<AtomicU32>,
    copy: u32,
    resets: u32,
    asked: u32,
}

impl<S: Breakable> Faulty<S> {
    fn new(fault: Fault) -> Self {
        let inner = Box::new(ForeignPolicy::<S>::new(S::network(), false));
        Self { inner, fault, copies: Arc::default(), copy: 0, resets: 0, asked: 0 }
    }
}

impl<S: Breakable> Policy<S> for Faulty<S> {
    fn fresh(&self) -> Box<dyn Policy<S>> {
        let (copies, copy) = (Arc::clone(&self.copies), self.copies.fetch_add(1, Ordering::Relaxed));
        Box::new(Self { inner: self.inner.fresh(), fault: self.fault, copies, copy, resets: 0, asked: 0 })
    }

    fn reset(&mut self, seed: u64) {
        self.inner.reset(seed);
        (self.resets, self.asked) = (self.resets + 1, 0);
    }

    fn decide(&mut self, seen: &S::View<'_>, p: &mut Said) -> Result<S::Decision, PolicyError> {
        let decision = self.inner.decide(seen, p)?;
        self.asked += 1;
        if self.asked < 3 {
            return Ok(decision);
        }
        let list = &mut p.joint;
        match self.fault {
            Fault::Fails => return Err(PolicyError::Other("the weights are gone".into())),
            Fault::TooMuch => return Ok(S::too_much(seen)),
            Fault::ForNobody => return Ok(S::for_nobody()),
            Fault::OneProbabilityLess => drop(list.pop()),
            Fault::NotANumber => list[0] = f64::NAN,
            Fault::TooProbable => list.iter_mut().for_each(|p| *p += 1.0),
            Fault::CopiesDiffer if self.copy % 2 == 1 => list.rotate_left(1),
            Fault::Remembers if self.resets > 1 => list.rotate_left(1),
            _ => {}
        }
        Ok(decision)
    }

    fn given(&mut self, seen: &S::View<'_>, decision: S::Decision, p: &mut Said) -> Result<(), PolicyError> {
        self.inner.given(seen, decision, p)?;
        if self.fault == Fault::GivenDisagrees {
            S::garble(p);
        }
        Ok(())
    }
}

/// A network that forgets a score.
struct OneScoreLess(Box<dyn Network>);

impl Network for OneScoreLess {
    fn name(&self) -> String {
        self.0.name()
    }

    fn fresh(&self) -> Box<dyn Network> {
        Box::new(Self(self.0.fresh()))
    }

    fn scores(&mut self, inputs: &Inputs, out: &mut Scores) -> Result<(), ForeignError> {
        self.0.scores(inputs, out)?;
        out.outputs_mut()[0].shape[0] -= 1;
        Ok(())
    }
}

fn check<S: Breakable>(policy: &dyn Policy<S>, against: Option<&dyn Policy<S>>) -> Conformance {
    let workload = S::open_workload(&S::WORKLOAD.parse().unwrap()).unwrap();
    let workloads = [NamedWorkload { name: "small".to_owned(), workload }];
    let request = ConformanceRequest { policy, against, workloads: &workloads, seed: 1, episodes: 1, decisions: 40 };
    check_policy(&request, &AtomicBool::new(false), |_| ()).unwrap()
}

const ANSWERS: &str = "every question is answered";
const LEGAL: &str = "decisions are legal";
const PROBABILITIES: &str = "a probability per candidate, all finite, summing to 1";

/// Kind of a breach, what it is, who commits it, the check that fails, and what it says.
type Breach<S> = (u32, &'static str, Box<dyn Policy<S>>, &'static str, &'static [&'static str]);

fn finds_twelve_kinds<S: Breakable>() {
    let faulty = |fault| Box::new(Faulty::<S>::new(fault)) as Box<dyn Policy<S>>;
    // Silence is a matter of time; all else is told when it happens, however late.
    let script = |fault: &str| {
        let seconds = if fault == "silent" { 1 } else { 600 };
        open::<S>(&format!("{},timeout={seconds}", python_of::<S>(fault))).unwrap()
    };
    let breaches: Vec<Breach<S>> = vec![
        (1, "it fails", faulty(Fault::Fails), ANSWERS, &["small, episode 0, decision 2: the weights are gone"]),
        (2, "it gives too much", faulty(Fault::TooMuch), LEGAL, S::TOO_MUCH),
        (3, "it gives to a job that is not there", faulty(Fault::ForNobody), LEGAL, S::FOR_NOBODY),
        (
            4,
            "a probability is missing",
            faulty(Fault::OneProbabilityLess),
            PROBABILITIES,
            &[" probabilities for ", " candidates"],
        ),
        (5, "a probability is no number", faulty(Fault::NotANumber), PROBABILITIES, &["log-probability at 0 is NaN"]),
        (6, "probabilities are too large", faulty(Fault::TooProbable), PROBABILITIES, &["probabilities sum to 2.7"]),
        (
            7,
            "`given` disagrees with `decide`",
            faulty(Fault::GivenDisagrees),
            "`given` agrees with `decide`, whatever was decided",
            S::GARBLED,
        ),
        (
            8,
            "copies differ",
            faulty(Fault::CopiesDiffer),
            "a second copy decides the same",
            &["the same decision with other probabilities"],
        ),
        (
            9,
            "it remembers other episodes",
            faulty(Fault::Remembers),
            "a copy decides the same again after `reset`",
            &["the same decision with other probabilities"],
        ),
        (
            9,
            "a process remembers other episodes",
            script("remembers"),
            "a copy decides the same again after `reset`",
            &["the same decision with other probabilities"],
        ),
        (
            11,
            "a score is missing",
            Box::new(ForeignPolicy::<S>::new(Box::new(OneScoreLess(S::network())), false)),
            ANSWERS,
            S::SHAPE,
        ),
        (12, "the process dies", script("crash"), ANSWERS, &["ended (exit status: 1)", "ValueError: no such layer"]),
        (12, "the process is late", script("silent"), ANSWERS, &["no answer within 1 s", "timeout=SECONDS"]),
        (
            12,
            "the process says something else",
            script("malformed"),
            ANSWERS,
            &["answered `step 3 done`", "standard output is for answers only"],
        ),
    ];
    let mut kinds: Vec<u32> = breaches.iter().map(|breach| breach.0).collect();
    for (_, what, policy, rule, words) in &breaches {
        let found = check(&**policy, None);
        let failed = found.checks.iter().find(|check| check.name == *rule).unwrap();
        let first = failed.first.clone().unwrap_or_default();
        assert!(failed.failed > 0 && !found.passed(), "{}: {what}: {found:?}", S::INFO.name);
        assert!(words.iter().all(|word| first.contains(word)), "{}: {what}: {first}", S::INFO.name);
    }
    // 10: another policy decides otherwise.
    let sound = Faulty::<S>::new(Fault::None);
    let found = check(&ForeignPolicy::<S>::new(S::other_network(), false), Some(&sound));
    let concordance = found.concordance.as_ref().unwrap();
    let first = concordance.first.clone().unwrap_or_default();
    assert!(found.passed() && !concordance.holds(1e-5) && concordance.differing > 0, "{found:?}");
    assert!(first.contains("most probable") && first.contains("for the other"), "{first}");
    kinds.push(10);
    kinds.sort_unstable();
    kinds.dedup();
    assert_eq!(kinds, Vec::from_iter(1..=12));

    let found = check(&sound, Some(&Faulty::<S>::new(Fault::None)));
    assert!(found.passed() && found.concordance.as_ref().unwrap().holds(0.0), "{}: {found:?}", S::INFO.name);
    assert!(found.checks.iter().all(|check| check.tested > 0), "{}: {found:?}", S::INFO.name);
}

#[test]
#[cfg_attr(not(python), ignore = "needs python3")]
fn twelve_kinds_of_breach_are_found_in_every_scenario() {
    finds_twelve_kinds::<Dag>();
    finds_twelve_kinds::<Training>();
}
