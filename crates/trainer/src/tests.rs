//! What is tested of all trainings alike: gradients, updates, and whole trainings.

use super::{
    Checkpoint, IterationRow, Phase, Schedule, Session, TrainError, Trainee, UpdateStats, Weights, adam::Adam,
    update::Moving,
};
use sched_distill_core::rng::Stream;
use sched_distill_explain::TeacherGradients;
use std::{error::Error, sync::atomic::AtomicBool};
use tch::{TchError, Tensor};

pub(super) type Outcome = Result<(), Box<dyn Error>>;

/// Compares a gradient with central differences in double precision, along the axes of two weights of every tensor.
/// `loss` is that of a row of weights.
pub(super) fn gradient_is_that_of_differences(
    weights: &Weights,
    tolerance: f64,
    loss: impl Fn(&Tensor) -> Result<Tensor, TchError>,
) -> Result<Vec<f64>, Box<dyn Error>> {
    let numbers: Vec<f64> = weights.data.iter().map(|&w| f64::from(w)).collect();
    let row = Tensor::from_slice(&numbers).set_requires_grad(true);
    loss(&row)?.backward();
    let gradient = Vec::<f64>::try_from(row.grad())?;
    let mut stream = Stream::new(1, "axes");
    let mut at = 0;
    for (name, shape) in weights.layout().tensors.iter() {
        let len: usize = shape.iter().product();
        for _ in 0..2 {
            let i = at + stream.below(len);
            let moved = |by: f64| {
                let mut numbers = numbers.clone();
                numbers[i] += by;
                loss(&Tensor::from_slice(&numbers)).and_then(f64::try_from)
            };
            let slope = (moved(1e-6)? - moved(-1e-6)?) / 2e-6;
            let deviation = (slope - gradient[i]).abs() / (1.0 + slope.abs());
            assert!(deviation < tolerance, "{name}: {slope} and {}", gradient[i]);
        }
        at += len;
    }
    Ok(gradient)
}

/// Some updates make decisions with an advantage more probable and others less. `gain` is what weights make of them:
/// the mean of advantages times log-probabilities.
pub(super) fn updates_follow_the_advantage(
    weights: &mut Weights,
    updates: u64,
    gain: impl Fn(&Weights) -> Result<f64, Box<dyn Error>>,
    update: impl Fn(Moving, &mut Stream) -> Result<UpdateStats, TchError>,
) -> Outcome {
    let before = gain(weights)?;
    let mut adam = Adam::new(weights.data.len());
    for i in 1..=updates {
        let stats = update(Moving { weights, adam: &mut adam, rate: 1e-3 }, &mut Stream::new(i, "t"))?;
        assert!(stats.gradient > 0.0 && stats.entropy > 0.0 && stats.kl > -1e-6, "{stats:?}");
    }
    let after = gain(weights)?;
    assert!(after > before + 0.01, "{after} after {before}");
    Ok(())
}

/// A short training with all that there is.
pub(super) fn short(seed: u64) -> Schedule {
    Schedule { iterations: 3, imitation: 2, validate_every: 2, validation: 2, seed, ..Schedule::default() }
}

pub(super) fn pool(threads: usize) -> Result<rayon::ThreadPool, rayon::ThreadPoolBuildError> {
    rayon::ThreadPoolBuilder::new().num_threads(threads).build()
}

/// Runs a training to its end, in one go or saved and read back before every iteration.
pub(super) fn train(
    trainee: &impl Trainee,
    begin: Weights,
    threads: usize,
    interrupted: bool,
) -> Result<Checkpoint, Box<dyn Error>> {
    let (stop, layout) = (AtomicBool::new(false), begin.layout().clone());
    let mut done = pool(threads)?.install(|| {
        let mut checkpoint = Checkpoint::new(begin);
        loop {
            let mut session = Session::new(trainee, checkpoint, &stop)?;
            while session.end().is_none() {
                session.step()?;
                if interrupted {
                    break;
                }
            }
            if session.end().is_some() {
                return Ok::<_, TrainError>(session.checkpoint().clone());
            }
            checkpoint = Checkpoint::from_bytes(&session.checkpoint().to_bytes()?, &layout, "state".as_ref())?;
        }
    })?;
    // What is left to differ is time.
    done.seconds.clear();
    Ok(done)
}

/// A [`short`] training of a seed comes to the same for any number of threads and across interruptions, and to
/// something else with another seed. `of` runs it, by seed, threads and whether it is interrupted.
pub(super) fn the_same_for_any_number_of_threads_and_across_interruptions(
    of: impl Fn(u64, usize, bool) -> Result<Checkpoint, Box<dyn Error>>,
) -> Result<Checkpoint, Box<dyn Error>> {
    let whole = of(4, 1, false)?;
    assert_eq!(whole.rows.len(), 6);
    assert!(whole.rows.iter().all(|row| row.decisions > 0 || row.iteration == 0));
    assert!(whole.rows.iter().filter(|r| r.validation.is_some()).count() >= 4);
    assert_eq!(whole, of(4, 2, false)?);
    assert_eq!(whole, of(4, 3, false)?);
    assert_eq!(whole, of(4, 2, true)?);
    assert_ne!(whole.weights, of(5, 2, false)?.weights);
    Ok(whole)
}

/// Imitation brings the loss below a share of what it was.
pub(super) fn imitation_learns(rows: &[IterationRow], share: f64) {
    let loss: Vec<f64> = rows.iter().filter(|r| r.phase == Phase::Imitation).map(|r| r.update.loss).collect();
    let (first, last) = (loss[0], loss[loss.len() - 1]);
    assert!(last < share * first, "{last} after {first}");
}

/// The last network schedules better than the first one where it decides greedily.
pub(super) fn schedules_better(rows: &[IterationRow]) {
    let greedy = |row: &IterationRow| row.validation.and_then(|v| v.greedy.compared);
    // Without a figure it would be as bad as can be.
    let (first, last) = (greedy(&rows[0]).unwrap_or(f64::INFINITY), greedy(&rows[rows.len() - 1]).expect("completed"));
    assert!(last < first, "{last} after {first}");
}

/// Attributions add up to the difference that they explain, question by question, and come by size.
pub(super) fn attributions_add_up(found: &TeacherGradients, questions: usize) {
    assert!((10..=12).contains(&found.decisions) && found.gap <= 0.01, "{found:?}");
    assert_eq!(found.questions.len(), questions);
    for q in &found.questions {
        let sum: f64 = q.inputs.iter().map(|i| i.mean).sum();
        let difference = q.log_prob - q.baseline;
        assert!((sum - difference).abs() <= 0.01 * difference.abs().max(0.05), "{}: {sum}, {difference}", q.question);
        assert!(q.inputs.windows(2).all(|w| w[0].size >= w[1].size));
    }
}
