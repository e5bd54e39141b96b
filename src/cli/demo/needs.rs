//! What a demo takes once its traces are recorded: told beforehand if it is much.

use super::Extent;
use crate::{distiller::Draw, pipeline::NUMBERS_TO_CHOOSE_ON, trace::Trace};
use anyhow::Result;

/// Memory, and time on two cores.
pub(super) struct Needs {
    bytes: f64,
    seconds: f64,
}

/// Memory per number of a row, bytes, as measured: of rows that models learn from, and of rows that are held.
const BYTES_LEARNT: f64 = 10.0;
const BYTES_HELD: f64 = 9.0;

/// Time per number of a row, on two cores, s, as measured.
const SECONDS: f64 = 4.5e-7;

/// From so much on people are told, bytes.
const MUCH: f64 = 1e9;

impl Needs {
    /// From the rows of the traces and how much of them is learnt from.
    pub(super) fn of([train, validation, test]: [&Trace; 3], extent: &Extent) -> Result<Self> {
        let (mut learnt, mut held, mut again) = (0.0, 0.0, 0.0);
        for level in &train.manifest.feature_set.levels {
            let numbers = |trace: &Trace| (trace.rows_of(&level.name) * level.features.len()) as f64;
            let choices = train.outlines(&level.name)?.len();
            let one =
                (numbers(train) * (extent.choices as f64 / choices.max(1) as f64).min(1.0)).min(Draw::MOST_NUMBERS);
            learnt += one;
            held += numbers(validation).min(NUMBERS_TO_CHOOSE_ON as f64) + numbers(test);
            // Rules are fitted again on choices of other episodes, those of the student's own states too.
            let share = f64::from(extent.episodes + extent.own) / f64::from(extent.episodes);
            again += (f64::from(extent.resamples) * one).min(numbers(train) * share);
        }
        // What was chosen on is gone by then.
        let bytes = BYTES_LEARNT * learnt + BYTES_HELD * held.max(again);
        Ok(Self { bytes, seconds: SECONDS * (learnt + held + again) })
    }

    /// What people should know before the work begins.
    pub(super) fn note(&self) -> Option<String> {
        (self.bytes >= MUCH).then(|| {
            let minutes = (self.seconds / 60.0).ceil();
            format!(
                "note: the rest takes about {:.1} GB of memory and {minutes:.0} min; --max-choices N takes less",
                self.bytes / 1e9
            )
        })
    }
}
