# SPDX-License-Identifier: Apache-2.0
"""Which observers and fake quantisers the modules of a net get."""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from ..module import Module
from .fake_quant import TQT, FakeQuantize
from .observer import (
    ExponentialMovingAverageObserver,
    HistogramObserver,
    MinMaxObserver,
    PassiveObserver,
    SyncExponentialMovingAverageObserver,
    SyncMinMaxObserver,
)


class _Fields(NamedTuple):
    weight_observer: Callable | None
    act_observer: Callable | None
    weight_fake_quant: Callable | None
    act_fake_quant: Callable | None


class QConfig(_Fields):
    """Factories of a module's observers and fake quantisers: classes, or ``partial`` of them.

    Args:
        weight_observer: makes the observer of the weight; None: no observer.
        act_observer: makes the observer of the result; None: no observer.
        weight_fake_quant: makes the fake quantiser of the weight; None: no fake quantiser.
        act_fake_quant: makes the fake quantiser of the result; None: no fake quantiser.
    Raises:
        ValueError: an observer or fake quantiser is given instead of its factory.
    Example:
        >>> from megengine.quantization import FakeQuantize, MinMaxObserver, QConfig
        >>> from functools import partial
        >>> config = QConfig(
        ...     weight_observer=partial(MinMaxObserver, dtype="qint8_narrow"),
        ...     act_observer=MinMaxObserver,
        ...     weight_fake_quant=partial(FakeQuantize, dtype="qint8_narrow"),
        ...     act_fake_quant=partial(FakeQuantize, dtype="qint8"),
        ... )
    """

    __slots__ = ()

    def __new__(cls, weight_observer, act_observer, weight_fake_quant, act_fake_quant):
        makers = weight_observer, act_observer, weight_fake_quant, act_fake_quant
        for name, maker in zip(cls._fields, makers, strict=True):
            if isinstance(maker, Module):
                raise ValueError(
                    f"[QConfig] {name} is a module; give what makes it: its class, or"
                    " functools.partial(Class, ...)"
                )
        return super().__new__(cls, *makers)


def _of(observers: tuple, fake_quant: type | None, dtypes=("qint8_narrow", "qint8")) -> QConfig:
    """The same classes for weights and results, each with its dtype."""
    makers = (*observers, fake_quant, fake_quant)
    return QConfig(
        *(
            make and partial(make, dtype=dtype)
            for make, dtype in zip(makers, dtypes * 2, strict=True)
        )
    )


min_max_fakequant_qconfig = _of((MinMaxObserver, MinMaxObserver), FakeQuantize)
ema_fakequant_qconfig = _of((MinMaxObserver, ExponentialMovingAverageObserver), FakeQuantize)
sync_ema_fakequant_qconfig = _of(
    (SyncMinMaxObserver, SyncExponentialMovingAverageObserver), FakeQuantize
)
ema_lowbit_fakequant_qconfig = _of(
    (MinMaxObserver, ExponentialMovingAverageObserver), FakeQuantize, ("qint4", "qint4")
)
calibration_qconfig = _of((MinMaxObserver, HistogramObserver), None)
tqt_qconfig = _of((None, None), TQT)
passive_qconfig = _of((PassiveObserver, PassiveObserver), FakeQuantize)
easyquant_qconfig = passive_qconfig
