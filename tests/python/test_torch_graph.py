# SPDX-License-Identifier: Apache-2.0
"""Modules of PyTorch's users: recorded by torch.fx and run here. Functions need no PyTorch."""

import collections
import contextlib
import copy
import importlib.util
import io
import math

import numpy as np
import pytest

import megengine as mge
import megengine.functional as F
from megengine.utils.torch_convert import convert_module, convert_state_dict
from megengine.utils.torch_functions import FUNCTIONS
from megengine.utils.torch_graph import GraphModule, Program, Step, Value

HAS_TORCH = importlib.util.find_spec("torch") is not None
if HAS_TORCH:
    import torch
    import torch.nn.functional as TF
    from torch import nn
needs_torch = pytest.mark.skipif(not HAS_TORCH, reason="PyTorch is not installed")


def random(*shape):
    return np.random.default_rng(0).normal(size=shape).astype(np.float32)


X = random(2, 3, 4)


@pytest.mark.parametrize(
    "name, args, kwargs, want",
    [
        ("view", (2, -1), {}, X.reshape(2, -1)),
        ("reshape", ((6, 4),), {}, X.reshape(6, 4)),
        ("permute", (0, -1, 1), {}, X.transpose(0, 2, 1)),
        ("transpose", (1, -1), {}, X.swapaxes(1, 2)),
        ("unsqueeze", (-1,), {}, X[..., None]),
        ("squeeze", (1,), {}, X),
        ("expand", (5, -1, 3, 4), {}, np.broadcast_to(X, (5, 2, 3, 4))),
        ("repeat", (2, 1, 3), {}, np.tile(X, (2, 1, 3))),
        ("flip", (0, -1), {}, X[::-1, :, ::-1]),
        ("sum", (), {"dim": -1, "keepdim": True}, X.sum(-1, keepdims=True)),
        ("mean", ((0, 2),), {}, X.mean((0, 2))),
        ("amax", (1,), {}, X.max(1)),
        ("argmax", (1,), {}, X.argmax(1)),
        ("max", (), {}, X.max()),
        ("norm", (), {}, np.linalg.norm(X)),
        ("norm", ("fro",), {}, np.linalg.norm(X)),
        ("norm", (), {"dim": 1, "keepdim": True}, np.linalg.norm(X, axis=1, keepdims=True)),
        ("clamp", (), {"min": 0.1}, X.clip(0.1)),
        ("cumsum", (1,), {}, X.cumsum(1)),
        ("mod", (-0.75,), {}, X % -0.75),
        ("remainder", (0.75,), {}, X % 0.75),
        ("fmod", (0.75,), {}, np.fmod(X, 0.75)),
        (
            "pad",
            ((1, 2, 0, 1),),
            {"value": 3},
            np.pad(X, ((0, 0), (0, 1), (1, 2)), constant_values=3),
        ),
        ("elu", (0.5,), {}, np.where(X > 0, X, 0.5 * np.expm1(X))),
        ("normalize", (), {"dim": 1}, X / np.linalg.norm(X, axis=1, keepdims=True)),
        ("rsqrt", (), {}, None),
        ("size", (), {}, (2, 3, 4)),
        ("size", (-1,), {}, 4),
    ],
)
def test_functions_of_pytorch(name, args, kwargs, want):
    x = mge.Tensor(np.abs(X) if name == "rsqrt" else X)
    got = FUNCTIONS[name](x, *args, **kwargs)
    want = np.abs(X) ** -0.5 if name == "rsqrt" else want
    np.testing.assert_allclose(got.numpy() if isinstance(got, mge.Tensor) else got, want, rtol=1e-5)


def test_parts_of_a_tensor():
    x = mge.Tensor(X)
    for parts, sizes in (
        (FUNCTIONS["split"](x, 3, dim=2), [3, 1]),
        (FUNCTIONS["split"](x, [1, 1, 2], 2), [1, 1, 2]),
        (FUNCTIONS["split"](x, 9, 2), [4]),
        (FUNCTIONS["chunk"](x, 3, -1), [2, 2]),
    ):
        assert [part.shape[2] for part in parts] == sizes
        np.testing.assert_array_equal(F.concat(list(parts), 2).numpy(), X)


def test_extremes():
    x = mge.Tensor(X)
    values, places = FUNCTIONS["max"](x, dim=1)
    np.testing.assert_array_equal(values.numpy(), X.max(1))
    np.testing.assert_array_equal(places.numpy(), X.argmax(1))
    assert FUNCTIONS["min"](x, 2, keepdim=True)[0].shape == (2, 3, 1)
    for least in (FUNCTIONS["min"](x, -x), FUNCTIONS["min"](x, other=-x)):
        np.testing.assert_array_equal(least.numpy(), -abs(X))
    rows = FUNCTIONS["unbind"](x, 1)
    np.testing.assert_array_equal([row.numpy() for row in rows], X.swapaxes(0, 1))


def test_attention_with_masks():
    x, mask = mge.Tensor(X), np.tri(3, dtype=bool)
    attend = FUNCTIONS["scaled_dot_product_attention"]
    scores = np.where(mask, X @ X.swapaxes(1, 2) / 2, -np.inf)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    want = weights / weights.sum(-1, keepdims=True) @ X
    added = mge.Tensor(np.where(mask, 0, -np.inf).astype(np.float32))
    for given in ({"is_causal": True}, {"attn_mask": mge.Tensor(mask)}, {"attn_mask": added}):
        np.testing.assert_allclose(attend(x, x, x, **given).numpy(), want, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("dropout", [0.0, 0.5])
def test_attention_of_a_query_that_sees_no_key_is_zero(dropout):
    attend, mask = FUNCTIONS["scaled_dot_product_attention"], np.tri(3, dtype=bool)
    mask[1] = False
    added = np.where(mask, 0, -np.inf).astype(np.float32)
    for given in (mask, added):
        x = mge.Tensor(X)
        with mge.autodiff.GradManager().attach(x) as gm:
            found = attend(x, x, x, mge.Tensor(given), dropout)
            gm.backward(F.sum(found * found))
        assert not found.numpy()[:, 1].any() and np.isfinite(found.numpy()).all()
        assert np.isfinite(x.grad.numpy()).all()


@needs_torch
@pytest.mark.parametrize("need_weights", [False, True])
def test_attention_layer_treats_hidden_rows_as_pytorch(need_weights):
    torch.manual_seed(0)
    theirs = nn.MultiheadAttention(8, 2, batch_first=True)
    ours = convert_module(theirs)
    x = np.random.default_rng(0).normal(size=(2, 3, 8)).astype(np.float32)
    hidden = ~np.tri(3, dtype=bool)
    hidden[1] = True
    t = torch.tensor(x)
    want = theirs(t, t, t, attn_mask=torch.tensor(hidden), need_weights=need_weights)[0]
    x = mge.Tensor(x)
    got = ours(x, x, x, attn_mask=mge.Tensor(hidden), need_weights=need_weights)[0]
    np.testing.assert_allclose(got.numpy(), want.detach().numpy(), rtol=1e-4, atol=1e-5)


def test_ties_round_to_even():
    x = np.float32([-2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 3.5, 0.4, -1.6, 2.0])
    np.testing.assert_array_equal(FUNCTIONS["round"](mge.Tensor(x)).numpy(), np.round(x))
    assert FUNCTIONS["mod"](-7, 3) == 2


def test_whole_rows_are_dropped():
    x = F.ones((64, 2, 3))
    found = FUNCTIONS["stochastic_depth"](x, 0.5, "row").numpy()
    assert {tuple(row.ravel()) for row in found} == {(0.0,) * 6, (2.0,) * 6}
    assert FUNCTIONS["stochastic_depth"](x, 0.5, "row", False) is x
    assert len(np.unique(FUNCTIONS["stochastic_depth"](x, 0.5, "batch").numpy())) == 1


def test_steps_run_and_change_values_in_place():
    x = Value("x")
    steps = [
        Step("function", "x", "mul", (x, 2), {}, ()),
        Step("function", "y", "add", (x, x), {}, ("x",)),
    ]
    program = Program(("x",), steps, {"found": [Value("y")]})
    net = GraphModule({True: program, False: program})
    assert net(mge.Tensor(3.0))["found"][0].item() == 12
    assert net(x=mge.Tensor(3.0))["found"][0].item() == 12
    for wrong in ((), (1, 2)):
        with pytest.raises(TypeError, match="the inputs are x, got"):
            net(*wrong)


def nets():
    class Block(nn.Module):
        def __init__(self, width, out, stride):
            super().__init__()
            self.conv1 = nn.Conv2d(width, out, 3, stride, 1, bias=False)
            self.bn1, self.bn2 = nn.BatchNorm2d(out), nn.BatchNorm2d(out)
            self.conv2 = nn.Conv2d(out, out, 3, 1, 1, bias=False)
            self.relu, self.down = nn.ReLU(inplace=True), None
            if stride != 1:
                self.down = nn.Sequential(nn.Conv2d(width, out, 1, stride), nn.BatchNorm2d(out))

        def forward(self, x):
            identity = x if self.down is None else self.down(x)
            out = self.relu(self.bn1(self.conv1(x)))
            out = self.bn2(self.conv2(out))
            out += identity
            return self.relu(out)

    class ResNet(nn.Module):
        def __init__(self):
            super().__init__()
            self.stem = nn.Sequential(nn.Conv2d(3, 4, 3, padding=1), nn.MaxPool2d(2))
            self.layer1 = nn.Sequential(Block(4, 4, 1), Block(4, 8, 2))
            self.pool, self.fc = nn.AdaptiveAvgPool2d(1), nn.Linear(8, 3)

        def forward(self, x):
            x = self.pool(self.layer1(self.stem(x)))
            return self.fc(torch.flatten(x, 1))

    class Encoder(nn.Module):
        def __init__(self):
            super().__init__()
            layer = nn.TransformerEncoderLayer(8, 2, 12, 0.0, batch_first=True)
            self.encoder = nn.TransformerEncoder(layer, 2, nn.LayerNorm(8))
            self.place = nn.Parameter(torch.randn(1, 5, 8))
            self.head = nn.Linear(8, 3)

        def forward(self, x):
            return self.head(self.encoder(x + self.place).mean(dim=1))

    class Attention(nn.Module):
        def __init__(self):
            super().__init__()
            self.qkv, self.norm = nn.Linear(8, 24), nn.LayerNorm(8)
            self.register_buffer("mask", torch.tril(torch.ones(6, 6)))

        def forward(self, x, scale=None, factor=1.0):
            batch, length, width = x.size()
            q, k, v = self.qkv(self.norm(x)).split(width, dim=2)
            shape = batch, length, 2, width // 2
            q, k, v = (part.view(shape).transpose(1, 2) for part in (q, k, v))
            scores = (q @ k.transpose(-2, -1)) * (1 / math.sqrt(4)) * factor
            if scale is not None:
                scores = scores * scale
            scores = scores.masked_fill(self.mask[:length, :length] == 0, float("-inf"))
            y = TF.softmax(scores, dim=-1) @ v
            return x + y.transpose(1, 2).contiguous().view(batch, length, width)

    class Images(nn.Module):
        def __init__(self):
            super().__init__()
            self.up, self.out = nn.ConvTranspose2d(3, 4, 2, 2), nn.ModuleList([nn.Conv2d(7, 2, 1)])

        def forward(self, x):
            y = TF.interpolate(TF.relu(self.up(x), inplace=True), size=x.shape[2:], mode="bilinear")
            y = torch.cat([x, y], dim=1)
            for layer in self.out:
                y = TF.leaky_relu(layer(y), 0.1)
            y = y * torch.sigmoid(TF.adaptive_avg_pool2d(y, 1))
            y = TF.max_pool2d(TF.pad(y, (1, 1)), 2)
            return (y, y.mean()) if self.training else y

    sequence, image = (2, 5, 8), (2, 3, 8, 8)
    return {
        "resnet": (ResNet, image),
        "encoder": (Encoder, sequence),
        "attention": (Attention, sequence),
        "images": (Images, image),
    }


def leaves(value):
    return (
        [leaf for part in value for leaf in leaves(part)] if isinstance(value, tuple) else [value]
    )


@needs_torch
@pytest.mark.parametrize("name", ["resnet", "encoder", "attention", "images"])
def test_user_nets_match(name, tmp_path):
    make, shape = nets()[name]
    torch.manual_seed(0)
    net, x = make(), random(*shape)
    ours = convert_module(net)
    assert ours.training and net.training
    names = dict(net.named_parameters())
    assert dict(ours.named_parameters()).keys() == names.keys()
    gm = mge.autodiff.GradManager().attach(ours.parameters())
    with gm:
        got = leaves(ours(mge.Tensor(x)))
        gm.backward(sum((y * y).sum() for y in got))
    want = leaves(net(torch.tensor(x)))
    sum((y * y).sum() for y in want).backward()
    for y, other in zip(got, want, strict=True):
        np.testing.assert_allclose(y.numpy(), other.detach(), rtol=1e-4, atol=1e-5)
    for key, parameter in ours.named_parameters():
        grad = names[key].grad.numpy()
        limit = 1e-4 * max(1, np.abs(grad).max())
        np.testing.assert_allclose(parameter.grad.numpy().reshape(grad.shape), grad, atol=limit)
    net.eval()
    ours.eval()
    want = net(torch.tensor(x)).detach().numpy()
    traced = mge.jit.trace(ours, symbolic=True, capture_as_const=True)
    for run in (ours, copy.deepcopy(ours), traced, traced):
        np.testing.assert_allclose(run(mge.Tensor(x)).numpy(), want, rtol=1e-4, atol=1e-5)
    traced.dump(str(tmp_path / "net.mge"))


@needs_torch
@pytest.mark.parametrize("kind", ["LSTM", "RNN"])
@pytest.mark.parametrize("options", [{}, {"num_layers": 2, "bidirectional": True}, {"bias": False}])
def test_recurrent_nets(kind, options):
    class Classifier(nn.Module):
        def __init__(self):
            super().__init__()
            self.table = nn.Embedding(20, 6)
            self.net = getattr(nn, kind)(6, 7, batch_first=True, **options)
            self.head = nn.LazyLinear(3)

        def forward(self, tokens):
            out, state = self.net(self.table(tokens))
            return self.head(
                torch.cat([out[:, -1], state[0][0] if kind == "LSTM" else state[0]], 1)
            )

    torch.manual_seed(0)
    net, tokens = Classifier(), np.random.default_rng(0).integers(0, 20, (2, 5))
    want = net(torch.tensor(tokens)).detach().numpy()
    got = convert_module(net)(mge.Tensor(tokens.astype(np.int32)))
    np.testing.assert_allclose(got.numpy(), want, rtol=1e-4, atol=1e-5)


@needs_torch
def test_modes_and_shared_parts():
    class Tied(nn.Module):
        def __init__(self):
            super().__init__()
            self.table, self.out = nn.Embedding(9, 4), nn.Linear(4, 9, bias=False)
            self.out.weight = self.table.weight

        def forward(self, tokens):
            return self.out(TF.dropout(self.table(tokens), 0.5, training=self.training))

    net = Tied()
    net.out.eval()
    ours = convert_module(net)
    assert ours.out.weight is ours.table.weight and not ours.out.training and not net.out.training
    assert convert_state_dict(net.state_dict(), ours).keys() == net.state_dict().keys()
    tokens = mge.Tensor([[1, 2]], dtype="int32")
    assert (ours(tokens).numpy() != ours(tokens).numpy()).any()
    ours.eval()
    np.testing.assert_array_equal(ours(tokens).numpy(), ours(tokens).numpy())
    file = io.BytesIO()
    mge.save(ours.state_dict(), file)
    ours.load_state_dict(mge.load(io.BytesIO(file.getvalue())))


@needs_torch
def test_results_are_tuples_and_dicts():
    Pair = collections.namedtuple("Pair", "a b")

    class Several(nn.Module):
        def forward(self, x, y):
            return {"pair": Pair(x + y, [x]), "none": None, "size": x.size(0)}

    found = convert_module(Several())(mge.Tensor([1.0]), mge.Tensor([2.0]))
    assert found["pair"][0].item() == 3 and found["pair"][1][0].item() == 1
    assert found["none"] is None and found["size"] == 1


def user_module(forward, **parts):
    made = type("Own", (nn.Module,), {"forward": forward})()
    for name, part in parts.items():
        if isinstance(part, nn.Module):
            setattr(made, name, part)
        else:
            made.register_buffer(name, part)
    return made


def check(net, *inputs):
    want = net(*(torch.tensor(x) for x in inputs)).detach().numpy()
    found = convert_module(net)(*(mge.Tensor(x) for x in inputs)).numpy()
    np.testing.assert_allclose(found, want, rtol=1e-4, atol=1e-5)


@needs_torch
def test_values_are_changed_in_place():
    def aliases(self, x):
        y = x + 1
        z = y.add_(1)
        z *= 2
        TF.relu(z, True)
        self.act(input=z)
        return y

    def sizes(self, x):
        size = x.size(0)
        more = size
        more += 1
        y = x.view(size, -1) * (more + size)
        y += 1
        return y.view(x.shape)

    check(user_module(aliases, act=nn.ReLU6(inplace=True)), X)
    check(user_module(sizes), X)


@needs_torch
def test_positional_arguments_are_pytorchs():
    image = random(1, 2, 7, 7)
    check(user_module(lambda self, x: TF.avg_pool2d(x, 3, 2, 1, False, False)), image)
    check(user_module(lambda self, x: TF.adaptive_max_pool2d(x, (3, None))), image)
    check(user_module(lambda self, x: x.where(x > 0, x * 2)), image)
    check(user_module(lambda self, x: TF.interpolate(x, None, 2, "bicubic")), image)
    for forward in (
        lambda self, x: TF.avg_pool2d(x, 3, 2, 1, True),
        lambda self, x: TF.interpolate(x, scale_factor=1.3, mode="bilinear"),
    ):
        with pytest.raises(NotImplementedError, match="ceil_mode|scale_factor 1.3 makes no whole"):
            convert_module(user_module(forward))(mge.Tensor(image))


@needs_torch
def test_changes_of_shared_values_are_refused():
    def view(self, x):
        x.view(-1).add_(1)
        return x

    def part(self, x):
        y = x + 1
        y[0] *= 2
        return y

    def row(self, x):
        y = x + 1
        row = y[0]
        row *= 2
        return y

    def layer(self, x):
        self.act(self.flat(x))
        return x

    def buffer(self, x):
        self.count.add_(1)
        return x * self.count

    def new_buffer(self, x):
        self.count = self.count + x.mean()
        return x

    for forward, message in (
        (view, "add_ in place on memory that another value shares"),
        (part, "does not support item assignment"),
        (row, "imul in place on memory that another value shares"),
        (layer, "calls act in place on memory"),
        (buffer, "calls add_ in place on count"),
        (new_buffer, "assigns a new tensor to count in its forward"),
    ):
        parts = {"act": nn.ReLU(inplace=True), "flat": nn.Flatten(), "count": torch.zeros(1)}
        net = user_module(forward, **parts)
        with pytest.raises(NotImplementedError, match=f"{message}.*torch.onnx.export"):
            convert_module(net)
        assert net.count is parts["count"]


@needs_torch
def test_user_attributes_are_kept():
    def forward(self, x):
        self.calls, self.last = self.calls + 1, x
        return x * 2

    net = user_module(forward)
    net.calls = 0
    convert_module(net)
    assert net.calls == 0 and not hasattr(net, "last")


@needs_torch
def test_the_row_of_the_padding_has_no_gradient():
    net = nn.Embedding(4, 2, padding_idx=1)
    ours, tokens = convert_module(net), np.int32([[1, 2], [1, 3]])
    with mge.autodiff.GradManager().attach(ours.parameters()) as gm:
        gm.backward((ours(mge.Tensor(tokens)) + 1).sum())
    (net(torch.tensor(tokens)) + 1).sum().backward()
    np.testing.assert_array_equal(ours.weight.grad.numpy(), net.weight.grad.numpy())
    with pytest.raises(NotImplementedError, match="scale_grad_by_freq"):
        convert_module(nn.Embedding(4, 2, scale_grad_by_freq=True))


@needs_torch
def test_no_gradients_pass_no_grad():
    def forward(self, x):
        with torch.no_grad():
            a, b = self.frozen(x).view(x.size(0), -1).chunk(2, 1)
        return self.head(a * b)

    net = user_module(forward, frozen=nn.Linear(4, 4), head=nn.Linear(2, 3))
    for context in (contextlib.nullcontext(), torch.no_grad()):
        with context:
            ours = convert_module(net)
        with mge.autodiff.GradManager().attach(ours.parameters()) as gm:
            gm.backward(ours(mge.Tensor(random(2, 4))).sum())
        assert ours.frozen.weight.grad is None and ours.head.weight.grad is not None


@needs_torch
def test_layers_may_be_there_twice():
    shared, other, act = nn.Linear(4, 4), nn.Linear(4, 4), nn.ReLU()
    other.weight = shared.weight
    net = nn.Sequential(shared, act, shared, act, other)
    check(net, X)
    ours = convert_module(net)
    assert ours[0] is ours[2] and ours[0].weight is ours[4].weight
    assert len(list(ours.parameters())) == len(list(net.parameters())) == 3


@needs_torch
def test_hooks_and_other_things_are_refused():
    linear = nn.Linear(2, 2)
    linear.register_forward_hook(lambda module, inputs, output: output * 2)
    for net in (linear, nn.Sequential(linear), nn.utils.weight_norm(nn.Linear(2, 2))):
        with pytest.raises(NotImplementedError, match="is a Linear with hooks of its forward"):
            convert_module(net)
    with pytest.raises(NotImplementedError, match=r"module\.0 is a ScriptModule"):
        convert_module(nn.Sequential(torch.jit.script(nn.Linear(2, 2))))
    for wrong in (5, None, nn.Linear):
        with pytest.raises(TypeError, match="module is a torch.nn.Module, got"):
            convert_module(wrong)


@needs_torch
def test_unrecordable_operations_are_named():
    class Fourier(nn.Module):
        def forward(self, x):
            return torch.fft.fft(x + 1)

    deep = user_module(lambda self, x: x, inner=nn.Sequential(nn.ReLU(), nn.Bilinear(2, 2, 2)))
    for layer, message in (
        (
            user_module(lambda self, x: x if x.sum() > 0 else -x),
            "is a Own whose forward.*control flow",
        ),
        (user_module(lambda self, x: x * torch.rand(1)), "draws random numbers"),
        (user_module(lambda self, *xs: xs[0]), r"takes \*xs, so the number of its inputs is open"),
        (Fourier(), r"module calls fft_fft in `return torch\.fft\.fft\(x \+ 1\)`"),
        (
            user_module(lambda self, x: TF.gelu(x, approximate="tanh")),
            "gelu with {'approximate': 'tanh'}",
        ),
        (
            user_module(lambda self, x: deep.inner[1](x, x), inner=deep.inner),
            r"inner\.1 is a Bilinear",
        ),
    ):
        with pytest.raises(NotImplementedError, match=f"{message}.*torch.onnx.export"):
            convert_module(layer)
