# SPDX-License-Identifier: Apache-2.0
"""Real exports of PyTorch with open extents, at several of them, against ONNX Runtime.

tests/data/make_onnx_exports.py says where the files come from.
"""

import importlib
from pathlib import Path

import numpy as np
import pytest

load = importlib.import_module("megengine.onnx.reading").load
runtime = pytest.importorskip("onnxruntime")
FILES = Path(__file__).resolve().parents[1] / "data/onnx/exports"
TOLERANCE = 1e-4  # relative to the largest output


def real(*shape):
    return np.random.default_rng(3).normal(size=shape).astype(np.float32)


def words(*shape):
    return np.random.default_rng(3).integers(3, 49, shape)


def padded(batch, length):
    """The last text is half as long."""
    mask = np.ones((batch, length), np.int64)
    mask[-1, length // 2 + 1 :] = 0
    return mask


SIZES = [(1, 1), (1, 5), (3, 9), (2, 33)]
INPUTS = {
    "dy_attention23": [[real(b, t, 32)] for b, t in SIZES],
    "dy_gridsample": [[real(b, 3, 8, 8), real(b, 16)] for b in (1, 2, 5)],
    "dy_lstm": [[words(b, t)] for b, t in SIZES[1:]],
    "ts_conv3d": [[real(b, 3, 8, 16, 16)] for b in (1, 3)],
    "ts_llama": [[words(b, t), padded(b, t)] for b, t in SIZES],
    "ts_scripted": [[real(b, 3), np.array(n)] for b, n in ((1, 0), (3, 4), (2, 7))],
    "ts_wav2vec2": [[real(b, n)] for b, n in ((1, 400), (3, 640), (2, 1001))],
}


@pytest.mark.parametrize("name", INPUTS)
def test_exports_at_several_extents(name):
    path = FILES / f"{name}.onnx"
    model, session = load(path), runtime.InferenceSession(str(path))
    names = [port.name for port in session.get_inputs()]
    assert model.input_names == names
    for inputs in INPUTS[name]:
        expected = session.run(None, dict(zip(names, inputs, strict=True)))
        outputs = model(*inputs)
        outputs = outputs if isinstance(outputs, list) else [outputs]
        for y, wanted in zip(outputs, expected, strict=True):
            assert y.numpy().dtype == wanted.dtype and y.numpy().shape == wanted.shape
            limit = TOLERANCE * max(np.abs(wanted).max(), 1e-6)
            np.testing.assert_allclose(y.numpy(), wanted, rtol=0, atol=limit)


def test_every_file_is_tried():
    assert {path.stem for path in FILES.glob("*.onnx")} == set(INPUTS)
