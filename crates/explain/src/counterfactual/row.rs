//! The nearest row with another answer.

use super::{
    super::{
        error::{ExplainError, expect_length},
        path::{self, Paths, Side},
    },
    constraint::{Constraints, Cost, Variable, Variables},
};
use sched_distill_core::{level::first_max, model::Tree};

/// The answer that is asked for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Goal {
    /// This [class](Tree::predict_class).
    Class(usize),
    /// Any class but the present one.
    OtherClass,
    /// A first output above this value.
    Above(f64),
    /// A first output below this value.
    Below(f64),
}

/// The nearest row with the answer asked for.
#[derive(Clone, Debug, PartialEq)]
pub struct Counterfactual {
    /// Its features, shape `(width,)`.
    pub row: Vec<f32>,
    /// The leaf that it reaches.
    pub leaf: usize,
    /// Σ |change| ÷ scale.
    pub distance: f64,
    /// Features that change, ascending.
    pub changed: Vec<usize>,
}

/// The nearest row for which a tree gives another answer, exact: no allowed row with that answer has a smaller distance
/// Σ |change| ÷ scale, and none of the same distance changes fewer features. `None` if no allowed row has it.
///
/// Rows are rows of f32: just above a threshold means the next f32, or the next whole number where these are asked for. The row
/// itself is the result, at distance 0, if it has the answer already.
///
/// ```
/// use sched_distill_explain::{Constraints, Goal, counterfactual};
/// use sched_distill_core::model::{LEAF, Tree};
///
/// let tree = Tree { // x0 <= 2.5 gives 1, else 3
///     feature: vec![0; 3], threshold: vec![2.5, 0.0, 0.0], left: vec![1, LEAF, LEAF], right: vec![2, LEAF, LEAF],
///     default_left: vec![true; 3], value: vec![2.0, 1.0, 3.0], impurity: vec![1.0, 0.0, 0.0], n_samples: vec![2, 1, 1],
///     weight: vec![2.0, 1.0, 1.0], ..Tree::leaf(0.0, 0.0, 0, 0.0)
/// };
/// let mut constraints = Constraints::new(1);
/// constraints.integer[0] = true;
/// let found = counterfactual(&tree, &[1.0], Goal::Above(2.0), &constraints)?.unwrap();
/// assert_eq!((found.row, found.distance), (vec![3.0], 2.0));
/// # Ok::<(), sched_distill_explain::ExplainError>(())
/// ```
///
/// # Errors
///
/// If the tree has linear leaves or tests a feature beyond the row, a class does not exist, a list of the constraints has the
/// wrong length or a bad number, or the row breaks a tie.
pub fn counterfactual(
    tree: &Tree,
    row: &[f32],
    goal: Goal,
    constraints: &Constraints,
) -> Result<Option<Counterfactual>, ExplainError> {
    path::check(tree, row.len())?;
    expect_length("scale", constraints.scale.len(), row.len())?;
    if let Goal::Class(output) = goal
        && output >= tree.outputs
    {
        return Err(ExplainError::NoSuchOutput { output, outputs: tree.outputs });
    }
    let variables = Variables::new(constraints, row)?;
    let now = tree.predict_class(row);
    let wanted = |leaf: usize| {
        let value = tree.node_value(leaf);
        let class = || first_max(value.iter().copied());
        match goal {
            Goal::Class(wanted) => class() == wanted,
            Goal::OtherClass => class() != now,
            Goal::Above(bound) => value[0] > bound,
            Goal::Below(bound) => value[0] < bound,
        }
    };
    let paths = Paths::new(tree, &path::edges(tree));
    let components = Components::new(&variables);
    let mut best: Option<(Cost, usize, Vec<f32>)> = None;
    for number in (0..paths.len()).filter(|&l| wanted(paths.leaf[l] as usize)) {
        let limit = best.as_ref().map_or(Cost::NEVER, |b| b.0);
        if let Some((cost, values)) = nearest_in(&variables, &components, paths.sides(number), limit) {
            best = Some((cost, number, values));
        }
    }
    Ok(best.map(|(cost, number, values)| {
        let row: Vec<f32> = variables.of.iter().map(|&v| values[v]).collect();
        let leaf = paths.leaf[number] as usize;
        debug_assert_eq!(tree.apply(&row), leaf);
        let changes = |f: &usize| variables.list[variables.of[*f]].cost(row[*f]).changed > 0;
        let changed = (0..row.len()).filter(changes).collect();
        Counterfactual { changed, leaf, distance: cost.distance, row }
    }))
}

/// A variable, the place of the one it is tied to in its set, and whether it must be at least, not at most, that one.
type Member = (usize, Option<(usize, bool)>);

/// Variables that ties connect, each set in an order in which every variable but the first is tied to one earlier one.
struct Components {
    sets: Vec<Vec<Member>>,
}

impl Components {
    fn new(variables: &Variables) -> Self {
        let mut seen = vec![false; variables.list.len()];
        let mut sets = Vec::new();
        for first in 0..variables.list.len() {
            if std::mem::replace(&mut seen[first], true) {
                continue;
            }
            let mut set = vec![(first, None)];
            let mut at = 0;
            while at < set.len() {
                let (variable, _) = set[at];
                for &(a, b) in &variables.at_most {
                    let (other, at_least) = if a == variable { (b, true) } else { (a, false) };
                    if (a == variable || b == variable) && !std::mem::replace(&mut seen[other], true) {
                        set.push((other, Some((at, at_least))));
                    }
                }
                at += 1;
            }
            sets.push(set);
        }
        Self { sets }
    }
}

/// What a leaf leaves of a variable's values.
#[derive(Clone, Copy)]
struct Room {
    /// The value at hand may stay.
    stay: bool,
    low: f32,
    high: f32,
}

impl Room {
    fn allows(&self, variable: &Variable, value: f32) -> bool {
        (self.stay && value == variable.value)
            || (self.low <= value && value <= self.high && variable.may_become(value))
    }
}

fn room(variable: &Variable, sides: &[Side]) -> Room {
    let own = || sides.iter().filter(|s| variable.features.contains(&(s.feature as usize)));
    let stay = own().all(|s| s.holds(variable.value));
    let (mut low, mut high) = variable.range;
    for side in own() {
        // A bound that is NaN holds nothing back.
        low = low.max(side.lo.next_up());
        high = high.min(side.hi);
    }
    if variable.integer {
        (low, high) = (low.ceil(), high.floor());
    }
    if variable.fixed {
        (low, high) = (f32::INFINITY, f32::NEG_INFINITY);
    }
    Room { stay, low, high }
}

/// The cheapest values of all variables inside a leaf's box, if they cost less than the limit.
fn nearest_in(variables: &Variables, components: &Components, sides: &[Side], limit: Cost) -> Option<(Cost, Vec<f32>)> {
    let rooms: Vec<Room> = variables.list.iter().map(|v| room(v, sides)).collect();
    let mut values: Vec<f32> = variables.list.iter().map(|v| v.value).collect();
    let mut total = Cost::default();
    for set in &components.sets {
        if set.iter().all(|&(v, _)| rooms[v].stay) {
            continue;
        }
        let cost = match set[..] {
            [(v, _)] => {
                let (variable, room) = (&variables.list[v], rooms[v]);
                let nearest = if variable.value < room.low { room.low } else { room.high };
                if !room.allows(variable, nearest) {
                    return None;
                }
                values[v] = nearest;
                variable.cost(nearest)
            }
            _ => nearest_tied(variables, set, &rooms, &mut values)?,
        };
        total = total.plus(cost);
        if total >= limit {
            return None;
        }
    }
    (total < limit).then_some((total, values))
}

/// The cheapest values of tied variables: a walk over the tree of ties, from its ends, with the best cost for every value that
/// can be the answer. These are the values at hand and the ends of the rooms, and, where whole numbers are asked for, their
/// neighbours: between them the cost is linear and no tie changes.
fn nearest_tied(variables: &Variables, set: &[Member], rooms: &[Room], values: &mut [f32]) -> Option<Cost> {
    let mut candidates: Vec<f32> = Vec::new();
    for &(v, _) in set {
        candidates.extend([variables.list[v].value, rooms[v].low, rooms[v].high].iter().filter(|c| c.is_finite()));
    }
    if set.iter().any(|&(v, _)| variables.list[v].integer) {
        candidates.extend(candidates.clone().iter().flat_map(|c| [c.floor(), c.ceil()]));
    }
    candidates.iter_mut().for_each(|c| *c += 0.0); // −0 is 0.
    candidates.sort_unstable_by(f32::total_cmp);
    candidates.dedup();
    let own = |v: usize, c: f32| {
        let variable = &variables.list[v];
        if rooms[v].allows(variable, c) { variable.cost(c) } else { Cost::NEVER }
    };
    let mut cost: Vec<Vec<Cost>> = set.iter().map(|&(v, _)| candidates.iter().map(|&c| own(v, c)).collect()).collect();
    // Per variable and value of its parent, the place of the value to take.
    let mut choice: Vec<Vec<usize>> = vec![Vec::new(); set.len()];
    for place in (1..set.len()).rev() {
        let Some((parent, at_least)) = set[place].1 else { continue };
        let below = std::mem::take(&mut cost[place]);
        let mut best = vec![0; candidates.len()];
        let mut so_far: Option<usize> = None;
        let mut take = |i: usize| {
            if so_far.is_none_or(|s| below[i] < below[s]) {
                so_far = Some(i);
            }
            best[i] = so_far.unwrap_or(i);
        };
        if at_least {
            (0..candidates.len()).rev().for_each(&mut take);
        } else {
            (0..candidates.len()).for_each(&mut take);
        }
        for (cost, &b) in cost[parent].iter_mut().zip(&best) {
            *cost = cost.plus(below[b]);
        }
        choice[place] = best;
    }
    let first = (0..candidates.len()).reduce(|a, b| if cost[0][b] < cost[0][a] { b } else { a })?;
    let total = cost[0][first];
    if total.distance.is_infinite() {
        return None;
    }
    let mut taken = vec![first; set.len()];
    for (place, &(v, tie)) in set.iter().enumerate() {
        if let Some((parent, _)) = tie {
            taken[place] = choice[place][taken[parent]];
        }
        values[v] = candidates[taken[place]];
    }
    Some(total)
}
