# SPDX-License-Identifier: Apache-2.0
"""Base of the transforms."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any


class Transform(ABC):
    """Changes samples: derive from it and write ``apply``.

    Example:
        >>> class Doubled(Transform):
        ...     def apply(self, input: Any) -> Any:
        ...         return 2 * input
        >>> Doubled().apply_batch([1, 2])
        (2, 4)
    """

    def apply_batch(self, inputs: Sequence) -> tuple:
        """Change each sample of a list."""
        return tuple(self.apply(sample) for sample in inputs)

    @abstractmethod
    def apply(self, input: Any) -> Any:
        """Change one sample."""

    def __repr__(self) -> str:
        return type(self).__name__


class PseudoTransform(Transform):
    """Changes nothing.

    Example:
        >>> PseudoTransform().apply(5)
        5
    """

    def apply(self, input: Any) -> Any:
        return input
