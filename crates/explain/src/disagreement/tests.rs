use super::*;
use crate::tiny;
use sched_distill_core::{
    level::{NONE_FLAG, Values},
    model::{Additive, Model, NamedModel},
    rng::Stream,
};
use sched_distill_judge::evaluator::Role;

/// Takes the candidate with the largest `a`.
fn largest_a() -> NamedModel {
    let model = Model::Additive(Additive::linear(&[1.0, 0.0], &[0.0; 2]));
    NamedModel { name: "linear".to_owned(), temperature: 1.0, model }
}

/// The teacher takes the largest `a` too, but the smallest in choices of kind `y` with `b`, which candidates share, above 5.
fn table(episodes: u32) -> LevelTable {
    let mut s = Stream::new(3, "disagreement");
    let choices: Vec<_> = (0..episodes * 40)
        .map(|i| {
            let (kind, b) = (s.below(2) as u8, s.below(10) as f32);
            // Around a value of the choice's own, so that the candidate's `a` alone does not tell who is the largest.
            let around = s.below(1000) as f32;
            let rows: Vec<[f32; 2]> = (0..1 + s.below(4)).map(|_| [around + s.uniform() as f32, b]).collect();
            let sign = if kind == 1 && b > 5.0 { -1.0 } else { 1.0 };
            let target = sched_distill_core::level::first_max(rows.iter().map(|r| sign * f64::from(r[0])));
            (i / 40, kind, rows, target)
        })
        .collect();
    tiny::table("job", &choices)
}

fn found(table: &LevelTable, regions: usize) -> Disagreement {
    let model = largest_a();
    disagreement((table, &Values::new(&table.spec, None)), &Scorer::model(&model, Role::Student), regions, 1)
        .unwrap()
        .unwrap()
}

#[test]
fn the_region_of_departures_is_found_and_measured_on_other_episodes() {
    let table = table(9);
    let found = found(&table, 3);
    assert_eq!((found.by.as_str(), found.found_on, found.measured_on), ("disagreement", 5, 4));
    let first = &found.regions[0];
    assert_eq!(first.rule, "y and b > 5.5");
    let bounds: Vec<_> = first.conditions.iter().map(|c| (c.column.as_str(), c.above, c.at_most)).collect();
    assert_eq!(bounds, [("kind=x", None, Some(0.5)), ("b", Some(5.5), None)]);
    // By hand, on the odd episodes.
    let measured = || table.iter().filter(|c| !c.is_forced() && c.header.episode % 2 == 1);
    let inside = measured().filter(|c| c.header.kind == 1 && c.row(0)[1] > 5.0).count();
    assert_eq!((found.choices, first.choices), (measured().count(), inside));
    assert!((first.share.value - inside as f64 / found.choices as f64).abs() < 1e-12);
    assert_eq!((first.disagree.value, first.regret), (1.0, None));
    assert_eq!(first.share_of_disagreement.map(|e| e.value), Some(1.0));
    let instead = first.instead.as_ref().unwrap();
    assert_eq!((instead.feature.as_str(), instead.more, instead.share.value), ("a", true, 1.0));
    // The other regions are without departures; together they are all choices.
    assert!(found.regions[1..].iter().all(|r| r.disagree.value == 0.0 && r.instead.is_none()));
    assert_eq!(found.regions.iter().map(|r| r.choices).sum::<usize>(), found.choices);
    assert!((found.disagree.value - first.share.value).abs() < 1e-12);
    assert!(found.disagree.low <= found.disagree.value && found.disagree.value <= found.disagree.high);
}

#[test]
fn regret_tells_regions_apart_where_probabilities_are_known() {
    let mut table = table(8);
    // Departures cost next to nothing but where `b` is 9, at three candidates or more.
    for i in 0..table.choices.len() {
        let (choice, first) = (table.choice(i), table.choices[i].first_row);
        let (n, target, costly) = (choice.len(), choice.target(), choice.row(0)[1] > 8.0);
        let best = if costly { 0.9 } else { 1.0 / n as f32 + 1e-3 };
        for j in 0..n {
            let rest = (1.0 - best) / (n - 1).max(1) as f32;
            table.log_prob[first + j] = if j == target { best } else { rest }.ln();
        }
    }
    let found = found(&table, 8);
    assert_eq!(found.by, "regret");
    let first = &found.regions[0];
    assert!(first.rule.starts_with("y and ") && first.rule.ends_with("b > 8"), "{}", first.rule);
    let share = |r: &Region| r.share_of_regret.unwrap().value;
    let total: f64 = found.regions.iter().map(share).sum();
    assert!((total - 1.0).abs() < 1e-9);
    assert!(found.regions.windows(2).all(|w| share(&w[0]) >= share(&w[1])));
    let by_region: f64 = found.regions.iter().map(|r| r.share.value * r.regret.unwrap().value).sum();
    assert!((by_region - found.regret.unwrap().value).abs() < 1e-12);
}

#[test]
fn what_holds_in_the_searched_episodes_alone_is_not_claimed() {
    let mut table = table(8);
    // No departures in the odd episodes.
    for i in 0..table.choices.len() {
        let choice = table.choice(i);
        if choice.header.episode % 2 == 1 {
            let best = sched_distill_core::level::first_max((0..choice.len()).map(|j| f64::from(choice.row(j)[0])));
            let (first, n) = (choice.header.first_row, choice.len());
            (0..n).for_each(|j| table.chosen[first + j] = j == best);
        }
    }
    let found = found(&table, 3);
    assert!(found.regions.iter().any(|r| r.rule == "y and b > 5.5"));
    assert!(found.regions.iter().all(|r| r.disagree.value == 0.0 && r.share_of_disagreement.is_none()));
}

#[test]
fn a_faithful_scorer_has_one_region_and_one_episode_has_none() {
    let mut all = table(4);
    all.choices.iter_mut().for_each(|c| c.kind = 0);
    let same = all.select(|_| true);
    let mut rows = Vec::new();
    for choice in same.iter() {
        let x: Vec<[f32; 2]> = (0..choice.len()).map(|i| [choice.row(i)[0], 0.0]).collect();
        let target = sched_distill_core::level::first_max(x.iter().map(|r| f64::from(r[0])));
        rows.push((choice.header.episode, 0, x, target));
    }
    let faithful = found(&tiny::table("job", &rows), 8);
    assert_eq!((faithful.regions.len(), faithful.regions[0].rule.as_str()), (1, "all"));
    assert_eq!((faithful.disagree.value, faithful.regions[0].share_of_disagreement), (0.0, None));
    let model = largest_a();
    let (scorer, values) = (Scorer::model(&model, Role::Student), Values::new(&all.spec, None));
    assert_eq!(disagreement((&all.select(|e| e == 2), &values), &scorer, 8, 1).unwrap(), None);
    assert!(disagreement((&all, &values), &scorer, 0, 1).is_err(), "no regions asked for");
}

#[test]
fn the_candidate_that_gives_nothing_does_not_hide_what_the_others_share() {
    let mut table = table(2);
    table.spec.features[0].name = NONE_FLAG.to_owned();
    // The last candidate of each choice has the flag and zeros; the others have no flag.
    for i in 0..table.choices.len() {
        let (first, n) = (table.choices[i].first_row, table.choice(i).len());
        for j in first..first + n {
            let none = j + 1 == first + n;
            let b = table.x[2 * j + 1] + 1.0;
            table.x[2 * j..2 * j + 2].copy_from_slice(&if none { [1.0, 0.0] } else { [0.0, b] });
        }
    }
    let model = largest_a();
    let cases = cases(&table, &Scorer::model(&model, Role::Student));
    let columns = columns(&table, &Values::new(&table.spec, None), &cases);
    let names: Vec<String> = columns.iter().map(|c| c.condition(0.5, f32::INFINITY).column).collect();
    assert_eq!(names, ["kind=x", "candidates", "b", "teacher.is_none"]);
    assert_eq!(columns[0].words(f32::NAN, 0.5), "y");
    assert_eq!(columns[1].words(2.0, 4.0), "2 < candidates <= 4");
    assert_eq!(columns[2].words(f32::NAN, 7.5), "b <= 7.5");
}
