//! Times explanations of trees that were fitted elsewhere; `scripts/time_explainers.py` starts it and compares.
//!
//! ```text
//! cargo build --release --example explain_speed
//! target/release/examples/explain_speed DATA TREES
//! ```
//!
//! `DATA` holds `test100k_X.npy` and its companions of the example `synthetic_data`, and `100k_X.npy` for the background;
//! `TREES` holds `classifier.json` and `regressor.json`. Each line read from standard input names a case; the answer is one
//! line, the CPU seconds of the one thread that works.

#[path = "../tests/support/foreign_tree.rs"]
mod foreign_tree;

use foreign_tree::ForeignTree;
use sched_distill::{
    explainer::{
        ExplainError, Metric, Shuffles, TreeInteractions, TreeShap, accumulated_effects, conditional_expectation,
        partial_dependence, permutation_importance,
    },
    model::Tree,
};
use std::{error::Error, fs, hint::black_box, io, path::Path};

const WIDTH: usize = 24;

/// The bytes of an array in a NumPy file.
fn npy(path: &Path) -> Result<Vec<u8>, Box<dyn Error>> {
    let bytes = fs::read(path).map_err(|e| format!("{}: {e}", path.display()))?;
    let header = bytes.get(8..10).ok_or("not a NumPy file")?;
    let start = 10 + usize::from(u16::from_le_bytes([header[0], header[1]]));
    Ok(bytes.get(start..).ok_or("not a NumPy file")?.to_vec())
}

fn features(path: &Path) -> Result<Vec<f32>, Box<dyn Error>> {
    Ok(npy(path)?.as_chunks().0.iter().map(|&b| f32::from_le_bytes(b)).collect())
}

fn tree(path: &Path) -> Result<Tree, Box<dyn Error>> {
    let text = fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()))?;
    Ok(serde_json::from_str::<ForeignTree>(&text)?.into())
}

/// CPU seconds of this thread so far.
fn cpu_s() -> Result<f64, Box<dyn Error>> {
    let text = fs::read_to_string("/proc/thread-self/schedstat")?;
    Ok(text.split_whitespace().next().ok_or("no CPU time")?.parse::<f64>()? / 1e9)
}

/// CPU seconds of one run. The clock moves in steps of milliseconds, so short work is done over and over.
fn timed<T>(work: impl Fn() -> Result<T, ExplainError>) -> Result<f64, Box<dyn Error>> {
    let start = cpu_s()?;
    for runs in 1.. {
        black_box(work()?);
        let spent = cpu_s()? - start;
        if spent >= 0.2 {
            return Ok(spent / f64::from(runs));
        }
    }
    Err("time stood still".into())
}

fn main() -> Result<(), Box<dyn Error>> {
    rayon::ThreadPoolBuilder::new().num_threads(1).use_current_thread().build_global()?;
    let mut args = std::env::args().skip(1);
    let (Some(data), Some(trees)) = (args.next(), args.next()) else {
        return Err("usage: explain_speed DATA TREES".into());
    };
    let (data, trees) = (Path::new(&data), Path::new(&trees));
    let (classifier, regressor) = (tree(&trees.join("classifier.json"))?, tree(&trees.join("regressor.json"))?);
    let x = features(&data.join("test100k_X.npy"))?;
    let background = features(&data.join("100k_X.npy"))?[..100 * WIDTH].to_vec();
    let class =
        npy(&data.join("test100k_y.npy"))?.as_chunks().0.iter().map(|&b| i64::from_le_bytes(b) as u32).collect();
    let class: Vec<u32> = class;
    let y: Vec<f64> =
        npy(&data.join("test100k_yreg.npy"))?.as_chunks().0.iter().map(|&b| f64::from_le_bytes(b)).collect();
    let first = |rows: usize| &x[..rows * WIDTH];

    let path = [&classifier, &regressor].map(|t| TreeShap::path_dependent(t, WIDTH));
    let [path_8, path_1] = path;
    let (path_8, path_1) = (path_8?, path_1?);
    let against_8 = TreeShap::interventional(&classifier, WIDTH, &background, None)?;
    let against_1 = TreeShap::interventional(&regressor, WIDTH, &background, None)?;
    let pairs = TreeInteractions::new(&regressor, WIDTH)?;
    let groups: Vec<Vec<usize>> = (0..WIDTH).map(|f| vec![f]).collect();
    let grid: Vec<f32> = {
        let mut column: Vec<f32> = first(10_000).chunks(WIDTH).map(|r| r[1]).collect();
        column.sort_unstable_by(f32::total_cmp);
        (0..50).map(|i| column[500 + i * 9000 / 49]).collect()
    };
    let permute = |tree: &Tree, metric: Metric<'_>, rows: usize| {
        let shuffles = Shuffles::Seeded { seed: 0, repeats: 5 };
        permutation_importance(tree, first(rows), WIDTH, metric, None, &groups, shuffles)
    };
    for line in io::stdin().lines() {
        let seconds = match line?.trim() {
            "shap path, 8 classes" => timed(|| path_8.explain(first(10_000)))?,
            "shap path, regression" => timed(|| path_1.explain(first(10_000)))?,
            "shap path, 8 classes, one row" => timed(|| path_8.explain(first(1)))?,
            "shap 100 background rows, 8 classes" => timed(|| against_8.explain(first(1000)))?,
            "shap 100 background rows, regression" => timed(|| against_1.explain(first(1000)))?,
            "shap interactions, regression" => timed(|| pairs.explain(first(300)))?,
            "set-up, path, 8 classes" => timed(|| TreeShap::path_dependent(&classifier, WIDTH))?,
            "set-up, 100 background rows, 8 classes" => {
                timed(|| TreeShap::interventional(&classifier, WIDTH, &background, None))?
            }
            "set-up, interactions, regression" => timed(|| TreeInteractions::new(&regressor, WIDTH))?,
            "permutation, accuracy, 10k rows" => {
                timed(|| permute(&classifier, Metric::Accuracy(&class[..10_000]), 10_000))?
            }
            "permutation, R2, 10k rows" => timed(|| permute(&regressor, Metric::R2(&y[..10_000]), 10_000))?,
            "permutation, accuracy, 100k rows" => timed(|| permute(&classifier, Metric::Accuracy(&class), 100_000))?,
            "permutation, R2, 100k rows" => timed(|| permute(&regressor, Metric::R2(&y), 100_000))?,
            "partial dependence, regression" => {
                timed(|| partial_dependence(&regressor, first(10_000), WIDTH, None, 1, &grid))?
            }
            "partial dependence and rows, 8 classes" => {
                timed(|| conditional_expectation(&classifier, first(10_000), WIDTH, 1, &grid))?
                    + timed(|| partial_dependence(&classifier, first(10_000), WIDTH, None, 1, &grid))?
            }
            "accumulated effects, regression" => {
                timed(|| accumulated_effects(&regressor, first(10_000), WIDTH, None, 1, 50))?
            }
            other => return Err(format!("no such case: `{other}`").into()),
        };
        println!("{seconds}");
    }
    Ok(())
}
