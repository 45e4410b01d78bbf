# SPDX-License-Identifier: Apache-2.0
"""What is computed, written and read is the same in a program that asked for a decimal comma."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import megengine

LOCALE = "de_DE.UTF-8"

PROGRAM = """
import locale, sys
assert locale.setlocale(locale.LC_ALL, "") == sys.argv[1]
assert locale.localeconv()["decimal_point"] == sys.argv[2]
import numpy as np
import megengine as mge, megengine.functional as F
from megengine.jit import trace

@trace(symbolic=True, capture_as_const=True)
def net(x):
    y = F.clip(F.leaky_relu(x * 1.5 + 0.25, 0.125), -0.3, 2.75) * F.exp(x - 0.5)
    return F.softmax(F.avg_pool2d(y, 2), axis=-1)

x = mge.Tensor(np.linspace(-3, 3, 1024, dtype="float32").reshape(1, 4, 16, 16))
for _ in range(3):
    y = net(x)
print(y.numpy().astype("float64").sum(), y.numpy().tobytes().hex())
net.dump("net.mge", arg_names=["x"], optimize_for_inference=True)
state = {"a": 1.5, "b": mge.Tensor(2.5)}
mge.save(state, "state.pkl")
print(mge.load("state.pkl")["b"].numpy(), repr(mge.Tensor([0.25, 1e-9])), mge.Tensor(0.125))
try:
    F.clip(x, 2.5, "no")
except Exception as error:
    print(type(error).__name__, error)
"""


@pytest.fixture(scope="module")
def locales(tmp_path_factory):
    """A folder with a locale that has a decimal comma."""
    if not shutil.which("localedef") or not Path("/usr/share/i18n/locales/de_DE").exists():
        pytest.skip("no locale with a decimal comma can be made: the package 'locales' is missing")
    folder = tmp_path_factory.mktemp("locales")
    command = ["localedef", "-i", "de_DE", "-f", "UTF-8", str(folder / LOCALE)]
    subprocess.run(command, check=True, capture_output=True)
    return folder


def run(locales, name, decimal_point, folder):
    folder.mkdir()
    environment = {
        **os.environ,
        "LOCPATH": str(locales),
        "LC_ALL": name,
        "PYTHONPATH": str(Path(megengine.__file__).parents[1]),
        "MGE_THREADS": "1",
    }
    command = [sys.executable, "-c", PROGRAM, name, decimal_point]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout, (folder / "net.mge").read_bytes()


def test_a_decimal_comma_changes_nothing(locales, tmp_path):
    point = run(locales, "C.UTF-8", ".", tmp_path / "point")
    comma = run(locales, LOCALE, ",", tmp_path / "comma")
    assert comma[0] == point[0]
    assert comma[1] == point[1]
