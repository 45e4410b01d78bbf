# SPDX-License-Identifier: Apache-2.0
"""What operators and parameters of a recorded function are called: after the modules that ran."""

from ..tensor import Tensor


class RecordedNames:
    """The modules of a recording, from which operator on they ran, and the names of their Tensors.

    Args:
        trace: the ``_mge.Trace`` that records.
        has_constants: it keeps Tensors from outside as constants; else nobody may hold them, so
            that updates in place stay that.
    """

    def __init__(self, trace, has_constants: bool):
        self._trace = trace
        self._has_constants = has_constants
        self.scopes: list[tuple[int, str]] = []
        self.tensors: list[tuple[Tensor, str]] = []

    def enter(self, path: str) -> None:
        """From now on operators belong to the module of this path."""
        self.scopes.append((self._trace.step_count, path))

    def add(self, tensors, path: str) -> None:
        """Take note of the Tensors that a module has.

        Args:
            tensors: as (name, Tensor).
            path: of the module.
        """
        for name, tensor in tensors if self._has_constants else ():
            own = ".".join(part for part in (path, tensor.name or name) if part)
            self.tensors.append((Tensor(tensor), own))
