//! A scorecard in words: what a row is about, what a curve does, and what the strongest rows come to.

use super::{
    row::{Case, Line, Row, extent},
    unit::{Unit, points, three},
};
use crate::plain::{Plain, base, capital};
use sched_distill_core::{
    level::{self, FLAG, FeatureSpec, LevelSpec, Scope},
    model::Shape,
};

/// Rows in the rules in words at most.
const SAID: usize = 4;
/// Rows that move less than this share of what the strongest one moves are not said.
const FAINT: f64 = 0.15;
/// Ups and downs of less than this share of a curve's height are not said.
const LEVEL: f64 = 0.05;

/// Words of one level.
pub(super) struct Phrases<'a> {
    pub(super) plain: Plain<'a>,
    pub(super) spec: &'a LevelSpec,
}

impl Phrases<'_> {
    fn level(&self) -> level::Phrases<'_> {
        self.plain.level(&self.spec.name)
    }

    fn feature(&self, column: usize) -> &FeatureSpec {
        &self.spec.features[column]
    }

    fn noun(&self, column: usize) -> String {
        self.level().noun(base(&self.feature(column).name))
    }

    /// The unit of a row's axis.
    pub(super) fn unit(&self, row: &Row) -> Unit<'_> {
        Unit::new(self.feature(row.feature), &self.noun(row.feature), row.shown.1)
    }

    fn is_flag(&self, column: usize) -> bool {
        self.feature(column).unit == FLAG
    }

    /// What a feature is: `work left`, `place by work left`.
    pub(super) fn quantity(&self, column: usize) -> String {
        let noun = self.noun(column);
        match self.feature(column).scope {
            _ if self.is_flag(column) => self.relation(column, true),
            Scope::Rank => format!("place by {noun} (0 has the least)"),
            Scope::Ratio => format!("{noun}, against the least in the choice"),
            Scope::Absolute | Scope::Share => noun,
        }
    }

    /// What a row is about: `Work left`; `Work left, only where executors held: at least 2`.
    pub(super) fn title(&self, row: &Row) -> String {
        let name = self.quantity(row.feature);
        let name = if self.is_flag(row.feature) { self.candidate_that(row.feature, true) } else { name };
        match row.lines.as_slice() {
            [Line { case: Some(case @ (Case::Is(_) | Case::Within(..))), .. }] => {
                format!("{}, only {}", capital(&name), self.case(row.other.unwrap_or_default(), *case))
            }
            [Line { case: None, .. }] => capital(&name),
            _ => {
                let other = row.other.unwrap_or_default();
                let by = if self.is_flag(other) { self.candidate_that(other, true) } else { self.quantity(other) };
                format!("{}, by {by}", capital(&name))
            }
        }
    }

    /// `job that freed the executors itself`
    fn candidate_that(&self, column: usize, is: bool) -> String {
        format!("{} {}", self.level().candidate(), self.relation(column, is))
    }

    fn relation(&self, column: usize, more: bool) -> String {
        self.level().relation(base(&self.feature(column).name), more)
    }

    /// `where work left is above 15 min`, `for a job that freed the executors itself`.
    pub(super) fn case(&self, column: usize, case: Case) -> String {
        let feature = self.feature(column);
        let noun = self.noun(column);
        let value = |value: f32| {
            let shown = Unit::new(feature, &noun, f64::from(value)).value_of(&noun, f64::from(value));
            if feature.scope == Scope::Ratio { format!("{shown} in the choice") } else { shown }
        };
        match case {
            Case::Is(is) => {
                format!("for {} {}", article(self.level().candidate()), self.candidate_that(column, is))
            }
            Case::At(at) if feature.scope == Scope::Rank => {
                format!("at place {} by {noun}", three(f64::from(at)))
            }
            Case::At(at) => format!("where {noun} is {}", value(at)),
            Case::Within(above, most) => {
                let bound = |t: f32, above: bool| self.bound(feature, t, above, &value);
                let both: Vec<String> =
                    above.map(|t| bound(t, true)).into_iter().chain(most.map(|t| bound(t, false))).collect();
                format!("where {noun} is {}", both.join(" and "))
            }
        }
    }

    fn bound(&self, feature: &FeatureSpec, threshold: f32, above: bool, value: &impl Fn(f32) -> String) -> String {
        let whole = (feature.whole || feature.scope == Scope::Rank) && threshold.fract() != 0.0;
        if feature.scope == Scope::Rank && threshold >= 0.0 {
            let not = if above { "not " } else { "" };
            return match threshold.floor() as u64 {
                0 => format!("{not}the least in the choice"),
                places => format!("{not}among the {} least in the choice", places + 1),
            };
        }
        match (above, whole) {
            (true, true) => format!("at least {}", value(threshold.ceil())),
            (true, false) => format!("above {}", value(threshold)),
            (false, true) => format!("at most {}", value(threshold.floor())),
            (false, false) => format!("at most {}", value(threshold)),
        }
    }

    /// What a curve does: `−3.1 points per minute, up to 40 s`; of others the points at a few places.
    pub(super) fn curve(&self, row: &Row, line: &Line) -> String {
        if let Some(said) = self.in_one(row, line) {
            return said;
        }
        let (unit, (low, high)) = (self.unit(row), row.range);
        let corner = |x: f64| format!("{} at {}", points(line.at(x)), unit.value(x));
        let runs = runs(&line.points);
        let mut turns: Vec<f64> = runs.iter().skip(1).map(|r| r.from.0).take(2).collect();
        if turns.is_empty() && line.points.len() > 2 {
            turns.push(line.points[line.points.len() / 2].0);
        }
        let mut all: Vec<f64> = std::iter::once(low).chain(turns).chain([high]).map(|x| unit.near(x)).collect();
        all.dedup();
        all.into_iter().map(corner).collect::<Vec<_>>().join(", ")
    }

    /// What a curve does, if it is straight, bends once or makes one or two steps.
    fn in_one(&self, row: &Row, line: &Line) -> Option<String> {
        let unit = self.unit(row);
        let (low, high) = row.range;
        if self.is_flag(row.feature) {
            return Some(match line.at(0.0) {
                0.0 => points(line.at(1.0)),
                no => format!("{} if so, {} if not", points(line.at(1.0)), points(no)),
            });
        }
        let simple = |shapes: &[Shape]| line.summands.iter().all(|(_, f)| f.len() == 1 && shapes.contains(&f[0].shape));
        let mut bends: Vec<f64> =
            line.summands.iter().flat_map(|(_, f)| f).filter_map(|f| f.threshold).map(f64::from).collect();
        bends.retain(|t| low < *t && *t < high);
        bends.sort_unstable_by(f64::total_cmp);
        bends.dedup();
        if simple(&[Shape::Linear, Shape::Excess]) && bends.len() < 2 {
            let slope = |a: f64, b: f64| (line.at(b) - line.at(a)) / (b - a);
            let said = |a: f64, b: f64| unit.slope(slope(a, b), b - a);
            let flat = |a: f64, b: f64| slope(a, b).abs() * (high - low) < 1e-3 * line.span();
            return Some(match bends.first() {
                None => said(low, high),
                Some(&t) if flat(low, t) => format!("{}, {}", said(t, high), unit.above(t)),
                Some(&t) if flat(t, high) => format!("{}, {}", said(low, t), unit.up_to(t)),
                Some(&t) => format!("{} {}, {} {}", said(low, t), unit.up_to(t), said(t, high), unit.above(t)),
            });
        }
        if simple(&[Shape::Above]) && (1..3).contains(&bends.len()) {
            let jump = |t: f64| line.at(f64::from((t as f32).next_up())) - line.at(t);
            let said: Vec<String> = bends.iter().map(|&t| format!("{} {}", points(jump(t)), unit.above(t))).collect();
            return Some(said.join(", another "));
        }
        None
    }

    /// The rules in words: the strongest rows, one short sentence each.
    pub(super) fn sentences(&self, rows: &[Row]) -> Vec<String> {
        let strongest = rows.first().map_or(0.0, |r| r.span);
        let mut said: Vec<String> = Vec::new();
        let mut sentences = Vec::new();
        let mut rest = 0.0;
        for row in rows {
            let of_row = if sentences.len() < SAID && row.span > 0.0 && row.span >= FAINT * strongest {
                self.of_row(row)
            } else {
                None
            };
            let Some(RowWords { condition, words, of_own, in_all_cases }) = of_row else {
                rest = f64::max(rest, row.span);
                continue;
            };
            if said.contains(&format!("{condition}{words}")) {
                rest = f64::max(rest, row.span);
                continue;
            }
            said.push(format!("{condition}{words}"));
            let lead = match (sentences.len(), rows.len()) {
                (0, 1) => "one thing alone counts: it",
                (0, _) => "most of all, it",
                (1, _) if condition.is_empty() => "then it",
                _ => "it also",
            };
            let place = if condition.is_empty() { String::new() } else { format!("{condition}, ") };
            let (first, lead) = match (sentences.is_empty(), lead.split_once(", ")) {
                (true, Some((most, it))) => (format!("{most}, "), it),
                _ => (String::new(), lead),
            };
            let line = strongest_line(row);
            // A slope is that of one case.
            let worth = self.in_one(row, line).filter(|_| !in_all_cases);
            let worth = worth.unwrap_or_else(|| format!("up to {}", points(line.span())));
            let worth = worth.replace("up to +", "up to ");
            let words = if of_own { words } else { format!("{lead} {words}") };
            sentences.push(capital(&format!("{first}{place}{words} ({worth}).")));
        }
        if rest > 0.0 {
            let candidate = self.level().candidate();
            let most = points(rest);
            let most = most.trim_start_matches('+');
            sentences.push(format!(
                "No other row moves {} {candidate} by more than {most} among usual values.",
                article(candidate)
            ));
        }
        sentences
    }

    /// What the strongest curve of a row says, and when. (What a scheduler prefers at a level, `summary/preference.rs` says.)
    fn of_row(&self, row: &Row) -> Option<RowWords> {
        let line = strongest_line(row);
        let (mut condition, mut grows) = (String::new(), String::new());
        match (row.other, line.case) {
            (Some(other), Some(Case::At(_))) if let Some(more) = same_way(row) => {
                let side = if more { "large" } else { "small" };
                grows = format!(", and more so where {} is {side}", self.quantity(other));
            }
            (Some(other), Some(case)) => condition = self.case(other, case),
            _ => (),
        }
        let unit = self.unit(row);
        let runs = runs(&line.points);
        // Among candidates of which some are of the case and some are not, points are no preference within it.
        let of_own = row.other.is_some() && !row.case_is_shared;
        let turn = |second: &Run| unit.value(unit.near(second.from.0));
        let words = match (runs.as_slice(), of_own) {
            ([], _) => return self.step_case(row, line, condition),
            ([one], false) => format!("{} {}", self.level().prefers(), self.relation(row.feature, one.up)),
            ([first, second], false) => {
                let relation = |run: &Run| self.relation(row.feature, run.up);
                let (prefers, turn) = (self.level().prefers(), turn(second));
                format!("{prefers} {} up to {turn}, and {} beyond it", relation(first), relation(second))
            }
            (_, false) => format!("goes up and down with {}", self.quantity(row.feature)),
            ([one], true) if self.is_flag(row.feature) => {
                let candidate = self.candidate_that(row.feature, one.up);
                format!("it gets more points if it is {} {candidate}", article(&candidate))
            }
            ([one], true) => format!("it gets more points for a {} value of {}", side(one), self.quantity(row.feature)),
            ([first, second], true) => format!(
                "it gets more points for a {} value of {} up to {}, and for a {} one beyond it",
                side(first),
                self.quantity(row.feature),
                turn(second),
                side(second)
            ),
            (_, true) => format!("its points go up and down with {}", self.quantity(row.feature)),
        };
        Some(RowWords { condition, in_all_cases: !grows.is_empty(), words: words + &grows, of_own })
    }

    /// A curve that is level gives the same points to all for which its case holds.
    fn step_case(&self, row: &Row, line: &Line, condition: String) -> Option<RowWords> {
        let height = line.points.first()?.1;
        row.other?;
        let candidate = self.level().candidate();
        let verb = if height > 0.0 { "adds to" } else { "takes from" };
        let words = format!("{verb} the points of {} {candidate}", article(candidate));
        Some(RowWords { condition, words, of_own: false, in_all_cases: false })
    }
}

/// What a row of a scorecard says.
struct RowWords {
    /// When; empty for always.
    condition: String,
    words: String,
    /// Whether the words are about the candidate of the condition, rather than about whom the model prefers.
    of_own: bool,
    /// Whether it holds in all cases of a row that has several.
    in_all_cases: bool,
}

/// Whether curves that all go one way do so the more the larger the value is that they are drawn for, or the less; `None` of others.
fn same_way(row: &Row) -> Option<bool> {
    let mut ways = row.lines.iter().map(|line| runs(&line.points)).filter(|runs| !runs.is_empty());
    let first = ways.next().filter(|runs| runs.len() == 1)?[0].up;
    let one_way = ways.all(|runs| runs.len() == 1 && runs[0].up == first);
    let spans: Vec<f64> = row.lines.iter().map(Line::span).collect();
    let (grows, falls) = (spans.is_sorted(), spans.iter().rev().is_sorted());
    (one_way && grows != falls).then_some(grows)
}

fn side(run: &Run) -> &'static str {
    if run.up { "larger" } else { "smaller" }
}

fn strongest_line(row: &Row) -> &Line {
    let size = |l: &Line| {
        let (low, high) = extent(l.points.iter().map(|p| p.1));
        (l.span(), high.abs().max(low.abs()))
    };
    let mut best = &row.lines[0];
    for line in &row.lines[1..] {
        let (a, b) = (size(line), size(best));
        if a.0 > b.0 || a.0 == b.0 && a.1 > b.1 {
            best = line;
        }
    }
    best
}

/// A stretch in which a curve goes one way.
struct Run {
    up: bool,
    from: (f64, f64),
    to: (f64, f64),
}

/// The ups and downs of a curve that are worth saying.
fn runs(points: &[(f64, f64)]) -> Vec<Run> {
    let (low, high) = extent(points.iter().map(|p| p.1));
    let mut runs: Vec<Run> = Vec::new();
    for pair in points.windows(2) {
        let (a, b) = (pair[0], pair[1]);
        if a.1 == b.1 {
            continue;
        }
        let up = b.1 > a.1;
        match runs.last_mut() {
            Some(run) if run.up == up => run.to = b,
            _ => runs.push(Run { up, from: a, to: b }),
        }
    }
    runs.retain(|r| (r.to.1 - r.from.1).abs() > LEVEL * (high - low));
    // What stood between two that go the same way is gone.
    let mut joined: Vec<Run> = Vec::new();
    for run in runs {
        match joined.last_mut() {
            Some(last) if last.up == run.up => last.to = run.to,
            _ => joined.push(run),
        }
    }
    joined
}

/// `a` or `an`.
pub(super) fn article(noun: &str) -> &'static str {
    if noun.starts_with(['a', 'e', 'i', 'o', 'u']) { "an" } else { "a" }
}
