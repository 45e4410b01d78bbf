# SPDX-License-Identifier: Apache-2.0
"""Operators on each element: arithmetic, conversions, copies, fake quantisation."""

from typing import Any

from .. import _mge
from ..core.ops.elemwise_modes import FUNCTIONS, elementwise
from ..functional import fake_quantization, inplace, math, quantised_elemwise, tensor, utils
from ..tensor import Tensor
from .opdef import OpDef, choice

_ops = _mge.ops


class Elemwise(OpDef):
    """An elementwise function, named by ``mode``; the inputs are broadcast.

    Example:
        >>> Elemwise("fuse_mul_add3")(Tensor(2.0), Tensor(3.0), Tensor(4.0))
        Tensor(10.0, device=xpux:0)
    """

    Mode = choice("Mode", " ".join(sorted(FUNCTIONS)))
    mode: str = Mode.RELU

    def __call__(self, *inputs: Tensor) -> Tensor:
        return elementwise(self.mode.name, *inputs)

    def __repr__(self) -> str:
        return self.mode.name


class ElemwiseMultiType(OpDef):
    """An elementwise function of quantised Tensors, or of others with the result's dtype given."""

    mode: str = "FUSE_MUL_ADD3_INT16x32x32x32"
    dtype: Any = None

    def __call__(self, *inputs: Tensor) -> Tensor:
        mode = str(self.mode).upper()
        if mode in FUNCTIONS:
            return FUNCTIONS[mode](*inputs).astype(self.dtype)
        return quantised_elemwise._elemwise_multi_type(*inputs, mode=mode, dtype=self.dtype)


class TypeCvt(OpDef):
    """A conversion to another dtype, quantised ones too."""

    dtype: Any = None

    def __call__(self, x: Tensor) -> Tensor:
        return x.astype(self.dtype)


class Identity(OpDef):
    """The input itself."""

    def __call__(self, x: Tensor) -> Tensor:
        return _ops.copy(x)


class FastpathCopy(Identity):
    """The input itself."""


class Copy(OpDef):
    """A copy of a Tensor.

    ``comp_node`` is the target device; None: the Tensor's.

    Example:
        >>> Copy()(Tensor([1.0]))
        Tensor([1.], device=xpux:0)
    """

    comp_node: str | None = None

    def __call__(self, x: Tensor) -> Tensor:
        return tensor.copy(x, self.comp_node)


class Borrow(Copy):
    """The same; memory is shared where the device allows it."""


class InplaceAdd(OpDef):
    """``x * alpha + delta * beta``, written into ``x``."""

    def __call__(self, x: Tensor, delta: Tensor, alpha: Tensor, beta: Tensor) -> Tensor:
        return inplace._inplace_add_(x, delta, alpha, beta)


class AssertEqual(OpDef):
    """The second input, after a check that it is the first within ``maxerr``."""

    maxerr: float = 1e-4
    verbose: bool = False

    def __call__(self, expect: Tensor, actual: Tensor) -> Tensor:
        return utils._assert_equal(expect, actual, maxerr=self.maxerr, verbose=self.verbose)


class CheckNonFinite(OpDef):
    """The inputs times ``scale``, and whether any number in them is infinite or NaN, as int32."""

    scale: float = 1.0

    def __call__(self, *inputs: Tensor) -> tuple[Tensor, ...]:
        scaled = tuple(x * self.scale for x in inputs)
        return *scaled, math._check_non_finite(list(inputs))


class FakeQuant(OpDef):
    """Values on the steps ``qmin`` to ``qmax`` of a scale and a zero point, the other inputs."""

    qmin: int = -(2**31)
    qmax: int = 2**31 - 1

    def __call__(self, x: Tensor, scale: Tensor, zero_point: Tensor) -> Tensor:
        return _ops.fake_quantize(x, scale, zero_point, lower=self.qmin, upper=self.qmax)


class TQT(OpDef):
    """The same with a scale that is learned: the second input is its logarithm of base 2."""

    qmin: int = -(2**31)
    qmax: int = 2**31 - 1

    def __call__(self, x: Tensor, log_scale: Tensor) -> Tensor:
        return fake_quantization.tqt_forward(self.qmin, self.qmax, x, log_scale)


class LSQ(OpDef):
    """TQT with a learned scale, its zero point, and a factor of its gradient."""

    qmin: int = -(2**31)
    qmax: int = 2**31 - 1

    def __call__(self, x: Tensor, scale: Tensor, zero_point: Tensor, grad_scale: Tensor) -> Tensor:
        return fake_quantization.lsq_forward(self.qmin, self.qmax, x, scale, zero_point, grad_scale)
