//! A hand-made run directory: three levels with trees of 34, 16 and 6 leaves, all kinds of scorers, five policies of which
//! one stalled, and two schedules of 30 jobs on 10 executors. The figures are invented.

use super::Outcome;
use sched_distill::{
    evaluator::{
        ClosedLoop, Estimate, Estimates, Evaluation, FidelityRow, PairedFigures, PolicyOutcome, Role, Schedule,
        ScheduleRun,
    },
    figure::COMPLETION_FIGURES,
    level::{Control, FeatureSet, FeatureSpec, LevelSpec, Scope},
    pipeline::{FileHash, RUN_FORMAT, RunInfo, SplitInfo, TeacherInfo},
    rng::Stream,
};
use serde_json::{Value, json};
use std::{collections::BTreeMap, fs, path::Path};

fn feature(name: &str, unit: &str, scope: Scope, meaning: &str) -> FeatureSpec {
    FeatureSpec {
        name: name.into(),
        unit: unit.into(),
        meaning: meaning.into(),
        scope,
        version: 1,
        whole: false,
        control: Control::Declared,
    }
}

fn features() -> FeatureSet {
    use Scope::{Absolute, Rank, Ratio, Share};
    let work = "Tasks not yet launched times their most recent duration, summed over the job's stages.";
    let level = |name: &str, question: &str, entities: &[&str], features: Vec<FeatureSpec>| LevelSpec {
        name: name.into(),
        question: question.into(),
        candidates: String::new(),
        entities: entities.iter().map(|e| (*e).to_owned()).collect(),
        features,
    };
    FeatureSet {
        scenario: "dag".into(),
        levels: vec![
            level(
                "job",
                "Which job gets the executors?",
                &["job"],
                vec![
                    feature("remaining_work", "ms·tasks", Absolute, work),
                    feature(
                        "remaining_work_rank",
                        "1",
                        Rank,
                        "Place of the job when jobs are sorted by remaining work.",
                    ),
                    feature("remaining_work_ratio", "1", Ratio, "Remaining work against the least of any candidate."),
                    feature(
                        "critical_path_ratio",
                        "1",
                        Ratio,
                        "Longest chain of work against the shortest of any candidate.",
                    ),
                    feature(
                        "executors_held_share",
                        "1",
                        Share,
                        "Executors that work for the job or are on their way to it.",
                    ),
                    feature("is_source", "0/1", Absolute, "Whether the free executors come from this job."),
                    FeatureSpec {
                        control: Control::Measured,
                        ..feature("age", "ms", Absolute, "Time since the job arrived.")
                    },
                    feature(
                        "smallest_ready_stage_remaining_tasks_rank",
                        "1",
                        Rank,
                        "Place by tasks of its smallest ready stage.",
                    ),
                ],
            ),
            level(
                "stage",
                "Which stage of that job?",
                &["job", "stage"],
                vec![
                    feature("remaining_tasks", "tasks", Absolute, "Tasks of the stage not yet launched."),
                    feature(
                        "descendants_work_rank",
                        "1",
                        Rank,
                        "Place by the work of all stages that wait for this one.",
                    ),
                    feature("on_critical_path", "0/1", Absolute, "Whether the stage lies on the job's critical path."),
                    feature("task_duration", "ms", Absolute, "Most recent duration of a task of the stage."),
                    feature("children_unlocked", "stages", Absolute, "Stages that become ready when this one ends."),
                ],
            ),
            level(
                "amount",
                "How many executors?",
                &["job", "stage", "amount"],
                vec![
                    feature("amount_against_stage_demand", "1", Share, "Amount divided by what the stage could use."),
                    feature("amount", "executors", Absolute, "Executors given."),
                    feature("jobs_in_system", "jobs", Absolute, "Jobs that have arrived and not completed."),
                ],
            ),
        ],
    }
}

/// A tree of `leaves` leaves, grown at random, with the sums of a regression tree in order.
fn tree(spec: &LevelSpec, leaves: usize, rows: u32, stream: &mut Stream) -> Value {
    fn threshold(f: &FeatureSpec, stream: &mut Stream) -> f32 {
        match (f.scope, f.unit.as_str()) {
            (_, "0/1") => 0.5,
            (Scope::Rank, _) => stream.below(6) as f32 + 0.5,
            (Scope::Ratio, _) => (stream.uniform_in(1.0, 4.0) * 100.0).round() as f32 / 100.0,
            (Scope::Share, _) => (stream.uniform() * 100.0).round() as f32 / 100.0,
            (_, "ms" | "ms·tasks") => (stream.uniform_in(500.0, 4e6)).round() as f32,
            _ => stream.below(30) as f32 + 0.5,
        }
    }
    let mut a: BTreeMap<&str, Vec<Value>> = BTreeMap::new();
    let mut stack = vec![(leaves, rows, 0.5, 0.08, None)];
    let mut n = 0_usize;
    while let Some((leaves, rows, value, impurity, right_of)) = stack.pop() {
        if let Some(parent) = right_of {
            a.get_mut("right").expect("parents come first")[parent] = json!(n);
        }
        let inner = leaves > 1;
        let f = stream.below(spec.features.len());
        let t = threshold(&spec.features[f], stream);
        for (name, entry) in [
            ("feature", json!(if inner { f } else { 0 })),
            ("threshold", json!(if inner { t } else { 0.0 })),
            ("left", json!(if inner { n + 1 } else { u32::MAX as usize })),
            ("right", json!(u32::MAX)),
            ("default_left", json!(true)),
            ("value", json!(value)),
            ("impurity", json!(impurity)),
            ("n_samples", json!(rows)),
            ("weight", json!(f64::from(rows))),
        ] {
            a.entry(name).or_default().push(entry);
        }
        if inner {
            let first = 1 + stream.below(leaves - 1);
            let share = stream.uniform_in(0.2, 0.8);
            let left = ((f64::from(rows) * share) as u32).clamp(1, rows - 1);
            let step = stream.uniform_in(0.05, 0.2);
            stack.push((leaves - first, rows - left, (value - step).max(0.01), impurity * 0.7, Some(n)));
            stack.push((first, left, (value + step).min(0.99), impurity * 0.7, None));
        }
        n += 1;
    }
    let mut tree = json!({"type": "tree", "operator": "<="});
    for (name, entries) in a {
        tree[name] = json!(entries);
    }
    tree
}

fn linear(spec: &LevelSpec, stream: &mut Stream) -> Value {
    let width = spec.features.len();
    let sd: Vec<f64> = (0..width).map(|_| stream.uniform_in(0.5, 40.0)).collect();
    let coefficient: Vec<f64> = sd.iter().map(|s| stream.normal() / s).collect();
    json!({"type": "linear", "coefficient": coefficient, "intercept": 0.0, "feature_sd": sd})
}

fn student(features: &FeatureSet) -> Value {
    let mut stream = Stream::new(11, "report fixture");
    let levels: Vec<Value> = features
        .levels
        .iter()
        .zip([34, 16, 6])
        .map(|(spec, leaves)| {
            json!({"level": spec.name, "use": "tree", "models": [
                {"name": "tree", "model": tree(spec, leaves, 48_213, &mut stream), "temperature": 0.1},
                {"name": "linear", "model": linear(spec, &mut stream), "temperature": 1.0},
            ]})
        })
        .collect();
    json!({
        "format_version": 1, "scenario": "dag", "abstains": false, "feature_set": features, "feature_set_hash": features.hash(),
        "levels": levels,
        "provenance": {"trace_hash": "77".repeat(32), "teacher": "decima:model.pt", "workload": "tpch",
            "parameters": {"max_leaf_nodes": 34}, "fidelity": {}, "crate_version": "0.1.0"},
    })
}

pub(super) fn estimate(value: f64, half: f64) -> Estimate {
    Estimate { value, low: value - half, high: value + half }
}

pub(super) fn fidelity() -> Vec<FidelityRow> {
    let scorers = [
        ("tree", Role::Student, 0.22),
        ("linear", Role::Surrogate, 0.15),
        ("smallest remaining_work", Role::Baseline, 0.08),
        ("smallest smallest_ready_stage_remaining_tasks_rank", Role::Baseline, 0.02),
        ("random", Role::Baseline, -0.25),
    ];
    let mut rows = Vec::new();
    for (level, ease) in [("job", 0.0), ("stage", 0.03), ("amount", -0.05)] {
        for (kind, choices, base) in [("all", 14_403, 0.72), ("affinity", 12_601, 0.75), ("free", 1_802, 0.56)] {
            for (scorer, role, gain) in scorers {
                let top1 = base + gain * (1.0 - base + 0.4) + ease;
                let half = if kind == "free" { 0.031 } else { 0.012 };
                // A level whose teacher gives no probabilities has no regret.
                let known = |e: Estimate| (level != "amount").then_some(e);
                rows.push(FidelityRow {
                    level: level.into(),
                    kind: kind.into(),
                    scorer: scorer.into(),
                    role,
                    choices,
                    episodes: 20,
                    top1: estimate(top1, half),
                    top2: estimate((top1 + 0.1).min(0.99), half / 3.0),
                    top3: estimate((top1 + 0.15).min(0.995), half / 6.0),
                    regret: known(estimate((1.0 - top1) * 0.3, half * 0.4)),
                    cross_entropy: if scorer == "random" { None } else { known(estimate(1.6 - top1, half)) },
                    kendall: known(estimate(top1 - 0.3, half)),
                    executed: Some(estimate(top1 - 0.11, half)),
                    amount_error: (level == "amount").then(|| estimate(0.4, half)),
                });
            }
        }
    }
    rows
}

fn figures<const N: usize>(named: [(&str, Option<Estimate>); N]) -> Estimates {
    named.into_iter().map(|(name, estimate)| (name.to_owned(), estimate)).collect()
}

/// A closed loop on a workload where the student's mean completion time is `student` ms and it stalls `stalled` times.
pub(super) fn closed_loop(workload: &str, student: f64, stalled: usize) -> ClosedLoop {
    let policies = [
        ("decima:model.pt,mode=sample", Role::Teacher, 79_400.0, 0),
        ("student:student.json", Role::Student, student, stalled),
        ("weighted-fair,alpha=-1", Role::Heuristic, 88_000.0, 0),
        ("fair", Role::Heuristic, 104_700.0, 0),
        ("random", Role::Heuristic, 190_000.0, 3),
    ];
    // Episodes differ, and the student gains on the teacher from one to the next.
    let of_episode = |role: Role, jct: f64, i: usize| {
        let drift = if role == Role::Student { 0.93 + 0.01 * i as f64 } else { 1.0 };
        jct * drift * (0.8 + 0.02 * ((i * 7) % 20) as f64)
    };
    let outcome = |(policy, role, jct, stalled): (&str, Role, f64, usize)| PolicyOutcome {
        policy: policy.into(),
        role,
        figures: figures([
            ("mean_jct_ms", Some(estimate(jct, jct * 0.06))),
            ("makespan_ms", Some(estimate(jct * 14.0, jct * 0.5))),
            ("utilisation", Some(estimate(0.713, 0.02))),
            ("jobs_in_system", Some(estimate(jct / 9_000.0, 0.2))),
        ]),
        stalled,
        stalls: (stalled > 0).then(|| ("stranded".to_owned(), stalled)).into_iter().collect(),
        empty: 0,
        rejected: 0,
        longest_idle: None,
        episode_objective: (0..20).map(|i| (i >= stalled).then(|| of_episode(role, jct, i))).collect(),
        completion_quantiles_ms: (0..=100).map(|i| jct * 0.1 * (1.03 + jct / 2e7).powi(i)).collect(),
    };
    let mut comparisons = Vec::new();
    for baseline in ["decima:model.pt,mode=sample", "fair"] {
        let base = policies.iter().find(|p| p.0 == baseline).map_or(1.0, |p| p.2);
        for (policy, _, jct, stalled) in policies.into_iter().filter(|p| p.0 != baseline) {
            let ratio = (stalled == 0).then(|| estimate(jct / base, 0.024));
            let figures = figures([("mean_jct_ms", ratio), ("makespan_ms", ratio)]);
            comparisons.push(PairedFigures {
                policy: policy.into(),
                baseline: baseline.into(),
                figures,
                tail: None,
                by_size: None,
            });
        }
    }
    ClosedLoop {
        identical_episodes: false,
        empty_episodes: Vec::new(),
        workload: workload.into(),
        split: "test".into(),
        episodes: 20,
        looks: None,
        figures: COMPLETION_FIGURES.to_vec(),
        policies: policies.into_iter().map(outcome).collect(),
        comparisons,
        floor: None,
    }
}

fn schedule(policy: &str, role: Role, seed: u64) -> Schedule {
    let mut stream = Stream::new(seed, "schedule fixture");
    let mut runs = Vec::new();
    for lane in 0..10 {
        let (mut at, mut item) = (stream.uniform_in(0.0, 9_000.0), 0);
        while at < 900_000.0 {
            // Jobs drift upwards with time, as arrivals do.
            if stream.uniform() < 0.5 {
                item = ((at / 30_000.0) as u32 + stream.below(4) as u32).min(29);
            }
            let end = at + stream.exponential(9_000.0) + 800.0;
            runs.push(ScheduleRun { lane, item, part: stream.below(7) as u32, start_ms: at, end_ms: end });
            at = end + if stream.uniform() < 0.3 { stream.exponential(4_000.0) } else { 0.0 };
        }
    }
    let items = (0..30).map(|i| (f64::from(i) * 30_000.0, Some(f64::from(i) * 30_000.0 + 80_000.0))).collect();
    Schedule {
        policy: policy.into(),
        role,
        episode: 3,
        lanes: 10,
        lane: "executor".into(),
        part: "stage".into(),
        parts: Vec::new(),
        runs,
        items,
    }
}

fn info() -> RunInfo {
    let split = |split: &str, episodes, decisions| SplitInfo { split: split.into(), episodes, decisions };
    RunInfo {
        format_version: RUN_FORMAT,
        title: "Decima on TPC-H, explained".into(),
        created_by: "sched-distill 0.1.0".into(),
        commands: vec![
            "distill record -p decima:model.pt,mode=sample -w tpch:executors=10,jobs=30 --seed 7 -o runs/a/traces/train".into(),
            "distill fit runs/a/traces/train -o runs/a/student.json".into(),
            "distill report runs/a -o reports/a".into(),
        ],
        teacher: TeacherInfo {
            id: "decima:model.pt,mode=sample".into(),
            name: Some("decima".into()),
            files: vec![FileHash { path: "model.pt".into(), sha256: "3f".repeat(32) }],
        },
        workload: "tpch:executors=10,jobs=30".into(),
        objective: COMPLETION_FIGURES[0].clone(),
        seed: 7,
        splits: vec![split("train", 60, 43_120), split("validation", 20, 14_377), split("test", 20, 14_403)],
        notes: vec!["The teacher samples its actions.".into()],
        words: sched_distill::dag::feature::words(),
        simulated_only: false,
    }
}

/// Writes a run directory with the given student, after `edit` has changed what it likes.
pub(super) fn write_run(dir: &Path, edit: impl FnOnce(&mut RunInfo, &mut FeatureSet, &mut Evaluation)) -> Outcome {
    let (mut info, mut features) = (info(), features());
    let mut evaluation = Evaluation {
        fidelity: fidelity(),
        closed_loop: Some(closed_loop("tpch:executors=10,jobs=30", 81_900.0, 0)),
        ..Evaluation::default()
    };
    edit(&mut info, &mut features, &mut evaluation);
    fs::create_dir_all(dir)?;
    fs::write(dir.join("run.json"), serde_json::to_vec(&info)?)?;
    fs::write(dir.join("student.json"), serde_json::to_vec(&student(&features))?)?;
    fs::write(dir.join("evaluation.json"), serde_json::to_vec(&evaluation)?)?;
    let schedules =
        [schedule("decima:model.pt,mode=sample", Role::Teacher, 1), schedule("student:student.json", Role::Student, 2)];
    fs::write(dir.join("schedules.json"), serde_json::to_vec(&schedules)?)?;
    super::explained::explain(dir)
}
