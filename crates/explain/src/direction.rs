//! Which way a quantity counts among the candidates of a choice.

use sched_distill_learn::cholesky;
use serde::{Deserialize, Serialize};

/// What becomes of a candidate's score as a quantity of it grows, compared with the other candidates of its choice. Values are in
/// the quantity's unit.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// It rises.
    Up,
    /// It falls.
    Down,
    /// It rises up to this value and hardly changes beyond.
    UpTo(f64),
    /// It falls up to this value and hardly changes beyond.
    DownTo(f64),
    /// It hardly changes below this value and rises beyond.
    UpFrom(f64),
    /// It hardly changes below this value and falls beyond.
    DownFrom(f64),
    /// It rises, on the whole: it turns back somewhere, by little of all that moves.
    MostlyUp,
    /// It falls, on the whole.
    MostlyDown,
    /// It rises up to this value and falls beyond.
    UpThenDown(f64),
    /// It falls up to this value and rises beyond.
    DownThenUp(f64),
    /// Now one, now the other.
    Both,
    /// All candidates of a choice have the quantity in common; it changes what others count.
    Common,
}

impl Direction {
    /// 1 if the score rises, −1 if it falls, 0 if neither can be said.
    #[must_use]
    pub fn sign(self) -> f64 {
        match self {
            Self::Up | Self::UpTo(_) | Self::UpFrom(_) | Self::MostlyUp => 1.0,
            Self::Down | Self::DownTo(_) | Self::DownFrom(_) | Self::MostlyDown => -1.0,
            Self::UpThenDown(_) | Self::DownThenUp(_) | Self::Both | Self::Common => 0.0,
        }
    }

    /// Where it turns, and whether it rises up to there.
    #[must_use]
    pub fn turn(self) -> Option<(f64, bool)> {
        match self {
            Self::UpThenDown(x) => Some((x, true)),
            Self::DownThenUp(x) => Some((x, false)),
            _ => None,
        }
    }

    /// Where the curve bends, if it does.
    #[must_use]
    pub fn bend(self) -> Option<f64> {
        match self {
            Self::UpTo(x) | Self::DownTo(x) | Self::UpFrom(x) | Self::DownFrom(x) => Some(x),
            _ => None,
        }
    }
}

/// Candidates of one choice: a quantity's value and what it adds to the score.
pub(super) struct Spread {
    pub(super) weight: f64,
    pub(super) points: Vec<(f64, f64)>,
}

/// By how much more has to move one way than the other, as a part of all that moves: at least four fifths go one way.
const ONE_WAY: f64 = 0.6;
/// The same of what goes one way on the whole although it turns back: seven eighths.
const ON_THE_WHOLE: f64 = 0.75;
/// Steps of the curve at most; its borders are quantiles.
const STEPS: usize = 10;
/// A flat part holds so many of the candidates, ...
const FLAT_HOLDS: f64 = 0.2;
/// ... rises by no more than this part of the whole, and is no steeper than this part of the rest.
const FLAT_RISE: f64 = 0.05;
const FLAT_SLOPE: f64 = 0.1;
/// Each of two parts that go different ways is at least so much of all that moves.
const LEAST_PART: f64 = 0.15;
/// Choices in which candidates differ that are needed to say anything.
const LEAST_CHOICES: usize = 10;
/// Candidates of a choice that are compared two by two.
const COMPARED: usize = 48;
/// What keeps steps without candidates at 0.
const RIDGE: f64 = 1e-6;

/// Which way it counts, and by how much more it moves up than down, from −1 to 1; `None` if it adds nothing anywhere, or too few
/// choices tell.
pub(super) fn direction(choices: &[Spread]) -> Option<(Direction, f64)> {
    if choices.iter().all(|c| c.points.iter().all(|p| p.1 == 0.0)) {
        return None;
    }
    let differ = |c: &&Spread| c.points.iter().any(|p| p.0 != c.points[0].0);
    let differing: Vec<&Spread> = choices.iter().filter(differ).collect();
    if differing.is_empty() {
        return Some((Direction::Common, 0.0));
    }
    if differing.len() < LEAST_CHOICES {
        return None;
    }
    let (up, down) = differing.iter().map(|c| moves(c)).fold((0.0, 0.0), |sum, m| (sum.0 + m.0, sum.1 + m.1));
    if up + down == 0.0 {
        return None;
    }
    let one_way = (up - down) / (up + down);
    let curve = Curve::new(&differing);
    // The curve must not turn back either, not even where few candidates are.
    if one_way.abs() < ONE_WAY || curve.one_way() * one_way.signum() < ONE_WAY {
        let otherwise = match one_way {
            up if up >= ON_THE_WHOLE => Direction::MostlyUp,
            down if down <= -ON_THE_WHOLE => Direction::MostlyDown,
            _ => Direction::Both,
        };
        return Some((curve.turn(&differing).unwrap_or(otherwise), one_way));
    }
    let direction = match (one_way > 0.0, curve.bend()) {
        (true, None) => Direction::Up,
        (false, None) => Direction::Down,
        (true, Some((x, false))) => Direction::UpTo(x),
        (false, Some((x, false))) => Direction::DownTo(x),
        (true, Some((x, true))) => Direction::UpFrom(x),
        (false, Some((x, true))) => Direction::DownFrom(x),
    };
    Some((direction, one_way))
}

/// How much the shares of a choice rise and fall with the value, over pairs of candidates.
fn moves(choice: &Spread) -> (f64, f64) {
    let step = choice.points.len().div_ceil(COMPARED);
    let points: Vec<&(f64, f64)> = choice.points.iter().step_by(step).collect();
    let (mut up, mut down) = (0.0, 0.0);
    for (i, a) in points.iter().enumerate() {
        for b in points[..i].iter().filter(|b| b.0 != a.0) {
            let rise = (a.1 - b.1) * (a.0 - b.0).signum();
            up += rise.max(0.0);
            down += (-rise).max(0.0);
        }
    }
    let weight = choice.weight / (points.len() * (points.len() - 1)).max(1) as f64;
    (weight * up, weight * down)
}

/// The shares as a function of the value: straight lines between quantiles, fitted by least squares to the deviations from the
/// means of the choices.
struct Curve {
    /// Ascending.
    knots: Vec<f64>,
    /// Rise from each knot to the next.
    rises: Vec<f64>,
    /// Share of the candidates in each step.
    holds: Vec<f64>,
}

impl Curve {
    fn new(choices: &[&Spread]) -> Self {
        let mut values: Vec<(f64, f64)> =
            choices.iter().flat_map(|c| c.points.iter().map(|p| (p.0, c.weight / c.points.len() as f64))).collect();
        values.sort_by(|a, b| a.0.total_cmp(&b.0));
        let total: f64 = values.iter().map(|v| v.1).sum();
        let mut knots: Vec<f64> = Vec::with_capacity(STEPS + 1);
        let mut below = 0.0;
        for &(value, weight) in &values {
            below += weight;
            let reached = below / total * STEPS as f64 >= knots.len() as f64 - 1e-9 || knots.is_empty();
            if reached && knots.last().is_none_or(|&last| value > last) {
                knots.push(value);
            }
        }
        if let Some(&(last, _)) = values.last()
            && knots.last().is_some_and(|&k| k < last)
        {
            knots.push(last);
        }
        let steps = knots.len() - 1;
        let mut holds = vec![0.0; steps];
        for &(value, weight) in &values {
            holds[knots.partition_point(|&k| k < value).saturating_sub(1).min(steps - 1)] += weight / total;
        }
        let (mut gram, mut right) = (vec![0.0; steps * steps], vec![0.0; steps]);
        for choice in choices {
            let n = choice.points.len() as f64;
            let within =
                |value: f64, step: usize| ((value - knots[step]) / (knots[step + 1] - knots[step])).clamp(0.0, 1.0);
            let mut rows: Vec<Vec<f64>> =
                choice.points.iter().map(|p| (0..steps).map(|s| within(p.0, s)).collect()).collect();
            let means: Vec<f64> = (0..steps).map(|s| rows.iter().map(|r| r[s]).sum::<f64>() / n).collect();
            rows.iter_mut().for_each(|r| r.iter_mut().zip(&means).for_each(|(v, m)| *v -= m));
            let mean = choice.points.iter().map(|p| p.1).sum::<f64>() / n;
            for (row, point) in rows.iter().zip(&choice.points) {
                for i in 0..steps {
                    right[i] += choice.weight / n * row[i] * (point.1 - mean);
                    (0..=i).for_each(|j| gram[i * steps + j] += choice.weight / n * row[i] * row[j]);
                }
            }
        }
        let ridge = RIDGE * (0..steps).map(|i| gram[i * steps + i]).fold(0.0, f64::max);
        (0..steps).for_each(|i| gram[i * steps + i] += ridge);
        let rises = match cholesky::factor(gram, steps, 0.0) {
            Ok(factor) => cholesky::solve(&factor, &right),
            Err(_) => vec![0.0; steps],
        };
        Self { knots, rises, holds }
    }

    /// The whole rise as a part of all that rises and falls: 1 always rises, −1 always falls.
    fn one_way(&self) -> f64 {
        let moved: f64 = self.rises.iter().map(|r| r.abs()).sum();
        if moved > 0.0 { self.rises.iter().sum::<f64>() / moved } else { 0.0 }
    }

    /// Where the curve turns once, if each part goes one way, within choices too, and is no small one.
    fn turn(&self, choices: &[&Spread]) -> Option<Direction> {
        let steps = self.rises.len();
        let moved: f64 = self.rises.iter().map(|r| r.abs()).sum();
        let part = |side: std::ops::Range<usize>| {
            let (rise, holds) =
                (self.rises[side.clone()].iter().sum::<f64>(), self.holds[side.clone()].iter().sum::<f64>());
            let way: f64 = self.rises[side].iter().map(|r| r.abs()).sum();
            (rise, holds >= FLAT_HOLDS && way >= LEAST_PART * moved && rise.abs() >= ONE_WAY * way)
        };
        let turns = (1..steps).filter_map(|knot| {
            let ((before, is_part), (after, is_other)) = (part(0..knot), part(knot..steps));
            (is_part && is_other && before * after < 0.0).then_some((before.abs() + after.abs(), knot, before > 0.0))
        });
        let (_, knot, up) = turns.max_by(|a, b| a.0.total_cmp(&b.0))?;
        let x = self.knots[knot];
        let goes = |keeps: &dyn Fn(f64) -> bool, sign: f64| {
            let side = |c: &&Spread| Spread {
                weight: c.weight,
                points: c.points.iter().copied().filter(|p| keeps(p.0)).collect(),
            };
            let sides = choices.iter().map(side).filter(|c| c.points.len() > 1);
            let (rises, falls) = sides.map(|c| moves(&c)).fold((0.0, 0.0), |s, m| (s.0 + m.0, s.1 + m.1));
            sign * (rises - falls) >= ONE_WAY * (rises + falls) && rises + falls > 0.0
        };
        let sign = if up { 1.0 } else { -1.0 };
        let within = goes(&|value| value <= x, sign) && goes(&|value| value >= x, -sign);
        within.then_some(if up { Direction::UpThenDown(x) } else { Direction::DownThenUp(x) })
    }

    /// Where the largest flat part ends, and whether it lies below.
    fn bend(&self) -> Option<(f64, bool)> {
        let steps = self.rises.len();
        let (whole, first, last) = (self.rises.iter().sum::<f64>().abs(), self.knots[0], self.knots[steps]);
        // The steps on one side of a knot, if they are flat: how many of the candidates they hold.
        let flat = |side: std::ops::Range<usize>| {
            let holds: f64 = self.holds[side.clone()].iter().sum();
            let moved: f64 = self.rises[side.clone()].iter().map(|r| r.abs()).sum();
            let width = self.knots[side.end] - self.knots[side.start];
            let steep = (whole - moved).max(0.0) / (last - first - width);
            let is_flat = holds >= FLAT_HOLDS && moved <= FLAT_RISE * whole && moved / width <= FLAT_SLOPE * steep;
            is_flat.then_some(holds)
        };
        let knots = 1..steps;
        let below = knots.clone().filter_map(|k| Some((flat(0..k)?, self.knots[k], true)));
        let above = knots.filter_map(|k| Some((flat(k..steps)?, self.knots[k], false)));
        below.chain(above).max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, x, is_below)| (x, is_below))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sched_distill_core::rng::Stream;

    /// Choices of two to eight candidates with values from 0 to 100, and the shares that a function gives.
    fn spread(value: impl Fn(&mut Stream) -> f64, of: impl Fn(f64) -> f64) -> Vec<Spread> {
        let mut stream = Stream::new(3, "spread");
        let choice = |_| {
            let n = 2 + stream.below(7);
            let values: Vec<f64> = (0..n).map(|_| value(&mut stream)).collect();
            let mean = values.iter().map(|&v| of(v)).sum::<f64>() / n as f64;
            Spread { weight: 1.0, points: values.into_iter().map(|v| (v, of(v) - mean)).collect() }
        };
        (0..300).map(choice).collect()
    }

    fn even(stream: &mut Stream) -> f64 {
        stream.uniform() * 100.0
    }

    fn found(choices: &[Spread]) -> Option<Direction> {
        direction(choices).map(|(direction, _)| direction)
    }

    #[test]
    fn straight_lines_and_logarithms_have_no_bend_whatever_the_values() {
        let skewed = |s: &mut Stream| s.exponential(20.0);
        for up in [1.0, -1.0] {
            let expected = if up > 0.0 { Direction::Up } else { Direction::Down };
            assert_eq!(found(&spread(even, |v| up * v)), Some(expected));
            assert_eq!(found(&spread(skewed, |v| up * v)), Some(expected));
            assert_eq!(found(&spread(skewed, |v| up * v.ln_1p())), Some(expected));
            let flag = |s: &mut Stream| s.below(2) as f64;
            assert_eq!(found(&spread(flag, |v| up * v)), Some(expected));
        }
    }

    #[test]
    fn a_bend_is_found_where_it_is() {
        let near = |x: f64, at: f64| (x - at).abs() < 11.0;
        match found(&spread(even, |v| v.min(40.0))) {
            Some(Direction::UpTo(x)) if near(x, 40.0) => (),
            other => panic!("{other:?}"),
        }
        match found(&spread(even, |v| -v.max(60.0))) {
            Some(Direction::DownFrom(x)) if near(x, 60.0) => (),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn what_turns_once_goes_one_way_up_to_there_and_the_other_beyond() {
        for up in [true, false] {
            let sign = if up { -1.0 } else { 1.0 };
            let direction = found(&spread(even, |v| sign * (v - 50.0).abs())).unwrap();
            let (x, rises) = direction.turn().unwrap();
            assert!((x - 50.0).abs() < 11.0 && rises == up, "{direction:?}");
        }
        // Up and down again is no single turn.
        assert_eq!(found(&spread(even, |v| (v / 8.0).sin())), Some(Direction::Both));
    }

    #[test]
    fn what_turns_back_or_differs_from_choice_to_choice_goes_neither_way() {
        // A short arm that few candidates are on: still up on the whole.
        assert_eq!(found(&spread(even, |v| if v < 85.0 { v } else { 340.0 - 3.0 * v })), Some(Direction::MostlyUp));
        let mut mixed = spread(even, |v| v);
        mixed.iter_mut().step_by(3).for_each(|c| c.points.iter_mut().for_each(|p| p.1 = -p.1));
        assert_eq!(found(&mixed), Some(Direction::Both));
    }

    #[test]
    fn what_hardly_turns_back_goes_one_way_on_the_whole() {
        // Few candidates are on the arm that turns back, so that few pairs are, and its rise is that of all others.
        let rare = |s: &mut Stream| if s.uniform() < 0.97 { 90.0 * s.uniform() } else { 90.0 + 10.0 * s.uniform() };
        for up in [1.0, -1.0] {
            let found = found(&spread(rare, |v| up * if v < 90.0 { v } else { 90.0 - 6.0 * (v - 90.0) }));
            assert_eq!(found, Some(if up > 0.0 { Direction::MostlyUp } else { Direction::MostlyDown }));
        }
    }

    #[test]
    fn nothing_is_said_of_what_adds_nothing_or_hardly_varies() {
        assert_eq!(found(&spread(even, |_| 0.0)), None);
        assert_eq!(found(&spread(even, |v| v)[..9]), None);
        let mut common = spread(|_| 7.0, |v| v);
        common.iter_mut().for_each(|c| c.points[0].1 = 1.0);
        assert_eq!(found(&common), Some(Direction::Common));
    }
}
