# SPDX-License-Identifier: Apache-2.0
"""A fake quantiser with a fixed scale, for expressions in graphs."""

from ..core.tensor.dtype import QuantDtypeMeta
from ..quantization.fake_quant import _FakeQuantize
from ..quantization.utils import QParams, QParamsModuleMixin, fake_quant_tensor
from ..tensor import Tensor


class FakeQuantize(_FakeQuantize, QParamsModuleMixin):
    """``quantization.fake_quant_tensor`` with a scale that ``set_qparams`` gives.

    Args:
        dtype: the quantised dtype, or its name.
        enable: False passes values unchanged.
    Raises:
        ValueError: no dtype has that name.
    Example:
        >>> from megengine.quantization import create_qparams
        >>> from megengine.traced_module.fake_quant import FakeQuantize
        >>> fake_quant = FakeQuantize("qint8")
        >>> fake_quant.set_qparams(create_qparams(dtype_meta="qint8", scale=Tensor(0.5)))
        >>> fake_quant(Tensor([0.3]))
        Tensor([0.5], device=xpux:0)
    """

    def __init__(self, dtype: str | QuantDtypeMeta, enable: bool = True, **kwargs):
        super().__init__(dtype, enable, **kwargs)
        self.qparams = None

    def fake_quant_forward(self, inp: Tensor, qparams: QParams | None = None) -> Tensor:
        """The Tensor on its steps, enabled or not.

        Args:
            inp: float32, any shape.
            qparams: parameters instead of its own.
        Raises:
            RuntimeError: it has no scale yet.
            AssertionError: ``qparams`` have another dtype.
        """
        qparams = self.get_qparams() if qparams is None else qparams
        assert qparams.dtype_meta == self.dtype, "input qparams' dtype is not equal to self.dtype."
        return fake_quant_tensor(inp, qparams)

    def get_qparams(self) -> QParams:
        """Return the parameters that were set.

        Raises:
            RuntimeError: no parameters are set.
        """
        if self.qparams is None:
            raise RuntimeError("[FakeQuantize] it has no qparams yet: call set_qparams")
        return self.qparams

    def set_qparams(self, qparams: QParams) -> None:
        """Set the scale and the zero point.

        Args:
            qparams: of its dtype.
        Raises:
            AssertionError: they are of another one.
        """
        assert qparams.dtype_meta == self.dtype, "input qparams' dtype is not equal to self.dtype."
        self.qparams = qparams
