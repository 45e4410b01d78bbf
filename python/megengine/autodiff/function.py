# SPDX-License-Identifier: Apache-2.0
"""Functions with a gradient written by hand."""

import warnings
from functools import partial
from typing import Any

from .. import _mge
from ..core.counted import counted
from ..tensor import Tensor


class Function:
    """A function with a hand-written gradient. Make one object per call.

    In a function that ``partial_trace`` or ``trace(without_host=True)`` records, and in the
    functions of ``F.cond``, ``F.while_loop`` and ``F.scan``, the gradient counts only if the call
    is recorded by a ``GradManager`` in that function. Otherwise it has no effect, with a warning.

    Attributes:
        needs_input_grad: during ``backward``, whether the gradient of each input is needed; values
            for the others are ignored.
    Example:
        >>> class Scaled(Function):
        ...     def forward(self, x):
        ...         return x * 3
        ...     def backward(self, dy):
        ...         return dy * 5
        >>> Scaled()(Tensor([1.0]))
        Tensor([3.], device=xpux:0)
    """

    needs_input_grad: tuple[bool, ...] = ()

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Compute the result: a Tensor, or a tuple or list, which may also contain other values.

        Raises:
            NotImplementedError: the class does not have one.
        """
        raise NotImplementedError(f"[{type(self).__name__}] forward is not defined")

    def backward(self, *output_grads: Any, **kwargs: Any) -> Any:
        """Compute the gradients of the inputs from those of the results (None for a missing
        gradient, and for a value that is not a Tensor).

        Returns:
            One per input; None for an input without gradient. Extra Nones are ignored, because
            ``forward`` may omit its last arguments.
        Raises:
            NotImplementedError: the class does not define it.
            RuntimeError: there are too few gradients, or an extra one is a Tensor.
        """
        raise NotImplementedError(f"[{type(self).__name__}] backward is not defined")

    def __call__(self, *args: Any) -> Any:
        for arg in args:
            if not isinstance(arg, Tensor):
                raise TypeError(
                    f"op [{type(self).__name__}] expect type Tensor as inputs,"
                    f" got {type(arg).__name__}"
                )
        made, is_recorded = [], any(map(_mge.is_recorded, args))
        if not is_recorded and _mge.is_capturing():
            warnings.warn(
                f"[{type(self).__name__}] the call is recorded as a graph, and backward is not part"
                " of it: gradients are those of the operators of forward",
                stacklevel=2,
            )

        def forward(*inputs):
            made.append(_each_of_its_own(self.forward(*inputs)))
            return self._tensors_of(made[0], is_recorded)

        # The Tensors that forward made become those that are recorded.
        _mge.call_function(forward, partial(self._backward_once, len(args)), args)
        return made[0]

    def _tensors_of(self, out, is_recorded: bool) -> tuple[Tensor, ...]:
        if not isinstance(out, (Tensor, tuple, list)):
            if is_recorded:
                raise TypeError(
                    f"[{type(self).__name__}] forward gave a {type(out).__name__}, which has no"
                    " gradient; it may give a Tensor, a tuple or a list"
                )
            out = ()
        results = [out] if isinstance(out, Tensor) else out
        self._are_tensors = [isinstance(value, Tensor) for value in results]
        return tuple(value for value in results if isinstance(value, Tensor))

    def _backward_once(self, inputs: int, needed: tuple[bool, ...], *grads):
        self.needs_input_grad = needed
        each = iter(grads)
        try:
            found = self.backward(*(next(each) if is_one else None for is_one in self._are_tensors))
        finally:
            del self.needs_input_grad
        found = tuple(found) if isinstance(found, (tuple, list)) else (found,)
        if len(found) < inputs or any(grad is not None for grad in found[inputs:]):
            raise RuntimeError(
                f"[{type(self).__name__}] backward gave {counted(len(found), 'gradient')} for"
                f" {counted(inputs, 'input')}"
            )
        return found[:inputs]


def _each_of_its_own(out):
    """The results of ``forward``, where repetitions of a Tensor are separate Tensors."""
    tensors = [v for v in out if isinstance(v, Tensor)] if isinstance(out, (tuple, list)) else []
    if len(tensors) == len(set(map(id, tensors))):
        return out
    seen, each = set(), []
    for value in out:
        again = isinstance(value, Tensor) and id(value) in seen
        seen.add(id(value))
        each.append(value.detach() if again else value)
    return out._make(each) if hasattr(out, "_make") else type(out)(each)
