//! Guards, conditions and terms as parts of sentences.

use super::{Action, Condition, Factor, Guard, Operator, Shape, Term};
use crate::level::{FLAG, FeatureSpec, LevelSpec, NONE_FLAG, Phrases, Scope, base, quantity};

/// `a job with fewer than 4 tasks that can run now comes last`
#[must_use]
pub fn guard_in_words(guard: &Guard, level: &Phrases<'_>) -> String {
    let who = conditions_in_words(&guard.when, level);
    match guard.action {
        Action::First => format!("{who} comes first"),
        Action::Last => format!("{who} comes last"),
        Action::Never => format!("{who} is never taken while there is another {}", level.candidate()),
    }
}

/// `where there are more than 3 jobs in the cluster, a job with work left above 5 min`: a candidate that meets all conditions, after
/// those of what all candidates have in common.
#[must_use]
pub fn conditions_in_words(conditions: &[Condition], level: &Phrases<'_>) -> String {
    // What all candidates have in common tells none of them from the others: it says where.
    let (shared, own): (Vec<&Condition>, Vec<&Condition>) = conditions.iter().partition(|c| is_shared(c, level));
    let own: Vec<Condition> = own.into_iter().cloned().collect();
    let who = candidate_in_words(&own, level);
    let clauses: Vec<String> = shared.iter().map(|c| clause(c, level)).collect();
    if clauses.is_empty() { who } else { format!("where {}, {who}", clauses.join(" and ")) }
}

/// `a job that freed the executors itself and with work left above 5 min`: a candidate that meets all conditions.
#[must_use]
pub fn candidate_in_words(conditions: &[Condition], level: &Phrases<'_>) -> String {
    let (mut names, mut others) = (Vec::new(), Vec::new());
    for condition in conditions {
        match name(condition, level) {
            Some(name) => names.push(name),
            None => others.push(of_candidate(condition, level)),
        }
    }
    if names.is_empty() {
        let candidate = level.candidate();
        let article = if candidate.starts_with(['a', 'e', 'i', 'o', 'u']) { "an" } else { "a" };
        names.push(level.object().map_or_else(|| format!("{article} {candidate}"), str::to_owned));
    }
    let who = names.join(" and at once ");
    if others.is_empty() { who } else { format!("{who} {}", others.join(" and ")) }
}

fn is_shared(c: &Condition, level: &Phrases<'_>) -> bool {
    level.quantity(base(&c.feature)).is_some_and(|words| words.shared)
}

/// `the job runs already`, `time since its size changed is at most 82 s`, `there are fewer than 4 jobs that wait`
fn clause(c: &Condition, level: &Phrases<'_>) -> String {
    if let Some(yes) = level.feature(&c.feature).and_then(|feature| asks(c, feature)) {
        return level.relation(&c.feature, yes);
    }
    let words = of_candidate(c, level);
    if let Some(none) = words.strip_prefix("without ") {
        return format!("there are no {none}");
    }
    let bare = words.trim_start_matches("with ");
    match [" above ", " below ", " at most ", " at least "].iter().find_map(|than| bare.find(than)) {
        Some(at) => format!("{} is{}", &bare[..at], &bare[at..]),
        None => format!("there are {bare}"),
    }
}

/// Whether a condition on a flag asks for a yes or for a no; `None` if it asks for neither.
fn asks(c: &Condition, feature: &FeatureSpec) -> Option<bool> {
    let [yes, no] = [1.0, 0.0].map(|x| c.operator.holds(x, c.value));
    (feature.unit == FLAG && yes != no).then_some(yes)
}

/// What is so by itself, without the word for a candidate: `giving nothing`, `a worker alone`.
fn name(c: &Condition, level: &Phrases<'_>) -> Option<String> {
    let feature = level.feature(&c.feature)?;
    let yes = asks(c, feature)?;
    if c.feature == NONE_FLAG {
        let noun = level.noun(NONE_FLAG);
        return Some(if yes { noun } else { format!("anything but {noun}") });
    }
    level.object().is_none().then(|| level.relation(&c.feature, yes))
}

/// `that freed the executors itself`, `with fewer than 4 tasks that can run now`, `among the 3 with the least work left`
fn of_candidate(c: &Condition, level: &Phrases<'_>) -> String {
    let Some(feature) = level.feature(&c.feature) else {
        return format!("with {} {} {}", c.feature, c.operator.symbol(), c.value);
    };
    if let Some(yes) = asks(c, feature) {
        return level.relation(&c.feature, yes);
    }
    let (family, value) = (base(&c.feature), f64::from(c.value));
    let noun = level.noun(family);
    if feature.scope == Scope::Rank {
        return of_rank(c, level, family);
    }
    // Things that are counted and named by what they are: `fewer than 4 tasks that can run now`.
    let counted = noun.split(' ').any(|word| word == feature.unit);
    if feature.scope == Scope::Absolute && feature.whole && counted {
        match (c.operator, value) {
            (Operator::Above, 0.0) | (Operator::AtLeast, 1.0) => return format!("with {noun}"),
            (Operator::AtMost, 0.0) | (Operator::Below, 1.0) => return format!("without {noun}"),
            _ => {}
        }
        let than = match c.operator {
            Operator::Below => "fewer than",
            Operator::AtMost => "at most",
            Operator::Above => "more than",
            Operator::AtLeast => "at least",
        };
        return format!("with {than} {value} {noun}");
    }
    let than = match c.operator {
        Operator::Below => "below",
        Operator::AtMost => "at most",
        Operator::Above => "above",
        Operator::AtLeast => "at least",
    };
    let amount = match feature.scope {
        Scope::Ratio => format!("{} times the smallest", quantity(value, feature)),
        _ => quantity(value, feature),
    };
    let end = if noun.contains(", ") { "," } else { "" };
    format!("with {noun}{end} {than} {amount}")
}

/// Ranks are whole and count from 0: below 3 are three places, and so are those up to 2.
fn of_rank(c: &Condition, level: &Phrases<'_>, family: &str) -> String {
    let value = f64::from(c.value);
    let (among, places) = match c.operator {
        Operator::Below => (true, value.ceil()),
        Operator::AtMost => (true, value.floor() + 1.0),
        Operator::AtLeast => (false, value.ceil()),
        Operator::Above => (false, value.floor() + 1.0),
    };
    match (level.object().map(|_| level.extreme(family, false)), among, places == 1.0) {
        (Some(least), true, true) => least,
        (Some(least), false, true) => format!("other than the one {least}"),
        (Some(least), true, false) => format!("among the {places} {least}"),
        (Some(least), false, false) => format!("not among the {places} {least}"),
        (None, true, _) => format!("among the {places} smallest by {}", level.noun(family)),
        (None, false, _) => format!("not among the {places} smallest by {}", level.noun(family)),
    }
}

/// Whom a term of a sum speaks for or against, its coefficient being some number: `for a job with less work left (a bend at 5 min)`,
/// `against a job with work left above 5 min`. What is so or not, such as a step, is a condition; other factors grow.
#[must_use]
pub fn term_in_words(term: &Term, coefficient: f64, spec: &LevelSpec, level: &Phrases<'_>) -> String {
    let known = term.factors.iter().filter_map(|f| Some((f, spec.features.get(f.feature as usize)?)));
    let (is_so, grows): (Vec<_>, Vec<_>) = known.partition(|(f, feature)| {
        f.shape == Shape::Above || f.shape == Shape::Linear && feature.unit == FLAG && term.factors.len() > 1
    });
    if let ([], [(factor, feature)]) = (&is_so[..], &grows[..]) {
        return format!("for {}{}", candidate_with(feature, coefficient > 0.0, level), bend(factor, feature));
    }
    let side = if coefficient > 0.0 { "for" } else { "against" };
    let bounds = is_so.iter().map(|(f, feature)| bound(feature, Operator::Above, f.threshold.unwrap_or(0.5)));
    let bounds: Vec<Condition> = bounds.collect();
    let who = match bounds.is_empty() {
        true => format!("the {}", level.candidate()),
        false => conditions_in_words(&bounds, level),
    };
    let what = |(factor, feature): &(&Factor, &FeatureSpec)| {
        let noun = level.noun(base(&feature.name));
        let what = match feature.scope {
            Scope::Rank if !noun.starts_with("place ") => format!("place by {noun}"),
            Scope::Ratio => format!("ratio of {noun}"),
            _ => noun,
        };
        what + &bend(factor, feature)
    };
    match grows.iter().map(what).collect::<Vec<_>>().as_slice() {
        [] => format!("{side} {who}"),
        [one] => format!("{side} {who}, the more the larger the value of {one} is"),
        several => format!("{side} {who}, the more the larger the product of {} is", several.join(" and ")),
    }
}

/// A condition that a value lies above or below another one; of whole numbers that is one, too.
pub(super) fn bound(feature: &FeatureSpec, operator: Operator, value: f32) -> Condition {
    let whole = match operator {
        Operator::Above | Operator::AtMost => value.floor(),
        Operator::Below | Operator::AtLeast => value.ceil(),
    };
    Condition { feature: feature.name.clone(), operator, value: if feature.whole { whole } else { value } }
}

/// Where a factor begins to grow: ` (a bend at 5 min)`.
fn bend(factor: &Factor, feature: &FeatureSpec) -> String {
    if factor.shape != Shape::Excess {
        return String::new();
    }
    let threshold = quantity(f64::from(factor.threshold.unwrap_or(0.0)), feature);
    match feature.scope {
        Scope::Rank => format!(" (a bend at place {threshold})"),
        Scope::Ratio => format!(" (a bend at {threshold} times the smallest)"),
        Scope::Absolute | Scope::Share => format!(" (a bend at {threshold})"),
    }
}

/// A candidate with more of a feature's quantity, or less: `a job with less work left`.
#[must_use]
pub fn candidate_with(feature: &FeatureSpec, more: bool, level: &Phrases<'_>) -> String {
    let family = base(&feature.name);
    if family == NONE_FLAG {
        let noun = level.noun(family);
        return if more { noun } else { format!("anything but {noun}") };
    }
    let relation = level.relation(family, more);
    level.object().map_or_else(|| relation.clone(), |object| format!("{object} {relation}"))
}
