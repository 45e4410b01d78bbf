# SPDX-License-Identifier: Apache-2.0
"""The programs of examples/onnx."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import onnxruntime

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("MGE_BUILD_DIR", ROOT / "build/release")).resolve()
# An export of torchvision's MobileNetV2, made narrow.
MODEL = ROOT / "tests/data/onnx/tv_mobilenet_v2_ts.onnx"


def printed(name, *arguments):
    done = subprocess.run(
        [sys.executable, ROOT / "examples/onnx" / name, *map(str, arguments)],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_digits_that_onnx_runtime_classifies(tmp_path):
    out = printed("digits.py", "--out", tmp_path, "--epochs", "2")
    right = float(out.split("ONNX Runtime: ")[1].split("%")[0])
    assert right > 85 and "read again: largest difference" in out
    onnx.checker.check_model(str(tmp_path / "digits.onnx"), full_check=True)


def test_a_torchvision_net_is_tuned_profiled_encrypted_and_served(tmp_path):
    out = printed(
        "torchvision_net.py",
        "--model",
        MODEL,
        "--size",
        64,
        "--out",
        tmp_path,
        "--tools",
        BUILD / "bin",
    )
    assert "with measured algorithms" in out and "/Conv" in out.split("slowest nodes: ")[1]
    assert (tmp_path / "cache.sqlite").stat().st_size > 0
    assert MODEL.read_bytes()[1000:1100] not in (tmp_path / "net.sealed").read_bytes()
    session = onnxruntime.InferenceSession(MODEL)
    for count in (1, 4):
        images = np.load(tmp_path / f"images{count}.npy")
        (expected,) = session.run(None, {"x": images})
        scores = np.load(tmp_path / f"scores{count}.npy")
        np.testing.assert_allclose(scores, expected, atol=1e-4 * np.abs(expected).max())
