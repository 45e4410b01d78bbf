# SPDX-License-Identifier: Apache-2.0
"""Variables of a graph, compiled and run."""

from collections.abc import Sequence

import numpy as np

from ..tensor import Tensor


def model_of(outputs: Sequence[Tensor]):
    """A ``_mge.Model`` that computes variables of one graph; its outputs have no names."""
    graph = outputs[0].graph
    names = [f"result {i}" for i in range(len(outputs))]
    numbers = [var._number for var in outputs]
    return graph.to_model(numbers, names, graph.metadata, graph.compile_options())


class Compiled:
    """Variables of one graph, ready to run with the values of the graph's inputs.

    Args:
        outputs: VarNodes of one graph.
    """

    def __init__(self, outputs: Sequence[Tensor]) -> None:
        self._outputs = list(outputs)
        self._model = model_of(self._outputs)

    def execute(self) -> "Compiled":
        """Compute the variables; ``OutputNode.get_value`` returns them.

        Raises:
            RuntimeError: an input has no value.
        """
        graph = self._outputs[0].graph
        unset = [name for name in self._model.input_names if name not in graph.feeds]
        if unset:
            raise RuntimeError(f"the inputs {unset} have no values: set_value gives them some")
        results = self._model.run([graph.feeds[name] for name in self._model.input_names])
        for var, value in zip(self._outputs, results, strict=True):
            graph.results[var.id] = value
        return self

    def wait(self) -> "Compiled":
        """A run has ended when ``execute`` returns."""
        return self


def at_least_vector(value, dtype=None) -> Tensor:
    """A Tensor of this dtype, unless it is one; MegEngine's graphs have no rank zero."""
    tensor = value if isinstance(value, Tensor) else Tensor(np.asarray(value, dtype))
    return tensor if tensor.ndim else tensor.reshape(1)
