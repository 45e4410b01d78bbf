# SPDX-License-Identifier: Apache-2.0
"""``trace_module``: a Module recorded as a graph that can be looked at, changed, run and saved."""

import copy
from collections.abc import Sequence

from ..core.not_available import NotAvailableError
from ..files import plain_pickle
from ..module import Module
from . import checker
from .expr import Apply, Constant
from .filters import (
    BaseFilter,
    ExprFilter,
    ExprFilterCallFunction,
    ExprFilterCallMethod,
    ExprFilterExprId,
    NodeFilter,
    NodeFilterName,
    NodeFilterNodeId,
    NodeFilterType,
)
from .flattening import inline_calls
from .functions import recorded_functions, wrap
from .graph import InternalGraph
from .graph_member import GraphOwner
from .hooks import hooked
from .leaves import is_leaf, register_as_builtin
from .module_state import Watched, module_state, read_state
from .namespace import NameSpace
from .node import Node
from .pytree import flatten_tree, tree_flatten  # noqa: F401 - MegEngine has it here
from .recorder import Recorder
from .recording import current
from .serialization import upgrade
from .surgery import InsertExprs
from .utils import normalised, signature_of_forward

__all__ = [
    "BaseFilter",
    "ExprFilter",
    "ExprFilterCallFunction",
    "ExprFilterCallMethod",
    "ExprFilterExprId",
    "InternalGraph",
    "NameSpace",
    "NodeFilter",
    "NodeFilterName",
    "NodeFilterNodeId",
    "NodeFilterType",
    "TracedModule",
    "TracedModuleBuilder",
    "cpp_apply_module_trace",
    "register_as_builtin",
    "trace_module",
    "wrap",
]


class TracedModule(GraphOwner):
    """A Module whose ``forward`` is a graph, made by ``trace_module``.

    It has the attributes of the Module that was traced as far as they were used: parameters,
    buffers, and Modules, which are traced ones themselves unless they are leaves. Lists and dicts
    of Modules have become traced modules with the places and keys as names.

    Args:
        is_top: whether it is the outermost one.
        argdef_graph_map: the graph for each structure of arguments.
        argdef_outdef_map: the structure of results for each structure of arguments.
        is_qat: whether it is the inside of a QATModule, which is not supported: those are leaves.
    Raises:
        NotAvailableError: ``is_qat`` is True.
    Example:
        >>> from megengine.traced_module import trace_module
        >>> net = M.Sequential(M.Linear(2, 3), M.ReLU())
        >>> traced = trace_module(net, F.ones((1, 2)))
        >>> isinstance(traced, TracedModule), traced(F.ones((4, 2))).shape
        (True, (4, 3))
    """

    def __init__(self, is_top: bool, argdef_graph_map, argdef_outdef_map, is_qat: bool = False):
        super().__init__()
        if is_qat:
            raise NotAvailableError("[TracedModule] this version calls QATModules as a whole")
        self.argdef_graph_map = argdef_graph_map
        self.argdef_outdef_map = argdef_outdef_map
        self._is_top = is_top
        self.watch_points: list[Node] = []
        self._watched = Watched()
        self.end_points: list[Node] = []
        self.is_qat = is_qat
        self._signature = None  # the signature of the traced function, with ``self``

    @property
    def argspec(self):
        """The signature of the traced ``forward``; None for inner modules, as in MegEngine.

        Example:
            >>> traced = trace_module(M.Sequential(M.ReLU()), Tensor([1.0]))
            >>> list(traced.argspec.parameters)
            ['self', 'inp']
        """
        return self._signature if self._is_top else None

    @property
    def watch_node_value(self) -> dict:
        """The values of the watched nodes in the last run, by node.

        Example:
            >>> traced = trace_module(M.Sequential(M.ReLU()), Tensor([1.0]))
            >>> traced.set_watch_points(traced.graph.outputs)
            >>> _ = traced(Tensor([3.0]))
            >>> traced.watch_node_value
            {_0_out: Tensor([3.], device=xpux:0)}
        """
        return self._watched.values

    def _insertion(self, graph: InternalGraph, expr) -> InsertExprs:
        return InsertExprs(graph, expr)

    def _built(self, recorder: Recorder, module: Module) -> Module:
        return build(recorder, module)

    def _normalised(self, args: tuple, kwargs: dict) -> tuple:
        return normalised(self._signature, args, kwargs)

    def forward(self, *args, **kwargs):
        """Run the graph.

        Args:
            args, kwargs: as for the Module that was traced.
        Returns:
            The Module's results; with end points a list of their values.
        Raises:
            AssertionError: the structure of the arguments, or their constants, were not traced.
        """
        args, kwargs = self._normalised((self, *args), kwargs)
        leaves, arg_def = flatten_tree((args, kwargs), type(self).__name__)
        graph = self.argdef_graph_map.get(arg_def)
        if graph is None:
            known = "; ".join(map(_call_text, self.argdef_graph_map)) or "nothing"
            raise AssertionError(
                f"[TracedModule] it was traced with {known}, and is called with"
                f" {_call_text(arg_def)}"
            )
        if self._is_top and (self.watch_points or self.end_points):
            return self._run_watched(graph, leaves, arg_def)
        outputs = graph.interpret(*leaves)
        return self._result(arg_def, outputs)

    def _result(self, arg_def, outputs: list):
        out_def = self.argdef_outdef_map[arg_def]
        return out_def.unflatten(out_def.fill(outputs))

    def _run_watched(self, graph: InternalGraph, leaves: list, arg_def):
        graphs = {node._graph for node in (*self.watch_points, *self.end_points)}
        for each in graphs:
            each._rst = {}
        outputs = graph.interpret(*leaves)
        seen = {node: values for each in graphs for node, values in each._rst.items()}
        for each in graphs:
            each._rst = {}
        self._watched = Watched()
        for node in self.watch_points:
            values = seen.get(node, [])
            self._watched.values[node] = values[0] if len(values) == 1 else values
        if self.end_points:
            return outputs if graph._end_point else [seen[node][0] for node in self.end_points]
        return self._result(arg_def, outputs)

    def _checked_nodes(self, nodes, who: str) -> list[Node]:
        nodes = [nodes] if isinstance(nodes, Node) else nodes
        assert isinstance(nodes, Sequence) and all(isinstance(node, Node) for node in nodes), (
            f"[{who}] nodes are expected, got {nodes!r}"
        )
        for node in nodes:
            whole = node._graph and node._graph._whole
            assert whole is self.graph, f"[{who}] {node} is not a node of this module"
        return list(nodes)

    def set_watch_points(self, nodes: Node | Sequence[Node]) -> None:
        """Keep the values of nodes at each run, in ``watch_node_value``.

        Args:
            nodes: of this module, or of those in it. A node that has several values in a run has a
                list of them.
        Raises:
            AssertionError: they are not.
        Example:
            >>> traced = trace_module(M.Sequential(M.ReLU(), M.Sigmoid()), Tensor([1.0]))
            >>> relu = traced.graph.get_node_by_name("_0_out").as_unique()
            >>> traced.set_watch_points(relu)
            >>> _ = traced(Tensor([-3.0]))
            >>> traced.watch_node_value[relu]
            Tensor([0.], device=xpux:0)
        """
        self.clear_watch_points()
        self.watch_points = self._checked_nodes(nodes, "set_watch_points")
        for node in self.watch_points:
            node._graph._watch_point.append(node)

    def clear_watch_points(self) -> None:
        """Watch no node any more.

        Example:
            >>> traced = trace_module(M.Sequential(M.ReLU()), Tensor([1.0]))
            >>> traced.set_watch_points(traced.graph.outputs)
            >>> traced.clear_watch_points()
            >>> _ = traced(Tensor([3.0]))
            >>> traced.watch_node_value
            {}
        """
        for node in self.watch_points:
            if node in node._graph._watch_point:
                node._graph._watch_point.remove(node)
        self.watch_points = []
        self._watched = Watched()
        self._mark_ends()

    def set_end_points(self, nodes: Node | Sequence[Node]) -> None:
        """Return the values of nodes instead of the results. If all nodes belong to the module
        itself, only the expressions that they need run.

        Args:
            nodes: of this module, or of those in it.
        Raises:
            AssertionError: they are not.
        Example:
            >>> traced = trace_module(M.Sequential(M.ReLU(), M.Sigmoid()), Tensor([1.0]))
            >>> traced.set_end_points(traced.graph.get_node_by_name("_0_out").as_unique())
            >>> traced(Tensor([3.0]))
            [Tensor([3.], device=xpux:0)]
        """
        self.clear_end_points()
        self.end_points = self._checked_nodes(nodes, "set_end_points")
        self._mark_ends()

    def _mark_ends(self) -> None:
        is_inside = any(node._graph is not self.graph for node in self.end_points)
        for node in self.end_points:
            # Nodes of inner modules are only watched, because ending there would change the result
            # of those modules.
            marks = node._graph._watch_point if is_inside else node._graph._end_point
            if node not in marks:
                marks.append(node)

    def clear_end_points(self) -> None:
        """Give the results again.

        Example:
            >>> traced = trace_module(M.Sequential(M.ReLU()), Tensor([1.0]))
            >>> traced.set_end_points(traced.graph.inputs[1])
            >>> traced(Tensor([-3.0]))
            [Tensor([-3.], device=xpux:0)]
            >>> traced.clear_end_points()
            >>> traced(Tensor([-3.0]))
            Tensor([0.], device=xpux:0)
        """
        for node in self.end_points:
            node._graph._end_point = []
            if node not in self.watch_points and node in node._graph._watch_point:
                node._graph._watch_point.remove(node)
        self.end_points = []

    @property
    def graph(self) -> InternalGraph:
        """The graph.

        Raises:
            AssertionError: there is no graph, or there are several for different structures of
                arguments, which are in ``argdef_graph_map``.
        Example:
            >>> traced = trace_module(M.Sequential(M.ReLU()), Tensor([1.0]))
            >>> traced.graph.inputs
            [self, inp]
        """
        count = len(self.argdef_graph_map)
        assert count == 1, f"[TracedModule] it has {count} graphs; see argdef_graph_map"
        return next(iter(self.argdef_graph_map.values()))

    def _update_ref(self, top: InternalGraph | None = None) -> None:
        """Set the owners of the graphs, including those of inner modules."""
        waiting: list = [(self, top)]
        seen: set[int] = set()
        while waiting:
            module, top = waiting.pop()
            if id(module) in seen:
                continue
            seen.add(id(module))
            plain_pickle.count_visit(module)
            if top is None and len(module.argdef_graph_map) == 1:
                top = module.graph
            for graph in module.argdef_graph_map.values():
                graph._belongs_to(module, graph if top is None else top)
            parts = [part for part in module.children() if isinstance(part, TracedModule)]
            waiting += [(part, top) for part in reversed(parts)]

    def _compile(self) -> None:
        for graph in self.argdef_graph_map.values():
            graph.compile()

    def flatten(self) -> "TracedModule":
        """The same with one graph, in which no traced module is called any more.

        Returns:
            A new module with copies of the parameters; names show the origin of expressions.
        Raises:
            AssertionError: it has no graph, or several.
        Example:
            >>> net = M.Sequential(M.Sequential(M.ReLU()), M.Sequential(M.Sigmoid()))
            >>> trace_module(net, Tensor([1.0])).flatten().graph
            Sequential.Graph (self, inp) {
                %2: _0__0 = getattr(self, "0.0") -> (ReLU)
                %3: _0_out = _0__0(inp, )
                %4: _1__0 = getattr(self, "1.0") -> (Sigmoid)
                %5: _1_out = _1__0(_0_out, )
                return _1_out
            }
        """
        assert self.graph is not None
        made = copy.deepcopy(self)
        inline_calls(made.graph)
        for part in list(made.modules()):
            if part is not made and isinstance(part, TracedModule):
                part.argdef_graph_map, part.argdef_outdef_map = {}, {}
        made.graph.compile()
        made.graph._reset_ids()
        return made

    def __getstate__(self) -> dict:
        return module_state(self)

    def __setstate__(self, state: dict) -> None:
        read_state(self, state)
        self._update_ref()  # the outer module does that again, with its own graph as the top
        upgrade(self)

    def __copy__(self):
        return copy.deepcopy(self)

    def __deepcopy__(self, memo: dict):
        made = object.__new__(type(self))
        memo[id(self)] = made
        made.__setstate__(copy.deepcopy(self.__getstate__(), memo))
        return made


def _call_text(arg_def) -> str:
    args, kwargs = arg_def.children_defs
    by_name = zip(kwargs.aux_data, kwargs.children_defs, strict=True)
    parts = [*map(repr, args.children_defs), *(f"{name}={part!r}" for name, part in by_name)]
    return f"forward({', '.join(parts)})"


def _put(owner: TracedModule, path: str, value) -> None:
    """Set an attribute by its path; lists and dicts on it become traced modules."""
    # Without setattr, which would change the names of shared Modules in dumped files.
    *heads, last = path.split(".")
    for head in heads:
        if head not in vars(owner):
            vars(owner)[head] = TracedModule(False, {}, {})
            owner._modules.append(head)
        owner = vars(owner)[head]
    vars(owner)[last] = value
    if isinstance(value, Module):
        owner._modules.append(last)


def build(recorder: Recorder, module: Module, made: dict | None = None) -> Module:
    """The traced module of a recorded Module; a leaf is returned unchanged."""
    made = {} if made is None else made
    if id(module) in made:
        return made[id(module)]
    if is_leaf(module):
        return module
    builder = recorder.builder_of(module)
    result = TracedModule(not made, builder.graphs, builder.out_defs)
    made[id(module)] = result
    result.name, result.training = module.name, module.training
    result._name, result._short_name = module._name, module._short_name
    result.quantize_disabled = module.quantize_disabled
    result._signature = signature_of_forward(module)
    for path, value in builder.attributes.items():
        _put(result, path, build(recorder, value, made) if isinstance(value, Module) else value)
    for graph in builder.graphs.values():
        for expr in graph._exprs:
            if isinstance(expr, Constant) and isinstance(expr.value, Module):
                expr.value = build(recorder, expr.value, made)
    return result


class TracedModuleBuilder:
    """Records calls of a Module and makes the traced module.

    Args:
        mod: the Module.
        is_top_module: whether it is the outermost one.
    Example:
        >>> builder = TracedModuleBuilder(M.Sequential(M.ReLU()), True)
        >>> builder(Tensor([-1.0]))
        Tensor([0.], device=xpux:0)
        >>> builder.build().graph.outputs
        [_0_out]
    """

    def __init__(self, mod: Module, is_top_module: bool = False):
        assert isinstance(mod, Module), f"[trace_module] a Module is expected, got {mod!r}"
        self._mod = mod
        self._is_top_module = is_top_module
        self._recorder = Recorder()

    def __call__(self, *args, **kwargs):
        """Call the Module and record its computation.

        Raises:
            AssertionError: it takes or gives something that cannot be recorded.
        """
        module = self._mod
        args, kwargs = normalised(signature_of_forward(module), (module, *args), kwargs)
        leaves, structure = flatten_tree((args, kwargs))
        name = type(module).__name__
        with hooked(recorded_functions), self._recorder as recorder:
            return recorder.enter_module(module, leaves, structure, name)

    def build(self) -> Module:
        """The traced module; the Module itself if it is a leaf."""
        result = build(self._recorder, self._mod)
        if isinstance(result, TracedModule):
            result._is_top = self._is_top_module
            result._update_ref()
            result._compile()
            for graph in result.argdef_graph_map.values():
                graph._reset_ids()
        return result


def cpp_apply_module_trace(opdef, *args):
    """Apply an operator and record it if this thread records; see ``Apply``.

    Example:
        >>> from megengine.core.ops.builtin import Elemwise
        >>> cpp_apply_module_trace(Elemwise("relu"), Tensor([-1.0]))
        Tensor([0.], device=xpux:0)
    """
    return Apply.apply_module_trace_hook(opdef, *args)


def trace_module(mod: Module, *args, **kwargs) -> TracedModule:
    """Record the computation of a Module for some arguments.

    Calls of functions of ``megengine.functional``, of methods and operators of Tensors, and of
    Modules become the expressions of its graph. Numbers that Python gets out of Tensors, and the
    ways that it takes because of them, are as they were at the recording.

    Args:
        mod: the Module, in training or evaluation mode, which is kept.
        args: its arguments: Tensors and constants in containers.
        kwargs: its keyword arguments.
    Returns:
        The traced module; its parameters and leaves are those of ``mod``.
    Raises:
        AssertionError: ``mod`` is not a Module; arguments or results have a class that is not
            registered; or the results of graph and Module differ.
        TypeError: the arguments do not fit ``mod.forward``.
        RuntimeError: a Module uses a Tensor that another Module computes and does not return.
    Example:
        >>> class Net(M.Module):
        ...     def __init__(self):
        ...         super().__init__()
        ...         self.fc = M.Linear(2, 1)
        ...     def forward(self, x):
        ...         return F.relu(self.fc(x)) + 1
        >>> trace_module(Net(), F.zeros((1, 2))).graph
        Net.Graph (self, x) {
            %2: fc = getattr(self, "fc") -> (Linear)
            %3: fc_out = fc(x, )
            %4: relu_out = nn.relu(fc_out, )
            %5: add_out = relu_out.__add__(1, )
            return add_out
        }
    """
    assert current.recorder is None, "[trace_module] this thread is already recording"
    builder = TracedModuleBuilder(mod, True)
    assert not is_leaf(mod), (
        f"[trace_module] {type(mod).__name__} is recorded as a whole, so there is nothing to see;"
        " put it into a Module or Sequential"
    )
    with checker.watching(mod, args, kwargs) as check:
        expected = builder(*args, **kwargs)
    result = builder.build()
    check(result, expected, builder._recorder.values)
    return result
