# SPDX-License-Identifier: Apache-2.0
"""MegEngine's path of ``megengine.compat.ops``."""

from ...compat.ops import *  # noqa: F403
from ...compat.ops import __getattr__  # noqa: F401
