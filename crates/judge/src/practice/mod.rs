//! What a network that learns needs of a cluster: somebody to learn from, episodes to practise on, and others to be judged by.
//!
//! [`Lessons`] are a policy or a trace to imitate. [`Moment`] says what the time after a decision cost. For a
//! [scorer](sched_distill_core::network::scorer), which reads features alone, an episode comes to a table per level,
//! [`Practice`]: who trains one sees tables of numbers and costs, whatever kind of cluster they are of ([`AnyGround`]).

mod ground;
mod lessons;
mod moment;
mod play;
mod survey;
mod validation;

pub use ground::{AnyGround, Examiner, Ground, GroundSources, PracticeError, Turn};
pub use lessons::{Lessons, LessonsError, RecordedEpisode, RecordedLessons, Replay};
pub use moment::{Clock, Moment};
pub use play::{Practice, PracticeLevel, PracticeStep};
pub use survey::{LevelNorm, Survey};
pub use validation::{Judge, ModeResult, Validation, Validator};
