//! Rules as text: guards as sentences, then one line per leaf or term, the tests on a feature merged into one interval. Behind each line the
//! same stands in the words of the scenario.

use super::{
    columns_are_formed, described, kind, number32, origin, percent,
    piece::{Form, PAIRS, Piece, Role},
    plain, rounded, rows, sum,
};
use crate::{
    level::{LevelSpec, Phrases, Words, capital, first_max, typed},
    model::{
        self, Additive, Operator, Place, Student, Term, Tree, conditions_in_words, guard_in_words, phrase::bound,
        term_in_words,
    },
};
use std::{collections::BTreeMap, fmt::Write as _};

pub(super) fn export(student: &Student, pieces: &[Piece<'_>], words: &Words) -> String {
    let mut text = String::new();
    text.extend(origin(student).iter().map(|line| format!("# {line}\n")));
    let has_guards = guards(student, pieces, words, &mut text);
    text += if has_guards { "\n" } else { "#\n" };
    text += "# One line per leaf; exactly one of a model's lines holds for a row. Values are compared as 32-bit floats.\n\
             # A missing value meets a condition only where it says `or missing`.\n\
             # Figures are rounded to 4 digits, thresholds are not; in the words behind them they are, to 3 digits.\n\
             # The exports json, c, rust and onnx are exact.\n#\n";
    text.extend(columns_are_formed().iter().map(|line| format!("# {line}\n")));
    for piece in pieces {
        let Piece { spec, name, temperature, taken, .. } = piece;
        let temperature = rounded(*temperature);
        let phrases = words.phrases(&student.feature_set, &spec.name);
        text += &format!("\nlevel {}: {}\n", word(&spec.name), plain(&spec.question));
        match &piece.form {
            Form::Tree(tree) => {
                let kind = match tree.outputs {
                    _ if piece.role == Role::Pair => format!("{PAIRS}; {taken}; temperature {temperature}"),
                    1 => {
                        format!("score per candidate, {taken}; temperature {temperature}")
                    }
                    n => format!("{n} outputs, the largest is the class, the first of equals"),
                };
                text += &format!("model {}: tree of {} leaves; {kind}\n", word(name), tree.leaves());
                text.extend(described(piece).iter().map(|line| format!("# {line}\n")));
                // The columns of a pair have no words.
                leaves(tree, spec, (piece.role != Role::Pair).then_some(&phrases), &mut text);
            }
            Form::Additive(additive) => {
                text += &format!(
                    "model {}: {} per candidate, {taken}; temperature {temperature}\n",
                    word(name),
                    kind(additive, spec)
                );
                text.extend(described(piece).iter().map(|line| format!("# {line}\n")));
                terms(additive, piece, student, &phrases, &mut text);
            }
        }
    }
    text
}

/// The guards of the levels that are exported, in their order; whether there are any.
fn guards(student: &Student, pieces: &[Piece<'_>], words: &Words, text: &mut String) -> bool {
    let exported = |level: &str| pieces.iter().any(|piece| piece.spec.name == level);
    let guards = student.guards.iter().enumerate().filter(|(_, guard)| exported(&guard.level));
    let sentences = guards.map(|(i, guard)| {
        let sentence = guard_in_words(guard, &words.phrases(&student.feature_set, &guard.level));
        // As `distill patch` calls it.
        format!("{} # guard[{i}] {}", plain(&typed(&capital(&sentence))), plain(&guard.to_string()))
    });
    let sentences: Vec<String> = sentences.collect();
    if !sentences.is_empty() {
        *text += "\nRules above all scores, one after the other. Who is out stays out, but somebody is always left.\n";
    }
    text.extend(sentences.iter().enumerate().map(|(i, sentence)| format!("{}. {sentence}\n", i + 1)));
    !sentences.is_empty()
}

/// What a path asks of one feature.
#[derive(Clone, Copy)]
struct Condition {
    above: Option<f32>,
    at_most: Option<f32>,
    /// Whether a missing value takes the path.
    missing: bool,
}

fn leaves(tree: &Tree, spec: &LevelSpec, phrases: Option<&Phrases<'_>>, text: &mut String) {
    let mut stack = vec![(0, BTreeMap::<u32, Condition>::new())];
    while let Some((node, path)) = stack.pop() {
        if tree.is_leaf(node) {
            let conditions: Vec<String> =
                path.iter().map(|(&f, c)| condition(*c, &spec.features[f as usize].name)).collect();
            let when = match conditions.is_empty() {
                true => "always".to_owned(),
                false => format!("if {} then", conditions.join(" and ")),
            };
            let (weight, rows) = (percent(tree.weight[node], tree.weight[0]), rows(tree.n_samples[node]));
            let whom = phrases.and_then(|phrases| whom(&path, spec, phrases)).unwrap_or_default();
            let then = outcome(tree, node, spec, rounded);
            // Writing to a string cannot fail.
            let _ = writeln!(text, "leaf {node}: {when} {then} # {whom}weight {weight}, {rows}");
            continue;
        }
        let (feature, threshold) = (tree.feature[node], tree.threshold[node]);
        let before = path.get(&feature).copied().unwrap_or(Condition { above: None, at_most: None, missing: true });
        let mut side = |child: u32, left: bool| {
            let mut c = before;
            c.missing &= tree.default_left[node] == left;
            match left {
                true => c.at_most = Some(c.at_most.map_or(threshold, |t| t.min(threshold))),
                false => c.above = Some(c.above.map_or(threshold, |t| t.max(threshold))),
            }
            let mut path = path.clone();
            path.insert(feature, c);
            stack.push((child as usize, path));
        };
        side(tree.right[node], false);
        side(tree.left[node], true);
    }
}

/// Who comes to a leaf, but for missing values: `a job with work left above 5 min; `. `None` where that is everybody.
fn whom(path: &BTreeMap<u32, Condition>, spec: &LevelSpec, phrases: &Phrases<'_>) -> Option<String> {
    let bounds = path.iter().flat_map(|(&feature, c)| {
        let feature = &spec.features[feature as usize];
        let above = c.above.map(|value| bound(feature, Operator::Above, value));
        above.into_iter().chain(c.at_most.map(|value| bound(feature, Operator::AtMost, value)))
    });
    let bounds: Vec<model::Condition> = bounds.collect();
    let said = || plain(&typed(&conditions_in_words(&bounds, phrases))) + "; ";
    (!bounds.is_empty()).then(said)
}

fn condition(c: Condition, name: &str) -> String {
    let name = word(name);
    let interval = match (c.above.map(number32), c.at_most.map(number32)) {
        (Some(above), Some(at_most)) => format!("{above} < {name} <= {at_most}"),
        (Some(above), None) => format!("{name} > {above}"),
        (None, Some(at_most)) => format!("{name} <= {at_most}"),
        (None, None) => name,
    };
    if c.missing { format!("({interval} or missing)") } else { interval }
}

/// What a leaf says, its figures written as `write` does.
pub(super) fn outcome(tree: &Tree, leaf: usize, spec: &LevelSpec, write: fn(f64) -> String) -> String {
    match (&tree.linear, tree.node_value(leaf)) {
        (Some(linear), _) => format!("score {}", sum(linear.intercept[leaf], linear.terms(leaf), spec, write)),
        (None, [score]) => format!("score {}", write(*score)),
        (None, outputs) => {
            let list: Vec<String> = outputs.iter().map(|&v| write(v)).collect();
            format!("class {}, outputs {}", first_max(outputs.iter().copied()), list.join(" "))
        }
    }
}

fn terms(additive: &Additive, piece: &Piece<'_>, student: &Student, phrases: &Phrases<'_>, text: &mut String) {
    let spec = &*piece.spec;
    if !additive.terms.iter().all(Term::is_linear) {
        *text += "# [a > b] is 1 where that holds, else 0; (a - b)+ is a - b where that is positive, else 0\n";
    }
    // The other models of a level have no places.
    let level = student.levels.iter().position(|l| l.level == spec.name && l.used == piece.name);
    if level.is_some() {
        *text += "# behind each term: whom it speaks for or against, and the place of its coefficient, as `distill patch --set PLACE=VALUE` takes it\n";
    }
    *text += &format!("score = {}\n", rounded(additive.intercept));
    for (i, term) in additive.terms.iter().enumerate().filter(|(_, term)| term.coefficient != 0.0) {
        let (sign, size) = (if term.coefficient < 0.0 { '-' } else { '+' }, rounded(term.coefficient.abs()));
        let words = term.factors.iter().map(|f| f.words(&word(&spec.features[f.feature as usize].name)));
        let (words, unit) = (words.collect::<Vec<_>>().join(" * "), plain(&term.unit(spec)));
        let place = level.map(|level| student.place_name(&Place::Model { level, slot: additive.slot(i) }));
        let place = place.map(|place| plain(&place) + "; ").unwrap_or_default();
        let moved = rounded(term.coefficient * term.sd);
        let speaks = plain(&typed(&term_in_words(term, term.coefficient, spec, phrases)));
        *text +=
            &format!("  {sign} {size} * {words} # {speaks}; {place}{unit}; one deviation moves the score by {moved}\n");
    }
    match additive.terms.iter().filter(|term| term.coefficient == 0.0).count() {
        0 => {}
        1 => *text += "# 1 term of coefficient 0 is left out\n",
        n => *text += &format!("# {n} terms of coefficient 0 are left out\n"),
    }
}

/// A name as it is, or in quotes where it could be misread.
pub(super) fn word(name: &str) -> String {
    let simple = name.chars().all(|c| c.is_alphanumeric() || "_.-/".contains(c));
    match simple && name.starts_with(|c: char| c.is_alphabetic() || c == '_') {
        true => name.to_owned(),
        false => format!("{:?}", plain(name)),
    }
}

#[cfg(test)]
mod tests {
    use super::super::{export_rules, parts};
    use super::*;
    use crate::{
        model::{Factor, Guard, LEAF, LevelModels, Model, NamedModel, Provenance, Shape},
        testing::{feature_set, words},
    };

    fn column(name: &str) -> u32 {
        feature_set().level("job").unwrap().features.iter().position(|f| f.name == name).unwrap() as u32
    }

    /// A student with a model at level job and a leaf at level stage.
    fn student(model: Model) -> Student {
        let of = |level: &str, model: Model| {
            LevelModels::new(level, "model", vec![NamedModel { name: "model".to_owned(), temperature: 0.5, model }])
        };
        let levels = vec![of("job", model), of("stage", Model::Tree(Tree::leaf(0.5, 0.0, 1, 1.0)))];
        Student::new(feature_set().clone(), false, levels, Provenance::default())
    }

    fn exported(student: &Student, level: &str) -> String {
        export_rules(student, &parts(student, Some(level), None).unwrap(), &words()).unwrap()
    }

    #[test]
    fn rules_have_figures_that_can_be_read_and_a_place_for_every_term() {
        let [age, offered] = ["age", "offered"].map(column);
        let factor = |feature, shape, threshold| Factor { feature, shape, threshold };
        let bent = |c, factors| Term { factors, ..Term::linear(0, c, 2.0) };
        let log = factor(offered, Shape::Log, None);
        let step = factor(age, Shape::Above, Some(0.123_456_7));
        let terms = vec![
            Term::linear(age, 0.946_438_709_349_150_9, 2.0),
            Term::linear(offered, 0.0, 1.0),
            bent(-123_456.789, vec![log]),
            bent(1.0 / 3.0, vec![log, step]),
        ];
        let text = exported(&student(Model::Additive(Additive { intercept: 0.0, terms })), "job");
        for line in [
            "# Figures are rounded to 4 digits, thresholds are not; in the words behind them they are, to 3 digits.",
            "# The exports json, c, rust and onnx are exact.",
            "  + 0.9464 * age # for a job that arrived earlier; job.coefficient[age]; ms; one deviation moves the score by 1.893",
            "  - 123500 * ln(1 + offered) # for a job when fewer executors are on offer; job.term[2].coefficient; 1; one deviation moves the score by -246900",
            "  + 0.3333 * ln(1 + offered) * [age > 0.1234567] # for a job with time since it arrived above 0.123 ms, the \
             more the larger the value of executors on offer is; job.term[3].coefficient; 1; one deviation moves the score by 0.6667",
            "# 1 term of coefficient 0 is left out",
        ] {
            assert!(text.lines().any(|l| l == line), "{line} not in {text}");
        }
        assert!(!text.contains("0 * offered"), "{text}");
    }

    #[test]
    fn guards_are_sentences_before_everything_else() {
        let mut student = student(Model::Tree(Tree::leaf(0.5, 0.0, 1, 1.0)));
        for guard in ["job: age > 300s first", "stage: remaining_tasks > 2 never", "job: ready_tasks < 4 last"] {
            student.guards.push(Guard::parse(guard, feature_set()).unwrap());
        }
        let text = export_rules(&student, &parts(&student, None, None).unwrap(), &words()).unwrap();
        let after_origin: Vec<&str> = text.lines().skip_while(|line| line.starts_with("# ")).collect();
        assert_eq!(
            after_origin[..6],
            [
                "",
                "Rules above all scores, one after the other. Who is out stays out, but somebody is always left.",
                "1. A job with time since it arrived above 5 min comes first # guard[0] job: age > 300000 first",
                "2. A stage with more than 2 tasks left is never taken while there is another stage # guard[1] stage: \
                 remaining_tasks > 2 never",
                "3. A job with fewer than 4 tasks that can run now comes last # guard[2] job: ready_tasks < 4 last",
                "",
            ]
        );
        // They leave with their level.
        let stage = exported(&student, "stage");
        assert!(
            stage.contains("\n1. A stage with more than 2 tasks")
                && !stage.contains("A job")
                && !stage.contains("\n2. ")
        );
        student.guards.clear();
        assert!(!exported(&student, "job").contains("Rules above"));
    }

    #[test]
    fn a_term_says_whom_it_is_for_as_people_say_it() {
        let [age, work, work_rank] = ["age", "remaining_work", "remaining_work_rank"].map(column);
        let [source, held, held_rank] = ["is_source", "executors_held", "executors_held_rank"].map(column);
        let factor = |feature, shape, threshold| Factor { feature, shape, threshold };
        let of = |coefficient, factors: Vec<Factor>| Term { factors, ..Term::linear(0, coefficient, 0.0) };
        let step = factor(age, Shape::Above, Some(500_000.0));
        let terms = vec![
            of(-2.0, vec![factor(work, Shape::Excess, Some(90_500.0))]),
            of(1.0, vec![step]),
            of(-0.5, vec![step, factor(work, Shape::Linear, None)]),
            of(3.0, vec![factor(source, Shape::Linear, None), factor(held, Shape::Above, Some(1.5))]),
            of(-4.0, vec![factor(held_rank, Shape::Above, Some(0.5))]),
            of(5.0, vec![factor(age, Shape::Linear, None), factor(work_rank, Shape::Linear, None)]),
        ];
        let text = exported(&student(Model::Additive(Additive { intercept: 0.0, terms })), "job");
        for line in [
            "  - 2 * (remaining_work - 90500)+ # for a job with less work left (a bend at 90.5 s); job.term[0]",
            "  + 1 * [age > 500000] # for a job with time since it arrived above 8.33 min; job.term[1]",
            "  - 0.5 * [age > 500000] * remaining_work # against a job with time since it arrived above 8.33 min, the \
             more the larger the value of work left is; job.term[2]",
            "  + 3 * is_source * [executors_held > 1.5] # for a job that freed the executors itself and with more than 1 executors held; job.term[3]",
            "  - 4 * [executors_held_rank > 0.5] # against a job other than the one that holds the fewest executors; job.term[4]",
            "  + 5 * age * remaining_work_rank # for the job, the more the larger the product of time since it arrived and place \
             by work left is; job.",
        ] {
            assert!(text.lines().any(|l| l.starts_with(line)), "{line} not in {text}");
        }
    }

    #[test]
    fn a_leaf_says_who_comes_to_it() {
        let mut tree = Tree::empty(1);
        tree.push_test(column("remaining_work_ratio"), 1.8, [1, 2], true);
        tree.push_test(column("ready_tasks"), 3.5, [3, 4], false);
        (0..3).for_each(|_| tree.push_test(0, 0.0, [LEAF; 2], true));
        (tree.value, tree.impurity) = (vec![0.5, 0.25, 0.75, 1.0, 2.0], vec![0.0; 5]);
        (tree.n_samples, tree.weight) = (vec![4, 3, 1, 1, 2], vec![4.0, 3.0, 1.0, 1.0, 2.0]);
        let text = exported(&student(Model::Tree(tree)), "job");
        for (leaf, who) in [
            (2, "a job with work left above 1.8 times the smallest; weight 25 %"),
            // Of whole numbers 3.5 is 3.
            (
                3,
                "a job with work left at most 1.8 times the smallest and with at most 3 tasks that can run now; weight 25 %",
            ),
            (
                4,
                "a job with work left at most 1.8 times the smallest and with more than 3 tasks that can run now; weight 50 %",
            ),
        ] {
            let line = text.lines().find(|line| line.starts_with(&format!("leaf {leaf}: "))).unwrap();
            assert!(line.split(" # ").nth(1).unwrap().starts_with(who), "{line}");
        }
    }
}
