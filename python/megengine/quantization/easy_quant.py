# SPDX-License-Identifier: Apache-2.0
"""EasyQuant: scales that make a quantised net's values point the way of the float net's."""

from functools import partial
from typing import Any

import numpy as np

from ..functional import concat, split
from ..module import Module
from ..tensor import Tensor
from .observer import PassiveObserver
from .switches import disable_fake_quant, enable_fake_quant, hook_qat_module


def _cosine(x: np.ndarray, y: np.ndarray) -> float:
    """Mean over the items of a batch of the cosine between two arrays."""
    x, y = (a.reshape(len(a), -1).astype(np.float64) for a in (x, y))
    lengths = np.linalg.norm(x, axis=1) * np.linalg.norm(y, axis=1)
    return float(((x * y).sum(1) / np.maximum(lengths, 1e-30)).mean())


def apply_easy_quant(
    module: Module, data: Tensor, start: float = 0.8, stop: float = 1.2, num: int = 40
) -> Any:
    """Search better scales for a calibrated network, one module after another.

    Args:
        module: the net, with ``passive_qconfig`` and scales: after ``reset_qconfig``.
        data: its input.
        start: smallest factor of a scale to try.
        stop: largest factor to try.
        num: number of factors to try.
    Returns:
        The net, whose observers have the new scales.
    Raises:
        TypeError: ``module`` is not a Module, or a part of it has an observer without a scale to
            set.
    Example:
        >>> import megengine.quantization as Q
        >>> net, x = M.Sequential(M.Linear(4, 2)), F.ones((8, 4))
        >>> _ = net.eval()
        >>> net = Q.quantize_qat(net, qconfig=Q.calibration_qconfig)
        >>> _ = net(x)
        >>> net = Q.apply_easy_quant(Q.reset_qconfig(net, Q.passive_qconfig), x)
        >>> net[0].act_observer.scale.item() > 0
        True
    """
    was_training = module.training
    module.eval()
    factors = np.linspace(start, stop, num)
    try:
        for name in ("weight_observer", "act_observer"):
            _run_hooked(module, concat([data, data]), partial(_search, name, factors))
    finally:
        module.train(was_training)
    return module


def _search(name: str, factors: np.ndarray, part: Module, inputs: tuple, output: Tensor) -> Tensor:
    """Set the scale of an observer.

    Args:
        name: name of the observer in ``part``.
        factors: factors of the scale to try.
        part: a module of the net, which was called with a batch of two halves.
        inputs: in the first half those of the float net, in the second half those of the integer
            net.
        output: with the observer's previous scale, so that later parts see only its effect.
    Returns:
        The value to use as the result.
    """
    observer = getattr(part, name)
    if observer is None:
        return output
    disable_fake_quant(part)
    try:
        target = part.forward(*_half(inputs, 0))
    finally:
        enable_fake_quant(part)
    _set_best_scale(observer, part, _half(inputs, 1), target.numpy(), factors)
    return concat([target, _half(output, 1)])


def _half(batches, which: int):
    """One half of a batch in a Tensor, list or tuple; other values are kept."""
    if isinstance(batches, (list, tuple)):
        return type(batches)(_half(batch, which) for batch in batches)
    return split(batches, 2)[which] if isinstance(batches, Tensor) else batches


def _run_hooked(module: Module, data: Tensor, hook) -> None:
    handles = hook_qat_module(module, hook)
    try:
        module(data)
    finally:
        for handle in handles:
            handle.remove()


def _set_best_scale(observer, part: Module, inputs: tuple, target: np.ndarray, factors) -> None:
    if not isinstance(observer, PassiveObserver):
        raise TypeError(
            f"[apply_easy_quant] {type(part).__name__} has a {type(observer).__name__}; use"
            " reset_qconfig(net, passive_qconfig) first"
        )
    scales = [observer.orig_scale * factor for factor in factors]
    found = []
    for scale in scales:
        observer.scale = np.float32(scale)
        found.append(_cosine(part.forward(*inputs).numpy(), target))
    observer.scale = np.float32(scales[int(np.argmax(found))])
