# SPDX-License-Identifier: Apache-2.0
"""Models as ONNX files: names, extents and weights, quantised and example nets, what is refused."""

import os
import resource
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx_cases import X, arrays, assert_near, exported, extents, real, run
from onnx_files import model_of, number, port

import megengine as mge
import megengine.functional as F
import megengine.module as M
import megengine.onnx
import megengine.quantization as Q
from megengine import _mge
from megengine.jit import trace

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "examples/models"))
from bert import BertEncoder  # noqa: E402
from lenet import lenet  # noqa: E402
from mobilenet_v2 import mobilenet_v2  # noqa: E402
from resnet import resnet18  # noqa: E402
from seeded_weights import load_seeded_weights  # noqa: E402
from shufflenet_v2 import shufflenet_v2_x1_0  # noqa: E402

ops = _mge.ops


def test_a_quantised_net(tmp_path):
    net = M.Sequential(
        M.QuantStub(), M.ConvBnRelu2d(3, 8, 3), M.ConvRelu2d(8, 4, 3), M.DequantStub()
    )
    net = Q.quantize_qat(net, qconfig=Q.ema_fakequant_qconfig)
    net.train()
    net(mge.Tensor(X))
    net = Q.quantize(net)
    net.eval()
    path = tmp_path / "net.onnx"
    mge.onnx.export(net, path, X, input_names=["x0"])
    model = onnx.load(path)
    onnx.checker.check_model(model, full_check=True)
    types = [node.op_type for node in model.graph.node]
    assert types.count("Conv") == 2 and types.count("QuantizeLinear") == 3
    (got,), expected = run(path, [X]), net(mge.Tensor(X)).numpy()
    assert np.abs(got - expected).max() <= 0.02 * np.abs(expected).max()


def test_equal_biases_in_different_shapes(tmp_path):
    net = M.Sequential(M.ConvTranspose2d(3, 4, 2), M.Conv2d(4, 4, 1), M.Conv2d(4, 4, 1))
    for layer in net:
        layer.bias[...] = np.arange(1, 5, dtype="float32").reshape(1, 4, 1, 1)
    net.eval()
    expected, _ = exported(net, [X], str(tmp_path / "net.onnx"))
    assert_near(run(tmp_path / "net.onnx", [X]), expected)


def test_a_graph_for_one_batch_has_numbers(tmp_path):
    path = str(tmp_path / "one.onnx")
    _, model = exported(lambda x: F.reshape(x, (4, 90)) + 1, [X], path)
    assert extents(model.graph.input[0]) == [4, 3, 6, 5]
    assert extents(model.graph.output[0]) == [4, 90]


def test_a_size_that_one_operator_fixes_leaves_the_others_open(tmp_path):
    weight = np.arange(5, dtype="float32")
    add = onnx.helper.make_node("Add", ["x", "w"], ["y"])
    ports = [port(name, ["n", "t", "t"]) for name in "xy"]
    path = model_of(
        [add], ports[:1], ports[1:], tmp_path, initializers=[number("w", weight, np.float32)]
    )
    _mge.load(path).write_onnx(tmp_path / "again.onnx", 17)
    graph = onnx.load(tmp_path / "again.onnx").graph
    assert extents(graph.input[0]) == extents(graph.output[0]) == ["n", 5, 5]


def test_a_slice_of_the_present_size_is_not_the_whole_axis(tmp_path):
    def changed(x):
        x = x + 0
        x[: len(X)] = 7
        return x

    expected, model = exported(changed, [X], str(tmp_path / "changed.onnx"))
    assert extents(model.graph.input[0]) == list(X.shape)
    assert_near(run(tmp_path / "changed.onnx", [X]), expected)


class Outputs(M.Module):
    """The results of a module, as one tuple."""

    def __init__(self, net):
        super().__init__()
        self.net = net

    def forward(self, x):
        y, states = self.net(x)
        return (y, *states) if isinstance(states, tuple) else (y, states)


class Function(M.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, x):
        return self.function(x)


OPEN_BATCHES = {
    "lstm": (Outputs(M.LSTM(5, 4, 2, batch_first=True, bidirectional=True)), real(3, 6, 5)),
    "rnn": (Outputs(M.RNN(5, 4, batch_first=True)), real(3, 6, 5)),
    "rnn_cell": (M.RNNCell(5, 4), real(3, 5)),
    "pixel_shuffle": (M.PixelShuffle(2), real(3, 8, 2, 5)),
    "sliding_window": (M.SlidingWindow(3, 1, 1), real(3, 2, 5, 4)),
    "local_conv": (M.LocalConv2d(4, 6, 5, 5, 3, padding=1), real(3, 4, 5, 5)),
    "conv_transpose3d": (
        M.ConvTranspose3d(2, 3, 3, stride=2, padding=1, output_padding=1),
        real(3, 2, 4, 3, 2),
    ),
    "sliding_window_transpose": (
        M.SlidingWindowTranspose((5, 6), 3, padding=1, stride=2),
        real(3, 2, 3, 3, 3, 3),
    ),
    "tile": (Function(lambda x: F.tile(x, (1, 1, 3, 2))), real(3, 2, 4)[:, None]),
    "repeat": (Function(lambda x: F.repeat(x, 3, 1)), real(3, 2, 4)),
    "einsum": (Function(lambda x: F.einsum("bij,bkj->bik", x, x)), real(3, 2, 4)),
    "einsum_matrix": (
        Function(lambda x: F.einsum("bij,jk->bki", x, F.ones((4, 5)))),
        real(3, 2, 4),
    ),
}


@pytest.mark.parametrize("name", OPEN_BATCHES)
def test_the_batch_stays_open(name, tmp_path):
    net, x = OPEN_BATCHES[name]
    path = tmp_path / "open.onnx"
    net.eval()
    mge.onnx.export(net, path, x, input_names=["x0"])
    onnx.checker.check_model(onnx.load(path), full_check=True)
    again = _mge.load(str(path))
    for batch in (len(x), 1, 7):
        other = np.resize(x, (batch, *x.shape[1:]))
        expected = arrays(net(mge.Tensor(other)))
        assert_near(run(path, [other]), expected)
        assert_near(arrays(again.run([other])), expected)


@pytest.mark.parametrize("shape", [(4,), (3, 5)])
def test_the_batch_is_read_again_as_it_was(shape, tmp_path):
    path = str(tmp_path / "open.onnx")
    _, model = exported(F.exp, [real(*shape)], path)
    assert extents(model.graph.input[0])[0] == "batch"
    again = _mge.load(path)
    assert again.input_specs == [(shape, "float32")]
    assert "mge.batch" not in again.metadata
    x = real(7, *shape[1:])
    assert_near(arrays(again.run([x])), [np.exp(x)])


@pytest.mark.parametrize("note", ["0", "-3", "99999999999", "many", ""])
def test_invalid_batch_notes_are_ignored(note, tmp_path):
    path = str(tmp_path / "open.onnx")
    _, model = exported(F.exp, [real(4, 3)], path)
    (noted,) = [entry for entry in model.metadata_props if entry.key == "mge.batch"]
    noted.value = note
    onnx.save(model, path)
    assert _mge.load(path).input_specs == [((1, 3), "float32")]


def test_a_model_for_constant_shapes_has_numbers(tmp_path):
    traced = trace(F.exp, symbolic=True, capture_as_const=True)
    traced(mge.Tensor(X))
    model = traced.to_model(["x0"], ["y"], {"load_and_run.const_shape": "true"})
    model.write_onnx(str(tmp_path / "const.onnx"), 17)
    graph = onnx.load(tmp_path / "const.onnx").graph
    assert extents(graph.input[0]) == list(X.shape)


def test_run_time_extents_are_unknown(tmp_path):
    path = str(tmp_path / "taken.onnx")
    x = real(4, 6)
    outputs, model = exported(lambda x: F.flatten(F.cond_take(x > 0, x)[0]) * 2, [x], path)
    assert extents(model.graph.output[0]) == [None]
    assert_near(run(path, [x]), outputs)


def test_names_survive(tmp_path):
    path = str(tmp_path / "named.onnx")

    class Net(M.Module):
        def __init__(self):
            super().__init__()
            self.first = M.Linear(6, 5)

        def forward(self, image):
            return {"scores": F.relu(self.first(image))}

    mge.onnx.export(Net(), path, real(4, 6))
    graph = onnx.load(path).graph
    assert [value.name for value in graph.input] == ["image"]
    assert [value.name for value in graph.output] == ["scores"]
    assert {"first.weight", "first.bias"} <= {weight.name for weight in graph.initializer}
    assert all(node.name for node in graph.node)
    assert len({node.name for node in graph.node}) == len(graph.node)


def test_names_of_weights_are_read_again(tmp_path):
    path = str(tmp_path / "named.onnx")
    net = M.Sequential(M.Conv2d(3, 4, 3, groups=1), M.Conv2d(4, 4, 3, groups=4), M.BatchNorm2d(4))
    mge.onnx.export(net, path, X)
    names = {"0.weight", "0.bias", "1.weight", "1.bias", "2.weight", "2.running_mean"}
    text = _mge.load(path).text
    assert all(f":{name} float32" in text for name in names), text


def test_every_unsupported_operator_is_named(tmp_path):
    def lossy(x):
        return F.matinv(x) + ops.svd(x)[1]

    with pytest.raises(RuntimeError, match="2 parts .*matinv .*; svd "):
        exported(lossy, [real(4, 4)], str(tmp_path / "no.onnx"))
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("opset", [10, 29])
def test_operator_sets_that_are_not_written(opset, tmp_path):
    with pytest.raises(ValueError, match=f"operator set {opset} is not one of 11 to 28"):
        mge.onnx.export(F.relu, tmp_path / "no.onnx", X, opset=opset)


def test_wrong_formats(tmp_path):
    traced = trace(F.relu, symbolic=True, capture_as_const=True)
    traced(mge.Tensor(X))
    with pytest.raises(ValueError, match="format is 'mge' or 'onnx', got 'tflite'"):
        traced.dump(tmp_path / "no", format="tflite")
    with pytest.raises(ValueError, match="no test cases"):
        traced.dump(tmp_path / "no", format="onnx", input_data=["#rand(0,1)"])


def test_large_weights_are_in_a_file_next_to_the_model(tmp_path):
    traced = trace(
        lambda x: F.matmul(x, mge.Tensor(real(6, 500))), symbolic=True, capture_as_const=True
    )
    x = real(4, 6)
    expected = traced(mge.Tensor(x)).numpy()
    model = traced.to_model(["x0"], ["y"], {})
    path = tmp_path / "large.onnx"
    model.write_onnx(str(path), 17, 1000)
    assert (tmp_path / "large.onnx.data").stat().st_size == 6 * 500 * 4
    assert path.stat().st_size < 1000
    onnx.checker.check_model(str(path), full_check=True)
    assert_near(run(path, [x]), [expected])


def with_large_weight(value, *vectors):
    """Return a product with a weight of 12 kB, plus vectors of 1 kB that stay in the model."""

    def function(x):
        y = F.matmul(x, mge.Tensor(np.full((6, 500), value, np.float32)))
        for vector in vectors:
            y = y + F.concat([mge.Tensor(vector), F.zeros(300)])
        return y

    traced = trace(function, symbolic=True, capture_as_const=True)
    traced(mge.Tensor(real(4, 6)))
    return traced.to_model(["x0"], ["y"], {})


def test_a_model_and_its_weights_are_replaced_together(tmp_path):
    path, x = tmp_path / "large.onnx", np.ones((4, 6), np.float32)
    for value in (1, 2, 3):
        with_large_weight(value).write_onnx(str(path), 17, 1000)
        assert run(path, [x])[0].max() == 6 * value
        assert {file.name for file in tmp_path.iterdir()} == {"large.onnx", "large.onnx.data"}
    os.chmod(f"{path}.data", 0o600)

    # A model that exceeds a limit on the size of files, which its weights do not.
    larger = with_large_weight(4, *real(30, 200))
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, hard))
    try:
        with pytest.raises(RuntimeError, match="File too large"):
            larger.write_onnx(str(path), 17, 1000)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert run(path, [x])[0].max() == 6 * 3
    assert len(list(tmp_path.iterdir())) == 2

    larger.write_onnx(str(path), 17, 1000)
    assert run(path, [x])[0].max() > 6 * 3
    assert os.stat(f"{path}.data").st_mode & 0o777 == 0o600


def test_training_mode_is_restored(tmp_path):
    net = M.Sequential(M.Conv2d(3, 4, 3), M.BatchNorm2d(4))
    net[0].eval()
    mge.onnx.export(net, tmp_path / "net.onnx", X)
    assert [part.training for part in net] == [False, True]
    onnx.checker.check_model(str(tmp_path / "net.onnx"), full_check=True)


def test_a_file_object_is_written(tmp_path):
    with open(tmp_path / "net.onnx", "wb") as file:
        info = mge.onnx.export(F.relu, file, X, input_names=["x0"])
    assert info.tot_bytes == (tmp_path / "net.onnx").stat().st_size
    assert_near(run(tmp_path / "net.onnx", [X]), [np.maximum(X, 0)])


NETS = {
    "lenet": (lenet, (1, 28, 28)),
    "resnet18": (resnet18, (3, 64, 64)),
    "mobilenet_v2": (mobilenet_v2, (3, 64, 64)),
    "shufflenet_v2": (shufflenet_v2_x1_0, (3, 64, 64)),
    "bert": (lambda: BertEncoder(layers=2, width=64, heads=4, hidden=256), (16, 64)),
}


@pytest.mark.parametrize("name", NETS)
def test_example_nets(name, tmp_path):
    make, sample = NETS[name]
    net = load_seeded_weights(make())
    net.eval()
    path = tmp_path / "net.onnx"
    x = real(2, *sample)
    mge.onnx.export(net, path, x, input_names=["x0"], output_names=["y"])
    onnx.checker.check_model(str(path), full_check=True)
    graph = onnx.load(path).graph
    assert extents(graph.input[0])[0] == extents(graph.output[0])[0] == "batch"
    again = _mge.load(str(path))
    for batch in (2, 1, 5):
        x = real(batch, *sample)
        expected = [net(mge.Tensor(x)).numpy()]
        assert_near(run(path, [x]), expected)
        assert_near(arrays(again.run([mge.Tensor(x)])), expected)


def test_the_page_has_the_table_of_the_code():
    script = ROOT / "scripts/make_onnx_tables.py"
    assert subprocess.run([sys.executable, script, "--check"]).returncode == 0


def test_parameters_of_a_module_without_parts_keep_their_names(tmp_path):
    mge.onnx.export(M.Linear(3, 2), tmp_path / "linear.onnx", F.ones((1, 3)))
    graph = onnx.load(tmp_path / "linear.onnx").graph
    assert [weight.name for weight in graph.initializer] == ["weight", "bias"]
