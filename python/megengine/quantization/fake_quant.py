# SPDX-License-Identifier: Apache-2.0
"""Modules that quantise in floats."""

import math

import numpy as np

from .. import functional as F
from ..core.operands import beside
from ..core.tensor.dtype import QuantDtypeMeta
from ..module import Module
from ..tensor import Parameter, Tensor
from .utils import (
    LSQParams,
    QParams,
    QParamsModuleMixin,
    QuantMode,
    create_qparams,
    fake_quant_tensor,
    lsq_forward,
    module_options,
    quant_dtype_meta,
    tqt_forward,
)


class _FakeQuantize(Module):
    def __init__(self, dtype: str | QuantDtypeMeta, enable: bool = True, **kwargs):
        super().__init__(**module_options(kwargs))
        self.dtype = quant_dtype_meta(dtype)
        self.qmin = self.dtype.qmin
        self.qmax = self.dtype.qmax
        self.enabled = enable

    def enable(self) -> None:
        """Enable quantisation."""
        self.enabled = True

    def disable(self) -> None:
        """Disable quantisation: the input is returned unchanged."""
        self.enabled = False

    def fake_quant_forward(self, inp: Tensor, qparams: QParams | None = None) -> Tensor:
        """Quantise and dequantise a Tensor, even if disabled."""
        raise NotImplementedError(
            f"[{type(self).__name__}] fake_quant_forward is not defined: write it in the class"
        )

    def normal_forward(self, inp: Tensor, qparams: QParams | None = None) -> Tensor:
        """Return the Tensor unchanged."""
        return inp

    def forward(self, inp: Tensor, qparams: QParams | None = None) -> Tensor:
        run = self.fake_quant_forward if self.enabled else self.normal_forward
        return run(inp, qparams)


class FakeQuantize(_FakeQuantize):
    """``fake_quant_tensor`` with the scales of an observer.

    Args:
        dtype: the quantised dtype, or its name.
        enable: False passes values unchanged.
    Raises:
        ValueError: no dtype has that name.
    Example:
        >>> from megengine.quantization import FakeQuantize, create_qparams
        >>> qparams = create_qparams(dtype_meta="qint8", scale=Tensor(0.5))
        >>> FakeQuantize("qint8")(Tensor([0.3]), qparams)
        Tensor([0.5], device=xpux:0)
    """

    def fake_quant_forward(self, inp: Tensor, qparams: QParams | None = None) -> Tensor:
        """Quantise and dequantise a Tensor, even if disabled.

        Args:
            inp: float32, any shape.
            qparams: parameters with the dtype of this module.
        Raises:
            ValueError: there are no ``qparams``.
            AssertionError: they have another dtype.
        Example:
            >>> qparams = create_qparams(dtype_meta="qint8", scale=Tensor(0.5))
            >>> FakeQuantize("qint8", enable=False).fake_quant_forward(Tensor([0.3]), qparams)
            Tensor([0.5], device=xpux:0)
        """
        if qparams is None:
            raise ValueError("[FakeQuantize] needs qparams: those of an observer")
        assert qparams.dtype_meta == self.dtype, "input qparams' dtype is not equal to self.dtype."
        return fake_quant_tensor(inp, qparams)


class TQT(_FakeQuantize, QParamsModuleMixin):
    """Fake quantisation that learns the logarithm of its scale ("Trained Quantization Thresholds").

    Args:
        dtype: the quantised dtype, or its name.
        enable: False passes values unchanged.
    Raises:
        ValueError: no dtype has that name.
    Example:
        >>> from megengine.quantization import TQT
        >>> TQT("qint8")(Tensor([0.6]))                  # begins with a scale of 1
        Tensor([1.], device=xpux:0)
    """

    def __init__(self, dtype: str | QuantDtypeMeta, enable: bool = True, **kwargs):
        super().__init__(dtype, enable, **kwargs)
        self.scale = Parameter(0.0, dtype=np.float32)  # its logarithm to the base 2

    def fake_quant_forward(self, inp: Tensor, qparams: QParams | None = None) -> Tensor:
        """Quantise and dequantise a Tensor, even if disabled.

        Example:
            >>> TQT("qint8", enable=False).fake_quant_forward(Tensor([0.6]))
            Tensor([1.], device=xpux:0)
        """
        return tqt_forward(self.qmin, self.qmax, inp, self.scale)

    def set_qparams(self, qparams: QParams) -> None:
        """Set the initial scale.

        Args:
            qparams: symmetric, with a scale.
        Raises:
            AssertionError: they are not.
        Example:
            >>> tqt = TQT("qint8")
            >>> tqt.set_qparams(create_qparams(dtype_meta="qint8", scale=Tensor(0.5)))
            >>> tqt.scale
            Parameter(-1.0, device=xpux:0)
        """
        assert qparams.mode is QuantMode.SYMMERTIC, (
            "only symmetric quantization is supported by TQT"
        )
        assert qparams.scale is not None, "Can not get an initialized scale"
        with beside(self.scale):
            scale = Tensor(qparams.scale, dtype=np.float32)
        self.scale[...] = F.log(scale) / math.log(2)

    def get_qparams(self) -> QParams:
        """Return the current quantisation parameters.

        Example:
            >>> TQT("qint8").get_qparams().scale
            Tensor(1.0, device=xpux:0)
        """
        return create_qparams(QuantMode.SYMMERTIC, self.dtype, 2 ** self.scale.detach())


class LSQ(_FakeQuantize, QParamsModuleMixin):
    """Fake quantisation that learns its scale ("Learned Step Size Quantization").

    Args:
        dtype: the quantised dtype, or its name.
        enable: False passes values unchanged.
        eps: added to the learned step.
    Raises:
        ValueError: no dtype has that name.
    Example:
        >>> from megengine.quantization import LSQ, create_qparams
        >>> lsq = LSQ("qint8")
        >>> lsq.set_qparams(create_qparams(dtype_meta="qint8", scale=Tensor(0.5)))
        >>> lsq(Tensor([0.3]))
        Tensor([0.5], device=xpux:0)
    """

    def __init__(
        self, dtype: str | QuantDtypeMeta, enable: bool = True, eps: float = 1e-5, **kwargs
    ):
        super().__init__(dtype, enable, **kwargs)
        self.eps = Tensor(eps, dtype=np.float32)
        self.step_size = Parameter(1.0, dtype=np.float32)
        self.mode = None
        self.zero_point = Tensor(0.0, dtype=np.float32)
        self.grad_scale = Tensor(1.0, dtype=np.float32)

    def set_qparams(self, qparams: QParams) -> None:
        """Set the initial scale.

        Args:
            qparams: parameters with a scale; ``LSQParams`` set the factor of its gradient, too.
        Raises:
            AssertionError: there is no scale.
        Example:
            >>> lsq = LSQ("qint8")
            >>> lsq.set_qparams(create_qparams(dtype_meta="qint8", scale=Tensor(0.5)))
            >>> lsq(Tensor([0.3]))
            Tensor([0.5], device=xpux:0)
        """
        assert qparams.scale is not None, "Can not get an initialized scale"
        self.mode = qparams.mode
        with beside(self.eps):
            scale = Tensor(qparams.scale, dtype=np.float32)
            if scale.size == 1:  # checkpoints have rank 0
                scale = scale.reshape(())
            self.step_size[...] = F.relu(scale - self.eps)
            if qparams.zero_point is not None:
                self.zero_point = Tensor(qparams.zero_point, dtype=np.float32)
            if isinstance(qparams, LSQParams):
                self.grad_scale = Tensor(qparams.grad_scale, dtype=np.float32)

    def fake_quant_forward(self, inp: Tensor, qparams: QParams | None = None) -> Tensor:
        """Quantise and dequantise a Tensor, even if disabled.

        Example:
            >>> LSQ("qint8", enable=False).fake_quant_forward(Tensor([0.6]))
            Tensor([1.], device=xpux:0)
        """
        step = F.abs(self.step_size) + self.eps
        return lsq_forward(self.qmin, self.qmax, inp, step, self.zero_point, self.grad_scale)

    def get_qparams(self) -> LSQParams:
        """Return the current quantisation parameters, without a zero point for symmetric dtypes.

        Example:
            >>> round(LSQ("qint8").get_qparams().scale.item(), 3)
            1.0
        """
        step = F.abs(self.step_size.detach()) + self.eps
        zero_point = self.zero_point if self.dtype.is_unsigned else None
        return LSQParams(self.mode, self.dtype, step, zero_point, self.grad_scale)
