//! How long batches of a model take on this machine, as `distill profile-model` measures it.

use super::{
    ForeignError,
    batch_model::{BatchInput, BatchModel, converted},
};
use sched_distill_core::rng::Stream;
use std::{ops::ControlFlow, time::Instant};
use tract_onnx::prelude::{Datum, TValue, TVec, TractResult};

/// Runs of each batch before times count.
const WARM_UP: u32 = 2;

/// Whole numbers that are put in are below this, so that they are words of any vocabulary.
const WORDS: usize = 32;

/// What is timed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProfileParams {
    /// Sizes, ascending: what axes of inputs without a fixed length become, the first of each aside, which is the batch.
    pub sizes: Vec<u32>,
    /// Numbers of tasks in a batch, ascending.
    pub batches: Vec<u32>,
    /// How often each is run.
    pub rounds: u32,
    /// Of the order within a round, and of what is put in.
    pub seed: u64,
}

impl ProfileParams {
    /// How often a batch is run in all: how often `each` of [`time`] is called.
    #[must_use]
    pub fn runs(&self) -> usize {
        self.sizes.len() * self.batches.len() * (WARM_UP + self.rounds) as usize
    }
}

/// Times batches, ms: by round, and in a round by batch and size, row-major. `each` is told of every run, and may end it all.
///
/// # Errors
///
/// Sizes for a model whose tasks have one, or what tract cannot run. `None` if `each` ended it.
pub fn time(
    model: &BatchModel,
    params: &ProfileParams,
    each: &mut dyn FnMut() -> ControlFlow<()>,
) -> Result<Option<Vec<Vec<f64>>>, ForeignError> {
    let load = |problem: String| ForeignError::Load { network: model.network().to_owned(), problem };
    if model.has_one_size() && params.sizes != [1] {
        let problem = "its inputs have a fixed length, so that tasks have one size; leave sizes out";
        return Err(load(problem.to_owned()));
    }
    let cells: Vec<(u32, u32)> =
        params.batches.iter().flat_map(|&batch| params.sizes.iter().map(move |&size| (batch, size))).collect();
    let inputs = cells.iter().map(|&(batch, size)| {
        let mut stream = Stream::new(params.seed, "what is put into a model");
        model.inputs().iter().map(|input| filled(input, batch, size, &mut stream)).collect::<TractResult<TVec<_>>>()
    });
    let inputs = inputs.collect::<TractResult<Vec<_>>>().map_err(|e| load(e.to_string()))?;
    let mut stream = Stream::new(params.seed, "order of batches");
    let mut rounds: Vec<Vec<f64>> = Vec::with_capacity(params.rounds as usize);
    for round in 0..WARM_UP + params.rounds {
        // In another order each time: what slows the machine down for a while slows all alike.
        let mut order: Vec<usize> = (0..cells.len()).collect();
        (1..order.len()).rev().for_each(|i| order.swap(i, stream.below(i + 1)));
        let mut ms = vec![0.0; cells.len()];
        for cell in order {
            if each().is_break() {
                return Ok(None);
            }
            let (batch, size) = cells[cell];
            let inputs = inputs[cell].clone();
            let start = Instant::now();
            model.run(batch, size, inputs)?;
            // A clock that stood still has seen a nanosecond at least.
            ms[cell] = (1e3 * start.elapsed().as_secs_f64()).max(1e-6);
        }
        if round >= WARM_UP {
            rounds.push(ms);
        }
    }
    Ok(Some(rounds))
}

/// Numbers at random.
fn filled(input: &BatchInput, batch: u32, size: u32, stream: &mut Stream) -> TractResult<TValue> {
    let shape = input.shape(batch as usize, size as usize);
    let is_float = input.kind == f32::datum_type();
    // Word 0 may stand for nothing.
    let mut one = || if is_float { stream.uniform() } else { 1.0 + stream.below(WORDS - 1) as f64 };
    let values: Vec<f64> = (0..shape.iter().product()).map(|_| one()).collect();
    converted(input.kind, &shape, &values)
}
