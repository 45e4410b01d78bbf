# SPDX-License-Identifier: Apache-2.0
"""ONNX files as functions of Tensors."""

import json
import os
from collections.abc import Collection
from typing import Any, Protocol, runtime_checkable

import numpy as np

from .. import _mge
from ..module import Module
from ..tensor import Parameter


@runtime_checkable
class _BinaryFile(Protocol):
    def read(self) -> bytes: ...


@runtime_checkable
class _ModelProto(Protocol):
    def SerializeToString(self) -> bytes: ...  # noqa: N802 - the name of protobuf


ModelSource = str | os.PathLike | bytes | bytearray | memoryview | _BinaryFile | _ModelProto


class _Named:
    """Names of a file's inputs and outputs, in the order of a call and of its results."""

    def __init__(self, graph) -> None:
        self._graph = graph
        self._outputs = _outputs_of(graph)

    @property
    def input_names(self) -> list[str]:
        """The names of the inputs, in the order of a call."""
        return self._graph.input_names

    @property
    def output_names(self) -> list[str]:
        """The names of the outputs, in the order of the results."""
        return [name for name, _ in self._outputs]

    @property
    def input_shapes(self) -> dict[str, tuple[int | str | None, ...]]:
        """The shapes of the inputs by name: ``{"x": ("batch", 3, 224, 224)}``.

        An open dimension is the name that the file gives it, or None.
        """
        return self._graph.input_shapes

    @property
    def metadata(self) -> dict[str, str]:
        """The metadata of the file: its exporter, versions and the names of dimensions."""
        return self._graph.metadata

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}({', '.join(self.input_names)}"
            f" -> {', '.join(self.output_names)})"
        )

    def _results(self, outputs: list):
        """The only output, or a list of all; a sequence as a list of its items."""
        values = iter(outputs)
        results = [
            next(values) if count is None else [next(values) for _ in range(count)]
            for _, count in self._outputs
        ]
        return results[0] if len(results) == 1 else results

    def _in_order(self, inputs: tuple, named: dict) -> list:
        left = self.input_names[len(inputs) :]
        if len(inputs) > len(self.input_names) or named.keys() != set(left):
            raise TypeError(
                f"the model takes {self.input_names}, got {len(inputs)} by position "
                f"and {sorted(named)} by name"
            )
        return [*inputs, *(named[name] for name in left)]


def _items_in(metadata: dict[str, str]) -> dict[str, int]:
    """Number of items of each output that is a sequence. The metadata is not trusted."""
    prefix = "onnx.items."
    items = {k.removeprefix(prefix): v for k, v in metadata.items() if k.startswith(prefix)}
    return {name: int(count) for name, count in items.items() if count.isdecimal()}


def _outputs_of(graph) -> list[tuple[str, int | None]]:
    """The outputs of the file: their names, and for a sequence how many of the graph's it is."""
    names, counts = graph.output_names, _items_in(graph.metadata)
    found, i = [], 0
    while i < len(names):
        whole = names[i].removesuffix(".0")
        count = min(counts.get(whole, 0), len(names))
        is_sequence = count > 0 and names[i : i + count] == [f"{whole}.{k}" for k in range(count)]
        found.append((whole, count) if is_sequence else (names[i], None))
        i += count if is_sequence else 1
    return found


def _texts_in(metadata: dict[str, str], key: str) -> list[str]:
    """A list, which anybody may have written."""
    try:
        found = json.loads(metadata.get(key, "[]"))
    except ValueError:
        return []
    return found if isinstance(found, list) and all(isinstance(t, str) for t in found) else []


class _Texts:
    """Texts of a file, which are numbers in its graph; others get further numbers, in each call."""

    def __init__(self, metadata: dict[str, str]) -> None:
        self._numbers = {t: i for i, t in enumerate(_texts_in(metadata, "onnx.texts"))}
        self._values = frozenset(_texts_in(metadata, "onnx.texts.of"))

    def __bool__(self) -> bool:
        return bool(self._values)

    def encoded(self, names: list[str], values: list, numbers: dict[str, int]) -> list:
        """The inputs of a run; ``numbers`` are added to."""

        def number(text):
            text = text.decode() if isinstance(text, bytes) else text
            if not isinstance(text, str):
                raise TypeError(f"a {type(text).__name__} in an input of texts")
            return numbers.setdefault(text, len(numbers))

        def array(value):
            texts = np.asarray(value)
            found = [number(text) for text in texts.ravel().tolist()]
            return np.array(found, np.int64).reshape(texts.shape)

        return [array(v) if n in self._values else v for n, v in zip(names, values, strict=True)]

    def run(self, graph, values: list, donated: list[int]) -> list:
        """The outputs of the graph for its inputs, including arrays of strings."""
        numbers = dict(self._numbers)
        outputs = graph.run(self.encoded(graph.input_names, values, numbers), donated)
        texts = np.array(list(numbers), object)
        return [
            texts[y.numpy()] if name in self._values else y
            for name, y in zip(graph.output_names, outputs, strict=True)
        ]


def _source_of(model: ModelSource) -> dict[str, Any]:
    """The argument by which _mge reads a model: its path or its content."""
    if isinstance(model, (str, os.PathLike)):
        return {"path": model}
    content = model
    if isinstance(model, _ModelProto):
        content = model.SerializeToString()
    elif isinstance(model, _BinaryFile):
        content = model.read()
    if not isinstance(content, (bytes, bytearray, memoryview)):
        given = type(model).__name__
        raise TypeError(
            "[onnx.load] a model is a path, its content as bytes, a binary file or a ModelProto,"
            f" got {given}{' that reads text' if isinstance(content, str) else ''}"
        )
    return {"content": bytes(content)}


class Model(_Named):
    """The graph of an ONNX file, to be called with Tensors.

    Args:
        path: of the file, or its content, as of ``load``.
        donated: names of inputs whose memory the results may take, as those of a cache that each
            call extends. A Tensor that was given for such an input has no defined value after the
            call.
    """

    def __init__(self, path: ModelSource, donated: Collection[str] = ()) -> None:
        super().__init__(_mge.load(**_source_of(path)))
        self._texts = _Texts(self._graph.metadata)
        unknown = sorted(set(donated) - set(self.input_names))
        if unknown:
            raise ValueError(f"donated inputs {unknown}; the model takes {self.input_names}")
        self._donated = [i for i, name in enumerate(self.input_names) if name in donated]

    def __call__(self, *inputs, **named):
        """Run the graph on its inputs.

        Args:
            inputs: Tensors or arrays in the order of ``input_names``, of any matching shape. Arrays
                of the dtype in the file are not converted, including float64, int64, uint32 and
                uint64, and the narrow dtypes of the package ``ml_dtypes``. String inputs are arrays
                of strings.
            named: further inputs by name.
        Returns:
            The only output, or a list of all; strings are arrays of ``str``, a sequence is a list
            of its items.
        Raises:
            TypeError: an input is missing or given twice, or the graph does not have it.
        Example:
            >>> from megengine import onnx
            >>> info = onnx.export(F.relu, "relu.onnx", Tensor([[-1.0, 2.0]]))
            >>> onnx.load("relu.onnx")([[-3.0, 4.0]])
            Tensor([[0. 4.]], device=xpux:0)
        """
        values = self._in_order(inputs, named)
        if self._texts:
            return self._results(self._texts.run(self._graph, values, self._donated))
        return self._results(self._graph.run(values, self._donated))


class TrainableModel(_Named, Module):
    """The graph of an ONNX file as a Module: its weights are Parameters, by the names of the file.

    Weights are the floating constants with at least one axis that a gradient reaches. Batch
    normalisation keeps the statistics of the file, and dropout is the identity: exporters write
    nets in evaluation mode.

    Args:
        path: of the file, or its content, as of ``load``.
    """

    def __init__(self, path: ModelSource) -> None:
        Module.__init__(self)
        _Named.__init__(self, _mge.GraphFunction(**_source_of(path)))
        self._weights = []  # names of attributes, in the order of a call
        for name, value in self._graph.weights():
            key = name if not (hasattr(self, name) or name.startswith("_")) else f"weight.{name}"
            self._weights.append(key)
            setattr(self, key, Parameter(value))

    def forward(self, *inputs, **named):
        """Run the graph on its inputs with the current weights.

        Args:
            inputs: as of a Model.
            named: further ones by their names.
        Returns:
            The only output, or a list of all.
        Raises:
            TypeError: an input is missing or given twice, or the graph does not have it.
        """
        weights = [getattr(self, key) for key in self._weights]
        return self._results(self._graph.call(self._in_order(inputs, named), weights))


def load(
    path: ModelSource, trainable: bool = False, donated: Collection[str] = ()
) -> Model | TrainableModel:
    """Read an ONNX file.

    Args:
        path: path of the file, whose folder is searched for external weight files; its content; a
            binary file object; or a ``ModelProto`` of the package ``onnx``. ``bytes`` are content,
            not a path.
        trainable: whether the weights are Parameters of a Module that can be trained further.
        donated: names of inputs whose memory the results may take. Only for models that are not
            trained.
    Returns:
        A callable that runs its graph. ``megengine.utils.network.Network.load`` returns the same
        graph for editing.
    Raises:
        RuntimeError: the file is damaged, or has operators without a counterpart, which the message
            lists; or a model that is not given by its path has external weight files.
        TypeError: the model is something else, or a file that was opened as text.
        ValueError: an input to be donated is unknown, or the model is trained.
    Example:
        >>> import megengine.module as M
        >>> from megengine import onnx
        >>> info = onnx.export(M.Linear(3, 2), "linear.onnx", Tensor([[1.0, 2.0, 3.0]]))
        >>> onnx.load("linear.onnx").input_names
        ['x']
        >>> net = onnx.load("linear.onnx", trainable=True)
        >>> sorted(name for name, _ in net.named_parameters())
        ['bias', 'weight']
    """
    if not trainable:
        return Model(path, donated)
    if donated:
        raise ValueError("the inputs of a model that is trained cannot be donated")
    return TrainableModel(path)
