//! How fast models train on how many GPUs, as the artifact of Chronus (SoCC'21) measured it.
//!
//! `model_info.json` has, by model, GPUs and the nodes that these are spread over, the speed relative to as many GPUs on one node.

use super::models::LARGEST;
use crate::Law;
use sched_distill_core::workload::{WorkloadError, read_json};
use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

/// The file, which lies beside the log.
const FILE: &str = "model_info.json";

/// Sweeps of a fit; far more than it takes.
const SWEEPS: u32 = 20_000;

/// A model as Chronus measured it.
#[derive(Clone, Debug)]
pub(super) struct ChronusModel {
    pub(super) name: String,
    /// How long an iteration takes, in shares of that on one GPU.
    pub(super) law: Law,
}

/// Models, the largest relative error of their laws, and where they stand.
#[derive(Clone, Debug)]
pub(super) struct Measured {
    pub(super) models: Vec<ChronusModel>,
    pub(super) error: f64,
    pub(super) path: PathBuf,
}

/// By model, GPUs and nodes: the speed relative to one node.
type Speeds = BTreeMap<String, BTreeMap<u32, BTreeMap<u32, f64>>>;

impl Measured {
    /// Reads the file that lies beside a log, for nodes of so many GPUs.
    ///
    /// # Errors
    ///
    /// There is none, or it is of another form.
    pub(super) fn beside(log: &Path, node_gpus: u32) -> Result<Self, WorkloadError> {
        let path = log.parent().unwrap_or(Path::new("")).join(FILE);
        if !path.exists() {
            let problem = format!(
                "needs the file {FILE} of Chronus beside it, which says how fast its models train on how many GPUs: there is no {}",
                path.display()
            );
            return Err(WorkloadError::Format { path: log.to_owned(), problem });
        }
        let speeds: Speeds = read_json(&path, "docs/histories.md")?;
        Self::of(&speeds, node_gpus, path.clone()).map_err(|problem| WorkloadError::Format { path, problem })
    }

    fn of(speeds: &Speeds, node_gpus: u32, path: PathBuf) -> Result<Self, String> {
        if speeds.is_empty() {
            return Err("has no model; at least one is needed".to_owned());
        }
        let (mut models, mut worst) = (Vec::with_capacity(speeds.len()), 0.0);
        for (name, by_gpus) in speeds {
            for (gpus, by_nodes) in by_gpus {
                if let Some((nodes, speed)) = by_nodes.iter().find(|(_, speed)| !(1e-6..=1e6).contains(*speed)) {
                    return Err(format!(
                        "model `{name}`: {gpus} GPUs on {nodes} nodes: a relative speed must be a number in 1e-6..=1e6, got {speed}"
                    ));
                }
            }
            let times: Vec<(f64, f64)> = (1..=LARGEST)
                .map(|gpus| (f64::from(gpus), 1.0 / (f64::from(gpus) * speed(by_gpus, node_gpus, gpus))))
                .collect();
            let (law, error) = fitted(&times);
            worst = f64::max(worst, error);
            models.push(ChronusModel { name: name.clone(), law });
        }
        Ok(Self { models, error: worst, path })
    }
}

/// The speed of so many GPUs on the fewest nodes that hold them, relative to one node: as known, between two that are known on the line
/// through them, beyond the last as there. One GPU is on one node.
fn speed(by_gpus: &BTreeMap<u32, BTreeMap<u32, f64>>, node_gpus: u32, gpus: u32) -> f64 {
    let known = by_gpus.iter().filter_map(|(&gpus, by_nodes)| Some((gpus, *by_nodes.get(&gpus.div_ceil(node_gpus))?)));
    let (mut below, mut above) = ((1, 1.0), None);
    for (at, speed) in known.filter(|&(at, _)| at > 1) {
        if at <= gpus {
            below = (at, speed);
        } else if above.is_none() {
            above = Some((at, speed));
        }
    }
    match above {
        None => below.1,
        Some((at, speed)) => {
            let share = f64::from(gpus - below.0) / f64::from(at - below.0);
            below.1 + share * (speed - below.1)
        }
    }
}

/// The law whose times are nearest to these by least squares of relative errors, none of its parts negative, and the largest of these errors.
fn fitted(times: &[(f64, f64)]) -> (Law, f64) {
    let design: Vec<[f64; 3]> = times.iter().map(|&(gpus, time)| [1.0, 1.0 / gpus, gpus].map(|x| x / time)).collect();
    let of = |parts: &[f64; 3], x: &[f64; 3]| parts.iter().zip(x).map(|(part, x)| part * x).sum::<f64>();
    let mut parts = [0.0, 1.0, 0.0];
    // One part after the other takes its best value that is not negative: the sum of squares is convex, so this ends at its least.
    for _ in 0..SWEEPS {
        for place in 0..3 {
            let (mut over, mut square) = (0.0, 0.0);
            for x in &design {
                over += x[place] * (1.0 - of(&parts, x));
                square += x[place] * x[place];
            }
            parts[place] = f64::max(0.0, parts[place] + over / square);
        }
    }
    let error = design.iter().map(|x| (of(&parts, x) - 1.0).abs()).fold(0.0, f64::max);
    let [serial_ms, parallel_ms, overhead_ms] = parts;
    (Law { serial_ms, parallel_ms, overhead_ms }, error)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str, node_gpus: u32) -> Result<Measured, String> {
        let dir = tempfile::tempdir().map_err(|e| e.to_string())?;
        std::fs::write(dir.path().join(FILE), text).map_err(|e| e.to_string())?;
        Measured::beside(&dir.path().join("log.csv"), node_gpus).map_err(|e| e.to_string())
    }

    #[test]
    fn speeds_are_those_on_the_fewest_nodes() {
        let by_gpus: BTreeMap<u32, BTreeMap<u32, f64>> =
            serde_json::from_str(r#"{"2": {"1": 1, "2": 0.7}, "4": {"1": 1, "2": 0.5}, "8": {"1": 1, "2": 0.4}}"#)
                .unwrap();
        let of = |node_gpus, gpus: [u32; 6]| gpus.map(|gpus| (1e3 * speed(&by_gpus, node_gpus, gpus)).round() / 1e3);
        assert_eq!(of(4, [1, 2, 3, 4, 6, 16]), [1.0, 1.0, 1.0, 1.0, 0.7, 0.4]);
        // On nodes of two, eight GPUs take four, of which nothing is known.
        assert_eq!(of(2, [1, 2, 3, 4, 6, 16]), [1.0, 1.0, 0.75, 0.5, 0.5, 0.5]);
    }

    #[test]
    fn a_law_is_found_again_and_one_that_is_none_has_an_error() {
        let law = Law { serial_ms: 0.05, parallel_ms: 0.94, overhead_ms: 0.01 };
        let times: Vec<(f64, f64)> = (1..=LARGEST).map(|c| (f64::from(c), law.time_ms(c))).collect();
        let (found, error) = fitted(&times);
        assert!(error < 1e-6, "{found:?}: {error}");
        for (a, b) in [(found.serial_ms, 0.05), (found.parallel_ms, 0.94), (found.overhead_ms, 0.01)] {
            assert!((a - b).abs() < 1e-5, "{found:?}");
        }
        // Faster than in proportion: no part is negative all the same.
        let times: Vec<(f64, f64)> = (1..=LARGEST).map(|c| (f64::from(c), f64::from(c).powf(-1.2))).collect();
        let (found, error) = fitted(&times);
        assert!(found.serial_ms == 0.0 && found.overhead_ms == 0.0 && error > 0.1, "{found:?}: {error}");
    }

    #[test]
    fn mistakes_are_named() {
        for (text, says) in [
            ("{}", "has no model"),
            (r#"{"m": {"2": {"1": 0}}}"#, "model `m`: 2 GPUs on 1 nodes: a relative speed must be a number"),
            (r#"{"m": {"two": {"1": 1}}}"#, "model_info.json: not a workload (docs/histories.md)"),
        ] {
            let problem = read(text, 4).unwrap_err();
            assert!(problem.contains(says), "{problem}");
        }
        let dir = tempfile::tempdir().unwrap();
        let problem = Measured::beside(&dir.path().join("log.csv"), 4).unwrap_err().to_string();
        assert!(problem.contains("log.csv: needs the file model_info.json of Chronus beside it"), "{problem}");
    }
}
