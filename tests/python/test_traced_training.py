# SPDX-License-Identifier: Apache-2.0
"""Whole training steps, eager and traced: the same numbers."""

import numpy as np
import pytest

import megengine as mge
import megengine.functional as F
import megengine.module as M
from megengine.autodiff import GradManager
from megengine.jit import trace
from megengine.optimizer import SGD, Adam


class Net(M.Module):
    def __init__(self, drop_prob=0.0):
        super().__init__()
        self.conv = M.Conv2d(1, 4, 3, padding=1)
        self.norm = M.BatchNorm2d(4)
        self.drop = M.Dropout(drop_prob)
        self.head = M.Linear(4, 3)

    def forward(self, x):
        x = F.relu(self.norm(self.conv(x)))
        return self.head(self.drop(F.mean(x, (2, 3))))


def batches(count):
    random = np.random.RandomState(0)
    for _ in range(count):
        images = random.standard_normal((6, 1, 5, 5)).astype(np.float32)
        yield mge.Tensor(images), mge.Tensor(random.randint(0, 3, 6).astype(np.int32))


def train(make_optimizer, wrap, steps=5, drop_prob=0.0):
    """Losses of each step, and the state at the end."""
    mge.random.seed(3)
    net = Net(drop_prob)
    optimizer = make_optimizer(net.parameters())
    manager = GradManager().attach(net.parameters())

    def step(x, y):
        with manager:
            loss = F.nn.cross_entropy(net(x), y)
            manager.backward(loss)
        optimizer.step().clear_grad()
        return loss

    step = wrap(step)
    losses = []
    for k, (x, y) in enumerate(batches(steps)):
        if k == 3:
            optimizer.param_groups[0]["lr"] *= 0.1
        losses.append(float(step(x, y)))
    return losses, net.state_dict()


OPTIMIZERS = {
    "sgd": lambda parameters: SGD(parameters, lr=0.1, momentum=0.9, weight_decay=1e-3),
    "adam": lambda parameters: Adam(parameters, lr=0.01),
}


@pytest.mark.parametrize("symbolic", [False, True], ids=["eager first", "symbolic"])
@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_traced_training_is_eager_training(optimizer, symbolic):
    losses, state = train(OPTIMIZERS[optimizer], lambda step: step)
    traced_losses, traced_state = train(
        OPTIMIZERS[optimizer], lambda step: trace(step, symbolic=symbolic)
    )
    np.testing.assert_allclose(traced_losses, losses, rtol=1e-4)
    for name, value in state.items():
        np.testing.assert_allclose(traced_state[name], value, rtol=1e-3, atol=1e-4, err_msg=name)


def test_traced_dropout_draws_the_numbers_of_eager_dropout():
    losses, _ = train(OPTIMIZERS["sgd"], lambda step: step, drop_prob=0.5)
    traced_losses, _ = train(OPTIMIZERS["sgd"], lambda step: trace(step), drop_prob=0.5)
    np.testing.assert_allclose(traced_losses, losses, rtol=1e-4)
    x = F.ones((100,))
    draw = trace(lambda x: F.dropout(x, 0.5))
    drawn = [draw(x).numpy().tobytes() for _ in range(4)]
    assert len(set(drawn)) == 4


def test_training_learns():
    random = np.random.RandomState(1)
    x = random.standard_normal((256, 2)).astype(np.float32)
    y = (x[:, 0] * x[:, 1] > 0).astype(np.int32)
    mge.random.seed(0)
    net = M.Sequential(M.Linear(2, 32), M.ReLU(), M.Linear(32, 2))
    optimizer = Adam(net.parameters(), lr=0.02)
    manager = GradManager().attach(net.parameters())
    x, y = mge.Tensor(x), mge.Tensor(y)
    for _ in range(150):
        with manager:
            loss = F.nn.cross_entropy(net(x), y)
            manager.backward(loss)
        optimizer.step().clear_grad()
    assert float(F.metric.topk_accuracy(net(x), y)) > 0.95
