# SPDX-License-Identifier: Apache-2.0
"""megengine.config: settings that choose kernels act from the next call on."""

import os
import re
import subprocess
import sys

import pytest

import megengine as mge
from megengine import config

CHOOSE = """
import sys
import numpy as np
import megengine as mge
import megengine.functional as F
from megengine import Tensor
from megengine.autodiff import GradManager
from megengine.jit import trace

x = Tensor(np.ones((1, 8, 12, 12), np.float32))
w = Tensor(np.ones((8, 8, 3, 3), np.float32))
traced = {s: trace(lambda x: F.conv2d(x, w), symbolic=s) for s in (False, True)}

def gradients():
    with GradManager().attach(w) as gm:
        gm.backward(F.conv2d(x, w).sum())

def step(name, call):
    print(f"== {name}", file=sys.stderr, flush=True)
    call()

CALLS
"""


def choices(calls, op="conv2d"):
    """By step, where the choices for an operator came from."""
    run = subprocess.run(
        [sys.executable, "-c", CHOOSE.replace("CALLS", calls)],
        env={**os.environ, "MGE_LOG": "dispatch"},
        capture_output=True,
        text=True,
        check=True,
    )
    step = "before the first"
    found = {step: []}
    for line in run.stderr.splitlines():
        if line.startswith("== "):
            found[step := line[3:]] = []
        elif match := re.search(rf"{op}\b.*\[(heuristic|measured|cache|plan)\]$", line):
            found[step].append(match[1])
    del found["before the first"]
    return found


def test_operators_that_run_at_once_are_measured_on_request():
    found = choices(
        """
conv = lambda: F.conv2d(x, w)
step("off", conv)
mge.config.benchmark_kernel = True
step("on", conv)
step("again", conv)
step("no choice", lambda: F.exp(x))
mge.config.benchmark_kernel = False
step("off again", conv)
with mge.config._override(benchmark_kernel=True):
    step("override", conv)
step("restored", conv)
"""
    )
    assert found == {
        "off": ["heuristic"],
        "on": ["measured"],
        "again": [],
        "no choice": [],
        # Choices made under either setting are kept.
        "off again": [],
        "override": [],
        "restored": [],
    }


def test_gradients_are_measured_on_request():
    calls = "mge.config.benchmark_kernel = True\nstep('on', gradients)"
    assert choices(calls, "conv2d_backward_weight") == {"on": ["measured"]}


@pytest.mark.parametrize("symbolic", [False, True])
def test_traces_are_measured_on_request(symbolic):
    found = choices(
        f"""
call = lambda: traced[{symbolic}](x).numpy()
step("off", call)
step("off too", call)
mge.config.benchmark_kernel = True
step("on", call)
step("again", call)
mge.config.benchmark_kernel = False
step("off again", call)
"""
    )
    assert "measured" not in found["off"] + found["off too"]
    assert set(found["on"]) & {"measured", "cache"}
    assert found["again"] == [] and found["off again"] == []


def test_a_model_that_runs_alone_is_measured_on_request():
    found = choices(
        """
alone = trace(lambda x: F.conv2d(x, w), capture_as_const=True, without_host=True, symbolic=True)
alone(x)
step("off", lambda: alone(x).numpy())
mge.config.benchmark_kernel = True
step("on", lambda: alone(x).numpy())
"""
    )
    assert "measured" not in found["off"] and set(found["on"]) & {"measured", "cache"}


def test_results_are_the_same_in_every_setting():
    import numpy as np

    import megengine.functional as F

    random = np.random.default_rng(3)
    x = mge.Tensor(random.standard_normal((2, 16, 9, 9)).astype(np.float32))
    w = mge.Tensor(random.standard_normal((16, 16, 3, 3)).astype(np.float32))
    plain = F.conv2d(x, w, padding=1).numpy()
    for benchmark in (False, True):
        for deterministic in (False, True):
            with config._override(benchmark_kernel=benchmark, deterministic_kernel=deterministic):
                first, second = (F.conv2d(x, w, padding=1).numpy() for _ in range(2))
            np.testing.assert_allclose(first, plain, rtol=1e-4, atol=1e-4)
            np.testing.assert_array_equal(first, second)
    assert not config.benchmark_kernel and not config.deterministic_kernel


def test_execution_strategies_are_these_settings():
    from megengine.functional.debug_param import (
        Strategy,
        get_conv_execution_strategy,
        get_execution_strategy,
        set_conv_execution_strategy,
        set_execution_strategy,
    )

    with config._override():
        for name, benchmark, deterministic in (
            ("HEURISTIC", False, False),
            ("PROFILE", True, False),
            ("PROFILE_REPRODUCIBLE", True, True),
            ("HEURISTIC_REPRODUCIBLE", False, True),
        ):
            set_execution_strategy(name)
            assert (config.benchmark_kernel, config.deterministic_kernel) == (
                benchmark,
                deterministic,
            )
            strategy = get_execution_strategy()
            assert set(strategy.name.split("|")) == set(name.split("_"))
            set_execution_strategy(Strategy.HEURISTIC)
            set_execution_strategy(strategy)
            assert get_execution_strategy() == strategy
        with pytest.raises(ValueError, match="'FAST' is not one of"):
            set_execution_strategy("PROFILE_FAST")
        with pytest.raises(AssertionError):
            set_execution_strategy(3)
        with pytest.warns(DeprecationWarning):
            set_conv_execution_strategy("HEURISTIC")
        with pytest.warns(DeprecationWarning):
            assert get_conv_execution_strategy() == Strategy.HEURISTIC


@pytest.mark.parametrize("name", ["disable_memory_forwarding", "benchmark_with_subprocess"])
def test_settings_without_effect_are_reported(name):
    with config._override():
        with pytest.warns(UserWarning, match=rf"\[config\] {name} has no effect") as warned:
            setattr(config, name, True)
        assert warned[0].filename == __file__
        assert getattr(config, name) is True
        setattr(config, name, False)


def test_products_of_halves_are_computed_in_single_precision():
    import numpy as np

    import megengine.functional as F

    random = np.random.default_rng(1)
    a, b = (random.standard_normal((32, 32)).astype(np.float16) for _ in range(2))
    exact = a.astype(np.float64) @ b.astype(np.float64)
    for mode in ("default", "float32"):
        with config._override(compute_mode=mode):
            got = F.matmul(mge.Tensor(a), mge.Tensor(b)).numpy()
        # The error of rounding the sum alone.
        np.testing.assert_allclose(got, exact, rtol=2**-10, atol=2**-10)
