# SPDX-License-Identifier: Apache-2.0
"""The state of traced modules in files."""

import inspect
import pickle

from ..core.not_available import NotAvailableError
from ..module import Module
from .flat_state import DamagedGraphError, decoded, encoded, state_of
from .graph import InternalGraph
from .megengine_files import translated
from .pytree import is_constant


class Watched:
    """Values of nodes. They are not buffers, so Module must not find them."""

    def __init__(self):
        self.values: dict = {}


def _signature_rows(signature: inspect.Signature | None) -> list | None:
    if signature is None:
        return None
    rows = []
    for parameter in signature.parameters.values():
        has_default = parameter.default is not parameter.empty and is_constant(parameter.default)
        rows.append([parameter.name, int(parameter.kind), has_default])
        rows[-1].append(parameter.default if has_default else None)
    return rows


_PARAMETER_KINDS = {int(kind): kind for kind in inspect._ParameterKind}


def _signature(rows: list | None) -> inspect.Signature | None:
    if rows is None:
        return None
    empty = inspect.Parameter.empty
    return inspect.Signature(
        [
            inspect.Parameter(
                name, _PARAMETER_KINDS[kind], default=default if has_default else empty
            )
            for name, kind, has_default, default in rows
        ]
    )


def module_state(module) -> dict:
    """The state of a traced module as data for a file."""
    state = dict(vars(module))
    out_defs = state.pop("argdef_outdef_map")
    state["graphs"] = [
        [encoded(arg_def), encoded(out_defs[arg_def]), state_of(graph)]
        for arg_def, graph in state.pop("argdef_graph_map").items()
    ]
    state["argspec"] = _signature_rows(state.pop("_signature"))
    # Nodes are meaningless without their graphs.
    for name in ("watch_points", "_watched", "end_points"):
        del state[name]
    return state


def read_state(module, state) -> None:
    """Fill a traced module from the data of a file, including MegEngine's files.

    Raises:
        DamagedGraphError: the data does not fit together.
    """
    if not isinstance(state, dict):
        raise DamagedGraphError("[traced_module] the state of a module in the file is not a dict")
    if "argdef_graph_map" in state:
        state = translated(state)
    try:
        state = dict(state)
        rows, spec = state.pop("graphs"), state.pop("argspec")
        graphs, out_defs = {}, {}
        for arg_def, out_def, data in rows:
            graph = InternalGraph.__new__(InternalGraph)
            graph.__setstate__(data)
            key = decoded(arg_def)
            graphs[key], out_defs[key] = graph, decoded(out_def)
        signature = _signature(spec)
        is_top = state["_is_top"]
    except (NotAvailableError, pickle.UnpicklingError):
        raise
    except Exception as error:
        raise DamagedGraphError(
            f"[traced_module] the module in the file is damaged: {type(error).__name__} {error}"
        ) from None
    Module.__setstate__(module, state)
    module.argdef_graph_map, module.argdef_outdef_map = graphs, out_defs
    module._signature, module._is_top = signature, is_top
    module.watch_points, module.end_points = [], []
    module._watched = Watched()
