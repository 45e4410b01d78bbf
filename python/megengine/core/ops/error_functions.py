# SPDX-License-Identifier: Apache-2.0
"""Complement and inverses of the error function, to float32's accuracy, written in operators."""

import math
from collections.abc import Callable, Sequence
from typing import Any

from ... import _mge
from ..annotations import Tensor

_ops = _mge.ops
# A function of Tensors.
Function = Callable[..., Tensor]

# With w = -log((1 - z) (1 + z)), both by Chebyshev fits with a relative error below 2e-7:
# erfinv(z) / z as a polynomial of w, for w < 5
_NEAR = (
    (0.886226921, 0.232013821, 0.0115486062, -0.00233415093, -0.00012766682)
    + (4.4688164e-05, 3.93717887e-06, -1.96664764e-06, 2.19920926e-07, -8.73932645e-09)
)  # fmt: skip
# |erfinv(z)| / sqrt(w) as a polynomial of 1 / sqrt(w), for w >= 5
_FAR = (
    (1.00047218, -0.033928406, -1.11492788, 3.85714653, -8.54565271)
    + (14.1910412, -14.2157081, 5.97290338)
)  # fmt: skip
_LIMIT = 5.0


def _polynomial(x: Tensor, coefficients: Sequence[float]) -> Any:
    y: Any = coefficients[-1]
    for coefficient in reversed(coefficients[:-1]):
        y = x * y + coefficient
    return y


def _in_float32(function: Function) -> Function:
    """A function whose steps are computed in float32 for every floating dtype."""

    def computed(x: Tensor) -> Tensor:
        is_half = str(x.dtype) in ("float16", "bfloat16")
        return function(x.astype("float32")).astype(x.dtype) if is_half else function(x)

    return computed


def _inverse(z: Tensor, product: Any) -> Tensor:
    """The y with erf(y) = z, where ``product`` is (1 - z) (1 + z)."""
    w = -_ops.log(product)
    is_near = w < _LIMIT
    near = z * _polynomial(_ops.where(is_near, w, _LIMIT), _NEAR)
    root = _ops.sqrt(_ops.where(is_near, _LIMIT, w))
    far = root * _polynomial(1.0 / root, _FAR)
    return _ops.where(is_near, near, _ops.sign(z) * far)


@_in_float32
def erfinv(x: Tensor) -> Tensor:
    return _inverse(x, (1.0 - x) * (1.0 + x))


@_in_float32
def erfcinv(x: Tensor) -> Tensor:
    return _inverse(1.0 - x, x * (2.0 - x))


@_in_float32
def erfc(x: Tensor) -> Tensor:
    """1 - erf(x), which cancels for large x; there 2 gelu(t) / t, t = -x sqrt(2)."""
    is_near = x < 0.5
    t = -math.sqrt(2.0) * _ops.where(is_near, 1.0, x)
    return _ops.where(is_near, 1.0 - _ops.erf(x), 2.0 * _ops.gelu(t) / t)
