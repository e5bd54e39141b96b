//! What the time between decisions costs.

use sched_distill_core::simulation::{Simulated, Simulation};

/// In what time and costs are counted, and how costs fade.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Clock {
    /// A unit of time, ms.
    pub unit_ms: f64,
    /// A unit of cost, in that of [`Simulation::cost`].
    pub cost: f64,
    /// Costs after so much time count `exp(-discount · time)`; 0 for all alike.
    pub discount: f64,
}

/// A moment at which something was decided, and what came of it until the next one.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Moment {
    /// When.
    pub time: f64,
    /// What the time until the next moment cost, discounted to this one.
    pub cost: f64,
    /// Time until the next moment, or until the end.
    pub until_next: f64,
    /// What is thought to come, for one reason or another, in any unit.
    pub estimate: f64,
}

/// For how long a stranded cluster is watched, in times over which costs fade, and in how many looks.
const WATCHED: f64 = 5.0;
const LOOKS: u32 = 50;

impl Moment {
    /// A moment of which nothing has come yet.
    #[must_use]
    pub fn at(time_ms: f64, clock: Clock) -> Self {
        Self { time: time_ms / clock.unit_ms, ..Self::default() }
    }

    /// Takes in what the time up to now has cost.
    pub fn pass<S: Simulated>(&mut self, sim: &S::Simulator, now_ms: f64, clock: Clock) {
        let from_ms = self.time * clock.unit_ms + self.until_next * clock.unit_ms;
        let elapsed = (now_ms - from_ms).max(0.0) / clock.unit_ms;
        if elapsed <= 0.0 {
            return;
        }
        // Costs come up between the two moments; they are taken to be spread evenly.
        let decay = clock.discount * elapsed;
        let spread = if decay > 1e-9 { -(-decay).exp_m1() / decay } else { 1.0 };
        let before = (-clock.discount * self.until_next).exp();
        self.cost += before * spread * sim.cost(from_ms, now_ms) / clock.cost;
        self.until_next += elapsed;
    }

    /// Takes in what the cluster costs for ever as it was left at the end: `end_ms` is the time of the last event. Without a
    /// discount that is what it costs once more for as long as the episode took.
    pub fn left<S: Simulated>(&mut self, sim: &S::Simulator, end_ms: f64, clock: Clock) {
        let kept = (-clock.discount * self.until_next).exp();
        let span = if clock.discount > 0.0 { WATCHED / clock.discount } else { end_ms / clock.unit_ms };
        let step = span / f64::from(LOOKS);
        for look in 0..LOOKS {
            let [from, to] = [look, look + 1].map(|n| f64::from(n) * step);
            let cost = sim.cost(end_ms + from * clock.unit_ms, end_ms + to * clock.unit_ms) / clock.cost;
            self.cost += kept * (-clock.discount * 0.5 * (from + to)).exp() * cost;
        }
    }
}
