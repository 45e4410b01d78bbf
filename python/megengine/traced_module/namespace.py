# SPDX-License-Identifier: Apache-2.0
"""The names of the nodes of a graph."""

import builtins
import keyword
import re

from .expr import Apply, CallFunction, CallMethod
from .node import ModuleNode

_NUMBERED = re.compile(r"(.*)_(\d+)")


class NameSpace:
    """Names that are identifiers, and each at most once.

    Args:
        name, qualname: of the graph.
    Example:
        >>> names = NameSpace("Net", "Net")
        >>> [names.create_unique_name(name) for name in ("out", "out", "block.0", "print")]
        ['out', 'out_1', 'block_0', 'print_1']
        >>> node = object()
        >>> names.associate_name_with_obj("weight", node)
        >>> names.used_names["weight"] is node
        True
        >>> other = NameSpace("Other", "Other")
        >>> other.merge(names)
        >>> other.create_unique_name("weight")
        'weight_1'
    """

    def __init__(self, name: str, qualname: str):
        self.name = name
        self.qualname = qualname
        self._used_names: dict = {}
        self._tried: dict[str, int] = {}  # numbers up to these are in use

    @property
    def used_names(self) -> dict:
        """The owner of each name; None for reserved names."""
        return self._used_names

    def create_unique_name(self, name: str, node=None) -> str:
        """A name that is not in use, and is from now on.

        Args:
            name: the preferred name; a number is appended if it is in use.
            node: the owner of the name.
        Returns:
            The name.
        """
        name = re.sub(r"\W", "_", name) or "_"
        if name[0].isdigit():
            name = "_" + name
        numbered = _NUMBERED.fullmatch(name)
        base = numbered[1] if numbered else name
        number = int(numbered[2]) if numbered else self._tried.get(base, 0)
        while name in self._used_names or keyword.iskeyword(name) or hasattr(builtins, name):
            number += 1
            name = f"{base}_{number}"
        if not numbered:
            self._tried[base] = number
        self._used_names[name] = node
        return name

    def auto_naming_for_outputs(self, expr) -> None:
        """Name the outputs of an expression after the expression.

        Args:
            expr: a call or the application of an operator.
        """
        if isinstance(expr, CallFunction):
            name = expr.func.__name__
            qualname = f"{self.qualname}.[func_{name}]"
        elif isinstance(expr, Apply):
            name = repr(expr.opdef).lower()
            qualname = f"{self.qualname}.[def_{name}]"
        elif isinstance(expr, CallMethod) and isinstance(expr.inputs[0], ModuleNode):
            name = expr.inputs[0]._name
            qualname = f"{expr.inputs[0]._qualname}.[out]"
        else:
            assert isinstance(expr, CallMethod), f"[NameSpace] {expr!r} has the names of its class"
            name = expr.method.strip("_")
            qualname = f"{self.qualname}.[method_{name}]"
        for node in expr.outputs:
            node._qualname = qualname
            node._name = self.create_unique_name(f"{name}_out", node)

    def merge(self, other: "NameSpace") -> None:
        """Take over the names of another one.

        Args:
            other: namespace to merge; names in use here are kept.
        """
        for name, node in other._used_names.items():
            self._used_names.setdefault(name, node)

    def associate_name_with_obj(self, name: str, node) -> None:
        """Say that a node has a name.

        Raises:
            AssertionError: another one has it.
        """
        holder = self._used_names.get(name)
        assert holder is None or holder is node, f"[NameSpace] {name!r} is the name of another node"
        self._used_names[name] = node

    def unassociate_name_with_obj(self, node) -> None:
        """Give the name of a node up.

        Example:
            >>> import megengine.traced_module as T
            >>> graph = T.trace_module(M.Sequential(M.ReLU()), Tensor([1.0])).graph
            >>> names = NameSpace("Net", "Net")
            >>> names.associate_name_with_obj(graph.outputs[0].name, graph.outputs[0])
            >>> names.unassociate_name_with_obj(graph.outputs[0])
            >>> graph.outputs[0].name in names.used_names
            False
        """
        if self._used_names.get(node._name) is node:
            del self._used_names[node._name]
            self._tried.clear()
