//! What goes first at a level, and why?

use crate::{
    fidelity::best_rule,
    plain::{Plain, capital},
    words::{interval, list, percent},
};
use sched_distill_toolkit::{
    evaluator::{Estimate, FidelityRow},
    explainer::{KindWeight, LevelExplanation, Tendency, Weight},
};

/// Families that are named.
const NAMED: usize = 3;
/// The least agreement beyond doubt of a rule that is said to hold nearly always.
const NEARLY: f64 = 0.9;

/// A family on the kind of choice that is spoken of, and its part in what moves scores.
struct Part<'a> {
    family: &'a Weight,
    tendency: Option<Tendency>,
    share: f64,
}

impl Part<'_> {
    fn has_direction(&self) -> bool {
        self.tendency.is_some_and(|t| t.student.sign() != 0.0)
    }

    fn is_shared(&self) -> bool {
        self.tendency.is_some_and(|t| t.is_shared())
    }
}

/// What counts at a level on a kind of choice.
///
/// - One rule is always right: nothing else is said.
/// - A direction is that of the student's model. The sentence speaks of the scheduler where the teacher's choices go the same way
///   beyond doubt with the other families held, else of the student alone.
/// - Without a direction, because there is none or none was measured, the quantity is named and no more.
pub(super) fn preference(
    level: &LevelExplanation,
    kind: &str,
    rows: &[FidelityRow],
    plain: Plain<'_>,
) -> Option<String> {
    let name = &level.level;
    let question = plain.question(name);
    if let Some(settled) = plain.settled_alone(name, rows) {
        return Some(settled);
    }
    let parts = parts(level, kind);
    let several = level.sample.iter().filter(|k| k.choices > 0).count() > 1;
    let place = plain.place(kind, several);
    let mut said: Vec<String> = Vec::new();
    // The first sentence says on which choices.
    let mut say = |text: String| said.push(capital(&if said.is_empty() { format!("{place}{text}") } else { text }));
    let shared: Vec<&Part<'_>> = parts.iter().filter(|p| p.is_shared()).collect();
    if !shared.is_empty() {
        say(format!("it {} {}.", plain.level(name).prefers(), relations(&shared, name, plain)));
    }
    let own: Vec<&Part<'_>> = parts.iter().filter(|p| p.has_direction() && !p.is_shared()).collect();
    if !own.is_empty() {
        let relations = relations(&own, name, plain);
        say(format!("the student {} {relations}, which the teacher does not clearly do.", plain.level(name).prefers()));
    }
    let rest: Vec<&Part<'_>> = parts.iter().filter(|p| !p.has_direction()).collect();
    if !rest.is_empty() {
        let noun = |p: &&Part<'_>| format!("{} ({})", plain.level(name).noun(&p.family.name), percent(p.share));
        let nouns = list(&rest.iter().map(noun).collect::<Vec<_>>());
        match rest.iter().all(|p| p.tendency.is_some()) {
            true => say(format!("what matters to the student, but not one way only: {nouns}.")),
            false => say(format!("what matters most to the student: {nouns}.")),
        }
    }
    let simple = simple_kinds(level, kind, rows, plain);
    let simple = simple.iter().map(|(habit, right)| format!("{habit} (right in {}).", interval(right, percent)));
    let said: Vec<String> = simple.chain(said).collect();
    (!said.is_empty()).then(|| format!("{question} {}", said.join(" ")))
}

/// What is done at a level in sentences without figures: on the kinds where a simple rule holds nearly always, then on `kind`.
pub(crate) fn habits(level: &LevelExplanation, kind: &str, rows: &[FidelityRow], plain: Plain<'_>) -> Vec<String> {
    let name = &level.level;
    if let Some(habit) = plain.settled_habit(name, rows) {
        return vec![habit];
    }
    let simple = simple_kinds(level, kind, rows, plain).into_iter().map(|(habit, _)| format!("{habit}."));
    let parts = parts(level, kind);
    let shared: Vec<&Part<'_>> = parts.iter().filter(|p| p.is_shared()).collect();
    let own: Vec<&Part<'_>> = parts.iter().filter(|p| p.has_direction()).collect();
    let (who, parts) = if shared.is_empty() { ("the student", own) } else { ("it", shared) };
    let directions: Vec<String> =
        parts.iter().filter_map(|p| plain.direction(name, &p.family.name, p.tendency?.student)).collect();
    let place = plain.place(kind, level.sample.iter().filter(|k| k.choices > 0).count() > 1);
    let hardest = (!directions.is_empty()).then(|| {
        format!("{}.", capital(&format!("{place}{who} {} {}", plain.level(name).prefers(), list(&directions))))
    });
    simple.chain(hardest).collect()
}

/// The family that matters most on a kind of choice, and its part in all that moves scores.
pub(crate) fn most_important<'a>(level: &'a LevelExplanation, kind: &str) -> Option<(&'a str, f64)> {
    parts(level, kind).first().map(|part| (part.family.name.as_str(), part.share))
}

/// The families that matter most on a kind of choice.
fn parts<'a>(level: &'a LevelExplanation, kind: &str) -> Vec<Part<'a>> {
    let of = |f: &'a Weight| f.by_kind.iter().find(|k| k.kind == kind);
    let mut found: Vec<(&Weight, &KindWeight)> =
        level.families.iter().filter_map(|f| Some((f, of(f)?))).filter(|(_, k)| k.share > 0.0).collect();
    let total: f64 = found.iter().map(|(_, k)| k.share).sum();
    found.sort_by(|a, b| b.1.share.total_cmp(&a.1.share));
    let part = |(family, k): &(&'a Weight, &KindWeight)| Part { family, tendency: k.tendency, share: k.share / total };
    found.iter().take(NAMED).map(part).collect()
}

/// What is taken on the other kinds of choice where a rule on one feature is right in nine of ten choices beyond doubt.
fn simple_kinds(
    level: &LevelExplanation,
    kind: &str,
    rows: &[FidelityRow],
    plain: Plain<'_>,
) -> Vec<(String, Estimate)> {
    let of_level: Vec<&FidelityRow> = rows.iter().filter(|r| r.level == level.level).collect();
    let others = level.sample.iter().filter(|k| k.choices > 0 && k.kind != kind);
    let sentence = |other: &str| {
        let rule = best_rule(&of_level, other).filter(|r| r.top1.low >= NEARLY)?;
        let takes = plain.rule_extreme(&level.level, &rule.scorer)?;
        let habit = plain.habit(&level.level, &[rule], &takes, "nearly always", NEARLY);
        let place = plain.place(other, true);
        Some((capital(&format!("{place}{habit}")), rule.top1))
    };
    others.filter_map(|k| sentence(&k.kind)).collect()
}

/// `with less work left (52 %) and with more tasks (9 %)`
fn relations(parts: &[&Part<'_>], level: &str, plain: Plain<'_>) -> String {
    let relation = |p: &&Part<'_>| {
        let direction = p.tendency.and_then(|t| plain.direction(level, &p.family.name, t.student));
        direction.map(|words| format!("{words} ({})", percent(p.share)))
    };
    list(&parts.iter().filter_map(relation).collect::<Vec<_>>())
}
