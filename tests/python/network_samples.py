# SPDX-License-Identifier: Apache-2.0
"""Networks that the tests of graph surgery change."""

import io

import numpy as np

import megengine as mge
import megengine.functional as F
import megengine.module as M
from megengine.jit import trace
from megengine.utils.comp_graph_tools import GraphInference
from megengine.utils.network import Network


def dumped(function, *arrays, **kwargs) -> bytes:
    """The file of a traced function."""
    traced = trace(symbolic=True, capture_as_const=True)(function)
    traced(*(mge.Tensor(array) for array in arrays))
    file = io.BytesIO()
    traced.dump(file, silent=True, **kwargs)
    return file.getvalue()


def sums() -> Network:
    """o = (a + b) * 2."""
    data = dumped(
        lambda a, b: (a + b) * 2,
        np.float32([1, 2]),
        np.float32([3, 4]),
        arg_names=["a", "b"],
        output_names=["o"],
    )
    return Network.load(io.BytesIO(data))


class Small(M.Module):
    """Convolution, normalisation, relu, pooling, a linear layer."""

    def __init__(self):
        super().__init__()
        self.conv = M.Conv2d(3, 4, 3, padding=1)
        self.bn = M.BatchNorm2d(4)
        self.fc = M.Linear(64, 5)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.bn(self.conv(x))), 2)
        return F.softmax(self.fc(F.flatten(x, 1)))


def small(seed: int = 3):
    """A Module in evaluation mode, its file, and an input."""
    mge.random.seed(seed)
    module = Small()
    module.eval()
    data = np.random.default_rng(seed).random((2, 3, 8, 8), np.float32)
    names = {"arg_names": ["data"], "output_names": ["prob"], "no_change_graph": True}
    return module, dumped(module, data, **names), data


def run(net: Network, *arrays, outputs=None, **dump_options) -> dict[str, np.ndarray]:
    """The results of a network after it was dumped and loaded again."""
    file = io.BytesIO()
    net.dump(file, **dump_options)
    file.seek(0)
    return GraphInference(file, outputs=outputs).run(*arrays)
