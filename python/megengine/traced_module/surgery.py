# SPDX-License-Identifier: Apache-2.0
"""Adding expressions to a graph by calls with its nodes.

The calls use placeholder Tensors of the nodes' shapes; their results are returned as nodes.
"""

from ..functional.creation import zeros
from ..module import Module
from ..operators import GetVarShape
from ..tensor import Tensor
from .expr import Apply, CallFunction, CallMethod, Expr
from .functions import recorded_functions
from .graph import InternalGraph
from .graph_member import GraphOwner
from .hooks import METHODS, hooked
from .node import ModuleNode, Node, TensorNode
from .pytree import SUPPORTED_TYPE
from .recorder import Recorder, Scope
from .recording import needed_inserting, paused


def _mapped(value, change):
    """A value with its leaves changed, in the same containers."""
    kind = SUPPORTED_TYPE.get(type(value))
    if kind is None:
        return change(value)
    parts, rest = kind.flatten(value)
    return kind.unflatten([_mapped(part, change) for part in parts], rest)


class _Surgeon(Recorder):
    """Records behind a place of a graph that is there already.

    Inside of a Module that is called and becomes a traced one it is a recorder as any other.
    """

    inserts = True

    def __init__(self, graph: InternalGraph):
        super().__init__()
        self._placeholders: dict[Node, object] = {}
        self.scopes.append(Scope(graph))

    @property
    def _is_inside(self) -> bool:
        return len(self.scopes) > 1

    def _value_of(self, node):
        if not isinstance(node, Node):
            return node
        assert node._graph is self.scope.graph, (
            f"[insert_exprs] {node} is not a node of {self.scope.graph.name}"
        )
        if node not in self._placeholders:
            value = node.owner if isinstance(node, ModuleNode) else self._tensor_for(node)
            assert value is not None, f"[insert_exprs] nothing is known of {node}"
            self._placeholders[node] = value
        self.scope.give_node(self._placeholders[node], node)
        return self._placeholders[node]

    @staticmethod
    def _tensor_for(node: TensorNode) -> Tensor:
        if node._value is not None:
            with paused():
                return Tensor(node._value)
        assert node._shape is not None and node._dtype is not None, (
            f"[insert_exprs] the shape and dtype of {node} are not known; set them, or its value"
        )
        with paused():
            return zeros(node._shape, dtype=node._dtype)

    def _node_of(self, value):
        if not isinstance(value, (Tensor, Module)):
            return value
        node = self.node_for(value)
        self._placeholders[node] = value
        return node

    def _name_nodes(self, scope: Scope) -> None:
        """Names of Tensors in an inserted Module are kept, as for outer nodes."""
        taken = scope.graph._namespace.used_names
        for value, node in scope.nodes.values():
            is_result = isinstance(node.expr, (Apply, CallFunction, CallMethod))
            if is_result and value.name.isidentifier() and value.name not in taken:
                node.name = value.name

    def call_function(self, func, original, args, kwargs):
        if self._is_inside:
            return super().call_function(func, original, args, kwargs)
        args, kwargs = _mapped((args, kwargs), self._value_of)
        return _mapped(super().call_function(func, original, args, kwargs), self._node_of)

    def call_autodiff_function(self, function, original, args):
        if not self._is_inside:
            args = tuple(map(self._value_of, args))
        result = super().call_autodiff_function(function, original, args)
        return result if self._is_inside else _mapped(result, self._node_of)

    def call_tensor_method(self, name, original, tensor, args, kwargs):
        if self._is_inside:
            return super().call_tensor_method(name, original, tensor, args, kwargs)
        tensor, args, kwargs = _mapped((tensor, args, kwargs), self._value_of)
        result = super().call_tensor_method(name, original, tensor, args, kwargs)
        if result is NotImplemented:
            return result
        return self.scope.node_of(tensor) if result is None else self._node_of(result)

    def shape_of(self, tensor):
        return self.apply(GetVarShape(), (tensor,))

    def apply(self, opdef, inputs):
        if self._is_inside:
            return super().apply(opdef, inputs)
        return self._node_of(super().apply(opdef, tuple(map(self._value_of, inputs))))

    def read_attribute(self, owner, name, value) -> None:
        """In the graph itself only attributes read from nodes are recorded."""
        if self._is_inside:
            super().read_attribute(owner, name, value)

    def attribute(self, node: ModuleNode, name: str):
        """The node of an attribute of a Module."""
        owner = self._value_of(node)
        value = vars(owner).get(name)
        if not isinstance(value, (Tensor, Module)):
            raise AttributeError(
                f"[insert_exprs] {type(owner).__name__} has no Tensor or Module {name!r}"
            )
        made = self._read(owner, name, value)
        self._placeholders[made] = value
        return made

    def call_module(self, module, call, args, kwargs):
        if self._is_inside:
            return super().call_module(module, call, args, kwargs)
        args, kwargs = _mapped((args, kwargs), self._value_of)
        if not isinstance(module, GraphOwner):
            result = super().call_module(module, call, args, kwargs)
            return _mapped(result, self._node_of)
        args, kwargs = module._normalised((module, *args), kwargs)
        with paused():
            result = call(module, *args[1:], **kwargs)
        made = self._record_call(CallMethod(self.node_for(module)), args, kwargs, result)
        return _mapped(made, self._node_of)


class InsertExprs:
    """The context returned by ``InternalGraph.insert_exprs``."""

    def __init__(self, graph: InternalGraph, expr: Expr | None):
        assert expr is None or isinstance(expr, Expr), (
            f"[insert_exprs] an expression is expected, got {expr!r}"
        )
        assert expr is None or expr._graph is graph, (
            f"[insert_exprs] {expr!r} is not an expression of {graph.name}"
        )
        self._graph = graph
        self._after = expr

    def __enter__(self) -> None:
        self._count = len(self._graph._exprs)
        self._hooks = hooked(recorded_functions)
        self._surgeon = _Surgeon(self._graph)
        self._surgeon.__enter__()
        self._hooks.__enter__()

    def __exit__(self, kind, *exc) -> None:
        self._hooks.__exit__(kind, *exc)
        self._surgeon.__exit__(kind, *exc)
        exprs = self._graph._exprs
        new = exprs[self._count :]
        del exprs[self._count :]
        if kind is not None:
            for expr in new[::-1]:
                exprs.append(expr)
                self._graph._drop(expr)
                for node in expr.outputs:
                    self._graph._namespace.unassociate_name_with_obj(node)
            return
        self._adopt_modules()
        at = self._place(new)
        exprs[at:at] = new

    def _adopt_modules(self) -> None:
        """Convert called Modules that are not leaves to traced modules."""
        owner = self._graph._owner()
        self._adopt_below(owner, {})
        owner._update_ref(self._graph._whole)

    def _adopt_below(self, owner, done: dict[int, Module]) -> None:
        """The same below a traced module; one Module in two places stays one."""
        done[id(owner)] = owner
        for name, value in list(vars(owner).items()):
            builder = self._surgeon.builders.get(id(value))
            if builder is not None and builder.graphs:
                if id(value) not in done:
                    done[id(value)] = owner._built(self._surgeon, value)
                setattr(owner, name, done[id(value)])
            elif isinstance(value, GraphOwner) and id(value) not in done:
                self._adopt_below(value, done)

    def _place(self, new: list[Expr]) -> int:
        exprs = self._graph._exprs
        if self._after is not None:
            # An input has no line of its own.
            return exprs.index(self._after) + 1 if self._after in exprs else 0
        used = {id(node.expr) for expr in new for node in expr.inputs}
        places = [k + 1 for k, expr in enumerate(exprs) if id(expr) in used]
        return max(places, default=0)


def _node_method(name: str):
    def method(self, *args, **kwargs):
        value = needed_inserting(name)._value_of(self)
        return getattr(type(value), name)(value, *args, **kwargs)

    method.__name__ = name
    method.__doc__ = f"As ``Tensor.{name}``, where expressions are inserted."
    return method


# Except equality: nodes are searched in lists and dicts with it.
for _name in METHODS:
    if _name not in ("__eq__", "__ne__"):
        setattr(TensorNode, _name, _node_method(_name))
