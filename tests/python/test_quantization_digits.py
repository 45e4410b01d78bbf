# SPDX-License-Identifier: Apache-2.0
"""The example of quantisation from the first epoch to load_and_run."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import megengine as mge
import megengine.quantization as Q
from megengine.jit import trace

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("MGE_BUILD_DIR", ROOT / "build/release"))

sys.path.insert(0, str(ROOT / "examples/quantisation"))
from nets import ResNet  # noqa: E402


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    out = tmp_path_factory.mktemp("quantisation")
    script = ROOT / "examples/quantisation/digits.py"
    subprocess.run([sys.executable, script, "--out", out, "--epochs", "6"], check=True)
    return out


def run(folder, name):
    out = folder / f"{name}.npz"
    tool = BUILD / "bin/load_and_run"
    images = f"image:{folder / 'images.npy'}"
    subprocess.run(
        [tool, folder / f"{name}.mge", "--input", images, "--dump-outputs", out]
        + ["--iter", "1", "--warmup-iter", "0"],
        check=True,
        capture_output=True,
    )
    return np.load(out)["score"]


def test_the_dumped_net_is_the_one_in_python(folder):
    scores = run(folder, "int8")
    np.testing.assert_allclose(scores, np.load(folder / "predictions.npy"), rtol=1e-5, atol=1e-5)


def test_integers_cost_at_most_a_hundredth_of_accuracy(folder):
    labels = np.load(folder / "labels.npy")
    in_floats, in_integers = (
        (run(folder, name).argmax(axis=1) == labels).mean() for name in ("float", "int8")
    )
    assert in_floats > 0.95
    assert in_integers >= in_floats - 0.01


def test_weights_are_stored_in_bytes(folder):
    sizes = {name: (folder / f"{name}.mge").stat().st_size for name in ("float", "int8")}
    # The net is small: half of what remains is its graph.
    assert sizes["int8"] < 0.5 * sizes["float"]


def dumped(net, folder, name, images):
    scores = trace(net, symbolic=True, capture_as_const=True)
    result = scores(mge.Tensor(images)).numpy()
    scores.dump(str(folder / f"{name}.mge"), arg_names=["image"], output_names=["score"])
    return result


def test_a_residual_net(tmp_path):
    """Sums, strides, averages: near the float net, a quarter of its size, the same in a file."""
    mge.random.seed(0)
    images = np.random.default_rng(0).random((4, 1, 32, 32), np.float32)
    np.save(tmp_path / "images.npy", images)
    net = ResNet()
    for _ in range(20):  # running statistics that fit
        net(mge.Tensor(images))
    net.eval()
    wanted = dumped(net, tmp_path, "float", images)
    net = Q.quantize_post_training(net, [mge.Tensor(images)])
    got = dumped(net, tmp_path, "int8", images)
    assert np.abs(got - wanted).max() < 0.1 * np.abs(wanted).max()
    np.testing.assert_allclose(run(tmp_path, "int8"), got, rtol=1e-5, atol=1e-5)
    sizes = [(tmp_path / f"{name}.mge").stat().st_size for name in ("int8", "float")]
    assert sizes[0] < 0.3 * sizes[1]
