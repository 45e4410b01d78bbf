# SPDX-License-Identifier: Apache-2.0
"""Traced modules in files: what belongs to a file of an earlier version, and signatures.

A call in a file has the version of the package that recorded it. Functions that are registered here
look at each call that is loaded and may change its arguments to what they mean today.
"""

import inspect
import pickle
from collections.abc import Callable

from ..core.not_available import NotAvailableError
from ..module import Module
from .expr import Apply, CallFunction, CallMethod, Expr
from .node import ModuleNode
from .pytree import is_constant

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
    """Let what is registered look at the call of a function.

    Example:
        >>> from megengine.traced_module import trace_module
        >>> class Net(M.Module):
        ...     def forward(self, x):
        ...         return F.relu(x).sum()
        >>> graph = trace_module(Net(), F.ones(2)).graph
        >>> load_functional(graph._exprs[0])
    """
    from .functions import home_of

    _run_loader(FUNCTIONAL_LOADER, home_of(expr.func), expr)


def load_call_module_expr(expr: CallMethod) -> None:
    """Let what is registered look at the call of a Module.

    Example:
        >>> from megengine.traced_module import trace_module
        >>> graph = trace_module(M.Sequential(M.ReLU()), Tensor([1.0])).graph
        >>> load_call_module_expr(graph._exprs[1])
    """
    kind = expr.inputs[0].module_type
    _run_loader(MODULE_LOADER, (kind.__module__, kind.__qualname__), expr)


def load_call_tensor_method_expr(expr: CallMethod) -> None:
    """Let what is registered look at the call of a method of a Tensor.

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
    """Let what is registered look at the application of an operator.

    Example:
        >>> from megengine.core.ops.builtin import Elemwise
        >>> from megengine.traced_module.expr import Apply
        >>> load_apply_expr(Apply(Elemwise("relu")))
    """
    _run_loader(OPDEF_LOADER, type(expr.opdef), expr)


def upgrade(expr: Expr) -> None:
    """Let what is registered look at an expression that was loaded."""
    if isinstance(expr, CallFunction):
        load_functional(expr)
    elif isinstance(expr, Apply):
        load_apply_expr(expr)
    elif isinstance(expr, CallMethod):
        is_module = isinstance(expr.inputs[0], ModuleNode)
        (load_call_module_expr if is_module else load_call_tensor_method_expr)(expr)


# Traced modules.


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
    """What a traced module is, as data for a file."""
    from .flat_state import encoded, state_of

    state = dict(vars(module))
    out_defs = state.pop("argdef_outdef_map")
    state["graphs"] = [
        [encoded(arg_def), encoded(out_defs[arg_def]), state_of(graph)]
        for arg_def, graph in state.pop("argdef_graph_map").items()
    ]
    state["argspec"] = _signature_rows(state["argspec"])
    # Nodes are nothing without their graphs.
    for name in ("watch_points", "_watched", "end_points"):
        del state[name]
    return state


def read_state(module, state) -> None:
    """Make a traced module what the data of a file says; of MegEngine's files too.

    Raises:
        DamagedGraphError: the data does not fit together.
    """
    from .flat_state import DamagedGraphError, decoded
    from .graph import InternalGraph
    from .traced_module import _Watched

    if not isinstance(state, dict):
        raise DamagedGraphError("[traced_module] the state of a module in the file is no dict")
    if "argdef_graph_map" in state:
        from .megengine_files import translated

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
    module.argspec, module._is_top = signature, is_top
    module.watch_points, module.end_points = [], []
    module._watched = _Watched()
