#!/usr/bin/env python3
"""Writes models as ONNX files: something to measure with `distill profile-model`, and to serve with `distill-batcher`.

    scripts/onnx_models.py text data/text-classifier.onnx
    scripts/onnx_models.py recurrent recurrent.onnx

The input `words` is int64 of shape (batch, length), numbers below 1000; the output `class` is float32 of shape (batch, 4), probabilities.
`text` makes words into vectors of 24 numbers and more of these in two layers of 64, word by word; the largest of each number in the text is
classified. It has 120 kB. `recurrent` is an LSTM with a state of 1408, 35 MB: more than most caches hold, so that every step fetches it
from memory, once for a batch of any number of tasks. Word 0 is nothing: texts that are filled up with it in front are classified as
without. Weights are drawn, not trained, and are the same in every run: what a model costs is what matters. Standard library alone.
"""

import argparse
import array
import os
import random
import struct
import sys

WORDS, CLASSES = 1000, 4
FLOAT, INT64 = 1, 7


# Protocol buffers: as much of the wire format as an ONNX file needs. Numbers of fields are those of onnx.proto3.


def varint(value):
    out = b""
    while value >= 0x80:
        out += bytes([value & 0x7F | 0x80])
        value >>= 7
    return out + bytes([value])


def number(field, value):
    return varint(field << 3) + varint(value)


def text(field, value):
    value = value if isinstance(value, bytes) else value.encode()
    return varint(field << 3 | 2) + varint(len(value)) + value


# The graph


def node(kind, inputs, outputs, *attributes):
    fields = [text(1, name) for name in inputs] + [text(2, name) for name in outputs]
    return text(1, b"".join(fields + [text(3, outputs[-1]), text(4, kind)] + [text(5, a) for a in attributes]))


def whole(name, value):
    return text(1, name) + number(3, value) + number(20, 2)


def wholes(name, values):
    return text(1, name) + b"".join(number(8, value) for value in values) + number(20, 7)


def zero(name):
    """A tensor that is 0.0; field 5 of a graph and of an attribute are both tensors."""
    return text(1, name) + tensor("", [1], FLOAT, struct.pack("<f", 0.0)) + number(20, 4)


def whole_constant(name, values):
    return tensor(name, [len(values)], INT64, struct.pack(f"<{len(values)}q", *values))


def tensor(name, shape, kind, data):
    fields = [number(1, length) for length in shape] + [number(2, kind), text(8, name), text(9, data)]
    return text(5, b"".join(fields))


def value(field, name, kind, axes):
    dims = [text(1, number(1, axis) if isinstance(axis, int) else text(2, axis)) for axis in axes]
    shaped = number(1, kind) + text(2, b"".join(dims))
    return text(field, text(1, name) + text(2, text(1, shaped)))


class Weights:
    """Numbers within ± a scale; what Python draws from a seed stays the same from one version to the next."""

    def __init__(self):
        self.random = random.Random(1).random

    def __call__(self, name, shape, scale, first=None):
        """A constant; `first` instead of the first row."""
        count = 1
        for length in shape:
            count *= length
        values = array.array("f", (scale * (2 * self.random() - 1) for _ in range(count)))
        if first is not None:
            values[: shape[-1]] = array.array("f", [first] * shape[-1])
        if sys.byteorder == "big":
            values.byteswap()
        return tensor(name, shape, FLOAT, values.tobytes())


def classifier():
    width, hidden, weights = 24, 64, Weights()
    layers = [("in", width, hidden), ("deep", hidden, hidden), ("out", hidden, CLASSES)]
    return [
        node("Gather", ["vectors", "words"], ["embedded"]),
        node("MatMul", ["embedded", "in"], ["first"]),
        node("Relu", ["first"], ["first_kept"]),
        node("MatMul", ["first_kept", "deep"], ["second"]),
        node("Relu", ["second"], ["second_kept"]),
        # Nothing is below 0, which is what word 0 has become.
        node("ReduceMax", ["second_kept", "axis"], ["pooled"], whole("keepdims", 0)),
        node("MatMul", ["pooled", "out"], ["scores"]),
        node("Softmax", ["scores"], ["class"], whole("axis", 1)),
        text(2, "text classifier"),
        whole_constant("axis", [1]),
        weights("vectors", [WORDS, width], 1.0, first=0.0),
        *(weights(name, [a, b], (3 / a) ** 0.5) for name, a, b in layers),
    ]


def recurrent():
    width, hidden, weights = 128, 1408, Weights()
    return [
        node("Gather", ["vectors", "words"], ["embedded"]),
        node("Transpose", ["embedded"], ["steps"], wholes("perm", [1, 0, 2])),
        # States to begin with, zeros for as many texts as there are.
        node("Shape", ["words"], ["shape"]),
        node("Gather", ["shape", "axis"], ["batch"]),
        node("Concat", ["one", "batch", "hidden"], ["states"], whole("axis", 0)),
        node("ConstantOfShape", ["states"], ["nothing"], zero("value")),
        # Without biases: a state of 0 stays 0 as long as nothing comes.
        node("LSTM", ["steps", "in", "back", "", "", "nothing", "nothing"], ["", "last"], whole("hidden_size", hidden)),
        node("Squeeze", ["last", "axis"], ["state"]),
        node("MatMul", ["state", "out"], ["scores"]),
        node("Softmax", ["scores"], ["class"], whole("axis", 1)),
        text(2, "recurrent classifier"),
        whole_constant("axis", [0]),
        whole_constant("one", [1]),
        whole_constant("hidden", [hidden]),
        weights("vectors", [WORDS, width], 1.0, first=0.0),
        weights("in", [1, 4 * hidden, width], (3 / width) ** 0.5),
        weights("back", [1, 4 * hidden, hidden], (3 / hidden) ** 0.5),
        weights("out", [hidden, CLASSES], (3 / hidden) ** 0.5),
    ]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", choices=["text", "recurrent"], help="which")
    parser.add_argument("file", help="where it goes")
    args = parser.parse_args()
    parts = {"text": classifier, "recurrent": recurrent}[args.model]()
    parts += [value(11, "words", INT64, ["batch", "length"]), value(12, "class", FLOAT, ["batch", CLASSES])]
    # What operators mean: version 18.
    model = number(1, 8) + text(2, "onnx_models.py") + text(7, b"".join(parts)) + text(8, text(1, "") + number(2, 18))
    with open(args.file + ".part", "wb") as file:
        file.write(model)
    os.replace(args.file + ".part", args.file)


if __name__ == "__main__":
    main()
