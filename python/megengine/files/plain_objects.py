# SPDX-License-Identifier: Apache-2.0
"""The names, calls and constructors of plain pickles: each constructor checks its arguments.

A name in a file is only looked up in the tables here; no other object is called, or given
attributes or a state.
"""

from collections import OrderedDict

import numpy as np

from ..core.counted import counted
from ..core.tensor.qparams import QParams
from ..module import Module
from ..tensor import Tensor
from . import plain_quantised
from .graph_records import TRACED_MODULE, Record, record_class
from .plain_arrays import NAMED_DTYPES, ArrayReader, tensor_classes
from .plain_machine import STEP_BYTES, Name, UnsafePickleError, check
from .plain_modules import GROUP, give_group_state, group_class, module_class, traced_module_class

_BUILTINS = ("builtins", "__builtin__")
_ARRAY = ("numpy", "ndarray")
_MODULE = ("megengine.module.module", "Module")
# Names that stay names in the structures of traced modules.
_STRUCTURE_NAMES = {
    kind.__name__: kind
    for kind in (bool, int, float, complex, str, bytes, list, tuple, dict, slice)
}
_STRUCTURE_NAMES["Ellipsis"] = Ellipsis


def is_plain(module: str, name: str) -> bool:
    """Whether a file that names this global object loads with ``weights_only``."""
    key = module, name
    if (
        key in _CALLS
        or key in (_ARRAY, TRACED_MODULE, _MODULE, GROUP)
        or record_class(module, name)
    ):
        return True
    if key in NAMED_DTYPES:
        return True
    if module in _BUILTINS and name in _STRUCTURE_NAMES:
        return True
    if key == plain_quantised.META or key in plain_quantised.WITH_STATE:
        return True
    return key in tensor_classes() or module_class(*key) is not None


class Reader(ArrayReader):
    """A machine that makes all that may be loaded."""

    def is_allowed(self, module: str, name: str) -> bool:
        return is_plain(module, name)

    def _named_value(self, name: Name):
        """The value of a name: a name in the structures of traced modules, or the class of all
        Modules, which is never called here.
        """
        key = name.module, name.name
        found = record_class(*key) or self._tensors.get(key)
        if name.module in _BUILTINS:
            found = _STRUCTURE_NAMES.get(name.name)
        elif key == _MODULE:
            found = Module
        if found is None or not (self._has_graphs or key == _MODULE):
            raise UnsafePickleError(f"it holds {name} itself, not an object made by it")
        return found

    def call(self) -> None:
        arguments, function = self._pop(), self._pop()
        check(isinstance(function, Name), "it calls a value that is not a name")
        check(type(arguments) is tuple, "the arguments of a call are not a tuple")
        if (function.module, function.name) in self._tensors:
            self._push_tensor(function, arguments)
            return
        check((function.module, function.name) in _CALLS, f"it calls {function}")
        make, least, most = _CALLS[function.module, function.name]
        check(
            least <= len(arguments) <= most, f"{function} has {counted(len(arguments), 'argument')}"
        )
        self.push(make(self, *arguments))

    def new_object(self) -> None:
        arguments, kind = self._pop(), self._pop()
        check(isinstance(kind, Name) and type(arguments) is tuple, "it makes an object of no class")
        key = kind.module, kind.name
        if key in self._tensors:
            self._push_tensor(kind, arguments)
        elif module_class(*key) is not None:
            check(not arguments, f"it makes a {kind} with arguments")
            self._push_without_state(object.__new__(module_class(*key)))
        elif key == TRACED_MODULE:
            check(not arguments, f"it makes a {kind} with arguments")
            self._has_graphs = True
            self._push_without_state(object.__new__(traced_module_class()))
        elif key == GROUP:
            check(not arguments, f"it makes a {kind} with arguments")
            self._push_without_state(object.__new__(group_class()))
        elif key == plain_quantised.META:
            self.push(plain_quantised.dtype_meta(self, *arguments))
        elif key in plain_quantised.WITH_STATE:
            self._push_without_state(object.__new__(plain_quantised.WITH_STATE[key]))
        elif record_class(*key) is not None:
            parts = [self._value(part) for part in arguments]
            self._push_without_state(record_class(*key)(*parts))
        else:
            raise UnsafePickleError(
                f"it makes an object of {kind}, which is not one of its classes"
            )

    def _push_tensor(self, kind: Name, arguments: tuple) -> None:
        check(
            len(arguments) in (0, 3, 4, 5, 6, 7),
            f"{kind} has {counted(len(arguments), 'argument')}",
        )
        self.push(self.new_tensor(kind, *arguments))

    def _push_without_state(self, made) -> None:
        self._without_state[id(made)] = made
        self.push(made)

    def build(self) -> None:
        state, target = self._pop(), self._top()
        if isinstance(target, Module):
            self._once(self._without_state, target)
            check(
                type(state) is dict and all(type(k) is str for k in state), "a state is not a dict"
            )
            check(not any(k.startswith("__") for k in state), "a state has a special name")
            self.spend(len(state))
            type(target).__setstate__(target, state)
        elif isinstance(target, Record):
            self._once(self._without_state, target)
            check(type(state) in (dict, str), "a state is neither a dict nor a text")
            target.state = state
        elif isinstance(target, QParams):
            self._once(self._without_state, target)
            plain_quantised.give_state(target, state)
        elif type(target) is np.ndarray:
            self._once(self._unfinished, target)
            self._fill(target, state)
        elif isinstance(target, np.dtype):
            self._check_dtype_state(target, state)
        elif isinstance(target, Tensor):
            self._give_tensor_state(target, state)
        elif isinstance(target, group_class()):
            self._once(self._without_state, target)
            check(give_group_state(target, state), "a group has strange ranks")
        else:
            raise UnsafePickleError(f"it gives a state to a {type(target).__name__}")

    @staticmethod
    def _once(waiting: dict, target) -> None:
        check(waiting.pop(id(target), None) is target, "it gives a state to an object twice")

    # Constructors of plain values.

    def ordered_dict(self) -> OrderedDict:
        return OrderedDict()

    def default_dict(self, factory=None) -> dict:
        # No function from the file may be called, so there are no defaults.
        return {}

    def type_of(self, value) -> type:
        if value is None:
            return type(None)
        is_ellipsis = isinstance(value, Name) and value.name == "Ellipsis"
        check(is_ellipsis and value.module in _BUILTINS, "it reads the class of an object")
        return type(Ellipsis)

    def no_bytes(self) -> bytes:
        return b""

    def set_of(self, values) -> set:
        check(type(values) is list, "a set is made of no list")
        self.spend(len(values))
        return {self._key(value) for value in values}

    def frozen_set_of(self, values) -> frozenset:
        return frozenset(self.set_of(values))

    def encoded(self, text, encoding) -> bytes:
        check(
            type(text) is str and encoding == "latin1", "bytes in it are encoded in a strange way"
        )
        self.spend(len(text) // STEP_BYTES)
        try:
            return text.encode("latin1")
        except UnicodeEncodeError:
            raise UnsafePickleError("bytes in it are damaged") from None


# Every function that a file may name, with the fewest and the most arguments. NumPy 1 and 2 define
# theirs in different modules.
_CALLS = {
    ("collections", "OrderedDict"): (Reader.ordered_dict, 0, 0),
    ("collections", "defaultdict"): (Reader.default_dict, 0, 1),
    ("_codecs", "encode"): (Reader.encoded, 2, 2),
    ("megengine._mge", "Device"): (Reader.device, 1, 1),
    ("megengine.tensor", "_restored"): (Reader.restored_tensor, 4, 8),
    ("numpy", "dtype"): (Reader.dtype, 1, 3),
}
for _name, (_make, _count) in plain_quantised.CALLS.items():
    _CALLS[_name] = (_make, _count, _count)
# Sets have an instruction since protocol 4, bytes since protocol 3.
for _home in _BUILTINS:
    _CALLS[_home, "type"] = (Reader.type_of, 1, 1)
    _CALLS[_home, "bytes"] = (Reader.no_bytes, 0, 0)
    _CALLS[_home, "set"] = (Reader.set_of, 1, 1)
    _CALLS[_home, "frozenset"] = (Reader.frozen_set_of, 1, 1)
for _home in ("numpy._core", "numpy.core"):
    _CALLS[f"{_home}.multiarray", "_reconstruct"] = (Reader.empty_array, 3, 3)
    _CALLS[f"{_home}.multiarray", "scalar"] = (Reader.scalar, 2, 2)
    _CALLS[f"{_home}.numeric", "_frombuffer"] = (Reader.array_of, 4, 4)
