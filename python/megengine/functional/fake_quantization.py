# SPDX-License-Identifier: Apache-2.0
"""Quantisation and back, in floats, with gradients as if nothing were rounded."""

from ..autodiff import Function
from ..core.tensor.dtype import is_dtype_equal
from ..core.tensor.qparams import QParams, QuantMode, create_qparams
from ..tensor import Tensor
from .creation import zeros_like
from .elemwise import logical_and, maximum, minimum, round
from .math import sum
from .selection import where


class Round(Function):
    """Rounding, half away from zero, whose gradient is that of the identity.

    Example:
        >>> Round()(Tensor([0.5, 1.2]))
        Tensor([1. 1.], device=xpux:0)
    """

    def forward(self, x: Tensor) -> Tensor:
        return round(x)

    def backward(self, output_grads: Tensor) -> Tensor:
        return output_grads


class _Steps(Function):
    """``(clip(round(x / scale) + zero_point) - zero_point) * scale``, with a gradient to ``x``
    where the step is in range before it is clipped. Without a zero point that is 0."""

    def __init__(self, qmin: int, qmax: int):
        self._qmin, self._qmax = float(qmin), float(qmax)

    def forward(self, inp: Tensor, scale: Tensor, zero_point: Tensor | None = None) -> Tensor:
        step = round(inp / scale)
        return self._on_step(step if zero_point is None else step + zero_point, scale, zero_point)

    def _on_step(self, step: Tensor, scale: Tensor, zero_point: Tensor | None) -> Tensor:
        self._step = step
        # In this order NaN stays NaN.
        self._clipped = minimum(self._qmax, maximum(self._qmin, step))
        clipped = self._clipped if zero_point is None else self._clipped - zero_point
        return clipped * scale

    def backward(self, output_grads: Tensor):
        return _where_true(self._clipped == self._step, output_grads), None, None


class _LearnedSteps(_Steps):
    """``t = x / scale + zero_point`` rounded and clipped, with a gradient to the scale, too: of
    what rounding adds inside of the range, of the bound outside."""

    def __init__(self, qmin: int, qmax: int, by_rounded: bool, grad_scale: Tensor | None = None):
        super().__init__(qmin, qmax)
        # What is judged to be in range: t before it is rounded, or after.
        self._by_rounded, self._grad_scale = by_rounded, grad_scale

    def forward(self, inp: Tensor, scale: Tensor, zero_point: Tensor | None = None) -> Tensor:
        exact = inp / scale
        self._scale, self._exact = scale, exact if zero_point is None else exact + zero_point
        return self._on_step(round(self._exact), scale, zero_point)

    def backward(self, output_grads: Tensor):
        if self._by_rounded:
            is_inside = self._clipped == self._step
        else:
            is_inside = logical_and(self._exact >= self._qmin, self._exact <= self._qmax)
        steps = where(is_inside, self._step - self._exact, self._clipped)
        to_scale = sum(output_grads * steps)
        if self._grad_scale is not None:
            to_scale = to_scale * self._grad_scale
        to_scale = to_scale.reshape(self._scale.shape)
        return _where_true(is_inside, output_grads), to_scale, None


def _where_true(mask: Tensor, values: Tensor) -> Tensor:
    return where(mask, values, zeros_like(values))


def fake_quant_tensor(inp: Tensor, qparams: QParams) -> Tensor:
    """The nearest of the values that a quantised tensor can have.

    Args:
        inp: float32, any shape.
        qparams: scale, zero point and range; ``scale`` broadcasts with ``inp``.
    Returns:
        ``(clip(round(inp / scale) + zero_point) - zero_point) * scale``, of the shape of ``inp``.
        The gradient is that of the identity inside of the range and zero outside; scale and zero
        point have none. NaN stays NaN.
    Raises:
        TypeError: ``qparams`` has no scale, or no zero point in asymmetric mode.
        RuntimeError: ``inp`` is not float32.
    Example:
        >>> from megengine.quantization import create_qparams, fake_quant_tensor
        >>> qparams = create_qparams(dtype_meta="qint8", scale=Tensor(0.5))
        >>> fake_quant_tensor(Tensor([0.3, 99.0]), qparams)
        Tensor([ 0.5 63.5], device=xpux:0)
    """
    if not is_dtype_equal(inp.dtype, "float32"):
        raise RuntimeError(f"[fake_quant_tensor] takes float32, got {inp.dtype}")
    meta = qparams.dtype_meta
    has_zero = qparams.mode is not QuantMode.SYMMERTIC
    known = (qparams.scale, qparams.zero_point) if has_zero else (qparams.scale,)
    return _Steps(meta.qmin, meta.qmax)(inp, *known)


def tqt_forward(qmin: int, qmax: int, inp: Tensor, scale: Tensor) -> Tensor:
    """Fake quantisation by a step of ``2 ** scale`` with a gradient to ``scale``, as TQT has it.

    Args:
        qmin: smallest integer.
        qmax: largest integer.
        inp: float32, any shape.
        scale: float32, one element: the logarithm of the step to the base 2.
    Returns:
        Tensor of the shape of ``inp``.
    Example:
        >>> from megengine.quantization.utils import tqt_forward
        >>> tqt_forward(-128, 127, Tensor([0.7, 99.0]), Tensor(-1.0))
        Tensor([ 0.5 63.5], device=xpux:0)
    """
    return _LearnedSteps(qmin, qmax, by_rounded=True)(inp, 2**scale)


def lsq_forward(
    qmin: int,
    qmax: int,
    inp: Tensor,
    step_size: Tensor,
    zero_point: Tensor | None = None,
    scale_grad: Tensor | None = None,
) -> Tensor:
    """Fake quantisation with a gradient to the step, as LSQ has it.

    Args:
        qmin: smallest integer.
        qmax: largest integer.
        inp: float32, any shape.
        step_size: float32, one element: the scale.
        zero_point: float32, one element; None: 0.
        scale_grad: float32, one element: factor of the gradient to ``step_size``; None: 1.
    Returns:
        Tensor of the shape of ``inp``.
    Example:
        >>> from megengine.quantization.utils import lsq_forward
        >>> lsq_forward(-128, 127, Tensor([0.3, 99.0]), Tensor(0.5))
        Tensor([ 0.5 63.5], device=xpux:0)
    """
    known = (step_size,) if zero_point is None else (step_size, zero_point)
    return _LearnedSteps(qmin, qmax, by_rounded=False, grad_scale=scale_grad)(inp, *known)


def fake_quant_bias(bias: Tensor | None, inp: Tensor, w_qat: Tensor) -> Tensor | None:
    """A bias as it is after quantisation: in integers of 32 bits, by the product of two scales.

    Args:
        bias: float32, any shape, or None.
        inp: what the weight is multiplied with; its ``qparams`` tell how it is quantised.
        w_qat: the weight, with ``qparams``.
    Returns:
        The bias on its steps, with ``qparams``; as it is where the two are not quantised, or not
        symmetrically to 8 bits or fewer.
    Example:
        >>> from megengine.quantization import fake_quant_bias
        >>> bias = Tensor([0.3])
        >>> fake_quant_bias(bias, Tensor([1.0]), Tensor([1.0])) is bias
        True
    """
    sides = inp.qparams, w_qat.qparams
    if bias is None or not all(map(_is_small_and_symmetric, sides)):
        return bias
    scale = sides[0].scale * sides[1].scale
    if scale.size > 1:  # one for each channel
        scale = scale.reshape(bias.shape)
    qparams = create_qparams(dtype_meta="qint32", scale=scale)
    result = fake_quant_tensor(bias, qparams)
    result.qparams.update(qparams)
    return result


def _is_small_and_symmetric(qparams: QParams) -> bool:
    meta = qparams.dtype_meta
    return meta is not None and qparams.scale is not None and meta.np_dtype_str == "int8"
