//! Guards: an operator's or a searched rule above a student's models.

use crate::level::{FLAG, FeatureSet, LevelSpec, NONE_FLAG};
use serde::{Deserialize, Serialize};
use std::fmt;

/// A rule about the candidates of one level, applied before the model's scores decide.
///
/// It is written `[LEVEL:] FEATURE OPERATOR VALUE [and ...] first|last|never`, e.g. `age > 300s first` or
/// `held_after_of_fair_share > 1.5 never`.
///
/// ```
/// use sched_distill_dag::feature::feature_set;
/// use sched_distill_core::model::{Action, Guard};
/// let set = feature_set();
/// let guard = Guard::parse("age > 5min and jobs_in_system > 3 first", &set)?;
/// assert_eq!((guard.level.as_str(), guard.when[0].value, guard.action), ("job", 300_000.0, Action::First));
/// assert_eq!(guard.to_string(), "job: age > 300000 and jobs_in_system > 3 first");
/// # Ok::<(), sched_distill_core::model::GuardError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Guard {
    /// Level whose candidates it orders.
    pub level: String,
    /// It is about the candidates that meet all of these; at least one.
    pub when: Vec<Condition>,
    /// What happens to them.
    pub action: Action,
    /// Why it is there and what it does.
    #[serde(default, skip_serializing_if = "Evidence::is_empty")]
    pub evidence: Evidence,
}

/// A comparison of a candidate's feature with a number, in 32-bit floats.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Condition {
    /// Name of the feature.
    pub feature: String,
    /// How it is compared.
    pub operator: Operator,
    /// With what, in the feature's unit.
    pub value: f32,
}

/// How a feature is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Operator {
    /// Larger.
    #[serde(rename = ">")]
    Above,
    /// Larger or equal.
    #[serde(rename = ">=")]
    AtLeast,
    /// Smaller.
    #[serde(rename = "<")]
    Below,
    /// Smaller or equal.
    #[serde(rename = "<=")]
    AtMost,
}

impl Operator {
    const ALL: [Self; 4] = [Self::AtLeast, Self::AtMost, Self::Above, Self::Below];

    /// As it is written.
    #[must_use]
    pub fn symbol(self) -> &'static str {
        match self {
            Self::Above => ">",
            Self::AtLeast => ">=",
            Self::Below => "<",
            Self::AtMost => "<=",
        }
    }

    /// Whether a value is so.
    #[must_use]
    pub fn holds(self, x: f32, value: f32) -> bool {
        match self {
            Self::Above => x > value,
            Self::AtLeast => x >= value,
            Self::Below => x < value,
            Self::AtMost => x <= value,
        }
    }
}

/// What a guard does with the candidates that meet its conditions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Action {
    /// They come before the others.
    First,
    /// They come after the others.
    Last,
    /// As `last`; where there are no others, only the first of them is left (the oldest job, the first stage, the
    /// smallest amount).
    Never,
}

impl Action {
    const ALL: [Self; 3] = [Self::First, Self::Last, Self::Never];

    /// As it is written.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::First => "first",
            Self::Last => "last",
            Self::Never => "never",
        }
    }
}

/// Why an edit of a student is there, and what it does.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Evidence {
    /// In words.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// How much better the scenario's objective gets, in paired episodes with and without it: the share that is taken away of
    /// figures that are compared by ratios (0.01 is a hundredth), otherwise the difference ([`crate::figure::Figure::gain`]).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gain: Option<f64>,
    /// Share of decisions that come out differently with it than without.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub firing_rate: Option<f64>,
}

impl Evidence {
    /// Whether nothing is known.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// Why a guard cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GuardError {
    /// Not a sentence of the form that guards have.
    #[error(
        "guard `{text}`: {problem}; write `FEATURE OPERATOR VALUE [and ...] first|last|never`, e.g. `age > 300s first`"
    )]
    Syntax {
        /// What was written.
        text: String,
        /// What is wrong with it.
        problem: String,
    },
    /// There is no such level, or it has no such feature.
    #[error("guard `{text}`: {problem}; `distill list features` names them")]
    Unknown {
        /// What was written.
        text: String,
        /// What is not there.
        problem: String,
    },
}

impl Guard {
    /// Reads a guard. The level may be left out where one level alone has the features. Values may carry a unit: `ms`, `s`,
    /// `min` and `h` for times, `%` for pure numbers, or the feature's own. A flag may stand alone: `is_source first`.
    ///
    /// # Errors
    ///
    /// What is not understood, and what was expected.
    pub fn parse(text: &str, set: &FeatureSet) -> Result<Self, GuardError> {
        let syntax = |problem: String| GuardError::Syntax { text: text.to_owned(), problem };
        let unknown = |problem: String| GuardError::Unknown { text: text.to_owned(), problem };
        let (level, rest) = match text.split_once(':') {
            Some((level, rest)) => (Some(level.trim()), rest.trim()),
            None => (None, text.trim()),
        };
        let (conditions, action) =
            rest.rsplit_once(char::is_whitespace).ok_or_else(|| syntax("one word is too few".to_owned()))?;
        let action = Action::ALL.into_iter().find(|a| a.name() == action);
        let action = action.ok_or_else(|| syntax("it does not end with first, last or never".to_owned()))?;
        let parts: Vec<Comparison<'_>> = conditions.split(" and ").map(comparison).collect();
        if let Some(empty) = parts.iter().find(|p| p.feature.is_empty()) {
            return Err(syntax(format!("a condition has no feature before `{}`", empty.value.unwrap_or_default())));
        }
        let has = |l: &&LevelSpec| parts.iter().all(|p| l.features.iter().any(|f| f.name == p.feature));
        let spec = match level {
            Some(name) => {
                let level = set.level(name).ok_or_else(|| {
                    let known: Vec<&str> = set.levels.iter().map(|l| l.name.as_str()).collect();
                    unknown(format!("there is no level `{name}`, only {}", known.join(", ")))
                })?;
                let missing = parts.iter().find(|p| level.features.iter().all(|f| f.name != p.feature));
                missing.map_or(Ok(level), |p| Err(unknown(format!("level `{name}` has no feature `{}`", p.feature))))?
            }
            None => match set.levels.iter().filter(has).collect::<Vec<_>>()[..] {
                [level] => level,
                [] => {
                    let names: Vec<&str> = parts.iter().map(|p| p.feature).collect();
                    return Err(unknown(format!("no level has {}", names.join(" and "))));
                }
                ref several => {
                    let names: Vec<&str> = several.iter().map(|l| l.name.as_str()).collect();
                    return Err(unknown(format!(
                        "levels {} have such a feature; begin with `{}:`",
                        names.join(" and "),
                        names[0]
                    )));
                }
            },
        };
        let condition = |p: &Comparison<'_>| {
            let unit = spec.features.iter().find(|f| f.name == p.feature).map_or("", |f| f.unit.as_str());
            let (operator, value) = match (p.operator, p.value) {
                (Some(operator), Some(value)) => {
                    (operator, quantity(value, unit).and_then(|number| single(value, number)).map_err(syntax)?)
                }
                _ if unit == FLAG => (Operator::Above, 0.5),
                _ => return Err(syntax(format!("`{}` is compared with nothing", p.feature))),
            };
            Ok(Condition { feature: p.feature.to_owned(), operator, value })
        };
        let when = parts.iter().map(condition).collect::<Result<_, _>>()?;
        Ok(Self { level: spec.name.clone(), when, action, evidence: Evidence::default() })
    }

    /// Checks a guard that comes from a file: what is wrong, in words.
    pub(super) fn check(&self, set: &FeatureSet) -> Result<(), String> {
        let level = set.level(&self.level).ok_or_else(|| format!("there is no level `{}`", self.level))?;
        if self.when.is_empty() {
            return Err("it has no condition".to_owned());
        }
        for c in &self.when {
            if level.features.iter().all(|f| f.name != c.feature) {
                return Err(format!("level `{}` has no feature `{}`", self.level, c.feature));
            }
            if !c.value.is_finite() {
                return Err(format!("`{}` is compared with a value that is not finite", c.feature));
            }
        }
        Ok(())
    }
}

impl fmt::Display for Guard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.level)?;
        for (i, Condition { feature, operator, value }) in self.when.iter().enumerate() {
            let and = if i > 0 { " and " } else { "" };
            write!(f, "{and}{feature} {} {value}", operator.symbol())?;
        }
        write!(f, " {}", self.action.name())
    }
}

/// The parts of a condition as it is written.
struct Comparison<'a> {
    feature: &'a str,
    operator: Option<Operator>,
    value: Option<&'a str>,
}

fn comparison(text: &str) -> Comparison<'_> {
    // Operators of two characters come first, so that `>=` is not read as `>`.
    let found = Operator::ALL.into_iter().find_map(|o| text.split_once(o.symbol()).map(|parts| (o, parts)));
    match found {
        Some((operator, (feature, value))) => {
            Comparison { feature: feature.trim(), operator: Some(operator), value: Some(value.trim()) }
        }
        None => Comparison { feature: text.trim(), operator: None, value: None },
    }
}

/// A number with an optional unit, in the feature's unit.
pub(super) fn quantity(text: &str, unit: &str) -> Result<f64, String> {
    let digits = text.trim_end_matches(|c: char| c.is_alphabetic() || c == '%' || c == '·' || c == '/').trim();
    let suffix = text[digits.len()..].trim();
    let number: f64 = digits.parse().map_err(|_| format!("`{text}` is not a number"))?;
    let factor = match (suffix, unit) {
        ("", _) => 1.0,
        (suffix, unit) if suffix == unit => 1.0,
        ("s", "ms") => 1e3,
        ("min", "ms") => 6e4,
        ("h", "ms") => 3.6e6,
        ("%", "1") => 0.01,
        _ => return Err(format!("`{suffix}` is not a unit for a feature in `{unit}`")),
    };
    let value = number * factor;
    if value.is_finite() { Ok(value) } else { Err(format!("`{text}` is not a finite number")) }
}

/// A number that is kept as a 32-bit float.
pub(super) fn single(text: &str, number: f64) -> Result<f32, String> {
    match number as f32 {
        kept if kept.is_finite() => Ok(kept),
        _ => Err(format!("`{text}` is not a finite number of 32 bits, as which it is kept: {:e} at most", f32::MAX)),
    }
}

/// The guards of one level, with columns instead of names.
#[derive(Clone, Debug, Default)]
pub struct CompiledGuards {
    pub(super) guards: Vec<CompiledGuard>,
}

#[derive(Clone, Debug)]
pub(super) struct CompiledGuard {
    /// Column of the flag of the candidate that is no candidate, unless a condition names it.
    pub(super) none: Option<usize>,
    /// Column, operator and value of each condition.
    pub(super) when: Vec<(usize, Operator, f32)>,
    pub(super) action: Action,
}

impl CompiledGuards {
    /// Those of `guards` that are about `level`, in their order. They have been checked against the level's features.
    #[must_use]
    pub fn new(guards: &[Guard], level: &LevelSpec) -> Self {
        let column = |name: &str| level.features.iter().position(|f| f.name == name);
        let compile = |g: &Guard| {
            let when = g.when.iter().filter_map(|c| Some((column(&c.feature)?, c.operator, c.value)));
            let names_none = g.when.iter().any(|c| c.feature == NONE_FLAG);
            let none = if names_none { None } else { column(NONE_FLAG) };
            CompiledGuard { none, when: when.collect(), action: g.action }
        };
        Self { guards: guards.iter().filter(|g| g.level == level.name).map(compile).collect() }
    }

    /// Marks the columns that they read.
    pub fn mark_columns(&self, read: &mut [bool]) {
        for guard in &self.guards {
            guard.when.iter().map(|c| c.0).chain(guard.none).for_each(|column| read[column] = true);
        }
    }

    /// Column and last value before the outcome of a condition changes, for every condition.
    pub fn breaks(&self) -> impl Iterator<Item = (usize, f32)> + '_ {
        self.guards.iter().flat_map(|guard| &guard.when).map(|&(column, operator, value)| match operator {
            Operator::Above | Operator::AtMost => (column, value),
            Operator::AtLeast | Operator::Below => (column, value.next_down()),
        })
    }

    /// Number of guards.
    #[must_use]
    pub fn len(&self) -> usize {
        self.guards.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.guards.is_empty()
    }

    /// Applies one guard: the scores of the candidates that it rules out become −∞. `x` holds the candidates' features,
    /// shape `(candidates, width)`; those with a score of −∞ were ruled out before. At least one candidate remains. The
    /// candidate that gives nothing ([`NONE_FLAG`]) meets no condition unless one names its flag, is none of the others that
    /// `last` and `never` look for, and yields to `first` only.
    pub fn apply(&self, guard: usize, x: &[f32], width: usize, scores: &mut [f64]) {
        let CompiledGuard { none, when, action } = &self.guards[guard];
        let is_none = |row: &[f32]| none.is_some_and(|column| row[column] > 0.5);
        let meets = |row: &[f32]| {
            !is_none(row) && when.iter().all(|&(column, operator, value)| operator.holds(row[column], value))
        };
        let (mut met, mut open, mut first) = (0, 0, None);
        for (i, (row, score)) in x.chunks_exact(width).zip(scores.iter()).enumerate() {
            if *score > f64::NEG_INFINITY && !is_none(row) {
                open += 1;
                if meets(row) {
                    met += 1;
                    first.get_or_insert(i);
                }
            }
        }
        let Some(first) = first else { return };
        if met == open {
            if *action == Action::Never {
                for (i, (row, score)) in x.chunks_exact(width).zip(scores).enumerate() {
                    if i != first && !is_none(row) {
                        *score = f64::NEG_INFINITY;
                    }
                }
            }
            return;
        }
        for (row, score) in x.chunks_exact(width).zip(scores) {
            if meets(row) != (*action == Action::First) {
                *score = f64::NEG_INFINITY;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::feature_set;

    #[test]
    fn sentences_become_guards_and_back() {
        let set = feature_set();
        for (text, expected) in [
            ("age>300s first", "job: age > 300000 first"),
            ("is_source first", "job: is_source > 0.5 first"),
            ("amount: offered >= 3 and stage_demand<2 last", "amount: offered >= 3 and stage_demand < 2 last"),
            ("held_of_cluster > 50% never", "job: held_of_cluster > 0.5 never"),
            ("  job :  room <= 2 executors never ", "job: room <= 2 never"),
        ] {
            let guard = Guard::parse(text, set).unwrap();
            assert_eq!(guard.to_string(), expected);
            assert_eq!(Guard::parse(&guard.to_string(), set).unwrap(), guard);
            assert_eq!(guard.check(set), Ok(()));
        }
    }

    #[test]
    fn what_is_not_understood_is_said() {
        let set = feature_set();
        for (text, expected) in [
            ("first", "one word is too few"),
            ("age > 300s soon", "does not end with first, last or never"),
            ("age > soon first", "`soon` is not a number"),
            ("age > 3 tasks first", "`tasks` is not a unit for a feature in `ms`"),
            ("age first", "`age` is compared with nothing"),
            ("> 3 first", "has no feature before `3`"),
            ("colour > 3 first", "no level has colour"),
            ("offered > 3 first", "levels job and stage and amount have such a feature; begin with `job:`"),
            ("stage: age > 3 first", "level `stage` has no feature `age`"),
            ("node: age > 3 first", "there is no level `node`, only job, stage, amount"),
            ("age > 1e38h first", "not a finite number of 32 bits"),
            ("age > 1e400 first", "`1e400` is not a finite number"),
        ] {
            let message = Guard::parse(text, set).unwrap_err().to_string();
            assert!(message.contains(expected), "{message}");
        }
    }

    #[test]
    fn to_give_nothing_is_no_candidate_like_others() {
        const OUT: f64 = f64::NEG_INFINITY;
        let set = feature_set();
        let level = set.level("job").unwrap();
        let width = level.features.len();
        let column = |name: &str| level.features.iter().position(|f| f.name == name).unwrap();
        let mut x = vec![0.0; 3 * width];
        (x[column("age")], x[width + column("age")], x[2 * width + column("is_none")]) = (9.0, 8.0, 1.0);
        for (text, expected) in [
            ("age <= 5 first", [1.0, 2.0, 3.0]),
            ("age > 8.5 first", [1.0, OUT, OUT]),
            ("age > 5 last", [1.0, 2.0, 3.0]),
            ("age > 5 never", [1.0, OUT, 3.0]),
            ("is_none last", [1.0, 2.0, OUT]),
        ] {
            let guards = CompiledGuards::new(&[Guard::parse(text, set).unwrap()], level);
            let mut scores = [1.0, 2.0, 3.0];
            guards.apply(0, &x, width, &mut scores);
            assert_eq!(scores, expected, "{text}");
        }
    }

    fn applied(text: &str, ages: &[f32], scores: &[f64]) -> Vec<f64> {
        let set = feature_set();
        let level = set.level("job").unwrap();
        let guard = Guard::parse(text, set).unwrap();
        let guards = CompiledGuards::new(&[guard], level);
        let (width, age) = (level.features.len(), level.features.iter().position(|f| f.name == "age").unwrap());
        let mut x = vec![0.0; width * ages.len()];
        ages.iter().enumerate().for_each(|(i, &a)| x[i * width + age] = a);
        let mut scores = scores.to_vec();
        guards.apply(0, &x, width, &mut scores);
        scores
    }

    #[test]
    fn guards_rule_out_what_comes_later_but_never_everybody() {
        const OUT: f64 = f64::NEG_INFINITY;
        let scores = [1.0, 2.0, 3.0];
        for (text, ages, expected) in [
            ("age > 5 first", [9.0, 1.0, 9.0], [1.0, OUT, 3.0]),
            ("age > 5 last", [9.0, 1.0, 9.0], [OUT, 2.0, OUT]),
            ("age > 5 never", [9.0, 1.0, 9.0], [OUT, 2.0, OUT]),
            ("age > 5 first", [1.0, 1.0, 1.0], scores),
            ("age > 5 first", [9.0, 9.0, 9.0], scores),
            ("age > 5 last", [9.0, 9.0, 9.0], scores),
            ("age > 5 never", [9.0, 9.0, 9.0], [1.0, OUT, OUT]),
        ] {
            assert_eq!(applied(text, &ages, &scores), expected, "{text} {ages:?}");
        }
        // Candidates that are out stay out, and what is said of all concerns those that are left.
        assert_eq!(applied("age > 5 first", &[9.0, 1.0, 1.0], &[OUT, 2.0, 3.0]), [OUT, 2.0, 3.0]);
        assert_eq!(applied("age > 5 never", &[1.0, 9.0, 9.0], &[OUT, 2.0, 3.0]), [OUT, 2.0, OUT]);
    }
}
