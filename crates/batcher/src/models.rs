//! The applications of a workload with the models that are run for them.

use sched_distill_foreign::{BatchModel, ForeignError};
use sched_distill_serving::{Server, workload::ServingWorkload};
use std::{collections::HashMap, path::PathBuf, sync::Arc};

/// Why a workload cannot be served.
#[derive(Debug, thiserror::Error)]
pub enum ModelsError {
    /// A workload without models, or a list that does not say where they are.
    #[error(
        "application `{application}` has no model file: serve models:FILE with a list that `distill profile-model MODEL.onnx -o FILE` wrote, \
         in which each model has its `file`"
    )]
    NoFile {
        /// Its name.
        application: String,
    },
    /// Sizes for a model whose tasks have one.
    #[error("application `{application}`: all tasks of its model have size 1, but its list says up to {most_size}")]
    OneSize {
        /// Its name.
        application: String,
        /// What the list says.
        most_size: u32,
    },
    /// A model that cannot be read or be asked one task at a time.
    #[error("application `{application}`")]
    Model {
        /// Its name.
        application: String,
        /// Why not.
        source: Box<ForeignError>,
    },
}

/// The applications of a server, with the models that are run for them. Clones share the models.
#[derive(Clone)]
pub struct Models {
    server: Arc<Server>,
    by_application: Arc<Vec<Application>>,
}

/// What is run for an application.
struct Application {
    model: Arc<BatchModel>,
    /// Largest size of a task: what was measured.
    most_size: u32,
    /// Numbers of a task per unit of its size.
    width: usize,
}

impl Models {
    /// Reads the models of a workload.
    ///
    /// # Errors
    ///
    /// An application without a model, or a model that cannot be used.
    pub fn load(workload: &ServingWorkload) -> Result<Self, ModelsError> {
        let mut read: HashMap<PathBuf, Arc<BatchModel>> = HashMap::new();
        let mut by_application = Vec::new();
        let service = workload.cluster();
        for (place, application) in service.server.applications.iter().enumerate() {
            let name = || application.name.to_string();
            let Some(Some((path, most_size))) = service.models.get(place) else {
                return Err(ModelsError::NoFile { application: name() });
            };
            let most_size = *most_size;
            let failed = |source| ModelsError::Model { application: name(), source: Box::new(source) };
            let model = match read.get(path) {
                Some(model) => model.clone(),
                None => Arc::new(BatchModel::load(path).map_err(failed)?),
            };
            read.insert(path.to_owned(), model.clone());
            let width = model.width().map_err(failed)?;
            if model.has_one_size() && most_size != 1 {
                return Err(ModelsError::OneSize { application: name(), most_size });
            }
            by_application.push(Application { model, most_size, width });
        }
        Ok(Self { server: service.server.clone(), by_application: Arc::new(by_application) })
    }

    /// The applications, and how long their batches take.
    #[must_use]
    pub fn server(&self) -> &Arc<Server> {
        &self.server
    }

    /// Place of an application by its name.
    #[must_use]
    pub fn place(&self, name: &str) -> Option<u32> {
        let place = self.server.applications.iter().position(|application| &*application.name == name);
        place.map(|place| place as u32)
    }

    /// The size of a task that is so many numbers; why it is none, if so.
    ///
    /// # Errors
    ///
    /// What was found and what is allowed.
    pub fn size(&self, application: u32, values: &[f64]) -> Result<u32, String> {
        let Application { model, most_size, width } = &self.by_application[application as usize];
        let most = *most_size as usize * width;
        if values.is_empty() || values.len() > most || !values.len().is_multiple_of(*width) {
            let of = if *width == 1 { String::new() } else { format!(", a multiple of {width}") };
            return Err(format!("must be 1 to {most} numbers{of}, got {}", values.len()));
        }
        if let Some(problem) = model.refuses(values) {
            return Err(problem);
        }
        let size = (values.len() / width) as u32;
        let most_size = self.server.applications[application as usize].most_size();
        match size <= most_size {
            true => Ok(size),
            false => Err(format!("must be at most {most_size} long, which is what memory holds, got {size}")),
        }
    }

    /// What a model makes of tasks that share a batch, with as many empty ones as its shape has.
    pub(crate) fn answer(&self, application: u32, tasks: &[&[f64]]) -> Result<Vec<Vec<f32>>, ForeignError> {
        let count = tasks.len() as u32;
        let padded = self.server.applications[application as usize].padded(count);
        self.by_application[application as usize].model.answer(tasks, (padded - count) as usize)
    }

    /// Runs every model once, so that the first tasks do not wait for memory to be touched.
    ///
    /// # Errors
    ///
    /// What a model makes of ones.
    pub fn warm_up(&self) -> Result<(), ModelsError> {
        for (place, application) in (0..).zip(&self.server.applications) {
            let task = vec![1.0; self.by_application[place as usize].width];
            self.answer(place, &[&task])
                .map_err(|e| ModelsError::Model { application: application.name.to_string(), source: Box::new(e) })?;
        }
        Ok(())
    }
}
