//! ONNX files, run by tract: plain Rust, one thread, no code in the file.

use super::{ForeignError, Network};
use sched_distill_core::contract::{Contract, Dtype, Input, Inputs, Scores, Values};
use std::{
    collections::{BTreeSet, HashMap},
    panic::{AssertUnwindSafe, catch_unwind},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};
use tract_onnx::{
    prelude::{
        Datum, DatumType, Framework, InferenceFact, InferenceModel, InferenceModelExt, IntoRunnable, TDim, TValue,
        TVec, Tensor, ToDim, TractResult, TypedSimplePlan,
    },
    tract_hir::infer::Factoid,
};

/// Plans that are kept for a model that has to be planned for each shape.
const MAX_PLANS: usize = 512;

/// A network in an ONNX file.
///
/// The graph is planned once for all sizes. Where tract cannot do that, it is planned for each combination of sizes
/// that comes along, which takes tens of milliseconds; the plans are kept.
pub struct OnnxNetwork(Arc<Model>);

struct Model {
    path: PathBuf,
    /// Files beside it that hold weights.
    weights: Vec<PathBuf>,
    contract: &'static Contract,
    /// By input of the graph: its place in the contract.
    inputs: Vec<usize>,
    /// By output of the contract: its place among those of the graph.
    outputs: Vec<usize>,
    plan: Plan,
}

enum Plan {
    /// One for all sizes.
    General(Arc<TypedSimplePlan>),
    /// One for each combination of the contract's sizes.
    BySize { graph: Box<InferenceModel>, plans: Mutex<HashMap<Vec<usize>, Arc<TypedSimplePlan>>> },
}

impl OnnxNetwork {
    /// Reads a file, for questions of a contract.
    ///
    /// # Errors
    ///
    /// A file that is no ONNX model, one with inputs or outputs that the contract does not name, or with an operator
    /// that tract does not know.
    pub fn load(path: &Path, contract: &'static Contract) -> Result<Self, ForeignError> {
        let network = name(path);
        let load = |problem| ForeignError::Load { network: network.clone(), problem };
        let bytes = std::fs::read(path).map_err(|e| load(format!("cannot read the file: {e}")))?;
        let reader = tract_onnx::onnx().with_ignore_value_info(true);
        let folder = path.parent().unwrap_or(Path::new(""));
        let (graph, names, weights) = guarded(|| {
            let proto = reader.proto_model_for_read(&mut &bytes[..])?;
            let names: Vec<String> = proto.graph.iter().flat_map(|g| &g.output).map(|o| o.name.clone()).collect();
            let beside = proto.graph.iter().flat_map(|g| &g.initializer).flat_map(|tensor| &tensor.external_data);
            let beside = beside.filter(|entry| entry.key == "location").map(|entry| folder.join(&entry.value));
            let weights: BTreeSet<PathBuf> = beside.collect();
            Ok((reader.parse(&proto, folder.to_str())?.model, names, weights.into_iter().collect()))
        })
        .map_err(load)?;
        let signature = |problem| ForeignError::Signature { network: network.clone(), problem };
        let inputs = check_inputs(&graph, contract).map_err(signature)?;
        let place = |wanted: &str| {
            let place = names.iter().position(|name| name == wanted);
            place.ok_or_else(|| {
                signature(format!("there is no output `{wanted}`; its outputs are {}", names.join(", ")))
            })
        };
        let outputs = contract.outputs.iter().map(|output| place(output.name)).collect::<Result<_, _>>()?;
        let named: Vec<&Input> = inputs.iter().map(|&input| &contract.inputs[input]).collect();
        let any_size = |graph: &InferenceModel| -> Vec<TDim> {
            contract.sizes.iter().map(|size| graph.symbols.sym(size.name).to_dim()).collect()
        };
        let plan = match guarded(|| plan(graph.clone(), &named, &any_size(&graph))) {
            Ok(plan) => Plan::General(plan),
            Err(general) => {
                // A graph that cannot be planned for any size had better be refused now.
                let small: Vec<TDim> = (0..contract.sizes.len()).map(|i| if i == 0 { 3 } else { 2 }.into()).collect();
                if let Err(problem) = guarded(|| plan(graph.clone(), &named, &small)) {
                    return Err(load(if problem == general { problem } else { format!("{problem} ({general})") }));
                }
                Plan::BySize { graph: Box::new(graph), plans: Mutex::default() }
            }
        };
        Ok(Self(Arc::new(Model { path: path.to_owned(), weights, contract, inputs, outputs, plan })))
    }

    /// Whether one plan serves all sizes; otherwise new sizes cost time.
    #[must_use]
    pub fn is_general(&self) -> bool {
        matches!(self.0.plan, Plan::General(_))
    }
}

impl Network for OnnxNetwork {
    fn name(&self) -> String {
        name(&self.0.path)
    }

    fn fresh(&self) -> Box<dyn Network> {
        Box::new(Self(Arc::clone(&self.0)))
    }

    fn scores(&mut self, inputs: &Inputs, out: &mut Scores) -> Result<(), ForeignError> {
        guarded(|| self.0.run(inputs, out)).map_err(|problem| ForeignError::Run {
            network: self.name(),
            sizes: inputs.sizes_in_words(),
            problem,
        })
    }

    fn files(&self) -> Vec<PathBuf> {
        [&self.0.path].into_iter().chain(&self.0.weights).cloned().collect()
    }
}

impl Model {
    fn run(&self, inputs: &Inputs, out: &mut Scores) -> TractResult<()> {
        let values: TVec<TValue> =
            self.inputs.iter().map(|&input| tensor(input, inputs)).collect::<TractResult<_>>()?;
        let results = match &self.plan {
            Plan::General(plan) => plan.run(values)?,
            Plan::BySize { graph, plans } => {
                let sizes = inputs.sizes();
                let known = plans.lock().unwrap_or_else(PoisonError::into_inner).get(sizes).cloned();
                let plan = match known {
                    Some(plan) => plan,
                    None => {
                        let named: Vec<&Input> =
                            self.inputs.iter().map(|&input| &self.contract.inputs[input]).collect();
                        let dims: Vec<TDim> = sizes.iter().map(|size| size.to_dim()).collect();
                        let new = plan((**graph).clone(), &named, &dims)?;
                        let mut plans = plans.lock().unwrap_or_else(PoisonError::into_inner);
                        if plans.len() >= MAX_PLANS {
                            plans.clear();
                        }
                        plans.insert(sizes.to_vec(), Arc::clone(&new));
                        new
                    }
                };
                plan.run(values)?
            }
        };
        for (&place, tensor) in self.outputs.iter().zip(out.outputs_mut()) {
            let result = results[place].cast_to::<f32>()?;
            tensor.shape.extend_from_slice(result.shape());
            tensor.values.extend(result.to_plain_array_view::<f32>()?.iter());
        }
        Ok(())
    }
}

/// What runs `work`; a panic within tract, which a damaged file can cause, becomes an error like its others.
pub(super) fn guarded<T>(work: impl FnOnce() -> TractResult<T>) -> Result<T, String> {
    match catch_unwind(AssertUnwindSafe(work)) {
        Ok(result) => result.map_err(|error| format!("{error:#}")),
        Err(_) => Err("tract gave up on it".to_owned()),
    }
}

pub(super) fn name(path: &Path) -> String {
    format!("onnx:{}", path.display())
}

/// By input of the graph its place in the contract; what is wrong with one, if anything.
fn check_inputs(graph: &InferenceModel, contract: &Contract) -> Result<Vec<usize>, String> {
    let outlets = graph.input_outlets().map_err(|e| e.to_string())?;
    let place = |outlet: &tract_onnx::prelude::OutletId| {
        let node = graph.node(outlet.node);
        let place = contract.input(&node.name).ok_or_else(|| {
            let known: Vec<&str> = contract.inputs.iter().map(|input| input.name).collect();
            format!("unknown input `{}`; there are {}", node.name, known.join(", "))
        })?;
        let input = &contract.inputs[place];
        let declared = graph.outlet_fact(*outlet).ok().and_then(|fact| fact.datum_type.concretize());
        match declared {
            Some(found) if found != dtype(input) => {
                Err(format!("input `{}` is {found:?}, it must be {}", node.name, input.dtype.name()))
            }
            _ => Ok(place),
        }
    };
    outlets.iter().map(place).collect()
}

fn dtype(input: &Input) -> DatumType {
    match input.dtype {
        Dtype::I64 => i64::datum_type(),
        Dtype::Bool => bool::datum_type(),
        Dtype::F32 => f32::datum_type(),
    }
}

fn tensor(input: usize, inputs: &Inputs) -> TractResult<TValue> {
    let shape: TVec<usize> = inputs.shape(&inputs.contract().inputs[input]).collect();
    let tensor = match &inputs.values()[input] {
        Values::F32(values) => Tensor::from_shape(&shape, values),
        Values::I64(values) => Tensor::from_shape(&shape, values),
        Values::Bool(values) => Tensor::from_shape(&shape, values),
    };
    tensor.map(Into::into)
}

/// A plan for some sizes, or for all if these are symbols.
fn plan(mut graph: InferenceModel, inputs: &[&Input], sizes: &[TDim]) -> TractResult<Arc<TypedSimplePlan>> {
    for (place, input) in inputs.iter().enumerate() {
        let shape: TVec<TDim> = input.shape_by(|size| sizes[size].clone()).collect();
        graph.set_input_fact(place, InferenceFact::dt_shape(dtype(input), shape))?;
    }
    graph.into_optimized()?.into_runnable()
}
