//! What must be known of a level before anything is fitted: how much its choices weigh, and the bins of its features.

use super::ByPart;
use crate::tree::{FeatureBins, SAMPLE, key, value_of};
use sched_distill_core::rng::hash;
use sched_distill_trace::LevelTable;
use serde::{Deserialize, Serialize};

/// Values that a feature may have to keep them apart; one more than there may be bins.
const MOST_VALUES: usize = 256;

/// What is known of the choices of a level.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Survey {
    /// Number of choices.
    pub choices: u64,
    /// Number of candidates.
    pub rows: u64,
    /// By part and kind, the weight of the choices.
    weight: ByPart,
    kinds: usize,
    /// By feature, the keys of its values, ascending; `None` where there are more than bins.
    values: Vec<Option<Vec<u32>>>,
    /// By feature, the keys of its values in rows that were drawn.
    drawn: Vec<Vec<u32>>,
    /// Rows are drawn whose hash is below this.
    drawn_below: u64,
    /// Places of keys that were seen lately.
    #[serde(skip)]
    lately: Vec<u32>,
}

/// Places for what was seen lately, by feature.
const LATELY: usize = 256;

impl Survey {
    /// Of no choices yet; of a level of so many features and kinds, in traces of so many rows.
    #[must_use]
    pub fn new(width: usize, kinds: usize, rows: u64) -> Self {
        // Of few rows all.
        let share = if rows <= SAMPLE as u64 { 1.0 } else { SAMPLE as f64 / rows as f64 };
        Self {
            choices: 0,
            rows: 0,
            weight: ByPart::default(),
            kinds,
            values: vec![Some(Vec::new()); width],
            drawn: vec![Vec::new(); width],
            // Saturates at all of them.
            drawn_below: (share * 2f64.powi(64)) as u64,
            lately: Vec::new(),
        }
    }

    /// Adds choices of a part that a fit can learn from.
    pub fn add(&mut self, part: u32, table: &LevelTable) {
        let width = self.values.len();
        self.lately.resize(LATELY * width, 0);
        let mut weight = vec![0.0; self.kinds];
        for choice in table.iter() {
            self.choices += 1;
            self.rows += choice.len() as u64;
            weight[usize::from(choice.header.kind)] += f64::from(choice.header.weight);
            for candidate in 0..choice.len() {
                let row = choice.row(candidate);
                let is_drawn = hash(&[u64::from(part), choice.header.id, candidate as u64]) <= self.drawn_below;
                for (feature, &value) in row.iter().enumerate() {
                    let key = key(value);
                    if is_drawn {
                        self.drawn[feature].push(key);
                    }
                    // No key is 0: that would be a NaN.
                    let lately = &mut self.lately[LATELY * feature + (key.wrapping_mul(0x9E37_79B1) >> 24) as usize];
                    if *lately != key {
                        *lately = key;
                        insert(&mut self.values[feature], key);
                    }
                }
            }
        }
        if !table.choices.is_empty() {
            self.weight.add(part, weight);
        }
    }

    /// The parts that have any of the choices, in order.
    pub fn parts(&self) -> impl Iterator<Item = u32> {
        self.weight.parts()
    }

    /// Takes in other parts.
    pub fn merge(&mut self, other: Self) {
        self.choices += other.choices;
        self.rows += other.rows;
        self.weight.merge(other.weight);
        for (values, more) in self.values.iter_mut().zip(other.values) {
            match more {
                None => *values = None,
                Some(more) => more.into_iter().for_each(|key| insert(values, key)),
            }
        }
        self.drawn.iter_mut().zip(other.drawn).for_each(|(drawn, more)| drawn.extend(more));
    }

    /// The bins of every feature, at most so many.
    #[must_use]
    pub fn bins(&self, most: usize) -> Vec<FeatureBins> {
        let of = |(values, drawn): (&Option<Vec<u32>>, &Vec<u32>)| match values {
            Some(values) if values.len() <= most => {
                FeatureBins::of_values(values.iter().copied().map(value_of).collect())
            }
            _ => FeatureBins::of_sample(drawn.clone(), most),
        };
        self.values.iter().zip(&self.drawn).map(of).collect()
    }

    /// How choices weigh where kinds are balanced so far ([`crate::FitParams::balance`]); `None` where there is nothing to learn.
    #[must_use]
    pub fn weighing(&self, balance: f64) -> Option<Weighing> {
        let of_kind = self.weight.total(self.kinds);
        let lift = crate::draw::lifts(&of_kind, balance)?;
        let total = of_kind.iter().zip(&lift).map(|(weight, lift)| weight * lift).sum();
        Some(Weighing { lift, total })
    }
}

fn insert(values: &mut Option<Vec<u32>>, key: u32) {
    let Some(list) = values else { return };
    if let Err(at) = list.binary_search(&key) {
        list.insert(at, key);
    }
    if list.len() >= MOST_VALUES {
        *values = None;
    }
}

/// What the choices of a level weigh in a fit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Weighing {
    /// By kind of choice, what its choices' weights are multiplied with.
    pub lift: Vec<f64>,
    /// Weight of all choices together.
    pub total: f64,
}
