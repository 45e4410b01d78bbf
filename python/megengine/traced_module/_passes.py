# SPDX-License-Identifier: Apache-2.0
"""Where MegEngine has ``traced_module.optimize``."""

from .passes import optimize

__all__ = ["optimize"]
