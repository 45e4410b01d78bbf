# SPDX-License-Identifier: Apache-2.0
"""A clear error for the names of the interface that this version does not have."""

from collections.abc import Iterable
from typing import NoReturn


class NotAvailableError(NotImplementedError):
    """The name belongs to the interface but is not in this version."""


def not_available(module: str, name: str, names: Iterable[str]) -> NoReturn:
    """Raise for a module attribute that is missing: the body of a module's ``__getattr__``.

    Args:
        module: name of the module.
        name: the attribute that was asked for.
        names: attributes of the interface that this version lacks.
    Raises:
        NotAvailableError: ``name`` is one of ``names``.
        AttributeError: it is not.
    """
    if name in names:
        raise NotAvailableError(f"{module}.{name} is not available in this version of megengine")
    raise AttributeError(f"module {module!r} has no attribute {name!r}")
