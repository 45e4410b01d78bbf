# SPDX-License-Identifier: Apache-2.0
"""Modules that observe Tensors to find quantisation parameters."""

from abc import abstractmethod
from typing import TYPE_CHECKING

import numpy as np

from .. import functional as F
from ..core.operands import beside
from ..core.processes import distributed
from ..core.tensor.dtype import QuantDtypeMeta
from ..core.tracing_state import exclude_from_trace
from ..module import Module
from ..tensor import Tensor
from .histogram import (
    Range,
    best_range,
    count,
    joined,
    range_of_least_divergence,
    range_of_share,
)
from .utils import (
    QParams,
    QParamsModuleMixin,
    QuantMode,
    create_qparams,
    module_options,
    quant_dtype_meta,
)

if TYPE_CHECKING:
    from typing_extensions import Self


class Observer(Module, QParamsModuleMixin):
    """Returns its input and records statistics. Disabled in evaluation mode.

    Args:
        dtype: the target quantised dtype, or its name.
    Raises:
        ValueError: no dtype has that name.
    Example:
        >>> from megengine.quantization import Observer, create_qparams
        >>> class Largest(Observer):
        ...     def forward(self, x):
        ...         self.largest = F.abs(x).max() if self.enabled else self.largest
        ...         return x
        ...
        ...     def get_qparams(self):
        ...         return create_qparams(dtype_meta=self.dtype, scale=self.largest / self.qmax)
        >>> observer = Largest("qint8")
        >>> _ = observer(Tensor([-6.35, 2.0]))
        >>> observer.get_qparams().scale
        Tensor(0.05, device=xpux:0)
    """

    def __init__(self, dtype: str | QuantDtypeMeta, **kwargs):
        super().__init__(**module_options(kwargs))
        self.dtype = quant_dtype_meta(dtype)
        self.qmin = self.dtype.qmin
        self.qmax = self.dtype.qmax
        self.enabled = True

    def enable(self) -> None:
        """Enable the observer.

        Example:
            >>> observer = MinMaxObserver()
            >>> observer.disable()
            >>> observer.enable()
            >>> observer.enabled
            True
        """
        self.enabled = True

    def disable(self) -> None:
        """Disable the observer: it returns its input only.

        Example:
            >>> observer = MinMaxObserver()
            >>> observer.disable()
            >>> _ = observer(Tensor([9.0]))
            >>> observer.max_val < 0
            Tensor(True, dtype=bool, device=xpux:0)
        """
        self.enabled = False

    def train(self, mode: bool = True, recursive: bool = True) -> "Self":
        """Switch to training mode, enabled, or to evaluation mode, disabled.

        Example:
            >>> observer = MinMaxObserver()
            >>> observer.train(False).enabled
            False
        """
        super().train(mode, recursive)
        if mode:
            self.enable()
        else:
            self.disable()
        return self

    @abstractmethod
    def forward(self, x: Tensor) -> Tensor:
        """Observe a Tensor and return it."""


class MinMaxObserver(Observer):
    """Remembers the least and the largest value.

    Args:
        mode: a QuantMode: with or without a zero point.
        eps: smallest scale.
        dtype: the target quantised dtype, or its name.
    Raises:
        ValueError: no dtype has that name.
    Example:
        >>> from megengine.quantization import MinMaxObserver
        >>> observer = MinMaxObserver()
        >>> _ = observer(Tensor([-127.5, 3.0]))
        >>> observer.get_qparams().scale
        Tensor(1.0, device=xpux:0)
    """

    def __init__(
        self,
        mode: QuantMode = QuantMode.SYMMERTIC,
        eps: float = 1e-5,
        dtype: str | QuantDtypeMeta = "qint8",
        **kwargs,
    ):
        super().__init__(dtype, **kwargs)
        self.mode = mode
        self.min_val = Tensor(np.finfo(np.float32).max, dtype=np.float32)
        self.max_val = Tensor(np.finfo(np.float32).min, dtype=np.float32)
        self.scale_limit = eps

    def _qparams_of(self, low: Tensor, high: Tensor) -> QParams:
        # Zero is among the values: padding and ReLU need it exactly. As a second operand, NaN stays
        # NaN, so that a broken calibration shows.
        low, high = F.minimum(0.0, low), F.maximum(0.0, high)
        steps = self.qmax - self.qmin
        if self.mode is QuantMode.SYMMERTIC:
            scale = F.maximum(self.scale_limit, F.maximum(-low, high) / (steps / 2))
            return create_qparams(self.mode, self.dtype, scale)
        scale = F.maximum(self.scale_limit, (high - low) / steps)
        return create_qparams(self.mode, self.dtype, scale, self.qmin - F.round(low / scale))

    def get_qparams(self) -> QParams:
        """Return the quantisation parameters for values between the smallest and the largest.

        Example:
            >>> observer = MinMaxObserver()
            >>> _ = observer(Tensor([-127.5, 3.0]))
            >>> observer.get_qparams().scale
            Tensor(1.0, device=xpux:0)
        """
        return self._qparams_of(self.min_val, self.max_val)

    def _range_of(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """The smallest and the largest value of the observed Tensor."""
        return x.min(), x.max()

    def _observe(self, x: Tensor) -> None:
        low, high = self._range_of(x.detach())
        self.min_val[...] = F.minimum(self.min_val, low)
        self.max_val[...] = F.maximum(self.max_val, high)

    def forward(self, x_orig: Tensor) -> Tensor:
        if self.enabled:
            self._observe(x_orig)
        return x_orig


class _OverProcesses:
    """Mixin for observers that combine the statistics of all processes."""

    def _range_of(self, x: Tensor) -> tuple[Tensor, Tensor]:
        low, high = super()._range_of(x)
        together = distributed()
        if together is None or not together.is_distributed():
            return low, high
        reduce = together.functional
        return reduce.all_reduce_min(low), reduce.all_reduce_max(high)


class ChannelMinMaxObserver(Observer):
    """Records the largest magnitude of each output channel of a weight, for per-channel scales;
    MegEngine does not have it. Only for weights, without zero points.

    Args:
        eps: smallest scale.
        dtype: the target quantised dtype, or its name.
    Raises:
        ValueError: no dtype has that name.
    Example:
        >>> from megengine.quantization import ChannelMinMaxObserver
        >>> observer = ChannelMinMaxObserver()
        >>> _ = observer(Tensor([[127.0, 3.0], [-12.7, 0.0]]))
        >>> observer.get_qparams().scale.flatten()
        Tensor([1.  0.1], device=xpux:0)
    """

    def __init__(self, eps: float = 1e-9, dtype: str | QuantDtypeMeta = "qint8_narrow", **kwargs):
        super().__init__(dtype, **kwargs)
        self.scale_limit = eps
        self.channel_axes = (0,)
        self.max_val = Tensor(0.0, dtype=np.float32)

    def for_weight(self, weight: Tensor, channel_axes: tuple[int, ...]) -> None:
        """Prepare for a weight.

        Args:
            weight: a weight of the shape of those to observe.
            channel_axes: the axes along which scales differ.
        Example:
            >>> observer = ChannelMinMaxObserver()
            >>> observer.for_weight(F.zeros((2, 3)), (0,))
            >>> observer.max_val.shape
            (2, 1)
        """
        self.channel_axes = channel_axes
        shape = [n if axis in channel_axes else 1 for axis, n in enumerate(weight._tuple_shape)]
        self.max_val = Tensor(np.zeros(shape), dtype=np.float32)

    def get_qparams(self) -> QParams:
        """Return the quantisation parameters for values up to the largest magnitudes: a scale
        for each channel."""
        scale = F.maximum(self.scale_limit, self.max_val / ((self.qmax - self.qmin) / 2))
        return create_qparams(QuantMode.SYMMERTIC, self.dtype, scale)

    def forward(self, x: Tensor) -> Tensor:
        if self.enabled:
            others = [axis for axis in range(x.ndim) if axis not in self.channel_axes]
            found = F.max(F.abs(x.detach()), axis=others, keepdims=True)
            self.max_val._reset(F.maximum(self.max_val, found))
        return x


class SyncMinMaxObserver(_OverProcesses, MinMaxObserver):
    """``MinMaxObserver`` over all processes that train together.

    As in MegEngine 1.13, it also observes in evaluation mode and after ``disable``.

    Example:
        >>> from megengine.quantization import SyncMinMaxObserver
        >>> observer = SyncMinMaxObserver(dtype="qint8")
        >>> _ = observer(Tensor([-1.0, 2.0]))
        >>> observer.min_val, observer.max_val
        (Tensor(-1.0, device=xpux:0), Tensor(2.0, device=xpux:0))
    """

    def forward(self, x_orig: Tensor) -> Tensor:
        self._observe(x_orig)
        return x_orig


class ExponentialMovingAverageObserver(MinMaxObserver):
    """Remembers moving averages of the least and the largest value of each Tensor.

    Args:
        momentum: weight of the recorded values; the first Tensor sets both values.
        mode: a QuantMode: with or without a zero point.
        eps: smallest scale.
        dtype: the target quantised dtype, or its name.
    Raises:
        ValueError: no dtype has that name.
    Example:
        >>> from megengine.quantization import ExponentialMovingAverageObserver
        >>> observer = ExponentialMovingAverageObserver(momentum=0.5)
        >>> _ = observer(Tensor([-2.0, 2.0])), observer(Tensor([-1.0, 4.0]))
        >>> observer.min_val, observer.max_val
        (Tensor(-1.5, device=xpux:0), Tensor(3.0, device=xpux:0))
    """

    def __init__(
        self,
        momentum: float = 0.9,
        mode: QuantMode = QuantMode.SYMMERTIC,
        eps: float = 1e-5,
        dtype: str | QuantDtypeMeta = "qint8",
        **kwargs,
    ):
        super().__init__(mode, eps, dtype, **kwargs)
        self.momentum = Tensor(momentum, dtype=np.float32)
        # The weight of the values before the first Tensor is 0.
        self.runtime_momentum = Tensor(0.0, dtype=np.float32)

    def set_momentum(self, momentum: float) -> None:
        """Change the weight of the recorded values.

        Example:
            >>> observer = ExponentialMovingAverageObserver()
            >>> observer.set_momentum(0.5)
            >>> observer.momentum
            Tensor(0.5, device=xpux:0)
        """
        self.momentum = Tensor(momentum, dtype=np.float32)

    def forward(self, x_orig: Tensor) -> Tensor:
        if self.enabled:
            old = self.runtime_momentum
            low, high = self._range_of(x_orig.detach())
            self.min_val[...] = self.min_val * old + (1 - old) * low
            self.max_val[...] = self.max_val * old + (1 - old) * high
            self.runtime_momentum[...] = self.momentum
        return x_orig


class SyncExponentialMovingAverageObserver(_OverProcesses, ExponentialMovingAverageObserver):
    """The same over all processes that train together.

    Example:
        >>> from megengine.quantization import SyncExponentialMovingAverageObserver
        >>> observer = SyncExponentialMovingAverageObserver(momentum=0.5)
        >>> _ = observer(Tensor([-2.0, 2.0])), observer(Tensor([-1.0, 4.0]))
        >>> observer.min_val, observer.max_val
        (Tensor(-1.5, device=xpux:0), Tensor(3.0, device=xpux:0))
    """


class HistogramObserver(MinMaxObserver):
    """Counts values and finds the range whose quantisation has the smallest squared error.

    It also observes in evaluation mode, in which networks are calibrated.

    Args:
        bins: number of bins.
        upsample_rate: number of parts of a bin when the range grows.
        mode: a QuantMode: with or without a zero point.
        eps: smallest scale.
        dtype: the target quantised dtype, or its name.
    Raises:
        ValueError: no dtype has that name.
    Example:
        >>> from megengine.quantization import HistogramObserver
        >>> observer = HistogramObserver(bins=64)
        >>> _ = observer(F.linspace(-1, 1, 100))
        >>> observer.histogram.sum()
        Tensor(100.0, device=xpux:0)
    """

    def __init__(
        self,
        bins: int = 2048,
        upsample_rate: int = 128,
        mode: QuantMode = QuantMode.SYMMERTIC,
        eps: float = 1e-5,
        dtype: str | QuantDtypeMeta = "qint8",
        **kwargs,
    ):
        super().__init__(mode, eps, dtype, **kwargs)
        self.bins = bins
        self.upsample_rate = upsample_rate
        self.dst_nbins = self.qmax - self.qmin + 1
        # Until there are values the first count is -1.
        self.histogram = Tensor(np.r_[-1.0, np.zeros(bins - 1)], dtype=np.float32)

    def _range(self) -> Range:
        return Range(self.min_val.item(), self.max_val.item())

    def get_qparams(self) -> QParams:
        """Return the quantisation parameters for the best range.

        Raises:
            ValueError: there were no values yet.
        Example:
            >>> observer = HistogramObserver(bins=64)
            >>> _ = observer(F.linspace(-127.5, 127.5, 1000))
            >>> round(observer.get_qparams().scale.item(), 1)
            1.0
        """
        counts = self.histogram.numpy()
        if counts[0] == -1:
            raise ValueError("[HistogramObserver] it has not seen values to quantise yet")
        low, high = self._chosen(counts, self._range())
        with beside(self.min_val):
            ends = Tensor(low, dtype=np.float32), Tensor(high, dtype=np.float32)
        return self._qparams_of(*ends)

    def _chosen(self, counts: np.ndarray, within: Range) -> Range:
        """The range to quantise."""
        return best_range(counts, within, self.dst_nbins)

    def sideeffect_forward(self, x_orig: Tensor) -> None:
        """Count the values of a Tensor, also in every call of a traced function.

        Example:
            >>> observer = HistogramObserver(bins=4)
            >>> observer.sideeffect_forward(Tensor([0.0, 1.0, 1.0, 4.0]))
            >>> observer.histogram
            Tensor([1. 2. 0. 1.], device=xpux:0)
        """
        with exclude_from_trace():
            values, counts = x_orig.detach().numpy(), self.histogram.numpy()
            if counts[0] == -1:
                within = Range(float(values.min()), float(values.max()))
                counts = count(values, self.bins, within)
            else:
                counts, within = joined(counts, self._range(), values, self.upsample_rate)
            self.histogram[...] = counts
            self.min_val[...] = within.low
            self.max_val[...] = within.high

    def forward(self, x_orig: Tensor) -> Tensor:
        self.sideeffect_forward(x_orig)
        return x_orig


class PercentileObserver(HistogramObserver):
    """A histogram whose range contains a share of the values; MegEngine does not have it.

    Args:
        percentile: share of values in the range, in percent. Equally many are outside at each end.
        kwargs: as of ``HistogramObserver``.
    Raises:
        ValueError: the percentile is not above 0 and up to 100.
    Example:
        >>> from megengine.quantization import PercentileObserver
        >>> observer = PercentileObserver(80.0)
        >>> _ = observer(F.linspace(-127.5, 127.5, 1000))
        >>> round(observer.get_qparams().scale.item(), 2)
        0.8
    """

    def __init__(self, percentile: float = 99.99, **kwargs):
        super().__init__(**kwargs)
        if not 0 < percentile <= 100:
            raise ValueError(f"[PercentileObserver] percentile is in (0, 100], got {percentile}")
        self.percentile = percentile

    def _chosen(self, counts: np.ndarray, within: Range) -> Range:
        return range_of_share(counts, within, self.percentile / 100)


class EntropyObserver(HistogramObserver):
    """A histogram observer whose range minimises the Kullback-Leibler divergence of magnitudes.
    It takes the arguments of ``HistogramObserver``. MegEngine does not have it.

    Example:
        >>> observer = EntropyObserver()
        >>> _ = observer(Tensor(np.linspace(-1, 1, 1000, dtype=np.float32)))
        >>> 0 < float(observer.get_qparams().scale) < 1
        True
    """

    def _chosen(self, counts: np.ndarray, within: Range) -> Range:
        return range_of_least_divergence(counts, within, self.dst_nbins)


class PassiveObserver(Observer):
    """Observes nothing, and returns the parameters that were set.

    Args:
        dtype: the target quantised dtype, or its name.
    Raises:
        ValueError: no dtype has that name.
    Example:
        >>> from megengine.quantization import PassiveObserver, create_qparams
        >>> observer = PassiveObserver("qint8")
        >>> observer.set_qparams(create_qparams(dtype_meta="qint8", scale=Tensor(0.5)))
        >>> observer.scale
        Tensor(0.5, device=xpux:0)
    """

    def __init__(self, dtype: str | QuantDtypeMeta, **kwargs):
        super().__init__(dtype, **kwargs)
        self.qparams = None
        self.orig_scale = None

    @property
    def scale(self) -> Tensor:
        """The scale; it can be set to an array or a Tensor of numbers above zero."""
        return self.get_qparams().scale

    @scale.setter
    def scale(self, value) -> None:
        array = value.numpy() if isinstance(value, Tensor) else np.asarray(value)
        assert np.all(array > 0), f"[PassiveObserver] a scale is above zero, got {value}"
        qparams = self.get_qparams()
        with beside(qparams.scale):
            qparams.scale = Tensor(array, dtype=np.float32)

    def get_qparams(self) -> QParams:
        """Return the parameters that were set.

        Raises:
            RuntimeError: no parameters are set.
        Example:
            >>> from megengine.quantization import create_qparams
            >>> observer = PassiveObserver("qint8")
            >>> observer.set_qparams(create_qparams(dtype_meta="qint8", scale=Tensor(0.5)))
            >>> observer.get_qparams().scale
            Tensor(0.5, device=xpux:0)
        """
        if self.qparams is None:
            raise RuntimeError("[PassiveObserver] it has no qparams yet: call set_qparams")
        return self.qparams

    def set_qparams(self, qparams: QParams) -> None:
        """Set the scale and the zero point.

        Args:
            qparams: parameters of its dtype, with a scale.
        Raises:
            AssertionError: the dtype differs, or there is no scale.
        """
        assert qparams.dtype_meta == self.dtype, "input qparams' dtype is not equal to self.dtype."
        assert qparams.scale is not None, "Can not get an initialized scale"
        scale, zero_point = (
            None if value is None else Tensor(value, dtype=np.float32).detach()
            for value in (qparams.scale, qparams.zero_point)
        )
        self.qparams = create_qparams(qparams.mode, self.dtype, scale, zero_point)
        self.orig_scale = scale.numpy()

    def forward(self, x: Tensor) -> Tensor:
        # Module.to moves the module's Tensors; those of qparams do not belong to it.
        for name in ("scale", "zero_point") if self.qparams is not None else ():
            value = getattr(self.qparams, name)
            if value is not None and value.device != x.device:
                setattr(self.qparams, name, value.to(x.device))
        return x
