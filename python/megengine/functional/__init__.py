# SPDX-License-Identifier: Apache-2.0
"""Functions of tensors. Losses are in ``functional.loss`` and ``functional.nn``, image functions
in ``functional.vision``, accuracy in ``functional.metric``.
"""

from . import (  # noqa: F401
    debug_param,
    elemwise,
    inplace,
    loss,
    math,
    metric,
    nn,
    quantized,
    tensor,
    utils,
    vision,
)
from .control import cond, scan, while_loop  # noqa: F401
from .einsum import einsum  # noqa: F401
from .elemwise import *  # noqa: F403
from .math import *  # noqa: F403
from .metric import topk_accuracy  # noqa: F401
from .nn import *  # noqa: F403
from .tensor import *  # noqa: F403
