# SPDX-License-Identifier: Apache-2.0
"""Values that the library cannot be given."""

from __future__ import annotations

from ctypes import Structure, c_int

TYPE_CHECKING = False
if TYPE_CHECKING:
    from enum import IntEnum
    from typing import Any, TypeVar

    Value = TypeVar("Value")


def expect(kind: type[Value], value: Value, who: str) -> Value:
    """Return the value.

    Raises:
        TypeError: it is of another type.
    """
    if not isinstance(value, kind):
        raise TypeError(f"[{who}] needs a {kind.__name__}, got {type(value).__name__}")
    return value


def _check_fits(value: Any, what: str) -> None:
    """Refuse a number that no C integer can hold: ctypes would drop its upper bits.

    Raises:
        RuntimeError: it does not fit into an int.
    """
    if isinstance(value, int) and c_int(value).value != value:
        raise RuntimeError(f"{what} does not fit into an int of C: {value}")


class Int(c_int):
    """An argument that is an int."""

    @classmethod
    def from_param(cls, value: Any) -> Any:
        _check_fits(value, "the number")
        return c_int.from_param(value)


def named(kind: type[IntEnum], number: int) -> int:
    """The member of an enum, or the number itself without such a member."""
    return kind(number) if number in kind._value2member_map_ else number


class Struct(Structure):
    """A struct that accepts no new attributes and whose ints are read back as they were set."""

    def __setattr__(self, name: str, value: Any) -> None:
        if not hasattr(type(self), name):
            public = (known for known in vars(type(self)) if not known.startswith("_"))
            raise AttributeError(
                f"{type(self).__name__} has no attribute {name!r}; it has {', '.join(public)}"
            )
        if isinstance(value, int) and (name, c_int) in self._fields_:
            _check_fits(value, name)
        super().__setattr__(name, value)
