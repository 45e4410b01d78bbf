# SPDX-License-Identifier: Apache-2.0
"""What the public packages share."""

from .options import get_option, set_option  # noqa: F401


def __getattr__(name: str):
    if name == "Graph":  # the room of networks is entered when somebody asks
        from .tensor.megbrain_graph import Graph

        return Graph
    from .not_available import missing

    return missing(__name__, name)
