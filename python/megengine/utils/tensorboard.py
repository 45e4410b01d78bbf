# SPDX-License-Identifier: Apache-2.0
"""Graphs, texts and numbers as files of TensorBoard; needs its package,
``pip install 'mge-engine[tensorboard]'``."""

from __future__ import annotations

import datetime
import functools
import importlib
import os
import socket
import time
from collections.abc import Iterable
from types import SimpleNamespace
from typing import TYPE_CHECKING

from ..core.not_available import NotAvailableModuleError

if TYPE_CHECKING:
    from tensorboard.compat.proto.attr_value_pb2 import AttrValue
    from tensorboard.compat.proto.event_pb2 import Event
    from tensorboard.compat.proto.graph_pb2 import GraphDef
    from tensorboard.compat.proto.node_def_pb2 import NodeDef
    from tensorboard.compat.proto.summary_pb2 import Summary
    from tensorboard.compat.proto.tensor_shape_pb2 import TensorShapeProto
    from tensorboard.summary.writer.event_file_writer import EventFileWriter

_STRING = 7  # number of TensorFlow's dtype
# TensorBoard's messages and its writer, by module. They are imported on first use: it is optional.
_CLASSES = {
    "compat.proto.attr_value_pb2": "AttrValue",
    "compat.proto.event_pb2": "Event SessionLog",
    "compat.proto.graph_pb2": "GraphDef",
    "compat.proto.node_def_pb2": "NodeDef",
    "compat.proto.summary_pb2": "Summary SummaryMetadata",
    "compat.proto.tensor_pb2": "TensorProto",
    "compat.proto.tensor_shape_pb2": "TensorShapeProto",
    "compat.proto.versions_pb2": "VersionDef",
    "summary.writer.event_file_writer": "EventFileWriter",
}


@functools.cache
def _tensorboard() -> SimpleNamespace:
    """Return TensorBoard's messages and its writer of files by their names.

    Raises:
        NotAvailableModuleError: TensorBoard is not installed.
    """
    try:
        found = {
            name: getattr(importlib.import_module(f"tensorboard.{module}"), name)
            for module, names in _CLASSES.items()
            for name in names.split()
        }
    except ImportError as e:
        raise NotAvailableModuleError(
            "megengine.utils.tensorboard needs TensorBoard: pip install 'mge-engine[tensorboard]'"
            f" ({e})"
        ) from e
    return SimpleNamespace(**found)


def tensor_shape_proto(shape: Iterable[int]) -> TensorShapeProto:
    """A shape.

    Args:
        shape: sizes; -1: unknown.
    Returns:
        ``TensorShapeProto``.
    Example:
        >>> len(tensor_shape_proto([2, 3]).dim)
        2
    """
    kind = _tensorboard().TensorShapeProto
    return kind(dim=[kind.Dim(size=extent) for extent in shape])


def _shapes_of(shape) -> list:
    """A list of one shape, or of several."""
    several = any(isinstance(part, (list, tuple)) for part in shape)
    return list(shape) if several else [shape]


def attr_value_proto(shape, dtype, attr: dict) -> dict[str, AttrValue]:
    """Attributes that a node shows in addition to its name.

    Args:
        shape: shape of its output, or a list of shapes; None: unknown.
        dtype: dtype of its output; None: unknown.
        attr: values by name, shown as text.
    Returns:
        Values by name.
    Example:
        >>> sorted(attr_value_proto([2], "float32", {"axis": 1}))
        ['_output_shapes', 'axis', 'dtype']
    """
    kind, values = _tensorboard().AttrValue, {}
    if shape is not None:
        shapes = [tensor_shape_proto(each) for each in _shapes_of(shape)]
        values["_output_shapes"] = kind(list=kind.ListValue(shape=shapes))
    texts = {**({} if dtype is None else {"dtype": dtype}), **attr}
    return values | {name: kind(s=str(value).encode()) for name, value in texts.items()}


def node_proto(
    name: str,
    op: str = "UnSpecified",
    input: list[str] | None = None,
    outputshape=None,
    dtype=None,
    attributes: dict | None = None,
) -> NodeDef:
    """A node of a graph.

    Args:
        name: ``/`` in it makes groups.
        op: its type.
        input: names of the nodes that it reads.
        outputshape: of its output, or a list of them.
        dtype: of its output.
        attributes: values by name.
    Returns:
        ``NodeDef``.
    Example:
        >>> node_proto("y", op="Exp", input=["x"]).name
        'y'
    """
    attr = attr_value_proto(outputshape, dtype, attributes or {})
    return _tensorboard().NodeDef(name=name, op=op, input=input or [], attr=attr)


def node(
    name: str,
    op: str = "UnSpecified",
    input: list[str] | None = None,
    outputshape=None,
    dtype=None,
    attributes: dict | None = None,
) -> NodeDef:
    """``node_proto``.

    Example:
        >>> node("y", op="Exp", input=["x"]).op
        'Exp'
    """
    return node_proto(name, op, input, outputshape, dtype, attributes)


def graph(node_list: Iterable[NodeDef]) -> GraphDef:
    """A graph.

    Args:
        node_list: its nodes.
    Returns:
        ``GraphDef``.
    Example:
        >>> len(graph([node("x"), node("y", input=["x"])]).node)
        2
    """
    tb = _tensorboard()
    return tb.GraphDef(node=list(node_list), versions=tb.VersionDef(producer=22))


def text(tag: str, text: str) -> Summary:
    """A text, in Markdown.

    Args:
        tag: its name.
        text: its text.
    Returns:
        ``Summary``.
    Example:
        >>> text("note", "**begun**").value[0].tag
        'note'
    """
    tb = _tensorboard()
    plugin = tb.SummaryMetadata.PluginData(plugin_name="text")
    tensor = tb.TensorProto(
        dtype=_STRING, string_val=[text.encode()], tensor_shape=tensor_shape_proto([1])
    )
    about = tb.SummaryMetadata(plugin_data=plugin)
    return tb.Summary(value=[tb.Summary.Value(tag=tag, metadata=about, tensor=tensor)])


class NodeRaw:
    """A node that may still change.

    Args:
        name: its name.
        op: its type.
        input: names of the nodes that it reads.
        outputshape: of its output, or a list of them.
        dtype: of its output.
        attributes: values by name.
    Example:
        >>> NodeRaw("y", "Exp", ["x"], [2], "float32", {}).op
        'Exp'
    """

    def __init__(self, name: str, op: str, input: list[str], outputshape, dtype, attributes: dict):
        self.name = name
        self.op = op
        self.input = input
        self.outputshape = outputshape
        self.dtype = dtype
        self.attributes = attributes


def _default_folder(comment: str) -> str:
    now = datetime.datetime.now().strftime("%b%d_%H-%M-%S")
    return os.path.join("runs", f"{now}_{socket.gethostname()}{comment}")


class SummaryWriterExtend:
    """Writes one file of events, which TensorBoard shows while it grows; also a context.

    Args:
        logdir: its folder; None: one in ``runs``.
        comment: suffix of that folder's name.
        purge_step: hides this step and later ones of earlier files in the folder.
        max_queue: number of buffered events.
        flush_secs: events are written after at most this many seconds.
        filename_suffix: suffix of the file's name.
        write_to_disk: False writes nothing.
        log_dir: the same as ``logdir``.
        kwargs: other arguments are errors.
    Raises:
        TypeError: there is another argument.
        OSError: the folder cannot be created.
        ModuleNotFoundError: TensorBoard is not installed.
    Example:
        >>> with SummaryWriterExtend("log") as writer:
        ...     writer.add_scalar("loss", 0.5, 1)
        ...     writer.add_text("notes", "The rate is *0.1*.")
        ...     writer.add_node_raw("x", "Input", outputshape=[2, 3])
        ...     writer.add_node_raw("y", "Relu", ["x"])
        ...     writer.add_node_raw_attributes("y", {"device": "cpu0"})
        ...     writer.add_node_raw_name_suffix("y", "_relu")
        ...     writer.add_graph_by_node_raw_list()
        ...     writer.flush()
        >>> SummaryWriterExtend("log").close()
    """

    def __init__(
        self,
        logdir: str | None = None,
        comment: str = "",
        purge_step: int | None = None,
        max_queue: int = 10,
        flush_secs: int = 120,
        filename_suffix: str = "",
        write_to_disk: bool = True,
        log_dir: str | None = None,
        **kwargs,
    ):
        if kwargs:
            raise TypeError(f"[SummaryWriterExtend] unknown arguments: {', '.join(kwargs)}")
        tb = _tensorboard()
        self.logdir = str(logdir or log_dir or _default_folder(comment))
        self._nodes: dict[str, NodeRaw] = {}
        self._file: EventFileWriter | None = None
        if write_to_disk:
            self._file = tb.EventFileWriter(self.logdir, max_queue, flush_secs, filename_suffix)
        if purge_step is not None:
            start = tb.SessionLog(status=tb.SessionLog.START)
            self._write(tb.Event(session_log=start), purge_step, None)

    def _write(self, event: Event, step: int | None, walltime: float | None) -> None:
        event.wall_time = time.time() if walltime is None else walltime
        if step is not None:
            event.step = int(step)
        if self._file is not None:
            self._file.add_event(event)

    def add_scalar(
        self,
        tag: str,
        scalar_value,
        global_step: int | None = None,
        walltime: float | None = None,
    ) -> None:
        """Write a number.

        Args:
            tag: name of the curve.
            scalar_value: number, or Tensor of one element.
            global_step: its step.
            walltime: time in seconds; None: now.
        """
        tb = _tensorboard()
        value = tb.Summary.Value(tag=tag, simple_value=float(scalar_value))
        self._write(tb.Event(summary=tb.Summary(value=[value])), global_step, walltime)

    def add_text(
        self,
        tag: str,
        text_string_list: str | list[str],
        global_step: int | None = None,
        walltime: float | None = None,
    ) -> None:
        """Write a text, in Markdown.

        Args:
            tag: its name.
            text_string_list: its text; several strings are paragraphs.
            global_step: its step.
            walltime: time in seconds; None: now.
        """
        parts = [text_string_list] if isinstance(text_string_list, str) else text_string_list
        summary = text(tag, "\n\n".join(parts))
        self._write(_tensorboard().Event(summary=summary), global_step, walltime)

    def add_node_raw(
        self,
        name: str,
        op: str = "UnSpecified",
        input: Iterable[str] = (),
        outputshape=None,
        dtype=None,
        attributes: dict | None = None,
    ) -> None:
        """Add a node to the graph that ``add_graph_by_node_raw_list`` writes.

        Args:
            name: its name; one of that name is replaced.
            op: its type.
            input: names of the nodes that it reads.
            outputshape: of its output, or a list of them.
            dtype: of its output.
            attributes: values by name.
        """
        self._nodes[name] = NodeRaw(name, op, list(input), outputshape, dtype, attributes or {})

    def add_node_raw_name_suffix(self, name: str, suffix: str) -> None:
        """Show a node by a longer name. Others, and calls of this object, keep the name it had.

        Args:
            name: name of the node.
            suffix: the suffix to append.
        Raises:
            KeyError: there is no such node.
        """
        self._nodes[name].name += suffix

    def add_node_raw_attributes(self, name: str, attributes: dict) -> None:
        """Add attributes to a node.

        Args:
            name: name of the node.
            attributes: values by name.
        Raises:
            KeyError: there is no such node.
        """
        self._nodes[name].attributes.update(attributes)

    def add_graph_by_node_raw_list(self) -> None:
        """Write the graph of all nodes."""
        shown = {name: each.name for name, each in self._nodes.items()}
        nodes = [
            node(
                each.name,
                each.op,
                [shown.get(name, name) for name in each.input],
                each.outputshape,
                each.dtype,
                each.attributes,
            )
            for each in self._nodes.values()
        ]
        content = graph(nodes).SerializeToString()
        self._write(_tensorboard().Event(graph_def=content), None, None)

    def flush(self) -> None:
        """Write the buffered events."""
        if self._file is not None:
            self._file.flush()

    def close(self) -> None:
        """Write the buffered events, and close the file."""
        if self._file is not None:
            self._file.close()

    def __enter__(self) -> SummaryWriterExtend:
        return self

    def __exit__(self, *args) -> None:
        self.close()
