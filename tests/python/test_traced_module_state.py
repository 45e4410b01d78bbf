# SPDX-License-Identifier: Apache-2.0
"""State that traced modules share with the original Modules, and changes by calls."""

import copy

import numpy as np
import pytest
from traced_module_samples import Net, assert_agree, image

import megengine as mge
import megengine.functional as F
import megengine.module as M
from megengine.autodiff import GradManager
from megengine.optimizer import SGD
from megengine.traced_module import trace_module
from megengine.traced_module.traced_module import TracedModule


class Leaf(M.Module):
    def __init__(self):
        super().__init__()
        self.r = M.ReLU()

    def forward(self, x, flag=True):
        y = self.r(x)
        return y * 2 if flag else y

    def other(self, x):
        return self.r(x) + 1


class Shared(M.Module):
    def __init__(self):
        super().__init__()
        self.s = Leaf()
        self.t = self.s

    def forward(self, x):
        y = self.s(x)
        return self.s.other(self.t(self.s(y), flag=False))


def test_a_module_that_is_shared_stays_one():
    module = Shared()
    traced = trace_module(module, image())
    assert traced.s is traced.t and len(traced.s.argdef_graph_map) == 2
    with pytest.raises(AssertionError, match="2 graphs"):
        _ = traced.s.graph
    for each in (traced, copy.deepcopy(traced), traced.flatten()):
        assert_agree(each, module, image(1))
    assert copy.deepcopy(traced).s is not traced.s


def test_state_matches_the_module():
    net = Net()
    traced = trace_module(net, image())
    assert set(traced.state_dict()) == set(net.state_dict())
    assert traced.seq.__dict__["0"] is vars(net.seq)["0"]
    flat = traced.flatten()
    assert set(flat.state_dict()) == set(net.state_dict())
    assert {id(p) for p in flat.parameters()}.isdisjoint({id(p) for p in net.parameters()})
    assert traced.graph.get_module_by_type(TracedModule).as_count() == 3
    assert flat.graph.get_module_by_type(TracedModule).as_list() == []


def test_parameters_in_lists_are_attributes():
    class Several(M.Module):
        def __init__(self):
            super().__init__()
            self.ps = [mge.Parameter([1.0]), mge.Parameter([3.0])]
            self.unused = mge.Parameter([0.0])

        def forward(self, x):
            return x * self.ps[1]

    module = Several()
    traced = trace_module(module, image())
    assert list(traced.state_dict()) == ["ps.1"]
    module.ps[1][...] = 7
    assert_agree(traced, module, image())


def test_training():
    net = M.Sequential(M.Linear(3, 4), M.BatchNorm1d(4), M.ReLU(), M.Linear(4, 1))
    twin = copy.deepcopy(net)
    traced = trace_module(net, image(shape=(8, 3)))
    twin.load_state_dict(net.state_dict())
    for module in (traced, twin):
        optimizer = SGD(module.parameters(), lr=0.1)
        manager = GradManager().attach(module.parameters())
        for step in range(3):
            with manager:
                loss = (module(image(step, (8, 3))) ** 2).mean()
                manager.backward(loss)
            optimizer.step().clear_grad()
    for name, value in twin.state_dict().items():
        np.testing.assert_allclose(traced.state_dict()[name], value, rtol=1e-5, atol=1e-6)


def test_random_numbers_are_redrawn():
    class Noise(M.Module):
        def forward(self, x):
            return x + mge.random.normal(size=(4,)) + F.dropout(x, 0.5)

    traced = trace_module(Noise(), F.zeros((4,)))
    one, other = traced(F.zeros((4,))).numpy(), traced(F.zeros((4,))).numpy()
    assert (one != other).any()
    mge.random.seed(7)
    want = Noise()(F.ones((4,))).numpy()
    mge.random.seed(7)
    np.testing.assert_array_equal(traced(F.ones((4,))).numpy(), want)


def test_state_is_changed_as_by_the_module():
    class Counter(M.Module):
        def __init__(self):
            super().__init__()
            self.count = mge.Tensor([0.0])

        def forward(self, x):
            self.count += 1
            return x * 2

    module = Counter()
    traced = trace_module(module, image())
    assert module.count.item() == 1  # the recording was one call, the check none
    traced(image())
    assert traced.count.item() == 2


def test_constants_that_the_module_changes_begin_again_in_each_call():
    class Padded(M.Module):
        def forward(self, x):
            made = mge.Tensor(np.ones(4, "float32"))
            made[:2] = x
            made += 1
            return made * 2

    traced = trace_module(Padded(), F.zeros(2))
    for x in (F.zeros(2), F.ones(2)):
        assert_agree(traced, Padded(), x)
    assert_agree(copy.deepcopy(traced), Padded(), F.zeros(2))


def test_statistics_match_one_call():
    net, twin = M.BatchNorm2d(3), M.BatchNorm2d(3)
    trace_module(M.Sequential(net), image())
    twin(image())
    np.testing.assert_array_equal(net.running_mean.numpy(), twin.running_mean.numpy())
