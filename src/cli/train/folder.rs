//! The folder of a training.

use super::{
    super::files::{check_folder, check_no_input, write_file},
    RunArgs,
};
use crate::{
    figure::Figure,
    report::{CurvePoint, LearningCurve, learning_curve},
    trace::difference,
    trainer::{Checkpoint, Layout, Phase, Weights, metrics},
};
use anyhow::{Context, Result, bail};
use serde_json::{Value, json};
use std::io::ErrorKind;

/// Makes the folder ready; the state of the training that it holds, if it is this one.
pub(super) fn prepare(args: &RunArgs, plan: &Value, layout: &Layout) -> Result<Option<Checkpoint>> {
    let (dir, force) = (&args.output, args.force);
    let at = |what: &str| format!("{}: cannot {what}", dir.display());
    check_folder(dir)?;
    let path = dir.join("plan.json");
    match std::fs::read(&path) {
        Ok(found) if !force => {
            let theirs: Value = serde_json::from_slice(&found).unwrap_or_default();
            if let Some(difference) = difference("", &theirs, plan) {
                bail!(
                    "{}: the folder holds another training: {difference}; give --force to replace it, or -o for another folder",
                    dir.display()
                );
            }
            let state = dir.join("state.safetensors");
            return match std::fs::read(&state) {
                Ok(bytes) => Ok(Some(Checkpoint::from_bytes(&bytes, layout, &state)?)),
                Err(e) if e.kind() == ErrorKind::NotFound => Ok(None),
                Err(e) => Err(e).with_context(|| format!("{}: cannot read", state.display())),
            };
        }
        Err(e) if e.kind() != ErrorKind::NotFound => return Err(e).with_context(|| at("read plan.json in")),
        _ => {}
    }
    let old = [
        "state.safetensors",
        "best.safetensors",
        "last.safetensors",
        "metrics.parquet",
        "curve.svg",
        "curve.png",
        "timings.json",
    ]
    .map(|name| dir.join(name));
    old.iter().try_for_each(|path| check_no_input(path, args.init.as_deref()))?;
    for old in old {
        match std::fs::remove_file(old) {
            Err(e) if e.kind() != ErrorKind::NotFound => return Err(e).with_context(|| at("clear")),
            _ => {}
        }
    }
    write_file(&path, (serde_json::to_string_pretty(plan)? + "\n").as_bytes())?;
    Ok(None)
}

/// Writes everything that the folder holds; the state comes first, the rest can be made from it.
pub(super) fn write(args: &RunArgs, reference: (&str, &Figure), checkpoint: &Checkpoint) -> Result<()> {
    let dir = &args.output;
    write_file(&dir.join("state.safetensors"), &checkpoint.to_bytes()?)?;
    let file = |weights: &Weights| weights.to_tensors().to_safetensors();
    write_file(&dir.join("last.safetensors"), &file(&checkpoint.weights)?)?;
    if let Some(best) = &checkpoint.best {
        write_file(&dir.join("best.safetensors"), &file(&best.weights)?)?;
    }
    write_file(&dir.join("metrics.parquet"), &metrics(&checkpoint.rows).context("cannot make metrics.parquet")?)?;
    let timings = serde_json::to_string(&json!({"seconds": checkpoint.seconds}))? + "\n";
    write_file(&dir.join("timings.json"), timings.as_bytes())?;
    let (svg, png) = curve(args, reference, checkpoint)?;
    write_file(&dir.join("curve.svg"), svg.as_bytes())?;
    write_file(&dir.join("curve.png"), &png)?;
    Ok(())
}

fn curve(args: &RunArgs, (reference, figure): (&str, &Figure), checkpoint: &Checkpoint) -> Result<(String, Vec<u8>)> {
    let (mut seconds, mut imitation_s) = (0.0, 0.0);
    let mut points = Vec::new();
    for (row, took) in checkpoint.rows.iter().zip(&checkpoint.seconds) {
        seconds += took;
        if row.phase == Phase::Imitation {
            imitation_s = seconds;
        }
        if let Some(v) = &row.validation {
            points.push(CurvePoint {
                iteration: row.iteration,
                seconds,
                greedy: v.greedy.sound(),
                sampled: v.sampled.sound(),
            });
        }
    }
    let best = checkpoint.best.as_ref().and_then(|b| points.iter().position(|p| p.iteration == b.iteration));
    let curve =
        LearningCurve { workload: &args.workload.join(", "), reference, figure, points: &points, imitation_s, best };
    Ok(learning_curve(&curve)?)
}
