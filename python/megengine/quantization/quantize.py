# SPDX-License-Identifier: Apache-2.0
"""Converts a float net to one for quantisation-aware training, and that to a quantised one."""

from collections.abc import Callable, Iterable
from copy import deepcopy
from typing import Any

from .. import module as Float
from ..core.operands import beside
from ..module import Module, qat, quantized
from ..module.qat import QATModule
from ..module.quantized import QuantizedModule
from .easy_quant import apply_easy_quant  # noqa: F401
from .qconfig import QConfig, ema_fakequant_qconfig
from .structure import unchanged_on_error
from .switches import (  # noqa: F401
    check_module,
    disable_fake_quant,
    disable_observer,
    enable_fake_quant,
    enable_observer,
    hook_qat_module,
    qat_modules,
)


def _get_quantable_module_names() -> list[str]:
    """The names that modules have in float, QAT and quantised form."""
    return sorted(set(qat.__all__) - {QATModule.__name__})


def _forms(package, other) -> dict[type, type]:
    names = _get_quantable_module_names()
    return {getattr(package, name): getattr(other, name) for name in names}


def _replaced(module: Module, convert: Callable[[Module], Module | None]) -> Module:
    """The module with all its parts replaced by the results of ``convert``, also in containers.

    Converted parts are not searched further; None keeps a module.
    """
    made = {}

    def of(part: Module) -> Module:
        if id(part) not in made:
            converted = convert(part)
            made[id(part)] = part if converted is None else converted
            if converted is None:
                inside(part)
        return made[id(part)]

    def inside(owner: Module) -> None:
        for name in list(owner._modules):
            setattr(owner, name, put(vars(owner)[name]))

    def put(value):
        if isinstance(value, Module):
            return of(value)
        if isinstance(value, dict):
            value.update((key, put(item)) for key, item in value.items())
        elif isinstance(value, list):
            value[:] = map(put, value)
        elif type(value) is tuple:
            return tuple(map(put, value))
        return value

    return of(module)


def quantize(module: Module, inplace: bool = True, mapping: dict | None = None) -> Any:
    """The quantised form of a net for quantisation-aware training.

    Args:
        module: the net, made by ``quantize_qat``; its QAT modules are replaced.
        inplace: change the net itself instead of a copy, unless there is an error. A net that is
            itself such a module is not changed.
        mapping: further quantised classes by QAT class.
    Returns:
        The net, in evaluation mode.
    Raises:
        TypeError: ``module`` is not a Module.
        KeyError: a QAT module has no quantised form.
    Example:
        >>> from megengine.quantization import quantize, quantize_qat
        >>> net = quantize_qat(M.Sequential(M.QuantStub(), M.DequantStub()))
        >>> _ = net(Tensor([-12.75, 3.0]))
        >>> net = quantize(net)
        >>> _ = net.eval()
        >>> net(Tensor([5.04, 3.0]))
        Tensor([5. 3.], device=xpux:0)
    """
    check_module(module, "quantize")
    forms = _forms(qat, quantized) | (mapping or {})

    def convert(part: Module) -> Module | None:
        if not isinstance(part, QATModule):
            return None
        if type(part) not in forms:
            raise KeyError(
                f"[quantize] {type(part).__name__} has no quantised form: give one in mapping"
            )
        return forms[type(part)].from_qat_module(part)

    net = module if inplace else deepcopy(module)
    with unchanged_on_error(net), beside(*module.parameters()):
        return _replaced(net, convert)


def quantize_qat(
    module: Module,
    inplace: bool = True,
    qconfig: QConfig = ema_fakequant_qconfig,
    mapping: dict | None = None,
) -> Any:
    """A float net for quantisation-aware training.

    Args:
        module: the net; its quantisable parts are replaced. Parts with ``disable_quantize`` are
            kept.
        inplace: change the net itself instead of a copy, unless there is an error. A net that is
            itself such a part is not changed.
        qconfig: observers and fake quantisers of each part.
        mapping: further QAT classes by float class.
    Returns:
        The net, with the same parameters.
    Raises:
        TypeError: ``module`` is not a Module, or ``qconfig`` is not a ``QConfig``.
        KeyError: the class of a part is derived from a quantisable one.
    Example:
        >>> from megengine.quantization import quantize_qat, tqt_qconfig
        >>> quantize_qat(M.Sequential(M.Elemwise("add")), qconfig=tqt_qconfig)
        Sequential(
          (0): QAT.Elemwise(
            (act_fake_quant): TQT()
          )
        )
    """
    check_module(module, "quantize_qat")
    if not isinstance(qconfig, QConfig):
        raise TypeError(f"[quantize_qat] qconfig is a QConfig, got {type(qconfig).__name__}")
    forms = _forms(Float, qat) | (mapping or {})

    def convert(part: Module) -> Module | None:
        if part.quantize_disabled or isinstance(part, QATModule | QuantizedModule):
            return part
        form = forms.get(type(part))
        if form is None and isinstance(part, tuple(forms)):
            raise KeyError(
                f"[quantize_qat] {type(part).__name__} has no form for quantisation: give one in"
                " mapping, or call disable_quantize() on it"
            )
        return form and form.from_float_module(part)

    net = module if inplace else deepcopy(module)
    with unchanged_on_error(net):
        net = _replaced(net, convert)
        propagate_qconfig(net, qconfig)
    return net


def reset_qconfig(module: Module, qconfig: QConfig, inplace: bool = True) -> Any:
    """Give a net other observers and fake quantisers, with the scales that the old ones found.

    Args:
        module: the net.
        qconfig: the new QConfig.
        inplace: change the net itself instead of a copy.
    Returns:
        The net.
    Raises:
        TypeError: ``module`` is not a Module.
    Example:
        >>> import megengine.quantization as Q
        >>> net = Q.quantize_qat(M.Sequential(M.ConvRelu2d(1, 2, 3)))
        >>> net = Q.reset_qconfig(net, Q.passive_qconfig)
        >>> type(net[0].act_observer).__name__
        'PassiveObserver'
    """
    net = module if inplace else deepcopy(module)
    parts = qat_modules(net, "reset_qconfig")
    with unchanged_on_error(net), beside(*net.parameters()):
        _reset_parts(parts, qconfig)
    return net


def _reset_parts(parts: Iterable[QATModule], qconfig: QConfig) -> None:
    for part in parts:
        found = {
            "weight": part.with_weight and part.get_weight_qparams(),
            "act": part.with_act and part.get_activation_qparams(),
        }
        for which, qparams in found.items():
            part.take(which, qconfig)
            for role in ("fake_quant", "observer"):
                new = getattr(part, f"{which}_{role}")
                if qparams and hasattr(new, "set_qparams"):
                    new.set_qparams(qparams)


def propagate_qconfig(module: Module, qconfig: QConfig) -> None:
    """Give all QAT modules of a net new observers and fake quantisers.

    Args:
        module: the net.
        qconfig: the new QConfig.
    Raises:
        TypeError: ``module`` is not a Module.
    Example:
        >>> net = quantize_qat(M.Sequential(M.ConvRelu2d(1, 2, 3)))
        >>> propagate_qconfig(net, ema_fakequant_qconfig)
        >>> type(net[0].act_observer).__name__
        'ExponentialMovingAverageObserver'
    """
    parts = qat_modules(module, "propagate_qconfig")
    with beside(*module.parameters()):
        for part in parts:
            part.set_qconfig(qconfig)
