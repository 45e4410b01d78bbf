# SPDX-License-Identifier: Apache-2.0
"""Switches for all observers and fake quantisers of a net."""

from collections.abc import Callable

from ..module import Module
from ..module.qat import QATModule


def check_module(module: Module, who: str) -> None:
    """Raise TypeError for a value that is not a Module.

    Raises:
        TypeError: it is not a Module; ``who`` is the prefix of the message.
    """
    if not isinstance(module, Module):
        raise TypeError(f"[{who}] expected a Module, got {type(module).__name__}")


def qat_modules(module: Module, who: str) -> list[QATModule]:
    """The QAT modules of a net, itself among them.

    Raises:
        TypeError: ``module`` is not a Module; ``who`` is the prefix of the message.
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
        TypeError: ``module`` is not a Module.
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


def _switch(name: str, part: str, enable: bool, summary: str) -> Callable[[Module], None]:
    """Makes the function that switches a part of all QAT modules of a net."""

    def switch(module: Module) -> None:
        for found in qat_modules(module, name):
            getattr(found, f"set_{part}")(enable)

    switch.__name__ = switch.__qualname__ = name
    switch.__doc__ = f"""{summary}

    Raises:
        TypeError: ``module`` is no Module.
    Example:
        >>> import megengine.quantization as Q
        >>> net = Q.quantize_qat(M.Sequential(M.ConvRelu2d(1, 2, 3)))
        >>> Q.{name}(net)
        >>> net[0].act_{part}.enabled
        {enable}
    """
    return switch


disable_fake_quant = _switch(
    "disable_fake_quant", "fake_quant", False, "Let all fake quantisers pass values as they are."
)
disable_observer = _switch(
    "disable_observer", "observer", False, "Let all observers of a net rest."
)
enable_fake_quant = _switch(
    "enable_fake_quant", "fake_quant", True, "Let all fake quantisers of a net quantise."
)
enable_observer = _switch(
    "enable_observer", "observer", True, "Let all observers of a net observe."
)
