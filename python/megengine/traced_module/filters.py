# SPDX-License-Identifier: Apache-2.0
"""Looking for expressions and nodes of a graph."""

import fnmatch
import re
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator

from .expr import CallFunction, CallMethod, Expr
from .node import ModuleNode, Node


def all_exprs(graph, is_recursive: bool) -> Iterator[Expr]:
    """The expressions of a graph, each inner graph after its first call."""
    seen: set[int] = set()

    def visit(part):
        seen.add(id(part))
        for node in part.inputs:
            yield node.expr
        for expr in part._exprs:
            yield expr
            inner = expr.graph if is_recursive and isinstance(expr, CallMethod) else None
            if inner is not None and id(inner) not in seen:
                yield from visit(inner)

    return visit(graph)


def all_nodes(graph, is_recursive: bool) -> Iterator[Node]:
    """The nodes of a graph."""
    for expr in all_exprs(graph, is_recursive):
        yield from expr.outputs


class BaseFilter:
    """The results of a search.

    Args:
        iter: iterable of the results.
    Example:
        >>> from megengine.traced_module import trace_module
        >>> graph = trace_module(M.Sequential(M.ReLU()), Tensor([1.0])).graph
        >>> isinstance(graph.exprs(), BaseFilter), graph.exprs().as_count()
        (True, 4)
        >>> graph.nodes().as_list(), list(graph.nodes().as_dict())
        ([self, inp, _0, _0_out], [0, 1, 2, 3])
        >>> graph.nodes().name("inp").as_unique()
        inp
    """

    def __init__(self, iter: Iterable):
        self._iter = iter

    def __iter__(self) -> Iterator:
        return iter(self._iter)

    def as_list(self) -> list:
        """The results as a list."""
        return list(self)

    def as_dict(self) -> OrderedDict:
        """The results by id."""
        return OrderedDict((found._id, found) for found in self)

    def as_unique(self):
        """The only result.

        Raises:
            AssertionError: there is no result, or there are several.
        """
        found = self.as_list()
        assert len(found) == 1, f"[as_unique] {len(found)} elements were found, not one"
        return found[0]

    def as_count(self) -> int:
        """The number of results."""
        return len(self.as_list())


def _as_set(value) -> set:
    return set(value) if isinstance(value, Iterable) else {value}


class ExprFilter(BaseFilter):
    """Expressions; each method narrows them down.

    Example:
        >>> from megengine.traced_module import trace_module
        >>> graph = trace_module(M.Sequential(M.ReLU()), Tensor([1.0])).graph
        >>> calls = graph.exprs()
        >>> isinstance(calls, ExprFilter), calls.call_function(None).as_list()
        (True, [])
        >>> calls.call_method("__call__").as_unique(), calls.expr_id([0, 1]).as_count()
        (%3:	_0_out = _0(inp, ), 2)
    """

    def call_function(self, func: Callable | None) -> "ExprFilterCallFunction":
        """Calls of a function; of any for None."""
        return ExprFilterCallFunction(self, func)

    def call_method(self, method: str | None) -> "ExprFilterCallMethod":
        """Calls of a method of Tensors, or of Modules for ``"__call__"``; of any for None."""
        return ExprFilterCallMethod(self, method)

    def expr_id(self, expr_id: int | list[int]) -> "ExprFilterExprId":
        """The expressions with these ids."""
        return ExprFilterExprId(self, expr_id)


class NodeFilter(BaseFilter):
    """Nodes; each method narrows them down.

    Example:
        >>> from megengine.traced_module import trace_module
        >>> graph = trace_module(M.Sequential(M.ReLU()), Tensor([1.0])).graph
        >>> nodes = graph.nodes()
        >>> isinstance(nodes, NodeFilter), nodes.type(M.ReLU).as_unique()
        (True, _0)
        >>> nodes.node_id(0).as_unique(), nodes.name("*_out").as_unique()
        (self, _0_out)
    """

    def type(self, owner_type: type) -> "NodeFilterType":
        """Nodes of Modules of a class, or nodes of a class of nodes."""
        return NodeFilterType(self, owner_type)

    def node_id(self, node_id: int | list[int]) -> "NodeFilterNodeId":
        """The nodes with these ids."""
        return NodeFilterNodeId(self, node_id)

    def name(self, name: str, ignorecase: bool = True) -> "NodeFilterName":
        """The nodes whose names match a pattern such as ``"*_out"``."""
        return NodeFilterName(self, name, ignorecase)


class NodeFilterType(NodeFilter):
    """See ``NodeFilter.type``.

    Example:
        >>> from megengine.traced_module import trace_module
        >>> graph = trace_module(M.Sequential(M.ReLU()), Tensor([1.0])).graph
        >>> isinstance(graph.get_module_by_type(M.ReLU), NodeFilterType)
        True
    """

    def __init__(self, expr_iter: Iterable, owner_type: type):
        super().__init__(expr_iter)
        self.owner_type = owner_type

    def __iter__(self) -> Iterator[Node]:
        for node in self._iter:
            if isinstance(node, self.owner_type):
                yield node
            elif isinstance(node, ModuleNode) and isinstance(node.owner, self.owner_type):
                # The Module of the graph itself is not included.
                if node.expr.inputs:
                    yield node


class NodeFilterNodeId(NodeFilter):
    """See ``NodeFilter.node_id``.

    Example:
        >>> from megengine.traced_module import trace_module
        >>> graph = trace_module(M.Sequential(M.ReLU()), Tensor([1.0])).graph
        >>> found = graph.get_node_by_id([node._id for node in graph.outputs])
        >>> isinstance(found, NodeFilterNodeId), found.as_list()
        (True, [_0_out])
    """

    def __init__(self, expr_iter: Iterable, node_id: int | list[int]):
        super().__init__(expr_iter)
        self.node_id = _as_set(node_id)

    def __iter__(self) -> Iterator[Node]:
        return (node for node in self._iter if node._id in self.node_id)


class NodeFilterName(NodeFilter):
    """See ``NodeFilter.name``.

    Example:
        >>> from megengine.traced_module import trace_module
        >>> graph = trace_module(M.Sequential(M.ReLU()), Tensor([1.0])).graph
        >>> found = graph.get_node_by_name("_0*")
        >>> isinstance(found, NodeFilterName), found.as_list()
        (True, [_0, _0_out])
    """

    def __init__(self, node_iter: Iterable, pattern: str | None, ignorecase: bool):
        super().__init__(node_iter)
        self._re = self.make_re(pattern, ignorecase)

    @classmethod
    def make_re(cls, pattern: str | None, ignorecase: bool = True) -> re.Pattern:
        """The regular expression of a pattern.

        Args:
            pattern: a glob pattern with ``*``, ``?`` and ``[...]``; None: any name.
            ignorecase: whether to ignore case.
        Raises:
            AssertionError: the pattern is not a string.
        Example:
            >>> bool(NodeFilterName.make_re("conv*").match("Conv1"))
            True
        """
        if pattern is None:
            pattern = "*"
        assert isinstance(pattern, str), f"[make_re] a pattern is a text, got {pattern!r}"
        return re.compile(fnmatch.translate(pattern), re.IGNORECASE if ignorecase else 0)

    def __iter__(self) -> Iterator[Node]:
        # Its plain name, and the name prefixed with that of its graph, which distinguishes nodes of
        # several graphs.
        for node in self._iter:
            if self._re.match(node._name) or self._re.match(format(node, "p")):
                yield node


class ExprFilterCallFunction(ExprFilter):
    """See ``ExprFilter.call_function``.

    Example:
        >>> from megengine.traced_module import trace_module
        >>> graph = trace_module(M.Sequential(M.ReLU()), Tensor([1.0])).graph
        >>> isinstance(graph.get_function_by_type(F.relu), ExprFilterCallFunction)
        True
    """

    def __init__(self, expr_iter: Iterable, func: Callable | None = None):
        super().__init__(expr_iter)
        self.func = func

    def __iter__(self) -> Iterator[Expr]:
        for expr in self._iter:
            if isinstance(expr, CallFunction) and self.func in (None, expr.func):
                yield expr


class ExprFilterCallMethod(ExprFilter):
    """See ``ExprFilter.call_method``.

    Example:
        >>> from megengine.traced_module import trace_module
        >>> graph = trace_module(M.Sequential(M.ReLU()), Tensor([1.0])).graph
        >>> isinstance(graph.get_method_by_type("sum"), ExprFilterCallMethod)
        True
    """

    def __init__(self, expr_iter: Iterable, method: str | None = None):
        super().__init__(expr_iter)
        self.method = method

    def __iter__(self) -> Iterator[Expr]:
        for expr in self._iter:
            if isinstance(expr, CallMethod) and self.method in (None, expr.method):
                yield expr


class ExprFilterExprId(ExprFilter):
    """See ``ExprFilter.expr_id``.

    Example:
        >>> from megengine.traced_module import trace_module
        >>> graph = trace_module(M.Sequential(M.ReLU()), Tensor([1.0])).graph
        >>> isinstance(graph.get_expr_by_id([3]), ExprFilterExprId)
        True
    """

    def __init__(self, expr_iter: Iterable, expr_id: int | list[int]):
        super().__init__(expr_iter)
        self.expr_id_set = _as_set(expr_id)

    def __iter__(self) -> Iterator[Expr]:
        return (expr for expr in self._iter if expr._id in self.expr_id_set)
