# SPDX-License-Identifier: Apache-2.0
"""The QAT modules of a net, reached together: what observes and what quantises, on or off."""

from collections.abc import Callable

from ..module import Module
from ..module.qat import QATModule


def check_module(module: Module, who: str) -> None:
    """Refuse what is no Module.

    Raises:
        TypeError: it is none; ``who`` stands in front of the message.
    """
    if not isinstance(module, Module):
        raise TypeError(f"[{who}] expected a Module, got {type(module).__name__}")


def qat_modules(module: Module, who: str) -> list[QATModule]:
    """The QAT modules of a net, itself among them.

    Raises:
        TypeError: ``module`` is no Module; ``who`` stands in front of the message.
    """
    check_module(module, who)
    return [part for part in module.modules() if isinstance(part, QATModule)]


def hook_qat_module(module: Module, func: Callable) -> list:
    """Call a function after ``forward`` of each QAT module.

    Args:
        module: the net.
        func: as for ``Module.register_forward_hook``.
    Returns:
        Handles with ``remove()``.
    Raises:
        TypeError: ``module`` is no Module.
    Example:
        >>> import megengine.quantization as Q
        >>> net = Q.quantize_qat(M.Sequential(M.ConvRelu2d(1, 2, 3)))
        >>> hooks = hook_qat_module(net, lambda *called: print(type(called[0]).__name__))
        >>> _ = net(F.ones((1, 1, 4, 4)))
        ConvRelu2d
        >>> for hook in hooks:
        ...     hook.remove()
    """
    return [part.register_forward_hook(func) for part in qat_modules(module, "hook_qat_module")]


def disable_fake_quant(module: Module) -> None:
    """Let all fake quantisers of a net pass values as they are.

    Raises:
        TypeError: ``module`` is no Module.
    Example:
        >>> import megengine.quantization as Q
        >>> net = Q.quantize_qat(M.Sequential(M.ConvRelu2d(1, 2, 3)))
        >>> Q.disable_fake_quant(net)
        >>> net[0].act_fake_quant.enabled
        False
    """
    for part in qat_modules(module, "disable_fake_quant"):
        part.set_fake_quant(False)


def disable_observer(module: Module) -> None:
    """Let all observers of a net rest.

    Raises:
        TypeError: ``module`` is no Module.
    Example:
        >>> import megengine.quantization as Q
        >>> net = Q.quantize_qat(M.Sequential(M.ConvRelu2d(1, 2, 3)))
        >>> Q.disable_observer(net)
        >>> net[0].act_observer.enabled
        False
    """
    for part in qat_modules(module, "disable_observer"):
        part.set_observer(False)


def enable_fake_quant(module: Module) -> None:
    """Let all fake quantisers of a net quantise.

    Raises:
        TypeError: ``module`` is no Module.
    Example:
        >>> import megengine.quantization as Q
        >>> net = Q.quantize_qat(M.Sequential(M.ConvRelu2d(1, 2, 3)))
        >>> Q.enable_fake_quant(net)
        >>> net[0].act_fake_quant.enabled
        True
    """
    for part in qat_modules(module, "enable_fake_quant"):
        part.set_fake_quant(True)


def enable_observer(module: Module) -> None:
    """Let all observers of a net observe.

    Raises:
        TypeError: ``module`` is no Module.
    Example:
        >>> import megengine.quantization as Q
        >>> net = Q.quantize_qat(M.Sequential(M.ConvRelu2d(1, 2, 3)))
        >>> Q.enable_observer(net)
        >>> net[0].act_observer.enabled
        True
    """
    for part in qat_modules(module, "enable_observer"):
        part.set_observer(True)
