//! Running policies: one episode, many episodes in parallel, recording them as a trace, and checking that they keep their
//! contract.

mod battery;
mod conformance;
mod drive;
mod episode;
mod likeness;
mod record;
mod rollout;

pub use battery::{Named, battery};
pub use conformance::{Check, Conformance, ConformanceRequest, check_policy};
pub use drive::LabelledRollouts;
pub use episode::{ChoiceLog, EpisodeCause, EpisodeError, EpisodeId, EpisodeRun, run_episode};
pub use likeness::Likeness;
pub use record::{RecordError, RecordRequest, Recording, policy_source, record, workload_source};
pub use rollout::{Episodes, Progress, RolloutError, rollouts};
