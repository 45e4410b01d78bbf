# SPDX-License-Identifier: Apache-2.0
"""A value for which one thread waits and which another one sets."""

import threading


class Future:
    """A place for one value.

    Args:
        ack: ``set`` returns when somebody has taken the value.
    Example:
        >>> future = Future(ack=False)
        >>> future.set(3)
        >>> future.get()
        3
    """

    def __init__(self, ack: bool = True) -> None:
        self._is_set = threading.Event()
        self._is_taken = threading.Event() if ack else None
        self._value = None

    def set(self, value) -> None:
        """Set the value.

        Raises:
            AssertionError: there is one already.
        """
        assert not self._is_set.is_set(), "[Future] there is a value already"
        self._value = value
        self._is_set.set()
        if self._is_taken is not None:
            self._is_taken.wait()

    def get(self):
        """Wait for the value."""
        self._is_set.wait()
        if self._is_taken is not None:
            self._is_taken.set()
        return self._value
