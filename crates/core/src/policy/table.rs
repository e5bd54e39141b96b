//! Policies of a scenario as entries of a table, and rules as policies.

use super::{Policy, PolicyError, PolicyInfo, STUDENT, Sort, open_student};
use crate::{
    level::first_max,
    scenario::{Given, OneLevel, Said, Scenario},
    spec::{Args, Spec, SpecError},
};
use std::marker::PhantomData;

/// What a rule of given parameters is.
type Rule<S> = Result<Box<dyn Policy<S>>, SpecError>;

/// Opens the policy that a spec names.
pub type OpenPolicy<S> = fn(&Spec) -> Result<Box<dyn Policy<S>>, PolicyError>;

/// A policy of a scenario: what it is, and how it is opened.
pub struct PolicyDef<S: Scenario> {
    /// How it is shown.
    pub info: PolicyInfo,
    open: Open<S>,
}

enum Open<S: Scenario> {
    Rule(fn(&mut Args<'_>) -> Rule<S>),
    Other(OpenPolicy<S>),
}

impl<S: Scenario> PolicyDef<S> {
    /// A rule that somebody wrote: how it is written, which begins with its name, and what it does. It takes no file. [`Written::is`] says
    /// what it is with its parameters.
    #[must_use]
    pub const fn rule(usage: &'static str, meaning: &'static str) -> Written<S> {
        Written { info: PolicyInfo::new(Sort::Heuristic, usage, meaning), of: PhantomData }
    }

    /// A policy that reads its spec itself, as those of files do.
    #[must_use]
    pub const fn new(info: PolicyInfo, open: OpenPolicy<S>) -> Self {
        Self { info, open: Open::Other(open) }
    }

    /// The student, the same in every scenario; it comes last.
    #[must_use]
    pub const fn student() -> Self {
        Self::new(STUDENT, open_student)
    }
}

/// A rule of a table, of which it is still to be said what it is.
#[derive(Clone, Copy, Debug)]
pub struct Written<S> {
    info: PolicyInfo,
    of: PhantomData<S>,
}

impl<S: Scenario> Written<S> {
    /// What it is with these parameters.
    #[must_use]
    pub const fn is(self, open: fn(&mut Args<'_>) -> Rule<S>) -> PolicyDef<S> {
        PolicyDef { info: self.info, open: Open::Rule(open) }
    }
}

/// Opens the policy of a table that a spec names.
///
/// # Errors
///
/// An unknown name or parameter, or a file that cannot be used.
pub fn open<S: Scenario>(spec: &Spec, table: &[PolicyDef<S>]) -> Result<Box<dyn Policy<S>>, PolicyError> {
    match table.iter().find(|def| def.info.is(spec)).map(|def| &def.open) {
        Some(Open::Rule(rule)) => {
            spec.refuse_file()?;
            let mut args = spec.args();
            let policy = rule(&mut args)?;
            args.finish()?;
            Ok(policy)
        }
        Some(Open::Other(open)) => open(spec),
        None => {
            let names: Vec<&str> = table.iter().map(|def| def.info.name).collect();
            Err(spec.unknown_name("policy", "policies", &names).into())
        }
    }
}

/// A rule that needs the question alone as a policy.
pub fn stateless<S: Scenario>(
    decide: impl Fn(&S::View<'_>) -> S::Decision + Clone + Send + Sync + 'static,
) -> Box<dyn Policy<S>> {
    Box::new(Stateless(decide))
}

/// A rule that remembers what came before in an episode as a policy; each episode begins with `rule` as it is given.
pub fn of_episode<S: Scenario, R: Clone + Send + Sync + 'static>(
    rule: R,
    decide: fn(&mut R, &S::View<'_>) -> S::Decision,
) -> Box<dyn Policy<S>> {
    Box::new(OfEpisode::<S, R> { first: rule.clone(), now: rule, decide })
}

/// A rule of a scenario with one level as a policy: it takes the candidate whose score is least, the first of equals. With
/// `temperature=T`, in the unit of the score, it also says how probable each candidate is: the softmax of −score / T.
///
/// # Errors
///
/// A temperature outside 0.001 to 1000.
pub fn least<S: OneLevel>(args: &mut Args<'_>, score: Score<S>) -> Result<Box<dyn Policy<S>>, SpecError> {
    Ok(Box::new(Least { score, temperature: args.optional_number("temperature", 1e-3..=1e3)? }))
}

/// How much is to be said against a candidate.
pub type Score<S> = fn(&<S as Scenario>::View<'_>, &<S as OneLevel>::Item) -> f64;

struct Least<S: OneLevel> {
    score: Score<S>,
    temperature: Option<f64>,
}

impl<S: OneLevel> Policy<S> for Least<S> {
    fn fresh(&self) -> Box<dyn Policy<S>> {
        Box::new(Self { ..*self })
    }

    fn decide(&mut self, seen: &S::View<'_>, said: &mut Said) -> Result<S::Decision, PolicyError> {
        let scores = (0..S::items(seen)).map(|place| -(self.score)(seen, &S::candidate(*seen, place)));
        if let Some(temperature) = self.temperature {
            let scaled = scores.clone().map(|score| score / temperature);
            let all = Given::any(scaled.clone()).ln();
            said.joint.extend(scaled.map(|score| score - all));
        }
        Ok(S::decision(*seen, first_max(scores)))
    }

    fn forgets(&self) -> bool {
        true
    }
}

struct Stateless<F>(F);

impl<S: Scenario, F: Fn(&S::View<'_>) -> S::Decision + Clone + Send + Sync + 'static> Policy<S> for Stateless<F> {
    fn fresh(&self) -> Box<dyn Policy<S>> {
        Box::new(Self(self.0.clone()))
    }

    fn decide(&mut self, seen: &S::View<'_>, _: &mut Said) -> Result<S::Decision, PolicyError> {
        Ok((self.0)(seen))
    }

    fn forgets(&self) -> bool {
        true
    }
}

struct OfEpisode<S: Scenario, R> {
    first: R,
    now: R,
    decide: fn(&mut R, &S::View<'_>) -> S::Decision,
}

impl<S: Scenario, R: Clone + Send + Sync + 'static> Policy<S> for OfEpisode<S, R> {
    fn fresh(&self) -> Box<dyn Policy<S>> {
        of_episode(self.first.clone(), self.decide)
    }

    fn reset(&mut self, _: u64) {
        self.now.clone_from(&self.first);
    }

    fn decide(&mut self, seen: &S::View<'_>, _: &mut Said) -> Result<S::Decision, PolicyError> {
        Ok((self.decide)(&mut self.now, seen))
    }
}
