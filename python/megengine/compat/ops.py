# SPDX-License-Identifier: Apache-2.0
"""The operators as objects, and streams of random numbers."""

from .. import operators as _builtin
from ..operators import *  # noqa: F403
from ..operators.creation import delete_rng_handle, get_rng_handle_compnode, new_rng_handle  # noqa: F401
from ..random import get_rng_state
from ..random import seed as set_global_rng_seed  # noqa: F401

__getattr__ = _builtin.__getattr__
# Single operators are not compiled: a trace fuses the operators that it records.
jit_supported = False


def set_jit_enabled(option: bool) -> bool:
    """No effect, because there is nothing to switch; returns False as the previous setting."""
    return False


def get_global_rng_seed() -> int:
    """The seed of the global random numbers."""
    return get_rng_state()["seed"]
