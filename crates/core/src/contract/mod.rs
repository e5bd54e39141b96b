//! What a network of someone else's sees of a question, and what it gives: tables in, scores out.
//!
//! A scenario that is [`Tabular`] describes itself as plain data, its [`Contract`]: which [`Input`]s there are, with
//! their columns and shapes, and which [`Output`]s. A process, an ONNX file or a network in Rust then serves for it as
//! it is: whoever asks it needs no more than the description. [`Inputs`] and [`Scores`] are the numbers of one
//! question.

mod inputs;
mod levels;
mod scores;

pub use inputs::{Inputs, Values};
pub use levels::LevelTables;
pub use scores::{ScoreError, Scores, Tensor};

use crate::{
    policy::pick::Picker,
    scenario::{Said, Scenario},
};
use std::{fmt::Write as _, ops::Range};

/// The inputs and outputs of a network, in order.
#[derive(Debug)]
pub struct Contract {
    /// What the first line to a process calls the scenario. `None` for `dag`, whose protocol is older than this key.
    pub scenario: Option<&'static str>,
    /// Numbers that differ from question to question and that shapes are made of.
    pub sizes: &'static [SizeInfo],
    /// What a network sees, in the order in which a TorchScript module takes it.
    pub inputs: &'static [Input],
    /// What it gives, in the order of a TorchScript module's tuple.
    pub outputs: &'static [Output],
    /// Which scores are looked at, as the end of the sentence "... must be finite".
    pub needed: &'static str,
}

/// A number that differs from question to question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SizeInfo {
    /// Its name in shapes.
    pub name: &'static str,
    /// What it is the number of.
    pub meaning: &'static str,
}

/// One of the sizes of a shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Size {
    /// Always so many.
    Fixed(usize),
    /// As many as the input has columns.
    Columns,
    /// One of [`Contract::sizes`], by its place there.
    Of(usize),
    /// One more than that.
    OneMoreThan(usize),
    /// Any number between two of [`Contract::sizes`], as the network likes; only in outputs.
    Between {
        /// Its name in shapes.
        name: &'static str,
        /// The least, a place in [`Contract::sizes`].
        least: usize,
        /// The most, a place in [`Contract::sizes`].
        most: usize,
    },
}

/// A column of a table, or an entry of a list that has a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Column {
    /// Its name.
    pub name: &'static str,
    /// Its unit.
    pub unit: &'static str,
    /// What it says.
    pub meaning: &'static str,
}

/// A column.
#[must_use]
pub const fn column(name: &'static str, unit: &'static str, meaning: &'static str) -> Column {
    Column { name, unit, meaning }
}

/// The type of an input's numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dtype {
    /// 32-bit floats.
    F32,
    /// 64-bit integers.
    I64,
    /// Truth values.
    Bool,
}

impl Dtype {
    /// What PyTorch and ONNX call it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::F32 => "float32",
            Self::I64 => "int64",
            Self::Bool => "bool",
        }
    }
}

/// An input as every kind of network has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Input {
    /// Its name: a key of the JSON line, an input of the ONNX graph.
    pub name: &'static str,
    /// Its type.
    pub dtype: Dtype,
    /// Its shape: one size or two.
    pub shape: &'static [Size],
    /// Names of its last axis; none where that is a number like others.
    pub columns: &'static [Column],
    /// What it holds.
    pub meaning: &'static str,
}

impl Input {
    /// Its shape, given the sizes of the contract by their places.
    pub fn shape_by<'a, D>(&'a self, size: impl Fn(usize) -> D + 'a) -> impl ExactSizeIterator<Item = D>
    where
        D: From<usize> + std::ops::Add<Output = D> + 'a,
    {
        self.shape.iter().map(move |&part| match part {
            Size::Fixed(number) => number.into(),
            Size::Columns => self.columns.len().into(),
            Size::Of(place) => size(place),
            Size::OneMoreThan(place) => size(place) + 1.into(),
            Size::Between { .. } => unreachable!("what a network sees leaves nothing open"),
        })
    }
}

/// An output as every kind of network has it: 32-bit floats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Output {
    /// Its name: a key of the JSON line, an output of the ONNX graph.
    pub name: &'static str,
    /// Its shape: one size or two.
    pub shape: &'static [Size],
    /// What its axes are, for errors: "one per node".
    pub layout: &'static str,
    /// What it holds.
    pub meaning: &'static str,
}

impl Contract {
    /// The place of an input.
    #[must_use]
    pub fn input(&self, name: &str) -> Option<usize> {
        self.inputs.iter().position(|input| input.name == name)
    }

    /// The place of an output.
    #[must_use]
    pub fn output(&self, name: &str) -> Option<usize> {
        self.outputs.iter().position(|output| output.name == name)
    }

    /// Names of the outputs, each between `mark`s, joined by `glue`.
    #[must_use]
    pub fn outputs_named(&self, mark: &str, glue: &str) -> String {
        let names: Vec<String> = self.outputs.iter().map(|o| format!("{mark}{}{mark}", o.name)).collect();
        names.join(glue)
    }

    /// The shape of an input in words, as `(nodes, 7)`.
    #[must_use]
    pub fn shape_of_input(&self, input: &Input) -> String {
        self.shape(input.shape, input.columns.len())
    }

    /// The shape of an output in words, as `(jobs, K)`.
    #[must_use]
    pub fn shape_of_output(&self, output: &Output) -> String {
        self.shape(output.shape, 0)
    }

    fn shape(&self, shape: &[Size], columns: usize) -> String {
        let mut text = String::from("(");
        for (i, size) in shape.iter().enumerate() {
            text += if i > 0 { ", " } else { "" };
            // Writing to a string does not fail.
            let _ = match *size {
                Size::Fixed(size) => write!(text, "{size}"),
                Size::Columns => write!(text, "{columns}"),
                Size::Of(size) => write!(text, "{}", self.sizes[size].name),
                Size::OneMoreThan(size) => write!(text, "{} + 1", self.sizes[size].name),
                Size::Between { name, .. } => write!(text, "{name}"),
            };
        }
        text + ")"
    }
}

/// A scenario whose questions can be put to networks of others.
pub trait Tabular: Scenario {
    /// What such a network sees and gives. By default, together with [`LevelTables`], it is the features of all candidates by level, and
    /// a score for each.
    #[must_use]
    fn contract() -> &'static Contract {
        levels::contract::<Self>()
    }

    /// Writes questions as tables, and makes decisions of scores.
    type Tables: Tables<Self>;
}

/// Writes questions as tables, and makes decisions of scores. It keeps buffers, so that nothing is allocated per
/// question.
pub trait Tables<S: Tabular>: Default + Send + Sync {
    /// Takes in a question: all sizes, and the values of all inputs. `inputs` is empty on entry.
    fn read(&mut self, seen: &S::View<'_>, inputs: &mut Inputs);

    /// Says which scores are looked at, whatever comes of them: an output, and places among its values, row-major. The
    /// shapes are those of the contract. Only these need be finite.
    fn needed(&self, inputs: &Inputs, scores: &Scores, look: impl FnMut(usize, Range<usize>));

    /// The decision that a picker takes, with the probabilities of all others; `None` if the scores are too far apart
    /// for finite probabilities. What is needed of the scores is finite. `out` is empty on entry.
    fn decide(
        &mut self,
        seen: &S::View<'_>,
        tables: (&Inputs, &Scores),
        picker: &mut Picker,
        out: &mut Said,
    ) -> Option<S::Decision>;

    /// Makes probabilities that [`Tables::decide`] has just named speak of another decision, where a part of them is
    /// conditional on what was decided (see [`Policy::given`](crate::policy::Policy::given)); `false` if scores are too
    /// far apart. The default is for scenarios without such a part.
    fn given(
        &mut self,
        _seen: &S::View<'_>,
        _tables: (&Inputs, &Scores),
        _decision: S::Decision,
        _out: &mut Said,
    ) -> bool {
        true
    }
}
