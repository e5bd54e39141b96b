//! Rollouts: the network schedules, or watches a teacher schedule, and what happens is kept.

use super::{
    experience::Experience,
    exploration::Explorer,
    params::{Dl2Params, Reward},
};
use crate::session::RolloutId;
use sched_distill_core::{
    policy::Policy,
    scenario::Said,
    simulation::{Outcome, Simulated, Simulation as _},
};
use sched_distill_trace::recorder::{EpisodeCause, EpisodeError};
use sched_distill_training::{
    Decision, Training, View, network::Dl2Policy, simulator::Simulator, workload::TrainingWorkload,
};

/// Who decides, and whose decisions are to be learned.
pub(super) enum Driver<'a> {
    /// The network, both; job-aware exploration overrules it in a share of the slots.
    Own { exploration: f64 },
    /// A teacher's decisions are to be learned. It is asked after the round of bundles and also schedules, or else the network
    /// does.
    Taught { teacher: &'a mut dyn Policy<Training>, schedules: bool },
    /// A trace is played again.
    Replayed { trace: &'a mut dyn Policy<Training> },
}

/// Plays an episode.
///
/// # Errors
///
/// A policy that cannot answer or answers something illegal.
pub(super) fn play(
    workload: &TrainingWorkload,
    network: &mut Dl2Policy,
    mut driver: Driver<'_>,
    id: RolloutId,
    params: &Dl2Params,
) -> Result<(Experience, Outcome), EpisodeError> {
    let mut sim = Training::start(workload, workload.jobs(id.episode), id.episode.seed);
    let (mut experience, mut meter) = (Experience::default(), Meter::default());
    let mut explorer = match driver {
        Driver::Own { exploration } if exploration > 0.0 => Some(Explorer::new(id.draws, exploration)),
        _ => None,
    };
    network.reset(id.draws);
    if let Driver::Taught { teacher, .. } | Driver::Replayed { trace: teacher } = &mut driver {
        teacher.reset(id.draws);
    }
    let mut asked = 0;
    let fail = |step: u64, cause: EpisodeCause| EpisodeError {
        episode: id.episode.episode,
        seed: id.episode.seed,
        step,
        source: Box::new(cause),
    };
    while let Some(seen) = sim.view() {
        let decision = decide(&seen, network, &mut driver, explorer.as_mut(), &mut experience);
        let decision = decision.map_err(|cause| fail(asked, cause))?;
        if decision == Decision::Close {
            meter.before(&seen, params.reward);
        }
        sim.step(decision).map_err(|e| fail(asked, EpisodeCause::illegal(e)))?;
        if decision == Decision::Close {
            experience.close(meter.after(&sim), params.discount);
        }
        asked += 1;
    }
    experience.settle(params.trace_decay);
    Ok((experience, sim.outcome().expect("no question is open, so the episode has ended")))
}

/// The decision to carry out; what is to be learned goes to `experience`.
fn decide(
    seen: &View<'_>,
    network: &mut Dl2Policy,
    driver: &mut Driver<'_>,
    explorer: Option<&mut Explorer>,
    experience: &mut Experience,
) -> Result<Decision, EpisodeCause> {
    let mut silent = Said::default();
    if matches!(driver, Driver::Replayed { .. }) {
        network.look(seen);
    } else if let Some(decision) = network.without_network(seen) {
        return Ok(decision);
    }
    let (lesson, schedules) = match driver {
        Driver::Replayed { trace } => (Some(trace.decide(seen, &mut silent)?), true),
        Driver::Taught { teacher, schedules } => (Some(teacher.decide(seen, &mut silent)?), *schedules),
        Driver::Own { .. } => (None, false),
    };
    if network.window().jobs().is_empty() {
        return Ok(lesson.unwrap_or(Decision::Close));
    }
    let mut chosen = network.act(seen)?;
    let own = network.legal_actions().0[chosen];
    match lesson {
        None => {
            if let Some(explorer) = explorer {
                chosen = explorer.overrule(seen, network, chosen);
            }
            experience.push(network, chosen);
            Ok(network.carried_out(seen, network.legal_actions().0[chosen]))
        }
        Some(lesson) => {
            // A job beyond the window has no action, and nothing is learned of it.
            let action = match lesson {
                Decision::Close => Some(3 * network.window().jobs().len()),
                Decision::Add { .. } => network.window().action(lesson),
            };
            let legal = network.legal_actions().0;
            let place = action.and_then(|action| legal.iter().position(|&a| a as usize == action));
            if let Some(place) = place {
                experience.push(network, place);
            }
            Ok(if schedules { lesson } else { network.carried_out(seen, own) })
        }
    }
}

/// Measures what a slot is worth.
#[derive(Default)]
struct Meter {
    /// Slot, and for each live job its number, epochs left, and what an epoch is worth.
    slot_ms: [f64; 2],
    jobs: Vec<(u32, f64, f64)>,
    time: bool,
}

impl Meter {
    fn before(&mut self, seen: &View<'_>, reward: Reward) {
        self.time = reward == Reward::Time;
        self.slot_ms = [seen.time_ms(), seen.cluster().slot_ms()];
        self.jobs.clear();
        for &id in seen.live_jobs() {
            let job = seen.job(id);
            let worth = 1.0 / if self.time { job.best_speed() } else { job.epochs() };
            self.jobs.push((id, job.remaining_epochs().max(0.0), worth));
        }
    }

    fn after(&self, sim: &Simulator) -> f64 {
        let seen = sim.view();
        let done: f64 = self
            .jobs
            .iter()
            .map(|&(id, left, worth)| {
                let live = seen.filter(|seen| seen.live_jobs().binary_search(&id).is_ok());
                worth * (left - live.map_or(0.0, |seen| seen.job(id).remaining_epochs().max(0.0)))
            })
            .sum();
        let [from, length] = self.slot_ms;
        if self.time { done - sim.job_time_ms(from, from + length) / length } else { done }
    }
}
