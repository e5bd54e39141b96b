//! The network in libtorch against the one in plain Rust, its gradient against differences, and whole trainings.

use super::{
    batch::{Batch, Place},
    network::{Inputs, Network},
    update::{Frame, objective},
    *,
};
use crate::{
    Algorithm, Checkpoint, PolicyGradient, Returns,
    tests::{self, Outcome},
    update::{Goal, Sums},
};
use sched_distill_core::{
    rng::{EpisodeId, Split, Stream},
    simulation::Simulated,
};
use sched_distill_dag::Dag;
use sched_distill_judge::practice::Turn;
use sched_distill_pipeline::{Entry, PracticeParams, practice};
use sched_distill_trace::{
    Shard, Trace,
    recorder::{RecordRequest, record},
};
use sched_distill_training::Training;
use tch::Kind;

static DAG: Entry<Dag> = Entry {
    teacher: sched_distill_dag::policies::TEACHER,
    baselines: sched_distill_dag::policies::BASELINES,
    policies: || sched_distill_dag::policies::POLICIES.iter().map(|def| def.info).collect(),
    open: sched_distill_dag::policies::open,
    attack: None,
};
static TRAINING: Entry<Training> = Entry {
    teacher: sched_distill_training::policies::TEACHER,
    baselines: sched_distill_training::policies::BASELINES,
    policies: || sched_distill_training::policies::POLICIES.iter().map(|def| def.info).collect(),
    open: sched_distill_training::policies::open,
    attack: None,
};

const PPO: Goal = Goal::Reinforce { algorithm: Algorithm::Ppo, clip: 0.2, entropy: 0.05 };

/// A ground of each scenario, with a heuristic to imitate.
fn grounds() -> Result<[Box<dyn AnyGround>; 2], Box<dyn std::error::Error>> {
    Ok([
        ground(&DAG, &["builtin,jobs=8,executors=5", "builtin,jobs=6,executors=4,rate=1e-5"], Some("srpt-fair"))?,
        ground(&TRAINING, &["builtin,nodes=4,jobs=8,max=4"], Some("optimus"))?,
    ])
}

fn ground<S: Simulated>(
    entry: &Entry<S>,
    workloads: &[&str],
    teacher: Option<&str>,
) -> Result<Box<dyn AnyGround>, Box<dyn std::error::Error>> {
    let workloads = workloads.iter().map(|&id| id.to_owned()).collect();
    let teacher = teacher.map(str::to_owned);
    Ok(practice(entry, &PracticeParams { workloads, reference: None, teacher })?)
}

fn small(seed: u64) -> ScorerParams {
    let usual = ScorerParams::default();
    let gradient = PolicyGradient { sequences: 2, rollouts: 2, epochs: 2, minibatches: 2, ..usual.gradient };
    let shape = ScorerShape { width: 16, depth: 2 };
    ScorerParams { schedule: tests::short(seed), shape, survey: 2, gradient, ..usual }
}

/// Weights with biases, so that every number matters.
fn weights(ground: &dyn AnyGround, params: &ScorerParams) -> Result<Weights, Box<dyn std::error::Error>> {
    let survey = ground.survey(1, 2, &AtomicBool::new(false))?;
    let set = ground.feature_set();
    let mut weights = random(set, params.shape, params.schedule.seed, &survey);
    let norms: usize = 2 * set.levels.iter().map(|level| level.features.len()).sum::<usize>();
    let mut stream = Stream::new(params.schedule.seed, "biases");
    weights.data[norms..].iter_mut().for_each(|w| *w += (0.1 * stream.normal()) as f32);
    Ok(weights)
}

fn clock(discount: f64) -> Clock {
    Clock { unit_ms: 1e5, cost: 1e5, discount }
}

/// Episodes of a network's own.
fn own(ground: &dyn AnyGround, weights: &Weights, count: u32) -> Result<Vec<Practice>, Box<dyn std::error::Error>> {
    let network = network(weights)?;
    let turn = |episode: u32| Turn {
        taught: None,
        workload: episode,
        episode: EpisodeId { seed: u64::from(episode) + 7, episode },
        draws: u64::from(episode),
    };
    Ok((0..count).map(|e| ground.play(&network, turn(e), clock(0.2))).collect::<Result<_, _>>()?)
}

fn places(episodes: &[Practice], most: usize) -> Vec<Place> {
    let all: Vec<Place> = episodes
        .iter()
        .enumerate()
        .flat_map(|(e, episode)| (0..episode.steps.len() as u32).map(move |step| (e as u32, step)))
        .collect();
    let every = all.len().div_ceil(most).max(1);
    all.into_iter().step_by(every).collect()
}

#[test]
fn both_forward_passes_agree() -> Outcome {
    for ground in grounds()? {
        let mut choices = 0;
        for (seed, depth) in [(1, 1), (2, 2), (3, 3)] {
            let base = small(seed);
            let params = ScorerParams { shape: ScorerShape { depth, ..base.shape }, ..base };
            let weights = weights(&*ground, &params)?;
            let episodes = own(&*ground, &weights, 2)?;
            let places = places(&episodes, 60);
            let batch = Batch::new(&episodes, None, &places);
            let (set, shape) = (ground.feature_set(), params.shape);
            let inputs = Inputs::new(&batch, set, Device::Cpu)?;
            let answers = Network::new(&weights, set, shape, Device::Cpu)?.answers(&inputs)?;
            let found = Vec::<f32>::try_from(answers.log_prob)?;
            for (&(episode, step), found) in places.iter().zip(found) {
                let expected = episodes[episode as usize].steps[step as usize].log_prob;
                let deviation = (found - expected).abs() / (1.0 + expected.abs());
                assert!(deviation < 1e-5, "{}: {found} and {expected}", set.scenario);
            }
            // Those with more than one candidate.
            choices += batch.levels.iter().flat_map(|level| &level.count).filter(|&&n| n > 1.0).count();
            assert!(batch.levels.iter().all(|level| !level.count.is_empty()), "every level is met");
        }
        assert!(choices >= 80, "{choices}");
    }
    Ok(())
}

/// Central differences in double precision, along the axes of some weights of every tensor. Means and scales stay.
#[test]
fn gradients_are_those_of_differences() -> Outcome {
    for ground in grounds()? {
        let params = small(5);
        let weights = weights(&*ground, &params)?;
        let episodes = own(&*ground, &weights, 2)?;
        let mut stream = Stream::new(1, "findings");
        let mut draw = || episodes.iter().map(|e| e.steps.iter().map(|_| stream.normal() as f32).collect()).collect();
        let findings = Findings { advantages: draw(), worths: draw() };
        let (set, shape) = (ground.feature_set(), params.shape);
        let mut batch = Batch::new(&episodes, Some(&findings), &places(&episodes, 24));
        // Some ratios are clipped and some are not.
        batch.old.iter_mut().for_each(|old| *old += (0.3 * stream.normal()) as f32);
        let inputs = Inputs::new(&batch, set, Device::Cpu)?.double()?;
        let reinforce = Goal::Reinforce { algorithm: Algorithm::Reinforce, clip: 0.2, entropy: 0.1 };
        for goal in [Goal::Imitate, PPO, reinforce] {
            let gradient = tests::gradient_is_that_of_differences(&weights, 1e-5, |row| {
                let network = Network::over(row.shallow_clone(), set, shape)?;
                objective(&network, &inputs, goal, &mut Sums::default())
            })?;
            let norms: usize = 2 * set.levels.iter().map(|level| level.features.len()).sum::<usize>();
            assert!(gradient[..norms].iter().all(|&g| g == 0.0), "means and scales are not learned");
        }
    }
    Ok(())
}

/// Without a discount the costs of an episode add up to jobs × objective; a cluster that is left stranded is dear.
#[test]
fn costs_add_up_to_the_objective() -> Outcome {
    for ground in grounds()? {
        let network = network(&weights(&*ground, &small(1))?)?;
        let turn = Turn { taught: Some(true), workload: 0, episode: EpisodeId::new(1, Split::Train, 0), draws: 1 };
        let of = |discount| ground.play(&network, turn, clock(discount));
        let (plain, discounted) = (of(0.0)?, of(0.5)?);
        let outcome = plain.outcome.as_ref().ok_or("it has ended")?;
        let total: f64 = plain.steps.iter().map(|step| step.moment.cost).sum();
        let waited = outcome.objective().ok_or("completed")? * outcome.jobs.len() as f64 / 1e5;
        // What jobs wait before the first decision costs too, and is no decision's fault.
        assert!(total <= waited * (1.0 + 1e-9) && total > 0.9 * waited, "{total} of {waited}");
        let pairs = plain.steps.iter().zip(&discounted.steps);
        assert!(pairs.clone().all(|(a, b)| b.moment.cost <= a.moment.cost + 1e-12));
        assert!(pairs.clone().any(|(a, b)| b.moment.cost < a.moment.cost));
    }
    Ok(())
}

/// An update makes decisions with an advantage more probable and others less, and values states better.
#[test]
fn updates_follow_the_advantage() -> Outcome {
    for ground in grounds()? {
        for algorithm in [Algorithm::Ppo, Algorithm::Reinforce] {
            let mut params = small(2);
            (params.gradient.minibatches, params.gradient.epochs) = (4, 3);
            let mut weights = weights(&*ground, &params)?;
            let episodes = own(&*ground, &weights, 2)?;
            // Let the first candidate of the first level be good.
            let first = |e: &Practice| -> Vec<f32> {
                e.levels[0].taken.iter().map(|&taken| if taken == 0 { 1.0 } else { -1.0 }).collect()
            };
            let worths =
                episodes.iter().map(|e| e.steps.iter().map(|s| 3.0 - s.moment.time as f32).collect()).collect();
            let findings = Findings { advantages: episodes.iter().map(first).collect(), worths };
            let frame = Frame { set: ground.feature_set(), params: &params, device: Device::Cpu };
            let batch = Batch::new(&episodes, Some(&findings), &places(&episodes, usize::MAX));
            let inputs = Inputs::new(&batch, frame.set, Device::Cpu)?;
            let network = |weights: &Weights| Network::new(weights, frame.set, params.shape, Device::Cpu);
            let gain = |weights: &Weights| -> Result<f64, Box<dyn std::error::Error>> {
                let answers = network(weights)?.answers(&inputs)?;
                Ok(f64::try_from((answers.log_prob * &inputs.advantage).mean(Kind::Double))?)
            };
            let error = |weights: &Weights| -> Result<f64, Box<dyn std::error::Error>> {
                let error = (network(weights)?.values(&inputs)? - &inputs.worth).square();
                Ok(f64::try_from(error.mean(Kind::Double))?)
            };
            let before = error(&weights)?;
            let goal = Goal::Reinforce { algorithm, clip: 0.2, entropy: 0.0 };
            tests::updates_follow_the_advantage(&mut weights, 6, gain, |moving, stream| {
                frame.update((&episodes, Some(&findings)), goal, moving, stream)
            })?;
            assert!(error(&weights)? < before, "{algorithm:?}: {} after {before}", error(&weights)?);
        }
    }
    Ok(())
}

/// Runs a training to its end, in one go or saved and read back before every iteration.
fn train(
    ground: &dyn AnyGround,
    params: &ScorerParams,
    threads: usize,
    interrupted: bool,
) -> Result<Checkpoint, Box<dyn std::error::Error>> {
    let (seed, stop) = (params.schedule.seed, AtomicBool::new(false));
    let survey = tests::pool(threads)?.install(|| ground.survey(seed, params.survey, &stop))?;
    let trainee = ScorerTrainee::new(ground, &survey, params, Device::Cpu)?;
    tests::train(&trainee, random(ground.feature_set(), params.shape, seed, &survey), threads, interrupted)
}

#[test]
fn trainings_are_the_same_for_any_number_of_threads_and_across_interruptions() -> Outcome {
    for ground in grounds()? {
        for returns in [ScorerParams::default().gradient.returns, Returns::Average { trace: 1.0 }] {
            tests::the_same_for_any_number_of_threads_and_across_interruptions(|seed, threads, interrupted| {
                let mut params = ScorerParams { blame: 0.9, ..small(seed) };
                params.gradient.returns = returns;
                train(&*ground, &params, threads, interrupted)
            })?;
        }
    }
    Ok(())
}

#[test]
fn imitation_learns_what_the_teacher_does() -> Outcome {
    for ground in grounds()? {
        let mut params = small(1);
        params.schedule = Schedule { imitation: 12, iterations: 0, validation: 4, ..params.schedule };
        params.gradient.epochs = 4;
        let rows = train(&*ground, &params, 2, false)?.rows;
        tests::imitation_learns(&rows, 0.6);
        tests::schedules_better(&rows);
    }
    Ok(())
}

/// A trace teaches what its policy does, in its own episodes.
#[test]
fn a_trace_is_learned_from_as_its_policy_would_be() -> Outcome {
    let dir = tempfile::tempdir()?;
    let (policy_id, workload_id) = ("srpt-fair", "builtin,jobs=8,executors=5");
    let request = RecordRequest::<Dag> {
        policy_id,
        policy: &*sched_distill_dag::policies::open(&policy_id.parse()?)?,
        labeller: None,
        workload_id,
        workload: &sched_distill_dag::workload::open(&workload_id.parse()?)?,
        seed: 1,
        split: Split::Train,
        first_episode: 0,
        episodes: 2,
        shard: Shard::WHOLE,
        force: false,
    };
    record(dir.path(), &request, &(), &AtomicBool::new(false))?;
    let trace = dir.path().to_str().ok_or("a path that is text")?;
    let [of_trace, of_policy] = [trace, policy_id].map(|teacher| ground(&DAG, &[workload_id], Some(teacher)));
    let (of_trace, of_policy) = (of_trace?, of_policy?);
    let network = network(&weights(&*of_trace, &small(1))?)?;
    let turn = Turn { taught: Some(true), workload: 0, episode: EpisodeId::new(1, Split::Train, 1), draws: 5 };
    let (a, b) = (of_trace.play(&network, turn, clock(0.1))?, of_policy.play(&network, turn, clock(0.1))?);
    assert_eq!((&a.levels, &a.steps, &a.outcome), (&b.levels, &b.steps, &b.outcome));
    let sources = of_trace.sources()?.teacher.ok_or("a trace is a source")?;
    assert_eq!(sources.files.values().collect::<Vec<_>>(), [&Trace::open(dir.path())?.hash]);
    Ok(())
}

/// Attributions add up to the difference that they explain.
#[test]
fn attributions_add_up() -> Outcome {
    let dir = tempfile::tempdir()?;
    let params = small(3);
    let ground = ground(&DAG, &["builtin,jobs=8,executors=5"], None)?;
    let weights = weights(&*ground, &params)?;
    let file = dir.path().join("scorer.safetensors");
    std::fs::write(&file, weights.to_tensors().to_safetensors()?)?;
    let (policy_id, workload_id) = (format!("scorer:{}", file.display()), "builtin,jobs=8,executors=5");
    let request = RecordRequest::<Dag> {
        policy_id: &policy_id,
        policy: &*sched_distill_dag::policies::open(&policy_id.parse()?)?,
        labeller: None,
        workload_id,
        workload: &sched_distill_dag::workload::open(&workload_id.parse()?)?,
        seed: 1,
        split: Split::Test,
        first_episode: 0,
        episodes: 2,
        shard: Shard::WHOLE,
        force: false,
    };
    let trace = dir.path().join("trace");
    record(&trace, &request, &(), &AtomicBool::new(false))?;
    let trace = Trace::open(&trace)?;
    let found = scorer_gradients(&weights.to_tensors(), &trace, 12, &AtomicBool::new(false))?;
    tests::attributions_add_up(&found, 3);
    let of = |level: usize| found.questions[level].inputs.iter().map(|i| i.of.as_str()).collect::<Vec<_>>();
    assert!(of(0).contains(&"other candidates") && !of(0).contains(&"levels above"));
    assert!(of(1).contains(&"levels above") && of(2).contains(&"levels above"));
    // What the trace says the network thought is what is explained.
    let first = &trace.level("job")?;
    let mean = first.iter().filter(|c| c.log_prob.len() > 1).map(|c| {
        let chosen = c.chosen.iter().position(|&chosen| chosen).expect("one is carried out");
        f64::from(c.log_prob[chosen])
    });
    let (least, most) = mean.fold((0.0f64, f64::NEG_INFINITY), |(a, b), p| (a.min(p), b.max(p)));
    assert!((least..=most).contains(&found.questions[0].log_prob));
    Ok(())
}
