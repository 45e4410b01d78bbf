# SPDX-License-Identifier: Apache-2.0
"""A higher recursion limit, for pickling deep structures."""

import sys
import threading

_MOST = 1 << 20
_lock = threading.RLock()


class AlternativeRecursionLimit:
    """Python's limit of nested calls is another one within a ``with`` block; blocks may nest.

    Args:
        new_py_limit: how many calls may be nested.
    """

    def __init__(self, new_py_limit: int) -> None:
        self._limit = new_py_limit
        self._before: list[int] = []

    def __enter__(self) -> "AlternativeRecursionLimit":
        with _lock:
            self._before.append(sys.getrecursionlimit())
            sys.setrecursionlimit(max(self._limit, self._before[-1]))
        return self

    def __exit__(self, *_) -> None:
        with _lock:
            sys.setrecursionlimit(self._before.pop())


def max_recursion_limit() -> AlternativeRecursionLimit:
    """The largest limit that is sensible, within a ``with`` block.

    Example:
        >>> import sys
        >>> with max_recursion_limit():
        ...     sys.getrecursionlimit() > 100_000
        True
    """
    return AlternativeRecursionLimit(_MOST)
