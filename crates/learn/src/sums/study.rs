//! A student of millions of choices against fits in memory; not run unless somebody names the traces:
//!
//! `STUDY_TRACES=DIR,... STUDY_STUDENT=FILE [STUDY_LEVELS=job,...] cargo test --release -p sched-distill-learn -- --ignored --nocapture million`

use super::tests::assert_same;
use crate::{Engine, FitParams, Survey, Targets, TreeData, fit_tree_in_bins, is_usable, learner::recipe, target};
use sched_distill_core::model::{LEAF, Model, Student, Tree};
use sched_distill_trace::{LevelTable, Trace};
use std::{env, error::Error, path::Path, time::Instant};

#[test]
#[ignore = "needs traces of a million choices and a student that was fitted to them elsewhere"]
fn a_student_of_a_million_choices_is_that_of_a_fit_in_memory() -> Result<(), Box<dyn Error>> {
    let student = Student::load(Path::new(&env::var("STUDY_STUDENT")?))?;
    let params: FitParams = serde_json::from_value(student.provenance.parameters.clone())?;
    let Engine::Histogram { max_bins } = params.engine else { panic!("a histogram") };
    let traces =
        env::var("STUDY_TRACES")?.split(',').map(|dir| Trace::open(Path::new(dir))).collect::<Result<Vec<_>, _>>()?;
    let levels = env::var("STUDY_LEVELS").ok();
    for models in &student.levels {
        let level = &models.level;
        if levels.as_ref().is_some_and(|levels| levels.split(',').all(|name| name != level)) {
            continue;
        }
        let mut all = traces[0].pieces(level)?.empty();
        let count = traces.iter().map(|trace| trace.rows_of(level) as u64).sum();
        let mut survey = Survey::new(all.width(), all.kinds.len(), count);
        let mut part = 0;
        for trace in &traces {
            for file in 0..trace.files_of(level)?.count() {
                for piece in trace.pieces_of_file(level, file)? {
                    let piece = piece?.filter(is_usable);
                    survey.add(part, &piece);
                    all.append(piece);
                }
                part += 1;
            }
        }
        if survey.choices == 0 {
            continue;
        }
        println!("{level}: {} choices, {} candidates", all.choices.len(), all.rows());
        for model in &models.models {
            let started = Instant::now();
            match &model.model {
                Model::Tree(tree) => {
                    let rows = target::rows(&all, params.target, params.balance, None)?;
                    let recipe = recipe(&params, rows.variance()).engine(Engine::Histogram { max_bins });
                    let values = Targets::Values(&rows.y);
                    let data = TreeData { x: &rows.x, width: all.width(), targets: values, weight: Some(&rows.weight) };
                    let expected = fit_tree_in_bins(data, &survey.bins(max_bins), &recipe)?;
                    println!(
                        "  tree: {} leaves, depth {}; in memory {:.1} s; values differ by at most {:e}",
                        tree.leaves(),
                        tree.depth(),
                        started.elapsed().as_secs_f64(),
                        largest(&tree.value, &expected.value)
                    );
                    // In memory they are sums of millions of numbers, one after the other.
                    assert_same(tree, &expected, [1e-10, 1e-9]);
                    let exact = means(tree, &rows);
                    let by = largest(&tree.value, &exact);
                    println!(
                        "  those of sums without rounding: by {by:e}, in memory by {:e}",
                        largest(&expected.value, &exact)
                    );
                    assert!(by < 1e-12);
                }
                Model::Additive(additive) => {
                    let factors: Vec<_> = additive.terms.iter().map(|term| term.factors.clone()).collect();
                    let expected = in_memory(&all, &factors, &params)?;
                    let found: Vec<f64> = additive.terms.iter().map(|term| term.coefficient).collect();
                    let by = largest(&found, &expected);
                    println!(
                        "  {}: {} terms; in memory {:.1} s; coefficients differ by at most {by:e}",
                        model.name,
                        found.len(),
                        started.elapsed().as_secs_f64()
                    );
                    assert!(by < 1e-8);
                }
                _ => {}
            }
        }
    }
    Ok(())
}

/// By node, the mean of the target, from sums that carry along what rounding takes from them (Neumaier 1974).
fn means(tree: &Tree, rows: &target::Rows<'_>) -> Vec<f64> {
    let mut sums = vec![[[0.0; 2]; 2]; tree.value.len()];
    let width = rows.x.len() / rows.y.len();
    for ((x, y), weight) in rows.x.chunks_exact(width).zip(&rows.y).zip(&rows.weight) {
        let mut node = 0;
        loop {
            for ([sum, lost], summand) in sums[node].iter_mut().zip([*weight, weight * y]) {
                let more = *sum + summand;
                *lost += if sum.abs() >= summand.abs() { (*sum - more) + summand } else { (summand - more) + *sum };
                *sum = more;
            }
            if tree.left[node] == LEAF {
                break;
            }
            let is_left = x[tree.feature[node] as usize] <= tree.threshold[node];
            node = if is_left { tree.left[node] } else { tree.right[node] } as usize;
        }
    }
    sums.iter().map(|[[weight, a], [target, b]]| (target + b) / (weight + a)).collect()
}

fn in_memory(
    all: &LevelTable,
    terms: &[Vec<sched_distill_core::model::Factor>],
    params: &FitParams,
) -> Result<Vec<f64>, Box<dyn Error>> {
    let choices = target::choices(all, params.balance, None)?;
    let data = choices.data();
    let x = crate::spline::columns(&data, terms);
    let recipe = crate::LogitParams::default().ridge(params.ridge);
    let fitted = crate::fit_logit(&crate::spline::wide(&data, &x, terms.len()), &recipe)?;
    Ok(fitted.terms.iter().map(|term| term.coefficient).collect())
}

fn largest(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
}
