# SPDX-License-Identifier: Apache-2.0
"""The processes that train together, without an import of ``megengine.distributed``."""

import sys
from types import ModuleType


def distributed() -> ModuleType | None:
    """``megengine.distributed`` if it is imported; otherwise this process is alone."""
    return sys.modules.get("megengine.distributed")
