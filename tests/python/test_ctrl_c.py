# SPDX-License-Identifier: Apache-2.0
"""An exception that ends a program comes through steps that may fail."""

import os
import subprocess
import sys

import pytest

import megengine as mge


class Interrupted:
    """Python code that Ctrl-C ends: attributes and items raise."""

    def __init__(self, error):
        self.error = error

    def __len__(self):
        return 2

    def __getitem__(self, index):
        raise self.error

    @property
    def dtype(self):
        raise self.error


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, GeneratorExit])
def test_exit_exceptions_propagate(error):
    x = mge.Tensor([True])
    for call in (
        lambda: mge.Tensor(Interrupted(error("by hand"))),
        lambda: x & Interrupted(error("by hand")),
        lambda: x | Interrupted(error("by hand")),
    ):
        with pytest.raises(error, match="by hand"):
            call()


def test_other_errors_of_optional_steps_are_forgiven():
    with pytest.raises(TypeError, match="two bool tensors"):
        mge.Tensor([True]) & Interrupted(ValueError("of an attribute"))


NARROW = """
import sys
sys.path.insert(0, sys.argv[1])
import megengine as mge
from megengine import _mge
try:
    print(_mge.ops.convert_narrow(mge.Tensor([1.0]), dtype="float8_e4m3fn").numpy())
except KeyboardInterrupt:
    print("interrupted")
"""


@pytest.mark.parametrize(
    "package, printed",
    [
        ("import os, signal\nos.kill(os.getpid(), signal.SIGINT)\nwhile True: pass", "interrupted"),
        ("raise ImportError", "[56]"),
        ("raise RuntimeError('does not fit this NumPy')", "[56]"),
        ("", "[56]"),
    ],
)
def test_ctrl_c_while_an_optional_package_is_imported(tmp_path, package, printed):
    (tmp_path / "ml_dtypes.py").write_text(package)
    found = subprocess.run(
        [
            sys.executable,
            "-c",
            f"import signal\nsignal.signal(2, signal.default_int_handler){NARROW}",
        ]
        + [os.fspath(tmp_path)],
        stdout=subprocess.PIPE,
        text=True,
        timeout=60,
        check=True,
    ).stdout
    assert found.strip() == printed


WRITE = """
import os, signal, sys, threading, time
signal.signal(signal.SIGINT, signal.default_int_handler)
import megengine as mge
ticks = []
def tick():
    for _ in range(5):
        ticks.append(time.sleep(0.05))
    os.kill(os.getpid(), signal.SIGINT)
f = mge.jit.trace(lambda x: x + mge.Tensor([0.0] * 100_000), symbolic=True, capture_as_const=True)
f(mge.Tensor(1.0))
reader = os.open(sys.argv[1], os.O_RDONLY | os.O_NONBLOCK) if len(sys.argv) > 2 else None
threading.Thread(target=tick, daemon=True).start()
try:
    f.dump(sys.argv[1])
except KeyboardInterrupt:
    print("interrupted", len(ticks))
"""


@pytest.mark.parametrize("reader", [[], ["stalled"]])
def test_ctrl_c_while_a_pipe_is_written_to(tmp_path, reader):
    os.mkfifo(tmp_path / "pipe")
    found = subprocess.run(
        [sys.executable, "-c", WRITE, os.fspath(tmp_path / "pipe"), *reader],
        stdout=subprocess.PIPE,
        text=True,
        timeout=60,
        check=True,
    ).stdout
    assert found.strip() == "interrupted 5"  # the other thread went on
