# SPDX-License-Identifier: Apache-2.0
# ruff: noqa: E501 - graphs as they are printed
"""Modules recorded as graphs: what is recorded, how it is printed, and that it does the same."""

import subprocess
import sys

import numpy as np
import pytest
from traced_module_samples import Net, assert_agree, image, lines, printed

import megengine as mge
import megengine.functional as F
import megengine.module as M
from megengine.core.ops.builtin import Copy
from megengine.jit import trace
from megengine.traced_module import expr, node, trace_module
from megengine.traced_module.traced_module import cpp_apply_module_trace

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


def test_flattened_names_show_the_origin_of_expressions():
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


def test_the_module_is_imported_on_first_use():
    code = """
import sys
import megengine as mge
assert not [name for name in sys.modules if "traced_module" in name]
assert hasattr(mge.traced_module, "trace_module")
assert not hasattr(mge, "lite")
from megengine.traced_module import trace_module
"""
    subprocess.run([sys.executable, "-c", code], check=True)
