# SPDX-License-Identifier: Apache-2.0
"""Operators that make Tensors: filled ones, and random numbers.

``handle`` names a separate random number stream, see ``new_rng_handle``; 0 is the shared one.
``seed`` is the stream's initial seed and has no effect here.
"""

import itertools
import math
from typing import Any

import numpy as np

from .. import _mge, random
from ..functional import creation
from ..random import rng
from ..tensor import Tensor
from .opdef import OpDef

_ops = _mge.ops
_streams: dict[int, random.RNG] = {}
_next_handle = itertools.count(1)


def new_rng_handle(device: str, seed: int) -> int:
    """Begin a stream of random numbers.

    Args:
        device: device of the numbers.
        seed: equal seeds give equal numbers.
    Returns:
        A ``handle`` for the operators.
    """
    handle = next(_next_handle)
    _streams[handle] = random.RNG(seed, str(device))
    return handle


def delete_rng_handle(handle: int) -> None:
    """Delete a random number stream; unknown handles are ignored."""
    _streams.pop(handle, None)


def get_rng_handle_compnode(handle: int):
    """The device of a random number stream."""
    return _stream(handle)._stream.device


def _stream(handle: int):
    if handle and handle not in _streams:
        raise RuntimeError(f"[random] there is no stream with the handle {handle}")
    return _streams[handle] if handle else random


def _shape(size: Tensor) -> tuple[int, ...]:
    return tuple(size.numpy().reshape(-1).tolist())


class Fill(OpDef):
    """A Tensor of the shape that the input is, full of ``value``."""

    value: float = 0.0
    dtype: Any = None
    comp_node: str | None = None

    def __call__(self, shape: Tensor) -> Tensor:
        return creation.full(shape, self.value, dtype=self.dtype, device=self.comp_node)


class FillLike(OpDef):
    """A Tensor like the input, full of ``value``."""

    value: float = 0.0
    comp_node: str | None = None

    def __call__(self, x: Tensor) -> Tensor:
        return _ops.full_like(x, value=self.value)


class Eye(OpDef):
    """Ones on the ``k``-th diagonal of a matrix whose shape is the input."""

    k: int = 0
    dtype: Any = np.dtype("float32")
    comp_node: str | None = None

    def __call__(self, shape: Tensor) -> Tensor:
        sizes = _shape(shape)
        if self.k == 0:
            return creation.eye(*sizes, dtype=self.dtype, device=self.comp_node)
        rows, columns = (
            creation.arange(size, dtype="int32", device=self.comp_node)
            for size in (sizes[0], sizes[-1])
        )
        return (rows[:, None] + self.k == columns).astype(self.dtype)


class Linspace(OpDef):
    """Numbers at equal distances: the inputs are the first, the last, and how many."""

    endpoint: bool = True
    comp_node: str | None = None

    def __call__(self, start: Tensor, stop: Tensor, num: Tensor) -> Tensor:
        if not self.endpoint:
            stop = stop - (stop - start) / num
        return creation.linspace(start, stop, num, device=self.comp_node)


class UniformRNG(OpDef):
    """Uniform numbers between 0 and 1; the input is the shape.

    Example:
        >>> UniformRNG()(Tensor([2, 3], dtype="int32")).shape
        (2, 3)
    """

    seed: int = 0
    dtype: Any = np.dtype("float32")
    handle: int = 0

    def __call__(self, shape: Tensor) -> Tensor:
        return _stream(self.handle).uniform(size=_shape(shape)).astype(self.dtype)


class GaussianRNG(OpDef):
    """Numbers from a normal distribution; the input is the shape.

    Example:
        >>> GaussianRNG(mean=1.0, std=0.0)(Tensor([2], dtype="int32"))
        Tensor([1. 1.], device=xpux:0)
    """

    seed: int = 0
    mean: float = 0.0
    std: float = 1.0
    dtype: Any = np.dtype("float32")
    handle: int = 0

    def __call__(self, shape: Tensor) -> Tensor:
        numbers = _stream(self.handle).normal(self.mean, self.std, _shape(shape))
        return numbers.astype(self.dtype)


class GammaRNG(OpDef):
    """Numbers from gamma distributions; the inputs are the shapes and the scales of these."""

    seed: int = 0
    handle: int = 0

    def __call__(self, shape: Tensor, scale: Tensor) -> Tensor:
        return _stream(self.handle).gamma(shape, scale)


class BetaRNG(OpDef):
    """Numbers from beta distributions; the inputs are their two parameters."""

    seed: int = 0
    handle: int = 0

    def __call__(self, alpha: Tensor, beta: Tensor) -> Tensor:
        return _stream(self.handle).beta(alpha, beta)


class PoissonRNG(OpDef):
    """Numbers from Poisson distributions; the input is their means."""

    seed: int = 0
    handle: int = 0

    def __call__(self, lam: Tensor) -> Tensor:
        return _stream(self.handle).poisson(lam)


class ExponentialRNG(OpDef):
    """Numbers from exponential distributions; the input is their rates."""

    seed: int = 0
    handle: int = 0

    def __call__(self, rate: Tensor) -> Tensor:
        return _stream(self.handle).exponential(rate)


class MultinomialRNG(OpDef):
    """Indices drawn with the weights in the input's last axis."""

    seed: int = 0
    num_samples: int = 1
    replacement: bool = False
    handle: int = 0

    def __call__(self, weights: Tensor) -> Tensor:
        return _stream(self.handle).multinomial(weights, self.num_samples, self.replacement)


class PermutationRNG(OpDef):
    """The numbers 0, 1, … in a random order, in the shape that the input is."""

    seed: int = 0
    dtype: Any = np.dtype("int32")
    handle: int = 0

    def __call__(self, shape: Tensor) -> Tensor:
        sizes = tuple(int(size) for size in shape.reshape(-1))
        return _stream(self.handle).permutation(math.prod(sizes), dtype=self.dtype).reshape(sizes)


class ShuffleRNG(OpDef):
    """The rows of the input in a random order, and where each was."""

    seed: int = 0
    handle: int = 0

    def __call__(self, x: Tensor) -> tuple[Tensor, Tensor]:
        order = _stream(self.handle).permutation(x.shape[0])
        return _ops.take(x, order, axes=[0]), order


class Dropout(OpDef):
    """The input with a share of its elements set to 0 and the others scaled, and the mask."""

    drop_prob: float = 0.0
    seed: int = 0
    handle: int = 0

    def __call__(self, x: Tensor) -> tuple[Tensor, ...]:
        if not self.handle:
            return _ops.dropout(x, rng.next_state(x.device), probability=self.drop_prob)
        state = _stream(self.handle)._next_state()
        return _ops.dropout(x, state, probability=self.drop_prob)
