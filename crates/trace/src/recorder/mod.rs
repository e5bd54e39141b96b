//! Running policies: one episode, many episodes in parallel, and recording them as a trace.

mod drive;
mod episode;
mod labelled;
mod record;
mod rollout;

pub use drive::LabelledRollouts;
pub use episode::{ChoiceLog, EpisodeCause, EpisodeError, EpisodeRun, run_episode};
pub use labelled::speak_of;
pub use record::{RecordError, RecordRequest, Recording, policy_source, record, workload_source};
pub use rollout::{Episodes, Progress, RolloutError, rollouts};
pub use sched_distill_core::rng::EpisodeId;
