# SPDX-License-Identifier: Apache-2.0
"""jit.trace: its options, and those of graphs."""

import io
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from trace_samples import both_modes, floats

import megengine as mge
import megengine.functional as F
from megengine import Tensor
from megengine.autodiff import GradManager
from megengine.jit import (
    GraphOptimizationConfig,
    trace,
)


def test_options_as_decorator_and_methods():
    class Net:
        scale = 3

        @trace(symbolic=True)
        def run(self, x):
            return x * self.scale

    net = Net()
    assert net.run(floats(2.0)).item() == 6
    assert net.run(floats(3.0)).item() == 9


def test_level_below_zero_compares_replaced_steps():
    config = GraphOptimizationConfig(jit_fuse_dimshuffle=True, jit_fuse_reduce=None)

    @trace(symbolic=True, opt_level=-1, graph_opt_config=config)
    def itself(x):
        return F.log(F.exp(x)).sum()

    assert itself(Tensor([1.0, 2.0])).numpy() == 3
    with pytest.raises(RuntimeError, match="pass simplify_algebra changes the value"):
        itself(Tensor([1.0, 200.0])).numpy()


def test_a_number_over_itself_is_one_only_where_that_is_true():
    @trace(symbolic=True)
    def quotient(x):
        return x / x

    for _ in range(2):
        np.testing.assert_array_equal(quotient(Tensor([2.0, 0.0, np.inf])), [1, np.nan, np.nan])


def test_options_of_traces_are_checked_in_their_own_words():
    from megengine.jit import DTRConfig, GraphOptimizationConfig

    with pytest.raises(ValueError, match=r"\[opt_level\] 7 is not between -3 and 3"):
        trace(lambda x: x, opt_level=7)
    with pytest.raises(
        TypeError, match=r"\[graph_opt_config.jit_fuse_reduce\] needs true or false"
    ):
        trace(lambda x: x, graph_opt_config=GraphOptimizationConfig(None, "yes"))
    with pytest.raises(TypeError, match=r"\[dtr_config.eviction_threshold\] needs a whole number"):
        trace(lambda x: x, dtr_config=DTRConfig(eviction_threshold=0.5))
    with pytest.raises(TypeError, match=r"\[dtr_config.eviction_threshold\] needs a number"):
        DTRConfig(eviction_threshold="5GB")
    for name, number in (("eviction_threshold", 0), ("recomp_time_factor", -1)):
        with pytest.raises(AssertionError, match=name):
            DTRConfig(**{"eviction_threshold": 1, name: number})


@both_modes
def test_sublinear_memory_config_acts(symbolic):
    from megengine.jit import SublinearMemoryConfig

    def step(x):
        for _ in range(6):
            x = F.tanh(x * 1.5)
        return x.sum()

    def gradient(x):
        with GradManager().attach(x) as gm:
            gm.backward(step(x))
        return x.grad

    def results(function):
        x = Tensor(np.linspace(-1, 1, 50, dtype=np.float32))
        found = []
        for _ in range(2):
            x.grad = None
            found.append(function(x).numpy())
        return found

    config = SublinearMemoryConfig(thresh_nr_try=2, num_worker=1)
    traced = trace(symbolic=symbolic, sublinear_memory_config=config)(gradient)
    np.testing.assert_allclose(results(traced), results(gradient), rtol=1e-5)
    small = SublinearMemoryConfig(genetic_pool_size=1, genetic_nr_iter=20)
    with pytest.raises(ValueError, match="sublinear_memory_config"):
        trace(step, sublinear_memory_config=small)
    for name, number in (("thresh_nr_try", -1), ("genetic_nr_iter", -1), ("num_worker", 0)):
        with pytest.raises(AssertionError, match=name):
            SublinearMemoryConfig(**{name: number})
    with pytest.raises(ValueError, match=r"\[opt_level\] contradicts sublinear_memory_config"):
        trace(step, sublinear_memory_config=config, opt_level=-1)


def test_a_dtr_config_is_a_budget():
    from megengine.jit import DTRConfig, SublinearMemoryConfig

    def chain(x):
        values = [x]
        for _ in range(12):
            values.append(F.sin(values[-1]))
        y = values[-1]
        for value in reversed(values[:-1]):
            y = y * F.cos(value)
        return y.sum()

    def peak(config):
        before = mge.device.get_allocated_memory()
        traced = trace(symbolic=True, dtr_config=config, opt_level=0)(chain)
        mge.device.reset_max_memory_stats()
        np.testing.assert_array_equal(traced(x).numpy(), expected)
        return mge.device.get_max_allocated_memory() - before

    x = Tensor(np.full((256, 1024), 0.5, np.float32))
    expected = trace(symbolic=True, opt_level=0)(chain)(x).numpy()
    assert peak(DTRConfig(1)) < 0.7 * peak(None)
    with pytest.raises(ValueError, match=r"\[dtr_config\] contradicts sublinear_memory_config"):
        trace(chain, dtr_config=DTRConfig(1), sublinear_memory_config=SublinearMemoryConfig())


def test_dropping_imperative_warns():
    with pytest.warns(UserWarning, match="imperative has no effect"):
        trace(lambda x: x, imperative=True)


def test_options_may_be_positional():
    plain = trace(lambda x: x * 2, True, True)
    assert plain(Tensor([1.0, 2.0])).tolist() == [2, 4]
    plain.dump(io.BytesIO())
    with pytest.raises(ValueError, match="capture_as_const"):
        trace(lambda x: x * 2, True).dump(io.BytesIO())


def test_the_pages_have_the_descriptions_of_the_code():
    script = Path(__file__).resolve().parents[2] / "scripts/make_option_table.py"
    assert subprocess.run([sys.executable, script, "--check"]).returncode == 0
