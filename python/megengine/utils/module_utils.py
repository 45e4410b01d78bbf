# SPDX-License-Identifier: Apache-2.0
"""Parts of modules by their names, and modules in another mode for a while."""

import contextlib
from collections.abc import Iterator

from ..module import Module
from ..module.module import _access_structure


def get_expand_structure(obj: Module, key: str):
    """A part of a module, also in lists and dictionaries.

    Args:
        obj: the module.
        key: path of names and indices: ``"blocks.0.conv"``; ``""``: the module.
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
    return _access_structure(obj, key) if key else obj


def set_expand_structure(obj: Module, key: str, value) -> None:
    """Replace a part of a module.

    Args:
        obj: the module.
        key: as for ``get_expand_structure``.
        value: the new part.
    Raises:
        AttributeError, IndexError or KeyError: there is no such part.
    Example:
        >>> net = M.Sequential(M.ReLU())
        >>> set_expand_structure(net, "0", M.GELU())
        >>> net[0]
        GELU()
    """
    owner, last = _access_structure(obj, key, lambda owner, last, part: (owner, last))
    if isinstance(owner, list | dict):
        owner[last] = value
    elif isinstance(owner, tuple):
        changed = (*owner[:last], value, *owner[last + 1 :])
        set_expand_structure(obj, key.rpartition(".")[0], changed)
    else:
        setattr(owner, last, value)


@contextlib.contextmanager
def set_module_mode_safe(module: Module, training: bool = False) -> Iterator[Module]:
    """A module in another mode; afterwards each of its parts is in the one that it was in.

    Args:
        module: the module.
        training: training mode; otherwise evaluation mode.
    Example:
        >>> net = M.Dropout()
        >>> with set_module_mode_safe(net, training=False):
        ...     print(net.training)
        False
        >>> net.training
        True
    """
    parts = [(part, dict(vars(part))) for part in module.modules()]
    module.train(training)
    # The mode, and what train() of a class has changed besides: observers rest in evaluation mode.
    before = [
        (part, name, value)
        for part, attributes in parts
        for name, value in attributes.items()
        if name == "training" or vars(part).get(name) is not value
    ]
    try:
        yield module
    finally:
        for part, name, value in before:
            setattr(part, name, value)
