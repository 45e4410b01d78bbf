# SPDX-License-Identifier: Apache-2.0
"""ONNX files as functions of Tensors."""

from .. import _mge


class Model:
    """The graph of an ONNX file, to be called with Tensors.

    Args:
        path: of the file.
    """

    def __init__(self, path: str) -> None:
        self._model = _mge.load(path)

    @property
    def input_names(self) -> list[str]:
        """The names of the inputs, in the order of a call."""
        return self._model.input_names

    @property
    def output_names(self) -> list[str]:
        """The names of the outputs, in the order of the results."""
        return self._model.output_names

    @property
    def metadata(self) -> dict[str, str]:
        """What the file says about itself: its exporter, versions and the names of extents."""
        return self._model.metadata

    def __call__(self, *inputs, **named):
        """What the graph makes of its inputs.

        Args:
            inputs: Tensors or arrays in the order of ``input_names``, of any extents that fit.
                Arrays of the dtype that the file says are taken as they are: float64, int64,
                uint32 and uint64 too, and the narrow ones of the package ``ml_dtypes``.
            named: further ones by their names.
        Returns:
            The only output, or a list of all.
        Raises:
            TypeError: for an input that is missing, or that the graph does not have.
        Example:
            >>> from megengine import onnx
            >>> info = onnx.export(F.relu, "relu.onnx", Tensor([[-1.0, 2.0]]))
            >>> onnx.load("relu.onnx")([[-3.0, 4.0]])
            Tensor([[0. 4.]], device=xpux:0)
        """
        values = dict(zip(self.input_names, inputs, strict=False))
        unknown = sorted(set(named) - set(self.input_names))
        missing = [n for n in self.input_names if n not in values and n not in named]
        if unknown or missing or len(inputs) > len(values):
            raise TypeError(
                f"the model takes {self.input_names}, got {len(inputs)} by position "
                f"and {sorted(named)} by name"
            )
        values.update(named)
        outputs = self._model.run([values[name] for name in self.input_names])
        return outputs[0] if len(outputs) == 1 else outputs


def load(path: str) -> Model:
    """Read an ONNX file.

    Args:
        path: of the file; weights that lie in other files are looked for beside it.
    Returns:
        A callable over its graph. ``megengine.utils.network.Network.load`` gives the same graph to
        be changed.
    Raises:
        RuntimeError: for a file that is damaged, or that has operators without a counterpart; it
            names each of them.
    Example:
        >>> from megengine import onnx
        >>> info = onnx.export(F.exp, "exp.onnx", Tensor([1.0]), input_names=["x"])
        >>> onnx.load("exp.onnx").input_names
        ['x']
    """
    return Model(str(path))
