# SPDX-License-Identifier: Apache-2.0
"""MegEngine's path of ``megengine.compat.services``."""

from ...compat.services import *  # noqa: F403
from ...compat.services import _defrag, _get_device_count, _try_coalesce_all_free_memory  # noqa: F401
