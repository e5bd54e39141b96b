//! Counterfactuals against a search of everything, and the columns of a choice against those that were recorded.

use crate::explainer_definitions::{random_rows, random_tree};
use proptest::prelude::*;
use sched_distill::{
    dag::{Dag, feature::feature_set},
    explainer::{
        ChoiceColumns, ChoiceGoal, ChoiceSearch, Constraints, Decider, Goal, choice_counterfactual, counterfactual,
    },
    level::{FeatureSpec, LevelSpec, Scope, first_max},
    model::{LEAF, ScoreCandidates, Tree},
    recorder::{ChoiceLog, EpisodeId, run_episode},
    registry::Registered as _,
    rng::{Split, Stream},
};

const WIDTH: usize = 5;

/// Distance and number of changes between two rows; missing values must stay.
fn cost(from: &[f32], to: &[f32], scale: &[f64]) -> (f64, usize) {
    let changed = (0..from.len()).filter(|&f| from[f] != to[f] && !(from[f].is_nan() && to[f].is_nan()));
    changed.fold((0.0, 0), |(d, n), f| (d + (f64::from(to[f]) - f64::from(from[f])).abs() / scale[f], n + 1))
}

fn allowed(from: &[f32], to: &[f32], c: &Constraints) -> bool {
    let stays = |f: usize| from[f] == to[f] || (from[f].is_nan() && to[f].is_nan());
    let may = |f: usize| {
        let whole = !c.integer[f] || to[f].fract() == 0.0;
        !c.fixed[f] && !from[f].is_nan() && whole && c.range[f].0 <= to[f] && to[f] <= c.range[f].1
    };
    (0..from.len()).all(|f| stays(f) || may(f))
        && c.at_most.iter().all(|&(a, b)| to[a].partial_cmp(&to[b]).is_none_or(|o| o.is_le()))
        && c.equal.iter().all(|g| g.iter().all(|&f| to[f] == to[g[0]] || (to[f].is_nan() && to[g[0]].is_nan())))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn no_allowed_row_is_nearer(seed: u64, depth in 1usize..6) {
        let mut s = Stream::new(seed, "counterfactuals");
        let tree = random_tree(&mut s, depth, 3);
        let mut row = random_rows(&mut s, 1);
        row.iter_mut().filter(|v| v.is_infinite()).for_each(|v| *v = 2.5);
        let mut c = Constraints::new(WIDTH);
        for f in 0..WIDTH {
            c.scale[f] = [0.5, 1.0, 4.0][s.below(3)];
            c.integer[f] = s.below(3) == 0;
            c.fixed[f] = s.below(6) == 0;
            c.range[f] = [(-9.0, 9.0), (0.5, 4.0)][s.below(2)];
        }
        let tied = [s.below(2), 2 + s.below(2)];
        match s.below(4) {
            0 => {
                row[tied[1]] = row[tied[0]];
                c.equal.push(tied.to_vec());
            }
            1 | 2 => {
                if row[tied[0]] > row[tied[1]] {
                    row.swap(tied[0], tied[1]);
                }
                c.at_most.push((tied[0], tied[1]));
            }
            _ => {}
        }
        // All values that can matter: both sides of thresholds, whole numbers, ends of ranges, whole ones too; tied features share
        // them.
        let mut values: Vec<Vec<f32>> = row.iter().map(|v| vec![*v, -1.0, 0.5, 1.0, 4.0]).collect();
        for node in (0..tree.nodes()).filter(|&n| !tree.is_leaf(n)) {
            let t = tree.threshold[node];
            values[tree.feature[node] as usize].extend([t, t.next_up(), t.floor(), t.next_up().ceil()]);
        }
        if !c.at_most.is_empty() || !c.equal.is_empty() {
            let mut both = [&values[tied[0]][..], &values[tied[1]]].concat();
            both.extend(both.clone().iter().flat_map(|v| [v.floor(), v.ceil()]));
            tied.iter().for_each(|&f| values[f] = both.clone());
        }
        for list in &mut values {
            list.sort_unstable_by(f32::total_cmp);
            list.dedup();
        }
        values[WIDTH - 1] = vec![row[WIDTH - 1]]; // Not tested by the tree.
        let goal = [Goal::OtherClass, Goal::Class(1), Goal::Above(0.5), Goal::Below(-0.5)][s.below(4)];
        let now = tree.predict_class(&row);
        let good = |row: &[f32]| match goal {
            Goal::OtherClass => tree.predict_class(row) != now,
            Goal::Class(class) => tree.predict_class(row) == class,
            Goal::Above(bound) => tree.predict(row) > bound,
            Goal::Below(bound) => tree.predict(row) < bound,
        };
        let mut best = (f64::INFINITY, usize::MAX);
        let mut place = [0; WIDTH];
        'all: loop {
            let to: Vec<f32> = (0..WIDTH).map(|f| values[f][place[f]]).collect();
            let spent = cost(&row, &to, &c.scale);
            if spent < best && allowed(&row, &to, &c) && good(&to) {
                best = spent;
            }
            for f in 0..WIDTH {
                place[f] += 1;
                if place[f] < values[f].len() {
                    continue 'all;
                }
                place[f] = 0;
            }
            break;
        }
        match counterfactual(&tree, &row, goal, &c).unwrap() {
            None => prop_assert!(best.0.is_infinite(), "{best:?}"),
            Some(found) => {
                prop_assert!(good(&found.row) && allowed(&row, &found.row, &c), "{found:?}");
                prop_assert_eq!(tree.apply(&found.row), found.leaf);
                let (distance, changed) = cost(&row, &found.row, &c.scale);
                prop_assert!((found.distance - distance).abs() < 1e-9 && found.changed.len() == changed);
                prop_assert!((distance - best.0).abs() < 1e-9, "{distance} against {best:?}");
                prop_assert_eq!(changed, best.1);
            }
        }
    }
}

#[test]
fn chains_of_ties_move_as_far_as_they_must() {
    // x0 <= 3 gives 0, else 1; x0 <= x1 <= x2, where x1 is whole.
    let tree = Tree {
        feature: vec![0; 3],
        threshold: vec![3.25, 0.0, 0.0],
        left: vec![1, LEAF, LEAF],
        right: vec![2, LEAF, LEAF],
        default_left: vec![true; 3],
        value: vec![0.5, 0.0, 1.0],
        impurity: vec![0.0; 3],
        n_samples: vec![2, 1, 1],
        weight: vec![2.0, 1.0, 1.0],
        ..Tree::leaf(0.0, 0.0, 0, 0.0)
    };
    let mut c = Constraints::new(3);
    c.at_most = vec![(0, 1), (1, 2)];
    c.integer[1] = true;
    let found = counterfactual(&tree, &[1.0, 2.0, 2.5], Goal::Above(0.5), &c).unwrap().unwrap();
    assert_eq!(found.row, [3.25f32.next_up(), 4.0, 4.0]);
    assert_eq!(found.changed, [0, 1, 2]);
    let broken = counterfactual(&tree, &[3.0, 2.0, 2.5], Goal::Above(0.5), &c).unwrap_err();
    assert!(broken.to_string().contains("is 3 over 2"));
    c.at_most.push((0, 2));
    let circle = counterfactual(&tree, &[1.0, 2.0, 2.5], Goal::Above(0.5), &c).unwrap_err();
    assert!(circle.to_string().contains("circle"));
    c.at_most.clear();
    c.fixed[0] = true;
    assert_eq!(counterfactual(&tree, &[1.0, 2.0, 2.5], Goal::Above(0.5), &c), Ok(None));
}

/// Tasks and time with rank and ratio, and a share.
fn level() -> LevelSpec {
    let feature = |name: &str, unit: &str, scope| FeatureSpec {
        name: name.to_owned(),
        unit: unit.to_owned(),
        meaning: String::new(),
        scope,
        version: 1,
        whole: unit == "tasks" || scope == Scope::Rank,
        control: sched_distill::level::Control::Declared,
    };
    LevelSpec {
        name: "job".to_owned(),
        question: String::new(),
        candidates: String::new(),
        entities: vec![],
        features: vec![
            feature("tasks", "tasks", Scope::Absolute),
            feature("tasks_rank", "1", Scope::Rank),
            feature("tasks_ratio", "1", Scope::Ratio),
            feature("time", "ms", Scope::Absolute),
            feature("time_rank", "1", Scope::Rank),
            feature("time_ratio", "1", Scope::Ratio),
            feature("share", "1", Scope::Share),
        ],
    }
}

/// A tree whose thresholds suit the columns of that level.
fn choice_tree(s: &mut Stream) -> Tree {
    let mut tree = random_tree(s, 5, 1);
    for node in 0..tree.nodes() {
        if !tree.is_leaf(node) {
            tree.feature[node] = s.below(7) as u32;
            tree.threshold[node] = match tree.feature[node] {
                0 | 3 => s.below(12) as f32,
                1 | 4 => s.below(4) as f32,
                2 | 5 => 1.0 + s.uniform() as f32 * 4.0,
                _ => 0.5,
            };
        }
    }
    tree
}

fn choice(s: &mut Stream, columns: &ChoiceColumns, rows: usize) -> Vec<f32> {
    let row = |s: &mut Stream| [s.below(12) as f32, 0.0, 0.0, s.below(12) as f32, 0.0, 0.0, s.uniform() as f32];
    let mut x: Vec<f32> = (0..rows).flat_map(|_| row(s)).collect();
    columns.recompute(&mut x).unwrap();
    x
}

fn winner(tree: &Tree, x: &[f32]) -> usize {
    let mut scores = vec![0.0; x.len() / 7];
    tree.score_choice(x, 7, &mut scores);
    first_max(scores)
}

/// A choice by a tree, and a candidate that should be chosen if it was not, or the other way round.
struct Question {
    tree: Tree,
    columns: ChoiceColumns,
    x: Vec<f32>,
    candidate: usize,
    goal: ChoiceGoal,
}

impl Question {
    fn new(s: &mut Stream, level: &LevelSpec, rows: usize) -> Self {
        let tree = choice_tree(s);
        let columns = ChoiceColumns::new(level).unwrap();
        let x = choice(s, &columns, rows);
        let candidate = s.below(rows);
        let goal = if winner(&tree, &x) == candidate { ChoiceGoal::NotChosen } else { ChoiceGoal::Chosen };
        Self { tree, columns, x, candidate, goal }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn no_smaller_change_turns_a_choice(seed: u64, rows in 2usize..6) {
        let mut s = Stream::new(seed, "choices");
        let level = level();
        let Question { tree, columns, x, candidate, goal } = Question::new(&mut s, &level, rows);
        let turned = |tasks: f32, time: f32| {
            let mut x = x.clone();
            (x[candidate * 7], x[candidate * 7 + 3]) = (tasks, time);
            columns.recompute(&mut x).unwrap();
            (winner(&tree, &x) == candidate) == (goal == ChoiceGoal::Chosen)
        };
        let mut c = Constraints::for_level(&level);
        (c.integer[3], c.fixed[6]) = (true, true);
        (c.range[0], c.range[3]) = ((0.0, 60.0), (0.0, 60.0));
        c.scale[3] = 1.5;
        let (tasks, time) = (x[candidate * 7], x[candidate * 7 + 3]);
        if s.below(3) == 0 && tasks <= time {
            c.at_most.push((0, 3));
        }
        let fits = |a: f32, b: f32| c.at_most.is_empty() || a <= b;
        let price = |a: f32, b: f32| f64::from((a - tasks).abs()) + f64::from((b - time).abs()) / 1.5;
        let whole = || (0..=60).map(|v| v as f32);
        for pairs in [false, true] {
            let best = whole()
                .flat_map(|a| whole().map(move |b| (a, b)))
                .filter(|&(a, b)| (pairs || a == tasks || b == time) && fits(a, b) && turned(a, b))
                .map(|(a, b)| price(a, b))
                .fold(f64::INFINITY, f64::min);
            let search = ChoiceSearch { pairs, ..ChoiceSearch::default() };
            let found = choice_counterfactual(&Decider::tree(&tree, columns.width()).unwrap(), &columns, &x, candidate, goal, &c, search).unwrap();
            let Some(found) = found else {
                prop_assert!(best.is_infinite(), "{best}");
                continue;
            };
            prop_assert!(found.exhaustive);
            prop_assert!((found.distance - best).abs() < 1e-9, "{} against {best}", found.distance);
            let (a, b) = (found.x[candidate * 7], found.x[candidate * 7 + 3]);
            prop_assert!(turned(a, b) && fits(a, b) && (price(a, b) - best).abs() < 1e-9);
            prop_assert_eq!(winner(&tree, &found.x), found.chosen);
            prop_assert_eq!(found.changes.len(), usize::from(a != tasks) + usize::from(b != time));
        }
    }

    #[test]
    fn the_last_bit_of_a_change_is_needed(seed: u64, rows in 2usize..6) {
        let mut s = Stream::new(seed, "choices");
        let level = level();
        let Question { tree, columns, x, candidate, goal } = Question::new(&mut s, &level, rows);
        let mut c = Constraints::for_level(&level);
        c.integer[0] = false;
        let search = ChoiceSearch { pairs: false, tries: 0 };
        let found = choice_counterfactual(&Decider::tree(&tree, columns.width()).unwrap(), &columns, &x, candidate, goal, &c, search).unwrap();
        let nearest = found.as_ref().map_or(f64::INFINITY, |f| f.distance);
        let turned = |feature: usize, value: f32| {
            let mut x = x.clone();
            x[candidate * 7 + feature] = value;
            columns.recompute(&mut x).unwrap();
            (winner(&tree, &x) == candidate) == (goal == ChoiceGoal::Chosen)
        };
        if let Some(found) = &found {
            let [change] = found.changes[..] else { panic!("one change") };
            prop_assert!(turned(change.feature, change.to));
            let nearer = if change.to > change.from { change.to.next_down() } else { change.to.next_up() };
            prop_assert!(!turned(change.feature, nearer));
        }
        // No value in a fine grid that is nearer does it.
        for feature in [0, 3, 6] {
            for value in (0..4000).map(|i| i as f32 / 64.0) {
                let away = f64::from((value - x[candidate * 7 + feature]).abs());
                prop_assert!(away >= nearest || !turned(feature, value), "{feature} at {value} is nearer than {found:?}");
            }
        }
    }
}

#[test]
fn ranks_and_ratios_are_those_that_were_recorded() {
    let workload = sched_distill::dag::workload::open(&"builtin,jobs=12,executors=5".parse().unwrap()).unwrap();
    // The second may also give nothing: a candidate of its own.
    for (name, abstains) in [("sjf,temperature=0.5,mode=sample", false), ("fair", true)] {
        let mut policy = Dag::open(&name.parse().unwrap()).unwrap();
        assert_eq!(policy.abstains(), abstains, "{name}");
        let mut log = ChoiceLog::<Dag>::new(abstains);
        let mut step = 0;
        let id = EpisodeId::new(1, Split::Train, 0);
        run_episode(&workload, &mut *policy, id, |seen, decision, p| {
            log.push(0, step, seen, decision, p);
            step += 1;
        })
        .unwrap();
        for (table, level) in log.into_tables().iter().zip(&feature_set().levels) {
            let columns = ChoiceColumns::new(level).unwrap();
            assert!(table.choices.len() > 50, "{}", level.name);
            for choice in table.iter() {
                let mut x = choice.x.to_vec();
                // What is formed is wiped out first, but for the candidate that gives nothing.
                let none = level.features.iter().position(|f| f.name == "is_none");
                for row in x.chunks_mut(choice.width).filter(|row| none.is_none_or(|none| row[none] == 0.0)) {
                    (0..row.len()).filter(|&c| !columns.is_base(c)).for_each(|c| row[c] = f32::NAN);
                }
                columns.recompute(&mut x).unwrap();
                for (i, (ours, theirs)) in x.iter().zip(choice.x).enumerate() {
                    let spec = &level.features[i % choice.width];
                    // Quantities are rounded to f32 before ratios are formed here, and after it there.
                    let within = if spec.scope == Scope::Ratio { 4.0 * f32::EPSILON * theirs } else { 0.0 };
                    assert!((ours - theirs).abs() <= within, "{} {}: {ours} {theirs}", level.name, spec.name);
                }
            }
        }
    }
}
