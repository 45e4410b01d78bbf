# SPDX-License-Identifier: Apache-2.0
"""Peak memory of reading an ONNX file: at most 10 times its size plus 64 MiB, in total."""

import os
import subprocess
import sys

import pytest
from onnx_files import model_of, onnx, port

pytestmark = pytest.mark.skipif(
    "MGE_SANITIZED" in os.environ, reason="figures of the sanitizer's allocator"
)
GROWTH, SLACK = 10, 64 << 20
# Uncertainty of the kernel's counters and the allocator's caches. The file itself is mapped.
UNCERTAIN = 8 << 20

# The peak is that of the process; the memory before reading the file is subtracted.
CHILD = """
import sys
from megengine import onnx
def peak():
    lines = open("/proc/self/status").read().splitlines()
    return 1024 * next(int(l.split()[1]) for l in lines if l.startswith("VmHWM"))
before = peak()
try:
    model, what = onnx.load(sys.argv[1]), "read"
except RuntimeError as e:
    what = str(e)
print(peak() - before, what[:300])
"""


def reading(path):
    """The memory and the result."""
    run = [sys.executable, "-c", CHILD, str(path)]
    out = subprocess.run(run, capture_output=True, text=True, check=True).stdout
    taken, what = out.split(maxsplit=1)
    size = path.stat().st_size
    assert int(taken) <= size + GROWTH * size + SLACK + UNCERTAIN, (size, what)
    return what.strip()


def field(number, content):
    """A field of a message, as in a file."""
    length, size = b"", len(content)
    while size > 127:
        length, size = length + bytes([size & 127 | 128]), size >> 7
    return bytes([number << 3 | 2]) + length + bytes([size]) + content


def file_of(tmp_path, graph):
    path = tmp_path / "bytes.onnx"
    opset = field(8, bytes([2 << 3, 17]))
    path.write_bytes(bytes([1 << 3, 8]) + field(7, graph) + opset)
    return path


def chain(tmp_path, kinds, count, extent):
    """A file of nodes, each behind the one before."""
    nodes, last = [], "x"
    for i in range(count):
        kind, name = kinds[i % len(kinds)], f"v{i:x}"
        inputs = [last, last] if kind == "Add" else [last]
        parts = [field(1, name.encode()) for name in inputs]
        parts += [field(2, name.encode()), field(4, kind.encode())]
        nodes.append(field(1, b"".join(parts)))
        last = name
    ports = [port("x", [extent, 4])], [port(last, [extent, 4])]
    graph = onnx.helper.make_graph([], "g", *ports).SerializeToString()
    return file_of(tmp_path, b"".join(nodes) + graph)


@pytest.mark.parametrize("extent", ["batch", 2])
def test_many_small_nodes(extent, tmp_path):
    path = chain(tmp_path, ["Add", "Identity", "Relu"], 100_000, extent)
    assert reading(path) == "read"


@pytest.mark.parametrize("extent", ["batch", 2])
def test_more_than_that_is_refused(extent, tmp_path):
    path = chain(tmp_path, ["Relu"], 150_000, extent)
    assert "needs more memory than the" in reading(path)


# Constructs that need much memory for few bytes: each has one in a file of a megabyte, or two.
HOSTILE = {
    "nodes": field(1, b""),
    "weights": field(5, b""),
    "inputs": field(11, b""),
    "outputs": field(12, b""),
    "notes": field(14, b""),
    "attributes": field(1, field(5, b"") * 1000),
    "texts": field(1, field(2, b"") * 1000),
    "tensors": field(1, field(5, field(5, b"") * 1000)),
    "graphs": field(1, field(5, field(11, b"") * 1000)),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_empty_messages(name, tmp_path):
    part = HOSTILE[name]
    path = file_of(tmp_path, part * ((1 << 20) // len(part)))
    assert "is not a valid ONNX model" in reading(path) or "not supported" in reading(path)


def test_names_of_unreadable_parts(tmp_path):
    nodes = [onnx.helper.make_node("No", [], [f"{i:x}"]) for i in range(200_000)]
    path = model_of(nodes, [port("x", [1])], [port("0", [1])], tmp_path)
    assert "unknown operator" in reading(path) or "needs more memory than" in reading(path)


def test_contiguous_numbers(tmp_path):
    weight = onnx.TensorProto(name="w", data_type=onnx.TensorProto.INT64, dims=[4 << 20])
    weight.int64_data.extend([0] * (4 << 20))
    node = onnx.helper.make_node("Add", ["x", "w"], ["y"])
    ports = [[port(n, [1], onnx.TensorProto.INT64)] for n in "xy"]
    path = model_of([node], *ports, tmp_path, initializers=[weight])
    what = reading(path)
    assert (
        what == "read" or "bytes of memory, more than" in what or "needs more memory than" in what
    )
