# SPDX-License-Identifier: Apache-2.0
"""Where MegEngine's extension module has its names: operators, ``apply``, devices.

Code that was written for MegEngine imports them from here; they are defined elsewhere.
"""

from ..input_check import TensorSanityCheckImpl  # noqa: F401
from ..not_available import missing
from ..ops.opdef import OpDef  # noqa: F401
from . import common, core2, imperative, ops, utils  # noqa: F401
from .common import CompNode, TensorAttr, bfloat16  # noqa: F401

_OF_GRAPHS = ("ComputingGraph", "OperatorNode", "VarNode")


def __getattr__(name: str):
    if name in _OF_GRAPHS:  # the room of networks is entered when somebody asks
        from . import graph

        return getattr(graph, name)
    return missing(__name__, name)
