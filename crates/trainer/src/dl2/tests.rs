//! The networks in libtorch against those in plain Rust, their gradient against differences, and whole trainings.

use super::{
    batch::{Batch, Place},
    network::{Inputs, Network},
    update::objective,
    *,
};
use crate::{
    Checkpoint,
    tests::{self, Outcome},
    update::{Goal, Sums},
};
use sched_distill_core::rng::{EpisodeId, Split, Stream, hash};
use sched_distill_training::network::Dl2Form;
use tch::Kind;

const SHAPE: Dl2Shape = Dl2Shape { form: Dl2Form::Pooled { types: 8 }, window: 20, hidden: 16 };
const FLAT: Dl2Shape = Dl2Shape { form: Dl2Form::Flat, window: 9, hidden: 32 };
const SMALL: &str = "builtin,nodes=6,jobs=12,max=4";

/// Weights with biases and large scores, so that every number matters.
fn weights_of(shape: Dl2Shape, seed: u64) -> Weights {
    let mut weights = random(shape, seed);
    let mut stream = Stream::new(seed, "biases");
    weights.data.iter_mut().for_each(|w| *w += (0.2 * stream.normal()) as f32);
    weights
}

fn weights(seed: u64) -> Weights {
    weights_of(SHAPE, seed)
}

/// The second episode of a seed.
fn id() -> RolloutId {
    RolloutId { episode: EpisodeId::new(3, Split::Train, 1), draws: hash(&[3, 1, 0]) }
}

fn reinforce(entropy: f64) -> Goal {
    Goal::Reinforce { algorithm: Algorithm::Ppo, clip: 0.2, entropy }
}

fn open(spec: &str) -> Result<TrainingWorkload, Box<dyn std::error::Error>> {
    Ok(TrainingWorkload::open(&spec.parse()?)?)
}

fn policy(weights: &Weights) -> Result<Dl2Policy, NeuralError> {
    Ok(Dl2Policy::new(Arc::new(Dl2Weights::from_tensors(&weights.to_tensors(), "test")?), true))
}

fn rollout(
    weights: &Weights,
    params: &Dl2Params,
    exploration: f64,
) -> Result<(Experience, sched_distill_core::simulation::Outcome), Box<dyn std::error::Error>> {
    Ok(play(&open(SMALL)?, &mut policy(weights)?, Driver::Own { exploration }, id(), params)?)
}

fn batch(shape: Dl2Shape, memory: &[Experience], every: usize) -> Batch {
    let places = (0..memory[0].steps.len()).step_by(every);
    let drawn: Vec<(Place, f32)> = places.map(|s| ((0, s as u32), 1.0 / (1 + s % 3) as f32)).collect();
    Batch::new(shape, memory, &drawn, 1.0)
}

/// Log-probabilities and values that plain Rust noted in a rollout are those of libtorch.
#[test]
fn both_forward_passes_agree_on_a_rollout() -> Outcome {
    for shape in [SHAPE, FLAT] {
        let weights = weights_of(shape, 1);
        let (experience, _) = rollout(&weights, &Dl2Params::default(), 0.3)?;
        let memory = [experience];
        let batch = batch(shape, &memory, 1);
        assert!(batch.decisions > 100 && batch.width > 6, "{} decisions", batch.decisions);
        let inputs = Inputs::new(&batch, shape, Device::Cpu)?;
        let network = Network::new(&weights, shape, Device::Cpu)?;
        let answers = network.answers(&inputs)?;
        let log_prob = Vec::<f32>::try_from(answers.log_prob)?;
        let values = Vec::<f32>::try_from(network.values(&inputs)?)?;
        for ((step, p), v) in memory[0].steps.iter().zip(log_prob).zip(values) {
            assert!((step.log_prob - p).abs() < 1e-5 * (1.0 + p.abs()), "{} and {p}", step.log_prob);
            assert!((step.value - f64::from(v)).abs() < 1e-5 * (1.0 + step.value.abs()), "{} and {v}", step.value);
        }
        let entropy = Vec::<f32>::try_from(answers.entropy)?;
        let most = memory[0].steps.iter().map(|s| (memory[0].legal(s).len() as f32).ln());
        assert!(entropy.iter().zip(most).all(|(&h, most)| h > 0.0 && h <= most + 1e-5));
    }
    Ok(())
}

#[test]
fn gradients_are_those_of_differences() -> Outcome {
    for shape in [SHAPE, FLAT] {
        let weights = weights_of(shape, 7);
        let (experience, _) = rollout(&weights, &Dl2Params::default(), 0.0)?;
        let memory = [experience];
        let inputs = Inputs::new(&batch(shape, &memory, 7), shape, Device::Cpu)?.double()?;
        for goal in [Goal::Imitate, reinforce(0.1)] {
            tests::gradient_is_that_of_differences(&weights, 1e-4, |row| {
                let network = Network::over(row.shallow_clone(), shape)?;
                Ok(objective(&network, &inputs, goal, &mut Sums::default())?.0)
            })?;
        }
    }
    Ok(())
}

/// Without a discount, what the slots were worth adds up to the completion times and what no scheduler can change.
#[test]
fn lost_time_adds_up_to_the_completion_times() -> Outcome {
    let params = Dl2Params { discount: 1.0, ..Dl2Params::default() };
    let workload = open(SMALL)?;
    let (experience, outcome) = rollout(&weights(2), &params, 0.0)?;
    let total: f64 = experience.steps.iter().map(|s| s.reward).sum();
    let jobs = workload.jobs(id().episode);
    let best: f64 = jobs.iter().map(|j| j.epochs / workload.cluster().speed.best(j.kind)).sum();
    let slots = outcome.objective().expect("completed") * jobs.len() as f64 / workload.cluster().slot_ms();
    assert!((total - (best - slots)).abs() < 1e-6 * slots, "{total}; {best} at best speed, {slots} in all");
    // Shares of epochs add up to the number of jobs.
    let params = Dl2Params { reward: Reward::Progress, ..params };
    let (experience, _) = rollout(&weights(2), &params, 0.0)?;
    let total: f64 = experience.steps.iter().map(|s| s.reward).sum();
    assert!((total - jobs.len() as f64).abs() < 1e-6, "{total}");
    Ok(())
}

/// With a critic that knows nothing and full blame, the target is all that comes.
#[test]
fn targets_are_returns() -> Outcome {
    let mut zero = random(SHAPE, 1);
    zero.data.iter_mut().for_each(|w| *w = 0.0);
    let params = Dl2Params { discount: 0.5, trace_decay: 1.0, ..Dl2Params::default() };
    let (experience, _) = rollout(&zero, &params, 0.0)?;
    let mut to_come = 0.0;
    for step in experience.steps.iter().rev() {
        to_come = step.reward + step.discount * to_come;
        assert!((step.target - to_come).abs() < 1e-9 * (1.0 + to_come.abs()));
    }
    assert!(experience.steps.iter().any(|s| s.discount == 0.5) && experience.steps.iter().any(|s| s.discount == 1.0));
    Ok(())
}

/// Job-aware exploration changes what is done, all by the rules, and only where it is asked for.
#[test]
fn exploration_overrules_a_share_of_the_slots() -> Outcome {
    let params = Dl2Params::default();
    let (plain, _) = rollout(&weights(2), &params, 0.0)?;
    let (same, _) = rollout(&weights(2), &params, 1e-12)?;
    let (explored, _) = rollout(&weights(2), &params, 1.0)?;
    assert_eq!(plain.steps, same.steps);
    assert_ne!(plain.steps, explored.steps);
    // Small jobs are helped: no job is left behind by much more than the rule allows.
    let spread = |e: &Experience| {
        let of_step = |s: &experience::Step| {
            let sizes = e.columns(s).iter().map(|c| c[4] + c[5]);
            let (least, most) = sizes.fold((f32::MAX, 0.0_f32), |(a, b), v| (a.min(v), b.max(v)));
            most / least.max(1.0)
        };
        e.steps.iter().map(of_step).sum::<f32>() / e.steps.len() as f32
    };
    assert!(spread(&explored) < spread(&plain), "{} against {}", spread(&explored), spread(&plain));
    Ok(())
}

/// Draws follow the priorities, and their weights make up for it.
#[test]
fn surprising_decisions_are_drawn_more_often() -> Outcome {
    let params = Dl2Params { priority: 1.0, ..Dl2Params::default() };
    let (experience, _) = rollout(&weights(2), &params, 0.0)?;
    let memory = [experience];
    let mut all = update::Memory::new(&memory, Some(1.0), &params);
    let mut stream = Stream::new(1, "draws");
    let mut counts = vec![0.0; memory[0].steps.len()];
    for _ in 0..400 {
        all.draw(64, &mut stream).iter().for_each(|d| counts[d.0] += 1.0);
    }
    let size = |i: usize| (memory[0].steps[i].target - memory[0].steps[i].value).abs();
    let mut order: Vec<usize> = (0..counts.len()).collect();
    order.sort_by(|&a, &b| size(a).total_cmp(&size(b)));
    let (low, high) = order.split_at(order.len() / 2);
    let sum = |places: &[usize]| places.iter().map(|&i| counts[i]).sum::<f64>();
    assert!(sum(high) > 2.0 * sum(low), "{} and {}", sum(high), sum(low));
    // Counts times weights are even: the mean over draws is the mean over decisions.
    let drawn: Vec<(usize, f32)> = (0..400).flat_map(|_| all.draw(64, &mut stream)).collect();
    let weighted = |places: &[usize]| {
        drawn.iter().filter(|d| places.contains(&d.0)).map(|d| f64::from(d.1)).sum::<f64>() / places.len() as f64
    };
    assert!((weighted(low) / weighted(high) - 1.0).abs() < 0.1, "{} and {}", weighted(low), weighted(high));
    // In imitation every decision comes once before any comes twice.
    let mut even = update::Memory::new(&memory, None, &params);
    let mut seen: Vec<usize> = Vec::new();
    while seen.len() + 10 <= memory[0].steps.len() {
        seen.extend(even.draw(10, &mut stream).iter().map(|d| d.0));
    }
    let count = seen.len();
    seen.sort_unstable();
    seen.dedup();
    assert_eq!(seen.len(), count);
    Ok(())
}

/// An update makes actions that came out well more probable.
#[test]
fn updates_follow_the_advantage() -> Outcome {
    let mut weights = weights(2);
    let params = Dl2Params { batch: 128, reuse: 4.0, ..Dl2Params::default() };
    let (mut experience, _) = rollout(&weights, &params, 0.0)?;
    // Let the first action of the list be good, and others bad.
    for step in &mut experience.steps {
        step.target = step.value + if step.chosen == 0 { 1.0 } else { -1.0 };
    }
    let memory = [experience];
    let gain = |weights: &Weights| -> Result<f64, Box<dyn std::error::Error>> {
        let inputs = Inputs::new(&batch(SHAPE, &memory, 1), SHAPE, Device::Cpu)?;
        let answers = Network::new(weights, SHAPE, Device::Cpu)?.answers(&inputs)?;
        Ok(f64::try_from((answers.log_prob * &inputs.advantage).mean(Kind::Double))?)
    };
    let frame = Frame { shape: SHAPE, params: &params, device: Device::Cpu };
    tests::updates_follow_the_advantage(&mut weights, 1, gain, |moving, stream| {
        frame.update((&memory, Some(1.0)), reinforce(0.0), moving, stream)
    })
}

fn small(seed: u64) -> Dl2Params {
    Dl2Params { schedule: tests::short(seed), traces: 3, batch: 256, reuse: 1.0, ..Dl2Params::default() }
}

/// Runs a training to its end, in one go or saved and read back before every iteration.
fn train(params: &Dl2Params, threads: usize, interrupted: bool) -> Result<Checkpoint, Box<dyn std::error::Error>> {
    let workloads = [open(SMALL)?, open("builtin,nodes=4,jobs=8,max=4,arrivals=poisson")?];
    let drf = sched_distill_training::policies::open(&"drf".parse()?)?;
    let lessons = Lessons::Policy(sched_distill_training::policies::open(&"optimus".parse()?)?);
    let trainee = Dl2Trainee::new(&workloads, ("drf", &*drf), Some(&lessons), params, SHAPE, Device::Cpu)?;
    tests::train(&trainee, random(SHAPE, params.schedule.seed), threads, interrupted)
}

#[test]
fn trainings_are_the_same_for_any_number_of_threads_and_across_interruptions() -> Outcome {
    let of = |seed, threads, interrupted| train(&small(seed), threads, interrupted);
    tests::the_same_for_any_number_of_threads_and_across_interruptions(of)?;
    Ok(())
}

#[test]
fn imitation_learns_what_the_teacher_does() -> Outcome {
    let base = small(1);
    let schedule = Schedule { imitation: 15, iterations: 0, validation: 6, ..base.schedule };
    let rows = train(&Dl2Params { schedule, reuse: 4.0, ..base }, 2, false)?.rows;
    tests::imitation_learns(&rows, 0.7);
    tests::schedules_better(&rows);
    assert!(rows[15].explained > 0.2, "{}", rows[15].explained);
    Ok(())
}

/// A trace plays the heuristic's decisions again, job for job.
#[test]
fn a_trace_is_learned_from_as_its_policy_would_be() -> Outcome {
    let workload = open(SMALL)?;
    let mut optimus = sched_distill_training::policies::open(&"optimus".parse()?)?;
    let run = sched_distill_trace::recorder::EpisodeId::new(2, sched_distill_core::rng::Split::Train, 0);
    let mut decisions = Vec::new();
    let done = sched_distill_trace::recorder::run_episode::<Training>(&workload, &mut *optimus, run, |_, d, _| {
        decisions.push(d)
    })?;
    let count = decisions.len();
    let episode = sched_distill_judge::practice::RecordedEpisode { id: done.seed.into(), decisions: decisions.into() };
    let id = RolloutId { episode: done.seed.into(), draws: 0 };
    let driver = Driver::Replayed { trace: &mut Replay::new(&episode) };
    let (experience, outcome) = play(&workload, &mut policy(&weights(1))?, driver, id, &Dl2Params::default())?;
    assert_eq!(outcome.jobs, done.outcome.jobs);
    // Where all jobs have both maxima there is nothing to learn.
    assert!(
        experience.steps.len() <= count && experience.steps.len() > count / 2,
        "{} of {count}",
        experience.steps.len()
    );
    Ok(())
}
