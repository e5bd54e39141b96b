//! How many edits lie between two students, and students with one edit fewer.

use super::{Paired, arena::key, moves::without_guard};
use sched_distill_core::model::{Evidence, Guard, Model, Place, Slot, Student};
use serde::Serialize;
use std::collections::HashSet;

/// What was changed in a student.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Edits {
    /// Guards that one of the two has and the other has not.
    pub guards: usize,
    /// Numbers of models that differ, terms that one of the two lacks counting as terms with coefficient 0.
    pub numbers: usize,
    /// Levels where a regime was put in.
    pub regimes: usize,
}

impl Edits {
    /// Of `after`, which a search made out of `before`.
    #[must_use]
    pub fn between(before: &Student, after: &Student) -> Self {
        let same = |a: &Guard, b: &Guard| (&a.level, &a.when, a.action) == (&b.level, &b.when, b.action);
        let lacks = |a: &Student, b: &Student| b.guards.iter().filter(|g| !a.guards.iter().any(|h| same(g, h))).count();
        // A guard whose number was moved is missing on one side and new on the other: one edit.
        let mut edits = Self { guards: lacks(before, after).max(lacks(after, before)), ..Self::default() };
        for (b, a) in before.levels.iter().zip(&after.levels) {
            match (&b.scheduler().model, &a.scheduler().model) {
                (Model::Regime(_), now @ Model::Regime(_)) => edits.numbers += differing(&b.scheduler().model, now),
                (was, Model::Regime(regime)) => {
                    edits.regimes += 1;
                    // The model that scheduled alone is one of the regime's, and may have been changed before.
                    edits.numbers += regime.models.iter().map(|now| differing(was, now)).min().unwrap_or(0);
                }
                (was, now) => edits.numbers += differing(was, now),
            }
        }
        edits
    }

    /// All of them.
    #[must_use]
    pub fn total(self) -> usize {
        self.guards + self.numbers + self.regimes
    }
}

/// Numbers that differ between two models of the same shape, but for terms at the end of the second.
fn differing(was: &Model, now: &Model) -> usize {
    let slots: HashSet<Slot> = was.slots().into_iter().chain(now.slots()).collect();
    let number = |model: &Model, slot: Slot| model.number(slot).unwrap_or(0.0);
    slots.into_iter().filter(|&slot| number(was, slot) != number(now, slot)).count()
}

/// A student without one of its edits, for what the edit does: its guards first, then its patches.
pub(super) fn without_each(student: &Student) -> Vec<Student> {
    let guards = without_guard(student).into_iter().map(|m| m.student);
    let patches = (0..student.patches.len()).map(|i| {
        let mut changed = student.clone();
        changed.revert_patch(i);
        changed
    });
    guards.chain(patches).collect()
}

/// A student without some of its edits, by their places in [`without_each`]; terms of `before`'s models that are left
/// without a coefficient stay, others go.
pub(super) fn without(student: &Student, before: &Student, edits: &[usize]) -> Student {
    let mut changed = student.clone();
    let guards = changed.guards.len();
    // From the last on, so that the places of the others stay what they are.
    let mut edits = edits.to_vec();
    edits.sort_unstable();
    for &edit in edits.iter().rev() {
        match edit.checked_sub(guards) {
            Some(patch) => changed.revert_patch(patch),
            None => _ = changed.guards.remove(edit),
        }
    }
    drop_idle_terms(&mut changed, before);
    changed
}

/// The evidence of a student's edits, in the order of [`without_each`].
pub(super) fn evidence(student: &mut Student) -> impl Iterator<Item = &mut Evidence> {
    let patches = student.patches.iter_mut().map(|p| &mut p.evidence);
    student.guards.iter_mut().map(|g| &mut g.evidence).chain(patches)
}

/// What a change of a student brought that was kept, and for what: the student with it against the one without.
pub(super) struct Kept {
    guards: Vec<Guard>,
    places: Vec<String>,
    pub(super) paired: Paired,
}

impl Kept {
    pub(super) fn new(old: &Student, new: &Student, paired: Paired) -> Self {
        let known = |guard: &Guard| old.guards.iter().any(|g| same(g, guard));
        let was: Vec<(&str, f64)> = numbers(old).collect();
        let places = numbers(new).filter(|number| !was.contains(number)).map(|(place, _)| place.to_owned()).collect();
        Self { guards: new.guards.iter().filter(|guard| !known(guard)).cloned().collect(), places, paired }
    }

    /// Whether an edit of a student came with it, or was changed, by its place in [`without_each`].
    pub(super) fn brought(&self, student: &Student, edit: usize) -> bool {
        match edit.checked_sub(student.guards.len()) {
            Some(patch) => student.patches[patch].changes.iter().any(|c| self.places.contains(&c.place)),
            None => self.guards.iter().any(|guard| same(guard, &student.guards[edit])),
        }
    }
}

/// Whether two guards do the same, whatever is said of them.
fn same(a: &Guard, b: &Guard) -> bool {
    (&a.level, &a.when, a.action) == (&b.level, &b.when, b.action)
}

/// The numbers that patches have set.
fn numbers(student: &Student) -> impl Iterator<Item = (&str, f64)> {
    student.patches.iter().flat_map(|p| &p.changes).map(|c| (c.place.as_str(), c.now))
}

/// Edits that carry evidence.
pub(super) fn measured(student: &Student) -> usize {
    student.guards.len() + student.patches.len()
}

/// Whether an edit does nothing by itself: a patch whose numbers were all changed again by later ones.
pub(super) fn does_nothing(student: &Student, without: &Student) -> bool {
    key(student) == key(without)
}

/// Puts changes of the same number, in patches from number `from` on, together: the first one says what it was and what
/// it is now.
pub(super) fn merge(student: &mut Student, from: usize) {
    let place = |student: &Student, patch: usize, change: usize| {
        student.patches[patch].changes.get(change).and_then(|c| student.place(&c.place).ok())
    };
    for later in from..student.patches.len() {
        let mut change = 0;
        while let Some(at) = place(student, later, change) {
            let same = |p: usize| {
                let changes = 0..student.patches[p].changes.len();
                changes.map(move |c| (p, c)).find(|&(p, c)| place(student, p, c).as_ref() == Some(&at))
            };
            match (from..later).find_map(same) {
                Some((patch, first)) => {
                    let gone = student.patches[later].changes.remove(change);
                    student.patches[patch].changes[first].now = gone.now;
                }
                None => change += 1,
            }
        }
    }
    for patch in &mut student.patches[from..] {
        patch.changes.retain(|c| c.was != c.now);
    }
    student.patches.retain(|p| !p.changes.is_empty());
}

/// Takes out terms that `before` does not have, that count nothing and that no patch speaks of.
fn drop_idle_terms(student: &mut Student, before: &Student) {
    for level in 0..student.levels.len().min(before.levels.len()) {
        let Model::Additive(had) = &before.levels[level].scheduler().model else { continue };
        let had = had.terms.len();
        let Model::Additive(has) = &student.levels[level].scheduler().model else { continue };
        for term in (had..has.terms.len()).rev() {
            drop_if_idle(student, level, term);
        }
    }
}

fn drop_if_idle(student: &mut Student, level: usize, term: usize) {
    let Model::Additive(model) = &student.levels[level].scheduler().model else { return };
    let place = Place::Model { level, slot: model.slot(term) };
    // A student's patches name places that it has.
    let places: Vec<Vec<Option<Place>>> =
        student.patches.iter().map(|p| p.changes.iter().map(|c| student.place(&c.place).ok()).collect()).collect();
    if model.terms[term].coefficient != 0.0 || places.iter().flatten().any(|p| p.as_ref() == Some(&place)) {
        return;
    }
    if let Model::Additive(model) = student.levels[level].scheduler_mut() {
        model.terms.remove(term);
    }
    // Terms behind it have other numbers now, and so have their places.
    for (patch, places) in places.into_iter().enumerate() {
        for (change, place) in places.into_iter().enumerate() {
            let Some(Place::Model { level: of, slot }) = place else { continue };
            let slot = match slot {
                Slot::Term { term: t } if of == level && t > term => Slot::Term { term: t - 1 },
                Slot::Knot { term: t, factor } if of == level && t > term => Slot::Knot { term: t - 1, factor },
                other => other,
            };
            let name = student.place_name(&Place::Model { level: of, slot });
            student.patches[patch].changes[change].place = name;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sched_distill_core::{
        model::{Additive, Factor, LevelModels, NamedModel, Provenance, Regime, Shape, Term},
        rng::Stream,
    };
    use sched_distill_dag::feature::feature_set;

    fn student() -> Student {
        let set = feature_set();
        let model = Model::Additive(Additive { intercept: 0.0, terms: vec![Term::linear(2, 1.0, 1.5)] });
        let named = NamedModel { name: "rule".to_owned(), temperature: 1.0, model };
        Student::new(set.clone(), false, vec![LevelModels::new("job", "rule", vec![named])], Provenance::default())
    }

    /// Adds a term and gives it a coefficient by a patch.
    fn with_log(student: &mut Student, feature: u32, coefficient: f64) {
        let factors = vec![Factor { feature, shape: Shape::Log, threshold: None }];
        let Model::Additive(model) = student.levels[0].scheduler_mut() else { unreachable!() };
        model.terms.push(Term { coefficient: 0.0, factors, sd: 1.0, standard_error: None });
        let slot = model.slot(model.terms.len() - 1);
        student.patch(&[(Place::Model { level: 0, slot }, coefficient)], "test");
    }

    #[test]
    fn guards_numbers_and_regimes_count_once_each() {
        let before = student();
        assert_eq!(Edits::between(&before, &before), Edits::default());
        let mut after = before.clone();
        after.edit("job.coefficient[remaining_work]=2", "test").unwrap();
        with_log(&mut after, 2, -0.5);
        after.guards.push(Guard::parse("job: age > 60s first", &before.feature_set).unwrap());
        assert_eq!(Edits::between(&before, &after), Edits { guards: 1, numbers: 2, regimes: 0 });
        // A guard's number that is moved is one edit, and so is a guard that is taken out.
        let mut moved = after.clone();
        moved.guards[0].when[0].value = 9e4;
        assert_eq!(Edits::between(&after, &moved).total(), 1);
        assert_eq!(Edits::between(&after, &before).guards, 1);
        // What a regime hides still counts.
        let heuristic = Model::Additive(Additive { intercept: 0.0, terms: vec![Term::linear(3, -1.0, 1.0)] });
        let used = after.levels[0].scheduler().model.clone();
        after.set_scheduler(0, Model::Regime(Regime::split(5, 4.0, heuristic, used)));
        assert_eq!(Edits::between(&before, &after), Edits { guards: 1, numbers: 2, regimes: 1 });
    }

    #[test]
    fn a_number_that_is_moved_twice_is_one_patch() {
        let mut student = student();
        let edit = |student: &mut Student, value: &str| {
            student.edit(&format!("job.coefficient[remaining_work]={value}"), "test").unwrap();
        };
        edit(&mut student, "2");
        let from = student.patches.len();
        edit(&mut student, "3");
        with_log(&mut student, 2, -0.5);
        edit(&mut student, "4");
        merge(&mut student, from);
        student.check_patches().unwrap();
        let changes: Vec<(f64, f64)> = student.patches.iter().map(|p| (p.changes[0].was, p.changes[0].now)).collect();
        assert_eq!(changes, [(1.0, 2.0), (2.0, 4.0), (0.0, -0.5)]);
        // One that came back is none.
        edit(&mut student, "2");
        merge(&mut student, from);
        student.check_patches().unwrap();
        assert_eq!(student.patches.len(), 2);
    }

    #[test]
    fn edits_are_taken_out_with_the_terms_that_they_brought() {
        let before = student();
        let mut after = before.clone();
        after.guards.push(Guard::parse("job: age > 60s first", &before.feature_set).unwrap());
        (2..6).for_each(|feature| with_log(&mut after, feature, f64::from(feature)));
        after.check_patches().unwrap();
        let fewer = without(&after, &before, &[0, 2, 3]);
        fewer.check_patches().unwrap();
        let places: Vec<&str> = fewer.patches.iter().map(|p| p.changes[0].place.as_str()).collect();
        assert_eq!(places, ["job.term[1].coefficient", "job.term[2].coefficient"]);
        let Model::Additive(model) = &fewer.levels[0].scheduler().model else { unreachable!() };
        assert_eq!(model.terms.iter().map(|t| t.coefficient).collect::<Vec<_>>(), [1.0, 2.0, 5.0]);
        assert!(fewer.guards.is_empty());
        // In any order and any number, what is left is what its patches say.
        let mut draws = Stream::new(1, "edits");
        for _ in 0..50 {
            let some: Vec<usize> = (0..5).filter(|_| draws.below(2) == 0).collect();
            let fewer = without(&after, &before, &some);
            fewer.check_patches().unwrap();
            assert_eq!(Edits::between(&before, &fewer).total(), 5 - some.len());
        }
        assert_eq!(without(&after, &before, &[0, 1, 2, 3, 4]), before);
    }
}
