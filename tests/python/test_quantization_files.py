# SPDX-License-Identifier: Apache-2.0
"""Nets of quantisation in files: pickles, also read as plain data, state, traced modules."""

import io
import pickle
import warnings
from pathlib import Path

import numpy as np
import pytest

import megengine as mge
import megengine.module as M
import megengine.quantization as Q
import megengine.traced_module as T
from megengine.core.tensor.dtype import is_dtype_equal, qint8, quint8
from megengine.module.qat import QATModule
from megengine.traced_module.fake_quant import FakeQuantize

BY_CHANNEL = Q.ema_fakequant_qconfig._replace(weight_observer=Q.ChannelMinMaxObserver)


def image(seed=0):
    return mge.Tensor(np.random.default_rng(seed).standard_normal((2, 3, 6, 6), np.float32))


def qat_net(qconfig=Q.ema_fakequant_qconfig):
    net = M.Sequential(M.QuantStub(), M.ConvBnRelu2d(3, 4, 3), M.Conv2d(4, 2, 1), M.DequantStub())
    net = Q.quantize_qat(net, qconfig=qconfig)
    net(image())
    net.eval()
    return net


def calibrated_net():
    return Q.reset_qconfig(qat_net(Q.calibration_qconfig), Q.passive_qconfig)


NETS = {
    "qat": qat_net,
    "calibration": lambda: qat_net(Q.calibration_qconfig),
    "passive": calibrated_net,
    "tqt": lambda: qat_net(Q.tqt_qconfig),
    "quantised": lambda: Q.quantize(qat_net()),
    "channels": lambda: Q.quantize(qat_net(BY_CHANNEL)),
}


def saved_and_loaded(obj, protocol=pickle.DEFAULT_PROTOCOL, **kwargs):
    stream = io.BytesIO()
    mge.save(obj, stream, pickle_protocol=protocol)
    stream.seek(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it names classes of this package
        return mge.load(stream, **kwargs)


@pytest.mark.parametrize("protocol", [2, 5])
@pytest.mark.parametrize("weights_only", [False, True])
@pytest.mark.parametrize("name", NETS)
def test_nets_round_trip(name, weights_only, protocol):
    net = NETS[name]()
    other = saved_and_loaded(net, protocol, weights_only=weights_only)
    assert repr(other) == repr(net)
    np.testing.assert_array_equal(other(image()).numpy(), net(image()).numpy())


@pytest.mark.parametrize("weights_only", [False, True])
@pytest.mark.parametrize("name", ["qat", "quantised", "channels"])
def test_state_loads_into_another_net(name, weights_only):
    net, other = NETS[name](), NETS[name]()
    state = saved_and_loaded(net.state_dict(), weights_only=weights_only)
    other.load_state_dict(state)
    for (key, tensor), (_, loaded) in zip(net.named_tensors(), other.named_tensors(), strict=True):
        assert is_dtype_equal(tensor.dtype, loaded.dtype), key
        np.testing.assert_array_equal(tensor.numpy(), loaded.numpy())


@pytest.mark.parametrize("name", ["qat", "quantised", "channels"])
def test_traced_nets_match_and_round_trip(name):
    net = NETS[name]()
    traced = T.trace_module(net, image())
    for each in (traced, saved_and_loaded(traced), saved_and_loaded(traced, weights_only=True)):
        np.testing.assert_array_equal(each(image(1)).numpy(), net(image(1)).numpy())


def test_traced_nets_are_quantised_as_others_are():
    net = M.Sequential(M.QuantStub(), M.ConvRelu2d(3, 4, 3), M.DequantStub())
    traced = T.trace_module(net, image())
    nets = [Q.quantize_qat(each, qconfig=Q.min_max_fakequant_qconfig) for each in (net, traced)]
    outputs = []
    for each in nets:
        each(image())
        each.eval()
        outputs.append((each(image()).numpy(), Q.quantize(each)(image()).numpy()))
    np.testing.assert_array_equal(outputs[0][0], outputs[1][0])
    np.testing.assert_array_equal(outputs[0][1], outputs[1][1])
    assert "Quantized.ConvRelu2d" in repr(traced)


class Scaled(M.Module):
    def __init__(self):
        super().__init__()
        self.factor = mge.Parameter([2.0])

    def forward(self, x):
        return x * self.factor


class ScaledQAT(Scaled, QATModule):
    def forward(self, x):
        return self.apply_quant_activation(x * self.apply_quant_weight(self.factor))


def test_traced_nets_call_whole_qat_modules_and_have_scales():
    net = M.Sequential(M.QuantStub(), Scaled(), M.DequantStub())
    net = Q.quantize_qat(net, mapping={Scaled: ScaledQAT})
    net(image())
    net.eval()
    traced = T.trace_module(net, image())
    assert "_1_out = _1(_0_out, )" in str(traced.graph)
    np.testing.assert_array_equal(traced(image(1)).numpy(), net(image(1)).numpy())
    for each in (traced, saved_and_loaded(traced)):
        scales = [
            node.qparams and node.qparams.scale.item()
            for node in each.graph.nodes()
            if isinstance(node, T.node.TensorNode)
        ]
        wanted = [part.get_activation_qparams().scale.item() for part in (net[0], net[1])]
        assert scales == [None, *wanted, wanted[1]]


def test_fake_quantisers_in_graphs_hold_their_scale():
    fake_quant = FakeQuantize("qint8")
    with pytest.raises(RuntimeError, match="set_qparams"):
        fake_quant(image())
    qparams = Q.create_qparams(dtype_meta="qint8", scale=mge.Tensor(0.5))
    fake_quant.set_qparams(qparams)
    wanted = Q.fake_quant_tensor(image(), qparams).numpy()
    np.testing.assert_array_equal(fake_quant(image()).numpy(), wanted)
    assert is_dtype_equal(fake_quant.get_quantized_dtype(), qint8(0.5))
    with pytest.raises(AssertionError):
        fake_quant.set_qparams(Q.create_qparams(dtype_meta="qint4", scale=mge.Tensor(0.5)))


def test_scales_of_tensors_round_trip():
    x = mge.Tensor([1.0])
    x.qparams.update(
        Q.create_qparams(Q.QuantMode.ASYMMERTIC, "quint8", mge.Tensor(0.5), mge.Tensor(3.0))
    )
    learned = Q.LSQ("qint4").get_qparams()
    for weights_only in (False, True):
        assert saved_and_loaded(x, weights_only=weights_only).qparams == x.qparams
        assert saved_and_loaded(learned, weights_only=weights_only) == learned


def dtype_pickle(dtype, **changes):
    """A dtype with other metadata than dtypes can have."""

    class Written:
        def __reduce__(self):
            make, arguments, state = dtype.__reduce__()
            about = {**dict(state[-1]["mgb_dtype"]), **changes}
            return make, arguments, (*state[:-1], {"mgb_dtype": about})

    return pickle.dumps(Written())


@pytest.mark.parametrize(
    "content",
    [
        dtype_pickle(qint8(0.5), name="QuantizedS9"),
        dtype_pickle(qint8(0.5), name=["QuantizedS8"]),
        dtype_pickle(qint8(0.5), name="QuantizedS32"),
        dtype_pickle(qint8(0.5), scale="0.5"),
        dtype_pickle(qint8(0.5), scale=float("nan")),
        dtype_pickle(qint8(0.5), zero_point=0),
        dtype_pickle(quint8(0.5, 3), zero_point=1000),
        dtype_pickle(quint8(0.5, 3), zero_point=None),
        dtype_pickle(quint8(0.5, 3), zero_point=3.5),
        pickle.dumps(Q.create_qparams(dtype_meta="qint8", scale="0.5")),
        pickle.dumps(Q.QParams("mode", None, None, None)),
        pickle.dumps(Q.QParams(None, "qint8", None, None)),
        b"\x80\x02cmegengine.quantization.utils\nQParams\n)\x81N}\x86b.",
        b"\x80\x02cmegengine.quantization.utils\nQParams\n)\x81}b.",
        b"\x80\x02cmegengine.quantization.utils\nQuantMode\nK\x09\x85R.",
        b"\x80\x02cmegengine.core.tensor.dtype\nQuantDtypeMeta\n)\x81.",
    ],
)
def test_damaged_descriptions_are_refused(content):
    with pytest.raises(pickle.UnpicklingError, match="load"):
        mge.load(io.BytesIO(content), weights_only=True)


FOLDER = Path(__file__).resolve().parents[1] / "data/quantised"


def megengine_file(name, weights_only):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it names classes of this package
        return mge.load(str(FOLDER / name), weights_only=weights_only)


@pytest.mark.parametrize("weights_only", [False, True])
@pytest.mark.parametrize(
    "name", ["qat.pkl", "passive.pkl", "quantised.pkl", "tqt.tm", "quantised.tm"]
)
def test_files_of_megengine(name, weights_only):
    with np.load(FOLDER / "tensors.npz") as tensors:
        x, want = tensors["x"], tensors[name]
    net = megengine_file(name, weights_only)
    net.eval()
    np.testing.assert_allclose(net(mge.Tensor(x)).numpy(), want, rtol=1e-5, atol=1e-6)


def test_training_continues_from_megengine_files():
    net = Q.reset_qconfig(megengine_file("qat.pkl", False), Q.passive_qconfig)
    net.train()
    net(image())
    quantised = Q.quantize(net)
    quantised.eval()
    assert quantised(image()).shape == (2, 2, 4, 4)


@pytest.mark.parametrize("has_bias", [False, True])
def test_products_of_batches_have_the_axes_of_megengine(has_bias):
    """Its files hold the weights of a convolution, and zeros where there is no bias."""
    inp = mge.Tensor(np.random.default_rng(2).standard_normal((2, 3, 5), np.float32))
    part = M.BatchMatMulActivation(2, 3, 4, bias=has_bias)
    net = Q.quantize_qat(M.Sequential(M.QuantStub(), part, M.DequantStub()))
    net(inp)
    net.eval()
    net = Q.quantize(net)
    net.eval()
    expected = net(inp).numpy()
    product = net[1]
    product.weight = mge.Parameter(product.weight.numpy()[..., None, None])
    bias = product.bias.numpy() if has_bias else np.zeros(4, np.float32)
    product.bias = mge.Parameter(bias.reshape(1, 4, 1, 1))
    found = mge.load(io.BytesIO(pickle.dumps(net)), weights_only=True)
    np.testing.assert_array_equal(found(inp).numpy(), expected)


def test_quantised_elementwise_modules_name_their_method_as_megengine_does():
    net = Q.quantize_qat(M.Sequential(M.QuantStub(), M.Elemwise("RELU"), M.DequantStub()))
    net(image())
    net = Q.quantize(net.eval())
    assert net[1].method == M.quantized.Elemwise("RELU").method == "qRELU"
    result = net(image()).numpy()
    net[1].method = "RELU"  # older pickles of this package
    np.testing.assert_array_equal(net(image()).numpy(), result)
