//! ONNX files, run by tract: plain Rust, one thread, no code in the file.

use super::{CLUSTER_COLUMNS, ForeignError, INPUTS, Inputs, JOB_COLUMNS, NODE_COLUMNS, Network, OUTPUTS, Scores};
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
/// The graph is planned once for all sizes. Where tract cannot do that, it is planned for each combination of sizes that comes
/// along, which takes tens of milliseconds; the plans are kept.
pub struct OnnxNetwork(Arc<Model>);

struct Model {
    path: PathBuf,
    /// Files beside it that hold weights.
    weights: Vec<PathBuf>,
    /// By input of the graph: its place in [`INPUTS`].
    inputs: Vec<usize>,
    /// Places of the two outputs among those of the graph.
    outputs: [usize; 2],
    plan: Plan,
}

enum Plan {
    /// One for all sizes.
    General(Arc<TypedSimplePlan>),
    /// One for each combination of nodes, edges, jobs and offered executors.
    BySize { graph: Box<InferenceModel>, plans: Mutex<HashMap<[usize; 4], Arc<TypedSimplePlan>>> },
}

impl OnnxNetwork {
    /// Reads a file.
    ///
    /// # Errors
    ///
    /// A file that is no ONNX model, one with inputs or outputs that the contract does not name, or with an operator that
    /// tract does not know.
    pub fn load(path: &Path) -> Result<Self, ForeignError> {
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
        let inputs = check_inputs(&graph).map_err(signature)?;
        let mut outputs = [0; 2];
        for (place, wanted) in outputs.iter_mut().zip(OUTPUTS) {
            *place = names.iter().position(|name| name == wanted).ok_or_else(|| {
                signature(format!("there is no output `{wanted}`; its outputs are {}", names.join(", ")))
            })?;
        }
        let plan = match guarded(|| plan(graph.clone(), &inputs, None)) {
            Ok(plan) => Plan::General(plan),
            Err(general) => {
                // A graph that cannot be planned for any size had better be refused now.
                if let Err(problem) = guarded(|| plan(graph.clone(), &inputs, Some([3, 2, 2, 2]))) {
                    return Err(load(if problem == general { problem } else { format!("{problem} ({general})") }));
                }
                Plan::BySize { graph: Box::new(graph), plans: Mutex::default() }
            }
        };
        Ok(Self(Arc::new(Model { path: path.to_owned(), weights, inputs, outputs, plan })))
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
            nodes: inputs.num_nodes(),
            edges: inputs.num_edges(),
            jobs: inputs.num_jobs(),
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
                let sizes = [inputs.num_nodes(), inputs.num_edges(), inputs.num_jobs(), inputs.offered()];
                let known = plans.lock().unwrap_or_else(PoisonError::into_inner).get(&sizes).cloned();
                let plan = match known {
                    Some(plan) => plan,
                    None => {
                        let new = plan((**graph).clone(), &self.inputs, Some(sizes))?;
                        let mut plans = plans.lock().unwrap_or_else(PoisonError::into_inner);
                        if plans.len() >= MAX_PLANS {
                            plans.clear();
                        }
                        plans.insert(sizes, Arc::clone(&new));
                        new
                    }
                };
                plan.run(values)?
            }
        };
        for (place, values, shape) in [
            (self.outputs[0], &mut out.stage, &mut out.stage_shape),
            (self.outputs[1], &mut out.amount, &mut out.amount_shape),
        ] {
            let result = results[place].cast_to::<f32>()?;
            shape.extend_from_slice(result.shape());
            values.extend(result.to_plain_array_view::<f32>()?.iter());
        }
        Ok(())
    }
}

/// What runs `work`; a panic within tract, which a damaged file can cause, becomes an error like its others.
fn guarded<T>(work: impl FnOnce() -> TractResult<T>) -> Result<T, String> {
    match catch_unwind(AssertUnwindSafe(work)) {
        Ok(result) => result.map_err(|error| format!("{error:#}")),
        Err(_) => Err("tract gave up on it".to_owned()),
    }
}

fn name(path: &Path) -> String {
    format!("onnx:{}", path.display())
}

/// By input of the graph its place in [`INPUTS`]; what is wrong with one, if anything.
fn check_inputs(graph: &InferenceModel) -> Result<Vec<usize>, String> {
    let outlets = graph.input_outlets().map_err(|e| e.to_string())?;
    let place = |outlet: &tract_onnx::prelude::OutletId| {
        let node = graph.node(outlet.node);
        let known: Vec<&str> = INPUTS.iter().map(|input| input.name).collect();
        let place = known.iter().position(|&name| name == node.name);
        let place = place.ok_or_else(|| format!("unknown input `{}`; there are {}", node.name, known.join(", ")))?;
        let declared = graph.outlet_fact(*outlet).ok().and_then(|fact| fact.datum_type.concretize());
        match declared {
            Some(found) if found != dtype(place) => {
                Err(format!("input `{}` is {found:?}, it must be {}", node.name, INPUTS[place].dtype))
            }
            _ => Ok(place),
        }
    };
    outlets.iter().map(place).collect()
}

fn dtype(input: usize) -> DatumType {
    match INPUTS[input].dtype {
        "int64" => i64::datum_type(),
        "bool" => bool::datum_type(),
        _ => f32::datum_type(),
    }
}

/// The shape of an input, given the numbers of nodes, edges, jobs and offered executors.
fn shape<D: Clone + From<usize> + std::ops::Add<Output = D>>(input: usize, sizes: &[D; 4]) -> Vec<D> {
    let [nodes, edges, jobs, offered] = sizes.clone();
    match INPUTS[input].name {
        "nodes" => vec![nodes, NODE_COLUMNS.len().into()],
        "edges" => vec![2.into(), edges],
        "job_ptr" => vec![jobs + 1.into()],
        "node_job" | "mask" => vec![nodes],
        "jobs" => vec![jobs, JOB_COLUMNS.len().into()],
        "cluster" => vec![CLUSTER_COLUMNS.len().into()],
        _ => vec![offered],
    }
}

fn tensor(input: usize, inputs: &Inputs) -> TractResult<TValue> {
    let sizes = [inputs.num_nodes(), inputs.num_edges(), inputs.num_jobs(), inputs.offered()];
    let shape = shape(input, &sizes);
    let tensor = match INPUTS[input].name {
        "nodes" => Tensor::from_shape(&shape, &inputs.nodes),
        "edges" => Tensor::from_shape(&shape, &inputs.edges),
        "job_ptr" => Tensor::from_shape(&shape, &inputs.job_ptr),
        "node_job" => Tensor::from_shape(&shape, &inputs.node_job),
        "mask" => Tensor::from_shape(&shape, &inputs.mask),
        "jobs" => Tensor::from_shape(&shape, &inputs.jobs),
        "cluster" => Tensor::from_shape(&shape, &inputs.cluster),
        _ => Tensor::from_shape(&shape, &inputs.amounts),
    };
    tensor.map(Into::into)
}

/// A plan for some sizes, or for all.
fn plan(mut graph: InferenceModel, inputs: &[usize], sizes: Option<[usize; 4]>) -> TractResult<Arc<TypedSimplePlan>> {
    let sizes: [TDim; 4] = match sizes {
        Some(sizes) => sizes.map(|size| size.to_dim()),
        None => ["nodes", "edges", "jobs", "offered"].map(|name| graph.symbols.sym(name).to_dim()),
    };
    for (place, &input) in inputs.iter().enumerate() {
        let fact = InferenceFact::dt_shape(dtype(input), shape(input, &sizes));
        graph.set_input_fact(place, fact)?;
    }
    graph.into_optimized()?.into_runnable()
}
