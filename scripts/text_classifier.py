#!/usr/bin/env python3
"""Writes a small text classifier as an ONNX file: something to measure with `distill profile-model`.

    scripts/text_classifier.py data/text-classifier.onnx

The input `words` is int64 of shape (batch, length), numbers below 1000; the output `class` is float32 of shape (batch, 4), probabilities.
Words become vectors of 24 numbers, which two layers of 64 make more of, word by word; their mean over the text is classified. Weights are
drawn, not trained, and are the same in every run: what it costs is what matters. Standard library alone.
"""

import argparse
import os
import struct

WORDS, WIDTH, HIDDEN, CLASSES = 1000, 24, 64, 4
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


def node(kind, inputs, output, *attributes):
    fields = [text(1, name) for name in inputs] + [text(2, output), text(3, output), text(4, kind)]
    return text(1, b"".join(fields + [text(5, attribute) for attribute in attributes]))


def whole(name, value):
    return text(1, name) + number(3, value) + number(20, 2)


def constant(name, shape, values, kind=FLOAT):
    data = struct.pack(f"<{len(values)}{'f' if kind == FLOAT else 'q'}", *values)
    fields = [number(1, length) for length in shape] + [number(2, kind), text(8, name), text(9, data)]
    return text(5, b"".join(fields))


def value(field, name, kind, axes):
    dims = [text(1, number(1, axis) if isinstance(axis, int) else text(2, axis)) for axis in axes]
    tensor = number(1, kind) + text(2, b"".join(dims))
    return text(field, text(1, name) + text(2, text(1, tensor)))


def weights(count, scale, state):
    """Numbers within ± scale, by a linear congruential generator (Knuth's MMIX)."""
    out = []
    for _ in range(count):
        state[0] = (state[0] * 6364136223846793005 + 1442695040888963407) % 2**64
        out.append(scale * ((state[0] >> 11) / 2**52 - 1))
    return out


def classifier():
    state = [1]
    layers = [("in", WIDTH, HIDDEN), ("deep", HIDDEN, HIDDEN), ("out", HIDDEN, CLASSES)]
    parts = [
        node("Gather", ["vectors", "words"], "embedded"),
        node("MatMul", ["embedded", "in"], "first"),
        node("Relu", ["first"], "first_kept"),
        node("MatMul", ["first_kept", "deep"], "second"),
        node("Relu", ["second"], "second_kept"),
        node("ReduceMean", ["second_kept", "axis"], "pooled", whole("keepdims", 0)),
        node("MatMul", ["pooled", "out"], "scores"),
        node("Softmax", ["scores"], "class", whole("axis", 1)),
        text(2, "text classifier"),
        constant("vectors", [WORDS, WIDTH], weights(WORDS * WIDTH, 1.0, state)),
        constant("axis", [1], [1], INT64),
    ]
    parts += [constant(name, [a, b], weights(a * b, (3 / a) ** 0.5, state)) for name, a, b in layers]
    parts += [value(11, "words", INT64, ["batch", "length"]), value(12, "class", FLOAT, ["batch", CLASSES])]
    return number(1, 8) + text(2, "text_classifier.py") + text(7, b"".join(parts)) + text(8, text(1, "") + number(2, 18))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file", help="where it goes")
    path = parser.parse_args().file
    with open(path + ".part", "wb") as file:
        file.write(classifier())
    os.replace(path + ".part", path)


if __name__ == "__main__":
    main()
