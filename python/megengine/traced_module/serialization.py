# SPDX-License-Identifier: Apache-2.0
"""Calls in files of earlier versions.

A call in a file has the version of the package that recorded it. Functions that are registered here
get each loaded call and may convert its arguments to their current meaning.
"""

from collections.abc import Callable

from .expr import Apply, CallFunction, CallMethod, Expr
from .functions import home_of
from .node import ModuleNode

OPDEF_LOADER: dict = {}
FUNCTIONAL_LOADER: dict = {}
TENSORMETHOD_LOADER: dict = {}
MODULE_LOADER: dict = {}


def _register(table: dict, keys: tuple) -> Callable:
    def register(loader: Callable) -> Callable:
        for key in keys:
            table[key] = loader
        return loader

    return register


def register_opdef_loader(*opdefs) -> Callable:
    """A decorator: the function looks at each ``Apply`` of these operators that is loaded.

    Args:
        opdefs: classes of operators.
    Example:
        >>> from megengine.core.ops.builtin import Elemwise
        >>> @register_opdef_loader(Elemwise)
        ... def look(expr):
        ...     print(expr.opdef)
        >>> del OPDEF_LOADER[Elemwise]
    """
    return _register(OPDEF_LOADER, opdefs)


def register_functional_loader(*funcs) -> Callable:
    """A decorator: the function looks at each call of these functions that is loaded.

    Args:
        funcs: pairs of a module's name and a function's.
    Example:
        >>> @register_functional_loader(("my_package.ops", "scale"))
        ... def load_scale(expr):
        ...     if expr.version is None:
        ...         expr.set_arg("factor", 2)
        >>> del FUNCTIONAL_LOADER["my_package.ops", "scale"]
    """
    return _register(FUNCTIONAL_LOADER, funcs)


def register_module_loader(*module_types) -> Callable:
    """A decorator: the function looks at each call of these Modules that is loaded.

    Args:
        module_types: pairs of a module's name and a class's.
    Example:
        >>> @register_module_loader(("my_package.layers", "Scale"))
        ... def look(expr):
        ...     print(expr.inputs)
        >>> del MODULE_LOADER["my_package.layers", "Scale"]
    """
    return _register(MODULE_LOADER, module_types)


def register_tensor_method_loader(*methods) -> Callable:
    """A decorator: the function looks at each call of these methods of Tensors that is loaded.

    Args:
        methods: names.
    Example:
        >>> @register_tensor_method_loader("squeeze")
        ... def look(expr):
        ...     print(expr.inputs)
        >>> del TENSORMETHOD_LOADER["squeeze"]
    """
    return _register(TENSORMETHOD_LOADER, methods)


def _run_loader(table: dict, key, expr: Expr) -> None:
    loader = table.get(key)
    if loader is not None:
        loader(expr)


def load_functional(expr: CallFunction) -> None:
    """Run the registered functions on a call of a function.

    Example:
        >>> from megengine.traced_module import trace_module
        >>> class Net(M.Module):
        ...     def forward(self, x):
        ...         return F.relu(x).sum()
        >>> graph = trace_module(Net(), F.ones(2)).graph
        >>> load_functional(graph._exprs[0])
    """
    _run_loader(FUNCTIONAL_LOADER, home_of(expr.func), expr)


def load_call_module_expr(expr: CallMethod) -> None:
    """Run the registered functions on a call of a Module.

    Example:
        >>> from megengine.traced_module import trace_module
        >>> graph = trace_module(M.Sequential(M.ReLU()), Tensor([1.0])).graph
        >>> load_call_module_expr(graph._exprs[1])
    """
    kind = expr.inputs[0].module_type
    _run_loader(MODULE_LOADER, (kind.__module__, kind.__qualname__), expr)


def load_call_tensor_method_expr(expr: CallMethod) -> None:
    """Run the registered functions on a call of a Tensor's method.

    Example:
        >>> from megengine.traced_module import trace_module
        >>> class Net(M.Module):
        ...     def forward(self, x):
        ...         return F.relu(x).sum()
        >>> graph = trace_module(Net(), F.ones(2)).graph
        >>> load_call_tensor_method_expr(graph._exprs[1])
    """
    _run_loader(TENSORMETHOD_LOADER, expr.method, expr)


def load_apply_expr(expr: Apply) -> None:
    """Run the registered functions on an application of an operator.

    Example:
        >>> from megengine.core.ops.builtin import Elemwise
        >>> from megengine.traced_module.expr import Apply
        >>> load_apply_expr(Apply(Elemwise("relu")))
    """
    loader = OPDEF_LOADER.get(type(expr.opdef))
    if loader is None:
        return
    expr.opdef_state = expr.opdef.__getstate__()
    loader(expr)
    state = vars(expr).pop("opdef_state")
    if type(state) is dict and set(state) == set(vars(expr.opdef)):
        expr.opdef.__setstate__(state)


def _run_loaders(expr: Expr) -> None:
    if isinstance(expr, CallFunction):
        load_functional(expr)
    elif isinstance(expr, Apply):
        load_apply_expr(expr)
    elif isinstance(expr, CallMethod):
        is_module = isinstance(expr.inputs[0], ModuleNode)
        (load_call_module_expr if is_module else load_call_tensor_method_expr)(expr)


def upgrade(module) -> None:
    """Run the registered functions on the graphs of a loaded module.

    Expressions that the functions made for the arguments of a call are put in front of the call.
    """
    if not (OPDEF_LOADER or FUNCTIONAL_LOADER or TENSORMETHOD_LOADER or MODULE_LOADER):
        return
    graphs = list(module.argdef_graph_map.values())
    for graph in graphs:
        for expr in list(graph._exprs):
            _run_loaders(expr)
            for made in _not_yet_in_a_graph(expr):
                graph._insert(made, graph._exprs.index(expr))
        # A function may have written into ``inputs``.
        for node in graph.nodes(recursive=False):
            node.users = [expr for expr in graph._exprs for read in expr.inputs if read is node]
    if module._is_top and len(graphs) == 1:
        graphs[0]._reset_ids()


def _not_yet_in_a_graph(expr: Expr) -> list[Expr]:
    """The expressions that compute inputs of another one and are in no graph, in their order."""
    found: dict[Expr, None] = {}
    for node in expr.inputs:
        if node.expr._graph is None:
            found |= dict.fromkeys(_not_yet_in_a_graph(node.expr))
            found[node.expr] = None
    return list(found)
