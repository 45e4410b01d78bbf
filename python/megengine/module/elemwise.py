# SPDX-License-Identifier: Apache-2.0
"""An elementwise function as a module."""

from ..core.ops.elemwise_modes import mode_of
from ..functional.elemwise import _elwise
from ..tensor import Tensor
from .module import Module


class Elemwise(Module):
    """An elementwise function by its name, to be quantised.

    Args:
        method: mode of ``core.ops.builtin.Elemwise``, in any case, for example ``"add"`` or
            ``"fuse_add_relu"``.
    Raises:
        RuntimeError: there is no such mode.
    Example:
        >>> M.Elemwise("add")(Tensor([1.0]), Tensor([2.0]))
        Tensor([3.], device=xpux:0)
    """

    def __init__(self, method: str, **kwargs):
        super().__init__(**kwargs)
        mode_of(method)  # raises for a name that is not a mode
        self.method = method

    def forward(self, *inps: Tensor) -> Tensor:
        return _elwise(*inps, mode=self.method)
