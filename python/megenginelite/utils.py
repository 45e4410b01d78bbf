# SPDX-License-Identifier: Apache-2.0
"""Batches that are put together from single images."""

from __future__ import annotations

import contextlib
import threading
import warnings

from ._layout import MAX_DIM, LiteLayout, data_type_of, lite_dtype_2_numpy  # noqa: F401 - also found here
from .base import get_log_level, set_log_level, version  # noqa: F401
from .struct import *  # noqa: F403 - scripts find all of them here
from .struct import LiteDataType, LiteDeviceType
from .tensor import LiteTensor, LiteTensorConcat  # noqa: F401

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from typing import Any

    import numpy as np

__all__ = ["TensorBatchCollector"]


def _require(holds: bool, message: str) -> None:
    if not holds:
        raise AssertionError(f"[TensorBatchCollector] {message}")


class TensorBatchCollector:
    """A tensor whose items are filled one by one, from any number of threads.

    Args:
        shape: shape of the batch; the first number is the number of items.
        dtype: type of the elements.
        device_type: device type of the batch.
        device_id: number of the device.
        is_pinned_host: host memory is pinned, which makes copies to and from the device faster.
        tensor: a tensor of that shape to fill, which also sets dtype and device; None: a new one.
    Attributes:
        shape, dtype, dev_type, dev_id, is_pinned_host: properties of the batch.
    Raises:
        AssertionError: the tensor has another shape, or another dtype than the one given.
        RuntimeError: there is no such device.
    Example:
        >>> batch = TensorBatchCollector(
        ...     [2, 3], dtype=LiteDataType.LITE_INT, device_type=LiteDeviceType.LITE_CPU
        ... )
        >>> batch.collect(np.array([1, 2, 3], "int32"))
        0
        >>> batch.collect_id(np.array([4, 5, 6], "int32"), 1)
        >>> batch.to_numpy()
        array([[1, 2, 3],
               [4, 5, 6]], dtype=int32)
        >>> batch.free([0, 1])
    """

    def __init__(
        self,
        shape: Sequence[int],
        dtype: Any = LiteDataType.LITE_INT8,
        device_type: LiteDeviceType = LiteDeviceType.LITE_CUDA,
        device_id: int = 0,
        is_pinned_host: bool = False,
        tensor: LiteTensor | None = None,
    ) -> None:
        self.shape = [int(size) for size in shape]
        _require(bool(self.shape), "the shape has at least one number, that of the items")
        if tensor is None:
            layout = LiteLayout(self.shape, dtype)
            tensor = LiteTensor(layout, device_type, device_id, is_pinned_host)
        _require(
            tensor.layout.shapes == self.shape,
            f"the tensor has the shape {tensor.layout.shapes}, the batch {self.shape}",
        )
        self._tensor = tensor
        self.dtype = LiteDataType(tensor.layout.data_type)
        # With a tensor, the dtype is optional.
        _require(
            data_type_of(dtype) in (self.dtype, LiteDataType.LITE_INT8),
            f"the tensor has the dtype {self.dtype!r}, the batch {dtype!r}",
        )
        self.dev_type = tensor.device_type
        self.dev_id = tensor.device_id
        self.is_pinned_host = tensor.is_pinned_host
        self._item = LiteLayout(self.shape[1:] or [1], self.dtype)
        self._mutex = threading.Lock()
        self._free_list = list(range(self.shape[0]))

    def collect(self, array: np.ndarray | LiteTensor) -> int:
        """Copy into the next item that is free.

        Args:
            array: a NumPy array or LiteTensor with the shape and type of an item.
        Returns:
            Number of the item; -1, with a warning, when none is free.
        Raises:
            AssertionError: it has another shape or type, or gaps; then no item is taken.
            TypeError: it is neither.
        """
        self._check(array)
        item = self._take_next()
        if item >= 0:
            with self._free_if_failed(item):
                self._copy(array, item)
        return item

    def collect_id(self, array: np.ndarray | LiteTensor, batch_id: int) -> None:
        """Copy into one item, with a warning when it is in use.

        Args:
            array: a NumPy array or LiteTensor with the shape and type of an item.
            batch_id: number of the item.
        Raises:
            AssertionError: it has another shape or type, or there is no such item.
            TypeError: it is neither.
        """
        self._check(array)
        self._check_item(batch_id)
        with self._mutex:
            is_free = batch_id in self._free_list
            if is_free:
                self._free_list.remove(batch_id)
        if is_free:
            with self._free_if_failed(batch_id):
                return self._copy(array, batch_id)
        warnings.warn(
            f"item {batch_id} of the batch is in use; free it before it is collected again",
            stacklevel=2,
        )
        self._copy(array, batch_id)

    def collect_by_ctypes(self, data: Any, length: int) -> int:
        """Copy bytes into the next item that is free.

        Args:
            data: a ctypes pointer.
            length: size of an item in bytes.
        Returns:
            Number of the item; -1, with a warning, when none is free.
        Raises:
            AssertionError: the length differs from an item's.
        """
        _require(
            length == self._item._nbytes,
            f"an item has {self._item._nbytes} bytes, got {length}",
        )
        item = self._take_next()
        if item >= 0:
            with self._free_if_failed(item):
                self._part(item).set_data_by_copy(data, length)
        return item

    def free(self, indexes: Iterable[int]) -> None:
        """Free items for new data; their contents stay until then.

        Args:
            indexes: numbers of items; one that is not in use is a warning.
        Raises:
            AssertionError: there is no such item.
        """
        for item in indexes:
            self._check_item(item)
            with self._mutex:
                is_used = item not in self._free_list
                if is_used:
                    self._free_list.append(item)
            if not is_used:
                warnings.warn(f"item {item} of the batch was not in use", stacklevel=2)

    def get(self) -> LiteTensor:
        """Return the whole batch without a copy."""
        return self._tensor

    def get_tensor_at(self, idx: int) -> LiteTensor:
        """Return an item as a batch of one, in the same memory.

        Args:
            idx: number of the item.
        Raises:
            AssertionError: there is no such item.
        """
        self._check_item(idx)
        return self._tensor.slice([idx], [idx + 1])

    def to_numpy(self) -> np.ndarray:
        """Return a copy of the whole batch."""
        return self._tensor.to_numpy()

    def _check_item(self, item: int) -> None:
        _require(0 <= item < self.shape[0], f"there are {self.shape[0]} items, got {item}")

    def _check(self, array: np.ndarray | LiteTensor) -> None:
        if isinstance(array, LiteTensor):
            layout = array.layout
        elif hasattr(array, "shape") and hasattr(array, "dtype"):
            item = self._item
            is_same = array.dtype == item.dtype  # which may be one without a name
            layout = LiteLayout(array.shape or [1], item.data_type if is_same else array.dtype)
        else:
            kind = type(array).__name__
            raise TypeError(
                f"[TensorBatchCollector] an item is an array or a LiteTensor, got {kind}"
            )
        _require(layout == self._item, f"an item is {self._item}, got {layout}")

    def _take_next(self) -> int:
        with self._mutex:
            if self._free_list:
                return self._free_list.pop(0)
        warnings.warn("no item of the batch is free", stacklevel=3)
        return -1

    @contextlib.contextmanager
    def _free_if_failed(self, item: int) -> Iterator[None]:
        """Makes an item that was taken the next one again, if it could not be filled."""
        try:
            yield
        except BaseException:
            with self._mutex:
                self._free_list.insert(0, item)
            raise

    def _part(self, item: int) -> LiteTensor:
        """An item in the shape that single images have."""
        part = self.get_tensor_at(item)
        part.reshape(self._item.shapes)
        return part

    def _copy(self, array: np.ndarray | LiteTensor, item: int) -> None:
        part = self._part(item)
        if isinstance(array, LiteTensor):
            part.copy_from(array)
        else:
            part.set_data_by_copy(array)
