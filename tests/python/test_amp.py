# SPDX-License-Identifier: Apache-2.0
"""Automatic mixed precision; dtypes and scales are those that MegEngine 1.13 gives."""

import copy
import threading

import numpy as np
import pytest

import megengine as mge
import megengine.functional as F
import megengine.module as M
from megengine import amp
from megengine.autodiff import GradManager
from megengine.compat import core2
from megengine.jit import trace

RANDOM = np.random.RandomState(7)
IMAGE = mge.Tensor(RANDOM.rand(2, 4, 5, 5).astype("float32"))
MATRIX = mge.Tensor(RANDOM.rand(4, 4).astype("float32"))
HALF_IMAGE, HALF = IMAGE.astype("float16"), MATRIX.astype("float16")
WEIGHT = mge.Tensor(RANDOM.rand(4, 4, 3, 3).astype("float32"))
CHANNELS = F.ones((1, 4, 1, 1))

LOW = {
    "conv2d": lambda: F.conv2d(IMAGE, WEIGHT, CHANNELS),
    "conv_transpose2d": lambda: F.conv_transpose2d(IMAGE, WEIGHT),
    "matmul": lambda: F.matmul(MATRIX, HALF),
    "linear": lambda: F.linear(MATRIX, MATRIX, MATRIX[0]),
    "batch_norm": lambda: M.BatchNorm2d(4)(IMAGE),
}
HIGH = {
    "layer_norm": lambda: M.LayerNorm(5)(HALF_IMAGE),
    "group_norm": lambda: M.GroupNorm(2, 4)(HALF_IMAGE),
    "div": lambda: HALF / HALF,
    "pow": lambda: HALF**2,
    "cross_entropy": lambda: F.loss.cross_entropy(HALF, mge.Tensor([1, 2, 3, 0])),
    "square_loss": lambda: F.loss.square_loss(HALF, HALF),
    **{
        name: lambda name=name: getattr(F, name)(HALF)
        for name in "exp log log1p expm1 sqrt sin cos tan atan softplus logsigmoid hsigmoid".split()
    },
}
AS_GIVEN = {
    "add": lambda: HALF + HALF,
    "sum": lambda: F.sum(HALF),
    "max_pool2d": lambda: F.max_pool2d(HALF_IMAGE, 2),
    "concat": lambda: F.concat([HALF, HALF]),
    **{
        name: lambda name=name: getattr(F, name)(HALF)
        for name in "tanh sigmoid relu gelu silu hswish softmax square abs floor".split()
    },
}


@pytest.fixture(autouse=True)
def settings_stay_as_they_were():
    yield
    assert (amp.enabled, amp.low_prec_dtype, amp.high_prec_dtype) == (False, "float16", "float32")
    assert mge.config._compute_mode == "default"


@pytest.mark.parametrize("name", LOW)
def test_low_precision(name):
    with amp.autocast():
        assert LOW[name]().dtype == np.float16
    with amp.autocast(low_prec_dtype="bfloat16"):
        assert mge.core.tensor.dtype.is_bfloat16(LOW[name]().dtype)
    assert LOW[name]().dtype == np.float32


@pytest.mark.parametrize("name", HIGH)
def test_high_precision(name):
    with amp.autocast():
        assert HIGH[name]().dtype == np.float32


@pytest.mark.parametrize("name", AS_GIVEN)
def test_precision_as_given(name):
    with amp.autocast():
        assert AS_GIVEN[name]().dtype == np.float16


def test_values_match_the_conversions():
    with amp.autocast():
        y = F.exp(F.matmul(MATRIX, MATRIX))
    expected = F.exp(F.matmul(HALF, HALF).astype("float32"))
    np.testing.assert_array_equal(y.numpy(), expected.numpy())


def test_contexts_nest():
    with amp.autocast(low_prec_dtype="bfloat16"):
        assert mge.config._compute_mode == "float32"
        with amp.autocast(enabled=False):
            assert amp.enabled
        outer = amp.autocast()
        with outer, outer:
            assert amp.low_prec_dtype == "float16"
        assert amp.low_prec_dtype == "bfloat16"


def test_settings_are_restored_after_an_error():
    with pytest.raises(ZeroDivisionError), amp.autocast():
        _ = 1 / 0


def test_decorator_keeps_the_function():
    @amp.autocast(low_prec_dtype="float16")
    def product(x, depth=2):
        "Documented."
        return product(x, depth - 1) if depth else F.matmul(x, x)

    assert product(MATRIX).dtype == np.float16
    assert product.__name__ == "product" and product.__doc__ == "Documented."


def test_module_properties_switch_independently():
    try:
        amp.enabled = True
        amp.low_prec_dtype = "bfloat16"
        assert mge.core.tensor.dtype.is_bfloat16(F.matmul(MATRIX, MATRIX).dtype)
    finally:
        amp.enabled, amp.low_prec_dtype = False, "float16"


@pytest.mark.parametrize("name", ["int8", "bool"])
def test_only_floating_dtypes(name):
    with pytest.raises(RuntimeError, match=f"between floating dtypes, got {name}"):
        with amp.autocast(True, name):
            pass
    for setting in ("low_prec_dtype", "high_prec_dtype"):
        before = getattr(amp, setting)
        with pytest.raises(RuntimeError, match="float66"):
            setattr(amp, setting, "float66")
        assert getattr(amp, setting) == before


def test_other_threads_are_not_affected():
    seen = []
    with amp.autocast():
        thread = threading.Thread(target=lambda: seen.append(F.matmul(MATRIX, MATRIX).dtype))
        thread.start()
        thread.join()
    assert seen == [np.float32]


class Net(M.Module):
    def __init__(self):
        super().__init__()
        self.conv = M.Conv2d(4, 8, 3, padding=1)
        self.norm = M.BatchNorm2d(8)
        self.fc = M.Linear(8, 3)

    def forward(self, x):
        x = F.gelu(self.norm(self.conv(x)))
        return self.fc(F.softplus(x).mean(axis=(2, 3)))


def loss_of(net, x, label):
    with amp.autocast():
        y = net(x)
        assert y.dtype == np.float16
        return F.loss.cross_entropy(y, label)


def test_gradients_have_the_dtypes_of_parameters():
    net, label = Net(), mge.Tensor([0, 2])
    gm = GradManager().attach(net.parameters())
    with gm, amp.autocast():
        # The backward pass too is inside: gradients are not cast a second time.
        gm.backward(F.loss.cross_entropy(net(IMAGE), label))
    low = [parameter.grad for parameter in net.parameters()]
    for parameter in net.parameters():
        parameter.grad = None
    with gm:
        gm.backward(F.loss.cross_entropy(net(IMAGE), label))
    for parameter, grad in zip(net.parameters(), low, strict=True):
        assert grad.dtype == np.float32
        np.testing.assert_allclose(grad.numpy(), parameter.grad.numpy(), atol=2e-3)


@pytest.mark.parametrize("symbolic", [False, True])
def test_traced_training_step(symbolic):
    net, label = Net(), mge.Tensor([0, 2])
    gm, scaler = GradManager().attach(net.parameters()), amp.GradScaler()
    optimizer = mge.optimizer.SGD(net.parameters(), lr=0.05)

    @trace(symbolic=symbolic)
    def step(x):
        with gm:
            loss = loss_of(net, x, label)
            scaler.backward(gm, loss)
        optimizer.step().clear_grad()
        return loss

    losses = [float(step(IMAGE)) for _ in range(12)]
    assert losses[-1] < losses[0]
    assert scaler.state_dict()["_growth_tracker"] == 12


def test_dumped_models_keep_the_conversions(tmp_path):
    @trace(symbolic=True, capture_as_const=True)
    @amp.autocast()
    def product(x):
        return F.matmul(x, x)

    y = product(MATRIX)
    assert y.dtype == np.float16
    product.dump(str(tmp_path / "product.mge"), arg_names=["x"])
    (result,) = mge._mge.load(str(tmp_path / "product.mge")).run([MATRIX])
    np.testing.assert_array_equal(result.numpy(), y.numpy())


def backward(factor, scaler, **options):
    w = mge.Parameter([1.0, 1.0])
    gm = GradManager().attach([w])
    with gm:
        scaler.backward(gm, (w * factor).sum(), **options)
    return None if w.grad is None else w.grad.numpy().tolist()


def test_scaler_leaves_gradients_unscaled():
    scaler = amp.GradScaler()
    assert backward(1, scaler) == [1, 1]
    assert scaler.state_dict() == {
        "scale_factor": 16.0,
        "growth_factor": 2.0,
        "backoff_factor": 0.5,
        "growth_interval": 2000,
        "_growth_tracker": 1,
    }


@pytest.mark.parametrize("factor", [np.inf, np.nan])
def test_gradients_that_are_not_finite_are_all_dropped(factor):
    w, v = mge.Parameter([1.0]), mge.Parameter([1.0])
    gm, scaler = GradManager().attach([w, v]), amp.GradScaler()
    with gm:
        scaler.backward(gm, (w * factor + v).sum())
    assert w.grad is None and v.grad is None
    assert scaler.scale_factor == 8 and not scaler._found_non_finite


def test_the_scale_grows_after_an_interval():
    scaler = amp.GradScaler(growth_interval=2)
    for expected in (16, 32, 32, 64):
        assert backward(1, scaler) == [1, 1]
        assert scaler.scale_factor == expected


def test_a_fixed_scale_is_not_checked():
    scaler = amp.GradScaler(growth_interval=0)
    assert backward(np.inf, scaler) == [np.inf, np.inf]
    scaler.update(3.0)
    assert scaler.scale_factor == 16


def test_scaled_gradients_and_given_ones():
    waiting = amp.GradScaler()
    assert backward(1, waiting, unscale_grad=False, update_scale=True) == [16, 16]
    assert waiting._growth_tracker == 0
    assert backward(1, amp.GradScaler(), dy=mge.Tensor(2.0)) == [2, 2]
    kept = amp.GradScaler()
    backward(1, kept, update_scale=False)
    assert kept._growth_tracker == 0


def test_several_results():
    w = mge.Parameter([1.0])
    gm, scaler = GradManager().attach([w]), amp.GradScaler()
    with gm:
        scaler.backward(gm, [w * 2, w * 3], [mge.Tensor([1.0]), mge.Tensor([10.0])])
    assert w.grad.numpy() == [32]


def test_unscale_skips_tensors_without_gradients():
    with_grad, without = mge.Tensor([1.0]), mge.Tensor([1.0])
    with_grad.grad = mge.Tensor([32.0])
    scaler = amp.GradScaler()
    assert scaler.unscale([with_grad, without]) is scaler
    assert with_grad.grad.numpy() == [2] and without.grad is None


def test_scaler_loads_a_state_completely_or_not_at_all():
    scaler = amp.GradScaler()
    with pytest.raises(KeyError, match="growth_factor"):
        scaler.load_state_dict({"scale_factor": 2.0})
    assert scaler.scale_factor == 16
    other = amp.GradScaler(4, 3, 0.1, 7)
    scaler.load_state_dict(other.state_dict())
    assert scaler.state_dict() == other.state_dict()


def test_update_with_a_user_scale():
    scaler = amp.GradScaler()
    scaler.update(mge.Tensor(3.0))
    assert scaler.scale_factor == 3


def test_formats_of_tensors():
    x = mge.Tensor(IMAGE.numpy())
    y = amp.convert_tensor_format(x, inplace=False)
    assert (x.format, y.format, y.shape) == ("default", "nhwc", (2, 4, 5, 5))
    np.testing.assert_array_equal(x.numpy(), y.numpy())
    assert amp.convert_tensor_format(x) is x and x.format == "nhwc"
    assert amp.convert_tensor_format(mge.Tensor([1.0])).format == "default"
    assert copy.deepcopy(y).format == copy.copy(y).format == "nhwc"
    with pytest.raises(ValueError, match="format must be"):
        x.format = "hwcn"


def test_formats_stay_with_images():
    x = amp.convert_tensor_format(mge.Tensor(IMAGE.numpy()))
    for y in (x + 1, IMAGE * x, F.relu(x), F.max_pool2d(x, 2), F.concat([x, x], 1), x.detach()):
        assert y.format == "nhwc"
    for y in (x[:, :2], x[::-1], x[:, [0, 2]], F.broadcast_to(x[:1], (3, 4, 5, 5))):
        assert y.format == "nhwc"
    assert x.reshape(2, 2, 10, 5).format == F.reshape(x, (4, -1, 5, 5)).format == "nhwc"
    assert F.vision.interpolate(x, scale_factor=2).format == "nhwc"
    for y in (x.reshape(2, 100), F.sum(x, axis=1), x[0], x.transpose(0, 2, 3, 1)):
        assert y.format == "default"
    for y in (F.reshape(x, (2, 1, 4, 5, 5)), F.broadcast_to(x, (3, 2, 4, 5, 5))):
        assert y.format == "default"
    x.format = "nchw"
    assert (x + 1).format == x[:, 0:1].format == "nchw"
    for y in (x.reshape(2, 2, 10, 5), F.broadcast_to(x[:1], (3, 4, 5, 5))):
        assert y.format == "default"


def test_images_can_be_shown_in_the_order_of_their_format():
    weight = mge.Tensor(np.arange(48).reshape(2, 1, 4, 3, 2), format="nhwc")
    image = mge.Tensor(IMAGE.numpy(), format="nhwc")
    before = core2.get_auto_format_convert()
    core2.set_auto_format_convert(False)
    try:
        assert (image.shape, weight.shape, IMAGE.shape) == (
            (2, 5, 5, 4),
            (2, 1, 3, 2, 4),
            (2, 4, 5, 5),
        )
        np.testing.assert_array_equal(image.numpy(), IMAGE.numpy().transpose(0, 2, 3, 1))
        assert weight.numpy()[1, 0, 2, 1, 3] == 47 and weight.numpy()[0, 0, 0, 0, 1] == 6
        np.testing.assert_array_equal((image * 2).numpy()[..., 1], 2 * IMAGE.numpy()[:, 1])
    finally:
        core2.set_auto_format_convert(before)
    assert before is True and image.shape == (2, 4, 5, 5)


def test_formats_of_modules_and_gradients():
    net = M.Sequential(M.Conv2d(4, 4, 3, groups=2), M.BatchNorm2d(4))
    copy = amp.convert_module_format(net, inplace=False)
    assert {t.format for t in net.tensors()} == {"default"}
    assert {t.format for t in copy.tensors()} == {"nhwc"}
    gm = GradManager().attach(copy.parameters())
    with gm:
        y = copy(IMAGE)
        gm.backward(y.mean())
    assert y.format == "nhwc"
    assert all(p.grad.format == "nhwc" and p.grad.shape == p.shape for p in copy.parameters())
    np.testing.assert_array_equal(net(IMAGE).numpy(), y.numpy())


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_norms_over_any_axes_keep_half_precision(dtype):
    image = IMAGE.astype(dtype)
    found = F.nn.general_norm(image, (1, 3), affine=False)
    assert found.dtype == image.dtype
    wide = F.nn.general_norm(image.astype("float32"), (1, 3), affine=False)
    np.testing.assert_allclose(found.astype("float32").numpy(), wide.numpy(), atol=0.02)
