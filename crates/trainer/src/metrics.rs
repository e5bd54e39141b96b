//! Figures of a training as a table.

use super::{IterationRow, Phase};
use polars::prelude::{Column, DataFrame, NamedFrom, PolarsError, Series};
use polars_io::parquet::write::ParquetWriter;
use sched_distill_judge::practice::{ModeResult, Validation};

/// One row per iteration as Parquet (docs/training.md has the columns). Nothing of it depends on the machine's speed.
///
/// # Errors
///
/// What polars fails with.
pub fn metrics(rows: &[IterationRow]) -> Result<Vec<u8>, PolarsError> {
    type Cell = fn(&IterationRow) -> Option<f64>;
    fn mode(row: &IterationRow, of: fn(&Validation) -> ModeResult) -> Option<ModeResult> {
        row.validation.as_ref().map(of)
    }
    let cells: [(&str, Cell); 18] = [
        ("decisions", |r| Some(r.decisions as f64)),
        ("rollout_objective", |r| r.objective),
        ("rollout_stalled", |r| Some(f64::from(r.stalled))),
        ("explained", |r| (r.phase == Phase::Reinforcement).then_some(r.explained)),
        ("loss", |r| Some(r.update.loss)),
        ("entropy", |r| Some(r.update.entropy)),
        ("kl", |r| Some(r.update.kl)),
        ("clipped", |r| Some(r.update.clipped)),
        ("gradient", |r| Some(r.update.gradient)),
        ("epochs", |r| Some(f64::from(r.update.epochs))),
        ("learning_rate", |r| Some(r.learning_rate)),
        ("entropy_weight", |r| Some(r.entropy_weight)),
        ("validation_greedy", |r| mode(r, |v| v.greedy)?.compared),
        ("validation_greedy_stalled", |r| Some(f64::from(mode(r, |v| v.greedy)?.stalled))),
        ("validation_greedy_rejected", |r| Some(mode(r, |v| v.greedy)?.rejected as f64)),
        ("validation_sampled", |r| mode(r, |v| v.sampled)?.compared),
        ("validation_sampled_stalled", |r| Some(f64::from(mode(r, |v| v.sampled)?.stalled))),
        ("validation_sampled_rejected", |r| Some(mode(r, |v| v.sampled)?.rejected as f64)),
    ];
    let mut columns: Vec<Column> = vec![
        Series::new("iteration".into(), rows.iter().map(|r| r.iteration).collect::<Vec<u32>>()).into(),
        Series::new("phase".into(), rows.iter().map(|r| name(r.phase)).collect::<Vec<&str>>()).into(),
    ];
    for (name, cell) in cells {
        columns.push(Series::new(name.into(), rows.iter().map(cell).collect::<Vec<Option<f64>>>()).into());
    }
    let mut frame = DataFrame::new_infer_height(columns)?;
    let mut bytes = Vec::new();
    ParquetWriter::new(&mut bytes).finish(&mut frame)?;
    Ok(bytes)
}

fn name(phase: Phase) -> &'static str {
    match phase {
        Phase::Start => "start",
        Phase::Imitation => "imitation",
        Phase::Reinforcement => "reinforcement",
    }
}
