//! The log: what libraries have to say about their work, on stderr.

use super::{common::Common, host::Stream};
use tracing::dispatcher::{Dispatch, set_global_default, with_default};
use tracing_subscriber::{EnvFilter, fmt};

/// Runs `work`, whose log goes to `stderr`: that of all threads where this is the process's own, else that of the thread at hand.
pub(super) fn with<T>(common: &Common, stderr: &Stream, work: impl FnOnce() -> T) -> T {
    let level = match (common.quiet, common.verbose) {
        (true, _) => "error",
        (_, 0) => "warn",
        (_, 1) => "info",
        _ => "debug",
    };
    let filter = EnvFilter::try_from_env("DISTILL_LOG").unwrap_or_else(|_| level.into());
    let log = fmt().with_env_filter(filter).without_time();
    let to = stderr.clone();
    match stderr.is_of_process() {
        true => {
            let log = Dispatch::new(log.with_writer(move || to.clone()).finish());
            // For threads of libraries as well, unless somebody has a log of their own there.
            let _ = set_global_default(log.clone());
            with_default(&log, work)
        }
        false => with_default(&Dispatch::new(log.with_ansi(false).with_writer(move || to.clone()).finish()), work),
    }
}
