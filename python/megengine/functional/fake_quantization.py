# SPDX-License-Identifier: Apache-2.0
"""Quantisation and dequantisation in floats, with gradients as if nothing were rounded."""

from typing import Any

from .. import _mge
from ..autodiff import Function
from ..core.tensor.qparams import QParams, QuantMode, create_qparams
from ..tensor import Tensor
from .elemwise import round


class Round(Function):
    """Rounding, half away from zero, with the gradient of the identity.

    Example:
        >>> Round()(Tensor([0.5, 1.2]))
        Tensor([1. 1.], device=xpux:0)
    """

    def forward(self, x: Tensor) -> Tensor:
        return round(x)

    def backward(self, output_grads: Tensor) -> Tensor:
        return output_grads


def fake_quant_tensor(inp: Tensor, qparams: QParams) -> Tensor:
    """The nearest of the values that a quantised tensor can have.

    Args:
        inp: float32, any shape.
        qparams: scale, zero point and range; ``scale`` broadcasts with ``inp``.
    Returns:
        ``(clip(round(inp / scale) + zero_point) - zero_point) * scale``, of the shape of ``inp``.
        The gradient is that of the identity inside the range and zero outside; scale and zero point
        have no gradient. NaN stays NaN.
    Raises:
        TypeError: ``qparams`` has no scale, or no zero point in asymmetric mode.
        RuntimeError: ``inp`` is not float32.
    Example:
        >>> from megengine.quantization import create_qparams, fake_quant_tensor
        >>> qparams = create_qparams(dtype_meta="qint8", scale=Tensor(0.5))
        >>> fake_quant_tensor(Tensor([0.3, 99.0]), qparams)
        Tensor([ 0.5 63.5], device=xpux:0)
    """
    meta: Any = qparams.dtype_meta
    zero_point = None
    if qparams.mode is not QuantMode.SYMMERTIC:
        zero_point = qparams.zero_point
        if zero_point is None:
            raise TypeError("[fake_quant_tensor] qparams has no zero point, but is asymmetric")
    return _mge.ops.fake_quantize(inp, qparams.scale, zero_point, lower=meta.qmin, upper=meta.qmax)


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
    return _mge.ops.fake_quantize(inp, 2**scale, lower=qmin, upper=qmax, learning="by_rounded")


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
    return _mge.ops.fake_quantize(
        inp, step_size, zero_point, scale_grad, lower=qmin, upper=qmax, learning="by_exact"
    )


def fake_quant_bias(bias: Tensor | None, inp: Tensor, w_qat: Tensor) -> Tensor | None:
    """A bias as it is after quantisation: in integers of 32 bits, by the product of two scales.

    Args:
        bias: float32, any shape, or None.
        inp: the input that the weight multiplies, with ``qparams``.
        w_qat: the weight, with ``qparams``.
    Returns:
        The quantised bias, with ``qparams``; the unchanged bias if the two are not quantised
        symmetrically to at most 8 bits.
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
    if scale.ndim and scale._tuple_shape != (1,):  # one for each channel
        scale = scale.reshape(bias.shape)
    qparams = create_qparams(dtype_meta="qint32", scale=scale)
    result = fake_quant_tensor(bias, qparams)
    result.qparams.update(qparams)
    return result


def _is_small_and_symmetric(qparams: QParams) -> bool:
    meta = qparams.dtype_meta
    return meta is not None and qparams.scale is not None and meta.np_dtype_str == "int8"
