# SPDX-License-Identifier: Apache-2.0
"""Operators on images: convolutions, pooling, normalisation, sampling, regions."""

from typing import Any

from .. import _mge
from ..functional import (
    color,
    convolution,
    detection,
    normalization,
    pooling,
    vision,
    volume_convolution,
    warping,
    window_convolution,
)
from ..tensor import Tensor
from .opdef import OpDef, Strategy, choice

_ops = _mge.ops
_FORMATS = (
    "NCHW NHWC NHWCD4 NCHW4 NCHW8 NCHW32 NCHW88 NCHW44 NCHW44_DOT NCHW4_NCHW32 NCHW32_NCHW4"
    " NCHW4_NCHW NHWC_NCHW NHWC_NCHW4_IC_SMALL NCHW_NCHW4_IC_SMALL CHWN4 NCHW4_NHWC NCHW64"
)
_BORDERS = "REPLICATE REFLECT REFLECT_101 WRAP CONSTANT TRANSPARENT ISOLATED"
_INTERPOLATIONS = "NEAREST LINEAR AREA CUBIC LANCZOS4"


def _groups(sparse: str, weight: Tensor) -> int:
    return weight.shape[0] if sparse == "GROUP" else 1


class _Window(OpDef):
    """Common parameters of operators with a sliding window."""

    @property
    def _padding(self) -> tuple[int, int]:
        return self.pad_h, self.pad_w

    @property
    def _stride(self) -> tuple[int, int]:
        return self.stride_h, self.stride_w

    @property
    def _dilation(self) -> tuple[int, int]:
        return self.dilate_h, self.dilate_w


class _Convolution(_Window):
    Mode = choice("Mode", "CROSS_CORRELATION CONVOLUTION")
    Sparse = choice("Sparse", "DENSE GROUP")
    Format = choice("Format", _FORMATS)
    ComputeMode = choice("ComputeMode", "DEFAULT FLOAT32")
    mode: str = Mode.CROSS_CORRELATION
    pad_h: int = 0
    pad_w: int = 0
    stride_h: int = 1
    stride_w: int = 1
    dilate_h: int = 1
    dilate_w: int = 1
    sparse: str = Sparse.DENSE
    format: str = Format.NCHW
    compute_mode: str = ComputeMode.DEFAULT

    def _arguments(self, weight: Tensor) -> dict:
        self._only(format="NCHW", mode="CROSS_CORRELATION")
        return {
            "stride": self._stride,
            "padding": self._padding,
            "dilation": self._dilation,
            "groups": _groups(self.sparse, weight),
        }


class Convolution(_Convolution):
    """Convolution of images with the second input."""

    Strategy = Strategy
    strategy: Strategy = Strategy.HEURISTIC

    def __call__(self, x: Tensor, weight: Tensor) -> Tensor:
        return convolution.conv2d(x, weight, **self._arguments(weight))


class ConvolutionBackwardData(_Convolution):
    """Transposed convolution; inputs: the weight, the images, and maybe the result's shape."""

    Strategy = Strategy
    strategy: Strategy = Strategy.HEURISTIC
    dtype: Any = None

    def __call__(self, weight: Tensor, x: Tensor, shape: Tensor | None = None) -> Tensor:
        arguments = self._arguments(weight)
        if shape is None:
            return convolution.conv_transpose2d(x, weight, **arguments)
        height, width = shape.numpy().tolist()[-2:]
        return _ops.conv2d_backward_data(weight, x, height=height, width=width, **arguments)


class DeformableConv(_Convolution):
    """Deformable convolution: the inputs are images, weight, offsets and mask."""

    Strategy = Strategy
    strategy: Strategy = Strategy.HEURISTIC

    def __call__(self, x: Tensor, weight: Tensor, offset: Tensor, mask: Tensor) -> Tensor:
        return window_convolution.deformable_conv2d(
            x, weight, offset, mask, **self._arguments(weight)
        )


class RegionRestrictedConvolution(_Convolution):
    """Convolution within the regions that the third and the fourth input mark."""

    def __call__(self, x: Tensor, weight: Tensor, rin: Tensor, rout: Tensor) -> Tensor:
        return window_convolution.region_restricted_conv(
            x, weight, rin, rout, **self._arguments(weight)
        )


class GroupLocal(_Convolution):
    """Convolution with a separate weight at each position."""

    def __call__(self, x: Tensor, weight: Tensor) -> Tensor:
        self._only(format="NCHW", mode="CROSS_CORRELATION")
        return window_convolution.local_conv2d(
            x, weight, None, self._stride, self._padding, self._dilation
        )


class _VolumeConvolution(OpDef):
    Mode = choice("Mode", "CROSS_CORRELATION CONVOLUTION")
    Sparse = choice("Sparse", "DENSE GROUP")
    DataType = choice("DataType", "FLOAT FLOAT_IO16xC32")
    Format = choice("Format", "NCDHW NDHWC")
    mode: str = Mode.CROSS_CORRELATION
    pad_d: int = 0
    pad_h: int = 0
    pad_w: int = 0
    stride_d: int = 1
    stride_h: int = 1
    stride_w: int = 1
    dilate_d: int = 1
    dilate_h: int = 1
    dilate_w: int = 1
    sparse: str = Sparse.DENSE
    data_type: str = DataType.FLOAT
    format: str = Format.NCDHW
    Strategy = Strategy
    strategy: Strategy = Strategy.HEURISTIC

    def _arguments(self, weight: Tensor) -> dict:
        self._only(format="NCDHW", mode="CROSS_CORRELATION")
        return {
            "stride": (self.stride_d, self.stride_h, self.stride_w),
            "padding": (self.pad_d, self.pad_h, self.pad_w),
            "dilation": (self.dilate_d, self.dilate_h, self.dilate_w),
            "groups": _groups(self.sparse, weight),
        }


class Convolution3D(_VolumeConvolution):
    """Convolution of volumes with the second input."""

    def __call__(self, x: Tensor, weight: Tensor) -> Tensor:
        return volume_convolution.conv3d(x, weight, **self._arguments(weight))


class Convolution3DBackwardData(_VolumeConvolution):
    """Transposed convolution of volumes: the inputs are the weight and the volumes."""

    def __call__(self, weight: Tensor, x: Tensor) -> Tensor:
        return volume_convolution.conv_transpose3d(x, weight, **self._arguments(weight))


class Pooling(_Window):
    """Maximum or mean over windows."""

    Mode = choice("Mode", "MAX AVERAGE AVERAGE_COUNT_EXCLUDE_PADDING")
    Format = choice("Format", _FORMATS)
    mode: str = Mode.MAX
    pad_h: int = 0
    pad_w: int = 0
    stride_h: int = 2
    stride_w: int = 2
    window_h: int = 2
    window_w: int = 2
    format: str = Format.NCHW
    Strategy = Strategy
    strategy: Strategy = Strategy.HEURISTIC

    def __call__(self, x: Tensor) -> Tensor:
        self._only(format="NCHW")
        window = self.window_h, self.window_w
        if self.mode == "MAX":
            return pooling.max_pool2d(x, window, self._stride, self._padding)
        mode = self.mode.name.lower()
        return pooling.avg_pool2d(x, window, self._stride, self._padding, mode)


class AdaptivePooling(OpDef):
    """Pooling to the height and width given by the second input, or ``shape``."""

    Mode = choice("Mode", "MAX AVERAGE AVERAGE_COUNT_EXCLUDE_PADDING")
    Format = choice("Format", _FORMATS)
    mode: str = Mode.MAX
    format: str = Format.NCHW
    shape: tuple[int, ...] = ()

    def __call__(self, x: Tensor, shape: Tensor | None = None) -> Tensor:
        self._only(format="NCHW")
        is_max = self.mode == "MAX"
        pool = pooling.adaptive_max_pool2d if is_max else pooling.adaptive_avg_pool2d
        return pool(x, self.shape if shape is None else shape)


class Images2Neibs(_Window):
    """The windows of each image: (N, C, OH, OW, window_h, window_w)."""

    pad_h: int = 0
    pad_w: int = 0
    stride_h: int = 1
    stride_w: int = 1
    dilate_h: int = 1
    dilate_w: int = 1
    window_h: int = 3
    window_w: int = 3

    def __call__(self, x: Tensor) -> Tensor:
        window = self.window_h, self.window_w
        return convolution.sliding_window(x, window, self._padding, self._stride, self._dilation)


class SlidingWindowTranspose(_Window):
    """Images from sums of windows: the inverse of sliding windows."""

    out_h: int = 0
    out_w: int = 0
    pad_h: int = 0
    pad_w: int = 0
    stride_h: int = 1
    stride_w: int = 1
    dilate_h: int = 1
    dilate_w: int = 1
    window_h: int = 3
    window_w: int = 3

    def __call__(self, x: Tensor) -> Tensor:
        sizes = (self.out_h, self.out_w), (self.window_h, self.window_w)
        return convolution.sliding_window_transpose(
            x, *sizes, self._padding, self._stride, self._dilation
        )


class Correlation(OpDef):
    """Correlation of two images at neighbouring positions."""

    Format = choice("Format", _FORMATS)
    format: str = Format.NCHW
    kernel_size: int = 1
    max_displacement: int = 1
    stride1: int = 1
    stride2: int = 1
    pad_size: int = 0
    is_multiply: bool = True

    def __call__(self, a: Tensor, b: Tensor) -> Tensor:
        self._only(format="NCHW")
        sizes = (self.kernel_size, self.max_displacement, self.stride1, self.stride2, self.pad_size)
        return window_convolution.correlation(a, b, *sizes, self.is_multiply)


class LRN(OpDef):
    """Values divided by a power of the squares in neighbouring channels."""

    n: int = 5
    k: float = 2.0
    alpha: float = 1e-4
    beta: float = 0.75

    def __call__(self, x: Tensor) -> Tensor:
        return normalization.local_response_norm(x, self.n, self.k, self.alpha, self.beta)


class LayerNorm(OpDef):
    """The last ``normalized_dim`` axes with mean 0 and variance 1; their means, 1/deviations."""

    affine: bool = True
    eps: float = 1e-5
    normalized_dim: int = 1
    normalized_size: int = 1

    def __call__(self, x: Tensor, *weight_and_bias: Tensor) -> tuple[Tensor, ...]:
        return _ops.layer_norm(x, *weight_and_bias, axes=self.normalized_dim, epsilon=self.eps)


class GroupNorm(OpDef):
    """Groups of channels with mean 0 and variance 1; their means and variances."""

    Format = choice("Format", _FORMATS)
    affine: bool = True
    eps: float = 1e-5
    group: int = 1
    format: str = Format.NCHW

    def __call__(self, x: Tensor, *weight_and_bias: Tensor) -> tuple[Tensor, ...]:
        self._only(format="NCHW")
        y, mean, factor = _ops.group_norm(x, *weight_and_bias, groups=self.group, epsilon=self.eps)
        return y, mean, _ops.sub(_ops.div(1.0, _ops.square(factor)), self.eps)


class CvtColor(OpDef):
    """Images (N, H, W, C) converted to other colours or another channel order."""

    mode: str = "RGB2GRAY"

    def __call__(self, x: Tensor) -> Tensor:
        return color.cvt_color(x, str(self.mode))


class Resize(OpDef):
    """Images of the height and width that the second input is."""

    InterpolationMode = choice("InterpolationMode", _INTERPOLATIONS)
    Format = choice("Format", _FORMATS)
    imode: str = InterpolationMode.LINEAR
    format: str = Format.NHWC

    def __call__(self, x: Tensor, size: Tensor) -> Tensor:
        mode = {"LINEAR": "bilinear", "CUBIC": "bicubic"}.get(self.imode, self.imode.name.lower())
        return vision.resize(x, tuple(size.numpy().tolist()), self.format.name, mode)


class Remap(OpDef):
    """Samples the first input at the positions of the second."""

    InterpolationMode = choice("InterpolationMode", _INTERPOLATIONS)
    BorderMode = choice("BorderMode", _BORDERS)
    Format = choice("Format", _FORMATS)
    imode: str = InterpolationMode.LINEAR
    border_type: str = BorderMode.REPLICATE
    format: str = Format.NHWC
    scalar: float = 0.0

    def __call__(self, x: Tensor, places: Tensor) -> Tensor:
        self._only(format="NCHW")
        return warping.remap(x, places, self.border_type.name, self.scalar, self.imode.name)


class WarpAffine(OpDef):
    """Images turned, scaled and moved; the inputs are images, matrices and the result's size."""

    InterpolationMode = choice("InterpolationMode", _INTERPOLATIONS)
    BorderMode = choice("BorderMode", _BORDERS)
    Format = choice("Format", _FORMATS)
    imode: str = InterpolationMode.LINEAR
    border_mode: str = BorderMode.REPLICATE
    border_val: float = 0.0
    format: str = Format.NHWC

    def __call__(self, x: Tensor, mat: Tensor, size: Tensor) -> Tensor:
        return warping.warp_affine(
            x,
            mat,
            size,
            self.border_mode.name,
            self.border_val,
            self.format.name,
            self.imode.name,
        )


class WarpPerspective(OpDef):
    """Perspective transformation; the inputs are images, matrices, optional image indices, and
    the size."""

    InterpolationMode = choice("InterpolationMode", _INTERPOLATIONS)
    BorderMode = choice("BorderMode", _BORDERS)
    Format = choice("Format", _FORMATS)
    imode: str = InterpolationMode.LINEAR
    bmode: str = BorderMode.REPLICATE
    format: str = Format.NCHW
    border_val: float = 0.0

    def __call__(self, x: Tensor, mat: Tensor, *rest: Tensor) -> Tensor:
        *owners, size = rest
        return warping.warp_perspective(
            x,
            mat,
            size,
            owners[0] if owners else None,
            self.bmode.name,
            self.border_val,
            self.format.name,
            self.imode.name,
        )


class ROIAlign(OpDef):
    """Regions of images as small images, by interpolation."""

    Mode = choice("Mode", "MAX AVERAGE")
    Format = choice("Format", _FORMATS)
    mode: str = Mode.MAX
    format: str = Format.NCHW
    spatial_scale: float = 1.0
    offset: float = 0.0
    pooled_height: int = 1
    pooled_width: int = 1
    sample_height: int = 2
    sample_width: int = 2

    def __call__(self, x: Tensor, regions: Tensor) -> Tensor:
        self._only(format="NCHW")
        if self.offset != 0:
            self._only(offset=0.5)
        return detection.roi_align(
            x,
            regions,
            (self.pooled_height, self.pooled_width),
            self.mode.name.lower(),
            self.spatial_scale,
            (self.sample_height, self.sample_width),
            self.offset != 0.0,
        )


class ROIPooling(OpDef):
    """Regions of images pooled to the size of the third input."""

    Mode = choice("Mode", "MAX AVERAGE")
    mode: str = Mode.MAX
    scale: float = 1.0

    def __call__(self, x: Tensor, regions: Tensor, size: Tensor) -> Tensor:
        size = tuple(size.numpy().tolist())
        return detection.roi_pooling(x, regions, size, self.mode.name.lower(), self.scale)
