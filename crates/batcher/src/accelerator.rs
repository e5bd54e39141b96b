//! An accelerator: a thread that runs one batch at a time to its end.

use crate::Models;
use sched_distill_foreign::BatchModel;
use std::{sync::mpsc::Receiver, time::Instant};

/// A batch as it is run.
pub(crate) struct Batch {
    pub(crate) application: u32,
    /// What is asked, task by task.
    pub(crate) tasks: Vec<Vec<f64>>,
}

/// A batch that has ended.
pub(crate) struct Done {
    pub(crate) accelerator: u32,
    pub(crate) at: Instant,
    /// What became of its tasks, in their order.
    pub(crate) results: Vec<Result<Vec<f32>, String>>,
}

/// Runs batches until nobody is left who could send one.
pub(crate) fn run(accelerator: u32, models: &Models, batches: &Receiver<Batch>, tell: impl Fn(Done)) {
    while let Ok(batch) = batches.recv() {
        let results = answers(models, &batch);
        tell(Done { accelerator, at: Instant::now(), results });
    }
}

fn answers(models: &Models, batch: &Batch) -> Vec<Result<Vec<f32>, String>> {
    let model = &models.of(batch.application).model;
    let count = batch.tasks.len() as u32;
    let padded = models.server().applications[batch.application as usize].padded(count);
    let tasks: Vec<&[f64]> = batch.tasks.iter().map(|task| &task[..]).collect();
    match model.answer(&tasks, (padded - count) as usize) {
        Ok(answers) => answers.into_iter().map(Ok).collect(),
        // One of them is at fault, and the others are to be answered nevertheless.
        Err(_) if tasks.len() > 1 => tasks.iter().map(|task| alone(model, task)).collect(),
        Err(error) => vec![Err(error.to_string())],
    }
}

fn alone(model: &BatchModel, task: &[f64]) -> Result<Vec<f32>, String> {
    let answers = model.answer(&[task], 0).map_err(|error| error.to_string())?;
    answers.into_iter().next().ok_or_else(|| "no answer".to_owned())
}
