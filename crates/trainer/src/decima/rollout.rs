//! Rollouts: the network schedules, or watches a teacher schedule, and what happens is kept.

use super::experience::{Experience, Step};
use crate::{Returns, session::RolloutId};
use sched_distill_core::{
    policy::Policy,
    scenario::{Said, State as _},
    simulation::{Editable as _, Outcome, Simulation as _},
};
use sched_distill_dag::{
    ClusterState, Dag, Decision, StageRef, View,
    edit::JobEdit,
    network::DecimaPolicy,
    simulator::Simulator,
    workload::{DagWorkload, JobArrival},
};
use sched_distill_judge::practice::{Clock, Moment};
use sched_distill_trace::recorder::{EpisodeCause, EpisodeError};

/// One rollout.
#[derive(Debug)]
pub(super) struct Rollout {
    pub(super) experience: Experience,
    pub(super) outcome: Outcome,
}

/// Who decides, and whose decisions are to be learned.
pub(super) enum Driver<'a> {
    /// The network, both.
    Own,
    /// The teacher's decisions are to be learned, and it schedules.
    Teacher { teacher: &'a mut dyn Policy<Dag>, shown: Shown },
    /// The teacher's decisions are to be learned, but the network schedules.
    Watched { teacher: &'a mut dyn Policy<Dag> },
}

/// How questions are shown to the network from which it learns what a teacher decides.
#[derive(Default)]
pub(super) struct Shown {
    /// By job how its user describes it, if not as it is; empty if nobody does.
    pub(super) edits: Vec<Option<JobEdit>>,
}

impl Shown {
    /// A question as its users describe their jobs, and what a decision on it then is. `None` where it stays as it is.
    fn question(&self, seen: &View<'_>, lesson: Decision) -> Option<(ClusterState, Decision)> {
        let Decision::Assign { mut stage, executors } = lesson else { return None };
        let mut shown: Option<ClusterState> = None;
        for &job in seen.active_jobs() {
            let Some(edit) = self.edits.get(job as usize).and_then(Option::as_ref) else { continue };
            let before = shown.take().unwrap_or_else(|| ClusterState::of(seen));
            // A dependency that a stage has outrun already is not shown.
            let then = Dag::edited_state(&before, job, std::slice::from_ref(edit)).ok().and_then(|state| {
                let view = state.view()?;
                let mut parts = edit.parts_of(stage.stage).map(|stage| StageRef { job, stage });
                let is_open = |stage: &StageRef| view.schedulable().binary_search(stage).is_ok();
                let stage = if stage.job == job { parts.find(is_open)? } else { stage };
                Some((state, stage))
            });
            (shown, stage) = then.map_or((Some(before), stage), |(state, stage)| (Some(state), stage));
        }
        Some((shown?, Decision::Assign { stage, executors }))
    }
}

/// Plays an episode with its jobs as they are described.
///
/// # Errors
///
/// A policy that cannot answer or answers something illegal.
pub(super) fn play(
    (workload, jobs): (&DagWorkload, Vec<JobArrival>),
    network: &mut DecimaPolicy,
    mut driver: Driver<'_>,
    id: RolloutId,
    returns: Returns,
) -> Result<Rollout, EpisodeError> {
    let mut sim = Simulator::new(*workload.cluster(), jobs, id.episode.seed);
    network.reset(id.draws);
    if let Driver::Teacher { teacher, .. } | Driver::Watched { teacher } = &mut driver {
        teacher.reset(id.draws);
    }
    let (discount, _) = returns.rates();
    let clock = Clock { unit_ms: 1e3, cost: 1e3, discount };
    let mut experience = Experience::new(workload.cluster().num_executors);
    let (mut own, mut taught, mut work) = (Said::default(), Said::default(), Vec::new());
    let mut asked = 0;
    let fail = |step: u64, cause: EpisodeCause| EpisodeError {
        episode: id.episode.episode,
        seed: id.episode.seed,
        step,
        source: Box::new(cause),
    };
    while let Some(seen) = sim.view() {
        settle(&mut experience, &sim, seen.time_ms(), clock);
        own.clear();
        let refused = |e| fail(asked, EpisodeCause::illegal(e));
        let mut decide = |seen: &View<'_>, own: &mut Said| network.decide(seen, own).map_err(|e| fail(asked, e.into()));
        taught.clear();
        let shown;
        let (question, lesson, executed) = match &mut driver {
            Driver::Own => {
                let decision = decide(&seen, &mut own)?;
                (seen, decision, decision)
            }
            Driver::Watched { teacher } => {
                let decision = decide(&seen, &mut own)?;
                let lesson = teacher.decide(&seen, &mut taught).map_err(|e| fail(asked, e.into()))?;
                sim.check(lesson).map_err(refused)?;
                (seen, lesson, decision)
            }
            Driver::Teacher { teacher, shown: how } => {
                let lesson = teacher.decide(&seen, &mut taught).map_err(|e| fail(asked, e.into()))?;
                shown = how.question(&seen, lesson);
                let edited = shown.as_ref().and_then(|(state, decision)| Some((state.view()?, *decision)));
                let (question, as_shown) = edited.unwrap_or((seen, lesson));
                decide(&question, &mut own)?;
                (question, as_shown, lesson)
            }
        };
        if let Some(mut step) = step(&question, lesson) {
            if let Driver::Own = driver {
                let amount = own.given.get(step.amount as usize).copied().unwrap_or(0.0);
                step.log_prob = (own.joint[step.stage as usize] + amount) as f32;
            }
            step.moment.estimate = backlog(&seen, discount, &mut work);
            experience.push(network.seen(), step);
        }
        sim.step(executed).map_err(refused)?;
        asked += 1;
    }
    let outcome = sim.outcome().expect("no question is open, so the episode has ended");
    settle(&mut experience, &sim, outcome.final_time_ms, clock);
    if let Some(last) = experience.steps.last_mut() {
        // A job that is never done waits for ever, which costs 1/discount; without a discount, once more the whole episode.
        let forever = if discount > 0.0 { 1.0 / discount } else { outcome.final_time_ms / 1e3 };
        last.moment.cost += outcome.unfinished() as f64 * forever;
    }
    Ok(Rollout { experience, outcome })
}

/// A decision as an entry of the network's lists; nothing to learn where a teacher abstains, which the network cannot.
fn step(seen: &View<'_>, lesson: Decision) -> Option<Step> {
    let Decision::Assign { stage, executors } = lesson else { return None };
    let place = seen.schedulable().binary_search(&stage).ok()?;
    let amounts = seen.room(stage.job);
    Some(Step {
        moment: Moment { time: seen.time_ms() / 1e3, ..Moment::default() },
        stage: place as u32,
        amount: executors.min(amounts).saturating_sub(1),
        amounts,
        log_prob: 0.0,
    })
}

/// Writes down what the time since the last decision has cost.
fn settle(experience: &mut Experience, sim: &Simulator, now_ms: f64, clock: Clock) {
    if let Some(last) = experience.steps.last_mut() {
        last.moment.pass::<Dag>(sim, now_ms, clock);
    }
}

/// Job-time that the work at hand takes, s: one job after the other, the least work first, on all executors.
fn backlog(seen: &View<'_>, discount: f64, work: &mut Vec<f64>) -> f64 {
    work.clear();
    let of_job = |&job: &u32| seen.job(job).active_stages().map(|s| s.work_ms()).sum::<f64>();
    work.extend(seen.active_jobs().iter().map(of_job));
    work.sort_unstable_by(f64::total_cmp);
    let per_second = 1e3 * f64::from(seen.num_executors());
    let (mut end, mut total) = (0.0, 0.0);
    for work in work {
        end += *work / per_second;
        total += if discount > 0.0 { -(-discount * end).exp_m1() / discount } else { end };
    }
    total
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decima;
    use sched_distill_core::{
        policy::PolicyError,
        rng::{EpisodeId, Split, Stream},
        simulation::EditBudget,
    };

    fn network() -> Result<DecimaPolicy, Box<dyn std::error::Error>> {
        Ok(DecimaPolicy::new(decima::network(&decima::random(1))?, true))
    }

    /// Without a discount the costs of an episode add up to what the jobs waited.
    #[test]
    fn costs_add_up_to_the_completion_times() -> Result<(), Box<dyn std::error::Error>> {
        let workload = sched_distill_dag::workload::open(&"builtin,jobs=6,executors=4".parse()?)?;
        let id = RolloutId { episode: EpisodeId::new(1, Split::Train, 0), draws: 5 };
        let returns = Returns::Discounted { rate: 0.0, trace: 0.0 };
        let rollout = play((&workload, workload.jobs(id.episode)), &mut network()?, Driver::Own, id, returns)?;
        let total: f64 = rollout.experience.steps.iter().map(|s| s.moment.cost).sum();
        let waited = rollout.outcome.objective().expect("completed") * 6.0 / 1e3;
        assert!((total - waited).abs() < 1e-6 * waited, "{total} s of costs, {waited} s of waiting");
        // Time is whole as well, and discounted costs are less.
        let first = rollout.experience.steps[0].moment.time;
        let span: f64 = rollout.experience.steps.iter().map(|s| s.moment.until_next).sum();
        assert!((first + span - rollout.outcome.final_time_ms / 1e3).abs() < 1e-6);
        let discounted = play(
            (&workload, workload.jobs(id.episode)),
            &mut network()?,
            Driver::Own,
            id,
            Returns::Discounted { rate: 0.01, trace: 0.0 },
        )?;
        let pairs = discounted.experience.steps.iter().zip(&rollout.experience.steps);
        assert!(
            pairs.clone().all(|(a, b)| a.moment.cost <= b.moment.cost)
                && pairs.clone().any(|(a, b)| a.moment.cost < b.moment.cost)
        );
        Ok(())
    }

    /// A job that is stranded costs more than any that is done.
    #[test]
    fn a_stranded_cluster_is_dear() -> Result<(), Box<dyn std::error::Error>> {
        struct Idle;
        impl Policy<Dag> for Idle {
            fn fresh(&self) -> Box<dyn Policy<Dag>> {
                Box::new(Idle)
            }
            fn decide(&mut self, seen: &View<'_>, _: &mut Said) -> Result<Decision, PolicyError> {
                // One executor for the first job, and never again.
                Ok(match seen.time_ms() {
                    0.0 => Decision::Assign { stage: seen.schedulable()[0], executors: 1 },
                    _ => Decision::Abstain,
                })
            }
        }
        let workload = sched_distill_dag::workload::open(&"builtin,jobs=5,executors=4".parse()?)?;
        let id = RolloutId { episode: EpisodeId::new(1, Split::Train, 0), draws: 5 };
        let returns = Returns::Discounted { rate: 0.01, trace: 0.0 };
        let mut idle = Idle;
        let driver = Driver::Teacher { teacher: &mut idle, shown: Shown::default() };
        let stranded = play((&workload, workload.jobs(id.episode)), &mut network()?, driver, id, returns)?;
        assert!(stranded.outcome.stalled());
        let last = stranded.experience.steps.last().expect("a first decision").moment.cost;
        assert!(last >= 100.0 * stranded.outcome.unfinished() as f64, "{last}");
        Ok(())
    }

    /// What a teacher decides is learned; where it abstains there is nothing to learn.
    #[test]
    fn lessons_are_the_teachers() -> Result<(), Box<dyn std::error::Error>> {
        let workload = sched_distill_dag::workload::open(&"builtin,jobs=8,executors=4".parse()?)?;
        let id = RolloutId { episode: EpisodeId::new(1, Split::Train, 0), draws: 5 };
        let returns = Returns::Discounted { rate: 0.001, trace: 0.0 };
        for schedules in [true, false] {
            let mut teacher = sched_distill_dag::policies::open(&"fair".parse()?)?;
            let driver = match schedules {
                true => Driver::Teacher { teacher: &mut *teacher, shown: Shown::default() },
                false => Driver::Watched { teacher: &mut *teacher },
            };
            let rollout = play((&workload, workload.jobs(id.episode)), &mut network()?, driver, id, returns)?;
            let steps = &rollout.experience.steps;
            assert!(!steps.is_empty() && (steps.len() as u64) < rollout.outcome.decisions);
            assert!(steps.iter().all(|s| s.amount < s.amounts && s.log_prob == 0.0));
        }
        Ok(())
    }

    /// A question is shown with a job edited, and the teacher's decision is the same stage, or its first part that is open.
    #[test]
    fn what_is_shown_edited_is_decided_alike() -> Result<(), Box<dyn std::error::Error>> {
        let workload = sched_distill_dag::workload::open(&"builtin,jobs=8,executors=4".parse()?)?;
        let jobs = workload.jobs(7);
        let budget = EditBudget { sorts: ["split", "edge"].map(str::to_owned).into(), ..EditBudget::default() };
        let mut stream = Stream::new(1, "edits");
        let mut edit = |job: u32| {
            let mut edits = Dag::edits(&jobs, job, &budget);
            (!edits.is_empty()).then(|| edits.swap_remove(stream.below(edits.len())))
        };
        let shown = Shown { edits: (0..8).map(&mut edit).collect() };
        let mut teacher = sched_distill_dag::policies::open(&"sjf-cp".parse()?)?;
        let mut sim = Simulator::new(*workload.cluster(), jobs.clone(), 7);
        let (mut alike, mut moved) = (0, 0);
        while let Some(seen) = sim.view() {
            let lesson = teacher.decide(&seen, &mut Said::default())?;
            if let (Some((state, then)), Decision::Assign { stage, executors }) =
                (shown.question(&seen, lesson), lesson)
            {
                let Decision::Assign { stage: stage_then, executors: executors_then } = then else {
                    return Err("it still gives something".into());
                };
                assert_eq!((stage.job, executors), (stage_then.job, executors_then));
                let seen = state.view().ok_or("it is still a question")?;
                assert!(seen.schedulable().contains(&stage_then));
                (alike, moved) = (alike + 1, moved + u32::from(stage_then != stage));
            }
            sim.step(lesson)?;
        }
        assert!(alike > 20 && moved > 0 && moved < alike, "{alike} {moved}");
        Ok(())
    }
}
