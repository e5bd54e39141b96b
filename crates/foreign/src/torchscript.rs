//! TorchScript files, run by libtorch on one thread of the CPU. Such a file is a program: load only what you trust.

use super::{CLUSTER_COLUMNS, ForeignError, INPUTS, Inputs, JOB_COLUMNS, NODE_COLUMNS, Network, OUTPUTS, Scores};
use std::{
    path::{Path, PathBuf},
    sync::Arc,
};
use tch::{CModule, Device, IValue, Kind, TchError, Tensor};

/// A network in a TorchScript file. Its `forward` takes the inputs of the contract as tensors, in order, and returns a tuple
/// of the two outputs.
pub struct TorchScriptNetwork {
    module: Arc<CModule>,
    path: PathBuf,
}

impl TorchScriptNetwork {
    /// Reads a file and puts the module in evaluation mode.
    ///
    /// # Errors
    ///
    /// A file that is no TorchScript module, e.g. a state dict.
    pub fn load(path: &Path) -> Result<Self, ForeignError> {
        // Episodes run in parallel; a module that uses all cores would only disturb them.
        tch::set_num_threads(1);
        let load = |e: TchError| ForeignError::Load {
            network: name(path),
            problem: format!("{}; expected a module saved by torch.jit.save", first_line(&e)),
        };
        let mut module = CModule::load_on_device(path, Device::Cpu).map_err(load)?;
        module.f_set_eval().map_err(load)?;
        Ok(Self { module: Arc::new(module), path: path.to_owned() })
    }

    fn run(&self, inputs: &Inputs) -> Result<IValue, TchError> {
        // The optimiser would specialise on the sizes of the first questions and start again at the next.
        tch::jit::f_set_graph_executor_optimize(false)?;
        let (nodes, jobs) = (inputs.num_nodes() as i64, inputs.num_jobs() as i64);
        let table =
            |values: &[f32], rows: i64, columns: usize| Tensor::from_slice(values).f_view([rows, columns as i64]);
        let tensors = [
            table(&inputs.nodes, nodes, NODE_COLUMNS.len())?,
            Tensor::from_slice(&inputs.edges).f_view([2, inputs.num_edges() as i64])?,
            Tensor::from_slice(&inputs.job_ptr),
            Tensor::from_slice(&inputs.node_job),
            Tensor::from_slice(&inputs.mask),
            table(&inputs.jobs, jobs, JOB_COLUMNS.len())?,
            Tensor::from_slice(&inputs.cluster).f_view([CLUSTER_COLUMNS.len() as i64])?,
            Tensor::from_slice(&inputs.amounts),
        ];
        const { assert!(INPUTS.len() == 8) };
        tch::no_grad(|| self.module.forward_is(&tensors.map(IValue::Tensor)))
    }
}

impl Network for TorchScriptNetwork {
    fn name(&self) -> String {
        name(&self.path)
    }

    fn fresh(&self) -> Box<dyn Network> {
        Box::new(Self { module: Arc::clone(&self.module), path: self.path.clone() })
    }

    fn scores(&mut self, inputs: &Inputs, out: &mut Scores) -> Result<(), ForeignError> {
        let failed = |e: TchError| ForeignError::Run {
            network: self.name(),
            nodes: inputs.num_nodes(),
            edges: inputs.num_edges(),
            jobs: inputs.num_jobs(),
            problem: reason(&e),
        };
        let [stage, amount] = match self.run(inputs).map_err(failed)? {
            IValue::Tuple(values) => match <[IValue; 2]>::try_from(values) {
                Ok([IValue::Tensor(stage), IValue::Tensor(amount)]) => [stage, amount],
                _ => return Err(self.no_tuple("a tuple of something else")),
            },
            IValue::Tensor(_) => return Err(self.no_tuple("one tensor")),
            _ => return Err(self.no_tuple("something else")),
        };
        read(&stage, &mut out.stage, &mut out.stage_shape).map_err(failed)?;
        read(&amount, &mut out.amount, &mut out.amount_shape).map_err(failed)
    }

    fn files(&self) -> Vec<PathBuf> {
        vec![self.path.clone()]
    }
}

impl TorchScriptNetwork {
    fn no_tuple(&self, found: &str) -> ForeignError {
        let problem = format!("`forward` returned {found}, it must return the tuple ({})", OUTPUTS.join(", "));
        ForeignError::Signature { network: self.name(), problem }
    }
}

/// Copies a tensor with its shape.
fn read(tensor: &Tensor, values: &mut Vec<f32>, shape: &mut Vec<usize>) -> Result<(), TchError> {
    let tensor = tensor.f_to_device(Device::Cpu)?.f_to_kind(Kind::Float)?.f_contiguous()?;
    shape.extend(tensor.size().iter().map(|&size| size as usize));
    values.resize(tensor.numel(), 0.0);
    tensor.f_copy_data(values, tensor.numel())
}

fn name(path: &Path) -> String {
    format!("torchscript:{}", path.display())
}

/// What libtorch said, without the stack of its own functions.
fn first_line(error: &TchError) -> String {
    error.to_string().lines().next().unwrap_or_default().to_owned()
}

/// What went wrong inside the module: libtorch says so in the last line before its own functions.
fn reason(error: &TchError) -> String {
    let text = error.to_string();
    let own = text.split("\nException raised from").next().unwrap_or_default();
    let last = own.lines().rfind(|line| !line.trim().is_empty()).unwrap_or_default();
    match own.lines().next() {
        Some(first) if first != last => format!("{first}: {last}"),
        _ => last.to_owned(),
    }
}
