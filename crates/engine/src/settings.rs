//! Settings that client, scheduler and executors share.

use ballista_core::{
    config::{
        BALLISTA_CLIENT_GRPC_TIMEOUT_SECONDS, BALLISTA_CLIENT_IO_RETRY_WAIT_TIME_MS, BALLISTA_SHUFFLE_COMPRESSION_CODEC,
    },
    extension::SessionConfigExt,
};
use datafusion::prelude::SessionConfig;

/// Bytes of the largest message. A question is in the plan of every task, and a scheduler sends an executor all of its
/// tasks in one message; an answer is one value, which cannot be cut.
pub const MESSAGE: u32 = i32::MAX.cast_unsigned();

/// Seconds until a message must have arrived. Not how long a pass may take.
pub const ARRIVAL: u64 = 300;

/// Settings of a session that reads so many partitions.
#[must_use]
pub fn session(partitions: usize) -> SessionConfig {
    SessionConfig::new_with_ballista()
        .with_target_partitions(partitions)
        // Readers of other stages join small batches up to this size. Each row here is the sums of a partition, and
        // more than one at a time need not fit into memory.
        .with_batch_size(1)
        // Cells without rows do not travel, and what the others hold hardly gets smaller.
        .set_str(BALLISTA_SHUFFLE_COMPRESSION_CODEC, "none")
        .with_ballista_grpc_client_max_message_size(MESSAGE as usize)
        .set_u64(BALLISTA_CLIENT_GRPC_TIMEOUT_SECONDS, ARRIVAL)
        // Sums of an executor that is gone are asked for three times before its tasks are done again.
        .set_u64(BALLISTA_CLIENT_IO_RETRY_WAIT_TIME_MS, 500)
}
