# SPDX-License-Identifier: Apache-2.0
"""Choosing nodes of a ``Network``, step by step."""

import fnmatch
import re
from collections import OrderedDict
from collections.abc import Iterable, Iterator

from .graph_walk import get_oprs_seq
from .network_node import ConstOpBase, Host2DeviceCopy, NetworkNode, OpNode, VarNode


class NodeFilter:
    """Nodes of a graph; each method narrows them down.

    Args:
        node_iter: the nodes.
    Example:
        >>> from megengine.utils.network import Network
        >>> net = Network()
        >>> x = net.make_input_node((2,), "float32", name="x")
        >>> net.add_output(F.relu(x + net.make_const([1.0, 2.0])))
        >>> operators = net.opr_filter
        >>> operators.type(Host2DeviceCopy).as_unique()
        x{Host2DeviceCopy}
        >>> operators.not_type(Host2DeviceCopy).as_count(), operators.param_provider().as_count()
        (3, 1)
        >>> operators.has_input(x).as_unique().type
        'Elemwise'
        >>> operators.data_provider().check_type(Host2DeviceCopy).as_list()
        [x{Host2DeviceCopy}]
        >>> list(operators.data_provider().as_dict())
        ['x']
        >>> net.var_filter.name("X*").as_count(), net.var_filter.name("~^[xyz]$").as_count()
        (1, 1)
        >>> NodeFilter.make_all_deps(F.relu(x)).as_count()
        2
    """

    def __init__(self, node_iter: Iterable[NetworkNode]) -> None:
        self._nodes = node_iter

    @classmethod
    def make_all_deps(cls, *dest_vars: VarNode) -> "NodeFilter":
        """All operators that variables depend on."""
        return NodeFilter(get_oprs_seq(list(dest_vars), prune_immtensor=False))

    def __iter__(self) -> Iterator[NetworkNode]:
        return iter(self._nodes)

    def type(self, node_type: type) -> "NodeFilter":
        """The nodes of a class of ``network_node``."""
        return NodeFilterType(self, node_type)

    def check_type(self, node_type: type) -> "NodeFilter":
        """All nodes. Iterating raises TypeError for a node of another class."""
        return NodeFilterCheckType(self, node_type)

    def not_type(self, node_type: type) -> "NodeFilter":
        """The nodes that are not of a class."""
        return NodeFilterNotType(self, node_type)

    def param_provider(self) -> "NodeFilter":
        """The constants among operators."""
        return self.type(ConstOpBase)

    def data_provider(self) -> "NodeFilter":
        """The inputs among operators."""
        return self.type(Host2DeviceCopy)

    def name(self, pattern: str, ignorecase: bool = True) -> "NodeFilter":
        """The nodes whose full names match.

        Args:
            pattern: with ``*`` and ``?``, or a regular expression after ``~``.
            ignorecase: ignore the case of letters.
        """
        return NodeFilterName(self, pattern, ignorecase)

    def has_input(self, var: VarNode) -> "NodeFilter":
        """The operators that read a variable, or the copy of one of another graph.

        Args:
            var: the variable, or the operator whose only output it is.
        Raises:
            TypeError: ``var`` is neither, or there are nodes other than operators.
        """
        return NodeFilterHasInput(self, var)

    def as_list(self) -> list[NetworkNode]:
        """The nodes as a list."""
        return list(self)

    def as_unique(self) -> NetworkNode:
        """The only node. Raises ValueError if there is not exactly one."""
        found = self.as_list()
        if len(found) != 1:
            raise ValueError(f"expected exactly one node, there are {len(found)}: {found[:8]}")
        return found[0]

    def as_dict(self) -> "OrderedDict[str, NetworkNode]":
        """The nodes by name, in order."""
        return OrderedDict((node.name, node) for node in self)

    def as_count(self) -> int:
        """The number of nodes."""
        return sum(1 for _ in self)


class NodeFilterType(NodeFilter):
    """The nodes of a class; see ``NodeFilter.type``.

    Raises:
        TypeError: ``node_type`` is not a class of nodes.
    Example:
        >>> from megengine.utils.network import Network
        >>> isinstance(Network().opr_filter.type(Host2DeviceCopy), NodeFilterType)
        True
    """

    def __init__(self, node_iter: Iterable[NetworkNode], node_type: type) -> None:
        if not isinstance(node_type, type) or not issubclass(node_type, NetworkNode):
            raise TypeError(f"a filter takes a class of network_node, got {node_type!r}")
        super().__init__(node_iter)
        self._type = node_type

    def __iter__(self) -> Iterator[NetworkNode]:
        return (node for node in self._nodes if isinstance(node, self._type))


class NodeFilterNotType(NodeFilterType):
    """The nodes of all other classes; see ``NodeFilter.not_type``.

    Example:
        >>> from megengine.utils.network import Network
        >>> isinstance(Network().opr_filter.not_type(Host2DeviceCopy), NodeFilterNotType)
        True
    """

    def __iter__(self) -> Iterator[NetworkNode]:
        return (node for node in self._nodes if not isinstance(node, self._type))


class NodeFilterCheckType(NodeFilterType):
    """All nodes, which have to be of a class; see ``NodeFilter.check_type``.

    Example:
        >>> from megengine.utils.network import Network
        >>> isinstance(Network().opr_filter.check_type(Host2DeviceCopy), NodeFilterCheckType)
        True
    """

    def __iter__(self) -> Iterator[NetworkNode]:
        for node in self._nodes:
            if not isinstance(node, self._type):
                raise TypeError(f"expected nodes of type {self._type.__name__}, got {node!r}")
            yield node


class NodeFilterHasInput(NodeFilter):
    """The operators that read a variable; see ``NodeFilter.has_input``.

    Example:
        >>> from megengine.utils.network import Network
        >>> net = Network()
        >>> x = net.make_input_node((2,), "float32", name="x")
        >>> isinstance(net.opr_filter.has_input(x), NodeFilterHasInput)
        True
    """

    def __init__(self, node_iter: Iterable[NetworkNode], var: VarNode) -> None:
        if isinstance(var, OpNode) and len(var.outputs) == 1:
            var = var.outputs[0]
        if not isinstance(var, VarNode):
            raise TypeError(f"has_input takes a VarNode, got {type(var).__name__}")
        super().__init__(node_iter)
        self._var = var

    def __iter__(self) -> Iterator[NetworkNode]:
        for node in self._nodes:
            if not isinstance(node, OpNode):
                raise TypeError(f"has_input chooses among operators, got {node!r}")
            if node.graph.number_here(self._var) in node.graph.inputs_of(node._number):
                yield node


class NodeFilterName(NodeFilter):
    """The nodes whose names match; see ``NodeFilter.name``.

    Example:
        >>> from megengine.utils.network import Network
        >>> isinstance(Network().var_filter.name("x"), NodeFilterName)
        True
    """

    def __init__(
        self, node_iter: Iterable[NetworkNode], pattern: str, ignorecase: bool = True
    ) -> None:
        super().__init__(node_iter)
        self._re = self.make_re(pattern, ignorecase)

    @classmethod
    def make_re(cls, pattern: str, ignorecase: bool = True) -> re.Pattern:
        """The regular expression that a pattern means.

        Raises:
            TypeError: the pattern is not a string.
        Example:
            >>> bool(NodeFilterName.make_re("conv*").match("Conv1"))
            True
            >>> bool(NodeFilterName.make_re("~conv[0-9]").match("conv1"))  # a regular expression
            True
        """
        if not isinstance(pattern, str):
            raise TypeError(f"the pattern of a name is a string, got {pattern!r}")
        text = pattern[1:] if pattern.startswith("~") else fnmatch.translate(pattern)
        return re.compile(text, re.IGNORECASE if ignorecase else 0)

    def __iter__(self) -> Iterator[NetworkNode]:
        return (node for node in self._nodes if self._re.fullmatch(node.name))
