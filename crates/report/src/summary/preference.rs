//! What goes first at a level, and why?

use super::abstention;
use crate::{
    closest::best_rule,
    plain::{Plain, capital},
    words::{interval, list, percent},
};
use sched_distill_core::level::{ALL_KINDS, LevelSpec, NONE_FLAG};
use sched_distill_explain::{KindWeight, LevelExplanation, Tendency, Weight};
use sched_distill_judge::evaluator::{Estimate, FidelityRow};
use sched_distill_trace::KindSample;

/// Families that are named.
const NAMED: usize = 3;
/// The least agreement beyond doubt of a rule that is said to hold nearly always.
pub(crate) const NEARLY: f64 = 0.9;
/// The same of a rule that is said to hold mostly.
pub(crate) const MOSTLY: f64 = 0.75;
/// Directions say what is done only if the largest of them is at least this part of what moves scores.
const TELLING: f64 = 0.1;

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

    fn turns(&self) -> bool {
        self.tendency.is_some_and(|t| t.student.turn().is_some())
    }

    fn is_shared(&self) -> bool {
        self.tendency.is_some_and(|t| t.is_shared())
    }
}

/// What counts at a level on a kind of choice.
///
/// - One rule is always right: nothing else is said.
/// - A direction is that of the student's model. The sentence speaks of the scheduler where the teacher's choices go the same way
///   beyond doubt with the other families held, else of the student alone, and says so where the teacher's go the other way.
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
    let own = parts.iter().filter(|p| p.has_direction() && !p.is_shared());
    let (contrary, unclear): (Vec<&Part<'_>>, Vec<&Part<'_>>) =
        own.partition(|p| p.tendency.is_some_and(|t| t.is_contrary()));
    for (parts, but) in
        [(unclear, "which the teacher does not clearly do"), (contrary, "where the teacher goes the other way")]
    {
        if !parts.is_empty() {
            let relations = relations(&parts, name, plain);
            say(format!("the student {} {relations}, {but}.", plain.level(name).prefers()));
        }
    }
    let turns: Vec<&Part<'_>> = parts.iter().filter(|p| p.turns()).collect();
    if !turns.is_empty() {
        say(format!("the student {} {}.", plain.level(name).prefers(), relations(&turns, name, plain)));
    }
    if let Some((habit, right)) = nobody(level, kind, rows, plain) {
        say(format!("{habit} (right in {}).", interval(&right, percent)));
    }
    if let Some(when) = abstention::with_figures(level, kind, plain) {
        say(when);
    }
    let rest: Vec<&Part<'_>> = parts.iter().filter(|p| !p.has_direction() && !p.turns()).collect();
    if !rest.is_empty() {
        let noun = |p: &&Part<'_>| format!("{} ({})", plain.level(name).noun(&p.family.name), percent(p.share));
        let nouns = list(&rest.iter().map(noun).collect::<Vec<_>>());
        match rest.iter().all(|p| p.tendency.is_some()) {
            true => say(format!("what matters to the student, but not one way only: {nouns}.")),
            false => say(format!("what matters most to the student: {nouns}.")),
        }
    }
    let others = level.sample.iter().filter(|k| k.choices > 0 && k.kind != kind);
    let simple: Vec<_> = others.filter_map(|k| simple_rule(level, &k.kind, rows, plain, MOSTLY)).collect();
    let simple = simple.iter().map(|(habit, right)| format!("{habit} (right in {}).", interval(right, percent)));
    let when = level.sample.iter().filter(|k| k.choices > 0 && k.kind != kind).filter_map(|k| {
        let when = abstention::with_figures(level, &k.kind, plain)?;
        Some(capital(&format!("{}{when}", plain.place(&k.kind, several))))
    });
    let said: Vec<String> = simple.chain(when).chain(said).collect();
    (!said.is_empty()).then(|| format!("{question} {}", said.join(" ")))
}

/// What is done on a kind of choice, in a sentence without figures.
pub(crate) struct Habit<'a> {
    /// The kind; all of them where the level is settled whatever the kind.
    pub(crate) kind: &'a str,
    pub(crate) text: String,
}

/// What is done at a level: on the other kinds first, then on `kind`.
pub(crate) fn habits<'a>(
    level: &'a LevelExplanation,
    kind: &'a str,
    rows: &[FidelityRow],
    plain: Plain<'_>,
) -> Vec<Habit<'a>> {
    if let Some(text) = plain.settled_habit(&level.level, rows) {
        return vec![Habit { kind: ALL_KINDS, text }];
    }
    let several = level.sample.iter().filter(|k| k.choices > 0).count() > 1;
    let placed = |kind: &str, habit: String| capital(&format!("{}{habit}", plain.place(kind, several)));
    let rule = |kind: &str| simple_rule(level, kind, rows, plain, MOSTLY).map(|(habit, _)| format!("{habit}."));
    let when = |kind: &str| abstention::habit(level, kind, plain).map(|when| placed(kind, when));
    let of_other = |k: &'a KindSample| {
        let text = when(&k.kind).or_else(|| rule(&k.kind)).or_else(|| directions(level, &k.kind, plain))?;
        Some(Habit { kind: &k.kind, text })
    };
    let when = when(kind).or_else(|| Some(placed(kind, nobody(level, kind, rows, plain)?.0) + "."));
    // Of ways to do something, what is mostly taken says more than what speaks for and against each.
    let of_ways = plain.level(&level.level).object().is_none() && !is_amount(level, plain);
    let (directed, rule) = (directions(level, kind, plain), rule(kind));
    let of_kind =
        if of_ways { rule.or(directed) } else { directed.or(rule) }.filter(|said| when.as_ref() != Some(said));
    let others = level.sample.iter().filter(|k| k.choices > 0 && k.kind != kind);
    others.filter_map(of_other).chain(when.into_iter().chain(of_kind).map(|text| Habit { kind, text })).collect()
}

fn is_amount(level: &LevelExplanation, plain: Plain<'_>) -> bool {
    plain.features.level(&level.level).is_some_and(LevelSpec::is_amount)
}

/// What is preferred on a kind of choice; nothing where what has a direction hardly matters.
fn directions(level: &LevelExplanation, kind: &str, plain: Plain<'_>) -> Option<String> {
    let name = &level.level;
    let parts = parts(level, kind);
    let telling = |parts: &[&Part<'_>]| parts.iter().any(|p| p.share >= TELLING);
    let shared: Vec<&Part<'_>> = parts.iter().filter(|p| p.is_shared()).collect();
    let own: Vec<&Part<'_>> = parts.iter().filter(|p| p.has_direction()).collect();
    let (who, parts) = match (telling(&shared), telling(&own)) {
        (true, _) => ("it", shared),
        (false, true) => ("the student", own),
        (false, false) => return None,
    };
    let directions: Vec<String> =
        parts.iter().filter_map(|p| plain.direction(name, &p.family.name, p.tendency?.student)).collect();
    let place = plain.place(kind, level.sample.iter().filter(|k| k.choices > 0).count() > 1);
    (!directions.is_empty()).then(|| {
        format!("{}.", capital(&format!("{place}{who} {} {}", plain.level(name).prefers(), list(&directions))))
    })
}

/// The family that matters most on a kind of choice, and its part in all that moves scores.
pub(crate) fn most_important<'a>(level: &'a LevelExplanation, kind: &str) -> Option<(&'a str, f64)> {
    parts(level, kind).first().map(|part| (part.family.name.as_str(), part.share))
}

/// The families that matter most on a kind of choice. Giving nothing is none: what speaks for it as such says not whether it is done.
fn parts<'a>(level: &'a LevelExplanation, kind: &str) -> Vec<Part<'a>> {
    let of = |f: &'a Weight| f.by_kind.iter().find(|k| k.kind == kind);
    let quantities = level.families.iter().filter(|f| f.name != NONE_FLAG);
    let mut found: Vec<(&Weight, &KindWeight)> =
        quantities.filter_map(|f| Some((f, of(f)?))).filter(|(_, k)| k.share > 0.0).collect();
    let total: f64 = found.iter().map(|(_, k)| k.share).sum();
    found.sort_by(|a, b| b.1.share.total_cmp(&a.1.share));
    let part = |(family, k): &(&'a Weight, &KindWeight)| Part { family, tendency: k.tendency, share: k.share / total };
    found.iter().take(NAMED).map(part).collect()
}

/// What is taken on a kind of choice where a rule on one feature is right in at least that share of the choices beyond doubt.
fn simple_rule(
    level: &LevelExplanation,
    kind: &str,
    rows: &[FidelityRow],
    plain: Plain<'_>,
    least: f64,
) -> Option<(String, Estimate)> {
    let (habit, rule) = rule_habit(level, kind, rows, plain, least)?;
    let place = plain.place(kind, level.sample.iter().filter(|k| k.choices > 0).count() > 1);
    Some((capital(&format!("{place}{habit}")), rule.top1))
}

/// That nobody, or always somebody, is taken on a kind of choice, where that is so in most of them: whom one takes says nothing of
/// whether one takes anybody.
fn nobody(level: &LevelExplanation, kind: &str, rows: &[FidelityRow], plain: Plain<'_>) -> Option<(String, Estimate)> {
    let (habit, rule) = rule_habit(level, kind, rows, plain, MOSTLY)?;
    rule.scorer.ends_with(NONE_FLAG).then_some((habit, rule.top1))
}

/// `it nearly always picks the job with the least work left`, and the rule that says so.
fn rule_habit<'r>(
    level: &LevelExplanation,
    kind: &str,
    rows: &'r [FidelityRow],
    plain: Plain<'_>,
    least: f64,
) -> Option<(String, &'r FidelityRow)> {
    let of_level: Vec<&FidelityRow> = rows.iter().filter(|r| r.level == level.level).collect();
    let rule = best_rule(&of_level, kind).filter(|r| r.top1.low >= least)?;
    let takes = plain.rule_extreme(&level.level, &rule.scorer)?;
    let (how, executed) = match rule.top1.low {
        1.0 => ("always", NEARLY),
        low if low >= NEARLY => ("nearly always", NEARLY),
        _ => ("mostly", MOSTLY),
    };
    Some((plain.habit(&level.level, &[rule], &takes, how, executed), rule))
}

/// `with less work left (52 %) and with more tasks (9 %)`
fn relations(parts: &[&Part<'_>], level: &str, plain: Plain<'_>) -> String {
    let relation = |p: &&Part<'_>| {
        let direction = p.tendency.and_then(|t| plain.direction(level, &p.family.name, t.student));
        direction.map(|words| format!("{words} ({})", percent(p.share)))
    };
    list(&parts.iter().filter_map(relation).collect::<Vec<_>>())
}
