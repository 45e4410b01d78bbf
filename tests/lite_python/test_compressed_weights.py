# SPDX-License-Identifier: Apache-2.0
"""Models of MegEngine's whose weights are stored in 8 or 16 bits."""

import struct
from pathlib import Path

import numpy as np
import pytest

from megenginelite import LiteConfig, LiteNetwork

DATA = Path(__file__).resolve().parents[1] / "data/megengine"
# Indices of these fields in the tables' lists of offsets in the schema.
OPERATORS, TENSORS, CONTENTS = 8, 26, 16


class File:
    """A FlatBuffer with its size before it; vectors can be replaced by others at its end."""

    def __init__(self, path):
        self.bytes = bytearray(path.read_bytes())

    def number(self, at):
        return struct.unpack_from("<I", self.bytes, at)[0]

    def target(self, at):
        return at + self.number(at)

    def field(self, table, offset):
        """The position in a table of a vector's offset; None if absent."""
        places = table - struct.unpack_from("<i", self.bytes, table)[0]
        size, _ = struct.unpack_from("<HH", self.bytes, places)
        place = struct.unpack_from("<H", self.bytes, places + offset)[0] if offset < size else 0
        return table + place if place else None

    def tables(self, table, offset):
        field = self.field(table, offset)
        if field is None:
            return []
        vector = self.target(field)
        return [self.target(vector + 4 + 4 * i) for i in range(self.number(vector))]

    def weights(self):
        """The fields of all stored values."""
        for operator in self.tables(self.target(4), OPERATORS):
            for tensor in self.tables(operator, TENSORS):
                field = self.field(tensor, CONTENTS)
                if field is not None:
                    yield field

    def floats(self, field):
        vector = self.target(field)
        return np.frombuffer(bytes(self.bytes), "<f4", self.number(vector) // 4, vector + 4)

    def replace(self, field, contents):
        self.bytes += bytes(-len(self.bytes) % 4)
        struct.pack_into("<I", self.bytes, field, len(self.bytes) - field)
        self.bytes += struct.pack("<I", len(contents)) + contents
        struct.pack_into("<I", self.bytes, 0, len(self.bytes) - 4)


def compress(values, bits):
    """The stored form of the values, and the values that it represents."""
    levels = 2**bits - 1
    first, scale = values.min(), np.float32((values.max() - values.min()) / levels or 1)
    codes = np.rint((values - first) / scale).clip(0, levels).astype(f"<u{bits // 8}")
    stored = struct.pack("<Bff", bits // 8, scale, first) + codes.tobytes()
    return stored, scale * codes.astype("<f4") + first


def outputs(contents, config=None):
    network = LiteNetwork(config)
    network.load(bytes(contents))
    network.get_io_tensor("data").set_data_by_copy(np.load(DATA / "mlp.inputs.npz")["data"])
    network.forward()
    network.wait()
    return network.get_io_tensor(network.get_output_name(0)).to_numpy()


@pytest.mark.parametrize("is_flagged", [False, True])
@pytest.mark.parametrize(("bits", "precision"), [(8, 0.1), (16, 1e-3)])
def test_weights_are_expanded(bits, precision, is_flagged):
    compressed, expanded = File(DATA / "mlp.v2.mge"), File(DATA / "mlp.v2.mge")
    fields = list(compressed.weights())
    assert len(fields) == 6
    for field in fields:
        stored, values = compress(compressed.floats(field), bits)
        assert len(stored) < 4 * values.size
        compressed.replace(field, stored)
        expanded.replace(field, values.tobytes())
    config = LiteConfig()
    config.has_compression = int(is_flagged)
    results = outputs(compressed.bytes, config)
    np.testing.assert_array_equal(results, outputs(expanded.bytes))
    recorded = np.load(DATA / "mlp.outputs.npz")["out00"]
    np.testing.assert_allclose(results, recorded, atol=precision * np.abs(recorded).max())
    assert np.abs(results - outputs((DATA / "mlp.v2.mge").read_bytes())).max() > 0
