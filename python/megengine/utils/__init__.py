# SPDX-License-Identifier: Apache-2.0
"""Tools around the library."""

from ..core.not_available import not_available
from . import hook, naming  # noqa: F401

_NOT_AVAILABLE = (
    "bn_fusion",
    "comp_graph_tools",
    "custom_op_tools",
    "dlpack",
    "http_download",
    "module_stats",
    "module_utils",
    "network",
    "network_node",
    "persistent_cache",
    "profile_analyzer",
    "profiler",
    "tensorboard",
)


def __getattr__(name: str):
    return not_available(__name__, name, _NOT_AVAILABLE)
