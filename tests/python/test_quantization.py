# SPDX-License-Identifier: Apache-2.0
"""Quantisation beyond the recorded stories: containers, copies, traces, wrong calls."""

import copy
import io
import pickle
import subprocess
import sys
import warnings
from functools import partial

import numpy as np
import pytest

import megengine as mge
import megengine.functional as F
import megengine.module as M
import megengine.module.qat as QAT
import megengine.quantization as Q
from megengine import Tensor
from megengine.autodiff import GradManager
from megengine.core.tensor.dtype import get_scale, qint8
from megengine.jit import trace
from megengine.optimizer import SGD


def image(seed=0, shape=(2, 3, 6, 6)):
    return Tensor(np.random.default_rng(seed).standard_normal(shape, np.float32))


def conv_net():
    return M.Sequential(M.QuantStub(), M.ConvBnRelu2d(3, 4, 3), M.Conv2d(4, 2, 1), M.DequantStub())


class Nested(M.Module):
    """Parts in lists, tuples, dicts and modules; one occurs twice."""

    def __init__(self):
        super().__init__()
        self.shared = M.Elemwise("relu")
        self.many = [M.Elemwise("abs"), {"again": self.shared}]
        self.pair = (M.Elemwise("negate"), 3)
        self.inner = M.Sequential(M.Linear(2, 2))
        self.left_out = M.Linear(2, 2)
        self.left_out.disable_quantize()

    def forward(self, x):
        return x


def test_parts_are_replaced_everywhere():
    net = Q.quantize_qat(Nested())
    assert type(net.many[0]) is type(net.pair[0]) is QAT.Elemwise
    assert net.many[1]["again"] is net.shared and type(net.shared) is QAT.Elemwise
    assert net.pair[1] == 3
    assert type(net.inner[0]) is QAT.Linear
    assert type(net.left_out) is M.Linear


def test_parameters_stay_the_same_and_a_copy_leaves_the_net():
    net = conv_net()
    weight = net[2].weight
    other = Q.quantize_qat(net, inplace=False)
    assert type(net[2]) is M.Conv2d and other[2].weight is not weight
    assert Q.quantize_qat(net) is net and net[2].weight is weight
    before = net[2]
    assert Q.quantize_qat(net)[2] is before


def test_a_net_of_one_part_is_given_back_in_its_other_form():
    part = M.ConvBn2d(3, 4, 3)
    qat = Q.quantize_qat(part)
    assert type(qat) is QAT.ConvBn2d and type(qat.conv) is M.Conv2d
    qat(image())
    assert type(Q.quantize(qat)) is mge.module.quantized.ConvBn2d
    quantised = Q.quantize(Q.quantize_qat(M.Sequential(part)))
    before = quantised[0]
    assert Q.quantize_qat(quantised)[0] is before


def test_the_mode_and_the_hooks_of_a_part_stay():
    net = conv_net()
    calls = []
    net[2].register_forward_hook(lambda module, inputs, output: calls.append(module))
    net.eval()
    net = Q.quantize_qat(net)
    assert not net[2].training and net[2].act_observer.enabled
    net(image())
    assert calls == [net[2]]


def test_custom_classes():
    class Mine(M.Linear):
        pass

    class MineQAT(QAT.Linear):
        pass

    net = M.Sequential(Mine(2, 3))
    with pytest.raises(KeyError, match="mapping"):
        Q.quantize_qat(net)
    net = Q.quantize_qat(net, mapping={Mine: MineQAT})
    assert type(net[0]) is MineQAT and net[0](Tensor([[1.0, 2.0]])).shape == (1, 3)


# MegEngine's name for what both of the others do; modules of users call it.
def test_any_values_go_through_an_observer_and_a_fake_quantisation():
    part = QAT.Linear(2, 2)
    part.set_qconfig(Q.ema_fakequant_qconfig)
    given = Tensor([[-1.0, 0.5], [0.25, 1.0]])
    twice = copy.deepcopy(part)
    expected = twice.apply_quant_activation(given)
    found = part._apply_fakequant_with_observer(given, part.act_fake_quant, part.act_observer)
    np.testing.assert_array_equal(found.numpy(), expected.numpy())
    assert found.qparams.scale.item() == expected.qparams.scale.item()
    assert part._apply_fakequant_with_observer(given, None, None) is given


def test_switches():
    net = Q.quantize_qat(conv_net())
    Q.disable_fake_quant(net)
    Q.disable_observer(net)
    x = image()
    assert net[0](x) is x
    assert net[0].act_observer.max_val.item() < 0
    Q.enable_observer(net)
    Q.enable_fake_quant(net)
    assert net[0](x) is not x
    assert net[0].act_observer.max_val.item() == x.numpy().max()
    net.eval()
    net[0](x * 2)
    assert net[0].act_observer.max_val.item() == x.numpy().max()
    Q.propagate_qconfig(net, Q.passive_qconfig)
    assert isinstance(net[2].weight_observer, Q.PassiveObserver)


@pytest.mark.parametrize(
    "make, shape",
    [
        (lambda: M.ConvBn2d(32, 64, 3), (4, 32, 16, 16)),
        (lambda: M.ConvTransposeBn2d(4, 3, 3), (2, 4, 5, 5)),
        (lambda: M.LinearBn1d(5, 7), (6, 5)),
    ],
)
def test_nothing_is_rounded_by_a_quantiser_that_is_off(make, shape):
    part = make()
    qat = Q.quantize_qat(part, inplace=False)
    Q.disable_fake_quant(qat)
    x = Tensor(np.random.RandomState(4).randn(*shape).astype(np.float32))
    for mode in (M.Module.train, M.Module.eval):
        for module in (part, qat):
            mode(module)
        np.testing.assert_array_equal(qat(x).numpy(), part(x).numpy())
        np.testing.assert_array_equal(qat.bn.running_var.numpy(), part.bn.running_var.numpy())
    assert qat.weight_observer.max_val.item() > 0  # it has seen the weight


def test_synchronised_averages_can_be_disabled():
    observer = Q.SyncExponentialMovingAverageObserver()
    observer(Tensor([1.0]))
    observer.disable()
    observer(Tensor([5.0]))
    assert observer.max_val.item() == 1


def test_learned_quantisers_keep_found_scales():
    net = Q.quantize_qat(conv_net(), qconfig=Q.min_max_fakequant_qconfig)
    net(image())
    found = net[1].act_observer.get_qparams().scale.item()
    lsq = Q.QConfig(None, None, partial(Q.LSQ, dtype="qint8_narrow"), partial(Q.LSQ, dtype="qint8"))
    other = Q.reset_qconfig(net, lsq, inplace=False)
    assert isinstance(net[1].act_fake_quant, Q.FakeQuantize)
    assert other[1].act_fake_quant.step_size.item() == pytest.approx(found - 1e-5)
    assert get_scale(other[1].get_activation_dtype()) == pytest.approx(found)
    assert "1.act_fake_quant.step_size" in dict(other.named_parameters())


@pytest.mark.parametrize("scale", [0.5, [0.5], np.float32(0.5)])
def test_a_learned_step_for_all_has_rank_0(scale):
    lsq = Q.LSQ("qint8")
    lsq.set_qparams(Q.create_qparams(dtype_meta="qint8", scale=Tensor(scale)))
    assert lsq.step_size.shape == () and lsq(Tensor([0.3])).numpy().tolist() == [0.5]


def test_qparams_travel_with_copies_and_files():
    x = Tensor([1.0])
    assert pickle.loads(pickle.dumps(x)).qparams == Q.create_qparams()
    x.qparams.update(Q.create_qparams(dtype_meta="qint8", scale=Tensor(0.5)))
    for other in (copy.copy(x), copy.deepcopy(x), pickle.loads(pickle.dumps(x))):
        assert other.qparams == x.qparams
        assert other.qparams.dtype_meta is x.qparams.dtype_meta
    assert (x + 1).qparams.scale is None
    assert x.qparams != Q.create_qparams(dtype_meta="qint8", scale=Tensor(0.25))
    assert Q.create_qparams() != 3


def step_of(net, optimizer, tape):
    def step(x):
        with tape:
            loss = (net(x) ** 2).mean()
            tape.backward(loss)
        optimizer.step().clear_grad()
        return loss

    return step


@pytest.mark.parametrize("symbolic", [False, True])
def test_training_is_the_same_in_a_trace(symbolic):
    mge.random.seed(1)
    nets = [Q.quantize_qat(conv_net())]
    nets.append(copy.deepcopy(nets[0]))
    losses = []
    for net, wrap in zip(nets, (lambda step: step, partial(trace, symbolic=symbolic)), strict=True):
        parameters = list(net.parameters())
        step = wrap(step_of(net, SGD(parameters, lr=0.1), GradManager().attach(parameters)))
        losses.append([step(image(seed)).item() for seed in range(4)])
    np.testing.assert_allclose(*losses, rtol=1e-4)
    for (name, one), (_, other) in zip(*(net.named_tensors() for net in nets), strict=True):
        np.testing.assert_allclose(one.numpy(), other.numpy(), atol=1e-4, err_msg=name)


def test_histograms_count_in_every_call_of_a_trace():
    observers = [Q.HistogramObserver(bins=32) for _ in range(2)]
    traced = trace(lambda x: observers[1](x * 2) + 1)
    for seed in range(3):
        x = image(seed)
        observers[0](x * 2)
        np.testing.assert_allclose(traced(x).numpy(), (x * 2 + 1).numpy(), rtol=1e-6)
    np.testing.assert_array_equal(*(each.histogram.numpy() for each in observers))
    assert observers[0].histogram.numpy().sum() == pytest.approx(3 * 2 * 3 * 36)


def test_a_histogram_of_one_value_grows():
    observer = Q.HistogramObserver(bins=8)
    for values in ([1.0, 1.0], [1.0, 3.0], [2.0]):
        observer(Tensor(values))
    assert observer.histogram.numpy().sum() == 5
    assert (observer.min_val.item(), observer.max_val.item()) == (1, 3)


def test_calibration_finds_scales_near_the_range():
    net = conv_net()
    net.eval()
    wanted = net(image()).numpy()
    net = Q.quantize_qat(net, qconfig=Q.calibration_qconfig)
    for seed in range(3):
        net(image(seed))
    net = Q.reset_qconfig(net, Q.passive_qconfig)
    before = np.abs(net(image()).numpy() - wanted).max()
    assert 0 < before < 0.05 * np.abs(wanted).max()
    assert Q.apply_easy_quant(net, image()) is net
    assert np.abs(net(image()).numpy() - wanted).max() < 0.05 * np.abs(wanted).max()
    assert not net.training and not net[0]._forward_hooks


def test_easy_quant_finds_the_scales_of_megengine():
    generator = np.random.default_rng(7)
    net = M.Sequential(M.QuantStub(), M.ConvRelu2d(3, 4, 3), M.Conv2d(4, 2, 1), M.DequantStub())
    for _, tensor in sorted(net.named_parameters()):
        tensor._reset(Tensor(generator.standard_normal(tensor.shape, np.float32)))
    batch = Tensor(generator.standard_normal((4, 3, 6, 6), np.float32))
    net.eval()
    net = Q.quantize_qat(net, qconfig=Q.calibration_qconfig)
    net(batch)
    net = Q.reset_qconfig(net, Q.passive_qconfig)
    Q.apply_easy_quant(net, batch)
    parts = dict(net.named_modules())
    found = {path: part.scale.item() for path, part in parts.items() if path.endswith("observer")}
    # Printed by MegEngine 1.13.0 with the same numbers.
    assert found == {
        "0.act_observer": pytest.approx(0.02222297, rel=1e-5),
        "1.act_observer": pytest.approx(0.12813069, rel=1e-5),
        "1.weight_observer": pytest.approx(0.02675748, rel=1e-5),
        "2.act_observer": pytest.approx(0.17334202, rel=1e-5),
        "2.weight_observer": pytest.approx(0.01237179, rel=1e-5),
    }


def test_outputs_of_dumped_integers_have_the_names_of_megengine():
    net = Stubs(M.Linear(3, 2))
    net = Q.quantize_qat(net, qconfig=Q.min_max_fakequant_qconfig)
    net(F.ones((1, 3)))
    net.eval()
    net = Q.quantize(net)
    net.eval()
    predict = trace(net, symbolic=True, capture_as_const=True)
    predict(F.ones((1, 3)))
    assert predict.dump(io.BytesIO()).outputs == ["dequant.TypeCvt"]


class Stubs(M.Module):
    def __init__(self, part):
        super().__init__()
        self.quant, self.part, self.dequant = M.QuantStub(), part, M.DequantStub()

    def forward(self, x):
        return self.dequant(self.part(self.quant(x)))


class Joined(M.Module):
    """A part that takes a list."""

    def __init__(self):
        super().__init__()
        self.quant, self.join, self.dequant = M.QuantStub(), M.Concat(), M.DequantStub()

    def forward(self, x):
        x = self.quant(x)
        return self.dequant(self.join([x, x * 2], 1))


def test_easy_quant_of_parts_that_take_lists():
    net = Q.quantize_qat(Joined(), qconfig=Q.calibration_qconfig)
    net.eval()
    net(image())
    net = Q.apply_easy_quant(Q.reset_qconfig(net, Q.passive_qconfig), image())
    assert net(image()).shape == (2, 6, 6, 6)


def test_easy_quant_that_fails_leaves_the_mode():
    net = Q.quantize_qat(M.Sequential(M.Linear(2, 2)))
    with pytest.raises(TypeError, match="use reset_qconfig"):
        Q.apply_easy_quant(net, F.ones((1, 2)))
    assert net.training and net[0].act_observer.enabled
    net = Q.reset_qconfig(net, Q.passive_qconfig)
    with pytest.raises(RuntimeError):
        Q.apply_easy_quant(net, F.ones((1, 3)))
    assert net.training and net[0].weight_fake_quant.enabled


def test_new_observers_replace_the_old_ones():
    net = Q.quantize_qat(M.Sequential(M.Linear(2, 2)), qconfig=Q.calibration_qconfig)
    net(F.ones((1, 2)))
    Q.reset_qconfig(net, Q.passive_qconfig)
    kinds = ["act_observer", "weight_observer", "weight_fake_quant", "act_fake_quant"]
    lines = [line.strip().split(":")[0] for line in repr(net).splitlines()]
    assert lines[3:7] == [f"({kind})" for kind in kinds]


def test_gradients_of_fake_quantisation_agree_with_differences():
    """For the scale: the rounding error grows with it, and bounds move."""
    x = Tensor([-9.0, -0.8, 0.3, 2.2, 50.0])
    step = Tensor(0.5)
    with GradManager().attach([x, step]) as gm:
        gm.backward(Q.utils.lsq_forward(-8, 7, x, step).sum())
    np.testing.assert_array_equal(x.grad.numpy(), [0, 1, 1, 1, 0])
    steps = x.numpy() / 0.5
    want = -8 + 7 + sum(np.round(steps[1:4]) - steps[1:4])
    assert step.grad.item() == pytest.approx(want, abs=1e-5)


def quantised_conv():
    conv = Q.quantize(Q.quantize_qat(M.Conv2d(3, 4, 3)))
    conv.eval()
    return conv


WRONG = [
    (lambda: Q.MinMaxObserver(dtype="qint9"), ValueError, "qint9"),
    (lambda: Q.FakeQuantize("qint9"), ValueError, "qint9"),
    (lambda: Q.FakeQuantize("qint8")(Tensor([1.0])), ValueError, "observer"),
    (lambda: Q.QConfig(Q.MinMaxObserver(), None, None, None), ValueError, "weight_observer"),
    (lambda: Q.QConfig(None, None, None, Q.FakeQuantize("qint8")), ValueError, "act_fake_quant"),
    (lambda: Q.quantize_qat(3), TypeError, "Module"),
    (lambda: Q.quantize_qat(conv_net(), qconfig=None), TypeError, "QConfig"),
    (lambda: Q.enable_observer(3), TypeError, "Module"),
    (lambda: QAT.Conv2d.from_float_module(M.Linear(1, 1)), TypeError, "Conv2d"),
    (lambda: Q.HistogramObserver().get_qparams(), ValueError, "values"),
    (lambda: Q.PassiveObserver("qint8").get_qparams(), RuntimeError, "set_qparams"),
    (lambda: Q.Observer("qint8"), TypeError, "abstract"),
    (lambda: Q.PercentileObserver(0), ValueError, "percentile"),
    (lambda: Q.quantize(M.Sequential(QAT.QuantStub())), ValueError, "scale of its result"),
    (
        lambda: Q.quantize(
            Q.quantize_qat(conv_net(), qconfig=Q.tqt_qconfig._replace(weight_fake_quant=None))
        ),
        ValueError,
        "scale of its weight",
    ),
    (lambda: Q.quantize(Q.quantize_qat(conv_net()))(image()), ValueError, "inference"),
    (lambda: quantised_conv()(image()), TypeError, "QuantStub"),
    (lambda: Q.quantize_post_training(conv_net(), []), ValueError, "batch"),
    (lambda: Q.quantize_post_training(3, []), TypeError, "Module"),
    (lambda: Q.layer_errors(conv_net(), conv_net(), image()), ValueError, "training"),
    (
        lambda: Q.apply_easy_quant(Q.quantize_qat(conv_net()), image()),
        TypeError,
        "passive_qconfig",
    ),
    (
        lambda: Q.fake_quant_tensor(
            Tensor([1], dtype="int32"), Q.create_qparams(dtype_meta="qint8", scale=Tensor(1.0))
        ),
        RuntimeError,
        "float32",
    ),
]


@pytest.mark.parametrize("call, kind, text", WRONG)
def test_wrong_calls(call, kind, text):
    with pytest.raises(kind, match=text):
        call()


def test_the_module_is_imported_on_first_use():
    code = """
import sys
import warnings
import megengine as mge
rooms = ("megengine.quantization", "megengine.module.qat", "megengine.module.quantized")
assert not [name for name in sys.modules if name.startswith(rooms)]
assert mge.quantization.quantize_qat and mge.module.qat.Conv2d and mge.module.quantized.Conv2d
import megengine.quantization.quantize
assert callable(mge.quantization.quantize)
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_qat_modules_can_be_imported_first():
    code = "import megengine.module.qat as QAT; QAT.Conv2d(1, 1, 1)"
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize(
    "make, size",
    [
        (lambda: M.ConvBnRelu2d(2, 2, 1), (1, 2, 3, 3)),
        (lambda: M.Conv2d(2, 2, 1), (1, 2, 3, 3)),
        (lambda: M.Linear(2, 2), (5, 2)),
    ],
)
def test_weights_beyond_the_observed_range_are_clipped_as_in_training(make, size):
    qat = Q.quantize_qat(make(), qconfig=Q.min_max_fakequant_qconfig)
    x = Tensor(np.random.default_rng(0).standard_normal(size).astype("float32"))
    qat.act_observer.min_val[...], qat.act_observer.max_val[...] = -4, 4
    qat.weight_observer.min_val[...], qat.weight_observer.max_val[...] = -1, 1
    weight = qat.conv.weight if hasattr(qat, "conv") else qat.weight
    weight[...] = np.reshape([-1.01, -2.0, 1.01, 0.3], weight.shape)
    qat.eval()
    Q.disable_observer(qat)
    integers = Q.quantize(qat, inplace=False)
    assert sorted(integers.weight.numpy().ravel().tolist()) == [-127, -127, 38, 127]
    scale = Q.create_qparams(dtype_meta="qint8", scale=Tensor(0.05))
    steps = x.astype(qint8(0.05))
    x = steps.astype("float32")
    x.qparams.update(scale)
    np.testing.assert_allclose(
        qat(x).numpy(), integers(steps).astype("float32").numpy(), rtol=0, atol=1e-5
    )


def test_a_net_is_its_own_reference():
    """QAT without a QConfig's parts computes what the float net does."""
    net = conv_net()
    net.eval()
    want = net(image()).numpy()
    net = Q.quantize_qat(net, qconfig=Q.QConfig(None, None, None, None))
    np.testing.assert_allclose(net(image()).numpy(), want, rtol=1e-4, atol=1e-5)
    assert net[1].get_weight_dtype() is None and F.sum(net[1].conv.weight).shape == ()


def trained_like_net(seed=3):
    mge.random.seed(seed)
    net = M.Sequential(
        M.QuantStub(),
        M.ConvBnRelu2d(3, 8, 3, padding=1),
        M.ConvRelu2d(8, 8, 3),
        M.MaxPool2d(2),
        M.Conv2d(8, 4, 1),
        M.DequantStub(),
    )
    for seed in range(3):  # running statistics that fit
        net(image(seed))
    net.eval()
    return net


def described(net):
    """The parts of a net and what they have."""
    parts = [
        (n, type(p), p.training, sorted(vars(p)), p._modules[:]) for n, p in net.named_modules()
    ]
    return parts, [(name, id(tensor)) for name, tensor in net.named_tensors()]


class Failing(M.Module):
    def forward(self, x):
        raise ArithmeticError("no result")


class DerivedLinear(M.Linear):
    """Has no form for quantisation."""


@pytest.mark.parametrize("where", ["conversion", "calibration", "batches", "integers"])
def test_a_conversion_that_fails_changes_nothing(where):
    first, qconfig = conv_net(), Q.calibration_qconfig
    first.train()
    batches = [image(), image()]
    net = Holder(first)
    if where == "conversion":
        net.parts.append(DerivedLinear(2, 2))
    elif where == "calibration":
        net.parts.append(Failing())
    elif where == "batches":
        batches = (1 / 0 for _ in range(1))
    else:
        qconfig = qconfig._replace(weight_observer=None)
    before = described(net)
    with pytest.raises((KeyError, ArithmeticError, ValueError)):
        Q.quantize_post_training(net, batches, qconfig=qconfig)
    assert described(net) == before
    assert Q.quantize_post_training(Holder(first), [image()]).parts[0] is first


class Holder(M.Module):
    def __init__(self, first):
        super().__init__()
        self.parts = [first]
        self.pair = (M.Dropout(0.5), 3)

    def forward(self, x):
        for part in self.parts:
            x = part(x)
        return x


CALIBRATED_BY = {
    "histogram": Q.HistogramObserver,
    "least and largest": Q.MinMaxObserver,
    "percentile": partial(Q.PercentileObserver, 99.99),
    "entropy": Q.EntropyObserver,
}


@pytest.mark.parametrize("name", CALIBRATED_BY)
def test_quantised_without_training_a_net_stays_near(name):
    qconfig = Q.calibration_qconfig._replace(act_observer=CALIBRATED_BY[name])
    net = trained_like_net()
    batches = [image(seed) for seed in range(4)]
    quantised = Q.quantize_post_training(net, batches, inplace=False, qconfig=qconfig)
    want, got = net(image()).numpy(), quantised(image()).numpy()
    assert np.linalg.norm(got - want) < 0.05 * np.linalg.norm(want)
    errors = Q.layer_errors(net, quantised, image())
    assert [entry.name for entry in errors] == ["0", "1", "2", "4", "5"]
    assert errors[0].kind == "QuantStub" and errors[1].kind == "ConvBnRelu2d"
    assert all(0 < entry.error < 0.06 and entry.cosine > 0.998 for entry in errors)
    assert errors[-1].error == pytest.approx(np.linalg.norm(got - want) / np.linalg.norm(want))
    assert not net[1]._forward_hooks and not quantised[1]._forward_hooks


def test_worse_layer_is_reported():
    net = trained_like_net()
    quantised = Q.quantize_post_training(net, [image()], inplace=False)
    weight = quantised[2].weight
    weight[...] = weight.astype("int8").astype("float32") * 0
    errors = {entry.name: entry.error for entry in Q.layer_errors(net, quantised, image())}
    assert errors["1"] < 0.06 < 0.3 < errors["2"]


def observed(observer, values):
    observer(Tensor(values.astype(np.float32)))
    return observer.get_qparams().scale.item() * 127.5


def test_outliers_are_dropped():
    values = np.random.default_rng(0).standard_normal(100_000)
    values[0] = 1000
    assert observed(Q.MinMaxObserver(), values) == pytest.approx(1000)
    share = Q.PercentileObserver(99.8, bins=65536)
    want = max(np.abs(np.quantile(values, [0.001, 0.999])))
    assert observed(share, values) == pytest.approx(want, rel=0.01)
    assert 2 < observed(Q.EntropyObserver(), values) < 200


def test_even_sizes_are_not_cropped():
    values = np.linspace(-3, 3, 10_001)
    for observer in (Q.EntropyObserver(), Q.PercentileObserver(100), Q.HistogramObserver()):
        assert observed(observer, values) == pytest.approx(3, rel=0.01)


@pytest.mark.parametrize("small", [1e-30, 1e-12, 1e-6, 0.01])
def test_histograms_grow_by_any_factor(small):
    observer = Q.HistogramObserver(bins=64)
    observer(Tensor([-small, 0.0, small]))
    observer(Tensor([-1000.0, 500.0, 1000.0]))
    counts = observer.histogram.numpy()
    assert counts.sum() == pytest.approx(6) and counts[:2].sum() == pytest.approx(1)
    assert counts[30:34].sum() == pytest.approx(3)


BY_CHANNEL = Q.ema_fakequant_qconfig._replace(weight_observer=Q.ChannelMinMaxObserver)
PARTS = {
    "conv": (lambda: M.Conv2d(8, 16, 3, padding=1), (2, 8, 9, 9)),
    "groups": (lambda: M.ConvBnRelu2d(8, 16, 3, groups=4), (2, 8, 9, 9)),
    "border": (lambda: M.ConvRelu2d(8, 8, 3, padding=1, padding_mode="reflect"), (2, 8, 9, 9)),
    "transposed": (lambda: M.ConvTransposeBn2d(8, 16, 3, stride=2), (2, 8, 5, 5)),
    "transposed groups": (lambda: M.ConvTransposeRelu2d(8, 16, 3, groups=2), (2, 8, 5, 5)),
    "linear": (lambda: M.Linear(8, 16), (5, 8)),
    "linear norm": (lambda: M.LinearBnRelu1d(8, 16), (5, 8)),
    "matrices": (lambda: M.BatchMatMulActivation(2, 8, 6, nonlinear_mode="relu"), (2, 8, 5)),
}


@pytest.mark.parametrize("name", PARTS)
def test_channels_with_separate_scales(name):
    make, shape = PARTS[name]
    net = M.Sequential(M.QuantStub(), make(), M.DequantStub())
    for parameter in net.parameters():
        if name != "matrices" and parameter.size > 64:
            # Channels of very different size: with one scale the small ones would vanish.
            axis = 1 if "transposed" in name else 0
            axes = (0, 1 + axis) if parameter.ndim == 5 else (axis,)
            sizes = [n if a in axes else 1 for a, n in enumerate(parameter.shape)]
            factors = np.logspace(0, -3, int(np.prod(sizes))).reshape(sizes)
            parameter[...] = parameter * Tensor(factors, dtype=np.float32)
    x = image(1, shape)
    net(x)
    net = Q.quantize_qat(net, qconfig=BY_CHANNEL)
    net(x)
    net.eval()
    want, step = net(x).numpy(), net[1].get_activation_qparams().scale.item()
    scale = net[1].get_weight_qparams().scale
    assert scale.size == 16 or name in ("border", "matrices")
    with pytest.raises(ValueError, match="channels"):
        net[1].get_weight_dtype()
    quantised = Q.quantize(net, inplace=False)
    steps = quantised[1].weight.numpy()
    axes = tuple(axis for axis, n in enumerate(scale.shape) if n == 1)
    largest = np.abs(steps.astype(int)).max(axes)
    # Folded with later statistics than the observer has seen, a channel may be smaller.
    assert largest.max() == 127 and largest.min() > 64
    got = quantised(x).numpy()
    assert np.abs(got - want).max() < 1.01 * step
    traced = trace(quantised, symbolic=True, capture_as_const=True)
    np.testing.assert_array_equal(traced(x).numpy(), got)


def test_scales_of_channels_keep_small_ones():
    factors = Tensor(np.logspace(0, -4, 8).reshape(8, 1), dtype=np.float32)
    x = image(2, (50, 8))
    errors = []
    for qconfig in (Q.min_max_fakequant_qconfig, BY_CHANNEL):
        mge.random.seed(5)
        linear = M.Linear(8, 8, bias=False)
        linear.weight[...] = linear.weight * factors
        want = linear(x).numpy()
        qat = Q.quantize_qat(linear, qconfig=qconfig)
        got = F.linear(x, qat.apply_quant_weight(qat.weight)).numpy()
        errors.append(np.linalg.norm(got - want, axis=0) / np.linalg.norm(want, axis=0))
    assert errors[0].max() > 0.5 and errors[1].max() < 0.02


ASYMMETRIC = {"mode": Q.QuantMode.ASYMMERTIC, "dtype": "quint8"}
OTHER_QCONFIGS = {
    "4 bits": Q.ema_lowbit_fakequant_qconfig,
    "zero points": Q.QConfig(
        weight_observer=partial(Q.MinMaxObserver, **ASYMMETRIC),
        act_observer=partial(Q.ExponentialMovingAverageObserver, **ASYMMETRIC),
        weight_fake_quant=partial(Q.FakeQuantize, dtype="quint8"),
        act_fake_quant=partial(Q.FakeQuantize, dtype="quint8"),
    ),
    "learned steps": Q.QConfig(
        None, None, partial(Q.LSQ, dtype="qint8_narrow"), partial(Q.LSQ, dtype="qint8")
    ),
    "learned thresholds": Q.tqt_qconfig,
}


@pytest.mark.parametrize("name", OTHER_QCONFIGS)
def test_integers_match_training(name):
    net = Q.quantize_qat(conv_net(), qconfig=Q.min_max_fakequant_qconfig)
    net(image())
    if name.startswith("learned"):
        net = Q.reset_qconfig(net, OTHER_QCONFIGS[name])
    else:
        Q.propagate_qconfig(net, OTHER_QCONFIGS[name])
    parameters = list(net.parameters())
    step = step_of(net, SGD(parameters, lr=1e-3), GradManager().attach(parameters))
    for seed in range(3):
        step(image(seed))
    net.eval()
    want = net(image()).numpy()
    largest_step = get_scale(net[2].get_activation_dtype())
    got = Q.quantize(net)(image()).numpy()
    assert np.abs(got - want).max() < 1.01 * largest_step


@pytest.mark.parametrize(
    "make",
    [
        Q.MinMaxObserver,
        Q.ExponentialMovingAverageObserver,
        Q.HistogramObserver,
        partial(Q.PassiveObserver, "qint8"),
        partial(Q.FakeQuantize, "qint8"),
        partial(Q.TQT, "qint8"),
        partial(Q.LSQ, "qint8"),
    ],
)
@pytest.mark.parametrize(
    "options, message",
    [
        ({"narrow_range": True}, "narrow_range has no effect: the dtype says the range"),
        ({"decay": 0.5, "average": 3}, "average, decay has no effect"),
    ],
)
def test_options_that_megengine_ignores_are_ignored(make, options, message):
    with pytest.warns(UserWarning, match=message):
        module = make(**options)
    assert (module.qmin, module.qmax) == (make().qmin, make().qmax)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert make(name="watch").name == "watch"


@pytest.mark.parametrize("mode", [Q.QuantMode.SYMMERTIC, Q.QuantMode.ASYMMERTIC])
@pytest.mark.parametrize("kind", [Q.MinMaxObserver, Q.ExponentialMovingAverageObserver])
def test_a_calibration_with_nan_gives_nan(kind, mode):
    observer = kind(mode=mode)
    observer(Tensor([1.0, np.nan]))
    assert np.isnan(observer.get_qparams().scale.numpy())


@pytest.mark.parametrize("value, seen", [(np.nan, 0), (np.inf, 0), (np.inf, 1)])
def test_histograms_need_finite_values(value, seen):
    observer = Q.HistogramObserver(bins=8)
    for _ in range(seen):
        observer(Tensor([0.0, 2.0]))
    with pytest.raises(ValueError, match="values reach from .* needs finite ones"):
        observer(Tensor([1.0, value]))


@pytest.mark.parametrize(
    "name, arguments, shape, method",
    [
        ("ConvBn2d", (4, 6, 3, 1, 1, 1, 2), (2, 4, 5, 5), "calc_conv_bn_qat"),
        ("ConvTransposeBn2d", (3, 4, 2, 2), (2, 3, 4, 4), "calc_conv_transpose2d_bn_qat"),
        ("LinearBn1d", (5, 4), (6, 5), "calc_linear_bn_qat"),
    ],
)
def test_weights_fold_with_the_statistics_of_the_batch(name, arguments, shape, method):
    whole = getattr(M, name)(*arguments)
    exact = getattr(QAT, name).from_float_module(whole)
    exact.set_qconfig(Q.min_max_fakequant_qconfig)
    x = image(shape=shape)
    got = getattr(exact, method)(x, approx=False)
    part = next(
        child for child in exact.children() if hasattr(child, "weight") and child is not exact.bn
    )
    out = part(x).numpy()
    axes = tuple(axis for axis in range(out.ndim) if axis != 1)
    mean, variance = out.mean(axes), out.var(axes)
    count = out.size / mean.size
    learned = exact.bn.running_mean.numpy(), exact.bn.running_var.numpy()
    np.testing.assert_allclose(learned[0].ravel(), 0.1 * mean, rtol=1e-4, atol=1e-6)
    unbiased = variance * count / (count - 1)
    np.testing.assert_allclose(learned[1].ravel(), 0.9 + 0.1 * unbiased, rtol=1e-4)
    exact.eval()
    for running, value in ((exact.bn.running_mean, mean), (exact.bn.running_var, variance)):
        running._reset(mge.Tensor(value.reshape(running.shape)))
    np.testing.assert_allclose(getattr(exact, method)(x).numpy(), got.numpy(), rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize(
    ("kind", "shape", "compute"),
    [
        ("ConvBn2d", (2, 4, 5, 5), lambda net, x, *args: net.conv.calc_conv(x, *args)),
        (
            "ConvTransposeBn2d",
            (2, 4, 5, 5),
            lambda net, x, *args: net.conv_transpose2d.calc_conv_transpose2d(x, *args),
        ),
        ("LinearBn1d", (3, 4), lambda net, x, *args: F.linear(x, *args)),
    ],
)
def test_a_layer_does_the_work_of_its_normalisation(kind, shape, compute):
    net = getattr(M, kind)(4, 6, *([3] if len(shape) == 4 else []))
    x = mge.random.normal(size=shape)
    net(x)
    net.eval()
    bn = net.bn
    qat = getattr(QAT, kind).from_float_module(net)
    folded = qat.fold_weight_bias(bn.running_mean, bn.running_var)
    np.testing.assert_allclose(compute(net, x, *folded).numpy(), net(x).numpy(), 1e-4, 1e-5)
