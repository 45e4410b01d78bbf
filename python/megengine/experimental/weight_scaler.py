# SPDX-License-Identifier: Apache-2.0
"""Weights scaled in training, so that their norms stay near a value.

A scaled layer computes with its weight times a scale, while the parameter stays; biases are
scaled by the product of all scales up to there, so that a normalisation behind the layers takes
the scales out again. Outside of training the layers are as before.
"""

import types
from collections.abc import Mapping

from .. import functional as F
from ..core.operands import Shape
from ..module import BatchNorm2d, Conv2d, Linear, Module
from ..tensor import Tensor
from ..utils.module_utils import set_module_mode_safe


def get_norm_mod_value(weight: Tensor, norm_value: float) -> Tensor:
    """The largest power of two that scales a weight's norm to at most a value.

    Args:
        weight: any shape.
        norm_value: the norm that is wanted.
    Returns:
        Scalar, without gradient.
    Example:
        >>> get_norm_mod_value(Tensor([3.0, 4.0]), 20.0)
        Tensor(4.0, device=xpux:0)
    """
    scale = norm_value / F.norm(weight.reshape(-1))
    return (2.0 ** F.floor(F.log(scale) / F.log(F.full_like(scale, 2.0)))).detach()


def _scaled(compute, weight_scale, bias_scale):
    """Wraps the forward function of a layer, to scale its parameters in training."""

    def computed(self, inp, weight, bias):
        if self.training:
            weight = None if weight is None else weight * weight_scale
            bias = None if bias is None else bias * bias_scale
        return compute(inp, weight, bias)

    return computed


class _Plan:
    """Scales layers in the order of their calls.

    Args:
        wanted: see ``get_scaled_model``.
    """

    def __init__(self, wanted: Mapping[str, tuple[str, float]]):
        self._wanted = wanted
        self._how: tuple[str, float] | None = None  # scaling of the part that is running
        self._product: Tensor | float = 1.0  # product of all scales since the last normalisation

    def visit(self, name: str, module: Module) -> None:
        """A module is about to run."""
        is_layer = isinstance(module, (Conv2d, Linear))
        if name in self._wanted and not is_layer:
            self._how = self._wanted[name]
        elif is_layer and (how := self._wanted.get(name, self._how)):
            self._scale(module, *how)
        elif isinstance(module, BatchNorm2d):
            self._how, self._product = None, 1.0

    def _scale(self, layer: Module, kind: str, value: float) -> None:
        scale = value if kind == "CONST" else get_norm_mod_value(layer.weight, value)
        self._product = self._product * scale
        layer.weight_scale, layer.bias_scale = scale, self._product
        name = "calc_conv" if isinstance(layer, Conv2d) else "calc_linear"
        compute = _scaled(getattr(layer, name), scale, self._product)
        setattr(layer, name, types.MethodType(compute, layer))


def get_scaled_model(
    model: Module,
    scale_submodel: Mapping[str, tuple[str, float]],
    input_shape: Shape | None = None,
) -> Module:
    """Scale the weights of a net's parts in training.

    The net runs once, in evaluation mode, to see in which order its layers are called.

    Args:
        model: the net, which is modified.
        scale_submodel: the scaling of each module by name: ``("CONST", scale)``, or ``("NORM",
            norm)`` for ``get_norm_mod_value``. A Conv2d or Linear is scaled itself; in another
            module, all of them up to the next BatchNorm2d are scaled.
        input_shape: shape of the net's input.
    Returns:
        The net.
    Raises:
        ValueError: no shape is given, or the net has no module of such a name.
    Example:
        >>> net = M.Sequential(M.Linear(2, 3))
        >>> _ = get_scaled_model(net, {"0": ("CONST", 0.5)}, (1, 2))
        >>> net[0].weight_scale
        0.5
    """
    if input_shape is None:
        raise ValueError("[get_scaled_model] input_shape is needed: the net runs once")
    modules = dict(model.named_modules())
    unknown = sorted(set(scale_submodel) - set(modules))
    if unknown:
        raise ValueError(f"[get_scaled_model] the net has no modules {', '.join(unknown)}")
    plan = _Plan(scale_submodel)

    def hook(name: str):
        return lambda module, inputs: plan.visit(name, module)

    hooks = [module.register_forward_pre_hook(hook(name)) for name, module in modules.items()]
    try:
        with set_module_mode_safe(model, training=False):
            model(F.zeros(input_shape))
    finally:
        for each in hooks:
            each.remove()
    return model
