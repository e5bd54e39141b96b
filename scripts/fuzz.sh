#!/usr/bin/env bash
# Gives every reader damaged files, and simulators workloads of any numbers: scripts/fuzz.sh [HOURS] [SEED]. Each kind is tried for so long (numbers
# for half of it), as many at a time as there are cores, with 1.5 GB of memory each. Of damaged files the smallest edits are shown that bring about
# what is found, of workloads the whole text.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
cargo test --locked --no-run
ulimit -v 1500000
DISTILL_FUZZ_SECONDS=$(awk "BEGIN { print int(3600 * ${1:-1}) }")
export DISTILL_FUZZ_SECONDS DISTILL_FUZZ_SEED=${2:-$RANDOM}
echo "seed $DISTILL_FUZZ_SEED"
cargo test --locked -p sched-distill-foreign --lib damaged_answers -- --nocapture
cargo test --locked --test integration -- mutants numbers serve::hostile --nocapture
