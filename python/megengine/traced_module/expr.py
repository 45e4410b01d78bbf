# SPDX-License-Identifier: Apache-2.0
"""Expressions: the lines of a traced module's graph.

Each has nodes as inputs and outputs. ``arg_def`` is the structure of a call's arguments with the
constants in it, ``out_def`` that of its results.
"""

import re
from collections.abc import Callable, Iterable

from ..module import Module
from ..tensor import Tensor
from .node import ModuleNode, Node, TensorNode
from .pytree import ArgsIndex, LeafDef, TreeDef, taken_apart
from .utils import get_subattr, get_suffix_name, given_for, normalised_for, rstrip, signature_of  # noqa: F401

# Methods that change their Tensor and give it back; item assignment does as if.
IN_PLACE = frozenset(
    "__iadd__ __isub__ __imul__ __imatmul__ __itruediv__ __ifloordiv__ __imod__ __ipow__"
    " __ilshift__ __irshift__ __iand__ __ior__ __ixor__ __setitem__".split()
)


_ONE_TENSOR = LeafDef(Tensor)


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


class Expr:
    """A line of a graph.

    Example:
        >>> from megengine.traced_module import trace_module
        >>> class Net(M.Module):
        ...     def forward(self, x):
        ...         return F.relu(x).sum()
        >>> graph = trace_module(Net(), F.ones(2)).graph
        >>> len(graph._exprs[-1].inputs), len(graph._exprs[-1].outputs)
        (1, 1)
    """

    inputs: list[Node]
    outputs: list[Node]
    const_val: list
    arg_def: TreeDef | None = None
    out_def: TreeDef | LeafDef | None = None

    def __init__(self):
        self.inputs = []
        self.outputs = []
        self.const_val = []
        self._id: int | None = None
        self._disable_remove = False
        self._graph = None

    @classmethod
    def _set_next_id(cls, id: int = 0) -> None:
        """Without effect: each traced module counts its expressions by itself."""

    def enable_remove(self) -> None:
        """Let ``InternalGraph.compile`` remove the expression when nothing uses what it gives."""
        self._disable_remove = False

    def disable_remove(self) -> None:
        """Keep the expression even if nothing uses what it gives.

        Example:
            >>> import megengine.traced_module as T
            >>> graph = T.trace_module(M.Sequential(M.ReLU()), Tensor([1.0])).graph
            >>> graph.outputs[0].expr.disable_remove()
        """
        self._disable_remove = True

    def add_inputs(self, vals) -> None:
        """Append the nodes of a value to the inputs.

        Args:
            vals: a node, or a container of nodes and constants.
        Raises:
            AssertionError: it holds something else.
        """
        for node in taken_apart(vals, type(self).__name__)[0]:
            self._add_input(node)

    def _add_input(self, node: Node) -> None:
        assert isinstance(node, Node), f"[Expr] inputs are nodes, got {node!r}"
        self.inputs.append(node)
        if self not in node.users:
            node.users.append(self)

    def add_outputs(self, outputs) -> None:
        """Make the nodes that the expression gives.

        Args:
            outputs: the value that it gave while it was recorded: Tensors and Modules.
        """
        values, self.out_def = taken_apart(outputs, type(self).__name__)
        self.outputs = []
        for value in values:
            if isinstance(value, (Tensor, TensorNode)):
                node = TensorNode(self)
                if isinstance(value, Tensor):
                    node.describe(value)
            else:
                node = ModuleNode(self)
            self.outputs.append(node)

    def unflatten_args(self, inputs) -> tuple[tuple, dict]:
        """The arguments of the call.

        Args:
            inputs: what stands for the nodes in ``inputs``.
        Returns:
            The arguments by position, and those by keyword.
        """
        if self.arg_def is None:
            return tuple(inputs), {}
        leaves = list(inputs)
        for place, value in self.const_val:
            leaves.insert(place, value)
        return self.arg_def.unflatten(leaves)

    def replace_inputs(self, repl_dict: dict[Node, Node]) -> None:
        """Take other nodes for some inputs.

        Args:
            repl_dict: the new node for each old one. New ones must come before the expression.
        Raises:
            AssertionError: the two are in different graphs.
        Example:
            >>> import megengine.traced_module as T
            >>> graph = T.trace_module(M.Sequential(M.ReLU(), M.ReLU()), Tensor([1.0])).graph
            >>> expr = graph.outputs[0].expr
            >>> expr.replace_inputs({expr.inputs[1]: graph.inputs[1]})
            >>> expr
            %5: _1_out = _1(inp, )
        """
        for old, new in repl_dict.items():
            assert old._graph is new._graph, f"[Expr] {old} and {new} are nodes of different graphs"
            if old not in self.inputs:
                continue
            self.inputs = [new if node is old else node for node in self.inputs]
            old.users.remove(self)
            if self not in new.users:
                new.users.append(self)

    @property
    def _func(self) -> Callable | None:
        """What is called, with the first argument as ``args`` has it."""
        return None

    def _signature(self):
        func = self._func
        return None if func is None else signature_of(func)

    def set_args_kwargs(self, *args, **kwargs) -> None:
        """Give the call other arguments.

        Args:
            args: by position, with the Module or Tensor of a method: nodes and constants.
            kwargs: by keyword.
        Raises:
            AssertionError: the expression is no call whose signature is known.
            TypeError: the arguments do not fit.
        Example:
            >>> import megengine.traced_module as T
            >>> class Net(M.Module):
            ...     def forward(self, x):
            ...         return F.softmax(x, axis=1)
            >>> traced = T.trace_module(Net(), F.zeros((1, 4)))
            >>> expr = traced.graph.outputs[0].expr
            >>> expr.set_args_kwargs(expr.args[0], axis=0)
            >>> traced(F.zeros((1, 4)))
            Tensor([[1. 1. 1. 1.]], device=xpux:0)
        """
        assert self._func is not None, f"[Expr] a {type(self).__name__} has no arguments to set"
        args, kwargs = normalised_for(self._func, args, kwargs)
        values, structure = taken_apart((args, kwargs), type(self).__name__)
        for node in self.inputs:
            if self in node.users:
                node.users.remove(self)
        self.inputs = []
        self._set_call(values, structure)

    def _set_call(self, nodes, structure: TreeDef) -> None:
        self.arg_def = structure
        self.const_val = structure.constants()
        for node in nodes:
            self._add_input(node)

    @property
    def kwargs(self) -> dict:
        """The arguments by keyword: nodes and constants."""
        return self.unflatten_args(self.inputs)[1]

    @property
    def args(self) -> tuple:
        """The arguments by position, with the Module or Tensor of a method."""
        return self.unflatten_args(self.inputs)[0]

    @property
    def named_args(self) -> dict:
        """All arguments by name.

        Raises:
            AssertionError: the expression is no call whose signature is known.
        """
        signature = self._signature()
        assert signature is not None, f"[Expr] the arguments of {self!r} have no names"
        return dict(signature.bind(*self.args, **self.kwargs).arguments)

    def set_arg(self, name: str, val) -> None:
        """Give the call another value for one argument.

        Args:
            name: of the argument.
            val: a node of the graph, or a constant.
        Raises:
            AssertionError: the call has no such argument.
        """
        arguments = self.named_args
        assert name in arguments, f"[Expr] {self!r} has no argument {name!r}, but {[*arguments]}"
        bound = self._signature().bind(*self.args, **self.kwargs)
        bound.arguments[name] = val
        args, kwargs = given_for(self._func, bound)
        self.set_args_kwargs(*args, **kwargs)

    @property
    def return_val(self):
        """The nodes that it gives, in the structure of the result. It can be set.

        Raises:
            AssertionError: it is set to what is no structure of nodes, or of as many.
        """
        if self.out_def is None:
            return self.outputs[0] if self.outputs else None
        return self.out_def.unflatten(self.out_def.fill(self.outputs))

    @return_val.setter
    def return_val(self, value) -> None:
        nodes, structure = taken_apart(value, "return_val")
        assert all(isinstance(node, Node) for node in nodes), (
            f"[Expr] return_val is made of nodes, got {value!r}"
        )
        assert len(nodes) == len(self.outputs), (
            f"[Expr] {self!r} gives {len(self.outputs)} values, not {len(nodes)}"
        )
        self.outputs, self.out_def = nodes, structure

    @property
    def top_graph(self):
        """The graph that it stands in; None when the expression is in none."""
        return self._graph

    def interpret(self, *inputs) -> list:
        """What the expression gives.

        Args:
            inputs: the values of its inputs.
        Returns:
            The values of its outputs.
        """
        raise NotImplementedError(f"[{type(self).__name__}] cannot be calculated")

    @classmethod
    def make(cls, *args, **kwargs):
        """Make an expression in the graph that is recorded now.

        Args:
            args: as of the class.
            kwargs: as of the class.
        Returns:
            The expression; its node where there is one only.
        Raises:
            RuntimeError: nothing is recorded.
        """
        from .recorder import active_recorder

        recorder = active_recorder()
        if recorder is None:
            raise RuntimeError(f"[{cls.__name__}] nothing is recorded, so there is no graph")
        made = cls(*args, **kwargs)
        recorder.scope.graph._insert(made)
        return made.outputs[0] if cls in (Input, GetAttr, Constant) else made

    def _flat(self, result) -> list:
        if isinstance(result, Tensor) and self.out_def == _ONE_TENSOR:
            return [result]
        values, structure = taken_apart(result, type(self).__name__)
        if structure != self.out_def:
            raise RuntimeError(
                f"[traced_module] {self!r} gave {structure}, it was recorded with {self.out_def}"
            )
        return values

    # Printing.

    def _result_text(self, spec: str) -> str:
        if self.out_def is None:
            return ", ".join(format(node, spec) for node in self.outputs)
        return _shown(self.out_def, self.outputs, spec)

    def _arguments_text(self, spec: str, skip: int) -> str:
        stand_ins = [ArgsIndex(name=format(node, spec)) for node in self.inputs]
        args, kwargs = self.unflatten_args(stand_ins)
        by_name = ", ".join(f"{name}={value}" for name, value in kwargs.items())
        return ", ".join(str(arg) for arg in args[skip:]) + ", " + by_name

    def _text(self, spec: str) -> str:
        raise NotImplementedError

    def __format__(self, spec: str = "") -> str:
        return f"%{self._id}:\t{self._text(spec)}"

    def __repr__(self) -> str:
        return format(self)

    def __copy__(self):
        raise TypeError("[Expr] an expression cannot be copied without its graph; copy that")

    def __deepcopy__(self, memo):
        return self.__copy__()

    def __reduce_ex__(self, protocol):
        raise TypeError("[Expr] an expression cannot be saved without its graph; save that")


def _shown(structure, nodes, spec: str) -> str:
    names = [ArgsIndex(name=format(node, spec)) for node in nodes]
    return str(structure.unflatten(structure.fill(names)))


def _type_name(node: Node) -> str:
    return "Tensor" if isinstance(node, TensorNode) else node.module_type.__name__


class Input(Expr):
    """An input of a graph.

    Args:
        type: ``TensorNode`` or ``ModuleNode``.
        name: of the node.
        qualname: of the node.
    Example:
        >>> from megengine.traced_module import trace_module
        >>> graph = trace_module(M.Sequential(M.ReLU()), Tensor([1.0])).graph
        >>> type(graph.inputs[1].expr) is Input
        True
    """

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
        name: of the node that it gives; None: of the attribute.
    Example:
        >>> from megengine.traced_module import trace_module
        >>> expr = trace_module(M.Sequential(M.ReLU()), Tensor([1.0])).graph._exprs[0]
        >>> type(expr) is GetAttr, expr.name
        (True, '0')
    """

    def __init__(self, module: ModuleNode, type: type, attr_name: str, name: str = ""):
        super().__init__()
        assert isinstance(module, ModuleNode), f"[GetAttr] no ModuleNode, but {module!r}"
        self.name = attr_name
        self._add_input(module)
        qualname = f"{module.qualname}.{attr_name}"
        self.outputs = [type(self, name or attr_name, qualname)]

    def module_of(self) -> Module | None:
        """The Module that it reads; None when the owner is not known."""
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

    version: str | None = None  # of the package that recorded the call of a Module that is a leaf

    def __init__(self, node: Node, method: str = "__call__"):
        super().__init__()
        self.method = method
        self._node = node

    @property
    def graph(self):
        """The graph of the traced module that is called; None if something else is."""
        from .traced_module import TracedModule

        owner = self.inputs[0].owner if isinstance(self.inputs[0], ModuleNode) else None
        if not isinstance(owner, TracedModule):
            return None
        return owner.argdef_graph_map.get(self.arg_def)

    def interpret(self, *inputs) -> list:
        """What the call gives. A method that changes its Tensor gives the Tensor."""
        args, kwargs = self.unflatten_args(inputs)
        if isinstance(args[0], Module):
            return self._flat(args[0](*args[1:], **kwargs))
        result = getattr(Tensor, self.method)(*args, **kwargs)
        if result is NotImplemented:
            raise TypeError(f"[traced_module] {self!r}: the operands do not fit")
        return self._flat(args[0] if self.method == "__setitem__" else result)

    @property
    def _func(self):
        if isinstance(self.inputs[0], TensorNode):
            return getattr(Tensor, self.method)
        owner = self.inputs[0].owner
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
    """

    version: str | None = None

    def __init__(self, opdef):
        super().__init__()
        self.opdef = opdef

    def interpret(self, *inputs) -> list:
        """What the operator gives."""
        result = self.apply_module_trace_hook(self.opdef, *inputs)
        return [result] if isinstance(result, Tensor) else list(result)

    @classmethod
    def apply_module_trace_hook(cls, opdef, *inputs):
        """Apply an operator and record that, if something is recorded.

        Args:
            opdef: the operator.
            inputs: Tensors.
        Returns:
            What it gives.
        """
        from .hooks import recording

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
        """What the function gives."""
        args, kwargs = self.unflatten_args(inputs)
        return self._flat(self.func(*args, **kwargs))

    def _text(self, spec: str) -> str:
        from .functions import home_of

        home, name = home_of(self.func)
        called = f"{home.rpartition('.')[2]}.{name}({self._arguments_text(spec, 0)})"
        return f"{self._result_text(spec)} = {called}"


class Constant(Expr):
    """A value.

    Args:
        c: a Tensor or a Module.
        name: of the node that it gives.
        qualname: of the node.
    Raises:
        TypeError: it is something else.
    Example:
        >>> from megengine.traced_module import trace_module
        >>> class Net(M.Module):
        ...     def forward(self, x):
        ...         return x + Tensor([2.0])
        >>> expr = trace_module(Net(), Tensor([1.0])).graph._exprs[0]
        >>> type(expr) is Constant, expr.value
        (True, Tensor([2.], device=xpux:0))
    """

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
        """The value."""
        return [self.value]

    def _text(self, spec: str) -> str:
        return f"{format(self.outputs[0], spec)} = Constant() -> ({_type_name(self.outputs[0])})"
