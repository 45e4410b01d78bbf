# SPDX-License-Identifier: Apache-2.0
"""Graphs by hand, under the names that MegEngine's extension module has for them."""

from ...utils.network_node import OpenGraph as ComputingGraph  # noqa: F401
from ...utils.network_node import OpNode as OperatorNode  # noqa: F401
from ...utils.network_node import VarNode  # noqa: F401
