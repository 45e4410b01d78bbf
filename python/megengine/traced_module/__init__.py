# SPDX-License-Identifier: Apache-2.0
"""Modules recorded as graphs of Python calls, which can be looked at, changed, run and saved.

This name is lazy: ``megengine.traced_module`` is imported on first use.
"""

from . import expr, node, serialization, tm_config, utils
from .passes import optimize
from .pytree import register_supported_type
from .tm_config import disable_default_checker, enable_expr_checker
from .traced_module import TracedModule, register_as_builtin, trace_module, wrap

__all__ = [
    "TracedModule",
    "disable_default_checker",
    "enable_expr_checker",
    "expr",
    "node",
    "optimize",
    "register_as_builtin",
    "register_supported_type",
    "serialization",
    "tm_config",
    "trace_module",
    "utils",
    "wrap",
]
