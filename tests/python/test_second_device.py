# SPDX-License-Identifier: Apache-2.0
"""Replays the recorded calls with operands that are not on the default device.

The default device here is neither that of the process nor that of the operands, so a constant made
on any fixed device is found. Results and gradients have to be where the operands are.
"""

import numpy as np
import pytest
import test_functional_cases
import test_module_cases
import test_optimizer_cases
from known_differences import CASES, MODULES
from oracle import ORACLE, check_case, check_forward, tensors_in

import megengine as mge
import megengine.functional as F
import megengine.module as M
import megengine.module.vision as V
import megengine.quantization as Q
from megengine.core.tensor.dtype import qint8
from megengine.device import default_device
from megengine.experimental.weight_scaler import get_norm_mod_value
from megengine.jit import trace

EXAMPLES = ORACLE.parent / "onnx"
CALLS, NETS = test_functional_cases.READER, test_module_cases.READER


@pytest.fixture(autouse=True)
def operands_elsewhere(monkeypatch):
    for reader in (CALLS, NETS, test_optimizer_cases.READER):
        monkeypatch.setattr(reader, "device", "cpu1")
    with default_device("cpu2"):
        yield


@pytest.mark.parametrize("name", sorted(test_functional_cases.ROWS))
def test_function_stays_with_its_operands(name):
    wrong = []
    for row in test_functional_cases.ROWS[name]:
        if row["id"] not in CASES and "error" not in row:
            text = check_case(row, CALLS)
            if text:
                wrong.append(f"{row['id']}: {text}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("name", sorted(test_functional_cases.ROWS))
def test_traced_function_stays_with_its_operands(name):
    rows = [row for row in test_functional_cases.ROWS[name] if "error" not in row]
    rows = [row for row in rows if row["id"] not in CASES and "py" not in row["out"]]
    for row in rows[:2]:
        assert check_forward(row, CALLS, lambda work: trace(work, symbolic=True)()) is None


@pytest.mark.parametrize("name", ["hf_bert_ts", "torch_lstm_gru_ts", "tv_mobilenet_v2_ts"])
def test_imported_model_stays_with_its_inputs(name):
    inputs, outputs = (np.load(EXAMPLES / f"{name}.{kind}.npz") for kind in ("inputs", "outputs"))
    tensors = {key: mge.Tensor(value, device="cpu1") for key, value in inputs.items()}
    for trainable in (False, True):
        model = mge.onnx.load(EXAMPLES / f"{name}.onnx", trainable=trainable)
        if trainable:
            model.to("cpu1")
        results = tensors_in([model(**tensors)])
        assert len(results) == len(outputs.files)
        for result, expected in zip(results, outputs.values(), strict=True):
            assert result.device == "cpu1:0"
            np.testing.assert_allclose(result.numpy(), expected, atol=1e-4)


@pytest.mark.parametrize(
    "row",
    [row for row in test_module_cases.ROWS if row["module"] not in MODULES and "error" not in row],
    ids=lambda row: row["module"],
)
def test_module_stays_with_its_operands(row):
    for mode in ("train", "eval"):
        if mode in row:
            module = test_module_cases.construct(row).to("cpu1")
            assert test_module_cases.check_run(module, row, mode) is None


@pytest.mark.parametrize("row", test_optimizer_cases.rows("optimizer"))
def test_optimizer_stays_with_its_parameters(row):
    test_optimizer_cases.test_optimizer_steps_as_recorded(row)


def both(make):
    """Results of a function with its operand on the second device, and on the default device."""
    x = mge.Tensor(np.linspace(-1, 1, 48, dtype=np.float32).reshape(1, 3, 4, 4), device="cpu1")
    return make(x), make(mge.Tensor(x.numpy()))


@pytest.mark.parametrize(
    "make",
    [
        lambda x: F.concat([x[0, 0, 0], np.ones(2, np.float32)]),
        lambda x: F.stack([x[0, 0, 0], [1, 2, 3, 4]]),
        lambda x: F.dot(x[0, 0, 0], np.ones(4, np.float32)),
        lambda x: F.dot(2.0, x[0, 0, 0, 0]),
        lambda x: F.real(F.complex(1.0, x)),
        lambda x: F.imag(F.polar(1.0, x)),
        lambda x: F.full((2,), x[0, 0, 0, 0]),
        lambda x: F.linspace(0, x[0, 0, 0, 0], 3),
        lambda x: F.arange(x[0, 2, 3, 3] * 4),
        lambda x: F.math._check_non_finite([x]),
        lambda x: F.math._check_non_finite([x[:0]]),
        lambda x: V.GaussianBlur(3)(x),
        lambda x: V.Emboss((0.1, 0.9), 1.0, seed=3)(x),
        lambda x: V.Sharpen(1.0, (0.1, 0.9), seed=3)(x),
        lambda x: V.AdditiveGaussianNoise(seed=3)(x),
        lambda x: V.AdditivePoissonNoise(seed=3)(x),
        lambda x: V.LinearContrast((0.5, 1.5), seed=3)(x),
        lambda x: F.concat(V.Cutmix(1.0, seed=3)(x, x[:, 0, 0], x, x[:, 0, 0])[:1]),
        lambda x: V.Mixup(1.0, seed=3)(x, x[:, 0, 0], x, x[:, 0, 0])[1],
        lambda x: get_norm_mod_value(x, 20.0),
        lambda x: F.real(F.complex(x, x) * np.float32([1, 2, 3, 4]) + 2j),
        lambda x: F.imag(assigned(F.complex(x, x), 1 + 2j)),
        lambda x: (quantised(x) + np.float32(0.5)).astype("float32"),
        lambda x: F.maximum(quantised(x), 0.25).astype("float32"),
        lambda x: assigned(quantised(x), [0.25, 0.5, 0.5, 0.25]).astype("float32"),
        lambda x: calibrated(x),
    ],
)
def test_constants_are_created_on_the_device_of_operands(make):
    there, here = both(make)
    assert (there.device, here.device) == ("cpu1:0", "cpu2:0")
    np.testing.assert_allclose(there.numpy(), here.numpy(), rtol=1e-5)


def quantised(x):
    return x.astype(qint8(0.05))


def assigned(x, value):
    x[0, 0, 0] = value
    return x


def calibrated(x):
    """A quantised net whose scales were searched for on the device of its parameters."""
    mge.random.seed(5)
    net = M.Sequential(M.QuantStub(), M.ConvRelu2d(3, 2, 3), M.DequantStub()).to(x.device)
    net.eval()
    net = Q.quantize_qat(net, Q.calibration_qconfig)
    net(x)
    net = Q.reset_qconfig(net, Q.passive_qconfig)
    return Q.apply_easy_quant(net, F.concat([x, x]))(x)


@pytest.mark.parametrize(
    "draw",
    [
        lambda x: mge.random.exponential(x),
        lambda x: mge.random.gamma(2.0, x),
        lambda x: mge.random.beta(x, 2.0, size=(2,)),
        lambda x: mge.random.poisson(x),
        lambda x: mge.random.multinomial(x, 2),
        lambda x: mge.random.permutation(x),
        lambda x: mge.random.shuffle(x) or x,
        lambda x: F.dropout(x, 0.5),
        lambda x: trace(lambda x: mge.random.gamma(x, 1.0, size=(x.shape[0],)), symbolic=True)(x),
    ],
)
def test_random_numbers_are_drawn_on_the_device_of_operands(draw):
    assert draw(mge.Tensor([1.0, 2.0, 3.0], device="cpu1")).device == "cpu1:0"


def test_shapes_in_traces_follow_tensors_on_several_devices():
    @trace(symbolic=True)
    def net(x, y):
        z = F.zeros((x.shape[0], 2, y.shape[0]), device="cpu3")
        return x.reshape(1, x.shape[0]), F.concat([y, y]).reshape(2, y.shape[0], 1), z

    for _ in range(2):
        a, b, z = net(mge.Tensor([1.0, 2.0], device="cpu1"), mge.Tensor([1.0], device="cpu3"))
        assert (a.device, a.shape, b.device, b.shape) == ("cpu1:0", (1, 2), "cpu3:0", (2, 1, 1))
        assert (z.device, z.shape) == ("cpu3:0", (2, 2, 1))


def test_arrays_and_tensors_are_inputs_of_models(tmp_path):
    function = trace(symbolic=True, capture_as_const=True)(lambda x, y: x * 2 + y)
    function(mge.Tensor([1.0]), mge.Tensor([1.0]))
    function.dump(str(tmp_path / "net.mge"), arg_names=["x", "y"], output_names=["z"])
    model = mge._mge.load(str(tmp_path / "net.mge"))
    x = mge.Tensor([1.0], device="cpu1")
    for inputs in ([x, np.float32([5])], [np.float32([5]), x]):
        (z,) = model.run(inputs)
        assert z.device == "cpu1:0"
