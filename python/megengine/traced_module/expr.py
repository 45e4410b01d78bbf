# SPDX-License-Identifier: Apache-2.0
"""The kinds of expressions, which are the lines of a traced module's graph.

Each has nodes as inputs and outputs. ``arg_def`` is the structure of a call's arguments with their
constants, ``out_def`` that of its results.
"""

import re
from collections.abc import Callable, Iterable

from ..module import Module
from ..tensor import Tensor
from .expression import Expr
from .functions import home_of
from .graph_member import GraphOwner
from .node import ModuleNode, Node, TensorNode
from .recording import recording
from .utils import get_subattr, get_suffix_name, rstrip  # noqa: F401

# Methods that change their Tensor and give it back; item assignment does as if.
IN_PLACE = frozenset(
    "__iadd__ __isub__ __imul__ __imatmul__ __itruediv__ __ifloordiv__ __imod__ __ipow__"
    " __ilshift__ __irshift__ __iand__ __ior__ __ixor__ __setitem__".split()
)


def is_changed_in_place(node: Node) -> bool:
    """Whether an expression changes the Tensor of a node."""
    return any(
        isinstance(user, CallMethod) and user.method in IN_PLACE and user.inputs[0] is node
        for user in node.users
    )


def _among(value, wanted) -> bool:
    return value in wanted if isinstance(wanted, (list, tuple, set)) else value == wanted


def is_call_module(expr, module_cls: type | None = None) -> bool:
    """Whether an expression calls a Module, of a class if one is given.

    Example:
        >>> import megengine.traced_module as T
        >>> expr = T.trace_module(M.Sequential(M.ReLU()), Tensor([1.0])).graph.outputs[0].expr
        >>> is_call_module(expr, M.ReLU), is_call_module(expr, M.Linear)
        (True, False)
    """
    if not (isinstance(expr, CallMethod) and isinstance(expr.inputs[0], ModuleNode)):
        return False
    return expr.method == "__call__" and (
        module_cls is None or isinstance(expr.inputs[0].owner, module_cls)
    )


def is_call_tensor_method(expr, method: str | Iterable[str] | None = None) -> bool:
    """Whether an expression calls a method of a Tensor, one of these if some are given.

    Example:
        >>> from megengine.traced_module import trace_module
        >>> class Net(M.Module):
        ...     def forward(self, x):
        ...         return F.relu(x).sum()
        >>> graph = trace_module(Net(), F.ones(2)).graph
        >>> [is_call_tensor_method(expr, ["sum"]) for expr in graph._exprs]
        [False, True]
    """
    return (
        isinstance(expr, CallMethod)
        and isinstance(expr.inputs[0], TensorNode)
        and (method is None or _among(expr.method, method))
    )


def is_call_function(expr, func: Callable | Iterable[Callable] | None = None) -> bool:
    """Whether an expression calls a function, one of these if some are given.

    Example:
        >>> from megengine.traced_module import trace_module
        >>> class Net(M.Module):
        ...     def forward(self, x):
        ...         return F.relu(x).sum()
        >>> graph = trace_module(Net(), F.ones(2)).graph
        >>> [is_call_function(expr, F.relu) for expr in graph._exprs]
        [True, False]
    """
    return isinstance(expr, CallFunction) and (func is None or _among(expr.func, func))


def is_constant(expr) -> bool:
    """Whether an expression is a constant.

    Example:
        >>> from megengine.traced_module import trace_module
        >>> graph = trace_module(M.Sequential(M.ReLU()), Tensor([1.0])).graph
        >>> [is_constant(expr) for expr in graph._exprs]
        [False, False]
    """
    return isinstance(expr, Constant)


def is_getattr(expr) -> bool:
    """Whether an expression reads an attribute of a Module.

    Example:
        >>> from megengine.traced_module import trace_module
        >>> graph = trace_module(M.Sequential(M.ReLU()), Tensor([1.0])).graph
        >>> [is_getattr(expr) for expr in graph._exprs]
        [True, False]
    """
    return isinstance(expr, GetAttr)


def is_apply_def(expr, opdef=None) -> bool:
    """Whether an expression applies an operator, of a class if one is given.

    Example:
        >>> from megengine.traced_module import trace_module
        >>> graph = trace_module(M.Sequential(M.ReLU()), Tensor([1.0])).graph
        >>> [is_apply_def(expr) for expr in graph._exprs]
        [False, False]
    """
    return isinstance(expr, Apply) and (opdef is None or isinstance(expr.opdef, opdef))


def is_input(expr) -> bool:
    """Whether an expression is an input of its graph.

    Example:
        >>> from megengine.traced_module import trace_module
        >>> graph = trace_module(M.Sequential(M.ReLU()), Tensor([1.0])).graph
        >>> [is_input(node.expr) for node in graph.inputs]
        [True, True]
    """
    return isinstance(expr, Input)


def _type_name(node: Node) -> str:
    return "Tensor" if isinstance(node, TensorNode) else node.module_type.__name__


class Input(Expr):
    """An input of a graph.

    Args:
        type: ``TensorNode`` or ``ModuleNode``.
        name, qualname: of the node.
    Example:
        >>> from megengine.traced_module import trace_module
        >>> graph = trace_module(M.Sequential(M.ReLU()), Tensor([1.0])).graph
        >>> type(graph.inputs[1].expr) is Input
        True
    """

    returns_its_node = True

    def __init__(self, type: type, name: str = "args", qualname: str = ""):
        super().__init__()
        self.name = name
        self.outputs = [type(self, name, qualname)]

    def module_of(self) -> Module | None:
        """The Module of the graph, if this is its first input."""
        graph = self._graph
        is_self = graph is not None and graph.inputs and graph.inputs[0] is self.outputs[0]
        return graph._owner() if is_self and graph._owner is not None else None

    def _text(self, spec: str) -> str:
        return f"{format(self.outputs[0], spec)} = Input()"


class GetAttr(Expr):
    """Reads an attribute of a Module.

    Args:
        module: the node of the Module.
        type: ``TensorNode`` or ``ModuleNode``.
        attr_name: the attribute, or a path of attributes: ``"block.conv"``.
        name: name of its output node; None: that of the attribute.
    Example:
        >>> from megengine.traced_module import trace_module
        >>> expr = trace_module(M.Sequential(M.ReLU()), Tensor([1.0])).graph._exprs[0]
        >>> type(expr) is GetAttr, expr.name
        (True, '0')
    """

    returns_its_node = True

    def __init__(self, module: ModuleNode, type: type, attr_name: str, name: str = ""):
        super().__init__()
        assert isinstance(module, ModuleNode), f"[GetAttr] no ModuleNode, but {module!r}"
        self.name = attr_name
        self._add_input(module)
        qualname = f"{module.qualname}.{attr_name}"
        self.outputs = [type(self, name or attr_name, qualname)]

    def module_of(self) -> Module | None:
        """The Module that it reads; None if the owner is unknown."""
        owner = self.inputs[0].owner
        return None if owner is None else get_subattr(owner, self.name)

    def interpret(self, *inputs) -> list:
        """The attribute of the Module."""
        return [get_subattr(inputs[0], self.name)]

    def _text(self, spec: str) -> str:
        node = self.outputs[0]
        return (
            f'{format(node, spec)} = getattr({format(self.inputs[0], spec)}, "{self.name}")'
            f" -> ({_type_name(node)})"
        )


class CallMethod(Expr):
    """Calls a Module or a method of a Tensor.

    Args:
        node: of the Module or the Tensor.
        method: of the Tensor; ``"__call__"`` for Modules.
    Example:
        >>> from megengine.traced_module import trace_module
        >>> class Net(M.Module):
        ...     def forward(self, x):
        ...         return F.relu(x).sum()
        >>> graph = trace_module(Net(), F.ones(2)).graph
        >>> [expr.method for expr in graph._exprs if isinstance(expr, CallMethod)]
        ['sum']
    """

    version: str | None = None  # version of the package that recorded the call of a leaf Module

    def __init__(self, node: Node, method: str = "__call__"):
        super().__init__()
        self.method = method
        self._node = node

    @property
    def _callee(self) -> Node:
        return self.inputs[0] if self.inputs else self._node

    @property
    def graph(self):
        """The graph of the called traced module; None for other callees."""
        owner = self.inputs[0].owner if isinstance(self.inputs[0], ModuleNode) else None
        if not isinstance(owner, GraphOwner):
            return None
        return owner.argdef_graph_map.get(self.arg_def)

    def interpret(self, *inputs) -> list:
        """Run the call. A method that changes its Tensor returns the Tensor."""
        args, kwargs = self.unflatten_args(inputs)
        if isinstance(args[0], Module):
            return self._flat(args[0](*args[1:], **kwargs))
        result = getattr(Tensor, self.method)(*args, **kwargs)
        if result is NotImplemented:
            raise TypeError(f"[traced_module] {self!r}: the operands do not fit")
        return self._flat(args[0] if self.method == "__setitem__" else result)

    @property
    def _func(self):
        if isinstance(self._callee, TensorNode):
            return getattr(Tensor, self.method)
        owner = self._callee.owner
        traced = self.graph is not None or owner is None
        # A traced module's own structure of arguments belongs to its graph.
        return None if traced else type(owner).forward

    def _text(self, spec: str) -> str:
        name = format(self.inputs[0], spec)
        method = "" if self.method == "__call__" else f".{self.method}"
        return f"{self._result_text(spec)} = {name}{method}({self._arguments_text(spec, 1)})"


class Apply(Expr):
    """Applies an operator.

    Args:
        opdef: the operator with its parameters.
    Example:
        >>> from megengine.core.ops.builtin import Elemwise
        >>> from megengine.traced_module import trace_module
        >>> from megengine.traced_module.traced_module import cpp_apply_module_trace
        >>> class Net(M.Module):
        ...     def forward(self, x):
        ...         return cpp_apply_module_trace(Elemwise("relu"), x)
        >>> expr = trace_module(Net(), Tensor([1.0])).graph._exprs[0]
        >>> type(expr) is Apply, expr.opdef
        (True, RELU)
        >>> Apply.apply_module_trace_hook(Elemwise("relu"), Tensor([-1.0, 1.0]))
        Tensor([0. 1.], device=xpux:0)
    """

    version: str | None = None

    def __init__(self, opdef):
        super().__init__()
        self.opdef = opdef

    def interpret(self, *inputs) -> list:
        """Run the operator."""
        result = self.apply_module_trace_hook(self.opdef, *inputs)
        return [result] if isinstance(result, Tensor) else list(result)

    @classmethod
    def apply_module_trace_hook(cls, opdef, *inputs):
        """Apply an operator and record that, if something is recorded.

        Args:
            opdef: the operator.
            inputs: Tensors.
        Returns:
            Its results.
        """
        recorder = recording()
        return opdef(*inputs) if recorder is None else recorder.apply(opdef, inputs)

    def _text(self, spec: str) -> str:
        names = ", ".join(format(node, spec) for node in self.inputs)
        return f"{self._result_text(spec)} = {self.opdef}({names})"


class CallFunction(Expr):
    """Calls a function.

    Args:
        func: the function.
    Example:
        >>> from megengine.traced_module import trace_module
        >>> class Net(M.Module):
        ...     def forward(self, x):
        ...         return F.relu(x).sum()
        >>> graph = trace_module(Net(), F.ones(2)).graph
        >>> [expr.func.__name__ for expr in graph._exprs if isinstance(expr, CallFunction)]
        ['relu']
    """

    version: str | None = None

    def __init__(self, func: Callable):
        super().__init__()
        self.func = func

    @property
    def _func(self):
        return self.func

    def interpret(self, *inputs) -> list:
        """Call the function."""
        args, kwargs = self.unflatten_args(inputs)
        return self._flat(self.func(*args, **kwargs))

    def _text(self, spec: str) -> str:
        home, name = home_of(self.func)
        called = f"{home.rpartition('.')[2]}.{name}({self._arguments_text(spec, 0)})"
        return f"{self._result_text(spec)} = {called}"


class Constant(Expr):
    """A value.

    Args:
        c: a Tensor or a Module.
        name: name of its output node.
        qualname: qualified name of the node.
    Raises:
        TypeError: it has another type.
    Example:
        >>> from megengine.traced_module import trace_module
        >>> class Net(M.Module):
        ...     def forward(self, x):
        ...         return x + Tensor([2.0])
        >>> expr = trace_module(Net(), Tensor([1.0])).graph._exprs[0]
        >>> type(expr) is Constant, expr.value
        (True, Tensor([2.], device=xpux:0))
    """

    returns_its_node = True

    def __init__(self, c, name: str = "", qualname: str = ""):
        super().__init__()
        if not isinstance(c, (Tensor, Module)):
            raise TypeError(f"[Constant] a Tensor or a Module is expected, got {c!r}")
        self.value = c
        self.name = name
        default = "const_" + re.sub(r"\W", "_", type(c).__name__.lower())
        if isinstance(c, Tensor):
            node: Node = TensorNode(self, name or default, qualname)
            node.describe(c)
        else:
            node = ModuleNode(self, name or default, qualname)
        self.outputs = [node]

    def module_of(self) -> Module | None:
        """The Module, if the value is one."""
        return self.value if isinstance(self.value, Module) else None

    def interpret(self, *inputs) -> list:
        """The value; a copy if a later expression changes it."""
        return [Tensor(self.value) if is_changed_in_place(self.outputs[0]) else self.value]

    def _text(self, spec: str) -> str:
        return f"{format(self.outputs[0], spec)} = Constant() -> ({_type_name(self.outputs[0])})"
