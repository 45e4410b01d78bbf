# SPDX-License-Identifier: Apache-2.0
"""Names of operators, values and parameters in dumped models, as in MegEngine."""

import io

import numpy as np
import pytest

import megengine as mge
import megengine.functional as F
import megengine.module as M
from megengine.jit import trace
from megengine.quantization import quantize, quantize_qat
from megengine.utils.comp_graph_tools import GraphInference
from megengine.utils.naming import AutoNaming
from megengine.utils.network import Network

KEPT = {"keep_opr_name": True, "keep_var_name": 2, "keep_param_name": True}
X = mge.Tensor(np.ones((2, 3), np.float32))


def loaded(function, *, symbolic=True, x=X, **options):
    AutoNaming.clear()
    traced = trace(symbolic=symbolic, capture_as_const=True)(function)
    traced(x)
    file = io.BytesIO()
    traced.dump(file, arg_names=["x"], silent=True, **(options or KEPT))
    file.seek(0)
    return Network.load(file)


def computed(net):
    return [opr.name for opr in net.all_oprs if opr.inputs]


class Twice(M.Module):
    def forward(self, x):
        return x + x


class Scaled(M.Module):
    def __init__(self, name=None):
        super().__init__(name=name)
        self.k = mge.Parameter([2.0], name="factor")
        self.linear = M.Linear(3, 4)

    def forward(self, x):
        y = self.linear(x * self.k)
        y.name = "scaled"
        return y


class Parts(M.Module):
    def __init__(self):
        super().__init__()
        self.parts = [M.Linear(3, 3), M.Linear(3, 3)]
        self.named = M.Linear(3, 3, name="own")

    def forward(self, x):
        for part in [*self.parts, self.parts[0], self.named]:
            x = F.relu(part(x))
        return F.relu(x) + 1


@pytest.mark.parametrize("symbolic", [True, False])
def test_operators_have_the_paths_of_modules(symbolic):
    assert computed(loaded(Parts(), symbolic=symbolic)) == [
        "parts.0.MatrixMul[0]",
        "RELU[0]",
        "parts.1.MatrixMul",
        "RELU[1]",
        "parts.0.MatrixMul[1]",
        "RELU[2]",
        "own.MatrixMul",
        "RELU[3]",
        "RELU[4]",
        "ADD",
    ]


class Biased(M.Module):
    def __init__(self):
        super().__init__()
        self.conv = M.Conv2d(3, 4, 1)
        self.fc = M.Linear(4, 2)

    def forward(self, x):
        y = F.relu(self.conv(x)).mean((2, 3))
        return self.fc(y) + F.linear(y, self.fc.weight, self.fc.bias)


def test_files_for_graph_surgery_have_biases_as_operators():
    module, x = Biased(), mge.Tensor(np.random.default_rng(0).random((2, 3, 4, 4), "float32"))
    net = loaded(module, x=x, optimize_for_inference=False, **KEPT)
    assert computed(net) == [
        "conv.Convolution",
        "conv.ADD",
        "RELU",
        "Reduce",
        "fc.MatrixMul",
        "fc.ADD",
        "MatrixMul",
        "ADD[0]",
        "ADD[1]",
    ]
    added = net.get_opr_by_name("conv.ADD")
    assert [var.name for var in added.inputs] == ["conv.bias", "conv.Convolution"]
    file = io.BytesIO()
    net.dump(file)
    file.seek(0)
    (result,) = GraphInference(file).run(x).values()
    np.testing.assert_allclose(result, module(x).numpy(), rtol=1e-5)


def test_a_module_that_is_traced_has_only_the_name_it_was_given():
    assert computed(loaded(Twice())) == ["ADD"]
    assert computed(loaded(Twice(name="twice"))) == ["twice.ADD"]
    assert computed(loaded(lambda x: x * 2)) == ["MUL"]


def test_parameters_and_results_have_the_names_that_users_gave():
    net = loaded(Scaled(name="net"))
    names = [opr.name for opr in net.params_filter]
    assert names == ["net.factor", "net.linear.weight", "net.linear.bias"]
    assert [var.name for var in net.dest_vars] == ["scaled"]
    assert [var.name for var in loaded(Scaled(), keep_opr_name=True).dest_vars] == ["scaled"]


def test_names_that_are_kept():
    names = {"factor", "linear.weight", "MUL", "linear.MatrixMul"}

    def kept(**options):
        net = loaded(Scaled(), **options)
        found = [node.name for node in (*net.all_oprs, *net.all_vars)]
        return names & set(found)

    assert kept(keep_var_name=0) == set()
    assert kept(keep_var_name=1) == {"MUL", "factor", "linear.weight"}
    assert kept(keep_var_name=1) == kept(keep_var_name=2) == kept(keep_var_name=True)
    assert kept(keep_var_name=0, keep_opr_name=True) == {"MUL", "linear.MatrixMul"}
    assert kept(keep_var_name=0, keep_param_name=True) == {"factor", "linear.weight"}


def test_inputs_and_outputs_are_the_only_values_with_their_names():
    def again(net, **options):
        file = io.BytesIO()
        net.dump(file)
        return Network.load(io.BytesIO(file.getvalue()), **options)

    def names(net):
        return [var.name for var in net.all_vars if var.owner.inputs]

    net = loaded(lambda x: (x + 1) * 2, output_names=["ADD"])
    assert names(net) == ["ADD[0]", "ADD"]
    (output,) = again(net, outspec=["ADD"]).dest_vars
    assert output.owner.params["mode"] == "MUL"
    net.dest_vars[0].owner.inputs[0].name = "ADD"
    assert names(again(net)) == ["ADD[0]", "ADD"]
    assert names(loaded(lambda x: F.exp((x + 1) * (x + 2)), output_names=["ADD[0]"])) == [
        *("ADD[0][0]", "ADD[1]", "MUL", "ADD[0]")
    ]


def test_a_parameter_does_not_have_the_name_of_an_input():
    class Shifted(M.Module):
        def __init__(self):
            super().__init__()
            self.x = mge.Parameter(np.ones((2, 3), np.float32))

        def forward(self, x):
            return x + self.x

    net = loaded(Shifted(), output_names=["y"])
    assert net.get_var_by_name("x").owner.type == "Host2DeviceCopy"
    assert [opr.name for opr in net.params_filter] == ["x[0]"]


def test_dump_reports_named_parameters():
    traced = trace(symbolic=True, capture_as_const=True)(Scaled())
    traced(X)
    assert traced.dump(io.BytesIO(), silent=True, keep_var_name=0).params == []
    named = traced.dump(io.BytesIO(), silent=True).params
    assert named == ["factor", "linear.weight", "linear.bias"]


def test_a_trace_without_constants_holds_no_parameters():
    module = Scaled()
    traced = trace(module)
    traced(X)
    assert traced._names.scopes and not traced._names.tensors


def test_names_are_fixed_by_the_first_call():
    module = Scaled()
    traced = trace(capture_as_const=True)(module)
    for _ in range(3):
        traced(X)
    file = io.BytesIO()
    traced.dump(file, silent=True, **KEPT)
    file.seek(0)
    assert computed(Network.load(file)) == ["MUL", "linear.MatrixMul"]


def test_several_outputs_and_types_without_a_counterpart():
    net = loaded(lambda x: F.topk(F.softmax(x), 2)[0])
    assert computed(net) == ["Softmax", "TopK"]
    assert [var.name for var in net.all_vars][-1] == "TopK:o0"


@pytest.mark.parametrize(
    "name, function",
    [
        ("AddAxis", lambda x: F.expand_dims(x, 1)),
        ("RemoveAxis", lambda x: F.squeeze(x.reshape(2, 3, 1), 2)),
        ("RemoveAxis", lambda x: F.argmax(x, axis=1)),
        ("Argmax", lambda x: F.argmax(x, axis=1, keepdims=True)),
        ("Identity", F.copy),
        ("LT", lambda x: x > 0),
        ("LEQ", lambda x: x >= 0),
        ("ATAN2", F.atan),
        ("PRELU", F.leaky_relu),
    ],
)
def test_results_are_named_after_the_last_step(name, function):
    """Recorded with MegEngine 1.13, whose functions end with these operators."""
    assert [var.name for var in loaded(function).output_vars] == [name]


def test_bias_addition_is_a_sum():
    net = M.Sequential(M.Conv2d(1, 2, 1), M.Linear(4, 3), M.Linear(3, 3, bias=False))
    traced = trace(symbolic=True, capture_as_const=True)(lambda x: net(x))
    traced(mge.Tensor(np.ones((1, 1, 2, 4), "float32")))
    file = io.BytesIO()
    traced.dump(file, keep_var_name=2, keep_opr_name=True)
    operators = [o for o in Network.load(io.BytesIO(file.getvalue())).all_oprs if o.inputs]
    assert [o.name for o in operators] == ["0.Convolution", "1.MatrixMul", "2.MatrixMul"]
    assert [o.outputs[0].name for o in operators] == ["0.ADD", "1.ADD", "2.MatrixMul"]


def test_the_first_name_of_a_module_stays():
    class Shared(M.Module):
        def __init__(self):
            super().__init__()
            self.name = "net"
            self.first = M.Sequential(M.Linear(3, 3), M.ReLU())
            self.second = self.first[0]
            self.parts = [*self.first]

        def forward(self, x):
            return self.parts[1](self.second(x))

    net = Shared()
    assert [part._short_name for part in net.parts] == ["0", "1"]
    assert computed(loaded(net)) == ["net.0.MatrixMul", "net.1.RELU"]


@pytest.mark.parametrize("convolution", [False, True])
def test_quantised_weights_keep_their_names(convolution):
    layer = M.ConvBn2d(1, 1, 1) if convolution else M.Linear(3, 3)
    weighted = layer.conv if convolution else layer
    weighted.weight.name, weighted.bias.name = "own_weight", "own_bias"
    net = quantize_qat(M.Sequential(M.QuantStub(), layer, M.DequantStub()))
    x = X.reshape(1, 1, 2, 3) if convolution else X
    net(x)
    net.eval()
    found = quantize(net)[1]
    assert (found.weight.name, found.bias.name) == ("own_weight", "own_bias")
