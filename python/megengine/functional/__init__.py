# SPDX-License-Identifier: Apache-2.0
"""Functions of tensors. Losses are in ``functional.loss`` and ``functional.nn``, image functions
in ``functional.vision``, accuracy in ``functional.metric``.
"""

from ..core.not_available import not_available
from . import (  # noqa: F401
    debug_param,
    elemwise,
    inplace,
    loss,
    math,
    metric,
    nn,
    tensor,
    utils,
    vision,
)
from .einsum import einsum  # noqa: F401
from .elemwise import *  # noqa: F403
from .math import *  # noqa: F403
from .nn import *  # noqa: F403
from .tensor import *  # noqa: F403

_NOT_AVAILABLE = (
    "deformable_psroi_pooling",
    "multi_head_attention",
    "svd",
    "polar",
    "complex",
    "real",
    "imag",
    "distributed",
    "external",
    "quantized",
)


def __getattr__(name: str):
    return not_available(__name__, name, _NOT_AVAILABLE)
