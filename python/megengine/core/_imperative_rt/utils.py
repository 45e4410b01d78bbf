# SPDX-License-Identifier: Apache-2.0
"""Services of the process."""

from ...device import coalesce_free_memory as _try_coalesce_all_free_memory  # noqa: F401
from ...device import get_device_count as _get_device_count  # noqa: F401
