# SPDX-License-Identifier: Apache-2.0
"""Operators that move elements and change shapes."""

from .. import _mge
from ..core.counted import counted
from ..core.tensor.shape_arguments import normal_axis
from ..functional import nn, tensor
from ..tensor import Tensor
from .opdef import OpDef, choice

_ops = _mge.ops
_WHOLE = 7  # the axis number that denotes the whole shape
_MOST_AXES = 7


class GetVarShape(OpDef):
    """The shape of a Tensor as an int32 Tensor, or the size of one axis.

    Example:
        >>> GetVarShape()(Tensor([[1.0, 2.0]]))
        Tensor([1 2], dtype=int32, device=xpux:0)
    """

    axis: int = _WHOLE

    def __call__(self, *inputs: Tensor) -> Tensor:
        if len(inputs) != 1:
            raise ValueError(f"[GetVarShape] one input is expected, got {len(inputs)}")
        shape = _ops.shape_of(inputs[0])
        if self.axis == _WHOLE:
            return shape
        axis = normal_axis(self.axis, inputs[0].ndim, "GetVarShape")
        return shape[axis : axis + 1]


class AddAxis(OpDef):
    """Inserts axes of size 1, one after the other."""

    axis: tuple[int, ...] = ()

    def __call__(self, x: Tensor) -> Tensor:
        for axis in self.axis:
            x = tensor.expand_dims(x, axis)
        return x


class RemoveAxis(OpDef):
    """Removes axes of size 1, one after the other."""

    axis: tuple[int, ...] = ()

    def __call__(self, x: Tensor) -> Tensor:
        for axis in self.axis:
            x = tensor.squeeze(x, axis)
        return x


class Dimshuffle(OpDef):
    """Axes in another order."""

    pattern: tuple[int, ...] = ()

    def __call__(self, x: Tensor) -> Tensor:
        return tensor.transpose(x, ["x" if axis < 0 else axis for axis in self.pattern])


class Reshape(OpDef):
    """Reshapes to the second input, or ``shape``; ``axis`` is the axis whose size is inferred."""

    axis: int = _WHOLE
    shape: tuple[int, ...] = ()

    def __call__(self, x: Tensor, shape: Tensor | None = None) -> Tensor:
        if self.axis == _WHOLE:
            return tensor.reshape(x, self.shape if shape is None else shape)
        sizes = list(self.shape if shape is None else shape.numpy().tolist())
        sizes[self.axis] = -1
        return tensor.reshape(x, sizes)


class Broadcast(OpDef):
    """Broadcasts to the shape given by the second input, or ``shape``."""

    shape: tuple[int, ...] = ()

    def __call__(self, x: Tensor, shape: Tensor | None = None) -> Tensor:
        return tensor.broadcast_to(x, self.shape if shape is None else shape)


class Concat(OpDef):
    """Tensors joined along an axis."""

    axis: int = 0
    comp_node: str | None = None

    def __call__(self, *inputs: Tensor) -> Tensor:
        return tensor.concat(inputs, self.axis, self.comp_node)


class Stack(OpDef):
    """Tensors joined along a new axis."""

    axis: int = 0
    comp_node: str | None = None

    def __call__(self, *inputs: Tensor) -> Tensor:
        return tensor.stack(inputs, self.axis, self.comp_node)


class Split(OpDef):
    """Splits along an axis: ``nsections`` equal parts, or parts with the sizes of the other
    inputs."""

    axis: int = 0
    nsections: int = 0

    def __call__(self, x: Tensor, *sizes: Tensor) -> tuple[Tensor, ...]:
        if not sizes:
            return tuple(tensor.split(x, self.nsections, self.axis))
        points, end = [], 0
        for size in sizes[:-1]:
            end += int(size.item())
            points.append(end)
        return tuple(tensor.split(x, points, self.axis))


class Diag(OpDef):
    """The ``k``-th diagonal of a matrix, or a matrix with that diagonal."""

    k: int = 0

    def __call__(self, x: Tensor) -> Tensor:
        return tensor.diag(x, self.k)


class MeshGrid(OpDef):
    """Coordinates of a grid, one Tensor for each input; ``indexing`` is "xy" or "ij"."""

    indexing: str = "xy"

    def __call__(self, *inputs: Tensor) -> tuple[Tensor, ...]:
        return tuple(tensor.meshgrid(*inputs, indexing=self.indexing or "xy"))


class PixelShuffle(OpDef):
    """Channels as pixels: (N, C * factor ** 2, H, W) to (N, C, H * factor, W * factor)."""

    factor: int = 0

    def __call__(self, x: Tensor) -> Tensor:
        return nn.pixel_shuffle(x, self.factor)


class Padding(OpDef):
    """Adds elements before and after each axis; up to seven axes."""

    PaddingMode = choice("PaddingMode", "REPLICATE REFLECT CONSTANT")
    front_offset_dim0: int = 0
    front_offset_dim1: int = 0
    front_offset_dim2: int = 0
    front_offset_dim3: int = 0
    front_offset_dim4: int = 0
    front_offset_dim5: int = 0
    front_offset_dim6: int = 0
    back_offset_dim0: int = 0
    back_offset_dim1: int = 0
    back_offset_dim2: int = 0
    back_offset_dim3: int = 0
    back_offset_dim4: int = 0
    back_offset_dim5: int = 0
    back_offset_dim6: int = 0
    padding_val: float = 0.0
    padding_mode: str = PaddingMode.CONSTANT

    def __call__(self, x: Tensor) -> Tensor:
        widths = [
            (getattr(self, f"front_offset_dim{k}"), getattr(self, f"back_offset_dim{k}"))
            for k in range(_MOST_AXES)
        ]
        if any(map(any, widths[x.ndim :])):
            raise RuntimeError(
                f"[Padding] the input has {counted(x.ndim, 'axis', 'axes')}, but others are padded"
            )
        return nn.pad(x, widths[: x.ndim], self.padding_mode.name, self.padding_val)
