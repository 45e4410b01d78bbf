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


def test_megengines_functions_give_a_bound():
    x = mge.Tensor([np.nan] * 20)
    for f, bound in ((F.relu, 0), (F.nn.relu6, 6), (F.sign, 0), (lambda t: F.clip(t, 0, 5), 5)):
        np.testing.assert_array_equal(f(x).numpy(), [bound] * 20)
