# SPDX-License-Identifier: Apache-2.0
"""Passes over traced modules keep the results.

The graphs after ``BackwardFoldScale``, ``FuseAddMul`` and ``FuseConvBn`` have the expressions that
MegEngine 1.13 gives for the same net.
"""

import numpy as np
import pytest

import megengine as mge
import megengine.functional as F
import megengine.module as M
from megengine.traced_module import optimize, register_as_builtin, trace_module
from megengine.traced_module.expr import CallMethod, is_call_module, is_constant

PASSES = [
    "AttrToConstant",
    "FixInputShape",
    "FlodConstant",
    "NormElemWise",
    "FuseConvBn",
    "BackwardFoldScale",
    "FuseAddMul",
]


def image(seed=0, shape=(2, 3, 6, 6)):
    return mge.Tensor(np.random.default_rng(seed).standard_normal(shape).astype("float32"))


def in_evaluation(module):
    """The module in evaluation mode, with parameters and statistics that are neither 0 nor 1."""
    chance = np.random.default_rng(1)
    for tensor in module.tensors():
        tensor[...] = chance.uniform(0.5, 1.5, tensor.shape).astype("float32")
    module.eval()
    return module


def steps(traced):
    """The expressions without attributes and constants, without their numbers."""
    exprs = [e for e in traced.graph.exprs() if e.inputs and not type(e).__name__ == "GetAttr"]
    return [str(expr).split("\t", 1)[1] for expr in exprs]


def assert_same(optimized, module, x):
    want = module(x).numpy()
    np.testing.assert_allclose(optimized(x).numpy(), want, rtol=1e-4, atol=1e-4 * abs(want).max())


class Net(M.Module):
    def __init__(self):
        super().__init__()
        self.c = M.Conv2d(3, 3, 1, bias=False)
        self.b = M.BatchNorm2d(3)
        self.c2 = M.Conv2d(3, 3, 1)

    def forward(self, x):
        y = self.b(self.c(x)) * 2 + 1
        y = 2 * (self.c2(y) * 3 + 1 + 2)
        y = F.relu(y) * 0.5
        return F.conv2d(y, self.c.weight) - 1


def test_scales_go_into_weights():
    net = in_evaluation(Net())
    found = optimize(trace_module(net, image()), ["BackwardFoldScale"])
    assert steps(found) == [
        "c_out = c(x, )",
        "add_out = c_out.__add__(1, )",
        "c2_out = c2(add_out, )",
        "add_out_1 = c2_out.__add__(1.0, )",
        "add_out_2 = add_out_1.__add__(2.0, )",
        "relu_out = nn.relu(add_out_2, )",
        "conv2d_out = nn.conv2d(relu_out, c_weight, None, 1, 0, 1, 1, cross_correlation,"
        " default, )",
        "sub_out = conv2d_out.__add__(-1, )",
    ]
    assert_same(found, net, image(1))


def test_numbers_are_joined():
    net = in_evaluation(Net())
    found = optimize(trace_module(net, image()), "FuseAddMul")
    assert [step for step in steps(found) if "__" in step] == [
        "mul_out = b_out.__mul__(2, )",
        "add_out = mul_out.__add__(1, )",
        "mul_out_1 = c2_out.__mul__(3, )",
        "add_out_2 = mul_out_1.__add__(3, )",
        "rmul_out = add_out_2.__mul__(2, )",
        "mul_out_2 = relu_out.__mul__(0.5, )",
        "sub_out = conv2d_out.__add__(-1, )",
    ]
    assert_same(found, net, image(1))


def test_normalisation_is_folded_into_convolutions():
    net = in_evaluation(Net())
    traced = trace_module(net, image())
    before = str(traced.graph)
    found = optimize(traced)
    assert steps(found)[:2] == ["c_out = c(x, )", "mul_out = c_out.__mul__(2, )"]
    assert found.c.bias is not None and net.c.bias is None
    assert found.graph.get_module_by_type(M.BatchNorm2d).as_count() == 0
    assert_same(found, net, image(1))
    assert str(traced.graph) == before
    assert_same(traced, net, image(1))


@pytest.mark.parametrize("name", PASSES)
def test_each_pass_keeps_the_results(name):
    net = in_evaluation(Net())
    found = optimize(trace_module(net, image()), name)
    assert_same(found, net, image(1))
    assert_same(found.flatten(), net, image(2))


class Nested(M.Module):
    def __init__(self):
        super().__init__()
        self.parts = [
            M.Sequential(M.Conv2d(3, 4, 3, groups=1), M.BatchNorm2d(4), M.ReLU()),
            M.Sequential(M.ConvTranspose2d(4, 2, 3, groups=2), M.BatchNorm2d(2)),
        ]
        self.w = mge.Parameter([2.0, 3.0])

    def forward(self, x):
        for part in self.parts:
            x = part(x) / 2
        x = (3 - x).reshape(x.shape[0], -1)
        return -x + (self.w * 2 + 1).sum()


@pytest.mark.parametrize("names", [["FuseConvBn"], PASSES])
def test_inner_graphs(names):
    net = in_evaluation(Nested())
    found = optimize(trace_module(net, image()), names)
    assert found.graph.get_module_by_type(M.BatchNorm2d).as_count() == 0
    assert_same(found, net, image(1))


def test_constants():
    net = in_evaluation(Nested())
    traced = trace_module(net, image())
    found = optimize(traced, ["FixInputShape", "FlodConstant"])
    assert [e.outputs[0].name for e in found.graph._exprs if is_constant(e)] == [
        "getitem_out",
        "sum_out",
    ]
    assert_same(found, net, image(1))
    frozen = optimize(traced, "AttrToConstant")
    traced.w[...] = 100
    assert_same(frozen, in_evaluation(Nested()), image(1))


def test_shared_weights_are_kept():
    class Twice(M.Module):
        def __init__(self):
            super().__init__()
            self.c = M.Conv2d(3, 3, 1)
            self.b = M.BatchNorm2d(3)

        def forward(self, x):
            y = self.c(x)
            return self.b(y) * 2 + y + self.c(self.b(x) * 3)

    net = in_evaluation(Twice())
    found = optimize(trace_module(net, image()), PASSES)
    assert found.graph.get_module_by_type(M.BatchNorm2d).as_count() == 1
    assert_same(found, net, image(1))


@pytest.mark.parametrize(
    "body",
    [
        lambda self, x: F.relu(self.c(x)) * -2,
        lambda self, x: (self.c(x) + x) * 2,
        lambda self, x: F.exp(self.c(x)) * 2,
        lambda self, x: (self.c(x) + F.full((1, 3, 1, 1), 0.5) * 3) * 2,
        lambda self, x: 1 / (self.c(x) * 2),
        lambda self, x: (self.c(x) / 0.5 - 1) * 4,
        lambda self, x: F.mul(2, F.add(1, self.c(x))) - F.sub(3, x),
        lambda self, x: F.div(-self.c(x), 4) + F.neg(x),
        lambda self, x: F.leaky_relu(self.c(x) + self.d(x), 0.1) * 3,
        lambda self, x: (x.astype("int32") * 3 + 1).astype("float32") * 0.5,
        lambda self, x: self.b(F.conv2d(x, self.d.weight, self.d.bias)),
        lambda self, x: self.b(F.conv2d(x, self.d.weight)) * 2,
    ],
)
def test_foldable_and_other_operators(body):
    class Body(M.Module):
        forward = body

        def __init__(self):
            super().__init__()
            self.c, self.d = M.Conv2d(3, 3, 1), M.Conv2d(3, 3, 1)
            self.b = M.BatchNorm2d(3)

    net = in_evaluation(Body())
    found = optimize(trace_module(net, image()), PASSES)
    assert_same(found, net, image(1))


class Shared(M.Module):
    """One convolution and one normalisation for several calls."""

    def __init__(self, body):
        super().__init__()
        self.conv, self.conv_1 = M.Conv2d(3, 3, 1), M.Conv2d(3, 3, 1)
        self.bn, self.bn2, self.relu = M.BatchNorm2d(3), M.BatchNorm2d(3), M.ReLU()
        self.linear = M.Linear(6, 6)
        self.parts = [self.conv]
        self.body = body

    def forward(self, x):
        return self.body(self, x)


# The names are those of MegEngine 1.13: the last call that changes takes the first number.
@pytest.mark.parametrize(
    "body, calls",
    [
        (lambda s, x: s.conv(s.conv(x) * 2), "conv_1 conv"),
        (lambda s, x: s.conv(s.conv(s.conv(x) * 2) * 3) * 4, "conv conv_2 conv_1"),
        (lambda s, x: s.conv(x) * 2 + s.conv(x * 3), "conv_1 conv"),
        (lambda s, x: (s.conv(x) + s.conv(x * 3)) * 2, "conv_1 conv"),
        (lambda s, x: s.bn2(s.conv(s.bn(s.conv(x)))), "conv conv_1"),
        (lambda s, x: s.bn2(s.conv(s.bn(s.conv(x)) * 2)) * 3, "conv conv_1"),
        (lambda s, x: s.bn(s.conv(x)) + s.conv(x), "conv_1 conv"),
        (lambda s, x: s.bn(s.conv(x)) + s.bn(s.conv_1(x)), "conv conv_1"),
        (lambda s, x: s.bn2(s.bn(s.conv(x))), "conv bn2"),
        (lambda s, x: s.relu(s.conv(s.relu(s.conv(x)) * 0.5)) * 4, "conv relu conv_1 relu"),
        (lambda s, x: s.linear(s.linear(x) * 2), "linear_1 linear"),
        (lambda s, x: s.parts[0](s.parts[0](x) * 2), "parts.0_1 parts.0"),
        (lambda s, x: s.conv_1(s.conv(s.conv(x) * 2)), "conv_2 conv conv_1"),
    ],
)
def test_a_changed_call_of_a_shared_module_gets_a_copy(body, calls):
    net = in_evaluation(Shared(body))
    traced = trace_module(net, image())
    found = optimize(traced, ["FuseConvBn", "BackwardFoldScale"])
    exprs = [expr for expr in found.graph._exprs if is_call_module(expr)]
    assert [expr.inputs[0].expr.name for expr in exprs] == calls.split()
    for x in (image(1), image(2)):
        assert_same(found, net, x)
        assert_same(found.flatten(), net, x)
        assert_same(traced, net, x)


class PlainConv(M.Conv2d):
    pass


class OtherConv(M.Conv2d):
    def forward(self, x):
        return super().forward(x) + 1


class CubicConv(M.Conv2d):
    def calc_conv(self, inp, weight, bias):
        return super().calc_conv(inp, weight**3, bias)


class PlainNorm(M.BatchNorm2d):
    pass


class OtherReLU(M.ReLU):
    def forward(self, x):
        return super().forward(x) + 1


@pytest.mark.parametrize(
    "kinds, left",
    [
        ((PlainConv, PlainNorm, M.ReLU), "conv act"),
        ((OtherConv, M.BatchNorm2d, M.ReLU), "conv bn act __mul__"),
        ((CubicConv, M.BatchNorm2d, M.ReLU), "conv bn act __mul__"),
        ((M.Conv2d, M.BatchNorm2d, OtherReLU), "conv act __mul__"),
        ((M.ConvRelu2d, None, M.Identity), "conv act"),
        ((PlainConv, None, M.Identity), "conv act"),
        ((OtherConv, None, M.Identity), "conv act __mul__"),
    ],
)
def test_user_leaves_are_folded_only_if_they_compute_like_their_base(kinds, left):
    class Leaves(M.Module):
        def __init__(self):
            super().__init__()
            self.conv = kinds[0](3, 3, 1)
            self.bn, self.act = kinds[1] and kinds[1](3), kinds[2]()

        def forward(self, x):
            x = self.conv(x)
            return self.act(self.bn(x) if self.bn else x) * 2

    for kind in set(kinds) & {PlainConv, OtherConv, CubicConv, PlainNorm, OtherReLU}:
        register_as_builtin(kind)
    net = in_evaluation(Leaves())
    found = optimize(trace_module(net, image()), ["FuseConvBn", "BackwardFoldScale"])
    assert_same(found, net, image(1))
    calls = [expr for expr in found.graph._exprs if isinstance(expr, CallMethod)]
    names = [e.inputs[0].expr.name if is_call_module(e) else e.method for e in calls]
    assert names == left.split()


class Ways(M.Module):
    """Convolutions and what comes behind them."""

    def __init__(self, body):
        super().__init__()
        self.c, self.d = M.Conv2d(3, 3, 1), M.Conv2d(3, 3, 1)
        self.maximum, self.average = M.MaxPool2d(2), M.AvgPool2d(2)
        self.mean, self.variance, self.gamma, self.beta = (
            mge.Tensor(np.ones((1, 3, 1, 1), np.float32)) for _ in range(4)
        )
        self.two = mge.Tensor(2.0)
        self.body = body

    def forward(self, x):
        return self.body(self, x)


# As in MegEngine 1.13, which also lets negative factors through maxima.
@pytest.mark.parametrize(
    "body, is_folded",
    [
        (lambda s, x: F.reshape(s.average(s.maximum(s.c(x))), (2, -1)) * 2, True),
        (lambda s, x: s.average(s.c(x)).transpose(0, 2, 3, 1)[:, 1] * -2, True),
        (lambda s, x: s.maximum(s.c(x)) * -2, False),
        (lambda s, x: F.max(s.c(x), axis=1) * 3, True),
        (lambda s, x: s.c(x).min(axis=1) * -3, False),
        (lambda s, x: F.concat([s.c(x), F.relu(s.d(x))], 1) * 2, True),
        (lambda s, x: F.concat([s.c(x), x], 1) * 2, False),
        (lambda s, x: F.concat(inps=[s.c(x), s.d(x)], axis=1) * 2, True),
        (lambda s, x: F.relu(x=F.flatten(inp=s.c(x), start_axis=1)) * 2, True),
        (lambda s, x: F.adaptive_avg_pool2d(F.max_pool2d(s.c(x), 2), 1) * 2, True),
        (lambda s, x: s.c(x) * s.two, True),
        (lambda s, x: F.conv2d(x, s.c.weight) * 2 + F.conv2d(x, s.c.weight) + s.c(x), True),
        (lambda s, x: F.conv2d(x, s.c.weight, s.d.bias) * 2 + s.d(x) * 3, True),
    ],
)
def test_ways_of_factors(body, is_folded):
    net = in_evaluation(Ways(body))
    found = optimize(trace_module(net, image()), "BackwardFoldScale")
    assert ("__mul__" not in str(found.graph)) == is_folded
    assert_same(found, net, image(1))


@pytest.mark.parametrize(
    "body, is_folded",
    [
        (lambda s, x: F.batch_norm(s.c(x), s.mean, s.variance, s.gamma, s.beta), True),
        (lambda s, x: F.batch_norm(s.c(x), s.mean, s.variance), True),
        (lambda s, x: F.batch_norm(s.c(x), s.mean, s.variance, bias=s.beta, eps=0.1), True),
        (lambda s, x: F.batch_norm(F.conv2d(x, s.c.weight), s.mean, s.variance, s.gamma), True),
        (lambda s, x: F.batch_norm(s.c(x), s.mean, s.variance, s.c(s.gamma)), False),
        (lambda s, x: F.batch_norm(s.c(x), training=True), False),
        (lambda s, x: F.batch_norm(x, s.mean, s.variance), False),
    ],
)
def test_functions_that_normalise_go_into_convolutions(body, is_folded):
    net = in_evaluation(Ways(body))
    found = optimize(trace_module(net, image()))
    assert ("batch_norm" not in str(found.graph)) == is_folded
    assert_same(found, net, image(1))


def test_random_numbers_are_not_constants():
    class Noise(M.Module):
        def forward(self, x):
            return F.dropout(mge.Tensor(np.ones(100, np.float32)), 0.5) + x.sum()

    found = optimize(trace_module(Noise(), image()), PASSES)
    assert (found(image()).numpy() != found(image()).numpy()).any()


def test_training_keeps_normalisation():
    net = Net()
    found = optimize(trace_module(net, image()))
    assert found.graph.get_module_by_type(M.BatchNorm2d).as_count() == 1


def test_wrong_calls():
    traced = trace_module(in_evaluation(Net()), image())
    with pytest.raises(ValueError, match="no pass 'Nope'"):
        optimize(traced, ["Nope"])
    with pytest.raises(TypeError, match="traced module is expected, got Net"):
        optimize(Net())


def test_optimize_is_where_megengine_has_it():
    from megengine.traced_module import _passes

    assert _passes.optimize is optimize


def test_integer_factors_are_folded():
    class Scaled(M.Module):
        def __init__(self):
            super().__init__()
            self.c = M.Conv2d(3, 3, 1)
            self.scale = mge.Tensor([3, 4])

        def forward(self, x):
            y = F.relu(self.c(x)) * self.scale[0]
            return F.relu(self.scale[1] + y) * 3

    net = in_evaluation(Scaled())
    net.scale = mge.Tensor([3, 4])
    found = optimize(trace_module(net, image()), "BackwardFoldScale")
    assert not found.graph.get_method_by_type("__mul__").as_list()
    assert_same(found, net, image())
