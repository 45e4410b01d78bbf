# SPDX-License-Identifier: Apache-2.0
"""The structure of a net while its parts are replaced."""

from collections.abc import Iterator
from contextlib import contextmanager
from copy import copy

from ..module import Module


@contextmanager
def unchanged_on_error(net: Module) -> Iterator[None]:
    """Restores the parts and other attributes of a net if the block raises an error.

    The values of Tensors are not restored.
    """
    kept: list[tuple[list | dict, list | dict]] = []  # containers with their contents
    waiting: list = [net]
    seen: set[int] = set()
    while waiting:
        value = waiting.pop()
        container = vars(value) if isinstance(value, Module) else value
        if not isinstance(container, list | tuple | dict) or id(container) in seen:
            continue
        seen.add(id(container))
        if not isinstance(container, tuple):
            kept.append((container, copy(container)))
        waiting += container.values() if isinstance(container, dict) else container
    try:
        yield
    except BaseException:
        for container, content in kept:
            container.clear()
            container.update(content) if isinstance(container, dict) else container.extend(content)
        raise
