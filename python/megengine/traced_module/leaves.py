# SPDX-License-Identifier: Apache-2.0
"""The Modules whose calls are recorded as a whole."""

from .. import module as _builtin
from ..module import Module
from ..module.qat import QATModule

_registered: dict[type[Module], tuple[str, str]] = {}  # and their names, the latest last


def register_as_builtin(mod_cls: type[Module]) -> None:
    """Record each call of a class of Modules as one expression, without its inside.

    Args:
        mod_cls: the class, without derived ones.
    Raises:
        TypeError: it is not a class of Modules.
    Example:
        >>> import megengine.traced_module as T
        >>> class Twice(M.Module):
        ...     def forward(self, x):
        ...         return x * 2
        >>> T.register_as_builtin(Twice)
        >>> T.trace_module(M.Sequential(Twice()), Tensor([1.0])).graph
        Sequential.Graph (self, inp) {
            %2: _0 = getattr(self, "0") -> (Twice)
            %3: _0_out = _0(inp, )
            return _0_out
        }
    """
    if not (isinstance(mod_cls, type) and issubclass(mod_cls, Module)):
        raise TypeError(f"[register_as_builtin] a class of Modules is expected, got {mod_cls!r}")
    _registered[mod_cls] = mod_cls.__module__, mod_cls.__qualname__


def registered_class(module: str, name: str) -> type[Module] | None:
    """The latest class of that name passed to ``register_as_builtin``; None without one."""
    found = (kind for kind, names in reversed(_registered.items()) if names == (module, name))
    return next(found, None)


def is_leaf(module: Module) -> bool:
    """Whether a Module is recorded as a whole: QATModules, because observers have state, and the
    Modules of ``megengine.module`` except containers."""
    kind = type(module)
    if kind in _registered or isinstance(module, QATModule):
        return True
    return kind.__module__.startswith(_builtin.__name__ + ".") and kind not in (
        Module,
        _builtin.Sequential,
    )
