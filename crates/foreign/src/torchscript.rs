//! TorchScript files, run by libtorch on one thread of the CPU. Such a file is a program: load only what you trust.

use super::{ForeignError, Network};
use sched_distill_core::contract::{Contract, Inputs, Scores, Values};
use std::{
    path::{Path, PathBuf},
    sync::Arc,
};
use tch::{CModule, Device, IValue, Kind, TchError, Tensor};

/// A network in a TorchScript file. Its `forward` takes the inputs of the contract as tensors, in order, and returns a
/// tuple of the outputs.
pub struct TorchScriptNetwork {
    module: Arc<CModule>,
    path: PathBuf,
    contract: &'static Contract,
}

impl TorchScriptNetwork {
    /// Reads a file, for questions of a contract, and puts the module in evaluation mode.
    ///
    /// # Errors
    ///
    /// A file that is no TorchScript module, e.g. a state dict.
    pub fn load(path: &Path, contract: &'static Contract) -> Result<Self, ForeignError> {
        // Episodes run in parallel; a module that uses all cores would only disturb them.
        tch::set_num_threads(1);
        let load = |e: TchError| ForeignError::Load {
            network: name(path),
            problem: format!("{}; expected a module saved by torch.jit.save", first_line(&e)),
        };
        let mut module = CModule::load_on_device(path, Device::Cpu).map_err(load)?;
        module.f_set_eval().map_err(load)?;
        Ok(Self { module: Arc::new(module), path: path.to_owned(), contract })
    }

    fn run(&self, inputs: &Inputs) -> Result<IValue, TchError> {
        // The optimiser would specialise on the sizes of the first questions and start again at the next.
        tch::jit::f_set_graph_executor_optimize(false)?;
        let mut tensors = Vec::with_capacity(self.contract.inputs.len());
        for (input, values) in self.contract.inputs.iter().zip(inputs.values()) {
            let flat = match values {
                Values::F32(values) => Tensor::from_slice(values),
                Values::I64(values) => Tensor::from_slice(values),
                Values::Bool(values) => Tensor::from_slice(values),
            };
            let shape: Vec<i64> = inputs.shape(input).map(|size| size as i64).collect();
            tensors.push(IValue::Tensor(flat.f_view(&shape[..])?));
        }
        tch::no_grad(|| self.module.forward_is(&tensors))
    }
}

impl Network for TorchScriptNetwork {
    fn name(&self) -> String {
        name(&self.path)
    }

    fn fresh(&self) -> Box<dyn Network> {
        Box::new(Self { module: Arc::clone(&self.module), path: self.path.clone(), contract: self.contract })
    }

    fn scores(&mut self, inputs: &Inputs, out: &mut Scores) -> Result<(), ForeignError> {
        let failed = |e: TchError| ForeignError::Run {
            network: self.name(),
            sizes: inputs.sizes_in_words(),
            problem: reason(&e),
        };
        let found = match self.run(inputs).map_err(failed)? {
            IValue::Tuple(found) => found,
            IValue::Tensor(_) => return Err(self.no_tuple("one tensor")),
            _ => return Err(self.no_tuple("something else")),
        };
        if found.len() != out.outputs().len() {
            return Err(self.no_tuple(&format!("a tuple of {}", found.len())));
        }
        for (found, to) in found.iter().zip(out.outputs_mut()) {
            let IValue::Tensor(tensor) = found else { return Err(self.no_tuple("a tuple of something else")) };
            read(tensor, &mut to.values, &mut to.shape).map_err(failed)?;
        }
        Ok(())
    }

    fn files(&self) -> Vec<PathBuf> {
        vec![self.path.clone()]
    }
}

impl TorchScriptNetwork {
    fn no_tuple(&self, found: &str) -> ForeignError {
        let problem =
            format!("`forward` returned {found}, it must return the tuple ({})", self.contract.outputs_named("", ", "));
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
