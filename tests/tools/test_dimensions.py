# SPDX-License-Identifier: Apache-2.0
"""Open dimensions by name: --dim of the tools, their reports, and files that keep the names."""

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

OK, USAGE = 0, 2
SHORT = ("--iter", "1", "--warmup-iter", "0")


def write_model(path):
    """z = relu(x + y) for x and y of (batch, seq, 4), and the exponentials of history."""
    shape = ["batch", "seq", 4]
    values = [
        helper.make_tensor_value_info("x", TensorProto.FLOAT, shape),
        helper.make_tensor_value_info("y", TensorProto.FLOAT, shape),
        helper.make_tensor_value_info("history", TensorProto.FLOAT, ["seq + 1", None]),
    ]
    nodes = [
        helper.make_node("Add", ["x", "y"], ["sum"]),
        helper.make_node("Relu", ["sum"], ["z"]),
        helper.make_node("Exp", ["history"], ["future"]),
    ]
    outputs = [
        helper.make_tensor_value_info("z", TensorProto.FLOAT, shape),
        helper.make_tensor_value_info("future", TensorProto.FLOAT, ["seq + 1", None]),
    ]
    graph = helper.make_graph(nodes, "named", values, outputs)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = 8
    onnx.save(model, path)
    return path


@pytest.fixture
def model(tmp_path):
    return write_model(tmp_path / "named.onnx")


@pytest.fixture
def converted(model, run_tool, tmp_path):
    """convert(name) → the model in the format of the name's ending."""

    def convert(name, source=model):
        done = run_tool("mge-dump", "convert", source, tmp_path / name)
        assert done.code == OK, done.err
        return tmp_path / name

    return convert


def shapes(ports):
    return {port["name"]: port["shape"] for port in ports}


def test_load_and_run_sets_sizes_by_name(run_tool, model):
    done = run_tool("load_and_run", model, "--dim", "batch=3", "--dim=seq=16", *SHORT)
    assert done.code == OK, done.err
    inputs = done.result["tests"][0]["inputs"]
    assert shapes(inputs)["x"] == shapes(inputs)["y"] == [3, 16, 4]
    assert shapes(inputs)["history"][0] == 17
    assert inputs[0]["dimensions"] == ["batch", "seq", 4]
    assert inputs[2]["dimensions"] == ["seq + 1", None]


def test_a_size_may_be_zero(run_tool, model):
    """As of the cache of a decoder before the first word."""
    done = run_tool("load_and_run", model, "--dim", "seq=0", *SHORT)
    assert done.code == OK, done.err
    assert shapes(done.result["tests"][0]["outputs"]) == {"z": [1, 0, 4], "future": [1, 8]}


@pytest.mark.parametrize(
    ("flags", "reason"),
    [
        (["--dim", "sequence=3"], "no dimension 'sequence'; it has 'batch', 'seq'"),
        (["--dim", "seq=-1"], "'seq=-1' is invalid: expected NAME=SIZE with a size of at least 0"),
        (["--dim", "seq=-4"], "'seq=-4' is invalid: expected NAME=SIZE"),
        (["--dim", "seq=1e3"], "'seq=1e3' is invalid: expected NAME=SIZE"),
        (["--dim", "seq"], "'seq' is invalid: expected NAME=SIZE"),
        (["--dim", "=4"], "'=4' is invalid: expected NAME=SIZE"),
        (["--dim", "seq=4", "--dim", "seq=5"], "dimension 'seq' is given as 4 and 5"),
        (
            ["--dim", "seq=4", "--input", "x:#rand(0,1,1,5,4)"],
            "dimension 'seq' is 4, but input 'x' has the shape (1, 5, 4)",
        ),
        (
            ["--dim", "batch=4", "--batch-size", "2"],
            "dimension 'batch' is 4, but input 'x' has the shape (2, ",
        ),
    ],
)
def test_mismatch_is_a_usage_error(run_tool, model, flags, reason):
    done = run_tool("load_and_run", model, *flags, *SHORT)
    assert done.code == USAGE
    assert reason in done.err and "--dim" in done.err
    assert done.err.count("\n") <= 2, done.err


def test_model_without_names_is_reported(run_tool, small_model):
    done = run_tool("load_and_run", small_model, "--dim", "seq=4")
    assert done.code == USAGE and "no named dimensions" in done.err


def test_info_shows_names_and_counts_for_sizes(run_tool, model):
    done = run_tool("mge-dump", "info", model)
    assert done.code == OK, done.err
    assert "(batch=1, seq=8, 4)" in done.out and "(seq + 1=" in done.out
    assert done.result["inputs"][0]["dimensions"] == ["batch", "seq", 4]
    sized = run_tool("mge-dump", "info", model, "--dim", "batch=5", "--dim", "seq=2")
    assert shapes(sized.result["inputs"])["y"] == [5, 2, 4]
    assert shapes(sized.result["outputs"])["z"] == [5, 2, 4]
    refused = run_tool("mge-dump", "info", model, "--dim", "n=2")
    assert refused.code == USAGE and "it has 'batch', 'seq'" in refused.err
    refused = run_tool("mge-dump", "info", model, "--dim", "batch=2", "--batch-size", "3")
    assert refused.code == USAGE and "dimension 'batch' is 2" in refused.err


def test_files_keep_the_names(run_tool, converted, tmp_path):
    own = converted("named.mge")
    done = run_tool("mge-dump", "info", own)
    assert [p.get("dimensions") for p in done.result["inputs"]] == [
        ["batch", "seq", 4],
        ["batch", "seq", 4],
        ["seq + 1", None],
    ]
    optimised = tmp_path / "optimised.mge"
    assert run_tool("mge-dump", "optimize", own, optimised).code == OK
    done = run_tool("load_and_run", optimised, "--dim=seq=7", *SHORT)
    assert done.code == OK, done.err
    assert shapes(done.result["tests"][0]["outputs"])["z"] == [1, 7, 4]


def test_a_cache_is_measured_for_sizes(run_tool, model, tmp_path):
    cache = tmp_path / "cache.sqlite"
    flags = ("--dim", "batch=2", "--threads", "1")
    assert run_tool("mge-fastrun-cache", "build", cache, model, *flags).code == OK
    done = run_tool("mge-fastrun-cache", "build", cache, model, "--dim", "n=2")
    assert done.code == USAGE and "it has 'batch', 'seq'" in done.err


def test_an_error_of_shapes_names_the_dimension(run_tool, model):
    values = "x:#rand(0,1,2,5,4);y:#rand(0,1,2,3,4)"
    done = run_tool("load_and_run", model, "--input", values)
    assert done.code == USAGE
    assert "dimension 'seq' is 5 in input 'x' and 3 in input 'y'" in done.err
    broadcast = "x:#rand(0,1,2,5,4);y:#rand(0,1,2,1,4)"
    done = run_tool("load_and_run", model, "--input", broadcast, *SHORT)
    assert done.code == OK and "differ in the size of dimension 'seq'" in done.err


@pytest.mark.parametrize("flags", [(), ("--lite",)])
def test_prompts_of_several_lengths(run_tool, tmp_path, flags):
    """Later lengths use the weights that the first has packed."""
    weights = np.random.default_rng(0).standard_normal((2, 128, 128), np.float32) / 16
    nodes = [
        helper.make_node("MatMul", ["x", "first"], ["inner"]),
        helper.make_node("Relu", ["inner"], ["rest"]),
        helper.make_node("MatMul", ["rest", "second"], ["y"]),
    ]
    ports = [
        helper.make_tensor_value_info(name, TensorProto.FLOAT, ["new", 128]) for name in ("x", "y")
    ]
    constants = [
        numpy_helper.from_array(w, name)
        for w, name in zip(weights, ("first", "second"), strict=True)
    ]
    graph = helper.make_graph(nodes, "prompt", ports[:1], ports[1:], constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = 8
    onnx.save(model, tmp_path / "prompt.onnx")
    lengths = ",".join(f"({n},128)" for n in (1, 5, 6, 64, 200, 5))
    compared = () if flags else ("--compare-with", "reference")
    done = run_tool(
        "load_and_run",
        tmp_path / "prompt.onnx",
        "--shapes",
        f"x:{lengths}",
        *compared,
        *flags,
        *SHORT,
    )
    assert done.code == OK, done.err
    sizes = [shapes(test["outputs"])["y"][0] for test in done.result["tests"]]
    assert sizes == [1, 5, 6, 64, 200, 5]
