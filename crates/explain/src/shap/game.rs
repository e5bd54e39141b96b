//! The game of one leaf: what each feature, or pair of features, adds to whether the leaf counts.
//!
//! A tree is the sum of its leaves, and SHAP values are linear, so it is enough to know those of "the row is in this leaf".
//! A row takes part only through its *pattern*: one bit per feature on the way to the leaf, set if the row's value passes.

use super::{super::path::Paths, quadrature::Rule};

/// Numbers to be added to the output, one per *term*, as a function of a leaf and a row's pattern.
pub(super) trait Game: Sync {
    /// Where the terms of a leaf go: places in a row of the output.
    fn targets(&self, leaf: usize) -> Vec<u32>;

    /// Writes the terms of a leaf for a pattern, least significant bit first. `scratch` may hold anything.
    fn weigh(&self, leaf: usize, pattern: &[u64], scratch: &mut Vec<f64>, terms: &mut [f64]);

    /// Leaves with more features than this are weighed row by row, not by a table.
    fn table_bits(&self) -> usize;
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn bit(pattern: &[u64], i: usize) -> f64 {
    ((pattern[i / 64] >> (i % 64)) & 1) as f64
}

/// The path-dependent game: a feature that is not known lets through its share z of the training weight, so a set S of known
/// ones gives Π_S o · Π_rest z. With t the part of the other features that are known, the SHAP value of feature i is
///
/// ```text
/// (oᵢ − zᵢ) ∫₀¹ Π_{j≠i} (zⱼ (1 − t) + oⱼ t) dt
/// ```
///
/// because ∫ tˢ (1 − t)^(m−s) dt = s! (m − s)! / (m + 1)! is the Shapley weight. The integrand is a polynomial, so quadrature
/// is exact, and no factor is negative, so nothing cancels, however deep the tree.
#[derive(Debug)]
pub(super) struct PathGame {
    /// Per leaf, the shares of its features.
    share: Vec<Vec<f64>>,
    feature: Vec<Vec<u32>>,
    /// By the number of features on the way to the leaf.
    rule: Vec<Rule>,
    /// Output features of an interaction's row; `None` for plain SHAP values.
    pairs_of: Option<u32>,
}

impl PathGame {
    /// The game of SHAP values.
    pub(super) fn new(paths: &Paths) -> Self {
        let leaves = || (0..paths.len()).map(|leaf| paths.sides(leaf));
        let most = leaves().map(<[_]>::len).max().unwrap_or(0);
        Self {
            share: leaves().map(|sides| sides.iter().map(|s| s.share).collect()).collect(),
            feature: leaves().map(|sides| sides.iter().map(|s| s.feature).collect()).collect(),
            rule: (0..=most).map(|d| Rule::for_degree(d.saturating_sub(1))).collect(),
            pairs_of: None,
        }
    }

    /// The game of interaction values: first the SHAP value of each feature of a leaf, then half the interaction of each
    /// pair. Values go to the diagonal of a `(width, width)` matrix and pairs above it.
    pub(super) fn pairs(paths: &Paths, width: usize) -> Self {
        Self { pairs_of: Some(width as u32), ..Self::new(paths) }
    }
}

impl Game for PathGame {
    fn targets(&self, leaf: usize) -> Vec<u32> {
        let features = &self.feature[leaf];
        let Some(width) = self.pairs_of else { return features.clone() };
        let pairs = (0..features.len()).flat_map(|i| (i + 1..features.len()).map(move |j| (i, j)));
        let place = |(i, j): (usize, usize)| {
            let (a, b) = (features[i].min(features[j]), features[i].max(features[j]));
            a * width + b
        };
        features.iter().map(|f| f * width + f).chain(pairs.map(place)).collect()
    }

    fn weigh(&self, leaf: usize, pattern: &[u64], scratch: &mut Vec<f64>, terms: &mut [f64]) {
        let share = &self.share[leaf];
        let (d, rule) = (share.len(), &self.rule[share.len()]);
        let points = rule.len();
        let gain = |i: usize| bit(pattern, i) - share[i];
        let factor = |i: usize, t: f64| share[i] * (1.0 - t) + bit(pattern, i) * t;
        scratch.clear();
        scratch.resize((2 * d + 3) * points, 1.0);
        // Products of the factors before each feature; weight × those from each feature on; one number per point.
        let (between, rest) = scratch.split_at_mut(points);
        let (ahead, behind) = rest.split_at_mut((d + 1) * points);
        for i in 0..d {
            let (done, next) = ahead[i * points..].split_at_mut(points);
            for ((next, done), &t) in next.iter_mut().zip(done).zip(&rule.node) {
                *next = *done * factor(i, t);
            }
        }
        behind[d * points..].copy_from_slice(&rule.weight);
        for i in (0..d).rev() {
            let (next, done) = behind[i * points..].split_at_mut(points);
            for ((next, done), &t) in next.iter_mut().zip(&*done).zip(&rule.node) {
                *next = *done * factor(i, t);
            }
            terms[i] = gain(i) * dot(&ahead[i * points..][..points], &done[..points]);
        }
        if self.pairs_of.is_none() {
            return;
        }
        let mut pair = terms[d..].iter_mut();
        for i in 0..d {
            between.copy_from_slice(&ahead[i * points..][..points]);
            for j in i + 1..d {
                if let Some(term) = pair.next() {
                    *term = 0.5 * gain(i) * gain(j) * dot(between, &behind[(j + 1) * points..][..points]);
                }
                for (b, &t) in between.iter_mut().zip(&rule.node) {
                    *b *= factor(j, t);
                }
            }
        }
    }

    fn table_bits(&self) -> usize {
        if self.pairs_of.is_some() { 8 } else { 12 }
    }
}

/// The interventional game: a feature that is not known takes the value of a background row. Against a row of pattern b, a
/// row of pattern a reaches the leaf with a set S of its own values if S holds all of P = a ∖ b and none of N = b ∖ a, and
/// every feature passes in one of the two. With p and n their numbers, a feature of P has the SHAP value
/// (p − 1)! n! / (p + n)!, one of N has −p! (n − 1)! / (p + n)!, others have none. The value is averaged over the background.
#[derive(Debug)]
pub(super) struct BackgroundGame {
    leaf: Vec<LeafBackground>,
    /// `(p − 1)! n! / (p + n)!` at `p · side + n`.
    part: Vec<f64>,
    side: usize,
}

/// The background as one leaf sees it: its distinct patterns.
#[derive(Debug)]
struct LeafBackground {
    feature: Vec<u32>,
    words: usize,
    /// Shape `(patterns, words)`.
    pattern: Vec<u64>,
    /// Share of the background's weight, one per pattern.
    share: Vec<f64>,
}

impl BackgroundGame {
    /// The game against background rows, shape `(rows, width)`, with shares that add up to 1. No leaf must have more than
    /// [`u32::MAX`] features.
    pub(super) fn new(paths: &Paths, background: &[f32], width: usize, share: &[f64]) -> Self {
        let leaf = |leaf| {
            let sides = paths.sides(leaf);
            let words = words(sides.len());
            let mut seen: Vec<(Vec<u64>, f64)> = background
                .chunks_exact(width)
                .zip(share)
                .map(|(row, &share)| {
                    let mut pattern = vec![0; words];
                    for (i, side) in sides.iter().enumerate() {
                        pattern[i / 64] |= u64::from(side.holds(row[side.feature as usize])) << (i % 64);
                    }
                    (pattern, share)
                })
                .collect();
            // A stable sort keeps the order in which shares are added up.
            seen.sort_by(|a, b| a.0.cmp(&b.0));
            seen.dedup_by(|now, kept| {
                let same = now.0 == kept.0;
                if same {
                    kept.1 += now.1;
                }
                same
            });
            LeafBackground {
                feature: sides.iter().map(|s| s.feature).collect(),
                words,
                share: seen.iter().map(|s| s.1).collect(),
                pattern: seen.into_iter().flat_map(|s| s.0).collect(),
            }
        };
        let leaf: Vec<LeafBackground> = (0..paths.len()).map(leaf).collect();
        let side = leaf.iter().map(|l| l.feature.len()).max().unwrap_or(0) + 1;
        let mut part = vec![0.0; side * side];
        for p in 1..side {
            part[p * side] = 1.0 / p as f64;
            for n in 1..side - p {
                part[p * side + n] = part[p * side + n - 1] * n as f64 / (p + n) as f64;
            }
        }
        Self { leaf, part, side }
    }
}

/// 64-bit words for a pattern of so many bits, at least one.
pub(super) fn words(bits: usize) -> usize {
    bits.div_ceil(64).max(1)
}

impl Game for BackgroundGame {
    fn targets(&self, leaf: usize) -> Vec<u32> {
        self.leaf[leaf].feature.clone()
    }

    fn weigh(&self, leaf: usize, a: &[u64], _: &mut Vec<f64>, terms: &mut [f64]) {
        let LeafBackground { feature, words, pattern, share } = &self.leaf[leaf];
        terms.fill(0.0);
        let d = feature.len();
        for (b, share) in pattern.chunks_exact(*words).zip(share) {
            let (mut p, mut n, mut either) = (0, 0, 0);
            for (a, b) in a.iter().zip(b) {
                p += (a & !b).count_ones() as usize;
                n += (b & !a).count_ones() as usize;
                either += (a | b).count_ones() as usize;
            }
            if either != d || p + n == 0 {
                continue;
            }
            let gain = if p > 0 { share * self.part[p * self.side + n] } else { 0.0 };
            let loss = if n > 0 { share * self.part[n * self.side + p] } else { 0.0 };
            for (i, term) in terms.iter_mut().enumerate() {
                let (a, b) = (bit(a, i), bit(b, i));
                *term += gain * a * (1.0 - b) - loss * b * (1.0 - a);
            }
        }
    }

    fn table_bits(&self) -> usize {
        12
    }
}
