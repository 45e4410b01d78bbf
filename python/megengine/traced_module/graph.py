# SPDX-License-Identifier: Apache-2.0
"""The graph of a traced module: its expressions in the order in which they run."""

import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..core.counted import counted
from ..module import Module
from ..tensor import Tensor
from .expr import CallMethod, Expr, GetAttr, Input
from .filters import ExprFilter, NodeFilter, all_exprs, all_nodes
from .flat_state import restore, state_of
from .namespace import NameSpace
from .node import FORMATS, ModuleNode, Node, TensorNode
from .pytree import LeafDef, TreeDef, flatten_tree


class InternalGraph:
    """A list of expressions with inputs and outputs.

    Args:
        name: of the graph.
        qualname: path of the Module that it belongs to, beginning with the class of the first.
    Example:
        >>> from megengine.traced_module import trace_module
        >>> traced = trace_module(M.Sequential(M.ReLU()), Tensor([1.0]))
        >>> graph = traced.graph
        >>> isinstance(graph, InternalGraph), graph.inputs, graph.outputs
        (True, [self, inp], [_0_out])
        >>> graph.name, graph.qualname, graph.top_graph
        ('Sequential', 'Sequential', None)
        >>> graph.exprs().as_list()[-1]
        %3:	_0_out = _0(inp, )
        >>> graph.get_expr_by_id(3).as_count(), graph.get_method_by_type("__call__").as_count()
        (1, 1)
        >>> graph.get_function_by_type(F.relu).as_list()
        []
        >>> graph.nodes().as_list(), graph.get_module_by_type(M.ReLU).as_unique()
        ([self, inp, _0, _0_out], _0)
        >>> graph.get_node_by_id(3).as_unique(), graph.get_node_by_name("*_out").as_unique()
        (_0_out, _0_out)
        >>> len(graph.get_dep_exprs(graph.outputs))
        4
    """

    def __init__(self, name: str, qualname: str):
        self._name = name
        self._qualname = qualname
        self._exprs: list[Expr] = []
        self._inputs: list[Node] = []
        self._outputs: list[Node] = []
        self._watch_point: list[Node] = []
        self._end_point: list[Node] = []
        self._namespace = NameSpace(name, qualname)
        self._rst: dict[Node, list] = {}  # values of the watched nodes and the end points
        self._total_ids = [0, 0]  # next of nodes and expressions; used of the top graph's
        self._owner: Callable | None = None  # weak reference to the traced module
        self._top: Callable | None = None  # weak reference to the top graph

    @property
    def name(self) -> str:
        """Its name. It can be set."""
        return self._name

    @name.setter
    def name(self, new: str) -> None:
        if not isinstance(new, str) or not new:
            raise ValueError(f"[InternalGraph] a name is a text, got {new!r}")
        self._name = new

    @property
    def qualname(self) -> str:
        """Path of the Module that it belongs to."""
        return self._qualname

    @property
    def inputs(self) -> list[Node]:
        """Its inputs; the first represents the Module itself."""
        return self._inputs

    @property
    def outputs(self) -> list[Node]:
        """Its outputs, in a flat list."""
        return self._outputs

    @property
    def _whole(self) -> "InternalGraph | None":
        """The graph of the outermost traced module."""
        return self if self._top is None else self._top()

    @property
    def top_graph(self) -> "InternalGraph | None":
        """The graph that calls its Module; None for the graph of the outermost traced module."""
        whole = self._whole
        if whole is None or whole is self:
            return None
        calls = (expr for expr in whole.exprs() if getattr(expr, "graph", None) is self)
        return next((expr.top_graph for expr in calls), whole)

    # Looking for parts.

    def exprs(self, recursive: bool = True) -> ExprFilter:
        """The expressions, inputs included.

        Args:
            recursive: include those of inner graphs, each after its first call.
        """
        return ExprFilter(_Again(lambda: all_exprs(self, recursive)))

    def nodes(self, recursive: bool = True) -> NodeFilter:
        """The nodes; see ``exprs``."""
        return NodeFilter(_Again(lambda: all_nodes(self, recursive)))

    def get_function_by_type(self, func: Callable | None = None, recursive: bool = True):
        """The calls of a function; of any for None."""
        return self.exprs(recursive).call_function(func)

    def get_method_by_type(self, method: str | None = None, recursive: bool = True):
        """The calls of a method of Tensors (``"__add__"``); of any, of Modules too, for None."""
        return self.exprs(recursive).call_method(method)

    def get_expr_by_id(self, expr_id: int | list[int] | None = None, recursive: bool = True):
        """The expressions with an id, or with several."""
        return self.exprs(recursive).expr_id(expr_id)

    def get_module_by_type(self, module_cls: type, recursive: bool = True):
        """The nodes of Modules of a class.

        Raises:
            AssertionError: ``module_cls`` is not a class of Modules.
        """
        assert isinstance(module_cls, type) and issubclass(module_cls, Module), (
            f"[get_module_by_type] a class of Modules is expected, got {module_cls!r}"
        )
        return self.nodes(recursive).type(module_cls)

    def get_node_by_id(self, node_id: int | list[int] | None = None, recursive: bool = True):
        """The nodes with an id, or with several."""
        return self.nodes(recursive).node_id(node_id)

    def get_node_by_name(
        self, name: str | None = None, ignorecase: bool = True, recursive: bool = True
    ):
        """The nodes whose names match a pattern.

        Args:
            name: pattern such as ``"conv*_out"``; it may begin with the graph's name.
            ignorecase: whether to ignore case.
            recursive: include those of inner graphs.
        """
        return self.nodes(recursive).name(name, ignorecase)

    def get_dep_exprs(self, nodes: Node | Sequence[Node]) -> list[Expr]:
        """The expressions that nodes depend on, including those that compute them.

        They are found in depth, from the last node and the last input of each expression.

        Args:
            nodes: a node, or several, of this graph.
        """
        waiting = [nodes] if isinstance(nodes, Node) else list(nodes)
        requested = {id(node) for node in waiting}
        found: dict[int, Expr] = {}
        while waiting:
            expr = waiting.pop().expr
            found[id(expr)] = expr
            for node in expr.inputs:
                if id(node) not in requested:
                    requested.add(id(node))
                    waiting.append(node)
        return list(found.values())

    # Recording.

    def _next_ids(self) -> list[int]:
        top = self._whole
        return (self if top is None else top)._total_ids

    def _adopt(self, expr: Expr) -> None:
        """Number an expression and its nodes, name those that have no name here yet."""
        expr._graph = self
        ids = self._next_ids()
        expr._id = ids[1]
        ids[1] += 1
        for node in expr.outputs:
            node._graph = self
            node._id = ids[0]
            ids[0] += 1
            if node._name is not None and self._namespace.used_names.get(node._name) is not node:
                node._name = self._namespace.create_unique_name(node._name, node)
                node._qualname = node._qualname or f"{self._qualname}.[{node._name}]"
        if any(node._name is None for node in expr.outputs):
            self._namespace.auto_naming_for_outputs(expr)

    def _insert(self, expr: Expr, at: int | None = None) -> None:
        self._adopt(expr)
        self._exprs.insert(len(self._exprs) if at is None else at, expr)

    def _add_input(self, expr: Input) -> Node:
        self._adopt(expr)
        self._inputs.append(expr.outputs[0])
        return expr.outputs[0]

    # Editing.

    def _owner_at_top(self, who: str):
        owner = None if self._owner is None else self._owner()
        assert owner is not None, f"[{who}] the traced module of this graph was deleted"
        assert owner._is_top, f"[{who}] only the graph of the whole traced module has it"
        assert len(owner.argdef_graph_map) == 1, f"[{who}] the module was traced in several ways"
        return owner

    def _reset_structures(self, arg_def=None, out_def=None) -> None:
        owner = self._owner()
        (old_arg_def,) = owner.argdef_graph_map
        arg_def = old_arg_def if arg_def is None else arg_def
        out_def = owner.argdef_outdef_map[old_arg_def] if out_def is None else out_def
        owner.argdef_graph_map = {arg_def: self}
        owner.argdef_outdef_map = {arg_def: out_def}

    def reset_inputs(self, *args, **kwargs) -> list[Node]:
        """Replace the inputs; the old ones must be unused.

        Args:
            args: Tensors in containers, as in future calls of the traced module.
            kwargs: keyword arguments.
        Returns:
            The new nodes.
        Raises:
            AssertionError: this is not the graph of an outermost traced module.
        Example:
            >>> import megengine.traced_module as T
            >>> traced = T.trace_module(M.Sequential(M.ReLU()), Tensor([1.0]))
            >>> graph = traced.graph
            >>> (x,) = graph.reset_inputs(Tensor([[1.0, 2.0]]))
            >>> with graph.insert_exprs():
            ...     y = F.relu(x)
            >>> graph.reset_outputs(y)
            >>> _ = graph.compile()
            >>> traced(Tensor([[-1.0, 2.0]]))
            Tensor([[0. 2.]], device=xpux:0)
        """
        owner = self._owner_at_top("reset_inputs")
        leaves, arg_def = flatten_tree(((self._inputs[0], *args), kwargs), "reset_inputs")
        for node in self._inputs[1:]:
            self._namespace.unassociate_name_with_obj(node)
        self._inputs = self._inputs[:1]
        for leaf in leaves[1:]:
            kind = TensorNode if isinstance(leaf, (Tensor, TensorNode)) else ModuleNode
            node = self._add_input(Input(kind, "args"))
            if isinstance(leaf, Tensor):
                node.describe(leaf)
        self._reset_structures(arg_def=arg_def)
        owner._signature = None
        return self._inputs[1:]

    def add_input_node(
        self, shape: tuple[int, ...], dtype: str = "float32", name: str = "args"
    ) -> TensorNode:
        """Add an input, which comes last by position.

        Args:
            shape: shape of the placeholder Tensor for inserting expressions.
            dtype: dtype of that Tensor.
            name: name of the node.
        Returns:
            The node.
        Raises:
            AssertionError: this is not the graph of an outermost traced module.
        Example:
            >>> import megengine.traced_module as T
            >>> traced = T.trace_module(M.Sequential(M.ReLU()), Tensor([1.0]))
            >>> scale = traced.graph.add_input_node(shape=(1,), name="scale")
            >>> with traced.graph.insert_exprs():
            ...     result = traced.graph.outputs[0] * scale
            >>> traced.graph.reset_outputs(result)
            >>> traced(Tensor([3.0]), Tensor([4.0]))
            Tensor([12.], device=xpux:0)
        """
        owner = self._owner_at_top("add_input_node")
        node = self._add_input(Input(TensorNode, name))
        node.shape = shape
        node.dtype = dtype
        (arg_def,) = owner.argdef_graph_map
        args, kwargs = arg_def.children_defs
        args = TreeDef(args.type, args.aux_data, [*args.children_defs, LeafDef(Tensor)])
        # Behind the others: the leaves of keywords come after it.
        self._inputs.remove(node)
        self._inputs.insert(len(self._inputs) - _count(kwargs), node)
        self._reset_structures(arg_def=TreeDef(tuple, None, [args, kwargs]))
        owner._signature = None
        return node

    def _output_nodes(self, outputs, who: str) -> tuple[list[Node], TreeDef | LeafDef]:
        nodes, out_def = flatten_tree(outputs, who)
        assert nodes and not out_def.constants(), f"[{who}] outputs are nodes, got {outputs!r}"
        for node in nodes:
            assert isinstance(node, TensorNode), f"[{who}] outputs are TensorNodes, got {node!r}"
            assert node._graph is self, f"[{who}] {node} is a node of another graph"
        return nodes, out_def

    def reset_outputs(self, outputs) -> None:
        """Replace the outputs.

        Args:
            outputs: nodes, in the containers that the traced module will return.
        Raises:
            AssertionError: this is not the graph of an outermost traced module, or they are not
                nodes of it.
        Example:
            >>> import megengine.traced_module as T
            >>> class Net(M.Module):
            ...     def forward(self, x):
            ...         return F.relu(x + 1)
            >>> traced = T.trace_module(Net(), Tensor([1.0]))
            >>> graph = traced.graph
            >>> graph.reset_outputs(graph.get_method_by_type("__add__").as_unique().outputs[0])
            >>> graph.outputs
            [add_out]
        """
        self._owner_at_top("reset_outputs")
        self._outputs, out_def = self._output_nodes(outputs, "reset_outputs")
        self._reset_structures(out_def=out_def)

    def add_output_node(self, node: TensorNode) -> None:
        """Add an output: the result becomes a pair of the previous result and this node.

        Args:
            node: a node of this graph.
        Raises:
            AssertionError: this is not the graph of an outermost traced module, or it is not a node
                of it.
        Example:
            >>> import megengine.traced_module as T
            >>> class Net(M.Module):
            ...     def forward(self, x):
            ...         return F.relu(x + 1)
            >>> traced = T.trace_module(Net(), Tensor([1.0]))
            >>> graph = traced.graph
            >>> graph.add_output_node(graph.get_method_by_type("__add__").as_unique().outputs[0])
            >>> traced(Tensor([-3.0]))
            (Tensor([0.], device=xpux:0), Tensor([-2.], device=xpux:0))
        """
        owner = self._owner_at_top("add_output_node")
        nodes, leaf = self._output_nodes(node, "add_output_node")
        (old,) = owner.argdef_outdef_map.values()
        self._outputs = self._outputs + nodes
        self._reset_structures(out_def=TreeDef(tuple, None, [old, leaf]))

    def insert_exprs(self, expr: Expr | None = None):
        """A context in which calls with nodes add expressions.

        Functions of ``megengine.functional``, operators and methods take nodes and give nodes;
        nodes of Modules can be called, and have the Module's attributes.

        Args:
            expr: the expression after which to insert; None: after the last one that they depend
                on.
        Returns:
            A context manager.
        Raises:
            AssertionError: it is not an expression of this graph.
        Example:
            >>> import megengine.traced_module as T
            >>> traced = T.trace_module(M.Sequential(M.ReLU()), Tensor([1.0]))
            >>> graph = traced.graph
            >>> with graph.insert_exprs():
            ...     doubled = F.exp(graph.outputs[0]) * 2
            >>> graph.replace_node({graph.outputs[0]: doubled})
            >>> traced(Tensor([-3.0]))
            Tensor([2.], device=xpux:0)
        """
        return self._owner()._insertion(self, expr)

    def replace_node(self, repl_dict: Mapping[Node, Any]) -> None:
        """Replace nodes in the outputs and in all expressions after the new nodes.

        Args:
            repl_dict: the new node for each old one.
        Raises:
            AssertionError: nodes of another graph, or a Module's for a Tensor's.
            RuntimeError: an expression would depend on itself.
        Example:
            >>> import megengine.traced_module as T
            >>> class Net(M.Module):
            ...     def forward(self, x):
            ...         return F.relu(x + 1)
            >>> traced = T.trace_module(Net(), Tensor([1.0]))
            >>> graph = traced.graph
            >>> (out,) = graph.outputs
            >>> with graph.insert_exprs():
            ...     twice = out * 2
            >>> graph.replace_node({out: twice})
            >>> traced(Tensor([1.0]))
            Tensor([4.], device=xpux:0)
        """
        for old, new in repl_dict.items():
            for node in (old, new):
                assert isinstance(node, Node), f"[replace_node] nodes are expected, got {node!r}"
                assert node._graph is self, f"[replace_node] {node} is a node of another graph"
            assert type(old) is type(new), (
                f"[replace_node] {old} is a {type(old).__name__}, {new} a {type(new).__name__}"
            )
            before = {id(expr) for expr in self.get_dep_exprs(new)}
            if new.expr in self._exprs:
                before |= {id(expr) for expr in self._exprs[: self._exprs.index(new.expr) + 1]}
            for user in list(old.users):
                if id(user) not in before:
                    user.replace_inputs({old: new})
            self._outputs = [new if node is old else node for node in self._outputs]
        self._sort()

    def _sort(self) -> None:
        """Put each expression behind those it depends on, and move no other."""
        done = {id(node) for node in self._inputs}
        waiting = list(self._exprs)
        ordered: list[Expr] = []
        while waiting:
            left = []
            for expr in waiting:
                if all(id(node) in done or node._graph is not self for node in expr.inputs):
                    ordered.append(expr)
                    done.update(id(node) for node in expr.outputs)
                else:
                    left.append(expr)
            if len(left) == len(waiting):
                raise RuntimeError(f"[replace_node] {left[0]!r} would depend on itself")
            waiting = left
        self._exprs = ordered

    def _merge_getattr(self) -> None:
        """Read each attribute once, by its full path."""
        first: dict[tuple, Node] = {}
        for expr in list(self._exprs):
            if not isinstance(expr, GetAttr):
                continue
            (node,) = expr.outputs
            source = expr.inputs[0].expr
            if isinstance(source, GetAttr):
                expr.name = f"{source.name}.{expr.name}"
                expr.replace_inputs({expr.inputs[0]: source.inputs[0]})
            key = id(expr.inputs[0]), expr.name
            kept = first.setdefault(key, node)
            if kept is not node:
                for user in list(node.users):
                    user.replace_inputs({node: kept})
                self._outputs = [kept if output is node else output for output in self._outputs]
                self._drop(expr)

    def _drop(self, expr: Expr) -> None:
        self._exprs.remove(expr)
        for node in expr.inputs:
            if expr in node.users:
                node.users.remove(expr)
        expr._graph = None

    def compile(self) -> None:
        """Remove unused expressions; the others keep their ids.

        Expressions whose removal is disabled are kept, with their dependencies.

        Example:
            >>> import megengine.traced_module as T
            >>> class Net(M.Module):
            ...     def forward(self, x):
            ...         return F.relu(x + 1)
            >>> traced = T.trace_module(Net(), Tensor([1.0]))
            >>> graph = traced.graph
            >>> with graph.insert_exprs():
            ...     unused = graph.outputs[0] * 2
            >>> before = graph.exprs().as_count()
            >>> graph.compile()
            >>> before - graph.exprs().as_count()
            1
        """
        self._merge_getattr()
        fixed = [node for expr in self._exprs if expr._disable_remove for node in expr.outputs]
        kept = {id(expr) for expr in self.get_dep_exprs([*self._outputs, *fixed])}
        for expr in self._exprs[::-1]:
            if id(expr) not in kept:
                self._drop(expr)
        inner = (expr.graph for expr in self._exprs if isinstance(expr, CallMethod))
        for graph in {id(graph): graph for graph in inner if graph is not None}.values():
            graph.compile()
        self._rename()

    def _rename(self) -> None:
        names = NameSpace(self._name, self._qualname)
        for node in all_nodes(self, False):
            names.associate_name_with_obj(node._name, node)
        self._namespace = names

    def _reset_ids(self) -> None:
        nodes = exprs = 0
        for expr in all_exprs(self, True):
            expr._id, exprs = exprs, exprs + 1
            for node in expr.outputs:
                node._id, nodes = nodes, nodes + 1
        self._total_ids = [nodes, exprs]

    # Running.

    def interpret(self, *inputs) -> list:
        """Run the expressions.

        Args:
            inputs: the values of the graph's inputs, Module first.
        Returns:
            The values of its outputs, or of its end points if there are any, which run only the
            needed expressions.
        Raises:
            AssertionError: the number of inputs is wrong.
        Example:
            >>> import megengine.traced_module as T
            >>> class Net(M.Module):
            ...     def forward(self, x):
            ...         return F.relu(x + 1)
            >>> traced = T.trace_module(Net(), Tensor([1.0]))
            >>> graph = traced.graph
            >>> graph.interpret(None, Tensor([1.0]))
            [Tensor([2.], device=xpux:0)]
        """
        assert len(inputs) == len(self._inputs), (
            f"[InternalGraph] takes {counted(len(self._inputs), 'input')}, the Module included, got"
            f" {len(inputs)}"
        )
        wanted = self._end_point or self._outputs
        exprs = self._exprs
        if self._end_point:
            needed = {id(expr) for expr in self.get_dep_exprs(wanted)}
            exprs = [expr for expr in exprs if id(expr) in needed]
        watched = {*self._watch_point, *self._end_point}
        # Values are released after their last use.
        last = {node: expr for expr in exprs for node in expr.inputs}
        values = dict(zip(self._inputs, inputs, strict=True))
        self._keep(values, watched & values.keys())
        for expr in exprs:
            results = expr.interpret(*[values[node] for node in expr.inputs])
            values.update(zip(expr.outputs, results, strict=True))
            self._keep(values, watched.intersection(expr.outputs))
            for node in {*expr.inputs, *expr.outputs}.difference(wanted):
                if last.get(node, expr) is expr:
                    del values[node]
        return [values[node] for node in wanted]

    def _keep(self, values: dict, nodes: set[Node]) -> None:
        for node in nodes:
            value = values[node]
            # Later expressions may change the object.
            kept = Tensor(value) if isinstance(value, Tensor) else value
            self._rst.setdefault(node, []).append(kept)

    def eval(self, *inputs: Tensor) -> list:
        """Run the graph of an outermost traced module.

        Args:
            inputs: Tensors for its inputs but the first, which is the Module.
        Returns:
            The values of its outputs.
        Example:
            >>> import megengine.traced_module as T
            >>> T.trace_module(M.Sequential(M.ReLU()), Tensor([1.0])).graph.eval(Tensor([-2.0]))
            [Tensor([0.], device=xpux:0)]
        """
        assert self._owner is not None, "[eval] the graph has no traced module"
        return self.interpret(self._owner(), *inputs)

    def __format__(self, spec: str = "") -> str:
        """Spec: ``"i"`` shows the nodes' ids, ``"p"`` the graph's name, ``"ip"`` both."""
        spec = spec if spec in FORMATS else ""
        inputs = ", ".join(format(node, spec) for node in self._inputs)
        lines = "".join(f"\t{format(expr, spec)}\n" for expr in self._exprs)
        outputs = ", ".join(format(node, spec) for node in self._outputs)
        return f"{self._name}.Graph ({inputs}) {{\n{lines}\treturn {outputs}\n}}"

    def __repr__(self) -> str:
        return format(self)

    def _belongs_to(self, owner: Module, top: "InternalGraph") -> None:
        self._owner = weakref.ref(owner)
        self._top = None if top is self else weakref.ref(top)

    def __getstate__(self) -> dict:
        return state_of(self)

    def __setstate__(self, state: dict) -> None:
        restore(self, state)


class _Again:
    """An iterable that can be traversed repeatedly."""

    def __init__(self, begin: Callable):
        self._begin = begin

    def __iter__(self):
        return self._begin()


def _count(structure) -> int:
    """Number of leaves of a structure that are not constants."""
    return structure.num_leaves - len(structure.constants())
