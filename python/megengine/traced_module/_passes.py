# SPDX-License-Identifier: Apache-2.0
"""MegEngine's name of ``traced_module.optimize``."""

from .passes import optimize

__all__ = ["optimize"]
