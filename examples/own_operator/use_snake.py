# SPDX-License-Identifier: Apache-2.0
"""Loads the library, checks its gradient, trains with it and writes a model.

python use_snake.py build/own_operator.so snake.mge
"""

import sys

import numpy as np

import megengine as mge
from megengine.autodiff import GradManager
from megengine.core.ops import custom
from megengine.jit import trace


def gradient(x, **parameters):
    x = mge.tensor(x)
    manager = GradManager().attach([x])
    with manager:
        manager.backward(custom.snake(x, **parameters).sum())
    return x.grad.numpy()


def differences(x, step=1e-2, **parameters):
    """The gradient by finite differences: every element is independent."""
    above = custom.snake(mge.tensor(x + step), **parameters).numpy()
    below = custom.snake(mge.tensor(x - step), **parameters).numpy()
    return (above - below) / (2 * step)


def main(library, model):
    loaded = custom.load(library)
    print(loaded.name, "has", *loaded.operators)

    x = np.linspace(-2, 2, 9, dtype=np.float32)
    expected = x + np.sin(1.5 * x) ** 2 / 1.5
    np.testing.assert_allclose(custom.snake(mge.tensor(x), alpha=1.5).numpy(), expected, atol=1e-6)
    np.testing.assert_allclose(gradient(x, alpha=1.5), differences(x, alpha=1.5), atol=1e-3)
    print("gradient agrees with finite differences")

    @trace(symbolic=True, capture_as_const=True)
    def predict(x):
        return custom.snake(x, alpha=1.5)

    predict(mge.tensor(x))
    np.testing.assert_allclose(predict(mge.tensor(x)).numpy(), expected, atol=1e-6)
    predict.dump(model, arg_names=["x"], output_names=["y"])


if __name__ == "__main__":
    main(*sys.argv[1:])
