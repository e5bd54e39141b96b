//! The columns of a logit: features and products, relative to their choice's mean, scaled to deviation 1 within choices.

use super::{
    Constant, LogitError, ValidLogitParams,
    data::{ChoiceData, OneChoice},
};
use rayon::prelude::*;

/// Choices that are summed up at a time; fixed, so that the sums do not depend on the number of threads.
pub(super) const BLOCK: usize = 1024;

/// A column differs if its deviation within choices is more than this share of its largest value: below is rounding.
const LEAST_SPREAD: f64 = 1e-9;

/// Which terms there are, and their scale.
pub(crate) struct Design {
    width: usize,
    /// Products, as terms behind the features.
    interactions: Vec<[u32; 2]>,
    /// Deviation within choices of every term, features first; weighted by choice, and alike for the candidates of one.
    pub(crate) sd: Vec<f64>,
    /// Terms that have coefficients.
    pub(crate) used: Vec<usize>,
}

impl Design {
    /// Measures all terms and decides which are used.
    pub(super) fn new<T: Copy + Into<f64> + Sync>(
        data: &ChoiceData<'_, T>,
        total: f64,
        params: &ValidLogitParams,
    ) -> Result<Self, LogitError> {
        let ValidLogitParams { columns, interactions, .. } = params;
        let width = data.width;
        let named = columns.iter().flatten().chain(interactions.iter().flatten());
        if let Some(column) = named.copied().find(|&c| c as usize >= width) {
            let allowed = format!("below {width}, the number of features");
            return Err(LogitError::Param { name: "column", found: column.to_string(), allowed });
        }
        let measured = Self::all(width, interactions.clone()).measure(data);
        Self::of_measured(width, measured, total, params)
    }

    /// All terms, as they are.
    pub(crate) fn all(width: usize, interactions: Vec<[u32; 2]>) -> Self {
        let terms = width + interactions.len();
        Self { width, interactions, sd: vec![1.0; terms], used: (0..terms).collect() }
    }

    /// Of all terms the weighted squares within choices and the largest absolute values.
    pub(crate) fn measure<T: Copy + Into<f64> + Sync>(&self, data: &ChoiceData<'_, T>) -> [Vec<f64>; 2] {
        let terms = self.sd.len();
        let blocks: Vec<[Vec<f64>; 2]> = (0..data.choices().div_ceil(BLOCK))
            .into_par_iter()
            .map(|block| {
                let (mut squares, mut largest) = (vec![0.0; terms], vec![0.0f64; terms]);
                let (mut z, mut mean) = (Vec::new(), Vec::new());
                for c in (block * BLOCK)..((block + 1) * BLOCK).min(data.choices()) {
                    let choice = data.choice(c);
                    let n = choice.probability.len();
                    if n < 2 {
                        continue;
                    }
                    self.raw(choice, &mut z);
                    for row in z.chunks_exact(terms.max(1)) {
                        largest.iter_mut().zip(row).for_each(|(most, v)| *most = most.max(v.abs()));
                    }
                    centre(&mut z, terms, &mut mean);
                    let share = choice.weight / n as f64;
                    for row in z.chunks_exact(terms.max(1)) {
                        squares.iter_mut().zip(row).for_each(|(s, v)| *s += share * v * v);
                    }
                }
                [squares, largest]
            })
            .collect();
        let (mut squares, mut largest) = (vec![0.0; terms], vec![0.0f64; terms]);
        for [more, most] in blocks {
            squares.iter_mut().zip(more).for_each(|(a, b)| *a += b);
            largest.iter_mut().zip(most).for_each(|(a, b)| *a = a.max(b));
        }
        [squares, largest]
    }

    /// Decides which terms are used, given what all choices say of them.
    pub(crate) fn of_measured(
        width: usize,
        [squares, largest]: [Vec<f64>; 2],
        total: f64,
        params: &ValidLogitParams,
    ) -> Result<Self, LogitError> {
        let ValidLogitParams { columns, interactions, constant, .. } = params;
        let mut design = Self::all(width, interactions.clone());
        design.sd = squares.into_iter().map(|s| (s / total).sqrt()).collect();
        let asked = |t: usize| t >= width || columns.as_ref().is_none_or(|list| list.contains(&(t as u32)));
        let flat = |t: usize| design.sd[t] <= LEAST_SPREAD * largest[t];
        let refused = |t: usize| t >= width || *constant == Constant::Refuse;
        let terms = 0..design.sd.len();
        let bad: Vec<Vec<usize>> =
            terms.clone().filter(|&t| asked(t) && flat(t) && refused(t)).map(|t| design.term(t)).collect();
        if !bad.is_empty() {
            return Err(LogitError::Constant { terms: bad });
        }
        let used = terms.filter(|&t| asked(t) && !flat(t)).collect();
        design.used = used;
        Ok(design)
    }

    /// The columns of a term.
    pub(super) fn term(&self, term: usize) -> Vec<usize> {
        match term.checked_sub(self.width) {
            None => vec![term],
            Some(i) => self.interactions[i].map(|c| c as usize).to_vec(),
        }
    }

    /// Used terms of a choice as they are, shape `(candidates, used)`.
    #[inline(always)]
    fn raw<T: Copy + Into<f64>>(&self, choice: OneChoice<'_, T>, z: &mut Vec<f64>) {
        z.clear();
        if self.used.len() == self.width && self.interactions.is_empty() {
            z.extend(choice.x.iter().map(|&v| v.into()));
            return;
        }
        for row in 0..choice.probability.len() {
            let x = &choice.x[row * self.width..(row + 1) * self.width];
            z.extend(self.used.iter().map(|&term| match term.checked_sub(self.width) {
                None => x[term].into(),
                Some(i) => {
                    let [a, b] = self.interactions[i];
                    x[a as usize].into() * x[b as usize].into()
                }
            }));
        }
    }

    /// Used terms of a choice, centred and scaled, shape `(candidates, used)`. `mean` is room to work in.
    #[inline(always)]
    pub(super) fn rows<T: Copy + Into<f64>>(&self, choice: OneChoice<'_, T>, z: &mut Vec<f64>, mean: &mut Vec<f64>) {
        self.raw(choice, z);
        centre(z, self.used.len(), mean);
        for row in z.chunks_exact_mut(self.used.len().max(1)) {
            row.iter_mut().zip(&self.used).for_each(|(v, &term)| *v /= self.sd[term]);
        }
    }

    /// Used terms of all choices, centred and scaled, shape `(rows, used)`.
    pub(super) fn all_rows<T: Copy + Into<f64> + Sync>(&self, data: &ChoiceData<'_, T>) -> Vec<f64> {
        let mut all = Vec::with_capacity(data.probability.len() * self.used.len());
        let (mut z, mut mean) = (Vec::new(), Vec::new());
        for c in 0..data.choices() {
            self.rows(data.choice(c), &mut z, &mut mean);
            all.extend_from_slice(&z);
        }
        all
    }
}

/// Takes every column relative to its mean; `mean` is room to work in.
#[inline(always)]
fn centre(z: &mut [f64], width: usize, mean: &mut Vec<f64>) {
    if width == 0 {
        return;
    }
    let n = (z.len() / width) as f64;
    mean.clear();
    mean.resize(width, 0.0);
    for row in z.chunks_exact(width) {
        mean.iter_mut().zip(row).for_each(|(m, v)| *m += v);
    }
    mean.iter_mut().for_each(|m| *m /= n);
    for row in z.chunks_exact_mut(width) {
        row.iter_mut().zip(&*mean).for_each(|(v, m)| *v -= m);
    }
}
