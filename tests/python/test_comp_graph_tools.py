# SPDX-License-Identifier: Apache-2.0
"""Functions over the variables of a graph, and GraphInference."""

import io

import numpy as np
import pytest
from network_samples import dumped, run, small, sums

import megengine as mge
import megengine.functional as F
import megengine.utils.comp_graph_tools as cgtools
from megengine.core.tensor import megbrain_graph
from megengine.jit import trace
from megengine.utils.network import Network


def names(found):
    return [node.name for node in found]


def test_dependencies_of_variables():
    net = sums()
    (o,) = net.dest_vars
    assert names(cgtools.get_dep_vars(o)) == ["o", "ADD", "constant#0", "a", "b"]
    assert names(cgtools.get_dep_vars(o, "Host2DeviceCopy")) == ["a", "b"]
    assert names(cgtools.get_dep_vars([o], ["Elemwise", "ImmutableTensor"])) == [
        "o",
        "ADD",
        "constant#0",
    ]


def test_inputs_are_ordered_by_distance_to_the_outputs(tmp_path):
    @trace(symbolic=True, capture_as_const=True)
    def head(image, info):
        return F.relu(F.exp(image)) * info

    head(mge.Tensor([[1.0, 2.0]]), mge.Tensor([3.0]))
    path = tmp_path / "head.mge"
    head.dump(path, arg_names=["image", "info"])
    net = Network.load(path)
    assert names(cgtools.get_dep_vars(net.dest_vars, "Host2DeviceCopy")) == ["info", "image"]
    assert names(net.input_vars) == ["info", "image"]
    (got,) = cgtools.GraphInference(path).run([3.0], [[0.0, 0.0]]).values()
    assert got.tolist() == [[3, 3]]


def test_owners():
    net = sums()
    (o,) = net.dest_vars
    assert names(cgtools.get_owner_opr_inputs(o)) == ["ADD", "constant#0"]
    assert cgtools.get_owner_opr_type(o) == cgtools.get_opr_type(o.owner) == "Elemwise"
    with pytest.raises(AssertionError, match="expected an OpNode, got VarNode"):
        cgtools.get_opr_type(o)


def test_graph_traversal():
    net = sums()
    oprs, variables, var2oprs, opr2receivers, indegree2opr, opr2indegree = cgtools.graph_traversal(
        net.dest_vars
    )
    add, mul = (net.get_opr_by_name(name) for name in ("ADD", "o"))
    total = add.outputs[0]
    assert list(oprs.values()) == net.all_oprs
    assert names(variables.values()) == ["a", "b", "ADD", "constant#0"]
    assert var2oprs[total.id] == [(mul.id, 0)]
    assert opr2receivers[add.id] == [mul.id]
    assert indegree2opr[2] == {add.id, mul.id}
    assert opr2indegree[add.id] == 2 and len(indegree2opr[0]) == 3


def test_sequences_of_operators():
    def function(x):
        return F.reshape(x, (x.shape[0], -1)) + 1

    data = dumped(function, np.ones((2, 3, 4), "float32"), arg_names=["x"], output_names=["y"])
    outputs = Network.load(io.BytesIO(data)).dest_vars
    kinds = [opr.type for opr in cgtools.get_oprs_seq(outputs)]
    assert kinds[0] == "Host2DeviceCopy" and "GetVarShape" in kinds
    assert "ImmutableTensor" not in kinds
    assert [opr.type for opr in cgtools.get_oprs_seq(outputs, prune_reshape=True)] == [
        "Host2DeviceCopy",
        "Reshape",
        "Elemwise",
    ]
    assert cgtools.get_oprs_seq([]) == []


def test_replacing_makes_other_variables():
    net = sums()
    (o,) = net.dest_vars
    a, total = net.get_var_by_name("a"), net.get_var_by_name("ADD")
    (new,) = cgtools.replace_vars([o], {total: a * 5})
    new.name = "new"
    net.add_output(new)
    got = run(net, [1, 2], [3, 4])
    assert got["o"].tolist() == [8, 12] and got["new"].tolist() == [10, 20]
    assert cgtools.replace_vars([a], {total: a}) == [a]
    assert cgtools.replace_vars([], {}) == []


def test_replacing_operators():
    net = sums()
    (o,) = net.dest_vars
    a, b = net.get_var_by_name("a"), net.get_var_by_name("b")
    (new,) = cgtools.replace_oprs([o], {net.get_opr_by_name("ADD"): (a * b).owner})
    new.name = "new"
    net.add_output(new)
    assert run(net, [1, 2], [3, 4])["new"].tolist() == [6, 16]
    with pytest.raises(ValueError, match="longer|shorter"):
        cgtools.replace_oprs([o], {o.owner: F.topk(a, 1)[0].owner})


def test_finding_by_name():
    net = sums()
    assert names(cgtools.find_vars_by_name(net.dest_vars, ["b", "a"])) == ["b", "a"]
    with pytest.raises(AssertionError, match="no variables \\['c'\\]; it has \\['ADD', "):
        cgtools.find_vars_by_name(net.dest_vars, ["a", "c"])


def test_values_in_and_out():
    net = sums()
    dst, inputs = cgtools.convert_inputs(net.dest_vars)
    dst, outputs = cgtools.convert_outputs(dst)
    with pytest.raises(RuntimeError, match="inputs \\['a', 'b'\\] have no values"):
        outputs["o"].get_value()
    inputs["a"].set_value([1, 2])
    inputs["b"].set_value(mge.Tensor([3.0, 4.0]))
    assert outputs["o"].get_value().numpy().tolist() == [8, 12]
    inputs["a"].set_value([0, 0])
    assert outputs["o"].get_value().numpy().tolist() == [6, 8]
    assert list(inputs) == [node.name for node in inputs.values()] == ["a", "b"]


def test_graphs_are_compiled_by_hand():
    net = sums()
    file = io.BytesIO()
    net.dump(file, user_info="kept")
    loaded = megbrain_graph.load_graph(io.BytesIO(file.getvalue()))
    (o,) = loaded.output_vars_list
    assert loaded.output_vars_dict["o"] is o and o.graph is loaded.graph
    assert "user_info" in loaded.metadata
    for name in ("a", "b"):
        (var,) = cgtools.find_vars_by_name([o], [name])
        megbrain_graph.InputNode(var).set_value([1, 2])
    node = megbrain_graph.OutputNode(o)
    run = node.graph.compile(node.outputs).execute().wait()
    assert node.get_value().numpy().tolist() == [4, 8]
    assert isinstance(run, megbrain_graph.Compiled)
    constant = megbrain_graph.OutputNode(Network().make_const([3.0, 4.0]) * 2)
    constant.graph.compile(constant.outputs).execute()
    assert constant.get_value().numpy().tolist() == [6, 8]


def test_embedding_inputs():
    net = sums()
    (o,) = net.dest_vars
    b = net.get_var_by_name("b")
    (new,), constants = cgtools.embed_inputs([o], [np.float32([10, 20])], inputs=[b])
    assert list(constants) == ["b"] and constants["b"].numpy().tolist() == [10, 20]
    new.name = "new"
    net.remove_output(o)
    net.add_output(new)
    assert run(net, [1, 2])["new"].tolist() == [22, 44]
    with pytest.raises(AssertionError, match="2 inputs, but 1 value"):
        cgtools.embed_inputs([o], [1])


# GraphInference.


@pytest.fixture(scope="module")
def model():
    return small()


def test_inference_from_paths_and_file_objects(model, tmp_path):
    module, data, array = model
    path = tmp_path / "net.mge"
    path.write_bytes(data)
    want = module(mge.Tensor(array)).numpy()
    for file in (path, str(path), io.BytesIO(data)):
        inference = cgtools.GraphInference(file)
        for given in (array, mge.Tensor(array)):
            got = inference.run(given)
            assert list(got) == ["prob"]
            np.testing.assert_allclose(got["prob"], want, rtol=1e-5, atol=1e-6)


def test_inference_accepts_other_shapes(model):
    module, data, array = model
    got = cgtools.GraphInference(io.BytesIO(data)).run(inp_dict={"data": array[:1]})
    np.testing.assert_allclose(
        got["prob"], module(mge.Tensor(array[:1])).numpy(), rtol=1e-5, atol=1e-6
    )


def test_inference_ignores_inputs_that_nothing_needs():
    second = mge.jit.trace(lambda x, y: y * 2, symbolic=True, capture_as_const=True)
    second(mge.Tensor([1.0]), mge.Tensor([2.0, 3.0]))
    file = io.BytesIO()
    second.dump(file, arg_names=["x", "y"])
    inference = cgtools.GraphInference(io.BytesIO(file.getvalue()))
    needed = {"y": np.float32([4, 5])}
    for given in (needed, needed | {"x": np.float32([1])}):
        (got,) = inference.run(inp_dict=given).values()
        assert got.tolist() == [8, 10]
    with pytest.raises(AssertionError, match="expects inputs"):
        inference.run(inp_dict={"x": np.float32([1])})


def test_inference_of_variables_inside():
    data = io.BytesIO()
    sums().dump(data)
    file = io.BytesIO(data.getvalue())
    got = cgtools.GraphInference(file, outputs=["ADD", "a", "o"]).run([1, 2], [3, 4])
    assert {name: value.tolist() for name, value in got.items()} == {
        "ADD": [4, 6],
        "a": [1, 2],
        "o": [8, 12],
    }
    with pytest.raises(AssertionError, match="no variables \\['c'\\]"):
        cgtools.GraphInference(io.BytesIO(data.getvalue()), outputs=["c"])


def test_inference_names_required_inputs():
    data = io.BytesIO()
    sums().dump(data)
    inference = cgtools.GraphInference(io.BytesIO(data.getvalue()))
    for args, by_name in (((1,), {}), ((1, 2, 3), {}), ((), {"a": 1, "c": 2})):
        with pytest.raises(AssertionError, match="expects inputs \\['a', 'b'\\]"):
            inference.run(*args, inp_dict=by_name)
    assert inference.run([1, 2], inp_dict={"b": [3, 4]})["o"].tolist() == [8, 12]


def test_numbers_are_vectors_of_one_element():
    net = Network()
    x = net.make_input_node((1,), "float32", name="x")
    y = x * 2
    y.name = "y"
    net.add_output(y)
    assert run(net, 3.0)["y"].tolist() == [6]


def test_numbers_that_were_traced_as_scalars_stay_scalars():
    data = dumped(
        lambda x, i: (x[i], x[:, i]),
        np.float32([[1, 2], [3, 4]]),
        np.int32(0),
        arg_names=["x", "i"],
        output_names=["row", "column"],
    )
    inference = cgtools.GraphInference(io.BytesIO(data))
    for index in (1, [1], mge.Tensor(1)):
        found = inference.run(inp_dict={"x": [[1, 2], [3, 4]], "i": index})
        assert found["row"].tolist() == [3, 4] and found["column"].tolist() == [2, 4]
    data = dumped(lambda x: x * 2, np.float32(1), arg_names=["x"], output_names=["y"])
    assert cgtools.GraphInference(io.BytesIO(data)).run(3.0)["y"].tolist() == [6]


def test_steps_of_slices_are_inputs():
    def part(x, begin, end, step):
        return x[begin:end:step]

    x, numbers = np.arange(10, dtype=np.float32), [np.int32(n) for n in (1, 9, 2)]
    data = dumped(part, x, *numbers, arg_names=["x", "begin", "end", "step"], output_names=["y"])
    inference = cgtools.GraphInference(io.BytesIO(data))
    for begin, end, step in ((1, 9, 2), (0, 10, 3), (8, 1, -3)):
        given = {"x": x, "begin": begin, "end": end, "step": step}
        assert inference.run(inp_dict=given)["y"].tolist() == x[begin:end:step].tolist()
    with pytest.raises(RuntimeError, match="step must not be 0"):
        inference.run(inp_dict={"x": x, "begin": 0, "end": 10, "step": 0})
