//! Other declared sizes of a task: what they change, and what they must not.

use sched_distill_core::{
    policy::Policy,
    rng::Stream,
    scenario::{ChoiceRows, Questions as _, Said, Scenario as _},
    simulation::{DeclaredEdit, Edit as _, EditBudget, Editable as _, Simulated as _, Simulation as _},
};
use sched_distill_serving::{
    Decision, Question, Serving, View, feature::Extractor, policies, simulator::Simulator, workload::ServingTask,
};
use std::{collections::BTreeMap, error::Error};

type SizeEdit = DeclaredEdit<Serving>;

fn policy(name: &str) -> Box<dyn Policy<Serving>> {
    policies::open(&name.parse().unwrap()).unwrap()
}

fn decide(policy: &mut dyn Policy<Serving>, seen: &View<'_>) -> Decision {
    policy.decide(seen, &mut Said::default()).unwrap()
}

/// What becomes of an episode from here on.
fn run(mut sim: Simulator) -> String {
    let mut policy = policy("dybatch");
    while let Some(seen) = sim.view() {
        let decision = decide(&mut *policy, &seen);
        sim.step(decision).unwrap();
    }
    format!("{:?}", sim.outcome())
}

#[test]
fn an_edit_and_its_inverse_leave_every_episode_as_it_was() -> Result<(), Box<dyn Error>> {
    let workload = Serving::open_workload(&"builtin,seconds=0.1,load=1.5".parse()?)?;
    let tasks = workload.jobs(4);
    let start = |tasks: &Vec<ServingTask>| Serving::start(&workload, tasks.clone(), 4);
    let (clean, mut changed, count) = (run(start(&tasks)), 0, tasks.len() as u32);
    for task in (0..count).step_by(3) {
        let edits = Serving::edits(&tasks, task, &EditBudget::default());
        // A half and a quarter more or less; of 1 to whole numbers.
        assert_eq!(edits.len(), if tasks[task as usize].declared_size == 1 { 1 } else { 4 });
        for edit in edits {
            let edited = Serving::edited(&tasks, task, &edit)?;
            let (before, after) = (tasks[task as usize], edited[task as usize]);
            assert_eq!(ServingTask { declared_size: before.declared_size, ..after }, before, "nothing else");
            assert_eq!(after.declared_size, edit.value() as u32);
            let now = run(start(&edited));
            changed += u32::from(now != clean);
            let undone = Serving::undone(&edited, task, &edit)?;
            assert_eq!(undone, tasks, "{edit}");
            assert!(Serving::undone(&tasks, task, &edit).is_err());
            assert!(edit.cost() <= 0.5 && edit.slope().is_some() == (edit.was() >= 50.0), "{edit:?}");
            // From before its arrival on as from the beginning: until then nothing has changed.
            let (mut sim, mut other, mut dybatch) = (start(&tasks), start(&edited), policy("dybatch"));
            while let (Some(seen), Some(same)) = (sim.view(), other.view())
                && seen.time_ms() < before.arrival_ms
            {
                assert_eq!(serde_json::to_value(seen)?, serde_json::to_value(same)?);
                let arrived = tasks.partition_point(|task| task.arrival_ms <= seen.time_ms()) as u32;
                // The last questions before its arrival.
                if arrived == task {
                    assert_eq!(run(Serving::described(&sim, &edited, task)), now, "{edit}");
                    break;
                }
                let decision = decide(&mut *dybatch, &seen);
                sim.step(decision)?;
                other.step(decision)?;
            }
        }
    }
    assert!(changed > 20, "{changed}");
    assert!(Serving::edits(&tasks, count, &EditBudget::default()).is_empty());
    for (task, was, expected) in [
        (count, 1, format!("there is no task {count}")),
        (0, 999, format!("the task declares a size of {}, not 999", tasks[0].declared_size)),
    ] {
        let message = Serving::edited(&tasks, task, &SizeEdit::new(0, was.into(), 2.0)).unwrap_err().to_string();
        assert_eq!(message, expected);
    }
    Ok(())
}

/// Features of candidates by their names: applications or tasks, and none.
type Rows = BTreeMap<u32, Vec<f32>>;

/// Rows of both levels as far as they are asked.
fn rows(seen: &View<'_>) -> [Rows; 2] {
    let mut questions = Extractor::default();
    questions.update(seen);
    let silent = Said::default();
    let levels = &(Serving::INFO.feature_set)().levels;
    [0, 1].map(|level| {
        let (path, mut x, mut named) = (&[0][..level], Vec::new(), ChoiceRows::default());
        let answer = sched_distill_core::scenario::Answer { decision: Decision::Close, said: &silent };
        if questions.rows(seen, path, false, &mut x) > 0 {
            assert!(questions.choice(seen, path, &answer, false, &mut named));
        }
        let names = named.entity.chunks(level + 1).map(|names| names[level]);
        names.zip(x.chunks(levels[level].features.len()).map(<[f32]>::to_vec)).collect()
    })
}

/// Which features have moved, by level.
struct Moved(Vec<Vec<bool>>);

impl Moved {
    fn none() -> Self {
        let levels = &(Serving::INFO.feature_set)().levels;
        Self(levels.iter().map(|level| vec![false; level.features.len()]).collect())
    }

    /// Notes what has moved, which declared features may alone. Where the candidates are other ones, because tasks of one size have one
    /// candidate, places among them and ratios may, too.
    fn compare(&mut self, before: &[Rows; 2], after: &[Rows; 2], about: &str) {
        for (number, level) in (Serving::INFO.feature_set)().levels.iter().enumerate() {
            let are_same = before[number].keys().eq(after[number].keys());
            assert!(number == 1 || are_same, "{about}");
            for (name, row) in &before[number] {
                let Some(other) = after[number].get(name) else { continue };
                for (column, (a, b)) in row.iter().zip(other).enumerate() {
                    let feature = &level.features[column];
                    let is_among = feature.name.ends_with("_rank") || feature.name.ends_with("_ratio");
                    let allowed = a == b || feature.control.is_declared() || (is_among && !are_same);
                    assert!(allowed, "{} {} of {name}: {a} is {b} after: {about}", level.name, feature.name);
                    self.0[number][column] |= a != b;
                }
            }
        }
    }

    /// Declared features that nothing has moved.
    fn still(&self) -> Vec<String> {
        let levels = (Serving::INFO.feature_set)().levels.iter().zip(&self.0);
        let all = levels.flat_map(|(level, moved)| level.features.iter().zip(moved).map(move |(f, m)| (level, f, m)));
        let still = all.filter(|(_, f, moved)| f.control.is_declared() && !**moved);
        still.map(|(level, f, _)| format!("{} {}", level.name, f.name)).collect()
    }
}

const SPECS: [&str; 3] = [
    "builtin,seconds=0.2,load=1.2",
    "builtin,seconds=0.2,load=1.5,law=dynamic,edge=understated",
    "builtin,seconds=0.1,accelerators=2,shapes=4/16,objective=3",
];

/// What `list features` calls measured or decided does not move, whatever a task that waits there declares; what it calls declared,
/// something does. Only the batch that is being formed has declared its sizes before.
#[test]
fn edits_of_a_question_move_declared_features_alone() -> Result<(), Box<dyn Error>> {
    let (mut stream, mut moved) = (Stream::new(1, "edits"), Moved::none());
    for spec in SPECS {
        let workload = Serving::open_workload(&spec.parse()?)?;
        let tasks = workload.jobs(4);
        let mut sim = Serving::start(&workload, tasks.clone(), 4);
        let mut policy = policy("dybatch");
        while let Some(seen) = sim.view() {
            let (state, before) = (seen.to_state(), rows(&seen));
            for (task, was) in (0..).zip(&tasks).map(|(task, found)| (task, found.declared_size)) {
                let edit = SizeEdit::new(0, was.into(), stream.uniform_in(0.1, 3.0));
                if stream.below(3) > 0 {
                    continue;
                }
                let edited = Serving::edited_state(&state, task, std::slice::from_ref(&edit));
                let Ok(edited) = edited else { continue };
                let view = edited.view().ok_or("what is asked does not depend on what is declared")?;
                assert_eq!((view.question(), view.waiting()), (seen.question(), seen.waiting()));
                moved.compare(&before, &rows(&view), &format!("task {task}: {edit}"));
            }
            let decision = decide(&mut *policy, &seen);
            sim.step(decision)?;
        }
    }
    assert_eq!(moved.still(), ["task batch_time", "task batch_urgency"]);
    Ok(())
}

/// The same decisions lead through the same episode, whatever was declared from the beginning. What an application has had, and when
/// batches end, is predicted by what tasks declared before: these are the scheduler's own, and cannot but move.
#[test]
fn edits_of_all_tasks_move_declared_features_and_predictions_alone() -> Result<(), Box<dyn Error>> {
    let (mut moved, mut asked) = (BTreeMap::new(), 0);
    for spec in SPECS {
        let workload = Serving::open_workload(&spec.parse()?)?;
        let tasks = workload.jobs(4);
        let mut edited = tasks.clone();
        for (task, was) in (0..).zip(&tasks).map(|(task, found)| (task, found.declared_size)) {
            // As many sizes as before, in the same order.
            edited = Serving::edited(&edited, task, &SizeEdit::new(0, was.into(), 3.0))?;
        }
        let (mut a, mut b) = (Serving::start(&workload, tasks, 4), Serving::start(&workload, edited, 4));
        let mut policy = policy("tf-serving,timeout=3");
        while let (Some(seen), Some(other)) = (a.view(), b.view()) {
            assert_eq!((seen.time_ms(), seen.question()), (other.time_ms(), other.question()));
            let (before, after) = (rows(&seen), rows(&other));
            for (number, level) in (Serving::INFO.feature_set)().levels.iter().enumerate() {
                assert!(before[number].keys().eq(after[number].keys()));
                for (row, other) in before[number].values().zip(after[number].values()) {
                    for (feature, _) in level.features.iter().zip(row.iter().zip(other)).filter(|(_, (a, b))| a != b) {
                        *moved.entry((number, feature.name.as_str(), feature.control.is_declared())).or_insert(0) += 1;
                    }
                }
            }
            asked += 1;
            let decision = decide(&mut *policy, &seen);
            a.step(decision)?;
            b.step(decision)?;
        }
        assert!(a.outcome().is_some() && format!("{:?}", a.outcome()) == format!("{:?}", b.outcome()));
    }
    let others: Vec<&str> = moved.keys().filter(|(_, _, is)| !is).map(|(_, name, _)| *name).collect();
    assert_eq!(others, ["next_end", "used", "used_rank", "used_share"]);
    assert!(asked > 500, "{asked}");
    Ok(())
}

/// A question with a task edited is the question that the edited episode asks.
#[test]
fn an_edited_question_is_that_of_the_edited_episode() -> Result<(), Box<dyn Error>> {
    let mut compared = 0;
    for spec in &SPECS[..2] {
        let workload = Serving::open_workload(&spec.parse()?)?;
        let tasks = workload.jobs(4);
        for task in (0..tasks.len() as u32).step_by(5) {
            for edit in Serving::edits(&tasks, task, &EditBudget::default()) {
                let edited = Serving::edited(&tasks, task, &edit)?;
                let (mut a, mut b) =
                    (Serving::start(&workload, tasks.clone(), 4), Serving::start(&workload, edited, 4));
                let mut policy = policy("dybatch");
                while let (Some(seen), Some(other)) = (a.view(), b.view()) {
                    let made = Serving::edited_state(&seen.to_state(), task, std::slice::from_ref(&edit));
                    // Edited is what waits; a candidate does.
                    assert!(made.is_ok() || !Serving::is_candidate(&seen, task));
                    if let Ok(made) = made {
                        assert_eq!(serde_json::to_value(&made)?, serde_json::to_value(other.to_state())?);
                        let same = made.view().ok_or("the question is open")?;
                        assert!(rows(&same) == rows(&other), "task {task}: {edit}");
                        compared += 1;
                    }
                    let decision = decide(&mut *policy, &seen);
                    // From where another one may be the oldest of its size they are other episodes.
                    if other.check(decision).is_err() || decision.task() == Some(task) {
                        break;
                    }
                    a.step(decision)?;
                    b.step(decision)?;
                }
            }
        }
    }
    assert!(compared > 500, "{compared}");
    Ok(())
}

/// The oldest of a size goes to another one: the next of its size becomes a candidate, and both are asked about.
#[test]
fn an_edited_task_is_asked_about_with_its_size() -> Result<(), Box<dyn Error>> {
    let workload = Serving::open_workload(&"builtin,spread=0,seconds=0.2,load=2".parse()?)?;
    let mut sim = Serving::start(&workload, workload.jobs(4), 4);
    let mut policy = policy("dybatch");
    let seen = loop {
        let seen = sim.view().ok_or("no batch has several tasks of one size left")?;
        if seen.groups().any(|group| group.size > 1 && group.count > 2) {
            break seen;
        }
        let decision = decide(&mut *policy, &seen);
        sim.step(decision)?;
    };
    let group = seen.groups().next().unwrap();
    let edit = |was: u32, factor: f64| SizeEdit::new(0, was.into(), factor);
    let said = |edits: &[SizeEdit]| -> Result<Vec<(u32, u32)>, Box<dyn Error>> {
        let state = Serving::edited_state(&seen.to_state(), group.task, edits)?;
        Ok(state.view().unwrap().groups().map(|group| (group.size, group.count)).collect())
    };
    let (size, count) = (group.size, group.count);
    let larger = edit(size, 2.0);
    assert_eq!(said(std::slice::from_ref(&larger))?, [(size, count - 1), (2 * size, 1)]);
    assert_eq!(said(&[edit(size, 0.5)])?, [(edit(size, 0.5).value() as u32, 1), (size, count - 1)]);
    // There and back.
    assert_eq!(said(&[larger.clone(), edit(2 * size, 0.5)])?, [(size, count)]);
    assert!(said(&[larger.clone(), larger.clone()]).is_err(), "it has been made");
    let state = Serving::edited_state(&seen.to_state(), group.task, &[larger.clone(), edit(2 * size, 0.5)])?;
    assert_eq!(serde_json::to_value(&state)?, serde_json::to_value(seen)?);
    assert!(Serving::edited_state(&seen.to_state(), 99_999, &[larger]).is_err());
    // A task is given what the batch is, and asked about at its own level.
    assert_eq!(Serving::given(Decision::Add { task: group.task }, group.task), 1);
    assert_eq!(Serving::given(Decision::Close, group.task), 0);
    assert!(Serving::is_candidate(&seen, group.task) && seen.question() != Question::Serve);
    let mut named = Vec::new();
    let p = Said { joint: vec![0.0], given: vec![-1.0, -2.0] };
    Serving::log_probabilities(&seen, &p, &mut |task, log_prob| named.push((task, log_prob)));
    assert_eq!(named, [(Some(group.task), -1.0), (None, -2.0)]);
    Ok(())
}

/// What is worked out from small steps is worth nothing where they are none.
#[test]
fn small_steps_are_steps() {
    for was in [1, 8, 22, 49, 50, 60] {
        let Some(([up, down], _)) = SizeEdit::new(0, was.into(), 1.5).slope() else { continue };
        // Steps of one percent are rounded away below 50; the edit itself is tried then.
        assert!(up.value() > down.value(), "{} and {} of {was}", up.value(), down.value());
    }
}

/// Where memory is little, a task may declare more than can be served: it counts as what can be.
#[test]
fn declared_sizes_count_as_what_memory_holds() -> Result<(), Box<dyn Error>> {
    let workload = Serving::open_workload(&"builtin,applications=1,seconds=0.2,load=0.5,memory=60".parse()?)?;
    let tasks = workload.jobs(4);
    let edits = (0..tasks.len() as u32).flat_map(|task| {
        let edits = Serving::edits(&tasks, task, &EditBudget::default());
        edits.into_iter().map(move |edit| (task, edit))
    });
    let beyond: Vec<(u32, SizeEdit)> = edits.filter(|(_, edit)| edit.value() > 60.0).collect();
    assert!(beyond.len() > 10, "{}", beyond.len());
    for (task, edit) in &beyond {
        let edited = Serving::edited(&tasks, *task, edit)?;
        let mut sim = Serving::start(&workload, edited, 4);
        let mut asked = false;
        while let Some(seen) = sim.view() {
            let joins = seen.groups().find(|group| group.task == *task);
            asked |= joins.is_some_and(|group| group.size == 60);
            sim.step(policy("tf-serving").decide(&seen, &mut Default::default())?)?;
        }
        assert!(asked && sim.completed_ms(*task).is_some(), "{edit}");
    }
    Ok(())
}

#[test]
fn edits_keep_their_form() -> Result<(), Box<dyn Error>> {
    let (edit, json) = (SizeEdit::new(0, 12.0, 0.5), r#"{"was":12,"factor":0.5}"#);
    assert_eq!((serde_json::to_string(&edit)?, serde_json::from_str(json)?), (json.to_owned(), edit.clone()));
    assert_eq!(edit.to_string(), "the task declares 0.5 times its size");
    for wrong in [r#"{"was":1.5,"factor":1}"#, r#"{"was":-1,"factor":1}"#, r#"{"edit":"size","was":1,"factor":1}"#] {
        assert!(serde_json::from_str::<SizeEdit>(wrong).is_err(), "{wrong}");
    }
    Ok(())
}
