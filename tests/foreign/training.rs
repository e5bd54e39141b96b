//! `distill train`: what it writes, how it goes on, what it refuses.

use crate::{
    common::files,
    program::{TINY, done, record, refused},
};
use std::{fs, path::Path};

/// A training of a few seconds.
const SHORT: [&str; 14] = [
    "train",
    "decima",
    "-w",
    TINY,
    "--iterations",
    "3",
    "--sequences",
    "2",
    "--rollouts",
    "2",
    "--validate-every",
    "2",
    "--validation-episodes",
    "2",
];

fn train(dir: &Path, more: &[&str]) -> String {
    done(dir, &[&SHORT[..], more].concat())
}

/// All that a folder holds but for what depends on time.
fn timeless(dir: &Path) -> Vec<(String, Vec<u8>)> {
    let timed = ["timings.json", "state.safetensors", "curve.svg", "curve.png"];
    files(dir).into_iter().filter(|(name, _)| !timed.contains(&name.as_str())).collect()
}

#[test]
fn a_training_writes_a_network_that_schedules_and_goes_on_where_it_stopped() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    let said = train(dir, &["-o", "whole", "-j", "1"]);
    assert!(said.contains("3 iterations") && said.contains("all done") && said.contains("best.safetensors"), "{said}");
    let whole = files(&dir.join("whole"));
    let names: Vec<&str> = whole.keys().map(String::as_str).collect();
    let expected = [
        "best.safetensors",
        "curve.png",
        "curve.svg",
        "last.safetensors",
        "metrics.parquet",
        "plan.json",
        "state.safetensors",
        "timings.json",
    ];
    assert_eq!(names, expected);
    assert!(whole["curve.png"].starts_with(b"\x89PNG") && whole["metrics.parquet"].starts_with(b"PAR1"));
    let schedule = done(dir, &["simulate", "-p", "decima:whole/best.safetensors", "-w", TINY, "-n", "2"]);
    assert!(schedule.contains("decima:whole/best.safetensors"), "{schedule}");

    // Stopped by the clock before the first iteration, then gone on with: the same bytes, for another number of threads.
    train(dir, &["-o", "parts", "-j", "2", "--time-limit", "0s"]);
    train(dir, &["-o", "parts", "-j", "2"]);
    assert_eq!(timeless(&dir.join("whole")), timeless(&dir.join("parts")));
    // There is nothing left to do, and nothing changes.
    let before = files(&dir.join("whole"));
    train(dir, &["-o", "whole"]);
    assert_eq!(before, files(&dir.join("whole")));

    refused(
        dir,
        &[&SHORT[..], &["-o", "whole", "--clip", "0.3"]].concat(),
        &["another training", "params.clip", "--force"],
    );
    train(dir, &["-o", "whole", "--clip", "0.3", "--force"]);
    fs::write(dir.join("whole/state.safetensors"), b"half a fi").unwrap();
    refused(dir, &[&SHORT[..], &["-o", "whole", "--clip", "0.3"]].concat(), &["state.safetensors", "--force"]);
}

#[test]
fn checkpoints_heuristics_and_traces_are_beginnings() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    train(dir, &["-o", "first"]);
    train(
        dir,
        &["-o", "second", "--init", "first/best.safetensors", "--algorithm", "reinforce", "--returns", "average"],
    );
    record(dir, "train", "4", "train");
    for (name, teacher) in [("policy", "srpt-fair"), ("fair", "fair"), ("trace", "train")] {
        let warm = ["--warm-start", teacher, "--warm-start-iterations", "4"];
        let said = train(dir, &[&["-o", name][..], &warm].concat());
        assert!(said.contains("7 iterations"), "{said}");
    }
    // A network that was trained here is recorded, distilled and asked what it goes by.
    for (name, split) in [("n-train", "train"), ("n-test", "test")] {
        let teacher =
            ["record", "-p", "decima:policy/last.safetensors,mode=sample", "-w", TINY, "-n", "4", "--split", split];
        done(dir, &[&teacher[..], &["-o", name]].concat());
    }
    done(dir, &["fit", "n-train", "-o", "student.json"]);
    let said = done(dir, &["explain", "student.json", "n-test", "--gradients", "20", "--run", "run"]);
    assert!(said.contains("what the network itself goes by") && said.contains("executors_held"), "{said}");
    let kept = || fs::read_to_string(dir.join("run/explanation.json")).unwrap();
    assert!(kept().contains("\"gradients\""));
    done(dir, &["explain", "student.json", "n-test", "--run", "run"]);
    assert!(kept().contains("\"gradients\""), "what was measured once stays");
    record(dir, "heuristic", "4", "test");
    refused(
        dir,
        &["explain", "student.json", "heuristic", "--gradients", "20"],
        &["gradients of decima and of scorer:FILE only"],
    );

    let lines = done(dir, &[&["--json"], &SHORT[..], &["-o", "json"]].concat());
    let kinds: Vec<serde_json::Value> = lines.lines().map(|l| serde_json::from_str(l).unwrap()).collect();
    assert!(kinds.iter().any(|l| l["type"] == "iteration" && l["validation"]["greedy"]["stalled"].is_u64()), "{lines}");
    assert!(kinds.last().is_some_and(|l| l["type"] == "train" && l["end"] == "iterations"), "{lines}");
}

#[test]
fn what_cannot_be_trained_is_refused_with_a_reason() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    let refuse = |more: &[&str], words: &[&str]| refused(dir, &[&SHORT[..], &["-o", "x"], more].concat(), words);
    refuse(&["--minibatches", "0"], &["minibatches must be at least 1"]);
    refuse(&["--entropy", "nan"], &["entropy must be a finite number"]);
    refuse(&["--init", "nothing.pt"], &["nothing.pt", "cannot read"]);
    refuse(&["--warm-start", "clever"], &["unknown policy `clever`"]);
    refuse(&["--reference", "clever"], &["unknown policy `clever`"]);
    refuse(&["--device", "cuda:7"], &["cuda:7 is not there", "--device cpu"]);
    refuse(&["--device", "tpu"], &["cpu, cuda or cuda:N"]);
    fs::create_dir(dir.join("empty")).unwrap();
    refuse(&["--warm-start", "empty"], &["the trace to learn from cannot be used", "manifest.json"]);
    fs::write(dir.join("file"), "").unwrap();
    refused(dir, &[&SHORT[..], &["-o", "file"]].concat(), &["file", "cannot create the folder"]);
    fs::write(dir.join("other.safetensors"), b"\x02\0\0\0\0\0\0\0{}").unwrap();
    refuse(&["--init", "other.safetensors"], &["other.safetensors", "missing"]);
}

/// A training of DL2 of a few seconds.
const SHORT_DL2: [&str; 10] = [
    "train",
    "dl2",
    "-w",
    "builtin,nodes=6,jobs=12,max=4",
    "--traces",
    "3",
    "--validate-every",
    "2",
    "--validation-episodes",
    "2",
];

#[test]
fn dl2_learns_from_nothing_from_a_heuristic_and_from_a_trace() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    let train_for = |iterations, more: &[&str]| {
        done(dir, &[&SHORT_DL2[..], &["--hidden", "16", "--iterations", iterations], more].concat())
    };
    let train = |more: &[&str]| train_for("2", more);
    let said = train(&["-o", "whole", "-j", "1"]);
    assert!(said.contains("2 iterations") && said.contains("mean JCT ÷ drf on 2 validation episodes"), "{said}");
    // Stopped by the clock before the first iteration, then gone on with: the same bytes, for another number of threads.
    train(&["-o", "parts", "-j", "2", "--time-limit", "0s"]);
    train(&["-o", "parts", "-j", "2"]);
    assert_eq!(timeless(&dir.join("whole")), timeless(&dir.join("parts")));
    let policies =
        ["-p", "drf", "-p", "dl2:whole/best.safetensors", "-p", "dl2:whole/last.safetensors,mode=sample,window=5"];
    let simulate = ["simulate", "--scenario", "training", "-w", SHORT_DL2[3], "-n", "2"];
    let schedule = done(dir, &[&simulate[..], &policies].concat());
    assert!(schedule.contains("window=5") && schedule.contains("each job alone at its best"), "{schedule}");

    // The published form; a checkpoint knows its window.
    train(&["-o", "flat", "--form", "flat", "--window", "7"]);
    let simulate_flat = |policy| [&simulate[..], &["-p", "drf", "-p", policy]].concat();
    let schedule = done(dir, &simulate_flat("dl2:flat/best.safetensors,window=7"));
    assert!(schedule.contains("dl2:flat/best.safetensors"), "{schedule}");
    refused(dir, &simulate_flat("dl2:flat/best.safetensors,window=8"), &["a window of 7 jobs, not 8"]);

    let warm = |more: &[&str]| train_for("0", &[&["--warm-start-iterations", "2"], more].concat());
    warm(&["-o", "warm", "--warm-start", "optimus"]);
    let record =
        ["record", "--scenario", "training", "-p", "optimus", "-w", SHORT_DL2[3], "-n", "3", "--split", "train"];
    done(dir, &[&record[..], &["-o", "trace"]].concat());
    warm(&["-o", "traced", "--warm-start", "trace"]);
    train(&["-o", "tuned", "--init", "traced/best.safetensors", "--reference", "optimus"]);
    // A trace of a slot-by-slot cluster is none of jobs of stages.
    let other = [&SHORT[..], &["-o", "x", "--warm-start", "trace"]].concat();
    refused(dir, &other, &["trace", "of the scenario training", "the network is for dag"]);

    let refuse = |more: &[&str], words: &[&str]| refused(dir, &[&SHORT_DL2[..], &["-o", "x"], more].concat(), words);
    refuse(&["--scenario", "dag"], &["--scenario dag", "dl2 is of the scenario `training`"]);
    refuse(&["--window", "0"], &["--window", "1..=10000"]);
    refuse(&["--init", "flat/best.safetensors"], &["policy.job.weight", "missing"]);
    refuse(&["--hidden", "40"], &["--hidden 40", "multiples of 16"]);
    refuse(&["--discount", "1.5"], &["discount must be within 0 to 1, got 1.5"]);
    refuse(&["--init", "tuned/state.safetensors"], &["tuned/state.safetensors", "policy.job.weight", "missing"]);
    refuse(&["--init", "whole/best.safetensors", "--hidden", "32"], &["has shape [16, 13], expected [32, 13]"]);
}

/// Options of a training of a scorer that takes seconds.
const SHORT_SCORER: [&str; 12] = [
    "--iterations",
    "3",
    "--sequences",
    "2",
    "--rollouts",
    "2",
    "--survey",
    "2",
    "--validate-every",
    "2",
    "--validation-episodes",
    "2",
];

#[test]
fn a_scorer_learns_in_any_scenario_and_goes_on_where_it_stopped() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path();
    for (scenario, workloads, teacher) in [
        ("dag", [TINY, "builtin,jobs=5,executors=3"], "srpt-fair"),
        ("training", [SHORT_DL2[3], "builtin,nodes=4,jobs=6,max=3"], "optimus"),
    ] {
        let at = |name: &str| format!("{scenario}-{name}");
        let train = |more: &[&str]| {
            let of = ["train", "scorer", "--scenario", scenario, "-w", workloads[0], "-w", workloads[1]];
            done(dir, &[&of[..], &SHORT_SCORER, more].concat())
        };
        let said = train(&["-o", &at("whole"), "-j", "1"]);
        assert!(said.contains("3 iterations") && said.contains("on 2 validation episodes of each workload"), "{said}");
        // Stopped by the clock before the first iteration, then gone on with: the same bytes, for another number of threads.
        train(&["-o", &at("parts"), "-j", "2", "--time-limit", "0s"]);
        train(&["-o", &at("parts"), "-j", "3"]);
        assert_eq!(timeless(&dir.join(at("whole"))), timeless(&dir.join(at("parts"))));
        let file = format!("{}/best.safetensors", at("whole"));
        let policies = [format!("scorer:{file}"), format!("scorer:{file},mode=sample")];
        let with: Vec<&str> = policies.iter().flat_map(|policy| ["-p", policy]).collect();
        let schedule = [&["simulate", "--scenario", scenario, "-w", workloads[0], "-n", "2"][..], &with].concat();
        assert!(done(dir, &schedule).contains("best.safetensors,mode=sample"));

        // From a heuristic, from a trace, from a checkpoint.
        let warm = ["--warm-start", teacher, "--warm-start-iterations", "2"];
        let said = train(&[&["-o", &at("warm"), "--width", "16", "--depth", "1"][..], &warm].concat());
        assert!(said.contains("5 iterations"), "{said}");
        let recorded =
            ["record", "--scenario", scenario, "-p", teacher, "-w", workloads[0], "-n", "2", "--split", "train"];
        done(dir, &[&recorded[..], &["-o", &at("trace")]].concat());
        let trace = at("trace");
        train(&[
            "-o",
            &at("traced"),
            "--warm-start",
            &trace,
            "--warm-start-iterations",
            "1",
            "--algorithm",
            "reinforce",
        ]);
        train(&["-o", &at("tuned"), "--init", &file, "--returns", "average", "--reference", teacher]);
        let refuse = |more: &[&str], words: &[&str]| {
            let of = ["train", "scorer", "--scenario", scenario, "-w", workloads[0], "-o", "x"];
            refused(dir, &[&of[..], &SHORT_SCORER, more].concat(), words);
        };
        refuse(&["--init", &file, "--width", "48"], &["has shape", "expected [48,"]);
        refuse(&["--width", "20"], &["width and depth must be a multiple of 16"]);
        refuse(&["--minibatches", "0"], &["minibatches must be at least 1"]);
        refuse(&["--warm-start", "clever"], &["unknown policy `clever`"]);
        let other = if scenario == "dag" { "optimus" } else { "srpt-fair" };
        refuse(&["--warm-start", other], &["unknown policy"]);
    }
    let crossed = ["train", "scorer", "--scenario", "dag", "-w", TINY, "-o", "x", "--warm-start", "training-trace"];
    refused(dir, &crossed, &["of the scenario training", "the network is for dag"]);
    refused(
        dir,
        &["train", "scorer", "-w", TINY, "-o", "x", "--init", "training-whole/best.safetensors"],
        &["training-whole/best.safetensors", "scenario `training` against `dag`"],
    );
    // What it goes by, from the trace alone.
    for (name, split) in [("n-train", "train"), ("n-test", "test")] {
        let record = ["record", "-p", "scorer:dag-whole/last.safetensors", "-w", TINY, "-n", "4", "--split", split];
        done(dir, &[&record[..], &["-o", name]].concat());
    }
    done(dir, &["fit", "n-train", "-o", "student.json"]);
    let said = done(dir, &["explain", "student.json", "n-test", "--gradients", "20", "--run", "run"]);
    assert!(said.contains("beside a decision in which every feature is at its mean"), "{said}");
    assert!(said.contains("the chosen candidate") && said.contains("levels above"), "{said}");
    fs::copy(dir.join("dag-tuned/last.safetensors"), dir.join("dag-whole/last.safetensors")).unwrap();
    refused(dir, &["explain", "student.json", "n-test", "--gradients", "20"], &["another network", "record it again"]);
    // Another version of the features is no beginning.
    let mut set = sched_distill::dag::feature::feature_set().clone();
    set.levels[0].features[1].version += 1;
    let older = crate::random_scorer::random_scorer(&set, 1).to_safetensors().unwrap();
    fs::write(dir.join("older.safetensors"), older).unwrap();
    let begin = ["train", "scorer", "-w", TINY, "-o", "x", "--width", "16", "--init", "older.safetensors"];
    refused(dir, &begin, &["older.safetensors", "trained on another feature set", "`is_source` is v2"]);
}

/// The scenario of `docs/new-scenario.md`, of which the trainer knows nothing, is learned from nothing by what it says of costs.
#[test]
fn a_scenario_of_ones_own_is_learned() -> Result<(), Box<dyn std::error::Error>> {
    use crate::new_scenario::MACHINE;
    use sched_distill::{
        pipeline::{AnyScenario as _, PracticeParams},
        trainer::{
            Checkpoint, Device, Schedule, Session,
            scorer::{ScorerParams, ScorerTrainee, random},
        },
    };
    let practice = PracticeParams { workloads: vec!["builtin".into()], reference: Some("moore".into()), teacher: None };
    let ground = MACHINE.practice(&practice)?;
    let schedule = Schedule {
        iterations: 100,
        anneal: 100,
        validate_every: 100,
        validation: 50,
        ..ScorerParams::default().schedule
    };
    let params = ScorerParams { schedule, ..ScorerParams::default() };
    let stop = std::sync::atomic::AtomicBool::new(false);
    let survey = ground.survey(0, params.survey, &stop)?;
    let trainee = ScorerTrainee::new(&*ground, &survey, &params, Device::Cpu)?;
    let begin = random(ground.feature_set(), params.shape, 0, &survey);
    let mut session = Session::new(&trainee, Checkpoint::new(begin), &stop)?;
    while session.end().is_none() {
        session.step()?;
    }
    let greedy = |row: usize| session.checkpoint().rows[row].validation.and_then(|v| v.greedy.compared);
    // Of the share on time, beside the best rule that the scenario has: more is better.
    let (first, last) = (greedy(0).ok_or("all ended")?, greedy(100).ok_or("all ended")?);
    assert!(first < -0.1 && last > 0.0, "{first} {last}");
    Ok(())
}
