# SPDX-License-Identifier: Apache-2.0
"""The base class of Tensor's operators, under MegEngine's names."""

import abc
from collections.abc import Callable

from ..functional.elemwise import _elwise  # noqa: F401
from ..functional.math import matmul as _matmul  # noqa: F401
from ..tensor import Tensor


def _elwise_apply(args, mode: str) -> Tensor:
    return _elwise(*args, mode=mode)


def _reduce(mode: str) -> Callable[..., Tensor]:
    """The method of Tensors that reduces: by ``"sum"``, ``"product"``, ``"mean"``, ``"min"``, …"""
    return getattr(Tensor, {"product": "prod"}.get(mode.lower(), mode.lower()))


class ArrayMethodMixin(abc.ABC):  # noqa: B024 - it has no derived classes
    """The common interface of Tensors and variables of graphs: their operators and methods."""


ArrayMethodMixin.register(Tensor)
