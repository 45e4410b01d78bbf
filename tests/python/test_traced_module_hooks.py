# SPDX-License-Identifier: Apache-2.0
"""Hooks of recording in functions and methods: scope, lifetime, and limits."""

import inspect
import threading

import numpy as np
import pytest
from traced_module_samples import Net, Returns, image

import megengine as mge
import megengine.functional as F
import megengine.module as M
import megengine.traced_module as T
from megengine.traced_module import hooks, trace_module


def test_hooks_are_recorded():
    net = M.Sequential(M.ReLU())
    net.register_forward_hook(lambda module, inputs, outputs: outputs * 3)
    traced = trace_module(net, image())
    assert traced.graph.get_method_by_type("__mul__").as_count() == 1
    np.testing.assert_allclose(traced(image(1)).numpy(), net(image(1)).numpy())


class Hidden(M.Module):
    def __init__(self):
        super().__init__()
        self.seq = M.Sequential(M.ReLU())

    def forward(self, x):
        x = self.seq(x)
        with hooks.paused():  # as a library would that does not go through functional
            x._reset(x + 1)
        return F.exp(x) + 1


def test_undetected_faults_are_found_by_the_checkers():
    with pytest.raises(AssertionError, match="Hidden gives another value"):
        trace_module(Hidden(), image())
    assert T.enable_expr_checker() is False
    try:
        trace_module(Net(), image())
        with pytest.raises(AssertionError, match=r"exp_out = elemwise.exp\(.* of Hidden gives"):
            trace_module(Hidden(), image())
    finally:
        T.tm_config.checks.expressions = False
    assert T.disable_default_checker() is True
    try:
        trace_module(Hidden(), image())
    finally:
        T.tm_config.checks.results = True


def test_nothing_remains():
    before = {name: vars(mge.Tensor).get(name) for name in (*hooks.METHODS, "shape", "size")}
    code, signature = F.relu.__code__, inspect.signature(F.relu)
    trace_module(Net(), image())
    with pytest.raises(ZeroDivisionError):
        trace_module(Returns(lambda x: 1 / 0), image())
    assert {name: vars(mge.Tensor).get(name) for name in before} == before
    assert F.relu.__code__ is code and inspect.signature(F.relu) == signature
    assert "__getattribute__" not in vars(M.Module) and not hooks._undo
    x = image()
    assert x.shape == (2, 3, 4, 4) and (x + x).shape == (2, 3, 4, 4)


def test_other_threads_are_not_recorded():
    started, done, failures = threading.Event(), threading.Event(), []

    def work():
        started.set()
        while not done.is_set():
            x = F.relu(image()) + 1
            if x.shape != (2, 3, 4, 4):
                failures.append(x.shape)

    class Slow(M.Module):
        def forward(self, x):
            for _ in range(20):
                x = F.relu(x + 1)
            return x

    thread = threading.Thread(target=work)
    thread.start()
    started.wait()
    try:
        for _ in range(5):
            assert len(trace_module(Slow(), image()).graph._exprs) == 40
    finally:
        done.set()
        thread.join()
    assert not failures


def test_several_threads_record():
    def work():
        for _ in range(3):
            found.append(len(trace_module(Net(), image()).graph._exprs))

    found = []
    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [23] * 9 and not hooks._undo


def test_hooks_are_removed_if_installation_fails():
    def functions():
        yield F.relu
        raise KeyError

    code = F.relu.__code__
    with pytest.raises(KeyError), hooks.hooked(functions):
        pass
    assert F.relu.__code__ is code and not hooks._undo and not hooks._users
