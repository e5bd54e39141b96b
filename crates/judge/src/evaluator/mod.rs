//! How good is a student? Fidelity to the teacher on recorded choices, and paired comparisons in closed loop.

mod agreement;
mod closed_loop;
mod departures;
mod disagreement;
mod drift;
mod fidelity;
mod gates;
mod interval;
mod looks;
mod old_report;
mod regime;
mod report;
mod scorer;
mod size;
mod tail;
mod timing;
#[cfg(test)]
#[path = "../../../../tests/support/tiny.rs"]
mod tiny;
mod verdict;

pub use agreement::{AgreementRow, agreement};
pub use closed_loop::{Runs, compare, floor, paired, paired_held};
pub use departures::{DepartureRow, Departures, DeparturesTally, FORCED, departures};
pub use disagreement::{Condition, Disagreement, Instead, Region};
pub use drift::{Drift, DriftTally, DriftWords, FeatureDrift, Read, Stability, drift};
pub use fidelity::{Tally, fidelity, leads};
pub use gates::{Checked, Gate, Judgement, VerdictGates};
pub use interval::{bootstrap, percentile_interval};
pub use looks::{EpisodeCount, Looks, Stopping};
pub use regime::Regimes;
pub use report::{
    ClosedLoop, Estimate, Estimates, Evaluation, FidelityRow, Floor, IdleSpell, Lead, PairedFigures, PolicyOutcome,
    Role, Schedule, ScheduleRun, Stake, hardest_choices, hardest_kind,
};
pub use scorer::{RANDOM, Scorer, best_single_features};
pub use size::{BySize, OfSize};
pub use tail::{PairedTail, WorstEpisode};
pub use timing::{TimedLine, timed_line};
pub use verdict::{KnownRule, Place, Standing, Verdict};
