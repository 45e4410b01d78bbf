# SPDX-License-Identifier: Apache-2.0
"""Parts of modules by their names, and modules in another mode for a while."""

import contextlib
from collections.abc import Iterator

from ..module import Module


def _step(owner, key: str):
    return owner[int(key)] if isinstance(owner, list | tuple) else _by_name(owner, key)


def _by_name(owner, key: str):
    return owner[key] if isinstance(owner, dict) else getattr(owner, key)


def get_expand_structure(obj: Module, key: str):
    """A part of a module, also in lists and dictionaries.

    Args:
        obj: the module.
        key: names and indices from outside to inside: ``"blocks.0.conv"``; ``""``: the module.
    Returns:
        The part.
    Raises:
        AttributeError, IndexError or KeyError: there is no such part.
    Example:
        >>> from megengine.utils.module_utils import get_expand_structure
        >>> net = M.Sequential(M.Linear(2, 3), M.ReLU())
        >>> get_expand_structure(net, "1")
        ReLU()
    """
    for part in key.split(".") if key else ():
        obj = _step(obj, part)
    return obj


def set_expand_structure(obj: Module, key: str, value) -> None:
    """Put something else in the place of a part of a module.

    Args:
        obj: the module.
        key: as of ``get_expand_structure``.
        value: what stands there from now on.
    Raises:
        AttributeError, IndexError or KeyError: there is no such part.
    Example:
        >>> net = M.Sequential(M.ReLU())
        >>> set_expand_structure(net, "0", M.GELU())
        >>> net[0]
        GELU()
    """
    path, _, last = key.rpartition(".")
    owner = get_expand_structure(obj, path)
    _step(owner, last)
    if isinstance(owner, list):
        owner[int(last)] = value
    elif isinstance(owner, dict):
        owner[last] = value
    elif isinstance(owner, tuple):
        changed = (*owner[: int(last)], value, *owner[int(last) + 1 :])
        set_expand_structure(obj, path, changed)
    else:
        setattr(owner, last, value)


@contextlib.contextmanager
def set_module_mode_safe(module: Module, training: bool = False) -> Iterator[Module]:
    """A module in another mode; afterwards each of its parts is in the one that it was in.

    Args:
        module: the module.
        training: training mode; else evaluation mode.
    Example:
        >>> net = M.Dropout()
        >>> with set_module_mode_safe(net, training=False):
        ...     print(net.training)
        False
        >>> net.training
        True
    """
    modes = [(part, part.training) for part in module.modules()]
    module.train(training)
    try:
        yield module
    finally:
        for part, was_training in modes:
            part.training = was_training
