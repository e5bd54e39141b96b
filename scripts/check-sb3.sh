#!/usr/bin/env bash
# A model of Stable-Baselines3 from training to report: MaskablePPO learns on `SchedDistill/Dag-v0`, is compared with chance and with
# heuristics, recorded, distilled and reported. Before that, the tests that need PyTorch are run.
#
#     scripts/check-sb3.sh [STEPS]        # 60000 steps without a number; the report is in target/sb3/run/report
#
# Needs Python 3 with venv and some 3 GB of disk for PyTorch.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
tools=target/sb3/venv
[[ -x $tools/bin/python ]] || python3 -m venv $tools
$tools/bin/python -m pip install --quiet --disable-pip-version-check \
    sb3-contrib==2.9.2 pytest==9.2.0 pytest-timeout==2.4.0 './crates/python[envs]'
$tools/bin/python -m pytest --quiet crates/python/tests/test_torch.py
$tools/bin/python scripts/check_sb3.py "${1:-60000}" target/sb3
