# SPDX-License-Identifier: Apache-2.0
"""Functions recorded as graphs: compiled, checked on every call, and dumped to files."""

from .._mge import TraceError
from .dtr_config import DTRConfig
from .graph_opt_config import GraphOptimizationConfig
from .partial_tracing import partial_trace
from .sublinear_memory_config import SublinearMemoryConfig
from .tracing import exclude_from_trace, is_tracing, sideeffect, trace

__all__ = [
    "DTRConfig",
    "GraphOptimizationConfig",
    "SublinearMemoryConfig",
    "TraceError",
    "exclude_from_trace",
    "is_tracing",
    "partial_trace",
    "sideeffect",
    "trace",
]
