# SPDX-License-Identifier: Apache-2.0
"""Writing graphs that were built by hand, under the names that MegEngine has for that."""

import io
from collections.abc import Mapping, Sequence

from ..jit import dumping
from ..tensor import Tensor

CompGraphDumpResult = dumping.DumpInfo


def dump_graph(
    output_vars: Mapping[str, Tensor] | Sequence[Tensor],
    *,
    keep_var_name: int = 1,
    keep_opr_name: bool = False,
    keep_param_name: bool = False,
    keep_opr_priority: bool = False,
    no_change_graph: bool = False,
    strip_info_file=None,
    append_json: bool = False,
    metadata: Mapping[str, str] | None = None,
    dump_format: str | None = None,
    model_version: int = 2,
) -> tuple[bytes, CompGraphDumpResult]:
    """Write the operators that compute variables of a graph, as a .mge file in memory.

    Args:
        output_vars: the outputs; a dict gives them names.
        keep_var_name: which variables keep their names: 0: no variables, 1 or 2: all.
        keep_opr_name: operators keep their names.
        keep_param_name: constants keep their names.
        keep_opr_priority: no effect, with a warning: there are no priorities.
        no_change_graph: without effect: the graph is written as it is.
        strip_info_file: path of a JSON file that lists the operators and dtypes used.
        append_json: merge with the contents of this file.
        metadata: texts to store in the file.
        dump_format: ``"FBS"`` and ``"FBS_V2"`` have no effect: the format is .mge.
        model_version: without effect, for the same reason.
    Returns:
        The bytes of the file, and a summary of its contents.
    Raises:
        ValueError: there are no outputs, or one variable has two names.
    Example:
        >>> from megengine.core.tensor.megbrain_graph import Graph, load_graph
        >>> graph = Graph()
        >>> x = graph.make_h2d(dtype="float32", device="xpux", shape=(2,), name="x")
        >>> content, info = dump_graph({"y": x * 2})
        >>> info.inputs, info.outputs
        (['x'], ['y'])
        >>> load_graph(io.BytesIO(content)).output_vars_list
        [VarNode:y]
    """
    dumping.check_format(dump_format)
    dumping.warn_of(
        keep_opr_priority=keep_opr_priority, dump_format=dump_format, model_version=model_version
    )
    names, outputs = _named_outputs(output_vars)
    model = outputs[0].graph.to_model(
        [var._number for var in outputs],
        names,
        dict(metadata or {}),
        dumping.optimisations(outputs[0].graph.optimisations, True),
        dumping.kept_names(keep_var_name, keep_opr_name, keep_param_name),
    )
    stream = io.BytesIO()
    info = dumping.write_model(
        model, stream, strip_info_file=strip_info_file, append_json=append_json
    )
    return stream.getvalue(), info


def _named_outputs(output_vars: Mapping[str, Tensor] | Sequence[Tensor]) -> tuple[list, list]:
    """The names of outputs, and the outputs.

    Raises:
        ValueError: there are no outputs, or one variable has two names.
    """
    named = isinstance(output_vars, Mapping)
    outputs = list(output_vars.values() if named else output_vars)
    if not outputs:
        raise ValueError("[dump_graph] there are no outputs")
    if len({var.id for var in outputs}) < len(outputs):
        raise ValueError("[dump_graph] one variable is given twice, so two names would be its own")
    return list(output_vars) if named else [var.name for var in outputs], outputs


def optimize_for_inference(dest_vars: Sequence[Tensor], **kwargs) -> tuple[list[Tensor], dict]:
    """Request optimisations. ``dump_graph`` stores them; they are applied when the file runs.

    Args:
        dest_vars: outputs of a graph.
        kwargs: ``enable_ioc16``, ``enable_nchw88``, …: those of ``jit.trace.dump``.
    Returns:
        The unchanged outputs, and the requested options.
    Raises:
        ValueError: there is no such option, or two contradict each other.
    """
    dumping.optimisations(kwargs, True)
    for var in dest_vars:
        var.graph.optimisations |= kwargs
    return list(dest_vars), {name: value for name, value in kwargs.items() if value}


def deserialize_infer_option(x: dict) -> dict:
    """Return the options that ``optimize_for_inference`` gave, as a dict."""
    return dict(x)
