//! One policy decides, another one says what it would have done.

use sched_distill_core::{
    policy::{Policy, PolicyError},
    scenario::{Said, Scenario},
    simulation::Simulated,
};

/// Makes the probabilities that a labeller has just named with its own decision speak of the one that is carried out.
///
/// A labeller without probabilities counts as sure of its decision. Where a part of them is conditional on what was decided, it
/// is asked about what is carried out; if it says nothing about that, the part has no label.
pub fn speak_of<S: Scenario>(
    labeller: &mut dyn Policy<S>,
    seen: &S::View<'_>,
    (label, carried_out): (S::Decision, S::Decision),
    p: &mut Said,
) -> Result<(), PolicyError> {
    if p.is_silent() {
        p.be_sure::<S>(seen, label, carried_out);
    } else if carried_out != label {
        labeller.given(seen, carried_out, p)?;
    }
    Ok(())
}

/// A driver with a labeller beside it: the driver's decisions, the labeller's probabilities.
pub(super) struct Labelled<S: Simulated> {
    driver: Box<dyn Policy<S>>,
    labeller: Box<dyn Policy<S>>,
    own: Said,
}

impl<S: Simulated> Labelled<S> {
    pub(super) fn new(driver: Box<dyn Policy<S>>, labeller: Box<dyn Policy<S>>) -> Self {
        Self { driver, labeller, own: Said::default() }
    }

    /// The driver's decision and the labeller's, whose probabilities go to `p`.
    pub(super) fn decide_and_label(
        &mut self,
        seen: &S::View<'_>,
        p: &mut Said,
    ) -> Result<(S::Decision, S::Decision), PolicyError> {
        let label = self.labeller.decide(seen, p)?;
        self.own.clear();
        let decision = self.driver.decide(seen, &mut self.own)?;
        speak_of(&mut *self.labeller, seen, (label, decision), p)?;
        Ok((decision, label))
    }
}

impl<S: Simulated> Policy<S> for Labelled<S> {
    fn fresh(&self) -> Box<dyn Policy<S>> {
        Box::new(Self::new(self.driver.fresh(), self.labeller.fresh()))
    }

    fn reset(&mut self, episode_seed: u64) {
        self.driver.reset(episode_seed);
        self.labeller.reset(episode_seed);
    }

    fn decide(&mut self, seen: &S::View<'_>, p: &mut Said) -> Result<S::Decision, PolicyError> {
        self.decide_and_label(seen, p).map(|(decision, _)| decision)
    }
}
