//! The networks in libtorch against those in plain Rust, their gradient against differences, and whole trainings.

use super::{
    batch::{Batch, Place},
    network::{Inputs, Network},
    update::objective,
    *,
};
use crate::{Checkpoint, Session, libtorch::compare_with_differences, update::Sums};
use sched_distill_training::network::Dl2Form;
use tch::{Kind, Tensor};

type Outcome = Result<(), Box<dyn std::error::Error>>;

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
    let id = RolloutId::new(3, 1, 1, 0);
    Ok(play(&open(SMALL)?, &mut policy(weights)?, Driver::Own { exploration }, id, params)?)
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
        let [log_prob, entropy] = network.answers(&inputs)?;
        let (log_prob, values) = (Vec::<f32>::try_from(log_prob)?, Vec::<f32>::try_from(network.values(&inputs)?)?);
        for ((step, p), v) in memory[0].steps.iter().zip(log_prob).zip(values) {
            assert!((step.log_prob - p).abs() < 1e-5 * (1.0 + p.abs()), "{} and {p}", step.log_prob);
            assert!((step.value - f64::from(v)).abs() < 1e-5 * (1.0 + step.value.abs()), "{} and {v}", step.value);
        }
        let entropy = Vec::<f32>::try_from(entropy)?;
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
        for goal in [Goal::Imitate, Goal::Reinforce { entropy: 0.1, correction: 1.0 }] {
            compare_with_differences(&weights, 1e-4, |numbers| {
                let network = Network::over(Tensor::from_slice(numbers).set_requires_grad(true), shape)?;
                let (loss, _) = objective(&network, &inputs, goal, 0.2, &mut Sums::default())?;
                loss.backward();
                Ok((f64::try_from(&loss)?, Vec::try_from(network.weights.grad())?))
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
    let jobs = workload.jobs(RolloutId::new(3, 1, 1, 0).episode);
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
    let goal = Goal::Reinforce { entropy: 0.0, correction: 1.0 };
    let mut all = update::Memory::new(&memory, goal, &params);
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
    let mut even = update::Memory::new(&memory, Goal::Imitate, &params);
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
    let log_prob = |weights: &Weights| -> Result<f64, Box<dyn std::error::Error>> {
        let inputs = Inputs::new(&batch(SHAPE, &memory, 1), SHAPE, Device::Cpu)?;
        let [log_prob, _] = Network::new(weights, SHAPE, Device::Cpu)?.answers(&inputs)?;
        Ok(f64::try_from((log_prob * &inputs.advantage).mean(Kind::Double))?)
    };
    let before = log_prob(&weights)?;
    let mut adam = Adam::new(weights.data.len());
    let goal = Goal::Reinforce { entropy: 0.0, correction: 1.0 };
    let mut update = Update { weights: &mut weights, adam: &mut adam, shape: SHAPE, device: Device::Cpu };
    let stats = update.run(&memory, (goal, 1e-3), &params, &mut Stream::new(1, "t"))?;
    assert!(stats.gradient > 0.0 && stats.entropy > 0.0 && stats.kl > -1e-6, "{stats:?}");
    assert!(log_prob(&weights)? > before + 0.01, "{} after {before}", log_prob(&weights)?);
    Ok(())
}

fn small(seed: u64) -> Dl2Params {
    let schedule =
        Schedule { iterations: 3, imitation: 2, validate_every: 2, validation: 2, seed, ..Schedule::default() };
    Dl2Params { schedule, traces: 3, batch: 256, reuse: 1.0, ..Dl2Params::default() }
}

/// Runs a training to its end, in one go or saved and read back before every iteration.
fn train(params: &Dl2Params, threads: usize, interrupted: bool) -> Result<Checkpoint, Box<dyn std::error::Error>> {
    let workloads = [open(SMALL)?, open("builtin,nodes=4,jobs=8,max=4,arrivals=poisson")?];
    let drf = sched_distill_training::policies::open(&"drf".parse()?)?;
    let lessons = Lessons::Policy(sched_distill_training::policies::open(&"optimus".parse()?)?);
    let stop = AtomicBool::new(false);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build()?;
    let mut checkpoint = Checkpoint::new(random(SHAPE, params.schedule.seed));
    let trainee = Dl2Trainee::new(&workloads, ("drf", &*drf), Some(&lessons), params, SHAPE, Device::Cpu)?;
    checkpoint = pool.install(|| {
        let mut checkpoint = checkpoint;
        loop {
            let mut session = Session::new(&trainee, checkpoint, &stop)?;
            while session.end().is_none() {
                session.step()?;
                if interrupted {
                    break;
                }
            }
            if session.end().is_some() {
                return Ok::<_, TrainError>(session.checkpoint().clone());
            }
            checkpoint = Checkpoint::from_bytes(&session.checkpoint().to_bytes()?, &layout(SHAPE), "state".as_ref())?;
        }
    })?;
    // What is left to differ is time.
    checkpoint.seconds.clear();
    Ok(checkpoint)
}

#[test]
fn trainings_are_the_same_for_any_number_of_threads_and_across_interruptions() -> Outcome {
    let params = small(4);
    let whole = train(&params, 1, false)?;
    assert_eq!(whole.rows.len(), 6);
    assert_eq!(whole, train(&params, 3, false)?);
    assert_eq!(whole, train(&params, 2, true)?);
    assert_ne!(whole.weights, train(&small(5), 2, false)?.weights);
    Ok(())
}

#[test]
fn imitation_learns_what_the_teacher_does() -> Outcome {
    let base = small(1);
    let schedule = Schedule { imitation: 15, iterations: 0, validation: 6, ..base.schedule };
    let done = train(&Dl2Params { schedule, reuse: 4.0, ..base }, 2, false)?;
    let loss = |i: usize| done.rows[i].update.loss;
    assert!(loss(15) < 0.7 * loss(1), "{} after {}", loss(15), loss(1));
    let greedy = |i: usize| done.rows[i].validation.and_then(|v| v.greedy.compared).expect("completed");
    assert!(greedy(15) < greedy(0), "{} after {}", greedy(15), greedy(0));
    assert!(done.rows[15].explained > 0.2, "{}", done.rows[15].explained);
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
