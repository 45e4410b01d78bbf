# SPDX-License-Identifier: Apache-2.0
"""The common base of nodes and expressions, and the base of Modules that have graphs."""

from typing import Any

from ..module import Module


class GraphMember:
    """A member of a graph, which cannot be copied or saved without it."""

    _graph = None

    @property
    def top_graph(self):
        """The graph that contains it; None if it is in no graph, or was deleted."""
        return self._graph

    def __repr__(self) -> str:
        return format(self)

    def __copy__(self):
        raise TypeError(
            f"[{type(self).__name__}] {self!r} cannot be copied without its graph; copy the traced"
            " module"
        )

    def __deepcopy__(self, memo):
        return self.__copy__()

    def __reduce_ex__(self, protocol):
        raise TypeError(
            f"[{type(self).__name__}] {self!r} cannot be saved without its graph; save the traced"
            " module"
        )


class GraphOwner(Module):
    """A Module with a graph for each structure of its arguments: ``TracedModule``."""

    argdef_graph_map: dict[Any, Any]
