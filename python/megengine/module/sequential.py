# SPDX-License-Identifier: Apache-2.0
"""Modules one after the other."""

from collections import OrderedDict
from collections.abc import Iterator

from ..tensor import Tensor
from .module import Module


class Sequential(Module):
    """Applies modules and functions one after the other.

    Args:
        args: the modules, named ``"0"``, ``"1"`` …; or one OrderedDict of names and modules.
            Functions of one Tensor are allowed, too.
    Raises:
        TypeError: an argument is neither a Module nor a function.
    Example:
        >>> M.Sequential(M.ReLU(), M.Identity())(Tensor([-1.0]))
        Tensor([0.], device=xpux:0)
    """

    def __init__(self, *args, **kwargs):
        super().__init__(**kwargs)
        self.layer_keys = []
        if len(args) == 1 and isinstance(args[0], OrderedDict):
            named = args[0].items()
        else:
            named = ((str(k), module) for k, module in enumerate(args))
        for key, module in named:
            if isinstance(module, type) or not callable(module):
                kind = repr(module) if isinstance(module, type) else type(module).__name__
                raise TypeError(f"[Sequential] {key} must be a Module or a function, got {kind}")
            setattr(self, key, module)
            self.layer_keys.append(key)

    def _keys_at(self, idx) -> list[str]:
        keys = self.layer_keys[idx]
        return keys if isinstance(idx, slice) else [keys]

    def __getitem__(self, idx):
        found = [getattr(self, key) for key in self._keys_at(idx)]
        if not isinstance(idx, slice):
            return found[0]
        return type(self)(OrderedDict(zip(self._keys_at(idx), found, strict=True)))

    def __setitem__(self, idx: int, module: Module) -> None:
        setattr(self, self.layer_keys[idx], module)

    def __delitem__(self, idx) -> None:
        for key in self._keys_at(idx):
            delattr(self, key)
        del self.layer_keys[idx]

    def __len__(self) -> int:
        return len(self.layer_keys)

    def __iter__(self) -> Iterator[Module]:
        return iter(self.layer_values)

    @property
    def layer_values(self) -> list[Module]:
        """The modules in order.

        Example:
            >>> [type(layer).__name__ for layer in M.Sequential(M.ReLU(), M.Sigmoid()).layer_values]
            ['ReLU', 'Sigmoid']
        """
        return [getattr(self, key) for key in self.layer_keys]

    def forward(self, inp: Tensor) -> Tensor:
        for layer in self.layer_values:
            inp = layer(inp)
        return inp
