//! What would have to be different about one candidate for another choice.
//!
//! A candidate's quantities change; the ranks and ratios of *all* candidates follow. As one quantity v of one candidate moves,
//! every column formed from it is monotone in v, so every test of the model on it changes at one place, and between two
//! such places no score changes. The places are found to the last bit, by bisection over f32.

use super::{
    super::error::{ExplainError, rows_of},
    constraint::{Constraints, Cost, Variables},
    decider::Decider,
    derived::ChoiceColumns,
};

/// Steps of the grid on which quantities are moved for models that are no trees.
const GRID: usize = 48;

/// What is asked for of a candidate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChoiceGoal {
    /// It is chosen.
    Chosen,
    /// Another is chosen.
    NotChosen,
}

/// How far to search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChoiceSearch {
    /// Whether two quantities may change at once (groups of equal ones count as one).
    pub pairs: bool,
    /// Number of changed choices that may be scored in the search for pairs.
    pub tries: usize,
}

impl Default for ChoiceSearch {
    /// Pairs too, up to 100,000 changed choices.
    fn default() -> Self {
        Self { pairs: true, tries: 100_000 }
    }
}

/// A change of one quantity.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ChoiceChange {
    /// Column of the quantity.
    pub feature: usize,
    /// Its value in the choice at hand.
    pub from: f32,
    /// The value asked for.
    pub to: f32,
}

/// The nearest choice with the outcome asked for.
#[derive(Clone, Debug, PartialEq)]
pub struct ChoiceCounterfactual {
    /// What changes about the candidate; columns ascending.
    pub changes: Vec<ChoiceChange>,
    /// All candidates after the change, ranks and ratios included, shape `(candidates, width)`.
    pub x: Vec<f32>,
    /// The candidate that the model chooses then.
    pub chosen: usize,
    /// Σ |change| ÷ scale over the quantities.
    pub distance: f64,
    /// Whether the search came to its end: if not, a pair with a smaller distance may exist.
    pub exhaustive: bool,
}

/// The smallest change to the quantities of one candidate after which it is chosen, or no longer is; ranks and ratios of
/// all candidates are made again. `x` holds the choice, shape `(candidates, width)`. `None` if no change within the search
/// leads there.
///
/// What is exact where decisions only change at tests ([`Decider::is_smooth`] is false): among all changes of one quantity (or group of equal ones) to an f32 value that the constraints allow, the
/// result has the smallest distance. With `search.pairs` the same holds among all changes of at most two, if the result is
/// `exhaustive`; it holds too if the answer is `None` and the tries were not used up. Changes of three or more quantities at
/// once are not looked at. Elsewhere a quantity is moved along a grid besides, and the place between its last two values at
/// which the outcome changes is found by bisection; an outcome that comes and goes within one step of the grid is
/// overlooked, and no result is `exhaustive`. Every result was put to the decider as it stands.
///
/// Quantities with a ratio must not be negative, and do not become so. Columns that belong to the
/// cluster rather than the candidate should be [fixed](Constraints::with_common_fixed), and quantities tied to each other by
/// what they mean should be tied in the constraints. Scales and marks of ranks and ratios are not looked at.
///
/// # Errors
///
/// If a list of the constraints has the wrong length or a bad number, a tie names a rank or ratio or does not hold, or there is no such candidate.
pub fn choice_counterfactual(
    decider: &Decider<'_>,
    columns: &ChoiceColumns,
    x: &[f32],
    candidate: usize,
    goal: ChoiceGoal,
    constraints: &Constraints,
    search: ChoiceSearch,
) -> Result<Option<ChoiceCounterfactual>, ExplainError> {
    let width = columns.width();
    let rows = rows_of("x", x, width)?;
    if candidate >= rows {
        return Err(ExplainError::NoSuchCandidate { candidate, rows });
    }
    let tied = constraints.at_most.iter().flat_map(|&(a, b)| [a, b]).chain(constraints.equal.iter().flatten().copied());
    if let Some(feature) = tied.filter(|&f| f < width).find(|&f| !columns.is_base(f)) {
        return Err(ExplainError::Tie(format!("feature {feature} is a rank or ratio: it follows, and cannot be tied")));
    }
    let mut variables = Variables::new(constraints, &x[candidate * width..][..width])?;
    for variable in &mut variables.list {
        // A ratio is one of quantities that are not negative.
        if variable.features.iter().any(|&f| columns.derived(f).ratio.is_some()) {
            variable.range.0 = variable.range.0.max(0.0);
        }
    }
    let mut choice = Choice { decider, columns, x, candidate, goal, work: x.to_vec(), chosen: candidate };
    if choice.holds(&[], &variables) {
        return Ok(Some(choice.found(Cost::default(), !decider.is_smooth())));
    }
    let part = columns.takes_part(&x[candidate * width..][..width]);
    let movable = |v: &usize| {
        let variable = &variables.list[*v];
        part && !variable.fixed && variable.features.iter().all(|&f| columns.may_change(f))
    };
    let movable = (0..variables.list.len()).filter(movable);
    let movable: Vec<(usize, Vec<f32>)> = movable.map(|v| (v, choice.values(v, &variables))).collect();
    let mut best = nearest_single(&mut choice, &variables, &movable);
    let mut exhaustive = !decider.is_smooth();
    if search.pairs {
        exhaustive &= nearest_pair(&mut choice, &variables, &movable, search.tries, &mut best);
    }
    Ok(best.map(|(cost, changes)| {
        choice.holds(&changes, &variables);
        choice.found(cost, exhaustive)
    }))
}

/// Changes of variables by place, and what they cost.
type Changes = (Cost, Vec<(usize, f32)>);

/// The cheapest change of one of the variables with which the outcome is the one asked for. Each comes with the values worth
/// trying, the cheapest first.
fn nearest_single(choice: &mut Choice<'_>, variables: &Variables, movable: &[(usize, Vec<f32>)]) -> Option<Changes> {
    let is_smooth = choice.decider.is_smooth();
    let mut best: Option<Changes> = None;
    for &(v, ref values) in movable {
        // The last values that do not do, below and above the one at hand.
        let mut short = [variables.list[v].value; 2];
        for &value in values {
            let cost = variables.list[v].cost(value);
            if !is_smooth && best.as_ref().is_some_and(|b| cost >= b.0) {
                break;
            }
            let above = usize::from(value > variables.list[v].value);
            if ties_hold(variables, &[(v, value)]) && choice.holds(&[(v, value)], variables) {
                let value = if is_smooth { choice.nearest(v, short[above], value, variables) } else { value };
                let cost = variables.list[v].cost(value);
                if best.as_ref().is_none_or(|b| cost < b.0) {
                    best = Some((cost, vec![(v, value)]));
                }
                break;
            }
            short[above] = value;
        }
    }
    best
}

/// Looks for a change of two variables that is cheaper than the best one found. Whether it came to its end before so many
/// changed choices had been scored.
fn nearest_pair(
    choice: &mut Choice<'_>,
    variables: &Variables,
    movable: &[(usize, Vec<f32>)],
    mut tries: usize,
    best: &mut Option<Changes>,
) -> bool {
    for (i, &(a, ref of_a)) in movable.iter().enumerate() {
        for &(b, ref of_b) in &movable[i + 1..] {
            // Two tied quantities may have to meet at a place of either.
            let tied = variables.at_most.contains(&(a, b)) || variables.at_most.contains(&(b, a));
            let shared;
            let [first, second] = if tied {
                shared = [a, b].map(|v| merged(variables, v, [of_a, of_b]));
                [&shared[0], &shared[1]]
            } else {
                [of_a, of_b]
            };
            for &to_a in first {
                let cost_a = variables.list[a].cost(to_a);
                if best.as_ref().is_some_and(|best| cost_a >= best.0) {
                    break;
                }
                for &to_b in second {
                    let cost = cost_a.plus(variables.list[b].cost(to_b));
                    if best.as_ref().is_some_and(|best| cost >= best.0) {
                        break;
                    }
                    let pair = [(a, to_a), (b, to_b)];
                    if !ties_hold(variables, &pair) {
                        continue;
                    }
                    if tries == 0 {
                        return false;
                    }
                    tries -= 1;
                    if choice.holds(&pair, variables) {
                        *best = Some((cost, pair.to_vec()));
                        break;
                    }
                }
            }
        }
    }
    true
}

/// Whether all ties hold after some changes.
fn ties_hold(variables: &Variables, changes: &[(usize, f32)]) -> bool {
    let value = |v: usize| changes.iter().find(|c| c.0 == v).map_or(variables.list[v].value, |c| c.1);
    variables.at_most.iter().all(|&(a, b)| value(a) <= value(b))
}

/// The values of two tied variables that one of them may take.
fn merged(variables: &Variables, v: usize, values: [&[f32]; 2]) -> Vec<f32> {
    let [a, b] = values;
    let both = a.iter().chain(b).flat_map(|&value| [value, value.floor(), value.ceil()]).collect();
    by_cost(variables, v, both)
}

/// The values that a variable may change to, the cheapest first.
fn by_cost(variables: &Variables, v: usize, mut values: Vec<f32>) -> Vec<f32> {
    let variable = &variables.list[v];
    values.iter_mut().for_each(|value| *value += 0.0); // −0 is 0.
    values.retain(|&value| value != variable.value && variable.may_become(value));
    values.sort_unstable_by(|a, b| {
        variable.cost(*a).distance.total_cmp(&variable.cost(*b).distance).then(a.total_cmp(b))
    });
    values.dedup();
    values
}

/// A choice with a copy to change.
struct Choice<'a> {
    decider: &'a Decider<'a>,
    columns: &'a ChoiceColumns,
    x: &'a [f32],
    candidate: usize,
    goal: ChoiceGoal,
    work: Vec<f32>,
    chosen: usize,
}

impl Choice<'_> {
    /// Whether the goal holds after some changes; the copy is left as it is then.
    fn holds(&mut self, changes: &[(usize, f32)], variables: &Variables) -> bool {
        let width = self.columns.width();
        self.work.copy_from_slice(self.x);
        for &(v, value) in changes {
            for &feature in &variables.list[v].features {
                self.work[self.candidate * width + feature] = value;
                self.columns.recompute_family(&mut self.work, self.columns.derived(feature));
            }
        }
        self.chosen = self.decider.decide(&self.work);
        (self.chosen == self.candidate) == (self.goal == ChoiceGoal::Chosen)
    }

    /// The value nearest to `short`, which does not do, on the way to `enough`, which does: where the outcome changes.
    fn nearest(&mut self, v: usize, mut short: f32, mut enough: f32, variables: &Variables) -> f32 {
        let integer = variables.list[v].integer;
        loop {
            let middle = f32::midpoint(short, enough);
            let middle = if integer { middle.round() } else { middle };
            if middle == short || middle == enough {
                return enough;
            }
            if ties_hold(variables, &[(v, middle)]) && self.holds(&[(v, middle)], variables) {
                enough = middle;
            } else {
                short = middle;
            }
        }
    }

    /// The copy as the result.
    fn found(self, cost: Cost, exhaustive: bool) -> ChoiceCounterfactual {
        let width = self.columns.width();
        let rows = |x: &[f32]| x[self.candidate * width..][..width].to_vec();
        let (from, to) = (rows(self.x), rows(&self.work));
        let moved = (0..width).filter(|&f| self.columns.is_base(f) && from[f] != to[f] && !from[f].is_nan());
        ChoiceCounterfactual {
            changes: moved.map(|feature| ChoiceChange { feature, from: from[feature], to: to[feature] }).collect(),
            chosen: self.chosen,
            x: self.work,
            distance: cost.distance,
            exhaustive,
        }
    }

    /// The values of a variable that can be the nearest in their cell: both sides of every place where a test of the model
    /// changes, rounded into the cell where whole numbers are asked for. The cheapest first.
    fn values(&self, v: usize, variables: &Variables) -> Vec<f32> {
        let variable = &variables.list[v];
        let mut places = Vec::new();
        for &feature in &variable.features {
            self.places(feature, variable.range, &mut places);
        }
        // A value outside its range enters at an end.
        let (low, high) = variable.range;
        let mut values = vec![if variable.integer { low.ceil() } else { low }];
        values.push(if variable.integer { high.floor() } else { high });
        for last in places {
            let next = last.next_up();
            values.extend(if variable.integer { [last.floor(), next.ceil()] } else { [last, next] });
        }
        if self.decider.is_smooth() {
            self.grid(v, variables, &mut values);
        }
        by_cost(variables, v, values)
    }

    /// Steps from the value at hand to its range's ends, or to far beyond all other candidates.
    fn grid(&self, v: usize, variables: &Variables, values: &mut Vec<f32>) {
        let variable = &variables.list[v];
        let (columns, width) = (self.columns, self.columns.width());
        let of_all = self.x.chunks_exact(width).map(|row| row[variable.features[0]]).filter(|v| v.is_finite());
        let most = of_all.fold(variable.value.abs(), f32::max).max(1.0);
        let (low, high) = (variable.range.0.max(-4.0 * most), variable.range.1.min(4.0 * most));
        let round = |value: f32| if variable.integer { value.round() } else { value };
        for step in 1..=GRID {
            let part = step as f32 / GRID as f32;
            for end in [low, high] {
                values.push(round(variable.value + (end - variable.value) * part));
            }
            // Times and counts of work stretch over orders of magnitude.
            values.push(round(variable.value / (1.0 + 99.0 * part * part)));
        }
        if variable.integer {
            values.extend([-3.0, -2.0, -1.0, 1.0, 2.0, 3.0].map(|by| round(variable.value) + by));
        }
        // What others have is passed or met there.
        for row in self.x.chunks_exact(width).filter(|row| columns.takes_part(row)) {
            let other = row[variable.features[0]];
            for distance in self.decider.differences(variable.features[0]) {
                values.extend(
                    [other + distance, other - distance].into_iter().flat_map(|v| [v.next_down(), v, v.next_up()]),
                );
            }
        }
    }

    /// The last values before some test of the model changes as the candidate's quantity grows.
    fn places(&self, feature: usize, range: (f32, f32), places: &mut Vec<f32>) {
        let (columns, width) = (self.columns, self.columns.width());
        let family = columns.derived(feature);
        let thresholds = |column: usize| self.decider.breaks(column);
        places.extend_from_slice(thresholds(feature));
        let rows = self.x.chunks_exact(width).enumerate();
        let others: Vec<f32> = rows
            .filter(|(row, x)| *row != self.candidate && columns.takes_part(x))
            .map(|(_, x)| x[feature])
            .filter(|v| !v.is_nan())
            .collect();
        if family.rank.is_some_and(|rank| !thresholds(rank).is_empty()) {
            // The candidate passes another just above it; it is no longer below it just below.
            places.extend(others.iter().flat_map(|&other| [other, other.next_down()]));
        }
        let Some(thresholds) = family.ratio.map(thresholds) else { return };
        let least = others.iter().copied().fold(f32::INFINITY, f32::min);
        let (low, high) = (range.0.max(0.0), range.1.max(0.0));
        for &threshold in thresholds {
            // The candidate's own ratio grows with its quantity.
            let own = |v: f32| family.ratio_of(f64::from(v), f64::from(v.min(least))) <= threshold;
            places.extend(last_where(low, high, own));
            // Others' ratios fall.
            for &other in &others {
                let theirs = |v: f32| family.ratio_of(f64::from(other), f64::from(v.min(least))) > threshold;
                places.extend(last_where(low, high, theirs));
            }
        }
    }
}

/// The last value in a range of non-negative ones with a property that, once lost, does not come back; none if the first value
/// does not have it or the last one does.
fn last_where(low: f32, high: f32, holds: impl Fn(f32) -> bool) -> Option<f32> {
    if low > high || !holds(low) || holds(high) {
        return None;
    }
    // Non-negative f32 are in the order of their bits.
    let (mut last, mut first_without) = ((low + 0.0).to_bits(), high.to_bits());
    while first_without - last > 1 {
        let middle = last + (first_without - last) / 2;
        if holds(f32::from_bits(middle)) {
            last = middle;
        } else {
            first_without = middle;
        }
    }
    Some(f32::from_bits(last))
}
