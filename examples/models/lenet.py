# SPDX-License-Identifier: Apache-2.0
"""LeNet-5 with ReLU and max pooling, for 28x28 digits (after LeCun et al., 1998)."""

import megengine.functional as F
import megengine.module as M


class Flatten(M.Module):
    """Everything but the batch in one axis."""

    def forward(self, x):
        return F.flatten(x, 1)


def lenet():
    """Return the net: (N, 1, 28, 28) to (N, 10)."""
    return M.Sequential(
        M.Conv2d(1, 6, 5, padding=2),
        M.ReLU(),
        M.MaxPool2d(2),
        M.Conv2d(6, 16, 5),
        M.ReLU(),
        M.MaxPool2d(2),
        Flatten(),
        M.Linear(400, 120),
        M.ReLU(),
        M.Linear(120, 84),
        M.ReLU(),
        M.Linear(84, 10),
    )
