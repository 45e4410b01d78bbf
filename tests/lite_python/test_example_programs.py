# SPDX-License-Identifier: Apache-2.0
"""The programs of examples/lite/python."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

EXAMPLES = Path(__file__).resolve().parents[2] / "examples/lite/python"


def printed(name, *arguments):
    done = subprocess.run(
        [sys.executable, EXAMPLES / name, *map(str, arguments)],
        capture_output=True,
        text=True,
        env=os.environ,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def simple(models):
    """Two models of the shape (2, 5): 2x + 1 and x - 3."""
    import megengine as mge
    from megengine.jit import trace

    paths = []
    for name, function in (("first", lambda x: x * 2 + 1), ("second", lambda x: x - 3)):
        run = trace(function, symbolic=True, capture_as_const=True)
        run(mge.Tensor(np.zeros((2, 5), np.float32)))
        paths.append(models / f"{name}.mge")
        run.dump(str(paths[-1]), arg_names=["data"], output_names=["result"])
    return paths


def test_classify(models, tmp_path):
    np.save(tmp_path / "image.npy", np.full((60, 50, 3), 128, np.uint8))
    lines = printed("classify.py", models / "net.mge", tmp_path / "image.npy").splitlines()
    scores = [float(line.split(": ")[1]) for line in lines]
    assert len(lines) == 5 and scores == sorted(scores, reverse=True)


def test_pipeline(simple):
    assert printed("pipeline.py", *simple, 3) == "item 0: -20\nitem 1: 0\nitem 2: 20\n"


def test_encrypted(models, tmp_path):
    out = printed("encrypted.py", models / "two.mge", tmp_path / "secret", "key")
    assert out == "sum: 16 bytes\ndifference: 16 bytes\n"
    assert (tmp_path / "secret").read_bytes() != (models / "two.mge").read_bytes()


def test_shared_weights(simple):
    assert printed("shared_weights.py", simple[0], 5) == "0.25 gives 1.5, 0.75 gives 2.5\n"
