//! The checkpoint of a scorer: which tensors there are, and what its header says.

use super::super::{NeuralError, Tensors, dense::Layer};
use crate::level::{FeatureSet, LevelSpec};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The text in the header of the file: all that is said in one, since several would be written in no order.
const HEADER: &str = "scorer";
/// Version of the file.
const VERSION: u32 = 1;

/// What the header says.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Header {
    version: u32,
    scenario: String,
    feature_set: FeatureSet,
    feature_set_hash: String,
    width: usize,
    depth: usize,
}

/// How many scales from the mean a feature counts at most: what a network has never seen is to look like the most extreme that it
/// has.
const REACH: f32 = 8.0;

/// Times and amounts of work differ by orders of magnitude: `sign(x) ln(1 + |x|)`.
///
/// ```
/// # use sched_distill_core::network::scorer::squash;
/// assert_eq!((squash(0.0), squash(-3.0)), (0.0, -squash(3.0)));
/// ```
#[inline]
#[must_use]
pub fn squash(x: f32) -> f32 {
    (1.0 + x.abs()).ln().copysign(x)
}

/// How large the network is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScorerShape {
    /// Neurons of each layer, a multiple of 16.
    pub width: usize,
    /// Layers that embed a candidate; two more score it.
    pub depth: usize,
}

impl Default for ScorerShape {
    fn default() -> Self {
        Self { width: 32, depth: 2 }
    }
}

impl ScorerShape {
    /// Neurons that there may be.
    pub const MAX_WIDTH: usize = 1024;
    /// Layers that there may be.
    pub const MAX_DEPTH: usize = 8;

    /// Checks the ranges.
    ///
    /// # Errors
    ///
    /// What is out of range, and what is allowed.
    pub fn check(self) -> Result<(), String> {
        let Self { width, depth } = self;
        if width == 0 || !width.is_multiple_of(16) || width > Self::MAX_WIDTH {
            return Err(format!("width {width}: neurons come in multiples of 16, up to {}", Self::MAX_WIDTH));
        }
        if !(1..=Self::MAX_DEPTH).contains(&depth) {
            return Err(format!("depth {depth}: there may be 1 to {} layers", Self::MAX_DEPTH));
        }
        Ok(())
    }

    /// How many numbers tell a level what was taken above it: none at the first.
    #[must_use]
    pub fn context(self, level: usize) -> usize {
        if level == 0 { 0 } else { 2 * self.width }
    }

    /// Names and shapes of all tensors, in order: pairs of mean and scale, or of weight and bias. By level the means and
    /// scales, the layers that embed and the two that score; at last the three that value a state.
    #[must_use]
    pub fn tensors(self, set: &FeatureSet) -> Vec<(String, Vec<usize>)> {
        let mut all = Vec::new();
        let mut layer = |name: String, outputs: usize, inputs: usize| {
            all.push((format!("{name}.weight"), vec![outputs, inputs]));
            all.push((format!("{name}.bias"), vec![outputs]));
        };
        for (i, LevelSpec { name, features, .. }) in set.levels.iter().enumerate() {
            for n in 0..self.depth {
                let inputs = if n == 0 { features.len() + self.context(i) } else { self.width };
                layer(format!("{name}.embed.{n}"), self.width, inputs);
            }
            layer(format!("{name}.score.0"), self.width, 2 * self.width);
            layer(format!("{name}.score.1"), 1, self.width);
        }
        let features = set.levels.first().map_or(0, |level| level.features.len());
        layer("value.0".to_owned(), self.width, features);
        layer("value.1".to_owned(), self.width, self.width);
        layer("value.2".to_owned(), 1, self.width);
        let norms = set.levels.iter().flat_map(|LevelSpec { name, features, .. }| {
            ["mean", "scale"].map(|what| (format!("{name}.{what}"), vec![features.len()]))
        });
        norms.chain(all).collect()
    }

    /// The texts of the header.
    #[must_use]
    pub fn texts(self, set: &FeatureSet) -> BTreeMap<String, String> {
        let header = Header {
            version: VERSION,
            scenario: set.scenario.clone(),
            feature_set: set.clone(),
            feature_set_hash: set.hash(),
            width: self.width,
            depth: self.depth,
        };
        // Plain data always has a text.
        [(HEADER.to_owned(), serde_json::to_string(&header).unwrap_or_default())].into()
    }
}

/// A network that is ready to be evaluated.
#[derive(Clone, Debug)]
pub struct ScorerWeights {
    set: FeatureSet,
    shape: ScorerShape,
    pub(super) levels: Vec<Level>,
}

/// The head of a level.
#[derive(Clone, Debug)]
pub(super) struct Level {
    pub(super) mean: Vec<f32>,
    pub(super) scale: Vec<f32>,
    pub(super) embed: Vec<Layer>,
    pub(super) score: Layer,
    /// Weights of the last layer in groups of eight, and its bias.
    pub(super) last: Vec<[f32; 8]>,
    pub(super) bias: f32,
}

impl ScorerWeights {
    /// Whether a checkpoint says that it is of a scorer.
    #[must_use]
    pub fn is_in(tensors: &Tensors) -> bool {
        tensors.text(HEADER).is_some()
    }

    /// The network of a checkpoint; `origin` names it in errors.
    ///
    /// # Errors
    ///
    /// A checkpoint of something else or of another version, a header that is damaged, tensors that do not fit it, or scales
    /// that are not above 0.
    pub fn from_tensors(tensors: &Tensors, origin: &str) -> Result<Self, NeuralError> {
        let fail = |reason: String| NeuralError::Format { origin: origin.to_owned(), reason };
        let missing = || fail("not a checkpoint of `distill train scorer`: its header does not name one".to_owned());
        let text = tensors.text(HEADER).ok_or_else(missing)?;
        let damaged = |e: serde_json::Error| fail(format!("its header is damaged: {e}"));
        let header: serde_json::Value = serde_json::from_str(text).map_err(damaged)?;
        let version = &header["version"];
        if *version != VERSION {
            return Err(fail(format!("a scorer of version {version}; this program reads {VERSION}")));
        }
        let Header { scenario, feature_set: set, feature_set_hash, width, depth, .. } =
            serde_json::from_value(header).map_err(damaged)?;
        if !set.has_hash(&feature_set_hash) || set.scenario != scenario {
            return Err(fail("the feature set in its header is not the one that it names".to_owned()));
        }
        if set.levels.is_empty() || set.levels.iter().any(|level| level.features.is_empty()) {
            return Err(fail("the feature set in its header has no level, or one without features".to_owned()));
        }
        let shape = ScorerShape { width, depth };
        shape.check().map_err(fail)?;
        tensors.expect(&shape.tensors(&set), origin)?;
        let data = |name: String| tensors.get(&name).map_or(&[][..], |t| &t.data);
        let layer = |name: String| Layer::new(data(format!("{name}.weight")), data(format!("{name}.bias")));
        let mut levels = Vec::new();
        for LevelSpec { name, .. } in &set.levels {
            let scale = data(format!("{name}.scale"));
            if let Some(place) = scale.iter().position(|&scale| scale <= 0.0) {
                return Err(fail(format!(
                    "`{name}.scale` holds {} at index {place}, expected more than 0",
                    scale[place]
                )));
            }
            levels.push(Level {
                mean: data(format!("{name}.mean")).to_vec(),
                scale: scale.to_vec(),
                embed: (0..shape.depth).map(|n| layer(format!("{name}.embed.{n}"))).collect(),
                score: layer(format!("{name}.score.0")),
                last: data(format!("{name}.score.1.weight")).as_chunks().0.to_vec(),
                bias: data(format!("{name}.score.1.bias"))[0],
            });
        }
        Ok(Self { set, shape, levels })
    }

    /// Refuses to read other features than those of a program that runs it; `origin` names the file.
    ///
    /// # Errors
    ///
    /// The first difference, and what to do.
    pub fn check(&self, here: &FeatureSet, origin: &str) -> Result<(), NeuralError> {
        let Some(difference) = self.set.difference(here) else { return Ok(()) };
        let reason = format!(
            "it was trained on another feature set (hash {}) than this build extracts for `{}` (hash {}): {difference}; train it \
             again with `distill train scorer --scenario {}`",
            self.set.hash(),
            here.scenario,
            here.hash(),
            here.scenario
        );
        Err(NeuralError::Format { origin: origin.to_owned(), reason })
    }

    /// The features that it reads.
    #[must_use]
    pub fn feature_set(&self) -> &FeatureSet {
        &self.set
    }

    /// How large it is.
    #[must_use]
    pub fn shape(&self) -> ScorerShape {
        self.shape
    }

    /// How many numbers it has, those that value states not counted.
    #[must_use]
    pub fn numbers(&self) -> usize {
        let all = self.shape.tensors(&self.set);
        let own = all.iter().filter(|(name, _)| !name.starts_with("value."));
        own.map(|(_, shape)| shape.iter().product::<usize>()).sum()
    }

    /// What the network is given of a level's rows: `out` gets as many numbers as `rows` has.
    pub fn standardise(&self, level: usize, rows: &[f32], out: &mut Vec<f32>) {
        let Level { mean, scale, .. } = &self.levels[level];
        out.clear();
        for row in rows.chunks_exact(mean.len()) {
            out.extend(row.iter().zip(mean).zip(scale).map(|((&x, mean), scale)| {
                let z = (squash(x) - mean) / scale;
                z.clamp(-REACH, REACH)
            }));
        }
    }
}
