# SPDX-License-Identifier: Apache-2.0
"""Computing, writing and reading are independent of the program's locale."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import megengine

LOCALE = "de_DE.UTF-8"
# A locale where the capital of i is another letter, of two bytes.
TURKISH = "tr_TR.UTF-8"

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


# Python has asked for the letters of the user's language when it has started.
LETTERS = """
import locale, sys
assert locale.setlocale(locale.LC_CTYPE) == sys.argv[1]
import megengine as mge, megengine.functional as F
from megengine.jit import trace
from megengine.utils.network import Network

net = trace(lambda x: F.nn.interpolate(F.minimum(x, 2) + F.sin(x), (4, 4)), symbolic=True,
            capture_as_const=True)
net(mge.Tensor([[[[1.0, 3.0], [0.0, 2.0]]]]))
net.dump("net.mge")
print(Network.load("net.mge").all_oprs)
print(mge._mge.file_limit())
"""


@pytest.fixture(scope="module")
def locales(tmp_path_factory):
    """A folder with a locale that has a decimal comma, and one with other letters."""
    if not shutil.which("localedef") or not Path("/usr/share/i18n/locales/de_DE").exists():
        pytest.skip("no locale with a decimal comma can be made: the package 'locales' is missing")
    folder = tmp_path_factory.mktemp("locales")
    for name in (LOCALE, TURKISH):
        command = ["localedef", "-i", name.split(".")[0], "-f", "UTF-8", str(folder / name)]
        subprocess.run(command, check=True, capture_output=True)
    return folder


def run(locales, name, folder, program, *arguments):
    folder.mkdir()
    environment = {
        **os.environ,
        "LOCPATH": str(locales),
        "LC_ALL": name,
        "PYTHONPATH": str(Path(megengine.__file__).parents[1]),
        "MGE_THREADS": "1",
        "MGE_FILE_LIMIT": "3gib",
    }
    command = [sys.executable, "-c", program, name, *arguments]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout, (folder / "net.mge").read_bytes()


def test_a_decimal_comma_changes_nothing(locales, tmp_path):
    point = run(locales, "C.UTF-8", tmp_path / "point", PROGRAM, ".")
    comma = run(locales, LOCALE, tmp_path / "comma", PROGRAM, ",")
    assert comma[0] == point[0]
    assert comma[1] == point[1]


def test_other_letters_change_no_name(locales, tmp_path):
    ours = run(locales, "C.UTF-8", tmp_path / "ours", LETTERS)
    turkish = run(locales, TURKISH, tmp_path / "turkish", LETTERS)
    assert "Elemwise:MIN" in ours[0]
    assert str(3 << 30) in ours[0]
    assert turkish[0] == ours[0]
