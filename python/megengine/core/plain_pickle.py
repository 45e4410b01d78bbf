# SPDX-License-Identifier: Apache-2.0
"""Pickles of tensors, state and this package's modules, read without running what is in them.

A pickle is a program. This is a machine for a small part of it: plain values and containers, and
calls of a few constructors, each a function here that checks its arguments. No name in a file is
looked up, but in the table of these; no other object is called, given attributes or a state; a
container takes elements only if this machine made it. Memory is bounded: by the number of steps,
and arrays together hold no more bytes than the file has.
"""

import functools
import pickle
import struct
import threading
from collections import OrderedDict

import numpy as np

from .. import _mge
from . import plain_quantised
from .graph_records import TRACED_MODULE, Record, record_class
from .plain_modules import GROUP, give_group_state, group_class, module_class
from .tensor.dtype import intb1, intb2, intb4, is_lowbit
from .tensor.qparams import QParams

_BUILTINS = ("builtins", "__builtin__")
_STEP_BYTES = 128  # what an object and its places on the stack and in the memo take at most
_SCALARS = (bool, int, float, str, bytes, type(None))
_DTYPES = frozenset("b1 i1 i2 i4 i8 u1 u2 u4 u8 f2 f4 f8 c8".split())
_BFLOAT16 = {"mgb_dtype": {"name": "bfloat16"}}
_MARK = object()
_ARRAY = ("numpy", "ndarray")
_TENSOR_HOMES = ("megengine.tensor", "megengine")
_MODULE = ("megengine.module.module", "Module")
# In the structures of traced modules some names stand for themselves.
_STRUCTURE_NAMES = {
    kind.__name__: kind
    for kind in (bool, int, float, complex, str, bytes, list, tuple, dict, slice)
}
_STRUCTURE_NAMES["Ellipsis"] = Ellipsis


class _Reading(threading.local):
    is_plain = False  # this thread reads a file of which nothing may be run


_reading = _Reading()


class UnsafePickleError(pickle.UnpicklingError):
    """A file that is no plain pickle, or a damaged one."""


class _Name:
    """Stands for the global object that a file names."""

    __slots__ = ("module", "name")

    def __init__(self, module: str, name: str):
        self.module, self.name = module, name

    def __str__(self) -> str:
        return f"{self.module}.{self.name}"


def _check(condition: bool, what: str) -> None:
    if not condition:
        raise UnsafePickleError(what)


@functools.cache
def _tensor_classes() -> dict[tuple[str, str], type]:
    from ..tensor import Parameter, Tensor

    return {(home, c.__name__): c for c in (Tensor, Parameter) for home in _TENSOR_HOMES}


def allow_import(name: str) -> None:
    """Refuse to import what a file names while it is read as plain data.

    Args:
        name: of the object that is needed, with its module.
    Raises:
        UnsafePickleError: it is read as plain data.
    """
    _check(not _reading.is_plain, f"it names {name}, which is not among what may be loaded")


def is_plain(module: str, name: str) -> bool:
    """Whether a file that names this global object loads with ``weights_only``."""
    key = module, name
    if (
        key in _CALLS
        or key in (_ARRAY, TRACED_MODULE, _MODULE, GROUP)
        or record_class(module, name)
    ):
        return True
    if key in _LOW_BIT:
        return True
    if module in _BUILTINS and name in _STRUCTURE_NAMES:
        return True
    if key == plain_quantised.META or key in plain_quantised.WITH_STATE:
        return True
    return key in _tensor_classes() or module_class(*key) is not None


def load_plain(content: bytes | memoryview, label: str):
    """The object that a plain pickle holds.

    Args:
        content: of the file.
        label: names the file in errors.
    Returns:
        The object, and how many bytes it took.
    Raises:
        UnsafePickleError: it is damaged, or names something else.
    """
    before, _reading.is_plain = _reading.is_plain, True
    try:
        machine = _Machine(content)
        return machine.run(), machine.position
    except UnsafePickleError as error:
        raise UnsafePickleError(
            f"[load] {label} cannot be loaded with weights_only: {error}"
        ) from None
    except (ValueError, TypeError, OverflowError, MemoryError) as error:
        raise UnsafePickleError(f"[load] {label} is damaged: {error}") from None
    finally:
        _reading.is_plain = before


class _Machine:
    """One run over one file."""

    def __init__(self, content: bytes | memoryview):
        self._bytes = memoryview(content)
        self.position = 0
        self._steps = max(_mge.file_limit(), len(self._bytes)) // _STEP_BYTES
        self._array_bytes = len(self._bytes)
        self._stack: list = []
        self._memo: dict = {}
        # Arrays that wait for their content, modules that wait for their state, tuples that hold
        # names: the first and the last may not be used elsewhere.
        self._unfinished: dict[int, np.ndarray] = {}
        self._without_state: dict[int, object] = {}
        self._arguments: dict[int, tuple] = {}
        self._tensors = _tensor_classes()
        self._has_graphs = False  # it names a traced module

    def run(self):
        while True:
            self._steps -= 1
            _check(self._steps >= 0, "it holds more objects than MGE_FILE_LIMIT allows")
            code = self._take(1)[0]
            if code == ord("."):
                break
            step = _STEPS.get(code)
            _check(
                step is not None, f"it has the instruction {bytes([code])!r}, which is not allowed"
            )
            step(self)
        _check(len(self._stack) == 1, "it ends with a stack of another height")
        return self._value(self._pop())

    # Bytes and the stack.

    def _take(self, count: int) -> memoryview:
        _check(0 <= count <= len(self._bytes) - self.position, "it is cut off")
        part = self._bytes[self.position : self.position + count]
        self.position += count
        return part

    def _number(self, form: str) -> int:
        return struct.unpack("<" + form, self._take(struct.calcsize("<" + form)))[0]

    def _pop(self):
        _check(bool(self._stack) and self._stack[-1] is not _MARK, "its stack is empty")
        return self._stack.pop()

    def _pop_to_mark(self) -> list:
        at = len(self._stack)
        while at and self._stack[at - 1] is not _MARK:
            at -= 1
        _check(at > 0, "it has no mark")
        found = self._stack[at:]
        del self._stack[at - 1 :]
        self._steps -= len(found) // 8
        return found

    def _value(self, value):
        """What may be an element, or the result."""
        if isinstance(value, _Name):
            return self._named_value(value)
        if id(value) in self._arguments:
            _check(self._has_graphs, "it holds the arguments of a call")
            return tuple(self._value(part) for part in value)
        _check(id(value) not in self._unfinished, "it uses an array before its content is there")
        return value

    def _named_value(self, name: _Name):
        """What a name stands for in the structures of traced modules; the class of all Modules
        anywhere, which nothing here calls.
        """
        key = name.module, name.name
        found = record_class(*key) or self._tensors.get(key)
        if name.module in _BUILTINS:
            found = _STRUCTURE_NAMES.get(name.name)
        elif key == _MODULE:
            from ..module import Module as found
        if found is None or not (self._has_graphs or key == _MODULE):
            raise UnsafePickleError(f"it holds {name} itself, not an object made by it")
        return found

    def _key(self, value):
        # Hashing nested tuples recurses, and objects of others would run code.
        if isinstance(value, Record):
            return value
        parts = value if type(value) is tuple else (value,)
        _check(
            all(type(part) in _SCALARS for part in parts),
            "a key is neither plain nor a tuple of such",
        )
        return value

    # Instructions.

    def push(self, value) -> None:
        self._stack.append(value)

    def integer(self) -> None:
        self.push(int.from_bytes(self._take(self._number("B")), "little", signed=True))

    def text(self, form: str) -> None:
        raw = bytes(self._take(self._number(form)))
        try:
            self.push(raw.decode("utf-8", "surrogatepass"))
        except UnicodeDecodeError:
            raise UnsafePickleError("a text in it is damaged") from None

    def data(self, form: str) -> None:
        self.push(bytes(self._take(self._number(form))))

    def tuple(self, parts: list) -> None:
        made = tuple(parts)
        if any(isinstance(part, _Name) or id(part) in self._arguments for part in parts):
            self._arguments[id(made)] = made
        for part in parts:
            _check(id(part) not in self._unfinished, "it uses an array before its content is there")
        self.push(made)

    def short_tuple(self, count: int) -> None:
        parts = [self._pop() for _ in range(count)]
        self.tuple(parts[::-1])

    def append(self, values: list) -> None:
        target = self._top()
        _check(type(target) is list, "it appends to what is no list")
        target.extend(self._value(value) for value in values)

    def set_items(self, values: list) -> None:
        target = self._top()
        _check(type(target) in (dict, OrderedDict), "it sets items of what is no dict")
        _check(len(values) % 2 == 0, "a key in it has no value")
        for key, value in zip(values[::2], values[1::2], strict=True):
            target[self._key(self._value(key))] = self._value(value)

    def add_items(self) -> None:
        values = self._pop_to_mark()
        target = self._top()
        _check(type(target) is set, "it adds to what is no set")
        target.update(self._key(self._value(value)) for value in values)

    def frozen_set(self) -> None:
        self.push(frozenset(self._key(self._value(value)) for value in self._pop_to_mark()))

    def _top(self):
        _check(bool(self._stack), "its stack is empty")
        return self._stack[-1]

    def remember(self, key: int) -> None:
        self._memo[key] = self._top()

    def recall(self, key: int) -> None:
        _check(key in self._memo, "it recalls what it has not remembered")
        self.push(self._memo[key])

    def name(self, module, name) -> None:
        _check(type(module) is str and type(name) is str, "a name in it is no text")
        if not is_plain(module, name):
            raise UnsafePickleError(
                f"it names {module}.{name}, which is not among what may be loaded"
            )
        self.push(_Name(module, name))

    def named_in_lines(self) -> None:
        words = []
        for _ in range(2):
            end = bytes(self._bytes[self.position : self.position + 1024]).find(b"\n")
            _check(end >= 0, "a name in it is cut off")
            words.append(bytes(self._take(end + 1))[:-1].decode("utf-8", "replace"))
        self.name(*words)

    def named_on_stack(self) -> None:
        name = self._pop()
        self.name(self._pop(), name)

    def call(self) -> None:
        arguments, function = self._pop(), self._pop()
        _check(isinstance(function, _Name), "it calls what is no name")
        _check(type(arguments) is tuple, "the arguments of a call are no tuple")
        _check((function.module, function.name) in _CALLS, f"it calls {function}")
        make, least, most = _CALLS[function.module, function.name]
        _check(least <= len(arguments) <= most, f"{function} has {len(arguments)} arguments")
        self.push(make(self, *arguments))

    def new_object(self) -> None:
        arguments, kind = self._pop(), self._pop()
        _check(
            isinstance(kind, _Name) and type(arguments) is tuple, "it makes an object of no class"
        )
        key = kind.module, kind.name
        if key in self._tensors:
            _check(len(arguments) in (0, 3, 4, 5, 6, 7), f"{kind} has {len(arguments)} arguments")
            self.push(self.new_tensor(kind, *arguments))
        elif module_class(*key) is not None:
            _check(not arguments, f"it makes a {kind} with arguments")
            self._push_without_state(object.__new__(module_class(*key)))
        elif key == TRACED_MODULE:
            from ..traced_module import TracedModule

            _check(not arguments, f"it makes a {kind} with arguments")
            self._has_graphs = True
            self._push_without_state(object.__new__(TracedModule))
        elif key == GROUP:
            _check(not arguments, f"it makes a {kind} with arguments")
            self._push_without_state(object.__new__(group_class()))
        elif key == plain_quantised.META:
            self.push(plain_quantised.dtype_meta(self, *arguments))
        elif key in plain_quantised.WITH_STATE:
            self._push_without_state(object.__new__(plain_quantised.WITH_STATE[key]))
        elif record_class(*key) is not None:
            parts = [self._value(part) for part in arguments]
            self._push_without_state(record_class(*key)(*parts))
        else:
            raise UnsafePickleError(f"it makes an object of {kind}, which is no class of its own")

    def _push_without_state(self, made) -> None:
        self._without_state[id(made)] = made
        self.push(made)

    def build(self) -> None:
        from ..module import Module
        from ..tensor import Tensor

        state, target = self._pop(), self._top()
        if isinstance(target, Module):
            self._once(self._without_state, target)
            _check(type(state) is dict and all(type(k) is str for k in state), "a state is no dict")
            _check(not any(k.startswith("__") for k in state), "a state has a special name")
            type(target).__setstate__(target, state)
        elif isinstance(target, Record):
            self._once(self._without_state, target)
            _check(type(state) in (dict, str), "a state is neither a dict nor a text")
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
            _check(give_group_state(target, state), "a group has strange ranks")
        else:
            raise UnsafePickleError(f"it gives a state to a {type(target).__name__}")

    @staticmethod
    def _once(waiting: dict, target) -> None:
        _check(waiting.pop(id(target), None) is target, "it gives a state to an object twice")

    # Constructors.

    def ordered_dict(self) -> OrderedDict:
        return OrderedDict()

    def default_dict(self, factory=None) -> dict:
        # Nobody may call what the file gives, so there are no defaults.
        return {}

    def type_of(self, value) -> type:
        if value is None:
            return type(None)
        is_ellipsis = isinstance(value, _Name) and value.name == "Ellipsis"
        _check(is_ellipsis and value.module in _BUILTINS, "it asks for the class of an object")
        return type(Ellipsis)

    def no_bytes(self) -> bytes:
        return b""

    def set_of(self, values) -> set:
        _check(type(values) is list, "a set is made of no list")
        return {self._key(value) for value in values}

    def frozen_set_of(self, values) -> frozenset:
        return frozenset(self.set_of(values))

    def device(self, name):
        _check(type(name) is str, "a device is no name")
        return _mge.Device(name)

    def restored_tensor(self, kind, array, dtype, device, *ignored):
        _check(isinstance(kind, _Name), "a tensor's class is no name")
        return self.new_tensor(kind, array, dtype, device, *ignored)

    def new_tensor(self, kind, array=None, dtype=None, device=None, *ignored):
        cls = self._tensors.get((kind.module, kind.name))
        _check(cls is not None, f"{kind} is no class of tensors")
        if array is None:
            return cls([])
        _check(
            type(array) is np.ndarray and id(array) not in self._unfinished,
            "a tensor is made of no array",
        )
        _check(dtype is None or isinstance(dtype, np.dtype), "a tensor's dtype is none")
        _check(device is None or type(device) is str, "a tensor's device is none")
        self._count(array.nbytes)
        callback = cls.dmap_callback
        if callback is not None and device is not None:
            device = callback(device)
        return cls(np.array(array), dtype=dtype, device=device)

    def _give_tensor_state(self, tensor, state) -> None:
        _check(type(state) is dict, "a tensor's state is no dict")
        if isinstance(state.get("qparams"), QParams):
            tensor._qparams = state["qparams"]
        if "data" not in state:
            return
        kind = _Name("megengine.tensor", "Tensor")
        tensor._reset(self.new_tensor(kind, state["data"], state.get("dtype"), state.get("device")))

    def empty_array(self, kind, shape, code) -> np.ndarray:
        _check(
            isinstance(kind, _Name) and str(kind) == "numpy.ndarray", "an array is of another class"
        )
        _check(shape == (0,), "an array begins with a shape")
        made = np.zeros(0, np.int8)
        self._unfinished[id(made)] = made
        return made

    def array_of(self, buffer, dtype, shape, order) -> np.ndarray:
        _check(type(order) is str and order in "CF", "an array has a strange order")
        return self._array(buffer, dtype, shape).reshape(shape, order=order).copy(order=order)

    def scalar(self, dtype, data):
        return self._array(data, dtype, ()).reshape(())[()]

    def dtype(self, code, align=False, copy=False) -> np.dtype:
        if isinstance(code, _Name) and (code.module, code.name) in _LOW_BIT:
            return _LOW_BIT[code.module, code.name]
        _check(
            type(code) is str and code in _DTYPES, "an array has a dtype that tensors cannot have"
        )
        return np.dtype(code)

    def encoded(self, text, encoding) -> bytes:
        _check(
            type(text) is str and encoding == "latin1", "bytes in it are encoded in a strange way"
        )
        try:
            return text.encode("latin1")
        except UnicodeEncodeError:
            raise UnsafePickleError("bytes in it are damaged") from None

    def _fill(self, array: np.ndarray, state) -> None:
        _check(type(state) is tuple and len(state) == 5, "the content of an array is damaged")
        version, shape, dtype, is_fortran, data = state
        _check(version == 1 and type(is_fortran) is bool, "the content of an array is damaged")
        self._array(data, dtype, shape)
        array.__setstate__((1, shape, dtype, is_fortran, bytes(data)))

    def _array(self, data, dtype, shape) -> np.ndarray:
        """The elements in one row, checked against the shape."""
        _check(
            isinstance(dtype, np.dtype) and type(data) is bytes,
            "the content of an array is damaged",
        )
        _check(type(shape) is tuple and len(shape) <= 32, "the shape of an array is damaged")
        count = 1
        for extent in shape:
            _check(
                type(extent) is int and 0 <= extent < 1 << 62, "the shape of an array is damaged"
            )
            count *= extent
        _check(
            count * dtype.itemsize == len(data), "an array has more or fewer bytes than its shape"
        )
        self._count(len(data))
        if is_lowbit(dtype):
            np.frombuffer(data, np.int8).astype(dtype)  # it refuses what such a dtype cannot hold
        return np.frombuffer(data, dtype)

    def _count(self, array_bytes: int) -> None:
        # Twice: as an array and as a tensor.
        self._array_bytes -= array_bytes / 2
        _check(self._array_bytes >= 0, "it uses the same bytes over and over")

    def _check_dtype_state(self, dtype: np.dtype, state) -> None:
        plain = (None, None, None, 1, 1) if is_lowbit(dtype) else (None, None, None, -1, -1)
        _check(type(state) is tuple and len(state) in (8, 9), "a dtype in it is damaged")
        _check(state[0] in (3, 4) and state[1] in ("<", "=", "|"), "an array is not little-endian")
        _check(tuple(state[2:7]) == plain, "a dtype in it has parts")
        _check(state[7] == 0 or is_lowbit(dtype), "a dtype in it has flags")
        if len(state) == 9 and state[8]:
            is_bfloat16 = state[8] == _BFLOAT16 and dtype == np.uint16
            made = _mge.bfloat16 if is_bfloat16 else plain_quantised.dtype_of(dtype, state[8])
            self._replace(dtype, made)

    def _replace(self, old, new) -> None:
        self._steps -= len(self._memo) // 8
        self._stack[-1] = new
        for key, value in self._memo.items():
            if value is old:
                self._memo[key] = new


# The classes by which arrays of these dtypes name them.
_LOW_BIT = {(d.type.__module__, d.type.__name__): d for d in (intb1, intb2, intb4)}

# Every function that a file may name, with the fewest and the most arguments. NumPy 1 and 2 have
# different homes for theirs.
_CALLS = {
    ("collections", "OrderedDict"): (_Machine.ordered_dict, 0, 0),
    ("collections", "defaultdict"): (_Machine.default_dict, 0, 1),
    ("_codecs", "encode"): (_Machine.encoded, 2, 2),
    ("megengine._mge", "Device"): (_Machine.device, 1, 1),
    ("megengine.tensor", "_restored"): (_Machine.restored_tensor, 4, 8),
    ("numpy", "dtype"): (_Machine.dtype, 1, 3),
}
for _name, (_make, _count) in plain_quantised.CALLS.items():
    _CALLS[_name] = (_make, _count, _count)
# Before protocol 4 sets had no instruction of their own, before 3 bytes had none.
for _home in _BUILTINS:
    _CALLS[_home, "type"] = (_Machine.type_of, 1, 1)
    _CALLS[_home, "bytes"] = (_Machine.no_bytes, 0, 0)
    _CALLS[_home, "set"] = (_Machine.set_of, 1, 1)
    _CALLS[_home, "frozenset"] = (_Machine.frozen_set_of, 1, 1)
for _home in ("numpy._core", "numpy.core"):
    _CALLS[f"{_home}.multiarray", "_reconstruct"] = (_Machine.empty_array, 3, 3)
    _CALLS[f"{_home}.multiarray", "scalar"] = (_Machine.scalar, 2, 2)
    _CALLS[f"{_home}.numeric", "_frombuffer"] = (_Machine.array_of, 4, 4)

_STEPS = {
    pickle.PROTO[0]: lambda m: m._take(1),
    pickle.FRAME[0]: lambda m: m._take(8),
    pickle.MARK[0]: lambda m: m.push(_MARK),
    pickle.POP[0]: lambda m: m._pop(),
    pickle.POP_MARK[0]: lambda m: m._pop_to_mark(),
    pickle.NONE[0]: lambda m: m.push(None),
    pickle.NEWTRUE[0]: lambda m: m.push(True),
    pickle.NEWFALSE[0]: lambda m: m.push(False),
    pickle.BININT[0]: lambda m: m.push(m._number("i")),
    pickle.BININT1[0]: lambda m: m.push(m._number("B")),
    pickle.BININT2[0]: lambda m: m.push(m._number("H")),
    pickle.LONG1[0]: _Machine.integer,
    pickle.BINFLOAT[0]: lambda m: m.push(struct.unpack(">d", m._take(8))[0]),
    pickle.SHORT_BINUNICODE[0]: lambda m: m.text("B"),
    pickle.BINUNICODE[0]: lambda m: m.text("I"),
    pickle.BINUNICODE8[0]: lambda m: m.text("Q"),
    pickle.SHORT_BINBYTES[0]: lambda m: m.data("B"),
    pickle.BINBYTES[0]: lambda m: m.data("I"),
    pickle.BINBYTES8[0]: lambda m: m.data("Q"),
    pickle.BYTEARRAY8[0]: lambda m: m.data("Q"),
    pickle.EMPTY_LIST[0]: lambda m: m.push([]),
    pickle.APPEND[0]: lambda m: m.append([m._pop()]),
    pickle.APPENDS[0]: lambda m: m.append(m._pop_to_mark()),
    pickle.EMPTY_TUPLE[0]: lambda m: m.push(()),
    pickle.TUPLE[0]: lambda m: m.tuple(m._pop_to_mark()),
    pickle.TUPLE1[0]: lambda m: m.short_tuple(1),
    pickle.TUPLE2[0]: lambda m: m.short_tuple(2),
    pickle.TUPLE3[0]: lambda m: m.short_tuple(3),
    pickle.EMPTY_DICT[0]: lambda m: m.push({}),
    pickle.SETITEM[0]: lambda m: m.set_items([m._pop(), m._pop()][::-1]),
    pickle.SETITEMS[0]: lambda m: m.set_items(m._pop_to_mark()),
    pickle.EMPTY_SET[0]: lambda m: m.push(set()),
    pickle.ADDITEMS[0]: _Machine.add_items,
    pickle.FROZENSET[0]: _Machine.frozen_set,
    pickle.MEMOIZE[0]: lambda m: m.remember(len(m._memo)),
    pickle.BINPUT[0]: lambda m: m.remember(m._number("B")),
    pickle.LONG_BINPUT[0]: lambda m: m.remember(m._number("I")),
    pickle.BINGET[0]: lambda m: m.recall(m._number("B")),
    pickle.LONG_BINGET[0]: lambda m: m.recall(m._number("I")),
    pickle.GLOBAL[0]: _Machine.named_in_lines,
    pickle.STACK_GLOBAL[0]: _Machine.named_on_stack,
    pickle.REDUCE[0]: _Machine.call,
    pickle.NEWOBJ[0]: _Machine.new_object,
    pickle.BUILD[0]: _Machine.build,
}
