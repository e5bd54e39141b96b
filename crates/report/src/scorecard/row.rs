//! The rows of a scorecard: the terms of a sum, put together by the quantities that they are of.
//!
//! Terms on one feature make a curve. A product of two features makes a curve of one of them for each case of the
//! other: on both sides of its thresholds where it only steps, else at a few of its values.

use super::typical::Typical;
use sched_distill_core::{
    level::{FLAG, LevelSpec},
    model::{Additive, Factor, Shape, Term},
};
use std::collections::BTreeMap;

/// Steps in which a curve that is not straight is drawn.
const STEPS: usize = 24;

/// Terms that one row shows; coefficients are points.
pub(super) struct Row {
    /// Column of the feature whose values stand on the axis.
    pub(super) feature: usize,
    /// Column of the feature that the cases are of.
    pub(super) other: Option<usize>,
    /// Whether all candidates of a choice are of one case.
    pub(super) case_is_shared: bool,
    pub(super) terms: Vec<Term>,
    /// One curve, or one per case in which points are given; never none.
    pub(super) lines: Vec<Line>,
    /// Usual values of the feature.
    pub(super) range: (f64, f64),
    /// Those that the axis shows.
    pub(super) shown: (f64, f64),
    /// Points between the best and the worst of usual values.
    pub(super) span: f64,
}

/// One curve of a row.
pub(super) struct Line {
    pub(super) case: Option<Case>,
    /// Coefficients in points, and what they are of.
    pub(super) summands: Vec<(f64, Vec<Factor>)>,
    /// Corners of the curve; two with the same value where it jumps.
    pub(super) points: Vec<(f64, f64)>,
}

/// When a curve counts: which values the other feature has.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Case {
    /// Above the first, and at most the second.
    Within(Option<f32>, Option<f32>),
    /// About this value.
    At(f32),
    /// Of a flag.
    Is(bool),
}

impl Row {
    /// What a candidate gets for this row.
    #[cfg(test)]
    pub(super) fn points(&self, row: &[f32]) -> f64 {
        self.terms.iter().map(|t| t.coefficient * t.of(row)).sum()
    }
}

impl Line {
    pub(super) fn at(&self, x: f64) -> f64 {
        let of = |f: &Factor| f.of(x as f32);
        self.summands.iter().map(|(c, factors)| c * factors.iter().map(of).product::<f64>()).sum()
    }

    /// The curve up to a value.
    pub(super) fn until(&self, last: f64) -> impl Iterator<Item = (f64, f64)> {
        let before = self.points.iter().copied().take_while(move |p| p.0 < last);
        before.chain([(last, self.at(last))])
    }

    /// Points between the highest and the lowest place of the curve.
    pub(super) fn span(&self) -> f64 {
        let (low, high) = extent(self.points.iter().map(|p| p.1));
        high - low
    }
}

/// Least and largest of some numbers.
pub(super) fn extent(values: impl Iterator<Item = f64>) -> (f64, f64) {
    values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| (low.min(v), high.max(v)))
}

/// Puts the terms of a sum into rows, those that move points most first; a point is `1 / scale` of the score. Terms that give nobody
/// a point have no row: those of coefficient 0, or so small that it becomes 0 in points, those that cancel each other, and
/// products with what is never so.
pub(super) fn rows(sum: &Additive, spec: &LevelSpec, typical: &Typical, scale: f64) -> Vec<Row> {
    let mut groups: BTreeMap<(u32, Option<u32>), Vec<Term>> = BTreeMap::new();
    for term in sum.terms.iter().filter(|t| t.coefficient != 0.0) {
        let mut features: Vec<u32> = term.factors.iter().map(|f| f.feature).collect();
        features.sort_unstable();
        features.dedup();
        let key = (features[0], features.get(1).copied());
        groups.entry(key).or_default().push(Term { coefficient: term.coefficient * scale, ..term.clone() });
    }
    let mut rows: Vec<Row> = groups.into_iter().filter_map(|(key, terms)| row(key, terms, spec, typical)).collect();
    rows.sort_by(|a, b| b.span.total_cmp(&a.span));
    rows
}

fn row((a, b): (u32, Option<u32>), terms: Vec<Term>, spec: &LevelSpec, typical: &Typical) -> Option<Row> {
    let (feature, other) = match b {
        None => (a, None),
        Some(b) if is_case(b, a, &terms, spec, typical) => (a, Some(b)),
        Some(b) => (b, Some(a)),
    };
    let of = |column: u32| &spec.features[column as usize];
    let range = typical.range(feature as usize, of(feature), &thresholds(feature, &terms));
    let shown = typical.shown(feature as usize, range);
    let cases = other.map_or(vec![None], |other| {
        let found = cases(other, &terms, spec, typical);
        found.into_iter().map(Some).collect()
    });
    let lines: Vec<Line> = cases.into_iter().filter_map(|case| line((feature, other), case, &terms, range)).collect();
    if lines.is_empty() {
        return None;
    }
    let inner = lines.iter().map(Line::span).fold(0.0, f64::max);
    // Between cases too; where a case is left out it gives no points.
    let (low, high) = extent(lines.iter().flat_map(|l| l.points.iter().map(|p| p.1)));
    let is_common = |column: u32| typical.is_common(column as usize);
    let case_is_shared = other.is_some_and(is_common);
    let span = match other {
        // What all have in common moves nobody ahead.
        _ if is_common(feature) => 0.0,
        Some(_) if !case_is_shared => high.max(0.0) - low.min(0.0),
        _ => inner,
    };
    let other = other.map(|o| o as usize);
    Some(Row { feature: feature as usize, other, case_is_shared, terms, lines, range, shown, span })
}

fn thresholds(feature: u32, terms: &[Term]) -> Vec<f32> {
    let of_feature = terms.iter().flat_map(|t| &t.factors).filter(|f| f.feature == feature);
    let mut found: Vec<f32> = of_feature.filter_map(|f| f.threshold).collect();
    found.sort_unstable_by(f32::total_cmp);
    found.dedup();
    found
}

/// Whether a feature has few cases: it is a flag, or only steps.
fn steps(feature: u32, terms: &[Term], spec: &LevelSpec) -> bool {
    let mut factors = terms.iter().flat_map(|t| &t.factors).filter(|f| f.feature == feature);
    spec.features[feature as usize].unit == FLAG || factors.all(|f| f.shape == Shape::Above)
}

/// Whether `b` makes better cases than `a`.
fn is_case(b: u32, a: u32, terms: &[Term], spec: &LevelSpec, typical: &Typical) -> bool {
    let rank = |feature: u32| {
        let flag = spec.features[feature as usize].unit == FLAG;
        let common = typical.is_common(feature as usize);
        (!common, !flag, !steps(feature, terms, spec), thresholds(feature, terms).len())
    };
    rank(b) < rank(a)
}

fn cases(feature: u32, terms: &[Term], spec: &LevelSpec, typical: &Typical) -> Vec<Case> {
    let of = &spec.features[feature as usize];
    let thresholds = thresholds(feature, terms);
    if of.unit == FLAG {
        return vec![Case::Is(false), Case::Is(true)];
    }
    if !steps(feature, terms, spec) {
        return typical.three(feature as usize, of, &thresholds).into_iter().map(Case::At).collect();
    }
    let bounds = || thresholds.iter().copied().map(Some);
    std::iter::once(None).chain(bounds()).zip(bounds().chain([None])).map(|(a, b)| Case::Within(a, b)).collect()
}

impl Case {
    /// A value of which the case is true.
    fn value(self) -> f32 {
        match self {
            Self::At(value) => value,
            Self::Is(is) => f32::from(u8::from(is)),
            Self::Within(_, Some(most)) => most,
            Self::Within(Some(above), None) => above.next_up(),
            Self::Within(None, None) => 0.0,
        }
    }
}

/// The curve of a case; `None` where it gives no points.
fn line((feature, other): (u32, Option<u32>), case: Option<Case>, terms: &[Term], range: (f64, f64)) -> Option<Line> {
    let mut summands: Vec<(f64, Vec<Factor>)> = Vec::new();
    for term in terms {
        let (of_case, own): (Vec<Factor>, Vec<Factor>) =
            term.factors.iter().copied().partition(|f| other == Some(f.feature));
        let value = case.map_or(0.0, Case::value);
        let coefficient = term.coefficient * of_case.iter().map(|f| f.of(value)).product::<f64>();
        match summands.iter_mut().find(|(_, factors)| *factors == own) {
            Some((sum, _)) => *sum += coefficient,
            None => summands.push((coefficient, own)),
        }
    }
    summands.retain(|(coefficient, _)| *coefficient != 0.0);
    let sampled = matches!(case, Some(Case::At(_)));
    if summands.is_empty() && !sampled {
        return None;
    }
    let mut line = Line { case, summands, points: Vec::new() };
    line.points = corners(feature, &line, terms, range);
    Some(line)
}

/// Where the curve begins, ends, bends and jumps; and places between where it is not straight.
fn corners(feature: u32, line: &Line, terms: &[Term], (low, high): (f64, f64)) -> Vec<(f64, f64)> {
    let curved = |(_, factors): &(f64, Vec<Factor>)| factors.len() > 1 || factors[0].shape == Shape::Log;
    let mut places = vec![low, high];
    if line.summands.iter().any(curved) {
        // Closer to each other at the lower end, as a logarithm bends there.
        let place = |i: usize| low + (high - low) * (i as f64 / STEPS as f64).powi(2);
        places.extend((1..STEPS).map(place));
    }
    for threshold in thresholds(feature, terms) {
        let at = f64::from(threshold);
        if low < at && at < high {
            places.extend([at, f64::from(threshold.next_up())]);
        }
    }
    places.sort_unstable_by(f64::total_cmp);
    places.dedup();
    let mut points: Vec<(f64, f64)> = places.into_iter().map(|x| (x, line.at(x))).collect();
    // A place beside a threshold where nothing jumps says nothing new.
    let near = |a: f64, b: f64| (a - b).abs() <= 1e-6 * (high - low);
    let steep = |a: f64, b: f64| (a - b).abs() > 1e-5 * line_size(line);
    let mut kept: Vec<(f64, f64)> = Vec::with_capacity(points.len());
    for point in points.drain(..) {
        let beside = kept.last().is_some_and(|last| near(last.0, point.0) && !steep(last.1, point.1));
        if !beside {
            kept.push(point);
        }
    }
    kept
}

fn line_size(line: &Line) -> f64 {
    line.summands.iter().map(|(c, _)| c.abs()).fold(0.0, f64::max)
}
