# SPDX-License-Identifier: Apache-2.0
"""Watching whether operators change what they read."""

from .. import _mge
from .profiling_state import state


class TensorSanityCheckImpl:
    """What ``utils.tensor_sanity_check`` is made of."""

    def enable(self) -> None:
        """Begin.

        Raises:
            RuntimeError: a profiler runs; only one of the two is told of operators.
        """
        if state.calls is not None:
            raise RuntimeError("[TensorSanityCheck] a profiler runs: stop it first")
        _mge.start_input_check()

    def disable(self) -> None:
        """End.

        Raises:
            RuntimeError: operators have changed what they read.
        """
        found = _mge.stop_input_check()
        if found:
            raise RuntimeError("[TensorSanityCheck] " + "; ".join(found))
