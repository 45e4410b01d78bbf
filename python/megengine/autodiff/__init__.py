# SPDX-License-Identifier: Apache-2.0
"""Gradients."""

from .function import Function
from .grad_manager import GradManager, GradManagerGroup, get_backwarding_grad_manager
from .no_grad import no_grad

__all__ = [
    "Function",
    "GradManager",
    "GradManagerGroup",
    "get_backwarding_grad_manager",
    "no_grad",
]
