//! Nodes of cores, and what is known of the models that are trained on them.

use crate::Estimate;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// A model: what kind of training a job is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Model {
    /// Its name.
    pub name: Cow<'static, str>,
    /// What earlier jobs say of the iterations of the next one.
    pub earlier: Estimate,
    /// Cores that its earlier jobs used as they were submitted; what a recommender of requests goes by. May be empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cores_used: Vec<u32>,
}

/// The cluster; the same in every episode of a workload.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cluster {
    /// Nodes, all alike.
    pub nodes: u32,
    /// Cores of each. A job runs on one node.
    pub node_cores: u32,
    /// Time between two checks of the running jobs, ms.
    pub check_ms: f64,
    /// Time that a job stands still when it is given another number of cores, ms.
    pub restart_ms: f64,
    /// Iterations of a window of measurement: a job is measured first when it has done so many.
    pub window: u32,
    /// Error of the mean time of a window, as a share of it.
    pub noise: f64,
    /// Whether jobs may be refused.
    #[serde(default)]
    pub may_refuse: bool,
    /// What jobs train.
    pub models: Vec<Model>,
}

/// Most cores of a node, and of the largest job.
pub(crate) const MOST_CORES: u32 = 256;

impl Cluster {
    /// Cores of all nodes.
    #[must_use]
    pub fn cores(&self) -> u32 {
        self.nodes * self.node_cores
    }

    /// Error of a mean time over so many iterations, as a share of it.
    #[must_use]
    pub fn error(&self, iterations: f64) -> f64 {
        self.noise * (f64::from(self.window) / iterations).sqrt()
    }

    pub(crate) fn check(&self) -> Result<(), String> {
        let between = |name: &str, value: f64, least: f64, most: f64| match (least..=most).contains(&value) {
            true => Ok(()),
            false => Err(format!("`{name}` must be in {least}..={most}, got {value}")),
        };
        between("nodes", self.nodes.into(), 1.0, 10_000.0)?;
        between("node_cores", self.node_cores.into(), 1.0, MOST_CORES.into())?;
        between("check_ms", self.check_ms, 1.0, 1e12)?;
        between("restart_ms", self.restart_ms, 0.0, 1e12)?;
        between("window", self.window.into(), 1.0, 1e6)?;
        between("noise", self.noise, 0.0, 1.0)?;
        between("models", self.models.len() as f64, 1.0, 1000.0)?;
        for (i, model) in self.models.iter().enumerate() {
            let numbers = model.earlier.mean.iter().chain(&model.earlier.covariance);
            if !numbers.clone().all(|x| x.abs() <= 1e30) {
                return Err(format!("model `{}`: what is known of it must be numbers up to 1e30", model.name));
            }
            if self.models[..i].iter().any(|other| other.name == model.name) {
                return Err(format!("model `{}` stands there twice", model.name));
            }
        }
        Ok(())
    }
}
