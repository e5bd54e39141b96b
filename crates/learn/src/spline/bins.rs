//! Thresholds to try, and the rows coded by them.

use super::SplineParams;
use crate::{choice::ChoiceData, tree::threshold::shortest};
use rayon::prelude::*;
use sched_distill_core::{
    elementary::ln_1p,
    model::{Factor, Shape},
};

/// One feature's thresholds and codes.
pub(super) struct Column {
    pub(super) feature: u32,
    /// Thresholds, increasing.
    pub(super) knots: Vec<f32>,
    /// Largest absolute value; sums are of values in units of it.
    pub(super) unit: f64,
    /// The rows: those of a choice together, the largest values first.
    pub(super) order: Vec<u32>,
    /// In that order: how many thresholds the value lies above, the value in `unit`s, and its logarithm if that is a shape.
    pub(super) code: Vec<u8>,
    pub(super) value: Vec<f64>,
    pub(super) log: Vec<f64>,
    /// Terms of one factor.
    pub(super) shapes: Vec<Factor>,
}

/// All features that differ at all.
pub(super) struct Bins {
    pub(super) columns: Vec<Column>,
}

impl Bins {
    pub(super) fn new(data: &ChoiceData<'_, f32>, params: &SplineParams) -> Self {
        let features: Vec<u32> = match &params.columns {
            Some(list) => list.clone(),
            None => (0..data.width as u32).collect(),
        };
        Self { columns: features.into_par_iter().filter_map(|feature| column(data, params, feature)).collect() }
    }
}

/// `None` for a feature with a single value.
fn column(data: &ChoiceData<'_, f32>, params: &SplineParams, feature: u32) -> Option<Column> {
    let values = || data.x.iter().skip(feature as usize).step_by(data.width).copied();
    let mut sorted: Vec<f32> = values().collect();
    sorted.sort_unstable_by(f32::total_cmp);
    let (least, most) = (*sorted.first()?, *sorted.last()?);
    if least == most {
        return None;
    }
    let knots = knots(&sorted, params.knots);
    // A feature of two values is its own step.
    let shapes = match sorted.iter().all(|&v| v == least || v == most) {
        true => vec![Shape::Linear],
        false => params.shapes.clone(),
    };
    let is_open = least >= 0.0 && most > 3.0;
    let fits = |shape: &&Shape| match shape {
        Shape::Log => is_open,
        Shape::Linear | Shape::Excess => !(is_open && params.bounded),
        Shape::Above => true,
    };
    let factors = shapes.iter().filter(fits).flat_map(|&shape| {
        let bare = Factor { feature, shape, threshold: None };
        match shape {
            Shape::Linear | Shape::Log => vec![bare],
            Shape::Above | Shape::Excess => {
                // A bend at the least value is the feature itself.
                let useful = knots.iter().filter(|&&k| shape == Shape::Above || k > least);
                useful.map(|&k| Factor { threshold: Some(k), ..bare }).collect()
            }
        }
    });
    let shapes: Vec<Factor> = factors.collect();
    let unit = f64::from(most.abs().max(least.abs()));
    let at = |row: u32| data.x[row as usize * data.width + feature as usize];
    let mut order: Vec<u32> = (0..data.probability.len() as u32).collect();
    for choice in data.bounds.windows(2) {
        order[choice[0]..choice[1]].sort_by(|&a, &b| at(b).total_cmp(&at(a)));
    }
    let rated = || order.iter().map(|&row| at(row));
    let code = rated().map(|v| knots.partition_point(|&k| v > k) as u8).collect();
    let value = rated().map(|v| f64::from(v) / unit).collect();
    let log = match shapes.iter().any(|f| f.shape == Shape::Log) {
        true => rated().map(|v| ln_1p(f64::from(v))).collect(),
        false => Vec::new(),
    };
    Some(Column { feature, knots, unit, order, code, value, log, shapes })
}

/// Thresholds with about equal numbers of rows between them, with few digits.
fn knots(sorted: &[f32], most: usize) -> Vec<f32> {
    let mut knots: Vec<f32> = Vec::new();
    let most = most.clamp(1, 255);
    let mut distinct = sorted.to_vec();
    distinct.dedup();
    if distinct.len() <= most + 1 {
        return distinct.windows(2).map(|pair| shortest(pair[0], pair[1])).collect();
    }
    for i in 1..=most {
        let low = sorted[(sorted.len() * i / (most + 1)).min(sorted.len() - 1)];
        // The next value that differs, a little further up so that the threshold can be short.
        let at = sorted.partition_point(|&v| v <= low);
        let Some(&high) = sorted.get((at + sorted.len() / (8 * (most + 1))).min(sorted.len() - 1)) else { continue };
        let knot = if low < high { shortest(low, high) } else { continue };
        if knots.last().is_none_or(|&last| knot > last) {
            knots.push(knot);
        }
    }
    knots
}
