//! DL2 as a scheduler: first a round of bundles, then the network, one task at a time.

use super::{Dl2, Dl2Weights};
use crate::{
    Training,
    heuristic::window::{Window, next_bundle},
    state::{Decision, Task, View},
};
use sched_distill_core::{
    network::{NeuralError, Tensors},
    policy::{
        Policy, PolicyError,
        pick::{Picker, log_softmax},
    },
    scenario::{LEAST_LOG_PROB, Said},
};
use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

/// The checkpoint that comes with the program (`data/README.md` tells how it was trained).
pub static BUILT_IN: &[u8] = include_bytes!("../../data/dl2-builtin.safetensors");

/// The DL2 network with given weights, greedy or sampling.
///
/// A slot begins with a worker and a server for every job that has room for both, whatever the network thinks. Then the
/// network adds one task after the other until it closes the slot, or wants a task that does not fit the node that comes next.
pub struct Dl2Policy {
    network: Dl2,
    weights: Arc<Dl2Weights>,
    /// `None` for weights in memory.
    path: Option<PathBuf>,
    /// SHA-256 of weights that are part of the program.
    builtin: Option<String>,
    picker: Picker,
    window: Window,
    legal: Vec<u32>,
    scores: Vec<f32>,
    log_prob: Vec<f64>,
}

impl Dl2Policy {
    /// Loads `.safetensors` or a PyTorch `.pt` state dict; without a window, it is the one that the file tells.
    ///
    /// # Errors
    ///
    /// A file that is not a checkpoint of the network, or of a flat one with another window.
    pub fn load(path: &Path, window: Option<usize>, sample: bool) -> Result<Self, NeuralError> {
        let policy = Self::read(&Tensors::load(path)?, &path.display().to_string(), window, sample)?;
        Ok(Self { path: Some(path.to_owned()), ..policy })
    }

    /// The network that comes with the program.
    ///
    /// # Errors
    ///
    /// A program that was built with a damaged network.
    pub fn builtin(window: Option<usize>, sample: bool) -> Result<Self, NeuralError> {
        let tensors = Tensors::from_bytes(BUILT_IN, "built in")?;
        let policy = Self::read(&tensors, "built in", window, sample)?;
        Ok(Self { builtin: Some(tensors.sha256().to_owned()), ..policy })
    }

    fn read(tensors: &Tensors, origin: &str, window: Option<usize>, sample: bool) -> Result<Self, NeuralError> {
        let weights = Dl2Weights::from_tensors(tensors, origin)?;
        let weights = match window {
            Some(window) => weights.with_window(window, origin)?,
            None => weights,
        };
        Ok(Self::new(Arc::new(weights), sample))
    }

    /// A scheduler with weights in memory.
    #[must_use]
    pub fn new(weights: Arc<Dl2Weights>, sample: bool) -> Self {
        Self {
            window: Window::new(weights.shape().window),
            network: Dl2::new(Arc::clone(&weights)),
            weights,
            path: None,
            builtin: None,
            picker: Picker::new(sample, "dl2"),
            legal: Vec::new(),
            scores: Vec::new(),
            log_prob: Vec::new(),
        }
    }

    /// The network, as it saw the last question that it was asked.
    pub fn network(&mut self) -> &mut Dl2 {
        &mut self.network
    }

    /// The window, as it was at the last question that the network was asked.
    #[must_use]
    pub fn window(&self) -> &Window {
        &self.window
    }

    /// The next decision that is not the network's: one of the round of bundles, or closing the slot because no job can take
    /// more. After `None` the window has looked at the question.
    pub fn without_network(&mut self, seen: &View<'_>) -> Option<Decision> {
        next_bundle(seen).or_else(|| {
            self.look(seen);
            self.window.jobs().is_empty().then_some(Decision::Close)
        })
    }

    /// Lets the window look at a question without the round of bundles.
    pub fn look(&mut self, seen: &View<'_>) {
        self.window.look(seen);
    }

    /// A copy for another thread, before its first episode.
    pub fn copy(&self) -> Self {
        Self {
            path: self.path.clone(),
            builtin: self.builtin.clone(),
            picker: self.picker.fresh(),
            ..Self::new(Arc::clone(&self.weights), false)
        }
    }

    /// What the network does, as a place among [`Self::legal_actions`]; the task may not fit. The window must have looked.
    pub fn act(&mut self, seen: &View<'_>) -> Result<usize, PolicyError> {
        self.network.read(seen, &self.window)?;
        self.legal.clear();
        for (column, &job) in self.window.jobs().iter().enumerate() {
            let can = |task: &Task| seen.job(job).can_take(*task);
            self.legal
                .extend(Task::ALL.iter().filter(|task| can(task)).map(|&task| (3 * column + task as usize) as u32));
        }
        self.legal.push(3 * self.window.jobs().len() as u32);
        let scores = self.network.scores();
        self.scores.clear();
        self.scores.extend(self.legal.iter().map(|&action| scores[action as usize]));
        self.log_prob.clear();
        if !log_softmax(&self.scores, &mut self.log_prob) {
            let policy = self.path.as_ref().map_or("dl2".to_owned(), |path| format!("dl2:{}", path.display()));
            return Err(PolicyError::NotFinite { policy, time_ms: seen.time_ms() });
        }
        Ok(self.picker.pick(&self.log_prob))
    }

    /// The actions that the maxima allow, and their log-probabilities, as of the last question to the network. Action `3k + t`
    /// is the task `t` for column `k`, the last one closes the slot.
    pub fn legal_actions(&self) -> (&[u32], &[f64]) {
        (&self.legal, &self.log_prob)
    }

    /// The decision that an action of the last question comes to: one that does not fit closes the slot.
    pub fn carried_out(&self, seen: &View<'_>, action: u32) -> Decision {
        let Some(&job) = self.window.jobs().get(action as usize / 3) else { return Decision::Close };
        let task = Task::ALL[action as usize % 3];
        if seen.fits(job, task) { Decision::Add { job, task, node: None } } else { Decision::Close }
    }
}

impl Policy<Training> for Dl2Policy {
    fn fresh(&self) -> Box<dyn Policy<Training>> {
        Box::new(self.copy())
    }

    fn reset(&mut self, episode_seed: u64) {
        self.picker.reset(episode_seed);
    }

    fn decide(&mut self, seen: &View<'_>, p: &mut Said) -> Result<Decision, PolicyError> {
        if let Some(decision) = self.without_network(seen) {
            p.be_sure::<Training>(seen, decision, decision);
            return Ok(decision);
        }
        let chosen = self.act(seen)?;
        let live = seen.live_jobs();
        p.joint.clear();
        p.joint.resize(3 * live.len() + 1, f64::from(LEAST_LOG_PROB));
        let (legal, log_probs) = self.legal_actions();
        for (&action, &log_prob) in legal.iter().zip(log_probs) {
            let place = match self.window.jobs().get(action as usize / 3) {
                Some(job) => live.binary_search(job).map_or(3 * live.len(), |i| 3 * i + action as usize % 3),
                None => 3 * live.len(),
            };
            p.joint[place] = log_prob;
        }
        Ok(self.carried_out(seen, self.legal[chosen]))
    }

    fn files(&self) -> Vec<PathBuf> {
        self.path.iter().cloned().collect()
    }

    fn fingerprint(&self) -> Option<(String, String)> {
        self.builtin.clone().map(|hash| ("built-in weights".to_owned(), hash))
    }
}
