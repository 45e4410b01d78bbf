# SPDX-License-Identifier: Apache-2.0
"""MegEngine's path of ``megengine.compat.comp_graph_tools``."""

from ..compat.comp_graph_tools import *  # noqa: F403
