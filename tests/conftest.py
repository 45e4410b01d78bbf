# SPDX-License-Identifier: Apache-2.0
"""Setup of all tests in Python."""

import contextlib
import fcntl
import os
import random
import signal
import sys
import tempfile
import termios
from pathlib import Path

import pytest

SEED = int(os.environ.get("MGE_TEST_SEED", "0"))


def pytest_configure():
    """Keep no measured times or packed weights, and give up the terminal.

    A tool that asks for a key there would wait for whoever tests.
    """
    os.environ["MGE_FASTRUN_CACHE_TYPE"] = "MEMORY"
    os.environ["MGE_MODEL_CACHE"] = "0"
    # Tests only fetch from this machine, and git uses its default configuration.
    os.environ["no_proxy"] = os.environ["NO_PROXY"] = "127.0.0.1"
    os.environ["GIT_CONFIG_GLOBAL"] = os.environ["GIT_CONFIG_SYSTEM"] = os.devnull
    # The leader of a session gets a signal when its terminal closes.
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    with contextlib.suppress(OSError):
        terminal = os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY)
        try:
            fcntl.ioctl(terminal, termios.TIOCNOTTY)
        finally:
            os.close(terminal)
    signal.signal(signal.SIGHUP, before)
    # A shell's background job ignores Ctrl-C, and so would the processes that tests interrupt.
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def seeded():
    """A test draws the same numbers in each run, whatever ran before; MGE_TEST_SEED has others."""
    random.seed(SEED)
    if numpy := sys.modules.get("numpy"):
        numpy.random.seed(SEED)
    if megengine := sys.modules.get("megengine"):
        megengine.random.seed(SEED)


@pytest.fixture
def ray_python():
    """The interpreter of the environment with Ray."""
    root = Path(__file__).resolve().parents[1]
    path = Path(os.environ.get("MGE_RAY_PYTHON", root / "build/ray-venv/bin/python"))
    if not path.exists():
        pytest.skip(f"no environment with Ray: {path}; MGE_NIGHTLY=1 scripts/test creates it")
    return path


@pytest.fixture
def ray_variables():
    """Environment variables of Ray. Its files are removed; paths of its sockets must be short."""
    with tempfile.TemporaryDirectory(prefix="ray", ignore_cleanup_errors=True) as folder:
        yield {
            "HOME": folder,
            "RAY_TMPDIR": folder,
            "RAY_DEDUP_LOGS": "0",
            "RAY_USAGE_STATS_ENABLED": "0",
        }


@pytest.fixture(autouse=True)
def checked_onnx_files(request):
    """Every ONNX file that mge wrote into the folder of a test is valid."""
    if "tmp_path" not in request.fixturenames:
        yield
        return
    folder = request.getfixturevalue("tmp_path")
    yield
    for path in folder.rglob("*.onnx"):
        if path.is_file() and (model := written_model(path)):
            sys.modules["onnx"].checker.check_model(model, full_check=True)


def written_model(path):
    """The model if it is a whole one of this exporter: a test may damage or encrypt one."""
    import onnx  # noqa: PLC0415  few tests need it

    try:
        model = onnx.load(path)
    except Exception:
        return None
    return model if model.producer_name == "MGE" else None
