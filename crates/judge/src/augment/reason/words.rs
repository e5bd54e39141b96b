//! Edits in words, without the full stop of a sentence.

use sched_distill_core::{
    level::{LevelSpec, Phrases, Words, base, capital, number, quantity, typed},
    model::{
        Change, Condition, Guard, Model, Operator, Place, Slot, Student, Term, Tree, candidate_in_words,
        candidate_with, guard_in_words, term_in_words,
    },
};

/// A share as a percentage with at most one decimal.
pub(super) fn percent(share: f64) -> String {
    let text = format!("{:.1}", 100.0 * share);
    format!("{} %", text.strip_suffix(".0").unwrap_or(&text))
}

/// `A job with fewer than 4 tasks that can run now comes first`
pub(super) fn guard(student: &Student, guard: &Guard, words: &Words) -> String {
    typed(&capital(&guard_in_words(guard, &words.phrases(&student.feature_set, &guard.level))))
}

/// What a number that was changed does now that it did not do before.
pub(super) fn change(student: &Student, change: &Change, words: &Words) -> String {
    typed(&changed(student, change, words))
}

fn changed(student: &Student, change: &Change, words: &Words) -> String {
    let plain = || format!("{} is {} instead of {}", change.place, number(change.now), number(change.was));
    let Ok(Place::Model { level, slot }) = student.place(&change.place) else { return plain() };
    let models = &student.levels[level];
    let Some(spec) = student.feature_set.level(&models.level) else { return plain() };
    let level = words.phrases(&student.feature_set, &models.level);
    match (&models.scheduler().model, slot) {
        (Model::Additive(model), Slot::Feature { .. } | Slot::Term { .. }) => {
            model.term_at(slot).map_or_else(plain, |term| coefficient(term, change, spec, &level))
        }
        (Model::Tree(tree), Slot::Value { node }) => {
            let direction = if change.now > change.was { "earlier" } else { "later" };
            let (now, was) = (number(change.now), number(change.was));
            format!(
                "{} comes {direction} than before (worth {now} instead of {was})",
                capital(&at(tree, node, spec, &level))
            )
        }
        (Model::Tree(tree), Slot::LeafTerm { node, column }) => {
            spec.features.get(column).map_or_else(plain, |feature| {
                let preferred = candidate_with(feature, change.now > 0.0, &level);
                format!("Of several that are each {}, {preferred} comes first", at(tree, node, spec, &level))
            })
        }
        (Model::Tree(tree), Slot::Threshold { node }) => match spec.features.get(tree.feature[node] as usize) {
            Some(feature) => {
                let [was, now] = [change.was, change.now].map(|x| quantity(x, feature));
                format!(
                    "The tree of level {} parts at {}: {now} instead of {was}",
                    models.level,
                    level.noun(base(&feature.name))
                )
            }
            None => plain(),
        },
        _ => plain(),
    }
}

/// `A new term speaks for a job with more tasks that can run now`
fn coefficient(term: &Term, change: &Change, spec: &LevelSpec, level: &Phrases<'_>) -> String {
    let Change { was, now, .. } = *change;
    let speaks = |coefficient: f64| term_in_words(term, coefficient, spec, level);
    match (was, now) {
        (0.0, _) => format!("A new term speaks {}", speaks(now)),
        (_, 0.0) => format!("A term is gone that spoke {}", speaks(was)),
        _ if was.signum() != now.signum() => {
            format!("A term speaks {}, and spoke for the opposite before", speaks(now))
        }
        _ => {
            let more = if now.abs() > was.abs() { "more" } else { "less" };
            format!("The term that speaks {} counts {more}: {} times as much as before", speaks(now), number(now / was))
        }
    }
}

/// `a job with time since it arrived above 60 s`: what comes to a leaf.
fn at(tree: &Tree, leaf: usize, spec: &LevelSpec, level: &Phrases<'_>) -> String {
    let mut conditions = Vec::new();
    let mut node = leaf;
    // A parent stands before its children.
    while let Some(parent) =
        (0..node).find(|&p| !tree.is_leaf(p) && [tree.left[p], tree.right[p]].contains(&(node as u32)))
    {
        let operator = if tree.left[parent] == node as u32 { Operator::AtMost } else { Operator::Above };
        if let Some(feature) = spec.features.get(tree.feature[parent] as usize) {
            conditions.push(Condition { feature: feature.name.clone(), operator, value: tree.threshold[parent] });
        }
        node = parent;
    }
    conditions.reverse();
    candidate_in_words(&conditions, level)
}

#[cfg(test)]
mod tests {
    use super::*;
    use sched_distill_core::model::{Additive, Factor, LevelModels, NamedModel, Provenance, Shape};
    use sched_distill_dag::feature::{feature_set, words};

    fn said(text: &str) -> String {
        let student = Student::new(feature_set().clone(), false, Vec::new(), Provenance::default());
        guard(&student, &Guard::parse(text, feature_set()).unwrap(), &words())
    }

    #[test]
    fn guards_are_sentences_for_operators() {
        for (text, sentence) in [
            ("job: ready_tasks < 4 last", "A job with fewer than 4 tasks that can run now comes last"),
            ("job: ready_tasks < 1 last", "A job without tasks that can run now comes last"),
            ("job: age > 300s first", "A job with time since it arrived above 5 min comes first"),
            ("job: is_source first", "A job that freed the executors itself comes first"),
            ("job: is_source < 1 last", "A job that did not free the executors comes last"),
            (
                "job: remaining_work_ratio <= 1.5 first",
                "A job with work left at most 1.5 times the smallest comes first",
            ),
            ("job: remaining_work_rank < 3 first", "A job among the 3 with the least work left comes first"),
            ("job: remaining_work_rank <= 0 first", "A job with the least work left comes first"),
            ("job: remaining_work_rank > 0 last", "A job other than the one with the least work left comes last"),
            (
                "job: age > 60s and jobs_in_system > 3 first",
                "A job with time since it arrived above 60 s and with more than 3 jobs in the cluster comes first",
            ),
            (
                "amount: held_after_of_fair_share > 1.5 never",
                "An amount with executors held then, against a fair share, above 150 % is never taken while there is another \
                 amount",
            ),
        ] {
            assert_eq!(said(text), sentence);
        }
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
        let mut bend = Term::linear(column("remaining_work"), -2.0, 1.0);
        (bend.factors[0].shape, bend.factors[0].threshold) = (Shape::Excess, Some(6e4));
        let mut product = Term::linear(column("ready_tasks"), -0.1, 1.0);
        product.factors.push(Factor { feature: column("age"), ..product.factors[0] });
        let source = Term::linear(column("is_source"), 1.0, 1.0);
        let mut step = bend.clone();
        step.factors[0].shape = Shape::Above;
        let terms = vec![Term::linear(column("ready_tasks"), 0.5, 1.0), bend, source, product, step];
        let student = of_job(Model::Additive(Additive { intercept: 0.0, terms }));
        let said =
            |place: &str, was: f64, now: f64| change(&student, &Change { place: place.to_owned(), was, now }, &words());
        let tasks = "job.coefficient[ready_tasks]";
        let more = "a job with more tasks that can run now";
        assert_eq!(said(tasks, 0.0, 0.5), format!("A new term speaks for {more}"));
        assert_eq!(said(tasks, 0.5, 0.0), format!("A term is gone that spoke for {more}"));
        assert_eq!(
            said(tasks, 0.2, 0.5),
            format!("The term that speaks for {more} counts more: 2.5 times as much as before")
        );
        assert_eq!(
            said(tasks, -1.0, -0.5),
            "The term that speaks for a job with fewer tasks that can run now counts less: 0.5 times as much as before"
        );
        assert_eq!(said(tasks, -0.5, 0.5), format!("A term speaks for {more}, and spoke for the opposite before"));
        assert_eq!(
            said("job.term[1].coefficient", 0.0, -2.0),
            "A new term speaks for a job with less work left (a bend at 60 s)"
        );
        assert_eq!(
            said("job.term[4].coefficient", 0.0, -0.5),
            "A new term speaks against a job with work left above 60 s"
        );
        let flag = said("job.coefficient[is_source]", 7.0, 10.5);
        assert!(
            flag.starts_with("The term that speaks for a job that freed the executors itself counts more"),
            "{flag}"
        );
        assert_eq!(
            said("job.term[3].coefficient", 0.0, -0.1),
            "A new term speaks against the job, the more the larger the product of tasks that can run now and time since it \
             arrived is"
        );
    }

    #[test]
    fn leaves_are_told_by_the_way_to_them() {
        let student = of_job(Model::Tree(Tree::stump(column("age"), 6e4, [0.25, 0.75])));
        let said =
            |place: &str, was: f64, now: f64| change(&student, &Change { place: place.to_owned(), was, now }, &words());
        let up = "A job with time since it arrived at most 60 s comes earlier than before (worth 0.8 instead of 0.25)";
        assert_eq!(said("job.node[1].value", 0.25, 0.8), up);
        let down = said("job.node[2].value", 0.75, 0.2);
        assert!(down.starts_with("A job with time since it arrived above 60 s comes later"), "{down}");
        assert_eq!(
            said("job.node[1].coefficient[remaining_work_rank]", 0.0, -5e-4),
            "Of several that are each a job with time since it arrived at most 60 s, a job with less work left comes first"
        );
        let parts = said("job.node[0].threshold", 6e4, 3e4);
        assert_eq!(parts, "The tree of level job parts at time since it arrived: 30 s instead of 60 s");
        // What has no words of its own is said as it is.
        assert_eq!(said("guard[0].value", 1.0, 2.0), "guard[0].value is 2 instead of 1");
    }
}
