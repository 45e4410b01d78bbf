# SPDX-License-Identifier: Apache-2.0
"""Memory with a shape and a type of elements, on the host or on a device."""

from __future__ import annotations

from ctypes import byref, c_int, c_size_t, c_void_p
from math import prod

from . import _dlpack
from ._check import expect
from ._data import address_of, array_of, converted, require, sizes
from ._layout import MAX_DIM, LiteLayout, data_type_of, lite_dtype_2_numpy
from ._library import _LiteTensorDesc, library
from ._numpy import np
from .struct import LiteDataType, LiteDeviceType, LiteIOType  # noqa: F401 - also found here

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

__all__ = ["MAX_DIM", "LiteLayout", "LiteTensor", "LiteTensorConcat", "lite_dtype_2_numpy"]


class _Taken:
    """External memory that a tensor uses."""

    __slots__ = ("memory", "read_only")

    def __init__(self, memory: Any = None, read_only: range = range(0)) -> None:
        self.memory = memory  # owner of the memory
        self.read_only = read_only  # addresses that must not be written


class _View:
    """The owner of an array over a tensor's memory, which keeps the memory alive."""

    def __init__(self, interface: dict[str, Any], *keeps: Any) -> None:
        self.__array_interface__ = interface
        self._keeps = keeps


class LiteTensor:
    """A tensor, or a view of one; its memory is allocated when it is first needed.

    Args:
        layout: its shape and element type; None: those of ``shapes`` and ``dtype``.
        device_type: a LiteDeviceType.
        device_id: number of the device.
        is_pinned_host: host memory is pinned, which makes copies to and from the device faster.
        shapes: its shape.
        dtype: its element type, as for LiteLayout.
        physic_construct: False: no tensor is created yet.
    Raises:
        RuntimeError: there is no such device, or no operator supports that type.
    Example:
        >>> tensor = LiteTensor(shapes=[2, 3], dtype="int8")
        >>> tensor.set_data_by_copy([1, 2, 3, 4, 5, 6])
        >>> tensor.to_numpy()
        array([[1, 2, 3],
               [4, 5, 6]], dtype=int8)
    """

    _destroy = library.LITE_destroy_tensor  # still there when the interpreter ends

    def __init__(
        self,
        layout: LiteLayout | None = None,
        device_type: LiteDeviceType = LiteDeviceType.LITE_CPU,
        device_id: int = 0,
        is_pinned_host: bool = False,
        shapes: Sequence[int] | None = None,
        dtype: Any = None,
        physic_construct: bool = True,
    ) -> None:
        self._tensor: int | None = None
        self._network: Any = None  # the network that owns the tensor; None: this object owns it
        self._taken = _Taken()
        if not physic_construct:
            return
        if layout is None:
            layout = LiteLayout(shapes, dtype)
        made = c_void_p()
        description = _LiteTensorDesc(int(is_pinned_host), layout, device_type, device_id)
        library.LITE_make_tensor(description, byref(made))
        self._tensor = made.value

    @classmethod
    def _of(cls, handle: int | None, network: Any, taken: _Taken) -> LiteTensor:
        tensor = cls(physic_construct=False)
        tensor._tensor, tensor._network, tensor._taken = handle, network, taken
        return tensor

    def __del__(self) -> None:
        if getattr(self, "_tensor", None) and self._network is None:
            self._destroy(self._tensor)

    def __reduce__(self) -> Any:
        raise TypeError("a LiteTensor can be neither copied nor pickled; its to_numpy() can")

    def _get(self, function: Any) -> int:
        """Call a getter of the library that returns a number."""
        value = c_int()
        function(self._tensor, byref(value))
        return value.value

    @property
    def layout(self) -> LiteLayout:
        """Shape and type of elements; set from a LiteLayout, or from a shape.

        The memory stays when it is large enough.
        """
        layout = LiteLayout()
        library.LITE_get_tensor_layout(self._tensor, byref(layout))
        return layout

    @layout.setter
    def layout(self, layout: LiteLayout | Sequence[int]) -> None:
        if not isinstance(layout, LiteLayout):
            layout = LiteLayout(layout, self.layout.data_type)
        library.LITE_set_tensor_layout(self._tensor, layout)

    @property
    def is_pinned_host(self) -> bool:
        """Whether it is page-locked memory of the host, the fastest for copies to a device."""
        return bool(self._get(library.LITE_is_pinned_host))

    @property
    def device_type(self) -> LiteDeviceType:
        """The type of its device."""
        return LiteDeviceType(self._get(library.LITE_get_tensor_device_type))

    @property
    def device_id(self) -> int:
        """Number of its device."""
        return self._get(library.LITE_get_tensor_device_id)

    @property
    def is_continue(self) -> bool:
        """Whether its elements are contiguous; those of a slice may not be."""
        return bool(self._get(library.LITE_is_memory_continue))

    @property
    def nbytes(self) -> int:
        """Bytes of its elements; 0 without a layout."""
        size = c_size_t()
        library.LITE_get_tensor_total_size_in_byte(self._tensor, byref(size))
        return size.value

    def update(self) -> None:
        """Refresh the properties from the library; every access does so anyway."""

    def fill_zero(self) -> None:
        """Make all its elements 0.

        Raises:
            RuntimeError: it has no layout, or its memory is a read-only array.
        """
        self._require_writable()
        library.LITE_tensor_fill_zero(self._tensor)

    def share_memory_with(self, src_tensor: LiteTensor) -> None:
        """Share another tensor's memory, and take its layout and device.

        Args:
            src_tensor: a tensor on the host if this one is on the host, else on a device.
        Raises:
            RuntimeError: it has no layout, or only one of the two is on the host.
            TypeError: it is not a LiteTensor.
        """
        expect(LiteTensor, src_tensor, "share_memory_with")
        library.LITE_tensor_share_memory_with(self._tensor, src_tensor._tensor)
        lent = src_tensor._lent()
        self._take(lent.memory, lent.read_only)

    def copy_from(self, src_tensor: LiteTensor) -> None:
        """Copy another tensor's elements from any device.

        Args:
            src_tensor: the source; this tensor gets its layout, too, unless it is a slice with
                gaps.
        Raises:
            RuntimeError: it has no layout, or not the layout of this slice; or this tensor's memory
                is a read-only array.
            TypeError: it is not a LiteTensor.
        """
        expect(LiteTensor, src_tensor, "copy_from")
        self._require_writable()
        library.LITE_tensor_copy(self._tensor, src_tensor._tensor)

    def reshape(self, shape: Sequence[int]) -> None:
        """Give the same memory another shape.

        Args:
            shape: equally many elements; one number may be -1, which means the rest.
        Raises:
            RuntimeError: there are more or fewer elements, a size has more than 32 bits, or this is
                a slice with gaps.
        """
        sizes = [int(size) for size in shape]
        if any(c_int(size).value != size for size in sizes):
            raise RuntimeError(f"[LiteTensor] reshape: sizes have 32 bits, got {sizes}")
        library.LITE_tensor_reshape(self._tensor, (c_int * len(sizes))(*sizes), len(sizes))

    def slice(
        self, start: Sequence[int], end: Sequence[int], step: Sequence[int] | None = None
    ) -> LiteTensor:
        """Return a part of the tensor, in the same memory.

        Args:
            start: start indices in the first dimensions; the slice covers the others in full.
            end: end indices, as many as ``start``.
            step: steps, as many as ``start``; 1 by default.
        Raises:
            AssertionError: the lists differ in length.
            RuntimeError: they are not within the tensor.
        Example:
            >>> tensor = LiteTensor(shapes=[4, 8], dtype="int32")
            >>> tensor.set_data_by_copy(list(range(32)))
            >>> tensor.slice([1, 4], [3, 8]).to_numpy()
            array([[12, 13, 14, 15],
                   [20, 21, 22, 23]], dtype=int32)
        """
        starts, ends, steps = (sizes(s) if s is not None else None for s in (start, end, step))
        lengths = [len(sizes) for sizes in (starts, ends, steps) if sizes is not None]
        require(len(set(lengths)) == 1, f"start, end and step are equally long, got {lengths}")
        part = c_void_p()
        library.LITE_tensor_slice(self._tensor, starts, ends, steps, lengths[0], byref(part))
        return LiteTensor._of(part.value, None, self._lent())

    def get_ctypes_memory(self) -> c_void_p:
        """Return the address of its first element, on its device.

        Raises:
            RuntimeError: it has no layout.
        """
        address = c_void_p()
        library.LITE_get_tensor_memory(self._tensor, byref(address))
        return address

    def set_data_by_share(
        self, data: Any, length: int = 0, layout: LiteLayout | None = None
    ) -> None:
        """Use existing memory without a copy.

        Args:
            data: an array, which is kept and sets the tensor's type and shape; an array of another
                rank with as many elements keeps the tensor's shape, so a vector from a file can
                become an image. Or a ctypes pointer or an address, whose memory the caller keeps
                alive.
            length: number of bytes at a pointer; 0: the tensor's size.
            layout: a layout of the same size in bytes that the tensor gets first.
        Raises:
            AssertionError: the array or the tensor has gaps, the tensor is on a device, or the
                length differs from the tensor's.
            RuntimeError: no element type matches the array's.
            TypeError: the elements are objects, or have another byte order.
        Example:
            >>> import numpy as np
            >>> image = np.zeros([2, 2], "float32")
            >>> tensor = LiteTensor()
            >>> tensor.set_data_by_share(image)
            >>> image[0, 1] = 7
            >>> tensor.to_numpy()
            array([[0., 7.],
                   [0., 0.]], dtype=float32)
        """
        array = array_of(data)
        if array is not None:
            self._require_on_host("set_data_by_share of an array")
            data, address = array, array.ctypes.data
            layout = self._checked(layout or self._layout_for(array), array.nbytes)
        else:
            address = address_of(data)
            layout = self._checked(layout or self.layout, length)
        require(self.is_continue, "the tensor is a slice with gaps, which has its memory")
        library.LITE_reset_tensor(self._tensor, layout, address)
        is_writable = not isinstance(data, bytes) if array is None else array.flags.writeable
        self._take(data, range(0) if is_writable else range(address, address + layout._nbytes))

    def _layout_for(self, array: np.ndarray) -> LiteLayout:
        """The layout that a shared array gives the tensor."""
        shape, own = array.shape or [1], self.layout.shapes
        keeps_own = own and len(own) != len(shape) and prod(own) == array.size
        return LiteLayout(own if keeps_own else shape, self._type_of(array))

    def _type_of(self, array: np.ndarray) -> LiteDataType:
        """The type of an array's elements; the tensor's own may be one without a name."""
        own = self.layout
        if array.dtype == own.dtype:
            return LiteDataType(own.data_type)
        return data_type_of(array.dtype)

    def set_data_by_copy(
        self, data: Any, data_length: int = 0, layout: LiteLayout | None = None
    ) -> None:
        """Copy elements into the tensor.

        Args:
            data: an array or a value that NumPy converts to one, which sets the tensor's shape and
                type (elements of another byte order are converted); a list, which is converted to
                the tensor's type and fills its first elements; or a ctypes pointer or an address.
            data_length: number of bytes at a pointer; by default the tensor's size.
            layout: a layout of the same size in bytes that the tensor gets first.
        Raises:
            AssertionError: the array has gaps, the list is longer than the tensor, or the length
                differs from the tensor's.
            RuntimeError: no element type matches the array's, an element of the list is out of the
                range of the tensor's type, or the tensor is a slice of another shape.
            TypeError: the elements are objects, or another byte order is given with a pointer.
        """
        if isinstance(data, (list, tuple)):
            if layout is not None:
                self.layout = layout
            data = self._with_first(data)
            layout = LiteLayout(data.shape or [1], self._type_of(data))
        elif (array := array_of(data, is_copied=True)) is not None:
            data = array
            layout = layout or LiteLayout(array.shape or [1], self._type_of(array))
        else:
            require(layout or data_length, "data is a pointer; give data_length or layout")
            layout = layout or self.layout
        source = LiteTensor()
        source.set_data_by_share(data, data_length, layout)
        self.copy_from(source)

    def get_data_by_share(self) -> np.ndarray:
        """Return the tensor's memory as an array, which keeps the memory alive.

        The array shares the tensor's memory: it shows later writes and the next run of the network.

        Raises:
            AssertionError: the tensor is on a device.
            RuntimeError: it has no layout.
        """
        self._require_on_host("get_data_by_share")
        # The tensor may get other memory while the array is there.
        self.get_ctypes_memory()
        holder = LiteTensor()
        holder.share_memory_with(self)
        return self._array(holder)

    def to_numpy(self) -> np.ndarray:
        """Return a copy of its elements, from any device; an empty array without a layout."""
        layout = self.layout
        if layout.ndim == 0:
            return np.empty(0, layout.dtype)
        if self._is_on_host():
            return self._array(self).copy()
        on_host = LiteTensor(layout, self.device_type, self.device_id, is_pinned_host=True)
        on_host.copy_from(self)
        return on_host._array(on_host).copy()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        """Its elements as an array, for numpy.asarray().

        Args:
            dtype: type of the array; None: the tensor's.
            copy: False: an error if the elements must be copied, because they are on a device or
                are converted; None: the tensor's memory if possible.
        Raises:
            ValueError: the elements have to be copied and must not be.
        """
        is_own = self._is_on_host() and self.layout.ndim > 0
        array = self.get_data_by_share() if is_own else self.to_numpy()
        has_to = not is_own or np.dtype(dtype or array.dtype) != array.dtype
        if has_to and copy is False:
            raise ValueError("[LiteTensor] the elements can only be had as a copy")
        return array.astype(dtype or array.dtype, copy=is_own and copy is True)

    def __dlpack_device__(self) -> tuple[int, int]:
        """DLPack's numbers of its device: type and index."""
        if self._is_on_host():
            return _dlpack.CPU
        if self.device_type not in _dlpack.DEVICES:
            raise BufferError(f"[LiteTensor] DLPack has no device {self.device_type!r}")
        return _dlpack.DEVICES[self.device_type], self.device_id

    def __dlpack__(
        self,
        *,
        stream: int | None = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any:
        """Its memory for another array library, which keeps it.

        A run has to be waited for before its outputs are read.

        Args:
            stream: not used, because the elements are ready.
            max_version: the newest version that the consumer knows.
            dl_device: the device that the consumer requests; None: the tensor's.
            copy: True: always copy; False: an error if a copy is necessary.
        Raises:
            BufferError: it cannot be exported so.
            RuntimeError: it has no layout.
        """
        place = self.__dlpack_device__()
        wanted = place if dl_device is None else (int(dl_device[0]), int(dl_device[1]))
        if wanted not in (place, _dlpack.CPU) or (wanted != place and copy is False):
            raise BufferError(f"[LiteTensor] it is on {place} and is not handed out on {wanted}")
        holder = LiteTensor()
        if wanted != _dlpack.CPU:
            holder = LiteTensor(device_type=self.device_type, device_id=self.device_id)
        self.get_ctypes_memory()  # it may not be allocated yet
        if copy or wanted != place:
            holder.copy_from(self)
        else:
            holder.share_memory_with(self)
        return _dlpack.capsule_of(holder._array(holder), wanted, max_version)

    def __repr__(self) -> str:
        if not self._tensor:
            return "{}"
        fields = {
            "layout": self.layout,
            "device_type": self.device_type,
            "device_id": self.device_id,
            "is_pinned_host": self.is_pinned_host,
        }
        return repr(fields)

    def _lent(self) -> _Taken:
        """This tensor's memory for another tensor."""
        return _Taken((self._taken.memory, self._network), self._taken.read_only)

    def _take(self, memory: Any, read_only: range) -> None:
        """Use external memory from now on, and release the previous owner."""
        self._taken.memory, self._taken.read_only = memory, read_only

    def _is_read_only(self) -> bool:
        return (
            bool(self._taken.read_only) and self.get_ctypes_memory().value in self._taken.read_only
        )

    def _is_on_host(self) -> bool:
        return self.device_type == LiteDeviceType.LITE_CPU or self.is_pinned_host

    def _require_on_host(self, what: str) -> None:
        require(self._is_on_host(), f"{what} needs a tensor on the CPU or in pinned memory")

    def _require_writable(self) -> None:
        if self._is_read_only():
            raise RuntimeError("[LiteTensor] the tensor's memory is a read-only array")

    def _checked(self, layout: LiteLayout, length: int) -> LiteLayout:
        """The layout, which has to have so many bytes; 0: any."""
        require(
            length in (0, layout._nbytes),
            f"data has {length} bytes, but {layout} {layout._nbytes}",
        )
        return layout

    def _with_first(self, numbers: Sequence[Any]) -> np.ndarray:
        """The tensor's elements with the first ones replaced by those of a list."""
        layout = self.layout
        values = converted(numbers, np.dtype(layout.dtype))
        total = prod(layout.shapes) if layout.ndim else 0
        require(values.size <= total, f"data has {values.size} numbers, the tensor {total}")
        if values.size == total:
            return values.reshape(layout.shapes)
        whole = self.to_numpy()
        whole.flat[: values.size] = values
        return whole

    def _strides(self, layout: LiteLayout, first: int) -> tuple[int, ...]:
        """The strides in bytes."""

        def address(dimension: int) -> int:
            index = [0] * dimension + [min(1, layout.shapes[dimension] - 1)]
            found = c_void_p()
            library.LITE_get_tensor_memory_with_index(
                self._tensor, sizes(index), len(index), byref(found)
            )
            return found.value or 0

        return tuple(address(dimension) - first for dimension in range(layout.ndim))

    def _array(self, holder: LiteTensor) -> np.ndarray:
        """An array over the memory, which the holder keeps."""
        layout = self.layout
        dtype = np.dtype(layout.dtype)
        first = self.get_ctypes_memory().value
        if not prod(layout.shapes) or first is None:
            return np.empty(layout.shapes, dtype)
        interface = {
            "version": 3,
            "shape": tuple(layout.shapes),
            "typestr": dtype.str,
            "data": (first, self._is_read_only()),
            "strides": None if self.is_continue else self._strides(layout, first),
        }
        return np.asarray(_View(interface, holder, self))


def LiteTensorConcat(
    tensors: Sequence[LiteTensor],
    dim: int,
    device_type: LiteDeviceType = LiteDeviceType.LITE_DEVICE_DEFAULT,
    device_id: int = -1,
) -> LiteTensor:
    """Concatenate tensors along a dimension into a new one.

    Args:
        tensors: tensors of one type and, except in ``dim``, one shape.
        dim: the dimension; negative ones count from the end.
        device_type: device type of the result; ``LITE_DEVICE_DEFAULT``: the first tensor's.
        device_id: number of the device; -1: the first tensor's.
    Raises:
        RuntimeError: the tensors do not fit, or there is no such dimension.
        TypeError: one is not a LiteTensor.
    Example:
        >>> ones = LiteTensor(shapes=[1, 2], dtype="int8")
        >>> ones.set_data_by_copy([1, 1])
        >>> LiteTensorConcat([ones, ones], 0).to_numpy()
        array([[1, 1],
               [1, 1]], dtype=int8)
    """
    handles = [expect(LiteTensor, tensor, "LiteTensorConcat")._tensor for tensor in tensors]
    result = c_void_p()
    library.LITE_tensor_concat(
        (c_void_p * len(handles))(*handles),
        len(handles),
        dim,
        device_type,
        device_id,
        byref(result),
    )
    return LiteTensor._of(result.value, None, _Taken())
