# SPDX-License-Identifier: Apache-2.0
"""Files under names that are no UTF-8, which Python writes with lone surrogates, or as bytes."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import megengine as mge
import megengine.module as M
from megengine import Tensor, _mge, onnx
from megengine.jit import trace

X = np.ones((1, 3), np.float32)


@pytest.fixture(scope="module")
def net():
    return M.Linear(3, 2)


@pytest.fixture(params=["text", "bytes", "path"])
def named(request, tmp_path):
    """A function that makes a name in its folder, as users may write it."""
    write = {"text": os.fsdecode, "bytes": bytes, "path": lambda b: Path(os.fsdecode(b))}
    return lambda name: write[request.param](os.fsencode(tmp_path) + b"/net\xff" + name)


def test_onnx_files(net, named):
    path = named(b".onnx")
    onnx.export(net, os.fsdecode(path), Tensor(X))
    expected = net(Tensor(X)).numpy()
    graph = _mge.GraphFunction(path)
    found = [graph.call([X], [value for _, value in graph.weights()])[0]]
    if not isinstance(path, bytes):  # which are content for onnx.load
        found += [onnx.load(path, trainable)(Tensor(X)) for trainable in (False, True)]
    for y in found:
        np.testing.assert_allclose(y.numpy(), expected, rtol=1e-6)


def test_dumps_and_states(net, named):
    traced = trace(net, symbolic=True, capture_as_const=True)
    expected = traced(Tensor(X)).numpy()
    path = named(b".mge")
    traced.dump(os.fsdecode(path))
    np.testing.assert_array_equal(_mge.load(path).run([X])[0].numpy(), expected)
    states = os.fsdecode(named(b".pkl"))
    mge.save(net.state_dict(), states)
    assert set(mge.load(states)) == {"weight", "bias"}


def test_missing_names_are_reported(named):
    path = named(b"none")
    loads = [_mge.load, _mge.GraphFunction, _mge.load_operators]
    for load in loads if isinstance(path, bytes) else [*loads, onnx.load]:
        with pytest.raises(RuntimeError, match=r"net\\xffnone"):
            load(path)
    with pytest.raises(TypeError):
        onnx.load(5)


@pytest.mark.parametrize("variable", ["MGE_FASTRUN_CACHE_DIR", "XDG_CACHE_HOME"])
def test_the_folder_of_measured_times(tmp_path, variable):
    program = """
import megengine as mge, numpy as np
mge.config.benchmark_kernel = True
x = mge.Tensor(np.ones((64, 64), "float32"))
mge.functional.matmul(x, x).numpy()
"""
    environment = {
        **os.environ,
        "MGE_FASTRUN_CACHE_TYPE": "FILE",
        "MGE_FASTRUN_CACHE_DIR": "",
        "PYTHONPATH": str(Path(mge.__file__).parents[1]),
        variable: os.fsdecode(os.fsencode(tmp_path) + b"/\xff"),
    }
    ended = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True
    )
    assert ended.returncode == 0 and not ended.stderr, ended.stderr
    assert list(tmp_path.rglob("fastrun.sqlite"))
