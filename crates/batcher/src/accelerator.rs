//! An accelerator: a thread that runs one batch at a time to its end.

use crate::Models;
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
    let tasks: Vec<&[f64]> = batch.tasks.iter().map(|task| &task[..]).collect();
    let mut results = Vec::with_capacity(tasks.len());
    answer(models, batch.application, &tasks, &mut results);
    results
}

/// Where a batch fails, some of its tasks are at fault, and the others are to be answered nevertheless: each half is run by itself.
fn answer(models: &Models, application: u32, tasks: &[&[f64]], results: &mut Vec<Result<Vec<f32>, String>>) {
    let is_number = |answer: &Vec<f32>| answer.iter().all(|x| x.is_finite());
    match models.answer(application, tasks) {
        Ok(answers) => results.extend(answers.into_iter().map(|answer| match is_number(&answer) {
            true => Ok(answer),
            false => Err("its answer is not a number".to_owned()),
        })),
        Err(_) if tasks.len() > 1 => {
            let (first, second) = tasks.split_at(tasks.len() / 2);
            answer(models, application, first, results);
            answer(models, application, second, results);
        }
        Err(error) => results.push(Err(error.to_string())),
    }
}
