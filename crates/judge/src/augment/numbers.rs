//! Numbers under search: where they stand, the scale on which they move, and students with other numbers.

use super::moves;
use sched_distill_core::model::{Model, NamedModel, Operator, Place, Slot, Student, Term};

/// A number under search: value = origin + scale · coordinate.
#[derive(Clone)]
pub(super) struct Coordinate {
    target: Target,
    origin: f64,
    scale: f64,
    /// What it is rounded to without changing what it does.
    whole: Option<fn(f64) -> f64>,
}

/// What a coordinate moves.
#[derive(Clone)]
enum Target {
    /// A number of the student.
    Number(Place),
    /// The coefficient of a term that the level's sum does not have yet.
    Term { level: usize, term: Term },
}

/// How far a coefficient that does nothing moves scores at a step of 1, in units of the temperature.
const SMALL_EFFECT: f64 = 0.3;

impl Coordinate {
    /// Whether it brings a term.
    pub(super) fn is_new(&self) -> bool {
        matches!(self.target, Target::Term { .. })
    }

    /// Whether its number in `student` is another one than in `base`.
    pub(super) fn is_moved(&self, base: &Student) -> bool {
        match &self.target {
            Target::Number(place) => base.number(place).unwrap_or(0.0) != self.origin,
            Target::Term { .. } => false,
        }
    }
}

/// The numbers of a student, each with the scale on which it matters to the order of candidates: a coefficient with its
/// effect, a leaf's value with the spread of all leaves, a tree's threshold or a guard's number with itself. Where
/// terms bend is left as it is, and so is a number that a regime hides: every number more makes the search slower.
///
/// Then the coefficients of the terms that `grown`, the same student with more terms, has and the student has not.
pub(super) fn coordinates(student: &Student, grown: &Student, new: &[(usize, usize)]) -> Vec<Coordinate> {
    let scale = |place: &Place, number: f64| -> Option<f64> {
        let Place::Model { level, slot } = *place else { return Some(number.abs().max(1e-3)) };
        let NamedModel { model, temperature, .. } = student.levels[level].scheduler();
        match slot {
            Slot::Feature { .. } | Slot::Term { .. } => {
                let Model::Additive(additive) = model else { return None };
                of_coefficient(number, additive.term_at(slot)?.sd, *temperature)
            }
            Slot::Value { .. } => moves::spread(model),
            Slot::LeafTerm { .. } | Slot::Threshold { .. } | Slot::Border { .. } => Some(number.abs().max(1e-3)),
            Slot::Knot { .. } => None,
        }
    };
    let there = student.places().into_iter().filter_map(|place| {
        let origin = student.number(&place)?;
        let whole = whole(student, &place);
        Some(Coordinate { scale: scale(&place, origin)?, origin, whole, target: Target::Number(place) })
    });
    let missing = new.iter().filter_map(|&(level, term)| {
        let NamedModel { model, temperature, .. } = grown.levels[level].scheduler();
        let Model::Additive(additive) = model else { return None };
        let term = additive.terms.get(term)?.clone();
        let scale = of_coefficient(0.0, term.sd, *temperature)?;
        Some(Coordinate { scale, origin: 0.0, whole: None, target: Target::Term { level, term } })
    });
    there.chain(missing).collect()
}

/// The scale of a coefficient whose term has a deviation within choices.
fn of_coefficient(number: f64, sd: f64, temperature: f64) -> Option<f64> {
    (sd > 0.0).then(|| number.abs() + SMALL_EFFECT * temperature / sd)
}

/// How a guard's number becomes whole where its feature is: `x > 2.7` and `x >= 2.3` say what `x > 2` and `x >= 3` say.
fn whole(student: &Student, place: &Place) -> Option<fn(f64) -> f64> {
    let Place::Guard { guard, condition } = *place else { return None };
    let guard = student.guards.get(guard)?;
    let condition = guard.when.get(condition)?;
    let feature = student.feature_set.level(&guard.level)?.features.iter().find(|f| f.name == condition.feature)?;
    let round: fn(f64) -> f64 = match condition.operator {
        Operator::Above | Operator::AtMost => f64::floor,
        Operator::AtLeast | Operator::Below => f64::ceil,
    };
    feature.whole.then_some(round)
}

/// A student with the numbers of a point, rounded to what a person reads: a patch per number, or a single one where
/// they are `together`. Terms come in as far as they count.
pub(super) fn at(student: &Student, coordinates: &[Coordinate], point: &[f64], together: bool) -> Student {
    let mut changed = student.clone();
    let mut changes = Vec::new();
    for (c, x) in coordinates.iter().zip(point) {
        let value = moves::round(c.origin + c.scale * x);
        let value = c.whole.map_or(value, |whole| whole(value) + 0.0);
        let place = match &c.target {
            Target::Number(place) => place.clone(),
            Target::Term { .. } if value == 0.0 => continue,
            Target::Term { level, term } => {
                let Model::Additive(model) = changed.levels[*level].scheduler_mut() else { continue };
                model.terms.push(term.clone());
                Place::Model { level: *level, slot: model.slot(model.terms.len() - 1) }
            }
        };
        changes.push((place, value));
    }
    match together {
        true => changed.patch(&changes, "found by moving all numbers at once"),
        false => changes.iter().for_each(|c| changed.patch(std::slice::from_ref(c), "found by moving a few numbers")),
    }
    changed
}

#[cfg(test)]
mod tests {
    use super::*;
    use sched_distill_core::model::{Guard, Provenance};
    use sched_distill_dag::feature::feature_set;

    #[test]
    fn numbers_of_guards_are_whole_where_features_count() {
        let set = feature_set();
        let mut student = Student::new(set.clone(), false, Vec::new(), Provenance::default());
        let guards = [
            "stage: unfinished_parents > 0 last",
            "stage: children_unlocked >= 1 first",
            "job: ready_tasks < 4 last",
            "job: held_of_fair_share >= 2 last",
            "job: age > 60s first",
        ];
        student.guards = guards.iter().map(|text| Guard::parse(text, set).unwrap()).collect();
        let coordinates = coordinates(&student, &student, &[]);
        let text = |point: [f64; 5]| -> Vec<String> {
            at(&student, &coordinates, &point, false).guards.iter().map(ToString::to_string).collect()
        };
        let expected = [
            "stage: unfinished_parents > 0 last",
            "stage: children_unlocked >= 1 first",
            "job: ready_tasks < 5 last",
            "job: held_of_fair_share >= 2.5 last",
            "job: age > 75000 first",
        ];
        assert_eq!(text([0.9, -0.7, 0.1, 0.25, 0.25]), expected);
    }
}
