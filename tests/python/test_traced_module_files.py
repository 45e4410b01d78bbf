# SPDX-License-Identifier: Apache-2.0
"""Traced modules in files: this package's, MegEngine's, and damaged ones.

``tests/data/traced_modules`` describes the origin of its files.
"""

import copy
import copyreg
import io
import pickle
import random
import warnings
from pathlib import Path

import numpy as np
import pytest

import megengine as mge
import megengine.functional as F
import megengine.module as M
import megengine.traced_module as T
from megengine.core._imperative_rt.core2 import apply
from megengine.core.ops.builtin import Elemwise
from megengine.traced_module import flat_state, module_state, serialization, trace_module
from megengine.traced_module.expr import CallMethod, Constant
from megengine.traced_module.node import TensorNode

DATA = Path(__file__).resolve().parents[1] / "data"
FILES = DATA / "traced_modules"


def image(seed=0):
    values = np.random.default_rng(seed).standard_normal((2, 3, 4, 4))
    return mge.Tensor(values.astype("float32"))


class Net(M.Module):
    def __init__(self):
        super().__init__()
        self.parts = [M.Sequential(M.Conv2d(3, 3, 1), M.BatchNorm2d(3)), M.ReLU()]
        self.scale = mge.Parameter([2.0])

    def forward(self, x, power=2, *, flag=True):
        y = self.parts[1](self.parts[0](x)) * self.scale
        z = y.reshape(y.shape[0], -1)[:, None, ..., 1:3] ** power
        return {
            "y": [y, F.full((2,), 1.5)],
            "z": (z.to("cpu0"), x.astype("float16"), mge.Tensor(K)),
        }


K = np.array([1.0, 2.0], np.float32)


def stored(module) -> bytes:
    file = io.BytesIO()
    mge.save(module, file)
    return file.getvalue()


def loaded(content: bytes, **options):
    return mge.load(io.BytesIO(content), **options)


def leaves(value):
    if isinstance(value, mge.Tensor):
        return [value.numpy()]
    parts = [value[key] for key in sorted(value)] if isinstance(value, dict) else value
    return [leaf for part in parts for leaf in leaves(part)]


def assert_agree(one, other):
    for a, b in zip(leaves(one), leaves(other), strict=True):
        np.testing.assert_allclose(a.astype("f4"), b.astype("f4"), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("weights_only", [False, True])
def test_round_trip(weights_only):
    net = Net()
    net.eval()
    traced = trace_module(net, image(), 3)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # a traced module is plain data
        found = loaded(stored(traced), weights_only=weights_only)
    assert str(found.graph) == str(traced.graph) and repr(found) == repr(traced)
    assert_agree(found(image(1), power=3), net(image(1), 3))
    assert [node.owner for node in found.graph.get_module_by_type(M.Conv2d)] == [
        vars(vars(found.parts)["0"])["0"]
    ]
    with found.graph.insert_exprs():
        more = found.graph.outputs[0] * 2
    found.graph.reset_outputs(more)
    assert_agree(found(image(1), 3), net(image(1), 3)["y"][0] * 2)


def test_long_graphs_are_stored():
    class Long(M.Module):
        def forward(self, x):
            for _ in range(600):
                x = x + 1
            return x

    traced = trace_module(Long(), mge.Tensor([1.0]))
    assert loaded(stored(traced), weights_only=True)(mge.Tensor([0.0])).item() == 600
    assert copy.deepcopy(traced)(mge.Tensor([0.0])).item() == 600


@T.wrap
def own_function(x):
    return x * 2


def test_own_functions_are_found_by_name():
    class Own(M.Module):
        def forward(self, x):
            return own_function(x)

    content = stored(trace_module(Own(), image()))
    assert_agree(loaded(content, weights_only=True)(image()), image() * 2)
    missing = content.replace(b"own_function", b"own_functiom")
    with pytest.raises(AttributeError, match=r"test_traced_module_files.own_functiom is not there"):
        loaded(missing)
    with pytest.raises(pickle.UnpicklingError, match="own_functiom, which is not among"):
        loaded(missing, weights_only=True)


class Both:
    def __init__(self, a, b):
        self.a, self.b = a, b


T.register_supported_type(Both, lambda x: ([x.a, x.b], None), lambda parts, _: Both(*parts))


def test_own_containers_are_found_by_name():
    class Swap(M.Module):
        def forward(self, x):
            return Both(x.b * 2, x.a)

    content = stored(trace_module(Swap(), Both(image(), image(1))))
    with pytest.warns(UserWarning, match="Both"):
        found = loaded(content)(Both(image(2), image(3)))
    assert_agree([found.a, found.b], [image(3) * 2, image(2)])
    with pytest.raises(pickle.UnpicklingError, match="Both"):
        loaded(content, weights_only=True)


def test_random_numbers_are_not_plain_data():
    class Noise(M.Module):
        def forward(self, x):
            return x + mge.random.normal(size=(4,))

    content = stored(trace_module(Noise(), image()))
    with pytest.warns(UserWarning, match="rng.RNG"):
        assert loaded(content)(image()).shape == (2, 3, 4, 4)
    with pytest.raises(pickle.UnpicklingError, match="rng.RNG"):
        loaded(content, weights_only=True)


@pytest.mark.parametrize("weights_only", [False, True])
def test_a_file_of_megengine(weights_only):
    with np.load(FILES / "kinds.npz") as arrays:
        x = arrays["x"]
        want = [arrays[f"out_{k}"] for k in range(len(arrays) - 1)]
    found = mge.load(FILES / "kinds.tm", weights_only=weights_only)
    assert str(found.graph) == (FILES / "kinds.txt").read_text()
    got = found(mge.Tensor(x), scale=3.0)
    assert sorted(got) == ["rest", "w", "y", "z"] and isinstance(got["rest"], tuple)
    flat = [got["y"], *got["z"], got["w"], *got["rest"]]
    for one, other in zip(flat, want, strict=True):
        np.testing.assert_allclose(one.numpy(), other, rtol=1e-5, atol=1e-5)
    with pytest.raises(AssertionError, match=r"Tensor, 3.0, flag=True\).*Tensor, 2.0"):
        found(mge.Tensor(x))
    again = loaded(stored(found), weights_only=True)
    assert str(again.graph) == str(found.graph)
    assert_agree(again(mge.Tensor(x), 3.0), got)


def test_random_numbers_of_megengine_are_redrawn():
    found = mge.load(FILES / "random.tm", weights_only=True)
    assert "GaussianRNG(" in str(found.graph) and "UniformRNG(" in str(found.graph)
    one, other = found(image()).numpy(), found(image()).numpy()
    assert one.shape == (1000,) and 0.9 < one.max() - one.min() <= 1 and (one != other).any()
    assert_agree(loaded(stored(found), weights_only=True)(image()) * 0, found(image()) * 0)


def test_a_transformer_of_megengine():
    found = mge.load(FILES / "bert.tm", weights_only=True)
    with np.load(DATA / "megengine" / "bert.inputs.npz") as given:
        inputs = {name: mge.Tensor(given[name]) for name in given.files}
    with np.load(DATA / "megengine" / "bert.outputs.npz") as results:
        (want,) = (results[name] for name in results.files)
    for each in (found, found.flatten()):
        np.testing.assert_allclose(each(**inputs).numpy(), want, rtol=1e-4, atol=1e-5)


# Changes that files must not contain.


def changed(traced, change) -> bytes:
    """The file of a traced module after a change of the tables in it."""
    state = module_state.module_state(traced)
    change(state, state["graphs"][0][2])

    class Changed:
        __class__ = T.TracedModule

        def __reduce_ex__(self, protocol):
            return copyreg.__newobj__, (T.TracedModule,), state

    return pickle.dumps(Changed(), protocol=4)


def row(graph, kind):
    return next(each for each in graph["exprs"] if each["kind"] == kind)


def set_row(kind, key, value):
    return lambda state, graph: row(graph, kind).__setitem__(key, value)


WRONG = {
    "function": (set_row("CallFunction", "function", ["os", "system"]), "os.system"),
    "private": (
        set_row("CallFunction", "function", ["megengine.functional.tensor", "_mge"]),
        "tensor._mge",
    ),
    "settings": (
        set_row(
            "CallFunction",
            "function",
            ["megengine.functional.debug_param", "set_execution_strategy"],
        ),
        "set_execution_strategy, which is not among",
    ),
    "method": (set_row("CallMethod", "method", "__reduce__"), "'__reduce__' is not a method"),
    "module method": (
        set_row("CallMethod", "method", "load_state_dict"),
        "is not a method of a Mod",
    ),
    "inputs": (set_row("CallMethod", "inputs", [999]), "inputs are not earlier nodes"),
    "later inputs": (set_row("GetAttr", "inputs", [5]), "inputs are not earlier nodes"),
    "no inputs": (set_row("CallMethod", "inputs", []), "damaged"),
    "outputs": (set_row("CallMethod", "outputs", [0]), "in no order"),
    "kind": (set_row("CallMethod", "kind", "Evil"), "no expression of the kind 'Evil'"),
    "attribute": (set_row("GetAttr", "name", 5), "name of an attribute"),
    "structure": (set_row("CallMethod", "arguments", ["tree", "set", None, []]), "no container"),
    "constant": (set_row("Constant", "value", 5), "a constant is not a Tensor"),
    "format": (lambda state, graph: graph.__setitem__("format", 99), "format is 99"),
    "no nodes": (lambda state, graph: graph.pop("nodes"), "damaged"),
    "names": (
        lambda state, graph: graph["nodes"][2].__setitem__("name", "x"),
        "name of another node",
    ),
    "no graphs": (lambda state, graph: state.pop("graphs"), "damaged"),
    "signature": (lambda state, graph: state.__setitem__("argspec", [[1]]), "damaged"),
}


@pytest.mark.parametrize("change, text", WRONG.values(), ids=WRONG)
def test_damaged_tables_are_refused(change, text):
    content = changed(trace_module(Net(), image()), change)
    with pytest.raises(pickle.UnpicklingError, match=text):
        loaded(content, weights_only=True)


def test_object_attributes_are_not_module_attributes():
    change = set_row("GetAttr", "name", "__class__.__init__")
    content = changed(trace_module(Net(), image()), change)
    found = loaded(content, weights_only=True)
    with pytest.raises(AttributeError, match="has no '__class__'"):
        found(image())


def test_missing_operators_are_reported():
    content = (FILES / "kinds.tm").read_bytes()
    other = content.replace(b"\x8c\x04Copy", b"\x8c\x04Cosy")
    for weights_only in (False, True):
        with pytest.raises(mge.NotAvailableError, match="operator Cosy"):
            loaded(other, weights_only=weights_only)


@pytest.mark.parametrize("name", ["kinds.tm", "bert.tm"])
def test_damaged_files_of_megengine(name):
    content = (FILES / name).read_bytes()
    chance = random.Random(5)
    for _ in range(20):
        broken = bytearray(content)
        for _ in range(chance.randint(1, 4)):
            broken[chance.randrange(len(broken))] = chance.randrange(256)
        if chance.random() < 0.3:
            del broken[chance.randrange(len(broken)) :]
        try:
            loaded(bytes(broken), weights_only=True)
        except (pickle.UnpicklingError, mge.NotAvailableError):
            pass


# Files of earlier versions.


def test_loaders_upgrade_earlier_versions(monkeypatch):
    class Soft(M.Module):
        def forward(self, x):
            return self.act(F.softmax(x, axis=1).mean(axis=1) * 2)

        def __init__(self):
            super().__init__()
            self.act = M.ReLU()

    seen = []
    for table in ("FUNCTIONAL", "MODULE", "TENSORMETHOD", "OPDEF"):
        monkeypatch.setattr(serialization, f"{table}_LOADER", {})

    @serialization.register_functional_loader(("megengine.functional.nn", "softmax"))
    def load_softmax(call):
        assert call.version == mge.__version__
        call.set_arg("axis", 2)

    @serialization.register_tensor_method_loader("mean", "__mul__")
    def load_method(call):
        seen.append(call.method)

    @serialization.register_module_loader(("megengine.module.activation", "ReLU"))
    def load_relu(call):
        seen.append(call.inputs[0].module_type)

    content = stored(trace_module(Soft(), image()))
    found = loaded(content, weights_only=True)
    assert_agree(found(image()), F.relu(F.softmax(image(), axis=2).mean(axis=1) * 2))
    assert seen == ["mean", "__mul__", M.ReLU]


@pytest.fixture
def no_loaders(monkeypatch):
    for table in ("FUNCTIONAL", "MODULE", "TENSORMETHOD", "OPDEF"):
        monkeypatch.setattr(serialization, f"{table}_LOADER", {})


def converted(node, dtype):
    """A new call of ``astype``; the node that it gives."""
    call = CallMethod(node, "astype")
    result = TensorNode(call, shape=node.shape, dtype=node.dtype, qparams=node.qparams)
    call.set_args_kwargs(node, dtype)
    call.return_val = (result,)
    return result


def check_graph(traced):
    """Ids count from 0, names differ, and users are the expressions that read a node."""
    graph = traced.graph
    assert (
        len({node._name for node in graph.nodes(recursive=False)})
        == graph.nodes(recursive=False).as_count()
    )
    for found, count in (
        (graph.nodes(), graph._total_ids[0]),
        (graph.exprs(), graph._total_ids[1]),
    ):
        ids = [each._id for each in found]
        assert len(set(ids)) == len(ids) and max(ids) + 1 == count
    for node in graph.nodes(recursive=False):
        readers = [expr for expr in graph._exprs for read in expr.inputs if read is node]
        assert sorted(map(id, node.users)) == sorted(map(id, readers))


@pytest.mark.usefixtures("no_loaders")
def test_loader_of_functions_inserts_expressions():
    class Product(M.Module):
        def forward(self, x, y):
            return F.conv2d(x, y)

    @serialization.register_functional_loader(("megengine.functional.nn", "conv2d"))
    def load(call):
        weight = call.named_args["weight"]
        call.set_arg("weight", converted(weight, call.named_args["inp"].dtype))

    x, y = image(), mge.Tensor(np.ones((3, 3, 2, 2), "float32"))
    found = loaded(stored(trace_module(Product(), x, y)))
    assert [type(expr).__name__ for expr in found.graph._exprs] == ["CallMethod", "CallFunction"]
    assert_agree(found(x, y), F.conv2d(x, y))
    check_graph(found)


@pytest.mark.usefixtures("no_loaders")
def test_loader_of_methods_inserts_expressions():
    class Sum(M.Module):
        def forward(self, x):
            return x + 1

    @serialization.register_tensor_method_loader("__add__")
    def load(call):
        first, second = call.args
        if isinstance(second, TensorNode):
            return
        one = converted(Constant(mge.Tensor(second), "one").outputs[0], first.dtype)
        double = CallMethod(one, "__add__")
        double.set_args_kwargs(one, one)
        double.return_val = TensorNode(double, shape=one.shape, dtype=one.dtype)
        call.set_args_kwargs(first, double.return_val)

    found = loaded(stored(trace_module(Sum(), image())))
    kinds = ["Constant", "CallMethod", "CallMethod", "CallMethod"]
    assert [type(expr).__name__ for expr in found.graph._exprs] == kinds
    assert_agree(found(image()), image() + 2)
    check_graph(found)


@pytest.mark.usefixtures("no_loaders")
def test_loader_of_modules_reads_the_module():
    @serialization.register_module_loader(("megengine.module.conv", "Conv2d"))
    def load(call):
        module, x = call.args
        call.set_args_kwargs(module, converted(x, module.owner.weight.dtype))

    net = M.Sequential(M.Sequential(M.Conv2d(3, 3, 1)), M.ReLU())
    found = loaded(stored(trace_module(net, image())))
    inner = next(expr.graph for expr in found.graph._exprs if getattr(expr, "graph", None))
    assert [type(e).__name__ for e in inner._exprs] == ["GetAttr", "CallMethod", "CallMethod"]
    assert_agree(found(image()), net(image()))
    check_graph(found)


@pytest.mark.usefixtures("no_loaders")
def test_loader_of_operators_changes_parameters():
    class Sum(M.Module):
        def forward(self, x, y):
            return apply(Elemwise("ADD"), x, y)[0]

    @serialization.register_opdef_loader(Elemwise)
    def load(call):
        if call.opdef_state["mode"] == "ADD":
            call.opdef_state["mode"] = "MUL"
            call.inputs[1] = converted(call.inputs[1], call.inputs[0].dtype)

    x, y = image(), image(1)
    found = loaded(stored(trace_module(Sum(), x, y)))
    assert found.graph._exprs[1].opdef == Elemwise("MUL")
    assert_agree(found(x, y), x * y)
    check_graph(found)
    assert found.flatten().graph._exprs[1].opdef == Elemwise("MUL")


def test_structures_are_data():
    values = [
        ((), {}),
        ([1, 2.5, "a", None, ...], {"b": slice(1, None), "a": (True, np.float32)}),
        {"k": np.arange(3), "d": np.dtype("int8")},
    ]
    for value in values:
        structure = T.traced_module.tree_flatten(value)[1]
        again = flat_state.decoded(pickle.loads(pickle.dumps(flat_state.encoded(structure))))
        assert again == structure and repr(again) == repr(structure)
        assert hash(again) == hash(structure)
