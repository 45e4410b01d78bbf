# SPDX-License-Identifier: Apache-2.0
"""NaN stays NaN in ONNX graphs; MegEngine's operators keep their own rules."""

import numpy as np
import pytest
from onnx_files import load, model_of, number, onnx, port

import megengine as mge
import megengine.functional as F

node = onnx.helper.make_node
X = np.array([np.nan, 1, -1, 7, np.inf, -np.inf] * 5, np.float32)


def given(tmp_path, nodes, x=X, constants=(), opset=18):
    ends = [port("y", None)]
    path = model_of(
        nodes, [port("x", x.shape)], ends, tmp_path, initializers=constants, opset=opset
    )
    return load(path)(x).numpy()


@pytest.mark.parametrize(
    "op, expected",
    [
        ("Relu", np.maximum(X, 0)),
        ("Sign", np.sign(X)),
        ("HardSigmoid", np.clip(X * np.float32(0.2) + np.float32(0.5), 0, 1)),
        ("Clip", np.clip(X, 0, 6)),
        ("Clip 0 to 5", np.clip(X, 0, 5)),
        ("Max", np.maximum(X, 2)),
        ("Min", np.minimum(X, 2)),
        ("Max of itself", X),
    ],
)
def test_nan_stays(op, expected, tmp_path):
    op, *how = op.split()
    bound = number("b", 2, np.float32)
    inputs = ["x"] + ["b"] * (op in ("Max", "Min") and not how) + ["x"] * ("itself" in how)
    constants = [bound]
    if op == "Clip":
        constants = [number("low", 0, np.float32), number("high", 5 if how else 6, np.float32)]
        inputs = ["x", "low", "high"]
    np.testing.assert_allclose(
        given(tmp_path, [node(op, inputs, ["y"])], constants=constants), expected
    )


@pytest.mark.parametrize("second", ["Relu", "Clip"])
def test_nan_stays_through_fused_functions(second, tmp_path):
    """Elementwise operators become one."""
    constants = [number("low", 0, np.float32), number("high", 6, np.float32)]
    inputs = ["a"] if second == "Relu" else ["a", "low", "high"]
    nodes = [
        node("Add", ["x", "high"], ["a"]),
        node(second, inputs, ["b"]),
        node("Neg", ["b"], ["y"]),
    ]
    y = given(tmp_path, nodes, constants=constants)
    top = np.inf if second == "Relu" else 6
    np.testing.assert_array_equal(y, -np.clip(X + 6, 0, top))


def test_nan_is_the_largest_number_to_topk(tmp_path):
    x = np.array([1, np.nan, 3, -np.inf, np.inf, 2], np.float32)
    for largest, expected in ((1, [np.nan, np.inf, 3]), (0, [-np.inf, 1, 2])):
        nodes = [node("TopK", ["x", "k"], ["y", "i"], largest=largest)]
        path = model_of(
            nodes, [port("x", [6])], [port("y", None)], tmp_path, initializers=[number("k", [3])]
        )
        np.testing.assert_array_equal(load(path)(x).numpy(), expected)


def test_megengine_functions_bound_the_time():
    x = mge.Tensor([np.nan] * 20)
    for f, bound in ((F.relu, 0), (F.nn.relu6, 6), (F.sign, 0), (lambda t: F.clip(t, 0, 5), 5)):
        np.testing.assert_array_equal(f(x).numpy(), [bound] * 20)


@pytest.mark.parametrize("second", ["Relu", "Clip"])
@pytest.mark.parametrize("kernel", [1, 3])
@pytest.mark.parametrize("channels", [1, 8, 32])
def test_nan_stays_after_convolutions(channels, kernel, second, tmp_path):
    """Also where a library computes the activation with the convolution."""
    random = np.random.default_rng(0)
    x = random.normal(size=(1, channels, 9, 9)).astype(np.float32)
    bias = np.resize([np.nan, 1, -1, np.inf, -np.inf], 32).astype(np.float32)
    weight = random.normal(size=(32, channels, kernel, kernel)).astype(np.float32)
    constants = [
        number("w", weight, np.float32),
        number("b", bias, np.float32),
        number("low", 0, np.float32),
        number("high", 6, np.float32),
    ]
    pads = [kernel // 2] * 4
    sums = given(tmp_path, [node("Conv", ["x", "w", "b"], ["y"], pads=pads)], x, constants[:2])
    bounds = [] if second == "Relu" else ["low", "high"]
    nodes = [
        node("Conv", ["x", "w", "b"], ["a"], pads=pads),
        node(second, ["a", *bounds], ["y"]),
    ]
    y = given(tmp_path, nodes, x, constants)
    expected = np.clip(sums, 0, 6 if bounds else np.inf)
    np.testing.assert_allclose(y, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("rows", [1, 7])
def test_nan_stays_after_products(rows, tmp_path):
    random = np.random.default_rng(0)
    x = random.normal(size=(rows, 24)).astype(np.float32)
    x[0, 3] = np.nan
    weight = random.normal(size=(24, 40)).astype(np.float32)
    nodes = [node("MatMul", ["x", "w"], ["a"]), node("Relu", ["a"], ["y"])]
    y = given(tmp_path, nodes, x, [number("w", weight, np.float32)])
    np.testing.assert_allclose(y, np.maximum(x @ weight, 0), rtol=1e-4, atol=1e-5)
