# SPDX-License-Identifier: Apache-2.0
"""Checks that operators do not change their inputs."""

from .. import _mge
from .profiling_state import state


class TensorSanityCheckImpl:
    """The implementation of ``utils.tensor_sanity_check``."""

    def enable(self) -> None:
        """Begin.

        Raises:
            RuntimeError: a profiler runs; only one of the two can observe operators.
        """
        if state.calls is not None:
            raise RuntimeError("[TensorSanityCheck] a profiler runs: stop it first")
        _mge.start_input_check()

    def disable(self) -> None:
        """End.

        Raises:
            RuntimeError: operators have changed their inputs.
        """
        found = _mge.stop_input_check()
        if found:
            raise RuntimeError("[TensorSanityCheck] " + "; ".join(found))
