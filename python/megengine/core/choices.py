# SPDX-License-Identifier: Apache-2.0
"""Parameters of operators that are enums."""

from enum import Enum, Flag
from typing import Any


class Choice(str, Enum):
    """A named value of a parameter. It equals its name and is made from it, ignoring case."""

    @classmethod
    def _missing_(cls, value: object) -> Any:
        return cls.__members__.get(value.upper()) if isinstance(value, str) else None

    def __repr__(self) -> str:
        return f"{type(self).__qualname__}.{self.name}"

    __str__ = __repr__

    def __format__(self, format_spec: str) -> str:
        return str.__format__(self, format_spec)


def choice(name: str, members: str) -> Any:
    """The enum class of such a parameter, a ``type[Choice]``.

    Args:
        name: of the class.
        members: their names, with spaces between them.
    """
    made: Any = Choice
    return made(name, [(member, member) for member in members.split()])


class Strategy(Flag):
    """How the algorithm of an operator is chosen."""

    HEURISTIC = 1
    PROFILE = 2
    REPRODUCIBLE = 4
    OPTIMIZED = 8
