# SPDX-License-Identifier: Apache-2.0
"""Leaves: calls recorded as one expression, regardless of their inside."""

import copy
import io

import numpy as np
import pytest
from traced_module_samples import assert_agree, image

import megengine as mge
import megengine.functional as F
import megengine.module as M
import megengine.traced_module as T
from megengine.autodiff import Function, GradManager
from megengine.traced_module import trace_module


@T.wrap
def wrapped(a, b=2):
    return F.relu(a) + b


def test_wrapped_functions_are_one_expression():
    class Calls(M.Module):
        def forward(self, x):
            return wrapped(x, b=3)

    traced = trace_module(Calls(), image())
    (expr,) = traced.graph.get_function_by_type(wrapped).as_list()
    assert str(expr).endswith("wrapped_out = test_traced_module_leaves.wrapped(x, 3, )")
    assert len(traced.graph._exprs) == 1
    with pytest.raises(TypeError, match="wrap"):
        T.wrap(len)


def test_functions_that_return_functions_are_not_wrapped():
    def generate(x):
        yield x

    with pytest.raises(TypeError, match="one by one"):
        T.wrap(generate)


class Pair(M.Module):
    def forward(self, x):
        return F.exp(x), None


def test_leaves_may_return_constants():
    class Around(M.Module):
        def __init__(self):
            super().__init__()
            self.pair = Pair()

        def forward(self, x):
            return self.pair(x)[0]

    T.register_as_builtin(Pair)
    traced = trace_module(Around(), image())
    assert str(traced.graph._exprs[-1]).endswith("(pair_out, None) = pair(x, )")
    for each in (traced, traced.flatten(), copy.deepcopy(traced)):
        assert_agree(each, Around(), image(1))


class Maker(M.Module):
    def __init__(self, make):
        super().__init__()
        self.make = make

    def forward(self, x):
        made = self.make(x)
        made += 1
        return x + 2, made


@pytest.mark.parametrize(
    "make, want",
    [
        (mge.Tensor, 4),
        (lambda x: mge.Tensor([1, x, 1]), [2, 4, 2]),
        (lambda x: mge.Tensor(x, dtype="int32", name="x"), 4),
        (lambda x: mge.Tensor([x, (x + 1)], device="cpu0", dtype="float32"), [4, 5]),
    ],
)
def test_tensors_made_from_tensors(make, want):
    traced = trace_module(Maker(make), mge.Tensor(1))
    for each in (
        traced,
        copy.deepcopy(traced),
        traced.flatten(),
        trace_module(traced, mge.Tensor(2)),
    ):
        results = each(mge.Tensor(3))
        assert [result.tolist() for result in results] == [5, want]
    file = io.BytesIO()
    mge.save(traced, file)
    for options in ({}, {"weights_only": True}):
        file.seek(0)
        assert mge.load(file, **options)(mge.Tensor(3))[1].tolist() == want
    assert mge.Tensor.__init__ is mge._mge.Tensor.__init__


def test_registered_modules_are_one_expression():
    class Atom(M.Module):
        def forward(self, x):
            return F.exp(x) * 2

    T.register_as_builtin(Atom)
    traced = trace_module(M.Sequential(Atom()), image())
    assert len(traced.graph._exprs) == 2 and type(vars(traced)["0"]) is Atom
    for each in (traced, traced.flatten(), copy.deepcopy(traced)):
        assert "-> (Atom)" in str(each.graph)
    with pytest.raises(TypeError, match="register_as_builtin"):
        T.register_as_builtin(int)


def test_functions_are_found_under_any_name():
    alias, table = F.relu, {"exp": F.exp}

    class Calls(M.Module):
        def __init__(self):
            super().__init__()
            self.f = F.tanh

        def forward(self, x):
            return table["exp"](alias(self.f(x)))

    graph = trace_module(Calls(), image()).graph
    assert [expr.func for expr in graph._exprs] == [F.tanh, F.relu, F.exp]


class Tripled(Function):
    def __init__(self, factor):
        self.factor = factor

    def forward(self, x):
        self.saved = x
        return x * 3

    def backward(self, dy):
        return dy * self.saved * self.factor


class WithFunction(M.Module):
    def forward(self, x):
        return Tripled(5)(F.exp(x)) + 1


def test_functions_with_custom_gradients():
    traced = trace_module(WithFunction(), image())
    assert [type(expr).__name__ for expr in traced.graph._exprs] == [
        "CallFunction",
        "CallFunction",
        "CallMethod",
    ]
    assert not hasattr(traced.graph._exprs[1].args[0], "saved")
    for each in (traced, traced.flatten(), loaded_again(traced)):
        grads = []
        for module in (each, WithFunction()):
            x = image(1)
            with GradManager().attach([x]) as manager:
                manager.backward((module(x) + module(x * 2)).sum())
            grads.append(x.grad)
        np.testing.assert_allclose(grads[0].numpy(), grads[1].numpy(), rtol=1e-5)


def loaded_again(module):
    file = io.BytesIO()
    mge.save(module, file)
    with pytest.warns(UserWarning, match="Tripled"):
        return mge.load(io.BytesIO(file.getvalue()))
