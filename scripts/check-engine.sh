#!/usr/bin/env bash
# Checks crates/engine: format, lints, docs, and students fitted in one process, by two executors and with one of them killed.
#
#     scripts/check-engine.sh        # from nothing some 25 minutes on two cores, most of it Apache DataFusion and Ballista
#
# It stands apart from .ci/run, which has no such time to spare: the package has a lock file of its own, and builds its 330
# packages, polars and the toolkit again.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../crates/engine"
export CARGO_INCREMENTAL=0

cargo fmt --check
cargo clippy --locked --all-targets -- -D warnings
RUSTDOCFLAGS="-D warnings" cargo doc --locked --no-deps
cargo test --locked
