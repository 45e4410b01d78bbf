# SPDX-License-Identifier: Apache-2.0
"""Operators along axes: reductions, sorting, selection, products of matrices."""

from .. import _mge
from ..functional import math, selection
from ..tensor import Tensor
from .opdef import OpDef, Strategy, choice

_ops = _mge.ops
_ALL = 2**31 - 1  # the axis number that denotes the flattened Tensor


class Reduce(OpDef):
    """Sum, mean, product … along an axis, of all elements, or to the shape that a second input is.

    Example:
        >>> Reduce("max", axis=1)(Tensor([[1.0, 3.0]]))
        Tensor([[3.]], device=xpux:0)
    """

    Mode = choice("Mode", "SUM SUM_SQR PRODUCT MIN MAX MEAN")
    DataType = choice(
        "DataType", "DEFAULT FLOAT_IO16xC32 FLOAT_O32xC32 FLOAT_O16xC32 QUINT_I8xO32 QINT_I8xO32"
    )
    mode: str = Mode.SUM
    axis: int = _ALL
    data_type: str = DataType.DEFAULT
    keepdim: bool = True

    def __call__(self, x: Tensor, target: Tensor | None = None) -> Tensor:
        self._only(data_type="DEFAULT")
        if self.mode == "SUM_SQR":
            x = _ops.square(x)
        name = {"SUM_SQR": "sum", "PRODUCT": "prod"}.get(self.mode.name, self.mode.name.lower())
        if target is not None:
            return self._to_shape(x, tuple(target.numpy().tolist()), name)
        if self.axis == _ALL:
            return getattr(_ops, name)(x)
        return getattr(_ops, name)(x, axes=[self.axis], keepdims=bool(self.keepdim))

    @staticmethod
    def _to_shape(x: Tensor, shape: tuple[int, ...], name: str) -> Tensor:
        extra = x.ndim - len(shape)
        axes = [k for k in range(x.ndim) if k < extra or shape[k - extra] != x.shape[k]]
        return getattr(_ops, name)(x, axes=axes, keepdims=True).reshape(shape) if axes else x


class Argmax(OpDef):
    """Index of the largest element along an axis, which is kept with size 1; int32."""

    axis: int = 0

    def __call__(self, x: Tensor) -> Tensor:
        return math.argmax(x, self.axis, keepdims=True)


class Argmin(OpDef):
    """Index of the smallest element along an axis, which is kept with size 1; int32."""

    axis: int = 0

    def __call__(self, x: Tensor) -> Tensor:
        return math.argmin(x, self.axis, keepdims=True)


class Argsort(OpDef):
    """The elements of each row in order, and where they were."""

    Order = choice("Order", "ASCENDING DESCENDING")
    order: str = Order.ASCENDING

    def __call__(self, x: Tensor) -> tuple[Tensor, Tensor]:
        return _ops.sort(x, axis=-1, descending=self.order == "DESCENDING")


class TopK(OpDef):
    """The ``k`` smallest elements of each row (a negative second input: largest), and their places.

    With ``KTH_ONLY`` only the last of them.
    """

    Mode = choice("Mode", "KTH_ONLY VALUE_IDX_NOSORT VALUE_IDX_SORTED")
    mode: str = Mode.KTH_ONLY

    def __call__(self, x: Tensor, k: Tensor) -> Tensor | tuple[Tensor, Tensor]:
        count = int(k.item())
        found = _ops.topk(
            x,
            k=abs(count),
            descending=count < 0,
            kth_only=self.mode == "KTH_ONLY",
            no_sort=self.mode == "VALUE_IDX_NOSORT",
        )
        return found[0] if self.mode == "KTH_ONLY" else found


class Cumsum(OpDef):
    """Cumulative sums; ``exclusive`` sums omit the element itself."""

    axis: int = _ALL
    exclusive: bool = True
    reverse: bool = False

    def __call__(self, x: Tensor) -> Tensor:
        y = _ops.flip(x, axes=[self.axis]) if self.reverse else x
        sums = _ops.cumsum(y, axis=self.axis)
        sums = _ops.sub(sums, y) if self.exclusive else sums
        return _ops.flip(sums, axes=[self.axis]) if self.reverse else sums


class CondTake(OpDef):
    """The elements where a mask is True, and their places in the flattened Tensor."""

    def __call__(self, x: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        return selection.cond_take(mask, x)


class MaskedFill(OpDef):
    """The first input with ``value`` where the mask, broadcast, is True."""

    value: float = 0.0

    def __call__(self, x: Tensor, mask: Tensor) -> Tensor:
        return _ops.where(mask, _ops.full_like(x, value=self.value), x)


class _Product(OpDef):
    ComputeMode = choice("ComputeMode", "DEFAULT FLOAT32")
    Format = choice("Format", "DEFAULT MK4 MK8 MK4_DOT N32K4_DOT")
    transposeA: bool = False
    transposeB: bool = False
    compute_mode: str = ComputeMode.DEFAULT
    format: str = Format.DEFAULT
    Strategy = Strategy
    strategy: Strategy = Strategy.HEURISTIC
    dimA: int = 0
    dimB: int = 0

    def __call__(self, a: Tensor, b: Tensor) -> Tensor:
        self._only(format="DEFAULT")
        return math.matmul(a, b, self.transposeA, self.transposeB, self.compute_mode.name)


class MatrixMul(_Product):
    """Product of matrices; further axes in front count as rows, or as batches."""


class BatchedMatrixMul(_Product):
    """Products of matrices, one for each index of the axes in front."""


class Dot(OpDef):
    """The sum of the products of two vectors' elements."""

    def __call__(self, a: Tensor, b: Tensor) -> Tensor:
        return math.dot(a, b)


class MatrixInverse(OpDef):
    """Inverses of the matrices in the last two axes."""

    def __call__(self, x: Tensor) -> Tensor:
        return math.matinv(x)


class SVD(OpDef):
    """Singular vectors and values of the matrices in the last two axes."""

    full_matrices: bool = False
    compute_uv: bool = True

    def __call__(self, x: Tensor) -> Tensor | tuple[Tensor, ...]:
        return math.svd(x, self.full_matrices, self.compute_uv)


class Softmax(OpDef):
    """Exponentials along an axis, divided by their sum."""

    axis: int = -1

    def __call__(self, x: Tensor) -> Tensor:
        return _ops.softmax(x, axis=self.axis)
