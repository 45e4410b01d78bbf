# SPDX-License-Identifier: Apache-2.0
"""Looking for parts of traced modules, and changing them."""

import copy
import functools

import numpy as np
import pytest

import megengine as mge
import megengine.functional as F
import megengine.module as M
import megengine.module.qat as QAT
import megengine.traced_module as T
from megengine.autodiff import GradManager
from megengine.quantization import create_qparams
from megengine.traced_module import TracedModule, expr, node, trace_module
from megengine.traced_module.traced_module import NameSpace
from megengine.traced_module.utils import get_subattr


def image(seed=0, shape=(2, 3, 4, 4)):
    return mge.Tensor(np.random.default_rng(seed).standard_normal(shape).astype("float32"))


class Stage(M.Module):
    def __init__(self):
        super().__init__()
        self.c = M.Conv2d(3, 3, 1)
        self.r = M.ReLU()

    def forward(self, x):
        return self.r(self.c(x))


class Net(M.Module):
    def __init__(self):
        super().__init__()
        self.a = Stage()
        self.e = Stage()
        self.bias = mge.Parameter([1.0])

    def forward(self, x):
        return F.tanh(self.e(self.a(x))) * 2 + self.bias


@pytest.fixture
def net():
    return Net()


@pytest.fixture
def traced(net):
    return trace_module(net, image())


def one(graph, name):
    return graph.get_node_by_name(name, recursive=False).as_unique()


def assert_equal(got, want):
    np.testing.assert_allclose(got.numpy(), want.numpy(), rtol=1e-5, atol=1e-6)


def test_filters(traced):
    graph = traced.graph
    assert graph.get_function_by_type(F.tanh).as_unique() is one(graph, "tanh_out").expr
    assert graph.get_function_by_type().as_count() == 1
    assert graph.get_method_by_type("__mul__").as_unique() is one(graph, "mul_out").expr
    assert graph.get_method_by_type("__call__", recursive=False).as_count() == 2
    assert graph.get_method_by_type("__call__").as_count() == 6
    assert graph.get_module_by_type(M.Conv2d).as_count() == 2
    assert graph.get_module_by_type(M.Conv2d, recursive=False).as_count() == 0
    assert graph.get_module_by_type(TracedModule).as_list() == [one(graph, "e"), one(graph, "a")]
    assert [each.name for each in graph.get_node_by_name("?_out")] == [
        "a_out",
        "c_out",
        "r_out",
    ] + [
        "e_out",
        "c_out",
        "r_out",
    ]
    assert graph.get_node_by_name("net_MUL*").as_count() == 1
    assert graph.get_node_by_name("net_MUL*", ignorecase=False).as_count() == 0
    ids = graph.exprs().as_dict()
    assert list(ids) == list(range(len(ids))) and ids[3].inputs[0].name == "self"
    assert graph.get_expr_by_id([3, 4]).as_list() == [ids[3], ids[4]]
    assert graph.get_node_by_id(1).as_unique() is graph.inputs[1]
    exprs = graph.exprs()
    assert exprs.as_list() == exprs.as_list()  # a filter can be iterated repeatedly
    for wrong in (lambda: exprs.as_unique(), lambda: graph.get_node_by_id(999).as_unique()):
        with pytest.raises(AssertionError, match="elements were found"):
            wrong()
    with pytest.raises(AssertionError, match="class of Modules"):
        graph.get_module_by_type(F.relu)


def test_formats(traced):
    mul = one(traced.graph, "mul_out")
    assert [format(mul, spec) for spec in ("", "i", "p", "ip", "x")] == [
        "mul_out",
        "%19_mul_out",
        "Net_mul_out",
        "%19_Net_mul_out",
        "mul_out",
    ]
    assert str(format(traced.graph, "p")).startswith("Net.Graph (Net_self, Net_x) {\n\t%2:\tNet_e")


def test_expressions_and_nodes_describe_themselves(traced):
    graph = traced.graph
    mul, add = one(graph, "mul_out"), graph.outputs[0]
    assert mul.shape == (2, 3, 4, 4) and mul.dtype == np.float32 and mul.device == "xpux:0"
    assert mul.users == [add.expr] and mul.top_graph is graph and mul.qparams is None
    assert mul.expr.args[1] == 2 and mul.expr.kwargs == {} and mul.expr.return_val is mul
    assert mul.expr.const_val == [(1, 2)]
    (conv,) = graph.get_node_by_name("Net_a_c").as_list()
    assert conv.owner is traced.a.c and conv.module_type is M.Conv2d
    assert conv.top_graph is traced.a.graph is conv.expr.top_graph and graph.top_graph is None
    assert traced.a.graph.top_graph is graph
    assert one(graph, "a").users[0].graph is traced.a.graph
    assert expr.is_call_module(conv.users[0], M.Conv2d)
    assert expr.is_call_tensor_method(mul.expr, ["__mul__", "__add__"])
    assert not expr.is_call_tensor_method(mul.expr, "__add__")
    assert expr.is_call_function(mul.expr.inputs[0].expr, F.tanh)
    assert expr.is_getattr(one(graph, "bias").expr) and expr.is_input(graph.inputs[1].expr)
    assert not expr.is_constant(mul.expr) and not expr.is_apply_def(mul.expr)
    assert expr.get_suffix_name("a.b", "a.bc") is None
    assert [str(each.outputs[0]) for each in graph.get_dep_exprs(mul)] == [
        "mul_out",
        "tanh_out",
        "e_out",
        "a_out",
        "x",
        "a",
        "self",
        "e",
    ]
    with pytest.raises(TypeError, match="copy the traced module"):
        copy.copy(mul)


def test_arguments_are_set(net):
    class Soft(M.Module):
        def forward(self, x):
            return F.softmax(x, axis=1)

    traced = trace_module(Soft(), image())
    call = traced.graph.outputs[0].expr
    assert call.named_args == {"inp": traced.graph.inputs[1], "axis": 1}
    call.set_arg("axis", 2)
    assert_equal(traced(image()), F.softmax(image(), axis=2))
    call.set_args_kwargs(call.args[0], axis=3)
    assert str(call) == "%2:\tsoftmax_out = nn.softmax(x, 3, )"
    assert traced.graph.inputs[1].users == [call]
    with traced.graph.insert_exprs():  # functions are hooked here
        call.set_arg("axis", 0)
    assert str(call) == "%2:\tsoftmax_out = nn.softmax(x, 0, )"
    with pytest.raises(AssertionError, match="'zz'"):
        call.set_arg("zz", 1)
    with pytest.raises(AssertionError, match="no arguments"):
        traced.graph.inputs[1].expr.set_args_kwargs(1)
    with pytest.raises(AssertionError, match="gives 1 value,"):
        call.return_val = (call.outputs[0], call.outputs[0])


def test_names(traced):
    mul = one(traced.graph, "mul_out")
    mul.name = "product"
    assert str(mul.expr).endswith("product = tanh_out.__mul__(2, )")
    with pytest.raises(AssertionError, match="already in use"):
        mul.name = "x"
    with pytest.raises(ValueError, match="identifier"):
        mul.name = "a b"
    traced.graph.name = "Other"
    assert str(traced.graph).startswith("Other.Graph (self, x)")


def test_name_spaces():
    names = NameSpace("Net", "Net")
    given = ["a", "a", "a", "a_1", "a_1", "b_7", "b_7", "c.d", "c.d", "1x", "class", "print", "T"]
    made = [names.create_unique_name(name) for name in given]
    assert made == "a a_1 a_2 a_3 a_4 b_7 b_8 c_d c_d_1 _1x class_1 print_1 T".split()
    other = NameSpace("Other", "Other")
    other.create_unique_name("z")
    names.merge(other)
    assert "z" in names.used_names


def test_insert_and_replace(traced, net):
    graph = traced.graph
    tanh = one(graph, "tanh_out")
    with graph.insert_exprs():
        new = F.relu(tanh)[:, :2] + 1
        shape = new.shape
    assert isinstance(new, node.TensorNode) and shape.expr.opdef is not None
    assert graph._exprs.index(new.expr) > graph._exprs.index(tanh.expr)
    graph.replace_node({tanh: new})
    assert one(graph, "mul_out").expr.inputs == [new]
    x = image(1)
    assert_equal(traced(x), (F.relu(F.tanh(net.e(net.a(x))))[:, :2] + 1) * 2 + net.bias)
    ids = {each: each._id for each in graph.exprs()}
    graph.compile()
    assert shape not in graph.nodes().as_list()
    assert all(each._id == ids[each] for each in graph.exprs())
    flat = traced.flatten().graph
    assert [each._id for each in flat.exprs()] == list(range(flat.exprs().as_count()))


def test_position_of_inserted_nodes(traced):
    graph = traced.graph
    a_out, tanh = one(graph, "a_out"), one(graph, "tanh_out")
    with graph.insert_exprs(tanh.expr):
        late = F.relu(a_out)
    with graph.insert_exprs():
        early = F.relu(a_out)
    places = [graph._exprs.index(each.expr) for each in (a_out, early, tanh, late)]
    assert places == sorted(places) and places[1] == places[0] + 1
    with graph.insert_exprs(graph.inputs[0].expr):
        first = graph.inputs[1] * 2
    assert graph._exprs[0] is first.expr
    graph.replace_node({graph.inputs[1]: late})  # behind what used it: moved, or a circle
    with pytest.raises(AssertionError, match="not an expression of"):
        graph.insert_exprs(traced.a.graph._exprs[0])


def test_cycle_is_refused(traced):
    graph = traced.graph
    a_out, tanh = one(graph, "a_out"), one(graph, "tanh_out")
    a_out.expr.replace_inputs({graph.inputs[1]: tanh})
    with pytest.raises(RuntimeError, match="depend on itself"):
        graph.replace_node({graph.outputs[0]: tanh})


def test_modules_are_inserted(traced, net):
    traced.scale = mge.Parameter([3.0])
    traced.act = M.Sigmoid()
    traced.extra = M.Sequential(M.ReLU(), M.Conv2d(3, 5, 1))
    graph = traced.graph
    with graph.insert_exprs():
        this = graph.inputs[0]
        result = this.extra(this.act(graph.outputs[0]) * this.scale)
        again = this.a(graph.inputs[1])
        with pytest.raises(AttributeError, match="nosuch"):
            _ = this.nosuch
    graph.reset_outputs([result, again])
    graph.compile()
    assert isinstance(traced.extra, TracedModule)
    x = image(1)
    got, other = traced(x)
    extra = vars(traced.extra)["1"]
    assert_equal(got, extra(F.relu(F.sigmoid(net(x)) * 3)))
    assert_equal(other, net.a(x))
    assert_equal(copy.deepcopy(traced).flatten()(x)[0], got)


def test_modules_are_inserted_below_inner_modules(traced, net):
    x = image()
    traced.a.inner, traced.e.again = Stage(), Stage()
    traced.e.shared = traced.e.again
    graph = traced.graph
    (out,) = graph.outputs
    with graph.insert_exprs():
        y = graph.inputs[0].a.inner(out)
        y = graph.inputs[0].e.again(y)
        y = graph.inputs[0].e.shared(y)
    want = traced.e.again(traced.e.again(traced.a.inner(net(x))))
    graph.replace_node({out: y})
    assert_equal(traced(x), want)
    for part in (traced.a.inner, traced.e.again):
        assert isinstance(part, TracedModule) and part.graph is not None
    assert traced.e.shared is traced.e.again
    assert_equal(copy.deepcopy(traced)(x), want)


def test_a_failed_insertion_leaves_no_trace(traced):
    before = str(traced.graph)
    with pytest.raises(ZeroDivisionError), traced.graph.insert_exprs():
        F.relu(traced.graph.outputs[0])
        1 / 0  # noqa: B018
    with pytest.raises(AssertionError, match="not a node of"), traced.graph.insert_exprs():
        F.relu(traced.a.graph.outputs[0])
    assert str(traced.graph) == before
    with pytest.raises(TypeError, match="insert_exprs"):
        traced.graph.outputs[0] + 1
    with pytest.raises(TypeError, match="insert_exprs"):
        one(traced.graph, "a")(image())


def test_inputs_are_added(traced, net):
    graph = traced.graph
    new = graph.add_input_node((2, 3, 4, 4), name="new")
    mul = one(graph, "mul_out")
    with graph.insert_exprs(mul.expr):
        added = mul + new
    graph.replace_node({mul: added})
    assert [str(each) for each in graph.inputs] == [
        "self",
        "x",
        "new",
    ] and new.qualname == "Net.[new]"
    x, y = image(1), image(2)
    assert_equal(traced(x, y), F.tanh(net.e(net.a(x))) * 2 + y + net.bias)
    assert_equal(graph.eval(x, y)[0], traced(x, y))
    with pytest.raises(AssertionError, match="traced with"):
        traced(x)


def test_inputs_are_reset(traced, net):
    graph = traced.graph
    old = graph.inputs[1]
    first, second = graph.reset_inputs(image(), {"q": image()})
    graph.replace_node({old: second})
    assert first.name == "args" and second.name == "args_1"
    assert_equal(traced(image(1), {"q": image(2)}), net(image(2)))


def test_outputs_are_set_and_added(traced, net):
    graph = traced.graph
    mul = one(graph, "mul_out")
    x = image(1)
    want = F.tanh(net.e(net.a(x))) * 2
    graph.add_output_node(mul)
    first, second = traced(x)
    assert_equal(first, net(x))
    assert_equal(second, want)
    graph.add_output_node(one(graph, "a_out"))
    (first, second), third = traced(x)
    assert_equal(third, net.a(x))
    graph.reset_outputs({"k": [mul]})
    graph.compile()
    assert_equal(traced(x)["k"][0], want)
    assert "bias" not in [each.name for each in graph.nodes()]
    for wrong in (5, {"a": 5}, traced.a.graph.outputs[0]):
        with pytest.raises(AssertionError, match="reset_outputs"):
            graph.reset_outputs(wrong)


def test_only_the_whole_has_inputs_and_outputs_to_set(traced):
    inner = traced.a.graph
    for call in (
        lambda: inner.add_input_node((2,)),
        lambda: inner.add_output_node(inner.outputs[0]),
        lambda: inner.reset_outputs(inner.outputs[0]),
        lambda: inner.reset_inputs(image()),
    ):
        with pytest.raises(AssertionError, match="whole traced module"):
            call()
    with pytest.raises(AssertionError, match="another graph"):
        traced.graph.replace_node({traced.graph.outputs[0]: inner.outputs[0]})


def test_inner_graphs_are_edited(traced, net):
    inner = traced.a.graph
    (conv,) = inner.get_node_by_name("c_out").as_list()
    with inner.insert_exprs():
        doubled = conv * 2
    inner.replace_node({conv: doubled})
    x = image(1)
    assert_equal(traced(x), F.tanh(net.e(F.relu(net.a.c(x) * 2))) * 2 + net.bias)


def test_unused_nodes_are_removed_by_default(traced):
    graph = traced.graph
    with graph.insert_exprs():
        kept, removed = F.exp(graph.inputs[1]), F.sin(graph.inputs[1])
    kept.expr.disable_remove()
    graph.compile()
    assert graph.get_function_by_type(F.exp).as_count() == 1
    assert graph.get_function_by_type(F.sin).as_count() == 0 and removed.top_graph is not None
    kept.expr.enable_remove()
    graph.compile()
    assert graph.get_function_by_type(F.exp).as_count() == 0


def test_watch_points(traced, net):
    mul, conv = one(traced.graph, "mul_out"), traced.a.graph.outputs[0]
    traced.set_watch_points([mul, conv])
    x = image(1)
    assert_equal(traced(x), net(x))
    assert_equal(traced.watch_node_value[conv], net.a(x))
    assert_equal(traced.watch_node_value[mul], F.tanh(net.e(net.a(x))) * 2)
    assert len(list(traced.buffers())) == 0
    traced.clear_watch_points()
    traced(x)
    assert traced.watch_node_value == {}
    with pytest.raises(AssertionError, match="nodes are expected"):
        traced.set_watch_points(5)


def test_end_points(traced, net):
    mul, inner = one(traced.graph, "mul_out"), traced.e.graph.outputs[0]
    x = image(1)
    traced.set_end_points([mul])
    (got,) = traced(x)
    assert_equal(got, F.tanh(net.e(net.a(x))) * 2)
    with GradManager().attach(traced.a.parameters()) as manager:
        manager.backward(traced(x)[0].sum())
    assert traced.a.c.weight.grad is not None
    traced.set_end_points([inner, mul])
    got = traced(x)
    assert_equal(got[0], net.e(net.a(x)))
    assert_equal(got[1], F.tanh(net.e(net.a(x))) * 2)
    traced.clear_end_points()
    assert_equal(traced(x), net(x))
    with pytest.raises(AssertionError, match="not a node of this module"):
        traced.set_end_points(trace_module(net, image()).graph.outputs)


def test_copies_are_independent(traced, net):
    other = copy.deepcopy(traced)
    assert str(other.graph) == str(traced.graph) and other.graph is not traced.graph
    assert other.graph.top_graph is None and other.a.graph.top_graph is other.graph
    other.bias[...] = 5
    mul = one(other.graph, "mul_out")
    with other.graph.insert_exprs():
        other.graph.reset_outputs(mul + 1)
    assert_equal(traced(image()), net(image()))


class Named(M.Module):
    def forward(self, x):
        y = x + 1
        y.name = "one_more"
        z = y + 2
        z.name = "no identifier"
        return z


def test_names_of_inserted_modules_are_kept(traced, net):
    traced.named = Named()
    out = traced.graph.outputs[0]
    with traced.graph.insert_exprs():
        y = traced.graph.inputs[0].named(out)
    traced.graph.replace_node({out: y})
    traced.graph.compile()
    assert "one_more" in traced.named.graph._namespace.used_names
    assert "no identifier" not in traced.named.graph._namespace.used_names
    assert one(traced.named.graph, "one_more").users
    assert_equal(traced(image()), net(image()) + 3)


def test_part_is_copied_without_the_rest(traced, net):
    part = copy.deepcopy(traced.a)
    assert part.graph.top_graph is None
    assert [each.owner for each in part.graph.get_module_by_type(M.Conv2d)] == [part.c]
    assert_equal(part(image()), net.a(image()))


def test_nodes_have_qparams_and_nothing_else(traced):
    node = traced.graph.outputs[0]
    assert node.qparams is None
    node.qparams = create_qparams(dtype_meta="qint8", scale=mge.Tensor(0.5))
    assert copy.deepcopy(traced).graph.outputs[0].qparams == node.qparams
    with pytest.raises(TypeError, match="QParams"):
        node.qparams = {"scale": 1}
    with pytest.raises(mge.NotAvailableError, match="QATModules"):
        TracedModule(True, {}, {}, is_qat=True)


def test_expressions_are_inserted_at_an_expression(traced, net):
    expected = net(image())
    (tanh,) = traced.graph.get_function_by_type(F.tanh).as_list()
    flat = traced.flatten()
    assert all(node.top_graph is flat.graph for node in flat.graph.nodes())
    calls = traced.graph.get_method_by_type("__call__").as_list()
    (conv,) = (call for call in calls if call.inputs[0].qualname == "Net.a.c")
    inner = conv.top_graph
    assert inner is traced.a.graph
    with inner.insert_exprs():
        y = F.neg(F.neg(conv.outputs[0]))
    inner.replace_node({conv.outputs[0]: y})
    inner.compile()
    assert inner.get_function_by_type(F.neg).as_count() == 2 and tanh.top_graph is traced.graph
    assert_equal(traced(image()), expected)


def test_only_later_nodes_use_a_new_node():
    class Net(M.Module):
        def forward(self, x):
            y = F.exp(x)
            return F.sin(y), F.cos(y)

    traced = trace_module(Net(), mge.Tensor([1.0]))
    graph = traced.graph
    sin = graph.get_function_by_type(F.sin).as_unique()
    with graph.insert_exprs(sin):
        doubled = sin.inputs[0] * 2
    graph.replace_node({sin.inputs[0]: doubled})
    y = np.exp(np.float32(1))
    np.testing.assert_allclose(
        [v.item() for v in traced(mge.Tensor([1.0]))], [np.sin(y), np.cos(2 * y)], 1e-5
    )
    with pytest.raises(AssertionError, match="is a ModuleNode"):
        graph.replace_node({graph.inputs[0]: doubled})


def test_an_error_in_a_property_of_a_node_is_not_hidden(monkeypatch):
    traced = trace_module(M.Sequential(M.ReLU()), mge.Tensor([1.0]))
    graph, node = traced.graph, traced.graph.inputs[0]
    failing = property(lambda node: node.users.missing)
    monkeypatch.setattr(type(node), "failing", failing, raising=False)
    with pytest.raises(AttributeError, match="'list' .* 'missing'"):
        print(node.failing)
    with graph.insert_exprs(), pytest.raises(AttributeError, match="'list' .* 'missing'"):
        print(node.failing)


def test_flattened_values_round_trip():
    x = mge.Tensor([1.0])
    for value in (3, (1, x), {"a": [x, None], "b": slice(1, 2)}):
        leaves, structure = T.pytree.tree_flatten(value)
        assert len(leaves) == structure.num_leaves and structure.unflatten(leaves) == value


def test_operators_have_named_arguments():
    traced = trace_module(Powers(), mge.Tensor([1.0, 2.0]))
    calls = [line for line in traced.graph._exprs if isinstance(line, T.expr.CallMethod)]
    power = next(call for call in calls if call.method == "__pow__")
    x = traced.graph.inputs[1]
    assert power.args == (x, 2) and power.named_args == {"self": x, "value": 2}
    power.set_arg("value", 3)
    assert power.args == (x, 3)
    item = next(call for call in calls if call.method == "__getitem__")
    assert list(item.named_args) == ["self", "index"]


def test_patched_operators_are_recorded_as_they_are(monkeypatch):
    for name in ("__pow__", "__rpow__", "__ipow__"):
        original = getattr(mge.Tensor, name)
        wrapper = functools.wraps(original)(lambda *args, _original=original: _original(*args))
        monkeypatch.setattr(mge.Tensor, name, wrapper)
    traced = trace_module(Powers(), mge.Tensor([1.0, 2.0]))
    calls = [line for line in traced.graph._exprs if "pow" in getattr(line, "method", "")]
    assert [call.args[1:] for call in calls] == [(2,), (2,), (2,)]


class Powers(M.Module):
    def forward(self, x):
        y = x + 0
        y **= 2
        return x**2 + 2**x + y[0]


def test_users_count_each_input():
    class Twice(M.Module):
        def forward(self, x):
            y = x * x
            return F.concat([y, y])

    traced = trace_module(Twice(), image())
    graph = traced.graph
    x, (product, joined) = graph.inputs[1], graph._exprs
    (y,) = product.outputs
    assert x.users == [product, product] and y.users == [joined, joined]
    with graph.insert_exprs():
        z = F.relu(y)
    graph.replace_node({y: z})
    assert y.users == [z.expr] and z.users == [joined, joined]


def test_signatures_are_of_the_whole_module():
    class Outer(M.Module):
        def __init__(self, inner):
            super().__init__()
            self.inner = inner

        def forward(self, x):
            return self.inner(x)

    inner = trace_module(M.Sequential(M.ReLU()), image())
    outer = trace_module(Outer(inner), image())
    assert list(inner.argspec.parameters) == ["self", "inp"]
    assert list(outer.argspec.parameters) == ["self", "x"]
    assert outer.inner.argspec is None and not outer.inner._is_top
    assert get_subattr(outer, "") is outer


def test_a_normalisation_moves_into_its_convolution():
    """As MegEngine's guide to traced modules fuses them."""
    net = M.Sequential(M.Conv2d(3, 4, 3, bias=False), M.BatchNorm2d(4), M.ReLU())
    net(image())
    net.eval()
    want = net(image()).numpy()
    traced = trace_module(net, image())
    (conv_node,) = traced.graph.get_module_by_type(M.Conv2d)
    (call,) = conv_node.users
    (bn_call,) = call.outputs[0].users
    conv, bn = conv_node.owner, bn_call.inputs[0].owner
    folding = QAT.ConvBn2d.from_float_module(M.ConvBn2d(3, 4, 3))
    folding.conv, folding.bn = conv, bn
    folded = M.Conv2d(3, 4, conv.kernel_size, name=conv.name)
    folded.weight, folded.bias = folding.fold_weight_bias(bn.running_mean, bn.running_var)
    graph = conv_node.top_graph
    setattr(graph.inputs[0].owner, conv._name, folded)
    with graph.insert_exprs():
        result = getattr(graph.inputs[0], conv._name)(call.inputs[1])
    graph.replace_node({bn_call.outputs[0]: result})
    graph.compile()
    assert graph.get_module_by_type(M.BatchNorm2d).as_count() == 0
    np.testing.assert_allclose(traced(image()).numpy(), want, 1e-4, 1e-5)
