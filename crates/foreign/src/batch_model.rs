//! Models that answer tasks in batches: ONNX files whose inputs have the batch as first axis, run by tract on one thread.

use super::{ForeignError, onnx};
use std::{
    collections::HashMap,
    path::Path,
    sync::{Arc, Mutex, PoisonError},
};
use tract_onnx::{
    prelude::{
        Datum, DatumType, Framework as _, InferenceFact, InferenceModel, InferenceModelExt, IntoRunnable, TDim, TValue,
        TVec, Tensor, ToDim, TractResult, TypedSimplePlan,
    },
    tract_hir::infer::Factoid,
};

/// Plans that are kept of a model that has to be planned for each batch.
const MAX_PLANS: usize = 256;

/// A model that runs batches of tasks of any number and size.
///
/// It is planned once for all of them. Where tract cannot do that, it is planned for each that comes along; 256 plans are kept.
pub struct BatchModel {
    network: String,
    inputs: Vec<BatchInput>,
    plan: Plan,
}

/// An input of a model.
#[derive(Clone, Debug)]
pub(super) struct BatchInput {
    pub(super) kind: DatumType,
    /// Lengths of its axes after the batch, `None` where a size comes.
    pub(super) axes: Vec<Option<usize>>,
}

enum Plan {
    General(Arc<TypedSimplePlan>),
    /// By number and size of tasks.
    BySize {
        graph: Box<InferenceModel>,
        plans: Mutex<HashMap<(u32, u32), Arc<TypedSimplePlan>>>,
    },
}

impl BatchModel {
    /// Reads a file.
    ///
    /// # Errors
    ///
    /// A file that is no ONNX model or has an operator that tract does not know, or inputs that are no numbers or have no batch as
    /// first axis.
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
        let inputs = inputs(&graph).map_err(load)?;
        let general = onnx::guarded(|| {
            let size = |name: &str| graph.symbols.sym(name).to_dim();
            plan(graph.clone(), &inputs, &size("tasks"), &size("size"))
        });
        let plan = match general {
            Ok(plan) => Plan::General(plan),
            Err(general) => {
                // A graph that cannot be planned for any size had better be refused now.
                if let Err(problem) = onnx::guarded(|| plan(graph.clone(), &inputs, &2.into(), &3.into())) {
                    return Err(load(if problem == general { problem } else { format!("{problem} ({general})") }));
                }
                Plan::BySize { graph: Box::new(graph), plans: Mutex::default() }
            }
        };
        Ok(Self { network, inputs, plan })
    }

    /// Whether all inputs have a fixed length, so that tasks have one size, 1.
    #[must_use]
    pub fn has_one_size(&self) -> bool {
        self.inputs.iter().all(|input| !input.axes.contains(&None))
    }

    /// Whether one plan serves all batches; otherwise new ones cost time.
    #[must_use]
    pub fn is_general(&self) -> bool {
        matches!(self.plan, Plan::General(_))
    }

    /// Numbers per unit of size in what is asked of it, if it can be asked by [`BatchModel::answer`]: it has one input, and only the
    /// first axis after the batch, if any, has no fixed length.
    ///
    /// # Errors
    ///
    /// Why it cannot.
    pub fn width(&self) -> Result<usize, ForeignError> {
        let signature = |problem| Err(ForeignError::Load { network: self.network.clone(), problem });
        let [BatchInput { axes, .. }] = &self.inputs[..] else {
            return signature(format!("it has {} inputs; tasks have one", self.inputs.len()));
        };
        let fixed = if axes.first() == Some(&None) { &axes[1..] } else { &axes[..] };
        match fixed.iter().copied().collect::<Option<Vec<usize>>>() {
            Some(lengths) => Ok(lengths.into_iter().product()),
            None => {
                signature("only the first axis after the batch may have any length, which is the size of tasks".into())
            }
        }
    }

    /// What is wrong with numbers that it is to be asked, if anything: those that it would see as others.
    #[must_use]
    pub fn refuses(&self, values: &[f64]) -> Option<String> {
        let is_float = self.inputs.iter().all(|input| input.kind == f32::datum_type());
        let most = match self.inputs.first()?.kind {
            _ if is_float => f64::from(f32::MAX),
            kind if kind == i32::datum_type() => f64::from(i32::MAX),
            kind if kind == bool::datum_type() => 1.0,
            // Above, whole numbers are not told apart.
            _ => 9_007_199_254_740_992.0,
        };
        let is_good = |x: &f64| x.abs() <= most && (is_float || x.fract() == 0.0);
        let found = values.iter().find(|x| !is_good(x))?;
        let kind = if is_float { "numbers" } else { "whole numbers" };
        Some(format!("must be {kind} of at most {most:e} either way, got {found}"))
    }

    /// What the model makes of tasks: for each the numbers of the first output. A task is a list of [`BatchModel::width`] numbers per
    /// unit of its size; shorter ones are filled up in front with 0, of which the model must make nothing, as are `empty` tasks that
    /// nobody asked.
    ///
    /// # Errors
    ///
    /// As for [`BatchModel::width`], lists of other lengths, or what tract cannot run, for instance words that the model does not know.
    pub fn answer(&self, tasks: &[&[f64]], empty: usize) -> Result<Vec<Vec<f32>>, ForeignError> {
        let width = self.width()?.max(1);
        let count = tasks.len() + empty;
        let longest = tasks.iter().map(|task| task.len()).max().unwrap_or(0);
        let is_whole = tasks.iter().all(|task| task.len().is_multiple_of(width) && !task.is_empty());
        let size = (longest / width) as u32;
        let error = |problem: String| self.error(count as u32, size, problem);
        if !is_whole || (self.has_one_size() && size != 1) {
            return Err(error(format!("tasks have {width} numbers per unit of size")));
        }
        let results = onnx::guarded(|| {
            let mut values = vec![0.0; count * longest];
            for (task, row) in tasks.iter().zip(values.chunks_mut(longest)) {
                row[longest - task.len()..].copy_from_slice(task);
            }
            let input = &self.inputs[0];
            let tensor = converted(input.kind, &input.shape(count, size as usize), &values)?;
            let result = self.plan(count as u32, size)?.run(TVec::from_elem(tensor, 1))?;
            let result = result[0].cast_to::<f32>()?;
            let rows = result.shape().first().copied().unwrap_or(0);
            let numbers: Vec<f32> = result.to_plain_array_view::<f32>()?.iter().copied().collect();
            Ok((rows, numbers))
        });
        match results.map_err(error)? {
            (rows, numbers) if rows == count && !numbers.is_empty() => {
                let width = numbers.len() / rows;
                Ok(numbers.chunks(width).take(tasks.len()).map(<[f32]>::to_vec).collect())
            }
            (rows, _) => Err(error(format!("its first output has {rows} rows, not one per task"))),
        }
    }

    /// Runs a batch of what the inputs are.
    pub(super) fn run(&self, batch: u32, size: u32, inputs: TVec<TValue>) -> Result<(), ForeignError> {
        let ran = onnx::guarded(|| self.plan(batch, size)?.run(inputs));
        ran.map(drop).map_err(|problem| self.error(batch, size, problem))
    }

    pub(super) fn inputs(&self) -> &[BatchInput] {
        &self.inputs
    }

    pub(super) fn network(&self) -> &str {
        &self.network
    }

    fn error(&self, batch: u32, size: u32, problem: String) -> ForeignError {
        let sizes = format!("batch {batch}, size {size}");
        ForeignError::Run { network: self.network.clone(), sizes, problem }
    }

    fn plan(&self, batch: u32, size: u32) -> TractResult<Arc<TypedSimplePlan>> {
        match &self.plan {
            Plan::General(plan) => Ok(plan.clone()),
            Plan::BySize { graph, plans } => {
                let known = plans.lock().unwrap_or_else(PoisonError::into_inner).get(&(batch, size)).cloned();
                if let Some(plan) = known {
                    return Ok(plan);
                }
                let dim = |of: u32| TDim::from(i64::from(of));
                let new = plan((**graph).clone(), &self.inputs, &dim(batch), &dim(size))?;
                let mut plans = plans.lock().unwrap_or_else(PoisonError::into_inner);
                let any = plans.keys().next().copied().filter(|_| plans.len() >= MAX_PLANS);
                any.and_then(|any| plans.remove(&any));
                plans.insert((batch, size), new.clone());
                Ok(new)
            }
        }
    }
}

impl BatchInput {
    /// Its shape in a batch of `count` tasks of a size.
    pub(super) fn shape(&self, count: usize, size: usize) -> TVec<usize> {
        std::iter::once(count).chain(self.axes.iter().map(|axis| axis.unwrap_or(size))).collect()
    }
}

/// What the inputs of a graph are; what is wrong with one, if anything.
fn inputs(graph: &InferenceModel) -> Result<Vec<BatchInput>, String> {
    let outlets = graph.input_outlets().map_err(|e| e.to_string())?;
    let input = |outlet: &tract_onnx::prelude::OutletId| {
        let name = &graph.node(outlet.node).name;
        let fact = graph.outlet_fact(*outlet).map_err(|e| e.to_string())?;
        let kind = fact.datum_type.concretize().unwrap_or_else(f32::datum_type);
        let known = [f32::datum_type(), i64::datum_type(), i32::datum_type(), bool::datum_type()];
        if !known.contains(&kind) {
            return Err(format!("input `{name}` is {kind:?}; it must be f32, i64, i32 or bool"));
        }
        let axes: Vec<Option<usize>> =
            fact.shape.dims().map(|dim| usize::try_from(dim.concretize()?.to_i64().ok()?).ok()).collect();
        match axes.split_first() {
            Some((None, rest)) => Ok(BatchInput { kind, axes: rest.to_vec() }),
            _ => {
                let problem = "its first axis must be the batch, of any length";
                Err(format!("input `{name}` has the shape {:?}: {problem}", fact.shape))
            }
        }
    };
    let inputs = outlets.iter().map(input).collect::<Result<Vec<_>, _>>()?;
    if inputs.is_empty() { Err("it has no inputs".to_owned()) } else { Ok(inputs) }
}

/// A plan for a batch of tasks of a size, or for all if these are symbols.
fn plan(
    mut graph: InferenceModel,
    inputs: &[BatchInput],
    batch: &TDim,
    size: &TDim,
) -> TractResult<Arc<TypedSimplePlan>> {
    for (place, input) in inputs.iter().enumerate() {
        let axes = input.axes.iter().map(|axis| axis.map_or_else(|| size.clone(), |length| length.to_dim()));
        let dims: TVec<TDim> = std::iter::once(batch.clone()).chain(axes).collect();
        graph.set_input_fact(place, InferenceFact::dt_shape(input.kind, dims))?;
    }
    // What graphs say of their outputs may name other sizes.
    for output in graph.output_outlets()?.to_vec() {
        graph.set_outlet_fact(output, InferenceFact::default())?;
    }
    graph.into_optimized()?.into_runnable()
}

/// A tensor of numbers, as the input has them.
pub(super) fn converted(kind: DatumType, shape: &[usize], values: &[f64]) -> TractResult<TValue> {
    let tensor = if kind == f32::datum_type() {
        Tensor::from_shape(shape, &values.iter().map(|&x| x as f32).collect::<Vec<_>>())
    } else if kind == bool::datum_type() {
        Tensor::from_shape(shape, &values.iter().map(|&x| x != 0.0).collect::<Vec<_>>())
    } else if kind == i32::datum_type() {
        Tensor::from_shape(shape, &values.iter().map(|&x| x as i32).collect::<Vec<_>>())
    } else {
        Tensor::from_shape(shape, &values.iter().map(|&x| x as i64).collect::<Vec<_>>())
    };
    tensor.map(Into::into)
}
