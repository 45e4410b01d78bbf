# SPDX-License-Identifier: Apache-2.0
"""The names that MegEngine has in its extension module: operators, ``apply``, devices, graphs."""

from ..core.input_check import TensorSanityCheckImpl  # noqa: F401
from ..operators.opdef import OpDef  # noqa: F401
from .common import *  # noqa: F403
from .graph import *  # noqa: F403
from .imperative import make_backward_graph  # noqa: F401
from .services import AtomicUint64, Logger  # noqa: F401
