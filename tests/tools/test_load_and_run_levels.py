# SPDX-License-Identifier: Apache-2.0
"""load_and_run: how elementwise operators are fused, and optimisation levels below zero."""

import numpy as np
import pytest

import megengine as mge
import megengine.functional as F
from megengine.jit import trace


@pytest.fixture(scope="module")
def dump(tmp_path_factory):
    folder = tmp_path_factory.mktemp("levels")

    def write(name, function, *arrays):
        traced = trace(symbolic=True, capture_as_const=True)(function)
        traced(*(mge.Tensor(a) for a in arrays))
        names = ["x", "y", "z"][: len(arrays)]
        traced.dump(str(folder / name), arg_names=names, output_names=["result"])
        return folder / name

    return write


@pytest.fixture(scope="module")
def sum_of_products(dump):
    arrays = [np.full((64, 64), v, "float32") for v in (0.5, 0.25, -1)]
    return dump("sum.mge", lambda x, y, z: F.sum(x * y + F.exp(z)), *arrays)


@pytest.fixture(scope="module")
def log_of_exp(dump):
    return dump("log_of_exp.mge", lambda x: F.log(F.exp(x)), np.ones(4, "float32"))


@pytest.mark.parametrize(
    ("flags", "steps"),
    [
        (["--noenable-jit"], 4),
        (["--jit-level=0"], 4),
        (["--enable-jit"], 2),
        (["--jit-level=1"], 2),
        (["--jit-level=2"], 1),
        (["--jit-level=2", "--graph-opt-level=0"], 1),
        (["--jit-level=1", "--jit-fuse-reduce"], 1),
        (["--jit-level=2", "--nojit-fuse-reduce"], 2),
        (["--graph-opt-level=0"], 4),
        ([], 1),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else str(value),
)
def test_fused_steps(run_tool, sum_of_products, tmp_path, flags, steps):
    values = "--input=x:#rand(0,1);y:#rand(0,1);z:#rand(0,1)"

    def run(name, *flags):
        file = tmp_path / name
        done = run_tool(
            "load_and_run", sum_of_products, values, "--seed=1", f"--dump-outputs={file}", *flags
        )
        return done.result, np.load(file)["result"]

    result, value = run("fused.npz", *flags)
    assert len(result["algorithms"]) == steps
    np.testing.assert_allclose(value, run("plain.npz", "--jit-level=0")[1], rtol=1e-5)


@pytest.mark.parametrize(
    "flags",
    [
        ["--jit-level=3"],
        ["--jit-level=0", "--enable-jit"],
        ["--jit-level=2", "--noenable-jit"],
        ["--graph-opt-level=-2", "--optimize-for-inference"],
    ],
    ids=" ".join,
)
def test_contradictions(run_tool, sum_of_products, flags):
    done = run_tool("load_and_run", sum_of_products, *flags)
    assert done.code == 2, done.err
    assert len(done.err.strip().splitlines()) == 1


@pytest.mark.parametrize("level", [-1, -2, -3])
def test_a_level_below_zero_compares_replaced_values(run_tool, log_of_exp, level):
    flag = f"--graph-opt-level={level}"
    done = run_tool("load_and_run", log_of_exp, "--input=x:[1,2,3,4]", flag)
    assert done.code == 0, done.err
    assert done.result["options"]["graph_opt_level"] == level
    (replaced,) = done.result["replaced_values"]
    assert "simplify_algebra" in replaced["passes"]
    done = run_tool("load_and_run", log_of_exp, "--input=x:[1.0,2,200,4]", flag)
    assert done.code == 7, done.err
    assert "pass simplify_algebra changes the value" in done.err
    assert replaced["name"] in done.err
    assert "element 2 is 200, and inf" in done.err


def test_other_levels_compare_nothing(run_tool, log_of_exp):
    done = run_tool("load_and_run", log_of_exp, "--input=x:[1.0,2,200,4]", "--graph-opt-level=2")
    assert done.code == 0, done.err
    assert "replaced_values" not in done.result


def test_half_precision_rounds_results(run_tool, dump):
    random = np.random.default_rng(0)
    w, b = (mge.Tensor(random.normal(size=s).astype("float16")) for s in ((64, 64), 64))
    v = mge.Tensor(random.normal(size=(64, 64)).astype("float32"))

    def net(x):
        half = x.astype("float16")
        wide = F.relu(F.matmul(half, w) + b + half).astype("float32")
        z = F.matmul(wide, v)
        return F.sigmoid(z + wide * 0.5) - z

    model = dump("halves.mge", net, random.normal(size=(16, 64)).astype("float32"))
    done = run_tool("load_and_run", model, "--input=x:#rand(-1,1)", "--graph-opt-level=-2")
    assert done.code == 0, done.err
