# SPDX-License-Identifier: Apache-2.0
"""NumPy, imported when something first uses it: its import takes longer than this package's."""

from __future__ import annotations

import importlib

TYPE_CHECKING = False
if TYPE_CHECKING:
    import numpy as np
else:

    class _Later:
        def __getattr__(self, name: str):
            return getattr(importlib.import_module("numpy"), name)

    np = _Later()

__all__ = ["np"]
