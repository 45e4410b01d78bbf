# SPDX-License-Identifier: Apache-2.0
"""Scales, zero points, and quantisation in floats."""

import warnings
from abc import ABC, abstractmethod

import numpy as np

from ..core.tensor.dtype import create_quantized_dtype
from ..core.tensor.qparams import (  # noqa: F401
    LSQParams,
    QParams,
    QuantMode,
    create_qparams,
    quant_dtype_meta,
)
from ..functional.fake_quantization import (  # noqa: F401
    Round,
    fake_quant_bias,
    fake_quant_tensor,
    lsq_forward,
    tqt_forward,
)


def module_options(options: dict) -> dict:
    """Options of an observer or fake quantiser that Module takes. MegEngine ignores all others, and
    programs pass those of one class to another."""
    ignored = sorted(set(options) - {"name"})
    if ignored:
        names = ", ".join(ignored)
        hint = ": the dtype says the range" if ignored == ["narrow_range"] else ""
        warnings.warn(f"{names} has no effect{hint}", stacklevel=4)
    return {name: value for name, value in options.items() if name == "name"}


class QParamsModuleMixin(ABC):
    """Mixin of modules that have quantisation parameters.

    Example:
        >>> from megengine.quantization import MinMaxObserver
        >>> observer = MinMaxObserver(dtype="qint8")
        >>> _ = observer(Tensor([-1.27, 1.0]))
        >>> isinstance(observer, QParamsModuleMixin)
        True
        >>> observer.get_qparams().scale
        Tensor(0.009960785, device=xpux:0)
        >>> observer.get_quantized_dtype().metadata["mgb_dtype"]["name"]
        'QuantizedS8'
    """

    @abstractmethod
    def get_qparams(self) -> QParams:
        """Return the quantisation parameters."""

    def get_quantized_dtype(self) -> np.dtype:
        """The dtype for these quantisation parameters.

        Raises:
            ValueError: Tensors do not support such a dtype, or the zero point does not fit it.
        """
        qparams = self.get_qparams()
        if qparams.scale.size > 1:
            raise ValueError("channels have scales of their own: no dtype has several")
        scale, zero_point = (
            None if value is None else value.numpy().item()
            for value in (qparams.scale, qparams.zero_point)
        )
        return create_quantized_dtype(qparams.dtype_meta, scale, zero_point)
