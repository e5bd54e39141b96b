//! A rule and its exceptions: the shortest list of conditions on top of a named rule that brings it close to the teacher.
//!
//! Exceptions are guards of one or two conditions. They are found one at a time, each being the one that raises the top-1
//! agreement on training choices most. It stands before the rule's own guards and overrides them, or behind them, where it only
//! divides what they leave. The candidates of every choice stand in the rule's order, so that a set of candidates is one
//! machine word and the choice of what is left of it is its lowest bit.

mod ordered;

use super::{FitError, temperature::fit_temperature};
use ordered::Ordered;
use rayon::prelude::*;
use sched_distill_core::{
    level::{FeatureSet, LevelSpec},
    model::{Action, Condition, Evidence, Guard, LevelModels, NamedModel, Operator, Provenance, Rule, Student},
};
use sched_distill_judge::evaluator::{Role, Scorer, fidelity};
use sched_distill_trace::LevelTable;
use serde::{Deserialize, Serialize};

/// What a search for exceptions is asked for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExceptionParams {
    /// Only choices of this kind count; `None` for all.
    pub kind: Option<u8>,
    /// How far kinds are balanced: 0 counts choices, 1 gives every kind the same weight.
    pub balance: f64,
    /// Training choices at most, drawn in proportion to their weights.
    pub max_choices: usize,
    /// Exceptions at most.
    pub max_exceptions: usize,
    /// An exception that adds less than this to the agreement on validation choices ends the search.
    pub min_gain: f64,
    /// Agreement on validation choices that is enough.
    pub min_fidelity: f64,
}

impl Default for ExceptionParams {
    fn default() -> Self {
        Self { kind: None, balance: 1.0, max_choices: 20_000, max_exceptions: 8, min_gain: 0.002, min_fidelity: 1.0 }
    }
}

/// The rule with its exceptions up to one of them.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ExceptionStep {
    /// The exception that was added; `None` for the rule alone.
    pub exception: Option<Guard>,
    /// Whether it comes before the rule's own guards, not behind them.
    pub overrides: bool,
    /// Weighted top-1 agreement on the training choices.
    pub train: f64,
    /// The same on validation choices.
    pub validation: f64,
}

/// Thresholds per feature while two conditions are searched for, and when one of them is settled.
const THRESHOLDS: (usize, usize) = (12, 60);
/// First conditions that are combined with every other one: half of them the best alone, half those that set most right.
const FIRST_CONDITIONS: usize = 24;
/// Of one feature at most so many.
const OF_ONE_FEATURE: usize = 3;

/// Finds exceptions to a rule of the tables' level. The first step is the rule alone. The same tables give the same steps for
/// any number of threads.
///
/// # Errors
///
/// No choice to learn from, a rule about other features.
pub fn find_exceptions(
    rule: &Rule,
    train: &LevelTable,
    validation: &LevelTable,
    params: &ExceptionParams,
) -> Result<Vec<ExceptionStep>, FitError> {
    let spec = &train.spec;
    let ordered = |table, most| Ordered::new(rule, table, params, most);
    let (mut train, mut validation) = (ordered(train, Some(params.max_choices))?, ordered(validation, None)?);
    let step = |exception, overrides, train: &Ordered, validation: &Ordered| ExceptionStep {
        exception,
        overrides,
        train: train.agreement(),
        validation: validation.agreement(),
    };
    let mut steps = vec![step(None, false, &train, &validation)];
    let conditions = [THRESHOLDS.0, THRESHOLDS.1].map(|n| train.conditions(n));
    while steps.len() <= params.max_exceptions && steps[steps.len() - 1].validation < params.min_fidelity {
        let Some(found) = best(&train, &conditions) else { break };
        train.apply(&found);
        validation.apply(&found);
        let before = steps[steps.len() - 1].validation;
        let mut next = step(Some(found.guard(spec)), found.overrides, &train, &validation);
        if next.validation < before + params.min_gain {
            break;
        }
        if let Some(exception) = &mut next.exception {
            let after = next.validation;
            let reason = format!("exception to {}: top-1 agreement {before:.3}, now {after:.3}", rule.name);
            exception.evidence = Evidence { reason, ..Evidence::default() };
        }
        steps.push(next);
    }
    Ok(steps)
}

/// The guards of a rule with its exceptions, in order.
#[must_use]
pub fn guards_of(rule: &Rule, steps: &[ExceptionStep]) -> Vec<Guard> {
    let exceptions =
        |overrides| steps.iter().filter(move |s| s.overrides == overrides).filter_map(|s| s.exception.clone());
    exceptions(true).chain(rule.guards.clone()).chain(exceptions(false)).collect()
}

/// A student of one rule per level with its exceptions. Temperatures are fitted on `validation`, the tables of the levels in
/// the same order.
///
/// # Errors
///
/// A rule about other features than those of its level.
pub fn student_of_rules(
    set: &FeatureSet,
    abstains: bool,
    rules: &[(&Rule, &[ExceptionStep])],
    params: &ExceptionParams,
    validation: &[LevelTable],
    mut provenance: Provenance,
) -> Result<Student, FitError> {
    let mut levels = Vec::with_capacity(rules.len());
    let mut guards = Vec::new();
    for ((rule, steps), table) in rules.iter().zip(validation) {
        let mut named = named(rule, &table.spec)?;
        named.temperature = fit_temperature(&named.model, table);
        guards.extend(guards_of(rule, steps));
        let scorer = Scorer::guarded(&named, &guards, &table.spec, Role::Student);
        for row in fidelity(table, &[scorer], 0) {
            provenance.fidelity.insert(format!("{}/{}/{}/top1", rule.level, rule.name, row.kind), row.top1.value);
        }
        levels.push(LevelModels::new(&rule.level, &rule.name, vec![named]));
    }
    // Plain data serialises.
    provenance.parameters = serde_json::to_value(params).unwrap_or_default();
    provenance.crate_version = env!("CARGO_PKG_VERSION").to_owned();
    let mut student = Student::new(set.clone(), abstains, levels, provenance);
    student.guards = guards;
    Ok(student)
}

fn named(rule: &Rule, spec: &LevelSpec) -> Result<NamedModel, FitError> {
    rule.model(spec).map_err(|e| FitError::Rule { reason: e.to_string() })
}

/// A condition by column.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Test {
    column: usize,
    operator: Operator,
    value: f32,
}

impl Test {
    /// The condition that holds where this one does not.
    fn opposite(self) -> Self {
        let operator = match self.operator {
            Operator::Above => Operator::AtMost,
            Operator::AtMost => Operator::Above,
            Operator::AtLeast => Operator::Below,
            Operator::Below => Operator::AtLeast,
        };
        Self { operator, ..self }
    }
}

/// An exception to be: one or two conditions.
#[derive(Clone, Debug, PartialEq)]
struct Exception {
    when: Vec<Test>,
    first: bool,
    overrides: bool,
    gain: f64,
}

impl Exception {
    fn guard(&self, spec: &LevelSpec) -> Guard {
        let condition = |t: &Test| Condition {
            feature: spec.features[t.column].name.clone(),
            operator: t.operator,
            value: t.value,
        };
        let when = self.when.iter().map(condition).collect();
        let action = if self.first { Action::First } else { Action::Last };
        Guard { level: spec.name.clone(), when, action, evidence: Evidence::default() }
    }
}

/// The exception that gains most; the one of fewer conditions and the first one among equals. `None` if none gains.
fn best(data: &Ordered, [coarse, fine]: &[Vec<Vec<Test>>; 2]) -> Option<Exception> {
    let all: Vec<Test> = coarse.iter().flatten().copied().collect();
    let mut found = Exception { when: Vec::new(), first: true, overrides: false, gain: 0.0 };
    let mut outer: Vec<Test> = Vec::new();
    for &overrides in data.places() {
        // To come first if a value is high is to come last if it is low: one action is enough for single conditions.
        let single = |&test: &Test| {
            let (gained, lost) = data.change(data.meeting(test).into_iter(), true, overrides);
            (test, gained, gained - lost)
        };
        let singles: Vec<(Test, f64, f64)> = all.par_iter().map(single).collect();
        for &(test, _, gain) in &singles {
            if gain > found.gain {
                found = Exception { when: vec![test], first: true, overrides, gain };
            }
        }
        let most = FIRST_CONDITIONS / data.places().len();
        let more: Vec<Test> = promising(&singles, most).into_iter().filter(|t| !outer.contains(t)).collect();
        outer.extend(more);
    }
    // What is worth coming first where a condition holds may be worth coming last where it does not; beside a second condition these
    // are two exceptions.
    let opposites = outer.iter().map(|test| (test.opposite(), &[false][..]));
    let outer = outer.iter().map(|&test| (test, &[true, false][..])).chain(opposites);
    let outer: Vec<(Test, &[bool], Vec<u64>)> = outer.map(|(test, acts)| (test, acts, data.meeting(test))).collect();
    let pairs: Vec<Exception> = all
        .par_iter()
        .filter_map(|&test| {
            let met = data.meeting(test);
            let mut found: Option<Exception> = None;
            let others = outer.iter().filter(|(o, ..)| (o.column, o.operator) != (test.column, test.operator));
            for (other, firsts, both) in others {
                for (&overrides, &first) in data.places().iter().flat_map(|p| firsts.iter().map(move |f| (p, f))) {
                    let (gained, lost) = data.change(met.iter().zip(both).map(|(a, b)| a & b), first, overrides);
                    if gained - lost > found.as_ref().map_or(0.0, |f| f.gain) {
                        let gain = gained - lost;
                        found = Some(Exception { when: vec![*other, test], first, overrides, gain });
                    }
                }
            }
            found
        })
        .collect();
    for pair in pairs {
        if pair.gain > found.gain {
            found = pair;
        }
    }
    // Finer thresholds for what was found, one condition after the other.
    for i in 0..found.when.len() {
        let (at, others) = (found.when[i], [&found.when[..i], &found.when[i + 1..]].concat());
        let others = data.meeting_all(&others);
        let tried: Vec<(Test, f64)> = fine[at.column]
            .par_iter()
            .filter(|t| t.operator == at.operator)
            .map(|&test| {
                let met = data.meeting(test);
                let both = met.iter().enumerate().map(|(i, m)| m & others.get(i).unwrap_or(&u64::MAX));
                let (gained, lost) = data.change(both, found.first, found.overrides);
                (test, gained - lost)
            })
            .collect();
        for (test, gain) in tried {
            if gain > found.gain {
                (found.when[i], found.gain) = (test, gain);
            }
        }
    }
    (found.gain > 0.0).then_some(found)
}

/// Conditions worth a second one: the best alone, and those that set most right whatever they spoil.
fn promising(singles: &[(Test, f64, f64)], all: usize) -> Vec<Test> {
    let mut chosen: Vec<Test> = Vec::new();
    for (alone, most) in [(true, all / 2), (false, all)] {
        let of = |i: usize| if alone { singles[i].2 } else { singles[i].1 };
        let mut order: Vec<usize> = (0..singles.len()).filter(|&i| singles[i].1 > 0.0).collect();
        order.sort_by(|&a, &b| of(b).total_cmp(&of(a)).then(a.cmp(&b)));
        for i in order {
            let test = singles[i].0;
            let alike = chosen.iter().filter(|c| c.column == test.column).count();
            if chosen.len() < most && alike < OF_ONE_FEATURE && !chosen.contains(&test) {
                chosen.push(test);
            }
        }
    }
    chosen
}

#[cfg(test)]
mod tests {
    use super::*;
    use sched_distill_core::rng::Stream;

    /// A teacher that takes the smallest `a`, unless a candidate has `b` above 0.6 and `a` below 0.5: then that one.
    fn tables() -> (FeatureSet, Vec<LevelTable>) {
        let mut s = Stream::new(7, "exceptions");
        let mut table = |episodes: std::ops::Range<u32>| {
            let choices: Vec<_> = episodes
                .flat_map(|e| (0..60).map(move |i| (e, i % 2)))
                .map(|(episode, kind)| {
                    let n = 2 + s.below(6);
                    let rows: Vec<[f32; 2]> = (0..n).map(|_| [s.uniform() as f32, s.uniform() as f32]).collect();
                    let score = |r: &[f32; 2]| f64::from(-r[0]) + if r[1] > 0.6 && r[0] < 0.5 { 9.0 } else { 0.0 };
                    let target = sched_distill_core::level::first_max(rows.iter().map(score));
                    (episode, kind as u8, rows, target)
                })
                .collect();
            crate::tiny::table("job", &choices)
        };
        let tables = vec![table(0..20), table(20..30)];
        (FeatureSet { scenario: "test".to_owned(), levels: vec![tables[0].spec.clone()] }, tables)
    }

    #[test]
    fn the_exception_that_the_teacher_makes_is_found() {
        let (set, tables) = tables();
        let rule = Rule::parse("r", "job: smallest a", &set).unwrap();
        let params = ExceptionParams { max_exceptions: 1, ..ExceptionParams::default() };
        let steps = find_exceptions(&rule, &tables[0], &tables[1], &params).unwrap();
        assert_eq!(steps.len(), 2);
        let guard = steps[1].exception.as_ref().unwrap();
        let value = |name: &str| guard.when.iter().find(|c| c.feature == name).map(|c| f64::from(c.value));
        assert!((value("b").unwrap() - 0.6).abs() < 0.05, "{guard}");
        assert!(steps[0].validation < 0.8 && steps[1].validation > 0.9, "{steps:?}");
        assert!(steps[1].train > steps[0].train);
    }

    /// The longest job is taken, or none, unless it is near its end. None has zeros, so that a small number alone would spare it too.
    #[test]
    fn candidates_are_spared_where_none_looks_as_if_it_were_one_of_them() {
        let mut s = Stream::new(9, "spared");
        let mut table = |episodes: std::ops::Range<u32>| {
            let choices: Vec<_> = episodes
                .flat_map(|episode| (0..60).map(move |_| episode))
                .map(|episode| {
                    let jobs = 1 + s.below(4);
                    // How long a job is, and how near its end.
                    let job = |_| [0.1 + s.uniform() as f32, s.uniform() as f32];
                    let rows: Vec<[f32; 2]> = (0..jobs).map(job).chain([[0.0, 0.0]]).collect();
                    let score = |r: &[f32; 2]| if r[0] > 0.0 && r[1] <= 0.5 { -1.0 } else { f64::from(r[0]) };
                    let target = sched_distill_core::level::first_max(rows.iter().map(score));
                    (episode, 0, rows, target)
                })
                .collect();
            crate::tiny::table("job", &choices)
        };
        let tables = [table(0..20), table(20..30)];
        let set = FeatureSet { scenario: "test".to_owned(), levels: vec![tables[0].spec.clone()] };
        let rule = Rule::parse("r", "job: largest a", &set).unwrap();
        let params = ExceptionParams { max_exceptions: 1, ..ExceptionParams::default() };
        let steps = find_exceptions(&rule, &tables[0], &tables[1], &params).unwrap();
        let guard = steps[1].exception.as_ref().unwrap();
        assert!(steps[0].validation < 0.7 && steps[1].validation > 0.95, "{steps:?}");
        assert!(guard.action == Action::Last && guard.when.iter().any(|c| c.feature == "b"), "{guard}");
    }

    #[test]
    fn steps_say_what_the_scorer_of_the_finished_student_says() {
        let (set, tables) = tables();
        for text in ["job: b > 0.9 last, smallest a", "job: b > 0.3 never, largest a", "job: a > 0.2 first, largest b"]
        {
            let rule = Rule::parse("r", text, &set).unwrap();
            let steps = find_exceptions(&rule, &tables[0], &tables[1], &ExceptionParams::default()).unwrap();
            let model = rule.model(&tables[1].spec).unwrap();
            for (i, step) in steps.iter().enumerate() {
                let guards = guards_of(&rule, &steps[..=i]);
                let scorer = Scorer::guarded(&model, &guards, &tables[1].spec, Role::Student);
                let rows = fidelity(&tables[1], &[scorer], 0);
                let balanced = (rows[0].top1.value + rows[1].top1.value) / 2.0;
                assert!((balanced - step.validation).abs() < 1e-9, "{text} {i}: {balanced} {}", step.validation);
            }
            assert!(steps.windows(2).all(|w| w[1].validation >= w[0].validation + 0.002));
        }
    }

    #[test]
    fn single_conditions_are_the_best_by_brute_force_and_threads_do_not_matter() {
        let (set, tables) = tables();
        let rule = Rule::parse("r", "job: b > 0.8 first, largest a", &set).unwrap();
        let params = ExceptionParams::default();
        let data = Ordered::new(&rule, &tables[0], &params, None).unwrap();
        let coarse = data.conditions(THRESHOLDS.0);
        let found = best(&data, &[coarse.clone(), coarse.clone()]).unwrap();
        let before = data.agreement();
        let total: f64 = data.weight.iter().sum();
        let mut most: f64 = 0.0;
        for &test in coarse.iter().flatten() {
            for (first, overrides) in [(true, true), (true, false), (false, true), (false, false)] {
                let mut tried = Ordered::new(&rule, &tables[0], &params, None).unwrap();
                tried.apply(&Exception { when: vec![test], first, overrides, gain: 0.0 });
                most = most.max(tried.agreement() - before);
            }
        }
        assert!(found.gain / total >= most - 1e-12);
        let mut applied = Ordered::new(&rule, &tables[0], &params, None).unwrap();
        applied.apply(&found);
        assert!((applied.agreement() - before - found.gain / total).abs() < 1e-9);
        let with = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| find_exceptions(&rule, &tables[0], &tables[1], &params).unwrap())
        };
        assert_eq!(with(1), with(3));
    }
}
