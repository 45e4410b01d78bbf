# SPDX-License-Identifier: Apache-2.0
"""``Tensor`` and ``Parameter``: values on a device.

A Tensor never shares its value with another one: in-place operators and item assignment give the
object a new value. The C++ base class defines the arithmetic; methods built from operators are
here.
"""

import copy
import copyreg
import math
import warnings
from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _mge
from .core import complex_numbers, quantised
from .core.hints import hint_for, with_hints
from .core.printing import printing
from .core.tensor import indexing, shaping
from .core.tensor.dtype import checked_dtype, is_bfloat16, is_complex, is_quantize
from .core.tensor.qparams import QParams, create_qparams
from .core.tensor.reduction import reduced, reduced_for_numpy
from .core.tensor.shape_arguments import shape_of_arguments
from .core.tracing_state import state

# Faster than super(): numpy() of a small Tensor takes a fraction of a microsecond.
_numpy, _item, _tolist = _mge.Tensor.numpy, _mge.Tensor.item, _mge.Tensor.tolist


class Tensor(_mge.Tensor):
    """An array on a device.

    Args:
        data: number, (nested) list, NumPy array or Tensor. float64 becomes float32, int64 becomes
            int32, complex128 complex64; the value of a Tensor is shared, not copied.
        dtype: dtype of the result; None takes that of ``data``.
        device: for example ``"cpu0"``; None takes that of ``data``, else the default device.
        is_const: a trace may treat the value as a constant.
        no_cache: copy the data even if it could be shared.
        name: name shown in dumped graphs.
        format: ``"default"``, ``"nchw"`` or ``"nhwc"``: a tag, the memory stays as it is.
    Raises:
        RuntimeError: the dtype of ``data`` is not supported.
    Example:
        >>> Tensor([1.0, 2.0]) + 1
        Tensor([2. 3.], device=xpux:0)
    """

    _qparams: QParams | None = None
    dmap_callback = None  # set by megengine.load; called by Tensors with a device name
    __array_priority__ = 1000  # NumPy leaves ``ndarray + Tensor`` to Tensor

    @property
    def size(self):
        """Number of elements; an int32 Tensor under a trace with symbolic shapes.

        Example:
            >>> Tensor([[1, 2, 3]]).size
            3
        """
        return self.shape.prod() if state.symbolic_shape else math.prod(self._tuple_shape)

    @property
    def T(self) -> "Tensor":
        """The Tensor with its axes reversed.

        Example:
            >>> Tensor([[1, 2, 3]]).T.shape
            (3, 1)
        """
        return self.transpose()

    @property
    def qparams(self) -> QParams:
        """How to quantise the values; modules of ``module.qat`` pass it on.

        Example:
            >>> Tensor([1.0]).qparams.scale is None
            True
        """
        if self._qparams is None:
            self._qparams = create_qparams()
        return self._qparams

    def _requires_grad(self, value):
        raise AttributeError("Tensor has no requires_grad; attach it to an autodiff.GradManager")

    requires_grad = property(None, _requires_grad)

    if not TYPE_CHECKING:  # a checker of types would accept any name

        def __getattr__(self, name):
            if name != "requires_grad" and hasattr(type(self), name):
                # A property of a subclass has failed: its own error says why.
                return object.__getattribute__(self, name)
            hint = hint_for("megengine.Tensor", name)
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}{hint}")

    def __setitem__(self, index, value):
        indexing.setitem(self, index, value)

    def __len__(self) -> int:
        shape = self._tuple_shape
        if not shape:
            raise TypeError("a Tensor of rank 0 has no length")
        if state.names is not None:
            state.names.note_length(self, shape[0])
        return shape[0]

    def __iter__(self) -> Iterator["Tensor"]:
        if not self._tuple_shape:
            raise TypeError("a Tensor of rank 0 cannot be iterated over")
        return (self[i] for i in range(len(self)))

    def __contains__(self, value):
        raise NotImplementedError("[Tensor] `in` is not defined; use F.equal and a reduction")

    def __bool__(self) -> bool:
        names = state.names
        return super().__bool__() if names is None else names.noted(self, super().__bool__, True)

    def __int__(self) -> int:
        names = state.names
        return super().__int__() if names is None else names.noted(self, super().__int__)

    def __index__(self) -> int:
        names = state.names
        return super().__index__() if names is None else names.noted(self, super().__index__)

    def __float__(self) -> float:
        names = state.names
        return super().__float__() if names is None else names.noted(self, super().__float__)

    def numpy(self) -> np.ndarray[Any, Any]:
        """A read-only array on the same memory; ``dump`` warns if it contains shapes of inputs."""
        return _numpy(self) if state.names is None else self._noted(_numpy)

    def item(self, *args: Any) -> Any:
        """The only element, or the one at an index, as a Python number."""
        return _item(self, *args) if state.names is None else self._noted(_item, *args)

    def tolist(self) -> Any:
        """Nested lists of Python numbers."""
        return _tolist(self) if state.names is None else self._noted(_tolist)

    def _noted(self, read, *args) -> Any:
        return state.names.noted(self, partial(read, self, *args))

    def __trunc__(self):
        raise NotImplementedError("[Tensor] math.trunc is not defined; use F.floor or F.ceil")

    def __hash__(self) -> int:
        return id(self)

    def __array__(self, dtype=None, copy=None):
        array = self.numpy()
        wanted = array.dtype if dtype is None else np.dtype(dtype)
        is_moved = wanted != array.dtype or not self._is_on_host
        if copy is False and is_moved:
            raise ValueError(f"[Tensor] an array of {wanted} can only be made by copying")
        return array.astype(wanted, copy=bool(copy))

    @property
    def _is_on_host(self) -> bool:
        return self.device.physical_name.startswith("cpu")

    def __dlpack_device__(self) -> tuple[int, int]:
        """The kind and number of the device, as DLPack names them.

        Example:
            >>> Tensor([1.0]).__dlpack_device__()
            (1, 0)
        """
        kind, number = self.device.physical_name.partition(":")[0][:3], 0
        if kind != "cpu":
            number = int(self.device.physical_name.partition(":")[0][3:])
        return (1 if kind == "cpu" else 2), number

    def __dlpack__(self, stream=None, *, max_version=None, dl_device=None, copy=None):
        """A capsule of DLPack with the memory of the Tensor, for other libraries to take.

        Args:
            stream: the GPU stream that waits for the value: its address, None or 1 for the default
                stream, -1 to skip the wait. None on a CPU.
            max_version: newest version of DLPack that the consumer supports; None: versions below
                1.
            dl_device: the requested device, in the format of ``__dlpack_device__``.
            copy: True: always copy; False: an error if the memory cannot be shared.
        Returns:
            PyCapsule, which can be used once.
        Raises:
            BufferError: it cannot be exported so.
        Example:
            >>> np.from_dlpack(Tensor([1.0, 2.0]))
            array([1., 2.], dtype=float32)
        """
        where = self.__dlpack_device__() if dl_device is None else tuple(map(int, dl_device))
        on_host = where == (1, 0)
        if on_host and stream not in (None, -1):
            raise BufferError(f"[to_dlpack] a CPU has no streams, got {stream!r}")
        if not on_host and where != self.__dlpack_device__():
            raise BufferError(
                "[to_dlpack] capsules are made on the Tensor's device or on the CPU; use to() first"
            )
        versioned = max_version is not None and max_version[0] >= 1
        return _mge.to_dlpack(self, versioned, copy, on_host, stream)

    def __array_wrap__(self, array, context=None, return_scalar=False):
        return Tensor(array, device=self.device)

    def _repr_html_(self) -> str:
        """HTML for notebooks: the values, and below them shape, dtype and device."""
        import html  # 2 % of the package's import time

        if self._is_symbolic:
            return f"<pre>{html.escape(repr(self))}</pre>"
        about = f"{type(self).__name__}, shape {self._tuple_shape}, {self.dtype}, {self.device}"
        values = np.array2string(self.numpy(), separator=", ", threshold=200)
        return f"<pre>{html.escape(values)}</pre><small>{html.escape(about)}</small>"

    def reshape(self, *args) -> "Tensor":
        """As ``functional.reshape``; the shape may be one argument or several.

        Example:
            >>> Tensor([1, 2, 3, 4]).reshape(2, -1).shape
            (2, 2)
        """
        return shaping.reshaped(self, shape_of_arguments(args))

    def transpose(self, *args) -> "Tensor":
        """As ``functional.transpose``; without arguments the axes are reversed.

        Example:
            >>> Tensor([[1, 2, 3], [4, 5, 6]]).transpose(1, 0).shape
            (3, 2)
        """
        if not self.ndim:
            return shaping.copied(self)
        return shaping.transposed(self, shape_of_arguments(args))

    def flatten(self, start_axis: int = 0, end_axis: int = -1) -> "Tensor":
        """As ``functional.flatten``.

        Example:
            >>> Tensor([[1, 2], [3, 4]]).flatten().numpy().tolist()
            [1, 2, 3, 4]
        """
        return shaping.flattened(self, start_axis, end_axis)

    @with_hints
    def sum(self, axis=None, keepdims: bool = False, **others) -> "Tensor":
        """As ``functional.sum``; ``np.sum`` calls it, too.

        Example:
            >>> Tensor([[1, 2], [3, 4]]).sum(axis=0).numpy().tolist()
            [4, 6]
        """
        if others:
            return reduced_for_numpy(Tensor.sum, self, axis, keepdims, others)
        return reduced(_mge.ops.sum, self, axis, keepdims, "sum")

    @with_hints
    def prod(self, axis=None, keepdims: bool = False, **others) -> "Tensor":
        """As ``functional.prod``; ``np.prod`` calls it, too.

        Example:
            >>> Tensor([[1, 2], [3, 4]]).prod(axis=1).numpy().tolist()
            [2, 12]
        """
        if others:
            return reduced_for_numpy(Tensor.prod, self, axis, keepdims, others)
        return reduced(_mge.ops.prod, self, axis, keepdims, "prod")

    @with_hints
    def min(self, axis=None, keepdims: bool = False, **others) -> "Tensor":
        """As ``functional.min``; ``np.min`` calls it, too.

        Example:
            >>> Tensor([[1, 2], [3, 4]]).min(axis=1).numpy().tolist()
            [1, 3]
        """
        if others:
            return reduced_for_numpy(Tensor.min, self, axis, keepdims, others)
        return reduced(_mge.ops.min, self, axis, keepdims, "min")

    @with_hints
    def max(self, axis=None, keepdims: bool = False, **others) -> "Tensor":
        """As ``functional.max``; ``np.max`` calls it, too.

        Example:
            >>> Tensor([[1, 2], [3, 4]]).max(axis=1).numpy().tolist()
            [2, 4]
        """
        if others:
            return reduced_for_numpy(Tensor.max, self, axis, keepdims, others)
        return reduced(_mge.ops.max, self, axis, keepdims, "max")

    @with_hints
    def mean(self, axis=None, keepdims: bool = False, **others) -> "Tensor":
        """As ``functional.mean``; ``np.mean`` calls it, too.

        Example:
            >>> Tensor([[1.0, 2.0], [3.0, 4.0]]).mean().item()
            2.5
        """
        if others:
            return reduced_for_numpy(Tensor.mean, self, axis, keepdims, others)
        return reduced(_mge.ops.mean, self, axis, keepdims, "mean")

    def astype(self, dtype) -> "Tensor":
        """The values in another dtype.

        Args:
            dtype: the new dtype, or a Tensor with that dtype.
        Returns:
            Tensor of that dtype. Floats are truncated to integers, and rounded to the nearest step
            of a quantised dtype (halves away from zero).
        Raises:
            ValueError: there is no such dtype.
            RuntimeError: Tensors cannot have it.
        Example:
            >>> Tensor([1.5, 2.0]).astype("int32")
            Tensor([1 2], dtype=int32, device=xpux:0)
        """
        if isinstance(dtype, Tensor):
            dtype = dtype.dtype
        meaning = self._meaning
        if meaning is not None and meaning is dtype:
            return self
        if self._quantised is not None or is_quantize(dtype):
            return quantised.converted(self, dtype)
        if is_complex(dtype):
            return complex_numbers.to_complex(self)
        return _mge.ops.convert(self, dtype=checked_dtype(dtype))

    def to(self, device, *, _borrow: bool = False) -> "Tensor":
        """A copy on a device.

        Args:
            device: for example ``"cpu1"``.
        Returns:
            Tensor on that device.
        Raises:
            RuntimeError: there is no such device.
        Example:
            >>> Tensor([1.0]).to("cpu1").device == "cpu1:0"
            True
        """
        return shaping.copied(self, device)

    def share_memory(self) -> "Tensor":
        """Move the value to memory that other processes can have too: see ``multiprocessing``.

        Returns:
            The Tensor.
        Raises:
            RuntimeError: it is on neither CPU nor GPU, or the system has no shared memory left.
        Example:
            >>> Tensor([1.0]).share_memory().is_shared()
            True
        """
        _mge.share_memory(self)
        return self

    def is_shared(self) -> bool:
        """Whether the value is in memory that can be shared with other processes.

        Example:
            >>> Tensor([1.0]).is_shared()
            False
        """
        return _mge.is_shared(self)

    def _broadcast(self, shape) -> "Tensor":
        return shaping.broadcast(self, shape)

    def _isscalar(self) -> bool:
        return not self._tuple_shape

    def _dev_tensor(self) -> "Tensor":
        """The value alone, for code that feeds graphs manually."""
        return DeviceTensorND(self.detach())

    def _drop(self) -> None:
        """The value may go until it is needed: here it stays, as results do."""

    def set_value(self, value) -> None:
        """Give the object another value (deprecated: assign to ``x[...]``)."""
        warnings.warn("set_value is deprecated; use x[...] = value", DeprecationWarning, 2)
        self._reset(value)

    def reset_zero(self) -> None:
        """Multiply by zero in place (deprecated)."""
        warnings.warn("reset_zero is deprecated; use x[...] = 0", DeprecationWarning, 2)
        self._reset(self * 0)

    def __repr__(self) -> str:
        is_bf16 = is_bfloat16(self.dtype)
        with printing():
            text = str((self.astype("float32") if is_bf16 else super()).numpy())
        name = "bfloat16" if is_bf16 else np.dtype(self.dtype).name
        dtype = "" if name == "float32" else f", dtype={name}"
        return f"{type(self).__name__}({text}{dtype}, device={self.device})"

    __str__ = __repr__

    def __format__(self, spec: str) -> str:
        return (
            format(self.item(), spec)
            if spec and math.prod(self._tuple_shape) == 1
            else format(str(self), spec)
        )

    def __getnewargs__(self):
        return (self.numpy(), self.dtype, str(self.device))

    def __getstate__(self):
        return {} if self._qparams is None else {"qparams": self._qparams}

    def __setstate__(self, state) -> None:
        """Accepts the state of this version and of older ones."""
        if isinstance(state, dict) and "qparams" in state:
            self._qparams = state["qparams"]
        if isinstance(state, dict) and "data" in state:
            self._reset(Tensor(state["data"], dtype=state.get("dtype"), device=state.get("device")))

    def __reduce_ex__(self, protocol):
        # Calls that MegEngine supports, too, so that it can read the file. A subclass's own
        # __init__ is not called: its arguments are unknown.
        if type(self) in (Tensor, Parameter):
            return type(self), self.__getnewargs__(), self.__getstate__() or None
        made = copyreg.__newobj__, (type(self), *self.__getnewargs__())
        return *made, self.__getstate__() or None

    def __copy__(self):
        made = Tensor.__new__(type(self), self, name=self.name)
        made._qparams = self._qparams
        return made

    def __deepcopy__(self, memo):
        made = Tensor.__new__(type(self), self.numpy(), self.dtype, self.device, no_cache=True)
        made.format = self.format
        memo[id(self)] = made
        made._qparams = copy.deepcopy(self._qparams, memo)
        return made


class Parameter(Tensor):
    """A Tensor that a module learns: ``Module.parameters`` lists it, arithmetic gives Tensors.

    Example:
        >>> Parameter([1.0, 2.0])
        Parameter([1. 2.], device=xpux:0)
    """


class DeviceTensorND(Tensor):
    """A value alone, which also has its device under this name: the input of manual graphs."""

    @property
    def comp_node(self):
        """The same as ``device``."""
        return self.device


def _restored(cls, array, dtype, device, *ignored) -> Tensor:
    """A Tensor from a pickle."""
    cls = vars(cls).get("_made", cls)
    return Tensor.__new__(cls, array, dtype, device)


def restoring(cls: type[Tensor]) -> type:
    """The constructor of Tensors in MegEngine's pickles, where only ``__new__`` gets the values."""

    def __new__(_, array=None, dtype=None, device=None, *ignored):
        return cls([]) if array is None else _restored(cls, array, dtype, device)

    return type(cls.__name__, (), {"__new__": __new__, "_made": cls})


tensor = Tensor  # MegEngine's other name

_mge.set_tensor_class(Tensor)
