# SPDX-License-Identifier: Apache-2.0
# ruff: noqa: E501 - graphs as they are printed
"""Modules recorded as graphs: what is recorded, how it is printed, and that it does the same."""

import copy
import inspect
import io
import subprocess
import sys
import textwrap
import threading

import numpy as np
import pytest

import megengine as mge
import megengine.functional as F
import megengine.module as M
import megengine.traced_module as T
from megengine.autodiff import Function, GradManager
from megengine.core.ops.builtin import Copy
from megengine.jit import trace
from megengine.optimizer import SGD
from megengine.traced_module import expr, hooks, node, trace_module
from megengine.traced_module.traced_module import TracedModule, cpp_apply_module_trace


def image(seed=0, shape=(2, 3, 4, 4)):
    return mge.Tensor(np.random.default_rng(seed).standard_normal(shape).astype("float32"))


def printed(module, *args, **kwargs):
    return str(trace_module(module, *args, **kwargs).graph).replace("\t", "    ")


def lines(text):
    return textwrap.dedent(text).strip()


def assert_agree(traced, module, *args, **kwargs):
    for got, want in zip(
        _tensors(traced(*args, **kwargs)), _tensors(module(*args, **kwargs)), strict=True
    ):
        np.testing.assert_allclose(got.numpy(), want.numpy(), rtol=1e-5, atol=1e-6)


def _tensors(value):
    if isinstance(value, mge.Tensor):
        return [value]
    parts = value.values() if isinstance(value, dict) else value
    return [tensor for part in parts for tensor in _tensors(part)]


class Block(M.Module):
    def __init__(self):
        super().__init__()
        self.conv = M.Conv2d(3, 3, 3, padding=1)
        self.bn = M.BatchNorm2d(3)
        self.relu = M.ReLU()
        self.p = mge.Parameter([1.0, 2.0])

    def forward(self, x, scale=2.0):
        y = self.relu(self.bn(self.conv(x)))
        z = F.relu(y) + x * scale
        z = z.reshape(z.shape[0], -1)
        return z, {"a": y, "b": [self.p.sum(), F.concat([y, x], axis=1)]}


class Net(M.Module):
    def __init__(self):
        super().__init__()
        self.blocks = [Block(), Block()]
        self.seq = M.Sequential(M.Linear(4, 4), M.ReLU())
        self.d = {"k": M.ReLU()}

    def helper(self, x):
        return self.seq(x) + 1

    def forward(self, x):
        a, b = self.blocks[0](x)
        c, d = self.blocks[1](b["a"], scale=3.0)
        e = self.d["k"](self.helper(x))
        e[..., 0] = 1
        e += x
        e = -e
        q, w = F.split(e, 2, axis=3)
        t = mge.Tensor([1, 2, 3.0])
        return a + c, d["b"][0], e.mean(), F.ones((3,)) + q.shape[0], t * 2, x.T, q[0]


# The graphs that are printed in this file are what MegEngine 1.13 prints for the same Modules.


def test_a_net_is_printed_as_megengine_prints_it():
    net = Net()
    net.eval()
    traced = trace_module(net, image())
    assert str(traced.graph).replace("\t", "    ") == lines("""
        Net.Graph (self, x) {
            %2:    blocks_0 = getattr(self, "blocks.0") -> (Module)
            %3:    (blocks_0_out, {'a': blocks_0_out_1, 'b': [blocks_0_out_2, blocks_0_out_3]}) = blocks_0(x, 2.0, )
            %21:    blocks_2 = getattr(self, "blocks.1") -> (Module)
            %22:    (blocks_2_out, {'a': blocks_2_out_1, 'b': [blocks_2_out_2, blocks_2_out_3]}) = blocks_2(blocks_0_out_1, 3.0, )
            %40:    seq = getattr(self, "seq") -> (Module)
            %41:    seq_out = seq(x, )
            %48:    add_out = seq_out.__add__(1, )
            %49:    d_k = getattr(self, "d.k") -> (ReLU)
            %50:    d_k_out = d_k(add_out, )
            %51:    setitem_out = d_k_out.__setitem__((Ellipsis, 0), 1, )
            %52:    iadd_out = setitem_out.__iadd__(x, )
            %53:    neg_out = iadd_out.__neg__(, )
            %54:    (split_out, split_out_1) = tensor.split(neg_out, 2, 3, )
            %55:    add_out_1 = blocks_0_out.__add__(blocks_2_out, )
            %56:    mean_out = neg_out.mean(None, False, )
            %57:    ones_out = tensor.ones((3,), device=None, dtype=float32)
            %58:    getvarshape_out = GetVarShape(split_out)
            %59:    getitem_out = getvarshape_out.__getitem__(0, )
            %60:    add_out_2 = ones_out.__add__(getitem_out, )
            %61:    const_tensor = Constant() -> (Tensor)
            %62:    mul_out = const_tensor.__mul__(2, )
            %63:    transpose_out = x.transpose(, )
            %64:    getitem_out_1 = split_out.__getitem__(0, )
            return add_out_1, blocks_2_out_2, mean_out, add_out_2, mul_out, transpose_out, getitem_out_1
        }""")
    assert str(traced.blocks.__dict__["0"].graph).replace("\t", "    ") == lines("""
        Net_blocks_0.Graph (self, x) {
            %6:    relu = getattr(self, "relu") -> (ReLU)
            %7:    bn = getattr(self, "bn") -> (BatchNorm2d)
            %8:    conv = getattr(self, "conv") -> (Conv2d)
            %9:    conv_out = conv(x, )
            %10:    bn_out = bn(conv_out, )
            %11:    relu_out = relu(bn_out, )
            %12:    relu_out_1 = nn.relu(relu_out, )
            %13:    mul_out = x.__mul__(2.0, )
            %14:    add_out = relu_out_1.__add__(mul_out, )
            %15:    getvarshape_out = GetVarShape(add_out)
            %16:    getitem_out = getvarshape_out.__getitem__(0, )
            %17:    reshape_out = add_out.reshape(getitem_out, -1, )
            %18:    p = getattr(self, "p") -> (Tensor)
            %19:    sum_out = p.sum(None, False, )
            %20:    concat_out = tensor.concat([relu_out, x], 1, None, )
            return reshape_out, relu_out, sum_out, concat_out
        }""")
    assert repr(traced).startswith(
        "TracedModule(\n  (blocks): TracedModule(\n    (0): TracedModule("
    )
    assert_agree(traced, net, image(1, (5, 3, 4, 4)))


def test_reading_attributes_again_and_again():
    class Reader(M.Module):
        def __init__(self):
            super().__init__()
            self.c = M.Conv2d(3, 3, 1)
            self.l = [M.ReLU(), M.Sigmoid()]
            self.d = {"p": M.ReLU(), "q": [M.ReLU()]}
            self.w = mge.Parameter([1.0])
            self.act = F.relu
            self.k = 3

        def forward(self, x):
            x = self.c(self.c(x))
            for layer in self.l:
                x = layer(x)
            for layer in self.l:
                x = layer(x)
            x = self.d["p"](x)
            x = self.act(x * self.w + self.w) * self.k
            x = x + self.c.weight.sum()
            x = 1 - x * x
            return x > 0

    assert printed(Reader(), image()) == lines("""
        Reader.Graph (self, x) {
            %2:    c = getattr(self, "c") -> (Conv2d)
            %3:    c_1_out = c(x, )
            %4:    c_1_out_1 = c(c_1_out, )
            %5:    l_0 = getattr(self, "l.0") -> (ReLU)
            %6:    l_0_out = l_0(c_1_out_1, )
            %7:    l_1 = getattr(self, "l.1") -> (Sigmoid)
            %8:    l_1_out = l_1(l_0_out, )
            %9:    l_3_out = l_0(l_1_out, )
            %10:    l_4_out = l_1(l_3_out, )
            %11:    d_p = getattr(self, "d.p") -> (ReLU)
            %12:    d_p_out = d_p(l_4_out, )
            %13:    w = getattr(self, "w") -> (Tensor)
            %14:    mul_out = d_p_out.__mul__(w, )
            %15:    add_out = mul_out.__add__(w, )
            %16:    relu_out = nn.relu(add_out, )
            %17:    mul_out_1 = relu_out.__mul__(3, )
            %18:    c_weight = getattr(self, "c.weight") -> (Tensor)
            %19:    sum_out = c_weight.sum(None, False, )
            %20:    add_out_1 = mul_out_1.__add__(sum_out, )
            %21:    mul_out_2 = add_out_1.__mul__(add_out_1, )
            %22:    rsub_out = mul_out_2.__rsub__(1, )
            %23:    gt_out = rsub_out.__gt__(0, )
            return gt_out
        }""")


def test_functions_methods_and_shapes():
    class Calls(M.Module):
        def forward(self, x):
            n, c, h, w = x.shape
            return (
                x.reshape(n, c, h * w),
                x[:, : c // 2],
                F.full((2, int(h)), 3.0),
                F.maximum(x, 0),
                (x > 0).astype("float32"),
                F.max(x, axis=1),
                x[mge.Tensor([0])],
                F.topk(x.reshape(-1), k=3, descending=True),
                F.stack(list(x)),
                x.size,
            )

    module = Calls()
    traced = trace_module(module, image())
    assert str(traced.graph).replace("\t", "    ") == lines("""
        Calls.Graph (self, x) {
            %2:    getvarshape_out = GetVarShape(x)
            %3:    getitem_out = getvarshape_out.__getitem__(0, )
            %4:    getitem_out_1 = getvarshape_out.__getitem__(1, )
            %5:    getitem_out_2 = getvarshape_out.__getitem__(2, )
            %6:    getitem_out_3 = getvarshape_out.__getitem__(3, )
            %7:    mul_out = getitem_out_2.__mul__(getitem_out_3, )
            %8:    reshape_out = x.reshape(getitem_out, getitem_out_1, mul_out, )
            %9:    floordiv_out = getitem_out_1.__floordiv__(2, )
            %10:    getitem_out_4 = x.__getitem__((slice(None, None, None), slice(None, floordiv_out, None)), )
            %11:    full_out = tensor.full((2, 4), 3.0, device=None, dtype=None)
            %12:    maximum_out = elemwise.maximum(x, 0, )
            %13:    gt_out = x.__gt__(0, )
            %14:    astype_out = gt_out.astype(float32, )
            %15:    max_out = math.max(x, 1, False, )
            %16:    const_tensor = Constant() -> (Tensor)
            %17:    getitem_out_5 = x.__getitem__(const_tensor, )
            %18:    reshape_out_1 = x.reshape(-1, )
            %19:    (topk_out, topk_out_1) = math.topk(reshape_out_1, 3, True, False, False, )
            %20:    getitem_out_6 = x.__getitem__(0, )
            %21:    getitem_out_7 = x.__getitem__(1, )
            %22:    stack_out = tensor.stack([getitem_out_6, getitem_out_7], 0, None, )
            %23:    getvarshape_out_1 = GetVarShape(x)
            %24:    prod_out = getvarshape_out_1.prod(None, False, )
            return reshape_out, getitem_out_4, full_out, maximum_out, astype_out, max_out, getitem_out_5, topk_out, topk_out_1, stack_out, prod_out
        }""")
    x = image(2, (2, 6, 4, 5))
    got = traced(x)
    assert got[0].shape == (2, 6, 20) and got[1].shape == (2, 3, 4, 5) and int(got[-1]) == x.size


class Scaled(M.Module):
    def forward(self, x, y=1, *rest, z=2, **more):
        for other in (*rest, *more.values()):
            x = x + other
        return x * y * z


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


class Leaf(M.Module):
    def __init__(self):
        super().__init__()
        self.r = M.ReLU()

    def forward(self, x, flag=True):
        y = self.r(x)
        return y * 2 if flag else y

    def other(self, x):
        return self.r(x) + 1


class Shared(M.Module):
    def __init__(self):
        super().__init__()
        self.s = Leaf()
        self.t = self.s

    def forward(self, x):
        y = self.s(x)
        return self.s.other(self.t(self.s(y), flag=False))


def test_a_module_that_is_shared_stays_one():
    module = Shared()
    traced = trace_module(module, image())
    assert traced.s is traced.t and len(traced.s.argdef_graph_map) == 2
    with pytest.raises(AssertionError, match="2 graphs"):
        _ = traced.s.graph
    for each in (traced, copy.deepcopy(traced), traced.flatten()):
        assert_agree(each, module, image(1))
    assert copy.deepcopy(traced).s is not traced.s


def test_state_is_that_of_the_module():
    net = Net()
    traced = trace_module(net, image())
    assert set(traced.state_dict()) == set(net.state_dict())
    assert traced.seq.__dict__["0"] is vars(net.seq)["0"]
    flat = traced.flatten()
    assert set(flat.state_dict()) == set(net.state_dict())
    assert {id(p) for p in flat.parameters()}.isdisjoint({id(p) for p in net.parameters()})
    assert traced.graph.get_module_by_type(TracedModule).as_count() == 3
    assert flat.graph.get_module_by_type(TracedModule).as_list() == []


def test_parameters_in_lists_are_attributes():
    class Several(M.Module):
        def __init__(self):
            super().__init__()
            self.ps = [mge.Parameter([1.0]), mge.Parameter([3.0])]
            self.unused = mge.Parameter([0.0])

        def forward(self, x):
            return x * self.ps[1]

    module = Several()
    traced = trace_module(module, image())
    assert list(traced.state_dict()) == ["ps.1"]
    module.ps[1][...] = 7
    assert_agree(traced, module, image())


def test_training():
    net = M.Sequential(M.Linear(3, 4), M.BatchNorm1d(4), M.ReLU(), M.Linear(4, 1))
    twin = copy.deepcopy(net)
    traced = trace_module(net, image(shape=(8, 3)))
    twin.load_state_dict(net.state_dict())
    for module in (traced, twin):
        optimizer = SGD(module.parameters(), lr=0.1)
        manager = GradManager().attach(module.parameters())
        for step in range(3):
            with manager:
                loss = (module(image(step, (8, 3))) ** 2).mean()
                manager.backward(loss)
            optimizer.step().clear_grad()
    for name, value in twin.state_dict().items():
        np.testing.assert_allclose(traced.state_dict()[name], value, rtol=1e-5, atol=1e-6)


def test_a_traced_module_is_compiled_and_dumped(tmp_path):
    net = Net().seq
    traced = trace_module(net, image(shape=(2, 4)))

    @trace(symbolic=True, capture_as_const=True)
    def run(x):
        return traced(x)

    x = image(3, (2, 4))
    np.testing.assert_allclose(run(x).numpy(), net(x).numpy(), rtol=1e-5)
    run.dump(str(tmp_path / "model.mge"), arg_names=["x"])
    assert (tmp_path / "model.mge").stat().st_size > 0


def test_a_traced_module_is_traced():
    net = Net()
    net.eval()
    once = trace_module(net, image())
    twice = trace_module(once, image())
    assert str(twice.graph).split("\n")[1:] == str(once.graph).split("\n")[1:]
    assert_agree(twice, net, image(1))

    class Around(M.Module):
        def __init__(self):
            super().__init__()
            self.inner = once

        def forward(self, x):
            return self.inner(x)[0] * 2

    assert_agree(trace_module(Around(), image()), Around(), image(1))


def test_flattened_names_tell_where_expressions_are_from():
    class Twice(M.Module):
        def __init__(self):
            super().__init__()
            self.a = M.Sequential(M.Conv2d(3, 3, 1), M.ReLU())
            self.bias = mge.Parameter([1.0])

        def forward(self, x):
            return self.a(self.a(x)) * 2 + self.bias

    module = Twice()
    flat = trace_module(module, image()).flatten()
    assert str(flat.graph).replace("\t", "    ") == lines("""
        Twice.Graph (self, x) {
            %2:    a__0 = getattr(self, "a.0") -> (Conv2d)
            %3:    a__1 = getattr(self, "a.1") -> (ReLU)
            %4:    a__0_out = a__0(x, )
            %5:    a_1_out = a__1(a__0_out, )
            %6:    a__0_out_1 = a__0(a_1_out, )
            %7:    a_1_out_1 = a__1(a__0_out_1, )
            %8:    mul_out = a_1_out_1.__mul__(2, )
            %9:    bias = getattr(self, "bias") -> (Tensor)
            %10:    add_out = mul_out.__add__(bias, )
            return add_out
        }""")
    assert_agree(flat, module, image(1))


@T.wrap
def wrapped(a, b=2):
    return F.relu(a) + b


def test_wrapped_functions_are_one_expression():
    class Calls(M.Module):
        def forward(self, x):
            return wrapped(x, b=3)

    traced = trace_module(Calls(), image())
    (expr,) = traced.graph.get_function_by_type(wrapped).as_list()
    assert str(expr).endswith("wrapped_out = test_traced_module.wrapped(x, 3, )")
    assert len(traced.graph._exprs) == 1
    with pytest.raises(TypeError, match="wrap"):
        T.wrap(len)


def test_functions_that_give_one_after_the_other_are_not_wrapped():
    def generate(x):
        yield x

    with pytest.raises(TypeError, match="one by one"):
        T.wrap(generate)


class Pair(M.Module):
    def forward(self, x):
        return F.exp(x), None


def test_leaves_may_give_constants():
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
def test_tensors_that_are_made_of_others(make, want):
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


def test_functions_are_seen_by_whatever_name():
    alias, table = F.relu, {"exp": F.exp}

    class Calls(M.Module):
        def __init__(self):
            super().__init__()
            self.f = F.tanh

        def forward(self, x):
            return table["exp"](alias(self.f(x)))

    graph = trace_module(Calls(), image()).graph
    assert [expr.func for expr in graph._exprs] == [F.tanh, F.relu, F.exp]


def test_recording_by_hand():
    class Calls(M.Module):
        def forward(self, x):
            copied = cpp_apply_module_trace(Copy(), x)
            assert node.NodeMixin.get(copied).name == "copy_out"
            constant = mge.Tensor([2.0])
            assert node.NodeMixin.get(constant, 5) == 5
            made = expr.Constant.make(constant, name="two")
            node.NodeMixin.wrap_safe(constant, made)
            with pytest.raises(RuntimeError, match="has the node two"):
                node.NodeMixin.wrap_safe(constant, made)
            assert node.NodeMixin.get_wrapped_type(constant) is node.TensorNode
            result = copied * constant
            node.NodeMixin.clear_node(copied)
            with pytest.raises(AttributeError, match="no node"):
                node.NodeMixin.get(copied)
            return result

    assert printed(Calls(), image()) == lines("""
        Calls.Graph (self, x) {
            %2:    copy_out = Copy(x)
            %3:    two = Constant() -> (Tensor)
            %4:    mul_out = copy_out.__mul__(two, )
            return mul_out
        }""")
    x = image()
    assert cpp_apply_module_trace(Copy(), x).shape == x.shape
    with pytest.raises(RuntimeError, match="nothing is recorded"):
        expr.Constant.make(x)
    with pytest.raises(RuntimeError, match="nothing is traced"):
        node.NodeMixin.wrap(x, None)
    with pytest.raises(TypeError, match="Tensors and Modules"):
        node.NodeMixin.get_wrapped_type(5)


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


def test_functions_with_gradients_of_their_own():
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


def test_random_numbers_are_drawn_anew():
    class Noise(M.Module):
        def forward(self, x):
            return x + mge.random.normal(size=(4,)) + F.dropout(x, 0.5)

    traced = trace_module(Noise(), F.zeros((4,)))
    one, other = traced(F.zeros((4,))).numpy(), traced(F.zeros((4,))).numpy()
    assert (one != other).any()
    mge.random.seed(7)
    want = Noise()(F.ones((4,))).numpy()
    mge.random.seed(7)
    np.testing.assert_array_equal(traced(F.ones((4,))).numpy(), want)


def test_state_is_changed_as_by_the_module():
    class Counter(M.Module):
        def __init__(self):
            super().__init__()
            self.count = mge.Tensor([0.0])

        def forward(self, x):
            self.count += 1
            return x * 2

    module = Counter()
    traced = trace_module(module, image())
    assert module.count.item() == 1  # the recording was one call, the check none
    traced(image())
    assert traced.count.item() == 2


def test_statistics_are_those_of_one_call():
    net, twin = M.BatchNorm2d(3), M.BatchNorm2d(3)
    trace_module(M.Sequential(net), image())
    twin(image())
    np.testing.assert_array_equal(net.running_mean.numpy(), twin.running_mean.numpy())


def test_hooks_are_recorded():
    net = M.Sequential(M.ReLU())
    net.register_forward_hook(lambda module, inputs, outputs: outputs * 3)
    traced = trace_module(net, image())
    assert traced.graph.get_method_by_type("__mul__").as_count() == 1
    np.testing.assert_allclose(traced(image(1)).numpy(), net(image(1)).numpy())


class Returns(M.Module):
    def __init__(self, value):
        super().__init__()
        self.value = (value,)

    def forward(self, x):
        return self.value[0](x)


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


def test_a_value_that_is_no_argument_is_an_error():
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


class Hidden(M.Module):
    def __init__(self):
        super().__init__()
        self.seq = M.Sequential(M.ReLU())

    def forward(self, x):
        x = self.seq(x)
        with hooks.paused():  # as a library would that does not go through functional
            x._reset(x + 1)
        return F.exp(x) + 1


def test_what_was_not_seen_is_found_by_the_checkers():
    with pytest.raises(AssertionError, match="Hidden gives another value"):
        trace_module(Hidden(), image())
    assert T.enable_expr_checker() is False
    try:
        trace_module(Net(), image())
        with pytest.raises(AssertionError, match=r"exp_out = elemwise.exp\(.* of Hidden gives"):
            trace_module(Hidden(), image())
    finally:
        T.tm_config.checks.expressions = False
    assert T.disable_default_checker() is True
    try:
        trace_module(Hidden(), image())
    finally:
        T.tm_config.checks.results = True


def test_nothing_stays_behind():
    before = {name: vars(mge.Tensor).get(name) for name in (*hooks.METHODS, "shape", "size")}
    code, signature = F.relu.__code__, inspect.signature(F.relu)
    trace_module(Net(), image())
    with pytest.raises(ZeroDivisionError):
        trace_module(Returns(lambda x: 1 / 0), image())
    assert {name: vars(mge.Tensor).get(name) for name in before} == before
    assert F.relu.__code__ is code and inspect.signature(F.relu) == signature
    assert "__getattribute__" not in vars(M.Module) and not hooks._undo
    x = image()
    assert x.shape == (2, 3, 4, 4) and (x + x).shape == (2, 3, 4, 4)


def test_other_threads_are_not_recorded():
    started, done, failures = threading.Event(), threading.Event(), []

    def work():
        started.set()
        while not done.is_set():
            x = F.relu(image()) + 1
            if x.shape != (2, 3, 4, 4):
                failures.append(x.shape)

    class Slow(M.Module):
        def forward(self, x):
            for _ in range(20):
                x = F.relu(x + 1)
            return x

    thread = threading.Thread(target=work)
    thread.start()
    started.wait()
    try:
        for _ in range(5):
            assert len(trace_module(Slow(), image()).graph._exprs) == 40
    finally:
        done.set()
        thread.join()
    assert not failures


def test_several_threads_record():
    def work():
        for _ in range(3):
            found.append(len(trace_module(Net(), image()).graph._exprs))

    found = []
    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [23] * 9 and not hooks._undo


def test_hooks_are_taken_back_when_they_cannot_be_put_in_place():
    def functions():
        yield F.relu
        raise KeyError

    code = F.relu.__code__
    with pytest.raises(KeyError), hooks.hooked(functions):
        pass
    assert F.relu.__code__ is code and not hooks._undo and not hooks._users


def test_the_room_is_entered_when_it_is_used():
    code = """
import sys
import megengine as mge
assert not [name for name in sys.modules if "traced_module" in name]
assert hasattr(mge.traced_module, "trace_module")
assert not hasattr(mge, "lite")
from megengine.traced_module import trace_module
"""
    subprocess.run([sys.executable, "-c", code], check=True)
