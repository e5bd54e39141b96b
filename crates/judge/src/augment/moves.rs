//! What a search may try on a student: one guard more, another number at one place, one edit fewer.

use super::{Border, Order};
use sched_distill_core::{
    model::{Additive, Factor, Guard, Model, Place, Regime, Shape, Slot, Student, Term},
    scenario::TermTemplate,
};

/// A student one step from another.
#[derive(Clone, Debug)]
pub(super) struct Move {
    /// What was done, for people.
    pub(super) what: String,
    pub(super) student: Student,
}

/// With one of `guards` more, in front of the others or behind them, if there is room for it.
pub(super) fn guards(student: &Student, guards: &[Guard], most: usize) -> Vec<Move> {
    if student.guards.len() >= most {
        return Vec::new();
    }
    let mut moves = Vec::new();
    for guard in guards.iter().filter(|g| student.guards.iter().all(|h| h.when != g.when || h.action != g.action)) {
        // The order among guards matters at one level only.
        let same_level = student.guards.iter().any(|g| g.level == guard.level);
        let places = if same_level { vec![0, student.guards.len()] } else { vec![student.guards.len()] };
        for place in places {
            let mut changed = student.clone();
            changed.guards.insert(place, guard.clone());
            moves.push(Move { what: format!("guard {guard}"), student: changed });
        }
    }
    moves
}

/// Without one of its guards; what is left of the guards keeps its order.
pub(super) fn without_guard(student: &Student) -> Vec<Move> {
    let without = |guard: usize| {
        let mut changed = student.clone();
        let gone = changed.guards.remove(guard);
        Move { what: format!("without guard {gone}"), student: changed }
    };
    (0..student.guards.len()).map(without).collect()
}

/// Each leaf of a tree with the next higher and the next lower value among its leaves (a step beyond at the ends), and
/// with its candidates in each of `orders`; each guard's number a step up or down; each coefficient of a leaf halved,
/// doubled and taken out.
pub(super) fn patches(student: &Student, orders: &[Order]) -> Vec<Move> {
    let mut moves = Vec::new();
    let mut push = |place: &Place, value: f64, reason: &str| {
        let mut changed = student.clone();
        changed.patch(&[(place.clone(), value)], reason);
        let was = student.number(place).unwrap_or_default();
        if changed.number(place) != Some(was) {
            let what = format!("{} {} -> {} ({reason})", student.place_name(place), short(was), short(value));
            moves.push(Move { what, student: changed });
        }
    };
    for place in student.places() {
        // Every place of the student has a number.
        let number = student.number(&place).unwrap_or_default();
        match place {
            Place::Model { level, slot: Slot::Value { node } } => {
                let models = &student.levels[level];
                for (value, reason) in neighbours(&models.scheduler().model, number) {
                    push(&place, value, reason);
                }
                for (_, feature, largest) in orders.iter().filter(|(l, _, _)| *l == models.level) {
                    let spec = student.feature_set.level(&models.level);
                    let column = spec.and_then(|s| s.features.iter().position(|f| f.name == *feature));
                    let spread = spread(&models.scheduler().model);
                    if let (Some(column), Model::Tree(_), Some(spread)) = (column, &models.scheduler().model, spread) {
                        let place = Place::Model { level, slot: Slot::LeafTerm { node, column } };
                        let (first, sign) = if *largest { ("largest", 1.0) } else { ("smallest", -1.0) };
                        let small = round(sign * 1e-3 * spread);
                        push(&place, small, &format!("within the leaf, the {first} {feature} first"));
                    }
                }
            }
            // A sum has so many coefficients that only those are tried that pull, in their direction; see the search.
            Place::Model { slot: Slot::Feature { .. } | Slot::Term { .. }, .. } => {}
            Place::Model { slot: Slot::LeafTerm { .. }, .. } => {
                for (factor, reason) in [(0.5, "counts half"), (2.0, "counts twice"), (0.0, "does not count")] {
                    push(&place, round(number * factor), reason);
                }
            }
            Place::Model { slot: Slot::Threshold { .. } | Slot::Knot { .. } | Slot::Border { .. }, .. } => {}
            Place::Guard { .. } => {
                for (factor, reason) in [(0.8, "stricter or looser"), (1.25, "stricter or looser")] {
                    push(&place, round(number * factor), reason);
                }
            }
        }
    }
    moves
}

/// Adds terms with coefficient 0 to the sums of terms that schedule, those that are not there yet, up to `room` in all:
/// the places of the new ones, level and term.
pub(super) fn add_terms(student: &mut Student, terms: &[TermTemplate], room: usize) -> Vec<(usize, usize)> {
    let mut new = Vec::new();
    for (level, factors) in terms {
        let Some(at) = student.levels.iter().position(|l| l.level == *level) else { continue };
        let Some(spec) = student.feature_set.level(level) else { continue };
        let column = |name: &str| spec.features.iter().position(|f| f.name == name);
        let factor = |(name, shape): &(&str, Shape)| {
            Some(Factor { feature: column(name)? as u32, shape: *shape, threshold: None })
        };
        let Some(factors) = factors.iter().map(factor).collect::<Option<Vec<Factor>>>() else { continue };
        if let Model::Additive(m) = student.levels[at].scheduler_mut()
            && new.len() < room
            && m.terms.iter().all(|t| t.factors != factors)
        {
            new.push((at, m.terms.len()));
            m.terms.push(Term { coefficient: 0.0, factors, sd: 0.0, standard_error: None });
        }
    }
    new
}

/// Another model of a level, or a named heuristic's order, in a part of the cluster's states: below or above each value
/// of each of `borders`.
pub(super) fn regimes(student: &Student, orders: &[Order], borders: &[Border]) -> Vec<Move> {
    let mut moves = Vec::new();
    for (at, models) in student.levels.iter().enumerate() {
        let used = &models.scheduler().model;
        let Some(spec) = student.feature_set.level(&models.level) else { continue };
        if matches!(used, Model::Regime(_)) {
            continue;
        }
        let column = |name: &str| spec.features.iter().position(|f| f.name == name);
        let others = models.models.iter().filter(|m| m.name != models.used && !matches!(m.model, Model::Regime(_)));
        let mut alternatives: Vec<(String, Model)> = others.map(|m| (m.name.clone(), m.model.clone())).collect();
        for (_, feature, largest) in orders.iter().filter(|(level, _, _)| *level == models.level) {
            let Some(column) = column(feature) else { continue };
            let term = Term::linear(column as u32, if *largest { 1.0 } else { -1.0 }, 1.0);
            let linear = Additive { intercept: 0.0, terms: vec![term] };
            let name = format!("{} {feature} first", if *largest { "largest" } else { "smallest" });
            alternatives.push((name, Model::Additive(linear)));
        }
        for (_, feature, values) in borders.iter().filter(|(level, _, _)| *level == models.level) {
            let Some(column) = column(feature) else { continue };
            for (&value, (name, other)) in values.iter().flat_map(|v| alternatives.iter().map(move |a| (v, a))) {
                for (above, sign) in [(true, ">"), (false, "<=")] {
                    let (low, high) = if above { (used, other) } else { (other, used) };
                    let regime = Regime::split(column as u32, value, low.clone(), high.clone());
                    let mut changed = student.clone();
                    changed.set_scheduler(at, Model::Regime(regime));
                    let what = format!("regime {}: {name} where {feature} {sign} {value}", models.level);
                    moves.push(Move { what, student: changed });
                }
            }
        }
    }
    moves
}

/// The next lower and the next higher of a tree's leaf values; half the spread beyond at the ends.
fn neighbours(model: &Model, value: f64) -> Vec<(f64, &'static str)> {
    let values: Vec<f64> = leaf_values(model);
    let Some(spread) = spread(model) else { return Vec::new() };
    let above = values.iter().copied().filter(|v| *v > value).fold(f64::INFINITY, f64::min);
    let below = values.iter().copied().filter(|v| *v < value).fold(f64::NEG_INFINITY, f64::max);
    // Past the neighbour, so that the order of the two is the other way round.
    let step = 1e-3 * spread;
    let above = if above.is_finite() { above + step } else { value + 0.5 * spread };
    let below = if below.is_finite() { below - step } else { value - 0.5 * spread };
    vec![(round(above), "before the next better leaf"), (round(below), "behind the next worse leaf")]
}

fn leaf_values(model: &Model) -> Vec<f64> {
    let slots = model.slots().into_iter().filter(|s| matches!(s, Slot::Value { .. }));
    slots.filter_map(|s| model.number(s)).collect()
}

/// Largest less smallest leaf value; `None` if there is no difference.
pub(super) fn spread(model: &Model) -> Option<f64> {
    let values = leaf_values(model);
    let most = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let least = values.iter().copied().fold(f64::INFINITY, f64::min);
    (most > least).then_some(most - least)
}

/// Four significant digits, for numbers that a person shall read.
pub(super) fn round(value: f64) -> f64 {
    // Formatting with an exponent gives text that parses; adding 0 makes -0 the same as 0.
    format!("{value:.3e}").parse().unwrap_or(value) + 0.0
}

pub(super) fn short(value: f64) -> String {
    if value == 0.0 || (1e-3..1e6).contains(&value.abs()) {
        format!("{}", round(value))
    } else {
        format!("{value:.3e}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sched_distill_core::model::{LevelModels, NamedModel, Provenance, ScoreCandidates, Tree};
    use sched_distill_dag::feature::feature_set;

    /// A stump at the job level, a leaf below.
    fn student() -> Student {
        let set = feature_set();
        let column = set.levels[0].features.iter().position(|f| f.name == "age").unwrap();
        let models = [Tree::stump(column as u32, 5e3, [0.25, 0.75]), Tree::leaf(0.0, 0.0, 1, 1.0)];
        let level = |(level, tree): (&str, Tree)| {
            let named = NamedModel { name: "tree".to_owned(), temperature: 1.0, model: Model::Tree(tree) };
            LevelModels::new(level, "tree", vec![named])
        };
        let levels = ["job", "stage"].into_iter().zip(models).map(level).collect();
        Student::new(set.clone(), false, levels, Provenance::default())
    }

    #[test]
    fn leaves_pass_their_neighbours_and_get_orders() {
        let moves = patches(&student(), &[("job", "remaining_work_rank", false)]);
        let what: Vec<&str> = moves.iter().map(|m| m.what.as_str()).collect();
        assert_eq!(
            what,
            [
                "job.node[1].value 0.25 -> 0.7505 (before the next better leaf)",
                "job.node[1].value 0.25 -> 0 (behind the next worse leaf)",
                "job.node[1].coefficient[remaining_work_rank] 0 -> -5.000e-4 (within the leaf, the smallest \
                 remaining_work_rank first)",
                "job.node[2].value 0.75 -> 1 (before the next better leaf)",
                "job.node[2].value 0.75 -> 0.2495 (behind the next worse leaf)",
                "job.node[2].coefficient[remaining_work_rank] 0 -> -5.000e-4 (within the leaf, the smallest \
                 remaining_work_rank first)",
            ]
        );
        assert!(moves.iter().all(|m| m.student.patches.len() == 1 && m.student.check_patches().is_ok()));
    }

    #[test]
    fn regimes_put_a_heuristic_below_or_above_a_border() {
        let student = student();
        let moves = regimes(&student, &[("job", "arrival_order", false)], &[("job", "jobs_in_system", &[4.0])]);
        let what: Vec<&str> = moves.iter().map(|m| m.what.as_str()).collect();
        let expected = [
            "regime job: smallest arrival_order first where jobs_in_system > 4",
            "regime job: smallest arrival_order first where jobs_in_system <= 4",
        ];
        assert_eq!(what, expected);
        for (m, heuristic) in moves.iter().zip([1, 0]) {
            let Model::Regime(regime) = &m.student.levels[0].scheduler().model else { unreachable!() };
            assert_eq!(regime.models[1 - heuristic], student.levels[0].scheduler().model);
            assert!(matches!(regime.models[heuristic], Model::Additive(_)));
            assert_eq!(regime.size(), 2 + 2 + 1);
            assert!(regimes(&m.student, &[("job", "arrival_order", false)], &[("job", "offered", &[1.0])]).is_empty());
        }
    }

    #[test]
    fn a_guard_goes_in_front_or_behind_where_the_level_has_one() {
        let set = feature_set();
        let parse = |text| Guard::parse(text, set).unwrap();
        let mut student = student();
        student.guards.push(parse("age > 60s first"));
        let all = [parse("room <= 2 last"), parse("stage: depth > 1 last"), parse("age > 60s first")];
        let moves = guards(&student, &all, 6);
        let texts = |s: &Student| s.guards.iter().map(ToString::to_string).collect::<Vec<_>>();
        let found: Vec<Vec<String>> = moves.iter().map(|m| texts(&m.student)).collect();
        let (age, room, depth) = ("job: age > 60000 first", "job: room <= 2 last", "stage: depth > 1 last");
        assert_eq!(found, [[room, age], [age, room], [age, depth]]);
        assert!(guards(&student, &all, 1).is_empty());
    }
}
