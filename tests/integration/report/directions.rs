//! Directions on recordings: what a page says of a quantity is compared with the effect curves of the student's model, and where
//! it speaks of the teacher, with a conditional logit on the recorded probabilities.

use super::sentences::section;
use crate::{common::reference, program::done};
use sched_distill::{
    explainer::{Direction, Effect, Explanation, LevelExplanation, Weight},
    pipeline::RunInfo,
    trace::{Choice, LevelTable, Trace},
};
use std::{fs, path::Path};

/// A recording and what came of it.
struct Recorded {
    explanation: Explanation,
    info: RunInfo,
    trace: Trace,
    summary: String,
}

/// What is recorded, and how a student is fitted to it.
struct Case<'a> {
    scenario: &'a str,
    teacher: &'a str,
    workload: &'a str,
    episodes: &'a str,
    fit: &'a [&'a str],
    /// At least so many directions are compared with curves, with the teacher, and found on the page.
    least: [usize; 3],
}

/// Models of that kind at every level, small enough to be fitted at once.
fn only(learner: &str) -> [&str; 4] {
    ["--learner", learner, "--max-leaves", "12"]
}

/// Records a teacher, fits and explains a student, and writes the report.
fn recorded(dir: &Path, case: &Case<'_>) -> Recorded {
    for split in ["train", "test"] {
        let what = ["-p", case.teacher, "-w", case.workload, "-n", case.episodes, "--split", split, "-o", split];
        done(dir, &[&["record", "--scenario", case.scenario], &what[..]].concat());
    }
    done(dir, &[&["fit", "train", "-o", "student.json", "--run", "run"], case.fit].concat());
    done(dir, &["evaluate", "student.json", "test", "--selection", "train", "--run", "run"]);
    done(dir, &["explain", "student.json", "test", "--run", "run", "--decisions", "5"]);
    done(dir, &["report", "run", "-o", "report"]);
    let read = |name: &str| fs::read(dir.join("run").join(name)).unwrap();
    Recorded {
        explanation: serde_json::from_slice(&read("explanation.json")).unwrap(),
        info: serde_json::from_slice(&read("run.json")).unwrap(),
        trace: Trace::open(&dir.join("test")).unwrap(),
        summary: section(&fs::read_to_string(dir.join("report/report.html")).unwrap(), "summary"),
    }
}

/// The whole change of an effect curve between its first and its last tenth, and how much it moves on the way.
fn change(effect: &Effect) -> (f64, f64) {
    let n = effect.grid.len();
    let inner = &effect.accumulated[n / 10..n - n / 10];
    let moved = inner.windows(2).map(|w| (w[1] - w[0]).abs()).sum();
    (inner.last().unwrap_or(&0.0) - inner.first().unwrap_or(&0.0), moved)
}

/// The change of all curves of a family, if they tell: all features that move scores have one, and they go one way.
fn curves(level: &LevelExplanation, family: &Weight) -> Option<f64> {
    let moves = |name: &String| {
        level.features.iter().any(|f| f.name == *name && f.by_kind.last().is_some_and(|k| k.share > 0.0))
    };
    let used: Vec<&String> = family.features.iter().filter(|name| moves(name)).collect();
    let curve = |name: &&String| level.effects.iter().find(|e| e.feature == **name).map(change);
    let found: Vec<(f64, f64)> = used.iter().map(curve).collect::<Option<_>>()?;
    let (whole, moved) = found.iter().fold((0.0, 0.0), |sum, c| (sum.0 + c.0, sum.1 + c.1));
    (moved > 0.05 && whole.abs() > 0.7 * moved).then_some(whole)
}

/// Choices as a logit sees them: by candidate the places in the order of each column, and the teacher's probabilities.
type Places = Vec<(Vec<Vec<f64>>, Vec<f64>)>;

fn places(table: &LevelTable, kind: &str, columns: &[usize]) -> Places {
    let none = table.spec.features.iter().position(|f| f.name == "is_none");
    let is_none = |choice: &Choice<'_>, i: usize| none.is_some_and(|column| choice.row(i)[column] == 1.0);
    // Where the one other candidate is to give nothing, both are compared.
    let bare = table.iter().all(|c| (0..c.len()).filter(|&i| !is_none(&c, i)).count() < 2);
    let mut choices = Places::new();
    for choice in table.iter().filter(|c| table.kinds[c.header.kind as usize] == kind) {
        let rows: Vec<usize> = (0..choice.len()).filter(|&i| bare || !is_none(&choice, i)).collect();
        if rows.len() < 2 {
            continue;
        }
        let place = |i: usize, column: usize| {
            let value = choice.row(i)[column];
            let below = rows.iter().filter(|&&j| choice.row(j)[column] < value).count();
            let equal = rows.iter().filter(|&&j| choice.row(j)[column] == value).count();
            (below as f64 + equal as f64 / 2.0) / rows.len() as f64
        };
        let x = rows.iter().map(|&i| columns.iter().map(|&c| place(i, c)).collect()).collect();
        let p: Vec<f64> = match choice.has_probabilities() {
            true => rows.iter().map(|&i| f64::from(choice.log_prob[i]).exp()).collect(),
            false => rows.iter().map(|&i| f64::from(u8::from(i == choice.target()))).collect(),
        };
        let total: f64 = p.iter().sum();
        if total > 1e-9 {
            choices.push((x, p.iter().map(|p| p / total).collect()));
        }
    }
    choices
}

/// What the others leave of a column, as a share of how far candidates of a choice differ in it.
fn own_share(choices: &Places, k: usize, column: usize) -> f64 {
    let mut gram = vec![0.0; k * k];
    for (x, _) in choices {
        let mean: Vec<f64> = (0..k).map(|i| x.iter().map(|x| x[i]).sum::<f64>() / x.len() as f64).collect();
        for x in x {
            (0..k * k).for_each(|at| gram[at] += (x[at / k] - mean[at / k]) * (x[at % k] - mean[at % k]));
        }
    }
    (0..k).for_each(|i| gram[i * k + i] *= 1.0 + 1e-9);
    let unit = (0..k).map(|i| f64::from(u8::from(i == column))).collect();
    1.0 / (solved(gram.clone(), unit)[column] * gram[column * k + column])
}

/// Coefficients of a conditional logit by Newton's method with a little shrinkage, each with its standard error.
fn logit(choices: &Places, k: usize) -> Vec<(f64, f64)> {
    let (mut beta, mut errors) = (vec![0.0; k], vec![0.0; k]);
    for _ in 0..30 {
        let (mut gradient, mut hessian) = (beta.iter().map(|b| -1e-2 * b).collect::<Vec<f64>>(), vec![0.0; k * k]);
        (0..k).for_each(|i| hessian[i * k + i] = 1e-2 + 1e-9);
        for (x, p) in choices {
            let scores: Vec<f64> = x.iter().map(|x| x.iter().zip(&beta).map(|(x, b)| x * b).sum()).collect();
            let most = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let total: f64 = scores.iter().map(|s| (s - most).exp()).sum();
            let q: Vec<f64> = scores.iter().map(|s| (s - most).exp() / total).collect();
            let mean: Vec<f64> = (0..k).map(|i| x.iter().zip(&q).map(|(x, q)| q * x[i]).sum()).collect();
            for ((x, p), q) in x.iter().zip(p).zip(&q) {
                for i in 0..k {
                    gradient[i] += (p - q) * x[i];
                    (0..k).for_each(|j| hessian[i * k + j] += q * (x[i] - mean[i]) * (x[j] - mean[j]));
                }
            }
        }
        for (i, error) in errors.iter_mut().enumerate() {
            let unit = (0..k).map(|j| f64::from(u8::from(i == j))).collect();
            *error = solved(hessian.clone(), unit)[i].sqrt();
        }
        let step = solved(hessian, gradient);
        beta.iter_mut().zip(step).for_each(|(b, s)| *b += s.clamp(-3.0, 3.0));
    }
    beta.into_iter().zip(errors).collect()
}

/// Gaussian elimination; the matrix is positive definite.
fn solved(mut a: Vec<f64>, mut y: Vec<f64>) -> Vec<f64> {
    let k = y.len();
    for i in 0..k {
        for j in i + 1..k {
            let factor = a[j * k + i] / a[i * k + i];
            (i..k).for_each(|m| a[j * k + m] -= factor * a[i * k + m]);
            y[j] -= factor * y[i];
        }
    }
    for i in (0..k).rev() {
        let known: f64 = (i + 1..k).map(|m| a[i * k + m] * y[m]).sum();
        y[i] = (y[i] - known) / a[i * k + i];
    }
    y
}

/// Every direction agrees with what it is about, and the page says it of whom it holds. Returns how many were compared with
/// curves, with the teacher, and found on the page.
fn check(found: &Recorded) -> [usize; 3] {
    let mut compared = [0; 3];
    for level in &found.explanation.levels {
        let table = found.trace.level(&level.level).unwrap();
        let words = found.info.words.level(&level.level).expect("words for every level");
        for kind in level.sample.iter().filter(|k| k.choices > 0) {
            let of = |f: &Weight| f.by_kind.iter().find(|k| k.kind == kind.kind).cloned();
            let with = |f: &Weight| of(f).and_then(|k| k.tendency);
            let held: Vec<&Weight> =
                level.families.iter().filter(|f| with(f).is_some_and(|t| t.teacher.is_some())).collect();
            let column = |f: &&Weight| table.spec.features.iter().position(|s| s.name == f.features[0]).unwrap();
            let together = places(&table, &kind.kind, &held.iter().map(column).collect::<Vec<_>>());
            let teacher = logit(&together, held.len());
            for family in &level.families {
                let Some(tendency) = with(family) else { continue };
                let name = format!("{} {} {}: {tendency:?}", level.level, kind.kind, family.name);
                let sign = tendency.student.sign();
                if sign == 0.0 {
                    assert!(!tendency.is_shared(), "{name}");
                    continue;
                }
                assert!(tendency.one_way * sign >= 0.6, "{name}");
                let total: f64 = level.families.iter().filter_map(of).map(|k| k.share).sum();
                let share = format!(" ({:.1} %)", 100.0 * of(family).map_or(0.0, |k| k.share) / total);
                let quantity = words.quantity(&family.name).filter(|q| !q.more.is_empty());
                let relations = quantity.map(|q| if sign > 0.0 { [&q.more, &q.less] } else { [&q.less, &q.more] });
                let on_page = |relation: &String| found.summary.contains(&format!("{relation}{share}"));
                let is_said = relations.is_some_and(|[said, _]| on_page(said));
                // Curves are those of all kinds of choice together.
                let overall = family.by_kind.last().and_then(|k| k.tendency).map(|t| t.student.sign());
                if let Some(whole) = curves(level, family).filter(|_| overall == Some(sign)) {
                    assert!(whole * sign > 0.0, "{name}: its curves change by {whole}");
                    compared[0] += 1;
                }
                if tendency.is_shared() {
                    let place = held.iter().position(|f| f.name == family.name).unwrap();
                    // Another estimate may doubt it where quantities hang together, and must not contradict it. Where they are
                    // nearly the same, as among three candidates, what each counts beside the others is a matter of the estimate:
                    // there the quantity alone must not contradict it.
                    let (coefficient, error) = match own_share(&together, held.len(), place) < 0.1 {
                        true => logit(&places(&table, &kind.kind, &[column(&family)]), 1)[0],
                        false => teacher[place],
                    };
                    let contradicts = coefficient * sign < -2.0 * error;
                    assert!(!contradicts || !is_said, "{name}: the teacher's is {coefficient} ± {error}");
                    if coefficient * sign < 0.0 {
                        println!("{name}: in doubt, {coefficient} ± {error}");
                        continue;
                    }
                    compared[1] += 1;
                }
                if let Some(bend) = tendency.student.bend() {
                    let values = || {
                        table.iter().flat_map(|c| (0..c.len()).map(|i| c.row(i)[column(&family)]).collect::<Vec<_>>())
                    };
                    let inside = values().any(|v| f64::from(v) <= bend) && values().any(|v| f64::from(v) >= bend);
                    assert!(inside, "{name}: no candidate beyond the bend");
                    assert!(!matches!(tendency.student, Direction::Up | Direction::Down));
                }
                // What the page says of it goes its way.
                assert!(!relations.is_some_and(|[_, opposite]| on_page(opposite)), "{name}: {}", found.summary);
                compared[2] += usize::from(is_said);
            }
        }
    }
    compared
}

/// Checks a recording.
fn holds(case: &Case<'_>) {
    let dir = tempfile::tempdir().unwrap();
    let found = recorded(dir.path(), case);
    let compared = check(&found);
    let Case { teacher, workload, fit, least, .. } = case;
    println!("{teacher} on {workload}, {fit:?}: {compared:?} compared\n{}", found.summary);
    assert!(compared.iter().zip(least).all(|(c, least)| c >= least), "{teacher}: {compared:?}\n{}", found.summary);
}

const SMALL: &str = "builtin,jobs=20,executors=10";

#[test]
fn directions_of_a_network_hold() {
    let (teacher, workload) = ("decima", SMALL);
    holds(&Case { scenario: "dag", teacher, workload, episodes: "12", fit: &[], least: [6, 5, 2] });
}

#[test]
fn directions_of_a_network_for_training_hold() {
    let (teacher, workload) = ("dl2", "builtin,nodes=12,jobs=12,rate=2,max=6");
    for (fit, least) in [(&["--max-size", "16"][..], [8, 5, 3]), (&only("spline-logit"), [8, 5, 3])] {
        holds(&Case { scenario: "training", teacher, workload, episodes: "8", fit, least });
    }
}

#[test]
#[cfg_attr(not(python), ignore = "needs python3")]
fn directions_of_a_script_hold() {
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/script_policy.py");
    let teacher = format!("script:python3 {},mode=sample", example.display());
    // A tree that compares two candidates has no curves of one.
    for (learner, least) in [("tree", [2, 4, 1]), ("pairwise-tree", [0, 4, 2])] {
        let (teacher, workload, fit) = (&teacher, SMALL, &only(learner));
        holds(&Case { scenario: "dag", teacher, workload, episodes: "8", fit, least });
    }
}

#[test]
fn directions_of_heuristics_hold() {
    let of = |teacher, least| {
        let fit = &only("spline-logit");
        holds(&Case { scenario: "dag", teacher, workload: SMALL, episodes: "12", fit, least });
    };
    of("sjf-cp,temperature=0.3,mode=sample", [8, 5, 0]);
    of("srpt-fair,temperature=0.5,mode=sample", [10, 6, 1]);
}

#[test]
#[cfg_attr(not(reference_data), ignore = "needs the reference data in ../shared")]
fn directions_of_the_public_network_hold() {
    let teacher = format!("decima:{}", reference("decima-model/model.pt").display());
    let profiles = reference("tpch/tpch_profiles.json.gz");
    let workload = format!("tpch:{},executors=10,jobs=50", profiles.display());
    let (teacher, workload, fit) = (&teacher, &workload, &only("spline-logit"));
    holds(&Case { scenario: "dag", teacher, workload, episodes: "6", fit, least: [12, 10, 3] });
}
