# SPDX-License-Identifier: Apache-2.0
"""MegEngine's path of ``megengine.compat.config``."""

from ..compat.config import *  # noqa: F403
from ..compat.config import __getattr__, _clear_algorithm_cache, _override  # noqa: F401
