//! Students as schedulers of the scenario.

use sched_distill_core::{
    level::{first_max, log_sum_exp},
    model::{
        Additive, CompiledGuards, Guard, LevelModels, Model, NamedModel, Provenance, ScoreCandidates, Structure,
        Student,
    },
    policy::{Policy, StudentPolicy},
    rng::Stream,
    scenario::{Said, Scenario as _},
    simulation::Simulation as _,
};
use sched_distill_dag::{
    Dag, Decision, Kind, StageRef, View,
    feature::{Extractor, feature_set},
    simulator::Simulator,
    workload,
};
use std::path::Path;

/// A student of random linear scores.
fn student(seed: u64, abstains: bool) -> Student {
    let set = feature_set().clone();
    let mut stream = Stream::new(seed, "student");
    let mut level = |name: &str| {
        let width = set.level(name).unwrap().features.len();
        // Ranks and flags stay small; times and work are left out.
        let named = |i: usize| {
            set.level(name).unwrap().features[i].name.ends_with("_rank")
                || set.level(name).unwrap().features[i].unit == "0/1"
        };
        let coefficient: Vec<f64> = (0..width).map(|i| if named(i) { stream.normal() } else { 0.0 }).collect();
        let linear = Additive::linear(&coefficient, &vec![0.0; width]);
        let temperature = stream.uniform_in(0.2, 2.0);
        let named = NamedModel { name: "linear".to_owned(), temperature, model: Model::Additive(linear) };
        LevelModels::new(name, "linear", vec![named])
    };
    let levels = ["job", "stage", "amount"].map(&mut level).to_vec();
    Student { structure: Structure::Flat, ..Student::new(set, abstains, levels, Provenance::default()) }
}

/// Log-probabilities of a level by the definition.
fn log_probs(student: &Student, level: &str, x: &[f32], n: usize) -> Vec<f64> {
    let (named, width) = (student.model(level, None).unwrap(), x.len() / n);
    let mut scores = vec![0.0; n];
    named.model.score_choice(x, width, &mut scores);
    let guards = CompiledGuards::new(&student.guards, student.feature_set.level(level).unwrap());
    (0..guards.len()).for_each(|guard| guards.apply(guard, x, width, &mut scores));
    scores.iter_mut().for_each(|s| *s /= named.temperature);
    let total = log_sum_exp(&scores);
    scores.iter().map(|s| s - total).collect()
}

#[test]
fn a_flat_student_takes_the_most_probable_path_by_brute_force() {
    let (mut questions, mut not_of_the_best_job, mut nothing, mut wary) = (0, 0, 0, 0);
    for seed in 0..12 {
        let mut student = student(seed, seed % 3 == 2);
        if seed % 2 == 1 {
            for text in
                ["job: is_source first", "job: remaining_work_rank > 2 last", "stage: unfinished_parents > 0 last"]
            {
                student.guards.push(Guard::parse(text, &student.feature_set).unwrap());
            }
        }
        let mut policy = StudentPolicy::<Dag>::new(&student, Path::new("student.json"), None).unwrap();
        let spec = "builtin,jobs=20,executors=8,rate=1e-4".parse().unwrap();
        let workload = workload::open(&spec).unwrap();
        let mut sim = Simulator::new(*workload.cluster(), workload.jobs(seed), seed);
        let mut extractor = Extractor::default();
        while let Some(seen) = sim.view() {
            let decision = policy.decide(&seen, &mut Said::default()).unwrap();
            extractor.update(&seen);
            let jobs: Vec<u32> = extractor.snapshot().candidate_jobs().collect();
            let expected = paths(&student, &mut extractor, &seen, false);
            let taken = match decision {
                Decision::Assign { stage, .. } => Some(stage),
                Decision::Abstain => None,
            };
            let is_best = |paths: &[(f64, Option<StageRef>)]| {
                let (most, best) = paths[first_max(paths.iter().map(|p| p.0))];
                let p = paths.iter().find(|p| p.1 == taken).map_or(f64::NEG_INFINITY, |p| p.0);
                taken == best || (p - most).abs() < 1e-12
            };
            // Or it is the best of those that do not strand the cluster.
            let otherwise = !is_best(&expected);
            assert!(!otherwise || is_best(&paths(&student, &mut extractor, &seen, true)), "{taken:?}");
            assert!(!seen.strands(decision));
            questions += 1;
            wary += u32::from(otherwise);
            let of_job = |job: u32| expected.iter().filter(move |p| p.1.is_some_and(|s| s.job == job)).map(|p| p.0);
            let best_job = jobs[first_max(jobs.iter().map(|&job| log_sum_exp(&of_job(job).collect::<Vec<_>>())))];
            not_of_the_best_job += u32::from(!otherwise && taken.is_some_and(|s| s.job != best_job));
            nothing += u32::from(taken.is_none());
            // Who gives nothing for ever would strand the cluster.
            let (stage, executors) = (seen.schedulable()[0], 1);
            sim.step(if taken.is_some() { decision } else { Decision::Assign { stage, executors } }).unwrap();
        }
    }
    let counts = [questions, not_of_the_best_job, nothing, wary];
    assert!(questions > 2_000 && not_of_the_best_job > 20 && nothing > 20 && wary > 5, "{counts:?}");
}

/// Other kinds are asked as ever, guards hold, and an episode has the draws of its seed.
#[test]
fn choices_left_to_chance_take_every_candidate_that_guards_leave_alike() {
    let mut student = Student { structure: Structure::Hierarchical, ..student(5, false) };
    student.guards.push(Guard::parse("job: remaining_work_rank > 2 last", &student.feature_set).unwrap());
    let guards = CompiledGuards::new(&student.guards, student.feature_set.level("job").unwrap());
    let mut usual = StudentPolicy::<Dag>::new(&student, Path::new("student.json"), None).unwrap();
    let mut by_chance = usual.copy().by_chance(0, Kind::Free as u8).fresh();
    let workload = workload::open(&"builtin,jobs=400,executors=8,rate=4e-4".parse().unwrap()).unwrap();
    let mut episode = |seed: u64| {
        by_chance.reset(seed);
        let mut sim = Simulator::new(*workload.cluster(), workload.jobs(1), 1);
        let (mut extractor, mut x) = (Extractor::default(), Vec::new());
        let (mut places, mut others, mut all) = ([0u32; 3], 0, Vec::new());
        while let Some(seen) = sim.view() {
            let decision = by_chance.decide(&seen, &mut Said::default()).unwrap();
            let Decision::Assign { stage, .. } = decision else { panic!("it never abstains") };
            if Dag::kind(&seen) == Kind::Free as u8 {
                extractor.update(&seen);
                x.clear();
                extractor.job_rows(&seen, false, &mut x);
                let jobs: Vec<u32> = extractor.snapshot().candidate_jobs().collect();
                let mut scores = vec![0.0; jobs.len()];
                guards.apply(0, &x, x.len() / jobs.len(), &mut scores);
                let left: Vec<u32> =
                    jobs.into_iter().zip(scores).filter(|(_, s)| *s == 0.0).map(|(job, _)| job).collect();
                let place = left.iter().position(|&job| job == stage.job).expect("the guard holds");
                if left.len() == places.len() {
                    places[place] += 1;
                }
            } else {
                assert_eq!(usual.decide(&seen, &mut Said::default()).unwrap(), decision);
                others += 1;
            }
            all.push(decision);
            sim.step(decision).unwrap();
        }
        (places, others, all)
    };
    let (places, others, all) = episode(3);
    let n = places.iter().sum::<u32>();
    assert!(n > 300 && others > 300, "{places:?} {others}");
    // Four deviations of a third of n draws.
    let far = places.iter().map(|&c| (f64::from(c) - f64::from(n) / 3.0).abs()).fold(0.0, f64::max);
    assert!(far < 4.0 * (f64::from(n) * 2.0 / 9.0).sqrt(), "{places:?}");
    assert!(episode(3).2 == all && episode(4).2 != all);
}

/// Log-probabilities of all stages, and of giving nothing where the student may, with or without what strands the cluster.
fn paths(student: &Student, extractor: &mut Extractor, seen: &View<'_>, wary: bool) -> Vec<(f64, Option<StageRef>)> {
    // Which candidates stay, and their rows.
    let keep = |stays: &[bool], x: &[f32]| -> Vec<f32> {
        let rows = x.chunks_exact(x.len() / stays.len());
        rows.zip(stays).filter(|(_, stays)| **stays).flat_map(|(row, _)| row.to_vec()).collect()
    };
    let stays = |stage: &StageRef| !wary || !seen.strands_all(*stage);
    let (mut x, jobs) = (Vec::new(), extractor.snapshot().candidate_jobs().len());
    extractor.job_rows(seen, student.abstains, &mut x);
    let mut kept: Vec<bool> =
        (0..jobs).map(|job| extractor.snapshot().candidate_stages(job).iter().any(stays)).collect();
    kept.extend(student.abstains.then(|| !wary || !seen.strands(Decision::Abstain)));
    let n = kept.iter().filter(|&&kept| kept).count();
    let mut of_candidate = log_probs(student, "job", &keep(&kept, &x), n).into_iter();
    let mut paths = Vec::new();
    for (job, _) in kept.iter().enumerate().filter(|(_, kept)| **kept) {
        let of_job = of_candidate.next().unwrap();
        if job == jobs {
            paths.push((of_job, None));
            continue;
        }
        x.clear();
        extractor.stage_rows(seen, job, &mut x);
        let stages = extractor.snapshot().candidate_stages(job);
        let kept: Vec<bool> = stages.iter().map(stays).collect();
        let stages: Vec<StageRef> = stages.iter().copied().filter(|stage| stays(stage)).collect();
        let of_stage = log_probs(student, "stage", &keep(&kept, &x), stages.len());
        paths.extend(stages.iter().zip(of_stage).map(|(&s, p)| (of_job + p, Some(s))));
    }
    paths
}

/// Whatever it prefers, and asked in either way.
#[test]
fn a_student_never_strands_the_cluster() {
    for (seed, structure) in (0..24).zip([Structure::Flat, Structure::Hierarchical].into_iter().cycle()) {
        let mut student = Student { structure, ..student(seed, seed % 3 == 0) };
        // All there is, for a stage that cannot start yet, of the job that gives the executors back.
        for text in ["job: is_source first", "stage: unfinished_parents > 0 first", "amount: amount_of_cap < 1 last"] {
            student.guards.push(Guard::parse(text, &student.feature_set).unwrap());
        }
        let mut policy = StudentPolicy::<Dag>::new(&student, Path::new("student.json"), None).unwrap();
        let workload = workload::open(&"builtin,jobs=10,executors=5,edge=chains".parse().unwrap()).unwrap();
        let mut sim = Simulator::new(*workload.cluster(), workload.jobs(seed), seed);
        while let Some(seen) = sim.view() {
            let decision = policy.decide(&seen, &mut Said::default()).unwrap();
            sim.step(decision).unwrap();
        }
        assert!(!sim.outcome().unwrap().stalled(), "{seed}");
    }
}
