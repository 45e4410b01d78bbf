# SPDX-License-Identifier: Apache-2.0
"""A process that is killed while it writes leaves the old file or the new one, complete.

MGE_NIGHTLY=1 kills more of them.
"""

import contextlib
import itertools
import os
import random
import signal
import time

import numpy as np
import pytest

import megengine as mge
import megengine.functional as F
import megengine.module as M
from megengine.jit import trace
from megengine.traced_module import trace_module
from megengine.utils.comp_graph_tools import GraphInference
from megengine.utils.network import Network

KILLS = 300 if os.environ.get("MGE_NIGHTLY") == "1" else 25
SIZE = 20_000
X = np.ones((1, SIZE), np.float32)


def constant(version):
    return mge.Tensor(np.full((SIZE, 1), version, np.float32))


def recorded(version):
    weight = constant(version)
    traced = trace(symbolic=True, capture_as_const=True)(lambda x: F.matmul(x, weight))
    traced(mge.Tensor(X))
    return traced


def only(values):
    """The value that all of them have."""
    assert (values == values.flat[0]).all()
    return int(values.flat[0])


def write_state(version, path):
    mge.save({"version": version, "weight": constant(version)}, path)


def version_of_state(path):
    state = mge.load(path, weights_only=True)
    assert only(state["weight"].numpy()) == state["version"]
    return state["version"]


def write_dump(version, path):
    recorded(version).dump(path, arg_names=["x"], output_names=["y"], silent=True)


def version_of_model(path):
    return round(float(GraphInference(path).run(X)["y"].item()) / SIZE)


def write_network(version, path):
    net = Network()
    y = F.matmul(net.make_input_node((1, SIZE), "float32", name="x"), constant(version))
    y.name = "y"
    net.add_output(y)
    net.dump(path)


def write_traced_module(version, path):
    module = M.Sequential(M.Linear(SIZE, 1, bias=False))
    module[0].weight[...] = constant(version).T
    mge.save(trace_module(module, mge.Tensor(X)), path)


def version_of_traced_module(path):
    (weight,) = mge.load(path).parameters()
    return only(weight.numpy())


WRITERS = {
    "state.pkl": (write_state, version_of_state),
    "dump.mge": (write_dump, version_of_model),
    "dump.onnx": (write_dump, version_of_model),
    "network.mge": (write_network, version_of_model),
    "traced.tm": (write_traced_module, version_of_traced_module),
}


def write_versions(write, version, path, report):
    """In a child: write version after version, and report each one."""
    with contextlib.suppress(BaseException):
        for next_version in itertools.count(version):
            write(next_version, path)
            os.write(report, bytes([next_version % 256]))
    os._exit(1)


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
@pytest.mark.parametrize("name", WRITERS)
def test_the_file_is_the_old_one_or_the_new_one(name, tmp_path):
    write, version_of = WRITERS[name]
    path = str(tmp_path / name)
    last = 1
    write(last, path)
    for _ in range(KILLS):
        read_end, report = os.pipe()
        child = os.fork()
        if child == 0:
            write_versions(write, last + 1, path, report)
        os.close(report)
        assert os.read(read_end, 1), "the writer ended by itself"
        time.sleep(random.random() * 0.02)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        written = 1
        while more := os.read(read_end, 1000):
            written += len(more)
        os.close(read_end)
        version = version_of(path)
        assert version - last in (written, written + 1)
        last = version
