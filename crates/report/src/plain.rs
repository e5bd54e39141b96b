//! Levels, kinds and quantities in plain words: those that the run brings along from its scenario, else their names.

use super::{
    fidelity::{best_rule, kinds},
    words::{self, label, list, number, quantity},
};
use sched_distill_core::level::{ALL_KINDS, FLAG, FeatureSet, FeatureSpec, LevelSpec, QuantityWords, Words};
use sched_distill_core::{figure::Figure, spec::Spec};
use sched_distill_toolkit::{
    evaluator::{Condition, FidelityRow},
    explainer::Direction,
};

/// What stands before the name of a feature of the teacher's candidate.
const TEACHER: &str = "teacher.";
/// The least agreement that a rule must have beyond doubt to be one that is always right, or almost.
pub(super) const SETTLED: f64 = 0.99;

/// Comparatives and superlatives of the words that scenarios use.
const SUPERLATIVES: [(&str, &str); 14] = [
    ("less", "least"),
    ("more", "most"),
    ("fewer", "fewest"),
    ("smaller", "smallest"),
    ("larger", "largest"),
    ("shorter", "shortest"),
    ("longer", "longest"),
    ("lower", "lowest"),
    ("higher", "highest"),
    ("earlier", "earliest"),
    ("later", "latest"),
    ("nearer", "nearest"),
    ("older", "oldest"),
    ("newer", "newest"),
];

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

    /// `mean completion time`
    pub(super) fn figure(&self, figure: &Figure) -> String {
        self.words.figure(&figure.name).map_or_else(|| figure.label.to_string(), str::to_owned)
    }

    /// What a policy does, if its name has words; its parameters have none.
    pub(super) fn policy(&self, id: &str) -> Option<&'a str> {
        self.words.policy(&id.parse::<Spec>().ok()?.name)
    }

    /// `where one giant job shares the cluster`: a workload in words, if it has any.
    pub(super) fn edge_case(&self, id: &str) -> Option<String> {
        let spec = id.parse::<Spec>().ok()?;
        let words = self.words.edge_case(spec.params.get("edge")?)?;
        Some(format!("where {words}"))
    }

    /// What a candidate is: `job`.
    pub(super) fn candidate(&self, level: &str) -> &'a str {
        self.words.level(level).map_or("candidate", |w| &w.candidate)
    }

    /// `a job `, or nothing where relations say what is taken.
    pub(super) fn a_candidate(&self, level: &str) -> String {
        match self.prefers(level).split_once(' ') {
            Some((_, object)) => format!("{object} "),
            None => String::new(),
        }
    }

    /// `picks`
    pub(super) fn verb(&self, level: &str) -> &'a str {
        self.picks(level).split(' ').next().unwrap_or("picks")
    }

    /// `prefers a job`
    pub(super) fn prefers(&self, level: &str) -> &'a str {
        self.words.level(level).map_or("prefers a candidate", |w| &w.prefers)
    }

    /// `picks the job`
    pub(super) fn picks(&self, level: &str) -> &'a str {
        self.words.level(level).map_or("picks the candidate", |w| &w.picks)
    }

    /// `work left`
    pub(super) fn noun(&self, level: &str, family: &str) -> String {
        self.quantity(level, family).map_or_else(|| family.replace('_', " "), |w| w.noun.clone())
    }

    /// What a candidate with more of a quantity is, or with less: `with less work left`.
    pub(super) fn relation(&self, level: &str, family: &str, more: bool) -> String {
        let name = family.replace('_', " ");
        match self.quantity(level, family).map(|w| if more { &w.more } else { &w.less }) {
            Some(words) if !words.is_empty() => words.clone(),
            _ if self.is_flag(level, family) && name.starts_with("is ") => {
                format!("that {}{}", if more { "is " } else { "is not " }, &name["is ".len()..])
            }
            _ if self.is_flag(level, family) => {
                format!("for which \u{201c}{name}\u{201d} is {}", if more { "true" } else { "false" })
            }
            _ => format!("with {} {name}", if more { "larger" } else { "smaller" }),
        }
    }

    /// What a candidate with most of a quantity is, or with least: `with the least work left`.
    pub(super) fn extreme(&self, level: &str, family: &str, most: bool) -> String {
        let ends = self.quantity(level, family).and_then(|w| if most { w.most.clone() } else { w.least.clone() });
        ends.unwrap_or_else(|| superlative(&self.relation(level, family, most)))
    }

    /// Which way a family counts, with the place of a bend; `None` if neither way.
    pub(super) fn direction(&self, level: &str, family: &str, direction: Direction) -> Option<String> {
        let sign = direction.sign();
        let relation = (sign != 0.0).then(|| self.relation(level, family, sign > 0.0))?;
        let side = match direction {
            Direction::UpTo(_) | Direction::DownTo(_) => "above",
            _ => "below",
        };
        Some(match direction.bend() {
            Some(x) => format!("{relation} (what is {side} {} makes no difference)", self.value(level, family, x)),
            None => relation,
        })
    }

    /// What a rule such as `smallest remaining_work` takes: `the job with the least work left`.
    pub(super) fn rule(&self, level: &str, scorer: &str) -> Option<String> {
        let extreme = self.rule_extreme(level, scorer)?;
        // Behind the verb of `picks the job`.
        Some(match self.picks(level).split_once(' ') {
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
        self.feature(level, feature)?;
        Some(self.extreme(level, base(feature), most))
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
        match (rules.iter().all(executed), self.picks(level).split_once(' ')) {
            (true, _) => format!("it {how} {} {takes}", self.picks(level)),
            (false, Some((_, object))) => format!("what it finds most probable is {how} {object} {takes}"),
            (false, None) => format!("what it finds most probable is {how} {takes}"),
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
        let teacher = || format!("the teacher's {}: {}", self.candidate(level), words(&of_teacher));
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
        let bound = |value: f32, above: bool| match self.feature(level, name) {
            Some(f) => self.bound(level, f, value, above),
            None => format!("{name} {} {}", if above { ">" } else { "≤" }, number(f64::from(value))),
        };
        c.above.map(|v| bound(v, true)).into_iter().chain(c.at_most.map(|v| bound(v, false))).collect()
    }

    /// One bound of one feature: as the quantity's words where it says no number, else as the test of a tree.
    fn bound(&self, level: &str, feature: &FeatureSpec, value: f32, above: bool) -> String {
        let test = words::test(feature, value);
        let said = if above { test.right } else { test.left };
        let family = base(&feature.name);
        let Some(quantity) = self.quantity(level, family) else { return said };
        let flag = feature.unit == FLAG && (0.0..1.0).contains(&value);
        let smallest = !above && feature.name.ends_with("_rank") && (0.0..1.0).contains(&value);
        match () {
            () if flag => self.relation(level, family, above),
            () if smallest => self.extreme(level, family, false),
            () => said.replacen(&label(feature), &quantity.noun, 1),
        }
    }

    fn spec(&self, level: &str) -> Option<&'a LevelSpec> {
        self.features.level(level)
    }

    fn feature(&self, level: &str, name: &str) -> Option<&'a FeatureSpec> {
        self.spec(level)?.features.iter().find(|f| f.name == name)
    }

    pub(super) fn is_flag(&self, level: &str, family: &str) -> bool {
        self.feature(level, family).is_some_and(|f| f.unit == FLAG)
    }

    fn quantity(&self, level: &str, family: &str) -> Option<&'a QuantityWords> {
        self.words.level(level)?.quantity(family)
    }

    fn value(&self, level: &str, family: &str, value: f64) -> String {
        self.feature(level, family).map_or_else(|| number(value), |f| quantity(value, f))
    }
}

/// The quantity that a feature is the rank or the ratio of.
pub(super) fn base(feature: &str) -> &str {
    ["_rank", "_ratio"].iter().find_map(|ending| feature.strip_suffix(ending)).unwrap_or(feature)
}

/// `with less work left` becomes `with the least work left`; what compares nothing stays.
fn superlative(relation: &str) -> String {
    let ends = |word: &str| SUPERLATIVES.iter().find(|(more, _)| *more == word);
    let Some((more, most)) = relation.split(' ').find_map(ends) else { return relation.to_owned() };
    let words = relation.split(' ').map(|word| if word == *more { format!("the {most}") } else { word.to_owned() });
    words.collect::<Vec<_>>().join(" ")
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

/// The first letter as a sentence begins.
pub(crate) fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn superlatives_follow_from_comparatives() {
        assert_eq!(superlative("with less work left"), "with the least work left");
        assert_eq!(superlative("that freed the executors"), "that freed the executors");
    }

    #[test]
    fn parts_are_said_no_finer_than_they_are() {
        let said = |share| part(share);
        assert_eq!(
            [0.335, 0.308, 0.99, 1.0, 0.51, 0.42].map(said),
            ["a third", "30.8\u{a0}%", "nearly all", "all", "about half", "42.0\u{a0}%"]
        );
        assert_eq!(capital("when"), "When");
        assert_eq!(base("remaining_work_rank"), "remaining_work");
    }
}
