# SPDX-License-Identifier: Apache-2.0
"""Putting the graphs of traced modules into the graph that calls them."""

from .expr import Apply, CallFunction, CallMethod, Constant, Expr, GetAttr
from .graph import InternalGraph
from .node import ModuleNode, Node, TensorNode


def _copy_node(node: Node, expr: Expr) -> Node:
    made = type(node)(expr)
    made._qualname = node._qualname
    if isinstance(node, TensorNode):
        made._shape, made._dtype, made._device = node._shape, node._dtype, node._device
        made._value = node._value
    elif "module_type" in vars(node):
        made.module_type = node.module_type
    return made


def _copy_expr(expr: Expr, nodes: dict[Node, Node], prefix: str) -> Expr:
    """A copy of an expression with its nodes mapped to new ones."""
    inputs = [nodes[node] for node in expr.inputs]
    if isinstance(expr, GetAttr):
        made: Expr = GetAttr(inputs[0], type(expr.outputs[0]), expr.name)
    elif isinstance(expr, Constant):
        made = Constant(expr.value)
    else:
        if isinstance(expr, CallMethod):
            made = CallMethod(inputs[0], expr.method)
        elif isinstance(expr, CallFunction):
            made = CallFunction(expr.func)
        else:
            made = Apply(expr.opdef)
        for node in inputs:
            made._add_input(node)
        made.arg_def, made.out_def = expr.arg_def, expr.out_def
        made.const_val, made.version = expr.const_val, expr.version
    made._disable_remove = expr._disable_remove
    made.outputs = [_copy_node(node, made) for node in expr.outputs]
    for old, new in zip(expr.outputs, made.outputs, strict=True):
        new._name = f"{prefix}_{old._name}"
        nodes[old] = new
    return made


def inline_calls(graph: InternalGraph) -> None:
    """Replace each call of a traced module by the expressions of its graph, inner ones too."""
    at = 0
    while at < len(graph._exprs):
        call = graph._exprs[at]
        inner = call.graph if isinstance(call, CallMethod) else None
        if inner is None:
            at += 1
            continue
        prefix = call.inputs[0]._name
        nodes: dict[Node, Node] = dict(zip(inner._inputs, call.inputs, strict=True))
        graph._exprs.remove(call)
        for node in call.outputs:
            graph._namespace.unassociate_name_with_obj(node)
        place = at
        for expr in inner._exprs:
            made = _copy_expr(expr, nodes, prefix)
            graph._insert(made, place)
            place += 1
        for old, result in zip(call.outputs, inner._outputs, strict=True):
            new = nodes[result]
            for user in list(old.users):
                user.replace_inputs({old: new})
            graph._outputs = [new if node is old else node for node in graph._outputs]
            _take_name(
                graph, old, new, is_own=new.expr._graph is graph and result.expr in inner._exprs
            )
        for node in call.inputs:
            if call in node.users:
                node.users.remove(call)


def _take_name(graph: InternalGraph, old: Node, new: Node, is_own: bool) -> None:
    """From now on the result of a call has the call's name, too."""
    if is_own and not isinstance(new, ModuleNode) and old._name not in graph._namespace.used_names:
        graph._namespace.unassociate_name_with_obj(new)
        new._name = old._name
        graph._namespace.associate_name_with_obj(new._name, new)
