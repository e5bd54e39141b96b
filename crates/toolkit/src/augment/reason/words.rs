//! Guards and changed numbers as sentences without their full stop.

use sched_distill_core::{
    level::{FLAG, FeatureSet, FeatureSpec, LevelSpec, Scope},
    model::{Action, Change, Condition, Factor, Guard, Model, Operator, Place, Shape, Slot, Student, Term, Tree},
};

/// A number with three significant digits.
pub(super) fn number(value: f64) -> String {
    if value == 0.0 || !(1e-4..1e9).contains(&value.abs()) {
        return if value == 0.0 { "0".to_owned() } else { format!("{value:.2e}") };
    }
    let decimals = (2 - value.abs().log10().floor() as i32).max(0) as usize;
    let text = format!("{value:.decimals$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

/// A share as a percentage with at most one decimal.
pub(super) fn percent(share: f64) -> String {
    let text = format!("{:.1}", 100.0 * share);
    format!("{} %", text.strip_suffix(".0").unwrap_or(&text))
}

/// A value with its unit.
fn quantity(value: f64, feature: &FeatureSpec) -> String {
    match feature.unit.as_str() {
        "1" | "" => number(value),
        unit if unit == "ms" || unit.starts_with("ms·") => {
            let (scale, name) = match value.abs() {
                t if t < 1e3 => (1.0, "ms"),
                t if t < 120e3 => (1e3, "s"),
                t if t < 7200e3 => (60e3, "min"),
                _ => (3600e3, "h"),
            };
            format!("{} {name}{}", number(value / scale), &unit[2..])
        }
        unit => format!("{} {unit}", number(value)),
    }
}

/// A feature's name without what its scope says.
fn label(feature: &FeatureSpec) -> String {
    let name = feature.name.replace('_', " ");
    let suffix = match feature.scope {
        Scope::Absolute | Scope::Share => "",
        Scope::Rank => " rank",
        Scope::Ratio => " ratio",
    };
    name.strip_suffix(suffix).filter(|short| !short.is_empty()).unwrap_or(&name).to_owned()
}

/// ` (ready tasks: tasks that may start)`: what features mean, each once.
fn meanings(features: &[&FeatureSpec]) -> String {
    let mut said: Vec<String> = Vec::new();
    for feature in features {
        // What ranks and ratios are among is said by the sentence.
        let meaning = feature.meaning.split(": ").next().unwrap_or_default().trim_end_matches('.');
        let mut letters = meaning.chars();
        let Some(first) = letters.next() else { continue };
        let text = format!("{}: {}{}", label(feature), first.to_lowercase(), letters.as_str());
        if !said.contains(&text) {
            said.push(text);
        }
    }
    if said.is_empty() { String::new() } else { format!(" ({})", said.join("; ")) }
}

/// What the candidates of a level are called: one of them, and several.
fn entity(spec: Option<&LevelSpec>, level: &str) -> [String; 2] {
    let one = spec.and_then(|s| s.entities.last()).map_or(level, String::as_str);
    [one.to_owned(), format!("{one}s")]
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().collect::<String>() + letters.as_str())
}

/// `Jobs with fewer than 4 ready tasks come first (ready tasks: ...)`.
pub(super) fn guard(guard: &Guard, set: &FeatureSet) -> String {
    let spec = set.level(&guard.level);
    let [one, many] = entity(spec, &guard.level);
    let feature = |c: &Condition| spec.and_then(|s| s.features.iter().find(|f| f.name == c.feature));
    let conditions: Vec<String> = guard
        .when
        .iter()
        .map(|c| {
            feature(c).map_or_else(|| format!("{} {} {}", c.feature, c.operator.symbol(), c.value), |f| condition(c, f))
        })
        .collect();
    let does = match guard.action {
        Action::First => "come first".to_owned(),
        Action::Last => "come last".to_owned(),
        Action::Never => format!("are never taken while there is another {one}"),
    };
    let features: Vec<&FeatureSpec> = guard.when.iter().filter_map(feature).collect();
    format!("{} with {} {does}{}", capital(&many), conditions.join(" and "), meanings(&features))
}

/// `fewer than 4 ready tasks`, `age above 5 min`, `is source: yes`, `one of the 3 smallest values of remaining work`.
fn condition(c: &Condition, feature: &FeatureSpec) -> String {
    let (name, value) = (label(feature), f64::from(c.value));
    if feature.unit == FLAG {
        return match (c.operator.holds(1.0, c.value), c.operator.holds(0.0, c.value)) {
            (true, false) => format!("{name}: yes"),
            (false, true) => format!("{name}: no"),
            _ => format!("{name} {} {}", c.operator.symbol(), c.value),
        };
    }
    let below = matches!(c.operator, Operator::Below | Operator::AtMost);
    if feature.scope == Scope::Rank {
        // Ranks are whole and count from 0: below 3 are three of them, and so are those up to 2.
        let places = match c.operator {
            Operator::Below | Operator::AtLeast => value.ceil(),
            Operator::AtMost | Operator::Above => value.floor() + 1.0,
        };
        let among = if below { "one of" } else { "none of" };
        return match places {
            1.0 => format!("{} the smallest value of {name}", if below { "" } else { "not" }).trim_start().to_owned(),
            n => format!("{among} the {n} smallest values of {name}"),
        };
    }
    let amount = match feature.scope {
        Scope::Ratio => format!("{} times the smallest", number(value)),
        _ => quantity(value, feature),
    };
    // Things that are counted and named by what they are: `fewer than 4 ready tasks`.
    if feature.scope == Scope::Absolute && feature.whole && name.ends_with(feature.unit.as_str()) {
        let than = match c.operator {
            Operator::Below => "fewer than",
            Operator::AtMost => "at most",
            Operator::Above => "more than",
            Operator::AtLeast => "at least",
        };
        return format!("{than} {} {name}", number(value));
    }
    let than = match c.operator {
        Operator::Below => "below",
        Operator::AtMost => "at most",
        Operator::Above => "above",
        Operator::AtLeast => "at least",
    };
    format!("{name} {than} {amount}")
}

/// What a number that was changed does now that it did not do before.
pub(super) fn change(student: &Student, change: &Change) -> String {
    let plain = || format!("{} is {} instead of {}", change.place, number(change.now), number(change.was));
    let Ok(Place::Model { level, slot }) = student.place(&change.place) else { return plain() };
    let models = &student.levels[level];
    let spec = student.feature_set.level(&models.level);
    let Some(spec) = spec else { return plain() };
    let [one, many] = entity(Some(spec), &models.level);
    match (&models.scheduler().model, slot) {
        (Model::Additive(model), Slot::Feature { .. } | Slot::Term { .. }) => match model.term_at(slot) {
            Some(term) => coefficient(term, change, spec, [&one, &many]),
            None => plain(),
        },
        (Model::Tree(tree), Slot::Value { node }) => {
            let direction = if change.now > change.was { "earlier" } else { "later" };
            format!("{} {} come {direction} than before{}", capital(&many), path(tree, node, spec), worth(change))
        }
        (Model::Tree(tree), Slot::LeafTerm { node, column }) => match spec.features.get(column) {
            Some(feature) => {
                let more = if change.now > 0.0 { "more" } else { "less" };
                let (name, meaning) = (label(feature), meanings(&[feature]));
                format!("Among {many} {}, those with {more} {name} come first{meaning}", path(tree, node, spec))
            }
            None => plain(),
        },
        (Model::Tree(tree), Slot::Threshold { node }) => match spec.features.get(tree.feature[node] as usize) {
            Some(feature) => {
                let [was, now] = [change.was, change.now].map(|x| quantity(x, feature));
                let (name, meaning) = (label(feature), meanings(&[feature]));
                format!("The tree for {many} parts at {name} {now} instead of {was}{meaning}")
            }
            None => plain(),
        },
        _ => plain(),
    }
}

fn worth(change: &Change) -> String {
    format!(" (worth {} instead of {})", number(change.now), number(change.was))
}

/// `More ready tasks now puts a job forward, and did not count before (ready tasks: ...)`.
fn coefficient(term: &Term, change: &Change, spec: &LevelSpec, [one, many]: [&str; 2]) -> String {
    let Change { was, now, .. } = *change;
    let features: Vec<&FeatureSpec> =
        term.factors.iter().filter_map(|f| spec.features.get(f.feature as usize)).collect();
    let factors: Vec<String> = term.factors.iter().zip(&features).map(|(factor, f)| factor_words(factor, f)).collect();
    let what = factors.join(" times ");
    let puts = |coefficient: f64| if coefficient > 0.0 { "forward" } else { "back" };
    let meaning = meanings(&features);
    // Of a flag there is no more and no less.
    let flag = features.iter().all(|f| f.unit == FLAG);
    let more_of_it = if flag { "a yes" } else { "more of it" };
    match (was, now) {
        (0.0, _) => {
            format!("{} counts, which it did not: {more_of_it} puts a {one} {}{meaning}", capital(&what), puts(now))
        }
        (_, 0.0) => format!("{} no longer counts; {more_of_it} put a {one} {}{meaning}", capital(&what), puts(was)),
        _ if was.signum() != now.signum() => format!(
            "{} counts the other way round in the order of {many}: {more_of_it} puts a {one} {}, not {}{meaning}",
            capital(&what),
            puts(now),
            puts(was)
        ),
        _ => {
            let more = if now.abs() > was.abs() { "more" } else { "less" };
            let times = number(now / was);
            let what = capital(&what);
            format!("{what} counts {more}, {times} times what it did: {more_of_it} puts a {one} {}{meaning}", puts(now))
        }
    }
}

fn factor_words(factor: &Factor, feature: &FeatureSpec) -> String {
    let name = match feature.scope {
        Scope::Rank => format!("the rank of {}", label(feature)),
        Scope::Ratio => format!("{} against the smallest", label(feature)),
        Scope::Absolute | Scope::Share => label(feature),
    };
    let threshold = quantity(f64::from(factor.threshold.unwrap_or(0.0)), feature);
    match factor.shape {
        Shape::Linear => name,
        Shape::Log => format!("{name}, on a logarithmic scale,"),
        Shape::Above => format!("{name} above {threshold}"),
        Shape::Excess => format!("{name} beyond {threshold}"),
    }
}

/// `with age above 60 s and offered at most 4 executors`: the way to a leaf.
fn path(tree: &Tree, leaf: usize, spec: &LevelSpec) -> String {
    let mut conditions = Vec::new();
    let mut node = leaf;
    // A parent stands before its children.
    while let Some(parent) =
        (0..node).find(|&p| !tree.is_leaf(p) && [tree.left[p], tree.right[p]].contains(&(node as u32)))
    {
        let operator = if tree.left[parent] == node as u32 { Operator::AtMost } else { Operator::Above };
        if let Some(feature) = spec.features.get(tree.feature[parent] as usize) {
            let test = Condition { feature: feature.name.clone(), operator, value: tree.threshold[parent] };
            conditions.push(condition(&test, feature));
        }
        node = parent;
    }
    conditions.reverse();
    if conditions.is_empty() { "of all kinds".to_owned() } else { format!("with {}", conditions.join(" and ")) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sched_distill_core::model::{Additive, LevelModels, NamedModel, Provenance};
    use sched_distill_dag::feature::feature_set;

    fn said(text: &str) -> String {
        let set = feature_set();
        let sentence = guard(&Guard::parse(text, set).unwrap(), set);
        sentence.split(" (").next().unwrap_or_default().to_owned()
    }

    #[test]
    fn guards_are_sentences_for_operators() {
        assert_eq!(said("job: ready_tasks < 4 last"), "Jobs with fewer than 4 ready tasks come last");
        assert_eq!(said("job: age > 300s first"), "Jobs with age above 5 min come first");
        assert_eq!(said("job: is_source first"), "Jobs with is source: yes come first");
        assert_eq!(
            said("job: remaining_work_ratio <= 1.5 first"),
            "Jobs with remaining work at most 1.5 times the smallest come first"
        );
        assert_eq!(
            said("job: remaining_work_rank < 3 first"),
            "Jobs with one of the 3 smallest values of remaining work come first"
        );
        assert_eq!(
            said("job: remaining_work_rank <= 0 first"),
            "Jobs with the smallest value of remaining work come first"
        );
        assert_eq!(
            said("job: remaining_work_rank > 0 last"),
            "Jobs with not the smallest value of remaining work come last"
        );
        let cap = said("amount: held_after_of_fair_share > 1.5 never");
        assert_eq!(
            cap,
            "Amounts with held after of fair share above 1.5 are never taken while there is another amount"
        );
        let both = said("job: age > 60s and jobs_in_system > 3 first");
        assert_eq!(both, "Jobs with age above 60 s and jobs in system above 3 jobs come first");
    }

    fn of_job(model: Model) -> Student {
        let named = NamedModel { name: "m".to_owned(), temperature: 1.0, model };
        let level = LevelModels::new("job", "m", vec![named]);
        Student::new(feature_set().clone(), false, vec![level], Provenance::default())
    }

    fn column(name: &str) -> u32 {
        feature_set().levels[0].features.iter().position(|f| f.name == name).unwrap() as u32
    }

    #[test]
    fn coefficients_say_what_counts_more_less_or_no_longer() {
        let mut log = Term::linear(column("remaining_work"), -2.0, 1.0);
        log.factors[0].shape = Shape::Log;
        let terms =
            vec![Term::linear(column("ready_tasks"), 0.5, 1.0), log, Term::linear(column("is_source"), 1.0, 1.0)];
        let student = of_job(Model::Additive(Additive { intercept: 0.0, terms }));
        let said = |place: &str, was: f64, now: f64| {
            let sentence = change(&student, &Change { place: place.to_owned(), was, now });
            sentence.split(" (").next().unwrap_or_default().to_owned()
        };
        let tasks = "job.coefficient[ready_tasks]";
        assert_eq!(said(tasks, 0.0, 0.5), "Ready tasks counts, which it did not: more of it puts a job forward");
        assert_eq!(said(tasks, 0.5, 0.0), "Ready tasks no longer counts; more of it put a job forward");
        assert_eq!(
            said(tasks, 0.2, 0.5),
            "Ready tasks counts more, 2.5 times what it did: more of it puts a job forward"
        );
        assert_eq!(
            said(tasks, -1.0, -0.5),
            "Ready tasks counts less, 0.5 times what it did: more of it puts a job back"
        );
        let turned = said(tasks, -0.5, 0.5);
        assert_eq!(
            turned,
            "Ready tasks counts the other way round in the order of jobs: more of it puts a job forward, not back"
        );
        let log = said("job.term[1].coefficient", -1.0, -2.0);
        assert!(log.starts_with("Remaining work, on a logarithmic scale, counts more"), "{log}");
        let flag = said("job.coefficient[is_source]", 7.0, 10.5);
        assert_eq!(flag, "Is source counts more, 1.5 times what it did: a yes puts a job forward");
    }

    #[test]
    fn leaves_are_told_by_the_way_to_them() {
        let student = of_job(Model::Tree(Tree::stump(column("age"), 6e4, [0.25, 0.75])));
        let said = |place: &str, was: f64, now: f64| change(&student, &Change { place: place.to_owned(), was, now });
        let up = "Jobs with age at most 60 s come earlier than before (worth 0.8 instead of 0.25)";
        assert_eq!(said("job.node[1].value", 0.25, 0.8), up);
        assert!(said("job.node[2].value", 0.75, 0.2).starts_with("Jobs with age above 60 s come later"));
        let order = said("job.node[1].coefficient[remaining_work_rank]", 0.0, -5e-4);
        assert!(
            order.starts_with("Among jobs with age at most 60 s, those with less remaining work come first"),
            "{order}"
        );
        let parts = said("job.node[0].threshold", 6e4, 3e4);
        assert!(parts.starts_with("The tree for jobs parts at age 30 s instead of 60 s"), "{parts}");
        // What has no words of its own is said as it is.
        assert_eq!(said("guard[0].value", 1.0, 2.0), "guard[0].value is 2 instead of 1");
    }
}
