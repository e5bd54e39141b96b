//! Recorded choices as they were, on which a reader of the report may try changes: of a candidate's figures, and of the student's rules.

mod column;

pub use column::{Column, Number};

use super::{ChoiceColumns, level::columns_read};
use sched_distill_core::{
    level::{LevelSpec, NONE_FLAG},
    model::{LevelModels, Model, Student},
    rng::hash,
};
use sched_distill_trace::{Choice, Sample};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// Choices with the figures of all their candidates (`what_if.json`).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WhatIf {
    /// Always [`EXPLANATION_FORMAT`](super::EXPLANATION_FORMAT).
    pub format_version: u32,
    /// SHA-256 of the student.
    pub student: String,
    /// Hash of the trace.
    pub trace: String,
    /// Seed by which choices were drawn.
    pub seed: u64,
    /// Levels in the student's order.
    pub levels: Vec<WhatIfLevel>,
}

/// Choices of one level.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WhatIfLevel {
    /// Level, e.g. `job`.
    pub level: String,
    /// Names that [`WhatIfChoice::kind`] indexes.
    pub kinds: Vec<String>,
    /// Features that are kept of the candidates: those that the model and the guards read, and the quantities that these are ranks and
    /// ratios of.
    pub features: Vec<String>,
    /// The choices, in the order of their numbers.
    pub choices: Vec<WhatIfChoice>,
}

/// A choice and its candidates.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WhatIfChoice {
    /// Number of the choice in the trace.
    pub choice: u64,
    /// Kind, as a place in [`WhatIfLevel::kinds`].
    pub kind: usize,
    /// Whether it was drawn at random; the others are there because they are shown one by one.
    pub drawn: bool,
    /// Number of candidates.
    pub candidates: usize,
    /// Place of the one that the teacher finds best.
    pub best: usize,
    /// What candidates are, a column per entity of the level; only of choices that are shown one by one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub entities: Vec<Column<u32>>,
    /// Their features, a column for each of [`WhatIfLevel::features`]. Ranks and ratios are left out where they follow.
    pub columns: Vec<Column<Number>>,
}

/// Choices that are drawn of a level at most, as many of each kind as far as there are any.
pub const DRAWN: usize = 400;

/// Keeps choices of a level's sample: [`DRAWN`] drawn at random, which depends on `seed` and the choices' numbers alone, and those whose
/// numbers are in `shown`.
#[must_use]
pub fn what_if(
    student: &Student,
    level: &LevelModels,
    sample: &Sample,
    shown: &BTreeSet<u64>,
    seed: u64,
) -> WhatIfLevel {
    let table = &sample.table;
    let keeper = Keeper {
        spec: &table.spec,
        columns: columns_kept(student, &level.scheduler().model, &table.spec),
        formed: ChoiceColumns::new(&table.spec).ok(),
        shown,
    };
    let mut choices: BTreeMap<u64, WhatIfChoice> = BTreeMap::new();
    for place in drawn(sample, DRAWN, seed) {
        let choice = table.choice(place);
        choices.insert(choice.header.id, keeper.keep(&choice, true));
    }
    for choice in table.iter().filter(|c| shown.contains(&c.header.id)) {
        choices.entry(choice.header.id).or_insert_with(|| keeper.keep(&choice, false));
    }
    WhatIfLevel {
        level: level.level.clone(),
        kinds: table.kinds.clone(),
        features: keeper.columns.iter().map(|&c| table.spec.features[c].name.clone()).collect(),
        choices: choices.into_values().collect(),
    }
}

/// Bytes that may be kept in all, so that a page that holds them stays small.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Room {
    /// Of choices that are drawn.
    pub drawn: usize,
    /// Of those that are there only because they are shown one by one.
    pub shown: usize,
}

impl Default for Room {
    /// 0.6 MB and 0.2 MB.
    fn default() -> Self {
        Self { drawn: 600_000, shown: 200_000 }
    }
}

/// Takes out what there is no room for: of choices that were drawn the last ones, of the others the largest. Levels get the same
/// room, and what one of them does not need the others get.
pub fn make_fit(levels: &mut [WhatIfLevel], room: Room, seed: u64) {
    for (is_drawn, all) in [(true, room.drawn), (false, room.shown)] {
        let of_sort = |c: &&WhatIfChoice| c.drawn == is_drawn;
        let sizes: Vec<usize> = levels.iter().map(|l| l.choices.iter().filter(of_sort).map(bytes).sum()).collect();
        let rooms = divided(&sizes, all);
        for ((level, size), room) in levels.iter_mut().zip(sizes).zip(rooms) {
            if size <= room {
                continue;
            }
            let mut order: Vec<(u64, u64, usize)> = level
                .choices
                .iter()
                .filter(of_sort)
                .map(|c| {
                    let size = bytes(c);
                    (if is_drawn { hash(&[seed, c.choice]) } else { size as u64 }, c.choice, size)
                })
                .collect();
            order.sort_unstable();
            let mut left = room;
            let fits = |&&(.., size): &&(u64, u64, usize)| left.checked_sub(size).map(|rest| left = rest).is_some();
            let fitting: BTreeSet<u64> = order.iter().take_while(fits).map(|c| c.1).collect();
            level.choices.retain(|c| c.drawn != is_drawn || fitting.contains(&c.choice));
        }
    }
}

/// What each of several gets of `all`: as much as the others, and no more than it needs.
fn divided(needs: &[usize], all: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..needs.len()).collect();
    order.sort_by_key(|&i| needs[i]);
    let (mut got, mut left) = (vec![0; needs.len()], all);
    for (done, i) in order.into_iter().enumerate() {
        got[i] = needs[i].min(left / (needs.len() - done));
        left -= got[i];
    }
    got
}

impl WhatIfLevel {
    /// The candidates of one of the level's choices, shape `(candidates, width)`, in the columns of the level's features; 0 where
    /// nothing was kept.
    #[must_use]
    pub fn rows(&self, choice: &WhatIfChoice, spec: &LevelSpec) -> Vec<f32> {
        let width = spec.features.len();
        let mut x = vec![0.0; choice.candidates * width];
        let place = |name: &str| spec.features.iter().position(|f| f.name == name);
        let mut following = Vec::new();
        for (name, column) in self.features.iter().zip(&choice.columns) {
            let Some(at) = place(name) else { continue };
            if *column == Column::Follows {
                following.push(at);
            }
            for candidate in 0..choice.candidates {
                x[candidate * width + at] = column.of(candidate).map_or(0.0, |n| n.0);
            }
        }
        if let Some(formed) = ChoiceColumns::new(spec).ok().filter(|_| !following.is_empty()) {
            let all = recomputed(&formed, &x);
            for (i, value) in x.iter_mut().enumerate().filter(|(i, _)| following.contains(&(i % width))) {
                *value = all[i];
            }
        }
        x
    }
}

/// A choice whose ranks and ratios are made again.
fn recomputed(formed: &ChoiceColumns, x: &[f32]) -> Vec<f32> {
    let mut all = x.to_vec();
    // It fails only where the length is no multiple of the width, and then nothing has changed.
    let _ = formed.recompute(&mut all);
    all
}

/// Places in the table in the order in which they are drawn: a choice of each kind in turn, at most `most` in all.
fn drawn(sample: &Sample, most: usize, seed: u64) -> Vec<usize> {
    let table = &sample.table;
    let mut by_kind: Vec<Vec<(u64, usize)>> = vec![Vec::new(); table.kinds.len()];
    for (place, choice) in table.choices.iter().enumerate() {
        by_kind[choice.kind as usize].push((hash(&[seed, choice.id]), place));
    }
    by_kind.iter_mut().for_each(|kind| kind.sort_unstable());
    let rounds = by_kind.iter().map(Vec::len).max().unwrap_or(0);
    let in_turn = (0..rounds).flat_map(|round| by_kind.iter().filter_map(move |kind| kind.get(round)));
    in_turn.map(|&(_, place)| place).take(most).collect()
}

/// Columns that a change may need, ascending.
fn columns_kept(student: &Student, model: &Model, spec: &LevelSpec) -> Vec<usize> {
    let mut kept = columns_read(student, model, spec);
    // A coefficient of 0 may be given another value.
    if let Model::Additive(additive) = model {
        additive.terms.iter().flat_map(|t| &t.factors).for_each(|f| kept[f.feature as usize] = true);
    }
    for family in super::families(spec) {
        let base = family.columns.iter().copied().find(|&column| spec.features[column].name == family.name);
        if let Some(base) = base.filter(|_| family.columns.iter().any(|&column| kept[column])) {
            kept[base] = true;
        }
    }
    let any = |column: usize| kept[column] || spec.features[column].name == NONE_FLAG;
    (0..kept.len()).filter(|&column| any(column)).collect()
}

/// What is kept of a level's choices.
struct Keeper<'a> {
    spec: &'a LevelSpec,
    columns: Vec<usize>,
    /// How ranks and ratios are formed; `None` if some have no quantity.
    formed: Option<ChoiceColumns>,
    shown: &'a BTreeSet<u64>,
}

impl Keeper<'_> {
    fn keep(&self, choice: &Choice<'_>, drawn: bool) -> WhatIfChoice {
        let (n, entities, width) = (choice.len(), self.spec.entities.len(), choice.width);
        let entity = |e: usize| Column::new((0..n).map(|i| choice.entity[i * entities + e]).collect());
        let again = self.formed.as_ref().map(|formed| (formed, recomputed(formed, choice.x)));
        let column = |&c: &usize| {
            let follows = again.as_ref().is_some_and(|(formed, x)| {
                !formed.is_base(c) && (0..n).all(|i| x[i * width + c].to_bits() == choice.row(i)[c].to_bits())
            });
            if follows { Column::Follows } else { Column::new((0..n).map(|i| Number(choice.row(i)[c])).collect()) }
        };
        let is_shown = self.shown.contains(&choice.header.id);
        WhatIfChoice {
            choice: choice.header.id,
            kind: choice.header.kind as usize,
            drawn,
            candidates: n,
            best: choice.target(),
            entities: if is_shown { (0..entities).map(entity).collect() } else { Vec::new() },
            columns: self.columns.iter().map(column).collect(),
        }
    }
}

/// Bytes that a choice takes in a file.
fn bytes(choice: &WhatIfChoice) -> usize {
    // Plain data with string keys always serialises.
    serde_json::to_vec(choice).expect("a choice serialises").len()
}

#[cfg(test)]
mod tests;
