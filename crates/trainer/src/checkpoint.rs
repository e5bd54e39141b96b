//! The state of a training as one file, so that it is whole or not there.

use super::{Phase, TrainError, UpdateStats, Weights, adam::Adam, weights::Layout};
use sched_distill_core::network::{Tensor, Tensors};
use sched_distill_judge::practice::Validation;
use serde::{Deserialize, Serialize};
use std::{collections::BTreeMap, path::Path};

/// Version of the file.
const FORMAT: u32 = 2;
/// The text in the file's header.
const PROGRESS: &str = "progress";

/// What one iteration has seen and done. Iteration 0 is the network that training began with.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct IterationRow {
    /// Number of the iteration.
    pub iteration: u32,
    /// Imitation or reinforcement.
    pub phase: Phase,
    /// Decisions learned from.
    pub decisions: u64,
    /// Mean of the objective over the rollouts that were completed, in its unit.
    pub objective: Option<f64>,
    /// Rollouts that stranded the cluster.
    pub stalled: u32,
    /// Share of the variance of what decisions came to that was expected: from the backlog (Decima), by a value network (DL2, scorers).
    pub explained: f64,
    /// What the update saw.
    pub update: UpdateStats,
    /// Step of Adam.
    pub learning_rate: f64,
    /// Weight of the entropy.
    pub entropy_weight: f64,
    /// The network after the iteration on validation episodes, if it was looked at.
    pub validation: Option<Validation>,
}

/// The best network so far.
#[derive(Clone, Debug, PartialEq)]
pub struct Best {
    /// Iteration after which it was found.
    pub iteration: u32,
    /// Its score on validation episodes, see [`Validation::score`].
    pub score: f64,
    /// Its weights.
    pub weights: Weights,
}

/// Everything that a training needs to go on.
#[derive(Clone, Debug, PartialEq)]
pub struct Checkpoint {
    /// The weights as they are.
    pub weights: Weights,
    pub(super) adam: Adam,
    /// The best network so far; `None` until one has got through all validation episodes.
    pub best: Option<Best>,
    /// What happened, iteration by iteration.
    pub rows: Vec<IterationRow>,
    /// Wall time of each row, s. It is no part of what is reproducible.
    pub seconds: Vec<f64>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Progress {
    format: u32,
    adam_steps: u64,
    best: Option<(u32, f64)>,
    rows: Vec<IterationRow>,
    seconds: Vec<f64>,
}

impl Checkpoint {
    /// A training that has not begun.
    #[must_use]
    pub fn new(weights: Weights) -> Self {
        let adam = Adam::new(weights.data.len());
        Self { weights, adam, best: None, rows: Vec::new(), seconds: Vec::new() }
    }

    /// Iterations done; `None` before the first look at the network.
    #[must_use]
    pub fn iteration(&self) -> Option<u32> {
        self.rows.last().map(|row| row.iteration)
    }

    /// The bytes of the file (safetensors).
    ///
    /// # Errors
    ///
    /// A number that JSON cannot hold.
    pub fn to_bytes(&self) -> Result<Vec<u8>, TrainError> {
        let flat = |data: &[f32]| Tensor { shape: vec![data.len()], data: data.to_vec() };
        let mut entries = BTreeMap::from([
            ("weights".to_owned(), flat(&self.weights.data)),
            ("adam.mean".to_owned(), flat(&self.adam.mean)),
            ("adam.square".to_owned(), flat(&self.adam.square)),
        ]);
        if let Some(best) = &self.best {
            entries.insert("best".to_owned(), flat(&best.weights.data));
        }
        let progress = Progress {
            format: FORMAT,
            adam_steps: self.adam.steps,
            best: self.best.as_ref().map(|b| (b.iteration, b.score)),
            rows: self.rows.clone(),
            seconds: self.seconds.clone(),
        };
        let damaged = |e: serde_json::Error| TrainError::State { path: "state".into(), reason: e.to_string() };
        let text = serde_json::to_string(&progress).map_err(damaged)?;
        Ok(Tensors::new(entries, BTreeMap::from([(PROGRESS.to_owned(), text)])).to_safetensors()?)
    }

    /// Reads the file back; `path` names it in errors.
    ///
    /// # Errors
    ///
    /// A file that is damaged, of another version or of another network.
    pub fn from_bytes(bytes: &[u8], layout: &Layout, path: &Path) -> Result<Self, TrainError> {
        let fail = |reason: String| TrainError::State { path: path.to_owned(), reason };
        let tensors = Tensors::from_bytes(bytes, &path.display().to_string()).map_err(|e| fail(e.to_string()))?;
        let text = tensors.text(PROGRESS).ok_or_else(|| fail("not the state of a training".to_owned()))?;
        let progress: Progress = serde_json::from_str(text).map_err(|e| fail(format!("damaged: {e}")))?;
        if progress.format != FORMAT {
            return Err(fail(format!("has format {}, this program reads {FORMAT}", progress.format)));
        }
        let row = |name: &str| {
            let found = tensors.get(name).ok_or_else(|| fail(format!("`{name}` is missing")))?;
            let wrong = || fail(format!("`{name}` has {} numbers, which is another network", found.data.len()));
            Weights::with(layout, found.data.clone()).ok_or_else(wrong)
        };
        let best = match progress.best {
            Some((iteration, score)) => Some(Best { iteration, score, weights: row("best")? }),
            None => None,
        };
        let adam = Adam { mean: row("adam.mean")?.data, square: row("adam.square")?.data, steps: progress.adam_steps };
        Ok(Self { weights: row("weights")?, adam, best, rows: progress.rows, seconds: progress.seconds })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn damaged_states_are_refused_with_a_reason() -> Result<(), TrainError> {
        let path = Path::new("state.safetensors");
        let layout = Layout::from(vec![("a".to_owned(), vec![4, 3])]);
        let weights = |seed| Weights::random(layout.clone(), seed, |_| 1.0);
        let checkpoint = Checkpoint::new(weights(2));
        let bytes = checkpoint.to_bytes()?;
        assert_eq!(Checkpoint::from_bytes(&bytes, &layout, path)?, checkpoint);
        let reason = |bytes: &[u8]| Checkpoint::from_bytes(bytes, &layout, path).unwrap_err().to_string();
        assert!(reason(&bytes[..bytes.len() - 9]).contains("state.safetensors"));
        assert!(reason(b"nothing").contains("--force"));
        let wider = Checkpoint::from_bytes(&bytes, &vec![("a".to_owned(), vec![5, 3])].into(), path);
        assert!(wider.unwrap_err().to_string().contains("12 numbers, which is another network"));
        let other = weights(1).to_tensors().to_safetensors()?;
        assert!(reason(&other).contains("not the state of a training"));
        Ok(())
    }
}
