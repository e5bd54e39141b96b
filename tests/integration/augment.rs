//! The search for better students: it finds what there is to find, and finds it again.

use sched_distill::{
    augment::{Arena, AugmentError, AugmentParams, Repertoire, Step, augment},
    dag::{Dag, feature::feature_set, workload::Workload},
    model::{Additive, Guard, LevelModels, Model, NamedModel, Provenance, Student, Term, Tree},
    recorder::Progress,
    rng::Split,
    scenario::Scenario,
};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Longest job first: as bad as a readable rule gets.
fn longest_first() -> Student {
    let set = feature_set();
    let job = set.level("job").unwrap();
    let column = job.features.iter().position(|f| f.name == "remaining_work_rank").unwrap();
    let order = Additive { intercept: 0.0, terms: vec![Term::linear(column as u32, 1.0, 1.5)] };
    let level = |(level, model): (&str, Model)| {
        LevelModels::new(level, "rule", vec![NamedModel { name: "rule".to_owned(), temperature: 1.0, model }])
    };
    let leaf = || Model::Tree(Tree::leaf(0.0, 0.0, 1, 1.0));
    let levels = [("job", Model::Additive(order)), ("stage", leaf()), ("amount", leaf())].into_iter().map(level);
    Student::new(set.clone(), false, levels.collect(), Provenance::default())
}

fn small_cluster() -> Box<dyn Workload> {
    sched_distill::dag::workload::open(&"builtin,jobs=12,executors=6".parse().unwrap()).unwrap()
}

fn repertoire() -> Repertoire {
    Repertoire::new(&Dag::INFO.catalogue, feature_set()).unwrap()
}

const PARAMS: AugmentParams = AugmentParams {
    budget: 2500,
    validation: 20,
    max_guards: 3,
    max_size: 16,
    polish: 0.4,
    step: 0.5,
    population: 10,
    polish_episodes: 8,
    seed: 3,
};

fn search(arena: &mut Arena<'_, Dag>) -> Result<(Student, Vec<Step>), AugmentError> {
    augment(arena, &longest_first(), &repertoire(), &PARAMS, &mut |_| {})
}

#[test]
fn a_bad_rule_becomes_a_better_one_with_evidence_for_each_edit() -> Result<(), Box<dyn std::error::Error>> {
    let workload = small_cluster();
    let stop = AtomicBool::new(false);
    let mut arena = Arena::<Dag>::new(std::slice::from_ref(&workload), 5, &(), &stop);
    let (student, steps) = search(&mut arena)?;
    assert!(steps.iter().any(|s| s.kept) && arena.spent() < PARAMS.budget * 2);
    assert!(student.guards.len() <= 3 && student.size() <= 16);
    for evidence in student.guards.iter().map(|g| &g.evidence).chain(student.patches.iter().map(|p| &p.evidence)) {
        assert!(!evidence.reason.is_empty() && evidence.gain.is_some());
        assert!(evidence.firing_rate.is_some_and(|rate| (0.0..=1.0).contains(&rate)));
    }
    let scores = arena.run(&[&student, &longest_first()], Split::Test, 0..20)?;
    let gain = scores[1].iter().zip(&scores[0]).map(|(before, after)| before - after).sum::<f64>() / 20.0;
    assert!(gain > 0.1, "only {gain}");
    Ok(())
}

#[test]
fn a_sum_gets_terms_and_learns_what_they_are_worth() -> Result<(), Box<dyn std::error::Error>> {
    let set = feature_set();
    let student = longest_first();
    let workload = small_cluster();
    let stop = AtomicBool::new(false);
    let mut arena = Arena::<Dag>::new(std::slice::from_ref(&workload), 5, &(), &stop);
    let params = AugmentParams { polish: 1.0, max_size: 6, max_guards: 0, ..PARAMS };
    let (augmented, _) = augment(&mut arena, &student, &repertoire(), &params, &mut |_| {})?;
    let Model::Additive(model) = &augmented.levels[0].models[0].model else { panic!("another kind of model") };
    let words: Vec<String> = model.terms.iter().map(|t| t.words(set.level("job").unwrap())).collect();
    // The student has three coefficients and leaves, and so room for three terms.
    assert_eq!(words, ["remaining_work_rank", "ln(1 + remaining_work)", "work_share", "ln(1 + ready_tasks)"]);
    assert!(model.terms.iter().all(|t| t.sd > 0.0 && t.coefficient != 0.0));
    // All changes together are one edit, and taking it back gives the student before, but for terms that do nothing.
    assert_eq!(augmented.patches.len(), 1);
    let mut back = augmented.clone();
    back.revert_patch(0);
    assert_eq!((back.size(), augmented.size()), (student.size(), 6));
    let scores = arena.run(&[&augmented, &student, &back], Split::Test, 0..20)?;
    assert_eq!(scores[1], scores[2]);
    let gain = scores[1].iter().zip(&scores[0]).map(|(before, after)| before - after).sum::<f64>() / 20.0;
    assert!(gain > 0.1, "only {gain}");
    Ok(())
}

/// Raises a flag after so many episodes.
struct StopAfter<'a> {
    left: AtomicU64,
    stop: &'a AtomicBool,
}

impl Progress for StopAfter<'_> {
    fn episode(&self, _: u64) {
        if self.left.fetch_sub(1, Ordering::Relaxed) == 1 {
            self.stop.store(true, Ordering::Relaxed);
        }
    }
}

#[test]
fn an_interrupted_search_goes_on_to_the_same_bytes_on_any_number_of_threads() -> Result<(), Box<dyn std::error::Error>>
{
    let workload = small_cluster();
    let dir = tempfile::tempdir()?;
    let journal = dir.path().join("evaluations.jsonl");
    let pool = |threads| rayon::ThreadPoolBuilder::new().num_threads(threads).build();
    let never = AtomicBool::new(false);
    let whole = pool(1)?.install(|| search(&mut Arena::<Dag>::new(std::slice::from_ref(&workload), 5, &(), &never)))?;

    // Among the first guards, then in a generation of the direct search.
    for episodes in [300, 900] {
        let stop = AtomicBool::new(false);
        let progress = StopAfter { left: AtomicU64::new(episodes), stop: &stop };
        let mut arena =
            Arena::<Dag>::new(std::slice::from_ref(&workload), 5, &progress, &stop).with_journal(&journal)?;
        let first = pool(2)?.install(|| search(&mut arena));
        assert!(matches!(first, Err(AugmentError::Interrupted)), "{first:?}");
    }
    // A process that was killed while it wrote leaves half a line.
    let mut text = std::fs::read(&journal)?;
    text.extend_from_slice(b"{\"student\":\"00");
    std::fs::write(&journal, &text)?;
    let again = pool(2)?.install(|| {
        search(&mut Arena::<Dag>::new(std::slice::from_ref(&workload), 5, &(), &never).with_journal(&journal)?)
    })?;
    assert_eq!((again.0.to_json(), again.1), (whole.0.to_json(), whole.1));

    let broken = [text.as_slice(), b"\n"].concat();
    std::fs::write(&journal, broken)?;
    let message = Arena::<Dag>::new(std::slice::from_ref(&workload), 5, &(), &never)
        .with_journal(&journal)
        .map(|_| ())
        .unwrap_err()
        .to_string();
    assert!(message.contains("evaluations.jsonl, line"), "{message}");
    Ok(())
}

#[test]
fn departures_are_counted_on_the_states_that_the_student_visits() -> Result<(), Box<dyn std::error::Error>> {
    let workload = small_cluster();
    let stop = AtomicBool::new(false);
    let arena = Arena::<Dag>::new(std::slice::from_ref(&workload), 5, &(), &stop);
    let plain = longest_first();
    let mut guarded = plain.clone();
    guarded.guards.push(Guard::parse("job: remaining_work_rank <= 0 first", &plain.feature_set)?);
    let rates = arena.departures(&guarded, &[&guarded, &plain], Split::Test, 0..4)?;
    assert!(rates[0] == 0.0 && rates[1] > 0.1 && rates[1] < 1.0, "{rates:?}");
    Ok(())
}

#[test]
fn several_workloads_take_turns() -> Result<(), Box<dyn std::error::Error>> {
    let wide = sched_distill::dag::workload::open(&"builtin,jobs=12,executors=6,edge=wide".parse()?)?;
    let (workloads, stop) = ([small_cluster(), wide], AtomicBool::new(false));
    let student = longest_first();
    let run = |workloads: &[Box<dyn Workload>]| {
        Arena::<Dag>::new(workloads, 5, &(), &stop).run(&[&student], Split::Train, 0..7).map(|scores| scores[0].clone())
    };
    let (mixed, plain, wide) = (run(&workloads)?, run(&workloads[..1])?, run(&workloads[1..])?);
    for (i, score) in mixed.iter().enumerate() {
        assert_eq!(*score, if i % 2 == 0 { plain[i] } else { wide[i] });
    }
    assert_ne!(plain, wide);
    Ok(())
}
