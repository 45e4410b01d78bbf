# SPDX-License-Identifier: Apache-2.0
"""A multilayer perceptron for flattened 28x28 digits."""

import megengine.module as M


def mlp():
    """Return the net: (N, 784) to (N, 10)."""
    return M.Sequential(
        M.Linear(784, 512),
        M.ReLU(),
        M.Linear(512, 256),
        M.ReLU(),
        M.Linear(256, 10),
    )
