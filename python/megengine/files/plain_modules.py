# SPDX-License-Identifier: Apache-2.0
"""The Modules of this package by their names in pickles, and the groups in them."""

import functools
import importlib
import types

from .. import module as modules
from . import plain_quantised

GROUP = ("megengine.distributed.group", "Group")


@functools.cache
def _module_classes() -> dict[tuple[str, str], type]:
    found = {}
    for value in vars(modules).values():
        if isinstance(value, type) and issubclass(value, modules.Module):
            found[value.__module__, value.__name__] = value
    # Files of MegEngine name some by another module of the package, which has them too.
    homes = [home for home in vars(modules).values() if isinstance(home, types.ModuleType)]
    for name, value in {key[1]: value for key, value in found.items()}.items():
        for home in homes:
            if vars(home).get(name) is value:
                found[home.__name__, name] = value
    return found


def group_class() -> type:
    """``distributed.Group``, imported on first use."""
    # Group imports sockets and multiprocessing, and few files contain one.
    from ..distributed.group import Group

    return Group


def traced_module_class() -> type:
    """``TracedModule``, which is above this floor: by its name, as the file has it."""
    return importlib.import_module("megengine.traced_module").TracedModule


def module_class(module: str, name: str) -> type | None:
    """The class of Modules of this package with a name; None if there is no such class."""
    return _module_classes().get((module, name)) or plain_quantised.module_class(module, name)


def give_group_state(group, state) -> bool:
    """Give a group the ranks that a file has for it.

    Args:
        group: without a state.
        state: of any kind.
    Returns:
        Whether it is one of a group.
    """
    ranks = state.get("proc_ranks") if type(state) is dict else 0
    if ranks is not None and not (type(ranks) is list and all(type(r) is int for r in ranks)):
        return False
    group.__setstate__({"proc_ranks": ranks})
    return True
