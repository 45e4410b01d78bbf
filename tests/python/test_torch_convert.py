# SPDX-License-Identifier: Apache-2.0
"""PyTorch's modules: run there, converted, and their state dicts. All but the last need PyTorch."""

import importlib.util

import numpy as np
import pytest

import megengine as mge
import megengine.functional as F
import megengine.module as M
from megengine.utils.torch_convert import TorchModule, convert_module, convert_state_dict

HAS_TORCH = importlib.util.find_spec("torch") is not None
if HAS_TORCH:
    import torch
    from torch import nn
needs_torch = pytest.mark.skipif(not HAS_TORCH, reason="PyTorch is not installed")


def net_of(seed=0):
    torch.manual_seed(seed)
    return nn.Sequential(
        nn.Conv2d(4, 8, 3, padding=1, groups=2),
        nn.BatchNorm2d(8, momentum=0.3),
        nn.ReLU(inplace=True),
        nn.AvgPool2d(2, padding=1),
        nn.Sequential(nn.Flatten(), nn.Linear(8 * 25, 5)),
    )


def image(seed=0, shape=(3, 4, 8, 8)):
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


def gradients(run, x, parameters):
    """Gradients of the sum of squares of the result of `run`: the result, and the gradients of x
    and the parameters."""
    x = mge.Tensor(x)
    with mge.autodiff.GradManager().attach([x, *parameters]) as gm:
        y = run(x)
        gm.backward(F.sum(y * y))
    return y.numpy(), [x.grad.numpy(), *(p.grad.numpy() for p in parameters)]


def torch_gradients(net, x):
    x = torch.tensor(x, requires_grad=True)
    y = net(x)
    (y * y).sum().backward()
    return y.detach().numpy(), [x.grad.numpy(), *(p.grad.numpy() for p in net.parameters())]


@needs_torch
def test_a_torch_module_runs_on_our_tensors_with_gradients():
    theirs, ours = net_of(), TorchModule(net_of())
    wanted, wanted_grads = torch_gradients(theirs, image())
    names = [f"torch.{name}" for name, _ in theirs.named_parameters()]
    parameters = [dict(ours.named_parameters())[name] for name in names]
    got, grads = gradients(ours, image(), parameters)
    np.testing.assert_allclose(got, wanted, rtol=1e-4, atol=1e-5)
    for grad, other in zip(grads, wanted_grads, strict=True):
        np.testing.assert_allclose(grad, other, rtol=1e-4, atol=1e-4)
    assert set(ours.state_dict()) == {
        f"torch.{k}" for k in theirs.state_dict() if not k.endswith("num_batches_tracked")
    }


@needs_torch
def test_it_trains_in_pytorchs_memory():
    net = net_of()
    ours = TorchModule(net)
    before = [p.detach().clone() for p in net.parameters()]
    mean = net[1].running_mean.clone()
    optimizer = mge.optimizer.Adam(ours.parameters(), lr=0.01)
    gm = mge.autodiff.GradManager().attach(ours.parameters())
    x, y = mge.Tensor(image()), mge.Tensor(np.array([0, 1, 2], np.int32))
    losses = []
    for _ in range(30):
        with gm:
            loss = F.nn.cross_entropy(ours(x), y)
            gm.backward(loss)
        optimizer.step().clear_grad()
        losses.append(float(loss))
    assert losses[-1] < 0.2 * losses[0]
    assert all((p != q).any() for p, q in zip(net.parameters(), before, strict=True))
    assert (net[1].running_mean != mean).any()
    buffer = dict(ours.named_buffers())["torch.1.running_mean"]
    np.testing.assert_array_equal(buffer.numpy(), net[1].running_mean.numpy())
    ours.eval()
    assert not net.training and not net[1].training
    np.testing.assert_allclose(ours(x).numpy(), net(torch.tensor(image())).detach(), rtol=1e-6)
    np.testing.assert_array_equal(x.numpy(), image())  # inplace ReLUs leave it alone


@needs_torch
def test_several_inputs_and_outputs():
    class Two(nn.Module):
        def forward(self, x, factor, rows):
            return x * factor, x[rows]

    ours = TorchModule(Two())
    x = mge.Tensor([[1.0, 2.0], [3.0, 4.0]])
    with mge.autodiff.GradManager().attach(x) as gm:
        scaled, taken = ours(x, 3, mge.Tensor([1, 1], dtype="int32"))
        gm.backward(F.sum(scaled) + F.sum(taken))
    np.testing.assert_array_equal(taken.numpy(), [[3, 4], [3, 4]])
    np.testing.assert_array_equal(x.grad.numpy(), [[3, 3], [5, 5]])
    with pytest.raises(TypeError, match="a tensor, or a tuple of tensors"):
        TorchModule(type("Odd", (nn.Module,), {"forward": lambda self, x: [1]})())(x)
    with pytest.raises(RuntimeError, match="cannot be traced"):
        mge.jit.trace(lambda v: ours(v, 1, v))(x)


def layers():
    def case(layer, shape=(2, 4, 6, 6)):
        return pytest.param(layer, shape, id=f"{type(layer).__name__}{shape}")

    return [
        case(nn.Linear(6, 3)),
        case(nn.Linear(6, 3, bias=False), (5, 6)),
        case(nn.Conv1d(4, 6, 3, stride=2, padding=1, groups=2), (2, 4, 9)),
        case(nn.Conv2d(4, 6, (3, 2), 2, 1, dilation=2)),
        case(nn.Conv2d(4, 4, 3, groups=4, bias=False)),
        case(nn.Conv2d(4, 4, (3, 5), padding="same", dilation=(1, 2))),
        case(nn.Conv2d(4, 4, 3, padding="valid")),
        case(nn.Conv3d(2, 4, 3, padding=1), (1, 2, 4, 4, 4)),
        case(nn.ConvTranspose2d(4, 6, 3, 2, 1, output_padding=1)),
        case(nn.ConvTranspose2d(4, 6, 3, 2, groups=2)),
        case(nn.BatchNorm1d(4), (8, 4)),
        case(nn.BatchNorm2d(4, eps=1e-3, momentum=0.2)),
        case(nn.BatchNorm2d(4, affine=False)),
        case(nn.LayerNorm((6, 6))),
        case(nn.GroupNorm(2, 4)),
        case(nn.ReLU()),
        case(nn.LeakyReLU(0.2)),
        case(nn.PReLU(4)),
        case(nn.Sigmoid()),
        case(nn.SiLU()),
        case(nn.GELU()),
        case(nn.Softmax(1)),
        case(nn.Dropout(0.0)),
        case(nn.MaxPool2d(2)),
        case(nn.MaxPool2d(3, 2, 1)),
        case(nn.MaxPool2d(3, 2, ceil_mode=True)),
        case(nn.MaxPool2d((2, 3), (3, 2), (1, 0), ceil_mode=True), (2, 3, 7, 8)),
        case(nn.AvgPool2d(3, 2, 1)),
        case(nn.AvgPool2d(3, 2, 1, count_include_pad=False)),
        case(nn.AdaptiveAvgPool2d(3)),
        case(nn.AdaptiveMaxPool2d((2, 3))),
        case(nn.AdaptiveAvgPool2d((3, 5)), (2, 4, 7, 8)),
        case(nn.AdaptiveMaxPool2d((5, None)), (2, 4, 7, 8)),
        case(nn.PixelShuffle(2)),
        case(nn.Flatten(1, 2)),
        case(nn.Identity()),
        case(nn.ELU(0.7)),
        case(nn.Hardsigmoid()),
        case(nn.Hardswish()),
        case(nn.InstanceNorm2d(4, affine=True)),
        case(nn.LogSoftmax(1)),
        case(nn.ReLU6()),
        case(nn.ReflectionPad2d((1, 2, 3, 0))),
        case(nn.ReplicationPad2d(1)),
        case(nn.Tanh()),
        case(nn.Softplus()),
        case(nn.Softplus(2, 1.0)),
        case(nn.Hardtanh(-0.5, 0.8)),
        case(nn.LogSigmoid()),
        case(nn.Mish()),
        case(nn.Dropout2d(0.0)),
        case(nn.MaxPool1d(3, 2, 1), (2, 4, 9)),
        case(nn.AvgPool1d(3, 2, 1, count_include_pad=False), (2, 4, 9)),
        case(nn.AdaptiveAvgPool1d(3), (2, 4, 9)),
        case(nn.AdaptiveAvgPool1d(4), (2, 4, 9)),
        case(nn.Upsample(scale_factor=2)),
        case(nn.Upsample((5, 7), mode="bilinear", align_corners=True)),
        case(nn.ZeroPad2d((1, 0, 2, 3))),
        case(nn.TransformerEncoderLayer(6, 2, 8, 0.0), (5, 2, 6)),
        case(nn.TransformerEncoderLayer(6, 2, 8, 0.0, "gelu", norm_first=True), (5, 2, 6)),
    ]


@needs_torch
@pytest.mark.parametrize("layer, shape", layers() if HAS_TORCH else [])
def test_layers_of_both_networks(layer, shape):
    ours = convert_module(layer)
    x = image(1, shape)
    wanted, wanted_grads = torch_gradients(layer, x)
    got, grads = gradients(ours, x, list(dict(ours.named_parameters()).values()))
    np.testing.assert_allclose(got, wanted, rtol=1e-4, atol=1e-5)
    by_name = dict(zip(dict(layer.named_parameters()), wanted_grads[1:], strict=True))
    wanted_grads = [wanted_grads[0], *(by_name[name] for name, _ in ours.named_parameters())]
    for grad, other in zip(grads, wanted_grads, strict=True):
        np.testing.assert_allclose(grad.reshape(other.shape), other, rtol=1e-3, atol=1e-4)
    for name, buffer in ours.named_buffers():
        statistics = layer.state_dict()[name].numpy()
        np.testing.assert_allclose(buffer.numpy().reshape(-1), statistics, rtol=1e-5, atol=1e-6)


@needs_torch
def test_nets_of_layers_are_converted_traced_and_dumped(tmp_path):
    net = net_of().eval()
    ours = convert_module(net)
    wanted = net(torch.tensor(image())).detach().numpy()
    traced = mge.jit.trace(ours, capture_as_const=True)
    for _ in range(2):
        np.testing.assert_allclose(
            traced(mge.Tensor(image())).numpy(), wanted, rtol=1e-4, atol=1e-5
        )
    traced.dump(str(tmp_path / "net.mge"))
    indices = mge.Tensor([[1, 2], [0, 2]], dtype="int32")
    table = nn.Embedding(3, 4)
    np.testing.assert_array_equal(
        convert_module(table)(indices).numpy(),
        table(torch.tensor([[1, 2], [0, 2]])).detach().numpy(),
    )


@needs_torch
def test_whole_channels_are_dropped():
    ours = convert_module(nn.Sequential(nn.Dropout2d(0.5), nn.Dropout1d(0.5)))
    found = ours(F.ones((64, 2, 3, 3))).numpy().reshape(128, 9)
    assert {tuple(row) for row in found} == {(0.0,) * 9, (4.0,) * 9}
    assert (ours.eval() or ours)(F.ones((1, 2, 3, 3))).numpy().min() == 1


@needs_torch
def test_operators_without_counterpart_are_named():
    for layer, message in (
        (nn.Sequential(nn.Sequential(nn.GRU(2, 3))), r"module\.0\.0 is a GRU.*torch\.onnx\.export"),
        (nn.MaxPool2d(2, return_indices=True), "MaxPool2d with dilation or return_indices"),
        (nn.AdaptiveMaxPool2d(2, return_indices=True), "AdaptiveMaxPool2d with return_indices"),
        (nn.LayerNorm(2, bias=False), "LayerNorm with bias=False"),
        (nn.Conv2d(1, 1, 2, padding="same"), "with padding 'same' that is wider on one side"),
        (nn.Conv2d(1, 1, 3, padding_mode="reflect", padding=1), "with padding_mode 'reflect'"),
        (nn.GELU("tanh"), "approximate 'tanh'"),
    ):
        with pytest.raises(NotImplementedError, match=message):
            convert_module(layer)


def test_state_dicts_take_our_shapes():
    net = M.Sequential(M.Conv2d(4, 6, 3, groups=2), M.BatchNorm2d(6))
    state = {
        "0.weight": np.arange(108, dtype=np.float32).reshape(6, 2, 3, 3),
        "0.bias": np.zeros(6, np.float32),
        "1.weight": np.ones(6),
        "1.bias": np.zeros(6, np.float32),
        "1.running_mean": np.arange(6, dtype=np.float32),
        "1.running_var": np.ones(6, np.float32),
        "1.num_batches_tracked": np.array(5),
    }
    net.load_state_dict(convert_state_dict(state, net))
    weight = dict(net.named_parameters())["0.weight"].numpy()
    np.testing.assert_array_equal(weight.reshape(6, 2, 3, 3), state["0.weight"])
    assert dict(net.named_buffers())["1.running_mean"].shape == (1, 6, 1, 1)
    with pytest.raises(
        ValueError, match=r"shape \(1, 6, 1, 1\), the value \(6,\); utils.*convert_s"
    ):
        net.load_state_dict({k: v for k, v in state.items() if k != "0.weight"}, strict=False)
    with pytest.raises(KeyError, match=r"missing: \['0.bias'\]; not in the Module: \['0.b'\]"):
        convert_state_dict({**{k: v for k, v in state.items() if k != "0.bias"}, "0.b": 1}, net)
    with pytest.raises(ValueError, match=r"0.bias has shape \(5,\), the Module's \(1, 6, 1, 1\)"):
        convert_state_dict({**state, "0.bias": np.zeros(5)}, net)


@pytest.mark.skipif(HAS_TORCH, reason="PyTorch is installed")
def test_without_pytorch_it_raises():
    with pytest.raises(ImportError, match="pip install torch"):
        TorchModule(None)
