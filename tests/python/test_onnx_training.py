# SPDX-License-Identifier: Apache-2.0
"""ONNX files whose weights are trained further."""

import importlib
import re
from pathlib import Path

import numpy as np
import pytest

import megengine as mge
import megengine.functional as F
import megengine.module as M
import megengine.optimizer as optim
from megengine.autodiff import GradManager
from megengine.jit import trace

export = importlib.import_module("megengine.onnx.writing").export
load = importlib.import_module("megengine.onnx.reading").load
FILES = Path(__file__).resolve().parents[1] / "data" / "onnx"


class Net(M.Module):
    def __init__(self):
        super().__init__()
        self.conv = M.Conv2d(2, 4, 3)
        self.norm = M.BatchNorm2d(4)
        self.norm.running_mean[:] = 0.25
        self.head = M.Linear(4, 3)

    def forward(self, x):
        return self.head(F.mean(F.relu(self.norm(self.conv(x))), axis=(2, 3)))


@pytest.fixture
def net():
    made = Net()
    made.eval()
    return made


def images(count=6):
    return mge.Tensor(np.random.default_rng(3).normal(size=(count, 2, 7, 6)).astype("float32"))


LABELS = mge.Tensor(np.arange(6) % 3, dtype="int32")


def gradients(net):
    manager = GradManager().attach(net.parameters())
    with manager:
        manager.backward(F.nn.cross_entropy(net(images()), LABELS))
    return {name: p.grad.numpy() for name, p in net.named_parameters()}


def test_gradients_match_the_written_net(net, tmp_path):
    export(net, tmp_path / "net.onnx", images(2))
    again = load(tmp_path / "net.onnx", trainable=True)
    np.testing.assert_allclose(again(images()).numpy(), net(images()).numpy(), atol=1e-6)
    expected, got = gradients(net), gradients(again)
    assert set(got) == set(expected)
    for name, grad in got.items():
        wanted = expected[name].reshape(grad.shape)
        np.testing.assert_allclose(grad, wanted, atol=1e-6, err_msg=name)


def step_of(net):
    manager = GradManager().attach(net.parameters())
    optimizer = optim.SGD(net.parameters(), lr=0.05, momentum=0.9)

    def step(x, y):
        with manager:
            loss = F.nn.cross_entropy(net(x), y)
            manager.backward(loss)
        optimizer.step().clear_grad()
        return loss

    return step


@pytest.mark.parametrize("is_traced", [False, True])
def test_some_steps_and_the_result_in_another_engine(net, tmp_path, is_traced):
    runtime = pytest.importorskip("onnxruntime")
    export(net, tmp_path / "net.onnx", images(2), input_names=["x"])
    again = load(tmp_path / "net.onnx", trainable=True)
    own, read = step_of(net), step_of(again)
    if is_traced:
        read = trace(read, symbolic=True)
    for _ in range(5):
        expected, loss = own(images(), LABELS), read(images(), LABELS)
        np.testing.assert_allclose(loss.item(), expected.item(), rtol=1e-5)
    export(again, tmp_path / "trained.onnx", images(2), input_names=["x"])
    session = runtime.InferenceSession(tmp_path / "trained.onnx")
    for batch in (2, 6):
        (got,) = session.run(None, {"x": images(batch).numpy()})
        np.testing.assert_allclose(got, net(images(batch)).numpy(), atol=1e-5)


def test_weights_are_a_state_by_the_names_of_the_file(net, tmp_path):
    export(net, tmp_path / "net.onnx", images(2))
    first = load(tmp_path / "net.onnx", trainable=True)
    second = load(tmp_path / "net.onnx", trainable=True)
    assert {"conv.weight", "norm.bias"} <= set(first.state_dict())
    assert "norm.running_mean" not in first.state_dict()
    step_of(first)(images(), LABELS)
    assert np.abs(first(images()).numpy() - second(images()).numpy()).max() > 1e-3
    second.load_state_dict(first.state_dict())
    np.testing.assert_array_equal(first(images()).numpy(), second(images()).numpy())


@pytest.mark.parametrize("name", ["hf_bert_ts", "tv_swin_dynamo", "torch_lstm_gru_ts"])
def test_real_exports_learn(name):
    net = load(FILES / f"{name}.onnx", trainable=True)
    file = np.load(FILES / f"{name}.inputs.npz")
    inputs = {key: file[key] for key in file.files}
    wanted = load(FILES / f"{name}.onnx")(**inputs)
    np.testing.assert_allclose(net(**inputs).numpy(), wanted.numpy(), atol=1e-5)
    target = mge.Tensor(np.sign(wanted.numpy()))
    manager = GradManager().attach(net.parameters())
    optimizer = optim.SGD(net.parameters(), lr=0.01)
    losses = []
    for _ in range(4):
        with manager:
            loss = F.nn.square_loss(net(**inputs), target)
            manager.backward(loss)
        optimizer.step().clear_grad()
        losses.append(loss.item())
    assert losses == sorted(losses, reverse=True) and losses[-1] < losses[0]


@pytest.mark.parametrize("trainable", [False, True])
def test_inputs_by_position_and_by_name(tmp_path, trainable):
    path = tmp_path / "difference.onnx"
    x, y = mge.Tensor([5.0, 6.0]), mge.Tensor([1.0, 2.0])
    export(lambda x, y: x - y, path, [x, y], input_names=["x", "y"])
    model = load(path, trainable=trainable)
    for result in (model(x, y), model(x, y=y), model(y=y, x=x)):
        assert result.numpy().tolist() == [4, 4]
    for inputs, named in [
        ((x, y), {"y": y}),
        ((x,), {"x": x, "y": y}),
        ((x,), {"x": x}),
        ((x,), {}),
        ((x, y, x), {}),
        ((x, y), {"z": x}),
    ]:
        names = re.escape(str(sorted(named)))
        with pytest.raises(TypeError, match=f"got {len(inputs)} by position and {names} by name"):
            model(*inputs, **named)


def test_inputs_that_are_missing_are_named(net, tmp_path):
    export(net, tmp_path / "net.onnx", images(2), input_names=["x"])
    with pytest.raises(TypeError, match=r"the model takes \['x'\], got 0 by position and \['z'\]"):
        load(tmp_path / "net.onnx", trainable=True)(z=images())
