# SPDX-License-Identifier: Apache-2.0
"""MegEngine's traced modules, as this package's files would have them.

In MegEngine's files a graph consists of pickled objects that refer to each other. Here they are
converted to the tables of ``flat_state``.
"""

import inspect
import pickle

from ..core.not_available import NotAvailableError
from ..files import plain_modules, plain_pickle
from ..files.graph_records import Record
from ..module import Module
from .flat_state import FORMAT, DamagedGraphError
from .functions import named

# Streams of random numbers are MegEngine's, and memory is not limited here.
_NOT_PARAMS = ("seed", "handle", "scope", "workspace_limit")
_NOT_ATTRIBUTES = ("argdef_graph_map", "argdef_outdef_map", "argspec", "_modules", "dump_info")
_NOT_ATTRIBUTES += ("watch_points", "watch_node_value", "end_points")


def _state(record, name: str) -> dict:
    """The state of a record of a class."""
    is_one = isinstance(record, Record) and type(record).__name__ == name
    if not is_one or not isinstance(record.state, dict):
        raise DamagedGraphError(f"[load] a traced module has {record!r} in the place of a {name}")
    return record.state


def _kind(record) -> str:
    return type(record).__name__


def _structure(record) -> list:
    """A structure as plain data; see ``flat_state.encoded``."""
    plain_pickle.count_visit(record)
    if _kind(record) == "TreeDef":
        state = _state(record, "TreeDef")
        children = [_structure(child) for child in state["children_defs"]]
        kind = state["type"]
        keys = state["aux_data"]
        name = kind.__name__ if kind in (list, tuple, dict, slice) else kind
        if isinstance(kind, type) and issubclass(kind, dict):
            name, keys = kind.__name__, tuple(keys)
        return ["tree", name, keys, children]
    state = _state(record, "LeafDef")
    for name in ("Tensor", "Module"):
        if any(kind.__name__ == name for kind in state["type"]):
            return ["leaf", name]
    value = state["const_val"]
    return ["ellipsis"] if value is Ellipsis else ["constant", _plain(value)]


def _plain(value):
    return value.state if _kind(value) == "CompNode" else value


def _signature(spec) -> list | None:
    """A signature in MegEngine's files; see ``serialization``."""
    if spec is None:
        return None
    values = spec.arguments if isinstance(spec, Record) else tuple(spec)
    names, rest, rest_by_name, defaults, keywords, keyword_defaults, _ = values
    defaults, keyword_defaults = defaults or (), keyword_defaults or {}
    kind = inspect._ParameterKind
    required = len(names) - len(defaults)
    rows = []
    for k, name in enumerate(names):
        default = [True, defaults[k - required]] if k >= required else [False, None]
        rows.append([name, int(kind.POSITIONAL_OR_KEYWORD), *default])
    if rest is not None:
        rows.append([rest, int(kind.VAR_POSITIONAL), False, None])
    for name in keywords:
        is_given = name in keyword_defaults
        rows.append([name, int(kind.KEYWORD_ONLY), is_given, keyword_defaults.get(name)])
    if rest_by_name is not None:
        rows.append([rest_by_name, int(kind.VAR_KEYWORD), False, None])
    return rows


def _module(record) -> Module:
    """The Module of a record that has its class and state; the same one each time."""
    if _kind(record) == "_ModuleState" and record.made is not None:
        return record.made
    state = _state(record, "_ModuleState")
    module, name = state["module"]
    kind = plain_modules.module_class(module, name)
    if kind is None:
        kind = named(module, name)
        if not (isinstance(kind, type) and issubclass(kind, Module)):
            raise DamagedGraphError(f"[load] {module}.{name} is not a class of Modules")
    made = record.made = object.__new__(kind)
    made.__setstate__(_attributes(state["state"]))
    return made


def _attributes(state: dict) -> dict:
    plain_pickle.count_visit(state, len(state))
    if not all(type(key) is str and not key.startswith("__") for key in state):
        raise DamagedGraphError("[load] a Module in it has an attribute with a special name")
    found = {key: value for key, value in state.items() if key not in _NOT_ATTRIBUTES}
    for key, value in found.items():
        if _kind(value) == "_ModuleState":
            found[key] = _module(value)
    listed = state.get("_modules", [])
    found["_modules"] = [
        key for key in listed if isinstance(found.get(key), (Module, list, tuple, dict))
    ]
    for key in ("_forward_hooks", "_forward_pre_hooks"):
        if key in found["_modules"]:
            found["_modules"].remove(key)
    return found


def _operator(state: dict) -> list:
    params = dict(state)
    name = params.pop("opdef_type").__name__
    return [name, {key: _plain(value) for key, value in params.items() if key not in _NOT_PARAMS}]


def _node_row(record) -> dict:
    state = _state(record, _kind(record))
    row = {"id": state["_id"], "name": state["_name"], "qualname": state["_qualname"]}
    if _kind(record) == "ModuleNode":
        kind = tuple(state.get("module_type") or ())
        is_leaf = kind and kind != ("megengine.module.module", "Module")
        return row | {"module": list(kind) if is_leaf else None}
    row |= {"shape": state["_shape"], "dtype": state["_dtype"], "device": _plain(state["_device"])}
    row["qparams"] = state.get("_qparams")
    return row


def _expr_row(record, places: dict[int, int], version: str) -> dict:
    kind = _kind(record)
    state = _state(record, kind)
    row = {
        "kind": kind,
        "id": state["_id"],
        "keep": state["_disable_remove"],
        "inputs": [places[id(node)] for node in state["inputs"]],
        "outputs": [places[id(node)] for node in state["outputs"]],
        "version": state.get("version", version),
    }
    if kind in ("Input", "GetAttr"):
        row["name"] = state["name"]
    elif kind == "Constant":
        value = state["value"]
        row["value"] = _module(value) if _kind(value) == "_ModuleState" else value
    elif kind == "Apply":
        row["operator"] = _operator(state["opdef_state"])
    else:
        row["function" if kind == "CallFunction" else "method"] = (
            list(state["func"]) if kind == "CallFunction" else state["method"]
        )
        row["arguments"] = _structure(state["arg_def"])
    if kind in ("CallFunction", "CallMethod"):
        row["results"] = _structure(state["out_def"])
    return row


def _graph(record, version: str) -> dict:
    state = _state(record, "InternalGraph")
    inputs = [_state(node, _kind(node))["expr"] for node in state["_inputs"]]
    exprs = [*inputs, *state["_exprs"]]
    nodes = [node for expr in exprs for node in _state(expr, _kind(expr))["outputs"]]
    places = {id(node): place for place, node in enumerate(nodes)}
    return {
        "format": FORMAT,
        "version": version,
        "name": state["_name"],
        "qualname": state["_qualname"],
        "nodes": [_node_row(node) for node in nodes],
        "exprs": [_expr_row(expr, places, version) for expr in exprs],
        "outputs": [places[id(node)] for node in state["_outputs"]],
        "total_ids": list(state.get("_total_ids") or (len(nodes), len(exprs))),
    }


def translated(state: dict) -> dict:
    """Convert one of MegEngine's traced modules to the form of ``serialization.module_state``.

    Args:
        state: state of the TracedModule in its file.
    Returns:
        The state in the form of this package's files.
    Raises:
        DamagedGraphError: the file is inconsistent.
        NotAvailableError: it needs a feature that this version does not have.
    """
    try:
        if state.get("is_qat"):
            raise NotAvailableError(
                "[load] the traced module has the inside of a QATModule, which this version calls"
                " as a whole; trace it again"
            )
        version = state.get("dump_info", {}).get("version", "1.13.0")
        graphs, out_defs = state["argdef_graph_map"], state["argdef_outdef_map"]
        result = _attributes(state)
        result["graphs"] = [
            [_structure(arg_def), _structure(out_defs[arg_def]), _graph(graph, version)]
            for arg_def, graph in graphs.items()
        ]
        result["argspec"] = _signature(state.get("argspec"))
    except (NotAvailableError, pickle.UnpicklingError):
        raise
    except Exception as error:
        raise DamagedGraphError(
            f"[load] the traced module is damaged: {type(error).__name__} {error}"
        ) from None
    return result
