# SPDX-License-Identifier: Apache-2.0
"""Steps inside of loops in the tools' reports."""

import json

import numpy as np
import pytest

SHORT = ("--iter", "3", "--warmup-iter", "1")
OK, ACCURACY = 0, 7
STEPS = 20


@pytest.fixture(scope="module")
def loop(tmp_path_factory):
    """h = relu(h w + x[n]), 20 times."""
    import megengine as mge
    import megengine.functional as F
    from megengine.jit import trace

    weight = mge.Tensor(np.array([[0.5, 0.75], [0.25, -0.5]], np.float32))

    @trace(symbolic=True, capture_as_const=True)
    def walk(h, xs):
        return F.scan(lambda h, x: (F.relu(F.matmul(h, weight) + x), None), h, xs)[0]

    walk(mge.Tensor(np.ones((1, 2), np.float32)), mge.Tensor(np.ones((STEPS, 1, 2), np.float32)))
    path = tmp_path_factory.mktemp("loop") / "loop.mge"
    walk.dump(str(path), arg_names=["h", "xs"])
    return path


@pytest.fixture
def inputs(tmp_path):
    """The arguments that give h zeros and xs 0.8."""

    def make():
        np.save(tmp_path / "h.npy", np.zeros((1, 2), np.float32))
        np.save(tmp_path / "xs.npy", np.full((STEPS, 1, 2), 0.8, np.float32))
        return ("--input", f"h:{tmp_path}/h.npy;xs:{tmp_path}/xs.npy")

    return make


def test_a_profile_sums_up_iterations(run_tool, loop, inputs, tmp_path):
    file = tmp_path / "profile.json"
    assert run_tool("load_and_run", loop, *inputs(), *SHORT, "--profile", file).code == OK
    inside = json.loads(file.read_text())["inner_steps"]
    assert inside
    for step in inside:
        assert "/body/" in step["path"]
        assert step["count"] == 3 * STEPS
    shown = run_tool("mge-profile", "show", file)
    assert "inside of operators that hold graphs" in shown.out
    assert inside[0]["path"] in shown.out
    assert len(shown.result["inside"]) == len(inside)


def test_a_dump_has_paths_and_can_be_compared(run_tool, loop, inputs, tmp_path):
    dump = tmp_path / "values.npz"
    assert run_tool("load_and_run", loop, *inputs(), *SHORT, "--io-dump", dump).code == OK
    inner = sorted(name for name in np.load(dump).files if "/body[" in name)
    iterations = {name.split("/body[")[1].split("]")[0] for name in inner}
    assert iterations == {str(i) for i in range(16)}
    done = run_tool("load_and_run", loop, *inputs(), *SHORT, "--compare", dump)
    assert done.code == OK, done.err
    compared = done.result["compare"]
    assert any("/body[15]/" in value["name"] for value in compared["values"])


def test_guards_name_the_iteration(run_tool, loop, inputs):
    done = run_tool("load_and_run", loop, *inputs(), *SHORT, "--range", "1.2")  # 0.8, 1.4
    assert done.code == ACCURACY
    assert "/body[1]/" in done.err
