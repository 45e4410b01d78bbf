# SPDX-License-Identifier: Apache-2.0
"""A recurrent net of two layers of long short-term memory (Hochreiter and Schmidhuber, 1997)."""

import megengine.module as M

WIDTH = 256
LAYERS = 2


class SequenceNet(M.Module):
    """The outputs of the last layer: (N, L, width) to the same."""

    def __init__(self, width=WIDTH, layers=LAYERS):
        super().__init__()
        self.lstm = M.LSTM(width, width, layers, batch_first=True)

    def forward(self, x):
        return self.lstm(x)[0]


def lstm():
    """Return the net: (N, L, 256) to the same."""
    return SequenceNet()
