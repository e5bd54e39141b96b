//! The contract of every scenario that has none of its own: candidates in, a score for each out.
//!
//! A network sees the choices of a question as the scenario's students do: by level a row of features per candidate, those that
//! lie below one candidate of the level above together. It scores them all, and the scheduler takes one of every level
//! ([`ByLevel`]).

use super::{Column, Contract, Dtype, Input, Inputs, Output, Scores, Size, SizeInfo, Tables, Tabular, Values};
use crate::{
    level::LevelSpec,
    policy::{ByLevel, LevelScores, pick::Picker},
    scenario::{Questions, Said, Scenario},
};
use std::{
    ops::Range,
    sync::{Mutex, PoisonError},
};

/// The contract of a scenario by its levels. It is made once and kept as long as the program runs.
pub(super) fn contract<S: Scenario>() -> &'static Contract {
    static MADE: Mutex<Vec<(&str, &Contract)>> = Mutex::new(Vec::new());
    let mut made = MADE.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, contract)) = made.iter().find(|(name, _)| *name == S::INFO.name) {
        return contract;
    }
    let contract = Box::leak(Box::new(make(S::INFO.name, &(S::INFO.feature_set)().levels)));
    made.push((S::INFO.name, contract));
    contract
}

fn make(scenario: &'static str, levels: &'static [LevelSpec]) -> Contract {
    let size = |level: &'static LevelSpec| SizeInfo {
        name: &level.name,
        meaning: leak(format!("candidates of the level `{}`", level.name)),
    };
    let column = |feature: &'static crate::level::FeatureSpec| Column {
        name: &feature.name,
        unit: &feature.unit,
        meaning: &feature.meaning,
    };
    let (mut inputs, mut outputs) = (Vec::new(), Vec::new());
    for (place, level) in levels.iter().enumerate() {
        if let Some(above) = place.checked_sub(1) {
            let parents = &levels[above].name;
            inputs.push(Input {
                name: leak(format!("{}_ptr", level.name)),
                dtype: Dtype::I64,
                shape: vec![Size::OneMoreThan(above)].leak(),
                columns: &[],
                meaning: leak(format!(
                    "below row `i` of `{parents}` there are rows `{0}_ptr[i]` to `{0}_ptr[i + 1]` of `{0}`, the last one not included",
                    level.name
                )),
            });
        }
        inputs.push(Input {
            name: &level.name,
            dtype: Dtype::F32,
            shape: vec![Size::Of(place), Size::Columns].leak(),
            columns: level.features.iter().map(column).collect::<Vec<_>>().leak(),
            meaning: leak(format!("{} A row per candidate.", level.question)),
        });
        outputs.push(Output {
            name: leak(format!("{}_scores", level.name)),
            shape: vec![Size::Of(place)].leak(),
            layout: leak(format!("one per row of `{}`", level.name)),
            meaning: leak(format!("a logit per row of `{}`", level.name)),
        });
    }
    Contract {
        scenario: Some(scenario),
        sizes: levels.iter().map(size).collect::<Vec<_>>().leak(),
        inputs: inputs.leak(),
        outputs: outputs.leak(),
        needed: "all scores",
    }
}

/// Text that lasts as long as the program, as those of contracts in source code do.
fn leak(text: String) -> &'static str {
    text.leak()
}

/// Questions of a scenario level by level: the features of all candidates are the tables, and a network scores each candidate. Whoever has
/// the highest score of a level is taken, or one is drawn ([`ByLevel`]).
pub struct LevelTables<S: Scenario> {
    levels: ByLevel<S>,
    path: Vec<usize>,
    /// Rows by level.
    sizes: Vec<usize>,
}

impl<S: Scenario> Default for LevelTables<S> {
    fn default() -> Self {
        Self { levels: ByLevel::default(), path: Vec::new(), sizes: Vec::new() }
    }
}

/// The tables of a level: where the rows begin that lie below each row of the level above, none for the first, and the rows.
fn tables(values: &mut [Values], level: usize) -> (Option<&mut Vec<i64>>, &mut Vec<f32>) {
    match values {
        [Values::F32(rows), ..] if level == 0 => (None, rows),
        [_, values @ ..] => match &mut values[2 * (level - 1)..] {
            [Values::I64(ends), Values::F32(rows), ..] => (Some(ends), rows),
            _ => unreachable!("inputs of this contract"),
        },
        [] => unreachable!("there is a level"),
    }
}

/// Appends the choice at a path, and those below its candidates.
fn read<S: Scenario>(
    seen: &S::View<'_>,
    questions: &mut S::Questions,
    path: &mut Vec<usize>,
    sizes: &mut [usize],
    values: &mut [Values],
) {
    let level = path.len();
    if level == sizes.len() {
        return;
    }
    let (ends, rows) = tables(values, level);
    let count = questions.rows(seen, path, false, rows);
    sizes[level] += count;
    if let Some(ends) = ends {
        ends.push(sizes[level] as i64);
    }
    for candidate in 0..count {
        path.push(candidate);
        read::<S>(seen, questions, path, sizes, values);
        path.pop();
    }
}

impl<S: Tabular> Tables<S> for LevelTables<S> {
    fn read(&mut self, seen: &S::View<'_>, inputs: &mut Inputs) {
        let Self { levels, path, sizes } = self;
        sizes.clear();
        sizes.resize(inputs.sizes().len(), 0);
        for level in 1..sizes.len() {
            if let (Some(ends), _) = tables(inputs.values_mut(), level) {
                ends.push(0);
            }
        }
        path.clear();
        read::<S>(seen, levels.update(seen), path, sizes, inputs.values_mut());
        inputs.set_sizes(sizes);
    }

    fn needed(&self, inputs: &Inputs, _: &Scores, mut look: impl FnMut(usize, Range<usize>)) {
        inputs.sizes().iter().enumerate().for_each(|(output, &size)| look(output, 0..size));
    }

    fn decide(
        &mut self,
        seen: &S::View<'_>,
        (inputs, scores): (&Inputs, &Scores),
        picker: &mut Picker,
        said: &mut Said,
    ) -> Option<S::Decision> {
        self.levels.answer(seen, &mut Answered { inputs, scores }, picker, said).ok()
    }

    fn given(
        &mut self,
        seen: &S::View<'_>,
        (inputs, scores): (&Inputs, &Scores),
        decision: S::Decision,
        said: &mut Said,
    ) -> bool {
        self.levels.given(seen, &mut Answered { inputs, scores }, decision, said).is_ok()
    }
}

/// Scores of all levels, as they came for a question.
struct Answered<'a> {
    inputs: &'a Inputs,
    scores: &'a Scores,
}

impl<S: Scenario> LevelScores<S> for Answered<'_> {
    fn scores(&mut self, _: &S::View<'_>, _: &mut S::Questions, path: &[usize]) -> &[f32] {
        let mut rows = 0..self.inputs.sizes()[0];
        for (above, &taken) in path.iter().enumerate() {
            let Values::I64(ends) = &self.inputs.values()[1 + 2 * above] else {
                unreachable!("inputs of this contract")
            };
            let row = rows.start + taken;
            rows = ends[row] as usize..ends[row + 1] as usize;
        }
        &self.scores.outputs()[path.len()].values[rows]
    }
}
