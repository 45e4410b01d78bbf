# SPDX-License-Identifier: Apache-2.0
"""Operators that a traced module applies directly, not by a function: what ``Apply`` holds.

They have MegEngine's names, by which its files hold them too.
"""

from .. import _mge, random
from ..tensor import Tensor


class OpDef:
    """An operator with its parameters."""

    def __call__(self, *inputs: Tensor) -> Tensor:
        """What the operator gives."""
        raise NotImplementedError

    def __eq__(self, other) -> bool:
        return type(self) is type(other) and vars(self) == vars(other)

    def __hash__(self) -> int:
        return hash(type(self))

    def __repr__(self) -> str:
        return type(self).__name__


class GetVarShape(OpDef):
    """The shape of a Tensor as an int32 Tensor.

    Example:
        >>> GetVarShape()(Tensor([[1.0, 2.0]]))
        Tensor([1 2], dtype=int32, device=xpux:0)
    """

    def __call__(self, *inputs: Tensor) -> Tensor:
        """The shape of the first input, or what the inputs' shapes broadcast to."""
        if len(inputs) != 1:
            raise ValueError(f"[GetVarShape] one input is expected, got {len(inputs)}")
        return _mge.ops.shape_of(inputs[0])


class Copy(OpDef):
    """A copy of a Tensor.

    Args:
        device: where it goes; None: where the Tensor is.
    Example:
        >>> Copy()(Tensor([1.0]))
        Tensor([1.], device=xpux:0)
    """

    def __init__(self, device: str | None = None):
        self.device = device

    def __call__(self, *inputs: Tensor) -> Tensor:
        """The copy."""
        from ..functional.tensor import copy

        return copy(inputs[0], self.device)


class GaussianRNG(OpDef):
    """Numbers from a normal distribution, from the stream that all share.

    Args:
        mean: of the distribution.
        std: of the distribution.
    Example:
        >>> GaussianRNG(mean=1.0, std=0.0)(Tensor([2], dtype="int32"))
        Tensor([1. 1.], device=xpux:0)
    """

    def __init__(self, mean: float = 0.0, std: float = 1.0):
        self.mean, self.std = mean, std

    def __call__(self, *inputs: Tensor) -> Tensor:
        """As many as the first input, a shape, says."""
        return random.normal(self.mean, self.std, tuple(inputs[0].numpy().tolist()))


class UniformRNG(OpDef):
    """Numbers between 0 and 1, from the stream that all share.

    Example:
        >>> UniformRNG()(Tensor([2, 3], dtype="int32")).shape
        (2, 3)
    """

    def __call__(self, *inputs: Tensor) -> Tensor:
        """As many as the first input, a shape, says."""
        return random.uniform(size=tuple(inputs[0].numpy().tolist()))


OPDEFS: dict[str, type[OpDef]] = {
    kind.__name__: kind for kind in (GetVarShape, Copy, GaussianRNG, UniformRNG)
}
