#!/usr/bin/env bash
# Kills and interrupts every command that writes at random moments, and compares what a repetition of the same command ends
# with: scripts/kills.sh [ROUNDS]. A round is two disturbances of each command, of which three in four come before it ends; 20 are some 300.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
DISTILL_KILLS=${1:-20} exec cargo test --locked --test integration kills -- --nocapture
