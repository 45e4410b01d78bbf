# SPDX-License-Identifier: Apache-2.0
"""Network: loading, looking, changing and dumping, method by method, with what each refuses."""

import io
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from network_samples import dumped, run, small, sums

import megengine as mge
import megengine.functional as F
import megengine.module as M
from megengine.core._trace_option import use_symbolic_shape
from megengine.files.plain_pickle import UnsafePickleError
from megengine.jit import trace
from megengine.utils import network_node as nodes
from megengine.utils.comp_graph_tools import GraphInference
from megengine.utils.network import (
    Network,
    NodeFilter,
    NodeFilterName,
    as_oprnode,
    as_varnode,
    set_symbolic_shape,
)

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("MGE_BUILD_DIR", ROOT / "build/release")).resolve()


def names(found):
    return [node.name for node in found]


def test_importing_megengine_does_not_import_networks():
    code = "import sys, megengine; assert not [m for m in sys.modules if 'network' in m]"
    subprocess.run([sys.executable, "-c", code], check=True)
    code = (
        "import megengine; assert megengine.cgtools.__name__ == 'megengine.utils.comp_graph_tools'"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


# Loading.


def test_load_accepts_paths_and_file_objects(tmp_path):
    _, data, _ = small()
    path = tmp_path / "net.mge"
    path.write_bytes(data)
    with open(path, "rb") as file:
        loaded = [Network.load(path), Network.load(str(path)), Network.load(file)]
    for net in [*loaded, Network.load(io.BytesIO(data))]:
        assert names(net.input_vars) == ["data"]
        assert names(net.dest_vars) == ["prob"]
        assert net.dest_vars[0].shape == (2, 5)


def test_file_names_that_are_not_utf8(tmp_path):
    _, data, _ = small()
    path = os.path.join(os.fsencode(tmp_path), b"net\xff.mge")
    with open(path, "wb") as file:
        file.write(data)
    with open(os.fsdecode(path), "rb") as file:
        for form in (path, os.fsdecode(path), file):
            assert names(Network.load(form).dest_vars) == ["prob"]
    with open(path, "wb") as file:
        file.write(data[:-1])
    with pytest.raises(RuntimeError, match=r"net\\udcff\.mge"):
        Network.load(path)


def test_trailing_bytes_in_a_file_object_are_ignored():
    file = io.BytesIO(small()[1])
    sums().dump(file)
    assert len(file.getvalue()) == len(small()[1])
    file.seek(0)
    assert names(Network.load(file).dest_vars) == ["o"]


def test_load_names_the_damaged_part(tmp_path):
    with pytest.raises(RuntimeError, match="file object"):
        Network.load(io.BytesIO(b"no model"))
    with pytest.raises(FileNotFoundError):
        Network.load(tmp_path / "nothing")


@pytest.fixture
def sealed(tmp_path):
    """A model that mge-crypt has encrypted by the key 0, 1, 2, …"""
    key, plain, sealed = (tmp_path / name for name in ("key", "plain.mge", "sealed.mge"))
    key.write_bytes(bytes(range(32)))
    key.chmod(0o600)
    plain.write_bytes(small()[1])
    tool = BUILD / "bin/mge-crypt"
    subprocess.run([tool, "encrypt", plain, sealed, "--key-file", key], check=True)
    return sealed


def test_load_opens_encrypted_models_with_their_key(sealed):
    key = bytes(range(32))
    _, data, x = small()
    expected = run(Network.load(io.BytesIO(data)), x)["prob"]
    content = sealed.read_bytes()
    for model in (sealed, str(sealed), io.BytesIO(content)):
        got = run(Network.load(model, key=key), x)["prob"]
        np.testing.assert_array_equal(got, expected)
    for key, words in ((bytes(32), "wrong key"), (None, "needs a key"), (b"short", "has 32 bytes")):
        for model in (sealed, io.BytesIO(content)):
            with pytest.raises(RuntimeError, match=words):
                Network.load(model, key=key)
    with pytest.raises(TypeError):
        Network.load(sealed, key="text")
    # A plain model cannot replace it.
    for model in (sealed.parent / "plain.mge", io.BytesIO(data)):
        with pytest.raises(RuntimeError, match="is not encrypted, although"):
            Network.load(model, key=bytes(range(32)))


def test_load_with_other_outputs():
    net = Network.load(io.BytesIO(small()[1]), outspec=["data", "prob"])
    assert names(net.dest_vars) == ["data", "prob"]
    with pytest.raises(AssertionError, match="no variables \\['nothing'\\]"):
        Network.load(io.BytesIO(small()[1]), outspec=["nothing"])


def test_metadata_round_trips():
    net = sums()
    assert net.metadata == {
        "user_info": None,
        "graph_modified": False,
        "optimized_for_inference": True,
        "enable_fuse_grain": True,
    }
    file = io.BytesIO()
    net.dump(file, user_info={"made": ["by", 1]}, enable_nchw88=True)
    again = Network.load(io.BytesIO(file.getvalue()))
    assert again.metadata == {
        "user_info": {"made": ["by", 1]},
        "graph_modified": True,
        "optimized_for_inference": True,
        "enable_fuse_grain": True,
        "enable_nchw88": True,
    }
    file = io.BytesIO()
    net.dump(file, user_info={"base": M.Module, "t": mge.Tensor([1])}, enable_fuse_grain=False)
    again = Network.load(io.BytesIO(file.getvalue())).metadata
    assert again["user_info"]["base"] is M.Module and again["user_info"]["t"].item() == 1
    assert again["optimized_for_inference"] is False and "enable_fuse_grain" not in again
    file = io.BytesIO()
    net.dump(file, enable_metadata=False)
    assert Network.load(io.BytesIO(file.getvalue())).metadata is None
    assert Network().metadata["graph_modified"] is False


def test_user_info_of_a_stranger_is_not_run():
    file = io.BytesIO()
    sums().dump(file, user_info=subprocess.Popen)
    net = Network.load(io.BytesIO(file.getvalue()))
    with pytest.raises(UnsafePickleError, match="user_info of the model"):
        net.metadata  # noqa: B018


# Looking.


def test_all_operators_and_variables_in_order():
    net = sums()
    assert names(net.all_oprs) == ["a", "b", "ADD", "constant#0", "o"]
    assert names(net.all_vars) == ["a", "b", "ADD", "constant#0", "o"]
    assert list(net.all_oprs_dict) == names(net.all_oprs)
    assert net.all_vars_dict["o"] is net.dest_vars[0]
    assert net.all_oprs_map == {opr.id: opr for opr in net.all_oprs}
    assert list(net.all_vars_map) == [var.id for var in net.all_vars]
    assert repr(net.all_oprs) == (
        "[a{Host2DeviceCopy}, b{Host2DeviceCopy}, ADD{Elemwise:ADD}, "
        "constant#0{ImmutableTensor}, o{Elemwise:MUL}]"
    )
    assert repr(net.dest_vars) == "[VarNode:o]"


def test_unused_operators_are_not_seen():
    net = sums()
    a = net.get_var_by_name("a")
    F.relu(a)
    assert net.opr_filter.as_count() == 5
    net.remove_output(*net.dest_vars)
    assert net.all_oprs == [] and net.all_vars == []


def test_filters_choose_step_by_step():
    net = sums()
    assert names(net.opr_filter.type(nodes.Elemwise)) == ["ADD", "o"]
    assert names(net.opr_filter.not_type(nodes.Elemwise)) == ["a", "b", "constant#0"]
    assert names(net.opr_filter.check_type(nodes.OpNode)) == names(net.all_oprs)
    assert names(net.params_filter) == ["constant#0"]
    assert names(net.data_providers_filter) == ["a", "b"]
    a = net.get_var_by_name("a")
    assert names(net.opr_filter.has_input(a)) == ["ADD"]
    assert names(net.get_var_receive_oprs(a)) == ["ADD"]
    assert names(net.opr_filter.type(nodes.Elemwise).has_input(a).name("add*")) == ["ADD"]
    assert names(NodeFilter.make_all_deps(a)) == ["a"]
    assert net.opr_filter.as_count() == 5
    assert list(net.var_filter.as_dict()) == names(net.all_vars)
    assert net.opr_filter.name("o").as_unique() is net.dest_vars[0].owner


def test_names_match_as_globs_or_regular_expressions():
    net = sums()
    assert names(net.var_filter.name("A*")) == ["a", "ADD"]
    assert names(net.var_filter.name("A*", ignorecase=False)) == ["ADD"]
    assert names(net.var_filter.name("~[ab]")) == ["a", "b"]
    assert NodeFilterName.make_re("~x").fullmatch("X")
    with pytest.raises(TypeError, match="pattern of a name is a string, got 3"):
        net.var_filter.name(3)


def test_filters_name_expected_values():
    net = sums()
    with pytest.raises(ValueError, match="exactly one node, there are 5"):
        net.opr_filter.as_unique()
    with pytest.raises(ValueError, match="exactly one node, there are 0"):
        net.opr_filter.name("nothing").as_unique()
    with pytest.raises(TypeError, match="class of network_node, got 'Elemwise'"):
        net.opr_filter.type("Elemwise")
    with pytest.raises(TypeError, match="expected nodes of type Elemwise, got a{Host2DeviceCopy}"):
        net.opr_filter.check_type(nodes.Elemwise).as_list()
    with pytest.raises(TypeError, match="takes a VarNode, got int"):
        net.opr_filter.has_input(3)
    with pytest.raises(TypeError, match="has_input takes a VarNode"):
        net.opr_filter.has_input(F.topk(net.dest_vars[0], 1)[0].owner)
    with pytest.raises(TypeError, match="chooses among operators, got VarNode:a"):
        net.var_filter.has_input(net.dest_vars[0]).as_list()


def test_get_by_name_and_type():
    net = sums()
    assert net.get_var_by_name("o") is net.dest_vars[0]
    assert net.get_opr_by_name("o") is net.dest_vars[0].owner
    assert names(net.get_opr_by_type(nodes.Elemwise, unique=False)) == ["ADD", "o"]
    assert net.get_opr_by_name("nothing", unique=False) == []
    with pytest.raises(AssertionError, match="type Elemwise, the network has 2"):
        net.get_opr_by_type(nodes.Elemwise)
    with pytest.raises(AssertionError, match="operators named 'nothing', the network has 0"):
        net.get_opr_by_name("nothing")
    with pytest.raises(AssertionError, match="variables named '\\*', the network has 5"):
        net.get_var_by_name("*")


def test_dependencies_of_a_variable():
    net = sums()
    assert names(net.get_dep_oprs(net.get_var_by_name("ADD"))) == ["a", "b", "ADD"]


def test_as_varnode_and_as_oprnode():
    net = sums()
    var = net.dest_vars[0]
    assert as_varnode(var) is as_varnode(var.owner) is as_varnode([var]) is var
    assert as_oprnode(var) is as_oprnode(var.owner) is as_oprnode([var]) is var.owner
    with pytest.raises(AssertionError, match="3 is neither a VarNode"):
        as_varnode(3)
    with pytest.raises(AssertionError, match="3 is neither"):
        as_oprnode(3)


def test_symbolic_shapes_are_variables():
    net = sums()
    assert set_symbolic_shape(True) is False
    try:
        assert use_symbolic_shape()
        shape = net.dest_vars[0].shape
    finally:
        assert set_symbolic_shape(False) is True
    assert isinstance(shape, nodes.VarNode)
    assert shape.numpy().tolist() == [2]
    assert net.dest_vars[0].shape == (2,)


# Changing.


def test_outputs_are_added_and_removed(capfd):
    net = sums()
    total = net.get_var_by_name("ADD")
    total.name = "total"
    net.add_output(total, total)
    assert names(net.dest_vars) == ["o", "total"]
    got = run(net, [1, 2], [3, 4])
    assert got["o"].tolist() == [8, 12] and got["total"].tolist() == [4, 6]
    net.remove_output(net.get_var_by_name("o"))
    assert names(net.dest_vars) == ["total"]
    net.remove_output(net.get_var_by_name("a"))
    assert "a is not an output" in capfd.readouterr().err
    with pytest.raises(AssertionError, match="3 is neither a VarNode"):
        net.add_output(3)


def test_two_outputs_with_one_name_cannot_be_dumped():
    net = sums()
    other = net.get_var_by_name("a") * 3
    other.name = "o"
    net.add_output(other)
    with pytest.raises(ValueError, match="names of the outputs have to differ"):
        net.dump(io.BytesIO())


def test_a_network_made_from_nothing():
    net = Network()
    x = net.make_input_node((2, 3), "float32", name="x")
    w = net.make_const(np.eye(3, dtype="float32") * 2, name="w")
    y = F.matmul(x, w) + 1
    y.name = "y"
    net.add_output(y)
    data = np.arange(6, dtype="float32").reshape(2, 3)
    np.testing.assert_array_equal(run(net, data)["y"], data * 2 + 1)
    assert net.make_const(3.0).shape == (1,)
    assert w.owner.numpy().tolist() == (np.eye(3) * 2).tolist()


def test_a_network_without_outputs_cannot_be_dumped():
    with pytest.raises(ValueError, match="add_output gives it some"):
        Network().dump(io.BytesIO())


def test_replace_vars_keeps_dependencies_of_the_new_value():
    net = sums()
    total = net.get_var_by_name("ADD")
    net.replace_vars({total: F.relu(total) * 10})
    assert run(net, [1, -5], [3, 4])["o"].tolist() == [80, 0]


def test_replace_vars_of_an_output_keeps_its_name():
    net = sums()
    out = net.dest_vars[0]
    net.replace_vars({out: out - 1})
    assert names(net.dest_vars) == ["o"]
    assert run(net, [1, 2], [3, 4])["o"].tolist() == [7, 11]


def test_replace_vars_by_variables_of_another_network():
    net, other = sums(), sums()
    net.modify_opr_names("first")
    net.replace_vars({net.get_var_by_name("first.a"): other.dest_vars[0]})
    assert sorted(names(net.input_vars)) == ["a", "b", "first.b"]
    file = io.BytesIO()
    net.dump(file)
    got = GraphInference(io.BytesIO(file.getvalue())).run(
        inp_dict={"a": [1, 2], "b": [3, 4], "first.b": [10, 10]}
    )
    assert got["o"].tolist() == [36, 44]


def test_networks_are_joined_once():
    net, other = sums(), sums()
    net.modify_opr_names("first")
    other.dest_vars[0].name = "between"
    net.add_output(*other.dest_vars)
    net.replace_vars({net.get_var_by_name("first.a"): other.dest_vars[0]})
    assert sorted(names(net.input_vars)) == ["a", "b", "first.b"]
    file = io.BytesIO()
    net.dump(file)
    feeds = {"a": [1, 2], "b": [3, 4], "first.b": [0, 0]}
    got = GraphInference(io.BytesIO(file.getvalue())).run(inp_dict=feeds)
    assert got["between"].tolist() == [8, 12] and got["o"].tolist() == [16, 24]


def test_changed_network_is_copied_again():
    net, other = Network(), sums()
    net.add_output(*other.dest_vars)
    (two,) = other.params_filter
    two.set_value(5)
    other.dest_vars[0].name = "five"
    net.add_output(*other.dest_vars)
    assert names(net.dest_vars) == ["o", "five"]


def test_replace_vars_converts_other_dtypes():
    net = sums()
    net.replace_vars({net.get_var_by_name("b"): net.make_const(np.int32([10, 20]), name="ten")})
    assert run(net, [1, 2])["o"].tolist() == [22, 44]


def test_replace_vars_keeps_fractions_or_refuses():
    traced = trace(lambda a, b: a + b, symbolic=True, capture_as_const=True)
    traced(mge.Tensor([1, 2]), mge.Tensor([3, 4]))
    file = io.BytesIO()
    traced.dump(file, arg_names=["a", "b"], output_names="o", optimize_for_inference=False)
    net = Network.load(io.BytesIO(file.getvalue()))
    b = net.get_var_by_name("b")
    with pytest.raises(ValueError, match="b is int32, half is float32 with fractions"):
        net.replace_vars({b: net.make_const([0.5, 1.0], name="half")})
    with pytest.raises(ValueError, match="convert it with astype"):
        net.replace_vars({b: net.make_input_node((2,), "float32", name="any")})
    net.replace_vars({b: net.make_const([10.0, 20.0], name="whole")})
    assert run(net, [1, 2])["o"].tolist() == [11, 22]


def test_replace_vars_refuses_cycles_and_shapes():
    net = sums()
    a, b, total = (net.get_var_by_name(name) for name in ("a", "b", "ADD"))
    with pytest.raises(ValueError, match="would have to wait for itself"):
        net.replace_vars({a: b * 2 + total, b: a + net.dest_vars[0]})
    with pytest.raises(RuntimeError, match="do not broadcast"):
        net.replace_vars({a: net.make_const(np.ones(3, "float32"))})
    with pytest.raises(AssertionError, match="4 is neither a VarNode"):
        net.replace_vars({a: 4})
    assert run(net, [1, 2], [3, 4])["o"].tolist() == [8, 12]


def test_replace_oprs():
    net = sums()
    a, b = net.get_var_by_name("a"), net.get_var_by_name("b")
    old, new = net.get_opr_by_name("ADD"), (a * b).owner
    before = old.outputs
    net.replace_oprs({old: new})
    assert run(net, [1, 2], [3, 4])["o"].tolist() == [6, 16]
    for var in (*before, *old.outputs):
        assert var.owner is new and var is new.outputs[0]
    with pytest.raises(ValueError, match="longer|shorter"):
        net.replace_oprs({net.dest_vars[0].owner: F.topk(a, 1)[0].owner})


def test_add_dep_oprs_accepts_variables_of_other_graphs():
    net, other = sums(), Network()
    x = other.make_input_node((2,), "float32", name="x") * 3
    (mine,) = net.add_dep_oprs(x)
    net.add_output(mine + net.dest_vars[0])
    assert sorted(names(net.input_vars)) == ["a", "b", "x"]


def test_a_foreign_variable_in_a_function_is_an_error():
    with pytest.raises(ValueError, match="a tensor of graph .* cannot be used in graph"):
        sums().dest_vars[0] + sums().dest_vars[0]


def test_modify_opr_names():
    net = sums()
    net.modify_opr_names("pre")
    assert names(net.all_oprs) == ["pre.a", "pre.b", "pre.ADD", "pre.constant#0", "pre.o"]
    net.modify_opr_names(str.upper)
    file = io.BytesIO()
    net.dump(file, keep_opr_name=True, keep_param_name=True)
    assert names(Network.load(io.BytesIO(file.getvalue())).all_oprs)[:4] == [
        "PRE.A",
        "PRE.B",
        "PRE.ADD",
        "PRE.CONSTANT#0",
    ]
    with pytest.raises(AssertionError, match="a prefix or a function, got 3"):
        net.modify_opr_names(3)


def test_reset_batch_size():
    module, data, _ = small()
    net = Network.load(io.BytesIO(data))
    net.reset_batch_size(5)
    assert net.input_vars[0].shape == (5, 3, 8, 8)
    assert net.dest_vars[0].shape == (5, 5)
    batch = np.random.default_rng(1).random((5, 3, 8, 8), np.float32)
    want = module(mge.Tensor(batch)).numpy()
    np.testing.assert_allclose(run(net, batch)["prob"], want, rtol=1e-5, atol=1e-6)


def test_reset_batch_size_names_mismatches():
    net = sums()
    with pytest.raises(RuntimeError, match="do not broadcast"):
        net.reset_batch_size(5, blacklist=["a"])
    assert [var.shape for var in net.input_vars] == [(2,), (2,)]
    with pytest.raises(AssertionError, match="no inputs: \\['nothing'\\]"):
        net.reset_batch_size(5, blacklist=["nothing"])
    with pytest.raises(AssertionError, match="no one batch size"):
        net.reset_batch_size(5, blacklist=["a", "b"])


# Dumping.


def test_names_that_are_kept():
    _, data, _ = small()
    net = Network.load(io.BytesIO(data))
    conv = net.get_opr_by_type(nodes.ConvolutionForward)
    conv.name, conv.outputs[0].name, conv.inputs[1].name = "the_conv", "its_value", "its_weight"

    def kept(**options):
        file = io.BytesIO()
        info = net.dump(file, optimize_for_inference=False, **options)
        loaded = Network.load(io.BytesIO(file.getvalue()))
        again = loaded.get_opr_by_type(nodes.ConvolutionForward)
        found = {again.name, again.outputs[0].name, again.inputs[1].name, *info.params}
        return found & {"the_conv", "its_value", "its_weight"}

    assert kept(keep_var_name=0) == set()
    assert kept() == kept(keep_var_name=2) == {"its_value", "its_weight"}
    assert kept(keep_var_name=0, keep_opr_name=True) == {"the_conv"}
    assert kept(keep_var_name=0, keep_param_name=True) == {"its_weight"}


def test_dump_writes_half_precision_on_request():
    net = Network.load(io.BytesIO(small()[1]))
    full, half = io.BytesIO(), io.BytesIO()
    before = net.dump(full, optimize_for_inference=False)
    after = net.dump(half, enable_io16xc32=True)
    assert after.tensor_value_bytes < before.tensor_value_bytes * 0.6
    with pytest.warns(UserWarning, match="optimize_for_inference is False"):
        same = net.dump(io.BytesIO(), enable_io16xc32=True, optimize_for_inference=False)
    assert same.tensor_value_bytes == before.tensor_value_bytes
    outputs = net.optimize_for_inference(net.dest_vars, enable_io16xc32=True)
    assert [var is dest for var, dest in zip(outputs, net.dest_vars, strict=True)] == [True]
    assert net.dump(io.BytesIO()).tensor_value_bytes == after.tensor_value_bytes


def test_dump_refuses_unknown_options():
    net = sums()
    for call in (net.dump, net.optimize_for_inference):
        with pytest.raises(ValueError, match="unknown options: \\['enable_nothing'\\]"):
            call(io.BytesIO() if call == net.dump else net.dest_vars, enable_nothing=True)
    with pytest.raises(ValueError, match="dump_format is None"):
        net.dump(io.BytesIO(), dump_format="ONNX")


def test_dump_warns_of_options_without_effect():
    net = sums()
    others = [{"compat_older_version": "8.14"}, {"arg_names": ["a"]}, {"output_names": ["b"]}]
    for options in ({"keep_opr_priority": True}, *others):
        with pytest.warns(UserWarning, match=f"{next(iter(options))}=.* has no effect"):
            net.dump(io.BytesIO(), **options)


def test_dump_appends(tmp_path):
    path = tmp_path / "two"
    net = sums()
    size = net.dump(path).tot_bytes
    net.dump(path, append=True)
    data = path.read_bytes()
    assert data[:size] == data[size:]
    traced = trace(symbolic=True, capture_as_const=True)(lambda x: x * 2)
    traced(mge.Tensor([1.0]))
    more = traced.dump(path, append=True, silent=True).tot_bytes
    assert path.stat().st_size == 2 * size + more
    assert GraphInference(path).run([1, 2], [3, 4])["o"].tolist() == [8, 12]


def test_strip_info(tmp_path):
    def found():
        info = json.loads(path.read_text())
        return info["opr_types"], info["elemwise_modes"], info["dtypes"]

    path = tmp_path / "info.json"
    net = sums()
    net.dump(io.BytesIO(), strip_info_file=path)
    types = ["Elemwise", "Host2DeviceCopy", "ImmutableTensor"]
    assert found() == (types, ["ADD", "MUL"], ["Float32"])
    other = Network()
    x = other.make_input_node((2,), "float32", name="x")
    other.add_output(F.exp(x) + x, F.matmul(x, x).astype("int32"))
    other.dump(io.BytesIO(), strip_info_file=path, append_json=True)
    both = found()
    assert both[1:] == (["ADD", "EXP", "MUL"], ["Float32", "Int32"])
    assert {"TypeCvt", *types} <= set(both[0])
    with open(path, "r+") as file:
        other.dump(io.BytesIO(), strip_info_file=file, append_json=True)
        other.dump(io.BytesIO(), strip_info_file=file)
    assert found()[1] == ["ADD", "EXP"]


def test_inputs_that_no_output_needs_are_not_dumped():
    net = sums()
    only = net.get_var_by_name("a") * 2
    only.name = "only"
    net.remove_output(*net.dest_vars)
    net.add_output(only)
    info = net.dump(io.BytesIO())
    assert (info.inputs, info.outputs, info.nr_opr) == (["a"], ["only"], 3)


def test_an_input_may_be_an_output():
    net = sums()
    net.add_output(net.get_var_by_name("a"))
    with pytest.raises(ValueError, match="'a' names an input and an output"):
        net.dump(io.BytesIO())
    copy = net.get_var_by_name("a") + 0
    copy.name = "a_again"
    net.remove_output(net.get_var_by_name("a"))
    net.add_output(copy)
    assert run(net, [1, 2], [3, 4])["a_again"].tolist() == [1, 2]


def test_options_that_a_file_carries_stay():
    data = dumped(lambda x: F.relu(x), np.float32([1, -1]), enable_nchw88=True)
    file = io.BytesIO()
    Network.load(io.BytesIO(data)).dump(file)
    stored = Network.load(io.BytesIO(file.getvalue())).graph.metadata
    assert "NCHW88" in stored["load_and_run.options"]
