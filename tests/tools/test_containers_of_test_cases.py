# SPDX-License-Identifier: Apache-2.0
"""A .mge model in the container that MegEngine's scripts write around models and test cases."""

import struct

import numpy as np
import pytest

import megengine as mge
import megengine.core._imperative_rt as rt
import megengine.functional as F
from megengine.core.ops import builtin
from megengine.core.tensor import megbrain_graph
from megengine.jit import trace
from megengine.utils import comp_graph_tools

X = np.float32([[1, 2, 3], [4, 5, 6]])


def container(tmp_path, *expectations):
    """A model that checks its output against an input, and a test case for each expectation."""
    traced = trace(lambda x: F.exp(x) * 2, symbolic=True, capture_as_const=True)
    traced(mge.Tensor(X))
    plain = tmp_path / "plain.mge"
    traced.dump(str(plain), arg_names=["x"], output_names=["y"], silent=True)
    loaded = megbrain_graph.load_graph(str(plain))
    (y,) = loaded.output_vars_list
    expected = rt.make_h2d(loaded.graph, rt.CompNode("xpux"), y.dtype, y.shape, "y:expect")
    check = builtin.AssertEqual(maxerr=1e-4)
    (checked,) = megbrain_graph.apply_normal_varnode(check, expected, y)
    inputs = comp_graph_tools.get_dep_vars([checked], "Host2DeviceCopy")
    assert sorted(var.name for var in inputs) == ["x", "y:expect"]
    data = b"mgbtest0" + struct.pack("I", len(expectations))
    data += megbrain_graph.dump_graph([checked], keep_var_name=2)[0]
    for expectation in expectations:
        graph = megbrain_graph.Graph()
        values = [graph.make_const(mge.Tensor(value)) for value in (X, expectation)]
        data += megbrain_graph.dump_graph(values)[0]
    path = tmp_path / "container.mge"
    path.write_bytes(data)
    return path


def test_the_cases_run(run_tool, tmp_path):
    path = container(tmp_path, np.exp(X) * 2, np.exp(X) * 2)
    result = run_tool("load_and_run", path, "--iter", 1)
    assert result.code == 0, result.err
    wrong = container(tmp_path, np.exp(X) * 2, np.exp(X) * 3)
    result = run_tool("load_and_run", wrong, "--iter", 1)
    assert result.code == 7 and "assert_equal" in result.err


@pytest.mark.parametrize("lost", [1, 40, 300, 1000])
def test_damaged_containers_are_refused(run_tool, tmp_path, lost):
    path = container(tmp_path, np.exp(X) * 2)
    path.write_bytes(path.read_bytes()[:-lost])
    result = run_tool("load_and_run", path, "--iter", 1)
    assert result.code == 5 and "container.mge" in result.err, result.err
