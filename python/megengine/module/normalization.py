# SPDX-License-Identifier: Apache-2.0
"""Layer, group, instance and general normalisation as modules."""

import numpy as np

from .. import functional as F
from ..core.counted import counted
from ..core.operands import at_least
from ..core.tensor.shape_arguments import as_int
from ..tensor import Parameter, Tensor
from .init import ones_, zeros_
from .module import Module


class _Norm(Module):
    _state_is_flat = True

    def _set_factors(self, shape, affine: bool) -> None:
        self.affine = affine
        self.weight = Parameter(np.ones(shape, np.float32)) if affine else None
        self.bias = Parameter(np.zeros(shape, np.float32)) if affine else None

    def reset_parameters(self) -> None:
        """Set the weight to one and the bias to zero."""
        if self.affine:
            ones_(self.weight)
            zeros_(self.bias)


class GroupNorm(_Norm):
    """``functional.group_norm`` with its weight and bias.

    Args:
        num_groups: groups of channels.
        num_channels: C.
        eps: added to the variance.
        affine: learn a weight and a bias.
    Raises:
        ValueError: ``num_groups`` is below 1.
        AssertionError: ``num_groups`` does not divide ``num_channels``.
    Example:
        >>> M.GroupNorm(2, 4)(F.ones((1, 4, 2, 2))).shape
        (1, 4, 2, 2)
    """

    def __init__(
        self, num_groups: int, num_channels: int, eps: float = 1e-5, affine: bool = True, **kwargs
    ):
        super().__init__(**kwargs)
        at_least("GroupNorm", 1, num_groups=num_groups)
        at_least("GroupNorm", 0, num_channels=num_channels)
        assert num_channels % num_groups == 0, (
            f"[GroupNorm] {counted(num_channels, 'channel')} cannot be cut into"
            f" {counted(num_groups, 'group')}"
        )
        self.num_groups = num_groups
        self.num_channels = num_channels
        self.eps = eps
        self._set_factors((num_channels,), affine)

    def forward(self, x: Tensor) -> Tensor:
        return F.group_norm(x, self.num_groups, self.affine, self.weight, self.bias, self.eps)

    def _module_info_string(self) -> str:
        return (
            f"groups={self.num_groups}, channels={self.num_channels}, eps={self.eps},"
            f" affine={self.affine}"
        )


class InstanceNorm(_Norm):
    """``functional.instance_norm`` with its weight and bias.

    Args:
        num_channels: C.
        eps: added to the variance.
        affine: learn a weight and a bias.
    Example:
        >>> M.InstanceNorm(3)(F.ones((1, 3, 2, 2))).shape
        (1, 3, 2, 2)
    """

    def __init__(self, num_channels: int, eps: float = 1e-5, affine: bool = True, **kwargs):
        super().__init__(**kwargs)
        self.num_channels = num_channels
        self.eps = eps
        self._set_factors((num_channels,), affine)

    def forward(self, x: Tensor) -> Tensor:
        return F.instance_norm(x, self.affine, self.weight, self.bias, self.eps)

    def _module_info_string(self) -> str:
        return f"channels={self.num_channels}, eps={self.eps}, affine={self.affine}"


class LayerNorm(_Norm):
    """``functional.layer_norm`` with its weight and bias.

    Args:
        normalized_shape: sizes of the last axes.
        eps: added to the variance.
        affine: learn a weight and a bias.
    Example:
        >>> M.LayerNorm(4)(F.ones((2, 4))).shape
        (2, 4)
    """

    def __init__(self, normalized_shape, eps: float = 1e-5, affine: bool = True, **kwargs):
        super().__init__(**kwargs)
        sizes = (normalized_shape,) if np.ndim(normalized_shape) == 0 else normalized_shape
        self.normalized_shape = tuple(as_int(n, "LayerNorm", "normalized_shape") for n in sizes)
        self.eps = eps
        self._set_factors(self.normalized_shape, affine)

    def forward(self, x: Tensor) -> Tensor:
        return F.layer_norm(x, self.normalized_shape, self.affine, self.weight, self.bias, self.eps)

    def _module_info_string(self) -> str:
        return f"normalized_shape={self.normalized_shape}, eps={self.eps}, affine={self.affine}"


class GeneralNorm(_Norm):
    """``functional.nn.general_norm`` with its weight and bias.

    Args:
        normalized_shape: sizes of the axes.
        normalized_axis: the axes.
        eps: added to the variance.
        affine: learn a weight and a bias.
    Raises:
        AssertionError: the two have different lengths.
    Example:
        >>> M.GeneralNorm(3, normalized_axis=1)(F.ones((2, 3))).shape
        (2, 3)
    """

    def __init__(
        self,
        normalized_shape=None,
        normalized_axis=0,
        eps: float = 1e-5,
        affine: bool = True,
        **kwargs,
    ):
        super().__init__(**kwargs)
        shape, axis = (
            tuple(v) if isinstance(v, (list, tuple)) else (v,)
            for v in (normalized_shape, normalized_axis)
        )
        assert len(shape) == len(axis), (
            "The size of normalized_axis and normalized_shape are different"
        )
        assert not affine or None not in shape, "[GeneralNorm] affine needs normalized_shape"
        self.normalized_shape, self.normalized_axis = shape, axis
        self.eps = eps
        self._set_factors(shape, affine)

    def forward(self, x: Tensor) -> Tensor:
        return F.nn.general_norm(
            x, self.normalized_axis, self.affine, self.weight, self.bias, self.eps
        )

    def _module_info_string(self) -> str:
        return (
            f"normalized_shape={self.normalized_shape}, normalized_axis={self.normalized_axis},"
            f" eps={self.eps}, affine={self.affine}"
        )
