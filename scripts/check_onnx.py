#!/usr/bin/env python3
"""Runs exported ONNX models in onnxruntime and compares them with the models' own answers.

    pip install numpy==2.4.6 onnxruntime==1.31.1
    cargo run --no-default-features --example onnx_cases -- DIR
    python scripts/check_onnx.py DIR

Trees must give the very bits of the 32-bit rounded outputs, for values on thresholds, missing and infinite ones too, one
row at a time and all at once; linear models, whose sums are taken in 32 bits, agree within 1e-5, and so do sums of terms, with
what is no number where the model has none either.
"""
import pathlib
import sys

import numpy as np
import onnxruntime


def check(folder, name, width, numbers):
    """What differs, in words; nothing if all is well."""
    x = np.fromfile(folder / f"{name}.x", dtype="<f4").reshape(-1, width)
    expected = np.fromfile(folder / f"{name}.y", dtype="<f8").reshape(-1, numbers)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(folder / f"{name}.onnx", options, providers=["CPUExecutionProvider"])
    found = session.run(None, {"x": x})
    outputs = found[-1]
    want = (expected[:, :-1] if numbers > 1 else expected).astype(np.float32)
    if outputs.shape != want.shape:
        return f"outputs have the shape {outputs.shape}, expected {want.shape}"
    def close(a, b):
        return np.isclose(a, b, rtol=1e-5, atol=1e-5, equal_nan=True)

    equal = close if name in ("linear", "terms") else np.equal
    same = equal(outputs, want)
    if not same.all():
        row = np.flatnonzero(~same.all(axis=1))[0]
        return f"{(~same.all(axis=1)).sum()} rows differ, the first is {x[row]}: {outputs[row]}, expected {want[row]}"
    if numbers > 1 and (found[0] != expected[:, -1]).any():
        return f"{(found[0] != expected[:, -1]).sum()} classes differ"
    for row in range(100):
        if not equal(session.run(None, {"x": x[row:row + 1]})[-1], want[row:row + 1]).all():
            return f"row {row} alone gives another answer than among the others"
    return None


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    folder = pathlib.Path(sys.argv[1])
    problems = 0
    for line in (folder / "cases.txt").read_text().splitlines():
        name, width, numbers = line.split()
        problem = check(folder, name, int(width), int(numbers))
        print(f"{name}: {problem or 'ok'}")
        problems += problem is not None
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
