# SPDX-License-Identifier: Apache-2.0
"""Whether a profiler records, known without importing ``megengine.utils.profiler``."""

from typing import Any


class _State:
    # What traced functions ran while one records: (nanoseconds at which the call began, the
    # CallProfiler that watched it). None: no profiler records.
    calls: list[Any] | None = None


state = _State()
