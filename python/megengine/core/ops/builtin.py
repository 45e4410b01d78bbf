# SPDX-License-Identifier: Apache-2.0
"""MegEngine's path of ``megengine.operators``."""

from ...operators import *  # noqa: F403
from ...operators import __getattr__  # noqa: F401
