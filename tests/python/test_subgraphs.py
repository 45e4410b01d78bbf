# SPDX-License-Identifier: Apache-2.0
"""Functions that are described in operators: ``core.tensor.utils.subgraph_fn``."""

import numpy as np
import pytest

import megengine.functional as F
from megengine import Tensor
from megengine.autodiff import GradManager
from megengine.compat.subgraphs import SubgraphBuilder
from megengine.core._imperative_rt.core2 import apply
from megengine.core.ops.builtin import Elemwise, GetVarShape, Reduce, TypeCvt
from megengine.core.tensor.utils import interpret_subgraph, subgraph, subgraph_fn
from megengine.jit import trace

X = np.random.default_rng(1).standard_normal((2, 3, 2, 2)).astype("float32")


def batch_norm(inputs, f, c):
    x, epsilon, weight, bias = inputs
    kept = c((1, 3, 1, 1), dtype="int32")
    counts = [f(Reduce(mode="product", axis=0), one) for one in (f(GetVarShape(), x), kept)]
    count = f(TypeCvt(dtype="float32"), f("//", *counts))
    mean = f("/", f(Reduce(mode="sum"), x, kept), count)
    var = f("-", f("/", f(Reduce(mode="sum_sqr"), x, kept), count), f("*", mean, mean))
    scale = f("*", weight, f("**", f("+", var, epsilon), c(-0.5)))
    return (f("fma3", x, scale, f("-", bias, f("*", mean, scale))), mean), (True, False)


def arguments():
    weight = Tensor(np.array([1.0, 2.0, 3.0], "float32").reshape(1, 3, 1, 1))
    return Tensor(X), Tensor(1e-5), weight, weight * 0.5


@pytest.mark.parametrize("interpret", [False, True])
@pytest.mark.parametrize("level", [None, 1, 2])
def test_values_and_gradients(interpret, level):
    function = subgraph_fn(
        "BatchNorm", "float32", "xpux", nr_inputs=4, gopt_level=level, interpret=interpret
    )(batch_norm)
    x, epsilon, weight, bias = arguments()
    gm = GradManager().attach([x, weight])
    with gm:
        y, mean = function(x, epsilon, weight, bias)
        gm.backward((y * y).sum() + mean.sum())  # nothing comes through the mean
    grads = x.grad, weight.grad
    x.grad = weight.grad = None
    with gm:
        expected = F.batch_norm(x, weight=weight, bias=bias, training=True)
        gm.backward((expected * expected).sum())
    np.testing.assert_allclose(mean.numpy(), X.mean((0, 2, 3), keepdims=True), atol=1e-6)
    for one, other in zip((y, *grads), (expected, x.grad, weight.grad), strict=True):
        np.testing.assert_allclose(one.numpy(), other.numpy(), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("symbolic", [False, True])
def test_in_a_trace(symbolic):
    function = subgraph_fn("BatchNorm", "float32", "xpux", 4)(batch_norm)
    expected = function(*arguments())[0].numpy()
    traced = trace(lambda *args: function(*args)[0], symbolic=symbolic)
    for _ in range(3):
        np.testing.assert_allclose(traced(*arguments()).numpy(), expected, atol=1e-6)


def test_custom_gradients():
    @subgraph_fn("product", "float32", "xpux", nr_inputs=2, custom_grad=True)
    def product(inputs, f, c):
        x, y = inputs
        (dz,) = yield (f("*", x, y), f("-", x))[:1]
        yield f("*", dz, y), f("*", f("*", dz, x), c(2.0))  # twice the gradient of y

    x, y = Tensor([2.0, 3.0]), Tensor([5.0, 7.0])
    gm = GradManager().attach([x, y])
    with gm:
        (z,) = product(x, y)
        gm.backward(z.sum())
    assert z.numpy().tolist() == [10, 21]
    assert x.grad.numpy().tolist() == [5, 7] and y.grad.numpy().tolist() == [4, 6]


def test_an_input_without_gradient_and_a_result_that_is_not_used():
    @subgraph_fn("two", "float32", "xpux", nr_inputs=2, custom_grad=True)
    def two(inputs, f, c):
        x, y = inputs
        dz, _ = yield f("*", x, y), f("+", x, y)
        yield f("*", dz, y), None

    x, y = Tensor([2.0]), Tensor([5.0])
    gm = GradManager().attach([x, y])
    with gm:
        gm.backward(two(x, y)[0])
    assert x.grad.item() == 5 and y.grad is None


def test_operators_and_builders():
    op = subgraph("half", "float32", "xpux", 1)(lambda i, f, c: ((f("*", i[0], c(0.5)),), (True,)))
    assert apply(op(), Tensor([4.0]))[0].item() == 2 and repr(op()) == "half"
    with pytest.raises(RuntimeError, match="takes 1 input, got 2"):
        apply(op(), Tensor([4.0]), Tensor([4.0]))
    builder = SubgraphBuilder("double")
    x = builder.input()
    builder.outputs(builder.apply(Elemwise("add"), [x, x], 1))
    for made in (
        builder.get(),
        builder.compile(2),
        builder.jit_fuse(),
        SubgraphBuilder(builder).get(),
    ):
        assert apply(made, Tensor([4.0]))[0].item() == 8


def test_unknown_einsum_signs():
    with pytest.raises(AssertionError, match="unknown operator '@' of 1 operand"):
        subgraph("wrong", "float32", "xpux", 1)(lambda i, f, c: ((f("@", i[0]),), (True,)))
    function = interpret_subgraph(lambda i, f, c: ((f("@", i[0]),), (True,)), "float32", "xpux")
    with pytest.raises(AssertionError, match="unknown operator"):
        function(Tensor([1.0]))
