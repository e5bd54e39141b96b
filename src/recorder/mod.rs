//! Running policies: one episode, many episodes in parallel, and recording them as a trace.

mod drive;
mod episode;
mod record;
mod rollout;

pub use drive::LabelledRollouts;
pub use episode::{ChoiceLog, EpisodeCause, EpisodeError, EpisodeId, EpisodeRun, run_episode};
pub use record::{RecordError, RecordRequest, Recording, record, source};
pub use rollout::{Progress, RolloutError, rollouts};
