//! The network in libtorch against the one in plain Rust, its gradient against differences, and whole trainings.

#[path = "../../../../tests/support/decima_input.rs"]
mod decima_input;

use super::{
    batch::{Batch, Block},
    experience::{Experience, Step},
    network::{Inputs, Network},
    update::{misdescribed, objective, update},
    *,
};
use crate::{
    Algorithm, Checkpoint, PolicyGradient, RecordedLessons, Returns, Session,
    tests::{self, Outcome},
    update::{Goal, Sums},
};
use decima_input::observation;
use sched_distill_core::rng::Stream;
use sched_distill_dag::network::{Decima, DecimaInput};
use sched_distill_judge::practice::{Moment, RecordedEpisode};
use std::sync::atomic::AtomicBool;
use tch::{Device, Kind};

const PPO: Goal = Goal::Reinforce { algorithm: Algorithm::Ppo, clip: 0.2, entropy: 0.05 };

/// Weights with biases, so that every number matters.
fn weights(seed: u64) -> Weights {
    let mut weights = random(seed);
    let mut stream = Stream::new(seed, "biases");
    weights.data.iter_mut().for_each(|w| *w += (0.1 * stream.normal()) as f32);
    weights
}

fn log_softmax(scores: &[f32]) -> Vec<f64> {
    let scores: Vec<f64> = scores.iter().map(|&s| f64::from(s)).collect();
    let total = sched_distill_core::level::log_sum_exp(&scores);
    scores.iter().map(|s| s - total).collect()
}

/// Random observations as one batch, with what the plain network says of each decision: log-probability, entropy.
fn batch(weights: &Weights, seeds: std::ops::Range<u64>) -> Result<(Batch, Vec<[f64; 2]>), NeuralError> {
    let mut network = Decima::new(network(weights)?);
    let (mut experience, mut expected) = (Experience::new(50), Vec::new());
    let mut advantages = Vec::new();
    for seed in seeds {
        let density = [0.0, 0.2, 0.5, 0.9][seed as usize % 4];
        let input: DecimaInput = observation(seed, 1 + seed as usize % 5, 9, density);
        network.embed(&input)?;
        let mut stream = Stream::new(seed, "decision");
        if network.schedulable().is_empty() {
            continue;
        }
        let stage = stream.below(network.schedulable().len());
        let node = network.schedulable()[stage];
        let job = input.ptr.iter().rposition(|&first| first <= node).unwrap_or(0);
        let amounts = network.caps()[job];
        let amount = if amounts > 0 { stream.below(amounts as usize) as u32 } else { 0 };
        let stages = log_softmax(network.stage_scores());
        let of_amounts = log_softmax(network.amount_scores(job));
        let entropy = |p: &[f64]| -p.iter().map(|p| p * p.exp()).sum::<f64>();
        let log_prob = stages[stage] + of_amounts.get(amount as usize).unwrap_or(&0.0);
        expected.push([log_prob, entropy(&stages) + entropy(&of_amounts)]);
        // Some ratios are clipped and some are not.
        let old = (log_prob + 0.3 * stream.normal()) as f32;
        let step = Step { moment: Moment::default(), stage: stage as u32, amount, amounts, log_prob: old };
        experience.push((&input, &network), step);
        advantages.push(stream.normal() as f32);
    }
    let steps = 0..experience.steps.len();
    Ok((Batch::new(&[experience], &[advantages], &[Block { rollout: 0, steps }]), expected))
}

#[test]
fn both_forward_passes_agree_on_random_graphs() -> Outcome {
    let weights = weights(5);
    let (batch, expected) = batch(&weights, 0..80)?;
    assert!(expected.len() > 60);
    assert!(batch.messages.iter().any(|m| m.edge_child.len() > m.parents.len()), "some node has several children");
    let inputs = Inputs::new(&batch, Device::Cpu)?;
    let answers = Network::new(&weights, Device::Cpu)?.answers(&inputs, &inputs.x)?;
    let (log_prob, entropy) = (Vec::<f32>::try_from(answers.log_prob)?, Vec::<f32>::try_from(answers.entropy)?);
    for (i, [p, h]) in expected.iter().enumerate() {
        for (found, expected) in [(log_prob[i], p), (entropy[i], h)] {
            let deviation = (f64::from(found) - expected).abs() / (1.0 + expected.abs());
            assert!(deviation < 1e-5, "decision {i}: {found} and {expected}");
        }
    }
    Ok(())
}

/// Central differences in double precision, along the axes of some weights of every tensor.
#[test]
fn gradients_are_those_of_differences() -> Outcome {
    let weights = weights(7);
    let (batch, _) = batch(&weights, 0..24)?;
    let inputs = Inputs::new(&batch, Device::Cpu)?.double()?;
    let reinforce = Goal::Reinforce { algorithm: Algorithm::Reinforce, clip: 0.2, entropy: 0.1 };
    for goal in [Goal::Imitate, PPO, reinforce] {
        tests::gradient_is_that_of_differences(&weights, 1e-5, |row| {
            objective(&Network::over(row.shallow_clone())?, &inputs, goal, &mut Sums::default())
        })?;
    }
    Ok(())
}

/// States of jobs that decisions share are embedded once.
#[test]
fn a_batch_holds_every_state_of_a_job_once() -> Outcome {
    let workload = sched_distill_dag::workload::open(&"builtin,jobs=10,executors=5".parse()?)?;
    let weights = weights(1);
    let mut policy = sched_distill_dag::network::DecimaPolicy::new(network(&weights)?, true);
    let id = RolloutId { episode: 1.into(), draws: 1 };
    let returns = Returns::Discounted { rate: 0.001, trace: 0.0 };
    let rollout =
        rollout::play((&workload, workload.jobs(id.episode)), &mut policy, rollout::Driver::Own, id, returns)?;
    let e = [rollout.experience];
    let steps = e[0].steps.len();
    let zeros = [vec![0.0; steps]];
    let whole = Batch::new(&e, &zeros, &[Block { rollout: 0, steps: 0..steps }]);
    assert_eq!((whole.decisions as usize, whole.jobs as usize), (steps, e[0].any_edge.len()));
    assert!(whole.jobs < whole.member_job.len() as i64, "{} of {}", whole.jobs, whole.member_job.len());
    // Rust's probabilities of the rollout are libtorch's.
    let inputs = Inputs::new(&whole, Device::Cpu)?;
    let answers = Network::new(&weights, Device::Cpu)?.answers(&inputs, &inputs.x)?;
    for (step, p) in e[0].steps.iter().zip(Vec::<f32>::try_from(answers.log_prob)?) {
        assert!((step.log_prob - p).abs() < 1e-4 * (1.0 + p.abs()), "{} and {p}", step.log_prob);
    }
    Ok(())
}

/// An update makes decisions with an advantage more probable and others less.
#[test]
fn updates_follow_the_advantage() -> Outcome {
    let workload = sched_distill_dag::workload::open(&"builtin,jobs=10,executors=5".parse()?)?;
    for algorithm in [Algorithm::Ppo, Algorithm::Reinforce] {
        let mut weights = weights(2);
        let mut policy = sched_distill_dag::network::DecimaPolicy::new(network(&weights)?, true);
        let id = RolloutId { episode: 3.into(), draws: 1 };
        let returns = Returns::Discounted { rate: 0.001, trace: 0.0 };
        let e =
            [rollout::play((&workload, workload.jobs(id.episode)), &mut policy, rollout::Driver::Own, id, returns)?
                .experience];
        // Let single executors be good.
        let advantage = [e[0].steps.iter().map(|s| if s.amount == 0 { 1.0 } else { -1.0 }).collect::<Vec<f32>>()];
        let block = [Block { rollout: 0, steps: 0..e[0].steps.len() }];
        let gain = |weights: &Weights| -> Result<f64, Box<dyn std::error::Error>> {
            let inputs = Inputs::new(&Batch::new(&e, &advantage, &block), Device::Cpu)?;
            let answers = Network::new(weights, Device::Cpu)?.answers(&inputs, &inputs.x)?;
            Ok(f64::try_from((answers.log_prob * &inputs.advantage).mean(Kind::Double))?)
        };
        let params = DecimaParams::default();
        let goal = Goal::Reinforce { algorithm, clip: 0.2, entropy: 0.0 };
        tests::updates_follow_the_advantage(&mut weights, 4, gain, |moving, stream| {
            update((&e, &advantage), (&params, goal), moving, Device::Cpu, stream)
        })?;
    }
    Ok(())
}

/// Attributions add up to the difference that they explain, and inputs that play no part have none.
#[test]
fn attributions_add_up() -> Outcome {
    let workload = sched_distill_dag::workload::open(&"builtin,jobs=10,executors=5".parse()?)?;
    let weights = weights(3);
    let mut policy = sched_distill_dag::network::DecimaPolicy::new(network(&weights)?, false);
    let run = sched_distill_trace::recorder::EpisodeId::new(2, sched_distill_core::rng::Split::Test, 0);
    let mut decisions = Vec::new();
    let done = sched_distill_trace::recorder::run_episode(&workload, &mut policy, run, |_, d, _| decisions.push(d))?;
    let episodes = vec![RecordedEpisode { id: done.seed.into(), decisions: decisions.into() }];
    let recorded = RecordedLessons { hash: String::new(), workload, episodes };
    let found = teacher_gradients(&weights, &recorded, 12, &AtomicBool::new(false))?;
    tests::attributions_add_up(&found, 2);
    for q in &found.questions {
        assert!(q.inputs.iter().any(|i| i.feature == "order of stages"), "{q:?}");
    }
    Ok(())
}

fn small(seed: u64) -> DecimaParams {
    let gradient = PolicyGradient { sequences: 2, rollouts: 2, epochs: 2, minibatches: 2, ..PolicyGradient::default() };
    DecimaParams { schedule: tests::short(seed), gradient, ..DecimaParams::default() }
}

/// Runs a training to its end, in one go or saved and read back before every iteration.
fn train(params: &DecimaParams, threads: usize, interrupted: bool) -> Result<Checkpoint, Box<dyn std::error::Error>> {
    let workloads = ["builtin,jobs=8,executors=5", "builtin,jobs=6,executors=4,rate=1e-5"];
    let workloads =
        workloads.map(|w| Ok::<_, Box<dyn std::error::Error>>(sched_distill_dag::workload::open(&w.parse()?)?));
    let workloads = workloads.into_iter().collect::<Result<Vec<_>, _>>()?;
    let fair = sched_distill_dag::policies::open(&"fair".parse()?)?;
    let lessons = Lessons::Policy(sched_distill_dag::policies::open(&"srpt-fair".parse()?)?);
    let trainee = DecimaTrainee::new(&workloads, ("fair", &*fair), Some(&lessons), params, Device::Cpu)?;
    tests::train(&trainee, random(params.schedule.seed), threads, interrupted)
}

#[test]
fn trainings_are_the_same_for_any_number_of_threads_and_across_interruptions() -> Outcome {
    for adversarial in [0.0, 0.5] {
        let of = |seed, threads, interrupted| train(&DecimaParams { adversarial, ..small(seed) }, threads, interrupted);
        let whole = tests::the_same_for_any_number_of_threads_and_across_interruptions(of)?;
        // Against users who game it the last network counts.
        let last = whole.rows.iter().rev().find(|r| r.validation.is_some()).map(|r| r.iteration);
        assert!(adversarial == 0.0 || whole.best.as_ref().map(|b| b.iteration) == last);
    }
    Ok(())
}

/// A training that is ended early still knows how good its last network is, and looks once.
#[test]
fn the_last_network_is_looked_at() -> Outcome {
    let params = small(6);
    let workloads = [sched_distill_dag::workload::open(&"builtin,jobs=5,executors=4".parse()?)?];
    let fair = sched_distill_dag::policies::open(&"fair".parse()?)?;
    let lessons = Lessons::Policy(sched_distill_dag::policies::open(&"srpt-fair".parse()?)?);
    let stop = AtomicBool::new(false);
    let checkpoint = Checkpoint::new(random(6));
    let trainee = DecimaTrainee::new(&workloads, ("fair", &*fair), Some(&lessons), &params, Device::Cpu)?;
    let mut session = Session::new(&trainee, checkpoint, &stop)?;
    assert_eq!(session.step()?.validation, None);
    session.look()?;
    let looked = session.checkpoint().clone();
    assert_eq!(looked.rows.len(), 2);
    assert!(looked.rows[1].validation.is_some());
    session.look()?;
    assert_eq!(*session.checkpoint(), looked);

    let none = DecimaTrainee::new(&[], ("fair", &*fair), None, &params, Device::Cpu).err();
    assert_eq!(none.map(|e| e.to_string()).as_deref(), Some("workloads must be at least one, got none"));
    Ok(())
}

#[test]
fn imitation_learns_what_the_teacher_does() -> Outcome {
    let mut params = small(1);
    (params.schedule.imitation, params.schedule.iterations, params.gradient.epochs) = (12, 1, 4);
    tests::imitation_learns(&train(&params, 2, false)?.rows, 0.6);
    Ok(())
}

/// What users say who game the network makes the teacher's decisions less probable to it, by a stage of each of their jobs.
#[test]
fn a_step_along_the_gradient_hides_what_the_teacher_does() -> Outcome {
    let weights = weights(3);
    let (batch, _) = batch(&weights, 0..12)?;
    let network = Network::new(&weights, Device::Cpu)?;
    let mut inputs = Inputs::new(&batch, Device::Cpu)?;
    let log_prob = |inputs: &Inputs| -> Result<f64, Box<dyn std::error::Error>> {
        Ok(f64::try_from(network.answers(inputs, &inputs.x)?.log_prob.sum(Kind::Double))?)
    };
    let honest = log_prob(&inputs)?;
    let mut before = honest;
    for share in [0.4, 1.0] {
        let gamed: Vec<bool> = (0..batch.jobs).map(|job| (job as f64) < share * batch.jobs as f64).collect();
        inputs.x = Inputs::new(&batch, Device::Cpu)?.x;
        inputs.x = misdescribed(&network, &inputs, &batch, &gamed)?;
        let said = Vec::<f32>::try_from(inputs.x.view([-1]))?;
        let changed: Vec<usize> = (0..said.len()).filter(|&i| said[i] != batch.x[i]).collect();
        assert!(
            changed.iter().all(|i| i % sched_distill_dag::network::FEATURES == 4),
            "work alone is said to be other"
        );
        let jobs: Vec<i64> = changed.iter().map(|i| batch.node_job[i / sched_distill_dag::network::FEATURES]).collect();
        assert!(jobs.is_sorted_by(|a, b| a < b), "one stage of a job: {jobs:?}");
        assert!(jobs.iter().all(|&job| gamed[job as usize]) && !jobs.is_empty());
        assert!(log_prob(&inputs)? < before, "{} after {before}, {honest} at first", log_prob(&inputs)?);
        before = log_prob(&inputs)?;
    }
    Ok(())
}
