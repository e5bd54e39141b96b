//! The search for better students: it finds what there is to find, and finds it again.

use sched_distill::{
    augment::{Arena, AugmentError, AugmentParams, Edits, Found, Repertoire, augment},
    dag::{Dag, feature::feature_set, workload::DagWorkload},
    level::{FLAG, base},
    model::{
        Action, Additive, Factor, Guard, LevelModels, Model, NamedModel, Place, Provenance, Shape, Slot, Student, Term,
        Tree,
    },
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

fn small_cluster() -> DagWorkload {
    sched_distill::dag::workload::open(&"builtin,jobs=12,executors=6".parse().unwrap()).unwrap()
}

fn repertoire() -> Repertoire {
    Repertoire::new(&Dag::INFO.catalogue, feature_set()).unwrap()
}

const PARAMS: AugmentParams = AugmentParams {
    budget: 2500,
    validation: 20,
    max_edits: 6,
    min_agreement: 0.0,
    max_guards: 3,
    max_size: 16,
    polish: 0.4,
    step: 0.5,
    population: 10,
    polish_episodes: 8,
    seed: 3,
};

fn search(arena: &mut Arena<'_, Dag>) -> Result<Found, AugmentError> {
    augment(arena, &longest_first(), &repertoire(), &PARAMS, &mut |_| {})
}

#[test]
fn a_bad_rule_becomes_a_better_one_with_evidence_for_each_edit() -> Result<(), Box<dyn std::error::Error>> {
    let workload = small_cluster();
    let stop = AtomicBool::new(false);
    let mut arena = Arena::<Dag>::new(std::slice::from_ref(&workload), 5, &(), &stop);
    let Found { student, steps, agreement, spent, too_far } = search(&mut arena)?;
    assert_eq!(too_far, 0, "any decision may change");
    // Every episode counts, and none is run beyond the budget.
    assert!(steps.iter().any(|s| s.kept) && arena.spent() == spent && spent <= PARAMS.budget, "{spent}");
    assert!(student.guards.len() <= 3 && student.size() <= 16);
    let edits = Edits::between(&longest_first(), &student);
    assert!((1..=6).contains(&edits.total()), "{edits:?}");
    assert!((0.0..1.0).contains(&agreement), "{agreement}");
    for evidence in student.guards.iter().map(|g| &g.evidence).chain(student.patches.iter().map(|p| &p.evidence)) {
        assert!(evidence.reason.contains("of the decisions") && evidence.reason.contains("without it"), "{evidence:?}");
        assert!(evidence.gain.is_some());
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
    // There is room for every number, so that all of them move.
    let params = AugmentParams { polish: 1.0, max_size: 6, max_guards: 0, max_edits: 1000, ..PARAMS };
    let Found { student: augmented, .. } = augment(&mut arena, &student, &repertoire(), &params, &mut |_| {})?;
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
    assert_eq!(again.student.to_json(), whole.student.to_json());
    assert_eq!(again, whole);

    // What is not as it was written is not believed.
    let open = || Arena::<Dag>::new(std::slice::from_ref(&workload), 5, &(), &never).with_journal(&journal).map(|_| ());
    let sound = String::from_utf8(text)?;
    let (first, rest) = sound.split_once('\n').ok_or("a line")?;
    let digit = first.rfind("\"cost\":").ok_or("a cost")? + 8;
    let other = if first.as_bytes()[digit] == b'1' { "2" } else { "1" };
    let changed = format!("{}{other}{}\n{rest}", &first[..digit], &first[digit + 1..]);
    let (without, _) = first.rsplit_once(",\"check\"").ok_or("a check value")?;
    for (journaled, line, why) in
        [(changed, "line 1:", "changed after distill wrote it"), (format!("{sound}\n"), "line ", "EOF while parsing")]
    {
        std::fs::write(&journal, journaled)?;
        let message = open().unwrap_err().to_string();
        assert!(message.contains("evaluations.jsonl, line") && message.contains(line), "{message}");
        assert!(message.contains(why) && message.contains("take the line out"), "{message}");
    }
    // What an earlier version wrote without a check value is run again.
    let wrong = format!("{}{other}{}}}\n{rest}", &without[..digit], &without[digit + 1..]);
    std::fs::write(&journal, &wrong[..=wrong.rfind('\n').ok_or("lines")?])?;
    let again = pool(2)?.install(|| {
        search(&mut Arena::<Dag>::new(std::slice::from_ref(&workload), 5, &(), &never).with_journal(&journal)?)
    })?;
    assert_eq!(again, whole);
    Ok(())
}

#[test]
fn departures_are_counted_on_the_states_that_the_student_visits() -> Result<(), Box<dyn std::error::Error>> {
    let workload = small_cluster();
    let stop = AtomicBool::new(false);
    let mut arena = Arena::<Dag>::new(std::slice::from_ref(&workload), 5, &(), &stop);
    let plain = longest_first();
    let mut guarded = plain.clone();
    guarded.guards.push(Guard::parse("job: remaining_work_rank <= 0 first", &plain.feature_set)?);
    let rates = arena.departures(&guarded, &[&guarded, &plain], Split::Test, 0..4)?;
    assert!(rates[0] == 0.0 && rates[1] > 0.1 && rates[1] < 1.0, "{rates:?}");
    assert_eq!(arena.spent(), 4, "they count as episodes");
    Ok(())
}

#[test]
fn no_budget_is_exceeded_whatever_the_parameters() -> Result<(), Box<dyn std::error::Error>> {
    let (workload, stop) = (small_cluster(), AtomicBool::new(false));
    for (budget, polish, validation) in [(260, 0.7, 20), (300, 0.0, 20), (500, 1.0, 10), (1200, 0.5, 40)] {
        let params = AugmentParams { budget, polish, validation, population: 6, polish_episodes: 2, ..PARAMS };
        let mut arena = Arena::<Dag>::new(std::slice::from_ref(&workload), 5, &(), &stop);
        let found = augment(&mut arena, &longest_first(), &repertoire(), &params, &mut |_| {})?;
        assert!(found.spent == arena.spent() && found.spent <= budget, "{params:?}: {}", found.spent);
        assert!(found.steps.iter().all(|step| step.spent <= found.spent));
    }
    let params = AugmentParams { budget: 10, ..PARAMS };
    let mut arena = Arena::<Dag>::new(std::slice::from_ref(&workload), 5, &(), &stop);
    let refused = augment(&mut arena, &longest_first(), &repertoire(), &params, &mut |_| {}).unwrap_err();
    assert!(matches!(refused, AugmentError::Budget { budget: 10, .. }), "{refused}");
    Ok(())
}

#[test]
fn no_step_changes_more_decisions_than_it_may() -> Result<(), Box<dyn std::error::Error>> {
    let (workload, stop) = (small_cluster(), AtomicBool::new(false));
    let found = |min_agreement: f64| {
        let mut arena = Arena::<Dag>::new(std::slice::from_ref(&workload), 5, &(), &stop);
        augment(&mut arena, &longest_first(), &repertoire(), &AugmentParams { min_agreement, ..PARAMS }, &mut |_| {})
    };
    let (free, bound) = (found(0.0)?, found(0.9)?);
    let least = |found: &Found| {
        let kept = found.steps.iter().filter(|step| step.kept);
        kept.filter_map(|step| step.agreement).fold(1.0, f64::min)
    };
    assert!(least(&bound) >= 0.9 && bound.too_far > 0, "{:?}", bound.steps);
    assert!(least(&free) < 0.9 && free.agreement < bound.agreement, "{} {}", free.agreement, bound.agreement);
    Ok(())
}

/// What is wrong with the words about an edit: the quantity must be named, and the direction must be that of the
/// change.
fn refuted(student: &Student) -> Vec<String> {
    let words = sched_distill::dag::feature::words();
    let mut wrong = Vec::new();
    let mut check = |reason: &str, said: &[String]| {
        wrong.extend(said.iter().filter(|w| !reason.contains(w.as_str())).map(|w| format!("no `{w}` in: {reason}")));
    };
    for guard in &student.guards {
        let action = match guard.action {
            Action::First => "comes first",
            Action::Last => "comes last",
            Action::Never => "is never taken",
        };
        let level = words.phrases(&student.feature_set, &guard.level);
        // Ranks and flags are told by what a candidate with less or more is, the others by the noun.
        let named = |feature: &str| {
            let ends = [false, true].map(|more| level.extreme(base(feature), more));
            let relations = [false, true].map(|more| level.relation(base(feature), more));
            [level.noun(base(feature))].into_iter().chain(ends).chain(relations).collect::<Vec<_>>()
        };
        for condition in &guard.when {
            let known = named(&condition.feature);
            let found = known.iter().find(|words| guard.evidence.reason.contains(*words));
            check(&guard.evidence.reason, std::slice::from_ref(found.unwrap_or(&known[0])));
        }
        check(&guard.evidence.reason, &[action.to_owned()]);
    }
    for patch in &student.patches {
        let [change] = &patch.changes[..] else { continue };
        let mut said = Vec::new();
        match student.place(&change.place).expect("a place of the student") {
            Place::Model { level, slot: slot @ (Slot::Feature { .. } | Slot::Term { .. }) } => {
                let models = &student.levels[level];
                let Model::Additive(model) = &models.scheduler().model else { continue };
                let spec = student.feature_set.level(&models.level).expect("a level of the scenario");
                let level = words.phrases(&student.feature_set, &models.level);
                let sign = if change.now == 0.0 { change.was } else { change.now };
                match &model.term_at(slot).expect("a term").factors[..] {
                    [factor] if factor.shape != Shape::Above => {
                        said.push(level.relation(base(&spec.features[factor.feature as usize].name), sign > 0.0));
                    }
                    factors => {
                        // Steps and what is so or not are conditions.
                        let feature = |f: &Factor| &spec.features[f.feature as usize];
                        let grows = factors.iter().filter(|f| f.shape != Shape::Above && feature(f).unit != FLAG);
                        said.extend(grows.map(|f| level.noun(base(&feature(f).name))));
                        said.push(if sign > 0.0 { " for " } else { " against " }.to_owned());
                    }
                }
                said.push(match change.was * change.now {
                    x if x > 0.0 && change.now.abs() > change.was.abs() => "counts more:".to_owned(),
                    x if x > 0.0 => "counts less:".to_owned(),
                    x if x < 0.0 => "for the opposite before".to_owned(),
                    _ if change.now == 0.0 => "is gone".to_owned(),
                    _ => "A new term".to_owned(),
                });
            }
            Place::Model { slot: Slot::Value { .. }, .. } => {
                said.push(if change.now > change.was { "earlier" } else { "later" }.to_owned());
            }
            _ => {}
        }
        check(&patch.evidence.reason, &said);
    }
    wrong
}

#[test]
fn the_words_about_each_edit_say_what_it_is_about_and_which_way_it_goes() -> Result<(), Box<dyn std::error::Error>> {
    let (workload, stop) = (small_cluster(), AtomicBool::new(false));
    let (mut guards, mut numbers) = (0, 0);
    for (max_guards, polish) in [(0, 0.8), (3, 0.4)] {
        let params = AugmentParams { budget: 4000, max_guards, polish, ..PARAMS };
        let mut arena = Arena::<Dag>::new(std::slice::from_ref(&workload), 5, &(), &stop);
        let mut found = augment(&mut arena, &longest_first(), &repertoire(), &params, &mut |_| {})?.student;
        assert_eq!(refuted(&found), [""; 0]);
        (guards, numbers) = (guards + found.guards.len(), numbers + found.patches.len());
        // Words about another change do not pass.
        for patch in &mut found.patches {
            patch.changes.iter_mut().for_each(|c| (c.was, c.now) = (c.now, c.was));
        }
        found
            .guards
            .iter_mut()
            .for_each(|g| g.action = if g.action == Action::Last { Action::First } else { Action::Last });
        assert!(refuted(&found).len() >= found.guards.len(), "{:?}", found.guards);
        assert!(found.patches.is_empty() || refuted(&found).len() > found.guards.len(), "{:?}", found.patches);
    }
    assert!(guards > 0 && numbers > 0, "{guards} guards and {numbers} numbers");
    Ok(())
}

#[test]
fn several_workloads_take_turns() -> Result<(), Box<dyn std::error::Error>> {
    let wide = sched_distill::dag::workload::open(&"builtin,jobs=12,executors=6,edge=wide".parse()?)?;
    let (workloads, stop) = ([small_cluster(), wide], AtomicBool::new(false));
    let student = longest_first();
    let run = |workloads: &[DagWorkload]| {
        Arena::<Dag>::new(workloads, 5, &(), &stop).run(&[&student], Split::Train, 0..7).map(|scores| scores[0].clone())
    };
    let (mixed, plain, wide) = (run(&workloads)?, run(&workloads[..1])?, run(&workloads[1..])?);
    for (i, score) in mixed.iter().enumerate() {
        assert_eq!(*score, if i % 2 == 0 { plain[i] } else { wide[i] });
    }
    assert_ne!(plain, wide);
    Ok(())
}
