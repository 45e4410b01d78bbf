# SPDX-License-Identifier: Apache-2.0
"""The processes that train together, known without importing ``megengine.distributed``."""

import sys
from types import ModuleType


def distributed() -> ModuleType | None:
    """``megengine.distributed``, where somebody has imported it; else this process is alone."""
    return sys.modules.get("megengine.distributed")
