# SPDX-License-Identifier: Apache-2.0
"""Values of types that the library cannot be given."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypeVar

    Value = TypeVar("Value")


def expect(kind: type[Value], value: Value, who: str) -> Value:
    """Return the value.

    Raises:
        TypeError: it is of another type.
    """
    if not isinstance(value, kind):
        raise TypeError(f"[{who}] needs a {kind.__name__}, got {type(value).__name__}")
    return value
