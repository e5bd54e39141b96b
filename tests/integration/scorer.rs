//! A network over features as the teacher, in every scenario.

use crate::{
    new_scenario::{MACHINE, Machine},
    program::{done, refused},
    random_scorer::random_scorer,
};
use sched_distill::{
    dag::{self, Dag},
    deadlines::Deadlines,
    level::log_sum_exp,
    network::scorer::{Scorer, ScorerPolicy, ScorerWeights},
    pipeline::{Caller, CheckParams},
    policy::Policy,
    preemption::Preemption,
    registry,
    scenario::{Answer, ChoiceRows, Questions, Said, Scenario},
    serving::Serving,
    simulation::{Simulated, Simulation},
    trace::Trace,
    training::{self, Training},
};
use std::{
    error::Error,
    fs,
    path::Path,
    sync::{Arc, atomic::AtomicBool},
};

type Outcome<T = ()> = Result<T, Box<dyn Error>>;

static STOP: AtomicBool = AtomicBool::new(false);

const CALLER: Caller<'static> = Caller { watch: &(), stop: &STOP };

/// Writes a random network for a scenario.
fn write<S: Scenario>(dir: &Path, seed: u64) -> Outcome<String> {
    let path = dir.join(format!("{}.safetensors", S::INFO.name));
    fs::write(&path, random_scorer((S::INFO.feature_set)(), seed).to_safetensors()?)?;
    Ok(path.display().to_string())
}

#[test]
fn it_keeps_the_contract_in_every_scenario() -> Outcome {
    let dir = tempfile::tempdir()?;
    let registry = registry::all().with(&MACHINE);
    for (name, file) in [
        ("dag", write::<Dag>(dir.path(), 1)?),
        ("training", write::<Training>(dir.path(), 1)?),
        ("deadlines", write::<Deadlines>(dir.path(), 1)?),
        ("preemption", write::<Preemption>(dir.path(), 1)?),
        ("serving", write::<Serving>(dir.path(), 1)?),
        ("machine", write::<Machine>(dir.path(), 1)?),
    ] {
        let scenario = registry.find(name).ok_or("it is registered")?;
        for mode in ["greedy", "sample"] {
            let params = CheckParams {
                policy: format!("scorer:{file},mode={mode}"),
                against: None,
                workloads: Vec::new(),
                seed: 1,
                episodes: 1,
                decisions: 150,
            };
            let found = scenario.check_policy(&params, CALLER)?.found;
            let failed: Vec<_> = found.checks.iter().filter(|check| check.failed > 0).collect();
            assert!(failed.is_empty(), "{name}, {mode}: {failed:?}");
            assert!(found.decisions > 50 && found.checks[4].tested > 0, "{name}: probabilities are named");
        }
    }
    Ok(())
}

/// What a recording has of a level at a path is what the network says of its candidates there.
fn levels_are_the_networks<S: Simulated>(workload: &str) -> Outcome {
    let workload = S::open_workload(&workload.parse()?)?;
    let tensors = random_scorer((S::INFO.feature_set)(), 3);
    let weights = Arc::new(ScorerWeights::from_tensors(&tensors, "random")?);
    let (mut policy, mut scorer) = (ScorerPolicy::<S>::new(Arc::clone(&weights), false), Scorer::new(weights));
    let mut sim = S::start(&workload, workload.jobs(5), 5);
    let (mut questions, mut p, mut rows) = (S::Questions::default(), Said::default(), ChoiceRows::default());
    let mut compared = 0;
    let mut careless = ScorerPolicy::<S>::new(Arc::clone(scorer.weights()), false).may_strand();
    for _ in 0..200 {
        let Some(seen) = sim.view() else { break };
        p.clear();
        let decision = policy.decide(&seen, &mut p)?;
        if careless.act(&seen)? != decision {
            // Kept from stranding the cluster, it says something else than the network.
            sim.step(decision).map_err(|e| e.to_string())?;
            continue;
        }
        questions.update(&seen);
        let mut path = Vec::new();
        let answer = Answer { decision, said: &p };
        while questions.choice(&seen, &path, &answer, false, &mut rows) {
            let mut x = Vec::new();
            questions.rows(&seen, &path, false, &mut x);
            let scores: Vec<f64> = scorer.score(path.len(), &x).iter().map(|&s| f64::from(s)).collect();
            let total = log_sum_exp(&scores);
            for (found, score) in rows.log_prob.iter().zip(&scores) {
                assert!((f64::from(*found) - (score - total)).abs() < 1e-4, "{found} {}", score - total);
                compared += 1;
            }
            let chosen = rows.chosen.ok_or("what it decides is a candidate")?;
            // Greedy is the most probable candidate, level by level.
            assert!(scores.iter().all(|&score| score as f32 <= scores[chosen] as f32));
            scorer.take(path.len(), chosen);
            path.push(chosen);
        }
        // A slot is closed, and nothing is started, at the first level; a deadline is given up at the second.
        let lengths: &[usize] = match S::INFO.name {
            "dag" => &[3],
            "training" => &[1, 3],
            "deadlines" => &[1, 2, 3],
            // Who is served, or who is condemned for whom.
            "preemption" => &[1, 2],
            // Who is served, or what joins whose batch.
            "serving" => &[1, 2],
            _ => &[1],
        };
        assert!(lengths.contains(&path.len()), "{path:?}");
        sim.step(decision).map_err(|e| e.to_string())?;
    }
    assert!(compared > 200, "{compared}");
    Ok(())
}

#[test]
fn recordings_have_what_the_network_says() -> Outcome {
    levels_are_the_networks::<Dag>("builtin,jobs=20,executors=8")?;
    levels_are_the_networks::<Training>("builtin,nodes=6,jobs=12,max=4")?;
    levels_are_the_networks::<Deadlines>("builtin,jobs=15")?;
    levels_are_the_networks::<Preemption>("builtin,jobs=40,nodes=4")?;
    levels_are_the_networks::<Serving>("builtin,seconds=0.2")?;
    levels_are_the_networks::<Machine>("builtin")
}

/// A random network would strand clusters if it were let; as a policy it never does.
#[test]
fn it_strands_no_cluster() -> Outcome {
    let mut would = 0;
    for seed in 0..6 {
        let weights = Arc::new(ScorerWeights::from_tensors(&random_scorer(dag::feature::feature_set(), seed), "r")?);
        let workload = dag::workload::open(&"builtin,edge=chains,jobs=4,executors=8".parse()?)?;
        for (mut policy, is_kept) in [
            (ScorerPolicy::<Dag>::new(Arc::clone(&weights), true), true),
            (ScorerPolicy::<Dag>::new(weights, true).may_strand(), false),
        ] {
            for episode in 0..40 {
                let mut sim = Dag::start(&workload, workload.jobs(episode), episode);
                policy.reset(episode);
                while let Some(seen) = sim.view() {
                    let decision = policy.act(&seen)?;
                    sim.step(decision)?;
                }
                let stalled = sim.outcome().ok_or("it has ended")?.stalled();
                assert!(!(is_kept && stalled));
                would += u32::from(stalled);
            }
        }
    }
    assert!(would > 0, "the test shows nothing where nothing would be stranded");
    Ok(())
}

/// Recorded, distilled, measured, attacked, served: as any teacher.
#[test]
fn it_is_a_teacher_as_any_other() -> Outcome {
    let folder = tempfile::tempdir()?;
    let dir = folder.path();
    let file = write::<Dag>(dir, 2)?;
    let (teacher, workload) = (format!("scorer:{file}"), "builtin,jobs=10,executors=5");
    let common = ["-w", workload];
    done(dir, &[&["record", "-p", &teacher, "-n", "6", "-o", "train"][..], &common].concat());
    let test = [&["record", "-p", &teacher, "-n", "3", "--split", "test", "-o", "test"][..], &common].concat();
    done(dir, &test);
    let trace = Trace::open(&dir.join("train"))?;
    assert!(trace.level("job")?.iter().all(|choice| choice.has_probabilities()));
    assert_eq!(trace.manifest.labeller.files.len(), 1, "the file's hash is recorded");
    done(dir, &["fit", "train", "-o", "student.json", "--max-leaves", "12"]);
    let with = [&["-t", teacher.as_str(), "-n", "4"][..], &common].concat();
    let said = done(dir, &[&["evaluate", "student.json", "test"][..], &with].concat());
    assert!(said.contains("scorer"), "{said}");
    done(dir, &[&["attack", "-p", &teacher, "-n", "2", "--targets", "3", "-o", "attacks"][..], &common].concat());
    let loops = ["--iterations", "1", "--episodes", "2", "--validation-episodes", "1", "-o", "loop"];
    done(dir, &[&["loop", "dagger", "-t", &teacher][..], &common, &loops].concat());
    let said = done(dir, &["inspect", &file]);
    assert!(said.contains("scorer of `dag`") && said.contains("16 neurons, 2 layers"), "{said}");
    if !cfg!(feature = "torch") {
        refused(dir, &["explain", "student.json", "test", "--gradients", "5"], &["without libtorch"]);
    }
    Ok(())
}

#[test]
fn files_that_do_not_fit_are_refused() -> Outcome {
    let folder = tempfile::tempdir()?;
    let dir = folder.path();
    let (of_dag, of_training) = (write::<Dag>(dir, 1)?, write::<Training>(dir, 1)?);
    let simulate = |scenario: &str, policy: &str, words: &[&str]| {
        refused(dir, &["simulate", "--scenario", scenario, "-p", policy, "-n", "1"], words);
    };
    simulate("dag", "scorer", &["scorer:FILE", "a checkpoint written by `distill train scorer`"]);
    simulate("dag", "scorer:missing.safetensors", &["missing.safetensors"]);
    simulate("dag", &format!("scorer:{of_dag},mode=best"), &["one of greedy, sample"]);
    simulate("dag", &format!("scorer:{of_dag},cap=2"), &["unknown parameter `cap`"]);
    simulate(
        "dag",
        &format!("scorer:{of_training}"),
        &["trained on another feature set", "scenario `training` against `dag`", "train scorer --scenario dag"],
    );
    // Another network's checkpoint, half a file, a file of another version of the features.
    let decima = Path::new(env!("CARGO_MANIFEST_DIR")).join("data/decima-builtin.safetensors");
    simulate("dag", &format!("scorer:{}", decima.display()), &["not a checkpoint of `distill train scorer`"]);
    let bytes = fs::read(&of_dag)?;
    fs::write(dir.join("half.safetensors"), &bytes[..bytes.len() / 2])?;
    simulate("dag", "scorer:half.safetensors", &["half.safetensors: damaged safetensors file"]);
    let mut set = training::feature::feature_set().clone();
    set.levels[1].features[0].version += 1;
    fs::write(dir.join("older.safetensors"), random_scorer(&set, 1).to_safetensors()?)?;
    simulate("training", "scorer:older.safetensors", &["level `job`: feature `idle` is v2"]);
    Ok(())
}
