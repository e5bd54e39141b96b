//! How long batches of an ONNX model take on this machine: one thread of tract, as `distill profile-model` runs it.

use super::{ForeignError, onnx};
use sched_distill_core::rng::Stream;
use std::{ops::ControlFlow, path::Path, sync::Arc, time::Instant};
use tract_onnx::{
    prelude::{
        Datum, DatumType, Framework as _, InferenceFact, InferenceModel, InferenceModelExt, IntoRunnable, TDim, TValue,
        TVec, Tensor, TractResult, TypedSimplePlan,
    },
    tract_hir::infer::Factoid,
};

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
    /// How often a batch is run in all: how often `each` of [`BatchModel::time`] is called.
    #[must_use]
    pub fn runs(&self) -> usize {
        self.sizes.len() * self.batches.len() * (WARM_UP + self.rounds) as usize
    }
}

/// A model whose batches can be timed.
pub struct BatchModel {
    network: String,
    graph: InferenceModel,
    /// What inputs hold, and the lengths of their axes after the batch, `None` where a size comes.
    inputs: Vec<(DatumType, Vec<Option<usize>>)>,
}

impl BatchModel {
    /// Reads a file.
    ///
    /// # Errors
    ///
    /// A file that is no ONNX model, or inputs that are no numbers or have no batch as first axis.
    pub fn load(path: &Path) -> Result<Self, ForeignError> {
        let network = onnx::name(path);
        let load = |problem| ForeignError::Load { network: network.clone(), problem };
        let bytes = std::fs::read(path).map_err(|e| load(format!("cannot read the file: {e}")))?;
        let graph = onnx::guarded(|| {
            let reader = tract_onnx::onnx();
            let proto = reader.proto_model_for_read(&mut &bytes[..])?;
            Ok(reader.parse(&proto, path.parent().unwrap_or(Path::new("")).to_str())?.model)
        })
        .map_err(load)?;
        let outlets = graph.input_outlets().map_err(|e| load(e.to_string()))?;
        let mut inputs = Vec::new();
        for outlet in outlets {
            let name = &graph.node(outlet.node).name;
            let fact = graph.outlet_fact(*outlet).map_err(|e| load(e.to_string()))?;
            let kind = fact.datum_type.concretize().unwrap_or_else(f32::datum_type);
            let known = [f32::datum_type(), i64::datum_type(), i32::datum_type(), bool::datum_type()];
            if !known.contains(&kind) {
                return Err(load(format!("input `{name}` is {kind:?}; it must be f32, i64, i32 or bool")));
            }
            let axes: Vec<Option<usize>> =
                fact.shape.dims().map(|dim| usize::try_from(dim.concretize()?.to_i64().ok()?).ok()).collect();
            match axes.split_first() {
                Some((None, rest)) => inputs.push((kind, rest.to_vec())),
                _ => {
                    let problem = "its first axis must be the batch, of any length";
                    return Err(load(format!("input `{name}` has the shape {:?}: {problem}", fact.shape)));
                }
            }
        }
        if inputs.is_empty() {
            return Err(load("it has no inputs".to_owned()));
        }
        Ok(Self { network, graph, inputs })
    }

    /// Whether all inputs have a fixed length, so that tasks have one size, 1.
    #[must_use]
    pub fn has_one_size(&self) -> bool {
        self.inputs.iter().all(|(_, axes)| !axes.contains(&None))
    }

    /// Times batches, ms: by round, and in a round by batch and size, row-major. `each` is told of every run, and may end it all.
    ///
    /// # Errors
    ///
    /// Sizes for a model whose tasks have one, or what tract cannot run. `None` if `each` ended it.
    pub fn time(
        &self,
        params: &ProfileParams,
        each: &mut dyn FnMut() -> ControlFlow<()>,
    ) -> Result<Option<Vec<Vec<f64>>>, ForeignError> {
        if self.has_one_size() && params.sizes != [1] {
            let problem = "its inputs have a fixed length, so that tasks have one size; leave `--sizes` out".to_owned();
            return Err(ForeignError::Load { network: self.network.clone(), problem });
        }
        let cells: Vec<(u32, u32)> =
            params.batches.iter().flat_map(|&batch| params.sizes.iter().map(move |&size| (batch, size))).collect();
        let plans =
            cells.iter().map(|&(batch, size)| self.plan(batch, size, params.seed)).collect::<Result<Vec<_>, _>>()?;
        let mut stream = Stream::new(params.seed, "order of batches");
        let mut rounds: Vec<Vec<f64>> = Vec::with_capacity(params.rounds as usize);
        for round in 0..WARM_UP + params.rounds {
            // In another order each time: what slows the machine down for a while slows all alike.
            let mut order: Vec<usize> = (0..plans.len()).collect();
            (1..order.len()).rev().for_each(|i| order.swap(i, stream.below(i + 1)));
            let mut ms = vec![0.0; plans.len()];
            for cell in order {
                if each().is_break() {
                    return Ok(None);
                }
                ms[cell] = plans[cell].run()?;
            }
            if round >= WARM_UP {
                rounds.push(ms);
            }
        }
        Ok(Some(rounds))
    }

    fn plan(&self, batch: u32, size: u32, seed: u64) -> Result<Plan, ForeignError> {
        let run = |problem| self.error(batch, size, problem);
        let shape = |axes: &[Option<usize>]| -> TVec<usize> {
            std::iter::once(batch as usize).chain(axes.iter().map(|axis| axis.unwrap_or(size as usize))).collect()
        };
        let plan = onnx::guarded(|| {
            let mut graph = self.graph.clone();
            for (place, (kind, axes)) in self.inputs.iter().enumerate() {
                let dims: TVec<TDim> = shape(axes).iter().map(|&n| TDim::from(n as i64)).collect();
                graph.set_input_fact(place, InferenceFact::dt_shape(*kind, dims))?;
            }
            // What graphs say of their outputs may name other sizes.
            for output in graph.output_outlets()?.to_vec() {
                graph.set_outlet_fact(output, InferenceFact::default())?;
            }
            graph.into_optimized()?.into_runnable()
        })
        .map_err(run)?;
        let mut stream = Stream::new(seed, "what is put into a model");
        let inputs = self.inputs.iter().map(|(kind, axes)| filled(*kind, &shape(axes), &mut stream));
        let inputs = inputs.collect::<TractResult<_>>().map_err(|e| run(e.to_string()))?;
        Ok(Plan { network: self.network.clone(), sizes: words(batch, size), plan, inputs })
    }

    fn error(&self, batch: u32, size: u32, problem: String) -> ForeignError {
        ForeignError::Run { network: self.network.clone(), sizes: words(batch, size), problem }
    }
}

fn words(batch: u32, size: u32) -> String {
    format!("batch {batch}, size {size}")
}

/// Numbers at random.
fn filled(kind: DatumType, shape: &[usize], stream: &mut Stream) -> TractResult<TValue> {
    let count: usize = shape.iter().product();
    let mut all = |most: usize| -> Vec<usize> { (0..count).map(|_| stream.below(most)).collect() };
    let tensor = if kind == f32::datum_type() {
        Tensor::from_shape(shape, &(0..count).map(|_| stream.uniform() as f32).collect::<Vec<_>>())
    } else if kind == bool::datum_type() {
        Tensor::from_shape(shape, &vec![true; count])
    } else if kind == i32::datum_type() {
        Tensor::from_shape(shape, &all(WORDS).into_iter().map(|x| x as i32).collect::<Vec<_>>())
    } else {
        Tensor::from_shape(shape, &all(WORDS).into_iter().map(|x| x as i64).collect::<Vec<_>>())
    };
    tensor.map(Into::into)
}

/// A batch that can be run.
struct Plan {
    network: String,
    sizes: String,
    plan: Arc<TypedSimplePlan>,
    inputs: TVec<TValue>,
}

impl Plan {
    /// Runs it once; the time, ms.
    fn run(&self) -> Result<f64, ForeignError> {
        let start = Instant::now();
        let ran = onnx::guarded(|| self.plan.run(self.inputs.clone()));
        let ms = 1e3 * start.elapsed().as_secs_f64();
        match ran {
            // A clock that stood still has seen a nanosecond at least.
            Ok(_) => Ok(ms.max(1e-6)),
            Err(problem) => {
                Err(ForeignError::Run { network: self.network.clone(), sizes: self.sizes.clone(), problem })
            }
        }
    }
}
