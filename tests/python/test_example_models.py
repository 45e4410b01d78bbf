# SPDX-License-Identifier: Apache-2.0
"""The example models against the outputs of another engine: eager, traced, dumped and run."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import megengine as mge
from megengine.jit import trace

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("MGE_BUILD_DIR", ROOT / "build/release"))

sys.path.insert(0, str(ROOT / "examples/models"))
from bert import BertEncoder  # noqa: E402
from efficientnet import efficientnet_b0  # noqa: E402
from lenet import lenet  # noqa: E402
from lstm import SequenceNet  # noqa: E402
from mlp import mlp  # noqa: E402
from mobilenet_v3 import mobilenet_v3_large  # noqa: E402
from resnet import resnet18  # noqa: E402
from seeded_weights import load_seeded_weights  # noqa: E402
from unet import UNet  # noqa: E402
from vit import VisionTransformer  # noqa: E402

MODELS = {
    "lenet": lenet,
    "resnet18": resnet18,
    "bert_encoder": lambda: BertEncoder(layers=2, width=64, heads=4, hidden=256),
    "mobilenet_v3_large": mobilenet_v3_large,
    "efficientnet_b0": efficientnet_b0,
    "vision_transformer": lambda: VisionTransformer(32, 8, 2, 64, 4, 256, classes=10),
    "lstm": lambda: SequenceNet(width=24, layers=2),
    "unet": lambda: UNet((4, 8, 12), classes=3),
    "mlp": mlp,
}

# Relative to the largest output; the references were computed in f64. An f32 run of twenty layers
# with sums of up to 4,608 products is within 1e-6 of them, Winograd within 4e-6.
TOLERANCE = 1e-5


@pytest.fixture(params=MODELS)
def case(request):
    """Return (net with seeded weights, input, expected output)."""
    with np.load(ROOT / f"tests/data/models/{request.param}.npz") as stored:
        x, y = stored["x"], stored["y"]
    net = load_seeded_weights(MODELS[request.param]())
    net.eval()
    return net, x, y


def assert_near(actual, expected):
    assert actual.shape == expected.shape
    assert np.abs(actual - expected).max() <= TOLERANCE * np.abs(expected).max()


def test_eager(case):
    net, x, y = case
    assert_near(net(mge.Tensor(x)).numpy(), y)


@pytest.mark.parametrize("symbolic", [True, False], ids=["symbolic", "imperative"])
def test_traced(case, symbolic):
    net, x, y = case
    traced = trace(lambda x: net(x), symbolic=symbolic)
    for _ in range(2):  # the second call runs what the first recorded
        assert_near(traced(mge.Tensor(x)).numpy(), y)


@pytest.mark.parametrize("flags", [[], ["--fast-run"]], ids=["heuristic", "fast_run"])
def test_dumped_and_run(case, flags, tmp_path):
    net, x, y = case
    traced = trace(lambda x: net(x), symbolic=True, capture_as_const=True)
    traced(mge.Tensor(x))
    traced.dump(str(tmp_path / "net.mge"), arg_names=["x"], output_names=["y"])
    np.save(tmp_path / "x.npy", x)
    command = [BUILD / "bin/load_and_run", "net.mge", "--input", "x:x.npy", "--iter", "2"]
    command += ["--dump-outputs", "y.npz", *flags]
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache")}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    with np.load(tmp_path / "y.npz") as outputs:
        assert list(outputs) == ["y"]
        assert_near(outputs["y"], y)
