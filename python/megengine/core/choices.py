# SPDX-License-Identifier: Apache-2.0
"""Parameters of operators whose values have names."""

from enum import Flag, StrEnum


class Choice(StrEnum):
    """A value of a parameter that has names: equal to its name, made of it in any case."""

    @classmethod
    def _missing_(cls, value):
        return cls.__members__.get(value.upper()) if isinstance(value, str) else None

    __str__ = __repr__ = lambda self: f"{type(self).__qualname__}.{self.name}"


def choice(name: str, members: str) -> type[Choice]:
    """The class of such values.

    Args:
        name: of the class.
        members: their names, with spaces between them.
    """
    return Choice(name, [(member, member) for member in members.split()])


class Strategy(Flag):
    """How the algorithm of an operator is chosen."""

    HEURISTIC = 1
    PROFILE = 2
    REPRODUCIBLE = 4
    OPTIMIZED = 8
