# SPDX-License-Identifier: Apache-2.0
"""Common part of all expressions: inputs, outputs, the structure of a call, and their text."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..core.counted import counted
from ..tensor import Tensor
from .graph_member import GraphMember
from .node import ModuleNode, Node, TensorNode
from .pytree import ArgsIndex, LeafDef, TreeDef, flatten_tree
from .recording import current
from .utils import given_for, normalised_for, signature_of


class Expr(GraphMember):
    """A line of a graph.

    Example:
        >>> from megengine.traced_module import trace_module
        >>> class Net(M.Module):
        ...     def forward(self, x):
        ...         return F.clip(x, lower=0.0, upper=2.0)
        >>> traced = trace_module(Net(), F.ones(2))
        >>> call = traced.graph.exprs().as_list()[-1]
        >>> call.inputs, call.outputs, call.return_val
        ([x], [clip_out], clip_out)
        >>> call.args, call.kwargs, call.named_args
        ((x, 0.0, 2.0), {}, {'x': x, 'lower': 0.0, 'upper': 2.0})
        >>> call.interpret(Tensor([-1.0, 5.0]))
        [Tensor([0. 2.], device=xpux:0)]
        >>> call.set_arg("upper", 6.0)
        >>> call.unflatten_args(call.inputs)  # nodes in the places of the arguments
        ((x, 0.0, 6.0), {})
        >>> call.set_args_kwargs(call.args[0], 1.0, upper=4.0)
        >>> traced(Tensor([0.0, 9.0]))
        Tensor([1. 4.], device=xpux:0)
        >>> call.disable_remove()  # graph.compile() keeps the call even if its result is unused
        >>> call.enable_remove()
    """

    if TYPE_CHECKING:
        # The class is known only at run time, and each class has different attributes.
        def __getattr__(self, name: str) -> Any: ...

    inputs: list[Node]
    outputs: list[Node]
    const_val: list
    returns_its_node = False  # whether ``make`` gives the node, not the expression
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
        """Let ``InternalGraph.compile`` remove the expression if its outputs are unused."""
        self._disable_remove = False

    def disable_remove(self) -> None:
        """Keep the expression even if its outputs are unused."""
        self._disable_remove = True

    def add_inputs(self, vals) -> None:
        """Append the nodes of a value to the inputs.

        Args:
            vals: a node, or a container of nodes and constants.
        Raises:
            AssertionError: it contains other values.
        Example:
            >>> import megengine.traced_module as T
            >>> graph = T.trace_module(M.Sequential(M.ReLU()), Tensor([1.0])).graph
            >>> expr = T.expr.CallFunction(F.relu)
            >>> expr.add_inputs(graph.inputs[1])
            >>> expr.inputs
            [inp]
        """
        for node in flatten_tree(vals, type(self).__name__)[0]:
            self._add_input(node)

    def _add_input(self, node: Node) -> None:
        assert isinstance(node, Node), f"[Expr] inputs are nodes, got {node!r}"
        self.inputs.append(node)
        node.users.append(self)

    def add_outputs(self, outputs) -> None:
        """Make the nodes that the expression gives.

        Args:
            outputs: the value that it gave while it was recorded: Tensors and Modules.
        Example:
            >>> import megengine.traced_module as T
            >>> expr = T.expr.CallFunction(F.relu)
            >>> expr.add_outputs(Tensor([1.0, 2.0]))
            >>> [node.shape for node in expr.outputs]
            [(2,)]
        """
        values, self.out_def = flatten_tree(outputs, type(self).__name__)
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
            inputs: the values of the nodes in ``inputs``.
        Returns:
            The positional and the keyword arguments.
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
            for _ in range(self.inputs.count(old)):
                old.users.remove(self)
                new.users.append(self)
            self.inputs = [new if node is old else node for node in self.inputs]

    @property
    def _func(self) -> Callable | None:
        """The callee, with the first argument as in ``args``."""
        return None

    def _signature(self):
        func = self._func
        return None if func is None else signature_of(func)

    def set_args_kwargs(self, *args, **kwargs) -> None:
        """Give the call other arguments.

        Args:
            args: positional arguments, including the Module or Tensor of a method: nodes and
                constants.
            kwargs: keyword arguments.
        Raises:
            AssertionError: the expression is not a call with a known signature.
            TypeError: the arguments do not fit.
        """
        assert self._func is not None, f"[Expr] a {type(self).__name__} has no arguments to set"
        args, kwargs = normalised_for(self._func, args, kwargs)
        values, structure = flatten_tree((args, kwargs), type(self).__name__)
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
            AssertionError: the expression is not a call with a known signature.
        """
        signature = self._signature()
        assert signature is not None, f"[Expr] the arguments of {self!r} have no names"
        return dict(signature.bind(*self.args, **self.kwargs).arguments)

    def set_arg(self, name: str, val) -> None:
        """Give the call another value for one argument.

        Args:
            name: name of the argument.
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
            AssertionError: it is set to a value that is not a structure of nodes, or of more or
                fewer nodes than it has.
        """
        if self.out_def is None:
            return self.outputs[0] if self.outputs else None
        return self.out_def.unflatten(self.out_def.fill(self.outputs))

    @return_val.setter
    def return_val(self, value) -> None:
        nodes, structure = flatten_tree(value, "return_val")
        assert all(isinstance(node, Node) for node in nodes), (
            f"[Expr] return_val is made of nodes, got {value!r}"
        )
        assert not self.outputs or len(nodes) == len(self.outputs), (
            f"[Expr] {self!r} gives {counted(len(self.outputs), 'value')}, not {len(nodes)}"
        )
        self.outputs, self.out_def = nodes, structure

    def interpret(self, *inputs) -> list:
        """Run the expression.

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
            args, kwargs: as for the class.
        Returns:
            The expression; its output node if there is only one.
        Raises:
            RuntimeError: nothing is recorded.
        """
        recorder = current.recorder
        if recorder is None:
            raise RuntimeError(f"[{cls.__name__}] nothing is recorded, so there is no graph")
        made = cls(*args, **kwargs)
        recorder.scope.graph._insert(made)
        return made.outputs[0] if cls.returns_its_node else made

    def _flat(self, result) -> list:
        if isinstance(result, Tensor) and len(self.outputs) == 1:
            return [result]
        values, structure = flatten_tree(result, type(self).__name__)
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
        placeholders = [ArgsIndex(name=format(node, spec)) for node in self.inputs]
        args, kwargs = self.unflatten_args(placeholders)
        by_name = ", ".join(f"{name}={value}" for name, value in kwargs.items())
        return ", ".join(str(arg) for arg in args[skip:]) + ", " + by_name

    def _text(self, spec: str) -> str:
        raise NotImplementedError

    def __format__(self, spec: str = "") -> str:
        return f"%{self._id}:\t{self._text(spec)}"


def _shown(structure, nodes, spec: str) -> str:
    names = [ArgsIndex(name=format(node, spec)) for node in nodes]
    return str(structure.unflatten(structure.fill(names)))
