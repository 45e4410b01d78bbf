# SPDX-License-Identifier: Apache-2.0
"""Post-training quantisation, and its error in each layer. MegEngine has neither."""

from collections.abc import Iterable
from copy import deepcopy
from typing import Any, NamedTuple

import numpy as np

from ..module import Module
from ..module.quantized import QuantizedModule
from ..tensor import Tensor
from .qconfig import QConfig, calibration_qconfig
from .quantize import quantize, quantize_qat
from .structure import unchanged_on_error
from .switches import check_module


def quantize_post_training(
    module: Module,
    batches: Iterable,
    inplace: bool = True,
    qconfig: QConfig = calibration_qconfig,
) -> Any:
    """The quantised form of a trained float net.

    Args:
        module: the net, with ``QuantStub`` and ``DequantStub``.
        batches: representative inputs: Tensors, or tuples of its arguments.
        inplace: change the net itself instead of a copy; after an error it is unchanged.
        qconfig: observers that find the scales.
    Returns:
        The net in integers, in evaluation mode.
    Raises:
        TypeError: ``module`` is not a Module.
        ValueError: there are no batches.
    Example:
        >>> from megengine.quantization import quantize_post_training
        >>> net = M.Sequential(M.QuantStub(), M.ConvRelu2d(3, 4, 3), M.DequantStub())
        >>> quantize_post_training(net, [F.ones((1, 3, 8, 8))])
        Sequential(
          (0): Quantized.QuantStub()
          (1): Quantized.ConvRelu2d(3, 4, kernel_size=(3, 3))
          (2): Quantized.DequantStub()
        )
    """
    check_module(module, "quantize_post_training")
    net = module if inplace else deepcopy(module)
    with unchanged_on_error(net):
        net.eval()
        net = quantize_qat(net, qconfig=qconfig)
        is_calibrated = False
        for batch in batches:
            net(*batch) if isinstance(batch, tuple | list) else net(batch)
            is_calibrated = True
        if not is_calibrated:
            raise ValueError("[quantize_post_training] there are no batches to find scales")
        return quantize(net)


class LayerError(NamedTuple):
    """Difference of a quantised layer from the float one, including the effect of earlier layers.

    Args:
        name: of the layer in the net.
        kind: its class.
        error: length of the difference over the length of the float layer's result.
        cosine: of the angle between the two results.
    Example:
        >>> print(LayerError("block1", "ConvBnRelu2d", 0.012, 0.9999))
        LayerError(name='block1', kind='ConvBnRelu2d', error=0.012, cosine=0.9999)
    """

    name: str
    kind: str
    error: float
    cosine: float


def layer_errors(net: Module, quantized: Module, *inputs) -> list[LayerError]:
    """Quantisation error of each layer.

    Args:
        net: the float net, or the QAT one, in evaluation mode.
        quantized: its quantised form, with the same names.
        inputs: inputs of both nets.
    Returns:
        One entry for each quantised module that was called, in the order of the calls.
    Raises:
        ValueError: a net is in training mode.
    Example:
        >>> from megengine.quantization import layer_errors, quantize_post_training
        >>> net = M.Sequential(M.QuantStub(), M.Linear(8, 8), M.DequantStub())
        >>> x = F.linspace(-1, 1, 16).reshape(2, 8)
        >>> _ = net.eval()
        >>> quantised = quantize_post_training(net, [x], inplace=False)
        >>> [entry.kind for entry in layer_errors(net, quantised, x)]
        ['QuantStub', 'Linear', 'DequantStub']
    """
    if net.training or quantized.training:
        raise ValueError("[layer_errors] a net is in training mode: call eval() on both")
    parts = {k: v for k, v in quantized.named_modules() if isinstance(v, QuantizedModule)}
    of_quantised = _results(quantized, parts, inputs)
    floats = {name: part for name, part in net.named_modules() if name in parts}
    of_floats = _results(net, floats, inputs)
    return [
        LayerError(name, type(parts[name]).__name__, *_distance(of_floats[name], result))
        for name, result in of_quantised.items()
        if name in of_floats
    ]


def _results(net: Module, parts: dict[str, Module], inputs: tuple) -> dict[str, np.ndarray]:
    """The real numbers that the last call of each part gave."""
    found: dict[str, np.ndarray] = {}

    def keeping(name: str):
        def keep(_, inputs, output: Tensor) -> None:
            found[name] = output.astype("float32").numpy().astype(np.float64)

        return keep

    handles = [part.register_forward_hook(keeping(name)) for name, part in parts.items()]
    try:
        net(*inputs)
    finally:
        for handle in handles:
            handle.remove()
    return found


def _distance(wanted: np.ndarray, got: np.ndarray) -> tuple[float, float]:
    lengths = np.linalg.norm(wanted), np.linalg.norm(got)
    error = np.linalg.norm(got - wanted) / max(lengths[0], 1e-30)
    return float(error), float((wanted * got).sum() / max(lengths[0] * lengths[1], 1e-30))
