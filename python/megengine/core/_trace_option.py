# SPDX-License-Identifier: Apache-2.0
"""Whether shapes are Tensors, under the names that MegEngine has for that."""

from .tracing_state import state


def use_symbolic_shape() -> bool:
    """Whether ``x.shape`` is a Tensor, or a VarNode, that follows the inputs, on this thread."""
    return state.symbolic_shape


def set_symbolic_shape(option: bool) -> bool:
    """Say whether ``x.shape`` is a Tensor, or a VarNode, that follows the inputs, on this thread.

    Args:
        option: True: a Tensor, False: a tuple.
    Returns:
        The previous setting.
    Example:
        >>> set_symbolic_shape(True)
        False
        >>> set_symbolic_shape(False)
        True
    """
    before, state.symbolic_shape = state.symbolic_shape, bool(option)
    return before


def use_xla_backend() -> bool:
    """Whether XLA compiles traces: always False.

    Example:
        >>> use_xla_backend()
        False
    """
    return False
