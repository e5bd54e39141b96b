//! The questions of a fit, and the sums that answer them.

use super::{
    Sums,
    batches::to_choices,
    cells::{add_packed, packed},
};
use anyhow::{Context, Result, bail};
use arrow::{
    array::{Array, ArrayRef, AsArray},
    datatypes::Int64Type,
};
use sched_distill_core::{level::LevelSpec, model::Model};
use sched_distill_learn::{
    ByPart, ClusterSums, CodedRows, Coder, Drawing, DrawnChoices, FinishSums, Layout, NewtonAt, NewtonSums, NodeSums,
    Sketch, SoftnessSums, SpreadSums, Survey, Terms,
};
use sched_distill_trace::{ChoiceHeader, LevelTable};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use std::{borrow::Cow, collections::BTreeMap, fmt::Debug};

/// What is asked of all choices of a level.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Question {
    /// The level.
    pub level: LevelSpec,
    /// Names of the kinds of choices.
    pub kinds: Vec<String>,
    /// The feature that marks the candidate which gives nothing ([`LevelTable::none`]).
    pub none: Option<usize>,
    /// What is asked.
    pub about: About,
}

/// What is asked.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[expect(clippy::large_enum_variant, reason = "there is one at a time")]
pub enum About {
    /// [`Survey`], of traces of so many rows.
    Survey {
        /// Candidates in all files of the level.
        rows: u64,
    },
    /// [`DrawnChoices`].
    Draw(Drawing),
    /// The cells of nodes, of rows in bins ([`NodeSums`]).
    Nodes {
        /// Where the cells of each feature are.
        layout: Layout,
        /// All tests so far.
        sketch: Sketch,
        /// The nodes asked for.
        wanted: Vec<u32>,
    },
    /// [`FinishSums`].
    Finish {
        /// How choices become rows in bins.
        coder: Coder,
        /// The tests of the tree.
        sketch: Sketch,
        /// By node, the first bin on the right that has rows.
        next: Vec<u8>,
        /// By node, what is known of the mean of the target.
        means: Vec<f64>,
    },
    /// [`SpreadSums`].
    Spread(Terms),
    /// [`NewtonSums`].
    Newton(Terms, NewtonAt),
    /// [`ClusterSums`].
    Clusters(Terms, NewtonAt),
    /// [`SoftnessSums`].
    Softness {
        /// The model.
        model: Model,
        /// One over the temperature.
        inverse: f64,
    },
}

impl Question {
    /// From bytes of [`Question::to_bytes`].
    ///
    /// # Errors
    ///
    /// Bytes of something else.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        serde_json::from_slice(bytes).context("the question is not one of this version")
    }

    /// What an engine carries around.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        // Plain data with names for keys.
        serde_json::to_vec(self).expect("plain data serialises")
    }

    /// Sums over no choices yet.
    #[must_use]
    pub fn start(self) -> Box<dyn Sums> {
        let mut empty = LevelTable::new(self.level, self.kinds);
        empty.none = self.none;
        let sums = match self.about {
            About::Survey { rows } => Kind::Survey(Survey::new(empty.width(), empty.kinds.len(), rows)),
            About::Draw(drawing) => Kind::Draw(DrawnChoices::new(drawing)),
            About::Nodes { layout, sketch, wanted } => Kind::Nodes(NodeSums::new(layout, sketch, &wanted)),
            About::Finish { coder, sketch, next, means } => Kind::Finish(FinishSums::new(coder, sketch, next, means)),
            About::Spread(terms) => Kind::Spread(SpreadSums::new(terms)),
            About::Newton(terms, at) => Kind::Newton(NewtonSums::new(terms, at)),
            About::Clusters(terms, at) => Kind::Clusters(ClusterSums::new(terms, at)),
            About::Softness { model, inverse } => Kind::Softness(SoftnessSums::default(), model, inverse),
        };
        Box::new(QuestionSums { empty, sums })
    }
}

/// Sums that answer a question.
#[derive(Debug)]
struct QuestionSums {
    /// A table of the level without choices.
    empty: LevelTable,
    sums: Kind,
}

#[derive(Debug)]
enum Kind {
    Survey(Survey),
    Draw(DrawnChoices),
    Nodes(NodeSums),
    Finish(FinishSums),
    Spread(SpreadSums),
    Newton(NewtonSums),
    Clusters(ClusterSums),
    Softness(SoftnessSums, Model, f64),
}

impl Sums for QuestionSums {
    fn add(&mut self, columns: &[ArrayRef]) -> Result<()> {
        if let Kind::Nodes(sums) = &mut self.sums {
            let [codes, weight, first_moment, second_moment] = columns else {
                bail!("there are {} columns of rows in bins, expected 4", columns.len());
            };
            let lane = |column: &ArrayRef| {
                column.as_primitive_opt::<Int64Type>().cloned().context("a column has no whole numbers")
            };
            let (weight, first_moment, second_moment) = (lane(weight)?, lane(first_moment)?, lane(second_moment)?);
            let codes = codes.as_fixed_size_binary_opt().context("the bins are no bytes")?;
            let width = usize::try_from(codes.value_length())?;
            let codes = &codes.value_data()[codes.offset() * width..(codes.offset() + codes.len()) * width];
            sums.add(&CodedRows {
                codes,
                weight: weight.values(),
                first_moment: first_moment.values(),
                second_moment: second_moment.values(),
            });
            return Ok(());
        }
        let Some((part, table)) = to_choices(columns, &self.empty)? else { return Ok(()) };
        match &mut self.sums {
            Kind::Survey(sums) => sums.add(part, &table),
            Kind::Draw(sums) => sums.add(part, &table),
            Kind::Finish(sums) => sums.add(part, &table),
            Kind::Spread(sums) => sums.add(part, &table)?,
            Kind::Newton(sums) => sums.add(part, &table)?,
            Kind::Clusters(sums) => sums.add(part, &table)?,
            Kind::Softness(sums, model, inverse) => sums.add(part, &table, model, *inverse),
            Kind::Nodes(_) => {}
        }
        Ok(())
    }

    fn merge(&mut self, state: &[u8]) -> Result<()> {
        match &mut self.sums {
            Kind::Survey(sums) => sums.merge(decoded(state)?),
            Kind::Draw(sums) => {
                drawn(state, &self.empty)?.into_iter().for_each(|(part, table)| sums.merge(part, table))
            }
            Kind::Nodes(sums) => add_packed(sums.cells_mut(), state)?,
            Kind::Finish(sums) => sums.merge(decoded(state)?),
            Kind::Spread(sums) => {
                let (squares, largest): (ByPart, Vec<f64>) = decoded(state)?;
                sums.merge(squares, &largest);
            }
            Kind::Newton(sums) => sums.merge(decoded(state)?),
            Kind::Clusters(sums) => sums.merge(decoded(state)?),
            Kind::Softness(sums, ..) => sums.merge(decoded(state)?),
        }
        Ok(())
    }

    fn to_bytes(&self) -> Result<Vec<u8>> {
        match &self.sums {
            Kind::Survey(sums) => encoded(sums),
            Kind::Draw(sums) => {
                let parts: BTreeMap<u32, Travelling> =
                    sums.parts().iter().map(|(&part, table)| (part, of(table))).collect();
                encoded(&parts)
            }
            Kind::Nodes(sums) => Ok(packed(sums.cells())),
            Kind::Finish(sums) => encoded(sums.found()),
            Kind::Spread(sums) => encoded(&sums.found()),
            Kind::Newton(sums) => encoded(sums.by_part()),
            Kind::Clusters(sums) => encoded(&sums.by_part()),
            Kind::Softness(sums, ..) => encoded(sums.by_part()),
        }
    }

    fn size(&self) -> usize {
        match &self.sums {
            Kind::Nodes(sums) => size_of_val(sums.cells()),
            // Nobody needs to know: there is no limit that it could break.
            _ => size_of::<Self>(),
        }
    }
}

/// Choices as they travel: those whom they reach know the level. Headers, entities, log-probabilities, who was chosen, features, and
/// the weights with which they were drawn.
type Travelling<'a> =
    (Cow<'a, [ChoiceHeader]>, Cow<'a, [u32]>, Cow<'a, [f32]>, Cow<'a, [bool]>, Cow<'a, [f32]>, Option<Cow<'a, [f64]>>);

fn of(table: &LevelTable) -> Travelling<'_> {
    let LevelTable { choices, entity, log_prob, chosen, x, drawn, .. } = table;
    let drawn = drawn.as_ref().map(Cow::from);
    (choices.into(), entity.into(), log_prob.into(), chosen.into(), x.into(), drawn)
}

/// The choices that were drawn, by part, in an answer; `empty` is a table of their level.
///
/// # Errors
///
/// Bytes of something else.
pub fn drawn(answer: &[u8], empty: &LevelTable) -> Result<BTreeMap<u32, LevelTable>> {
    let parts: BTreeMap<u32, Travelling<'_>> = decoded(answer)?;
    let table = |(part, (choices, entity, log_prob, chosen, x, drawn)): (u32, Travelling<'_>)| {
        let table = LevelTable {
            choices: choices.into_owned(),
            entity: entity.into_owned(),
            log_prob: log_prob.into_owned(),
            chosen: chosen.into_owned(),
            x: x.into_owned(),
            drawn: drawn.map(Cow::into_owned),
            ..empty.clone()
        };
        (part, table)
    };
    Ok(parts.into_iter().map(table).collect())
}

/// Sums as they travel.
fn encoded<T: Serialize + ?Sized>(sums: &T) -> Result<Vec<u8>> {
    Ok(postcard::to_stdvec(sums)?)
}

/// Sums that came.
///
/// # Errors
///
/// Bytes of something else.
pub fn decoded<T: DeserializeOwned>(bytes: &[u8]) -> Result<T> {
    postcard::from_bytes(bytes).context("the answer is not one to this question")
}
