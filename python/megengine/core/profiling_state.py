# SPDX-License-Identifier: Apache-2.0
"""Whether a profiler records, without an import of ``megengine.utils.profiler``."""

from typing import Any


class _State:
    # Calls of traced functions while a profiler records: (start in nanoseconds, the CallProfiler
    # that observed it). None: no profiler records.
    calls: list[Any] | None = None


state = _State()
