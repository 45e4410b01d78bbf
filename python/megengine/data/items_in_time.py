# SPDX-License-Identifier: Apache-2.0
"""A time limit for the samples of a stream."""

import queue
import threading
from collections.abc import Iterable, Iterator


def items_in_time(items: Iterable, seconds: float) -> Iterator:
    """Yield the items, each of which must arrive within a time limit.

    A thread reads them, so the caller can stop waiting. It reads an item only when asked for one.

    Args:
        items: read once.
        seconds: the time limit of an item.
    Raises:
        RuntimeError: an item took longer. The thread ends when it has that item.
    Example:
        >>> list(items_in_time(range(3), seconds=60))
        [0, 1, 2]
    """
    wanted: queue.SimpleQueue = queue.SimpleQueue()
    arrived: queue.SimpleQueue = queue.SimpleQueue()
    threading.Thread(target=_read, args=(items, wanted, arrived), daemon=True).start()
    try:
        while True:
            wanted.put(True)
            try:
                item, error = arrived.get(timeout=seconds)
            except queue.Empty:
                raise RuntimeError(
                    f"DataLoader timeout: the data set made no sample within {seconds} seconds"
                ) from None
            if isinstance(error, StopIteration):
                return
            if error is not None:
                raise error
            yield item
    finally:
        wanted.put(False)


def _read(items: Iterable, wanted: queue.SimpleQueue, arrived: queue.SimpleQueue) -> None:
    try:
        iterator = iter(items)
        while wanted.get():
            arrived.put((next(iterator), None))
    except BaseException as error:  # the caller raises it
        arrived.put((None, error))
