//! Levels, kinds and quantities in plain words: those that the run brings along from its scenario, else their names.

use super::{
    closest::{best_rule, kinds},
    goal,
    words::{self, list, number, quantity},
};
use sched_distill_core::level::{ALL_KINDS, FLAG, FeatureSet, FeatureSpec, LevelSpec, Phrases, Words, third_person};
pub(crate) use sched_distill_core::level::{base, capital};
use sched_distill_core::{
    figure::Figure,
    model::{Guard, guard_in_words},
    spec::Spec,
};
use sched_distill_explain::Direction;
use sched_distill_judge::evaluator::{Condition, Estimate, FidelityRow};

/// What stands before the name of a feature of the teacher's candidate.
const TEACHER: &str = "teacher.";
/// The least agreement that a rule must have beyond doubt to be one that is always right, or almost.
pub(super) const SETTLED: f64 = 0.99;

/// Words of a run.
#[derive(Clone, Copy)]
pub(super) struct Plain<'a> {
    pub(super) words: &'a Words,
    pub(super) features: &'a FeatureSet,
}

/// A rule on one feature that makes the teacher's choice always, or almost.
pub(super) struct Settled<'a> {
    /// The rule's figures, kind by kind.
    pub(super) rows: Vec<&'a FidelityRow>,
    /// What it takes: `as many executors as allowed`.
    pub(super) takes: String,
}

impl Settled<'_> {
    fn is_exact(&self) -> bool {
        self.rows.iter().all(|r| r.top1.value == 1.0)
    }

    /// `always` only if no choice goes otherwise.
    pub(super) fn how_often(&self) -> &'static str {
        if self.is_exact() { "always" } else { "almost always" }
    }
}

impl<'a> Plain<'a> {
    /// `When any job may get them, `; empty if all choices are of one kind.
    pub(super) fn place(&self, kind: &str, several: bool) -> String {
        match self.words.kind(kind) {
            _ if !several || kind == ALL_KINDS => String::new(),
            Some(k) => format!("when {}, ", k.when),
            None => format!("on {kind} choices, "),
        }
    }

    /// `Which job gets executors? `
    pub(super) fn question(&self, level: &str) -> String {
        match self.spec(level).map(|l| l.question.trim()) {
            Some(question) if !question.is_empty() => question.to_owned(),
            _ => format!("Level {level}."),
        }
    }

    /// What a feature is called: `work left`.
    pub(super) fn label(&self, level: &str, feature: &FeatureSpec) -> String {
        match self.level(level).quantity(base(&feature.name)) {
            Some(quantity) => quantity.noun.clone(),
            None => feature.label(),
        }
    }

    /// The same with how its value is formed: `work left, rank`.
    pub(super) fn full_label(&self, level: &str, feature: &FeatureSpec) -> String {
        words::full_label(self.label(level, feature), feature.scope)
    }

    /// `feature <= threshold`
    pub(super) fn test(&self, level: &str, feature: &FeatureSpec, threshold: f32) -> words::Test {
        words::test(self.label(level, feature), feature, threshold)
    }

    /// A kind over figures of its own: `free: when any job may get the executors`.
    pub(super) fn heading(&self, kind: &str) -> String {
        match self.words.kind(kind) {
            _ if kind == ALL_KINDS => "all kinds".to_owned(),
            Some(words) => format!("{kind}: when {}", words.when),
            None => format!("kind {kind}"),
        }
    }

    /// `mean completion time`
    pub(super) fn figure(&self, figure: &Figure) -> String {
        self.words.figure(&figure.name).map_or_else(|| figure.label.to_string(), str::to_owned)
    }

    /// What a policy does, if its name has words; its parameters have none.
    pub(super) fn policy(&self, id: &str) -> Option<&'a str> {
        self.words.policy(&id.parse::<Spec>().ok()?.name)
    }

    /// A difference in words: `0.2 points fewer jobs on time`, `as many jobs on time`; of what is no share, `a mean load higher by 3`.
    pub(super) fn more_or_fewer(&self, figure: &Figure, e: &Estimate) -> String {
        let amount = goal::measured_value(figure, e, e.value);
        let amount = amount.trim_start_matches(['+', '\u{2212}']);
        let is_more = e.value > 0.0;
        match self.words.share(&figure.name) {
            Some(counted) if !amount.contains(|c: char| c.is_ascii_digit() && c != '0') => format!("as many {counted}"),
            Some(counted) => format!("{amount} {} {counted}", if is_more { "more" } else { "fewer" }),
            None => format!("a {} {} by {amount}", self.figure(figure), if is_more { "higher" } else { "lower" }),
        }
    }

    /// `where one giant job shares the cluster`: a workload in words, if it has any.
    pub(super) fn edge_case(&self, id: &str) -> Option<String> {
        let spec = id.parse::<Spec>().ok()?;
        let words = self.words.edge_case(spec.params.get("edge")?)?;
        Some(format!("where {words}"))
    }

    /// Words about a level.
    pub(super) fn level(&self, level: &str) -> Phrases<'a> {
        self.words.phrases(self.features, level)
    }

    /// `a job with time since it arrived above 5 min comes first`
    pub(super) fn guard(&self, guard: &Guard) -> String {
        guard_in_words(guard, &self.level(&guard.level))
    }

    /// Which way a family counts, with the place of a bend or a turn; `None` if neither way.
    pub(super) fn direction(&self, level: &str, family: &str, direction: Direction) -> Option<String> {
        if let Some((x, up)) = direction.turn() {
            let [first, second] = [up, !up].map(|more| self.level(level).relation(family, more));
            return Some(format!("{first} up to {}, and {second} beyond it", self.value(level, family, x)));
        }
        let sign = direction.sign();
        let relation = (sign != 0.0).then(|| self.level(level).relation(family, sign > 0.0))?;
        if matches!(direction, Direction::MostlyUp | Direction::MostlyDown) {
            return Some(format!("{relation} (mostly)"));
        }
        let up_to = matches!(direction, Direction::UpTo(_) | Direction::DownTo(_));
        let side = if up_to { "above" } else { "below" };
        let is_whole = self.level(level).feature(family).is_some_and(|f| f.whole);
        let whole = |x: f64| if up_to { x.floor() } else { x.ceil() };
        Some(match direction.bend().map(|x| if is_whole { whole(x) } else { x }) {
            Some(x) => format!("{relation} (what is {side} {} makes no difference)", self.value(level, family, x)),
            None => relation,
        })
    }

    /// What a rule such as `smallest remaining_work` takes: `the job with the least work left`.
    pub(super) fn rule(&self, level: &str, scorer: &str) -> Option<String> {
        let extreme = self.rule_extreme(level, scorer)?;
        // Behind the verb of `picks the job`.
        if third_person(&extreme).is_some() {
            return Some(extreme);
        }
        Some(match self.level(level).picks().split_once(' ') {
            Some((_, object)) => format!("{object} {extreme}"),
            None => extreme,
        })
    }

    /// The same without the noun: `with the least work left`.
    pub(super) fn rule_extreme(&self, level: &str, scorer: &str) -> Option<String> {
        let (end, feature) = scorer.split_once(' ')?;
        let most = match end {
            "largest" => true,
            "smallest" => false,
            _ => return None,
        };
        let level = self.level(level);
        level.feature(feature)?;
        Some(level.extreme(base(feature), most))
    }

    /// The rule of a level that is always right or almost, if one is: on every kind of choice, beyond doubt.
    pub(super) fn settled<'r>(&self, level: &str, rows: &'r [FidelityRow]) -> Option<Settled<'r>> {
        let rows: Vec<&FidelityRow> = rows.iter().filter(|r| r.level == level).collect();
        let kinds = kinds(&rows);
        let own: Vec<&str> = kinds.iter().copied().filter(|&k| k != ALL_KINDS || kinds.len() == 1).collect();
        let best: Vec<&FidelityRow> = own.iter().map(|kind| best_rule(&rows, kind)).collect::<Option<_>>()?;
        let takes = self.rule_extreme(level, &best.first()?.scorer)?;
        let same =
            |r: &&FidelityRow| r.top1.low >= SETTLED && self.rule_extreme(level, &r.scorer).as_ref() == Some(&takes);
        best.iter().all(same).then_some(Settled { rows: best, takes })
    }

    /// `it always gives as many executors as allowed`: what rules take, `how` often. A teacher that draws its actions need not take
    /// what it finds most probable: then no more is said than that.
    pub(super) fn habit(&self, level: &str, rules: &[&FidelityRow], takes: &str, how: &str, least: f64) -> String {
        let executed = |r: &&FidelityRow| r.executed.is_none_or(|e| e.value >= least);
        let level = self.level(level);
        match (rules.iter().all(executed), level.picks().split_once(' ')) {
            (true, _) => format!("it {how} {}", level.takes(takes)),
            (false, Some((_, object))) if third_person(takes).is_none() => {
                format!("what it finds most probable is {how} {object} {takes}")
            }
            (false, _) => format!("what it finds most probable is {how} {takes}"),
        }
    }

    /// `It always gives as many executors as allowed (in all 3,998 choices).`, the strength as found.
    fn settled_sentence(&self, level: &str, settled: &Settled<'_>) -> String {
        let choices: usize = settled.rows.iter().map(|r| r.choices).sum();
        let right: f64 = settled.rows.iter().map(|r| r.top1.value * r.choices as f64).sum();
        let choices_in_words = words::count(choices as u64);
        let how_often = match settled.is_exact() {
            true => format!("in all {choices_in_words} choices"),
            false => format!("in {} of {choices_in_words} choices", words::percent(right / choices.max(1) as f64)),
        };
        let habit = self.habit(level, &settled.rows, &settled.takes, settled.how_often(), SETTLED);
        format!("{} ({how_often}).", capital(&habit))
    }

    /// The same without figures: `It always gives as many executors as allowed.`
    pub(super) fn settled_habit(&self, level: &str, rows: &[FidelityRow]) -> Option<String> {
        let settled = self.settled(level, rows)?;
        let habit = self.habit(level, &settled.rows, &settled.takes, settled.how_often(), SETTLED);
        Some(format!("{}.", capital(&habit)))
    }

    /// The sentence on a level where one rule is always right or almost.
    pub(super) fn settled_alone(&self, level: &str, rows: &[FidelityRow]) -> Option<String> {
        let settled = self.settled(level, rows)?;
        Some(format!("{} {}", self.question(level), self.settled_sentence(level, &settled)))
    }

    /// The bounds of a region in words: those of the choice, then those of the teacher's candidate.
    pub(super) fn conditions(&self, level: &str, all: &[Condition]) -> String {
        let (of_teacher, of_choice): (Vec<&Condition>, Vec<&Condition>) =
            all.iter().partition(|c| c.column.starts_with(TEACHER));
        let words = |some: &[&Condition]| list(&some.iter().flat_map(|c| self.condition(level, c)).collect::<Vec<_>>());
        let teacher = || format!("the teacher's {}: {}", self.level(level).candidate(), words(&of_teacher));
        match (of_choice.is_empty(), of_teacher.is_empty()) {
            (true, true) => "all choices".to_owned(),
            (false, true) => words(&of_choice),
            (true, false) => teacher(),
            (false, false) => format!("{}; {}", words(&of_choice), teacher()),
        }
    }

    fn condition(&self, level: &str, c: &Condition) -> Vec<String> {
        if let Some(kind) = c.column.strip_prefix("kind=") {
            // The column is 1 for choices of that kind, else 0.
            let is = c.above.is_some_and(|v| v >= 0.0);
            return vec![match (self.words.kind(kind), is) {
                (Some(k), true) => k.when.clone(),
                (Some(k), false) => format!("it is not so that {}", k.when),
                (None, true) => format!("kind {kind}"),
                (None, false) => format!("not kind {kind}"),
            }];
        }
        let name = c.column.strip_prefix(TEACHER).unwrap_or(&c.column);
        let bound = |value: f32, above: bool| match self.level(level).feature(name) {
            Some(f) => self.bound(level, f, value, above),
            None => format!("{name} {} {}", if above { ">" } else { "≤" }, number(f64::from(value))),
        };
        let above = c.above.map(|v| bound(v, true));
        let at_most = c.at_most.map(|v| bound(v, false) + if c.or_none { ", or none" } else { "" });
        above.into_iter().chain(at_most).collect()
    }

    /// One bound of one feature: as the quantity's words where it says no number, else as the test of a tree.
    fn bound(&self, level: &str, feature: &FeatureSpec, value: f32, above: bool) -> String {
        let test = self.test(level, feature, value);
        let said = if above { test.right } else { test.left };
        let (level, family) = (self.level(level), base(&feature.name));
        if level.quantity(family).is_none() {
            return said;
        }
        let flag = feature.unit == FLAG && (0.0..1.0).contains(&value);
        let smallest = !above && feature.name.ends_with("_rank") && (0.0..1.0).contains(&value);
        match () {
            () if flag => level.relation(family, above),
            () if smallest => level.extreme(family, false),
            () => said,
        }
    }

    /// A bound of a quantity with its unit; of whole numbers it is one.
    pub(super) fn threshold(&self, level: &str, family: &str, value: f32) -> String {
        let is_whole = self.level(level).feature(family).is_some_and(|f| f.whole);
        self.value(level, family, f64::from(if is_whole { value.floor() } else { value }))
    }

    fn spec(&self, level: &str) -> Option<&'a LevelSpec> {
        self.features.level(level)
    }

    fn value(&self, level: &str, family: &str, value: f64) -> String {
        self.level(level).feature(family).map_or_else(|| number(value), |f| quantity(value, f))
    }
}

/// A part of a whole as one says it, no finer than it is known: `a third`, `most`; else in per cent.
pub(super) fn part(share: f64) -> String {
    let known = [
        (1.0, "all"),
        (0.75, "three quarters"),
        (2.0 / 3.0, "two thirds"),
        (0.5, "half"),
        (1.0 / 3.0, "a third"),
        (0.25, "a quarter"),
    ];
    let near = known.iter().find(|(value, _)| (share - value).abs() < 0.02);
    match near {
        Some((1.0, _)) if share < 1.0 => "nearly all".to_owned(),
        Some((value, words)) if (share - value).abs() < 0.005 => (*words).to_owned(),
        Some((_, words)) => format!("about {words}"),
        None => words::percent(share),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_said_no_finer_than_they_are() {
        let said = |share| part(share);
        assert_eq!(
            [0.335, 0.308, 0.99, 1.0, 0.51, 0.42].map(said),
            ["a third", "30.8\u{a0}%", "nearly all", "all", "about half", "42.0\u{a0}%"]
        );
    }
}
