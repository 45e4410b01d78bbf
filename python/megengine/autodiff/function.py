# SPDX-License-Identifier: Apache-2.0
"""Functions with a gradient written by hand."""

from .. import _mge
from ..tensor import Tensor


class Function:
    """A function whose gradient is written by hand. Make one object per call.

    Example:
        >>> class Scaled(Function):
        ...     def forward(self, x):
        ...         return x * 3
        ...     def backward(self, dy):
        ...         return dy * 5
        >>> Scaled()(Tensor([1.0]))
        Tensor([3.], device=xpux:0)
    """

    def forward(self, *args):
        """Compute the result: a Tensor or a tuple of Tensors.

        Raises:
            NotImplementedError: the class does not have one.
        """
        raise NotImplementedError(f"[{type(self).__name__}] forward is not defined")

    def backward(self, *output_grads):
        """Compute the inputs' gradients from those of the results (None where there is none).

        Returns:
            One per input; None for an input without gradient.
        Raises:
            NotImplementedError: the class does not have one.
        """
        raise NotImplementedError(f"[{type(self).__name__}] backward is not defined")

    def __call__(self, *args):
        for arg in args:
            if not isinstance(arg, Tensor):
                raise TypeError(
                    f"op [{type(self).__name__}] expect type Tensor as inputs,"
                    f" got {type(arg).__name__}"
                )
        return _mge.call_function(self._forward_once, self._backward_once, args)

    def _forward_once(self, *args):
        out = self.forward(*args)
        self._has_many = isinstance(out, (tuple, list))
        return tuple(out) if self._has_many else out

    def _backward_once(self, *grads):
        found = self.backward(*grads)
        return tuple(found) if isinstance(found, (tuple, list)) else (found,)
