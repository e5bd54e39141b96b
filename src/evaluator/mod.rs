//! How good is a student? Fidelity to the teacher on recorded choices, and paired comparisons in closed loop.

mod closed_loop;
mod fidelity;
mod interval;
mod report;

pub use closed_loop::{EpisodeFigures, compare};
pub use fidelity::{Scorer, best_single_features, fidelity};
pub use interval::{bootstrap, percentile_interval};
pub use report::{ClosedLoop, Estimate, Evaluation, FidelityRow, PolicyOutcome, Ratio, Schedule, ScheduleRun};
