# SPDX-License-Identifier: Apache-2.0
"""Graphs as plain data, for files and copies.

Nodes and expressions are rows of tables and refer to each other by number, so that a graph of any
length is written without recursion. All of it is numbers, texts, lists and dicts, and constants.
"""

import pickle
from collections import OrderedDict, defaultdict

import numpy as np

from .. import operators as builtin
from ..core.nesting import MOST_DEPTH
from ..core.not_available import NotAvailableError
from ..files import plain_modules, plain_pickle
from ..module import Module
from ..operators.opdef import OpDef
from ..tensor import Tensor
from ..version import engine_version
from . import functions
from .expr import Apply, CallFunction, CallMethod, Constant, Expr, GetAttr, Input
from .hooks import METHODS
from .leaves import registered_class
from .node import ModuleNode, Node, TensorNode
from .pytree import SUPPORTED_TYPE, LeafDef, TreeDef

FORMAT = 1
_KINDS = {
    kind.__name__: kind for kind in (Input, GetAttr, CallMethod, CallFunction, Apply, Constant)
}
_CONTAINERS = {kind.__name__: kind for kind in (list, tuple, dict, OrderedDict, defaultdict, slice)}
_LEAVES = {"Tensor": Tensor, "Module": Module}


class DamagedGraphError(pickle.UnpicklingError, ValueError):
    """The state of a graph that does not fit together."""


def _check(condition, what: str) -> None:
    if not condition:
        raise DamagedGraphError(f"[traced_module] the graph in the file is damaged: {what}")


# Structures.


def encoded(structure: TreeDef | LeafDef) -> list:
    """A structure as plain data."""
    if isinstance(structure, TreeDef):
        kind = structure.type
        known = _CONTAINERS.get(kind.__name__) is kind
        children = [encoded(child) for child in structure.children_defs]
        return ["tree", kind.__name__ if known else kind, structure.aux_data, children]
    if not structure.is_constant:
        return ["leaf", structure.kind.__name__]
    value = structure.const_val
    if value is Ellipsis:
        return ["ellipsis"]
    if isinstance(value, type) and issubclass(value, np.generic):
        return ["scalar", np.dtype(value)]
    return ["constant", value]


def decoded(data, depth: int = 0) -> TreeDef | LeafDef:
    """The structure of plain data.

    Args:
        data: data of the file.
        depth: nesting depth.
    Raises:
        DamagedGraphError: it is not valid.
    """
    plain_pickle.count_visit(data)
    _check(depth < MOST_DEPTH, "a structure is nested too deep")
    _check(type(data) is list and data and type(data[0]) is str, "a structure is not a list")
    kind = data[0]
    if kind == "tree" and len(data) == 4 and type(data[3]) is list:
        container = _CONTAINERS.get(data[1]) if type(data[1]) is str else data[1]
        _check(isinstance(container, type), f"there is no container {data[1]!r}")
        _check(container in SUPPORTED_TYPE, f"the container {container.__name__} is not registered")
        children = [decoded(child, depth + 1) for child in data[3]]
        is_dict = issubclass(container, dict)
        _check(not is_dict or len(data[2]) == len(children), "a dict has other keys than values")
        return TreeDef(container, data[2], children)
    if kind == "leaf" and len(data) == 2 and data[1] in _LEAVES:
        return LeafDef(_LEAVES[data[1]])
    if kind == "ellipsis":
        return LeafDef(type(Ellipsis), Ellipsis)
    if kind == "scalar" and len(data) == 2 and isinstance(data[1], np.dtype):
        return LeafDef(type, data[1].type)
    _check(kind == "constant" and len(data) == 2, "a structure is of no kind")
    return LeafDef(type(data[1]), data[1])


# Rows.


def _node_row(node: Node) -> dict:
    row: dict = {"id": node._id, "name": node._name, "qualname": node._qualname}
    if isinstance(node, TensorNode):
        row |= {"shape": node._shape, "dtype": node._dtype, "device": node._device}
        if node.qparams is not None:
            row["qparams"] = node.qparams
    elif "module_type" in vars(node):
        row["module"] = [node.module_type.__module__, node.module_type.__qualname__]
    else:
        row["module"] = None
    return row


def _expr_row(expr: Expr, places: dict[Node, int]) -> dict:
    row: dict = {
        "kind": type(expr).__name__,
        "id": expr._id,
        "keep": expr._disable_remove,
        "inputs": [places[node] for node in expr.inputs],
        "outputs": [places[node] for node in expr.outputs],
    }
    if expr.arg_def is not None:
        row["arguments"] = encoded(expr.arg_def)
    if expr.out_def is not None:
        row["results"] = encoded(expr.out_def)
    if isinstance(expr, CallFunction):
        row["function"] = list(functions.home_of(expr.func))
    elif isinstance(expr, CallMethod):
        row["method"] = expr.method
    elif isinstance(expr, Apply):
        row["operator"] = [type(expr.opdef).__name__, expr.opdef.params()]
    elif isinstance(expr, Constant):
        row["value"] = expr.value
    else:
        row["name"] = expr.name
    if getattr(expr, "version", None) is not None:
        row["version"] = expr.version
    return row


def _operator(name: str, params: dict) -> OpDef:
    kind = vars(builtin).get(name)
    if not (isinstance(kind, type) and issubclass(kind, OpDef)):
        raise NotAvailableError(
            f"[traced_module] the file applies the operator {name}, which is not available"
        )
    return kind(**params)


def state_of(graph) -> dict:
    """A graph as plain data."""
    exprs = [*(node.expr for node in graph._inputs), *graph._exprs]
    nodes = [node for expr in exprs for node in expr.outputs]
    places = {node: place for place, node in enumerate(nodes)}
    return {
        "format": FORMAT,
        "version": engine_version,
        "name": graph._name,
        "qualname": graph._qualname,
        "nodes": [_node_row(node) for node in nodes],
        "exprs": [_expr_row(expr, places) for expr in exprs],
        "outputs": [places[node] for node in graph._outputs],
        "total_ids": list(graph._total_ids),
    }


def _class_of(names) -> type:
    module, name = names
    found = plain_modules.module_class(module, name) or registered_class(module, name)
    return Module if found is None else found


def _restored_node(row: dict, expr: Expr) -> Node:
    if "module" not in row:
        node: Node = TensorNode(expr)
        shape = row.get("shape")
        node._shape = None if shape is None else tuple(shape)
        node._dtype, node._device = row.get("dtype"), row.get("device")
        node.qparams = row.get("qparams")
    else:
        node = ModuleNode(expr)
        if row["module"] is not None:
            node.module_type = _class_of(row["module"])
    node._id, node._name, node._qualname = row["id"], row["name"], row["qualname"]
    for text in (node._name, node._qualname):
        _check(type(text) is str, "the name of a node is not a string")
    return node


def _bare_expr(row: dict, nodes: list[Node]) -> Expr:
    """An expression with its own attributes, without inputs and outputs."""
    kind = _KINDS.get(row.get("kind"))
    _check(kind is not None, f"there is no expression of the kind {row.get('kind')!r}")
    expr = object.__new__(kind)
    Expr.__init__(expr)
    if kind is CallFunction:
        module, name = row["function"]
        _check(type(module) is str and type(name) is str, "the name of a function is not a string")
        expr.func = functions.function_named(module, name)
    elif kind is CallMethod:
        expr.method = row["method"]
        first = nodes[row["inputs"][0]]
        known = ("__call__",) if isinstance(first, ModuleNode) else METHODS
        _check(expr.method in known, f"{expr.method!r} is not a method of a {type(first).__name__}")
    elif kind is Apply:
        expr.opdef = _operator(*row["operator"])
    elif kind is Constant:
        _check(isinstance(row["value"], (Tensor, Module)), "a constant is not a Tensor or Module")
        expr.value, expr.name = row["value"], ""
    else:
        _check(type(row["name"]) is str, "the name of an attribute is not a string")
        expr.name = row["name"]
    return expr


def _places(row: dict, key: str, count: int) -> list[int]:
    found = row[key]
    _check(
        type(found) is list and all(type(k) is int and 0 <= k < count for k in found),
        f"{key} are not earlier nodes",
    )
    return found


def restore(graph, state) -> None:
    """Fill an empty graph from the data.

    Raises:
        DamagedGraphError: the data does not fit together.
        NotAvailableError: it needs an operator that this version does not have.
        MissingFunctionError: it calls a function that is not there.
    """
    try:
        _restore(graph, state)
    except (NotAvailableError, pickle.UnpicklingError):
        raise
    except Exception as error:
        raise DamagedGraphError(
            f"[traced_module] the graph in the file is damaged: {type(error).__name__} {error}"
        ) from None


def _restore(graph, state: dict) -> None:
    _check(state["format"] == FORMAT, f"its format is {state['format']}, not {FORMAT}")
    type(graph).__init__(graph, state["name"], state["qualname"])
    nodes: list[Node] = []
    for row in state["exprs"]:
        plain_pickle.count_visit(row, 1 + len(row["inputs"]) + len(row["outputs"]))
        inputs = [nodes[k] for k in _places(row, "inputs", len(nodes))]
        expr = _bare_expr(row, nodes)
        expr._id, expr._disable_remove, expr._graph = row["id"], row["keep"], graph
        if "arguments" in row:
            structure = decoded(row["arguments"])
            _check(
                structure.num_leaves == len(inputs) + len(structure.constants()),
                "a call has other arguments than inputs",
            )
            expr._set_call(inputs, structure)
        else:
            for node in inputs:
                expr._add_input(node)
        expr.out_def = decoded(row["results"]) if "results" in row else None
        for k in row["outputs"]:
            _check(k == len(nodes), "the nodes are in no order")
            node = _restored_node(state["nodes"][k], expr)
            node._graph = graph
            nodes.append(node)
            expr.outputs.append(node)
            _check(
                node._name not in graph._namespace.used_names,
                f"{node._name!r} is the name of another node",
            )
            graph._namespace.associate_name_with_obj(node._name, node)
        if isinstance(expr, Input):
            graph._inputs += expr.outputs
        else:
            graph._exprs.append(expr)
        if "version" in row:
            expr.version = row["version"]
    graph._outputs = [nodes[k] for k in _places(state, "outputs", len(nodes))]
    graph._total_ids = list(state["total_ids"])
