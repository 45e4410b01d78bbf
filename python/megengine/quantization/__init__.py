# SPDX-License-Identifier: Apache-2.0
"""Nets in integers: observers, fake quantisers, and the way from a float net to a quantised one."""

from .easy_quant import apply_easy_quant
from .fake_quant import LSQ, TQT, FakeQuantize
from .observer import (
    ChannelMinMaxObserver,
    EntropyObserver,
    ExponentialMovingAverageObserver,
    HistogramObserver,
    MinMaxObserver,
    Observer,
    PassiveObserver,
    PercentileObserver,
    SyncExponentialMovingAverageObserver,
    SyncMinMaxObserver,
)
from .post_training import LayerError, layer_errors, quantize_post_training
from .qconfig import (
    QConfig,
    calibration_qconfig,
    easyquant_qconfig,
    ema_fakequant_qconfig,
    ema_lowbit_fakequant_qconfig,
    min_max_fakequant_qconfig,
    passive_qconfig,
    sync_ema_fakequant_qconfig,
    tqt_qconfig,
)
from .quantize import (
    disable_fake_quant,
    disable_observer,
    enable_fake_quant,
    enable_observer,
    propagate_qconfig,
    quantize,
    quantize_qat,
    reset_qconfig,
)
from .utils import QParams, QuantMode, create_qparams, fake_quant_bias, fake_quant_tensor

__all__ = [
    "ChannelMinMaxObserver",
    "EntropyObserver",
    "ExponentialMovingAverageObserver",
    "FakeQuantize",
    "HistogramObserver",
    "LSQ",
    "LayerError",
    "MinMaxObserver",
    "Observer",
    "PassiveObserver",
    "PercentileObserver",
    "QConfig",
    "QParams",
    "QuantMode",
    "SyncExponentialMovingAverageObserver",
    "SyncMinMaxObserver",
    "TQT",
    "apply_easy_quant",
    "calibration_qconfig",
    "create_qparams",
    "disable_fake_quant",
    "disable_observer",
    "easyquant_qconfig",
    "ema_fakequant_qconfig",
    "ema_lowbit_fakequant_qconfig",
    "enable_fake_quant",
    "enable_observer",
    "fake_quant_bias",
    "fake_quant_tensor",
    "layer_errors",
    "min_max_fakequant_qconfig",
    "passive_qconfig",
    "propagate_qconfig",
    "quantize",
    "quantize_post_training",
    "quantize_qat",
    "reset_qconfig",
    "sync_ema_fakequant_qconfig",
    "tqt_qconfig",
]
