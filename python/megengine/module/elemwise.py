# SPDX-License-Identifier: Apache-2.0
"""An elementwise function as a module."""

from collections.abc import Callable

from .. import functional as F
from ..tensor import Tensor
from .module import Module


def _as_number(compare: Callable) -> Callable:
    """A comparison whose result is 1 or 0 in the dtype of its operands."""
    return lambda x, y: compare(x, y).astype(x.dtype)


_METHODS = {
    "ABS": F.abs,
    "ACOS": F.acos,
    "ADD": F.add,
    "ASIN": F.asin,
    "ATAN2": F.atan2,
    "CEIL": F.ceil,
    "COS": F.cos,
    "ERF": F.erf,
    "EXP": F.exp,
    "EXPM1": F.expm1,
    "FLOOR": F.floor,
    "FLOOR_DIV": F.floor_div,
    "FUSE_ADD_RELU": lambda x, y: F.relu(x + y),
    "FUSE_ADD_SIGMOID": lambda x, y: F.sigmoid(x + y),
    "FUSE_ADD_TANH": lambda x, y: F.tanh(x + y),
    "FUSE_ADD_H_SWISH": lambda x, y: F.hswish(x + y),
    "FUSE_MUL_ADD3": lambda x, y, z: x * y + z,
    "FUSE_MUL_ADD4": lambda x, y, z, w: x * y + z * w,
    "GELU": F.gelu,
    "H_SWISH": F.hswish,
    "LEQ": _as_number(F.less_equal),
    "LOG": F.log,
    "LOG1P": F.log1p,
    "LT": _as_number(F.less),
    "EQ": _as_number(F.equal),
    "MAX": F.maximum,
    "MIN": F.minimum,
    "MOD": F.mod,
    "MUL": F.mul,
    "NEGATE": F.neg,
    "POW": F.pow,
    "RELU": F.relu,
    "ROUND": F.round,
    "SIGMOID": F.sigmoid,
    "SILU": F.silu,
    "SIN": F.sin,
    "SUB": F.sub,
    "TANH": F.tanh,
    "TRUE_DIV": F.div,
}


class Elemwise(Module):
    """An elementwise function by its name, to be quantised.

    Args:
        method: name in any case, for example ``"add"`` or ``"fuse_add_relu"``.
    Raises:
        ValueError: there is no such function.
    Example:
        >>> M.Elemwise("add")(Tensor([1.0]), Tensor([2.0]))
        Tensor([3.], device=xpux:0)
    """

    def __init__(self, method: str, **kwargs):
        super().__init__(**kwargs)
        if str(method).upper() not in _METHODS:
            raise ValueError(f"[Elemwise] method must be in {sorted(_METHODS)}, got {method!r}")
        self.method = method

    def forward(self, *inps: Tensor) -> Tensor:
        return _METHODS[str(self.method).upper()](*inps)
