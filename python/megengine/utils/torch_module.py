# SPDX-License-Identifier: Apache-2.0
"""A PyTorch Module as a Module: PyTorch computes, on the memory of our Tensors."""

from typing import TYPE_CHECKING

from .. import _mge
from ..autodiff import Function
from ..core.tracing_state import state
from ..module import Module
from ..tensor import Parameter, Tensor
from .dlpack import from_dlpack

if TYPE_CHECKING:
    from typing_extensions import Self


def _torch():
    try:
        import torch  # is optional
    except ImportError as error:
        raise ImportError("[torch_convert] PyTorch is not installed: pip install torch") from error
    return torch


def _to_torch(tensor: Tensor):
    return _torch().from_dlpack(tensor)


def _from_torch(tensor) -> Tensor:
    """A Tensor with the value; PyTorch may still need the memory, so ours is not written there."""
    tensor = tensor.detach().resolve_neg()
    if tensor.device.type != "cpu":
        raise RuntimeError(f"[TorchModule] the result is on {tensor.device}; move it to the CPU")
    torch = _torch()
    if tensor.dtype in (torch.float64, torch.int64):
        tensor = tensor.to(torch.float32 if tensor.dtype == torch.float64 else torch.int32)
    return Tensor(from_dlpack(tensor))


class _Call(Function):
    """One call: PyTorch keeps the values that its gradient needs."""

    def __init__(self, module, arguments: "_Arguments", is_recorded: bool):
        self._module, self._arguments, self._is_recorded = module, arguments, is_recorded

    def forward(self, *tensors):
        torch = _torch()
        inputs = [_to_torch(t) for t in tensors[: len(self._arguments.places)]]
        if any(getattr(part, "inplace", False) for part in self._module.modules()):
            inputs = [x.clone() for x in inputs]
        with torch.set_grad_enabled(self._is_recorded):
            for x in inputs:
                x.requires_grad_(self._is_recorded and x.is_floating_point())
            self._inputs = [*inputs, *self._module.parameters()]
            # In-place work is allowed on results of an operator, not on its inputs.
            found = self._module(*self._arguments.filled([x.view_as(x) for x in inputs]))
        self._is_single = isinstance(found, torch.Tensor)
        self._outputs = [found] if self._is_single else list(found)
        if not all(isinstance(y, torch.Tensor) for y in self._outputs):
            raise TypeError("[TorchModule] the module has to give a tensor, or a tuple of tensors")
        made = [_from_torch(y) for y in self._outputs]
        return made[0] if self._is_single else tuple(made)

    def backward(self, *grads):
        torch = _torch()
        pairs = [
            (y, _to_torch(dy))
            for y, dy in zip(self._outputs, grads, strict=True)
            if dy is not None and y.requires_grad
        ]
        wanted = [k for k, x in enumerate(self._inputs) if x.requires_grad]
        found = [None] * len(self._inputs)
        if not pairs or not wanted:
            return found
        made = torch.autograd.grad(
            [y for y, _ in pairs],
            [self._inputs[k] for k in wanted],
            [dy.to(y.dtype) for y, dy in pairs],
            retain_graph=True,
            allow_unused=True,
        )
        for k, grad in zip(wanted, made, strict=True):
            found[k] = None if grad is None else _from_torch(grad)
        return found


class _Arguments:
    """The arguments of a call, with the places of the Tensors among them."""

    def __init__(self, values: tuple):
        self._values = list(values)
        self.places = [k for k, value in enumerate(values) if isinstance(value, Tensor)]
        self.tensors = [values[k] for k in self.places]

    def filled(self, tensors: list) -> list:
        values = list(self._values)
        for place, tensor in zip(self.places, tensors, strict=True):
            values[place] = tensor
        return values


class _Parts(Module):
    """Parameters and buffers by the names that they have in PyTorch."""

    def forward(self, inputs):
        raise NotImplementedError("[TorchModule] parts have no forward")

    def hold(self, name: str, value: Tensor) -> None:
        first, _, rest = name.partition(".")
        if not rest:
            setattr(self, first, value)
            return
        if first not in vars(self):
            setattr(self, first, _Parts())
        getattr(self, first).hold(rest, value)


class TorchModule(Module):
    """A PyTorch Module as a Module.

    It runs in PyTorch, on the same memory: Tensors go in and out without copies, its parameters are
    Parameters that our optimizers change, and gradients go through it both ways. It cannot be
    traced or dumped: ``convert_module`` makes Modules that can.

    Args:
        module: a ``torch.nn.Module`` on the CPU. ``train`` and ``eval`` are passed on to it.
    Raises:
        ImportError: PyTorch is not installed.
        BufferError: a parameter is of a dtype that Tensors cannot have.
    Example:
        >>> import torch  # doctest: +SKIP
        >>> TorchModule(torch.nn.Linear(2, 3))(F.ones((1, 2))).shape  # doctest: +SKIP
        (1, 3)
    """

    def __init__(self, module):
        super().__init__()
        _torch()
        # In a tuple, so that it does not become a part of this Module.
        self._held = (module,)
        self.torch = _Parts()
        self._names = []
        for name, value in module.named_parameters():
            self.torch.hold(name, Parameter(value.detach()))
            self._names.append(f"torch.{name}")
        for name, value in module.named_buffers():
            if value.is_floating_point():  # others count batches and the like
                self.torch.hold(name, from_dlpack(value))
        super().train(module.training)

    def train(self, mode: bool = True, recursive: bool = True) -> "Self":
        """Pass the mode on to PyTorch."""
        super().train(mode, recursive)
        self._held[0].train(mode)
        return self

    def forward(self, *inputs):
        """Call the PyTorch module with Tensors and other values.

        Raises:
            RuntimeError: a trace records.
            TypeError: its results are not all tensors.
        """
        if state.tracing:
            raise RuntimeError(
                "[TorchModule] what PyTorch computes cannot be traced; use exclude_from_trace, or"
                " convert_module"
            )
        arguments = _Arguments(inputs)
        named = dict(self.named_parameters())
        parameters = [named[name] for name in self._names]
        tensors = [*arguments.tensors, *parameters]
        is_recorded = any(map(_mge.is_recorded, tensors))
        return _Call(self._held[0], arguments, is_recorded)(*tensors)
