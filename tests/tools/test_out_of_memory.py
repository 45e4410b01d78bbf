# SPDX-License-Identifier: Apache-2.0
"""Tools in a limited address space: they do their work, or end with the exit code of memory."""

import bisect
import json
import os
import resource
import subprocess

import numpy as np
import pytest

IS_NIGHTLY = os.environ.get("MGE_NIGHTLY") == "1"
MEBIBYTE = 1 << 20
# All of the work has room in so much more than the program alone.
WORK = 600
STEP = 3 if IS_NIGHTLY else 59
OK, MEMORY = 0, 8

pytestmark = pytest.mark.skipif(
    "MGE_SANITIZED" in os.environ, reason="the sanitizer's own memory is terabytes"
)


@pytest.fixture(scope="session")
def heavy_model(tmp_path_factory):
    """Convolutions and a product with weights of 30 MB, which compiling packs."""
    import megengine as mge
    import megengine.functional as F
    from megengine.jit import trace

    random = np.random.RandomState(5)

    def weights(*shape):
        return mge.Tensor(random.standard_normal(shape).astype("float32") / 100)

    a, b, c = weights(512, 3, 3, 3), weights(512, 512, 3, 3), weights(512, 512, 3, 3)
    d, e = weights(512, 4096), weights(4096, 512)

    def net(x):
        y = F.relu(F.conv2d(x, a, padding=1))
        y = F.relu(F.conv2d(y, b, padding=1))
        y = F.relu(F.conv2d(y, c, padding=1))
        return F.softmax(F.matmul(F.relu(F.matmul(F.mean(y, axis=(2, 3)), d)), e))

    traced = trace(symbolic=True, capture_as_const=True)(net)
    traced(mge.Tensor(random.standard_normal((2, 3, 14, 14)).astype("float32")))
    path = tmp_path_factory.mktemp("models") / "heavy.mge"
    traced.dump(str(path), arg_names=["x"], output_names=["y"])
    return path


@pytest.fixture(scope="session")
def light_model(tmp_path_factory):
    """One convolution that oneDNN can compute."""
    import megengine as mge
    import megengine.functional as F
    from megengine.jit import trace

    weight = mge.Tensor(np.ones((16, 3, 3, 3), np.float32))
    traced = trace(symbolic=True, capture_as_const=True)(lambda x: F.conv2d(x, weight, padding=1))
    traced(mge.Tensor(np.ones((1, 3, 32, 32), np.float32)))
    path = tmp_path_factory.mktemp("models") / "light.mge"
    traced.dump(str(path), arg_names=["x"], output_names=["y"])
    return path


def run_limited(command, mebibytes):
    limit = int(mebibytes * MEBIBYTE)
    return subprocess.run(
        [str(part) for part in command],
        capture_output=True,
        text=True,
        timeout=600,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)),
        check=False,
    )


@pytest.fixture(scope="session")
def smallest_limit(tool_path):
    """In less, the system cannot load the program."""
    command = [tool_path("load_and_run"), "--version"]
    return next(limit for limit in range(20, 400, 4) if run_limited(command, limit).returncode == 0)


@pytest.mark.parametrize(
    "options",
    [
        ["--batch-size=1000000000"],
        ["--input", "{100000000,1000}"],
        ["--input", "#rand(0,1,100000000,1000)"],
    ],
)
def test_an_input_that_is_too_large_is_named(tool_path, small_model, options):
    command = [tool_path("load_and_run"), small_model, "--threads", 1, "--iter", 1, *options]
    done = run_limited(command, 2000)
    assert done.returncode == MEMORY
    assert "error: input 'x': the system has no " in done.stderr, done.stderr


def test_a_profile_does_without_the_peak(tool_path, run_tool, small_model, tmp_path):
    """Measuring the machine's peak needs more memory than a small net."""
    path = tmp_path / "profile.json"
    command = [tool_path("load_and_run"), small_model, "--threads", 1, "--profile", path]
    done = run_limited(command, 190)
    assert done.returncode == OK and "not enough memory to measure" in done.stderr, done.stderr
    assert "peak" not in json.loads(path.read_text())
    assert "measured peak" not in run_tool("mge-profile", "show", path).out
    done = run_limited([tool_path("mge-profile"), "show", path, "--peak"], 150)
    assert done.returncode == MEMORY and "[--peak]" in done.stderr
    assert "measured peak" in run_tool("mge-profile", "show", path, "--peak").out


def test_libraries_get_the_memory_that_they_do_not_check(light_model, smallest_limit, tool_path):
    """Just above the least limit small blocks are refused, too, which oneDNN takes unchecked."""
    tool, steps = tool_path("load_and_run"), 51
    limits = [smallest_limit - 4 + i / steps for i in range(4 * steps + 1)]
    first = bisect.bisect_left(
        limits, True, key=lambda limit: run_limited([tool, "--version"], limit).returncode == OK
    )
    command = [tool, light_model, "--iter", "1", "--warmup-iter", "0", "--threads", "1"]
    for limit in (limits[first] + i / steps for i in range(2 * steps // 3)):
        done = run_limited(command, limit)
        assert done.returncode == MEMORY, f"{limit} MiB: {done.returncode}: {done.stderr[-300:]}"


@pytest.mark.parametrize(
    "flags",
    [("--threads", "1"), ("--threads", "2"), ("--threads", "2", "--streams", "3"), ("--fast-run",)],
    ids=" ".join,
)
def test_load_and_run_ends_well_at_every_limit(
    flags, heavy_model, smallest_limit, tool_path, tmp_path
):
    command = [tool_path("load_and_run"), heavy_model, "--iter", "1", "--warmup-iter", "0", *flags]
    if "--fast-run" in flags:
        command += ["--fast-run-algo-policy", tmp_path / "cache.sqlite"]
    codes, odd = [], []
    for limit in range(smallest_limit, smallest_limit + WORK + 1, STEP):
        done = run_limited(command, limit)
        codes.append(done.returncode)
        if done.returncode not in (OK, MEMORY):
            odd.append(f"{limit} MiB: exit {done.returncode}: {done.stderr[-300:]}")
        elif done.returncode == MEMORY:
            assert done.stderr.splitlines()[-1].startswith("load_and_run: error: "), done.stderr
            assert "Its graph was" not in done.stderr
    assert not odd, "\n".join(odd)
    assert MEMORY in codes, "no limit was too low"
    assert OK in codes, f"every limit was too low: {done.stderr}"
