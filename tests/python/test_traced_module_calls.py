# SPDX-License-Identifier: Apache-2.0
"""Arguments and results of traced modules: which calls are recorded, and which are refused."""

import numpy as np
import pytest
from traced_module_samples import Returns, Scaled, assert_agree, image

import megengine.functional as F
import megengine.module as M
from megengine.traced_module import hooks, trace_module


@pytest.mark.parametrize(
    "args, kwargs, inputs",
    [
        ((image(),), {}, ["self", "x"]),
        ((image(),), {"z": 3}, ["self", "x"]),
        ((image(), 5), {}, ["self", "x"]),
        ((image(),), {"y": image(1)}, ["self", "x", "y"]),
        ((image(), 2, image(1), image(2)), {}, ["self", "x", "rest_0", "rest_1"]),
        ((image(),), {"k": image(1)}, None),
    ],
)
def test_arguments_by_position_and_by_keyword(args, kwargs, inputs):
    traced = trace_module(Scaled(), *args, **kwargs)
    if inputs:
        assert [node.name for node in traced.graph.inputs] == inputs
    assert_agree(traced, Scaled(), *args, **kwargs)


def test_another_constant_is_another_call():
    traced = trace_module(Scaled(), image(), 5)
    assert_agree(traced, Scaled(), image(1), y=5)
    with pytest.raises(AssertionError, match=r"traced with .*Tensor, 5.* called with .*Tensor, 6"):
        traced(image(), 6)
    with pytest.raises(TypeError, match="'x'"):
        traced()


def test_one_tensor_for_two_arguments_is_two_inputs():
    traced = trace_module(Scaled(), image(), image())
    x = image()
    same = trace_module(Scaled(), x, x)
    for each in (traced, same):
        assert_agree(each, Scaled(), image(1), image(2))


def test_trees_of_inputs_and_outputs():
    class Tree(M.Module):
        def forward(self, inp):
            return [inp["b"] + inp["a"][0], {"k": (inp["a"][1],)}]

    given = {"b": image(), "a": [image(1), image(2)]}
    traced = trace_module(Tree(), given)
    assert [str(node) for node in traced.graph.inputs] == ["self", "inp_0", "inp_1", "inp_2"]
    got = traced(given)
    np.testing.assert_array_equal(got[1]["k"][0].numpy(), given["a"][1].numpy())
    assert_agree(traced, Tree(), given)


def test_losses_keep_their_keywords():
    class Loss(M.Module):
        def forward(self, x, y):
            return F.nn.l1_loss(x, y), F.nn.l1_loss(x, y, reduction="sum")

    traced = trace_module(Loss(), image(), image(1))
    first, second = traced.graph._exprs
    assert str(first).endswith("loss.l1_loss(x, y, mean, )")
    assert str(second).endswith("loss.l1_loss(x, y, reduction=sum)")
    assert_agree(traced, Loss(), image(2), image(3))
    first.set_arg("reduction", "sum")
    got = traced(image(2), image(3))
    assert got[0].item() == got[1].item()


@pytest.mark.parametrize(
    "value, text",
    [
        (lambda x: None, "gives None"),
        (lambda x: (x, 3), "gives 3"),
        (lambda x: object(), "class object"),
    ],
)
def test_results_are_tensors(value, text):
    with pytest.raises(AssertionError, match=text):
        trace_module(Returns(value), image())
    assert hooks.current.recorder is None and not hooks._undo


def test_wrong_calls():
    with pytest.raises(AssertionError, match="a Module is expected"):
        trace_module(lambda x: x, image())
    with pytest.raises(AssertionError, match="recorded as a whole"):
        trace_module(M.ReLU(), image())
    with pytest.raises(TypeError, match="'x'"):
        trace_module(Scaled())
    with pytest.raises(AssertionError, match="register_supported_type"):
        trace_module(Scaled(), object())


def test_unknown_argument_value_is_an_error():
    class Inner(M.Module):
        def forward(self, x):
            return x + self.other

    class Outer(M.Module):
        def __init__(self):
            super().__init__()
            self.inner = Inner()

        def forward(self, x):
            hidden.append(x * 2)
            self.inner.__dict__["other"] = None
            type(self.inner).other = property(lambda _: hidden[-1])
            del self.inner.__dict__["other"]
            return self.inner(x)

    hidden = []
    with pytest.raises(RuntimeError, match=r"Outer.inner uses Outer.\[method_mul\]"):
        trace_module(Outer(), image())
