//! Times the tree learner on NumPy files, beside other tools (`scripts/time_learners.py` runs both in turn).
//!
//! ```text
//! cargo run --release --example time_tree -- DIR SET classes|values exact|histogram [weighted] [entropy]
//!     [full] [depth=N] [repeats=N] [tree=FILE]
//! ```
//!
//! Reads `DIR/SET_X.npy`, `_y.npy` or `_yreg.npy` and `_w.npy`, as `synthetic_data` writes them; fits 200 leaves (`full`: no
//! limit) `repeats` times; prints one JSON line: medians of wall and CPU seconds, leaves, accuracy or R² on
//! `DIR/test100k_*`, peak memory. `tree=FILE` writes the tree.

use sched_distill::distiller::{Criterion, Engine, Targets, TreeData, TreeParams, fit_tree};
use std::{error::Error, fs, path::Path, time::Instant};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// The numbers of a NumPy file of version 1, row-major, after its header.
fn npy<const SIZE: usize, T>(path: &Path, parse: fn([u8; SIZE]) -> T) -> Result<Vec<T>> {
    let bytes = fs::read(path).map_err(|e| format!("{}: {e}", path.display()))?;
    let header = 10 + usize::from(u16::from_le_bytes([bytes[8], bytes[9]]));
    Ok(bytes[header..].as_chunks::<SIZE>().0.iter().map(|&b| parse(b)).collect())
}

/// CPU seconds of all threads so far.
fn cpu_seconds() -> f64 {
    let tasks = fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let text = tasks.filter_map(|task| fs::read_to_string(task.path().join("schedstat")).ok());
    text.filter_map(|t| t.split(' ').next()?.parse::<f64>().ok()).sum::<f64>() / 1e9
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn main() -> Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [dir, set, task, engine, options @ ..] = &args[..] else {
        return Err("usage: time_tree DIR SET classes|values exact|histogram [OPTION ...]".into());
    };
    if !["classes", "values"].contains(&task.as_str()) || !["exact", "histogram"].contains(&engine.as_str()) {
        return Err(format!("`{task}` and `{engine}`: expected classes|values and exact|histogram").into());
    }
    let has = |name: &str| options.iter().any(|o| o == name);
    let option = |name: &str| options.iter().find_map(|o| o.strip_prefix(name)?.strip_prefix('='));
    let file = |set: &str, what: &str| Path::new(dir).join(format!("{set}_{what}.npy"));
    let load = |set: &str| -> Result<(Vec<f32>, Vec<u32>, Vec<f64>)> {
        let class = npy(&file(set, "y"), i64::from_le_bytes)?.into_iter().map(|c| c as u32).collect();
        Ok((npy(&file(set, "X"), f32::from_le_bytes)?, class, npy(&file(set, "yreg"), f64::from_le_bytes)?))
    };
    let (x, class, y) = load(set)?;
    let weight = if has("weighted") { Some(npy(&file(set, "w"), f64::from_le_bytes)?) } else { None };
    let width = x.len() / y.len();
    let classes = class.iter().max().map_or(1, |&c| c as usize + 1);
    let classify = task == "classes";
    let targets = if classify { Targets::Classes { class: &class, classes } } else { Targets::Values(&y) };
    let data = TreeData { x: &x, width, targets, weight: weight.as_deref() };
    let mut params = TreeParams::default().round_thresholds(false);
    if engine == "histogram" {
        params = params.engine(Engine::Histogram { max_bins: 255 });
    }
    if has("entropy") {
        params = params.criterion(Criterion::Entropy);
    }
    if let Some(depth) = option("depth") {
        params = params.max_depth(depth.parse::<usize>()?);
    } else if !has("full") {
        params = params.max_leaf_nodes(200usize);
    }
    let repeats: usize = option("repeats").unwrap_or("3").parse()?;
    let (mut wall, mut cpu, mut fitted) = (Vec::new(), Vec::new(), None);
    for _ in 0..repeats.max(1) {
        let (start, cpu_start) = (Instant::now(), cpu_seconds());
        fitted = Some(fit_tree(data, &params)?);
        wall.push(start.elapsed().as_secs_f64());
        cpu.push(cpu_seconds() - cpu_start);
    }
    let tree = fitted.ok_or("no repeats")?;
    let (test_x, test_class, test_y) = load("test100k")?;
    let rows = || test_x.chunks_exact(width);
    let score = if classify {
        rows().zip(&test_class).filter(|(x, c)| tree.predict_class(x) == **c as usize).count() as f64
            / test_class.len() as f64
    } else {
        let mean = test_y.iter().sum::<f64>() / test_y.len() as f64;
        let total: f64 = test_y.iter().map(|y| (y - mean) * (y - mean)).sum();
        1.0 - rows().zip(&test_y).map(|(x, y)| (tree.predict(x) - y).powi(2)).sum::<f64>() / total
    };
    if let Some(path) = option("tree") {
        fs::write(path, serde_json::to_string(&tree)?)?;
    }
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find_map(|l| l.strip_prefix("VmHWM:")?.trim().strip_suffix(" kB")?.parse::<u64>().ok());
    let line = serde_json::json!({
        "set": set, "task": task, "engine": engine, "options": options, "wall_s": median(wall), "cpu_s": median(cpu),
        "leaves": tree.leaves(), "depth": tree.depth(), "score": score, "peak_mb": peak.unwrap_or(0) / 1024,
    });
    println!("{line}");
    Ok(())
}
