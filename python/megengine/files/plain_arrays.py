# SPDX-License-Identifier: Apache-2.0
"""Arrays and Tensors in plain pickles: their constructors check the arguments from the file.

All arrays together have at most as many bytes as the file.
"""

import functools

import numpy as np

from .. import _mge
from ..core.tensor.dtype import bfloat16, intb1, intb2, intb4, is_bfloat16, is_lowbit
from ..core.tensor.qparams import QParams
from ..tensor import Parameter, Tensor
from . import plain_quantised
from .plain_machine import Machine, Name, check

_DTYPES = frozenset("b1 i1 i2 i4 i8 u1 u2 u4 u8 f2 f4 f8 c8".split())
_BFLOAT16 = {"mgb_dtype": {"name": "bfloat16"}}
_TENSOR_HOMES = ("megengine.tensor", "megengine")
# The classes by which arrays of these dtypes name them, in MegEngine's files and in this package's.
_MEGENGINE_HOME = "megengine.core._imperative_rt"
MEGENGINE_DTYPES = {(_MEGENGINE_HOME, d.type.__name__): d for d in (bfloat16, intb1, intb2, intb4)}
NAMED_DTYPES = MEGENGINE_DTYPES | {
    (d.type.__module__, d.type.__name__): d for d in (bfloat16, intb1, intb2, intb4)
}


@functools.cache
def tensor_classes() -> dict[tuple[str, str], type]:
    return {(home, c.__name__): c for c in (Tensor, Parameter) for home in _TENSOR_HOMES}


def _text(value):
    """A text of Python 2 as one of Python 3."""
    return value.decode("latin1") if type(value) is bytes else value


class ArrayReader(Machine):
    """A machine that makes arrays, dtypes and Tensors."""

    def __init__(self, content: bytes | memoryview, has_old_texts: bool = False):
        super().__init__(content, has_old_texts)
        self._array_bytes = len(self._bytes)
        self._tensors = tensor_classes()

    def device(self, name):
        check(type(name) is str, "a device is not a name")
        return _mge.Device(name)

    def restored_tensor(self, kind, array, dtype, device, *ignored):
        check(isinstance(kind, Name), "a tensor's class is not a name")
        return self.new_tensor(kind, array, dtype, device, *ignored)

    def new_tensor(self, kind, array=None, dtype=None, device=None, *ignored):
        cls = self._tensors.get((kind.module, kind.name))
        check(cls is not None, f"{kind} is not a class of tensors")
        if array is None:
            return cls([])
        check(
            type(array) is np.ndarray and id(array) not in self._unfinished,
            "a tensor is made of no array",
        )
        check(dtype is None or isinstance(dtype, np.dtype), "a tensor's dtype is not a dtype")
        check(device is None or type(device) is str, "a tensor's device is not a device")
        self._count(array.nbytes)
        return cls(np.array(array), dtype=dtype, device=device)

    def _give_tensor_state(self, tensor, state) -> None:
        check(type(state) is dict, "a tensor's state is not a dict")
        if isinstance(state.get("qparams"), QParams):
            tensor._qparams = state["qparams"]
        if "data" not in state:
            return
        kind = Name("megengine.tensor", "Tensor")
        tensor._reset(self.new_tensor(kind, state["data"], state.get("dtype"), state.get("device")))

    def empty_array(self, kind, shape, code) -> np.ndarray:
        check(
            isinstance(kind, Name) and str(kind) == "numpy.ndarray", "an array is of another class"
        )
        check(shape == (0,), "an array begins with a shape")
        made = np.zeros(0, np.int8)
        self._unfinished[id(made)] = made
        return made

    def array_of(self, buffer, dtype, shape, order) -> np.ndarray:
        check(type(order) is str and order in "CF", "an array has a strange order")
        return self._array(buffer, dtype, shape).reshape(shape, order=order).copy(order=order)

    def scalar(self, dtype, data):
        return self._array(data, dtype, ()).reshape(())[()]

    def dtype(self, code, align=False, copy=False) -> np.dtype:
        if isinstance(code, Name) and (code.module, code.name) in NAMED_DTYPES:
            return NAMED_DTYPES[code.module, code.name]
        code = _text(code)
        check(
            type(code) is str and code in _DTYPES, "an array has a dtype that tensors cannot have"
        )
        return np.dtype(code)

    def _fill(self, array: np.ndarray, state) -> None:
        check(type(state) is tuple and len(state) == 5, "the content of an array is damaged")
        version, shape, dtype, is_fortran, data = state
        check(version == 1 and type(is_fortran) is bool, "the content of an array is damaged")
        self._array(data, dtype, shape)
        array.__setstate__((1, shape, dtype, is_fortran, bytes(data)))

    def _array(self, data, dtype, shape) -> np.ndarray:
        """The elements in one row, checked against the shape."""
        check(
            isinstance(dtype, np.dtype) and type(data) is bytes,
            "the content of an array is damaged",
        )
        check(type(shape) is tuple and len(shape) <= 32, "the shape of an array is damaged")
        count = 1
        for extent in shape:
            check(type(extent) is int and 0 <= extent < 1 << 62, "the shape of an array is damaged")
            count *= extent
        check(
            count * dtype.itemsize == len(data), "an array has more or fewer bytes than its shape"
        )
        self._count(len(data))
        if is_lowbit(dtype):
            np.frombuffer(data, np.int8).astype(dtype)  # it refuses values out of the range of such
            # a dtype
        return np.frombuffer(data, dtype)

    def _count(self, array_bytes: int) -> None:
        # Twice: as an array and as a tensor.
        self._array_bytes -= array_bytes / 2
        check(self._array_bytes >= 0, "it uses the same bytes over and over")

    def _check_dtype_state(self, dtype: np.dtype, state) -> None:
        is_named = is_lowbit(dtype) or is_bfloat16(dtype)
        size = dtype.itemsize if is_named else -1
        check(type(state) is tuple and len(state) in (8, 9), "a dtype in it is damaged")
        order = _text(state[1])
        check(state[0] in (3, 4), "a dtype in it is damaged")
        check(order in ("<", "=", "|", ">"), "a dtype in it has no byte order")
        check(tuple(state[2:7]) == (None, None, None, size, size), "a dtype in it has parts")
        check(state[7] == 0 or is_named, "a dtype in it has flags")
        made = dtype
        if len(state) == 9 and state[8]:
            is_half = state[8] == _BFLOAT16 and dtype == np.uint16
            made = bfloat16 if is_half else plain_quantised.dtype_of(dtype, state[8])
        if order == ">":
            made = made.newbyteorder(">")
        if made is not dtype:
            self._replace(dtype, made)

    def _replace(self, old, new) -> None:
        self.spend(len(self._memo) // 8)
        self._stack[-1] = new
        for key, value in self._memo.items():
            if value is old:
                self._memo[key] = new
