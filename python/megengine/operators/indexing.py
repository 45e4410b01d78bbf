# SPDX-License-Identifier: Apache-2.0
"""Operators that take parts of a Tensor, or put values there.

Their ``items`` say of each indexed axis, in this order: the axis, and whether there is a begin, an
end, a step, an index among the inputs behind the value; those come in the same order.
"""

from .. import _mge
from ..core.counted import counted
from ..functional import nn
from ..tensor import Tensor
from .opdef import OpDef

_ops = _mge.ops
_Items = tuple[tuple[int, bool, bool, bool, bool], ...]


def _bound(bound):
    """A bound of one element as one without axes."""
    return bound.reshape(()) if isinstance(bound, Tensor) and bound.ndim else bound


def _entries(items: _Items, bounds: tuple, who: str) -> dict[int, object]:
    """A slice or an index by axis."""
    wanted = sum(bool(given) for item in items for given in item[1:])
    if wanted != len(bounds):
        raise RuntimeError(f"[{who}] the items name {counted(wanted, 'input')}, got {len(bounds)}")
    left = iter(bounds)
    found: dict[int, object] = {}
    for axis, has_begin, has_end, has_step, has_index in items:
        begin, end, step = (
            _bound(next(left)) if given else None for given in (has_begin, has_end, has_step)
        )
        found[axis] = next(left) if has_index else slice(begin, end, step)
    return found


class _Indexing(OpDef):
    items: _Items = ()

    def _key(self, x: Tensor, bounds: tuple) -> tuple:
        """The indexing expression."""
        entries = _entries(self.items, bounds, type(self).__name__)
        return tuple(entries.get(axis, slice(None)) for axis in range(x.ndim))


class _OfBasic(_Indexing):
    def _key(self, x: Tensor, bounds: tuple) -> tuple:
        return tuple(map(_bound, super()._key(x, bounds)))


class _OfMesh(_Indexing):
    """Each index has its own axis in the result, as with ``numpy.ix_``."""

    def _key(self, x: Tensor, bounds: tuple) -> tuple:
        whole = super()._key(x, bounds)
        return tuple(self._along(axis, entry, x) for axis, entry in enumerate(whole))

    def _along(self, axis: int, entry, x: Tensor) -> Tensor:
        if isinstance(entry, slice):
            entry = _positions(x, axis)[entry]
        shape = [1] * x.ndim
        shape[axis] = -1
        return entry.reshape(shape)


class _OfBatchedMesh(_OfMesh):
    """Indices have a row for each element of the first axis."""

    def _along(self, axis: int, entry, x: Tensor) -> Tensor:
        if isinstance(entry, slice) or axis == 0:
            return super()._along(axis, entry, x)
        shape = [1] * x.ndim
        shape[0], shape[axis] = entry.shape[0], entry.shape[1]
        return entry.reshape(shape)


def _positions(x: Tensor, axis: int) -> Tensor:
    """0, 1 … along an axis, in int32."""
    return _ops.convert(_ops.arange(0, _ops.shape_of(x)[axis], 1), dtype="int32")


class _Get(_Indexing):
    def __call__(self, x: Tensor, *bounds: Tensor) -> Tensor:
        return x[self._key(x, bounds)]


class _Set(_Indexing):
    def __call__(self, x: Tensor, value: Tensor, *bounds: Tensor) -> Tensor:
        result = _ops.copy(x)
        result[self._key(x, bounds)] = value
        return result


class _Add(_Indexing):
    """Values are added for elements that are indexed twice."""

    def __call__(self, x: Tensor, value: Tensor, *bounds: Tensor) -> Tensor:
        key = self._key(x, bounds)
        places = _places(x)[key]
        flat = _ops.flatten(x)
        values = _ops.flatten(_ops.broadcast_like(value, places))
        added = _ops.add_take(flat, values, _ops.flatten(places), axes=(0,))
        return _ops.reshape_like(added, x)


def _places(x: Tensor) -> Tensor:
    """The number of each element, in int32, of the shape of ``x``."""
    count = _ops.prod(_ops.shape_of(x))
    return _ops.reshape_like(_ops.convert(_ops.arange(0, count, 1), dtype="int32"), x)


class Subtensor(_Get, _OfBasic):
    """Basic indexing with slices and integers.

    Example:
        >>> Subtensor([(0, True, False, False, False)])(Tensor([1, 2, 3]), Tensor(1))
        Tensor([2 3], dtype=int32, device=xpux:0)
    """


class SetSubtensor(_Set, _OfBasic):
    """The first input with a part replaced by the second."""


class IncrSubtensor(_Add, _OfBasic):
    """The first input with the second added to a part of it."""


class IndexingMultiAxisVec(_Get):
    """Elements by index vectors that are read together."""


class IndexingSetMultiAxisVec(_Set):
    """The first input with those elements replaced by the second."""


class IndexingIncrMultiAxisVec(_Add):
    """The first input with the second added to those elements."""


class MeshIndexing(_Get, _OfMesh):
    """Elements by index vectors, in each combination.

    Example:
        >>> items = [(0, False, False, False, True), (1, False, False, False, True)]
        >>> MeshIndexing(items)(Tensor([[1, 2], [3, 4]]), Tensor([1]), Tensor([1, 0]))
        Tensor([[4 3]], dtype=int32, device=xpux:0)
    """


class SetMeshIndexing(_Set, _OfMesh):
    """The first input with those elements replaced by the second."""


class IncrMeshIndexing(_Add, _OfMesh):
    """The first input with the second added to those elements."""


class BatchedMeshIndexing(_Get, _OfBatchedMesh):
    """Elements by index matrices, a row for each element of the first axis."""


class BatchedSetMeshIndexing(_Set, _OfBatchedMesh):
    """The first input with those elements replaced by the second."""


class BatchedIncrMeshIndexing(_Add, _OfBatchedMesh):
    """The first input with the second added to those elements."""


class IndexingOneHot(OpDef):
    """One element along an axis, by an index for each position; the axis is kept with size 1."""

    axis: int = 0
    ndim: int = 0

    def __call__(self, x: Tensor, index: Tensor) -> Tensor:
        return nn.indexing_one_hot(x, index, self.axis, keepdims=True)


class IndexingSetOneHot(OpDef):
    """The first input with the third in the elements that the second names."""

    axis: int = 0
    ndim: int = 0

    def __call__(self, x: Tensor, index: Tensor, value: Tensor) -> Tensor:
        return _ops.indexing_set_one_hot(x, index, value, axis=self.axis)
