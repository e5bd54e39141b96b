//! Nodes of GPUs, the storage that they share, and what is known of the models that are trained on them.

use crate::{
    database::{EpochLaw, Profile},
    history::History,
};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// A model: what kind of training a job is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(from = "RawModel")]
pub struct Model {
    /// Its name.
    pub name: Cow<'static, str>,
    /// Time that a container takes to start, ms.
    pub container_ms: f64,
    /// Time that a job takes to warm up when its data are there, ms.
    pub warm_ms: f64,
    /// Profiled jobs.
    pub profiles: Vec<Profile>,
    #[serde(skip)]
    law: EpochLaw,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawModel {
    name: String,
    container_ms: f64,
    warm_ms: f64,
    #[serde(default)]
    profiles: Vec<Profile>,
}

impl From<RawModel> for Model {
    fn from(raw: RawModel) -> Self {
        Self::new(raw.name, [raw.container_ms, raw.warm_ms], raw.profiles)
    }
}

impl Model {
    /// A model and its profiled jobs.
    #[must_use]
    pub fn new(name: impl Into<Cow<'static, str>>, [container_ms, warm_ms]: [f64; 2], profiles: Vec<Profile>) -> Self {
        Self { name: name.into(), container_ms, warm_ms, law: EpochLaw::fit(&profiles), profiles }
    }

    /// What the profiles say of the time of an epoch.
    #[must_use]
    pub fn law(&self) -> &EpochLaw {
        &self.law
    }
}

/// On which nodes a job is placed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Placement {
    /// On as few nodes as it can be, where its data are, and where it leaves least free.
    #[default]
    Packed,
    /// Always on the node with the most free GPUs.
    MostFree,
}

/// The cluster; the same in every episode of a workload.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cluster {
    /// Nodes, all alike.
    pub nodes: u32,
    /// GPUs of each.
    pub node_gpus: u32,
    /// What the storage gives to all transfers together, GB/s.
    pub storage_gbps: f64,
    /// What one transfer gets at most, GB/s.
    pub link_gbps: f64,
    /// Data that a node can hold, GB.
    pub cache_gb: f64,
    /// How much longer epochs take on more nodes than necessary, as a share.
    #[serde(default)]
    pub spread_slowdown: f64,
    /// Time between two checks, ms.
    pub check_ms: f64,
    /// Epochs after which the counter has told how long they take.
    pub observe: u32,
    /// Spread of the times of containers and warm-ups, the standard deviation of the logarithm.
    #[serde(default)]
    pub start_noise: f64,
    /// On which nodes jobs are placed.
    #[serde(default)]
    pub placement: Placement,
    /// Whether preemption costs nothing: for comparison with simulators in which it does not.
    #[serde(default)]
    pub free: bool,
    /// Mean time until a node fails, ms; `None` if none does.
    pub mtbf_ms: Option<f64>,
    /// Time that a failed node is down, ms.
    #[serde(default = "ten_minutes")]
    pub repair_ms: f64,
    /// Earlier jobs; what `gittins` and `lucid-like` go by. May be empty.
    #[serde(default)]
    pub earlier: History,
    /// What jobs train.
    pub models: Vec<Model>,
}

fn ten_minutes() -> f64 {
    6e5
}

impl Default for Cluster {
    /// Eight nodes of four GPUs, with what `builtin` has where nothing is said, and one model of which nothing is known.
    fn default() -> Self {
        Self {
            nodes: 8,
            node_gpus: 4,
            storage_gbps: 5.0,
            link_gbps: 1.25,
            cache_gb: 500.0,
            spread_slowdown: 0.15,
            check_ms: 3e5,
            observe: 3,
            start_noise: 0.05,
            placement: Placement::Packed,
            free: false,
            mtbf_ms: None,
            repair_ms: ten_minutes(),
            earlier: History::default(),
            models: vec![Model::new("model", [1e4, 3.5e3], Vec::new())],
        }
    }
}

/// Most GPUs of a node, and of a cluster.
pub(crate) const MOST_NODE_GPUS: u32 = 64;
pub(crate) const MOST_GPUS: u32 = 65_536;

impl Cluster {
    /// GPUs of all nodes.
    #[must_use]
    pub fn gpus(&self) -> u32 {
        self.nodes * self.node_gpus
    }

    /// The fewest nodes that so many GPUs can be on.
    #[must_use]
    pub fn fewest_nodes(&self, gpus: u32) -> u32 {
        gpus.div_ceil(self.node_gpus)
    }

    /// How many times as long epochs take on so many nodes as on the fewest that so many GPUs can be on.
    #[must_use]
    pub fn slowdown(&self, gpus: u32, nodes: usize) -> f64 {
        if nodes > self.fewest_nodes(gpus) as usize { 1.0 + self.spread_slowdown } else { 1.0 }
    }

    /// GB/ms that each of so many transfers gets.
    #[must_use]
    pub fn rate(&self, transfers: u32) -> f64 {
        1e-3 * self.link_gbps.min(self.storage_gbps / f64::from(transfers.max(1)))
    }

    pub(crate) fn check(&self) -> Result<(), String> {
        let between = |name: &str, value: f64, least: f64, most: f64| match (least..=most).contains(&value) {
            true => Ok(()),
            false => Err(format!("`{name}` must be in {least}..={most}, got {value}")),
        };
        between("nodes", self.nodes.into(), 1.0, 10_000.0)?;
        between("node_gpus", self.node_gpus.into(), 1.0, MOST_NODE_GPUS.into())?;
        between("nodes · node_gpus", (f64::from(self.nodes)) * f64::from(self.node_gpus), 1.0, MOST_GPUS.into())?;
        between("storage_gbps", self.storage_gbps, 1e-6, 1e9)?;
        between("link_gbps", self.link_gbps, 1e-6, 1e9)?;
        between("cache_gb", self.cache_gb, 0.0, 1e12)?;
        between("spread_slowdown", self.spread_slowdown, 0.0, 100.0)?;
        between("check_ms", self.check_ms, 1.0, 1e12)?;
        between("observe", self.observe.into(), 1.0, 1e6)?;
        between("start_noise", self.start_noise, 0.0, 2.0)?;
        between("mtbf_ms", self.mtbf_ms.unwrap_or(1e12), 1e3, 1e15)?;
        between("repair_ms", self.repair_ms, 1.0, 1e15)?;
        between("models", self.models.len() as f64, 1.0, 1000.0)?;
        if let Some(wrong) = self.earlier.jobs().iter().find(|job| !job.is_sound()) {
            return Err(format!("`earlier` must have positive numbers up to 1e15, got {wrong:?}"));
        }
        for (i, model) in self.models.iter().enumerate() {
            let times = [model.container_ms, model.warm_ms];
            if times.iter().any(|ms| !(0.0..=1e9).contains(ms)) {
                return Err(format!(
                    "model `{}`: `container_ms` and `warm_ms` must be in 0..=1e9, got {times:?}",
                    model.name
                ));
            }
            let is_profile = |p: &Profile| {
                p.gpus > 0 && p.batch > 0 && (1e-6..=1e15).contains(&p.samples) && (1e-6..=1e15).contains(&p.epoch_ms)
            };
            if let Some(wrong) = model.profiles.iter().find(|profile| !is_profile(profile)) {
                return Err(format!("model `{}`: profiles have positive numbers, got {wrong:?}", model.name));
            }
            if self.models[..i].iter().any(|other| other.name == model.name) {
                return Err(format!("model `{}` stands there twice", model.name));
            }
        }
        Ok(())
    }
}
